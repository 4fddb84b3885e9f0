"""Where the sequences of a batch lie, for bload.contracts. Needs only numpy."""
from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple, TypeVar

import numpy as np

from .errors import Error

Batch = Mapping[str, Any]
Result = TypeVar("Result")

COMPANIONS = "segment_ids", "position_ids", "mask"  # have one value per step wherever they are
TABLES = frozenset(("cu_seqlens", "cu_seqlens_padded", "num_sequences", "sequence", "length", "source_start", "repeated", "ids"))

# The label that cross entropy ignores: the default of torch's ignore_index.
IGNORED = -100


# The most likely cause of an empty batch.
REMOVED = "it is empty. The Trainer of Transformers removes what a model does not take: use TrainingArguments(remove_unused_columns=False)"


class Packed(NamedTuple):
    """The positions of the sequences in a batch. Step t of block b has the number b * T + t."""
    shape: Tuple[int, ...]  # the shape of results with one value per step: (B, T), or (T,) for a single block
    B: int
    T: int
    block: np.ndarray     # I64 [n]: the block of each sequence
    length: np.ndarray    # I64 [n]: its steps
    step: np.ndarray      # I64 [total]: the number of each step, ascending
    position: np.ndarray  # I64 [total]: its position in the sequence, from 0
    owner: np.ndarray     # I64 [total]: its sequence, from 0 to n - 1
    repeated: np.ndarray  # BOOL [total]: whether the previous piece contains the step, too; empty if no step is repeated

    def cu_seqlens(self) -> np.ndarray:
        """Return the boundaries of the sequences after all other steps are removed: I32 [n + 1]."""
        return np.concatenate(([0], np.cumsum(self.length))).astype(np.int32)

    def first_step(self) -> "Packed":
        """Return the first step alone, as the only sequence, for consumers that cannot take a batch without steps."""
        zero = np.zeros(1, np.int64)
        return self._replace(block=zero, length=zero + 1, step=zero, position=zero, owner=zero, repeated=np.zeros(0, np.bool_))

    def longest(self) -> int:
        """Return the steps of the longest sequence, 0 if there is none."""
        return int(self.length.max(initial=0))

    def number(self) -> np.ndarray:
        """Return the number of the sequence of each step in its block, from 1: I64 [total]."""
        first = np.searchsorted(self.block, self.block)
        numbers: np.ndarray = (np.arange(len(self.block)) - first + 1)[self.owner]
        return numbers

    def spread(self, values: Any, dtype: type, elsewhere: int = 0) -> np.ndarray:
        """Return an array [B, T] with values [total] at the steps of sequences, and `elsewhere` at all other steps."""
        out: np.ndarray = np.full(self.B * self.T, elsewhere, dtype)
        out[self.step] = values
        return out.reshape(self.shape)

    def flat(self, batch: Batch, field: str) -> np.ndarray:
        """Return a field with its blocks concatenated, [B * T, ...]; raise Error if the batch has no such field of T steps."""
        check_common(batch, field)
        values = np.asarray(batch[field])
        if values.shape[:len(self.shape)] != self.shape:
            raise Error(f"\"{field}\" has the shape {list(values.shape)}, which does not begin with {list(self.shape)}")
        return values.reshape(self.B * self.T, *values.shape[len(self.shape):])


def check_tables(batch: Batch) -> None:
    """Raise Error if the batch lacks a table that all functions need."""
    for name in ("cu_seqlens", "length", "num_sequences"):
        if name not in batch:
            raise Error(f"the batch has no \"{name}\": {', '.join(batch) or REMOVED}")


def check_there(batch: Batch, name: str) -> None:
    """Raise Error if the batch has no entry of this name."""
    if name not in batch:
        raise Error(f"the batch has no \"{name}\"; its entries are: {', '.join(batch)}")


