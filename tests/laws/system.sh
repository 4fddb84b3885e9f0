# A failing system stops the run: status 1, a message, nothing half-written under a final name; and once it is mended, the
# same command goes on to the same bytes. (tests/fault/run fails the program's own calls one by one.)
# shellcheck shell=bash disable=SC2317,SC2164,SC2016,SC2086
source "$BLOAD_ROOT/tests/laws/lib.bash"

test_a_full_device() {
    clips
    expect 3 bload scan -q in -o table.tsv
    expect 3 pack d
    for command in 'scan in' 'scan in -o /dev/full' 'plan -T 50 table.tsv' 'plan -T 50 table.tsv -o /dev/full' \
        'plan -T 50 table.tsv -o plan.tsv --report /dev/full' 'compare -T 50 table.tsv' 'compare --json -T 50 table.tsv' 'info d' \
        'info --json d' 'pack in -T 50 --print-config' 'pack --help' '--help' '--version'; do
        status=0
        bload $command >/dev/full 2>"$ERR" || status=$?
        is "$command: 1" "$command: $status"
        err_has 'bload: '
        grep -q 'No space left\|cannot write standard output' "$ERR" || fail "$command: $(cat "$ERR")"
    done
    # Messages that nobody can be told change nothing else.
    status=0
    bload pack -q in -T 50 --size 64x48 --shard-size 1M -o other 2>/dev/full || status=$?
    is 3 $status
    identical d other
}

# Whoever starts it may have closed the standard streams: no file of ours takes their place.
test_closed_streams() {
    clips
    expect 3 pack d
    for closed in '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
        eval "pack other $closed" || is 3 $?
        identical d other
        rm -r other
    done
    (bload scan -q in >&-) 2>"$ERR" || is 1 $?
    err_has 'cannot write standard output: Bad file descriptor'
    (bload scan -q @- <&-) 2>"$ERR" || is 1 $?
    err_has 'cannot read standard input: Bad file descriptor'
}

test_a_disk_that_is_full() {
    clips
    expect 3 pack one
    expect 3 pack small --compress zstd
    # At one size after the other it runs out somewhere else.
    in_small_disk 64K '
        for size in 64K 128K 1M 1500K; do
            mount -o remount,size=$size disk
            expect 1 pack disk/d
            grep -q "No space left" "$ERR" || { cat "$ERR"; exit 1; }
            whole one disk/d
        done
        mount -o remount,size=20M disk
        expect 3 pack disk/d
        identical one disk/d
        rm -r disk/d
        for size in 64K 96K 128K 192K 256K; do
            mount -o remount,size=$size disk
            expect 1 pack disk/d --compress zstd
            grep -q "No space left" "$ERR" || { cat "$ERR"; exit 1; }
            whole small disk/d
        done
        mount -o remount,size=20M disk
        expect 3 pack disk/d --compress zstd
        identical small disk/d'
}

test_a_directory_that_cannot_be_written() {
    clips
    in_small_disk 20M '
        expect 3 pack disk/done
        mount -o remount,ro disk
        expect 1 pack disk/new :err "Read-only file system"
        expect 1 pack disk/new/below --parents :err "Read-only file system"
        expect 1 bload scan -q in -o disk/table.tsv
        expect 3 pack disk/done
        expect 0 bload verify disk/done'
}

test_an_input_that_vanishes_while_it_is_packed() {
    clips
    expect 3 pack one
    for jobs in 1 2; do
        disturbed_pack LAWS_DO='mv in/sub/b.mkv aside' LAWS_AFTER=.bload/sequences.tsv -- d -j $jobs 2>"$ERR" || is 1 $?
        err_has 'b.mkv: cannot be opened: No such file or directory'
        whole one d
        expect 1 pack d :err 'the inputs changed since the scan: in/sub/b.mkv is gone'
        mv aside in/sub/b.mkv
        expect 3 pack d -j $jobs
        identical one d
        rm -r d
    done
}

test_an_input_that_changes_while_it_is_packed() {
    clips
    expect 3 pack one
    cp in/sub/b.mkv aside
    disturbed_pack LAWS_DO='echo more >>in/sub/b.mkv' LAWS_AFTER=.bload/sequences.tsv -- d 2>"$ERR" || is 1 $?
    err_has 'b.mkv: changed since the scan'
    whole one d
    expect 1 pack d :err 'in/sub/b.mkv has a different size'
    cp aside in/sub/b.mkv
    cp aside in/sub/new.mkv
    expect 1 pack d :err 'in/sub/new.mkv is new'
    rm in/sub/new.mkv
    cp aside in/empty.mkv
    expect 1 pack d :err 'in/empty.mkv has a different size'
    : >in/empty.mkv
    expect 3 pack d
    identical one d
    # And a complete one is not called complete over other inputs.
    cp aside in/empty.mkv
    expect 2 pack d :err 'd holds a dataset of other inputs: in/empty.mkv has a different size'
}

# Each read of a file fails in turn: none is taken for the file's end, or for damage.
test_reads_that_fail() {
    clips
    rm in/sub/a.ts
    expect 3 pack one -j 1
    local file n from reads status tried=0
    for file in clip1.mp4 clip2.webm clip10.avi b.mkv; do
        disturbed_pack LAWS_PATH=/$file LAWS_COUNT="$PWD/count" -- counted -j 1 2>/dev/null || is 3 $?
        rm -r counted
        read -r _ _ reads <count
        [ "$reads" -ge 4 ] || fail "only $reads reads of $file"
        for n in $(seq "$reads"); do
            for from in 0 1; do
                status=0
                rm -rf d
                disturbed_pack LAWS_PATH=/$file LAWS_READ="$n" LAWS_FROM=$from -- d -j 2 2>"$ERR" || status=$?
                is "$file, read $n: 1" "$file, read $n: $status"
                err_has "$file" ': Input/output error'
                whole one d
                tried=$((tried + 1))
            done
        done
        # What the last failure left is gone on with.
        expect 3 pack d
        identical one d
    done
    [ $tried -ge 40 ] || fail "only $tried"
}

test_reads_that_fail_in_the_scan() {
    clips
    for file in sub/a.ts sub/b.mkv clip1.mp4 sub/deep/y.mkv; do
        disturbed LAWS_PATH=/$file LAWS_COUNT="$PWD/count" "$BLOAD" scan -q in/$file >whole.tsv
        read -r _ _ reads <count
        for n in $(seq "$reads"); do
            status=0
            disturbed LAWS_PATH=/$file LAWS_READ="$n" "$BLOAD" scan -q in/$file -o table.tsv 2>"$ERR" || status=$?
            is "$file, read $n: 1" "$file, read $n: $status"
            err_has "$file" ': Input/output error'
            [ ! -e table.tsv ] || fail 'a table'
        done
    done
}
