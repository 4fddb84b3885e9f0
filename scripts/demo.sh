#!/bin/bash
# make demo: packs twelve real videos that Debian has in two of its packages, verifies the dataset and shows what came out.
#
# Everything lies under build/demo.
set -eu -o pipefail
cd "$(dirname "$0")/.."
demo=build/demo
dataset=$demo/dataset
packages='python3-mecavideo forensics-samples-files'
source scripts/demo_parts.sh

# The videos only: beside them lie sounds, pictures, and translations whose names end in .ts.
collect() {
    local files=$demo/packages/files/usr/share
    rm -rf "$demo/videos.part"
    mkdir -p "$demo/videos.part"
    cp "$files"/pymecavideo/data/video/*.{avi,mp4,ogv} "$files"/forensics-samples/original-files/movie[12]/*.{avi,mp4,mpeg} \
        "$demo/videos.part"
    rm -rf "$demo/packages"
    mv "$demo/videos.part" "$demo/videos"
}

if [ ! -d "$demo/videos" ]; then
    say "Fetching $packages"
    fetch
    collect
fi

pack "$demo/videos" --size 224x224 -T longest

report '
    naive = word["sequences"] * word["longest"] - word["steps"]
    printf "%d videos of %d frames became %d blocks of %d frames.\n", word["sequences"], word["steps"], word["blocks"], word["T"]
    printf "Padding: %d frames, so %.2f %% of the blocks are data.\n", word["padding"], 100 * word["efficiency"]
    printf "Naive padding would have been %d frames (%.2f %% data)", naive, 100 * word["steps"] / (naive + word["steps"])
    printf word["padding"] ? ": %.0f times as many.\n" : ".\n", naive / (word["padding"] ? word["padding"] : 1)
    printf "Scanned, decoded, scaled and written: %.0f frames/s on %d processors.\n", word["steps"] / seconds, processors'

show_block frames 'the frames, and where each video begins'
