# Fields with steps of their own in datasets and views: what is packed, what is shown of it, and what is refused.
# shellcheck shell=bash disable=SC2317,SC2086

# Ten arrays with a table of texts, and with patches beside some of them; set.yaml packs all of it.
setup() {
    python3 - <<'END'
import array, os
def save(path, steps, width, first):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({steps}, {width}), }}".ljust(117) + "\n"
    values = array.array("f", [first + i / 4 for i in range(steps * width)])
    open(path, "wb").write(b"\x93NUMPY\1\0\x76\0" + header.encode() + values.tobytes())
for i, steps in enumerate([7, 3, 9, 4, 5, 8, 2, 6, 3, 5]):
    save(f"s/{i:02d}.npy", steps, 2, i)
for i, steps in {0: 2, 2: 4, 5: 1, 7: 3}.items():
    save(f"p/{i:02d}.npy", steps, 20, 100 * i)
END
    texts=(seven '' 'nine steps' 'ä <b>' five x '' six three last)
    put t.csv 'id,text,n\n'
    for i in {0..9}; do echo "0$i,${texts[i]},$i" >>t.csv; done
    put set.yaml 'sources: [s/]\nT: 12\nattributes: t.csv\nfields:
  - {name: text, kind: text, column: text, tokenizer: bytes, steps: own, capacity: 24}
  - {name: patches, path: "p/{id}.npy", steps: own, capacity: auto, missing: empty}\n'
}

