# Several fields of one sequence, each from files of its own: the list `fields` of a YAML file.
# shellcheck shell=bash disable=SC2317

# Three videos in folders, and labels beside them; set.yaml joins them.
setup() {
    mkdir -p v/sub labels/sub
    cp "$(fixture h264-30.mp4)" v/a.mp4
    cp "$(fixture mpeg4-40.avi)" v/sub/b.c.avi
    cp "$(fixture vp9-24.webm)" v/d.webm
    npy labels/a.npy 30
    npy labels/sub/b.c.npy 40
    npy labels/d.npy 24
    put set.yaml 'sources: [{path: v/}]\nsize: 32x24\nT: 45\nfields:\n  - name: labels\n    path: labels/{id}.npy\n'
}

test_what_a_field_may_say() {
    refused_yaml 'sources: [v/]\nT: 45\nfields:\n' <<'END'
  - labels|:4:5: a field: a mapping is expected (name: labels, path: "labels/{id}.npy")
  - name: labels|:4:5: a field without a path
  - path: l/{id}.npy|:4:5: a field without a name
  - {name: l, path: "l/{id}.xyz"}|:4:5: the name l/{id}.xyz has an unknown extension: give kind
  - {name: l, path: "l/{id}.npy", kind: film}|:4:5: there is no kind film
  - {name: l, path: "l/{id}.txt", kind: text}|:4:5: a field of the kind text has other steps than the sequences: use steps: own
  - {name: l, path: l/a.npy}|:4:5: "l/a.npy" is the same file for every sequence: use {id}, {stem} or {name}
  - {name: l, path: "l/{ID}.npy"}|:4:5: "l/{ID}.npy": unknown placeholder; use {id}, {stem} or {name}
  - {name: a b, path: "l/{id}.npy"}|:4:5: a field's name is at most 47 letters, digits, _ and -, not "a b"
  - name: l\n    path: l/{id}.npy\n    tolerance: 2|:6:5: unknown key "tolerance"
  - {name: l, path: "l/{id}.npy", length-tolerance:     -1}|:4:57: length-tolerance expects a whole number from 0 to 9223372036854775807, not "-1"
  - {name: l, path: "l/{id}.npy"}\n  - {name: l, path: "m/{id}.npy"}|:5:5: two fields have the name l
  - {name: l, path: "l/{id}.npy", dtype: s16}|:4:5: dtype: array has no type "s16"
  - {name: l, path: "l/{id}.npy", path: "m/{id}.npy"}|:4:35: key given twice: path (first in line 4)
END
    printf 'sources: [v/]\nfields: labels\n' >set.yaml
    expect 2 bload pack -c set.yaml --print-config :err-is 'bload: pack: set.yaml:2:9: fields: a list is expected (- name: labels)'
}

test_what_is_printed_says_the_same_again() {
    printf '  - name: sound\n    path: "{stem}.wav"\n    rate: 8000\n    dtype: f32\n    length-tolerance: 3\n' >>set.yaml
    expect 0 bload pack -c set.yaml --print-config
    cp "$OUT" first.yaml
    expect 0 bload pack -c first.yaml --print-config :out-as first.yaml
    for line in '    path: "{stem}.wav"' '    rate: 8000' '    dtype: "f32"' '    length-tolerance: 3' '    kind: "array"'; do out_has "$line"; done
}

