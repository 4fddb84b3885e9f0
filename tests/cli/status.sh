# bload status: how far a dataset in the making is, by made-up states and real ones.
# shellcheck shell=bash disable=SC2317,SC2154

# The dataset d: 40 documents in 20 blocks, a shard each.
dataset() {
    for i in $(seq 40); do printf 'the document number %s is here\n' "$i"; done >c.txt
    expect 0 bload pack -q --kind text --documents line --tokenizer bytes c.txt -T 64 --shard-size 300 -o d :manifest shards 20
}

# making RECORD...: m, the same as it is while it is packed, with these shards finished.
making() {
    [ -e d ] || dataset
    rm -rf m
    mkdir -p m/.bload m/shards/00000
    cp d/sequences.tsv m/.bload/
    cp d/manifest.json m/.bload/draft.json
    for shard in "$@"; do
        name=$(printf 'shard-%08d' "$shard")
        put "m/.bload/$name.record" '' "m/shards/00000/$name.safetensors" ''
    done
}

# beat FILE AGE LINE...: the heartbeat m/.bload/FILE, last written AGE seconds ago; of lines of one name the last counts.
beat() {
    local file=$1 stage=pack at
    case $1 in scan-*) stage=scan ;; esac
    at=$(($(date +%s) - $2))
    shift 2
    printf '%s\n' "stage: $stage" "task: $((10#${file##*-}))" 'tasks: 4' 'host: node' 'pid: 77' "began: $((at - 600))" \
        "updated: $at" 'state: running' 'status: -1' 'doing: pack' 'unit: blocks' 'done: 2' 'total: 5' 'step: tokens' \
        'steps: 1000' 'steps left: 6000' 'milliseconds: 10000' "$@" >m/.bload/"$file"
    touch -d "@$at" m/.bload/"$file"
}

test_what_is_no_dataset() {
    expect 2 bload status nowhere :err-is 'bload: status: cannot open nowhere: No such file or directory'
    mkdir empty
    expect 1 bload status empty :err-is 'bload: status: empty is neither a dataset nor an unfinished one'
    expect 2 bload status :err 'expects one dataset directory'
    expect 2 bload status a b
}

test_a_complete_dataset() {
    dataset
    expect 0 bload status d/ :out-is 'dataset     complete: 40 sequences, 20 blocks, 20 shards'
    expect 0 bload status --json d :word complete true :word shards 20 :word failed 0
    mv d/index.safetensors .
    expect 1 bload status d
    out_is <<'END'
dataset     damaged: 40 sequences, 20 blocks, 20 shards
lost        d/index.safetensors is missing: to finish the dataset again, remove manifest.json and run the same command
END
    expect 1 bload status --json d :word good false
    mv index.safetensors d
    # What the tasks of a chain of jobs that verifies it have left.
    put d.slurm/verified-00000-of-00003 '' d.slurm/verified-00002-of-00003 '' d.slurm/verified-00002-of-00003.part ''
    expect 0 bload status d/ :out 'verify      2 of 3 tasks without fault' 'next        bload verify d'
    given d.slurm/verified-00001-of-00003 '' expect 0 bload status d :out-lacks next
    # Marks of a dataset that was there before say nothing of this one.
    touch -d "@$(($(date +%s) - 3600))" d.slurm/verified-0000[01]-of-00003
    expect 0 bload status d :out 'verify      1 of 3 tasks without fault'
    given d/manifest.json '{}\n' expect 1 bload status d :err 'd/manifest.json'
}

