# The end of a run: where its time went, what limited it, what to run next.
# shellcheck shell=bash disable=SC2317

# slow SECONDS: documents as JSON lines, the first half at once, the other after so many seconds.
slow() {
    seq 1000 | sed 's/.*/{"text": "&"}/'
    sleep "$1"
    seq 1000 | sed 's/.*/{"text": "&"}/'
}

# run EXPRESSION: Python's value of it, where run is that of the JSON in $OUT.
run() { python3 -c 'import json, sys; run = json.load(open(sys.argv[1]))["run"]; print(eval(sys.argv[2]))' "$OUT" "$1"; }
pack_slowly() { slow "$1" | bload pack - --kind text --tokenizer bytes -T 512 -o "$2" "${@:3}"; }

test_one_slow_file_is_named() {
    expect 0 pack_slowly 2.5 d -j 2 --json
    is 'file -' "$(run 'run["limit"] + " " + run["waited_for"]["file"]')"
    is True "$(run '2 < run["waited_for"]["seconds"] <= run["seconds"]["scanning"] + 0.01')"
    # A single worker reads, or waits; on a machine that does not tell which, that is all that is said.
    expect 0 pack_slowly 2.5 e -j 1 --json
    case $(run 'run["limit"]') in reading | inputs) ;; *) fail "$(cat "$OUT")" ;; esac
    is None "$(run 'run["waited_for"]')"
}

test_a_long_video_that_holds_a_run_up_is_named() {
    fixtures v h264-hd-400.mp4=long.mp4
    for i in 1 2 3; do cp "$(fixture h264-30.mp4)" v/$i.mp4; done
    expect 0 bload pack v --size 64x64 -T longest -j 4 --json -o d
    is v/long.mp4 "$(run 'run["waited_for"]["file"]')"
    is True "$(run '0 < run["waited_for"]["seconds"] <= run["seconds"]["writing"]')"
}

# Makes the library of the next one.
slow_reads() {
    sanitizer_skip 'a sanitizer is to be the first library'
    "${CC:-cc}" -std=gnu17 -D_GNU_SOURCE -O1 -shared -fPIC -o slow.so "$BLOAD_ROOT/tests/laws/preload.c" -ldl
}

# slowly PART MILLISECONDS COMMAND...: each read of files whose names have the part takes so long; see tests/laws/preload.c.
slowly() { LD_PRELOAD=$PWD/slow.so LAWS_PATH=$1 LAWS_SLOW=$2 "$BLOAD" "${@:3}"; }

test_a_slow_disk_is_told_from_a_slow_decoder() {
    slow_reads
    mkdir v
    for i in 1 2 3; do cp "$(fixture h264-30.mp4)" v/$i.mp4; done
    expect 0 slowly .mp4 120 pack v -T 30 --size 16x16 -j 1 --json -o d
    is reading "$(run 'run["limit"]')"
    is True "$(run 'run["limit_share"] > 0.7')"
    # What a machine cannot tell apart is called so, see base/process.c.
    cp "$(fixture h264-hd-400.mp4)" v/long.mp4
    expect 0 bload pack v -T longest --size 64x64 -j 1 --json -o e
    case $(run 'run["limit"]') in decoder | inputs) ;; *) fail "$(cat "$OUT")" ;; esac
}

