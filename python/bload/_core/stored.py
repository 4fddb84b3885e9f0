"""The interface of a dataset or a view that blocks and epochs use."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Protocol, Tuple

import numpy as np

from .index import Pieces, Plan
from .manifest import Field, Manifest
from .mapping import MappedFile


class BlockOptions(NamedTuple):
    """The options that determine what a block contains in addition to its tables."""
    fields: Tuple[str, ...]
    ids: bool
    segment_ids: bool
    position_ids: bool
    mask: bool
    decode: bool
    pad: bool


class Places(NamedTuple):
    """Where steps are stored, and where they belong in a composed block: arrays [n].

    shard: its number. step: the first step, counted from the first one in the shard. start, end: steps of the composed block.
    """
    shard: np.ndarray
    step: np.ndarray
    start: np.ndarray
    end: np.ndarray


# For each axis the steps that belong to a block: the number of the piece of each place, and the places.
PlacesByAxis = Dict[str, Tuple[np.ndarray, Places]]


class BlockStore(Protocol):
    """The interface by which stored steps are read. Dataset implements it and documents each method."""
    _info: Manifest
    _agreed: np.ndarray

    @property
    def T(self) -> int: ...

    def _check(self, i: int) -> None: ...

    def _ready(self, i: int) -> bool: ...

    def _prepare(self, i: int) -> None: ...

    def _block_of(self, number: int, name: str, step: int) -> Tuple[int, int]: ...

    def _steps(self, i: int, name: str, first: int, end: int) -> Any: ...

    def _fill(self, number: int, name: str, step: int, out: Any, start: int, end: int) -> None: ...


class DatasetLike(Protocol):
    """A dataset or a view as blocks and epochs see it; BaseDataset documents each method.

    Modules import each other in the order opening, view, dataset, base, epochs, compose, blocks, stored.
    """
    path: str
    _checked: bool
    _axes: List[str]
    _compressed: bool
    _has_large_frames: bool
    _info: Manifest
    _options: BlockOptions
    _table_types: Dict[str, Any]
    _shard: Callable[[int], Any]

    @property
    def _index(self) -> Plan: ...

    @property
    def _all_agreed(self) -> bool: ...

    @property
    def T(self) -> int: ...

    @property
    def S(self) -> int: ...

    @property
    def world_size(self) -> int: ...

    @property
    def batch_size(self) -> int: ...

    @property
    def fields(self) -> Dict[str, Field]: ...

    @property
    def sequences(self) -> Any: ...

    def _check_open(self) -> None: ...

    def _open_file(self, name: str, verify: bool = False) -> MappedFile: ...

    def _key(self, name: str) -> str: ...

    def _padding(self, name: str) -> Any: ...

    def _values(self, pieces: Pieces) -> Dict[str, Any]: ...

    def _places(self, pieces: Pieces, plan: str) -> Tuple[PlacesByAxis, Optional[np.ndarray]]: ...

    def _source_of(self, shard: int) -> Tuple[BlockStore, int]: ...
