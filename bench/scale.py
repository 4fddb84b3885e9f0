#!/usr/bin/env python3
"""How time and memory grow with sequences, blocks, shards, files and tasks, on one machine; the tables of docs/capacity.md.

    bench/scale.py [--quick] [PART...]      growth, shards, files, calls, parts, start: all of them, if none is named

Sequences are tiny, so that what is measured is what comes with each of them, not their contents: T = 240, some ten in a block. Each stage
is a process of its own; times are of the processor, which other work on the machine disturbs least, and by the clock where it says so.
Sizes of one table take turns, so that their ratios hold even where the figures themselves do not. --quick takes a tenth of everything.
BLOAD is the tool, and SCALE_FOLDER where the datasets are made (build/bench/scale).
"""
import argparse
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
BLOAD = os.path.abspath(os.environ.get("BLOAD", os.path.join(HERE, "../bload")))
FOLDER = os.environ.get("SCALE_FOLDER", os.path.join(HERE, "../build/bench/scale"))
MEMORY = "/dev/shm"  # where a sync costs nothing: what is left is the tool's own
T = 240
BLOCK = 4 * T + 500  # bytes of a block with its tables, and some more
STAGES = "scan", "plan", "pack", "status", "finish", "verify"
PARTS = "growth", "shards", "files", "calls", "parts", "start"

# What a server of metadata is asked for, and the system calls that ask it.
CALLS = {
    "open": {"openat"},
    "stat": {"newfstatat", "statx", "access", "faccessat2", "readlink"},
    "rename, link": {"rename", "renameat", "renameat2", "link", "linkat"},
    "remove": {"unlink", "unlinkat", "rmdir"},
    "mkdir": {"mkdir", "mkdirat"},
    "fsync": {"fsync", "fdatasync"},
}


class Cost(NamedTuple):
    clock: float  # seconds
    processor: float  # seconds
    peak: float  # MiB


def run(*command, wrapper=()):
    """Runs the tool; what it took."""
    with tempfile.TemporaryFile() as words:
        start = time.monotonic()
        process = subprocess.Popen([*wrapper, BLOAD, *map(str, command)], stdout=words, stderr=words)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        cost = Cost(time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
        if process.returncode:
            words.seek(0)
            sys.exit(f"bload {' '.join(map(str, command))}: status {process.returncode}\n{words.read().decode()}")
    return cost


def least(costs):
    """The least of each figure."""
    return Cost(*map(min, zip(*costs)))


def greatest(costs):
    """The greatest of each figure."""
    return Cost(*map(max, zip(*costs)))


def start_of_process():
    """What is the same for every command, however little it does."""
    return least([run("--version") for _ in range(10)])


def row(*cells):
    print("|", " | ".join(str(cell) for cell in cells), "|", flush=True)


def head(title, *columns):
    print(f"\n{title}\n")
    row(*columns)
    print("|---" * len(columns) + "|", flush=True)


# --- what is packed ----------------------------------------------------------------------------------------------------


def draw_length(rng):
    return max(1, min(T - 1, int(rng.lognormvariate(2.95, 0.7))))


class Documents:
    """Documents of so many tokens, a byte each, in one JSONL file."""

    def __init__(self, folder, count):
        self.count = count
        self.path = os.path.join(folder, f"{count}.jsonl")
        self.settings = "tokenizer: bytes\n"
        rng = random.Random(1)
        lines = ['{"text":"%s"}\n' % "".join(rng.choices("abcdefgh ", k=draw_length(rng))) for _ in range(5000)]
        with open(self.path, "w", encoding="ascii") as out:
            for at in range(0, count, 100000):
                out.write("".join(rng.choices(lines, k=min(100000, count - at))))


class Arrays:
    """Arrays of so many numbers, each in a file of its own, a thousand to a folder."""

    def __init__(self, folder, count):
        self.count = count
        self.path = os.path.join(folder, f"{count}-arrays")
        self.settings = "kind: array\n"
        rng = random.Random(2)
        for i in range(count):
            if i % 1000 == 0:
                inner = os.path.join(self.path, f"{i // 1000:03}")
                os.makedirs(inner)
            with open(os.path.join(inner, f"{i:06}.npy"), "wb") as out:
                out.write(self.content(draw_length(rng)))

    @staticmethod
    def content(length):
        header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({length},), }}".encode().ljust(117) + b"\n"
        return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + bytes(4 * length)