test_scan_pack_verify() {
    expect 0 bload scan -q -c set.yaml -o sequences.tsv
    is 3 "$(field labels.content <sequences.tsv | grep -c '^[0-9a-f]\{16\}$')"
    cut -f 1-9,11-15 sequences.tsv >"$OUT"
    out_is <<END
id	length	kind	path	bytes	status	reason	sampling	stream	labels.path	labels.bytes	labels.length	labels.stream	labels.reason
a.mp4	30	video	v/a.mp4	$(stat -c %s v/a.mp4)	ok		all; labels: axis=0	0	labels/a.npy	158	30		
d.webm	24	video	v/d.webm	$(stat -c %s v/d.webm)	ok		all; labels: axis=0	0	labels/d.npy	152	24		
sub/b.c.avi	40	video	v/sub/b.c.avi	$(stat -c %s v/sub/b.c.avi)	ok		all; labels: axis=0	0	labels/sub/b.c.npy	168	40		
END
    expect 0 bload pack -q -c set.yaml -o one -j 1 :verified
    expect 0 bload info one :out 'field       labels U8 [45] per block, from array: arrays as they are, steps along axis 0, of labels/{id}.npy'
    expect 0 bload pack -q -c set.yaml -o many -j 16 :same-as one
    same sequences.tsv one/sequences.tsv
    expect 0 bload pack -q -c set.yaml --sequences sequences.tsv -o two :same-in one shards/00000/shard-00000000.safetensors
    expect 0 bload pack -c set.yaml -o one :err-is 'bload: one is already complete: nothing to do'
}

# A field of another path, kind or tolerance is another dataset, and another table.
test_the_fields_identify_a_dataset() {
    expect 0 bload scan -q -c set.yaml -o sequences.tsv
    expect 0 bload pack -q -c set.yaml -o d
    sed -i 's|labels/{id}|./labels/{id}|' set.yaml
    expect 2 bload pack -q -c set.yaml -o d :err 'field labels path is "labels/{id}.npy" there, not "./labels/{id}.npy"'
    echo '    length-tolerance: 1' >>set.yaml
    expect 2 bload pack -q -c set.yaml --sequences sequences.tsv -o e
    err_has 'was scanned with sampling "all; labels: axis=0", the options say "all; labels: axis=0 length-tolerance=1"'
    sed -i '/^fields/,$d' set.yaml
    expect 2 bload pack -q -c set.yaml -o d
    expect 2 bload pack -q -c set.yaml --sequences sequences.tsv -o e
    expect 0 bload scan -q -c set.yaml -o plain.tsv
    setup
    expect 2 bload pack -q -c set.yaml --sequences plain.tsv -o e
}

test_companions_that_cannot_be_used() {
    rm labels/a.npy
    npy labels/d.npy 25
    head -c 130 labels/sub/b.c.npy >short.npy
    mv short.npy labels/sub/b.c.npy
    cp v/a.mp4 v/e.mp4
    npy labels/e.npy 30
    cp v/a.mp4 v/f.mp4
    npy labels/f.npy '30, 2'
    cp v/a.mp4 v/g.mp4
    mkdir labels/g.npy
    expect 3 bload pack -c set.yaml -o d
    for line in 'skipped a.mp4: labels: labels/a.npy: file not found' \
        'skipped d.webm: labels: labels/d.npy has 25 rows, the video 24 frames (length-tolerance: 1 would accept it)' \
        'skipped f.mp4: its steps are labels U8 [2], those of the first (e.mp4) labels U8 []' \
        'skipped g.mp4: labels: labels/g.npy: not a regular file' 'skipped sub/b.c.avi: labels: labels/sub/b.c.npy: '; do
        err_has "bload: $line"
    done
    expect 0 bload verify -q d
    is 'e.mp4' "$(awk -F '\t' '$6 == "ok" { print $1 }' d/sequences.tsv)"
    expect 1 bload pack -q -c set.yaml -o e --on-error fail :none e/manifest.json
}

test_tolerance_is_counted_and_told() {
    npy labels/d.npy 25
    npy labels/a.npy 28
    echo '    length-tolerance: 2' >>set.yaml
    expect 0 bload scan -c set.yaml :err 'bload: 2 sequences are of another length in some field, within length-tolerance'
    expect 0 bload pack -c set.yaml -o d :err 'bload: 2 sequences are of another length in some field, within length-tolerance' :verified
    is '28 25 40' "$(field labels.length <d/sequences.tsv | xargs)"
    is '30 24 40' "$(field length <d/sequences.tsv | xargs)"
}

