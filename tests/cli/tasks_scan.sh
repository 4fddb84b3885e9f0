# bload scan --task: parts of a scan, by tasks that know nothing of each other.
# shellcheck shell=bash disable=SC2317,SC2154

setup() {
    mkdir -p v/sub
    fixtures v h264-30.mp4=b10.mp4 mpeg4-40.avi=b2.avi
    cp "$(fixture vp9-24.webm)" v/sub/c.webm
    : >v/empty.mp4
    head -c 5000 "$BLOAD_ROOT/LICENSE" >v/garbage.mkv
}

test_parts_are_made_once() {
    expect 3 bload scan --task 1/2 -o d v :err 'bload: skipped garbage.mkv' 'bload: task 1/2: 1 sequence of 30 steps; 1 skipped'
    expect 3 bload scan --task 1/2 -o d v # the status of then
    err_has 'bload: d/.bload/scan-00001 is already there: nothing to do'
    expect 3 bload scan -q --task 0/2 -o d v :err 'bload: skipped empty.mp4'
    grep -q '^tasks: 2$' d/.bload/scan.configuration
    grep -q '^inputs: 5 (' d/.bload/scan.configuration
    ! compgen -G 'd/.bload/*.part-*' || fail 'a temporary file is left'
}

test_tasks_of_other_scans_are_refused() {
    expect 3 bload scan -q --task 0/2 -o d v
    expect 2 bload scan -q --task 1/3 -o d v :err 'd holds an unfinished dataset of another configuration: tasks is "2" there, not "3"'
    expect 2 bload scan -q --task 1/2 -o d v --stride 2 :err 'stride is "1" there, not "2"'
    cp v/b2.avi v/new.avi
    expect 2 bload scan -q --task 1/2 -o d v :err 'inputs is "5 ('
    expect 2 bload scan --task 0/2 v :err '--task needs -o DIR'
    expect 2 bload scan --task 0/2 -o e - --tokenizer bytes :err 'standard input cannot be shared'
    expect 2 bload scan --task 2/2 -o e v :none e
}

test_a_torn_part_is_made_anew() {
    expect 3 bload scan -q --task 0/2 -o d v
    cp d/.bload/scan-00000 good
    shorten 9 d/.bload/scan-00000
    expect 3 bload scan --task 0/2 -o d v :err 'd/.bload/scan-00000 is damaged: it ends early'
    same good d/.bload/scan-00000
}

test_the_same_task_twice_at_once() {
    for i in 0 0 1 1 1; do
        bload scan -q --task $i/2 -o d v 2>/dev/null &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        status=0
        wait "$pid" || status=$?
        is 3 "$status"
    done
    is 'scan-00000 scan-00001' "$(files d/.bload | grep ^scan-0 | xargs)"
}

test_the_directory_of_the_file() {
    mkdir c
    mv v c/
    given c/set.yaml 'sources:\n  - v\noutput: set\nT: 50\njobs: 2\n' expect 3 bload scan --task 0/1 -c c/set.yaml
    [ -e c/set/.bload/scan-00000 ]
    expect 3 bload scan -q --task 0/1 -c c/set.yaml -o other
    same c/set/.bload/scan-00000 other/.bload/scan-00000
}

# parts N ARGUMENTS...: the scan of N tasks in d; their statuses, each once.
parts() {
    local n=$1 i status statuses=()
    shift
    rm -rf d
    for ((i = n - 1; i >= 0; i--)); do
        status=0
        bload scan -q --task "$i/$n" -o d "$@" 2>>"$SCRATCH/parts" || status=$?
        statuses+=("$status")
    done
    printf '%s\n' "${statuses[@]}" | sort -u | xargs
}

# merged STATUS ARGUMENTS...: one scan, and the plan after scans of 1, 2, 3 and 30 tasks, end with STATUS, and have the same table.
merged() {
    local status=$1 n
    shift
    expect "$status" bload scan -q -o all.tsv "$@"
    for n in 1 2 3 30; do
        parts "$n" "$@" >/dev/null
        expect "$status" bload plan -T longest d
        same all.tsv d/.bload/sequences.tsv
    done
}

