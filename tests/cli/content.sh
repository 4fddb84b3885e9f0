# Sources that are replaced by others of the same size: the column content of the table tells.
# shellcheck shell=bash disable=SC2317,SC2016

# wave FILE VALUE SECONDS: sound of one channel whose samples are all the same.
wave() {
    python3 - "$@" <<'END'
import struct, sys, wave
with wave.open(sys.argv[1], "wb") as file:
    file.setparams((1, 2, 16000, 0, "NONE", ""))
    file.writeframes(struct.pack("<h", int(sys.argv[2])) * (16000 * int(sys.argv[3])))
END
}

# other FILE: the same file with another byte at its end; its time is the old one with TIME=old.
other() {
    cp -p "$1" before
    printf '\xa5' | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") - 1)) conv=notrunc status=none
    ! cmp -s before "$1" || fail 'the byte was the same'
    [ "${2-}" != old ] || touch -r before "$1"
}

sound=(-q --kind audio -T 4000 --oversize split --shard-size 50K)

test_a_sound_that_is_replaced_on_the_way() {
    mkdir in
    wave in/a.wav 111 600
    wave b.wav 222 600
    cp in/a.wav a.wav
    expect 0 bload scan -q --kind audio in -o table.tsv
    expect 0 bload pack "${sound[@]}" in -o one
    ended_by KILL 'd/shards/00000/*1.safetensors' "$BLOAD" pack "${sound[@]}" in -o d -j 1
    [ ! -e d/manifest.json ] || fail 'it was done already'
    cp -r d tasks
    touch -r in/a.wav b.wav
    cp -p b.wav in/a.wav
    expect 1 bload pack "${sound[@]}" in -o d
    err_is <<<'bload: pack: the inputs changed since the scan: in/a.wav has different content (use the same inputs, or another -o)'
    # Tasks do not look at all files first: what was read is looked at again. So it is where the scan was done elsewhere.
    expect 1 bload pack "${sound[@]}" --sequences table.tsv -o e --task 0/1 :err-is 'bload: pack: in/a.wav: changed since the scan: different content'
    is 0 "$(find e/shards -name '*.safetensors' | wc -l)"
    expect 1 bload pack "${sound[@]}" --sequences table.tsv -o f :err 'in/a.wav has different content'
    # Another copy of the same bytes is the same file, whatever its time.
    cp a.wav in/a.wav
    expect 0 bload pack "${sound[@]}" in -o d :same-as one
    expect 0 bload pack "${sound[@]}" --sequences table.tsv -o f :same-in one shards.tsv
    # A table that somebody else made tells of sizes alone.
    strange table.tsv >strange.tsv
    cp b.wav in/a.wav
    expect 0 bload pack "${sound[@]}" --sequences strange.tsv -o g :made content ''
}

# Every kind, and what further fields come from.
test_no_complete_dataset_of_other_bytes() {
    mkdir v n images labels
    cp "$(fixture h264-30.mp4)" v/a.mp4
    wave s.wav 7 1
    npy n/a.npy 30
    npy labels/a.npy 30
    python3 -c "import zipfile; zipfile.ZipFile(\"n/b.npz\", \"w\").write(\"n/a.npy\", \"a.npy\")"
    for i in 1 2 3; do ffmpeg -v error -f lavfi -i testsrc=size=16x16 -frames:v 1 "images/$i.bmp"; done
    printf '{"audio_filepath": "s.wav", "offset": 0.1, "duration": 0.2}\n' >train.json
    printf 'sources:\n  - path: v/\nkind: video\nT: 30\nfields:\n  - name: labels\n    path: labels/{id}.npy\n    kind: array\n' >set.yaml
    local file row n=0
    while read -r file row; do
        read -r -a row <<<"$row"
        n=$((n + 1))
        expect 0 bload pack -q "${row[@]}" -o "d$n"
        for time in new old; do
            other "$file" "$time"
            expect 2 bload pack -q "${row[@]}" -o "d$n" :err "holds a dataset of other inputs: "
            err_has " has different content (use the same inputs, or another -o)"
            cp -p before "$file"
        done
        touch "$file"
        expect 0 bload pack -q "${row[@]}" -o "d$n"
    done <<'END'
v/a.mp4 v --kind video -T 30
s.wav s.wav --kind audio -T longest
s.wav train.json --kind audio -T longest
n/a.npy n/a.npy --kind array -T 30
n/b.npz n/b.npz --kind array -T 30
images/2.bmp images --kind frames -T 3
labels/a.npy -c set.yaml
END
}

test_an_image_that_is_replaced() {
    mkdir -p in/a
    for i in 1 2 3; do ffmpeg -v error -f lavfi -i testsrc=size=16x16 -frames:v 1 "in/a/$i.bmp"; done
    expect 0 bload scan -q --kind frames in -o table.tsv
    other in/a/2.bmp old
    expect 1 bload pack -q --sequences table.tsv -T 3 -o d --task 0/1 :err-is 'bload: pack: in/a: changed since the scan: other images of the same size'
    mv before in/a/2.bmp
    expect 0 bload pack -q --sequences table.tsv -T 3 -o d --task 0/1
}

bytes=(-q --tokenizer bytes -T 100 --oversize split --shard-size 1)

