"""Fetch ranges of objects with a limit of concurrent requests, and try again where that may help."""
from __future__ import annotations

import os
import random
import threading
import time
from typing import Any, Dict, NamedTuple, Optional, Protocol
from . import arguments
from .errors import DamagedError, Error, OptionError
from .objects import StoredObjects
from .mapping import Bytes
from .web import ObjectChanged, Reply, TemporaryFailure, WebObjects, origin_of

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 16.0  # seconds between two tries; the pause doubles each time
READ_AHEAD = 64 << 20
# Limits of prefetching: a share of a limited cache, so that the workers of all ranks do not evict what is not read yet;
# and a number of blocks per connection, because more would not keep the connections busier.
CACHE_AHEAD, BLOCKS_AHEAD = 1 / 16, 4


def is_by_host(name: Any) -> bool:
    """Return whether an entry of storage_options has the options of one host: "https://example.org"."""
    return isinstance(name, str) and "://" in name


class Access(NamedTuple):
    """How remote objects are read; bload.open documents the options."""
    connections: int = 8
    timeout: float = 30.0
    retries: int = 7
    options: Optional[Dict[str, Any]] = None

    def of(self, url: str) -> Dict[str, Any]:
        """Return the options for a URL: those of its host, or those that name no host."""
        options = self.options or {}
        for name, own in options.items():
            if is_by_host(name) and origin_of(name) == origin_of(url):
                return dict(own)
        return {name: value for name, value in options.items() if not is_by_host(name)}

    def names(self, url: str) -> bool:
        """Return whether there are options for the host of a URL."""
        return any(is_by_host(name) and origin_of(name) == origin_of(url) for name in self.options or {})

    def elsewhere(self) -> "Access":
        """Return what applies to another host: only the options that name their host."""
        kept = {name: value for name, value in (self.options or {}).items() if is_by_host(name)}
        return self._replace(options=kept or None)


