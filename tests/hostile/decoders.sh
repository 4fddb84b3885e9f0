# Decoders that do harm (decoder.c), by one file among twenty: it costs itself, and whoever gives up says by which file and what to do.
# shellcheck shell=bash disable=SC2317,SC2086

LIBRARY=$BLOAD_ROOT/build/hostile.so
[ -e "$LIBRARY" ] || make -s -C "$BLOAD_ROOT" build/hostile.so
"$BLOAD" scan --help | grep -q -e --isolate || skip 'not built with isolation'
case $BLOAD in */build/*san/*) skip 'a sanitizer turns crashes into other ends' ;; esac

# clips WORDS [FRAME]: the folder in: twenty sound clips of shades that grow, three of them of real codecs, and bad.y4m among them, with the
# words in one frame, or in all of them.
clips() {
    mkdir -p in
    cp "$(fixture h264-30.mp4)" "$(fixture vp9-24.webm)" "$(fixture mpeg4-40.avi)" in
    python3 - "$1" "${2-13}" <<'END'
import sys

def clip(name, frames, shade, at=(), words=b""):
    with open(f"in/{name}.y4m", "wb") as file:
        file.write(b"YUV4MPEG2 W32 H24 F25:1 Ip A1:1 C420jpeg\n")
        for i in range(frames):
            picture = bytes([shade + i]) * (32 * 24 * 3 // 2)
            file.write(b"FRAME\n" + (words + picture[len(words):] if i in at else picture))

for i in range(1, 18):
    clip(i, 5 + i, i * 9)
clip("bad", 20, 99, range(20) if sys.argv[2] == "all" else [int(sys.argv[2])], sys.argv[1].encode() + b"\0")
END
}

# hostile COMMAND...: with the library, and as no harm had been done before.
hostile() {
    rm -f evidence
    env LD_PRELOAD="$LIBRARY" HOSTILE_EVIDENCE="$PWD/evidence" timeout -k 1 100 "$@"
}

# evidence N: the Nth of its numbers: 1 done, 2 files, 3 sockets, 4 processes.
evidence() {
    od -An -v -t d4 -w4 evidence | sed -n "$1p" | tr -d ' '
}

packing=(--size 16x16 -T 60 --shard-size 100K)

# pack NAME ARGUMENT...: what is in the folder in.
pack() {
    "$BLOAD" pack -q in "${packing[@]}" -o "$@"
}

hostile_pack() {
    hostile "$BLOAD" pack -q in "${packing[@]}" -o "$@"
}

# places DATASET: what is in each place of each block, but for the bad file's.
places() {
    python3 "$BLOAD_ROOT/tests/laws/blocks.py" "$1" "${2:-frames}" | grep -v ' bad'
}

# untouched REFERENCE DATASET [FIELD]: the reference was packed without any harm; the other one has the same plan, and lacks one sequence.
untouched() {
    places "$1" "${3-}" >expected
    places "$2" "${3-}" | diff -u expected -
    is "$(python3 "$BLOAD_ROOT/tests/laws/blocks.py" "$1" ${3-} | grep -c ' bad')" \
        "$(python3 "$BLOAD_ROOT/tests/laws/blocks.py" "$2" ${3-} | grep -c ' - failed bad')"
}

# became DATASET: status and reason of the bad file.
became() {
    awk -F '\t' 'NR > 1 && $1 ~ /^bad/ { print $6 ": " $7 }' "$1"
}

# costs_itself WHAT REASON [FIELD]: with one worker and with many, the file fails for that reason, and the rest is untouched.
costs_itself() {
    expect 3 hostile_pack one -j 1
    is 2 "$(evidence 1)" # once, and once more
    is "failed: the decoder crashed ($1)" "$(became one/sequences.tsv)"
    err_has "the decoder crashed ($1)"
    cp "$ERR" messages
    untouched reference one ${2-}
    expect 3 hostile_pack many -j 4
    is 2 "$(evidence 1)"
    err_is <messages
    diff -r one many
    expect 0 bload verify -q many
    rm -r one many
}

# of EACH...: with QUICK only the first.
of() {
    if [ -n "$QUICK" ]; then echo "$1"; else echo "$@"; fi
}

test_a_crash_while_packing() {
    for what in $(of segv:SIGSEGV abort:SIGABRT fpe:SIGFPE stack:SIGSEGV); do
        clips "HOSTILE ${what%:*}"
        [ -d reference ] || expect 0 pack reference
        costs_itself "${what#*:}"
    done
    [ -z "$QUICK" ] || return 0
    clips 'HOSTILE exit'
    costs_itself 'exit status 0'
    # The same of shards that are compressed, in pieces, and where the first fault is the end.
    clips 'HOSTILE segv'
    packing=(--size 16x16 -T 7 --oversize split --compress zstd --shard-size 10K)
    expect 0 pack split
    expect 3 hostile_pack one -j 1
    expect 3 hostile_pack many -j 4
    diff -r one many
    is 'failed: the decoder crashed (SIGSEGV)' "$(became one/sequences.tsv)"
    expect 1 hostile_pack none --on-error fail :err 'the decoder crashed (SIGSEGV)' :none none/manifest.json
}

test_a_crash_while_scanning() {
    for what in $(of segv:SIGSEGV abort:SIGABRT stack:SIGSEGV); do
        clips "HOSTILE read ${what%:*}"
        expect 3 hostile "$BLOAD" scan in -o one.tsv -j 1
        is 2 "$(evidence 1)"
        err_has "skipped bad.y4m: the decoder crashed (${what#*:})"
        is "skipped: the decoder crashed (${what#*:})" "$(became one.tsv)"
        expect 3 hostile "$BLOAD" scan in -o many.tsv -j 4
        same one.tsv many.tsv
        expect 0 bload scan -q in -o reference.tsv
        diff <(grep -v '^bad' one.tsv) <(grep -v '^bad' reference.tsv)
    done
    # What is packed is what is packed without it.
    expect 3 hostile_pack one
    expect 3 hostile_pack many -j 4
    diff -r one many
    rm in/bad.y4m
    expect 0 pack without
    python3 "$BLOAD_ROOT/tests/laws/blocks.py" without >expected
    python3 "$BLOAD_ROOT/tests/laws/blocks.py" one | diff -u expected -
}

# sounds FOLDER WORDS [MILLISECONDS]: twenty sounds, of as long or of lengths that grow, and bad.wav, with the words in its middle.
sounds() {
    mkdir -p "$1"
    python3 - "$@" <<'END'
import struct, sys, wave
for name in [*range(1, 21), "bad"]:
    milliseconds = int(sys.argv[3]) if len(sys.argv) > 3 else 300 if name == "bad" else name * 20
    words = sys.argv[2].encode() + b"\0" if name == "bad" else b""
    data = bytearray(struct.pack("<h", 0 if name == "bad" else name) * milliseconds * 16)
    data[len(data) // 2:len(data) // 2 + len(words)] = words
    with wave.open(f"{sys.argv[1]}/{name}.wav", "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(data)
END
}

# Sounds are decoded when they are counted.
test_a_sound() {
    sounds in 'HOSTILE segv'
    packing=(-T 8000 --shard-size 50K)
    expect 3 hostile "$BLOAD" scan in -o one.tsv -j 1
    is 'skipped: the decoder crashed (SIGSEGV)' "$(became one.tsv)"
    expect 3 hostile_pack one -j 1
    expect 3 hostile_pack many -j 4
    diff -r one many
    rm in/bad.wav
    expect 0 pack without
    python3 "$BLOAD_ROOT/tests/laws/blocks.py" without audio >expected
    python3 "$BLOAD_ROOT/tests/laws/blocks.py" one audio | diff -u expected -
}

# many_sounds N=WORDS...: the folder in: 640 short sounds, so many that processes get batches of them, the Nth with the words.
many_sounds() {
    rm -rf in
    mkdir in
    python3 - "$@" <<'END'
import struct, sys, wave
words = dict(word.split("=") for word in sys.argv[1:])
for i in range(640):
    data = bytearray(struct.pack("<h", i) * (100 + i))
    harm = words.get(str(i), "").encode()
    data[80:80 + len(harm) + 1] = harm + b"\0"
    with wave.open(f"in/{i:03d}.wav", "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(data)
END
}

# Files that crash at the beginning, in the middle and at the end of a batch, next to each other, beside some that cannot be used.
test_crashes_among_many_files() {
    local bad='000|016|040|063|100|103|130|131|639' workers
    many_sounds {0,16,40,63}='HOSTILE read segv' {100,103}='HOSTILE abort' {130,131,639}='HOSTILE segv'
    rm in/20[0-3].wav
    ln -s nowhere in/200.wav
    : >in/201.wav
    mkfifo in/202.wav
    echo 'no sound' >in/203.wav
    [ "$(id -u)" = 0 ] || chmod 0 in/204.wav
    expect 3 "$BLOAD" scan -q in -o reference.tsv --isolate off -j 1
    is 640 "$(tail -n +2 reference.tsv | wc -l)"
    awk -F '\t' -v OFS='\t' -v bad="^($bad)[.]wav$" '
        $1 ~ bad { $2 = 0; $6 = "skipped"; $7 = "the decoder crashed (SIG" ($1 ~ /^10/ ? "ABRT" : "SEGV") ")"; $9 = "" } { print }' reference.tsv >expected.tsv
    for workers in 1 2 8; do
        expect 3 hostile "$BLOAD" scan -q in -o out.tsv -j $workers
        is 18 "$(evidence 1)" # of each file once, and once more
        same expected.tsv out.tsv
        [ $workers != 1 ] || cp "$ERR" messages
        err_is <messages
    done
    # Few files may be open: then each is asked for when it is its turn.
    (ulimit -n 40 && expect 3 hostile "$BLOAD" scan in -o out.tsv -j 8)
    same expected.tsv out.tsv
}

# What ends the run names the file, wherever in a batch it is.
test_the_file_of_a_batch_that_ends_the_run() {
    for workers in $(of 1 4); do
        many_sounds 37='HOSTILE read loop'
        expect 1 hostile "$BLOAD" scan in -o out.tsv --stall 1 -j $workers
        is 2 "$(evidence 1)"
        err_has 'in/037.wav: its decoder read no packet or frame in 1 s of processor time' "--exclude '037.wav'"
        many_sounds 37='HOSTILE kill'
        expect 1 hostile "$BLOAD" scan in -o out.tsv -j $workers :err 'in/037.wav: its decoder process was killed (SIGKILL)'
        many_sounds 37='HOSTILE allocate'
        expect 1 hostile "$BLOAD" scan in -o out.tsv -j $workers --decoder-memory 100M :err 'in/037.wav: its decoder process ran out of memory'
    done
    many_sounds 37='HOSTILE kill'
    expect 0 hostile "$BLOAD" scan -q in -o out.tsv --exclude 037.wav
    is 'dropped' "$(grep '^037' out.tsv | cut -f 6)"
    many_sounds {50..60}='HOSTILE slow'
    expect 0 hostile "$BLOAD" scan in -o out.tsv --stall 1 -j 1
}

# Folders of images: the process asks for each file.
test_crashes_among_many_folders() {
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=24x20 -frames:v 1 1.png
    for i in {100..299}; do mkdir -p "in/$i" && cp 1.png "in/$i"; done
    cp -r in/100 in/250-sub
    echo text >in/150/1.png
    rm in/170/1.png
    expect 3 "$BLOAD" scan -q --kind frames in/* -o reference.tsv --isolate off
    cp "$ERR" messages
    for i in 1 2 8; do
        expect 3 hostile "$BLOAD" scan -q --kind frames in/* -o out.tsv -j $i
        same reference.tsv out.tsv
        err_is <messages
    done
}

# The files of a manifest are decoded one after the other: the lines of the others stay.
test_lines_of_a_manifest() {
    sounds in 'HOSTILE segv'
    for i in 6 bad 7 bad 8; do echo "{\"audio_filepath\": \"in/$i.wav\", \"duration\": 0.1}"; done >cuts.json
    expect 3 hostile "$BLOAD" scan --kind audio cuts.json -o one.tsv -j 1
    is 'ok skipped ok skipped ok' "$(field status <one.tsv | paste -s -d ' ')"
    is '2' "$(field reason <one.tsv | grep -c 'in/bad.wav: the decoder crashed (SIGSEGV)')"
    expect 3 hostile "$BLOAD" scan --kind audio cuts.json -o many.tsv -j 4
    same one.tsv many.tsv
}

test_an_image() {
    mkdir all
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=24x20 -frames:v 23 all/%d.png
    for i in $(seq 20) bad; do
        mkdir -p "in/$i"
        cp "all/${i/bad/21}.png" "in/$i/1.png"
        cp all/22.png "in/$i/2.png"
        cp all/23.png "in/$i/3.png"
    done
    packing=(--kind frames -T 12 --shard-size 10K)
    expect 0 pack reference
    printf 'HOSTILE segv' >>in/bad/2.png
    costs_itself SIGSEGV
}

# Of a sequence of several files the sound crashes: it fails with all of its fields.
test_one_of_several_fields() {
    clips ''
    sounds beside '' 800
    rm in/*.mp4 in/*.avi in/*.webm
    cat >fields.yaml <<'END'
sources: [{path: in, kind: video}]
fields: [{name: sound, path: "beside/{id}.wav", kind: audio, per-step: true, rate: 2000, samples: 80}]
size: 16x16
END
    packing=(-c fields.yaml -T 60 --shard-size 100K)
    expect 0 pack reference
    sounds beside 'HOSTILE segv' 800
    expect 3 hostile_pack one -j 1
    expect 3 hostile_pack many -j 4
    diff -r one many
    became one/sequences.tsv | grep -F 'the decoder crashed (SIGSEGV)'
    places reference | cut -d ' ' -f 4- | sort >expected
    places one | cut -d ' ' -f 4- | sort | diff expected -
}

# That it never comes back is no fact about the file: whoever started the run decides.
test_no_progress() {
    for words in $(of loop read_loop); do
        clips "HOSTILE ${words/_/ }"
        expect 1 hostile_pack d --stall 1 -j 4
        is 2 "$(evidence 1)"
        err_has 'in/bad.y4m: its decoder read no packet or frame in 1 s of processor time' "--exclude 'bad.y4m'"
        [ ! -e d/manifest.json ]
        rm -r d
    done
    expect 0 hostile_pack other --exclude bad.y4m
    # Slow is not stuck: what takes longer than that in all, but goes on.
    [ -z "$QUICK" ] || return 0
    clips 'HOSTILE slow' all
    expect 0 hostile_pack slow --stall 1
}

# More than a file's headers said, and than there may be besides.
test_memory_without_end() {
    for words in $(of allocate read_allocate); do
        clips "HOSTILE ${words/_/ }"
        expect 1 hostile_pack d -j 4 --decoder-memory 100M
        err_is <<<'bload: pack: in/bad.y4m: its decoder process ran out of memory (of the system, or of --decoder-memory)'
        [ ! -e d/manifest.json ]
        rm -r d
    done
}

# As the system does where memory runs out, again and again.
test_killed_each_time() {
    clips 'HOSTILE kill'
    expect 1 hostile_pack d -j 4 :err 'in/bad.y4m: its decoder process was killed (SIGKILL)' :none d/manifest.json
}

# What a decoder may not do, where the kernel has filters; without isolation it may.
test_doors_are_closed() {
    clips 'HOSTILE doors'
    expect 0 pack reference
    expect 0 hostile_pack off --isolate off
    is '1 2 1 1' "$(evidence 1) $(evidence 2) $(evidence 3) $(evidence 4)"
    rm door
    expect 0 hostile_pack d
    diff -r reference d
    is '1 0 0 0' "$(evidence 1) $(evidence 2) $(evidence 3) $(evidence 4)"
    [ ! -e door ]
}

NOTE='decoded without a filter of system calls (seccomp)'

# noted DATASET: it has the note, and differs in nothing else from the reference, which has none.
noted() {
    is "note        $NOTE" "$("$BLOAD" info "$1" | grep ^note)"
    python3 - reference/manifest.json "$1/manifest.json" "$NOTE" <<'END'
import json, sys
reference, noted = (json.load(open(name)) for name in sys.argv[1:3])
assert "notes" not in reference and noted["notes"] == [sys.argv[3]], noted
del noted["notes"], noted["checksum"], reference["checksum"]
assert noted == reference
END
    diff -r -x manifest.json reference "$1"
    expect 0 bload verify -q "$1"
}

# A kernel without filters: on says so once, auto nothing, and the dataset has a note of it.
test_without_a_filter() {
    clips 'no harm'
    expect 0 pack reference
    "$BLOAD" info reference >said
    ! grep '^note' said || fail 'a note'
    expect 0 hostile "$BLOAD" pack in "${packing[@]}" -o with --isolate on
    ! grep seccomp "$ERR" || fail 'a warning'
    diff -r reference with
    export HOSTILE_NO_FILTER=1
    expect 0 hostile_pack off --isolate off
    diff -r reference off
    expect 0 hostile_pack d :err-is ''
    noted d
    expect 0 hostile "$BLOAD" pack in "${packing[@]}" -o on --isolate on -j 4
    is 1 "$(grep -c 'bload: --isolate on: there is no filter of system calls here (seccomp)' "$ERR")"
    diff -r d on
    expect 0 hostile "$BLOAD" scan in -o table.tsv --isolate on
    is 1 "$(grep -c seccomp "$ERR")"
    expect 0 hostile "$BLOAD" scan in -o table.tsv
    ! grep seccomp "$ERR" || fail 'a warning'
    # What is decoded here is not isolated: there is nothing to say.
    echo 'words and words' >text.txt
    expect 0 hostile "$BLOAD" pack -q text.txt --tokenizer bytes -T 20 -o text --isolate on :err-is ''
    ! grep -q '"notes"' text/manifest.json || fail 'a note'
    # It is a fact about the run: for whoever packs again, and repairs, it is the same dataset.
    unset HOSTILE_NO_FILTER
    expect 0 pack d
    rm d/shards/00000/shard-00000001.safetensors
    expect 0 pack d
    diff -r on d
    clips 'HOSTILE doors'
    HOSTILE_NO_FILTER=1 expect 0 hostile_pack open
    is '1 2 1 1' "$(evidence 1) $(evidence 2) $(evidence 3) $(evidence 4)"
}

# Where some of the machines have none; the shards' records keep it for whoever finishes.
test_a_task_without_a_filter() {
    clips 'no harm'
    expect 0 pack reference
    HOSTILE_NO_FILTER=1 expect 0 hostile_pack d --task 1/2
    expect 0 pack d --task 0/2
    expect 0 bload finish -q d
    noted d
}

# What has no meaning is not waited for, nor taken for pictures, nor for another file's.
test_nonsense_in_place_of_an_answer() {
    for what in chatter claim answer row; do
        rm -rf -- *
        clips "HOSTILE $what"
        expect 0 pack reference
        costs_itself 'nonsense in place of an answer'
    done
}

# A file that has taken its decoder over runs code there, behind the filter.
secret() {
    mkdir -p beside
    echo 'top secret' >beside/secret
    export HOSTILE_SECRET=$PWD/beside/secret
}

test_no_file_but_those_that_were_named() {
    secret
    clips 'HOSTILE read want'
    hostile "$BLOAD" scan -q --count decode --size 16x16 in >/dev/null
    is 0 "$(evidence 2)"
    [ "$(evidence 1)" -gt 0 ] || fail 'nothing was done'
    # Of a list the process gets what its lines name.
    for i in 1 bad 2; do echo "{\"path\": \"in/$i.y4m\", \"start\": 0, \"end\": 0.2}"; done >clips.jsonl
    hostile "$BLOAD" scan -q --kind video --count decode --size 16x16 clips.jsonl >/dev/null
    is 0 "$(evidence 2)"
    echo '{"audio_filepath": "in/bad.y4m", "duration": 0.1}' >cuts.json
    hostile "$BLOAD" scan -q --kind audio cuts.json >/dev/null 2>&1 || true
    is 0 "$(evidence 2)"
    # Of a folder of images, the files in it.
    rm -r in
    mkdir -p in/a in/b
    for i in 1 2 3; do ffmpeg -v error -nostdin -f lavfi -i color=red:size=32x24 -frames:v 1 in/a/$i.png; done
    cp in/a/*.png in/b
    printf 'HOSTILE want' >>in/b/2.png
    hostile "$BLOAD" pack -q --kind frames --size 16x16 in -T longest -o images >/dev/null 2>&1 || true
    is 0 "$(evidence 2)"
    [ "$(evidence 1)" -gt 0 ] || fail 'nothing was done of images'
}

test_rows_of_other_files_are_not_taken() {
    secret
    clips 'HOSTILE read forge'
    for i in 1 bad 2; do echo "{\"path\": \"in/$i.y4m\", \"start\": 0, \"end\": 0.2}"; done >clips.jsonl
    for source in in clips.jsonl; do
        for how in path id kind extra offset; do
            HOSTILE_FORGE=$how expect 3 hostile "$BLOAD" scan -q --kind video --count decode --size 16x16 $source
            is 2 "$(evidence 1)" # once, and once more
            grep -q 'nonsense in place of an answer' "$OUT" || fail "$source, $how: the row was taken"
            ! grep -q 'beside/secret\|#77' "$OUT" || fail "$source, $how: $(cat "$OUT")"
        done
    done
}

test_no_other_process_is_signalled() {
    clips 'HOSTILE read signal'
    sleep 100 &
    local victim=$!
    HOSTILE_VICTIM=$victim hostile "$BLOAD" scan -q --count decode --size 16x16 in >/dev/null 2>"$ERR" || true
    [ "$(evidence 1)" -gt 0 ] || fail 'nothing was done'
    is 0 "$(evidence 4)"
    kill -0 $victim || fail 'it was killed'
    kill $victim
}

test_a_message_claims_what_it_can_need() {
    clips 'HOSTILE read large'
    expect 3 hostile "$BLOAD" scan -q --count decode --size 16x16 in
    is 'skipped: the decoder crashed (nonsense in place of an answer)' "$(became "$OUT")"
}

# The processes of the run: those that have its name for the evidence in their environment.
processes() {
    grep -lsF "HOSTILE_EVIDENCE=$PWD/evidence" /proc/[0-9]*/environ | sed 's|/proc/\([0-9]*\)/.*|\1|' | sort -n
}

