"""index.safetensors: the plan of the stored blocks, and the checksum of each block of each field."""
from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional

import numpy as np

from . import checksum
from .errors import DamagedError
from .manifest import PADDED, Field, Manifest
from .mapping import MappedFile
from .safetensors import DTYPES, expect, read_header

SCANNED = 1 << 20  # how many pieces to search at a time


class Span(NamedTuple):
    """How many steps pieces have on an axis, and the first one in the block: arrays [n]."""
    length: np.ndarray
    start: np.ndarray


class Pieces(NamedTuple):
    """Pieces of sequences: for each its row of the table, first step in the sequence, number of steps, and first step in the block.

    number: their numbers in the index, I64 [n], if these are known. own: their steps in each field that has steps of its own. Such steps
    belong to the piece with the first step of the sequence, and follow each other in a block from 0 on.
    """
    sequence: np.ndarray
    source_start: np.ndarray
    length: np.ndarray
    start: np.ndarray
    number: Optional[np.ndarray] = None
    own: Mapping[str, Span] = {}

    def span(self, axis: str) -> Span:
        """Return the steps of the pieces on an axis; see Field.axis."""
        return self.own[axis] if axis else Span(self.length, self.start)

    def at(self, places: np.ndarray) -> "Pieces":
        """Return some of the pieces, without their numbers."""
        own = {name: Span(*(table[places] for table in span)) for name, span in self.own.items()}
        return Pieces(self.sequence[places], self.source_start[places], self.length[places], self.start[places], None, own)