# holds DIR [PREFIX [NONE]]: its sequences, whose ids have the prefix, have the own steps of the files; NONE: they have none.
holds() {
    local i
    for i in {0..9}; do
        is "${3-${texts[i]}}" "$(bload cat "$1" "${2-}0$i.npy" --field text)"
        expect 0 bload cat "$1" "${2-}0$i.npy" --field patches -o p.npy
        if [ -e p/0$i.npy ] && [ $# -lt 3 ]; then cmp p/0$i.npy p.npy; else is 128 "$(stat -c %s p.npy)"; fi
    done
}

# spoil FILE TENSOR [ELEMENT]: another byte in a tensor of a safetensors file, by default in its first element, of four bytes.
spoil() {
    python3 - "$1" "$2" "${3-0}" <<'END'
import json, struct, sys
path, name, element = sys.argv[1:]
data = bytearray(open(path, "rb").read())
size, = struct.unpack("<Q", data[:8])
at = 8 + size + json.loads(data[8:8 + size])[name]["data_offsets"][0] + 4 * int(element)
data[at] ^= 1
open(path, "wb").write(data)
END
}

shard() { find "$1/shards" -name '*.safetensors*' | sort | sed -n "$((${2-0} + 1))p"; }

test_every_form_of_a_dataset_holds_the_steps() {
    local options
    while read -r options; do
        expect 0 bload pack -q -c set.yaml $options -j 1 -o d :verified
        holds d
        expect 0 bload pack -q -c set.yaml $options -j 4 -o again :same-as d :removed
        expect 0 bload info d :out 'capacity    field text: at most ' 'capacity    field patches: at most ' 'steps of its own, '
        rm -r d
    done <<'END'
--seed 0
--compress zstd
--shard-size 1
--shard-size 1 --compress zstd
--world-size 2 --segment-ids --pad repeat
--align 4 --T 16
--store
END
    sed -i 's/capacity: 24/&, storage: flat/; s/auto/6, storage: padded/' set.yaml
    expect 0 bload pack -q -c set.yaml -o d :verified :out-is ''
    holds d
    expect 0 bload info d :out 'text I32 [24] per block, steps of its own, stored flat' 'patches F32 [6, 20] per block, steps of its own, padded'
}

test_damage_of_each_table() {
    local file tensor words
    expect 0 bload pack -q -c set.yaml -o d
    expect 0 bload view -q d -T 20 -o v
    while IFS='|' read -r file tensor words; do
        cp "$file" whole
        spoil "$file" "$tensor"
        expect 1 bload verify -q "${file%%/*}" :err "$words"
        cp whole "$file"
        expect 0 bload verify -q "${file%%/*}"
    done <<END
$(shard d)|text|block 0 of text: checksum
$(shard d)|patches|of patches: checksum
$(shard d)|text_cu_seqlens|text_cu_seqlens
$(shard d)|patches_cu_seqlens|patches_cu_seqlens
$(shard d)|patches_offsets|patches_offsets
d/index.safetensors|text.length|index.safetensors
d/index.safetensors|text.start|index.safetensors
d/index.safetensors|patches.length|index.safetensors
v/index.safetensors|patches.start|index.safetensors
v/rows.safetensors|own.text.length|rows.safetensors
v/rows.safetensors|own.text.start|rows.safetensors
v/rows.safetensors|own.patches.length|rows.safetensors
v/rows.safetensors|own.patches.start|rows.safetensors
END
}

# What is damaged in a field is drawn of no sequence, and the others are.
test_show() {
    expect 0 bload pack -q -c set.yaml --order keep -o d
    expect 0 bload show d --sequence 02.npy :out '; text: 10 steps; patches: 4 steps of [20]' 'text: 10 steps' 'nine steps' 'patches: 4 steps of [20]'
    expect 0 bload show d --sequence 02.npy :out-like ', 10 steps$' '^200 200.2 200.5 200.8 201 201.2 201.5 201.8 \.\.\.$' '^\.\.\.$'
    expect 0 bload show d --sequence 01.npy :out '; text: no steps; patches: no steps' :out-like '^text: no steps$' ', no steps$'
    # Names and texts are masked on a terminal and escaped in pages.
    expect 0 bload show d --sequence 03.npy :out '? <b>'
    LC_ALL=C.UTF-8 expect 0 bload show d --sequence 03.npy :out 'ä <b>'
    for form in html svg; do
        expect 0 bload show d --sequence 03.npy -o x.$form :out-is ''
        grep -qF 'ä &lt;b&gt;' x.$form || fail "x.$form lacks the text"
        ! grep -q '<b>' x.$form || fail "x.$form has the text as it is"
    done
    expect 0 bload show d --block 0 -o x.png
    expect 0 bload show d --block 0 -o x.html
    grep -qE 'text: [0-9]+ of 24 steps; patches: [0-4] of 4 steps of \[20\]' x.html || fail 'the block lacks its fill'
    expect 0 bload show d --block 0 --field text :out-like '^text: [0-9]* of 24 steps$' :out-lacks patches:
    expect 0 bload show d --block 0 --field array :out-lacks text: patches:
    expect 2 bload show d --mask text :err '--mask text: there is no such field of one integer a step'
    spoil "$(shard d)" text
    expect 1 bload show d --block 0 :err 'block 0 of text has the checksum' :out-like ' steps: damaged$' '(damaged)$' '^patches: '
    expect 1 bload show d --block 0 -o x.html :err 'block 0 of text'
    grep -q 'Damaged: not shown' x.html || fail 'the page does not say it'
}

# Sequences of a view from a source without the fields have none.
test_report() {
    expect 0 bload pack -q -c set.yaml -o d
    expect 0 bload report d -o r.html :err-is ''
    for words in 'steps of its own, flat' 'steps of its own, padded' '<h4>patches: ' ' of 24 steps; patches: ' 'field text' ', no steps</h5>'; do
        grep -qF "$words" r.html || fail "the report lacks: $words"
    done
    expect 0 bload pack -q s -T 12 -o plain
    expect 0 bload view -q plain d -T 12 -o v
    expect 0 bload report v -o r.html
    # A report has the first sequences of a block, and the beginning of a long text.
    for i in {10..30}; do
        cp s/06.npy s/$i.npy
        echo "$i,,0" >>t.csv
    done
    expect 0 bload pack -q -c set.yaml -T 94 --capacity text=99 -o many
    expect 0 bload report many -o r.html
    is 2 "$(grep -c '<p>11 sequences more.</p>' r.html)"
    sed -i "s/^02,[^,]*/02,$(printf 'y%.0s' {1..300})END/" t.csv
    sed -i 's/24/400/' set.yaml
    expect 0 bload pack -q -c set.yaml -o long
    expect 0 bload report long --blocks 9 -o r.html
    grep -qF 'yyyy ...</p>' r.html || fail 'the report lacks the text'
    ! grep -q yEND r.html || fail 'the text is not cut'
    expect 0 bload show long --sequence 02.npy -o x.html
    grep -q yEND x.html || fail 'show cuts the text'
}

test_cat_and_find() {
    local status words result
    expect 0 bload pack -q -c set.yaml -o d
    expect 0 bload pack -q s -T 12 -o plain
    expect 0 bload view -q plain d -T 12 -o v
    while IFS='|' read -r status words result; do
        expect $status bload cat $words
        if [ $status = 0 ]; then is "$result" "$(xargs <"$OUT")"; else err_has "$result"; fi
    done <<'END'
0|d 02.npy --field text|nine steps
0|d 02.npy --field text --steps 5..|steps
0|d 02.npy --field text --steps 1..3|in
0|d 02.npy --field text --step 3|e
0|d 09.npy --field text --as ids|108 97 115 116
0|d 01.npy --field text|
0|d 01.npy --field text --as ids|
2|d 02.npy --field text --steps 4..11|d: 02.npy has 10 steps of text, 0..10: it has no steps 4..11
2|d 01.npy --field text --steps 0..1|d: 01.npy has 0 steps of text, 0..0: it has no steps 0..1
2|d 01.npy --field patches --step 0|01.npy has 0 steps of patches
2|d 02.npy --field patches --as ids|patches does not have one integer a step
2|d 02.npy|--field must be given, one of: array, text, patches
0|v d/02.npy --field text|nine steps
0|v plain/02.npy --field text|
2|v plain/02.npy --field text --steps 0..1|plain/02.npy has 0 steps of text
END
    expect 0 bload find d --text 02.npy 01.npy :out-like '^    nine steps$'
    expect 0 bload find v --text plain/02.npy d/02.npy :out-count 1 '^    nine steps$'
    spoil "$(shard d)" patches
    for words in 00.npy 02.npy 05.npy 07.npy; do # those that have patches; one of them is in the damaged block
        bload cat d $words --field patches -o p.npy 2>/dev/null || break
    done
    expect 1 bload cat d $words --field patches -o p.npy :err 'of patches has the checksum'
    expect 0 bload cat d $words --field text
}

# The process that plans lists no inputs: it has the capacities from the file.
test_tasks_make_the_bytes_of_one_run() {
    local options task
    for options in '' '--compress zstd'; do
        expect 0 bload pack -q -c set.yaml --shard-size 1 $options -o one
        for task in 2 0 1; do expect 0 bload scan -q -c set.yaml --task $task/3 -o many; done
        expect 0 bload plan -c set.yaml many :err 'field text: at most ' 'field patches: at most 4 of 4 steps'
        expect 0 bload status many :out 'plan        there: '
        in_tasks 3 -c set.yaml --shard-size 1 $options -o many :same-as one :removed
        in_tasks 2 -c set.yaml --shard-size 1 $options -o many :same-as one :removed
        rm -r one
    done
    for task in 0 1; do expect 0 bload scan -q -c set.yaml --task $task/2 -o many; done
    expect 0 bload plan -q -c set.yaml --capacity text=16 many
    expect 2 bload pack -q -c set.yaml --task 0/2 -o many :err 'capacity is "text=16,patches=auto" there, not "text=24,patches=auto"'
    expect 2 bload plan -q -c set.yaml --capacity other=16 many :err '--capacity: no field "other" has steps of its own'
}

test_lost_and_damaged_shards_are_made_again() {
    local options
    for options in '' '--compress zstd'; do
        expect 0 bload pack -q -c set.yaml --shard-size 1 $options -o d
        cp -r d whole
        rm "$(shard d 1)"
        shorten 1 "$(shard d 2)"
        expect 0 bload pack -q -c set.yaml --shard-size 1 $options -o d :same-as whole
        if [ -z "$options" ]; then
            spoil "$(shard d 1)" text
            expect 0 bload pack -q -c set.yaml --shard-size 1 --repair -o d :same-as whole
        fi
        # A run that was killed goes on.
        ended_by KILL 'k/shards/*/*' bload pack -q -c set.yaml --shard-size 1 $options -o k
        expect 0 bload pack -q -c set.yaml --shard-size 1 $options -o k :same-as whole
        rm -r d whole k
    done
}

test_subsets_and_extensions() {
    expect 0 bload pack -q -c set.yaml --where 'n<5' -o old :verified
    expect 0 bload pack -q -c set.yaml --first 3 -o first :verified
    expect 0 bload pack -q -c set.yaml --split a=50%,b=50% --take a -o part :verified
    expect 0 bload pack -q -c set.yaml --extend old -o new :verified
    expect 0 bload view -q old new -T 12 -o v
    expect 0 bload cat v 02.npy --field text :out 'nine steps'
    expect 0 bload cat v 07.npy --field patches -o p.npy
    cmp p/07.npy p.npy
    # Other patches make another sequence.
    cp p/00.npy p/02.npy
    expect 0 bload pack -c set.yaml --extend old -o newer :err 'changed since old was packed: 02.npy'
}

test_dry_runs_foretell_the_bytes() {
    local options
    for options in '' '--shard-size 1'; do
        expect 0 bload pack -q -c set.yaml $options --dry-run --json -o d :none d
        cp "$OUT" dry.json
        expect 0 bload pack -q -c set.yaml $options --json -o d
        awk -v a="$(sed -n 's/^  "bytes": \(.*\),/\1/p' dry.json)" -v b="$(sed -n 's/^  "bytes": \(.*\),/\1/p' "$OUT")" 'BEGIN { exit !(a > 0.99 * b && a < 1.01 * b) }' || fail 'other bytes'
        is "$(grep -A 17 '"capacities"' dry.json)" "$(grep -A 17 '"capacities"' "$OUT")"
        rm -r d
    done
}

# A view has the own fields of all its sources, and capacities of its own.
test_views() {
    expect 0 bload pack -q -c set.yaml -o d
    expect 0 bload pack -q s -T 12 -o plain
    expect 0 bload view -q d -T 20 --capacity text=40 -o v :verified
    holds v
    expect 0 bload info v :out 'text I32 [40] per block'
    expect 0 bload view -q plain d -T 15 -o both :verified
    holds both d/
    holds both plain/ ''
    expect 0 bload pack -q both -o packed :verified
    holds packed d/
    holds packed plain/ ''
    expect 0 bload plan -q --dataset d --epochs 2
    expect 0 bload show d --epoch 1 --sequence 02.npy :out 'nine steps'
    expect 0 bload show d --epoch 1 --block 0 :out ' of 24 steps'
    expect 0 bload verify -q d
    expect 1 bload view d -T 12 --capacity text=5 -o w :err '10 steps of the field text, more than its capacity, 5' :none w
    expect 2 bload view plain -T 12 --capacity text=5 -o w :err '--capacity: no field "text" has steps of its own' :none w
    # Fields of one name have one shape, however they are stored.
    sed -i 's/capacity: 24/&, storage: flat/' set.yaml
    expect 0 bload pack -q -c set.yaml -o flat
    expect 0 bload view -q d flat -T 12 -o w :verified
    holds w flat/
    for i in 00 02 05 07; do npy p/$i.npy '2, 3' i '<f4'; done
    expect 0 bload pack -q -c set.yaml -o other
    expect 2 bload view d other -T 12 -o x :err 'patches' :none x
}

test_exports() {
    local format
    expect 0 bload pack -q -c set.yaml -o d
    for format in mds webdataset; do
        expect 0 bload export -q --to $format d -o $format
        expect 0 bload verify $format --against d :err ', equal to d'
    done
    for format in megatron energon; do
        expect 2 bload export --to $format d -o $format :err 'steps of its own' :none $format
    done
}

# A plan that is given has the columns, or the tables, of own fields.
test_plans_that_are_given() {
    local edit message
    expect 0 bload scan -q -c set.yaml -o seq.tsv
    expect 0 bload pack -q -c set.yaml -o d
    for plan in plan.tsv plan.safetensors; do
        expect 0 bload plan -q seq.tsv -T 12 --capacity text=24,patches=auto -o $plan
        expect 0 bload pack -q -c set.yaml --sequences seq.tsv --plan $plan -o given :same-in d index.safetensors :verified
        diff -r d/shards given/shards
        rm -r given
    done
    is 'text.start text.length patches.start patches.length' "$(head -n 1 plan.tsv | cut -f 6- | tr '\t' ' ')"
    while IFS='|' read -r edit message; do
        awk -F '\t' -v OFS='\t' "$edit" plan.tsv >bad.tsv
        expect 1 bload pack -q -c set.yaml --sequences seq.tsv --plan bad.tsv -o given :err "$message" :none given/manifest.json
        rm -rf given
    done <<'END'
NR == 2 { $7++ } 1|bad.tsv:2: 
NR == 2 { $6++ } 1|bad.tsv:2: 
NR > 1 { $9++ } 1|bad.tsv:2: 
NF = 7|bad.tsv:1: not a plan: the header line is not
NF = 5|bad.tsv:1: not a plan: the header line is not
{ $6 = $8 } 1|bad.tsv:1: not a plan: the header line is not
END
    for plan in plan.tsv plan.safetensors; do
        expect "$([ $plan = plan.tsv ] && echo 1 || echo 2)" bload pack -q -c set.yaml --capacity text=12 --sequences seq.tsv --plan $plan -o given :err "$plan: "
        rm -rf given
    done
    expect 0 bload plan -q seq.tsv -T 12 --capacity text=24 -o plan.safetensors
    expect 2 bload pack -q -c set.yaml --sequences seq.tsv --plan plan.safetensors -o given :err 'plan.safetensors: fields with steps of their own: the plan has 1, the data 2'
}

test_what_is_refused_or_left_out() {
    local status options message
    while IFS='|' read -r status options message; do
        expect $status bload pack -q -c set.yaml $options -o d :err "$message"
        rm -rf d
    done <<'END'
2|--capacity other=3|--capacity: no field "other" has steps of its own
1|--capacity text=5|02.npy (sequence 2) alone has 10 steps of the field text, more than its capacity, 5 (too many: 2): use a larger --capacity, or --oversize drop
2|--capacity text=0|--capacity expects the name of a field, = and a number of steps
2|--capacity text=24,text=25|--capacity
1|-T 8 --oversize split|02.npy (sequence 2) has 9 steps, more than T = 8, and a field with steps of its own: it cannot be cut
1|-T 8 --oversize truncate|02.npy (sequence 2) has 9 steps, more than T = 8, and a field with steps of its own: it cannot be cut
2|--strategy naive|fields with steps of their own (text.length) need --strategy block or store
2|--strategy sample --clip 3|fields with steps of their own (text.length) need --strategy block or store
END
    expect 0 bload pack -q -c set.yaml --capacity text=5 --oversize drop -o d :made status 'ok ok dropped dropped ok ok ok ok ok ok' :verified
    expect 2 bload show d --sequence 02.npy :err '02.npy is not stored: it was dropped'
    # Pictures are encoded where they are those of the sequences.
    npy p/00.npy '2, 8, 8, 3'
    rm p/02.npy p/05.npy p/07.npy
    expect 2 bload pack -q -c set.yaml --encode jpeg -o e :err '--encode: the field "patches" has steps of its own, which cannot be encoded'
    # Sequences without own steps may be cut.
    sed -i '2,$s/,.*,/,,/' t.csv
    expect 0 bload pack -q -c set.yaml -T 7 --oversize split -o cut :verified
    expect 0 bload show cut --sequence 02.npy :out 'in 2 pieces; text: no steps; patches: no steps'
}

# The tokens of sources, and own tokens of a tokenizer with options of its own: a tokenizer that is given suits one of them.
test_several_tokenizers() {
    local dataset
    python3 -c 'import base64; [print(base64.b64encode(bytes([i])).decode(), i) for i in range(256)]' >b.tiktoken
    put d.jsonl '{"text": "one", "own": "a<|endoftext|>b"}\n{"text": "two", "own": "b"}\n'
    put doc.yaml 'sources: [d.jsonl]\ntokenizer: bytes\nT: 12\nfields:
  - {name: own, kind: text, key: own, tokenizer: b.tiktoken, pattern: "[a-z]|[^a-z]+", special: parse, steps: own, capacity: auto}\n'
    expect 0 bload pack -q -c doc.yaml -o d
    expect 0 bload view -q d -T 20 -o v
    expect 0 bload pack -q v -o r
    for dataset in d v r; do
        expect 0 bload cat $dataset d.jsonl#0 --field own --tokenizer b.tiktoken :out 'a<|endoftext|>b'
        expect 0 bload show $dataset --sequence d.jsonl#0 --tokenizer b.tiktoken :out-like '^a<|endoftext|>b$' '^one$'
        expect 0 bload show $dataset --sequence d.jsonl#0 :out-like '^97 60 [0-9 ]* 98$' '^one$'
        expect 0 bload find $dataset --text --field own --tokenizer b.tiktoken d.jsonl#0 "$(field id 2 <d/sequences.tsv)" :out-like '^    a<|endoftext|>b$' '^    b$'
    done
    awk '{ print $1, 255 - $2 }' b.tiktoken | sort -nk 2 >other.tiktoken
    expect 2 bload show d --tokenizer other.tiktoken :err 'but the tokenizer of the ids is'
}

# A store cuts sequences: the own steps lie beside the first piece.
test_a_store() {
    expect 0 bload pack -q -c set.yaml --store -T 4 -o d :verified
    holds d
    expect 0 bload show d --sequence 02.npy :out-like 'in [34] pieces; text: 10 steps; patches: 4 steps' :out-count 1 '^nine steps$'
    expect 0 bload find d --text 02.npy :out-count 1 '^    nine steps$'
    expect 0 bload view -q d -T 12 --capacity text=24 -o v :verified
    holds v
    expect 0 bload pack -q v -o copy :verified
    holds copy
}
