# Helpers of the law tests, beside those of tests/cli/lib.bash, which has been read before.
# shellcheck shell=bash disable=SC2034,SC2016,SC2086 # variables are for the tests

SCALE='--size 64x48'
LIBRARY=$BLOAD_ROOT/build/laws.so
[ -e "$LIBRARY" ] || make -s -C "$BLOAD_ROOT" build/laws.so

# A sanitizer wants to be the first library, and takes what FFmpeg loses when memory is short for leaks of the tool's.
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0:allocator_may_return_null=1

# The folder in: seven clips of as many codecs, in folders, whose natural order is not that of bytes; a file of no use,
# an empty one, one that is no input.
clips() {
    mkdir -p in/sub/deep
    cp "$(fixture h264-30.mp4)" in/clip1.mp4
    cp "$(fixture vp9-24.webm)" in/clip2.webm
    cp "$(fixture mpeg4-40.avi)" in/clip10.avi
    cp "$(fixture mpeg2-25.ts)" in/sub/a.ts
    cp "$(fixture h264-50.mkv)" in/sub/b.mkv
    cp "$(fixture hevc-17.mp4)" in/sub/deep/x.mp4
    cp "$(fixture ffv1-9.mkv)" in/sub/deep/y.mkv
    echo 'no video at all' >in/broken.mp4
    : >in/empty.mkv
    echo note >in/notes.txt
}

# The folder in, of texts: lines good and bad, compressed and not, plain text, an empty file.
texts() {
    SCALE=
    mkdir -p in/sub
    local i
    for i in $(seq 60); do echo "{\"text\": \"document $i $(seq -s ' ' "$i")\", \"id\": $i}"; done >in/a.jsonl
    { echo '{"text": 5}' && cat in/a.jsonl && printf '{"text": "cut'; } | gzip -cn >in/sub/b.jsonl.gz
    zstd -qc in/a.jsonl >in/sub/c.jsonl.zst
    { seq 200 && printf 'no UTF-8: \xff\n'; } >in/d.txt
    : >in/empty.jsonl
}

# The folder in, of flat files of ids: by a mark and by an index, one that ends within an id, one of another dtype.
tokens() {
    SCALE='--token-file dtype=u16,eos=9'
    mkdir -p in/sub
    python3 - <<'END'
import array
ids = array.array("H", (9 if i * i % 31 == 4 else 20 + i * 7 % 5000 for i in range(9000)))
open("in/a.bin", "wb").write(ids.tobytes())
open("in/sub/b.ds", "wb").write(ids[:4000].tobytes())
open("in/sub/b.ds.index", "wb").write(array.array("Q", [0, 70, 70, 71, 2000, 4000]).tobytes())
open("in/odd.npy", "wb").write(ids.tobytes()[:-1])
open("in/wide.bin", "wb").write(array.array("I", ids).tobytes())
END
}

# The folder in, of sound: codecs with delay and without, a file that changes within, one that is cut, two of no use.
sounds() {
    SCALE=
    mkdir -p in/sub
    cp "$(fixture tone-8000.wav)" in/a10.wav
    cp "$(fixture tone-44100-stereo.flac)" in/a2.flac
    cp "$(fixture tone-48000.mp3)" in/b.mp3
    cp "$(fixture tone-44100.m4a)" in/sub/c.m4a
    cp "$(fixture tone-48000.opus)" in/sub/d.opus
    cp "$(fixture changing.mp2)" in/e.mp2
    head -c 9000 "$(fixture tone-16000.wav)" >in/cut.wav
    echo 'no sound at all' >in/broken.wav
    : >in/empty.flac
}

# The folder in, of arrays in every form, seven of no use, one of which packing finds damaged.
arrays() {
    SCALE='--kind array'
    python3 "$BLOAD_ROOT/fixtures/arrays.py" in
}

# The folder in, of sound, and the manifest cuts.json of parts of it: in no order, beyond the end, of files of no use.
speech() {
    sounds
    cp "$(fixture long-16000.wav)" in/long.wav
    local name i
    for i in $(seq 0 7 210); do
        for name in a2.flac b.mp3 sub/c.m4a sub/d.opus broken.wav; do
            echo "{\"audio_filepath\": \"in/$name\", \"offset\": 0.$((i * 37 % 83)), \"duration\": 0.$((i + 11)), \"text\": \"$i\"}"
        done
        echo "{\"audio_filepath\": \"in/long.wav\", \"offset\": $((i * 31 % 21)).5, \"duration\": 1.2345}"
    done >cuts.json
    echo '{"audio_filepath": "in/long.wav", ' >>cuts.json
}

