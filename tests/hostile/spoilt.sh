# A thousand spoilt inputs (fixtures/hostile.py): each costs at most itself, is named, and fails with the same words alone; the bytes are
# those of any other run.
# shellcheck shell=bash disable=SC2317

# options KIND: what the kind is packed with, into the array options.
options() {
    options=(--kind "$1")
    case $1 in
    video) options+=(--size 16x16 -T 64) ;;
    audio) options+=(-T 4000) ;;
    frames) options+=(--size 16x16 -T 16) ;;
    array) options+=(-T 500) ;;
    text) options+=(--tokenizer bytes --documents line -T 256) ;;
    labels)
        printf 'walk\nsit\nfly\n' >mapping.txt
        options+=(--mapping mapping.txt -T 50)
        ;;
    esac
}

# bounded STATUS ARGUMENT...: as expect; nothing may take longer than this.
bounded() {
    local status=$1
    shift
    expect "$status" timeout -k 1 120 "$BLOAD" "$@"
}

# pack_spoilt KIND NAME -j N: all of the inputs; the messages are kept, too.
pack_spoilt() {
    bounded 3 pack -q "in/$1" "${options[@]}" --oversize split --shard-size 1M -o "$2" "${@:3}"
    cp "$ERR" "$2.messages"
}

# named KIND TABLE: every input has a row.
named() {
    # shellcheck disable=SC2012 # names are ours
    diff -u --label inputs --label rows <(ls "in/$1" | sort) <(field path <"$2" | sed "s|^in/$1/||" | sort -u)
}

# failing TABLE: path, status and reason of what is not of use, once for each file, at most WANTED spread over all of them.
failing() {
    awk -F '\t' '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["status"] ~ /skipped|failed/ && $at["reason"] != "empty document" && !seen[$at["path"]]++ {
            row[n++] = $at["path"] "\t" $at["status"] "\t" $at["reason"]
        }
        END { step = n > '"$2"' ? n / '"$2"' : 1; for (i = 0; i < n; i += step) print row[int(i)] }' "$1"
}

# alone TABLE COUNT: so many of what failed in company fail alone, by the same reason. (Arrays have to agree with the first one, which is
# there for that.)
alone() {
    local path status reason first=() n=0
    [ "${options[1]}" != array ] || first=(in/array/a10.npy)
    failing "$1" "$2" >sample
    while IFS=$'\t' read -r path status reason; do
        rm -rf one
        if [ "$status" = failed ]; then
            bounded 3 pack -q "${first[@]}" "$path" "${options[@]}" --oversize split -o one
            cp one/sequences.tsv row
        else
            bounded 3 scan -q "${first[@]}" "$path" "${options[@]:0:$((${#options[@]} - 2))}" -o row
        fi
        is "$path: $status, $reason" "$(failing row 99 | awk -F '\t' 'NR == 1 { print $1 ": " $2 ", " $3 }')"
        n=$((n + 1))
    done <sample
    [ "$n" -gt 0 ] || fail 'nothing fails'
}

# A sanitizer looks at one run of each; elsewhere bytes, messages and the order of things are looked at.
spoilt() {
    local kind=$1 status=0
    python3 "$BLOAD_ROOT/fixtures/hostile.py" in "$HOSTILE_COUNT" "$kind" 2>making || fail "$(cat making)"
    options "$kind"
    # Else what the sanitizer finds would be one file's crash, and nobody would see its report.
    [ "${VARIANT-}" != asan ] || options=(--isolate off "${options[@]}")
    # A scan may see none of the faults: images are not decoded.
    timeout -k 1 120 "$BLOAD" scan -q "in/$kind" "${options[@]:0:$((${#options[@]} - 2))}" -o table.tsv -j 4 2>"$ERR" || status=$?
    is "$(failing table.tsv 1 | awk 'END { print NR ? 3 : 0 }')" "$status"
    named "$kind" table.tsv
    pack_spoilt "$kind" d -j 4
    named "$kind" d/sequences.tsv
    # None of them is known to crash a decoder: one that does is worth a look.
    ! grep 'the decoder crashed' d/sequences.tsv || fail 'a decoder crashed'
    bounded 0 verify -q d
    [ "${VARIANT-}" != asan ] || return 0
    pack_spoilt "$kind" e -j 1
    diff -r d e
    diff <(sed "s| d/| e/|" d.messages) e.messages
    [ -z "$QUICK" ] || return 0
    rm -r e
    pack_spoilt "$kind" e -j 4
    diff -r d e
    diff <(sed "s| d/| e/|" d.messages) e.messages
    alone d/sequences.tsv "$2"
}

test_videos() {
    spoilt video 25
}

test_sounds() {
    spoilt audio 10
}

test_images() {
    spoilt frames 4
}

test_arrays() {
    spoilt array 5
}

test_texts() {
    spoilt text 4
}

test_labels() {
    spoilt labels 2
}

# As many files of no use as there may not be open at once: each gives back what it took.
test_descriptors_are_given_back() {
    local file kind i kinds=(text labels)
    [ -n "$QUICK" ] || kinds+=(video audio array)
    python3 "$BLOAD_ROOT/fixtures/hostile.py" all 1000 "${kinds[@]}" 2>making || fail "$(cat making)"
    for kind in "${kinds[@]}"; do
        options "$kind"
        "$BLOAD" scan -q "all/$kind" "${options[@]:0:$((${#options[@]} - 2))}" -o "$kind.tsv" 2>/dev/null || true
        failing "$kind.tsv" 30 | cut -f 1 >files
        [ -s files ] || fail "no file of $kind is of no use"
        rm -rf many
        mkdir many
        while read -r file; do
            for i in {1..20}; do ln "$file" "many/$i-$(basename "$file")"; done
        done <files
        (
            ulimit -n 60
            bounded 3 scan -q many "${options[@]:0:$((${#options[@]} - 2))}" -o many.tsv -j 2
        )
        is "$(($(wc -l <files) * 20))" "$(failing many.tsv 9999 | wc -l)"
    done
}
