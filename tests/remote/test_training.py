"""DataLoaders over what lies far away: two ranks with two workers each, epochs, resuming, killed workers, reading ahead."""
import collections
import concurrent.futures
import itertools
import multiprocessing
import os
import pickle
import signal
import time
import unittest
import warnings

import numpy as np

import bload
from bload._core.ahead import Pattern
from bload._core.sampler import BlockSampler, EpochBlocks
from remote import Far, same

try:
    import torch
    from torch.utils.data import DataLoader

    from bload.torch import BlockDataset
    from bload.torch import BlockSampler as TorchSampler
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
            sampler = TorchSampler(dataset, 2, rank, seed=3)
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
            local = DataLoader(BlockDataset(path), 4, sampler=TorchSampler(BlockDataset(path), 1, 0, seed=3))
            dataset = BlockDataset(self.url(path), **options)
            far = DataLoader(dataset, 4, sampler=TorchSampler(dataset, 1, 0, seed=3), num_workers=2, multiprocessing_context=start)
            for one, other in zip(local, far, strict=True):
                same(self, {name: value.numpy() for name, value in one.items()}, {name: value.numpy() for name, value in other.items()})

    def test_ahead(self):
        """In the order of a sampler several requests are under way at once; workers fetch what they will read, and nothing else."""
        path = self.packed("split", "--shard-size", "1M", "--batch-size", "4", "--remainder", "pad", name="ahead")
        self.server.latency = 0.03
        for read in self.read_alone, self.read_by_workers:
            times = {}
            for read_ahead in 0, 64 << 20:
                time.sleep(0.5)  # what threads fetch that read ahead of the last one
                self.server.forget()
                times[read_ahead] = read(self.url(path), cache=None, ids=False, read_ahead=read_ahead)
                asked = [ask for ask in self.server.requests if "/shards/0" in ask[0]]
                shards = len({path for path, _, _ in asked})
                self.assertLessEqual(len(asked), len(set(asked)) + shards)  # each worker needs the head of each shard
            self.assertLess(times[64 << 20], times[0] / 2)

    @staticmethod
    def read_alone(url, **options):
        """The seconds that this process takes for 160 blocks."""
        blocks = EpochBlocks(bload.open(url, **options))
        began = time.monotonic()
        for number in itertools.islice(BlockSampler(blocks, 1, 0), 160):
            blocks[number]
        return time.monotonic() - began

    @staticmethod
    def read_by_workers(url, **options):
        """The same from the fifth batch on, when each worker has read a first one: numbers come to them batch by batch."""
        dataset = BlockDataset(url, **options)
        for step, _ in enumerate(DataLoader(dataset, 4, sampler=TorchSampler(dataset, 1, 0), num_workers=2)):
            if step == 4:
                began = time.monotonic()
            if step == 44:
                break
        return time.monotonic() - began

    def test_ahead_of_a_small_cache(self):
        """What is fetched in advance displaces nothing that is not read yet."""
        blocks, size, path = 1024, 4 << 10, self.path("small-packed")
        os.makedirs(self.path("small"))
        for i in range(blocks):
            np.save(self.path("small", f"{i}.npy"), np.random.default_rng(i).integers(0, 256, (64, size // 64), "u1"))
        self.bload("pack", "-q", self.path("small"), "--kind", "array", "-T", 64, "--shard-size", "1M", "-o", path)
        dataset = BlockDataset(self.url(path), cache=self.cache, cache_size=blocks * size // 2, read_ahead=1 << 30)
        sampler = TorchSampler(dataset, 1, 0)
        for epoch in range(2):
            self.server.forget()
            sampler.set_epoch(epoch)
            for _ in DataLoader(dataset, 4, sampler=sampler, num_workers=2):
                time.sleep(0.005)  # a step of training, in which much more could be fetched
            asked = [ask for ask in self.server.requests if "/shards/0" in ask[0]]
            self.assertLessEqual(len(asked), 1.1 * len(set(asked)))

    def test_threads(self):
        """Several threads read in the order of one sampler."""
        path = self.pack()
        blocks, local = EpochBlocks(bload.open(self.url(path), cache=None, ids=False)), bload.open(path, ids=False)
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            numbers = list(BlockSampler(blocks, 1, 0))
            for number, block in zip(numbers, threads.map(blocks.__getitem__, numbers)):
                same(self, block, local[int(number)])

    def test_order(self):
        """A number knows its place: what a sampler of any kind will give follows from it."""
        dataset = BlockDataset(self.url(self.pack()), cache=None)
        for options in {}, {"rank": 1, "num_replicas": 2}, {"shuffle": False}, {"num_replicas": 3, "rank": 0, "remainder": "pad"}, \
                {"num_replicas": 3, "rank": 2, "remainder": "drop"}:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                sampler = TorchSampler(dataset, **options)
                sampler.set_epoch(2)
                numbers = list(sampler)
            order = pickle.loads(pickle.dumps(numbers[0])).order
            self.assertEqual([order.number(place) for place in range(order.total())], numbers)
            self.assertEqual([number.place for number in numbers], list(range(len(numbers))))

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


class Patterns(unittest.TestCase):
    def test_following(self):
        """What a process reads next: alone, as one of three workers, and with other batches than expected."""
        for guess, batch, stride in ((4, 4), 4, 4), ((4, 12), 4, 12), ((4, 8), 2, 6), ((4, 8), 4, 32):
            pattern = Pattern(*guess)
            places = [start * stride + step for start in range(8) for step in range(batch)]
            coming = None
            for number, place in enumerate(places):
                expected = pattern.seen(place)
                self.assertTrue(expected or number <= 2 * batch)
                if expected:
                    self.assertEqual(next(coming), place)
                else:
                    coming = pattern.following()
                if number > 2 * batch:
                    following = [next_place for next_place, _ in zip(pattern.following(), range(4))]
                    self.assertEqual(following[:len(places) - number - 1], places[number + 1:number + 5])
