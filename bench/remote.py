#!/usr/bin/env python3
"""Blocks read from afar beside local reading: shuffled, by a DataLoader with two workers, from the server of tests/remote with 20 ms of latency.

    bench/remote.sh [BLOCKS] [LATENCY]

For plain blocks of 16 KB and of 512 KB: blocks a second of the local files, and of the server in three epochs, with a cache that holds all,
a cache for half of it, and none; the requests of each epoch, and the bytes that came over those that the blocks have.
"""
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from torch.utils.data import DataLoader

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/remote")]

from bload.torch import BlockDataset, BlockSampler  # noqa: E402
from server import Server  # noqa: E402

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
    return blocks / (time.monotonic() - began), dataset


def main(blocks=2048, latency=0.02):
    work = Path(os.environ.get("WORK", ROOT / "build/bench/remote"))
    print(f"{'':>34} {'blocks/s':>9} {'of local':>8} {'requests':>8} {'bytes':>6}")
    for name, width, count in ("16KB", 32, int(blocks)), ("512KB", 1024, int(blocks) // 4):
        path = make(work, name, width, count)
        used = sum(os.path.getsize(file) for file in path.rglob("*.safetensors"))
        epoch(path, 0)
        local, _ = epoch(path, 1)
        print(f"{name + ' blocks, local':>34} {local:9.0f}")
        with Server(str(work)) as server:
            server.latency = float(latency)
            for kind, options in (("cache", {}), ("cache of a half", {"cache_size": used // 2}), ("no cache", None)):
                cache = work / "cache"
                subprocess.run(["rm", "-rf", cache], check=True)
                for number in range(1, 4):
                    server.forget()
                    given = {"cache": None} if options is None else {"cache": str(cache), **options}
                    speed, _ = epoch(f"{server.url}/{name}", number, **given)
                    print(f"{f'{kind}, epoch {number}':>34} {speed:9.0f} {speed / local:8.2f} {len(server.requests):8} {server.sent / used:6.2f}")
    print(f"memory of a process: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10} MB")


main(*sys.argv[1:])
