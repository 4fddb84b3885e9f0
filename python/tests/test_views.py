"""Views: blocks of what several datasets store, against the datasets' independent reader."""
import multiprocessing
import os
import pickle
import shutil
import unittest.mock
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np

import bload
import library
from harness import each
from sample import Sample, same
from views import ViewTruth, write_view

EXTRA = dict(segment_ids=True, position_ids=True, mask=True)

# name: the datasets, and T and align of the view.
VIEWS = {
    "text": (("plain", "compressed"), 80, 1),
    "pieces": (("split", "plain-u4"), 24, 1),
    "joined": (("joined", "joined-zstd"), 40, 4),
    "repeat": (("repeat", "repeat-other"), 64, 4),
    "jpeg": (("jpeg", "jpeg-other"), 30, 1),
    "delta": (("delta", "delta-plain"), 40, 1),
    "attributes": (("attributes", "attributes-other"), 33, 1),
    "failed": (("failed", "failed-plain"), 64, 1),
    "one": (("shards",), 64, 1),
}
OTHERS = {
    "plain-u4": ("plain",), "repeat-other": ("repeat", "--seed", "3"), "jpeg-other": ("jpeg", "--encode", "jpeg:70", "--seed", "3"),
    "delta-plain": ("delta", "--seed", "3"), "attributes-other": ("attributes", "--seed", "3"),
}


class Views(Sample):
    def source(self, way):
        return self.packed(*OTHERS.get(way, (way,)), name=way)

    def view(self, name):
        ways, T, align = VIEWS[name]
        out = self.path("view-" + name)
        if not os.path.exists(out):
            write_view(out, {f"store {k}": self.source(way) for k, way in enumerate(ways)}, T, align, segment_ids=name == "joined")
        return out


