# Members of tars as inputs: samples in place, what is skipped by name, their members as fields and columns.
# shellcheck shell=bash disable=SC2317

# counted FILE N [FIRST]: an array of N steps of one U8, which count on from FIRST.
counted() { npy "$1" "$2" "(${3-0} + i) % 256"; }

# samples FOLDER N FIRST: N (at most 10) samples of an array, a second one, labels and a description.
samples() {
    mkdir -p "$1"
    for ((i = 0; i < $2; i++)); do
        counted "$1/s$i.x.npy" $((5 + i)) $(($3 + i))
        counted "$1/s$i.y.npy" $((5 + i)) $(($3 + 100))
        seq $((5 + i)) | tr -d '\n' | sed 's/./a\n/g' | head -n $((5 + i)) >"$1/s$i.labels.txt"
        printf '{"caption": "c\\t%d",\n "width": %d, "none": null}\n' "$i" "$i" >"$1/s$i.json"
        printf '%d\n' $((i % 2)) >"$1/s$i.cls"
    done
}

# make_tar FILE FORMAT FOLDER: what is in the folder, in the order that WebDataset wants.
make_tar() {
    tar --version 2>/dev/null | grep -q GNU || skip 'no GNU tar'
    tar --format="$2" --sort=name -C "$3" -cf "$1" .
}