class FarOptions(NamedTuple):
    """The options of bload.open that only matter for remote datasets."""
    cache: Optional[str] = None
    cache_size: Optional[int] = None
    read_ahead: int = READ_AHEAD
    access: Access = Access()

    def blocks_ahead(self, size: int) -> int:
        """Return how many blocks a process fetches in advance if each needs size bytes."""
        room = self.read_ahead if self.cache_size is None else min(self.read_ahead, int(self.cache_size * CACHE_AHEAD))
        return max(2, min(room // max(1, size), BLOCKS_AHEAD * self.access.connections))

    def given(self) -> Dict[str, Any]:
        """Return the arguments of bload.open that differ from the default."""
        access = self.access
        given = {"cache": self.cache, "cache_size": self.cache_size, "read_ahead": self.read_ahead, "connections": access.connections,
                "timeout": access.timeout, "retries": access.retries, "storage_options": access.options}
        usual = {**Access()._asdict(), **FarOptions()._asdict(), "storage_options": None}
        return {name: value for name, value in given.items() if value != usual[name]}


def far_options(cache: Any, cache_size: Any, read_ahead: Any, connections: Any, timeout: Any, retries: Any, options: Any) -> FarOptions:
    """Return the options after checking them; raise TypeError or OptionError if one is wrong."""
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"storage_options must be a dict, not {arguments.kind(options)}")
    for name, own in (options or {}).items():
        if is_by_host(name) and not isinstance(own, dict):
            raise TypeError(f"storage_options of {origin_of(name)} must be a dict, not {arguments.kind(own)}")
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout must be a number of seconds, not {arguments.kind(timeout)}")
    if not timeout > 0:
        raise OptionError(f"timeout must be more than 0 seconds, not {timeout}")
    if cache_size is not None and cache is None:
        raise OptionError("cache_size needs a cache")
    access = Access(arguments.at_least("connections", connections, 1), float(timeout), arguments.at_least("retries", retries, 0), options)
    return FarOptions(None if cache is None else os.path.abspath(os.fsdecode(cache)),
                      None if cache_size is None else arguments.at_least("cache_size", cache_size, 1),
                      arguments.at_least("read_ahead", read_ahead, 0), access)


class Objects(Protocol):
    """The interface by which objects are read; WebObjects documents each method."""
    def locate(self, name: str) -> str: ...

    def get(self, name: str, begin: int, end: Optional[int], size: Optional[int]) -> Reply: ...

    def close(self) -> None: ...


def objects_of(url: str, access: Access) -> Objects:
    """Return the reader of the objects below a URL; raise OptionError if the URL is malformed."""
    options = access.of(url)
    if origin_of(url).startswith(("http://", "https://")):
        return WebObjects(url, access.timeout, options.get("headers"))
    return StoredObjects(url, access.timeout, options)


class ProcessState:
    """The state of one process, which a forked process must not share: connections, locks and request counts."""

    def __init__(self, objects: Objects, access: Access):
        self.objects = objects
        self.gate = threading.BoundedSemaphore(access.connections)
        self.tags: Dict[str, str] = {}
        self.counting = threading.Lock()
        self.requests = self.bytes = 0

    def get(self, name: str, begin: int, end: Optional[int], size: Optional[int]) -> Reply:
        """Return the bytes of an object, and count the request."""
        with self.counting:
            self.requests += 1
        reply = self.objects.get(name, begin, end, size)
        with self.counting:
            self.bytes += len(reply.data)
        return reply


class Transfer:
    """The objects below a URL. Any number of threads can fetch; a forked process makes connections of its own."""

    def __init__(self, url: str, access: Access):
        self.url, self.access = url, access
        self.process_states: Dict[int, ProcessState] = {}
        self.process_state()  # reports mistakes in URL and options early

    def process_state(self) -> ProcessState:
        """Return the state of this process."""
        own = self.process_states.get(os.getpid())
        if own is None:
            own = ProcessState(objects_of(self.url, self.access), self.access)
            self.process_states[os.getpid()] = own  # keep the parent's state: deleting it would close connections in its loop
        return own

    def locate(self, name: str) -> str:
        """Return the URL of an object."""
        return self.process_state().objects.locate(name)

    def fetch(self, name: str, begin: int = 0, end: Optional[int] = None, size: Optional[int] = None) -> Bytes:
        """Return bytes begin to end of an object that should have size bytes; without end all of it.

        Raises MissingError if it does not exist, DamagedError if it has another size, and Error if it cannot be read, also after all retries.
        """
        state, retries = self.process_state(), self.access.retries
        for tried in range(retries + 1):
            try:
                with state.gate:
                    reply = state.get(name, begin, end, size)
                break
            except ObjectChanged as error:
                raise DamagedError(f"the object has changed since the dataset was made: {error}", self.locate(name)) from None
            except TemporaryFailure as error:
                if tried == retries:
                    what = f"; {retries + 1} tries" if retries else ""
                    raise Error(f"cannot be fetched: {error}{what}", self.locate(name)) from None
                pause(tried, error.after)
        before = state.tags.setdefault(name, reply.tag)
        if before != reply.tag:
            state.tags[name] = f"{before} then {reply.tag}"
        return reply.data

    def state(self, name: str) -> str:
        """Return what a message adds about an object whose bytes are wrong: its ETag, and whether it changed."""
        tag = self.process_state().tags.get(name, "")
        return f"; it was changed while it was read (ETag {tag})" if " then " in tag else f" (ETag {tag})" if tag else ""

    def close(self) -> None:
        """Close the connections."""
        self.process_state().objects.close()


def pause(tried: int, least: float = 0) -> None:
    """Wait before another try: longer each time, and for a random time, so that failed requests are not repeated all at once."""
    most = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** tried)
    time.sleep(max(min(least, 60.0), random.uniform(most / 2, most)))
