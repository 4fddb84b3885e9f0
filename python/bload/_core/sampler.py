"""Order the blocks of an epoch and divide them among ranks, for any framework; needs only numpy. bload.torch has the same for PyTorch."""
from __future__ import annotations

import functools
import operator
import os
import warnings
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, SupportsIndex, Tuple, Union, overload

import numpy as np

from .ahead import Prefetcher
from .arguments import flag, integer, kind
from .base import BaseDataset
from .blocks import Block, Blocks
from .epochs import hash_numbers
from .errors import SamplerError

OPEN_EPOCHS = 4

REMAINDERS = ("error", "pad", "drop")


class Order(NamedTuple):
    """What determines the block numbers that one iteration of a BlockSampler yields, so that a worker can predict them.

    begin: blocks of the epoch that were consumed before. left: how many numbers there are, for all ranks. first: the number of the epoch's
    first block. rank: the rank that reads these numbers, or None for the whole job. ranks, batch: number of ranks, and blocks per rank and step.
    """
    blocks: int
    seed: int
    epoch: int
    shuffle: bool
    begin: int
    left: int
    first: int
    rank: Optional[int]
    ranks: int
    batch: int

    def all(self) -> np.ndarray:
        """Return the numbers for all ranks: I64 [left]."""
        blocks = order(self.blocks, self.seed, self.epoch) if self.shuffle else np.arange(self.blocks)
        return np.resize(blocks[self.begin:], self.left) + self.first

    def total(self) -> int:
        """Return how many numbers an iteration yields."""
        return self.left if self.rank is None else self.left // self.ranks

    def number(self, place: int) -> int:
        """Return the number in a position of the iteration, from 0."""
        return int(numbers_of(self)[place if self.rank is None else place * self.ranks + self.rank])


@functools.lru_cache(2)
def numbers_of(given: Order) -> np.ndarray:
    """Return the numbers of an order, and cache them, because every block of an epoch asks for them."""
    return given.all()


class PositionedNumber(int):
    """The number of a block that carries its position in an order, which tells a worker what to prefetch from a remote dataset."""

    order: Order
    place: int

    def __new__(cls, number: int, order: Order, place: int) -> "PositionedNumber":
        made = super().__new__(cls, number)
        made.order, made.place = order, place
        return made

    def __reduce__(self) -> Any:
        return PositionedNumber, (int(self), self.order, self.place)


