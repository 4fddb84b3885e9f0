# A signal ends every command within a second, wherever it is, by that signal; then the same command goes on.
# shellcheck shell=bash disable=SC2317,SC2164,SC2016
source "$BLOAD_ROOT/tests/laws/lib.bash"

# ended SIGNAL MOMENT COMMAND...: on a machine that is busy with other things, one of three attempts has to be in time.
ended() {
    local answer
    for _ in 1 2 3; do
        answer=$(python3 "$BLOAD_ROOT/tests/laws/signals.py" "$@" 2>"$ERR") || fail "$answer$(cat "$ERR")"
        [ "$answer" != 'in time' ] || return 0
    done
    fail "$answer"
}

slow_pack=(env LD_PRELOAD="$LIBRARY" LAWS_PATH=/in/ "$BLOAD" pack in -T 50 --size 64x48 --shard-size 1M -o d)

test_in_the_scan() {
    clips
    for signal in INT TERM HUP USR1; do
        for jobs in 1 2; do
            LAWS_SLOW=100 ended $signal 0.5 "${slow_pack[@]}" -j $jobs
            err_has 'bload: pack: interrupted' 'run the same command to resume'
            whole /nowhere d
            no_leftover d
        done
    done
    expect 3 pack one
    expect 3 pack d
    identical one d
}

test_while_packing() {
    clips
    failing_clip
    expect 3 pack one
    expect 3 pack small --compress zstd
    for signal in INT TERM; do
        # The reads of the scan are over; those of the packing take their time.
        rm -rf d
        LAWS_SLOW=60 ended $signal d/.bload/sequences.tsv "${slow_pack[@]}" -j 1
        err_has 'bload: pack: interrupted'
        whole one d
        no_leftover d
        rm -rf d
        LAWS_SLOW=60 ended $signal d/.bload/sequences.tsv "${slow_pack[@]}" -j 2 --compress zstd
        whole small d
        no_leftover d
    done
    expect 3 pack d --compress zstd
    identical small d
}

# A worker that hears nothing: a file server that does not answer, a large frame that is being compressed.
test_while_something_cannot_be_interrupted() {
    clips
    expect 3 pack one
    LAWS_SLOW=5000 ended TERM 0.5 "${slow_pack[@]}" -j 2
    err_has 'bload: ended by a signal'
    expect 3 pack d
    identical one d
    ended INT 1 "$BLOAD" pack -q in -T 150 --size 640x480 --compress zstd:22 -j 2 -o large
    whole /nowhere large
}

test_waiting_for_input_or_for_a_reader() {
    ended INT 0.3 "$BLOAD" pack @- -T 50 -o d
    ended TERM 0.3 "$BLOAD" scan @-
    ended INT 0.3 "$BLOAD" plan -T 50 -
    # Nobody empties the pipe that is standard output.
    seq -f %.0f.mp4 20000 >many
    ended INT 1 "$BLOAD" scan -q @many
    err_has 'bload: ended by a signal'
}

test_twice_is_at_once() {
    clips
    cat >twice.py <<'END'
import signal, subprocess, sys, time
process = subprocess.Popen(sys.argv[1:])
time.sleep(0.5)
process.send_signal(signal.SIGTERM)
time.sleep(0.1)
began = time.monotonic()
process.send_signal(signal.SIGTERM)
process.wait(10)
print(process.returncode, time.monotonic() - began < 0.3)
END
    is '-15 True' "$(LAWS_SLOW=5000 python3 twice.py "${slow_pack[@]}" -j 2 2>"$ERR")"
}

test_verify() {
    clips
    expect 3 pack d
    for jobs in 1 2; do
        LAWS_SLOW=500 ended TERM 0.3 env LD_PRELOAD="$LIBRARY" LAWS_PATH=/shard- "$BLOAD" verify d -j $jobs
        err_has 'bload: verify: interrupted'
    done
    LAWS_SLOW=5000 ended INT 0.3 env LD_PRELOAD="$LIBRARY" LAWS_PATH=/shard- "$BLOAD" verify d -j 2
}

test_scan_leaves_no_file() {
    clips
    LAWS_SLOW=100 ended INT 0.5 env LD_PRELOAD="$LIBRARY" LAWS_PATH=/in/ "$BLOAD" scan in -o table.tsv
    err_has 'bload: scan: interrupted'
    [ -z "$(find . -name 'table.tsv*')" ] || fail "left over: $(find . -name 'table.tsv*')"
}

# What a batch system sends in time before it kills.
test_a_warning_is_enough() {
    clips
    expect 3 pack one
    LAWS_SLOW=60 ended USR1 d/.bload/sequences.tsv "${slow_pack[@]}" -j 2
    err_has 'bload: pack: interrupted'
    whole one d
    no_leftover d
    LAWS_SLOW=5000 ended USR1 0.3 env LD_PRELOAD="$LIBRARY" LAWS_PATH=/shard- "$BLOAD" verify one -j 2
    expect 3 pack d
    identical one d
}

# nohup, and a shell's background jobs, have them ignored: then they are.
test_ignored_signals_stay_ignored() {
    clips
    cat >ignored.py <<'END'
import signal, subprocess, sys, time
process = subprocess.Popen(sys.argv[1:], preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
time.sleep(0.3)
process.send_signal(signal.SIGHUP)
print(process.wait(60))
END
    is 3 "$(LAWS_SLOW=20 python3 ignored.py "${slow_pack[@]}" 2>"$ERR")"
    expect 3 pack one
    identical one d
}
