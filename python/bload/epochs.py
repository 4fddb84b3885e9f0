"""Epochs: blocks composed of the stored sequences in other ways, without writing or decoding anything."""
from __future__ import annotations

import functools
import re
import warnings
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

import numpy as np

from .arguments import integer
from .blocks import Block, Blocks
from .encoding import JPEG
from .errors import DamagedError, EpochError
from .index import Plan
from .stored import Stored

NAME = re.compile(r"plans/epoch-([0-9]{5,})\.safetensors")
OPEN_WINDOWS = 16
NO_FILE = np.zeros(0, np.uint8)


def epochs_of(files: Iterable[str]) -> Tuple[int, ...]:
    """The numbers of the epochs whose plans are among a manifest's files, and 0, the stored one."""
    return (0, *sorted(int(match.group(1)) for match in map(NAME.fullmatch, files) if match))


class Composition(NamedTuple):
    """One block of an epoch: numbers of stored pieces, I64 [n], and where each begins in the block, I32 [n]."""
    pieces: np.ndarray
    start: np.ndarray


class PlannedEpoch:
    """An epoch by a plan of `bload plan --dataset --epochs`."""

    def __init__(self, dataset: Stored, number: int):
        name = f"plans/epoch-{number:05d}.safetensors"
        if name not in dataset.info.files:
            raise EpochError(f"no plan for epoch {number}: make one with bload plan --dataset, or use a window", dataset.path)
        self.index = dataset.index
        self.plan = Plan(dataset.check_file(name), dataset.info)
        if self.plan.pieces != self.index.pieces:
            raise DamagedError(f"it has {self.plan.pieces} pieces, but {self.index.pieces} are stored", self.plan.path)
        if dataset.verify:
            self.check_all()

    def check_all(self) -> None:
        """Checks that it has every stored piece once."""
        order = np.lexsort((self.plan.source_start, self.plan.sequence))
        for table in ("sequence", "source_start", "length"):
            if not np.array_equal(getattr(self.plan, table)[order], getattr(self.index, table)[self.index.order()]):
                raise DamagedError("its pieces differ from the stored ones", self.plan.path)

    def of(self, block: int) -> Composition:
        planned = self.plan.of(block)
        pieces = self.index.find(planned)
        if (pieces < 0).any():
            raise DamagedError(f"block {block} has pieces that are not stored", self.plan.path)
        return Composition(pieces, planned.start)


