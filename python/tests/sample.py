"""Small sources of every form that the reader has to do with, and datasets of them."""
import io
import json
import os
import warnings
import zipfile

import numpy as np
import xxhash
from PIL import Image

import dataset as independent
import tool

YAML = """sources: [arrays]
kind: array
name: poses
fields:
  - name: labels
    path: labels/{stem}.npy
  - name: sound
    path: sound/{stem}.npy
    kind: array
"""
TEXT = "text", "--tokenizer", "bytes", "--keep", "url"
SHARDS = "--shard-size", "6K"

# name: arguments of pack. All kinds of blocks that there are: full and empty, in pieces, in several shards...
WAYS = {
    "plain": (*TEXT, "-T", "64"),
    "shards": (*TEXT, "-T", "64", *SHARDS, "--dtype", "u16"),
    "compressed": (*TEXT, "-T", "64", *SHARDS, "--compress", "zstd"),
    "frames": (*TEXT, "-T", "1500", *SHARDS, "--compress", "zstd", "--frame-size", "4K"),
    "split": (*TEXT, "-T", "16", "--oversize", "split", "--segment-ids", *SHARDS),
    "store": (*TEXT, "--store", "-T", "100", *SHARDS),
    "truncated": (*TEXT, "-T", "16", "--oversize", "truncate"),
    "aligned": (*TEXT, "-T", "64", "--align", "8", "--pad-id", "7"),
    "cp": (*TEXT, "-T", "64", "--cp", "2", "--pad-id", "7", *SHARDS),
    "cp-zstd": (*TEXT, "-T", "48", "--cp", "3", "--oversize", "split", "--compress", "zstd", "--remainder", "pad", "--world-size", "7",
                "--batch-size", "5", *SHARDS),
    "groups": (*TEXT, "-T", "64", "--group-by", "url", "--world-size", "2"),
    "columns": (*TEXT[:-1], "url,pictures:number", "-T", "64", "--max-column", "pictures=5", "--max-column", "length=60", "--group-by", "url"),
    "together": (*TEXT[:-1], "pair", "-T", "128", "--together", "pair"),
    "empty": (*TEXT, "-T", "64", "--remainder", "pad", "--world-size", "7", "--batch-size", "5", "--pad-id", "9"),
    "joined": ("-c", "joined.yaml", "-T", "48", "--oversize", "split"),
    "joined-zstd": ("-c", "joined.yaml", "-T", "48", "--oversize", "split", "--compress", "zstd", *SHARDS),
    "repeat": ("-c", "joined.yaml", "-T", "longest", "--pad", "repeat", "--align", "4"),
    "jpeg": ("pictures", "--kind", "array", "--name", "frames", "-T", "24", "--oversize", "split", "--encode", "jpeg", *SHARDS),
    "jpeg-repeat": ("pictures", "--kind", "array", "--name", "frames", "-T", "longest", "--encode", "jpeg:50", "--pad", "repeat"),
    "delta": ("pictures", "--kind", "array", "--name", "frames", "-T", "longest", "--encode", "delta", "--compress", "zstd:1", *SHARDS),
    "attributes": ("arrays", "--kind", "array", "-T", "40", "--oversize", "split", "--attributes", "attributes.csv"),
    "failed": ("spoilt", "--kind", "array", "-T", "60", "--oversize", "split", "--segment-ids", "--compress", "zstd"),
    "failed-plain": ("spoilt", "--kind", "array", "-T", "60", "--oversize", "split"),
}


