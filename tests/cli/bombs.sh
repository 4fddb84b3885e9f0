# Files that are far more than they seem, or claim to be: each is told in little memory and little time.
# shellcheck shell=bash disable=SC2317

# within MIB STATUS COMMAND...: expect, while the tool may write to so much memory: it takes 50 MiB to do anything at all. Only a
# release: sanitizers want all of the addresses that there are.
within() {
    local mib=$1
    shift
    (
        export MALLOC_ARENA_MAX=1
        case ${VARIANT-release} in release) ulimit -d $((mib * 1024)) ;; esac
        expect "$@"
    )
}

# zeros MIB [BYTE]: so many MiB of a byte.
zeros() {
    head -c $(($1 << 20)) /dev/zero | tr '\0' "${2-x}"
}

texts() {
    mkdir t
    for i in 1 2 3; do echo a >t/$i.txt; done
}

test_a_bomb_of_attributes() {
    texts
    { printf 'id,a\n1,' && zeros 150; } | gzip -1 >line.csv.gz
    { printf 'id,a\n1,"' && zeros 150 '\n'; } | gzip -1 >quote.csv.gz
    { printf 'id,a\n' && zeros 150 ,; } | gzip -1 >commas.csv.gz
    { printf 'id\ta\n1\t' && zeros 150 '\t'; } | gzip -1 >tabs.tsv.gz
    { printf 'id,a\n1,2,3\n' && zeros 150 '\n'; } | gzip -1 >fault.csv.gz
    { printf 'id,a\n1,2\n' && zeros 150 '\n' && printf '2,3\n3,4\n'; } | gzip -1 >empty.csv.gz
    { printf 'id,a\n' && zeros 50 1 | sed 's/1/1,2\n/g'; } | gzip -1 >same.csv.gz
    { printf 'id,a\n' && zeros 1 >long && for ((i = 0; i < 150; i++)); do printf '%d,' $i && head -c 1000000 long && echo; done; } | gzip -1 >wide.csv.gz
    local run=(bload scan t --tokenizer bytes -j 1 --attributes)
    within 150 1 "${run[@]}" line.csv.gz :err 'line.csv.gz: line 2: a record of more than 1048576 bytes'
    within 150 1 "${run[@]}" quote.csv.gz :err 'quote.csv.gz: line 2: a value in quotes that does not end within 1048576 bytes'
    within 150 1 "${run[@]}" commas.csv.gz :err 'commas.csv.gz: line 2: a record of more than 1048576 bytes'
    within 150 1 "${run[@]}" tabs.tsv.gz :err 'tabs.tsv.gz: line 2: a record of more than 1048576 bytes'
    within 150 1 "${run[@]}" fault.csv.gz :err 'fault.csv.gz:2: 3 values where the header has 2 columns'
    within 150 1 "${run[@]}" same.csv.gz :err 'same.csv.gz:3: duplicate id "1", first on line 2'
    within 200 1 "${run[@]}" wide.csv.gz
    err_has 'MiB of values in the first' '(choose columns with --attributes-columns, or decompress the file)'
    within 150 0 "${run[@]}" empty.csv.gz :column a '2 3 4'
}

# As much as that is fine where it is not out of nothing: in a file that is as large.
test_wide_attributes_that_are_no_bomb() {
    texts
    zeros 1 >long
    { printf 'id,a\n' && for ((i = 1; i < 100; i++)); do printf '%d,' $i && head -c 1000000 long && echo; done; } >wide.csv
    expect 0 bload scan -q t --tokenizer bytes --attributes wide.csv
    is 1000000 $(($(field a 1 <"$OUT" | wc -c) - 1))
}

test_a_table_is_copied_in_pieces() {
    local rows=400000
    awk -v n=$rows 'BEGIN {
        OFS = "\t"
        print "id", "length", "kind", "path", "bytes", "status", "reason", "sampling", "stream", "content"
        long = sprintf("%200d", 0)
        for (i = 0; i < n; i++) print "a" i, 1, "array", "none/" i long, 8, "ok", "", "", "", ""
    }' >t.tsv
    [ "$(stat -c %s t.tsv)" -gt 80000000 ] || fail 'a small table'
    within 110 1 bload pack -q --sequences t.tsv -T 100 -j 1 -o d :err 'is gone'
    same t.tsv d/.bload/sequences.tsv
    within 110 1 bash -c '"$BLOAD" pack -q --sequences - -T 100 -j 1 -o e <t.tsv'
    same t.tsv e/.bload/sequences.tsv
}

