#!/bin/bash
# What bload pack --dry-run foretells beside what the same command then writes and takes: the table of docs/performance.md.
#
#     bench/forecast.sh [COPIES]   of the inputs (8)
#
# Inputs are real videos, texts and noise: five videos and the text files of BLOAD_SHARED where they are, else FFmpeg's mandelbrot and made-up
# words. Copies make runs long enough to be timed. "within" says whether the bytes, and then the seconds, lie in the range that was told.
set -eu
cd "$(dirname "$0")/.."
copies=${1:-8}
work=build/bench/forecast
shared=${BLOAD_SHARED:-../shared}/data
real=(exo_sample_with_increasing_timestamps_360p.mp4 tc_nasa_13013.mp4 exo2_video_big_buck_bunny.mp4
    exo_sample_sef_super_slow_motion.mp4 exo_sample_sef_slow_motion.mp4)
rm -rf $work
mkdir -p $work/video $work/text $work/sound

videos=()
for name in "${real[@]}"; do [ ! -e "$shared/media/$name" ] || videos+=("$shared/media/$name"); done
if [ ${#videos[@]} -lt ${#real[@]} ]; then
    videos=("$work/mandelbrot.mp4")
    ffmpeg -v error -nostdin -f lavfi -i mandelbrot=s=640x360:r=30 -frames:v 600 -c:v libx264 -crf 18 -pix_fmt yuv420p -y "${videos[0]}"
fi
texts=("$shared"/corpora/*.txt)
if [ ! -e "${texts[0]}" ]; then
    texts=("$work/words.txt")
    awk 'BEGIN { srand(1); for (i = 0; i < 400000; i++) printf "%c%x%s", 97 + int(rand() * 26), int(rand() * 4096), i % 12 ? " " : "\n" }' \
        >"${texts[0]}"
fi
for ((i = 0; i < copies; i++)); do
    for file in "${videos[@]}"; do cp "$file" "$work/video/$i-${file##*/}"; done
    for file in "${texts[@]}"; do cp "$file" "$work/text/$i-${file##*/}"; done
    for ((k = 1; k < 9; k++)); do
        ffmpeg -v error -nostdin -f lavfi -i "anoisesrc=d=$((k * 9)):r=16000:seed=$i$k:a=0.3" -y "$work/sound/$i-$k.flac"
    done
done

# member NAME FILE: a number of the flat JSON.
member() {
    sed -n "s/^  \"$1\": \([^,]*\),\{0,1\}$/\1/p" "$2"
}

seconds() {
    TIMEFORMAT=%R
    { time "$@" >/dev/null 2>&1; } 2>&1
}

# compare TITLE OPTION...
compare() {
    local title=$1 dry real
    shift
    rm -rf $work/d
    dry=$(seconds ./bload pack -q "$@" -o $work/d --dry-run)
    ./bload pack -q "$@" -o $work/d --dry-run --json >$work/forecast.json 2>$work/said
    real=$(seconds ./bload pack -q "$@" -o $work/d)
    ./bload info $work/d --json >$work/info.json
    echo "$title" "$(member bytes $work/forecast.json)" "$(member bytes $work/info.json)" "$(member bytes_low $work/forecast.json)" \
        "$(member bytes_high $work/forecast.json)" "$(member seconds_low $work/forecast.json)" \
        "$(member seconds_high $work/forecast.json)" "$real" "$dry" | awk '{
        printf "| %s | %.1f | %.1f | %+.1f %% | %s | %.1f to %.1f | %.1f | %s | %.1f |\n", $1, $2 / 2^20, $3 / 2^20, 100 * ($2 / $3 - 1),
            $4 <= $3 && $3 <= $5 ? "yes" : "no", $6, $7, $8, $6 <= $8 && $8 <= $7 ? "yes" : "no", $9 }'
    rm -rf $work/d
}

echo '| | MiB foretold | real | off | within | s foretold | real | within | dry run, s |'
echo '|---|---|---|---|---|---|---|---|---|'
video=("$work/video" --size 224x224 -T 240 --oversize split)
compare video "${video[@]}"
compare video,jpeg "${video[@]}" --encode jpeg
compare video,zstd:3 "${video[@]}" --compress zstd:3
compare video,delta,zstd:1 "${video[@]}" --encode delta --compress zstd:1
text=("$work/text" --tokenizer bytes --documents line -T 2048 --oversize split)
compare text "${text[@]}"
compare text,zstd:3 "${text[@]}" --compress zstd:3
compare sound "$work/sound" -T longest
compare sound,fbank80 "$work/sound" -T longest --features fbank80
