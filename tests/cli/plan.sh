# bload plan and bload compare: the plan as a table, the counts, and what is refused.
# shellcheck shell=bash disable=SC2317,SC2086

lengths() { printf '%s\n' "$@" >lengths; }

test_a_small_plan() {
    given lengths '3\n2 2\n' expect 0 bload plan -T 5 --lengths lengths
    err_is <<'END'
bload: 3 sequences of 7 steps (longest 3) in 2 blocks
bload: T = 5, at most 2 sequences in a block; lower bound 2 blocks, so the plan is optimal
bload: padding 3 steps (efficiency 70.00 %); naive padding would take 2 steps
bload: pair repeat rate 100.00 % under the next seed (random blocks: 33.33 %); --spare lowers it
END
    is 'block	sequence	start	length	source_start' "$(head -n 1 "$OUT")"
    is '0 1 2' "$(field sequence <"$OUT" | sort | xargs)"
    is '2 2 3' "$(field length <"$OUT" | sort | xargs)"
}

# Nothing twice, nothing lost, no block over T, pieces one after the other from step 0.
check_plan() {
    awk -F '\t' -v T="$1" -v steps="$2" '
        BEGIN { block = -1 }
        NR == 1 { next }
        $1 != block { if ($1 != block + 1) wrong("block"); block = $1; end = 0 }
        $3 != end { wrong("start") }
        { end += $4; placed += $4; if (end > T) wrong("over T") }
        END { if (placed != steps) wrong("placed " placed); exit bad }
        function wrong(what) { print "row " NR ": " what; bad = 1 }' "$OUT"
}

test_plans_hold_for_every_strategy() {
    seq 1 400 >lengths
    for strategy in 'block' 'block --fill paper' 'naive'; do
        expect 0 bload plan -q -T 400 --lengths lengths --strategy $strategy --seed 3
        check_plan 400 80200 || fail "$strategy"
        is 400 "$(field sequence <"$OUT" | sort -n | uniq | wc -l)"
    done
    expect 0 bload plan -q -T 90 --lengths lengths --oversize split
    check_plan 90 80200
    expect 0 bload plan -q -T 90 --lengths lengths --oversize truncate
    check_plan 90 $((90 * 91 / 2 + 310 * 90))
    expect 0 bload plan -q -T 90 --lengths lengths --oversize drop
    check_plan 90 $((90 * 91 / 2))
}

test_too_long_sequences_are_never_silent() {
    lengths 3 9 2
    expect 1 bload plan -T 5 --lengths lengths :out-is '' :err 'sequence 1 has 9 steps, more than T = 5'
    expect 0 bload plan -T 5 --lengths lengths --oversize split :err 'cut 1 sequence'
    is '0 5' "$(awk -F '\t' '$2 == 1 { print $5 }' "$OUT" | sort -n | xargs)"
    expect 0 bload plan -T 5 --lengths lengths --oversize truncate :err 'deleted 4 steps; cut 1 sequence'
    expect 0 bload plan -T 5 --lengths lengths --oversize drop :err 'deleted 9 steps; dropped 1 sequence'
}

