"""Composes blocks of stored pieces: the blocks of views, and of epochs."""
from __future__ import annotations

import functools
import warnings
from typing import Any, Dict, List, NamedTuple, Optional, Protocol, Tuple

import numpy as np

from .blocks import Block
from .encoding import JPEG
from .errors import DamagedError
from .index import Pieces
from .stored import Places, Stored

LOCATED = 256      # pieces that are located at a time, if they are of neighbouring blocks: many cost little more than one
KEPT = 1 << 19     # the most pieces whose places are kept, in about 40 bytes each
NO_FILE = np.zeros(0, np.uint8)


class Layout(Protocol):
    """Which pieces the blocks have. path: the file that says so. together: how many blocks to locate at a time."""
    path: str
    together: int

    def of(self, first: int, end: int) -> Tuple[np.ndarray, Pieces]:
        """As Plan.of."""
        ...


class Page(NamedTuple):
    """What is known of some consecutive blocks. Block first + k has the entries ptr[k] to ptr[k + 1] - 1 of each group of tables.

    pieces: in the order of their steps. places: where their parts are stored, by shard and step. gaps: first step and end of padding.
    """
    first: int
    piece_ptr: List[int]
    pieces: Pieces
    place_ptr: List[int]
    places: Places
    gap_ptr: List[int]
    gap: np.ndarray
    gap_end: np.ndarray


def ends(owner: np.ndarray, count: int) -> List[int]:
    """Where the entries of each of count owners begin, and the end; owner is ascending."""
    pointers: List[int] = np.searchsorted(owner, np.arange(count + 1)).tolist()
    return pointers


def gaps(pointers: np.ndarray, pieces: Pieces, T: int) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The steps of blocks that belong to no piece: block, first step and end of each gap, in order."""
    blocks = np.arange(len(pointers) - 1)
    at = pointers[1:] + blocks  # the places of T among the ends of gaps, as each block has a gap more than pieces
    begin, end = np.zeros((2, len(pieces.start) + len(blocks)), np.int64)
    owner = np.repeat(blocks, np.diff(pointers) + 1)
    inner = np.ones(len(end), np.bool_)
    inner[at] = False
    end[at], end[inner] = T, pieces.start
    begin[1:][inner[:-1]] = pieces.start + pieces.length
    there = np.flatnonzero(begin < end)
    return owner[there], begin[there], end[there]


class Composer:
    """Makes the blocks of a layout from what a dataset, or the sources of a view, store."""

    def __init__(self, dataset: Stored, layout: Layout):
        self.dataset, self.layout, self.options = dataset, layout, dataset.options
        self.sound = np.zeros(dataset.info.blocks, np.bool_)  # whether the stored blocks that block i needs were checked
        self.page = functools.lru_cache(max(1, KEPT // LOCATED))(self.locate)
        self.warned = not dataset.compressed
        self.repeat = dataset.info.configuration.get("pad") == "repeat"

    def locate(self, number: int, alone: bool = False) -> Page:
        """Page `number`, of layout.together blocks; or, alone, the page of a single block."""
        together = 1 if alone else self.layout.together
        first = number * together
        pointers, pieces = self.layout.of(first, min(first + together, self.dataset.info.blocks))
        count = len(pointers) - 1
        block = np.repeat(np.arange(count), np.diff(pointers))
        piece, places, number_of = self.dataset.places(pieces, self.layout.path)
        order = np.lexsort((places.step, places.shard, block[piece]))
        places = Places(*(table[order] for table in places))
        owner, gap, end = gaps(pointers, pieces, self.dataset.T)
        return Page(first, pointers.tolist(), pieces._replace(number=number_of), ends(block[piece], count), places, ends(owner, count), gap, end)

    def page_of(self, i: int) -> Page:
        """The page that has block i. If another block of it is damaged, the page has block i alone."""
        try:
            return self.page(i // self.layout.together)
        except DamagedError:
            return self.locate(i, alone=True)

    def block(self, i: int) -> Block:
        """Block i, without the entries that follow from its tables."""
        self.dataset.check_open()
        page = self.page_of(i)
        k = i - page.first
        pieces, parts, padding = (slice(pointers[k], pointers[k + 1]) for pointers in (page.piece_ptr, page.place_ptr, page.gap_ptr))
        places = list(zip(*(table[parts].tolist() for table in page.places)))
        if not self.sound[i]:
            self.check(places)
            self.sound[i] = True
        tables = self.tables(Pieces(*(None if table is None else table[pieces] for table in page.pieces)))
        empty = list(zip(page.gap[padding].tolist(), page.gap_end[padding].tolist()))
        block: Block = {self.dataset.key(name): self.field(name, places, empty) for name in self.options.fields}
        block.update(tables)
        return block

    def check(self, places: List[Tuple[int, int, int, int]]) -> None:
        """Checks the stored blocks that have the places. DamagedError: one of them is damaged. Warns once if they are compressed."""
        if not self.warned:
            self.warned = True
            warnings.warn(f"{self.dataset.path} is compressed: for every sequence of an epoch's block, bload decompresses the "
                          "whole block that stores it, unless that is among the last ones", stacklevel=5)
        for shard, step, _, _ in places:
            source, number = self.dataset.source_of(shard)
            source.check(number * source.info.blocks_per_shard + step // source.T)

    def tables(self, pieces: Pieces) -> Dict[str, Any]:
        """The tables of a block, in the form of stored ones."""
        S, n = self.dataset.S, len(pieces.start)
        end = pieces.start[-1] + pieces.length[-1] if n else 0
        tables: Dict[str, Any] = {"cu_seqlens": np.full(S + 1, end, np.int32), "num_sequences": np.int32(n)}
        tables["cu_seqlens"][:n] = pieces.start
        for name, dtype in self.dataset.table_types.items():
            if name not in ("cu_seqlens", "num_sequences", "segment_ids"):
                tables[name] = np.full(S, -1, dtype) if name == "sequence" else np.zeros(S, dtype)
        for name, values in self.dataset.values(pieces).items():
            tables[name][:n] = values
        return tables

    def field(self, name: str, places: List[Tuple[int, int, int, int]], empty: List[Tuple[int, int]]) -> Any:
        """A field of a block, [T, ...] or a list of T JPEG files: copies of the places, and padding."""
        dataset = self.dataset
        field, T = dataset.fields[name], dataset.T
        files = field.encoding == JPEG and not self.options.decode
        out: Any = [NO_FILE] * T if files else np.empty((T, *field.shape), field.dtype)
        steps: Optional[np.ndarray] = None
        opened = -1
        for shard, step, start, end in places:
            if shard != opened:
                steps, opened = dataset.shard(shard).flat.get(name), shard
            if steps is not None:
                out[start:end] = steps[step:step + end - start]
            else:
                source, number = dataset.source_of(shard)
                source.fill(number, name, step, out, start, end)
        for first, end in empty:
            self.pad(name, out, first, end)
        return out

    def pad(self, name: str, out: Any, first: int, end: int) -> None:
        """Fills steps first to end of out with padding, as bload pack does."""
        if self.repeat and first > 0:
            out[first:end] = [out[first - 1]] * (end - first) if isinstance(out, list) else out[first - 1]
        elif not isinstance(out, list):  # empty files stand for zeros, the padding of pictures
            out[first:end] = self.dataset.padding(name)
