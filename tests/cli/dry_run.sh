# bload pack --dry-run: the forecast beside what is really written, and that nothing is. What a long run says before it writes.
# shellcheck shell=bash disable=SC2317,SC2086

# All that a dry run writes is here, and is removed.
mkdir -p "$SCRATCH/tmp"
export TMPDIR=$SCRATCH/tmp

setup() { fixtures v h264-30.mp4 mpeg4-40.avi vp9-24.webm; }

# dry STATUS OPTION...: a dry run into d, which stays as it was, as the temporary folder does; the forecast is in forecast.json.
dry() {
    local status=$1
    shift
    [ ! -e d ] || files d >before
    expect "$status" bload pack "$@" --dry-run --json -o d
    cp "$OUT" forecast.json
    if [ -e before ]; then files d | diff before -; else [ ! -e d ] || fail 'the dry run made d'; fi
    rm -f before
    is '' "$(ls -A "$TMPDIR")"
    python3 -c 'import json; json.load(open("forecast.json"))' || fail 'no JSON'
}

# top NAME: a member of the JSON object on stdin, of none within it.
top() { sed -n "s/^  \"$1\": *\"\{0,1\}\([^\",}]*\)\"\{0,1\},\{0,1\}$/\1/p"; }

# near PERCENT A B
near() {
    awk -v p="$1" -v a="$2" -v b="$3" 'BEGIN { exit !(a > 0 && b > 0 && a <= b * (1 + p / 100) && a >= b * (1 - p / 100)) }' ||
        fail "$2, which is not within $1 % of $3"
}

# foretold PERCENT STATUS OPTION...: a dry run, then a run; the bytes are as near as that, and what is in common is the same.
foretold() {
    local percent=$1
    shift
    rm -rf d
    dry "$@"
    expect "$1" bload pack -q "${@:2}" --json -o d
    cp "$OUT" info.json
    near "$percent" "$(top bytes <forecast.json)" "$(top bytes <info.json)"
    for name in T S blocks sequences steps padding plan_digest hours; do is "$(top $name <info.json)" "$(top $name <forecast.json)"; done
    near "$percent" $(($(top bytes <forecast.json) + $(top bytes_files <forecast.json))) \
        "$(find d -type f -exec stat -c %s {} + | awk '{ n += $1 } END { print n }')"
}

test_videos_to_the_byte() {
    foretold 0.5 0 v -T longest --size 64x64
    is "$(top bytes <info.json)" "$(top bytes <forecast.json)"
    is 12288 "$(top step_bytes <forecast.json)"
    foretold 0.5 0 v -T 16 --oversize split --size 32x32 --shard-size 100K --segment-ids
    is "$(top bytes <info.json)" "$(top bytes <forecast.json)"
    [ "$(top shards <forecast.json)" -ge 5 ]
}

test_encoded_and_compressed_videos() {
    foretold 15 0 v -T 16 --oversize split --size 64x64 --encode jpeg
    foretold 15 0 v -T 45 --size 64x64 --encode jpeg --pad repeat
    foretold 15 0 v -T 45 --size 64x64 --compress zstd
    foretold 15 0 v -T 16 --oversize split --size 64x64 --encode delta --compress zstd:1 --frame-size 64K
    low=$(top bytes_low <forecast.json) high=$(top bytes_high <forecast.json)
    [ "$low" -le "$(top bytes <info.json)" ] && [ "$high" -ge "$(top bytes <info.json)" ] ||
        fail "$(top bytes <info.json) is not $low to $high"
    [ "$(top bytes <forecast.json)" -lt "$(top bytes_raw <forecast.json)" ]
}

# Blocks of 24 MiB: a part of each is read.
test_a_part_of_large_blocks() {
    foretold 15 0 v -T 94 --size 300x300 --encode jpeg
    [ "$(top sample_steps <forecast.json)" -lt 94 ]
}

documents() {
    awk -v n="$1" 'BEGIN { srand(3); for (i = 0; i < n; i++) {
        text = ""; words = 5 + int(rand() * 80)
        for (w = 0; w < words; w++) text = text sprintf("%c%x ", 97 + int(rand() * 26), int(rand() * 4096))
        printf "{\"text\": \"%s\"}\n", text } }' >"$2"
}

test_texts() {
    mkdir t
    documents 3000 t/a.jsonl
    documents 500 t/b.jsonl
    gzip t/b.jsonl
    foretold 1 0 t --tokenizer bytes -T 512 --oversize split
    is "$(top bytes <info.json)" "$(top bytes <forecast.json)"
    [ "$(top bytes_temporary <forecast.json)" = $(($(top steps <forecast.json) * $(top step_bytes <forecast.json))) ]
    foretold 15 0 t --tokenizer bytes -T 512 --oversize split --compress zstd
    # From a table, the inputs are read for the sample alone.
    bload scan -q t --tokenizer bytes -o t.tsv
    foretold 15 0 --sequences t.tsv --tokenizer bytes -T 512 --oversize split --compress zstd
    bload plan -q -T 512 --oversize split t.tsv -o plan.safetensors
    foretold 1 0 --sequences t.tsv --plan plan.safetensors --tokenizer bytes -T 512 --oversize split
    # The spool's folder is for the sample, too, and may be missing.
    rm -r d
    dry 0 t --tokenizer bytes -T 512 --oversize split --spool none
    [ ! -e none ]
    mkdir spool
    dry 0 t --tokenizer bytes -T 512 --oversize split --spool spool
    is '' "$(ls -A spool)"
}

