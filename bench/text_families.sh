#!/bin/bash
# MB of text a second on one processor for released tokenizers of every family, beside the fastest of those that take them: tokenizers,
# gigatoken, fastokens, kitoken, sentencepiece. English, code and many languages, every document once.
#
#     bench/text_families.sh [RUNS]      each figure is the best of so many (2); a quarter of an hour
#
# Tokenizers are looked for in BLOAD_SHARED (compressed by xz). What is measured is time of the processor. A peer counts if it gives
# as many tokens.
set -eu
cd "$(dirname "$0")/.."
runs=${1:-2}
texts=build/bench/text
venv=build/bench-venv
shared=${BLOAD_SHARED:-../shared}/data/tokenizers/more
core=$(($(nproc) - 1))
slow=2000000 # bytes of text for peers; gigatoken and fastokens get fifteen times as many
families=(llama2.model phi-3-mini.json codestral.json t5-small.json deepseek-v3.json falcon.json clip.json)

[ -e "$texts/many.txt" ] || bench/text_corpus.sh >&2
[ -e "$venv" ] || python3 -m venv "$venv"
for peer in numpy tokenizers gigatoken==0.10.0 fastokens==0.3.5 kitoken==0.11.1 sentencepiece; do
    "$venv/bin/python" -c "import ${peer%%=*}" 2>/dev/null || "$venv/bin/pip" install -q "$peer" >/dev/null 2>&1 ||
        echo "$peer cannot be installed" >&2
done
make --no-print-directory build/release/tests/encode_text >/dev/null
for name in "${families[@]}"; do
    xz -dc "$shared/$name.xz" >"$texts/$name"
done

# encode NAME TOKENIZER DOCUMENTS: MB/s and tokens.
encode() {
    if [ "$1" = bload ]; then
        taskset -c "$core" build/release/tests/encode_text "$2" documents=length print=count 2>/dev/null <"$3" |
            awk '{ printf "%.1f %d\n", $2 / $3 / 1e6, $1 }'
    else
        taskset -c "$core" "$venv/bin/python" bench/text_peers.py stream "$1" "$2" 2>/dev/null <"$3" || true
    fi
}

peers() { # TOKENIZER: those that may take it
    case $1 in
    *.model) echo sentencepiece kitoken ;;
    *) echo gigatoken fastokens kitoken tokenizers ;;
    esac
}

echo "one processor, English / code / many languages, MB/s; best of $runs"
echo
echo '| | bload | the fastest other |'
echo '|---|---|---|'
for tokenizer in "${families[@]}"; do
    mine='' others=''
    for text in english code many; do
        best=0 other=0 other_name=-
        for bytes in $slow $((15 * slow)); do
            [ -e "$texts/$text.$bytes.docs" ] ||
                "$venv/bin/python" bench/text_peers.py documents "$texts/$text.txt" "$texts/$text.$bytes.docs" "$bytes"
        done
        for ((run = 0; run < runs; run++)); do
            read -r rate _ < <(encode bload "$texts/$tokenizer" "$texts/$text.$((15 * slow)).docs")
            best=$(printf '%s\n' "$rate" "$best" | sort -g | tail -n 1)
            for peer in $(peers "$tokenizer"); do
                documents=$texts/$text.$slow.docs
                case $peer in gigatoken | fastokens) documents=$texts/$text.$((15 * slow)).docs ;; esac
                read -r _ wanted < <(encode bload "$texts/$tokenizer" "$documents")
                read -r rate tokens < <(encode "$peer" "$texts/$tokenizer" "$documents") || continue
                [ "$tokens" = "$wanted" ] || continue
                [ "$(printf '%s\n' "$rate" "$other" | sort -g | tail -n 1)" = "$other" ] || { other=$rate other_name=$peer; }
            done
        done
        mine+=${mine:+/}$(printf '%.0f' "$best")
        others+="${others:+, }$(printf '%.0f' "$other") ($other_name)"
    done
    echo "| ${tokenizer%%.*} | $mine | $others |"
done
