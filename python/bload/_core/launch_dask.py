"""Tasks of Dask, which shows them in its dashboard, and their output in the logs of its workers."""
from __future__ import annotations

import asyncio
import json
import logging
import secrets
from concurrent.futures import Future
from typing import Any, Dict, List

from . import launch_task
from .errors import Error, OptionError
from .launch_engines import CONNECT_SECONDS, Engine, Result, package, reach, title


class Dask(Engine):
    """A client of a scheduler. A thread of a worker cannot be interrupted, so tasks ask an event whether they are to end."""

    def __init__(self, client: Any, distributed: Any, job: Dict[str, Any]):
        event = f"bload-{secrets.token_hex(8)}"

        def run(task: int) -> Result:
            """Run a task in a thread of a worker."""
            from distributed import Event, get_client
            stop = Event(event, client=get_client())
            return launch_task.run(job, task, logging.getLogger("distributed.worker").info, stop.is_set)

        self.client, self.job, self.run = client, job, run
        self.event = distributed.Event(event, client=client)
        self.futures: List[Any] = []

    def submit(self, task: int) -> Future[Result]:
        """Hand over a task."""
        key = f"{title(self.job, task)}-{secrets.token_hex(8)}"
        remote = self.client.submit(self.run, task, key=key, pure=False)
        self.futures.append(remote)
        out: Future[Result] = Future()
        remote.add_done_callback(lambda future: settle(out, future))
        return out

    def stop(self) -> None:
        """Drop the tasks that wait, and have those that run end."""
        self.event.set()
        self.client.cancel(self.futures, force=True)

    def close(self) -> None:
        """Leave the cluster."""
        self.client.close()


def settle(out: Future[Result], remote: Any) -> None:
    """Pass on what became of a task. It may be cancelled while this looks."""
    try:
        out.set_result(remote.result())
    except (Exception, asyncio.CancelledError) as error:    # pylint: disable=broad-except
        out.set_exception(Error(f"{type(error).__name__}: {error}"))


def connect(job: Dict[str, Any], arguments: Any) -> Dask:
    """Connect to the scheduler."""
    distributed = package("distributed", "distributed")
    address = arguments.address or distributed.config.get("scheduler-address", None)
    if not address:
        raise OptionError("no scheduler of Dask: give --address tcp://HOST:PORT, or set DASK_SCHEDULER_ADDRESS")
    if address.endswith(".json"):
        try:
            with open(address, encoding="utf-8") as file:
                address = str(json.load(file)["address"])
        except (ValueError, KeyError, TypeError):
            raise Error("not a file that a scheduler of Dask wrote", address) from None
    reach(address, "scheduler of Dask")
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise Error(f"no scheduler of Dask at {address}: {str(error).splitlines()[0]}") from None
    import cloudpickle
    cloudpickle.register_pickle_by_value(launch_task)
    return Dask(client, distributed, job)
