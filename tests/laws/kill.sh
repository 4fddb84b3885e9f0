# Killed before every single call that changes the disk, the same command goes on and gives the same bytes. (tests/slow/kill.sh
# kills at random moments instead.)
# shellcheck shell=bash disable=SC2317,SC2164,SC2016
source "$BLOAD_ROOT/tests/laws/lib.bash"

# killed_at_every_step [options]
killed_at_every_step() {
    clips
    failing_clip
    expect 3 pack one "$@"
    disturbed_pack LAWS_COUNT="$PWD/count" -- counted "$@" 2>/dev/null || is 3 $?
    local steps n status complete reused=0
    read -r steps _ <count
    [ "$steps" -gt 60 ] || fail "only $steps steps"
    for n in $(seq "$steps"); do
        rm -rf d
        status=0
        disturbed_pack LAWS_KILL="$n" -- d "$@" 2>/dev/null || status=$?
        is 137 $status
        whole one d
        stamps d >before
        complete=$([ ! -e d/manifest.json ] || echo yes)
        expect 3 pack d "$@"
        [ "$complete" ] || err_has 'bload: failed sub/fails.mov'
        identical one d
        stamps d | comm -23 before - | grep -v '/sequences.tsv \|/shards.tsv \|/index.safetensors ' >rewritten || :
        [ ! -s rewritten ] || fail "after step $n: written again: $(cat rewritten)"
        reused=$((reused + $(grep -c /shard- before || :)))
    done
    [ $reused -gt 100 ] || fail "only $reused shards were there to be used again"
} 2>/dev/null # bash tells of every process that is killed

test_plain_alone() {
    killed_at_every_step -j 1
}

# Blocks of so many bytes are written past the page cache.
test_large_blocks() {
    killed_at_every_step -j 2 --size 128x96 --shard-size 2M
}

test_compressed_by_two() {
    killed_at_every_step -j 2 --compress zstd
}

# bload status counts the shards that are there, no more and no less.
counted_as_they_are() {
    [ -e d/.bload/draft.json ] || return 0
    bload status --json d >told || is 1 $?
    is "$(find d/shards -type f | wc -l)" "$(grep -o '"finished_shards": *[0-9]*' told | grep -o '[0-9]*$')"
}

# A task is killed, then the finish: what comes after gives the bytes of one run.
test_tasks() {
    clips
    failing_clip
    expect 3 pack one
    disturbed_pack LAWS_COUNT="$PWD/count" -- counted --task 0/2 2>/dev/null || is 3 $?
    read -r steps _ <count
    [ "$steps" -gt 40 ] || fail "only $steps steps"
    for n in $(seq "$steps"); do
        rm -rf d
        disturbed_pack LAWS_KILL="$n" -- d --task 0/2 2>/dev/null && fail "step $n did not come"
        whole one d
        [ ! -e d/manifest.json ] || fail 'a manifest'
        counted_as_they_are
        [ $((n % 3)) != 0 ] || pack d --task 1/2 2>/dev/null || is 3 $?
        pack d --task 0/2 2>/dev/null || is 3 $?
        pack d --task 1/2 2>/dev/null || is 3 $?
        expect 3 bload finish -q d
        identical one d
    done
    for i in 0 1; do pack counted --task $i/2 2>/dev/null || is 3 $?; done
    for n in $(seq 1000); do
        rm -rf d
        cp -r counted d
        disturbed LAWS_KILL="$n" "$BLOAD" finish -q d 2>/dev/null && break
        [ $? = 137 ] || break
        whole one d
        expect 3 bload finish -q d
        identical one d
    done
    identical one d
    [ "$n" -gt 15 ] || fail "only $n steps of the finish"
} 2>/dev/null # bash tells of every process that is killed

# epochs_killed STEPS [option]...: killed at every step of it, the dataset d has the epochs of before or of after, and is sound.
epochs_killed() {
    local steps=$1 n status
    shift
    cp -r d before
    bload plan -q --dataset d "$@"
    for n in $(seq 1000); do
        rm -rf e
        cp -r before e
        status=0
        disturbed LAWS_KILL="$n" "$BLOAD" plan -q --dataset e "$@" 2>/dev/null || status=$?
        [ $status = 137 ] || break
        expect 0 bload verify -q e
        cmp -s e/manifest.json before/manifest.json || cmp e/manifest.json d/manifest.json
        expect 0 bload plan -q --dataset e "$@"
        identical d e
    done
    is 0 $status
    identical d e
    [ "$n" -gt "$steps" ] || fail "only $n steps"
    rm -rf before
}

