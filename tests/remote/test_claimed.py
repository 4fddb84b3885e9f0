"""bload scan|pack --task auto/N -o s3://...: processes that share nothing but the store take the tasks from it, each once, and those of others
that were killed."""
import os
import re
import signal
import time

from test_packing import TEXT
from test_results import DATASET, SMALL, URL, Results

TASKS = 6


class Claimed(Results):
    def words(self, stage):
        return [stage, "--task", f"auto/{TASKS}", "--lease", "3", "v", *TEXT, *(SMALL if stage == "pack" else ()), "-j", "1", "-o", URL]

    def done(self, said):
        """The tasks that ended, by their messages."""
        return sorted(map(int, re.findall(rf"^bload: task (\d+)/{TASKS}: ", said, re.MULTILINE)))

    def end(self, process, status=0):
        said = process.communicate(timeout=120)[1].decode()
        self.assertEqual(process.returncode, status, said)
        return said

    def setUp(self):
        super().setUp()
        self.text()
        self.bload("pack", "-q", "v", *TEXT, *SMALL, "-o", "local")

    def test_shared(self):
        """Three processes scan, then three pack: each task is done once, and the dataset is that of one process."""
        for stage in "scan", "pack":
            said = [self.end(process) for process in [self.start(*self.words(stage)) for _ in range(3)]]
            self.assertEqual(self.done("".join(said)), list(range(TASKS)), said)
            for one in said:
                self.assertIn(f"bload: {URL}: all {TASKS} tasks of bload {stage} are done\n", one)
        self.bload("finish", "-q", URL)
        self.complete()
        self.assertEqual(self.end(self.start(*self.words("pack"))), f"bload: {URL}: all {TASKS} tasks of bload pack are done\n")
        self.complete()

    def test_killed(self):
        """A process is killed with the one that it has started: another one waits for its lease, and does the task."""
        self.store.latency = 0.02
        killed = self.start(*self.words("pack"))
        claims = f"{DATASET}/.bload/claims/"
        limit = time.monotonic() + 60
        while not any(key.startswith(claims) for key in list(self.bucket)):
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        self.store.latency = 0
        said = self.end(self.start(*self.words("pack")))
        self.assertEqual(self.done(said), list(range(TASKS)))
        self.assertIn("waiting for those of others, as host ", said)
        self.bload("finish", "-q", URL)
        self.complete()

    def test_interrupted(self):
        """After a signal the task is given back, so that nobody waits for it."""
        self.store.latency = 0.05
        stopped = self.start(*self.words("pack"))
        while f"{DATASET}/.bload/configuration" not in self.bucket:
            self.assertIsNone(stopped.poll())
            time.sleep(0.01)
        stopped.send_signal(signal.SIGTERM)
        self.end(stopped, -signal.SIGTERM)
        self.store.latency = 0
        self.assertNotIn("waiting", self.end(self.start(*self.words("pack"))))
        self.bload("finish", "-q", URL)
        self.complete()

    def test_wrong(self):
        """The message of the task comes first, and its status is that of the command. What has a number in its environment claims nothing."""
        words = self.words("pack")
        said = self.bload(*words, "--dtype", "s16", status=2)
        self.assertRegex(said, rf"\Abload: pack: [^\n]+\nbload: pack: task \d/{TASKS} ended with status 2: its messages say why\n\Z")
        self.clear()
        for name in "JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID":
            environment = {name: "2", "SLURM_ARRAY_TASK_COUNT": str(TASKS), "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_MAX": str(TASKS - 1)}
            if name == "JOB_COMPLETION_INDEX":
                environment = {name: "2"}
            self.assertEqual(self.done(self.bload(*words, **environment)), [2])
        self.assertFalse([key for key in self.bucket if "/claims/" in key])

    def test_directory(self):
        """Claims are objects: a directory has none."""
        words = self.words("pack")[:-1]
        self.fails(2, "--lease is for a URL as output", *words, "directory", JOB_COMPLETION_INDEX="0")
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "directory")))
