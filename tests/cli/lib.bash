# Helpers of the command tests; see run. Sourced under set -e: a failed helper ends the test.
# shellcheck shell=bash

OUT=$SCRATCH/out
ERR=$SCRATCH/err
CASE='' MADE='' # what expect ran last, and what that made

bload() {
    "$BLOAD" "$@"
}

fail() {
    echo "$*" >&2
    exit 1
}

# This test cannot run here. (To stderr: it may be said inside "$(...)".)
skip() {
    echo "$*" >&2
    exit 77
}

# sanitizer_skip REASON [SANITIZER]: this test is not for a tool that is built with a sanitizer, or with that one.
sanitizer_skip() {
    case $BLOAD in */build/${2:-*san}/*) skip "$1" ;; esac
}

# shorten BYTES FILE...: cuts so many bytes off their ends.
shorten() {
    local bytes=$1 file
    shift
    for file in "$@"; do
        truncate -s "$(($(stat -c %s "$file") - bytes))" "$file"
    done
}

# columns N: "c1,c2,...,cN".
columns() {
    seq -s ,c "$1" | sed 's/^/c/'
}

# expect STATUS COMMAND... [CHECK WORD...]...: runs the command; its stdout and stderr are kept for the checks, here and below:
#   :out TEXT..., :err TEXT...              a line of it contains each text
#   :out-lacks TEXT..., :err-lacks TEXT...  no line contains the text
#   :out-is TEXT, :err-is TEXT              it is the text, wholly; '' for nothing
#   :out-as FILE, :err-as FILE              it is as in the file
#   :out-like PATTERN..., :err-like ...     a line of it matches each basic regular expression
#   :out-count N PATTERN, :err-count ...    so many lines of it match
#   :word NAME VALUE                        a value of the JSON on stdout
#   :column NAME VALUES                     the values of a column of the table on stdout, between spaces
#   :made NAME VALUES                       the same in the table of the dataset that the command made with -o
#   :tokens VALUES                          that dataset's tokens
#   :manifest NAME VALUE                    a value of its manifest
#   :same-as DIR, :same-in DIR FILE         that dataset, or a file of it, is as in DIR
#   :none FILE...                           there is no such file
#   :verified [DIR]                         verify finds no fault in that dataset, or in DIR
#   :removed                                no check: removes that dataset, so that the next command can make it
# A dataset that bload finish names is made by it, as if -o named it.
expect() {
    local expected=$1 status=0 _checks=2
    while [ $_checks -le $# ]; do
        case ${!_checks} in
        :out | :err | :out-* | :err-* | :column | :made | :same-* | :tokens | :none | :verified | :manifest | :word | :removed) break ;;
        -o) MADE=${*:_checks+1:1} ;;
        [!-]*) [ "$_checks" -lt 4 ] || [ "$3" != finish ] || MADE=${!_checks} ;;
        esac
        _checks=$((_checks + 1))
    done
    CASE=${*:2:_checks-2}
    "${@:2:_checks-2}" >"$OUT" 2>"$ERR" || status=$?
    if [ "$status" != "$expected" ]; then
        echo "$CASE: status $status, expected $expected; stderr:"
        tail -n 30 "$ERR"
        exit 1
    fi
    [ $_checks -gt $# ] || checks "${@:_checks}"
}

# given FILE TEXT COMMAND...: puts the file and runs the command.
given() {
    put "$1" "$2"
    "${@:3}"
}

# put FILE TEXT...: writes files of these texts, with the escapes of printf, and makes their folders.
put() {
    while [ $# -gt 0 ]; do
        [[ $1 != */* ]] || mkdir -p "${1%/*}"
        # shellcheck disable=SC2059 # the escapes
        printf -- "$2" >"$1"
        shift 2
    done
}

# refused_yaml HEAD: pack refuses a set.yaml for each row TEXT|MESSAGE of stdin: the file is HEAD and TEXT, with the escapes of printf, and
# the message begins with the name of the file.
refused_yaml() {
    local text message
    while IFS='|' read -r text message; do
        given set.yaml "$1$text\n" expect 2 bload pack -c set.yaml --print-config :err-is "bload: pack: set.yaml$message" :out-is ''
    done
}