test_standard_input() {
    documents 300 a.jsonl
    expect 0 bload pack --dry-run --json - --tokenizer bytes -T 512 --oversize split -o d <a.jsonl
    cp "$OUT" forecast.json
    expect 0 bload pack -q --json - --tokenizer bytes -T 512 --oversize split -o d <a.jsonl
    is "$(top bytes <"$OUT")" "$(top bytes <forecast.json)"
    is null "$(sed -n 's/.*"seconds_high": \(.*\),/\1/p' forecast.json)"
    rm -r d
    expect 0 bload pack --dry-run --json - --tokenizer bytes -T 512 --oversize split --compress zstd -o d <a.jsonl :out-like '"bytes": null'
}

test_arrays_sound_frames_and_tars() {
    python3 "$BLOAD_ROOT/fixtures/arrays.py" in
    foretold 1 3 in --kind array -T 1000 --oversize split
    fixtures s tone-44100-stereo.flac
    foretold 1 0 s -T longest
    foretold 1 0 s -T 30 --oversize split --features fbank80 --rate 16000
    for clip in h264-30 vp9-24; do
        mkdir -p f/$clip
        ffmpeg -v error -nostdin -i v/$clip.* f/$clip/%03d.png
    done
    foretold 1 0 f --kind frames -T 40
    mkdir members
    cp -r v members/
    tar --sort=name -C members -cf v.tar v
    foretold 1 0 v.tar --kind video -T longest --size 32x32
}

test_fields_of_a_file() {
    mkdir l
    for name in h264-30 mpeg4-40 vp9-24; do seq "${name#*-}" | sed 's/.*/a/' >l/$name.txt; done
    echo a >map.txt
    put set.yaml 'sources: [v/]\nT: 45\nsize: 32x32\nfields:\n  - name: l\n    kind: labels\n    path: l/{stem}.txt\n    mapping: map.txt\n'
    foretold 1 0 -c set.yaml
}

test_clips_of_a_list() {
    printf 'path,start_frame,end_frame\nv/h264-30.mp4,3,20\nv/h264-30.mp4,10,30\nv/mpeg4-40.avi,0,9\n' >list.csv
    foretold 1 0 list.csv --kind video -T 20 --size 32x32
}

test_a_view() {
    for encode in none jpeg; do
        rm -rf a view
        expect 0 bload pack -q v -T 16 --oversize split --size 64x64 --encode $encode -o a
        expect 0 bload view -q a -T 45 -o view
        foretold 15 0 view
    done
    expect 0 bload pack -q v -T 16 --oversize split --size 64x64 -o b
    expect 0 bload view -q b -T 45 -o c
    foretold 15 0 c --compress zstd
}

test_what_is_new() {
    mkdir t
    documents 20 t/a.jsonl
    expect 0 bload pack -q t --tokenizer bytes -T 900 -o old
    documents 30 t/b.jsonl
    foretold 1 0 t --tokenizer bytes -T 900 --extend old
    rm -r d
    expect 0 bload pack t --tokenizer bytes -T 900 --extend old --extend old --dry-run -o d
    rm t/b.jsonl
    expect 0 bload pack t --tokenizer bytes -T 900 --extend old --dry-run --json -o d :out-is null :err 'nothing new: d is not written'
    is '' "$(ls -A "$TMPDIR")"
}

test_what_is_there_stays() {
    dry 0 v -T 45 --size 32x32
    grep -q '"begun": false' forecast.json
    # An unfinished dataset: the run would resume it, or another configuration is refused as by the run.
    expect 0 bload pack -q v -T 45 --size 32x32 --shard-size 1 -o d --task 0/3
    dry 0 v -T 45 --size 32x32 --shard-size 1
    grep -q '"begun": true' forecast.json
    err_has 'a run would resume what is there'
    expect 2 bload pack v -T 45 --size 64x64 --shard-size 1 --dry-run -o d :err 'd holds an unfinished dataset of another configuration'
    # A complete one, and one that lost a shard.
    rm -r d
    expect 0 bload pack -q v -T 45 --size 32x32 --shard-size 1 -o d
    dry 0 v -T 45 --size 32x32 --shard-size 1
    err_has 'd is already complete: nothing to do'
    python3 - forecast.json <(bload info d --json) <<'END' || fail 'another dataset'
import json, sys
told, known = (json.load(open(name)) for name in sys.argv[1:])
told.pop("run") # how long it took
assert told == known
END
    rm d/shards/00000/shard-00000001.safetensors
    dry 0 v -T 45 --size 32x32 --shard-size 1
    err_has 'a run would make 1 shard again'
    expect 2 bload pack v -T 45 --size 64x64 --shard-size 1 --dry-run -o d
    given other/file '' expect 2 bload pack v -T 45 --size 32x32 --dry-run -o other :err 'other holds file'
    expect 2 bload pack v -T 45 --size 32x32 --dry-run -o none/d
}

