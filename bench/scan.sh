#!/bin/bash
# Files per second of bload scan on small files, beside what counts frames elsewhere: PyAV (demuxing) and torchcodec (approximate
# mode, which trusts headers). A peer that build/bench-venv has not is named and left out:
#
#     python3 -m venv build/bench-venv && build/bench-venv/bin/pip install av torchcodec torch
#     bench/scan.sh [FILES]        how many files (500)
set -eu
cd "$(dirname "$0")/.."
count=${1:-500}
folder=build/bench/small
python=build/bench-venv/bin/python
mkdir -p "$folder"
for kind in mp4 webm mkv; do
    [ -e "$folder/base.$kind" ] || ffmpeg -v error -nostdin -f lavfi -i "testsrc2=s=320x240:r=25" -frames:v 60 -y "$folder/base.$kind"
done
rm -rf "$folder/files"
mkdir "$folder/files"
kinds=(mp4 webm mkv)
for ((i = 0; i < count; i++)); do
    cp "$folder/base.${kinds[i % 3]}" "$folder/files/$i.${kinds[i % 3]}"
done

measure() { # NAME COMMAND...: the best of five runs
    local name=$1 best=0 begin end
    shift
    for _ in 1 2 3 4 5; do
        begin=$(date +%s%N)
        "$@" >/dev/null || return 0
        end=$(date +%s%N)
        best=$(awk -v b="$best" -v r="$((count * 1000000000 / (end - begin)))" 'BEGIN { print (r > b ? r : b) }')
    done
    printf '| %-28s | %6d |\n' "$name" "$best"
}

peer() { # NAME MODULE CODE: code counts the frames of the file named path; two processes, as there are two processors here and there
    "$python" -c "import $2" 2>/dev/null || {
        echo "| $1 | not installed |"
        return 0
    }
    "$python" - "$folder/files" "$count" "$1" <<END
import os, sys, time
from concurrent.futures import ProcessPoolExecutor
def work(path):
$3
if __name__ == "__main__":
    import $2
    folder, count, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    files = [os.path.join(folder, f) for f in os.listdir(folder)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(work, files, chunksize=16))
        best = min((lambda b: (list(pool.map(work, files, chunksize=16)), time.time() - b)[1])(time.time()) for _ in range(5))
    print(f"| {name:28} | {count / best:6.0f} |")
END
}

echo "$count files of 60 frames, $(nproc) processors; best of five"
echo
echo '| | files/s |'
echo '|---|---|'
measure 'bload scan' ./bload scan -q "$folder/files"
measure 'bload scan --count decode' ./bload scan -q --count decode "$folder/files"
peer 'PyAV, demuxing' av '    import av
    with av.open(path) as c: return sum(1 for p in c.demux(video=0) if p.size)'
peer 'torchcodec, approximate' torchcodec '    from torchcodec.decoders import VideoDecoder
    return VideoDecoder(path, seek_mode="approximate").metadata.num_frames'
