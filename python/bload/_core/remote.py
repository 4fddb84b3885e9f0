"""The storage of remote datasets: fetches, checks and caches what is read."""
from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import os
import posixpath
import threading
import zlib
from typing import Callable, ContextManager, Dict, List, Optional, Sequence, Tuple
from urllib.parse import quote, urlsplit

import numpy as np

from . import checksum
from .cache import Cache
from .errors import DamagedError, Error, MissingError, OptionError
from .far import FarFrames, FarShard, Part, WrongBytes
from .far_options import FarOptions
from .manifest import Manifest
from .mapping import Bytes, MappedFile
from .pieces import HeldFile, HeldPiece, OpenPieces, Piece, StoredFile, StoredPiece
from .shards import FILE as SHARDS
from .shards import read_entries
from .storage import MANIFEST, FileEntry, Opener, Storage
from .transfer import Transfer, pause
from .web import room_for

UNIT = 4 << 20        # bytes of a piece if the cache holds the whole dataset; otherwise pieces are as small as possible
REQUEST = 8 << 20     # the most bytes of one request for a whole file
OPEN, HELD = 128, 64 << 20  # how many pieces stay open, and the most bytes of those in memory
WRONG_TRIES = 3       # how often wrong bytes are fetched before an error is raised


class ProcessState:
    """The state of one process, which a forked process must not share: open pieces and locks."""

    def __init__(self, options: FarOptions):
        self.open = OpenPieces(OPEN, HELD if options.cache else max(HELD, 2 * options.read_ahead))
        self.locks = [threading.Lock() for _ in range(64)]


