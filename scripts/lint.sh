#!/bin/bash
# What is checked without running anything: make lint. Layering always; each further tool where it is installed.
set -u
shopt -s nullglob globstar

# report NAME: ok when nothing comes in on stdin, otherwise that and "not ok".
report() {
    local found
    found=$(cat)
    if [ -z "$found" ]; then
        echo "ok $1"
    else
        printf '%s\nnot ok %s\n' "$found" "$1"
    fi
}

# only WHAT PATTERN PLACE...: headers that match stay in these folders and files.
only() {
    local what=$1 pattern=$2
    shift 2
    grep -rnE "^ *# *include *[<\"]($pattern)" src include | grep -vE "^($(IFS='|'; echo "$*"))[/:]" | report "only $* include $what"
}

# within FOLDER HEADER...: files of that folder include no other part of the tree than these.
within() {
    local folder=$1
    shift
    grep -rnE '^ *# *include *"' "src/$folder" | grep -vE "#include \"($(IFS='|'; echo "$*"))" | report "src/$folder includes $*"
}

only libav 'libav|libsw' src/kind
only zimg 'zimg' src/kind
only CUDA 'cuda|ffnvcodec' src/kind/video
only zstd 'zstd' src/store src/base src/export
only zlib 'zlib' src/base
only turbojpeg 'turbojpeg' src/store src/kind/frames
only jansson 'jansson' src/store src/kind/text src/kind/labels src/export
only PCRE2 'pcre2' src/kind/text
only kissfft 'kiss' src/kind/audio
only soxr 'soxr\.h' src/kind/audio
only libzip 'zip\.h' src/kind/array
only seccomp 'linux/(audit|filter|seccomp)' src/kind/isolated
only libyaml 'yaml' src/cmd
# Threads belong to the pool, and those that fetch and write objects to remote: docs/DESIGN.md names its files. Readers wait for each other: in inflated.c for a copy, for a GPU, and for connections.
only pthread 'pthread|semaphore|threads' src/pool src/base/records.c src/kind/array/inflated.c src/kind/array/hdf5.c src/kind/video/nvdec_driver.c src/kind/video/gpu_pool.c src/remote
within base base/
within plan plan/ base/
within remote remote/ base/
within pool pool/ base/
within kind kind/ pool/ base/ bload.h
within store store/ plan/ kind/ pool/ base/
within scan scan/ kind/ store/ pool/ remote/ base/
within export export/ run/ store/ kind/ pool/ base/
within show show/ store/ plan/ kind/ base/ bload.h
within report report/ show/ run/ plan/ store/ kind/ base/ bload.h
within doctor doctor/ run/ store/ plan/ kind/ pool/ remote/ base/ bload.h
within run run/ scan/ store/ plan/ kind/ pool/ remote/ base/ bload.h
grep -rnE '\b(printf|puts|putchar|perror|abort|exit|_exit|assert) *\(' src --include='*.[ch]' | grep -vE '^src/(cmd/|main\.c|kind/isolated/(fork_server|decoder_loop)\.c)|^[^:]*:[0-9]*: *(\*|/\*)' |
    report "only src/cmd prints, nobody ends the process"

# Few rooms that are easy to know: a source has 60 to 700 lines, but for generated tables, and says in its first line why if it has fewer; a
# header is for two files at least. Of sort_body.h one file is made several times; the build includes place.h.
rooms() {
    local file lines readers
    for file in src/**/*.c; do
        lines=$(wc -l <"$file")
        [ "$lines" -ge 60 ] || head -n 1 "$file" | grep -q '^/[*] A file of its own, ' || echo "$file: $lines lines, and its first does not say why"
        [ "$lines" -le 700 ] || grep -q 'scripts/unicode[.]py' "$file" || echo "$file: $lines lines, more than 700"
    done
    for file in src/**/*.h; do
        case $file in */place.h | */sort_body.h) continue ;; esac
        readers=$(grep -rlF "#include \"${file#src/}\"" src tests bench | wc -l)
        [ "$readers" -ge 2 ] || echo "$file: only one file includes it"
    done
}
rooms | report "files have 60 to 700 lines, headers two readers"

# Headers that include each other by way of others.
grep -roE '^#include "[^"]+' src --include='*.h' | sed 's/^src\///; s/:#include "/ /' | tsort 2>&1 >/dev/null |
    report "headers include no circle"