# begin COMMAND...: starts it in a job of its own, and waits until the harm is being done; sets pid.
begin() {
    local i
    rm -f evidence
    set -m
    env LD_PRELOAD="$LIBRARY" HOSTILE_EVIDENCE="$PWD/evidence" "$@" 2>"$ERR" >/dev/null &
    pid=$!
    set +m
    for ((i = 0; i < 300; i++)); do
        [ ! -s evidence ] || [ "$(evidence 1)" = 0 ] || return 0
        sleep 0.1
    done
    fail 'nothing was done'
}

# none_left: soon there is no process of the run.
none_left() {
    local i
    for ((i = 0; i < 20; i++)); do
        [ -n "$(processes)" ] || return 0
        sleep 0.1
    done
    fail "left over: $(processes)"
}

# In the middle of decoding, which waits; to the process, and to its whole group as a terminal does.
test_no_process_is_left_behind() {
    for words in $(of sleep read_sleep loop); do
        clips "HOSTILE ${words/_/ }"
        for signal in $(of KILL INT -INT TERM -KILL); do
            rm -rf d
            begin "$BLOAD" pack -q in "${packing[@]}" -o d -j 4
            [ "$(processes | wc -l)" -ge 3 ] || fail 'there are no decoder processes'
            if [ "${signal#-}" = "$signal" ]; then kill -s "$signal" $pid; else kill -s "${signal#-}" -- -$pid; fi
            status=0
            wait $pid || status=$?
            is $((128 + $(kill -l ${signal#-}))) $status
            none_left
        done
    done
}

# A process that is ended once, by whatever it is, changes nothing: it is tried once more.
test_a_decoder_is_ended_from_outside() {
    clips 'HOSTILE slow' all
    expect 0 pack reference
    for signal in KILL SEGV; do
        rm -rf d
        begin "$BLOAD" pack -q in "${packing[@]}" -o d -j 1
        kill -s $signal "$(processes | tail -n 1)"
        status=0
        wait $pid || status=$?
        is 0 $status
        diff -r reference d
    done
}

# Many workers have many descriptors: a process costs its worker one, and the limit is raised where that is allowed.
test_descriptors() {
    clips 'HOSTILE read sleep'
    begin "$BLOAD" scan -q in -j 4
    find /proc/$pid/fd -lname '*socket:*' >sockets
    is 0 "$(find /proc/$pid/fd -lname '*memfd:bload*' | wc -l)"
    [ "$(wc -l <sockets)" -le 5 ] || fail "$(cat sockets)"
    kill -s KILL $pid
    wait $pid || is 137 $?
    clips 'no harm'
    expect 0 pack reference
    (ulimit -S -n 24 && expect 0 pack d -j 16)
    diff -r reference d
    (ulimit -n 24 && expect 1 pack few -j 16)
    err_has 'Too many open files'
    (ulimit -n 24 && expect 0 pack few --isolate off -j 4)
    diff -r reference few
}

# Without the process that starts the others nothing goes on; the same command does.
test_the_fork_server_is_ended() {
    local status=0
    clips 'HOSTILE sleep'
    begin "$BLOAD" pack -q in "${packing[@]}" -o d -j 1
    kill -s KILL "$(processes | sed -n 2p)"
    wait $pid || status=$?
    is 1 $status
    none_left
    expect 0 pack d
    expect 0 pack reference
    diff -r reference d
}
