"""Several fields of one sequence: every step of every field as Python computes it from the files alone."""
import json
import os

import numpy as np

import clips
import ffprobe
import tool
from dataset import Dataset

NAMES = ["h264.mp4", "vp9.webm", "mpeg4.avi", "vfr.mkv", "gif.gif", "hevc.mp4"]
TOLERANCE = 3
YAML = """sources: [videos]
size: 24x16
fields:
  - name: labels
    path: labels/{id}.npy
  - name: features
    path: features/{name}.npz
    array: i3d
    squeeze: true
    dtype: f32
    length-tolerance: 3
  - name: actions
    path: actions/{id}.txt
    mapping: mapping.txt
  - name: one
    kind: intervals
    annotations: intervals.json
    mapping: mapping.txt
    background: -7
  - name: all
    kind: intervals
    annotations: intervals.json
    mapping: mapping.txt
    multi: true
  - name: stepped
    kind: intervals
    annotations: steps.json
    mapping: mapping.txt
    unit: steps
  - name: small
    path: videos/{stem}.again
    kind: video
    size: 8x12
    fit: crop
"""
WAYS = {
    "whole": ("-T", "64"),
    "split": ("-T", "13", "--oversize", "split", "--pad", "repeat", "--compress", "zstd", "--shard-size", "40K", "-j", "3"),
    "cut": ("-T", "17", "--oversize", "truncate", "--segment-ids"),
}


class Fields(tool.Tool):
    """Labels of as many steps, features of a few more or less, and another picture of the same file."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls()
        for folder in "videos", "labels", "features", "actions":
            os.mkdir(self.path(folder))
        random = np.random.default_rng(7)
        cls.labels, cls.features, cls.actions, cls.intervals = {}, {}, {}, {}
        tool.write(self.path("mapping.txt"), "".join(f"{3 * i} action {i}\n" for i in range(9)))
        for i, name in enumerate(NAMES):
            path, stem = os.path.abspath(clips.clip(name)), os.path.splitext(name)[0]
            os.symlink(path, self.path("videos", name))
            os.symlink(path, self.path("videos", stem + ".again"))
            frames = clips.CLIPS[name][0]
            cls.labels[name] = random.integers(-9, 9, (frames, 2, 3)).astype(">i2")
            cls.features[name] = random.normal(size=(frames + i - TOLERANCE, 1, 5)).astype(np.float64)
            cls.actions[name] = random.integers(0, 9, frames)
            tool.write(self.path("actions", stem + ".txt"), "".join(f"action {action}\n" for action in cls.actions[name]))
            cls.intervals[name] = [(*sorted(random.uniform(-0.1, frames / 25, 2)), int(random.integers(0, 9)))
                                   for _ in range(5)]
            np.save(self.path("labels", stem + ".npy"), np.asfortranarray(cls.labels[name]))
            np.savez_compressed(self.path("features", name + ".npz"), i3d=cls.features[name], other=np.zeros(3))
        self.write_intervals("intervals.json", 1)
        self.write_intervals("steps.json", 25)
        tool.write(self.path("fields.yaml"), YAML)
        cls.times = {name: ffprobe.times(clips.clip(name)) for name in NAMES}
        cls.alone = {size: Dataset(self.pack(size, "videos", "-T", "longest", "--size", size, *fit, cwd=self.directory))
                     for size, fit in (("24x16", ()), ("8x12", ("--fit", "crop")))}

    def write_intervals(self, name, scale):
        database = {os.path.splitext(sequence)[0]: {"annotations": [
            {"segment": [begin * scale, end * scale], "label": f"action {label}"} for begin, end, label in intervals]}
            for sequence, intervals in self.intervals.items()}
        tool.write(self.path(name), json.dumps({"database": database}))

    def painted(self, name, times, background, scale=1):
        """The label of each step, and one number for each label and step."""
        one = np.full(len(times), background, np.int32)
        several = np.zeros((len(times), 25), np.uint8)
        for begin, end, label in self.intervals[name]:
            inside = (times >= begin * scale) & (times < end * scale)
            one[inside] = 3 * label
            several[inside, 3 * label] = 1
        return one, several

    def expected(self, name):
        """All steps of each field."""
        frames = self.alone["24x16"].frames(name)
        features = self.features[name][:, 0].astype(np.float32)
        one, several = self.painted(name, self.times[name], -7)
        stepped, _ = self.painted(name, np.arange(len(frames)), -1, 25)
        lacking = max(0, len(frames) - len(features))
        return {"frames": frames, "small": self.alone["8x12"].frames(name), "labels": self.labels[name].astype("<i2"),
                "one": one, "all": several, "stepped": stepped,
                "actions": (3 * self.actions[name]).astype(np.int32),
                "features": np.concatenate([features, np.repeat(features[-1:], lacking, 0)])[:len(frames)]}

    def check(self, way):
        dataset = Dataset(self.pack(way, "-c", "fields.yaml", *WAYS[way], cwd=self.directory))
        self.bload("verify", "-q", dataset.directory)
        self.assertEqual([field["name"] for field in dataset.manifest["fields"]],
                         ["frames", "labels", "features", "actions", "one", "all", "stepped", "small"])
        for name in NAMES:
            expected = self.expected(name)
            pieces = dataset.pieces_of(name)
            self.assertTrue(pieces)
            for block, start, length, first in pieces:
                for field, steps in expected.items():
                    with self.subTest(name=name, field=field, first=first):
                        got = dataset.block(block, field)[start:start + length]
                        np.testing.assert_array_equal(got, steps[first:first + length])
                        self.assertEqual(got.dtype, steps.dtype)
        return dataset

    def test_whole(self):
        dataset = self.check("whole")
        for name in NAMES:
            row = dataset.row(name)
            self.assertEqual((int(row["features.length"]), int(row["labels.length"]), row["status"]),
                             (len(self.features[name]), int(row["length"]), "ok"))

    def test_split(self):
        self.check("split")

    def test_cut(self):
        self.check("cut")
