# What finished datasets hold already is not packed again: --extend.
# shellcheck shell=bash disable=SC2317,SC2086

OPTIONS=(--tokenizer bytes -T 64)

# documents COUNT FILE: so many lines, each of another text.
documents() { for i in $(seq "$1"); do printf '{"text": "document %03d"}\n' "$i"; done >"$2"; }

# array FILE ROWS NUMBER: an array of so many rows of this number.
array() { npy "$1" "$2, 2" "$3" '<f4'; }

# packed DIR: ids of its usable rows.
packed() { awk -F '\t' '$6 == "ok" { print $1 }' "$1/sequences.tsv" | xargs; }

test_documents_that_are_new_or_changed() {
    mkdir s
    documents 20 s/a.jsonl
    documents 3 s/b.jsonl
    expect 0 bload pack -q s "${OPTIONS[@]}" -o old
    # Documents are added to a file, one is changed, a file vanishes, one comes.
    printf '{"text": "one more"}\n' >>s/a.jsonl
    sed -i '2s/document/Document/' s/a.jsonl
    rm s/b.jsonl
    documents 1 s/c.jsonl
    expect 0 bload pack s "${OPTIONS[@]}" --extend old -o new :err 'bload: held by old: 19 sequences' :verified :err 'bload: left out by --extend: 19 sequences'
    err_has 'bload: changed since old was packed: a.jsonl#25' 'bload: no longer among the sources, but in old: b.jsonl#0, b.jsonl#25, b.jsonl#50'
    is 'a.jsonl#25 a.jsonl#500 c.jsonl#0' "$(packed new)"
    is 'left out by --extend old' "$(field reason 1 <new/sequences.tsv)"
    is 'dropped 0' "$(field status 1 <new/sequences.tsv) $(field length 1 <new/sequences.tsv)"
    expect 0 bload pack s "${OPTIONS[@]}" --extend old -o new :err 'new is already complete: nothing to do'
    expect 0 bload view old new -T 64 -o view :err 'bload: old: 23 sequences' 'bload: new: 3 sequences'
    # What only one of them stores keeps its id.
    for id in a.jsonl#0 b.jsonl#0 c.jsonl#0 old/a.jsonl#25 new/a.jsonl#25 a.jsonl#500; do expect 0 bload cat view $id --as ids; done
    expect 2 bload cat view a.jsonl#25 --as ids :err old/a.jsonl#25
    # Of all that they hold, whatever a view leaves out.
    expect 0 bload view -q old new -T 64 --first 2 -o first
    expect 0 bload cat first old/a.jsonl#25 --as ids
    # Each of several datasets may hold a row; nothing is left.
    expect 0 bload pack s "${OPTIONS[@]}" --extend old --extend new -o none :err 'bload: held by old: 19 sequences' 'bload: held by new: 3 sequences'
    ! grep -q 'changed since' "$ERR" || fail 'it says: changed since'
    err_has 'bload: nothing new: none is not written'
    [ ! -e none ]
    given none/mine '' expect 2 bload pack -q s "${OPTIONS[@]}" --extend old --extend new -o none
    [ -e none/mine ]
}

test_files() {
    for i in 1 2 3 4 5 6; do array "a/$i.npy" $((i + 2)) "$i"; done
    array a/short.npy 1 0
    given a/broken.npy 'no\n' expect 3 bload pack -q a --kind array -T longest --min-length 2 -o old
    is '1.npy 2.npy 3.npy 4.npy 5.npy 6.npy' "$(packed old)"
    # What old skipped or dropped is not held.
    expect 3 bload scan a --extend old -o t.tsv :err 'bload: held by old: 6 sequences'
    is short.npy "$(awk -F '\t' '$6 == "ok" { print $1 }' t.tsv)"
    expect 3 bload pack a --kind array -T 20 --min-length 2 --extend old -o none :err 'bload: nothing new: none is not written' :none none
    rm a/broken.npy
    expect 0 bload pack a --kind array -T 20 --min-length 2 --extend old -o none :err-lacks 'no longer among'
    # The same size, other content; the same content, another name.
    array a/2.npy 4 9
    cp a/3.npy a/7.npy
    array a/broken.npy 5 5
    for i in 1 4 5 6; do rm a/$i.npy; done
    expect 0 bload pack a --kind array -T longest --extend old -o new :err 'bload: held by old: 1 sequence'
    err_has 'bload: changed since old was packed: 2.npy' 'bload: no longer among the sources, but in old: 1.npy, 4.npy, 5.npy and 1 more'
    is '2.npy 7.npy broken.npy short.npy' "$(packed new)"
    # Held rows are no candidates of other options.
    expect 0 bload pack -q a --kind array -T longest --extend old --where 'length>1' --dedup --first 2 -o subset
    is '2.npy 7.npy' "$(packed subset)"
    expect 0 bload pack a --kind array -T longest --extend new --extend old --where 'length>100' -o none :err 'nothing new'
    expect 1 bload pack -q a --kind array -T longest --extend subset --exclude 2.npy --exclude 7.npy --where 'length>100' -o none
    err_has 'no sequence is left: 3 by --where'
}

