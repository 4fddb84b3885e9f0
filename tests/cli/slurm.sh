# bload slurm: the scripts that it writes, what it submits in every state of a chain, and what the scripts do, under stand-ins for
# Slurm's commands. tests/slurm has the real ones.
# shellcheck shell=bash disable=SC2317

# tool NAME: an executable of that name in a PATH of the test's own, from the text on stdin: of sh, where the text names no other.
tool() {
    local text
    text=$(cat)
    [[ $text = '#!'* ]] || text=$'#!/bin/sh\n'$text
    put "$SCRATCH/bin/$1" ''
    echo "$text" >"$SCRATCH/bin/$1"
    chmod +x "$SCRATCH/bin/$1"
}

# Stand-ins: sbatch notes how it was called, as "NUMBER STAGE[ARRAY]+OFFSET DEPENDENCIES", and gives numbers; squeue says what lies in
# $SCRATCH/queue. Neither knows more. Three clips, each a shard of its own, and the file that packs them.
setup() {
    export PATH=$SCRATCH/bin:/usr/bin:/bin SCRATCH
    tool sbatch <<'END'
#!/bin/bash
number=$(($(cat "$SCRATCH/number" 2>/dev/null || echo 100) + 1))
[ ! -e "$SCRATCH/full-at-$number" ] || { echo 'sbatch: error: QOSMaxSubmitJobPerUserLimit' >&2; exit 1; }
echo $number >"$SCRATCH/number"
[ "$1 $2" = '--parsable --kill-on-invalid-dep=yes' ] || exit 1
array= after=
for word in "${@:3:$# - 4}"; do
    case $word in --array=*) array="[${word#*=}]" ;; --dependency=*) after+=" ${word#*=}" ;; *) after+=" $word" ;; esac
done
stage=$(basename "${*: -2:1}" .sh)
echo "$number $stage$array+${*: -1}${after//after/}" | sed 's/+0\>//' >>"$SCRATCH/calls"
env | grep '^SLURM_[A-Z_]*=x' >>"$SCRATCH/inherited"
echo "$number${SBATCH_CLUSTERS:+;$SBATCH_CLUSTERS}"
END
    tool squeue <<<'echo "squeue $*" >>"$SCRATCH/asked"; cat "$SCRATCH/queue" 2>/dev/null; exit "$(cat "$SCRATCH/squeue-status" 2>/dev/null || echo 0)"'
    tool scancel <<<'echo "scancel $*" >>"$SCRATCH/calls"'
    tool scontrol <<<'echo "scontrol $*" >>"$SCRATCH/asked"; [ "$1" != show ] || cat "$SCRATCH/configuration"'
    echo 'MaxArraySize            = 1001' >"$SCRATCH/configuration"
    mkdir -p clips
    for name in a b c; do ln -sf "$(fixture h264-1.mp4)" clips/$name.mp4; done
    printf 'sources: [clips]\nT: longest\nsize: 16x16\nshard-size: 1K\n' >set.yaml
}

