#!/usr/bin/env python3
"""bload export beside cp of the same dataset, and beside each format's own writer, which gets the blocks as numpy arrays from memory: the
table of docs/performance.md.

    make check-torch                                 # makes build/torch-venv, which has the writers
    build/torch-venv/bin/python3 bench/export.py [GB]

Needs ./bload and five times the space of the dataset, 1 GB unless told otherwise. Blocks have 512 steps of features, F32 [256], 0.5 MB.
Everything is read from the page cache, and each time includes syncing what was written. Medians of three alternating rounds, in GB/s of
the dataset, and in parentheses how many times the processor time of cp it took."""
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/torch")]

import bload  # noqa: E402
from export_job import without  # noqa: E402

TOOL = os.environ.get("BLOAD", str(ROOT / "bload"))
WORK = ROOT / "build/bench/export"
SIZE = int(float(sys.argv[1] if len(sys.argv) > 1 else 1) * 1e9)


def dataset():
    path = WORK / "dataset"
    if not path.exists():
        source, random = WORK / "source", np.random.default_rng(0)
        shutil.rmtree(WORK, ignore_errors=True)
        source.mkdir(parents=True)
        for i in range(SIZE // (1 << 18)):
            np.save(source / f"{i}.npy", random.normal(size=(int(random.integers(128, 385)), 256)).astype("f4"))
        subprocess.run([TOOL, "pack", "-q", source, "--kind", "array", "-T", "512", "-o", path], check=True)
        shutil.rmtree(source)
    return path


def write_mds(blocks, out):
    for module in "torchvision", "torchvision.transforms", "torchvision.transforms.functional", "torchvision.datasets":
        without(module, "VisionDataset", "to_tensor", "ToTensor")
    from streaming import MDSWriter
    dtypes = {name: "int32" if value.ndim == 0 else f"ndarray:{value.dtype}:{','.join(map(str, value.shape))}"
              for name, value in blocks[0].items()}
    with MDSWriter(out=str(out), columns=dtypes, hashes=["xxh3_64"], size_limit=64 << 20) as writer:
        for block in blocks:
            writer.write(block)


def write_webdataset(blocks, out):
    import webdataset
    out.mkdir()
    with webdataset.ShardWriter(str(out / "blocks-%06d.tar"), maxsize=256 << 20, verbose=0) as writer:
        for i, block in enumerate(blocks):
            writer.write({"__key__": f"{i:08}", **{f"{name}.npy": value for name, value in block.items()}})


def timed(action):
    """Seconds of wall clock and of processor time, of children too."""
    def spent():
        return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    os.sync()
    wall, processor = time.perf_counter(), spent()
    action()
    os.sync()
    return time.perf_counter() - wall, spent() - processor


def main():
    source, out = dataset(), WORK / "out"
    blocks = [{name: np.array(value) for name, value in block.items()} for block in bload.open(source, ids=False)]
    size = sum(file.stat().st_size for file in source.rglob("*") if file.is_file()) / 1e9
    actions = {"cp": lambda: subprocess.run(["cp", "-r", source, out], check=True)}
    for name in "mds", "webdataset", "energon":
        actions[f"bload, {name}"] = lambda name=name: subprocess.run([TOOL, "export", "-q", "--to", name, source, "-o", out], check=True)
    actions["MDSWriter"] = lambda: write_mds(blocks, out)
    actions["webdataset.ShardWriter"] = lambda: write_webdataset(blocks, out)
    found = {name: [] for name in actions}
    for _ in range(3):
        for name, action in actions.items():
            shutil.rmtree(out, ignore_errors=True)
            found[name].append(timed(action))
    base = np.median([processor for _, processor in found["cp"]])
    print("| | GB/s (processor time of cp) |\n|---|---|")
    for name, times in found.items():
        print(f"| {name} | {size / np.median([wall for wall, _ in times]):.2f} "
              f"({np.median([processor for _, processor in times]) / base:.1f}) |")
    shutil.rmtree(out)


if __name__ == "__main__":
    main()
