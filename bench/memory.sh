#!/bin/bash
# Peak memory of scan, pack and plan as the number of inputs grows: it must not, but for a few dozen bytes each.
set -eu
cd "$(dirname "$0")/.."
folder=build/bench/many
mkdir -p "$folder"
[ -e "$folder/clip.mp4" ] || ffmpeg -v error -nostdin -f lavfi -i "testsrc2=s=64x48:r=25" -frames:v 12 -y "$folder/clip.mp4"

peak() { # COMMAND...: its largest resident set, in KiB
    python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}

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