# calls_are CALL...: what was called is this, and is forgotten.
calls_are() {
    touch "$SCRATCH/calls"
    diff -u --label expected --label calls <([ $# = 0 ] || printf '%s\n' "$@") "$SCRATCH/calls"
    rm "$SCRATCH/calls"
}

submit() { expect 0 bload slurm -c set.yaml -o out --tasks 3 --submit; }

# submits CALL...: and that calls these.
submits() {
    submit
    calls_are "$@"
}

# A dataset in the making that has all its shards but those named, as pack --task leaves it.
packed_without() {
    bload pack -q -c set.yaml -o whole
    mkdir -p out/.bload
    cp whole/manifest.json out/.bload/draft.json
    cp -r whole/shards out/
    for shard in 0 1 2; do
        if [[ " $* " = *" $shard "* ]]; then
            rm out/shards/00000/shard-0000000$shard.safetensors
        else
            touch out/.bload/shard-0000000$shard.record
        fi
    done
}

test_a_chain_is_written_and_submitted_in_order() {
    expect 0 bload slurm -c set.yaml -o out --tasks 3 :err "bload: scan        3 tasks: 3 to submit" "bload: plan        1 task:  1 to submit" :out-is ''
    err_has "bload: sh $PWD/out.slurm/submit.sh submits them, or this command with --submit"
    is 'configuration finish.sh lock logs pack.sh plan.sh scan.sh submit.sh task.sh verify.sh' "$(files out.slurm | xargs)"
    [ ! -e "$SCRATCH/calls" ] || fail "submitted without being asked"
    submits '101 scan[0-2]' '102 plan any:101' '103 pack[0-2] ok:102' '104 finish any:103,ok:102' '105 verify[0-2] ok:104'
    is 'scan 101 0 plan 102 0 pack 103 0 finish 104 0 verify 105 0' "$(xargs <out.slurm/jobs)"
    err_has 'submitted pack: job 103' "bload: bload status out shows the progress; logs are in $PWD/out.slurm/logs"
    [ ! -e out ] || fail "the dataset's directory was touched"
}

test_scripts_are_what_shells_and_sbatch_read() {
    mkdir -p "it's a \"%a\" #1 \$HOME"
    cd "it's a \"%a\" #1 \$HOME" || exit
    mv ../set.yaml "../clips" .
    mv set.yaml "set it's.yaml"
    expect 0 bload slurm -c "set it's.yaml" -o "./an out/" --tasks 3 --submit -- -p gpu -t 1:00:00 '--comment=a "b" # \c'
    for script in 'an out.slurm'/*.sh; do
        sh -n "$script"
        ! command -v shellcheck >/dev/null || (cd 'an out.slurm' && shellcheck -x -S warning "${script##*/}")
        case $script in
        *submit.sh | *task.sh) ;;
        *) grep -qFx '#SBATCH -p gpu -t 1:00:00 "--comment=a \"b\" # \\c"' "$script" ;;
        esac
    done
    quoted=${PWD//%/%%}
    grep -qFx "#SBATCH \"--output=${quoted//\"/\\\"}/an out.slurm/logs/pack-%A_%a.log\"" 'an out.slurm/pack.sh'
    grep -qFx "#SBATCH \"--output=${quoted//\"/\\\"}/an out.slurm/logs/plan-%j.log\"" 'an out.slurm/plan.sh'
    grep -q '^105 verify' "$SCRATCH/calls"
    # What the scripts call has the names unchanged.
    tool stand-in <<<'printf "<%s>" "$@" >"$SCRATCH/arguments"'
    sed -i "s|^program=.*|program='$SCRATCH/bin/stand-in'|" 'an out.slurm/task.sh'
    (cd / && SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=2 SLURM_CPUS_ON_NODE=5 sh "$OLDPWD/an out.slurm/scan.sh" 0) 2>"$ERR"
    is "<scan><-c><set it's.yaml><--task><2/3><-j><5><-o><$PWD/an out>" "$(cat "$SCRATCH/arguments")"
}

test_paths_that_slurm_cannot_log_to() {
    expect 2 bload slurm -c set.yaml -o 'a\b' --tasks 3 :err "a\\b.slurm: Slurm cannot write logs where a name holds a backslash or control character"
    expect 2 bload slurm -c set.yaml -o $'a\nb' --tasks 3
    is 'clips clips/a.mp4 clips/b.mp4 clips/c.mp4 set.yaml' "$(files . | xargs)"
}

test_options_that_are_the_chains_own() {
    for word in --array=0-3 --arr=1 -a -a1 --dependency=afterok:3 -d --wrap=true --parsable --wait -W --clusters=b -M --test-only; do
        expect 2 bload slurm -c set.yaml -o out --tasks 3 -- $word :err-is "bload: slurm: $word is set by bload slurm itself: leave it out"
    done
    expect 2 bload slurm -c set.yaml -o out --tasks 3 -- -p '' :err "sbatch's option \"\" cannot be written in a script"
    expect 2 bload slurm -c set.yaml -o out --tasks 3 clips
    err_is <<<"bload: slurm: clips: sources are named in the YAML file, and sbatch's options come after --"
    expect 0 bload slurm -q -c set.yaml -o out --tasks 3 -- --hold --wait-all-nodes=1 --account=a -A b
}

