# --decoder-memory: what needs more is skipped by its headers, or fails by the same words, with both figures.
# shellcheck shell=bash disable=SC2317

# A gigabyte of addresses is enough; a sanitizer takes terabytes.
limit=(prlimit --as=1000000000)
case $BLOAD in */build/*san/*) limit=() ;; esac

# png_claims FILE WIDTH HEIGHT: a PNG, 8 bits RGB, sound as far as it goes, which is one row.
png_claims() {
    python3 - "$@" <<'EOF'
import struct, sys, zlib
path, width, height = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
rows = zlib.compress(bytes(1 + 3 * width))
open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))
EOF
}

# A header costs no more than itself.
test_images_that_claim_too_much_are_skipped() {
    mkdir -p in/png in/more in/bmp in/tif in/jpg
    png_claims in/png/1.png 20000 20000
    png_claims in/more/1.png 65535 65535
    printf 'BM\0\0\0\0\0\0\0\0\066\0\0\0\050\0\0\0\0\0\1\0\0\0\1\0\1\0\030\0\0\0\0\0' >in/bmp/1.bmp
    printf 'MM\0*\0\0\0\010\0\002\001\0\0\004\0\0\0\001\0\0\377\377\001\001\0\004\0\0\0\001\0\0\377\377\0\0\0\0' >in/tif/1.tif
    printf '\377\330\377\302\0\021\010\377\334\377\334\003\001\021\0\002\021\0\003\021\0' >in/jpg/1.jpg
    expect 3 "${limit[@]}" "$BLOAD" scan --kind frames in :err 'skipped png: 1.png: 20000x20000 needs 1.5 GiB to decode, more than --decoder-memory 1.0 GiB'
    err_has 'skipped more: 1.png: 65535x65535 needs 16.0 GiB to decode, more than --decoder-memory 1.0 GiB'
    err_has 'skipped bmp: 1.bmp: 65536x65536 needs 16.0 GiB to decode' 'skipped tif: 1.tif: 65535x65535 needs 8.0 GiB to decode'
    err_has 'skipped jpg: 1.jpg: 65500x65500 needs 50.'
    is '5 skipped' "$(field status <"$OUT" | grep -c skipped) skipped"
}

test_a_sound_image_is_over_the_limit_and_never_damaged() {
    mkdir in
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=1000x800 -frames:v 1 in/1.png
    expect 1 bload pack --kind frames --size 8x8 -T 2 --decoder-memory 5M -o low in :err 'skipped in: 1.png: 1000x800 needs 7.'
    err_has ' MiB to decode, more than --decoder-memory 5.0 MiB'
    expect 0 bload pack -q --kind frames --size 8x8 -T 2 --decoder-memory 10M -o high in
    # The limit is part of the dataset.
    expect 2 bload pack -q --kind frames --size 8x8 -T 2 -o high in :err 'decoder-memory'
    expect 0 bload pack -q --kind frames --size 8x8 -T 2 -o usual in :same-in high shards/00000/shard-00000000.safetensors
}

test_video_is_skipped_by_its_header() {
    cp "$(fixture h264-30.mp4)" a.mp4
    expect 3 bload scan --decoder-memory 1M a.mp4 :err 'needs 8.' 'to decode, more than --decoder-memory 1.0 MiB'
    expect 0 bload scan -q a.mp4
}

# A stream that grows in its midst, which its header does not tell: the same words, when it is decoded.
test_video_that_grows_fails() {
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=64x48:rate=25 -frames:v 4 -c:v libx264 -f h264 small.h264
    ffmpeg -v error -nostdin -f lavfi -i color=gray:size=4096x4096:rate=25 -frames:v 2 -c:v libx264 -preset ultrafast -f h264 large.h264
    cat small.h264 large.h264 >grows.h264
    expect 3 bload pack --size 8x8 -T 8 --decoder-memory 64M -o d grows.h264 :err 'failed grows.h264: 4096x4096 needs '
    err_has ' to decode, more than --decoder-memory 64.0 MiB'
    expect 3 bload pack --size 8x8 -T 8 --decoder-memory 64M -o e large.h264 :err 'large.h264: 4096x4096 needs '
}

test_sound_is_skipped_by_its_header() {
    ffmpeg -v error -nostdin -f lavfi -i sine=duration=1 -ac 2 two.wav
    ffmpeg -v error -nostdin -i two.wav two.flac
    expect 3 bload scan --kind audio --decoder-memory 8M two.wav two.flac
    grep -q 'skipped two.flac: a frame of 4[0-9]* samples in 2 channels needs ' "$ERR" || fail "$(cat "$ERR")" # as FFmpeg's encoder likes
    err_has 'skipped two.wav: sound of 2 channels at 44100 Hz needs ' 'to decode, more than --decoder-memory 8.0 MiB'
    expect 0 bload scan -q --kind audio two.wav two.flac
}

# claim FILE BOX AT VALUE...: numbers in a box, from a place behind its name on.
claim() {
    python3 - "$@" <<'EOF'
import struct, sys
path, box, at, values = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3]), [int(v) for v in sys.argv[4:]]
data = bytearray(open(path, "rb").read())
struct.pack_into(">%dI" % len(values), data, data.index(box) + 4 + at, *values)
open(path, "wb").write(data)
EOF
}

# Tables that claim samples without an entry for each: libavformat would index all of them.
test_samples_that_are_only_claimed() {
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=64x48:rate=25 -frames:v 10 -c:v mpeg4 -bf 0 a.mp4
    ffmpeg -v error -nostdin -i a.mp4 -c copy -movflags +frag_keyframe+empty_moov+default_base_moof b.mp4
    claim a.mp4 stsz 4 1 100000000
    claim a.mp4 stsc 12 100000000
    claim a.mp4 stts 8 100000000
    claim b.mp4 trun 0 1 100000000
    expect 3 "${limit[@]}" "$BLOAD" scan --isolate off a.mp4 b.mp4
    err_has 'skipped a.mp4: an index of 100000000 samples needs 6.0 GiB to decode, more than --decoder-memory 1.0 GiB'
    err_has 'skipped b.mp4: an index of 100000000 samples needs 6.0 GiB to decode, more than --decoder-memory 1.0 GiB'
}

# edits FILE OUT COUNT TICKS: has the list of edits of the video show so many ticks of its beginning, so often.
edits() {
    python3 - "$@" <<'EOF'
import struct, sys
path, out, count, ticks = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
data = open(path, "rb").read()
at = data.index(b"elst") - 4
old = struct.unpack_from(">I", data, at)[0]
new = struct.pack(">I4sII", 16 + 12 * count, b"elst", 0, count) + struct.pack(">IiI", ticks, 0, 0x10000) * count
data = bytearray(data[:at] + new + data[at + old:])
for name in b"moov", b"trak", b"edts": # before it: its parents, whose samples lie before all of them
    place = data.index(name) - 4
    struct.pack_into(">I", data, place, struct.unpack_from(">I", data, place)[0] + len(new) - old)
open(out, "wb").write(data)
EOF
}

# A list of edits may show the same samples again and again, and libavformat indexes them each time.
test_edits_that_repeat_samples() {
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=64x48:rate=25 -frames:v 100 -c:v mpeg4 -bf 0 -g 5 a.mp4
    edits a.mp4 many.mp4 1000000 4000
    edits a.mp4 cut.mp4 50 40
    edits a.mp4 twice.mp4 2 4000
    expect 3 "${limit[@]}" "$BLOAD" scan --isolate off many.mp4 cut.mp4 twice.mp4 :column status 'ok skipped ok'
    err_has 'skipped many.mp4: an index of 99999900 samples needs 6.0 GiB to decode, more than --decoder-memory 1.0 GiB'
    is 200 "$(field length 3 <"$OUT")"
    # An edit is weighed by what it shows, from the key frame before it on.
    edits a.mp4 short.mp4 10000 40
    expect 3 bload scan -q --decoder-memory 9M short.mp4 cut.mp4 :err 'skipped short.mp4: an index of 169900 samples needs 10.4 MiB to decode'
    is 'ok skipped' "$(field status <"$OUT" | xargs)"
    expect 0 bload scan -q --decoder-memory 12M short.mp4
}

# Sound without compression has a sample of one size for each tick, and is indexed in packets.
test_long_sound_in_mov_claims_little() {
    ffmpeg -v error -nostdin -f lavfi -i sine=duration=60 a.mov
    expect 0 bload scan -q --kind audio --decoder-memory 10M a.mov
    is 960000 "$(field length 1 <"$OUT")"
}

test_the_limit_is_a_size() { expect 2 bload scan --decoder-memory 0 a.mp4 :err '--decoder-memory expects a number of bytes'; }

# --memory bounds what is decoded at once, and is refused where it does not do for the largest input.
test_large_inputs_wait_for_memory() {
    mkdir -p in/small
    ffmpeg -v error -nostdin -f lavfi -i color=gray:size=8000x6000 -frames:v 1 -pix_fmt rgb24 large.png
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=64x48 -frames:v 1 in/small/1.png
    for i in 1 2 3 4 5 6; do mkdir "in/$i" && ln large.png "in/$i/1.png"; done
    expect 2 bload pack --kind frames --size 8x8 -T 2 --memory 100M -o d in :err '100.0 MiB of memory is not enough: one block takes '
    err_has ', decoding the largest input 190.7 MiB' ', --decoder-memory or --shard-size'
    enough=$(grep -oE 'with one worker [0-9.]+ MiB' "$ERR" | grep -oE '[0-9]+\.')
    expect 0 bload pack -q --kind frames --size 8x8 -T 2 -j 4 --memory 8G -o much in
    for isolate in on off; do
        expect 0 bload pack -q --kind frames --size 8x8 -T 2 -j 4 --isolate $isolate --memory "$((${enough%.} + 1))M" -o "little-$isolate" in
        diff -r much/shards "little-$isolate/shards"
        same much/sequences.tsv "little-$isolate/sequences.tsv"
    done
    # From a table it is not known before: then one at a time.
    expect 0 bload scan -q --kind frames in -o table.tsv
    expect 0 bload pack -q --sequences table.tsv --size 8x8 -T 2 -j 4 --memory 170M -o table :same-in much shards/00000/shard-00000000.safetensors
}

# The C library asks for pages of another size first, and leaves ENOMEM behind where it got others.
test_success_leaves_no_doubt_of_memory() {
    fixtures v h264-30.mp4 mpeg4-40.avi vp9-24.webm
    expect 0 bload pack -q v -T 45 --size 1600x1200 -o one -j 1
    expect 0 env GLIBC_TUNABLES=glibc.malloc.hugetlb=2 "$BLOAD" pack -q v -T 45 --size 1600x1200 -o other -j 2
    same one/shards/00000/shard-00000000.safetensors other/shards/00000/shard-00000000.safetensors
    # What asks for too much is damaged, as ever, and stops nothing.
    given v/damaged.mp4 '\0\0\0\014ftypisom\177\377\377\377moov' expect 3 env GLIBC_TUNABLES=glibc.malloc.hugetlb=2 "$BLOAD" scan -q v
}
