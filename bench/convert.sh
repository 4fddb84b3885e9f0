#!/bin/sh
# The ways of scaling and colouring side by side: time per frame and error against the float64 reference; the table of
# docs/colour.md. Needs the ffmpeg command, libswscale-dev and python3-numpy; libyuv-dev for libyuv's rows.
#
#     bench/convert.sh [clip]
#
# Without a clip: FFmpeg's own mandelbrot, as a picture with detail everywhere, at the sizes that matter.
set -eu
cd "$(dirname "$0")/.."
clip=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
make --no-print-directory build/release/bench/convert >&2

frames() { # WxH: raw frames of that size
    if [ -n "$clip" ]; then set -- "$1" -i "$clip"; else set -- "$1" -f lavfi -i "mandelbrot=s=$1:r=25"; fi
    size=$1
    shift
    ffmpeg -v error "$@" -frames:v 8 -vf "scale=$(echo "$size" | tr x :)" -pix_fmt yuv420p -f rawvideo -y "$work/raw"
}

row() { # METHOD FROM TO
    if ! build/release/bench/convert "$1" "$2" "$3" 40 <"$work/raw" >"$work/rgb" 2>"$work/time"; then
        printf '| %-14s | %-9s | %-9s | %s |\n' "$1" "$2" "$3" "$(cat "$work/time")"
        return
    fi
    error='-    | -'
    if [ -s "$work/rgb" ]; then
        tests/readers/reference_convert.py yuv420p "$2" size="$3" against="$work/rgb" <"$work/raw" >"$work/error"
        error=$(awk '$4 > mean { mean = $4 } $2 > max { max = $2 } END { printf "%.3f | %d", mean, max }' "$work/error")
    fi
    printf '| %-14s | %-9s | %-9s | %5d | %s |\n' "$1" "$2" "$3" "$(cat "$work/time")" "$error"
}

echo '| method         | from      | to        | us/frame | mean error, worst frame | greatest |'
echo '|---|---|---|---|---|---|'
for from in 640x360 1920x1080; do
    frames "$from"
    for method in bload:avx2 bload:sse2 bload:none zimg:avx2 zimg:avx512 words:avx2 words:avx512 yuv-bilinear yuv-box \
        sws-bilinear sws-area sws-exact; do
        case $method in
        *:avx512) grep -q avx512_vnni /proc/cpuinfo || continue ;;
        *:avx2) grep -q avx2 /proc/cpuinfo || continue ;;
        esac
        row "$method" "$from" 224x224
    done
    for method in bload:avx2 zimg:avx2 yuv-bilinear sws-exact; do
        row "$method" "$from" "$from"
    done
done
