# What is in DIR/.bload is compared with a checksum whenever it is read, in the run that wrote it, too: a bit that flips there ends the
# run with a message, or changes nothing, and the next run makes the same bytes.
# shellcheck shell=bash disable=SC2317,SC2164,SC2016
source "$BLOAD_ROOT/tests/laws/lib.bash"

# Some numbers from 1 to N, evenly.
some() { # N HOW-MANY
    seq 1 $(($1 > $2 ? $1 / $2 : 1)) "$1"
}

# flip_reads HOW-MANY REFERENCE COMMAND...: COMMAND makes d; each time another of its reads below .bload brings another bit.
flip_reads() {
    local most=$1 reference=$2 reads n status found=0
    shift 2
    rm -rf d
    disturbed LAWS_PATH=/.bload/ LAWS_NOW=1 LAWS_COUNT="$PWD/count" "$@" >/dev/null 2>&1
    reads=$(cut -d' ' -f3 count)
    [ "$reads" -gt 0 ] || fail 'nothing is read'
    identical "$reference" d
    for n in $(some "$reads" "$most"); do
        rm -rf d
        status=0
        disturbed LAWS_PATH=/.bload/ LAWS_NOW=1 LAWS_FLIP="$n" "$@" >/dev/null 2>"$ERR" || status=$?
        case $status in
        0) diff -r "$reference" d || fail "read $n of $reads changed the dataset" ;;
        1 | 2)
            err_has 'bload: '
            found=$((found + 1))
            "$@" >/dev/null 2>"$ERR" || fail "after a flip in read $n: $(cat "$ERR")"
            identical "$reference" d
            ;;
        *) fail "read $n of $reads: status $status: $(cat "$ERR")" ;;
        esac
    done
    [ $found -gt 0 ] || fail 'no flip was found'
}

