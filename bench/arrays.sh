#!/bin/bash
# Packing arrays beside copying their files: bload pack over cp of the same bytes, in alternation, the page cache warm. On the disk cp is
# followed by a sync, because a dataset is safe on the disk when pack ends; in memory (/dev/shm) neither waits for anything. Then what
# other orders and archives cost.
#
#     bench/arrays.sh [PAIRS]       how many pairs of runs each row is the median of (5)
#
# The arrays, F32 [100 to 1,500, 1024], 1 GB of them, lie in build/bench. numpy makes them: that of the readers' tests.
set -eu
cd "$(dirname "$0")/.."
pairs=${1:-5}
work=build/bench/arrays
mkdir -p $work
if [ ! -e $work/done ]; then
    "$(scripts/readers-venv.sh)" - $work <<'END_OF_PYTHON'
import os
import sys

import numpy as np

random = np.random.default_rng(0)
for name in "plain", "few", "axis", "fortran", "big-endian", "stored", "deflated":
    os.makedirs(f"{sys.argv[1]}/{name}", exist_ok=True)
for i in range(300):
    array = random.random((int(random.integers(100, 1500)), 1024), dtype="f4")
    np.save(f"{sys.argv[1]}/plain/{i}.npy", array)
    if i < 60:
        np.save(f"{sys.argv[1]}/few/{i}.npy", array)
        np.save(f"{sys.argv[1]}/axis/{i}.npy", np.ascontiguousarray(array.T))
        np.save(f"{sys.argv[1]}/fortran/{i}.npy", np.asfortranarray(array))
        np.save(f"{sys.argv[1]}/big-endian/{i}.npy", array.astype(">f4"))
        np.savez(f"{sys.argv[1]}/stored/{i}.npz", array)
        np.savez_compressed(f"{sys.argv[1]}/deflated/{i}.npz", array)
END_OF_PYTHON
    touch $work/done
fi
if [ ! -e $work/large/done ]; then # a deflated array of 768 MiB, in the archive less than half of that
    mkdir -p $work/large
    "$(scripts/readers-venv.sh)" - $work/large/large.npz <<'END_OF_PYTHON'
import sys
import zipfile

import numpy as np

array = np.random.default_rng(0).standard_normal((786432, 256), dtype="f4").astype("f2").astype("f4")
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
    with archive.open("array.npy", "w", force_zip64=True) as file:
        np.save(file, array)
END_OF_PYTHON
    touch $work/large/done
fi

# Seconds of a command: wall, processor.
timed() {
    { TIMEFORMAT='%R %U %S' && time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1, $2 + $3 }'
}

copy() {
    cp -r $work/plain "$1/copy"
}

copy_durably() {
    copy "$1"
    sync -f "$1/copy"
}

pack() { # PLACE FOLDER [OPTION...]
    ./bload pack -q $work/"$2" --kind array -T 1500 -o "$1/packed" "${@:3}"
}

median() {
    sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# pairs_of NAME PLACE COPY: a row.
pairs_of() {
    local name=$1 place=$2 runs=$work/runs i
    mkdir -p "$place"
    : >$runs
    for ((i = 0; i <= pairs; i++)); do # the first pair warms the cache
        rm -rf "$place"/copy "$place"/packed && sync -f "$place"
        local copied packed
        copied=$(timed "$3" "$place")
        rm -rf "$place"/copy && sync -f "$place"
        packed=$(timed pack "$place" plain)
        [ $i = 0 ] || echo "$copied $packed" >>$runs
    done
    rm -rf "$place"/copy "$place"/packed
    printf '| %-22s | %.2f | %.2f | %.2f | %.2f | %.2f |\n' "$name" "$(cut -d' ' -f1 $runs | median)" "$(cut -d' ' -f3 $runs | median)" \
        "$(awk '{ print $3 / $1 }' $runs | median)" "$(cut -d' ' -f2 $runs | median)" "$(cut -d' ' -f4 $runs | median)"
}

echo "$(du -sm --apparent-size $work/plain | cut -f1) MB of .npy, $(nproc) processors, median of $pairs pairs"
echo
echo '| to | cp, s | pack, s | pack / cp | cp, processor s | pack, processor s |'
echo '|---|---|---|---|---|---|'
pairs_of 'the disk, cp and sync' $work/out copy_durably
[ ! -d /dev/shm ] || pairs_of 'memory' /dev/shm/bload-bench copy
echo
echo '| 60 of them, one worker, in memory | MB per processor second |'
echo '|---|---|'
place=/dev/shm/bload-bench
[ -d $place ] || place=$work/out
for folder in few big-endian axis fortran stored deflated; do
    options=()
    [ $folder != axis ] || options=(--time-axis 1)
    best=$(for _ in 1 2 3; do rm -rf $place/packed && timed pack $place $folder -j1 "${options[@]}" | cut -d' ' -f2; done | sort -n | head -n 1)
    awk -v name=$folder -v seconds="$best" -v bytes="$(du -sb $work/few | cut -f1)" 'BEGIN {
        words["few"] = "C order, steps first"; words["axis"] = "--time-axis 1"; words["fortran"] = "Fortran order"
        words["big-endian"] = "big-endian"; words["stored"] = ".npz, stored"; words["deflated"] = ".npz, deflated"
        printf "| %s | %.0f |\n", words[name], bytes / 1e6 / seconds }'
done
rm -rf $place/packed
echo
echo '| split in the order of the plan, -T 1000 | MB | in the archive | pieces | processor s |'
echo '|---|---|---|---|---|'
rm -rf $work/out && mkdir -p $work/out
seconds=$(timed ./bload pack -q $work/large/large.npz --kind array -T 1000 --oversize split -o $work/out/packed)
printf '| one deflated array | %d | %d | %d | %.1f |\n' $((786432 * 1024 / 1000000)) $(($(stat -c %s $work/large/large.npz) / 1000000)) \
    "$(./bload info --json $work/out/packed | sed -n 's/^  "blocks": \([0-9]*\),$/\1/p')" "${seconds#* }"
rm -rf $work/out