# Nor do pairs of a source and its header: one of two files can be read without the other.
grep -roE '^#include "[^"]+' src --include='*.[ch]' |
    sed -E 's/^src\///; s/:#include "/ /; s/\.[ch]( |$)/\1/g' | awk '$1 != $2' | sort -u | tsort 2>&1 >/dev/null | report "files include no circle"

# functions FILE...: what CONTRIBUTING says of functions, in sources that have the house format.
functions() {
    awk '
        /^\{$/ { begin = FNR }
        /^\}$/ && FNR - begin > 61 { print FILENAME ": " FNR - begin - 1 " lines in one function" }
        /^ *[a-z_0-9]+:$/ && !/ (default|case .*):$/ && !/^out:$/ { print FILENAME ":" FNR ": a label other than out" }
        /^ {16}( {4})*(if|for|while|switch|do)( |$)/ { print FILENAME ":" FNR ": more than three levels deep" }
        { gsub(/__attribute__\(\([^)]*\)+ */, "") }
        /^static / && match($0, /[a-z_0-9]+\(/) && !/[;=]/ {
            name = substr($0, RSTART, RLENGTH - 1)
            if (name ~ /^bl_/) print FILENAME ":" FNR ": " name " is static and has the prefix of what other files call"
            if (name in place && place[name] != FILENAME) print FILENAME ": " name " is static in " place[name] ", too"
            place[name] = FILENAME
        }' "$@"
}
functions src/**/*.c | report "functions have 60 lines, three levels, one label, names of their own"

# entry ENTRY: whether an entry of a table of options compiles.
entry() {
    printf '%s\n' '#include "base/option.h"' 'extern const char *const words[];' 'struct v { int64_t number; int word; };' \
        'extern const struct bl_option option;' "const struct bl_option option = BL_OPTION_$1;" |
        "${CC:-cc}" -std=gnu17 -Isrc -fsyntax-only -x c - 2>/dev/null
}

options() {
    local text
    for text in 'INT("n", struct v, number, 0, "")' 'CHOICE("c", struct v, word, words, 0, "")'; do
        entry "$text" || echo "does not compile: BL_OPTION_$text"
    done
    for text in 'INT("n", struct v, word, 0, "")' 'FLAG("n", struct v, number, 0, "")' 'STRING("n", struct v, number, 0, "")' \
        'CHOICE("c", struct v, number, words, 0, "")' 'INT("n", struct v, none, 0, "")'; do
        ! entry "$text" || echo "compiles, though the member has another type: BL_OPTION_$text"
    done
}
options | report "a wrong member in a table of options does not compile"

# Pages for developers go stale first where files are renamed.
named_files() {
    local name files
    files=$(find src include tests bench scripts fixtures python mk man docs -type f)
    {
        grep -ohE '`[a-z0-9_./]+\.(c|h|cu|sh|py|mk)`' CONTRIBUTING.md docs/{DESIGN,colour,gpu,performance,planning,robustness}.md | tr -d '`'
        grep -ohE '(src|docs)/[a-z0-9_./-]+\.[a-z]+' packaging/debian/copyright # lintian fails on a file that does not exist
    } | sort -u |
        while read -r name; do
            grep -qE "(^|/)${name//./[.]}\$" <<<"$files" || echo "$name does not exist"
        done
}
named_files | report "files that pages name exist"

# Locks that are older than the requirements they were made from; see lock.py.
old_locks() {
    local lock folder
    for lock in tests/*/requirements.lock; do
        folder=${lock%/*}
        cat "$folder"/requirements.txt "$folder"/requirements-alone.txt 2>/dev/null | sha256sum | cut -d ' ' -f 1 |
            grep -qFf - "$lock" || echo "$lock: run scripts/lock.py ${folder#tests/}"
    done
}
old_locks | report "locks are of their requirements"

sources=(src/**/*.c src/**/*.cu include/*.h tests/**/*.c bench/**/*.c)
headers=(src/**/*.h tests/**/*.h bench/**/*.h)
scripts=(.ci/run scripts/*.sh packaging/wheel/*.sh tests/cli/run tests/cli/*.sh tests/*/run tests/library/adding_a_kind python/tests/run fixtures/media fixtures/gpu_clips fixtures/fuzz_seeds tests/slow/*.sh tests/laws/*.sh tests/hostile/*.sh tests/slurm/cluster tests/slurm/*.sh tests/install/{deb,source,wheel,lib.bash,system.bash,user.sh} tests/release/*.bash packaging/debian/tests/{pack,library} tests/valgrind bench/run bench/nvdec bench/*.sh bench/plan/run bench/plan/python bench/plan/loaders bench/plan/partition bench/plan/growth bench/plan/differ bench/plan/*.sh)
pages=(man/*.[1-9])

# optional NAME TOOL COMMAND...: runs the command where the tool is there; what it prints are faults.
optional() {
    local name=$1 tool=$2
    shift 2
    if command -v "$tool" >/dev/null; then
        "$@" 2>&1 | report "$name"
    else
        echo "skip $name: no $tool"
    fi
}

format() {
    clang-format --dry-run -Werror "${sources[@]}" "${headers[@]}" 2>&1 | grep -E 'warning|error' | sed 's/:.*//' | sort | uniq -c
}

syntax() {
    local file
    for file in src/**/*.c; do
        [[ $file = */nvdec@(|_driver).c && $LINT_CFLAGS != *CUDA* ]] && continue # its headers are not there
        # shellcheck disable=SC2086 # flags
        clang -fsyntax-only $LINT_CFLAGS "$file"
    done
    # Other programs include it first, and C++ ones too.
    clang -fsyntax-only -std=c11 -pedantic -Wall -Wextra -Werror -x c include/bload.h
    clang -fsyntax-only -std=c++11 -pedantic -Wall -Wextra -Werror -x c++ include/bload.h
}

# What is left out: it does not know compound literals, and takes pointers kept in them for lost; leaks are the sanitizers' business. The
# generated table of Unicode is data, which would take eight minutes.
static_check() {
    cppcheck -j "$(nproc)" -isrc/kind/text/unicode_table.c --quiet --std=c11 --language=c --enable=warning,performance,portability --inline-suppr \
        --suppress=missingIncludeSystem --suppress=internalAstError --suppress=memleak --suppress=autoVariables \
        --suppress=duplicateAssignExpression -D__x86_64__ -D__GNUC__=12 -Isrc -Iinclude src
}

# A value that nobody reads: most often a status that is overwritten before it is checked.
dead_stores() {
    local file analyze=(clang --analyze --analyzer-no-default-checks -Xclang "-analyzer-checker=deadcode.DeadStores" -Xclang "-analyzer-output=text")
    echo 'int f(int); int f(int x) { int code = x + 1; code = x + 2; return code; }' | "${analyze[@]}" -x c - 2>&1 |
        grep -q DeadStores || echo "an overwritten status is not found"
    # shellcheck disable=SC2086 # flags
    for file in src/**/*.c; do
        [[ $file = */nvdec@(|_driver).c && $LINT_CFLAGS != *CUDA* ]] || echo "$file"
    done |
        xargs -P "$(nproc)" -n 10 "${analyze[@]}" $LINT_CFLAGS
}

shell() {
    local file
    for file in "${scripts[@]}"; do
        [ -e "$file" ] && shellcheck -x -S warning "$file"
    done
}

manuals() {
    mandoc -T lint -W warning "${pages[@]}"
}

# Of objects, since Debian's start files have no such note, and so no program that is linked with them has.
marked() {
    case $(readelf -hW "$1") in
    *X86-64*) readelf -nW "$1" | grep -q 'IBT, SHSTK' || echo "$1: no -fcf-protection" ;;
    esac
}

