# The manual pages and the tool tell the same.
# shellcheck shell=bash disable=SC2317

# Long and short flags that --help lists, one a line: "-j", "--jobs".
flags_of_help() { sed -n 's/^  \(-[A-Za-z]\|   \),\{0,1\}[ ]*\(--[a-z-]*\)\{0,1\}.*/\1\n\2/p' | grep -- - | sort -u; }

# The same of a page: of its .It Fl lines.
flags_of_page() {
    sed -n 's/^\.It Fl //p' "$1" | sed 's/ , / /; s/ Fl / /g' | awk '
        { for (i = 1; i <= 2 && i <= NF; i++) if ($i ~ /^-?[A-Za-z]/ && (i == 1 || $i ~ /^-/)) print "-" $i }' | sort -u
}

# The pages that have a command's options: its own, those of every command, and where it says so the shared ones.
pages_of() {
    local man=$BLOAD_ROOT/man
    echo "$man/bload-$1.1 $SCRATCH/every"
    sed -n '/^\.Sh OPTIONS OF EVERY COMMAND/,/^\.Sh EXIT/p' "$man/bload.1" >"$SCRATCH/every"
    case $1 in
    scan) echo "$man"/bload-*.7 ;;
    pack) echo "$man"/bload-*.7 "$SCRATCH/planning $SCRATCH/strategy" ;;
    plan) echo "$SCRATCH/subset $SCRATCH/urls" ;;
    view) echo "$SCRATCH/planning $SCRATCH/strategy $SCRATCH/subset $SCRATCH/urls" ;;
    info | verify | export | cat | find | show | report | finish | status) echo "$SCRATCH/urls" ;;
    compare) echo "$SCRATCH/lengths $SCRATCH/planning $SCRATCH/subset" ;;
    esac
    sed -n '/^\.Ss Subset/,/^\.Ss Decoding/p' "$man/bload-sources.7" >"$SCRATCH/subset"
    sed -n '/^\.Ss URLs/,/^\.El/p' "$man/bload-sources.7" >"$SCRATCH/urls"
    sed -n '/^\.Ss Lengths/,/^\.Ss Planning/p' "$man/bload-plan.1" >"$SCRATCH/lengths"
    sed -n '/^\.Ss Planning/,/^\.Ss Strategy/p' "$man/bload-plan.1" >"$SCRATCH/planning"
    sed -n '/^\.Ss Strategy/,/^\.Ss Output/p' "$man/bload-plan.1" >"$SCRATCH/strategy"
}

test_every_command_has_a_page_with_its_options() {
    for command in $(bload --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        [ -e "$BLOAD_ROOT/man/bload-$command.1" ] || fail "no page for $command"
        expect 0 bload "$command" --help
        flags_of_help <"$OUT" >"$SCRATCH/help"
        # shellcheck disable=SC2046 # words
        for page in $(pages_of "$command"); do flags_of_page "$page"; done | sort -u >"$SCRATCH/page"
        grep -q -- --help "$SCRATCH/help" || fail "no flags found in the help of $command"
        diff -u --label "bload $command --help" --label "pages of $command" "$SCRATCH/help" "$SCRATCH/page"
    done
}

# "--pad zero|repeat" for every option of which --help lists the values.
choices_of_help() { sed -nE 's/^ *(-[A-Za-z], )?(--?[A-Za-z][a-z-]*) ([^ ]*[|][^ ]*).*/\2 \3/p' | sort -u; }

# The same of pages, without their macros.
choices_of_pages() {
    sed -nE 's/^\.It Fl ([A-Za-z] , Fl )?//p' "$@" | awk '
        {
            value = end = ""
            for (i = 2; i <= NF; i++) {
                if ($i == "Op" || $i == "Oo") value = value "["
                else if ($i == "Oc") value = value "]"
                else if ($i !~ /^(Ar|Cm|Ns)$/) value = value $i
                if ($i == "Op") end = "]"
            }
            if (value ~ /[|]/) print "-" $1, value end
        }' | sort -u
}

test_values_of_options_are_listed_alike() {
    for command in $(bload --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        bload "$command" --help | choices_of_help >"$SCRATCH/help"
        # shellcheck disable=SC2046 # words
        choices_of_pages $(pages_of "$command") >"$SCRATCH/page"
        diff -u --label "bload $command --help" --label "pages of $command" "$SCRATCH/help" "$SCRATCH/page"
    done
    is 1 "$(bload pack --help | choices_of_help | grep -c -x -- '--compress none|zstd\[:LEVEL\]')"
}

# "--jobs 4" for every option whose help ends in a default in brackets.
defaults_of_help() {
    awk '
        function tell() {
            if (match(entry, /--[a-z-]+/)) flag = substr(entry, RSTART, RLENGTH)
            if (flag != "" && match(entry, /\[[A-Za-z0-9.]+\]$/)) print flag, substr(entry, RSTART + 1, RLENGTH - 2)
            entry = flag = ""
        }
        /^  (-.|    --)/ { tell(); entry = $0; next }
        /^ / { entry = entry " " $0; next }
        { tell() }
        END { tell() }'
}

test_defaults_are_told_alike() {
    for command in $(bload --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        bload "$command" --help | defaults_of_help >"$SCRATCH/defaults"
        while read -r flag value; do
            # shellcheck disable=SC2046 # words
            awk -v flag="Fl ${flag#-}" -v value="$value" '
                index($0, ".It ") == 1 && index($0, "Fl") { inside = index($0 " ", flag " ") > 0; found += inside }
                inside && index($0, value) { told = 1 }
                END { exit !(found && told) }' $(pages_of "$command") ||
                fail "bload-$command.1 does not tell the default of $flag: $value"
        done <"$SCRATCH/defaults"
    done
    bload pack --help | defaults_of_help >"$SCRATCH/defaults"
    is '--shard-size 256M' "$(head -n 1 "$SCRATCH/defaults")"
}

test_the_main_page_lists_every_command_and_status() {
    for command in $(bload --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        does=$(bload --help | sed -n "s/^  $command  *//p")
        is "$does" "$(grep -A 1 "^\.It Xr bload-$command 1" "$BLOAD_ROOT/man/bload.1" | sed 1d)"
        is ".Nd $does" "$(grep '^\.Nd' "$BLOAD_ROOT/man/bload-$command.1")"
        is "$(bload "$command" --help | grep -c "^ *\(usage: \)\?bload $command")" \
            "$(sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' "$BLOAD_ROOT/man/bload-$command.1" | grep -c '^\.Nm')"
    done
    for page in tables.5 dataset.5 sources.7; do
        [ -e "$BLOAD_ROOT/man/bload-$page" ] || fail "no page bload-$page"
        grep -q "^\.Xr bload-${page%.*} ${page#*.}" "$BLOAD_ROOT/man/bload.1" || fail "bload.1 does not name bload-$page"
    done
}
