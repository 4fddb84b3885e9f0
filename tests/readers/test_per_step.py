"""Sound per step: of every step of every sequence the samples that Python cuts from what the ffmpeg command decodes, at the times
that ffprobe tells of the frames."""
import os
import shlex
import subprocess
import unittest

import numpy as np

import media
import tool
from ffprobe import timestamps
from dataset import Dataset
from sounds import RATE, cut, nearest, samples

X264 = "-c:v libx264 -threads 1 -preset veryfast -pix_fmt yuv420p"
PCM = "-c:a pcm_s16le"
VFR = f"-vf setpts='(N+5*floor(N/6))/25/TB' -fps_mode vfr -enc_time_base 1:12800 {X264}"
# name: (seconds of the picture, offset, of the sound, offset, how both are coded)
FILMS = {
    "constant.mov": (2, 0, 2, 0, f"{X264} -bf 3 {PCM}"),
    "ntsc.mkv": (1.5, 0, 1.52, 0, f"-r 30000/1001 {X264} -bf 2 -c:a flac"),
    "variable.mkv": (1.4, 0, 2.2, 0, f"{VFR} -bf 2 {PCM}"),
    "variable.mp4": (1, 0, 2, 0, f"{VFR} -bf 0 -c:a aac"),
    "delayed.mkv": (1.6, 0, 1.4, 0.3, f"{X264} {PCM}"),
    "delayed.mp4": (1.6, 0, 1.4, 0.3, f"{X264} -bf 2 -c:a aac"),
    "early.mkv": (1.2, 0.25, 1.5, 0, f"{X264} {PCM}"),
    "early.mov": (1.2, 0.25, 1.5, 0, f"-fps_mode passthrough {X264} -bf 2 {PCM}"),
    "short.mov": (2, 0, 1.7, 0, f"{X264} {PCM}"),
    "long.avi": (1, 0, 1.9, 0, f"-c:v mpeg4 -bf 2 -q:v 5 {PCM}"),
    "transport.ts": (1.4, 0, 1.4, 0, "-c:v mpeg2video -bf 2 -q:v 5 -c:a mp2 -b:a 64k"),
}
YAML = """sources: [films]
size: 16x8
fields:
  - name: sound
    path: films/{name}
    kind: audio
    per_step: true
  - name: other
    path: sounds/{name}.wav
    per-step: true
    channels: 2
    dtype: f32
"""
# How it is packed, what the YAML says of the samples of a step, and how many there are.
WAYS = {
    "native": (("-T", "64"), 640, 640),
    "long": (("-T", "64"), 3000, 3000),
    "strided": (("-T", "64", "--stride", "3"), 2000, 2000),
    "sampled": (("-T", "longest", "--fps", "30000/1001"), None, 534),
    "split": (("-T", "7", "--oversize", "split", "--compress", "zstd", "--shard-size", "40K", "-j", "3"), 700, 700),
    "scattered": (("-T", "11", "--fps", "7", "--oversize", "split", "-j", "2"), 5000, 5000),
}


def run(*words):
    subprocess.run(words, check=True, capture_output=True, timeout=120)


def make(path, picture, picture_at, sound, sound_at, coding):
    run("ffmpeg", "-v", "error", "-nostdin", "-y", "-itsoffset", str(picture_at), "-f", "lavfi", "-i",
        f"testsrc2=size=64x48:rate=25:duration={picture}", "-itsoffset", str(sound_at), "-f", "lavfi", "-i",
        f"anoisesrc=duration={sound}:sample_rate={RATE}:seed=7:amplitude=0.3", "-map", "0:v", "-map", "1:a", "-bitexact",
        *shlex.split(coding), path)


def write_wav(path, sound):
    run("ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
        f"anoisesrc=duration={sound}:sample_rate={RATE}:seed=9:amplitude=0.2", "-ac", "1", "-bitexact", path)


def compare_pieces(test, dataset, name, field, expected, tolerance=0):
    pieces = dataset.pieces_of(name)
    test.assertTrue(pieces)
    for block, start, length, first in pieces:
        got = dataset.block(block, field)[start:start + length]
        test.assertEqual((got.shape, got.dtype), ((length, *expected.shape[1:]), expected.dtype))
        difference = np.abs(got.astype(np.float64) - expected[first:first + length])
        test.assertLessEqual(difference.max(), tolerance, f"{name} {field} from step {first}")