# A file that is unusable now has not vanished.
test_a_broken_file_has_not_vanished() {
    array a/1.npy 3 1
    array a/2.npy 3 2
    expect 0 bload pack -q a --kind array -T longest -o old
    echo no >a/2.npy
    array a/3.npy 3 3
    expect 3 bload pack a --kind array -T longest --extend old -o new :err-lacks 'no longer among' 'changed since'
    is 3.npy "$(packed new)"
}

# Clips of one file are what part of it they are; the digests of additional fields count too.
test_clips_and_fields() {
    mkdir v l
    cp "$(fixture h264-30.mp4)" v/a.mp4
    given c.csv 'path,start_frame,end_frame,id\nv/a.mp4,0,10,one\nv/a.mp4,10,20,two\n' expect 0 bload pack -q --kind video c.csv -T 20 --size 16x16 -o old
    printf 'path,start_frame,end_frame,id\nv/a.mp4,0,10,one\nv/a.mp4,10,19,two\nv/a.mp4,20,30,three\n' >c.csv
    expect 0 bload pack --kind video c.csv -T 20 --size 16x16 --extend old -o new :err 'bload: held by old: 1 sequence' :err 'changed since old was packed: two'
    is 'two three' "$(packed new)"
    for i in 1 2; do array "f/$i.npy" 3 "$i"; array "g/$i.npy" 3 "$i"; done
    printf 'sources: [f]\nkind: array\nT: 6\nfields:\n  - name: other\n    kind: array\n    path: g/{stem}.npy\n' >set.yaml
    expect 0 bload pack -q -c set.yaml -o fields
    array g/2.npy 3 7
    expect 0 bload pack -c set.yaml --extend fields -o changed :err 'changed since fields was packed: 2.npy'
    is 2.npy "$(packed changed)"
}

# One dataset, by whichever way.
test_every_way_packs_the_same() {
    mkdir s
    documents 400 s/a.jsonl
    expect 0 bload pack -q s "${OPTIONS[@]}" -o old
    expect 0 bload scan -q s --tokenizer bytes -o all.tsv
    documents 50 s/b.jsonl
    expect 0 bload pack -q s "${OPTIONS[@]}" --extend old -o november
    documents 90 s/c.jsonl
    local extend=(--extend old --extend november)
    expect 0 bload pack -q s "${OPTIONS[@]}" "${extend[@]}" --shard-size 4K -o one
    is 90 "$(packed one | wc -w)"
    expect 0 bload scan -q s --tokenizer bytes "${extend[@]}" -o scan.tsv
    same scan.tsv one/sequences.tsv
    for i in 1 0 2; do expect 0 bload scan -q s --tokenizer bytes "${extend[@]}" --task $i/3 -o tasks; done
    expect 2 bload plan -T 64 --extend old tasks :err 'tasks was scanned with --extend old\nnovember: give the same'
    expect 2 bload plan -T 64 tasks
    mv november aside
    expect 0 bload pack -q s "${OPTIONS[@]}" -o november
    expect 2 bload plan -T 64 "${extend[@]}" tasks :err 'tasks was scanned with another dataset at --extend: november ('
    rm -r november
    mv aside november
    expect 0 bload plan -T 64 "${extend[@]}" tasks :err 'bload: held by november: 50 sequences' 'bload: left out by --extend: 450 sequences'
    in_tasks 2 s "${OPTIONS[@]}" "${extend[@]}" --shard-size 4K -o tasks :same-as one
    put y/set.yaml 'sources: [../s]\ntokenizer: bytes\nT: 64\nshard-size: 4K\nextend: [../old, ../november]\noutput: yaml\n'
    expect 0 bload pack -q -c y/set.yaml
    same one/index.safetensors y/yaml/index.safetensors
    is 90 "$(packed y/yaml | wc -w)"
    expect 0 bload pack -c y/set.yaml --print-config :out 'extend: ["../old", "../november"]'
    given y/set.yaml 'sources: [../s]\ntokenizer: bytes\nT: 64\nextend: ../old\noutput: one\n' expect 0 bload pack -q -c y/set.yaml
    is 140 "$(packed y/one | wc -w)"
    # A table that was made before; a run that goes on; a shard that is made again.
    expect 0 bload scan -q s --tokenizer bytes -o all.tsv
    expect 0 bload pack -q --sequences all.tsv "${OPTIONS[@]}" "${extend[@]}" --shard-size 4K -o table :same-in one sequences.tsv
    rm one/shards/00000/shard-00000000.safetensors
    expect 0 bload pack -q s "${OPTIONS[@]}" "${extend[@]}" --shard-size 4K -o one :same-as tasks
    expect 2 bload pack -q s "${OPTIONS[@]}" --extend old --shard-size 4K -o one :err 'one holds a dataset of another configuration: extend is'
    expect 0 bload plan -T 64 all.tsv "${extend[@]}" --strategy naive :err 'bload: left out by --extend: 450 sequences'
}

