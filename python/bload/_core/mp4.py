"""Read when the frames of an MP4 file are shown, from its tables alone (ISO/IEC 14496-12)."""
from __future__ import annotations

import io
import os
import struct
from typing import BinaryIO, Dict, Iterator, List, Tuple

import numpy as np

from .errors import DamagedError, FormatError, MissingError
from .mapping import open_regular

TABLES_MAX = 1 << 28  # bytes
FRAMES_MAX = 1 << 24


def boxes(data: bytes) -> Iterator[Tuple[bytes, bytes]]:
    """Yield the boxes inside a box, their types and contents; raise ValueError if damaged."""
    at = 0
    while at + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        head = 8
        if size == 1 and at + 16 <= len(data):
            (size,), head = struct.unpack_from(">Q", data, at + 8), 16
        if size == 0:
            size = len(data) - at
        if size < head or size > len(data) - at:
            raise ValueError(f"a box {kind!r} of {size} bytes")
        yield kind, data[at + head:at + size]
        at += size


def children(data: bytes) -> Dict[bytes, bytes]:
    """Return the first box of each type."""
    found: Dict[bytes, bytes] = {}
    for kind, content in boxes(data):
        found.setdefault(kind, content)
    return found


def read_tables(file: BinaryIO) -> bytes:
    """Return the content of the box moov; raise ValueError if there is none."""
    end = file.seek(0, os.SEEK_END)
    at = 0
    while at + 8 <= end:
        file.seek(at)
        header = file.read(16)
        size, kind = struct.unpack_from(">I4s", header)
        head = 8
        if size == 1 and len(header) == 16:
            (size,), head = struct.unpack_from(">Q", header, 8), 16
        size = size or end - at
        if size < head or size > end - at:
            raise ValueError(f"a box {kind!r} of {size} bytes at byte {at}, but the file has {end} bytes: it is truncated or damaged")
        if kind == b"moov":
            if size > TABLES_MAX:
                raise ValueError(f"tables of {size} bytes")
            file.seek(at + head)
            return file.read(size - head)
        at += size
    raise ValueError("no tables (moov): it is truncated, or not an MP4 file")


def runs(table: bytes, dtype: str) -> np.ndarray:
    """Return the values of a run-length table, I64; raise ValueError if it is damaged, or has too many."""
    count = struct.unpack_from(">I", table, 4)[0]
    if len(table) < 8 + 8 * count:
        raise ValueError("a table is cut off")
    pairs = np.frombuffer(table, np.dtype([("times", ">u4"), ("value", dtype)]), count, 8)
    if int(pairs["times"].astype(np.int64).sum()) > FRAMES_MAX:
        raise ValueError(f"more than {FRAMES_MAX} frames")
    return np.repeat(pairs["value"].astype(np.int64), pairs["times"])


def edits(track: Dict[bytes, bytes]) -> List[Tuple[int, int]]:
    """Return the edit list: the duration of each edit in the file's clock, and its start in the track's clock; -1: nothing is shown."""
    table = children(track.get(b"edts", b"")).get(b"elst")
    if table is None:
        return []
    count = struct.unpack_from(">I", table, 4)[0]
    form = struct.Struct(">Qq4x" if table[0] else ">Ii4x")
    if len(table) != 8 + form.size * count:
        raise ValueError("the edit list is cut off")
    return list(form.iter_unpack(table[8:]))


def track_times(movie: Dict[bytes, bytes], track: Dict[bytes, bytes], media: Dict[bytes, bytes]) -> np.ndarray:
    """Return when each frame that the edit list shows begins, F64 seconds, in order; raise ValueError if damaged or of an unsupported form."""
    at = {0: 12, 1: 20}[media[b"mdhd"][0]]
    clock = struct.unpack_from(">I", media[b"mdhd"], at)[0]
    movie_clock = struct.unpack_from(">I", movie[b"mvhd"], {0: 12, 1: 20}[movie[b"mvhd"][0]])[0]
    tables = children(children(media[b"minf"])[b"stbl"])
    frames = struct.unpack_from(">I", tables[b"stsz"] if b"stsz" in tables else tables[b"stz2"], 8)[0]
    lasts = runs(tables[b"stts"], ">u4")
    if len(lasts) != frames:
        raise ValueError(f"sizes of {frames} frames, but times of {len(lasts)}")
    if not frames or not clock or not movie_clock:
        raise ValueError("no frames: the file may be fragmented")
    times = np.concatenate(([0], np.cumsum(lasts)[:-1]))
    if b"ctts" in tables:
        shifts = runs(tables[b"ctts"], ">i4")
        if len(shifts) != frames:
            raise ValueError(f"{frames} frames, but shifts of {len(shifts)}")
        times += shifts
    times.sort()
    parts = edits(track)
    delay = parts.pop(0)[0] / movie_clock if parts and parts[0][1] == -1 else 0.0
    if len(parts) > 1 or any(start < 0 for _, start in parts):
        raise ValueError("an edit list of several parts")
    for duration, start in parts:
        end = start + (2 * duration * clock + movie_clock) // (2 * movie_clock)
        times = times[(times >= start) & (times < end if duration else True)] - start
    seconds: np.ndarray = times / clock + delay
    return seconds


def frame_times(path: str) -> np.ndarray:
    """Return when the frames of the first video track are shown, F64 seconds, in this order.

    Raises MissingError if there is no such file, DamagedError if its tables are damaged, and FormatError without a video track.
    """
    try:
        with io.BufferedReader(open_regular(path)) as file:
            movie = read_tables(file)
        parts = children(movie)
        for kind, content in boxes(movie):
            track = children(content) if kind == b"trak" else {}
            media = children(track.get(b"mdia", b""))
            if media.get(b"hdlr", b"")[8:12] == b"vide":
                return track_times(parts, track, media)
    except FileNotFoundError:
        raise MissingError("the video is missing", path) from None
    except (ValueError, struct.error, IndexError, KeyError) as error:
        raise DamagedError(f"the tables of the video cannot be read: {error}; ffmpeg -i {os.path.basename(path)} -c copy NEW.mp4 may "
                           "repair them", path) from None
    raise FormatError("no video track", path)
