# A Slurm cluster of three nodes on this machine: sourced by the tests here, and by `cluster`, which runs a command in one.
#
# One munged, one slurmctld and three slurmd run in the foreground, as root, on the loopback interface alone; everything that they
# write lies under CLUSTER, a directory of their own. The nodes are one machine, so its file system is what a cluster shares. Nothing
# here needs systemd or control groups.
# shellcheck shell=bash

NODES=(node1 node2 node3)

# within SECONDS COMMAND...: asks until the command succeeds.
within() {
    local limit=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $limit ] || {
            echo "not in time: $*" >&2
            return 1
        }
        sleep 0.2
    done
}

taken() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# The first of four ports that nobody listens on: below those that the kernel gives to connections, and others for each process.
free_ports() {
    local first=$((10000 + $$ % 5000 * 4))
    while taken $first || taken $((first + 1)) || taken $((first + 2)) || taken $((first + 3)); do
        first=$((first + 4))
    done
    echo $first
}

# cred_expire is also what a requeued job waits before it starts again. Least loaded nodes come first, so that tasks are spread. Jobs
# in the partition "urgent" have those in the other one requeued.
cluster_configuration() {
    local port=$1 node
    cat <<CONFIGURATION
ClusterName=bload
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$CLUSTER/munge/socket,cred_expire=5
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation=$CLUSTER/controller
SlurmdSpoolDir=$CLUSTER/%n
SlurmctldPidFile=$CLUSTER/controller.pid
SlurmdPidFile=$CLUSTER/%n.pid
SlurmctldLogFile=$CLUSTER/controller.log
SlurmdLogFile=$CLUSTER/%n.log
MailProg=/bin/true
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
JobRequeue=1
SlurmdTimeout=10
KillWait=5
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
CONFIGURATION
    for node in "${NODES[@]}"; do
        echo "NodeName=$node NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((++port)) CPUs=2"
    done
    echo 'PartitionName=all Nodes=ALL Default=YES LLN=YES PriorityTier=1'
    echo 'PartitionName=urgent Nodes=ALL LLN=YES PriorityTier=2'
}

all_idle() {
    [ "$(sinfo -h -N -p all -t idle -o '%N' 2>/dev/null | wc -l)" = ${#NODES[@]} ]
}

# daemon FOLDER COMMAND...: runs it there, in CLUSTER, in the background.
daemon() {
    local folder=$CLUSTER/$1
    shift
    (cd "$folder" && exec "$@" 2>"$folder.err" >&2 </dev/null) &
    disown # bash would tell of its end
}

# Starts it, to end with this shell, and waits for its nodes. Slurm's commands find it by SLURM_CONF.
cluster_start() {
    local port node
    export CLUSTER SLURM_CONF
    CLUSTER=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/bload-slurm-XXXXXX")")
    trap cluster_end EXIT
    SLURM_CONF=$CLUSTER/slurm.conf
    chmod 755 "$CLUSTER" # munged wants others to reach its socket
    mkdir "$CLUSTER/munge" "$CLUSTER/controller" "${NODES[@]/#/$CLUSTER/}"
    (umask 077 && head -c 1024 /dev/urandom >"$CLUSTER/munge/key")
    PROCESSOR=$(processor)
    port=$(free_ports)
    cluster_configuration "$port" >"$SLURM_CONF"
    daemon munge munged --foreground --socket="$CLUSTER/munge/socket" --key-file="$CLUSTER/munge/key" \
        --pid-file="$CLUSTER/munge/pid" --log-file="$CLUSTER/munge/log" --seed-file="$CLUSTER/munge/seed" --num-threads=2
    within 20 test -S "$CLUSTER/munge/socket"
    daemon controller slurmctld -D
    for node in "${NODES[@]}"; do node_start "$node"; done
    within 60 all_idle
}

# One of the processors that this process may use.
processor() {
    python3 -c 'import os; processors = sorted(os.sched_getaffinity(0)); print(processors[os.getppid() % len(processors)])'
}

# All nodes of a cluster share a processor: on a machine of many, too, what tasks do takes long enough to be disturbed.
node_start() {
    daemon "$1" taskset -c "$PROCESSOR" slurmd -D -N "$1"
}

# processes [NODE]: those of Slurm itself, by where they were started (what their environment was they write over), then those of jobs, by
# their environment. One program looks at all: tasks go on meanwhile.
processes() {
    python3 - "${CLUSTER:?}/${1-}" "SLURM_CONF=$SLURM_CONF" "SLURMD_NODENAME=${1-}" <<'END'
import os, sys
place, cluster, node = sys.argv[1:]
daemons, tasks = [], []
for process in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{process}/environ", errors="replace") as file:
            environment = file.read().split("\0")
        if os.readlink(f"/proc/{process}/cwd").startswith(place):
            daemons.append(process)
        elif cluster in environment and any(word.startswith(node) for word in environment):
            tasks.append(process)
    except OSError:
        pass
print(*daemons, *tasks)
END
}

# killed [NODE]: true when there are none; otherwise kills them, Slurm first, so that it cannot tell the controller of the tasks' end.
killed() {
    local found
    found=$(processes "$@") || return 1
    [ -n "$found" ] || return 0
    # shellcheck disable=SC2086 # one word each
    kill -9 $found 2>/dev/null
    return 1
}

# node_kill NODE: as when its power fails: the daemon, and all that runs on it.
node_kill() {
    within 20 killed "$1"
}

# Ends everything that the cluster started, and removes its directory; after a failure it says what controller and jobs said.
cluster_end() {
    local status=$?
    if [ $status != 0 ]; then
        squeue 2>&1 || true
        tail -n 30 "$CLUSTER/controller.log" || true
        find . -path '*/logs/*.log' -exec tail -n 5 {} + || true
    fi
    within 20 killed
    rm -rf "$CLUSTER"
    return $status
}
