# bload pack --task and bload finish: many processes, one dataset.
# shellcheck shell=bash disable=SC2317,SC2086

# The folder v: clips of one size, and one that is none.
setup() { fixtures v h264-30.mp4 mpeg4-40.avi vp9-24.webm; }

# pack [OPTION...]: with the options of every test here, so that there are several shards.
pack() { bload pack v -T 45 --shard-size 1 "$@"; }

# all_tasks N DIR: one after the other, the last one first.
all_tasks() { for ((i = $1 - 1; i >= 0; i--)); do expect 0 pack -q --task "$i/$1" -o "$2"; done; }

test_tasks_make_the_bytes_of_one_run() {
    expect 0 pack -q -o one
    for n in 1 2 3 7; do
        all_tasks $n many
        [ ! -e many/manifest.json ] || fail 'a manifest before the finish'
        expect 0 bload finish -q many :same-as one :removed
    done
}

test_tasks_at_once_and_twice() {
    expect 0 pack -q -o one
    for i in 0 1 2 0 1 2 0; do pack -q --task $i/3 -o many 2>"$SCRATCH/task.$i" & done
    wait
    cat "$SCRATCH"/task.*
    expect 0 bload finish -q many :same-as one
}

test_another_number_of_tasks_goes_on() {
    expect 0 pack -q -o one
    expect 0 pack -q --task 1/3 -o many
    expect 1 bload finish many
    err_has 'many: 2 of 3 shards are missing or damaged, the first is shards/00000/shard-00000000.safetensors (bload status many shows more): run the same bload pack --task I/3 command for I = 0, 2'
    expect 0 pack -q --task 0/2 -o many
    expect 0 pack --task 1/2 -o many :err 'bload: task 1/2: shards 1 to 2 of 3 are done'
    expect 0 bload finish many :err 'bload: many: 3 shards' :same-as one
    expect 0 bload finish many :err 'many is already complete: nothing to do'
    expect 0 pack --task 0/2 -o many :err 'many is already complete: nothing to do'
}

# The record of a shard is written before the shard has its name: between them a task may be killed.
test_a_record_without_its_shard() {
    for options in '' '--compress zstd'; do
        expect 0 pack -q $options -o one
        for i in 0 1 2; do expect 0 pack -q $options --task $i/3 -o many; done
        expect 0 bload status many :out 'next        bload finish many'
        rm many/shards/00000/shard-00000001.*
        expect 0 bload status many :out 'pack        2 of 3 shards' 'tasks       3: 1 waiting, 2 done'
        out_has 'next        run the same bload pack --task I/3 command for I = 1'
        expect 1 bload finish many :err 'many: 1 of 3 shards is missing or damaged, the first is shards/00000/shard-00000001.'
        err_has 'run the same bload pack --task I/3 command for I = 1'
        expect 0 pack -q $options --task 1/3 -o many
        expect 0 bload status many :out 'next        bload finish many'
        expect 0 bload finish -q many :same-as one
        rm -r one many
    done
}

test_a_run_without_tasks_takes_over() {
    expect 0 pack -q -o one
    expect 0 pack -q --task 1/3 -o many
    expect 0 pack -q -o many :same-as one
}

test_more_tasks_than_shards() {
    expect 0 pack --task 2/7 -o many :err 'task 2/7: shards 0 to 0 of 3 are done'
    expect 0 pack --task 0/7 -o many :err 'task 0/7: nothing to do, 3 shards for 7 tasks (a smaller --shard-size makes more)'
}

test_what_differs_between_tasks_is_named() {
    expect 0 pack -q --task 0/3 -o many
    expect 2 pack -q --task 1/3 --seed 7 -o many :err 'many holds an unfinished dataset of another configuration: seed is "0" there, not "7"'
    # Another plan, of the same configuration: by a hand that was in between.
    rm many/.bload/plan.safetensors
    sed -i 's/"blocks": 3/"blocks": 4/' many/.bload/plan.json
    expect 1 pack -q --task 1/3 -o many :err 'many/.bload/plan.json exists already, with other content than here: line'
}

test_other_versions_are_not_gone_on_with() {
    for task in '--task 0/3' ''; do
        expect 0 pack -q --task 0/3 -o many
        sed -i 's/"libavcodec": "[0-9]*/"libavcodec": "1/' many/.bload/draft.json
        expect 1 pack -q $task -o many :err 'many was begun with other versions of bload or its libraries' '"libavcodec": "1.'
        rm -r many
    done
}

