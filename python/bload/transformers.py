"""For Transformers: a test that a model separates sequences, a loss, and a callback that keeps sampler and checkpoints consistent."""
from __future__ import annotations

import contextlib
import math
import warnings
from typing import Any, Iterator, List, Mapping, Optional, Tuple

import torch
from transformers import TrainerCallback

from ._core.errors import IsolationError, OptionError, SamplerError
from ._core.packed import IGNORED
from ._core.sampler import BlockSampler

__all__ = ["EpochCallback", "check_isolation", "token_loss"]


def sampler_of(loader: Any) -> BlockSampler:
    """Return the BlockSampler of a loader, also inside the batch samplers of Accelerate; raise SamplerError if there is none."""
    part = loader
    while part is not None:
        found = getattr(part, "sampler", None)
        if isinstance(found, BlockSampler):
            return found
        part = getattr(part, "batch_sampler", None)
    raise SamplerError("the Trainer reads without a BlockSampler: override _get_train_sampler to return one")


class EpochCallback(TrainerCallback):
    """A Trainer callback that sets the epoch of the BlockSampler, and refuses checkpoints that this job cannot resume exactly.

    The Trainer sets the epoch of its loader only. On several ranks, when it resumes inside an epoch, the loader does not pass the epoch on to
    the sampler, which would then read the packing of the first epoch. The Trainer stores its position as a number of updates, which
    means the same only if ranks, batch size and accumulation give the same number of blocks per update.

    Warns if the Trainer removes the entries of blocks that the model does not take, because the collator needs them.

    Raises
    ------
    SamplerError
        The Trainer has no BlockSampler, or the checkpoint's position would be another one in this job.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, train_dataloader: Any = None, **others: Any) -> None:
        """Check the sampler, the removal of columns, and the position of the checkpoint."""
        path = sampler_of(train_dataloader).source.dataset.path
        if args.remove_unused_columns:
            warnings.warn(f"{path}: the Trainer removes entries of blocks that the model does not take before the collator sees them: set "
                          "TrainingArguments(remove_unused_columns=False)", stacklevel=2)
        if state.global_step == 0:
            return
        batches, each = len(train_dataloader), args.gradient_accumulation_steps
        epoch, updates = divmod(state.global_step, math.ceil(batches / each))
        here = epoch + updates * each / batches
        if not math.isclose(here, state.epoch, abs_tol=1e-6):
            raise SamplerError(f"update {state.global_step} of the checkpoint is in epoch {state.epoch:g}, but with these ranks, batches "
                               f"and accumulation it would be in epoch {here:g}: resume with those of the checkpoint", path)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, train_dataloader: Any = None, **others: Any) -> None:
        """Set the epoch of the sampler."""
        sampler_of(train_dataloader).set_epoch(math.floor(state.epoch or 0))


def moved(value: Any, device: Any) -> Any:
    """Return a tensor, or a dict of tensors, on a device; anything else unchanged."""
    if isinstance(value, Mapping):
        return {name: moved(one, device) for name, one in value.items()}
    return value.to(device) if isinstance(value, torch.Tensor) else value


@contextlib.contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Turn dropout and gradients off, and restore the mode of each module afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def rows_of(tokens: torch.Tensor, lengths: List[int]) -> Tuple[torch.Tensor, torch.Tensor]:
    """Return each sequence in a row of its own, cut to the mean length, so that both forward passes have about as many steps.

    Parameters
    ----------
    tokens : I64 [total]
    lengths : list of n int
        Steps of the sequences.

    Returns
    -------
    input_ids, attention_mask : I64 [n, mean length]
        0 in padding.
    """
    steps = min(max(lengths), -(-len(tokens) // len(lengths)))
    rows = tokens.new_zeros(2, len(lengths), steps)
    for row, part in enumerate(torch.split(tokens, lengths)):
        rows[0, row, :len(part)] = part[:steps]
        rows[1, row, :len(part)] = 1
    return rows[0], rows[1]


def check_isolation(model: Any, batch: Mapping[str, Any], tolerance: Optional[float] = None) -> float:
    """Test that a model computes the same for a batch's sequences in one row as for each of them alone, by two forward passes.

    Models that ignore position_ids, or carry a state over, compute something else, and would silently learn from the previous
    sequences. Call it once before training, on every rank, with blocks of as many steps as in training. The second pass has each sequence
    in a row of its own, up to the mean length, so it takes as much memory as the first.

    Parameters
    ----------
    model : torch.nn.Module
        A causal language model of Transformers, wrapped or not.
    batch : dict
        What the model gets in training: the result of bload.contracts.hugging_face, as tensors, with at least two sequences.
    tolerance : float, optional
        The largest difference of a logit that passes, relative to the largest logit. By default 0.01, and 0.1 for 16-bit parameters.

    Returns
    -------
    float
        The largest difference of a logit.

    Raises
    ------
    IsolationError
        The difference exceeds the tolerance, or is not a number; or the model does not take such a batch.
    OptionError
        The batch has fewer than two sequences, or is not a result of hugging_face.
    """
    if "cu_seq_lens_q" not in batch or len(batch["cu_seq_lens_q"]) < 3:
        raise OptionError("check_isolation needs what bload.contracts.hugging_face makes of at least two sequences: give it more blocks")
    first = next(model.parameters())
    packed = {name: moved(value, first.device) for name, value in batch.items() if name != "labels"}
    lengths = batch["cu_seq_lens_q"].diff().tolist()
    ids, mask = rows_of(packed["input_ids"][0], lengths)
    kind = type(getattr(model, "module", model)).__name__
    with evaluating(model):
        try:
            together = model(**packed).logits[0]
        except (TypeError, ValueError) as error:
            raise IsolationError(f"{kind} does not take several sequences in one row: {error}; pass each sequence in its own row, by "
                                 "bload.contracts.padded") from error
        alone = model(input_ids=ids, attention_mask=mask, use_cache=False).logits
    pairs = [(part[:len(row)], row[:length]) for part, row, length in zip(together.split(lengths), alone, lengths)]
    largest = alone[mask != 0].abs().max().item()
    difference = float(torch.stack([(part - row).abs().max() for part, row in pairs]).max())
    limit = tolerance if tolerance is not None else 0.01 if first.dtype.itemsize > 2 else 0.1
    if not difference <= limit * largest:
        instead = "" if "attention_mask" in batch else "bload.contracts.hugging_face(batch, mask=\"4d\", config=model.config), or "
        raise IsolationError(f"{kind} does not separate the sequences of a row: logits up to {largest:.3g} differ by up to {difference:.3g} "
                             f"from those of each sequence alone; use {instead}bload.contracts.padded")
    return difference


def token_loss(outputs: Any, labels: torch.Tensor, num_items_in_batch: Any = None) -> torch.Tensor:
    """Return the sum of a batch's cross entropies divided by the number of labels of the job, as the Trainer's compute_loss_func.

    A mean over the labels of one rank is NaN if it has none, and weights the labels of ranks with few labels more than others.

    Parameters
    ----------
    outputs : dict
        The result of a causal language model: logits [B, T, V].
    labels : I64 [B, T]
        -100 for none. They are not shifted: each step predicts the label of the next one.
    num_items_in_batch : int or tensor, optional
        The number of labels in all batches of the update, on all ranks; by default those of this batch.

    Returns
    -------
    scalar tensor
        0 if there are no labels.
    """
    following = labels[:, 1:].flatten()
    logits = outputs["logits"][:, :-1].flatten(0, 1).float()
    total = torch.nn.functional.cross_entropy(logits, following.to(logits.device), ignore_index=IGNORED, reduction="sum")
    count = (following != IGNORED).sum() if num_items_in_batch is None else num_items_in_batch
    return total / torch.as_tensor(count, device=total.device).clamp(min=1)
