# bload doctor on this machine, and on poor ones.
# shellcheck shell=bash disable=SC2016,SC2030,SC2031,SC2317

# verdict VERDICT NAME TEXT: the line of a point, as people see it, has the text.
verdict() { grep -E "^  $1 +$2  +" "$OUT" | grep -qF -e "$3" || fail "no '$1 $2 $3' in: $(cat "$OUT" "$ERR")"; }

# poor WHAT STATUS: the doctor on a machine that lacks that; see poor_machine.c.
poor() {
    sanitizer_skip 'a sanitizer is to be the first library'
    mkdir -p dir
    [ -e poor.so ] || "${CC:-cc}" -D_GNU_SOURCE -O1 -shared -fPIC -o poor.so "$BLOAD_ROOT/tests/cli/poor_machine.c" -ldl
    expect "$2" env LD_PRELOAD="$PWD/poor.so" POOR="$1" "$BLOAD" doctor dir
    is '' "$(files dir)"
}

# no_slurm STATUS: the doctor without the Slurm of this machine, which may be of any kind.
no_slurm() {
    mkdir -p none dir
    expect "$1" env PATH="$PWD/none" "$BLOAD" "${@:3}"
}

test_without_hdf5() {
    poor hdf5 0
    verdict note HDF5 "HDF5 files need HDF5's library, which is not installed (Debian, Ubuntu: apt install libhdf5-103-1"
}

test_without_curl() {
    poor curl 0
    verdict note curl 'URLs need the library libcurl, which is not installed (Debian, Ubuntu: apt install libcurl4; Fedora, Alpine: libcurl)'
    expect 2 env LD_PRELOAD="$PWD/poor.so" POOR=curl "$BLOAD" scan --tokenizer bytes s3://bucket/a.txt
    err_has 'URLs need the library libcurl, which is not installed'
    echo text >a.txt
    expect 0 env LD_PRELOAD="$PWD/poor.so" POOR=curl "$BLOAD" scan --tokenizer bytes a.txt
}

test_a_good_machine() {
    no_slurm 0 bload doctor dir
    is '' "$(files dir)"
    for group in versions decoders machine sandbox directory GPU Slurm; do is 1 "$(grep -c "^$group\$" "$OUT")"; done
    verdict ok bload "$(bload --version | sed -n 's/^bload //p'), SIMD level"
    verdict ok 'media module' "$(bload --version | sed -n 's/^media module: //p')"
    verdict ok curl libcurl/
    verdict ok ffmpeg "$(ffmpeg -version | sed -n '1s/^ffmpeg version \([^ ]*\).*/\1/p')"
    verdict ok H.264 h264
    verdict ok AV1 lib
    verdict ok FLAC flac
    verdict ok 'decoder process' started
    verdict ok files 'can be made'
    verdict ok links 'hard links'
    verdict ok locks flock
    verdict ok 'write rate' iB/s
    verdict note sbatch none
    verdict note squeue none
    verdict ok job 'not inside'
    ! grep -vE '^[A-Za-z]+$|^  (ok|note|warning)  ' "$OUT" || fail 'another line, or a fault'
    err_has 'bload: doctor: no faults'
    # columns
    is 1 "$(grep '^  ' "$OUT" | cut -c 1-28 | grep -c '^.\{27\} $' | sed 's/^[1-9][0-9]*$/1/')"
}

test_json() {
    no_slurm 0 bload doctor --json dir
    python3 - "$OUT" <<'END'
import json, sys
answer = json.load(open(sys.argv[1]))
assert answer["directory"] == "dir" and answer["faults"] == 0, answer
found = {(f["group"], f["name"]): f for f in answer["findings"]}
assert len(found) == len(answer["findings"])
assert answer["warnings"] == sum(f["verdict"] == "warning" for f in found.values())
assert {f["verdict"] for f in found.values()} <= {"ok", "note", "warning"}
units = {("machine", "processors"): "processors", ("machine", "memory"): "bytes", ("machine", "open files"): "descriptors",
         ("directory", "free space"): "bytes", ("directory", "write rate"): "bytes/s"}
for key, unit in units.items():
    assert found[key]["unit"] == unit and found[key]["value"] > 0, found[key]
assert found["versions", "bload"]["unit"] is None and found["versions", "bload"]["value"] is None
assert found["machine", "processors"]["value"] <= len(__import__("os").sched_getaffinity(0))
END
}

