"""Plans where training runs: which sequences share a block, by the planner of `bload plan` in the C library."""
from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union, cast, overload

import numpy as np

from . import library
from .arguments import integer, kind
from .errors import OptionError

STEPS_MAX = 2 ** 63 - 1
ALONE = 2 ** 32 - 1    # UINT32_MAX: a sequence that is in no bundle
EXACT_MAX = 2.0 ** 53  # whole floating-point numbers below are exact

# The arrays of a plan, in the order of bload_plan_copy.
TABLES = {"block_ptr": np.int64, "sequence": np.int64, "start": np.int32, "length": np.int32, "source_start": np.int64}

# The words of options, in the order of the enums in bload.h.
STRATEGIES = "block", "naive", "sample", "mix", "store"
FILLS = "optimal", "paper"
OVERSIZES = "error", "split", "truncate", "drop"
REMAINDERS = "spread", "pad", "drop"
SYNCS = "micro", "step"
CLIPS = "one", "all"
ORDERS = "random", "keep"
BALANCES = "auto", "none", "quadratic", "cost"


class PlannedBlock(NamedTuple):
    """The pieces of one block, in the order of their starts: views of the arrays of the Plan.

    Attributes
    ----------
    sequence : array of int64, [pieces]
        Numbers of the sequences: indices into the lengths.
    start : array of int32, [pieces]
        The step of the block at which each piece begins.
    length : array of int32, [pieces]
        Steps of each piece.
    source_start : array of int64, [pieces]
        The step of the sequence at which each piece begins: above 0 only if the sequence was cut.
    """

    sequence: np.ndarray
    start: np.ndarray
    length: np.ndarray
    source_start: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Which sequence lies in which block, and at which step; bload.plan makes it.

    len(plan) is the number of blocks. plan[i], plan[-1], plan[2:5] (a list) and iteration return blocks, as PlannedBlock describes. A plan can
    be pickled. Rank r of world_size takes the blocks r, r + world_size, and so on: see blocks_of_rank.

    Attributes
    ----------
    block_ptr : array of int64, [blocks + 1]
        Block b has the pieces block_ptr[b] to block_ptr[b + 1] - 1.
    sequence : array of int64, [pieces]
        Numbers of the sequences: indices into the lengths.
    start : array of int32, [pieces]
        The step of the block at which each piece begins.
    length : array of int32, [pieces]
        Steps of each piece.
    source_start : array of int64, [pieces]
        The step of the sequence at which each piece begins.
    T : int
        Steps of a block.
    S : int
        The most pieces that a block has.
    world_size, batch_size : int
        As given: ranks, and blocks of a rank in one micro-batch.
    blocks, pieces : int
        How many there are.
    sequences, steps, longest : int
        Of the lengths: those above 0, the sum of their steps, and the steps of the longest one.
    padding : int
        Steps of all blocks that belong to no sequence.
    deleted : int
        Steps of sequences that are in no block, because an option left them out.
    cut : int
        Sequences that are in more than one piece, or not whole.
    overlap, repeated : int
        Steps that a piece after a cut repeats, and all steps that stand in two pieces: blocks * T = steps - deleted + repeated + padding.
    cp : int
        The ranks of context parallelism, or 0.
    bundles, bundles_split : int
        Values of `together` that several sequences have, and those of them that do not fit into a block, and are in several.
    lower_bound : int
        Proven: no plan of these pieces has fewer blocks.
    efficiency : float
        The share of the steps of all blocks that are not padding.
    imbalance, imbalance_before, imbalance_bound : float
        The share of time that ranks wait for each other, by the cost: of this plan, of its blocks in random order before they were balanced, and
        the proven minimum for so many blocks. 0.0 with one rank, as are the next four.
    highest_block_cost : float
        The cost of the most expensive block over the mean.
    ks_distance, ks_distance_random : float
        The mean Kolmogorov-Smirnov distance between the costs at a synchronization point and all costs: of this plan, and in random order.
    cost_correlation : float
        Of the costs of each block and the next one, -1 to 1.
    """

    block_ptr: np.ndarray
    sequence: np.ndarray
    start: np.ndarray
    length: np.ndarray
    source_start: np.ndarray
    T: int
    S: int
    world_size: int
    batch_size: int
    blocks: int
    pieces: int
    sequences: int
    steps: int
    longest: int
    padding: int
    deleted: int
    cut: int
    overlap: int
    repeated: int
    cp: int
    bundles: int
    bundles_split: int
    lower_bound: int
    efficiency: float
    imbalance: float
    imbalance_before: float
    imbalance_bound: float
    highest_block_cost: float
    ks_distance: float
    ks_distance_random: float
    cost_correlation: float

    def __repr__(self) -> str:
        return (f"<bload.Plan: {self.sequences} sequences in {self.blocks} blocks of {self.T} steps (at least {self.lower_bound}), "
                f"efficiency {100 * self.efficiency:.2f} %>")

    def __len__(self) -> int:
        return self.blocks

    @overload
    def __getitem__(self, item: int) -> PlannedBlock: ...

    @overload
    def __getitem__(self, item: slice) -> List[PlannedBlock]: ...

    def __getitem__(self, item: Union[int, slice]) -> Union[PlannedBlock, List[PlannedBlock]]:
        if isinstance(item, slice):
            return [self[b] for b in range(*item.indices(self.blocks))]
        b = integer("the number of a block must be an int or a slice", item)
        if not -self.blocks <= b < self.blocks:
            raise IndexError(f"no block {b}: the plan has {self.blocks}")
        b %= self.blocks
        here = slice(self.block_ptr[b], self.block_ptr[b + 1])
        return PlannedBlock(self.sequence[here], self.start[here], self.length[here], self.source_start[here])

    def __iter__(self) -> Iterator[PlannedBlock]:
        bounds = self.block_ptr.tolist()
        for begin, end in zip(bounds, bounds[1:]):
            yield PlannedBlock(self.sequence[begin:end], self.start[begin:end], self.length[begin:end], self.source_start[begin:end])

    def blocks_of_rank(self, rank: int) -> np.ndarray:
        """Return the numbers of the blocks that a rank takes, in their order.

        Every rank takes as many, since their number is a multiple of world_size * batch_size * accumulate, except with the strategy store.

        Parameters
        ----------
        rank : int
            0 to world_size - 1.

        Returns
        -------
        array of int64, [blocks / world_size]
            Batch i of the rank has the batch_size entries from i * batch_size on.
        """
        rank = integer("rank must be an int", rank)
        if not 0 <= rank < self.world_size:
            raise OptionError(f"rank {rank} is not between 0 and {self.world_size - 1}")
        return np.arange(rank, self.blocks, self.world_size, dtype=np.int64)

    def to_table(self) -> bytes:
        """Return the plan as `bload plan -o plan.tsv` writes it: a line for each piece, with block, sequence, start, length, source_start.

        An empty block has one line, with sequence -1. `bload pack --plan` reads this table.
        """
        block = np.repeat(np.arange(self.blocks), np.diff(self.block_ptr))
        empty = np.flatnonzero(np.diff(self.block_ptr) == 0)
        columns = [np.concatenate([column, np.full(len(empty), fill, np.int64)]) for column, fill in
                   ((block, 0), (self.sequence, -1), (self.start, 0), (self.length, 0), (self.source_start, 0))]
        columns[0][len(block):] = empty
        order = np.argsort(columns[0], kind="stable")
        rows = zip(*(column[order].tolist() for column in columns))
        return b"".join([b"block\tsequence\tstart\tlength\tsource_start\n", *(b"%d\t%d\t%d\t%d\t%d\n" % row for row in rows)])


# --- arguments -------------------------------------------------------------------------------------------------------


def first(bad: np.ndarray) -> int:
    """Return the index of the first True."""
    return int(bad.argmax())


def row(name: str, values: Any, count: Optional[int] = None) -> np.ndarray:
    """Return the values as an array of one dimension; with a count, of so many numbers."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:  # a ragged list; a tensor on a device
        raise OptionError(f"{name} must be an array of one dimension: {error}") from None
    if array.ndim != 1:
        raise OptionError(f"{name} must have one dimension, not the shape {array.shape}")
    if count is not None and len(array) != count:
        raise OptionError(f"{name} has {len(array)} values, and there are {count} lengths")
    return array