test_lists_without_ends() {
    texts
    zeros 100 >line
    head -c 1000 line >name # of a file that cannot be
    printf 't/1.txt\n%0100000d\n' 0 >long
    { printf 't/1.txt\n' && zeros 40 '\n' && printf 't/2.txt\r\n'; } >lines
    sed 's:^t/::' lines >ids
    { printf 't/1.txt\0' && zeros 2 '\0' && printf 't/2.txt'; } >print0
    { zeros 2 '\n' && printf 't/1.txt\0t/2.txt\n'; } >mixed
    local run=(bload scan --tokenizer bytes -j 1)
    within 100 1 "${run[@]}" @line :err 'line:1: line is longer than 1048576 bytes'
    within 100 1 "${run[@]}" @long :err 'long:2: too long for a name: not a list of files'
    within 100 1 "${run[@]}" @mixed :err 'mixed:2097153: a zero byte in a list with line ends'
    within 100 0 "${run[@]}" @lines :column path 't/1.txt t/2.txt'
    within 100 0 "${run[@]}" @print0 :column path 't/1.txt t/2.txt'
    within 100 1 "${run[@]}" t --exclude @line :err 'line:1: line is longer than 1048576 bytes'
    within 100 0 "${run[@]}" t --exclude @ids :column status 'dropped dropped ok'
}

# A tree of values takes fifty times what it is built of.
test_json_of_too_many_values() {
    texts
    { printf '{"model": {"type": "BPE"}, "padding": [' && zeros 10 , | sed 's/,/1,/g' && printf '1]}'; } >ones.json
    within 150 1 bload scan -j 1 t --tokenizer ones.json :err 'ones.json: more values than a tokenizer has (8388608)'
    zeros 1 '[' >deep.json
    within 150 1 bload scan -j 1 t --tokenizer deep.json :err 'deep.json:1: maximum parsing depth reached'
    { printf '{"text": "' && zeros 1 '[' && printf '"}\n{"text": ' && zeros 1 '[' && printf '}\n{"text": "b"}\n'; } >deep.jsonl
    within 150 3 bload scan -j 1 deep.jsonl --tokenizer bytes :err 'skipped deep.jsonl#1048589: not JSON at byte 1049110: nested too deeply'
    is 'ok skipped ok' "$(field status <"$OUT" | xargs)"
    mkdir d
    { printf '{"format": 1, "x": [' && zeros 10 , | sed 's/,/1,/g' && printf '1]}'; } >d/manifest.json
    for command in verify info; do within 150 1 bload $command d :err 'more than 8388608 values: not a manifest'; done
    zeros 1 '[' >d/manifest.json
    within 150 1 bload verify d :err 'maximum parsing depth reached'
}

test_yaml_of_too_many_values() {
    { echo 'a: &a [x]' && for i in 1 2 3 4 5 6 7 8 9; do echo "b$i: &b$i [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]"; done; } >laughs.yaml
    within 100 2 bload pack -c laughs.yaml -o d :err 'laughs.yaml:1:4: a: a single value, not a list, is expected'
    echo 'sources: &a [*a, *a]' >own.yaml
    within 100 2 bload pack -c own.yaml -o d :err 'a source: a single value, not a list, is expected'
    { printf 'sources: [' && zeros 3 , | sed 's/,/a,/g' && echo 'a]'; } >many.yaml
    within 100 2 bload pack -c many.yaml -o d :err 'too many values (a list of files: @FILE)'
    { printf 'sources: ' && zeros 1 '['; } >deep.yaml
    within 100 2 bload pack -c deep.yaml -o d :err 'nested too deeply'
    zeros 65 >line.yaml
    within 200 2 bload pack -c line.yaml -o d :err 'line.yaml is longer than 67108864 bytes'
}

