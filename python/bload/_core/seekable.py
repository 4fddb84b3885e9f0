"""Compressed shards: ordinary zstd frames, followed by a table of their sizes.

Only the frames that are needed are decompressed, and the last few frames of which a part was needed are kept.

frame... | u32 0x184D2A5E | u32 size | n * {u32 compressed, u32 content, u32 low half of XXH64(content)} | u32 n | u8 0x80 | u32 0x8F92EAB1
(https://github.com/facebook/zstd/tree/dev/contrib/seekable_format)
"""
from __future__ import annotations

import math
import struct
from bisect import bisect_right
from collections import OrderedDict
from typing import Callable, List, Optional, Sequence, Tuple

import numpy as np

from . import checksum
from .errors import DamagedError, DependencyError
from .manifest import FRAME_MAX
from .mapping import Buffer, Bytes, MappedFile, Steps, array_of

try:
    import zstandard
except ImportError:
    zstandard = None  # type: ignore[assignment]

HEAD, ENTRY, FOOTER = 8, 12, 9
NOTHING = memoryview(b"")
SKIPPABLE, SEEKABLE, CHECKSUMS = 0x184D2A5E, 0x8F92EAB1, 0x80


def can_decompress(path: str) -> None:
    """Raise DependencyError if zstandard is not installed."""
    if zstandard is None:
        raise DependencyError("the dataset is compressed: pip install zstandard", path)


def table_size(tail: Bytes) -> int:
    """Return the size of the table at the end of a file, from its last bytes; a huge number if they are not a table."""
    frames, descriptor, magic = struct.unpack("<IBI", tail[-FOOTER:])
    return HEAD + frames * ENTRY + FOOTER if (magic, descriptor) == (SEEKABLE, CHECKSUMS) else 1 << 62


def read_table(read: Callable[[int, int], Bytes], size: int, path: str) -> Tuple[List[int], List[int]]:
    """Return offset and content, [frames + 1] each: where each frame begins in a file of size bytes and in the content, then the ends.

    read(offset, size) returns bytes of the file. Raises DamagedError if the table is damaged.
    """
    if size < HEAD + FOOTER:
        raise DamagedError("too short for a compressed shard", path)
    table = table_size(read(size - FOOTER, FOOTER))
    frames = (table - HEAD - FOOTER) // ENTRY
    if table > size:
        raise DamagedError("no seek table at the end: truncated or altered", path)
    data = read(size - table, table)
    if struct.unpack("<II", data[:HEAD]) != (SKIPPABLE, table - HEAD):
        raise DamagedError("its seek table is damaged", path)
    entries = np.frombuffer(data, "<u4", frames * 3, HEAD).reshape(frames, 3).astype(np.int64)
    offset: List[int] = [0, *np.cumsum(entries[:, 0]).tolist()]
    content: List[int] = [0, *np.cumsum(entries[:, 1]).tolist()]
    if offset[-1] != size - table or (entries[:, 1] > FRAME_MAX).any():
        raise DamagedError("its seek table has invalid sizes", path)
    return offset, content


def decompress_into(data: Bytes, out: Buffer) -> Optional[str]:
    """Decompress a frame to out, U8 [size of its content], and return what is wrong with it, or None. zstd verifies its checksum."""
    try:
        # Check the size first, because the decompressor trusts any size.
        if zstandard.frame_content_size(data) != len(out):
            return "the size of {} differs from the seek table"
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            count = reader.readinto(out) if len(out) else 0
            # zstd verifies the checksum only on a read after the content.
            count += len(reader.read(1))
    except zstandard.ZstdError as error:
        return f"cannot decompress {{}}: {error}"
    return None if count == len(out) else f"{{}} has {count} bytes, expected {len(out)}"


class Frames:
    """The last decompressed frames of which only a part was used, at most `most`.

    Any number of threads can use it. It has no lock, so two threads may decompress the same frame.
    """

    def __init__(self, most: int):
        self.most = most
        self.kept: "OrderedDict[Tuple[str, int], np.ndarray]" = OrderedDict()

    def get(self, file: "SeekableFile", i: int) -> np.ndarray:
        """Return the content of a frame, U8 [n], which must not be written to."""
        def make() -> np.ndarray:
            """Decompress the frame."""
            frame = np.empty(file.content[i + 1] - file.content[i], np.uint8)
            file.decompress(i, frame)
            return frame
        return self.keep((file.path, i), make)

    def keep(self, key: Tuple[str, int], make: Callable[[], np.ndarray]) -> np.ndarray:
        """Return what is kept for a key, or what `make` returns."""
        frame = self.kept.pop(key, None)
        if frame is None:
            frame = make()
        self.kept[key] = frame
        while len(self.kept) > self.most:
            try:
                self.kept.popitem(last=False)
            except KeyError:
                break
        return frame


