# bload pack, verify and info: datasets from a few small clips.
# shellcheck shell=bash disable=SC2317,SC2086

# The folder v: three clips of one size, 94 frames.
setup() { fixtures v h264-30.mp4 mpeg4-40.avi vp9-24.webm; }

test_a_table_from_standard_input_or_a_pipe() {
    local -a pack=(pack -q --size 32x32 -T longest)
    expect 0 bload scan -q v -o t.tsv
    expect 0 bload "${pack[@]}" --sequences t.tsv -o file
    given labels.csv 'id,class\nh264-30,1\nvp9-24,2\nmpeg4-40,3\n' expect 0 bload "${pack[@]}" --sequences t.tsv -o joined --attributes labels.csv
    for _ in first again; do
        expect 0 bload "${pack[@]}" --sequences - -o stdin <t.tsv
        cat t.tsv | expect 0 bload "${pack[@]}" --sequences - -o pipe
        expect 0 bload "${pack[@]}" --sequences <(cat t.tsv) -o named
        cat t.tsv | expect 0 bload "${pack[@]}" --sequences - -o both --attributes labels.csv
    done
    for i in 1 0; do cat t.tsv | expect 0 bload "${pack[@]}" --sequences - -o tasks --task $i/2; done
    expect 0 bload finish -q tasks
    for dir in stdin pipe named tasks; do same file/manifest.json $dir/manifest.json; done
    same joined/manifest.json both/manifest.json
    # Another table is another dataset; what is wrong with it is told by its name.
    sed 2d t.tsv | expect 2 bload "${pack[@]}" --sequences - -o pipe :err 'pipe holds a dataset of another configuration: sequences is'
    echo no | expect 1 bload "${pack[@]}" --sequences - -o d :err 'bload: pack: standard input:1: no column "id" in the header line'
    expect 1 bload "${pack[@]}" --sequences - -o d </dev/null :err 'bload: pack: standard input is empty: not a table of sequences' :none d
}

test_first_dataset() {
    expect 0 bload pack v -T 45 -o d :out-is '' :err 'bload: 3 sequences of 94 steps (longest 40) in 3 blocks' 'bload: d: 1 shard, 4.8 MiB'
    files d >names
    diff -u - names <<'END'
index.safetensors
manifest.json
sequences.tsv
shards
shards.tsv
shards/00000
shards/00000/shard-00000000.safetensors
END
    expect 0 bload verify d :err-is 'bload: d: verified, no errors: 1 shard, 4.8 MiB'
    expect 0 bload info d :out 'blocks      3 of T = 45 steps'
    expect 0 bload info --json d :word steps 94 :word blocks 3 :word padding 41
}

test_the_same_bytes_whatever_the_threads_and_the_order_of_names() {
    expect 0 bload pack -q v -T 45 -o one -j 1
    for jobs in 2 16; do expect 0 bload pack -q v -T 45 -o j$jobs -j $jobs :same-as one; done
    # The same files, put into the folder in another order.
    mv v old
    mkdir v
    for name in vp9-24.webm h264-30.mp4 mpeg4-40.avi; do cp old/$name v/; done
    expect 0 bload pack -q v -T 45 -o other :same-as one
}

test_pack_is_scan_plan_and_pack() {
    expect 0 bload pack -q v -T 45 -o one --seed 5 --size 16x16
    expect 0 bload scan -q v -o sequences.tsv
    expect 0 bload plan -q -T 45 --seed 5 sequences.tsv -o plan.tsv
    expect 0 bload pack -q --sequences sequences.tsv --plan plan.tsv -T 45 --seed 5 --size 16x16 -o two :same-in one shards/00000/shard-00000000.safetensors
    same one/sequences.tsv two/sequences.tsv
    same one/index.safetensors two/index.safetensors
    expect 2 bload pack -q --plan plan.tsv v -T 45 -o three :err '--plan needs --sequences'
    expect 2 bload pack -q --sequences sequences.tsv v -T 45 -o three :err 'sources or --sequences, not both'
}

test_aligned_starts_and_binary_plans() {
    expect 0 bload scan v -o sequences.tsv
    expect 0 bload plan -q -T 80 --align 16 --world-size 3 --remainder pad sequences.tsv -o plan.safetensors
    expect 0 bload pack -q --sequences sequences.tsv --plan plan.safetensors -T 80 --align 16 --segment-ids -o d :verified
    expect 0 bload pack -q v -T 80 --align 16 --world-size 3 --remainder pad --segment-ids -o e :same-in d shards/00000/shard-00000000.safetensors
    sed 's/\t40\t/\t39\t/' sequences.tsv >other.tsv
    expect 1 bload pack -q --sequences other.tsv --plan plan.safetensors -T 80 -o f :err 'the plan was made from another table'
}

