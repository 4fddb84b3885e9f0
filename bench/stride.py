#!/usr/bin/env python3
"""What --stride saves: bload pack beside decord, torchcodec and PyAV; the table of docs/performance.md.

    python3 -m venv build/bench-venv && build/bench-venv/bin/pip install decord torch torchcodec av numpy
    build/bench-venv/bin/python3 bench/stride.py

Needs ./bload and the ffmpeg command; readers that are not installed have no rows. The clips are 300 frames of 360p H.264 as x264 makes it
by default (three B-frames in a row, keyframes up to 250 apart), of a real video in BLOAD_SHARED where that is, else of FFmpeg's mandelbrot.
Each figure is frames of the source per processor second of whole commands, one decoding thread: those of all clips less those of one,
the least of five alternating runs. bload, decord and PyAV scale to 224x224; torchcodec does not scale."""
import importlib.util
import os
import resource
import subprocess
import sys
import tempfile

CLIPS, FRAMES, STRIDES, RUNS = 6, 300, (1, 2, 4, 8, 30), 5
REAL = os.path.join(os.environ.get("BLOAD_SHARED", "../shared"), "data/media/exo_sample_with_increasing_timestamps_360p.mp4")
READERS = {
    "decord": """
import decord
for path in paths:
    video = decord.VideoReader(path, width=224, height=224, num_threads=1)
    video.get_batch(list(range(0, len(video), stride))).asnumpy()
""",
    "torchcodec": """
import torch
from torchcodec.decoders import VideoDecoder
torch.set_num_threads(1)
for path in paths:
    video = VideoDecoder(path, num_ffmpeg_threads=1)
    video.get_frames_in_range(0, len(video), stride).data.numpy()
""",
    "av": """
import av
for path in paths:
    with av.open(path) as file:
        file.streams.video[0].thread_count = 1
        for i, frame in enumerate(file.decode(video=0)):
            if i % stride == 0:
                frame.reformat(224, 224, "rgb24").to_ndarray()
""",
}


def make_clips(folder):
    source = ["-stream_loop", "-1", "-i", REAL] if os.path.exists(REAL) else ["-f", "lavfi", "-i", "mandelbrot=s=640x360:r=30"]
    paths = [os.path.join(folder, f"{i}.mp4") for i in range(CLIPS)]
    for i, path in enumerate(paths):
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", *source, "-ss", str(i / 2), "-an", "-frames:v", str(FRAMES), "-vf",
                        "scale=640:360,format=yuv420p", "-c:v", "libx264", path], check=True)
    return paths


def spent(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def command_of(reader, stride, paths, out):
    if reader == "bload":
        subprocess.run(["rm", "-rf", out], check=True)
        return ["./bload", "pack", "-q", "-j", "1", *paths, "-T", "longest", "--size", "224x224", "--stride", str(stride), "-o", out]
    script = f"import sys\nstride, paths = int(sys.argv[1]), sys.argv[2:]\n{READERS[reader]}"
    return [sys.executable, "-c", script, str(stride), *paths]


def main():
    readers = ["bload", *(name for name in READERS if importlib.util.find_spec(name))]
    with tempfile.TemporaryDirectory() as work:
        paths, out = make_clips(work), os.path.join(work, "out")
        print("| 360p H.264, frames of the source a second |", " | ".join(f"every {s}." if s > 1 else "all" for s in STRIDES), "|")
        print("|---|" + "---|" * len(STRIDES))
        least = {}
        for _ in range(RUNS):
            for reader in readers:
                for stride in STRIDES:
                    for count in 1, CLIPS:
                        key = reader, stride, count
                        least[key] = min(least.get(key, 1e9), spent(command_of(reader, stride, paths[:count], out)))
        for reader in readers:
            rates = [(CLIPS - 1) * FRAMES / (least[reader, s, CLIPS] - least[reader, s, 1]) for s in STRIDES]
            print(f"| {'`bload pack`' if reader == 'bload' else 'PyAV' if reader == 'av' else reader} |",
                  " | ".join(f"{rate:,.0f}" for rate in rates), "|")


main()
