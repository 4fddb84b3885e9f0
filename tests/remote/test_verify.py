"""dataset.verify from afar: compares what the store has, whatever the cache has, and fetches what was asked for."""
import os
import shutil

import numpy as np

import bload
from bload._core import transfer
from harness import each
from remote import Far, bytes_below
from sample import flip


class Verify(Far):
    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, transfer, "FIRST_PAUSE", transfer.FIRST_PAUSE)
        transfer.FIRST_PAUSE = 0.01

    def large(self, name, *more):
        """Blocks of 24 KB, in shards of eight."""
        path = self.path(name)
        if not os.path.exists(path):
            os.makedirs(self.path(name + "-arrays"))
            for i in range(6):
                np.save(self.path(name + "-arrays", f"{i}.npy"), np.random.default_rng(i).integers(0, 256, (128, 768), "u1"))
            self.bload("pack", "-q", self.path(name + "-arrays"), "--kind", "array", "-T", 32, "--oversize", "split", "--shard-size", "200K", *more,
                       "-o", path)
        return path

    @each(["plain", "zstd"])
    def test_fetched(self, way):
        """Of chosen blocks little more than themselves is fetched; of all every byte once. The cache is left alone."""
        path = self.large("verified-" + way, *(("--compress", "zstd", "--frame-size", "8K") if way == "zstd" else ()))
        far = self.far(path, ids=False)
        self.server.forget()
        far.verify([1, 17])
        taken = sum(end - begin for begin, end in self.asked("/shards/0"))
        self.assertGreater(taken, 2 * 24_000)
        self.assertLess(taken, 0.6 * bytes_below(path + "/shards"))
        self.assertEqual(len({name for name, _, _ in self.server.requests if "/shards/0" in name}), 2)
        self.server.forget()
        far.verify()
        taken = sum(end - begin for begin, end in self.asked("/shards/0"))
        self.assertGreaterEqual(taken, bytes_below(path + "/shards"))
        tails = 64 << 10 if way == "zstd" else 0  # what the request for a seek table brings, of each shard
        self.assertLess(taken, 1.05 * bytes_below(path + "/shards") + far._info.shards * tails)
        self.assertTrue({os.path.basename(name) for name, _, _ in self.server.requests} >= set(map(os.path.basename, far._info.files)))
        self.assertFalse([name for _, _, names in os.walk(os.path.join(self.cache, "pieces")) for name in names if "-head" in name or "-tail" in name])

    @each(["plain", "zstd"])
    def test_damaged(self, way):
        """The cache has the sound block, the store has it no more: verify names block, field and shard, and others are sound."""
        more = ("--compress", "zstd", "--frame-size", "8K") if way == "zstd" else ()
        path = self.path("damaged-" + way)
        shutil.copytree(self.large("verified-" + way, *more), path)
        far = self.far(path)
        for _ in far:
            pass
        rows = far._info.blocks_per_shard
        shard = os.path.join(path, far._info.shard_name(1))
        flip(shard, os.path.getsize(shard) - 60_000)
        for _ in far:
            pass
        with self.assertRaisesRegex(bload.DamagedError, r"shard-00000001.*: block \d+ of array: .*; fetched 3 times") as found:
            far.verify()
        block = int(str(found.exception).split("block ")[1].split(" ")[0])
        self.assertEqual(block // rows, 1)
        self.assertRaisesRegex(bload.DamagedError, f"block {block} of array", far.verify, [block])
        far.verify([0, block - 4, -1])

    def test_view(self):
        """A view on this machine of a source that lies far away."""
        source, view = self.path("verified-source"), self.path("view")
        shutil.copytree(self.large("verified-plain"), source)
        self.bload("view", "-q", source, "-T", "160", "-o", view)
        far = self.far(view)
        far.verify()
        block = far._needs(3)[0][1]
        shard = os.path.join(source, far._stores[0]._info.shard_name(block // far._stores[0]._info.blocks_per_shard))
        with open(shard, "rb") as file:
            data = file.read()
        content = bload.open(source)[block]["array"].tobytes()
        flip(shard, data.index(content) + 5)
        with self.assertRaisesRegex(bload.DamagedError, f"block {block} of array: wrong checksum; fetched 3 times.*; block 3 of the view http.*view needs it"):
            far.verify([3])

    def test_missing(self):
        path = self.large("verified-plain")
        far = self.far(path)
        self.server.faults = lambda path, begin, end, number: "404" if "shard-00000002" in path else None
        far.verify([0])
        self.assertRaisesRegex(bload.MissingError, "shard-00000002.safetensors: the server says 404", far.verify)
