# bload report: the page has what info and compare say, and is well-formed.
# shellcheck shell=bash disable=SC2317

# paged PATH WORD...: makes page.html and checks it with page.py, which compares it with JSON in files that are named.
paged() {
    local path=$1
    shift
    expect 0 bload report "$path" -o page.html :out-is '' :err-is ''
    python3 "$BLOAD_ROOT/tests/cli/page.py" page.html "$@" || fail "$path"
}

# A dataset of lines, of which some are longer than T.
lines_packed() {
    awk 'BEGIN { for (i = 1; i <= 300; i++) { s = ""; for (k = 0; k < (i * 37) % 60 + 1; k++) s = s "x"; print s } }' >lines.txt
    expect 0 bload pack -q lines.txt --tokenizer bytes --documents line -T "$1" --oversize split --world-size 2 --seed 3 -o "$2"
}

test_numbers_are_those_of_info_and_compare() {
    lines_packed 64 d
    bload info --json d >info.json
    bload compare --json -T 64 --world-size 2 --seed 3 d/sequences.tsv >compare.json
    paged d info.json compare.json
    is dataset "$(grep -o '>dataset<' page.html | tr -d '<>')"
    lines_packed 40 cut
    bload info --json cut >info.json
    bload compare --json -T 40 --oversize split --world-size 2 --seed 3 cut/sequences.tsv >compare.json
    paged cut info.json compare.json
    grep -q '^oversize: split$' page.html || fail 'no configuration'
}

# Files that released software wrote: videos, of which some are damaged, one is none, and one is left out.
test_media() {
    mkdir v v/more
    cp "$(fixture h264-30.mp4)" "$(fixture mpeg4-40.avi)" "$(fixture damaged-30.mp4)" v
    cp "$(fixture ffv1-9.mkv)" "$(fixture h264-1.mp4)" v/more
    given v/text.mp4 'text\n' expect 3 bload pack -q v --size 16x16 --fps 30 --where 'length > 1' -T longest -o d
    bload info --json d >info.json
    paged d info.json
    grep -qF '<td class="w">left out by --where length &gt; 1</td>' page.html || fail 'not dropped'
    grep -qF 'fps=30</td>' page.html || fail 'no sampling'
}

test_views() {
    lines_packed 50 other
    lines_packed 64 d
    expect 0 bload view d other -T 128 -o both
    expect 0 bload view d -T 128 -o v
    for view in v both; do
        bload info --json $view >info.json
        paged $view info.json
        grep -q '>view<' page.html || fail 'not a view'
        grep -qF 'Not compared: a view' page.html || fail 'compared'
    done
}

test_other_strategies() {
    seq 3 60 | awk '{ s = ""; for (k = 0; k < $1; k++) s = s "x"; print s }' >lines.txt
    for strategy in naive sample mix store; do
        expect 0 bload pack -q lines.txt --tokenizer bytes --documents line -T 70 --strategy $strategy -o $strategy
        bload info --json $strategy >info.json
        paged $strategy info.json
    done
}

test_tables() {
    { printf 'id\tlength\n'; seq 1 200 | awk '{ print "s" $1 "\t" $1 % 37 + 1 }'; } >t.tsv
    bload compare --json -T longest t.tsv >compare.json
    paged t.tsv compare.json
    grep -q '>table of sequences<' page.html || fail 'not a table'
    # Nothing to plan, but something to say.
    printf 'id\tlength\tstatus\treason\na\t0\tskipped\tno video stream\n' >none.tsv
    paged none.tsv
    grep -qF '<td class="w">no video stream</td>' page.html || fail 'no reason'
}

test_fill_of_blocks() {
    given lines.txt '1234567890\n1234567890\n123456\n' expect 0 bload pack -q lines.txt --tokenizer bytes --documents line -T 10 -o d
    for path in d d/sequences.tsv; do
        paged $path
        grep -qF ': full: 2; 60–65 %: 1.</desc>' page.html || fail "$path"
    done
}

