"""Read datasets packed by bload, and views of them, as numpy arrays.

    import bload

    dataset = bload.open("dataset")
    block = dataset[0]                    # a dict: frames [T, H, W, 3], cu_seqlens [S + 1], ...
    video = dataset.sequence("a.mp4")     # one whole sequence: frames [length, H, W, 3]
"""
from __future__ import annotations

from .base import BaseDataset
from .blocks import Block, Blocks
from .dataset import Dataset
from .epochs import Epoch
from .errors import (DamagedError, DependencyError, EpochError, Error, FormatError, IsolationError, MissingError, OptionError, SamplerError,
                     SequenceError)
from .manifest import Field, Source
from .opening import open
from .sequences import Sequences
from .view import View

__version__ = "0.2.0"

__all__ = ["BaseDataset", "Block", "Blocks", "DamagedError", "Dataset", "DependencyError", "Epoch", "EpochError", "Error", "Field",
           "FormatError", "IsolationError", "MissingError", "OptionError", "SamplerError", "SequenceError", "Sequences", "Source", "View", "open"]
