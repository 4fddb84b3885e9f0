#!/usr/bin/env python3
"""The same samples from the same server, by bload, MosaicML Streaming and LitData, each in its own format: shuffled, by a DataLoader with two
workers, an epoch with an empty cache and one with a warm one.

    bench/remote.sh peers [BLOCKS] [LATENCY]

A sample is a block with all its arrays. The server is that of tests/remote, in a process of its own: clients of S3 take it for one, by paths
of bucket and key. Each loader runs in a process of its own, too. Shards have SHARD bytes (8M) for all of them. A peer that is not installed is
named and left out. All are measured in alternation, ROUNDS times (3). For each epoch: samples a second, and over those of the local files in the same
round, the median of each; requests, bytes over those of the samples, and bytes of the cache over those.
"""
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple, Tuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "python"), str(ROOT / "tests/remote")]

import read_peers  # noqa: E402
from server import apart  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

BATCH, WORKERS, EPOCHS, SEED = 8, 2, 2, 1
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        "LITDATA_DISABLE_VERSION_CHECK": "1"}
# Stubs would hide what these need here.
read_peers.Stub.names = ("transformers", "torchvision", "obstore", "tifffile")


def size_of(folder):
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


def bytes_of(text):
    return int(text[:-1]) << {"K": 10, "M": 20}[text[-1]]


# --- the same blocks in each format -------------------------------------------------------------------------------------------------------

def make(bucket, name, width, blocks, shard):
    """A dataset of float arrays with `width` numbers a step, T is 128; and its exports. Gives the bytes of the samples' arrays."""
    import numpy as np
    path, tool = bucket / name, os.environ.get("BLOAD", str(ROOT / "bload"))
    if not (path / "manifest.json").exists():
        arrays = bucket / "arrays"
        arrays.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(1)
        for i in range(blocks // 8):
            np.save(arrays / f"{i}.npy", random.random((1024, width), "f4"))
        subprocess.run([tool, "pack", "-q", arrays, "--kind", "array", "-T", "128", "--oversize", "split", "--batch-size", str(BATCH), "--shard-size",
                        shard, "-o", path], check=True)
        shutil.rmtree(arrays)
    if not (bucket / f"mds-{name}/index.json").exists():
        subprocess.run([tool, "export", "-q", "--to", "mds", "--shard-size", shard, path, "-o", bucket / f"mds-{name}"], check=True)
    samples = bload_blocks(path)
    if "litdata" in peers() and not (bucket / f"litdata-{name}/index.json").exists():
        from litdata.streaming import Cache
        cache = Cache(str(bucket / f"litdata-{name}"), chunk_bytes=bytes_of(shard))
        for i, block in enumerate(samples):
            cache[i] = block
        cache.done()
        cache.merge()
    return sum(array.nbytes for block in samples for array in block.values())


def bload_blocks(path):
    import numpy as np

    import bload
    return [{name: np.array(value) for name, value in block.items()} for block in bload.open(path, ids=False)]


def peers():
    """Those that can be imported."""
    read_peers.stubs()
    found = []
    for name in "streaming", "litdata":
        try:
            __import__(name)
            found.append(name)
        except Exception as error:  # an old torch is an AttributeError
            print(f"{name} is left out: {type(error).__name__}: {error}", file=sys.stderr)
    return found


# --- one loader, in a process of its own --------------------------------------------------------------------------------------------------

def open_bload(where, **options):
    from bload.torch import BlockDataset, BlockSampler, collate
    dataset = BlockDataset(where, **options)
    sampler = BlockSampler(dataset, 1, 0, seed=SEED)
    loader = DataLoader(dataset, BATCH, sampler=sampler, num_workers=WORKERS, collate_fn=collate)

    def epoch(number):
        sampler.set_epoch(number)
        return loader
    return epoch


def open_streaming(remote, cache):
    import streaming
    streaming.base.util.clean_stale_shared_memory()
    found = streaming.StreamingDataset(remote=remote, local=cache, shuffle=True, batch_size=BATCH, shuffle_seed=SEED)
    for stream in found.streams:
        # Both workers would inherit the connection that has fetched the index, and mix up what comes: shards were twice fetched, or cut short.
        stream._downloader.clean_up()
    loader = DataLoader(found, BATCH, num_workers=WORKERS)
    return lambda number: loader


def open_litdata(remote, cache, endpoint):
    import litdata
    import litdata.streaming.downloader as downloader
    if hasattr(downloader, "_OBSTORE_CLIENT_OPTIONS"):
        downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True  # obstore refuses a server without TLS, and LitData has no option for it
    found = litdata.StreamingDataset(remote, cache_dir=cache, shuffle=True, seed=SEED, storage_options={"endpoint_url": endpoint})
    loader = litdata.StreamingDataLoader(found, batch_size=BATCH, num_workers=WORKERS)
    return lambda number: loader


def open_loader(kind, bucket, name, endpoint, cache):
    """A function that gives the batches of an epoch."""
    if kind == "local":
        return open_bload(str(bucket / name))
    if kind == "http":
        return open_bload(f"{endpoint}/bucket/{name}", cache=cache)
    if kind == "s3":
        return open_bload(f"s3://bucket/{name}", cache=cache, storage_options={"endpoint_url": endpoint})
    if kind == "streaming":
        return open_streaming(f"s3://bucket/mds-{name}", cache)
    return open_litdata(f"s3://bucket/litdata-{name}", cache, endpoint)


def read(kind, bucket, name, endpoint, cache):
    """A line for each epoch: samples, seconds, and a sum by which they are known; then waits for one."""
    import torch
    read_peers.stubs()
    epoch = open_loader(kind, Path(bucket), name, endpoint, cache)
    for number in range(EPOCHS):
        began, count, total = time.monotonic(), 0, 0
        for batch in epoch(number):
            array = torch.as_tensor(batch["array"])
            count += len(array)
            total += int(array[:, 0, 0].contiguous().view(torch.int32).to(torch.int64).sum())
        print("epoch", count, time.monotonic() - began, total, flush=True)
        input()


# --- all of them --------------------------------------------------------------------------------------------------------------------------

class Epoch(NamedTuple):
    """speed: in samples a second. sent: bytes of the server. kept: bytes of the cache. samples: how many, and a sum by which they are known."""
    speed: float
    requests: int
    sent: int
    kept: int
    samples: Tuple[int, int]


def measure(kind, bucket, name, url, counts, work):
    """The epochs of a loader; fewer than there should be if it failed."""
    cache = work / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    counts()
    arguments = [sys.executable, __file__, "read", kind, bucket, name, url, cache]
    environment = {**os.environ, **KEYS, "S3_ENDPOINT_URL": url, "AWS_ENDPOINT_URL": url}
    found = []
    with open(work / f"{kind}-{name}.log", "w") as log, \
            subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment) as reader:
        for line in reader.stdout:
            if not line.startswith("epoch "):
                continue
            count, seconds, total = line.split()[1:]
            requests, sent = counts()
            found.append(Epoch(int(count) / float(seconds), requests, sent, size_of(cache), (int(count), int(total))))
            reader.stdin.write("\n")
            reader.stdin.flush()
    if reader.returncode != 0 or len(found) != EPOCHS:
        print(f"{kind} failed: {work / f'{kind}-{name}.log'}", file=sys.stderr)
    return found


