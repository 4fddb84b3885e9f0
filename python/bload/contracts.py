"""Arguments for training code, made from a batch: one function for each consumer.

A batch is a dict with cu_seqlens [B, S + 1], length [B, S], num_sequences [B] and at least one field [B, T, ...], as blocks are and as
they are when they were collated; one block, without the axis B, is taken as well, and then the results that have an axis B lack it.
Arrays are numpy's, or torch tensors on the CPU, and then so are the results. Nothing of the batch is changed.

Padding is no sequence, and neither is one that failed while packing: their steps are in no result whose steps are those of
sequences ("total" below), and they are 0 in masks and segment ids. "n" is the number of sequences in all blocks of the batch.

Text is learned from a field of tokens, or by what the dataset has beside them, one value for each token, not shifted: "labels" names
a field of what is to be predicted there, -100 where nothing is; "loss_mask" names one that is 0 where nothing is to be learned. Both
go together.
"""
from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple, TypeVar, Union

import numpy as np

from .errors import Error

Batch = Mapping[str, Any]
Result = TypeVar("Result")

TABLES = frozenset(("cu_seqlens", "num_sequences", "sequence", "length", "source_start", "ids"))

# Labels that cross entropy ignores: the default of torch's ignore_index.
IGNORED = -100


# --- common parts -------------------------------------------------------------------------------------------------

class Packed(NamedTuple):
    """The places of the sequences in a batch. Steps are numbered through all blocks: b * T + t."""
    shape: Tuple[int, ...]  # of results with one value per step: (B, T), or (T,) of one block
    B: int
    T: int
    block: np.ndarray     # I64 [n]
    length: np.ndarray    # I64 [n]
    step: np.ndarray      # I64 [total], rising
    position: np.ndarray  # I64 [total]: within its sequence, from 0
    owner: np.ndarray     # I64 [total]: the sequence, from 0, through all blocks

    def cu_seqlens(self) -> np.ndarray:
        """I32 [n + 1]: boundaries of the sequences when all other steps are taken away."""
        return np.concatenate(([0], np.cumsum(self.length))).astype(np.int32)

    def longest(self) -> int:
        return int(self.length.max(initial=0))

    def number(self) -> np.ndarray:
        """I64 [total]: the sequence within its block, from 1."""
        first = np.searchsorted(self.block, self.block)
        numbers: np.ndarray = (np.arange(len(self.block)) - first + 1)[self.owner]
        return numbers

    def spread(self, values: Any, dtype: type, elsewhere: int = 0) -> np.ndarray:
        """[B, T]: the values [total] at their steps, and elsewhere that one."""
        out: np.ndarray = np.full(self.B * self.T, elsewhere, dtype)
        out[self.step] = values
        return out.reshape(self.shape)

    def flat(self, batch: Batch, field: str) -> np.ndarray:
        """[B * T, ...]: a field with its blocks one after the other."""
        if field not in batch:
            raise Error(f"the batch has no \"{field}\": {', '.join(batch)}")
        values = np.asarray(batch[field])
        return values.reshape(self.B * self.T, *values.shape[len(self.shape):])


def has_axis(name: str, value: Any, axis: int) -> bool:
    """Whether that has an axis behind those of blocks, of steps or of sequences; files of pictures are lists."""
    return name not in TABLES and not isinstance(value, list) and np.ndim(value) > axis


def steps_of(batch: Batch) -> int:
    """T, which the fields tell: what else lies in a batch has an entry for each sequence, of which there are no more."""
    for name in ("cu_seqlens", "length", "num_sequences"):
        if name not in batch:
            raise Error(f"the batch has no \"{name}\": {', '.join(batch)}")
    axis = np.ndim(batch["cu_seqlens"]) - 1
    sizes = [np.shape(value)[axis] for name, value in batch.items() if has_axis(name, value, axis)]
    T = max(sizes, default=0)
    if T == 0 or T < np.max(batch["cu_seqlens"]):
        raise Error("the batch has no field, so the number of steps per block is unknown")
    return T


