#!/bin/bash
# Seconds from JSONL to verified shards with one worker and with several, beside scripts around gigatoken and fastokens with as many
# processes (bench/text_peers.py pack), which write ids and lengths, but no blocks, and verify nothing. English, code and many
# languages in turn, documents of some 4 KB, each once; and 2 GB that are made of them, with as many new words (bench/lengthen.c).
#
#     bench/text_workers.sh [WORKERS [RUNS [FOLDER]]]      2, 3, build/bench: FOLDER needs 10 GB; /dev/shm leaves the disk out
#
# Each figure is the best of so many runs, all in alternation: seconds, and seconds of the processor. Tokenizers are looked for in
# BLOAD_SHARED. Nothing else should run on the machine.
set -eu
cd "$(dirname "$0")/.."
workers=${1:-2}
runs=${2:-3}
folder=${3:-build/bench}/text-workers
texts=build/bench/text
venv=build/bench-venv
tokenizer=${BLOAD_SHARED:-../shared}/data/tokenizers/gpt2-tokenizer.json

[ -e "$texts/many.txt" ] || bench/text_corpus.sh >&2
[ -e "$venv" ] || python3 -m venv "$venv"
for peer in numpy gigatoken==0.10.0 fastokens==0.3.5; do
    "$venv/bin/python" -c "import ${peer%%=*}" 2>/dev/null || "$venv/bin/pip" install -q "$peer" >/dev/null 2>&1 ||
        echo "$peer cannot be installed" >&2
done
make --no-print-directory build/release/bench/lengthen >/dev/null
mkdir -p "$folder"
trap 'rm -rf "$folder"' EXIT

python3 - "$texts" "$folder/once.jsonl" <<'END_OF_SCRIPT'
import json, random, sys
documents = []
for name, share in (("english", 34_000_000), ("code", 26_000_000), ("many", 19_000_000)):
    with open(f"{sys.argv[1]}/{name}.txt", encoding="utf-8", newline="") as text:
        while share > 0 and (lines := text.readlines(4096)):
            documents.append(json.dumps({"text": "".join(lines)}, ensure_ascii=False) + "\n")
            share -= len(documents[-1].encode())
random.seed(1)
random.shuffle(documents)
open(sys.argv[2], "w", encoding="utf-8").write("".join(documents))
END_OF_SCRIPT

# measure COMMAND...: seconds, and seconds of the processor.
measure() {
    { TIMEFORMAT='%R %U %S'; time "$@" >/dev/null 2>"$folder/messages" || { cat "$folder/messages" >/dev/tty; exit 1; }; } 2>&1 |
        awk '{ print $1, $2 + $3 }'
}

job() { # NAME JSONL
    case $1 in
    bload-*)
        rm -rf "$folder/out"
        measure ./bload pack -q "-j${1#*-}" "$2" --tokenizer "$tokenizer" -T 2048 --oversize split -o "$folder/out"
        ;;
    verify-*) measure ./bload verify -q "-j${1#*-}" "$folder/out" ;;
    *)
        rm -rf "$folder/out"
        measure "$venv/bin/python" bench/text_peers.py pack "$1" "$tokenizer" "$2" "$folder/out" "$workers"
        ;;
    esac
}

for size in once long; do
    [ $size = once ] ||
        build/release/bench/lengthen jsonl 2000000000 "$texts"/{english,code,many}.txt >"$folder/long.jsonl" 2>"$folder/messages"
    for ((run = 0; run < runs; run++)); do
        for name in bload-1 verify-1 "bload-$workers" "verify-$workers" gigatoken fastokens; do
            echo "$size $name $(job "$name" "$folder/$size.jsonl")"
        done
    done
done >"$folder/figures"
awk -v n="$workers" '
!(($1, $2) in wall) || $3 < wall[$1, $2] { wall[$1, $2] = $3 }
!(($1, $2) in used) || $4 < used[$1, $2] { used[$1, $2] = $4 }
END {
    print "| seconds (of the processor) | 79 MB | 2 GB |\n|---|---|---|"
    split("bload-1 bload-" n " verify-1 verify-" n " gigatoken fastokens", names)
    for (i = 1; i <= 6; i++)
        printf "| %s | %.2f (%.2f) | %.2f (%.2f) |\n", names[i], wall["once", names[i]], used["once", names[i]],
            wall["long", names[i]], used["long", names[i]]
    for (k = 1; k <= 2; k++) {
        s = k == 1 ? "once" : "long"
        all = wall[s, "bload-" n] + wall[s, "verify-" n]
        faster = wall[s, "gigatoken"] < wall[s, "fastokens"] ? wall[s, "gigatoken"] : wall[s, "fastokens"]
        printf "%s: %d workers %.2f times one; packed and verified %.2f times the faster script\n", k == 1 ? "79 MB" : "2 GB", n,
            wall[s, "bload-1"] / wall[s, "bload-" n], faster / all
    }
}' "$folder/figures"
