"""Exceptions. Their texts say which file is concerned and what is wrong."""
from __future__ import annotations

from typing import Optional


class Error(Exception):
    """The base class of all errors of bload.

    fault tells what is wrong, path is the file or directory it is about (None where it is about none).
    """

    # A single argument must be enough: DataLoader recreates a worker's exception that way in the main process.
    def __init__(self, fault: str, path: Optional[str] = None):
        super().__init__(f"{path}: {fault}" if path else fault)
        self.fault = fault
        self.path = path

    # Some classes below are KeyErrors too, which would show their text in quotes.
    def __str__(self) -> str:
        return str(self.args[0])


class OptionError(Error, ValueError):
    """An option that does not apply to this dataset."""


class MissingError(Error, FileNotFoundError):
    """A file or directory does not exist."""


class DamagedError(Error):
    """A file is damaged: truncated, altered, or inconsistent with the others."""


class FormatError(Error):
    """A dataset of a format that this version does not support."""


class SequenceError(Error, KeyError):
    """No such sequence or column in the table, or a sequence that is not stored (completely) in the blocks."""


class EpochError(Error, LookupError):
    """An epoch that the dataset has no plan for."""


class SamplerError(Error, ValueError):
    """A sampler cannot give every rank the same number of blocks, or cannot resume from a state."""


class DependencyError(Error, ImportError):
    """A package that this dataset or option needs is not installed."""

    def __init__(self, fault: str, path: Optional[str] = None):
        Error.__init__(self, fault, path)