# While a video is read from a slow disk, pack says that it waits for it; in the end, how long.
test_pack_names_the_file_that_it_waits_for() {
    slow_reads
    fixtures v h264-30.mp4=slow.mp4
    for i in 1 2 3; do cp "$(fixture h264-30.mp4)" v/$i.mp4; done
    bload scan -q v -o t.tsv
    expect 0 slowly slow.mp4 1400 pack --sequences t.tsv -T 30 --size 16x16 -j 2 --progress json --json -o d
    grep -q '^{"stage": "pack", .*"file": "v/slow.mp4"}' "$ERR" || fail "$(cat "$ERR")"
    ! grep -q '^{"stage": "pack", .*"file": "v/[123]' "$ERR" || fail "$(cat "$ERR")"
    grep -q '^{"stage": "pack", "done": 4,.*"file": null}' "$ERR" || fail "$(cat "$ERR")"
    is 'file v/slow.mp4' "$(run 'run["limit"] + " " + run["waited_for"]["file"]')"
    is True "$(run '6 < run["waited_for"]["seconds"] <= run["seconds"]["writing"]')"
    grep -qE '^bload: time: .*[0-9.]+ s writing' "$ERR" || fail "$(cat "$ERR")"
    grep -qE '^bload: limit: waiting for single files, [0-9]+ % of the time; waited for v/slow.mp4, which took [67]\.[0-9] s$' "$ERR" || fail "$(cat "$ERR")"
}

# The files of --dedup are compared whole; while that lasts, it is shown.
test_choosing_sequences_shows_how_far_it_is() {
    slow_reads
    for i in 1 2 3; do cp "$(fixture h264-hd-400.mp4)" $i.mp4; done
    expect 0 slowly 2.mp4 8 scan . --dedup -o t.tsv --progress json :err-like '^{"stage": "choose", "done": 2, "total": 3, "unit": "sequences",'
    is 2 "$(grep -c dropped t.tsv)"
    bload scan -q . -o c.tsv
    for command in plan compare; do
        expect 0 slowly 2.mp4 8 $command c.tsv -T longest --dedup --progress json :err-like '^{"stage": "choose", "done": 2, "total": 3, "unit": "sequences",'
    done
    expect 0 bload scan 1.mp4 2.mp4 --dedup -o t.tsv --progress json :err-lacks choose
}

test_compressing_may_be_the_limit() {
    cp "$(fixture h264-30.mp4)" a.mp4
    expect 0 bload pack a.mp4 --size 256x256 -T 30 -j 1 --compress zstd:19 --json -o d
    is encoder "$(run 'run["limit"]')"
}

# A run of a few seconds is not asked where its time went; what comes next, it says.
test_what_comes_next() {
    seq 100 >a.txt
    expect 0 bload pack a.txt --tokenizer bytes -T 512 -o d
    is 'bload: next: bload verify d' "$(tail -n 1 "$ERR")"
    ! grep -q -e '^bload: time: ' -e '^bload: limit: ' "$ERR" || fail "$(cat "$ERR")"
    expect 0 bload pack a.txt --tokenizer bytes -T 512 -o d :err-is 'bload: d is already complete: nothing to do'
    expect 0 bload pack -q a.txt --tokenizer bytes -T 512 -o "it's one" :err-is ''
    rm -r "it's one"
    expect 0 bload pack a.txt --tokenizer bytes -T 512 -o "it's one"
    next=$(sed -n 's/^bload: next: bload //p' "$ERR")
    eval "expect 0 bload $next"
    expect 0 bload pack a.txt --tokenizer bytes -T 512 --task 0/1 -o t
    is 'bload: next: bload finish t when all tasks are done, which bload status shows' "$(tail -n 1 "$ERR")"
    expect 0 bload finish t
    is 'bload: next: bload verify t' "$(tail -n 1 "$ERR")"
    fixtures v h264-1.mp4=good.mp4
    given v/bad.mp4 'no\n' expect 3 bload pack v -T longest --size 16x16 -o s :err 'see s/sequences.tsv'
    is 'bload: next: bload verify s' "$(tail -n 1 "$ERR")"
}

test_a_run_that_took_some_time_says_where_it_went() {
    expect 0 pack_slowly 5.5 d -j 2
    grep -qE '^bload: time: ([0-9.]+ s listing, )?[5-9]\.[0-9] s scanning' "$ERR" || fail "$(cat "$ERR")"
    grep -qE '^bload: limit: waiting for single files, (100|[5-9][0-9]) % of the time; waited for -, which took 5\.[0-9] s$' "$ERR" || fail "$(cat "$ERR")"
    is 'bload: next: bload verify d' "$(tail -n 1 "$ERR")"
}