# -q leaves what is to be done; the working directory is the default.
test_quiet() {
    no_slurm 0 bload doctor -q
    ! grep -E '^  (ok|note)' "$OUT" || fail 'not quiet'
    err_is </dev/null
    (ulimit -n 17 && no_slurm 1 bload doctor -q)
    verdict fault 'open files' 'at most 17'
    is "$(printf 'none\ndir\n' | sort)" "$(files .)"
}

test_wrong_usage() {
    expect 2 bload doctor none :err-is 'bload: doctor: cannot open none: No such file or directory'
    echo >file
    expect 2 bload doctor file :err-is 'bload: doctor: file is not a directory: name one that is to hold datasets'
    expect 2 bload doctor . . :err-is 'bload: doctor: expects one directory at most (see bload doctor --help)'
}

test_few_descriptors() {
    mkdir dir
    (ulimit -n 17 && expect 1 bload doctor dir)
    verdict fault 'open files' 'at most 17, too few for one worker: raise ulimit -n'
    err_has 'bload: doctor: 1 fault, '
    (ulimit -n 100 && expect 0 taskset -c "$(taskset -cp $$ | sed 's/.*[:,] *\([0-9]*\).*/\1/')" "$BLOAD" doctor dir)
    verdict warning 'open files' 'at most 100: with several fields'
    verdict ok processors '1 of '
    is '' "$(files dir)"
}

test_limits_of_addresses_and_files() {
    sanitizer_skip 'a sanitizer takes terabytes of addresses'
    mkdir dir
    (ulimit -v 200000 && no_slurm 1 bload doctor dir)
    verdict fault 'address space' 'at most 195.3 MiB: threads will not start: raise ulimit -v'
    (ulimit -f 10000 && no_slurm 0 bload doctor dir)
    verdict warning 'file size' 'at most 9.8 MiB: shards are larger: raise ulimit -f, or give a smaller --shard-size'
    verdict ok 'write rate' iB/s
    (ulimit -f 1000 && no_slurm 1 bload doctor dir)
    verdict fault 'shared memory' 'File too large: blocks are assembled in it'
    verdict note 'write rate' 'not measured: too little may be written'
    is '' "$(files dir)"
}

# own COMMANDS STATUS: the doctor where these commands made the file systems.
own() {
    mkdir -p dir none
    own_mounts mount -t tmpfs tmpfs dir 2>/dev/null || skip 'no file system of its own here'
    expect "$2" own_mounts bash -c "set -e; $1"'
        PATH=$PWD/none; exec "$BLOAD" doctor dir'
}

test_a_directory_that_cannot_be_written() {
    own 'mount -t tmpfs -o ro tmpfs dir' 1
    verdict fault files 'Read-only file system; give bload a directory in which you can make files'
    ! grep -q 'write rate' "$OUT" || fail 'a rate'
    err_has 'bload: doctor: 1 fault, '
}

test_a_directory_of_somebody_else() {
    mkdir -m 555 dir
    [ ! -w dir ] || skip 'root may write everywhere'
    expect 1 bload doctor dir
    verdict fault files 'Permission denied'
}

test_a_full_disk() {
    own 'mount -t tmpfs -o size=64k tmpfs dir; head -c 65536 /dev/zero >dir/all' 1
    verdict note 'file system' 'tmpfs: files are in memory'
    verdict fault 'free space' 'none: free some'
    verdict fault 'write rate' 'No space left on device'
    own 'mount -t tmpfs -o size=4m tmpfs dir' 0
    verdict warning 'free space' '4.0 MiB: a shard of the default size does not fit'
    verdict note 'write rate' 'not measured'
    own 'mount -t tmpfs -o size=512m,nr_inodes=1 tmpfs dir' 1
    verdict fault 'free space' 'no more files (inodes)'
    verdict fault files 'No space left on device'
}

test_a_layer_of_a_container() {
    own 'mkdir a; mount -t tmpfs tmpfs a; mkdir a/l a/u a/w; mount -t overlay -o lowerdir=a/l,upperdir=a/u,workdir=a/w overlay dir 2>/dev/null ||
        exit 77' 0 || skip 'no overlayfs'
    verdict note 'file system' 'overlayfs: the layer of a container: files are lost with it'
    verdict ok 'write rate' iB/s
}

test_a_container_without_proc_and_sys() {
    sanitizer_skip 'a sanitizer needs /proc'
    own 'mount -t tmpfs tmpfs /proc; mount -t tmpfs tmpfs /sys' 0
    verdict warning 'control group' 'cannot be read (/proc/self/cgroup, /sys/fs/cgroup): limits of a container or job are not seen'
    verdict ok 'decoder process' started
}

