"""Clusters of released engines on the loopback interface: a head, and two workers of two processors each. They end with the block."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

WORKERS = 2
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"      # starts in half the time


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class Cluster(contextlib.ExitStack):
    """Its processes, each the leader of a group, and a folder with what they write."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="bload-", dir="/tmp")     # short: names of sockets are
        self.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.log = os.path.join(self.folder, "log")

    def start(self, *command, **environment):
        with open(self.log, "ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=self.folder,
                                       env={**os.environ, **environment})
        self.callback(self.end, process)

    @staticmethod
    def end(process):
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            pass
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def until(self, is_ready):
        limit = time.monotonic() + 120
        while not is_ready():
            if time.monotonic() > limit:
                with open(self.log, errors="replace") as file:
                    raise AssertionError(f"the cluster does not start\n{file.read()[-3000:]}")
            time.sleep(0.2)


def script(name):
    return os.path.join(os.path.dirname(sys.executable), name)


def ray(cluster):
    """Start nodes of Ray, and return the words by which the launcher finds them."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    store = ["--object-store-memory", "100000000", "--node-ip-address", "127.0.0.1", "--block", "--disable-usage-stats"]
    cluster.start(script("ray"), "start", "--head", "--port", str(port), "--num-cpus", "0", "--include-dashboard", "false", "--temp-dir",
                  cluster.folder, *store)
    cluster.until(lambda: reachable(port))
    command = [script("ray"), "status", "--address", address]
    for joined in range(1, WORKERS + 1):    # one after the other: two that start at the same time may wait for each other
        cluster.start(script("ray"), "start", "--address", address, "--num-cpus", "2", "--num-gpus", "1", *store)
        cluster.until(lambda: f"/{2 * joined}.0 CPU" in subprocess.run(command, capture_output=True, text=True).stdout)
    return "ray", "--address", address


def reachable(port):
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    return False


def dask(cluster, *before):
    """Start a scheduler and workers of Dask; the command of these begins with the words `before`."""
    file = os.path.join(cluster.folder, "scheduler.json")
    cluster.start(script("dask"), "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file)
    cluster.until(lambda: os.path.exists(file))
    for _ in range(WORKERS):
        cluster.start(*before, script("dask"), "worker", "--host", "127.0.0.1", "--scheduler-file", file, "--nthreads", "2", "--no-dashboard",
                      "--memory-limit", "0", "--local-directory", cluster.folder)
    return "dask", "--address", file


def spark(cluster):
    """Start a master and workers of Spark."""
    import pyspark
    home = os.path.dirname(pyspark.__file__)
    local = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": home}
    run, port = os.path.join(home, "bin", "spark-class"), free_port()
    master = f"spark://127.0.0.1:{port}"
    place = "org.apache.spark.deploy"
    cluster.start(run, f"{place}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0", **local)
    cluster.until(lambda: reachable(port))
    for i in range(WORKERS):
        cluster.start(run, f"{place}.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "--cores", "2", "--memory", "1g", "--work-dir",
                      os.path.join(cluster.folder, f"worker{i}"), master, **local)
    properties = ["executor.memory=512m", "driver.host=127.0.0.1", "ui.enabled=false", f"executor.extraJavaOptions={JAVA}"]
    return ["spark", "--address", master, *(f"--conf=spark.{one}" for one in properties)]
