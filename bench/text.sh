#!/bin/bash
# MB of text a second on one processor: the tool's tokenizers beside tokenizers, tiktoken, gigatoken and fastokens, on English, code and
# many languages; every document once (bench/text_corpus.sh collects them). A peer that cannot be installed is named and left out.
#
#     bench/text.sh [RUNS]         each figure is the best of so many (3), all of them in alternation
#
# Tokenizers are looked for in BLOAD_SHARED. What is measured is time of the processor, so that others at work on the machine
# count less; the ids of all must be the same. It takes some five minutes where the machine is quiet, and as much before, once, to
# download the texts.
set -eu
cd "$(dirname "$0")/.."
runs=${1:-3}
texts=build/bench/text
venv=build/bench-venv
shared=${BLOAD_SHARED:-../shared}/data/tokenizers
core=$(($(nproc) - 1))
slow=4000000 # bytes that tokenizers gets, which is fifty times slower; tiktoken gets five times as many, and both run once

[ -e "$texts/many.txt" ] || bench/text_corpus.sh
[ -e "$venv" ] || python3 -m venv "$venv"
for peer in numpy tokenizers tiktoken gigatoken==0.10.0 fastokens==0.3.5; do
    "$venv/bin/python" -c "import ${peer%%=*}" 2>/dev/null || "$venv/bin/pip" install -q "$peer" >/dev/null 2>&1 ||
        echo "$peer cannot be installed" >&2
done
make --no-print-directory build/release/tests/encode_text >/dev/null
for text in english code many; do
    [ -e "$texts/$text.docs" ] || "$venv/bin/python" bench/text_peers.py documents "$texts/$text.txt" "$texts/$text.docs"
done
for name in cl100k o200k; do
    [ -e "$texts/$name.json" ] || "$venv/bin/python" bench/text_peers.py json "$shared/${name}_base.tiktoken" $name "$texts/$name.json"
done

peer() { # PEER TOKENIZER TEXT: MB/s, tokens, checksum
    local limit=
    [ "$1" = tokenizers ] && limit=$slow
    [ "$1" = tiktoken ] && limit=$((5 * slow))
    if [ "$1" = bload ]; then
        taskset -c "$core" build/release/tests/encode_text "$2" documents=length print=count <"${3%.txt}.docs" |
            awk '{ printf "%.1f %d\n", $2 / $3 / 1e6, $1 }'
    else
        taskset -c "$core" "$venv/bin/python" bench/text_peers.py "$1" "$2" "$3" $limit 2>/dev/null || echo "- -"
    fi
}

file_of() { # TOKENIZER PEER
    case $1 in
    gpt2) [ "$2" = tiktoken ] && echo "$shared/gpt2.tiktoken" || echo "$shared/gpt2-tokenizer.json" ;;
    gpt-neox) echo "$shared/gpt-neox-tokenizer.json" ;;
    *) [ "$2" = tiktoken ] && echo "$shared/${1}_base.tiktoken" || echo "$texts/$1.json" ;;
    esac
}

echo "one processor, English / code / many languages, MB/s; best of $runs"
echo
echo '| | gpt2 | cl100k | o200k | gpt-neox (NFC) |'
echo '|---|---|---|---|---|'
for name in bload tokenizers tiktoken gigatoken fastokens; do
    for tokenizer in gpt2 cl100k o200k gpt-neox; do
        for text in english code many; do
            echo "$name $tokenizer $text"
        done
    done
done >"$texts/jobs"
for ((run = 0; run < runs; run++)); do
    # The same text and tokenizer for all of them, then the next.
    sort -s -k2,3 "$texts/jobs" | while read -r name tokenizer text; do
        [ "$name$tokenizer" = tiktokengpt-neox ] || { [ "$run" -gt 0 ] && [[ "$name" = t* ]]; } ||
            echo "$name $tokenizer $text $(peer "$name" "$(file_of "$tokenizer" "$name")" "$texts/$text.txt")"
    done
done >"$texts/figures"
awk '
{ key = $1 " " $2 " " $3; if ($4 > best[key]) best[key] = $4
  if ($1 != "tokenizers" && $1 != "tiktoken" && $5 != "-") { if (tokens[$2 $3] && tokens[$2 $3] != $5) print "tokens differ: " $0 > "/dev/stderr"; tokens[$2 $3] = $5 } }
END { split("bload tokenizers tiktoken gigatoken fastokens", names); split("gpt2 cl100k o200k gpt-neox", kinds); split("english code many", texts)
  for (i = 1; i <= 5; i++) { row = "| " names[i]
    for (k = 1; k <= 4; k++) { cell = ""
      for (t = 1; t <= 3; t++) { v = best[names[i] " " kinds[k] " " texts[t]]; cell = cell (t > 1 ? "/" : "") (v == "" ? "-" : sprintf("%.0f", v)) }
      row = row " | " cell }
    print row " |" } }' "$texts/figures"
