"""Fields that have steps of their own: blocks, epochs, windows and sequences, against what was drawn."""
import json
import os
import pickle

import numpy as np
from PIL import Image

import bload
import tool
from harness import each
from own import FIELDS, OwnTruth, own_entries, with_own
from sample import SHARDS, Sample, same, write_manifest
from views import ViewTruth, write_view

YAML = """sources: [arrays]
kind: array
T: 64
attributes: words.csv
fields:
  - name: text
    kind: text
    column: words
    tokenizer: bytes
    steps: own
    capacity: auto
  - name: patches
    path: 'patches/{stem}.npy'
    kind: array
    steps: own
    capacity: auto
"""
PICTURES = """sources: [interleaved.jsonl]
tokenizer: bytes
T: 30
fields:
  - name: images
    kind: images
    key: images
    size: 8x6
    steps: own
    capacity: auto
    storage: {}
"""
EXTRA = dict(segment_ids=True, position_ids=True, mask=True)
WAYS = ("shards", "compressed", "frames", "split", "store", "aligned", "groups", "empty", "joined", "repeat", "jpeg", "delta", "attributes", "failed",
        "failed-plain")


class Own(Sample):
    documents, arrays, pictures = 60, 12, 6

    def own(self, way):
        """A dataset with epochs and own fields, and what it must give."""
        path = self.packed(way)
        if way != "store" and not os.path.exists(os.path.join(path, "plans")):
            self.bload("plan", "-q", "--dataset", path, "--epochs", 2)
        out = with_own(path, self.path("own-" + way))
        return out, OwnTruth(out)


class Blocks(Own):
    @each(WAYS)
    def test_blocks(self, way):
        """Every array of every block, padded and not, checked and not, read-only and writable, by the whole dataset and by a half of it."""
        path, truth = self.own(way)
        for options in {}, {"verify": True}, {"writable": True}, {"verify": True, "writable": True}, {"resident": 0}:
            dataset = bload.open(path, **options, **EXTRA)
            for i, block in enumerate(dataset):
                same(self, block, truth.block(i))
                if "writable" in options:
                    for name in FIELDS:
                        block[name][...] = 1
            same(self, dataset[0], truth.block(0))
        dataset = bload.open(path, pad=False, **EXTRA)
        for i, block in enumerate(dataset):
            same(self, block, self.unpadded(truth, truth.block(i), i))

    def unpadded(self, truth, block, i):
        pieces = [(row, first) for row, _, _, first in truth.d.pieces(i)]
        return {**block, **own_entries(FIELDS, truth.steps, truth.capacity, pieces, truth.d.manifest["S"], pad=False)}

    @each(("shards", "frames"))
    def test_selected(self, way):
        """Of the fields that are left out there are neither steps nor tables."""
        path, truth = self.own(way)
        other = next(name for name in bload.open(path).fields if name not in FIELDS)
        for fields in ("patches",), ("marks", other), (other,), ("nothing", "transcript"):
            for verify in False, True:
                dataset = bload.open(path, verify=verify, fields=fields)
                epoch = dataset.epoch(1)
                out = {name for name in (*FIELDS, other) if name not in fields}
                for i in 0, len(dataset) - 1:
                    expected = {name: value for name, value in truth.block(i).items() if name.removesuffix("_cu_seqlens") not in out}
                    same(self, dataset[i], {name: value for name, value in expected.items() if name not in EXTRA})
                    self.assertEqual(set(epoch[i]), set(dataset[i]))
                self.assertEqual(set(dataset.sequence(0)), set(fields))

    @each(WAYS)
    def test_sequences(self, way):
        """The own steps of a sequence are whole, by id and row."""
        path, truth = self.own(way)
        for verify in False, True:
            dataset = bload.open(path, verify=verify)
            for row, told in enumerate(truth.d.sequences):
                if told["status"] != "ok":
                    self.assertRaises(bload.SequenceError, dataset.sequence, row)
                    continue
                given = dataset.sequence(told["id"])
                same(self, {name: given[name] for name in FIELDS}, {name: truth.steps[name][row] for name in FIELDS})
                for name in dataset.fields.keys() - FIELDS:
                    self.assertEqual(given[name].tobytes(), truth.sequence(told["id"], name).tobytes())

    def test_shown(self):
        """What tells of a dataset tells of its own fields; it can be pickled, and verified."""
        dataset = bload.open(self.own("shards")[0], pad=False)
        capacity = dataset.fields["patches"].capacity
        self.assertIn(f"patches F32 [2, 3] up to {capacity} own steps", repr(dataset))
        self.assertIn(f"own, up to {capacity}", dataset._repr_html_())
        self.assertEqual([(field.own, field.capacity, field.storage) for field in (dataset.fields["tokens"], dataset.fields["patches"])],
                         [(False, dataset.T, "padded"), (True, capacity, "flat")])
        copy = pickle.loads(pickle.dumps(dataset))
        same(self, copy[1], dataset[1])
        same(self, pickle.loads(pickle.dumps(dataset.epoch(1)))[1], dataset.epoch(1)[1])
        dataset.verify()
        dataset.verify([0, -1])
        self.assertRaises(TypeError, bload.open, dataset.path, pad=1)


