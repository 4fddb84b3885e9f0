"""Blocks and sequences of every kind of dataset, against safetensors' own reader."""
import os
from unittest import mock

import numpy as np

import bload
import bload._core.sampler
from bload._core.seekable import SeekableFile
from harness import each
from sample import WAYS, Sample, Truth, same

EXTRA = dict(segment_ids=True, position_ids=True, mask=True)


class Ways(Sample):
    @each(WAYS)
    def test_blocks(self, way):
        """Every array of every block, with what is made on request."""
        path = self.packed(way)
        truth, dataset = Truth(path), bload.open(path, verify=True, **EXTRA)
        self.assertEqual(len(dataset), truth.d.blocks)
        for i, block in enumerate(dataset):
            same(self, block, truth.block(i))

    @each(WAYS)
    def test_sequences(self, way):
        """Every sequence by id and by row, whole or as far as it is stored."""
        path = self.packed(way)
        truth, dataset = Truth(path), bload.open(path)
        self.assertEqual(len(dataset.sequences), len(truth.d.sequences))
        for row, told in enumerate(truth.d.sequences):
            self.assertEqual(dataset.sequences[row], told)
            self.assertEqual(dataset.sequences.find(told["id"]), row)
            if told["status"] != "ok":
                self.assertRaisesRegex(bload.SequenceError, told["status"], dataset.sequence, row)
                continue
            given = dataset.sequence(told["id"], partial=way == "truncated")
            same(self, given, {name: truth.sequence(told["id"], name) for name in dataset.fields})
            same(self, given, dataset.sequence(row - len(dataset.sequences), partial=way == "truncated"))

    def test_ways(self):
        """The samples have what they are there for."""
        opened = {way: bload.open(self.packed(way)) for way in WAYS}
        count = {way: sum(int(block["num_sequences"]) == 0 for block in dataset) for way, dataset in opened.items()}
        self.assertTrue(count["empty"] > 0)
        for way in "shards", "compressed", "split", "joined-zstd":
            self.assertGreater(opened[way].manifest["shards"], 2)
        for way in "failed", "failed-plain":
            failed = [row["id"] for row in opened[way].sequences if row["status"] == "failed"]
            self.assertEqual(failed, ["3.npz", "7.npz"])
        self.assertEqual([len(opened["joined"].fields[name].shape) for name in ("poses", "labels", "sound")], [2, 0, 1])
        self.assertEqual([opened["groups"].world_size, opened["empty"].batch_size], [2, 5])
        self.assertIn("source_start", opened["split"][0])
        self.assertNotIn("source_start", opened["plain"][0])
        self.assertIn("source_start", opened["store"][0])
        self.assertEqual([opened["store"].manifest[name] for name in ("cut", "optimal", "fill")], [0, True, None])
        self.assertIn("segment_ids", opened["split"][0])
        self.assertNotIn("segment_ids", opened["plain"][0])
        starts = np.concatenate([block["cu_seqlens"][:int(block["num_sequences"])] for block in opened["aligned"]])
        self.assertEqual((starts % 8).max(), 0)
        self.assertGreater(starts.max(), 0)


class Frames(Sample):
    def test_needed(self):
        """Only the frames that hold a sequence are decompressed, and once where sequences follow each other."""
        dataset, done = bload.open(self.packed("frames")), []
        decompress = SeekableFile.decompress

        def counted(file, i, out):
            if i > len(file.offset) - 4:  # of the shard's block, whose two frames are the last ones
                done.append((file.path, i))
            decompress(file, i, out)

        with mock.patch.object(SeekableFile, "decompress", counted):
            dataset.sequence(int(dataset._index.sequence[0]))
            self.assertEqual(len(done), 1)
            for row in dataset._index.sequence.tolist():
                dataset.sequence(row)
        self.assertEqual(len(done), len(set(done)))
        self.assertGreater(len(done), len(dataset))


class Store(Sample):
    def test_sampled(self):
        """Samplers give the blocks of a store as those of any dataset, each once; ranks may leave a remainder."""
        dataset = bload.open(self.packed("store"))
        source = bload._core.sampler.EpochBlocks(dataset)
        given = [list(bload._core.sampler.BlockSampler(source, 3, rank, remainder="pad")) for rank in range(3)]
        self.assertEqual(len({len(numbers) for numbers in given}), 1)
        self.assertEqual({number % len(dataset) for numbers in given for number in numbers}, set(range(len(dataset))))
        self.assertEqual(sum(int(source[i]["length"].sum()) for i in range(len(dataset))), dataset.manifest["steps"])


