# How often pairs of sequences share a block in several plans of a dataset, as bload info prints it.
# shellcheck shell=bash disable=SC2317,SC2086

# A dataset of documents of 1 to 60 bytes: dataset OPTION...
dataset() {
    mkdir -p texts
    awk 'BEGIN { for (i = 0; i < 240; i++) { printf "{\"text\": \""; n = 1 + i * 37 % 60; for (k = 0; k < n; k++) printf "a"; print "\"}" } }' >texts/a.jsonl
    expect 0 bload pack -q texts --tokenizer bytes "$@"
}

# Prints the highest share of pairs of a later plan that share a block in an earlier one, what is expected at random, and the two
# epochs, with every pair of sequences looked up in turn: highest DIR each|some
highest() {
    python3 - "$@" <<'END'
import itertools, json, pathlib, struct, sys

def plan(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + size])
    def table(name):
        begin, end = head[name]["data_offsets"]
        return struct.unpack(f"<{(end - begin) // 8}q", data[8 + size + begin:8 + size + end])
    block_ptr, pieces = table("block_ptr"), list(zip(table("sequence"), table("source_start")))
    pairs = {frozenset(p) for a, b in zip(block_ptr, block_ptr[1:]) for p in itertools.combinations(pieces[a:b], 2)}
    return pairs, len(pieces)

folder = pathlib.Path(sys.argv[1])
plans = [plan(p) for p in [folder / "index.safetensors"] + sorted(folder.glob("plans/*"))]
best = None
for i, j in itertools.combinations(range(len(plans)), 2):
    if sys.argv[2] == "each" or i == 0 or j == i + 1:
        share = len(plans[i][0] & plans[j][0]) / len(plans[j][0])
        if best is None or share > best[0]:
            best = share, len(plans[i][0]) / (plans[i][1] * (plans[i][1] - 1) / 2), i, j
print("%.9f %.9f %d %d" % best)
END
}

# The same as the tool tells it.
told() {
    bload info --json "$1" | python3 -c 'import json, sys
d = json.load(sys.stdin)
print("%.9f %.9f %d %d" % (d["pair_repeat_rate"], d["pair_repeat_rate_random"], *d["pair_repeat_rate_plans"]))'
}

test_info_tells_the_highest_share_between_epochs() {
    dataset -T 300 -o d
    expect 0 bload plan -q --dataset d --epochs 5 --seed 3
    is "$(highest d each)" "$(told d)"
    expect 0 bload info d
    read -r share random first second <<<"$(told d)"
    [ "$first" = 0 ] && first='the stored plan' || first="epoch $first"
    out_has "$(awk -v s="$share" -v r="$random" -v a="$first" -v b="$second" 'BEGIN {
        printf "pairs       repeat rate %.2f %% at most (%s and epoch %d; random blocks: %.2f %%), between any two of 6 plans",
            100 * s, a, b, 100 * r }')"
}

# partitions PLAN.tsv...: who shares a block in each plan, one line each.
partitions() {
    python3 - "$@" <<'END'
import csv, sys
for path in sys.argv[1:]:
    blocks = {}
    for row in csv.DictReader(open(path), delimiter="\t"):
        blocks.setdefault(row["block"], []).append((int(row["sequence"]), int(row["source_start"])))
    print(sorted(sorted(b) for b in blocks.values()))
END
}

test_no_epoch_repeats_another_or_the_stored_plan() {
    mkdir texts
    awk 'BEGIN { for (i = 0; i < 60; i++) { printf "{\"text\": \""; n = 5 + i * 37 % 61; for (k = 0; k < n; k++) printf "a"; print "\"}" } }' >texts/a.jsonl
    for seed in 0 3; do # the stored seed is that of epoch 1, and of epoch 4
        expect 0 bload pack -q texts --tokenizer bytes -T 300 --seed $seed -o "d$seed"
        expect 0 bload plan --dataset "d$seed" --epochs 6 :err-lacks earlier
        awk -v share="$(bload info --json "d$seed" | word pair_repeat_rate)" 'BEGIN { exit !(share < 0.5) }' || fail "seed $seed"
        expect 0 bload plan --dataset "d$seed" --epochs 6 :err 'nothing to do'
        rm "d$seed/plans/epoch-00002.safetensors"
        cp -r "d$seed/plans" before
        expect 0 bload plan -q --dataset "d$seed" --epochs 7
        is "" "$(cd before && find . -type f -exec cmp {} "../d$seed/plans/{}" \;)"
        rm -r before
        expect 0 bload verify -q "d$seed"
    done
    # Three sequences of two lengths: two packings, of which one is stored.
    given few '2\n3\n3\n' expect 0 bload plan -T 5 --lengths few --epochs 2 -o few.tsv :err-lacks earlier
    is 2 "$(partitions few-*.tsv | sort -u | wc -l)"
    expect 0 bload plan -q -T 5 --lengths few --epochs 3 -o few.tsv
    err_has 'of 3 plans, 1 repeats the blocks of an earlier plan: no other packing in as many blocks was found'
    expect 0 bload plan -T 5 --lengths few --order keep --epochs 3 -o few.tsv
    err_has 'of 3 plans, 2 repeat the blocks of an earlier plan: --order keep allows no other'
    { echo '{"text": "aa"}'; echo '{"text": "aaa"}'; echo '{"text": "aab"}'; } >few.jsonl
    expect 0 bload pack -q few.jsonl --tokenizer bytes --store -o store
    for options in '' '--mix random'; do
        expect 0 bload view -q store -T 5 $options --epochs 2 -o "v$options" :err-lacks earlier
        is 0.0 "$(bload info --json "v$options" | word pair_repeat_rate)"
    done
    expect 0 bload view -q store -T 5 --epochs 3 -o v3 :err 'of 3 plans, 1 repeats'
    cp -r store again
    expect 0 bload view -q store again -T 5 --mix batch --epochs 3 -o both :err 'of 3 plans, 1 repeats'
}

