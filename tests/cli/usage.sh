# Wrong usage, help, and output that cannot be written.
# shellcheck shell=bash disable=SC2317,SC2086
commands='scan plan compare pack view export show cat find finish verify info report status slurm doctor completion'

test_no_command_shows_help_and_fails() { expect 2 bload :out-is '' :err 'usage: bload COMMAND'; }

test_help() {
    expect 0 bload --help
    for command in $commands; do out_has "  $command "; done
    err_is </dev/null
    cp "$OUT" "$SCRATCH/help"
    for word in help -h 'help --help' 'help help'; do expect 0 bload $word :out-as "$SCRATCH/help"; done
    expect 2 bload help unpack :err-is 'bload: unknown command "unpack" (see bload --help)'
}

test_version_is_the_headers() {
    expect 0 bload --version
    is 2 "$(wc -l <"$OUT")"
    is "media module: $(dirname "$(readlink -f "$BLOAD")")" "$(sed -n 's|\(/build/release\)*/libbload-media-[0-9.]*so$||; 2p' "$OUT")"
    sed -i 1q "$OUT"
    out_is <<<"bload $(sed -n 's/#define BLOAD_VERSION "\(.*\)"/\1/p' "$BLOAD_ROOT/include/bload.h")"
    cp "$OUT" "$SCRATCH/version"
    expect 0 bload -V
    sed -i 1q "$OUT"
    same "$OUT" "$SCRATCH/version"
}

test_nearest_command() {
    expect 2 bload unpack :err-is 'bload: unknown command "unpack" (see bload --help)'
    expect 2 bload pakc :err-is 'bload: unknown command "pakc": did you mean pack?'
    expect 2 bload help stats :err-is 'bload: unknown command "stats": did you mean status?'
    expect 2 bload hepl :err-is 'bload: unknown command "hepl": did you mean help?'
    expect 2 bload --pack :err-is 'bload: unknown option --pack: a command comes first (see bload --help)'
    echo >file
    expect 1 bload info file :err-is 'bload: info: file is a file, not the directory of a dataset'
}

test_help_of_each_command() {
    for command in $commands; do
        expect 0 bload $command --help :err-is '' :out "usage: bload $command " '  -h  ' '      --help  '
        awk -v command=$command '/^  / && length($0) > 80 { print command ": " $0; wide = 1 } END { exit wide }' "$OUT"
        mv "$OUT" "$SCRATCH/long"
        expect 0 bload help $command :out-as "$SCRATCH/long"
        # Someone who asks for help next to a mistake wants help.
        expect 0 bload $command --help --wrong :out-as "$SCRATCH/long"
    done
}

# Each section that the help names has options of its own, and all of them together are those of the whole help.
test_sections_of_help() {
    for command in $commands; do
        expect 0 bload $command --help
        grep -oE '^ {2,6}-[A-Za-z, -]+' "$OUT" | sort >"$SCRATCH/whole"
        names=$(sed '1,/^One section: bload '$command' --help SECTION, of:$/d' "$OUT")
        [ -n "$names" ] || fail "no sections of $command"
        for section in $names; do
            expect 0 bload $command --help $section :err-is '' :out-count 1 '^[A-Z].*:$'
            cat "$OUT"
        done | grep -oE '^ {2,6}-[A-Za-z, -]+' | sort | diff "$SCRATCH/whole" -
    done
    expect 0 bload pack --help none :out 'usage: bload pack '
}

# Of each command: one screen, options that --help has too, two examples.
test_usual_help() {
    for command in $commands; do
        expect 0 bload $command -h :err-is '' :out "usage: bload $command "
        awk -v c=$command 'length($0) > 80 { print c ": " $0; wide = 1 } END { if (NR > 24) print c ": " NR " lines"; exit wide || NR > 24 }' "$OUT"
        is 2 "$(sed '1,/^examples:/d' "$OUT" | grep -c "^  bload $command ")"
        out_has "All options: bload $command --help, man bload-$command"
        sed -n 's/^  \(-.\|   \),\{0,1\} *\(--[a-z-]*\)\{0,1\}  *.*/\1 \2/p' "$OUT" >"$SCRATCH/usual"
        [ -s "$SCRATCH/usual" ] || fail "no options of $command"
        cp "$OUT" "$SCRATCH/short"
        expect 0 bload $command --help
        while read -r flag; do out_has "$flag"; done < <(grep -oE -- '--[a-z-]+' "$SCRATCH/usual")
        expect 0 bload $command -h --help :out 'General:'
        expect 0 bload $command -h --wrong :out-as "$SCRATCH/short"
    done
}

