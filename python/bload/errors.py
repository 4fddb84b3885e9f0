"""The old place of the exceptions, which `bload` has. It will be gone in version 1.0."""
from __future__ import annotations

import warnings

from ._core.errors import (DamagedError, DependencyError, EpochError, Error, FormatError, IsolationError, MissingError, OptionError, SamplerError,
                           SequenceError)

__all__ = ["DamagedError", "DependencyError", "EpochError", "Error", "FormatError", "IsolationError", "MissingError", "OptionError", "SamplerError",
           "SequenceError"]

warnings.warn("the exceptions of bload.errors are in bload", DeprecationWarning, stacklevel=2)
