#!/bin/bash
# Long suites take turns in .ci/run: a third of their parts runs each time.
#
#     turn.sh                               prints whose turn it is: CI_TURN if that is set, else the number of commits modulo 3; or "all"
#     turn.sh SUITE [PREFIX...] <PARTS      prints the parts that are due; the names of the others go to build/results/SUITE.waiting
#
# Each line of PARTS is the name of a part, or its file or program, and what its sources begin with, if the name does not say that. The first
# part runs in turn 0, the second one in turn 1, the third one in turn 2, the fourth one in turn 0, and so on. Whatever the turn, a part also
# runs when one of its sources has changed, and all parts run when the path of a changed file begins with a PREFIX.
#
# Changed means: since the commit CI_SINCE, or else since the 24th commit before this one by first parents, or not yet committed. The last
# commit that had a suite's number is nearer, but CI may have seen only the last commit of a push, so that commit proves nothing. In a push
# of at most 24 commits every change is tested by the suites whose sources it changes. What merges bring in counts as changed, too.
#
# All parts run with CI_TURN=all, and where the commits are not known: without git, in a shallow clone, in a history that is too short. With no
# CI_TURN at all, as in `make valgrind` by hand, all parts of a suite are due.
set -u
shopt -s extglob nullglob
cd "$(dirname "$0")/.." || exit 2
since=${CI_SINCE:-HEAD~24}

# The tree itself must be the repository: an unpacked tarball may lie inside of another one.
history_is_known() {
    [ -e .git ] && [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = false ] && git rev-parse -q --verify "$since^{commit}" >/dev/null 2>&1
}

turn=${CI_TURN-}
case $turn in
'' | all | 0 | 1 | 2) ;;
*)
    echo "turn.sh: CI_TURN is $turn; it can be 0, 1, 2 or all" >&2
    exit 2
    ;;
esac
if [ $# = 0 ]; then
    if ! history_is_known; then
        echo all
    else
        echo "${turn:-$(($(git rev-list --count HEAD) % 3))}"
    fi
    exit
fi

# sources PART [PREFIX...]: what the paths of its sources begin with, one a line. A test program has its own file and the sources whose headers
# it includes; a header that is named as its folder stands for the folder. Tests of commands have the sources that share their noun.
sources() {
    local part=$1 file noun
    shift
    case ${part##*/} in
    test_*) file=tests/unit/${part##*/}.c ;;
    fuzz_*) file=tests/fuzz/${part##*/}.c ;;
    *) file=${part#"$PWD/"} ;;
    esac
    if [[ $file = tests/cli/*.sh ]]; then
        noun=$(basename "$file" .sh)
        set -- "$@" src/*/"$noun"* src/*/*/"$noun"*
    fi
    printf '%s\n' "$file" "$@"
    [ "${file%.c}" = "$file" ] || sed -nE 's,^#include "(([^"]*/)?([^"/]+)/\3)\.h".*,src/\2\3/,p; t; s,^#include "([^"]+)\.h".*,src/\1,p' "$file"
}

# has_changed: whether a changed path begins with a line of stdin.
has_changed() {
    local prefix path
    while read -r prefix; do
        for path in "${changed[@]}"; do
            [[ $path != "$prefix"* ]] || return 0
        done
    done
    return 1
}

suite=$1
shift
changed=()
everything=no
if [ -z "$turn" ] || [ "$turn" = all ] || ! history_is_known; then
    everything=yes
else
    mapfile -t changed < <(git diff --name-only --no-renames "$since" && git ls-files --others --exclude-standard)
    [ $# = 0 ] || ! printf '%s\n' "$@" | has_changed || everything=yes
fi
number=0
waiting=
while read -r part prefixes; do
    # shellcheck disable=SC2086 # words
    if [ $everything = yes ] || [ $((number % 3)) = "$turn" ] || sources "$part" $prefixes | has_changed; then
        echo "$part"
    else
        name=${part##*/}
        name=${name#@(test|fuzz)_}
        waiting+=" ${name%.sh}"
    fi
    number=$((number + 1))
done
[ -z "$waiting" ] || { mkdir -p build/results && echo "$suite:$waiting" >"build/results/$suite.waiting"; }
