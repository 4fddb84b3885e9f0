# bload pack VIEW: a view becomes a dataset, with the bytes of a direct pack.
# shellcheck shell=bash disable=SC2317,SC2086

# documents [NAME [COUNT]]: of 1 to 200 letters, and a table of attributes.
documents() {
    awk -v n="${2-300}" -v name="${1-docs}" 'BEGIN {
        print "id,weight,class" >(name ".csv")
        for (i = 0; i < n; i++) {
            text = sprintf("%*s", 1 + i * 7919 % 200, "")
            gsub(" ", sprintf("%c", 97 + i % 26), text)
            line = sprintf("{\"text\": \"%s\"}", text)
            print line
            printf "%s.jsonl#%d,%.17g,%d\n", name, at, i / 7, i * 3 >(name ".csv")
            at += length(line) + 1
        }
    }' >"${1-docs}.jsonl"
}

# is_packed DIRECT DIR: the shards and the tables of both are equal, and the second is sound.
is_packed() {
    diff -r "$1/shards" "$2/shards"
    for name in shards.tsv index.safetensors sequences.tsv; do same "$1/$name" "$2/$name"; done
    expect 0 bload verify -q "$2" :none "$2/.bload"
}

STORE=() # further options of the store

# of_view STATUS VIEW-OPTIONS PACK-OPTIONS INPUT...: packs the inputs, whose files INPUTS names, directly, and from a view of a
# store of them.
of_view() {
    local status=$1 plan bytes options=$3
    read -ra plan <<<"$2"
    read -ra bytes <<<"$3"
    shift 3
    rm -rf store view direct d
    expect "$status" bload pack -q "$@" --store "${STORE[@]}" -o store
    expect 0 bload view -q store "${plan[@]}" -o view
    expect "$status" bload pack -q "$@" "${plan[@]}" "${bytes[@]}" -o direct
    # What is kept as is, the store says.
    read -ra bytes <<<"$(sed 's/--encode [a-z0-9:]*//; s/--pad [a-z]*//' <<<"$options")"
    # The copy needs nothing but the store.
    mkdir -p away
    mv "${INPUTS[@]}" away
    expect "$status" bload pack -q view "${bytes[@]}" -o d
    mv away/* .
    is_packed direct d
}

test_documents() {
    documents
    local INPUTS=(docs.jsonl docs.csv)
    local text=(docs.jsonl --tokenizer bytes)
    of_view 0 '-T 256 --seed 3' '--shard-size 10K' "${text[@]}"
    expect 0 bload pack view --shard-size 10K -o d :err 'd is already complete: nothing to do'
    expect 0 bload info d :out 'from text: tokens of bytes (256 ids'
    of_view 0 '-T 64 --oversize split --world-size 2' '--shard-size 4K --segment-ids' "${text[@]}"
    of_view 0 '-T 64 --strategy sample --seed 5' '--compress zstd --frame-size 4K' "${text[@]}"
    of_view 0 '-T 250 --align 8 --max-length 180' '--shard-size 10K' "${text[@]}"
    STORE=(--compress zstd)
    of_view 0 '-T 256 --seed 2' '--shard-size 10K' "${text[@]}"
    expect 0 bload pack view --shard-size 20K -o e :err 'the sources are compressed: their sequences, 120.5 KiB, are first bucketed by shard' :removed
    STORE=()
    of_view 0 '-T 256' '--shard-size 10K' "${text[@]}" --attributes docs.csv
    expect 0 bload pack -q view --shard-size 10K -o e --task 0/1
    expect 0 bload finish -q e :same-as d
    expect 0 bload plan -q --dataset d --epochs 3 :verified d
}

clips() { fixtures v h264-30.mp4 mpeg4-40.avi vp9-24.webm; }

# Frames as they are, as JPEG files and as differences are copied, not decoded.
test_video() {
    clips
    local INPUTS=(v)
    of_view 0 '-T 50' '--shard-size 1' v --size 32x24
    STORE=(--encode jpeg:80)
    of_view 0 '-T 50 --seed 4' '--encode jpeg:80 --shard-size 100K' v --size 64x48
    expect 2 bload pack view -o e --compress zstd :err '--compress: view has JPEG files'
    expect 2 bload pack view -o e --encode jpeg:80 :err '--encode: it has no effect on view, a view'
    STORE=(--encode jpeg:80 --pad repeat)
    of_view 0 '-T 50 --align 8' '--encode jpeg:80 --pad repeat' v --size 64x48
    STORE=(--encode jpeg -T 7)
    of_view 0 '-T 16 --oversize split' '--encode jpeg' v --size 64x48
    STORE=(--encode delta --compress zstd --frame-size 8K)
    of_view 0 '-T 50' '--encode delta --compress zstd:5' v --size 32x24
    expect 2 bload pack view -o e :err 'view has differences of frames, as large as the frames: give --compress zstd'
    expect 0 bload info d :out '; kept as delta'
    STORE=(--encode delta --compress zstd) # with frames of which many pieces have a part
    of_view 0 '-T 4 --oversize split --seed 2' '--encode delta --compress zstd' v --size 32x24
    expect 0 bload pack view -o e --compress zstd --task 0/1 :err 'are first bucketed by shard'
}

test_arrays_and_sound() {
    python3 "$BLOAD_ROOT/fixtures/arrays.py" in
    rm in/sub/spoilt.npz # which fails when it is packed
    local INPUTS=(in)
    of_view 3 '-T 3000' '--shard-size 10K' --kind array in
    STORE=(-T 333 --compress zstd)
    of_view 3 '-T 1000 --oversize split --seed 2' '--compress zstd --shard-size 10K' --kind array in
    fixtures a tone-8000.wav tone-44100-stereo.flac tone-48000.mp3
    INPUTS=(a)
    STORE=()
    of_view 0 '-T 20000 --seed 2' '' a
}

# What failed in the store is not in the view, and stays a failure.
test_of_a_store_with_failures() {
    clips
    cp "$(fixture failing-20.mov)" v/
    expect 3 bload pack -q v --size 32x24 --store -o store
    expect 0 bload view -q store -T 50 --min-length 26 -o view
    expect 3 bload pack view -o d
    expect 3 bload pack view -o d :err '1 input skipped: see d/sequences.tsv (exit status 3)' :verified
    is 'skipped ok ok dropped' "$(field status <d/sequences.tsv | tr '\n' ' ' | sed 's/ $//')"
    is 'shorter than --min-length, 26 steps' "$(field reason 4 <d/sequences.tsv)"
    is "$(field reason 1 <store/sequences.tsv)" "$(field reason 1 <d/sequences.tsv)"
    expect 0 bload view -q store -T 50 --where 'id != mpeg4-40.avi' -o without
    expect 3 bload pack -q without -o f :verified
    is 'dropped not in the view' "$(field status 3 <f/sequences.tsv) $(field reason 3 <f/sequences.tsv)"
    # A sequence that is stored in part has the length of that part.
    expect 3 bload pack -q v --size 32x24 -T 20 --oversize truncate -o short
    expect 0 bload view -q short -T 20 -o less
    expect 3 bload pack less -o e :err 'bload: 3 sequences are not stored as a whole: 34 steps of them are missing from the sources' :verified
    is '20 20 20' "$(field length <e/sequences.tsv | sed 1d | tr '\n' ' ' | sed 's/ $//')"
}

test_several_sources() {
    documents one 100
    documents two 150
    sed -i 's/weight/mass/' two.csv
    expect 0 bload pack -q one.jsonl --tokenizer bytes --attributes one.csv --store -o a
    expect 0 bload pack -q two.jsonl --tokenizer bytes --attributes two.csv --store -o b
    mkdir other
    cp one.jsonl other
    sed -i 's/one.jsonl/other/' one.csv
    (cd other && expect 0 bload pack -q one.jsonl --tokenizer bytes --store -o a)
    expect 0 bload view -q a b -T 256 -o view
    expect 0 bload pack -q view -o d --shard-size 10K :verified
    is 250 "$(field id <d/sequences.tsv | wc -l)"
    diff <(field weight <a/sequences.tsv) <(field weight <d/sequences.tsv | head -n 100)
    diff <(field mass <b/sequences.tsv) <(field mass <d/sequences.tsv | tail -n 150)
    is '' "$(field mass 1 <d/sequences.tsv)"
    expect 0 bload info d :out 'class'
    # An id of both sources has the name of its source.
    expect 0 bload view -q a other/a -T 256 --mix random -o same
    expect 0 bload pack -q same -o e :verified
    is 200 "$(field id <e/sequences.tsv | sort -u | wc -l)"
    is "$(basename "$PWD")" "$(basename "$PWD")"
    # Weights repeat sequences.
    expect 0 bload view -q a=1 b=3 -T 256 -o blend
    expect 2 bload pack blend -o f :err 'a view with weights cannot be packed' :none f
}

test_what_is_refused() {
    documents
    expect 0 bload pack -q docs.jsonl --tokenizer bytes --store -o store
    expect 0 bload view -q store -T 256 --epochs 3 -o view
    expect 0 bload view -q store -T 256 --seed 9 --epochs 3 -o other
    for options in '-T 256' '--seed 2' '--pad repeat' '--tokenizer bytes' '--on-error fail' '--take x' '--exclude d1' '--store'; do
        expect 2 bload pack view -o d $options :err 'it has no effect on view, a view, whose sources and plan decide this: leave it out'
    done
    expect 2 bload pack view docs.jsonl -o d :err 'view is a view, which is packed alone: without other sources' :none d
    expect 0 bload pack view -o d :err 'view has plans of 3 epochs: the first is packed (bload plan --dataset d --epochs N makes further ones)'
    expect 2 bload pack other -o d :err 'd holds a dataset of another configuration: seed is "0" there, not "9"'
    expect 2 bload pack view -o d --segment-ids :err 'segment-ids is "false" there, not "true"'
    expect 2 bload pack view -o view
    # A source that has changed is no longer the view's.
    rm -r store
    expect 0 bload pack -q docs.jsonl --tokenizer bytes --store -T 999 -o store
    expect 1 bload pack view -o e :err 'the source store' :none e
}

test_damage_of_a_source_ends_the_run() {
    documents
    expect 0 bload pack -q docs.jsonl --tokenizer bytes --store -T 500 --shard-size 10K -o store
    expect 0 bload view -q store -T 256 -o view
    rm store/shards/00000/shard-00000001.safetensors
    expect 1 bload pack view -o d :err 'store/shards/00000/shard-00000001.safetensors' :none d/manifest.json
}

# interrupted SIGNAL OPTION...: packs to d, and sends the signal when some shards are there, but not all; after ever more time, since
# copying is fast.
interrupted() {
    local signal=$1 pid delay
    shift
    for delay in 0.02 0.03 0.05 0.07 0.1 0.15 0.2 0.3 0.5 0.8 1.2; do
        rm -rf d
        set -m
        "$BLOAD" pack -q "$@" -o d -j 1 &
        pid=$!
        set +m
        sleep $delay
        kill -s "$signal" "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
        [ -e d/manifest.json ] || [ -z "$(find d/shards -name '*.safetensors' 2>/dev/null)" ] || return 0
    done
    fail "$signal came before or after all shards"
}

test_killed_and_resumed_and_by_tasks() {
    documents docs 8000
    expect 0 bload pack -q docs.jsonl --tokenizer bytes --store --shard-size 100K -o store
    expect 0 bload view -q store -T 256 -o view
    local options=(view --shard-size 16K)
    expect 0 bload pack -q "${options[@]}" -o one -j 1
    interrupted KILL "${options[@]}"
    expect 0 bload pack -q "${options[@]}" -o d -j 2 :same-as one
    interrupted INT "${options[@]}"
    expect 0 bload pack -q "${options[@]}" -o d :same-as one
    in_tasks 3 "${options[@]}" -o tasks :same-as one
    # What is lost or damaged is made again.
    rm d/shards/00000/shard-00000002.safetensors
    printf x | dd of=d/shards/00000/shard-00000001.safetensors bs=1 seek=9000 conv=notrunc status=none
    expect 0 bload pack "${options[@]}" -o d --repair :err 'd: 2 shards were made again, with the same bytes; the dataset is complete' :same-as one
    rm d/manifest.json
    expect 0 bload pack -q "${options[@]}" -o d :same-as one
}

# Of a part, the rows of the others are there, too; the shards are those of the part.
test_a_part() {
    documents
    local part=(--split 'train=70%,val=30%' --take val)
    expect 0 bload pack -q docs.jsonl --tokenizer bytes --store -o store
    expect 0 bload pack -q docs.jsonl --tokenizer bytes -T 256 "${part[@]}" -o direct
    expect 0 bload view -q store -T 256 "${part[@]}" -o view
    expect 0 bload pack -q view -o d
    diff -r direct/shards d/shards
    for name in shards.tsv index.safetensors; do same direct/$name d/$name; done
    diff <(field status <direct/sequences.tsv) <(field status <d/sequences.tsv)
    is 'not in the view' "$(field reason <d/sequences.tsv | sort -u | tail -n 1)"
    expect 0 bload verify -q d
}

# What --extend left out of a source is in the copy where another source of the view holds it; what none holds was left out.
test_sources_that_extend_each_other() {
    mkdir older newer
    for i in 1 2 3; do seq $((10 * i)) >older/$i.txt; done
    cp older/[12].txt newer
    seq 25 >newer/4.txt
    expect 0 bload pack -q older --tokenizer bytes --exclude 2.txt -T 100 -o a
    expect 0 bload pack -q older --tokenizer bytes --where 'id=2.txt' -T 100 -o b
    expect 0 bload pack -q newer --tokenizer bytes --extend a --extend b -T 100 -o c
    expect 0 bload view -q a c -T 200 -o view
    expect 0 bload pack view -o d :err 'bload: left out by --extend: 1 sequence' :verified
    is 'held by another source of the view' "$(field reason 4 <d/sequences.tsv)"
    is 'left out by --extend b' "$(field reason 5 <d/sequences.tsv)"
    expect 0 bload info d :out 'left out    2 sequences by request: --exclude 1, --extend 1'
    bload report -q d -o d.html
    grep -q 'left out by request</th><td[^>]*>2 sequences' d.html
    ! grep -q 'held by another source' d.html || fail 'the report counts it'
    rm d/shards/00000/shard-00000000.safetensors
    expect 0 bload pack -q view -o d :verified
    expect 0 bload view -q a b c -T 200 -o whole
    expect 0 bload pack whole -o e
    ! grep -q 'left out by --extend' "$ERR" e/sequences.tsv || fail "$(cat "$ERR" e/sequences.tsv)"
}