test_mistakes_are_told_at_once() {
    expect 2 bload slurm -o out --tasks 3 :err-is 'bload: slurm: -c FILE.yaml must be given: what to pack, and how'
    expect 2 bload slurm -c set.yaml --tasks 3 :err-is "bload: slurm: -o DIR must be given: the dataset's directory"
    expect 2 bload slurm -c set.yaml -o out :err-is 'bload: slurm: --tasks N must be given: into how many tasks the work is divided'
    expect 2 bload slurm -c set.yaml -o out --tasks 0
    expect 2 bload slurm -c absent.yaml -o out --tasks 3
    mkdir empty
    while IFS='|' read -r status text message; do given bad.yaml "$text" expect "$status" bload slurm -c bad.yaml -o out --tasks 3 :err "$message"; done <<'END'
2|sise: 5x5|bad.yaml:1:1: unknown key "sise": did you mean size?
2|sources: [clips]|slurm: -T must be given
2|T: 5|bad.yaml names no sources
2|{sources: [absent], T: 5}|absent: No such file or directory
1|{sources: [empty], T: 5}|no inputs
2|{sources: [-], T: 5, kind: text}|a job has no standard input to pack
2|{sources: [clips], T: 5, encode: jpeg, compress: zstd}|--encode jpeg or --compress, not both
2|{sources: [clips], store: true, seed: 1}|--seed has no meaning in a store
2|{sources: [clips], T: auto}|-T auto is for a store
2|{sources: [clips], T: 5, sequences: a.tsv}|bload slurm scans and plans by itself
END
    [ ! -e out.slurm ] || fail "something was written"
}

test_arrays_are_as_large_as_the_cluster_takes() {
    printf 'MaxArraySize            = 4\nSchedulerParameters     = defer\n' >"$SCRATCH/configuration"
    expect 0 bload slurm -q -c set.yaml -o out --tasks 10 --at-once 2 --submit
    calls_are '101 scan[0-3%2]' '102 scan[0-3%2]+4' '103 scan[0-1%2]+8' '104 plan any:101,any:102,any:103' '105 pack[0-3%2] ok:104' \
        '106 pack[0-3%2]+4 ok:104' '107 pack[0-1%2]+8 ok:104' '108 finish any:105,any:106,any:107,ok:104' '109 verify[0-3%2] ok:108' \
        '110 verify[0-3%2]+4 ok:108' '111 verify[0-1%2]+8 ok:108'
    # Element 1 of the second array is task 5 in the queue, and in the script.
    given "$SCRATCH/queue" '102_1 RUNNING None\n' expect 0 bload slurm -q -c set.yaml -o out --tasks 10 --array-size 6 --submit
    is '112 scan[0-4] 113 scan[0-3]+6 114 plan any:102,any:112,any:113' "$(grep '^11[234] ' "$SCRATCH/calls" | xargs)"
    rm -r out.slurm "$SCRATCH/queue" "$SCRATCH/calls"
    printf 'MaxArraySize            = 1001\nSchedulerParameters     = defer,max_array_tasks=2\n' >"$SCRATCH/configuration"
    submit
    is 'scan[0-1] scan[0]+2' "$(grep scan "$SCRATCH/calls" | cut -d' ' -f2 | xargs)"
    rm -r out.slurm
    echo 'MaxArraySize            = 0' >"$SCRATCH/configuration"
    expect 1 bload slurm -c set.yaml -o out --tasks 3 :err 'this cluster takes no job arrays (MaxArraySize is 0)'
}

test_what_is_done_is_not_submitted() {
    mkdir -p out/.bload
    touch out/.bload/scan-00001 out/.bload/scan-00002.part-x out/.bload/scan-task-00000
    submits '101 scan[0,2]' '102 plan any:101' '103 pack[0-2] ok:102' '104 finish any:103,ok:102' '105 verify[0-2] ok:104'
    touch out/.bload/sequences.tsv
    submits '106 plan' '107 pack[0-2] ok:106' '108 finish any:107,ok:106' '109 verify[0-2] ok:108'
    touch out/.bload/plan.safetensors
    submits '110 pack[0-2]' '111 finish any:110' '112 verify[0-2] ok:111'
    rm -r out
    packed_without 1
    submit
    err_has 'bload: pack        3 tasks: 2 done, 1 to submit'
    calls_are '113 pack[1]' '114 finish any:113' '115 verify[0-2] ok:114'
    # A record alone is what a task leaves that is killed before its shard has its name.
    touch out/.bload/shard-00000001.record
    submits '116 pack[1]' '117 finish any:116' '118 verify[0-2] ok:117'
    cp whole/shards/00000/shard-00000001.safetensors out/shards/00000/
    submits '119 finish' '120 verify[0-2] ok:119'
    rm -r out
    mv whole out
    touch out.slurm/verified-00001-of-00003 out.slurm/verified-00000-of-00004
    submits '121 verify[0,2]'
    touch out.slurm/verified-00000-of-00003 out.slurm/verified-00002-of-00003
    submit
    err_has 'bload: out is complete and verified: nothing to submit'
    calls_are
    # Marks of a dataset that was there before say nothing of this one.
    touch -d tomorrow out/manifest.json
    submits '122 verify[0-2]'
}

