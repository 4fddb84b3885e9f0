#!/bin/bash
# Sound to 16 kHz mono, and features of it, times real time for a second of one processor: bload beside what one would write in Python,
# the same files on the same core in turn. A peer that cannot be installed is named and left out.
#
#     bench/audio.sh [RUNS]        each figure is the best of so many (2), all of them in alternation; three minutes a run
#
# Of bload a whole process is measured, its start included (some 0.035 s), that writes a dataset; of the others reading alone, to floats in
# memory, without imports. Short files are the prompts of `make demo-audio`; the others are made of the shared speech, 120 times over.
set -eu
cd "$(dirname "$0")/.."
runs=${1:-2}
work=build/bench/audio
venv=build/bench-venv
prompts=build/demo-audio/prompts
speech=${BLOAD_SHARED:-../shared}/data/media/whisper_jfk.flac
core=$(($(nproc) - 1))
mkdir -p "$work"

[ -e "$venv" ] || python3 -m venv "$venv"
for peer in numpy soundfile soxr av torch torchcodec torchaudio urllib3 lhotse; do
    "$venv/bin/python" -c "import $peer" 2>/dev/null || "$venv/bin/pip" install -q "$peer" >/dev/null 2>&1 || echo "$peer cannot be installed" >&2
done

# long NAME OPTION...: the speech, 22 minutes of it, encoded
long() {
    local file=$work/long.$1
    shift
    [ -e "$file" ] || [ ! -e "$speech" ] || ffmpeg -v error -nostdin -y -stream_loop 119 -i "$speech" "$@" "$file"
}

# bload_takes ROW WHO COMMAND...: a line for the figures
bload_takes() {
    local row=$1 who=$2
    shift 2
    rm -rf "$work/d"
    {
        TIMEFORMAT='%U %S'
        time taskset -c "$core" ./bload "$@" -q -j1 >/dev/null 2>"$work/errors"
    } 2>"$work/time" || [ $? = 3 ] || { cat "$work/errors" >&2 && exit 1; }
    echo "$row $who $(cat "$work/$row.seconds" "$work/time" | tr '\n' ' ')"
}

# bload_row ROW SOURCE: with the plan that is made soonest
bload_row() {
    local table=$work/$1.tsv options=(-T longest --fill paper -o "$work/d")
    if [ ! -e "$table" ]; then
        for features in '' whisper80 fbank80; do
            ./bload scan -q ${features:+--features $features} "$2" -o "$table.$features" 2>/dev/null || [ $? = 3 ]
        done
        mv "$table." "$table"
        awk -F '\t' 'NR > 1 { steps += $2 } END { print steps / 16000 }' "$table" >"$work/$1.seconds"
    fi
    bload_takes "$1" scan scan "$2"
    bload_takes "$1" pack pack --sequences "$table" "${options[@]}"
    case $1 in *wav)
        bload_takes "$1" whisper80 pack --features whisper80 --sequences "$table.whisper80" "${options[@]}"
        bload_takes "$1" fbank80 pack --features fbank80 --sequences "$table.fbank80" "${options[@]}" ;;
    esac
}

# peer_row ROW SOURCE PEER: reading; with features, reading and both, and the features alone
peer_row() {
    local sound reading making
    read -r sound reading making < <(taskset -c "$core" "$venv/bin/python" bench/audio_peers.py "$3" "$2" 2>/dev/null) || return 0
    case $3 in
    *+*) awk -v row="$1" -v who="$3" -v s="$sound" -v r="$reading" -v m="$making" 'BEGIN { print row, who, s, r + m; print row, who "-alone", s, m }' ;;
    *) echo "$1 $3 $sound $reading" ;;
    esac
}

one_run() {
    local row source peer
    while read -r row source; do
        [ -e "$source" ] || continue
        bload_row "$row" "$source"
        case $row in *wav)
            for peer in soundfile+numpy soundfile+torch lhotse+fbank; do peer_row "$row" "$source" $peer; done ;;
        esac
        for peer in soundfile torchcodec pyav lhotse; do peer_row "$row" "$source" $peer; done
    done <<END
short-wav $prompts
speech-wav $work/speech
long-mp3 $work/long.mp3
long-flac $work/long.flac
long-flac-16k $work/long.16k.flac
long-opus $work/long.opus
END
}

[ -d "$prompts" ] || echo '(short wav: run make demo-audio first)' >&2
[ -e "$speech" ] || echo "(long files: there is no $speech)" >&2
if [ -e "$speech" ] && [ ! -e "$work/speech" ]; then
    mkdir "$work/speech.new"
    ffmpeg -v error -nostdin -y -i "$speech" -ar 16000 -ac 1 -c:a pcm_s16le "$work/speech.new/1.wav"
    for ((i = 2; i <= 120; i++)); do cp "$work/speech.new/1.wav" "$work/speech.new/$i.wav"; done
    mv "$work/speech.new" "$work/speech"
fi
long mp3 -c:a libmp3lame
# In frames as the flac command makes them.
long flac -sample_fmt s16 -c:a flac -frame_size 4096
long 16k.flac -sample_fmt s16 -ar 16000 -ac 1 -c:a flac -frame_size 4096
long opus -c:a libopus
rm -f "$work"/*.tsv*
for ((run = 0; run < runs; run++)); do one_run; done >"$work/figures"

awk '
function rate(row, who) { return (row, who) in least ? sprintf("%.0f", sound[row, who] / least[row, who]) : "-" }
function cells(row, list,    names, n, i, line) {
    n = split(list, names)
    for (i = 1; i <= n; i++)
        line = line " | " rate(row, names[i])
    return line " |"
}
function alone(row, who) { # beside packing the samples, of as many bytes
    if (!((row, who) in least)) return "-"
    return sprintf("%.0f", sound[row, who] / (least[row, who] - least[row, "pack"]))
}
{
    sound[$1, $2] = $3
    if (!(($1, $2) in least) || $4 + $5 < least[$1, $2]) least[$1, $2] = $4 + $5
}
END {
    print "| to 16 kHz mono | scan | pack | soundfile, soxr | torchcodec | PyAV | lhotse |\n|---|---|---|---|---|---|---|"
    n = split("short-wav:short wav, 8 kHz;speech-wav:120 wav of 11 s, 16 kHz;long-mp3:long mp3, 44.1 kHz stereo;long-flac:long flac, 44.1 kHz stereo;long-flac-16k:long flac, 16 kHz;long-opus:long opus, 48 kHz stereo", rows, ";")
    for (i = 1; i <= n; i++) {
        split(rows[i], row, ":")
        print "| " row[2] cells(row[1], "scan pack soundfile torchcodec pyav lhotse")
    }
    print "\n| features | pack | soundfile, numpy | soundfile, torch | lhotse |\n|---|---|---|---|---|"
    for (i = 1; i <= 2; i++) {
        split(rows[i], row, ":")
        print "| whisper80, " row[2] cells(row[1], "whisper80 soundfile+numpy soundfile+torch") " - |"
        print "| the features alone | " alone(row[1], "whisper80") cells(row[1], "soundfile+numpy-alone soundfile+torch-alone") " - |"
        print "| fbank80, " row[2] cells(row[1], "fbank80") " - | -" cells(row[1], "lhotse+fbank")
        print "| the features alone | " alone(row[1], "fbank80") " | - | -" cells(row[1], "lhotse+fbank-alone")
    }
}' "$work/figures"
