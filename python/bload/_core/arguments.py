"""Checks of arguments, which raise the classes that Python's own functions raise and name what was expected."""
from __future__ import annotations

import operator
from typing import Any, Tuple

import numpy as np

from .errors import OptionError


def integer(what: str, value: Any) -> int:
    """Return the value as an int, or raise TypeError with a message that begins with `what`. Numpy integers are accepted."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what}, not {kind(value)}") from None


def flag(name: str, value: Any) -> bool:
    """Return the value as a bool, or raise TypeError if it is neither bool nor numpy.bool_."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, not {kind(value)}")
    return bool(value)


def names(name: str, value: Any) -> Tuple[str, ...]:
    """Return the value as a tuple of different strings, or raise TypeError. A single string counts as a list of one."""
    given = (value,) if isinstance(value, str) else value
    try:
        found = tuple(dict.fromkeys(given))
    except TypeError:
        found = (None,)
    for one in found:
        if not isinstance(one, str):
            raise TypeError(f"{name} must be a name or a list of names, not {kind(value)}")
    return found


def at_least(name: str, value: Any, least: int) -> int:
    """Return the value as an int; raise TypeError if it is not an integer, and OptionError if it is below least."""
    number = integer(f"{name} must be an int", value)
    if number < least:
        raise OptionError(f"{name} must be at least {least}, not {number}")
    return number


def kind(value: Any) -> str:
    """Return a value and its type on one line, for an error message."""
    shown = repr(value)
    return f"{shown if len(shown) <= 60 else shown[:57] + '...'} of type {type(value).__name__}"
