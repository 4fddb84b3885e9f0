"""Sound: every file's length by the known answers, its samples against the ffmpeg command, and pieces against the whole."""
import os
import subprocess
import unittest

import numpy as np

import media
import tool
from dataset import Dataset
from harness import each

RATE = 16000
# Of QuickTime files the last frame of the encoder goes on behind the track's end, which the manifest counts; its length by the container
# is rounded to the film's ticks in some.
TRIMMED = (".mp4", ".m4a", ".MOV", ".mov")

# libfaac tells in the stream that its first 1024 samples are its delay; the track ends 1024 samples and a second after their beginning.
EXACT = {"exo_sample.mp4": 44100}


class Known:
    def __init__(self, row):
        self.name = row["file"]
        self.path = os.path.join(tool.MEDIA, self.name)
        self.rate = int(row["arate"])
        self.decoded = int(row["lavc_decoded_samples"])
        self.declared = row["container_adur_s"]

    def lengths(self):
        """The steps that may come of it."""
        samples = {self.decoded}
        if self.name.endswith(TRIMMED) and self.declared not in ("", "N/A"):
            declared = round(float(self.declared) * self.rate)
            samples |= set(range(declared - 1, declared + 2))
        samples = {EXACT[self.name]} if self.name in EXACT else samples
        return {-(-n * RATE // self.rate) for n in samples}


def known():
    rows = [row for row in media.manifest() if row["acodec"] and row["lavc_decoded_samples"] not in ("", "0")]
    return [Known(row) for row in rows]


FILES = known()
SPEECH = [k for k in FILES if k.name.startswith("derived_jfk") and not k.name.endswith(".aac")]


# The same resamplers in the ffmpeg command.
ENGINES = {"swr": "swr", "soxr": "soxr:precision=20:cheby=1"}


def by_ffmpeg(path, stream, channels=1, dtype="s16", engine="soxr"):
    """The samples that the ffmpeg command gives with the same mixing, [n, channels]."""
    layout = {1: "mono", 2: "stereo"}[channels]
    chain = f"aresample={RATE}:ochl={layout}:internal_sample_fmt=fltp:rematrix_maxval=1:resampler={ENGINES[engine]}"
    kind = {"s16": ("s16le", np.int16), "f32": ("f32le", np.float32)}[dtype]
    done = subprocess.run(["ffmpeg", "-v", "quiet", "-nostdin", "-threads", "1", "-i", path, "-map", f"0:{stream}", "-af", chain,
                           "-f", kind[0], "-"], capture_output=True, timeout=120, check=True)
    return np.frombuffer(done.stdout, kind[1]).reshape(-1, channels)


def sound_of(dataset, name):
    return np.concatenate([dataset.block(b, "audio")[start:start + length]
                           for b, start, length, _ in dataset.pieces_of(name)])


@unittest.skipUnless(FILES, media.ABSENT)
class Real(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = ["--kind", "audio", tool.MEDIA]
        packed = {"whole": ["-T", "longest"], "parts": ["-T", "7919", "--oversize", "split", "-j", "2"],
                  "floats": ["-T", "longest", "--dtype", "f32"], "stereo": ["-T", "longest", "--channels", "2"],
                  "swr": ["-T", "longest", "--resampler", "swr"]}
        for name, options in packed.items():
            setattr(cls, name, Dataset(cls().pack(name, *source, *options, status=3)))

    @each((k.name, k) for k in FILES)
    def test_length(self, _, file):
        self.assertIn(int(self.whole.row(file.name)["length"]), file.lengths())

    @each((k.name, k) for k in FILES)
    def test_samples(self, _, file):
        self.check_samples(file, self.whole, "soxr")

    @each((k.name, k) for k in FILES)
    def test_samples_of_swresample(self, _, file):
        self.check_samples(file, self.swr, "swr")

    def check_samples(self, file, dataset, engine):
        row = dataset.row(file.name)
        sound = sound_of(dataset, file.name)
        self.assertEqual((sound.dtype, len(sound)), (np.int16, int(row["length"])))
        expected = by_ffmpeg(file.path, row["stream"], engine=engine)[:, 0]
        size = min(len(sound), len(expected))
        self.assertLessEqual(abs(len(sound) - len(expected)), RATE // 10)
        difference = np.abs(sound[:size].astype(int) - expected[:size])
        # The last samples are made of what was trimmed behind them, by the ffmpeg command.
        self.assertLessEqual(int(difference[:-64].max(initial=0)), 1)

    @each((k.name, k) for k in FILES)
    def test_pieces(self, _, file):
        self.assertEqual(self.parts.row(file.name), self.whole.row(file.name))
        self.assertTrue(np.array_equal(sound_of(self.parts, file.name), sound_of(self.whole, file.name)))

    @each((k.name, k) for k in FILES)
    def test_floats_and_integers_agree(self, _, file):
        floats = sound_of(self.floats, file.name)
        self.assertEqual(floats.dtype, np.float32)
        scaled = np.clip(np.rint(floats.astype(np.float64) * 32768), -32768, 32767)
        self.assertLessEqual(np.abs(scaled - sound_of(self.whole, file.name)).max(), 1)

    @each((k.name, k) for k in FILES if "16ch" not in k.name)
    def test_stereo(self, _, file):
        sound = sound_of(self.stereo, file.name)
        expected = by_ffmpeg(file.path, self.stereo.row(file.name)["stream"], 2)
        size = min(len(sound), len(expected))
        self.assertEqual(sound.shape, (int(self.stereo.row(file.name)["length"]), 2))
        self.assertLessEqual(int(np.abs(sound[:size].astype(int) - expected[:size])[:-64].max(initial=0)), 1)

    def test_speech_is_eleven_seconds_in_every_codec(self):
        for file in SPEECH:
            with self.subTest(file.name):
                self.assertLessEqual(abs(int(self.whole.row(file.name)["length"]) - 11 * RATE), 2)