test_every_state_of_a_task_and_what_is_wrong_first() {
    making 0 1 2 3 4 5 9 10 15 16 17 18 19
    beat task-00000 5 'state: failed' 'status: 1' 'error: its shards are there, so it is done'
    beat task-00001 5 'job: 12_1'
    beat task-00002 310 'state: failed' 'status: 1' 'error: cannot write m/a\tb: No space left on device'
    expect 1 bload status m
    out_is <<'END'
dataset     being packed
table       there: 40 sequences of 1,191 steps
plan        there: 20 blocks
pack        13 of 20 shards, 13 of 20 blocks (65.0 %)
tasks       4: 1 failed, 1 running, 2 done
            task 2 of 4: failed 5 min ago on node (pid 77), 1 of 5 shards: cannot write m/a?b: No space left on device
            task 1 of 4: running for 10 min on node (pid 77, job 12_1), pack 2 of 5 blocks, 100 tokens/s, 1 min left
rate        100 tokens/s, 1 min left
next        run the same bload pack --task I/4 command for I = 2
END
    # A heartbeat of before the last shards.
    beat task-00001 5 'done: 0'
    expect 1 bload status m :out 'task 1 of 4: running for 10 min on node (pid 77), pack 2 of 5 blocks'
    # Silent for longer than two minutes, by both clocks.
    beat task-00002 130
    expect 1 bload status m :out 'task 2 of 4: silent for 2 min on node (pid 77), pack 2 of 5 blocks'
    touch m/.bload/task-00002
    expect 0 bload status m :out 'tasks       4: 2 running, 2 done'
    beat task-00002 130 "updated: $(date +%s)"
    expect 0 bload status m
    # A plan tells no progress for long.
    beat task-00002 1500 'doing: plan' 'unit: '
    expect 0 bload status m :out 'task 2 of 4: running for 35 min on node (pid 77), plan'
    beat task-00002 1900 'doing: plan' 'unit: '
    expect 1 bload status m
    # Stopped by a signal: no failure, but somebody has to go on.
    beat task-00002 7300 'state: stopped' 'status: 143'
    mkdir m.slurm
    expect 0 bload status m :out 'task 2 of 4: stopped by Terminated 2 h 1 min ago on node (pid 77), 1 of 5 shards'
    out_has 'next        run the same bload pack --task I/4 command for I = 2; or bload slurm again, which submits what is missing'
    # Says that it is done, but shards have gone.
    beat task-00002 7300 'state: done' 'status: 0'
    expect 0 bload status m :out 'tasks       4: 1 running, 1 waiting, 2 done' :out-lacks next
}

test_what_nobody_has_begun() {
    making 5
    expect 0 bload status m :out 'pack        1 of 20 shards, 1 of 20 blocks (5.0 %)' 'next        run the same bload pack command to resume'
    beat task-00001 9 'state: stopped' 'status: 130'
    expect 0 bload status m :out 'tasks       4: 1 stopped, 3 waiting' 'next        run the same bload pack --task I/4 command for I = 0-3'
    beat task-00001 9
    expect 0 bload status m :out 'tasks       4: 1 running, 3 waiting' :out-lacks next
    # 100 steps a second: 6000 of its own, and 15 blocks of 1191 / 20 for others.
    out_has 'rate        100 tokens/s, 1 min left'
    expect 0 bload status --json m
    python3 -c 'import json, sys; assert abs(json.load(open(sys.argv[1]))["pack"]["seconds_left"] - 68.93) < 0.1' "$OUT"
}

test_all_shards_are_there() {
    # shellcheck disable=SC2046 # numbers
    making $(seq 0 19)
    beat task-00003 9 'state: done' 'status: 3'
    expect 0 bload status m :out 'dataset     all packed, to be finished' 'pack        20 of 20 shards, 20 of 20 blocks (100.0 %)'
    out_has 'tasks       4: 4 done' 'next        run the same bload pack command to finish it'
    : >m/.bload/plan.safetensors # tasks share it
    expect 0 bload status m :out 'next        bload finish m'
}

test_another_division_into_tasks() {
    making 0
    beat task-00000 5000 'tasks: 2' 'state: failed' 'status: 1'
    beat task-00001 5 'tasks: 2'
    beat task-00003 4
    expect 0 bload status m :out 'tasks       4: 1 running, 3 waiting' 'task 1 of 2: running' 'rate        200 tokens/s' :out-lacks 'task 0 of 2'
}

test_parts_of_a_scan() {
    put m/.bload/scan.configuration 'tasks: 4\ninputs: x\n'
    seal m/.bload/scan.configuration
    put m/.bload/scan-00000 '' m/.bload/scan-00001 ''
    beat scan-task-00001 4000 'state: failed' 'status: 1' 'error: but its part is there'
    beat scan-task-00002 5 'doing: scan' 'unit: files' 'step: ' 'total: 12' 'done: 10'
    beat scan-task-00003 500
    expect 1 bload status m :out 'dataset     being scanned' 'scan        2 of 4 parts' 'tasks       4: 1 silent, 1 running, 2 done'
    out_has 'task 2 of 4: running for 10 min on node (pid 77), scan 10 of 12 files, 1.0 files/s, 2 s left'
    out_has 'next        run the same bload scan --task I/4 command for I = 3'
    # The rate is in steps, and files foretell the time: how many steps they have is not known.
    beat scan-task-00002 5 'doing: scan' 'unit: files' 'step: frames' 'steps: 700' 'steps left: -1' 'total: 12' 'done: 10'
    expect 1 bload status m :out 'scan 10 of 12 files, 70 frames/s, 2 s left'
    expect 1 bload status --json m :out '"steps_left": null'
    put m/.bload/scan-00002 '' m/.bload/scan-00003 ''
    expect 0 bload status m :out 'dataset     to be planned' 'next        bload plan m'
    put m/.bload/sequences.tsv '' m/.bload/plan.safetensors ''
    printf '%s' '{"strategy": "block", "fill": "optimal", "T": 9, "seed": 0, "sequences": 5, "steps": 17, "longest": 9, "blocks": 2, ' \
        '"padding": 1, "deleted": 0, "cut": 0, "efficiency": 0.9, "lower_bound": 2, "world_size": 1, "batch_size": 1, ' \
        '"batches_per_rank": 2}' >m/.bload/plan.json
    seal m/.bload/plan.json
    expect 0 bload status m :out 'table       there: 5 sequences of 17 steps' 'plan        there: 2 blocks' :out 'next        run the same bload pack command'
}

