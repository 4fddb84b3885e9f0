"""The memory of a process that reads from afar does not grow with the number of blocks that it reads."""
import os
import subprocess
import sys

import numpy as np

from harness import each
from remote import Far

BLOCK, BLOCKS, EPOCHS = 64 << 10, 384, 3 if os.environ.get("QUICK") else 8
GROWTH = 5 << 20  # a leak of 2 KB a block would take more (QUICK: 4.5 KB); so would keeping the blocks of one epoch

# Reads a third of the blocks, so that what is bounded is full, then all of them in several orders; tells the memory of each time.
PROGRAM = """
import itertools
import sys
import numpy as np
import bload
from bload._core.sampler import BlockSampler, EpochBlocks

def anonymous():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon:"))

url, epochs, ahead, options = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "ahead", eval(sys.argv[4])
far, total = bload.open(url, ids=False, **options), 0
blocks = EpochBlocks(far) if ahead else far
for i in range(len(far) // 3):
    total += int(far[i]["array"][0, 0])
sampler = BlockSampler(EpochBlocks(far), 1, 0)
for number in itertools.islice(sampler, len(far) // 3):  # the threads that fetch in advance have their memory, too
    total += int(blocks[number if ahead else int(number)]["array"][0, 0])
before = anonymous()
for epoch in range(1, epochs + 1):
    sampler.set_epoch(epoch)
    for number in sampler:
        total += int(blocks[number if ahead else int(number)]["array"].sum())
print(before, anonymous(), total)
"""


class Memory(Far):
    def large(self):
        path = self.path("large")
        if not os.path.exists(path):
            os.makedirs(self.path("source"))
            for i in range(BLOCKS):
                np.save(self.path("source", f"{i}.npy"), np.random.default_rng(i).integers(0, 256, (64, BLOCK // 64), "u1"))
            self.bload("pack", "-q", self.path("source"), "--kind", "array", "-T", 64, "--shard-size", "2M", "-o", path)
        return path

    @each([("cache", {"cache": True}), ("small", {"cache": True, "cache_size": BLOCKS * BLOCK // 4}), ("none", {}), ("ahead", {"read_ahead": 1 << 20})])
    def test_flat(self, name, options):
        """Through a cache that holds all, one that holds a quarter, none, and with threads that fetch in advance."""
        if "cache" in options:
            options = {**options, "cache": self.cache}
        done = subprocess.run([sys.executable, "-c", PROGRAM, self.url(self.large()), str(EPOCHS), name, repr(options)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        before, after, _ = map(int, done.stdout.split())
        self.assertGreater(len(self.asked("/shards/0")), 0)
        self.assertLess(after - before, GROWTH, f"{after - before} bytes more after {EPOCHS * BLOCKS} blocks")
