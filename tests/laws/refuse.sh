# A directory holds one dataset, made by one configuration, by one run at a time.
# shellcheck shell=bash disable=SC2317,SC2164,SC2016,SC2086
source "$BLOAD_ROOT/tests/laws/lib.bash"

# begun NAME: a dataset of which the first shard is finished.
begun() {
    disturbed LAWS_DO='kill -9 $PPID' LAWS_AFTER=shard-00000000.safetensors "$BLOAD" pack -q in -T 50 --size 64x48 \
        --shard-size 1M -o "$1" 2>/dev/null || is 137 $?
    [ -e "$1/shards/00000/shard-00000000.safetensors" ] && [ ! -e "$1/manifest.json" ]
}

# Everything in a directory but the times.
contents() {
    find "$1" -type f -print0 | sort -z | xargs -0 sha256sum
}

test_another_configuration_of_a_dataset_begun() {
    clips
    expect 3 pack one
    begun d
    contents d >before
    for option in '-T 51' '--seed 1' '--size 32x32' '--fit crop' '--pad repeat' '--encode jpeg' '--compress zstd' '--segment-ids' '--shard-size 2M' \
        '--stride 2' '--fps 5' '--hdr clip' '--count decode' '--simd none' '--oversize split' '--strategy naive'; do
        expect 2 pack d $option
        name=${option%% *}
        name=${name#-}
        err_has "d holds an unfinished dataset of another configuration: ${name#-} is \""
        contents d | diff before -
    done
    expect 2 bload pack -q in/sub -T 50 --size 64x48 --shard-size 1M -o d :err 'source 1 is "in" there, not "in/sub"'
    expect 3 pack d -j 1 --memory 1G --max-failed 5
    identical one d
}

test_another_configuration_of_a_complete_one() {
    clips
    expect 3 pack d
    stamps d >before
    for option in '-T 51' '--seed 1' '--size 32x32' '--pad repeat' '--compress zstd' '--shard-size 2M' '--stride 2'; do
        expect 2 pack d $option :err 'd holds a dataset of another configuration: '
    done
    cp "$(fixture h264-1.mp4)" in/another.mp4
    expect 2 pack d :err 'd holds a dataset of other inputs: in/another.mp4 is new'
    stamps d | diff before -
}

# Until a shard is finished there is nothing to mix: who mends an option need not empty the directory.
test_an_option_can_be_mended() {
    clips
    expect 3 pack one
    expect 1 pack d -T 49 :err 'more than T = 49'
    expect 3 pack d
    identical one d
    rm -r d
    expect 2 bload pack -q in -T 50 --shard-size 1M -o d :err 'give --size'
    expect 3 pack d
    identical one d
}

test_foreign_files() {
    clips
    mkdir d
    echo mine >d/mine
    expect 2 pack d :err 'd holds mine, which is no part of an unfinished dataset'
    is mine "$(files d)"
    mkdir -p e/manifest.json
    expect 1 pack e
    is manifest.json "$(files e)"
    echo '{"mine": true}' >f
    expect 1 pack f
    is '{"mine": true}' "$(cat f)"
    mkdir g
    echo '{"mine": true}' >g/manifest.json
    expect 1 pack g
    is manifest.json "$(files g)"
    is '{"mine": true}' "$(cat g/manifest.json)"
    # A file that came into it later is nobody's business.
    begun d2
    echo mine >d2/mine.part-1
    expect 3 pack d2
    is mine "$(cat d2/mine.part-1)"
}

test_two_at_once() {
    clips
    expect 3 pack one
    disturbed_pack LAWS_PATH=/in/ LAWS_SLOW=50 -- d 2>first &
    until [ -e d/.bload/sequences.tsv ]; do sleep 0.01; done
    expect 1 pack d :err 'another bload is running in d'
    wait $! || is 3 $?
    identical one d
}

# Many at once: whoever comes in does it, whoever does not says so; nobody breaks anything.
test_eight_at_once() {
    clips
    expect 3 pack one
    local i pids=() statuses=
    for i in $(seq 8); do
        pack d 2>"said.$i" &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i" || statuses="$statuses $?"; done
    [[ $statuses == *3* ]] || fail "statuses:$statuses"
    ! grep -hv 'another bload is running\|skipped' said.* >others || fail "$(cat others)"
    expect 3 pack d
    identical one d
}
