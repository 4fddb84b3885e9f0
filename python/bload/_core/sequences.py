"""sequences.tsv: a row for every input, read on demand. Takes 8 bytes of memory per row, 24 after the first look-up by id."""
from __future__ import annotations

import itertools
import mmap
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Optional, SupportsIndex, Tuple, Union, overload

import numpy as np

from . import notebook
from .arguments import integer, kind
from .errors import DamagedError, DependencyError, SequenceError
from .manifest import Source
from .mapping import MappedFile
from .text import unescape

if TYPE_CHECKING:
    import pandas

FILE = "sequences.tsv"
SCANNED = 16 << 20  # bytes to search for newlines at a time
ROWS = 1 << 14      # rows to split at a time
SHOWN = 8           # the most rows that a notebook shows
COLUMNS = 10        # the most columns that a notebook shows


def is_number(text: str, whole: bool) -> bool:
    """Return whether a value of the table is a number: one that I64 holds, or any."""
    try:
        return -(1 << 63) <= int(text) < 1 << 63 if whole else float(text) == float(text)
    except ValueError:
        return False


class Sequences:
    """The table of sequences: a row for every input, including those that were skipped.

        len(table)           the number of rows
        table[7], table[-1]  a row, as a dict of strings; table[2:5] is a list of rows, and iteration returns all rows
        table.columns        the names of the columns
        table["length"]      also "bytes", and NAME.length and NAME.bytes of joined fields: I64 [rows], -1 where the table has no value
        table["class"]       an attribute of numbers: I64 or F64 [rows], 0 or NaN where a sequence that was left out has no value
        table["column"]      any other column, as a list of strings
        id in table          whether there is a sequence with this id, stored or not
        table.find(id)       its row; table.id(7) is the id of row 7
        table.to_pandas()    a DataFrame of all rows

    Arrays are read-only, and shared by all callers.

    Raises
    ------
    SequenceError
        There is no such column or id. Also a KeyError.
    IndexError
        There is no such row.
    DamagedError
        The file is damaged.
    """

    def __init__(self, file: Union[str, MappedFile], attributes: Optional[Dict[str, str]] = None):
        self.file = MappedFile(file) if isinstance(file, str) else file
        self.path = path = self.file.path
        self.attributes = attributes or {}
        end = self.file.memory.find(b"\n")
        header = bytes(self.file.read(0, max(end, 0)))
        self.columns: Tuple[str, ...] = tuple(self.text(name, 1) for name in header.split(b"\t"))
        if "id" not in self.columns or "length" not in self.columns:
            raise DamagedError("its header lacks the columns id and length", path)
        self.begin = end + 1
        self.numbers: Dict[str, np.ndarray] = {}
        self.found_offsets: Optional[np.ndarray] = None
        self.found_ids: Optional[Tuple[np.ndarray, np.ndarray]] = None

    def text(self, data: bytes, line: int) -> str:
        """Return the unescaped value; raise DamagedError for an invalid escape."""
        try:
            return unescape(data)
        except ValueError as error:
            raise DamagedError(f"line {line}: {error}", self.path) from None

    def _repr_html_(self) -> str:
        columns = self.columns[:COLUMNS]
        rows = ((k, *(row[name] for name in columns)) for k, row in enumerate(self[:SHOWN]))
        hidden = [f"{count:,} more {noun}" for count, noun in ((len(self) - SHOWN, "rows"), (len(self.columns) - COLUMNS, "columns"))
                  if count > 0]
        facts = f"{len(self):,} rows, {len(self.columns)} columns{'; ' if hidden else ''}{', '.join(hidden)}"
        return notebook.page("bload.Sequences", self.path, facts, notebook.table(("", *columns), rows))

    @property
    def offsets(self) -> np.ndarray:
        """The offset of each row in the file, then the end of the file: I64 [rows + 1]."""
        if self.found_offsets is None:
            data = np.frombuffer(self.file.memory, np.uint8)
            if data[-1] != ord("\n"):
                raise DamagedError("truncated: it ends in the middle of a line", self.path)
            parts = [np.array([self.begin], np.int64)]
            for at in range(self.begin, self.file.size, SCANNED):
                self.file.look(SCANNED)
                parts.append(np.flatnonzero(data[at:at + SCANNED] == ord("\n")) + at + 1)
            self.found_offsets = np.concatenate(parts)
        return self.found_offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"<bload.Sequences {self.path}: {len(self)} rows of {', '.join(self.columns)}>"

    def split(self, line: bytes, row: int) -> List[bytes]:
        """Return the values of a row; raise DamagedError if there are more or fewer of them than columns."""
        values = line.split(b"\t")
        if len(values) != len(self.columns):
            raise DamagedError(f"line {row + 2} has {len(values)} values, expected {len(self.columns)}", self.path)
        return values

    def values(self, column: str) -> Iterator[str]:
        """Return an iterator over a column as strings, for all rows; raise SequenceError if there is no such column."""
        if column not in self.columns:
            raise SequenceError(f"no column \"{column}\": {', '.join(self.columns)}", self.path)
        place, rows, offsets = self.columns.index(column), len(self), self.offsets
        for first in range(0, rows, ROWS):
            end = min(first + ROWS, rows)
            lines = bytes(self.file.read(int(offsets[first]), int(offsets[end] - offsets[first]))).split(b"\n")
            for k, line in enumerate(lines[:-1]):
                yield self.text(self.split(line, first + k)[place], first + k + 2)

    def integers(self, column: str) -> np.ndarray:
        """Return a column as I64 [rows], -1 where it has no value; raise DamagedError if a value is not a number."""
        if column not in self.numbers:
            try:
                numbers = np.fromiter((int(text) if text else -1 for text in self.values(column)), np.int64, len(self))
            except (ValueError, OverflowError):
                raise DamagedError(f"column {column} has a value that is not a number", self.path) from None
            numbers.flags.writeable = False
            self.numbers[column] = numbers
        return self.numbers[column]

    def attribute(self, column: str) -> np.ndarray:
        """Return an attribute as I64 or F64 [rows], 0 or NaN where it has no value; raise DamagedError if a stored sequence has no number."""
        if column not in self.numbers:
            kind, nothing = (int, 0) if self.attributes[column] == "I64" else (float, np.nan)
            numbers = np.full(len(self), nothing, np.int64 if kind is int else np.float64)
            stored = self.values("status") if "status" in self.columns else itertools.repeat("ok")
            for row, (text, status) in enumerate(zip(self.values(column), stored)):
                try:
                    numbers[row] = kind(text) if text else nothing
                except (ValueError, OverflowError):
                    if status in ("ok", "failed"):
                        raise DamagedError(f"line {row + 2}: column {column} is not a number", self.path) from None
            numbers.flags.writeable = False
            self.numbers[column] = numbers
        return self.numbers[column]

    def absent(self, column: str) -> np.ndarray:
        """Return which rows have no value in a column of numbers: BOOL [rows]."""
        if column not in self.attributes:
            return np.asarray(self.integers(column) < 0)
        whole = self[column].dtype.kind == "i"
        return np.fromiter((not is_number(text, whole) for text in self.values(column)), np.bool_, len(self))

    def to_pandas(self) -> "pandas.DataFrame":
        """Return all rows and columns as a DataFrame, which is held in memory.

        Returns
        -------
        pandas.DataFrame
            The index is the row, the number that blocks have in "sequence". Columns that table["column"] gives as arrays are int64, or Int64
            where values are missing (pandas.NA), or float64 with NaN; the other columns are strings of dtype object, "" where the table has no
            value.

        Raises
        ------
        DependencyError
            pandas is not installed.
        DamagedError
            The file is damaged.
        """
        try:
            import pandas
        except ImportError:
            raise DependencyError("a DataFrame needs the package pandas: pip install 'bload[pandas]'") from None
        columns = {}
        for name in self.columns:
            values = self[name]
            if isinstance(values, list):
                # Do not use pandas' own strings: they cannot hold the surrogates of bytes that are not UTF-8.
                columns[name] = pandas.Series(values, dtype=object)
                continue
            absent = self.absent(name)
            if values.dtype.kind == "f":
                columns[name] = pandas.Series(np.where(absent, np.nan, values))
            else:
                columns[name] = pandas.Series(pandas.arrays.IntegerArray(values.copy(), absent) if absent.any() else values.copy())
        return pandas.DataFrame(columns)

    @overload
    def __getitem__(self, key: str) -> Any: ...

    @overload
    def __getitem__(self, key: SupportsIndex) -> Dict[str, str]: ...

    @overload
    def __getitem__(self, key: slice) -> List[Dict[str, str]]: ...

    def __getitem__(self, key: Union[str, SupportsIndex, slice]) -> Any:
        if isinstance(key, slice):
            return [self[row] for row in range(*key.indices(len(self)))]
        if not isinstance(key, str):
            return dict(zip(self.columns, self.row(integer("a table index must be an int, a slice or the name of a column", key))))
        if key in self.attributes:
            return self.attribute(key)
        if key.rpartition(".")[2] in ("length", "bytes"):
            return self.integers(key)
        return list(self.values(key))

    def __iter__(self) -> Iterator[Dict[str, str]]:
        return (self[row] for row in range(len(self)))

    def __contains__(self, name: object) -> bool:
        """Return whether there is a sequence with this id, stored or not; raise TypeError if the id is not a string."""
        return self.lookup(name) is not None

    def row(self, row: int) -> List[str]:
        """Return the values of a row as strings, by column; raise IndexError if there is no such row."""
        rows = len(self)
        if not -rows <= row < rows:
            raise IndexError(f"{self.path}: no row {row}: there are {rows}")
        row %= rows
        begin, end = int(self.offsets[row]), int(self.offsets[row + 1]) - 1
        return [self.text(value, row + 2) for value in self.split(bytes(self.file.read(begin, end - begin)), row)]

    def id(self, row: SupportsIndex) -> str:
        """Return the id of a row.

        Parameters
        ----------
        row : int
            The row; negative numbers count from the end.

        Raises
        ------
        IndexError
            There is no such row.
        """
        return self.row(integer("row must be an int", row))[self.columns.index("id")]

    def ids(self, rows: np.ndarray) -> List[str]:
        """Return the ids of a block's rows, I64 [n], as a list of n strings; "" for row -1."""
        self.check_rows(rows)
        there = np.flatnonzero(rows >= 0)
        found = rows[there]
        places = zip(there.tolist(), found.tolist(), self.offsets[found].tolist(), self.offsets[found + 1].tolist())
        column, memory = self.columns.index("id"), self.file.memory
        self.file.look(len(there) * mmap.PAGESIZE)
        ids = [""] * len(rows)
        for k, row, begin, end in places:
            line = memory[begin:end - 1]
            values = line.split(b"\t", column + 1)
            ids[k] = self.text(values[column] if column < len(values) else self.split(line, row)[column], row + 2)
        return ids

    def check_rows(self, rows: np.ndarray) -> None:
        """Raise DamagedError if a block or plan refers to a row that does not exist."""
        if rows.max(initial=-1) >= len(self):
            raise DamagedError(f"it has {len(self)} rows, but a block refers to row {rows.max()}", self.path)

    def find(self, name: str) -> int:
        """Return the row of the sequence with this id.

        Parameters
        ----------
        name : str
            The id.

        Returns
        -------
        int
            Its row, from 0.

        Raises
        ------
        SequenceError
            No sequence has this id. Also a KeyError.
        TypeError
            The id is not a string.
        """
        row = self.lookup(name)
        if row is None:
            like = f": ids look like {self.id(0)!r}" if len(self) > 0 else ""
            raise SequenceError(f"no sequence has the id {str(name)!r}{like}", self.path)
        return row

    def lookup(self, name: object) -> Optional[int]:
        """Return the row of the sequence with this id, or None; raise TypeError if the id is not a string."""
        if not isinstance(name, str):
            raise TypeError(f"the id of a sequence must be a str, not {kind(name)}")
        if self.found_ids is None:
            hashes = np.fromiter(map(hash, self.values("id")), np.int64, len(self))
            order = np.argsort(hashes, kind="stable")
            self.found_ids = hashes[order], order
        hashes, order = self.found_ids
        at = int(np.searchsorted(hashes, hash(name)))
        while at < len(hashes) and hashes[at] == hash(name):
            if self.id(int(order[at])) == name:
                return int(order[at])
            at += 1
        return None


