"""Convert items in worker processes, and yield the results in the order of the items."""
from __future__ import annotations

import ctypes
import multiprocessing
import signal
from multiprocessing.connection import wait
from typing import Any, Callable, Dict, Generic, Iterable, Iterator, List, Tuple, TypeVar

from .errors import Error

LOST = "a worker ended early, perhaps because memory ran out: try fewer workers"
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3     # of malloc.h
Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers(Generic[Item, Result]):
    """Forked processes that call a function. They share what the main process loaded before, such as a tokenizer.

    Each worker has one chunk of items at a time, so that worker and main process never both block in send.
    """

    def __init__(self, convert: Callable[[Item], Result], count: int, where: Callable[[Item], str] = lambda item: ""):
        """Remember the function and the number of workers; 1: the main process calls the function itself. where: names an item in messages."""
        self.convert, self.count, self.where = convert, count, where

    def results(self, chunks: Iterable[List[Item]]) -> Iterator[Result]:
        """Yield the results of all items, in order; raise Error if a worker ended."""
        if self.count == 1:
            keep_memory()
            for chunk in chunks:
                yield from map(self.convert, chunk)
            return
        idle = self.start()
        busy: Dict[Any, Tuple[int, List[Item]]] = {}    # the chunk of each worker, and its number
        done: Dict[int, List[Result]] = {}
        first = 0                                   # the next chunk in order
        for number, chunk in enumerate(chunks):
            # Limit how many finished chunks wait for an earlier one, which bounds memory.
            while not idle or number - first >= 2 * self.count:
                idle += self.collect(busy, done)
                while first in done:
                    yield from done.pop(first)
                    first += 1
            worker = idle.pop()
            try:
                worker.send(chunk)
            except ConnectionError:
                raise self.lost(chunk) from None
            busy[worker] = number, chunk
        while busy:
            idle += self.collect(busy, done)
        for number in sorted(done):
            yield from done[number]
        for worker in idle:
            worker.close()

    def start(self) -> List[Any]:
        """Start the workers and return the connections to them."""
        fork = multiprocessing.get_context("fork")
        connections: List[Any] = []
        for _ in range(self.count):
            here, there = fork.Pipe()
            fork.Process(target=self.work, args=(there, connections + [here]), daemon=True).start()
            there.close()
            connections.append(here)
        return connections

    def work(self, connection: Any, others: List[Any]) -> None:
        """Convert chunks in a worker until the main process closes the connection or ends."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        keep_memory()
        for other in others:    # a fork inherits these; while they are open, the other workers would not notice that the main process died
            other.close()
        try:
            while True:
                connection.send([self.convert(item) for item in connection.recv()])
        except (EOFError, ConnectionError):
            pass

    def collect(self, busy: Dict[Any, Tuple[int, List[Item]]], done: Dict[int, List[Result]]) -> List[Any]:
        """Wait until workers finish their chunks, store the results, and return these workers; raise Error if a worker ended."""
        ready: List[Any] = wait(list(busy))
        for worker in ready:
            number, chunk = busy.pop(worker)
            try:
                done[number] = worker.recv()
            except (EOFError, ConnectionError):
                raise self.lost(chunk) from None
        return ready

    def lost(self, chunk: List[Item]) -> Error:
        """Return the error for a worker that ended with a chunk."""
        names = [name for name in map(self.where, chunk) if name]
        return Error(LOST + (f"; it had {', '.join(names)}, whose media may have crashed their decoder" if names else ""))


def keep_memory() -> None:
    """Let malloc keep what is freed: arrays of some megabytes would be mapped, filled with zeros and unmapped for each item."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)   # of glibc
    if mallopt is not None:
        mallopt(MMAP_THRESHOLD, 1 << 30)
        mallopt(TRIM_THRESHOLD, 1 << 30)