def whole(name: str, values: Any) -> np.ndarray:
    """Return whole numbers of at least 0 as int64 in C order, without a copy if they are such. OptionError: one is not such a number."""
    array = row(name, values)
    if array.dtype.kind == "O":  # numbers beyond 64 bits, or no numbers
        for i, value in enumerate(array.tolist()):
            number = integer(f"{name}[{i}] must be an int", value)
            if not 0 <= number <= STEPS_MAX:
                raise OptionError(f"{name}[{i}] is {number}, not 0 to {STEPS_MAX}")
    elif array.dtype.kind == "f":
        bad = ~((array >= 0) & (array < EXACT_MAX) & (array == np.floor(array)))  # NaN is bad, too
        if bad.any():
            raise OptionError(f"{name}[{first(bad)}] is {array[first(bad)]}, not a whole number of at least 0")
    elif array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be whole numbers, not of type {array.dtype}")
    if array.dtype.kind == "u" and array.size and int(array.max()) > STEPS_MAX:
        i = first(array > STEPS_MAX)
        raise OptionError(f"{name}[{i}] is {array[i]}, not 0 to {STEPS_MAX}")
    array = np.ascontiguousarray(array, np.int64)
    if array.size and array.min() < 0:
        i = first(array < 0)
        raise OptionError(f"{name}[{i}] is {array[i]}, not 0 to {STEPS_MAX}")
    return array


