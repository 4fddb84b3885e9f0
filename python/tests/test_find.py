"""bload find, against what the samplers give."""
import functools
import json
import os
import subprocess
import warnings

import numpy as np

import bload
import tool
from bload._core.sampler import BlockSampler, EpochBlocks
from harness import each
from sample import Sample

STATES = 20  # of each of the ten datasets and views
EPOCHS = 2
WAYS = "plain", "shards", "split", "overlap", "store", "aligned", "columns", "together", "empty", "failed-plain"
VIEWS = {"view": ("plain", "split"), "view-of-groups": ("groups",)}


class Run:
    """A training run in a random state, as options of find and as the package reads it."""

    def __init__(self, path, random):
        self.dataset = opened(path)
        blocks = len(self.dataset)
        self.ranks, self.batch = random.integers(1, 5, 2).tolist()
        self.shuffle, self.seed = bool(random.integers(3)), int(random.integers(1 << 62))
        self.remainder = ["error", "pad", "pad", "drop"][random.integers(4)]
        self.window = int(random.integers(1, blocks + 3)) if random.integers(2) else None
        self.window_seed = int(random.integers(1 << 40)) if self.window else 0
        self.epoch, self.consumed = int(random.integers(6)), int(random.integers(blocks)) if random.integers(2) else 0
        self.batches = bool(random.integers(2))  # dealt as Accelerate does
        self.source = EpochBlocks(self.dataset, self.window, self.window_seed)
        self.stored = stored(path)

    def options(self):
        given = {"epoch": self.epoch, "world-size": self.ranks, "batch-size": self.batch, "seed": self.seed, "remainder": self.remainder,
                 "shuffle": "yes" if self.shuffle else "no", "consumed": self.consumed, "deal": "batches" if self.batches else "blocks"}
        if self.window:
            given.update({"window": self.window, "window-seed": self.window_seed})
        return [f"--{name}={value}" for name, value in given.items()]

    def numbers(self, rank):
        """What the sampler gives: of a rank, or of the whole job."""
        sampler = BlockSampler(self.source, self.ranks, rank, self.shuffle, self.seed, batch_size=self.batch, remainder="pad")
        sampler.remainder = self.remainder
        sampler.load_state_dict({**sampler.state_dict(0), "epoch": self.epoch, "consumed": self.consumed})
        return np.array(list(sampler))

    def readings(self):
        """{(step, rank, place): number}. SamplerError: the blocks do not divide."""
        if self.batches:
            all_ranks = self.numbers(None).reshape(-1, self.ranks, self.batch)
        else:
            all_ranks = np.stack([self.numbers(rank).reshape(-1, self.batch) for rank in range(self.ranks)], 1)
        return {tuple(map(int, at)): int(all_ranks[at]) for at in np.ndindex(all_ranks.shape)}

    def pieces(self, number):
        """The pieces of a block: (id, block, start, length, source_start)."""
        block = self.source[number]
        first = block.get("source_start", np.zeros_like(block["sequence"]))
        return [(name, number % len(self.dataset), *map(int, piece)) for name, *piece in zip(block["ids"], block["cu_seqlens"],
                                                                                            block["length"], first) if name in self.stored]


@functools.lru_cache(None)
def opened(path):
    return bload.open(path, fields=())


@functools.lru_cache(None)
def stored(path):
    """The ids of sequences that blocks have."""
    failed = {one["id"] for one in opened(path).sequences if one["status"] == "failed"}
    return {one for block in opened(path) for one in block["ids"] if one} - failed


class Find(Sample):
    documents, arrays = 60, 16

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        warnings.filterwarnings("ignore", ".*blocks are (read twice|left out)")

    def made(self, name):
        if name in VIEWS:
            path = self.path(name)
            self.bload("view", "-q", *map(self.packed, VIEWS[name]), "-T", 90, "--oversize", "split", "--epochs", EPOCHS + 1, "-o", path)
            return path
        path = self.packed("split", "--overlap", 5, name=name) if name == "overlap" else self.packed(name)
        if name not in ("store", "columns"):  # the one can have no plans, the other has windows alone
            self.bload("plan", "-q", "--dataset", path, "--epochs", EPOCHS, "--seed", 11)
        return path

    def find(self, *arguments, status=0):
        made = subprocess.run([tool.BLOAD, "find", "--json", *map(str, arguments)], capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, status, made.stderr)
        return list(map(json.loads, made.stdout.splitlines()))

    @staticmethod
    def told(lines):
        """The same as Run.pieces, with the readings. What failed has its places, of which blocks may lack some."""
        return sorted((one["step"], one["rank"], one["place"], one["id"], one["block"], one["start"], one["length"], one["source_start"])
                      for one in lines if one["status"] == "ok" and one["step"] is not None)

    @each((*WAYS, *VIEWS))
    def test_samplers(self, name):
        path = self.made(name)
        random = np.random.default_rng(len(name))
        names = sorted(stored(path))
        for _ in range(STATES):
            run = Run(path, random)
            ids = [names[k] for k in random.choice(len(names), 3, replace=False)]
            try:
                readings = run.readings()
            except bload.SamplerError:
                self.find(*run.options(), path, *ids, status=2)
                continue
            expected = sorted((*at, *piece) for at, number in readings.items() for piece in run.pieces(number) if piece[0] in ids)
            self.assertEqual(self.told(self.find(*run.options(), path, *ids)), expected, run.options())
            steps = len(readings) // run.ranks // run.batch
            step = int(random.integers(steps + 1))
            lines = self.find(*run.options(), path, "--step", step, status=0 if step < steps else 2)
            expected = sorted((*at, *piece) for at, number in readings.items() if at[0] == step for piece in run.pieces(number))
            self.assertEqual(self.told(lines), expected, run.options())

    def test_shards(self):
        """Where a piece is stored there is, by the dataset itself, that sequence."""
        for path in self.packed("shards"), self.made("view"):
            for one in self.find(path, *sorted({name for name in opened(path)[0]["ids"] if name})):
                self.assertEqual(sum(part["length"] for part in one["stored"]), one["length"])
                for part in one["stored"]:
                    folder = part["shard"][:part["shard"].index("/shards/")]
                    self.assertTrue(os.path.exists(part["shard"]), part)
                    block = opened(folder)[part["block"]]
                    here = [name for name, start, length in zip(block["ids"], block["cu_seqlens"], block["length"])
                            if start <= part["start"] < start + length]
                    self.assertIn(one["id"], (here[0], f"{os.path.basename(folder)}/{here[0]}"))
