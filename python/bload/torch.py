"""Datasets for PyTorch: BlockDataset works with any DataLoader, BlockSampler gives new epochs and exact resuming."""
from __future__ import annotations

import os
import sys
from typing import Any, Dict, Iterable, Iterator, List, Optional, SupportsIndex, Tuple, Union, overload

import numpy as np
import torch
from torch.utils import _pytree
from torch.utils.data import DistributedSampler, Sampler
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import default_collate

from ._core import sampler
from ._core.errors import SamplerError
from ._core.opening import open

__all__ = ["BlockDataset", "BlockSampler", "RankBlockSampler", "Tensors", "collate", "tensor"]

# Tensors of at least this many bytes are passed from a worker to the main process in shared memory.
WORTH_SHARING = 256 << 10

# Types that torch lacks or barely supports, and the types that hold their values.
WIDER = {np.dtype(np.uint16): np.int32, np.dtype(np.uint32): np.int64}


def tensor(array: Any, stored: str = "") -> torch.Tensor:
    """Return an array as a tensor that can be written to.

    A read-only array is part of a mapped file and is copied: torch does not prevent writes, and a write there would crash the program. A
    writable array shares its memory with the tensor.

    Parameters
    ----------
    array : array
        Of any type that bload stores; U16 becomes int32, and U32 int64.
    stored : str
        "BF16" if the array holds the bits of bfloat16.

    Returns
    -------
    torch.Tensor
        On the CPU, of the array's shape.
    """
    array = np.asarray(array)
    if stored == "BF16":
        return tensor(array.view(np.int16)).view(torch.bfloat16)
    wider = WIDER.get(array.dtype)
    if wider is not None:
        array = array.astype(wider)
    return torch.from_numpy(array if array.flags.writeable else array.copy())


class Tensors(Dict[str, Any]):
    """The tensors and lists of a block or a batch, by name; a worker passes small tensors to the main process by value.

    In shared memory each tensor would cost a file, a descriptor and a quarter of a millisecond: for blocks of text, more than everything else.
    """

    def __copy__(self) -> "Tensors":
        return Tensors(self)  # torch's collate function fills a copy

    def __reduce__(self) -> Tuple[Any, ...]:
        return restored, ({name: by_value(value) for name, value in self.items()},)


def by_value(value: Any) -> Any:
    """Return a small tensor as an array, which is pickled with its content; anything else unchanged."""
    if isinstance(value, list):
        return [by_value(one) for one in value]
    if not isinstance(value, torch.Tensor) or value.numel() * value.element_size() >= WORTH_SHARING:
        return value
    try:
        return value.numpy()
    except (RuntimeError, TypeError):
        return value  # on a device, with a gradient, or of a type that numpy lacks


def as_tensor(value: Any) -> Any:
    """Return arrays as tensors again, as the inverse of by_value."""
    if isinstance(value, list):
        return [as_tensor(one) for one in value]
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def restored(values: Dict[str, Any]) -> Tensors:
    """Return the Tensors that a worker pickled."""
    return Tensors({name: as_tensor(value) for name, value in values.items()})


def unflattened(values: Iterable[Any], names: List[str]) -> Tensors:
    """Return Tensors from its leaves, for torch's pytrees."""
    return Tensors(zip(names, values))


# FSDP and torch.compile traverse a batch, and treat an unregistered class as a leaf. Torch 1.13 has the older name.
register: Any = getattr(_pytree, "register_pytree_node", None) or getattr(_pytree, "_register_pytree_node")
register(Tensors, lambda tensors: (list(tensors.values()), list(tensors)), unflattened)