# Each piece but the first begins so many steps before the end of the one before; all else is there once.
test_pieces_that_overlap() {
    seq 1 60 >lengths
    for more in '' '--align 4' '--fill paper --world-size 3' '--strategy naive' '--order keep --max-sequences 2' '--overlap 15'; do
        expect 0 bload plan -T 16 --oversize split --overlap 5 $more --lengths lengths --report r.json
        N=$(word overlap <r.json) python3 - "$OUT" <<'END'
import os, sys
T, overlap, found = 16, int(os.environ["N"]), {}
for line in list(open(sys.argv[1]))[1:]:
    block, sequence, start, length, first = map(int, line.split("\t"))
    found.setdefault(sequence, []).append((first, length))
for k in range(60):
    due, first = [(0, min(T, k + 1))], 0
    while first + T < k + 1:
        first += T - overlap
        due.append((first, min(T, k + 1 - first)))
    assert sorted(found[k]) == due, (k, found[k], due)
END
        is $(($(word blocks <r.json) * 16)) $(($(word steps <r.json) - $(word deleted <r.json) + $(word repeated <r.json) + $(word padding <r.json)))
        err_has "repeated $(word repeated <r.json | sed ':a; s/\([0-9]\)\([0-9]\{3\}\)\($\|,\)/\1,\2\3/; ta') steps"
    done
    expect 0 bload plan -q -T 16 --oversize split --lengths lengths --report r.json -o apart.tsv
    grep -q 'overlap\|repeated' r.json && fail 'words of an overlap that there is not'
    expect 0 bload plan -q -T 16 --oversize split --overlap 0 --lengths lengths :out-as apart.tsv
    expect 0 bload compare -T 16 --oversize split --overlap 5 --lengths lengths
    is 'repeated 550 0 0 550 550' "$(awk '{ print $NF }' "$OUT" | xargs)"
    while IFS='|' read -r options message; do expect 2 bload plan -q --oversize split $options --lengths lengths :err "$message"; done <<'END'
-T 16 --overlap 16|an overlap of 16 is not below T = 16: give a smaller one, or a larger T
-T 16 --overlap 2147483646|an overlap of 2147483646 is not below T = 16
-T 16 --overlap 2147483647|--overlap expects a number of steps from 0 to 2147483646
-T 16 --overlap=-1|--overlap expects a number of steps from 0 to 2147483646
-T 16 --overlap 99999999999999999999|--overlap expects a number of steps from 0 to 2147483646
-T 16 --overlap 1%|--overlap expects a number of steps from 0 to 2147483646
-T 16 --overlap 1s|here give a number of steps
-T longest --overlap 60|an overlap of 60 is not below T = 60
-T 16 --overlap 4 --remainder drop --world-size 2|--overlap and --remainder drop exclude each other
END
    given lengths '10000000000\n' expect 1 bload plan -q -T 100 --oversize split --overlap 99 --lengths lengths :err 'choose a larger T or a smaller overlap'
}

test_an_empty_plan_fails() {
    expect 1 bload plan -T longest --lengths /dev/null :err-is 'bload: plan: nothing to plan: all sequences are empty'
    given table.tsv 'id\tlength\tstatus\na\t5\tskipped\n' expect 1 bload plan -T longest table.tsv
}

test_seeds() {
    seq 1 200 >lengths
    expect 0 bload plan -q -T 300 --lengths lengths
    cp "$OUT" zero
    expect 0 bload plan -q -T 300 --lengths lengths --seed 0 :out-as zero
    expect 0 bload plan -q -T 300 --lengths lengths --seed 18446744073709551615
    ! cmp -s zero "$OUT" || fail 'they are alike'
}

test_tables_merge_and_columns_go_by_name() {
    printf 'id\tlength\na\t5\n' >one.tsv
    given two.tsv 'length\textra\tid\tstatus\n3\tx\tb\tok\n9\tx\tc\tskipped\n1\tx\td\tok\n' expect 0 bload plan -q -T 9 one.tsv two.tsv
    is '0 1 3' "$(field sequence <"$OUT" | sort | xargs)"
    cp "$OUT" plan.tsv
    bload plan -q -T 9 - two.tsv <one.tsv >again.tsv
    same plan.tsv again.tsv
}

# table TEXT MESSAGE: a table with this text is refused so.
refuse_table() { given table.tsv "$1" expect 1 bload plan -T 5 table.tsv :err-is "bload: plan: $2" :out-is ''; }

