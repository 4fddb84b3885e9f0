"""Blocks that the caller may write to."""
import os
import resource
import unittest.mock

import numpy as np

import bload
from bload._core import mapping
from harness import each
from sample import WAYS, Sample, Truth, same


def mapped():
    """Fields of any size are mapped, as large ones are."""
    return unittest.mock.patch.object(mapping, "WORTH_MAPPING", 1)


class Writable(Sample):
    @each(WAYS)
    def test_private(self, way):
        """What is written to a block is nowhere else: not in the next reading of it, not in the files."""
        path = self.packed(way)
        truth, dataset = Truth(path), bload.open(path, verify=True, writable=True)
        for patched in mapped(), unittest.mock.patch.object(mapping, "WORTH_MAPPING", 1 << 40):
            with patched:
                for i in range(len(dataset)):
                    block = dataset[i]
                    for name in dataset.fields:
                        self.assertTrue(block[name].flags.writeable)
                        block[name].view(np.uint8)[...] = 0xa5
                    same(self, {name: dataset[i][name] for name in dataset.fields}, {name: truth.block(i)[name] for name in dataset.fields})
        bload.open(path, verify=True)[0]

    def test_kept(self):
        """A block outlives its dataset."""
        path = self.packed("plain")
        with mapped():
            array = bload.open(path, writable=True)[0]["tokens"]
        same(self, {"tokens": array}, {"tokens": Truth(path).block(0)["tokens"]})

    def test_descriptors(self):
        """Blocks are still to be had when there is no descriptor left."""
        path = self.packed("plain")
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        with mapped():
            dataset = bload.open(path, ids=False, writable=True)
            first = dataset[0]["tokens"].copy()
            resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 3, limit[1]))
            try:
                kept = [dataset[0]["tokens"] for _ in range(20)]
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        for array in kept:
            self.assertTrue(np.array_equal(array, first))

    def test_cut(self):
        """A shard that was cut off while it is open, by so little that its last page is still there."""
        path = self.packed("plain", name="cut")
        with mapped():
            dataset = bload.open(path, writable=True)
            shard = dataset._shard(0).path
            os.truncate(shard, os.path.getsize(shard) - 1)
            self.assertRaisesRegex(bload.DamagedError, "truncated", dataset.__getitem__, -1)
