# Views: other plans over what datasets store.
# shellcheck shell=bash disable=SC2317,SC2086

# documents FILE SEED COUNT: arrays of ids, of 1 to 120 tokens.
documents() {
    awk -v seed="$2" -v n="$3" 'BEGIN {
        srand(seed)
        for (i = 0; i < n; i++) {
            steps = 1 + int(rand() * 120)
            printf "{\"input_ids\": [%d", i % 1000
            for (t = 1; t < steps; t++) printf ", %d", int(rand() * 50000)
            print "]}"
        }
    }' >"$1"
}

# of WORD MANIFEST
of() { word "$1" <"$2"; }

# damage FILE: other bytes near its end.
damage() { printf '\377\376\375' | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") - 40)) conv=notrunc status=none; }

# stored NAME OPTION...: packs NAME.jsonl.
stored() {
    local name=$1
    shift
    bload pack -q "$name.jsonl" --kind text --key input_ids --pad-id 7 "$@"
}

test_a_view_is_a_small_directory_with_a_plan() {
    documents a.jsonl 1 300
    stored a -T 128 -o a
    expect 0 bload view a -T 256 -o v :err 'bload: v: a view of 1 dataset, with its plan'
    is 'index.safetensors manifest.json rows.safetensors' "$(files v | xargs)"
    expect 0 bload verify v :err 'bload: v: verified, no errors: a view of 1 dataset'
    expect 0 bload status v :out 'view        complete: 300 sequences'
    expect 0 bload info v :out 'source      a (../a): 300 sequences of'
    # What a direct pack plans, the view plans.
    stored a -T 256 -o b
    is "$(of plan_digest "b/manifest.json")" "$(of plan_digest "v/manifest.json")"
    is 7 "$(of pad "v/manifest.json")"
    expect 0 bload view a -T 256 -o v :err 'bload: v is already complete: nothing to do'
    expect 2 bload view a -T 512 -o v :err 'v holds a view of another configuration: T is "256" there, not "512"'
}

test_sequences_in_pieces_are_joined() {
    documents a.jsonl 2 200
    stored a -T 128 -o whole
    stored a -T 32 --oversize split -o split
    stored a --store -o store
    for dir in whole split store; do
        expect 0 bload view -q $dir -T 256 -o "view-$dir" :verified
        is "$(of plan_digest "view-whole/manifest.json")" "$(of plan_digest "view-$dir/manifest.json")"
    done
    # What was cut off is missing, and told; what a view cuts is counted.
    stored a -T 32 --oversize truncate -o short || true
    expect 0 bload view short -T 256 -o v :err 'sequences are not stored as a whole'
    expect 1 bload view whole -T 64 -o w :err 'more than T = 64' :none w
    expect 0 bload view -q whole -T 64 --oversize drop -o w :verified
}

test_several_datasets() {
    documents a.jsonl 3 400
    documents b.jsonl 4 100
    stored a -T 128 -o a
    stored b -T 128 -o b --compress zstd
    expect 0 bload view a b -T 256 --world-size 2 --batch-size 2 -o v :err 'bload: v: a view of 2 datasets, with its plan' :verified
    # Each block has sequences of one dataset, and each batch their shares.
    python3 - v 400 4 <<'END'
import json, struct, sys
data = open(sys.argv[1] + "/index.safetensors", "rb").read()
n = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + n])
def table(name, code, size):
    begin, end = header[name]["data_offsets"]
    return struct.unpack("<%d%s" % ((end - begin) // size, code), data[8 + n + begin:8 + n + end])
ptr, sequence = table("block_ptr", "q", 8), table("sequence", "q", 8)
first, each = int(sys.argv[2]), int(sys.argv[3])
of = [{row >= first for row in sequence[a:b]} for a, b in zip(ptr, ptr[1:])]
assert all(len(block) == 1 for block in of)
second = [sum(True in block for block in of[i:i + each]) for i in range(0, len(of), each)]
assert max(second) - min(second) <= 1, second
assert len(of) % each == 0 and sum(second) * 4 <= len(of) + each
END
    expect 0 bload view -q a b -T 256 --mix random -o w :verified
    is "$(of steps "v/manifest.json")" "$(of steps "w/manifest.json")"
    # An id of both gets the name of its dataset.
    cp -r a c
    expect 0 bload view -q a c -T 256 -o x :verified
}

test_weights() {
    documents a.jsonl 5 400
    documents b.jsonl 6 100
    stored a -T 128 -o a
    stored b -T 128 -o b
    expect 0 bload view a=1 b=1 -T 256 --epochs 3 -o v :verified
    is 'index.safetensors manifest.json plans plans/epoch-00001.safetensors plans/epoch-00002.safetensors rows.safetensors' "$(files v | xargs)"
    expect 0 bload info v :out ', weight 1'
    # b is exhausted after one epoch, and goes on in the next; a is gone through once in about four.
    expect 2 bload view a=1 b=1 -T 256 --epochs 3 --repeat-max 2 -o w :err 'more than --repeat-max 2' :none w
    bload view -q a=1 b=1 -T 256 --epoch-steps 1M --repeat-max 1000 -o w 2>/dev/null && fail 'a number has no suffix'
    expect 0 bload view -q a=1 b=1 -T 256 --epoch-steps 25600 -o w :verified
    is 100 "$(of blocks "w/manifest.json")"
    for bad in 'a=0 b=1' 'a=1 b' 'a= b=1' 'a=1' 'a=-1 b=1' 'a=nan b=1'; do expect 2 bload view $bad -T 256 -o x; done
    # Drawn together, any option of a plan holds.
    expect 0 bload view a=1 b=1 -T 256 --mix random --epochs 3 --world-size 2 --balance quadratic --remainder pad -o r :err ' 50.' :verified
    # Where a block holds one sequence, epochs with fewer of them have empty blocks.
    expect 0 bload view a=1 b=2 -T 120 --mix random --where 'length > 64' --epochs 6 -o s :verified
    expect 2 bload view a=1 b=1 -T 256 --mix random --epochs 3 --repeat-max 2 -o x :err 'the source b: 3 epochs use its'
    expect 2 bload view a b -T 256 --epoch-steps 1000 -o x
    expect 2 bload view a b -T 256 --order keep -o x :none x
}

# Views of other data have tables of one size; what needs more says how much, and leaves nothing.
test_slots_for_sequences() {
    documents a.jsonl 5 60
    documents b.jsonl 6 90
    stored a --store -o a
    stored b --store -o b
    bload view -q a -T 256 --epochs 3 -o plain
    S=$(word S <plain/manifest.json)
    for view in 'a -o v' 'b -o w --max-sequences 4' 'a=1 b=2 --mix random -o x' 'a=1 b=1 -o y'; do
        expect 0 bload view -q $view -T 256 --sequence-slots 40 --epochs 3
    done
    for view in v w x y; do is 40 "$(word S <$view/manifest.json)"; bload verify -q $view; done
    same v/index.safetensors plain/index.safetensors
    expect 0 bload pack -q v -o packed :manifest S 40 :verified
    expect 2 bload view -q a -T 256 --sequence-slots 2 --epochs 3 -o z
    err_has "--sequence-slots 2 are too few: a block has $S sequences; give --sequence-slots $S, or plan with --max-sequences 2"
    expect 2 bload view -q a -T 256 --sequence-slots 257 -o z :err '--sequence-slots 257 is more than T = 256' :none z
    expect 2 bload view -q a -T 256 --sequence-slots 41 --epochs 3 -o v :err 'sequence-slots is "40" there, not "41"'
}

# Of stores, of what is stored with another overlap, by weight: each piece continues the one before.
test_pieces_that_overlap() {
    documents a.jsonl 5 60
    stored a -T 50 --oversize split --overlap 9 -o a
    cp a.jsonl b.jsonl
    stored b --store -T 40 -o b
    for source in a b; do expect 0 bload view -q $source -T 32 --oversize split --overlap 6 --epochs 2 -o v-$source :verified; done
    same v-a/index.safetensors v-b/index.safetensors
    expect 0 bload view a=1 b=2 -T 32 --oversize split --overlap 6 --epochs 2 --mix random -o w :err '; repeated ' :verified
    is $(($(word blocks <w/manifest.json) * 32)) $(($(word steps <w/manifest.json) + $(word repeated <w/manifest.json) + $(word padding <w/manifest.json)))
    expect 0 bload view -q a=1 b=2 -T 32 --oversize split --overlap 6 --epochs 2 -o x :verified
    expect 0 bload pack -q v-a -o packed :verified
    is "$(word repeated <v-a/manifest.json)" "$(word repeated <packed/manifest.json)"
    for id in $(cut -f 1 a/sequences.tsv | sed -n '2p; 9p; 30p'); do
        expect 0 bload cat a "$id"
        cp "$OUT" ids
        for dataset in b v-a packed; do expect 0 bload cat $dataset "${id/a.jsonl/$([ $dataset = b ] && echo b || echo a).jsonl}" :out-as ids; done
    done
    stored a -T 10 --strategy sample -o clips
    expect 2 bload view -q clips -T 5 --oversize split --overlap 2 -o z :err '--overlap needs sequences that are stored from their first step on'
    [ ! -e z ]
}

test_what_cannot_be_viewed() {
    documents a.jsonl 7 50
    stored a -T 128 -o a
    bload pack -q a.jsonl --kind text --key input_ids --dtype u16 -T 128 -o b
    bload view -q a -T 256 -o v
    expect 2 bload view v -T 512 -o w :err 'v is a view itself: name its sources instead (from there: ../a)'
    expect 2 bload view a b -T 256 -o w :err 'the fields of the sources differ: a has tokens I32 []; b has tokens U16 []'
    expect 2 bload view a nothing -T 256 -o w
    expect 2 bload view a ./a -T 256 -o w :err 'a is named twice'
    expect 2 bload view -T 256 -o w
    expect 2 bload view a -T 256
    expect 2 bload view a -o w
    expect 2 bload view a -T 256 -o a :err 'a holds a dataset'
    given other/file '' expect 2 bload view a -T 256 -o other :err 'other holds no view, but file'
    expect 2 bload view a -T 256 --split x=50%,y=50% -o w :err 'make one view for each part'
    expect 2 bload pack -q a.jsonl --kind text --key input_ids -T 128 -o v
    expect 2 bload pack a -T 64 -o d :err 'a is a dataset, not a source: bload view makes other plans over what it stores' :none d
    for name in few fewer; do documents $name.jsonl 3 2; stored $name -T 128 -o $name; done
    expect 2 bload view few fewer -T 256 --epochs 3 --world-size 3 --batch-size 2 -o w :none w
    err_has '2 sequences cannot be spread over 3 blocks: --remainder pad or drop'
}

test_a_source_that_changed_is_named() {
    documents a.jsonl 8 50
    documents b.jsonl 9 50
    stored a -T 128 -o a
    bload view -q a -T 256 -o v
    # Together they can be moved, and plans of epochs change nothing.
    mkdir there
    mv a v there
    bload plan -q --dataset there/a --epochs 2
    bload verify -q there/v
    mv there/a there/old
    expect 1 bload verify there/v :err 'the source a: there/v/../a is not a finished dataset'
    expect 1 bload status there/v
    stored b -T 128 -o there/a
    expect 1 bload verify there/v :err 'is not the one that the view was made of: its index.safetensors has the checksum'
    for i in 0 1; do expect 1 bload verify there/v --task $i/2; done # or a task would verify another dataset
    rm -r there/a
    for i in 0 1; do expect 1 bload verify there/v --task $i/2; done
    mv there/old there/a
    bload verify -q there/v
    # Made again with the dataset elsewhere, it gets the new path; a file that is gone is made again.
    mkdir away
    mv there/a away
    expect 0 bload view away/a -T 256 -o there/v :err 'there/v: its datasets have moved: the view has their new paths now' :verified
    rm there/v/rows.safetensors
    expect 0 bload view away/a -T 256 -o there/v :verified
    mv away/a there/a
    bload view -q there/a -T 256 -o there/v
    # Damage to its own files, and to the source's.
    damage there/v/rows.safetensors
    expect 1 bload verify there/v :err 'rows.safetensors: '
    rm -r there/v
    bload view -q there/a -T 256 -o there/v
    damage there/v/index.safetensors
    expect 1 bload verify there/v :err 'index.safetensors: '
    rm -r there/v
    bload view -q there/a -T 256 -o there/v
    damage "$(find there/a -name '*00000000.safetensors')"
    expect 1 bload verify there/v :err 'a: shards/'
}

test_subsets_and_parts() {
    documents a.jsonl 10 500
    stored a -T 128 -o a
    bload view -q a -T 256 --split train=80%,val=20% --take train -o train
    bload view -q a -T 256 --split train=80%,val=20% --take val -o val
    is 500 $(($(of sequences "train/manifest.json") + $(of sequences "val/manifest.json")))
    bload verify -q train
    bload verify -q val
    expect 0 bload view a -T 256 --where 'length > 60' --first 20 -o few :err 'bload: left out by --where' :verified
    is 20 "$(of sequences "few/manifest.json")"
    expect 1 bload view a -T 256 --where 'length > 600' -o none :none none
}

test_levels() {
    documents a.jsonl 12 300
    stored a -T 128 -o a
    bload view -q a --levels 32,64,128 --batch-size 2 --world-size 2 -o v
    is 'T-128 T-32 T-64 levels.tsv' "$(files v | grep -v / | xargs)"
    is '8 4 2' "$(field batch_size <v/levels.tsv | xargs)"
    is 300 "$(field sequences <v/levels.tsv | awk '{ n += $1 } END { print n }')"
    for T in 32 64 128; do
        bload verify -q v/T-$T
        is "$T" "$(of T v/T-$T/manifest.json)"
        is 0 "$(of deleted v/T-$T/manifest.json)"
        longest=$(of longest v/T-$T/manifest.json)
        [ "$longest" -le $T ] && [ "$longest" -gt $((T / 2)) ]
    done
    bload view -q a --levels 32,64,128 --batch-size 2 --world-size 2 -o v # nothing to do
    for bad in 64 64,32 64,64 a,b '32,64,'; do expect 2 bload view a --levels $bad -o w; done
    expect 2 bload view a --levels 48,128 -o w :err 'which is no multiple of 48'
    expect 2 bload view a -T 64 --levels 32,64 -o w :none w
}

# A level may have no sequence at all, or none of a source with a weight.
test_levels_without_sequences() {
    documents a.jsonl 12 300
    documents b.jsonl 13 20
    stored a -T 128 --where 'length > 8' -o a
    bload view a --levels 8,32,64,128,1024 -o v 2>err
    grep -qx 'bload: v/T-8: no sequence has such a length: not made' err
    grep -qx 'bload: v/T-1024: no sequence has such a length: not made' err
    is 'T-128 T-32 T-64 levels.tsv' "$(files v | grep -v / | xargs)"
    is '128 32 64' "$(field T <v/levels.tsv | sort | xargs)"
    expect 1 bload view a --levels 2048,4096 --where 'length > 2000' -o none :none none
    stored b -T 128 --where 'length > 64' -o b
    for mix in batch random; do
        bload view a=1 b=3 --mix $mix --levels 64,128 -o m-$mix 2>err
        grep -qx "bload: b has no sequence of such a length for m-$mix/T-64" err
        bload verify -q m-$mix/T-64
        bload verify -q m-$mix/T-128
    done
}

# Killed at any point, the next run makes the same bytes.
test_a_killed_run_goes_on() {
    documents a.jsonl 11 3000
    stored a -T 128 -o a
    bload view -q a -T 256 --epochs 30 -o v
    for delay in 0.002 0.005 0.01 0.02 0.04 0.08; do
        "$BLOAD" view -q a -T 256 --epochs 40 -o w & pid=$!
        sleep $delay
        kill -9 $pid 2>/dev/null || true
        wait $pid 2>/dev/null || true
        [ ! -e w/manifest.json ] || rm -r w
    done
    bload view -q a -T 256 --epochs 30 -o w
    diff -r v w
}

test_what_cannot_be_made_leaves_nothing() {
    awk 'BEGIN { for (i = 0; i < 1500; i++) print i }' >a.txt
    expect 0 bload pack -q --documents line --kind text --tokenizer bytes a.txt --store -o a
    in_small_disk 72K '
        expect 1 bload view a -T 8 -o disk/v :err-like "No space left on device"
        [ -z "$(ls -A disk)" ] || { find disk; exit 1; }
        expect 1 bload view a -T 8 --epochs 3 -o disk/v
        [ -z "$(ls -A disk)" ]'
}

test_another_plan_is_noticed_without_verify() {
    documents a.jsonl 8 50
    stored a -T 128 -o a
    bload view -q a -T 256 --epochs 2 -o v
    bload view -q a -T 256 --seed 9 --epochs 2 -o other
    cp -r v changed
    cp other/index.safetensors changed/
    cp other/plans/epoch-00001.safetensors changed/plans/
    expect 1 bload cat changed "$(field id 1 <a/sequences.tsv)" :err 'changed/index.safetensors'
    cp v/index.safetensors changed/
    expect 0 bload show changed
    expect 1 bload show changed --epoch 1
    err_has 'changed/plans/epoch-00001.safetensors: its checksum differs from the manifest: the plan is damaged, or another one'
}

# rows_of VIEW: the rows that its plan has, from 0, once each.
rows_of() {
    python3 - "$1" <<'END'
import json, struct, sys
data = open(sys.argv[1] + "/index.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
begin, end = json.loads(data[8:8 + size])["sequence"]["data_offsets"]
print(*sorted(set(struct.unpack(f"<{(end - begin) // 8}q", data[8 + size + begin:8 + size + end]))))
END
}

# A list of ids may be cut from a table, which writes some characters as escapes; ids as they are match, too.
test_excluded_ids_with_escapes() {
    local -a text=(--kind text --documents file --tokenizer bytes -T 8)
    mkdir in
    for name in $'a\tb' 'c\d' $'e\xff' $'f\ng' h; do echo text >"in/$name.txt"; done
    expect 0 bload pack -q in "${text[@]}" -o all
    tail -n +2 all/sequences.tsv | cut -f 1 | grep -v '^h' >ids
    is 4 "$(wc -l <ids)"
    expect 0 bload view all -T 8 --exclude @ids --exclude $'a\tb.txt' -o v :err 'bload: left out by --exclude: 4 sequences'
    checks :err-lacks 'no sequence has'
    is 1 "$(bload info v --json | jq .sequences)"
    expect 0 bload pack in "${text[@]}" --exclude @ids --exclude 'c\d.txt' -o e :err 'bload: left out by --exclude: 4 sequences'
    checks :err-lacks 'no sequence has'
}

test_what_is_excluded() {
    for name in a b; do printf '{"input_ids": [%d, 1, 2]}\n' 1 2 3 4 >$name.jsonl; done
    printf '{"input_ids": []}\n' >>a.jsonl
    mkdir two
    for name in a b; do stored $name -T 8 -o $name; done
    (cd two && cp ../a.jsonl . && stored a -T 8 -o c)
    ids=(a.jsonl#0 a.jsonl#25 a.jsonl#50 a.jsonl#75 a.jsonl#100)
    is "$(tail -n +2 a/sequences.tsv | cut -f 1 | xargs)" "${ids[*]}"
    printf '%s\r\n\n%s' "${ids[1]}" "${ids[3]}" >list
    # Arguments; rows that are left (a: 0 to 4, the last one empty; then the others); how many were left out; the message.
    while IFS='|' read -r arguments rows count message; do
        rm -rf v
        expect 0 bload view $arguments -T 8 -o v :err "bload: left out by --exclude: $count"
        is "$rows" "$(rows_of v)"
        if [ "$message" ]; then err_has "bload: --exclude $message"; else ! grep -q 'no sequence has' "$ERR"; fi
        expect 0 bload verify -q v
    done <<'END'
a --exclude a.jsonl#25|0 2 3|1 sequence|
a --exclude @list --exclude a.jsonl#25|0 2|2 sequences|
a --exclude a.jsonl#0 --exclude a.jsonl#100|1 2 3|1 sequence|
a --exclude @list --exclude x --exclude y|0 2|2 sequences|x: no sequence has that id, nor 1 other
a b --exclude a.jsonl|5 6 7 8|4 sequences|
a two/c --exclude a.jsonl#0|1 2 3 6 7 8|2 sequences|
a two/c --exclude c/a.jsonl#0 --exclude a/a.jsonl#25|0 2 3 6 7 8|2 sequences|
a two/c --exclude c/a.jsonl|0 1 2 3|4 sequences|
a=1 b=2 --exclude @list --mix random|0 2 5 6 7 8|2 sequences|
a --exclude a.jsonl#0 --where length>2 --first 1|1|1 sequence|
END
    expect 1 bload view a -T 8 --exclude a.jsonl -o none :err-is 'bload: view: no sequence is left: 4 by --exclude'
    for mix in '' '--mix random'; do
        expect 1 bload view a=1 b=1 $mix -T 8 --exclude b.jsonl -o none :err 'bload: view: no sequence of the source b is left: make the view without it'
    done
    expect 2 bload view a -T 8 --exclude @nowhere -o none :err-is 'bload: view: cannot open nowhere: No such file or directory'
    # They are a part of what the view is, in whatever order they are given.
    expect 0 bload view -q a -T 8 --exclude @list -o w
    expect 0 bload view a -T 8 --exclude a.jsonl#75 --exclude a.jsonl#25 -o w :err 'bload: w is already complete: nothing to do'
    expect 2 bload view a -T 8 --exclude a.jsonl#75 -o w :err 'w holds a view of another configuration: exclude is "2 ('
}