test_tables_that_are_none() {
    refuse_table '' 'table.tsv is empty: not a table of sequences'
    refuse_table 'id\tlength\na\t5' 'table.tsv:2: truncated: the file ends in the middle of a line'
    refuse_table 'id\tlength\na\t5\t6\n' 'table.tsv:2: 3 columns where the header has 2'
    refuse_table 'id\tlength\tstatus\na\t5\tok\nb\t5\tfine\n' 'table.tsv:3: invalid status "fine" (ok, skipped, dropped, failed)'
    refuse_table 'id\tlength\na\t99999999999999999999\n' 'table.tsv:2: invalid length "99999999999999999999" (expected an integer from 1)'
    printf 'id\tlength\na\t5\na\t4\n' >table.tsv
    expect 1 bload plan -T 5 table.tsv :err-is 'bload: plan: two sequences have the id "a": table.tsv:2 and table.tsv:3'
    printf 'id\tlength\nb\t5\nc\t5\na\t4\n' >other.tsv
    sed -i 3d table.tsv
    expect 1 bload plan -T 5 table.tsv other.tsv :err-is 'bload: plan: two sequences have the id "a": table.tsv:2 and other.tsv:4'
    expect 1 bload plan -T 5 table.tsv - <other.tsv :err-is 'bload: plan: two sequences have the same id: table.tsv:2 and standard input:4'
    given table.tsv '5\n' expect 1 bload plan -T 5 table.tsv :err 'table.tsv:1: no column "id"'
    expect 2 bload plan -T 5 absent.tsv :err-is 'bload: plan: cannot open absent.tsv: No such file or directory'
    expect 2 bload plan -T 5 . :err '. holds no unfinished dataset'
}

# refuse_list TEXT MESSAGE
refuse_list() { printf "$1" | expect 1 bload plan -T 5 --lengths - :err-is "bload: plan: standard input:$2"; }

test_lists_that_are_none() {
    refuse_list 'five\n' '1: invalid length "five" (expected an integer from 1)'
    refuse_list '5\n-1\n' '2: invalid length "-1" (expected an integer from 1)'
    refuse_list '5\n0\n' '2: invalid length "0" (expected an integer from 1)'
    refuse_list '5\n\n' '2: invalid length "" (expected an integer from 1)'
    refuse_list '5.0\n' '1: invalid length "5.0" (expected an integer from 1)'
    refuse_list '5 99999999999999999\n' '1: "5 99999999999999999" is not "length count"'
    refuse_list '99999999999999999999\n' '1: invalid length "99999999999999999999" (expected an integer from 1)'
    refuse_list '5\n\t7\n' '2: invalid length "?7" (expected an integer from 1)'
    refuse_list '5\n99' '2: truncated: the file ends in the middle of a line'
    refuse_list '5 12' '1: truncated: the file ends in the middle of a line'
    lengths 5
    expect 2 bload plan -T 5 --lengths lengths lengths :err-is 'bload: plan: tables or --lengths, not both'
}

test_output_and_report() {
    seq 1 50 >lengths
    expect 0 bload plan -q -T 60 --lengths lengths -o plan.tsv --report report.json :out-is '' :err-is ''
    is 'lengths plan.tsv report.json' "$(echo *)"
    for pair in strategy=block fill=optimal T=60 seed=0 sequences=50 steps=1275 longest=50 deleted=0 cut=0 world_size=1 batch_size=1; do
        is "$pair" "${pair%=*}=$(word "${pair%=*}" <report.json)"
    done
    blocks=$(word blocks <report.json)
    is $((blocks * 60)) $((1275 + $(word padding <report.json)))
    is "$(($(tail -n 1 plan.tsv | cut -f 1) + 1))" "$blocks"
    is "$(word gap <report.json)" $((blocks - $(word lower_bound <report.json)))
    expect 1 bload plan -q -T 60 --lengths lengths -o no/plan.tsv
    expect 1 bload plan -q -T 60 --lengths lengths --report no/report.json
}

test_a_pipe_for_output() {
    seq 1 50 >lengths
    mkfifo pipe
    cat pipe >through &
    expect 0 bload plan -q -T 60 --lengths lengths -o pipe
    wait
    is 51 "$(wc -l <through)"
    [ -p pipe ] || fail 'the pipe is gone'
    bload plan -q -T 60 --lengths lengths -o /dev/stdout >plan.tsv
    is 51 "$(wc -l <plan.tsv)"
    [ -L /dev/stdout ] || fail '/dev/stdout is no link any more'
}