def main(blocks=2048, latency=0.02):
    work = Path(os.environ.get("WORK", ROOT / "build/bench/remote-peers"))
    bucket, shard, there = work / "root/bucket", os.environ.get("SHARD", "8M"), peers()
    bucket.mkdir(parents=True, exist_ok=True)
    sizes = ("16KB", 32, int(blocks)), ("512KB", 1024, int(blocks) // 4)
    used = {name: make(bucket, name, width, count, shard) for name, width, count in sizes}
    print("| samples, loader, epoch | samples/s | of local | requests | bytes | cache |\n|---|---|---|---|---|---|")
    kinds, rounds = ["local", "http", "s3", *there], int(os.environ.get("ROUNDS", 3))
    with apart(work / "root", float(latency)) as (url, counts):
        whole = [compare(name, kinds, [{kind: measure(kind, bucket, name, url, counts, work) for kind in kinds} for _ in range(rounds)],
                         used[name]) for name, _, _ in sizes]
    if not all(whole):
        sys.exit("a loader failed, or its samples are not those of the others")


def compare(name, kinds, rounds, used):
    """Prints the lines of samples of a size. False: a loader failed, or gave other samples."""
    titles = {"local": "bload, local", "http": "bload, http://", "s3": "bload, s3://"}
    whole = True
    for kind in kinds:
        sound = [found for found in rounds if len(found[kind]) == EPOCHS == len(found["local"]) and
                 all(epoch.samples == found["local"][0].samples for epoch in found[kind])]
        whole &= len(sound) == len(rounds)
        for number in range(EPOCHS if sound else 0):
            epochs = [found[kind][number] for found in sound]
            speed = statistics.median(epoch.speed for epoch in epochs)
            share = statistics.median(found[kind][number].speed / found["local"][number].speed for found in sound)
            last = epochs[-1]
            print(f"| {name}, {titles.get(kind, kind)}, {number + 1} | {speed:.0f} | {share:.2f} | {last.requests} | {last.sent / used:.3f} | "
                  f"{last.kept / used:.3f} |", flush=True)
    return whole


if __name__ == "__main__":
    if sys.argv[1:2] == ["read"]:
        read(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
