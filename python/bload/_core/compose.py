"""Compose blocks of stored pieces, for views and for epochs other than the stored one."""
from __future__ import annotations

import functools
import itertools
import operator
import warnings
from typing import Any, Dict, List, NamedTuple, Optional, Protocol, Tuple

import numpy as np

from .blocks import Block
from .encoding import JPEG
from .errors import DamagedError
from .index import Pieces
from .stored import BlockStore, DatasetLike

LOCATED = 1 << 12  # pieces of neighbouring blocks to locate at a time: many cost little more than one
KEPT = 1 << 20     # the most pieces whose places and values are kept, about 80 bytes each
NO_FILE = np.zeros(0, np.uint8)
SHARD = operator.itemgetter(0)  # the shard of an entry of Page.places


class Layout(Protocol):
    """Which pieces the blocks have. path: the file that says so. together: how many neighbouring blocks to locate at a time."""
    path: str
    together: int

    def of(self, first: int, end: int) -> Tuple[np.ndarray, Pieces]:
        """Return the pieces of blocks first to end, as Plan.of does."""
        ...


class Page(NamedTuple):
    """The pieces, places and padding of some consecutive blocks, located together.

    Block first + k has the entries ptr[k] to ptr[k + 1] - 1 of each group of tables. start: the first step of each piece, ascending in a block.
    stop: the end of the last piece of each block, or 0. values: the table values of the pieces, [n] each; see BaseDataset._values. places,
    I64 [n, 4]: where the parts of the pieces are stored; see Places. gaps, I64 [n, 2]: first step and end of padding.
    """
    first: int
    end: int
    piece_ptr: List[int]
    start: np.ndarray
    stop: List[int]
    values: Dict[str, np.ndarray]
    place_ptr: List[int]
    places: np.ndarray
    gap_ptr: List[int]
    gaps: np.ndarray


def ends(owner: np.ndarray, count: int) -> List[int]:
    """Return where the entries of each of count owners begin, and the end; `owner` is ascending."""
    pointers: List[int] = np.searchsorted(owner, np.arange(count + 1)).tolist()
    return pointers


def gaps_of(pointers: np.ndarray, pieces: Pieces, T: int) -> Tuple[np.ndarray, np.ndarray]:
    """Return the steps of blocks that belong to no piece: the block of each gap, ascending, and its first step and end, I64 [n, 2]."""
    blocks = np.arange(len(pointers) - 1)
    at = pointers[1:] + blocks  # the last gap of each block, which ends at T: a block has one gap more than pieces
    begin, end = gaps = np.zeros((2, len(pieces.start) + len(blocks)), np.int64)
    owner = np.repeat(blocks, np.diff(pointers) + 1)
    inner = np.ones(len(end), np.bool_)
    inner[at] = False
    end[at], end[inner] = T, pieces.start
    begin[1:][inner[:-1]] = pieces.start + pieces.length
    there = np.flatnonzero(begin < end)
    return owner[there], gaps[:, there].T


def locate(dataset: DatasetLike, layout: Layout, first: int, end: int) -> Page:
    """Return the page of blocks first to end; raise DamagedError if one of them is damaged."""
    pointers, pieces = layout.of(first, end)
    block = np.repeat(np.arange(end - first), np.diff(pointers))
    piece, places, number = dataset._places(pieces, layout.path)
    # The order of the output is the fastest to write; but keep the parts of a compressed frame together.
    order = np.lexsort((places.step if dataset._compressed else places.start, places.shard, block[piece]))
    owner, gaps = gaps_of(pointers, pieces, dataset.T)
    stop = np.zeros(end - first, np.int64)
    used = np.flatnonzero(pointers[1:] > pointers[:-1])
    last = pointers[used + 1] - 1
    stop[used] = pieces.start[last] + pieces.length[last]
    return Page(first, end, pointers.tolist(), pieces.start, stop.tolist(), dataset._values(pieces._replace(number=number)),
                ends(block[piece], end - first), np.stack(places, 1)[order], ends(owner, end - first), gaps)


