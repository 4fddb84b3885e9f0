"""Hostile files of Parquet and Arrow: always a message and a status, also where the library that reads them crashes."""
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
import traceback
import unittest

import numpy as np

import tool
from bload._core import apart
from bload._core.errors import DamagedError, Error
from harness import each

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from bload import parquet
    from bload._core.lerobot_episodes import read_tasks
except ImportError:
    pa = None

CHANGES = 120  # of each file
MEMORY = 4 << 30
CLAIMS = b"\xff" * 4, b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"\xff" * 8 + b"\x7f", (1 << 40).to_bytes(8, "little")


def table():
    """Columns of every kind that is read."""
    random, rows = np.random.default_rng(0), 200
    return pa.table({
        "text": [f"hello {i} \u00e9" if i % 7 else None for i in range(rows)], "number": random.integers(0, 9, rows), "real": random.normal(size=rows),
        "ids": pa.array([list(range(i % 9)) for i in range(rows)], pa.list_(pa.int32())),
        "class": pa.array(["a", "b"] * (rows // 2)).dictionary_encode(), "nested": [[[1, 2], [i]] for i in range(rows)],
        "audio": [{"bytes": b"RIFF%d" % i, "path": f"{i}.wav"} for i in range(rows)], "raw": [bytes([i]) for i in range(rows)]})


def changed(data, chance):
    """A file with a few bytes turned, replaced by claims, left out, doubled, or cut."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(data)) if chance.random() < 0.5 else max(0, len(data) - 1 - chance.randrange(6000))
        kind, count = chance.randrange(6), chance.randrange(1, 30)
        if kind < 2:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 2:
            claim = chance.choice(CLAIMS)
            data[at:at + len(claim)] = claim
        elif kind == 3:
            del data[at:at + count]
        elif kind == 4:
            data[at:at] = data[at:at + count]
        else:
            del data[max(8, at):]
    return bytes(data)


def attempt(*words):
    """What a run of the converter ends with, in a process of its own: its status, what it said, or how Python or a library failed."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        sys.stderr = io.StringIO()
        try:
            told = parquet.main(list(words)), sys.stderr.getvalue()
        except BaseException:
            told = -1, traceback.format_exc()
        os.write(write, json.dumps(told).encode()[:60000])
        os._exit(0)
    os.close(write)
    said = tool.read(read)
    status = os.waitpid(pid, 0)[1]
    return json.loads(said) if said else (-os.WTERMSIG(status), "")


@unittest.skipUnless(pa, "no pyarrow")
class Hostile(tool.Tool):
    def write(self, kind):
        path = self.path(f"table.{kind.partition('-')[0]}")
        if kind.startswith("parquet"):
            pq.write_table(table(), path, compression=kind.partition("-")[2], row_group_size=100)
        else:
            with pa.OSFile(path, "wb") as file, (pa.ipc.new_stream if kind == "arrow-stream" else pa.ipc.new_file)(file, table().schema) as out:
                out.write_table(table(), max_chunksize=100)
        return path

    @each(["parquet-none", "parquet-zstd", "parquet-snappy", "arrow-stream", "arrow-file"])
    def test_changed(self, kind):
        """Small changes and huge claims: done, or refused with a message that names the file, in bounded memory and time. Crashes of
        pyarrow are allowed, since the command's other process tells of them; exceptions are not."""
        path, chance = self.write(kind), random.Random(kind)
        data = tool.read(path)
        refused = crashed = 0
        for number in range(CHANGES):
            tool.write(path, changed(data, chance))
            words = ["-q", path] if number % 2 else ["-q", "--tar", self.path("out.tar"), path]
            began = time.monotonic()
            status, said = attempt(*words)
            self.assertLess(time.monotonic() - began, 20)
            self.assertNotEqual(status, -1, said)
            refused += status in (1, 2)
            crashed += -status in apart.CRASHES
            if status in (1, 2):
                self.assertRegex(said, os.path.basename(path) + "|not enough memory")
            else:
                self.assertTrue(status in (0, 3) or -status in apart.CRASHES, (status, said))
        self.assertGreater(refused, CHANGES / 10)
        self.assertLess(crashed, CHANGES / 10)

    def test_offsets(self):
        """Lists that end before they begin, in a file of Arrow: pyarrow takes them for true, and would crash."""
        lists = pa.Array.from_buffers(pa.list_(pa.int32()), 2, [None, pa.py_buffer(np.array([0, 1 << 30, 3], "i4"))], children=[pa.array([1, 2, 3], pa.int32())])
        path = self.path("offsets.arrow")
        with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, pa.schema([("ids", lists.type)])) as out:
            out.write_batch(pa.record_batch([lists], ["ids"]))
        status, said = attempt("-q", path)
        self.assertEqual(status, 1)
        self.assertRegex(said, "offsets.arrow: cannot be read")

    def test_names(self):
        """A column whose name is no text."""
        path = self.path("names.arrow")
        with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, pa.schema([("somename", pa.int32())])) as out:
            out.write_batch(pa.record_batch([pa.array([1], pa.int32())], ["somename"]))
        data = tool.read(path)
        tool.write(path, data.replace(b"somename", b"some\xff\xfe\xfdn"))
        status, said = attempt("-q", path)
        self.assertEqual(status, 1, said)
        self.assertRegex(said, "names.arrow: cannot be read")

    def test_lerobot(self):
        """Tables of LeRobot with texts that are none, with a pipe or a folder in their place, and cut ones."""
        path = self.path("robot", "meta", "tasks.parquet")
        os.makedirs(os.path.dirname(path))
        texts = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(np.array([0, 3], "i4")), pa.py_buffer(b"\xff\xfe\xfd")])
        pq.write_table(pa.table({"task_index": [0], "task": texts}), path)
        self.assertRaisesRegex(DamagedError, "tasks.parquet: the data cannot be read", read_tasks, self.path("robot"))
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) - 5)
        self.assertRaisesRegex(DamagedError, "tasks.parquet: not a readable Parquet file", read_tasks, self.path("robot"))
        for make in os.mkfifo, os.mkdir:
            os.unlink(path)
            make(path)
            self.assertRaisesRegex(Error, "tasks.parquet: is not a regular file", read_tasks, self.path("robot"))

    def test_not_regular(self):
        path = self.path("pipe.parquet")
        os.mkfifo(path)
        status, said = attempt("-q", path)
        self.assertEqual(status, 1)
        self.assertRegex(said, "pipe.parquet: is not a regular file")