test_reasons_are_grouped() {
    {
        printf 'id\tlength\tpath\tstatus\treason\nok\t5\tf/ok\tok\t\n'
        seq 1 500 | awk '{ print "f/" $1 "\t0\tf/" $1 "\tskipped\th264 packet " $1 " at " $1 ".5 s of " $1 "x" $1 " is damaged" }'
        printf 'd\t3\tg/d\tok\tdamaged at 7\ne\t0\tg/e\tdropped\tleft out by --where\n'
    } >t.tsv
    paged t.tsv
    python3 "$BLOAD_ROOT/tests/cli/page.py" page.html 'skipped|h264 packet N at N s of NxN is damaged|500|f/1: h264 packet 1 at 1.5 s of 1x1 is damagedf/2: h264 packet 2 at 2.5 s of 2x2 is damagedf/3: h264 packet 3 at 3.5 s of 3x3 is damaged' \
        'damaged|damaged at N|1|d: damaged at 7' 'dropped|left out by --where|1|e' 'f|501|5|-' 'g|2|3|-'
    grep -qF '500 inputs skipped, 1 damaged; 1 dropped by request, 0 empty.' page.html || fail 'counts'
}

test_long_sequences_have_room() {
    printf 'id\tlength\na\t2000000000\nb\t5\n' >t.tsv
    paged t.tsv
    grep -qF '>to 2,000,000,000</text>' page.html || fail 'a label'
}

test_names_cannot_do_harm() {
    {
        printf 'id\tlength\tkind\tpath\tstatus\treason\n'
        printf '<script>alert(1)</script>\t0\t\t</td><b onclick="x">/a\tskipped\t<img src="http://x">&\\xff\n'
        printf 'b\t4\t<i>\t"<&>\\xff\x01\xe2\x80\xae/b\tok\t\n'
    } >'t<&".tsv'
    paged 't<&".tsv' 'skipped|<img src="http://x">&\xFF|1|<script>alert(1)</script>' '"<&>\xFF??|1|4|-'
    is 0 "$(grep -c -e '<script' -e '<img' -e '<b ' -e '<i>' page.html)"
}

test_long_texts_are_cut() {
    awk 'BEGIN { for (i = 0; i < 2000; i++) s = s "é&"; print "id\tlength\tkind\tpath\tstatus\treason"
        for (i = 0; i < 100; i++) print i s "\t0\t" s "\t" i s "/f\tskipped\t" sprintf("%c", 65 + i % 26) s "7"; print "ok" s "\t3\t" s i "\tp" s "\tok\t" }' >t.tsv
    paged t.tsv
    [ "$(stat -c %s page.html)" -lt 300000 ] || fail 'large'
    grep -qF '…</td><td class="n">4</td>' page.html || fail 'not cut'
}

# Bounded, however many sequences and folders.
test_large_tables() {
    awk 'BEGIN { print "id\tlength\tpath\tstatus\treason"
        for (i = 0; i < 300000; i++) print i "\t" 1 + (i * 7919) % 500 "\td" i "/v\tok\t"
        for (j = 0; j < 100000; j++) { s = j; name = ""; do { name = sprintf("%c", 97 + s % 10) name; s = int(s / 10) } while (s)
            print "x" j "\t0\td/x\tskipped\t" name } }' >t.tsv
    paged t.tsv
    [ "$(stat -c %s page.html)" -lt 100000 ] || fail 'large'
    grep -qF '<p>At least 65,512 folders more, with' page.html || fail 'folders'
    grep -qF '<p>At least 65,487 reasons more, with' page.html || fail 'reasons'
}

test_what_is_refused() {
    lines_packed 64 d
    expect 0 bload pack -q lines.txt --tokenizer bytes --documents line -T 64 -o part --task 0/2
    expect 1 bload report part -o page.html :err-is 'bload: report: part is not finished: bload status part says how far it is'
    mkdir empty
    expect 1 bload report empty -o page.html :err-is 'bload: report: empty is not a finished dataset: it has no manifest.json'
    expect 0 bload export -q d --to mds -o e
    expect 1 bload report e -o page.html :err-is 'bload: report: e is an export: bload info describes it; name its dataset'
    expect 2 bload report :err-is 'bload: report: expects one dataset, view or table (see bload report --help)'
    expect 2 bload report - </dev/null :err-is 'bload: report: the table is read twice, so it cannot be -: name a file'
    expect 1 bload report lines.txt -o page.html :err 'lines.txt'
    expect 2 bload report d -o empty :err 'empty is a directory' :none page.html
}

test_where_it_goes() {
    lines_packed 64 d
    expect 0 bload report d -o page.html
    expect 0 bload report d :out-as page.html
    expect 1 bload report d -o /dev/full :err 'cannot write /dev/full: No space left on device'
    expect 1 sh -c '"$BLOAD" report d >/dev/full' :err 'No space left on device'
}

