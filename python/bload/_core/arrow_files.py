"""Find the Parquet and Arrow files of Hugging Face's datasets, and read their rows in batches.

A source is a file, a pattern, or a folder: of Parquet files, as on the hub, or of the Arrow files that save_to_disk writes.
"""
from __future__ import annotations

import glob
import json
import os
import re
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

import pyarrow as pa
import pyarrow.parquet as pq

from . import apart
from .errors import DamagedError, Error, MissingError, OptionError
from .mapping import open_regular

ENDINGS = ".parquet", ".pq", ".arrow", ".feather"
MEMBER = re.compile(r"^(.*)-(\d+)-of-(\d+)(\.[a-z]+)$")
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
BATCH = 1 << 18      # approximate bytes of a batch; for larger ones the system allocates new memory on every copy
BATCH_ROWS = 1 << 16
BUFFER = 1 << 20     # bytes read at once from a column of a row group


class Group(NamedTuple):
    """Rows of a file that one thread reads: a row group of Parquet, or a whole Arrow file.

    first: the number of its first row. metadata: the footer of Parquet; None for Arrow.
    """
    file: "ArrowFile"
    number: int
    first: int
    metadata: Any

    @property
    def name(self) -> str:
        """The file, with the number of the row group for Parquet, for messages."""
        return f"{self.file.path}: row group {self.number}" if self.file.parquet else self.file.path

    def batches(self, columns: List[str]) -> Iterator[Any]:
        """Yield the rows as record batches of about BATCH bytes, with these columns; raise DamagedError if they cannot be read."""
        apart.set_current_file(self.file.path)
        with faults(self.name):
            for batch in self.parquet(columns) if self.file.parquet else self.arrow(columns):
                rows = max(1, min(BATCH_ROWS, batch.num_rows * BATCH // max(1, batch.nbytes)))
                for first in range(0, batch.num_rows, rows):
                    yield batch.slice(first, rows)

    def parquet(self, columns: List[str]) -> Iterator[Any]:
        """Yield the record batches of a row group of Parquet, and raise ArrowInvalid if there are not as many rows as the footer says."""
        group, wanted = self.metadata.row_group(self.number), tuple(f"{name}." for name in columns)
        stored = [group.column(i) for i in range(group.num_columns)]
        size = sum(column.total_uncompressed_size for column in stored if f"{column.path_in_schema}.".startswith(wanted))
        rows = max(1, min(BATCH_ROWS, group.num_rows * BATCH // max(1, size)))
        with pq.ParquetFile(self.file.path, metadata=self.metadata, buffer_size=BUFFER, pre_buffer=False,
                            page_checksum_verification=True) as file:
            read = 0
            for batch in file.iter_batches(rows, [self.number], columns, use_threads=False):
                read += batch.num_rows
                yield batch.select(columns)
        if read != group.num_rows:
            raise pa.ArrowInvalid(f"it has {read} rows, the footer says {group.num_rows}")

    def arrow(self, columns: List[str]) -> Iterator[Any]:
        """Yield the record batches of an Arrow file, each checked, because Arrow trusts the offsets inside a batch."""
        with pa.OSFile(self.file.path) as source:
            reader = self.file.reader(source)
            for batch in reader if self.file.stream else (reader.get_batch(i) for i in range(reader.num_record_batches)):
                batch.validate(full=True)  # all other functions of Arrow trust the offsets inside a batch
                yield batch.select(columns)


def natural(path: str) -> List[Tuple[bool, int, str]]:
    """Return a sort key that compares digits by their value."""
    return [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", path)]


def walk(folder: str) -> Iterator[str]:
    """Yield the files of a folder and its subfolders by their ending, in natural order, without hidden ones.

    If save_to_disk wrote the folder, raises MissingError for a missing file, Error if the rows are selected by an index, and DamagedError if
    state.json is damaged.
    """
    state = os.path.join(folder, "state.json")
    if os.path.exists(state):
        yield from saved(folder, state)
        return
    entries = sorted((entry for entry in os.listdir(folder) if not entry.startswith(".")), key=natural)
    for entry in entries:
        path = os.path.join(folder, entry)
        if os.path.isdir(path):
            yield from walk(path)
        elif entry.lower().endswith(ENDINGS):
            yield path
    check_members(folder, entries)


def saved(folder: str, state: str) -> Iterator[str]:
    """Yield the files of a folder that save_to_disk wrote, as its state.json lists them."""
    try:
        with open(state, "rb") as file:
            state_json = json.load(file)
        names = [os.path.basename(entry["filename"]) for entry in state_json["_data_files"]]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"it does not list the data files ({type(error).__name__})", state) from None
    if state_json.get("_indices_data_files"):
        raise Error("it contains a selection of rows by an index: call flatten_indices() before save_to_disk()", folder)
    for name in names:
        if not os.path.exists(os.path.join(folder, name)):
            raise MissingError("state.json lists this file, but it does not exist", os.path.join(folder, name))
        yield os.path.join(folder, name)


def check_members(folder: str, names: List[str]) -> None:
    """Raise MissingError if one of the files named NAME-00000-of-00003 is missing."""
    found: Dict[Tuple[str, int, str], List[int]] = {}
    for name in names:
        match = MEMBER.match(name)
        if match:
            found.setdefault((match[1], int(match[3]), match[4]), []).append(int(match[2]))
    for (stem, count, ending), numbers in found.items():
        lost = next((number for number in range(count) if number not in numbers), None)
        if lost is not None:
            raise MissingError(f"file {lost} of {stem}-*-of-{count:05}{ending} is missing: to read without it, name the other files", folder)


def splits_of(paths: List[str]) -> List[str]:
    """Return the splits to which files belong, by their names or, in a DatasetDict that save_to_disk wrote, by their folders."""
    found: Dict[str, None] = {}
    for path in paths:
        folder, name = os.path.split(path)
        match = MEMBER.match(name)
        if os.path.exists(os.path.join(os.path.dirname(folder), "dataset_dict.json")):
            found[os.path.basename(folder)] = None
        elif match:
            found[match[1]] = None
    return list(found)


def find(sources: List[str]) -> List[str]:
    """Return the files of all sources in order; raise MissingError if a source has none, and OptionError if a file is given twice."""
    paths: List[str] = []
    for source in sources:
        if os.path.isdir(source):
            found = list(walk(source))
            fault = "no file below it ends in " + ", ".join(ENDINGS)
        elif os.path.exists(source):
            found, fault = [source], ""
        else:
            found = sorted(glob.glob(source, recursive=True), key=natural)
            found = [path for one in found for path in (walk(one) if os.path.isdir(one) else [one])]
            fault = "no such file or folder"
        if not found:
            raise MissingError(fault, source)
        paths += found
    known: Dict[str, str] = {}
    for path in paths:
        real = os.path.realpath(path)
        if real in known:
            raise OptionError(f"the same file as {known[real]}: name it only once", path)
        known[real] = path
    return paths


def check_names(fields: Any) -> None:
    """Raise ValueError if the name of a column, or of a field within it, is not valid text."""
    for field in fields:
        field.name.encode()  # fails if the name is not valid UTF-8
        check_names(field.type.field(i) for i in range(field.type.num_fields))


class ArrowFile:
    """A Parquet file, or an Arrow file or stream. Opening reads the schema; footers, which may be large, are read again with the rows.

    Raises DamagedError if the file has neither format, is damaged, or is truncated.
    """

    def __init__(self, path: str):
        self.path = path
        apart.set_current_file(path)
        try:
            with open_regular(path) as file:
                start = file.read(6)
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - 8))
                end = file.read()
        except OSError as error:
            if isinstance(error, Error):
                raise
            raise Error(f"cannot be read: {error.strerror}", path) from error
        self.parquet, self.stream = start[:4] == b"PAR1", start[:4] == END_OF_STREAM[:4]
        if not self.parquet and not self.stream and start != b"ARROW1":
            raise DamagedError("neither a Parquet nor an Arrow file" if size else "the file is empty", path)
        if self.stream and end != END_OF_STREAM:
            raise DamagedError("the file is truncated: its end-of-stream marker is missing", path)
        self.schema, _ = self.read()

    def reader(self, source: Any) -> Any:
        """Return pyarrow's reader for an Arrow file or stream."""
        return pa.ipc.open_stream(source) if self.stream else pa.ipc.open_file(source)

    def read(self) -> Tuple[Any, Any]:
        """Return the schema and, for Parquet, the footer."""
        with faults(self.path):
            metadata = pq.read_metadata(self.path) if self.parquet else None
            if metadata is not None:
                schema = metadata.schema.to_arrow_schema()
            else:
                with pa.OSFile(self.path) as source:
                    schema = self.reader(source).schema
            check_names(schema)
            return schema, metadata

    def groups(self) -> Iterator[Group]:
        """Yield the groups of rows; raise DamagedError if the file was replaced by one with other columns since it was opened."""
        schema, metadata = self.read()
        if not schema.equals(self.schema):
            raise DamagedError("its columns changed while earlier files were read", self.path)
        first = 0
        for number in range(metadata.num_row_groups if metadata else 1):
            yield Group(self, number, first, metadata)
            first += metadata.row_group(number).num_rows if metadata else 0


class faults:
    """A context that turns errors of Arrow into a DamagedError that names the place."""

    def __init__(self, where: str):
        self.where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        # Arrow raises ValueError for texts that are not UTF-8 and for numbers that Python cannot represent.
        if isinstance(error, (pa.ArrowException, OSError, ValueError, OverflowError)) and not isinstance(error, Error):
            said = " ".join(str(error).split())
            raise DamagedError(f"cannot be read: {said[:300]}", self.where) from None