test_each_format_equals_the_files() {
    samples long/"$(printf 'folder-%060d/%060d' 1 2)" 3 0
    samples plain 9 40
    for format in v7 ustar gnu oldgnu posix; do
        rm -rf tars files
        mkdir -p tars files
        cp -r plain files/a
        make_tar tars/a.tar $format plain
        if [ $format != v7 ]; then
            cp -r long files/b
            make_tar tars/b.tar $format long
        fi
        expect 0 bload pack -q --kind array tars --member x.npy -T 20 -o "$format"
        find files ! -name '*.x.npy' -type f -delete
        expect 0 bload pack -q --kind array files --name x -T 20 -o "$format-files"
        same "$format/shards/00000/shard-00000000.safetensors" "$format-files/shards/00000/shard-00000000.safetensors"
        is "$(field id <"$format-files/sequences.tsv" | sed 's/\.x\.npy//')" "$(field id <"$format/sequences.tsv")"
        expect 0 bload verify -q "$format"
    done
    # The field has the name of the member, if no table has it, and if nothing else is asked for.
    for name in x array; do
        [ $name = x ] || expect 0 bload pack -q --kind array tars --member x.npy --name $name -T 20 -o named
        expect 0 bload info "$([ $name = x ] && echo posix || echo named)" :out "field       $name "
    done
    mkdir lengths
    cp plain/s0.x.npy lengths/s0.length.npy
    make_tar lengths.tar ustar lengths
    expect 0 bload pack -q lengths.tar --kind array --member length.npy -T longest -o l
    expect 0 bload info l :out 'field       array '
    # What is printed packs the same.
    bload pack tars --kind array --member x.npy -T 20 -o posix --print-config >set.yaml
    expect 0 bload pack -c set.yaml :err 'posix is already complete'
    # The place is where the bytes are.
    path=$(field path 2 <posix/sequences.tsv)
    expr "$path" : 'tars/a.tar@[0-9]*+[0-9]*/s1.x.npy$' >/dev/null || fail "$path"
    place=${path#*@} place=${place%%/*}
    dd if=tars/a.tar bs=1 skip="${place%+*}" count="${place#*+}" status=none | cmp - plain/s1.x.npy
}

test_which_member_is_the_sequence() {
    samples in 2 0
    make_tar a.tar ustar in
    expect 2 bload scan a.tar
    err_is <<<'bload: scan: a.tar: the sample s0 has several members that can be the sequence (x.npy, y.npy): choose with --member EXTENSION'
    expect 0 bload scan a.tar --member y.npy :err 'ignored in tars and folders: 2 .cls, 2 .json, 2 .npy, 2 .txt'
    is a/s0 "$(field id 1 <"$OUT")"
    expect 2 bload scan a.tar --member z.npy :err '--member z.npy: the tars have no such members (cls, json, labels.txt, x.npy, y.npy)'
    expect 2 bload scan a.tar --member cls :err '--member cls: the kind of these files is not known: choose it with --kind'
    expect 2 bload scan in --kind array --member y.npy :err '--member chooses members of tars, and no input is one'
    rm in/*.npy
    cp "$(fixture tone-44100-stereo.flac)" in/s0.flac
    make_tar b.tar ustar in
    # Sound comes before text, and a sample without it is named.
    printf 'id,bytes\na,1\n' >in/s2.tsv # no list, though it is called so
    ln -s s2.tsv in/s3.csv
    make_tar b.tar ustar in
    expect 3 bload scan b.tar --kind audio :err 'skipped b/s2: the sample has no member that is a sequence (flac)' 'skipped b/s3.csv#'
    rm in/s[23].*
    make_tar b.tar ustar in
    expect 3 bload scan b.tar :err 'skipped b/s1: the sample has no member that is a sequence (flac)'
    is audio "$(field kind 1 <"$OUT")"
    cp in/s0.flac in/s0.mp4
    make_tar c.tar ustar in
    expect 2 bload scan c.tar :err 'samples have members of several kinds (flac, mp4): choose the sequences with --member EXTENSION'
    touch in/s0.jpg
    tar -cf d.tar -C in s0.jpg s0.cls
    expect 2 bload scan d.tar :err 'no member of the tars has a name of a known kind (jpg, cls)'
}

test_patterns_and_folders() {
    samples in 2 0
    rm in/*.y.npy
    mkdir t
    for i in 07 08 09 10; do make_tar t/d-$i.tar ustar in; done
    expect 0 bload scan 't/d-{08..10}.tar' --member x.npy :column id "d-08/s0 d-08/s1 d-09/s0 d-09/s1 d-10/s0 d-10/s1"
    cp "$OUT" wanted
    expect 0 bload scan 't/d-{10,08,09}.tar' --member x.npy :out-as wanted
    expect 2 bload scan 't/d-{08..11}.tar' --member x.npy :err 't/d-11.tar: No such file or directory'
    expect 2 bload scan 't/{0..1000}-{0..1000}.tar' :err 't/0-0.tar: No such file or directory'
    # A tar beside other inputs is none; a readme beside tars is none.
    given t/README.txt 'hello\n' expect 0 bload scan t --member x.npy :err 'ignored in tars and folders: '
    is 8 "$(field id <"$OUT" | wc -l)"
    rm t/README.txt
    cp in/s0.x.npy t/x.npy
    expect 0 bload scan t :err 'ignored in folders: 4 .tar' :column id x.npy
    # Two tars of one name.
    expect 2 bload scan t/d-07.tar in/../t/d-07.tar --member x.npy :err 'two inputs have the id "d-07/s0"'
    gzip -k t/d-07.tar
    expect 2 bload scan t/d-07.tar.gz
    err_is <<<'bload: scan: t/d-07.tar.gz: members of a compressed tar cannot be read in place: decompress it first (gunzip t/d-07.tar.gz)'
    mv t/d-07.tar.gz t/z.tar
    expect 3 bload scan t/z.tar :err 'skipped z: no tar, but compressed by gzip: unpack it first'
}

test_what_is_skipped_by_name() {
    mkdir in
    counted in/a.npy 5
    counted in/z.npy 6
    ln -s a.npy in/link.npy
    ln in/a.npy in/sama.npy
    mkfifo in/pipe.npy
    truncate -s 1M in/hole.npy
    echo end >>in/hole.npy
    counted in/noext 5
    counted in/.hidden.npy 5
    tar --format=gnu --sparse --sort=name -C in -cf a.tar .
    counted ../abs.npy 5 2>/dev/null || counted abs.npy 5
    tar -P -rf a.tar "$PWD/in/z.npy"
    tar -P -rf a.tar in/../in/z.npy
    tar -rf a.tar -C in a.npy
    expect 3 bload scan --kind array a.tar
    sed -n 's/#[0-9]*: /: /p; /files/p' "$ERR" | sed "s|$PWD|HERE|" | sort >got
    diff - got <<'END'
bload: 9 files: 2 sequences of 11 steps; 7 skipped
bload: skipped a/HERE/in/z.npy: an absolute path
bload: skipped a/a.npy: a second member of this name: the first one is taken
bload: skipped a/hole.npy: a sparse file
bload: skipped a/in/../in/z.npy: a path that leads out of its folder
bload: skipped a/link.npy: a symbolic link
bload: skipped a/pipe.npy: a device or a pipe
bload: skipped a/sama.npy: a hard link
END
    err_has 'ignored in tars and folders: 1 hidden, 1 no extension'
    is "a/a a/z" "$(awk -F '\t' '$6 == "ok" { print $1 }' "$OUT" | xargs)"
    tar --format=posix --sparse --sort=name -C in -cf b.tar hole.npy a.npy
    expect 3 bload scan --kind array b.tar :err 'skipped b/hole.npy#' :err ': a sparse file'
}

test_damaged_tars() {
    samples in 6 0
    rm in/*.y.npy in/*.txt in/*.json
    make_tar whole.tar ustar in
    refuse() { # FILE SEQUENCES MESSAGE
        expect 3 bload scan "$1" --kind array :err "skipped ${1%.tar}: $3"
        is "$2" "$(awk -F '\t' '$6 == "ok"' "$OUT" | wc -l)"
        expect 3 bload pack -q --kind array "$1" -T 20 -o "d-$1"
        expect 3 bload pack -q --kind array "$1" -T 20 -o "d-$1" # nothing has changed since
    }
    bytes=$(stat -c %s whole.tar)
    head -c 5000 whole.tar >cut.tar
    refuse cut.tar 2 'cut short at byte 5000: it has no end'
    place=$(bload scan whole.tar --kind array 2>/dev/null | field path 2)
    place=${place#*@} place=${place%%/*}
    head -c $((${place%+*} + 50)) whole.tar >inside.tar
    refuse inside.tar 1 "cut short at byte $((${place%+*} + 50)), in s1.x.npy"
    edge=$(((${place%+*} + ${place#*+} + 511) / 512 * 512))
    head -c $edge whole.tar >edge.tar
    refuse edge.tar 2 "cut short at byte $edge: it has no end"
    cp whole.tar flip.tar
    printf X | dd of=flip.tar bs=1 seek=$((512 + 1024 + 1024 + 3)) conv=notrunc status=none
    expect 3 bload scan flip.tar --kind array :err 'skipped flip: damaged: no header at byte 2560'
    cat whole.tar whole.tar >joined.tar
    refuse joined.tar 6 'its end is at byte '
    expect 3 bload scan joined.tar --kind array :err ", but more follows at byte $bytes, which is not read (were archives joined?)"
    truncate -s 10240 zero.tar
    expect 3 bload scan zero.tar :err 'skipped zero: an empty tar'
    given empty.tar '' expect 3 bload scan empty.tar :err 'skipped empty: empty file'
    echo 'not a tar, though it is called so' >text.tar
    truncate -s 2000 text.tar
    expect 3 bload scan text.tar :err 'skipped text: no tar archive'
    # Cut after the scan.
    expect 0 bload scan whole.tar --kind array -o table.tsv
    truncate -s 5000 whole.tar
    expect 1 bload pack --sequences table.tsv -T 20 -o late :err 'whole.tar@'
}

test_members_become_columns() {
    samples in 5 0
    rm in/*.y.npy
    make_tar a.tar ustar in
    expect 0 bload pack -q a.tar --kind array -T 20 --attributes-members json,cls -o d :made width '0 1 2 3 4' :made cls '0 1 0 1 0'
    is 'c\t0 c\t1' "$(field caption <d/sequences.tsv | head -n 2 | xargs -d '\n')"
    expect 0 bload info d :out 'cls '
    expect 0 bload report d :out '>a.tar<'
    # Another content of a member is another dataset.
    printf '7' >in/s1.cls
    make_tar a.tar ustar in
    expect 2 bload pack -q a.tar --kind array -T 20 --attributes-members json,cls -o d
    expect 0 bload pack -q a.tar --kind array -T 20 --attributes-members json --attributes-columns width --where 'width > 2' -o e
    is '' "$(field caption <e/sequences.tsv 2>/dev/null || true)"
    expect 2 bload scan a.tar --kind array --attributes-members json --attributes-columns widht :err '--attributes-columns: no member json has "widht"'
    expect 2 bload scan a.tar --kind array --attributes-members jsn :err '--attributes-members: no sample has a member jsn'
    expect 2 bload scan in --kind array --attributes-members json :err '--attributes-members reads members of tars, and no input is one'
    # A value without keys has the name of its member: our own exports have lists of ids.
    expect 0 bload pack -q in --kind array -T 20 -o f
    expect 0 bload export f --to webdataset --ids -o w
    expect 0 bload scan -q w/*.tar --kind array --member array.npy --attributes-members ids.json
    is '["s3.x.npy","s2.x.npy",""]' "$(field ids 1 <"$OUT")"
    while IFS='|' read -r text status expected; do
        mkdir -p lone
        cp in/s0.x.npy lone/s0.npy
        printf '%b' "$text" >lone/s0.ids.json
        make_tar lone.tar ustar lone
        expect "$status" bload scan -q lone.tar --kind array --attributes-members ids.json
        is "$expected" "$(cut -f 7,11- <"$OUT" | tail -n 1 | tr '\t' ,)"
    done <<'END'
 [1,\n "a"]\n|0|,[1,  "a"]
-3|0|,-3
"x"|0|,x
null|0|,
[1], "b": 2|3|ids.json: not JSON: more than one value
[1|3|ids.json: not JSON: expected , or ] at byte 2
END
    printf '{"width": 1, "length": 2}' >in/s2.json
    make_tar b.tar ustar in
    expect 2 bload scan b.tar --kind array --attributes-members json
    err_has '"length" is reserved in the table of sequences: leave it out with --attributes-columns'
    printf '{"width": ' >in/s2.json
    rm in/s3.json
    make_tar c.tar ustar in
    expect 3 bload scan c.tar --kind array --attributes-members json :err 'skipped c/s2: json: not a JSON object: '
    err_has 'skipped c/s3: json: the sample has no such member'
}

test_members_become_fields() {
    samples in 6 0
    rm in/s4.y.npy
    counted in/s5.y.npy 3
    mkdir -p conf data
    make_tar data/a.tar posix in
    cat >conf/set.yaml <<'END'
sources: [../data/a.tar]
member: x.npy
fields:
  - {name: y, path: '{key}.y.npy'}
  - {name: labels, path: '{key}.labels.txt', kind: labels}
END
    printf 'a\n' >conf/map.txt
    sed -i "s/kind: labels/kind: labels, mapping: map.txt/" conf/set.yaml
    expect 3 bload pack -c conf/set.yaml -T 30 -o d :err 'skipped a/s4: y: s4.y.npy: the sample has no such member' 'skipped a/s5: y: ../data/a.tar@'
    err_has '/s5.y.npy has 3 rows, the array 10 rows'
    is 4 "$(awk -F '\t' '$6 == "ok"' d/sequences.tsv | wc -l)"
    # Where sources are named on the command line, members are where they are.
    expect 3 bload pack -q -c conf/set.yaml data/a.tar -T 30 -o e :same-in d shards/00000/shard-00000000.safetensors
    sed '/member/d' conf/set.yaml >conf/files.yaml
    rm in/*.y.npy
    expect 3 bload scan -c conf/files.yaml in --kind array :err 'skipped s0.x.npy: y: {key}.y.npy: the sequence is no member of a tar'
    sed -i "s/{key}.y.npy/x{key}.y.npy/" conf/set.yaml
    expect 2 bload pack -c conf/set.yaml -T 30 -o g :err '"x{key}.y.npy": {key} begins the name of a member beside the sequence in its tar'
}

test_isolated_in_tasks_and_going_on() {
    fixtures in h264-30.mp4 hevc-open-60.mp4
    for i in 1 2 3 4; do cp in/h264-30.mp4 "in/k$i.mp4"; done
    make_tar a.tar gnu in
    expect 0 bload pack -q a.tar --size 32x32 -T longest -o d
    expect 0 bload pack -q in --size 32x32 -T longest -o f :same-in d shards/00000/shard-00000000.safetensors
    expect 0 bload pack -q a.tar --size 32x32 -T longest --isolate off -o o :same-in d shards/00000/shard-00000000.safetensors
    expect 0 bload scan a.tar -o t.tsv
    for t in 0/2 1/2; do expect 0 bload pack -q --sequences t.tsv --size 32x32 -T longest --task $t --shard-size 200K -o tasks; done
    expect 0 bload finish tasks :verified
    is "$(field path <d/sequences.tsv)" "$(field path <tasks/sequences.tsv)"
    # Another tar at its place.
    expect 0 bload pack -q a.tar --size 32x32 -T longest -o r
    rm in/k1.mp4
    make_tar a.tar gnu in
    expect 2 bload pack -q a.tar --size 32x32 -T longest -o r
}

# Where a header is damaged, size and time as before, only the listing has the members behind it.
test_tasks_share_what_they_list() {
    samples in 6 0
    rm in/*.y.npy in/*.txt in/*.json
    ln -s s0.x.npy $'in/l\tnk.x.npy'
    make_tar a.tar gnu in
    make_tar b.tar ustar in
    head -c 9000 b.tar >c.tar
    mkdir good
    cp -p a.tar good/
    set -- --kind array a.tar b.tar c.tar
    expect 3 bload scan "$@" -o all.tsv
    expect 3 bload pack -q "$@" -T 20 --shard-size 1K -o whole
    expect 3 bload scan -q "$@" --task 1/2 -o d
    is 3 "$(compgen -G 'd/.bload/tar-*' | wc -l)"
    header=$(grep -abo 's2.x.npy' a.tar | head -n 1 | cut -d: -f1)
    harm() { # FILE BYTE
        printf X | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
    }
    harm a.tar "$((header + 5))"
    touch -r good/a.tar a.tar
    expect 3 bload scan a.tar --kind array :err 'skipped a: damaged: no header at byte'
    expect 3 bload scan -q "$@" --task 0/2 -o d
    # A listing that is damaged, or of another file, does not count: another part would not fit to the first one.
    for listing in d/.bload/tar-*; do harm "$listing" $(($(stat -c %s "$listing") / 2)); done
    expect 2 bload scan -q "$@" --task 0/2 -o d :err 'inputs is "'
    cp good/a.tar a.tar
    expect 3 bload scan -q "$@" --task 0/2 -o d
    harm a.tar "$((header + 5))"
    expect 2 bload scan -q "$@" --task 0/2 -o d :err 'inputs is "'
    cp good/a.tar a.tar
    expect 3 bload plan -q -T 20 d
    same all.tsv d/.bload/sequences.tsv
    for task in 0/2 1/2; do expect 0 bload pack -q "$@" -T 20 --shard-size 1K --task $task -o d; done
    expect 3 bload finish -q d
    diff -r whole d
    # Nothing is left where there is a dataset already.
    expect 3 bload scan -q "$@" --task 0/2 -o d
    expect 3 bload pack -q "$@" -T 20 --shard-size 1K --task 0/2 -o d :same-as whole
}

test_text_and_sound() {
    mkdir in
    for i in 1 2 3; do seq 1 $((i * 30)) >"in/$i.txt"; cp "$(fixture tone-48000.mp3)" "in/$i.mp3"; done
    tar -C in -cf text.tar 1.txt 2.txt 3.txt
    tar -C in -cf sound.tar 1.mp3 2.mp3 3.mp3
    expect 0 bload pack -q text.tar --tokenizer bytes -T 512 -o t
    expect 0 bload pack -q in --kind text --tokenizer bytes -T 512 -o tf :same-in t shards/00000/shard-00000000.safetensors
    expect 0 bload pack -q text.tar --documents line --tokenizer bytes -T 512 -o l
    expect 0 bload pack -q in --kind text --documents line --tokenizer bytes -T 512 -o lf :same-in l shards/00000/shard-00000000.safetensors
    # Compressed members.
    printf '{"text": "abc"}\n{"text": "de"}\n' | gzip >in/4.jsonl.gz
    tar -C in -cf packed.tar 4.jsonl.gz
    expect 0 bload pack -q packed.tar --tokenizer bytes -T 8 -o g :made id "packed/4#0 packed/4#16"
    is de "$(bload cat g 'packed/4#16')"
    expect 0 bload pack -q sound.tar --rate 8000 -T longest -o s
    rm in/*.txt
    expect 0 bload pack -q in --kind audio --rate 8000 -T longest -o sf :same-in s shards/00000/shard-00000000.safetensors
    expect 0 bload scan sound.tar --dedup
    is 1 "$(awk -F '\t' '$6 == "ok"' "$OUT" | wc -l)"
}
