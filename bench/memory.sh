#!/bin/bash
# Peak memory of all processes of a run (bench/memory.py): beside --memory, for each kind, many small inputs, a few huge ones and hostile
# ones; and of scan, pack and plan as the number of inputs grows, when it must not but for a few dozen bytes each.
#
#     bench/memory.sh [KIND...]     only the first table, of these kinds
set -eu
cd "$(dirname "$0")/.."
folder=build/bench/many
mkdir -p "$folder"
[ -e "$folder/clip.mp4" ] || ffmpeg -v error -nostdin -f lavfi -i "testsrc2=s=64x48:r=25" -frames:v 12 -y "$folder/clip.mp4"

# peak COMMAND...: the most that its processes have resident, in KiB. Inputs that are of no use are no fault.
peak() {
    python3 bench/memory.py "$@" || [ $? = 3 ]
}

# --- beside --memory ------------------------------------------------------------------------------------------------

# once FILE COMMAND...: makes it unless it is there.
once() {
    [ -e "$1" ] || "${@:2}"
}

video() { # SIZE FRAMES FILE [OPTION...]
    ffmpeg -v error -nostdin -y -f lavfi -i "testsrc2=s=$1:r=25" -frames:v "$2" -c:v libx264 -preset ultrafast -pix_fmt yuv420p "${@:4}" "$3"
}

picture() { # SIZE FILE
    ffmpeg -v error -nostdin -y -f lavfi -i "color=s=$1" -frames:v 1 -update 1 "$2"
}

copies() { # FILE FOLDER COUNT
    local i
    rm -rf "$2"
    mkdir -p "$2"
    for ((i = 0; i < $3; i++)); do ln "$1" "$2/$i.${1##*.}"; done
}

# Inputs by their kind, and what they are: into the folder $inputs.
make_small() {
    case $1 in
    video) copies "$folder/clip.mp4" "$inputs" 1000 ;;
    audio)
        once "$folder/short.flac" ffmpeg -v error -nostdin -f lavfi -i anoisesrc=duration=0.5:sample_rate=16000 "$folder/short.flac"
        copies "$folder/short.flac" "$inputs" 2000
        ;;
    frames)
        once "$folder/small.jpg" picture 320x240 "$folder/small.jpg"
        for i in {1..200}; do copies "$folder/small.jpg" "$inputs/$i" 5; done
        ;;
    array) copies_of_array 100 3000 ;;
    text) seq -f '{"text": "document %.0f of some words, of which there are ten"}' 300000 >"$inputs.jsonl" && mkdir "$inputs" && mv "$inputs.jsonl" "$inputs" ;;
    labels) mkdir "$inputs" && for i in {1..2000}; do seq "$i" $((i + 99)) >"$inputs/$i.txt"; done ;;
    esac
}

make_huge() {
    case $1 in
    video)
        once "$folder/uhd.mp4" video 3840x2160 30 "$folder/uhd.mp4" -refs 4 -bf 3
        copies "$folder/uhd.mp4" "$inputs" 4
        ;;
    audio) mkdir "$inputs" && long_wave "$inputs/a.wav" 3600 && long_wave "$inputs/b.wav" 3600 ;;
    frames)
        once "$folder/large.jpg" picture 6000x4000 "$folder/large.jpg"
        once "$folder/large.png" picture 6000x4000 "$folder/large.png"
        for i in 1 2; do copies "$folder/large.jpg" "$inputs/$i" 3; done
        copies "$folder/large.png" "$inputs/3" 3
        ;;
    array) copies_of_array 10000000 2 && deflated_array 10000000 ;;
    text) mkdir "$inputs" && for i in 1 2 3; do printf '{"text": "%s"}\n' "$(seq -s ' ' 8000000)" >"$inputs/$i.jsonl"; done ;;
    labels) mkdir "$inputs" && seq 5000000 >"$inputs/long.txt" ;;
    esac
}

# What takes much more memory than it has bytes. Beside it lies what is sound.
make_hostile() {
    case $1 in
    video)
        once "$folder/wall.mp4" video 16000x16000 2 "$folder/wall.mp4" -vf drawbox=t=fill
        once "$folder/refs.mp4" video 8000x4000 20 "$folder/refs.mp4" -vf drawbox=t=fill -refs 16
        copies "$folder/clip.mp4" "$inputs" 50
        ln "$folder/wall.mp4" "$folder/refs.mp4" "$inputs"
        ;;
    audio)
        once "$folder/silence.flac" ffmpeg -v error -nostdin -f lavfi -i anullsrc=channel_layout=7.1:sample_rate=192000 -t 60 "$folder/silence.flac"
        make_small audio
        ln "$folder/silence.flac" "$inputs"
        ;;
    frames)
        once "$folder/bomb.png" picture 16000x16000 "$folder/bomb.png"
        make_small frames
        copies "$folder/bomb.png" "$inputs/bomb" 2
        ;;
    array) copies_of_array 100 300 && deflated_array 20000000 ;;
    text)
        make_small text
        for i in 1 2; do { printf '{"text": "' && head -c 512M /dev/zero | tr '\0' a && printf '"}\n'; } | gzip -1c >"$inputs/bomb$i.jsonl.gz"; done
        ;;
    labels) make_small labels && head -c 512M /dev/zero | tr '\0' 1 | gzip -1c >"$inputs/bomb.txt" ;;
    esac
}

