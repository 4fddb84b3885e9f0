#!/bin/bash
# What packing costs beside decoding alone: bload pack over bench/decode.c on the same clips, in alternation, all processors busy, one
# decoding thread a file, scaled to 224x224, not compressed; and where the rest goes. The tables of docs/performance.md.
#
#     bench/video.sh [PAIRS]       how many pairs of runs each row is the median of (3)
#
# Both are timed as whole commands, by the same clock, so that both pay for starting and for loading FFmpeg's libraries. The clips (300
# frames each) are made from a real one in BLOAD_SHARED where that is, else from FFmpeg's mandelbrot: they lie in build/bench, and
# making them takes longer than measuring. There are so many of the small ones that what is paid once a run, whatever the size of the
# corpus, does not pass for the price of a frame: memory for the blocks that are under way, and the last of them on their way to the
# disk. OUT is where datasets go: build/bench, a disk; OUT=/dev/shm shows what the disk costs.
set -eu
cd "$(dirname "$0")/.."
pairs=${1:-3}
clips=build/bench/videos
out=${OUT:-build/bench}/dataset
shares=build/bench/shares
real=${BLOAD_SHARED:-../shared}/data/media/exo_sample_with_increasing_timestamps_360p.mp4
threads=$(nproc)
mkdir -p "$clips"
make --no-print-directory build/release/bench/decode >&2

# make_clips NAME SIZE COUNT OPTIONS...: clips that begin half a second apart.
make_clips() {
    local name=$1 size=$2 count=$3 at source
    shift 3
    mkdir -p "$clips/$name"
    for ((i = 1; i <= count; i++)); do
        [ -e "$clips/$name/$i.done" ] && continue
        at=$((i / 2)).$((i % 2 * 5))
        source=(-f lavfi -i "mandelbrot=s=$size:r=30:start_scale=0.$i")
        [ -e "$real" ] && source=(-stream_loop -1 -ss "$at" -i "$real")
        ffmpeg -v error -nostdin "${source[@]}" -an -frames:v 300 -vf "scale=${size/x/:},format=yuv420p" "$@" -y \
            "$clips/$name/$i.${name##*.}"
        touch "$clips/$name/$i.done"
    done
}

# Seconds of one command: wall, processor.
timed() {
    local times
    times=$({ TIMEFORMAT='%R %U %S' && time "$@" >/dev/null 2>&3; } 3>&2 2>&1) || return
    echo "$times" | awk '{ print $1, $2 + $3 }'
}

decode_once() { # FOLDER [SIZE]
    timed build/release/bench/decode "$threads" "${@:2}" "$1"/*.[mw]*
}

pack_once() { # FOLDER
    rm -rf "$out"
    timed ./bload pack "$1"/*.[mw]* -o "$out" -T 300 --size 224x224 -q
}

median() {
    sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# Appends to both tables.
row() { # NAME GOAL
    local runs=build/bench/runs i frames decode pack scale
    : >"$runs"
    decode_once "$clips/$1" >/dev/null # the page cache is warm from here on
    for ((i = 0; i < pairs; i++)); do
        decode=$(decode_once "$clips/$1")
        pack=$(pack_once "$clips/$1")
        scale=$(decode_once "$clips/$1" 224x224)
        echo "$decode $pack $scale" >>"$runs"
    done
    frames=$(($(find "$clips/$1" -name '*.[mw]*' | wc -l) * 300))
    printf '| %-13s | %6.0f | %6.0f | %.2f | %.2f | %s |\n' "$1" \
        "$(awk -v n=$frames '{ print n / $1 }' "$runs" | median)" "$(awk -v n=$frames '{ print n / $3 }' "$runs" | median)" \
        "$(awk '{ print $3 / $1 }' "$runs" | median)" "$(awk '{ print $4 / $2 }' "$runs" | median)" "$2"
    printf '| %-13s | %3.0f %% | %3.0f %% | %3.0f %% |\n' "$1" "$(awk '{ print 100 * $2 / $4 }' "$runs" | median)" \
        "$(awk '{ print 100 * ($6 - $2) / $4 }' "$runs" | median)" "$(awk '{ print 100 * ($4 - $6) / $4 }' "$runs" | median)" >>"$shares"
}

make_clips h264-360.mp4 640x360 32 -c:v libx264 -preset medium -crf 23
make_clips h264-1080.mp4 1920x1080 4 -c:v libx264 -preset medium -crf 23
make_clips vp9-360.webm 640x360 32 -c:v libvpx-vp9 -deadline realtime -cpu-used 5 -b:v 600k
[ -e "$real" ] && echo "clips from a real video; datasets in ${out%/*}; $pairs pairs" ||
    echo "clips from FFmpeg's mandelbrot; datasets in ${out%/*}; $pairs pairs"
echo
echo '| clips | decoding alone, frames/s | packing, frames/s | wall, ratio | processor, ratio | goal |'
echo '|---|---|---|---|---|---|'
: >"$shares"
row h264-360.mp4 1.5
row h264-1080.mp4 1.25
row vp9-360.webm 1.35
echo
echo 'Where the processor time of packing goes:'
echo
echo '| clips | decoding | scaling, colour | assembling, hashing, writing |'
echo '|---|---|---|---|'
cat "$shares"
rm -rf "$out"