# Earlier versions made epoch 1 of the stored seed the stored plan again.
test_an_older_plan_that_repeats_is_kept_and_named() {
    mkdir texts
    awk 'BEGIN { for (i = 0; i < 60; i++) { printf "{\"text\": \""; n = 5 + i * 37 % 61; for (k = 0; k < n; k++) printf "a"; print "\"}" } }' >texts/a.jsonl
    expect 0 bload pack -q texts --tokenizer bytes -T 400 -o d
    mkdir d/plans
    expect 0 bload plan -q -T 400 d/sequences.tsv -o d/plans/epoch-00001.safetensors
    python3 - <<'END'
import ctypes, json
xxh3 = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
xxh3.argtypes, xxh3.restype = [ctypes.c_char_p, ctypes.c_size_t], ctypes.c_uint64
digest = lambda data: "%016x" % xxh3(data, len(data))
name = "plans/epoch-00001.safetensors"
plan, manifest = open("d/" + name, "rb").read(), json.load(open("d/manifest.json"))
manifest["files"].append({"name": name, "bytes": len(plan), "checksum": digest(plan)})
manifest["checksum"] = "0" * 16
manifest["checksum"] = digest(json.dumps(manifest).encode())
json.dump(manifest, open("d/manifest.json", "w"))
END
    cp d/plans/epoch-00001.safetensors older
    expect 0 bload plan -q --dataset d --epochs 2
    err_has 'of the plans that were already there, 1 repeats the blocks of an earlier plan'
    same older d/plans/epoch-00001.safetensors
    is 1.0 "$(bload info --json d | word pair_repeat_rate)"
    expect 2 bload plan --dataset d --epochs 2 --seed 7 :err 'has other plans than these'
    expect 0 bload plan -q --dataset d --epochs 0
    expect 0 bload plan --dataset d --epochs 2 :err-lacks earlier
    awk -v share="$(bload info --json d | word pair_repeat_rate)" 'BEGIN { exit !(share < 0.5) }' || fail 'repeats'
}

test_pieces_of_cut_sequences_meet_again() {
    dataset -T 30 --oversize split -o d
    expect 0 bload plan -q --dataset d --epochs 4
    is "$(highest d each)" "$(told d)"
}

test_of_more_than_20_epochs_not_every_pair_is_compared() {
    dataset -T 200 -o d
    expect 0 bload plan -q --dataset d --epochs 20
    is "$(highest d each)" "$(told d)"
    is true "$(bload info --json d | word pair_repeat_rate_each_pair)"
    expect 0 bload plan -q --dataset d --epochs 21
    is "$(highest d some)" "$(told d)"
    is false "$(bload info --json d | word pair_repeat_rate_each_pair)"
    expect 0 bload info d :out 'between each of 22 plans and the next, and the stored one'
}

test_without_epochs_or_pairs_there_is_no_share() {
    dataset -T 300 -o d
    expect 0 bload info d
    grep -q "^pairs " "$OUT" && fail "pairs without epochs"
    for name in pair_repeat_rate pair_repeat_rate_random pair_repeat_rate_plans pair_repeat_rate_each_pair; do is null "$(bload info --json d | word $name)"; done
    dataset --strategy naive -T longest -o alone
    expect 0 bload plan -q --dataset alone --epochs 2
    expect 0 bload info alone :out 'pairs       3 plans, no block of which holds two sequences'
    is null "$(bload info --json alone | word pair_repeat_rate)"
}

test_a_damaged_plan_is_named() {
    dataset -T 300 -o d
    expect 0 bload plan -q --dataset d --epochs 2
    cp d/plans/epoch-00002.safetensors whole
    shorten 8 d/plans/epoch-00002.safetensors
    expect 1 bload info d :err 'd/plans/epoch-00002.safetensors'
    python3 - <<'END'
import json, struct
data = bytearray(open("whole", "rb").read())
size = struct.unpack("<Q", data[:8])[0]
begin = 8 + size + json.loads(data[8:8 + size])["sequence"]["data_offsets"][0]
data[begin:begin + 8] = struct.pack("<q", 240)
open("d/plans/epoch-00002.safetensors", "wb").write(data)
END
    expect 1 bload info d :err 'd/plans/epoch-00002.safetensors: the plan has sequence 240, of only 240'
    rm d/plans/epoch-00002.safetensors
    expect 1 bload info d :err 'cannot open d/plans/epoch-00002.safetensors'
}
