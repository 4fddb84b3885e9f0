# Arrays: which files are taken for such, what scan says of them, what pack makes of them.
# shellcheck shell=bash disable=SC2317

arrays() { python3 "$BLOAD_ROOT/fixtures/arrays.py" "$1"; }

test_a_table_says_what_each_file_is() {
    arrays in
    expect 3 bload scan --kind array in
    is "axis=0" "$(field sampling <"$OUT" | sort -u)"
    is "rows" "$(bload pack --kind array in -T 3000 -o d 2>&1 | sed -n 's/^bload: d: .* \([a-z]*\)\/s$/\1/p')"
    cut -f 1,2,6 "$OUT" >table
    diff - table <<'END_OF_TABLE'
id	length	status
a2.npy	900	ok
a10.npy	400	ok
b.npy	700	ok
cut.npy	0	skipped
empty.npy	0	skipped
none.npy	0	skipped
objects.npy	0	skipped
sub/c.npz	500	ok
sub/d.npz	3000	ok
sub/spoilt.npz	3000	ok
twice.npy	40	ok
two.npz	0	skipped
unlike.npy	0	skipped
END_OF_TABLE
    err_has 'bload: skipped cut.npy: truncated: the header promises 72000 bytes of elements, 71993 are there'
    err_has 'bload: skipped objects.npy: an array of Python objects: they are pickled, and never read'
    err_has 'bload: skipped unlike.npy: its steps are F32 [3], those of the first (a2.npy) F32 [3, 2]'
    err_has 'bload: skipped two.npz: 2 arrays (x, y): choose one with --array' 'bload: twice.npy: 1035 bytes follow the array: left out'
    err_has '13 files: 7 sequences of 8,540 steps, 1 of them damaged; 6 skipped'
}

test_in_steps_and_at_once_it_is_the_same() {
    arrays in
    expect 3 bload pack -q --kind array in -T 1000 --oversize split --array x --name features -o one
    expect 3 bload scan -q --kind array in --array x -o table.tsv
    expect 0 bload plan -q -T 1000 --oversize split table.tsv -o plan.tsv
    expect 3 bload pack -q --sequences table.tsv --plan plan.tsv -T 1000 --array x --name features -o two :same-in one shards/00000/shard-00000000.safetensors
    put set.yaml 'sources:\n  - path: in\n    kind: array\nT: 1000\noversize: split\narray: x\nname: features\n'
    expect 3 bload pack -q -c set.yaml -o three :same-in one shards.tsv
    expect 0 bload verify -q one
    expect 0 bload info one :out 'field       features F32 [1000, 3, 2] per block, from array: arrays as they are, steps along axis 0, "x" of archives'
    expect 2 bload pack -q --sequences table.tsv -T 1000 -o four :err 'the table was scanned with sampling "axis=0 array=x", the options say "axis=0"'
}

test_which_files_are_arrays() {
    arrays in
    mkdir npz npy
    cp in/sub/c.npz npz
    cp in/a2.npy npy
    expect 0 bload scan -q npz
    is array "$(field kind 1 <"$OUT")"
    for source in npy npy/a2.npy; do
        expect 0 bload scan -q $source
        is "array 900" "$(field kind 1 <"$OUT") $(field length 1 <"$OUT")"
    done
    # Token ids are what it takes the kind's name for.
    expect 3 bload scan -q --kind text npy :err 'an array of F32: token ids are whole numbers (--kind array takes any)'
    is text "$(field kind 1 <"$OUT")"
    expect 2 bload scan -q --format npy npy :err '--format is for text, and the inputs are array (--kind chooses another)'
    cp npz/c.npz npy
    expect 0 bload scan -q npy :column kind "array array"
    echo '{"text": "a"}' >npy/d.jsonl
    expect 2 bload scan -q npy :err 'sources of several kinds (2 array such as npy/a2.npy, 1 text: npy/d.jsonl): choose one with --kind'
    rm npy/d.jsonl
    # Beside videos they are labels, or what else belongs to them.
    cp "$(fixture h264-30.mp4)" npy/film.mp4
    expect 0 bload scan npy :column kind video :err 'ignored in folders: 1 .npy, 1 .npz'
    expect 0 bload scan -q --kind array npy
    is 2 "$(field kind <"$OUT" | wc -l)"
}