test_the_papers_table() {
    list=$(shared data/lengths/action-genome-reconstructed.txt)
    expect 0 bload compare -T 94 --clip 22 --lengths "$list"
    awk '{ gsub(/,/, ""); print $1, $2, $3, $5, $6 }' "$OUT" | sed -n 2,4p >rows
    diff -u - rows <<'END'
naive - 94 534831 0
sample - 22 0 92271
mix - 22 37712 40289
END
    for seed in 0 1 2 3 99; do
        expect 0 bload compare --json -T 94 --clip 22 --seed $seed --lengths "$list"
        tr -d '\n' <"$OUT" | grep -oE '\{[^{}]*"strategy": "block"[^{}]*"fill": "paper"[^{}]*\}' >paper
        is 0 "$(word deleted <paper)"
        [ $(($(word padding <paper) * 90)) -lt 534831 ] || fail "seed $seed: padding $(word padding <paper)"
    done
    # The clip is the mean by default, which is 22 for this list.
    expect 0 bload compare -T longest --lengths "$list"
    awk '{ gsub(/,/, ""); print $1, $2, $3, $5, $6 }' "$OUT" | sed -n 2,4p | diff rows -
}

test_sixteen_million_from_a_histogram() {
    list=$(shared data/lengths/wikipedia_bert512_histogram.txt)
    expect 0 bload plan -T 512 --lengths "$list" -o plan.safetensors :err 'in 8,135,727 blocks' 'so the plan is optimal'
}

test_a_directory_is_no_table() {
    mkdir d e
    given dataset/sequences.tsv '' expect 2 bload compare dataset -T 20 :err 'dataset is a directory: name a file, such as its table, dataset/sequences.tsv'
    for wrong in 'compare d' 'compare --lengths d' 'plan d e' 'plan --lengths d'; do
        expect 2 bload $wrong -T 20 :err 'd is no table of sequences: scan it first, bload scan d -o TABLE, and name the TABLE'
    done
}

test_compare_as_json_has_the_words_of_the_report() {
    seq 1 50 >lengths
    expect 0 bload plan -q -T 60 --lengths lengths --report report.json -o plan.tsv
    expect 0 bload compare --json -T 60 --lengths lengths
    sed -n 's/^ *\("[a-z_A-Z]*"\):.*/\1/p' report.json | sort >words
    sed -n 's/^ *\("[a-z_A-Z]*"\):.*/\1/p' "$OUT" | grep -v '"rows"\|"seconds"' | sort -u | diff words -
    rows=$(grep -c '"strategy"' "$OUT")
    expect 0 bload compare -T 60 --lengths lengths
    is "$rows" "$(sed 1d "$OUT" | wc -l)"
}

# Each T has the rows that it has alone, but for the seconds; bytes are those of all blocks.
test_compare_several_T() {
    seq 1 50 >lengths
    for T in 60 50 200; do
        expect 0 bload compare -T $T --lengths lengths --json --step-bytes 10
        sed '/"seconds"/d; s/^ *//' "$OUT" | sed -n '/"strategy"/,/"pair_repeat_rate_random"/p' >>alone
        awk -F '[:,]' '/"T"/ { T = $2 } /"blocks"/ { blocks = $2 } /"bytes"/ { if ($2 != T * blocks * 10) exit 1; n++ } END { exit !n }' "$OUT"
        expect 0 bload compare -T $T --lengths lengths
        cut -c -154 "$OUT" >>texts
    done
    expect 0 bload compare -T 60,longest,200 --lengths lengths --json --step-bytes 10
    sed '/"seconds"/d; s/^ *//' "$OUT" | sed -n '/"strategy"/,/"pair_repeat_rate_random"/p' | diff alone -
    is '60 50 200' "$(sed -n 's/^      "T": \(.*\),/\1/p' "$OUT" | xargs)"
    expect 0 bload compare -T 60,longest,200 --lengths lengths
    grep -v '^T = \|^$' "$OUT" | cut -c -154 | diff texts -
    is 'T = 60 T = 50 T = 200' "$(grep '^T = ' "$OUT" | xargs)"
    expect 0 bload compare -T 50,60 --lengths lengths --step-bytes 4K :out-count 2 ' bytes$' :out ' 5.1 MiB'
    for wrong in '60,' ,60 60,x '60 70' 60,0; do expect 2 bload compare -T "$wrong" --lengths lengths; done
    expect 1 bload compare -T 60,40 --lengths lengths :err 'T = 40'
    expect 2 bload compare -T 60 --lengths lengths --step-bytes 0
    expect 2 bload plan -T 60,50 --lengths lengths -o p.tsv
}