test_documents_that_are_replaced() {
    mkdir docs
    for i in $(seq 2000); do printf '{"text": "number %05d, and a few words"}\n' "$i"; done >docs/a.jsonl
    cp docs/a.jsonl b.jsonl
    cp -p docs/a.jsonl kept
    sed -i 's/02000/02999/' b.jsonl
    expect 0 bload scan -q docs --tokenizer bytes -o table.tsv
    expect 0 bload pack "${bytes[@]}" docs -o one
    ended_by KILL 'd/shards/00000/*1.safetensors' "$BLOAD" pack "${bytes[@]}" docs -o d -j 1
    [ ! -e d/manifest.json ] || fail 'it was done already'
    for time in new old; do
        cp b.jsonl docs/a.jsonl
        [ $time = new ] || touch -r kept docs/a.jsonl
        expect 2 bload pack "${bytes[@]}" docs -o d :err 'd holds an unfinished dataset of another configuration: contents 1 is "docs ('
        expect 2 bload pack "${bytes[@]}" docs -o one :err 'one holds a dataset of another configuration: contents 1 is "docs ('
        expect 1 bload pack "${bytes[@]}" --sequences table.tsv -o e :err 'docs/a.jsonl changed since the scan: the document at byte ' :removed
    done
    # Another copy of the same bytes, with another time, is the same file, and its tokens those of the scan.
    cp kept docs/a.jsonl
    expect 0 bload pack "${bytes[@]}" docs -o d :same-as one
    expect 0 bload pack "${bytes[@]}" --sequences table.tsv -o e :same-in one shards.tsv
}

test_standard_input_is_part_of_what_a_dataset_is() {
    for i in $(seq 2000); do printf '{"text": "number %05d, and a few words"}\n' "$i"; done >a.jsonl
    sed 's/00150/00159/' a.jsonl >b.jsonl
    gzip -kn a.jsonl
    expect 0 bload pack "${bytes[@]}" - -o one <a.jsonl
    expect 0 bload info --json one
    expect 0 bload pack "${bytes[@]}" - -o one <a.jsonl
    expect 2 bload pack "${bytes[@]}" - -o one <b.jsonl :err 'one holds a dataset of another configuration: standard input is "'
    expect 2 bload pack "${bytes[@]}" - -o one </dev/null
    # Killed before a shard was finished, what comes is scanned anew; behind that, it must be the same.
    "$BLOAD" pack "${bytes[@]}" - -o d -T 10 --oversize error <b.jsonl 2>/dev/null && fail 'T is too small'
    expect 0 bload pack "${bytes[@]}" - -o d <a.jsonl :same-as one :removed
    mkfifo pipe
    cat a.jsonl >pipe &
    ended_by KILL 'd/shards/00000/*1.safetensors' sh -c 'exec "$0" pack "$@" <pipe' "$BLOAD" "${bytes[@]}" - -o d -j 1
    [ ! -e d/manifest.json ] || fail 'it was done already'
    expect 2 bload pack "${bytes[@]}" - -o d <b.jsonl :err 'd holds an unfinished dataset of another configuration: standard input is "'
    expect 0 bload pack "${bytes[@]}" - -o d <a.jsonl :same-as one
    # A shard that was lost is made again of the same bytes, and of others it is not.
    rm d/shards/00000/shard-00000002.safetensors
    sed 's/words/wards/' a.jsonl >c.jsonl
    expect 1 bload pack "${bytes[@]}" - -o d <c.jsonl
    expect 0 bload pack "${bytes[@]}" - -o d <a.jsonl :same-as one
    # A manifest, whose recordings are not in it.
    wave s.wav 5 1
    put m.json '{"audio_filepath": "s.wav", "duration": 0.5}\n'
    expect 0 bload pack -q --kind audio - -T 8000 -o speech <m.json
    expect 0 bload pack -q --kind audio - -T 8000 -o speech <m.json
    sed 's/0.5/0.4/' m.json >n.json
    expect 2 bload pack -q --kind audio - -T 8000 -o speech <n.json :err 'standard input is "'
}

test_a_table_that_was_edited_is_not_packed() {
    mkdir in
    wave in/a.wav 111 600
    ended_by KILL 'd/shards/00000/*1.safetensors' "$BLOAD" pack "${sound[@]}" in -o d -j 1
    cp d/.bload/sequences.tsv kept
    sed -i 's/a.wav\t9/b.wav\t9/' d/.bload/sequences.tsv
    expect 1 bload pack "${sound[@]}" in -o d :err 'd/.bload/sequences.tsv was edited or damaged since it was written'
    cp kept d/.bload/sequences.tsv
    expect 0 bload pack "${sound[@]}" in -o d
    # So it is where tasks share it.
    expect 0 bload scan -q --kind audio in -o t --task 0/1
    expect 0 bload plan -q t -T 4000 --oversize split
    sed -i 's/a.wav\t9/b.wav\t9/' t/.bload/sequences.tsv
    expect 1 bload pack "${sound[@]}" in -o t --task 0/1 :err 't/.bload/sequences.tsv was edited or damaged since it was written'
    cp kept t/.bload/sequences.tsv
    expect 0 bload pack "${sound[@]}" in -o t --task 0/1
    sed -i 's/a.wav\t9/b.wav\t9/' t/.bload/sequences.tsv
    expect 1 bload finish t :err 't/.bload/sequences.tsv was edited or damaged since it was written'
    cp kept t/.bload/sequences.tsv
    expect 0 bload finish t :same-in d shards.tsv
}