test_names_of_arrays_of_any_characters() {
    mkdir z
    python3 - <<'END'
import sys, zipfile
header = "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }".ljust(117) + "\n"
with zipfile.ZipFile("z/a.npz", "w") as archive:
    for name in "a\\b", "t\tb", "n\nl":
        archive.writestr(name + ".npy", b"\x93NUMPY\x01\x00\x76\x00" + header.encode() + b"12345")
END
    for name in 'a\b' $'t\tb' $'n\nl'; do
        expect 0 bload scan -q z --array "$name" -o t.tsv
        for _ in first again; do expect 0 bload pack -q z --array "$name" -T 5 -o d; done
        expect 0 bload pack -q --sequences t.tsv --array "$name" -T 5 -o s :same-in d shards.tsv
        rm -r d s
    done
}

test_options_are_checked() {
    arrays in
    expect 2 bload pack -q --kind array in -T 9 -o d --name 'a b' :err "--name expects 1 to 47 letters, digits, _, . or -, not \"a b\""
    expect 2 bload pack -q --kind array in/a2.npy -T 900 -o d --name length :err 'field name "length" is taken'
    expect 2 bload scan -q --kind array in --dtype s16 :err '--dtype s16: array is same or f32'
    expect 2 bload scan -q --kind array in --time-axis x
    expect 2 bload scan -q --kind text in --squeeze :err '--squeeze is for array, and the inputs are text'
    expect 3 bload scan -q --kind array in/a2.npy --time-axis 3 :err 'no such axis (--time-axis): its shape is (900, 3, 2)'
}

test_a_file_that_changed_stops_the_run() {
    for name in a10.npy sub/c.npz; do
        rm -rf in d
        arrays in
        expect 3 bload scan -q --kind array in -o table.tsv
        expect 3 bload pack -q --sequences table.tsv -T 3000 -o right
        cp in/$name kept
        printf x >>in/$name
        expect 1 bload pack -q --sequences table.tsv -T 3000 -o d :err "the inputs changed since the scan: in/$name has a different size"
        rm in/$name
        expect 1 bload pack -q --sequences table.tsv -T 3000 -o d :err "the inputs changed since the scan: in/$name is gone"
        cp kept in/$name
        expect 3 bload pack -q --sequences table.tsv -T 3000 -o d :same-in right manifest.json
        rm -r right
    done
}

# Another array of as many bytes, and a table without contents: what it holds is at fault.
test_another_array_in_its_place() {
    mkdir in
    arrays all
    cp all/a2.npy all/a10.npy in
    expect 0 bload scan -q --kind array in -o scanned.tsv
    cut -f -9 scanned.tsv >table.tsv
    sed 's/(400, 3, 2,)/(600, 2, 2,)/' all/a10.npy >in/a10.npy
    expect 3 bload pack -q --sequences table.tsv -T 900 -o d :err 'failed a10.npy: its steps are F32 [2, 2], those of the dataset F32 [3, 2]'
    sed 's/(400, 3, 2,)/(300, 3, 2,)/' all/a10.npy >in/a10.npy
    expect 3 bload pack -q --sequences table.tsv -T 900 -o e :err 'failed a10.npy: the scan counted 400 rows, the header says 300'
}

# 200 MB of zeros in one: an honest header, so it is packed piece by piece; one that lies is skipped.
test_memory_is_bounded() {
    sanitizer_skip 'a sanitizer takes terabytes of addresses'
    python3 - <<'END_OF_PYTHON'
import zipfile
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 1024), }\n"
for name, steps in ("bomb", 50000), ("lying", 2 ** 40):
    with zipfile.ZipFile(name + ".npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive, archive.open("x.npy", "w") as member:
        text = header % steps
        member.write(b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text)
        for _ in range(50):
            member.write(bytes(4096000))
END_OF_PYTHON
    expect 3 bload scan -q bomb.npz lying.npz -o table.tsv
    err_has 'bload: skipped lying.npz: truncated: the header promises 4503599627370496 bytes of elements, 204800000 are there'
    (
        ulimit -v 600000
        expect 3 bload pack -q --sequences table.tsv -T 1000 --oversize split -j 1 --memory 100M -o d
        expect 2 bload pack -q --sequences table.tsv -T longest -j 1 --memory 100M -o e :err 'of memory is not enough: one block takes 195.3 MiB'
    )
    is 50000 "$(field length 1 <d/sequences.tsv)"
    is ok "$(field status 1 <d/sequences.tsv)"
}

