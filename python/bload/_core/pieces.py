"""Pieces of remote files that are on this machine: on the disk, or in memory."""
from __future__ import annotations

import math
import mmap
import os
from collections import OrderedDict
from typing import Optional, Sequence

import numpy as np

from .errors import DamagedError, Error
from .mapping import Buffer, Bytes, MappedFile, array_of


class Piece:
    """Bytes of a remote file, which never change. size: how many. held: the bytes of this process's memory that they take."""

    size: int
    held: int

    def fill(self, at: int, out: Buffer) -> None:
        """Copy bytes from `at` on into out, U8 [n]."""
        raise NotImplementedError

    def array(self, at: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """Return the bytes from `at` on as a read-only array, without a copy."""
        raise NotImplementedError

    def own(self, at: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """Return what `array` does, as a writable copy."""
        array = np.empty(shape, dtype)
        self.fill(at, array.reshape(-1).view(np.uint8))
        return array


class HeldPiece(Piece):
    """A piece in memory."""

    def __init__(self, data: Bytes):
        self.data, self.size, self.held = data, len(data), len(data)

    def fill(self, at: int, out: Buffer) -> None:
        out[:] = np.frombuffer(self.data, np.uint8, len(out), at)

    def array(self, at: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        return array_of(self.data, at, dtype, shape)


class StoredPiece(Piece):
    """A piece in a file of the cache. It stays readable when the file is removed. descriptor: closed with the piece."""

    held = 0

    def __init__(self, path: str, descriptor: int, size: int):
        self.path, self.descriptor, self.size = path, descriptor, size
        self.memory: Optional[mmap.mmap] = None

    def __del__(self) -> None:
        os.close(self.descriptor)

    def fill(self, at: int, out: Buffer) -> None:
        done = 0
        while done < len(out):
            try:
                count = os.preadv(self.descriptor, (out[done:] if done else out,), at + done)
            except OSError as error:
                raise Error(f"cannot be read: {error}", self.path) from error
            if count == 0:
                raise DamagedError("truncated since it was opened", self.path)
            done += count

    def array(self, at: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        if self.memory is None:
            try:
                self.memory = mmap.mmap(self.descriptor, self.size, access=mmap.ACCESS_READ)
            except OSError:  # each mapping takes a descriptor, and a program that keeps many blocks can exhaust them: copy instead
                array = self.own(at, dtype, shape)
                array.flags.writeable = False
                return array
        return array_of(self.memory, at, dtype, shape)


class HeldFile(MappedFile):
    """A whole file in memory, with the interface of a mapped file."""

    def __init__(self, path: str, data: Bytes):
        self.path, self.size, self.large, self.share, self.looked_at = path, len(data), False, len(data), 0
        if not data:
            raise DamagedError("the file is empty", path)
        self.memory = mmap.mmap(-1, self.size)
        self.memory[:] = data

    def array(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        array = array_of(self.memory, offset, dtype, shape)
        array.flags.writeable = False
        return array

    def own(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        return self.copy(offset, dtype, shape)


class OpenPieces:
    """The most recently used pieces: at most `most` of them, and `held` bytes in memory. Any number of threads can use it without a lock."""

    def __init__(self, most: int, held: int):
        self.most, self.most_held, self.held = most, held, 0
        self.kept: "OrderedDict[str, Piece]" = OrderedDict()

    def get(self, key: str) -> Optional[Piece]:
        """Return a piece, or None, and mark it as used."""
        piece = self.kept.get(key)
        if piece is not None:
            try:
                self.kept.move_to_end(key)
            except KeyError:
                pass  # another thread has just dropped it
        return piece

    def add(self, key: str, piece: Piece) -> Piece:
        """Keep a piece, drop others beyond the limits, and return the piece."""
        before = self.kept.pop(key, None)
        self.kept[key] = piece
        self.held += piece.held - (before.held if before is not None else 0)
        while len(self.kept) > 1 and (len(self.kept) > self.most or self.held > self.most_held):
            try:
                self.held -= self.kept.popitem(last=False)[1].held
            except KeyError:
                break
        return piece

    def remove_all(self, beginning: str) -> None:
        """Drop the pieces whose keys have this prefix."""
        for key in [key for key in list(self.kept) if key.startswith(beginning)]:
            piece = self.kept.pop(key, None)
            self.held -= piece.held if piece is not None else 0

    def clear(self) -> None:
        """Drop all pieces."""
        self.kept.clear()
        self.held = 0


def size_of(dtype: np.dtype, shape: Sequence[int]) -> int:
    """Return the bytes of an array."""
    return int(dtype.itemsize * math.prod(shape))


class StoredFile(MappedFile):
    """A whole file in a file of the cache, with the interface of a mapped file. path: for messages."""

    def __init__(self, path: str, piece: StoredPiece):
        self.path, self.size, self.large, self.share, self.looked_at = path, piece.size, False, piece.size, 0
        self.piece, self.descriptor = piece, piece.descriptor
        if piece.size == 0:
            raise DamagedError("the file is empty", path)
        try:
            self.memory = mmap.mmap(piece.descriptor, piece.size, access=mmap.ACCESS_READ)
        except OSError as error:
            raise Error(f"cannot be read: {error}", path) from error
