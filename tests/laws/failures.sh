# What only packing finds out: a sequence that does not decode as it was counted costs itself, and nothing else.
# shellcheck shell=bash disable=SC2317,SC2164,SC2016,SC2086
source "$BLOAD_ROOT/tests/laws/lib.bash"

# Three codecs, three ways to notice. In all of them a packet in the middle looks sound and is not.
failing_clips() {
    clips
    failing_clip
    python3 "$BLOAD_ROOT/tests/laws/spoil.py" in/clip2.webm 7 8 in/sub/fails.webm
    python3 "$BLOAD_ROOT/tests/laws/spoil.py" in/clip1.mp4 13 8 in/sub/fails.mp4
}

reasons() {
    awk -F '\t' '$6 == "failed" { print $1 ": " $7 }' "$1/sequences.tsv"
}

failed='sub/fails.mov: the scan counted 20 frames, decoding gives 19
sub/fails.mp4: the scan counted 30 frames, decoding gives 29
sub/fails.webm: the scan counted 24 frames, decoding gives 23'

tables() {
    python3 "$BLOAD_ROOT/tests/laws/blocks.py" "$1"
}

test_it_keeps_its_place() {
    failing_clips
    expect 3 pack one --segment-ids -T 60
    is "$failed" "$(reasons one)"
    is '3 74' "$(word failed <one/manifest.json) $(word failed_steps <one/manifest.json)"
    tables one >found
    # Every place of the plan once: the failed ones empty, the others filled.
    awk '$5 == "failed"' found | awk '{ n += $3 } END { print n }' >places
    is 74 "$(cat places)"
    ! grep wrong found || fail 'what is in the blocks is not what the tables say'
    is 3 "$(grep -c failed found)"
    # Compressed shards hold the same, and who is asked to repeat the last entry repeats a zero one.
    expect 3 pack two --segment-ids -T 60 --compress zstd
    tables two | diff found -
    expect 3 pack three --segment-ids -T 60 --pad repeat
    ! tables three | grep wrong || fail 'padding'
    expect 0 bload verify one
    expect 0 bload verify two
}

test_the_others_are_as_without_it() {
    failing_clips
    expect 3 pack one -T 60 --strategy naive
    # The same sequences at the same places, made from sound files.
    cp in/clip2.webm in/sub/fails.webm
    cp in/clip1.mp4 in/sub/fails.mp4
    rm in/sub/fails.mov
    cp "$(fixture h264-wide-20.mp4)" in/sub/fails.mov
    expect 3 pack two -T 60 --strategy naive
    is '' "$(reasons two)"
    tables one | grep -v failed >found
    tables two | grep -v sub/fails >sound
    diff found sound
}

test_the_status_is_repeated() {
    failing_clips
    for options in '' '--compress zstd'; do
        {
            expect 3 pack one $options
            find one -printf '%p %T@ %i\n' | sort >before
            expect 3 pack one $options
            find one -printf '%p %T@ %i\n' | sort | diff before -
            # A run that goes on where every shard is finished finds the failures in their records.
            disturbed LAWS_DO='kill -9 $PPID' LAWS_AFTER=/shards.tsv "$BLOAD" pack -q in -T 50 --size 64x48 --shard-size 1M \
                -o two $options 2>/dev/null || is 137 $?
            expect 3 pack two $options
            is 3 "$(grep -c '^bload: failed sub/fails' "$ERR")"
        }
        identical one two
        rm -r one two
    done
}

# Which sequences fail does not depend on how they are cut, nor on where their pieces lie.
test_however_it_is_cut() {
    failing_clips
    local T
    for T in 7 8 16 21; do
        expect 3 pack one -T $T --oversize split --shard-size 200K
        is "$failed" "$(reasons one)"
        is 3 "$(grep -c '^bload: failed' "$ERR")"
        ! tables one | grep wrong || fail "T = $T"
        rm -r one
    done
}

test_as_many_as_are_tolerated() {
    failing_clips
    # 12 inputs; 2 are skipped by the scan, 3 fail: as many whether they are cut into one piece or ten.
    for options in '-T 50' '-T 7 --oversize split'; do
        {
            expect 1 pack d $options --on-error fail
            expect 1 pack e $options --max-failed 4 :err '5 of 12 inputs are unusable: more than --max-failed allows'
            whole /nowhere d
            [ ! -e e/manifest.json ] || fail 'a manifest'
            expect 3 pack e $options --max-failed 5
            expect 3 pack one $options
            expect 1 pack f $options --max-failed 41%
            expect 3 pack f $options --max-failed 42%
            expect 3 pack d $options
        }
        identical one d
        identical one e
        identical one f
        rm -r one d e f
    done
    # The scan's own faults count before anything is packed.
    expect 1 pack d --max-failed 1 :err '2 of 12 inputs are unusable' :none d/shards
}

