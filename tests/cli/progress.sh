# Progress: its forms, what a terminal shows, and the signals.
# shellcheck shell=bash disable=SC2317,SC2154,SC2086

# slow SECONDS: a list of documents as JSON lines, the first half at once, the other after so many seconds.
slow() {
    local i
    for i in $(seq 40); do printf '{"text": "the document number %s is here"}\n' "$i"; done
    sleep "$1"
    for i in $(seq 40); do printf '{"text": "and the document number %s, too"}\n' "$i"; done
}

# scan_slowly SECONDS OPTION...: scans it.
scan_slowly() { slow "$1" | bload scan - --kind text --tokenizer bytes -j 2 -o t.tsv "${@:2}"; }

# A script of a job in the background, whose signals are not ignored; sets pid. Its stderr comes to the file said.
start() {
    set -m
    "$@" 2>said >/dev/null &
    pid=$!
    set +m
}

# The lines of JSON of the file are strict, of these stages in this order, with all keys; nothing falls within a stage.
check_json() {
    python3 - "$@" <<'END'
import json, sys
def refuse(word):
    raise ValueError(word)
keys = "stage done total unit bytes seconds seconds_left rate rate_of file".split()
stages, last = [], {}
lines = [json.loads(line, parse_constant=refuse) for line in open(sys.argv[1], encoding="utf-8") if line[0] == "{"]
for line in lines:
    assert list(line) == keys, line
    if not last or last["stage"] != line["stage"]:
        stages.append(line["stage"])
        last = {}
    for key in "done", "bytes", "seconds":
        assert line[key] >= last.get(key, 0), (last, line)
    assert line["total"] is None or line["total"] == last.get("total", line["total"]) >= line["done"], (last, line)
    assert line["seconds_left"] is None or line["seconds_left"] >= 0, line
    last = line
assert stages == sys.argv[2:], stages
END
}

test_json_lines_are_strict_and_grow() {
    scan_slowly 3 --progress json 2>said
    check_json said scan
    [ "$(grep -c '^{' said)" -ge 3 ] || fail "$(cat said)"
    is '"total": 1' "$(grep '^{' said | tail -n 1 | grep -o '"total": 1')"
    grep -q '^{.*"done": 1, .*"seconds_left": 0.0, .*"rate_of": "tokens"' said || fail "$(cat said)"
    # Faults and the summary stand on lines of their own; with -q there is only JSON.
    ! grep -v -e '^{' -e '^bload: ' said || fail "$(cat said)"
    for i in $(seq 40); do echo "a document, $i"; done >c.txt
    bload pack -q --progress json --documents line c.txt --tokenizer bytes -T 64 -o d 2>said
    check_json said scan pack
    ! grep -v '^{' said || fail "$(cat said)"
    grep -q '"stage": "pack", "done": \([0-9]*\), "total": \1, .*"rate_of": "tokens"' said || fail "$(cat said)"
    bload verify --progress json d 2>said
    check_json said verify
    grep -q '"unit": "shards", "bytes": [1-9]' said || fail "$(cat said)"
    bload export --progress json d --to webdataset -o e 2>said
    check_json said export
    bload view --progress json d -T 32 --oversize split --epochs 3 -o w 2>said
    check_json said plan
    grep -q '^{"stage": "plan", "done": 3, "total": 3, "unit": "plans", .*"seconds_left": 0.0' said || fail "$(cat said)"
}

# A plan that takes some seconds shows that it goes on; one that is made at once has no progress.
test_a_long_plan_shows_how_long_it_takes() {
    sanitizer_skip 'a matter of size'
    python3 -c '
import random
random.seed(1)
for i in range(300000): print(random.randint(1000, 60000))' >lengths
    bload plan -q -T 100000 --lengths lengths -o plan.tsv --progress json 2>said
    check_json said plan
    [ "$(grep -c '"done": 0, "total": null, "unit": "plans"' said)" -ge 1 ] || fail "$(cat said)"
    bload plan -q -T 100000 --lengths lengths -o plan.tsv --progress bar 2>said
    grep -q $'\r\e\\[Kplan for [0-9]* s' said || fail "$(cat -v said)"
    bload plan -q -T 100000 --lengths lengths -o p.tsv --epochs 3 --progress json 2>said
    check_json said plan
    grep -q '"done": 3, "total": 3, "unit": "plans".*"seconds_left": 0.0' said || fail "$(cat said)"
    head -n 9 lengths >few
    expect 0 bload plan -q -T 100000 --lengths few -o plan.tsv --progress json :err-is ''
}

test_forms_are_named() {
    expect 2 bload scan --progress xml . :err 'auto'
    given c.txt 'hello\n' expect 0 bload scan --progress off --kind text --tokenizer bytes c.txt :err-lacks '%'
    # Of the forms, the bar can be had in a file, too.
    expect 0 scan_slowly 0.5 --progress bar
    grep -q $'\r\e\\[Kscan ' "$ERR" || fail "$(cat -v "$ERR")"
}

# The first plain line comes after ten seconds; TERM=dumb has plain lines on a terminal, too.
test_plain_lines_for_logs() {
    scan_slowly 11 2>said &
    local logged=$!
    export -f slow
    # shellcheck disable=SC2016 # of the other shell
    TERMINAL=dumb on_terminal 40 bash -c 'slow 11 | "$BLOAD" scan - --kind text --tokenizer bytes -j 2'
    wait "$logged"
    is 1 "$(grep -c '^bload: scan: 0 %, 0 of 1 files$' said)"
    grep -q '^bload: scan: ' screen || fail "$(cat -v screen)"
    ! grep -q $'\e' screen || fail "$(cat -v screen)"
}

