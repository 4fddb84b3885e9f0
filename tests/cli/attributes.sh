# Attributes: columns of a user's table, joined to the sequences by id.
# shellcheck shell=bash disable=SC2317

# Five texts in folders, of 10 to 50 bytes.
setup() {
    local i
    mkdir -p t/a t/b
    for i in 1 2 3; do printf "%${i}0d" 0 >t/a/$i.txt; done
    for i in 4 5; do printf "%${i}0d" 0 >t/b/$i.txt; done
    bytes=(--tokenizer bytes)
}

# labels < TEXT: labels.csv, lines ended by CRLF.
labels() { sed 's/$/\r/' >labels.csv; }

whole_labels() {
    labels <<'END'
id,class,weight,note
a/1.txt,1,0.5,one
a/2,2,,"two, ""quoted"""
3,1,-1e3,
b/4.txt,0,nan,four
5.txt,2,7,five
END
}

test_columns_follow_those_of_the_scan() {
    whole_labels
    expect 0 bload scan t "${bytes[@]}" --attributes labels.csv :column class '1 2 1 0 2'
    is "class weight note" "$(head -n 1 "$OUT" | cut -f 11- | tr '\t' ' ')"
    is 'two, "quoted"' "$(field note 2 <"$OUT")"
    ! grep 'no sequence' "$ERR" || fail 'every row has a sequence'
    cp "$OUT" right
    # The order is that of the list, a TSV says the same, and so does a compressed one.
    printf 'id\tnote\tclass\n' >labels.tsv
    field id <right | paste - <(field note <right) <(field class <right) >>labels.tsv
    gzip -kn labels.tsv
    zstd -q labels.tsv
    for name in labels.tsv labels.tsv.gz labels.tsv.zst; do
        expect 0 bload scan t "${bytes[@]}" --attributes $name --attributes-columns class,note
        diff <(cut -f 1-11,13 right) "$OUT"
    done
}

test_which_column_has_the_ids() {
    printf 'class,file,id\n1,1,x\n2,2,y\n3,3,z\n4,4,u\n5,5,v\n' >labels.csv
    expect 0 bload scan t "${bytes[@]}" --attributes labels.csv --attributes-id file --attributes-columns class :column class '1 2 3 4 5'
    # By its name, else the first.
    expect 3 bload scan t "${bytes[@]}" --attributes labels.csv :out-count 5 skipped
    given labels.csv 'file,class\n1,1\n2,2\n3,3\n4,4\n5,5\n' expect 0 bload scan t "${bytes[@]}" --attributes labels.csv :column class '1 2 3 4 5'
}

test_rows_that_lack_and_rows_too_many() {
    labels <<'END'
id,class
gone/9.txt,7
1,1

2,2
4,3
other,8
END
    expect 3 bload scan t "${bytes[@]}" --attributes labels.csv :column status 'ok ok skipped ok skipped' :column length '10 20 0 40 0'
    is 'labels.csv has no row for it' "$(field reason 3 <"$OUT")"
    is '' "$(field class 3 <"$OUT")"
    err_has 'bload: skipped a/3.txt: labels.csv has no row for it'
    err_has 'bload: labels.csv: 2 rows belong to no sequence, the first in line 2 ("gone/9.txt")'
    expect 3 bload pack t "${bytes[@]}" --attributes labels.csv -T 50 -o d
    err_has 'bload: labels.csv: 2 rows belong to no sequence, the first in line 2 ("gone/9.txt")' 'bload: attributes: class I64'
    expect 3 bload pack t "${bytes[@]}" --attributes labels.csv -T 50 -o d :err 'already complete'
    expect 1 bload pack t "${bytes[@]}" --attributes labels.csv -T 50 -o e --on-error fail :err 'a/3.txt: labels.csv has no row for it (--on-error fail)'
    expect 0 bload verify d
}

test_a_row_for_two_sequences_is_refused() {
    cp t/a/1.txt t/b/1.txt
    given labels.csv 'id,class\na/1.txt,1\nb/1,2\n2,2\n3,3\n4,4\n5,5\n' expect 0 bload scan t "${bytes[@]}" --attributes labels.csv :column class '1 2 3 2 4 5'
    for row in 1,1 1.txt,1; do
        printf 'id,class\n2,2\n%s\n3,3\n4,4\n5,5\n' $row >labels.csv
        expect 1 bload scan t "${bytes[@]}" --attributes labels.csv -o table :err "labels.csv:3: two sequences match the id \"${row%,1}\", one of them "
        [ ! -e table ]
    done
}

# refuse STATUS MESSAGE [OPTION...], with the table on stdin.
refuse() {
    cat >labels.csv
    expect "$1" bload pack t "${bytes[@]}" --attributes labels.csv -T 50 -o d "${@:3}" :err "bload: pack: labels.csv$2" :none d
}

