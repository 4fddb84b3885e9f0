# Equal cost on every rank at several points of a step: --cost FIELD=ALPHA,BETA;... with fields that have steps of their own.
# shellcheck shell=bash disable=SC2317,SC2086

# number FILE WORD [N]: the N-th number of a report with this name; 1: of the whole step.
number() { sed -n "s/^ *\"$2\": \([-0-9.e]*\),*$/\1/p" "$1" | sed -n "${3-1}p"; }

# holds EXPRESSION: an awk condition.
holds() { awk "BEGIN { exit !($1) }" || fail "not so: $1"; }

# A table of 6000 sequences: tokens, and for 40 % of them pixels.
table() {
    awk 'BEGIN {
        srand(9)
        print "id\tlength\tpixels.length"
        for (i = 0; i < 6000; i++)
            printf "%d\t%d\t%d\n", i, 1 + int(1000 * rand() ^ 3), rand() < 0.6 ? 0 : 1 + int(2000 * rand() ^ 2)
    }' >table
}

joint='tokens=1,0.002;pixels=0.5,0'

# The imbalance of the whole step and of each field, added up here from the plan's own table: of 8 ranks that wait after $1 blocks.
lost() {
    awk -F '\t' -v turn="$1" 'NR == 1 { next } FNR == NR { pixels[FNR - 2] = $3; next } FNR == 1 { next }
        { tokens[$1] += 0.002 * $4 * $4; image[$1] += 0.5 * pixels[$2]; if ($1 + 1 > n) n = $1 + 1 }
        END {
            for (w = 0; w < n; w += 8 * turn) {
                most_t = most_p = 0
                for (r = 0; r < 8; r++) {
                    t = p = 0
                    for (b = w + r; b < w + 8 * turn; b += 8) { t += tokens[b] + 4096; p += image[b] }
                    sum_t += t; sum_p += p
                    if (t > most_t) most_t = t
                    if (p > most_p) most_p = p
                }
                high_t += most_t; high_p += most_p
            }
            printf "%.9f %.9f %.9f\n", (high_t + high_p) * 8 / (sum_t + sum_p) - 1, high_t * 8 / sum_t - 1, high_p * 8 / sum_p - 1
        }' table plan.tsv
}

near() { holds "$1 - $2 < 1e-5 && $2 - $1 < 1e-5"; }

test_both_points_cost_alike() {
    local options turn all tokens pixels
    table
    while IFS='|' read -r turn options; do
        expect 0 bload plan -q table -T 4096 --capacity pixels=12000 --world-size 8 --cost "$joint" $options --report report -o plan.tsv
        read -r all tokens pixels <<<"$(lost $turn)"
        near "$(number report imbalance 1)" $all
        near "$(number report imbalance 2)" $tokens
        near "$(number report imbalance 3)" $pixels
        holds "$all < 0.04 && $(number report imbalance_before) > 10 * $all"
        for i in 1 2 3; do holds "$(number report imbalance_bound $i) <= $(number report imbalance $i)"; done
        is 'tokens pixels pixels' "$(sed -n 's/.*"field": "\(.*\)".*/\1/p' report | tr '\n' ' ' | sed 's/ $//')"
        cp plan.tsv first
        expect 0 bload plan -q table -T 4096 --capacity pixels=12000 --world-size 8 --cost "$joint" $options -o plan.tsv
        cmp first plan.tsv
    done <<'END'
1|
2|--batch-size 2
1|--accumulate 2
4|--accumulate 4 --sync step
END
    # Tokens alone leave the pixels as they are; without a balance, only the measures are made.
    expect 0 bload plan -q table -T 4096 --capacity pixels=12000 --world-size 8 --cost 1,0.002 -o plan.tsv
    read -r all tokens pixels <<<"$(lost 1)"
    holds "$tokens < 0.02 && $pixels > 0.5 && $all > 0.1"
    expect 0 bload plan -q table -T 4096 --capacity pixels=12000 --world-size 8 --cost "$joint" --balance none --report report -o plan.tsv
    read -r all tokens pixels <<<"$(lost 1)"
    near "$(number report imbalance 1)" $all
    is "$(number report imbalance 3)" "$(number report imbalance_before 3)"
}

test_what_is_printed() {
    table
    expect 0 bload plan table -T 4096 --capacity pixels=12000 --world-size 8 --cost "$joint" -o plan.tsv \
        :err 'by the given cost, ranks idle ' 'ranks idle by field: tokens 0.' ', pixels ' '(minimum: 0.'
    expect 0 bload compare -q table -T 4096 --capacity pixels=12000,16000 --world-size 8 --cost "$joint" :out 'imbalance tokens' 'imbalance pixels' '(>= 0.'
    expect 0 bload compare -q table -T 4096 --capacity pixels=12000 --world-size 8 --cost "$joint" --json :out '"imbalance_by_field"'
}

