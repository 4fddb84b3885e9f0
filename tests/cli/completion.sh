# What shells complete, by the scripts that bload completion prints.
# shellcheck shell=bash disable=SC2016,SC2034,SC2317

commands() { bload --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }

# The long flags and the short ones of a command's help, one a line.
flags() { bload "$1" --help | sed -n 's/^  \(-[A-Za-z]\|   \),\{0,1\}[ ]*\(--[a-z-]*\)\{0,1\}.*/\1\n\2/p' | grep -- - | sort -u; }

# "--pad zero repeat": the options of which the help lists nothing but words.
choices() { bload "$1" --help | sed -nE 's/^ *(-[A-Za-z], )?(--[a-z-]*) ([a-z0-9|-]*[|][a-z0-9|-]*)( .*)?$/\2 \3/p' | tr '|' ' '; }

# in_bash WORD...: what bash completes the last word to, one a line, sorted.
in_bash() {
    bash --norc -c '
        source ./bload.bash
        COMP_WORDS=(bload "$@") COMP_CWORD=$#
        _bload
        [ ${#COMPREPLY[@]} = 0 ] || printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | sort
}

in_fish() { fish --no-config -c 'source ./bload.fish; complete -C "$argv"' "bload $*" | sed 's/\t.*//' | sort; }

scripts() {
    mkdir -p folder bin
    echo >file.tsv
    [ -e bin/bload ] || ln -s "$BLOAD" bin/bload
    export PATH=$PWD/bin:$PATH
    bload completion "$1" >"bload.$1"
}

# every SHELL: each command, its options, and the values of those that have a choice.
every() {
    local command option values
    diff <({ commands && echo help; } | sort) <("in_$1" '')
    diff <(commands | sort) <("in_$1" help '')
    for command in $(commands); do
        diff -u --label "$command --help" --label "$1" <(flags "$command" | grep ^--) <("in_$1" "$command" -- | grep ^--)
        diff -u --label "$command --help" --label "$1" <(flags "$command" | grep '^-[A-Za-z]') <("in_$1" "$command" - | grep '^-[A-Za-z]$')
        while read -r option values; do
            diff -u --label "$command $option" --label "$1" <(tr ' ' '\n' <<<"$values" | sort) <("in_$1" "$command" "$option" '')
        done < <(choices "$command")
    done
    [ "$(choices pack | wc -l)" -gt 15 ] || fail 'the choices of pack were not found'
}

# values SHELL: files, directories, words besides, nothing.
values() {
    is file.tsv "$("in_$1" pack fil)"
    is file.tsv "$("in_$1" pack --sequences fil)"
    is folder/ "$("in_$1" pack -o f | sed 's/[^/]$/&\//')"
    is folder/ "$("in_$1" info f | sed 's/[^/]$/&\//')"
    is bytes "$("in_$1" pack --tokenizer by)"
    is file.tsv "$("in_$1" pack --tokenizer fil)"
    is '' "$("in_$1" pack --seed f)"
    is "$(printf 'auto\nlongest')" "$("in_$1" pack -T '')"
    is "$(printf 'none\nzstd')" "$("in_$1" pack --compress '')"
    is "$(printf 'bash\nfish\nzsh')" "$("in_$1" completion '')"
    is crop "$("in_$1" pack videos --size 2x2 --fit c)"
}

test_bash_knows_every_command_and_option() {
    scripts bash
    every bash
}

test_bash_completes_values() {
    scripts bash
    values bash
    is crop "$(in_bash pack --fit = c)"
    is "$(printf 'crop\npad\nstretch')" "$(in_bash pack --fit =)"
}

test_a_terminal_with_bash() {
    scripts bash
    python3 "$BLOAD_ROOT/tests/cli/typed.py" bash --norc -i <<'END'
. ./bload.bash; echo lo''aded\n	loaded
bload pa\t	pack
bload pack --fit=c\t	--fit=crop
bload pack --overs\ts\t	--oversize split
bload pack fold\t	folder/
bload pack --sequences fi\t	file.tsv
bload ver\tfold\t	bload verify folder/
END
}

test_zsh() {
    command -v zsh >/dev/null || skip 'no zsh'
    scripts zsh
    zsh -n bload.zsh
    python3 "$BLOAD_ROOT/tests/cli/typed.py" zsh -f -i <<'END'
autoload -U compinit; compinit -u -D; . ./bload.zsh; echo lo''aded\n	loaded
bload pa\t	pack
bload pack --fit=c\t	--fit=crop
bload pack --overs\ts\t	--oversize split
bload pack fold\t	folder/
bload pack --sequences fi\t	file.tsv
bload ver\tfold\t	bload verify folder/
bload pack --compress \t\t	none
bload pack --jpeg\t\t	--jpeg-scale
END
    for command in $(commands); do
        flags "$command" | while read -r flag; do
            sed -n "/^    $command)/,/^        case/p" bload.zsh | grep -qF -e "'$flag:" || fail "zsh: no $command $flag"
        done
    done
}

test_fish_knows_every_command_and_option() {
    command -v fish >/dev/null || skip 'no fish'
    scripts fish
    every fish
}

test_fish_completes_values() {
    command -v fish >/dev/null || skip 'no fish'
    scripts fish
    values fish
    is '--fit=crop' "$(in_fish pack --fit=c)"
}

test_wrong_shells() {
    expect 2 bload completion :err-is 'bload: completion: expects one of bash, zsh, fish (see bload completion --help)'
    expect 2 bload completion tcsh
    expect 2 bload completion bash zsh
    expect 2 bload pack --completion=tcsh :err-is 'bload: pack: unknown shell "tcsh" (see bload completion --help)' :out-is ''
    expect 1 sh -c '"$BLOAD" completion bash >/dev/full'
}
