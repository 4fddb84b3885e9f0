# bload scan: what it finds, in which order, and what it says about what it cannot use.
# shellcheck shell=bash disable=SC2317,SC2086,SC2154

# A folder with a little of everything.
folder() {
    mkdir -p v/sub
    fixtures v h264-30.mp4=b10.mp4 mpeg4-40.avi=b2.avi audio.mp4=sound.mp4 cover.mp4=cover.mp4
    cp "$(fixture vp9-24.webm)" v/sub/C.WEBM
    cp "$(fixture h264-1.mp4)" v/.hidden.mp4
    : >v/empty.mp4
    head -c 5000 "$BLOAD_ROOT/LICENSE" >v/garbage.mkv
    ln -s nowhere v/dangling.mp4
    put v/readme.txt 'x\n' v/noext 'x\n'
}

test_a_folder() {
    folder
    expect 3 bload scan v
    cut -f 1-3,6 "$OUT" >table
    diff -u - table <<'END'
id	length	kind	status
b2.avi	40	video	ok
b10.mp4	30	video	ok
cover.mp4	0	video	skipped
dangling.mp4	0	video	skipped
empty.mp4	0	video	skipped
garbage.mkv	0	video	skipped
sound.mp4	0	video	skipped
sub/C.WEBM	24	video	ok
END
    is "$(stat -c %s v/b2.avi)" "$(field bytes 1 <"$OUT")"
    is v/sub/C.WEBM "$(field path 8 <"$OUT")"
    err_has 'bload: skipped cover.mp4: cover art only, no video stream' 'bload: skipped dangling.mp4: file not found'
    err_has 'bload: skipped empty.mp4: empty file' 'bload: skipped garbage.mkv: ' 'bload: skipped sound.mp4: no video stream (audio only)'
    err_has 'bload: 8 files: 3 sequences of 94 steps; 5 skipped' 'bload: ignored in folders: 1 .txt, 1 hidden, 1 no extension'
    is 'cover art only, no video stream' "$(field reason 3 <"$OUT")"
    # The same from any number of threads.
    for jobs in 1 2 16; do
        cp "$OUT" one
        expect 3 bload scan -q -j$jobs v :out-as one
    done
}

test_quiet_silences_the_summary_and_not_the_faults() {
    folder
    expect 3 bload scan -q v :err-count 5 '^bload: skipped'
    is 5 "$(wc -l <"$ERR")"
    rm v/cover.mp4 v/dangling.mp4 v/empty.mp4 v/garbage.mkv v/sound.mp4
    expect 0 bload scan --quiet v :err-is ''
}