# What lies behind the sequence's last step is left out, but looked at: a companion is compared with the scan to its end.
test_the_end_of_a_longer_partner() {
    printf 'walk\nswim\n' >mapping.txt
    for name in a:32 d:24 sub/b.c:40; do times "${name#*:}" walk >"labels/${name%:*}.txt"; done
    sed -i 's|{id}.npy|{id}.txt|' set.yaml
    printf '    mapping: mapping.txt\n    length-tolerance: 2\n' >>set.yaml
    expect 0 bload scan -q -c set.yaml -o sequences.tsv
    expect 0 bload pack -q -c set.yaml --sequences sequences.tsv -o d
    sed -i '32s/walk/talk/' labels/a.txt
    strange sequences.tsv >strange.tsv
    expect 3 bload pack -q -c set.yaml --sequences strange.tsv -o e :err-is 'bload: failed a.mp4: labels: labels/a.txt: line 32: "talk" is not in the mapping'
}

# What changes between the scan and the reading stops the run, which goes on when that is undone.
test_a_partner_that_changed() {
    expect 0 bload pack -q -c set.yaml -o one
    expect 0 bload scan -q -c set.yaml -o sequences.tsv
    mv labels/d.npy kept
    expect 1 bload pack -q -c set.yaml --sequences sequences.tsv -o d :err 'labels/d.npy'
    npy labels/d.npy 23
    expect 1 bload pack -q -c set.yaml --sequences sequences.tsv -o d :err 'labels/d.npy' :none d/manifest.json
    mv kept labels/d.npy
    expect 0 bload pack -q -c set.yaml --sequences sequences.tsv -o d :same-in one shards/00000/shard-00000000.safetensors
    # Of the same size, but another content: that costs the sequence where the table cannot tell.
    sed "s/(24,)/(23,)/" labels/d.npy >other
    mv other labels/d.npy
    strange sequences.tsv >strange.tsv
    expect 3 bload pack -q -c set.yaml --sequences strange.tsv -o e :err 'failed d.webm: labels: labels/d.npy: '
    # A dataset that is complete is not called so.
    npy labels/d.npy 22
    expect 2 bload pack -q -c set.yaml -o one :err 'one holds a dataset of other inputs: labels: labels/d.npy has a different size'
}

test_paths_count_from_the_file() {
    mkdir conf
    sed 's|path: v/|path: ../v|; s|path: labels|path: ../labels|' set.yaml >conf/set.yaml
    expect 0 bload pack -q -c set.yaml -o one
    expect 0 bload pack -q -c conf/set.yaml -o two :same-in one shards/00000/shard-00000000.safetensors
    is '../labels/a.npy' "$(field labels.path 1 <two/sequences.tsv)"
    # Sources of the command line count from here, fields from the file.
    expect 0 bload pack -q -c conf/set.yaml v -o three :same-in one shards/00000/shard-00000000.safetensors
}

test_names_that_clash() {
    sed -i 's/name: labels/name: frames/' set.yaml
    expect 2 bload pack -q -c set.yaml -o d :err 'field name "frames" is taken'
    sed -i 's/name: frames/name: cu_seqlens/' set.yaml
    expect 2 bload pack -q -c set.yaml -o d :err 'field name "cu_seqlens" is taken'
}

test_documents_have_no_partners() {
    given doc.txt 'a text\n' expect 2 bload pack -q -c set.yaml --kind text --tokenizer bytes doc.txt -o d :err 'text does not have one file per sequence'
}

# A video whose labels are damaged is named as damaged, and its own frames are those of the whole file.
test_damage_of_a_partner() {
    expect 0 bload pack -q -c set.yaml -o one
    printf 'tail' >>labels/d.npy
    expect 3 bload pack -c set.yaml -o two :err 'bload: d.webm: labels: labels/d.npy: 4 bytes follow the array: left out'
    same one/shards/00000/shard-00000000.safetensors two/shards/00000/shard-00000000.safetensors
    is '4 bytes follow the array: left out' "$(field labels.reason 2 <two/sequences.tsv)"
}