class BlockDataset(TorchDataset[Dict[str, Any]]):
    """The blocks of a dataset as dicts of tensors, for any sampler and any number of workers, forked or spawned.

    dataset[i] and dataset[-1] are dicts, dataset[2:5] is a list of dicts. They contain the arrays of bload.Blocks as tensors of the stored
    type (U16 as int32, U32 as int64). Tensors can be written to: neither the files nor other tensors change. All blocks have the same
    shapes, so torch's default collate function stacks them; with pad=False use `collate`. len() is a multiple of the dataset.world_size *
    dataset.batch_size that the dataset was packed for, so torch's DistributedSampler repeats nothing.

    Parameters
    ----------
    path : path-like or str
        The directory that bload pack or bload view wrote, or its URL.
    window : int, optional
        Draw epochs that need no plans, for BlockSampler; see bload.jax.EpochBlocks.
    window_seed : int
        The seed of these epochs.
    ids : bool
        Add the list of ids to each block. `collate` keeps ids, and the JPEG files of decode=False, as one list per block.
    **options
        The other options of bload.open, except writable: fields, segment_ids, position_ids, mask, decode, pad, verify, open_shards...

    Attributes
    ----------
    dataset : bload.Dataset or bload.View
        The open dataset, with its sequences, fields, T and S.

    Raises
    ------
    TypeError
        `writable` is given. Errors of bload.open are raised, too.
    """

    def __init__(self, path: Any, *, window: Optional[int] = None, window_seed: int = 0, ids: bool = False, **options: Any):
        if "writable" in options:
            raise TypeError("tensors are always writable: leave out writable")
        self.dataset = open(path, ids=ids, writable=True, **options)
        self.blocks = sampler.EpochBlocks(self.dataset, window, window_seed)
        self.stored = {name: field.stored for name, field in self.dataset.fields.items()}

    def __repr__(self) -> str:
        return f"<bload.torch.BlockDataset of {self.dataset!r}>"

    def __len__(self) -> int:
        return len(self.blocks)

    @overload
    def __getitem__(self, key: SupportsIndex) -> Dict[str, Any]: ...

    @overload
    def __getitem__(self, key: slice) -> List[Dict[str, Any]]: ...

    def __getitem__(self, key: Union[SupportsIndex, slice]) -> Union[Dict[str, Any], List[Dict[str, Any]]]:
        if isinstance(key, slice):
            return [self[number] for number in range(*key.indices(len(self)))]
        return Tensors({name: self.given(name, value) for name, value in self.blocks[key].items()})

    def __contains__(self, key: object) -> bool:
        return key in self.dataset  # raises TypeError: blocks cannot be searched

    def given(self, name: str, value: Any) -> Any:
        """Return an entry of a block as this dataset returns it: a tensor, or a list."""
        if isinstance(value, list):
            return value if name == "ids" else [tensor(one) for one in value]
        return tensor(value, self.stored.get(name, ""))

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return (self[number] for number in range(len(self)))

    def first(self, epoch: int) -> int:
        """Return the number of the first block of a training epoch; samplers call it."""
        return self.blocks.first(epoch)

    @property
    def about(self) -> Dict[str, Any]:
        """What --about of bload pack stored, for contracts; see bload.Dataset.about."""
        return self.dataset.about

    @property
    def world_size(self) -> int:
        """The number of ranks that the dataset was packed for."""
        return self.dataset.world_size

    @property
    def batch_size(self) -> int:
        """The number of blocks per rank and training step that the dataset was packed for."""
        return self.dataset.batch_size


