"""A packed dataset, open for reading."""
from __future__ import annotations

import functools
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from . import checksum
from .base import BaseDataset
from .blocks import Block
from .encoding import DELTA, RAW, decode_jpeg, undelta
from .errors import DamagedError, DependencyError
from .index import Index, Pieces
from .locator import IndexLocator
from .manifest import INDEX, Manifest
from .proof import Proof
from .safetensors import bytes_of
from .seekable import Frames
from .sequences import FILE as SEQUENCES
from .sequences import Sequences
from .shard import Shard
from .shards import FILE as SHARDS
from .shards import read_entries
from .stored import BlockStore, Places
from .tables import CHECKED, agree, planned

LARGE_FRAME = 1 << 20  # bytes; larger frames are expensive if only a part of each is needed
# The most bytes of decompressed frames that a dataset keeps, and the most frames.
FRAME_BYTES, FRAMES = 64 << 20, 1024


class Dataset(BaseDataset):
    """A packed dataset and its stored blocks, opened by bload.open; BaseDataset describes the methods."""

    def __init__(self, path: str, info: Manifest, verify: bool, **options: Any):
        super().__init__(path, info, verify, **options)
        self.stored_plan = Index(self.open_file(INDEX), info)
        self.stored_plan.check_digest(info.plan_digest, verify)
        self.compressed = info.compressed
        self.has_large_frames = info.compressed and info.frame_size > LARGE_FRAME
        self.locator: Optional[IndexLocator] = None
        self.found_padding: Optional[Dict[str, np.ndarray]] = None
        self.agreed = np.zeros(self.info.blocks, np.bool_)
        self.columns = {name: column for column, name in enumerate(self.fields)}  # columns of the index's block_checksum
        self.proof = Proof(info, self.stored_plan) if info.compressed and self.storage.far else None
        if verify:
            self.shard_checksums = [entry.checksum for entry in read_entries(self.open_file(SHARDS), info)]
            self.sound_shards = np.zeros(self.info.shards, np.bool_)
            self.sound_blocks = np.zeros((self.info.blocks, len(self.info.fields)), np.bool_)
        # This cache is bounded and thread-safe, and has no lock that a forked worker could inherit while it is held.
        self.opened = functools.lru_cache(self.open_shards)(self.opener(self.resident // min(self.open_shards, self.info.shards)))
        self.shard, self.drop = self.opened, self.opened.cache_clear
        self.prepared: "weakref.WeakValueDictionary[int, Shard]" = weakref.WeakValueDictionary()  # shards that are still open

    def opener(self, share: int) -> Callable[[int], Shard]:
        """Return a function that opens shards by number. `share` is the mapped bytes that a shard may keep; see MappedFile."""
        largest = max(bytes_of(field.stored, (self.T, *field.shape)) for field in self.fields.values())
        self.frames = frames = Frames(max(1, min(FRAMES, FRAME_BYTES // min(largest, self.info.frame_size))))
        opener = self.storage.shards(self.info, self.index.block_checksum, list(self.options.fields))
        make = functools.partial(Shard, opener, self.info, frames, self.checked or self.proof is not None, share)
        return make if self.proof is None else functools.partial(self.proof.opened, make)

    def close(self) -> None:
        self.closed = True
        self.known = None
        self.storage.close()
        self.opened.cache_clear()

    @property
    def index(self) -> Index:
        return self.stored_plan

    def open_sequences(self) -> Sequences:
        return self.proof.sequences if self.proof is not None else Sequences(self.open_file(SEQUENCES), self.info.attributes)

    @property
    def all_agreed(self) -> bool:
        return bool(self.agreed.all())

    @property
    def far(self) -> bool:
        return self.storage.far

    @property
    def unit(self) -> int:
        return self.storage.unit

    def needs(self, i: int) -> List[Tuple[BlockStore, int]]:
        return [(self, i)]

    def prepare(self, i: int) -> None:
        """Fetch what block i stores of the fields that are read."""
        number, row = divmod(i, self.info.blocks_per_shard)
        shard = self.prepared[number] = self.shard(number)
        for name in self.options.fields:
            shard.prepare(self.fields[name], row)

    def ready(self, i: int) -> bool:
        """Return whether block i can be read without a request. The answer is False for a shard from which nothing was prepared."""
        number, row = divmod(i, self.info.blocks_per_shard)
        shard = self.prepared.get(number)
        return shard is not None and all(shard.ready(self.fields[name], row) for name in self.options.fields)

    # --- reading --------------------------------------------------------------------------------------------------

    def block(self, i: int) -> Block:
        tables = self.tables(i)
        block: Block = {self.key(name): self.steps(i, name, 0, self.T, self.writable) for name in self.options.fields}
        block.update(tables)
        return self.complete(block)

    def tables(self, i: int) -> Dict[str, np.ndarray]:
        """Return the tables of block i; raise DamagedError if they differ from the index."""
        self.check_open()
        self.check(i)
        number, row = divmod(i, self.info.blocks_per_shard)
        return self.shard(number).row(self.table_names, row)

    def check(self, i: int) -> None:
        """Compare the tables of block i with the index unless that was done before; raise DamagedError if they differ."""
        if not self.agreed[i]:
            number, row = divmod(i, self.info.blocks_per_shard)
            self.check_tables(self.shard(number), number, row)

    def check_tables(self, shard: Shard, number: int, row: int) -> None:
        """Compare the tables of a block and its neighbours with the index; if they differ, check the block alone."""
        if self.proof is not None:  # the proof compared_field all tables when the shard was opened
            first = number * self.info.blocks_per_shard
            self.agreed[first:first + shard.blocks] = True
            return
        if self.checked and not self.sound_shards[number]:
            self.check_shard(shard, number)
        some = max(1, CHECKED // self.S)
        begin = row - row % some
        try:
            self.check_rows(shard, number, begin, min(begin + some, shard.blocks))
        except DamagedError:
            self.check_rows(shard, number, row, row + 1)

    def check_rows(self, shard: Shard, number: int, begin: int, end: int) -> None:
        """Compare the tables of rows begin to end of a shard with the index; raise DamagedError if they differ."""
        stored = {name: shard.whole(name)[begin:end] for name in self.table_names}
        first = number * self.info.blocks_per_shard
        if not agree(stored, planned(self.index, first + begin, first + end)):
            raise DamagedError(f"the tables of block {first + begin} differ from {INDEX}", shard.path)
        self.agreed[first + begin:first + end] = True

    def steps(self, i: int, name: str, first: int, end: int, own: bool = False) -> Any:
        """Return steps first to end of a field of block i: an array [end - first, ...], or a list of JPEG files.

        `own` makes the array writable. Raises DamagedError for a wrong checksum, or a picture that cannot be decoded.
        """
        number, row = divmod(i, self.info.blocks_per_shard)
        shard, field = self.shard(number), self.fields[name]
        own = own and field.encoding == RAW
        stored: Any
        if self.proof is not None:
            stored = self.checked_field(i, name, (first, end) == (0, self.T), own)[first:end]
        elif self.checked and ((first, end) == (0, self.T) or not self.sound_blocks[i, list(self.fields).index(name)]):
            whole = shard.stored(field, row, 0, self.T, own)
            self.check_block(shard, i, name, whole)
            stored = whole[first:end]
        else:
            stored = shard.stored(field, row, first, end, own)
        if field.encoding == RAW or not self.options.decode:
            return stored
        if field.encoding == DELTA:
            return undelta(stored)
        try:
            return decode_jpeg(stored, field.shape)
        except ValueError as error:
            raise DamagedError(f"block {i} of {name}: {error}", shard.path) from None
        except DependencyError as error:
            raise DependencyError(error.fault, shard.path) from None

    def checked_field(self, i: int, name: str, whole: bool, own: bool) -> np.ndarray:
        """Return a field of block i as stored, after comparing it with its checksum.

        `whole` says that the caller uses all of it; otherwise the block is kept, because another part of it may be needed soon. On a wrong
        checksum the shard is fetched once more; DamagedError means that the second copy is wrong, too.
        """
        if not whole:
            return self.frames.keep((name, i), functools.partial(self.checked_field, i, name, True, own))
        try:
            return self.compared_field(i, name, own)
        except DamagedError:
            self.storage.forget(self.info.shard_name(i // self.info.blocks_per_shard))
        return self.compared_field(i, name, own)

    def compared_field(self, i: int, name: str, own: bool) -> np.ndarray:
        """Return a field of block i as `checked_field` does, without a second try."""
        number, row = divmod(i, self.info.blocks_per_shard)
        shard = self.shard(number)
        try:
            stored: np.ndarray = shard.stored(self.fields[name], row, 0, self.T, own)
            self.check_block(shard, i, name, stored)
        except DamagedError:
            self.drop()  # close the shard, because its seek table may be wrong
            raise
        return stored

    def fill(self, number: int, name: str, step: int, out: Any, start: int, end: int) -> None:
        """Copy steps of a field into steps start to end of out, [T, ...] or a list: those of shard `number` from `step` on."""
        row, first = divmod(step, self.T)
        out[start:end] = self.steps(number * self.info.blocks_per_shard + row, name, first, first + end - start)

    def verify_block(self, i: int) -> None:
        """Compare all that block i stores with its checksums, if opened with verify; raise DamagedError if something differs."""
        self.check_open()
        self.with_place(f"block {i}: ", functools.partial(self.check, i))
        for name in self.options.fields:
            self.with_place(f"block {i} of {name}: ", functools.partial(self.steps, i, name, 0, self.T))

    @staticmethod
    def with_place(what: str, read: Callable[[], Any]) -> None:
        """Call `read`, and add what was read to a DamagedError that names no block."""
        try:
            read()
        except DamagedError as error:
            if "block " in error.fault:
                raise
            raise DamagedError(what + error.fault, error.path) from None

    def check_shard(self, shard: Shard, number: int) -> None:
        """Verify a shard's header and tables, and a compressed shard completely; raise DamagedError for a wrong checksum."""
        first = number * self.info.blocks_per_shard
        if shard.digest(self.index.block_checksum[first:first + shard.blocks]) != self.shard_checksums[number]:
            raise DamagedError("wrong checksum: the file is damaged", shard.path)
        self.sound_shards[number] = True

    def check_block(self, shard: Shard, i: int, field: str, data: Any) -> None:
        """Verify the stored bytes of a field of block i; raise DamagedError for a wrong checksum."""
        number = self.columns[field]
        if checksum.xxh3(data) != int(self.index.block_checksum[i, number]) % (1 << 64):
            raise DamagedError(f"block {i} of {field}: wrong checksum", shard.path)
        if self.checked:
            self.sound_blocks[i, number] = True

    # --- for blocks that are composed --------------------------------------------------------------------------------

    def index_locator(self) -> IndexLocator:
        """Return the locator, which is made on first use because it sorts all pieces."""
        if self.locator is None:
            self.locator = IndexLocator(self.index)
        return self.locator

    def stored_parts(self, row: int) -> Tuple[Pieces, Places]:
        numbers = self.index_locator().order[self.index_locator().of(row)]
        index, repeated = self.index, self.index.repeated_steps(numbers)
        pieces = Pieces(index.sequence[numbers], index.source_start[numbers] + repeated, index.length[numbers] - repeated,
                        index.start[numbers] + repeated)
        if pieces.length.min(initial=1) < 1:
            raise DamagedError(f"a piece of row {row} has no steps except those of the previous piece", index.path)
        return pieces, self.places_of(numbers, repeated, np.zeros(len(numbers), np.int64), pieces.length)

    def places(self, pieces: Pieces, plan: str) -> Tuple[np.ndarray, Places, Optional[np.ndarray]]:
        if pieces.number is not None:
            return np.arange(len(pieces.number)), self.places_of(pieces.number, np.int64(0), pieces.start, pieces.length), pieces.number
        parts = self.index_locator().find(pieces, plan)
        numbers = self.index_locator().order[parts.entry]
        if len(numbers) != len(pieces.start) or (self.index.length[numbers] != pieces.length).any():
            raise DamagedError("it has pieces that are not stored as such", plan)
        return parts.piece, self.places_of(numbers, parts.skip, parts.start, parts.length), numbers

    def places_of(self, numbers: np.ndarray, skip: Any, start: np.ndarray, length: np.ndarray) -> Places:
        """Return where `length` steps of stored pieces are, after the first `skip`."""
        shard, row = np.divmod(self.index.blocks_of(numbers), self.info.blocks_per_shard)
        return Places(shard, row * self.T + self.index.start[numbers] + skip, start, start + length)

    def values(self, pieces: Pieces) -> Dict[str, Any]:
        """Return the table values of the stored blocks that contain the pieces; a failed sequence has row -1 and length 0."""
        assert pieces.number is not None
        blocks = self.index.blocks_of(pieces.number)
        places = pieces.number - self.index.block_ptr[blocks]
        names = [name for name in self.table_names if name not in ("cu_seqlens", "num_sequences", "segment_ids")]
        values: Dict[str, Any] = {name: np.empty(len(blocks), self.table_types[name]) for name in names}
        shards, rows = np.divmod(blocks, self.info.blocks_per_shard)
        for number in np.unique(shards).tolist():
            here = np.flatnonzero(shards == number)
            shard = self.shard(number)
            for name in names:
                values[name][here] = shard.whole(name)[rows[here], places[here]]
        return values

    def source_of(self, shard: int) -> Tuple["Dataset", int]:
        return self, shard

    def padding(self, name: str) -> Any:
        """Return one step of a field's padding: from the manifest, else copied from the dataset, or 0 if the dataset has no padding."""
        pad = self.fields[name].pad
        if pad is not None:
            return pad
        if self.found_padding is None:
            self.found_padding = self.find_padding()
        return self.found_padding.get(name, 0)

    def find_padding(self) -> Dict[str, np.ndarray]:
        """Return one step of padding of each field, copied from the dataset; empty if the dataset has no padding."""
        place = self.index.gap(pieces=self.info.configuration.get("pad") != "repeat")
        if place is None:
            return {}
        block, step = place
        self.check(block)
        return {name: self.steps(block, name, step, step + 1)[0].copy() for name in self.options.fields}