test_tasks_that_find_nothing_new() {
    mkdir s
    documents 40 s/a.jsonl
    expect 0 bload pack -q s "${OPTIONS[@]}" -o old
    for i in 0 1; do expect 0 bload scan -q s --tokenizer bytes --extend old --task $i/2 -o tasks; done
    expect 0 bload plan -T 64 --extend old tasks :err 'bload: nothing new: tasks is not written (bload finish removes what the tasks left there)'
    for i in 0 1; do expect 0 bload pack s "${OPTIONS[@]}" --extend old --task $i/2 -o tasks :err 'bload: nothing new: tasks is not written'; done
    expect 0 bload finish tasks :err 'bload: nothing new: tasks is not written' :none tasks
    expect 0 bload scan s --tokenizer bytes --extend old -o t.tsv :err 'bload: nothing new: the table has no sequence to pack'
    expect 0 bload pack --sequences t.tsv "${OPTIONS[@]}" -o none :err 'bload: nothing new: none is not written' :none none
}

test_refused_datasets() {
    mkdir s
    documents 10 s/a.jsonl
    array a/1.npy 3 1
    expect 0 bload pack -q s "${OPTIONS[@]}" -o old
    for command in "scan s --tokenizer bytes" "pack s ${OPTIONS[*]} -o new"; do
        expect 2 bload $command --extend s :err '--extend: s is not a finished dataset'
    done
    expect 2 bload scan a --extend old :err '--extend old: its sequences are text, those of the sources array'
    expect 2 bload pack a --kind array -T 9 --extend old -o new :err '--extend old: its sequences are text, those of the sources array'
    expect 0 bload scan -q a -o a.tsv
    expect 2 bload plan a.tsv -T 9 --extend old :err '--extend old: its sequences are text, those of the sources array'
    expect 0 bload view -q old -T 100 -o view
    expect 2 bload pack s "${OPTIONS[@]}" --extend view -o new :err '--extend view is a view: name its datasets instead (from there: ../old)'
    expect 2 bload view old -T 100 --extend old -o other :err 'for a view of old and new data, name both datasets' :none new
    sed -i '2s/ok/failed/' old/sequences.tsv
    expect 1 bload pack -q s "${OPTIONS[@]}" --extend old -o new :err '--extend old: its sequences.tsv is not that of its manifest'
}

# Ids are found by parts of their hashes, and some of these are equal: other ids are neither held nor changed.
test_ids_with_equal_hashes() {
    mkdir a b
    seq 150000 | sed 's/.*/{"text": "&"}/' | tee a/a.jsonl >b/b.jsonl
    expect 0 bload pack -q a "${OPTIONS[@]}" -o old
    expect 0 bload scan b --tokenizer bytes --extend old -o t.tsv :err 'bload: held by old: 0 sequences' :err-lacks 'changed since'
    err_has 'bload: no longer among the sources, but in old: a.jsonl#0, a.jsonl#14, a.jsonl#28 and 149,997 more'
}

# A table that was not scanned has no digests.
test_tables_without_digests() {
    for i in 1 2 3; do array "a/$i.npy" 3 "$i"; done
    expect 0 bload scan -q a -o t.tsv
    strange t.tsv >without.tsv
    expect 0 bload pack -q --sequences <(head -n 3 without.tsv) -T 6 -o old
    expect 0 bload pack --sequences without.tsv -T 6 --extend old -o new :err 'bload: held by old: 2 sequences'
    err_has 'bload: --extend: 2 sequences have no digest, and held by id and size'
    is 3.npy "$(packed new)"
}
