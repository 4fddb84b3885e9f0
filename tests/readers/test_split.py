"""Split sequences: pieces that are read from a keyframe before them are the same bytes as slices of a reading from the start."""
import os
import unittest

import numpy as np

import clips
import media
import tool
from dataset import Dataset
from harness import each

SIZE = "32x24"
WAYS = {
    "all": (), "fps": ("--fps", "10"), "fast": ("--fps", "60"), "stride": ("--stride", "3"),
}


class Split(tool.Tool):
    """In every way of sampling: each sequence in a block of its own, and split into many."""
    files, lengths = (), {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole, cls.parts = {}, {}
        for way, T in cls.lengths.items():
            options = *cls.files, "--size", SIZE, "--hdr", "clip", *WAYS[way]
            cls.whole[way] = Dataset(cls().pack(way, *options, "-T", "longest", "--strategy", "naive",
                                               status=(0, 3)))
            cls.parts[way] = Dataset(cls().pack(way + "-split", *options, "-T", T, "--oversize", "split",
                                               status=(0, 3)))

    def compare(self, path):
        for way, T in self.lengths.items():
            with self.subTest(way):
                row = self.whole[way].row(path)
                self.assertEqual(self.parts[way].row(path), row)
                self.assertNotEqual(row["status"], "failed", row["reason"])
                if row["status"] == "skipped":  # a single frame, of which --fps takes none
                    continue
                whole, parts = self.whole[way].frames(path), self.parts[way].frames(path)
                self.assertEqual(parts.shape, whole.shape)
                self.assertEqual(np.flatnonzero((parts != whole).any((1, 2, 3))).tolist(), [], "frames that differ")
                self.assertGreaterEqual(len(self.parts[way].pieces_of(path)), len(whole) / T)


class Clips(Split):
    lengths = {"all": 3, "fps": 2, "fast": 10, "stride": 1}

    @classmethod
    def setUpClass(cls):
        cls.files = [clips.clip(name) for name in clips.CLIPS]
        super().setUpClass()

    @each(clips.CLIPS)
    def test(self, name):
        self.compare(clips.clip(name))


GOOD = [known for known in media.VIDEOS if known.good and known.pixels * known.frames < 60 << 20]


@unittest.skipUnless(GOOD, media.ABSENT)
class Real(Split):
    files, lengths = [known.path for known in GOOD], {"all": 25, "fps": 10}

    @each((known.name, known) for known in GOOD)
    def test(self, _, known):
        self.compare(known.path)