class Blocks(Views):
    @each(VIEWS)
    def test_blocks(self, name):
        """Every array of every block, in every epoch."""
        path = self.view(name)
        truth, view = ViewTruth(path), bload.open(path, verify=True, **EXTRA)
        self.assertIsInstance(view, bload.View)
        self.assertEqual(view.epochs, (0, 1, 2))
        for number in view.epochs:
            epoch = view.epoch(number)
            self.assertEqual(len(epoch), truth.manifest["blocks"])
            for block, expected in zip(epoch, truth.blocks(number)):
                same(self, block, expected)

    @each([("dropped", "--remainder", "drop", "--world-size", 3, "--batch-size", 4), ("clips", "--strategy", "sample", "--clip", 5)])
    def test_other_pieces(self, name, *options):
        """Epochs that drop other sequences, or have other clips, than the first."""
        path = self.path("other-" + name)
        self.bload("view", "-q", self.source("plain"), "-T", 80, "--epochs", 4, *options, "-o", path)
        truth, pieces, other = ViewTruth(path), set(), library.Dataset(path)
        for number, epoch in enumerate(map(bload.open(path, verify=True, **EXTRA).epoch, range(4))):
            blocks = list(epoch)
            other.set_epoch(number)
            for i, (block, expected) in enumerate(zip(blocks, truth.blocks(number), strict=True)):
                same(self, block, expected)
                told = other.block(i)
                for array in told.keys() & block.keys():
                    self.assertTrue(np.array_equal(told[array], block[array]), (number, i, array))
            pieces.add(frozenset((name, int(block["source_start"][k]) if "source_start" in block else 0)
                                 for block in blocks for k, name in enumerate(block["ids"]) if name))
        other.close()
        self.assertEqual(len(pieces), 4)

    @each(VIEWS)
    def test_plain(self, name):
        """Without verify, in any order, from large files and with a single shard open."""
        path = self.view(name)
        expected = list(ViewTruth(path).blocks(0))
        for options in {}, dict(resident=0):
            with bload.open(path, open_shards=1, **options, **EXTRA) as view:
                for i in np.random.default_rng(0).permutation(len(view)).tolist():
                    same(self, view[i], expected[i])

    @each(VIEWS)
    def test_window(self, name):
        """Windows of a view draw from its blocks: the same pieces, each with its own steps."""
        path = self.view(name)
        truth, view = ViewTruth(path), bload.open(path, verify=True)
        for window in 3, len(view) + 1:
            pieces = []
            for block in view.epoch(1, window=window):
                pieces += self.check_pieces(truth, view, block)
            self.assertEqual(sorted(pieces), sorted(piece for block in view for piece in self.check_pieces(truth, view, block)))

    def check_pieces(self, truth, view, block):
        n = int(block["num_sequences"])
        first = block.get("source_start", np.zeros(view.S, int))
        for k in range(n):
            start, length = int(block["cu_seqlens"][k]), int(block["length"][k])
            for name in view.fields:
                expected = truth.sequence(int(block["sequence"][k]), name)[first[k]:first[k] + length]
                self.assertEqual(block[name][start:start + length].tobytes(), expected.tobytes())
        return list(zip(block["sequence"][:n].tolist(), first[:n].tolist(), block["length"][:n].tolist()))

    @each(VIEWS)
    def test_sequences(self, name):
        """The table has the rows of all sources; each sequence comes whole, by its id in the view and by its row."""
        path = self.view(name)
        truth, view = ViewTruth(path), bload.open(path, verify=True)
        table = view.sequences
        self.assertEqual(table["id"], truth.ids)
        self.assertEqual(len(table), view.manifest["rows"])
        told = [row for one in truth.truths for row in one.d.sequences]
        for row, (one, name) in enumerate(zip(told, truth.ids)):
            self.assertEqual({**table[row], "id": one["id"]}, one)
            self.assertEqual((table.id(row), table.find(name), name in table), (name, row, True))
            if one["status"] != "ok":
                self.assertRaisesRegex(bload.SequenceError, f"{name} is not stored: {one['status']}", view.sequence, row)
                continue
            same(self, view.sequence(name), {field: truth.sequence(row, field) for field in view.fields})
            same(self, view.sequence(row - len(table)), view.sequence(row))
        self.assertEqual(table["length"].tolist(), [int(one["length"] or -1) for one in told])
        self.assertRaisesRegex(bload.SequenceError, "no sequence has the id 'nothing'", table.find, "nothing")
        self.assertRaises(IndexError, table.__getitem__, len(told))

    def test_views(self):
        """The samples have what they are there for."""
        rows = {name: ViewTruth(self.view(name)).rows for name in VIEWS}
        self.assertEqual({"row_ptr" in tables for tables in rows.values()}, {True, False})
        self.assertEqual({"source_start" in tables for tables in rows.values()}, {True, False})
        self.assertEqual({"renamed" in tables for tables in rows.values()}, {True, False})
        self.assertIn(-1, rows["failed"]["block"])
        self.assertIn("attribute.class", rows["attributes"])

    def test_attributes(self):
        """Attributes are columns of the table, as the datasets have them."""
        path = self.view("attributes")
        view = bload.open(path)
        for name in "class", "weight":
            tables = [bload.open(source.path).sequences[name] for source in view.sources]
            np.testing.assert_array_equal(view.sequences[name], np.concatenate(tables))

    @each(("jpeg", "delta"))
    def test_undecoded(self, name):
        from bload._core.encoding import decode_jpeg, undelta
        path = self.view(name)
        kept = bload.open(path, decode=False, verify=True)
        for block, other in zip(bload.open(path), kept):
            frames = block.pop("frames")
            stored = other.pop(f"frames_{name}")
            decoded = undelta(stored) if name == "delta" else decode_jpeg(stored, frames.shape[1:])
            self.assertEqual(decoded.tobytes(), frames.tobytes())
            same(self, block, other)

    def test_frames(self):
        """A compressed block is decompressed once for its neighbouring pieces."""
        path, source = self.path("view-frames"), self.source("compressed")
        view = bload.open(write_view(path, {"a": source}, 4096), ids=False)
        with unittest.mock.patch("bload._core.seekable.SeekableFile.decompress", autospec=True,
                                 side_effect=bload._core.seekable.SeekableFile.decompress) as decompress:
            pieces = sum(int(block["num_sequences"]) for block in view)
        fields = [call for call in decompress.call_args_list if call.args[1] > len(view._info.tables())]
        self.assertEqual(pieces, self.documents)
        self.assertLessEqual(len(fields), len(bload.open(source)))


