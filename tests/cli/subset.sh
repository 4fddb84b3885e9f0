# Subsets and splits: --where, --dedup, --split, --take, --share, --first.
# shellcheck shell=bash disable=SC2317,SC2086

# A table of four sequences.
table() { printf 'id\tlength\tspeaker\tscore\na\t5\ts1\t0.5\nb\t6\ts2\tx\nc\t7\ts1\t\nd\t8\ts3\t1e1\n' >t.tsv; }

# many N: a table of so many sequences of ten speakers.
many() { awk -v n="$1" 'BEGIN { print "id\tlength\tspeaker"; for (i = 0; i < n; i++) printf "clip/%d.wav\t%d\ts%d\n", i, 1 + i % 9, i % 10 }'; }

# arrays FOLDER COUNT CYCLE: number i has 3 + i % 4 rows of the number i % CYCLE, so that they are the first ones again.
arrays() {
    local i
    for ((i = 0; i < $2; i++)); do npy "$(printf '%s/%02d.npy' "$1" $i)" "$((3 + i % 4)), 2" $((i % $3)) '<f4'; done
}

# taken OPTION...: numbers of the rows of t.tsv that are planned.
taken() { bload plan -q -T 100 t.tsv "$@" | tail -n +2 | cut -f 2 | sort -n | xargs; }

# chosen [TABLE]: ids of its usable rows.
chosen() { awk -F '\t' '$6 == "ok" { print $1 }' "${1:-$OUT}"; }

test_conditions() {
    table
    is '2 3' "$(taken --where 'length > 6')"
    is '0 1' "$(taken --where 'length<=6')"
    is '1 2' "$(taken --where 'length>=6' --where 'length<8')"
    is '0 2' "$(taken --where speaker=s1)"
    is '1 3' "$(taken --where 'speaker != s1')"
    is '0 1' "$(taken --where 'id~[ab]')"
    is 3 "$(taken --where score=10)"
    is 3 "$(taken --where score=10.0)"
    is 2 "$(taken --where score=)"
    is '0 1 2' "$(taken --where score!=10)"
    is '1 2' "$(bload plan -q -T 100 - --where 'length>5' --first 2 <t.tsv | tail -n +2 | cut -f 2 | sort -n | xargs)"
    expect 0 bload plan -T 100 t.tsv --where 'score > 0.1' --first 1 -o plan :err 'bload: --where score > 0.1: 2 values are no numbers, and left out'
    err_has 'bload: left out by --where: 2 sequences' 'bload: left out by --first: 1 sequence'
    # Whole numbers are compared as such: these are equal as doubles.
    printf 'id\tlength\tn\na\t1\t9007199254740993\nb\t1\t9007199254740992\n' >t.tsv
    is 0 "$(taken --where n=9007199254740993)"
}

test_bad_conditions() {
    table
    for bad in length 'length==5' '=5' 'length=>5' '' 'length ! 5'; do expect 2 bload plan -T 100 t.tsv --where "$bad" :err 'where expects'; done
    expect 2 bload compare -T 100 t.tsv --where 'length>=abc' :err '--where "length>=abc": < <= > >= compare numbers, and "abc" is none'
    expect 2 bload compare -T 100 t.tsv --where 'age>5' :err '--where age>5: t.tsv has no column "age", but id, length, speaker, score'
    expect 2 bload plan -T 100 t.tsv --split a=50%,b=50% --split-by video :err '--split-by video: t.tsv has no column "video", but id, length, speaker, score'
    expect 2 bload plan -T 100 t.tsv --dedup :err '--dedup: t.tsv has no column content'
    expect 1 bload plan -T 100 t.tsv --where 'length>5' --where 'score=7' :err 'bload: plan: no sequence is left: 4 by --where'
    given lengths '5\n6\n' expect 2 bload plan -T 100 --lengths lengths --first 1 :err 'need a table: a plain list has no columns'
}