# checks CHECK WORD...: the checks of what the last command printed and made.
checks() {
    local _check='' _table
    while [ $# -gt 0 ]; do
        case $1 in
        :column | :made)
            [ "$1" = :made ] && _table=$MADE/sequences.tsv || _table=$OUT
            is "$CASE: column $2: $3" "$CASE: column $2: $(in_column "$2" <"$_table")"
            shift 2
            ;;
        :same-as) diff -r "$2" "$MADE" && shift || fail "$CASE: $MADE is not as $2" ;;
        :same-in)
            cmp "$2/$3" "$MADE/$3" || fail "$CASE: $3"
            shift 2
            ;;
        :tokens) is "$CASE: $2" "$CASE: $(tokens "$MADE")" && shift ;;
        :verified)
            [[ ${2-:} = :* ]] || { MADE=$2 && shift; }
            bload verify -q "$MADE" || fail "$CASE: $MADE has faults"
            ;;
        :removed) rm -r "$MADE" ;;
        :word | :manifest)
            [ "$1" = :manifest ] && _table=$MADE/manifest.json || _table=$OUT
            is "$CASE: $2: $3" "$CASE: $2: $(word "$2" <"$_table")"
            shift 2
            ;;
        :*-count)
            [ "$1" = :out-count ] && _table=$OUT || _table=$ERR
            is "$CASE: $2 lines match $3" "$CASE: $(grep -ce "$3" "$_table") lines match $3"
            shift 2
            ;;
        :out | :err | :out-* | :err-* | :none) _check=$1 ;;
        *)
            case $_check in
            :out) out_has "$1" ;;
            :err) err_has "$1" ;;
            :out-lacks) lacks stdout "$OUT" "$1" ;;
            :err-lacks) lacks stderr "$ERR" "$1" ;;
            :out-is) printf '%s' "$1${1:+$'\n'}" | out_is ;;
            :err-is) printf '%s' "$1${1:+$'\n'}" | err_is ;;
            :out-as) diff -u "$1" "$OUT" || fail "$CASE" ;;
            :err-as) diff -u "$1" "$ERR" || fail "$CASE" ;;
            :out-like) like stdout "$OUT" "$1" ;;
            :err-like) like stderr "$ERR" "$1" ;;
            :none) [ ! -e "$1" ] || fail "$CASE: there is $1" ;;
            *) fail "no check: $1" ;;
            esac
            ;;
        esac
        shift
    done
}

# out_is, err_is: the text on stdin is what came out, wholly.
out_is() {
    diff -u --label expected --label stdout - "$OUT" || fail "$CASE"
}

err_is() {
    diff -u --label expected --label stderr - "$ERR" || fail "$CASE"
}

# out_has TEXT..., err_has TEXT...: a line of it contains each text.
out_has() {
    for _text; do has stdout "$OUT" "$_text"; done
}

err_has() {
    for _text; do has stderr "$ERR" "$_text"; done
}

# has NAME FILE TEXT, lacks NAME FILE TEXT. The shell looks first: many tests have many texts, and need not start a program for each.
has() {
    local _all=
    [[ $3 = *$'\n'* ]] || IFS= read -r -d '' _all <"$2" || true
    [[ -n $3 && $_all = *"$3"* ]] || grep -qF -e "$3" "$2" || {
        echo "$CASE: $1 lacks: $3; it is:"
        cat "$2"
        exit 1
    }
}

lacks() {
    ! grep -qF -e "$3" "$2" || {
        echo "$CASE: $1 has: $3; it is:"
        cat "$2"
        exit 1
    }
}

# like NAME FILE PATTERN: a line matches the basic regular expression.
like() {
    grep -q -e "$3" "$2" || {
        echo "$CASE: $1 has no line like: $3; it is:"
        cat "$2"
        exit 1
    }
}

