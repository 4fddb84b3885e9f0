# Fields with steps of their own: what a scan says of their files and columns, and what a YAML file may say of them.
# shellcheck shell=bash disable=SC2317

# Four sounds in folders, with a table of transcripts and arrays of patches beside them; set.yaml has both.
setup() {
    mkdir -p a/sub
    for i in a sub/b c d; do cp "$(fixture tone-16000.wav)" a/$i.wav; done
    put t.csv 'id,text,n\na,Hello,1\nsub/b,"two\nlines",2\nc,,3\nd.wav,\xc3\xa4,4\n'
    npy p/a.npy '2, 3' i '<f4'
    npy p/sub/b.npy '1, 3' i '<f4'
    npy p/c.npy '0, 5' i '<f4'
    put set.yaml 'sources: [a/]\nattributes: t.csv\nfields:
  - {name: text, kind: text, column: text, tokenizer: bytes, steps: own, capacity: 512}
  - {name: patches, path: "p/{id}.npy", steps: own, capacity: auto, missing: empty}\n'
}

# documents FIELD...: doc.yaml with fields of the documents in d.jsonl.
documents() {
    put doc.yaml 'sources: [d.jsonl]\ntokenizer: bytes\nfields:\n'
    for _field; do echo "  - {$_field, steps: own, capacity: auto}" >>doc.yaml; done
}

test_sounds_have_transcripts_and_patches() {
    expect 0 bload scan -c set.yaml :column text.length '5 0 2 9' :column patches.length '2 0 0 1' :column status 'ok ok ok ok' \
        :err 'bload: text: sequences that have none: 1 (column text.length)' 'bload: patches: sequences that have none: 2 ('
    is 'text n text.length patches.path patches.bytes patches.length patches.stream patches.reason patches.content' \
        "$(head -n 1 "$OUT" | cut -f 11- | tr '\t' ' ')"
    is 'file not found' "$(field patches.reason 3 <"$OUT")"
    is 'p/sub/b.npy' "$(field patches.path 4 <"$OUT")"
    field sampling 1 <"$OUT" | grep -q '^rate=16000; text: own column=text tokenizer=[0-9a-f]\{16\}; patches: own axis=0 missing=empty$'
    # Their lengths adjust nothing.
    ! grep -i adjusted "$ERR" || fail 'own steps are no other length'
    cp "$OUT" all.tsv
    expect 0 bload scan -j 3 -c set.yaml :out-as all.tsv
}

# A sequence whose field is missing is no sequence.
test_what_is_missing_makes_a_sequence_unusable() {
    sed -i 's/, missing: empty//' set.yaml
    rm p/a.npy
    mkdir p/a.npy
    expect 3 bload scan -c set.yaml :column status 'skipped ok skipped ok' :err 'bload: skipped d.wav: patches: p/d.npy: file not found' \
        'bload: skipped a.wav: patches: p/a.npy: not a regular file'
    # A folder is not missing.
    sed -i 's/auto/auto, missing: empty/' set.yaml
    expect 3 bload scan -c set.yaml :column status 'skipped ok ok ok'
}

test_steps_have_one_shape() {
    npy p/a.npy '2, 3' i '<i4'
    npy p/c.npy '2, 4' i '<f4'
    expect 3 bload scan -c set.yaml :column status 'ok skipped ok skipped' \
        :err "bload: skipped c.wav: patches: its steps are F32 [4], those of the first (a.wav) I32 [3]" \
        "bload: skipped sub/b.wav: patches: its steps are F32 [3], those of the first (a.wav) I32 [3]"
    cp "$OUT" all.tsv
    # An array without steps has no shape.
    npy p/a.npy '0, 7' i '<i4'
    expect 3 bload scan -c set.yaml :column status 'ok ok ok skipped' :err 'those of the first (c.wav) F32 [4]'
}

