"""Partitions of a training step: which sequence goes to which rank and micro-batch."""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, List, Optional

import numpy as np

from . import library
from .planning import SYNCS, amounts, bundles, cost_pair, optional, steps, whole, word


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """Which sequence goes to which rank and micro-batch; bload.partition makes it.

    Attributes
    ----------
    assignment : list of list of list of int, [ranks][micro_batches]
        Numbers of the sequences, in ascending order. With sync="step", the most expensive micro-batch of a rank comes first.
    lost : float
        The share of time that ranks wait for each other: the cost of the most expensive rank over the mean, less 1; with sync="micro", the sums
        over the micro-batches of both.
    bound : float
        Proven: no partition to so many ranks loses less.
    ranks, micro_batches : int
        Ranks, and micro-batches of each rank.
    micro_batches_bound : int
        Proven: no partition within max_tokens has fewer micro-batches on each rank.
    cost : array of float64, [ranks, micro_batches]
        The cost of each micro-batch.
    tokens : array of int64, [ranks, micro_batches]
        The tokens of each micro-batch.
    rank, micro_batch : array of int64, [N]
        The rank and the micro-batch of each sequence.
    """

    assignment: List[List[List[int]]]
    lost: float
    bound: float
    ranks: int
    micro_batches: int
    micro_batches_bound: int
    cost: np.ndarray
    tokens: np.ndarray
    rank: np.ndarray
    micro_batch: np.ndarray

    def __repr__(self) -> str:
        return (f"<bload.Partition: {len(self.rank)} sequences on {self.ranks} ranks, micro-batches of each: {self.micro_batches}, "
                f"lost {100 * self.lost:.2f} % (at least {100 * self.bound:.2f} %)>")


def copy(pointer: Any, count: int) -> np.ndarray:
    """Return a copy of an array of the library, which may be empty."""
    return np.ctypeslib.as_array(pointer, (count,)).copy() if count else np.empty(0, np.dtype(pointer._type_))


def lists(place: np.ndarray, ranks: int, micro_batches: int) -> List[List[List[int]]]:
    """Return the numbers of the sequences by rank and micro-batch."""
    order = np.argsort(place, kind="stable").tolist()
    ends = np.cumsum(np.bincount(place, minlength=ranks * micro_batches)).tolist()
    each = [order[begin:end] for begin, end in zip([0, *ends], ends)]
    return [each[first:first + micro_batches] for first in range(0, len(each), micro_batches)]


def partition(lengths: Any, ranks: int, *, micro_batches: Optional[int] = None, max_tokens: Optional[int] = None, cost: Any = None,
              sync: str = "step", group: Any = None, together: Any = None, multiple: int = 1) -> Partition:
    """Divide the sequences of one training step among ranks and micro-batches, such as the rollouts of a step of post-training.

    Sequences stay whole, and all ranks have the same number of micro-batches. A micro-batch is empty only if a sequence in it would make ranks
    wait, or if the sequences are too few or must stay with others. The same arguments give the same partition on every machine, so ranks need
    not communicate. At least one of micro_batches and max_tokens is given. Other threads run meanwhile, and Ctrl-C raises KeyboardInterrupt.

    Parameters
    ----------
    lengths : array of whole numbers, [N]
        Tokens of each sequence.
    ranks : int
        Data-parallel ranks.
    micro_batches : int, optional
        Micro-batches of each rank; by default as few as possible with max_tokens.
    max_tokens : int, optional
        The most tokens in a micro-batch.
    cost : array of numbers, [N], or str, optional
        What each sequence costs; or "ALPHA,BETA", such as "1,2e-5", for ALPHA for each token and BETA for the square of each length. By default
        a token costs 1.
    sync : "step" or "micro"
        When ranks wait for each other: after all micro-batches of the step, or after every micro-batch.
    group : array, [N], optional
        Sequences with one value are on one rank, such as the rollouts of one prompt. None, "" and numbers below 0: in no group.
    together : array, [N], optional
        Sequences with one value are in one micro-batch. None, "" and numbers below 0: alone.
    multiple : int
        The number of micro-batches is a multiple of it, such as the stages of a pipeline.

    Returns
    -------
    Partition

    Raises
    ------
    OptionError
        A length, a cost or an option is invalid, a sequence is longer than max_tokens, or the sequences do not fit into micro_batches; also a
        ValueError. The message has the index and the value.
    TypeError
        An argument has a wrong type.
    DependencyError
        There is no C library; also an ImportError.
    """
    given = whole("lengths", lengths)
    options = library.PartitionOptions(
        size=ctypes.sizeof(library.PartitionOptions), ranks=steps("ranks", ranks, 1), micro_batches=optional("micro_batches", micro_batches),
        max_tokens=optional("max_tokens", max_tokens), multiple=steps("multiple", multiple, 1), sync=word("sync", sync, SYNCS))
    arrays = []  # that must live until the call ends

    def keep(array: np.ndarray) -> Optional[int]:
        arrays.append(array)
        return library.address(array)

    if isinstance(cost, str):
        options.cost_alpha, options.cost_beta = cost_pair(cost)
    elif cost is not None:
        options.cost = keep(amounts("cost", cost, len(given)))
    if group is not None:
        options.group = keep(bundles("group", group, len(given)))
    if together is not None:
        options.together = keep(bundles("together", together, len(given)))

    def make(cancel: ctypes.c_int) -> Partition:
        loaded, error, pointer = library.load(), library.Error(), ctypes.POINTER(library.Partition)()
        options.cancel = ctypes.pointer(cancel)
        code = loaded.bload_partition_make(library.address(given), len(given), options, pointer, error)
        library.check(code, error)
        try:
            made = pointer.contents
            size, shape = made.ranks * made.micro_batches, (made.ranks, made.micro_batches)
            place = copy(made.place, len(given))
            return Partition(lists(place, *shape), made.lost, made.bound, *shape, made.micro_batches_bound, copy(made.cost, size).reshape(shape),
                             copy(made.tokens, size).reshape(shape), place // made.micro_batches, place % made.micro_batches)
        finally:
            loaded.bload_partition_free(pointer)

    return library.interruptible(make)