# is EXPECTED ACTUAL
is() {
    [ "$1" = "$2" ] || fail "expected \"$1\", not \"$2\""
}

same() {
    cmp "$1" "$2"
}

# The names below a directory, sorted, one a line.
files() {
    (cd "$1" && find . -mindepth 1 | sed 's|^\./||' | sort)
}

# The path of a generated clip; see fixtures/media for the names.
fixture() {
    "$BLOAD_ROOT/fixtures/media" "$1"
}

# npy FILE SHAPE [VALUE [TYPE]]: writes an array of this shape, as "3, 2", and type, |u1 by default. VALUE is an expression of Python that gives
# element i.
npy() {
    put "$1" ''
    python3 - "$1" "$2" "${3-i % 251}" "${4-|u1}" <<'END'
import array, math, sys
path, shape, value, kind = sys.argv[1:]
shape = eval(f"({shape},)")
header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
values = eval(f"[{value} for i in range({math.prod(shape)})]")
open(path, "wb").write(b"\x93NUMPY\1\0\x76\0" + header.encode() + array.array({"u1": "B", "i4": "i", "f4": "f"}[kind[1:]], values).tobytes())
END
}

# fixtures DIR NAME[=AS]...: puts generated clips into the folder, which it makes, under these names or their own.
fixtures() {
    local clip
    mkdir -p "$1"
    for clip in "${@:2}"; do cp "$(fixture "${clip%%=*}")" "$1/${clip#*=}"; done
}

# in_tasks N ARGUMENT... -o DIR [CHECK WORD...]...: packs in N tasks, the last one first, and finishes, with the checks of expect.
in_tasks() {
    local task at=2
    while [ $at -le $# ] && [[ ${!at} != :[a-z]* ]]; do at=$((at + 1)); done
    for ((task = $1 - 1; task >= 0; task--)); do expect 0 bload pack -q "${@:2:at-2}" --task "$task/$1"; done
    expect 0 bload finish -q "$MADE" "${@:at}"
}

# The path of a shared file, or the test is skipped.
shared() {
    [ -e "$BLOAD_SHARED/$1" ] || skip "no shared file $1"
    echo "$BLOAD_SHARED/$1"
}

# field COLUMN [ROW]: a column of a table on stdin, by its name in the header; without ROW (from 1) all rows.
field() {
    awk -F '\t' -v name="$1" -v row="${2-}" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i; if (!column) exit 1; next }
        row == "" || NR == row + 1 { print $column }'
}

# in_column COLUMN: the values of all rows, as far as they have one, between spaces.
in_column() {
    field "$1" | awk '{ $1 = $1 } NF { printf "%s%s", n++ ? " " : "", $0 }'
}

# seal FILE: ends a text of DIR/.bload with its checksum, as bload does (base/sealed.h).
seal() {
    python3 - "$1" <<'END'
import ctypes, sys
data = open(sys.argv[1], "rb").read()
data += b"" if data.endswith(b"\n") else b"\n"
digest = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
digest.argtypes, digest.restype = [ctypes.c_char_p, ctypes.c_size_t], ctypes.c_uint64
open(sys.argv[1], "wb").write(data + b"end %016x\n" % digest(data, len(data)))
END
}

# strange TABLE: its rows without contents, as a table that was not scanned has them.
strange() {
    awk -F '\t' -v OFS='\t' '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i !~ /(^|\.)content$/) keep[++n] = i }
        { line = $keep[1]; for (i = 2; i <= n; i++) line = line OFS $keep[i]; print line }' "$1"
}

# word NAME: a number or text of one of the tool's flat JSON answers on stdin.
word() {
    sed -n "s/^.*\"$1\": *\"\{0,1\}\([^\",}]*\)\"\{0,1\}.*$/\1/p" | head -n 1
}

