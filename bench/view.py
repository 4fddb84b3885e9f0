#!/usr/bin/env python3
"""Blocks of views beside numpy, which copies the same pieces from the mapped shards; the table of docs/performance.md.

    python3 -m venv build/bench-venv && build/bench-venv/bin/pip install numpy zstandard xxhash safetensors pillow torch
    build/bench-venv/bin/python3 bench/view.py [--quick]

Needs ./bload. Each view has two sources in the page cache: tokens (U16) in pieces of 1 to 4 KiB, features (F32 [256]) in pieces of 8 to
64 KiB. Plain sources have 512 MB each; "resident" was opened with resident=2 << 30, so that pages stay mapped, as numpy's do. Compressed
ones have 32 MB each, in frames of 256 KiB, all of which the reader keeps. "first" is the first reading after opening, "again" a second one
of the same process. Each figure is the median of alternating rounds: GB per processor second, and in parentheses the part of what the
baseline reached in the same round: numpy, which makes the field alone, without the tables; or zstandard, which decompresses all frames.
Where torch is installed, columns of workers are GB/s of the field of at most 300 blocks, by torch's DataLoader."""
import functools
import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

import bload  # noqa: E402
from bload._core.mapping import MappedFile  # noqa: E402
from bload._core.seekable import SeekableFile  # noqa: E402

try:
    import torch
    from torch.utils.data import DataLoader
except ImportError:
    DataLoader = None

QUICK = "--quick" in sys.argv
ROUNDS = 1 if QUICK else 3
PLAIN, COMPRESSED = (1 << 20, 1 << 20) if QUICK else (512 << 20, 32 << 20)  # bytes of a source
TOOL = os.environ.get("BLOAD", str(ROOT / "bload"))
WORK = ROOT / "build/bench/view" / ("quick" if QUICK else "full")
DTYPES = {"U16": "<u2", "F32": "<f4"}
TEXT, ARRAYS = ("--tokenizer", "bytes", "--dtype", "u16", "-T", 65536), ("--kind", "array", "-T", 512)
ZSTD = ("--compress", "zstd", "--frame-size", "256K")

# name: the kind of content, its bytes, options of pack, T of the views.
CASES = {"tokens": ("text", PLAIN, TEXT, (8192, 65536, 1 << 18)), "features": ("arrays", PLAIN, ARRAYS, (256, 4096)),
         "tokens, zstd": ("text", COMPRESSED, (*TEXT, *ZSTD), (65536,)),
         "features, zstd": ("arrays", COMPRESSED, (*ARRAYS, *ZSTD), (4096,))}


