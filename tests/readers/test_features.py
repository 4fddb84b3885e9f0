"""Features of speech against computations of their definitions in float64, and against what others have published."""
import os
import subprocess
import unittest

import numpy as np

import tool
from dataset import Dataset
from harness import each

REFERENCES = os.path.join(tool.SHARED, "data/audio-refs")
SPEECH = os.path.join(REFERENCES, "libri-1088-134315-0000.wav")
# As the manual says: Whisper's scaled logarithms, and the natural logarithms of fbank.
TOLERANCE = {"whisper": 1e-4, "fbank": 2e-3}


def slaney_filters(mels, fft=400, rate=16000):
    def to_hz(mel):
        return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))
    top = 15 + np.log(rate / 2 / 1000) * 27 / np.log(6.4)
    edge = to_hz(np.linspace(0, top, mels + 2))
    at = np.arange(fft // 2 + 1) * rate / fft
    ramps = edge[:, None] - at[None, :]
    width = np.diff(edge)[:, None]
    weights = np.maximum(0, np.minimum(-ramps[:-2] / width[:-1], ramps[2:] / width[1:]))
    return weights * (2 / (edge[2:] - edge[:-2]))[:, None]


def whisper(samples, mels):
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    padded = np.pad(samples, 200, "reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, 400)[::160]
    power = np.abs(np.fft.rfft(frames * window)) ** 2
    logs = np.log10(np.maximum(power[:len(samples) // 160] @ slaney_filters(mels).T, 1e-10))
    return (np.maximum(logs, logs.max() - 8) + 4) / 4


def fbank(samples, mels, high=-400, snip=False, rate=16000):
    if snip:
        frames = np.lib.stride_tricks.sliding_window_view(samples, 400)[::160]
    else:
        count = (len(samples) + 80) // 160
        frames = np.lib.stride_tricks.sliding_window_view(np.pad(samples, (120, 400), "symmetric"), 400)[::160][:count]
    frames = frames - frames.mean(1, keepdims=True)
    frames = frames - 0.97 * np.concatenate([frames[:, :1], frames[:, :-1]], 1)
    frames = frames * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 399)) ** 0.85
    power = np.abs(np.fft.rfft(frames, 512)) ** 2

    def mel(hz):
        return 1127 * np.log(1 + hz / 700)
    end = high if high > 0 else rate / 2 + high
    edge = np.linspace(mel(20.0), mel(end), mels + 2)[:, None]
    at = mel(np.arange(257) * rate / 512)[None, :]
    step = edge[1] - edge[0]
    weights = np.maximum(0, np.minimum((at - edge[:-2]) / step, (edge[2:] - at) / step))
    weights[:, 256] = 0
    return np.log(np.maximum(power @ weights.T, np.finfo(np.float32).eps))


CASES = {
    "whisper80": ((), lambda x: whisper(x, 80)), "whisper128": ((), lambda x: whisper(x, 128)),
    "fbank80": ((), lambda x: fbank(x, 80)), "fbank40": ((), lambda x: fbank(x, 40)),
    "fbank23": (("--snip-edges", "--mel-high", "0"), lambda x: fbank(x, 23, high=0, snip=True)),
}


def noise(path, seconds, seed=1):
    """A wav file of noise that comes and goes, 16-bit, at 16 kHz; its samples in -1 to 1."""
    count = int(seconds * 16000)
    random = np.random.default_rng(seed)
    sound = random.standard_normal(count) * 0.1 * np.sin(np.arange(count) / 5000) ** 2
    samples = np.rint(np.clip(sound, -1, 1) * 32767).astype("<i2")
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "s16le", "-ar", "16000", "-ac", "1", "-i", "-", "-bitexact", path],
                   input=samples.tobytes(), check=True)
    return samples / 32768


class Noise(tool.Tool):
    """Utterances of many lengths; of those that are too short for a frame it is said."""
    lengths = (0.0101, 0.0125, 0.024, 0.025, 0.0251, 0.5, 3.3337, 12)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.mkdir(cls().path("in"))
        cls.samples = {f"{i}.wav": noise(cls().path("in", f"{i}.wav"), seconds, i) for i, seconds in enumerate(cls.lengths)}

    @each(CASES)
    def test(self, case):
        options, reference = CASES[case]
        dataset = Dataset(self.pack(case, self.path("in"), "-T", "longest", "--features", case, *options, status=(0, 3)))
        for name, samples in self.samples.items():
            with self.subTest(name):
                row = dataset.row(name)
                if "--snip-edges" in options and len(samples) < 400:
                    self.assertEqual(row["status"], "skipped")
                    self.assertEqual(row["reason"], f"too short: {len(samples)} samples give no frame of features")
                    continue
                expected = reference(samples)
                (block, start, length, _), = dataset.pieces_of(name)
                found = dataset.block(block, "features")[start:start + length]
                self.assertEqual((found.dtype, found.shape), (np.float32, expected.shape))
                self.assertLessEqual(np.abs(found - expected).max(), TOLERANCE[case.rstrip("0123456789")])

    def test_pieces(self):
        for case in "whisper80", "fbank80":
            source = self.path("in"), "--features", case
            whole = Dataset(self.pack("whole", *source, "-T", "longest"))
            parts = Dataset(self.pack("parts", *source, "-T", "7", "--oversize", "split"))
            for name in self.samples:
                joined = [np.concatenate([d.block(b, "features")[start:start + length]
                                          for b, start, length, _ in d.pieces_of(name)]) for d in (whole, parts)]
                self.assertTrue(np.array_equal(*joined), name)

    def test_what_cannot_be(self):
        source = self.path("in"), "-T", "9", "-o", self.path("none")
        for options, message in {
            ("--features", "whisper81"): "--features expects whisper80, whisper128 or fbank1 to fbank512",
            ("--features", "whisper80", "--rate", "8000"): "--features whisper80 is for --rate 16000 alone",
            ("--features", "fbank80", "--channels", "2"): "--features needs one channel",
            ("--features", "fbank80", "--mel-high", "9000"): "--mel-high 9000: filters from 20 Hz must end below",
        }.items():
            self.assertIn(message, self.bload("pack", *source, *options, status=2)[1])


@unittest.skipUnless(os.path.exists(SPEECH), "no shared/data/audio-refs")
class Published(tool.Tool):
    def test_filters_of_whisper(self):
        filters = np.load(os.path.join(REFERENCES, "whisper_mel_filters.npz"))
        for mels in 80, 128:
            self.assertLessEqual(np.abs(filters[f"mel_{mels}"] - slaney_filters(mels)).max(), 1e-8)

    def test_fbank_of_lhotse(self):
        dataset = Dataset(self.pack("fbank40", SPEECH, "-T", "longest", "--features", "fbank40"))
        published = np.load(os.path.join(REFERENCES, "libri_fbank40.npy"))  # in steps of 1/64
        self.assertLessEqual(np.abs(dataset.block(0, "features") - published).max(), 1 / 64 + 1e-5)
