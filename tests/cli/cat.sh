# bload cat: one sequence for other programs. The contents are compared with the Python package's in python/tests/test_cat.py.
# shellcheck shell=bash disable=SC2317,SC2086

shard=shards/00000/shard-00000000.safetensors

# lines: three documents; the second is empty, and the third is in pieces of blocks of 8.
lines() {
    printf '{"text": "abc"}\n{"text": ""}\n{"text": "0123456789abcdefghij"}\n' >t.jsonl
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 8 --oversize split -o d
}

# codes TEXT: its bytes, one a line.
codes() { printf '%s' "$1" | od -An -v -w1 -tu1 | tr -d ' '; }

test_ids() {
    lines
    expect 0 bload cat d t.jsonl#0 --as ids
    codes abc | out_is
    expect 0 bload cat d t.jsonl#29 --as ids # joined
    codes 0123456789abcdefghij | out_is
    expect 0 bload cat d t.jsonl#29 --as ids --steps 7..17
    codes 789abcdefg | out_is
    expect 0 bload cat d t.jsonl#29 --as ids --steps 18..
    codes ij | out_is
    expect 0 bload cat d t.jsonl#29 --as ids --steps ..1 -o file
    codes 0 >expected
    same expected file
}

# A tokenizer.json of bytes, and an end of documents, which FILE has with the id ID.
tokenizer() { PYTHONPATH=$BLOAD_ROOT/tests/readers python3 -c 'import sys, text; print(text.small_tokenizer(sys.argv[1]))' "$2" >"$1"; }

# What opened the tokenizer when it packed opens it again, for a view and its copy, too.
test_options_of_the_tokenizer() {
    python3 -c 'import base64; [print(base64.b64encode(bytes([i])).decode(), i) for i in range(256)]' >b.tiktoken
    given t.txt 'a<|endoftext|>b\n' expect 0 bload pack -q t.txt --tokenizer b.tiktoken --pattern '[a-z]|[^a-z]+' --special parse -T 20 -o d
    expect 0 bload view -q d -T 30 -o v
    expect 0 bload pack -q v -o r
    for dataset in d v r; do
        expect 0 bload cat $dataset t.txt --tokenizer b.tiktoken
        printf 'a<|endoftext|>b\n' | out_is
    done
}

test_text() {
    lines
    expect 0 bload cat d t.jsonl#29
    is 0123456789abcdefghij "$(cat "$OUT")"
    tokenizer one.json '<|end|>'
    tokenizer other.json '<|stop|>'
    given t.jsonl '{"text": "caf\u00e9 in pieces"}\n' expect 0 bload pack -q t.jsonl --tokenizer one.json --eos '<|end|>' -T 4 --oversize split -o e
    expect 0 bload cat e t.jsonl#0 --tokenizer one.json
    is 'café in pieces<|end|>' "$(cat "$OUT")"
    expect 0 bload cat e t.jsonl#0 --as text --tokenizer one.json --steps 3..6
    is 'é ' "$(cat "$OUT")"
    expect 0 bload cat e t.jsonl#0 --tokenizer one.json --steps 4..5 # half a character
    printf '\251' | out_is
    expect 0 bload view -q e -T 40 -o v
    expect 0 bload cat v t.jsonl#0 --tokenizer one.json
    is 'café in pieces<|end|>' "$(cat "$OUT")"
    expect 0 bload cat e t.jsonl#0 --steps ..1
    out_is <<<99 # ids: the tokenizer is not known
    for name in other.json bytes; do
        expect 2 bload cat e t.jsonl#0 --tokenizer $name :err "--tokenizer $name has the digest " ', but the tokenizer of the ids is one.json, which has the digest ' :out-is ''
    done
    expect 2 bload cat e t.jsonl#0 --as text :err-is 'bload: cat: text needs --tokenizer FILE with the tokenizer that made the ids: one.json'
    expect 2 bload cat e t.jsonl#0 --as npy --tokenizer one.json :err-is 'bload: cat: --tokenizer is for --as text'
    expect 2 bload cat e t.jsonl#0 --tokenizer none.json
    given i.jsonl '{"input_ids": [7, 8]}\n' expect 0 bload pack -q i.jsonl --key input_ids -T 8 -o f
    expect 2 bload cat f i.jsonl#0 --tokenizer one.json :err 'tokens cannot be decoded to text: it is not recorded which tokenizer made these ids'
    err_has 'pack them with --tokenizer FILE'
    expect 0 bload pack -q i.jsonl --key input_ids --tokenizer bytes -T 8 -o h
    expect 0 bload cat h i.jsonl#0
    printf '\a\b' | out_is
    given m.jsonl '{"text": "ab", "mask": [1, 0]}\n' expect 0 bload pack -q m.jsonl --tokenizer bytes --field mask=mask:i32 -T 8 -o g
    expect 0 bload cat g m.jsonl#0 --field tokens
    is ab "$(cat "$OUT")"
    expect 0 bload cat g m.jsonl#0 --field mask
    printf '1\n0\n' | out_is
}

