"""index.safetensors: the plan of the stored blocks, and the checksum of each block of each field."""
from __future__ import annotations

import os
from typing import NamedTuple, Optional

import numpy as np

from . import checksum
from .errors import DamagedError
from .manifest import Manifest
from .mapping import MappedFile
from .safetensors import DTYPES, Header, expect, read_header

FILE = "index.safetensors"
SCANNED = 1 << 20  # pieces searched at a time


class Pieces(NamedTuple):
    """Pieces of sequences. For each: its row of sequences.tsv, first step in the sequence, number of steps, first step in the block."""
    sequence: np.ndarray
    source_start: np.ndarray
    length: np.ndarray
    start: np.ndarray


class Plan:
    """A mapped plan file of B blocks and P pieces. Block b has the pieces block_ptr[b] to block_ptr[b + 1] - 1.

    block_ptr I64 [B + 1], sequence I64 [P], source_start I64 [P], length I32 [P], start I32 [P]; see Pieces.

    DamagedError: the file is damaged, or does not match the manifest.
    """

    def __init__(self, path: str, manifest: Manifest):
        self.path = path
        self.T, self.S, self.blocks = manifest.T, manifest.S, manifest.blocks
        self.file = MappedFile(path)
        self.header = read_header(self.file.read, self.file.size, path)
        version = self.header.metadata.get("bload_format")
        if version != str(manifest.json["format"]):
            raise DamagedError(f"format {version} differs from the manifest", path)
        rows = self.header.tensors.get("sequence")
        self.pieces = rows.shape[0] if rows and len(rows.shape) == 1 else 0
        self.block_ptr = self.table("block_ptr", "I64", self.blocks + 1)
        self.sequence = self.table("sequence", "I64", self.pieces)
        self.source_start = self.table("source_start", "I64", self.pieces)
        self.length = self.table("length", "I32", self.pieces)
        self.start = self.table("start", "I32", self.pieces)

    def table(self, name: str, dtype: str, *shape: int) -> np.ndarray:
        """A tensor of the file, without a copy. DamagedError: it is missing, or of another type or shape."""
        tensor = expect(self.header, name, dtype, shape, self.path)
        return self.file.array(tensor.begin, DTYPES[dtype], shape)

    def range_of(self, block: int) -> "tuple[int, int]":
        """The first piece of a block, and the end of its pieces. DamagedError: they are invalid."""
        first, end = int(self.block_ptr[block]), int(self.block_ptr[block + 1])
        if not 0 <= first <= end <= self.pieces or end - first > self.S:
            raise DamagedError(f"block {block} has invalid pieces {first} to {end}", self.path)
        return first, end

    def of(self, block: int) -> Pieces:
        """The pieces of a block, in order. DamagedError: they overlap, or are not inside the block."""
        first, end = self.range_of(block)
        pieces = Pieces(*(table[first:end] for table in (self.sequence, self.source_start, self.length, self.start)))
        if end > first:
            stop = pieces.start.astype(np.int64) + pieces.length
            sound = pieces.start[0] >= 0 and stop[-1] <= self.T and (stop[:-1] <= pieces.start[1:]).all() and \
                pieces.length.min() >= 1 and pieces.sequence.min() >= 0 and pieces.source_start.min() >= 0
            if not sound:
                raise DamagedError(f"the pieces of block {block} overlap or exceed it", self.path)
        return pieces

    def digest(self) -> str:
        """The plan digest; see checksum.plan_digest."""
        begin = self.header.tensors["block_ptr"].begin
        return checksum.plan_digest(self.T, self.file.read(begin, self.file.size - begin))


class Index(Plan):
    """The plan of the stored blocks, with block_checksum I64 [B, fields]."""

    def __init__(self, directory: str, manifest: Manifest):
        super().__init__(os.path.join(directory, FILE), manifest)
        self.block_checksum = self.table("block_checksum", "I64", self.blocks, len(manifest.fields))
        if self.header.metadata.get("plan_digest") != manifest.plan_digest:
            raise DamagedError("its plan digest differs from the manifest", self.path)
        self.sorted: Optional[np.ndarray] = None

    def order(self) -> np.ndarray:
        """The pieces ordered by sequence, then by source_start: I64 [P]. Computed when first needed."""
        if self.sorted is None:
            self.sorted = np.lexsort((self.source_start, self.sequence))
        return self.sorted

    def pieces_of(self, row: int) -> np.ndarray:
        """The pieces of a sequence, ordered by source_start: I64 [n]."""
        order = self.order()
        first = np.searchsorted(self.sequence, row, "left", sorter=order)
        end = np.searchsorted(self.sequence, row, "right", sorter=order)
        return order[first:end]

    def blocks_of(self, pieces: np.ndarray) -> np.ndarray:
        """The block of each piece: I64 [n]. DamagedError: block_ptr is not ascending."""
        blocks = np.clip(np.searchsorted(self.block_ptr, pieces, "right") - 1, 0, self.blocks - 1)
        if ((pieces < self.block_ptr[blocks]) | (pieces >= self.block_ptr[blocks + 1])).any():
            raise DamagedError("its block_ptr is not ascending", self.path)
        return blocks

    def gap(self, pieces: bool) -> "Optional[tuple[int, int]]":
        """(block, step) of one step of padding, or None if there is none: in an empty block or, with pieces, after a piece."""
        empty = np.flatnonzero(self.block_ptr[1:] == self.block_ptr[:-1])
        if len(empty) > 0:
            return int(empty[0]), 0
        for first in range(0, self.pieces if pieces else 0, SCANNED):
            end = self.start[first:first + SCANNED] + self.length[first:first + SCANNED]
            following = self.start[first + 1:first + SCANNED + 1]
            if len(following) < len(end):
                following = np.append(following, 0)
            found = np.flatnonzero((end < self.T) & (end != following))  # a piece of the next block starts before end
            if len(found) > 0:
                block = int(self.blocks_of(found[:1] + first)[0])
                self.of(block)
                return block, int(end[found[0]])
        return None

    def find(self, pieces: Pieces) -> np.ndarray:
        """The stored pieces with the same sequence, source_start and length: I64 [n]; -1 if there is none."""
        order = self.order()
        first = np.searchsorted(self.sequence, pieces.sequence, "left", sorter=order)
        end = np.searchsorted(self.sequence, pieces.sequence, "right", sorter=order)
        for k in np.flatnonzero(end - first > 1):
            among = self.source_start[order[first[k]:end[k]]]
            first[k] += np.searchsorted(among, pieces.source_start[k])
        found = order[np.minimum(first, self.pieces - 1)]
        same = (self.sequence[found] == pieces.sequence) & (self.source_start[found] == pieces.source_start) & \
            (self.length[found] == pieces.length)
        return np.where(same, found, -1)