test_epochs_are_added_to_a_dataset() {
    expect 0 bload pack -q v -T 30 --oversize split --world-size 2 -o d
    sha256sum d/shards/*/* >shards
    expect 0 bload plan --dataset d --epochs 3 --seed 1
    sha256sum -c shards >/dev/null
    files d | grep plans/ | diff - <(printf 'plans/epoch-0000%s.safetensors\n' 1 2 3)
    cmp -s d/plans/epoch-00001.safetensors d/plans/epoch-00002.safetensors && fail 'the same plan twice'
    expect 0 bload verify d
    expect 2 bload plan --dataset d --world-size 7 :err 'are not a multiple of 7 ranks'
    expect 0 bload pack -q v --strategy mix -T 30 -o clips
    expect 2 bload plan --dataset clips :err 'holds clips'
}

# documents LENGTH...: the folder docs, a document of so many bytes for each.
documents() {
    mkdir docs
    local n=0 length
    for length in "$@"; do n=$((n + 1)); head -c "$length" /dev/zero | tr '\0' x >docs/$n.txt; done
}

# Starts that happen to be multiples of more than the alignment do not make it larger: no block of an epoch ends behind T.
test_epochs_keep_the_alignment() {
    documents 20 33 46 59 72 85
    expect 0 bload pack -q docs --tokenizer bytes -T 90 --align 16 -o d
    expect 0 bload plan -q --dataset d --epochs 6 :verified d
    is 6 "$(files d | grep -c plans/)"
}

# What epochs there are stays: the same command finds them, a larger number adds to them, another seed is refused.
test_epochs_are_never_replaced() {
    documents 20 33 46 59 72 85 11 12 13 14 15
    expect 0 bload pack -q docs --tokenizer bytes -T 90 -o d
    expect 0 bload plan -q --dataset d --epochs 3 --seed 5
    find d -type f -exec sha256sum {} + >before
    expect 0 bload plan --dataset d --epochs 2 --seed 5 :err 'd already has these plans, and more, in plans: nothing to do'
    expect 2 bload plan -q --dataset d --epochs 4 :err 'd has other plans than these, of another --seed' :err 'bload plan --dataset d --epochs 0 removes them'
    sha256sum -c before >/dev/null
    is "$(wc -l <before)" "$(find d -type f | wc -l)"
    expect 0 bload plan -q --dataset d --epochs 5 --seed 5 :verified d
    grep plans/ before | sha256sum -c - >/dev/null
    is 5 "$(files d | grep -c plans/)"
    sha256sum d/plans/epoch-00002.safetensors >before
    rm d/plans/epoch-00002.safetensors
    expect 1 bload verify -q d
    expect 0 bload plan -q --dataset d --epochs 5 --seed 5
    sha256sum -c before >/dev/null
    expect 0 bload verify -q d
    expect 0 bload plan --dataset d --epochs 0 :err 'd: 5 plans removed' :none d/plans :verified d
    expect 0 bload plan -q --dataset d --epochs 4 :verified d
}

test_what_does_not_apply_to_epochs_is_refused() {
    documents 20 33 46
    expect 0 bload pack -q docs --tokenizer bytes -T 90 -o d
    for option in '-T 80' '--fill paper' '--oversize split' '--align 2' '--report r.json' '-o p.tsv' '--group-by id' \
        '--lengths docs/1.txt' '--remainder drop' '--effort 1'; do
        expect 2 bload plan --dataset d $option :err "does not apply to --dataset"
    done
    expect 2 bload plan --dataset d sequences.tsv :none d/plans
    given d.yaml 'sources: [docs]\ntokenizer: bytes\nT: 90\n' expect 0 bload plan -q -c d.yaml --dataset d
}

# Files that no manifest names: what a run that was killed left is told, and goes with the next one; others are faults.
test_strays_among_epochs() {
    documents 20 33 46
    expect 0 bload pack -q docs --tokenizer bytes -T 90 -o d
    expect 0 bload plan -q --dataset d --epochs 2
    cp d/plans/epoch-00001.safetensors d/plans/epoch-00003.safetensors
    cp d/plans/epoch-00001.safetensors d/plans/epoch-00001.safetensors.part-host-1-2
    expect 0 bload verify d :err 'plans/epoch-00003.safetensors: left by an interrupted bload plan --dataset'
    err_has 'plans/epoch-00001.safetensors.part-host-1-2: left by'
    cp d/plans/epoch-00001.safetensors d/plans/epoch-3.safetensors
    expect 1 bload verify d :err 'plans/epoch-3.safetensors: belongs to no epoch of the dataset'
    expect 0 bload plan -q --dataset d --epochs 2
    is 'epoch-00001.safetensors epoch-00002.safetensors epoch-3.safetensors' "$( (cd d/plans && find . -type f | sed 's|^\./||') | sort | xargs)"
}

# The manifest tells of the plan that was given, not of one that the options would make: 13 * 26 steps are 338, but three fill a block.
test_the_words_of_a_given_plan() {
    # shellcheck disable=SC2046 # numbers
    documents $(yes 26 | head -n 13)
    word() { sed -n "s/^  \"$2\": \(.*[^,]\),*\$/\1/p" "$1"; }
    set -- --sequences s.tsv --tokenizer bytes -T 100
    expect 0 bload scan -q docs --tokenizer bytes -o s.tsv
    expect 0 bload plan -q -T 100 --seed 7 --fill paper s.tsv -o p.safetensors --report p.json
    expect 0 bload plan -q -T 100 --seed 7 --fill paper s.tsv -o p.tsv
    expect 0 bload pack -q "$@" --plan p.safetensors -o a
    expect 0 bload pack -q "$@" --plan p.tsv -o b
    for name in blocks lower_bound gap; do
        is "$(word p.json $name)" "$(word a/manifest.json $name)"
        is "$(word p.json $name)" "$(word b/manifest.json $name)"
    done
    is 5 "$(word b/manifest.json lower_bound)"
    is '7 "paper"' "$(word a/manifest.json seed) $(word a/manifest.json fill)"
    is 'null null' "$(word b/manifest.json seed) $(word b/manifest.json fill)"
    expect 0 bload info b :out 'seed not known: the plan was given'
    expect 0 bload verify -q a
    expect 0 bload verify -q b
    expect 2 bload pack -q "$@" --plan p.safetensors --seed 8 -o c :err 'p.safetensors was made with another --seed'
    expect 2 bload pack -q "$@" --plan p.tsv --world-size 3 -o c :err 'p.tsv has 5 blocks, which is no multiple of 3 ranks times 1 blocks'
    expect 2 bload pack -q "$@" --plan p.tsv --max-sequences 2 -o c :err 'more than --max-sequences'
    in_tasks 2 "$@" --plan p.tsv -o e :same-in b manifest.json
}

# Without --align in its configuration a dataset's epochs would not be aligned.
test_a_given_plan_has_the_alignment_that_is_said() {
    documents 20 33 46 59
    expect 0 bload scan -q docs --tokenizer bytes -o s.tsv
    expect 0 bload plan -q -T 90 --align 16 s.tsv -o p.tsv
    expect 0 bload plan -q -T 90 --align 16 s.tsv -o p.safetensors
    expect 2 bload pack -q --sequences s.tsv --tokenizer bytes --plan p.tsv -T 90 -o d :err 'not of --align 1: use the --align that bload plan was given'
    expect 2 bload pack -q --sequences s.tsv --tokenizer bytes --plan p.safetensors -T 90 -o d :err 'the plan was made with --align 16, not 1'
    expect 0 bload pack -q --sequences s.tsv --tokenizer bytes --plan p.tsv -T 90 --align 16 -o d :verified
}

# A plan with an overlap is checked, counted and joined as such; a table of one must be said to have it.
test_pieces_that_overlap() {
    documents 20 33 46 59 120 7
    local pack=(--tokenizer bytes -T 32 --oversize split)
    expect 0 bload pack docs "${pack[@]}" --overlap 5 -o d :err 'repeated 35 steps' :verified
    expect 0 bload info d :out 'split       4 sequences are in parts; 35 steps are repeated, the first 5 of every part but the first'
    is '5 35' "$(word overlap <d/manifest.json) $(word repeated <d/manifest.json)"
    for file in docs/*; do
        expect 0 bload cat d "${file#docs/}" :out-as "$file"
        expect 0 bload cat d "${file#docs/}" --steps 3..7
        is "$(head -c 7 "$file" | tail -c 4)" "$(cat "$OUT")"
    done
    expect 0 bload scan -q docs --tokenizer bytes -o s.tsv
    expect 0 bload plan -q -T 32 --oversize split --overlap 5 s.tsv -o p.tsv
    expect 0 bload pack -q --sequences s.tsv "${pack[@]}" --plan p.tsv --overlap 5 -o e
    expect 1 bload pack -q --sequences s.tsv "${pack[@]}" --plan p.tsv -o f :err 'which only --overlap allows'
    for other in 4 6; do
        expect 1 bload pack -q --sequences s.tsv "${pack[@]}" --plan p.tsv --overlap $other -o f
        err_has "with an overlap of $other, a piece begins that many steps before the previous piece ends"
    done
    awk -F '\t' '$5 != 0 && !n++ { next } 1' p.tsv >torn.tsv
    expect 1 bload pack -q --sequences s.tsv "${pack[@]}" --plan torn.tsv --overlap 5 -o f :err 'torn.tsv'
    in_tasks 2 docs "${pack[@]}" --overlap 5 --shard-size 1 -o g :verified
    expect 2 bload pack -q docs "${pack[@]}" --overlap 6 -o d :err 'overlap is "5" there, not "6"'
}

# S as it is given: enough places, and no more than T.
test_slots_for_sequences() {
    documents 20 33 46 59 7 8 9
    expect 0 bload pack -q docs --tokenizer bytes -T 64 --sequence-slots 9 --max-sequences 3 -o d :manifest S 9 :verified
    expect 0 bload plan -q --dataset d --epochs 2 :verified d
    expect 0 bload info d :out 'S = 9'
    while IFS='|' read -r slots message; do expect 2 bload pack -q docs --tokenizer bytes -T 64 --sequence-slots="$slots" -o x :err "$message"; done <<'END'
0|a whole number from 1 to 2147483646
-1|a whole number from 1 to 2147483646
2147483647|a whole number from 1 to 2147483646
some|a whole number from 1 to 2147483646
1|--sequence-slots 1 are too few: a block has 3 sequences; give --sequence-slots 3, or plan with --max-sequences 1
65|--sequence-slots 65 is more than T = 64
END
    expect 0 bload pack -q docs --tokenizer bytes -T 64 --sequence-slots 3 -o x
    expect 2 bload plan -T 64 --sequence-slots 3 --lengths <(seq 3) :err 'unknown option --sequence-slots'
}

test_groups_never_share_a_block() {
    expect 0 bload scan -q v -o sequences.tsv
    awk -F '\t' -v OFS='\t' '{ print $0, NR == 1 ? "colour" : NR % 2 ? "red" : "blue" }' sequences.tsv >table.tsv
    expect 0 bload pack -q --sequences table.tsv --group-by colour -T 500 -o d :verified
    expect 0 bload pack -q --sequences table.tsv -T 500 -o one
    is 1 "$(bload info --json one | sed -n 's/^ *"blocks": \([0-9]*\).*/\1/p')" # without groups all of them fit a block
    is 2 "$(bload info --json d | sed -n 's/^ *"blocks": \([0-9]*\).*/\1/p')"
    expect 0 bload pack --sequences table.tsv --group-by colour -T 500 -o d :err 'already complete'
    expect 2 bload pack --sequences table.tsv -T 500 -o d :err 'group-by'
    expect 0 bload plan -q --dataset d --epochs 2 :verified d
    expect 1 bload pack --sequences table.tsv --group-by shape -T 500 -o e :err 'table.tsv:1: no column "shape" to group by'
    expect 2 bload pack v --group-by colour -T 500 -o f :err '--group-by colour: the scan has no such column' :none f
    printf '{"text": "one", "lang": "%s"}\n' en fr en fr >c.jsonl
    expect 0 bload pack -q c.jsonl --tokenizer bytes --keep lang --group-by lang -T 12 -o f
    is 2 "$(bload info --json f | sed -n 's/^ *"blocks": \([0-9]*\).*/\1/p')"
    expect 0 bload plan -q --dataset f --epochs 2 :verified f
}

