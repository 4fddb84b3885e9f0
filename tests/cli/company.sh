# Who meets again between the plans of a dataset, as bload info tells it.
# shellcheck shell=bash disable=SC2317

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
print("%.9f %.9f %d %d" % (d["met_again"], d["met_again_random"], *d["met_again_plans"]))'
}

test_info_tells_the_highest_share_between_epochs() {
    dataset -T 300 -o d
    expect 0 bload plan -q --dataset d --epochs 5 --seed 3
    is "$(highest d each)" "$(told d)"
    expect 0 bload info d
    read -r share random first second <<<"$(told d)"
    [ "$first" = 0 ] && first='the stored plan' || first="epoch $first"
    out_has "$(awk -v s="$share" -v r="$random" -v a="$first" -v b="$second" 'BEGIN {
        printf "company     at most %.2f %% of pairs meet again (%s and epoch %d; drawn at random: %.2f %%), between any two of 6 plans",
            100 * s, a, b, 100 * r }')"
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
    is true "$(bload info --json d | word met_again_each_pair)"
    expect 0 bload plan -q --dataset d --epochs 21
    is "$(highest d some)" "$(told d)"
    is false "$(bload info --json d | word met_again_each_pair)"
    expect 0 bload info d
    out_has 'between each of 22 plans and the next, and the stored one'
}

test_without_epochs_or_company_there_is_no_share() {
    dataset -T 300 -o d
    expect 0 bload info d
    grep -q ^company "$OUT" && fail 'company without epochs'
    for name in met_again met_again_random met_again_plans met_again_each_pair; do
        is null "$(bload info --json d | word $name)"
    done
    dataset --strategy naive -T longest -o alone
    expect 0 bload plan -q --dataset alone --epochs 2
    expect 0 bload info alone
    out_has 'company     3 plans, none puts two sequences together'
    is null "$(bload info --json alone | word met_again)"
}

test_a_damaged_plan_is_named() {
    dataset -T 300 -o d
    expect 0 bload plan -q --dataset d --epochs 2
    cp d/plans/epoch-00002.safetensors whole
    shorten 8 d/plans/epoch-00002.safetensors
    expect 1 bload info d
    err_has 'd/plans/epoch-00002.safetensors'
    python3 - <<'END'
import json, struct
data = bytearray(open("whole", "rb").read())
size = struct.unpack("<Q", data[:8])[0]
begin = 8 + size + json.loads(data[8:8 + size])["sequence"]["data_offsets"][0]
data[begin:begin + 8] = struct.pack("<q", 240)
open("d/plans/epoch-00002.safetensors", "wb").write(data)
END
    expect 1 bload info d
    err_has 'd/plans/epoch-00002.safetensors: the plan has sequence 240, of only 240'
    rm d/plans/epoch-00002.safetensors
    expect 1 bload info d
    err_has 'cannot open d/plans/epoch-00002.safetensors'
}
