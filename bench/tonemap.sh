#!/bin/sh
# HDR mapped to BT.709, beside ffmpeg's own chains: what grey of some luminances becomes, and processor time; the tables of
# docs/colour.md. Needs the ffmpeg command and python3-numpy.
#
#     bench/tonemap.sh [HDR-VIDEO]
set -eu
cd "$(dirname "$0")/.."
clip=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
make --no-print-directory build/release/tests/convert_raw >&2

tags='setparams=color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc:range=tv'
chain() { # WHITE CURVE: what is recommended everywhere
    echo "zscale=t=linear:npl=$1,format=gbrpf32le,zscale=p=bt709,tonemap=$2:desat=0:peak=$(awk "BEGIN { print 1000 / $1 }"),zscale=t=bt709:m=bt709:r=pc,format=rgb24"
}

# Bars of grey, 16 columns each, limited range, 10 bits.
python3 - "$work/raw" <<'END'
import sys
import numpy as np
light = np.array([1, 10, 50, 100, 203, 400, 700, 1000])
y = (light / 10000) ** (2610 / 16384)
signal = ((3424 / 4096 + 2413 / 128 * y) / (1 + 2392 / 128 * y)) ** (2523 / 32)
words = np.repeat(np.rint(64 + 876 * signal), 16).astype("<u2")
luma = np.tile(words, (16, 1))
open(sys.argv[1], "wb").write(luma.tobytes() + np.full(luma.size // 2, 512, "<u2").tobytes())
END

bars() { # NAME: the level of each bar, of RGB on stdin
    od -An -v -tu1 -w384 | head -n 8 | tail -n 1 | awk -v name="$1" '{ printf "| %s |", name; for (i = 0; i < 8; i++) printf " %d |", $(3 * (16 * i + 8) + 2); print "" }'
}

echo '| PQ, cd/m2 | 1 | 10 | 50 | 100 | 203 | 400 | 700 | 1000 |'
echo '|---|---|---|---|---|---|---|---|---|'
words='yuv420p10le 128x16 matrix=bt2020nc range=tv transfer=smpte2084'
# shellcheck disable=SC2086 # words
{
    build/release/tests/convert_raw $words hdr=tonemap <"$work/raw" | bars '`--hdr tonemap`'
    tests/readers/reference_convert.py $words hdr=tonemap <"$work/raw" | bars 'BT.2390 in float64'
    build/release/tests/convert_raw $words hdr=clip <"$work/raw" | bars '`--hdr clip`'
}
for how in '100 hable' '100 mobius' '203 mobius' '203 reinhard' '203 clip'; do
    # shellcheck disable=SC2086
    ffmpeg -v error -f rawvideo -pix_fmt yuv420p10le -s 128x16 -i "$work/raw" -vf "$tags,$(chain $how)" -f rawvideo - |
        bars "ffmpeg, tonemap=${how#* }, npl=${how% *}"
done

echo
echo '| 1920x1080 to 224x224, ms a frame | decoding alone | with it |'
echo '|---|---|---|'
if [ -z "$clip" ]; then
    clip=$work/clip.mkv
    ffmpeg -v error -f lavfi -i mandelbrot=s=1920x1080:r=25 -frames:v 60 -c:v libx265 -preset ultrafast -x265-params log-level=error \
        -pix_fmt yuv420p10le -colorspace bt2020nc -color_primaries bt2020 -color_trc smpte2084 "$clip"
fi
spent() { # COMMAND...: processor seconds, the least of five
    for _ in 1 2 3 4 5; do
        /usr/bin/env bash -c 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>/dev/null' - "$@" 2>&1
    done | awk '{ t = $1 + $2 } NR == 1 || t < least { least = t } END { print least }'
}
count=$(./bload scan -q --hdr tonemap "$clip" | tail -n 1 | cut -f 2)
alone=$(spent ffmpeg -v error -threads 1 -i "$clip" -f null -)
row() { # NAME SECONDS
    awk -v name="$1" -v alone="$alone" -v spent="$2" -v count="$count" \
        'BEGIN { printf "| %s | %.1f | %.1f |\n", name, 1000 * alone / count, 1000 * spent / count }'
}
export work clip
row '`--hdr tonemap`' "$(spent /bin/sh -c 'rm -rf "$work/out"; exec ./bload pack -q -j 1 "$clip" -T longest --size 224x224 -o "$work/out" --hdr tonemap')"
row '`--hdr clip`' "$(spent /bin/sh -c 'rm -rf "$work/out"; exec ./bload pack -q -j 1 "$clip" -T longest --size 224x224 -o "$work/out" --hdr clip')"
row 'ffmpeg, scaled first' "$(spent ffmpeg -v error -threads 1 -filter_threads 1 -i "$clip" -vf "zscale=w=224:h=224:f=bilinear,$(chain 203 mobius)" -f rawvideo -)"
row 'ffmpeg, scaled last' "$(spent ffmpeg -v error -threads 1 -filter_threads 1 -i "$clip" -vf "$(chain 203 mobius),zscale=w=224:h=224:f=bilinear" -f rawvideo -)"