test_a_share_of_several_shards_is_done_when_all_are() {
    packed_without 2
    expect 0 bload slurm -c set.yaml -o out --tasks 2 --submit :err 'bload: pack        2 tasks: 1 done, 1 to submit'
    grep -q '^101 pack\[1\]$' "$SCRATCH/calls"
    rm -r out.slurm
    # More tasks than shards: who has none is done.
    expect 0 bload slurm -c set.yaml -o out --tasks 5 :err 'bload: pack        5 tasks: 4 done, 1 to submit'
}

test_what_is_under_way_goes_on() {
    submit
    rm "$SCRATCH/calls"
    queue='101_0 RUNNING None
101_1 PENDING Resources
101_2 PENDING JobHeldUser
102 PENDING Dependency
103_0 PENDING Dependency
103_1 PENDING Dependency
103_2 PENDING Dependency
104 PENDING Dependency
105_0 PENDING Dependency
105_1 PENDING Dependency
105_2 PENDING Dependency'
    echo "$queue" >"$SCRATCH/queue"
    submit
    err_has 'bload: scan        3 tasks: 1 running, 2 in the queue, 1 of them held (scontrol release)'
    err_has 'bload: nothing to submit: 11 tasks are under way (bload status out)'
    calls_are
    is 'squeue -h -r -t all -o %i %T %r -j 101,102,103,104,105' "$(grep squeue "$SCRATCH/asked")"
    # A task that failed is submitted anew, and so is all that waited for it; what was to come is cancelled.
    sed 's/101_1 PENDING/101_1 FAILED/' <<<"$queue" >"$SCRATCH/queue"
    submit
    err_has 'bload: plan        1 task:  1 to submit'
    calls_are 'scancel 102' 'scancel 103_[0-2]' 'scancel 104' 'scancel 105_[0-2]' '106 scan[1]' '107 plan any:101,any:106' '108 pack[0-2] ok:107' \
        '109 finish any:108,ok:107' '110 verify[0-2] ok:109'
    is 'scan 101 0' "$(head -n 1 out.slurm/jobs)"
    is 6 "$(wc -l <out.slurm/jobs)"
    # Of two jobs that share the stage, each has its own elements.
    printf '%s\n' '101_0 RUNNING None' '101_2 COMPLETING None' '106_1 CONFIGURING None' '107 PENDING DependencyNeverSatisfied' \
        '9_9 RUNNING None' 'slurm_load_jobs warning: something' >"$SCRATCH/queue"
    submits 'scancel 107' '111 scan[2]' '112 plan any:101,any:106,any:111' '113 pack[0-2] ok:112' '114 finish any:113,ok:112' '115 verify[0-2] ok:114'
}

test_a_finish_waits_for_packing_that_goes_on() {
    packed_without 1
    put out.slurm/jobs 'pack 50 0\nfinish 51 0\n' "$SCRATCH/queue" '50_0 PENDING Priority\n50_1 RUNNING None\n51 CANCELLED None\n'
    submit
    err_has 'bload: pack        3 tasks: 2 done, 1 running'
    calls_are '101 finish any:50' '102 verify[0-2] ok:101'
}

test_a_queue_that_cannot_be_asked() {
    submit
    rm "$SCRATCH/calls"
    # A single job that Slurm has forgotten is an error to squeue, and none here.
    put "$SCRATCH/squeue-status" '1\n' "$SCRATCH/queue" 'slurm_load_jobs error: Invalid job id specified\n'
    submit
    grep -q scan "$SCRATCH/calls"
    rm "$SCRATCH/calls"
    echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >"$SCRATCH/queue"
    expect 1 bload slurm -c set.yaml -o out --tasks 3 --submit :err 'squeue cannot list the jobs: slurm_load_jobs error: Unable to contact slurm controller'
    [ ! -e "$SCRATCH/calls" ] || fail "submitted blindly"
    rm "$SCRATCH/bin/squeue"
    PATH=$SCRATCH/bin expect 0 "$BLOAD" slurm -c set.yaml -o out --tasks 3 :err 'there is no squeue here: earlier jobs are assumed to be over'
    echo 'pack x 3' >out.slurm/jobs
    expect 1 bload slurm -c set.yaml -o out --tasks 3 :err 'out.slurm/jobs has the line "pack x 3", which is no job: remove it'
}

