# bload scan --task: parts of a scan, by tasks that know nothing of each other.
# shellcheck shell=bash disable=SC2317,SC2154

clips() {
    mkdir -p v/sub
    cp "$(fixture h264-30.mp4)" v/b10.mp4
    cp "$(fixture mpeg4-40.avi)" v/b2.avi
    cp "$(fixture vp9-24.webm)" v/sub/c.webm
    : >v/empty.mp4
    head -c 5000 "$BLOAD_ROOT/LICENSE" >v/garbage.mkv
}

test_parts_are_made_once() {
    clips
    expect 3 bload scan --task 1/2 -o d v
    err_has 'bload: skipped garbage.mkv'
    err_has 'bload: task 1/2: 1 sequences of 30 steps, 0 of them damaged; 1 skipped'
    expect 3 bload scan --task 1/2 -o d v # the status of then
    err_has 'bload: d/.bload/scan-00001 is there already: nothing to do'
    expect 3 bload scan -q --task 0/2 -o d v
    err_has 'bload: skipped empty.mp4'
    grep -q '^tasks: 2$' d/.bload/scan.configuration
    grep -q '^inputs: 5 (' d/.bload/scan.configuration
    ! compgen -G 'd/.bload/*.part-*' || fail 'a temporary file is left'
}

test_tasks_of_other_scans_are_refused() {
    clips
    expect 3 bload scan -q --task 0/2 -o d v
    expect 2 bload scan -q --task 1/3 -o d v
    err_has 'd holds an unfinished dataset of another configuration: tasks is "2" there, not "3"'
    expect 2 bload scan -q --task 1/2 -o d v --stride 2
    err_has 'stride is "1" there, not "2"'
    cp v/b2.avi v/new.avi
    expect 2 bload scan -q --task 1/2 -o d v
    err_has 'inputs is "5 ('
    expect 2 bload scan --task 0/2 v
    err_has '--task needs -o DIR'
    expect 2 bload scan --task 0/2 -o e - --tokenizer bytes
    err_has 'standard input cannot be shared'
    expect 2 bload scan --task 2/2 -o e v
    [ ! -e e ] || fail 'a directory was made for nothing'
}

test_a_torn_part_is_made_anew() {
    clips
    expect 3 bload scan -q --task 0/2 -o d v
    cp d/.bload/scan-00000 good
    truncate -s -9 d/.bload/scan-00000
    expect 3 bload scan --task 0/2 -o d v
    err_has 'd/.bload/scan-00000 is damaged: it ends early'
    same good d/.bload/scan-00000
}

test_the_same_task_twice_at_once() {
    clips
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
    clips
    mkdir c
    mv v c/
    printf 'sources:\n  - v\noutput: set\nT: 50\njobs: 2\n' >c/set.yaml
    expect 3 bload scan --task 0/1 -c c/set.yaml
    [ -e c/set/.bload/scan-00000 ]
    expect 3 bload scan -q --task 0/1 -c c/set.yaml -o other
    same c/set/.bload/scan-00000 other/.bload/scan-00000
}