class SeekableFile:
    """Random access to the content of a file in the seekable zstd format. Any number of threads can read.

    frames: keeps what was decompressed; by default nothing is kept.

    Raises DependencyError if zstandard is not installed, and DamagedError if the file is truncated or altered.
    """

    def __init__(self, file: MappedFile, frames: Optional[Frames] = None):
        self.path, self.file = file.path, file
        can_decompress(self.path)
        self.frames = frames or Frames(0)
        self.offset, self.content = read_table(self.file.read, self.file.size, self.path)
        self.size = self.content[-1]

    def prepare(self, offset: int, size: int) -> None:
        """Fetch the frames that contain size bytes of content from offset on."""
        self.file.prepare(*self.place(offset, size))

    def ready(self, offset: int, size: int) -> bool:
        """Return whether the frames that contain size bytes of content from offset on are here."""
        return self.file.ready(*self.place(offset, size))

    def place(self, offset: int, size: int) -> Tuple[int, int]:
        """Return where the frames begin that contain size bytes of content from offset on, and their bytes; 0 if there is no such content."""
        if size <= 0 or offset + size > self.size:
            return 0, 0
        first, last = bisect_right(self.content, offset) - 1, bisect_right(self.content, offset + size - 1) - 1
        return self.offset[first], self.offset[last + 1] - self.offset[first]

    def checksums(self) -> List[int]:
        """Return the checksum of the bytes of each frame, then that of the bytes after the last one."""
        ends = [*self.offset, self.file.size]
        return [checksum.xxh3(self.file.read(begin, end - begin)) for begin, end in zip(ends, ends[1:])]

    def decompress(self, i: int, out: Buffer) -> None:
        """Decompress frame i to out, U8 [size of its content], which verifies its checksum; raise DamagedError if it is damaged."""
        offset = self.offset[i]
        data = self.file.read(offset, self.offset[i + 1] - offset)
        fault = decompress_into(data, out)
        if fault is not None:
            raise DamagedError(fault.format(f"frame {i}"), self.path)

    def fill(self, offset: int, out: Buffer) -> None:
        """Copy the content from offset on to out, U8 [n]. Frames that fit are decompressed into out directly.

        Raises DamagedError if the content ends earlier, or a frame is damaged.
        """
        first, stop = offset, offset + len(out)
        if stop > self.size:
            raise DamagedError(f"its content has {self.size} bytes, fewer than expected", self.path)
        i = bisect_right(self.content, offset) - 1
        while offset < stop:
            begin, end = self.content[i], min(self.content[i + 1], stop)
            here = out[offset - first:end - first]
            if offset == begin and end == self.content[i + 1]:
                self.decompress(i, here)
            else:
                here[:] = self.frames.get(self, i)[offset - begin:end - begin]
            offset, i = end, i + 1

    def gather(self, begin: int, size: int, places: Steps, out: memoryview) -> None:
        """Copy steps as MappedFile.gather does. The parts of a frame should be consecutive."""
        low = high = 0
        frame = NOTHING
        for _, step, start, end in places:
            offset, part = begin + step * size, out[start * size:end * size]
            stop = offset + len(part)
            if not low <= offset <= stop <= high:
                i = bisect_right(self.content, offset, 0, len(self.content) - 1) - 1
                if stop > self.content[i + 1] or len(part) == self.content[i + 1] - self.content[i]:
                    self.fill(offset, part)
                    continue
                low, high, frame = self.content[i], self.content[i + 1], self.frames.get(self, i).data
            part[:] = frame[offset - low:stop - low]

    def read(self, offset: int, size: int) -> Bytes:
        """Return size bytes of the content from offset on."""
        out = np.empty(size, np.uint8)
        if size > 0:
            self.fill(offset, out)
        return out.data

    def own(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """Return the content from offset on as a writable array of this type and shape."""
        return array_of(self.read(offset, dtype.itemsize * math.prod(shape)), 0, dtype, shape)

    def view(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """Return the content from offset on as a read-only array of this type and shape."""
        array = self.own(offset, dtype, shape)
        array.flags.writeable = False
        return array
