"""Exceptions. Each message names the file, if there is one, and the fault."""
from __future__ import annotations

import re
from typing import Optional

# Control characters except tabs and newlines: messages quote files and servers, and a terminal would obey them.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    r"""Return the text with control characters written as \xHH, because a terminal would obey them."""
    return CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


class Error(Exception):
    """The base class of all errors of bload.

    Attributes
    ----------
    fault : str
        The message without the path.
    path : str or None
        The file or directory that the error is about.
    """

    # Only one argument is required, because the DataLoader recreates a worker's exception from its message alone.
    def __init__(self, fault: str, path: Optional[str] = None):
        super().__init__(printable(f"{path}: {fault}" if path else fault))
        self.fault = fault
        self.path = path

    # Some subclasses are also a KeyError, whose __str__ would quote the message.
    def __str__(self) -> str:
        return str(self.args[0])


class OptionError(Error, ValueError):
    """The dataset does not support an option, or an option has an invalid value; also a ValueError."""


class MissingError(Error, FileNotFoundError):
    """A file or directory does not exist; also a FileNotFoundError."""


class DamagedError(Error):
    """A file is damaged: truncated, altered, or inconsistent with the other files."""


class FormatError(Error):
    """The dataset has a format that this version does not support."""


class SequenceError(Error, KeyError):
    """The table has no such sequence or column, or the blocks do not store the sequence completely; also a KeyError."""


class EpochError(Error, LookupError):
    """The dataset has no plan for an epoch, or the number or window of an epoch is invalid; also a LookupError."""


class SamplerError(Error, ValueError):
    """A sampler cannot divide the blocks evenly, cannot resume from a state, or has invalid arguments; also a ValueError."""


class IsolationError(Error):
    """A model computes something else for sequences in one row than for each sequence alone."""


class DependencyError(Error, ImportError):
    """The dataset or an option needs a package that is not installed; also an ImportError."""

    def __init__(self, fault: str, path: Optional[str] = None):
        Error.__init__(self, fault, path)