# Lines of lists are rows of arrays: by their numbers, the end excluded, or by times.
test_lists_of_rows() {
    local packed
    npy a.npy '100, 3' 'i % 250'
    npy b.npy '40, 3'
    given l.csv 'path,start,end,id,verb\na.npy,0,10,one,3\na.npy,5,200,two,5\na.npy,,,all,\nb.npy,30,,,7\n' expect 3 bload scan -q --kind array l.csv
    is 'one 10 0 10 3,two 95 5 100 5,all 100 0  ,b.npy#30- 10 30 40 7,' "$(cut -f 1,2,11,12,14 <"$OUT" | tail -n +2 | tr '\t\n' ' ,')"
    is 'ends 100 rows behind the array'"'"'s end: so many are missing' "$(field reason 2 <"$OUT")"
    cp "$OUT" table
    expect 0 bload pack -q --kind array a.npy b.npy -T longest -o whole
    expect 3 bload pack -q --kind array l.csv -T longest -o d
    expect 3 bload pack --kind array l.csv -T longest -o d :err 'is already complete' :verified
    expect 3 bload pack -q --kind array --sequences table -T longest -o t
    expect 3 bload pack -q --kind array l.csv -T 7 --oversize split -o split :verified
    for packed in d t; do
        expect 0 python3 "$BLOAD_ROOT/tests/cli/slices.py" whole $packed array
        is 4 "$(cat "$OUT")"
    done
    given s.csv 'path,start,end\na.npy,0.5,0:00:01\na.npy,3.9,4.2\n' expect 3 bload scan -q --kind array s.csv --step-rate 25
    is '12 13 25,2 98 100,' "$(cut -f 2,11,12 <"$OUT" | tail -n +2 | tr '\t\n' ' ,')"
    out_has 'axis=0 step-rate=25/1'
    given f.csv 'path,start_frame,end_frame\na.npy,1,4\n' expect 0 bload scan -q --kind array f.csv :column length 3
    # The rate also says when the rows of whole files begin, for labels.
    put n.json '{"database": {"a": {"annotations": [{"segment": [1, 2], "label": "sit"}]}}}' m.txt 'walk\nsit\n' \
        n.yaml 'fields:\n  - {name: labels, kind: intervals, annotations: n.json, mapping: m.txt}\n'
    expect 0 bload pack -q -c n.yaml --kind array a.npy --step-rate 25 -T longest -o n
    is '25' "$(values n labels d4 | tr ' ' '\n' | grep -c '^1$')"
}

test_mistakes_in_rows() {
    local mistake reason
    npy a.npy '100, 3' 'i % 250'
    while IFS='|' read -r mistake reason; do
        given m.csv "path,start,end,start_frame,end_frame\n$mistake\n" expect 3 bload scan -q --kind array m.csv
        err_has "$reason"
    done <<'END'
a.npy,8,6,,|m.csv:2: ends before it starts: from 8 to 6
a.npy,8,8,,|m.csv:2: a.npy: no row lies between its start and its end
a.npy,100,120,,|m.csv:2: a.npy: begins with row 100, and the array has 100
a.npy,1.5,3,,|m.csv:2: a.npy: "start" and "end" are numbers of rows: for times, give --step-rate, the rows of a second
a.npy,0:01,0:02,,|m.csv:2: a.npy: "start" and "end" are numbers of rows: for times, give --step-rate, the rows of a second
a.npy,one,3,,|m.csv:2: "start" is no time: "one"
a.npy,1,3,1,|m.csv:2: times and numbers of frames: give one of them
b.npy,1,3,,|m.csv:2: b.npy: file not found
m.csv,1,3,,|m.csv:2: m.csv: 
END
    given n.csv 'path,start_frame,stop_frame\na.npy,5,6\n' expect 2 bload scan --kind array n.csv :err 'the column "stop_frame" is for folders of images'
    expect 2 bload scan --kind array a.npy --step-rate 0 :err '--step-rate expects a positive rate'
}

# A segment of an array that has become shorter, or of other steps, is not read.
test_segments_of_another_array() {
    npy a.npy '100, 3' 'i % 250'
    given l.csv 'path,start,end\na.npy,90,100\n' expect 0 bload scan -q --kind array l.csv -o table
    npy a.npy '60, 5' 'i % 250'
    expect 1 bload pack -q --kind array --sequences table -T 10 -o d :err 'changed'
}
