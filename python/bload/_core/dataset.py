"""A packed dataset, open for reading."""
from __future__ import annotations

import functools
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from . import checksum
from .base import BaseDataset
from .blocks import Block
from .encoding import DELTA, RAW, decode_jpeg, join, undelta
from .errors import DamagedError, DependencyError
from .index import Index, Pieces, Span
from .locator import IndexLocator, Parts, parts_of
from .manifest import INDEX, PADDED, Field, Manifest
from .proof import Proof
from .seekable import Frames
from .sequences import FILE as SEQUENCES
from .sequences import Sequences
from .shard import Shard
from .shards import FILE as SHARDS
from .shards import read_entries
from .stored import BlockStore, Places, PlacesByAxis
from .tables import CHECKED, agree, offsets_agree, planned

LARGE_FRAME = 1 << 20  # bytes; larger frames are expensive if only a part of each is needed
# The most bytes of decompressed frames that a dataset keeps, and the most frames.
FRAME_BYTES, FRAMES = 64 << 20, 1024


class Dataset(BaseDataset):
    """A packed dataset and its stored blocks, opened by bload.open; BaseDataset describes the methods."""

    def __init__(self, path: str, info: Manifest, verify: bool, **options: Any):
        super().__init__(path, info, verify, **options)
        self._stored_plan = Index(self._open_file(INDEX), info)
        self._stored_plan.check_digest(info.plan_digest, verify)
        self._compressed = info.compressed
        self._has_large_frames = info.compressed and info.frame_size > LARGE_FRAME
        self._locator: Optional[IndexLocator] = None
        self._found_padding: Optional[Dict[str, np.ndarray]] = None
        self._agreed = np.zeros(self._info.blocks, np.bool_)
        self._columns = {name: column for column, name in enumerate(self.fields)}  # columns of the index's block_checksum
        self._proof = Proof(info, self._stored_plan) if info.compressed and self._storage.far else None
        if verify:
            self.shard_checksums = [entry.checksum for entry in read_entries(self._open_file(SHARDS), info)]
            self.sound_shards = np.zeros(self._info.shards, np.bool_)
            self.sound_blocks = np.zeros((self._info.blocks, len(self._info.fields)), np.bool_)
        # This cache is bounded and thread-safe, and has no lock that a forked worker could inherit while it is held.
        self._opened = functools.lru_cache(self._open_shards)(self._opener(self._resident // min(self._open_shards, self._info.shards)))
        self._shard, self._drop = self._opened, self._opened.cache_clear
        self._prepared: "weakref.WeakValueDictionary[int, Shard]" = weakref.WeakValueDictionary()  # shards that are still open

    def _opener(self, share: int) -> Callable[[int], Shard]:
        """Return a function that opens shards by number. `share` is the mapped bytes that a shard may keep; see MappedFile."""
        largest = max(1, *(field.block_bytes for field in self.fields.values()))
        self._frames = frames = Frames(max(1, min(FRAMES, FRAME_BYTES // min(largest, self._info.frame_size))))
        opener = self._storage.shards(self._info, self._index.block_checksum, list(self._options.fields))
        make = functools.partial(Shard, opener, self._info, frames, self._checked or self._proof is not None, share)
        return make if self._proof is None else functools.partial(self._proof.opened, make)

    def close(self) -> None:
        self.closed = True
        self._known = None
        self._storage.close()
        self._opened.cache_clear()

    @property
    def _index(self) -> Index:
        return self._stored_plan

    def _open_sequences(self) -> Sequences:
        return self._proof.sequences if self._proof is not None else Sequences(self._open_file(SEQUENCES), self._info.attributes)

    @property
    def _all_agreed(self) -> bool:
        return bool(self._agreed.all())

    @property
    def _far(self) -> bool:
        return self._storage.far

    @property
    def _unit(self) -> int:
        return self._storage.unit

    def _needs(self, i: int) -> List[Tuple[BlockStore, int]]:
        return [(self, i)]

    def _prepare(self, i: int) -> None:
        """Fetch what block i stores of the fields that are read."""
        number, row = divmod(i, self._info.blocks_per_shard)
        shard = self._prepared[number] = self._shard(number)
        for name in self._options.fields:
            shard.prepare(self.fields[name], row)

    def _ready(self, i: int) -> bool:
        """Return whether block i can be read without a request. The answer is False for a shard from which nothing was prepared."""
        number, row = divmod(i, self._info.blocks_per_shard)
        shard = self._prepared.get(number)
        return shard is not None and all(shard.ready(self.fields[name], row) for name in self._options.fields)

    # --- reading --------------------------------------------------------------------------------------------------

    def _block(self, i: int) -> Block:
        tables = self._tables(i)
        block: Block = {self._key(name): self._steps(i, name, 0, self.T, self._writable) for name in self._common}
        for name in self._axes[1:]:
            block[name] = self._own_steps(i, self.fields[name], int(tables[f"{name}_cu_seqlens"][-1]))
        block.update(tables)
        return self._complete(block)

    def _runs(self, i: int, field: str, runs: List[Tuple[int, int]]) -> Any:
        self._check_open()
        self._check(i)
        return join([self._steps(i, field, first, end) for first, end in runs or [(0, 0)]])

    def _own_steps(self, i: int, field: Field, count: int) -> np.ndarray:
        """Return the steps of block i in a field that has steps of its own: `count` of them, and padding."""
        if field.storage == PADDED or not self._options.pad:
            stored: np.ndarray = self._steps(i, field.name, 0, field.capacity if self._options.pad else count, self._writable)
            return stored
        out = np.full((field.capacity, *field.shape), field.pad, field.dtype) if field.pad else \
            np.zeros((field.capacity, *field.shape), field.dtype)
        number, row = divmod(i, self._info.blocks_per_shard)
        shard = self._shard(number)
        if field.name in shard.begins:
            shard.file.fill(shard.offset(field, row, 0), out[:count].reshape(-1).view(np.uint8))
        else:
            out[:count] = self._steps(i, field.name, 0, count)
        return out

    def _tables(self, i: int) -> Dict[str, np.ndarray]:
        """Return the tables of block i; raise DamagedError if they differ from the index."""
        self._check_open()
        self._check(i)
        number, row = divmod(i, self._info.blocks_per_shard)
        return self._shard(number).row(self._table_names, row)

    def _check(self, i: int) -> None:
        """Compare the tables of block i with the index unless that was done before; raise DamagedError if they differ."""
        if not self._agreed[i]:
            number, row = divmod(i, self._info.blocks_per_shard)
            self._check_tables(self._shard(number), number, row)

    def _check_tables(self, shard: Shard, number: int, row: int) -> None:
        """Compare the tables of a block and its neighbours with the index; if they differ, check the block alone."""
        if self._proof is not None:  # the proof compared_field all tables when the shard was opened
            first = number * self._info.blocks_per_shard
            self._agreed[first:first + shard.blocks] = True
            return
        if self._checked and not self.sound_shards[number]:
            self._check_shard(shard, number)
        if not shard.has_sound_offsets:
            if not offsets_agree(shard, self._index, number * self._info.blocks_per_shard):
                raise DamagedError(f"its offsets differ from {INDEX}", shard.path)
            shard.has_sound_offsets = True
        some = max(1, CHECKED // self.S)
        begin = row - row % some
        try:
            self._check_rows(shard, number, begin, min(begin + some, shard.blocks))
        except DamagedError:
            self._check_rows(shard, number, row, row + 1)

    def _check_rows(self, shard: Shard, number: int, begin: int, end: int) -> None:
        """Compare the tables of rows begin to end of a shard with the index; raise DamagedError if they differ."""
        stored = {name: shard.whole(name)[begin:end] for name in self._table_types}
        first = number * self._info.blocks_per_shard
        if not agree(stored, planned(self._index, first + begin, first + end)):
            raise DamagedError(f"the tables of block {first + begin} differ from {INDEX}", shard.path)
        self._agreed[first + begin:first + end] = True

    def _steps(self, i: int, name: str, first: int, end: int, own: bool = False) -> Any:
        """Return steps first to end of a field of block i: an array [end - first, ...], or a list of JPEG files.

        `own` makes the array writable. Raises DamagedError for a wrong checksum, or a picture that cannot be decoded.
        """
        number, row = divmod(i, self._info.blocks_per_shard)
        shard, field = self._shard(number), self.fields[name]
        own = own and field.encoding == RAW
        stored: Any
        if self._proof is not None:
            stored = self._checked_field(i, name, (first, end) == (0, shard.steps(field, row)), own)[first:end]
        elif self._checked and ((first, end) == (0, shard.steps(field, row)) or not self.sound_blocks[i, self._columns[name]]):
            whole = shard.stored(field, row, 0, shard.steps(field, row), own)
            self._check_block(shard, i, name, whole)
            stored = whole[first:end]
        else:
            stored = shard.stored(field, row, first, end, own)
        if field.encoding == RAW or not self._options.decode:
            return stored
        if field.encoding == DELTA:
            return undelta(stored)
        try:
            return decode_jpeg(stored, field.shape)
        except ValueError as error:
            raise DamagedError(f"block {i} of {name}: {error}", shard.path) from None
        except DependencyError as error:
            raise DependencyError(error.fault, shard.path) from None

    def _checked_field(self, i: int, name: str, whole: bool, own: bool) -> np.ndarray:
        """Return a field of block i as stored, after comparing it with its checksum.

        `whole` says that the caller uses all of it; otherwise the block is kept, because another part of it may be needed soon. On a wrong
        checksum the shard is fetched once more; DamagedError means that the second copy is wrong, too.
        """
        if not whole:
            return self._frames.keep((name, i), functools.partial(self._checked_field, i, name, True, own))
        try:
            return self._compared_field(i, name, own)
        except DamagedError:
            self._storage.forget(self._info.shard_name(i // self._info.blocks_per_shard))
        return self._compared_field(i, name, own)

    def _compared_field(self, i: int, name: str, own: bool) -> np.ndarray:
        """Return a field of block i as `checked_field` does, without a second try."""
        number, row = divmod(i, self._info.blocks_per_shard)
        shard = self._shard(number)
        try:
            field = self.fields[name]
            stored: np.ndarray = shard.stored(field, row, 0, shard.steps(field, row), own)
            self._check_block(shard, i, name, stored)
        except DamagedError:
            self._drop()  # close the shard, because its seek table may be wrong
            raise
        return stored

    def _block_of(self, number: int, name: str, step: int) -> Tuple[int, int]:
        """Return the block that stores a step of a field, counted from the first one in shard `number`, and its number in the block."""
        field = self.fields[name]
        row, first = divmod(step, field.capacity) if field.storage == PADDED else self._shard(number).row_of(field, step)
        return number * self._info.blocks_per_shard + row, first

    def _fill(self, number: int, name: str, step: int, out: Any, start: int, end: int) -> None:
        """Copy steps of a field into steps start to end of out, [T, ...] or a list: those of shard `number` from `step` on."""
        block, first = self._block_of(number, name, step)
        out[start:end] = self._steps(block, name, first, first + end - start)

    def _verify_block(self, i: int) -> None:
        """Compare all that block i stores with its checksums, if opened with verify; raise DamagedError if something differs."""
        self._check_open()
        self._with_place(f"block {i}: ", functools.partial(self._check, i))
        for name in self._options.fields:
            self._with_place(f"block {i} of {name}: ", functools.partial(self._whole, i, name))

    def _whole(self, i: int, name: str) -> Any:
        """Return all that block i stores of a field."""
        number, row = divmod(i, self._info.blocks_per_shard)
        return self._steps(i, name, 0, self._shard(number).steps(self.fields[name], row))

    @staticmethod
    def _with_place(what: str, read: Callable[[], Any]) -> None:
        """Call `read`, and add what was read to a DamagedError that names no block."""
        try:
            read()
        except DamagedError as error:
            if "block " in error.fault:
                raise
            raise DamagedError(what + error.fault, error.path) from None

    def _check_shard(self, shard: Shard, number: int) -> None:
        """Verify a shard's header and tables, and a compressed shard completely; raise DamagedError for a wrong checksum."""
        first = number * self._info.blocks_per_shard
        if shard.digest(self._index.block_checksum[first:first + shard.blocks]) != self.shard_checksums[number]:
            raise DamagedError("wrong checksum: the file is damaged", shard.path)
        self.sound_shards[number] = True

    def _check_block(self, shard: Shard, i: int, field: str, data: Any) -> None:
        """Verify the stored bytes of a field of block i; raise DamagedError for a wrong checksum."""
        number = self._columns[field]
        if checksum.xxh3(data) != int(self._index.block_checksum[i, number]) % (1 << 64):
            raise DamagedError(f"block {i} of {field}: wrong checksum", shard.path)
        if self._checked:
            self.sound_blocks[i, number] = True

    # --- for blocks that are composed --------------------------------------------------------------------------------

    def _index_locator(self) -> IndexLocator:
        """Return the locator, which is made on first use because it sorts all pieces."""
        if self._locator is None:
            self._locator = IndexLocator(self._index)
        return self._locator

    def _stored_parts(self, row: int) -> Tuple[Pieces, Dict[str, Places]]:
        numbers = self._index_locator().order[self._index_locator().of(row)]
        index, repeated = self._index, self._index.repeated_steps(numbers)
        own = {name: Span(index.own[name].length[numbers], np.zeros(len(numbers), np.int64)) for name in self._axes[1:]}
        pieces = Pieces(index.sequence[numbers], index.source_start[numbers] + repeated, index.length[numbers] - repeated,
                        index.start[numbers] + repeated, None, own)
        if pieces.length.min(initial=1) < 1:
            raise DamagedError(f"a piece of row {row} has no steps except those of the previous piece", index.path)
        parts = {axis: parts_of(pieces.span(axis), numbers) for axis in self._axes}
        parts[""] = parts[""]._replace(skip=repeated, start=np.zeros(len(numbers), np.int64))
        return pieces, {axis: self._places_of(axis, parts[axis]) for axis in self._axes}

    def _places(self, pieces: Pieces, plan: str) -> Tuple[PlacesByAxis, Optional[np.ndarray]]:
        numbers = pieces.number
        if numbers is not None:
            parts = {axis: parts_of(pieces.own[axis], numbers) for axis in self._axes[1:]}
            parts[""] = Parts(np.arange(len(numbers)), numbers, np.int64(0), pieces.start, pieces.length)
        else:
            locator = self._index_locator()
            found = locator.find(pieces, plan)
            numbers = locator.order[found.entry]
            if len(numbers) != len(pieces.start) or (self._index.length[numbers] != pieces.length).any():
                raise DamagedError("it has pieces that are not stored as such", plan)
            parts = {axis: locator.find_own(axis, pieces, found, plan) if axis else found for axis in self._axes}
            parts = {axis: one._replace(entry=locator.order[one.entry]) for axis, one in parts.items()}
        return {axis: (one.piece, self._places_of(axis, one)) for axis, one in parts.items()}, numbers

    def _places_of(self, axis: str, parts: Parts) -> Places:
        """Return where parts of stored pieces are on an axis; their entries are numbers of pieces in the index."""
        index, blocks = self._index, self._index.blocks_of(parts.entry)
        start = index.own[axis].start if axis else index.start
        shard, row = np.divmod(blocks, self._info.blocks_per_shard)
        first = index.first_steps(self.fields[axis], blocks) if axis else row * self.T
        return Places(shard, first + start[parts.entry] + parts.skip, parts.start, parts.start + parts.length)

    def _values(self, pieces: Pieces) -> Dict[str, Any]:
        """Return the table values of the stored blocks that contain the pieces; a failed sequence has row -1 and length 0."""
        assert pieces.number is not None
        blocks = self._index.blocks_of(pieces.number)
        places = pieces.number - self._index.block_ptr[blocks]
        names = [name for name in self._table_names if name not in ("num_sequences", "segment_ids") and name not in self._info.place_tables]
        values: Dict[str, Any] = {name: np.empty(len(blocks), self._table_types[name]) for name in names}
        shards, rows = np.divmod(blocks, self._info.blocks_per_shard)
        for number in np.unique(shards).tolist():
            here = np.flatnonzero(shards == number)
            shard = self._shard(number)
            for name in names:
                values[name][here] = shard.whole(name)[rows[here], places[here]]
        return values

    def _source_of(self, shard: int) -> Tuple["Dataset", int]:
        return self, shard

    def _padding(self, name: str) -> Any:
        """Return one step of a field's padding: from the manifest, else copied from the dataset, or 0 if the dataset has no padding."""
        pad = self.fields[name].pad
        if pad is not None:
            return pad
        if self._found_padding is None:
            self._found_padding = self._find_padding()
        return self._found_padding.get(name, 0)

    def _find_padding(self) -> Dict[str, np.ndarray]:
        """Return one step of padding of each field, copied from the dataset; empty if the dataset has no padding."""
        place = self._index.gap(pieces=self._info.configuration.get("pad") != "repeat")
        if place is None:
            return {}
        block, step = place
        self._check(block)
        return {name: self._steps(block, name, step, step + 1)[0].copy() for name in self._options.fields if name in self._common}
