# .ci/run itself, over stand-ins for make and for what the stages run.
# shellcheck shell=bash disable=SC2317

# ci STAGE [OPTION]: that stage fails; what was run is in the file ran. One test of valgrind waits for its turn.
ci() {
    unset CI_TURN CI_SINCE
    mkdir -p clone/.ci clone/scripts bin
    cp "$BLOAD_ROOT/.ci/run" clone/.ci/
    cp "$BLOAD_ROOT"/scripts/{expect,total,suite,turn}.sh clone/scripts/
    : >ran
    printf '#!/bin/sh\necho set-up >>%s/ran\n[ %s != set-up ]\n' "$PWD" "$1" >clone/scripts/deps.sh
    cat >bin/make <<END
#!/bin/sh
while case \$1 in -*) ;; *) false ;; esac; do shift; done
case \$1 in [0-9]*) shift; set -- "\${@:-build}" ;; esac
for what; do
    echo "\$what" >>"$PWD/ran"
    [ "$1" != "\$what" ] || exit 2
    case \$what in
    build) set -- ;;
    asan) set -- asan-unit asan-cli asan-hostile ;;
    tsan) set -- tsan-unit tsan-cli ;;
    *) set -- "\${what#check-}" ;;
    esac
    for suite; do scripts/suite.sh "\$suite" true; done
    [ "\$what" != valgrind ] || echo 'valgrind: csv' >build/results/valgrind.waiting
done
END
    chmod +x clone/scripts/deps.sh bin/make
    PATH=$PWD/bin:$PATH clone/.ci/run ${2+"$2"}
}

test_a_stage_that_the_others_need_ends_it() {
    expect 1 ci set-up --quick
    is 'set-up' "$(paste -s -d ' ' ran)"
    is '0 passed, 1 failed, 0 skipped' "$(tail -n 1 "$OUT")"
    expect 1 ci build --quick
    is 'set-up build' "$(paste -s -d ' ' ran)"
    is '0 passed, 1 failed, 0 skipped' "$(tail -n 1 "$OUT")"
}

test_any_other_stage_does_not() {
    expect 1 ci lint --quick
    is 'set-up build check-suites lint' "$(paste -s -d ' ' ran)"
    is '1 passed, 1 failed, 0 skipped' "$(tail -n 1 "$OUT")"
    expect 0 ci none --quick
    is '2 passed, 0 failed, 0 skipped' "$(tail -n 1 "$OUT")"
}

# What waits is listed, and is in none of the numbers.
test_all_of_it() {
    expect 0 ci none
    is 'set-up build check-suites lint laws fault check-hostile check-slurm check-torch check-remote-quick check-ddp check-slow asan tsan fuzz valgrind' \
        "$(paste -s -d ' ' ran)"
    out_has '--- turn all'
    is '--- waiting for another turn than all (make check-all runs all)|    valgrind: csv|17 passed, 0 failed, 0 skipped' "$(tail -n 3 "$OUT" | paste -s -d '|')"
    expect 1 ci tsan
    is '15 passed, 2 failed, 0 skipped' "$(tail -n 1 "$OUT")"
    CI_TURN=4 expect 1 clone/.ci/run :err-is 'turn.sh: CI_TURN is 4; it can be 0, 1, 2 or all'
    is '0 passed, 1 failed, 0 skipped' "$(tail -n 1 "$OUT")"
}

# A repository of so many commits, with the sources that the tests of turns name; the working directory is there.
history() {
    command -v git >/dev/null || skip 'no git'
    unset CI_TURN CI_SINCE
    export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x
    mkdir -p repository/{scripts,tests/unit,src/{base,kind/video}}
    cp "$BLOAD_ROOT/scripts/turn.sh" repository/scripts/
    cd repository || exit
    put tests/unit/test_a.c '#include "base/csv.h"\n#include "unit.h"\n' tests/unit/test_b.c '#include <stdio.h>\n#include "kind/video/video.h"\n'
    touch tests/unit/test_{c,d}.c tests/unit/unit.h src/base/{csv,io}.c src/kind/video/count.c
    echo build >.gitignore
    git init -q
    git add .
    git commit -q -m 1
    more "$(($1 - 1))"
}

