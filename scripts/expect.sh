#!/bin/sh
# Counts each named suite as one failure until it has run (see suite.sh), so that one that does not even build is not forgotten.
set -eu
mkdir -p build/results
for name in "$@"; do
    echo 0 1 0 >"build/results/$name.counts"
done
