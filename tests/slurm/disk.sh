# A file system that gets full under a task.
# shellcheck shell=bash disable=SC2317,SC2034
source "$BLOAD_ROOT/tests/slurm/packing.bash"

half_packed() {
    [ "$(packed 2)" = $PER_TASK ]
}

# Twelve shards of 2.75 MiB for six tasks, one after the other. There is room for all, until something else takes it.
full_disk() {
    local copy task
    PER_TASK=2
    DATASET=disk/d
    mount -t tmpfs -o size=40M tmpfs disk
    cluster_start
    mkdir videos
    for copy in $(seq $((TASKS * PER_TASK))); do ln -s "$(fixture h264-50.mkv)" videos/$copy.mkv; done
    echo 'no video at all' >videos/broken.mp4
    printf '%s\n' 'sources: [videos/]' 'size: 160x120' 'T: longest' 'shard-size: 1M' >dataset.yaml
    submit --at-once 1 -- --cpus-per-task=2
    within 300 half_packed
    head -c 20M /dev/zero >disk/another
    within 300 quiet
    [ "$(packed 5)" -lt $PER_TASK ] || fail 'there was room for all'
    grep -q 'No space left on device' disk/d.slurm/logs/pack-*_5.log
    [ ! -e disk/d/manifest.json ] || fail 'complete on a full disk'
    for task in 0 1 2; do is $PER_TASK "$(packed $task)"; done
    stamps >before
    mount -o remount,size=100M disk
    submit
    grep -Eq 'bload: pack        6 tasks: [34] done, [23] to submit' "$ERR"
    complete
    kept before
}

test_full_disk() {
    mkdir disk
    own_mounts mount -t tmpfs -o size=1M tmpfs disk 2>/dev/null || skip 'no file system of its own here'
    own_mounts bash -c 'set -e -u -o pipefail; source "$0/tests/cli/lib.bash"; source "$0/tests/slurm/disk.sh"; full_disk' "$BLOAD_ROOT"
}
