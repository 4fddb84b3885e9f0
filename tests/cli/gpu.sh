# --decoder, where there is no GPU: the words, the fallback, the column. What needs one is tests/gpu.
# shellcheck shell=bash

no_gpu() { [ ! -e /dev/nvidiactl ] || ! /sbin/ldconfig -p | grep -q 'libcuda\.so\.1' || skip "there is a GPU here: make check-gpu"; }

test_nvdec_without_a_gpu_is_an_error() {
    no_gpu
    expect 1 bload pack "$(fixture h264-30.mp4)" -T 30 -o d --decoder nvdec :err 'bload: pack: --decoder nvdec: ' :none d
    grep -qE 'no NVIDIA driver found|built without CUDA' "$ERR" || fail "$(cat "$ERR")"
    expect 1 bload scan "$(fixture h264-30.mp4)" --decoder nvdec :err 'bload: scan: --decoder nvdec: '
}

test_auto_without_a_gpu_is_the_processor() {
    no_gpu
    expect 0 bload pack "$(fixture h264-30.mp4)" "$(fixture hevc-17.mp4)" -T longest -o a --decoder auto :err 'bload: --decoder auto: no GPU is used: '
    expect 0 bload pack -q "$(fixture h264-30.mp4)" "$(fixture hevc-17.mp4)" -T longest -o c
    cmp <(tail -c +4097 a/shards/00000/shard-00000000.safetensors) <(tail -c +4097 c/shards/00000/shard-00000000.safetensors)
    is 'cpu cpu' "$(column decoder <a/sequences.tsv | xargs)"
    is 'all decoder=auto' "$(column sampling <a/sequences.tsv | head -n 1)"
    is '' "$(column decoder <c/sequences.tsv | xargs)"
    expect 0 bload verify -q a
    expect 0 bload pack a.mp4 "$(fixture h264-30.mp4)" -T longest -o a --print-config --decoder auto --gpu 0,1 :out 'decoder: auto' 'gpu: "0,1"'
}

# The values of a column, by its name.
column() { awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } at { print $at }'; }

test_a_table_says_who_decodes() {
    no_gpu
    expect 0 bload scan -q "$(fixture h264-30.mp4)" --decoder auto -o table.tsv
    expect 2 bload pack -q --sequences table.tsv -T 30 -o d :err 'the table was scanned with sampling "all decoder=auto", the options say "all"'
    expect 0 bload scan -q "$(fixture h264-30.mp4)" -o plain.tsv
    expect 2 bload pack -q --sequences plain.tsv -T 30 -o d --decoder auto
    expect 0 bload plan -q -T 30 table.tsv -o plan.tsv
    sed 's/\tcpu$/\tnvdec/' table.tsv >gpu.tsv
    expect 1 bload pack -q --sequences gpu.tsv -T 30 -o d --decoder auto :err 'the scan chose a GPU for this video, but this machine has no usable GPU'
    [ ! -e d/shards/00000/shard-00000000.safetensors ] || fail "a shard was published"
    expect 0 bload pack -q --sequences table.tsv -T 30 -o e --decoder auto
}

test_rates_and_images_beside_the_decoder() {
    no_gpu
    expect 0 bload scan -q "$(fixture h264-30.mp4)" --decoder auto --fps 25/2 -o table.tsv
    is 'fps=25/2 decoder=auto' "$(column sampling <table.tsv)"
    expect 0 bload plan -q -T 2s table.tsv -o plan.tsv
}

test_wrong_words() {
    expect 2 bload pack -q "$(fixture h264-30.mp4)" -T 30 -o d --decoder gpu
    expect 2 bload pack -q "$(fixture h264-30.mp4)" -T 30 -o d --decoder nvdec --gpu 1,1
    err_has "--gpu '1,1': write all, or numbers separated by commas, such as 0,1"
    mkdir -p in/a
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=s=16x16 -frames:v 2 in/a/%d.png
    expect 2 bload scan -q --kind frames in --decoder auto :err '--decoder is for video, and the inputs are frames'
}