test_bad_parts() {
    table
    for bad in train=50%,val=49% train=50%,val=51% train=50,val=50 train=100%,val=0% train=50%,train=50% =100% 'a b=100%' 'a=100%,' '' \
        a=99.9999999%,b=0.0000001%; do
        expect 2 bload compare -T 100 t.tsv --split "$bad" :err 'compare: --split expects names and percentages that are 100% together'
    done
    for bad in 0% 101% 10 -5% 1.2345678% %; do
        expect 2 bload compare -T 100 t.tsv --share "$bad" :err 'compare: --share expects a percentage above 0%, up to 100%'
    done
    expect 2 bload compare -T 100 t.tsv --split train=90%,val=10% --take vol :err '--take vol: --split train=90%,val=10% has no such part'
    expect 2 bload compare -T 100 t.tsv --take val :err '--take val needs --split, or a table with a column split: t.tsv has none'
    expect 2 bload compare -T 100 t.tsv --split-by speaker :err '--split-by needs --split'
    expect 2 bload compare -T 100 t.tsv --first 0
    expect 0 bload compare -q -T 100 t.tsv --split a=99.999999%,b=0.000001%
}

# A sequence's share and part depend on its id alone, and on the column alone.
test_shares_and_parts() {
    many 2000 >t.tsv
    bload plan -q -T 100 t.tsv --share 10% --strategy naive | tail -n +2 | cut -f 2 | sort >ten
    bload plan -q -T 100 t.tsv --share 30% --strategy naive | tail -n +2 | cut -f 2 | sort >thirty
    is '' "$(comm -23 ten thirty)"
    [ "$(wc -l <ten)" -gt 150 ] && [ "$(wc -l <ten)" -lt 250 ]
    [ "$(wc -l <thirty)" -gt 540 ] && [ "$(wc -l <thirty)" -lt 660 ]
    is 2000 "$(taken --share 100% | wc -w)"
    mv t.tsv large.tsv
    many 700 >t.tsv
    bload plan -q -T 100 t.tsv --share 10% --strategy naive --seed 5 | tail -n +2 | cut -f 2 | sort >fewer
    cmp fewer <(awk '$1 < 700' ten)
    mv large.tsv t.tsv
    # The parts are all of the table, and another hash than the share's divides it.
    local split=(--split 'train=70%,val=20%,test=10%')
    for part in train val test; do taken "${split[@]}" --take $part | tr ' ' '\n' >rows.$part; done
    cmp <(sort -n rows.*) <(seq 0 1999)
    [ "$(wc -l <rows.test)" -gt 150 ] && [ "$(wc -l <rows.test)" -lt 250 ]
    [ "$(taken "${split[@]}" --take train --share 70% | wc -w)" -lt 1060 ]
    # A speaker is in one part.
    for part in train val test; do
        for i in $(taken --split train=40%,val=30%,test=30% --split-by speaker --take $part); do echo $((i % 10)) $part; done
    done | sort -u >speakers
    is 10 "$(wc -l <speakers)"
}

test_equal_content_is_taken_once() {
    arrays a 16 8
    npy b/1.npy '50000, 2' 0 '<f4'
    npy b/2.npy '50000, 2' 'i == 50000' '<f4'
    cp b/2.npy b/3.npy
    expect 0 bload scan a b --dedup :err 'bload: left out by --dedup: 9 sequences'
    is 'left out by --dedup: the content of 07.npy' "$(field reason 16 <"$OUT")"
    is "$(printf '%02d.npy\n' $(seq 0 7))"$'\n1.npy\n2.npy' "$(chosen)" # 1 and 2 have the same digest
    is "$(field content 17 <"$OUT")" "$(field content 18 <"$OUT")"
    expect 0 bload scan -q a -o t.tsv
    rm a/12.npy
    expect 1 bload plan -T 100 t.tsv --dedup :err '--dedup compares files, and cannot open a/12.npy: No such file or directory'
}

