#!/bin/bash
# Fields with steps of their own. Packing features and patches as two fields of one dataset, beside packing each alone together: the
# ratio of processor time. Then reading blocks with a flat field, stored and of a planned epoch, beside a copy of the same bytes by
# numpy.
#
#     bench/own.sh [RUNS]       how many alternating runs each row is the median of (5)
#
# The arrays, 4,000 sequences of features F32 [100 to 900, 80] and of patches F32 [0 to 60, 768], lie in build/bench/own. numpy makes
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
T: 3000
fields:
  - {name: patches, path: "patches/{id}.npy", steps: own, capacity: 256}
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
    a=$(processor "$tool" pack -q $work/features/ -T 3000 -o $work/a)
    b=$(processor "$tool" pack -q $work/patches/ -T 256 -o $work/b)
    c=$(processor "$tool" pack -q -c $work/both.yaml -o $work/c)
    awk -v a="$a" -v b="$b" -v c="$c" 'BEGIN { printf "%.4f %.3f %.3f %.3f\n", c / (a + b), a, b, c }'
done >$work/times
printf 'packing both fields / packing each alone: %.2f of the processor time (%s s, %s s alone; %s s together)\n' \
    "$(cut -d ' ' -f 1 $work/times | median)" "$(cut -d ' ' -f 2 $work/times | median)" "$(cut -d ' ' -f 3 $work/times | median)" \
    "$(cut -d ' ' -f 4 $work/times | median)"

"$tool" plan -q --dataset $work/c --epochs 1
PYTHONPATH=$PWD/python "$python" - $work/c "$runs" <<'END_OF_PYTHON'
import statistics
import sys
import time

import numpy as np

import bload

path, runs = sys.argv[1], int(sys.argv[2])
dataset = bload.open(path, fields=["patches"], pad=False)
blocks = len(dataset)
copies = [dataset[i]["patches"] for i in range(blocks)]  # in memory, as large as what is read


def seconds(work):
    begun = time.perf_counter()
    for i in range(blocks):
        work(i)
    return time.perf_counter() - begun


def rate(read):
    ratios = []
    for _ in range(runs):
        copied = seconds(lambda i: copies[i].copy())
        ratios.append(copied / seconds(read))
    return statistics.median(ratios)


print(f"flat patches of stored blocks: {rate(lambda i: dataset[i]):.2f} of numpy's copy")
epoch = bload.open(path, fields=["patches"], pad=False, epoch=1)
epoch[0]
print(f"flat patches of a planned epoch: {rate(lambda i: epoch[i]):.2f} of numpy's copy")
END_OF_PYTHON
