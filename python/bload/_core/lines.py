"""Read rows of JSON in chunks for workers: JSON Lines, an array of objects, or CSV; plain, or compressed by gzip or zstd."""
from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
import zlib
from typing import Any, BinaryIO, Iterator, List, NamedTuple, Optional

from .errors import DependencyError

CHUNK = 64 << 10        # bytes of input per chunk for a worker
LONGEST = 256 << 20     # the most bytes of a row, as in bload pack
PIECE = 1 << 20         # bytes of an array to read at a time
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# Strings and brackets, which determine the end of an object. A single quote begins a string whose end is not read yet.
TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|"|[\[\]{}]', re.DOTALL)
DAMAGED = "the compressed data are damaged, and the rest is lost"


class Line(NamedTuple):
    """A row of an input. number, offset: its line, from 1, and its byte in the decompressed text. fault: why there is no text."""

    path: str
    number: int
    offset: int
    text: bytes
    fault: str = ""


class Zstd(io.RawIOBase):
    """The content of a stream of zstd frames. Reading raises EOFError if the last frame is truncated."""

    def __init__(self, source: BinaryIO):
        try:
            import zstandard
        except ImportError:
            raise DependencyError("the input is compressed by zstd: pip install zstandard") from None
        self.source, self.make = source, zstandard.ZstdDecompressor().decompressobj
        self.frame: Any = None
        self.rest = b""         # compressed bytes after the end of a frame
        self.ready = b""        # decompressed bytes that do not fit into the reader's buffer

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        import zstandard

        while not self.ready:
            given = self.rest or self.source.read(CHUNK)
            self.rest = b""
            if not given:
                if self.frame:
                    raise EOFError("it ends within a frame")
                return 0
            self.frame = self.frame or self.make()
            try:
                self.ready = self.frame.decompress(given)
            except zstandard.ZstdError as error:
                raise EOFError(error) from None
            if self.frame.eof:
                self.rest, self.frame = self.frame.unused_data, None
        size = min(len(into), len(self.ready))
        into[:size], self.ready = self.ready[:size], self.ready[size:]
        return size


def decompressed(plain: Any) -> Any:
    """Return the file, decompressed if it begins as gzip or zstd do."""
    head = plain.peek(4)[:4]
    if head[:2] == GZIP:
        return gzip.GzipFile(fileobj=plain)
    return io.BufferedReader(Zstd(plain), CHUNK) if head == ZSTD else plain