test_equal_documents_and_clips() {
    mkdir d
    printf '{"text": "aaa"}\n{"text": "bb"}\n{"text": "aaa"}\n' | tee d/1.jsonl >d/2.jsonl
    expect 0 bload scan d --tokenizer bytes --dedup
    is $'1.jsonl#0\n1.jsonl#16' "$(chosen)"
    is 'left out by --dedup: the content of 1.jsonl#0' "$(field reason 3 <"$OUT")"
    # Two clips of one file have its content, and are two; the same clip of a copy is one.
    fixtures v h264-30.mp4=a.mp4
    cp v/a.mp4 v/b.mp4
    printf 'path,start_frame,end_frame,id,speaker\nv/a.mp4,0,10,1,x\nv/a.mp4,10,20,2,x\nv/b.mp4,10,20,3,y\nv/b.mp4,5,20,4,y\n' >c.csv
    expect 0 bload scan --kind video c.csv --dedup
    is $'c.csv/1\nc.csv/2\nc.csv/4' "$(chosen | sed 's,^[^/]*$,c.csv/&,')"
    expect 0 bload scan --kind video c.csv --where speaker=y --first 1
    is 3 "$(chosen | sed 's,.*/,,')"
    expect 0 bload scan --kind video c.csv --split a=50%,b=50% --split-by path
    is 2 "$(cut -f 4 "$OUT" | tail -n +2 | paste - <(field split <"$OUT") | sort -u | wc -l)"
}

# One table and one dataset: by a scan, by tasks, from a YAML file, of a table that was made before, and gone on with.
test_every_way_takes_the_same() {
    arrays a 40 20
    local options=(--where 'length>3' --dedup --split 'train=60%,val=40%' --take train --share 60% --first 2) T=(-T longest --shard-size 1)
    expect 0 bload scan a "${options[@]}" -o scan.tsv :err 'bload: 40 files: 2 sequences of'
    for by in where dedup take share first; do err_has "bload: left out by --$by: "; done
    is 2 "$(chosen scan.tsv | wc -l)"
    expect 0 bload scan -q a -o all.tsv
    expect 0 bload pack a "${T[@]}" "${options[@]}" -o one
    for by in where dedup take share first; do err_has "bload: left out by --$by: "; done
    same scan.tsv one/sequences.tsv
    grep -q '"split": "train=60%,val=40%"' one/manifest.json
    expect 0 bload verify -q one
    expect 0 bload pack -q --sequences all.tsv "${T[@]}" "${options[@]}" -o table
    same scan.tsv table/sequences.tsv
    diff -r one/shards table/shards
    # The table of a subset is its own subset.
    expect 0 bload pack -q --sequences scan.tsv "${T[@]}" "${options[@]}" -o again
    same scan.tsv again/sequences.tsv
    expect 0 bload pack -q --sequences scan.tsv "${T[@]}" --take train -o column
    diff -r one/shards column/shards
    for i in 1 0 2; do expect 0 bload scan -q a "${options[@]}" --task $i/3 -o tasks; done
    expect 2 bload plan "${T[@]:0:2}" tasks :err 'tasks was scanned with --where length>3: give the same'
    expect 2 bload plan "${T[@]:0:2}" "${options[@]:0:${#options[@]}-2}" --first 3 tasks :err 'tasks was scanned with --first 2: give the same'
    expect 0 bload plan "${T[@]:0:2}" "${options[@]}" tasks :err 'bload: left out by --first: '
    same scan.tsv tasks/.bload/sequences.tsv
    expect 2 bload pack -q a "${T[@]}" --task 0/2 -o tasks :err 'of another configuration: where is'
    for i in 1 0; do expect 0 bload pack -q a "${T[@]}" "${options[@]}" --task $i/2 -o tasks; done
    expect 0 bload finish tasks :err 'bload: left out by --first: ' :same-as one
    printf 'sources: [a]\nT: longest\nshard-size: 1\nwhere: ["length>3"]\ndedup: true\nsplit: train=60%%,val=40%%\ntake: train\nshare: 60%%\nfirst: 2\n' >set.yaml
    expect 0 bload pack -q -c set.yaml --task 0/2 -o yaml
    expect 2 bload pack -q -c set.yaml --first 1 -o yaml
    expect 0 bload pack -q -c set.yaml -o yaml :same-in one manifest.json
    expect 0 bload pack -c set.yaml --print-config -o yaml :out 'where: ["length>3"]'
    cp "$OUT" printed.yaml
    expect 0 bload pack -c printed.yaml :err 'yaml is already complete'
    rm one/shards/00000/shard-00000000.safetensors
    expect 0 bload pack -q a "${T[@]}" "${options[@]}" -o one :same-as tasks
    expect 1 bload scan a --where 'length>100' -o none.tsv :err 'bload: scan: no sequence is left: 40 by --where' :none none.tsv
    expect 1 bload pack -q a "${T[@]}" --where 'length>100' -o none
    expect 2 bload scan a --where 'size>1' :err 'has no column "size", but id, length, kind, path, bytes, status, reason, sampling, stream, content'
    expect 2 bload scan a "${options[@]}" --where 'x>'
}

