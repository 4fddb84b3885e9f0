# bload find: where sequences lie. What it says of training runs is compared with the samplers in python/tests/test_find.py.
# shellcheck shell=bash disable=SC2317,SC2086

shard=shards/00000/shard-00000000.safetensors

# lines: four documents; the second is empty, the third is in pieces of blocks of 8.
lines() {
    printf '{"text": "abc"}\n{"text": ""}\n{"text": "0123456789abcdefghij"}\n{"text": "xyz"}\n' >t.jsonl
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 8 --oversize split -o d
}

# places: the lines of the table that were printed, without the names of columns, in order.
places() { tail -n +2 "$OUT" | sort; }

test_places() {
    lines
    expect 0 bload find d t.jsonl#29 t.jsonl#0 :err-is ''
    is $'id\tblock\tstart\tlength\tsource_start\tshard' "$(head -n 1 "$OUT")"
    is '0 8 8 8 16 4' "$(awk '$1 == "t.jsonl#29" {print $5, $4}' "$OUT" | xargs)"
    is 't.jsonl#29 t.jsonl#29 t.jsonl#29 t.jsonl#0' "$(awk 'NR > 1 {print $1}' "$OUT" | xargs)"
    is "d/$shard" "$(awk 'NR > 1 {print $6}' "$OUT" | sort -u)"
    cp "$OUT" both
    put ids 't.jsonl#29\r\n\nt.jsonl#0'
    for list in @ids -; do expect 0 bload find d "$list" <ids :out-as both; done
}

test_json_is_an_object_a_line() {
    lines
    expect 0 bload find d t.jsonl#29 t.jsonl#16 --json --text
    python3 - "$OUT" <<'END'
import json, sys
one, two, three, none = map(json.loads, open(sys.argv[1]))
assert [part["text"] for part in (one, two, three)] == ["01234567\n", "89abcdef\n", "ghij\n"], one
assert (one["sequence"], one["status"], one["plan"], one["length"]) == (2, "ok", 0, 8), one
(stored,) = three["stored"]
assert (stored["block"], stored["index"], stored["start"], stored["length"]) == (three["block"], three["block"], three["start"], 4), three
assert (none["status"], none["reason"], none["block"], none["stored"]) == ("skipped", "empty document", None, []), none
assert "step" not in one and "text" not in none
END
    err_is </dev/null
}

test_a_step_and_its_ids_tell_the_same() {
    for i in $(seq 0 40); do printf '{"text": "%*d"}\n' $((i * 7 % 31 + 1)) "$i"; done >t.jsonl
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 32 --world-size 2 --batch-size 3 -o d
    expect 0 bload plan -q --dataset d --epochs 2 --seed 3
    for epoch in 0 1 4; do
        expect 0 bload find d --epoch $epoch --step 1 --seed 5
        err_has "bload: epoch $epoch by plan $((epoch % 3)), shuffled by seed 5: " ' of 2 ranks with 3 blocks each'
        is '0 1 2' "$(awk 'NR > 1 {print $8}' "$OUT" | sort -u | xargs)"
        places >step
        cut -f 1 step | bload find -q d - --epoch $epoch --seed 5 | tail -n +2 | sort | diff -u step -
    done
    # Not read: what was consumed before, and what is dropped at the end.
    expect 0 bload find d @<(awk 'NR > 1 {print $1}' d/sequences.tsv) --epoch 0 --world-size 1 --batch-size 5 --consumed 6 --remainder drop
    err_has ' pieces are not read: the blocks were consumed before, or are left out at the end'
    places | cut -f 6-8 | grep -q $'^-\t-\t-$'
}

