"""Arguments for training code, made from a batch: one function for each framework or kernel.

A batch is a dict with cu_seqlens [B, S + 1], length [B, S], num_sequences [B] and at least one field [B, T, ...]: collated blocks.
A single block, without the axis B, works too; the results then have no axis B either. Arrays are numpy arrays or torch tensors on the
CPU, and the results are of the same kind. The batch is not changed.

In the shapes below, n is the number of sequences in all blocks of the batch, and total is the sum of their lengths. Padding and
sequences that failed while packing count in neither: results of total steps leave them out, masks and segment ids are 0 there.

For text, "field" names the tokens. Two more fields of the dataset, with one value for each token, not shifted, can say what to learn:
"labels" names the targets, -100 for none; "loss_mask" names a mask that is 0 where nothing is learned. Both can be used together.

If a dataset has an overlap, batches have the entry "repeated": the number of steps at the start of a piece that repeat the end of the
previous piece. These steps are context: they are not targets, so that each step is learned once.

A field NAME that has steps of its own (with the table NAME_cu_seqlens) is on another axis than the other fields: only `ctc` takes it, padded
[B, capacity, ...] or joined by bload.torch.collate, and the functions for multimodal models (gemma3, llava, qwen_audio, qwen_vl, tiles); all
others ignore it. T is the axis of the field that the function is given. A function without a field takes T from segment_ids, position_ids or
mask, or from the other fields; `field` names one if these do not agree.

All functions raise bload.Error if the batch lacks an entry, or a loss mask has weights that the result cannot express.
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._core.arguments import integer
from ._core.context import check_ranks, segments_for
from ._core.errors import Error, OptionError
from ._core.masks import Steps, masks_of
from ._core.packed import (
    IGNORED, Batch, Packed, boundaries, check_tables, check_there, contract, fields_of, next_step, pack, rows_of, targets,
)
from ._core.towers import gemma3, llava, qwen_audio, qwen_vl, tiles

__all__ = ["attribute", "context_parallel", "ctc", "flash_attention", "gemma3", "grain", "hugging_face", "llava", "maxtext", "megatron",
           "numbered_mask", "padded", "pairs", "qwen_audio", "qwen_vl", "reset_table", "tiles", "torchtune", "trl"]


# --- the contracts ------------------------------------------------------------------------------------------------

@contract
def flash_attention(batch: Batch, *, field: Optional[str] = None) -> Dict[str, Any]:
    """Return the arguments of flash_attn_varlen_func and of torch's varlen attention.

    Take queries, keys and values at the indices: `x.flatten(0, 1)[indices]`. Remove the other steps, because the kernels write no output
    for them.

    Parameters
    ----------
    batch : dict
        Collated blocks, or one block; see the module.
    field : str, optional
        A field of the batch, which says how many steps a block has.

    Returns
    -------
    dict
        cu_seqlens I32 [n + 1], max_seqlen int, and indices I64 [total], the numbers of the steps of sequences.
    """
    packed = pack(batch, field)
    return {"cu_seqlens": packed.cu_seqlens(), "max_seqlen": packed.longest(), "indices": packed.step}


@contract
def hugging_face(batch: Batch, field: str = "tokens", labels: Optional[str] = None, separator: int = IGNORED, *,
                 loss_mask: Optional[str] = None, mask: Optional[str] = None, config: Any = None,
                 max_mask_bytes: int = 1 << 30) -> Dict[str, Any]:
    """Return the arguments of `model(**result)` in transformers, as DataCollatorWithFlattening makes them for flash attention, with seq_idx.

    Without an attention_mask and without a cache, most models separate the sequences by position_ids. Some need mask="4d", and some cannot
    separate them at all: docs/training.md has a table, and bload.transformers.check_isolation tests a model. Pass no other
    attention_mask: with one of ones and zeros, tokens attend to the previous sequences.

    Parameters
    ----------
    batch : dict
        Collated blocks, or one block; see the module.
    field, labels, loss_mask : str
        Fields of the batch; see the module.
    separator : int
        The first label of each sequence. Labels are not shifted, because the models do that.
    mask : None or "4d"
        "4d" adds attention_mask: masks that let each step attend to the earlier steps of its own sequence, within the windows of the model.
        Nothing is added for flash attention, which takes the boundaries. The batch is one row, so masks grow with the square of all its
        steps.
    config : object
        The model's `model.config`, which says for mask="4d" which masks the model takes. Without it: one mask for eager attention.
    max_mask_bytes : int
        The most bytes of all masks of a batch.

    Returns
    -------
    dict
        input_ids, labels, position_ids I64 [1, total]; seq_idx I32 [1, total]; cu_seq_lens_q, cu_seq_lens_k I32 [n + 1]; max_length_q,
        max_length_k int; use_cache False. With mask="4d" also attention_mask: [1, 1, total, total], BOOL for sdpa (True: attends), F32 for
        eager attention (0: attends), or a dict of these by the type of layer. A batch without sequences gives one step without a label,
        so that this rank takes part in the step of the others: divide the sum of the losses by the labels of the job, because the mean of
        no loss is NaN.

    Raises
    ------
    bload.OptionError
        No mask separates the sequences in this model, the model takes masks of another form, or the masks exceed max_mask_bytes.
    """
    if mask not in (None, "4d"):
        raise OptionError(f"mask must be None or \"4d\", not {mask!r}")
    packed = pack(batch, field)
    tokens, given = packed.flat(batch, field), targets(packed, batch, field, labels, loss_mask, separator)
    if len(packed.step) == 0:
        packed, given = packed.first_step(), np.full(1, separator)
    boundary = packed.cu_seqlens()
    result = {
        "input_ids": tokens[packed.step].astype(np.int64)[None],
        "labels": np.where(packed.position == 0, separator, given)[None],
        "position_ids": packed.position[None],
        "seq_idx": packed.owner.astype(np.int32)[None],
        "cu_seq_lens_q": boundary,
        "cu_seq_lens_k": boundary.copy(),
        "max_length_q": packed.longest(),
        "max_length_k": packed.longest(),
        "use_cache": False,
    }
    masks = masks_of(Steps(packed.owner, packed.position), config, max_mask_bytes) if mask else None
    return result if masks is None else {**result, "attention_mask": masks}


@contract
def padded(batch: Batch, field: str = "tokens", labels: Optional[str] = None, *, loss_mask: Optional[str] = None) -> Dict[str, np.ndarray]:
    """Return the arguments of `model(**result)` in transformers with each sequence in its own row, for models that need this separation.

    Rows are padded at the end, so the model computes n times the longest sequence instead of the batch's blocks.

    Parameters
    ----------
    batch : dict
        Collated blocks, or one block; see the module.
    field, labels, loss_mask : str
        Fields of the batch; see the module.

    Returns
    -------
    dict
        input_ids, labels, attention_mask I64 [n, longest]: in padding 0, -100 and 0. Labels are not shifted. A batch without sequences gives
        one step without a label, as in hugging_face.
    """
    packed = pack(batch, field)
    tokens, given = packed.flat(batch, field), targets(packed, batch, field, labels, loss_mask)
    if len(packed.step) == 0:
        packed, given = packed.first_step(), np.full(1, IGNORED)
    shape = len(packed.length), packed.longest()
    result = {"input_ids": np.zeros(shape, np.int64), "labels": np.full(shape, IGNORED), "attention_mask": np.zeros(shape, np.int64)}
    for name, values in (("input_ids", tokens[packed.step]), ("labels", given), ("attention_mask", 1)):
        result[name][packed.owner, packed.position] = values
    return result


def places_of(batch: Batch, name: str) -> np.ndarray:
    """Return an attribute of each sequence, [n]; raise Error if the batch lacks it, or it has not one number per slot of a block."""
    check_tables(batch)
    check_there(batch, name)
    values, lengths = np.atleast_2d(batch[name]), np.atleast_2d(batch["length"])
    if values.shape != lengths.shape:
        raise Error(f"\"{name}\" has the shape {list(np.shape(batch[name]))}, not one number per slot of a block")
    return values[lengths > 0]


@contract
def attribute(batch: Batch, name: str, *, per: str = "sequence", field: Optional[str] = None) -> np.ndarray:
    """Return a number of each sequence, such as a weight, a reward or a label that `bload pack --keep weight:number` stored.

    Parameters
    ----------
    batch : dict
        Collated blocks, or one block; see the module.
    name : str
        The attribute: an entry [B, S] of the batch.
    per : {"sequence", "step"}
        Whether to return one value per sequence or one per step.
    field : str, optional
        For one per step: a field of the batch, which says how many steps a block has.

    Returns
    -------
    array or tensor
        Per sequence [n], in the order of padded's rows and of cu_seq_lens_q of hugging_face; a batch without sequences gives one 0, because
        those functions give one step. Per step [B, T], the value of the step's sequence; 0 in padding, so that the losses of all steps can be
        multiplied by it.

    Raises
    ------
    bload.OptionError
        `per` has another value.
    """
    if per not in ("sequence", "step"):
        raise OptionError(f"per must be \"sequence\" or \"step\", not {per!r}")
    values = places_of(batch, name)
    if per == "step":
        packed = pack(batch, field)
        return packed.spread(values[packed.owner], values.dtype.type)
    return values if len(values) else np.zeros(1, values.dtype)


def pair_slots(batch: Batch, chosen: str, pair: Optional[str]) -> np.ndarray:
    """Return for each whole pair of a batch the slots of its chosen and its rejected sequence, counted through all blocks, I64 [p, 2].

    Raises Error if neighbouring sequences are no pair. A pair of which a sequence failed while packing is left out.
    """
    lengths, flags = np.atleast_2d(batch["length"]), np.atleast_2d(batch[chosen])
    numbers = np.atleast_2d(batch[pair]) if pair else np.zeros_like(flags)
    found = []
    for b, used in enumerate(np.atleast_1d(batch["num_sequences"])):
        if used % 2:
            raise Error(f"block {b} of the batch has {used} sequences, which are no pairs: pack them with --together")
        for slot in range(0, int(used), 2):
            if not lengths[b, slot:slot + 2].all():
                continue
            first, second = flags[b, slot:slot + 2]
            if not (numbers[b, slot] == numbers[b, slot + 1] and ((first, second) == (1, 0) or (pair and (first, second) == (0, 1)))):
                raise Error(f"block {b} of the batch: sequences {slot} and {slot + 1} are no pair of a chosen and a rejected one: pack them "
                            f"with --together; \"{chosen}\" is {first:g} and {second:g}")
            at = b * lengths.shape[1] + slot
            found.append((at, at + 1) if first else (at + 1, at))
    return np.array(found, np.int64).reshape(-1, 2)


@contract
def pairs(batch: Batch, chosen: str = "chosen", field: str = "tokens", labels: Optional[str] = None, separator: int = IGNORED, *,
          loss_mask: Optional[str] = None, pair: Optional[str] = None, mask: Optional[str] = None, config: Any = None,
          max_mask_bytes: int = 1 << 30) -> Dict[str, Any]:
    """Return the arguments of `model(**result)` as `hugging_face` does, and which sequences are the pairs of a preference, for DPO.

    The dataset must be packed with --together, so that the chosen and the rejected answer to a prompt are neighbours in a block:

        arguments = bload.contracts.pairs(batch, loss_mask="loss_mask")
        pairs = arguments.pop("pairs")
        learned = arguments["labels"][0, 1:] != -100
        def log_probs(model):                                               # of each sequence, [n]
            each = model(**arguments).logits[0, :-1].log_softmax(-1)
            each = each.gather(1, arguments["input_ids"][0, 1:, None])[:, 0] * learned
            sums = each.new_zeros(len(arguments["cu_seq_lens_q"]) - 1)
            return sums.index_add(0, arguments["seq_idx"][0, 1:], each)
        with torch.no_grad():
            reference_log_probs = log_probs(reference)
        chosen, rejected = (log_probs(model) - reference_log_probs)[pairs].unbind(1)
        loss = -torch.nn.functional.logsigmoid(beta * (chosen - rejected)).mean()

    Parameters
    ----------
    batch : dict
        Collated blocks, or one block; see the module.
    chosen : str
        An attribute of the sequences: 1 for a chosen one, 0 for a rejected one.
    field, labels, loss_mask : str
        Fields of the batch; see the module.
    separator : int
        The first label of each sequence.
    pair : str, optional
        An attribute with the same number for both sequences of a pair, which is compared. Without it the chosen sequence must come first, as
        `bload.chat --pairs` writes it.
    mask, config, max_mask_bytes : optional
        As in hugging_face.

    Returns
    -------
    dict
        The entries of hugging_face, and pairs I64 [p, 2]: the numbers of the chosen and of the rejected sequence, in the order of
        cu_seq_lens_q. A pair of which a sequence failed while packing is not among them.

    Raises
    ------
    bload.Error
        Neighbouring sequences are no pair.
    bload.OptionError
        As by hugging_face.
    """
    places_of(batch, chosen)
    if pair:
        places_of(batch, pair)
    number = np.cumsum(np.atleast_2d(batch["length"]).reshape(-1) > 0) - 1
    arguments = hugging_face(batch, field, labels, separator, loss_mask=loss_mask, mask=mask, config=config, max_mask_bytes=max_mask_bytes)
    return {**arguments, "pairs": number[pair_slots(batch, chosen, pair)].astype(np.int64)}


@contract
def ctc(batch: Batch, features: str = "features", targets: str = "text", *, padding: int = 0) -> Dict[str, Any]:
    """Return the arguments of CTC, connectionist temporal classification: features and targets of each sequence in a row of their own.

        rows = bload.contracts.ctc(batch, "features", "transcript")
        log_probs = model(rows["input_features"], rows["input_lengths"])                                        # [longest, n, classes]
        loss = torch.nn.CTCLoss()(log_probs, rows["labels"], rows["input_lengths"], rows["target_lengths"])

    Models of transformers such as ParakeetForCTC take input_features, attention_mask and labels, with padding=-100.

    Parameters
    ----------
    batch : dict
        Collated blocks, or one block; see the module.
    features, targets : str
        Fields of the batch. One of them, or both, have steps of their own.
    padding : int
        The value of labels behind the targets.

    Returns
    -------
    dict
        input_features [n, longest, ...], 0 behind the steps; attention_mask I64 [n, longest], 1 in the steps; input_lengths I64 [n];
        labels I64 [n, longest target]; target_lengths I64 [n]; and left_out int, how many sequences have no row: those that failed, and those
        without features or targets. A batch without rows gives one step of zeros without a target, so that this rank takes part in the step
        of the others.
    """
    check_tables(batch)
    given, wanted = rows_of(batch, features), rows_of(batch, targets)
    if "source_start" in batch and np.asarray(batch["source_start"]).any() and not \
            (f"{features}_cu_seqlens" in batch and f"{targets}_cu_seqlens" in batch):
        raise Error("the batch has parts of sequences, to which the whole targets do not belong: plan blocks of whole sequences, by bload view")
    kept = (np.atleast_2d(batch["length"]) > 0) & (given.length > 0) & (wanted.length > 0)
    rows = {"input_features": given.cut(kept, 0), "labels": wanted.cut(kept, padding).astype(np.int64),
            "input_lengths": given.length[kept], "target_lengths": wanted.length[kept]}
    if not kept.any():
        rows = {"input_features": np.zeros((1, 1, *given.values.shape[1:]), given.values.dtype), "labels": np.full((1, 1), padding),
                "input_lengths": np.ones(1, np.int64), "target_lengths": np.zeros(1, np.int64)}
    mask = np.arange(rows["input_features"].shape[1]) < rows["input_lengths"][:, None]
    return {**rows, "attention_mask": mask.astype(np.int64), "left_out": int(np.sum(batch["num_sequences"]) - kept.sum())}


@contract
def trl(batch: Batch, field: str = "tokens", labels: Optional[str] = None, *,
        loss_mask: Optional[str] = None, attributes: Sequence[str] = ()) -> List[Dict[str, List[Any]]]:
    """Return the examples that TRL's SFTTrainer makes from packed text.

    Parameters
    ----------
    batch : dict
        Collated blocks, or one block; see the module.
    field, labels, loss_mask : str
        Fields of the batch; see the module.
    attributes : sequence of str
        Attributes of the sequences to add.

    Returns
    -------
    list of dict
        One per block, with lists of int: input_ids, the tokens of the block's sequences, and seq_lengths, whose sum is len(input_ids). If
        labels or loss_mask is given, or the dataset has an overlap, also labels. For each attribute a list with a number for each of
        seq_lengths.
    """
    packed = pack(batch, field)
    inside = packed.block[packed.owner]
    tokens = packed.flat(batch, field)[packed.step]
    given = targets(packed, batch, field, labels, loss_mask)
    numbers = {name: places_of(batch, name) for name in attributes}
    examples = []
    for b in range(packed.B):
        example = {"input_ids": tokens[inside == b].tolist(), "seq_lengths": packed.length[packed.block == b].tolist()}
        if labels or loss_mask or "repeated" in batch:
            example["labels"] = given[inside == b].tolist()
        example.update((name, values[packed.block == b].tolist()) for name, values in numbers.items())
        examples.append(example)
    return examples


@contract
def numbered_mask(batch: Batch, *, field: Optional[str] = None) -> np.ndarray:
    """Return the attention mask of Axolotl's multipack and NeMo AutoModel's packing.

    Unmodified models of transformers do not separate sequences by it: to them, all numbers but 0 are the same.

    Parameters
    ----------
    batch : dict
        Collated blocks, or one block; see the module.
    field : str, optional
        A field of the batch, which says how many steps a block has.

    Returns
    -------
    I64 [B, T]
        1 in the steps of a block's first sequence, 2 in those of its second, and so on; 0 in padding.
    """
    packed = pack(batch, field)
    return packed.spread(packed.number(), np.int64)


@contract
def torchtune(batch: Batch, field: str = "tokens", labels: Optional[str] = None, separator: int = IGNORED, *,
              loss_mask: Optional[str] = None) -> Dict[str, Any]:
    """Return B packs of torchtune's PackedDataset in one dict.

    Parameters
    ----------
    batch : dict
        Collated blocks, or one block; see the module.
    field, labels, loss_mask : str
        Fields of the batch; see the module.
    separator : int
        The label in padding and at the first token of each sequence.

    Returns
    -------
    dict
        tokens, labels, input_pos I64 [B, T], and seq_lens, a list of B arrays I64 with the sum T each: padding is one more entry. In
        padding, positions keep counting.
    """
    packed = pack(batch, field)
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
def megatron(batch: Batch, field: str = "tokens", labels: Optional[str] = None, *, loss_mask: Optional[str] = None, cp: Optional[int] = None,
             rank: Optional[int] = None) -> Dict[str, np.ndarray]:
    """Return the values from which Megatron makes its packed parameters (PackedSeqParams, thd).

    Parameters
    ----------
    batch : dict
        Collated blocks, or one block; see the module.
    field, labels, loss_mask : str
        Fields of the batch; see the module.
    cp : int, optional
        The number of ranks of context parallelism; the dataset must be packed with --cp.
    rank : int, optional
        The rank, from 0, of which tokens, labels, loss_mask and position_ids are returned, [B, T / cp], as TransformerEngine divides them.
        Without it they are those of the block, which Megatron divides itself.

    Returns
    -------
    dict
        tokens, labels, position_ids I64 [B, T], loss_mask F32 [B, T], cu_seqlens I32 [B, S + 2], max_seqlen I32 [B]; with cp also
        cu_seqlens_padded I32 [B, S + 2].

        Labels are shifted: each is the target of the next step, or 0 if there is none. loss_mask is 0 where there is no target, which
        includes the end of each sequence and padding. Elsewhere it is 1, or the next step's weight in the given loss mask. In cu_seqlens,
        padding counts as the last sequence: the boundaries end with T, repeated to the end of the row. Pass the row of one block as
        cu_seqlens_q and cu_seqlens_kv, because a micro batch has one block.

        With cp, cu_seqlens_padded says where the sequences lie, each with its padding, then where padding at the end lies; pass it as
        cu_seqlens_q_padded and cu_seqlens_kv_padded. cu_seqlens has the sums of their lengths without padding, so the last segment is empty
        in it. Both are those of the whole block on every rank, as TransformerEngine takes them. max_seqlen is the longest segment.

    Raises
    ------
    bload.OptionError
        There are no such ranks.
    """
    check_ranks(cp, rank)
    packed = pack(batch, field)
    following, weights = next_targets(packed, batch, field, labels, loss_mask)
    steps = {
        "tokens": packed.flat(batch, field).astype(np.int64).reshape(packed.shape),
        "labels": packed.spread(np.where(following != IGNORED, following, 0), np.int64),
        "loss_mask": packed.spread(weights, np.float32),
        "position_ids": packed.spread(packed.position, np.int64),
    }
    S = np.shape(batch["length"])[-1]
    if cp is not None:
        segments = segments_for(batch, cp, packed.T)
        if rank is not None:
            steps = taken(steps, segments.steps(cp, rank, "zigzag"), packed)
        tables = {"cu_seqlens": segments.lengths, "cu_seqlens_padded": segments.padded}
        edges = segments.padded
    else:
        edges = np.full((packed.B, S + 2), packed.T, np.int32)
        for row, e in zip(edges, boundaries(batch, packed.T)):
            row[:len(e)] = e
        tables = {"cu_seqlens": edges}
    return {
        **steps,
        **{name: table.reshape(*packed.shape[:-1], S + 2) for name, table in tables.items()},
        "max_seqlen": np.diff(edges).max(axis=1).reshape(packed.shape[:-1]),
    }


def next_targets(packed: Packed, batch: Batch, field: str, labels: Optional[str], loss_mask: Optional[str]) -> Tuple[np.ndarray, np.ndarray]:
    """Return for each step the target of the next one, I64 [total], and its weight, [total]: -100 and 0 where there is none."""
    following = next_step(packed, targets(packed, batch, field, labels, None), IGNORED)
    weights = next_step(packed, packed.flat(batch, loss_mask)[packed.step].astype(np.float32), 0) if loss_mask else 1
    return following, (following != IGNORED) * weights


def taken(steps: Dict[str, np.ndarray], index: np.ndarray, packed: Packed) -> Dict[str, np.ndarray]:
    """Return arrays [B, T], or [T] of a single block, at the steps of one rank, index [B, n]: [B, n], or [n]."""
    shape = *packed.shape[:-1], index.shape[1]
    return {name: np.take_along_axis(values.reshape(packed.B, packed.T), index, 1).reshape(shape) for name, values in steps.items()}


@contract
def context_parallel(batch: Batch, cp: int, rank: int, field: str = "tokens", labels: Optional[str] = None, *,
                     loss_mask: Optional[str] = None, layout: str = "zigzag") -> Dict[str, np.ndarray]:
    """Return what one rank of context parallelism computes of each block; the dataset must be packed with --cp.

    Labels are shifted before a block is divided, so the last step of a chunk has the target that is the first step of the next chunk.

    Parameters
    ----------
    batch : dict
        Collated blocks, or one block; see the module.
    cp, rank : int
        The number of ranks, and the rank, from 0.
    field, labels, loss_mask : str
        Fields of the batch; see the module. The loss mask can have weights.
    layout : {"zigzag", "contiguous"}
        How blocks are divided. "zigzag": each sequence with its padding, and the padding at the end, into 2 * cp chunks, of which a rank has
        the chunks rank and 2 * cp - 1 - rank, as in TransformerEngine and in torch's load balancer for documents: with causal attention all
        ranks cost the same. "contiguous": the block into cp parts, whatever they cost.

    Returns
    -------
    dict
        tokens, labels, position_ids I64 [B, T / cp], loss_mask F32 [B, T / cp], segment_ids I32 [B, T / cp], index I64 [B, T / cp],
        cu_seqlens_padded I32 [B, S + 2], cost I64 [B, cp].

        Each label is the target of the next step, -100 where there is none; loss_mask is 0 there, elsewhere 1 or the next step's weight.
        Divide the sum of the losses of all ranks by the sum of their loss masks. segment_ids number the sequences of a block from 1; 0 is
        padding. index has the numbers of the rank's steps in the block, by which Dataset.steps reads them of another field.
        cu_seqlens_padded are the boundaries in the whole block, as in megatron. cost has for each rank the pairs of a query and a key of
        causal attention in the sequences with their padding: the highest by the mean, less 1, is the share of time that ranks wait.

    Raises
    ------
    bload.OptionError
        There are no such ranks, or there is no such layout.
    """
    check_ranks(integer("cp must be a number of ranks", cp), integer("rank must be the number of a rank", rank), layout)
    packed = pack(batch, field)
    following, weights = next_targets(packed, batch, field, labels, loss_mask)
    segments = segments_for(batch, cp, packed.T)
    index = segments.steps(cp, rank, layout)
    steps = {
        "tokens": packed.flat(batch, field).astype(np.int64).reshape(packed.shape),
        "labels": packed.spread(np.where(weights != 0, following, IGNORED), np.int64, IGNORED),
        "loss_mask": packed.spread(weights, np.float32),
        "position_ids": packed.spread(packed.position, np.int64),
        "segment_ids": packed.spread(packed.number(), np.int32),
    }
    lead = packed.shape[:-1]
    return {
        **taken(steps, index, packed),
        "index": index.reshape(*lead, -1),
        "cu_seqlens_padded": segments.padded.reshape(*lead, -1),
        "cost": segments.cost(cp, layout).reshape(*lead, cp),
    }


@contract
def grain(batch: Batch, *fields: str) -> Dict[str, np.ndarray]:
    """Return the result of Grain's packing.

    Parameters
    ----------
    batch : dict
        Collated blocks, or one block; see the module.
    *fields : str
        The fields to return; by default all except those with steps of their own.

    Returns
    -------
    dict
        For each field NAME: NAME [B, T, ...], NAME_segment_ids and NAME_positions I32 [B, T]. Segments count from 1 in each block; 0 is
        padding.
    """
    names = fields or fields_of(batch)
    packed = pack(batch, names[0])
    out: Dict[str, np.ndarray] = {}
    for name in names:
        values = packed.flat(batch, name)
        out[name] = values.reshape(*packed.shape, *values.shape[1:])
        out[f"{name}_segment_ids"] = packed.spread(packed.number(), np.int32)
        out[f"{name}_positions"] = packed.spread(packed.position, np.int32)
    return out


@contract
def maxtext(batch: Batch, field: str = "tokens", labels: Optional[str] = None, *,
            loss_mask: Optional[str] = None) -> Dict[str, np.ndarray]:
    """Return MaxText's batch of packed text.

    Parameters
    ----------
    batch : dict
        Collated blocks, or one block; see the module.
    field, labels, loss_mask : str
        Fields of the batch; see the module.

    Returns
    -------
    dict
        inputs and targets, each with _segmentation and _position, all I32 [B, T]. Targets are shifted: each is the target of the next step.
        targets_segmentation, which MaxText uses as the loss mask, is 0 at the end of each sequence and wherever there is no target.
    """
    packed = pack(batch, field)
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
    """Return the reset table of BLoad: for each block, the steps at which to reset the state of a recurrent model.

    A failed sequence keeps its entry. Padding after the last sequence has none, so the state at the end of a block includes the padding. For
    the steps of sequences alone, use flash_attention.

    Returns
    -------
    list of B arrays I64 [num_sequences], or one array for a single block
        Steps from the start of the block, ascending.
    """
    used = np.atleast_1d(batch["num_sequences"])
    starts = [cu[:n].astype(np.int64) for cu, n in zip(np.atleast_2d(batch["cu_seqlens"]), used)]
    return starts if np.ndim(batch["cu_seqlens"]) == 2 else starts[0]