# A view has the same subset of what is stored; the datasets that it is of may have the same ids.
test_views_of_subsets() {
    arrays a 40 20
    local options=(-T 20 --where 'length>3' --split 'train=60%,val=40%' --take train --first 7)
    expect 0 bload pack -q a "${options[@]}" -o part
    expect 0 bload pack -q a -T longest -o all
    expect 0 bload view all "${options[@]}" -o view :err 'bload: left out by --first: ' 'bload: 7 sequences of' :verified
    expect 0 bload view all "${options[@]}" -o view :err 'view is already complete'
    expect 2 bload view all "${options[@]:0:${#options[@]}-2}" --first 6 -o view :err 'of another configuration: first is "7" there, not "6"'
    is "$(bload info part | grep '^sequences')" "$(bload info view | grep '^sequences')"
    expect 0 bload view all part --mix random -T 20 --where 'length>3' --share 60% -o both :verified
    expect 1 bload view all -T 20 --where 'length>30' -o none :err 'no sequence is left: 40 by --where'
}

# The parts of a split that only the command makes share no block either.
test_parts_are_groups() {
    many 300 >t.tsv
    expect 0 bload plan -q -T 50 t.tsv --split a=50%,b=50% --group-by split -o plan.tsv
    taken --split a=50%,b=50% --take a | tr ' ' '\n' >rows.a
    is '' "$(awk -F '\t' 'NR == FNR { a[$1] = 1; next } FNR > 1 { part = $2 in a ? 1 : 2; if (of[$1] && of[$1] != part) print; of[$1] = part }' rows.a plan.tsv)"
    expect 1 bload plan -q -T 50 t.tsv --group-by split :err 'no column "split" to group by'
}

# Attributes are columns of conditions; what is left out need not have numbers; parts can be groups.
test_other_columns() {
    arrays a 8 8
    printf 'id,speaker,images\n' >labels.csv
    for i in 0 1 2 3 4 5 6 7; do echo "0$i,s$((i % 2)),$([ $i = 3 ] && echo none || echo $i)"; done >>labels.csv
    expect 0 bload pack a -T 20 --attributes labels.csv --where images!=none --max-column images=9 --split a=50%,b=50% --group-by split -o d
    err_has 'bload: left out by --where: 1 sequence'
    expect 0 bload scan -q a --attributes labels.csv -o t.tsv
    expect 0 bload plan -q -T 20 t.tsv --where images!=none --max-column images=9
    expect 2 bload plan -q -T 20 t.tsv --max-column images=9
    expect 0 bload pack -q --sequences d/sequences.tsv -T 20 --split a=50%,b=50% -o same
    expect 2 bload pack -q --sequences d/sequences.tsv -T 20 --split b=50%,a=50% -o other :err "and the table's column split"
    expect 1 bload pack -q --sequences d/sequences.tsv -T 20 --take c -o other :err 'no sequence is left: 7 by --take'
}

