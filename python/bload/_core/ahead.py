"""Prefetch the blocks that this process will read next, in the order of a sampler."""
from __future__ import annotations

import contextlib
import itertools
import queue
import sys
import threading
from typing import Any, Callable, Iterator, List, Optional, Protocol, Tuple

Task = Callable[[], None]


class Ordered(Protocol):
    """The order of an epoch; sampler.Order documents each method."""
    @property
    def batch(self) -> int: ...

    def total(self) -> int: ...

    def number(self, place: int) -> int: ...


def workers() -> int:
    """Return the number of DataLoader workers that divide the batches among them, of which this process is one; 1 outside a worker."""
    data: Any = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data else None
    return info.num_workers if info else 1


class Pattern:
    """Which positions of an order this process reads: batches of neighbours, a stride apart.

    A worker of a DataLoader reads every N-th batch. Batch and stride start as a guess, which the first batches correct.
    """

    def __init__(self, batch: int, stride: int):
        self.batch, self.stride = batch, stride
        self.start, self.last = -1, -2

    def seen(self, place: int) -> bool:
        """Record that a position is read, and return whether it was the expected one."""
        inside = place - self.start
        if inside < self.batch and place == self.last + 1:
            expected = True
        elif inside == max(self.stride, self.batch) and self.last == self.start + self.batch - 1:
            self.start, expected = place, True
        else:
            if self.start >= 0 and not self.last <= place <= self.last + 1:
                self.batch, self.stride = self.last - self.start + 1, max(1, abs(inside))
            self.start, expected = place, False
        self.last = place
        return expected

    def following(self) -> Iterator[int]:
        """Return an endless iterator over the positions that are read next if the pattern holds."""
        stride = max(self.stride, self.batch)
        later = (range(start, start + self.batch) for start in itertools.count(self.start + stride, stride))
        return itertools.chain(range(self.last + 1, self.start + self.batch), itertools.chain.from_iterable(later))


class Prefetcher:
    """Threads that fetch blocks before they are read.

    tasks(number) returns the downloads that a block still needs, or none. depth is the number of blocks to fetch in advance. Errors are
    ignored here, because the reader of the block meets them again.
    """

    def __init__(self, tasks: Callable[[int], List[Task]], depth: int, threads: int):
        self.tasks, self.depth, self.threads = tasks, depth, threads
        self.queue: "queue.SimpleQueue[Tuple[Any, int, Task]]" = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.running = 0
        self.order: Optional[Ordered] = None
        self.pattern = Pattern(1, 1)
        self.coming: Iterator[int] = iter(())
        self.left = 0   # how many positions taken from `coming` have not been read
        self.sent = -1  # the last position whose tasks were queued

    def seen(self, order: Ordered, place: int) -> None:
        """Announce that the block in this position of an order is about to be read, and queue the following ones."""
        with self.lock:  # several threads may read
            if order != self.order:
                self.order, self.sent = order, place
                self.pattern = Pattern(order.batch, order.batch * workers())
            if self.pattern.seen(place):
                self.left -= 1
            else:
                self.coming, self.left = self.pattern.following(), 0
            total = order.total()
            while self.left < self.depth:
                following = next(self.coming)
                if following >= total:
                    break
                self.left += 1
                if following > self.sent:
                    self.sent = following
                    with contextlib.suppress(Exception):  # see above
                        self.send(self.order, following, self.tasks(order.number(following)))

    def send(self, order: Any, place: int, tasks: List[Task]) -> None:
        """Queue tasks and start threads for them. `order` is the object in self.order: its identity shows later whether it is still current."""
        for task in tasks:
            self.queue.put((order, place, task))
        while tasks and self.running < self.threads:
            self.running += 1
            threading.Thread(target=self.work, name="bload-ahead", daemon=True).start()

    def work(self) -> None:
        """Run tasks for ever, except those that a new order or an advanced position made useless."""
        while True:
            order, place, task = self.queue.get()
            if order is self.order and place >= self.pattern.start:
                with contextlib.suppress(Exception):  # see above
                    task()