test_tables_that_are_none() {
    refuse 1 ' is empty: its first line must name the columns' </dev/null
    head -c 1100000 /dev/zero | tr '\0' x | sed 's/^/id,class\n1,/' | refuse 1 ': line 2: a record of more than'
    while IFS='|' read -r status table message options; do printf "$table\n" | refuse "$status" "$message" $options; done <<'END'
1|id,class\n1,2\n2,3,4|:3: 3 values where the header has 2 columns
1|id,class\n"1\n",2\n\n"1\n",3|:5: duplicate id "1
1|id,class\n,2|:2: an empty id
1|id,class\n1,"2|: line 2: a value in quotes that does not end
1|id,class\n1,\xff|: line 2: not UTF-8
1|id,class\n1,2\n2,\0|: line 3: a zero byte
2|id\n1|:1: no column except "id"
2|id,class\n1,2|:1: no column "split"|--attributes-columns class,split
2|id,class\n1,2|:1: no column "name"|--attributes-id name
2|id,a,a\n1,2,3|:1: duplicate column "a"
END
    expect 2 bload pack t "${bytes[@]}" --attributes none.csv -T 50 -o d :err 'cannot open none.csv: No such file or directory'
    expect 2 bload scan t "${bytes[@]}" --attributes-id x :err '--attributes-id needs --attributes FILE'
    expect 2 bload scan t "${bytes[@]}" --attributes - :err '--attributes needs a file'
}

test_names_that_clash() {
    for name in length start status; do printf 'id,%s\n1,2\n' $name | refuse 2 ":1: \"$name\" is reserved in the table of sequences"; done
    for name in tokens sequence segment_ids __metadata__; do
        printf 'id,%s\n1,2\n' $name | refuse 2 ": the column \"$name\" has the name of a tensor of the shards"
    done
    put t.jsonl '{"text": "a", "class": 1}\n' labels.csv 'id,class,tokens\nt.jsonl#0,2,3\n'
    expect 2 bload scan t.jsonl "${bytes[@]}" --keep class --attributes labels.csv :err 'labels.csv: the scan already has a column "class"'
    # What is left out may be called anything; a table without tensors has no names of tensors.
    expect 0 bload scan t.jsonl "${bytes[@]}" --keep class --attributes labels.csv --attributes-columns tokens
}

test_at_most_64_are_numbers() {
    { echo "id,$(columns 65),text" && for i in 1 2 3 4 5; do echo "$i,$(seq -s , 65),t"; done; } >labels.csv
    expect 2 bload pack t "${bytes[@]}" --attributes labels.csv -T 50 -o d :err 'more than 64 columns of numbers: choose some with --attributes-columns'
    rm -r d
    expect 0 bload pack t "${bytes[@]}" --attributes labels.csv --attributes-columns "$(columns 64),text" -T 50 -o d :verified
    { echo "id,$(columns 193)" && echo "1,$(seq -s , 193)"; } >labels.csv
    expect 2 bload scan t "${bytes[@]}" --attributes labels.csv :err 'labels.csv:1: more than 192 columns'
}

test_groups_go_by_them() {
    whole_labels
    expect 0 bload pack t "${bytes[@]}" --attributes labels.csv --group-by class -T 100 -o d :manifest blocks 3
    expect 2 bload pack t "${bytes[@]}" --attributes labels.csv --group-by clas -T 100 -o e :err '--group-by clas: the scan has no such column'
    expect 0 bload scan t "${bytes[@]}" --attributes labels.csv -o table.tsv
    expect 0 bload plan table.tsv --group-by class -T 100
    is 3 "$(field block <"$OUT" | sort -u | wc -l)"
}

test_a_table_that_was_scanned_before() {
    whole_labels
    expect 0 bload pack t "${bytes[@]}" --attributes labels.csv -T 50 -o right
    expect 0 bload scan t "${bytes[@]}" -o without.tsv
    expect 0 bload scan t "${bytes[@]}" --attributes labels.csv -o with.tsv
    for table in without with; do
        expect 0 bload pack --sequences $table.tsv "${bytes[@]}" --attributes labels.csv -T 50 -o $table :same-in right sequences.tsv
        same right/shards/00000/shard-00000000.safetensors $table/shards/00000/shard-00000000.safetensors
    done
    expect 0 bload pack --sequences without.tsv "${bytes[@]}" --attributes labels.csv --group-by class -T 100 -o g :manifest blocks 3
    # Without the option its columns are texts like any other.
    expect 0 bload pack --sequences with.tsv "${bytes[@]}" -T 50 -o carried :same-in right sequences.tsv
    is '[]' "$(tr -d ' \n' <carried/manifest.json | sed 's/.*"attributes":\(\[[^]]*\]\).*/\1/')"
    sed -i 's/^3,1,-1e3/3,1,-1e4/' labels.csv
    expect 2 bload pack --sequences with.tsv "${bytes[@]}" --attributes labels.csv -T 50 -o other
    err_has 'with.tsv: row 2 (a/3.txt): column "weight" exists and has "-1e3", but the table of attributes has "-1e4"'
    sed -i /^3/d labels.csv
    expect 3 bload pack --sequences with.tsv "${bytes[@]}" --attributes labels.csv -T 50 -o less :err 'skipped a/3.txt: labels.csv has no row for it' :verified
    is 'skipped' "$(field status 3 <less/sequences.tsv)"
    is '-1e3' "$(field weight 3 <less/sequences.tsv)"
}