test_tasks_and_runs_keep_out_of_each_other() {
    mkdir -p many/.bload/spool
    exec 9<>many/.bload/lock
    flock -s 9 # as a task does
    expect 0 pack -q --task 0/1 -o many
    expect 1 pack -q -o many :err 'another bload is running in many'
    expect 1 bload finish many :err 'another bload is running in many'
    flock -u 9
    flock -x 9 # as a run without tasks
    expect 1 pack -q --task 0/1 -o many :err 'another bload is running in many'
    exec 9>&-
    expect 0 bload finish -q many
}

test_failures_of_tasks_come_to_the_finish() {
    cp "$(fixture failing-20.mov)" v/
    expect 3 pack -q --size 16x16 -o one
    bad=0
    for i in 0 1 2 3; do
        status=0
        pack -q --size 16x16 --task $i/4 -o many 2>"$SCRATCH/task" || status=$?
        if grep -q 'failed failing-20.mov: the scan counted 20 frames, decoding gives 19' "$SCRATCH/task"; then
            is 3 $status
            bad=$((bad + 1))
            # Again: the work is done, the status is the same.
            expect 3 pack -q --size 16x16 --task $i/4 -o many
        else
            is 0 $status
        fi
    done
    is 1 $bad
    expect 3 bload finish many :err '1 input failed (20 steps are zeros): see many/sequences.tsv'
    diff -r one many
    expect 3 bload finish many :err 'already complete'
}

test_what_finish_refuses() {
    expect 2 bload finish :err 'expects one dataset directory'
    expect 2 bload finish nowhere :err 'cannot open nowhere: No such file or directory'
    mkdir empty
    expect 2 bload finish empty
    expect 0 pack -q --task 0/1 -o many
    rm many/.bload/plan.safetensors
    expect 1 bload finish many :err 'was begun by bload pack without --task'
    printf x >>many/.bload/draft.json
    expect 1 bload finish many :err 'many/.bload/draft.json'
}

test_text_shares_one_spool() {
    for ((n = 0; n < 200; n++)); do printf '{"text": "%s"}\n' "$(head -c $((n * 7 % 90 + 1)) /dev/zero | tr '\0' 'a')"; done >t.jsonl
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 128 --shard-size 4K -o one
    in_tasks 3 t.jsonl --tokenizer bytes -T 128 --shard-size 4K -o many :same-as one
}

test_the_scan_may_be_shared_too() {
    given v/broken.mp4 'no video at all\n' expect 3 pack -q -o one
    for i in 0 2; do bload scan -q --task $i/3 -o many v 2>/dev/null || is 3 $?; done
    expect 1 pack -q --task 0/2 -o many :err 'bload scan --task 1/3'
    bload scan -q --task 1/3 -o many v 2>/dev/null || is 3 $?
    expect 0 pack -q --task 0/2 -o many
    expect 0 pack -q --task 1/2 -o many
    expect 3 bload finish -q many
    diff -r one many
    rm -r many
    # A run without tasks does not wait for parts that are missing, and takes those that are there.
    for i in 0 1; do bload scan -q --task $i/2 -o many v 2>/dev/null || is 3 $?; cp -r many many.$i; done
    expect 3 pack -q -o many.0 :same-as one
    expect 3 pack -q -o many.1 :same-as one
    # What was scanned otherwise is not taken.
    expect 2 pack -q --task 0/2 --stride 2 -o many :err 'of another configuration: stride is "1" there, not "2"'
}

test_the_first_task_decides_the_instructions() {
    expect 0 pack -q -o one --simd none
    expect 0 pack -q --task 0/2 --simd none -o many
    expect 0 pack -q --task 1/2 -o many
    expect 0 bload finish -q many :same-as one
    expect 0 pack -q --task 0/2 --simd none -o other
    expect 2 pack -q --task 1/2 --simd sse2 -o other :err 'other holds an unfinished dataset of another configuration: simd is "none" there, not "sse2"'
}

test_a_task_looks_at_its_own_files_only() {
    expect 0 pack -q --task 0/3 -o many
    rm many/.bload/shard-*.record
    for clip in v/*; do
        mv "$clip" away
        for i in 0 1 2; do
            cp -r many copy
            status=0
            pack -q --task $i/3 -o copy 2>"$SCRATCH/task" || status=$?
            echo $status
            [ $status = 0 ] || grep -qF "${clip#v/}" "$SCRATCH/task" || fail "$(cat "$SCRATCH/task")"
            rm -r copy
        done | sort | uniq -c | tr -s ' \n' ' ' >statuses
        mv away "$clip"
        # Every task of a plan reads the first one, to see of which size frames are.
        is "$([ "$clip" = v/h264-30.mp4 ] && echo ' 3 1 ' || echo ' 2 0 1 1 ')" "$(cat statuses)"
    done
}
