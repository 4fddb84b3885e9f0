"""The cache: shared by processes, bounded, checked, and whole whatever is killed."""
import contextlib
import multiprocessing
import os
import random
import signal
import time

import bload
from bload._core.cache import FOOTER, Cache
from remote import Far, same

KILLS = 10 if os.environ.get("QUICK") else 50


def read(url, cache, size, seed, ready=None):
    """Reads all blocks in some order, and compares their sums, which it gives, by number."""
    far = bload.open(url, cache=cache, cache_size=size, retries=3)
    order = list(range(len(far)))
    random.Random(seed).shuffle(order)
    return {i: hash(far[i]["tokens"].tobytes()) for i in order}


def keep_on(url, cache, size, seed):
    while True:
        read(url, cache, size, seed)
        for folder, _, names in os.walk(os.path.join(cache, "pieces")):  # so that there is something to fetch
            for name in random.sample(names, len(names) // 2):
                try:
                    os.unlink(os.path.join(folder, name))
                except FileNotFoundError:
                    pass


def total(cache):
    """The bytes of all pieces, and of those that are being written; each is counted once."""
    found = {}
    for folder in "making", "pieces":
        for where, _, names in os.walk(os.path.join(cache, folder)):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    found[name.partition(".")[0]] = os.path.getsize(os.path.join(where, name))
    return sum(found.values())


class Shared(Far):
    def test_together(self):
        """Four processes that begin at once fetch nothing twice."""
        path = self.packed("split")
        self.server.latency = 0.02
        with multiprocessing.get_context("spawn").Pool(4) as pool:
            sums = pool.starmap(read, [(self.url(path), self.cache, None, seed) for seed in range(4)])
        ranges = [ask for ask in self.server.requests if not ask[0].endswith("manifest.json")]
        self.assertEqual(len(ranges), len(set(ranges)))
        local = bload.open(path)
        self.assertEqual({len(of) for of in sums}, {len(local)})

    def test_limit(self):
        """The limit holds at every moment, while four processes write; blocks are right all the same."""
        path, size = self.packed("split", "--shard-size", "1M", name="one-shard"), 12_000
        local = bload.open(path)
        pool = [multiprocessing.get_context("fork").Process(target=read, args=(self.url(path), self.cache, size, seed)) for seed in range(4)]
        for process in pool:
            process.start()
        most = 0
        cache = Cache(self.cache, size)
        while any(process.is_alive() for process in pool):
            with cache.locked("total"):  # while the files are counted none is added
                most = max(most, total(self.cache))
            time.sleep(0.02)
        self.assertEqual([process.exitcode for process in pool], [0] * 4)
        self.assertGreater(most, size / 2)
        self.assertLessEqual(most, size)
        far = self.far(path, cache_size=size)
        for i in range(len(local)):
            same(self, far[i], local[i])

    def test_recent(self):
        """What was used last stays."""
        cache = Cache(self.cache, 10_000)
        for number in range(8):
            self.assertTrue(cache.keep(f"{number:02x}-0-400", bytes(1000)))
        os.utime(cache.path("00-0-400"), (0, 0))
        os.utime(cache.path("01-0-400"), (0, 0))
        self.assertIsNotNone(cache.find("00-0-400"))
        for number in range(8, 11):
            self.assertTrue(cache.keep(f"{number:02x}-0-400", bytes(1000)))
        self.assertTrue(cache.has("00-0-400"))
        self.assertFalse(cache.has("01-0-400"))
        self.assertFalse(cache.keep("ff-large", bytes(20_000)))

    def test_damaged(self):
        """A piece that was altered, cut or emptied on the disk is fetched again."""
        path = self.packed("shards")
        local = bload.open(path)
        for change in (lambda data: data[:len(data) // 2], lambda data: b"", lambda data: data[:-1],
                       lambda data: bytes([data[0] ^ 1]) + data[1:], lambda data: data[:-FOOTER.size] + bytes(FOOTER.size)):
            list(self.far(path))
            for folder, _, names in os.walk(os.path.join(self.cache, "pieces")):
                for name in names:
                    with open(os.path.join(folder, name), "rb") as file:
                        data = file.read()
                    os.unlink(os.path.join(folder, name))
                    with open(os.path.join(folder, name), "wb") as file:
                        file.write(change(data))
            far = self.far(path)
            for i in range(len(local)):
                same(self, far[i], local[i])

    def test_killed(self):
        """Processes are killed at any moment; what they leave is right, the rest is removed, and nobody waits for them."""
        path, size = self.packed("split", "--shard-size", "1M", name="one-shard"), 200_000
        local, context = bload.open(path), multiprocessing.get_context("fork")
        for kill in range(KILLS):
            process = context.Process(target=keep_on, args=(self.url(path), self.cache, size, kill))
            process.start()
            time.sleep(random.Random(kill).uniform(0.02, 0.3))
            os.kill(process.pid, signal.SIGKILL)
            process.join()
        began = time.monotonic()
        far = self.far(path, cache_size=size)
        for i in range(len(local)):
            same(self, far[i], local[i])
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(os.listdir(os.path.join(self.cache, "making")), [])
        self.assertLessEqual(total(self.cache), size)

    def test_left(self):
        """What a process leaves that is killed while it writes does not stay, and does not count, and others are left alone."""
        cache, pid = Cache(self.cache, 10_000), os.fork()
        if pid == 0:
            cache.reserve(os.path.join(self.cache, "making", "killed.1.1"), 9_000)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)
        descriptor = cache.reserve(os.path.join(self.cache, "making", "alive.1.1"), 900)
        self.assertTrue(Cache(self.cache, 10_000).keep("ee-0-8000", bytes(8_000)))
        self.assertEqual(os.listdir(os.path.join(self.cache, "making")), ["alive.1.1"])
        self.assertFalse(cache.keep("dd-0-8000", bytes(9_200)))
        os.close(descriptor)

    def test_unusable(self):
        with open(self.path("file"), "w"):
            pass
        self.assertRaisesRegex(bload.Error, "cannot be used as a cache", self.far, self.packed("plain"), cache=self.path("file/cache"))

    def test_nothing(self):
        """Without a cache nothing is written."""
        path = self.packed("plain")
        before = {os.path.join(folder, name) for folder, _, names in os.walk(self.directory) for name in names}
        list(self.far(path, cache=None))
        after = {os.path.join(folder, name) for folder, _, names in os.walk(self.directory) for name in names}
        self.assertEqual(after - before, set())
