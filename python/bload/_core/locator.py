"""Find where a range of steps of a sequence is stored: the parts of stored blocks that contain it."""
from __future__ import annotations

import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from .errors import DamagedError
from .index import Index, Pieces, Span, last_upto
from .manifest import Manifest
from .mapping import MappedFile
from .safetensors import DTYPES, expect, read_header

ROWS = "rows.safetensors"


class Parts(NamedTuple):
    """Parts of pieces: each lies in one entry of a locator. All arrays are I64 [n].

    piece: the piece. entry: the entry in the locator. skip: steps of the entry before the part. start: the part's first step in the block.
    length: its steps.
    """
    piece: np.ndarray
    entry: np.ndarray
    skip: Any
    start: np.ndarray
    length: np.ndarray


def parts_of(span: Span, entry: np.ndarray) -> Parts:
    """Return a part for each piece that has steps, of pieces that are whole entries."""
    here = np.flatnonzero(span.length)
    return Parts(here, entry[here], np.zeros(len(here), np.int64), span.start[here], span.length[here])


class Locator:
    """Entries, each with some steps of a row. The entries of a row are consecutive, in the order of their steps.

    path: the file that lists them. length: the steps of each entry. source_start: its first step in the sequence; None: always 0.
    overlap: how many of its first steps repeat the previous entry, unless the entry begins the sequence. own: for each field with steps of its
    own how many of them each entry has.
    """

    own: Mapping[str, Any]
    path: str
    length: Any
    source_start: Any
    overlap: int = 0

    def ranges(self, rows: np.ndarray) -> Tuple[np.ndarray, Optional[np.ndarray]]:
        """Return the first entry of each row, and the end of its entries; None: each row has one. Raises DamagedError if they are invalid."""
        raise NotImplementedError

    def of(self, row: int) -> np.ndarray:
        """Return the entries of a row with at least one step: I64 [n]."""
        first, stop = self.ranges(np.array([row]))
        entries = np.arange(int(first[0]), int(first[0]) + 1 if stop is None else int(stop[0]))
        stored: np.ndarray = entries[self.length[entries] > 0]
        return stored

    def begin(self, entries: np.ndarray) -> np.ndarray:
        """Return the first step of entries in their sequences: I64 [n]."""
        begin: np.ndarray = np.zeros(len(entries), np.int64) if self.source_start is None else self.source_start[entries]
        return begin

    def find(self, pieces: Pieces, plan: str) -> Parts:
        """Return the parts of pieces, in order; raise DamagedError if some steps are not stored. `plan` is the file that lists the pieces."""
        begin, length = pieces.source_start, pieces.length.astype(np.int64)
        end = begin + length
        first, stop = self.ranges(pieces.sequence)
        piece, entry = np.arange(len(length)), first
        if stop is not None:
            piece, entry = self.expand(pieces, plan, first, stop, end)
        start = self.begin(entry)
        low = np.maximum(begin[piece], start)
        if self.overlap:  # from the second entry of a piece on, skip the steps that repeat the previous entry
            later = np.append(False, piece[1:] == piece[:-1])
            low = np.where(later, start + self.overlap, low)
        given = np.minimum(end[piece], start + self.length[entry]) - low
        total = np.bincount(piece, np.maximum(given, 0), len(length)) if len(piece) != len(length) else given
        if (given <= 0).any() or (total != length).any():
            self.fail(pieces, plan, np.append(piece[given <= 0], np.flatnonzero(total != length)))
        return Parts(piece, entry, low - start, pieces.start[piece] + (low - begin[piece]), given)

    def find_own(self, name: str, pieces: Pieces, parts: Parts, plan: str) -> Parts:
        """Return the parts with the own steps of pieces in a field, from the parts that `find` returned.

        Raises DamagedError if a piece has another number of them than is stored.
        """
        span, stored = pieces.own[name], self.own[name][parts.entry]
        here = np.flatnonzero((stored > 0) & (pieces.source_start[parts.piece] == 0))
        piece = parts.piece[here]
        if not np.array_equal(piece, np.flatnonzero(span.length)) or (stored[here] != span.length[piece]).any():
            raise DamagedError(f"its pieces have other steps in {name} than are stored according to {os.path.basename(self.path)}", plan)
        return Parts(piece, parts.entry[here], np.zeros(len(here), np.int64), span.start[piece], span.length[piece])

    def expand(self, pieces: Pieces, plan: str, first: np.ndarray, stop: np.ndarray,
               end: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """Return the entries that contain steps of each piece: for each the number of the piece, and the entry."""
        if (first >= stop).any():
            self.fail(pieces, plan, np.flatnonzero(first >= stop))
        last = entry = first
        if self.source_start is not None:
            entry = last_upto(self.source_start, first, stop, pieces.source_start)
            last = last_upto(self.source_start, entry, stop, end - 1 - self.overlap)
        count = last - entry + 1
        if (count > pieces.length).any():
            self.fail(pieces, plan, np.flatnonzero(count > pieces.length))
        piece = np.arange(len(entry))
        if len(count) == 0 or count.max() == 1:
            return piece, entry
        piece = np.repeat(piece, count)
        return piece, np.repeat(entry - (np.cumsum(count) - count), count) + np.arange(len(piece))

    def fail(self, pieces: Pieces, plan: str, which: np.ndarray) -> None:
        """Raise DamagedError for a piece that is not stored."""
        k = int(which[0])
        begin = int(pieces.source_start[k])
        raise DamagedError(f"it has steps {begin} to {begin + int(pieces.length[k])} of row {pieces.sequence[k]}, which are not stored "
                           f"according to {os.path.basename(self.path)}", plan)


class Sorted:
    """The values of a table in another order, without a copy."""

    def __init__(self, table: np.ndarray, order: np.ndarray):
        self.table, self.order = table, order

    def __getitem__(self, places: np.ndarray) -> np.ndarray:
        values: np.ndarray = self.table[self.order[places]]
        return values


class IndexLocator(Locator):
    """The stored pieces of a dataset. Entry k is the piece order[k] of the index. Takes 8 bytes per piece."""

    def __init__(self, index: Index):
        self.path, self.index, self.order, self.overlap = index.path, index, index.order(), index.overlap
        self.length, self.source_start = Sorted(index.length, self.order), Sorted(index.source_start, self.order)
        self.own = {name: Sorted(span.length, self.order) for name, span in index.own.items()}

    def ranges(self, rows: np.ndarray) -> Tuple[np.ndarray, Optional[np.ndarray]]:
        first, stop = (np.searchsorted(self.index.sequence, rows, side, sorter=self.order) for side in ("left", "right"))
        return first, stop


class Rows(Locator):
    """rows.safetensors, mapped: where each row of a view is stored, and its attributes.

    Entry n is length[n] steps of the source's block block[n], from start[n] on. spans has the same for each field with steps of its own. See
    bload-dataset(5).

    Raises DamagedError if the file is damaged, or does not match the manifest.
    """

    def __init__(self, file: MappedFile, manifest: Manifest):
        path = file.path
        self.path, self.rows, self.file = path, manifest.rows, file
        self.header = read_header(self.file.read, self.file.size, path)
        if self.header.metadata.get("bload_format") not in manifest.plan_versions:
            raise DamagedError(f"format {self.header.metadata.get('bload_format')} differs from the manifest", path)
        self.entries = self.count("block")
        self.block = self.table("block", "I64", self.entries)
        self.start = self.table("start", "I32", self.entries)
        self.length = self.table("length", "I32", self.entries)
        self.spans = {name: Span(*(self.table(f"own.{name}.{table}", "I32", self.entries) for table in Span._fields)) for name in manifest.own}
        self.own = {name: span.length for name, span in self.spans.items()}
        self.source_start = self.optional("source_start", self.entries)
        self.row_ptr = self.optional("row_ptr", self.rows + 1)
        if self.row_ptr is None and self.entries != self.rows:
            raise DamagedError(f"it has {self.entries} entries and no row_ptr, but the manifest says {self.rows} rows", path)
        self.renamed = self.optional("renamed", self.count("renamed"))
        self.attributes: Dict[str, np.ndarray] = {
            name: self.table(f"attribute.{name}", dtype, self.rows) for name, dtype in manifest.attributes.items()}

    def count(self, name: str) -> int:
        """Return the length of a table, 0 if it is missing."""
        tensor = self.header.tensors.get(name)
        return tensor.shape[0] if tensor and len(tensor.shape) == 1 else 0

    def table(self, name: str, dtype: str, size: int) -> np.ndarray:
        """Return a tensor of the file, without a copy; raise DamagedError if it is missing, or has another type or shape."""
        tensor = expect(self.header, name, dtype, (size,), self.path)
        return self.file.array(tensor.begin, DTYPES[dtype], (size,))

    def optional(self, name: str, size: int) -> Optional[np.ndarray]:
        """Return a table of I64, or None if the file lacks it."""
        return self.table(name, "I64", size) if name in self.header.tensors else None

    def ranges(self, rows: np.ndarray) -> Tuple[np.ndarray, Optional[np.ndarray]]:
        if len(rows) > 0 and not 0 <= rows.min() <= rows.max() < self.rows:
            raise DamagedError(f"it has {self.rows} rows, but a plan refers to rows {rows.min()} to {rows.max()}", self.path)
        if self.row_ptr is None:
            return rows, None
        first, stop = self.row_ptr[rows], self.row_ptr[rows + 1]
        if not ((first >= 0) & (first <= stop) & (stop <= self.entries)).all():
            raise DamagedError("its row_ptr is not ascending, or exceeds the table", self.path)
        return first, stop