test_what_is_too_long_is_named() {
    expect 0 bload scan -q v -o sequences.tsv
    longest=$(awk -F '\t' 'NR > 1 && $2 > n { n = $2 } END { print n }' sequences.tsv)
    name=$(awk -F '\t' -v n=$((longest - 1)) 'NR > 1 && $2 > n { print $1; exit }' sequences.tsv)
    expect 1 bload pack -q v -T $((longest - 1)) -o d :err "$name (sequence " :err ": use a larger T, or --oversize split"
    expect 1 bload plan -q sequences.tsv -T $((longest - 1)) :err "$name (sequence "
}

test_a_table_of_another_sampling_is_refused() {
    expect 0 bload scan -q --stride 2 v -o sequences.tsv
    expect 2 bload pack -q --sequences sequences.tsv -T 45 -o d :err 'the table was scanned with sampling "stride=2", the options say "all"'
    expect 0 bload pack -q --sequences sequences.tsv -T 45 -o e --stride 2 :verified
}

test_plans_are_checked() {
    expect 0 bload scan -q v -o sequences.tsv
    expect 0 bload plan -q -T 45 sequences.tsv -o good.tsv
    awk -F '\t' -v OFS='\t' 'NR == 2 { $4 += 1 } { print }' good.tsv >longer.tsv
    awk -F '\t' -v OFS='\t' 'NR == 3 { $2 = 99 } { print }' good.tsv >outside.tsv
    awk 'NR != 1' good.tsv >headless.tsv
    { cat good.tsv; printf '3\t0\t0\t30\t0\n'; } >twice.tsv
    for plan in longer outside headless twice; do
        status=0
        bload pack -q --sequences sequences.tsv --plan $plan.tsv -T 45 -o d 2>"$ERR" || status=$?
        [ $status = 1 ] || [ $status = 2 ] || fail "$plan.tsv: status $status"
        [ ! -e d/manifest.json ] || fail "$plan.tsv was taken"
        rm -rf d
    done
}