class Tool(Own):
    """What the tool makes of such fields."""

    @each((("plain",), ("compressed", "--compress", "zstd", "--frame-size", "4K"), ("store", "--store")))
    def test_packed(self, name, *options):
        """Own texts and arrays that the tool packs are those of the sources: in blocks, epochs, windows, sequences, and a view."""
        sources, path, view = self.sources(), self.path("own-" + name), self.path("view-" + name)
        self.bload("pack", "-q", "-c", "own.yaml", *SHARDS, *options, "-o", path, cwd=self.directory)
        if "--store" not in options:
            self.bload("plan", "-q", "--dataset", path, "--epochs", 1)
        other = self.pack("without", "arrays", "--kind", "array", "-T", 70, cwd=self.directory)
        self.bload("view", "-q", path, other, "-T", 100, "--epochs", 2, "-o", view)
        sources.update({f"without/{one}": dict.fromkeys(own, []) for one, own in sources.items()})
        sources.update({f"own-{name}/{one}": own for one, own in sources.items() if "/" not in one})
        for where in path, view:
            for pad in True, False:
                dataset = bload.open(where, verify=pad, pad=pad)
                for epoch in (*map(dataset.epoch, dataset.epochs), dataset.epoch(1, window=3)):
                    for block in epoch:
                        for k, one in enumerate(block["ids"][:int(block["num_sequences"])]):
                            first = "source_start" in block and block["source_start"][k] > 0
                            for field, steps in sources[one].items():
                                cu = block[f"{field}_cu_seqlens"]
                                self.assertEqual(block[field][cu[k]:cu[k + 1]].tolist(), [] if first else steps)
                for one in dataset.sequences["id"]:
                    found = dataset.sequence(one)
                    self.assertEqual({field: found[field].tolist() for field in sources[one]}, sources[one])
                dataset.verify()

    def sources(self):
        """Writes own steps for the arrays, once; gives them by id and field."""
        random, out, texts = np.random.default_rng(4), {}, ["id,words"]
        os.makedirs(self.path("patches"), exist_ok=True)
        for i in range(self.arrays):
            patches = random.integers(0, 99, (int(random.integers(0, 9)), 6, 5)).astype("f4")
            np.save(self.path("patches", f"{i}.npy"), patches)
            words = "ab " * int(random.integers(0, 5))
            texts.append(f"{i},{words}x" if i else f"{i},")
            out[f"{i}.npy"] = {"text": list(f"{words}x".encode()) if i else [], "patches": patches.tolist()}
        tool.write(self.path("words.csv"), "\n".join(texts) + "\n")
        tool.write(self.path("own.yaml"), YAML)
        return out


