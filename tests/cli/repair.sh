# bload pack on a finished dataset that lost shards: they are made again, with the same bytes, or it is said why not.
# shellcheck shell=bash disable=SC2317

# Four clips, each a shard of its own; the last one fails while it is packed.
setup() {
    fixtures v h264-30.mp4 mpeg4-40.avi vp9-24.webm failing-20.mov
    words=(-T 45 --size 16x16 --order keep --shard-size 1 -j 2)
}

shard() { echo "$1/shards/00000/shard-0000000$2.safetensors${3-}"; }

# Which files of a dataset are not the ones that they were: names, inodes, and times, as a new file may get the inode of a
# removed one.
inodes() { (cd "$1" && find . -type f -exec stat -c '%n %i %y' {} +) | sort; }

test_lost_and_cut_shards_are_made_again() {
    expect 3 bload pack -q v "${words[@]}" -o d
    cp -r d whole
    inodes d >before
    rm "$(shard d 0)" "$(shard d 3)"
    shorten 1 "$(shard d 2)"
    expect 1 bload status d :out 'dataset     incomplete, 2 of 4 shards are missing: '
    out_has 'next        run the same bload pack command to make the missing shards again'
    expect 1 bload finish d
    err_has 'd: 3 of 4 shards are missing or damaged, the first is shards/00000/shard-00000000.safetensors (bload status d shows more): run the same bload pack command to make them again'
    expect 3 bload pack v "${words[@]}" -o d :err 'failing-20.mov: the scan counted 20 frames, decoding gives 19' :same-as whole
    err_has 'bload: d: 3 of 4 shards are missing or damaged, the first is shards/00000/shard-00000000.safetensors (bload status d shows more): only these are made again'
    err_has 'bload: d: 3 shards were made again, with the same bytes; the dataset is complete'
    inodes d | diff before - >changed || true
    is 3 "$(grep -c '^> ' changed)" # all else was left alone
    expect 3 bload pack v "${words[@]}" -o d
    err_is <<<$'bload: d is already complete: nothing to do\nbload: 1 input failed: see d/sequences.tsv (exit status 3)'
}

test_by_tasks_and_after_a_kill() {
    words+=(--compress zstd)
    expect 3 bload pack -q v "${words[@]}" -o d
    cp -r d whole
    rm "$(shard d 0 .zst)" "$(shard d 1 .zst)" "$(shard d 3 .zst)"
    expect 3 bload pack v "${words[@]}" -o d --task 0/3
    expect 3 bload pack v "${words[@]}" -o d --task 2/3
    expect 1 bload finish d :err 'd: 1 of 4 shards is missing or damaged, the first is shards/00000/shard-00000001.safetensors.zst'
    [ -e d/.bload ] || fail 'the state is gone'
    expect 3 bload pack v "${words[@]}" -o d --task 1/3
    expect 3 bload finish d :err 'd is already complete'
    diff -r whole d
    # Other options are told as ever, and nothing is begun.
    rm "$(shard d 1 .zst)"
    expect 2 bload pack v "${words[@]}" -o d --fit crop :err 'fit is "stretch" there, not "crop"' :none d/.bload
    # What a run that was killed left behind does no harm.
    mkdir -p d/.bload/spool
    put d/.bload/sequences.tsv.part-x-1-00000000 'half a table\n' d/.bload/lock ''
    expect 3 bload pack -q v "${words[@]}" -o d :same-as whole
}

test_damaged_shards_with_repair() {
    expect 3 bload pack -q v "${words[@]}" -o d
    cp -r d whole
    printf x | dd of="$(shard d 1)" bs=1 seek=9000 conv=notrunc 2>/dev/null
    rm "$(shard d 2)"
    expect 3 bload pack v "${words[@]}" -o d --repair --task 1/2
    expect 3 bload pack v "${words[@]}" -o d --repair --task 0/2 :err 'shards/00000/shard-00000001.safetensors: block 1 of frames: checksum'
    expect 3 bload finish -q d
    diff -r whole d
    expect 3 bload pack v "${words[@]}" -o d --repair :err 'd is already complete'
    expect 2 bload pack v "${words[@]}" -o e --repair :err '--repair: e holds no finished dataset' :none e
}

