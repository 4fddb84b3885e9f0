# Equal cost on every rank: --cost, --accumulate, --sync, and what is reported.
# shellcheck shell=bash disable=SC2317,SC2086

# number FILE WORD: a number of a report.
number() { sed -n "s/^ *\"$2\": \([-0-9.e]*\),*$/\1/p" "$1"; }

# holds EXPRESSION: an awk condition.
holds() { awk "BEGIN { exit !($1) }" || fail "not so: $1"; }

# Lengths up to a quarter of 4096, most of them short.
lengths() { awk 'BEGIN { srand(5); for (i = 0; i < 20000; i++) print 1 + int(1023 * rand() ^ 4) }'; }

test_blocks_cost_alike() {
    lengths >lengths
    for options in '' '--batch-size 2' '--accumulate 4' '--accumulate 4 --sync step'; do
        expect 0 bload plan -q -T 4096 --lengths lengths --world-size 8 --cost 0,1 $options --report report -o plan.tsv
        holds "$(number report imbalance) <= 0.01 && $(number report imbalance_before) > 0.01"
        holds "$(number report highest_block_cost) <= 1.05 && $(number report imbalance_bound) <= $(number report imbalance)"
        holds "$(number report ks_distance) <= 1.15 * $(number report ks_distance_random)"
        holds "$(number report cost_correlation) < 0.2"
    done
    holds "$(number report blocks) <= 1.001 * $(number report lower_bound) + 32 && $(number report blocks) % 32 == 0"
}

# The report by the plan's own table: costs of ranks in every step, added up here.
test_what_is_lost_is_what_the_table_shows() {
    lengths >lengths
    expect 0 bload plan -q -T 4096 --lengths lengths --world-size 4 --cost 100,2 --balance none --report report -o plan.tsv
    awk -F '\t' 'NR > 1 { cost[$1] += 2 * $4 * $4; if ($1 + 1 > n) n = $1 + 1 }
        END {
            for (b = 0; b < n; b++) {
                c = cost[b] + 100 * 4096
                sum += c
                if (b % 4 == 0 || c > most) most = c
                if (b % 4 == 3) highest += most
            }
            print highest * 4 / sum - 1
        }' plan.tsv >lost
    holds "$(cat lost) - $(number report imbalance) < 1e-5 && $(number report imbalance) - $(cat lost) < 1e-5"
    is "$(number report imbalance)" "$(number report imbalance_before)"
}

test_costs_from_a_column() {
    awk 'BEGIN { print "id\tlength\tflops"; srand(7); for (i = 0; i < 4000; i++) printf "%d\t%d\t%g\n", i, 1 + int(40 * rand()), rand() ^ 3 }' >table
    expect 0 bload plan -q -T 400 table --world-size 4 --cost flops --report report -o plan.tsv
    holds "$(number report imbalance) <= 0.01 && $(number report imbalance_before) > 0.05"
    sed '3s/[^\t]*$/0/' table >zero
    expect 0 bload plan -q -T 400 zero --world-size 4 --cost flops -o plan.tsv
    for bad in -1 nan inf x '' 1e999 ' 1'; do
        sed "3s/[^\t]*\$/$bad/" table >bad
        expect 2 bload plan -q -T 400 bad --world-size 4 --cost flops -o plan.tsv
        err_is <<<"bload: plan: bad:3: the flops is \"$bad\": --cost needs a column of numbers of at least 0"
    done
    expect 2 bload plan -q -T 400 table --world-size 4 --cost price -o plan.tsv :err-is 'bload: plan: table:1: no column "price" for --cost'
    sed 's/[^\t]*$/0/; 1s/0$/flops/' table >free
    expect 2 bload plan -q -T 400 free --world-size 4 --cost flops -o plan.tsv :err-is 'bload: plan: no block costs anything: all costs are 0'
}

test_impossible_costs_are_refused() {
    seq 1 50 >lengths
    for bad in -1,1 1,-1 nan,1 1,inf 0,0 '1,' 1,x ''; do
        expect 2 bload plan -q -T 100 --lengths lengths --world-size 2 --cost "$bad" -o plan.tsv :err '--cost expects two numbers of at least 0, not both 0'
    done
    expect 2 bload plan -q -T 100 --lengths lengths --world-size 2 --cost flops -o plan.tsv :err '--cost flops needs a table'
    expect 2 bload plan -q -T 100 --lengths lengths --world-size 2 --balance cost -o plan.tsv :err '--balance cost needs --cost'
    expect 2 bload plan -q -T 100 --lengths lengths --world-size 2 --balance quadratic --cost 1,1 -o plan.tsv :err '--balance quadratic is --cost 0,1'
    expect 2 bload plan -q -T 100 --lengths lengths --world-size 2 --order keep --cost 1,1 -o plan.tsv :err '--order keep excludes --balance and --cost'
    expect 0 bload plan -q -T 100 --lengths lengths --world-size 2 --order keep --cost 1,1 --balance none -o plan.tsv
}

# Only by a cost that the user gave.
test_imbalance_is_printed() {
    lengths >lengths
    expect 0 bload plan -T 4096 --lengths lengths --world-size 8 --cost 0,1 -o plan.tsv :err 'by the given cost, ranks idle 0.' '(proven minimum: 0.'
    expect 0 bload plan -T 4096 --lengths lengths --world-size 8 -o plan.tsv :err-lacks 'idle' 'cost'
    expect 0 bload compare -T 4096 --lengths lengths --world-size 8 --cost 0,1 :out 'imbalance' :err 'lengths: p50 '
    expect 0 bload compare -T 4096 --lengths lengths --world-size 8 --cost 0,1 --json :out '"imbalance_bound"'
}

# The plans of a dataset's epochs, by costs and by a column, in its own blocks.
test_epochs_of_a_dataset_cost_alike() {
    mkdir texts
    awk 'BEGIN { srand(3); for (i = 0; i < 600; i++) { printf "{\"text\": \""; n = 1 + int(120 * rand() ^ 3); for (k = 0; k < n; k++) printf "a"; print "\"}" } }' >texts/a.jsonl
    expect 0 bload pack -q texts --tokenizer bytes -T 480 --world-size 4 --cost 0,1 -o data
    expect 0 bload info data :out 'imbalance   0.'
    expect 0 bload plan -q --dataset data --epochs 2 --cost 0,1 :verified data
    expect 0 bload plan -q --dataset data --epochs 2 --cost 0,1
    expect 2 bload plan -q --dataset data --epochs 2 --cost 1,0 :err 'another --seed, --balance, --cost'
    expect 0 bload plan -q --dataset data --epochs 0
    expect 0 bload plan -q --dataset data --epochs 2 --cost length :verified data
    expect 2 bload plan -q --dataset data --epochs 3 --cost price :err 'no column "price" for --cost'
    expect 2 bload pack -q texts --tokenizer bytes -T 480 --world-size 4 --cost price -o other :err '--cost price: the scan has no such column'
}
