#!/bin/bash
# Pieces of a compressed block, by the size of its frames: how large the shards are, and how long the Python package takes to read a
# document of 4 KB out of a block of 4 MiB, from the page cache: documents at random, and one after the other as they lie there. The table of
# docs/performance.md.
#
#     bench/pieces.sh [TOKENIZER [TEXT]]   gpt2-tokenizer.json of $BLOAD_SHARED, and the english.txt of bench/text_corpus.sh
set -eu
cd "$(dirname "$0")/.."
tokenizer=${1:-${BLOAD_SHARED:-../shared}/data/tokenizers/gpt2-tokenizer.json}
text=${2:-build/bench/text/english.txt}
work=build/bench/pieces
[ -e "$tokenizer" ] || tokenizer=bytes
[ -e "$text" ] || bench/text_corpus.sh >&2
python=$(scripts/readers-venv.sh)
mkdir -p "$work"

# Documents of some 4 KB, cut at lines.
python3 - "$text" "$work/documents.jsonl" <<'END'
import json, sys
with open(sys.argv[1], encoding="utf-8", newline="") as text, open(sys.argv[2], "w", encoding="utf-8") as out:
    while lines := text.readlines(4096):
        out.write(json.dumps({"text": "".join(lines)}, ensure_ascii=False) + "\n")
END

ways=(none 64M 1M 256K 64K 16K 4K)
for way in "${ways[@]}"; do
    options=(--compress zstd --frame-size "$way")
    [ "$way" != none ] || options=()
    rm -rf "${work:?}/$way"
    ./bload pack -q "$work/documents.jsonl" --tokenizer "$tokenizer" -T 1048576 "${options[@]}" -o "$work/$way"
done

PYTHONPATH=python "$python" - "$work" "${ways[@]}" <<'END'
import os, sys, time
import numpy as np
import bload

def seconds(path, rows):
    """Of a document, the best of three rounds; the first opens the shards."""
    dataset, times = bload.open(path), []
    for _ in range(4):
        begin = time.perf_counter()
        for row in rows:
            dataset.sequence(row)
        times.append((time.perf_counter() - begin) / len(rows))
    return min(times[1:])

print("| frames of | shards, MB | at random, ms | in order, ms |\n|---|---|---|---|")
for way in sys.argv[2:]:
    path = os.path.join(sys.argv[1], way)
    placed = bload.open(path)._index.sequence
    random = np.random.default_rng(1).choice(placed, 200, replace=False).tolist()
    size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(f"{path}/shards") for name in names)
    name = "not compressed" if way == "none" else f"`{way}`"
    print(f"| {name} | {size / 1e6:.1f} | {1e3 * seconds(path, random):.3f} | {1e3 * seconds(path, placed[2000:2400].tolist()):.3f} |")
END
