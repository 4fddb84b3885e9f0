# Context parallelism: blocks that ranks can divide, in plans, datasets, views, epochs and exports, and what is refused.
# shellcheck shell=bash disable=SC2317,SC2086

setup() {
    python3 - <<'END'
import json, random
random.seed(7)
with open("t.jsonl", "w") as file:
    for i in range(90):
        file.write(json.dumps({"text": "".join(chr(random.randint(97, 122)) for _ in range(random.randint(1, 60)))}) + "\n")
END
}

# divides DIR N [FOLDER]: in each block of its shards, cu_seqlens_padded differs from cu_seqlens in the last end alone, and 2N divides all.
divides() {
    python3 - "$1" "$2" <<'END'
import glob, json, struct, sys
directory, chunks = sys.argv[1], 2 * int(sys.argv[2])
T, blocks, changed = json.load(open(directory + "/manifest.json"))["T"], 0, 0
for path in glob.glob(directory + "/shards/*/*.safetensors"):
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    def table(name):
        n, *rest = header[name]["shape"]
        begin, end = header[name]["data_offsets"]
        values = memoryview(data[8 + size + begin:8 + size + end]).cast("i").tolist()
        width = len(values) // n
        return [values[i * width:(i + 1) * width] for i in range(n)]
    for used, row, padded in zip(table("num_sequences"), table("cu_seqlens"), table("cu_seqlens_padded")):
        used, end = used[0], row[-1]
        assert padded[:used] == row[:used], (padded, row)
        assert padded[used:] == [-(-end // chunks) * chunks] * (len(row) - used), (padded, row)
        assert not any(at % chunks for at in padded) and T % chunks == 0 and padded[-1] <= T, padded
        blocks += 1
        changed += padded != row
assert blocks and changed, (blocks, changed)
END
}

test_datasets_views_and_epochs_have_the_table() {
    local options
    while read -r options; do
        expect 0 bload pack -q t.jsonl --tokenizer bytes -T 96 --cp 4 $options -j 1 -o d :verified :manifest format 5 :manifest cp 4
        [ -n "${options##*zstd*}" ] && divides d 4
        expect 0 bload pack -q t.jsonl --tokenizer bytes -T 96 --cp 4 $options -j 3 -o e :same-as d :removed
        rm -r d
    done <<'END'
--seed 3
--compress zstd --frame-size 4K
--remainder pad --world-size 7 --batch-size 5 --segment-ids
--oversize split -T 32 --shard-size 4K --sequence-slots 20
--fill paper
--order keep
END
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 96 --cp 4 -o d
    expect 0 bload info d :out 'cp          4 ranks: every sequence is padded to a multiple of 8 steps'
    expect 0 bload info d --json :word cp 4
    expect 0 bload plan -q --dataset d --epochs 3 :verified d
    # The plan is that of --align 8: padding behind the last sequence of a block takes nothing from others.
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 96 --align 8 -o e :same-in d index.safetensors :manifest format 1
    expect 0 bload view -q d -T 128 --cp 2 --epochs 2 -o v :verified :manifest format 6 :manifest cp 2
    expect 0 bload pack -q v -o copy :verified :manifest format 5 :manifest cp 2
    divides copy 2
    expect 0 bload view -q e -T 120 --align 12 --cp 2 -o w :verified
    expect 0 bload pack -q w -o copy12 :verified
    divides copy12 6
    # A view without --cp of a dataset with it has no such table.
    expect 0 bload view -q d -T 128 -o x :verified :manifest format 2
    expect 0 bload view -q d=1 e=2 -T 64 --cp 8 -o mixture :verified :manifest cp 8
    expect 0 bload export -q mixture --to mds -o mds
    expect 0 bload verify -q mds
}

test_given_plans_and_tasks() {
    expect 0 bload scan -q t.jsonl --tokenizer bytes -o s.tsv
    expect 0 bload plan -q -T 96 --cp 4 s.tsv -o p.safetensors --report r.json
    is 4 "$(word cp <r.json)"
    expect 0 bload plan -q -T 96 --cp 4 s.tsv -o p.tsv
    expect 0 bload pack -q --sequences s.tsv --tokenizer bytes --plan p.safetensors -T 96 --cp 4 -o a :verified
    expect 0 bload pack -q --sequences s.tsv --tokenizer bytes --plan p.tsv -T 96 --cp 4 -o b :verified
    divides a 4
    divides b 4
    # A binary plan says that it is for these ranks; --align alone agrees with it.
    expect 0 bload pack -q --sequences s.tsv --tokenizer bytes --plan p.safetensors -T 96 --align 8 -o said :verified :manifest cp 4
    divides said 4
    expect 0 bload plan -q --dataset said --epochs 2 :verified said
    sed -i 's/\("cp\\": \)4/\15/' p.safetensors
    expect 2 bload pack -q --sequences s.tsv --tokenizer bytes --plan p.safetensors -T 96 --align 8 -o no :err '--align must be a multiple of 10'
    expect 0 bload plan -q -T 99 --align 2 s.tsv -o q.tsv
    expect 2 bload pack -q --sequences s.tsv --tokenizer bytes --plan q.tsv -T 99 --align 2 --cp 1 -o no :err 'use -T 100 or -T 98' :none no/manifest.json
    expect 2 bload pack -q --sequences s.tsv --tokenizer bytes --plan p.tsv -T 96 --cp 8 -o c :err 'its starts are multiples of 8, not of --align 16'
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 96 --cp 4 -o d
    in_tasks 2 t.jsonl --tokenizer bytes -T 96 --cp 4 -o e :same-as d
}

test_a_damaged_table_is_found() {
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 96 --cp 4 -o d
    python3 - d/shards/00000/shard-00000000.safetensors <<'END'
import json, struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
size, = struct.unpack("<Q", data[:8])
data[8 + size + json.loads(data[8:8 + size])["cu_seqlens_padded"]["data_offsets"][1] - 4] ^= 8
open(sys.argv[1], "wb").write(data)
END
    expect 1 bload verify -q d :err 'cu_seqlens_padded of block ' 'differs from the plan'
}

test_other_tables_are_refused() {
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 96 --cp 4 -o d
    sed -i 's/"cp": 4/"cp": 5/' d/manifest.json
    expect 1 bload info d :err 'T = 96 is not a multiple of 10'
    sed -i 's/"cp": 5/"xp": 5/' d/manifest.json
    expect 1 bload info d :err 'format 5 without context parallelism ("cp")'
}

test_what_is_refused() {
    local option message
    echo 5 >l
    while IFS='|' read -r option message; do
        expect 2 bload plan -q --lengths l $option :err "$message"
    done <<'END'
-T 64 --cp 0|--cp expects a whole number from 1 to 1073741823, not "0"
-T 64 --cp -1|--cp expects a whole number from 1 to 1073741823, not "-1"
-T 64 --cp 1073741824|--cp expects a whole number from 1 to 1073741823, not "1073741824"
-T 64 --cp two|--cp expects a whole number
-T 64 --cp 3|T = 64 is not a multiple of 6, as --cp 3 needs: use -T 66 or -T 60
-T 6 --cp 8|T = 6 is not a multiple of 16, as --cp 8 needs: use -T 16
-T longest --cp 2|T = 5 is not a multiple of 4, as --cp 2 needs: use -T 8 or -T 4
-T 64 --cp 2 --align 6|--cp 2 divides each sequence into 4 chunks, so --align must be a multiple of 4, not 6: leave --align out, or give --align 8
-T 60 --cp 2 --align 8|T = 60 is not a multiple of 8, as --cp 2 needs: use -T 64 or -T 56
-T 64 --cp 2 --strategy naive|--cp has no effect without --strategy block
END
    expect 2 bload pack -q t.jsonl --tokenizer bytes -T 98 --cp 4 -o d :err 'use -T 104 or -T 96'
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 96 -o e
    expect 2 bload view -q e -T 98 --cp 4 -o v :err 'use -T 104 or -T 96'
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 96 --cp 1 -o one :verified
    divides one 1
}
