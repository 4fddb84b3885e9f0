"""Sampling: --fps takes the frames that ffmpeg's fps filter takes of times that begin at 0, with --fps-origin zero those that
it writes as image files; --stride every N-th; scan knows beforehand how many."""
import os
import unittest

import numpy as np

import clips
import ffprobe
import media
import tool
from dataset import Dataset, read_table
from harness import each

RATES = "1/3", "1", "10", "24", "30000/1001", "60"
SIZE = "40x30"
NAMES = ["h264.mp4", "h264-open.mkv", "h264.ts", "h264.flv", "h264-fields.ts", "hevc.mp4", "vp9.webm", "av1-svt.mp4", "mpeg4.avi",
         "mpeg2.mpg", "theora.ogv", "gif.gif", "apng.apng", "raw.y4m", "vfr.mkv", "vfr.mp4", "ntsc.mp4",
         "flv1.flv", "msmpeg4.wmv"]
REAL = [known for known in media.VIDEOS if known.name in (
    "derived_vfr.mp4", "exo2_video_big_buck_bunny.mp4", "exo_sample_android_slow_motion.mp4", "exo_sample_sef_slow_motion.mp4",
    "webm_bbb_480p_vp9_opus_1second.webm", "tc_discard_first_keyframe.mp4", "derived_editlist_trim.mp4", "tc_animated.gif",
    "derived_h264_mbaff.ts", "decord_unordered.mov", "exo_sample_with_increasing_timestamps.mp4")]

LATE = [known for known in media.VIDEOS if known.name in (
    "exo_sample_fragmented_seekable.mp4", "exo2_video_not_seekable.ts", "exo_bbb_2500ms.ts", "exo_sample_h262_mpeg_audio.ts",
    "webm_bbb_480p_vp9_opus_1second.webm", "exo_sample_android_slow_motion.mp4", "tc_discard_first_keyframe.mp4")]


class Sampling(tool.Tool):
    """A table and a dataset for every rate."""
    files, rates = (), ()
    options, filters, fps_mode, sampling = (), "setpts=PTS-STARTPTS,", "passthrough", ""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls()
        cls.datasets, cls.tables = {}, {}
        for rate in cls.rates:
            path = self.path("table.tsv")
            tool.write(path, self.bload("scan", "-q", *cls.files, "--fps", rate, *cls.options, status=(0, 3))[0])
            cls.tables[rate] = {row["id"]: row for row in read_table(path)}
            name = rate.replace("/", "-")
            cls.datasets[rate] = Dataset(self.pack(name, *cls.files, "--fps", rate, *cls.options, "-T", "longest", "--size",
                                                   SIZE, status=(0, 3)))

    def compare(self, path):
        for rate in self.rates:
            with self.subTest(rate):
                self.compare_at(path, rate)

    def compare_at(self, path, rate):
        dataset = self.datasets[rate]
        stream, simd = dataset.row(path)["stream"], dataset.manifest["simd"]
        raw = self.path("raw")
        ffprobe.raw_frames(path, stream, simd, raw, f"{self.filters}fps={rate}", self.fps_mode)
        expected = ffprobe.converted(raw, [*ffprobe.convert_words(path, stream), f"size={SIZE}", f"simd={simd}"])
        os.unlink(raw)
        width, height = map(int, SIZE.split("x"))
        frames = len(expected) // (3 * width * height)
        self.assertEqual((self.tables[rate][path]["length"], dataset.row(path)["length"]), (str(frames), str(frames)))
        self.assertEqual(self.tables[rate][path]["sampling"], f"fps={rate}{self.sampling}")
        self.assertEqual(dataset.row(path)["status"], "ok" if frames else "skipped")
        if frames:
            self.assertTrue(dataset.frames(path).tobytes() == expected, "other frames")


class Clips(Sampling):
    rates = RATES

    @classmethod
    def setUpClass(cls):
        cls.files = [clips.clip(name) for name in NAMES]
        super().setUpClass()

    @each(NAMES)
    def test(self, name):
        self.compare(clips.clip(name))


@unittest.skipUnless(REAL, media.ABSENT)
class Real(Sampling):
    files, rates = [known.path for known in REAL], ("8", "30")

    @each((known.name, known) for known in REAL)
    def test(self, _, known):
        self.compare(known.path)


class FromZero(Sampling):
    """The file's streams do not begin together."""
    options, filters, fps_mode, sampling = ("--fps-origin", "zero"), "", "cfr", " origin=zero"


class ClipsFromZero(FromZero):
    rates, names = ("2", "25/2", "30000/1001"), ["late.mkv", "vfr.mkv", "h264.ts"]

    @classmethod
    def setUpClass(cls):
        cls.files = [clips.clip(name) for name in cls.names]
        super().setUpClass()

    @each(names)
    def test(self, name):
        self.compare(clips.clip(name))

    def test_pieces(self):
        late = clips.clip("late.mkv")
        parts = Dataset(self.pack("parts", late, "--fps", "30", *self.options, "-T", "7", "--oversize", "split", "--size", SIZE))
        whole = Dataset(self.pack("whole", late, "--fps", "30", *self.options, "-T", "longest", "--size", SIZE))
        np.testing.assert_array_equal(parts.frames(late), whole.frames(late))


@unittest.skipUnless(LATE, media.ABSENT)
class RealFromZero(FromZero):
    files, rates = [known.path for known in LATE], ("2", "5", "25/2", "30")

    @each((known.name, known) for known in LATE)
    def test(self, _, known):
        self.compare(known.path)


class Times(tool.Tool):
    """The field of times."""

    def times(self, path, *options):
        dataset = Dataset(self.pack("times", path, "--times", "--size", SIZE, *options))
        self.bload("verify", "-q", dataset.directory)
        self.assertEqual([(f["name"], f["dtype"], f["shape"]) for f in dataset.manifest["fields"]][1:], [("times", "F64", [])])
        pieces = dataset.pieces_of(path)
        return np.concatenate([dataset.block(b, "times")[start:start + length] for b, start, length, _ in pieces])

    def test(self):
        for name in ("vfr.mp4", "vfr.mkv", "h264.ts", "mpeg4.avi", "late.mkv", "gif.gif"):
            path = clips.clip(name)
            expected = ffprobe.times(path)
            for options in ("-T", "longest"), ("-T", "7", "--oversize", "split"), ("-T", "longest", "--isolate", "off"):
                with self.subTest(name, options=options):
                    np.testing.assert_allclose(self.times(path, *options), expected, atol=1e-9)
            with self.subTest(name, options="stride"):
                np.testing.assert_allclose(self.times(path, "-T", "longest", "--stride", 3), expected[::3], atol=1e-9)
            with self.subTest(name, options="fps"):
                found = self.times(path, "-T", "longest", "--fps", "30000/1001")
                np.testing.assert_allclose(found, np.arange(len(found)) * 1001 / 30000, atol=1e-12)


class Stride(tool.Tool):
    def test(self):
        files = [clips.clip(name) for name in NAMES] + [known.path for known in REAL]
        every = Dataset(self.pack("every", *files, "-T", "longest", "--size", SIZE))
        for stride in 2, 7, 100:
            some = Dataset(self.pack("some", *files, "-T", "longest", "--size", SIZE, "--stride", stride))
            for path in files:
                with self.subTest(os.path.basename(path), stride=stride):
                    self.assertEqual(some.row(path)["sampling"], f"stride={stride}")
                    np.testing.assert_array_equal(some.frames(path), every.frames(path)[::stride])