# Damage in which no frame is lost is told, and the frames are used.
test_concealed_damage() {
    clips
    python3 "$BLOAD_ROOT/tests/laws/spoil.py" in/clip10.avi 7 8 in/sub/damaged.avi
    expect 3 pack one :err 'damaged: 3 of 40 frames concealed by the decoder'
    is '40 ok' "$(awk -F '\t' '$1 == "sub/damaged.avi" { print $2, $6 }' one/sequences.tsv)"
    is 0 "$(word failed <one/manifest.json)"
    expect 1 pack d --on-error fail
    expect 3 pack d
    identical one d
    expect 3 pack d
}

# A damaged file that asks for absurd amounts of memory is damaged, and no failing system.
test_absurd_wishes() {
    clips
    python3 - <<'END'
data = bytearray(open("in/clip1.mp4", "rb").read())
at = data.find(b"stco") + 8
data[at:at + 4] = (0x10000005).to_bytes(4, "big")
open("in/absurd.mp4", "wb").write(data)
END
    expect 3 pack one :err 'bload: skipped absurd.mp4'
    is 3 "$(word skipped <one/manifest.json)"
}

# A sequence fails as a whole if one of its own fields does: a text whose middle has changed, a damaged archive of an array, lists that are
# not as they were counted. It keeps its places.
test_own_fields() {
    own_fields
    sed -i 's/capacity: 200/capacity: 400000/; s/id}.npy/id}.npz/' own.yaml
    python3 - <<'END'
import os, zipfile
for top, _, names in os.walk("beside"):
    for name in names:
        path = os.path.join(top, name)
        if name.endswith(".npy"):
            data = open(path, "rb").read()
            if name == "s2.npy":
                data = data.replace(b"(8, ", b"(3000, ").replace(b"    ", b" ", 1) + bytes(2992 * 96)
            zipfile.ZipFile(path[:-4] + ".npz", "w").writestr("x.npy", data)
with open("beside/s9.txt", "w") as file:
    file.write("a line\n" * 50000)
END
    expect 0 bload scan -q in -c own.yaml -o table.tsv
    expect 0 bload pack -q --sequences table.tsv -c own.yaml -T 50 -o sound
    python3 - <<'END'
def change(name, at, new):
    with open(name, "r+b") as file:
        file.seek(at)
        file.write(new)

change("beside/s9.txt", 200000, b"\xff\xfe")
change("beside/sub/s2.npz", 200000, b"\xff")
END
    # In the tables, too: [[11, 0], [11, 1], [11, 2]], [[14, 0], [14, 1]] and [[17, 0]].
    sed -i 's/\[\[11, 0\], \[11, 1\], \[11, 2/[[11, 0, 1], [11, 1, 1], [11, 2, 1/; s/\[14, 1\]\]/[14, 1], [2, 3]]/; s/\[\[17, 0\]/[[null, 0]/' table.tsv own.csv
    expect 3 bload pack -q --sequences table.tsv -c own.yaml -T 50 -o one
    is 's9.npy: lines: beside/s9.txt: the scan counted 350000 tokens, there are 350004
sub/s2.npy: patches: beside/sub/s2.npz: damaged archive: CRC error
sub/s11.npy: boxes: its steps have another shape than those of the first sequence
sub/s14.npy: boxes: the scan counted 2 steps, there are 3
sub/s17.npy: boxes: step 0: null is no number that fits I32' "$(reasons one)"
    local field
    for field in array text patches lines boxes; do
        python3 "$BLOAD_ROOT/tests/laws/blocks.py" one $field >found
        ! grep wrong found || fail "$field"
        is 5 "$(grep -c failed found)"
        python3 "$BLOAD_ROOT/tests/laws/blocks.py" sound $field | cut -d' ' -f1-3 | diff - <(cut -d' ' -f1-3 found)
        python3 "$BLOAD_ROOT/tests/laws/blocks.py" sound $field | grep -vE ' (s9|sub/s2|sub/s11|sub/s14|sub/s17)\.npy ' | diff - <(grep -v failed found)
    done
    expect 0 bload verify -q one
    expect 3 bload pack -q --sequences table.tsv -c own.yaml -T 50 -o two --compress zstd
    expect 0 bload verify -q two
    for field in text patches lines boxes; do
        python3 "$BLOAD_ROOT/tests/laws/blocks.py" two $field | diff - <(python3 "$BLOAD_ROOT/tests/laws/blocks.py" one $field)
    done
    # A view leaves them out.
    expect 0 bload view -q one -T 70 -o viewed
    expect 3 bload pack -q viewed -o three
    python3 "$BLOAD_ROOT/tests/laws/blocks.py" three patches >found
    ! grep 'wrong\|failed' found || fail 'view'
    is 43 "$(wc -l <found)"
}