# ended_by SIGNAL WITNESS COMMAND...: sends the signal once a file of that pattern shows that the command is at work, KILL at once, for on
# a fast disk the rest may take as little as a pause; sets status, and took, the seconds from the signal to the end. A job of its own: in
# the background the shell would have it ignore SIGINT.
ended_by() {
    local signal=$1 witness=$2 pid began i
    shift 2
    [ "$1" != bload ] || set -- "$BLOAD" "${@:2}" # not the shell that would run the function
    status=0
    set -m
    "$@" 2>"$ERR" >/dev/null &
    pid=$!
    set +m
    for ((i = 0; i < 3000; i++)); do
        compgen -G "$witness" >/dev/null && break
        sleep 0.02
    done
    [ "$signal" = KILL ] || sleep 0.3
    began=$SECONDS
    kill -s "$signal" "$pid" 2>/dev/null || true
    wait "$pid" || status=$?
    # shellcheck disable=SC2034 # for the caller
    took=$((SECONDS - began))
}

# avcodec: the major version of the libavcodec that the tool runs with: 59 is FFmpeg 5.1, 61 is 7.1, 62 is 8, 63 is 9. Not that of the ffmpeg program.
avcodec() {
    { bload doctor . 2>/dev/null || true; } | sed -n 's/^  ok *libavcodec *\([0-9]*\)\..*/\1/p'
}

# Runs a command where it may mount file systems that only it sees; root needs no other name for that.
own_mounts() {
    if [ "$(id -u)" = 0 ]; then unshare -m "$@"; else unshare -r -m "$@"; fi
}

# on_terminal COLUMNS[,COLUMNS] COMMAND...: stderr is a terminal so wide, and when it was told RESIZE_AFTER as wide as the second one; what
# it is told comes to the file screen, a line for each time the cursor went back to the first column. TERMINAL: its TERM, xterm by default.
on_terminal() {
    TERM=${TERMINAL:-xterm} python3 - "$@" >screen <<'END'
import fcntl, os, pty, select, struct, subprocess, sys, termios
widths = [int(width) for width in sys.argv[1].split(",")]
ours, theirs = pty.openpty()
def resize():
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, widths.pop(0), 0, 0))
resize()
running = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=theirs, stdin=subprocess.DEVNULL)
told, after = b"", os.environ.get("RESIZE_AFTER", "").encode()
while running.poll() is None or select.select([ours], [], [], 0)[0]:
    if widths and after in told:
        resize()
    if select.select([ours], [], [], 0.05)[0]:
        told += os.read(ours, 65536)
print(told.decode().replace("\r\n", "\n").replace("\r", "\n"))
sys.exit(running.wait())
END
}

# in_small_disk SIZE COMMAND...: with a file system of that size at ./disk, which only the command sees.
in_small_disk() {
    mkdir -p disk
    local size=$1
    shift
    own_mounts mount -t tmpfs -o size="$size" tmpfs disk 2>/dev/null || skip 'no file system of its own here'
    export -f bload expect checks fail is has lacks like word out_is err_is out_has err_has field in_column
    export OUT ERR
    # shellcheck disable=SC2016 # expanded inside
    own_mounts bash -c 'set -e; mount -t tmpfs -o size='"$size"' tmpfs disk; eval "$1"' sh "$*"
}

# tokens DIR: the tokens of the first block of a plain dataset with one shard, without padding by zeros at the end.
tokens() {
    values "$1" tokens d4
}

# A tensor of the first shard, by the type that od has for its values.
values() {
    local shard=$1/shards/00000/shard-00000000.safetensors begin end
    read -r begin end < <(head -c 8000 "$shard" | grep -ao "\"$2\":{[^}]*}" | sed 's/.*offsets":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/')
    begin=$((begin + 8 + $(od -An -t u8 -N 8 "$shard")))
    od -An -v -t "$3" -j "$begin" -N $((end + 8 + $(od -An -t u8 -N 8 "$shard") - begin)) "$shard" | # some od write 1.0000000e+00
        case $3 in f*) awk '{ for (i = 1; i <= NF; i++) print $i + 0 }' ;; *) cat ;; esac | xargs
}