test_claims_of_headers() {
    local header="{'descr': '<i4', 'fortran_order': False, 'shape': (1000000000000,), }"
    { printf '\223NUMPY\1\0\166\0%-117s\n' "$header" && zeros 1; } >claim.npy
    { printf '\223NUMPY\2\0\377\377\377\377%-117s\n' "$header" && zeros 1; } >header.npy
    { printf '\0\0\0\0\0\0\0\20{}' && zeros 1; } >plan.safetensors
    within 100 3 bload scan -j 1 claim.npy header.npy --kind array
    err_has 'skipped claim.npy: truncated: the header promises 4000000000000 bytes of elements, 1048576 are there'
    err_has 'skipped header.npy: an NPY header of 4294967295 bytes'
    within 100 3 bload scan -j 1 claim.npy header.npy --kind text
    err_has 'skipped claim.npy: ends at byte 1048704: cut off' 'skipped header.npy: an NPY header of 4294967295 bytes'
    texts
    expect 0 bload scan -q t --tokenizer bytes -o t.tsv
    within 100 1 bload pack --sequences t.tsv --plan plan.safetensors --tokenizer bytes -T 9 -o d
    err_has 'a header of 1152921504606846976 bytes exceeds the limit of the format: not a safetensors file'
}

# Their characters would be taken for bytes that are not UTF-8, with a warning for each text.
test_other_encodings_are_named() {
    put t/1.txt '\377\376a\0b\0' t/2.txt '\376\377\0a\0b' t/3.txt '\377\376\0\0a\0\0\0' t/4.txt '\0\0\376\377\0\0\0a'
    printf 'a\377\376' >t/5.txt # not at its start
    printf '\357\273\277a' >t/6.txt
    printf '\377\376{\0"\0' | gzip >t/7.txt.gz
    expect 3 bload scan t --tokenizer bytes
    for row in 1 2 7; do is 'UTF-16 text (convert it to UTF-8)' "$(field reason $row <"$OUT")"; done
    for row in 3 4; do is 'UTF-32 text (convert it to UTF-8)' "$(field reason $row <"$OUT")"; done
    is 'skipped skipped skipped skipped ok ok skipped' "$(field status <"$OUT" | xargs)"
    err_has 'bload: skipped 1.txt: UTF-16 text (convert it to UTF-8)'
    printf '\377\376{\0"\0' >a.jsonl
    truncate -s 200M a.jsonl # one part, not several
    expect 3 bload scan a.jsonl --tokenizer bytes :column reason 'UTF-16 text (convert it to UTF-8)'
    given labels.txt '\377\3761\0\n\0' expect 3 bload scan labels.txt --kind labels :err 'skipped labels.txt: UTF-16 text (convert it to UTF-8)'
    expect 1 bload scan t/6.txt --tokenizer bytes --attributes labels.txt :err 'labels.txt: UTF-16 text (convert it to UTF-8)'
    expect 1 bload scan @labels.txt --tokenizer bytes :err 'labels.txt: UTF-16 text (convert it to UTF-8)'
}

# Each shard that is claimed would be looked for, and memory taken for each block.
test_claims_of_a_manifest() {
    texts
    expect 0 bload pack -q t --tokenizer bytes -T 9 -o d
    cp d/manifest.json sound
    for claim in 2147483647 9223372036854775807; do
        sed "s/\"blocks\": [0-9]*/\"blocks\": $claim/" sound >d/manifest.json
        for command in verify info status finish; do
            within 100 1 timeout 20 "$BLOAD" $command d
            err_has "$claim shards, but only" || err_has "$claim blocks, but only"
        done
    done
}

# A list of key frames that claims 2 GB of numbers.
test_tables_that_are_only_claimed() {
    ffmpeg -v error -nostdin -f lavfi -i sine=duration=1 -ar 22050 -bitexact plain.flv
    python3 - plain.flv claims.flv <<'EOF'
import struct, sys
script = b"\2\0\nonMetaData\10\0\0\0\1\0\tkeyframes\3\0\5times\n" + struct.pack(">I", 0xfffffff) + bytes(900)
tag = b"\22" + len(script).to_bytes(3, "big") + bytes(7) + script + struct.pack(">I", len(script) + 11)
open(sys.argv[2], "wb").write(b"FLV\1\4\0\0\0\t\0\0\0\0" + tag + open(sys.argv[1], "rb").read()[13:])
EOF
    within 400 0 bload scan -q --kind audio --isolate off plain.flv claims.flv
    is 1 "$(field length <"$OUT" | sort -u | wc -l)"
}

