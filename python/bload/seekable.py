"""Compressed shards: ordinary zstd frames, then a table of their sizes. Only the frames that are needed are decompressed,
and the last few of which a part was needed are kept.

frame... | u32 0x184D2A5E | u32 size | n * {u32 compressed, u32 content, u32 low half of XXH64(content)} | u32 n | u8 0x80 | u32 0x8F92EAB1
(https://github.com/facebook/zstd/tree/dev/contrib/seekable_format)
"""
from __future__ import annotations

import math
import struct
from bisect import bisect_right
from collections import OrderedDict
from typing import List, Optional, Sequence, Tuple

import numpy as np

from . import checksum
from .errors import DamagedError, DependencyError
from .manifest import FRAME_MAX
from .mapping import RESIDENT, Buffer, Bytes, MappedFile, array_of

try:
    import zstandard
except ImportError:
    zstandard = None  # type: ignore[assignment]

HEAD, ENTRY, FOOTER = 8, 12, 9
SKIPPABLE, SEEKABLE, CHECKSUMS = 0x184D2A5E, 0x8F92EAB1, 0x80


class Frames:
    """The last decompressed frames of which only a part was used, at most `most`. Any number of threads can use it; it has no lock, so two
    may decompress the same frame.
    """

    def __init__(self, most: int):
        self.most = most
        self.kept: "OrderedDict[Tuple[str, int], np.ndarray]" = OrderedDict()

    def get(self, file: "SeekableFile", i: int) -> np.ndarray:
        """The content of a frame, U8 [n], not to be written to."""
        frame = self.kept.pop((file.path, i), None)
        if frame is None:
            frame = np.empty(file.content[i + 1] - file.content[i], np.uint8)
            file.decompress(i, frame)
        self.kept[file.path, i] = frame
        while len(self.kept) > self.most:
            try:
                self.kept.popitem(last=False)
            except KeyError:
                break
        return frame


class SeekableFile:
    """Random access to the content of a file in the seekable zstd format. Any number of threads can read.

    share: see MappedFile. frames: keeps what was decompressed; by default nothing is kept.

    DependencyError: zstandard is not installed. DamagedError: the file is truncated or altered.
    """

    def __init__(self, path: str, share: int = RESIDENT, frames: Optional[Frames] = None):
        if zstandard is None:
            raise DependencyError("the dataset is compressed: pip install zstandard", path)
        self.path = path
        self.file = MappedFile(path, share)
        self.frames = frames or Frames(0)
        self.parse_table()
        self.size = self.content[-1]

    def parse_table(self) -> None:
        """Sets offset and content, [frames + 1] each: where each frame begins in the file and in the content, then the ends."""
        size = self.file.size
        if size < HEAD + FOOTER:
            raise DamagedError("too short for a compressed shard", self.path)
        frames, descriptor, magic = struct.unpack("<IBI", self.file.read(size - FOOTER, FOOTER))
        table = HEAD + frames * ENTRY + FOOTER
        if magic != SEEKABLE or descriptor != CHECKSUMS or table > size:
            raise DamagedError("no seek table at the end: truncated or altered", self.path)
        if struct.unpack("<II", self.file.read(size - table, HEAD)) != (SKIPPABLE, table - HEAD):
            raise DamagedError("its seek table is damaged", self.path)
        entries = self.file.array(size - table + HEAD, np.dtype("<u4"), (frames, 3)).astype(np.int64)
        self.offset: List[int] = [0, *np.cumsum(entries[:, 0]).tolist()]
        self.content: List[int] = [0, *np.cumsum(entries[:, 1]).tolist()]
        if self.offset[-1] != size - table or (entries[:, 1] > FRAME_MAX).any():
            raise DamagedError("its seek table has invalid sizes", self.path)

    def checksums(self) -> List[int]:
        """The checksum of the bytes of each frame, then that of the bytes after the last one."""
        ends = [*self.offset, self.file.size]
        return [checksum.xxh3(self.file.read(begin, end - begin)) for begin, end in zip(ends, ends[1:])]

    def decompress(self, i: int, out: Buffer) -> None:
        """Decompresses frame i to out, U8 [size of its content]. zstd verifies its checksum. DamagedError: the frame is damaged."""
        offset = self.offset[i]
        data = self.file.read(offset, self.offset[i + 1] - offset)
        try:
            # Checked first, because the decompressor trusts any size.
            if zstandard.frame_content_size(data) != len(out):
                raise DamagedError(f"the size of frame {i} differs from the seek table", self.path)
            with zstandard.ZstdDecompressor().stream_reader(data) as reader:
                count = reader.readinto(out) if len(out) else 0
                # zstd verifies the checksum only on a read after the content.
                count += len(reader.read(1))
        except zstandard.ZstdError as error:
            raise DamagedError(f"cannot decompress frame {i}: {error}", self.path) from None
        if count != len(out):
            raise DamagedError(f"frame {i} has {count} bytes, expected {len(out)}", self.path)

    def fill(self, offset: int, out: Buffer) -> None:
        """Copies the content from offset on to out, U8 [n]. Frames that fit are decompressed into out directly.

        DamagedError: the content ends before, or a frame is damaged.
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

    def read(self, offset: int, size: int) -> Bytes:
        """size bytes of the content from offset on."""
        out = np.empty(size, np.uint8)
        if size > 0:
            self.fill(offset, out)
        return out.data

    def own(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """The content from offset on as a writable array of this type and shape."""
        return array_of(self.read(offset, dtype.itemsize * math.prod(shape)), 0, dtype, shape)

    def view(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """As own, but read-only."""
        array = self.own(offset, dtype, shape)
        array.flags.writeable = False
        return array