class EpochBlocks:
    """The blocks of all epochs of a dataset, in one numbering: number k * len(dataset) + i is dataset.epoch(k)[i].

    A number identifies both the epoch and the block, so a worker that was started in another epoch reads the right block. len() and
    slices cover the stored blocks, epoch 0; a sampler that knows only len() reads those.

    Parameters
    ----------
    dataset : BaseDataset
        A dataset or view from bload.open; it must stay open.
    window : int, optional
        As in BaseDataset.epoch. Without a window, training cycles through the stored blocks and the planned epochs; with a window, every
        epoch exists.
    seed : int
        The seed of windowed epochs; only valid with a window.

    Raises
    ------
    TypeError
        `dataset` was not opened by bload.open.
    SamplerError
        A seed is given without a window, or the window is below 1.
    IndexError
        A negative number is before the first block.
    """

    def __init__(self, dataset: BaseDataset, window: Optional[int] = None, seed: int = 0):
        if not isinstance(dataset, BaseDataset):
            raise TypeError(f"dataset must be a dataset or a view, opened by bload.open, not {kind(dataset)}")
        if seed != 0 and window is None:
            raise SamplerError("a seed needs a window")
        self.dataset = dataset
        self.window = None if window is None else whole_number("window", window, 1)
        self.seed = integer("the seed for windows must be an int", seed)
        # One cache per object, as in Dataset. It has no lock that a forked worker could inherit while it is held.
        self.epoch = functools.lru_cache(OPEN_EPOCHS)(self.open)
        self.prefetchers: Dict[int, Prefetcher] = {}  # by process, because a forked process has none of the threads

    def __reduce__(self) -> Any:
        return EpochBlocks, (self.dataset, self.window, self.seed)

    def open(self, number: int) -> Blocks:
        """Return the blocks of an epoch; raise EpochError if it has no plan."""
        return self.dataset.epoch(number, self.window, self.seed)

    def __len__(self) -> int:
        return len(self.dataset)

    @overload
    def __getitem__(self, key: SupportsIndex) -> Block: ...

    @overload
    def __getitem__(self, key: slice) -> List[Block]: ...

    def __getitem__(self, key: Union[SupportsIndex, slice]) -> Union[Block, List[Block]]:
        if isinstance(key, slice):
            return self.dataset[key]
        number = integer("a block index must be an int or a slice", key)
        if number < -len(self) or len(self) == 0:
            raise IndexError(f"no block {number}: there are {len(self)}")
        if isinstance(key, PositionedNumber):
            self.prefetcher().seen(key.order, key.place)
        epoch, block = divmod(number, len(self)) if number >= 0 else (0, number)
        return self.epoch(epoch)[block]

    def prefetcher(self) -> Prefetcher:
        """Return the prefetcher of this process, because a forked process has none of the threads of its parent."""
        own = self.prefetchers.get(os.getpid())
        if own is None:
            options, info = self.dataset._storage.options, self.dataset._info
            size = sum(info.fields[name].block_bytes for name in self.dataset._options.fields)
            own = Prefetcher(self.missing, options.blocks_ahead(max(size, self.dataset._unit)), max(1, options.access.connections - 1))
            self.prefetchers = {os.getpid(): own}
        return own

    def missing(self, number: int) -> List[Callable[[], None]]:
        """Return tasks that fetch the stored blocks of which a block is made, except those that are here."""
        epoch, block = divmod(number, len(self))
        return [functools.partial(store._prepare, stored) for store, stored in self.epoch(epoch)._needs(block) if not store._ready(stored)]

    def __iter__(self) -> Iterator[Block]:
        return iter(self.dataset)

    def __contains__(self, key: object) -> bool:
        return key in self.dataset  # raises TypeError: blocks cannot be searched

    def __repr__(self) -> str:
        window = "" if self.window is None else f", window = {self.window}, seed = {self.seed}"
        return f"<bload.jax.EpochBlocks{window} of {self.dataset!r}>"

    def first(self, epoch: int) -> int:
        """Return the number of the first block of a training epoch.

        Parameters
        ----------
        epoch : int
            The training epoch, from 0.
        """
        if self.window is None:
            known = self.dataset.epochs
            epoch = known[epoch % len(known)]
        return epoch * len(self)


def order(blocks: int, seed: int, epoch: int) -> np.ndarray:
    """Return a permutation of 0 to blocks - 1, I64 [blocks], that is the same on every machine and numpy version."""
    return np.argsort(hash_numbers(np.arange(blocks), seed, epoch), kind="stable")


def whole_number(name: str, value: Any, least: int = 0) -> int:
    """Return the value as an int; raise SamplerError if it is not an integer, or below least."""
    try:
        number = operator.index(value)
    except TypeError:
        raise SamplerError(f"{name} must be an integer, not {value!r}") from None
    if isinstance(value, bool) or number < least:
        raise SamplerError(f"{name} must be at least {least}, not {value!r}")
    return number


def checked_source(source: Any) -> Any:
    """Return the source itself if its blocks are numbered across epochs; raise TypeError with advice if they are not."""
    if hasattr(source, "first") and isinstance(getattr(source, "dataset", None), BaseDataset):
        return source
    if isinstance(source, Blocks):
        raise TypeError("a sampler numbers the blocks of all epochs: pass bload.jax.EpochBlocks(dataset), and read its blocks")
    if hasattr(source, "indices"):
        raise TypeError("a part of the blocks, such as a Subset, has no other epochs, because epochs mix the sequences of all blocks: split "
                        "the sequences before packing (one dataset for each part), or read the stored blocks with torch's own samplers")
    raise TypeError(f"the source of a sampler must be a bload.torch.BlockDataset or a bload.jax.EpochBlocks, not {kind(source)}")


