#!/bin/bash
# make demo-text: packs a dictionary of English, 40 MB of text that Debian has in one of its packages, with a tokenizer that is
# trained on it here, verifies the dataset and shows what came out.
#
# Everything lies under build/demo-text.
set -eu -o pipefail
cd "$(dirname "$0")/.."
demo=build/demo-text
dataset=$demo/dataset
packages=dict-gcide
source scripts/demo_parts.sh

# dictzip is gzip with an index: it is read as it is.
if [ ! -e "$demo/gcide.txt.gz" ]; then
    say "Fetching $packages"
    fetch
    mv "$demo/packages/files/usr/share/dictd/gcide.dict.dz" "$demo/gcide.txt.gz"
    rm -rf "$demo/packages"
fi

# A byte-level BPE as GPT-2's, of 8,192 tokens, learnt from the first 8 MB.
train() {
    "$1" - "$demo" <<'END'
import gzip, sys
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
with gzip.open(sys.argv[1] + "/gcide.txt.gz") as file:
    text = file.read(8_000_000).decode(errors="replace")
tokenizer.train_from_iterator(text.split("\n\n"), trainers.BpeTrainer(
    vocab_size=8192, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
tokenizer.save(sys.argv[1] + "/tokenizer.json")
END
}

tokenizer=bytes
eos=256
if python=$(scripts/readers-venv.sh); then
    [ -e "$demo/tokenizer.json" ] || { say "Training a tokenizer on the first 8 MB" && train "$python"; }
    tokenizer=$demo/tokenizer.json
    eos='<|endoftext|>'
fi

pack "$demo/gcide.txt.gz" --documents blank-line --tokenizer "$tokenizer" --eos "$eos" -T 2048 --oversize split

report '
    printf "%d documents of %.1f MB became %d tokens in %d blocks of %d.\n", word["sequences"], bytes / 1e6, word["steps"], word["blocks"], word["T"]
    printf "Padding: %d tokens, so %.2f %% of the blocks are data. %.2f bytes of text a token.\n", word["padding"], 100 * word["efficiency"], bytes / word["steps"]
    printf "Decompressed, tokenized, planned, packed and written: %.1f MB of text a second on %d processors.\n", bytes / 1e6 / seconds, processors' \
    bytes="$(gzip -dcq <"$demo/gcide.txt.gz" | wc -c)"

show_block tokens 'the tokens, and where each document begins'
