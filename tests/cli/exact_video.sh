# Videos as their streams say: the right answers are the pictures that were encoded, without loss.
# shellcheck shell=bash disable=SC2317

# picture NAME WIDTH HEIGHT LEFT TOP DEPTH: four frames in Y4M: a part of the same 96x64 picture.
picture() {
    python3 - "$@" <<'END_OF_PYTHON'
import random, sys
name, (width, height, left, top, depth) = sys.argv[1], map(int, sys.argv[2:])
noise, size = random.Random(7), 1 + (depth > 8)
def plane(across, down):
    return [[noise.randrange(16 << depth - 8, 235 << depth - 8) if (x // 4 + y // 4) % 2 else (16 + (3 * x + 5 * y) % 200) << depth - 8
             for x in range(across)] for y in range(down)]
with open(name, "wb") as out:
    out.write(b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C%s\n" % (width, height, b"420p10" if depth > 8 else b"420mpeg2"))
    for _ in range(4):
        out.write(b"FRAME\n")
        for half in 1, 2, 2:
            for row in plane(96 // half, 64 // half)[top // half : (top + height) // half]:
                for value in row[left // half : (left + width) // half]:
                    out.write(value.to_bytes(size, "little"))
END_OF_PYTHON
}

# frames FILE OPTIONS...: the shard that a file makes.
frames() {
    local file=$1
    shift
    rm -rf set
    expect 0 bload pack -q "$file" -T longest -o set "$@"
    sha256sum <set/shards/00000/shard-00000000.safetensors
}

# What the stream crops at the left and the top is not shown, wherever the first pixel then lies in memory.
test_cropped_at_the_left() {
    local crop=crop_left=10:crop_top=4:crop_right=6:crop_bottom=2 options clip
    picture whole.y4m 96 64 0 0 8
    picture part.y4m 80 58 10 4 8
    picture whole10.y4m 96 64 0 0 10
    picture part10.y4m 80 58 10 4 10
    ffmpeg -v error -nostdin -i whole.y4m -c:v libx264 -qp 0 -bsf:v h264_metadata=$crop part-h264.mp4
    ffmpeg -v error -nostdin -i whole.y4m -c:v libx265 -x265-params lossless=1:log-level=error -bsf:v hevc_metadata=$crop part-hevc.mkv
    ffmpeg -v error -nostdin -i whole10.y4m -c:v libx265 -x265-params lossless=1:log-level=error -bsf:v hevc_metadata=$crop part10-hevc.mp4
    for clip in part-h264.mp4 part-hevc.mkv part10-hevc.mp4; do
        for options in '' '--size 32x24' '--size 40x40 --fit crop'; do
            # shellcheck disable=SC2086 # words
            is "$(frames "${clip%%-*}.y4m" $options)" "$(frames $clip $options)"
        done
    done
}
