# Columns with a maximum: --max-column, in plans, in datasets and the plans of their epochs, and what is refused.
# shellcheck shell=bash disable=SC2317,SC2086

# holds EXPRESSION: an awk condition.
holds() { awk "BEGIN { exit !($1) }" || fail "not so: $1"; }

# number FILE WORD: a number of a report.
number() { sed -n "s/^ *\"$2\": \([-0-9.e]*\),*$/\1/p" "$1"; }

# table: texts with pictures and seconds of sound.
table() {
    awk 'BEGIN { srand(9); print "id\tlength\timages\tseconds"
        for (i = 0; i < 3000; i++) printf "s%d\t%d\t%d\t%.2f\n", i, 1 + int(400 * rand()), int(4 * rand()), 5 * rand() ^ 2 }' >table
}

# sums TABLE PLAN: the highest sums of a block, of steps, images and seconds in hundredths, and the number of sequences.
sums() {
    awk -F '\t' 'FNR == 1 { file++; next }
        file == 1 { images[FNR - 2] = $3; seconds[FNR - 2] = int($4 * 100 + 0.5); next }
        $2 < 0 { next } # an empty block
        { steps[$1] += $4; i[$1] += images[$2]; s[$1] += seconds[$2]; if (!seen[$2]++) placed++ }
        END { for (b in steps) {
                if (steps[b] > a) a = steps[b]
                if (i[b] > c) c = i[b]
                if (s[b] > d) d = s[b] }
            print a, c, d, placed }' "$1" "$2"
}

test_blocks_keep_to_the_maxima() {
    table
    for options in '' '--world-size 4 --batch-size 3' '--world-size 4 --cost 1,0.01' '--group-by images' '--spare 1% --max-sequences 5' \
        '--order keep' '--align 8' '--remainder pad --world-size 16'; do
        expect 0 bload plan -q -T 2000 table --max-column images=8 --max-column seconds=12.5 $options --report report -o plan.tsv
        # shellcheck disable=SC2046
        set -- $(sums table plan.tsv)
        holds "$1 <= 2000 && $2 <= 8 && $3 <= 1250 && $4 == 3000"
        holds "$(number report filled_highest | head -n 1) == $2 / 8"
    done
    expect 0 bload plan -T 2000 table --max-column images=8,seconds=12.5 --report report -o plan.tsv :err 'images: at most 8 of 8 in a block'
    err_has 'so the plan is optimal'
    holds "$(number report blocks) == $(number report lower_bound)"
    expect 0 bload plan -q -T 2000 table --max-column images=8,seconds=12.5 --seed 1 --report other -o other.tsv
    is "$(number report blocks)" "$(number other blocks)"
    ! cmp -s plan.tsv other.tsv || fail 'two seeds, one plan'
    given plan.yaml 'T: 2000\nmax-column:\n  - images=8\n  - seconds=12.5\n' expect 0 bload plan -q -c plan.yaml table -o again.tsv
    cmp -s plan.tsv again.tsv || fail 'the YAML list gives another plan'
    expect 0 bload plan -q -T 2000 table --epochs 2 --max-column images=8 -o epoch.tsv
    expect 0 bload compare -T 2000 table --max-column images=8
    is "$(grep -c . "$OUT")" 5 # without the paper's rule
}

test_what_no_block_can_hold_is_named() {
    table
    sed '7s/[^\t]*$/12.51/; 9s/[^\t]*$/13/' table >over
    for command in 'plan -o plan.tsv' compare; do
        expect 2 bload $command -T 2000 over --max-column seconds=12.5
        err_is <<<"bload: ${command%% *}: s5 (sequence 5) alone has 12.51 seconds, more than --max-column seconds=12.5 (too much: 2)"
    done
    expect 0 bload plan -q -T 2000 over --max-column seconds=13 -o plan.tsv
    expect 2 bload plan -q -T 100 over --oversize split --max-column images=1,seconds=0.1 -o plan.tsv :err 'alone has'
    printf 'id\tlength\timages\na\t200\t4\nb\t50\t3\n' >halved
    for how in truncate split; do # the first 100 steps have half of the images
        expect 0 bload plan -q -T 100 halved --oversize $how --max-column images=3 -o plan.tsv
        expect 2 bload plan -q -T 100 halved --oversize $how --max-column images=2 -o plan.tsv
        err_is <<<'bload: plan: b (sequence 1) alone has 3 images, more than --max-column images=2 (too much: 1)'
    done
}

