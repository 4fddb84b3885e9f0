"""Write the lengths of chats as a table that bload plan and bload compare read.

A row has the id that the chat gets in a dataset, its length, its status and why it is skipped, the columns that are kept, and NAME.length for
each own field.
"""
from __future__ import annotations

import json
import os
import re
import sys
from types import TracebackType
from typing import Any, BinaryIO, Dict, List, Optional, Tuple, Type

from .errors import OptionError
from .row_files import tar_names

COLUMNS = "id", "length", "status", "reason"
RESERVED = {*COLUMNS, "kind", "path", "bytes", "sampling", "stream", "content"}    # other columns that bload's tables have
ESCAPES = {ord("\\"): r"\\", ord("\t"): r"\t", ord("\n"): r"\n", ord("\r"): r"\r", **{0xDC00 + byte: f"\\x{byte:02X}" for byte in range(0x80, 0x100)}}


class SizeTable:
    """A table that is written to a file, which appears when all rows are there, or to standard output."""

    def __init__(self, path: Optional[str], kept: List[str], own: List[str]):
        """Begin the table.

        Parameters
        ----------
        path : str or None
            The file; None: standard output.
        kept, own : list of str
            The columns of the chats, and the own fields.

        Raises
        ------
        OptionError
            A kept column has the name of another one.
        """
        self.path, self.kept, self.own = path, kept, own
        taken = [name for name in kept if name in RESERVED or name in [f"{one}.length" for one in own]]
        if taken:
            raise OptionError(f"--keep {taken[0]}: the table has a column of this name")
        self.file: BinaryIO = sys.stdout.buffer if path is None else open(f"{path}.part", "wb")
        self.write([*COLUMNS, *kept, *(f"{name}.length" for name in own)])

    def __enter__(self) -> "SizeTable":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], _: Optional[BaseException], __: Optional[TracebackType]) -> None:
        if self.path is None:
            self.file.flush()
            return
        self.file.close()
        if kind is None:
            os.replace(f"{self.path}.part", self.path)
        else:
            os.unlink(f"{self.path}.part")

    def write(self, values: List[Any]) -> None:
        """Write a row."""
        self.file.write(("\t".join(str(one).translate(ESCAPES) for one in values) + "\n").encode(errors="replace"))

    def add(self, name: str, tokens: int, columns: Dict[str, Any], own: Dict[str, int]) -> None:
        """Write the row of a chat."""
        self.write([name, tokens, "ok", "", *(text_of(columns.get(key)) for key in self.kept), *(own.get(key, 0) for key in self.own)])

    def skip(self, name: str, reason: str) -> None:
        """Write the row of a chat that is skipped."""
        self.write([name, 0, "skipped", reason, *[""] * len(self.kept), *[0] * len(self.own)])


def text_of(value: Any) -> str:
    """Return a value of a chat as bload has it in a column: a text as it is, nothing for null, and others as JSON."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, default=str)


def in_order(paths: List[str]) -> List[Tuple[str, str]]:
    """Return the inputs in the order in which bload packs their rows, each with what its ids begin with."""
    stems = [name[:-len(".tar")] for name in tar_names(paths)]
    return sorted(zip(stems, paths), key=lambda one: natural(os.fsencode(one[0] + ".tar")))


def natural(name: bytes) -> Tuple[List[Tuple[int, int]], bytes]:
    """Return what sorts names as bload does: numbers in them by their values, all else by bytes."""
    parts = re.findall(rb"\d+|\D", name, re.DOTALL)
    return [(ord("0"), int(one)) if one.isdigit() else (one[0], 0) for one in parts], name
