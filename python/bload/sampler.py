"""The old place of bload.jax. It will be gone in version 1.0."""
from __future__ import annotations

import warnings

from ._core.sampler import BlockSampler, EpochBlocks, order

__all__ = ["BlockSampler", "EpochBlocks", "order"]

warnings.warn("bload.sampler is now bload.jax, or bload.torch for PyTorch", DeprecationWarning, stacklevel=2)
