"""Damaged datasets: only the package's own errors, each naming a file; and with verify no altered byte goes unnoticed."""
import json
import os
import shutil
import stat
import struct
import unittest.mock
import warnings

import numpy as np
from safetensors.numpy import load_file

import bload
import tool
from bload._core import checksum
from harness import each
from own import FIELDS, OwnTruth, with_own
from sample import Sample, reseal, write_manifest
from views import write_view

OWN = "own-shards", "own-compressed", "view-own"  # with fields that have steps of their own
WAYS = "shards", "compressed", "cp", "joined", "groups", "jpeg", "delta", "attributes", "view-rows", "view-pieces", *OWN

# The sources of views, and T.
VIEWS = {"view-rows": (("attributes", "attributes-zstd"), 64), "view-pieces": (("split", "compressed"), 24),
         "view-own": (("own-compressed", "plain"), 64)}
FIELDS = {name: FIELDS[name] for name in ("transcript", "patches")}
TABLES = "index.safetensors", "epoch-00001.safetensors", "rows.safetensors"
FLIPS = 15
EXTREMES = (-1, 0, 99, (1 << 31) - 1, 1 << 62, -(1 << 63))


def read_all(path, verify=False):
    """Reads a dataset by every way that there is. Sequences that are not there are no fault of it."""
    dataset = bload.open(path, verify, segment_ids=True, position_ids=True, mask=True)
    for epoch in dataset, *map(dataset.epoch, dataset.epochs[1:]), dataset.epoch(1, window=3):
        for block in epoch:
            for value in block.values():
                np.asarray(value).tobytes()
    for row in range(len(dataset.sequences)):
        try:
            dataset.sequence(dataset.sequences.id(row))
        except bload.SequenceError:
            pass
    return [dataset.sequences[column] for column in dataset.sequences.columns]