class PerStep(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls()
        for folder in "films", "sounds":
            os.mkdir(self.path(folder))
        for name, (picture, picture_at, sound, sound_at, coding) in FILMS.items():
            make(self.path("films", name), picture, picture_at, sound, sound_at, coding)
            write_wav(self.path("sounds", name + ".wav"), picture + 3)
        cls.shown = {name: timestamps(self.path("films", name), "v:0") for name in FILMS}
        cls.heard = {name: timestamps(self.path("films", name), "a:0")[0] for name in FILMS}
        cls.sound = {name: samples(self.path("films", name)) for name in FILMS}
        cls.other = {name: samples(self.path("sounds", name + ".wav")) for name in FILMS}

    def begins(self, name, way, length):
        """When steps begin, from the first."""
        words = WAYS[way][0]
        if "--fps" in words:
            num, _, den = words[words.index("--fps") + 1].partition("/")
            return np.arange(length) * int(den or 1) / int(num)
        shown = self.shown[name] - self.shown[name][0]
        return shown[::int(words[words.index("--stride") + 1])] if "--stride" in words else shown

    def check_row(self, row, sound, begins, count):
        """What is told of what is left out and filled."""
        inside = np.zeros(len(sound), bool)
        there = 0
        for begin in begins:
            part = slice(max(begin, 0), max(begin + count, 0))
            inside[part] = True
            there += len(inside[part])
        self.assertEqual(int(row["sound.left_out"]), int((~inside).sum()))
        self.assertEqual(int(row["sound.filled"]), len(begins) * count - there)
        return int((~inside).sum()), len(begins) * count - there

    def check(self, way):
        words, said, count = WAYS[way]
        tool.write(self.path(way + ".yaml"), YAML if said is None else YAML.replace("true\n", f"true\n    samples: {said}\n"))
        out, told = self.path(way), self.bload("pack", "-c", way + ".yaml", *words, "-o", way, cwd=self.directory)[1]
        self.bload("verify", "-q", out)
        dataset = Dataset(out)
        sums = np.zeros(2, int)
        for name in FILMS:
            with self.subTest(name=name):
                row = dataset.row(name)
                times = self.begins(name, way, int(row["length"]))
                self.assertEqual((row["status"], len(times)), ("ok", int(row["length"])))
                lead = self.shown[name][0] - self.heard[name]
                self.assertEqual(float(row["sound.lead"]), lead)
                # Of QuickTime files the encoder's padding behind the end is no part of the sound.
                sound = self.sound[name][:int(row["sound.samples"])]
                self.assertTrue(0 <= len(self.sound[name]) - len(sound) <= (1024 if "aac" in FILMS[name][4] else 0))
                begins = nearest((times + lead) * RATE)
                sums += self.check_row(row, sound, begins, count)
                compare_pieces(self, dataset, name, "sound", cut(sound, begins, count), 1 if "aac" in FILMS[name][4] else 0)
                mono = self.other[name] * np.float32(np.sqrt(0.5) / 32768)  # of one channel half the power to each side
                both = cut(np.stack([mono, mono], 1), nearest(times * RATE), count)
                compare_pieces(self, dataset, name, "other", both, 1e-6)
        self.assertIn("samples that lie in no step, left out: ", told)
        return dataset, sums

    def test_native(self):
        dataset, _ = self.check("native")
        self.assertAlmostEqual(float(dataset.row("delayed.mkv")["sound.lead"]), -0.3, delta=0.001)
        self.assertAlmostEqual(float(dataset.row("early.mov")["sound.lead"]), 0.25, delta=0.05)
        self.assertEqual([field["shape"] for field in dataset.manifest["fields"]][1:], [[640], [640, 2]])

    def test_long(self):
        self.check("long")

    def test_strided(self):
        self.check("strided")

    def test_sampled(self):
        self.check("sampled")

    def test_split(self):
        self.check("split")

    def test_scattered(self):
        self.check("scattered")

    def test_folders_of_images(self):
        os.mkdir(self.path("images"))
        for name, count in ("a", 13), ("b", 8):
            os.mkdir(self.path("images", name))
            run("ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=16x8:rate=10", "-frames:v", str(count),
                self.path("images", name, "%04d.png"))
            write_wav(self.path("images", name + ".wav"), count / 12.5)
        # Of one folder the first images are missing, and some in the middle: the numbers of the others tell their times.
        missing = {"a": (), "b": (1, 2, 5)}
        for number in missing["b"]:
            os.remove(self.path("images", "b", f"{number:04}.png"))
        tool.write(self.path("images.yaml"), "sources: [{path: images, kind: frames}]\nfields:\n"
                                             "  - {name: sound, path: 'images/{id}.wav', per_step: true, step_rate: 12.5}\n")
        dataset = Dataset(self.pack("images.packed", "-c", "images.yaml", "-T", "5", "--oversize", "split", cwd=self.directory))
        for name, count in ("a", 13), ("b", 8):
            sound = samples(self.path("images", name + ".wav"))
            there = [number - 1 for number in range(1, count + 1) if number not in missing[name]]
            compare_pieces(self, dataset, name, "sound", sound.reshape(count, 1280)[there])
            row = dataset.row(name)
            self.assertEqual((row["sound.left_out"], row["sound.filled"], row["sound.lead"]),
                             (str(1280 * len(missing[name])), "0", "0"))


class Silence(tool.Tool):
    """Of films without a sound track, or whose sound file is missing, each sample is 0, and that of the others is what it is alone."""

    def test_zeros(self):
        for folder in "films", "sounds":
            os.mkdir(self.path(folder))
        mute = {"mute.mov": "mov", "mute.mkv": "mkv", "mute.ts": "ts"}
        for name in ("constant.mov", "variable.mkv", "delayed.mp4"):
            make(self.path("films", name), *FILMS[name])
        for name in mute:
            run("ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=1.5", *shlex.split(X264),
                self.path("films", name))
        write_wav(self.path("sounds", "variable.mkv.wav"), 4)
        missing = YAML.replace("kind: audio\n", "kind: audio\n    missing: zeros\n").replace("channels: 2\n", "channels: 2\n    missing: zeros\n")
        tool.write(self.path("silence.yaml"), missing.replace("true\n", "true\n    samples: 640\n"))
        for options in ("-T", "64"), ("-T", "7", "--oversize", "split", "-j", "3", "--stride", "2"), ("-T", "9", "--oversize", "split", "--fps", "7"):
            dataset = Dataset(self.pack("packed", "-c", "silence.yaml", *options, cwd=self.directory))
            self.assertEqual(len(dataset.sequences), 6)
            for row in dataset.sequences:
                steps = int(row["length"])
                silent = {"sound": row["id"] in mute, "other": row["id"] != "variable.mkv"}
                for field, shape, dtype in ("sound", (640,), np.int16), ("other", (640, 2), np.float32):
                    self.assertEqual(row[f"{field}.silent"], str(int(silent[field])), row["id"])
                    if silent[field]:
                        self.assertEqual((row[f"{field}.filled"], row[f"{field}.left_out"]), (str(640 * steps), "0"))
                        compare_pieces(self, dataset, row["id"], field, np.zeros((steps, *shape), dtype))
                    else:
                        self.assertTrue(any(dataset.block(b, field)[start:start + length].any()
                                            for b, start, length, _ in dataset.pieces_of(row["id"])))
            self.assertEqual({k: v for k, v in dataset.manifest["counts"].items() if "silent" in k}, {"sound.silent": 3, "other.silent": 5})


@unittest.skipUnless(media.VIDEOS, media.ABSENT)
class Real(tool.Tool):
    """Real videos: the sound of each, packed alone, is cut where ffprobe says that frames are shown and the sound begins."""

    def test_real(self):
        tool.write(self.path("real.yaml"), f"sources: [{{path: {tool.MEDIA}, kind: video}}]\nsize: 16x8\nfields:\n  - {{name: sound, kind: audio, "
                                           f"path: '{tool.MEDIA}/{{name}}', per-step: true, samples: 700}}\n")
        parts = Dataset(self.pack("real", "-c", "real.yaml", "-T", "31", "--oversize", "split", status=3, cwd=self.directory))
        names = [row["id"] for row in parts.sequences if row["status"] == "ok"]
        self.assertGreater(len(names), 15)
        # Three of them have gaps in their timestamps, which sound per step fills unasked.
        alone = Dataset(self.pack("alone", "--kind", "audio", *(os.path.join(tool.MEDIA, name) for name in names), "-T", "longest",
                                  "--audio-gap", "0.01", status=3, cwd=self.directory))
        for name in names:
            with self.subTest(name=name):
                path = os.path.join(tool.MEDIA, name)
                shown = timestamps(path, parts.row(name)["stream"])
                lead = shown[0] - timestamps(path, parts.row(name)["sound.stream"])[0]
                sound = np.concatenate([alone.block(b, "audio")[start:start + length]
                                        for b, start, length, _ in alone.pieces_of(path)])
                self.assertAlmostEqual(float(parts.row(name)["sound.lead"]), lead, delta=1e-9)
                expected = cut(sound, nearest((shown - shown[0] + lead) * RATE), 700)
                compare_pieces(self, parts, name, "sound", expected)
