# bload plan --plot: the picture shows what the plan has.
# shellcheck shell=bash disable=SC2317

# drawn T OPTION...: plans, draws, and compares the picture with the plan; what plot.py says is in "said".
drawn() {
    local T=$1
    shift
    expect 0 bload plan -q "$@" -o plan.tsv --plot plan.svg :out-is '' :err-is ''
    said=$(python3 "$BLOAD_ROOT/tests/cli/plot.py" plan.tsv plan.svg "$T") || fail "$*"
}

test_every_strategy_and_fill() {
    { seq 3 90; seq 1 2 31; } >lengths
    drawn 90 -T longest --lengths lengths
    drawn 90 -T 90 --fill paper --lengths lengths
    drawn 100 -T 100 --order keep --lengths lengths
    drawn 100 -T 100 --strategy naive --lengths lengths
    is '48/104 blocks' "${said%%,*}"
    drawn 22 -T 90 --strategy sample --clip 22 --lengths lengths
    drawn 22 -T 90 --strategy sample --clip 22 --clips all --lengths lengths
    drawn 22 -T 90 --strategy mix --clip 22 --lengths lengths
    drawn 64 -T 64 --strategy store --lengths lengths
    for oversize in split truncate drop; do drawn 20 -T 20 --oversize $oversize --lengths lengths; done
    drawn 128 -T 128 --align 16 --max-sequences 3 --lengths lengths
}

test_blocks_without_sequences() {
    seq 3 9 >lengths
    drawn 9 -T 9 --world-size 4 --batch-size 5 --remainder pad --lengths lengths
    grep -q '<title>block 19: 0 sequences, 0 of 9 steps</title>' plan.svg || fail 'no empty block'
    grep -q '>0\.0 %<' plan.svg || fail 'no empty block'
}

# Pieces of a cut sequence say where more of it is; plot.py has compared their colours.
test_pieces_of_one_sequence() {
    printf '25\n4\n' >lengths
    drawn 10 -T 10 --oversize split --order keep --lengths lengths
    for text in '>0…</text>' '>…0…</text>' '>…0</text>' '>1</text>' 'sequence 0; 10 steps, 10 to 19 of 25<' 'has more steps on that side'; do
        grep -qF "$text" plan.svg || fail "no $text"
    done
    printf '5\n4\n' >lengths
    drawn 10 -T 10 --lengths lengths
    grep -qF 'on that side' plan.svg && fail 'cut, though it is not'
    true
}

test_groups_and_ids() {
    printf 'id\tlength\tstatus\tlanguage\na<&">\\xff\\n]]>\t5\tok\te&n\nb\t6\tskipped\te&n\nü\x01\t4\tok\td<e\n%s\t3\tok\td<e\n' \
        "$(printf 'é/%.0s' {1..60})" >table.tsv
    drawn 20 -T 20 --group-by language table.tsv
    python3 - <<'END'
import xml.etree.ElementTree as tree
titles = [t.text for t in tree.parse("plan.svg").iter("{http://www.w3.org/2000/svg}title")]
assert 'sequence 0: a<&">\\xFF\\n]]>; 5 steps' in titles, titles
assert "sequence 2: ü?; 4 steps" in titles, titles
assert "sequence 3: …" + "/é" * 21 + "/; 3 steps" in titles, titles
assert sorted(t.split("; ")[1] for t in titles if t.startswith("block")) == ["language d<e", "language e&n"], titles
END
    drawn 20 -T 20 --group-by status table.tsv
    grep -q '; status ok</title>' plan.svg || fail 'no group of a known column'
    # What comes through a pipe cannot be read again: there are no ids.
    expect 0 bload plan -q -T 20 -o plan.tsv --plot plan.svg - <table.tsv
    grep -qF '<title>sequence 2; 4 steps</title>' plan.svg || fail 'a name'
}

# Bounded, however many sequences and whatever their names.
test_large_plans() {
    awk 'BEGIN { for (i = 0; i < 1000000; i++) print 1 + (i * 7919) % 500 }' >lengths
    drawn 512 -T 512 --lengths lengths
    drawn 65536 -T 65536 --lengths lengths
    drawn 2000000000 -T 2000000000 --lengths lengths
    is '1/1 blocks, 0 pieces alone, 1 together' "${said%,*}"
    # Marks are as many as they can be, with the longest names.
    awk 'BEGIN { for (j = 0; j < 100; j++) name = name "&"
        print "id\tlength"; for (i = 0; i < 20000; i++) print i name "\t" (i % 3 ? 1 : 3) }' >table.tsv
    drawn 420 -T 420 --order keep table.tsv
    [ "$(stat -c %s plan.svg)" -gt 1000000 ] || fail "$said"
}

test_epochs_have_a_picture_each() {
    seq 1 60 >lengths
    expect 0 bload plan -q -T 64 --lengths lengths --epochs 2 --seed 7 -o plan.tsv --plot plan.svg
    is 'lengths plan-00001.svg plan-00001.tsv plan-00002.svg plan-00002.tsv' "$(echo *)"
    for k in 1 2; do
        python3 "$BLOAD_ROOT/tests/cli/plot.py" plan-0000$k.tsv plan-0000$k.svg 64
        grep -qF "seed $((6 + k)); epoch $k of 2" plan-0000$k.svg || fail "epoch $k"
    done
    expect 2 bload plan -T 64 --lengths lengths --epochs 2 -o plan.tsv --plot - :err-is 'bload: plan: several pictures need --plot FILE'
}

test_where_it_goes() {
    seq 1 20 >lengths
    expect 0 bload plan -q -T 64 --lengths lengths -o plan.tsv --plot -
    cp "$OUT" by-stdout.svg
    expect 0 bload plan -q -T 64 --lengths lengths --plot plan.svg :out-as plan.tsv
    same plan.svg by-stdout.svg
    expect 2 bload plan -T 64 --lengths lengths --plot - :err-is 'bload: plan: --plot - needs -o FILE: else standard output has the plan'
    expect 2 bload plan -T 64 --lengths lengths -o same --plot same :err-is 'bload: plan: --plot same: another output goes there too'
    expect 2 bload plan -T 64 --lengths lengths --plot . :err '--plot . is a directory'
    expect 1 bload plan -q -T 64 --lengths lengths -o plan.tsv --plot no/plan.svg :err "cannot open the directory no"
    expect 1 bload plan -q -T 64 --lengths lengths -o plan.tsv --plot /dev/full :err 'cannot write /dev/full: No space left on device'
    expect 2 bload plan --dataset d --plot plan.svg :err '--plot does not apply to --dataset'
}