class Faults(Sample):
    documents, arrays, pictures = 24, 10, 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        warnings.filterwarnings("error", category=RuntimeWarning)

    def broken(self, way):
        """A copy that may be broken, which has plans; and its files. A view has its sources beside it; some of their files are among them."""
        if way in VIEWS:
            return self.broken_view(way)
        path = self.source(way)
        copy = self.path("broken")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(path, copy)
        return copy, [os.path.join(copy, name) for name in tool.files_of(copy)]

    def source(self, way):
        """A dataset with a plan."""
        path = self.packed(way.removeprefix("own-"))
        if way != "store" and not os.path.exists(os.path.join(path, "plans")):
            self.bload("plan", "-q", "--dataset", path, "--epochs", 1)
        return with_own(path, self.path(way), FIELDS) if way.startswith("own-") else path

    def broken_view(self, way):
        whole, (sources, T) = self.path(way), VIEWS[way]
        if not os.path.exists(whole):
            for name in sources:
                path = self.packed("attributes", "--compress", "zstd", name=name) if name == "attributes-zstd" else self.source(name)
                shutil.copytree(path, os.path.join(whole, name))
            paths = {name: os.path.join(whole, name) for name in sources}
            own = [OwnTruth(path, FIELDS).steps if name.startswith("own-") else {} for name, path in paths.items()]
            write_view(os.path.join(whole, "view"), paths, T, epochs=1, own=own if any(own) else None)
        copy = self.path("broken")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(whole, copy)
        files = [name for name in tool.files_of(copy) if name.startswith("view/") or name.endswith(("manifest.json", "/index.safetensors"))]
        return os.path.join(copy, "view"), [os.path.join(copy, name) for name in files]

    def attempt(self, what, path, verify=False):
        """Reading ends well or with an error of the package that names a file of the dataset; tells which error."""
        try:
            read_all(path, verify)
        except bload.Error as error:
            self.assertTrue((error.path or "").startswith(self.path("broken")), f"{what}: {error!r} {error.path}")
            self.assertTrue(str(error).startswith(f"{error.path}: "), what)
            return error
        except Exception as error:
            raise AssertionError(what) from error
        return None

    @each(WAYS)
    def test_sound(self, way):
        self.assertIsNone(self.attempt("sound", self.broken(way)[0], verify=True))

    @each(WAYS)
    def test_missing(self, way):
        """Every file is missed by name."""
        path, files = self.broken(way)
        for file in files:
            os.rename(file, file + "~")
            error = self.attempt(file, path, verify=True)
            self.assertIsInstance(error, bload.MissingError)
            self.assertEqual(error.path, os.path.dirname(file) if file.endswith("manifest.json") else file)
            os.rename(file + "~", file)

    @each(WAYS)
    def test_cut(self, way):
        """Files that end too early, or go on."""
        path, files = self.broken(way)
        for file in files:
            data = tool.read(file)
            for size in sorted({0, 1, 7, 8, 9, 100, len(data) // 2, len(data) - 9, len(data) - 1, len(data) + 1}):
                tool.write(file, (data + b"\0")[:size])
                for verify in True, False:
                    error = self.attempt(f"{file} cut to {size}", path, verify)
                    if verify or not file.endswith("shards.tsv"):
                        self.assertIsInstance(error, bload.DamagedError, f"{file} of {size} bytes")
                        self.assertEqual(error.path, file)
            tool.write(file, data)

    @each(WAYS)
    def test_flipped(self, way):
        """With verify every altered byte is found; without it, and without xxhash, nothing worse than wrong data happens."""
        path, files = self.broken(way)
        files = [file for file in files if "shards/" not in file or file.endswith(("0000.safetensors", "0000.safetensors.zst"))]
        random = np.random.default_rng(3)
        for file in files:
            size = os.path.getsize(file)
            header = {8 + i for i in range(0, min(size, 900), 75)} | {0, 1, 7, size - 1, size - 5, size - 9, size - 14}
            for at in sorted(at for at in header | set(random.integers(0, size, FLIPS).tolist()) if 0 <= at < size):
                mask = int(random.integers(1, 256))
                flip(file, at, mask)
                what = f"byte {at} of {size} of {file} ^ {mask}"
                error = self.attempt(what, path, verify=True)
                self.assertIsInstance(error, (bload.DamagedError, bload.FormatError), what)
                with self.assertRaises((bload.DamagedError, bload.FormatError), msg=what):
                    bload.open(path).verify()
                with unittest.mock.patch.object(checksum, "available", lambda: False):
                    self.attempt(what, path)
                flip(file, at, mask)

    @each(("joined", "view-pieces", "own-shards", "view-own"))
    def test_manifest(self, way):
        """Each word of the manifest replaced by what cannot be there, or taken away, under a right checksum."""
        path, _ = self.broken(way)
        name = os.path.join(path, "manifest.json")
        manifest = json.loads(tool.read(name))
        manifest["configuration"] = {"group-by": "url", "pad": "zero"}
        manifest["fields"][0]["pad"] = 3
        manifest["fields"] = manifest["fields"][:3]
        for change in changes(manifest):
            write_manifest(name, change)
            self.attempt(str(change)[:2000], path)

    @each(WAYS)
    def test_tables(self, way):
        """Each table of index and plan with numbers that cannot be."""
        path, files = self.broken(way)
        for file in (file for file in files if file.startswith(path + "/") and file.endswith(TABLES)):
            for name, entry, data in tensors(file):
                kind = {"I64": "<q", "I32": "<i", "F64": "<q"}[entry["dtype"]]
                width = struct.calcsize(kind)
                begin, end = entry["data_offsets"]
                for at in {begin, begin + (end - begin) // width // 2 * width, end - width}:
                    for value in EXTREMES:
                        number = (value + (1 << 8 * width - 1)) % (1 << 8 * width) - (1 << 8 * width - 1)
                        with patched(file, data + at, struct.pack(kind, number)):
                            self.attempt(f"{file} {name} at {at}: {number}", path)

    @each(VIEWS)
    def test_elsewhere(self, way):
        """A place that is wrong by a little, but within the source, is noticed."""
        path, _ = self.broken(way)
        file = os.path.join(path, "rows.safetensors")
        tables = load_file(file)
        for name, told, data in tensors(file):
            if name not in ("block", "start", "length", "source_start", "row_ptr", "own.patches.length", "own.patches.start"):
                continue
            kind = {"I64": "<q", "I32": "<i"}[told["dtype"]]
            for n in range(0, len(tables[name]), 7):
                for other in tables[name][n] - 1, tables[name][n] + 1:
                    with patched(file, data + told["data_offsets"][0] + n * struct.calcsize(kind), struct.pack(kind, other)):
                        error = self.attempt(name, path)
                    entry = min(other, tables[name][n]) if name == "row_ptr" else n
                    counted = tables["own.patches.length" if name == "own.patches.start" else "length"]  # without steps the place does not matter
                    if entry < 0 or entry == len(counted) or counted[entry] > 0:
                        self.assertIsInstance(error, bload.DamagedError, f"{name}[{n}]: {other}")

    @each(OWN)
    def test_own_tables(self, way):
        """Numbers of own steps that cannot be, or are wrong by a little, in index, plans, rows and shards: an error, or the block that is right."""
        path, files = self.broken(way)
        sound = {number: blocks_of(path, number) for number in (0, 1)}
        random, refused = np.random.default_rng(5), 0
        for file in sorted(file for file in files if file.endswith(".safetensors")):
            for name, entry, data in tensors(file):
                if not name.endswith((".length", ".start", "_cu_seqlens", "_offsets")) or name == "cu_seqlens":
                    continue
                kind = {"I64": "<q", "I32": "<i"}[entry["dtype"]]
                begin, end = entry["data_offsets"]
                count = (end - begin) // struct.calcsize(kind)
                for n in {0, count - 1, *random.integers(0, count, 2).tolist()}:
                    at = data + begin + n * struct.calcsize(kind)
                    with open(file, "rb") as opened:
                        opened.seek(at)
                        old, = struct.unpack(kind, opened.read(struct.calcsize(kind)))
                    for value in {old - 1, old + 1, -1, 1 << 30, *((1 << 62, -(1 << 63)) if kind == "<q" else (-(1 << 31),))} - {old}:
                        with patched(file, at, struct.pack(kind, value)):
                            if "/shards/" not in file and file.startswith(path + "/"):
                                reseal(path)  # else the checksum of a plan tells
                            refused += self.compare(f"{file} {name}[{n}]: {value}", path, sound)
        self.assertGreater(refused, 100)
        reseal(path)
        self.assertIsNone(self.attempt("as it was", path))

    def compare(self, what, path, sound):
        """Each block is what it was, or cannot be read; gives how many cannot."""
        refused = 0
        for number, expected in sound.items():
            for pad in True, False:
                try:
                    dataset = bload.open(path, pad=pad)
                    epoch = dataset.epoch(number)
                except bload.Error:
                    refused += 1
                    continue
                for i, block in enumerate(expected):
                    try:
                        found = epoch[i]
                    except bload.DamagedError:
                        refused += 1
                        continue
                    except Exception as error:
                        raise AssertionError(f"{what}: block {i} of epoch {number}") from error
                    for name, value in block.items():
                        value = value[:block[f"{name}_cu_seqlens"][-1]] if name in FIELDS and not pad else value
                        self.assertEqual(np.asarray(found[name]).tobytes(), value.tobytes(), (what, number, i, name))
        self.attempt(what, path)
        return refused

    @each(("joined", "shards", "view-rows", "own-shards", "view-own"))
    def test_headers(self, way):
        """Each word of a plain file's header replaced by what cannot be there."""
        path, files = self.broken(way)
        for file in (file for file in files if file.endswith(("index.safetensors", "0000.safetensors", "rows.safetensors"))):
            data = tool.read(file)
            size = struct.unpack("<Q", data[:8])[0]
            for change in changes(json.loads(data[8:8 + size])):
                text = json.dumps(change).encode()
                tool.write(file, struct.pack("<Q", max(size, len(text))) + text.ljust(size) + data[8 + size:])
                self.attempt(f"{file}: {text[:2000]}", path)
            tool.write(file, data)

    # --- faults that one can foresee ---

    def test_newer(self):
        path, _ = self.broken("shards")
        name = os.path.join(path, "manifest.json")
        manifest = json.loads(tool.read(name))
        write_manifest(name, {**manifest, "format": 7})
        self.assertRaisesRegex(bload.FormatError, "manifest.json: format version 7, but this reader knows versions 1 to 6: update bload",
                               bload.open, path)
        write_manifest(name, {**manifest, "compress": "lz4:1"})
        self.assertRaisesRegex(bload.FormatError, "manifest.json: \"compress\" is 'lz4:1'", bload.open, path)
        tool.write(name, json.dumps({**manifest, "seed": 1}))
        self.assertRaisesRegex(bload.DamagedError, "manifest.json: wrong checksum: the file is damaged or was edited", bload.open, path)

    def test_not_regular(self):
        """A pipe that nobody writes to, a socket, a device, a folder in the place of a file: refused at once, by everything that opens files."""
        path, _ = self.broken("shards")
        for name in ("manifest.json", "index.safetensors", "sequences.tsv", "shards.tsv", "plans/epoch-00001.safetensors",
                     "shards/00000/shard-00000000.safetensors"):
            file = os.path.join(path, name)
            os.rename(file, file + ".away")
            for make in (os.mkfifo, os.mkdir, lambda file: os.mknod(file, stat.S_IFSOCK | 0o600), lambda file: os.symlink("/dev/zero", file)):
                make(file)
                for verify in False, True:
                    if verify or name != "shards.tsv":
                        self.assertRaisesRegex(bload.Error, "is not a regular file|cannot be read", read_all, path, verify)
                (os.rmdir if os.path.isdir(file) and not os.path.islink(file) else os.unlink)(file)
            os.rename(file + ".away", file)
        read_all(path)

    def test_long_numbers(self):
        """Numbers of thousands of digits, which Python refuses to convert, and infinite ones."""
        path, files = self.broken("groups")
        name, digits = os.path.join(path, "manifest.json"), "9" * 5000
        manifest = json.loads(tool.read(name))
        for member in "format", "T", "blocks", "checksum":
            tool.write(name, json.dumps({**manifest, member: 0}).replace(f'"{member}": 0', f'"{member}": {digits}'))
            self.assertRaises(bload.DamagedError, bload.open, path)
        for member in "align", "max-column", "group-by":
            for value in digits, [digits], [[[]]] * 9, int(digits[:4000]), True, 1e400, "\u0663":
                write_manifest(name, {**manifest, "configuration": {**manifest["configuration"], member: value}})
                self.attempt(f"{member} {value!r:.20}", path)
        write_manifest(name, manifest)
        table = os.path.join(path, "shards.tsv")
        text = tool.text(table)
        row = text.split("\n")[1].split("\t")
        for value in digits, "-1", "1_0", "\u0663", "":
            tool.write(table, text.replace("\t".join(row), "\t".join([*row[:3], value, row[4]])))
            reseal(path)
            self.assertRaisesRegex(bload.DamagedError, "shards.tsv: line 2 does not match shard 0", bload.open, path, verify=True)

    def test_terminal(self):
        """What a terminal would obey is shown as digits, whatever file it is from; lines stay lines."""
        self.assertEqual(str(bload.DamagedError("a\x1b[2J\x9b\x07\nb\tc", "d\r")), "d\\x0d: a\\x1b[2J\\x9b\\x07\nb\tc")
        path, _ = self.broken("shards")
        name = os.path.join(path, "manifest.json")
        manifest = json.loads(tool.read(name))
        write_manifest(name, {**manifest, "compress": "\x1b[31m"})
        self.assertRaisesRegex(bload.FormatError, r"x1b\[31m", bload.open, path)
        write_manifest(name, {**manifest, "fields": [{**manifest["fields"][0], "dtype": "\x1b[31m"}]})
        self.assertRaisesRegex(bload.FormatError, r"type .x1b\[31m", bload.open, path)

    def test_picture_shape(self):
        """The files of JPEG are one row of bytes: a header that says otherwise is refused when the shard is opened."""
        path, files = self.broken("jpeg")
        shard = next(file for file in files if "shards/" in file)
        data = tool.read(shard)
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + size])
        count = header["frames_jpeg"]["shape"][0]
        for shape in [], [1, count], [count, 1], [count] + [1] * 30:
            header["frames_jpeg"]["shape"] = shape
            if not shape:
                header["frames_jpeg"].update(data_offsets=[header["frames_jpeg"]["data_offsets"][0]] * 2)
            text = json.dumps(header).encode()
            tool.write(shard, struct.pack("<Q", len(text)) + text + data[8 + size:])
            for read in lambda: bload.open(path)[0], lambda: bload.open(path).verify(), lambda: bload.open(path, decode=False)[0]:
                self.assertRaises(bload.DamagedError, read)

    def test_absent(self):
        self.assertRaisesRegex(bload.MissingError, "/nowhere: no such dataset", bload.open, self.path("nowhere"))
        self.assertRaisesRegex(bload.MissingError, "not a finished dataset: it has no manifest.json", bload.open, self.directory)

    def test_rows(self):
        """A block, or a plan, that names a row which the table does not have."""
        path, _ = self.broken("groups")
        rows = len(bload.open(path).sequences)
        index = os.path.join(path, "index.safetensors")
        shard = os.path.join(path, "shards/00000/shard-00000000.safetensors")
        for file in index, shard:
            for name, entry, data in tensors(file):
                if name == "sequence":
                    with open(file, "r+b") as opened:
                        opened.seek(data + entry["data_offsets"][0])
                        opened.write(struct.pack("<q", rows))
        dataset = bload.open(path)
        with self.assertRaisesRegex(bload.DamagedError, f"sequences.tsv: it has {rows} rows, but a block refers to row"):
            dataset[0]
        with self.assertRaisesRegex(bload.DamagedError, f"sequences.tsv: it has {rows} rows, but a block refers to row"):
            dataset.epoch(1, window=2)[0]

    def test_disagree(self):
        """A shard of another dataset, and tables that another index would make."""
        path, files = self.broken("joined")
        other = self.pack("other", *("-c", "joined.yaml", "-T", "48", "--oversize", "split", "--seed", "8"), cwd=self.directory)
        shard = next(file for file in files if "shards/" in file)
        shutil.copy(shard, shard + "~")
        shutil.copy(os.path.join(other, os.path.relpath(shard, path)), shard)
        with self.assertRaisesRegex(bload.DamagedError, "shard-00000000.safetensors: its plan_digest is .*, expected "):
            bload.open(path)[0]
        os.replace(shard + "~", shard)
        entry, data = next((entry, data) for name, entry, data in tensors(shard) if name == "cu_seqlens")
        with patched(shard, data + entry["data_offsets"][0], struct.pack("<i", 1)):
            with self.assertRaisesRegex(bload.DamagedError, "the tables of block 0 differ from index.safetensors"):
                bload.open(path)[0]

    def test_altered(self):
        """Only verify finds what is wrong in a field; the block that is sound is given."""
        path, files = self.broken("joined")
        shard = next(file for file in files if "shards/" in file)
        entry, data = next((entry, data) for name, entry, data in tensors(shard) if name == "sound")
        begin, end = entry["data_offsets"]
        flip(shard, data + end - 1, 1)
        dataset = bload.open(path, verify=True)
        with self.assertRaisesRegex(bload.DamagedError, f"block {len(dataset) - 1} of sound: wrong checksum"):
            dataset[-1]
        self.assertEqual(dataset[0]["sound"].tobytes(), bload.open(self.packed("joined"))[0]["sound"].tobytes())
        self.assertEqual(len(bload.open(path, verify=True, fields=["poses"])[-1]["poses"]), dataset.T)
        self.assertEqual(len(bload.open(path)[-1]["sound"]), dataset.T)

    def test_dependencies(self):
        """What is not installed is named, with the way to get it."""
        with unittest.mock.patch("bload._core.seekable.zstandard", None):
            dataset = bload.open(self.packed("compressed"))
            self.assertRaisesRegex(bload.DependencyError, "compressed: pip install zstandard", dataset.__getitem__, 0)
        with unittest.mock.patch("bload._core.checksum.xxhash", None):
            self.assertRaisesRegex(bload.DependencyError, "pip install xxhash", bload.open, self.packed("shards"), verify=True)
            self.assertEqual(len(bload.open(self.packed("shards"))[0]["tokens"]), 64)


def flip(file, at, mask):
    with open(file, "r+b") as opened:
        opened.seek(at)
        byte = opened.read(1)[0]
        opened.seek(at)
        opened.write(bytes([byte ^ mask]))


def blocks_of(path, number):
    """The blocks of an epoch, each with arrays of its own."""
    return [{name: np.array(value) for name, value in block.items()} for block in bload.open(path).epoch(number)]


class patched:
    """A file with other bytes at a place, for a while."""

    def __init__(self, file, at, data):
        self.file, self.at, self.data = file, at, data

    def swap(self):
        with open(self.file, "r+b") as opened:
            opened.seek(self.at)
            old = opened.read(len(self.data))
            opened.seek(self.at)
            opened.write(self.data)
        self.data = old

    def __enter__(self):
        self.swap()

    def __exit__(self, *_):
        self.swap()


def tensors(file):
    """(name, entry of the header, where the data begins) of each tensor."""
    with open(file, "rb") as opened:
        size = struct.unpack("<Q", opened.read(8))[0]
        header = json.loads(opened.read(size))
    return [(name, entry, 8 + size) for name, entry in header.items() if name != "__metadata__"]


def changes(value):
    """The value with each of its parts taken away, or replaced by something else."""
    for wrong in (None, True, -1, 0, 3, 1 << 31, 1 << 70, 0.5, float("nan"), "", "x", "\ud800", [], [-1], {}, {"x": None}):
        yield wrong
    if isinstance(value, dict):
        for name, member in value.items():
            yield {key: other for key, other in value.items() if key != name}
            for change in changes(member):
                yield {**value, name: change}
    elif isinstance(value, list):
        for i, member in list(enumerate(value))[:3]:
            yield value[:i] + value[i + 1:]
            for change in changes(member):
                yield [*value[:i], change, *value[i + 1:]]
