"""Read datasets packed by bload, and views of them, as numpy arrays.

    import bload

    dataset = bload.open("dataset")
    block = dataset[0]                    # a dict: frames [T, H, W, 3], cu_seqlens [S + 1], ...
    video = dataset.sequence("a.mp4")     # one whole sequence: frames [length, H, W, 3]
"""
from __future__ import annotations

from ._core.base import BaseDataset
from ._core.blocks import Block, Blocks
from ._core.dataset import Dataset
from ._core.epochs import Epoch
from ._core.errors import (DamagedError, DependencyError, EpochError, Error, FormatError, IsolationError, MissingError, OptionError, SamplerError,
                     SequenceError)
from ._core.manifest import Field, Source
from ._core.opening import open
from ._core.partition import Partition, partition
from ._core.planning import Plan, PlannedBlock, plan
from ._core.sequences import Sequences
from ._core.view import View

__version__ = "0.2.0"

__all__ = ["BaseDataset", "Block", "Blocks", "DamagedError", "Dataset", "DependencyError", "Epoch", "EpochError", "Error", "Field",
           "FormatError", "IsolationError", "MissingError", "OptionError", "Partition", "Plan", "PlannedBlock", "SamplerError", "SequenceError",
           "Sequences", "Source", "View", "open", "partition", "plan"]

# Tracebacks, pickles and help() name these by the place from which programs import them.
for _name in __all__:
    if isinstance(globals()[_name], (type, type(open))):
        globals()[_name].__module__ = __name__
