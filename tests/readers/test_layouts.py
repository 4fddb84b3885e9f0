"""Whole datasets as they lie on disk: every step of every field of every sequence is what Python computes from the files alone.

Pictures are of random pixels, and kept without loss, so that what is in a block can be told without a decoder."""
import csv
import io
import json
import os
import subprocess

import numpy as np
from PIL import Image

import bload
import ffprobe
import tool
from dataset import Dataset
from sounds import RATE, cut, nearest, samples
from test_encoding import pillow_file
from test_folders import pictures, png, write

CLASSES = ["c000 Holding some clothes", "c001 Putting clothes somewhere", "c002 Taking some clothes", "c003 Throwing clothes"]
WAYS = {
    "whole": ("-T", "40"),
    "split": ("-T", "7", "--oversize", "split", "--compress", "zstd", "--shard-size", "5K", "-j", "3", "--seed", "5"),
    "truncated": ("-T", "11", "--oversize", "truncate", "--pad", "repeat"),
}


class Layout(tool.Tool):
    """A corpus of which `expected` gives {id: {field: all steps}}."""

    def check(self, expected, *options):
        dataset = Dataset(self.pack("out", "-c", "set.yaml", *options, cwd=self.directory))
        self.bload("verify", "-q", dataset.directory)
        self.assertEqual(sorted(dataset.row_of), sorted(expected))
        for name, fields in expected.items():
            self.assertEqual({field["name"] for field in dataset.manifest["fields"]}, set(fields))
            pieces = dataset.pieces_of(name)
            self.assertTrue(pieces)
            for block, start, length, first in pieces:
                for field, steps in fields.items():
                    with self.subTest(name=name, field=field, first=first):
                        got = dataset.block(block, field)[start:start + length]
                        self.assertEqual((got.dtype, length), (steps.dtype, len(got)))
                        np.testing.assert_array_equal(got, steps[first:first + length])
            if "truncate" not in options:
                self.assertEqual(sum(length for _, _, length, _ in pieces), len(fields["frames"]))
        return dataset

    def write_intervals(self, name, intervals):
        """intervals: {id: [(begin, end, class)]}"""
        database = {sequence: {"annotations": [{"segment": [begin, end], "label": CLASSES[label]} for begin, end, label in some]}
                    for sequence, some in intervals.items()}
        write(self.path(name), json.dumps({"version": "1", "database": database}).encode())
        write(self.path("classes.txt"), "".join(line + "\n" for line in CLASSES).encode())


def painted(times, intervals):
    """The last interval's class that each time lies in, or -1; and one number for each class."""
    one = np.full(len(times), -1, np.int32)
    each = np.zeros((len(times), len(CLASSES)), np.uint8)
    for i, time in enumerate(times):
        for begin, end, label in intervals:
            if begin <= time < end:
                one[i] = label
                each[i, label] = 1
    return one, each


def some_intervals(random, seconds, count=4):
    return [(*(round(float(t), 3) for t in sorted(random.uniform(-0.1, seconds, 2))), int(random.integers(len(CLASSES))))
            for _ in range(count)]


