# Lists of clips: what their lines become, that the frames and samples are those of the whole file, and what is of no use.
# shellcheck shell=bash disable=SC2317,SC2086

# slices WHOLE CLIPS FIELD [STRIDE]: see slices.py.
slices() { python3 "$BLOAD_ROOT/tests/cli/slices.py" "$@"; }

# Columns of a table that was scanned.
rows() { cut -f "$1" <"${2:-$OUT}" | tail -n +2; }

# The folder v with videos: many keyframes and B-frames, others begin at 5 s, have times that are not regular, hidden frames.
videos() {
    fixtures v h264-gops-120.mp4=gops.mp4
    fixtures v h264-late-60.mp4=late.mp4 h264-50.mkv=b.mkv vfr-20.mp4=vfr.mp4 vp9-24.webm=hidden.webm h264-gops-60.ts=stream.ts mpeg4-40.avi=packed.avi
}

# random_clips TABLE [SEED]: a list of clips of the usable files in a table, by numbers of frames, in no order.
random_clips() {
    awk -F '\t' -v seed="${2:-1}" 'BEGIN { srand(seed); print "path,start_frame,end_frame,id" }
        NR > 1 && $6 == "ok" { for (i = 0; i < 9; i++) { a = int(rand() * $2); b = a + 1 + int(rand() * ($2 - a)); print rand() "\t" $4 "," a "," b "," NR "-" i } }' "$1" |
        { read -r header && echo "$header" && sort | cut -f 2; }
}

test_lists_of_three_forms() {
    videos
    mkdir lists
    cat >lists/c.csv <<'END'
path,start,end,label,word
../v/gops.mp4,1,2.5,3,"a, b"
../v/gops.mp4,0:02.5,0:00:04,4,

../v/gops.mp4,,1,5,ä
../v/gops.mp4,4,,6,x
../v/vfr.mp4,,,7,x
END
    sed '1!s/"a, b"/a; b/; s/,/\t/g; s/a; b/a, b/' lists/c.csv | gzip >lists/t.tsv.gz
    cat >lists/j.jsonl <<'END'
{"path": "../v/gops.mp4", "start": 1, "end": 2.5, "label": 3, "word": "a, b"}
{"end": "0:00:04", "path": "../v/gops.mp4", "start": "0:02.5", "label": 4, "word": null}
{"path": "../v/gops.mp4", "end": 1, "label": 5, "word": "\u00e4"}
{"path": "../v/gops.mp4", "start": 4, "label": 6, "word": "x"}

{"path": "../v/vfr.mp4", "label": 7, "word": "x"}
END
    expect 0 bload scan -q --kind video lists/c.csv -o c
    expect 0 bload scan -q --kind video lists/t.tsv.gz -o t
    expect 0 bload scan -q --kind video lists/j.jsonl -o j
    same c t
    is '38 37 25 20 20' "$(rows 2 c | tr '\n' ' ' | sed 's/ $//')"
    is "$(printf '../v/gops.mp4#%s\n' 1-2.5 0:02.5-0:00:04 -1 4- && echo ../v/vfr.mp4)" "$(rows 1 c)"
    is 'lists/../v/gops.mp4 25 63 3 a, b' "$(sed -n 2p c | cut -f 4,11,12,14,15 | tr '\t' ' ')"
    is 'clip_begin clip_end clip_seek label word' "$(head -n 1 c | cut -f 11- | tr '\t' ' ')"
    # The keys of JSON have the order in which they come first.
    diff -u <(cut -f 1-13 c) <(cut -f 1-13 j)
    diff -u <(cut -f 14 c) <(cut -f 14 j)
    # A whole file is what it is without a list.
    expect 0 bload scan -q v/vfr.mp4
    is "$(rows 2)" "$(sed -n 6p c | cut -f 2)"
    # Given ids, and numbers of frames.
    given n.tsv 'id\tend_frame\tstart_frame\tpath\none\t9\t3\tv/b.mkv\ntwo\t\t45\tv/b.mkv\nthree\t2\t\tv/b.mkv\n' expect 0 bload scan -q --kind video n.tsv
    is 'one 6 3 9,two 5 45 50,three 2 0 2,' "$(rows 1,2,11,12 | tr '\t\n' ' ,')"
}

# Both ends go to the nearest frame, of two the later; frames in [start, end) are taken. Times count from the first frame, also in a
# file that begins at 5 s; those of vfr.mp4 are 0 .04 .08 .12 .16, then .32 and so on.
test_times_become_frames() {
    videos
    cat >c.csv <<'END'
path,start,end
v/gops.mp4,0.0199,0.0601
v/gops.mp4,0.02,0.06
v/gops.mp4,0.03,0.05
v/gops.mp4,4.78,5
v/gops.mp4,4.76,4.81
v/late.mp4,0,0.4
v/late.mp4,1,1.2
v/late.mp4,2.2,9
v/vfr.mp4,0.16,0.32
v/vfr.mp4,0.23,0.25
v/vfr.mp4,0.2,0.4
v/stream.ts,1,2
END
    expect 3 bload scan -q --kind video c.csv
    is '0-2 1-2 0-0 0-0 119-120 0-10 25-30 55-60 4-5 4-5 4-7 25-50' "$(rows 11,12 | sed 's/\t$/\t0/' | tr '\t\n' '- ' | sed 's/ $//')"
    err_is <<'END'
bload: skipped v/gops.mp4#0.03-0.05: c.csv:4: v/gops.mp4: no frame lies between its start and its end
bload: skipped v/gops.mp4#4.78-5: c.csv:5: v/gops.mp4: begins at 4.780 s, and the video ends at 4.800 s
bload: v/late.mp4#2.2-9: ends 6.600 s behind the video's end at 2.400 s: so much is missing
END
}

