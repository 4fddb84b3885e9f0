"""Epochs: the stored sequences in other combinations of blocks."""
from __future__ import annotations

import functools
import re
from typing import Any, Iterable, List, Optional, Tuple, Union

import numpy as np

from .arguments import integer
from .blocks import Block, Blocks
from .compose import LOCATED, Composer
from .errors import DamagedError, EpochError
from .index import Pieces, Plan, Span, back_to_back
from .stored import BlockStore, DatasetLike

NAME = re.compile(r"plans/epoch-([0-9]{5,18})\.safetensors")
OPEN_WINDOWS = 16


def epochs_of(files: Iterable[str]) -> Tuple[int, ...]:
    """Return 0, the stored epoch, and the numbers of the epochs whose plans the manifest lists, ascending."""
    return (0, *sorted(int(match.group(1)) for match in map(NAME.fullmatch, files) if match))


class Planned:
    """The layout of blocks that a plan file describes; see compose.Layout."""

    def __init__(self, plan: Plan):
        self.plan, self.path, self.of = plan, plan.path, plan.of
        self.together = min(plan.blocks, max(1, LOCATED * plan.blocks // max(plan.pieces, 1)))


def planned_epoch(dataset: DatasetLike, number: int) -> Planned:
    """Return the layout of an epoch with a plan, made by `bload plan --dataset DIR` or `bload view`; raise EpochError without one."""
    name = f"plans/epoch-{number:05d}.safetensors"
    if name not in dataset._info.files:
        raise EpochError(f"no plan for epoch {number}: make one with bload plan --dataset, or use a window", dataset.path)
    plan = Plan(dataset._open_file(name, verify=True), dataset._info)  # without its checksum, another plan would go unnoticed
    if dataset._info.is_view:  # weights, --remainder drop and clips give epochs other sequences, or other parts of them
        return Planned(plan)
    if plan.pieces != dataset._index.pieces:
        raise DamagedError(f"it has {plan.pieces} pieces, but {dataset._index.pieces} are stored", plan.path)
    if dataset._checked:
        order = np.lexsort((plan.source_start, plan.sequence))
        for table in "sequence", "source_start", "length":
            if not np.array_equal(getattr(plan, table)[order], getattr(dataset._index, table)[dataset._index.order()]):
                raise DamagedError("its pieces differ from the stored ones", plan.path)
    return Planned(plan)


def splitmix(numbers: np.ndarray) -> np.ndarray:
    """Return output n of the generator SplitMix64 with seed 0, counted from 0, for each number n: U64."""
    out = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    out = (out ^ (out >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return out ^ (out >> np.uint64(31))


def hash_numbers(numbers: np.ndarray, *seeds: int) -> np.ndarray:
    """Return a hash of each number, U64, that depends on number and seeds only: it is the same on every machine and numpy version.

    The seeds are mixed before a number is added. If they were added directly, the hashes of consecutive numbers would be the same for
    neighbouring seeds, shifted by one place.
    """
    state = np.zeros(1, np.uint64)
    for seed in seeds:
        state = splitmix(state + np.uint64(seed % (1 << 64)))
    return splitmix(state + numbers.astype(np.uint64))


class WindowedEpoch:
    """The layout of an epoch drawn while reading: each block takes its pieces from a window of consecutive stored blocks that contains it.

    A block has the same lengths as the stored block. Seed and epoch determine which piece of equal length and group takes which slot, and
    the order of the pieces in the block. In a dataset packed with --max-column the pieces are also equal in these columns, and in a dataset
    with fields that have steps of their own in the numbers of these. In a dataset packed with --align the lengths also keep their starts.
    In a dataset packed with --together the sequences of a bundle keep their block, and stay next to each other.

    Raises EpochError if the window is below 1.
    """

    def __init__(self, dataset: DatasetLike, number: int, window: int, seed: int):
        if window < 1:
            raise EpochError(f"window must be at least 1 block, not {window}", dataset.path)
        self.dataset, self.index = dataset, dataset._index
        self.path, self.together = self.index.path, 1
        self.window, self.seeds = window, (seed, number)
        self.groups, self.bundles = self.groups_of(dataset), self.bundles_of(dataset)
        self.drawn = functools.lru_cache(OPEN_WINDOWS)(self.draw)

    @staticmethod
    def groups_of(dataset: DatasetLike) -> Optional[np.ndarray]:
        """Return the group of each row, I64 [rows], if the dataset was packed with --group-by, --max-column or --together; otherwise None.

        The rows of a group are equal in all these columns. A row of a bundle, which keeps its place, is a group of its own.
        """
        maxima = dataset._info.option("max-column").split(",")
        names = [dataset._info.option("group-by"), *(text.rpartition("=")[0] for text in maxima)]
        groups: Optional[np.ndarray] = None
        for name in filter(None, names):
            own = np.unique(np.array(dataset.sequences[name], dtype=object), return_inverse=True)[1].reshape(-1)
            groups = own if groups is None else np.unique(groups * (own.max() + 1) + own, return_inverse=True)[1].reshape(-1)
        bundles = WindowedEpoch.bundles_of(dataset)
        if bundles is not None:
            shared = np.zeros(len(bundles), np.int64) if groups is None else groups
            groups = np.where(bundles < 0, shared, shared.max(initial=0) + 1 + np.arange(len(bundles)))
        return groups

    @staticmethod
    def bundles_of(dataset: DatasetLike) -> Optional[np.ndarray]:
        """Return the bundle of each row, I64 [rows], -1 for rows that are alone, if the dataset was packed with --together."""
        name = dataset._info.option("together")
        if not name:
            return None
        values = np.array(dataset.sequences[name], dtype=object)
        bundles: np.ndarray = np.unique(values, return_inverse=True)[1].reshape(-1)
        return np.where(values == "", -1, bundles)

    def groups_at(self, rows: np.ndarray) -> np.ndarray:
        """Return the groups of rows of the table of sequences, I64 [n]; 0 without groups."""
        if self.groups is None:
            return np.zeros(len(rows), np.int64)
        self.dataset.sequences.check_rows(rows)
        groups: np.ndarray = self.groups[rows]
        return groups

    def draw(self, number: int) -> np.ndarray:
        """Return the piece that takes the place of each stored piece of a window: a permutation among pieces of equal lengths and group."""
        blocks = range(number * self.window, min((number + 1) * self.window, self.index.blocks))
        self.index.of(blocks[0], blocks[-1] + 1)  # raises DamagedError if the plan is invalid
        first, end = self.index.range_of(blocks[0])[0], self.index.range_of(blocks[-1])[1]
        places = np.arange(first, end)
        length = self.index.length[first:end]
        equal = [*(span.length[first:end] for span in self.index.own.values()), self.groups_at(self.index.sequence[first:end]), length]
        drawn = np.empty_like(places)
        drawn[np.lexsort((places, *equal))] = places[np.lexsort((hash_numbers(places, *self.seeds), *equal))]
        return drawn

    def leaders(self, rows: np.ndarray) -> np.ndarray:
        """Return the place of the first piece of each piece's bundle in a block: its own if it is alone. rows: of the pieces."""
        places = np.arange(len(rows))
        if self.bundles is None or not len(rows):
            return places
        bundles = self.bundles[rows]
        leads = np.concatenate(([True], (bundles[1:] != bundles[:-1]) | (bundles[1:] < 0)))
        return np.maximum.accumulate(np.where(leads, places, 0))

    def of(self, first: int, end: int) -> Tuple[np.ndarray, Pieces]:
        """Return the pieces of one block as Plan.of does; end is first + 1."""
        number = first // self.window
        here = slice(*self.index.range_of(first))
        begin = self.index.range_of(number * self.window)[0]
        pieces = self.drawn(number)[here.start - begin:here.stop - begin]
        pointers, stored = self.index.of(first, end)
        start, length = stored.start, stored.length
        if self.dataset._info.align <= 1 and (start[1:] == start[:-1] + length[:-1]).all():
            numbers = self.leaders(stored.sequence) + here.start
            order = np.argsort(hash_numbers(numbers, *self.seeds, first), kind="stable")
            pieces, length = pieces[order], length[order]
            start = (np.cumsum(length) - length).astype(np.int32)
        spans = {name: span.length[pieces] for name, span in self.index.own.items()}
        own = {name: Span(steps, back_to_back(pointers, steps)[0]) for name, steps in spans.items()}
        return pointers, Pieces(self.index.sequence[pieces], self.index.source_start[pieces], length, start, pieces, own)


class Epoch(Blocks):
    """The blocks of one epoch, composed of stored sequences when they are read.

    There are as many blocks as the dataset has, with the same shapes. Without a window they follow a plan made by
    `bload plan --dataset DIR --epochs N`. With a window each block takes its sequences from that many consecutive blocks of the dataset, so
    that the reads for a block stay close together on the disk.

    Parameters
    ----------
    dataset : BaseDataset
        The dataset or view that stores the sequences; it must stay open.
    number : int
        The number of the epoch, from 1.
    window : int, optional
        The window in blocks, at least 1.
    seed : int
        The seed of the draw; only used with a window, because a plan has its own.

    Raises
    ------
    EpochError
        There is no such epoch, or the window is invalid.
    TypeError
        A number is not an integer.
    """

    def __init__(self, dataset: DatasetLike, number: int, window: Optional[int] = None, seed: int = 0):
        if number < 1:
            raise EpochError(f"no epoch {number}", dataset.path)
        self.dataset = dataset
        self._options = dataset._options
        self.number, self.seed = number, integer("seed must be an int", seed)
        self.window = window = None if window is None else integer("window, in blocks, must be an int", window)
        layout: Union[Planned, WindowedEpoch] = \
            planned_epoch(dataset, number) if window is None else WindowedEpoch(dataset, number, window, self.seed)
        self._composer = Composer(dataset, layout)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Epoch, (self.dataset, self.number, self.window, self.seed)

    def __repr__(self) -> str:
        how = "planned" if self.window is None else f"window = {self.window}, seed = {self.seed}"
        return f"<bload.Epoch {self.number}, {how}, of {self.dataset!r}>"

    def _block(self, i: int) -> Block:
        return self._complete(self._composer.block(i))

    def _runs(self, i: int, field: str, runs: List[Tuple[int, int]]) -> Any:
        return self._composer.runs(i, field, runs)

    def _needs(self, i: int) -> List[Tuple[BlockStore, int]]:
        return self._composer.needs(i)
