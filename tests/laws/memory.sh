# Allocations that fail, one by one or from one on, in the tool and in the libraries that it uses: it ends by itself with status 1 and
# says so, or the answer is the right one. Of thousands of allocations a sample is tried.
# shellcheck shell=bash disable=SC2317,SC2164,SC2016
source "$BLOAD_ROOT/tests/laws/lib.bash"

# A sanitizer's own threads cannot start without memory.
two=2
case $BLOAD in */build/*san/*) two=1 ;; esac

# starved STEP FROM COMMAND...: the answer is stdout (but how long it took) and, if the command makes one, the dataset d.
starved() {
    local step=$1 from=$2 right=0 status n allocations
    shift 2
    rm -rf d
    disturbed LAWS_COUNT="$PWD/count" "$@" >right.out 2>/dev/null || right=$?
    [ ! -e d ] || mv d right
    read -r _ allocations _ <count
    [ "$allocations" -ge 20 ] || fail "only $allocations allocations"
    for n in $(seq $((1 + RANDOM % step)) "$step" "$allocations"); do
        rm -rf d
        status=0
        timeout -s KILL 30 env LD_PRELOAD="$LIBRARY" LAWS_ALLOC="$n" LAWS_FROM="$from" "$@" >starved.out 2>"$ERR" || status=$?
        # The C library itself gives up when it cannot note the end of a thread's data, which zimg has.
        if [ $status = 134 ] && grep -q '^Fatal glibc error: failed to register TLS destructor' "$ERR"; then
            continue
        elif [ $status = $right ]; then
            cmp <(grep -v '"seconds"' right.out) <(grep -v '"seconds"' starved.out) || fail "$*: allocation $n: another answer"
            [ ! -e right ] || identical right d
        else
            is "$*: allocation $n: 1" "$*: allocation $n: $status"
            err_has 'bload: '
            [ ! -e d ] || whole right d
        fi
    done
    rm -rf right
}

test_plan_and_compare() {
    seq 7 40 >lengths
    starved 1 0 "$BLOAD" plan -q -T 40 --lengths lengths
    starved 1 1 "$BLOAD" plan -q -T 40 --lengths lengths
    starved 3 0 "$BLOAD" compare --json -T 40 --lengths lengths
}

test_scan() {
    clips
    starved 5 0 "$BLOAD" scan -q in/clip1.mp4 in/clip2.webm in/broken.mp4 -j 1
    starved 7 0 "$BLOAD" scan -q in/sub/b.mkv in/empty.mkv -j $two
    starved 11 1 "$BLOAD" scan -q in/sub/b.mkv -j $two
}

test_attributes() {
    clips
    mkdir some
    mv in/clip1.mp4 in/sub/deep/y.mkv some
    printf 'id,class,weight\nclip1.mp4,1,0.5\ny,2,\nz,3,"a ""b"""\n' | gzip -cn >labels.csv.gz
    "$BLOAD" scan -q some -o table.tsv
    starved 3 0 "$BLOAD" scan -q some/y.mkv --attributes labels.csv.gz -j 1
    starved 31 0 "$BLOAD" pack -q --sequences table.tsv --attributes labels.csv.gz -T 40 --size 64x48 -o d -j 1
}

test_pack() {
    clips
    mkdir some
    mv in/clip1.mp4 in/sub/deep/y.mkv some
    starved 61 0 "$BLOAD" pack -q some -T 40 --size 64x48 --shard-size 1 -o d -j 1
    starved 83 1 "$BLOAD" pack -q some -T 40 --size 64x48 --shard-size 1 -o d -j $two
    starved 97 0 "$BLOAD" pack -q some -T 40 --size 64x48 --shard-size 1 -o d -j $two --compress zstd
}

test_arrays() {
    arrays
    starved 7 0 "$BLOAD" scan -q in --kind array -j 1
    starved 17 0 "$BLOAD" pack -q in --kind array -T 1000 --oversize split -o d -j 1
    starved 29 1 "$BLOAD" pack -q in --kind array -T 1000 --oversize split -o d -j $two
}

test_images() {
    images
    rm -r in/b10.mp4
    rm in/b2.mp4/*[1-9].jpg
    starved 11 0 "$BLOAD" scan -q in --kind frames -j 1
    starved 61 0 "$BLOAD" pack -q in --kind frames -T 40 --size 64x48 -o d -j 1
    starved 97 1 "$BLOAD" pack -q in --kind frames -T 40 --size 64x48 -o d -j $two
}

test_labels() {
    labels
    rm in/a?.txt in/a[123]?.txt
    starved 3 0 "$BLOAD" scan -q in --kind labels --mapping mapping.txt -j 1
    starved 11 1 "$BLOAD" pack -q in --kind labels --mapping mapping.txt -T 300 -o d -j $two
}

test_fields() {
    clips
    further_fields
    # FFmpeg's decoder of VP9 does not bear it.
    rm in/clip2.webm in/clip10.avi in/sub/[ab].* in/sub/deep/x.mp4
    starved 17 0 "$BLOAD" scan -q in -c fields.yaml -j 1
    starved 83 0 "$BLOAD" pack -q in -c fields.yaml -T 30 --size 64x48 -o d -j 1
    starved 127 1 "$BLOAD" pack -q in -c fields.yaml -T 30 --size 64x48 -o d -j $two
}

test_own_fields() {
    own_fields
    rm in/s*.npy in/sub/s[1-3]*.npy
    starved 13 0 "$BLOAD" scan -q in $SCALE -j 1
    starved 47 0 "$BLOAD" pack -q in $SCALE -T 50 --shard-size 20K -o d -j 1
    starved 71 1 "$BLOAD" pack -q in $SCALE -T 50 --shard-size 20K -o d -j $two
    starved 71 0 "$BLOAD" pack -q in $SCALE -T 50 -o d -j $two --compress zstd
}

# The same by a limit of the system, which is how memory runs out in earnest.
test_a_limit() {
    clips
    case $BLOAD in */build/*san/*) skip 'a sanitizer takes terabytes of addresses' ;; esac
    expect 3 pack one
    local limit status failures=0
    for limit in 60 80 100 120 160 200 250 300 400 600 1000 4000; do
        status=0
        (
            ulimit -v $((limit * 1000))
            pack d -j 2
        ) 2>"$ERR" || status=$?
        case $status in
        3) identical one d && rm -r d ;;
        1 | 2 | 127) failures=$((failures + 1)) ;;
        *) fail "limit $limit MB: status $status: $(cat "$ERR")" ;;
        esac
        whole one d
    done
    [ $failures -gt 0 ] && [ $status = 3 ]
}