test_what_is_no_column_or_no_number_is_refused() {
    table
    for bad in -1 nan inf x '' 1e999 ' 1'; do
        sed "3s/[^\t]*\$/$bad/" table >bad
        expect 2 bload plan -q -T 2000 bad --max-column images=8 --max-column seconds=30 -o plan.tsv
        err_is <<<"bload: plan: bad:3: the seconds is \"$bad\": --max-column needs a column of numbers of at least 0"
    done
    expect 2 bload plan -q -T 2000 table --max-column sounds=3 -o plan.tsv :err-is 'bload: plan: table:1: no column "sounds" for --max-column'
    for bad in images images= =8 images=x images=-8 images=0 images=nan images=inf images=8x 'images=8,' ',images=8'; do
        expect 2 bload plan -q -T 2000 table --max-column "$bad" -o plan.tsv :err '--max-column expects the name of a column, = and a number above 0'
    done
    expect 2 bload plan -q -T 2000 table --max-column images=8 --max-column images=9 -o plan.tsv :err '--max-column images is given twice'
    expect 2 bload plan -q -T 2000 table --max-column images=8 --fill paper -o plan.tsv :err '--max-column has no effect without --fill optimal'
    expect 2 bload plan -q -T 2000 table --max-column images=8 --strategy naive -o plan.tsv :err '--max-column has no effect without --strategy block'
    printf 'fill: paper\nmax-column: images=8\n' >paper.yaml
    expect 2 bload plan -q -c paper.yaml -T 2000 table -o plan.tsv :err '--max-column needs --fill optimal, not paper'
    seq 1 9 >lengths
    expect 2 bload plan -q -T 20 --lengths lengths --max-column images=8 -o plan.tsv :err '--max-column images needs a table'
}

test_epochs_of_a_dataset_keep_to_the_maxima() {
    mkdir texts
    awk 'BEGIN { srand(3); for (i = 0; i < 600; i++) {
            printf "{\"images\": %d, \"text\": \"", int(4 * rand()); n = 1 + int(60 * rand()); for (k = 0; k < n; k++) printf "a"; print "\"}" } }' >texts/a.jsonl
    expect 0 bload pack -q texts --tokenizer bytes --keep images -T 200 --world-size 2 --max-column images=9 -o data :verified
    expect 0 bload info data :out 'column      images: at most 9 of 9 in a block, '
    expect 0 bload plan -q --dataset data --epochs 3 :verified data
    expect 0 bload plan --dataset data --epochs 3 :err 'nothing to do'
    python3 - data <<'END' || fail 'a block has too many images'
import json, pathlib, struct, sys
folder = pathlib.Path(sys.argv[1])
lines = (folder / "sequences.tsv").read_text().splitlines()
images = [int(line.split("\t")[lines[0].split("\t").index("images")]) for line in lines[1:]]
for path in [folder / "index.safetensors", *sorted(folder.glob("plans/*"))]:
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + size])
    def table(name):
        begin, end = head[name]["data_offsets"]
        return struct.unpack(f"<{(end - begin) // 8}q", data[8 + size + begin:8 + size + end])
    block_ptr, sequence = table("block_ptr"), table("sequence")
    assert len(sequence) == 600
    sums = [sum(images[i] for i in sequence[a:b]) for a, b in zip(block_ptr, block_ptr[1:])]
    assert max(sums) <= 9, (path, max(sums))
assert json.loads((folder / "manifest.json").read_text())["max_column"][0]["max"] == 9
END
    expect 2 bload plan -q --dataset data --epochs 3 --max-column images=10 :err 'does not apply to --dataset'
    expect 2 bload pack -q texts --tokenizer bytes -T 200 --max-column images=9 -o other :err '--max-column images: the scan has no such column'
    expect 2 bload pack -q texts --tokenizer bytes --keep images -T 200 --max-column images=2 -o other
    err_has 'alone has 3 images, more than --max-column images=2'
}