more() {
    local i
    for ((i = 0; i < $1; i++)); do git commit -q --allow-empty -m more; done
}

all='a b c d view video bombs'

# due EXPECTED [VARIABLE=VALUE...]: which parts run; these and those that wait are all there are.
due() {
    local expected=$1 parts
    shift
    parts=$(printf '%s\n' build/tests/test_{a,b,c,d} 'view src/cmd/view' tests/cli/{video,bombs}.sh | env "$@" scripts/turn.sh some tests/run)
    parts=$(sed 's|.*/||; s|^test_||; s|\.sh$||' <<<"$parts" | paste -s -d ' ')
    is "$expected" "$parts"
    is 'a b bombs c d video view' "$({ echo "$parts" && sed 's/.*://' build/results/some.waiting; } 2>/dev/null | xargs -n 1 | sort | paste -s -d ' ')"
    rm -rf build
}

test_a_turn_is_the_number_of_commits() {
    history 25
    for turn in 1 2 0 1; do
        is $turn "$(scripts/turn.sh)"
        is 2 "$(CI_TURN=2 scripts/turn.sh)"
        is all "$(CI_TURN=all scripts/turn.sh)"
        more 1
    done
    expect 2 env CI_TURN=3 scripts/turn.sh :err-is 'turn.sh: CI_TURN is 3; it can be 0, 1, 2 or all'
}

test_each_part_has_one_turn() {
    history 25
    due 'a d bombs' CI_TURN=0
    due 'b view' CI_TURN=1
    due 'c video' CI_TURN=2
    due "$all" CI_TURN=all
    due "$all" CI_TURN=
}

# A changed file, and what then runs in turn 2: before it is added, and as a commit.
test_what_has_changed_runs_in_any_turn() {
    history 25
    while read -r path expected; do
        mkdir -p "${path%/*}"
        echo '/* */' >>"$path"
        due "$expected" CI_TURN=2
        git add .
        git commit -q -m change
        due "$expected" CI_TURN=2
        git reset -q --hard HEAD~
    done <<'END'
src/base/csv.c a c video
src/base/csv.h a c video
src/base/io.c c video
src/kind/video/count.c b c video
tests/unit/test_d.c c d video
src/cmd/view.c c view video
src/cmd/view_levels.c c view video
tests/cli/bombs.sh c video bombs
tests/run a b c d view video bombs
docs/page.md c video
END
    git rm -q src/base/csv.c
    due 'a c video' CI_TURN=2
    git commit -q -m change
    due 'c video' CI_TURN=2 CI_SINCE=HEAD
    echo >>src/kind/video/count.c
    due 'a b d video bombs' CI_TURN=0 CI_SINCE=HEAD
}

test_a_change_counts_for_24_commits() {
    history 25
    echo >>src/base/csv.c
    git commit -q -a -m change
    more 23
    due 'a c video' CI_TURN=2
    more 1
    due 'c video' CI_TURN=2
    due 'a c video' CI_TURN=2 CI_SINCE=HEAD~25
}

# However old its commits are.
test_what_a_merge_brings_is_a_change() {
    history 1
    git checkout -q -b side
    echo >>src/base/csv.c
    git commit -q -a -m change
    git checkout -q -
    more 25
    due 'c video' CI_TURN=2
    git merge -q -m merge side
    due 'a c video' CI_TURN=2
}

test_all_run_where_the_commits_are_not_known() {
    history 25
    git clone -q --depth 25 "file://$PWD" ../shallow
    mkdir unpacked
    cp -r scripts src tests unpacked
    for place in ../shallow "$PWD/unpacked"; do
        (
            cd "$place" || exit
            is all "$(scripts/turn.sh)"
            is all "$(CI_TURN=2 scripts/turn.sh)"
            due "$all" CI_TURN=2
        )
    done
    due 'c video' CI_TURN=2
    due "$all" CI_TURN=2 CI_SINCE=nowhere
    git checkout -q HEAD~
    is all "$(scripts/turn.sh)"
    due "$all" CI_TURN=2
}