test_files_that_are_no_heartbeats_are_told() {
    making 0
    put m/.bload/task-00001 'no heartbeat\n' m/.bload/task-00001.part-node-1-0 '' m/.bload/task-2 ''
    expect 0 bload status m :out 'unreadable  1 heartbeat: task-00001: a line without a name'
    given m/.bload/draft.json '{\n' expect 1 bload status m :err 'm/.bload/draft.json: line'
}

# Nothing is written, and all is told, where nothing can be written: root may do so in spite of modes.
test_a_directory_that_is_read_only() {
    making 0 1
    beat task-00001 5
    own_mounts sh -c 'mount --bind m m && mount -o remount,bind,ro m' 2>/dev/null || skip 'no file system of its own here'
    expect 0 own_mounts sh -c 'mount --bind m m && mount -o remount,bind,ro m && ! touch m/x 2>/dev/null && "$BLOAD" status m' :err-is ''
    out_has 'pack        2 of 20 shards' 'tasks       4: 1 running, 3 waiting'
}

# By JSON a program has every task, whatever its state.
test_json_has_every_task() {
    making 0 1 2 3 4 7
    beat task-00001 200
    beat task-00003 5 'state: failed' 'status: 1' 'error: "quoted" \xff'
    expect 1 bload status --json m
    python3 - "$OUT" <<'END'
import json, sys
s = json.load(open(sys.argv[1]))
p = s["pack"]
assert not s["complete"] and not s["good"] and s["stage"] == "pack" and s["finished_blocks"] == s["finished_shards"] == 6, s
assert (p["tasks"], p["shards"], p["done"], p["silent"], p["failed"], p["waiting"]) == (4, 20, 1, 1, 1, 1), p
assert [t["state"] for t in p["task"]] == ["done", "silent", "waiting", "failed"], p
assert [(t["first"], t["shards"], t["finished"]) for t in p["task"]] == [(0, 5, 5), (5, 5, 1), (10, 5, 0), (15, 5, 0)], p
assert p["task"][3]["error"] == '"quoted" \\xFF' and p["task"][3]["status"] == 1 and p["task"][1]["status"] is None
assert p["task"][1]["seconds_since_update"] >= 200 and "host" not in p["task"][2]
assert s["next"].endswith(" for I = 1-3"), s["next"]
END
}

# Names are read, nothing is looked at per shard: these cannot even be opened as files.
test_it_looks_at_no_shard() {
    making
    (cd m/.bload && printf 'shard-%08d.record\n' $(seq 0 2 18) | xargs mkdir)
    (cd m/shards/00000 && printf 'shard-%08d.safetensors\n' $(seq 0 2 18) | xargs mkdir)
    expect 0 bload status m :out 'pack        10 of 20 shards'
}

# The record is written first: who is killed then leaves it alone, and the task that is done by records is not.
test_a_record_without_its_shard_is_none() {
    # shellcheck disable=SC2046 # numbers
    making $(seq 0 19)
    rm m/shards/00000/shard-0000000[79].safetensors
    : >m/shards/00000/shard-00000007.safetensors.zst # a shard of another dataset
    : >m/.bload/shard-00000020.record                # more than there are
    beat task-00001 200
    expect 1 bload status m :out 'dataset     being packed' 'pack        18 of 20 shards, 18 of 20 blocks (90.0 %)' 'tasks       4: 1 silent, 3 done'
    out_has 'next        run the same bload pack --task I/4 command for I = 1'
    rm -r m/shards
    expect 1 bload status m :out 'pack        0 of 20 shards'
}