test_parts_of_a_scan_say_the_same() {
    npy p/c.npy '2, 4' i '<f4'
    expect 3 bload scan -q -c set.yaml
    cp "$OUT" all.tsv
    for task in 2 0 1; do expect 0 bload scan -q -c set.yaml --task $task/3 -o d; done
    expect 3 bload plan -T longest d :err 'bload: skipped c.wav: patches: its steps are F32 [4], those of the first (a.wav) F32 [3]'
    same all.tsv d/.bload/sequences.tsv
    # Neither the capacity nor the storage is a matter of the table.
    sed -i 's/capacity: auto/capacity: 9, storage: flat/' set.yaml
    expect 0 bload scan -q -c set.yaml --task 1/3 -o d
    sed -i 's/, missing: empty//' set.yaml
    expect 2 bload scan -q -c set.yaml --task 1/3 -o d :err 'field patches missing is "empty" there, and not recorded here'
}

test_documents_have_values_of_keys() {
    put d.jsonl '{"text": "one", "v": [[1, 2], [3, 4]], "c": {"d": "caption"}}\n{"text": "two", "v": [], "c": {"d": ""}}\n{"text": "three", "v": null}\n'
    documents 'name: v, kind: array, key: v, dtype: u8, missing: empty' 'name: cap, kind: text, key: c.d, tokenizer: bytes, eos: 0'
    expect 0 bload scan -c doc.yaml :column v.length '2 0 0' :column cap.length '8 0 0'
    is 'v c.d v.length cap.length' "$(head -n 1 "$OUT" | cut -f 11- | tr '\t' ' ')"
    cp "$OUT" all.tsv
    # What is in the spool says the same, and kept values are as whole as those of keys.
    for _ in 1 2; do expect 0 bload scan -q -c doc.yaml --spool s :out-as all.tsv; done
    { printf '{"text": "x", "k": "%05000d"}\n' 0 && printf '{"text": "y", "k": "%0800000d"}\n' 0; } >d.jsonl
    documents 'name: k, kind: text, key: k, tokenizer: bytes'
    expect 3 bload scan -c doc.yaml :column k.length '5000 ' :err 'k: longer than a row of the table can be (768 KiB)'
    put d.jsonl '{"text": "x", "k": ["a"]}\n{"text": "y", "k": 5}\n{"text": "", "k": 6}\n{"text": "z", "k": "b"}\n'
    expect 3 bload scan -c doc.yaml :column k.length '   1' :err '"k" is an array, not a string' '"k" is a number, not a string'
    { printf '{"text": "x", "k": "%05000d"}\n' 0 && printf '{"text": "y", "k": "%0800000d"}\n' 0; } >d.jsonl
    documents 'name: k, kind: text, column: k, tokenizer: bytes'
    echo 'keep: k' >>doc.yaml
    expect 3 bload scan -c doc.yaml :column k.length '5000 '
}

test_lists_of_numbers_have_a_type() {
    put d.jsonl '{"text": "one", "v": [1]}\n{"text": "two", "v": [1.5]}\n{"text": "three", "v": "x"}\n{"text": "four"}\n{"text": "five", "v": [[1], 2]}\n{"text": "six", "v": [300]}\n'
    documents 'name: v, kind: array, key: v, dtype: u8'
    expect 3 bload scan -c doc.yaml :column v.length '1     ' :err 'v: step 0: 1.5 is no number that fits U8' 'v: no JSON list at byte 0: ' \
        'v: the column "v" is empty' 'v: step 1: a number where others have a list' 'v: step 0: 300 is no number that fits U8'
    documents 'name: v, kind: array, key: v'
    expect 3 bload scan -c doc.yaml :column v.length '1 1    1'
}

# The ids are those of the text as a document.
test_a_text_is_one_document() {
    put texts/a.txt 'Hello <|endoftext|>\n\nthere' texts/sub/b.txt '' texts/c.txt '\xffx' texts/d.txt '\xef\xbb\xbfmark\r\n'
    put set.yaml 'sources: [a/]\nfields:\n  - {name: t, path: "texts/{id}.txt", tokenizer: bytes, bos: 7, eos: 9, steps: own, capacity: 9}\n'
    expect 3 bload scan texts --tokenizer bytes --bos 7 --eos 9
    is '28 6 11 0' "$(field length <"$OUT" | tr '\n' ' ' | sed 's/ $//')"
    expect 3 bload scan -c set.yaml :column t.length '28 6 11 0' :column status 'ok ok ok ok' \
        :err 'bload: c.wav: t: texts/c.txt: invalid UTF-8 at byte 0: replaced by U+FFFD (1 in all)'
    sed -i 's/eos: 9/eos: 9, invalid: error/' set.yaml
    expect 3 bload scan -c set.yaml :err 'bload: skipped c.wav: t: texts/c.txt: invalid UTF-8 at byte 0'
}

