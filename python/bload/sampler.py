"""Which blocks are read, by whom, and in what order: for every framework, with numpy alone. bload.torch has the same for PyTorch."""
from __future__ import annotations

import functools
import operator
import warnings
from typing import Any, Dict, Iterator, List, Mapping, Optional, SupportsIndex, Tuple, Union, overload

import numpy as np

from .arguments import flag, integer, kind
from .blocks import Block, Blocks
from .dataset import Dataset
from .epochs import scatter
from .errors import SamplerError

OPEN_EPOCHS = 4

REMAINDERS = ("error", "pad", "drop")


class EpochBlocks:
    """The blocks of all epochs of a dataset, numbered on: the one with number k * len(dataset) + i is dataset.epoch(k)[i].

    So a number says all about a block, and reaches workers that were started in another epoch. len() is that of one epoch, and so
    are the numbers of samplers that know nothing of this: they read the stored blocks. Without a window there are the epochs that
    have plans, which take turns; with one (see bload.Epoch, seed too) any. Slices, as len(), are of the stored blocks.
    """

    def __init__(self, dataset: Dataset, window: Optional[int] = None, seed: int = 0):
        if not isinstance(dataset, Dataset):
            raise TypeError(f"the blocks are those of a dataset, opened by bload.open, not {kind(dataset)}")
        if seed != 0 and window is None:
            raise SamplerError("a seed of windows needs a window")
        self.dataset = dataset
        self.window = None if window is None else whole_number("window", window, 1)
        self.seed = integer("the seed of windows is an integer", seed)
        # Its own cache, as in Dataset: without a lock that a forked worker could inherit locked.
        self.epoch = functools.lru_cache(OPEN_EPOCHS)(self.open)

    def __reduce__(self) -> Any:
        return EpochBlocks, (self.dataset, self.window, self.seed)

    def open(self, number: int) -> Blocks:
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
        number = integer("blocks are had by number or slice", key)
        if number < -len(self) or len(self) == 0:
            raise IndexError(f"block {number} of {len(self)}")
        epoch, block = divmod(number, len(self)) if number >= 0 else (0, number)
        return self.epoch(epoch)[block]

    def __iter__(self) -> Iterator[Block]:
        return iter(self.dataset)

    def __contains__(self, key: object) -> bool:
        return key in self.dataset  # which says that blocks are not looked for

    def __repr__(self) -> str:
        window = "" if self.window is None else f", window = {self.window}, seed = {self.seed}"
        return f"<bload.sampler.EpochBlocks{window} of {self.dataset!r}>"

    def first(self, epoch: int) -> int:
        """The number of the first block in an epoch of training, counted from 0."""
        if self.window is None:
            known = self.dataset.epochs
            epoch = known[epoch % len(known)]
        return epoch * len(self)


def order(blocks: int, seed: int, epoch: int) -> np.ndarray:
    """A permutation of 0 to blocks - 1, I64: a pure function of its arguments, the same on every machine and with every numpy."""
    return np.argsort(scatter(np.arange(blocks), seed, epoch), kind="stable")


def whole_number(name: str, value: Any, least: int = 0) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise SamplerError(f"{name} must be an integer, and is {value!r}") from None
    if isinstance(value, bool) or number < least:
        raise SamplerError(f"{name} must be at least {least}, and is {value!r}")
    return number


def of_epochs(source: Any) -> Any:
    """What a sampler gives numbers for: blocks that are numbered on from epoch to epoch."""
    if hasattr(source, "first") and isinstance(getattr(source, "dataset", None), Dataset):
        return source
    if isinstance(source, Blocks):
        raise TypeError("a sampler's numbers go on from epoch to epoch: give it, and index, sampler.EpochBlocks(dataset)")
    if hasattr(source, "indices"):
        raise TypeError("a part of the blocks, such as a Subset, has no further epochs, as those mix the sequences of all blocks: split "
                        "the sequences before packing (a dataset for each part), or read the stored blocks by torch's own samplers")
    raise TypeError(f"a sampler is of bload.torch.BlockDataset or bload.sampler.EpochBlocks, not {kind(source)}")