test_videos_merge_to_one_table() {
    merged 3 v
    err_has 'bload: 30 parts: 5 rows' 'bload: 3 sequences of 94 steps (longest 40) in 3 blocks'
    is '0 3' "$(parts 3 v)"
    rm d/.bload/scan-00001
    expect 1 bload plan -T longest d :err 'part 1 of 3 is missing: run bload scan --task 1/3 -o d ...' :none d/.bload/sequences.tsv
    expect 0 bload scan --task 1/3 -o d v
    shorten 1 d/.bload/scan-00001
    expect 1 bload plan -T longest d :err 'd/.bload/scan-00001 is damaged: it ends early (remove it, and run task 1/3 of bload scan again)'
    [ ! -e d/.bload/sequences.tsv ]
    ! compgen -G 'd/.bload/*.part-*' || fail 'a temporary file is left'
}

# array FILE STEPS WIDTH
array() { npy "$1" "$2, $3" 0 '<f4'; }

test_arrays_unlike_the_first_are_found_by_the_merge() {
    put w/0.npy 'none\n'
    for i in 2 3 4 6 7 9; do array w/$i.npy $i 2; done
    for i in 1 5 8; do array w/$i.npy $i 3; done
    merged 3 --kind array w
    is '0 3' "$(parts 3 --kind array w)"
    expect 3 bload plan -q -T longest d
    err_is <<'END'
bload: skipped 2.npy: its steps are F32 [2], those of the first (1.npy) F32 [3]
bload: skipped 3.npy: its steps are F32 [2], those of the first (1.npy) F32 [3]
bload: skipped 4.npy: its steps are F32 [2], those of the first (1.npy) F32 [3]
bload: skipped 6.npy: its steps are F32 [2], those of the first (1.npy) F32 [3]
bload: skipped 7.npy: its steps are F32 [2], those of the first (1.npy) F32 [3]
bload: skipped 9.npy: its steps are F32 [2], those of the first (1.npy) F32 [3]
END
}

test_a_large_text_is_shared() {
    # Several stretches of a MiB: few documents, so that this is quick.
    for i in 1 2 3; do
        head -c 3000000 /dev/zero | tr '\0' "$i"
        printf '\nshort %s\n' "$i"
    done >v.txt
    put w.txt 'one\ntwo\n' empty.txt ''
    set -- --tokenizer bytes --documents line --max-document 1K v.txt w.txt empty.txt
    expect 3 bload scan -q -o all.tsv "$@"
    is '0 3' "$(parts 4 "$@")"
    expect 3 bload plan -q -T 20 d
    same all.tsv d/.bload/sequences.tsv
}

test_tokens_wait_in_the_spool_of_the_directory() {
    for i in $(seq 40); do echo "{\"text\": \"document $i\", \"n\": $i}"; done >a.jsonl
    cp a.jsonl b.jsonl
    set -- --tokenizer bytes --keep n a.jsonl b.jsonl
    merged 0 "$@"
    is '0' "$(parts 2 "$@")"
    [ -n "$(files d/.bload/spool)" ]
    expect 0 bload plan -T 64 --group-by n d
    expect 2 bload plan -T 64 d :err 'group-by is "n" there, not ""'
    bload pack -q -T 64 --group-by n -o whole "$@"
    bload pack -q -T 64 --group-by n -o d --task 0/1 "$@"
    expect 0 bload finish d :same-as whole
}

test_lists_are_shared_by_their_lines() {
    ln -s "$(fixture tone-16000.wav)" s.bin
    for i in $(seq 0 199); do
        echo "{\"audio_filepath\": \"s.bin\", \"offset\": 0.0$((i % 10)), \"duration\": 0.$((1 + i % 7))}"
        [ $((i % 90)) != 50 ] || echo 'no line'
    done >m.jsonl
    merged 3 --kind audio m.jsonl
    echo >>m.jsonl
    expect 2 bload scan -q --task 0/30 -o d --kind audio m.jsonl :err 'list m.jsonl is'
}

