#!/bin/bash
# The paper's comparison: what it costs, and what it gives, to train on sequences that were padded, sampled, cut or packed. Half an
# hour; docs/paper.md tells what is measured. Anything else at work on the machine shows in the seconds, and in nothing else.
#
#     bench/paper.sh [--quick] [--data plaid|vowels|lengths] [--seeds N] [--epochs N] [--rounds N] [--part N] [--hidden N]
#
# --help tells what the options are.
#
# Needs torch and a fast BLAS (scripts/deps.sh torch bench), and for the labelled data the wheel of sktime 1.2.0, of which only files are
# taken (8 MB). It takes 3 GB in build/bench/paper, which is cleared at the end; the whole of Action Genome (--part 1) takes 9 GB.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
work=$root/build/bench/paper
wheel=$work/sktime-1.2.0-py3-none-any.whl
mkdir -p "$work"
python=$(scripts/torch-venv.sh)

if [ ! -e "$wheel" ]; then
    part=$(mktemp -d "$work/wheel.XXXXXX")
    if "$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: -d "$part" sktime==1.2.0 >&2; then
        mv "$part/${wheel##*/}" "$wheel"
    else
        echo "bench/paper.sh: PLAID and JapaneseVowels are left out: pip cannot download sktime" >&2
    fi
    rm -rf "$part"
fi
export BLOAD=${BLOAD:-$root/bload} PYTHONPATH=$root/python
exec "$python" -B bench/paper.py --work "$work" --wheel "$wheel" "$@"