class BlockSampler:
    """The numbers of an epoch's blocks, every block once, and in equal number for every rank; goes on where a run was stopped.

    source: the blocks that numbers are for: EpochBlocks (or bload.torch.BlockDataset). Where it has further epochs, each epoch of
    training reads another packing.
    num_replicas: ranks of the job; without it 1.
    rank: without it, iterating gives the numbers for the whole job, in the order in which they are consumed: whoever takes them
    shares them out, as Accelerate does. With it, those of this rank, every num_replicas-th.
    shuffle, seed: the order of the blocks is drawn from seed and epoch; without shuffle they come as they lie.
    batch_size: blocks per rank and step, the dataset's own by default.
    remainder: what is done where the blocks that are left are no multiple of num_replicas * batch_size, as they may be in a job of
    another size than the dataset was packed for: "error" (SamplerError), "pad" (blocks of the rest are repeated) or "drop" (the last
    ones are left out); padded and dropped count them, for the whole job, and a warning tells.
    whole_length: len() counts those as well that were consumed before. Lightning wants that: it counts them itself.

    The position is counted in blocks of the epoch that the whole job consumed, so that a job of any size can go on from it.

    SamplerError (a ValueError): ranks, batch size and blocks do not go together, told when the sampler is made; a state that is another's.
    """

    def __init__(self, source: Any, num_replicas: Optional[int] = None, rank: Optional[int] = None, shuffle: bool = True,
                 seed: int = 0, *, batch_size: Optional[int] = None, remainder: str = "error",
                 whole_length: bool = False):
        self.source = of_epochs(source)
        self.num_replicas = whole_number("num_replicas", 1 if num_replicas is None else num_replicas, 1)
        self.rank = None if rank is None else whole_number("rank", rank)
        if self.rank is not None and self.rank >= self.num_replicas:
            raise SamplerError(f"there is no rank {rank} among {self.num_replicas}")
        self.shuffle = flag("shuffle", shuffle)
        self.seed = whole_number("seed", seed)
        self.batch_size = whole_number("batch_size", source.dataset.batch_size if batch_size is None else batch_size, 1)
        if remainder not in REMAINDERS:
            raise SamplerError(f"remainder must be one of {', '.join(REMAINDERS)}, and is {remainder!r}")
        self.remainder = remainder
        self.whole_length = flag("whole_length", whole_length)
        self.epoch = 0
        self.begin = 0         # of the epoch's blocks, those that were consumed before this iteration
        self.position = 0      # those that are consumed when everything that was handed out is
        self.finished = False  # it was handed out to its end: the next iteration is a whole epoch
        self.told = False      # set_epoch was called, and nothing was handed out since
        self.restored = False  # a state was loaded, and nothing was handed out since
        self.over: Optional[int] = None  # the epoch that this state says is finished
        self.excess(0)

    def __repr__(self) -> str:
        whose = f"{self.num_replicas} ranks" if self.rank is None else f"rank {self.rank} of {self.num_replicas}"
        return (f"<bload.{type(self).__name__} of {whose}, batch_size = {self.batch_size}, seed = {self.seed}, shuffle = {self.shuffle}: "
                f"epoch {self.epoch}, {self.position} of {len(self.source)} blocks consumed, of {self.source!r}>")

    # --- the epoch ------------------------------------------------------------------------------------------------

    def set_epoch(self, epoch: int) -> None:
        """Goes to the beginning of an epoch; in the one that is at hand already, perhaps restored, the position stays.

        Of the epoch that a restored state says is finished nothing is left.
        """
        epoch = whole_number("epoch", epoch)
        if epoch == self.over:
            self.begin = self.position = len(self.source)
            self.finished = self.restored = False
        elif epoch != self.epoch or self.finished:
            if self.restored:
                self.warn(f"set_epoch({epoch}) leaves the restored position, {self.begin} blocks into epoch {self.epoch}, of which the "
                          f"other {self.left()} are not read: go on with set_epoch({self.epoch})", 3)
            self.begin = self.position = 0
            self.finished = self.restored = False
        self.epoch = epoch
        self.told = True

    def excess(self, begin: int) -> int:
        """How many of the blocks that are left behind begin make no step of all ranks; SamplerError where they may not be."""
        step = self.num_replicas * self.batch_size
        left = len(self.source) - begin
        excess = left % step
        if excess and self.remainder == "error":
            what = f"{left} blocks are left of the epoch" if begin else f"an epoch has {left} blocks"
            raise SamplerError(
                f"{what}, which is no multiple of {step} = {self.num_replicas} ranks * {self.batch_size} "
                f"blocks: remainder=\"pad\" repeats {step - excess} of them, remainder=\"drop\" leaves out {excess}",
                self.source.dataset.path)
        return excess

    @property
    def dropped(self) -> int:
        """Blocks of this epoch that are left out, in the whole job."""
        return self.excess(self.begin) if self.remainder == "drop" else 0

    @property
    def padded(self) -> int:
        """Blocks of this epoch that are read a second time, in the whole job."""
        return -self.left() % (self.num_replicas * self.batch_size) if self.remainder == "pad" else 0

    def left(self) -> int:
        return len(self.source) - self.begin

    def numbers(self) -> np.ndarray:
        """What is left of the epoch, for all ranks, I64: a multiple of num_replicas * batch_size."""
        excess = self.excess(self.begin)
        blocks = order(len(self.source), self.seed, self.epoch) if self.shuffle else np.arange(len(self.source))
        left = blocks[self.begin:]
        if excess:
            what = f"{self.padded} blocks are read twice" if self.padded else f"{self.dropped} blocks are left out"
            self.warn(f"{what} in epoch {self.epoch}, so that {self.num_replicas} ranks with batches of {self.batch_size} have equally "
                      "many", 4)
            left = np.resize(left, len(left) + self.padded - self.dropped)
        first: int = self.source.first(self.epoch)
        return left + first

    def warn(self, what: str, level: int) -> None:
        warnings.warn(f"{self.source.dataset.path}: {what}", stacklevel=level)

    def __len__(self) -> int:
        """Numbers that an iteration gives: what is left of the epoch when it begins."""
        self.excess(self.begin)
        total = self.left() + self.padded - self.dropped + (self.begin if self.whole_length else 0)
        return total if self.rank is None else total // self.num_replicas

    def __iter__(self) -> Iterator[int]:
        self.told = self.restored = False
        if self.finished:
            self.begin, self.finished = 0, False
        if self.left() > 0:
            self.over = None
        numbers = self.numbers()
        begin, each = self.begin, 1
        if self.rank is not None:
            numbers, each = numbers[self.rank::self.num_replicas], self.num_replicas
        self.position = begin
        for taken, number in enumerate(numbers.tolist(), 1):
            self.position = begin + taken * each
            yield number
        self.finished = begin < len(self.source)  # where nothing was left, nothing is left of the epoch when it is asked for again

    # --- the state ------------------------------------------------------------------------------------------------

    def state_dict(self, consumed: Optional[int] = None) -> Dict[str, Any]:
        """Where the job is: numbers and text only.

        consumed: blocks of this epoch that the whole job has trained on, those before it was resumed included. Without it, those
        that were handed out, which is more where workers read ahead.
        """
        position = self.position if consumed is None else whole_number("consumed", consumed)
        end = len(self.source) + self.padded
        if position > end:
            raise SamplerError(f"{position} blocks were consumed, and the epoch has {end}", self.source.dataset.path)
        if position >= len(self.source) - self.dropped:
            position = len(self.source)
        return {
            "seed": self.seed,
            "epoch": self.epoch,
            "consumed": position,
            "shuffle": self.shuffle,
            "blocks": len(self.source),
            "world_size": self.num_replicas,
            "plan_digest": self.source.dataset.info.plan_digest,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state, of a job of any size. SamplerError, and nothing changed, where that cannot be.

        From that of a finished epoch the next one follows, whole. Where set_epoch was called before, as with StatefulDataLoader, which
        loads states when it is iterated, a later epoch stays, and of the finished one itself nothing is left.
        """
        seed, epoch, consumed = self.checked(state)
        over = epoch if consumed == len(self.source) else None
        told = self.epoch if self.told else None
        if over is not None and told != over:
            epoch, consumed = (over + 1 if told is None or told < over else told), 0
        self.excess(consumed)
        if told is not None and told != epoch:
            self.warn(f"set_epoch({told}) was called, and the state goes on in epoch {epoch}", 3)
        self.seed, self.epoch, self.shuffle = seed, epoch, bool(state["shuffle"])
        self.begin = self.position = consumed
        self.finished, self.restored, self.over = False, True, over

    def checked(self, state: Mapping[str, Any]) -> Tuple[int, int, int]:
        """Seed, epoch and consumed blocks of a state of these blocks."""
        path = self.source.dataset.path
        if not isinstance(state, Mapping):
            raise SamplerError(f"a state is the dict that state_dict() gave, not {kind(state)}", path)
        for name in ("seed", "epoch", "consumed", "shuffle", "blocks", "world_size", "plan_digest"):
            if name not in state:
                raise SamplerError(f"the state has no \"{name}\": it is not one of a BlockSampler", path)
        seed, epoch, consumed, blocks = (whole_number(f"the state's {name}", state[name])
                                         for name in ("seed", "epoch", "consumed", "blocks"))
        whole_number("the state's world_size", state["world_size"], 1)
        own = self.source.dataset.info.plan_digest
        if (blocks, state["plan_digest"]) != (len(self.source), own):
            raise SamplerError(f"the state is of another dataset: {blocks} blocks by plan {state['plan_digest']}, "
                               f"not {len(self.source)} by plan {own}", path)
        if consumed > blocks:
            raise SamplerError(f"the state tells of {consumed} consumed blocks, and there are {blocks}", path)
        return seed, epoch, consumed