class Command(Views):
    """Views that the tool makes, read by the package and by the C library."""

    def made(self, name):
        ways, T, align = VIEWS[name]
        out = self.path("made-" + name)
        if not os.path.exists(out):
            self.bload("view", "-q", *map(self.source, ways), "-T", T, "--align", align, "--oversize", "split", "--epochs", 3,
                       "--world-size", 2, "--remainder", "pad", "-o", out)
        return out

    @each(VIEWS)
    def test_blocks(self, name):
        path = self.made(name)
        truth, view = ViewTruth(path), bload.open(path, verify=True, **EXTRA)
        for number in view.epochs:
            for block, expected in zip(view.epoch(number), truth.blocks(number)):
                same(self, block, expected)

    @each(VIEWS)
    def test_library(self, name):
        """Of the same view, and of a dataset's epochs, the C library gives what the package does."""
        stored = self.source(VIEWS[name][0][0])
        if name == "text":
            self.bload("plan", "-q", "--dataset", stored, "--epochs", 2)
        for path in self.made(name), stored:
            view, other = bload.open(path, ids=False), library.Dataset(path)
            for number in view.epochs:
                other.set_epoch(number)
                for i, block in enumerate(view.epoch(number)):
                    told = other.block(i)
                    for array in told.keys() & block.keys():
                        self.assertTrue(np.array_equal(told[array], block[array]), (path, number, i, array))
            other.close()

    @each(("plain", "compressed", "split", "store", "joined", "jpeg", "delta", "attributes", "aligned", "cp"))
    def test_direct(self, way):
        """The blocks of a direct pack with the view's options."""
        T = ("--oversize", "error", "-T", 132 if way == "cp" else 130)
        direct = self.packed("plain" if way == "store" else way, *map(str, T), name="direct-" + way)
        view = self.path("direct-view-" + way)
        align = {"aligned": ("--align", 8), "cp": ("--cp", 2)}.get(way, ())
        self.bload("view", "-q", self.source(way), *T, *align, "-o", view)
        one, other = bload.open(view, ids=False), bload.open(direct, ids=False)
        self.assertEqual(len(one), len(other))
        for block, expected in zip(one, other):
            expected.pop("segment_ids", None)
            block.pop("segment_ids", None)
            same(self, block, expected)
        for path in (view, direct) if way == "cp" else ():
            told = library.Dataset(path)
            self.assertEqual((told.counts.cp, one.cp), (2, 2))
            for i, block in enumerate(one):
                self.assertEqual(told.block(i)["cu_seqlens_padded"].tolist(), block["cu_seqlens_padded"].tolist())
            told.close()