def amounts(name: str, values: Any, count: int) -> np.ndarray:
    """Return finite numbers of at least 0 as float64 in C order. OptionError: one is not such a number."""
    array = row(name, values, count)
    if array.dtype.kind not in "iuf":
        try:
            array = np.array([float(value) for value in array.tolist()] if array.dtype.kind == "O" else None, np.float64)
        except (TypeError, ValueError, OverflowError):
            array = np.array(None, np.float64)
        if array.ndim != 1:
            raise TypeError(f"{name} must be numbers")
    array = np.ascontiguousarray(array, np.float64)
    bad = ~((array >= 0) & (array < np.inf))
    if bad.any():
        raise OptionError(f"{name}[{first(bad)}] is {array[first(bad)]}, not a finite number of at least 0")
    return array


def labels(name: str, values: Any, count: int) -> np.ndarray:
    """Return values of any types as an array [count]. Of a list that mixes texts and numbers, numpy alone would make texts."""
    array = row(name, values, count)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        array = np.fromiter(values, object, count)
    return array


def groups(name: str, values: Any, count: int) -> np.ndarray:
    """Return the number of each value among the different ones, in the order in which they first occur: uint32."""
    array = labels(name, values, count)
    numbers: Any = {}
    if array.dtype.kind == "O":
        try:
            return np.array([numbers.setdefault(value, len(numbers)) for value in array.tolist()], np.uint32)
        except TypeError as error:
            raise TypeError(f"{name} must have values that can be compared: {error}") from None
    _, index, inverse = np.unique(array, return_index=True, return_inverse=True)
    numbers = np.empty(len(index), np.uint32)
    numbers[np.argsort(index, kind="stable")] = np.arange(len(index), dtype=np.uint32)
    return cast(np.ndarray, numbers[inverse.reshape(-1)])


def bundles(name: str, values: Any, count: int) -> np.ndarray:
    """Return the numbers of the values as groups does, and ALONE for None, "", NaN and numbers below 0."""
    array = labels(name, values, count)
    if array.dtype.kind in "OU":
        alone = np.array([value is None or (not value if isinstance(value, str) else isinstance(value, (int, float)) and not value >= 0)
                          for value in array.tolist()], np.bool_)
    elif array.dtype.kind in "iuf":
        alone = ~(array >= 0)  # NaN, too
    else:
        alone = np.zeros(count, np.bool_)
    numbers = groups(name, array, count)
    return np.where(alone, np.uint32(ALONE), numbers).astype(np.uint32)


