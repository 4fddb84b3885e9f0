"""Files mapped into memory."""
from __future__ import annotations

import math
import mmap
import os
from typing import Any, Sequence, Union

import numpy as np

from .errors import DamagedError, Error, MissingError

# Anything that contains bytes.
Bytes = Union[bytes, memoryview]

# Copying fewer bytes than this is faster than mapping them.
WORTH_MAPPING = 4 << 20

# Bytes of open files that may be in the memory of this process at a time.
RESIDENT = 512 << 20

# Of larger files fewer bytes are read, also where they are only to be looked at: the system maps 16 pages around each that is touched.
WORTH_VIEWING = 64 << 10


class MappedFile:
    """The bytes of a file, read-only. Arrays of it keep the mapping alive.

    together: files of this size that are open at a time. Where all of them are more than RESIDENT bytes, what was looked at does not
    stay in this process's memory: whoever goes through a dataset would seem to need as much as there is of it in open files.
    """

    def __init__(self, path: str, together: int = 1):
        self.path = path
        self.looked_at = 0
        self.share = RESIDENT // together
        try:
            self.file = open(path, "rb", buffering=0)
            self.size = os.fstat(self.file.fileno()).st_size
            if self.size == 0:
                raise DamagedError("the file is empty", path)
            self.large = self.size > self.share and hasattr(os, "preadv") and hasattr(mmap, "MADV_DONTNEED")
            self.memory = mmap.mmap(self.file.fileno(), self.size, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise MissingError("no such file", path) from None
        except (OSError, ValueError) as error:
            raise Error(f"cannot be read: {error}", path) from error

    def __del__(self) -> None:
        if hasattr(self, "file"):
            self.file.close()

    def look(self, size: int) -> None:
        """Tells that so many bytes are about to be looked at. Those before may go: they stay in the system's memory, and come back from
        there when they are looked at again.
        """
        self.looked_at += size
        if self.large and self.looked_at > self.share:
            self.looked_at = size
            self.memory.madvise(mmap.MADV_DONTNEED)

    def read(self, offset: int, size: int) -> Bytes:
        """Bytes from offset on, which must be within the file."""
        self.look(size)
        return memoryview(self.memory)[offset:offset + size]

    def fill(self, offset: int, out: np.ndarray) -> None:
        """Bytes from offset on into an array, U8; those of a large file without another place in this process's memory."""
        if not self.large:
            out[:] = np.frombuffer(self.memory, np.uint8, len(out), offset)
            return
        done = 0
        while done < len(out):
            try:
                count = os.preadv(self.file.fileno(), [out[done:].data], offset + done)
            except OSError as error:
                raise Error(f"cannot be read: {error}", self.path) from error
            if count == 0:
                raise DamagedError("truncated since it was opened", self.path)
            done += count

    def array(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """The same as a read-only array of that type and shape, without a copy."""
        self.look(dtype.itemsize * math.prod(shape))
        return array_of(self.memory, offset, dtype, shape)

    def view(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """The same; small parts of large files are copied."""
        if not self.large or dtype.itemsize * math.prod(shape) >= WORTH_VIEWING:
            return self.array(offset, dtype, shape)
        array = self.copy(offset, dtype, shape)
        array.flags.writeable = False
        return array

    def copy(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """The same, in memory of its own."""
        array = np.empty(shape, dtype)
        self.fill(offset, array.reshape(-1).view(np.uint8))
        return array

    def own(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """The same, writable: the file is not changed.

        A large one is a mapping for itself, of which the system copies the pages that are written to. It costs a third less than a copy,
        and nothing that a program writes is there when the same bytes are read again. Little is copied.
        """
        size = dtype.itemsize * math.prod(shape)
        if size >= WORTH_MAPPING:
            skip = offset % mmap.ALLOCATIONGRANULARITY
            try:
                memory = mmap.mmap(self.file.fileno(), skip + size, access=mmap.ACCESS_COPY, offset=offset - skip)
                return array_of(memory, skip, dtype, shape)
            except ValueError as error:
                raise DamagedError(f"truncated since it was opened: {error}", self.path) from None
            except OSError:
                pass  # Each mapping takes a descriptor, and a program that keeps many blocks can run out of them.
        return self.copy(offset, dtype, shape)


def array_of(data: Any, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
    """An array that uses the given bytes."""
    count = math.prod(shape)
    if count == 0:
        return np.zeros(shape, dtype)
    return np.frombuffer(data, dtype, count, offset).reshape(shape)
