"""The options of bload.open for datasets that lie far away."""
from __future__ import annotations

import os
from typing import Any, Dict, NamedTuple, Optional

from . import arguments
from .errors import OptionError
from .urls import origin_of

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
