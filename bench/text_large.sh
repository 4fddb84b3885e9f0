#!/bin/bash
# MB of text a second on one processor over a large corpus: English, code and many languages, a third each, in which no document comes
# twice and new words come as often as in the texts they are made of (bench/lengthen.c says how, and prints both). Beside gigatoken and
# fastokens, whose caches pay there; they must give as many tokens.
#
#     bench/text_large.sh [GB [FOLDER]]      10, build/bench: FOLDER needs a third of it; half an hour
#
# Tokenizers are looked for in BLOAD_SHARED. What is measured is time of the processor; each runs once.
set -eu
cd "$(dirname "$0")/.."
gigabytes=${1:-10}
folder=${2:-build/bench}
texts=build/bench/text
venv=build/bench-venv
shared=${BLOAD_SHARED:-../shared}/data/tokenizers
core=$(($(nproc) - 1))

[ -e "$texts/many.txt" ] || bench/text_corpus.sh >&2
[ -e "$venv" ] || python3 -m venv "$venv"
for peer in numpy tiktoken gigatoken==0.10.0 fastokens==0.3.5; do
    "$venv/bin/python" -c "import ${peer%%=*}" 2>/dev/null || "$venv/bin/pip" install -q "$peer" >/dev/null 2>&1 ||
        echo "$peer cannot be installed" >&2
done
make --no-print-directory build/release/tests/encode_text build/release/bench/lengthen >/dev/null
[ -e "$texts/o200k.json" ] || "$venv/bin/python" bench/text_peers.py json "$shared/o200k_base.tiktoken" o200k "$texts/o200k.json"
trap 'rm -f "$folder/large.docs"' EXIT

echo "$gigabytes GB, one processor, MB/s"
echo
echo '| | | bload | gigatoken | fastokens |'
echo '|---|---|---|---|---|'
for text in english code many; do
    build/release/bench/lengthen length $((gigabytes * 1000000000 / 3)) "$texts/$text.txt" >"$folder/large.docs"
    for tokenizer in "$shared/gpt2-tokenizer.json" "$texts/o200k.json"; do
        row="| $text | $(basename "$tokenizer" | sed 's/[.-].*//') |" tokens=
        for name in bload gigatoken fastokens; do
            if [ $name = bload ]; then
                figure=$(taskset -c "$core" build/release/tests/encode_text "$tokenizer" documents=length print=count 2>/dev/null \
                    <"$folder/large.docs" | awk '{ printf "%.1f %d", $2 / $3 / 1e6, $1 }')
            else
                figure=$(taskset -c "$core" "$venv/bin/python" bench/text_peers.py stream $name "$tokenizer" 2>/dev/null \
                    <"$folder/large.docs" || echo "- -")
            fi
            row+=" ${figure% *} |"
            [ "${figure#* }" = - ] || [ "${tokens:=${figure#* }}" = "${figure#* }" ] || echo "tokens of $name differ" >&2
        done
        echo "$row"
    done
done
