"""Keep the fields of chats until they are packed: a tar for each input, and a journal, so that a run that was ended goes on.

    rows/journal.jsonl      a line with the configuration, then a line for each row: its file, where it ends in the tar, its counts or fault
    rows/NAME.tar           members KEY.tokens.npy, KEY.pixel_values.npy and so on for each chat
    rows/fields.yaml        what bload pack gets, written when all rows are there

The tar is written before the journal; what is behind the last row of the journal is cut off when a run goes on.
"""
from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import tarfile
from typing import Any, BinaryIO, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple
from urllib.parse import quote

import numpy as np

from .errors import Error, OptionError

TOGETHER = 64   # rows that are written to the disk together
BLOCK = 512     # bytes of a tar's block
JOURNAL, YAML = "journal.jsonl", "fields.yaml"


class Row(NamedTuple):
    """A row of an input, as the journal has it.

    file: the input's number. end: bytes of its tar with this row. fields: the names of its fields. id: its key in the tar, or "" if it was
    skipped. fault, reason: why it was skipped.
    """
    file: int
    end: int
    id: str = ""
    fields: Tuple[str, ...] = ()
    tokens: int = 0
    trained: int = 0
    counts: Dict[str, int] = {}
    fault: str = ""
    reason: str = ""


def key_of(given: Any, number: int) -> str:
    """Return the key of a row in its tar: its id, with all but letters, digits, _ and - as %XX, or else its number."""
    return str(number) if given is None or given == "" else quote(str(given), safe="").replace(".", "%2E").replace("~", "%7E")


def member(name: str, *data: Any) -> List[Any]:
    """Return the parts of a member of a tar, without a time: its header, its data, and what fills its last block."""
    info = tarfile.TarInfo(name)
    info.size = sum(len(part) for part in data)
    return [info.tobuf(tarfile.GNU_FORMAT), *data, bytes(-info.size % BLOCK)]


def members(key: str, fields: Dict[str, np.ndarray], columns: Optional[Dict[str, Any]]) -> List[Any]:
    """Return the members of a chat, in parts: its fields that have steps, and its columns as JSON."""
    out: List[Any] = []
    for name, values in fields.items():
        if len(values):
            values, head = np.ascontiguousarray(values), io.BytesIO()
            np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(values))
            out += member(f"{key}.{name}.npy", head.getvalue(), values.reshape(-1).view(np.uint8))
    if columns is not None:
        out += member(f"{key}.json", json.dumps(columns, default=str).encode())
    return out


def tar_names(paths: List[str]) -> List[str]:
    """Return a name for the tar of each input: that of the file without its endings, with a number if several have the same."""
    names: List[str] = []
    for path in paths:
        stem = os.path.basename(path).partition(".")[0] or "chats"
        name, number = stem, 1
        while name in names:
            number += 1
            name = f"{stem}-{number}"
        names.append(name)
    return [f"{name}.tar" for name in names]


