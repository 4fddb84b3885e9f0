"""For the Trainer of Transformers: a callback that keeps its sampler and its checkpoints together."""
from __future__ import annotations

import math
from typing import Any

from transformers import TrainerCallback

from .errors import SamplerError
from .sampler import BlockSampler


def sampler_of(loader: Any) -> BlockSampler:
    """The sampler below a loader and the batch samplers that Accelerate puts around it."""
    part = loader
    while part is not None:
        found = getattr(part, "sampler", None)
        if isinstance(found, BlockSampler):
            return found
        part = getattr(part, "batch_sampler", None)
    raise SamplerError("the Trainer reads without a BlockSampler: _get_train_sampler is to make one")


class EpochCallback(TrainerCallback):
    """Tells a Trainer's BlockSampler the epoch, and refuses checkpoints whose position means another one now.

    The Trainer itself tells the loader, and on several ranks the word does not get from there to the sampler in an epoch that is gone
    on with: it would read the first epoch's packing. Its own count of steps holds on ranks and batches that are as many together.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, train_dataloader: Any = None, **others: Any) -> None:
        path = sampler_of(train_dataloader).source.dataset.path
        if state.global_step == 0:
            return
        batches, each = len(train_dataloader), args.gradient_accumulation_steps
        epoch, updates = divmod(state.global_step, math.ceil(batches / each))
        here = epoch + updates * each / batches
        if not math.isclose(here, state.epoch, abs_tol=1e-6):
            raise SamplerError(f"update {state.global_step} of the checkpoint is in epoch {state.epoch:g}, and with these ranks, batches "
                               f"and accumulation it would be in epoch {here:g}: go on with as many as before", path)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, train_dataloader: Any = None, **others: Any) -> None:
        sampler_of(train_dataloader).set_epoch(math.floor(state.epoch or 0))
