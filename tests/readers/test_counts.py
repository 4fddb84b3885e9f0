"""Counts: what scan says is what the ffmpeg programs say, without decoding and with it, and what packing finds."""
import json
import os
import random
import subprocess
import unittest
import unittest.mock

import clips
import media
import tool
from dataset import Dataset, read_table
from harness import each


class Counts(tool.Tool):
    """A table by packets, one by decoding, and a dataset of the same files, very small."""
    files = ()
    status = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls()
        cls.packets, cls.decoded = (self.scan(*options) for options in ([], ["--count", "decode"]))
        cls.packed = Dataset(self.pack("all", "--kind", "video", *cls.files, "-T", "longest", "--size", "16x16", "--hdr", "clip",
                                       status=cls.status))

    def scan(self, *options):
        path = self.path("table.tsv")
        tool.write(path, self.bload("scan", "-q", "--kind", "video", *self.files, "--hdr", "clip", *options, status=self.status)[0])
        return {row["id"]: row for row in read_table(path)}

    def rows(self, path):
        """The three rows of a file."""
        return self.packets[path], self.decoded[path], self.packed.row(path)

    def good(self, path, frames):
        for row in self.rows(path):
            self.assertEqual((row["status"], row["reason"], row["length"]), ("ok", "", str(frames)))


class Clips(Counts):
    @classmethod
    def setUpClass(cls):
        cls.files = [clips.clip(name) for name in clips.CLIPS]
        super().setUpClass()

    @each(clips.CLIPS)
    def test(self, name):
        self.good(clips.clip(name), clips.frames_of(name))


@unittest.skipUnless(media.VIDEOS, media.ABSENT)
class Real(Counts):
    files = [known.path for known in media.VIDEOS] + [os.path.join(tool.MEDIA, name) for name in media.USELESS]
    status = 3

    @each((known.name, known) for known in media.VIDEOS if known.good)
    def test(self, _, known):
        self.good(known.path, known.frames)

    @each((known.name, known) for known in media.VIDEOS if known.damaged)
    def test_damaged(self, _, known):
        """What decodes is there, its number right, and the reason is named."""
        packets, decoded, packed = self.rows(known.path)
        for row in packets, decoded, packed:
            self.assertEqual((row["status"], int(row["length"])), ("ok" if known.frames else "skipped", known.frames))
        self.assertNotEqual(packed["reason"], "")
        self.assertNotEqual(decoded["reason"], "")
        if known.name != "derived_bitflips.mp4":  # of which the packets say nothing
            self.assertNotEqual(packets["reason"], "")

    @each(media.USELESS.items())
    def test_useless(self, name, words):
        for row in self.rows(os.path.join(tool.MEDIA, name)):
            self.assertEqual((row["status"], row["length"]), ("skipped", "0"))
            self.assertIn(words, row["reason"])

    def test_cover(self):
        for known in media.VIDEOS:
            if known.cover:
                for row in self.rows(known.path):
                    self.assertEqual(row["status"], "skipped")
                    self.assertRegex(row["reason"], "cover art|audio only")

    def test_hdr(self):
        """Without --hdr clip such files are of no use."""
        names = [known.path for known in media.VIDEOS if known.hdr]
        tool.write(self.path("hdr.tsv"), self.bload("scan", "-q", *names, status=3)[0])
        rows = read_table(self.path("hdr.tsv"))
        self.assertEqual(len(rows), len(names))
        for row in rows:
            self.assertEqual((row["status"], row["length"]), ("skipped", "0"))
            self.assertIn("HDR", row["reason"])


# Containers whose headers say how much there is to come.
TELLING = ".mp4", ".avi", ".mkv", ".webm"


class Truncated(tool.Tool):
    """Cut anywhere, a file gives what the ffmpeg programs still decode of it, and the reason where it can be known."""

    def decoded(self, path):
        done = subprocess.run(["ffprobe", "-v", "quiet", "-threads", "1", "-select_streams", "V:0", "-count_frames",
                               "-show_entries", "stream=nb_read_frames", "-of", "json", path], capture_output=True)
        streams = json.loads(done.stdout or "{}").get("streams", [])
        return int(streams[0].get("nb_read_frames", 0)) if streams else 0

    def test(self):
        cut = []
        for name in ("h264.mp4", "h264.ts", "h264.flv", "hevc-10.mkv", "mpeg4.avi", "mpeg2.mpg", "vp9.webm", "theora.ogv",
                     "mjpeg.avi", "gif.gif", "raw.y4m", "vp8.webm", "av1-aom.mkv"):
            for percent in (20, 55, 90):
                cut.append(self.path(f"{percent}-{name}"))
                with open(clips.clip(name), "rb") as whole, open(cut[-1], "wb") as file:
                    file.write(whole.read(os.path.getsize(clips.clip(name)) * percent // 100))
        tool.write(self.path("cut.tsv"), self.bload("scan", "-q", *cut, status=3)[0])
        packed = Dataset(self.pack("cut", "--sequences", self.path("cut.tsv"), "-T", "longest", "--size", "16x16", status=3))
        for row in read_table(self.path("cut.tsv")):
            with self.subTest(os.path.basename(row["id"])):
                frames = self.decoded(row["path"])
                self.assertEqual((row["status"], int(row["length"])), ("ok" if frames else "skipped", frames), row["reason"])
                self.assertNotEqual(packed.row(row["id"])["status"], "failed", packed.row(row["id"])["reason"])
                if row["path"].endswith(TELLING):
                    self.assertNotEqual(row["reason"], "")


class Damaged(tool.Tool):
    """Files with wrong bytes in them."""

    def damage(self, names):
        """Copies with a few bytes overwritten, always the same ones."""
        chance = random.Random(7)
        for name in names:
            data = bytearray(tool.read(clips.clip(name)))
            for _ in range(12):
                data[chance.randrange(len(data) // 4, len(data))] ^= chance.randrange(1, 256)
            path = self.path(name)
            tool.write(path, data)
            yield path

    def test_same_bytes_whatever_memory_held(self):
        """What a decoder leaves of a damaged picture is never what happened to lie in memory."""
        damaged = list(self.damage(clips.CLIPS))
        options = *damaged, "-T", "longest", "--size", "64x48", "--hdr", "clip"
        made = []
        for filler in "0", "85", "170":
            with unittest.mock.patch.dict(os.environ, MALLOC_PERTURB_=filler):
                made.append(self.pack(f"made-{filler}", *options, status=3))
        self.assertSameTree(made[1], made[0])
        self.assertSameTree(made[2], made[0])

    def test_raw_pictures_too_short(self):
        """FFmpeg's decoder would take them, and show memory where there is no picture."""
        path = self.path("short.avi")
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=128x96", "-c:v", "smc",
                        "-frames:v", "5", path], check=True)
        _, words = self.bload("scan", path, status=3)
        self.assertIn("none of 5 frames decodes", words)
