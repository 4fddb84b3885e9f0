"""The command-line parser of the package: argparse that refuses to take a list twice with different values."""
from __future__ import annotations

import argparse
from typing import Any


class Once(argparse.Action):
    """An action that stores a value. A list (LIST,...) given twice is refused, because users expect the lists to add up; otherwise the last
    value counts.
    """

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        given = vars(namespace).setdefault("given_options", {})
        if "," in str(self.metavar) and given.setdefault(self.dest, values) != values:
            raise argparse.ArgumentError(self, f"given twice, as {given[self.dest]} and {values}: give one list, separated by commas")
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """An argparse parser whose default action is Once."""
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name in (None, "store"):
            self.register("action", name, Once)