test_text() {
    lines
    expect 0 bload find d t.jsonl#0 --text
    is '    abc' "$(sed -n 3p "$OUT")"
    printf '{"text": "one\\ntwo\\u001b\\n\\nfour\\nfive\\n"}\n{"text": "%0200d"}\n' 7 >u.jsonl
    printf '{"text": "äöü"}' >>u.jsonl
    expect 0 bload pack -q u.jsonl --tokenizer bytes -T 256 -o e
    expect 0 bload find e u.jsonl#0 --text --lines 3
    is '    one|    two?|    |    ...' "$(tail -n +3 "$OUT" | paste -sd '|')"
    expect 0 bload find e u.jsonl#43 --text
    is '160 40' "$(tail -n +3 "$OUT" | awk '{print length($1)}' | xargs)"
    expect 0 bload find e u.jsonl#256 --text
    is '    äöü' "$(tail -n 1 "$OUT")"
    given i.jsonl '{"input_ids": [7, 8]}\n' expect 0 bload pack -q i.jsonl --kind text -T 8 --key input_ids -o f
    expect 2 bload find f i.jsonl#0 --text :err 'bload: find: tokens cannot be decoded to text'
    echo '{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}}' >letters.json
    given l.jsonl '{"text": "ab"}\n' expect 0 bload pack -q l.jsonl --tokenizer letters.json -T 8 -o g
    expect 2 bload find g l.jsonl#0 --text --tokenizer letters.json :err 'bload: find: the ids of letters.json cannot be decoded here'
    err_has '(bload cat --as ids writes them)'
}

test_what_is_in_no_block() {
    lines
    expect 0 bload find d t.jsonl#16 :err-is 'bload: t.jsonl#16 is in no block: it was skipped: empty document'
    places | diff - /dev/null
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 8 --oversize drop -o e
    expect 0 bload find e t.jsonl#29 :err 'bload: t.jsonl#29 is in no block: it was dropped'
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 8 --oversize drop --exclude t.jsonl#0 -o f
    expect 0 bload find f t.jsonl#0 :err-is 'bload: t.jsonl#0 is in no block: it was dropped: left out by --exclude'
    expect 0 bload view -q d -T 32 --exclude t.jsonl#29 -o v
    expect 0 bload find v t.jsonl#29 t.jsonl#0 :err-is 'bload: t.jsonl#29 is in no block: the plan of v leaves it out'
    is "v/../d/$shard" "$(awk 'NR > 1 {print $6}' "$OUT")"
}

# A failed sequence has its places where it was packed, and none in a view.
test_sequences_that_failed() {
    mkdir in
    python3 - <<'END'
import struct, zipfile
words = "{'descr': '<f4', 'fortran_order': False, 'shape': (20, 3), }".ljust(117) + "\n"
for name in "ab":
    with zipfile.ZipFile(f"in/{name}.npz", "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\1\0" + struct.pack("<H", 118) + words.encode() + bytes(240))
with zipfile.ZipFile("in/b.npz") as archive:
    end = archive.start_dir
with open("in/b.npz", "r+b") as file:
    file.seek(end - 40)
    file.write(b"\xff" * 4)
END
    expect 3 bload pack -q in --kind array -T 8 --oversize split --overlap 2 -o d
    expect 0 bload find d b.npz :err-is 'bload: b.npz failed while packing, and steps of it are zeros: damaged archive: CRC error'
    is 3 "$(places | wc -l)"
    expect 0 bload view -q d -T 8 --oversize split --overlap 2 -o v
    expect 0 bload find v b.npz a.npz :err-is 'bload: b.npz is in no block: it failed while packing: damaged archive: CRC error'
    is 'a.npz a.npz a.npz' "$(places | cut -f 1 | xargs)"
}

test_views() {
    lines
    cp -r d e
    expect 0 bload view -q d e -T 64 --epochs 2 -o v
    expect 0 bload find v d/t.jsonl#29 e/t.jsonl#29 --epoch 1 -q
    is "v/../e/$shard" "$(awk '$1 == "e/t.jsonl#29" {print $9}' "$OUT" | tr , '\n' | sort -u)"
    is 20 "$(awk '$1 == "e/t.jsonl#29" {sum += $4} END {print sum}' "$OUT")"
    expect 2 bload find v t.jsonl#29 :err-is 'bload: find: v has no sequence t.jsonl#29: did you mean d/t.jsonl#29?'
}