# texts FILE: nine documents in a.jsonl, of which some repeat a text of others in some form.
texts() {
    printf '%s\n' '{"text": "same text", "url": "a", "m": {"k": 1}}' '{"text": "same text", "url": "b", "m": {"k": 1}}' '{"url": "a", "text": "other"}' \
        '{"text": "\u0073ame text", "url": "c", "m": {"k": 2}}' '{"text": "Same  Text\n", "url": "", "m": {"k": "2"}}' >a.jsonl
    printf '%s\n' '{"text": "\ufb01ne", "url": null}' '{"text": "fine", "url": "d"}' '{"text": "\u00c9", "url": "e"}' '{"text": "e\u0301", "url": "f"}' >b.jsonl
}

# repeats SPEC: numbers of the documents that stay.
repeats() { bload scan -q a.jsonl b.jsonl --tokenizer bytes --dedup-by "$1" | tail -n +2 | awk -F '\t' '$6 == "ok" { print NR }' | xargs; }

# What is compared is the text of one key, in a normal form; what lacks it stays.
test_repeats_of_a_text() {
    texts
    while IFS='|' read -r spec stay; do is "$spec: $stay" "$spec: $(repeats "$spec")"; done <<'END'
text|1 3 5 6 7 8 9
text:|1 3 5 6 7 8 9
text:space|1 3 5 6 7 8 9
text:lower|1 3 5 6 7 8 9
text:space,lower|1 3 6 7 8 9
text:nfkc|1 3 5 6 8 9
text:lower,nfkc|1 3 5 6 8
text:nfkc,lower,space|1 3 6 8
url|1 2 4 5 6 7 8 9
m.k|1 3 4 6 7 8 9
m|1 3 4 5 6 7 8 9
none|1 2 3 4 5 6 7 8 9
END
    expect 0 bload pack a.jsonl b.jsonl --tokenizer bytes --dedup-by text:space,lower,nfkc -T 50 -o d :verified
    err_has 'bload: --dedup-by text:nfkc,lower,space: 5 of 9 sequences repeat the text of an earlier one: 3 in a.jsonl, 2 in b.jsonl'
    err_has 'bload: left out by --dedup-by: 5 sequences'
    is 'left out by --dedup-by text:nfkc,lower,space: the text of a.jsonl#0' "$(field reason 2 <d/sequences.tsv)"
    is 'left out by --dedup-by text:nfkc,lower,space: the text of b.jsonl#0' "$(field reason 7 <d/sequences.tsv)"
    expect 0 bload info d :out 'left out    5 sequences by request: --dedup-by 5'
    expect 0 bload scan a.jsonl b.jsonl --tokenizer bytes --dedup-by url -o t.tsv :err 'bload: --dedup-by url: 2 sequences have no text there, and are kept'
    err_has 'bload: --dedup-by url: 1 of 7 sequences repeats the text of an earlier one: 1 in a.jsonl'
    expect 0 bload scan a.jsonl --tokenizer bytes --dedup-by txt
    err_has 'bload: --dedup-by txt: 5 sequences have no text there, and are kept: nothing was compared (is it the right key?)'
    # Of more files the most are named.
    for i in 1 2 3 4 5 6 7; do cp a.jsonl c$i.jsonl; done
    echo '{"text": "other"}' >>c4.jsonl
    expect 0 bload scan c?.jsonl --tokenizer bytes --dedup-by text
    err_has ': 33 of 36 sequences repeat the text of an earlier one: 6 in c4.jsonl, 5 in c2.jsonl, 5 in c3.jsonl, 5 in c5.jsonl, 5 in c6.jsonl, 7 in 2 other files'
    # Plain documents are their text; other keys they do not have.
    mkdir plain && for i in 1 2 3; do printf 'A  %d' $((i % 2)) >plain/$i.txt; done
    is '2 3' "$(bload scan -q plain --tokenizer bytes --dedup-by text | field length | grep -cx 4) $(bload scan -q plain --tokenizer bytes --dedup-by url | field length | grep -cx 4)"
    for bad in : '' :lower text:lowr 'text:nfkc,' 'text:nfkc,,lower' a..b dc:title; do
        expect 2 bload scan a.jsonl --tokenizer bytes --dedup-by "$bad" :err '--dedup-by'
    done
    expect 0 bload scan a.jsonl --tokenizer bytes --dedup-by dc:title: -o t.tsv
    is 'digest(dc:title:)' "$(head -n 1 t.tsv | cut -f 11)"
}

