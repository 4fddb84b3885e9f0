#!/bin/bash
# Frames at rest: what a frame takes on the disk, and how fast it is packed and read, as it is, compressed, as differences and as JPEG.
# Then what other differences would make of the same frames. The tables of docs/performance.md.
#
#     bench/encode.sh [RUNS]       of how many the best is taken (3)
#
# Frames are those of five real videos in BLOAD_SHARED where they are, else of FFmpeg's mandelbrot, scaled to 224x224. One worker, whole
# commands, processor time: packing includes decoding and scaling the video, which is the same in every row. Reading is bench/encode.c,
# through the library, the page cache warm. The second table needs numpy and zstandard: those of the readers' tests.
set -eu
cd "$(dirname "$0")/.."
runs=${1:-3}
work=build/bench/encode
media=${BLOAD_SHARED:-../shared}/data/media
real=(exo_sample_with_increasing_timestamps_360p.mp4 tc_nasa_13013.mp4 exo2_video_big_buck_bunny.mp4
    exo_sample_sef_super_slow_motion.mp4 exo_sample_sef_slow_motion.mp4)
mkdir -p $work
make --no-print-directory build/release/bench/encode >&2

videos=()
for name in "${real[@]}"; do
    [ ! -e "$media/$name" ] || videos+=("$media/$name")
done
if [ ${#videos[@]} -lt ${#real[@]} ]; then
    videos=("$work/mandelbrot.mp4")
    [ -e "${videos[0]}" ] || ffmpeg -v error -nostdin -f lavfi -i mandelbrot=s=640x360:r=30 -frames:v 1200 -c:v libx264 -crf 18 \
        -pix_fmt yuv420p -y "${videos[0]}"
    echo "FFmpeg's mandelbrot; best of $runs"
else
    echo "five real videos; best of $runs"
fi

# pack NAME [OPTION...]: frames a second of one processor.
pack() {
    local name=$1
    shift
    rm -rf "${work:?}/$name"
    { TIMEFORMAT='%U %S' && time ./bload pack -q "${videos[@]}" -T 240 --oversize split --size 224x224 -j1 -o $work/"$name" "$@"; } 2>&1 |
        awk -v frames="$frames" '{ print frames / ($1 + $2) }'
}

best() {
    sort -rn | head -n 1
}

frames=$(./bload scan -q "${videos[@]}" | awk -F '\t' 'NR > 1 { n += $2 } END { print n }')
echo
echo '| | KB a frame | packing, frames/s | reading, frames/s |'
echo '|---|---|---|---|'
while read -r name options; do
    # shellcheck disable=SC2086 # words
    packed=$(for ((i = 0; i < runs; i++)); do pack "$name" $options; done | best)
    bytes=$(du -sb --apparent-size $work/"$name"/shards | cut -f1)
    printf '| %s | %.1f | %.0f | %.0f |\n' "\`${options:-raw}\`" "$(awk -v b="$bytes" -v n="$frames" 'BEGIN { print b / n / 1000 }')" \
        "$packed" "$(build/release/bench/encode $work/"$name" "$runs")"
done <<'END_OF_ROWS'
raw
zstd1 --compress zstd:1
zstd3 --compress zstd:3
delta1 --encode delta --compress zstd:1
delta3 --encode delta --compress zstd:3
jpeg95 --encode jpeg:95
jpeg90 --encode jpeg:90
jpeg75 --encode jpeg:75
END_OF_ROWS

if python=$(scripts/readers-venv.sh 2>/dev/null | tail -n 1) && [ -n "$python" ]; then
    echo
    "$python" bench/encode.py $work/raw
fi
for name in raw zstd1 zstd3 delta1 delta3 jpeg95 jpeg90 jpeg75; do rm -rf "${work:?}/$name"; done