test_a_submission_that_stops_halfway_goes_on() {
    given "$SCRATCH/full-at-103" '' expect 1 bload slurm -c set.yaml -o out --tasks 3 --submit :err 'QOSMaxSubmitJobPerUserLimit'
    err_has 'submit.sh ended with status 1: what it has submitted goes on, and the same command submits the rest'
    rm "$SCRATCH/full-at-103" "$SCRATCH/calls"
    printf '101_0 RUNNING None\n101_1 RUNNING None\n101_2 RUNNING None\n102 PENDING Dependency\n' >"$SCRATCH/queue"
    # The script that has been run is no script to run again.
    expect 1 sh out.slurm/submit.sh :err 'This was submitted before.'
    submits '103 pack[0-2] ok:102' '104 finish any:103,ok:102' '105 verify[0-2] ok:104'
    rm "$SCRATCH/bin/sbatch" "$SCRATCH/queue"
    PATH=$SCRATCH/bin:/bin expect 1 env -i "PATH=$SCRATCH/bin" "$BLOAD" slurm -c set.yaml -o out --tasks 3 --submit
    err_has "there is no sbatch here: on a machine that submits jobs, run sh $PWD/out.slurm/submit.sh"
}

test_what_is_submitted_from_within_a_job() {
    for name in JOB_ID ARRAY_JOB_ID ARRAY_TASK_ID RESTART_COUNT CPUS_PER_TASK CPUS_ON_NODE MEM_PER_NODE MEM_PER_CPU; do export SLURM_$name=x; done
    submit
    is '' "$(cat "$SCRATCH/inherited")"
    rm -r out.slurm
    SBATCH_CLUSTERS=b submit
    is '106 107 108 109 110' "$(cut -d' ' -f2 out.slurm/jobs | xargs)"
    rm -r out.slurm
    tool sbatch <<<'echo Welcome'
    expect 1 bload slurm -q -c set.yaml -o out --tasks 3 --submit :err 'sbatch gave no number of a job: Welcome'
}

test_another_chain_is_refused() {
    submit
    # Nothing is begun yet: whoever thinks again may.
    expect 0 bload slurm -q -c set.yaml -o out --tasks 4
    mkdir -p out/.bload
    expect 2 bload slurm -c set.yaml -o out --tasks 3 :err "out.slurm holds a chain of another configuration: tasks is \"4\" there, not \"3\""
    sed -i 's/16x16/32x32/' set.yaml
    expect 2 bload slurm -c set.yaml -o out --tasks 4 :err 'size is "16x16" there, not "32x32"'
    rm -r out.slurm
    expect 0 bload slurm -q -c set.yaml -o out --tasks 4
    # What was begun by hand is asked, too.
    rm -r out.slurm
    printf 'tasks: 7\ninputs: 3 (0)\nsize: 32x32\n' >out/.bload/scan.configuration
    seal out/.bload/scan.configuration
    expect 2 bload slurm -c set.yaml -o out --tasks 4 :err 'out is being scanned in 7 tasks: give --tasks 7, or choose another directory'
    expect 0 bload slurm -q -c set.yaml -o out --tasks 7
    sed -i 's/32x32/64x64/' set.yaml
    rm -r out.slurm
    expect 2 bload slurm -c set.yaml -o out --tasks 7 :err '32x32'
}

test_a_dataset_that_is_complete() {
    bload pack -q -c set.yaml -o out
    sed 's/16x16/32x32/' set.yaml >other.yaml
    expect 2 bload slurm -c other.yaml -o out --tasks 3 :err 'out holds a dataset of another configuration: size is "16x16" there, not "32x32"'
    # It can be verified when its inputs are gone.
    mv clips elsewhere
    expect 0 bload slurm -c set.yaml -o out --tasks 3 --submit
    err_has 'bload: out is complete; its inputs cannot be compared with set.yaml: clips: No such file or directory'
    calls_are '101 verify[0-2]'
    # What is lacking in it is told again.
    mv elsewhere clips
    rm -r out out.slurm
    given clips/broken.mp4 'nothing\n' expect 3 bload pack -q -c set.yaml -o out
    put out.slurm/verified-00000-of-00001 ''
    expect 0 bload slurm -c set.yaml -o out --tasks 1 :err 'bload: out is complete and verified: nothing to submit'
    err_has 'bload: 1 input skipped: see out/sequences.tsv'
}

