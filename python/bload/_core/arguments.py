"""Checks of arguments. A mistake raises the class that Python's own functions and containers raise; the message names what was expected."""
from __future__ import annotations

import operator
from typing import Any, Tuple

import numpy as np

from .errors import OptionError


def integer(what: str, value: Any) -> int:
    """value as an int; numpy integers are accepted. TypeError: it is no integer; its message begins with what."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what}, not {kind(value)}") from None


def flag(name: str, value: Any) -> bool:
    """value as a bool. TypeError: it is neither bool nor numpy.bool_."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, not {kind(value)}")
    return bool(value)


def names(name: str, value: Any) -> Tuple[str, ...]:
    """value as a tuple of different strings; a single string counts as a list of one. TypeError: anything else."""
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
    """value as an int. TypeError: not an integer. OptionError: below least."""
    number = integer(f"{name} must be an int", value)
    if number < least:
        raise OptionError(f"{name} must be at least {least}, not {number}")
    return number


def kind(value: Any) -> str:
    """A value and its type on one line, for an error message."""
    shown = repr(value)
    return f"{shown if len(shown) <= 60 else shown[:57] + '...'} of type {type(value).__name__}"