test_again_it_does_nothing() {
    cp "$(fixture audio.mp4)" v
    expect 3 bload pack v -T 45 -o d :err 'bload: skipped audio.mp4: no video stream (audio only)'
    cp -r d before
    find d -exec stat -c '%n %y %i' {} + | sort >stamps
    expect 3 bload pack v -T 45 -o d :err 'bload: d is already complete: nothing to do' :same-as before
    find d -exec stat -c '%n %y %i' {} + | sort | diff stamps -
}

test_another_configuration_is_refused() {
    expect 0 bload pack -q v -T 45 -o d
    expect 2 bload pack -q v -T 46 -o d
    err_is <<<'bload: pack: d holds a dataset of another configuration: T is "45" there, not "46" (use the same options, or another -o)'
    expect 2 bload pack -q v -T 45 -o d --size 16x16 :err 'size is "" there, not "16x16"'
    expect 2 bload pack -q v -T 45 -o d --compress zstd
    expect 2 bload pack -q v -T 45 -o d --seed 1
    # What decides no byte may differ, and how the kind is known.
    expect 0 bload pack -q v -T 45 -o d -j 1 --memory 1G
    expect 0 bload pack -q v -T 45 -o d --kind video :verified
}

test_a_newer_format_is_refused() {
    expect 0 bload pack -q v -T 45 -o d
    sed -i 's/"format": 1,/"format": 7,/' d/manifest.json
    for command in 'info d' 'pack -q v -T 45 -o d' 'plan --dataset d --epochs 1'; do
        expect 1 bload $command :err ': d/manifest.json: format version 7, but this bload knows versions 1 to 6: update bload'
    done
    expect 1 bload verify d :err 'bload: manifest.json: format version 7, but this bload knows versions 1 to 6: update bload'
}

