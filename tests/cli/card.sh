# bload info and report: what a data card says of a dataset, and statistics by channel. tests/readers/test_card.py compares the numbers.
# shellcheck shell=bash disable=SC2317

# labelled: a dataset d of 30 arrays with labels, languages and sizes; two have no label.
labelled() {
    mkdir -p a/b
    echo 'id,label,language,width,height' >labels.csv
    for i in $(seq 1 30); do
        folder=a
        [ $((i % 3)) != 0 ] || folder=a/b
        npy $folder/$i.npy "$i, 2" 'i % 7' '<f4'
        label=dog
        [ $((i % 5)) != 0 ] || label='cat'
        [ "$i" -gt 2 ] || label=
        echo "${folder#a}/$i.npy,$label,en,640,480" | sed 's|^/||' >>labels.csv
    done
    expect 0 bload pack -q a --attributes labels.csv -T 30 -o d
}

test_columns_are_counted() {
    labelled
    expect 0 bload info d :out 'labels      dog 76.77 %, cat 22.58 %, not given 0.65 % of the steps' \
        :out 'languages   en 100.00 % of the steps' \
        :out 'resolutions 640x480 100.00 % of the steps' :out-lacks 'codecs'
    expect 0 bload report d --blocks 0 -o page.html
    bload info --json d >info.json
    python3 "$BLOAD_ROOT/tests/cli/page.py" page.html info.json '640x480|30|465|100.00 %|-' 'not given|2|3|0.65 %|-'
    # Without such columns there is nothing to say, except by source.
    expect 0 bload pack -q a -T 30 -o plain
    expect 0 bload info plain :out-lacks 'labels' :out-lacks 'languages'
    expect 0 bload info --json plain
    is 'folder 2 None' "$(python3 -c 'import json, sys; c = json.load(sys.stdin)["card"]; print(c["sources"]["by"], len(c["sources"]["values"]), c["labels"])' <"$OUT")"
}

# Beyond the first 20, values are summed up; texts are no classes.
test_others_are_counted() {
    {
        printf 'id\tlength\tlabel\tclass\n'
        for i in $(seq 1 30); do printf '%s\t%s\tl%s\tx\n' "$i" "$i" "$i"; done
        printf 'text\t7\t%s\tx\n' "$(head -c 300 /dev/zero | tr '\0' t)"
        printf 'none\t9\t\tx\n'
    } >t.tsv
    expect 0 bload report t.tsv -o page.html
    python3 "$BLOAD_ROOT/tests/cli/page.py" page.html 'l30|1|30|6.24 %|-' 'l11|1|11|2.29 %|-' 'others|12|71|14.76 %|-'
    sed -i /^text/d t.tsv
    expect 0 bload report t.tsv -o page.html
    python3 "$BLOAD_ROOT/tests/cli/page.py" page.html '11 others|11|64|13.50 %|-' 'p1|1 step' 'p50|15 steps' 'max|30 steps'
}

test_hours_by_duration_and_fps() {
    {
        printf 'id\tlength\tkind\tsampling\tfps\tduration\tlabel\n'
        printf 'a\t90000\tvideo\tall\t25\t\tx\nb\t10\tvideo\tall\t\t1800\tx\nc\t7200\tvideo\tfps=2\t25\t\ty\nd\t5\tvideo\tall\tfast\t\tx\n'
    } >t.tsv
    expect 0 bload report t.tsv -o page.html
    python3 "$BLOAD_ROOT/tests/cli/page.py" page.html 'x|3|90,015|92.59 %|1.500' 'y|1|7,200|7.41 %|1.000'
}

test_sources_of_a_view_are_its_datasets() {
    labelled
    expect 0 bload pack -q a/b -T 30 -o few
    expect 0 bload view d few -T 30 -o v
    expect 0 bload info --json v
    is 'dataset d 30 few 10 None 12' "$(python3 -c 'import json, sys
c = json.load(sys.stdin)["card"]
print(c["sources"]["by"], *[x for v in c["sources"]["values"] for x in (v["value"], v["sequences"])], c["labels"]["values"][-2]["value"], c["labels"]["values"][-2]["sequences"])' <"$OUT")"
    expect 0 bload info --statistics v :out 'of 40 sequences without padding'
}

test_statistics_are_printed() {
    labelled
    bload info --json d >info.json
    expect 0 bload info --statistics --sample 1 d :out-like '^statistics  1 of [0-9]* blocks, with [0-9]* steps of [0-9]* sequences\?'
    expect 0 bload info --statistics --sample 1000000 d :out 'with 465 steps of 30 sequences without padding'
    cp "$OUT" many
    expect 0 bload info --statistics d :out-as many
    expect 0 bload info --statistics --sample all d :out-as many
    grep -q '^            array, values: 930 values in 2 channels$' many || fail 'values'
    # Nothing of the JSON depends on them.
    bload info --json --statistics d | python3 -c 'import json, sys
d = json.load(sys.stdin); del d["statistics"]; assert d == json.load(open("info.json"))'
}

test_what_statistics_refuse() {
    labelled
    given ids.txt 'a\nbb\n' expect 0 bload pack -q ids.txt --tokenizer bytes -T 20 -o ids
    expect 2 bload info --statistics ids :err-is 'bload: info: --statistics: no field of ids has pixels, sound or features; a mean of ids, labels or times says nothing'
    expect 2 bload info --statistics --sample 0 d :err-is 'bload: info: --sample expects a number of blocks from 1, or all, not "0"'
    expect 2 bload info --statistics --sample -1 d :err '--sample expects'
    expect 2 bload info --sample 5 d :err-is 'bload: info: --sample has no effect without --statistics'
    expect 0 bload export -q d --to mds -o mds
    expect 2 bload info --statistics mds :err-is 'bload: info: --statistics reads a dataset, and mds is an export: name its dataset'
    expect 0 bload pack -q a -T 30 -o part --task 0/2
    expect 1 bload info --statistics part :err-is 'bload: info: part is not a finished dataset: it has no manifest.json'
    expect 2 bload info --statistics none :err 'none'
}

test_damage_ends_statistics() {
    labelled
    shard=$(find d/shards -name '*.safetensors')
    printf '\377' | dd of="$shard" bs=1 seek=$(($(stat -c %s "$shard") / 3)) conv=notrunc status=none
    expect 1 bload info --statistics d :err "$shard"
}