# The digest is a column: tables, tasks, views and larger datasets compare it; any column of a table can be compared.
test_repeats_of_a_text_in_every_way() {
    texts
    local options=(--tokenizer bytes -T 50 --keep url --dedup-by 'text:lower,space')
    expect 0 bload pack -q a.jsonl b.jsonl "${options[@]}" -o d
    for jobs in 1 4; do expect 0 bload pack -q a.jsonl b.jsonl "${options[@]}" -j $jobs -o j$jobs :same-as d; done
    for i in 1 0; do expect 0 bload scan -q a.jsonl b.jsonl "${options[@]:0:2}" "${options[@]:4}" --task $i/2 -o tasks; done
    expect 2 bload plan -q -T 50 --dedup-by text tasks :err 'tasks was scanned with --dedup-by text:lower,space: give the same'
    expect 0 bload plan -q -T 50 --dedup-by text:lower,space tasks
    in_tasks 2 a.jsonl b.jsonl "${options[@]}" -o tasks :same-as d
    # A run that was stopped goes on, and of another form it is another dataset.
    expect 0 bload pack -q a.jsonl b.jsonl "${options[@]}" --task 0/2 -o again
    expect 2 bload pack -q a.jsonl b.jsonl "${options[@]:0:6}" --dedup-by text -o d
    err_has 'of another configuration: dedup-by is "text:lower,space" there, not "text"'
    expect 0 bload pack -q a.jsonl b.jsonl "${options[@]}" -o again :same-as d
    # Tables of several scans have one column of digests.
    expect 0 bload scan -q a.jsonl "${options[@]:0:2}" --dedup-by text:lower -o a.tsv
    cp a.jsonl c.jsonl
    expect 0 bload scan -q c.jsonl "${options[@]:0:2}" --dedup-by text:lower -o c.tsv
    is '0 2 4' "$(bload plan -q -T 50 a.tsv c.tsv --dedup-by text:lower | tail -n +2 | cut -f 2 | sort -n | xargs)"
    expect 2 bload plan -q -T 50 a.tsv --dedup-by text :err '--dedup-by text: a.tsv has no column "text", but id, length'
    # Two datasets in a view.
    for name in a c; do expect 0 bload pack -q $name.jsonl "${options[@]:0:4}" --dedup-by text:lower -o of-$name; done
    expect 0 bload view of-a of-c -T 50 --dedup-by text:lower -o v :err 'bload: left out by --dedup-by: 3 sequences' :verified
    # Attributes are columns: their values count, and those of other kinds.
    printf 'id,md5\n' >labels.csv
    field id <d/sequences.tsv | sed 's/.*/&,x/; 1s/x$/X/; 3s/x$//; 4s/x$//' >>labels.csv
    expect 0 bload scan a.jsonl b.jsonl --tokenizer bytes --attributes labels.csv --dedup-by md5:lower -o t.tsv
    is 3 "$(field status <t.tsv | grep -c ok)"
    err_has 'bload: --dedup-by md5:lower: 2 sequences have no text there, and are kept'
    arrays n 6 6
    printf 'id,md5\n' >labels.csv
    for i in 0 1 2 3 4 5; do echo "0$i,$((i % 2))"; done >>labels.csv
    expect 0 bload pack -q n -T 20 --attributes labels.csv --dedup-by md5 -o n-set
    is '2' "$(field status <n-set/sequences.tsv | grep -c ok)"
    expect 2 bload scan n --dedup-by text :err '--dedup-by text: the table has no column "text", but id, length'
    # What a dataset holds already is the first with its text.
    expect 0 bload pack -q a.jsonl "${options[@]:0:4}" -o old
    printf '%s\n' '{"text": "other", "n": 1}' '{"text": "new"}' >new.jsonl
    expect 0 bload pack a.jsonl new.jsonl "${options[@]:0:4}" --extend old --dedup-by text -o more
    is 'dropped ok' "$(field status <more/sequences.tsv | tail -n 2 | xargs)"
    is "left out by --dedup-by text: the text of $(field id 3 <more/sequences.tsv)" "$(field reason 6 <more/sequences.tsv)"
}