test_epochs() {
    mkdir in
    seq 9 >in/a.txt
    SCALE=
    pack d --tokenizer bytes --documents line
    bload plan -q --dataset d --epochs 1
    epochs_killed 8 --epochs 2
    epochs_killed 4 --epochs 0
} 2>/dev/null

# The plans of epochs have own steps, too.
test_epochs_of_own_fields() {
    own_fields
    pack d
    bload plan -q --dataset d --epochs 1
    epochs_killed 8 --epochs 2
} 2>/dev/null

# Once more and once more, each a little later: a chain of kills, not one.
test_again_and_again() {
    clips
    failing_clip
    expect 3 pack one -T 20 --oversize split --shard-size 200K
    local n=0 status=137
    while [ $status = 137 ]; do
        n=$((n + 3))
        status=0
        disturbed_pack LAWS_KILL=$n -- d -T 20 --oversize split --shard-size 200K 2>/dev/null || status=$?
        whole one d
    done
    is 3 $status
    identical one d
    [ $n -gt 60 ] || fail "it was done after $n steps"
} 2>/dev/null

# Flat fields, whose places in a shard the plan decides, and padded ones.
test_own_fields() {
    own_fields
    local options n steps
    for options in '-j 1' '-j 2 --compress zstd'; do
        expect 0 pack one $options --shard-size 40K
        disturbed_pack LAWS_COUNT="$PWD/count" -- counted $options --shard-size 40K 2>/dev/null
        read -r steps _ <count
        [ "$steps" -gt 40 ] || fail "only $steps steps"
        for n in $(seq "$steps"); do
            rm -rf d
            disturbed_pack LAWS_KILL="$n" -- d $options --shard-size 40K 2>/dev/null && fail "step $n did not come"
            whole one d
            expect 0 pack d $options --shard-size 40K
            identical one d
        done
        rm -r one counted
    done
} 2>/dev/null # bash tells of every process that is killed

# Text: tokens wait in the spool of a run that was killed, and are taken from there.
test_text() {
    texts
    set -- --tokenizer bytes --oversize split --keep doc=id --shard-size 20K --fim 0.5,prefix=256,middle=257,suffix=258
    expect 3 pack one -j 1 "$@"
    for jobs in 1 2; do
        disturbed_pack LAWS_COUNT="$PWD/count" -- counted -j $jobs "$@" 2>/dev/null || is 3 $?
        rm -rf counted
        read -r steps _ <count
        [ "$steps" -gt 60 ] || fail "only $steps steps"
        for n in $(seq $jobs $((6 + jobs)) "$steps"); do
            rm -rf d
            status=0
            disturbed_pack LAWS_KILL="$n" -- d -j $jobs "$@" 2>/dev/null || status=$?
            is 137 $status
            whole one d
            expect 3 pack d -j $jobs "$@"
            identical one d
        done
    done
} 2>/dev/null

# Flat files of ids: the spool has their rows alone, and their tokens are read where they are.
test_tokens() {
    tokens
    set -- --oversize split --bos 1 --shard-size 20K
    expect 3 pack one -j 1 "$@"
    disturbed_pack LAWS_COUNT="$PWD/count" -- counted -j 2 "$@" 2>/dev/null || is 3 $?
    identical one counted
    read -r steps _ <count
    for n in $(seq 2 $((steps / 12)) "$steps"); do
        rm -rf d
        status=0
        disturbed_pack LAWS_KILL="$n" -- d -j 2 "$@" 2>/dev/null || status=$?
        is 137 $status
        whole one d
        expect 3 pack d -j 1 "$@"
        identical one d
    done
} 2>/dev/null

