"""Fetches in advance what the blocks need that a process reads next, in the order of a sampler."""
from __future__ import annotations

import contextlib
import itertools
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
        self.start, self.last = -1, -2

    def seen(self, place: int) -> bool:
        """Whether a place follows on the last one as was expected."""
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
        """The places that are read next, without end, unless another one comes than was expected."""
        stride = max(self.stride, self.batch)
        later = (range(start, start + self.batch) for start in itertools.count(self.start + stride, stride))
        return itertools.chain(range(self.last + 1, self.start + self.batch), itertools.chain.from_iterable(later))


class Ahead:
    """Threads that fetch in advance. tasks(number): what brings a block here that is read soon, in parts; none, if it is here. depth: how
    many blocks.

    Faults are not told here: whoever reads the block meets them again.
    """

    def __init__(self, tasks: Callable[[int], List[Task]], depth: int, threads: int):
        self.tasks, self.depth, self.threads = tasks, depth, threads
        self.queue: "queue.SimpleQueue[Tuple[Any, int, Task]]" = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.running = 0
        self.order: Optional[Ordered] = None
        self.pattern = Pattern(1, 1)
        self.coming: Iterator[int] = iter(())
        self.left = 0   # how many of those that came out of `coming` have not been read
        self.sent = -1  # the last place that was looked after

    def seen(self, order: Ordered, place: int) -> None:
        """The block in this place of an order is about to be read."""
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
        """Has threads do what is needed. order: the object that is kept, by which they know that it is still asked for."""
        for task in tasks:
            self.queue.put((order, place, task))
        while tasks and self.running < self.threads:
            self.running += 1
            threading.Thread(target=self.work, name="bload-ahead", daemon=True).start()

    def work(self) -> None:
        while True:
            order, place, task = self.queue.get()
            if order is self.order and place >= self.pattern.start:
                with contextlib.suppress(Exception):  # see above
                    task()