test_manifests_and_clips_have_own_fields() {
    put m.jsonl '{"audio_filepath": "a/a.wav", "duration": 0.5, "text": "Hi", "e": [1, 2]}\n{"audio_filepath": "a/c.wav", "duration": 0.25, "text": "you", "e": [[3]]}\n'
    put set.yaml 'sources: [m.jsonl]\nkind: audio\nfields:\n  - {name: words, kind: text, key: text, tokenizer: bytes, steps: own, capacity: 9}
  - {name: e, kind: array, key: e, dtype: i16, steps: own, capacity: 9}\n'
    expect 0 bload scan -c set.yaml :column words.length '2 3' :column e.length '2 1' :column length '8000 4000'
    put clips.csv 'path,start,end,says\na/a.wav,0,0.5,hey\na/c.wav,0.1,0.2,\n'
    put set.yaml 'sources: [clips.csv]\nkind: audio\nfields:\n  - {name: words, kind: text, column: says, tokenizer: bytes, steps: own, capacity: 9}\n'
    expect 0 bload scan -c set.yaml :column words.length '3 0' :column says 'hey '
}

test_members_of_a_tar_are_own_fields() {
    mkdir tar
    cp a/a.wav tar/x.wav
    cp p/a.npy tar/x.f.npy
    cp a/a.wav tar/y.wav
    printf abc >tar/y.txt
    (cd tar && tar cf ../t.tar x.wav x.f.npy y.wav y.txt)
    put set.yaml 'sources: [t.tar]\nmember: wav\nfields:\n  - {name: f, path: "{key}.f.npy", steps: own, capacity: 9, missing: empty}
  - {name: t, path: "{key}.txt", tokenizer: bytes, steps: own, capacity: 9, missing: empty}\n'
    expect 0 bload scan -c set.yaml :column f.length '2 0' :column t.length '0 3' :column f.reason ' the sample has no such member'
}

test_common_fields_and_own_fields() {
    npy l/a.npy 30
    mkdir v
    cp "$(fixture h264-30.mp4)" v/a.mp4
    put set.yaml 'sources: [v/]\nsize: 32x24\nfields:\n  - {name: labels, path: "l/{id}.npy"}\n  - {name: p, path: "p/{id}.npy", steps: own, capacity: 9}\n'
    expect 0 bload scan -c set.yaml :column p.length 2 :column labels.length 30
    is 'labels.content p.path' "$(head -n 1 "$OUT" | cut -f 16-17 | tr '\t' ' ')"
}