# Documents, pieces, columns and JPEG files come again, too; an epoch's plan is left alone.
test_every_kind_of_shard() {
    printf '{"text": "document %06d of many words", "n": 1}\n' $(seq 0 400) >c.jsonl
    expect 0 bload pack -q c.jsonl --tokenizer bytes --keep n -T 50 --oversize split --shard-size 1K -o d
    expect 0 bload plan -q --dataset d --epochs 1
    cp -r d whole
    rm "$(shard d 3)" "$(shard d 4)"
    expect 0 bload pack -q c.jsonl --tokenizer bytes --keep n -T 50 --oversize split --shard-size 1K -o d :same-as whole
    rm v/failing-20.mov
    printf 'id,class\nh264-30,1\nmpeg4-40,2\nvp9-24,3\n' >classes.csv
    expect 0 bload pack -q v "${words[@]}" --encode jpeg --attributes classes.csv --max-length 35 -o e
    cp -r e other
    rm "$(shard e 1)"
    expect 0 bload pack -q v "${words[@]}" --encode jpeg --attributes classes.csv --max-length 35 -o e :same-as other
    expect 0 bload scan -q v -o table.tsv
    expect 0 bload plan -q -T 45 table.tsv -o plan.tsv
    expect 0 bload pack -q --sequences table.tsv --plan plan.tsv -T 45 --size 16x16 --shard-size 1 -o f
    cp -r f third
    rm "$(shard f 0)"
    expect 0 bload pack -q --sequences table.tsv --plan plan.tsv -T 45 --size 16x16 --shard-size 1 -o f :same-as third
}

test_what_cannot_be_made_again_is_told() {
    npy a.npy 400000 97
    touch -d 2001-01-01 a.npy
    words=(a.npy --kind array -T 100000 --oversize split --shard-size 1 --order keep)
    expect 0 bload pack -q "${words[@]}" -o d
    cp -r d whole
    # An edit in the middle, with the old time: the bytes tell.
    printf b | dd of=a.npy bs=1 seek=250000 conv=notrunc 2>/dev/null
    touch -d 2001-01-01 a.npy
    rm "$(shard d 2)"
    expect 1 bload pack -q "${words[@]}" -o d :err 'shard-00000002.safetensors differs from the one that it replaces' :none "$(shard d 2)"
    printf a | dd of=a.npy bs=1 seek=250000 conv=notrunc 2>/dev/null
    touch -d 2001-01-01 a.npy
    expect 0 bload pack -q "${words[@]}" -o d :same-as whole
    # Files beside the shards.
    for name in shards.tsv sequences.tsv index.safetensors; do
        mv d/$name kept
        expect 1 bload pack -q "${words[@]}" -o d :err "d/$name"
        expect 1 bload finish d :err "d/$name"
        mv kept d/$name
    done
}

# The manifest is lost, and perhaps more: shards are taken as they are where that can be told, and nothing of another configuration is.
test_a_lost_manifest() {
    expect 3 bload pack -q v "${words[@]}" -o d
    cp -r d whole
    inodes d >before
    rm d/manifest.json "$(shard d 3)"
    expect 2 bload finish d
    # Made otherwise: found by the first shard, before anything is taken.
    expect 1 bload pack v "${words[@]}" --pad repeat -o d :err 'differs from the one that it replaces'
    [ -z "$(find d -newer d/shards.tsv -name '*.safetensors')" ] || fail 'a shard was replaced'
    expect 3 bload pack v "${words[@]}" -o d :err 'd lost its manifest: 2 shards are kept' :same-as whole
    inodes d | grep shards/ | diff <(grep shards/ before) - >changed || true
    is 3 "$(grep -c '^> ' changed)" # the lost one, that of the failing clip, and the first of the others
    # By tasks.
    rm d/manifest.json "$(shard d 1)"
    expect 3 bload pack -q v "${words[@]}" -o d --task 0/3 # the failing clip
    for task in 1 2; do expect 0 bload pack -q v "${words[@]}" -o d --task $task/3; done
    expect 3 bload finish -q d
    diff -r whole d
    # More is lost.
    rm d/manifest.json d/index.safetensors "$(shard d 1)"
    expect 3 bload pack -q v "${words[@]}" -o d :same-as whole
    rm d/manifest.json d/shards.tsv
    expect 2 bload pack v "${words[@]}" -o d :err 'which is no part of an unfinished dataset'
}