test_a_file_that_changed_is_noticed() {
    whole_labels
    expect 0 bload pack t "${bytes[@]}" --attributes labels.csv -T 50 -o d
    expect 0 bload pack t "${bytes[@]}" --attributes labels.csv -T 50 -o d :err 'already complete'
    mkdir elsewhere
    cp labels.csv elsewhere/other.csv
    expect 0 bload pack t "${bytes[@]}" --attributes elsewhere/other.csv -T 50 -o d
    expect 2 bload pack t "${bytes[@]}" --attributes labels.csv --attributes-columns class -T 50 -o d :err 'attributes-columns'
    sed -i 's/four/FOUR/' labels.csv
    expect 2 bload pack t "${bytes[@]}" --attributes labels.csv -T 50 -o d :err 'd holds a dataset' 'attributes is "'
    expect 2 bload pack t "${bytes[@]}" -T 50 -o d
}

test_the_path_counts_from_the_yaml_file() {
    whole_labels
    mkdir conf
    mv t labels.csv conf
    printf 'sources: [t/]\ntokenizer: bytes\nT: 50\nattributes: labels.csv\nattributes-columns: class\n' >conf/set.yaml
    expect 0 bload pack -c conf/set.yaml -o d :made class '1 2 1 0 2'
    expect 0 bload pack -c conf/set.yaml --print-config :out 'attributes: "labels.csv"'
    expect 0 bload info d :out 'attributes  class I64'
    expect 0 bload info d --json
    is 'class' "$(tr -d ' \n' <"$OUT" | sed 's/.*"attributes":\[{"name":"\([^"]*\)","dtype":"I64"}\].*/\1/')"
}

test_what_is_a_number_and_what_is_text() {
    cat >labels.csv <<'END'
id,whole,real,gaps,text,big,empty
1,9223372036854775807,1,,1,1,
2,-4,2.5,7,2,9007199254740993,
3,0,inf,8,3rd,,
4,1,1e-9,,4,4,
5,2,-0,9,5,5,
END
    expect 0 bload pack t "${bytes[@]}" --attributes labels.csv -T 50 -o d :verified
    err_has 'bload: attributes: whole I64, real F64, gaps F64 (2 empty: NaN), text is text (row 2), so it is in sequences.tsv alone, big is text (row 1), so it is in sequences.tsv alone, empty is empty, so it is in sequences.tsv alone'
}

test_other_kinds_have_them_too() {
    mkdir labels
    fixtures v h264-30.mp4=x.mp4 vp9-24.webm=y.webm
    printf '%s\n' $(seq 30) >labels/x.txt
    printf '%s\n' $(seq 24) >labels/y.txt
    put c.csv 'id,class\nx,5\ny,6\n' set.yaml 'sources: [v/]\nT: 60\nsize: 16x16\nattributes: c.csv\nfields: [{name: labels, path: "labels/{id}.txt"}]\n'
    expect 0 bload pack -c set.yaml -o d :made class '5 6' :made labels.path 'labels/x.txt labels/y.txt' :verified
    given c.csv 'id,labels.path\nx,5\n' expect 2 bload pack -c set.yaml -o e :err 'c.csv: the scan already has a column "labels.path"'
    # Of a manifest of speech the cut's own id, of documents the file's with the byte.
    wav=$(fixture tone-8000.wav)
    for i in 0 1; do
        echo "{\"id\": \"cut-$i\", \"start\": 0.$i, \"duration\": 0.1, \"channel\": 0, \"type\": \"MonoCut\", \"recording\": {\"id\": \"r\", \"sources\": [{\"type\": \"file\", \"channels\": [0], \"source\": \"$wav\"}], \"sampling_rate\": 8000, \"num_samples\": 8000, \"duration\": 1}}"
    done >cuts.jsonl
    given c.csv 'id,speaker\ncut-1,11\ncut-0,10\n' expect 0 bload scan --kind audio cuts.jsonl --attributes c.csv :column speaker '10 11'
    printf '{"text": "ab"}\n{"text": "c"}\n' >t.jsonl
    given c.csv 'id,class\nt.jsonl#15,2\nt.jsonl#0,1\n' expect 0 bload scan t.jsonl --tokenizer bytes --attributes c.csv :column class '1 2'
    # The first array decides for all only where it has a row.
    python3 "$BLOAD_ROOT/fixtures/arrays.py" n >/dev/null
    bload scan -q n --kind array >arrays.tsv 2>/dev/null || is 3 $?
    field id <arrays.tsv | sed '1i id,class' | sed '2,$s/$/,1/' >c.csv
    expect 3 bload scan -q n --kind array --attributes c.csv
    diff <(cut -f 1-10 "$OUT") arrays.tsv
}
