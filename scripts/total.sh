#!/bin/sh
# Adds up the counts of every suite that ran (build/results/*.counts; see suite.sh): the last line of `make check` and .ci/run.
set -u
cat build/results/*.counts 2>/dev/null | awk '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit NR == 0 || failed > 0 || passed == 0
    }'