def write_text(folder, size, random):
    letters = random.integers(97, 123, 1 << 22, dtype=np.uint8).tobytes().decode()
    with open(folder / "a.jsonl", "w") as file:
        for _ in range(size // 2560):
            first, count = int(random.integers(0, 1 << 21)), int(random.integers(512, 2048))
            file.write(json.dumps({"text": letters[first:first + count]}) + "\n")


def write_arrays(folder, size, random):
    for i in range(size // 36864):
        np.save(folder / f"{i}.npy", random.normal(size=(int(random.integers(8, 65)), 256)).astype("f4"))


def run(*command):
    subprocess.run(list(map(str, command)), check=True)


def make(path, function):
    """Makes a directory once."""
    if not path.exists():
        shutil.rmtree(f"{path}.part", ignore_errors=True)
        function(Path(f"{path}.part"))
        os.rename(f"{path}.part", path)
    return path


def source(kind, size, number):
    def write(folder):
        folder.mkdir(parents=True)
        {"text": write_text, "arrays": write_arrays}[kind](folder, size, np.random.default_rng(number))
    return make(WORK / f"{kind}-{size >> 20}-{number}", write)


def view(name, T):
    """The directory of a view."""
    kind, size, options, _ = CASES[name]
    stores = [make(WORK / f"{name}-{k}".replace(", ", "-"), lambda out: run(TOOL, "pack", "-q", source(kind, size, k), *options, "-o", out))
              for k in range(2)]
    return make(WORK / f"{name}-view-{T}".replace(", ", "-"), lambda out: run(TOOL, "view", "-q", *stores, "-T", T, "-o", out))


def tables(path):
    """The tensors of a safetensors file by name, mapped."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    data = np.memmap(path, np.uint8, "r", 8 + size)
    kinds = {**DTYPES, "I64": "<i8", "I32": "<i4"}
    return {name: data[slice(*entry["data_offsets"])].view(kinds[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__" and entry["dtype"] in kinds}


class Copies:
    """The yardstick: block i is one array, filled by a slice assignment for each of its pieces, whose places are known before."""

    def __init__(self, path):
        manifest = json.loads((path / "manifest.json").read_text())
        self.T, field = manifest["T"], manifest["fields"][0]
        self.dtype, self.shape = np.dtype(DTYPES[field["dtype"]]), field["shape"]
        self.field, self.files, self.first, T, shards = field["name"], [], [], [], []
        for store in manifest["sources"]:
            self.first.append(store["first_row"])
            told = json.loads((path / store["path"] / "manifest.json").read_text())
            T.append(told["T"])
            shards.append((len(self.files), told["blocks_per_shard"]))
            self.files += sorted((path / store["path"]).glob("shards/*/*.safetensors"))
        rows, plan = tables(path / "rows.safetensors"), tables(path / "index.safetensors")
        block, start, length = (rows[name].tolist() for name in ("block", "start", "length"))
        pointers = rows["row_ptr"].tolist() if "row_ptr" in rows else range(len(block) + 1)
        begin = rows["source_start"].tolist() if "source_start" in rows else [0] * len(block)
        self.blocks = [[] for _ in range(manifest["blocks"])]
        owner = np.repeat(np.arange(manifest["blocks"]), np.diff(plan["block_ptr"])).tolist()
        for b, row, first, count, at in zip(owner, *(plan[name].tolist() for name in ("sequence", "source_start", "length", "start"))):
            k = int(np.searchsorted(self.first, row, "right")) - 1
            for e in range(pointers[row], pointers[row + 1]):
                low, high = max(first, begin[e]), min(first + count, begin[e] + length[e])
                if low < high:
                    shard, place = divmod(block[e], shards[k][1])
                    step = place * T[k] + start[e] + low - begin[e]
                    self.blocks[b].append((shards[k][0] + shard, step, step + high - low, at + low - first, at + high - first))

    def open(self):
        """Maps the shards anew; gives self."""
        self.arrays = [np.asarray(tables(file)[self.field]).reshape(-1, *self.shape) for file in self.files]
        return self

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, i):
        out = np.empty((self.T, *self.shape), self.dtype)
        for shard, begin, end, start, stop in self.blocks[i]:
            out[start:stop] = self.arrays[shard][begin:end]
        return out


class Decompression:
    """The baseline of compressed views: decompresses the frames of all shards of the sources, one by one."""

    def __init__(self, path):
        sources = json.loads((path / "manifest.json").read_text())["sources"]
        self.files = [SeekableFile(MappedFile(str(file))) for source in sources for file in sorted((path / source["path"]).glob("shards/*/*.zst"))]

    def rate(self):
        """GB of content per processor second."""
        begin, size = time.process_time(), 0
        for file in self.files:
            for i in range(len(file.content) - 1):
                frame = np.empty(file.content[i + 1] - file.content[i], np.uint8)
                file.decompress(i, frame)
                size += len(frame)
        return size / (time.process_time() - begin) / 1e9


def tensor(block):
    """The field of a block as a tensor; some versions of torch have no U16."""
    array = np.asarray(next(iter(block.values())) if isinstance(block, dict) else block)
    return torch.from_numpy(array.view(np.int16) if array.dtype == np.uint16 else array)


def rate(blocks, order, workers, size):
    """GB/s of blocks in an order; without workers, GB per processor second, which other programs disturb less."""
    clock = time.perf_counter if workers else time.process_time
    given = map(blocks.__getitem__, order) if workers == 0 else \
        iter(DataLoader(blocks, batch_size=None, sampler=order[:300], num_workers=workers, collate_fn=tensor))
    if workers:
        next(given)  # what is paid once for workers is left out
    begin = clock()
    count = sum(1 for _ in given)
    return count * size / (clock() - begin) / 1e9


def measure(path, plain, columns):
    """The figures by reader and column: [(of the reader, of the baseline)] of each round."""
    makers = {"view": functools.partial(bload.open, path, ids=False)}
    if plain:
        makers.update(numpy=Copies(path).open, resident=functools.partial(bload.open, path, ids=False, resident=2 << 30))
    figures = {(maker, column): [] for maker in makers for column in columns}
    decompression = None if plain else Decompression(path)
    with bload.open(path) as one:
        counts = len(one)
        size = sum(value.nbytes for name, value in one[0].items() if name in one.fields)
    orders = {"order": list(range(counts)), "shuffled": np.random.default_rng(0).permutation(counts).tolist()}
    for _ in range(ROUNDS):
        for how, order in orders.items():
            found = {} if plain else {("numpy", when): decompression.rate() for _, when in columns}
            for maker, function in makers.items():
                blocks = function()
                for workers in range(1, 3) if DataLoader else ():
                    found[maker, f"{workers} workers"] = rate(blocks, order, workers, size)
                for when in "first", "again":
                    found[maker, when] = rate(blocks, order, 0, size)
            for (maker, when), value in found.items():
                if maker != "numpy":
                    figures[maker, (how, when)].append((value, found["numpy", when]))
    return figures


def main():
    warnings.filterwarnings("ignore", ".* is compressed: ")
    columns = [(how, when) for how in ("order", "shuffled") for when in ("first", "again", *(["1 workers", "2 workers"] if DataLoader else []))]
    print("| | pieces a block | KB a block | " + " | ".join(f"{how}, {when}" for how, when in columns) + " |")
    print("|---" * (len(columns) + 3) + "|")
    for name, (*_, sizes) in CASES.items():
        for T in sizes:
            path = view(name, T)
            with bload.open(path) as one:
                size = sum(value.nbytes for key, value in one[0].items() if key in one.fields)
                pieces = one._index.pieces / len(one)
            figures = measure(path, "zstd" not in name, columns)
            for maker in ("view", "resident")[:1 + ("zstd" not in name)]:
                rows = [figures[maker, column] for column in columns]
                cells = [f"{np.median([value for value, _ in row]):.2f} ({np.median([value / other for value, other in row]):.2f})"
                         for row in rows]
                print(f"| {name}, T = {T}{', resident' if maker == 'resident' else ''} | {pieces:.0f} | {size / 1000:.0f} | " +
                      " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