def last_upto(table: Any, low: np.ndarray, high: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return for each n the last of table[low[n]] to table[high[n] - 1], which ascend, that is at most values[n]; else low[n]: I64 [n]."""
    count = high - low
    for _ in range(int(count.max(initial=1) - 1).bit_length()):
        half = count >> 1
        middle = low + half
        low = np.where(table[middle] <= values, middle, low)
        count = count - half
    return low


def back_to_back(pointers: np.ndarray, length: np.ndarray) -> "tuple[np.ndarray, np.ndarray]":
    """Return the first step of each piece, I64 [n], if the pieces of a block follow each other from 0 on, and the steps of each block.

    pointers: see Plan.of.
    """
    before = np.append(0, np.cumsum(length, dtype=np.int64))
    return before[:-1] - np.repeat(before[pointers[:-1]], np.diff(pointers)), np.diff(before[pointers])


class Plan:
    """A mapped plan file of B blocks and P pieces. Block b has the pieces block_ptr[b] to block_ptr[b + 1] - 1.

    block_ptr I64 [B + 1], sequence I64 [P], source_start I64 [P], length I32 [P], start I32 [P]; see Pieces. For each field with steps of its
    own also NAME.length I32 [P] and NAME.start I32 [P].

    Raises DamagedError if the file is damaged, or does not match the manifest.
    """

    def __init__(self, file: MappedFile, manifest: Manifest):
        self.path = path = file.path
        self.T, self.S, self.blocks, self.overlap = manifest.T, manifest.S, manifest.blocks, manifest.overlap
        self.padded_to = manifest.padded_to
        self.file = file
        self.header = read_header(self.file.read, self.file.size, path)
        version = self.header.metadata.get("bload_format")
        if version not in manifest.plan_versions:
            raise DamagedError(f"format {version} differs from the manifest", path)
        rows = self.header.tensors.get("sequence")
        self.pieces = rows.shape[0] if rows and len(rows.shape) == 1 else 0
        self.block_ptr = self.table("block_ptr", "I64", self.blocks + 1)
        self.sequence = self.table("sequence", "I64", self.pieces)
        self.source_start = self.table("source_start", "I64", self.pieces)
        self.length = self.table("length", "I32", self.pieces)
        self.start = self.table("start", "I32", self.pieces)
        self.capacities = {name: field.capacity for name, field in manifest.own.items()}
        self.own = {name: Span(*(self.table(f"{name}.{table}", "I32", self.pieces) for table in Span._fields)) for name in manifest.own}
        self.sorted: Optional[np.ndarray] = None

    def table(self, name: str, dtype: str, *shape: int) -> np.ndarray:
        """Return a tensor of the file, without a copy; raise DamagedError if it is missing, or has another type or shape."""
        tensor = expect(self.header, name, dtype, shape, self.path)
        return self.file.array(tensor.begin, DTYPES[dtype], shape)

    def range_of(self, block: int) -> "tuple[int, int]":
        """Return the first piece of a block, and the end of its pieces; raise DamagedError if they are invalid."""
        first, end = self.pointers(block, block + 1).tolist()
        return first, end

    def pointers(self, first: int, end: int) -> np.ndarray:
        """Return the first piece of each block from first to end, then the end of the last one, I64 [n + 1]; raise DamagedError if invalid."""
        pointers = self.block_ptr[first:end + 1]
        count = np.diff(pointers)
        if not (0 <= pointers[0] and pointers[-1] <= self.pieces and count.min() >= 0 and count.max() <= self.S):
            raise DamagedError(f"block {first} has invalid pieces {pointers[0]} to {pointers[-1]}", self.path)
        return pointers

    def of(self, first: int, end: int) -> "tuple[np.ndarray, Pieces]":
        """Return the pieces of blocks first to end: where those of each block begin, I64 [n + 1], from 0 on; and the pieces.

        Raises DamagedError if they overlap, or are not inside their block. Its message names block first, which is right only for a single block.
        """
        pointers = self.pointers(first, end)
        here = slice(pointers[0], pointers[-1])
        pointers = pointers - pointers[0]
        own = {name: self.own_steps(name, first, here, pointers) for name in self.own}
        pieces = Pieces(self.sequence[here], self.source_start[here], self.length[here], self.start[here], None, own)
        if len(pieces.start) > 0:
            stop = pieces.start.astype(np.int64) + pieces.length
            follows = np.ones(len(stop) + 1, np.bool_)  # whether a piece follows another one in its block
            follows[pointers] = False
            if not (pieces.start.min() >= 0 and stop.max() <= self.T and ((stop[:-1] <= pieces.start[1:]) | ~follows[1:-1]).all()
                    and pieces.length.min() >= 1 and pieces.sequence.min() >= 0 and pieces.source_start.min() >= 0):
                raise DamagedError(f"the pieces of block {first} overlap or exceed it", self.path)
        return pointers, pieces

    def own_steps(self, name: str, block: int, here: slice, pointers: np.ndarray) -> Span:
        """Return the own steps of the pieces `here`; raise DamagedError if they are not valid. The message names `block`."""
        length, start = (table[here] for table in self.own[name])
        begin, total = back_to_back(pointers, length)
        misplaced = (start != begin) | (self.source_start[here] > 0)
        if length.min(initial=0) < 0 or total.max(initial=0) > self.capacities[name] or (misplaced & (length > 0)).any():
            raise DamagedError(f"the pieces of block {block} have invalid steps in {name}", self.path)
        return Span(length, begin)

    def repeated_steps(self, pieces: np.ndarray) -> np.ndarray:
        """Return how many steps each of these pieces repeats of the previous piece: I64 [n]."""
        return np.where(self.source_start[pieces] > 0, self.overlap, 0)

    def order(self) -> np.ndarray:
        """Return the pieces ordered by sequence, then by source_start: I64 [P]. They are sorted on first use."""
        if self.sorted is None:
            self.sorted = np.lexsort((self.source_start, self.sequence))
        return self.sorted

    def blocks_of(self, pieces: np.ndarray) -> np.ndarray:
        """Return the block of each piece, I64 [n]; raise DamagedError if block_ptr is not ascending."""
        blocks = np.clip(np.searchsorted(self.block_ptr, pieces, "right") - 1, 0, self.blocks - 1)
        if ((pieces < self.block_ptr[blocks]) | (pieces >= self.block_ptr[blocks + 1])).any():
            raise DamagedError("its block_ptr is not ascending", self.path)
        return blocks

    def check_digest(self, expected: str, verify: bool) -> None:
        """Compare the plan's digest with the manifest's, with verify after computing it; raise DamagedError if they differ."""
        stored_digest = self.header.metadata.get("plan_digest")
        begin = self.header.tensors["block_ptr"].begin
        sizes = [self.T, *self.capacities.values()]
        if stored_digest != expected or verify and checksum.plan_digest(sizes, self.file.read(begin, self.file.size - begin)) != expected:
            raise DamagedError("its plan digest differs from the manifest", self.path)


class Index(Plan):
    """The plan of the stored blocks, with block_checksum I64 [B, fields]."""

    def __init__(self, file: MappedFile, manifest: Manifest):
        super().__init__(file, manifest)
        self.block_checksum = self.table("block_checksum", "I64", self.blocks, len(manifest.fields))
        self.blocks_per_shard = manifest.blocks_per_shard
        self.flat = [field for field in manifest.own.values() if field.storage != PADDED]
        self.sums: Dict[str, np.ndarray] = {}

    def before(self, name: str) -> np.ndarray:
        """Return how many own steps of a field the pieces before each piece have, then those of all: I64 [P + 1]. They are added on first use."""
        if name not in self.sums:
            self.sums[name] = np.append(0, np.cumsum(self.own[name].length, dtype=np.int64))
        return self.sums[name]

    def first_steps(self, field: Field, block: np.ndarray) -> np.ndarray:
        """Return the first step of blocks in a field, counted from the first one in their shard: I64 [n].

        The result is right for blocks whose tables were compared with the index.
        """
        row = block % self.blocks_per_shard
        if field.storage == PADDED:
            return row * field.capacity
        first, here = (np.clip(self.block_ptr[one], 0, self.pieces) for one in (block - row, block))
        before = self.before(field.name)
        return np.asarray(before[here] - before[first])

    def has(self, block: np.ndarray, pieces: Pieces) -> np.ndarray:
        """Return whether each block stores the piece that is given for it, without the steps that the piece repeats: BOOL [n]."""
        sound = (block >= 0) & (block < self.blocks)
        block = np.where(sound, block, 0)
        low, high = self.block_ptr[block], self.block_ptr[block + 1]
        sound &= (low >= 0) & (low < high) & (high <= self.pieces)
        low, high = np.where(sound, low, 0), np.where(sound, high, 0)
        if sound.any():
            found = last_upto(self.start, low, high, pieces.start)
            repeated = self.repeated_steps(found)
            for name, more in ("sequence", 0), ("source_start", repeated), ("length", -repeated), ("start", repeated):
                sound &= getattr(self, name)[found] + more == getattr(pieces, name)
            for name, (length, start) in pieces.own.items():
                stored = self.own.get(name)
                sound &= length == (stored.length[found] if stored is not None else 0)
                if stored is not None:
                    sound &= (start == stored.start[found]) | (length == 0)
        return sound

    def gap(self, pieces: bool) -> "Optional[tuple[int, int]]":
        """Return (block, step) of one step of padding, or None: in an empty block or, with pieces, after a piece."""
        empty = np.flatnonzero(self.block_ptr[1:] == self.block_ptr[:-1])
        if len(empty) > 0:
            return int(empty[0]), 0
        for first in range(0, self.pieces if pieces else 0, SCANNED):
            end = self.start[first:first + SCANNED] + self.length[first:first + SCANNED]
            following = self.start[first + 1:first + SCANNED + 1]
            if len(following) < len(end):
                following = np.append(following, 0)
            found = np.flatnonzero((end < self.T) & (end != following))  # at the end of a block, the next piece starts before `end`
            if len(found) > 0:
                block = int(self.blocks_of(found[:1] + first)[0])
                self.of(block, block + 1)
                return block, int(end[found[0]])
        return None
