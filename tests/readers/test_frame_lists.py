"""--frames takes the frames that ffmpeg decodes at the numbers of numpy.linspace, and --frames-rule as many as the mean rate that
ffprobe tells gives."""
import math
import os
import unittest

import clips
import ffprobe
import media
import numpy as np
import tool
from dataset import Dataset, read_table
from harness import each

COUNT = 8
SIZE = "40x30"
NAMES = ["h264.mp4", "h264-open.mkv", "h264.ts", "h264.flv", "hevc.mp4", "vp9.webm", "av1-svt.mp4", "mpeg4.avi", "mpeg2.mpg", "gif.gif",
         "raw.y4m", "vfr.mkv", "vfr.mp4", "ntsc.mp4", "late.mkv"]
REAL = [known for known in media.VIDEOS if known.good and not known.hdr and not known.changes and known.name not in media.USELESS]


class Lists(tool.Tool):
    files = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls()
        cls.dataset = Dataset(self.pack("list", *cls.files, "--frames", str(COUNT), "-T", "longest", "--size", SIZE, status=(0, 3)))
        cls.tables = {}
        for rule in "qwen-vl-utils", "qwen3-vl":
            path = self.path("table.tsv")
            tool.write(path, self.bload("scan", "-q", *cls.files, "--frames-rule", rule, status=(0, 3))[0])
            cls.tables[rule] = {row["id"]: row for row in read_table(path)}

    def compare(self, path):
        row = self.dataset.row(path)
        if row["status"] != "ok":
            self.skipTest(row["reason"])
        stream, simd, frames = row["stream"], self.dataset.manifest["simd"], int(row["source_frames"])
        raw = self.path("raw")
        ffprobe.raw_frames(path, stream, simd, raw)
        expected = ffprobe.converted(raw, [*ffprobe.convert_words(path, stream), f"size={SIZE}", f"simd={simd}"])
        os.unlink(raw)
        width, height = map(int, SIZE.split("x"))
        pictures = np.frombuffer(expected, "u1").reshape(-1, height, width, 3)
        self.assertEqual(len(pictures), frames)
        numbers = np.linspace(0, frames - 1, COUNT, dtype=int)
        self.assertEqual(int(row["repeated_frames"]), COUNT - len(set(numbers)))
        self.assertTrue(np.array_equal(self.dataset.frames(path).reshape(-1, height, width, 3), pictures[numbers]), "other frames")

    def compare_rule(self, path):
        words = ffprobe.rate(path, self.dataset.row(path)["stream"])
        for rule, table in self.tables.items():
            row = table[path]
            if row["status"] != "ok":
                continue
            frames, (num, den) = int(row["source_frames"]), map(int, words.split("/"))
            wanted = frames / (num / den) * 2
            count = min(max(int(wanted), 4), 768, frames)
            if rule == "qwen-vl-utils":
                count = math.floor(min(max(wanted, 4), 768, frames) / 2) * 2
            self.assertEqual(int(row["length"]), count, (rule, frames, words))


class Clips(Lists):
    @classmethod
    def setUpClass(cls):
        cls.files = [clips.clip(name) for name in NAMES]
        super().setUpClass()

    @each(NAMES)
    def test(self, name):
        self.compare(clips.clip(name))

    @each(NAMES)
    def test_rule(self, name):
        self.compare_rule(clips.clip(name))


@unittest.skipUnless(REAL, media.ABSENT)
class Files(Lists):
    long = True

    @classmethod
    def setUpClass(cls):
        cls.files = [known.path for known in REAL]
        super().setUpClass()

    @each((known.name, known) for known in REAL)
    def test(self, _name, known):
        self.compare(known.path)

    @each((known.name, known) for known in REAL)
    def test_rule(self, _name, known):
        self.compare_rule(known.path)