test_clips_of_no_use() {
    videos
    cp "$(fixture audio.mp4)" v/sound.mp4
    mkdir v/folder.mp4
    cat >c.csv <<'END'
path,start,end,start_frame,end_frame,label
v/none.mp4,0,1,,,1
v/gops.mp4,2,1,,,1
v/gops.mp4,one,2,,,1
v/gops.mp4,-1,2,,,1
v/gops.mp4,1:60,2,,,1
v/gops.mp4,0,,1,,1
v/gops.mp4,,,7.5,,1
v/gops.mp4,,,500,600,1
v/gops.mp4,,,100,130,1
,1,2,,,1
v/gops.mp4,1
v/sound.mp4,0,1,,,1
v/folder.mp4,0,1,,,1
v/gops.mp4,1,2,,,1
END
    expect 3 bload scan --kind video c.csv
    err_is <<'END'
bload: skipped v/none.mp4#0-1: c.csv:2: v/none.mp4: file not found
bload: skipped v/gops.mp4#2-1: c.csv:3: ends before it starts: from 2 to 1
bload: skipped v/gops.mp4#one-2: c.csv:4: "start" is no time: "one" (seconds, or h:mm:ss.s)
bload: skipped v/gops.mp4#-1-2: c.csv:5: "start" is no time: "-1" (seconds, or h:mm:ss.s)
bload: skipped v/gops.mp4#1:60-2: c.csv:6: "start" is no time: "1:60" (seconds, or h:mm:ss.s)
bload: skipped v/gops.mp4#0-: c.csv:7: times and numbers of frames: give one of them
bload: skipped v/gops.mp4#7.5-: c.csv:8: "start_frame" is no number of a frame: "7.5"
bload: skipped v/gops.mp4#500-600: c.csv:9: v/gops.mp4: begins with frame 500, and the video has 120
bload: v/gops.mp4#100-130: ends 10 frames behind the video's end: so many are missing
bload: skipped c.csv#11: no path
bload: 1 file: 2 sequences of 45 steps, 1 of them damaged; 12 skipped
bload: 3 more faults: see the table
END
    is '2 values where the header has 6 columns' "$(field reason 11 <"$OUT")"
    is 'c.csv:13: v/sound.mp4: no video stream (audio only)' "$(field reason 12 <"$OUT")"
    is 'c.csv:14: v/folder.mp4: not a regular file' "$(field reason 13 <"$OUT")"
    expect 3 bload pack -q --kind video c.csv -T 40 -o d
    expect 3 bload pack --kind video c.csv -T 40 -o d :err 'is already complete'
    printf '{"path": "v/gops.mp4", "end": 1}\n{"path": "v/gops.mp4", "end":\n{"path": ["v"], "end": {"a": 1}}\n' >c.jsonl
    expect 3 bload scan -q --kind video c.jsonl :err 'skipped c.jsonl#2: not JSON at byte 29 of the line: the line ends where a value is expected'
    err_has 'skipped ["v"]#-{"a": 1}: c.jsonl:3: "end" is no time: "{"a": 1}" (seconds, or h:mm:ss.s)'
    put empty.csv '' header.csv 'path,start,end\n' open.csv 'path,start\nv/gops.mp4,1\n"v/gops.mp4,2\n'
    given list 'empty.csv\nheader.csv\nnone.csv\nopen.csv\n' expect 3 bload scan -q --kind video @list
    err_is <<'END'
bload: skipped empty.csv: an empty list
bload: skipped header.csv: an empty list
bload: skipped none.csv: file not found
bload: skipped open.csv: after line 2: line 3: a value in quotes that does not end within 1048576 bytes
END
}

test_headers_of_no_use() {
    videos
    given c.csv 'file,start,end\n' expect 2 bload scan --kind video c.csv
    err_has 'c.csv:1: no column "path", the only one that a list must have: its first line names the columns, and these are "file", "start", "end" (--columns path=NAME says which is the path; a list of paths without that line, or of paths and labels, is a .txt)'
    # Otherwise each line would be the whole file.
    given c.csv 'label,path,time_start,time_end\na,v/gops.mp4,1,2\n' expect 2 bload scan --kind video c.csv
    err_has 'c.csv: no column "start", "end", "start_frame" or "end_frame", but "time_start": rename it (--columns start=time_start), or leave it out'
    given c.jsonl '{"path": "v/gops.mp4", "Start": 1}\n' expect 2 bload scan --kind video c.jsonl :err 'c.jsonl:1: the column "Start": write it "start"'
    given c.csv 'path,start, end\n' expect 2 bload scan --kind video c.csv :err 'c.csv:1: the column " end": write it "end"'
    given c.csv 'path,start,start\n' expect 2 bload scan --kind video c.csv :err 'c.csv:1: duplicate column "start"'
    given c.csv 'path,start,end,duration\n' expect 2 bload scan --kind video c.csv
    err_has 'c.csv:1: "duration" is reserved in the table of sequences: rename the column (--columns), or leave it out'
    printf 'path,start,end,frames\nv/gops.mp4,1,2,3\n' >c.csv
    expect 2 bload pack --kind video c.csv --size 64x48 -T 40 -o d :err 'the column "frames" has the name of a tensor of the shards: rename it'
    given c.jsonl '{"file": "v/gops.mp4"}\n' expect 2 bload scan --kind video c.jsonl
    err_has 'c.jsonl:1: no key "path", the only one that the lines of a list must have: the keys are "file" (--columns path=KEY says which is the path)'
    put a.jsonl '{"audio_filepath": "v/gops.mp4"}\n' c.csv 'path,start,end\nv/gops.mp4,1,2\n'
    expect 2 bload scan --kind audio a.jsonl c.csv :err 'c.csv: a list of clips beside a manifest of speech: pack them separately'
    given f.yaml 'sources: [c.csv]\nkind: video\nT: 40\nfields:\n  - {name: l, path: "{id}.txt"}\n' expect 2 bload pack f.yaml -o d
    err_has 'fields cannot be joined to a list of clips or a manifest: its lines have no files of their own (the list may be a field itself'
    expect 2 bload scan -q --kind video c.csv --fps 5 --fps-origin zero :err '--fps-origin zero: the frames of a clip count from its first one'
}

