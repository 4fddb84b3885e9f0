#!/bin/bash
# make demo-audio: packs the 568 spoken prompts of a telephone exchange that Debian has in one of its packages, verifies the dataset and
# shows what came out.
#
# Everything lies under build/demo-audio.
set -eu -o pipefail
cd "$(dirname "$0")/.."
demo=build/demo-audio
dataset=$demo/dataset
packages=asterisk-core-sounds-en-wav
source scripts/demo_parts.sh

if [ ! -d "$demo/prompts" ]; then
    say "Fetching $packages"
    fetch
    mv "$demo/packages/files/usr/share/asterisk/sounds/en_US_f_Allison" "$demo/prompts"
    rm -rf "$demo/packages"
fi

pack "$demo/prompts" --rate 16000 -T longest

report '
    naive = word["sequences"] * word["longest"] - word["steps"]
    printf "%d prompts of %.3f hours became %d blocks of %.1f s.\n", word["sequences"], word["hours"], word["blocks"], word["T"] / 16000
    printf "Padding: %.1f s, so %.2f %% of the blocks are data.\n", word["padding"] / 16000, 100 * word["efficiency"]
    printf "Naive padding would have been %.3f hours (%.2f %% data).\n", naive / 16000 / 3600, 100 * word["steps"] / (naive + word["steps"])
    printf "Scanned, decoded, resampled and written: %.0f times real time on %d processors.\n", word["hours"] * 3600 / seconds, processors'