# A new option of one kind shall not make a dataset of another kind look as if it were of another configuration.
test_the_configuration_has_the_options_of_its_kind_alone() {
    names() { sed -n '/"configuration"/,/}/s/^ *"\([^"]*\)".*/\1/p' "$1/manifest.json" | tail -n +2; }
    expect 0 bload pack -q v -T 45 -o d
    names d | grep -qx fit
    names d | grep -qx seed
    expect 1 grep -qx -e tokenizer -e rate <(names d)
    # A table tells its kind.
    expect 0 bload scan -q v -o table.tsv
    expect 0 bload pack -q --sequences table.tsv -T 45 -o e
    names e | grep -qx fit
    expect 1 grep -qx -e tokenizer -e rate <(names e)
    given c.jsonl '{"text": "one"}\n' expect 0 bload pack -q c.jsonl --tokenizer bytes -T 3 -o f
    names f | grep -qx tokenizer
    expect 1 grep -qx -e fit -e rate <(names f)
    expect 2 bload pack -q --sequences table.tsv --kind text -T 45 -o g :err "--kind text: the table's sequences are video"
    expect 2 bload pack -q --sequences table.tsv --rate 8000 -T 45 -o g :err '--rate is for audio, and the inputs are video'
}

test_a_directory_with_something_else_is_refused() {
    given d/mine '' expect 2 bload pack -q v -T 45 -o d :err 'd holds mine'
    is mine "$(files d)"
    given file '' expect 1 bload pack -q v -T 45 -o file
}

test_sizes_must_agree() {
    fixtures w h264-1.mp4 h264-wide-20.mp4
    expect 2 bload pack -q w -T longest -o d :err 'h264-1.mp4' 'h264-wide-20.mp4' '--size'
    expect 0 bload pack -q w -T longest --size 32x24 -o e :verified
}