# The folder in, of folders of images: of two forms, one with a broken image, one with none.
images() {
    SCALE='--kind frames --size 64x48'
    mkdir -p in/b10.mp4 in/b2.mp4 in/sub/broken in/none
    ffmpeg -v error -nostdin -i "$(fixture h264-30.mp4)" -start_number 85 in/b10.mp4/%06d.png
    ffmpeg -v error -nostdin -i "$(fixture mpeg4-40.avi)" in/b2.mp4/img_%05d.jpg
    cp in/b10.mp4/*[05].png in/sub/broken
    echo 'no image at all' >in/sub/broken/000097.png
    rm in/b10.mp4/000091.png
    echo note >in/none/notes.txt
}

# And one whose twelfth frame turns out not to decode when it is packed.
failing_clip() {
    cp "$(fixture failing-20.mov)" in/sub/fails.mov
}

# npy FILE N: an array of N steps of three numbers.
npy() {
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': ($2, 3), }" >"$1"
    seq 1000 1999 | tr -d '\n' | head -c $((3 * $2)) >>"$1"
}

# fields.yaml: further fields of the clips, one of each kind; one file is a step short, one of no use.
further_fields() {
    mkdir -p beside/sub/deep
    local id frames comma=
    printf '3 walk\n0 sit\n' >mapping.txt
    while read -r id frames; do
        npy beside/$id.npy $((frames - (frames == 40)))
        cp "$(fixture long-16000.wav)" beside/$id.wav
        seq "$frames" | sed 's/.*[1-6]$/walk/; s/[0-9].*/sit/' >beside/$id.txt
        printf '%s"%s": {"annotations": [{"segment": [0.1, 0.5], "label": "walk"}, {"segment": [0.%d, 1], "label": "sit"}]}' "$comma" \
            $id "$frames"
        comma=,
    done < <(printf '%s\n' 'clip1 30' 'clip2 24' 'clip10 40' 'sub/a 25' 'sub/b 50' 'sub/deep/x 17' 'sub/deep/y 9' 'sub/fails 20') |
        sed 's/.*/{"database": {&}}/' >events.json
    echo swim >>beside/sub/a.txt
    cat >fields.yaml <<'END'
fields:
  - {name: small, path: "in/{name}", kind: video, size: 16x16, fit: crop}
  - {name: features, path: "beside/{id}.npy", length-tolerance: 1}
  - {name: actions, path: "beside/{id}.txt", mapping: mapping.txt}
  - {name: event, kind: intervals, annotations: events.json, mapping: mapping.txt}
  - {name: events, kind: intervals, annotations: events.json, mapping: mapping.txt, multi: true}
  - {name: sound, path: "beside/{id}.wav", kind: audio, per-step: true, rate: 2000, samples: 100}
END
}

# The folder in, of labels one a line, compressed and not, two of no use.
labels() {
    SCALE='--kind labels --mapping mapping.txt'
    mkdir -p in/sub
    printf 'walk\nsit\nfly\n' >mapping.txt
    local i
    for i in $(seq 40); do seq "$i" $((i * 7)) | sed 's/.*[1-4]$/walk/; s/.*[5-7]$/ sit\r/; s/.*[089]$/fly/' >in/a$i.txt; done
    gzip -cn in/a40.txt >in/sub/b.txt
    zstd -qc in/a39.txt >in/sub/c.txt
    echo swim >in/sub/d.txt
    : >in/empty.txt
}

