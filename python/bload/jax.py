"""Blocks by number and their order on each rank, for loops without PyTorch: JAX, Grain, tf.data.

    from bload.jax import BlockSampler, EpochBlocks

    blocks = EpochBlocks(bload.open("dataset", ids=False))
    sampler = BlockSampler(blocks, jax.process_count(), jax.process_index())

Neither JAX nor another framework is imported. `bload.torch` has the same sampler for PyTorch's DataLoader.
"""
from __future__ import annotations

from ._core.sampler import BlockSampler, EpochBlocks

__all__ = ["BlockSampler", "EpochBlocks"]

BlockSampler.__module__ = EpochBlocks.__module__ = __name__  # in tracebacks, pickles and help()