# A spool that does not fit into memory is bucketed into files without names, anew each time.
test_text_bucketed() {
    texts
    seq 60000 >in/e.txt
    set -- --tokenizer bytes --oversize split --shard-size 100K
    expect 3 pack one -j 1 "$@"
    set -- "$@" --memory 34M -j 2
    disturbed_pack LAWS_COUNT="$PWD/count" -- counted "$@" 2>/dev/null || is 3 $?
    identical one counted
    read -r steps _ <count
    for n in $(seq 5 $((steps / 20)) "$steps"); do
        rm -rf d
        status=0
        disturbed_pack LAWS_KILL="$n" -- d "$@" 2>/dev/null || status=$?
        is 137 $status
        whole one d
        expect 3 pack d "$@"
        identical one d
    done
} 2>/dev/null

# killed_every N [OPTION...]: the folder in, packed by two workers that are killed at every Nth step, and once more.
killed_every() {
    local every=$1 steps n status
    shift
    expect 3 pack one -j 1 "$@"
    disturbed_pack LAWS_COUNT="$PWD/count" -- counted -j 2 "$@" 2>/dev/null || is 3 $?
    read -r steps _ <count
    [ "$steps" -gt 30 ] || fail "only $steps steps"
    for n in $(seq 1 "$every" "$steps"); do
        rm -rf d
        status=0
        disturbed_pack LAWS_KILL="$n" -- d -j 2 "$@" 2>/dev/null || status=$?
        is 137 $status
        whole one d
        expect 3 pack d -j 2 "$@"
        identical one d
    done
} 2>/dev/null

test_sound() {
    sounds
    killed_every 3 -T 8000 --oversize split --shard-size 30K
}

test_arrays() {
    arrays
    killed_every 2 -T 1000 --oversize split --shard-size 60K
}

test_cuts() {
    speech
    expect 3 pack_speech one -j 1
    pack_speech LAWS_COUNT="$PWD/count" counted -j 2 2>/dev/null || is 3 $?
    read -r steps _ <count
    [ "$steps" -gt 30 ] || fail "only $steps steps"
    for n in $(seq 1 29 "$steps"); do
        rm -rf d
        status=0
        pack_speech LAWS_KILL="$n" d -j 2 2>/dev/null || status=$?
        is 137 $status
        whole one d
        expect 3 pack_speech d -j 2
        identical one d
    done
} 2>/dev/null

test_images() {
    images
    killed_every 4
}

test_labels() {
    labels
    killed_every 3 -T 300 --shard-size 4K
}

# JPEG files wait in memory until a shard is whole.
test_encoded() {
    clips
    failing_clip
    killed_every 4 --encode jpeg:80 --pad repeat
}

test_fields() {
    clips
    further_fields
    attributes
    killed_every 3 -c fields.yaml -T 50
}

# What a run keeps for itself is told by what it was made from: a file that is another one is tokenized again.
test_a_spool_of_other_inputs() {
    texts
    set -- --tokenizer bytes --oversize split --shard-size 20K --spool kept
    "$BLOAD" scan -q in --tokenizer bytes --spool kept -o /dev/null || is 3 $?
    sed -i s/document/DOCUMENT/ in/a.jsonl
    expect 3 pack one --tokenizer bytes --oversize split --shard-size 20K
    expect 3 pack d "$@"
    identical one d
    # Nor is one taken that is damaged.
    "$BLOAD" scan -q in --tokenizer bytes --spool kept -o /dev/null || is 3 $?
    for file in kept/*.steps; do printf X | dd of="$file" bs=1 seek=100 conv=notrunc status=none; done
    rm -rf d
    expect 3 pack d "$@"
    identical one d
}

# What is left of the scan's own output is named after the process: scan itself never leaves it under the name.
test_scan_to_a_file() {
    clips
    expect 3 bload scan -q in -o whole.tsv
    disturbed LAWS_COUNT="$PWD/count" "$BLOAD" scan -q in -o other.tsv 2>/dev/null || is 3 $?
    read -r steps _ <count
    for n in $(seq "$steps"); do
        rm -f table.tsv
        status=0
        disturbed LAWS_KILL="$n" "$BLOAD" scan -q in -o table.tsv 2>/dev/null || status=$?
        is 137 $status
        [ ! -e table.tsv ] || same whole.tsv table.tsv
    done
} 2>/dev/null
