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

    # Some of the classes below are KeyErrors, too, and those would show their text in quotes.
    def __str__(self) -> str:
        return str(self.args[0])


class OptionError(Error, ValueError):
    """An option that cannot be had of this dataset."""


class MissingError(Error, FileNotFoundError):
    """A file or directory that should be there is not."""


class DamagedError(Error):
    """A file is not what was written: truncated, altered, or not in keeping with the others."""


class FormatError(Error):
    """A dataset in a form that this version does not know."""


class SequenceError(Error, KeyError):
    """A sequence, or a column, that is not in the table; a sequence that is not stored (wholly) in any block."""


class EpochError(Error, LookupError):
    """A plan of an epoch that the dataset does not have."""


class SamplerError(Error, ValueError):
    """A sampler that cannot give every rank equally many blocks, or cannot go on from a state."""


class DependencyError(Error, ImportError):
    """A package that is needed for this dataset, or this option, is not installed."""

    def __init__(self, fault: str, path: Optional[str] = None):
        Error.__init__(self, fault, path)