def word(name: str, value: Any, words: Sequence[str]) -> int:
    """Return the index of a word among those of an option."""
    if not isinstance(value, str) or value not in words:
        raise OptionError(f"{name} must be one of {', '.join(words)}, not {kind(value)}")
    return words.index(value)


def steps(name: str, value: Any, least: int, most: int = STEPS_MAX) -> int:
    """Return an option that is an int in a range."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an int, not {kind(value)}")
    number = integer(f"{name} must be an int", value)
    if not least <= number <= most:
        raise OptionError(f"{name} must be {f'at least {least}' if number < least else f'at most {most}'}, not {number}")
    return number


def optional(name: str, value: Any) -> int:
    """Return an option that may be None, which the library takes as 0."""
    return 0 if value is None else steps(name, value, 1)


def share(value: Any) -> float:
    """Return spare as a share; as text it is a percentage."""
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)%", value)
        number = float(found.group(1)) / 100 if found else -1.0
    elif isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        number = float(value)
    else:
        raise TypeError(f"spare must be a number, or text such as '0.5%', not {kind(value)}")
    if not 0 <= number <= 1:
        raise OptionError(f"spare must be 0 to 1, or '0%' to '100%', not {value!r}")
    return number


def cost_pair(text: str) -> Tuple[float, float]:
    """Return ALPHA and BETA of a cost that is given as text."""
    number = r"[+]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
    found = re.fullmatch(rf"({number}),({number})", text)
    pair = (float(found.group(1)), float(found.group(2))) if found else (0.0, 0.0)
    if not 0 < sum(pair) < float("inf"):
        raise OptionError(f"cost must be 'ALPHA,BETA', two numbers of at least 0 and not both 0, or an array with a number for each sequence, "
                          f"not {kind(text)}")
    return pair


@dataclass
class Request:
    """The options of a plan in the library's form, with the arrays to which they point."""

    lengths: np.ndarray
    options: library.PlanOptions
    names: List[str]  # of the columns with a maximum
    arrays: List[Any] = field(default_factory=list)  # that must live until the call ends

    def keep(self, array: np.ndarray) -> Optional[int]:
        """Return the address of an array that lives as long as the request."""
        self.arrays.append(array)
        return library.address(array)

    def reword(self, text: str) -> str:
        """Return a message of the library with the names of Python's arguments."""
        def column(match: "re.Match[str]") -> str:
            number = int(match.group(1))
            return f"{match.group(0)[:-len(match.group(1)) - 7]}{self.names[number]}" if number < len(self.names) else match.group(0)
        text = re.sub(r"\bcolumn (\d)\b", column, text)
        text = text.replace("--max-column ", "columns: ").replace("--max-column", "columns").replace("--group-by", "group")
        return re.sub(r"--?([a-zA-Z][a-z-]*)", lambda match: match.group(1).replace("-", "_"), text) if "--" in text else text

    def limit(self, columns: Mapping[str, Tuple[float, Any]]) -> None:
        """Set the columns with a maximum."""
        if not isinstance(columns, Mapping):
            raise TypeError(f"columns must be a dict of {{name: (max, values)}}, not {kind(columns)}")
        if len(columns) > library.MAX_COLUMNS:
            raise OptionError(f"{len(columns)} columns have a maximum: at most {library.MAX_COLUMNS} can")
        each = (library.MaxColumn * max(len(columns), 1))()
        for i, (name, given) in enumerate(columns.items()):
            if not isinstance(given, (tuple, list)) or len(given) != 2:
                raise TypeError(f"columns[{name!r}] must be (max, values), not {kind(given)}")
            most, values = given
            if isinstance(most, bool) or not isinstance(most, (int, float, np.number)):
                raise TypeError(f"the maximum of columns[{name!r}] must be a number, not {kind(most)}")
            if not 0 < most < float("inf"):
                raise OptionError(f"the maximum of columns[{name!r}] must be a finite number above 0, not {most}")
            each[i] = library.MaxColumn(float(most), self.keep(amounts(f"columns[{name!r}]", values, len(self.lengths))))
            self.names.append(str(name))
        self.arrays.append(each)
        self.options.max_columns, self.options.max_column = len(columns), each

    def weigh(self, cost: Any, balance: str) -> None:
        """Set the cost of blocks, and whether ranks shall cost the same."""
        how = BALANCES[word("balance", balance, BALANCES)]
        if how == "cost" and cost is None:
            raise OptionError("balance='cost' needs a cost")
        if how == "quadratic" and cost is not None:
            raise OptionError("balance='quadratic' is cost='0,1': give one of them")
        self.options.balance = how == "quadratic" or (how != "none" and cost is not None)
        if isinstance(cost, str):
            self.options.cost_alpha, self.options.cost_beta = cost_pair(cost)
        elif cost is not None:
            self.options.cost = self.keep(amounts("cost", cost, len(self.lengths)))

    def make(self, cancel: ctypes.c_int) -> Plan:
        """Call the library, and copy its plan."""
        loaded, error, pointer = library.load(), library.Error(), ctypes.c_void_p()
        self.options.cancel = ctypes.pointer(cancel)
        code = loaded.bload_plan_make(library.address(self.lengths), len(self.lengths), self.options, pointer, error)
        library.check(code, error, self.reword)
        try:
            counts = loaded.bload_plan_counts(pointer).contents
            imbalance = loaded.bload_plan_imbalance(pointer).contents
            tables = [np.empty(counts.blocks + 1 if name == "block_ptr" else counts.pieces, dtype) for name, dtype in TABLES.items()]
            loaded.bload_plan_copy(pointer, *(library.address(table) for table in tables))
            members: Dict[str, Any] = {name: getattr(of, name) for of in (counts, imbalance) for name, _ in of._fields_}
        finally:
            loaded.bload_plan_free(pointer)
        members.update(zip(TABLES, tables), world_size=self.options.world_size, batch_size=self.options.batch_size)
        return Plan(**members)