test_limits_of_a_container() {
    sanitizer_skip 'a sanitizer needs /proc'
    local group='mount -t tmpfs tmpfs /proc; mount -t tmpfs tmpfs /sys; mkdir -p /proc/self /sys/fs/cgroup; echo 0::/ >/proc/self/cgroup'
    own "$group; echo 100000000 >/sys/fs/cgroup/memory.max; echo 50000 100000 >/sys/fs/cgroup/cpu.max" 1
    verdict fault memory '95.4 MiB, the limit of the control group: a worker that decodes video needs 128.0 MiB, and memory for its blocks: give more'
    verdict ok processors '1 of '
    verdict ok processors 'the control group has 0.50'
    verdict ok 'control group' 'can be read'
    [ "$(nproc)" -gt 1 ] || return 0
    own "$group; echo 300000000 >/sys/fs/cgroup/memory.max" 0
    verdict note memory 'enough for 1 worker of 128.0 MiB each and their blocks, fewer than processors'
}

test_a_poor_file_system() {
    poor nfs,locks,links,direct 0
    verdict note 'file system' 'NFS: on a server'
    verdict warning locks 'none (flock): No locks available; runs exclude each other by a file'
    verdict note links 'no hard links: tasks share files by renaming them'
    verdict note 'direct writes' 'none (O_DIRECT): shards go through the page cache'
    verdict ok 'write rate' iB/s
    poor twice 0
    verdict warning locks 'not exclusive (flock grants the same lock twice)'
    poor sync 1
    verdict fault rename 'Input/output error'
    verdict fault 'write rate' 'cannot be written and synced: Input/output error'
}

test_a_poor_sandbox() {
    poor memory 1
    verdict fault 'shared memory' 'Function not implemented'
    verdict fault 'decoder process' '--isolate off decodes in one process'
    poor processes 1
    verdict ok 'shared memory' memfd
    verdict fault 'decoder process' 'cannot start a process: Resource temporarily unavailable'
}

# See gpu_fake.sh.
test_a_gpu_of_test_doubles() {
    [ -n "${FAKE_DRIVER-}" ] || skip 'built without CUDA'
    mkdir dir
    LD_LIBRARY_PATH=$FAKE_DRIVER FAKE_REPORT=report no_slurm 0 bload doctor dir
    verdict ok build 'with CUDA '
    verdict ok NVDEC 'decodes H.264, HEVC'
    is 0 "$(awk '$1 == "contexts" { print $3 }' report)"
}

test_slurm() {
    mkdir dir
    put bin/sbatch '#!/bin/sh\nexit 0\n' bin/squeue '#!/bin/sh\necho "slurm_load_jobs error: Invalid job id specified" >&2\nexit 1\n'
    chmod +x bin/*
    PATH=$PWD/bin:/bin:/usr/bin expect 0 bload doctor dir
    verdict ok sbatch found
    verdict ok squeue answers
    printf '#!/bin/sh\necho "slurm_load_jobs error: Unable to contact slurm controller" >&2\nexit 1\n' >bin/squeue
    PATH=$PWD/bin:/bin:/usr/bin expect 0 bload doctor dir
    verdict warning squeue 'squeue cannot list the jobs: slurm_load_jobs error: Unable to contact slurm controller'
    export SLURM_JOB_ID=12 SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=7
    no_slurm 0 bload doctor dir
    verdict ok job 'inside of 12'
    verdict ok task '--task auto is 3/8'
    SLURM_ARRAY_TASK_MAX=9 no_slurm 0 bload doctor dir
    verdict note task 'has 8 elements from 0 to 9'
}

# Whatever it was at, and however it ends, nothing is left; SIGKILL may come while its empty file has a name.
test_nothing_is_left() {
    mkdir dir
    for signal in INT TERM KILL; do
        for moment in 0.02 0.05 0.4; do
            status=0
            set -m
            "$BLOAD" doctor dir >"$OUT" 2>"$ERR" &
            pid=$!
            set +m
            sleep $moment
            kill -s $signal $pid
            wait $pid || status=$?
            [ $signal != KILL ] || find dir -name 'bload-doctor*' -empty -exec rm -r {} +
            is '' "$(files dir)"
            [ $status != 0 ] || continue # it was done before
            is $((128 + $(kill -l $signal))) $status
            [ $moment != 0.4 ] || [ $signal = KILL ] || err_has 'bload: doctor: interrupted'
            [ ! -s "$OUT" ] || fail 'half an answer'
        done
    done
}

test_the_answer_cannot_be_written() {
    mkdir dir
    expect 1 sh -c '"$BLOAD" doctor dir >/dev/full' :err 'No space left on device'
}
