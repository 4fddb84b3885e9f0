#!/usr/bin/env python3
"""Folders of 1080p JPEG files to 224x224: --jpeg-scale beside Pillow and its draft mode; the table of docs/performance.md.

    PYTHONPATH=python bench/jpeg_scale.py [FOLDER-OF-JPEG]

Needs ./bload, Pillow and numpy, and the ffmpeg command where no folder is given: then frames of FFmpeg's mandelbrot are made. Processor
seconds of whole commands, the least of five runs, less those of a run on one image; errors against decoding whole, in levels."""
import os
import resource
import subprocess
import sys
import tempfile

import numpy as np

SIZE, COUNT = 224, 120
PILLOW = """import sys, glob, os
from PIL import Image
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.jpg"))):
    image = Image.open(path)
    if sys.argv[2] != "1":
        image.draft("RGB", (image.width // int(sys.argv[2]), image.height // int(sys.argv[2])))
    sys.stdout.buffer.write(image.convert("RGB").resize((224, 224), Image.Resampling.BILINEAR).tobytes())
"""


def spent(command, stdout=subprocess.DEVNULL):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(make):
    return min(make() for _ in range(5))


def main():
    import bload
    with tempfile.TemporaryDirectory() as work:
        folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(work, "all", "a")
        if len(sys.argv) < 2:
            os.makedirs(folder)
            subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "mandelbrot=s=1920x1080", "-frames:v", str(COUNT), "-q:v", "3",
                            os.path.join(folder, "%04d.jpg")], check=True)
        images = sorted(name for name in os.listdir(folder) if name.endswith(".jpg"))
        single = os.path.join(work, "one", "a")
        os.makedirs(single)
        os.symlink(os.path.abspath(os.path.join(folder, images[0])), os.path.join(single, images[0]))
        script, out = os.path.join(work, "pillow.py"), os.path.join(work, "out")
        with open(script, "w", encoding="utf-8") as file:
            file.write(PILLOW)

        def ours(scale, where):
            subprocess.run(["rm", "-rf", out], check=True)
            return spent(["./bload", "pack", "-q", "-j", "1", where, "--kind", "frames", "-T", "longest", "--size", f"{SIZE}x{SIZE}", "--jpeg-scale",
                          str(scale), "-o", out])

        def theirs(scale, where):
            with open(out + ".raw", "wb") as file:
                return spent([sys.executable, script, where, str(scale)], file)

        def row(name, run, frames, whole):
            seconds = least(lambda: run(folder)) - least(lambda: run(single))
            run(folder)
            got = frames().astype(int)
            error = np.abs(got - whole) if whole is not None else np.zeros(1)
            print(f"| {name} | {(len(images) - 1) / seconds:.0f} | {error.mean():.2f} | {np.percentile(error, 99):.0f} | {error.max():.0f} |")
            return got

        def of_bload():
            return np.concatenate([block["frames"] for block in bload.open(out)[0:1]])[:len(images)]

        def of_pillow():
            return np.fromfile(out + ".raw", "u1").reshape(-1, SIZE, SIZE, 3)

        print("| 1080p JPEG to 224x224 | images/s | mean error | 99 of 100 within | greatest |\n|---|---|---|---|---|")
        whole = None
        for scale in 1, 2, 4, "auto":
            got = row(f"`--jpeg-scale {scale}`", lambda where, s=scale: ours(s, where), of_bload, whole)
            whole = got if whole is None else whole
        whole = None
        for scale in 1, 2, 4:
            name = "Pillow" if scale == 1 else f"Pillow, draft of 1/{scale}"
            got = row(name, lambda where, s=scale: theirs(s, where), of_pillow, whole)
            whole = got if whole is None else whole


main()
