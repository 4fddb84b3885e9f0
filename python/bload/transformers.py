"""For the Trainer of Transformers: a callback that keeps the sampler and checkpoints consistent."""
from __future__ import annotations

import math
from typing import Any

from transformers import TrainerCallback

from .errors import SamplerError
from .sampler import BlockSampler


def sampler_of(loader: Any) -> BlockSampler:
    """The BlockSampler of a loader, inside any batch samplers that Accelerate adds. SamplerError: there is none."""
    part = loader
    while part is not None:
        found = getattr(part, "sampler", None)
        if isinstance(found, BlockSampler):
            return found
        part = getattr(part, "batch_sampler", None)
    raise SamplerError("the Trainer reads without a BlockSampler: override _get_train_sampler to return one")


class EpochCallback(TrainerCallback):
    """Sets the epoch of a Trainer's BlockSampler, and refuses checkpoints that this job cannot resume at the same position.

    The Trainer sets the epoch of its loader only. On several ranks, when it resumes inside an epoch, the loader does not pass this on to
    the sampler, which would then read the packing of the first epoch. The Trainer stores its position as a number of updates, which
    means the same only while ranks, batch size and accumulation give as many blocks to an update.

    SamplerError: the Trainer has no BlockSampler, or the checkpoint's position would be another one in this job.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, train_dataloader: Any = None, **others: Any) -> None:
        path = sampler_of(train_dataloader).source.dataset.path
        if state.global_step == 0:
            return
        batches, each = len(train_dataloader), args.gradient_accumulation_steps
        epoch, updates = divmod(state.global_step, math.ceil(batches / each))
        here = epoch + updates * each / batches
        if not math.isclose(here, state.epoch, abs_tol=1e-6):
            raise SamplerError(f"update {state.global_step} of the checkpoint is in epoch {state.epoch:g}, but with these ranks, batches "
                               f"and accumulation it would be in epoch {here:g}: resume with those of the checkpoint", path)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, train_dataloader: Any = None, **others: Any) -> None:
        sampler_of(train_dataloader).set_epoch(math.floor(state.epoch or 0))