copies_of_array() { # STEPS COUNT
    npy_header "$1" >"$folder/array.npy"
    truncate -s "+$((40 * $1))" "$folder/array.npy"
    copies "$folder/array.npy" "$inputs" "$2"
}

npy_header() { # STEPS of ten floats
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($1, 10), }"
}

deflated_array() { # STEPS
    { npy_header "$1" && head -c $((40 * $1)) /dev/zero; } >"$folder/x.npy"
    python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED).write(sys.argv[2], "x.npy")' \
        "$inputs/deflated.npz" "$folder/x.npy"
    rm "$folder/x.npy"
}

long_wave() { # FILE SECONDS: of silence, 16 kHz
    python3 -c 'import sys, wave
with wave.open(sys.argv[1], "wb") as file:
    file.setparams((1, 2, 16000, 16000 * int(sys.argv[2]), "NONE", ""))
    file.writeframes(b"\0\0" * 16000 * int(sys.argv[2]))' "$@"
}

options_of() { # KIND
    case $1 in
    video) echo --size 224x224 -T 64 ;;
    frames) echo --kind frames --size 224x224 -T 64 ;;
    audio) echo --kind audio -T 4800000 ;;
    array) echo --kind array -T 100000 ;;
    text) echo --kind text --tokenizer bytes -T 65536 ;;
    labels) echo --kind labels -T 100000 ;;
    esac
}

bytes() { # of "1.5 GiB"
    awk '{ n = $1 * (/GiB/ ? 1073741824 : /MiB/ ? 1048576 : /KiB/ ? 1024 : 1); printf "%d", n }'
}

# least OPTION...: bytes of --memory that are enough, by what too little is refused with.
least() {
    ./bload pack -q "$inputs" -o "$folder/dataset" --memory 1 "$@" 2>&1 >/dev/null | grep -E 'memory is not enough|too small by' |
        grep -oE '[0-9.]+ ([KMG]iB|bytes)' | tail -n 1 | bytes
}

row() { # KIND WHAT
    local options memory kib status
    inputs=$folder/inputs
    rm -rf "$inputs"
    "make_$2" "$1"
    read -ra options <<<"$(options_of "$1") --oversize split --shard-size 16M"
    for memory in "$(least "${options[@]}")" 2147483648; do
        rm -rf "$folder/dataset"
        [ -n "$memory" ] || continue
        memory=$((memory + memory / 50)) # what is said is rounded
        status=0
        kib=$(python3 bench/memory.py ./bload pack -q "$inputs" "${options[@]}" --memory "$memory" -o "$folder/dataset" 2>"$folder/messages") ||
            status=$?
        awk -v k="$1" -v w="$2" -v m="$memory" -v p="$kib" -v s=$status \
            'BEGIN { printf "| %s | %s | %d | %.0f | %.2f | %d |\n", k, w, m / 1048576, p / 1024, p * 1024 / m, s }'
    done
    rm -rf "$inputs" "$folder/dataset"
}

echo '| kind | inputs | --memory, MiB | peak, MiB | ratio | status |'
echo '|---|---|---|---|---|---|'
kinds=("$@")
[ $# -gt 0 ] || kinds=(video audio frames array text labels)
for kind in "${kinds[@]}"; do
    for what in small huge hostile; do row "$kind" $what; done
done
[ $# = 0 ] || exit 0

# --- as inputs grow -------------------------------------------------------------------------------------------------

echo
echo '| videos | scan, MiB | pack, MiB |'
echo '|---|---|---|'
for count in 100 1000 10000; do
    rm -rf "$folder/videos" "$folder/dataset"
    mkdir "$folder/videos"
    for ((i = 0; i < count; i++)); do ln "$folder/clip.mp4" "$folder/videos/$i.mp4"; done
    scan=$(peak ./bload scan -q "$folder/videos" -o "$folder/table.tsv")
    pack=$(peak ./bload pack -q "$folder/videos" -T 120 --size 32x32 --shard-size 16M -o "$folder/dataset")
    awk -v n=$count -v s="$scan" -v p="$pack" 'BEGIN { printf "| %d | %.1f | %.1f |\n", n, s / 1024, p / 1024 }'
done
rm -rf "$folder/videos" "$folder/dataset"
echo
echo '| lengths | plan, MiB | bytes each |'
echo '|---|---|---|'
for count in 1000000 10000000; do
    awk -v n=$count 'BEGIN { srand(1); for (i = 0; i < n; i++) print 1 + int(512 * rand()) }' >"$folder/lengths"
    kib=$(peak ./bload plan -q -T 512 --lengths "$folder/lengths" -o /dev/null)
    awk -v n=$count -v k="$kib" 'BEGIN { printf "| %d | %.1f | %.1f |\n", n, k / 1024, k * 1024 / n }'
done
rm -f "$folder/lengths"