test_steps_that_are_none() {
    lines
    for steps in 3..3 4..3 .. 3 a..b -1..2 1..2..3 ..0; do
        expect 2 bload cat d t.jsonl#0 --steps=$steps :err-is "bload: cat: --steps $steps: expects A..B, steps A to B - 1 from 0, as 0..100, 100.. or ..100"
    done
    expect 2 bload cat d t.jsonl#0 --steps 2..4 :err-is 'bload: cat: d: t.jsonl#0 has 3 steps, 0..3: it has no steps 2..4'
    expect 2 bload cat d t.jsonl#0 --steps 3.. :out-is ''
}

test_sequences_that_are_not_there() {
    lines
    expect 2 bload cat d t.jsonl#1 :err-is 'bload: cat: d has no sequence t.jsonl#1: did you mean t.jsonl#0?'
    expect 2 bload cat d something/else :err-is 'bload: cat: d has no sequence something/else: the ids are in the first column of its sequences.tsv'
    expect 2 bload cat d t.jsonl#16 :err-is 'bload: cat: d: t.jsonl#16 is not stored: it was skipped: empty document'
    expect 2 bload cat d :err 'expects a dataset directory and the id of a sequence'
    rm -r d
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 8 --oversize drop -o d
    expect 2 bload cat d t.jsonl#29 :err 't.jsonl#29 is not stored: '
    rm -r d
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 8 --oversize truncate -o d
    expect 2 bload cat d t.jsonl#29 --as ids :err-is 'bload: cat: d: of the 20 steps of t.jsonl#29 only 0..8 are stored: --steps 0..8 gives them' :out-is ''
    expect 0 bload cat d t.jsonl#29 --as ids --steps 0..8
    codes 01234567 | out_is
    expect 2 bload cat d t.jsonl#29 --as ids --steps 0..9
}

test_escaped_ids() {
    mkdir v
    printf '{"input_ids": [7, 8]}\n' >v/$'a\tb.jsonl'
    expect 0 bload pack -q v --kind text -T 8 --key input_ids -o d
    for id in $'a\tb.jsonl#0' 'a\tb.jsonl#0'; do expect 0 bload cat d "$id"; printf '7\n8\n' | out_is; done
}

test_views() {
    lines
    cp -r d e
    given u.jsonl '{"text": "only here"}\n' expect 0 bload pack -q u.jsonl --tokenizer bytes -T 16 -o f --compress zstd
    expect 0 bload view -q d e f -T 64 -o v
    expect 2 bload cat v t.jsonl#0 :err-is 'bload: cat: v has no sequence t.jsonl#0: did you mean d/t.jsonl#0?'
    expect 0 bload cat v e/t.jsonl#29 --as ids
    codes 0123456789abcdefghij | out_is
    expect 0 bload cat v u.jsonl#0 --as ids
    codes 'only here' | out_is
}

test_sound() {
    for channels in 1 2; do
        for dtype in s16 f32; do
            rm -rf a
            expect 0 bload pack -q "$(fixture tone-44100-stereo.flac)" --kind audio --rate 44100 --channels $channels --dtype $dtype -T 30000 --oversize split -o a
            bload cat a "$(fixture tone-44100-stereo.flac)" >tone.wav
            is "$channels,44100,$dtype" "$(ffprobe -v error -of csv=p=0 -show_entries stream=channels,sample_rate,sample_fmt tone.wav |
                awk -F , '{ print $3 "," $2 "," ($1 == "flt" ? "f32" : "s16") }')"
            # The same samples as those of the array, behind its header.
            expect 0 bload cat a "$(fixture tone-44100-stereo.flac)" --as npy -o tone.npy
            ffmpeg -v error -y -i tone.wav -f "$([ $dtype = s16 ] && echo s16le || echo f32le)" samples
            tail -c +$((1 + $(head -c 10 tone.npy | od -An -j8 -tu2) + 10)) tone.npy | cmp - samples
        done
    done
    expect 2 bload cat a "$(fixture tone-44100-stereo.flac)" --as ids :err '--as ids: audio does not have one integer a step'
    rm -r a
    expect 0 bload pack -q "$(fixture tone-44100-stereo.flac)" --kind audio --features fbank80 -T longest -o a
    expect 2 bload cat a "$(fixture tone-44100-stereo.flac)" --as wav :err '--as wav: the steps of features are not samples of sound' :out-is ''
}

test_fields() {
    mkdir v l
    cp "$(fixture h264-30.mp4)" v/a.mp4
    printf 'walk\n%.0s' {1..30} >l/a.txt
    put mapping 'walk\n' set.yaml 'sources: [v]\nT: longest\nsize: 32x24\nfields: [{name: labels, path: "l/{stem}.txt", mapping: mapping}]\n'
    expect 0 bload pack -q -c set.yaml -o d
    expect 2 bload cat d a.mp4 :err-is 'bload: cat: --field must be given, one of: frames, labels'
    expect 2 bload cat d a.mp4 --field label :err-is 'bload: cat: --field label: there is none, did you mean labels? All are: frames, labels'
    expect 0 bload cat d a.mp4 --field labels --as ids
    is "$(printf '0\n%.0s' {1..30})" "$(cat "$OUT")"
    bload cat d a.mp4 --field frames --steps 0..2 >two.npy
    is $((128 + 2 * 32 * 24 * 3)) "$(stat -c %s two.npy)"
}

