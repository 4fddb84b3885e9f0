"""Counts: what scan says is what the ffmpeg programs say, without decoding and with it, and what packing finds."""
import json
import os
import subprocess
import unittest

import clips
import media
import tool
from dataset import Dataset, read_table
from harness import each, expand


class Counts(tool.Tool):
    """A table by packets, one by decoding, and a dataset of the same files, very small."""
    files = ()
    status = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls()
        cls.packets, cls.decoded = (self.scan(*options) for options in ([], ["--count", "decode"]))
        cls.packed = Dataset(self.pack("all", *cls.files, "-T", "longest", "--size", "16x16", "--hdr", "clip",
                                       status=cls.status))

    def scan(self, *options):
        path = self.path("table.tsv")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.bload("scan", "-q", *self.files, "--hdr", "clip", *options, status=self.status)[0])
        return {row["id"]: row for row in read_table(path)}

    def rows(self, path):
        """The three rows of a file."""
        return self.packets[path], self.decoded[path], self.packed.row(path)

    def good(self, path, frames):
        for row in self.rows(path):
            self.assertEqual((row["status"], row["reason"], row["length"]), ("ok", "", str(frames)))


@expand
class Clips(Counts):
    @classmethod
    def setUpClass(cls):
        cls.files = [clips.clip(name) for name in clips.CLIPS]
        super().setUpClass()

    @each(clips.CLIPS)
    def test(self, name):
        self.good(clips.clip(name), clips.frames_of(name))


@unittest.skipUnless(media.VIDEOS, media.ABSENT)
@expand
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
                    self.assertIn("cover art", row["reason"])

    def test_hdr(self):
        """Without --hdr clip such files are of no use."""
        names = [known.path for known in media.VIDEOS if known.hdr]
        with open(self.path("hdr.tsv"), "w", encoding="utf-8") as file:
            file.write(self.bload("scan", "-q", *names, status=3)[0])
        rows = read_table(self.path("hdr.tsv"))
        self.assertEqual(len(rows), len(names))
        for row in rows:
            self.assertEqual((row["status"], row["length"]), ("skipped", "0"))
            self.assertIn("HDR", row["reason"])


class Truncated(tool.Tool):
    """Cut anywhere, a file gives what the ffmpeg command still decodes of it, or a reason."""

    def decoded(self, path):
        done = subprocess.run(["ffprobe", "-v", "quiet", "-threads", "1", "-select_streams", "V:0", "-count_frames",
                               "-show_entries", "stream=nb_read_frames", "-of", "json", path], capture_output=True)
        streams = json.loads(done.stdout or "{}").get("streams", [])
        return int(streams[0].get("nb_read_frames", 0)) if streams else 0

    def test(self):
        cut = []
        for name in ("h264.mp4", "h264.ts", "h264.flv", "hevc-10.mkv", "mpeg4.avi", "mpeg2.mpg", "vp9.webm", "theora.ogv",
                     "mjpeg.avi", "gif.gif", "raw.y4m", "vp8.webm", "av1-aom.mkv"):
            with open(clips.clip(name), "rb") as file:
                data = file.read()
            for percent in (20, 55, 90):
                stem, extension = name.rsplit(".", 1)
                cut.append(self.path(f"{stem}-{extension}-{percent}.{extension}"))
                with open(cut[-1], "wb") as file:
                    file.write(data[:len(data) * percent // 100])
        with open(self.path("cut.tsv"), "w", encoding="utf-8") as file:
            file.write(self.bload("scan", "-q", *cut, status=3)[0])
        packed = Dataset(self.pack("cut", "--sequences", self.path("cut.tsv"), "-T", "longest", "--size", "16x16", status=3))
        for row in read_table(self.path("cut.tsv")):
            with self.subTest(row["id"]):
                frames = self.decoded(row["path"])
                self.assertEqual((row["status"], int(row["length"])), ("ok" if frames else "skipped", frames), row["reason"])
                self.assertNotEqual(packed.row(row["id"])["status"], "failed", packed.row(row["id"])["reason"])