test_what_would_be_skipped() {
    echo none >v/none.mp4
    dry 3 v -T 45 --size 32x32
    err_has 'bload: skipped none.mp4' 'bload: 1 input skipped: a run would end with status 3'
    is 1 "$(top fault_count <forecast.json)"
    dry 0 v -T 45 --size 32x32 --skipped-ok
    dry 3 v -T 45 --size 32x32 --quiet
    checks :err-lacks 'dry run'
    expect 1 bload pack v -T 45 --size 32x32 --on-error fail --dry-run -o d
    expect 1 bload pack v/none.mp4 -T 45 --dry-run -o d :err 'no usable input: there is nothing to pack' :err-lacks 'the reasons are in' :none d
    is '' "$(ls -A "$TMPDIR")"
}

test_what_it_says() {
    expect 0 bload pack v -T 45 --fps 10 --size 32x32 --dry-run -o d :out-is '' :err ' hours' 'd: 1 shard, ' ' of index and tables; ' ' free'
    err_has 'bload: memory: ' 'bload: time: ' 'bload: a dry run: nothing was written'
    for option in '--task 0/2' --repair; do expect 2 bload pack v -T 45 --dry-run $option -o d :err "--dry-run or ${option%% *}, not both"; done
    expect 2 bload pack v -T 45 --size 640x640 --memory 40M --dry-run -o d :err 'of memory is not enough'
    expect 1 env TMPDIR="$PWD/none" "$BLOAD" pack v -T 45 --dry-run -o d :err 'cannot make a temporary folder' :none d
    # A run says the same before it writes, but not when it is short.
    expect 0 bload pack v -T 45 --size 32x32 -o d :err-lacks 'free'
}

test_interrupted_it_leaves_nothing() {
    for i in 1 2 3 4 5 6; do cp v/h264-30.mp4 v/more-$i.mp4; done
    ended_by INT "$TMPDIR/bload-dry-run-*" bload pack v -T longest --size 600x600 --encode delta --compress zstd:3 --dry-run -o d
    [ "$status" = 130 ] || skip "it had ended: status $status"
    [ ! -e d ]
    is '' "$(ls -A "$TMPDIR")"
}

test_too_little_room() {
    in_small_disk 2M '
        expect 1 bload pack v -T 45 --dry-run -o disk/d :err-like "not enough room: 4.8 MiB are needed, [0-9.]* MiB are free" :err-like "disk/d: a run would write 4.8 MiB of shards, but only [0-9.]* MiB are free"
        [ -z "$(ls -A disk)" ]
        expect 1 bload pack v -T 45 --compress zstd --size 300x300 --dry-run -o disk/d :err-like "a run would write at least [0-9.]* MiB of shards"
        expect 0 bload pack v -T 45 --encode jpeg -o disk/d :err-like "disk/d: the disk may become full: the shards have up to 4.8 MiB, and [0-9.]* MiB are free"'
}

# What an unfinished run has written needs no room any more; what is missing does.
test_too_little_room_to_resume() {
    awk 'BEGIN { for (i = 0; i < 600; i++) printf "%0999d\n", i }' >t.txt
    in_small_disk 4M '
        pack="bload pack t.txt --documents line --kind text --tokenizer bytes -T 1000 --shard-size 300K -o disk/d --spool spool"
        mkdir spool
        expect 0 $pack --dry-run
        expect 0 $pack --task 0/2
        expect 0 $pack --dry-run :err-like "a run would resume what is there"
        head -c 2000000 /dev/zero >disk/other
        expect 1 $pack --json --dry-run :err-like "not enough room: 1.[12] MiB are needed, [0-9.]* KiB are free" :err-like "disk/d: a run would write 1.[12] MiB of shards more, but only [0-9.]* KiB are free; 1.[12] MiB are there"
        expect 1 $pack'
}

# A gigabyte of zeros takes a second; what a run says before is all that is looked at.
test_before_a_long_run() {
    sanitizer_skip 'a sanitizer takes long'
    in_small_disk 1M '
        expect 1 bload pack v -T 45 --size 2600x2600 -o disk/d :err-like "^bload: disk/d: 3 sequences in 3 blocks of T = 45: [0-9]* shards\{0,1\}, 2.[0-9] GiB; [0-9.]* KiB free"
        expect 1 bload pack -q v -T 45 --size 2600x2600 -o disk/d
        ! grep -q "3 sequences in 3 blocks" "$ERR"'
}
