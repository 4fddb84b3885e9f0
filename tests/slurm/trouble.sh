# Packing over three nodes with all that a cluster does to jobs: what comes out is what one machine makes, byte by byte.
# shellcheck shell=bash disable=SC2317
source "$BLOAD_ROOT/tests/slurm/packing.bash"
cluster_start

# What Slurm and its users do to task $1, which is job $2: the warning is that of the time limit.
requeue() {
    scontrol requeue "$2"
}

cancel() {
    scancel "$2"
    cancelled=$1
}

warn() {
    scancel --batch --signal=USR1 "$2"
    warned=$1
}

# A node is lost with its tasks, which go on elsewhere; of the others one is sent back to the queue, one is cancelled, one runs out of
# time.
test_lost_requeued_cancelled_warned() {
    local lost job node task cancelled warned disturbances=(requeue cancel warn)
    videos
    submit
    within 120 begun 0
    read -r _ lost < <(place 0)
    node_kill "$lost"
    in_the_middle 0
    for task in 1 2 3 4 5; do
        read -r job node < <(place $task)
        [ "$node" != "$lost" ] && [ ${#disturbances[@]} -gt 0 ] || continue
        within 60 begun $task
        "${disturbances[0]}" $task "$job"
        disturbances=("${disturbances[@]:1}")
        in_the_middle $task
    done
    is 0 ${#disturbances[@]}
    stamps >before
    alone
    within 300 quiet
    [ ! -e d/manifest.json ] || fail "complete without task $cancelled"
    kept before
    for task in $(seq 0 $((TASKS - 1))); do
        [ "$task" = "$cancelled" ] || is $PER_TASK "$(packed $task)"
    done
    grep -q 'ended by USR1; goes back to the queue' d.slurm/logs/pack-*_"$warned".log
    stamps >before
    submit
    err_has 'bload: pack        6 tasks: 5 done, 1 to submit'
    complete
    kept before
    submit
    err_has 'd is complete and verified: nothing to submit'
}

# All tasks make room for a job of more weight. Later a node falls over, and is back before anybody has missed it.
test_preempted_restarted() {
    local node
    videos
    submit
    within 120 begun 0
    sbatch -Q -p urgent --exclusive -N3 --wait -o urgent --wrap 'echo went first'
    in_the_middle 0
    stamps >before
    within 60 runs 0
    read -r _ node < <(place 0)
    node_kill "$node"
    node_start "$node"
    in_the_middle 0
    complete
    kept before
}
