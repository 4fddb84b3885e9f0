"""Epochs: other combinations of the stored sequences into blocks, made while reading."""
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
    """0, the stored epoch, and the numbers of the epochs whose plans the manifest lists, ascending."""
    return (0, *sorted(int(match.group(1)) for match in map(NAME.fullmatch, files) if match))


class Composition(NamedTuple):
    """One block of an epoch: the numbers of stored pieces, I64 [n], and the start of each in the block, I32 [n]."""
    pieces: np.ndarray
    start: np.ndarray


class PlannedEpoch:
    """An epoch that follows a plan made by `bload plan --dataset DIR --epochs N`. EpochError: there is no plan."""

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
        """Checks that the plan has every stored piece once. DamagedError: it does not."""
        order = np.lexsort((self.plan.source_start, self.plan.sequence))
        for table in ("sequence", "source_start", "length"):
            if not np.array_equal(getattr(self.plan, table)[order], getattr(self.index, table)[self.index.order()]):
                raise DamagedError("its pieces differ from the stored ones", self.plan.path)

    def of(self, block: int) -> Composition:
        """The pieces of a block. DamagedError: one of them is not stored."""
        planned = self.plan.of(block)
        pieces = self.index.find(planned)
        if (pieces < 0).any():
            raise DamagedError(f"block {block} has pieces that are not stored", self.plan.path)
        return Composition(pieces, planned.start)


def splitmix(numbers: np.ndarray) -> np.ndarray:
    """For each number n, U64: output n, counted from 0, of the generator SplitMix64 with seed 0."""
    out = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    out = (out ^ (out >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return out ^ (out >> np.uint64(31))


def scatter(numbers: np.ndarray, *seeds: int) -> np.ndarray:
    """A hash of each number, U64. It depends on number and seeds alone: the same on every machine and numpy version.

    The seeds are mixed before a number is added. If they were added directly, the hashes of consecutive numbers would be the same for
    neighbouring seeds, shifted by one place.
    """
    state = np.zeros(1, np.uint64)
    for seed in seeds:
        state = splitmix(state + np.uint64(seed % (1 << 64)))
    return splitmix(state + numbers.astype(np.uint64))


class WindowedEpoch:
    """An epoch drawn while reading: each block takes its pieces from a window of consecutive stored blocks that contains it.

    A block has the same lengths as the stored block. Seed and epoch determine which piece of equal length (and group) takes which
    place, and the order of the pieces in the block. In datasets packed with
    --max-column, they are also equal in these columns. In datasets packed with --align the lengths also keep their places.

    EpochError: the window is below 1.
    """

    def __init__(self, dataset: Stored, number: int, window: int, seed: int):
        if window < 1:
            raise EpochError(f"window must be at least 1 block, not {window}", dataset.path)
        self.dataset, self.index = dataset, dataset.index
        self.window, self.seeds = window, (seed, number)
        self.groups = self.groups_of(dataset)
        self.drawn = functools.lru_cache(OPEN_WINDOWS)(self.draw)

    @staticmethod
    def groups_of(dataset: Stored) -> Optional[np.ndarray]:
        """The number of each row's group, I64 [rows], if the dataset was packed with --group-by or --max-column; else None.

        Rows of a group are equal in all these columns.
        """
        maxima = str(dataset.info.configuration.get("max-column") or "")
        names = [str(dataset.info.configuration.get("group-by") or ""), *(text.rpartition("=")[0] for text in maxima.split(","))]
        groups: Optional[np.ndarray] = None
        for name in filter(None, names):
            own = np.unique(np.array(dataset.sequences[name], dtype=object), return_inverse=True)[1].reshape(-1)
            groups = own if groups is None else np.unique(groups * (own.max() + 1) + own, return_inverse=True)[1].reshape(-1)
        return groups

    def groups_at(self, rows: np.ndarray) -> np.ndarray:
        """The groups of rows of the table of sequences, I64 [n]; 0 without groups."""
        if self.groups is None:
            return np.zeros(len(rows), np.int64)
        self.dataset.sequences.check_rows(rows)
        groups: np.ndarray = self.groups[rows]
        return groups

    def draw(self, number: int) -> np.ndarray:
        """For each stored piece of a window, the piece that takes its place: a permutation among pieces of equal length and group."""
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
        """The pieces of a block."""
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
    """The blocks of one epoch: as many as the dataset stores and of the same shapes, composed of stored sequences when they are read.

    Without a window, the blocks follow a plan made by `bload plan --dataset DIR --epochs N`. With a window, each block takes its
    sequences from that many consecutive stored blocks, so the reads for a block stay close together on the disk.

    number: from 1. window: in blocks, at least 1. seed: only for windows; a plan has its own.

    EpochError: no such epoch, or an invalid window. TypeError: not an integer.
    """

    def __init__(self, dataset: Stored, number: int, window: Optional[int] = None, seed: int = 0):
        if number < 1:
            raise EpochError(f"no epoch {number}", dataset.path)
        self.dataset = dataset
        self.options = dataset.options
        self.number, self.seed = number, integer("seed must be an int", seed)
        self.window = window = None if window is None else integer("window, in blocks, must be an int", window)
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
        """The tables of a composed block, in the form of stored ones. Each place has the values of the stored block that has its piece."""
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
        """A field of a block, [T, ...] or a list of T JPEG files: copies of the pieces, with padding between and after them."""
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
        """Fills steps first to end of out with padding, as bload pack does."""
        if first >= end:
            return
        if self.dataset.info.configuration.get("pad") == "repeat" and first > 0:
            out[first:end] = [out[first - 1]] * (end - first) if isinstance(out, list) else out[first - 1]
            return
        if isinstance(out, list):  # the files are empty, which stands for zeros, the padding of pictures
            return
        if self.padding is None:
            self.padding = self.find_padding()
        out[first:end] = self.padding.get(name, 0)

    def find_padding(self) -> Dict[str, np.ndarray]:
        """One step of padding for each field, copied from the dataset; empty if the dataset has no padding."""
        place = self.dataset.index.gap(pieces=self.dataset.info.configuration.get("pad") != "repeat")
        if place is None:
            return {}
        block, step = place
        self.dataset.tables(block)
        return {name: self.dataset.steps(block, name, step, step + 1)[0].copy() for name in self.options.fields}