test_compressed_is_the_same_after_zstd() {
    expect 0 bload pack -q v -T 45 -o plain --shard-size 2M
    expect 0 bload pack -q v -T 45 -o small --shard-size 2M --compress zstd:5 :verified
    is 3 "$(find small -name '*.zst' | wc -l)"
    for shard in plain/shards/00000/*.safetensors; do zstd -dc "small/${shard#plain/}.zst" | cmp - "$shard"; done
    same plain/index.safetensors small/index.safetensors
}

test_frames_of_a_size() {
    expect 0 bload pack -q v -T 45 -o plain --shard-size 2M
    expect 0 bload pack -q v -T 45 -o d --shard-size 2M --compress zstd:1 --frame-size 256KiB :verified
    expect 0 bload info d :out ', zstd level 1, frames of 256.0 KiB at most'
    is 1 "$(grep -c '"frame_size": 262144' d/manifest.json)"
    for shard in plain/shards/00000/*.safetensors; do zstd -dc "d/${shard#plain/}.zst" | cmp - "$shard"; done
    # A lost shard comes back, a run that lost its manifest goes on, and both are as they were.
    cp -r d before
    rm d/shards/00000/shard-00000001.safetensors.zst
    expect 0 bload pack -q v -T 45 -o d --shard-size 2M --compress zstd:1 --frame-size 262144 :same-as before
    rm d/manifest.json
    expect 0 bload pack -q v -T 45 -o d --shard-size 2M --compress zstd:1 --frame-size 256K :same-as before
    expect 2 bload pack -q v -T 45 -o d --shard-size 2M --compress zstd:1 --frame-size 512K :err 'frame-size is "256K" there, not "512K"'
    in_tasks 3 v -T 45 -o tasks --shard-size 2M --compress zstd:1 --frame-size 256K :same-as before
}

# The default is what it was before there was a choice, to the byte.
test_frames_of_the_default_size() {
    expect 0 bload pack -q v -T 45 -o d --size 8x8 --compress zstd:1
    expect 0 bload pack -q v -T 45 -o e --size 8x8 --compress zstd:1 --frame-size 64M :same-as d
    is 0 "$(grep -c 'frame.size' d/manifest.json)"
    expect 0 bload pack -q v -T 45 -o e --size 8x8 --compress zstd:1 --frame-size 65536K
    expect 2 bload pack -q v -T 45 -o f --size 8x8 --frame-size 1M :err '--frame-size needs --compress zstd'
    for size in 0 4095 65M 64G x; do
        expect 2 bload pack -q v -T 45 -o f --size 8x8 --compress zstd --frame-size $size :err 'a number of bytes from 4K to 64M'
    done
    [ ! -e f ] || fail 'it began'
}

# Rows of all documents as they follow each other: T follows from the bytes of a step, or is given.
test_a_store() {
    documents 20 33 46 59 72 85
    expect 0 bload pack docs --tokenizer bytes --store -o d :err '6 sequences of 315 steps (longest 85) in 1 block' 'T = 315, '
    is '"T": "auto",' "$(grep -o '"T": "auto",' d/manifest.json)"
    expect 0 bload pack docs --tokenizer bytes --store -T 50 --shard-size 400 -o s :err 'in 7 blocks' 'so the plan is optimal' 'padding 35 steps' :verified
    expect 0 bload info s :out 'strategy    store, seed 0'
    for pair in fill=null cut=0 deleted=0 source_start=true; do is "$pair" "${pair%=*}=$(word "${pair%=*}" <s/manifest.json)"; done
    in_tasks 3 docs --tokenizer bytes --store -T 50 --shard-size 400 -o tasks :same-as s
    rm tasks/shards/00000/shard-00000003.safetensors
    expect 0 bload pack -q docs --tokenizer bytes --store -T 50 --shard-size 400 -o tasks :same-as s
    rm tasks/manifest.json
    expect 0 bload pack -q docs --tokenizer bytes --strategy store -T 50 --shard-size 400 -o tasks :same-as s
    expect 2 bload plan --dataset s --epochs 2 :err 's is a store, whose rows have no plans of epochs'
}

# A plan of a store by itself, as a table and binary, counts as the store's own.
test_a_planned_store() {
    documents 20 33 46 59 72 85
    expect 0 bload scan -q docs --tokenizer bytes -o t.tsv
    expect 0 bload pack -q --sequences t.tsv --tokenizer bytes --store -T 50 -o s
    for plan in p.tsv p.safetensors; do
        expect 0 bload plan -q t.tsv --strategy store -T 50 -o $plan
        expect 0 bload pack -q --sequences t.tsv --tokenizer bytes --plan $plan --store -T 50 -o $plan.d :verified :manifest cut 0
        same $plan.d/index.safetensors s/index.safetensors
    done
    expect 2 bload plan t.tsv --strategy store -T auto :err '-T auto needs the bytes of a step, which no table says'
    expect 2 bload plan t.tsv --strategy store :err '-T must be given'
}

test_what_a_store_refuses() {
    documents 20 33
    for option in 'seed 1' 'world-size 2' 'batch-size 2' 'align 4' 'fill paper' 'oversize split' 'max-sequences 3' 'group-by x' \
        'strategy block' 'effort 3' 'clip 4' 'cost 1,1' 'spare 1%' 'max-column x=1'; do
        expect 2 bload pack docs --tokenizer bytes --store --$option -o d :err "${option% *}"
    done
    printf '{sources: [docs], tokenizer: bytes, store: true, world-size: 2}' >set.yaml
    expect 2 bload pack -c set.yaml -o d :err '--world-size has no meaning in a store'
    expect 2 bload pack docs --tokenizer bytes -T auto -o d :err '-T auto is for a store'
    expect 2 bload pack docs --tokenizer bytes -o d :err '-T must be given' :none d
}

# Frames of a large picture: more than a MiB, for the keyframes' sake.
test_a_store_of_frames() { expect 0 bload pack v --size 224x224 --store -o d :err 'sequences of 94 steps' 'T = 64, ' :verified; }

test_padding_repeats_when_asked() {
    expect 0 bload pack -q v -T 45 -o zero --size 8x8
    expect 0 bload pack -q v -T 45 -o repeat --size 8x8 --pad repeat :verified
    # Bytes from the end of the first block: frames lie last in the shard, 3 blocks of 45 * 8 * 8 * 3.
    last() { tail -c $((2 * 45 * 192 + 192)) "$1/shards/00000/shard-00000000.safetensors" | head -c 192 | od -An -v -tx1 | tr -d ' \n'; }
    is "$(printf '0%.0s' $(seq 384))" "$(last zero)"
    [ "$(last repeat)" != "$(last zero)" ] || fail 'the end of the block is zeros'
}

test_a_sequence_that_fails_while_packing() {
    cp "$(fixture failing-20.mov)" v
    for compress in none zstd; do
        expect 3 bload pack v -T 45 --size 16x16 -o d --compress $compress :err 'failing-20.mov: the scan counted 20 frames, decoding gives 19' :verified
        is failed "$(awk -F '\t' '$1 == "failing-20.mov" { print $6 }' d/sequences.tsv)"
        expect 0 bload info --json d :word failed 1 :word failed_steps 20
        expect 3 bload pack v -T 45 --size 16x16 -o d --compress $compress :err 'd is already complete' :removed
    done
    expect 1 bload pack -q v -T 45 --size 16x16 -o d --on-error fail :none d/manifest.json :removed
    expect 1 bload pack -q v -T 45 --size 16x16 -o d --max-failed 0 :err 'max-failed' :removed
    expect 3 bload pack -q v -T 45 --size 16x16 -o d --max-failed 1 :removed
    expect 3 bload pack -q v -T 45 --size 16x16 -o d --max-failed 25% :removed
    expect 1 bload pack -q v -T 45 --size 16x16 -o d --max-failed 24%
}

test_a_damaged_file_is_used_as_far_as_it_goes() {
    cp "$(fixture damaged-30.mp4)" v
    expect 3 bload pack -q v -T 45 --size 16x16 -o d :verified
    is '29 ok damaged: 29 of 30 frames decode' "$(awk -F '\t' '$1 == "damaged-30.mp4" { print $2, $6, $7 }' d/sequences.tsv)"
    expect 3 bload pack -q v -T 45 --size 16x16 -o d
}

test_inputs_that_changed_since_the_scan() {
    expect 0 bload scan -q v -o sequences.tsv
    rm v/vp9-24.webm
    expect 1 bload pack -q --sequences sequences.tsv -T 45 --size 16x16 -o d :err vp9-24.webm :none d/manifest.json
    cp "$(fixture h264-1.mp4)" v/vp9-24.webm
    expect 1 bload pack -q --sequences sequences.tsv -T 45 --size 16x16 -o d
    cp "$(fixture vp9-24.webm)" v/
    expect 0 bload pack -q --sequences sequences.tsv -T 45 --size 16x16 -o d :verified
}

test_memory_is_refused_up_front() {
    expect 2 bload pack v -T 45 -o d --memory 100K :err '100.0 KiB of memory is not enough' :none d/shards
    expect 0 bload pack -q v -T 45 -o e --memory 1G
}

test_two_at_once() {
    "$BLOAD" pack -q v -T 45 -o d --compress zstd:19 2>one &
    status=0
    "$BLOAD" pack -q v -T 45 -o d --compress zstd:19 2>two || status=$?
    wait $! || status="$status and $?"
    case $status in
    0) ;; # one after the other
    1 | '0 and 1') grep -h . one two | grep -q 'another' || fail "$(cat one two)" ;;
    *) fail "status $status: $(cat one two)" ;;
    esac
    expect 0 bload pack -q v -T 45 -o d --compress zstd:19 :verified
}

test_progress_within_a_file() {
    sanitizer_skip 'a minute with a sanitizer, which has nothing to find here'
    on_terminal 100 "$BLOAD" pack "$(fixture h264-hd-400.mp4)" --size 640x360 -T longest -o d1 -j 1
    grep -q 'pack \[.* left, [1-9][0-9]* %, 0 of 1 blocks, .* frames/s' screen || fail "$(cat -v screen)"
    # Where there is little room, the time that is left comes first, and all stays on one line.
    on_terminal 30 "$BLOAD" pack "$(fixture h264-hd-400.mp4)" --size 640x360 -T longest -o d2 -j 2
    grep -q $'^\e\\[Kpack [0-9]* [a-z]* left, [1-9][0-9]* %' screen || fail "$(cat -v screen)"
    [ "$(sed -n 's/^\x1b\[Kpack/pack/p' screen | wc -L)" -le 29 ] || fail "$(cat -v screen)"
}

# A message while the bar stands begins a line of its own.
test_faults_are_found_and_named() {
    expect 0 bload pack -q v -T 45 -o d --size 16x16 --shard-size 40K
    shard=shards/00000/shard-00000001.safetensors
    break_it() {
        rm -rf e
        cp -r d e
        eval "$1"
        expect 1 bload verify e :err "$2"
    }
    break_it "printf x | dd of=e/$shard bs=1 seek=9000 conv=notrunc status=none" shard-00000001
    break_it "printf x | dd of=e/$shard bs=1 seek=4100 conv=notrunc status=none" shard-00000001
    break_it "printf x | dd of=e/$shard bs=1 seek=30 conv=notrunc status=none" shard-00000001
    break_it "shorten 1 e/$shard" shard-00000001
    break_it "echo >>e/$shard" shard-00000001
    break_it "rm e/$shard" shard-00000001
    break_it 'rm e/shards.tsv' shards.tsv
    break_it "sed -i 2d e/shards.tsv" shards.tsv
    break_it "sed -i s/ok/failed/ e/sequences.tsv" sequences.tsv
    break_it "printf x | dd of=e/index.safetensors bs=1 seek=4200 conv=notrunc status=none" index.safetensors
    break_it 'sed -i s/block/naive/ e/manifest.json' manifest.json
    break_it 'truncate -s 50 e/manifest.json' manifest.json
    break_it 'rm e/manifest.json' 'no manifest.json'
    expect 1 bload info e
    expect 0 bload verify d
}

test_signals() {
    for i in $(seq 30); do cp v/mpeg4-40.avi "v/$i.avi"; done
    took=0
    for signal in INT TERM; do
        # On a busy machine one piece of work may take longer than what a signal waits.
        for i in 1 2 3; do
            rm -rf d
            ended_by $signal 'd/.bload/*.part*' "$BLOAD" pack v -T 41 --size 500x500 -o d
            [ "$status" != 0 ] || skip 'it was done before the signal'
            is $((128 + $(kill -l $signal))) "$status"
            [ "$took" -le 3 ] || fail 'it took too long to end'
            grep -q 'work that cannot be interrupted' "$ERR" || break
        done
        case $BLOAD in
        */build/*san/*) ;; # there it may always
        *)
            err_has 'bload: pack: interrupted' 'run the same command to resume'
            ;;
        esac
        [ ! -e d/manifest.json ] || fail 'a final name'
    done
    expect 0 bload pack -q v -T 41 --size 500x500 -o d :verified :none d/.bload
}

test_a_full_disk() {
    in_small_disk 2M '
        expect 1 bload pack -q v -T 45 -o disk/d :err-like "No space left"
        [ ! -e disk/d/manifest.json ]
        [ -z "$(find disk/d -name "*.safetensors")" ]
        mount -o remount,size=20M disk
        expect 0 bload pack -q v -T 45 -o disk/d
        expect 0 bload verify -q disk/d'
}

# Each shard would find room, all of them do not: that is told before the first one is written.
test_room_for_all_shards() {
    in_small_disk 4M '
        expect 1 bload pack -q v -T 45 --shard-size 1 -o disk/d :err-like "disk/d: 4.8 MiB of shards (3) are still to be written, but only [0-9.]* MiB are free: No space left"
        [ -z "$(find disk/d -name "shard-*")" ]
        expect 1 bload pack -q v -T 45 --shard-size 1 -o disk/d --task 2/3
        [ -z "$(find disk/d -name "shard-*")" ]
        mount -o remount,size=5200K disk
        for task in 0 1 2; do bload pack -q v -T 45 --shard-size 1 -o disk/d --task $task/3 & done
        wait
        expect 0 bload finish -q disk/d
        rm disk/d/shards/00000/*1.safetensors
        mount -o remount,size=4M disk
        expect 1 bload pack -q v -T 45 --shard-size 1 -o disk/d :err-like "1.6 MiB of shards (1) are still to be written"
        mount -o remount,size=5200K disk
        expect 0 bload pack -q v -T 45 --shard-size 1 -o disk/d
        expect 0 bload verify -q disk/d'
}

test_a_directory_above_that_is_missing() {
    expect 2 bload pack -q v -T 45 -o mount/sets/d/
    err_is <<<'bload: pack: -o mount/sets/d/: the directory mount/sets does not exist: is the name right, and is its file system mounted? (--parents makes it)'
    expect 2 bload pack -q v -T 45 -o mount/d --task 0/2
    expect 2 bload scan -q v -o mount/d --task 0/2 :err 'scan: -o mount/d: the directory mount does not exist'
    expect 2 bload pack -q v -T 45 -o d --spool mount/spool :err '--spool mount/spool: the directory mount does not exist'
    given set.yaml 'sources: [v]\nT: 45\n' expect 2 bload slurm -c set.yaml -o mount/d --tasks 2 :err '/mount/d: the directory '
    expect 1 bload scan -q v -o mount/table.tsv :err 'cannot open the directory mount: No such file or directory'
    [ ! -e mount ] && [ ! -e d ] || fail 'something was made'
    expect 0 bload slurm -q -c set.yaml -o one/d --tasks 2 --parents
    [ -e one/d.slurm/submit.sh ] || fail 'no scripts'
    expect 0 bload scan -q v -o two/d --task 0/2 --parents
    printf 'parents: true\n' >>set.yaml
    expect 0 bload scan -q -c set.yaml -o three/d --task 0/2
    expect 0 bload pack -q -c set.yaml -o four/sets/d
    expect 0 bload pack -q v -T 45 -o five/d --parents
    expect 0 bload pack -q v -T 45 -o five/e/ # the parent is there
    expect 0 bload verify -q five/e
}

# Who may write beside a dataset can plant links: nothing is emptied, written or replaced behind them.
test_links_that_others_planted() {
    mkdir -p victim/00000
    echo precious | tee victim/configuration victim/0123456789abcdef.rows victim/shard-00000000.record victim/lock \
        victim/00000/shard-00000000.safetensors >victim/file
    find victim -exec stat -c '%n %s %y' {} + | sort >before
    unharmed() { find victim -exec stat -c '%n %s %y' {} + | sort | diff before - || fail 'something was done behind the link'; }
    for link in .bload/spool .bload shards shards/00000; do
        mkdir -p "$(dirname "d/$link")" d/.bload
        [ "$link" != .bload ] || rm -r d/.bload
        ln -s "$PWD/victim" "d/$link"
        for command in 'pack -q v -T 45 -o d' 'pack -q v -T 45 -o d --task 1/2' 'pack -q c.jsonl --tokenizer bytes -T 9 -o d'; do
            given c.jsonl '{"text": "one"}\n' expect 1 bload $command :err "d/$link is a link, or no directory"
            unharmed
        done
        rm -r d
    done
    for link in lock "lock-$(hostname)"; do
        mkdir -p d/.bload
        ln -s "$PWD/victim/file" "d/.bload/$link"
        expect 1 bload pack -q v -T 45 -o d --task 0/1 :err "cannot open d/.bload/$link"
        unharmed
        rm -r d
    done
    # Final names: the link is replaced, not what it points to.
    mkdir -p d/.bload
    for link in sequences.tsv index.safetensors .bload/task-00000 .bload/draft.json; do ln -s "$PWD/victim/file" "d/$link"; done
    expect 0 bload pack -q v -T 45 -o d
    unharmed
    [ ! -L d/sequences.tsv ] && [ ! -L d/index.safetensors ] || fail 'a link is left'
    expect 0 bload verify -q d
    # What is no file of ours is not removed.
    put d/.bload/mine 'mine\n' d/.bload/lock ''
    expect 1 bload pack -q v -T 45 -o d :err 'd/.bload/mine is not a file of bload: check what it is, and remove it'
    is mine "$(cat d/.bload/mine)"
    rm d/.bload/mine
    expect 0 bload pack -q v -T 45 -o d :none d/.bload
    # The dataset itself may lie behind a link.
    mkdir elsewhere
    ln -s elsewhere e
    expect 0 bload pack -q v -T 45 -o e
    expect 0 bload verify -q elsewhere
    [ -L e ] || fail 'e is no link any more'
}

test_a_read_only_directory() {
    in_small_disk 2M '
        mount -o remount,ro disk
        expect 1 bload pack -q v -T 45 -o disk/d :err-like "Read-only file system"
        expect 1 bload scan -q v -o disk/table.tsv'
}
