"""Read chats with media: rows of JSON or CSV, rows of Parquet with the bytes of pictures, and samples of WebDataset's tars."""
from __future__ import annotations

import itertools
import json
import os
import tarfile
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .errors import DependencyError
from .lines import lines

PARQUET, TAR = (".parquet",), (".tar", ".tar.gz", ".tgz")
BATCH = 16  # rows of Parquet to read at a time


class Sample(NamedTuple):
    """A row of an input.

    path: the input. number: the row's line, or its number among the rows, from 1. text: the row as JSON, unless keys has it. members: the files
    of a sample in a tar, by the part of their name behind the key. fault: why there is no row.
    """
    path: str
    number: int
    text: bytes = b""
    keys: Optional[Dict[str, Any]] = None
    members: Optional[Dict[str, bytes]] = None
    fault: str = ""


def samples(path: str) -> Iterator[Sample]:
    """Yield the rows of a file. Raises OSError if it cannot be read, and DependencyError if Parquet needs pyarrow."""
    if path.endswith(PARQUET):
        yield from parquet(path)
    elif path.endswith(TAR):
        yield from archive(path)
    else:
        for line in lines(path):
            yield Sample(path, line.number, line.text, fault=line.fault)


def parquet(path: str) -> Iterator[Sample]:
    """Yield the rows of a Parquet file."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DependencyError("Parquet needs pyarrow: pip install 'bload[parquet]'", path) from None
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield Sample(path, number, keys=row)
    except (pyarrow.ArrowException, ValueError) as error:
        yield Sample(path, number + 1, fault=f"the file is damaged, and the rest is lost: {error}")


def archive(path: str) -> Iterator[Sample]:
    """Yield the samples of a tar: consecutive members whose names agree up to the first dot of the last part."""
    number, last = 0, ""
    members: Dict[str, bytes] = {}
    try:
        with tarfile.open(path, "r|*") as file:
            for member in file:
                if not member.isfile() or os.path.basename(member.name).startswith("."):
                    continue
                key, name = divided(member.name)
                if key != last and members:
                    number += 1
                    yield sample_of(path, number, last, members)
                    members = {}
                last = key
                opened = file.extractfile(member)
                assert opened is not None
                members[name] = opened.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        yield Sample(path, number + 1, fault=f"the tar is damaged, and the rest is lost: {error}")
        return
    if members:
        yield sample_of(path, number + 1, last, members)


def divided(name: str) -> Tuple[str, str]:
    """Return the key of a member and the rest of its name."""
    folder, base = os.path.split(name)
    key, _, rest = base.partition(".")
    return os.path.join(folder, key), rest


def sample_of(path: str, number: int, key: str, members: Dict[str, bytes]) -> Sample:
    """Return the sample of a key: its member json has the chat, as an object or as a list of messages."""
    names = [name for name in members if name == "json" or name.endswith(".json")]
    if len(names) != 1:
        return Sample(path, number, fault=f"the sample {key} has {len(names)} members that are JSON; one must have the chat")
    text = members.pop(names[0])
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Sample(path, number, fault=f"{key}.{names[0]} is not JSON: {error}")
    keys = {"conversations": found} if isinstance(found, list) else found
    if not isinstance(keys, dict):
        return Sample(path, number, fault=f"{key}.{names[0]} is neither an object nor a list of messages")
    keys.setdefault("id", key)
    return Sample(path, number, keys=keys, members=members)


def all_samples(paths: List[str], done: List[int], together: int = 1) -> Iterator[List[Tuple[int, Sample]]]:
    """Yield the rows of all files in order, each with the number of its file, `together` at a time. done: how many of each file to leave out."""
    found = ((number, sample) for number, path in enumerate(paths) for sample in itertools.islice(samples(path), done[number], None))
    while True:
        some = list(itertools.islice(found, together))
        if not some:
            return
        yield some