def fields_of(batch: Batch) -> List[str]:
    """The names of what lies on the steps."""
    axis, T = np.ndim(batch["cu_seqlens"]) - 1, steps_of(batch)
    return [name for name, value in batch.items() if has_axis(name, value, axis) and np.shape(value)[axis] == T]


def pack(batch: Batch) -> Packed:
    T, axis = steps_of(batch), np.ndim(batch["cu_seqlens"]) - 1
    starts, lengths = np.atleast_2d(batch["cu_seqlens"])[:, :-1], np.atleast_2d(batch["length"])
    B = len(starts)
    block, place = np.nonzero(lengths)
    length = lengths[block, place].astype(np.int64)
    owner = np.repeat(np.arange(len(length)), length)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
    first = block * T + starts[block, place]
    return Packed((B, T) if axis else (T,), B, T, block, length, first[owner] + position, position, owner)


def as_tensors(value: Any, torch: Any) -> Any:
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    if isinstance(value, dict):
        return {name: as_tensors(one, torch) for name, one in value.items()}
    if isinstance(value, list):
        return [as_tensors(one, torch) for one in value]
    return value


def contract(function: Callable[..., Result]) -> Callable[..., Result]:
    """Makes a function of arrays also accept tensors, and return tensors then. torch is not imported here."""
    @functools.wraps(function)
    def either(batch: Batch, *arguments: Any, **options: Any) -> Result:
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(batch.get("cu_seqlens"), torch.Tensor):
            return function(batch, *arguments, **options)
        arrays = {name: value.numpy() if isinstance(value, torch.Tensor) else value for name, value in batch.items()}
        tensors: Result = as_tensors(function(arrays, *arguments, **options), torch)
        return tensors
    return either


def targets(packed: Packed, batch: Batch, field: str, labels: Optional[str], loss_mask: Optional[str],
            separator: int = IGNORED) -> np.ndarray:
    """I64 [total]: what is to be predicted at each step; the separator where nothing is."""
    given: np.ndarray = packed.flat(batch, labels or field)[packed.step].astype(np.int64)
    if labels and separator != IGNORED:
        given[given == IGNORED] = separator
    if loss_mask:
        mask = packed.flat(batch, loss_mask)[packed.step]
        if not np.isin(mask, (0, 1)).all():
            raise Error(f"\"{loss_mask}\" has weights other than 0 and 1, which labels cannot express")
        given[mask == 0] = separator
    return given


def next_step(packed: Packed, values: np.ndarray, last: int) -> np.ndarray:
    """For each step, the value [total] of the next one; last where the sequence ends."""
    out = np.full_like(values, last)
    inside = np.flatnonzero(packed.owner[1:] == packed.owner[:-1])
    out[inside] = values[inside + 1]
    return out


def boundaries(batch: Batch, T: int) -> List[np.ndarray]:
    """Of each block, I64: the starts of all its places, the end of the last one, and T, where that is another."""
    out: List[np.ndarray] = []
    for cu, used in zip(np.atleast_2d(batch["cu_seqlens"]), np.atleast_1d(batch["num_sequences"])):
        edges = cu[:used + 1].astype(np.int64) if used else np.zeros(1, np.int64)
        out.append(edges if edges[-1] == T else np.append(edges, T))
    return out


# --- the consumers ------------------------------------------------------------------------------------------------

@contract
def flash_attention(batch: Batch) -> Dict[str, Any]:
    """flash_attn_varlen_func, and torch's varlen attention.

    cu_seqlens I32 [n + 1], max_seqlen int, and indices I64 [total]: the steps of sequences among all of the batch, which queries, keys
    and values are to consist of: `x.flatten(0, 1)[indices]`. Steps of no sequence cannot stay in, for there the kernels write nothing.
    """
    packed = pack(batch)
    return {"cu_seqlens": packed.cu_seqlens(), "max_seqlen": packed.longest(), "indices": packed.step}