test_what_an_own_field_may_say() {
    refused_yaml 'sources: [a/]\nfields:\n' <<'END'
  - {name: l, path: "l/{id}.npy", steps: own}|:3:5: a field with steps: own needs capacity: the most of its steps in a block, or auto
  - {name: l, path: "l/{id}.npy", steps: own, capacity: 0}|:3:5: capacity expects a number from 1 to 2147483647, or auto, not "0"
  - {name: l, path: "l/{id}.npy", steps: mine}|:3:5: steps expects common or own, not "mine"
  - {name: l, path: "l/{id}.npy", capacity: 9}|:3:5: capacity is for a field with steps: own
  - {name: l, path: "l/{id}.npy", steps: common, storage: flat}|:3:5: storage is for a field with steps: own
  - {name: l, path: "l/{id}.npy", missing: empty}|:3:5: missing: empty is for a field with steps: own
  - {name: l, kind: text, column: text}|:3:5: column is for a field with steps: own
  - {name: l, kind: text, key: text}|:3:5: key is for a field with steps: own
  - {name: l, kind: text, steps: own}|:3:5: a field with steps: own has one of these: path, column or key
  - {name: l, kind: text, steps: own, key: a, column: b}|:3:5: a field with steps: own has only one of these: path, column or key
  - {name: l, steps: own, column: b}|:3:5: a field of a column needs its kind: array, text, images or video
  - {name: l, steps: own, path: "{id}.xyz"}|:3:5: the name {id}.xyz has an unknown extension: give kind: array, text, images or video
  - {name: l, steps: own, path: "{id}.wav", kind: audio}|:3:5: steps: own is for arrays, texts, images and videos: a field of the kind audio cannot have steps of its own
  - {name: l, steps: own, path: "{id}.jpg", kind: frames}|:3:5: steps: own is for arrays, texts, images and videos: a field of the kind frames cannot have steps of its own
  - {name: l, steps: own, column: c, kind: images, capacity: 9}|:3:5: a field of images with steps: own needs size: WIDTHxHEIGHT, that of each step
  - {name: l, steps: own, path: "{id}.mp4", capacity: 9}|:3:5: a field of video with steps: own needs size: WIDTHxHEIGHT, that of each step
  - {name: l, steps: own, path: "{id}.mp4", capacity: 9, size: 8x8, decoder: nvdec}|:3:5: decoder: the processor decodes a field with steps: own
  - {name: l, steps: own, path: "{id}.mp4", capacity: 9, size: 8x8, times: true}|:3:5: times: a field with steps: own has its frames alone
  - {name: l, steps: own, path: "{key}.jpg", capacity: 9, size: 8x8}|:3:5: "{key}.jpg": pictures are read from files, not from tars: unpack them
  - {name: l, steps: own, path: "{id}.jpg", capacity: 9, size: 8x8, fps: 3}|:3:5: --fps is for video: images have no times (--stride takes every N-th)
  - {name: l, steps: own, path: "{id}.jpg", capacity: 9, size: 8x8, stride: 3}|:3:5: stride is for folders of images: all pictures that a sequence names are steps
  - {name: l, steps: own, path: "{id}.wav", kind: film}|:3:5: there is no kind film
  - {name: l, steps: own, path: a.npy, capacity: 9}|:3:5: "a.npy" is the same file for every sequence: use {id}, {stem} or {name}
  - {name: l, steps: own, path: "{id}.npy", capacity: 9, storage: packed}|:3:5: storage expects padded or flat, not "packed"
  - {name: l, steps: own, path: "{id}.npy", capacity: 9, missing: skip}|:3:5: missing expects error or empty, not "skip"
  - {name: l, steps: own, path: "{id}.npy", capacity: 9, length-tolerance: 1}|:3:5: length-tolerance: the steps of a field with steps: own need not be those of the sequence
  - {name: l, steps: own, path: "{id}.npy", capacity: 9, per-step: true}|:3:58: per-step: a field with steps: own has no part for each step
  - {name: l, steps: own, path: "{id}.npy", capacity: 9, dtype: i64}|:3:5: dtype: array has no type "i64"
  - {name: l, steps: own, column: c, kind: array, capacity: 9, dtype: int}|:3:5: dtype: lists of numbers have the type u8, i8, bool, i16, u16, f16, bf16, i32, u32, f32, i64, u64 or f64, not "int"
  - {name: l, steps: own, column: c, kind: array, capacity: 9, squeeze: true}|:3:64: unknown key "squeeze"
  - {name: l, steps: own, column: c, kind: text, capacity: 9}|:3:5: a text needs a tokenizer: tokenizer: FILE, or bytes
  - {name: l, steps: own, path: "{id}.txt", capacity: 9, tokenizer: bytes, documents: line}|:3:76: documents: a text with steps of its own is one document: leave it out
  - {name: l, steps: own, column: c, kind: text, capacity: 9, tokenizer: bytes, keep: x}|:3:81: keep: a text with steps of its own is one document: leave it out
END
}

