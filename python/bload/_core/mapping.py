"""Files mapped into memory."""
from __future__ import annotations

import io
import math
import mmap
import os
import stat
from typing import Any, Iterable, Sequence, Union

import numpy as np

from .errors import DamagedError, Error, MissingError

# Steps to copy, in any order: for each part an unused number, its first step in the file, and its first step and end in the output.
Steps = Iterable[Sequence[int]]

# Read-only bytes.
Bytes = Union[bytes, memoryview]
# Writable bytes, U8 [n]; to slice a memoryview takes half the time.
Buffer = Union[np.ndarray, memoryview]

# Bytes below which a copy is faster than a mapping.
WORTH_MAPPING = 4 << 20

# The most bytes of a dataset's open files that this process keeps mapped in memory at a time.
RESIDENT = 512 << 20

# Bytes below which parts of large files are copied, even for reading: an access makes the system map 16 pages.
WORTH_VIEWING = 64 << 10


def open_regular(path: str) -> io.FileIO:
    """Open a regular file for reading, without a buffer.

    Other files are refused without waiting: a pipe may never have a writer, and a device may do anything when it is read. Raises
    MissingError if there is no such file, and Error if it is not a regular file, or cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingError("no such file", path) from None
    except (OSError, ValueError) as error:  # a socket, or a name with a NUL
        raise Error(f"cannot be read: {getattr(error, 'strerror', None) or error}", path) from None
    file = os.fdopen(descriptor, "rb", buffering=0) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    if file is None:
        os.close(descriptor)
        raise Error("is not a regular file", path)
    return file


class MappedFile:
    """The bytes of a file, read-only. Arrays that view it keep the mapping alive.

    share: the bytes of it that may stay mapped. The mapping of a larger file releases pages after use. Otherwise a process that reads a
    whole dataset would appear to need as much memory as the size of its open files.

    far: bytes that are needed may have to be fetched first; see Storage.

    Raises MissingError if there is no such file, DamagedError if it is empty, and Error if it is not a regular file, or cannot be read.
    """

    far = False

    def __init__(self, path: str, share: int = RESIDENT):
        self.path = path
        self.looked_at = 0
        self.share = share
        self.file = open_regular(path)
        self.descriptor = self.file.fileno()
        try:
            self.size = os.fstat(self.descriptor).st_size
            if self.size == 0:
                raise DamagedError("the file is empty", path)
            self.large = self.size > self.share and hasattr(os, "preadv") and hasattr(mmap, "MADV_DONTNEED")
            self.memory = mmap.mmap(self.descriptor, self.size, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise Error(f"cannot be read: {error}", path) from error

    def __del__(self) -> None:
        if hasattr(self, "file"):
            self.file.close()

    def look(self, size: int) -> None:
        """Announce that this many bytes are about to be used.

        A large file may then release the pages used before; they stay in the page cache, and are mapped again on use.
        """
        self.looked_at += size
        if self.large and self.looked_at > self.share:
            self.looked_at = size
            self.memory.madvise(mmap.MADV_DONTNEED)

    def read(self, offset: int, size: int) -> Bytes:
        """Return size bytes from offset on, which must be within the file."""
        self.look(size)
        return memoryview(self.memory)[offset:offset + size]

    def prepare(self, offset: int, size: int) -> None:
        """Fetch bytes that will be read soon; nothing to do for a local file."""

    def ready(self, offset: int, size: int) -> bool:
        """Return whether these bytes are here."""
        return True

    def fill(self, offset: int, out: Buffer) -> None:
        """Copy bytes from offset on into out, U8 [n]. A large file is read directly into out, without mapping its pages.

        Raises Error if it cannot be read, and DamagedError if the file was truncated.
        """
        if not self.large:
            out[:] = np.frombuffer(self.memory, np.uint8, len(out), offset)
            return
        done = 0
        while done < len(out):
            try:
                count = os.preadv(self.descriptor, (out[done:] if done else out,), offset + done)
            except OSError as error:
                raise Error(f"cannot be read: {error}", self.path) from error
            if count == 0:
                raise DamagedError("truncated since it was opened", self.path)
            done += count

    def gather(self, begin: int, size: int, places: Steps, out: memoryview) -> None:
        """Copy steps of `size` bytes into out, U8 [steps * size]. begin: the offset of step 0. places: see Steps. Errors: see fill.

        There are many small parts, and a function call for each would take as long as the copy.
        """
        if self.large:
            read, descriptor = os.preadv, self.descriptor
            try:
                for _, step, start, end in places:
                    part = out[start * size:end * size]
                    if read(descriptor, (part,), begin + step * size) != len(part):
                        self.fill(begin + step * size, part)
            except OSError as error:
                raise Error(f"cannot be read: {error}", self.path) from error
            return
        memory = memoryview(self.memory)
        for _, step, start, end in places:
            offset = begin + step * size
            out[start * size:end * size] = memory[offset:offset + (end - start) * size]

    def array(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """Return the bytes from offset on as a read-only array of this type and shape, without a copy."""
        self.look(dtype.itemsize * math.prod(shape))
        return array_of(self.memory, offset, dtype, shape)

    def view(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """Return what `array` does, but copy small parts of large files."""
        if not self.large or dtype.itemsize * math.prod(shape) >= WORTH_VIEWING:
            return self.array(offset, dtype, shape)
        array = self.copy(offset, dtype, shape)
        array.flags.writeable = False
        return array

    def copy(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """Return what `array` does, as a writable copy."""
        array = np.empty(shape, dtype)
        self.fill(offset, array.reshape(-1).view(np.uint8))
        return array

    def own(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """Return what `array` does, but writable; writes do not change the file, or other arrays.

        A large array is a private mapping: the system copies a page when it is written to, which costs a third less than copying the
        array. Small arrays are copied.
        """
        size = dtype.itemsize * math.prod(shape)
        if size >= WORTH_MAPPING:
            skip = offset % mmap.ALLOCATIONGRANULARITY
            try:
                memory = mmap.mmap(self.descriptor, skip + size, access=mmap.ACCESS_COPY, offset=offset - skip)
                return array_of(memory, skip, dtype, shape)
            except ValueError as error:
                raise DamagedError(f"truncated since it was opened: {error}", self.path) from None
            except OSError:
                pass  # each mapping takes a descriptor, and a program that keeps many blocks can exhaust them: copy instead
        return self.copy(offset, dtype, shape)


def array_of(data: Any, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
    """Return an array that views the given bytes."""
    count = math.prod(shape)
    if count == 0:
        return np.zeros(shape, dtype)
    return np.frombuffer(data, dtype, count, offset).reshape(shape)