# One entry of the common steps makes the plans of the form without a name, whatever it is called.
test_one_field_is_the_plain_cost() {
    local name options
    table
    sed -i '1501,$d' table # the search for a capacity makes several plans
    for options in '-T 4096 --world-size 8' '-T 4096 --world-size 4 --capacity pixels=auto'; do
        expect 0 bload plan -q table $options --cost 3,0.01 --report report -o plan.tsv
        for name in tokens T; do
            expect 0 bload plan -q table $options --cost $name=3,0.01 --report named -o named.tsv
            cmp plan.tsv named.tsv
            cmp report named
        done
    done
}

test_impossible_costs_are_refused() {
    local bad
    table
    for bad in 'tokens=-1,1' 'tokens=1,nan' 'tokens=0,0' 'tokens=1' 'tokens=1,2;' ';tokens=1,2' 'tokens=1,2;pixels' '=1,2' 'a=1,0;b=1,0;c=1,0;d=1,0;e=1,0'; do
        expect 2 bload plan -q table -T 4096 --world-size 8 --cost "$bad" -o plan.tsv :err '--cost expects two numbers of at least 0, not both 0' "not \"$bad\""
    done
    expect 2 bload plan -q table -T 4096 --world-size 8 --capacity pixels=12000 --cost "$joint;pixels=1,0" -o plan.tsv :err-is \
        'bload: plan: --cost: the field "pixels" is given twice'
    expect 2 bload plan -q table -T 4096 --world-size 8 --capacity pixels=12000 --cost 'tokens=1,0;pixel=1,0' -o plan.tsv :err-is \
        'bload: plan: --cost: neither "tokens" nor "pixel" is a field with steps of its own (--capacity): only one name can stand for the common steps'
    expect 2 bload plan -q table -T 4096 --world-size 8 --cost "$joint" -o plan.tsv :err 'is a field with steps of its own (--capacity)'
    expect 2 bload compare -q table -T 4096 --world-size 8 --cost "$joint" :err 'is a field with steps of its own (--capacity)'
    expect 2 bload plan -q table -T 4096 --strategy store --capacity pixels=12000 --cost "$joint" -o plan.tsv :err '--cost has no meaning in a store'
}

# A dataset of texts with own steps, its epochs, a view, and what is shown of them.
test_datasets_and_views() {
    awk 'BEGIN {
        srand(3)
        for (i = 0; i < 400; i++) {
            n = 1 + int(100 * rand() ^ 3); m = rand() < 0.5 ? 0 : int(60 * rand())
            printf "{\"text\": \""; for (k = 0; k < n; k++) printf "a"
            printf "\", \"note\": \""; for (k = 0; k < m; k++) printf "b"
            print "\"}"
        }
    }' >texts.jsonl
    put set.yaml 'sources: [texts.jsonl]\nkeep: note\ntokenizer: bytes\nT: 400\nworld-size: 4\ncost: tokens=1,0.1;note=2,0.05\nfields:
  - {name: note, kind: text, column: note, tokenizer: bytes, steps: own, capacity: 400}\n'
    expect 0 bload pack -q -c set.yaml -j 1 -o d :verified
    expect 0 bload pack -q -c set.yaml -j 4 -o again :same-as d :removed
    expect 0 bload info d :out 'imbalance   ' 'by the given cost (proven minimum: ' 'tokens 0.' ', note '
    grep -q '"imbalance_by_field"' d/manifest.json
    expect 0 bload report d -o page.html
    grep -q 'imbalance by field' page.html
    expect 0 bload plan -q --dataset d --epochs 2 --cost 'note=2,0.05;tokens=1,0.1' :verified d
    expect 2 bload plan -q --dataset d --epochs 3 --cost 'notes=2,0.05;tokens=1,0.1' :err '--cost: there is no field "notes"'
    expect 0 bload view -q d -T 500 --world-size 2 --cost 'T=1,0.1;note=2,0.05' -o v :verified
    expect 0 bload info v :out 'by the given cost (proven minimum: ' 'T 0.' ', note '
    expect 2 bload view -q d -T 500 --world-size 2 --cost 'text=1,0.1;note=2,0.05' -o w :err '--cost: there is no field "text"'
    sed -i 's/note=2/notes=2/' set.yaml
    expect 2 bload pack -q -c set.yaml -o e :err '--cost: neither "tokens" nor "notes" is a field with steps of its own'
    sed -i 's/^cost: .*/cost: token=1,0.1/' set.yaml
    expect 2 bload pack -q -c set.yaml -o e :err-is 'bload: pack: --cost: there is no field "token" (T stands for the steps that fields have in common)'
    [ ! -e e ] # nothing has been scanned
}
