"""Laws that hold on every engine of bload.launch; each test class has one."""
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import tool

sys.path.insert(0, os.path.join(tool.ROOT, "tests", "remote"))
from store import Store     # noqa: E402, pylint: disable=wrong-import-position

# Before clusters start, whose workers have this environment.
os.environ.update(AWS_ACCESS_KEY_ID="AKTEST", AWS_SECRET_ACCESS_KEY="se/cret+KEY=")

# A tool some of whose tasks wait, the first time, so that a test can do something to them. A file gets the process and its parent's.
SLOW = """#!/bin/sh
for task in {slow}; do
    case " $* " in *" --task $task/"*)
        if mkdir '{place}/begun'$task 2>/dev/null; then
            echo $$ $PPID >'{place}/part'$task
            mv '{place}/part'$task '{place}/pids'$task
            exec sleep 300
        fi ;;
    esac
done
exec '{tool}' "$@"
"""
# One whose tasks fail.
FAILING = """#!/bin/sh
case " $* " in *" --task 1/"*) echo again >>'{place}/tries'; echo 'bload: the disk is gone' >&2; exit 1 ;; esac
exec '{tool}' "$@"
"""
PACK = "pack", "arrays", "-T", "64", "--shard-size", "1K"
TASKS = 5


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Launching(tool.Tool):
    engine = ()         # the words of the command line that name it

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw = np.random.default_rng(5)
        os.mkdir(os.path.join(cls.directory, "arrays"))
        for i in range(40):
            np.save(os.path.join(cls.directory, "arrays", f"{i}.npy"), draw.integers(0, 99, (int(draw.integers(5, 60)), 3)).astype("i4"))
        subprocess.run([tool.BLOAD, *PACK, "-q", "-o", "alone"], cwd=cls.directory, check=True)

    def place(self):
        """A folder of this test."""
        path = self.path(self.id().rsplit(".", 1)[1])
        os.makedirs(path, exist_ok=True)
        return path

    def script(self, text, slow=(1,)):
        """A tool of this text."""
        path = os.path.join(self.place(), "bload")
        tool.write(path, text.format(place=self.place(), slow=" ".join(map(str, slow)), tool=os.path.abspath(tool.BLOAD)))
        os.chmod(path, 0o755)
        return path

    def begin(self, *words, program=tool.BLOAD, options=(), tasks=TASKS, cwd=None):
        """Starts the launcher."""
        command = [sys.executable, "-m", "bload.launch", *self.engine, "-n", str(tasks), *options, "--", *words]
        return subprocess.Popen(command, cwd=cwd or self.directory, env={**os.environ, "BLOAD": os.path.abspath(program)}, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def end(self, process, status):
        """Waits for it, and gives its messages."""
        try:
            _, messages = process.communicate(timeout=180)
        finally:
            process.kill()
        self.assertEqual(process.returncode, status, messages)
        return self.messages(messages)

    def messages(self, text):
        """What the launcher itself says of an engine's noise."""
        return text

    def launch(self, *words, status=0, **more):
        return self.end(self.begin(*words, **more), status)

    def assert_alone(self, name):
        """The dataset is that of one process, and nothing else is left."""
        self.assertSameTree(self.path("alone"), self.path(name))
        self.assertEqual([one for one in os.listdir(self.directory) if one.startswith(".")], [])

    def buckets(self, unusable=()):
        """A store with the arrays, and the command that packs them; what it makes on this machine is in PLACE/near."""
        store = self.enterContext(Store())
        for name in os.listdir(self.path("arrays")):
            with open(os.path.join(self.path("arrays"), name), "rb") as file:
                store.put("corpus", f"arrays/{name}", b"no array" if name in unusable else file.read())
        words = "pack", "s3://corpus/arrays/", "-T", "64", "--shard-size", "1K", "--endpoint", store.url
        self.bload(*words, "-q", "-o", os.path.join(self.place(), "near"), status=3 if unusable else 0)
        store.put("results", "other", b"")
        return store, words

    def carry(self, name):
        """With a URL as output, the file of options comes with the tasks: on their machines it is gone."""
        store, words = self.buckets()
        place = self.place()
        tool.write(os.path.join(place, name), f"sources: ['{words[1]}'] # \u00e9 $(false) \\\nT: 64\nshard-size: 1K\n")
        program = self.script("#!/bin/sh\n[ \"$1 $2\" != 'pack --task' ] || rm -f '{place}'/*.yaml\nexec '{tool}' \"$@\"\n")
        self.launch("pack", f"--config={name}", "-o", "s3://results/set", *words[-2:], program=program, cwd=place)
        self.assertFalse(os.path.exists(os.path.join(place, name)))
        self.assert_in_store(store, os.path.join(place, "near"))

    def assert_in_store(self, store, near):
        """The objects s3://results/set are the files of that dataset, and nothing else is left but an object "other"."""
        found = {name: one.data for name, one in store.buckets["results"].items()}
        self.assertEqual(found.pop("other"), b"")
        wanted = {}
        for folder, _, names in os.walk(near):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    wanted[f"set/{os.path.relpath(os.path.join(folder, name), near)}"] = file.read()
        self.assertEqual(sorted(found), sorted(wanted))
        for name, data in wanted.items():
            self.assertEqual(found[name], data, name)
        self.assertEqual((store.uploads, store.complaints), ({}, []))

    def pids(self, task=1):
        """Waits until the task waits, and gives the processes: the tool's, and its parent's."""
        path = os.path.join(self.place(), f"pids{task}")
        limit = time.monotonic() + 120
        while not os.path.exists(path):
            self.assertLess(time.monotonic(), limit, f"task {task} does not begin")
            time.sleep(0.05)
        return tuple(map(int, tool.text(path).split()))

    def assert_ends(self, pid):
        limit = time.monotonic() + 20
        while alive(pid):
            self.assertLess(time.monotonic(), limit, f"process {pid} goes on")
            time.sleep(0.05)


class Laws(Launching):
    def test_same_bytes(self):
        messages = self.launch(*PACK, "-o", "plain")
        self.assert_alone("plain")
        for task in range(TASKS):
            self.assertRegex(messages, rf"bload\.launch: task {task} of {TASKS} is done on \S+ in \d+ s \(\d of {TASKS}\)\n")

    def test_task_killed(self):
        process = self.begin(*PACK, "-o", "killed", program=self.script(SLOW))
        os.kill(self.pids()[0], signal.SIGKILL)
        messages = self.end(process, 0)
        self.assertRegex(messages, rf"bload\.launch: task 1 of {TASKS} failed on \S+ \(signal 9\): run again, 1 of 2\n")
        self.assert_alone("killed")

    def test_three_of_eight_killed(self):
        process = self.begin(*PACK, "-o", "three", program=self.script(SLOW, slow=(0, 3, 7)), tasks=8)
        for task in 0, 3, 7:
            os.kill(self.pids(task)[0], signal.SIGKILL)
        self.assertEqual(self.end(process, 0).count(" (signal 9): run again, 1 of 2\n"), 3)
        self.assert_alone("three")

    def test_bucket_to_bucket(self):
        """Tasks that share no disk, three of which are killed, make the dataset that one process makes on this machine."""
        store, words = self.buckets()
        scratch = os.path.join(self.place(), "scratch")
        os.mkdir(scratch)
        process = self.begin(*words, "-o", "s3://results/set", "--scratch", scratch, program=self.script(SLOW, slow=(0, 3, 7)), tasks=8)
        for task in 0, 3, 7:
            os.kill(self.pids(task)[0], signal.SIGKILL)
        self.assertEqual(self.end(process, 0).count(" (signal 9): run again, 1 of 2\n"), 3)
        self.assert_in_store(store, os.path.join(self.place(), "near"))
        self.assertEqual(os.listdir(scratch), [])

    def test_file_comes_along(self):
        self.carry("my set.yaml")

    def test_task_fails(self):
        """It is run again, as often as is allowed; the others end, and the last lines are shown with its number."""
        messages = self.launch(*PACK, "-o", "failed", program=self.script(FAILING), options=["--retries", "1"], status=1)
        self.assertEqual(tool.text(os.path.join(self.place(), "tries")), "again\n" * 2)
        self.assertRegex(messages, rf"bload\.launch: task 1 of {TASKS} failed on \S+ \(status 1\): not run again\n"
                         rf"bload\.launch: task 1 of {TASKS}: bload: the disk is gone\n")
        self.assertRegex(messages, rf"bload\.launch: failed: task 1 of {TASKS}; the same command resumes\n\Z")
        self.assertEqual(len([line for line in messages.splitlines() if " is done on " in line]), TASKS - 1)
        self.launch(*PACK, "-o", "failed")
        self.assert_alone("failed")

    def test_wrong_usage(self):
        """What only a task finds, too, is one line, and is not tried again."""
        self.launch(*PACK, "-o", "mine")
        messages = self.launch(*PACK, "--seed", "9", "-o", "mine", status=2)
        self.assertRegex(messages, rf"\Abload\.launch: task \d of {TASKS}: pack: mine holds a dataset of another configuration: [^\n]*\n\Z")
        messages = self.launch("pack", "nowhere", "-T", "9", "-o", "none", status=2)
        self.assertRegex(messages, rf"\Abload\.launch: task \d of {TASKS}: pack: nowhere: No such file or directory\n\Z")
        self.assertFalse(os.path.exists(self.path("none")))

    def test_interrupted(self):
        process = self.begin(*PACK, "-o", "stopped", program=self.script(SLOW))
        pid, _ = self.pids()
        process.send_signal(signal.SIGTERM)
        messages = self.end(process, 128 + signal.SIGTERM)
        self.assertRegex(messages, r"bload\.launch: interrupted: all tasks have been ended, and the same command resumes\n\Z")
        self.assert_ends(pid)
        self.launch(*PACK, "-o", "stopped", program=self.script(SLOW))
        self.assert_alone("stopped")

    def test_other_build(self):
        """A worker that has another build of the tool runs nothing."""
        program = self.script("#!/bin/sh\ncase \"$*\" in --version) echo >>'{place}/bload' ;; esac\nexec '{tool}' \"$@\"\n")
        messages = self.launch(*PACK, "-o", "build", program=program, status=1)
        self.assertRegex(messages, r"\Abload\.launch: \S+ has another build of bload [\d.]+ \([^\n]*\), and this machine bload [\d.]+ \([^\n]*\)\n\Z")
        self.assertFalse(os.path.exists(self.path("build")))

    def test_unusable_input(self):
        """The status is that of the run, also where the same command finds it done."""
        place = self.place()
        shutil.copytree(self.path("arrays"), os.path.join(place, "arrays"))
        tool.write(os.path.join(place, "arrays/1.npy"), "no array")
        messages = self.launch(*PACK, "-o", "out", cwd=place, status=3)
        self.assertIn("bload: 1 input skipped: see out/sequences.tsv\n", messages)
        self.launch(*PACK, "-o", "out", cwd=place, status=3)
        self.launch(*PACK, "-o", "out", "--skipped-ok", cwd=place)
        self.assertIn("some inputs are unusable", self.launch("scan", "arrays", "-o", "scanned", cwd=place, status=3))

    def test_counted_by_tasks(self):
        """The tasks of bload scan leave their parts for bload plan."""
        self.launch("scan", "arrays", "-o", "counted")
        self.bload("plan", "-q", "-T", "64", "counted", cwd=self.directory)
        self.launch(*PACK, "-o", "counted")
        self.assert_alone("counted")
