"""Fields that have steps of their own, read over HTTP as from the disk."""
import os

import numpy as np

import bload
from harness import each
from own import with_own
from remote import Far, same

FIELDS = {"transcript": ("<i4", (), "padded", 7, 9), "patches": ("<f4", (20, 30), "flat", 0, 12), "marks": ("u1", (5,), "flat", 3, 2),
          "nothing": ("<i8", (), "flat", 0, 0)}
WAYS = "shards", "compressed", "frames", "failed", "failed-plain", "joined"
CACHES = {"none": None, "cached": 1 << 30, "small": 60_000}


class Forms(Far):
    def own(self, way):
        path = self.packed(way)
        if not os.path.exists(os.path.join(path, "plans")):
            self.bload("plan", "-q", "--dataset", path, "--epochs", 1)
        return with_own(path, self.path("own-" + way), FIELDS)

    @each(WAYS)
    def test_form(self, way):
        """Blocks, epochs and sequences, with no cache, one that holds all, and one that does not; padded and not."""
        path = self.own(way)
        for kind, size in CACHES.items():
            options = {"cache": None} if size is None else {"cache": f"{self.cache}-{kind}", "cache_size": size}
            for pad in True, False:
                local = bload.open(path, pad=pad)
                far = self.far(path, verify=kind == "none", pad=pad, **options)
                for i in np.random.default_rng(5).permutation(len(local)).tolist():
                    same(self, far[i], local[i])
                    same(self, far.epoch(1)[i], local.epoch(1)[i])
                for i in 0, len(local) - 1:
                    same(self, far.epoch(3, window=2)[i], local.epoch(3, window=2)[i])
                for row in range(0, len(local.sequences), 5):
                    if local.sequences[row].get("status", "ok") == "ok":
                        same(self, far.sequence(row), local.sequence(row))
                far.close()
        self.far(path).verify([0, -1])

    @each(("shards", "compressed"))
    def test_prepared(self, way):
        """What was fetched in advance is read without a request; of a flat field only the bytes of the block are fetched."""
        path = self.own(way)
        far = self.far(path, cache=None, fields=("patches", "nothing"), ids=False)
        i = max(range(len(far)), key=lambda i: far[i]["patches_cu_seqlens"][-1])
        far = self.far(path, cache=None, fields=("patches", "nothing"), ids=False)
        far._prepare(i)
        self.assertTrue(far._ready(i))
        self.server.forget()
        same(self, far[i], bload.open(path, fields=("patches", "nothing"), ids=False)[i])
        self.assertEqual(self.asked("/shards/0"), [])
        if way == "shards":
            far = self.far(path, cache=None, fields="patches", ids=False)
            far[i]
            begin, end = self.asked("/shards/0")[-1]
            self.assertEqual(end - begin, int(far[i]["patches_cu_seqlens"][-1]) * 20 * 30 * 4)
