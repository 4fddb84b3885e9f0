#!/bin/bash
# What the start of the program takes, where hardly anything is to be done: processor time of this tool beside another one, in turn.
#
#     bench/start.sh [OTHER]   another bload, such as that of the last version; without it, the figures of this one alone
#
# Each command runs ROUNDS times (50), in WORK: a folder in memory (/dev/shm), for a pack syncs 25 files, and the processor time of that is the file
# system's. The figures are milliseconds of user and system time per run.
set -eu
cd "$(dirname "$0")/.."
root=$PWD rounds=${ROUNDS:-50}
work=$(mktemp -d "${WORK:-/dev/shm}/bload-start-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
printf 'a line of text\n' >text.txt
for ((i = 1; i <= 10; i++)); do echo $((i * 7)); done >lengths
"$root/bload" pack -q text.txt --tokenizer bytes -T 16 -o dataset

# milliseconds TOOL WORD...: of the processor per run, the mean over a round of ten.
milliseconds() {
    local i
    rm -rf made-*
    TIMEFORMAT='%U %S'
    { time for ((i = 0; i < 10; i++)); do
        "${@/#made/made-$i}" >/dev/null 2>&1 || echo "$*: status $?" >&2
    done; } 2>&1 | awk '{ printf "%.2f\n", ($1 + $2) * 100 }'
}

median() {
    sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

commands=('--version' 'plan -q -T 80 --lengths lengths -o /dev/null' 'info dataset' 'verify -q dataset' 'view -q dataset -T 32 -o made'
    'pack -q text.txt --tokenizer bytes -T 16 -o made')
printf '%-52s %8s' command 'ms'
[ -z "${1-}" ] || printf ' %8s %8s' 'other ms' 'ratio'
echo
for words in "${commands[@]}"; do
    : >this
    : >other
    for ((round = 0; round < rounds / 10; round++)); do
        # shellcheck disable=SC2086 # words
        milliseconds "$root/bload" $words >>this
        # shellcheck disable=SC2086 # words
        [ -z "${1-}" ] || milliseconds "$1" $words >>other
    done
    printf '%-52s %8s' "bload $words" "$(median <this)"
    [ -z "${1-}" ] || printf ' %8s %8s' "$(median <other)" "$(awk -v a="$(median <this)" -v b="$(median <other)" 'BEGIN { printf "%.2f", a / b }')"
    echo
done
