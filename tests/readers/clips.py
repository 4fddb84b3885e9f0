"""Clips with known answers, made by the ffmpeg program, and what that program says of any video file.

Clips are ffmpeg's test picture in every codec that it can encode here, small and with a few of the things that real files
have: B-frames, hidden frames, rotation, pixels that are not square, odd sizes, more than 8 bits. They are kept below
build/fixtures.
"""
import functools
import json
import os
import subprocess

import numpy as np

import tool

FOLDER = os.path.join(tool.ROOT, "build/fixtures/readers")
X264 = "-c:v libx264 -threads 1 -preset veryfast -pix_fmt"
X265 = "-c:v libx265 -preset ultrafast -x265-params log-level=error:pools=1 -pix_fmt"
BT709 = "-vf scale=out_color_matrix=bt709:out_range=tv -colorspace bt709 -color_primaries bt709 -color_trc bt709"

# name: (frames, size, how it is coded)
CLIPS = {
    "h264.mp4": (31, "128x96", f"{X264} yuv420p -g 12 -bf 3"),
    "h264-open.mkv": (40, "128x96", f"{X264} yuv420p -x264-params keyint=10:open-gop=1:bframes=3"),
    "h264-intra.mov": (9, "128x96", f"{X264} yuv422p -g 1"),
    "h264-10.mp4": (12, "128x96", f"{X264} yuv420p10le -g 6"),
    "h264-odd.mp4": (8, "128x96", f"-vf scale=97:75,setsar=1 {X264} yuv444p"),
    "h264-full.mp4": (8, "128x96", "-vf scale=out_range=pc:out_color_matrix=bt709 -color_range pc -colorspace bt709 "
                                   f"{X264} yuv420p"),
    "h264-bt709.mp4": (8, "128x96", f"{BT709} {X264} yuv420p"),
    "h264-centre.mp4": (8, "128x96", f"{X264} yuv420p -x264-params chromaloc=1"),
    "h264-topleft.mp4": (8, "128x96", f"{X264} yuv420p -x264-params chromaloc=2"),
    "h264-grey.mp4": (8, "128x96", f"{X264} gray"),
    "h264.ts": (26, "128x96", f"{X264} yuv420p -g 12 -bf 2"),
    "h264-fields.ts": (20, "128x96", f"-vf tinterlace=interleave_top {X264} yuv420p -flags +ildct+ilme -x264opts tff=1"),
    "h264.flv": (22, "128x96", f"{X264} yuv420p -g 12 -bf 2"),
    "h264.avi": (14, "128x96", f"{X264} yuv420p -bf 0 -g 5"),
    "sar-wide.mp4": (8, "90x96", f"-vf setsar=3/2 {X264} yuv420p"),
    "sar-narrow.mkv": (8, "128x96", f"-vf setsar=11/15 {X264} yuv420p"),
    "rotated-90.mp4": (8, "128x96", f"{X264} yuv420p -metadata:s:v rotate=90"),
    "rotated-180.mp4": (8, "128x96", f"{X264} yuv420p -metadata:s:v rotate=180"),
    "rotated-270-sar.mp4": (8, "128x90", f"-vf setsar=4/3 {X264} yuv420p -metadata:s:v rotate=270"),
    "hevc.mp4": (25, "128x96", f"{X265} yuv420p"),
    "hevc-10.mkv": (15, "128x96", f"{X265} yuv420p10le"),
    "hevc-12-444.mp4": (6, "128x96", f"{X265} yuv444p12le"),
    "hevc-2020.mp4": (6, "128x96", "-colorspace bt2020nc -color_primaries bt2020 -color_trc bt2020-10 "
                                   f"{X265} yuv420p10le"),
    "vp8.webm": (24, "128x96", "-c:v libvpx -deadline realtime -cpu-used 8 -b:v 300k -g 9 -pix_fmt yuv420p"),
    "vp9.webm": (40, "128x96", "-c:v libvpx-vp9 -deadline good -cpu-used 5 -auto-alt-ref 1 -lag-in-frames 16 -b:v 200k "
                               "-g 16 -pix_fmt yuv420p"),
    "vp9-odd.mp4": (11, "128x96", "-vf scale=97:75 -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p"),
    "vp9-10.webm": (8, "128x96", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p10le"),
    "av1-aom.mkv": (20, "128x96", "-c:v libaom-av1 -cpu-used 8 -usage realtime -g 8 -pix_fmt yuv420p"),
    "av1-svt.mp4": (33, "128x96", "-c:v libsvtav1 -preset 10 -g 16 -pix_fmt yuv420p"),
    "mpeg4.avi": (40, "128x96", "-c:v mpeg4 -bf 2 -q:v 4 -g 12 -pix_fmt yuv420p"),
    "mpeg4.mp4": (20, "128x96", "-c:v mpeg4 -bf 0 -q:v 4 -g 7 -pix_fmt yuv420p"),
    "msmpeg4.wmv": (16, "128x96", "-c:v wmv2 -q:v 4 -pix_fmt yuv420p"),
    "h263.3gp": (12, "128x96", "-c:v h263 -q:v 4 -pix_fmt yuv420p"),
    "flv1.flv": (15, "128x96", "-c:v flv -q:v 4 -pix_fmt yuv420p"),
    "mpeg2.ts": (25, "128x96", "-c:v mpeg2video -bf 2 -q:v 4 -g 10 -pix_fmt yuv420p"),
    "mpeg2.mpg": (25, "128x96", "-c:v mpeg2video -bf 2 -q:v 4 -g 10 -pix_fmt yuv420p"),
    "mpeg1.mpg": (25, "128x96", "-c:v mpeg1video -bf 2 -q:v 4 -g 10 -pix_fmt yuv420p"),
    "mjpeg.avi": (10, "128x96", "-c:v mjpeg -q:v 3 -pix_fmt yuvj420p"),
    "mjpeg-422.mov": (10, "128x96", "-c:v mjpeg -q:v 3 -pix_fmt yuvj422p"),
    "mjpeg.mjpeg": (10, "128x96", "-c:v mjpeg -q:v 3 -pix_fmt yuvj420p"),
    "mpeg2.m2v": (25, "128x96", "-c:v mpeg2video -bf 2 -q:v 4 -g 10 -pix_fmt yuv420p"),
    "mpeg4.m4v": (25, "128x96", "-c:v mpeg4 -bf 1 -q:v 4 -g 10 -pix_fmt yuv420p"),
    "h264.h264": (27, "128x96", f"{X264} yuv420p -g 12 -bf 3"),
    "hevc.hevc": (23, "128x96", f"{X265} yuv420p"),
    "vp9.ivf": (18, "128x96", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p"),
    "av1.obu": (12, "128x96", "-c:v libaom-av1 -cpu-used 8 -usage realtime -g 8 -pix_fmt yuv420p"),
    "theora.ogv": (21, "128x96", "-c:v libtheora -q:v 7 -g 8 -pix_fmt yuv420p"),
    "prores.mov": (6, "128x96", "-c:v prores -profile:v 2 -pix_fmt yuv422p10le"),
    "dnxhd.mxf": (4, "1280x720", "-c:v dnxhd -b:v 60M -pix_fmt yuv422p -r 24000/1001"),
    "dv.dv": (4, "720x576", "-c:v dvvideo -pix_fmt yuv420p"),
    "ffv1.mkv": (9, "128x96", "-c:v ffv1 -g 4 -pix_fmt yuv444p"),
    "ffv1-16.mkv": (5, "128x96", "-c:v ffv1 -pix_fmt gray16le"),
    "ffv1-gbr.mkv": (5, "128x96", "-c:v ffv1 -pix_fmt gbrp10le"),
    "ffv1-410.mkv": (5, "128x96", "-c:v ffv1 -pix_fmt yuv410p"),
    "huffyuv.avi": (6, "128x96", "-c:v huffyuv -pix_fmt yuv422p"),
    "utvideo.mkv": (6, "128x96", "-c:v utvideo -pix_fmt gbrp"),
    "qtrle.mov": (7, "128x96", "-c:v qtrle -pix_fmt rgb24"),
    "png.mov": (6, "128x96", "-c:v png -pix_fmt rgba"),
    "apng.apng": (6, "128x96", "-c:v apng -pix_fmt rgb24"),
    "gif.gif": (9, "128x96", "-c:v gif -pix_fmt rgb8"),
    "raw.y4m": (6, "128x96", "-pix_fmt yuv420p"),
    "raw-411.y4m": (6, "128x96", "-pix_fmt yuv411p"),
    "raw-odd.y4m": (6, "128x96", "-vf scale=97:75,setsar=1 -pix_fmt yuv420p"),
    "raw.nut": (6, "128x96", "-c:v rawvideo -pix_fmt bgr24"),
    "raw-422.mov": (6, "128x96", "-c:v rawvideo -pix_fmt uyvy422"),
    "vfr.mkv": (30, "128x96", "-vf settb=1/1000,setpts='N*40+mod(N*N*7\\,23)+200*floor(N/7)' -enc_time_base 1:1000 "
                              f"-fps_mode passthrough {X264} yuv420p"),
    "vfr.mp4": (24, "128x96", f"-vf setpts='(N+5*floor(N/6))/25/TB' -fps_mode vfr {X264} yuv420p -bf 2"),
    "ntsc.mp4": (30, "128x96", f"-r 30000/1001 {X264} yuv420p"),
    "pq.mp4": (4, "128x96", "-colorspace bt2020nc -color_primaries bt2020 -color_trc smpte2084 "
                            f"{X265} yuv420p10le"),
}


def clip(name):
    """The path of a clip, made where it is missing. Many may make the same one: the last replaces it by its equal."""
    path = os.path.join(FOLDER, name)
    if not os.path.exists(path):
        frames, size, coding = CLIPS[name]
        os.makedirs(FOLDER, exist_ok=True)
        part = os.path.join(FOLDER, f"part-{os.getpid()}-{name}")
        source = f"testsrc2=size={size}:rate=25"
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", source, "-strict", "-2",
                        "-bitexact", *shell_words(coding), "-frames:v", str(frames), part], check=True)
        os.replace(part, path)
    return path


