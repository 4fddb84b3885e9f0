"""Fetch ranges of objects with a limit of concurrent requests, and try again where that may help."""
from __future__ import annotations

import os
import random
import threading
import time
from typing import Dict, Optional, Protocol

from .errors import DamagedError, Error
from .far_options import Access
from .mapping import Bytes
from .objects import StoredObjects
from .urls import origin_of
from .web import ObjectChanged, Reply, TemporaryFailure, WebObjects

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 16.0  # seconds between two tries; the pause doubles each time


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