# Killed while it writes, the same command goes on and gives the same bytes.
test_killed_and_resumed() {
    for i in $(seq 20); do cp v/a.mp4 "v/x$i.mp4" && cp labels/a.npy "labels/x$i.npy"; done
    expect 0 bload pack -q -c set.yaml -o one --shard-size 200K
    ended_by KILL 'd/shards/00000/*' "$BLOAD" pack -q -c set.yaml -o d --shard-size 200K -j 1
    expect 0 bload pack -q -c set.yaml -o d --shard-size 200K :same-as one
}

# times N TEXT: that line so often.
times() { for _ in $(seq "$1"); do echo "$2"; done; }

# Labels by name, one a line; the numbers are those of the mapping.
test_labels_one_a_line() {
    printf '7 sit down\n0 walk\n\n3 fly\n' >mapping.txt
    { times 10 walk && printf ' sit down\r\n' && times 18 fly && printf walk; } >labels/a.txt
    times 24 fly | gzip -n >labels/d.txt
    { times 39 walk && echo swim; } >labels/sub/b.c.txt
    sed -i 's|{id}.npy|{id}.txt|' set.yaml
    echo '    mapping: mapping.txt' >>set.yaml
    expect 3 bload pack -q -c set.yaml -o d :err-is 'bload: skipped sub/b.c.avi: labels: labels/sub/b.c.txt: line 40: "swim" is not in the mapping' :verified
    expect 0 bload info d :out 'field       labels I32 [45] per block, from labels: one label a line, numbered by mapping.txt, of labels/{id}.txt'
    # What the mapping says is part of what the dataset is.
    echo '9 swim' >>mapping.txt
    expect 2 bload pack -q -c set.yaml -o d :err 'field labels mapping digest is'
    expect 0 bload pack -q -c set.yaml -o e
    expect 0 bload pack -q labels/a.txt --kind labels --mapping mapping.txt -T 30 -o f
    is 'lines 30' "$(field kind <f/sequences.tsv | sed s/labels/lines/) $(field length <f/sequences.tsv)"
}

test_labels_that_are_none() {
    put l/good.txt '1\n-2\n' l/empty.txt '' l/gap.txt '1\n\n2\n' l/real.txt '1\n2.5\n' l/large.txt '1\n99999999999\n' l/zero.txt '1\n2\0\n'
    printf '1\n%5000s1\n2%5000s\n%5000s\n' '' '' '' | tr ' ' x >l/long.txt
    expect 3 bload scan -q l --kind labels
    is 'good.txt 2' "$(awk -F '\t' '$6 == "ok" { print $1, $2 }' "$OUT")"
    for line in 'skipped empty.txt: no labels' 'skipped gap.txt: line 2 is empty' \
        'skipped real.txt: line 2: "2.5" is not a number (names need a mapping)' 'skipped large.txt: line 2: "99999999999" is not a number' \
        'skipped zero.txt: line 2: a zero byte' 'skipped long.txt: line 2: the label is too long'; do
        err_has "bload: $line"
    done
    given mixed.txt '0 a\nb\n' expect 2 bload scan -q l --kind labels --mapping mixed.txt
    err_is <<<'bload: scan: mixed.txt:2: expected "NUMBER NAME", as in the first line, not "b"'
    given twice.txt 'a\nb\na\n' expect 2 bload scan -q l --kind labels --mapping twice.txt :err-is 'bload: scan: twice.txt: duplicate label "a"'
    given none.txt '' expect 2 bload scan -q l --kind labels --mapping none.txt :err-is 'bload: scan: none.txt has no labels'
    expect 2 bload scan -q l --kind labels --mapping absent.txt
}

# Intervals of one JSON file: what is said of each sequence is painted onto its steps.
intervals() {
    printf 'walk\nsit\n' >mapping.txt
    sed -i '/^fields/,$d' set.yaml
    printf 'fields:\n  - name: actions\n    kind: intervals\n    annotations: actions.json\n    mapping: mapping.txt\n' >>set.yaml
    cat >actions.json <<'END'
{"database": {
  "a": {"annotations": [{"segment": [0.2, 0.6], "label": "walk"}, {"segment": [0.4, 5], "label": "sit"}]},
  "b.c": {"annotations": [{"segment": [0, 1], "label": "sit"}, {"segment": [1, 1.2], "label": "walk"}]},
  "d.webm": {"annotations": []}}}
END
}

