# What the other tests build on: that the cluster does what clusters do.
# shellcheck shell=bash disable=SC2317,SC2016
source "$BLOAD_ROOT/tests/slurm/cluster.bash"
cluster_start

test_array_on_every_node() {
    sbatch -Q --array=0-2 --wait -o '%a' --wrap 'echo $SLURMD_NODENAME; sleep 2'
    sort 0 1 2 >nodes
    printf '%s\n' "${NODES[@]}" | diff - nodes
}

# Every port that was given to it, and no other interface.
test_loopback_alone() {
    local port
    sed -n 's/.*Port=\([0-9]*\).*/\1/p' "$SLURM_CONF" | sort >ports
    awk '$4 == "0A" { print $2 }' /proc/net/tcp >listening
    while read -r port; do
        port=$(printf %04X "$port")
        is "0100007F:$port" "$(grep ":$port$" listening)"
        ! grep -qi " [0-9A-F]*:$port 0*:0000 0A" /proc/net/tcp6 || fail "port $port listens on IPv6"
    done <ports
    is 4 "$(wc -l <ports)"
}

test_requeue() {
    sbatch -Q --requeue -o out --open-mode=append --wrap 'echo "run ${SLURM_RESTART_COUNT-0}"; [ "${SLURM_RESTART_COUNT-0}" = 1 ] || sleep 100'
    within 20 grep -q 'run 0' out
    scontrol requeue "$(squeue -h -o %A)"
    within 60 grep -q 'run 1' out
}

# What a job with another's higher priority pushes away runs again afterwards.
test_preemption() {
    sbatch -Q --requeue --exclusive -N3 -o out --open-mode=append \
        --wrap 'trap "echo told; exit 1" TERM; echo "run ${SLURM_RESTART_COUNT-0}"; [ "${SLURM_RESTART_COUNT-0}" = 1 ] || { sleep 100 & wait; }'
    within 20 grep -q 'run 0' out
    sbatch -Q -p urgent --wait -o urgent --wrap 'echo went first'
    within 60 grep -q 'run 1' out
    is 'went first' "$(cat urgent)"
    grep -q told out
}

test_lost_node() {
    local node
    sbatch -Q --requeue -o out --open-mode=append --wrap 'echo "$SLURMD_NODENAME"; [ "${SLURM_RESTART_COUNT-0}" = 1 ] || sleep 100'
    within 20 test -s out
    node=$(cat out)
    node_kill "$node"
    is '' "$(processes "$node")"
    within 120 eval '[ "$(wc -l <out)" = 2 ]'
    ! tail -n 1 out | grep -qx "$node" || fail "$node ran a job after its end"
    node_start "$node"
    within 60 all_idle
    sbatch -Q --wait -w "$node" -o out --wrap 'echo back'
    is back "$(cat out)"
}
