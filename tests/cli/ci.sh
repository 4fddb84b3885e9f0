# .ci/run itself, over stand-ins for make and for what the stages run.
# shellcheck shell=bash disable=SC2317

# ci STAGE: that stage fails; what was run is in the file ran.
ci() {
    mkdir -p clone/.ci clone/scripts bin
    cp "$BLOAD_ROOT/.ci/run" clone/.ci/
    cp "$BLOAD_ROOT"/scripts/{expect,total,suite}.sh clone/scripts/
    : >ran
    printf '#!/bin/sh\necho set-up >>%s/ran\n[ %s != set-up ]\n' "$PWD" "$1" >clone/scripts/deps.sh
    cat >bin/make <<END
#!/bin/sh
for what; do :; done
case \$what in [0-9]*) what=build ;; esac
echo "\$what" >>"$PWD/ran"
[ "$1" != "\$what" ] || exit 2
[ "\$what" = build ] || scripts/suite.sh "\${what#check-}" true
END
    chmod +x clone/scripts/deps.sh bin/make
    PATH=$PWD/bin:$PATH clone/.ci/run --quick
}

test_a_stage_that_the_others_need_ends_it() {
    expect 1 ci set-up
    is 'set-up' "$(paste -s -d ' ' ran)"
    is '0 passed, 1 failed, 0 skipped' "$(tail -n 1 "$OUT")"
    expect 1 ci build
    is 'set-up build' "$(paste -s -d ' ' ran)"
    is '0 passed, 1 failed, 0 skipped' "$(tail -n 1 "$OUT")"
}

test_any_other_stage_does_not() {
    expect 1 ci lint
    is 'set-up build check-suites lint' "$(paste -s -d ' ' ran)"
    is '1 passed, 1 failed, 0 skipped' "$(tail -n 1 "$OUT")"
    expect 0 ci none
    is '2 passed, 0 failed, 0 skipped' "$(tail -n 1 "$OUT")"
}