PROGRAM = """
import os, signal, sys, time
from bload._core import apart
def main():
    apart.set_current_file("some/file.parquet")
    {}
    return 3
sys.exit(apart.run(main, lambda text: print("said", text)))
"""


class Apart(unittest.TestCase):
    def end(self, what):
        """The status and the output of a command that does something."""
        done = subprocess.run([sys.executable, "-c", PROGRAM.format(what)], capture_output=True, text=True)
        return done.returncode, done.stdout

    @each([("abort", "os.abort()"), ("fault", "os.kill(os.getpid(), signal.SIGSEGV)"), ("bus", "os.kill(os.getpid(), signal.SIGBUS)")])
    def test_crash(self, _, what):
        status, said = self.end(what)
        self.assertEqual(status, 1)
        self.assertRegex(said, r"^said some/file.parquet: pyarrow crashed on it \(SIG\w+\): it is damaged")

    def test_status(self):
        self.assertEqual(self.end("pass"), (3, ""))
        self.assertEqual(self.end("sys.exit(2)"), (2, ""))

    @each([(name, getattr(signal, name)) for name in ("SIGINT", "SIGPIPE", "SIGTERM", "SIGKILL")])
    def test_signal(self, _, number):
        """What ends one process ends the other, by the same signal."""
        self.assertEqual(self.end(f"signal.signal({int(number)}, signal.SIG_DFL) if {int(number)} != 9 else None; os.kill(os.getpid(), {int(number)})"), (-number, ""))

    def test_killed(self):
        """When the process that waits is killed, the other one ends."""
        what = "print(os.getpid(), flush=True); time.sleep(60)"
        with subprocess.Popen([sys.executable, "-c", PROGRAM.format(what)], stdout=subprocess.PIPE, text=True) as process:
            worker = int(process.stdout.readline())
            process.kill()
            self.assertEqual(process.stdout.read(), "")  # both have closed it
            until = time.monotonic() + 5
            while os.path.exists(f"/proc/{worker}") and time.monotonic() < until:
                time.sleep(0.02)
            self.assertFalse(os.path.exists(f"/proc/{worker}"))
