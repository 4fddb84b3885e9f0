"""Frames: what lies in the dataset is what the ffmpeg command decodes, converted by the tool's own converter alone, byte for
byte; and it is within the bounds of the float64 reference: at native size every value within 2, scaled within 2 on average
over a frame."""
import os
import unittest

import numpy as np

import clips
import ffprobe
import media
import reference_convert
import tool
from dataset import Dataset
from harness import each

NATIVE_BYTES = 32 << 20  # of RGB, at most, for a real file to be compared at its own size too
SIZES = {"stretch": "75x61", "crop": "88x88", "pad": "112x60"}
SCALED_MEAN = 0.5  # 2 is allowed; what the converter attains is below 0.1
REAL = [known for known in media.VIDEOS if known.good]


def some(count, pixels):
    """Which frames go through the reference, which takes its time."""
    return {count // 2} if pixels > 400000 else {0, count // 2, count - 1}


class Frames(tool.Tool):
    """All the files in a dataset for each fit; what can be afforded at its own size in one of its own."""
    files, fits, hdr = (), (), "clip"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sized = {fit: Dataset(cls().pack(fit, *cls.files, "-T", "longest", "--size", SIZES[fit], "--fit", fit, "--hdr",
                                             cls.hdr, "--shard-size", "64M")) for fit in cls.fits}

    def compare(self, path, native):
        """One file in every dataset."""
        dataset = self.sized[self.fits[0]]
        stream, simd = dataset.row(path)["stream"], dataset.manifest["simd"]
        raw = self.path("raw")
        self.addCleanup(os.unlink, raw)
        ffprobe.raw_frames(path, stream, simd, raw)
        words = ffprobe.convert_words(path, stream)
        for fit in self.fits:
            self.check(raw, [*words, f"size={SIZES[fit]}", f"fit={fit}"], simd, self.sized[fit].frames(path))
        if native:
            out = self.pack("native", path, "-T", "longest", "--hdr", self.hdr)
            self.check(raw, words, simd, Dataset(out).frames(path))

    def check(self, raw, words, simd, frames):
        expected = np.frombuffer(ffprobe.converted(raw, [*words, f"simd={simd}", f"hdr={self.hdr}"]), np.uint8)
        self.assertEqual(expected.size, frames.size, f"{frames.shape} in the dataset")
        differing = np.flatnonzero((expected.reshape(frames.shape) != frames).any((1, 2, 3)))
        self.assertEqual(differing.tolist(), [], "frames that differ")
        self.refer(raw, words, frames)

    def refer(self, raw, words, frames):
        """Some of the frames and the reference."""
        width, height = (int(n) for n in words[1].split("x"))
        options = dict(a.split("=", 1) for a in words[2:]) | {"hdr": self.hdr}
        fmt = reference_convert.Format(words[0], width, height)
        geometry = reference_convert.Geometry(width, height, options)
        native = geometry.scaled == (width, height) and geometry.source == (0, 0, width, height)
        with open(raw, "rb") as file:
            for i in some(len(frames), width * height):
                file.seek(i * fmt.bytes())
                rgb = reference_convert.native_rgb(fmt, fmt.planes(file.read(fmt.bytes())), options)
                difference = np.abs(geometry.apply(rgb).astype(int) - frames[i])
                self.assertLessEqual(difference.max(), 2 if native else 255, f"frame {i} of {words}")
                self.assertLessEqual(difference.mean(), SCALED_MEAN, f"frame {i} of {words}")


class Clips(Frames):
    fits = "stretch", "crop", "pad"

    @classmethod
    def setUpClass(cls):
        cls.files = [clips.clip(name) for name in clips.CLIPS]
        super().setUpClass()

    @each(clips.CLIPS)
    def test(self, name):
        self.compare(clips.clip(name), native=True)


class Mapped(Frames):
    """HDR, mapped to BT.709; the float64 reference says what recommendations do."""
    fits, names, hdr = ("crop", "pad"), ["pq.mp4", "hlg.mkv"], "tonemap"

    @classmethod
    def setUpClass(cls):
        cls.files = [clips.clip(name) for name in cls.names]
        super().setUpClass()

    @each(names)
    def test(self, name):
        self.compare(clips.clip(name), native=True)

    def test_in_pieces(self):
        for path in self.files:
            whole = Dataset(self.pack("whole", path, "-T", "longest", "--hdr", "tonemap"))
            parts = Dataset(self.pack("parts", path, "-T", 3, "--oversize", "split", "--hdr", "tonemap"))
            np.testing.assert_array_equal(whole.frames(path), parts.frames(path))

    def test_what_is_not_hdr_stays(self):
        path = clips.clip("hevc-2020.mp4")
        datasets = [Dataset(self.pack(hdr, path, "-T", "longest", "--hdr", hdr)) for hdr in ("tonemap", "skip")]
        np.testing.assert_array_equal(datasets[0].frames(path), datasets[1].frames(path))


@unittest.skipUnless(REAL, media.ABSENT)
class Real(Frames):
    files, fits = [known.path for known in REAL], ("pad",)

    @each((known.name, known) for known in REAL if not known.changes)
    def test(self, _, known):
        self.compare(known.path, native=known.frames * known.pixels * 3 < NATIVE_BYTES)

    def test_enough(self):
        """Ten files, of different codecs, at their own size."""
        native = [known for known in REAL if known.frames * known.pixels * 3 < NATIVE_BYTES]
        self.assertGreaterEqual(len({known.codec for known in native}), 7)
        self.assertGreaterEqual(len(native), 10)