def splitmix(numbers: np.ndarray) -> np.ndarray:
    """For each n, U64: the n-th output, counted from 0, of the generator SplitMix64 with the seed 0."""
    out = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    out = (out ^ (out >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return out ^ (out >> np.uint64(31))


def scatter(numbers: np.ndarray, *seeds: int) -> np.ndarray:
    """Hashes numbers, U64: a pure function of number and seeds, the same on every machine and with every numpy.

    The seeds are mixed before the numbers come in: were they added to numbers that follow each other, then what one seed gives would
    be what its neighbour gives, moved by a place.
    """
    state = np.zeros(1, np.uint64)
    for seed in seeds:
        state = splitmix(state + np.uint64(seed % (1 << 64)))
    return splitmix(state + numbers.astype(np.uint64))


class WindowedEpoch:
    """An epoch drawn here, in windows of so many consecutive stored blocks: a block's pieces come from its own window.

    Each block keeps the lengths that the stored one has; which piece of equal length (and group) takes which place is drawn, and in
    what order a block's pieces follow one another. Where starts are aligned (--align), the lengths keep their places, too.
    """

    def __init__(self, dataset: Stored, number: int, window: int, seed: int):
        if window < 1:
            raise EpochError(f"a window has at least 1 block, not {window}", dataset.path)
        self.dataset, self.index = dataset, dataset.index
        self.window, self.seeds = window, (seed, number)
        self.groups = self.groups_of(dataset)
        self.drawn = functools.lru_cache(OPEN_WINDOWS)(self.draw)

    @staticmethod
    def groups_of(dataset: Stored) -> Optional[np.ndarray]:
        """A number for each row's group, where the dataset keeps groups apart: I64 [rows]."""
        column = dataset.info.configuration.get("group-by")
        if not column:
            return None
        return np.unique(np.array(dataset.sequences[str(column)], dtype=object), return_inverse=True)[1].reshape(-1)

    def groups_at(self, rows: np.ndarray) -> np.ndarray:
        if self.groups is None:
            return np.zeros(len(rows), np.int64)
        self.dataset.sequences.check_rows(rows)
        groups: np.ndarray = self.groups[rows]
        return groups

    def draw(self, number: int) -> np.ndarray:
        """The piece at the place of each stored piece of a window: a permutation among those that are alike."""
        blocks = range(number * self.window, min((number + 1) * self.window, self.index.blocks))
        for block in blocks:
            self.index.of(block)  # raises if invalid
        first, end = self.index.range_of(blocks[0])[0], self.index.range_of(blocks[-1])[1]
        places = np.arange(first, end)
        length = self.index.length[first:end]
        group = self.groups_at(self.index.sequence[first:end])
        drawn = np.empty_like(places)
        drawn[np.lexsort((places, group, length))] = places[np.lexsort((scatter(places, *self.seeds), group, length))]
        return drawn

    def of(self, block: int) -> Composition:
        number = block // self.window
        first, end = self.index.range_of(block)
        begin = self.index.range_of(number * self.window)[0]
        pieces = self.drawn(number)[first - begin:end - begin]
        start, length = self.index.of(block).start, self.index.length[first:end]
        if self.dataset.info.align <= 1 and (start[1:] == start[:-1] + length[:-1]).all():
            order = np.argsort(scatter(np.arange(first, end), *self.seeds, block), kind="stable")
            pieces, length = pieces[order], length[order]
            start = (np.cumsum(length) - length).astype(np.int32)
        return Composition(pieces, start)


class Epoch(Blocks):
    """The blocks of one epoch: as many, and of the same shapes, as the dataset stores, each composed of stored sequences when it is read.

    Without a window they are those of the plan that `bload plan --dataset DIR --epochs N` made. With one they are drawn here: only
    within windows of so many consecutive stored blocks, so that the reads of a block, or of blocks that are near to each other, lie
    near to each other, too. seed is for windows alone; plans have their own.
    """

    def __init__(self, dataset: Stored, number: int, window: Optional[int] = None, seed: int = 0):
        if number < 1:
            raise EpochError(f"no epoch {number}", dataset.path)
        self.dataset = dataset
        self.options = dataset.options
        self.number, self.seed = number, integer("seed is an integer", seed)
        self.window = window = None if window is None else integer("window is a number of blocks", window)
        self.plan = PlannedEpoch(dataset, number) if window is None else WindowedEpoch(dataset, number, window, self.seed)
        self.warned = not dataset.info.compressed
        self.padding: Optional[Dict[str, np.ndarray]] = None

    def __reduce__(self) -> Tuple[Any, ...]:
        return Epoch, (self.dataset, self.number, self.window, self.seed)

    def __repr__(self) -> str:
        how = "planned" if self.window is None else f"window = {self.window}, seed = {self.seed}"
        return f"<bload.Epoch {self.number}, {how}, of {self.dataset!r}>"

    def block(self, i: int) -> Block:
        if not self.warned:
            self.warned = True
            warnings.warn(f"{self.dataset.path} is compressed: for every sequence of an epoch's block, bload decompresses the "
                          "whole block that stores it", stacklevel=3)
        composition = self.plan.of(i)
        blocks = self.dataset.index.blocks_of(composition.pieces).tolist()
        tables = self.tables(composition, blocks)
        places = list(zip(blocks, self.dataset.index.start[composition.pieces].tolist()))
        block: Block = {self.dataset.key(name): self.compose(name, composition, places) for name in self.options.fields}
        block.update(tables)
        return self.complete(block)

    def tables(self, composition: Composition, blocks: List[int]) -> Dict[str, np.ndarray]:
        """The tables of a composed block, as a stored one has them: each place is that of its piece in the block it is stored in."""
        index, S, n = self.dataset.index, self.dataset.S, len(composition.pieces)
        end = composition.start[-1] + index.length[composition.pieces[-1]] if n else 0
        tables: Dict[str, Any] = {"cu_seqlens": np.full(S + 1, end, np.int32), "num_sequences": np.int32(n)}
        tables["cu_seqlens"][:n] = composition.start
        names = [name for name in self.dataset.table_names if name not in ("cu_seqlens", "num_sequences", "segment_ids")]
        for name in names:
            tables[name] = np.full(S, -1 if name == "sequence" else 0, self.dataset.table_types[name])
        for k, (block, piece) in enumerate(zip(blocks, composition.pieces.tolist())):
            stored = self.dataset.tables(block)
            place = piece - index.range_of(block)[0]
            for name in names:
                tables[name][k] = stored[name][place]
        return tables

    def compose(self, name: str, composition: Composition, places: List[Tuple[int, int]]) -> Any:
        """A field of a block: copies of its pieces, with padding between and after them."""
        field, T = self.dataset.fields[name], self.dataset.T
        files = field.encoding == JPEG and not self.options.decode
        out: Any = [NO_FILE] * T if files else np.empty((T, *field.shape), field.dtype)
        lengths = self.dataset.index.length[composition.pieces].tolist()
        at = 0
        for (block, first), start, length in zip(places, composition.start.tolist(), lengths):
            self.pad(name, out, at, start)
            at = start + length
            self.dataset.fill(block, name, first, out, start, at)
        self.pad(name, out, at, T)
        return out

    def pad(self, name: str, out: Any, first: int, end: int) -> None:
        """Fills steps first to end with padding, as bload pack does."""
        if first >= end:
            return
        if self.dataset.info.configuration.get("pad") == "repeat" and first > 0:
            out[first:end] = [out[first - 1]] * (end - first) if isinstance(out, list) else out[first - 1]
            return
        if isinstance(out, list):  # an empty file means zeros, which is the padding of pictures
            return
        if self.padding is None:
            self.padding = self.find_padding()
        out[first:end] = self.padding.get(name, 0)

    def find_padding(self) -> Dict[str, np.ndarray]:
        """One step of padding for every field, copied from the dataset."""
        place = self.dataset.index.gap(pieces=self.dataset.info.configuration.get("pad") != "repeat")
        if place is None:
            return {}
        block, step = place
        self.dataset.tables(block)
        return {name: self.dataset.steps(block, name, step, step + 1)[0].copy() for name in self.options.fields}
