"""Datasets and views of every form, read over HTTP as from the disk."""
import os
import pickle
import shutil

import numpy as np

import bload
from harness import each
from remote import Far, bytes_below, same
from sample import WAYS

CACHES = {"none": None, "cached": 1 << 30, "small": 60_000}


class Forms(Far):
    @each(sorted(WAYS))
    def test_form(self, way):
        """Blocks, other epochs and sequences, with no cache, one that holds all, and one that does not; with verify too."""
        path = self.packed(way)
        local = bload.open(path, segment_ids=True, mask=True)
        for kind, size in CACHES.items():
            options = {"cache": None} if size is None else {"cache": f"{self.cache}-{kind}", "cache_size": size}
            far = self.far(path, verify=kind == "none", segment_ids=True, mask=True, **options)
            for order in np.arange(len(local)), np.random.default_rng(5).permutation(len(local)):
                for i in order.tolist():
                    same(self, far[i], local[i])
            for i in 0, len(local) // 2, len(local) - 1:
                same(self, far.epoch(3, window=2)[i], local.epoch(3, window=2)[i])
            for row in range(0, len(local.sequences), 5):
                if local.sequences[row].get("status", "ok") == "ok":
                    same(self, far.sequence(row, partial=True), local.sequence(row, partial=True))
            self.assertEqual(far.sequences.columns, local.sequences.columns)
            far.close()
            if size is not None:
                self.assertLessEqual(bytes_below(options["cache"] + "/pieces"), size)

    @each(["jpeg", "delta"])
    def test_stored(self, way):
        """Pictures as they are stored, and writable blocks."""
        local, far = bload.open(self.packed(way), decode=False), self.far(self.packed(way), decode=False)
        for i in range(len(local)):
            same(self, far[i], local[i])
        block = self.far(self.packed(way), writable=True)[0]
        block["frames"][:] = 7
        same(self, self.far(self.packed(way))[0], bload.open(self.packed(way))[0])

    def test_fields(self):
        """Only what is asked for is fetched, and once."""
        path = self.packed("joined", "--shard-size", "20K", name="several")
        small = self.far(path, fields="labels", cache=None, ids=False)
        for block in small:
            self.assertIn("labels", block)
        taken = sum(end - begin for begin, end in self.asked("/shards/0"))
        self.server.forget()
        for _ in self.far(path, cache=None, ids=False):
            pass
        self.assertLess(taken, 0.6 * sum(end - begin for begin, end in self.asked("/shards/0")))

    def large(self):
        """A dataset whose compressed shards are fetched in parts."""
        path = self.path("large")
        if not os.path.exists(path):
            os.makedirs(self.path("noise"))
            for i in range(12):
                np.save(self.path("noise", f"{i}.npy"), np.random.default_rng(i).integers(0, 256, (120, 16, 16, 3), "u1"))
            self.bload("pack", "-q", self.path("noise"), "--kind", "array", "-T", 30, "--oversize", "split", "--compress", "zstd", "--frame-size", "4K",
                       "-o", path)
        return path

    def test_frames(self):
        """A compressed shard in parts: only the frames that are needed; wrong ones are noticed."""
        path = self.large()
        local, far = bload.open(path), self.far(path, cache=None)
        same(self, far[5], local[5])
        self.assertLess(sum(end - begin for begin, end in self.asked("/shards/0")), 0.7 * bytes_below(path + "/shards"))
        for cache in None, self.cache:
            far = self.far(path, cache=cache)
            for i in np.random.default_rng(1).permutation(len(local)).tolist():
                same(self, far[i], local[i])
        far = self.far(path, cache=None)
        far[0]
        self.server.faults = lambda path, begin, end, number: "wrong"
        with self.assertRaisesRegex(bload.DamagedError, r"shard-00000000.safetensors.zst: (cannot decompress )?frame \d+.*fetched 3 times"):
            far[7]

    def test_in_order(self):
        """Small blocks that are read in order come many at a time, also where none is kept."""
        path = self.packed("split", "--shard-size", "1M", name="one-shard")
        local = bload.open(path)
        for options in {"cache": None}, {"cache_size": 20_000}:
            self.server.forget()
            far = self.far(path, ids=False, **options)
            for i in range(len(local)):
                self.assertEqual(far[i]["tokens"].tobytes(), local[i]["tokens"].tobytes())
            self.assertLess(len(self.asked("/shards/0")), len(local) / 4)

    def test_once(self):
        """With a cache every byte of shards comes once, and a second reader asks for the manifest alone."""
        path = self.packed("shards")
        for _ in self.far(path):
            pass
        self.assertEqual(sum(end - begin for begin, end in self.asked("/shards/0")), bytes_below(path + "/shards"))
        self.server.forget()
        for _ in self.far(path):
            pass
        self.assertEqual([name for name, _, _ in self.server.requests], ["/packed-shards/manifest.json"])

    def test_pickled(self):
        far = self.far(self.packed("plain"), cache_size=1 << 30, connections=3)
        again = pickle.loads(pickle.dumps(far))
        self.assertEqual(again._given(), far._given())
        same(self, again[1], far[1])

    def test_options(self):
        path = self.packed("plain")
        for wrong, error in (({"cache_size": 100, "cache": None}, bload.OptionError), ({"connections": 0}, bload.OptionError), ({"timeout": "1"}, TypeError),
                             ({"timeout": 0}, bload.OptionError), ({"retries": -1}, bload.OptionError), ({"storage_options": 3}, TypeError)):
            self.assertRaises(error, self.far, path, **wrong)
        self.assertEqual(len(bload.open("file://" + path)), len(bload.open(path)))
        self.assertRaisesRegex(bload.Error, "there is no host of this name|name server fails", bload.open, "http://no-such-host.invalid/x", retries=0)


class Views(Far):
    def test_view(self):
        """A view whose sources lie beside it, and one on this machine whose source lies far away."""
        one, other = self.packed("shards", name="one"), self.packed("compressed", "--dtype", "u16", name="other")
        view = self.path("view")
        self.bload("view", "-q", one, other, "-T", "96", "--epochs", 2, "-o", view)
        local, far = bload.open(view), self.far(view)
        self.assertEqual([source.path for source in far.sources], [self.url(one), self.url(other)])
        for i in range(len(local)):
            same(self, far[i], local[i])
            same(self, far.epoch(1)[i], local.epoch(1)[i])
        name = next(row["id"] for row in local.sequences if row.get("status", "ok") == "ok")
        same(self, far.sequence(name), local.sequence(name))
        shutil.move(other, other + ".away")
        self.addCleanup(shutil.move, other + ".away", other)
        with self.assertRaisesRegex(bload.MissingError, "incomplete.*source \"packed-other\"|source \"other\""):
            self.far(view, cache=None)

    def test_prepared(self):
        """What a block needs is told beforehand, for a view too: nothing is fetched when it is read."""
        one = self.packed("shards")
        view = self.path("mixed")
        self.bload("view", "-q", one, "-T", "80", "-o", view)
        for path in one, view:
            far = self.far(path, ids=False, cache=f"{self.cache}-{os.path.basename(path)}")
            for store, stored in far._needs(3):
                store._prepare(stored)
            self.server.forget()
            far[3]
            self.assertEqual(self.server.requests, [])
