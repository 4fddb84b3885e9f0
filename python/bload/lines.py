"""Inputs of JSON lines, plain or as gzip, in pieces for workers."""
from __future__ import annotations

import gzip
import sys
import zlib
from typing import Any, Iterator, List, NamedTuple

CHUNK = 64 << 10        # bytes of input that a worker gets at once
LONGEST = 256 << 20     # bytes of a line, as in bload pack


class Line(NamedTuple):
    """A line of an input: where it is, counted from 1 and in bytes of the decompressed text. fault: why there is no text."""

    path: str
    number: int
    offset: int
    text: bytes
    fault: str = ""


def lines(path: str) -> Iterator[Line]:
    """The lines of a file, or of standard input for -, that are not blank. gzip is decompressed."""
    source: Any = sys.stdin.buffer if path == "-" else open(path, "rb")
    with source as plain:
        file: Any = gzip.GzipFile(fileobj=plain) if plain.peek(2)[:2] == b"\x1f\x8b" else plain
        number = offset = 0
        while True:
            number += 1
            try:
                text = file.readline(LONGEST + 1)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                yield Line(path, number, offset, b"", f"the compressed data are damaged, and what follows is lost: {error}")
                return
            if not text:
                return
            if len(text) > LONGEST:
                size, last = len(text), text
                while last and not last.endswith(b"\n"):
                    last = file.readline(CHUNK)
                    size += len(last)
                yield Line(path, number, offset, b"", f"a line of {size} bytes: the most is {LONGEST}")
                offset += size
                continue
            if text.strip():
                yield Line(path, number, offset, text)
            offset += len(text)


def chunks(paths: List[str]) -> Iterator[List[Line]]:
    """The lines of all files, in order, as many at once as a worker gets."""
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
