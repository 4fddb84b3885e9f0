"""A directory with pieces of remote files, which all processes of a node share.

    CACHE/pieces/3f/NAME          a piece, followed by MAGIC, its size and its checksum (24 bytes)
    CACHE/making/NAME.PID.N       a piece while it is written; its writer holds a lock on it
    CACHE/locks/000 to 3ff        the lock of a fetch: a hash of the name of the piece selects the file
    CACHE/total                   the number of bytes, including pieces being written; locked while it changes

Each piece is a file of its own, not a part of a sparse file, because a hole in a mapped file would read as zeros. A piece gets its name
when it is complete, never changes, and can be removed at any time: a process that has it open continues to read it. Its name begins with
a checksum that was compared with the piece, so that a piece cannot be taken for one of another dataset. (For frames of compressed shards
this is a checksum of the shard and of all its blocks; the blocks are compared when they are used.) A name consists of hexadecimal digits
and words, and is not a path. A process that is killed leaves a file without a lock, which the next clean-up removes, and a total that is
too high, which the clean-up counts again.
"""
from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import re
import stat
import struct
import zlib
from typing import Callable, Dict, Iterator, List, Optional, Tuple

import numpy as np

from . import checksum
from .errors import DamagedError, Error
from .mapping import Bytes
from .pieces import StoredPiece

MAGIC = b"bloadpc1"
FOOTER = struct.Struct("<8sQQ")
LOCKS = 1024
KNOWN = 1 << 16    # how many checked pieces a process remembers
SPARE = 0.95       # the share of the limit that is in use after a clean-up
NAME = re.compile("[0-9a-f]{2}[0-9a-z-]{1,60}")
# Errors if the path of a piece is a link, a socket, a pipe without a writer, or a missing device.
STRANGE = errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.ENODEV

# Returns what is wrong with the bytes of a piece, or None.
Check = Callable[[Bytes], Optional[str]]


