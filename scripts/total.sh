#!/bin/sh
# Adds up the counts of every suite that ran (build/results/*.counts; see suite.sh): the last line of `make check` and .ci/run. Before it,
# what failed is named once more, with what the test said last, for the reader of a log that was cut.
set -u
for counts in build/results/*.counts; do
    name=$(basename "$counts" .counts)
    read -r _ failed _ <"$counts" || continue
    [ "$failed" != 0 ] || continue
    if [ -s "build/results/$name.failed" ]; then
        head -n 40 "build/results/$name.failed" | cut -c 1-300 | sed "s|^|$name: |"
    else
        echo "$name: did not run to its end"
    fi
done
cat build/results/*.counts 2>/dev/null | awk '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit NR == 0 || failed > 0 || passed == 0
    }'
