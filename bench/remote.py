#!/usr/bin/env python3
"""Blocks read from afar beside local reading: shuffled, by a DataLoader with two workers, from the server of tests/remote with 20 ms of latency.

    bench/remote.sh [BLOCKS] [LATENCY]

For plain blocks of 16 KB and of 512 KB: blocks a second of the local files, and of the server in two epochs, with a cache that holds all, a
cache for half of it, and none; over those of the local files in the same round; the requests of each epoch, and the bytes that came over those
that the blocks have. ROUNDS (3) in alternation; the median. The server runs in a process of its own.
"""
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from torch.utils.data import DataLoader

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/remote")]

from bload.torch import BlockDataset, BlockSampler  # noqa: E402
from server import apart  # noqa: E402

BATCH, WORKERS = 8, 2


def make(work, name, width, blocks):
    """A dataset of float arrays with `width` numbers a step; T is 128."""
    path = work / name
    if not (path / "manifest.json").exists():
        (work / "arrays").mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(1)
        for i in range(blocks // 8):
            np.save(work / "arrays" / f"{i}.npy", random.random((1024, width), "f4"))
        subprocess.run([os.environ.get("BLOAD", ROOT / "bload"), "pack", "-q", work / "arrays", "--kind", "array", "-T", "128", "--oversize",
                        "split", "--batch-size", str(BATCH), "-o", path], check=True)
        subprocess.run(["rm", "-r", work / "arrays"], check=True)
    return path


def epoch(where, number, **options):
    """Blocks a second of one epoch, from the first batch asked for to the last."""
    dataset = BlockDataset(str(where), **options)
    sampler = BlockSampler(dataset, 1, 0, seed=number)
    began, blocks = time.monotonic(), 0
    for batch in DataLoader(dataset, BATCH, sampler=sampler, num_workers=WORKERS):
        blocks += len(batch["array"])
    return blocks / (time.monotonic() - began)


def main(blocks=2048, latency=0.02):
    work = Path(os.environ.get("WORK", ROOT / "build/bench/remote"))
    print(f"{'':>34} {'blocks/s':>9} {'of local':>8} {'requests':>8} {'bytes':>6}")
    with apart(work, float(latency)) as (url, counts):
        for name, width, count in ("16KB", 32, int(blocks)), ("512KB", 1024, int(blocks) // 4):
            path = make(work, name, width, count)
            used = sum(os.path.getsize(file) for file in path.rglob("*.safetensors"))
            found = {}
            for _ in range(int(os.environ.get("ROUNDS", 3))):
                for title, line in measure(f"{url}/{name}", path, used, counts, work / "cache"):
                    found.setdefault(title, []).append(line)
            for title, lines in found.items():
                speed, share = (statistics.median(line[k] for line in lines) for k in (0, 1))
                requests, sent = lines[-1][2:]
                print(f"{f'{name} blocks, {title}':>34} {speed:9.0f} {share:8.2f} {requests:8} {sent / used:6.2f}", flush=True)
    print(f"memory of a process: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10} MB")


def measure(url, path, used, counts, cache):
    """One round: for each way to read, blocks a second, those over local ones, requests and bytes."""
    epoch(path, 0)
    local = epoch(path, 1)
    yield "local", (local, 1, 0, 0)
    for title, options in ("cache", {"cache": cache}), ("cache of a half", {"cache": cache, "cache_size": used // 2}), ("no cache", {"cache": None}):
        subprocess.run(["rm", "-rf", cache], check=True)
        for number in range(1, 3):
            counts()
            speed = epoch(url, number, **options)
            yield f"{title}, epoch {number}", (speed, speed / local, *counts())


if __name__ == "__main__":
    main(*sys.argv[1:])
