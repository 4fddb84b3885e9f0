# One dataset by processes that launchers start: a shell loop, xargs, mpirun. Other launchers: tests/readers/test_clusters.py, tests/slurm.
# shellcheck shell=bash disable=SC2317

# v: seven clips, one of which is none; alone: the dataset that one process makes of them, in seven shards.
alone() {
    mkdir v
    local i
    for i in 0 1 2 3 4 5 6; do cp "$(fixture h264-30.mp4)" "v/$i.mp4"; done
    given v/7.mp4 'no video\n' expect 3 bload pack -q v "${options[@]}" -o alone
    is 7 "$(find alone/shards -type f | wc -l)"
}

options=(-T 30 --size 16x16 --shard-size 1)

# finished DIR: it is finished, and the same as alone.
finished() {
    expect 3 bload finish -q "$1" :verified
    diff -r alone "$1"
}

test_a_shell_loop() {
    alone
    for i in 0 1 2; do
        "$BLOAD" pack -q v "${options[@]}" -o loop --task $i/3 2>$i.txt &
        pids[i]=$!
    done
    for i in 0 1 2; do
        status=0
        wait "${pids[i]}" || status=$?
        [ $status = 0 ] || [ $status = 3 ] || fail "task $i: status $status: $(cat $i.txt)"
    done
    finished loop
}

# More tasks than shards, more at once than processors, in no order, some of them twice at the same time.
test_any_number_in_any_order() {
    alone
    for i in 8 3 0 3 7 1 4 4 6 2 5 0; do echo $i; done |
        xargs -P 6 -I{} sh -c '"$0" pack -q v -T 30 --size 16x16 --shard-size 1 -j 1 -o many --task {}/9 2>&1 || [ $? = 3 ]' "$BLOAD" >log ||
        fail "$(cat log)"
    finished many
}

mpi() {
    command -v mpirun >/dev/null || skip 'no mpirun'
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe "$@"
}

test_mpirun() {
    alone
    mpi -n 3 sh -c '"$0" "$@" 2>"$OMPI_COMM_WORLD_RANK.txt" || [ $? = 3 ]' "$BLOAD" pack v "${options[@]}" -o ranks --task auto >log 2>&1 ||
        fail "$(cat log ./*.txt)"
    for i in 0 1 2; do grep -q "task $i/3" $i.txt || fail "rank $i: $(cat $i.txt)"; done
    finished ranks
    expect 0 mpi -n 2 "$BLOAD" verify --task auto/2 ranks :err 'ranks, task 0 of 2: verified, no errors: 3 of 7 shards'
    err_has 'ranks, task 1 of 2: verified, no errors: 4 of 7 shards'
    mpi -n 2 "$BLOAD" verify --task auto/3 ranks >log 2>&1 && fail 'two ranks are taken for three'
    grep -q 'the environment has 2 tasks (OMPI_COMM_WORLD_SIZE)' log || fail "$(cat log)"
}
