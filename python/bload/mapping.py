"""A file in memory: mapped, never copied."""
from __future__ import annotations

import math
import mmap
import os
from typing import Sequence, Union

import numpy as np

from .errors import DamagedError, Error, MissingError

# Anything that has bytes in it.
Bytes = Union[bytes, memoryview]

# Fewer bytes are copied sooner than mapped.
WORTH_MAPPING = 4 << 20


class MappedFile:
    """A file's bytes, read-only. Arrays of it keep the mapping alive, also after the object is gone."""

    def __init__(self, path: str):
        self.path = path
        try:
            self.file = open(path, "rb", buffering=0)
            self.size = os.fstat(self.file.fileno()).st_size
            if self.size == 0:
                raise DamagedError("the file is empty", path)
            self.memory = mmap.mmap(self.file.fileno(), self.size, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise MissingError("no such file", path) from None
        except (OSError, ValueError) as error:
            raise Error(f"cannot be read: {error}", path) from error

    def __del__(self) -> None:
        if hasattr(self, "file"):
            self.file.close()

    def read(self, offset: int, size: int) -> Bytes:
        """Bytes from offset on; the caller has seen to it that they are in the file."""
        return memoryview(self.memory)[offset:offset + size]

    def array(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """The same as an array of that type and shape, read-only, without a copy."""
        return array_of(self.memory, offset, dtype, shape)

    def own(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """The same, but the caller's own: it can be written to, and the file stays as it is.

        A large one is a mapping for itself, of which the system copies the pages that are written to. It costs a third less than a copy,
        and nothing that a program writes is there when the same bytes are read again.
        """
        size = dtype.itemsize * math.prod(shape)
        if size >= WORTH_MAPPING:
            skip = offset % mmap.ALLOCATIONGRANULARITY
            try:
                memory = mmap.mmap(self.file.fileno(), skip + size, access=mmap.ACCESS_COPY, offset=offset - skip)
                return array_of(memory, skip, dtype, shape)
            except ValueError as error:
                raise DamagedError(f"it was cut off since it was opened: {error}", self.path) from None
            except OSError:
                pass  # Each mapping takes a descriptor, and a program that keeps many blocks can run out of them.
        return self.array(offset, dtype, shape).copy()


def array_of(data, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
    """An array that lies in bytes."""
    count = math.prod(shape)
    if count == 0:
        return np.zeros(shape, dtype)
    return np.frombuffer(data, dtype, count, offset).reshape(shape)
