"""Tasks as processes of this machine."""
from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Dict

from . import launch_task
from .launch_engines import Engine, Result


class Local(Engine):
    """A thread for each task that runs; it waits for the tool. Only what failed tasks write is shown."""

    def __init__(self, job: Dict[str, Any], at_once: int):
        self.job = job
        self.stopped = threading.Event()
        self.pool = ThreadPoolExecutor(at_once)

    def submit(self, task: int) -> Future[Result]:
        """Hand over a task."""
        return self.pool.submit(launch_task.run, self.job, task, lambda line: None, self.stopped.is_set)

    def stop(self) -> None:
        """Drop the tasks that wait, and end those that run."""
        self.stopped.set()
        self.pool.shutdown(wait=False, cancel_futures=True)


def connect(job: Dict[str, Any], arguments: Any) -> Local:
    """Return this machine as an engine."""
    return Local(job, arguments.at_once or max(1, len(os.sched_getaffinity(0)) // arguments.cpus))