class RowFiles:
    """The folder with the rows. Attributes: rows, those of earlier runs; done, how many of each input they are."""

    def __init__(self, folder: str, paths: List[str], configuration: Dict[str, Any]):
        """Open the folder, or make it.

        Parameters
        ----------
        folder : str
            Where the rows are.
        paths : list of str
            The inputs.
        configuration : dict
            What decides the rows.

        Raises
        ------
        OptionError
            The folder has rows of another configuration.
        Error
            Another run writes there.
        OSError
            It cannot be written.
        """
        self.folder = folder
        self.tars = [os.path.join(folder, name) for name in tar_names(paths)]
        self.ends = [0] * len(paths)
        self.done = [0] * len(paths)
        self.rows: List[Row] = []
        self.waiting: List[Row] = []
        self.open: Optional[Tuple[int, BinaryIO]] = None
        os.makedirs(folder, exist_ok=True)
        self.journal: BinaryIO = open(os.path.join(folder, JOURNAL), "ab+")
        try:
            fcntl.flock(self.journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Error("another run writes these rows", folder) from None
        self.resume(json.loads(json.dumps(configuration)))
        self.known = [{row.id for row in self.rows if row.file == number and row.id} for number in range(len(paths))]

    def resume(self, configuration: Dict[str, Any]) -> None:
        """Read the journal, and cut off what is behind its last whole row; raise OptionError if it is of another configuration."""
        self.journal.seek(0)
        first = self.journal.readline()
        if not first.endswith(b"\n"):
            self.journal.truncate(0)
            self.journal.write(json.dumps(configuration).encode() + b"\n")
            self.journal.flush()
            return
        try:
            there = json.loads(first)
        except ValueError:
            raise OptionError(f"{JOURNAL} is damaged: remove the folder", self.folder) from None
        differ = [name for name in sorted({*there, *configuration}) if there.get(name) != configuration.get(name)]
        if differ:
            raise OptionError(f"rows of another configuration: {differ[0]} is {short(there.get(differ[0]))} there, not "
                              f"{short(configuration.get(differ[0]))} (remove the folder, or use another -o)", self.folder)
        sizes = [os.path.getsize(tar) if os.path.exists(tar) else 0 for tar in self.tars]
        at = self.journal.tell()
        for line in self.journal:
            try:
                row = Row(*json.loads(line))
                is_there = row.end <= sizes[row.file]
            except (ValueError, TypeError, IndexError):
                break
            if not is_there:
                break
            at += len(line)
            self.rows.append(row._replace(fields=tuple(row.fields)))
            self.ends[row.file] = row.end
            self.done[row.file] += 1
        self.journal.truncate(at)
        self.journal.seek(at)
        for tar, end in zip(self.tars, self.ends):
            if os.path.exists(tar):
                os.truncate(tar, end)

    def add(self, row: Row, data: Sequence[Any]) -> Row:
        """Write a row, whose members have the parts `data`, and return it as the journal has it."""
        row = unique(row, self.known[row.file])
        if row.fault:
            data = ()
        if self.open is None or self.open[0] != row.file:
            self.flush()
            if self.open is not None:
                self.open[1].close()
            self.open = row.file, open(self.tars[row.file], "ab")
        self.open[1].writelines(data)
        self.ends[row.file] += sum(map(len, data))
        row = row._replace(end=self.ends[row.file])
        self.waiting.append(row)
        if len(self.waiting) >= TOGETHER:
            self.flush()
        return row

    def flush(self) -> None:
        """Write what waits: the tar first, and then the journal."""
        if self.open is None or not self.waiting:
            return
        self.open[1].flush()
        os.fdatasync(self.open[1].fileno())
        self.journal.write(b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in self.waiting))
        self.journal.flush()
        self.rows += self.waiting
        self.waiting = []

    def finish(self, yaml: str) -> str:
        """Write the end of the tars and fields.yaml, and return its path."""
        self.flush()
        if self.open is not None:
            self.open[1].close()
        for tar, end in zip(self.tars, self.ends):
            if end:
                with open(tar, "r+b") as file:
                    file.truncate(end)
                    file.seek(end)
                    file.write(bytes(2 * BLOCK))
        path = os.path.join(self.folder, YAML)
        with open(f"{path}.part", "w", encoding="utf-8") as text:
            text.write(yaml)
        os.rename(f"{path}.part", path)
        return path

    def remove(self) -> None:
        """Remove the folder."""
        self.journal.close()
        shutil.rmtree(self.folder)


def unique(row: Row, known: Set[str]) -> Row:
    """Return a row after adding its id to those that are known; one with a fault if an earlier row of its file has the id."""
    if row.id in known:
        return Row(row.file, 0, fault=f"the id {row.id} is that of an earlier row, too", reason="an id that is not unique")
    if row.id:
        known.add(row.id)
    return row


def short(value: Any) -> str:
    """Return a value for a message."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def fields_yaml(tars: Iterable[str], common: List[str], own: List[str], has_columns: bool, about: Dict[str, Any]) -> str:
    """Return the configuration for bload pack: the fields of the rows. common: with a value for each token. own: with steps of their own."""
    lines = ["sources:", *(f"  - {json.dumps(os.path.basename(tar))}" for tar in tars), "kind: array", "name: tokens", "member: tokens.npy"]
    if has_columns:
        lines.append("attributes-members: json")
    lines.append("about: " + json.dumps(json.dumps(about, separators=(",", ":"))))
    lines.append("fields:")
    lines += [f"  - {{name: {name}, path: '{{key}}.{name}.npy'}}" for name in common]
    lines += [f"  - {{name: {name}, path: '{{key}}.{name}.npy', steps: own, capacity: auto, missing: empty}}" for name in own]
    return "\n".join(lines) + "\n"


def check_complete(rows: List[Row]) -> None:
    """Raise Error if no row is usable."""
    if not any(row.id for row in rows):
        raise Error("no chat is usable")
