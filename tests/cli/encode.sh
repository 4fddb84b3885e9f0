# bload pack --encode: what it takes and what it refuses, and that the other commands know what came of it.
# shellcheck shell=bash disable=SC2317,SC2086

# The folder v: two clips of one size, 70 frames.
setup() { fixtures v h264-30.mp4 mpeg4-40.avi; }
bytes() { stat -c %s "$1"/shards/00000/shard-00000000.safetensors*; }

test_jpeg_takes_a_fraction() {
    expect 0 bload pack -q v -T 40 -o raw
    expect 0 bload pack -q v -T 40 -o fine --encode jpeg:95
    expect 0 bload pack -q v -T 40 -o jpeg --encode jpeg
    expect 0 bload pack -q v -T 40 -o same --encode jpeg:90
    expect 0 bload pack -q v -T 40 -o repeat --encode jpeg --pad repeat
    diff <(sed '/checksum\|encode/d' jpeg/manifest.json) <(sed '/checksum\|encode/d' same/manifest.json)
    same jpeg/shards/00000/shard-00000000.safetensors same/shards/00000/shard-00000000.safetensors
    [ "$(bytes fine)" -lt $(($(bytes raw) / 2)) ] || fail "$(bytes fine) of $(bytes raw)"
    [ "$(bytes jpeg)" -lt "$(bytes fine)" ] || fail "$(bytes jpeg), $(bytes fine)"
    [ "$(bytes jpeg)" -lt "$(bytes repeat)" ] || fail "padding has no bytes: $(bytes jpeg), $(bytes repeat)"
    for name in fine jpeg repeat; do expect 0 bload verify -q $name; done
    expect 0 bload info jpeg :out '; kept as jpeg:90' :out-like ', libjpeg-turbo [0-9]'
    expect 0 bload info raw
    ! grep -q 'kept as\|libjpeg' "$OUT" || fail 'raw is said to be encoded'
    expect 0 bload info --json jpeg :out '"encoding": "jpeg:90"'
    # The same again, and another quality.
    expect 0 bload pack v -T 40 -o jpeg --encode jpeg:90 :err 'jpeg is already complete'
    expect 2 bload pack -q v -T 40 -o jpeg --encode jpeg:91 :err 'encode'
}

test_differences_need_compression() {
    expect 0 bload pack -q v -T 40 -o zstd --compress zstd:1
    expect 0 bload pack -q v -T 40 -o delta --compress zstd:1 --encode delta :verified
    [ "$(bytes delta)" -lt "$(bytes zstd)" ] || fail "$(bytes delta), $(bytes zstd)"
    expect 0 bload pack -q v -T 40 -o frames --compress zstd:1 --encode delta --frame-size 100000 :verified
    for shard in delta/shards/00000/*.zst; do zstd -dc "${shard/delta/frames}" | cmp - <(zstd -dc "$shard"); done
    expect 0 bload info delta :out '; kept as delta'
    expect 2 bload pack -q v -T 40 -o d --encode delta :err '--encode delta needs --compress zstd' :none d
}

test_what_cannot_be_is_refused() {
    expect 2 bload pack -q v -T 40 -o d --encode jpeg --compress zstd :err '--encode jpeg or --compress, not both'
    for value in raw png jpeg: jpeg:0 jpeg:101 jpeg:x jpeg::444 jpeg:444: jpeg:90:422 jpeg:90:4444 delta:3; do
        expect 2 bload pack -q v -T 40 -o d --encode $value :err 'none, jpeg, jpeg:1 to jpeg:100, jpeg:90:444, or delta'
    done
    [ ! -e d ] || fail 'it began'
    given text.txt 'one two\n' expect 2 bload pack -q text.txt --tokenizer bytes -T 8 -o d --encode jpeg :err 'there is no such field among: tokens'
    expect 0 bload pack -q text.txt --tokenizer bytes -T 8 -o e --encode none
}

test_of_a_yaml_file() {
    given set.yaml 'sources:\n  - path: v\nT: 40\nencode: jpeg:85\n' expect 0 bload pack -q -c set.yaml -o d
    expect 0 bload pack -c set.yaml --print-config :out 'encode: jpeg:85'
    expect 0 bload pack -q -c set.yaml -o e --encode none
    expect 0 bload info e :out-lacks 'kept as'
}

test_a_sequence_that_fails_has_no_bytes() {
    cp "$(fixture failing-20.mov)" v
    for options in 'jpeg' 'jpeg --pad repeat' 'delta --compress zstd'; do
        expect 3 bload pack v -T 45 --size 16x16 -o d --encode $options :err 'failing-20.mov: the scan counted 20 frames, decoding gives 19' :verified :removed
    done
}

# Frames below a block of its JPEG files: one pixel, one row, one column.
test_the_smallest_frames() {
    for size in 1x1 17x1 1x17; do
        expect 0 bload pack -q v -T 40 -o d --size $size --encode jpeg --shard-size 1K :verified :removed
        expect 0 bload pack -q v -T 40 -o d --size $size --encode delta --compress zstd --shard-size 1K :verified :removed
    done
}

test_memory_counts_what_waits() {
    expect 2 bload pack v -T 40 -o d --encode jpeg --size 640x480 --memory 100M -j1 :err 'of memory is not enough'
    expect 0 bload pack -q v -T 40 -o d --encode jpeg --size 640x480 --memory 1G -j1 :verified
}

test_damage_is_named_by_block_and_step() {
    expect 0 bload pack -q v -T 40 -o d --encode jpeg
    # The last step that has bytes ends with the file.
    printf 'xx' | dd of=d/shards/00000/shard-00000000.safetensors bs=1 seek=$(($(bytes d) - 2)) conv=notrunc status=none
    expect 1 bload verify d :err 'block 1 of frames_jpeg: checksum'
    shorten 1 d/shards/00000/shard-00000000.safetensors
    expect 1 bload verify d :err 'bload: shards/00000/shard-00000000.safetensors: the tensors have '
}
