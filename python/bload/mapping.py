"""A file in memory: mapped, never copied."""
from __future__ import annotations

import mmap
import os
from typing import Sequence, Union

import numpy as np

from .errors import DamagedError, Error, MissingError

# Anything that has bytes in it.
Bytes = Union[bytes, memoryview]


class MappedFile:
    """A file's bytes, read-only. Arrays of it keep the mapping alive, also after the object is gone."""

    def __init__(self, path: str):
        self.path = path
        try:
            with open(path, "rb") as file:
                self.size = os.fstat(file.fileno()).st_size
                if self.size == 0:
                    raise DamagedError("the file is empty", path)
                self.memory = mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise MissingError("no such file", path) from None
        except (OSError, ValueError) as error:
            raise Error(f"cannot be read: {error}", path) from error

    def read(self, offset: int, size: int) -> Bytes:
        """Bytes from offset on; the caller has seen to it that they are in the file."""
        return memoryview(self.memory)[offset:offset + size]

    def array(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """The same as an array of that type and shape, read-only, without a copy."""
        return array_of(self.memory, offset, dtype, shape)


def array_of(data, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
    """An array that lies in bytes."""
    count = 1
    for size in shape:
        count *= size
    if count == 0:
        return np.zeros(shape, dtype)
    return np.frombuffer(data, dtype, count, offset).reshape(shape)
