# What docs/clusters.md says of Slurm, followed word by word on a cluster.
# shellcheck shell=bash disable=SC2317,SC2154
source "$BLOAD_ROOT/tests/slurm/packing.bash"
export PATH=${BLOAD%/*}:$PATH

section() {
    sed -n '/^## On a Slurm cluster$/,/^## /p' "$BLOAD_ROOT/docs/clusters.md"
}

# What it gives to type, and what it says that the tool answers, line by line.
lines() {
    section | sed '/^```/,/^```/d' | sed -n 's/^    //p'
}

clips() {
    local copy
    mkdir videos
    for copy in 1 2 3 4; do
        ln -s "$(fixture h264-50.mkv)" videos/$copy-a.mkv
        ln -s "$(fixture vp9-24.webm)" videos/$copy-b.webm
        ln -s "$(fixture mpeg4-40.avi)" videos/$copy-c.avi
    done
    section | sed -n '/^```yaml$/,/^```$/p' | sed '1d;$d' >dataset.yaml
}

# What `bload pack` makes of the same file, elsewhere.
pack_alone() {
    mkdir one
    ln -s ../videos ../dataset.yaml one
    [[ $(section) =~ '`dataset` is, byte by byte, what `'([^\`]*)'` makes' ]]
    (cd one && eval "${BASH_REMATCH[1]}" 2>/dev/null)
}

# One command, and the end of the jobs that it submitted. "COMMAND # for i from 0 to 15; then once: COMMAND" are many.
follow() {
    local i
    if [[ $1 =~ ^(.*[^ ])\ +#\ for\ i\ from\ ([0-9]+)\ to\ ([0-9]+)(\; then once: (.*))?$ ]]; then
        for ((i = BASH_REMATCH[2]; i <= BASH_REMATCH[3]; i++)); do expect 0 eval "${BASH_REMATCH[1]}"; done
        [ -z "${BASH_REMATCH[5]}" ] || expect 0 eval "${BASH_REMATCH[5]}"
    else
        expect 0 eval "$1"
        [[ $1 != *--submit* ]] || within 300 quiet
    fi
}

test_document() {
    cluster_start
    clips
    pack_alone
    mapfile -t told < <(lines | grep -v '# for i' | grep -v '^bload: ')
    is 3 ${#told[@]}
    follow "${told[0]}"
    err_has 'submitted verify: job '
    follow "${told[1]}"
    out_has complete
    follow "${told[2]}"
    lines | grep '^bload: ' | err_is
    diff -r one/dataset dataset
}

test_document_stop_and_begin_anew() {
    local stop
    cluster_start
    clips
    pack_alone
    stop=$(section | grep -o '`cut [^`]*scancel`' | tr -d '`')
    expect 0 eval "$(lines | head -n 1)"
    within 60 test -e dataset/.bload
    eval "$stop"
    within 60 quiet
    section | grep -q 'To start again: remove `dataset` and `dataset.slurm`'
    rm -r dataset dataset.slurm
    follow "$(lines | head -n 1)"
    diff -r one/dataset dataset
}

test_document_other_engines() {
    local line
    clips
    pack_alone
    mapfile -t told < <(lines | grep '# for i')
    is 3 ${#told[@]}
    for line in "${told[@]}"; do follow "$line"; done
    diff -r one/dataset dataset
}

# The batch script of docs/clusters.md, for as many tasks and processors as there are here.
own_script() {
    sed '1,/^### Your own batch scripts/d' "$BLOAD_ROOT/docs/clusters.md" | sed -n '/^```sh$/,/^```$/p' | sed '1d;$d' |
        sed "s/--array=0-63/--array=$1/; s/--cpus-per-task=8/--cpus-per-task=1/"
}

test_own_batch_script() {
    cluster_start
    clips
    pack_alone
    own_script 0-5 >own.sh
    expect 0 sbatch --wait own.sh
    expect 0 bload finish out
    diff -r one/dataset out
    own_script 0,2 >sparse.sh
    expect 2 sbatch --wait --output=sparse-%a.log sparse.sh
    grep -q 'the job array has 2 elements from 0 to 2' sparse-2.log
}

test_ranks_of_srun() {
    cluster_start
    clips
    pack_alone
    expect 0 srun -N 3 -n 3 bload pack -c dataset.yaml -o out --task auto
    is 3 "$(grep -c 'task ./3: ' "$ERR")"
    expect 0 bload finish out
    diff -r one/dataset out
}
