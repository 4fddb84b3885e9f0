"""Write binary columns of Arrow as members of a tar file: sounds, pictures and videos as datasets store them.

A row is KEY.EXT and, with further columns, KEY.json; KEY is the row's number. With several binary columns it is KEY.COLUMN.EXT. Values are
bytes, or the features Audio, Image and Video of Hugging Face's datasets: structs of bytes and the path of the file.
"""
from __future__ import annotations

import os
import re
import tarfile
from typing import Any, BinaryIO, Iterator, List, NamedTuple, Optional, Tuple

from . import arrow_json
from .arrow_files import Group
from .arrow_rows import Choice, Lines
from .errors import Error

DIGITS = 9  # the least digits of a key
BLOCK, RECORD = 512, 10240
WRITTEN = re.compile(r"\.([A-Za-z0-9]{1,10})$")

# Ending, position and bytes that identify the content of a file.
MAGIC = (("png", 0, b"\x89PNG"), ("jpg", 0, b"\xff\xd8\xff"), ("gif", 0, b"GIF8"), ("webp", 8, b"WEBP"), ("wav", 8, b"WAVE"),
         ("avi", 8, b"AVI "), ("tiff", 0, b"II*\0"), ("tiff", 0, b"MM\0*"), ("bmp", 0, b"BM"), ("flac", 0, b"fLaC"), ("ogg", 0, b"OggS"),
         ("mp3", 0, b"ID3"), ("mp3", 0, b"\xff\xfb"), ("mp3", 0, b"\xff\xf3"), ("mp3", 0, b"\xff\xf2"), ("avif", 4, b"ftypavif"),
         ("heic", 4, b"ftypheic"), ("m4a", 4, b"ftypM4A"), ("mov", 4, b"ftypqt"), ("mp4", 4, b"ftyp"), ("mkv", 0, b"\x1a\x45\xdf\xa3"),
         ("npy", 0, b"\x93NUMPY"), ("gz", 0, b"\x1f\x8b"), ("zip", 0, b"PK\3\4"), ("pdf", 0, b"%PDF"))


class Members(NamedTuple):
    """The members of some rows, their names without the number; and what was skipped, as in Lines."""
    rows: List[List[Tuple[str, Any]]]
    skipped_rows: Lines


def is_file(kind: Any) -> bool:
    """Return whether values of a type become files: bytes, or structs of bytes and path."""
    kind = arrow_json.plain(kind)
    names = [field.name for field in arrow_json.members(kind)] if str(kind).startswith("struct") else []
    return arrow_json.is_binary(kind) or sorted(names) == ["bytes", "path"] and arrow_json.is_binary(kind.field("bytes").type)


def member_kind(kind: Any) -> str:
    """Return what a column becomes: "file", or its kind in JSON. Raises Error if it is neither."""
    if is_file(kind):
        return "file"
    try:
        return arrow_json.json_kind(kind)
    except Error as error:
        raise Error(error.fault.replace(f": {arrow_json.TAR_HINT}", ", and only a column of its own, not a nested value, becomes a file")) from None


def ending(path: Optional[str], data: Any) -> str:
    """Return the ending of a file, from its path or else from its content."""
    found = WRITTEN.search(path or "")
    if found:
        return found[1].lower()
    start = data[:16].to_pybytes()
    return next((name for name, at, magic in MAGIC if start[at:at + len(magic)] == magic), "bin")


def file_of(value: Any) -> Tuple[Optional[Any], Optional[str]]:
    """Return the bytes of a value, as a buffer without a copy, and its path; None for what is missing."""
    if hasattr(value, "as_buffer"):
        return value.as_buffer(), None
    if not value.is_valid:
        return None, None
    return value["bytes"].as_buffer(), value["path"].as_py()


def columns_of(batch: Any) -> List[Any]:
    """Return the columns of a batch, with the values of dictionaries and extensions."""
    columns = []
    for column in batch.columns:
        column = column.storage if hasattr(column, "storage") else column
        columns.append(column.dictionary_decode() if hasattr(column, "dictionary") else column)
    return columns


def members(group: Group, choice: Choice) -> Iterator[Members]:
    """Yield the rows of a group as members of an archive, in batches, without rows in which a file is null; raise Error if reading fails."""
    files = [name for name, kind in choice.kinds.items() if kind == "file"]
    others = [name for name in choice.columns if name not in files]
    first = group.first
    for batch in group.batches(choice.columns):
        try:
            texts = arrow_json.encode(batch.select(others)).splitlines(keepends=True) if others else []
        except Error as error:
            raise Error(f"rows {first} to {first + batch.num_rows - 1}: {error.fault}", group.name) from None
        yield files_of(batch.select(files), texts, first)
        first += batch.num_rows


def files_of(batch: Any, texts: List[bytes], first: int) -> Members:
    """Return the members of the rows of a batch of files; `texts` is the JSON of each row, or empty."""
    names, columns = batch.schema.names, columns_of(batch)
    rows, skipped_rows = [], Lines(b"", 0, [], {}, {})
    for row in range(batch.num_rows):
        found: List[Tuple[str, Any]] = []
        for name, column in zip(names, columns):
            data, path = file_of(column[row])
            if data is None:
                reason = f"\"{name}\" contains the path of a file without its bytes" if path else f"\"{name}\" is null"
                skipped_rows.skipped.append((reason, first + row))
                skipped_rows.lost[reason] = skipped_rows.lost.get(reason, 0) + 1
                break
            found.append((("." + name.replace("/", "_") if len(names) > 1 else "") + "." + ending(path, data), data))
        else:
            rows.append(found + [(".json", text) for text in texts[row:row + 1]])
    return Members(rows, skipped_rows._replace(rows=len(rows)))


class TarFile:
    """Write members to a tar file without timestamps, so that the same rows give the same bytes."""

    def __init__(self, file: BinaryIO):
        self.file, self.size, self.rows = file, 0, 0

    def add(self, row: List[Tuple[str, Any]]) -> None:
        """Write the members of the next row."""
        for name, data in row:
            info = tarfile.TarInfo(f"{self.rows:0{DIGITS}}{name}")
            info.size = len(data)
            self.write(info.tobuf(tarfile.GNU_FORMAT))
            self.write(data)
            self.write(bytes(-info.size % BLOCK))
        self.rows += 1

    def write(self, data: Any) -> None:
        """Write bytes and count them."""
        self.file.write(data)
        self.size += len(data)

    def finish(self) -> None:
        """Write the end of the archive, and flush it to the disk."""
        self.write(bytes(2 * BLOCK))
        self.write(bytes(-self.size % RECORD))
        self.file.flush()
        os.fsync(self.file.fileno())