# Real tasks of a scan, whose parts a task that packs puts together.
test_tasks_that_scan() {
    dataset
    options=(--kind text --documents line --tokenizer bytes -o e)
    expect 0 bload scan -q --task 1/3 "${options[@]}" c.txt
    is 'scan 1 3 done 0' "$(sed -n 's/^\(stage\|task\|tasks\|state\|status\): //p' e/.bload/scan-task-00001 | xargs)"
    expect 0 bload status e
    out_is <<'END'
dataset     being scanned
scan        1 of 3 parts
tasks       3: 2 waiting, 1 done
table       not yet
plan        not yet
next        run the same bload scan --task I/3 command for I = 0, 2
END
    # Who is refused speaks for nobody.
    expect 2 bload scan -q --task 0/4 "${options[@]}" c.txt
    expect 0 bload status e :out 'tasks       3: 2 waiting, 1 done'
    expect 0 bload scan -q --task 0/3 "${options[@]}" c.txt
    expect 0 bload scan -q --task 2/3 "${options[@]}" c.txt
    expect 0 bload status e :out 'dataset     to be planned'
    expect 0 bload pack -q --task 0/2 -T 64 --shard-size 300 "${options[@]}" c.txt
    expect 0 bload status e :out 'scan        3 of 3 parts' 'pack        10 of 20 shards' 'tasks       2: 1 waiting, 1 done'
}

# Real tasks: done and failed; and what they leave is finished.
test_tasks_that_pack() {
    dataset
    task() { bload pack -q --task "$1/3" --kind text --documents line --tokenizer bytes c.txt -T 64 --shard-size 300 -o e; }
    expect 0 task 1
    is 'pack 1 3 done 0' "$(sed -n 's/^\(stage\|task\|tasks\|state\|status\): //p' e/.bload/task-00001 | xargs)"
    is "7 7 $(hostname)" "$(sed -n 's/^\(done\|total\|host\): //p' e/.bload/task-00001 | sort | xargs)"
    expect 0 bload status e :out 'pack        7 of 20 shards, 7 of 20 blocks (35.0 %)' 'tasks       3: 2 waiting, 1 done'
    out_has 'next        run the same bload pack --task I/3 command for I = 0, 2'
    cp -p c.txt whole
    echo more >>c.txt
    status=0
    task 2 2>"$ERR" || status=$?
    [ "$status" != 0 ] || fail 'packed what has changed'
    reason=$(sed -n 's/^bload: pack: //p' "$ERR")
    expect 1 bload status e :out "task 2 of 3: failed" "0 of 7 shards: $reason"
    cp -p whole c.txt
    expect 0 task 2
    expect 0 task 0
    expect 0 bload status e :out 'tasks       3: 3 done' 'next        bload finish e'
    expect 0 bload finish -q e
    expect 0 bload status e
    diff -r d e
}

# A run that waits for its input is at work as long as it lives, and tells how it ended if it can.
test_a_run_without_tasks() {
    mkfifo pipe
    exec 3<>pipe
    echo '{"text": "one"}' >&3
    ended_by TERM d/.bload/task-00000 bload pack - --tokenizer bytes -T 8 -o d <pipe
    expect 0 bload status d :out "stopped by Terminated" 'next        run the same bload pack command to resume'
    rm d/.bload/task-00000
    "$BLOAD" pack - --tokenizer bytes -T 8 -o d <pipe 2>/dev/null &
    pid=$!
    for ((i = 0; i < 100; i++)); do [ ! -e d/.bload/task-00000 ] || break; sleep 0.1; done
    expect 0 bload status d :out 'dataset     being scanned'
    out_has "on $(hostname) (pid $pid)"
    checks :out-lacks next
    # Asking did not take its lock away, and it was not in the way.
    expect 1 bload pack -q - --tokenizer bytes -T 8 -o d <pipe :err 'another bload is running in d'
    is "pid: $pid" "$(grep pid: d/.bload/task-00000)"
    kill -KILL $pid
    wait $pid || true
    # It was heard of just now; half a minute later this machine knows that it is not there any more.
    expect 0 bload status d :out 'running for'
    sed -i "s/^updated: .*/updated: $(($(date +%s) - 40))/" d/.bload/task-00000
    touch -d "@$(($(date +%s) - 40))" d/.bload/task-00000
    expect 1 bload status d :out "silent for 4" :out ': its process has ended'
}