def write_text(folder, random, documents):
    os.makedirs(folder)
    with open(os.path.join(folder, "a.jsonl"), "w") as file:
        for i in range(documents):
            text = "".join(map(chr, random.integers(33, 126, random.integers(1, 60))))
            file.write(json.dumps({"text": text, "url": f"site\t{i % 3}", "pictures": i % 5, "pair": str(i // 2) if i % 7 else ""}) + "\n")


def write_arrays(directory, random, arrays):
    for folder in "arrays", "labels", "sound":
        os.makedirs(os.path.join(directory, folder))
    for i in range(arrays):
        steps = int(random.integers(1, 64))
        for folder, array in (("arrays", random.normal(size=(steps, 3, 2)).astype("f4")),
                              ("labels", random.integers(0, 255, steps).astype("u1")),
                              ("sound", random.integers(-9999, 9999, (steps, 2)).astype("i2"))):
            np.save(os.path.join(directory, folder, f"{i}.npy"), array)


def write_pictures(folder, random, pictures):
    os.makedirs(folder)
    for i in range(pictures):
        steps = int(random.integers(1, 40))
        picture = np.add.outer(random.integers(0, 99, (steps, 1, 1)), random.normal(100, 9, (10, 14, 3)))
        np.save(os.path.join(folder, f"{i}.npy"), picture.squeeze((1, 2)).astype("u1"))


def write_spoilt(folder, random):
    """Arrays of which two turn out to be broken when they are read: the archive's checksum is wrong."""
    os.makedirs(folder)
    for i in range(9):
        path = os.path.join(folder, f"{i}.npz")
        np.savez(path, x=random.normal(size=(int(random.integers(40, 90)), 3)).astype("f4"))
        if i in (3, 7):
            with zipfile.ZipFile(path) as archive:
                end = archive.start_dir
            with open(path, "r+b") as file:
                file.seek(end - 40)
                file.write(b"\xff" * 4)


def flip(path, at):
    """Changes a bit of the byte at that place of a file."""
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def write_manifest(name, value):
    """A manifest with a right checksum."""
    text = json.dumps({**value, "checksum": "0" * 16} if isinstance(value, dict) and "checksum" in value else value).encode()
    at = text.rfind(b"0" * 16)
    told = f"{xxhash.xxh3_64_intdigest(text):016x}".encode()
    tool.write(name, text[:at] + told + text[at + 16:] if at >= 0 else text)


def reseal(path):
    """Gives a changed dataset right sizes and checksums again, as whoever wants to do harm would."""
    manifest = json.loads(tool.read(os.path.join(path, "manifest.json")))
    for entry in manifest["files"]:
        if os.path.exists(os.path.join(path, entry["name"])):
            data = tool.read(os.path.join(path, entry["name"]))
            entry.update(bytes=len(data), checksum=f"{xxhash.xxh3_64_intdigest(data):016x}")
    write_manifest(os.path.join(path, "manifest.json"), manifest)


class Sample(tool.Tool):
    """A test with these sources in its directory; packed(way) packs each way once, and gives the path."""
    documents, arrays, pictures = 120, 24, 12
    classes, weights = [], []

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        warnings.filterwarnings("ignore", ".* is compressed: ")
        random = np.random.default_rng(1)
        write_text(os.path.join(cls.directory, "text"), random, cls.documents)
        write_arrays(cls.directory, random, cls.arrays)
        write_pictures(os.path.join(cls.directory, "pictures"), random, cls.pictures)
        write_spoilt(os.path.join(cls.directory, "spoilt"), random)
        cls.classes, cls.weights = random.integers(-99, 1 << 62, cls.arrays).tolist(), random.normal(size=cls.arrays).tolist()
        with open(os.path.join(cls.directory, "attributes.csv"), "w") as file:
            file.write("id,class,weight,note\n")
            file.writelines(f"{i},{cls.classes[i]},{repr(cls.weights[i]) if i != 1 else ''},n{i}\n" for i in range(1, cls.arrays))
        tool.write(os.path.join(cls.directory, "joined.yaml"), YAML)

    def packed(self, way, *more, name=None):
        out = self.path("packed-" + (name or way))
        if not os.path.exists(out):
            status = 3 if "failed" in way or way == "attributes" else 0
            self.bload("pack", "-q", *WAYS[way], *more, "-o", out, cwd=self.directory, status=status)
        return out


class Truth:
    """A dataset as safetensors' own reader gives it, with what follows from its tables computed step by step."""

    def __init__(self, directory):
        self.d = independent.Dataset(directory)
        self.T = self.d.manifest["T"]

    def block(self, i):
        """Everything that a block can have."""
        names = [field["name"] for field in self.d.manifest["fields"]] + ["cu_seqlens", "num_sequences", "sequence", "length"]
        names += [attribute["name"] for attribute in self.d.manifest.get("attributes", [])]
        if self.d.manifest["source_start"]:
            names.append("source_start")
        if self.d.manifest.get("cp"):
            names.append("cu_seqlens_padded")
        block = {name: self.field(i, name) for name in names}
        block["segment_ids"], block["position_ids"], block["mask"] = self.derived(block)
        block["ids"] = [self.d.sequences[row]["id"] if row >= 0 else "" for row in block["sequence"]]
        return block

    def field(self, i, name):
        """A field or table of a block; an encoded one decoded as bload-dataset(5) shows it."""
        coding = next((field.get("encoding", "raw") for field in self.d.manifest["fields"] if field["name"] == name), "raw")
        if coding == "delta":
            steps = self.d.block(i, f"{name}_delta")
            for axis in 1, 2, 3:
                steps = steps.cumsum(axis, dtype="u1")
            return steps
        if coding == "raw":
            return self.d.block(i, name)
        shape = next(field["shape"] for field in self.d.manifest["fields"] if field["name"] == name)
        pictures = [Image.open(io.BytesIO(file)) if file else np.zeros(shape, "u1") for file in self.files(i, name)]
        return np.stack([np.asarray(picture) for picture in pictures])

    def files(self, i, name):
        """The JPEG files of a block."""
        offsets = self.d.block(i, f"{name}_offsets")
        shard = next(n for n, row in enumerate(self.d.shards) if i < int(row["first_block"]) + int(row["blocks"]))
        data = self.d.open(shard).get_tensor(f"{name}_jpeg")
        return [data[offsets[t]:offsets[t + 1]].tobytes() for t in range(self.T)]

    def derived(self, block):
        segment, position, mask = np.zeros(self.T, "i4"), np.zeros(self.T, "i4"), np.zeros(self.T, "?")
        for k in range(int(block["num_sequences"])):
            for t in range(int(block["length"][k])):
                at = block["cu_seqlens"][k] + t
                segment[at], position[at], mask[at] = k + 1, t, True
        return segment, position, mask

    def sequence(self, name, field):
        """The steps that are stored of a sequence, in order."""
        return np.concatenate([self.field(b, field)[start:start + length] for b, start, length, _ in self.d.pieces_of(name)])


def same(test, one, other):
    """The same arrays by the same names, of the same types."""
    test.assertEqual(sorted(one), sorted(other))
    for name, value in one.items():
        if name == "ids":
            test.assertEqual(value, other[name])
        else:
            value, told = np.asarray(value), np.asarray(other[name])
            test.assertEqual((value.dtype, value.shape), (told.dtype, told.shape), name)
            test.assertEqual(value.tobytes(), told.tobytes(), name)
