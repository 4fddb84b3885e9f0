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
from .index import Pieces, Span
from .manifest import Field
from .stored import BlockStore, DatasetLike, Places

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


class Track(NamedTuple):
    """The places and the padding of a page's blocks on one axis; see Page and Field.axis.

    table: the name of the table with the places in a block. start: the first step of each piece, ascending in a block. stop: the end of the
    last piece of each block, or 0. places, I64 [n, 4]: where the parts of the pieces are stored; see Places. gaps, I64 [n, 2]: first step and
    end of padding.
    """
    table: str
    start: np.ndarray
    stop: List[int]
    place_ptr: List[int]
    places: np.ndarray
    gap_ptr: List[int]
    gaps: np.ndarray


class Page(NamedTuple):
    """The pieces of some consecutive blocks, located together.

    Block first + k has the entries ptr[k] to ptr[k + 1] - 1 of each group of tables. values: the table values of the pieces, [n] each; see
    BaseDataset._values. tracks: one for each axis of the fields that are read, the common one first.
    """
    first: int
    end: int
    piece_ptr: List[int]
    values: Dict[str, np.ndarray]
    tracks: List[Track]


def ends(owner: np.ndarray, count: int) -> List[int]:
    """Return where the entries of each of count owners begin, and the end; `owner` is ascending."""
    pointers: List[int] = np.searchsorted(owner, np.arange(count + 1)).tolist()
    return pointers


def gaps_of(pointers: np.ndarray, pieces: Span, T: int) -> Tuple[np.ndarray, np.ndarray]:
    """Return the steps of blocks of T steps that belong to no piece: the block of each gap, ascending, and its first step and end, I64 [n, 2]."""
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
    found, number = dataset._places(pieces, layout.path)
    tracks = [track_of(dataset, axis, pointers, pieces.span(axis), block[found[axis][0]], found[axis][1]) for axis in dataset._axes]
    return Page(first, end, pointers.tolist(), dataset._values(pieces._replace(number=number)), tracks)


def track_of(dataset: DatasetLike, axis: str, pointers: np.ndarray, pieces: Span, owner: np.ndarray, places: Places) -> Track:
    """Return the track of an axis. pointers: where the pieces of each block begin, and the end. owner: the block of each place."""
    count, size = len(pointers) - 1, dataset._info.fields[axis].capacity if axis else dataset.T
    # The order of the output is the fastest to write; but keep the parts of a compressed frame together.
    order = np.lexsort((places.step if dataset._compressed else places.start, places.shard, owner))
    gap_owner, gaps = gaps_of(pointers, pieces, size)
    stop = np.zeros(count, np.int64)
    used = np.flatnonzero(pointers[1:] > pointers[:-1])
    last = pointers[used + 1] - 1
    stop[used] = pieces.start[last] + pieces.length[last]
    return Track(dataset._info.fields[axis].table if axis else "cu_seqlens", pieces.start, stop.tolist(), ends(owner, count),
                 np.stack(places, 1)[order], ends(gap_owner, count), gaps)


class Composer:
    """Compose the blocks of a layout from what a dataset, or the sources of a view, store."""

    def __init__(self, dataset: DatasetLike, layout: Layout):
        self.dataset, self.layout, self.options = dataset, layout, dataset._options
        self.T, self.S = dataset.T, dataset.S
        fields = [dataset._info.fields[name] for name in self.options.fields]
        # For each axis its fields: their names in blocks, the bytes of a step, and whether they are padded.
        self.fields = [[(field, dataset._key(field.name), field.step_bytes, self.options.pad or not field.own)
                        for field in fields if field.axis == axis] for axis in dataset._axes]
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
        block: Block = {}
        for track, fields in zip(page.tracks, self.fields):
            places = track.places[track.place_ptr[k]:track.place_ptr[k + 1]].tolist()
            if not self.sound[i]:  # own steps, which follow, are stored in the same blocks as the common ones
                self.check(places)
                self.sound[i] = True
            first, end = track.gap_ptr[k], track.gap_ptr[k + 1]
            gaps = track.gaps[first:end].tolist() if first < end else []
            for field, key, size, pad in fields:
                block[key] = self.field(field, places, gaps, field.capacity if pad else track.stop[k], size)
        block.update(self.tables(page, k))
        return block

    def needs(self, i: int) -> List[Tuple[BlockStore, int]]:
        """Return the stored blocks of which block i is made, as Blocks._needs does."""
        page = self.page(*self.around(i)) if self.small else self.located(i, i + 1)
        k = i - page.first
        needed: Dict[Tuple[int, int], Tuple[BlockStore, int]] = {}
        track = page.tracks[0]  # own steps are stored in the same blocks as the common ones
        for shard, step, _, _ in track.places[track.place_ptr[k]:track.place_ptr[k + 1]].tolist():
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
        tables: Dict[str, Any] = {}
        for track in page.tracks:
            starts = tables[track.table] = np.empty(self.S + 1, np.int32)
            starts[:n], starts[n:] = track.start[first:end], track.stop[k]
        tables["num_sequences"] = np.int32(n)
        for name, values in page.values.items():
            table = tables[name] = self.unused[name].copy()
            table[:n] = values[first:end]
        return tables

    def field(self, field: Field, places: List[List[int]], gaps: List[List[int]], steps: int, size: int) -> Any:
        """Return the first steps, of `size` bytes, of a field of a block, [steps, ...] or a list of JPEG files: copies of the places, and padding."""
        dataset, name = self.dataset, field.name
        files = field.encoding == JPEG and not self.options.decode
        out: Any = [NO_FILE] * steps if files else np.empty((steps, *field.shape), field.dtype)
        memory = NO_FILE.data if files else out.reshape(-1).view(np.uint8).data
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
            self.pad(field, out, first, end, out[first - 1] if self.repeat and first > 0 else None)
        return out

    def runs(self, i: int, name: str, runs: List[Tuple[int, int]]) -> Any:
        """Return the steps of a common field of block i in these ranges, one after the other, as Blocks._runs does."""
        self.dataset._check_open()
        page = self.page_of(i)
        k, track = i - page.first, page.tracks[0]
        field, _, size, _ = next(one for one in self.fields[0] if one[0].name == name)
        places = track.places[track.place_ptr[k]:track.place_ptr[k + 1]].tolist()
        gaps = track.gaps[track.gap_ptr[k]:track.gap_ptr[k + 1]].tolist()
        at, here, padding = 0, [], []
        for first, end in runs:
            for shard, step, start, stop in places:
                low, high = max(first, start), min(end, stop)
                if low < high:
                    here.append([shard, step + low - start, at + low - first, at + high - first])
            for start, stop in gaps:
                low, high = max(first, start), min(end, stop)
                if low < high:
                    padding.append((at + low - first, at + high - first, start))
            at += end - first
        self.check(here)
        out = self.field(field, here, [], at, size)
        for first, end, start in padding:
            self.pad(field, out, first, end, self.runs(i, name, [(start - 1, start)])[0] if self.repeat and start > 0 else None)
        return out

    def pad(self, field: Field, out: Any, first: int, end: int, last: Any) -> None:
        """Fill steps first to end of out with padding, as bload pack does. last: the step before them if padding repeats it, or None."""
        if last is not None and not field.own:
            out[first:end] = [last] * (end - first) if isinstance(out, list) else last
        elif not isinstance(out, list):  # empty files stand for zeros, the padding of pictures
            out[first:end] = self.dataset._padding(field.name)
