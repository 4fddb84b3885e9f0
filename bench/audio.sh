#!/bin/bash
# Sound to 16 kHz mono, times real time for a second of one processor: bload scan, pack from a table, pack of Whisper's log-mel; beside
# them soundfile with soxr, and numpy's log-mel, where a Python has them:
#
#     bench/audio.sh [PYTHON]
#
# Short files are the prompts of `make demo-audio`; long ones are made of the shared speech, 60 times over.
set -eu
cd "$(dirname "$0")/.."
python=${1:-python3}
work=build/bench/audio
prompts=build/demo-audio/prompts
speech=${BLOAD_SHARED:-../shared}/data/media/whisper_jfk.flac
mkdir -p "$work"

# cpu COMMAND...: the least processor time of three runs, in seconds.
cpu() {
    for _ in 1 2 3; do
        rm -rf "$work/d"
        { TIMEFORMAT='%U %S'; time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2 }'
    done | sort -g | head -n 1
}

long() {
    local file=$work/long.$1
    [ -e "$file" ] || ffmpeg -v error -nostdin -y -stream_loop 59 -i "$speech" -c:a "$2" "$file"
    echo "$file"
}

# Whatever is read by soundfile is resampled by soxr, as one would in a script.
peer() {
    "$python" - "$1" <<'END'
import os, sys
import soundfile, soxr
source = sys.argv[1]
paths = [os.path.join(f, n) for f, _, names in os.walk(source) for n in names if n.endswith(".wav")] or [source]
for path in paths:
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    soxr.resample(samples.mean(1), rate, 16000)
END
}

# row NAME SOURCE
row() {
    local table=$work/t.tsv seconds scan pack mel other='not there'
    ./bload scan -q -j1 "$2" -o "$table" 2>/dev/null || [ $? = 3 ]
    seconds=$(awk -F '\t' 'NR > 1 { steps += $2 } END { print steps / 16000 }' "$table")
    scan=$(cpu ./bload scan -q -j1 "$2")
    pack=$(cpu ./bload pack -q -j1 --sequences "$table" -T longest --fill random -o "$work/d")
    ./bload scan -q -j1 --features whisper80 "$2" -o "$table" 2>/dev/null || [ $? = 3 ]
    mel=$(cpu ./bload pack -q -j1 --sequences "$table" --features whisper80 -T longest --fill random -o "$work/d")
    if "$python" -c 'import soundfile, soxr' 2>/dev/null; then
        other=$(awk -v s="$seconds" -v t="$(cpu peer "$2")" 'BEGIN { printf "%.0f", s / t }')
    fi
    awk -v name="$1" -v s="$seconds" -v scan="$scan" -v pack="$pack" -v mel="$mel" -v other="$other" 'BEGIN {
        printf "| %s, %.0f s | %.0f | %.0f | %.0f | %s |\n", name, s, s / scan, s / pack, s / mel, other }'
}

echo '| to 16 kHz mono | scan | pack | pack, whisper80 | soundfile + soxr |'
echo '|---|---|---|---|---|'
if [ -d "$prompts" ]; then row 'short wav, 8 kHz' "$prompts"; else echo '(short wav: run make demo-audio first)'; fi
if [ -e "$speech" ]; then
    row 'long mp3, 44.1 kHz stereo' "$(long mp3 libmp3lame)"
    row 'long flac, 44.1 kHz stereo' "$(long flac flac)"
    row 'long opus' "$(long opus libopus)"
else
    echo "(long files: there is no $speech)"
fi
