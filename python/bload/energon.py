"""Blocks that `bload export --to energon` wrote, as samples of Megatron-Energon.

    from megatron.energon import WorkerConfig, get_loader, get_train_dataset
    from bload.energon import BlockEncoder

    dataset = get_train_dataset("dataset-energon", worker_config=WorkerConfig.default_worker_config(), batch_size=4,
                                shuffle_buffer_size=100, max_samples_per_sequence=None, task_encoder=BlockEncoder())
    for batch in get_loader(dataset):
        batch.arrays["cu_seqlens"]       # [4, S + 1]
        batch.ids                        # with --ids: 4 lists of S texts

Needs the package megatron-energon.
"""
from typing import Any, Dict, List, Optional

import torch
from megatron.energon import Cooker, DefaultTaskEncoder, Sample, basic_sample_keys, edataclass, stateless

from .torch import tensor

__all__ = ["BlockEncoder", "BlockSample", "cook"]

SUFFIX = ".npy"
IDS = "ids.json"


@edataclass
class BlockSample(Sample):
    """A block as a sample.

    Attributes
    ----------
    arrays : dict of tensor
        The fields and tables of the block by name; [B, ...] in a batch.
    ids : list of str or None
        The id of the sequence in each slot, "" in an unused slot; None if ids were not exported. In a batch a list of these.
    """

    arrays: Dict[str, torch.Tensor]
    ids: Optional[List[str]] = None


@stateless
def cook(sample: Dict[str, Any]) -> BlockSample:
    """Return a sample made of the members of a tar file that share a key."""
    arrays = {name[:-len(SUFFIX)]: tensor(value) for name, value in sample.items() if name.endswith(SUFFIX)}
    return BlockSample(**basic_sample_keys(sample), arrays=arrays, ids=sample.get(IDS))


class BlockEncoder(DefaultTaskEncoder):
    """A task encoder that yields BlockSamples; a subclass can extend it like any task encoder."""

    cookers = [Cooker(cook)]