# What each rank gets, by the plan table of the same blocks: rank r has every second block, in steps of two blocks.
test_each_rank_has_a_row() {
    lines_packed 64 d
    expect 0 bload report d -o page.html
    bload plan -q -T 64 --oversize split --world-size 2 --seed 3 d/sequences.tsv -o plan.tsv
    python3 - page.html plan.tsv <<'END'
import csv, html, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
table = re.search(r"Ranks by step of training.*?</table>(.*?)</p>", page, re.S)
rows = [[html.unescape(re.sub("<.*?>", "", c)) for c in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", table.group(0), re.S)]
rows = [row for row in rows if row and row[0].isdigit()]
blocks = {}
for row in csv.DictReader(open(sys.argv[2]), delimiter="\t"):
    blocks.setdefault(int(row["block"]), []).append(int(row["length"]))
order = [blocks[b] for b in sorted(blocks)]
assert len(rows) == 2 and len(order) % 2 == 0, (rows, len(order))
costs = [[sum(n * n for n in b) for b in order[r::2]] for r in (0, 1)]
mean = sum(map(sum, costs)) / len(order)
for r in (0, 1):
    mine = order[r::2]
    def text(values):
        return f"{min(values):,} – {sum(values) / len(values):.1f} – {max(values):,}"
    expected = [str(r), text([len(b) for b in mine]), text([sum(b) for b in mine]),
                f"{sum(costs[r]) / len(mine) / mean:.3f}", f"{max(costs[r]) / mean:.3f}"]
    assert rows[r] == expected, (rows[r], expected)
lost = sum(max(a, b) for a, b in zip(*costs)) / sum((a + b) / 2 for a, b in zip(*costs)) - 1
assert f"costs {100 * lost:.2f} % more" in table.group(1), (table.group(1), lost)
END
    expect 0 bload pack -q lines.txt --tokenizer bytes --documents line -T 64 -o one
    expect 0 bload report one -o page.html
    ! grep -q 'Ranks by step' page.html || fail 'ranks where there is one'
}

# lost_of DIR: the lines of bload info, and the rows of its report, about what is in no block or in parts.
lost_of() {
    bload info "$1" | grep -E '^(lost|split|left out) ' | tr -s ' '
    bload report "$1" -o page.html
    python3 - page.html <<'END'
import re, sys
rows = re.findall(r"<tr><th[^>]*>(deleted|cut|split into parts|dropped|left out by request)</th><td[^>]*>([^<]*)", open(sys.argv[1]).read().split("<h2>Efficiency</h2>")[1].split("</table>")[0])
print(", ".join(f"{name} {value.split()[0]}" for name, value in rows))
END
}

# Lost is what is in no block.
test_what_is_in_blocks_is_not_lost() {
    put old.txt '1234567890123\n12345\n123\n' new.txt '1\n'
    expect 0 bload pack -q old.txt --tokenizer bytes --documents line -T 10 --oversize split -o d
    is "split 1 sequence is in parts
deleted 0, split into parts 1, dropped 0, left out by request 0" "$(lost_of d)"
    expect 0 bload pack -q old.txt new.txt --extend d --tokenizer bytes --documents line -T 10 -o new
    is "left out 3 sequences by request: --extend 3
deleted 0, cut 0, dropped 0, left out by request 3" "$(lost_of new)"
    is "3 3" "$(bload info --json new | word dropped) $(bload info --json new | word left_out)"
    expect 0 bload view -q d new -T 13 -o all
    is "deleted 0, cut 0, dropped 0, left out by request 0" "$(lost_of all)"
    is "0 0" "$(bload info --json all | word dropped) $(bload info --json all | word left_out)"
    expect 0 bload view -q d new -T 5 --oversize drop -o some
    is "lost 13 steps deleted, 1 sequence dropped
deleted 13, cut 0, dropped 1, left out by request 0" "$(lost_of some)"
    expect 0 bload pack -q old.txt --tokenizer bytes --documents line -T 10 --oversize truncate -o cut
    is "lost 3 steps deleted, 1 sequence cut
deleted 3, cut 1, dropped 0, left out by request 0" "$(lost_of cut)"
    expect 0 bload pack -q old.txt --tokenizer bytes --documents line -T 10 --where 'length < 13' -o few
    is "left out 1 sequence by request: --where 1
deleted 0, cut 0, dropped 0, left out by request 1" "$(lost_of few)"
}
