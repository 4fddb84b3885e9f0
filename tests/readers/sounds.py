"""What Python cuts of a sound for each step, from what the ffmpeg command decodes."""
import subprocess

import numpy as np

RATE = 16000


def samples(path):
    """All of the file's sound, I16 [samples]."""
    done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", path, "-map", "0:a", "-f", "s16le", "-"], check=True,
                          capture_output=True)
    return np.frombuffer(done.stdout, "<i2")


def cut(sound, begins, count):
    """[steps, count, ...]: of each step the samples from its begin on, zeros where there are none."""
    out = np.zeros((len(begins), count, *sound.shape[1:]), sound.dtype)
    for step, begin in zip(out, begins):
        first, end = max(begin, 0), min(begin + count, len(sound))
        if first < end:
            step[first - begin:end - begin] = sound[first:end]
    return out


def nearest(places):
    """The nearest whole numbers, halves up, to eight decimals."""
    whole = np.floor(places)
    return (whole + (np.rint((places - whole) * 1e8) >= 5e7)).astype(int)