# Lists as other programs write them: their names of the path, --columns, semicolons, backslashes, plain lists. Each gives the columns id,
# status and what the list has.
test_lists_of_other_programs() {
    mkdir -p v/s
    cp "$(fixture sound-30.mp4)" v/a.mp4
    cp v/a.mp4 'v/s/b 2.mp4'
    cp v/a.mp4 'v/c\new.mp4'
    while IFS='|' read -r name list options expected; do
        printf '%b' "$list" >"$name"
        for kind in video audio; do
            expect "${expected%%:*}" bload scan -q --kind $kind "$name" $options
            is "${expected#*:}" "$(cut -f 1,6,14- <"$OUT" | tail -n +2 | tr '\t\n' ' ,' | sed 's/ *,/,/g')"
        done
    done <<'END'
c.csv|file_name,label\nv/a.mp4,3\n||0:v/a.mp4 ok 3,
c.csv|label,Video_Path\n3,v/a.mp4\n||0:v/a.mp4 ok 3,
c.csv|filename,path\nx,v/a.mp4\n||0:v/a.mp4 ok x,
c.csv|file,class\nv/a.mp4,3\n|--columns path=file,label=class|0:v/a.mp4 ok 3,
c.csv|file,path\nv/a.mp4,3\n|--columns path=file,old=path|0:v/a.mp4 ok 3,
c.csv|path;label\n"v/a.mp4";"x;y"\n||0:v/a.mp4 ok x;y,
t.tsv|path\tword\nv/c\\new.mp4\tC:\\tmp\n||0:v/c\\new.mp4 ok C:\\tmp,
j.jsonl|{"file_name": "v/a.mp4", "text": "hi"}\n{"path": "v/s/b 2.mp4"}\n{"path": "a", "file_name": "b"}\n||3:v/a.mp4 ok hi,v/s/b 2.mp4 ok,j.jsonl#3 skipped,
j.jsonl|{"f": "v/a.mp4", "audio_filepath": 1}\n|--columns path=f|0:v/a.mp4 ok 1,
l.txt|\357\273\277v/a.mp4\r\n|--columns path=path|0:v/a.mp4 ok,
j.jsonl|\357\273\277{"path": "v/a.mp4"}\r\n||0:v/a.mp4 ok,
l.txt|v/a.mp4\n\n  v/s/b 2.mp4 \r\n||0:v/a.mp4 ok,v/s/b 2.mp4 ok,
l.txt|v/s/b 2.mp4\nv/a.mp4\n||0:v/s/b 2.mp4 ok,v/a.mp4 ok,
l.txt|v/a.mp4 3\nv/s/b 2.mp4\t-1\nv/a.mp4\n||3:v/a.mp4 ok 3,v/s/b 2.mp4 ok -1,l.txt#3 skipped,
l.txt|v/a.mp4 run\n|--columns class=label|0:v/a.mp4 ok run,
l.txt|v/none.mp4 3\n||3:v/none.mp4 skipped 3,
l.txt|v/none 3\nv/a.mp4 4||3:v/none skipped 3,v/a.mp4 ok 4,
END
    gzip -kn l.txt
    expect 3 bload scan -q --kind video l.txt.gz
    is 'v/none v/a.mp4' "$(rows 1 | xargs)"
    # Without a line of NeMo's, a list for audio is one of clips, too.
    given n.jsonl '{"audio_filepath": "v/a.mp4", "file_name": "x", "offset": 0.01}\n{}\n' expect 3 bload scan -q --kind audio n.jsonl
    is 'n.jsonl#1 n.jsonl#2' "$(rows 1 | xargs)"
    sed -i 2d n.jsonl
    expect 0 bload scan -q --kind audio n.jsonl --columns path=audio_filepath,start=offset
    is 'v/a.mp4#0.01- x' "$(rows 1,14 | tr '\t' ' ')"
    expect 0 bload pack -q --kind video c.csv -T longest -o d
    expect 0 bload pack --kind video c.csv -T longest -o d :err 'is already complete'
    printf 'file;class\nv/a.mp4;3\n' >c.csv
    expect 2 bload pack -q --kind video c.csv --columns path=file -T longest -o d :err 'd holds a dataset of another configuration'
    while IFS='|' read -r list options said; do
        printf '%b' "$list" >"${options%% *}"
        expect 2 bload scan --kind video $options :err-is "bload: scan: $said"
    done <<'END'
video,filename\na,b\n|c.csv|c.csv:1: "video" or "filename" may be the path: choose with --columns path=video
v/a.mp4 3\n|c.csv|c.csv:1: no column "path", the only one that a list must have: its first line names the columns, and these are "v/a.mp4 3" (--columns path=NAME says which is the path; a list of paths without that line, or of paths and labels, is a .txt)
path,b\nx,y\n|c.csv --columns label=c|--columns: no list of clips has a column "c"
path,b\nx,y\n|c.csv --columns label=b,b|--columns expects 1 to 64 pairs NAME=COLUMN with commas between them, such as path=file_name,label=class, not "label=b,b"
path,b\nx,y\n|c.csv --columns label=b,label=path|--columns label=b,label=path: a name or a column occurs twice
path,b\nx,y\n|c.csv --columns path=b|c.csv:1: duplicate column "path"
v/none 30 2\n|l.txt|l.txt:1: "v/none 30 2": the lines of a .txt are a path, or a path and a label: write a .csv with a first line that names the columns, such as path,frames,label
END
}