# v: videos that take some seconds with one thread.
videos() {
    sanitizer_skip 'minutes with a sanitizer'
    mkdir v
    for i in 1 2 3; do cp "$(fixture h264-hd-400.mp4)" v/$i.mp4; done
}

# widest SCREEN: columns of the widest drawing of the bar.
widest() { sed -n 's/^\x1b\[K//p' "$1" | wc -L; }

test_the_width_is_followed() {
    local pack=("$BLOAD" pack -q --progress bar v --size 640x360 -T longest -j 1)
    videos
    on_terminal 20 "${pack[@]}" -o d1
    grep -q $'^\e\\[Kpack [0-9]* s left' screen || fail "$(cat -v screen)"
    [ "$(widest screen)" -le 19 ] || fail "$(cat -v screen)"
    RESIZE_AFTER=' left,' on_terminal 200,20 "${pack[@]}" -o d2
    grep -q 'pack \[[#.]*\] .* left, [0-9]* %, 0 of 3 blocks, .* frames/s' screen || fail "$(cat -v screen)"
    [ "$(widest screen)" -gt 60 ] || fail "$(cat -v screen)"
    tail -n 4 screen | head -n 3 >last
    [ "$(widest last)" -le 19 ] || fail "$(cat -v screen)"
}

# ask COUNT: sends SIGUSR2 and waits until said has so many lines of progress.
ask() {
    local i
    kill -USR2 "$pid"
    for ((i = 0; i < 50; i++)); do [ "$(grep -c '%' said)" -lt "$1" ] || return 0; sleep 0.1; done
    fail "no answer: $(cat said)"
}

# at_work PATTERN: waits until a file of that pattern shows that the job is at work.
at_work() {
    local i
    for ((i = 0; i < 100; i++)); do ! compgen -G "$1" >/dev/null || break; sleep 0.1; done
    sleep 0.3
}

test_sigusr2_shows_the_progress() {
    for options in '' -q '--progress plain'; do
        rm -f t.tsv
        start "$BLOAD" scan - --kind text --tokenizer bytes -j 2 -o t.tsv $options < <(slow 1.5)
        at_work 't.tsv.*'
        ask 1
        ask 2
        wait "$pid" || fail "status $?: $(cat said)"
        is 2 "$(grep -c '^bload: scan: 0 %, 0 of 1 files' said)"
        is 81 "$(wc -l <t.tsv)"
    done
}

test_sigusr2_while_packing() {
    videos
    start "$BLOAD" pack -q v --size 640x360 -T longest -j 2 -o d
    at_work 'd/.bload/*.part*'
    for ((i = 0; i < 100; i++)); do # a rate is known when some frames are there
        kill -USR2 "$pid" 2>/dev/null || break
        ! grep -q 'frames/s' said || break
        sleep 0.1
    done
    wait "$pid" || fail "status $?: $(cat said)"
    grep -q '^bload: pack: .*frames/s' said || fail "$(cat said)"
    bload verify -q d
    # As JSON where that was asked for.
    start "$BLOAD" pack -q --progress json v --size 640x360 -T longest -j 1 -o e
    at_work 'e/.bload/*.part*'
    kill -USR2 "$pid"
    wait "$pid" || fail "status $?: $(cat said)"
    check_json said scan pack
    cmp d/index.safetensors e/index.safetensors
}

test_sigusr1_ends_a_run_as_before() {
    videos
    # On a busy machine one piece of work may take longer than what a signal waits.
    for i in 1 2 3; do
        rm -rf d
        ended_by USR1 'd/.bload/*.part*' bload pack -q v --size 640x360 -T longest -j 2 -o d
        is $((128 + $(kill -l USR1))) "$status"
        grep -q 'work that cannot be interrupted' "$ERR" || break
    done
    err_has 'interrupted by User defined signal 1; run the same command to resume'
}

test_messages_stand_beside_the_bar() {
    fixtures v h264-hd-400.mp4=b.mp4
    for i in 1 2 3; do echo no >"v/c$i.mp4"; done
    expect 3 on_terminal 100 "$BLOAD" pack v --count decode --size 64x36 -T longest -o d -j 1
    grep -q 'scan \[.* [0-9]* %, 0 of 4 files' screen || fail "$(cat -v screen)"
    ! sed 's/^\x1b\[K//' screen | grep 'bload: ' | grep -v '^bload: ' || fail "$(cat -v screen)"
}

# As soon as the program is at work: here at its first system call.
test_a_question_at_the_very_beginning() {
    sanitizer_skip 'nothing can be preloaded'
    cat >early.c <<'END'
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
int fcntl64(int fd, int command, ...) {
    static int asked;
    if (!asked++)
        raise(SIGUSR2);
    return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl64"))(fd, command, 0);
}
int fcntl(int fd, int command, ...) { return fcntl64(fd, command); }
END
    "${CC:-cc}" -D_GNU_SOURCE -O1 -shared -fPIC -o early.so early.c -ldl
    LD_PRELOAD=$PWD/early.so expect 0 "$BLOAD" --version
}
