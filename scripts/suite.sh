#!/bin/sh
# Runs the programs of one suite and counts what they say: suite.sh NAME PROGRAM...
#
# A program reports in one of three ways: lines "ok NAME", "not ok NAME", "skip NAME: REASON"; Check's summary ("100%: Checks: 5,
# Failures: 0, Errors: 0", with a line "skipped: REASON" from each test that could not run); or Python unittest's. One that says
# nothing of the kind counts as one test, by its exit status. One that reports no failure but exits with another status than 0 has
# failed once more: it died before its end. The log is build/results/NAME.log, the counts are in build/results/NAME.counts, the lines that
# name what failed, and why, in build/results/NAME.failed.
set -u

name=$1
shift
results=build/results
log=$results/$name.log
mkdir -p "$results"
: >"$log"
: >"$results/$name.failed"
limit=${SUITE_TIMEOUT:-1200}

count() {
    awk -v status="$1" '
        /^ok / { passed++; told = 1 }
        /^not ok / { failed++; told = 1 }
        /^skip / { skipped++; told = 1 }
        /^skipped: / { inside++ }
        /^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+$/ {
            gsub(/[:,]/, "")
            failed += $5 + $7
            passed += $3 - $5 - $7 - inside
            skipped += inside
            inside = 0
            told = 1
        }
        /^Ran [0-9]+ tests? in / { ran = $2; told = 1 }
        /^(OK|FAILED)( \(.*\))?$/ && ran != "" {
            bad = 0
            out = 0
            words = split($0, word, /[(), ]+/)
            for (i = 2; i <= words; i++) {
                split(word[i], pair, "=")
                if (pair[1] == "failures" || pair[1] == "errors") bad += pair[2]
                if (pair[1] == "skipped") out += pair[2]
            }
            failed += bad
            skipped += out
            passed += ran - bad - out
            ran = ""
        }
        END {
            if (!told && status == 0) passed++
            if (status != 0 && failed == 0) failed++
            print passed + 0, failed + 0, skipped + 0
        }'
}

# The lines that name what failed, each with the last lines that a command test printed before it, which say why.
failures() {
    awk '
        /^    / { reason[++reasons] = $0; next }
        /^not ok |^(FAIL|ERROR): |^[^ ]+:[0-9]+:[FE]:/ {
            print
            for (i = reasons > 4 ? reasons - 3 : 1; i <= reasons; i++) print reason[i]
        }
        { reasons = 0 }'
}

said() {
    tail -c "+$start" "$log"
}

passed=0
failed=0
skipped=0
for program in "$@"; do
    echo "--- $program" >>"$log"
    # Into the log as it comes, so that one can watch; what this program said begins there.
    start=$(($(wc -c <"$log") + 1))
    # Who started this may ignore SIGINT, as a shell's background does; tests send it.
    env --default-signal=INT,QUIT timeout -k 10 "$limit" "$program" </dev/null >>"$log" 2>&1
    status=$?
    counts=$(said | count "$status")
    # shellcheck disable=SC2086 # three words
    set -- $counts
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + $3))
    if [ "$2" != 0 ]; then
        echo "--- $program (status $status)"
        said | grep -v '^ok ' | tail -n 200
        said | failures >"$results/$name.new"
        [ -s "$results/$name.new" ] || echo "$program: status $status" >"$results/$name.new"
        cat "$results/$name.new" >>"$results/$name.failed"
        rm "$results/$name.new"
    elif [ "$3" != 0 ]; then
        said | grep -E '^skip(ped:)? ' | sort | uniq -c | sed "s|^ *\([0-9]*\) |    $name: (\1) |"
    fi
done
echo "$passed $failed $skipped" >"$results/$name.counts"
echo "suite $name: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