# The folder in, of arrays, and own.yaml: fields with steps of their own, padded and flat, in files beside the arrays and in the columns
# of a table. Some arrays have none of a field.
own_fields() {
    SCALE='-c own.yaml'
    mkdir -p in/sub beside/sub
    python3 - <<'END'
def npy(name, kind, step, steps, size, seed):
    shape = ", ".join(str(axis) for axis in (steps, *step))
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape},), }}".ljust(117) + "\n"
    data = bytes((i * 7 + seed * 31 + i // 251) % 97 + 1 for i in range(steps * size))
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00\x76\x00" + head.encode() + data)

with open("own.csv", "w") as table:
    print("id,text,boxes,class", file=table)
    for i in range(48):
        id = f"sub/s{i}" if i % 3 else f"s{i}"
        npy(f"in/{id}.npy", "|u1", (3,), 1 + i * 29 % 47, 3, i)
        if i % 5:
            npy(f"beside/{id}.npy", "<f4", (6, 4), i * 13 % 9, 96, i)
        if i % 4:
            with open(f"beside/{id}.txt", "w") as file:
                file.write(f"line {i} " + "word " * (i % 7))
        boxes = [[i, k] for k in range(i * 5 % 4)]
        print(f'{id},{"caption " * (i % 3)},"{boxes}",{i % 6}', file=table)
END
    cat >own.yaml <<'END'
attributes: own.csv
fields:
  - {name: text, kind: text, column: text, tokenizer: bytes, steps: own, capacity: 64}
  - {name: patches, path: "beside/{id}.npy", steps: own, capacity: auto, missing: empty}
  - {name: lines, path: "beside/{id}.txt", kind: text, tokenizer: bytes, steps: own, capacity: 200, storage: flat, missing: empty}
  - {name: boxes, kind: array, column: boxes, dtype: i32, steps: own, capacity: auto}
END
}

# Attributes of the clips, for the same file: one clip has none.
attributes() {
    printf 'id,class,weight,note\nclip1,1,0.5,"a, b"\nclip2,2,,\nclip10.avi,3,1,c\nx.mp4,5,2,\ny,6,2.5,\nsub/b,4,-1,d\nsub/fails.mov,7,3,\n' \
        >labels.csv
    echo 'attributes: labels.csv' >>fields.yaml
}

# pack NAME [options]: in into the dataset NAME; two blocks to a shard.
pack() {
    local name=$1
    shift
    "$BLOAD" pack -q in -T 50 $SCALE --shard-size 1M -o "$name" "$@"
}

# disturbed [VARIABLE=VALUE...] COMMAND...: with the library in front of the C library.
disturbed() {
    env LD_PRELOAD="$LIBRARY" "$@"
}

# disturbed_pack [VARIABLE=VALUE...] -- NAME [options]
disturbed_pack() {
    local variables=()
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    local name=$1
    shift
    disturbed "${variables[@]}" "$BLOAD" pack -q in -T 50 $SCALE --shard-size 1M -o "$name" "$@"
}

# The same of the manifest; disturbed, where variables are given.
pack_speech() {
    local variables=()
    while [[ $1 == LAWS_* ]]; do
        variables+=("$1")
        shift
    done
    local name=$1
    shift
    set -- "$BLOAD" pack -q --kind audio cuts.json -T 8000 --oversize split --shard-size 100K -o "$name" "$@"
    if [ ${#variables[@]} = 0 ]; then "$@"; else disturbed "${variables[@]}" "$@"; fi
}

# identical A B: every file of two datasets, names and bytes.
identical() {
    diff -r "$1" "$2" || fail "$2 is not the same as $1"
}

# whole REFERENCE NAME: whatever bears a final name in NAME is as in the reference.
whole() {
    [ -e "$2" ] || return 0
    local file
    while read -r file; do
        cmp "$1/$file" "$2/$file" || fail "$2/$file is not whole"
    done < <(cd "$2" && find . -name .bload -prune -o -type f ! -name '*.part-*' -print)
}

# Inode and time of what bears a final name.
stamps() {
    [ ! -d "$1" ] || (cd "$1" && find . -name .bload -prune -o -type f ! -name '*.part-*' -printf '%p %i %T@\n' | sort)
}

# no_leftover NAME
no_leftover() {
    [ -z "$(find "$1" -name '*.part-*' 2>/dev/null)" ] || fail "left over: $(find "$1" -name '*.part-*')"
}

# in_small_disk SIZE COMMAND: with a file system of that size at ./disk, which only the command sees.
in_small_disk() {
    mkdir -p disk
    own_mounts mount -t tmpfs -o size=1M tmpfs disk 2>/dev/null || skip 'no file system of its own here'
    own_mounts bash -c 'set -e; mount -t tmpfs -o size='"$1"' tmpfs disk; source "$0"; source "$1"; eval "$2"' \
        "$BLOAD_ROOT/tests/cli/lib.bash" "$BLOAD_ROOT/tests/laws/lib.bash" "$2"
}
