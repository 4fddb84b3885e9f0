"""Epochs: by plans that the tool makes, and drawn here in windows."""
import json
import os
import shutil
import warnings

import numpy as np

import bload
from harness import each
from sample import WAYS, Sample, Truth, same

EPOCHS = 2
WINDOW = 5
EXTRA = dict(segment_ids=True, position_ids=True, mask=True)
PADDING = {"aligned": 7, "cp": 7, "empty": 9}  # of tokens; 0 elsewhere


def epochs_of(dataset):
    """Both epochs by plans, and two with windows: one of several blocks, one of all."""
    for number in range(1, EPOCHS + 1):
        yield dataset.epoch(number)
    yield dataset.epoch(1, window=WINDOW)
    yield dataset.epoch(2, window=len(dataset) + 7, seed=5)


class Epochs(Sample):
    def planned(self, way):
        path = self.packed(way)
        if not os.path.exists(os.path.join(path, "plans")):
            self.bload("plan", "-q", "--dataset", path, "--epochs", EPOCHS, "--seed", 11)
        return path

    @each(way for way in WAYS if way not in ("truncated", "store"))
    def test_composed(self, way):
        """Each step of each block: of the sequence that the tables name, or padding; and no piece twice, none left out."""
        path = self.planned(way)
        truth, dataset = Truth(path), bload.open(path, verify=True, **EXTRA)
        stored = {row: {name: truth.sequence(told["id"], name) for name in dataset.fields}
                  for row, told in enumerate(truth.d.sequences) if truth.d.pieces_of(told["id"])}
        pieces = sorted(piece for i in range(len(dataset)) for piece in self.pieces_of(truth.block(i)))
        for epoch in epochs_of(dataset):
            self.assertEqual(len(epoch), len(dataset))
            found = []
            for block in epoch:
                self.check_block(way, dataset, block, stored)
                found += self.pieces_of(block)
            self.assertEqual(sorted(found), pieces, epoch)

    @staticmethod
    def pieces_of(block):
        first = block.get("source_start", np.zeros_like(block["sequence"]))
        return [(int(s), int(f), int(n)) for s, f, n in zip(block["sequence"], first, block["length"]) if s >= 0]

    def check_block(self, way, dataset, block, stored):
        """A composed block has the form of a stored one, the bytes of the sequences, and pack's padding."""
        form = dataset[0]
        self.assertEqual(sorted(block), sorted(form))
        for name in set(form) - {"ids"}:
            self.assertEqual((block[name].dtype, block[name].shape), (form[name].dtype, form[name].shape), name)
        n, cu = int(block["num_sequences"]), block["cu_seqlens"]
        self.assertTrue((cu[n:] == cu[n]).all() and (block["sequence"][n:] == -1).all() and (block["length"][n:] == 0).all())
        expected = {name: self.padding(way, dataset, name) for name in dataset.fields}
        at, segment, position = 0, np.zeros(dataset.T, "i4"), np.zeros(dataset.T, "i4")
        for k, (row, first, length) in enumerate(zip(block["sequence"][:n], block.get("source_start", [0] * n), block["length"])):
            start, end = cu[k], cu[k] + length
            self.assertGreaterEqual(start, at)
            self.assertEqual(start % dataset._info.align, 0)
            for name, out in expected.items():
                if "repeat" in way and at:
                    out[at:start] = out[at - 1]
                if row >= 0:
                    out[start:end] = stored[row][name][first:first + length]
                elif k + 1 < n:
                    out[start:cu[k + 1]] = 0
                else:
                    out[start:cu[n]] = 0
            segment[start:end], position[start:end] = k + 1, np.arange(length)
            at = end
        for name, out in expected.items():
            if "repeat" in way and at:
                out[at:] = out[at - 1]
            self.assertEqual(block[name].tobytes(), out.tobytes(), name)
        self.assertEqual("cu_seqlens_padded" in block, way.startswith("cp"))
        if way.startswith("cp"):
            padded, multiple = block["cu_seqlens_padded"].astype(int), 2 * dataset.cp
            self.assertEqual(padded[:n].tolist(), block["cu_seqlens"][:n].tolist())
            self.assertEqual(set(padded[n:].tolist()), {-(-int(block["cu_seqlens"][-1]) // multiple) * multiple})
            self.assertFalse((padded % multiple).any())
        self.assertEqual(block["segment_ids"].tolist(), segment.tolist())
        self.assertEqual(block["position_ids"].tolist(), position.tolist())
        self.assertEqual(block["mask"].tolist(), (segment > 0).tolist())
        self.assertEqual(block["ids"], [dataset.sequences.id(int(row)) if row >= 0 else "" for row in block["sequence"]])

    @staticmethod
    def padding(way, dataset, name):
        field = dataset.fields[name]
        return np.full((dataset.T, *field.shape), PADDING.get(way, 0), field.dtype)

    @each(("jpeg", "jpeg-repeat", "delta"))
    def test_undecoded(self, way):
        """Pictures that stay as they are kept decode to those that come decoded."""
        from bload._core.encoding import decode_jpeg, undelta
        path = self.planned(way)
        dataset, kept = bload.open(path), bload.open(path, decode=False, verify=True)
        for epoch, undecoded in zip(epochs_of(dataset), epochs_of(kept)):
            for block, other in zip(epoch, undecoded):
                if way == "delta":
                    self.assertEqual(undelta(other.pop("frames_delta")).tobytes(), block.pop("frames").tobytes())
                else:
                    self.assertEqual(decode_jpeg(other.pop("frames_jpeg"), (10, 14, 3)).tobytes(), block.pop("frames").tobytes())
                same(self, block, other)

    def test_plans(self):
        """Plans are those of the tool; they differ from each other and from the stored one."""
        path = self.planned("shards")
        dataset = bload.open(path)
        self.assertEqual(dataset.epochs, (0, 1, 2))
        self.assertIs(dataset.epoch(0), dataset)
        seen = [[block["sequence"].tolist() for block in dataset.epoch(number)] for number in dataset.epochs]
        self.assertTrue(seen[0] != seen[1] != seen[2] != seen[0])
        from safetensors.numpy import load_file
        plan = load_file(os.path.join(path, "plans/epoch-00002.safetensors"))
        for b, rows in enumerate(seen[2]):
            first, end = plan["block_ptr"][b:b + 2]
            self.assertEqual([row for row in rows if row >= 0], plan["sequence"][first:end].tolist())

    def test_gaps(self):
        """Padding is known also where blocks have it between sequences alone."""
        for number, letters in enumerate((5, 8)):
            os.makedirs(self.path("two"), exist_ok=True)
            with open(self.path("two", f"{number}.jsonl"), "w") as file:
                file.write(json.dumps({"text": "x" * letters}) + "\n")
        for seed in range(64):
            path = self.pack("gap", "two", "--tokenizer", "bytes", "-T", 16, "--align", 8, "--pad-id", 7, "--seed", seed, cwd=self.directory)
            if bload.open(path)[0]["length"].tolist() == [5, 8]:
                break
        self.bload("plan", "-q", "--dataset", path, "--epochs", 9)
        dataset = bload.open(path)
        found = {str(block["length"].tolist()): block["tokens"].tolist() for e in dataset.epochs for block in dataset.epoch(e)}
        x, pad = ord("x"), 7
        self.assertEqual(found, {"[5, 8]": [x] * 5 + [pad] * 3 + [x] * 8, "[8, 5]": [x] * 13 + [pad] * 3})

    def test_absent(self):
        dataset = bload.open(self.planned("plain"))
        self.assertRaisesRegex(bload.EpochError, "no plan for epoch 3: make one with bload plan", dataset.epoch, 3)
        self.assertRaisesRegex(bload.EpochError, "no epoch -1", dataset.epoch, -1)
        self.assertRaisesRegex(bload.EpochError, "window must be at least 1 block", dataset.epoch, 1, window=0)

    def test_window(self):
        """A block's pieces come from its own window; drawn alike by equal seeds, otherwise by others."""
        dataset = bload.open(self.planned("shards"), ids=False)
        home = {int(row): i for i, block in enumerate(dataset) for row in block["sequence"] if row >= 0}
        drawn = {}
        for number, seed in (1, 0), (2, 0), (1, 9):
            rows = [block["sequence"].tolist() for block in dataset.epoch(number, window=WINDOW, seed=seed)]
            self.assertEqual(rows, [block["sequence"].tolist() for block in dataset.epoch(number, WINDOW, seed)])
            drawn[number, seed] = rows
            for i, block in enumerate(rows):
                self.assertEqual({home[row] // WINDOW for row in block if row >= 0}, {i // WINDOW})
        self.assertEqual(len({str(rows) for rows in drawn.values()}), 3)
        one = bload.open(self.packed("split")).epoch(1, window=1)
        for block, stored in zip(one, one.dataset):
            self.assertEqual(sorted(block["length"]), sorted(stored["length"]))

    def test_order(self):
        """Which block is asked for first makes no difference."""
        epoch = bload.open(self.planned("split")).epoch(1, window=WINDOW)
        forwards = [epoch[i] for i in range(len(epoch))]
        again = epoch.dataset.epoch(1, window=WINDOW)
        for i in reversed(range(len(again))):
            same(self, again[i], forwards[i])

    def test_groups(self):
        """Groups are kept apart by plans and by windows."""
        dataset = bload.open(self.planned("groups"))
        url = dataset.sequences["url"]
        for epoch in epochs_of(dataset):
            for block in epoch:
                self.assertLessEqual(len({url[row] for row in block["sequence"] if row >= 0}), 1)

    def test_columns(self):
        """Blocks keep to the maxima of columns, and to their group, in plans and in windows, which draw all the same."""
        dataset = bload.open(self.planned("columns"))
        table = {name: dataset.sequences[name] for name in ("pictures", "length", "url")}
        for epoch in epochs_of(dataset):
            for block in epoch:
                rows = [row for row in block["sequence"] if row >= 0]
                self.assertLessEqual(sum(int(table["pictures"][row]) for row in rows), 5)
                self.assertLessEqual(sum(int(table["length"][row]) for row in rows), 60)
                self.assertLessEqual(len({table["url"][row] for row in rows}), 1)
        window = dataset.epoch(1, window=len(dataset))
        self.assertTrue(any(list(window[i]["sequence"]) != list(dataset[i]["sequence"]) for i in range(len(dataset))))

    def test_bundles(self):
        """The sequences of a bundle share a block, next to each other in the order of the table, in plans and in windows."""
        dataset = bload.open(self.planned("together"))
        pair = dataset.sequences["pair"]
        bundles = {}
        for row, value in enumerate(pair):
            bundles.setdefault(value or row, []).append(row)
        several = [rows for rows in bundles.values() if len(rows) > 1]
        self.assertGreater(len(several), 3)
        for epoch in epochs_of(dataset):
            blocks = [block["sequence"][:int(block["num_sequences"])].tolist() for block in epoch]
            for rows in several:
                block = next(block for block in blocks if rows[0] in block)
                self.assertEqual(block[block.index(rows[0]):][:len(rows)], rows)
        orders = {tuple(block["sequence"].tolist()) for epoch in range(1, 4) for block in dataset.epoch(epoch, window=len(dataset))}
        self.assertGreater(len(orders), len(dataset))

    def test_known(self):
        """Windows are drawn the same for ever: an epoch that was begun can be gone on with."""
        from bload._core.epochs import hash_numbers
        self.assertEqual(hash_numbers(np.arange(3), 7, 1).tolist(), KNOWN)
        self.assertEqual(hash_numbers(np.array([-1]), -3).tolist(), [splitmix(splitmix(-3) - 1)])

    def test_neighbours(self):
        """What neighbouring seeds and epochs draw is not the same, moved by a few places: they have nothing in common."""
        from bload._core.epochs import hash_numbers
        from bload._core.sampler import order
        n, drawn, orders = 300, [], []
        for seed in range(-1, 4):
            for epoch in range(4):
                drawn += hash_numbers(np.arange(n), seed, epoch).tolist()
                orders.append(np.argsort(order(n, seed, epoch)))  # the place of each block
        self.assertEqual(len(set(drawn)), len(drawn))
        for k, places in enumerate(orders):
            for other in orders[:k]:
                for moved in range(-3, 4):
                    self.assertLess(abs(np.corrcoef(places, np.roll(other, moved))[0, 1]), 0.3)

    def test_compressed(self):
        """That sequences cost whole blocks is said once, and not where they do not."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for way in "frames", "compressed":
                epoch = bload.open(self.planned(way)).epoch(1)
                epoch[0], epoch[1]
        self.assertEqual(len(said), 1)
        self.assertIn("compressed is compressed: for every sequence of a block, bload decompresses", str(said[0].message))
        self.assertEqual(said[0].filename.rpartition("/")[2], "test_epochs.py")

    def test_disagree(self):
        """A plan that is not of what is stored."""
        path = self.path("disagree")
        shutil.copytree(self.planned("plain"), path)
        other = bload.open(self.planned("groups"))
        mine = os.path.join(path, "plans/epoch-00001.safetensors")
        self.assertNotEqual(len(other), len(bload.open(path)))
        shutil.copy(os.path.join(other.path, "plans/epoch-00001.safetensors"), mine)
        self.assertRaisesRegex(bload.DamagedError, "plans/epoch-00001.safetensors: ", bload.open(path).epoch, 1)
        os.remove(mine)
        self.assertRaisesRegex(bload.MissingError, "plans/epoch-00001.safetensors: ", bload.open(path).epoch, 1)


def splitmix(value):
    """SplitMix64, in Python's own integers."""
    value = (value + 1) * 0x9E3779B97F4A7C15 % (1 << 64)
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % (1 << 64)
    value = (value ^ value >> 27) * 0x94D049BB133111EB % (1 << 64)
    return value ^ value >> 31


KNOWN = [splitmix(n + splitmix(splitmix(7) + 1)) for n in range(3)]
