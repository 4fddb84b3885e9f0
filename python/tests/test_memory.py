"""Memory of a process that goes through datasets which are larger than it may seem to need."""
import os

import numpy as np

import bload
from harness import each
from sample import Sample, Truth, same

EXTRA = dict(segment_ids=True, position_ids=True, mask=True)
MB = 1 << 20
SIZE = 24 * MB
ALLOWED = 2 * MB


def resident():
    """Bytes of mapped files that count as this process's memory."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssFile:"))


class Memory(Sample):
    def large(self, steps, *more):
        """A dataset of SIZE bytes, in shards of a sixth each."""
        folder = self.path(f"source-{steps}")
        if not os.path.exists(folder):
            os.makedirs(folder)
            random = np.random.default_rng(0)
            for i in range(SIZE // (1024 * steps)):
                np.save(os.path.join(folder, f"{i}.npy"), random.integers(0, 99, (steps - i % 2, 1024)).astype("u1"))
            self.pack(f"large-{steps}", folder, "--kind", "array", "-T", steps, "--shard-size", "4M", *more)
        return self.path(f"large-{steps}")

    def grown(self, path, epoch=0, **options):
        """How much the memory grew while all was read; and a checksum of it."""
        with bload.open(path, ids=False, **options) as dataset:
            blocks = dataset.epoch(epoch, window=8) if epoch else dataset
            before, total = resident(), 0
            for i in range(len(blocks)):
                total += int(blocks[i]["array"].sum())
            return resident() - before, total

    @each((("views", 512, {}), ("few", 32, {}), ("own", 512, dict(writable=True)), ("mapped", 8192, dict(writable=True)),
           ("epoch", 512, dict(epoch=1))))
    def test_bounded(self, name, steps, options):
        """What was read does not stay in the process's memory, however it is read. Where all of it may, it does."""
        path = self.large(steps)
        whole, expected = self.grown(path, **options)
        grown, total = self.grown(path, resident=ALLOWED, **options)
        self.assertEqual(total, expected)
        self.assertLess(grown, SIZE // 4)
        if name not in ("mapped", "own"):
            self.assertGreater(whole, SIZE // 2)

    @each(("plain", "shards", "split", "joined", "repeat", "jpeg", "delta", "attributes", "failed-plain", "compressed"))
    def test_same(self, way):
        """Large datasets are read in other ways than small ones, and give the same."""
        path = self.packed(way)
        truth = Truth(path)
        for options in {}, dict(verify=True), dict(writable=True):
            with bload.open(path, resident=0, **options, **EXTRA) as dataset:
                for i, block in enumerate(dataset):
                    same(self, block, truth.block(i))
                    if "encod" not in str(dataset.manifest["fields"]):
                        self.assertEqual({block[name].flags.writeable for name in dataset.fields}, {"writable" in options})
        for one, other in zip(bload.open(path, resident=0).epoch(2, window=3), bload.open(path).epoch(2, window=3)):
            same(self, one, other)

    def test_views(self):
        """Views that are held while others are read stay right."""
        path = self.large(512)
        dataset = bload.open(path, ids=False, resident=ALLOWED)
        held = [dataset[i]["array"] for i in range(len(dataset))]
        sums = [int(array.sum()) for array in held]
        self.assertEqual(sums, [int(array.sum()) for array in held])
        self.assertEqual(sums, [int(block["array"].sum()) for block in bload.open(path)])

    def test_cut(self):
        """A file that was cut short is an error where it is read, and no signal."""
        path = self.pack("cut", "arrays", "--kind", "array", "-T", "64", cwd=self.directory)
        dataset = bload.open(path, resident=0)
        dataset[0]
        os.truncate(dataset._shard(0).path, os.path.getsize(dataset._shard(0).path) - 1)
        last = bload.open(path, writable=True, resident=0)
        self.assertRaisesRegex(bload.DamagedError, "truncated|header says", last.__getitem__, -1)
        self.assertRaisesRegex(bload.DamagedError, "truncated since it was opened", dataset.__getitem__, -1)
        os.truncate(dataset._shard(0).path, os.path.getsize(dataset._shard(0).path) // 2)
        self.assertRaisesRegex(bload.DamagedError, "truncated since it was opened", list, dataset.epoch(1, window=len(dataset)))