# --- what the scripts do --------------------------------------------------------------------------------------------

# A chain whose program is the script on stdin.
chain_of() {
    bload slurm -q -c set.yaml -o out --tasks 3
    tool stand-in
    sed -i "s|^program=.*|program='$SCRATCH/bin/stand-in'|" out.slurm/task.sh
    export SLURM_JOB_ID=42 SLURM_ARRAY_JOB_ID=40 SLURM_ARRAY_TASK_ID=1
}

test_tasks_follow_the_allocation() {
    chain_of <<<'echo "$@"'
    is "pack -c set.yaml --task 1/3 -j 1 -o $PWD/out" "$(sh out.slurm/pack.sh 0 2>/dev/null)"
    is "pack -c set.yaml --task 2/3 -j 4 -o $PWD/out" "$(SLURM_CPUS_ON_NODE=4 sh out.slurm/pack.sh 1 2>/dev/null)"
    export SLURM_CPUS_ON_NODE=8 SLURM_CPUS_PER_TASK=4
    is "pack -c set.yaml --task 1/3 -j 4 --memory 900M -o $PWD/out" "$(SLURM_MEM_PER_NODE=1000 sh out.slurm/pack.sh 0 2>/dev/null)"
    is "pack -c set.yaml --task 1/3 -j 4 --memory 1440M -o $PWD/out" "$(SLURM_MEM_PER_CPU=200 sh out.slurm/pack.sh 0 2>/dev/null)"
    is "scan -c set.yaml --task 1/3 -j 4 -o $PWD/out" "$(sh out.slurm/scan.sh 0 2>/dev/null)"
    is "plan -c set.yaml $PWD/out" "$(sh out.slurm/plan.sh 0 2>/dev/null)"
    is "finish $PWD/out" "$(sh out.slurm/finish.sh 0 2>/dev/null)"
    mkdir out
    is "verify --task 1/3 -j 4 $PWD/out" "$(sh out.slurm/verify.sh 0 2>/dev/null)"
    [ -e out.slurm/verified-00001-of-00003 ]
    echo 'memory: 1G' >>set.yaml
    rm -r out out.slurm
    bload slurm -q -c set.yaml -o out --tasks 3
    ! grep -q memory out.slurm/pack.sh || fail "the file's --memory is overruled"
}

test_status_3_is_success_with_a_word() {
    chain_of <<<'exit "$(cat "$SCRATCH/status")"'
    given "$SCRATCH/status" '3\n' expect 0 sh out.slurm/finish.sh 0 :err 'done, but some inputs are unusable or damaged (status 3)'
    mkdir out
    for status in 1 2 130; do
        echo $status >"$SCRATCH/status"
        expect $status sh out.slurm/verify.sh 0 :err "failed with status $status"
    done
    [ ! -e out.slurm/verified-00001-of-00003 ] || fail "a mark of what failed"
}