class Dataset:
    """A dataset in the making, stage by stage."""

    def __init__(self, folder, corpus, shard_size):
        self.corpus = corpus
        self.dir = tempfile.mkdtemp(dir=folder)
        self.configuration = f"{corpus.path}-{os.path.basename(self.dir)}.yaml"
        with open(self.configuration, "w", encoding="utf-8") as out:
            out.write(f"sources: [{os.path.basename(corpus.path)}]\n{corpus.settings}T: {T}\nmax-sequences: 16\n")
            out.write(f"shard-size: {shard_size}\n")

    def stage(self, stage, task="0/1", wrapper=()):
        """scan, pack and verify do the work of a task."""
        words = [stage]
        if stage in ("scan", "plan", "pack"):
            words += ["-q", "-c", self.configuration]
        if stage in ("scan", "pack", "verify"):
            words += ["--task", task]
        return run(*words, *(["-o"] if stage in ("scan", "pack") else []), self.dir, wrapper=wrapper)

    def shards(self):
        """How many there are already."""
        return sum(len(files) for _, _, files in os.walk(os.path.join(self.dir, "shards")))

    def remove(self):
        shutil.rmtree(self.dir)
        os.remove(self.configuration)


# --- the measurements --------------------------------------------------------------------------------------------------


def grow(folder, corpora, shard_size, rounds, stages=STAGES):
    """What each stage takes of each corpus: {stage: [Cost]}, and how many shards come out."""
    costs = {stage: [[] for _ in corpora] for stage in stages}
    shards = []
    for _ in range(rounds):
        shards = []
        for i, corpus in enumerate(corpora):
            dataset = Dataset(folder, corpus, shard_size)
            for stage in STAGES:
                cost = dataset.stage(stage)
                if stage in stages:
                    costs[stage][i].append(cost)
            shards.append(dataset.shards())
            dataset.remove()
    return {stage: [least(c) for c in each] for stage, each in costs.items()}, shards


def tell_growth(title, unit, counts, costs):
    """Microseconds of the processor for each unit, without the start of the process; ratio: that of the most over that of the fewest."""
    base = start_of_process()
    head(title, "stage", *(f"{n:,} {unit}" for n in counts), "ratio", f"by the clock, {counts[-1]:,}", "MiB")
    for stage, each in costs.items():
        processor = [max(c.processor - base.processor, 0) / n * 1e6 for c, n in zip(each, counts)]
        clock = max(each[-1].clock - base.clock, 0) / counts[-1] * 1e6
        ratio = f"{processor[-1] / processor[0]:.2f}" if processor[0] else "-"
        row(stage, *(f"{t:.2f}" for t in processor), ratio, f"{clock:.2f}", " ".join(f"{c.peak:.0f}" for c in each))