hardening() {
    local file
    for file in bload build/release/libbload-media-*.so build/libbload.so.2; do
        [ ! -e "$file" ] || scripts/hardened.sh "$file"
    done
    for file in build/release/main.o build/libbload.o; do
        [ ! -e "$file" ] || marked "$file"
    done
}

# A change of the interface with which programs were compiled. New functions are allowed.
interface() {
    local library found
    for library in packaging/abi/*.abi; do
        found=build/$(basename "$library" .abi)
        [ -e "$found" ] || { echo "$library is not of the library that is built"; continue; }
        # shellcheck disable=SC2094 # another file
        scripts/abi.sh "$found" >build/interface.abi || { echo "abidw cannot read $found"; continue; }
        abidiff --no-architecture --no-added-syms "$library" build/interface.abi || echo "$library differs from $found"
    done
}

if [ -e build/libbload.so ]; then optional "abidiff" abidiff interface; else echo "skip abidiff: the library is not built"; fi
if [ -e bload ]; then optional "readelf, hardening" readelf hardening; else echo "skip readelf, hardening: bload is not built"; fi
optional "clang-format" clang-format format
optional "clang, syntax" clang syntax
optional "clang, dead stores" clang dead_stores
optional "cppcheck" cppcheck static_check
optional "shellcheck" shellcheck shell
[ ${#pages[@]} -gt 0 ] && optional "mandoc" mandoc manuals
exit 0
