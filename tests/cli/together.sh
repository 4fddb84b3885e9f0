# Bundles: --together, in plans, datasets, plans of epochs, views, parts and shares, and what is refused.
# shellcheck shell=bash disable=SC2317,SC2086

# pairs N: a table of N pairs of 20 to 300 steps, in no order, and of some sequences that are alone.
pairs() {
    awk -v n="$1" 'BEGIN { srand(4)
        for (i = 0; i < n; i++) for (k = 0; k < 2; k++) printf "%f\tp%d-%d\t%d\tp%d\t%d\n", rand(), i, k, 20 + int(281 * rand()), i, k }' |
        sort | cut -f 2- | sed '1i id\tlength\tpair\tchosen' >pairs
    awk 'BEGIN { srand(5); for (i = 0; i < 20; i++) printf "s%d\t%d\t\t0\n", i, 20 + int(280 * rand()) }' >>pairs
}

# documents: the same as JSON lines of short texts.
documents() {
    awk 'BEGIN { srand(6); for (i = 0; i < 200; i++) {
        text = sprintf("%*s", 3 + int(40 * rand()), ""); gsub(" ", "x", text)
        pair = i < 180 ? "p" i % 90 : ""
        printf "{\"id\": \"d%d\", \"text\": \"%s\", \"pair\": \"%s\", \"chosen\": %d}\n", i, text, pair, i < 90 } }' >documents.jsonl
}

# intact TABLE PLAN [COLUMN]: every bundle is in one block, in the order of the table and without others between; prints their number.
intact() {
    awk -F '\t' -v name="${3-pair}" 'FNR == 1 { file++; if (file == 1) for (i = 1; i <= NF; i++) if ($i == name) column = i; next }
        file == 1 { pair[FNR - 2] = $column; next }
        pair[$2] == "" { last = ""; next }
        { here = $1 SUBSEP pair[$2]
          if (pair[$2] == last && block == $1) { if ($2 < before) { print "order" ; exit } }
          else if (pair[$2] in seen) { print "apart: " pair[$2]; exit }
          seen[pair[$2]]; last = pair[$2]; block = $1; before = $2 }
        END { n = 0; for (p in seen) n++; print n }' "$1" "$2"
}

# rows DIR: the pairs in the blocks of a dataset that lack one of their two sequences, and how many have both.
rows() {
    awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) { if ($i == "pair") p = i; if ($i == "status") s = i }; next }
        $s == "ok" && $p != "" { n[$p]++ } END { for (v in n) if (n[v] == 2) whole++; else print "broken: " v; print whole + 0 }' "$1/sequences.tsv"
}

number() { sed -n "s/^ *\"$2\": \([-0-9.e]*\),*$/\1/p" "$1"; }

test_bundles_share_a_block() {
    pairs 300
    for options in '' '--seed 3' '--world-size 4 --batch-size 2' '--world-size 4 --cost 1,0.01' '--max-sequences 8' '--order keep' '--align 16' \
        '--remainder pad --world-size 16' '--fill paper' '--max-column chosen=4' '--spare 2%'; do
        expect 0 bload plan -q -T 1024 pairs --together pair $options -o plan.tsv
        is "$(intact pairs plan.tsv)" 300
    done
    expect 0 bload plan -T 1024 pairs --together pair --report report -o plan.tsv
    awk "BEGIN { exit !($(number report efficiency) >= 0.99 || $(number report gap) == 0) }" || fail 'neither full nor at the bound'
    is "$(number report bundles) $(number report bundles_split) $(number report bundle_pairs)" '300 0 300'
    expect 0 bload plan -q -T 1024 pairs --together pair --epochs 3 -o epoch.tsv
    for k in 1 2 3; do is "$(intact pairs epoch-0000$k.tsv)" 300; done
    given plan.yaml 'T: 1024\ntogether: pair\n' expect 0 bload plan -q -c plan.yaml pairs -o again.tsv
    cmp -s plan.tsv again.tsv || fail 'the YAML key gives another plan'
    expect 0 bload compare -T 1024 pairs --together pair
    is "$(grep -c . "$OUT")" 6
}

test_bundles_that_are_too_long() {
    printf 'id\tlength\trepo\na\t6\tx\nb\t5\tx\nc\t4\tx\nd\t5\tx\ne\t3\ty\nf\t12\tz\ng\t2\tz\n' >table
    expect 1 bload plan -T 12 table --together repo
    err_is <<<'bload: plan: repo "x" has 20 steps in 4 sequences, from a (sequence 0) on, more than 12 (too long: 2): use a larger T, or --oversize split or drop'
    expect 1 bload plan -T 30 table --together repo --max-sequences 3 :err 'repo "x" has 4 sequences in 4 sequences'
    expect 0 bload plan -T 12 table --together repo --oversize split --report report -o plan.tsv :err 'split 2 bundles'
    is "$(number report bundles) $(number report bundles_split)" '2 2'
    expect 0 bload plan -T 12 table --together repo --oversize drop -o plan.tsv :err 'dropped 6 sequences'
    is "$(cut -f 2 plan.tsv | tail -n +2 | tr '\n' ' ')" '4 '
    expect 2 bload plan -T 12 table --together repo --oversize truncate :err '--together and --oversize truncate exclude each other'
}

