"""The words of a bload pack command, as far as a launcher must know them."""
from __future__ import annotations

import argparse
from typing import List, NamedTuple, Optional

from .errors import OptionError

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


def carry(words: List[str], config: str, path: str) -> List[str]:
    """Return the words with another path of the file of options."""
    named = {option + config: option + path for option in ("", "-c", "--config=")}
    return [named.get(word, word) for word in words]


def text_of_file(config: str) -> str:
    """Return the text of the file of options, which goes to tasks that share no disk with this machine."""
    try:
        with open(config, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError:
        raise OptionError(f"-c {config}: not a text in UTF-8") from None
    except OSError as error:
        raise OptionError(f"-c {config}: {error.strerror}; with a URL as output the file is read here, and goes to the tasks") from None


def is_url(output: str) -> bool:
    """Return whether the output is in a store, so that tasks share no disk."""
    return "://" in output
