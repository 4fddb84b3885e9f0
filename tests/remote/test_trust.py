"""Datasets that do harm: what they say becomes no path, and no bytes of theirs become those of another dataset."""
import json
import os
import shutil
import stat
import struct

import numpy as np
import xxhash
import zstandard

import bload
from bload._core import transfer
from bload._core.cache import Cache
from harness import each
from remote import Far, same
from sample import reseal, write_manifest

ZSTD = b"\x28\xb5\x2f\xfd"
PATHS = "/tmp/elsewhere", "../../elsewhere", "../../../../../elsewhere0", "0123456789abcde/", "0123456789ABCDEF", "0123456789abcde\0", "", "e" * 5000


def frames(data):
    """Where the frames of a compressed shard begin, and the end of the last one."""
    count, = struct.unpack("<I", data[-9:-5])
    sizes = np.frombuffer(data[len(data) - 9 - 12 * count:-9], "<u4").reshape(count, 3)[:, 0]
    return np.cumsum([0, *sizes]).tolist()


def forge(shard, pick=lambda content: True):
    """Other content in the frames of a compressed shard, whose own checksums are right: of those with content that pick takes. How many."""
    with open(shard, "rb") as file:
        data = bytearray(file.read())
    ends, forged = frames(data), 0
    for begin, end in zip(ends, ends[1:]):
        content = bytearray(zstandard.ZstdDecompressor().decompress(bytes(data[begin:end])))
        if not pick(content):
            continue
        # Bytes that do not compress are stored as they are, so a frame of others has the same size.
        content[len(content) // 2] ^= 0xff
        frame = zstandard.ZstdCompressor(3, write_checksum=True).compress(bytes(content))
        if len(frame) == end - begin:
            data[begin:end] = frame
            forged += 1
    with open(shard, "wb") as file:
        file.write(data)
    return forged


def write_frames(path, name, content, ends):
    """A compressed shard with this content, and all checksums right: those of its frames, its own, that of shards.tsv, the manifest's."""
    compressor, parts, entries = zstandard.ZstdCompressor(3, write_checksum=True), [], b""
    for begin, end in zip(ends, ends[1:]):
        parts.append(compressor.compress(bytes(content[begin:end])))
        entries += struct.pack("<III", len(parts[-1]), end - begin, xxhash.xxh64_intdigest(bytes(content[begin:end])) & 0xffffffff)
    parts.append(struct.pack("<II", 0x184D2A5E, len(entries) + 9) + entries + struct.pack("<IBI", len(parts), 0x80, 0x8F92EAB1))
    with open(os.path.join(path, name), "wb") as file:
        file.write(b"".join(parts))
    sums = struct.pack(f"<{len(parts)}Q", *map(xxhash.xxh3_64_intdigest, parts))
    change_row(path, b"%d" % sum(map(len, parts)), b"%016x" % xxhash.xxh3_64_intdigest(sums))


def change_row(path, *values):
    """Other last values in the first row of shards.tsv."""
    with open(os.path.join(path, "shards.tsv"), "rb") as file:
        lines = file.read().split(b"\n")
    lines[1] = b"\t".join([*lines[1].split(b"\t")[:-len(values)], *values])
    with open(os.path.join(path, "shards.tsv"), "wb") as file:
        file.write(b"\n".join(lines))
    reseal(path)


class Trust(Far):
    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, transfer, "FIRST_PAUSE", transfer.FIRST_PAUSE)
        transfer.FIRST_PAUSE = 0.01

    def copy(self, path, name):
        """A copy of a dataset in a folder of this name."""
        copied = self.path(name, "ds")
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(path, copied)
        return copied

    def noise(self, *more):
        """Arrays that do not compress, so that a compressed shard is fetched in parts."""
        path = self.path("noise" + "".join(more).replace("/", ""))
        if not os.path.exists(path):
            os.makedirs(self.path("noise-arrays"), exist_ok=True)
            for i in range(60):
                np.save(self.path("noise-arrays", f"{i}.npy"), np.random.default_rng(i).integers(0, 256, (120, 768), "u1"))
            self.bload("pack", "-q", self.path("noise-arrays"), "--kind", "array", "-T", 30, "--oversize", "split", *more, "-o", path)
        return path

    def outside(self):
        """All files but those of the caches."""
        return {os.path.join(where, name) for where, _, names in os.walk(self.directory) for name in names if "/cache" not in where}

    @each([("shards", "shards"), ("compressed", "compressed")])
    def test_checksum_is_no_path(self, name, way):
        """A checksum in shards.tsv that is none: refused before anything is fetched, and nothing is written but in the cache."""
        for wrong in PATHS:
            path = self.copy(self.packed(way), "paths")
            change_row(path, wrong.encode())
            before = self.outside()
            with self.assertRaisesRegex(bload.DamagedError, "shards.tsv: line 2 does not match shard 0"):
                self.far(path)[0]
            self.assertEqual(self.outside(), before)

    def test_manifest_has_no_path(self):
        """Names and checksums of files that the manifest lists; from afar and from the disk, to verify too."""
        with open(self.path("secret"), "w") as file:
            file.write("secret")
        path = self.copy(self.packed("plain"), "names")
        with open(os.path.join(path, "manifest.json")) as file:
            manifest = json.load(file)
        wrong = [{**entry, "checksum": text} for entry in manifest["files"][:1] for text in PATHS]
        names = ("../../secret", "/etc/passwd", "shards.tsv/../../../secret", "a\0b", "a\\..\\b", ".", "..", "", "a//b", "a/", "\x1b[2J", "n" * 300)
        wrong += [{"name": name, "bytes": 6, "checksum": "0" * 16} for name in names]
        for entry in wrong:
            files = [one for one in manifest["files"] if one["name"] != entry["name"]]
            write_manifest(os.path.join(path, "manifest.json"), {**manifest, "files": [*files, entry]})
            for opened in bload.open, self.far:
                with self.assertRaisesRegex(bload.DamagedError, "\"files\" is missing or invalid"):
                    opened(path).verify()
        write_manifest(os.path.join(path, "manifest.json"), {**manifest, "plan_digest": "../../x"})
        self.assertRaisesRegex(bload.DamagedError, "\"plan_digest\" is not 16 hexadecimal digits", self.far, path)

    def test_keys(self):
        """The cache takes no name that could lead elsewhere."""
        cache = Cache(self.cache, None)
        for key in "../../x", "/tmp/x", "aa/../../x", "aa\0", "..", "", "a":
            for use in cache.find, cache.has, cache.remove, lambda key: cache.keep(key, b"x"):
                self.assertRaises(bload.Error, use, key)

    # --- another dataset with the same checksums --------------------------------------------------------------------------

    @each(["none", "cache", "small"])
    def test_forged_frames(self, kind):
        """A copy at another URL with other content in its frames, whose own checksums are right: it is not read, and what the cache has of
        it is not taken for the true dataset. Blocks, epochs and single sequences."""
        true = self.noise("--compress", "zstd")
        forged = self.copy(true, "forged")
        shard = os.path.join(forged, bload.open(forged)._info.shard_name(0))
        self.assertGreater(forge(shard, lambda content: len(content) == 30 * 768), 10)
        local = bload.open(true)
        for read in (list, lambda far: list(far.epoch(2, window=3)), lambda far: [far.sequence(row) for row in range(len(far.sequences))]):
            shutil.rmtree(self.cache, ignore_errors=True)
            options = {"cache": None} if kind == "none" else {"cache_size": 300_000 if kind == "small" else None}
            far = self.far(forged, **options)
            self.assertRaisesRegex(bload.DamagedError, r"zst: block \d+ of array: wrong checksum", read, far)
            found = read(self.far(true, **options))
            for one, other in zip(found, read(local)):
                same(self, one, other)

    @each([("attributes", "attributes"), ("segments", "split")])
    def test_forged_tables(self, name, way):
        """Tables of a compressed shard have no checksum of their own: they are what the index and sequences.tsv say. "lost" is a sequence
        that looks as if it had failed."""
        path = self.packed(way, "--compress", "zstd", "--shard-size", "1M", name=f"{way}-zstd-whole")
        tables = [table for table, _, _ in bload.open(path)._info.tables()]
        for one, other in zip(self.far(path), bload.open(path)):
            same(self, one, other)
        for table in *tables, "lost":
            forged = self.copy(path, "tables")
            dataset = bload.open(forged)
            shard = dataset._shard(0)
            content = bytearray(shard.file.read(0, shard.file.size))
            if table == "lost":
                for part, value in ("sequence", struct.pack("<q", -1)), ("length", bytes(4)), ("source_start", bytes(8)):
                    if part in tables:
                        begin = shard.tensors[part].begin
                        content[begin:begin + len(value)] = value
                for part, size in [("segment_ids", 4 * int(dataset[0]["length"][0])), *((part, 8) for part in dataset._info.attributes)]:
                    if part in tables:
                        begin = shard.tensors[part].begin
                        content[begin:begin + size] = bytes(size)
            else:
                content[(shard.tensors[table].begin + shard.tensors[table].end) // 2] ^= 1
            write_frames(forged, dataset._info.shard_name(0), content, shard.file.content)
            with self.assertRaisesRegex(bload.DamagedError, "tables differ from index|did not fail|differs? from (sequences.tsv|its other tables)"):
                list(self.far(forged))

    @each(["pieces", "small"])
    def test_claimed_checksum(self, kind):
        """A dataset with other blocks that claims the checksums of shards of the true one, whose head the cache has."""
        true = self.noise("--shard-size", "600K")
        forged = self.copy(true, "claims")
        options = {} if kind == "pieces" else {"cache_size": 500_000}
        self.far(true, **options)._shard(0)
        info = bload.open(forged)._info
        shard = os.path.join(forged, info.shard_name(0))
        dataset = bload.open(forged)
        tensor = dataset._shard(0).tensors["array"]
        with open(shard, "r+b") as file:
            file.seek(tensor.begin)
            data = bytes(255 - byte for byte in file.read(30 * 768))
            file.seek(tensor.begin)
            file.write(data)
        place = dataset._index.header.tensors["block_checksum"].begin
        with open(os.path.join(forged, "index.safetensors"), "r+b") as file:
            file.seek(place)
            file.write(struct.pack("<Q", xxhash.xxh3_64_intdigest(data)))
        reseal(forged)
        self.assertRaises(bload.DamagedError, lambda: self.far(forged, **options)[0])
        far, local = self.far(true, **options), bload.open(true)
        for i in range(len(local)):
            same(self, far[i], local[i])

    @each([("plain", ()), ("zstd", ("--compress", "zstd"))])
    def test_poisoned(self, name, more):
        """Pieces whose own checksum is right, but which are not the dataset's: fetched again, and replaced."""
        path = self.noise(*more)
        far, local = self.far(path), bload.open(path)
        list(far)
        changed = 0
        for where, _, names in os.walk(os.path.join(self.cache, "pieces")):
            for piece in names:
                with open(os.path.join(where, piece), "rb") as file:
                    data = bytearray(file.read()[:-24])
                data[len(data) // 2] ^= 1
                Cache(self.cache, None).keep(piece, bytes(data))
                changed += 1
        self.assertGreater(changed, 3)
        for _ in range(2):
            far = self.far(path)
            for i in range(len(local)):
                same(self, far[i], local[i])
            self.server.forget()
        self.assertEqual(self.asked("/shards/0"), [])

    @each([("folder", os.mkdir), ("pipe", os.mkfifo), ("link", lambda path: os.symlink("/etc/passwd", path)),
           ("device", lambda path: os.symlink("/dev/zero", path)), ("socket", lambda path: os.mknod(path, stat.S_IFSOCK | 0o600))])
    def test_strange(self, name, make):
        """Something else in the place of a piece is no piece, and nothing waits for it."""
        path = self.packed("shards")
        far, local = self.far(path), bload.open(path)
        list(far)
        for where, _, names in os.walk(os.path.join(self.cache, "pieces")):
            for piece in names:
                os.unlink(os.path.join(where, piece))
                make(os.path.join(where, piece))
        for _ in range(2):
            far = self.far(path, cache_size=100_000)
            for i in range(len(local)):
                same(self, far[i], local[i])
