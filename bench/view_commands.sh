#!/bin/bash
# Seconds of the tutorial's commands, "One store, many runs": English text and code are tokenized once; what follows are views.
#
#     bench/view_commands.sh [FOLDER]      build/bench: FOLDER needs 500 MB
#
# Needs a tokenizer.json: gpt2-tokenizer.json in BLOAD_SHARED, or TOKENIZER.
set -eu
cd "$(dirname "$0")/.."
folder=$(realpath -m "${1:-build/bench}/view-commands")
tokenizer=$(realpath "${TOKENIZER:-${BLOAD_SHARED:-../shared}/data/tokenizers/gpt2-tokenizer.json}")
bload=$PWD/bload
texts=$PWD/build/bench/text
[ -e "$texts/many.txt" ] || bench/text_corpus.sh >&2
mkdir -p "$folder"
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# documents NAME SHARE FILE: documents of some 4 KB; web-new.jsonl has the last tenth of the English ones.
python3 - "$texts" <<'END_OF_SCRIPT'
import json, random, sys
random.seed(1)
def documents(name):
    with open(f"{sys.argv[1]}/{name}.txt", encoding="utf-8", newline="") as text:
        while lines := text.readlines(random.choice((500, 2000, 8000, 40000))):
            yield json.dumps({"text": "".join(lines)}, ensure_ascii=False) + "\n"
web, code = list(documents("english")), list(documents("code"))
month = len(web) * 9 // 10
for name, lines in (("web", web[:month]), ("web-new", web[month:]), ("code", code)):
    open(f"{name}.jsonl", "w", encoding="utf-8").write("".join(lines))
END_OF_SCRIPT

# timed COMMAND...: its seconds and what it made
timed() {
    { TIMEFORMAT='%R'; time "$bload" "$@" -q 2>messages || { cat messages >&2; exit 1; }; } 2>seconds
    printf '%7s s  %6s  bload %s\n' "$(cat seconds)" "$(du -sh "${*: -1}" | cut -f 1)" "${*/$tokenizer/gpt2.json}"
}

"$bload" pack code.jsonl --tokenizer "$tokenizer" --store -o code -q
timed pack web.jsonl --tokenizer "$tokenizer" --store -o web
timed view web -T 8192 --oversize split --split train=99%,val=1% --take train -o web-8k
timed view web -T 32768 -o web-32k
timed view web -T 131072 -o web-128k
timed view web=3 code=1 -T 8192 --oversize split --world-size 8 --epochs 4 -o mixed
timed view web -T 8192 --oversize split --split train=99%,val=1% --take val -o val
timed pack web-new.jsonl --tokenizer "$tokenizer" --store -o web-new
timed view web web-new -T 8192 --oversize split --mix random -o web-8k-new
for view in web-8k web-32k web-128k mixed val web-8k-new; do
    "$bload" verify -q "$view"
done