def check_common(batch: Batch, field: str) -> None:
    """Raise Error if the batch has no such field, or the field has steps of its own."""
    check_there(batch, field)
    if f"{field}_cu_seqlens" in batch:
        raise Error(f"\"{field}\" has steps of its own, which lie elsewhere than those of the sequences")


def sizes_of(batch: Batch) -> Dict[str, int]:
    """Return by name the size of the axis that counts steps or sequences, for the entries that may have a value per step.

    These are neither tables, nor fields with steps of their own, nor JPEG files, which are lists.
    """
    axis = np.ndim(batch["cu_seqlens"]) - 1
    own = {name for name in batch if f"{name}_cu_seqlens" in batch}
    left_out = TABLES.union(own, *((f"{name}_cu_seqlens", f"{name}_offsets") for name in own))
    return {name: np.shape(value)[axis] for name, value in batch.items()
            if name not in left_out and not isinstance(value, list) and np.ndim(value) > axis}


def steps_of(batch: Batch, field: Optional[str] = None) -> int:
    """Return T: the steps of the field, or without one those of an entry that has one value per step.

    Raises Error if the batch lacks a table or the field, or has no entry that tells T, or several that disagree.
    """
    check_tables(batch)
    if field is not None:
        check_common(batch, field)
    sizes, S, least = sizes_of(batch), np.shape(batch["length"])[-1], np.max(batch["cu_seqlens"])
    named = [name for name in (field, *COMPANIONS) if name in sizes]
    # Attributes have S values, as have fields if T = S.
    found = {sizes[named[0]]} if named else {size for size in sizes.values() if size != S} or set(sizes.values())
    found = {size for size in found if 0 < size >= least}
    if len(found) > 1:
        raise Error(f"the entries of the batch have {', '.join(map(str, sorted(found)))} steps per block: name a field of the sequences by field=")
    if not found:
        raise Error("the batch has no field, so the number of steps per block is unknown")
    return found.pop()


def fields_of(batch: Batch) -> List[str]:
    """Return the names of the entries with one value per step."""
    T = steps_of(batch)
    return [name for name, size in sizes_of(batch).items() if size == T]


def pack(batch: Batch, field: Optional[str] = None) -> Packed:
    """Return the positions of a batch's sequences, in blocks of as many steps as the field has; see steps_of."""
    T, axis = steps_of(batch, field), np.ndim(batch["cu_seqlens"]) - 1
    starts, lengths = np.atleast_2d(batch["cu_seqlens"])[:, :-1], np.atleast_2d(batch["length"])
    B = len(starts)
    block, place = np.nonzero(lengths)
    length = lengths[block, place].astype(np.int64)
    owner = np.repeat(np.arange(len(length)), length)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
    first = block * T + starts[block, place]
    repeated_steps = np.atleast_2d(batch["repeated"])[block, place] if "repeated" in batch else np.zeros(0, np.int64)
    repeated = position < repeated_steps[owner] if repeated_steps.any() else np.zeros(0, np.bool_)
    return Packed((B, T) if axis else (T,), B, T, block, length, first[owner] + position, position, owner, repeated)


