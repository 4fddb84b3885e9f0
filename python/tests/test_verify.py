"""dataset.verify: sound blocks pass, damaged ones are named, and only what was asked for counts."""
import json
import os
import shutil
import struct

import numpy as np

import bload
from harness import each
from sample import WAYS, Sample, flip


def place_of(shard, tensor, row):
    """Where the middle of a row of a tensor lies in a plain shard."""
    with open(shard, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = file.read(size)
    entry = json.loads(header)[tensor]
    begin, end = entry["data_offsets"]
    length = (end - begin) // entry["shape"][0]
    return 8 + size + begin + row * length + length // 2


class Verify(Sample):
    def copy(self, way, *more, name=""):
        path = self.path("copy-" + (name or way))
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.packed(way, *more, **({"name": name} if name else {})), path)
        return path

    @each(sorted(WAYS))
    def test_sound(self, way):
        """Of every form, with some blocks, none and all; and what was opened stays usable."""
        dataset = bload.open(self.packed(way))
        for blocks in [0, -1], (), np.arange(len(dataset)), iter([0]), None:
            self.assertIsNone(dataset.verify(blocks))
        self.assertEqual(len(dataset[0]["cu_seqlens"]), dataset.S + 1)

    def test_block(self):
        """A damaged block is named, with field and shard; the others are sound; a second damage is found afterwards, by the same object."""
        path = self.copy("joined", *("--shard-size", "20K"), name="several")
        dataset = bload.open(path)
        rows = dataset._info.blocks_per_shard
        self.assertGreater(dataset._info.shards, 1)
        shard = os.path.join(path, dataset._info.shard_name(1))
        dataset.verify()
        at = place_of(shard, "sound", 0)
        flip(shard, at)
        said = f"shard-00000001.safetensors: block {rows} of sound: wrong checksum$"
        for blocks in [rows], [0, rows], [rows - len(dataset)], None:
            with self.assertRaisesRegex(bload.DamagedError, said):
                dataset.verify(blocks)
        dataset.verify(number for number in range(len(dataset)) if number != rows)
        bload.open(path, fields="poses").verify()
        flip(shard, at)
        dataset.verify()

    def test_tables(self):
        """Damage of tables, and of another file: named too; a file that is missing is a MissingError."""
        path = self.copy("attributes")
        dataset = bload.open(path)
        shard = os.path.join(path, dataset._info.shard_name(0))
        name = next(iter(dataset._info.attributes))
        at = place_of(shard, name, 1)
        flip(shard, at)
        with self.assertRaisesRegex(bload.DamagedError, "shard-00000000.safetensors: block 0: wrong checksum: the file is damaged"):
            dataset.verify([0])
        flip(shard, at)
        table = os.path.join(path, "sequences.tsv")
        flip(table, os.path.getsize(table) - 3)
        dataset.verify([0])
        self.assertRaisesRegex(bload.DamagedError, "sequences.tsv: its checksum differs from the manifest", dataset.verify)
        os.unlink(shard)
        self.assertRaisesRegex(bload.MissingError, "shard-00000000.safetensors", dataset.verify, [0])

    @each(["compressed", "jpeg", "delta"])
    def test_encoded(self, way):
        """A byte in the middle of a shard: some block is damaged, and a message names it."""
        path = self.copy(way)
        dataset = bload.open(path)
        shard = os.path.join(path, dataset._info.shard_name(0))
        flip(shard, os.path.getsize(shard) // 2)
        self.assertRaisesRegex(bload.DamagedError, r"shard-00000000.*: block \d+", dataset.verify)
        with self.assertRaisesRegex(bload.DamagedError, r"shard-00000000.*: block \d+"):
            dataset.verify(range(dataset._info.blocks_per_shard))

    def test_view(self):
        """Of a view: the source's shard and block, and the block of the view that needs it."""
        source, view = self.copy("shards", name="source"), self.path("verified-view")
        self.bload("view", "-q", source, "-T", "96", "-o", view)
        dataset = bload.open(view)
        dataset.verify()
        store, block = dataset._needs(2)[0]
        shard = os.path.join(source, store._info.shard_name(block // store._info.blocks_per_shard))
        flip(shard, place_of(shard, "tokens", block % store._info.blocks_per_shard))
        with self.assertRaisesRegex(bload.DamagedError, f"safetensors: block {block} of tokens: wrong checksum; block 2 of the view .*view needs it"):
            dataset.verify([2])
        self.assertRaises(bload.DamagedError, dataset.verify)
        dataset.verify(number for number in range(len(dataset)) if block not in [there for _, there in dataset._needs(number)])

    def test_arguments(self):
        dataset = bload.open(self.packed("plain"))
        self.assertRaisesRegex(TypeError, "blocks must be numbers of blocks, such as .0, 7., not 3 of type int", dataset.verify, 3)
        self.assertRaisesRegex(TypeError, "blocks must be numbers of blocks, not 'a' of type str", dataset.verify, "a")
        self.assertRaisesRegex(IndexError, "no block 9999", dataset.verify, [0, 9999])
        self.assertRaises(IndexError, dataset.verify, [-len(dataset) - 1])
        dataset.close()
        self.assertRaisesRegex(ValueError, "is closed", dataset.verify)
