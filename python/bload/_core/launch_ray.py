"""Tasks of Ray, which shows them in its dashboard, and their output in the logs of their workers."""
from __future__ import annotations

import os
from concurrent.futures import Future
from typing import Any, Dict, List

from . import launch_task
from .errors import Error, OptionError
from .launch_engines import Engine, Result, package, reach, title


class Ray(Engine):
    """A remote function of Ray."""

    def __init__(self, ray: Any, job: Dict[str, Any], arguments: Any):
        def run(task: int) -> Result:
            """Run a task in a worker of Ray, which a cancellation interrupts."""
            return launch_task.run(job, task)

        self.ray, self.job = ray, job
        self.references: List[Any] = []
        wanted = {"memory": arguments.memory} if arguments.memory else {}
        most = max((node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]), default=0)
        if most < arguments.cpus:
            self.note = f"no node of the cluster has {arguments.cpus} processors (the largest has {most:.0f}): the tasks wait for one"
        self.remote = ray.remote(num_cpus=arguments.cpus, num_gpus=arguments.gpus, max_retries=0, **wanted)(run)

    def submit(self, task: int) -> Future[Result]:
        """Hand over a task."""
        reference = self.remote.options(name=title(self.job, task)).remote(task)
        self.references.append(reference)
        future: Future[Result] = reference.future()
        return future

    def stop(self) -> None:
        """Drop the tasks that wait, and interrupt those that run."""
        for reference in self.references:
            self.ray.cancel(reference)

    def close(self) -> None:
        """Leave the cluster."""
        self.ray.shutdown()


def connect(job: Dict[str, Any], arguments: Any) -> Ray:
    """Connect to the cluster."""
    ray = package("ray", "ray")
    address = arguments.address or os.environ.get("RAY_ADDRESS") or "auto"
    if address == "local":
        raise OptionError("--address local would start a cluster: give that of one, or the engine local")
    if address != "auto":
        reach(address, "Ray cluster")
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise Error(f"no Ray cluster at {address}: {str(error).splitlines()[0]}" if address != "auto" else
                    "no Ray cluster on this machine: give --address HOST:PORT, or set RAY_ADDRESS") from None
    ray.cloudpickle.register_pickle_by_value(launch_task)
    return Ray(ray, job, arguments)