@contract
def hugging_face(batch: Batch, field: str = "tokens", labels: Optional[str] = None, separator: int = IGNORED, *,
                 loss_mask: Optional[str] = None) -> Dict[str, Any]:
    """transformers' DataCollatorWithFlattening, with the arguments of flash attention and seq_idx, for `model(**result)`.

    input_ids, labels, position_ids I64 [1, total], seq_idx I32 [1, total], cu_seq_lens_q and cu_seq_lens_k I32 [n + 1], max_length_q
    and max_length_k int, use_cache False. The first label of each sequence is the separator; they are not shifted: models do that.

    Models tell sequences by position_ids, but only where they keep no cache (they do by default; use_cache False is for that) and
    are given no attention_mask: with either one, tokens attend to the sequences before their own.
    """
    packed = pack(batch)
    given = targets(packed, batch, field, labels, loss_mask, separator)
    boundary = packed.cu_seqlens()
    return {
        "input_ids": packed.flat(batch, field)[packed.step].astype(np.int64)[None],
        "labels": np.where(packed.position == 0, separator, given)[None],
        "position_ids": packed.position[None],
        "seq_idx": packed.owner.astype(np.int32)[None],
        "cu_seq_lens_q": boundary,
        "cu_seq_lens_k": boundary.copy(),
        "max_length_q": packed.longest(),
        "max_length_k": packed.longest(),
        "use_cache": False,
    }


@contract
def trl(batch: Batch, field: str = "tokens", labels: Optional[str] = None, *,
        loss_mask: Optional[str] = None) -> List[Dict[str, List[int]]]:
    """The examples that TRL's SFTTrainer makes of packed text, one for each block.

    Lists of int: input_ids and seq_lengths, whose sum is their number; with the name of a field of labels or a loss mask, labels.
    """
    packed = pack(batch)
    inside = packed.block[packed.owner]
    tokens = packed.flat(batch, field)[packed.step]
    given = targets(packed, batch, field, labels, loss_mask)
    examples = []
    for b in range(packed.B):
        example = {"input_ids": tokens[inside == b].tolist(), "seq_lengths": packed.length[packed.block == b].tolist()}
        if labels or loss_mask:
            example["labels"] = given[inside == b].tolist()
        examples.append(example)
    return examples


@contract
def numbered_mask(batch: Batch) -> np.ndarray:
    """The attention mask of Axolotl's multipack and NeMo AutoModel's packing: I64 [B, T].

    1 in the steps of a block's first sequence, 2 in those of its second one; 0 is padding. The models of transformers as they are do
    not read it so: for them all numbers but 0 are the same.
    """
    packed = pack(batch)
    return packed.spread(packed.number(), np.int64)


@contract
def torchtune(batch: Batch, field: str = "tokens", labels: Optional[str] = None, separator: int = IGNORED, *,
              loss_mask: Optional[str] = None) -> Dict[str, Any]:
    """torchtune's packs, as its PackedDataset gives them: several in one dict.

    tokens, labels, input_pos I64 [B, T], and seq_lens, a list of B arrays I64 whose sum is T: padding is one more entry there. In
    padding, positions go on counting and labels are the separator, as the first label of each sequence is.
    """
    packed = pack(batch)
    given = targets(packed, batch, field, labels, loss_mask, separator)
    edges = boundaries(batch, packed.T)
    starts = [e[:max(int(used), 1)] for e, used in zip(edges, np.atleast_1d(batch["num_sequences"]))]
    steps = np.arange(packed.T)
    positions = np.stack([steps - start[np.searchsorted(start, steps, "right") - 1] for start in starts])
    lengths = [np.diff(e) for e in edges]
    return {
        "tokens": packed.flat(batch, field).astype(np.int64).reshape(packed.shape),
        "labels": packed.spread(np.where(packed.position == 0, separator, given), np.int64, separator),
        "input_pos": positions.reshape(packed.shape),
        "seq_lens": lengths if len(packed.shape) == 2 else lengths[0],
    }


