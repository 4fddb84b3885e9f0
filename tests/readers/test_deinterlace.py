"""--deinterlace: every frame equals that of ffmpeg's filter bwdif, in whole files, in pieces from the middle, and in clips."""
import os
import shlex
import subprocess
import unittest

import numpy as np

import media
import tool
from dataset import Dataset
from harness import each

INTERLACED = "-vf tinterlace=interleave_top,fieldorder=tff"
BOTTOM = "-vf tinterlace=interleave_bottom,fieldorder=bff"
# name: (options of the coding, whether frames are marked as interlaced)
FILMS = {
    "mpeg2.mkv": (f"{INTERLACED} -flags +ildct+ilme -c:v mpeg2video -q:v 3 -g 12 -bf 2", True),
    "mpeg2.ts": (f"{INTERLACED} -flags +ildct+ilme -c:v mpeg2video -q:v 3 -g 12 -bf 2", True),
    "bottom.mp4": (f"{BOTTOM} -flags +ildct+ilme -c:v libx264 -preset veryfast -x264-params interlaced=1:bff=1 -threads 1 -g 10 -bf 2", True),
    "intra.mkv": (f"{INTERLACED} -c:v ffv1 -level 3", None),
    "prores.mov": (f"{INTERLACED} -flags +ildct -c:v prores_ks -profile:v 1", True),
    "dv.avi": ("-vf scale=720x576,tinterlace=interleave_bottom,fieldorder=bff -pix_fmt yuv420p -flags +ildct -c:v dvvideo", True),
    "progressive.mp4": ("-r 25 -c:v libx264 -preset veryfast -threads 1 -g 10 -bf 2", False),
}
MODES = {"interlaced": "interlaced", "all": "all"}


def run(*words):
    subprocess.run(words, check=True, capture_output=True, timeout=120)


def frames_of(dataset, name):
    return np.concatenate([dataset.block(b, "frames")[start:start + length] for b, start, length, _ in dataset.pieces_of(name)])


class Deinterlace(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls()
        os.mkdir(self.path("films"))
        for name, (coding, _) in FILMS.items():
            run("ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=50:duration=2", *shlex.split(coding),
                "-bitexact", self.path("films", name))
        cls.whole, cls.plain = {}, {}
        for name in FILMS:
            cls.plain[name] = self.frames("plain-" + name, "films", name)
            for mode, deint in MODES.items():
                os.makedirs(self.path(mode), exist_ok=True)
                run("ffmpeg", "-v", "error", "-nostdin", "-i", self.path("films", name), "-vf", f"bwdif=mode=send_frame:parity=auto:deint={deint}",
                    "-fps_mode", "passthrough", "-c:v", "ffv1", "-level", "3", self.path(mode, name + ".mkv"))
                cls.whole[name, mode] = self.frames(f"expected-{mode}-{name}", mode, name + ".mkv")

    def frames(self, out, folder, name, *options):
        dataset = Dataset(self.pack(out, self.path(folder, name), "-T", "longest", *options))
        return frames_of(dataset, dataset.sequences[0]["id"])

    @each((f"{name}_{mode}", name, mode) for name in FILMS for mode in MODES)
    def test_whole(self, _, name, mode):
        got = self.frames("d", "films", name, "--deinterlace", mode)
        self.assertEqual(got.shape, self.whole[name, mode].shape)
        self.assertTrue(np.array_equal(got, self.whole[name, mode]))
        marked = FILMS[name][1]
        if marked is not None:  # the filter has done something, unless it has nothing to do
            self.assertEqual(np.array_equal(got, self.plain[name]), mode == "interlaced" and not marked)

    @each((name, name) for name in FILMS)
    def test_pieces(self, _, name):
        """In any order, by several workers, with a stride and with a rate: the frames of the whole file."""
        expected = self.whole[name, "all"]
        for options, wanted in ((("-T", "7"), expected), (("-T", "1"), expected), (("-T", "4", "--stride", "3"), expected[::3])):
            dataset = Dataset(self.pack("d", self.path("films", name), "--deinterlace", "all", "--oversize", "split", "-j", "2", *options))
            got = frames_of(dataset, dataset.sequences[0]["id"])
            order = np.concatenate([np.arange(first, first + length) for _, _, length, first in dataset.pieces_of(dataset.sequences[0]["id"])])
            self.assertTrue(len(got) == len(wanted) and np.array_equal(got, wanted[order]), options)
        slow = Dataset(self.pack("slow", self.path("films", name), "--deinterlace", "all", "--oversize", "split", "-T", "3", "--fps", "60"))
        whole = Dataset(self.pack("fast", self.path("films", name), "--deinterlace", "all", "-T", "longest", "--fps", "60"))
        name = slow.sequences[0]["id"]
        all_frames = frames_of(whole, name)
        for block, start, length, first in slow.pieces_of(name):
            self.assertTrue(np.array_equal(slow.block(block, "frames")[start:start + length], all_frames[first:first + length]))

    @each((name, name) for name in FILMS)
    def test_clips(self, _, name):
        expected = self.whole[name, "all"]
        count, random = len(expected), np.random.default_rng(3)
        clips = [(0, 5), (1, 4), (count - 3, count), (10, 11), (20, 30), (12, 24)]
        clips += [tuple(sorted(random.choice(count, 2, replace=False))) for _ in range(10)]
        tool.write(self.path("clips.csv"), "path,id,start_frame,end_frame\n" +
                   "".join(f"films/{name},{i},{begin},{end}\n" for i, (begin, end) in enumerate(clips)))
        packed = Dataset(self.pack("clips", "--kind", "video", "clips.csv", "--deinterlace", "all", "-T", "longest", cwd=self.directory))
        # From a table that was scanned without the option, whose seek points are the first frames of clips.
        self.bload("scan", "-q", "--kind", "video", "clips.csv", "-o", self.path("table"), cwd=self.directory)
        later = Dataset(self.pack("later", "--sequences", self.path("table"), "--deinterlace", "all", "-T", "longest", cwd=self.directory))
        for i, (begin, end) in enumerate(clips):
            self.assertTrue(np.array_equal(frames_of(packed, str(i)), expected[begin:end]), (begin, end))
            self.assertTrue(np.array_equal(frames_of(later, str(i)), expected[begin:end]), (begin, end))


MBAFF = os.path.join(tool.MEDIA, "derived_h264_mbaff.ts")


@unittest.skipUnless(os.path.exists(MBAFF), media.ABSENT)
class Real(tool.Tool):
    def test_mbaff(self):
        for mode in MODES:
            run("ffmpeg", "-v", "error", "-nostdin", "-threads", "1", "-i", MBAFF, "-vf", f"bwdif=mode=send_frame:deint={mode}", "-an",
                "-fps_mode", "passthrough", "-c:v", "ffv1", "-level", "3", self.path(mode + ".mkv"))
            expected = Dataset(self.pack("expected" + mode, self.path(mode + ".mkv"), "--size", "96x64", "-T", "longest"))
            expected = frames_of(expected, expected.sequences[0]["id"])
            for options in ("-T", "longest"), ("-T", "7", "--oversize", "split", "-j", "2"):
                got = Dataset(self.pack("got", MBAFF, "--size", "96x64", "--deinterlace", mode, *options))
                name = got.sequences[0]["id"]
                for block, start, length, first in got.pieces_of(name):
                    self.assertTrue(np.array_equal(got.block(block, "frames")[start:start + length], expected[first:first + length]))
                self.assertEqual(int(got.sequences[0]["length"]), len(expected))