def plan(lengths: Any, T: Union[int, str], *, world_size: int = 1, batch_size: int = 1, accumulate: int = 1, sync: str = "micro",
         remainder: str = "spread", cost: Any = None, balance: str = "auto", columns: Optional[Mapping[str, Tuple[float, Any]]] = None,
         align: int = 1, cp: Optional[int] = None, max_sequences: Optional[int] = None, group: Any = None, together: Any = None,
         oversize: str = "error", overlap: int = 0, min_length: int = 1, max_length: Optional[int] = None, order: str = "random", seed: int = 0,
         spare: Union[float, str] = 0.0, strategy: str = "block", fill: str = "optimal", clip: Optional[int] = None, clips: str = "one",
         effort: int = 8) -> Plan:
    """Plan which sequences share a block, where training runs: nothing is packed, and no file is read.

    It is the planner of `bload plan` (bload-plan(1)) in the C library, with the same options: the same lengths, options and seed give the same
    plan on every machine, and as that command. The arrays are not changed, and not needed afterwards. Other threads run meanwhile, and Ctrl-C
    raises KeyboardInterrupt. A million lengths take about a second.

    Parameters
    ----------
    lengths : array of whole numbers, [N]
        Steps of each sequence, such as tokens; int64 in C order is read without a copy. A length of 0 is left out.
    T : int or "longest"
        Steps of a block; "longest": as many as the longest sequence has.
    world_size, batch_size, accumulate : int
        Ranks, blocks of a rank in one micro-batch, and micro-batches of an optimizer step: the number of blocks becomes a multiple of their product.
    sync : "micro" or "step"
        When ranks wait for each other: after every micro-batch, or after every optimizer step.
    remainder : "spread", "pad" or "drop"
        How the number of blocks becomes a multiple: sequences are spread over more blocks, empty blocks follow at the end, or the emptiest are
        left out.
    cost : array of numbers, [N], or str
        What each sequence costs in training; or "ALPHA,BETA", such as "1,2e-5", for ALPHA for each of the T steps of a block and BETA for each
        squared step of a sequence. Ranks then cost nearly the same wherever they wait for each other.
    balance : "auto", "none", "quadratic" or "cost"
        Whether ranks cost the same: "auto" if a cost is given; "none" only measures; "quadratic" is the cost "0,1".
    columns : dict of {name: (max, values)}
        Further maxima of a block, at most 8: the sum of the values ([N] numbers of at least 0) over its sequences is at most max.
    align : int
        Every start in a block is a multiple of so many steps.
    cp : int, optional
        The ranks of context parallelism: as align=2 * cp, so that each sequence can be padded to a multiple of that; T must be a multiple.
    max_sequences : int, optional
        The most sequences in a block.
    group : array, [N], optional
        Sequences with different values never share a block.
    together : array, [N], optional
        Sequences with the same value share a block, next to each other in their order: pairs of a preference, rollouts of one prompt. None, ""
        and numbers below 0 are of sequences that are alone. A bundle that does not fit into a block is as a sequence longer than T.
    oversize : "error", "split", "truncate" or "drop"
        What becomes of sequences longer than T.
    overlap : int
        With oversize="split": the steps that each piece after a cut repeats, below T.
    min_length, max_length : int
        Shorter and longer sequences are left out, and counted.
    order : "random" or "keep"
        "keep": sequences and blocks in the order of the lengths.
    seed : int
        Of all random choices, 0 to 2^64 - 1. Another seed gives other blocks for another epoch, as many unless fill is "paper".
    spare : float or str
        Make this share more blocks, such as 0.005 or "0.5%", so that the seed can change more of the plan.
    strategy : "block", "naive", "sample", "mix" or "store"
        As of `bload plan`; "block" fills blocks with whole sequences.
    fill : "optimal" or "paper"
        "paper": BLoad's own rule.
    clip : int, optional
        Steps per clip of the strategies sample and mix; by default the mean length.
    clips : "one" or "all"
        Of the strategy sample: one clip of each sequence, or all whole ones.
    effort : int
        How long to search for fewer blocks, in billion operations of about half a second.

    Returns
    -------
    Plan

    Raises
    ------
    OptionError
        A length or an option is invalid, options contradict each other, or a sequence is longer than T; also a ValueError. The message has the
        index and the value.
    TypeError
        An argument has a wrong type.
    DependencyError
        There is no C library; also an ImportError.
    """
    given = whole("lengths", lengths)
    if isinstance(T, str) and T != "longest":
        raise OptionError(f"T must be a number of steps or 'longest', not {kind(T)}")
    options = library.PlanOptions(
        size=ctypes.sizeof(library.PlanOptions), T=0 if isinstance(T, str) else steps("T", T, 1), strategy=word("strategy", strategy, STRATEGIES),
        fill=word("fill", fill, FILLS), oversize=word("oversize", oversize, OVERSIZES), remainder=word("remainder", remainder, REMAINDERS),
        sync=word("sync", sync, SYNCS), all_clips=word("clips", clips, CLIPS), keep_order=word("order", order, ORDERS), clip=optional("clip", clip),
        seed=steps("seed", seed, 0, 2 ** 64 - 1), effort=steps("effort", effort, 1), align=steps("align", align, 1), cp=optional("cp", cp),
        overlap=steps("overlap", overlap, 0), max_sequences=optional("max_sequences", max_sequences), min_length=steps("min_length", min_length, 0),
        max_length=optional("max_length", max_length), spare=share(spare), world_size=steps("world_size", world_size, 1),
        batch_size=steps("batch_size", batch_size, 1), accumulate=steps("accumulate", accumulate, 1))
    request = Request(given, options, [])
    request.weigh(cost, balance)
    if columns is not None:
        request.limit(columns)
    if group is not None:
        options.group = request.keep(groups("group", group, len(given)))
    if together is not None:
        options.together = request.keep(bundles("together", together, len(given)))
    return library.interruptible(request.make)