class Interface(Sample):
    def setUp(self):
        self.where = self.packed("shards")
        self.dataset = bload.open(self.where)

    def test_numbers(self):
        """Blocks count as the entries of a list do."""
        dataset, n = self.dataset, len(self.dataset)
        same(self, dataset[-1], dataset[n - 1])
        same(self, dataset[np.int64(2)], dataset[2])
        self.assertEqual([block["ids"] for block in dataset[3:9:2]], [dataset[i]["ids"] for i in (3, 5, 7)])
        self.assertEqual(len(list(dataset)), n)
        for wrong in n, -n - 1, 1 << 70:
            self.assertRaises(IndexError, dataset.__getitem__, wrong)
        for wrong in "0", "tokens", 1.0, None, [0, 1], (0, 1):
            self.assertRaisesRegex(TypeError, "a block index must be an int or a slice .*, not .* of type ", dataset.__getitem__, wrong)
        self.assertEqual([dataset[5:99][-1]["ids"], dataset[-2:][0]["ids"], dataset[9:9]], [dataset[-1]["ids"], dataset[n - 2]["ids"], []])
        self.assertRaisesRegex(TypeError, "id in dataset.sequences", lambda: dataset.sequences.id(0) in dataset)
        self.assertRaisesRegex(TypeError, "id in dataset.sequences", lambda: dataset[0] in dataset.epoch(1, window=2))

    def test_sequences(self):
        """Sequences are named by any text or integer; what is none is a KeyError, an IndexError or a TypeError."""
        dataset, table = self.dataset, self.dataset.sequences
        name, n = table.id(3), len(table)
        for which in name, np.str_(name), np.int32(3), np.uint8(3), 3 - n:
            same(self, dataset.sequence(which), dataset.sequence(3))
        for wrong in n, -n - 1:
            self.assertRaisesRegex(IndexError, f"no row {wrong}: there are {n}", dataset.sequence, wrong)
        for wrong in 1.0, None, b"a", [name], np.float32(3):
            self.assertRaisesRegex(TypeError, "a sequence must be given by id or row, not ", dataset.sequence, wrong)
        for error in KeyError, bload.SequenceError, bload.Error:
            with self.assertRaises(error) as raised:
                dataset.sequence("3")
            self.assertEqual(str(raised.exception), f"{table.path}: no sequence has the id '3': ids look like {table.id(0)!r}")

    def test_paths(self):
        """Any kind of path; and what is none of a dataset is told, with what to do."""
        import pathlib
        for path in self.where + "/", os.fsencode(self.where), pathlib.Path(self.where):
            same(self, bload.open(path)[0], self.dataset[0])
        for part in "shards/00000/shard-00000000.safetensors", "manifest.json", "shards", "shards/00000":
            with self.assertRaises(FileNotFoundError) as raised:
                bload.open(os.path.join(self.where, part))
            self.assertEqual(str(raised.exception), f"{os.path.join(self.where, part)}: part of a dataset: open {self.where}")
        with open(self.path("x.safetensors"), "wb"):
            pass
        for wrong, said in ((self.path("x.safetensors"), "x.safetensors: this is a file, but a dataset is a directory with a manifest.json"),
                            (self.path("text"), "not a finished dataset"),
                            (self.path("nowhere"), "no such dataset"), (self.path("x.safetensors/y"), "no such dataset")):
            for error in bload.MissingError, FileNotFoundError:
                self.assertRaisesRegex(error, said, bload.open, wrong)
        for wrong in None, 3, [self.where], self.dataset:
            self.assertRaises(TypeError, bload.open, wrong)

    def test_options(self):
        """A name alone is a list of one; what is no option is not taken for one."""
        path = self.packed("joined")
        self.assertEqual(list(bload.open(path, fields="labels").sequence(0)), ["labels"])
        self.assertEqual(list(bload.open(path, fields=("sound", "labels", "sound")).sequence(0)), ["sound", "labels"])
        for error in ValueError, bload.Error:
            self.assertRaisesRegex(error, "no field \"label\"; the fields are: poses, labels, sound$", bload.open, path, fields="label")
        self.assertRaisesRegex(bload.OptionError, "no field \"length\"; .*attributes and tables are in every", bload.open, path, fields="length")
        for wrong in 3, [3], b"labels", True:
            self.assertRaisesRegex(TypeError, "fields must be a name or a list of names, not ", bload.open, path, fields=wrong)
        self.assertRaisesRegex(TypeError, "verify must be True or False, not .'labels'. of type list", bload.open, path, ["labels"])
        for name in "ids", "segment_ids", "position_ids", "mask", "decode", "writable":
            self.assertRaisesRegex(TypeError, f"^{name} must be True or False, not 'no' of type str$", bload.open, path, **{name: "no"})
        self.assertIn("mask", bload.open(path, mask=np.bool_(True))[0])
        for wrong in 0, -1:
            self.assertRaisesRegex(bload.OptionError, "open_shards must be at least 1", bload.open, path, open_shards=wrong)
        self.assertRaisesRegex(bload.OptionError, "resident must be at least 0, not -1", bload.open, path, resident=-1)
        for wrong in None, 2.5, "4":
            self.assertRaisesRegex(TypeError, "open_shards must be an int, not ", bload.open, path, open_shards=wrong)
            self.assertRaisesRegex(TypeError, "resident must be an int, not ", bload.open, path, resident=wrong)
        for arguments in ("1",), (1.0,), (None,), (1, 2.5), (1, "8"), (1, 8, "a"), (1, 8, 1.5):
            self.assertRaises(TypeError, self.dataset.epoch, *arguments)
        self.assertRaisesRegex(bload.OptionError, "seed needs a window", self.dataset.epoch, 1, seed=3)

    def test_closed(self):
        """What was given outlives the dataset; nothing more is to be had, and no file of a shard stays open."""
        def shards():
            links = (os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd"))
            return [link for link in links if link.startswith(f"{self.where}/shards/")]

        del self.dataset
        with bload.open(self.where) as dataset:
            block, table, drawn = {**dataset[0], "tokens": dataset[0]["tokens"].copy()}, dataset.sequences, dataset.epoch(1, window=4)
            dataset[-1], drawn[0]
            self.assertTrue(shards())
            opened = dataset[1]
        name, expected = table.id(0), bload.open(self.where)
        for ask in (lambda: dataset[0], lambda: dataset[:2], lambda: list(dataset), lambda: dataset.sequence(name), lambda: drawn[0],
                    lambda: dataset.sequences, dataset.__enter__):
            self.assertRaisesRegex(ValueError, f"{self.where}: the dataset is closed", ask)
        same(self, opened, expected[1])
        same(self, block, expected[0])
        dataset.close()
        del block, opened, expected
        self.assertEqual(shards(), [])

    def test_help(self):
        """help() has every option with its type, shapes, units, and the errors."""
        import inspect
        import pydoc
        text = pydoc.plain(pydoc.render_doc(bload.open))
        for name in inspect.signature(bload.open).parameters:
            self.assertRegex(text, rf"\n    {name} : \w", name)
        text += pydoc.plain(pydoc.render_doc(bload.Dataset))
        for word in "I32 \\[T\\]", "BOOL \\[T\\]", "steps", "MissingError", "OptionError", "SequenceError", "EpochError":
            self.assertRegex(text, word)

    def test_mapped(self):
        """Plain shards are not copied: what is given lies in the file, and cannot be written."""
        one, again = self.dataset[5], self.dataset[5]
        for name in "tokens", "cu_seqlens", "sequence", "length":
            self.assertTrue(np.shares_memory(one[name], again[name]), name)
            self.assertFalse(one[name].flags.writeable, name)
        kept = one["tokens"].copy()
        for i in range(len(self.dataset)):
            bload.open(self.where, open_shards=1)[i]
        del self.dataset, again
        self.assertEqual(one["tokens"].tolist(), kept.tolist())

    def test_words(self):
        manifest = self.dataset.manifest
        self.assertEqual((self.dataset.T, self.dataset.S, len(self.dataset)), (manifest["T"], manifest["S"], manifest["blocks"]))
        field = self.dataset.fields["tokens"]
        self.assertEqual((field.kind, field.dtype, field.stored, field.shape), ("text", np.dtype("<u2"), "U16", ()))
        self.assertIn("T = 64", repr(self.dataset))
        self.assertIn("id, length", repr(self.dataset.sequences))

    def test_choice(self):
        """Only what was asked for."""
        path = self.packed("joined")
        block = bload.open(path, fields=["labels"], ids=False)[0]
        self.assertEqual(sorted(block), ["cu_seqlens", "labels", "length", "num_sequences", "sequence", "source_start"])
        dataset = bload.open(path, fields=[])
        self.assertEqual(sorted(dataset.sequence(0)), [])
        self.assertRaisesRegex(bload.Error, "no field \"pictures\"; the fields are: poses, labels, sound", bload.open, path, fields=["pictures"])

    def test_relative(self):
        """What was opened by a relative path, or one with ~ or of pathlib, stays where it is."""
        import pathlib
        here = os.getcwd()
        try:
            os.chdir(self.directory)
            dataset = bload.open(pathlib.Path("packed-shards"))
        finally:
            os.chdir(here)
        same(self, dataset[7], self.dataset[7])


class Table(Sample):
    """sequences.tsv."""

    def test_columns(self):
        table = bload.open(self.packed("groups")).sequences
        truth = Truth(self.packed("groups")).d.sequences
        self.assertEqual(table.columns, tuple(truth[0]))
        for column in table.columns:
            if column == "length" or column == "bytes":
                self.assertEqual(table[column].dtype, np.int64)
                self.assertEqual(table[column].tolist(), [int(row[column]) for row in truth])
            else:
                self.assertEqual(table[column], [row[column] for row in truth])
        self.assertEqual(table["url"][1], "site\t1")
        self.assertEqual(table[-1], truth[-1])
        self.assertRaises(IndexError, table.__getitem__, len(truth))
        self.assertRaisesRegex(bload.SequenceError, "no column \"nothing\"", table.__getitem__, "nothing")
        self.assertRaisesRegex(bload.SequenceError, "no sequence", table.find, "nothing")
        self.assertRaises(KeyError, table.__getitem__, "nothing")
        with self.assertRaises(ValueError):
            table["length"][0] = 7  # the table keeps what it gives

    def test_container(self):
        """Ids are looked for, rows are gone through."""
        table = bload.open(self.packed("groups")).sequences
        truth = Truth(self.packed("groups")).d.sequences
        self.assertTrue(all(row["id"] in table for row in truth))
        self.assertIn(np.str_(truth[5]["id"]), table)
        for absent in "", "nothing", "0", truth[0]["id"] + " ", truth[0]["id"].upper():
            self.assertNotIn(absent, table)
        for wrong in 0, None, b"a", truth[0]:
            self.assertRaisesRegex(TypeError, "the id of a sequence must be a str, not ", table.__contains__, wrong)
        self.assertEqual(list(table), truth)
        for key in slice(2, 9, 3), slice(-2, None), slice(len(truth), None):
            self.assertEqual(table[key], truth[key])
        for wrong in 1.0, None, [0]:
            self.assertRaisesRegex(TypeError, "a table index must be an int, a slice or the name of a column, not ", table.__getitem__, wrong)

    def test_attributes(self):
        """Numbers that a table says of each sequence: columns, and beside each piece; the sequence without a row was left out."""
        dataset = bload.open(self.packed("attributes"), verify=True)
        stem = [int(name[:-4]) for name in dataset.sequences["id"]]
        left_out = stem.index(0)
        expected = {"class": [self.classes[i] for i in stem], "weight": [self.weights[i] for i in stem]}
        expected["class"][left_out], expected["weight"][left_out], expected["weight"][stem.index(1)] = 0, np.nan, np.nan
        for name, dtype in ("class", np.int64), ("weight", np.float64):
            column = dataset.sequences[name]
            self.assertEqual(column.dtype, dtype)
            np.testing.assert_array_equal(column, expected[name])
            for epoch in dataset, dataset.epoch(1, window=4):
                for block in epoch:
                    there = block["sequence"] >= 0
                    self.assertEqual((block[name].dtype, block[name].shape), (dtype, (dataset.S,)))
                    np.testing.assert_array_equal(block[name][there], column[block["sequence"][there]])
                    self.assertFalse(block[name][~there].any())
        self.assertEqual(dataset.sequences["note"][stem.index(3)], "n3")

    def test_joined(self):
        table = bload.open(self.packed("joined")).sequences
        self.assertEqual(table["labels.length"].tolist(), table["length"].tolist())

    def test_names(self):
        """Ids of any bytes that a file name can have, and what was skipped."""
        folder = self.path("names")
        os.makedirs(folder)
        names = ["tab\tnewline\nback\\slash.npy", "\u00e9\U0001f600.npy", os.fsdecode(b"\xff\xfe\\x41.npy")]
        for i, name in enumerate(names):
            np.save(os.path.join(folder, name), np.full((i + 1, 2), i, "f4"))
        with open(os.path.join(folder, "broken.npy"), "wb"):
            pass
        dataset = bload.open(self.pack("odd", folder, "--kind", "array", "-T", "4", status=3))
        for i, name in enumerate(names):
            self.assertEqual(dataset.sequence(name)["array"].tolist(), [[i, i]] * (i + 1))
        given = [name for block in dataset for name in block["ids"] if name]
        self.assertEqual(sorted(given), sorted(names))
        self.assertRaisesRegex(bload.SequenceError, "broken.npy is not stored: skipped, .", dataset.sequence, "broken.npy")
        self.assertEqual(dataset.sequences["length"].tolist().count(0), 1)

    def test_partial(self):
        """What was cut is not taken for whole."""
        dataset = bload.open(self.packed("truncated"))
        long = int(np.flatnonzero(dataset.sequences["length"] > 16)[0])
        self.assertRaisesRegex(bload.SequenceError, "only 16 of the", dataset.sequence, long)
        self.assertEqual(len(dataset.sequence(long, partial=True)["tokens"]), 16)
        dropped = bload.open(self.pack("dropped", "text", "--tokenizer", "bytes", "-T", "16", "--oversize", "drop", cwd=self.directory))
        self.assertRaisesRegex(bload.SequenceError, "is not stored", dropped.sequence, long, partial=True)