# By the tokens that stay where the ends are cut off.
test_tokens_that_are_trained() {
    python3 - >m.jsonl <<'END'
import json
for length, first in (10, 5), (40, 30), (8, 99), (64, 15), (16, 0):
    print(json.dumps({"ids": list(range(length)), "m": [int(t >= first) for t in range(length)], "w": 1}))
END
    local base=(--key ids --field loss_mask=m:u8)
    expect 0 bload pack m.jsonl "${base[@]}" -T 20 --oversize truncate --min-trained 5 -o cut :err 'bload: left out by --min-trained: 2 sequences' :verified
    is '5 0 0 5 16' "$(field trained <cut/sequences.tsv | xargs)"
    is 'left out by --min-trained 5' "$(field reason 2 <cut/sequences.tsv)"
    is 0 "$(word untrained <cut/manifest.json)"
    expect 0 bload pack -q m.jsonl "${base[@]}" -T 20 --oversize split --min-trained 5 -o whole :made trained '5 10 0 49 16'
    # Tasks, resumed runs and tables; a table counts all tokens.
    for i in 0 1; do expect 0 bload pack -q m.jsonl "${base[@]}" -T 20 --oversize truncate --min-trained 5 --task $i/2 -j $((i + 1)) -o tasks; done
    expect 0 bload finish -q tasks :same-as cut
    expect 0 bload scan -q m.jsonl "${base[@]}" --min-trained 1 -o t.tsv
    is '1 3 4' "$(bload plan -q -T 64 t.tsv --min-trained 10 | tail -n +2 | cut -f 2 | sort -n | xargs)"
    is '0 1 3 4' "$(bload plan -q -T 64 t.tsv | tail -n +2 | cut -f 2 | sort -n | xargs)"
    expect 0 bload pack -q m.jsonl "${base[@]}" -T 64 --min-trained 0 -o zero
    expect 0 bload pack -q m.jsonl "${base[@]}" -T 64 -o zero
    # One chain by a YAML file.
    printf 'sources: [m.jsonl]\nkey: ids\nfield: loss_mask=m:u8\nT: 20\noversize: truncate\nmin-trained: 5\ndedup-by: "w:lower"\n' >set.yaml
    expect 0 bload pack -q -c set.yaml -o yaml :made trained '5 0 0 5 16'
    for i in 1 0; do expect 0 bload scan -q set.yaml --task $i/2 -o chain; done
    expect 0 bload plan -q -c set.yaml chain
    expect 0 bload pack -q -c set.yaml -o chain :same-as yaml
    while read -r options; do
        expect 2 bload scan m.jsonl --key ids --min-trained 1 $options :err '--min-trained counts the tokens that a field loss_mask or labels trains'
    done <<'END'

--field mask=m:u8
--field labels=m:u8
END
    arrays n 2 2
    expect 2 bload scan n --min-trained 1 :err '--min-trained: the table has no column trained'
    expect 2 bload scan m.jsonl "${base[@]}" --min-trained -1
    expect 1 bload scan m.jsonl "${base[@]}" --min-trained 99 :err 'no sequence is left: 5 by --min-trained'
}