class Pictures(Own):
    """Pictures that rows name: in blocks, epochs, windows, sequences, views and batches they are those that were drawn."""

    def packed_pictures(self, storage):
        """A dataset of texts with pictures, and the pictures of each by its id."""
        random, lines, sources, offset = np.random.default_rng(8), [], {}, 0
        os.makedirs(self.path("drawn"), exist_ok=True)
        drawn = [random.integers(0, 256, (6, 8, 3), np.uint8) for _ in range(7)]
        for i, picture in enumerate(drawn):
            Image.fromarray(picture).save(self.path("drawn", f"{i}.png"))
        for i in range(24):
            chosen = random.integers(0, 7, random.integers(0, 4)).tolist()
            line = json.dumps({"text": "x" * (1 + i % 9), "images": [f"drawn/{k}.png" for k in chosen]})
            lines.append(line + "\n")
            sources[f"interleaved.jsonl#{offset}"] = np.stack([drawn[k] for k in chosen]) if chosen else np.zeros((0, 6, 8, 3), np.uint8)
            offset += len(line) + 1
        tool.write(self.path("interleaved.jsonl"), "".join(lines))
        tool.write(self.path("pictures.yaml"), PICTURES.format(storage))
        out = self.path("pictures-" + storage)
        self.bload("pack", "-q", "-c", "pictures.yaml", *SHARDS, "-o", out, cwd=self.directory)
        self.bload("plan", "-q", "--dataset", out, "--epochs", 1)
        return out, sources

    @each((("padded",), ("flat",)))
    def test_read(self, storage):
        path, sources = self.packed_pictures(storage)
        view = self.path("view-pictures-" + storage)
        self.bload("view", "-q", path, "-T", 40, "-o", view)
        sources.update({f"{os.path.basename(path)}/{name}": value for name, value in list(sources.items())})
        for where in path, view:
            for pad in True, False:
                dataset = bload.open(where, verify=pad, pad=pad)
                field = dataset.fields["images"]
                self.assertEqual((field.own, field.shape), (True, (6, 8, 3)))
                seen = 0
                for epoch in (*map(dataset.epoch, dataset.epochs), dataset.epoch(0, window=2)):
                    for block in epoch:
                        cu = block["images_cu_seqlens"]
                        for k, one in enumerate(block["ids"][:int(block["num_sequences"])]):
                            same(self, {"images": block["images"][cu[k]:cu[k + 1]]}, {"images": sources[one]})
                            seen += len(sources[one])
                self.assertGreater(seen, 20)
                for one in dataset.sequences["id"]:
                    same(self, {"images": dataset.sequence(one)["images"]}, {"images": sources[one]})
                dataset.verify()


class Epochs(Own):
    @each(way for way in WAYS if way != "store")
    def test_composed(self, way):
        """Planned epochs and windows: each piece has the own steps of its sequence, padded and not, checked and not."""
        path, truth = self.own(way)
        for options in {}, {"verify": True}, {"pad": False}, {"resident": 0}:
            dataset = bload.open(path, **options)
            for epoch in dataset.epoch(1), dataset.epoch(2), dataset.epoch(1, window=3), dataset.epoch(2, window=len(dataset) + 3, seed=1):
                rows = []
                for block in epoch:
                    rows += self.check_block(truth, dataset, block, options.get("pad", True))
                self.assertEqual(sorted(rows), sorted(row for block in dataset for row in self.rows_of(block)))

    def check_block(self, truth, dataset, block, pad):
        """Compares the own fields of a block; gives the rows whose own steps it has."""
        count = int(block["num_sequences"])
        rows = block["sequence"][:count].tolist()
        pieces = list(zip(rows, block.get("source_start", np.zeros(len(rows), int)).tolist()))
        for name, (_, _, _, value, _) in FIELDS.items():
            cu, array = block[f"{name}_cu_seqlens"], block[name]
            for k, (row, first) in enumerate(pieces):
                if row >= 0:
                    expected = truth.steps[name][row] if first == 0 else truth.steps[name][row][:0]
                    self.assertEqual(array[cu[k]:cu[k + 1]].tobytes(), expected.tobytes())
                else:  # a sequence that failed keeps its place
                    self.assertFalse(array[cu[k]:cu[k + 1]].any())
            self.assertTrue((array[cu[count]:] == value).all() and (cu[count:] == cu[count]).all())
            self.assertEqual(len(array), truth.capacity[name] if pad else cu[-1])
        return self.rows_of(block)

    @staticmethod
    def rows_of(block):
        """The rows whose first piece, with the own steps, is in a block."""
        first = block.get("source_start", np.zeros_like(block["sequence"]))
        return block["sequence"][(block["sequence"] >= 0) & (first == 0)].tolist()


