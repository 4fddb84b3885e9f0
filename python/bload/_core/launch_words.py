"""The words of a bload pack command that has all its options in a file."""
from __future__ import annotations

import argparse
from typing import List, NamedTuple, Optional


class Configured(NamedTuple):
    """The file, the output directory, and whether its parents are made."""
    config: Optional[str]
    output: Optional[str]
    parents: bool


class Words(argparse.ArgumentParser):
    """A parser that raises ValueError instead of ending the program."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Raise ValueError."""
        raise ValueError(message)


def configured(words: List[str]) -> Optional[Configured]:
    """Return the words of a command with -c FILE, -o DIR and --parents alone; None: it has others, too."""
    parser = Words(add_help=False, allow_abbrev=False)
    parser.add_argument("-c", "--config")
    parser.add_argument("-o", "--output")
    parser.add_argument("--parents", action="store_true")
    try:
        found = parser.parse_args(words)
    except ValueError:
        return None
    return Configured(found.config, found.output, found.parents) if found.config else None
