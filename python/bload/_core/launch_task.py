"""Run one task of bload on a worker of an engine. Engines send these functions by value: a worker needs the tool, and not this package."""
from __future__ import annotations

import collections
import contextlib
import ctypes
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional

# A status of our own: this worker can run no task. Exit statuses end at 255.
UNUSABLE = 256
CONFIGURATION = "@CONFIGURATION@"    # stands for the path of the file of options, where its text comes with the job
TAIL = 20           # lines of a task that are kept
GRACE = 10          # seconds that the tool may take to end
PR_SET_PDEATHSIG = 1


def identity(tool: str) -> str:
    """Return the version and the digest of a tool, by which builds are compared; raise OSError if it cannot be run."""
    said = subprocess.run([tool, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    with open(tool, "rb") as file:
        return f"{said.decode(errors='replace').partition(chr(10))[0]} {hashlib.sha256(file.read()).hexdigest()}"


def find_tool(path: str) -> Optional[str]:
    """Return the tool of this machine: that of the given path, in the installed package, or on the PATH."""
    if os.access(path, os.X_OK):
        return path
    try:
        from bload.__main__ import tool  # type: ignore[import-not-found, unused-ignore]
        return tool()  # type: ignore[no-any-return, unused-ignore]
    except ImportError:
        return shutil.which("bload")


def to_output(text: str) -> None:
    """Log a line to standard output, which engines keep for each task."""
    print(text, flush=True)


def fault_of(job: Dict[str, Any], task: int, tool: Optional[str]) -> str:
    """Return why this machine cannot run tasks of the job, or an empty text. Reads and writes a small file beside the output, if that is
    on a disk."""
    return (fault_of_disk(job, task) if job["probe"] else "") or fault_of_tool(job, tool)


def fault_of_disk(job: Dict[str, Any], task: int) -> str:
    """Return why this machine does not share the disk of the output, or an empty text."""
    host = socket.gethostname()
    if not os.path.isdir(job["directory"]):
        return f"{host} does not see the working directory {job['directory']}: start this where all workers see the same files"
    try:
        with open(job["probe"], encoding="utf-8") as file:
            shared = file.read() == job["token"]
    except OSError:
        shared = False
    if not shared:
        return f"{host} does not see the disk of {job['output']}: the output must be in a directory that all workers share"
    try:
        mine = f"{job['probe'][:-3]}{task % 4096:03x}"  # the tool knows such names, and may remove them; that of the probe ends otherwise
        with open(mine, "w", encoding="utf-8") as file:
            file.write(host)
        os.unlink(mine)
    except FileNotFoundError:
        pass                                            # another attempt at this task has removed it
    except OSError as error:
        return f"{host} cannot write to {os.path.dirname(job['probe'])}: {error.strerror}"
    return ""


def fault_of_tool(job: Dict[str, Any], tool: Optional[str]) -> str:
    """Return why this machine cannot run the tool, or an empty text."""
    host = socket.gethostname()
    if tool is None:
        return f"{host} has no bload: it is neither {job['tool']} nor on the PATH"
    try:
        found = identity(tool)
    except OSError as error:
        return f"{host} cannot run {tool}: {error.strerror}"
    if found != job["identity"]:
        mine, other = (text.rpartition(" ")[0] or "another program" for text in (job["identity"], found))
        return f"{host} has {'another build of ' if mine == other else ''}{other} ({tool}), and this machine {mine} ({job['tool']})"
    return ""


def follow(child: subprocess.Popen[bytes], tail: Deque[str], log: Callable[[str], None]) -> None:
    """Log the lines that the tool writes, and keep the last ones."""
    assert child.stdout
    for line in child.stdout:
        text = line.decode(errors="replace").rstrip()
        tail.append(text)
        log(text)


def end(child: subprocess.Popen[bytes]) -> None:
    """End the tool, which needs a second to clean up."""
    child.terminate()
    try:
        child.wait(GRACE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


@contextlib.contextmanager
def words_of(job: Dict[str, Any]) -> Iterator[List[str]]:
    """Give the words of the job's command. The file of options that came with the job is there for as long."""
    if not job["configuration"]:
        yield job["words"]
        return
    with tempfile.NamedTemporaryFile("w", prefix="bload-", suffix=".yaml", encoding="utf-8") as file:
        file.write(job["configuration"])
        file.flush()
        yield [word.replace(CONFIGURATION, file.name) for word in job["words"]]


def run(job: Dict[str, Any], task: int, log: Callable[[str], None] = to_output, stopped: Callable[[], bool] = lambda: False) -> Dict[str, Any]:
    """Run a task and return its status, host, seconds and last lines. The tool ends when `stopped` returns true, or with this thread."""
    began, host = time.monotonic(), socket.gethostname()
    name = f"task {task} of {job['tasks']}"
    tool = find_tool(job["tool"])
    fault = fault_of(job, task, tool)
    if fault or tool is None:
        return {"status": UNUSABLE, "host": host, "seconds": 0.0, "tail": [fault]}
    libc, parent = ctypes.CDLL(None), os.getpid()

    def end_with_parent() -> None:
        """End the tool when the worker is killed, which can then do nothing itself."""
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    tail: Deque[str] = collections.deque(maxlen=TAIL)
    with words_of(job) as words:
        command = [tool, job["command"], "--task", f"{task}/{job['tasks']}", *job["options"], *words]
        # With an output in a store, the sources may be there, too: then the working directory does not matter.
        directory = job["directory"] if os.path.isdir(job["directory"]) else tempfile.gettempdir()
        child = subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 preexec_fn=end_with_parent)
        reader = threading.Thread(target=follow, args=(child, tail, lambda line: log(f"{name}: {line}")), daemon=True)
        reader.start()
        try:
            while True:
                try:
                    child.wait(1)
                    break
                except subprocess.TimeoutExpired:
                    if stopped():
                        break
        finally:
            if child.poll() is None:
                end(child)
        reader.join(GRACE)
    lines: List[str] = list(tail)
    return {"status": child.returncode, "host": host, "seconds": time.monotonic() - began, "tail": lines}