def lines(path: str) -> Iterator[Line]:
    """Yield the rows of a file, or of standard input for -, except blank ones."""
    source: Any = sys.stdin.buffer if path == "-" else open(path, "rb")
    name = re.sub(r"\.(gz|zst)$", "", path)
    with source as plain:
        file = decompressed(plain)
        if name.endswith(".csv"):
            yield from csv_rows(path, file)
            return
        buffered = file if hasattr(file, "peek") else io.BufferedReader(file)
        is_array = False
        if not name.endswith((".jsonl", ".ndjson")):
            try:
                is_array = buffered.peek(CHUNK).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["
            except (EOFError, zlib.error, gzip.BadGzipFile):
                pass            # the reader below reports the damage
        yield from (json_array if is_array else json_lines)(path, buffered)


def json_lines(path: str, file: Any) -> Iterator[Line]:
    """Yield the rows of JSON Lines."""
    number = offset = 0
    while True:
        number += 1
        try:
            text = file.readline(LONGEST + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield Line(path, number, offset, b"", f"{DAMAGED}: {error}")
            return
        if not text:
            return
        if len(text) > LONGEST:
            size, last = len(text), text
            while last and not last.endswith(b"\n"):
                last = file.readline(CHUNK)
                size += len(last)
            yield Line(path, number, offset, b"", f"a line of {size} bytes, more than the limit of {LONGEST}")
            offset += size
            continue
        if text.strip():
            yield Line(path, number, offset, text)
        offset += len(text)


def pieces(file: Any) -> Iterator[bytes]:
    """Yield the content, at least PIECE bytes at a time, then b"". The content before damage is yielded before the exception."""
    parts: List[bytes] = []
    more = b"-"
    try:
        while more:
            more = file.read1(PIECE)
            parts.append(more)
            if sum(map(len, parts)) >= PIECE:
                yield b"".join(parts)
                parts = []
    except (EOFError, zlib.error, gzip.BadGzipFile):
        yield b"".join(parts) or b"\n"
        raise
    yield from filter(None, [b"".join(parts)])
    yield b""


def json_array(path: str, file: Any) -> Iterator[Line]:
    """Yield the objects of one JSON array, which may span any number of lines."""
    source = pieces(file)
    text, base, line = b"", 0, 1        # bytes that are not parsed yet, and the offset and line of the first one
    at = depth = 0                      # the end of the searched part of `text`, and how many brackets are open there
    begin = -1                          # the start of the open object, or -1
    while True:
        try:
            more = next(source)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield Line(path, line, base, b"", f"{DAMAGED}: {error}")
            return
        text += more
        for match in TOKEN.finditer(text, at):
            token, between = match.group(), text[at:match.start()] if begin < 0 else b""
            if token == b'"':
                break
            at = match.end()
            depth += (token in b"[{") - (token in b"]}") if len(token) == 1 else 0
            if between.strip(b" \t\r\n,\xef\xbb\xbf"):
                depth = -1
            if token == b"{" and depth == 2:
                begin = match.start()
            elif token == b"}" and depth == 1 and begin >= 0:
                yield Line(path, line + text.count(b"\n", 0, begin), base + begin, text[begin:at])
                begin = -1
            elif depth == 0:
                if text[at:].strip() or next(source, b"").strip():
                    yield Line(path, line + text.count(b"\n", 0, at), base + at, b"",
                               "text after the end of the array: if this is JSON Lines, name the file .jsonl")
                return
            elif begin < 0 and (depth != 1 or len(token) > 1):
                yield Line(path, line + text.count(b"\n", 0, at), base + at, b"", "the array has elements that are not objects")
                return
        if not more or len(text) > LONGEST + PIECE:
            why = "the array has no end: the rest is lost" if not more else f"an object of more than {LONGEST} bytes"
            yield Line(path, line + text.count(b"\n", 0, max(begin, 0)), base + max(begin, 0), b"", why)
            return
        used = begin if begin >= 0 else at
        line, base, text, at = line + text.count(b"\n", 0, used), base + used, text[used:], at - used
        begin = min(begin, 0)


def csv_rows(path: str, file: Any) -> Iterator[Line]:
    """Yield the rows of CSV whose first line has the keys, as JSON. An empty cell counts as a missing value."""
    number = offset = 0                                     # the lines and bytes that the CSV reader consumed

    def decoded() -> Iterator[str]:
        """Yield the lines as text, and count them and their bytes."""
        nonlocal number, offset
        for text in file:
            number, offset = number + 1, offset + len(text)
            yield text.decode("utf-8-sig" if number == 1 else "utf-8")

    csv.field_size_limit(LONGEST)
    reader = csv.reader(decoded(), strict=True)
    keys: Optional[List[str]] = None
    first, begin = 1, 0
    try:
        for row in reader:
            if keys is None:
                keys = row
            elif len(row) not in (0, len(keys)):
                yield Line(path, first, begin, b"", f"a row of {len(row)} cells, but {len(keys)} columns")
            elif row:
                cells = {key: cell for key, cell in zip(keys, row) if cell}
                yield Line(path, first, begin, json.dumps(cells).encode())
            first, begin = number + 1, offset
    except UnicodeDecodeError as error:
        yield Line(path, number, begin, b"", f"not UTF-8 at byte {error.start}, and the rest is lost")
    except csv.Error as error:
        yield Line(path, first, begin, b"", f"not CSV, and the rest is lost: {error}")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield Line(path, number + 1, offset, b"", f"{DAMAGED}: {error}")


def chunks(paths: List[str]) -> Iterator[List[Line]]:
    """Yield the rows of all files in order, in chunks of CHUNK bytes, one for a worker at a time."""
    chunk: List[Line] = []
    size = 0
    for path in paths:
        for line in lines(path):
            chunk.append(line)
            size += len(line.text)
            if size >= CHUNK:
                yield chunk
                chunk, size = [], 0
    if chunk:
        yield chunk
