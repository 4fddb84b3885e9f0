"""The interface of a dataset that blocks and epochs use. Dataset implements it; see there for each method."""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Protocol, Tuple

import numpy as np

from .index import Index
from .manifest import Field, Manifest
from .sequences import Sequences


class BlockOptions(NamedTuple):
    """The options that determine what a block contains in addition to its tables."""
    fields: Tuple[str, ...]
    ids: bool
    segment_ids: bool
    position_ids: bool
    mask: bool
    decode: bool


class Stored(Protocol):
    """A dataset as blocks and epochs see it. Modules import in the order dataset, epochs, blocks, stored."""
    path: str
    verify: bool
    info: Manifest
    index: Index
    options: BlockOptions
    table_types: Dict[str, Any]
    table_names: List[str]

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
    def sequences(self) -> Sequences: ...

    def check_file(self, name: str) -> str: ...

    def key(self, name: str) -> str: ...

    def tables(self, i: int) -> Dict[str, np.ndarray]: ...

    def steps(self, i: int, name: str, first: int, end: int, own: bool = False) -> Any: ...

    def fill(self, i: int, name: str, first: int, out: Any, start: int, end: int) -> None: ...