# Pictures in the tags of MP3 may be compressed: 2 MB took 2 GB.
test_tags_are_left_alone() {
    ffmpeg -v error -nostdin -f lavfi -i sine=duration=1 -bitexact -id3v2_version 0 plain.mp3
    python3 - plain.mp3 tags.mp3 two.mp3 beyond.mp3 many.mp3 <<'EOF'
import sys, zlib
def size(n):
    return bytes([n >> 21 & 127, n >> 14 & 127, n >> 7 & 127, n & 127])
def tag(frames):
    return b"ID3\4\0\0" + size(len(frames)) + frames
picture = size((1 << 28) - 1) + zlib.compress(b"\0image/png\0\3\0" + bytes(100000000), 9)
bomb = tag((b"APIC" + size(len(picture)) + b"\0\t" + picture) * 10)
sound = open(sys.argv[1], "rb").read()
open(sys.argv[2], "wb").write(bomb + sound)
open(sys.argv[3], "wb").write(tag(b"TIT2" + size(3) + b"\0\0\0hm") + bomb + tag(b"") + sound)
open(sys.argv[4], "wb").write(b"ID3\4\0\0\177\177\177\177" + sound)
open(sys.argv[5], "wb").write(tag(b"") * 1001 + bomb + sound)
EOF
    within 400 3 bload scan -q --kind audio --isolate off beyond.mp3 many.mp3 plain.mp3 tags.mp3 two.mp3
    err_has 'skipped many.mp3: more than 1000 ID3 tags'
    is 'skipped skipped ok ok ok' "$(field status <"$OUT" | xargs)"
    is 2 "$(field length <"$OUT" | sort -u | wc -l)"
    expect 0 bload pack -q --kind audio -T longest -j 1 -o d plain.mp3 tags.mp3 two.mp3
    is 1 "$(python3 - d <<'EOF'
import glob, json, struct, sys
name, = glob.glob(sys.argv[1] + "/shards/*/*.safetensors")
data = open(name, "rb").read()
size = struct.unpack_from("<Q", data)[0]
begin, end = json.loads(data[8:8 + size])["audio"]["data_offsets"]
sound = data[8 + size + begin:8 + size + end]
third = len(sound) // 3
print(len({sound[i * third:(i + 1) * third] for i in range(3)}))
EOF
)"
}