test_attributes_over_all_tasks() {
    rm v/garbage.mkv
    printf 'id,class\nb2,one\nb10,"two\nlines"\nsub/c,three\nempty,four\nnobody,five\n' >l.csv
    merged 3 --attributes l.csv v
    err_has 'bload: l.csv: 1 row belongs to no sequence'
    cp v/b2.avi v/sub/b2.avi # by its file's name
    parts 4 --attributes l.csv v >/dev/null
    expect 1 bload plan -T longest d :err 'l.csv:2: two sequences match the id of this row: use full ids'
}

test_one_file_serves_all() {
    printf 'sources:\n  - v\noutput: d\nT: 50\njobs: 2\nseed: 3\ngroup-by: kind\nmin_length: 2\nsize: 32x32\n' >set.yaml
    for i in 0 1 2; do bload scan -q --task $i/3 -c set.yaml 2>/dev/null || is 3 $?; done
    expect 3 bload plan -c set.yaml
    expect 3 bload plan -c set.yaml d :err 'bload: d already has its plan: nothing to do'
    expect 2 bload plan -c set.yaml d --seed 4 :err 'seed is "3" there, not "4"'
    bload scan -q v -o table.tsv 2>/dev/null || true
    expect 0 bload plan -c set.yaml table.tsv -o plan.safetensors
    same plan.safetensors d/.bload/plan.safetensors
    cp v/b2.avi v/new.avi
    expect 2 bload plan -c set.yaml d :err 'inputs is "5 ('
}

test_directories_that_are_none() {
    mkdir empty
    expect 2 bload plan -T 5 empty :err 'empty holds no unfinished dataset: begin one with bload scan --task i/N -o empty ...'
    is '' "$(files empty)"
    expect 2 bload plan -T 5 -o p.tsv empty :err '-o, --plot, --lengths and --epochs are for tables'
}

test_a_dataset_that_is_complete() {
    bload pack -q -T 50 --size 32x32 -o d v 2>/dev/null || is 3 $?
    files d >before
    expect 3 bload plan -T 50 d :err-is $'bload: d is already complete: nothing to do\nbload: 2 inputs skipped: see d/sequences.tsv (exit status 3)'
    expect 2 bload plan -T 51 d :err 'd holds a dataset of another configuration: T is "50" there, not "51"'
    expect 3 bload scan --task 0/9 -o d v
    err_is <<<$'bload: d is already complete: nothing to do\nbload: 2 inputs skipped: see d/sequences.tsv (exit status 3)'
    expect 2 bload scan --task 0/9 -o d --stride 2 v :err 'stride is "1" there, not "2"'
    files d | diff before -
}

# chain ARGUMENTS...: scan, plan, pack and finish by tasks give the dataset of one run.
chain() {
    local i
    rm -rf whole
    bload pack -q -T longest --shard-size 1K -o whole "$@" 2>/dev/null || is 3 $?
    parts 3 "$@" >/dev/null
    bload plan -q -T longest d 2>/dev/null || is 3 $?
    for i in 1 0; do bload pack -q -T longest --shard-size 1K -o d --task $i/2 "$@" 2>/dev/null || is 3 $?; done
    bload finish -q d || is 3 $?
    diff -r whole d
}

test_the_whole_chain() {
    printf 'id,class\nb2,1\nb10,2\nsub/c,3\nempty,4\ngarbage,5\n' >l.csv
    (for i in $(seq 9 -1 1); do array v/$i.npy $((11 - i)) $((2 + i % 4 / 3)); done)
    for i in $(seq 30); do echo "{\"text\": \"document $i\", \"n\": $i}"; done >v/a.jsonl
    cp "$(fixture tone-16000.wav)" s.wav
    for i in $(seq 0 140); do echo "{\"audio_filepath\": \"s.wav\", \"offset\": 0.00$((i % 10)), \"duration\": 0.0$((1 + i % 7))}"; done >m.jsonl
    chain --kind video --size 16x16 --attributes l.csv v
    chain --kind array v
    chain --kind text --tokenizer bytes --keep n v
    chain --kind audio m.jsonl
    for i in $(seq 0 140); do echo "{\"path\": \"v/b$((i % 2 ? 10 : 2)).$( ((i % 2)) && echo mp4 || echo avi)\", \"start_frame\": $((i % 25)), \"id\": \"c$i\", \"n\": $i}"; done >c.jsonl
    chain --kind video --size 16x16 c.jsonl
}
