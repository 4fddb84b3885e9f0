#!/bin/bash
# Blocks read for training: bload's package beside the loaders of others, on the same blocks of 14 MB in the page cache, in order and
# shuffled, by torch's DataLoader without, with one and with two workers. The yardstick is numpy, which copies the same bytes.
#
#     bench/read.sh [ROUNDS]       each figure is the median of so many (5), all of them in alternation; two minutes a round
#     bench/read.sh --quick        tiny blocks, one round: whether all of it still works
#
# The Python is build/bench-venv, with pip's torch, and peers are installed there; TORCH_PYTHON names another one, which is used as it
# is. A peer that cannot be had is named and left out. The content, 1.1 GB for each of them, lies in build/bench/read (WORK): a real
# video of BLOAD_SHARED where that is, else FFmpeg's mandelbrot.
set -eu
cd "$(dirname "$0")/.."
rounds=${1:-5}
work=${WORK:-build/bench/read}
tool=${BLOAD:-./bload}
real=${BLOAD_SHARED:-../shared}/data/media/exo_sample_with_increasing_timestamps_360p.mp4
export PYTHONPATH=$PWD/python
if [ "$rounds" = --quick ]; then
    rounds=1
    work=$work/quick
fi
mkdir -p "$work"

# Without the packages for clouds and models that they ask for, and do not need here, streaming and litdata are small.
install() {
    local peer pip
    [ -e build/bench-venv ] || python3 -m venv build/bench-venv
    while read -r peer pip; do
        # shellcheck disable=SC2086 # a list
        "$python" -c "import importlib.util as u; exit(u.find_spec('$peer') is None)" ||
            "$python" -m pip install -q $pip </dev/null >/dev/null 2>&1 || echo "$peer cannot be installed" >&2
    done <<END
numpy numpy
torch torch
safetensors safetensors
zstandard zstandard
webdataset webdataset
datasets datasets
xxhash xxhash
brotli --no-deps brotli
zstd --no-deps zstd
snappy python-snappy
catalogue --no-deps catalogue
tqdm tqdm
PIL pillow
lightning_utilities lightning-utilities
requests requests
streaming --no-deps mosaicml-streaming
litdata --no-deps litdata
END
}

clips() {
    mkdir -p "$work/clips.part"
    if [ -e "$real" ]; then
        for ((i = 0; i < 14; i++)); do cp "$real" "$work/clips.part/$i.mp4"; done
    else
        ffmpeg -v error -nostdin -f lavfi -i mandelbrot=s=640x360:r=30 -frames:v 7168 -pix_fmt yuv420p -y "$work/clips.part/0.mp4"
    fi
    mv "$work/clips.part" "$work/clips"
}

arrays() {
    mkdir -p "$work/arrays.part"
    "$python" -c "
import numpy
for i in range(5):
    numpy.save('$work/arrays.part/%d' % i, numpy.random.default_rng(i).integers(0, 255, (20 + i, 8, 8, 3), 'u1'))"
    mv "$work/arrays.part" "$work/arrays"
}

pack() { # FOLDER [OPTION...]
    if [ "${work##*/}" = quick ]; then
        [ -e "$work/arrays" ] || arrays
        "$tool" pack -q "$work/arrays" --kind array --name frames -T 24 --shard-size 10K -o "$@"
    else
        [ -e "$work/clips" ] || clips
        "$tool" pack -q "$work/clips" --size 224x224 -T 94 --oversize split -o "$@"
    fi
}

python=${TORCH_PYTHON:-build/bench-venv/bin/python}
[ -n "${TORCH_PYTHON-}" ] || install
[ -e "$work/plain/manifest.json" ] || pack "$work/plain"
[ -e "$work/bload-zstd/manifest.json" ] || pack "$work/bload-zstd" --compress zstd
"$python" bench/read_peers.py content "$work/plain" "$work" 2>"$work/content.log" || { cat "$work/content.log" >&2 && exit 1; }
grep 'left out' "$work/content.log" >&2 || true
peers=(numpy bload bload-numpy)
"$python" -c 'import zstandard' 2>/dev/null && peers+=(bload-zstd)
"$python" -c 'import safetensors' 2>/dev/null && peers+=(safetensors)
for peer in streaming webdataset litdata datasets; do
    [ ! -d "$work/$peer" ] || peers+=("$peer")
done

for ((round = 0; round < rounds; round++)); do
    for peer in "${peers[@]}"; do
        "$python" bench/read_peers.py read "$peer" "$work/plain" "$work" 2>"$work/errors" | sed "s/^/$round /"
        [ "${PIPESTATUS[0]}" = 0 ] || echo "$peer: $(tail -n 1 "$work/errors")" >&2
    done
done >"$work/figures"

awk -v peers="${peers[*]}" -v rounds="$rounds" '
# The median over the rounds; relative: of what it is over what numpy reached in the same round.
function median(kind, peer, cell, relative,    v, n, r, i, j, t) {
    for (r = 0; r < rounds; r++)
        if ((kind, r, peer, cell) in figure)
            v[++n] = figure[kind, r, peer, cell] / (relative ? figure[kind, r, "numpy", cell] : 1)
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && v[j] < v[j - 1]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
    return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}
function cell(kind, peer, how) { return sprintf("%.2f (%.2f)", median(kind, peer, how, 0), median(kind, peer, how, 1)) }
function table(kind,    i, c, line) {
    print "\n| " kind " | in order, 0 workers | 1 | 2 | shuffled, 0 workers | 1 | 2 |\n|---|---|---|---|---|---|---|"
    for (i = 1; i <= n; i++) {
        line = "| " names[i]
        for (c = 1; c <= 6; c++)
            line = line " | " (names[i] in missing ? "-" : cell(kind, names[i], cells[c]))
        print line " |"
    }
}
{ figure["GB/s", $1, $2, $3] = $4; figure["GB per processor second", $1, $2, $3] = 1 / $5; size = $6; lines[$2]++ }
sum != "" && sum != $7 { print "the blocks are not those of numpy: " $0 > "/dev/stderr"; wrong = 1 }
sum == "" { sum = $7 }
END {
    n = split(peers, names); split("sequential0 sequential1 sequential2 shuffled0 shuffled1 shuffled2", cells)
    for (i = 1; i <= n; i++)
        if (lines[names[i]] != 6 * rounds) { missing[names[i]]; wrong = 1 }
    printf "Blocks of %.2f MB: 1 GB/s is %.1f blocks/s. Median of %d (over numpy).\n", size / 1e6, 1e9 / size, rounds
    table("GB/s"); table("GB per processor second")
    exit wrong
}' "$work/figures"