# The path and the id may be made of the columns.
test_templates() {
    mkdir -p v/s
    cp "$(fixture sound-30.mp4)" v/a_000010_000020.mp4
    cp v/a_000010_000020.mp4 v/s/b.mp4
    while IFS='|' read -r name list columns expected; do
        printf '%b' "$list" >"$name"
        expect "${expected%%:*}" bload scan -q --kind video "$name" --columns "$columns"
        is "${expected#*:}" "$(cut -f 1,4,6,14- <"$OUT" | tail -n +2 | tr '\t\n' ' ,' | sed 's/ *,/,/g')"
    done <<'END'
c.csv|youtube_id,time_start,time_end\na,10,20\n|path=v/{youtube_id}_{time_start:06}_{time_end:06}.mp4|0:v/a_000010_000020.mp4 v/a_000010_000020.mp4 ok a 10 20,
c.csv|path,w\nb,x\n|path=v/s/{path}.mp4,id={path}-{w}|0:b-x v/s/b.mp4 ok x,
c.csv|path,w,video\nb,x,u\n|path=v/s/{path}.mp4,word=w|0:v/s/b.mp4 v/s/b.mp4 ok x u,
j.jsonl|{"n": "b", "path": "x"}\n{"n": "b"}\n{"n": "b", "id": "y"}\n|path=v/s/{n}.mp4|3:j.jsonl#1 j.jsonl skipped,v/s/b.mp4 v/s/b.mp4 ok b,y v/s/b.mp4 ok b,
t.tsv|file_name\tn\ts\nb\t1\t0.2\nb\t2\t0.3\n|path=v/s/{file_name}.mp4,id={n:03}|0:001 v/s/b.mp4 ok b 1 0.2,002 v/s/b.mp4 ok b 2 0.3,
c.csv|n,from,to\nb,0.2,0.5\nb,,0.1\n|path=v/s/{n}.mp4,start=from,end=to|0:v/s/b.mp4#0.2-0.5 v/s/b.mp4 ok b,v/s/b.mp4#-0.1 v/s/b.mp4 ok b,
j.jsonl|{"n": "b"}\n{"m": 1}\n{"n": "a", "m": 3.5}\n|path=v/s/{n}.mp4|3:v/s/b.mp4 v/s/b.mp4 ok b,j.jsonl#2 j.jsonl skipped,v/s/a.mp4 v/s/a.mp4 skipped a 3.5,
l.txt|b 3\n|path=v/s/{path}.mp4,id={label}|0:3 v/s/b.mp4 ok 3,
END
    given c.csv 'n,m\nb,x\n,1\nb,7.0\nb,-1\n' expect 3 bload scan -q --kind video c.csv --columns 'path=v/s/{n}.mp4,id={m:02}'
    err_is <<'END'
bload: skipped c.csv#2: "m", of which --columns makes the id, is no whole number
bload: skipped c.csv#3: "n", of which --columns makes the path, is empty
bload: skipped c.csv#5: "m", of which --columns makes the id, is no whole number
END
    is '07' "$(rows 1 | sed -n 3p)"
    for case in 'path=v/{x}.mp4|c.csv:1: no column "x", of which --columns makes the path' \
        'path=v/{n.mp4|--columns: "v/{n.mp4" is no template: columns stand in braces, such as videos/{id}_{start:06}.mp4' \
        'start={n}|--columns start={n}: only path and id can have a template' \
        'path={n},path={m}|--columns path={n},path={m}: a name or a column occurs twice' \
        'id={n}|c.csv:1: no column "path", the only one that a list must have: its first line names the columns, and these are "n", "m" (--columns path=NAME says which is the path; a list of paths without that line, or of paths and labels, is a .txt)'; do
        expect 2 bload scan --kind video c.csv --columns "${case%%|*}" :err-is "bload: scan: ${case#*|}"
    done
    put c.csv 'path,n\nx,b\n'
    expect 2 bload scan --kind video c.csv --columns 'path=v/s/{n}.mp4' :err-is 'bload: scan: c.csv:1: the column "path" would be lost, as --columns makes the path of others: use {path} in it, or give --columns old_path=path'
    expect 0 bload scan -q --kind video c.csv --columns 'path=v/s/{n}.mp4,old_path=path' :column old_path x
}

