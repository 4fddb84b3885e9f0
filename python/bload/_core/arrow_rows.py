"""Convert the rows of several Arrow files in order, by several threads, after choosing columns and comparing the files."""
from __future__ import annotations

import collections
import queue
import re
import threading
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from . import arrow_json
from .arrow_files import ArrowFile, Group
from .errors import Error, OptionError

NAMED = 10    # how many skipped rows are named; all are counted
AHEAD = 8     # how many results of each group may wait for the consumer

Result = TypeVar("Result")


class Choice(NamedTuple):
    """The columns to read, the keys whose nulls skip a row, and the kind of each column in JSON."""
    columns: List[str]
    keys: List[str]
    kinds: Dict[str, str]


class Lines(NamedTuple):
    """Rows of a batch as lines of JSON.

    skipped: the reason and number of the first rows that were left out, counted from 0 in their file. lost: how many were left out, by
    reason. nulls: how many other values are null, by column.
    """
    data: bytes
    rows: int
    skipped: List[Tuple[str, int]]
    lost: Dict[str, int]
    nulls: Dict[str, int]


def split_names(option: str, given: Optional[str]) -> Optional[List[str]]:
    """Return the names of a list with commas; raise OptionError if one is empty or occurs twice."""
    if given is None:
        return None
    names = given.split(",")
    if "" in names or len(set(names)) < len(names):
        raise OptionError(f"{option} {given}: a name is empty or occurs twice")
    return names


def kinds_of(file: ArrowFile, columns: List[str], kind_of: Callable[[Any], str]) -> Dict[str, str]:
    """Return the kind of each column; raise OptionError if a column is missing or occurs twice, and Error if kind_of refuses it."""
    kinds = {}
    for name in columns:
        places = file.schema.get_all_field_indices(name)
        if len(places) != 1:
            there = ", ".join(dict.fromkeys(file.schema.names))
            raise OptionError(f"column \"{name}\" occurs twice" if places else f"no column \"{name}\"; the columns are: {there}", file.path)
        try:
            kinds[name] = kind_of(file.schema.field(places[0]).type)
        except Error as error:
            raise Error(f"column \"{name}\": {error.fault}; choose other columns with --columns", file.path) from None
    return kinds


def same_kind(one: str, other: str) -> bool:
    """Return whether two kinds agree. "any", the kind of a column of nulls, agrees with all."""
    return any(re.fullmatch(re.escape(known).replace("any", ".*"), kind) for known, kind in ((one, other), (other, one)))


def choose(files: List[ArrowFile], columns: Optional[List[str]], keys: Optional[List[str]],
           kind_of: Callable[[Any], str] = arrow_json.json_kind) -> Choice:
    """Return the columns to read; by default all of the first file. `keys` are by default "text", or the first of the given columns.

    Raises OptionError if a column or key is missing, and Error for a type that JSON lacks, or if two files differ.
    """
    names = columns or list(files[0].schema.names)
    kinds = kinds_of(files[0], names, kind_of)
    for file in files[1:]:
        differ(files[0], file, kinds, kinds_of(file, columns or list(file.schema.names), kind_of))
    if keys is None:
        keys = ["text"] if "text" in names else names[:1] if columns else []
    for key in keys:
        if key not in names and key.split(".")[0] not in names:
            raise OptionError(f"no column \"{key}\"; the columns that are read are: {', '.join(names)}", files[0].path)
    return Choice(names, keys, kinds)


def differ(first: ArrowFile, file: ArrowFile, kinds: Dict[str, str], own: Dict[str, str]) -> None:
    """Raise Error if the columns of two files differ."""
    for name in {**kinds, **own}:
        one, other = kinds.get(name), own.get(name)
        if one is None or other is None or not same_kind(one, other):
            raise Error(f"column \"{name}\": {other or 'missing'}, but {one or 'missing'} in {first.path}; choose other columns with --columns",
                        file.path)


def key_nulls(batch: Any, keys: List[str]) -> Tuple[Optional[Any], List[Tuple[str, Any]]]:
    """Return which rows have all keys, or None for all; and for each key that is null somewhere, the reason and the other rows it skips."""
    sound: Optional[Any] = None
    missing = []
    for key in keys:
        values = arrow_json.key_values(batch, key)
        if values.null_count == 0:
            continue
        null = pc.is_null(values)
        missing.append((f"\"{key}\" is null", null if sound is None else pc.and_(null, sound)))
        sound = pc.invert(null) if sound is None else pc.and_not(sound, null)
    return sound, missing


def lines_of(batch: Any, first: int, choice: Choice) -> Lines:
    """Return a batch as lines; `first` is the number of its first row in the file."""
    sound, missing = key_nulls(batch, choice.keys)
    skipped = [(reason, first + row) for reason, null in missing for row in pc.indices_nonzero(null)[:NAMED].to_pylist()]
    lost = {reason: pc.sum(null).as_py() or 0 for reason, null in missing}
    if sound is not None:
        batch = batch.filter(sound)
    nulls = {name: column.null_count for name, column in zip(batch.schema.names, batch.columns) if column.null_count}
    return Lines(arrow_json.encode(batch), batch.num_rows, sorted(skipped, key=lambda one: one[1]), lost, nulls)


def lines(group: Group, choice: Choice) -> Iterator[Lines]:
    """Yield the rows of a group as lines, in batches; raise Error if they cannot be read, or contain binary data as text."""
    first = group.first
    for batch in group.batches(choice.columns):
        try:
            yield lines_of(batch, first, choice)
        except pa.ArrowException as error:
            raise Error(f"rows {first} to {first + batch.num_rows - 1} cannot be converted: {error}", group.name) from None
        except Error as error:
            raise Error(f"rows {first} to {first + batch.num_rows - 1}: {error.fault}", group.name) from None
        first += batch.num_rows


def ordered(groups: Iterable[Group], work: Callable[[Group], Iterator[Result]], jobs: int) -> Iterator[Tuple[Group, Result]]:
    """Yield the results of `work` for each group, in the order of the groups, with `jobs` groups processed at a time by a thread each.

    A thread waits while AHEAD of its results are not taken. The first error in the order of the groups is raised.
    """
    stop = threading.Event()

    def put(out: "queue.Queue[Any]", result: Any) -> None:
        """Queue a result, unless the consumer stops."""
        while not stop.is_set():
            try:
                out.put(result, timeout=0.1)
                return
            except queue.Full:
                pass

    def produce(group: Group, out: "queue.Queue[Any]") -> None:
        """Queue the results of a group, then the end or the error."""
        try:
            for result in work(group):
                put(out, (result, None))
                if stop.is_set():
                    return
            put(out, (None, StopIteration()))
        except Exception as error:
            put(out, (None, error))

    left = iter(groups)
    running: "collections.deque[Tuple[Group, Any, threading.Thread]]" = collections.deque()
    try:
        while True:
            for group in left:
                out: "queue.Queue[Any]" = queue.Queue(AHEAD)
                thread = threading.Thread(target=produce, args=(group, out), daemon=True)
                running.append((group, out, thread))
                thread.start()
                if len(running) >= jobs:
                    break
            if not running:
                return
            group, out, thread = running[0]
            result, error = out.get()
            while error is None:
                yield group, result
                result, error = out.get()
            if not isinstance(error, StopIteration):
                raise error
            running.popleft()
            thread.join()
    finally:
        stop.set()
        for _, _, thread in running:
            thread.join()