def as_tensors(value: Any, torch: Any) -> Any:
    """Return a result with its arrays as tensors, which share their memory."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    if isinstance(value, dict):
        return {name: as_tensors(one, torch) for name, one in value.items()}
    if isinstance(value, list):
        return [as_tensors(one, torch) for one in value]
    return value


def as_array(value: Any, torch: Any) -> np.ndarray:
    """Return a tensor as an array, which shares its memory; one of BF16, which numpy lacks, as F32."""
    array: np.ndarray = (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    return array


def contract(function: Callable[..., Result]) -> Callable[..., Result]:
    """Let a function of arrays also take tensors, and then return tensors, without importing torch."""
    @functools.wraps(function)
    def either(batch: Batch, *arguments: Any, **options: Any) -> Result:
        """Call the function with arrays, and return tensors if the batch has tensors."""
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(batch.get("cu_seqlens"), torch.Tensor):
            return function(batch, *arguments, **options)
        arrays = {name: as_array(value, torch) if isinstance(value, torch.Tensor) else value for name, value in batch.items()}
        tensors: Result = as_tensors(function(arrays, *arguments, **options), torch)
        return tensors
    return either


def targets(packed: Packed, batch: Batch, field: str, labels: Optional[str], loss_mask: Optional[str],
            separator: int = IGNORED) -> np.ndarray:
    """Return the target of each step, I64 [total], or the separator where there is none; raise Error if a loss mask is not 0 or 1."""
    given: np.ndarray = packed.flat(batch, labels or field)[packed.step].astype(np.int64)
    if labels and separator != IGNORED:
        given[given == IGNORED] = separator
    if loss_mask:
        mask = packed.flat(batch, loss_mask)[packed.step]
        if not np.isin(mask, (0, 1)).all():
            raise Error(f"\"{loss_mask}\" has weights other than 0 and 1, which labels cannot express")
        given[mask == 0] = separator
    if len(packed.repeated):
        given[packed.repeated] = separator
    return given


def next_step(packed: Packed, values: np.ndarray, last: int) -> np.ndarray:
    """Return for each step the value of the next step, [total]; `last` at the end of each sequence."""
    out = np.full_like(values, last)
    inside = np.flatnonzero(packed.owner[1:] == packed.owner[:-1])
    out[inside] = values[inside + 1]
    return out


def boundaries(batch: Batch, T: int) -> List[np.ndarray]:
    """Return for each block, as I64, the start of every used slot, the end of the last one, and T if it differs from that."""
    out: List[np.ndarray] = []
    for cu, used in zip(np.atleast_2d(batch["cu_seqlens"]), np.atleast_1d(batch["num_sequences"])):
        edges = cu[:used + 1].astype(np.int64) if used else np.zeros(1, np.int64)
        out.append(edges if edges[-1] == T else np.append(edges, T))
    return out


class Rows(NamedTuple):
    """Where the sequences of a batch lie in a field: values [steps of all blocks, ...], and first step and length of each slot, I64 [B, S]."""
    values: np.ndarray
    first: np.ndarray
    length: np.ndarray

    def cut(self, kept: np.ndarray, fill: int) -> np.ndarray:
        """Return the steps of the slots `kept`, BOOL [B, S], a row for each: [n, longest, ...], at least one step, padded with `fill`."""
        length = self.length[kept]
        out = np.full((len(length), length.max(initial=1), *self.values.shape[1:]), fill, self.values.dtype)
        for row, first, count in zip(out, self.first[kept].tolist(), length.tolist()):
            row[:count] = self.values[first:first + count]
        return out


def rows_of(batch: Batch, name: str) -> Rows:
    """Return where the sequences lie in a field, which may have steps of its own; raise Error if the batch has no such field."""
    check_there(batch, name)
    own, axis = f"{name}_cu_seqlens" in batch, np.ndim(batch["cu_seqlens"]) - 1
    cu = np.atleast_2d(batch[f"{name}_cu_seqlens" if own else "cu_seqlens"]).astype(np.int64)
    length = np.diff(cu) if own else np.atleast_2d(batch["length"]).astype(np.int64)
    values, first = np.asarray(batch[name]), cu[:, :-1]
    if f"{name}_offsets" not in batch or not own:  # the blocks are padded to one size
        if values.ndim <= axis or axis and len(values) != len(cu):
            raise Error(f"\"{name}\" has the shape {list(values.shape)}, which does not begin with {len(cu)} blocks")
        first = first + np.arange(len(cu))[:, None] * values.shape[axis]
        values = values.reshape(-1, *values.shape[axis + 1:])
    if (first + length).max(initial=0) > len(values):
        raise Error(f"\"{name}\" has fewer steps than its table says")
    return Rows(values, first, length)
