"""Tasks of Spark: each is a job of one task, which the page of the application shows, with its output in the log of its executor."""
from __future__ import annotations

import os
import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Dict

from . import launch_task
from .errors import DependencyError, Error, OptionError
from .launch_engines import Engine, Result, package, reach, title

GROUP = "bload"
CONFIGURED = "MASTER", "PYSPARK_GATEWAY_PORT", "SPARK_CONF_DIR", "SPARK_HOME"   # one of these is set where Spark may know its master
THREADS = 256       # jobs that Spark has at the same time; each has a thread here


class Spark(Engine):
    """An application of Spark. A thread for each task waits for its job."""

    def __init__(self, context: Any, job: Dict[str, Any], tasks: int):
        def run(task: int) -> Result:
            """Run a task in a Python process of an executor, which kills it when the job is cancelled."""
            return launch_task.run(job, task)

        self.context, self.job, self.run = context, job, run
        self.pool = ThreadPoolExecutor(min(tasks, THREADS))

    def submit(self, task: int) -> Future[Result]:
        """Hand over a task."""
        return self.pool.submit(self.wait, task)

    def wait(self, task: int) -> Result:
        """Run a job and return its result."""
        self.context.setJobGroup(GROUP, title(self.job, task), interruptOnCancel=True)
        result: Result = self.context.parallelize([task], 1).map(self.run).collect()[0]
        return result

    def stop(self) -> None:
        """Drop the jobs that wait, and cancel those that run."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.context.cancelJobGroup(GROUP)

    def close(self) -> None:
        """End the application."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.context.stop()


def connect(job: Dict[str, Any], arguments: Any) -> Spark:
    """Begin an application on the cluster."""
    pyspark = package("pyspark", "pyspark")
    home = os.environ.get("JAVA_HOME")
    if not shutil.which(os.path.join(home, "bin", "java") if home else "java"):
        raise DependencyError("Spark needs Java, which is neither in JAVA_HOME nor on the PATH")
    wrong = [pair for pair in arguments.conf if "=" not in pair]
    if wrong:
        raise OptionError(f"--conf {wrong[0]}: not KEY=VALUE")
    address = arguments.address
    if address and address.startswith("spark://"):
        reach(address.partition(",")[0], "Spark master")
    conf = pyspark.SparkConf().setAppName(f"bload {job['command']} {job['output']}")
    # The launcher runs failed tasks again, and says so.
    conf.setAll([("spark.task.maxFailures", "1"), ("spark.task.cpus", str(arguments.cpus)), ("spark.ui.showConsoleProgress", "false")])
    conf.setAll([tuple(pair.split("=", 1)) for pair in arguments.conf])
    if address:
        conf.setMaster(address)
    elif not any(name in os.environ for name in CONFIGURED) and not conf.contains("spark.master"):
        raise OptionError("no Spark master: give --address spark://HOST:PORT, or spark.master in Spark's configuration")
    try:
        context = pyspark.SparkContext(conf=conf)
    except Exception as error:      # pylint: disable=broad-except
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise Error(f"no application of Spark at {address or 'its master'}: {lines[-1] if lines else error!r}") from None
    pyspark.cloudpickle.register_pickle_by_value(launch_task)
    return Spark(context, job, arguments.tasks)
