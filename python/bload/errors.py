"""What goes wrong, as exceptions that say which file it is about and what is wrong with it."""
from __future__ import annotations

from typing import Optional


class Error(Exception):
    """Whatever bload finds wrong; the others derive from it.

    fault tells what is wrong, path is the file or directory it is about (None where it is about none).
    """

    # One text alone must do, too: that is how DataLoader makes a worker's exception again in the main process.
    def __init__(self, fault: str, path: Optional[str] = None):
        super().__init__(f"{path}: {fault}" if path else fault)
        self.fault = fault
        self.path = path


class MissingError(Error):
    """A file or directory that should be there is not."""


class DamagedError(Error):
    """A file is not what was written: truncated, altered, or not in keeping with the others."""


class FormatError(Error):
    """A dataset in a form that this version does not know."""


class SequenceError(Error, LookupError):
    """A sequence that is not in the table, or is not stored (wholly) in any block."""


class EpochError(Error, LookupError):
    """A plan of an epoch that the dataset does not have."""


class SamplerError(Error, ValueError):
    """A sampler that cannot give every rank equally many blocks, or cannot go on from a state."""


class DependencyError(Error, ImportError):
    """A package that is needed for this dataset, or this option, is not installed."""

    def __init__(self, fault: str, path: Optional[str] = None):
        Error.__init__(self, fault, path)