@contract
def megatron(batch: Batch, field: str = "tokens", labels: Optional[str] = None, *,
             loss_mask: Optional[str] = None) -> Dict[str, np.ndarray]:
    """What Megatron makes its packed parameters (PackedSeqParams, thd) of.

    tokens, labels, position_ids I64 [B, T], loss_mask F32 [B, T], cu_seqlens I32 [B, S + 2], max_seqlen I32 [B]. Labels are those of
    the next step, 0 where nothing is to be predicted; there the mask is 0, too, as where a sequence ends, and in padding. Elsewhere it
    is 1, or the next step's weight in the given one. Padding is the last of the boundaries' parts, for they end with T, which the tail
    repeats. cu_seqlens_q and cu_seqlens_kv are one block's: micro batches have one.
    """
    packed = pack(batch)
    following = next_step(packed, targets(packed, batch, field, labels, None), IGNORED)
    counted = following != IGNORED
    weights = next_step(packed, packed.flat(batch, loss_mask)[packed.step].astype(np.float32), 0) if loss_mask else 1
    edges = boundaries(batch, packed.T)
    S = np.shape(batch["length"])[-1]
    cu_seqlens = np.full((packed.B, S + 2), packed.T, np.int32)
    for row, e in zip(cu_seqlens, edges):
        row[:len(e)] = e
    return {
        "tokens": packed.flat(batch, field).astype(np.int64).reshape(packed.shape),
        "labels": packed.spread(np.where(counted, following, 0), np.int64),
        "loss_mask": packed.spread(counted * weights, np.float32),
        "position_ids": packed.spread(packed.position, np.int64),
        "cu_seqlens": cu_seqlens.reshape(*packed.shape[:-1], S + 2),
        "max_seqlen": np.diff(cu_seqlens).max(axis=1).reshape(packed.shape[:-1]),
    }


@contract
def grain(batch: Batch, *fields: str) -> Dict[str, np.ndarray]:
    """What Grain's packing makes of examples: for each field NAME (all of them by default) NAME itself, NAME_segment_ids and
    NAME_positions, I32 [B, T].

    Segments count from 1 in each block; 0 is padding.
    """
    packed = pack(batch)
    out: Dict[str, np.ndarray] = {}
    for name in fields or fields_of(batch):
        values = packed.flat(batch, name)
        out[name] = values.reshape(*packed.shape, *values.shape[1:])
        out[f"{name}_segment_ids"] = packed.spread(packed.number(), np.int32)
        out[f"{name}_positions"] = packed.spread(packed.position, np.int32)
    return out


@contract
def maxtext(batch: Batch, field: str = "tokens", labels: Optional[str] = None, *,
            loss_mask: Optional[str] = None) -> Dict[str, np.ndarray]:
    """MaxText's batch of packed text: inputs and targets, each with _segmentation and _position, all I32 [B, T].

    Targets are the labels of the next step; their segmentation, which is MaxText's mask of the loss, is 0 where a sequence ends, and
    where nothing is to be predicted.
    """
    packed = pack(batch)
    following = next_step(packed, targets(packed, batch, field, labels, loss_mask), IGNORED)
    counted = following != IGNORED
    number = packed.number()
    return {
        "inputs": packed.flat(batch, field).astype(np.int32).reshape(packed.shape),
        "targets": packed.spread(np.where(counted, following, 0), np.int32),
        "inputs_segmentation": packed.spread(number, np.int32),
        "targets_segmentation": packed.spread(number * counted, np.int32),
        "inputs_position": packed.spread(packed.position, np.int32),
        "targets_position": packed.spread(packed.position, np.int32),
    }


@contract
def reset_table(batch: Batch) -> Union[List[np.ndarray], np.ndarray]:
    """BLoad's own: of each block, the steps at which a sequence starts, I64; there the state of a recurrent model is to be reset.

    A list of B arrays; of one block, its array. The place of a sequence that failed counts. Padding, which follows the last one, has
    no start, so a state at the end of the block is that of the padding; flash_attention gives the steps of sequences alone.
    """
    used = np.atleast_1d(batch["num_sequences"])
    starts = [cu[:n].astype(np.int64) for cu, n in zip(np.atleast_2d(batch["cu_seqlens"]), used)]
    return starts if np.ndim(batch["cu_seqlens"]) == 2 else starts[0]