# So many that workers get several at a time: rows that are held for their form, faults and what is left out among them.
test_many_short_files_from_any_number_of_threads_and_tasks() {
    local jobs kind=(--kind array in --exclude 300.npy)
    mkdir in
    python3 - <<'END'
import struct
for i in range(640):
    shape = (i % 7 + 1, 2 if i in (5, 310, 311) else 3)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    with open(f"in/{i:03d}.npy", "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode())
        file.write(bytes(0 if i in (16, 63, 200) else 4 * shape[0] * shape[1]))
END
    rm in/00[01].npy in/040.npy
    ln -s nowhere in/000.npy
    : >in/001.npy
    ln -s nowhere in/040.npy
    expect 3 bload scan -j 1 "${kind[@]}"
    cp "$ERR" messages
    cp "$OUT" one
    is '1 dropped 630 ok 9 skipped' "$(field status <one | sort | uniq -c | xargs)"
    for jobs in 2 8; do
        expect 3 bload scan -j $jobs "${kind[@]}" :out-as one
        err_is <messages
        expect 3 bload scan -q --task 0/2 -o d$jobs -j $jobs "${kind[@]}"
        expect 3 bload scan -q --task 1/2 -o d$jobs -j $jobs "${kind[@]}"
    done
    same d2/.bload/scan-00000 d8/.bload/scan-00000
    same d2/.bload/scan-00001 d8/.bload/scan-00001
    expect 3 bload plan -q -T 20 d2
    same one d2/.bload/sequences.tsv
}

test_every_codec() {
    for name in h264-30.mp4 h264-1.mp4 h264-50.mkv hevc-17.mp4 hevc10-13.mkv vp9-24.webm mpeg4-40.avi mpeg2-25.ts theora-21.ogv \
        mjpeg-10.avi ffv1-9.mkv rotated-12.mp4 vfr-20.mp4 sound-30.mp4; do
        frames=${name##*-}
        file=$(fixture $name)
        for count in packets decode; do expect 0 bload scan -q --count $count "$file" :column length "${frames%.*}"; done
    done
}

test_what_is_named_outright_is_an_input() {
    folder
    cp v/readme.txt readme.html
    expect 3 bload scan -q --kind video readme.html :column id readme.html :column status skipped
    expect 0 bload scan -q v/.hidden.mp4 :column length 1
    cp v/b10.mp4 noname
    expect 0 bload scan -q noname :column length 30
}

# Previews, panoramas and segments are copies or parts of other files; pictures of HEIC and AVIF are no videos.
test_extensions_of_folders() {
    mkdir in
    for name in x.dav x.lrv x.360 x.insv x.m4s; do cp "$(fixture h264-1.mp4)" "in/$name"; done
    expect 0 bload scan in :column id x.dav :err 'ignored in folders: 1 .360, 1 .insv, 1 .lrv, 1 .m4s'
    for name in in/*; do
        expect 0 bload scan -q "$name"
        is '1 ok' "$(field length <"$OUT") $(field status <"$OUT")"
    done
    fixtures sound tone-8000.wav=x.weba
    expect 0 bload scan -q sound :column kind audio
    for name in avif heic mif1; do printf '\0\0\0\x14ftyp%s\0\0\0\0mif1\0\0\0\x8free' $name >picture.$name; done
    expect 3 bload scan -q --kind video picture.avif picture.heic picture.mif1 :out-count 3 'a picture, no video or sound (HEIC or AVIF)'
}

test_globs() {
    folder
    expect 0 bload scan -q 'v/b*' :column id 'v/b2.avi v/b10.mp4'
    expect 2 bload scan 'v/*.nope' :err-is 'bload: scan: v/*.nope matches no file'
    mkdir 'a[1]'
    cp v/b2.avi 'a[1]/x.avi'
    expect 0 bload scan -q 'a[1]' :column id x.avi
    expect 0 bload scan -q 'a[1]/x.avi'
    given 'a[1]/set.yaml' 'sources: ["x.*"]\n' expect 0 bload scan -q -c 'a[1]/set.yaml' :column id x.avi
}

# ** descends. What lies in a folder that matches, too, is found once.
test_globs_that_descend() {
    mkdir -p v/s/t v/.hidden
    for name in a s/b s/t/c .hidden/d; do cp "$(fixture h264-1.mp4)" v/$name.mp4; done
    while IFS='|' read -r glob ids; do expect 0 bload scan -q --kind video "$glob" :column id "$ids"; done <<'END'
v/**/*.mp4|v/a.mp4 v/s/b.mp4 v/s/t/c.mp4
**/*.mp4|v/a.mp4 v/s/b.mp4 v/s/t/c.mp4
./**/c.mp4|./v/s/t/c.mp4
v/**|v/a.mp4 v/s/b.mp4 v/s/t/c.mp4
v/**/|v/a.mp4 v/s/b.mp4 v/s/t/c.mp4
v/**/t/**/*.mp4|v/s/t/c.mp4
v/**/s/**/*.mp4|v/s/b.mp4 v/s/t/c.mp4
v/**/*|v/a.mp4 v/s/b.mp4 v/s/t/c.mp4
v/*|v/a.mp4 b.mp4 t/c.mp4
v/**/[st]|v/s/b.mp4 v/s/t/c.mp4
v/**.mp4|v/a.mp4
v/{a,**/c}.mp4|v/a.mp4 v/s/t/c.mp4
END
    expect 0 bload scan -q --kind video "$PWD/v/**/c.mp4" :column id "$PWD/v/s/t/c.mp4"
    printf 'sources: ["../**/*.mp4"]\nkind: video\n' >v/.hidden/set.yaml
    expect 0 bload scan -q -c v/.hidden/set.yaml :column id '../a.mp4 ../s/b.mp4 ../s/t/c.mp4'
    # Folders with the names of videos; links.
    mkdir -p w/1.mp4 w/2.mp4
    cp v/a.mp4 w/1.mp4/c.mp4
    cp v/a.mp4 w/2.mp4/c.mp4
    ln -s ../v/s w/link
    expect 0 bload scan -q 'w/**/*.mp4' :column id 'w/1.mp4/c.mp4 w/2.mp4/c.mp4 w/link/b.mp4 w/link/t/c.mp4'
    expect 2 bload scan 'v/**/*.nope' :err-is 'bload: scan: v/**/*.nope matches no file'
    ln -s .. v/s/up
    expect 2 bload scan 'v/**/*.mp4' :err-is 'bload: scan: v/s/up leads back to a folder above it: remove that link'
}

test_lists() {
    folder
    given list 'v/b10.mp4\n\nv/sub/C.WEBM\nv/b2.avi' expect 0 bload scan -q @list :column id 'v/b2.avi v/b10.mp4 v/sub/C.WEBM'
    given list '\357\273\277v/b10.mp4\r\nv/b2.avi\r\n' expect 0 bload scan -q @list :column id 'v/b2.avi v/b10.mp4'
    given list 'v/b10.mp4\n\nv/sub/C.WEBM\nv/b2.avi' expect 2 bload scan @nolist :err-is 'bload: scan: cannot open the list nolist: No such file or directory'
    cp "$OUT" none
    # Of standard input, and as find -print0 writes them: a name may hold anything then.
    cp v/b2.avi $'v/two\nlines\r'
    for end in '\n' '\0'; do printf "v/b10.mp4${end}v/sub/C.WEBM$end" | expect 0 bload scan -q @- :column id 'v/b10.mp4 v/sub/C.WEBM'; done
    find v -name 'two*' -print0 | expect 0 bload scan -q @- :column id 'v/two\nlines\r'
    find v -name 'b*' -print0 >list
    expect 0 bload pack -q @list --size 32x32 -T longest -o d :made id 'v/b2.avi v/b10.mp4'
    # Who gives the list itself is told of @-.
    printf 'v/b10.mp4\n' | expect 3 bload scan -q -
    err_is <<<'bload: skipped -#0: no JSON: standard input is JSON, unless --format says another (a list of paths is @-)'
    printf 'v/b10.mp4\n' | expect 3 bload scan -q --kind audio -
    err_has 'bload: skipped -#1: not JSON: standard input must be a manifest (for a list of paths use @-)'
    for kind in video frames array; do
        printf 'v/b10.mp4\n' | expect 2 bload scan -q --kind $kind -
        err_is <<<"bload: scan: -: the kind $kind cannot be read from standard input (a list of paths is @-)"
    done
    expect 2 bload scan @- - :err 'standard input is one list (@-) or one input (-)'
}

test_each_folder_says_what_it_is_about() {
    mkdir -p v w docs
    cp "$(fixture h264-30.mp4)" v/a.mp4
    fixtures w h264-1.mp4=b.mp4 sound-30.mp4=x.ac3
    printf '{"text": "a"}\n' | tee docs/1.jsonl >docs/2.jsonl
    echo words | tee v/README.txt >w/README.txt
    # Documents that are a source of their own are not what lies beside the videos of another one.
    expect 2 bload scan v docs :out-is ''
    err_is <<<'bload: scan: sources of several kinds (1 video: v/a.mp4, 2 text such as docs/1.jsonl): choose one with --kind'
    put set.yaml 'sources: [v, docs]\nT: 30\n' list 'v\ndocs\n'
    for source in -cset.yaml @list '[vd]*'; do expect 2 bload pack "$source" -T 30 -o d; done
    expect 0 bload scan --kind video v docs :column id a.mp4 :err 'bload: docs: no input in that folder' 'bload: ignored in folders: 2 .jsonl, 1 .txt'
    # The one that is another kind is named, and what is no input has no id.
    expect 2 bload scan v w :err-is 'bload: scan: sources of several kinds (2 video such as v/a.mp4, 1 audio: w/x.ac3): choose one with --kind'
    rm w/x.ac3
    expect 0 bload scan v w :column id 'a.mp4 b.mp4' :err 'bload: ignored in folders: 2 .txt'
    expect 2 bload scan --kind text v w :err 'two inputs have the id "README.txt": v/README.txt and w/README.txt'
}

test_folders_that_cannot_be_walked_through() {
    fixtures v h264-1.mp4=a.mp4
    rm --version 2>/dev/null | grep -q GNU || skip 'rm reaches no folders as deep as these'
    # So deep that no path leads there, in more folders than may be open.
    python3 - "$(fixture h264-1.mp4)" <<'END'
import os, shutil, sys
os.chdir("v")
for depth in range(22):
    os.mkdir(200 * "d")
    os.chdir(200 * "d")
    if depth == 17:
        shutil.copy(sys.argv[1], "deep.mp4")
END
    (
        ulimit -n 16
        expect 3 bload scan -j1 v
    )
    is "ok ok skipped" "$(field status <"$OUT" | sort | xargs)"
    err_has ': File name too long'
    rm -r v/d*
    if [ "$(id -u)" != 0 ]; then
        mkdir -m 0 v/closed
        expect 3 bload scan v :err 'bload: skipped closed: the folder cannot be read'
        expect 3 bload pack -q v -T 1 -o d
        expect 3 bload pack -q v -T 1 -o d
        for glob in 'v/*/*.mp4' 'v/**/*.mp4'; do expect 3 bload scan "$glob" :err 'bload: skipped v/closed: the folder cannot be read'; done
        chmod 700 v/closed
        rmdir v/closed
    fi
    # Two links at each of forty steps make 2^40 ways to the last folder; a few are what somebody may want.
    mkdir -p s/{0..40}
    cp v/a.mp4 s/40
    for ((i = 37; i < 40; i++)); do ln -s ../$((i + 1)) s/$i/a && ln -s ../$((i + 1)) s/$i/b; done
    expect 0 bload scan s/37
    is 8 "$(field id <"$OUT" | wc -l)"
    for ((i = 0; i < 37; i++)); do ln -s ../$((i + 1)) s/$i/a && ln -s ../$((i + 1)) s/$i/b; done
    expect 2 timeout 20 "$BLOAD" scan s/0 :err 'links lead to the same folders over and over: remove some'
    ln -s . v/l1
    ln -s . v/l2
    expect 2 timeout 20 "$BLOAD" scan v :err 'leads back to a folder above it: remove that link'
}

test_what_is_excluded_is_a_row_that_is_dropped() {
    local -a size=(--size 32x32 -T longest)
    mkdir -p v/sub
    cp "$(fixture h264-30.mp4)" v/a.mp4
    cp "$(fixture vp9-24.webm)" v/sub/b.webm
    cp "$(fixture mpeg4-40.avi)" v/c.avi
    put v/bad.mp4 'none\n' list '\357\273\277bad.mp4\r\n\nsub/b.webm\n'
    expect 0 bload scan --exclude @list --exclude c.avi --exclude nothing v -o t.tsv
    is 'a.mp4 30 ok,bad.mp4 0 dropped,c.avi 0 dropped,sub/b.webm 0 dropped' "$(cut -f 1,2,6 t.tsv | tail -n +2 | tr '\t\n' ' ,' | sed 's/,$//')"
    is 'left out by --exclude' "$(field reason 2 <t.tsv)"
    err_has 'bload: 4 files: 1 sequence of 30 steps' 'bload: left out by --exclude: 3' 'bload: --exclude nothing: no sequence has that id'
    # However it is said, it is the same dataset, whole, and gone on with; another one is another.
    printf 'sources: [v]\nT: longest\nsize: 32x32\nexclude: [bad.mp4, sub/b.webm, c.avi]\n' >set.yaml
    for say in first again; do
        expect 0 bload pack v "${size[@]}" --exclude @list --exclude c.avi -o flags
        [ $say = again ] || err_has 'bload: left out by --exclude: 3'
        expect 0 bload pack -c set.yaml -o yaml
    done
    same flags/manifest.json yaml/manifest.json
    expect 0 bload verify -q flags
    expect 2 bload pack v "${size[@]}" --exclude c.avi -o flags :err 'of another configuration: exclude is'
    expect 0 bload pack -c set.yaml --print-config -o yaml :out 'exclude: ["bad.mp4", "sub/b.webm", "c.avi"]'
    cp "$OUT" printed.yaml
    expect 0 bload pack -c printed.yaml
    expect 0 bload pack -c set.yaml --repair -o yaml
    # By tasks, and of a table that was made before.
    for i in 1 0; do expect 0 bload scan -q v --exclude @list --exclude c.avi --task $i/2 -o tasks; done
    in_tasks 2 v "${size[@]}" --exclude @list --exclude c.avi -o tasks :same-in flags manifest.json
    expect 3 bload scan -q v -o all.tsv
    expect 0 bload pack "${size[@]}" --sequences all.tsv --exclude @list --exclude c.avi --exclude nothing -o table :same-in flags shards.tsv
    err_has 'bload: --exclude nothing: no sequence has that id'
    cmp <(cut -f 1,2,6,7 flags/sequences.tsv) <(cut -f 1,2,6,7 table/sequences.tsv)
    expect 2 bload scan v --exclude @none :err 'cannot open none: No such file or directory'
    expect 2 bload scan v --exclude ''
}

test_documents_are_excluded_one_by_one_or_by_their_file() {
    mkdir d
    printf '{"text": "aaa"}\n{"text": "bb"}\n{"text": "c"}\n' | tee d/1.jsonl >d/2.jsonl
    local -a bytes=(--tokenizer bytes -T 9 --exclude 1.jsonl --exclude '2.jsonl#16')
    expect 0 bload scan -q d --tokenizer bytes -o t.tsv
    expect 0 bload pack d "${bytes[@]}" -o a :err 'bload: left out by --exclude: 4'
    is '3 1' "$(awk -F '\t' '$6 == "ok" { print $2 }' a/sequences.tsv | xargs)"
    expect 0 bload pack -q --sequences t.tsv "${bytes[@]}" -o b :same-in a sequences.tsv :same-in a shards.tsv
    expect 0 bload verify -q a
}

test_ids_that_come_twice_are_named_with_their_places() {
    mkdir v w
    cp "$(fixture h264-1.mp4)" v/a.mp4
    cp v/a.mp4 w
    printf 'w\nv/a.mp4\n\nv/a.mp4\n' >list
    expect 2 bload scan @list :err-is 'bload: scan: two inputs have the id "v/a.mp4": v/a.mp4 (list:2) and v/a.mp4 (list:4) (the same file: name it once)'
    given list 'w' expect 2 bload scan v @list :err-is 'bload: scan: two inputs have the id "a.mp4": v/a.mp4 and w/a.mp4 (list:1) (name a folder above both)'
    given set.yaml 'sources:\n- w\n- path: v\n' expect 2 bload scan set.yaml
    err_is <<<'bload: scan: two inputs have the id "a.mp4": w/a.mp4 (set.yaml:2) and v/a.mp4 (set.yaml:3) (name a folder above both)'
}

test_two_equal_ids_are_refused() {
    mkdir a b
    cp "$(fixture h264-1.mp4)" a/x.mp4
    cp "$(fixture h264-1.mp4)" b/x.mp4
    expect 2 bload scan a b :out-is '' :err 'x.mp4' 'a/x.mp4' 'b/x.mp4'
    expect 0 bload scan -q a/x.mp4 b/x.mp4
}

test_names_are_escaped() {
    clip=$(fixture h264-1.mp4)
    mkdir v
    cp "$clip" "v/tab	x.mp4"
    cp "$clip" 'v/back\slash.mp4'
    cp "$clip" $'v/new\nline.mp4'
    cp "$clip" $'v/latin\xe9.mp4'
    cp "$clip" 'v/ünï.mp4'
    expect 0 bload scan -q v
    is 6 "$(wc -l <"$OUT")"
    field id <"$OUT" >ids
    diff -u - ids <<'END'
back\\slash.mp4
latin\xE9.mp4
new\nline.mp4
tab\tx.mp4
ünï.mp4
END
    is 10 "$(awk -F '\t' 'NR > 1 { print NF }' "$OUT" | sort -u)"
    cp "$OUT" table.tsv
    expect 0 bload plan -T 3 table.tsv
}

test_links_are_followed() {
    mkdir v other
    cp "$(fixture h264-30.mp4)" other/x.mp4
    ln -s ../other/x.mp4 v/link.mp4
    ln -s ../other v/folder
    expect 0 bload scan -q v :column id 'folder/x.mp4 link.mp4'
    # A link that leads back ends.
    fixtures w h264-1.mp4=x.mp4
    ln -s . w/loop
    timeout 20 "$BLOAD" scan -q w >"$OUT" 2>"$ERR" || [ $? -lt 124 ] || fail 'it goes round for ever, or dies'
}

test_sampling() {
    file=$(fixture h264-30.mp4)
    expect 0 bload scan -q --stride 4 "$file" :column length 8 :column sampling stride=4
    expect 0 bload scan -q --fps 5 "$file" :column length 6 :column sampling fps=5
    expect 0 bload scan -q --fps 50 "$file" :column length 60
    expect 2 bload scan --fps 5 --stride 2 "$file"
    # HDR is skipped unless it is asked for.
    file=$(fixture hlg-6.mp4)
    expect 3 bload scan -q "$file" :column status skipped :err HLG
    expect 0 bload scan -q --hdr clip "$file" :column length 6
}

# The lengths that the ffmpeg command gives with its filter.
test_fps_is_ffmpegs_filter() {
    for name in h264-30.mp4 vfr-20.mp4 mpeg4-40.avi vp9-24.webm; do
        file=$(fixture $name)
        for rate in 3 12.5 30000/1001 60; do
            frames=$(ffmpeg -v error -nostdin -i "$file" -vf "fps=$rate" -an -f framecrc - | grep -vc '^#')
            expect 0 bload scan -q --fps $rate "$file"
            is "$name $rate $frames" "$name $rate $(field length <"$OUT")"
        done
    done
}

test_output_appears_when_it_is_complete() {
    folder
    expect 3 bload scan -q v -o table.tsv :out-is ''
    is 9 "$(wc -l <table.tsv)"
    is 'table.tsv v' "$(echo *)"
    expect 2 bload scan v -o v :err-is 'bload: scan: -o v is a directory: a file is expected (--task i/N puts a part into a directory)' :out-is ''
    expect 1 bload scan -q v -o nodir/table.tsv :err 'cannot open the directory nodir: No such file or directory'
    mkfifo pipe
    cat pipe >through &
    expect 3 bload scan -q v -o pipe
    wait
    same table.tsv through
}

test_a_yaml_file_for_sources() {
    folder
    put config/set.yaml 'sources:\n  - ../v/b2.avi\n  - path: ../v/sub\n    kind: video\nstride: 3\n'
    expect 0 bload scan -q config/set.yaml :column length '14 8'
    expect 0 bload scan -q -c config/set.yaml --stride 1 :column length '40 24'
}

test_ended_by_a_signal() {
    mkdir v
    for i in $(seq 400); do cp "$(fixture h264-50.mkv)" "v/$i.mkv"; done
    for signal in INT TERM; do
        ended_by $signal 'table.tsv.part*' "$BLOAD" scan --count decode v -o table.tsv
        [ "$status" != 0 ] || skip 'it was done before the signal'
        is $((128 + $(kill -l $signal))) "$status"
        err_has 'bload: scan: interrupted'
        is v "$(echo *)"
    done
}

test_shared_media_counts() {
    media=$(shared data/media)
    expect 3 bload scan -q --kind video --hdr clip "$media"
    awk -F '\t' -v table="$OUT" '
        function column(name,  i) { for (i = 1; i <= NF; i++) if ($i == name) return i }
        FNR == 1 { for (i = 1; i <= NF; i++) head[FILENAME, $i] = i; next }
        FILENAME == table { length_of[$1] = $2; status_of[$1] = $6; reason_of[$1] = $7; next }
        { count = $(head[FILENAME, "ffprobe_count_frames"]); name = $1
          if (!(name in status_of)) next
          if (status_of[name] == "ok" && reason_of[name] == "" && count ~ /^[0-9]+$/ && count != length_of[name]) {
              print name ": " length_of[name] ", expected " count; bad = 1 }
          compared++ }
        END { if (!compared) { print "nothing compared"; bad = 1 } exit bad }' "$OUT" "$media/MANIFEST.tsv"
}

test_the_summary_as_json() {
    fixtures v h264-30.mp4 mpeg4-40.avi
    : >v/empty.mp4
    for i in 1 2 3 4; do echo no >v/bad$i.mp4; done
    expect 3 bload scan v --exclude mpeg4-40.avi -o t.tsv --json :err 'bload: next: bload plan -T N t.tsv'
    python3 - "$OUT" v <<'END'
import json, os, sys
made = json.load(open(sys.argv[1]))
assert list(made) == ("table kind files bytes sequences steps longest hours skipped empty failed damaged dropped "
                      "fault_count totals reasons run").split(), list(made)
assert made["table"] == "t.tsv" and made["kind"] == "video" and made["hours"] is None, made
assert made["files"] == 7 and made["sequences"] == 1 and made["steps"] == made["longest"] == 30, made
assert made["skipped"] == made["fault_count"] == 5 and made["dropped"] == 1, made
assert not made["empty"] and not made["failed"] and not made["damaged"], made
rows = [(r["status"], r["rows"], len(r["first"])) for r in made["reasons"]]
assert sorted(rows) == [("dropped", 1, 1), ("skipped", 1, 1), ("skipped", 4, 3)], rows
assert made["reasons"][0]["reason"].startswith("not a media file"), made
assert made["run"]["seconds"]["scanning"] > 0 and not made["run"]["seconds"]["writing"], made
total = sum(os.path.getsize(os.path.join(sys.argv[2], n)) for n in os.listdir(sys.argv[2]))
assert made["bytes"] == total, (made, total)
END
    # Documents of one file are one file; those of a subset are counted, and the others as dropped.
    seq 20 | sed 's/.*/{"text": "number &"}/' >a.jsonl
    expect 0 bload scan -q a.jsonl --tokenizer bytes --first 3 -o a.tsv --json --skipped-ok :err-is ''
    python3 -c '
import json, sys
made = json.load(open(sys.argv[1]))
assert made["files"] == 1 and made["sequences"] == 3 and made["dropped"] == 17 and made["longest"] == 8, made
assert made["reasons"][0]["rows"] == 17 and made["reasons"][0]["status"] == "dropped", made
' "$OUT"
}

test_json_needs_a_table_in_a_file() {
    cp "$(fixture h264-1.mp4)" x.mp4
    for flags in '' '-o -'; do
        expect 2 bload scan x.mp4 --json $flags :err-is 'bload: scan: --json prints on standard output, where the table goes: name a file for that, -o FILE'
        out_is </dev/null
    done
    mkfifo pipe
    expect 2 bload scan x.mp4 --json -o pipe :err-is 'bload: scan: --json reads the table again: -o pipe is no regular file'
    expect 2 bload scan x.mp4 --json --task 0/1 -o d :err-is 'bload: scan: --json sums up a whole table, which tasks do not make' :none d
}

# A terminal obeys control characters: names of files are text of others.
test_a_terminal_gets_no_commands() {
    local name=$'a\e]0;title\a\xc2\x9b31m.txt'
    echo text >"$name"
    bload scan -q --tokenizer bytes ./*.txt >table
    grep -q "$name" table || fail 'a file has the names as they are'
    python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$BLOAD" scan -q --tokenizer bytes ./*.txt >screen </dev/null
    grep -q 'a\\x1B]0;title\\x07\\xC2\\x9B31m.txt' screen || fail "$(cat -v screen)"
    ! grep -q $'\e' screen || fail "$(cat -v screen)"
}