class ActionGenome(Layout):
    """Folders that are called as the videos were, with the frames that were annotated, numbered from 1 as in the whole video; the
    actions of Charades in seconds of those videos, which had 24 frames a second."""
    FRAMES = {"001YG.mp4": (89, 93, 94, 120, 121), "00HFP.mp4": (1, 2, 3, 9, 10, 11, 200, 1000), "00N38.mp4": range(25, 490, 24),
              "9ZJ0K.mp4": (7,)}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls()
        random = np.random.default_rng(11)
        cls.expected, intervals = {}, {}
        for seed, (name, numbers) in enumerate(cls.FRAMES.items()):
            steps, stem = len(numbers), name.removesuffix(".mp4")
            pixels = pictures(steps, seed=seed)
            for image, number in zip(pixels, numbers):
                write(self.path("frames", name, f"{number:06}.png"), png(image))
            intervals[stem] = [*some_intervals(random, max(numbers) / 24 + 0.1), (numbers[0] / 24 - 0.03, numbers[0] / 24, 2)]
            one, each = painted([(number - 1) / 24 for number in numbers], intervals[stem])
            cls.expected[name] = {
                "frames": pixels, "frame_number": np.array(numbers, np.int32), "actions": each, "action": one,
                "relation": random.integers(0, 26, steps).astype(np.uint8),
                "boxes": random.uniform(0, 300, (steps, 3, 4)).astype(np.float32),
                "contact": random.integers(0, len(CLASSES), steps).astype(np.int32)}
            fields = cls.expected[name]
            write(self.path("contact", stem + ".txt"), "".join(CLASSES[c] + "\n" for c in fields["contact"]).encode())
            os.makedirs(self.path("relation"), exist_ok=True)
            os.makedirs(self.path("boxes"), exist_ok=True)
            np.save(self.path("relation", stem + ".npy"), fields["relation"])
            np.savez_compressed(self.path("boxes", stem + ".npz"), boxes=fields["boxes"].astype(np.float64), size=np.ones(2))
        self.write_intervals("charades.json", intervals)

    def configure(self, *fields):
        known = {
            "actions": "kind: intervals, annotations: charades.json, mapping: classes.txt, rate: 24, multi: true",
            "action": "kind: intervals, annotations: charades.json, mapping: classes.txt, rate: 24",
            "relation": 'path: "relation/{id}.npy"', "boxes": 'path: "boxes/{id}.npz", array: boxes, dtype: f32',
            "contact": 'path: "contact/{stem}.txt", mapping: classes.txt'}
        text = "".join(f"  - {{name: {name}, {known[name]}}}\n" for name in fields)
        write(self.path("set.yaml"), f"sources: [frames/]\nkind: frames\nfields:\n{text}".encode())

    def test_every_step(self):
        self.configure("actions", "action", "relation", "boxes", "contact")
        for way, options in WAYS.items():
            with self.subTest(way):
                self.check(self.expected, *options)

    def test_every_second_frame(self):
        """Intervals are of the video's time, whichever of its frames are taken."""
        self.configure("actions", "action")
        names = "frames", "frame_number", "actions", "action"
        expected = {name: {field: fields[field][::2] for field in names} for name, fields in self.expected.items()}
        dataset = self.check(expected, "-T", "12", "--stride", "2")
        self.assertEqual({name: int(dataset.row(name)["missing"]) for name in self.FRAMES},
                         {"001YG.mp4": 0, "00HFP.mp4": 992, "00N38.mp4": 0, "9ZJ0K.mp4": 0})  # where most follow each other

    def test_an_image_without_a_number_has_no_time(self):
        write(self.path("frames", "9ZJ0K.mp4", "last.png"), png(pictures(1)[0]))
        try:
            self.configure("action")
            dataset = Dataset(self.pack("unnumbered", "-c", "set.yaml", "-T", "40", status=3, cwd=self.directory))
            row = dataset.row("9ZJ0K.mp4")
            self.assertEqual((row["status"], row["reason"]), ("failed", "last.png has no number for its time"))
            write(self.path("set.yaml"), b"sources: [frames/]\nkind: frames\n")
            self.pack("plain", "-c", "set.yaml", "-T", "40", cwd=self.directory)
        finally:
            os.remove(self.path("frames", "9ZJ0K.mp4", "last.png"))


def write_video(path, pixels, rate, filters, shown=0, sound=None):
    """Without loss, each frame as long as the rate and the filters say. shown: when the first is, in seconds, where no filter says it.
    sound: when it begins and how long it is, in seconds."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    height, width = pixels.shape[1:3]
    heard, words = [], []
    if sound:
        begin, seconds = sound
        heard = ["-itsoffset", str(begin), "-f", "lavfi", "-i", f"anoisesrc=duration={seconds}:sample_rate={RATE}:seed=3:amplitude=0.3"]
        words = ["-map", "0:v", "-map", "1:a", "-c:a", "pcm_s16le"]
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-itsoffset", str(shown), "-f", "rawvideo", "-pix_fmt", "rgb24",
                    "-s", f"{width}x{height}", "-framerate", rate, "-i", "-", *heard, *words, "-vf", filters,
                    "-fps_mode", "passthrough", "-c:v", "ffv1", "-pix_fmt", "gbrp", path], input=pixels.tobytes(), check=True)


def as_jpeg(frames):
    """Frames as they come back from JPEG files of the default quality."""
    return np.stack([np.asarray(Image.open(io.BytesIO(pillow_file(frame, 90)))) for frame in frames])


class Mixed(Layout):
    """Videos in folders, some of changing rate, with their sound, which begins with the picture, later or earlier, and ends before or
    behind it; labels in each of the three forms; another camera with times of its own; a table of attributes, some of which are numbers."""
    # Frames, how long each is shown, when the first is; when the sound begins, its seconds.
    VIDEOS = {"a/one.mkv": (17, "25", "null", 0, (0, 0.68)),
              "a/two.mkv": (30, "30000/1001", "settb=1/1000,setpts='N*40+mod(N*N*7,23)'", 0, (0.2, 1.4)),
              "three.mkv": (9, "12.5", "null", 0.3, (0, 0.9)),
              "b/four.c.mkv": (26, "24", "settb=1/1000,setpts='N*30+150*floor(N/5)'", 0, (0, 1.4))}
    SAMPLES = 700
    ATTRIBUTES = {"a/one": (3, -0.5, "kitchen"), "a/two.mkv": (0, 1e30, "kitchen, small"), "three": (-7, None, ""),
                  "b/four.c": (1 << 40, 0.1, "garden")}
    YAML = b"""sources: [videos/]
