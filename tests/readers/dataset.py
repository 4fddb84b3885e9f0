"""A dataset read without any of the tool's code: the released safetensors, xxhash and zstd, and the format's description.

Dataset gives tables and frames; it trusts nothing that another table says where it can compute it, but checks only what
reading needs. test_store.py checks the rest.
"""
import json
import os
import struct
import subprocess

import numpy as np
import xxhash
from safetensors import safe_open
from safetensors.numpy import load_file

ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}
FRAME_MAX = 64 << 20


def unescape(text):
    out, rest = b"", text.encode()
    while b"\\" in rest:
        before, rest = rest.split(b"\\", 1)
        if rest[:1] == b"x":
            out, rest = out + before + bytes([int(rest[1:3], 16)]), rest[3:]
        else:
            out, rest = out + before + ESCAPES[rest[:1].decode()].encode(), rest[1:]
    return (out + rest).decode(errors="surrogateescape")


def read_table(path):
    """A list of {column: text} from one of the tool's tables."""
    with open(path, encoding="utf-8", newline="\n") as file:
        lines = file.read().split("\n")
    if lines.pop():
        raise ValueError(f"{path} ends in mid-line")
    columns = lines[0].split("\t")
    rows = [dict(zip(columns, map(unescape, line.split("\t")), strict=True)) for line in lines[1:]]
    return rows


def header_of(path):
    """(entries in the order of the text, metadata, bytes before the data) of a safetensors file."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
    metadata = header.pop("__metadata__", {})
    return header, metadata, 8 + size


def seek_table(path):
    """[(compressed bytes, content bytes, check)] and the bytes of the seek table's own frame; zstd's seekable format."""
    with open(path, "rb") as file:
        data = file.read()
    frames, descriptor, magic = struct.unpack("<IBI", data[-9:])
    if magic != 0x8F92EAB1 or descriptor != 0x80:
        raise ValueError(f"{path}: no seek table with checksums: magic {magic:#x}, descriptor {descriptor:#x}")
    size = 12 * frames + 9
    table = data[-size - 8:]
    if struct.unpack("<II", table[:8]) != (0x184D2A5E, size):
        raise ValueError(f"{path}: the seek table's frame is {table[:8].hex()}")
    return [struct.unpack("<III", table[8 + 12 * i:20 + 12 * i]) for i in range(frames)], table


class Dataset:
    def __init__(self, directory):
        self.directory = directory
        with open(os.path.join(directory, "manifest.json"), "rb") as file:
            self.manifest = json.load(file)
        self.sequences = read_table(os.path.join(directory, "sequences.tsv"))
        self.shards = read_table(os.path.join(directory, "shards.tsv"))
        self.index = load_file(os.path.join(directory, "index.safetensors"))
        self.row_of = {row["id"]: i for i, row in enumerate(self.sequences)}
        self.blocks = len(self.index["block_ptr"]) - 1
        self.opened = {}

    def plain(self, shard):
        """The path of a shard as plain safetensors: a compressed one is restored by the zstd program, beside the dataset."""
        path = os.path.join(self.directory, self.shards[shard]["file"])
        if not path.endswith(".zst"):
            return path
        restored = os.path.join(self.directory + ".restored", os.path.basename(path)[:-4])
        if not os.path.exists(restored):
            os.makedirs(os.path.dirname(restored), exist_ok=True)
            subprocess.run(["zstd", "-q", "-d", path, "-o", restored], check=True)
        return restored

    def open(self, shard):
        if shard not in self.opened:
            self.opened[shard] = safe_open(self.plain(shard), "np")
        return self.opened[shard]

    def block(self, block, field="frames"):
        """One block of a field or table, through the released reader."""
        for number, shard in enumerate(self.shards):
            row = block - int(shard["first_block"])
            if row < int(shard["blocks"]):
                return self.open(number).get_slice(field)[row]
        raise IndexError(block)

    def pieces(self, block):
        """[(sequence, start, length, source_start)] as the index plans them."""
        first, end = self.index["block_ptr"][block:block + 2]
        names = ("sequence", "start", "length", "source_start")
        return [tuple(int(self.index[name][p]) for name in names) for p in range(first, end)]

    def pieces_of(self, name):
        """[(block, start, length, source_start)] of the sequence with that id, by source_start."""
        row = self.row_of[name]
        found = []
        for p in np.flatnonzero(self.index["sequence"] == row):
            block = int(np.searchsorted(self.index["block_ptr"], p, "right")) - 1
            found.append((block, *(int(self.index[t][p]) for t in ("start", "length", "source_start"))))
        return sorted(found, key=lambda piece: piece[3])

    def row(self, name):
        """What sequences.tsv says of the sequence with that id."""
        return self.sequences[self.row_of[name]]

    def frames(self, name):
        """All frames of the sequence with that id, [length, H, W, 3], joined from its pieces."""
        parts = [self.block(b)[start:start + length] for b, start, length, _ in self.pieces_of(name)]
        return np.concatenate(parts)


def xxh3(data):
    return xxhash.xxh3_64_intdigest(data)


def digest(value):
    return f"{value:016x}"