def shell_words(text):
    import shlex
    return shlex.split(text)


def frames_of(name):
    return CLIPS[name][0]


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


# FFmpeg's names for what the tool's levels hold it to.
CPU_FLAGS = {"avx2": "mmx+mmxext+sse+sse2+cmov+sse3+ssse3+sse4.1+sse4.2+avx+avx2+fma3+bmi1+bmi2",
             "sse2": "mmx+mmxext+sse+sse2+cmov", "none": "0", "neon": "armv8+neon+vfp"}


def ticks(path, stream):
    """When each decoded frame of the stream is shown or heard, in ticks of the container's clock, and how long one is: by ffprobe."""
    done = subprocess.run(["ffprobe", "-v", "error", "-select_streams", stream, "-show_entries",
                           "frame=best_effort_timestamp,pkt_duration:stream=time_base", "-of", "json", path],
                          check=True, capture_output=True)
    said = json.loads(done.stdout)
    num, den = map(int, said["streams"][0]["time_base"].split("/"))
    found = []
    for frame in said["frames"]:  # AVI has times of packets, not of the frames that wait for others
        found.append(frame.get("best_effort_timestamp", found[-1] + frame["pkt_duration"] if found else None))
    if found[0] is None:
        found[0] = found[1] - said["frames"][0]["pkt_duration"]
    return np.array(found), num / den


def timestamps(path, stream):
    """The same in seconds."""
    found, second = ticks(path, stream)
    return found * second


def times(path):
    """When the frames of the first video stream are shown, in seconds from the first."""
    found, second = ticks(path, "v:0")
    return (found - found[0]) * second


def raw_frames(path, stream, simd, out, filters=None):
    """Writes the frames that the ffmpeg command decodes from the file to out, as they are, one after the other."""
    pix_fmt = probe(path, stream)["pix_fmt"]
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-cpuflags", CPU_FLAGS[simd], "-noautorotate", "-i", path,
                    "-map", f"0:{stream}", *(["-vf", filters] if filters else []), "-fps_mode", "passthrough",
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
