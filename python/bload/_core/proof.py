"""Prove that bytes of compressed remote shards belong to the dataset.

The checksum of such a shard covers the whole file, of which only some frames are fetched. So blocks are compared with the checksums of
their content in the index each time they are decompressed, and tables with what the index and sequences.tsv say they must be, when a
shard is opened. What differs is fetched again once, without the cache.
"""
from __future__ import annotations

from typing import Callable, Dict, Optional

import numpy as np

from . import checksum
from .errors import DamagedError
from .index import Index
from .manifest import INDEX, Manifest
from .safetensors import DTYPES
from .segments import segments_of
from .sequences import FILE as SEQUENCES
from .sequences import Sequences
from .shard import Shard
from .tables import agree, offsets_agree, planned

COMPARED = 1 << 18  # how many entries of a table to compare at a time


class Proof:
    """Prove the shards of a dataset."""

    def __init__(self, info: Manifest, index: Index):
        self.info, self.index = info, index
        self.tables: Dict[int, int] = {}  # the checksum of the tables of each proven shard
        self.known: Optional[Sequences] = None

    @property
    def sequences(self) -> Sequences:
        """The table of sequences, which is read only if the tables of blocks contain what the index does not determine."""
        if self.known is None:
            if SEQUENCES not in self.info.files:
                raise DamagedError(f"it does not list {SEQUENCES}", self.info.path)
            self.known = Sequences(self.info.storage.whole(SEQUENCES, self.info.files[SEQUENCES]), self.info.attributes)
        return self.known

    def opened(self, make: Callable[[int], Shard], number: int) -> Shard:
        """Return the shard that `make` opens; raise DamagedError if its tables differ from the dataset's, also when they are fetched again."""
        try:
            return self.compared(make(number), number)
        except DamagedError:
            self.info.storage.forget(self.info.shard_name(number))
        return self.compared(make(number), number)

    def compared(self, shard: Shard, number: int) -> Shard:
        """Return the shard; raise DamagedError if its tables differ from the dataset's."""
        self.check_tables(shard, number)
        return shard

    def check_tables(self, shard: Shard, number: int) -> None:
        """Raise DamagedError if a table differs from what it must be."""
        names = [name for name, _, _ in self.info.tables()]
        offsets = [f"{field.name}_offsets" for field in self.index.flat]
        found = checksum.xxh3([np.ascontiguousarray(shard.whole(name)) for name in names + offsets])
        if self.tables.get(number) == found:
            return
        first, some = number * self.info.blocks_per_shard, max(1, COMPARED // max(self.info.S, self.info.T if self.info.segment_ids else 1))
        for begin in range(0, shard.blocks, some):
            end = min(begin + some, shard.blocks)
            plan = planned(self.index, first + begin, first + end)
            fault = self.fault_of({name: shard.whole(name)[begin:end] for name in names}, plan)
            if fault is not None:
                raise DamagedError(f"{fault}, in blocks {first + begin} to {first + end - 1}", shard.path)
        if not offsets_agree(shard, self.index, first):
            raise DamagedError(f"its offsets differ from {INDEX}", shard.path)
        self.tables[number] = found

    def fault_of(self, stored: Dict[str, np.ndarray], plan: Dict[str, np.ndarray]) -> Optional[str]:
        """Return what is wrong with the tables of some blocks, or None; `plan` has the tables that follow from the index."""
        if not agree(stored, plan):
            return f"its tables differ from {INDEX}"
        lost = np.unique(plan["sequence"][(stored["sequence"] < 0) & (plan["sequence"] >= 0)])
        if any(self.value(row, "status") != "failed" for row in lost.tolist()):
            return f"it lacks sequences that did not fail according to {SEQUENCES}"
        if "segment_ids" in stored:
            if not np.array_equal(stored["segment_ids"], segments_of(stored["cu_seqlens"], stored["length"], self.info.T)):
                return "its segment_ids differ from its other tables"
        rows, places = np.unique(stored["sequence"], return_inverse=True)
        for name, dtype in self.info.attributes.items():
            values = self.numbers(rows, name, dtype)[places.reshape(-1)].reshape(stored[name].shape)
            if not np.array_equal(stored[name], values, equal_nan=dtype == "F64"):
                return f"its {name} differs from {SEQUENCES}"
        return None

    def value(self, row: int, column: str) -> str:
        """Return a value of the table of sequences; raise DamagedError if a block refers to a row that does not exist."""
        if row >= len(self.sequences):
            raise DamagedError(f"it has {len(self.sequences)} rows, but a block refers to row {row}", self.sequences.path)
        return self.sequences[row].get(column, "")

    def numbers(self, rows: np.ndarray, column: str, dtype: str) -> np.ndarray:
        """Return the values of an attribute in rows of the table, [n], 0 in row -1; raise DamagedError if one is not a number."""
        kind, nothing = (int, 0) if dtype == "I64" else (float, np.nan)
        try:
            return np.array([0 if row < 0 else kind(self.value(row, column) or nothing) for row in rows.tolist()], DTYPES[dtype])
        except (ValueError, OverflowError):
            raise DamagedError(f"column {column} has no number for a sequence in a block", self.sequences.path) from None
