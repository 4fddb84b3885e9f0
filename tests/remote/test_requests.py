"""Servers that fail: what passes is tried again, what does not is told, and nothing wrong is returned."""
import concurrent.futures
import os
import shutil
import time

import bload
from bload._core import transfer
from bload._core.pieces import OpenPieces
from harness import each
from remote import Far, same

PASSING = "500", "503", "cut", "wrong", "stall", "slow", "reset", "whole", "short"


class Failing(Far):
    def setUp(self):
        super().setUp()
        self.pauses = transfer.FIRST_PAUSE, transfer.LONGEST_PAUSE
        transfer.FIRST_PAUSE = 0.01

    def tearDown(self):
        transfer.FIRST_PAUSE, transfer.LONGEST_PAUSE = self.pauses
        super().tearDown()

    def refused(self, error, said, way="shards", **options):
        """Reading ends with this error, which names what it should; and leaves nothing in the cache that is wrong."""
        path = self.packed(way)
        with self.assertRaisesRegex(error, said):
            far = self.far(path, timeout=0.3, retries=1, **options)
            for block in far:
                pass
        self.server.faults = None
        far, local = self.far(path, **options), bload.open(path)
        for i in range(len(local)):
            same(self, far[i], local[i])


class Passing(Failing):
    @each(PASSING)
    def test_passing(self, fault):
        """Every fifth request fails; plain, compressed and encoded blocks are the same all the same."""
        for way in "split", "compressed", "jpeg":
            self.server.faults = lambda path, begin, end, number: \
                fault if number % 5 == 0 and not path.endswith("manifest.json") else None
            for cache in None, f"{self.cache}-{way}":
                far, local = self.far(self.packed(way), cache=cache, timeout=0.3, retries=6), bload.open(self.packed(way))
                for i in range(0, len(local), 3):
                    same(self, far[i], local[i])

    def test_pauses(self):
        """Pauses grow, and differ; after the last try it is told how often it was tried."""
        slept = []
        self.addCleanup(setattr, transfer.time, "sleep", time.sleep)
        transfer.time.sleep, real = slept.append, time.sleep
        try:
            for tried in range(12):
                transfer.pause(tried)
        finally:
            transfer.time.sleep = real
        most = [min(transfer.LONGEST_PAUSE, 0.01 * 2 ** tried) for tried in range(12)]
        self.assertTrue(all(half / 2 <= pause <= half for pause, half in zip(slept, most)), slept)
        self.server.faults = lambda *_: "503"
        with self.assertRaisesRegex(bload.Error, r"manifest.json: cannot be fetched: the server says 503.*; 4 tries"):
            self.far(self.packed("plain"))

    def test_once(self):
        """Threads that want the same bytes at the same time ask for them once, though what came is opened late."""
        path, add = self.packed("split"), OpenPieces.add
        self.addCleanup(setattr, OpenPieces, "add", add)

        def late(opened, key, piece):
            time.sleep(0.02)
            return add(opened, key, piece)
        OpenPieces.add = late
        for cache in None, self.cache:
            self.server.forget()
            far = self.far(path, cache=cache, ids=False)
            with concurrent.futures.ThreadPoolExecutor(8) as threads:
                list(threads.map(lambda i: far[i // 8], range(48)))
            self.assertEqual(len(self.server.requests), len(set(self.server.requests)))

    def test_connections(self):
        """No more requests at a time than allowed, however many threads read."""
        path = self.packed("split")
        far = self.far(path, cache=None, connections=2)
        self.server.latency = 0.01
        with concurrent.futures.ThreadPoolExecutor(12) as threads:
            list(threads.map(lambda i: far[i], range(len(far))))
        self.assertEqual(self.server.most, 2)


class Lasting(Failing):
    @each(["plain", "shards", "split", "jpeg", "delta", "compressed", "frames"])
    def test_wrong(self, way):
        """Bytes that stay wrong are named, by block or frame and shard, whether they are kept or not."""
        for cache in None, self.cache + way:
            self.server.faults = lambda path, begin, end, number: "wrong" if "/shards/0" in path else None
            self.refused(bload.DamagedError, r"shard-0000000\d.safetensors.*: .*(checksum|frame|header|seek table|invalid|decompress).*; fetched 3 times",
                         way, cache=cache)

    def test_block(self):
        """A wrong byte in a block: the block and the field are named."""
        path = self.packed("split", "--shard-size", "1M", name="one-shard")
        far = self.far(path, cache=None)
        far[0]
        self.server.faults = lambda path, begin, end, number: "wrong"
        with self.assertRaisesRegex(bload.DamagedError, r"shard-00000000.safetensors: block 100 of tokens: wrong checksum; fetched 3 times"):
            far[100]

    def test_index(self):
        self.server.faults = lambda path, begin, end, number: "wrong" if "index" in path else None
        self.refused(bload.DamagedError, "index.safetensors: its checksum differs from the manifest; fetched 3 times")

    def test_manifest(self):
        self.server.faults = lambda path, begin, end, number: "wrong" if "manifest" in path else None
        self.refused(bload.Error, "manifest.json: ")

    def test_denied(self):
        self.server.faults = lambda path, begin, end, number: "403" if "/shards/0" in path else None
        self.refused(bload.Error, "shard-0000000..safetensors: access denied: the server says 403")

    def test_missing(self):
        self.server.faults = lambda path, begin, end, number: "404" if "/shards/0" in path else None
        self.refused(bload.MissingError, "shard-00000000.safetensors: the server says 404")

    def test_incomplete(self):
        self.server.faults = lambda path, begin, end, number: "404" if "manifest" in path else None
        self.refused(bload.MissingError, "no such dataset, or it is incomplete: it has no manifest.json")

    def test_stalled(self):
        self.server.faults = lambda path, begin, end, number: "stall" if "/shards/0" in path else None
        began = time.monotonic()
        self.refused(bload.Error, "shard-00000000.safetensors: cannot be fetched: the connection stalled: no byte in 0.3 s; 2 tries")
        self.assertLess(time.monotonic() - began, 10)

    def test_changed(self):
        """A shard that was replaced by a longer one, and by one of the same size."""
        path = self.path("changing")
        shutil.copytree(self.packed("shards"), path)
        shard = os.path.join(path, "shards/00000/shard-00000001.safetensors")
        with open(shard, "rb") as file:
            data = file.read()
        far = self.far(path, cache=None)
        with open(shard, "ab") as file:
            file.write(b"more")
        with self.assertRaisesRegex(bload.DamagedError, f"shard-00000001.*: the object has changed.*{len(data) + 4} bytes, {len(data)} were"):
            list(far)
        far = self.far(path, cache=None, verify=True)
        number = next(i for i in range(len(far)) if i // far._info.blocks_per_shard == 1)
        with open(shard, "wb") as file:
            file.write(data)
        far[number]
        far._storage.process_state().open.clear()
        with open(shard, "wb") as file:
            file.write(data[:-9] + b"otherdata")
        with self.assertRaisesRegex(bload.DamagedError, "shard-00000001.*checksum; fetched 3 times; it was changed while it was read .ETag"):
            for _ in far:
                pass
