# bload export: other formats, going on, tasks, and bload verify of what it wrote. The released loaders read them in tests/torch.
# shellcheck shell=bash disable=SC2317

# dataset [OPTION...]: 40 documents in blocks of 64 tokens, in d.
dataset() {
    awk 'BEGIN { for (i = 0; i < 40; i++) printf "{\"text\": \"%0*d\"}\n", 1 + i * 7919 % 60, i }' >docs.jsonl
    expect 0 bload pack -q docs.jsonl --tokenizer bytes -T 64 "$@" -o d
}

test_each_format() {
    dataset
    for format in mds webdataset energon megatron; do
        expect 0 bload export --to $format d --shard-size 2K -o $format
        err_has "$format: $(bload info d --json | sed -n 's/^ *"blocks": \([0-9]*\),/\1/p' | head -1) blocks in "
        expect 0 bload verify $format :err "$format: verified, no errors: "
        expect 0 bload verify $format --against d :err ", equal to d"
        [ ! -e $format/.bload ] || fail ".bload is left"
        before=$(cd $format && find . -type f -exec cksum {} + | sort)
        expect 0 bload export --to $format d --shard-size 2K -o $format :err "$format is already complete: nothing to do"
        expect 0 bload export -q -j 3 --to $format d --shard-size 2K -o again
        is "$before" "$(cd again && find . -type f -exec cksum {} + | sort)"
        rm -rf again
    done
    is "$(tar xOf webdataset/blocks-000000.tar 00000000.tokens.npy | tail -c 128 | cksum)" \
        "$(tar xOf energon/blocks-000000.tar 00000000.tokens.npy | tail -c 128 | cksum)"
}

test_a_view_and_compression() {
    dataset --store
    expect 0 bload view -q d -T 64 -o v
    expect 0 bload export -q --to mds v --compress zstd:7 -o z
    # One frame with the size of its content, as the loader wants it.
    is 1 "$(zstd -lv z/shard.00000.mds.zstd | sed -n 's/^# Zstandard Frames: //p')"
    is "$(zstd -qdc z/shard.00000.mds.zstd | wc -c)" "$(zstd -lv z/shard.00000.mds.zstd | sed -n 's/^Decompressed Size:.*(\([0-9]*\) B)/\1/p')"
    expect 0 bload verify z --against v
    expect 2 bload verify z --against d :err 'z was not made of d as it is now'
}

# What a piece repeats of the one before is told, where there is room for it.
test_repeated_steps() {
    dataset -T 20 --oversize split --overlap 6
    for format in mds webdataset energon; do
        expect 0 bload export -q --to $format d -o $format
        expect 0 bload verify -q $format --against d
    done
    for name in source_start repeated; do tar xOf webdataset/blocks-000000.tar 00000007.$name.npy >$name.npy; done
    python3 - <<'END'
import struct
first, repeated = (open(name + ".npy", "rb").read() for name in ("source_start", "repeated"))
S = (len(first) - 128) // 8
assert b"'<i4'" in repeated and len(repeated) == 128 + 4 * S
first, repeated = struct.unpack(f"<{S}q", first[128:]), struct.unpack(f"<{S}i", repeated[128:])
assert [6 if one else 0 for one in first] == list(repeated), (first, repeated)
END
    expect 2 bload export --to megatron d -o m :err 'the dataset repeats steps (--overlap 6)'
}

test_ids() {
    dataset
    for format in mds webdataset energon; do
        expect 0 bload export -q --ids --to $format d --shard-size 8K -o $format
        expect 0 bload verify $format --against d
        for task in 1 0; do expect 0 bload export -q --ids --task $task/2 --to $format d --shard-size 8K -o again; done
        expect 0 bload export -q --ids --to $format d --shard-size 8K -o again :same-as $format
        expect 2 bload export -q --to $format d --shard-size 8K -o $format :err 'ids is "true" there, and not recorded here'
        rm -rf again
    done
    is 'docs.jsonl#0' "$(tar xOf webdataset/blocks-000000.tar 00000000.ids.json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0])')"
    expect 0 bload info mds :out 'with the ids of their sequences in '
    expect 2 bload export --ids --to megatron d -o m :err '--ids: files of megatron have tokens alone, and no place for ids'
    sed -i s/docs.jsonl#0/docs.jsonl#9/ mds/shard.00000.mds
    expect 1 bload verify mds --against d :err 'shard.00000.mds: it differs from the dataset after '
    awk -F '\t' 'BEGIN { print "id,ids" } NR > 1 { print $1 "," NR }' d/sequences.tsv >ids.csv
    expect 0 bload pack -q docs.jsonl --tokenizer bytes -T 64 --attributes ids.csv -o named
    expect 2 bload export --ids --to mds named -o m :err '--ids: the dataset has a field or attribute of the name ids already' :none m
}

