"""The command lines of the package: argparse, but that an option with a text cannot be given twice with two values."""
from __future__ import annotations

import argparse
from typing import Any


class Once(argparse.Action):
    """Stores a value. Of numbers and choices the last one counts; of texts a user may expect that all of them do, so a second one is refused."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        given = vars(namespace).setdefault("given_options", {})
        text = self.option_strings and not self.choices and isinstance(values, (str, list))
        if text and given.setdefault(self.dest, values) != values:
            several = ", with commas between" if "," in str(self.metavar) else ""
            raise argparse.ArgumentError(self, f"given twice, as {given[self.dest]} and as {values}: give it once{several}")
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name in (None, "store"):
            self.register("action", name, Once)