# signalled SIGNAL [to-both]: runs pack.sh until its program is at work, and sends the signal, as Slurm does; sets status.
signalled() {
    local pid
    rm -f "$SCRATCH/at-work" "$SCRATCH/asked"
    status=0
    sh out.slurm/pack.sh 0 2>"$ERR" >"$OUT" &
    pid=$!
    for ((i = 0; i < 100; i++)); do [ ! -s "$SCRATCH/at-work" ] || break; sleep 0.1; done
    kill -s "$1" "$pid"
    [ $# = 1 ] || kill -s "$1" "$(cat "$SCRATCH/at-work")"
    wait "$pid" || status=$?
}

at_work() {
    chain_of <<'END'
#!/bin/bash
signals=0
trap 'signals=$((signals + 1)); echo TERM; [ $signals = 1 ] || exit 99' TERM
echo $$ >"$SCRATCH/at-work"
for ((i = 0; i < 100 && signals == 0; i++)); do sleep 0.1; done
[ ! -e "$SCRATCH/finish-something" ] || { mkdir -p out/.bload; mktemp out/.bload/shard-XXXXXX; }
sleep 0.5
[ ! -e "$SCRATCH/end-well" ] || exit 0
trap - TERM
kill -TERM $$
END
}

test_at_the_time_limit_a_task_goes_back_to_the_queue() {
    at_work
    signalled USR1
    is 'scontrol requeue incomplete 40_1' "$(cat "$SCRATCH/asked")"
    is TERM "$(cat "$OUT")"
    is 1 $status
    err_has 'ended by USR1; goes back to the queue, unless Slurm has ended the job'
    # The third time without anything finished is the last.
    export SLURM_RESTART_COUNT=2
    signalled USR1
    is 1 $status
    [ ! -e "$SCRATCH/asked" ] || fail "requeued for ever"
    err_has 'nothing was finished since the last start: give more --time, or make smaller shards'
    touch "$SCRATCH/finish-something"
    signalled USR1
    is 'scontrol requeue incomplete 40_1' "$(cat "$SCRATCH/asked")"
    export SLURM_RESTART_COUNT=100
    signalled USR1
    [ ! -e "$SCRATCH/asked" ] || fail "requeued for ever"
    err_has 'for the hundredth time'
    # Who is done when the signal comes is done.
    touch "$SCRATCH/end-well"
    signalled USR1
    is 0 $status
    [ ! -e "$SCRATCH/asked" ] || fail "requeued though done"
}

test_preemption_and_cancelling() {
    at_work
    # Slurm tells all processes of a job: bload must not be told twice, which would end it without tidying up.
    signalled TERM both
    is TERM "$(cat "$OUT")"
    is 1 $status
    is 'scontrol requeue incomplete 40_1' "$(cat "$SCRATCH/asked")"
    # Or the script alone. Preempted early and often is no fault of the task's.
    export SLURM_RESTART_COUNT=100
    signalled TERM
    is TERM "$(cat "$OUT")"
    is 'scontrol requeue incomplete 40_1' "$(cat "$SCRATCH/asked")"
    unset SLURM_ARRAY_JOB_ID
    signalled TERM
    is 'scontrol requeue incomplete 42' "$(cat "$SCRATCH/asked")"
}

# --- the whole chain ------------------------------------------------------------------------------------------------

# A cluster whose sbatch runs a job at once, element by element in backward order, unless what it waits for did not end well.
running_cluster() {
    tool sbatch <<'END'
#!/bin/bash
set -u
elements=none never= number=$(($(cat "$SCRATCH/number" 2>/dev/null || echo 100) + 1)) status=0
echo $number >"$SCRATCH/number"
while [[ $1 = --* ]]; do
    case $1 in
    --array=*) elements=$(tr ',' '\n' <<<"${1#*=}" | sed 's/^\([0-9]*\)-\([0-9]*\)$/seq \1 \2/; t; s/^/echo /' | sh | sort -nr) ;;
    --dependency=*) for id in $(grep -o 'afterok:[0-9]*' <<<"$1"); do
        [ "$(cat "$SCRATCH/status-${id#*:}")" = 0 ] || never=true
    done ;;
    esac
    shift
done
[ -z "$never" ] || elements='' status=1
for element in $elements; do
    echo "${1##*/} $element" >>"$SCRATCH/calls"
    name=$number
    [ $element = none ] || name=${number}_$element
    [ $element = none ] || export SLURM_ARRAY_JOB_ID=$number SLURM_ARRAY_TASK_ID=$element
    (cd / && SLURM_JOB_ID=$number sh "$1" "$2" >>"${1%/*}/logs/$(basename "$1" .sh)-$name.log" 2>&1) || status=$?
done
echo $status >"$SCRATCH/status-$number"
echo $number
END
}

test_a_chain_makes_what_pack_makes() {
    running_cluster
    cp "$(fixture h264-30.mp4)" clips/d.mp4
    sed -i 's/longest/20/; s/1K/8K/' set.yaml
    echo 'oversize: split' >>set.yaml
    given clips/broken.mp4 'nothing\n' expect 3 bload pack -q -c set.yaml -o whole
    expect 0 bload slurm -c set.yaml -o out --tasks 3 --array-size 2 --submit :same-as whole
    expect 0 bload slurm -c set.yaml -o out --tasks 3 :err 'bload: out is complete and verified: nothing to submit'
    err_has 'bload: 1 input skipped: see out/sequences.tsv'
    grep -q 'done, but some inputs are unusable' out.slurm/logs/finish-*.log
    is 3 "$(find out.slurm -name 'verified-*' | wc -l)"
}

# T of a store follows from the bytes of a step, 64 KiB of the first array, which the job that plans looks at.
test_a_chain_makes_a_store() {
    running_cluster
    npy arrays/a.npy '40, 65536' 0
    cp arrays/a.npy arrays/b.npy
    echo '{sources: [arrays], store: true, compress: zstd}' >set.yaml
    bload pack -q -c set.yaml -o whole
    submit
    diff -r whole out
    is '"T": 64,' "$(grep -o '"T": 64,' out/manifest.json | uniq)"
    grep -q 'bload: T = 64, ' out.slurm/logs/plan-*.log
    # Without the file it is not known what a step is.
    bload scan -q arrays --task 0/1 -o other
    expect 2 bload plan other --strategy store :err '-T auto needs the bytes of a step: give the YAML file of the scan'
}

test_nothing_new() {
    running_cluster
    expect 0 bload pack -q -c set.yaml -o older
    echo 'extend: older' >>set.yaml
    submit
    grep -q 'nothing new: .*out is not written' out.slurm/logs/finish-*.log
    is 3 "$(grep -l 'out was not written: nothing was new' out.slurm/logs/verify-*.log | wc -l)"
    [ ! -e out ] || fail "out was made"
    for job in "$SCRATCH"/status-*; do is 0 "$(cat "$job")"; done
}

test_shards_that_were_lost_are_packed_and_verified_again() {
    running_cluster
    submit
    cp -r out whole
    rm "$SCRATCH/calls" out/shards/00000/shard-00000001.safetensors
    expect 0 bload slurm -c set.yaml -o out --tasks 3 :err 'bload: pack        3 tasks: 2 done, 1 to submit' 'bload: finish      1 task:  1 to submit'
    err_has 'bload: verify      3 tasks: 2 done, 1 to submit'
    submits 'pack.sh 1' 'finish.sh none' 'verify.sh 1'
    diff -r whole out
    expect 0 bload slurm -c set.yaml -o out --tasks 3 :err 'bload: out is complete and verified: nothing to submit'
    # Made again by hand: only the look at it is missing.
    truncate -s 9 out/shards/00000/shard-00000002.safetensors
    expect 0 bload pack -q -c set.yaml -o out
    submits 'verify.sh 2'
    rm out/index.safetensors
    expect 1 bload slurm -c set.yaml -o out --tasks 3
    err_has 'out/index.safetensors is missing: to finish the dataset again, remove manifest.json and run the same command'
}

test_a_chain_that_broke_off_goes_on() {
    running_cluster
    bload pack -q -c set.yaml -o whole
    # The disk is full for one task of each stage, the first time.
    tool stand-in <<END
#!/bin/sh
case "\$*" in *'1/3'*)
    if [ ! -e "$SCRATCH/failed-\$1" ]; then echo failed >"$SCRATCH/failed-\$1"; exit 1; fi ;;
esac
exec "$BLOAD" "\$@"
END
    for turn in 1 2 3; do
        bload slurm -q -c set.yaml -o out --tasks 3
        sed -i "s|^program=.*|program='$SCRATCH/bin/stand-in'|" out.slurm/task.sh
        sh out.slurm/submit.sh 2>"$ERR"
        [ ! -e out/manifest.json ] || break
    done
    is 3 $turn
    diff -r whole out
    calls_are 'scan.sh 2' 'scan.sh 1' 'scan.sh 0' 'plan.sh none' 'scan.sh 1' 'plan.sh none' 'pack.sh 2' 'pack.sh 1' 'pack.sh 0' 'finish.sh none' \
        'pack.sh 1' 'finish.sh none' 'verify.sh 2' 'verify.sh 1' 'verify.sh 0'
    grep -q 'bload: plan: part 1 of 3 is missing' out.slurm/logs/plan-102.log
    grep -q 'bload: finish: ' out.slurm/logs/finish-109.log
    submits 'verify.sh 1'
    submit
    err_has 'bload: out is complete and verified: nothing to submit'
}

# The job that plans does not list the inputs: the file has the capacities of their own fields.
test_a_chain_packs_steps_of_their_own() {
    running_cluster
    put t.csv 'id,text\na,one\nb,\nc,three\n'
    put set.yaml 'sources: [clips]\nT: longest\nsize: 16x16\nshard-size: 1K\nattributes: t.csv\nfields:
  - {name: text, kind: text, column: text, tokenizer: bytes, steps: own, capacity: 8}
  - {name: patches, path: "{id}.npy", steps: own, capacity: auto, missing: empty}\n'
    npy b.npy '3, 20'
    bload pack -q -c set.yaml -o whole
    submit
    diff -r whole out
    grep -q 'bload: field text: at most 5 of 8 steps' out.slurm/logs/plan-*.log
}
