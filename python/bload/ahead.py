"""Fetches in advance what the blocks need that a process reads next, in the order of a sampler."""
from __future__ import annotations

import queue
import sys
import threading
from typing import Any, Callable, Iterator, List, Optional, Protocol, Tuple

Task = Callable[[], None]


class Ordered(Protocol):
    """The order of an epoch; see sampler.Order."""
    @property
    def batch(self) -> int: ...

    def total(self) -> int: ...

    def number(self, place: int) -> int: ...


def workers() -> int:
    """How many processes divide the batches among them, of which this is one."""
    data: Any = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data else None
    return info.num_workers if info else 1


class Pattern:
    """Which places of an order a process reads: batches of neighbours, a stride apart. A worker of a DataLoader reads every N-th batch; what
    the first batches show corrects the first guess.
    """

    def __init__(self, batch: int, stride: int):
        self.batch, self.stride = batch, stride
        self.start = self.last = -1

    def seen(self, place: int) -> None:
        if self.start < 0 or place == self.last + 1 and place - self.start >= self.batch:
            self.start = place
        elif not self.last <= place <= self.last + 1:
            self.batch, self.stride = self.last - self.start + 1, max(1, abs(place - self.start))
            self.start = place
        self.last = place

    def following(self) -> Iterator[int]:
        """The places that are read next, without end."""
        start = self.start
        while True:
            for place in range(max(start, self.last + 1), start + self.batch):
                yield place
            start += max(self.stride, self.batch)


class Ahead:
    """Threads that fetch in advance. tasks(number): what makes a block ready that is read soon, in parts. depth: how many blocks.

    Faults are not told here: whoever reads the block meets them again.
    """

    def __init__(self, tasks: Callable[[int], List[Task]], depth: int, threads: int):
        self.tasks, self.depth, self.threads = tasks, depth, threads
        self.queue: "queue.SimpleQueue[Tuple[Any, int, Task]]" = queue.SimpleQueue()
        self.running = 0
        self.order: Optional[Ordered] = None
        self.pattern = Pattern(1, 1)
        self.sent = -1

    def seen(self, order: Ordered, place: int) -> None:
        """The block in this place of an order is about to be read."""
        if order != self.order:
            self.order, self.sent = order, place
            self.pattern = Pattern(order.batch, order.batch * workers())
        self.pattern.seen(place)
        total = order.total()
        for _, following in zip(range(self.depth), self.pattern.following()):
            if following >= total:
                break
            if following > self.sent:
                self.sent = following
                self.start()
                self.queue.put((order, following, self.expand(order, following)))

    def expand(self, order: Ordered, place: int) -> Task:
        """A task that finds out which parts a block needs, and has the others made ready by other threads."""
        def task() -> None:
            parts = self.tasks(order.number(place))
            for part in parts[1:]:
                self.queue.put((order, place, part))
            for part in parts[:1]:
                part()
        return task

    def start(self) -> None:
        while self.running < self.threads:
            self.running += 1
            threading.Thread(target=self.work, name="bload-ahead", daemon=True).start()

    def work(self) -> None:
        while True:
            order, place, task = self.queue.get()
            if order is self.order and place >= self.pattern.start:
                try:
                    task()
                except Exception:  # see above
                    pass