class RemoteStorage(Storage):
    """The objects below a URL. Every byte that is read was compared with a checksum of the dataset.

    A missing manifest means that the dataset does not exist, or is not complete, because the manifest is uploaded last.
    """

    far, tries = True, WRONG_TRIES

    def __init__(self, url: str, options: FarOptions, make: Callable[[str, FarOptions], Storage]):
        super().__init__(url, options, make)
        checksum.xxh3(b"")  # raises DependencyError if the package is missing
        self.transfer = Transfer(url, options.access)
        self.cache = Cache(options.cache, options.cache_size) if options.cache else None
        self.process_states: Dict[int, ProcessState] = {}
        self.known: Dict[str, str] = {}  # the prefix of the keys of each compressed shard that was opened

    def process_state(self) -> ProcessState:
        """Return the state of this process; a forked process makes its own."""
        own = self.process_states.get(os.getpid())
        if own is None:
            own = ProcessState(self.options)
            self.process_states = {os.getpid(): own}
        return own

    def close(self) -> None:
        self.process_state().open.clear()
        self.transfer.close()

    def locate(self, name: str) -> str:
        return self.transfer.locate(name)

    def source(self, path: str) -> str:
        if "://" in path or os.path.isabs(path):
            return path
        parts = urlsplit(self.path)
        return parts._replace(path=posixpath.normpath(posixpath.join(parts.path or "/", quote(path)))).geturl()

    # --- the interface of Storage ------------------------------------------------------------------------------------

    def manifest(self) -> bytes:
        try:
            return bytes(self.transfer.fetch(MANIFEST))
        except MissingError as error:
            raise MissingError(f"no such dataset, or it is incomplete: it has no {MANIFEST} ({error.fault})", self.path) from None

    def whole(self, name: str, entry: FileEntry) -> MappedFile:
        def check(data: Bytes) -> Optional[str]:
            """Return what is wrong with the bytes, or None."""
            return None if checksum.digest(checksum.xxh3(data)) == entry.checksum else "its checksum differs from the manifest"
        part = Part(f"{entry.checksum}-0-{entry.bytes:x}", 0, entry.bytes, check, functools.partial(self.get_whole, name, entry.bytes))
        piece = self.bring(name, entry.bytes, part, (), OpenPieces(1, 0))
        if isinstance(piece, StoredPiece):
            return StoredFile(self.locate(name), piece)
        assert isinstance(piece, HeldPiece)
        return HeldFile(self.locate(name), piece.data)

    def get_whole(self, name: str, size: int) -> Bytes:
        """Return all bytes of a file, by several concurrent requests if it is large."""
        if size <= REQUEST:
            return self.request(name, 0, size, size) if size > 0 else b""
        try:
            data = room_for(size)
        except Error as error:
            raise Error(error.fault, self.locate(name)) from None

        def get(begin: int) -> None:
            """Fetch one range of the file."""
            end = min(begin + REQUEST, size)
            data[begin:end] = self.request(name, begin, end, size)
        with concurrent.futures.ThreadPoolExecutor(self.options.access.connections) as threads:
            for _ in threads.map(get, range(0, size, REQUEST)):
                pass
        return memoryview(data).toreadonly()

    def shards(self, manifest: Manifest, block_checksum: np.ndarray, fields: List[str]) -> Opener:
        if SHARDS not in manifest.files:
            raise DamagedError(f"it does not list {SHARDS}", manifest.path)
        entries = read_entries(self.whole(SHARDS, manifest.files[SHARDS]), manifest)
        unit = self.unit = self.unit_of(sum(entry.bytes for entry in entries))

        def opened(number: int, share: int) -> MappedFile:
            """Open a shard by its number."""
            first = number * manifest.blocks_per_shard
            sums = block_checksum[first:first + manifest.blocks_per_shard]
            if manifest.compressed:
                identity = [entries[number].checksum.encode(), manifest.plan_digest.encode(), np.ascontiguousarray(sums)]
                known = self.known[manifest.shard_name(number)] = checksum.digest(checksum.xxh3(identity))
                return FarFrames(self, manifest, number, entries[number], unit, known)
            return FarShard(self, manifest, number, entries[number], unit, sums)
        return opened

    def wait(self, tried: int) -> None:
        pause(tried)

    def wrong_bytes_note(self, name: str) -> str:
        return f"; fetched {WRONG_TRIES} times{self.transfer.state(name)}"

    def forget(self, name: str) -> None:
        known = self.known.get(name)
        if known is not None:
            self.process_state().open.remove_all(known)
            if self.cache is not None:
                self.cache.remove_all(known)

    def unit_of(self, size: int) -> int:
        """Return the size of pieces for a dataset of this size: large if the cache will hold all of it, because all of it will be used."""
        holds = self.cache is not None and (self.cache.limit is None or size * 1.02 < self.cache.limit)
        return UNIT if holds else 0

    # --- pieces -----------------------------------------------------------------------------------------------------

    def request(self, name: str, begin: int, end: int, size: int) -> Bytes:
        return self.transfer.fetch(name, begin, end, size)

    def piece(self, name: str, size: int, part: Part, more: Sequence[Part] = ()) -> Piece:
        opened = self.process_state().open
        return opened.get(part.key) or self.bring(name, size, part, more, opened)

    def has(self, part: Part) -> bool:
        return self.process_state().open.get(part.key) is not None or self.cache is not None and self.cache.has(part.key)

    def prepare(self, name: str, size: int, part: Part) -> None:
        if not self.has(part):
            self.piece(name, size, part)

    def bring(self, name: str, size: int, part: Part, more: Sequence[Part], opened: OpenPieces) -> Piece:
        """Open a part from the cache, or fetch it; no other thread or process fetches it at the same time."""
        found = self.cached(part)
        if found is not None:
            return opened.add(part.key, found)
        with self.fetching(part.key):  # open the piece under the lock, so that a waiting thread finds it
            return opened.get(part.key) or opened.add(part.key, self.cached(part) or self.fetch(name, size, part, more))

    def cached(self, part: Part) -> Optional[Piece]:
        """Return a part from the cache, or None."""
        return self.cache.find(part.key, None if part.frames else part.check) if self.cache is not None else None

    def fetching(self, key: str) -> ContextManager[bool]:
        """Hold a lock so that no other thread, and with a cache no other process, fetches this part."""
        if self.cache is not None:
            return self.cache.fetching(key)
        locks = self.process_state().locks
        return locks[zlib.crc32(key.encode()) % len(locks)]

    def fetch(self, name: str, size: int, part: Part, more: Sequence[Part]) -> Piece:
        """Fetch a part, and with it those of `more` that are not here; raise DamagedError if its bytes stay wrong."""
        with contextlib.ExitStack() as locks:
            others = self.missing(more, locks)
            for tried in range(WRONG_TRIES):
                data, fault = self.get(name, size, part, others[-1].end if others else part.end)
                own = bytes(data[:part.end - part.begin]) if others else data
                fault = fault or part.check(own)
                if fault is None:
                    break
                if tried + 1 < WRONG_TRIES:
                    self.wait(tried)
            else:
                raise DamagedError(f"{fault}{self.wrong_bytes_note(name)}", self.locate(name))
            for other in others:
                rest = bytes(data[other.begin - part.begin:other.end - part.begin])
                if other.check(rest) is None:
                    self.process_state().open.add(other.key, self.kept(other.key, rest))
            return self.kept(part.key, own)

    def get(self, name: str, size: int, part: Part, end: int) -> Tuple[Bytes, Optional[str]]:
        """Return the bytes of a part, up to end, and what is wrong with them or None."""
        try:
            return (part.get() if part.get is not None else self.request(name, part.begin, end, size)), None
        except WrongBytes as error:
            return b"", str(error)

    def missing(self, more: Sequence[Part], locks: contextlib.ExitStack) -> List[Part]:
        """Return the first parts of `more` that neither are here nor are being fetched, and lock them."""
        others = []
        for other in more:
            if self.process_state().open.get(other.key) is not None:
                break
            if self.cache is not None and (self.cache.has(other.key) or not locks.enter_context(self.cache.fetching(other.key, False))):
                break
            others.append(other)
        return others

    def kept(self, key: str, data: Bytes) -> Piece:
        """Return bytes as a piece: in the cache if it has room, else in memory."""
        if self.cache is not None and self.cache.keep(key, data):
            found = self.cache.find(key)
            if found is not None:
                return found
        return HeldPiece(data)
