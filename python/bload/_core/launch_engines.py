"""What bload.launch asks of an engine, and what the engines have in common. Each engine has a file of its own, loaded when it is used."""
from __future__ import annotations

import importlib
import socket
from concurrent.futures import Future
from typing import Any, Dict, Tuple

from .errors import DependencyError, Error, OptionError

Result = Dict[str, Any]     # what launch_task.run returns

ENGINES = "dask", "local", "ray", "spark"
CONNECT_SECONDS = 10


class Engine:
    """A cluster that runs tasks. It schedules them; a future has the result of one, or an exception if the cluster lost it.

    note: what the user should know before the tasks, or an empty text.
    """

    note = ""

    def submit(self, task: int) -> Future[Result]:
        """Hand over a task."""
        raise NotImplementedError

    def stop(self) -> None:
        """Drop the tasks that wait, and have those that run end their tool."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave the cluster, which goes on."""


def connect(name: str, job: Dict[str, Any], arguments: Any) -> Engine:
    """Return the engine of that name; raise Error if its package or its cluster is not there."""
    module = importlib.import_module(f".launch_{name}", __package__)
    engine: Engine = module.connect(job, arguments)
    return engine


def package(name: str, distribution: str) -> Any:
    """Import the package of an engine; raise DependencyError if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise DependencyError(f"{distribution} cannot be imported: {str(error).splitlines()[0]} (pip install {distribution})") from None


def title(job: Dict[str, Any], task: int) -> str:
    """Return the name under which the engine shows a task."""
    return f"bload {job['command']} --task {task}/{job['tasks']}"


def host_and_port(address: str) -> Tuple[str, int]:
    """Return the parts of HOST:PORT, behind a scheme or not; raise OptionError if it is something else."""
    host, colon, port = address.rpartition("://")[2].rstrip("/").rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise OptionError(f"--address {address}: not HOST:PORT")
    return host.strip("[]"), int(port)


def reach(address: str, what: str) -> None:
    """Raise Error if nobody listens at an address: engines themselves ask for minutes."""
    try:
        socket.create_connection(host_and_port(address), CONNECT_SECONDS).close()
    except OSError as error:
        raise Error(f"no {what} at {address}: {error.strerror or error}") from None