class Interface(Views):
    def test_words(self):
        view = bload.open(self.view("text"))
        first, second = view.sources
        self.assertEqual((first.name, first.path, first.rows, first.first_row), ("store 0", self.source("plain"), 120, 0))
        self.assertEqual((second.first_row, second.weight), (120, None))
        self.assertAlmostEqual(first.share + second.share, 1)
        self.assertRegex(repr(view), "^<bload.View .*/view-text: .* blocks, T = 80, ")
        self.assertEqual((view.T, view.world_size, view.batch_size), (80, 1, 1))
        self.assertEqual(view.manifest["format"], 2)
        self.assertIsInstance(view, bload.BaseDataset)
        self.assertTrue(view[0]["tokens"].flags.writeable)

    def test_closed(self):
        """Nothing more is to be had, and no file of a shard stays open."""
        path = self.view("text")
        with bload.open(path) as view:
            drawn = view.epoch(1)
            view[0], drawn[0]
        for ask in lambda: view[0], lambda: drawn[0], lambda: view.sequence(0), lambda: view.sequences:
            self.assertRaisesRegex(ValueError, "the dataset is closed", ask)
        links = (os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd"))
        self.assertEqual([link for link in links if link.startswith(f"{self.directory}/") and "/shards/" in link], [])

    def test_hands(self):
        """Pickled, forked, and read by threads."""
        view = bload.open(self.view("joined"), verify=True, mask=True, open_shards=2)
        expected = list(view)
        again = pickle.loads(pickle.dumps(view))
        self.assertEqual((again.path, again._checked, again._options, again._open_shards), (view.path, True, view._options, 2))
        with ThreadPoolExecutor(8) as threads, ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as processes:
            for pool in threads, processes:
                for one, other in zip(pool.map(again.__getitem__, range(len(view))), expected):
                    same(self, one, other)
        epoch = pickle.loads(pickle.dumps(view.epoch(2)))
        for one, other in zip(epoch, view.epoch(2)):
            same(self, one, other)

    def test_sampler(self):
        """Samplers number the blocks of a view and its epochs."""
        from bload._core.sampler import BlockSampler, EpochBlocks
        view = bload.open(self.view("text"))
        blocks = EpochBlocks(view)
        sampler = BlockSampler(blocks, num_replicas=1, rank=0, remainder="pad")
        for epoch in range(3):
            sampler.set_epoch(epoch)
            numbers = list(sampler)
            self.assertEqual(sorted(numbers), list(range(epoch * len(view), (epoch + 1) * len(view))))
            same(self, blocks[numbers[0]], view.epoch(epoch)[numbers[0] - epoch * len(view)])


class Sources(Views):
    """Sources that are not there, or are others than the view was made of."""

    def broken(self):
        copy = self.path("broken")
        shutil.rmtree(copy, ignore_errors=True)
        os.makedirs(copy)
        for way in "plain", "groups":
            shutil.copytree(self.source(way), os.path.join(copy, way))
        write_view(os.path.join(copy, "view"), {way: os.path.join(copy, way) for way in ("plain", "groups")}, 80)
        return copy, os.path.join(copy, "view")

    def test_missing(self):
        path, view = self.broken()
        os.rename(os.path.join(path, "groups"), os.path.join(path, "away"))
        self.assertRaisesRegex(bload.MissingError, "^.*/broken/groups: no such dataset; it is the source \"groups\" of the view .*/broken/view: put it back, or make the view again",
                               bload.open, view)

    def test_moved(self):
        """A view and its sources can be moved together."""
        path, view = self.broken()
        expected = list(bload.open(view))
        os.rename(path, path + "-moved")
        for one, other in zip(bload.open(os.path.join(path + "-moved", "view")), expected):
            same(self, one, other)
        shutil.rmtree(path + "-moved")

    def test_other(self):
        path, view = self.broken()
        shutil.rmtree(os.path.join(path, "groups"))
        shutil.copytree(self.source("truncated"), os.path.join(path, "groups"))
        said = r"^.*/groups: the source \"groups\" is not the dataset of which .*: the checksum of \w+\.\w+ is [0-9a-f]{16}, " \
               r"but the view has [0-9a-f]{16}"
        self.assertRaisesRegex(bload.DamagedError, said, bload.open, view)

    def test_view(self):
        path, view = self.broken()
        shutil.rmtree(os.path.join(path, "groups"))
        shutil.copytree(view, os.path.join(path, "groups"))
        self.assertRaisesRegex(bload.FormatError, "/groups: this is a view, but the sources of a view must be datasets", bload.open, view)

    def test_fields(self):
        path, view = self.broken()
        shutil.rmtree(view)
        self.assertRaises(bload.MissingError, bload.open, view)
        write_view(view, {"plain": os.path.join(path, "plain"), "shards": self.source("shards")}, 80)
        self.assertRaisesRegex(bload.DamagedError, "field \"tokens\" of the source \"shards\" differs from the view", bload.open, view)