# name: the datasets, which of them have own fields, and T and align of the view.
VIEWS = {"text": (("compressed", "plain"), (True, True), 80, 1), "some": (("plain", "frames"), (True, False), 70, 1),
         "last": (("failed", "failed-plain"), (False, True), 64, 1), "joined": (("joined", "repeat-4"), (True, True), 40, 4),
         "pieces": (("split", "store"), (True, True), 24, 1)}


class Views(Own):
    def view(self, name):
        """A view of the datasets, and what it must give."""
        ways, has, T, align = VIEWS[name]
        out, sources, own = self.path("view-" + name), {}, []
        for k, (way, with_fields) in enumerate(zip(ways, has)):
            if way == "repeat-4":
                self.packed("joined", "--seed", "5", name=way)
            path, fields = self.path("packed-" + way) if way == "repeat-4" else self.packed(way), {name: FIELDS[name] for name in list(FIELDS)[k:]}
            sources[f"store {k}"] = with_own(path, self.path(f"own-{k}-{way}"), fields, k) if with_fields else path
            own.append(OwnTruth(sources[f"store {k}"], fields, k).steps if with_fields else {})
        if not os.path.exists(out):
            write_view(out, sources, T, align, own=own)
        return out, ViewTruth(out, own)

    @each(VIEWS)
    def test_blocks(self, name):
        """Every array of every block, in every epoch; sources without a field have no steps of it."""
        path, truth = self.view(name)
        for options in {}, {"verify": True}:
            view = bload.open(path, **options, **EXTRA)
            for number in view.epochs:
                for block, expected in zip(view.epoch(number), truth.blocks(number), strict=True):
                    same(self, block, expected)
            for row, told in enumerate(view.sequences):
                if told["status"] == "ok":
                    given = view.sequence(row)
                    for field, steps in truth.own.items():
                        self.assertEqual(given[field].tobytes(), np.array(steps[row], given[field].dtype).tobytes())
        pad = bload.open(path, pad=False)
        for block, whole in zip(pad, truth.blocks(0)):
            for field in truth.own:
                self.assertEqual(block[field].tobytes(), whole[field][:whole[f"{field}_cu_seqlens"][-1]].tobytes())
        view.verify()

    def test_selected(self):
        """Fields that a source lacks can be read alone, and left out."""
        path, truth = self.view("some")
        expected = list(truth.blocks(0))
        for fields in ("patches",), ("tokens",), ("nothing", "marks"):
            view = bload.open(path, fields=fields, verify=True, ids=False)
            for block, whole in zip(view, expected, strict=True):
                self.assertEqual({name for name in block if name in FIELDS or name == "tokens"}, set(fields))
                same(self, block, {name: whole[name] for name in block})
            for block, windowed in zip(view, view.epoch(1, window=len(view))):
                self.assertEqual(set(block), set(windowed))

    def test_differing(self):
        """A field that is another one in a source, or has its own steps in one only, is refused."""
        path, _ = self.view("some")
        name = os.path.join(path, "manifest.json")
        with open(name) as file:
            manifest = json.load(file)
        for change in {"shape": [3, 2]}, {"dtype": "F64"}, {"steps": None}:
            fields = [{key: value for key, value in {**field, **change}.items() if value is not None} if field["name"] == "patches" else field
                      for field in manifest["fields"]]
            write_manifest(name, {**manifest, "fields": fields})
            self.assertRaisesRegex(bload.DamagedError, "patches", bload.open, path)
        write_manifest(name, manifest)