class Composer:
    """Compose the blocks of a layout from what a dataset, or the sources of a view, store."""

    def __init__(self, dataset: DatasetLike, layout: Layout):
        self.dataset, self.layout, self.options = dataset, layout, dataset._options
        self.T, self.S = dataset.T, dataset.S
        self.names = [(name, dataset._key(name)) for name in self.options.fields]
        # The tables of a block without sequences: to copy them costs less than to make them.
        self.unused = {name: np.full(self.S, -1 if name == "sequence" else 0, dtype) for name, dtype in dataset._table_types.items()}
        self.sound = np.zeros(dataset._info.blocks, np.bool_)  # whether the stored blocks that block i needs were all checked
        # Keep pages if most of the plan fits, and while blocks are read in order.
        self.located = functools.partial(locate, dataset, layout)
        self.page = functools.lru_cache(max(2, KEPT // LOCATED))(self.located)
        self.small, self.last = dataset._index.pieces <= KEPT, -1
        self.recent: Optional[Page] = None  # the page of the last block; threads may replace it at any time
        self.warned = not dataset._has_large_frames
        self.repeat = dataset._info.configuration.get("pad") == "repeat"

    def page_of(self, i: int) -> Page:
        """Return a page that contains block i: of that block alone if the page would have damaged blocks, or blocks are not read in order."""
        recent = self.recent
        if recent is not None and recent.first <= i < recent.end:
            self.last = i
            return recent
        follows, self.last = i == self.last + 1, i
        if follows or self.small:
            try:
                self.recent = page = self.page(*self.around(i))
                return page
            except DamagedError:
                pass
        return self.located(i, i + 1)

    def block(self, i: int) -> Block:
        """Return block i, without the entries that follow from its tables."""
        self.dataset._check_open()
        page = self.page_of(i)
        k = i - page.first
        places = page.places[page.place_ptr[k]:page.place_ptr[k + 1]].tolist()
        if not self.sound[i]:
            self.check(places)
            self.sound[i] = True
        first, end = page.gap_ptr[k], page.gap_ptr[k + 1]
        gaps = page.gaps[first:end].tolist() if first < end else []
        block: Block = {key: self.field(name, places, gaps) for name, key in self.names}
        block.update(self.tables(page, k))
        return block

    def needs(self, i: int) -> List[Tuple[BlockStore, int]]:
        """Return the stored blocks of which block i is made, as Blocks._needs does."""
        page = self.page(*self.around(i)) if self.small else self.located(i, i + 1)
        k = i - page.first
        needed: Dict[Tuple[int, int], Tuple[BlockStore, int]] = {}
        for shard, step, _, _ in page.places[page.place_ptr[k]:page.place_ptr[k + 1]].tolist():
            source, number = self.dataset._source_of(shard)
            row = step // source.T
            needed[shard, row] = source, number * source._info.blocks_per_shard + row
        return list(needed.values())

    def around(self, i: int) -> Tuple[int, int]:
        """Return the first block of the page that contains block i, and the end of its blocks."""
        first = i - i % self.layout.together
        return first, min(first + self.layout.together, self.dataset._info.blocks)

    def check(self, places: List[List[int]]) -> None:
        """Check the stored blocks that contain the places, and raise DamagedError if one is damaged. Warns once if they are compressed."""
        if not self.warned:
            self.warned = True
            warnings.warn(f"{self.dataset.path} is compressed: for every sequence of a block, bload decompresses the whole block that stores "
                          "it, unless that is among the last ones; --frame-size 256K of bload pack avoids that", stacklevel=5)
        new = False
        for shard, here in itertools.groupby(places, SHARD):
            source, number = self.dataset._source_of(shard)
            first, T, agreed = number * source._info.blocks_per_shard, source.T, source._agreed
            for _, step, _, _ in here:
                if not agreed[first + step // T]:
                    source._check(first + step // T)
                    new = True
        if new and self.dataset._all_agreed:  # all stored blocks are checked, so no further check is needed
            self.sound[:] = True

    def tables(self, page: Page, k: int) -> Dict[str, Any]:
        """Return the tables of block k of a page, in the form of stored ones."""
        first, end = page.piece_ptr[k], page.piece_ptr[k + 1]
        n = end - first
        starts = np.empty(self.S + 1, np.int32)
        starts[:n], starts[n:] = page.start[first:end], page.stop[k]
        tables: Dict[str, Any] = {"cu_seqlens": starts, "num_sequences": np.int32(n)}
        for name, values in page.values.items():
            table = tables[name] = self.unused[name].copy()
            table[:n] = values[first:end]
        return tables

    def field(self, name: str, places: List[List[int]], gaps: List[List[int]]) -> Any:
        """Return a field of a block, [T, ...] or a list of T JPEG files: copies of the places, and padding."""
        dataset = self.dataset
        field, T = dataset._info.fields[name], self.T
        files = field.encoding == JPEG and not self.options.decode
        out: Any = [NO_FILE] * T if files else np.empty((T, *field.shape), field.dtype)
        memory, size = (NO_FILE.data, 0) if files else (out.reshape(-1).view(np.uint8).data, out.nbytes // T)
        for shard, here in itertools.groupby(places, SHARD):
            there = dataset._shard(shard)
            begin = there.begins.get(name)
            if begin is not None:
                there.file.gather(begin, size, here, memory)
                continue
            source, number = dataset._source_of(shard)
            for _, step, start, end in here:
                source._fill(number, name, step, out, start, end)
        for first, end in gaps:
            self.pad(name, out, first, end)
        return out

    def pad(self, name: str, out: Any, first: int, end: int) -> None:
        """Fill steps first to end of out with padding, as bload pack does."""
        if self.repeat and first > 0:
            out[first:end] = [out[first - 1]] * (end - first) if isinstance(out, list) else out[first - 1]
        elif not isinstance(out, list):  # empty files stand for zeros, the padding of pictures
            out[first:end] = self.dataset._padding(name)
