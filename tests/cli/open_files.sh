# File systems that keep files which are removed while they are open (bindfs stands for them), and those without locks.
# shellcheck shell=bash disable=SC2317,SC2164

# kept COMMAND...: runs it where ./kept is such a file system.
kept() {
    command -v bindfs >/dev/null || skip 'no bindfs here (Debian: bindfs)'
    mkdir -p store kept
    bindfs store kept 2>/dev/null || skip 'FUSE is not to be had here'
    trap 'umount kept 2>/dev/null || fusermount -u kept 2>/dev/null || fusermount3 -u kept' EXIT
}

texts() {
    local i
    for i in 0 1 2 3 4 5 6 7 8; do printf 'text %d' $i >$i.txt; done
}

test_runs_end_though_open_files_are_kept() {
    texts
    kept
    for _ in 1 2 3; do expect 0 bload pack -q ./*.txt --tokenizer bytes -T 64 -o kept/d; done
    [ ! -e store/d/.bload ] || fail "$(ls -lA store/d/.bload)"
    expect 0 bload verify -q kept/d
    expect 0 bload export -q --to mds kept/d -o kept/x
    [ -z "$(find store -name '.fuse_hidden*' -o -name .bload)" ] || fail "$(find store)"
    # Tasks, and what they share.
    expect 0 bload scan -q ./*.txt --tokenizer bytes -o kept/t --task 0/1
    expect 0 bload plan -q -T 64 kept/t
    expect 0 bload pack -q ./*.txt --tokenizer bytes -T 64 -o kept/t --task 0/1
    expect 0 bload finish -q kept/t :none store/t/.bload
    expect 0 bload doctor kept :out 'open files' 'are kept when they are removed'
}

test_racing_tasks_share_a_spool_that_keeps_files() {
    python3 -c "
import json
for i in range(2000):
    print(json.dumps({'text': 'alpha beta gamma %d ' % i * 8}))" >d.jsonl
    kept
    bload pack -q d.jsonl --tokenizer bytes -T 512 --shard-size 20K -o reference
    for _ in 1 2 3; do
        rm -rf kept/d
        local pids=()
        for i in 0 1 2 3; do
            bload pack -q d.jsonl --tokenizer bytes -T 512 --shard-size 20K -o kept/d --task $i/4 2>error.$i &
            pids+=($!)
        done
        for i in 0 1 2 3; do wait "${pids[$i]}" || fail "task $i: $(cat error.$i)"; done
        expect 0 bload finish -q kept/d
        diff -r reference store/d
    done
}

# What a system left there, of a process that still has it open, does not fail a run that is done.
test_what_the_file_system_keeps_is_left() {
    texts
    expect 0 bload pack -q ./*.txt --tokenizer bytes -T 64 -o d
    cp -r d reference
    put d/.bload/.nfs000000000001 '' d/.bload/spool/.fuse_hidden0000000100000001 ''
    expect 0 bload pack -q ./*.txt --tokenizer bytes -T 64 -o d :verified
    rm -r d/.bload
    diff -r reference d
    given d/.bload/mine '' expect 1 bload pack -q ./*.txt --tokenizer bytes -T 64 -o d :err 'd/.bload/mine is not a file of bload'
}

poor() {
    "${CC:-cc}" -D_GNU_SOURCE -O1 -shared -fPIC -o poor.so "$BLOAD_ROOT/tests/cli/poor_machine.c" -ldl
    sanitizer_skip 'nothing can be preloaded'
}

# Without flock a file keeps others away.
test_two_runs_without_locks() {
    poor
    texts
    mkfifo gate
    env LD_PRELOAD="$PWD/poor.so" POOR=locks "$BLOAD" pack -q --format plain - --tokenizer bytes -T 64 -o d <gate 2>first &
    local pid=$! i
    exec 7>gate
    for ((i = 0; i < 100; i++)); do [ ! -s d/.bload/lock-alone ] || break; sleep 0.1; done
    POOR=locks LD_PRELOAD=$PWD/poor.so expect 1 bload pack -q ./*.txt --tokenizer bytes -T 64 -o d
    err_has 'another bload is running in d, on ' 'remove d/.bload/lock-alone'
    [ -s d/.bload/lock-alone ] || fail 'the file of the run that goes on is gone'
    POOR=locks LD_PRELOAD=$PWD/poor.so expect 1 bload finish -q d
    echo some text >&7
    exec 7>&-
    wait $pid || fail "$(cat first)"
    [ ! -e d/.bload ] || fail "$(ls -A d/.bload)"
    # A run that was killed leaves its file, which is taken over.
    rm -rf d
    env LD_PRELOAD="$PWD/poor.so" POOR=locks "$BLOAD" pack -q --format plain - --tokenizer bytes -T 64 -o d <gate 2>/dev/null &
    pid=$!
    exec 7>gate
    for ((i = 0; i < 100; i++)); do [ ! -s d/.bload/lock-alone ] || break; sleep 0.1; done
    kill -9 $pid
    wait $pid 2>/dev/null || true
    exec 7>&-
    [ -s d/.bload/lock-alone ] || fail 'the killed run left no file'
    POOR=locks LD_PRELOAD=$PWD/poor.so expect 0 bload pack -q ./*.txt --tokenizer bytes -T 64 -o d :none d/.bload
    # That of another machine is not.
    put other/.bload/lock-alone 'host far\nplace x y\nprocess 1 1\n'
    POOR=locks LD_PRELOAD=$PWD/poor.so expect 1 bload pack -q ./*.txt --tokenizer bytes -T 64 -o other :err 'another bload is running in other, on far'
}