# Prints the share of the pairs in the blocks of the first plan that share a block in the second, counted one by one.
meetings() {
    awk -F '\t' 'FNR == 1 || $2 < 0 { next }
        FNR == NR { at[$2] = $1; next }
        $1 != block { n = 0; block = $1 }
        { for (i = 0; i < n; i++) { pairs++; again += at[member[i]] == at[$2] } member[n++] = $2 }
        END { printf "%.6f\n", again / pairs }' "$2" "$1"
}

test_compare_shows_who_meets_again() {
    { seq 3 90; seq 3 70; seq 3 50; } >lengths
    for fill in optimal paper; do
        for seed in 7 8; do expect 0 bload plan -q -T 200 --fill $fill --seed $seed --lengths lengths -o $seed.tsv; done
        share=$(meetings 7.tsv 8.tsv)
        expect 0 bload compare --json -T 200 --seed 7 --lengths lengths
        tr -d '\n' <"$OUT" | grep -oE "\{[^{}]*\"fill\": \"$fill\"[^{}]*\}" >row
        is "$share" "$(printf %.6f "$(word pair_repeat_rate <row)")"
        # Of all pairs, the share that the second plan puts together.
        expected=$(awk -F '\t' 'NR > 1 { n[$1]++; all++ } END { for (b in n) sum += n[b] * (n[b] - 1)
            printf "%.6f", sum / (all * (all - 1)) }' 8.tsv)
        is "$expected" "$(printf %.6f "$(word pair_repeat_rate_random <row)")"
        expect 0 bload compare -T 200 --seed 7 --lengths lengths
        is "$(awk -v share="$share" 'BEGIN { printf "%.2f%%", 100 * share }')" "$(awk -v fill=$fill '$2 == fill { print $(NF - 1) }' "$OUT")"
    done
    is 'pair repeat' "$(head -n 1 "$OUT" | grep -o 'pair repeat')"
    is '- - -' "$(awk '$1 ~ /naive|sample|mix/ { print $(NF - 1) }' "$OUT" | xargs)"
    expect 0 bload compare --json -T 200 --lengths lengths :out-count 3 '"pair_repeat_rate": null' :out-count 3 '"pair_repeat_rate_random": null'
    expect 0 bload compare --json -T 100000 --lengths lengths
    [ "$(grep -c '"pair_repeat_rate": 1.0' "$OUT")" -ge 2 ] || fail 'not all meet again in one block'
}

# Every row of a plan keeps the block's number, an aligned start and the order in the block.
test_constraints_show_in_the_table() {
    seq 3 90 >lengths
    expect 0 bload plan -q -T 128 --lengths lengths --align 8 --max-sequences 3 --world-size 4 --batch-size 3
    awk -F '\t' 'NR > 1 { n[$1]++; if ($3 % 8 || n[$1] > 3 || $3 + $4 > 128) exit 1; last = $1 }
        END { exit (last + 1) % 12 != 0 }' "$OUT" || fail 'align, max-sequences or world-size'
    expect 0 bload plan -q -T 128 --lengths lengths --order keep --min-length 10
    is "$(seq 7 87 | xargs)" "$(field sequence <"$OUT" | xargs)"
    expect 0 bload plan -T 1000 --lengths lengths --world-size 50 --remainder pad
    is 50 "$(tail -n +2 "$OUT" | cut -f 1 | sort -u | wc -l)"
    [ "$(field sequence <"$OUT" | grep -c '^-1$')" -ge 40 ] || fail 'no empty blocks'
    expect 2 bload plan -T 1000 --lengths lengths --world-size 50 --remainder drop :err '--remainder drop leaves none'
    expect 2 bload plan -T 1000 --lengths lengths --world-size 100 :err '88 sequences cannot be spread over 100 blocks'
    expect 2 bload plan -T 100 --lengths lengths --align 101 :err 'an alignment of 101 is larger than T = 100'
    expect 2 bload plan -T 100 --lengths lengths --order keep --fill paper :err '--order keep and --fill paper exclude each other'
}