test_pictures() {
    expect 0 bload pack -q "$(fixture h264-30.mp4)" -T 20 --oversize split --size 32x24 -o d
    id=$(field id 1 <d/sequences.tsv)
    expect 2 bload cat d "$id" --as png :err-is 'bload: cat: --as png: --step N writes one picture, -o DIR all of them into a directory'
    expect 2 bload cat d "$id" --as png -o -
    expect 2 bload cat d "$id" --step 3 --steps 3..4 :err-is 'bload: cat: --step and --steps exclude each other'
    expect 0 bload cat d "$id" --as png -o all/
    is 30 "$(files all | wc -l)"
    expect 0 bload cat d "$id" --as png --step 29 -o one.png
    same one.png all/000029.png
    expect 2 bload cat d "$id" --as png -o all :err-is 'bload: cat: all is not empty: name a new directory'
    expect 2 bload cat d "$id" --as png -o one.png :err-is 'bload: cat: one.png is no directory'
    expect 2 bload cat d "$id" --as png --step 29 -o all :err '-o all is a directory'
    mkdir empty
    expect 0 bload cat d "$id" --as png --steps ..2 -o empty
    is "000000.png 000001.png" "$(files empty | xargs)"
    damage d/$shard
    expect 1 bload cat d "$id" --as png -o more
    is "all d empty one.png" "$(echo *)" # nothing is left
    rm -r d
    lines
    expect 2 bload cat d t.jsonl#0 --as png --step 0 :err '--as png: the steps of tokens are no pictures'
}

# damage FILE: other bytes in the last block of its last field: before the seek table, where it has one.
damage() {
    python3 - "$1" <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
end = data.rfind(b"\x5e\x2a\x4d\x18") if sys.argv[1].endswith(".zst") else len(data)
data[end - 32:end - 30] = b"\xff\xfe"
open(sys.argv[1], "wb").write(data)
END
}

test_damage() {
    printf '{"text": "0123456789abcdefghij"}\n' >t.jsonl
    for options in '' '--compress zstd'; do
        rm -rf d
        expect 0 bload pack -q t.jsonl --tokenizer bytes -T 8 --oversize split $options -o d
        expect 0 bload cat d t.jsonl#0 --as npy -o file
        rm file
        file=$(echo d/$shard*)
        damage "$file"
        expect 1 bload cat d t.jsonl#0 --as npy -o file
        if [ "$options" ]; then err_has "$file: cannot decompress frame "; else err_has "$file is damaged: block 2 of tokens has the checksum "; fi
        is "d t.jsonl" "$(echo *)" # no file
        expect 1 bload cat d t.jsonl#0 --as ids
        shorten 1 "$file"
        expect 1 bload cat d t.jsonl#0 --as ids :out-is ''
        rm "$file"
        expect 1 bload cat d t.jsonl#0 --as ids :err 'No such file or directory'
    done
}

# The index of another plan of the same sequences does not suit the shard's tables.
test_an_index_that_differs() {
    given t.jsonl '{"text": "abc"}\n{"text": "def"}\n' expect 0 bload pack -q t.jsonl --tokenizer bytes -T 8 -o d
    python3 - d/index.safetensors <<'END'
import json, struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
size = struct.unpack("<Q", data[:8])[0]
at = 8 + size + json.loads(data[8:8 + size])["sequence"]["data_offsets"][0]
data[at], data[at + 8] = data[at + 8], data[at]
open(sys.argv[1], "wb").write(data)
END
    expect 1 bload cat d t.jsonl#0 --as ids :err-is 'bload: cat: d is damaged: in its shard, block 0 does not hold step 0 of sequence 0 where the index says'
    out_is </dev/null
}

test_outputs() {
    lines
    expect 1 sh -c '"$BLOAD" cat d t.jsonl#0 >/dev/full' :err 'cannot write standard output: No space left on device'
    expect 1 bload cat d t.jsonl#0 --as npy -o /dev/full
    expect 1 sh -c '"$BLOAD" cat d t.jsonl#0 >&-'
    expect 2 bload cat d t.jsonl#0 -o . :err '-o . is a directory'
    expect 2 script -qec '"$BLOAD" cat d t.jsonl#0 --as npy' /dev/null :out 'standard output is a terminal, which cannot show npy: use -o FILE'
    expect 0 script -qec '"$BLOAD" cat d t.jsonl#0 --as ids' /dev/null
    seq 300000 >n.txt
    expect 0 bload pack -q n.txt --tokenizer bytes -T longest -o n
    to_head() { bload "$@" | head -n 1 >/dev/null; }
    expect 141 to_head cat n n.txt --as ids # as any filter
}
