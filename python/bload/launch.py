"""Run the tasks of bload pack or bload scan on a cluster that is there already: Ray, Dask, Spark, Slurm, Kubernetes, or this machine.

    python -m bload.launch ray -n 16 -- pack -c dataset.yaml -o /shared/dataset

Every `bload pack --task i/16` is a task of the engine, which shows its name and its log. Failed tasks are run again, at last `bload finish`
completes the dataset. Sources and output are on disks that all workers and this machine see under the same paths, or in an object store
(s3://, gs://), and the workers have the same build of the tool; on Ray, Dask and Spark each task checks that first. Kubernetes: the manifest of the Jobs
is printed; with an output in a store it is one Job, whose pods need no volume. Slurm: `bload slurm` submits its chain of jobs, and this command
waits for it; with an output in a store the tasks are a job array.

Exit status: 0 done; 1 failed, the same command resumes; 2 wrong usage; 3 done, but inputs were skipped, and named.
"""
from __future__ import annotations

import argparse
import ast
import concurrent.futures
import contextlib
import json
import os
import queue
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from . import __main__ as installed
from ._core.command_line import Parser
from ._core.errors import DependencyError, Error, OptionError
from ._core.launch_engines import ENGINES, Engine, Result, connect
from ._core.launch_task import CONFIGURATION, UNUSABLE, identity
from ._core.launch_words import carry, is_url, known, text_of_file

COMMANDS = "pack", "scan"
NOT_FOR_TASKS = "--task", "--help", "-h", "--dry-run", "--print-config", "--repair", "-"
# Options that only these engines have.
OWN = {"address": ("ray", "dask", "spark"), "conf": ("spark",), "sbatch": ("slurm",), "at_once": ("local",), "gpus": ("ray", "slurm", "kubernetes"),
       **dict.fromkeys(("image", "claim", "mount", "name", "secret", "service_account", "scratch_size"), ("kubernetes",))}
STATUS_SECONDS = 30     # between two lines of progress
SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
STOP_SECONDS = 15       # that tasks may take to end after an interruption


class Interrupted(Exception):
    """A signal ended the command."""


def say(text: str) -> None:
    """Write a line to standard error."""
    print(f"bload.launch: {text}", file=sys.stderr, flush=True)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line in front of `--`."""
    made = Parser(prog="python -m bload.launch", usage="python -m bload.launch ENGINE -n N [options] -- pack OPTION... SOURCE...",
                  formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__, allow_abbrev=False)
    add = made.add_argument
    add("engine", choices=sorted([*ENGINES, "kubernetes", "slurm"]), metavar="ENGINE", help="ray, dask, spark, slurm, kubernetes or local")
    add("-n", "--tasks", type=positive, required=True, metavar="N", help="number of tasks; several times as many shards balance them")
    add("--retries", type=natural, default=2, metavar="N", help="how often a failed task is run again [2]")
    add("--cpus", type=positive, default=1, metavar="N", help="processors of a task, which are requested where the engine counts them; "
        "the tool gets as many threads [1]")
    add("--memory", type=size, metavar="BYTES", help="memory of a task, as 8G, which is requested where the engine counts it; the tool uses "
        "at most nine tenths")
    add("--gpus", type=natural, default=0, metavar="N", help="GPUs of a task, which are requested from Ray, Slurm and Kubernetes; with "
        "--decoder gpu behind -- [none]")
    add("-q", "--quiet", action="store_true", help="only faults")
    group = made.add_argument_group("ray, dask, spark")
    group.add_argument("--address", metavar="ADDRESS", help="the cluster: HOST:PORT or ray://HOST:PORT [RAY_ADDRESS, or the cluster of this "
                       "machine]; tcp://HOST:PORT or a scheduler's JSON file [DASK_SCHEDULER_ADDRESS]; spark://HOST:PORT, yarn [spark.master "
                       "of the configuration]")
    group.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="Spark: a property of the application; repeat it")
    group = made.add_argument_group("slurm")
    group.add_argument("--sbatch", action="append", default=[], metavar="OPTION", help="an option of sbatch, as --sbatch=--time=1:00:00; repeat it")
    group = made.add_argument_group("kubernetes")
    group.add_argument("--image", metavar="IMAGE", help="an image that has the tool")
    group.add_argument("--claim", metavar="NAME", help="the PersistentVolumeClaim with sources and output (ReadWriteMany); with a URL as output none "
                       "is needed")
    group.add_argument("--mount", metavar="DIR", default="/corpus", help="where it is mounted, and the working directory [/corpus]")
    group.add_argument("--secret", metavar="NAME", help="a Secret whose keys become environment variables, as AWS_ACCESS_KEY_ID, "
                       "AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL")
    group.add_argument("--service-account", metavar="NAME", help="the ServiceAccount of the pods, which may have access to buckets")
    group.add_argument("--scratch-size", type=size, metavar="BYTES", help="with a URL as output: disk of a pod for what is not sent yet, as 20G, "
                       "which is requested, and not exceeded [no limit]")
    group.add_argument("--name", default="bload", help="how the names of the Jobs begin [bload]")
    group = made.add_argument_group("local")
    group.add_argument("--at-once", type=positive, metavar="N", help="tasks that run at the same time [as many as processors allow]")
    return made


def positive(text: str) -> int:
    """Parse a number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"not a number from 1: {text}")
    return int(text)


