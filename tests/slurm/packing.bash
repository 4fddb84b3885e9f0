# What the tests of packing have in common: a dataset of many shards, and how far its tasks are.
# shellcheck shell=bash disable=SC2034
source "$BLOAD_ROOT/tests/slurm/cluster.bash"

TASKS=6
PER_TASK=4 # shards
DATASET=d

# Videos whose blocks, each of one video, fill a shard each, and take a task some seconds; and one that is of no use.
videos() {
    local frames copy
    mkdir videos
    for frames in 400 500 600; do
        for copy in $(seq $((TASKS * PER_TASK / 3))); do
            ln -s "$(fixture h264-hd-$frames.mp4)" "videos/$copy-$frames.mp4"
        done
    done
    echo 'no video at all' >videos/broken.mp4
    printf '%s\n' 'sources: [videos/]' 'size: 32x24' 'T: longest' 'shard-size: 1M' >dataset.yaml
}

# submit [OPTION...]: what is missing of the dataset.
submit() {
    expect 0 bload slurm -c dataset.yaml -o $DATASET --tasks $TASKS --submit "$@"
    cat "$ERR"
}

# packed TASK: how many of its shards there are.
packed() {
    local shard count=0
    for ((shard = $1 * PER_TASK; shard < ($1 + 1) * PER_TASK; shard++)); do
        [ ! -e "$(printf "$DATASET/shards/00000/shard-%08d.safetensors" $shard)" ] || count=$((count + 1))
    done
    echo $count
}

# begun TASK: some of its shards are there; in_the_middle TASK: and others are not.
begun() {
    [ "$(packed "$1")" -gt 0 ]
}

in_the_middle() {
    begun "$1" && [ "$(packed "$1")" -lt $PER_TASK ] || fail "task $1 has packed $(packed "$1") of $PER_TASK shards"
}

# place TASK: the job and the node of a pack task that runs.
place() {
    squeue -h -r -t R -o '%j %K %i %N' | awk -v task="$1" '$1 == "bload-pack" && $2 == task { print $3, $4 }'
}

runs() {
    [ -n "$(place "$1")" ]
}

# No job is there, or only such as can never run.
quiet() {
    ! squeue -h -r -o '%r' | grep -qv DependencyNeverSatisfied
}

# Shards with inode and time: one that is packed again has others.
stamps() {
    (cd $DATASET && find shards -name '*.safetensors' -printf '%p %i %T@\n' | sort)
}

# kept STAMPS: the shards of that list are still there, as they were.
kept() {
    [ -s "$1" ]
    stamps | comm -13 - "$1" | diff - /dev/null
}

# The dataset as one machine packs it.
alone() {
    [ -e alone ] || expect 3 bload pack -q -c dataset.yaml -o alone
    is $((TASKS * PER_TASK)) "$(find alone/shards -type f | wc -l)"
}

# Once every job has ended, and every task of the verification has left its mark, the dataset is that of one machine.
complete() {
    alone
    within 300 quiet
    is $TASKS "$(find $DATASET.slurm -name 'verified-*' | wc -l)"
    diff -r alone $DATASET
}
