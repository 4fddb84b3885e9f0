#!/bin/bash
# MB of text a second from JSONL to verified shards, by processor time, which other work on the machine disturbs least: scan alone
# (tokenizing), pack (tokenizing, planning, writing), and verify. The corpus is each document once:
#
#     bench/text_pack.sh TOKENIZER [CORPUS.jsonl]      build/bench/text.jsonl, from what lies in $BLOAD_SHARED, when not given
set -eu
cd "$(dirname "$0")/.."
tokenizer=${1:-bytes}
corpus=${2:-build/bench/text.jsonl}
dataset=build/bench/text
mkdir -p build/bench

# Paragraphs of the shared texts.
if [ ! -e "$corpus" ]; then
    shared=${BLOAD_SHARED:-../shared}/data/corpora
    python3 - "$corpus" "$shared"/*.txt <<'END'
import json, sys
with open(sys.argv[1] + ".part", "w", encoding="utf-8") as out:
    for path in sys.argv[2:]:
        text = open(path, encoding="utf-8", newline="").read()
        for at in range(0, len(text), 3000):
            out.write(json.dumps({"text": text[at:at + 3000]}, ensure_ascii=False) + "\n")
END
    mv "$corpus.part" "$corpus"
fi
bytes=$(stat -c %s "$corpus")

# measure NAME COMMAND...: the best of three.
measure() {
    local name=$1 best=
    shift
    for _ in 1 2 3; do
        rm -rf "$dataset.new"
        read -r wall processor < <(TIMEFORMAT='%R %U %S'; { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1, $2 + $3 }')
        best=$(awk -v b="$best" -v p="$processor" -v w="$wall" 'BEGIN { split(b, o); print b == "" || p < o[1] ? p " " w : b }')
    done
    awk -v name="$name" -v bytes="$bytes" -v best="$best" 'BEGIN { split(best, t); printf "| %-24s | %8.1f | %6.2f | %6.2f |\n", name, bytes / 1e6 / t[1], t[1], t[2] }'
}

echo "$((bytes / 1000000)) MB of JSONL, $(basename "$tokenizer"), one worker; best of three"
echo
echo '| | MB per processor second | processor s | wall s |'
echo '|---|---|---|---|'
measure 'scan' ./bload scan -q -j1 "$corpus" --tokenizer "$tokenizer"
measure 'pack' ./bload pack -q -j1 "$corpus" --tokenizer "$tokenizer" -T 2048 --oversize split -o "$dataset.new"
[ -d "$dataset.new" ] || ./bload pack -q -j1 "$corpus" --tokenizer "$tokenizer" -T 2048 --oversize split -o "$dataset.new"
measure_verify() { ./bload verify -j1 "$dataset"; }
rm -rf "$dataset"
mv "$dataset.new" "$dataset"
measure 'verify' measure_verify
