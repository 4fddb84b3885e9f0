"""DataLoaders over what lies far away: two ranks with two workers each, epochs, resuming, killed workers, reading ahead."""
import collections
import multiprocessing
import os
import signal
import time
import unittest

import bload
from remote import Far, same

try:
    import torch
    from torch.utils.data import DataLoader

    from bload.torch import BlockDataset, BlockSampler
except ImportError:
    torch = None


@unittest.skipUnless(torch, "no torch")
class Ranks(Far):
    documents = 400

    def pack(self):
        path = self.packed("shards", "--world-size", "2", "--batch-size", "4", "--remainder", "pad", "--segment-ids", name="ranks")
        if not os.path.exists(os.path.join(path, "plans")):
            self.bload("plan", "-q", "--dataset", path, "--epochs", 3)
        return path

    def ranks(self, where, **options):
        """The sampler and the loader of two ranks."""
        options.setdefault("cache", self.cache)
        made = []
        for rank in range(2):
            dataset = BlockDataset(where, timeout=2.0, retries=4, **options)
            sampler = BlockSampler(dataset, 2, rank, seed=3)
            made.append((sampler, DataLoader(dataset, batch_size=4, sampler=sampler, num_workers=2)))
        return made

    @staticmethod
    def rows(batch):
        """What tells blocks apart."""
        return [tuple(row) for row in torch.cat([batch["sequence"], batch["source_start"] if "source_start" in batch else batch["length"]], 1).tolist()]

    def test_epochs(self):
        """Each block of three epochs once over the ranks, the first one resumed in its middle by other processes."""
        path = self.pack()
        local = BlockDataset(path)
        self.server.latency = 0.005
        ranks = self.ranks(self.url(path))
        for epoch in range(3):
            expected = collections.Counter(self.rows({name: value[None] for name, value in local[local.first(epoch) + i].items()})[0]
                                           for i in range(len(local)))
            seen = collections.Counter()
            for sampler, _ in ranks:
                sampler.set_epoch(epoch)
            if epoch == 1:
                state = None
                for sampler, loader in ranks:
                    for step, batch in enumerate(loader, 1):
                        seen.update(self.rows(batch))
                        if step == 3:
                            state = sampler.state_dict(consumed=step * 8)
                            break
                ranks = self.ranks(self.url(path))
                for sampler, _ in ranks:
                    sampler.load_state_dict(state)
            for _, loader in ranks:
                for batch in loader:
                    seen.update(self.rows(batch))
            self.assertEqual(seen, expected)

    def test_content(self):
        """The batches are those of local reading, without a cache too, and with spawned workers."""
        path = self.pack()
        for start, options in ("spawn", {"cache": None}), ("fork", {"cache": self.cache, "cache_size": 60_000}):
            local = DataLoader(BlockDataset(path), 4, sampler=BlockSampler(BlockDataset(path), 1, 0, seed=3))
            dataset = BlockDataset(self.url(path), **options)
            far = DataLoader(dataset, 4, sampler=BlockSampler(dataset, 1, 0, seed=3), num_workers=2, multiprocessing_context=start)
            for one, other in zip(local, far, strict=True):
                same(self, {name: value.numpy() for name, value in one.items()}, {name: value.numpy() for name, value in other.items()})

    def test_ahead(self):
        """Reading in the order of a sampler: most is there before it is asked for, and nothing is fetched that is not used."""
        path = self.packed("split", "--shard-size", "1M", "--batch-size", "4", "--remainder", "pad", name="ahead")
        self.server.latency = 0.02
        times = {}
        for read_ahead in 0, 64 << 20:
            dataset = BlockDataset(self.url(path), cache=None, read_ahead=read_ahead)
            sampler = BlockSampler(dataset, 1, 0)
            began = time.monotonic()
            self.server.forget()
            for _ in DataLoader(dataset, 4, sampler=sampler, num_workers=2):
                pass
            times[read_ahead] = time.monotonic() - began
            ranges = [ask for ask in self.server.requests if "/shards/0" in ask[0] and ask[1] > 0]
            self.assertLessEqual(len(ranges), 1.1 * len(set(ranges)))
        self.assertLess(times[64 << 20], times[0] / 1.5)

    def test_killed_worker(self):
        """A worker that is killed in the middle: the job sees it, and a resumed one goes on with the same cache."""
        path = self.pack()
        local = BlockDataset(path)
        (sampler, loader), _ = self.ranks(self.url(path))
        self.server.latency = 0.005
        with self.assertRaisesRegex(RuntimeError, "worker"):
            for step, batch in enumerate(loader, 1):
                if step == 2:
                    os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)
        (sampler, loader), _ = self.ranks(self.url(path))
        seen = [row for batch in loader for row in self.rows(batch)]
        self.assertEqual(len(seen), len(local) // 2)
