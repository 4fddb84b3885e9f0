"""Tasks on Slurm: bload slurm submits its chain of jobs, and this waits for them."""
from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import time
from typing import Any, Callable, Dict, List, Set

from .errors import DependencyError, Error, OptionError
from .launch_words import known

POLL_SECONDS = 2, 30        # between two questions to Slurm: at first, and after a while
SILENT = 20                 # questions without an answer
NEVER = "DependencyNeverSatisfied"


class Chain:
    """The jobs that make a dataset, in OUTPUT.slurm."""

    def __init__(self, arguments: Any, job: Dict[str, Any], say: Callable[[str], None]):
        given = known(job["given"][1:])
        if job["command"] != "pack" or not given.config or not given.is_all or given.store:
            raise OptionError("Slurm's jobs scan, plan and pack by a file: give pack -c FILE -o DIR alone (bload pack ... --print-config writes the "
                              "file)")
        for program in "sbatch", "squeue", "scancel":
            if not shutil.which(program):
                raise DependencyError(f"no Slurm here: {program} is not on the PATH")
        self.job, self.say, self.tasks, self.quiet = job, say, arguments.tasks, arguments.quiet
        self.folder = job["output"].rstrip("/") + ".slurm"
        sbatch = [f"--cpus-per-task={arguments.cpus}"]
        if arguments.memory:
            sbatch.append(f"--mem={-(-arguments.memory // 1024)}K")
        if arguments.gpus:
            sbatch.append(f"--gres=gpu:{arguments.gpus}")
        self.command = [job["tool"], "slurm", "-c", given.config, "-o", job["output"], "--tasks", str(self.tasks), "--submit",
                        *["--parents"] * given.parents, "--", *sbatch, *arguments.sbatch]

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

    def is_complete(self) -> bool:
        """Return whether the dataset is finished, and all its tasks are verified."""
        verified = glob.glob(os.path.join(glob.escape(self.folder), f"verified-*-of-{self.tasks:05d}"))
        return len(verified) == self.tasks and os.path.exists(os.path.join(self.job["output"], "manifest.json"))

    def name_failed(self) -> None:
        """Say which tasks failed, and why."""
        asked = subprocess.run([self.job["tool"], "status", "--json", self.job["output"]], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        try:
            found = json.loads(asked.stdout)
            failed = [(stage, task) for stage in ("scan", "pack") for task in found[stage]["task"] if task["state"] in ("failed", "silent")]
        except (ValueError, KeyError, TypeError):
            failed = []
        for stage, task in failed:
            self.say(f"{stage}: task {task['task']} of {self.tasks} failed: {task.get('error') or 'it was ended'}")
        self.say(f"the logs are in {self.folder}/logs")

    def cancel(self) -> None:
        """Cancel all jobs."""
        jobs: List[str] = sorted(self.ids())
        if jobs:
            subprocess.run(["scancel", *jobs], stdin=subprocess.DEVNULL, check=False)

    def run(self, retries: int) -> int:
        """Run the chain, again if jobs failed, and return a status: 0 if the dataset is complete."""
        for again in range(retries + 1):
            status = self.submit()
            if status:
                return status
            self.wait()
            if self.is_complete():
                return 0
            self.name_failed()
            self.say(f"jobs failed: what is missing is submitted again, {again + 1} of {retries}" if again < retries else
                     "jobs failed; the same command submits what is missing")
        return 1