class JoinedSequences(Sequences):
    """The tables of a view's sources, one after the other; a column that a source lacks is empty there."""

    def __init__(self, path: str, tables: List[Tuple[Source, Sequences]], numbers: Dict[str, np.ndarray], renamed: Optional[np.ndarray]):
        self.path = path
        self.tables = tables
        self.first = np.array([source.first_row for source, _ in tables])
        self.renamed = np.zeros(0, np.int64) if renamed is None else renamed
        names = dict.fromkeys(name for _, table in tables for name in table.columns)
        self.columns = (*names, *(name for name in numbers if name not in names))
        self.attributes = dict.fromkeys(numbers, "")
        self.numbers = dict(numbers)
        self.found_ids = None
        self.counted = [False] * len(tables)

    def __len__(self) -> int:
        return sum(source.rows for source, _ in self.tables)

    def table(self, k: int) -> Sequences:
        """Return the table of a source; raise DamagedError if the view says another number of rows."""
        source, table = self.tables[k]
        if not self.counted[k] and len(table) != source.rows:
            raise DamagedError(f"it has {len(table)} rows, but the view {self.path} says {source.rows}", table.path)
        self.counted[k] = True
        return table

    def names(self, k: int, rows: np.ndarray, ids: Iterable[str]) -> Iterator[str]:
        """Return the ids in the view of rows of source k; those that several sources share get the prefix NAME/."""
        there = np.searchsorted(self.renamed, rows)
        renamed = np.zeros(len(rows), np.bool_)
        inside = there < len(self.renamed)
        renamed[inside] = self.renamed[there[inside]] == rows[inside]
        prefix = self.tables[k][0].name + "/"
        return (prefix + name if other else name for name, other in zip(ids, renamed.tolist()))

    def values(self, column: str) -> Iterator[str]:
        if column not in self.columns:
            raise SequenceError(f"no column \"{column}\": {', '.join(self.columns)}", self.path)
        for k, (source, _) in enumerate(self.tables):
            table = self.table(k)
            values = table.values(column) if column in table.columns else itertools.repeat("", source.rows)
            for first in range(source.first_row, source.first_row + source.rows, ROWS):
                rows = np.arange(first, min(first + ROWS, source.first_row + source.rows))
                some = itertools.islice(values, len(rows))
                yield from self.names(k, rows, some) if column == "id" else some

    def attribute(self, column: str) -> np.ndarray:
        return self.numbers[column]

    def absent(self, column: str) -> np.ndarray:
        if any(column in table.columns for _, table in self.tables):
            return super().absent(column)
        return np.zeros(len(self), np.bool_)  # an attribute of the view itself: every row has a number

    def row(self, row: int) -> List[str]:
        rows = len(self)
        if not -rows <= row < rows:
            raise IndexError(f"{self.path}: no row {row}: there are {rows}")
        row %= rows
        k = int(np.searchsorted(self.first, row, "right")) - 1
        table = self.table(k)
        values = {name: str(self.numbers[name][row]) for name in self.attributes}
        values.update(zip(table.columns, table.row(row - int(self.first[k]))))
        values["id"], = self.names(k, np.array([row]), [values["id"]])
        return [values.get(name, "") for name in self.columns]

    def ids(self, rows: np.ndarray) -> List[str]:
        self.check_rows(rows)
        ids = [""] * len(rows)
        source = np.searchsorted(self.first, rows, "right") - 1
        for k in np.unique(source[rows >= 0]).tolist():
            here = np.flatnonzero((source == k) & (rows >= 0))
            found = self.table(k).ids(rows[here] - self.first[k])
            for place, name in zip(here.tolist(), self.names(k, rows[here], found)):
                ids[place] = name
        return ids