# corpus DOCUMENTS [MOST-REPETITIONS]
corpus() {
    python3 -c "
import json
for i in range($1):
    print(json.dumps({'text': 'alpha beta gamma %d ' % i * (i % 9 * ${2:-1} // 8 + 8)}))" >corpus.jsonl
}

test_the_spool_of_one_run() {
    corpus 300 800
    set -- corpus.jsonl --tokenizer bytes -T 4096 --oversize split --shard-size 64K
    "$BLOAD" pack -q "$@" -o reference
    flip_reads 12 reference "$BLOAD" pack -q -j 1 "$@" -o d
}

test_a_bucketed_spool() {
    seq 60000 >lines.txt
    set -- lines.txt --tokenizer bytes -T 50 --oversize split --shard-size 100K
    "$BLOAD" pack -q "$@" -o reference
    "$BLOAD" pack -j 1 "$@" --memory 34M -o bucketed 2>&1 | grep -q 'first bucketed' || fail 'no buckets are made'
    identical reference bucketed
    flip_reads 12 reference "$BLOAD" pack -q -j 1 "$@" --memory 34M -o d
}

# Tasks trust what others wrote: each file, each at several places.
tasks() {
    local scan=(corpus.jsonl --tokenizer bytes)
    "$BLOAD" scan -q "${scan[@]}" -o d --task 0/2 && "$BLOAD" scan -q "${scan[@]}" -o d --task 1/2 && "$BLOAD" plan -q -T 512 d || return
    "$BLOAD" pack -q -j 1 "${scan[@]}" -T 512 --shard-size 6K -o d --task 0/2 || return
    [ -z "$1" ] || flip d/.bload "$1" "$2"
    "$BLOAD" pack -q -j 1 "${scan[@]}" -T 512 --shard-size 6K -o d --task 1/2 && "$BLOAD" finish -q d
}

# flip FOLDER FILE SIXTEENTHS: turns a bit of the file, so many sixteenths of it behind its beginning.
flip() {
    python3 - "$1/$2" "$3" <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
if data:
    data[min(len(data) - 1, len(data) * int(sys.argv[2]) // 16)] ^= 4
    open(sys.argv[1], "r+b").write(data)
END
}

test_the_files_of_tasks() {
    corpus 24
    "$BLOAD" pack -q corpus.jsonl --tokenizer bytes -T 512 --shard-size 6K -o reference
    tasks '' || fail 'tasks'
    identical reference d
    rm -r d
    "$BLOAD" scan -q corpus.jsonl --tokenizer bytes -o d --task 0/2
    "$BLOAD" scan -q corpus.jsonl --tokenizer bytes -o d --task 1/2
    "$BLOAD" plan -q -T 512 d
    "$BLOAD" pack -q -j 1 corpus.jsonl --tokenizer bytes -T 512 --shard-size 6K -o d --task 0/2
    local file at status files=0
    (cd d/.bload && find . -type f ! -name 'lock*' ! -name '*task-*') >files
    while read -r file; do
        files=$((files + 1))
        for at in 0 3 9 16; do
            rm -rf d
            status=0
            tasks "$file" $at >/dev/null 2>"$ERR" || status=$?
            case $status in
            0) identical reference d ;;
            1 | 2) err_has 'bload: ' ;;
            *) fail "$file at $at: status $status: $(cat "$ERR")" ;;
            esac
        done
    done <files
    [ $files -gt 9 ] || fail "only $files files"
}

# What a damaged chunk of the spool has is counted once more, when it is removed as the message says.
test_a_damaged_spool_of_tasks_is_mended() {
    corpus 24
    "$BLOAD" pack -q corpus.jsonl --tokenizer bytes -T 512 --shard-size 6K -o reference
    for part in steps rows; do
        rm -rf d
        status=0
        rm -rf d
        "$BLOAD" scan -q corpus.jsonl --tokenizer bytes -o d --task 0/1
        "$BLOAD" plan -q -T 512 d
        flip d/.bload/spool "$(basename d/.bload/spool/*.$part)" 12
        bload pack -q -j 1 corpus.jsonl --tokenizer bytes -T 512 --shard-size 6K -o d --task 0/1 2>"$ERR" || status=$?
        if [ $part = steps ]; then
            is 1 $status
            grep -o 'remove [^ ]*\.rows' "$ERR" >named || fail "$(cat "$ERR")"
            rm "$(cut -d' ' -f2 named)"
            expect 0 bload pack -q -j 1 corpus.jsonl --tokenizer bytes -T 512 --shard-size 6K -o d --task 0/1
        fi
        expect 0 bload finish -q d
        identical reference d
    done
}

test_copies_of_deflated_arrays() {
    python3 -c "
import random, zipfile
random.seed(1)
head = '{\'descr\': \'|u1\', \'fortran_order\': False, \'shape\': (30000, 3), }'.ljust(117) + chr(10)
data = b'\x93NUMPY\x01\x00\x76\x00' + head.encode() + bytes(random.choices(range(9), k=90000))
for i in range(4):
    zipfile.ZipFile('a%d.npz' % i, 'w', zipfile.ZIP_DEFLATED).writestr('x.npy', data)"
    set -- a0.npz a1.npz a2.npz a3.npz -T 4096 --oversize split
    "$BLOAD" pack -q "$@" -o reference
    flip_reads 16 reference "$BLOAD" pack -q -j 1 "$@" -o d
}

# Many rows of one file wait in a file until its turn, and a subset is chosen from a whole table.
test_rows_that_wait() {
    corpus 30000
    set -- corpus.jsonl --tokenizer bytes -T 4096 --oversize split --where 'length > 150'
    "$BLOAD" pack -q "$@" -o reference
    flip_reads 10 reference "$BLOAD" pack -q -j 1 "$@" -o d
}

# flip_tensors FILE COMMAND...: COMMAND finds a bit that flips in each tensor of FILE, in its header, and in what is between them.
flip_tensors() {
    local file=$1 name at
    shift
    cp "$file" kept
    python3 - "$file" <<'END' >places
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack_from("<Q", data)[0]
print("header", 8 + size // 3)
for name, entry in json.loads(data[8 : 8 + size]).items():
    begin, end = entry.get("data_offsets", (0, 0))
    for at in sorted({begin, (begin + end) // 2, end - 1}) if end > begin else ():
        print(name, 8 + size + at)
END
    while read -r name at; do
        python3 -c "
data = bytearray(open('kept', 'rb').read())
data[$at] ^= 16
open('$file', 'r+b').write(data)"
        "$@" >/dev/null 2>"$ERR" && fail "$file: $name at $at: not found"
        [ $? = 1 ] && grep -q "$(basename "$file")" "$ERR" || fail "$file: $name at $at: $(cat "$ERR")"
    done <places
    cp kept "$file"
    expect 0 "$@"
}

test_each_tensor_with_own_fields() {
    own_fields
    pack packed --segment-ids
    bload plan -q --dataset packed --epochs 1
    bload view -q packed -T 90 --epochs 2 -o viewed
    flip_tensors packed/shards/00000/shard-00000000.safetensors bload verify -q packed
    flip_tensors packed/index.safetensors bload verify -q packed
    flip_tensors packed/plans/epoch-00001.safetensors bload verify -q packed
    flip_tensors viewed/rows.safetensors bload verify -q viewed
    flip_tensors viewed/index.safetensors bload verify -q viewed
    flip_tensors viewed/plans/epoch-00001.safetensors bload verify -q viewed
}