def collate(blocks: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Return a batch of B blocks, for the DataLoader's collate_fn.

    Parameters
    ----------
    blocks : list of dict
        Blocks of one BlockDataset.

    Returns
    -------
    dict
        Tensors stacked to [B, ...] by torch's default_collate; ids and JPEG files as a list of B lists. With pad=False a field with steps of
        its own is joined: NAME [total, ...] has the steps of all blocks, NAME_cu_seqlens I32 [B, S + 1] says where those of each sequence
        begin and end in it, and NAME_offsets I32 [B + 1] where those of each block do.
    """
    joined = [name for name in blocks[0] if f"{name}_cu_seqlens" in blocks[0] and f"{name}_offsets" in blocks[0]]
    batch = Tensors(default_collate([{name: value for name, value in block.items() if name not in joined and not isinstance(value, list)}
                                     for block in blocks]))
    batch.update({name: [block[name] for block in blocks] for name, value in blocks[0].items() if isinstance(value, list)})
    for name in joined:
        batch[name] = torch.cat([block[name] if isinstance(block[name], torch.Tensor) else tensor(block[name]) for block in blocks])
        ends = batch[f"{name}_offsets"][:, -1].cumsum(0, dtype=torch.int32)
        batch[f"{name}_offsets"] = torch.nn.functional.pad(ends, (1, 0))
        batch[f"{name}_cu_seqlens"][1:] += ends[:-1, None]
    return batch


def group_size() -> Optional[int]:
    """Return the number of ranks of the process group, or None without one."""
    group = torch.distributed
    return group.get_world_size() if group.is_available() and group.is_initialized() else None


def accelerate_division() -> Optional[Tuple[int, int]]:
    """Return the number of ranks among which Accelerate divides a sampler's numbers, and how many numbers it takes at a time; else None.

    Accelerate's object that takes the numbers is found on the call stack.
    """
    accelerate: Any = sys.modules.get("accelerate.data_loader")
    frame = sys._getframe() if accelerate else None
    while frame is not None:
        taker = frame.f_locals.get("self") if frame.f_globals is vars(accelerate) else None
        if isinstance(taker, (accelerate.BatchSamplerShard, accelerate.DataLoaderDispatcher)):
            ranks = getattr(taker, "state", taker).num_processes
            return ranks, (taker.batch_sampler.batch_size or 1) * (1 if taker.split_batches else ranks)
        frame = frame.f_back
    return None


class BlockSampler(sampler.BlockSampler, Sampler[int]):
    """The sampler of a DataLoader over a BlockDataset with batch_size=dataset.batch_size; see bload.jax.BlockSampler.

    Without a rank it yields the numbers of the whole job, for Accelerate and the Trainer of Transformers, which divide batches among the
    ranks themselves. With a rank it is a RankBlockSampler, a DistributedSampler: plain torch uses it directly, and Lightning does not wrap it
    again. Without a rank, in a job of several ranks that is not Accelerate's, a warning says once that every rank reads all blocks;
    num_replicas=1 says that this is intended.

    Parameters
    ----------
    dataset : BlockDataset
        The blocks to number.
    num_replicas : int, optional
        The number of ranks; by default the size of the process group, or 1 without one.
    rank, shuffle, seed, batch_size, remainder, whole_length
        As in bload.jax.BlockSampler.

    Raises
    ------
    SamplerError
        As bload.jax.BlockSampler; also if a rank is given with neither num_replicas nor a process group.
    """

    def __new__(cls, dataset: Any = None, num_replicas: Optional[int] = None, rank: Optional[int] = None,
                *arguments: Any, **options: Any) -> "BlockSampler":
        made: BlockSampler = super().__new__(RankBlockSampler if cls is BlockSampler and rank is not None else cls)
        return made

    def __init__(self, dataset: BlockDataset, num_replicas: Optional[int] = None, rank: Optional[int] = None, shuffle: bool = True,
                 seed: int = 0, *, batch_size: Optional[int] = None, remainder: str = "error",
                 whole_length: bool = False):
        given = num_replicas
        if num_replicas is None:
            num_replicas = group_size()
            if num_replicas is None and rank is not None:
                raise SamplerError("rank needs num_replicas, because there is no process group")
        super().__init__(dataset, num_replicas, rank, shuffle, seed, batch_size=batch_size, remainder=remainder,
                         whole_length=whole_length)
        self.dataset = dataset
        self.undivided = rank is None and given != 1  # warn if nothing divides the numbers among the ranks

    def numbers(self) -> np.ndarray:
        """Return the numbers of bload.jax.BlockSampler; raise SamplerError if Accelerate, which divides them, would lose or repeat some."""
        numbers = super().numbers()
        division = accelerate_division()
        ranks, step = division or (1, 1)
        job = group_size() or int(os.environ.get("WORLD_SIZE") or 1)
        if self.undivided and division is None and job > 1:
            self.undivided = False
            self.warn(f"each of the job's {job} ranks reads all blocks, because nothing divides them: make the BlockSampler with "
                      "num_replicas and rank (with num_replicas=1 if that is meant)", 4)
        if ranks > 1 and self.num_replicas > 1 and self.rank is not None:
            raise SamplerError("Accelerate and the Trainer of Transformers divide the batches among the ranks themselves, so most of "
                               f"rank {self.rank}'s would be lost: make the BlockSampler without a rank", self.dataset.dataset.path)
        if len(numbers) % step:
            raise SamplerError(f"Accelerate divides {step} blocks at a time among {ranks} ranks, and {len(numbers)} blocks are not a "
                               f"multiple of that: num_replicas is {self.num_replicas} and batch_size {self.batch_size}; both must match",
                               self.dataset.dataset.path)
        return numbers


class RankBlockSampler(BlockSampler, DistributedSampler[int]):
    """A BlockSampler that yields the numbers of one rank, with the attributes of torch's DistributedSampler."""

    drop_last = False

    @property
    def num_samples(self) -> int:
        """The number of blocks left for this rank."""
        return len(self)

    @property
    def total_size(self) -> int:
        """The number of blocks left for all ranks."""
        return len(self) * self.num_replicas