class Cache:
    """A cache directory, which is made if it is missing. `limit` is the most bytes of pieces, or None.

    Any number of threads and processes can use it. Raises Error if the directory cannot be used.
    """

    def __init__(self, directory: str, limit: Optional[int]):
        self.directory, self.limit = directory, limit
        self.checked: Dict[str, int] = {}  # the inodes of pieces with right checksums
        self.numbers = itertools.count()
        try:
            os.makedirs(os.path.join(directory, "pieces"), exist_ok=True)
            os.makedirs(os.path.join(directory, "locks"), exist_ok=True)
            os.makedirs(os.path.join(directory, "making"), exist_ok=True)
            with self.locked("total"):
                self.pending_bytes()
        except OSError as error:
            raise Error(f"cannot be used as a cache: {error.strerror}", directory) from None

    def path(self, key: str) -> str:
        """Return the path of a piece; raise Error if no piece can have this name."""
        if NAME.fullmatch(key) is None:
            raise Error(f"a piece cannot have the name {key!r}", self.directory)
        return os.path.join(self.directory, "pieces", key[:2], key)

    def has(self, key: str) -> bool:
        """Return whether there is a piece of this name, checked or not."""
        return os.path.exists(self.path(key))

    def find(self, key: str, check: Optional[Check] = None) -> Optional[StoredPiece]:
        """Return the piece of this name and mark it as just used, or return None if it is missing. A damaged piece is removed.

        `check` compares the piece when this process first opens it. Without it the checksum at its end is compared.
        """
        path = self.path(key)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in STRANGE:
                self.remove(key)
                return None
            raise Error(f"cannot be read: {error.strerror}", path) from error
        status = os.fstat(descriptor)
        piece = StoredPiece(path, descriptor, status.st_size - FOOTER.size)
        if not stat.S_ISREG(status.st_mode):
            self.remove(key)
            return None
        with contextlib.suppress(OSError):
            os.utime(descriptor)
        if self.checked.get(key) != status.st_ino:
            if not self.is_sound(piece, check):
                self.remove(key)
                return None
            if len(self.checked) >= KNOWN:
                self.checked.clear()
            self.checked[key] = status.st_ino
        return piece

    @staticmethod
    def is_sound(piece: StoredPiece, check: Optional[Check]) -> bool:
        """Return whether a piece is complete and passes the check; see find."""
        if piece.size < 0:
            return False
        data = np.empty(piece.size + FOOTER.size, np.uint8)
        try:
            piece.fill(0, data)
        except (DamagedError, Error):
            return False
        content = data[:piece.size].data
        magic, size, stored_checksum = FOOTER.unpack_from(data, piece.size)
        if (magic, size) != (MAGIC, piece.size):
            return False
        return check(content) is None if check is not None else checksum.xxh3(content) == stored_checksum

    def remove(self, key: str) -> None:
        """Remove a piece if it exists."""
        with contextlib.suppress(OSError):
            os.unlink(self.path(key))

    def remove_all(self, beginning: str) -> None:
        """Remove the pieces whose names have this prefix."""
        folder = os.path.dirname(self.path(beginning))
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if name.startswith(beginning) and NAME.fullmatch(name):
                    self.remove(name)

    # --- fetching ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def fetching(self, key: str, wait: bool = True) -> Iterator[bool]:
        """Hold the lock under which a piece is fetched. Without wait, yield False if another process or thread holds it."""
        with self.locked(f"locks/{zlib.crc32(key.encode()) % LOCKS:03x}", wait) as descriptor:
            yield descriptor >= 0

    @contextlib.contextmanager
    def locked(self, name: str, wait: bool = True) -> Iterator[int]:
        """Hold the lock of a file and yield its descriptor. Without wait, yield -1 if another process or thread holds it."""
        path, descriptor = os.path.join(self.directory, name), -1
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            got = True
        except OSError as error:
            got = False
            if wait or error.errno not in (errno.EAGAIN, errno.EACCES):
                raise Error(f"cannot be locked: {error.strerror}", path) from error
        try:
            yield descriptor if got else -1
        finally:
            if got:
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # releases the lock in a child that was forked meanwhile, too
            os.close(descriptor)

    def keep(self, key: str, data: Bytes) -> bool:
        """Write a piece, and return False if there is no room for it."""
        whole = len(data) + FOOTER.size
        path = self.path(key)
        making = os.path.join(self.directory, "making", f"{key}.{os.getpid()}.{next(self.numbers)}")
        try:
            descriptor = self.reserve(making, whole)
        except OSError:  # a directory of the cache was replaced by something else
            return False
        if descriptor is None:
            return False
        try:
            with open(descriptor, "wb", buffering=0) as file:
                for part in data, FOOTER.pack(MAGIC, len(data), checksum.xxh3(data)):
                    view = memoryview(part)
                    while view:
                        view = view[file.write(view):]
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.rename(making, path)
                self.checked[key] = os.fstat(file.fileno()).st_ino
        except OSError:  # a full disk: the piece is used, but not kept
            with contextlib.suppress(OSError):
                os.unlink(making)
            return False
        return True

    # --- the limit --------------------------------------------------------------------------------------------------

    def reserve(self, making: str, size: int) -> Optional[int]:
        """Return the descriptor of a new file, locked and of its final size, or None if there is no room."""
        if self.limit is not None and size > self.limit * SPARE:
            return None
        with self.locked("total") as total:
            there = int.from_bytes(os.pread(total, 8, 0), "little")
            if self.limit is not None and there + size > self.limit:
                there = self.make_room(size)
                if there + size > self.limit:
                    return None
            try:
                descriptor = os.open(making, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            except OSError:
                return None
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            try:
                os.posix_fallocate(descriptor, 0, size)
                os.pwrite(total, (there + size).to_bytes(8, "little"), 0)
            except OSError:  # a full disk
                os.close(descriptor)
                os.unlink(making)
                return None
            return descriptor

    def make_room(self, size: int) -> int:
        """Remove the least recently used pieces until there is a little more room than for size bytes, and return the bytes that are left."""
        assert self.limit is not None
        there = self.pending_bytes()  # count these first: a piece that is renamed meanwhile is counted twice instead of not at all
        pieces = self.scan()
        there += sum(size_there for _, size_there, _ in pieces)
        least = max(0, min(int(self.limit * SPARE), self.limit - size))
        for _, size_there, path in sorted(pieces):
            if there <= least:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            there -= size_there
        return there

    def scan(self) -> List[Tuple[int, int, str]]:
        """Return the time of the last use, the bytes and the path of each piece."""
        found = []
        root = os.path.join(self.directory, "pieces")
        for folder in os.listdir(root):
            with contextlib.suppress(NotADirectoryError), os.scandir(os.path.join(root, folder)) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        status = entry.stat(follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode):
                            found.append((status.st_mtime_ns, status.st_size, entry.path))
        return found

    def pending_bytes(self) -> int:
        """Return the bytes of pieces that are being written, and remove what killed processes left. The total must be locked."""
        there = 0
        folder = os.path.join(self.directory, "making")
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                if is_being_written(path):
                    there += os.stat(path).st_size
                else:
                    os.unlink(path)
        return there


def is_being_written(path: str) -> bool:
    """Return whether a process holds the lock of a file; raise FileNotFoundError if it has its final name by now."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