test_examples_of_usual_help_run() {
    export HOME=$PWD PATH=$PWD/bin:$PATH
    mkdir -p bin videos clips texts datasets .config/fish/completions
    ln -s "$BLOAD" bin/bload
    put bin/sbatch '#!/bin/sh\necho 7\n' bin/squeue '#!/bin/sh\n'
    chmod +x bin/*
    cp "$(fixture h264-30.mp4)" "$(fixture mpeg4-40.avi)" videos
    cp videos/*.mp4 clips
    mv videos/h264-30.mp4 videos/swim.mp4
    seq 5000 >texts/numbers.txt
    seq 5 60 >lengths.txt
    printf 'sources: [%s]\nT: longest\nsize: 32x32\n' "$PWD/videos" >dataset.yaml
    bload pack -q videos -T 60 --size 224x224 -o more
    for command in scan plan compare pack view export cat verify info report status finish slurm doctor completion; do
        if [ $command = finish ]; then
            rm -r dataset
            bload pack -q -c dataset.yaml -o dataset --task 0/1
        fi
        [ $command != slurm ] || rm -r dataset
        bload $command -h | sed -n '/^examples:/,$s/^  bload/bload/p' >"$SCRATCH/examples"
        while read -r example; do expect 0 bash -c "$example"; done <"$SCRATCH/examples"
    done
    [ -s .config/fish/completions/bload.fish ]
}

test_what_is_named_and_is_not_there_is_wrong_usage() {
    cp "$(fixture h264-1.mp4)" x.mp4
    expect 0 bload scan -q x.mp4 -o t.tsv
    put labels.yaml 'sources: [x.mp4]\nT: 9\nsize: 32x32\nfields: [{name: l, path: "l/{id}.txt", kind: labels, mapping: none}]\n'
    put intervals.yaml 'sources: [x.mp4]\nT: 9\nsize: 32x32\nfields: [{name: l, kind: intervals, annotations: none, mapping: t.tsv}]\n'
    put table.yaml 'sources: [x.mp4]\nT: 9\nsize: 32x32\nsequences: none\n' attributes.yaml 'sources: [x.mp4]\nT: 9\nsize: 32x32\nattributes: none\n'
    while read -r line; do
        expect 2 bload $line :out-is '' :none d
        grep -qE "none.*: No such file or directory(, nor is it in the cache of its library.*)?\$" "$ERR" || fail "$line: $(cat "$ERR")"
    done <<'END'
scan none
scan none/x.mp4
scan @none
scan none.yaml
scan -c none.yaml
scan x.mp4 --attributes none
scan --kind text t.tsv --tokenizer none
scan --kind text t.tsv --tokenizer none.json
scan --kind text t.tsv --tokenizer none.model
scan --kind labels --mapping none t.tsv
scan labels.yaml
scan intervals.yaml
plan none -T 9
plan t.tsv none -T 9
plan --lengths none -T 9
plan -c none.yaml -T 9
plan --dataset none
compare none -T 9
compare --lengths none -T 9
pack none -T 9 -o d
pack @none -T 9 -o d
pack -c none.yaml -T 9 -o d
pack labels.yaml -o d
pack intervals.yaml -o d
pack table.yaml -o d
pack attributes.yaml -o d
pack --sequences none -T 9 -o d
pack --sequences t.tsv --plan none -T 9 -o d
pack x.mp4 --size 32x32 --attributes none -T 9 -o d
cat none x
info none
report none
verify none
verify --task 0/2 none
status none
slurm -c none.yaml -o d --tasks 2
doctor none
END
}

test_unknown_options() {
    expect 2 bload pack --stategy block :err-is 'bload: pack: unknown option --stategy: did you mean --strategy?'
    expect 2 bload pack --world=8 :err-is 'bload: pack: unknown option --world: did you mean --world-size?'
    # of this command alone
    expect 2 bload verify --stategy block :err-is 'bload: verify: unknown option --stategy (see --help)'
    for command in $commands; do
        expect 2 bload $command --wrong :err-is "bload: $command: unknown option --wrong (see --help)" :out-is ''
        expect 2 bload $command -Z :err-is "bload: $command: unknown option -Z (see --help)"
    done
}

test_options_without_their_value() {
    expect 2 bload plan -T :err 'bload: plan: -T needs a value'
    expect 2 bload pack --size :err 'bload: pack: --size needs a value'
    expect 2 bload scan --count nothing x :err-is 'bload: scan: --count expects one of packets, decode, not "nothing"'
    expect 2 bload pack --size 0x0 x :err '--size expects width x height'
}

# The second value of a flag does not replace the first in silence; the same value again, in whatever form, does no harm.
test_options_given_twice() {
    given lengths '5\n6\n' expect 2 bload pack x --keep url --keep id -T 5 -o d
    err_is <<<'bload: pack: --keep is given twice, as "url" and as "id": give it once, with commas between: --keep url,id'
    # Of numbers, words and flags the last one counts.
    expect 0 bload plan -q --lengths lengths -T 6 -T 7 --strategy naive --strategy=block --quiet=false -q -o plan.tsv
    bload plan -q --lengths lengths -T 7 -o one.tsv
    same one.tsv plan.tsv
    expect 0 bload plan -q -q --lengths lengths -T 6 -T 6 --seed 7 --seed 7
}

test_nothing_to_work_on() {
    expect 2 bload scan :err-is 'bload: scan: no source given (see bload scan --help)'
    expect 2 bload plan -T 5 :err-is 'bload: plan: no table given: name sequences.tsv files, - or --lengths FILE'
    expect 2 bload plan --lengths - :err 'bload: plan: -T must be given'
    expect 2 bload compare --lengths - :err 'bload: compare: -T must be given'
    expect 2 bload pack -T 5 -o d :err-is 'bload: pack: no source given (see bload pack --help)'
    expect 2 bload pack . -T 5 :err-is "bload: pack: -o DIR must be given: the dataset's directory"
    expect 2 bload pack . -o d :err 'bload: pack: -T must be given'
    expect 2 bload verify
    expect 2 bload verify a b
    expect 2 bload info
    is '' "$(files .)"
}

test_a_full_disk_behind_stdout() {
    into_full() { bload "$@" >/dev/full; }
    put lengths '5\n6\n'
    for words in --help --version 'plan --help' 'plan -T 9 --lengths lengths' 'compare -T 9 --lengths lengths' \
        'plan -T 9 --lengths lengths -o /dev/full' 'plan -T 9 --lengths lengths --report /dev/full'; do
        expect 1 into_full $words :err 'cannot write'
    done
    expect 1 into_full scan "$(fixture h264-1.mp4)" :err 'No space left on device'
}

test_a_closed_stdout() {
    into_none() { bload "$@" >&-; }
    put lengths '5\n6\n'
    for words in --help --version 'plan -T 9 --lengths lengths' 'compare -T 9 --lengths lengths'; do expect 1 into_none $words; done
}

test_a_reader_that_left() {
    to_head() { bload "$@" | head -n 1 >/dev/null; }
    seq 1 200000 >lengths
    expect 141 to_head plan -q -T 200000 --lengths lengths # SIGPIPE, as for any filter
}

# In names, in the dataset's own, and in what the command line says: controls, the direction of writing, no UTF-8.
test_names_play_no_tricks_on_a_terminal() {
    local odd=$'\e[2J\e]0;t\a\x7f\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\xff\nbload: all is well'
    local dir="d$odd"
    mkdir -p "v/$odd"
    cp "$(fixture h264-1.mp4)" "v/$odd/good.mp4"
    echo no >"v/$odd/bad.mp4"
    {
        expect 3 bload pack v -T longest -o "$dir" && cat "$OUT" "$ERR"
        expect 0 bload info "$dir" && cat "$OUT"
        expect 0 bload status "$dir" && cat "$OUT"
        expect 0 bload verify "$dir" && cat "$ERR"
        expect 0 bload info --json "$dir" && python3 -m json.tool <"$OUT" >/dev/null
        expect 0 bload status --json "$dir" && python3 -m json.tool <"$OUT" >/dev/null
        echo >>"$dir/shards/00000/shard-00000000.safetensors"
        echo >>"$dir/sequences.tsv"
        expect 1 bload verify "$dir" && cat "$ERR"
        expect 2 bload info "$dir/none" && cat "$ERR"
        expect 2 bload scan "--no$odd" && cat "$ERR"
        expect 2 bload "$odd" && cat "$ERR"
        rm -r "$dir/manifest.json"
        mkdir "$dir/.bload"
        expect 0 bload status "$dir" && cat "$OUT"
    } >shown
    ! LC_ALL=C grep -qP '[\x01-\x09\x0b-\x1f\x7f]|\xc2\x9b|\xe2\x80|\xff' shown || fail "$(cat -v shown)"
    ! grep -q '^bload: all is well' shown || fail 'a name makes a message'
    grep -qF '?[2J?]0;t???????bload: all is well/bad.mp4: not a media file' shown
}

test_long_paths_leave_room_for_the_reason() {
    path=$(printf 'x/%.0s' $(seq 2000))file
    expect 2 bload scan -c "$path" :err '...' 'x/file: No such file or directory'
}

# A flag that can change nothing beside the others is a mistake; a file's may be meant for another command.
test_options_without_effect_are_refused() {
    seq 5 30 >lengths
    while IFS='|' read -r flags message; do expect 2 bload plan -q -T 40 --lengths lengths $flags -o plan.tsv :err-is "bload: plan: $message"; done <<'END'
--clip 3|--clip has no effect without --strategy sample or mix
--clips all --strategy mix|--clips has no effect without --strategy sample
--strategy naive --fill paper|--fill has no effect without --strategy block
--strategy sample --oversize split|--oversize has no effect without --strategy block or naive
--strategy mix --align 2|--align has no effect without --strategy block
--strategy mix --max-sequences 2|--max-sequences has no effect without --strategy block
--strategy naive --effort 1|--effort has no effect without --strategy block
--remainder pad|--remainder has no effect without --world-size or --batch-size
--balance quadratic|--balance has no effect without --world-size or --batch-size
--cost 0,1|--cost has no effect without --world-size or --batch-size
--accumulate 2|--accumulate has no effect without --world-size or --batch-size
--world-size 2 --sync step|--sync has no effect without --accumulate
--overlap 3|--overlap has no effect without --oversize split
--overlap 3 --oversize drop|--overlap has no effect without --oversize split
END
    expect 0 bload plan -q -T 40 --lengths lengths --strategy sample --clips all --clip 3 -o plan.tsv
    expect 0 bload plan -q -T 40 --lengths lengths --batch-size 2 --remainder pad -o plan.tsv
    expect 0 bload compare -T 40 --clip 3 --effort 1 --lengths lengths
    expect 2 bload scan x.mp4 --gpu 1 :err-is 'bload: scan: --gpu has no effect without --decoder nvdec or auto'
    expect 2 bload pack x.mp4 -T 5 -o d --fit crop :err-is 'bload: pack: --fit has no effect without --size'
    expect 2 bload pack x.jsonl -T 5 -o d --special parse :err-is 'bload: pack: --special has no effect without --tokenizer'
    expect 2 bload pack x.mp4 -T 5 -o d --on-error fail --max-failed 2 :err-is 'bload: pack: --max-failed has no effect without --on-error skip'
    given set.yaml 'clip: 3\nfit: crop\ngpu: 1\n' expect 0 bload pack -c set.yaml --print-config
    printf 'size: 8x8\nstrategy: mix\n' >>set.yaml
    expect 0 bload pack -c set.yaml --clip 4 --fit pad --print-config
}

test_skipped_inputs_may_be_no_failure() {
    put v/empty.mp4 ''
    cp "$(fixture h264-30.mp4)" v/
    expect 3 bload scan v
    expect 0 bload scan v --skipped-ok -o t.tsv :err 'skipped empty.mp4: empty file'
    expect 0 bload pack -q v -T 30 --size 16x16 --skipped-ok -o d :err 'skipped empty.mp4: empty file'
    expect 3 bload pack -q v -T 30 --size 16x16 -o d
    for task in 0/2 1/2; do expect 0 bload scan -q v --skipped-ok --task $task -o tasks; done
    expect 0 bload plan -q -T 30 --skipped-ok tasks
    for task in 0/2 1/2; do expect 0 bload pack -q v -T 30 --size 16x16 --skipped-ok --task $task -o tasks; done
    expect 0 bload finish -q --skipped-ok tasks
    expect 3 bload finish -q tasks
    # What fails still does.
    rm v/h264-30.mp4
    expect 1 bload pack -q v -T 30 --size 16x16 --skipped-ok -o e
}

# is_info_with_run DIR STAGE...: $OUT is what bload info prints, and where the time of these stages, and no others, went.
is_info_with_run() {
    bload info "$1" --json | python3 -c '
import json, sys
made, info = json.load(open(sys.argv[1])), json.load(sys.stdin)
run = made.pop("run")
assert made == info, made
assert list(run) == ["seconds", "limit", "limit_share", "waited_for", "totals"], run
seconds = run["seconds"]
total = seconds.pop("all")
assert list(seconds) == ["listing", "scanning", "planning", "writing", "finishing", "verifying"], seconds
assert abs(sum(seconds.values()) - total) < 0.01, run
for stage, time in seconds.items():
    assert time >= 0 and (stage in sys.argv[2:] or not time), run
assert run["limit"] is None or 0 < run["limit_share"] <= 1, run
' "$OUT" "${@:2}"
}

test_the_dataset_as_json_when_it_is_complete() {
    given a.jsonl '{"text": "a"}\n{"text": "bcd"}\n' expect 0 bload pack -q a.jsonl --tokenizer bytes -T 4 --json -o d
    is_info_with_run d listing scanning planning writing finishing
    expect 0 bload pack -q a.jsonl --tokenizer bytes -T 4 --json -o d # complete already
    is_info_with_run d listing
    expect 0 bload pack -q a.jsonl --tokenizer bytes -T 4 --json --extend d -o new
    is null "$(cat "$OUT")"
    expect 2 bload pack -q a.jsonl --tokenizer bytes -T 4 --json --task 0/1 -o t
    expect 0 bload pack -q a.jsonl --tokenizer bytes -T 4 --task 0/1 -o t
    expect 0 bload finish -q t --json
    is_info_with_run t finishing
}

# A stack that is too small is told, not found out.
test_a_small_stack() {
    sanitizer_skip 'a sanitizer needs more'
    (ulimit -s 64 && bload pack -q . -o d) >"$OUT" 2>"$ERR" && fail 'it ran'
    err_is <<<'bload: the stack may have 64 KiB (ulimit -s), and bload takes 1024: raise the limit'
    echo text >a.txt
    # What may be raised is.
    (ulimit -Ss 64 && bload pack -q a.txt --tokenizer bytes -T 16 -o d) 2>"$ERR" || fail "$(cat "$ERR")"
    expect 0 bload verify -q d
}

# What is no local file, or not what the command reads: what to do is said.
test_what_to_do_is_said() {
    printf '{"text": "one"}\n{"text": "two"}\n' >a.jsonl
    cp a.jsonl b.jsonl
    mkdir folder
    cp a.jsonl folder/
    for command in 'pack -T 9 -o o' 'scan'; do
        expect 2 bload $command az://container/a.jsonl :err 'az://container/a.jsonl: URLs of this kind are not read, only s3, gs, https, http and hf'
        expect 2 bload $command s3:///a.jsonl :err 's3:///a.jsonl: it has no bucket'
        expect 2 bload $command http://server/a.jsonl :err 'http:// protects neither data nor credentials: use https://, or --insecure'
        expect 2 bload $command 's3://buck*/a' :err 's3://buck*/a: a pattern of objects has *, ? or [...] below the bucket, and not in its name'
        expect 2 bload $command hf://owner/name/a.jsonl :err 'it is not of the form hf://datasets/OWNER/NAME[@REVISION]/PATH'
        HOME=$PWD AWS_EC2_METADATA_DISABLED=true expect 2 bload $command s3://bucket/a.jsonl :err 's3://bucket/a.jsonl: no credentials: set AWS_ACCESS_KEY_ID'
        expect 2 bload $command --endpoint bucket.example s3://bucket/a.jsonl :err 'the endpoint bucket.example is no URL of a server'
    done
    for command in 'view -T 9 -o o' info verify report; do
        HOME=$PWD AWS_EC2_METADATA_DISABLED=true expect 1 bload $command s3://bucket/d :err 's3://bucket/d/manifest.json: no credentials: set AWS_ACCESS_KEY_ID'
        expect 2 bload $command az://container/d :err 'az://container/d'
    done
    for name in folder a.jsonl; do
        expect 2 bload compare $name :err "$name is no table of sequences: scan it first, bload scan $name -o TABLE, and name the TABLE"
    done
    expect 2 bload plan -T 9 a.jsonl :err 'a.jsonl is no table of sequences: scan it first'
    expect 2 bload plan -T 9 folder :err 'if it is a folder of inputs, bload scan folder -o TABLE lists them'
    expect 0 bload pack -q --tokenizer bytes -T 9 -o d - <a.jsonl
    expect 2 bload cat d '-#0' :err 'unknown option -# (see --help); before a name that begins with -, write --'
    expect 0 bload cat d -- '-#0'
    is one "$(cat "$OUT")"
    expect 0 bload view -q d -T 12 -o v
    mv d moved
    for command in info report cat export; do
        case $command in cat) set -- v x ;; export) set -- v --to mds -o o ;; *) set -- v ;; esac
        expect 1 bload $command "$@" :err 'it has no manifest.json: put it back, or make the view again (the same bload view command with its new path)'
    done
    printf X | dd of=moved/shards/00000/shard-00000000.safetensors bs=1 seek=300 conv=notrunc status=none
    expect 1 bload verify moved :err 'the command that packed moved, with --repair, makes damaged shards again' 'moved has 1 error'
}
