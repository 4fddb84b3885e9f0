"""Tasks on Slurm. With an output on a disk, bload slurm submits its chain of jobs, and this waits for them. With an output in a store, an array
of jobs runs the tasks, and they share no disk."""
from __future__ import annotations

import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import time
from typing import Any, Callable, Dict, List, Set

from .errors import DependencyError, Error, OptionError
from .launch_task import CONFIGURATION
from .launch_words import known

POLL_SECONDS = 2, 30        # between two questions to Slurm: at first, and after a while
SILENT = 20                 # questions without an answer
NEVER = "DependencyNeverSatisfied"


# An element of the array. What the node has may differ from this machine: its TMPDIR, and where the tool is.
SCRIPT = """#!/bin/sh
[ -d "${{TMPDIR:-/tmp}}" ] || export TMPDIR=/tmp
tool={tool}
[ -x "$tool" ] || tool=bload
{configuration}"$tool" {command} --task "$SLURM_ARRAY_TASK_ID/{tasks}" {words}
status=$?
{removal}echo "{mark}$status" >&2
exit $status
"""
CARRIED = """configuration=$(mktemp) || exit
cat >"$configuration" <<'{mark}'
{text}
{mark}
"""
MARK = "bload.launch: status "


class Jobs:
    """Jobs of Slurm that make a dataset, and how they are waited for."""

    folder = ""         # has logs/
    wrong = False       # inputs are unusable

    def __init__(self, arguments: Any, job: Dict[str, Any], say: Callable[[str], None]):
        for program in "sbatch", "squeue", "scancel":
            if not shutil.which(program):
                raise DependencyError(f"no Slurm here: {program} is not on the PATH")
        self.job, self.say, self.tasks, self.quiet = job, say, arguments.tasks, arguments.quiet
        self.sbatch = [f"--cpus-per-task={arguments.cpus}"]
        if arguments.memory:
            self.sbatch.append(f"--mem={-(-arguments.memory // 1024)}K")
        if arguments.gpus:
            self.sbatch.append(f"--gres=gpu:{arguments.gpus}")
        self.sbatch += arguments.sbatch

    def submit(self) -> int:
        """Submit what is missing and return the exit status."""
        raise NotImplementedError

    def ids(self) -> Set[str]:
        """Return the numbers of the jobs that were submitted."""
        raise NotImplementedError

    def is_complete(self) -> bool:
        """Return whether all is done."""
        raise NotImplementedError

    def name_failed(self) -> int:
        """Say which tasks failed, and why; return a status that ends the run, or 0."""
        raise NotImplementedError

    def status(self) -> Dict[str, Any]:
        """Return what bload status says of the dataset; nothing where there is none."""
        asked = subprocess.run([self.job["tool"], "status", "--json", *self.job["store"], self.job["output"]], stdin=subprocess.DEVNULL,
                               capture_output=True, check=False)
        try:
            found: Dict[str, Any] = json.loads(asked.stdout)
        except ValueError:
            found = {}
        return found

    def queued(self) -> bool:
        """Return whether a job is running, or may still run; raise OSError if Slurm does not answer."""
        asked = subprocess.run(["squeue", "-h", "-a", "-o", "%F %r"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if asked.returncode:
            raise OSError(f"squeue: {asked.stderr.strip()}")
        jobs = self.ids()
        return any(fields[0] in jobs and fields[1:] != [NEVER] for fields in (line.split(None, 1) for line in asked.stdout.splitlines()) if fields)

    def wait(self) -> None:
        """Wait until no job can run any more."""
        began, silent = time.monotonic(), 0
        while True:
            try:
                if not self.queued():
                    return
                silent = 0
            except OSError as error:
                silent += 1
                if silent == SILENT:
                    raise Error(f"Slurm does not answer ({error}); its jobs go on") from None
            time.sleep(POLL_SECONDS[time.monotonic() - began > 60])

    def cancel(self) -> None:
        """Cancel all jobs."""
        jobs: List[str] = sorted(self.ids())
        if jobs:
            subprocess.run(["scancel", *jobs], stdin=subprocess.DEVNULL, check=False)

    def run(self, retries: int) -> int:
        """Run the jobs, again if some failed, and return a status: 0 if all is done."""
        for again in range(retries + 1):
            status = self.submit()
            if status:
                return status
            self.wait()
            if self.is_complete():
                return 0
            status = self.name_failed()
            if status:
                return status
            self.say(f"jobs failed: what is missing is submitted again, {again + 1} of {retries}" if again < retries else
                     "jobs failed; the same command submits what is missing")
        return 1


class Chain(Jobs):
    """The jobs that make a dataset on a disk, in OUTPUT.slurm."""

    def __init__(self, arguments: Any, job: Dict[str, Any], say: Callable[[str], None]):
        given = known(job["given"][1:])
        if job["command"] != "pack" or not given.config or not given.is_all or given.store:
            raise OptionError("Slurm's jobs scan, plan and pack by a file: give pack -c FILE -o DIR alone (bload pack ... --print-config writes the "
                              "file)")
        super().__init__(arguments, job, say)
        self.folder = job["output"].rstrip("/") + ".slurm"
        self.command = [job["tool"], "slurm", "-c", given.config, "-o", job["output"], "--tasks", str(self.tasks), "--submit",
                        *["--parents"] * given.parents, "--", *self.sbatch]

    def submit(self) -> int:
        """Submit what is missing and return the exit status."""
        done = subprocess.run(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        lines = [line.replace("bload: ", "", 1) for line in done.stderr.splitlines()]
        for line in lines if done.returncode or not self.quiet else ():
            self.say(line)
        return done.returncode

    def ids(self) -> Set[str]:
        """Return the numbers of the jobs that were submitted."""
        try:
            with open(os.path.join(self.folder, "jobs"), encoding="utf-8") as file:
                return {line.split()[1] for line in file if len(line.split()) > 1}
        except FileNotFoundError:
            return set()

    def is_complete(self) -> bool:
        """Return whether the dataset is finished, and all its tasks are verified."""
        verified = glob.glob(os.path.join(glob.escape(self.folder), f"verified-*-of-{self.tasks:05d}"))
        return len(verified) == self.tasks and os.path.exists(os.path.join(self.job["output"], "manifest.json"))

    def name_failed(self) -> int:
        """Say which tasks failed, and why."""
        try:
            found = self.status()
            failed = [(stage, task) for stage in ("scan", "pack") for task in found[stage]["task"] if task["state"] in ("failed", "silent")]
        except (KeyError, TypeError):
            failed = []
        for stage, task in failed:
            self.say(f"{stage}: task {task['task']} of {self.tasks} failed: {task.get('error') or 'it was ended'}")
        self.say(f"the logs are in {self.folder}/logs")
        return 0


class Array(Jobs):
    """An array whose elements are the tasks of a command; the dataset is in a store. Logs are in NAME.slurm of the working directory."""

    def __init__(self, arguments: Any, job: Dict[str, Any], say: Callable[[str], None]):
        super().__init__(arguments, job, say)
        self.folder = os.path.basename(job["output"].rstrip("/")) + ".slurm"
        self.submitted = ""     # the number of the last array

    def missing(self) -> List[int]:
        """Return the tasks that are not done."""
        found, stage = self.status(), self.job["command"]
        try:
            if found["complete"] or (stage == "scan" and found["table"]):
                return []
            same = found[stage]["tasks"] == self.tasks
            done = {task["task"]: task.get("status") for task in found[stage]["task"] if task["state"] == "done" and same}
        except (KeyError, TypeError):
            done = {}
        self.wrong = 3 in done.values()
        return [task for task in range(self.tasks) if task not in done]

    def submit(self) -> int:
        """Submit the tasks that are missing and return the exit status."""
        missing, stage = self.missing(), self.job["command"]
        self.submitted = ""
        if not missing:
            return 0
        os.makedirs(os.path.join(self.folder, "logs"), exist_ok=True)
        text = self.job["configuration"]
        script = SCRIPT.format(tool=shlex.quote(self.job["tool"]), command=stage, tasks=self.tasks, mark=MARK,
                               configuration=CARRIED.format(mark=MARK, text=text) if text else "", removal='rm -f "$configuration"\n' if text else "",
                               words=shlex.join([*self.job["options"], *self.job["words"]]).replace(CONFIGURATION, '"$configuration"'))
        command = ["sbatch", "--parsable", f"--job-name=bload-{stage}", f"--array={','.join(map(str, missing))}", "--requeue", "--open-mode=append",
                   "--output=" + os.path.abspath(self.folder).replace("%", "%%") + f"/logs/{stage}-%A_%a.log", *self.sbatch]
        done = subprocess.run(command, input=script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.submitted = done.stdout.strip().partition(";")[0]
        if done.returncode or not self.submitted.isdecimal():
            self.say((done.stderr.strip().splitlines() or ["sbatch gave no number of a job"])[-1])
            return 1
        if not self.quiet:
            self.say(f"submitted {stage}: job {self.submitted}, {len(missing)} of {self.tasks} tasks; bload status {self.job['output']} shows the progress")
        return 0

    def ids(self) -> Set[str]:
        """Return the number of the array that was submitted."""
        return {self.submitted} - {""}

    def is_complete(self) -> bool:
        """Return whether all tasks are done."""
        return not self.missing()

    def name_failed(self) -> int:
        """Say which tasks failed, and why, by the ends of their logs; return 2 if that is wrong usage."""
        status = 0
        for task in self.missing():
            path = os.path.join(self.folder, "logs", f"{self.job['command']}-{self.submitted}_{task}.log")
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    lines = [line.strip() for line in file if line.strip()]
            except OSError:
                lines = [f"it left no {path}: nodes do not see this directory, or --sbatch gave another --output"]
            ended = re.fullmatch(re.escape(MARK) + "([0-9]+)", lines[-1]) if lines else None
            why = lines[-2 if ended and len(lines) > 1 else -1] if lines else "its log is empty"
            self.say(f"task {task} of {self.tasks} failed: {why.replace('bload: ', '', 1)}")
            status |= 2 * (ended is not None and ended[1] == "2")
        return status