test_wrong_columns_and_options() {
    pairs 5
    expect 2 bload plan -T 1024 pairs --together colour :err 'pairs:1: no column "colour" for --together'
    expect 2 bload plan -T 9000 pairs --together chosen --group-by pair :err 'shall share a block by --together, but their groups differ'
    echo 5 >lengths
    expect 2 bload plan -T 20 --lengths lengths --together pair :err 'a plain list has no columns'
    expect 2 bload plan -T 1024 pairs --together pair --strategy naive :err '--together has no effect without --strategy block'
    expect 2 bload plan -T 1024 pairs --together pair --strategy store :err '--together has no meaning in a store'
    expect 2 bload plan -T 1024 pairs --together pair --max-sequences 4 --fill paper :err '--together with --max-sequences needs --fill optimal'
}

test_a_dataset_keeps_its_bundles() {
    documents
    local keep='--tokenizer bytes --keep pair,chosen:number'
    expect 0 bload pack -q documents.jsonl $keep --together pair -T 128 -o d :verified
    is "$(rows d)" 90
    expect 0 bload info d :out 'together    90 bundles by pair'
    expect 0 bload info --json d :out '"together": "pair"' '"bundles": 90'
    expect 0 bload pack documents.jsonl $keep --together pair -T 128 -o d :err 'already complete'
    expect 2 bload pack documents.jsonl $keep -T 128 -o d :err 'together'
    expect 2 bload pack documents.jsonl $keep --together colour -T 128 -o e :err 'colour' :none e
    # The plans of later epochs, and views.
    expect 0 bload plan -q --dataset d --epochs 3
    expect 0 bload verify -q d
    expect 0 bload view -q d -T 300 --together pair --epochs 2 -o v
    expect 0 bload info v :out 'together    90 bundles by pair'
    expect 0 bload pack -q v -o p :verified
    expect 0 bload info p :out 'together    90 bundles by pair'
    expect 2 bload view d --levels 64,128 --together pair -o l :err '--together or --levels, not both'
}

test_plans_of_files_must_keep_the_bundles() {
    documents
    expect 0 bload scan -q documents.jsonl --tokenizer bytes --keep pair,chosen:number -o table
    expect 0 bload plan -q -T 128 table --together pair -o together.safetensors
    expect 0 bload plan -q -T 128 table -o alone.tsv
    expect 0 bload plan -q -T 128 table -o alone.safetensors
    local given='--sequences table --tokenizer bytes --keep pair,chosen:number -T 128'
    expect 0 bload pack -q $given --plan together.safetensors --together pair -o d :verified
    expect 0 bload info d :out 'together    90 bundles by pair'
    expect 2 bload pack $given --plan together.safetensors -o e :err 'was made with --together pair: give the same --together'
    expect 2 bload pack $given --plan alone.safetensors --together pair -o f :err 'the 2 sequences of a bundle, from sequence 0 on, do not share a block'
    expect 2 bload pack $given --plan alone.tsv --together pair -o g :err 'alone.tsv: --together pair: the 2 sequences of a bundle'
}

test_parts_and_shares_take_whole_bundles() {
    documents
    local pack='bload pack -q documents.jsonl --tokenizer bytes --keep pair,chosen:number --together pair -T 128'
    for subset in '--split train=70%,val=30% --take val' '--split train=70%,val=30% --take train' '--share 40%' '--first 17'; do
        rm -rf d
        expect 0 $pack $subset -o d
        [[ $(rows d) != *broken* && $(rows d) -gt 10 && $(rows d) -lt 90 ]] || fail "$subset: $(rows d)"
    done
    expect 0 bload pack -q documents.jsonl --tokenizer bytes --keep pair,chosen:number --store -o store
    expect 0 bload view -q store -T 128 --together pair --split train=70%,val=30% --take val -o v
    expect 2 $pack --split a=50%,b=50% --split-by id --take a -o e :err 'are in several parts, such as' '--split-by pair'
    # A pair of which a dataset has only one text.
    head -n 100 documents.jsonl >some.jsonl
    tail -n +101 documents.jsonl >rest.jsonl
    expect 0 bload pack -q some.jsonl --tokenizer bytes --keep pair,chosen:number -T 128 -o some
    expect 2 bload pack some.jsonl rest.jsonl --tokenizer bytes --keep pair,chosen:number --together pair -T 128 --extend some -o more :err \
        'a dataset of --extend holds some sequences with'
    grep -v '"pair": "p[0-9]"' some.jsonl >old.jsonl
    sed 's/"pair": "p/"pair": "q/' rest.jsonl >new.jsonl
    expect 0 bload pack -q old.jsonl --tokenizer bytes --keep pair,chosen:number --together pair -T 128 -o old
    expect 0 bload pack -q old.jsonl new.jsonl --tokenizer bytes --keep pair,chosen:number --together pair -T 128 --extend old -o added :verified
}