def growth(folder, scale):
    """Ever more sequences, in shards of 32 MiB."""
    corpora = [Documents(folder, n // scale) for n in (100000, 300000, 1000000)]
    costs, _ = grow(folder, corpora, "32M", 3)
    tell_growth("Documents of one file: microseconds of the processor each", "documents", [c.count for c in corpora], costs)


def shards(folder, scale):
    """A shard for each block, in memory; on the disk fewer, as each is synced."""
    memory = tempfile.mkdtemp(dir=MEMORY) if os.access(MEMORY, os.W_OK) else tempfile.mkdtemp(dir=folder)
    try:
        for where, at, rounds, most in ("in memory", memory, 2, 1000000), ("on the disk", folder, 1, 100000):
            corpora = [Documents(folder, n // scale) for n in (most // 10, 3 * most // 10, most)]
            costs, counts = grow(at, corpora, 1, rounds, STAGES[2:])
            tell_growth(f"A block in each shard, {where}: microseconds of the processor for each shard", "shards", counts, costs)
    finally:
        shutil.rmtree(memory)


def files(folder, scale):
    corpora = [Arrays(folder, n // scale) for n in (10000, 30000, 100000)]
    costs, _ = grow(folder, corpora, "32M", 3)
    tell_growth("Files of one array: microseconds of the processor each", "files", [c.count for c in corpora], costs)
    for corpus in corpora:
        shutil.rmtree(corpus.path)


def count_calls(dataset, stage):
    """{name: calls} of a stage."""
    counts = tempfile.NamedTemporaryFile("r", dir=os.path.dirname(dataset.dir))
    dataset.stage(stage, wrapper=("strace", "-f", "-c", "-qq", "-U", "name,calls", "-o", counts.name))
    found = dict(re.findall(r"^(\w+)\s+(\d+)$", counts.read(), re.MULTILINE))
    return {name: sum(int(found.get(call, 0)) for call in calls) for name, calls in CALLS.items()}


def calls(folder, _):
    """What each further shard, and each further file, asks of the file system: the difference of two runs."""
    if not shutil.which("strace"):
        print("\ncalls: skipped, strace is not installed")
        return
    corpora = [Arrays(folder, n) for n in (2000, 4000)]
    few, many, more = (Dataset(folder, corpora[c], blocks * BLOCK) for c, blocks in ((0, 10), (0, 1), (1, 20)))
    found = [{stage: count_calls(d, stage) for stage in STAGES} for d in (few, many, more)]
    for unit, one, other, count in (("shard", found[0], found[1], many.shards() - few.shards()),
                                    ("file", found[0], found[2], corpora[1].count - corpora[0].count)):
        head(f"System calls for each {unit}", "stage", *CALLS)
        for stage in STAGES:
            row(stage, *(f"{round((other[stage][name] - one[stage][name]) / count, 1) + 0:g}" for name in CALLS))


def parts(folder, scale):
    """Many tasks scan; their parts are merged; and a task of packing begins, which has nothing to do, as there is one shard."""
    head("Parts of a scan: all tasks together, one by one; plan, which merges; and the start of a task that packs", "files", "parts",
         "scan, s", "scan, s of the processor", "of a task, ms", "MiB", "plan, ms of the processor", "MiB", "pack, ms of the processor",
         "MiB")
    for count, most in (10000 // scale, 1000 // scale), (100000 // scale, 100 // scale):
        corpus = Arrays(folder, count)
        for tasks in (n for n in (1, 10, 100, 1000) if n <= most):
            dataset = Dataset(folder, corpus, "32M")
            each = [dataset.stage("scan", f"{i}/{tasks}") for i in range(tasks)]
            merged = dataset.stage("plan")
            begun = dataset.stage("pack", "0/2")
            processor = sum(c.processor for c in each)
            row(f"{count:,}", tasks, f"{sum(c.clock for c in each):.2f}", f"{processor:.2f}", f"{processor / tasks * 1e3:.0f}",
                f"{max(c.peak for c in each):.0f}", f"{merged.processor * 1e3:.0f}", f"{merged.peak:.0f}",
                f"{begun.processor * 1e3:.0f}", f"{begun.peak:.0f}")
            dataset.remove()
        shutil.rmtree(corpus.path)


def size(path):
    """MB of the file."""
    return f"{os.path.getsize(path) / 1e6:.0f}"


def start(folder, scale):
    """What a task does before its first block: the table and the plan are there, and it has a thousandth of the shards."""
    head("One of a thousand tasks, and what is done once: seconds of the processor, MiB", "documents", "table, MB", "plan, MB", "index, MB",
         "scan", "MiB", "plan", "MiB", "pack, a task", "MiB", "finish", "MiB", "verify, a task", "MiB", "shards")
    for count in 100000 // scale, 1000000 // scale, 10000000 // scale:
        dataset = Dataset(folder, Documents(folder, count), max(1, count // 10 // 1000) * BLOCK)
        costs = [dataset.stage("scan"), dataset.stage("plan")]
        state = os.path.join(dataset.dir, ".bload")
        sizes = [size(os.path.join(state, name)) for name in ("sequences.tsv", "plan.safetensors")]
        costs.append(greatest([dataset.stage("pack", f"{i}/1000") for i in (300, 500, 700)]))  # some have no shard
        dataset.stage("pack")
        costs.append(dataset.stage("finish"))
        costs.append(greatest([dataset.stage("verify", f"{i}/1000") for i in (300, 500, 700)]))
        sizes.append(size(os.path.join(dataset.dir, "index.safetensors")))
        row(f"{count:,}", *sizes, *(cell for c in costs for cell in (f"{c.processor:.2f}", f"{c.peak:.0f}")), dataset.shards())
        dataset.remove()
        os.remove(dataset.corpus.path)


def main():
    parser = argparse.ArgumentParser(description="How time and memory grow, on one machine.")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything: a minute or two")
    parser.add_argument("part", nargs="*", metavar="PART", help=", ".join(PARTS))
    options = parser.parse_args()
    for part in options.part:
        if part not in PARTS:
            parser.error(f"no part {part}: {', '.join(PARTS)}")
    os.makedirs(FOLDER, exist_ok=True)
    for part in options.part or PARTS:
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            globals()[part](os.path.abspath(folder), 10 if options.quick else 1)


if __name__ == "__main__":
    main()