test_columns_and_keys_must_be_there() {
    sed -i 's/column: text/column: txt/' set.yaml
    expect 2 bload scan -c set.yaml :err-is 'bload: scan: field text: there is no column "txt"; the columns are: text, n' :out-is ''
    sed -i 's/column: txt/key: text/' set.yaml
    expect 2 bload scan -c set.yaml :err-is 'bload: scan: field text: key: the sources have no keys: use path or column'
    put d.jsonl '{"text": "one"}\n'
    documents 'name: x, kind: text, key: id, tokenizer: bytes'
    expect 2 bload scan -c doc.yaml :err 'bload: scan: --keep: the table has a column "id" of its own: give another name'
    documents 'name: x, kind: text, key: a..b, tokenizer: bytes'
    expect 2 bload scan -c doc.yaml :err-is 'bload: scan: key: "a..b" is not a key (a.b is b within a, a\.b a name with a dot)'
    documents 'name: x, kind: text, key: a, tokenizer: bytes'
    echo 'keep: x.length=b' >>doc.yaml
    expect 2 bload scan -c doc.yaml :err-is "bload: scan: the column x.length is that of the field's steps: rename the other one"
    put ids.bin '\1\0\2\0'
    put doc.yaml 'sources: [ids.bin]\ntoken-file: dtype=u16,eos=9\nfields:\n  - {name: x, kind: text, key: a, tokenizer: bytes, steps: own, capacity: auto}\n'
    expect 2 bload scan -c doc.yaml :err-is 'bload: scan: --token-file: the inputs are ids alone, without a key "a"'
    documents 'name: x, kind: text, key: a, tokenizer: nowhere.json'
    expect 2 bload scan -c doc.yaml :err 'bload: scan: field x: '
}

test_a_table_must_have_the_columns() {
    expect 0 bload scan -q a -o t.tsv
    expect 2 bload pack -q -c set.yaml --sequences t.tsv -T longest -o d \
        :err-is 'bload: pack: the table has no column text.length: scan with the same fields' :none d
    expect 0 bload scan -q a --attributes t.csv -o t.tsv
    expect 2 bload pack -q -c set.yaml --sequences t.tsv -T longest -o d :err 'the table has no column text.length'
    # One that has them makes the same shards.
    expect 0 bload scan -q -c set.yaml -o t.tsv
    expect 0 bload pack -q -c set.yaml --sequences t.tsv -T longest -o d :verified
    expect 0 bload pack -q -c set.yaml -T longest -o e
    diff -r d/shards e/shards
}

test_what_is_printed_says_the_same_again() {
    expect 0 bload scan -c set.yaml -o all.tsv
    expect 0 bload pack -c set.yaml -T 9 -o d --print-config
    cp "$OUT" again.yaml
    grep -q '    steps: "own"' again.yaml
    ! grep 'storage\|documents: "file"$' <(sed -n '/^fields/,/^[a-z]/p' again.yaml | sed '$d') || fail 'an option that an own text has not'
    expect 0 bload pack -c again.yaml --print-config :out-as again.yaml
}

# Questions and answers of people, with a tokenizer that is used.
test_the_tokens_of_a_key_are_those_of_a_text() {
    local data=$BLOAD_SHARED/data tokenizer
    tokenizer=$data/tokenizers/gpt-neox-tokenizer.json
    [ -e "$tokenizer" ] && [ -e "$data/corpora/gsm8k_train.jsonl" ] || skip "no $data"
    put g.yaml "sources: [$data/corpora/gsm8k_train.jsonl]\ntokenizer: $tokenizer\nkey: question\nfields:
  - {name: answer, kind: text, key: answer, tokenizer: $tokenizer, steps: own, capacity: auto}\n"
    expect 0 bload scan -q -c g.yaml -o g.tsv
    expect 0 bload scan -q "$data/corpora/gsm8k_train.jsonl" --tokenizer "$tokenizer" --key answer -o a.tsv
    expect 0 bload scan -q "$data/corpora/gsm8k_train.jsonl" --tokenizer "$tokenizer" --key question -o q.tsv
    diff <(field length <a.tsv) <(field answer.length <g.tsv)
    diff <(field length <q.tsv) <(field length <g.tsv)
}

# The sample of a dry run has no attributes.
test_a_dry_run_reads_a_sample() {
    for i in 1 2 3; do echo "{\"text\": \"$i$i$i\", \"k\": [$i]}"; done >d.jsonl
    documents 'name: k, kind: array, key: k' 'name: n, kind: text, column: n, tokenizer: bytes'
    put n.csv 'id,n\nd.jsonl#0,a\nd.jsonl#26,bc\nd.jsonl#52,\n'
    echo 'attributes: n.csv' >>doc.yaml
    expect 0 bload pack -c doc.yaml -T 6 -o d --dry-run :err 'a dry run: nothing was written' :none d
    expect 0 bload pack -q -c set.yaml -T longest -o d --dry-run
}