test_lost_and_damaged_files() {
    dataset
    expect 0 bload export -q --to mds d --shard-size 1K -o e
    cp -r e whole
    printf X | dd of=e/shard.00001.mds bs=1 seek=700 conv=notrunc status=none
    truncate -s 600 e/shard.00002.mds
    rm e/shard.00003.mds
    expect 1 bload verify e :err 'shard.00001.mds: wrong checksum: the file is damaged' 'shard.00003.mds: cannot open ' 'e has 3 errors'
    expect 1 bload verify e --against d :err 'shard.00001.mds: it differs from the dataset after ' :err 'shard.00002.mds: it ends after 600 bytes of content'
    # What is lost or cut is made again; what has its size, bload verify tells of.
    expect 0 bload export -q --to mds d --shard-size 1K -o e
    expect 1 bload verify e --against d :err 'e has 1 error'
    rm e/shard.00001.mds
    expect 0 bload export -q --to mds d --shard-size 1K -o e :same-as whole
    sed -i s/xxh3_64/xxh3_65/ e/index.json
    expect 1 bload verify e --against d :err 'index.json: it differs'
    expect 0 bload verify e
    cp e/export.json kept.json
    sed 's/shard.00000.mds/../' kept.json >e/export.json
    expect 1 bload verify e :err 'e/export.json: the name of a file is invalid'
    sed 's/"bytes": [0-9]*/"bytes": 9223372036854775807/' kept.json >e/export.json
    expect 1 bload info e :err 'e/export.json: its files have more bytes than there can be'
    given e/export.json 'x\n' expect 1 bload verify e :err 'e/export.json: line 1: '
}

test_going_on_and_tasks() {
    dataset
    expect 0 bload export -q --to energon d --shard-size 2K -o whole
    for task in 2 0; do expect 0 bload export --task $task/3 --to energon d --shard-size 2K -o e; done
    err_has 'e, task 0 of 3: done; ' ' are missing yet'
    expect 2 bload export --task 1/3 --to energon d --shard-size 3K -o e :err 'shard-size is "2048" there'
    expect 0 bload export --task 1/3 --to energon d --shard-size 2K -o e :err 'run the command without --task to finish the export' :none e/export.json
    # A file without its record, and a record without its file, are made again.
    rm e/.bload/shard-00000001.record e/blocks-000002.tar
    cp d/manifest.json e/blocks-000001.tar
    expect 0 bload export -q --to energon d --shard-size 2K -o e :same-as whole
    # The one file of megatron is begun again.
    expect 0 bload export -q --to megatron d -o one
    expect 0 bload export --task 0/2 --to megatron d -o m :err '1 of 1 file is missing yet'
    given m/.bload/shard-00000000.data 'half' expect 0 bload export -q --to megatron d -o m :same-as one
}

test_what_is_refused() {
    dataset
    expect 2 bload export d -o e :err '--to must be given'
    expect 2 bload export --to mds d :err '-o must be given'
    expect 2 bload export --to parquet d -o e
    expect 2 bload export --to webdataset --compress zstd d -o e :err 'readers of webdataset take plain files only'
    expect 2 bload export --to mds docs.jsonl -o e
    expect 2 bload export --to mds d -o d :err 'd holds a dataset or a view: give another -o'
    given other/notes.txt '' expect 2 bload export --to mds d -o other :err 'other holds notes.txt'
    is notes.txt "$(ls -A other)"
    expect 2 bload export --to mds d -o missing/e
    expect 2 bload verify d --against d :err '--against is for what bload export wrote' :none e
    # Another export stays as it is.
    expect 0 bload export -q --to mds d -o e
    expect 2 bload export --to energon d -o e :err 'to is "mds" there, not "energon"'
    expect 2 bload export --to mds --shard-size 1K d -o e
    expect 0 bload verify -q e --against d
}