# What lies between the sequences of a block is counted, one gap after the other.
test_alignment_says_what_it_takes() {
    seq 3 90 >lengths
    expect 0 bload plan -T 128 --lengths lengths --align 8 --report report.json
    gaps=$(awk -F '\t' 'NR > 1 { if ($1 == block) gaps += $3 - end; block = $1; end = $3 + $4 } END { print gaps }' "$OUT")
    [ "$gaps" -gt 50 ] || fail "$gaps steps between sequences"
    err_has "; alignment takes $gaps"
    is "$gaps" "$(word align_padding <report.json)"
    expect 0 bload plan -T 128 --lengths lengths --report report.json
    grep -q align_padding report.json && fail 'padding of no alignment'
    true
}

# The seed decides which sequences share a block, at the same number of blocks; spare blocks are as many as was asked for.
test_seeds_put_others_together() {
    seq 1001 3 4000 >lengths
    for seed in 1 2; do
        expect 0 bload plan -q -T 20000 --lengths lengths --seed $seed --report $seed.json
        awk -F '\t' 'NR > 1 { if ($1 == block) for (i = 0; i < n; i++) print ($2 < s[i] ? $2 " " s[i] : s[i] " " $2); else { block = $1; n = 0 }
            s[n++] = $2 }' "$OUT" | sort >pairs.$seed
    done
    [ "$(comm -12 pairs.1 pairs.2 | wc -l)" -lt $(($(wc -l <pairs.1) / 50)) ] || fail 'one pair in fifty meets again'
    is "$(grep '"blocks"' 1.json)" "$(grep '"blocks"' 2.json)"
    is ' 125,' "$(grep '"blocks"' 1.json | cut -d : -f 2)"
    expect 0 bload plan -q -T 20000 --lengths lengths --spare 10% --report spare.json
    is ' 137,' "$(grep '"blocks"' spare.json | cut -d : -f 2)"
    for spare in 10 -1% 101% nan% %; do expect 2 bload plan -T 20000 --lengths lengths --spare=$spare :err 'a percentage from 0% to 100%'; done
    for other in '--fill paper' '--strategy naive' '--order keep'; do expect 2 bload plan -T 20000 --lengths lengths $other --spare 1% :err '--spare'; done
}

test_groups_never_share_a_block() {
    awk 'BEGIN { print "id\tlength\tlanguage"; for (i = 0; i < 200; i++) print i "\t" i % 17 + 1 "\t" (i % 3 ? "en" : "de") }' >table.tsv
    expect 0 bload plan -q -T 20 --group-by language table.tsv
    awk -F '\t' 'NR > 1 { g = $2 % 3 != 0; if ($1 in group && group[$1] != g) exit 1; group[$1] = g }' "$OUT" || fail mixed
    expect 1 bload plan -T 20 --group-by colour table.tsv :err 'table.tsv:1: no column "colour" to group by'
    seq 5 >lengths
    expect 2 bload plan -T 20 --group-by language --lengths lengths :err 'a plain list has no columns'
}

test_epochs_differ_in_all_but_their_size() {
    seq 1 60 >lengths
    expect 0 bload plan -q -T 64 --lengths lengths --epochs 3 --seed 5 --fill paper -o plan.tsv :none plan.tsv
    is 1 "$(for k in 1 2 3; do tail -n 1 plan-0000$k.tsv | cut -f 1; done | sort -u | wc -l)"
    cmp -s plan-00001.tsv plan-00002.tsv && fail 'the same plan twice'
    expect 0 bload plan -q -T 64 --lengths lengths --epochs 3 --seed 5 -o plan.tsv
    expect 0 bload plan -q -T 64 --lengths lengths --seed 6 :out-as plan-00002.tsv
    expect 2 bload plan -T 64 --lengths lengths --epochs 2 :err 'several plans need -o FILE'
}

test_ten_million_lengths() {
    [ "${VARIANT:-release}" = release ] || skip 'a matter of speed: only for the release'
    awk 'BEGIN { for (i = 0; i < 10000000; i++) print 1 + (i * 7919) % 500 }' >lengths
    /usr/bin/env bash -c 'ulimit -v 2000000; exec "$BLOAD" plan -q -T 500 --lengths lengths -o plan.tsv'
    is 10000001 "$(wc -l <plan.tsv)"
}
