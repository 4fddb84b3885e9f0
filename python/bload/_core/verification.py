"""Verify stored blocks: open a dataset again, read the blocks, and compare every byte with its checksum."""
from __future__ import annotations

import concurrent.futures
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Protocol, Tuple

import numpy as np

from .arguments import integer, kind
from .errors import DamagedError


class Checked(Protocol):
    """A dataset that was opened with verify=True; Dataset documents the method."""
    _info: Any

    def _verify_block(self, i: int) -> None: ...


class Run(NamedTuple):
    """Stored blocks of a shard, ascending, and for each the number of a block that needs it. view: the view of that block, or ""."""
    store: Checked
    blocks: List[int]
    needed_by: List[int]
    view: str


def numbers_of(blocks: Any, count: int, path: str) -> np.ndarray:
    """Return block numbers, each once and ascending: I64 [n]. blocks: any iterable; None: all.

    Raises TypeError if they are not integers, and IndexError if there is no such block.
    """
    if blocks is None:
        return np.arange(count)
    try:
        given = iter(blocks)
    except TypeError:
        raise TypeError(f"blocks must be numbers of blocks, such as [0, 7], not {kind(blocks)}") from None
    found = [integer("blocks must be numbers of blocks", number) for number in given]
    for number in found:
        if not -count <= number < count:
            raise IndexError(f"no block {number} in {path}: there are {count}")
    return np.unique(np.array(found, np.int64) % count)


def runs_of(dataset: Any, numbers: Iterable[int]) -> List[Run]:
    """Return the stored blocks of which blocks are made, each once, by shard."""
    stores: Dict[int, Checked] = {}
    found: Dict[Tuple[int, int], Dict[int, int]] = {}
    for number in numbers:
        for store, block in dataset._needs(number):
            stores[id(store)] = store
            found.setdefault((id(store), block // store._info.blocks_per_shard), {}).setdefault(block, number)
    view = dataset.path if dataset._info.is_view else ""
    return [Run(stores[store], sorted(blocks), [blocks[block] for block in sorted(blocks)], view) for (store, _), blocks in found.items()]


def verify_run(run: Run) -> None:
    """Raise DamagedError if a block differs from its checksum."""
    for block, number in zip(run.blocks, run.needed_by):
        try:
            run.store._verify_block(block)
        except DamagedError as error:
            if run.view:
                raise DamagedError(f"{error.fault}; block {number} of the view {run.view} needs it", error.path) from None
            raise


def verify(dataset: Any, blocks: Optional[Iterable[Any]]) -> None:
    """Verify blocks as BaseDataset.verify does. Remote shards are read concurrently, each in the order of its blocks."""
    numbers = numbers_of(blocks, len(dataset), dataset.path)
    plain = {"ids": False, "segment_ids": False, "position_ids": False, "mask": False, "decode": False, "writable": False}
    given = {**dataset._given(), **plain, "cache": None, "cache_size": None}
    with dataset._reopen(dataset.path, True, **given) as checked:
        if blocks is None:
            checked._verify_files()
        runs = runs_of(checked, numbers.tolist())
        threads = checked._storage.options.access.connections if checked._far else 1
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            waiting = [pool.submit(verify_run, run) for run in runs]
            try:
                for one in waiting:
                    one.result()
            finally:
                for one in waiting:
                    one.cancel()