test_a_damaged_dataset_ends_it() {
    dataset --compress zstd
    shard=$(echo d/shards/*/*)
    printf XXXX | dd of="$shard" bs=1 seek=100 conv=notrunc status=none
    expect 1 bload export --to mds d -o e :err "$shard" :none e/index.json
}

test_info() {
    dataset
    expect 0 bload export -q --task 0/2 --to mds d --shard-size 1K -o e
    for command in status info; do expect 1 bload $command e :err 'e is an unfinished export to mds: run the same bload export command to resume'; done
    expect 0 bload export -q --to mds d --shard-size 1K -o e
    expect 1 bload status e :err 'e is an export, and finished: bload info describes it, bload verify checks it'
    expect 2 bload pack -q docs.jsonl --tokenizer bytes -T 64 -o e
    expect 0 bload export -q --to mds d --shard-size 1K --compress zstd:5 -o z
    digest=$(bload info --json d | sed -n 's/^  "checksum": "\(.*\)",/\1/p')
    expect 0 bload info z
    out_is <<END
export      mds, read by MosaicML Streaming: streaming.StreamingDataset
dataset     ../d, its manifest's checksum is $digest
blocks      $(bload info --json d | word blocks) in $(find z -name 'shard.*' | wc -l) files
size        13.0 KiB, zstd level 5: $(cat z/shard.* | wc -c | awk '{ printf "%.1f", $1 / 1024 }') KiB
made by     $(bload --version | head -n 1)
END
    expect 0 bload info --json z
    is "mds ../d $digest 5 null" "$(for name in export dataset dataset_checksum compress_level field; do word $name <"$OUT"; done | xargs)"
    is "$(cat z/shard.* | wc -c) $(find z -name 'shard.*' | wc -l)" "$(word file_bytes <"$OUT") $(word files <"$OUT")"
    expect 0 bload export -q --to megatron --field tokens d -o g
    expect 0 bload info g :out 'field       tokens' ', not compressed'
    # One that this version cannot describe is no dataset either.
    sed -i 's/to: mds/to: wds/' z/export.json
    expect 1 bload info z :err 'z/export.json: this version does not know its configuration'
    sed -i 's/"dataset"/"data"/' z/export.json
    expect 1 bload info z :err 'z/export.json: it has no configuration, or no dataset'
}

# What python -m bload.parquet --write leaves.
test_info_of_packed_parquet() {
    put packed/bload.json '{"dataset": "0123456789abcdef", "plan_digest": "a4b483fead7fbead", "field": "tokens", "loss_mask": null, "part_bytes": 5}\n'
    put packed/metadata.json '[{"dataset_max_seqlen": 9, "pack_size": 4096}]\n'
    head -c 2048 /dev/zero >packed/part-00000.parquet
    head -c 1024 /dev/zero >packed/part-00001.parquet
    expect 0 bload info packed
    out_is <<'END'
export      packed Parquet, read by NVIDIA Megatron-Bridge
dataset     its manifest's checksum is 0123456789abcdef
field       tokens
blocks      T = 4,096, in 2 files of 3.0 KiB
END
    is '4096 2 3072' "$(bload info --json packed | word T) $(bload info --json packed | word files) $(bload info --json packed | word file_bytes)"
    given packed/metadata.json '[{}]\n' expect 1 bload info packed :err 'packed: bload.json or metadata.json: '
    rm packed/metadata.json
    expect 1 bload info packed :err 'packed is not a finished dataset'
}

# Numbers of the documents are in each format that has tables; of the others it is told what they lack.
test_numbers_of_documents() {
    printf '{"ids": [%d, 2], "m": [0, 1], "w": %d.5}\n' 1 1 3 3 >n.jsonl
    expect 0 bload pack -q n.jsonl --key ids --field loss_mask=m:u8 --keep w:number -T 4 -o n
    for format in mds webdataset energon; do
        expect 0 bload export n --to $format -o n-$format
        ! grep 'left out' "$ERR" || fail "$format has all of it"
        expect 0 bload verify -q n-$format --against n
    done
    for again in '' 'n-megatron is already complete'; do
        expect 0 bload export n --to megatron --field tokens -o n-megatron
        err_has 'bload: files of megatron hold tokens only, so these fields are left out: loss_mask, w' "$again"
    done
}