attributes: table.csv
fields:
  - name: labels
    path: labels/{id}.npy
    length-tolerance: 1
  - name: sound
    kind: audio
    path: videos/{name}
    per-step: true
    samples: 700
  - name: side
    kind: video
    path: side/{name}
  - name: actions
    path: groundTruth/{stem}.txt
    mapping: mapping.txt
  - name: events
    kind: intervals
    annotations: events.json
    mapping: classes.txt
    multi: true
  - name: event
    kind: intervals
    annotations: events.json
    mapping: classes.txt
"""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls()
        random = np.random.default_rng(12)
        cls.expected, intervals = {}, {}
        for seed, (name, (frames, *shown)) in enumerate(cls.VIDEOS.items()):
            stem = name.removesuffix(".mkv")
            cls.expected[name] = fields = {
                "frames": pictures(frames, seed=20 + seed), "side": pictures(frames, 10, 14, seed=30 + seed),
                "labels": random.normal(size=(frames, 2)), "actions": random.integers(0, 5, frames).astype(np.int32) * 7}
            write_video(self.path("videos", name), fields["frames"], *shown)
            write_video(self.path("side", name), fields["side"], "5", "null")
            os.makedirs(os.path.dirname(self.path("labels", stem)), exist_ok=True)
            np.save(self.path("labels", stem + ".npy"), np.concatenate([fields["labels"], np.ones((seed % 2, 2))]))
            write(self.path("groundTruth", os.path.basename(stem) + ".txt"),
                  "".join(f"do {action // 7}\n" for action in fields["actions"]).encode())
            times = ffprobe.times(self.path("videos", name))
            self.assertEqual(len(times), frames)
            fields["sound"] = self.heard(self.path("videos", name), times)
            intervals[stem] = some_intervals(random, times[-1] + 0.1) + [(times[frames // 3], times[frames // 2], 3)]
            fields["event"], fields["events"] = painted(times, intervals[stem])
        self.write_intervals("events.json", intervals)
        write(self.path("mapping.txt"), "".join(f"{7 * i} do {i}\n" for i in range(5)).encode())
        write(self.path("set.yaml"), cls.YAML)
        with open(self.path("table.csv"), "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("id", "scene", "weight", "place"), *((name, *row) for name, row in cls.ATTRIBUTES.items())])

    def heard(self, path, times):
        """The samples of each step, by the container's clock."""
        lead = ffprobe.timestamps(path, "v:0")[0] - ffprobe.timestamps(path, "a:0")[0]
        return cut(samples(path), nearest((times + lead) * RATE), self.SAMPLES)

    def check_attributes(self, dataset):
        self.assertEqual([attribute["name"] for attribute in dataset.manifest["attributes"]], ["scene", "weight"])
        rows = {dataset.row_of[name.removesuffix(".mkv") + ".mkv"]: values for name, values in self.ATTRIBUTES.items()}
        for row, (_, _, place) in rows.items():
            self.assertEqual(dataset.sequences[row]["place"], place)
        for block in range(dataset.blocks):
            there = [rows.get(int(row), (0, 0, "")) for row in dataset.block(block, "sequence")]
            scene, weight = dataset.block(block, "scene"), dataset.block(block, "weight")
            np.testing.assert_array_equal(scene, np.array([values[0] for values in there], np.int64))
            np.testing.assert_array_equal(weight, np.array([np.nan if values[1] is None else values[1] for values in there]))
            self.assertEqual((scene.dtype, weight.dtype), (np.int64, np.float64))

    def test_every_step(self):
        for way, options in WAYS.items():
            with self.subTest(way):
                self.check_attributes(self.check(self.expected, *options))

    def check_package(self, directory, expected):
        """Whole sequences, of whatever blocks they lie in, and the table, as the package bload gives them."""
        dataset = bload.open(directory, verify=True)
        for name, fields in expected.items():
            got = dataset.sequence(name)
            self.assertEqual(set(got), set(fields))
            for field, steps in fields.items():
                with self.subTest(name=name, field=field):
                    self.assertEqual((got[field].dtype, got[field].shape), (steps.dtype, steps.shape))
                    np.testing.assert_array_equal(got[field], steps)
        scenes = {name.removesuffix(".mkv") + ".mkv": scene for name, (scene, _, _) in self.ATTRIBUTES.items()}
        self.assertEqual(dict(zip(dataset.sequences["id"], dataset.sequences["scene"])), scenes)

    def test_by_the_package(self):
        """Out of pieces; and encoded: differences lose nothing, JPEG touches nothing but pictures."""
        lossy = {name: {field: as_jpeg(steps) if field in ("frames", "side") else steps for field, steps in fields.items()}
                 for name, fields in self.expected.items()}
        for way, options, expected in (("split", WAYS["split"], self.expected),
                                       ("delta", ("-T", "40", "--encode", "delta", "--compress", "zstd:1"), self.expected),
                                       ("jpeg", ("-T", "7", "--oversize", "split", "--encode", "jpeg"), lossy)):
            with self.subTest(way):
                out = self.pack(way, "-c", "set.yaml", *options, cwd=self.directory)
                self.bload("verify", "-q", out)
                self.check_package(out, expected)
