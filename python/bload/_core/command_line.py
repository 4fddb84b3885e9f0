"""The command lines of the package: argparse, but that a list cannot be given twice with two values."""
from __future__ import annotations

import argparse
from typing import Any


class Once(argparse.Action):
    """Stores a value. Of lists (LIST,...) a user may expect that all of them count, so a second one is refused; else the last one counts."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        given = vars(namespace).setdefault("given_options", {})
        if "," in str(self.metavar) and given.setdefault(self.dest, values) != values:
            raise argparse.ArgumentError(self, f"given twice, as {given[self.dest]} and as {values}: give it once, with commas between")
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name in (None, "store"):
            self.register("action", name, Once)
