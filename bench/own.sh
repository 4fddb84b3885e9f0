#!/bin/bash
# Fields with steps of their own. Packing features and patches as two fields of one dataset, beside packing each alone together: the
# ratio of processor time. Then reading blocks with a flat field, stored and of a planned epoch, beside numpy that copies the same
# sequences from a map of the files to arrays. Both may keep all of the files mapped (`resident`).
#
#     bench/own.sh [RUNS]       how many alternating runs each row is the median of (5)
#
# The arrays, 4,000 sequences of features F32 [100 to 900, 80] and of patches F32 [1 to 59, 768], lie in build/bench/own. numpy makes
# and reads them: that of the readers' tests.
set -eu
cd "$(dirname "$0")/.."
runs=${1:-5}
work=build/bench/own
tool=${BLOAD:-./bload}
python=$(scripts/readers-venv.sh)
mkdir -p $work
if [ ! -e $work/done ]; then
    "$python" - $work <<'END_OF_PYTHON'
import os
import sys

import numpy as np

random = np.random.default_rng(0)
for name in "features", "patches":
    os.makedirs(f"{sys.argv[1]}/{name}", exist_ok=True)
for i in range(4000):
    np.save(f"{sys.argv[1]}/features/{i}.npy", random.random((int(random.integers(100, 900)), 80), dtype="f4"))
    np.save(f"{sys.argv[1]}/patches/{i}.npy", random.random((int(random.integers(1, 60)), 768), dtype="f4"))
END_OF_PYTHON
    cat >$work/both.yaml <<'END'
sources: [features/]
T: 30000
fields:
  - {name: patches, path: "patches/{id}.npy", steps: own, capacity: 2560}
END
    touch $work/done
fi

# Seconds of processor time of a command.
processor() {
    { TIMEFORMAT='%U %S' && time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2 }'
}

median() {
    sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

for _ in $(seq "$runs"); do
    rm -rf $work/a $work/b $work/c
    a=$(processor "$tool" pack -q $work/features/ -T 30000 -o $work/a)
    b=$(processor "$tool" pack -q $work/patches/ -T 2560 -o $work/b)
    c=$(processor "$tool" pack -q -c $work/both.yaml -o $work/c)
    awk -v a="$a" -v b="$b" -v c="$c" 'BEGIN { printf "%.4f %.3f %.3f %.3f\n", c / (a + b), a, b, c }'
done >$work/times
printf 'packing both fields / packing each alone: %.2f of the processor time (%s s, %s s alone; %s s together)\n' \
    "$(cut -d ' ' -f 1 $work/times | median)" "$(cut -d ' ' -f 2 $work/times | median)" "$(cut -d ' ' -f 3 $work/times | median)" \
    "$(cut -d ' ' -f 4 $work/times | median)"

"$tool" plan -q --dataset $work/c --epochs 1
PYTHONPATH=$PWD/python "$python" - $work/c "$runs" <<'END_OF_PYTHON'
import glob
import json
import statistics
import struct
import sys
import time

import numpy as np

import bload

path, runs = sys.argv[1], int(sys.argv[2])
dataset = bload.open(path, fields=["patches"], pad=False, ids=False, resident=1 << 40)
epoch = dataset.epoch(1)
stored = []  # of each stored block its patches, in a map of the shard by numpy
for shard in sorted(glob.glob(f"{path}/shards/*/*")):
    with open(shard, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    begin, _ = header["patches"]["data_offsets"]
    patches = np.memmap(shard, "<f4", "r", 8 + size + begin, tuple(header["patches"]["shape"]))
    first, last = header["patches_offsets"]["data_offsets"]
    offsets = np.memmap(shard, "<i8", "r", 8 + size + first, (last - first) // 8)
    stored += [patches[a:b] for a, b in zip(offsets, offsets[1:])]


def places(blocks):
    """(sequence, block, first step, end) of every sequence's patches."""
    for i in range(len(stored)):
        block = blocks[i]
        ends = block["patches_cu_seqlens"].tolist()
        yield from ((row, i, a, b) for row, a, b in zip(block["sequence"].tolist(), ends, ends[1:]) if row >= 0)


whence = {row: stored[block][a:b] for row, block, a, b in places(dataset)}
planned = [[] for _ in stored]  # of each block of the epoch [first step, end, the stored patches] a sequence
for row, block, a, b in places(epoch):
    planned[block].append((a, b, whence[row]))


def gather(parts):
    out = np.empty((parts[-1][1], patches.shape[1]), patches.dtype)
    for a, b, part in parts:
        out[a:b] = part
    return out


def seconds(work):
    begun = time.perf_counter()
    for i in range(len(stored)):
        work(i)
    return time.perf_counter() - begun


def row(what, numpy, read):
    """Prints numpy's time for all blocks' patches in arrays of their own, divided by that of a reader that makes them."""
    if not all((numpy(i) == read(i)).all() for i in range(len(stored))):
        sys.exit(f"{what}: different patches")
    ratio = statistics.median(seconds(numpy) / seconds(read) for _ in range(runs))
    print(f"flat patches of {what}: {ratio:.2f} of numpy's copy")


megabytes = sum(block.nbytes for block in stored) / len(stored) / 1e6
row(f"stored blocks, {megabytes:.1f} MB each", lambda i: np.array(stored[i]), lambda i: np.array(dataset[i]["patches"]))
row("a planned epoch", lambda i: gather(planned[i]), lambda i: epoch[i]["patches"])
END_OF_PYTHON
