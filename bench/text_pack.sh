#!/bin/bash
# MB of text a second from JSONL to verified shards, by processor time, which other work on the machine disturbs least: scan alone
# (tokenizing), pack (tokenizing, planning, writing), verify, and the last two together. English, code and many languages, each
# document once; a corpus of one's own instead:
#
#     bench/text_pack.sh [TOKENIZER [CORPUS.jsonl]]      gpt2-tokenizer.json of $BLOAD_SHARED, and bench/text_corpus.sh's texts
set -eu
cd "$(dirname "$0")/.."
shared=${BLOAD_SHARED:-../shared}/data/tokenizers
tokenizer=${1:-$shared/gpt2-tokenizer.json}
[ -e "$tokenizer" ] || tokenizer=bytes
texts=build/bench/text
dataset=build/bench/text-packed
runs=3

# Documents of some 4 KB, cut at lines.
make_corpus() { # TEXT JSONL
    python3 - "$1" "$2.part" <<'END'
import json, sys
with open(sys.argv[1], encoding="utf-8", newline="") as text, open(sys.argv[2], "w", encoding="utf-8") as out:
    while lines := text.readlines(4096):
        out.write(json.dumps({"text": "".join(lines)}, ensure_ascii=False) + "\n")
END
    mv "$2.part" "$2"
}

# processor COMMAND...: seconds, the best of so many runs; the dataset is removed before each but for verify.
processor() {
    local best="" seconds
    for ((run = 0; run < runs; run++)); do
        [ "$2" = verify ] || rm -rf "$dataset"
        seconds=$({ TIMEFORMAT='%U %S'; time "$@" >/dev/null 2>"$texts/messages" || { cat "$texts/messages" >/dev/tty; exit 1; }; } 2>&1 |
            awk '{ print $1 + $2 }')
        best=$(awk -v a="$best" -v b="$seconds" 'BEGIN { print a == "" || b + 0 < a + 0 ? b : a }')
    done
    echo "$best"
}

row() { # NAME JSONL
    local bytes scan pack verify
    bytes=$(stat -c %s "$2")
    scan=$(processor ./bload scan -q -j1 "$2" --tokenizer "$tokenizer")
    pack=$(processor ./bload pack -q -j1 "$2" --tokenizer "$tokenizer" -T 2048 --oversize split -o "$dataset")
    verify=$(processor ./bload verify -j1 "$dataset")
    awk -v name="$1" -v bytes="$bytes" -v s="$scan" -v p="$pack" -v v="$verify" \
        'BEGIN { m = bytes / 1e6; printf "| %s | %.0f | %.1f | %.1f | %.0f | %.1f |\n", name, m, m / s, m / p, m / v, m / (p + v) }'
}

echo "$(basename "$tokenizer"), -T 2048, one worker, MB of JSONL a processor second; best of $runs"
echo
echo '| | MB | scan | pack | verify | pack and verify |'
echo '|---|---|---|---|---|---|'
if [ $# -gt 1 ]; then
    mkdir -p "$texts"
    row "$(basename "$2")" "$2"
else
    [ -e "$texts/many.txt" ] || bench/text_corpus.sh >&2
    for text in english code many; do
        [ -e "$texts/$text.jsonl" ] || make_corpus "$texts/$text.txt" "$texts/$text.jsonl"
        row $text "$texts/$text.jsonl"
    done
fi
rm -rf "$dataset"
