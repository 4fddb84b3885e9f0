"""The words of a bload pack command, as far as a launcher must know them."""
from __future__ import annotations

import argparse
from typing import List, NamedTuple, Optional

STORE = "endpoint", "lock-dir", "scratch", "lease"      # options of a store that have a value


class Known(NamedTuple):
    """The file, the output, whether its parents are made, the options of the store, and whether these are all words."""
    config: Optional[str]
    output: Optional[str]
    parents: bool
    store: List[str]
    is_all: bool


class Words(argparse.ArgumentParser):
    """A parser that raises ValueError instead of ending the program."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Raise ValueError."""
        raise ValueError(message)


def known(words: List[str]) -> Known:
    """Return what is known of a command."""
    parser = Words(add_help=False, allow_abbrev=False)
    parser.add_argument("-c", "--config")
    parser.add_argument("-o", "--output")
    parser.add_argument("--parents", action="store_true")
    for name in STORE:
        parser.add_argument(f"--{name}", action="append", dest="store", type=lambda value, name=name: f"--{name}={value}")  # type: ignore[misc]
    for name in "anonymous", "insecure":
        parser.add_argument(f"--{name}", action="append_const", dest="store", const=f"--{name}")
    try:
        found, others = parser.parse_known_args(words)
    except ValueError:      # an option without its value
        return Known(None, None, False, [], False)
    return Known(found.config, found.output, found.parents, found.store or [], not others)


def is_url(output: str) -> bool:
    """Return whether the output is in a store, so that tasks share no disk."""
    return "://" in output