# A field whose path is a list has a clip for each sequence, by its id. In a.npy and so on are as many steps as the clip has.
clips_of_a_field() {
    videos
    mkdir lists
    for name in a=10 b=31 c=7 d=9; do npy a/${name%=*}.npy ${name#*=}; done
    printf 'id,path,start_frame,end_frame\nc,../v/b.mkv,43,\nb.npy,../v/gops.mp4,20,51\na,../v/gops.mp4,51,61\nd,../v/vfr.mp4,2,11\n' >lists/c.csv
    printf 'sources: [a]\nkind: array\nT: 31\nfields:\n  - {name: top, kind: video, path: lists/c.csv, size: 64x48}\n' >set.yaml
}

test_clips_of_a_field() {
    clips_of_a_field
    expect 0 bload pack -q v --size 64x48 -T longest --strategy naive -o whole
    expect 0 bload pack -q -c set.yaml -o d :verified
    head -n 1 d/sequences.tsv | tr '\t' '\n' >columns
    is 'top.path top.length top.clip_begin top.clip_end' "$(grep -E 'top.(path|length|clip_begin|clip_end)' columns | tr '\n' ' ' | sed 's/ $//')"
    first=$(grep -n top.path columns | cut -d : -f 1)
    is 'lists/../v/gops.mp4 51 61,lists/../v/gops.mp4 20 51,lists/../v/b.mkv 43 50,lists/../v/vfr.mp4 2 11,' \
        "$(rows "$first,$((first + 6)),$((first + 7))" d/sequences.tsv | tr '\t\n' ' ,')"
    # slices.py knows clips by these columns.
    awk -F '\t' -v OFS='\t' -v p="$first" 'NR == 1 { $(p + 6) = "clip_begin"; $(p + 7) = "clip_end"; $4 = "file"; $p = "path" } 1' \
        d/sequences.tsv | sed 's|lists/../||' >table
    mv table d/sequences.tsv
    is 4 "$(slices whole d frames=top)"
    # Resumed and made by tasks it is the same; another list is another dataset.
    expect 0 bload pack -q -c set.yaml --isolate off -j 1 -o e
    in_tasks 2 -c set.yaml --shard-size 100K -o t
    is 4 "$(tail -n +2 t/sequences.tsv | wc -l)"
    same d/shards/00000/shard-00000000.safetensors e/shards/00000/shard-00000000.safetensors
    expect 0 bload pack -q -c set.yaml -o e
    sed -i 's/51,61/52,62/' lists/c.csv
    expect 0 bload pack -q -c set.yaml --extend e -o new
    is a.npy "$(awk -F '\t' '$6 == "ok" { print $1 }' new/sequences.tsv)"
    expect 2 bload pack -q -c set.yaml -o e :err 'holds a dataset of another configuration: field top clips is'
}

test_clips_of_a_field_of_no_use() {
    clips_of_a_field
    printf 'id,path,start_frame,end_frame\nb,../v/gops.mp4,20,50\na,../v/none.mp4,51,61\nd,../v/vfr.mp4,2,11\n' >lists/c.csv
    expect 3 bload pack -c set.yaml -T 31 -o d :err 'skipped a.npy: top: lists/c.csv:3: lists/../v/none.mp4: file not found'
    err_has 'skipped b.npy: top: lists/../v/gops.mp4 has 30 frames, the array 31 rows (length-tolerance: 1 would accept it)'
    err_has 'skipped c.npy: top: lists/c.csv: no line has its id'
    printf 'id,path,start,label\na,../v/gops.mp4,1,3\n' >lists/c.csv
    expect 2 bload pack -c set.yaml -o e :err 'field top: lists/c.csv: the column "label": the clips of a field have no attributes'
    printf 'id,path,start_frame\na,../v/gops.mp4,1\nb,../v/gops.mp4\n' >lists/c.csv
    expect 2 bload pack -c set.yaml -o e :err 'field top: lists/c.csv:3: 2 values where the header has 3 columns'
    printf 'id,path,start_frame\na,../v/gops.mp4,1\na,../v/gops.mp4,2\n' >lists/c.csv
    expect 2 bload pack -c set.yaml -o e :err 'field top: lists/c.csv:3: the id a is that of line 2'
    rm lists/c.csv
    expect 2 bload pack -c set.yaml -o e :err 'lists/c.csv'
}

# Further columns are attributes, beside those of a table.
test_further_columns() {
    videos
    put c.csv 'path,start,end,label,weight,word\nv/gops.mp4,0,1,7,0.5,a\nv/gops.mp4,1,2,8,,b\n'
    put c.jsonl '{"path": "v/b.mkv", "end": 1, "label": -1, "more": 4}\n' a.csv 'id,rank\nv/gops.mp4#0-1,1\nv/gops.mp4#1-2,2\nv/b.mkv#-1,3\nv/vfr.mp4,4\n'
    expect 0 bload pack --kind video c.csv c.jsonl v/vfr.mp4 --attributes a.csv --size 64x48 -T 40 -o d :verified
    is 'label weight word more rank' "$(head -n 1 d/sequences.tsv | cut -f 14- | tr '\t' ' ')"
    is '7,0.5,a,,1 8,,b,,2 -1,,,4,3 ,,,,4 ' "$(rows 14- d/sequences.tsv | tr '\t\n' ', ')"
    err_has 'attributes: label F64 (1 empty: NaN), weight F64 (3 empty: NaN), word is text (row 0), so it is in sequences.tsv alone, more F64 (3 empty: NaN), rank I64'
    expect 0 bload pack --kind video c.csv c.jsonl v/vfr.mp4 --attributes a.csv --size 64x48 -T 40 -o d :err 'is already complete'
    printf 'id,word\nv/gops.mp4#0-1,1\nv/gops.mp4#1-2,2\n' >a.csv
    expect 2 bload pack --kind video c.csv --attributes a.csv --size 64x48 -T 40 -o e :err 'a.csv: the scan already has a column "word"'
    expect 0 bload pack -q --kind video c.csv --group-by label -T 40 -o f
}

# Whatever the order, the workers, the tasks and the processes: the frames of the whole file.
test_clips_are_slices_of_videos() {
    videos
    expect 0 bload pack -q v --size 64x48 -T longest --strategy naive -o whole
    random_clips whole/sequences.tsv >c.csv
    expect 0 bload pack -q --kind video c.csv --size 64x48 -T 128 -j 1 -o a
    is 63 "$(slices whole a frames)"
    expect 0 bload pack -q --kind video c.csv --size 64x48 -T 128 -j 2 --isolate off -o b :same-in a sequences.tsv
    same a/shards/00000/shard-00000000.safetensors b/shards/00000/shard-00000000.safetensors
    { head -n 1 c.csv && tail -n +2 c.csv | sort -t , -k 1,1 -k 2n; } >sorted.csv
    expect 0 bload pack -q --kind video sorted.csv --size 64x48 -T 120 --oversize split --seed 3 -o c
    is 63 "$(slices whole c frames)"
    in_tasks 2 --kind video c.csv --size 64x48 -T 128 --shard-size 1M -o t
    is 63 "$(slices whole t frames)"
    # From the table alone, and without where to begin.
    expect 0 bload scan -q --kind video c.csv -o table
    same table a/sequences.tsv
    rm c.csv
    expect 0 bload pack -q --sequences table --size 64x48 -T 128 -o d :same-in a shards/00000/shard-00000000.safetensors
    awk -F '\t' -v OFS='\t' '{ if (NR > 1) $13 = ""; print }' table >other
    expect 0 bload pack -q --sequences other --size 64x48 -T 128 -o e
    is 63 "$(slices whole e frames)"
    awk -F '\t' -v OFS='\t' '{ if (NR > 1) $13 = "1 2"; print }' table >other
    expect 3 bload pack -q --sequences other --size 64x48 -T 128 -o f :err 'invalid clip_seek: "1 2"'
    # Where the table says that other frames come, they do not.
    awk -F '\t' -v OFS='\t' '{ if ($4 == "v/gops.mp4") sub(/ [0-9]+ [-0-9]+$/, " 5 6", $13); print }' table >other
    expect 3 bload pack -q --sequences other --size 64x48 -T 128 -o g :err 'its frames have other times than the scan found'
    is 54 "$(slices whole g frames | cut -d ' ' -f 1)"
}

# The grid begins with the clip: that of the file where the clip begins on it.
test_sampling_within_clips() {
    videos
    given c.csv 'path,start_frame,end_frame\nv/gops.mp4,10,40\nv/gops.mp4,47,60\nv/gops.mp4,119,120\n' expect 0 bload pack -q v/gops.mp4 -T longest -o whole
    expect 0 bload pack -q --kind video c.csv --stride 4 -T 20 -o s
    is 3 "$(slices whole s frames 4)"
    expect 3 bload scan -q --kind video c.csv --fps 5 :err 'v/gops.mp4#119-120: c.csv:4: v/gops.mp4: too short: --fps takes none of its frames'
    is '6 3 0' "$(rows 2 | tr '\n' ' ' | sed 's/ $//')"
    given f.csv 'path,start_frame,end_frame\nv/gops.mp4,10,40\nv/gops.mp4,100,120\n' expect 0 bload pack -q --kind video f.csv --fps 5 -T 20 -o f
    expect 0 bload pack -q v/gops.mp4 --fps 5 -T longest -o g
    awk -F '\t' -v OFS='\t' '{ if (NR > 1) { $11 /= 5; $12 /= 5 } print }' f/sequences.tsv >t
    mv t f/sequences.tsv
    is 2 "$(slices g f frames)"
}

# What lies before the keyframe is not decoded: it may be damaged.
test_nothing_is_decoded_before_the_keyframe() {
    videos
    expect 0 bload pack -q v/gops.mp4 -T longest -o whole
    given c.csv 'path,start_frame,end_frame\nv/gops.mp4,80,90\nv/gops.mp4,100,110\nv/gops.mp4,5,10\n' expect 0 bload scan -q --kind video c.csv -o table
    is '72 96 0' "$(rows 13 table | cut -d ' ' -f 1 | tr '\n' ' ' | sed 's/ $//')"
    IFS=, read -r size position < <(ffprobe -v error -select_streams v:0 -show_entries packet=size,pos -of csv=p=0 v/gops.mp4 | sed -n 30p)
    head -c "$size" /dev/zero | dd of=v/gops.mp4 bs=1 seek="$position" conv=notrunc status=none
    strange table >bare
    expect 0 bload pack -q --sequences bare -T 20 -o d
    is 3 "$(slices whole d frames)"
}

# every_frame TABLE: a list in which each frame of the files in a table is a clip, in no order.
every_frame() {
    awk -F '\t' 'BEGIN { srand(7); print "path,start_frame,end_frame" }
        NR > 1 { for (f = 0; f < $2; f++) print rand() "\t" $4 "," f "," f + 1 }' "$1" | { read -r header && echo "$header" && sort | cut -f 2; }
}

# Frames that are shown before a keyframe may need what comes before it, those behind it do not. The encoders' settings say where they are.
test_clips_of_open_gops() {
    mkdir v
    for name in hevc-open-60.mkv hevc-open-60.mp4 hevc-open-60.mov hevc-open-60.ts hevc-closed-60.mp4 hevc-radl-60.mp4 mpeg1-open-60.mkv \
        mpeg2-open-60.mkv mpeg2-open-60.mp4 mpeg2-open-60.mov mpeg2-open-60.ts mpeg2-closed-60.mov; do
        cp "$(fixture "$name")" v/
    done
    expect 0 bload pack -q v --size 64x48 -T longest --strategy naive -o whole
    every_frame whole/sequences.tsv >c.csv
    expect 0 bload pack -q --kind video c.csv --size 64x48 -T 60 -j 2 -o a
    is 720 "$(slices whole a frames)"
    random_clips whole/sequences.tsv 4 >r.csv
    expect 0 bload pack -q --kind video r.csv --size 64x48 -T 60 -j 2 -o b
    is 108 "$(slices whole b frames)"
    for name in hevc-open-60.mkv hevc-open-60.ts hevc-radl-60.mp4 mpeg2-open-60.mov mpeg2-open-60.ts; do # FFmpeg's encoder of MPEG-2 ends with an I-picture
        is '0 15 30 45' "$(grep "$name" a/sequences.tsv | cut -f 13 | cut -d ' ' -f 1 | sort -nu | sed 's/^59$//' | paste -sd ' ' | sed 's/ $//')"
    done
    # What comes before the keyframe and the frames shown before it are not decoded: they may be damaged.
    printf 'path,start_frame,end_frame\n' >k.csv
    for name in hevc-open-60.mkv mpeg2-open-60.mov; do printf 'v/%s,30,32\nv/%s,40,60\n' $name $name >>k.csv; done
    expect 0 bload scan -q --kind video k.csv -o table
    for name in hevc-open-60.mkv mpeg2-open-60.mov; do
        while IFS=, read -r size position _; do
            head -c "$size" /dev/zero | dd of=v/$name bs=1 seek="$position" conv=notrunc status=none
        done < <(ffprobe -v error -select_streams v:0 -show_entries packet=size,pos -of csv=p=0 v/$name | sed -n 2,20p)
    done
    strange table >bare
    expect 0 bload pack -q --sequences bare --size 64x48 -T 60 -o d
    is 4 "$(slices whole d frames)"
}

# Of a transport stream each keyframe is looked for as readers will. Where a packet of the container does not begin with a frame, as here the
# fourth one of video with a keyframe, what comes after a seek is not the keyframe: decoding begins with the one before.
test_clips_of_transport_streams() {
    fixtures v h264-gops-60.ts=aligned.ts
    python3 "$BLOAD_ROOT/tests/cli/misalign.py" v/aligned.ts v/other.ts 36
    expect 0 bload pack -q v --size 64x48 -T longest --strategy naive -o whole
    every_frame whole/sequences.tsv >c.csv
    expect 0 bload pack -q --kind video c.csv --size 64x48 -T 60 -j 2 -o a
    is 120 "$(slices whole a frames)"
    is '0 12 24 36 48' "$(grep aligned a/sequences.tsv | cut -f 13 | cut -d ' ' -f 1 | sort -nu | paste -sd ' ')"
    is '0 12 24 48' "$(grep other a/sequences.tsv | cut -f 13 | cut -d ' ' -f 1 | sort -nu | paste -sd ' ')"
}

# Faults that only decoding shows: the clips before and behind them are as they are in the whole file.
test_clips_of_a_damaged_video() {
    fixtures v damaged-30.mp4=d.mp4
    expect 3 bload pack -q v/d.mp4 -T longest -o whole
    printf 'path,start_frame,end_frame\nv/d.mp4,20,25\nv/d.mp4,2,9\nv/d.mp4,10,16\n' >c.csv
    expect 3 bload pack --kind video c.csv -T 20 -o d :err 'v/d.mp4#20-25: the video: damaged: '
    is 3 "$(slices whole d frames)"
}

test_clips_are_slices_of_sounds() {
    fixtures v tone-44100-stereo.flac=a.flac tone-44100.m4a=a.m4a tone-44100.ogg=a.ogg
    ffmpeg -v error -i v/a.flac -ac 1 v/a.mp3
    expect 0 bload pack -q v --rate 44100 --dtype f32 -T longest --strategy naive -o whole
    random_clips whole/sequences.tsv >c.csv
    expect 0 bload pack -q --kind audio c.csv --rate 44100 --dtype f32 -T 50000 -j 2 -o a
    is 36 "$(slices whole a audio)"
    put t.csv 'path,start,end,label\nv/a.mp3,0.29,0.7,1\nv/a.mp3,0.7,0:00.9,2\nv/a.mp3,0.9,9,3\nv/a.mp3,9,10,4\nv/a.mp3,,,5\n'
    expect 3 bload scan -q --kind audio t.csv --rate 44100 :err "v/a.mp3#0.9-9: ends 8.000 s behind the recording's end at 1.000 s: so much is missing"
    is '12789-30870 30870-39690 39690-44100 0- 0-' "$(rows 11,12 | tr '\t\n' '- ' | sed 's/ $//')"
    is '18081 8820 4410 0 44100' "$(rows 2 | tr '\n' ' ' | sed 's/ $//')"
    err_has 'skipped v/a.mp3#9-10: t.csv:5: v/a.mp3: begins at 9.000 s, and the recording ends at 1.000 s'
    expect 3 bload pack -q --kind audio t.csv --features fbank80 -T 200 -o f :verified
}

# Real files: start times, edit lists, hidden frames, damage, transport streams, whatever they have.
test_clips_are_slices_of_real_files() {
    sanitizer_skip 'a matter of size: it takes minutes where threads are watched' tsan
    media=$(shared data/media)
    mkdir v
    for name in decord_unordered.mov derived_bitflips.mp4 derived_editlist_trim.mp4 derived_h264_mbaff.ts derived_trunc60.mkv derived_vfr.mp4 \
        derived_vp9_altref.webm exo2_video_big_buck_bunny.mp4 exo_bear-vp9-odd-dimensions.webm exo_preroll-5s.mp4 exo_sample.avi \
        exo_sample_fragmented_seekable.mp4 exo_sample_h265_rps_pred.ts exo_sample_sef_slow_motion.mp4 moz_no_timescale.mp4 tc_animated.gif \
        tc_discard_first_keyframe.mp4 tc_h265_10bits.mp4 tc_nasa_13013.mp4 tc_testsrc2_av1_10bit.mp4 tc_testsrc2_vp8.webm; do
        ln -s "$media/$name" v/
    done
    expect 3 bload pack -q v --size 32x32 -T longest --strategy naive --hdr clip -o whole
    random_clips whole/sequences.tsv 2 >c.csv
    expect 3 bload pack -q --kind video c.csv --size 32x32 -T longest --hdr clip -o a
    is $(($(grep -c . c.csv) - 1)) "$(slices whole a frames)"
}

# As AVA has several persons at a time.
test_clips_of_the_same_part_need_ids() {
    ffmpeg -v error -f lavfi -i testsrc2=s=64x48:r=10:d=2 -c:v mpeg4 -bitexact a.avi
    printf 'path,start,end,person\na.avi,0,1,1\na.avi,0,1,2\n' >c.csv
    expect 1 bload pack -q c.csv --kind video -T 10 -o d :err 'two sequences have the id "a.avi#0-1"' '; a column id of the list can tell them apart'
    sed 's/person/id/' c.csv >i.csv
    expect 0 bload pack -q i.csv --kind video -T 10 -o e :made id '1 2'
}

# Short cuts of a long recording are decoded from a little before them, in any order; where that gives other samples, as of AAC with noise that
# the decoder makes, from the beginning.
test_short_clips_of_long_sounds() {
    mkdir v
    for form in mp3 m4a ogg; do ffmpeg -v error -i "$(fixture long-16000.wav)" -t 12 -bitexact v/a.$form; done
    expect 0 bload pack -q v --dtype f32 -T longest --strategy naive -o whole
    random_clips whole/sequences.tsv 3 >c.csv
    expect 0 bload pack -q --kind audio c.csv --dtype f32 -T longest -j 2 -o a
    is 27 "$(slices whole a audio)"
    # The seventh second on begins with the packets of a second before.
    given m.csv 'path,start,end\nv/a.mp3,7.5,8.25\nv/a.mp3,1,2\n' expect 0 bload scan -q --kind audio m.csv -o table
    read -r position _ mark sample end _ < <(rows 13 table)
    [ "$position" -lt "$mark" ] && [ "$sample" -le 120000 ] && [ "$sample" -gt 100000 ] && [ "$end" -ge 132000 ] || fail "$(cat table)"
    is '' "$(rows 13 table | sed -n 2p)"
    # What lies before is not decoded; a wrong checksum is noticed.
    cp v/a.mp3 sound.mp3
    head -c 3000 /dev/zero | dd of=v/a.mp3 bs=1 seek=$((position / 2)) conv=notrunc status=none
    strange table | sed -n 1,2p >bare
    expect 0 bload pack -q --sequences bare --dtype f32 -T longest -o b
    is 1 "$(slices whole b audio)"
    cp sound.mp3 v/a.mp3
    # So it is for the last clip, where decoding from its midst gives an encoder's padding, too.
    given l.csv 'path,start,end\nv/a.mp3,11.25,12\nv/a.mp3,11,\n' expect 0 bload scan -q --kind audio l.csv -o last
    head -c 3000 /dev/zero | dd of=v/a.mp3 bs=1 seek=$((position / 2)) conv=notrunc status=none
    strange last >bare
    expect 0 bload pack -q --sequences bare --dtype f32 -T longest -o l
    is 2 "$(slices whole l audio)"
    mv sound.mp3 v/a.mp3
    sed 's/[0-9a-f]\{16\}$/0123456789abcdef/' table >other
    ! cmp -s table other || fail 'they are alike'
    expect 0 bload pack -q --sequences other --dtype f32 -T longest -o d
    is 2 "$(slices whole d audio)"
    sed 's/ [0-9a-f]\{16\}$//' table >other
    expect 3 bload pack -q --sequences other --dtype f32 -T longest -o e :err 'invalid clip_seek'
}
