"""What ffmpeg's programs say of a video file, and what the tool's converter makes of the frames that they decode."""
import functools
import json
import re
import subprocess

import numpy as np

import tool


@functools.cache
def probe(path, stream):
    """What ffprobe says of the stream and of its first frame: {name: value}, the frame's word before the stream's."""
    for packets in 1, 64:  # as many as it takes to get one that is shown
        done = subprocess.run(["ffprobe", "-v", "error", "-select_streams", str(stream), "-show_streams", "-show_frames",
                               "-read_intervals", f"%+#{packets}", "-of", "json", path], capture_output=True, check=True)
        answer = json.loads(done.stdout)
        if answer["frames"]:
            break
    of_stream, of_frame = answer["streams"][0], answer["frames"][0]
    sides = of_stream.get("side_data_list", []) + of_frame.get("side_data_list", [])
    matrix = next((side["displaymatrix"] for side in sides if "displaymatrix" in side), None)
    words = {**{k: v for k, v in of_stream.items() if k == "sample_aspect_ratio"}, **of_frame}
    words["matrix9"] = None if matrix is None else [int(w) for line in matrix.split("\n") for w in line.split()[1:]]
    return words


def rate(path, stream):
    """The mean rate of the stream's frames, as "25/1"."""
    done = subprocess.run(["ffprobe", "-v", "error", "-select_streams", str(stream), "-show_entries", "stream=avg_frame_rate",
                           "-of", "json", path], capture_output=True, check=True)
    return json.loads(done.stdout)["streams"][0]["avg_frame_rate"]


# FFmpeg's names for what the tool's levels hold it to.
CPU_FLAGS = {"avx2": "mmx+mmxext+sse+sse2+cmov+sse3+ssse3+sse4.1+sse4.2+avx+avx2+fma3+bmi1+bmi2",
             "sse2": "mmx+mmxext+sse+sse2+cmov", "none": "0", "neon": "armv8+neon+vfp"}


def version():
    """The major version of the ffmpeg command."""
    said = subprocess.run(["ffmpeg", "-version"], check=True, capture_output=True, text=True).stdout
    found = re.match(r"ffmpeg version n?(\d+)\.", said)
    return int(found.group(1)) if found else 0


def ticks(path, stream):
    """When each decoded frame of the stream is shown or heard, in ticks of the container's clock, and how long one is: by ffprobe."""
    done = subprocess.run(["ffprobe", "-v", "error", "-select_streams", stream, "-show_entries",
                           "frame=best_effort_timestamp,duration,pkt_duration:stream=time_base", "-of", "json", path],
                          check=True, capture_output=True)
    said = json.loads(done.stdout)
    num, den = map(int, said["streams"][0]["time_base"].split("/"))
    found = []

    def duration(frame):
        return frame["duration"] if "duration" in frame else frame["pkt_duration"]  # FFmpeg 5 has the second alone

    for frame in said["frames"]:
        if "best_effort_timestamp" in frame:
            found.append(frame["best_effort_timestamp"])
        else:  # AVI has times of packets, not of the frames that wait for others
            found.append(found[-1] + duration(frame) if found else None)
    if found[0] is None:
        found[0] = found[1] - duration(said["frames"][0])
    return np.array(found), num / den


def timestamps(path, stream):
    """The same in seconds."""
    found, second = ticks(path, stream)
    return found * second


def times(path):
    """When the frames of the first video stream are shown, in seconds from the first."""
    found, second = ticks(path, "v:0")
    return (found - found[0]) * second


def raw_frames(path, stream, simd, out, filters=None, fps_mode="passthrough"):
    """Writes the frames that the ffmpeg command decodes from the file to out, as they are, one after the other; with fps_mode
    "cfr" those that it would write as image files."""
    pix_fmt = probe(path, stream)["pix_fmt"]
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-cpuflags", CPU_FLAGS[simd], "-noautorotate", "-i", path,
                    "-map", f"0:{stream}", *(["-vf", filters] if filters else []), "-fps_mode", fps_mode,
                    "-pix_fmt", pix_fmt, "-f", "rawvideo", out], check=True)


def convert_words(path, stream):
    """The arguments of convert_raw and of reference_convert that the file's tags make."""
    words = probe(path, stream)
    arguments = [words["pix_fmt"], f"{words['width']}x{words['height']}"]
    for ours, theirs in (("matrix", "color_space"), ("range", "color_range"), ("chroma", "chroma_location"),
                         ("transfer", "color_transfer")):
        value = words.get(theirs, "unknown")
        if value not in ("unknown", "unspecified"):
            arguments.append(f"{ours}={value}")
    if ":" in words.get("sample_aspect_ratio", ""):
        arguments.append(f"sar={words['sample_aspect_ratio']}")
    if words["matrix9"]:
        arguments.append("matrix9=" + ",".join(map(str, words["matrix9"])))
    return arguments


def converted(raw, arguments):
    """The bytes that the tool's converter makes of raw frames."""
    with open(raw, "rb") as file:
        done = subprocess.run([tool.CONVERT_RAW, *arguments], stdin=file, capture_output=True)
    if done.returncode:
        raise AssertionError(f"convert_raw {' '.join(arguments)}: {done.stderr.decode()}")
    return done.stdout