# write_tokenizers: DIR/NAME.json, each of which makes 100,000 times as much of a text, or more, by another part.
write_tokenizers() {
    mkdir "$1"
    python3 - "$1" <<'EOF'
import json, struct, sys, base64
long = "a" * 100000
words = {"type": "Split", "pattern": {"Regex": "\\s+"}, "behavior": "Isolated", "invert": False}
level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
def write(name, normalizer, steps=(), added=(), vocabulary={"a": 0, "b": 1, "\u0124": 2}):
    pre = {"type": "Sequence", "pretokenizers": [words, *steps]}
    model = {"type": "BPE", "unk_token": None, "vocab": vocabulary, "merges": []}
    json.dump({"added_tokens": list(added), "normalizer": normalizer, "pre_tokenizer": pre, "model": model},
              open(f"{sys.argv[1]}/{name}.json", "w"))
def replace(kind, text, content):
    return {"type": "Replace", "pattern": {kind: text}, "content": content}
def added(text, normalized):
    return [{"id": 3, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": normalized, "special": not normalized}]
write("replace", replace("String", "a", long))
write("regex", replace("Regex", "a+?", long))
write("twice", {"type": "Sequence", "normalizers": [replace("String", "a", "a" * 400)] * 2})
write("levels", None, [level] * 15)
write("between", replace("String", "a", long), added=added("<X>", False))
write("token", replace("String", "a", long), added=added("aXa", True))
# A map from "a", as the Darts library writes it: the root leads to 256, its "a" to 5, where the value is.
unit = [0] * 512
unit[0], unit[256 ^ 97], unit[5] = 256 << 10, (256 ^ 97 ^ 5) << 10 | 1 << 8 | 97, 1 << 31
text = struct.pack("<I512I", 4 * len(unit), *unit) + long.encode() + b"\0"
write("map", {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(text).decode()})
write("long", None, [level], vocabulary={"a": 0, "b" * 20000000: 1})
EOF
}

# A file of 100 KB makes 100 MB of 1,000 bytes: these were 1 GB, whatever --memory was.
test_what_a_tokenizer_multiplies() {
    write_tokenizers t
    printf 'a%.0s' {1..1000} >a.txt
    printf 'a<X>%.0s' {1..1000} >between.txt
    printf '\303\251%.0s' {1..8000} >levels.txt
    for name in replace regex twice levels between map; do
        cp a.txt in.txt
        [ ! -e $name.txt ] || cp $name.txt in.txt
        printf b >b.txt
        set -- -q in.txt b.txt --kind text --tokenizer t/$name.json --special parse -T 65536 --oversize split -j 1
        within 400 2 bload pack "$@" -o d --memory 256M
        err_has 'in.txt: a document of ' ' of memory are needed for it: --memory is too small by '
        # What is longer than a document may be is skipped, whatever the memory is.
        within 400 3 bload pack "$@" -o e --memory 256M --max-document 1M
        err_has 'skipped in.txt: the tokenizer makes more than 1.0 MiB of it (--max-document)'
        is '1 0' "$(field length <e/sequences.tsv | sort -rn | xargs)"
        expect 3 bload pack "$@" -o f --max-document 1M :same-as e
        rm -rf d e f
    done
    expect 1 bload pack -q a.txt --tokenizer t/token.json -T 4 -o d
    err_has 't/token.json: "added_tokens", entry 0: its normal form has more than 4144 bytes, which is not supported'
}

# Where there is memory for it, a document that grows has the same ids, before and after others.
test_what_a_tokenizer_multiplies_is_waited_for() {
    write_tokenizers t
    mkdir in
    for i in 1 2 3 4; do printf 'a%.0s' {1..50} >in/$i.txt && echo b >>in/$i.txt; done
    set -- -q in --kind text --tokenizer t/replace.json -T 65536 --oversize split
    expect 0 bload pack "$@" -o much -j 1 --memory 16G
    expect 0 bload pack "$@" -o little -j 4 --memory 256M :same-as much
    is '5000001 5000001 5000001 5000001' "$(field length <much/sequences.tsv | xargs)"
    within 400 2 bload pack "$@" -o d -j 1 --memory 64M :err 'in/1.txt: a document of 52 bytes, of which the tokenizer makes 4.8 MiB or more: '
}

# Tokens of 20 MB: all of them were in memory at once in cat, and twice that in show.
test_tokens_that_are_long() {
    write_tokenizers t
    python3 -c 'print({"text": [1] * 12}, {"text": [0] * 9}, sep="\n")' | tr "'" '"' >c.jsonl
    expect 0 bload pack -q c.jsonl --tokenizer t/long.json -T 64 -o d
    within 200 0 bload cat d 'c.jsonl#0' --as text --tokenizer t/long.json -o long
    is 240000000 "$(stat -c %s long)"
    for to in '' '-o page.html'; do
        within 250 2 bload show d --tokenizer t/long.json $to :err 'there is more text to show than 64.0 MiB: bload cat writes that of one sequence'
    done
    rm long
}

# A TIFF may name a palette 65,535 times, each as large as the file.
test_palettes_of_a_tiff() {
    mkdir -p in/bad in/good
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=16x16 -frames:v 1 in/good/1.png
    python3 - <<'END'
import struct
size, count = 16_000_000, 65535
known = [(256, 3, 1, 4), (257, 3, 1, 4), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 3), (273, 4, 1, 8), (277, 3, 1, 1), (278, 3, 1, 4), (279, 4, 1, 16)]
palette = (320, 3, size // 2 - 500000, 800000)
entries = b"".join(struct.pack("<HHII", *entry) for entry in known) + struct.pack("<HHII", *palette) * (count - len(known))
data = b"II*\0" + struct.pack("<IH", 8, count) + entries + bytes(4)
open("in/bad/1.tif", "wb").write(data + bytes(size - len(data)))
END
    expect 3 timeout 60 "$BLOAD" pack -q --kind frames -T 1 -j 1 -o d in :err 'failed bad: 1.tif: damaged image'
}
