#!/usr/bin/env python3
"""bload pack into a store beside bload pack into a directory, and beside what takes its place: packing here, and an upload by boto3 after that.

    bench/remote.sh results [LATENCY [CORPUS...]]      # text, videos

For each corpus and way: seconds, those of the first way over them, processor seconds of bload, requests that the store answered, the peak of
bload's resident memory, and that of the bytes on this machine's disk. Shards have 32 MB; -j 2. The store is that of tests/remote: it compares
signatures, and answers after LATENCY seconds (0.02). It runs in a process of its own, takes a share of the two cores, and keeps objects in memory.
The ways alternate, ROUNDS times (3); the median of each.
"""
import multiprocessing
import os
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/remote")]

import boto3  # noqa: E402
from botocore.config import Config  # noqa: E402
from memory import resident, tree  # noqa: E402
from remote_objects import BLOAD, make  # noqa: E402
from store import Store  # noqa: E402

CORPORA = (("text", "8 x 16 MiB of text", 8, 16 << 20, "", ("--tokenizer", "bytes", "-T", "8192")),
           ("videos", "32 videos of 2 MB", 32, 10, ".mp4", ("--kind", "video", "-T", "512", "--size", "112x112")))
KEYS = {"AWS_ACCESS_KEY_ID": "AKTEST", "AWS_SECRET_ACCESS_KEY": "se/cret+KEY=", "AWS_EC2_METADATA_DISABLED": "true"}
OPTIONS = ("-q", "-j", "2", "--shard-size", "32M")


def serve(pipe):
    """A store: each message sets the latency, and is answered by the requests since the last one; the bucket is empty then."""
    store = Store()
    pipe.send(store.url)
    while True:
        store.latency = pipe.recv()
        pipe.send(len(store.requests))
        store.requests.clear()
        store.buckets["bucket"] = {}


class Peaks(threading.Thread):
    """The most bytes that a folder has, and that a process and those that it started have in memory: samples, 20 ms apart."""

    def __init__(self, folder, process):
        super().__init__(daemon=True)
        self.folder, self.process, self.disk, self.memory, self.ended = folder, process, 0, 0, threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.02):
            self.disk = max(self.disk, self.size())
            self.memory = max(self.memory, sum(resident(number) for number in tree(self.process)) << 10)

    def size(self):
        total = 0
        for where, _, names in os.walk(self.folder):
            for name in names:
                try:
                    total += os.stat(os.path.join(where, name)).st_blocks * 512
                except OSError:
                    pass
        return total

    def end(self):
        self.ended.set()
        self.join()
        return self.memory, max(self.disk, self.size())


def upload(folder, url):
    """Every file, the manifest last, as boto3 does it: in parts of 8 MiB, ten at a time."""
    config = Config(request_checksum_calculation="when_required", retries={"max_attempts": 5})
    client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
                          aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"], config=config)
    files = sorted((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.name == "manifest.json")
    for path in files:
        client.upload_file(str(path), "bucket", f"d/{path.relative_to(folder)}")


def run(work, inputs, words, way, url):
    """One run: seconds, processor seconds of bload, its peak memory, and that of the bytes on the disk."""
    place = work / "place"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    output = place / "d" if way in ("local", "boto3") else "s3://bucket/d"
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([BLOAD, "pack", inputs, *words, *OPTIONS, "-o", output], env={**os.environ, **KEYS, "AWS_ENDPOINT_URL": url, "TMPDIR": str(place)})
    peaks = Peaks(place, process.pid)
    if process.wait():
        raise SystemExit(f"bload ended with {process.returncode}")
    if way == "boto3":
        upload(output, url)
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, *peaks.end()


def main(latency="0.02", *names):
    work = Path(os.environ.get("WORK", ROOT / "build/bench/results"))
    pipe, other = multiprocessing.Pipe()
    server = multiprocessing.get_context("fork").Process(target=serve, args=(other,), daemon=True)
    server.start()
    url = pipe.recv()
    ways = ("a directory", "local", 0), ("a store", "store", 0), (f"a store, {float(latency):g} s", "store", float(latency)), \
        (f"boto3 after it, {float(latency):g} s", "boto3", float(latency))
    print(f"{'':>42} {'seconds':>8} {'ratio':>6} {'cpu s':>6} {'requests':>8} {'memory MiB':>10} {'disk MiB':>8}")
    for name, title, count, size, suffix, words in CORPORA:
        if names and name not in names:
            continue
        make(work / name, count, size, suffix)
        found = {way: [] for way, _, _ in ways}
        for _ in range(int(os.environ.get("ROUNDS", "3"))):
            for way, kind, pause in ways:
                pipe.send(pause)
                pipe.recv()
                line = run(work, work / name, words, kind, url)
                pipe.send(0)
                found[way].append((*line, pipe.recv()))
        local = statistics.median(line[0] for line in found["a directory"])
        for way, lines in found.items():
            seconds, processor, memory, disk, requests = (statistics.median(column) for column in zip(*lines))
            print(f"{f'{title}, {way}':>42} {seconds:8.2f} {local / seconds:6.2f} {processor:6.2f} {requests:8.0f} {memory / 2**20:10.0f} {disk / 2**20:8.0f}",
                  flush=True)
    shutil.rmtree(work / "place")
    server.terminate()


if __name__ == "__main__":
    main(*sys.argv[1:])
