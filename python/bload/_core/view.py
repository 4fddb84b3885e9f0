"""A view: blocks of sequences that several datasets, its sources, store."""
from __future__ import annotations

import functools
from bisect import bisect_right
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from . import notebook
from .base import BaseDataset
from .blocks import Block
from .compose import Composer
from .dataset import Dataset
from .epochs import Planned
from .errors import DamagedError, FormatError, MissingError
from .index import Pieces, Plan, Span
from .locator import ROWS, Parts, Rows, parts_of
from .manifest import INDEX, Manifest, Source
from .sequences import JoinedSequences
from .shard import Shard
from .stored import BlockStore, Places, PlacesByAxis


def shard_of(first: List[int], openers: List[Callable[[int], Shard]], number: int) -> Shard:
    """Open a shard by its number in a view; `first` has the number of the first shard of each source."""
    source = bisect_right(first, number) - 1
    return openers[source](number - first[source])


def shard_from(shard: Callable[[int], Shard], first: int, number: int) -> Shard:
    """Open a shard by its number in the source whose first shard has the number `first`."""
    return shard(first + number)


class View(BaseDataset):
    """A view that bload view wrote, opened by bload.open; BaseDataset describes the methods.

    Its blocks have the same entries as those of a Dataset. Rows of the table of sequences, and "sequence" in blocks, are numbered
    continuously through the sources.

    Opening a view also opens its sources. It raises MissingError if one is missing, and DamagedError if one is not the dataset of which the
    view was made.
    """

    def __init__(self, path: str, info: Manifest, verify: bool, **options: Any):
        super().__init__(path, info, verify, **options)
        self._plan = Plan(self._open_file(INDEX, verify=True), info)  # without its checksum, another plan would go unnoticed
        self._plan.check_digest(info.plan_digest, verify)
        self._rows = Rows(self._open_file(ROWS), info)
        self._stores = [self._open_source(*source) for source in zip(info.sources, info.recorded)]
        self._compressed = any(store._compressed for store in self._stores)
        self._has_large_frames = any(store._has_large_frames for store in self._stores)
        shards = np.cumsum([0, *(store._info.shards for store in self._stores)]).tolist()
        self._first_row = np.array([source.first_row for source in info.sources])
        self._first_shard: List[int] = shards[:-1]
        # For each source, as arrays: its first shard, its blocks per shard, and its steps per block.
        self._shards = np.array(self._first_shard)
        self._blocks_per_shard = np.array([store._info.blocks_per_shard for store in self._stores])
        self._steps = np.array([store.T for store in self._stores])
        self._sound = np.zeros(self._rows.entries, np.bool_)  # whether each entry was compared with the source's index
        openers = [store._opener(self._resident // min(self._open_shards, shards[-1])) for store in self._stores]
        # A cache for each object, as in Dataset. The sources use it instead of their own caches.
        self._opened = functools.lru_cache(self._open_shards)(functools.partial(shard_of, self._first_shard, openers))
        self._shard = self._opened
        for store, first in zip(self._stores, self._first_shard):
            store._shard, store._drop = functools.partial(shard_from, self._opened, first), self._opened.cache_clear
        self._composer = Composer(self, Planned(self._plan))

    def _open_source(self, source: Source, recorded: Dict[str, str]) -> Dataset:
        """Open a source: raise MissingError if it does not exist, DamagedError if it is another dataset, FormatError if it is a view."""
        try:
            info = Manifest(self._storage.at(source.path))
        except MissingError as error:
            raise MissingError(f"{error.fault}; it is the source \"{source.name}\" of the view {self.path}: put it back, or make the view "
                               f"again", source.path) from None
        if info.is_view:
            raise FormatError(f"this is a view, but the sources of a view must be datasets; it is the source \"{source.name}\" of the view "
                              f"{self.path}", source.path)
        for name, expected in recorded.items():
            found = info.files[name].checksum if name in info.files else "missing"
            if found != expected:
                raise DamagedError(f"the source \"{source.name}\" is not the dataset of which the view {self.path} was made: the checksum of "
                                   f"{name} is {found}, but the view has {expected}; make the view again", source.path)
        for field in {**self.fields, **info.fields}.values():
            here, there = self.fields.get(field.name), info.fields.get(field.name)
            if there is None and field.own:
                continue  # its sequences have none of these steps
            if here is None or there is None or \
                    (here.stored, here.shape, here.encoding, here.own) != (there.stored, there.shape, there.encoding, there.own):
                raise DamagedError(f"field \"{field.name}\" of the source \"{source.name}\" differs from the view {self.path}", source.path)
        fields = [name for name in self._options.fields if name in info.fields]
        return Dataset(source.path, info, self._checked, reopen=self._reopen, fields=fields, ids=False, decode=self._options.decode,
                       open_shards=self._open_shards, resident=self._resident)

    def close(self) -> None:
        self.closed = True
        self._known = None
        for store in self._stores:
            store.close()
        self._storage.close()
        self._opened.cache_clear()

    @property
    def _index(self) -> Plan:
        return self._plan

    def _manifests(self) -> List[Manifest]:
        return [self._info, *(store._info for store in self._stores)]

    @property
    def sources(self) -> List[Source]:
        """The sources of the view, a list of Source, in the order of their rows."""
        return list(self._info.sources)

    def _more_html(self) -> List[str]:
        rows = ((one.name, one.path, f"{one.rows:,}", f"{one.steps:,}", f"{one.share:.2%}") for one in self.sources)
        return [notebook.table(("source", "path", "rows", "steps", "share"), rows)]

    def _open_sequences(self) -> JoinedSequences:
        tables = [(source, store._open_sequences()) for source, store in zip(self._info.sources, self._stores)]
        return JoinedSequences(self.path, tables, self._rows.attributes, self._rows.renamed)

    def _block(self, i: int) -> Block:
        return self._complete(self._composer.block(i))

    def _runs(self, i: int, field: str, runs: List[Tuple[int, int]]) -> Any:
        return self._composer.runs(i, field, runs)

    def _needs(self, i: int) -> List[Tuple[BlockStore, int]]:
        return self._composer.needs(i)

    def _verify_files(self) -> None:
        super()._verify_files()
        for store in self._stores:
            store._verify_files()

    @property
    def _all_agreed(self) -> bool:
        return all(store._all_agreed for store in self._stores)

    @property
    def _far(self) -> bool:
        return any(store._far for store in self._stores)

    @property
    def _unit(self) -> int:
        return max((store._unit for store in self._stores), default=0)

    # --- for blocks that are composed --------------------------------------------------------------------------------

    def _padding(self, name: str) -> Any:
        return self.fields[name].pad

    def _places(self, pieces: Pieces, plan: str) -> Tuple[PlacesByAxis, Optional[np.ndarray]]:
        found = self._rows.find(pieces, plan)
        parts = {axis: self._rows.find_own(axis, pieces, found, plan) if axis else found for axis in self._axes}
        return {axis: (one.piece, self._places_of(axis, pieces.sequence[one.piece], one)) for axis, one in parts.items()}, None

    def _stored_parts(self, row: int) -> Tuple[Pieces, Dict[str, Places]]:
        entries = self._rows.of(row)
        nothing = np.zeros(len(entries), np.int64)
        own = {name: Span(self._rows.own[name][entries], nothing) for name in self._axes[1:]}
        pieces = Pieces(np.full(len(entries), row), self._rows.begin(entries), self._rows.length[entries], nothing, None, own)
        parts = {axis: parts_of(pieces.span(axis), entries) for axis in self._axes}
        return pieces, {axis: self._places_of(axis, pieces.sequence[one.piece], one) for axis, one in parts.items()}

    def _places_of(self, axis: str, row: np.ndarray, parts: Parts) -> Places:
        """Return where parts of entries are on an axis; raise DamagedError if a source does not store an entry."""
        entry = parts.entry
        source = np.searchsorted(self._first_row, row, "right") - 1
        unknown = np.flatnonzero(~self._sound[entry])
        if len(unknown) > 0:
            self._check_entries(source[unknown], row[unknown], entry[unknown])
            self._sound[entry] = True
        block, start = self._rows.block[entry], self._rows.spans[axis].start if axis else self._rows.start
        shard, at = np.divmod(block, self._blocks_per_shard[source])
        first = self._first_steps(axis, source, block) if axis else at * self._steps[source]
        return Places(shard + self._shards[source], first + start[entry] + parts.skip, parts.start, parts.start + parts.length)

    def _first_steps(self, axis: str, source: np.ndarray, block: np.ndarray) -> np.ndarray:
        """Return the first own step of blocks of the sources, as Index.first_steps does."""
        first = np.zeros(len(block), np.int64)
        for k in np.unique(source).tolist():
            here, store = source == k, self._stores[k]
            first[here] = store._index.first_steps(store.fields[axis], block[here])
        return first

    def _check_entries(self, source: np.ndarray, row: np.ndarray, entry: np.ndarray) -> None:
        """Raise DamagedError if the source of a row does not store an entry as rows.safetensors says."""
        own = {name: Span(span.length[entry], span.start[entry]) for name, span in self._rows.spans.items()}
        pieces = Pieces(row - self._first_row[source], self._rows.begin(entry), self._rows.length[entry], self._rows.start[entry], None, own)
        for k in np.flatnonzero(np.bincount(source)).tolist():
            here = np.flatnonzero(source == k)
            there = self._stores[k]._index.has(self._rows.block[entry[here]], pieces.at(here))
            if not there.all():
                raise DamagedError(f"row {row[here[~there]][0]} is not stored where this file says, in the source \"{self._info.sources[k].name}\"",
                                   self._rows.path)

    def _values(self, pieces: Pieces) -> Dict[str, Any]:
        values = {"sequence": pieces.sequence, "length": pieces.length}
        if self._info.source_start:
            values["source_start"] = pieces.source_start
        values.update((name, table[pieces.sequence]) for name, table in self._rows.attributes.items())
        return values

    def _source_of(self, shard: int) -> Tuple[Dataset, int]:
        source = bisect_right(self._first_shard, shard) - 1
        return self._stores[source], shard - self._first_shard[source]
