"""Blocks that `bload export --to energon` wrote, as samples of Megatron-Energon.

    from megatron.energon import WorkerConfig, get_loader, get_train_dataset
    from bload.energon import BlockEncoder

    dataset = get_train_dataset("dataset-energon", worker_config=WorkerConfig.default_worker_config(), batch_size=4,
                                shuffle_buffer_size=100, max_samples_per_sequence=None, task_encoder=BlockEncoder())
    for batch in get_loader(dataset):
        batch.arrays["cu_seqlens"]       # [4, S + 1]

Needs the package megatron-energon.
"""
from typing import Any, Dict

import torch
from megatron.energon import Cooker, DefaultTaskEncoder, Sample, basic_sample_keys, edataclass, stateless

from .torch import tensor

SUFFIX = ".npy"


@edataclass
class BlockSample(Sample):
    """arrays: the fields and tables of a block by name, as tensors; [B, ...] in a batch."""

    arrays: Dict[str, torch.Tensor]


@stateless
def cook(sample: Dict[str, Any]) -> BlockSample:
    """Makes a sample of the members of a tar file that share a key."""
    arrays = {name[:-len(SUFFIX)]: tensor(value) for name, value in sample.items() if name.endswith(SUFFIX)}
    return BlockSample(**basic_sample_keys(sample), arrays=arrays)


class BlockEncoder(DefaultTaskEncoder):
    """Gives BlockSamples; a subclass can go on from there, as with any task encoder."""

    cookers = [Cooker(cook)]
