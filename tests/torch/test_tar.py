"""Shards that webdataset's own writer wrote, as sources: what webdataset reads of each sample is what the blocks hold."""
import os

import numpy as np

import bload
from harness import each
from packed import PackedTest

SHARDS, SAMPLES = 4, 25


class Shards(PackedTest):
    def write(self):
        """Samples whose lengths all differ, in shards of webdataset; the field labels has a value for each step."""
        try:
            import webdataset
        except ImportError:
            self.skipTest("no package webdataset")
        random, lengths = np.random.default_rng(3), np.random.default_rng(4).permutation(SHARDS * SAMPLES) + 1
        with webdataset.ShardWriter(self.path("data-%03d.tar"), maxcount=SAMPLES, verbose=0) as writer:
            for number, length in enumerate(lengths):
                writer.write({"__key__": f"part{number % 3}/{number:06d}", "frames.npy": random.random((length, 3), dtype="f4"),
                              "labels.npy": random.integers(0, 9, length), "json": {"caption": f"no. {number}\n", "speed": number / 7, "tags": [1]},
                              "cls": number % 5})
        return sorted((sample for shard in range(SHARDS)
                       for sample in webdataset.WebDataset(self.path(f"data-{shard:03d}.tar"), shardshuffle=False).decode()),
                      key=lambda sample: sample["__key__"])

    @each((("plain",), ("compressed", "-j", "3", "--compress", "zstd")))
    def test_samples(self, name, *options):
        samples = self.write()
        with open(self.path("samples.yaml"), "w") as config:
            config.write("sources: ['data-{000..003}.tar']\nmember: frames.npy\nfields:\n  - {name: labels, path: '{key}.labels.npy'}\n")
        self.bload("pack", "-q", "-c", self.path("samples.yaml"), "--attributes-members", "json,cls", "--name", "frames", "-T", SHARDS * SAMPLES, *options,
                   "-o", self.path(name))
        self.bload("verify", "-q", self.path(name))
        dataset = bload.open(self.path(name))
        table = dataset.sequences
        rows = {row["id"].split("/", 1)[1]: number for number, row in enumerate(table)}
        self.assertEqual(sorted(rows), [sample["__key__"] for sample in samples])
        found = {}
        for block in range(len(dataset)):
            part = dataset[block]
            for place, number in enumerate(part["sequence"]):
                if number >= 0:
                    begin, end = part["cu_seqlens"][place : place + 2]
                    found[int(number)] = part["frames"][begin:end], part["labels"][begin:end], part["speed"][place], part["cls"][place]
        for sample in samples:
            frames, labels, speed, kind = found[rows[sample["__key__"]]]
            np.testing.assert_array_equal(frames, sample["frames.npy"])
            np.testing.assert_array_equal(labels, sample["labels.npy"])
            self.assertEqual((speed, kind), (sample["json"]["speed"], sample["cls"]))
            self.assertEqual(table[rows[sample["__key__"]]]["caption"], sample["json"]["caption"])

    def test_an_export_is_a_source(self):
        """What bload export writes, too: a block is a sequence then."""
        os.makedirs(self.path("in"))
        for i in range(9):
            np.save(self.path("in", f"{i}.npy"), np.arange(i + 1, dtype="f4"))
        self.bload("pack", "-q", self.path("in"), "--kind", "array", "-T", 10, "-o", self.path("one"))
        self.bload("export", "-q", "--to", "webdataset", self.path("one"), "-o", self.path("tars"))
        first = bload.open(self.path("one"))
        self.bload("pack", "-q", self.path("tars"), "--kind", "array", "--member", "array.npy", "-T", 10, "-o", self.path("two"))
        second = bload.open(self.path("two"))
        self.assertEqual(*(sorted(dataset[block]["array"].tobytes() for block in range(len(dataset))) for dataset in (first, second)))