def natural(text: str) -> int:
    """Parse a number from 0."""
    return 0 if text == "0" else positive(text)


def size(text: str) -> int:
    """Parse a number of bytes, with K, M, G or T for powers of 1024."""
    unit = "KMGT".find(text[-1:].upper()) + 1 if text[-1:] else 0
    return positive(text[:-1] if unit else text) << (10 * unit)


def tool() -> str:
    """Return the absolute path of the tool; raise DependencyError if it is not installed."""
    found = os.environ.get("BLOAD") or installed.tool()
    if found is None:
        raise DependencyError("the tool bload is neither in the package nor on the PATH: pip install bload, or make install")
    return os.path.abspath(found)


def split(arguments: Sequence[str]) -> Tuple[List[str], List[str]]:
    """Return the words in front of `--` and behind it."""
    if "--" not in arguments:
        return list(arguments), []
    at = list(arguments).index("--")
    return list(arguments[:at]), list(arguments[at + 1:])


def output_of(program: str, words: List[str]) -> Tuple[str, List[str]]:
    """Return the output that the command names, and the options for its store, as the tool reads them; raise OptionError with its message."""
    done = subprocess.run([program, "pack", *words, "--print-config"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OptionError(message_of(done.stderr.splitlines()))
    found = {name: value for name, colon, value in (line.partition(": ") for line in done.stdout.splitlines()) if colon}
    if "output" not in found:
        raise OptionError("the output is missing: give -o DIR or -o s3://BUCKET/NAME behind --")
    store = [f"--{name}" for name in ("anonymous", "insecure") if found.get(name) == "true"]
    store += [word for name in ("endpoint", "lock-dir") if name in found for word in (f"--{name}", text_of(found[name]))]
    output = text_of(found["output"])
    return output, store if is_url(output) else []


def text_of(value: str) -> str:
    """Return a text that the tool has written as YAML."""
    return str(ast.literal_eval(value)) if value[:1] in ("'", '"') else value


def message_of(lines: List[str]) -> str:
    """Return the last message of the tool, without its prefix."""
    found = [line for line in lines if line.strip()]
    return found[-1].replace("bload: ", "", 1) if found else "it wrote nothing"


def check(words: List[str]) -> None:
    """Raise OptionError if these words are no command that tasks can run."""
    if not words:
        raise OptionError("the command is missing: give it behind --, as in python -m bload.launch local -n 4 -- pack -c dataset.yaml -o out")
    if words[0] not in COMMANDS:
        raise OptionError(f"tasks run bload {' or bload '.join(COMMANDS)}, not {words[0]}")
    wrong = [word for word in words[1:] if word.partition("=")[0] in NOT_FOR_TASKS]
    if wrong:
        reason = {"--task": "the launcher gives each task its number", "-": "tasks have no standard input"}
        raise OptionError(f"{wrong[0]} is not for tasks of an engine" + (f": {reason[wrong[0]]}" if wrong[0] in reason else ""))


def check_options(options: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Raise OptionError if an option was given that the engine does not have."""
    for name, engines in OWN.items():
        if arguments.engine not in engines and getattr(arguments, name) != options.get_default(name):
            raise OptionError(f"--{name.replace('_', '-')} is for {', '.join(engines)}, not for {arguments.engine}")


class Probe:
    """A small file beside the output, by which a task sees that it has the same disk as this machine. It is gone at the end. An output in a
    store has none, and an empty path."""

    def __init__(self, output: str):
        self.token = secrets.token_hex(16)
        self.made = self.path = ""
        if is_url(output):
            return
        output = os.path.abspath(output)
        if os.path.isdir(output):
            folder, name = os.path.join(output, ".bload"), "bload-"     # a name that the tool knows there
            if not os.path.isdir(folder):
                os.mkdir(folder)
                self.made = folder
        else:
            folder, name = os.path.dirname(output), ".bload-"
            while not os.path.isdir(folder):
                folder = os.path.dirname(folder)
        while True:
            self.path = os.path.join(folder, f"{name}{secrets.token_hex(2)[:3]}-up")
            try:
                with open(self.path, "x", encoding="utf-8") as file:
                    file.write(self.token)
                return
            except FileExistsError:
                continue

    def remove(self) -> None:
        """Remove the file, and its folder if that was made for it and is empty."""
        for remove, path in ((os.unlink, self.path), (os.rmdir, self.made)):    # an empty path is not there
            try:
                remove(path)
            except OSError:
                pass    # gone, or in use by tasks


class Run:
    """The tasks of a command on an engine."""

    def __init__(self, engine: Engine, job: Dict[str, Any], arguments: argparse.Namespace):
        self.engine, self.job, self.quiet = engine, job, arguments.quiet
        self.tasks, self.retries = arguments.tasks, arguments.retries
        self.waiting: Dict[concurrent.futures.Future[Result], int] = {}
        # Of those, the ones that have a result; and a signal, whose exception must not meet the code of an engine: it could be lost there.
        self.over: queue.SimpleQueue[Union[concurrent.futures.Future[Result], int]] = queue.SimpleQueue()
        self.tries: Counter[int] = Counter()
        self.done = 0
        self.unusable = False
        self.failed: List[int] = []

    def submit(self, task: int) -> None:
        """Hand a task to the engine."""
        self.tries[task] += 1
        future = self.engine.submit(task)
        self.waiting[future] = task
        future.add_done_callback(self.over.put)

    def all(self) -> int:
        """Run all tasks and return the exit status of the command, as far as they decide it; raise Interrupted."""
        listen(self.over.put)
        for task in range(self.tasks):
            self.submit(task)
        shown = time.monotonic()
        while self.waiting:
            try:
                over = self.over.get(timeout=1)
            except queue.Empty:
                pass
            else:
                if isinstance(over, int):
                    raise Interrupted(over)
                status = self.ended(self.waiting.pop(over), over)
                if status:
                    return status
            if not self.quiet and time.monotonic() - shown > STATUS_SECONDS:
                shown = time.monotonic()
                self.show()
        if self.failed:
            say(f"failed: task{'s' * (len(self.failed) > 1)} {', '.join(map(str, sorted(self.failed)))} of {self.tasks}; the same command resumes")
            return 1
        return 3 if self.unusable and self.job["command"] == "scan" else 0     # the status of packing is that of bload finish

    def ended(self, task: int, future: concurrent.futures.Future[Result]) -> int:
        """Take the result of a task, and run it again if it failed. Returns a status that ends the run, or 0."""
        name = f"task {task} of {self.tasks}"
        try:
            result = future.result()
        except (concurrent.futures.CancelledError, Exception) as error:     # pylint: disable=broad-except
            result = {"status": None, "host": "", "seconds": 0, "tail": [], "why": first_line(error)}
        status, tail = result["status"], result["tail"]
        if status in (0, 3):
            self.done += 1
            self.unusable |= status == 3
            if not self.quiet:
                unusable = ", some inputs are unusable" if status == 3 else ""
                say(f"{name} is done on {result['host']} in {result['seconds']:.0f} s ({self.done} of {self.tasks}){unusable}")
            return 0
        if status == UNUSABLE:
            say(tail[0])
            return 1
        if status == 2:
            say(f"{name}: {message_of(tail)}")
            return 2
        why = result.get("why") or (f"signal {-status}" if status < 0 else f"status {status}")
        again = self.tries[task] <= self.retries
        last = f"run again, {self.tries[task]} of {self.retries}" if again else "not run again"
        say(f"{name} failed{' on ' + result['host'] if result['host'] else ''} ({why}): {last}")
        for line in tail:
            say(f"{name}: {line}")
        if again:
            self.submit(task)
        else:
            self.failed.append(task)
        return 0

    def show(self) -> None:
        """Show the progress of the dataset, as its files tell it."""
        done = subprocess.run([self.job["tool"], "status", "--json", *self.job["store"], self.job["output"]], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        text = f"{self.done} of {self.tasks} tasks are done"
        try:
            found = json.loads(done.stdout)[self.job["command"]]
            finished, total, left = found["finished"], found["shards" if self.job["command"] == "pack" else "parts"], found["seconds_left"]
        except (ValueError, KeyError, TypeError):
            finished = total = left = None      # nothing is there yet
        if total:
            text += f", {finished} of {total} {'shards' if self.job['command'] == 'pack' else 'parts'}"
        if left is not None and left >= 0:
            text += f", {left:.0f} s left"
        say(text)

    def stop(self) -> None:
        """End all tasks, and wait for them a little."""
        self.engine.stop()
        limit = time.monotonic() + STOP_SECONDS
        while self.waiting and time.monotonic() < limit:
            try:
                over = self.over.get(timeout=1)
            except queue.Empty:
                continue
            if not isinstance(over, int):
                self.waiting.pop(over, None)


def first_line(error: BaseException) -> str:
    """Return what an engine says of a lost task, as one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines and isinstance(error, Error) else ": ".join([type(error).__name__, *lines[:1]])


def finish(job: Dict[str, Any], is_quiet: bool) -> int:
    """Complete the dataset and return the exit status of bload finish."""
    options = [word for word in ("--json", "--skipped-ok") if word in job["given"]] + ["-q"] * is_quiet
    with subprocess.Popen([job["tool"], "finish", *options, *job["store"], job["output"]], stdin=subprocess.DEVNULL) as child:
        try:
            status = child.wait()
        except Interrupted as error:
            child.send_signal(error.args[0])
            raise
    return 128 - status if status < 0 else status


def interrupt(number: int) -> None:
    """Raise Interrupted."""
    raise Interrupted(number)


def listen(act: Callable[[int], None] = interrupt) -> None:
    """Have the first signal that would end the process call a function instead; the next one ends it at once."""
    def handle(number: int, _: Any) -> None:
        """Handle a signal."""
        for one in SIGNALS:
            signal.signal(one, signal.SIG_DFL)
        act(number)

    for one in SIGNALS:
        signal.signal(one, handle)


def make_job(arguments: argparse.Namespace, words: List[str]) -> Dict[str, Any]:
    """Return what the workers must know."""
    program = tool()
    output, store = output_of(program, words[1:])
    options = ["-j", str(arguments.cpus)] + ["-q"] * arguments.quiet
    if arguments.memory and words[0] == "pack":
        options += ["--memory", str(arguments.memory * 9 // 10)]
    passed, config, configuration = [word for word in words[1:] if word != "--json"], known(words[1:]).config, ""
    if config and is_url(output):
        passed, configuration = carry(passed, config, CONFIGURATION), text_of_file(config)
    return {"tool": program, "identity": identity(program), "command": words[0], "words": passed, "configuration": configuration,
            "given": words, "options": options, "tasks": arguments.tasks, "directory": os.getcwd(), "output": output, "store": store}


def on_engine(arguments: argparse.Namespace, job: Dict[str, Any]) -> int:
    """Run the tasks on an engine, then finish; return the exit status."""
    listen()
    probe = Probe(job["output"])
    job.update(probe=probe.path, token=probe.token)
    try:
        with contextlib.closing(connect(arguments.engine, job, arguments)) as engine:
            listen()        # again, because engines have handlers of their own
            if engine.note:
                say(engine.note)
            run = Run(engine, job, arguments)
            try:
                status = run.all()
                listen()
            except BaseException:
                run.stop()
                raise
            if status in (1, 2):
                run.stop()
    finally:
        probe.remove()
    if status or job["command"] != "pack":
        return status
    return finish(job, arguments.quiet)


def on_slurm(arguments: argparse.Namespace, job: Dict[str, Any]) -> int:
    """Run the tasks as jobs of Slurm, and wait for them; return the exit status."""
    from ._core.launch_slurm import Array, Chain
    far = is_url(job["output"])
    jobs = Array(arguments, job, say) if far else Chain(arguments, job, say)
    listen()
    try:
        status = jobs.run(arguments.retries)
    except Interrupted:
        jobs.cancel()
        raise
    if not status and job["command"] == "scan":
        return 3 * jobs.wrong
    return status or finish(job, arguments.quiet or not far)        # of a chain it repeats the recorded status


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run a command line and return the exit status."""
    front, words = split(sys.argv[1:] if argv is None else argv)
    options = parser()
    arguments = options.parse_args(front)
    try:
        check(words)
        check_options(options, arguments)
        if arguments.engine == "kubernetes":
            from ._core.launch_kubernetes import manifest
            sys.stdout.write(manifest(arguments, words))
            return 0
        job = make_job(arguments, words)
        if arguments.engine == "slurm":
            return on_slurm(arguments, job)
        return on_engine(arguments, job)
    except OptionError as error:
        say(str(error))
        return 2
    except Error as error:
        say(str(error))
        return 1
    except OSError as error:
        say(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        return 1
    except Interrupted as error:
        say("interrupted: all tasks have been ended, and the same command resumes")
        return 128 + int(error.args[0])


if __name__ == "__main__":
    sys.exit(main())