# Both pieces store the steps that one repeats of the other: a piece is told where it lies whole.
test_pieces_that_overlap() {
    lines
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 8 --oversize split --overlap 3 -o o
    expect 0 bload plan -q --dataset o --epochs 1
    expect 0 bload view -q o -T 8 --oversize split --overlap 3 --seed 2 -o v
    for options in 'o' 'o --epoch 1' 'v'; do
        expect 0 bload find $options t.jsonl#29 --json -q
        is '[0,8] [5,8] [10,8] [15,5]' "$(jq -c '[.source_start, .stored[].length]' "$OUT" | xargs)"
    done
    expect 0 bload find o t.jsonl#29 --json
    is 'true' "$(jq '.block == .stored[0].block and .start == .stored[0].start' "$OUT" | sort -u)"
    expect 0 bload view -q o -T 32 -o whole
    expect 0 bload find whole t.jsonl#29
    is "whole/../o/$shard" "$(awk 'NR > 1 {print $6}' "$OUT")"
    expect 0 bload cat whole t.jsonl#29 --as text
    printf 0123456789abcdefghij | out_is
}

test_ids_that_are_not_there() {
    lines
    expect 2 bload find d t.jsonl#1 t.jsonl#0 :err-is 'bload: find: d has no sequence t.jsonl#1: did you mean t.jsonl#0?'
    is t.jsonl#0 "$(places | cut -f 1)"
    for i in $(seq 12); do echo "no $i"; done >ids
    expect 2 bload find d t.jsonl#0 @ids :err 'bload: d has no sequence no 10' 'bload: find: d has no sequences of 12 of 13 ids'
    is 11 "$(wc -l <"$ERR")"
    is t.jsonl#0 "$(places | cut -f 1)"
}

test_wrong_usage() {
    lines # five blocks, one rank
    : >empty
    while IFS='|' read -r arguments message; do expect 2 bload find $arguments :out-is '' :err-is "bload: find: $message"; done <<'END'
d|expects a dataset directory, and ids or --step N (see bload find --help)
d t.jsonl#0 --epoch 0 --step 0|ids or --step, not both
nowhere t.jsonl#0|cannot open nowhere: No such file or directory
d t.jsonl#0 t.jsonl#0|t.jsonl#0 is given twice
d @empty|the list of ids is empty
d @nowhere|cannot open nowhere: No such file or directory
d --step 0|--step has no effect without --epoch
d t.jsonl#0 --seed 3|--seed has no effect without --epoch
d t.jsonl#0 --lines 3|--lines has no effect without --text
d t.jsonl#0 --epoch 1 --window-seed 3|--window-seed has no effect without --window
d --step 4 --epoch 1|--step 4: an epoch has 4 steps; counted from the beginning of the training, step 4 is --epoch 1 --step 0
d --step 1 --epoch 1 --consumed 3|--step 1: 1 step is left in epoch 1
d --step 1 --epoch 1 --world-size 3|an epoch has 4 blocks, which is not a multiple of 3 = --world-size 3 * --batch-size 1: a sampler refuses that, unless --remainder pad repeats 2 of them, or --remainder drop leaves out 1
d --step 1 --epoch 1 --consumed 5|--consumed 5: an epoch has 4 blocks
END
    printf 'T' | dd of=d/manifest.json bs=1 seek=30 conv=notrunc status=none
    expect 1 bload find d t.jsonl#0
}

# The commands of the section, as they stand there.
test_the_section_of_the_guide() {
    sed -n '/^## A loss spike/,/^## /{/^```sh$/,/^```$/p}' "$BLOAD_ROOT/docs/training.md" | grep -v '^```' >commands
    [ -s commands ] || fail 'no commands in docs/training.md'
    sed -n '/^## A loss spike/,/^## /{/^```text$/,/^```$/p}' "$BLOAD_ROOT/docs/training.md" | grep -v '^```' >printed
    export -f bload
    expect 0 bash -e -o pipefail commands :out-as printed
    is 0 "$(bload find -q clean @suspects 2>/dev/null | tail -n +2 | wc -l)"
}