class BlockSampler:
    """Yield the numbers of an epoch's blocks: each block once, equally many for every rank, resumable inside an epoch.

    The position is the number of blocks of the epoch that the whole job has consumed, so a job of any size can resume from it.

    Parameters
    ----------
    source : EpochBlocks or bload.torch.BlockDataset
        The blocks to number. If it has several epochs, each training epoch reads another packing.
    num_replicas : int, optional
        The number of ranks of the job; 1 by default.
    rank : int, optional
        Yield the numbers of this rank, every num_replicas-th one. Without a rank, the sampler yields the numbers of the whole job in the
        order of consumption, and the caller divides them among the ranks, as Accelerate does.
    shuffle : bool
        Seed and epoch determine the order of the blocks. If false, the blocks keep the order of the dataset.
    seed : int
        The seed of the order, at least 0.
    batch_size : int, optional
        Blocks per rank and step; the dataset's value by default.
    remainder : {"error", "pad", "drop"}
        What to do if the blocks left in the epoch are not a multiple of num_replicas * batch_size, because the job has another size than
        the dataset was packed for. "error" raises SamplerError, "pad" repeats some of these blocks, "drop" leaves out the last ones. The
        properties padded and dropped count them for the whole job, and a warning gives the number.
    whole_length : bool
        Include the blocks consumed before this iteration in len(). Lightning needs this, because it counts them itself.

    Raises
    ------
    SamplerError
        Ranks, batch size and blocks do not fit together, which the constructor checks, or a state does not belong to this dataset. Also a
        ValueError.
    TypeError
        `source` has another type.
    """

    def __init__(self, source: Any, num_replicas: Optional[int] = None, rank: Optional[int] = None, shuffle: bool = True,
                 seed: int = 0, *, batch_size: Optional[int] = None, remainder: str = "error",
                 whole_length: bool = False):
        self.source = checked_source(source)
        self.num_replicas = whole_number("num_replicas", 1 if num_replicas is None else num_replicas, 1)
        self.rank = None if rank is None else whole_number("rank", rank)
        if self.rank is not None and self.rank >= self.num_replicas:
            raise SamplerError(f"rank must be below num_replicas, which is {self.num_replicas}, not {rank}")
        self.shuffle = flag("shuffle", shuffle)
        self.seed = whole_number("seed", seed)
        self.batch_size = whole_number("batch_size", source.dataset.batch_size if batch_size is None else batch_size, 1)
        if remainder not in REMAINDERS:
            raise SamplerError(f"remainder must be one of {', '.join(REMAINDERS)}, not {remainder!r}")
        self.remainder = remainder
        self.whole_length = flag("whole_length", whole_length)
        self.epoch = 0
        self.begin = 0         # blocks of the epoch consumed before this iteration
        self.position = 0      # blocks of the epoch consumed, counting all numbers yielded so far
        self.finished = False  # all numbers of the epoch were yielded: the next iteration is a whole epoch
        self.epoch_was_set = False  # set_epoch was called, and no number was yielded since
        self.restored = False  # a state was loaded, and no number was yielded since
        self.finished_epoch: Optional[int] = None  # the epoch that is finished according to the loaded state
        self.excess(0)

    def __repr__(self) -> str:
        whose = f"{self.num_replicas} ranks" if self.rank is None else f"rank {self.rank} of {self.num_replicas}"
        return (f"<bload.{type(self).__name__} of {whose}, batch_size = {self.batch_size}, seed = {self.seed}, shuffle = {self.shuffle}: "
                f"epoch {self.epoch}, {self.position} of {len(self.source)} blocks consumed, of {self.source!r}>")

    # --- the epoch ------------------------------------------------------------------------------------------------

    def set_epoch(self, epoch: int) -> None:
        """Move to the start of an epoch; in the current epoch, restored or not, the position stays.

        If a restored state says that this epoch is finished, no blocks are left in it. Warns if it abandons a restored position.

        Parameters
        ----------
        epoch : int
            The training epoch, from 0.

        Raises
        ------
        SamplerError
            `epoch` is not an integer of at least 0.
        """
        epoch = whole_number("epoch", epoch)
        if epoch == self.finished_epoch:
            self.begin = self.position = len(self.source)
            self.finished = self.restored = False
        elif epoch != self.epoch or self.finished:
            if self.restored:
                self.warn(f"set_epoch({epoch}) leaves the restored position, {self.begin} blocks into epoch {self.epoch}, of which the "
                          f"other {self.left()} are not read: call set_epoch({self.epoch}) to continue there", 3)
            self.begin = self.position = 0
            self.finished = self.restored = False
        self.epoch = epoch
        self.epoch_was_set = True

    def excess(self, begin: int) -> int:
        """Return how many blocks from begin on do not fill a step of all ranks; raise SamplerError for any if remainder is "error"."""
        step = self.num_replicas * self.batch_size
        left = len(self.source) - begin
        excess = left % step
        if excess and self.remainder == "error":
            what = f"{left} blocks are left of the epoch" if begin else f"an epoch has {left} blocks"
            raise SamplerError(
                f"{what}, which is not a multiple of {step} = {self.num_replicas} ranks * {self.batch_size} "
                f"blocks: remainder=\"pad\" repeats {step - excess} of them, remainder=\"drop\" leaves out {excess}",
                self.source.dataset.path)
        return excess

    @property
    def dropped(self) -> int:
        """The blocks of this epoch that are left out, over the whole job."""
        return self.excess(self.begin) if self.remainder == "drop" else 0

    @property
    def padded(self) -> int:
        """The blocks of this epoch that are repeated, over the whole job."""
        return -self.left() % (self.num_replicas * self.batch_size) if self.remainder == "pad" else 0

    def left(self) -> int:
        """Return the number of blocks of the epoch from begin on."""
        return len(self.source) - self.begin

    def numbers(self) -> np.ndarray:
        """Return the block numbers left in the epoch, for all ranks: I64 [n], n a multiple of num_replicas * batch_size."""
        excess = self.excess(self.begin)
        if excess:
            what = f"{self.padded} blocks are read twice" if self.padded else f"{self.dropped} blocks are left out"
            self.warn(f"{what} in epoch {self.epoch}, so that {self.num_replicas} ranks with batches of {self.batch_size} have equally "
                      "many", 4)
        return self.ordered().all()

    def ordered(self) -> Order:
        """Return what determines the numbers that are left in the epoch."""
        return Order(len(self.source), self.seed, self.epoch, self.shuffle, self.begin, self.left() + self.padded - self.dropped,
                     self.source.first(self.epoch), self.rank, self.num_replicas, self.batch_size)

    def warn(self, what: str, level: int) -> None:
        """Issue a warning that names the dataset."""
        warnings.warn(f"{self.source.dataset.path}: {what}", stacklevel=level)

    def __len__(self) -> int:
        """Return how many numbers an iteration yields: those left in the epoch when it begins."""
        self.excess(self.begin)
        total = self.left() + self.padded - self.dropped + (self.begin if self.whole_length else 0)
        return total if self.rank is None else total // self.num_replicas

    def __iter__(self) -> Iterator[int]:
        self.epoch_was_set = self.restored = False
        if self.finished:
            self.begin, self.finished = 0, False
        if self.left() > 0:
            self.finished_epoch = None
        numbers, ordered = self.numbers(), self.ordered()
        ahead = self.source.dataset._far and self.source.dataset._storage.options.read_ahead > 0
        begin, each = self.begin, 1
        if self.rank is not None:
            numbers, each = numbers[self.rank::self.num_replicas], self.num_replicas
        self.position = begin
        for taken, number in enumerate(numbers.tolist(), 1):
            self.position = begin + taken * each
            yield PositionedNumber(number, ordered, taken - 1) if ahead else number
        self.finished = begin < len(self.source)  # if nothing was left, the next iteration yields nothing either

    # --- the state ------------------------------------------------------------------------------------------------

    def state_dict(self, consumed: Optional[int] = None) -> Dict[str, Any]:
        """Return the position of the job, to be saved in a checkpoint.

        Parameters
        ----------
        consumed : int, optional
            The blocks of this epoch that the whole job has trained on, including those before it was resumed. The default counts the blocks
            whose numbers were yielded, which is too many if workers read ahead.

        Returns
        -------
        dict of int, bool and str
            For load_state_dict; it can be stored as JSON.

        Raises
        ------
        SamplerError
            `consumed` exceeds the epoch.
        """
        position = self.position if consumed is None else whole_number("consumed", consumed)
        end = len(self.source) + self.padded
        if position > end:
            raise SamplerError(f"consumed is {position}, but the epoch has {end} blocks", self.source.dataset.path)
        if position >= len(self.source) - self.dropped:
            position = len(self.source)
        return {
            "seed": self.seed,
            "epoch": self.epoch,
            "consumed": position,
            "shuffle": self.shuffle,
            "blocks": len(self.source),
            "world_size": self.num_replicas,
            "plan_digest": self.source.dataset._info.plan_digest,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a state that a job of any size saved.

        After a finished epoch, the whole next one follows. If set_epoch was called before, a later epoch stays set, and in the finished epoch
        itself no blocks are left. (StatefulDataLoader works in this order: it loads the state when it is iterated.)

        Parameters
        ----------
        state : mapping
            What state_dict returned.

        Raises
        ------
        SamplerError
            The state does not belong to these blocks, or the rest of its epoch cannot be divided. The sampler is unchanged.
        """
        seed, epoch, consumed = self.checked(state)
        finished = epoch if consumed == len(self.source) else None
        chosen = self.epoch if self.epoch_was_set else None
        if finished is not None and chosen != finished:
            epoch, consumed = (finished + 1 if chosen is None or chosen < finished else chosen), 0
        self.excess(consumed)
        if chosen is not None and chosen != epoch:
            self.warn(f"set_epoch({chosen}) was called, but the state continues in epoch {epoch}", 3)
        self.seed, self.epoch, self.shuffle = seed, epoch, bool(state["shuffle"])
        self.begin = self.position = consumed
        self.finished, self.restored, self.finished_epoch = False, True, finished

    def checked(self, state: Mapping[str, Any]) -> Tuple[int, int, int]:
        """Return the seed, epoch and consumed blocks of a state; raise SamplerError if it does not belong to these blocks."""
        path = self.source.dataset.path
        if not isinstance(state, Mapping):
            raise SamplerError(f"the state must be a dict from state_dict(), not {kind(state)}", path)
        for name in ("seed", "epoch", "consumed", "shuffle", "blocks", "world_size", "plan_digest"):
            if name not in state:
                raise SamplerError(f"the state has no \"{name}\": it is not the state of a BlockSampler", path)
        seed, epoch, consumed, blocks = (whole_number(f"the state's {name}", state[name])
                                         for name in ("seed", "epoch", "consumed", "blocks"))
        whole_number("the state's world_size", state["world_size"], 1)
        own = self.source.dataset._info.plan_digest
        if (blocks, state["plan_digest"]) != (len(self.source), own):
            raise SamplerError(f"the state belongs to another dataset: {blocks} blocks by plan {state['plan_digest']}, "
                               f"not {len(self.source)} by plan {own}", path)
        if consumed > blocks:
            raise SamplerError(f"the state says that {consumed} of {blocks} blocks were consumed", path)
        return seed, epoch, consumed