test_intervals() {
    intervals
    expect 0 bload pack -c set.yaml -o d :err 'bload: overlapping intervals: 1; the later one in the file applies (columns NAME.overlaps); multi keeps all'
    is '2 0 2' "$(field actions.intervals <d/sequences.tsv | xargs)"
    is '1 0 0' "$(field actions.overlaps <d/sequences.tsv | xargs)"
    expect 0 bload verify -q d
    expect 0 bload info d :out 'field       actions I32 [45] per block, from intervals: labels of intervals in seconds, of actions.json'
    sed -i 's/0.6/0.5/' actions.json
    expect 2 bload pack -q -c set.yaml -o d :err 'field actions annotations digest is'
    echo '    multi: true' >>set.yaml
    expect 0 bload pack -c set.yaml -o e :err-lacks overlap
    expect 0 bload info e :out 'field       actions U8 [45, 2] per block'
}

test_intervals_of_no_use() {
    intervals
    cat >actions.json <<'END'
{"database": {
  "a": {"annotations": [{"segment": [0.2, 0.6], "label": "walk"}, {"segment": [0, 1], "label": "swim"}]},
  "b.c": {"annotations": [{"segment": [1, 0], "label": "sit"}]}}}
END
    expect 1 bload pack -c set.yaml -o d
    for line in 'skipped a.mp4: actions: actions.json: annotation 2: "swim" is not in the mapping' 'skipped d.webm: actions: actions.json has no entry for it' \
        'skipped sub/b.c.avi: actions: actions.json: annotation 1: a segment that ends before it begins'; do
        err_has "bload: $line"
    done
    given actions.json '{"database": {\n' expect 2 bload pack -q -c set.yaml -o d :err 'actions.json:2:0: not JSON: '
    echo '{"database": {"\ud800x": 7}}' >actions.json
    expect 2 bload pack -q -c set.yaml -o d :err "actions.json:1:23: not JSON: invalid Unicode '\uD800'"
    given actions.json '{"database": NaN}\n' expect 2 bload pack -q -c set.yaml -o d :err "actions.json:1:16: not JSON: invalid token near 'NaN'"
    given actions.json '{"data": {}}\n' expect 2 bload pack -q -c set.yaml -o d :err 'actions.json has no object "database"'
    echo '{"database": {"a": {"annotations": [{"segment": [[[0]], 1], "label": 3}, 5, null]}, "b": 7}}' >actions.json
    expect 1 bload pack -q -c set.yaml -o d :err 'skipped a.mp4: actions: actions.json: annotation 1: no "segment" of two numbers'
}

# Arrays have no times of their own.
test_intervals_need_a_rate() {
    intervals
    sed -i 's|path: v/|path: labels/, kind: array|; /^size/d' set.yaml
    expect 2 bload pack -q -c set.yaml -o d :err 'bload: pack: field actions: array has no times: give the field a rate, in steps per second'
    sed -i 's/d.webm/d/' actions.json
    echo '    rate: 12.5' >>set.yaml
    expect 0 bload pack -q -c set.yaml -o d
    sed -i 's/rate: 12.5/unit: steps/' set.yaml
    expect 0 bload pack -q -c set.yaml -o e
    echo '    path: "{id}.json"' >>set.yaml
    expect 2 bload pack -q -c set.yaml -o f :err 'a field of the kind intervals has no path'
}

# The rate of the sequences is that of their own sampling, whatever fields are joined to them.
test_durations() {
    sed -i 's/^T: .*/T: 2s\nfps: 12\nstrategy: block/' set.yaml
    npy labels/a.npy 14
    npy labels/sub/b.c.npy 19
    npy labels/d.npy 12
    expect 0 bload pack -q -c set.yaml -o d
    expect 0 bload info --json d :word T 24
}
