# Pictures and videos as fields with steps of their own: what a scan finds, what is stored of them, and what is refused.
# shellcheck shell=bash disable=SC2317,SC2086

# Five documents, of which three name pictures and two name videos; set.yaml packs all of it. Pictures have several sizes.
setup() {
    local i name
    mkdir -p in/img in/v
    for name in 0.jpg 1.png 2.jpg 3.png 4.jpg 5.png; do
        i=${name%.*}
        ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=$((40 + 8 * i))x$((32 + 4 * i)):rate=10 -frames:v 1 in/img/$name
    done
    cp "$(fixture h264-30.mp4)" in/v/a.mp4
    cp "$(fixture vp9-24.webm)" in/v/b.webm
    cp "$(fixture mpeg4-40.avi)" in/v/c.avi
    put in/d.jsonl '{"text": "one", "images": ["img/0.jpg", "img/1.png"]}
{"text": "two"}
{"text": "three", "images": [], "video": null}
{"text": "four", "images": "img/2.jpg", "video": ["v/a.mp4", {"path": "v/b.webm", "start_frame": 2, "end_frame": 7}]}
{"text": "five", "images": ["img/3.png", "img/4.jpg", {"path": "img/5.png", "bytes": null}], "video": {"path": "v/c.avi"}}\n'
    put set.yaml 'sources: [in/d.jsonl]\ntokenizer: bytes\nT: 12\nfields:
  - {name: images, kind: images, key: images, size: 20x16, steps: own, capacity: auto}
  - {name: video, kind: video, key: video, size: 20x16, steps: own, capacity: auto}\n'
}

# The id of document $1, from 1.
id() { field id "$1" <d/sequences.tsv; }

# stored DIR ID FIELD: the values of its steps, without the header of the array.
stored() {
    bload cat "$1" "$2" --field "$3" -o x.npy && tail -c +129 x.npy
}

test_every_step_is_that_of_the_other_kinds() {
    local i j
    expect 0 bload pack -q -c set.yaml -o d :verified :made images.length '2 0 0 1 3' \
        :made video.length "0 0 0 35 40"
    expect 0 bload info d :out 'images U8 [4, 16, 20, 3] per block, steps of its own, stored flat' ', of the files in the column images'
    # A folder of the same pictures, and the same videos and clips, each as sequences.
    for i in 0 1 2 3 4 5; do
        mkdir -p one/$i
        cp in/img/$i.* one/$i/
    done
    expect 0 bload pack -q --kind frames one --size 20x16 -T longest -o frames
    put clips.csv 'path,start_frame,end_frame,id\nin/v/a.mp4,,,a\nin/v/b.webm,2,7,b\nin/v/c.avi,,,c\n'
    expect 0 bload pack -q --kind video clips.csv --size 20x16 -T longest -o videos
    for i in '1 0 1' '4 2' '5 3 4 5'; do
        set -- $i
        stored d "$(id $1)" images >got
        for j in "${@:2}"; do stored frames $j frames; done >expected
        [ -s got ] || fail 'no pictures'
        cmp got expected
    done
    stored d "$(id 4)" video >got
    { stored videos a frames && stored videos b frames; } >expected
    cmp got expected
    stored d "$(id 5)" video >got
    stored videos c frames | cmp got -
}

# N frames of each file and clip, which need the number of frames of the file: those of kind video.
test_frames_of_a_list() {
    local options
    put clips.csv 'path,start_frame,end_frame,id\nin/v/a.mp4,,,a\nin/v/b.webm,2,7,b\nin/v/c.avi,,,c\n'
    for options in 'frames: 4' 'frames: 9, frames-at: middle' 'frames-rule: qwen3-vl'; do
        sed "s/^  - {name: video, /&$options, /" set.yaml >list.yaml
        expect 0 bload pack -q -c list.yaml -o d :verified
        expect 0 bload pack -q -c list.yaml --isolate off -j 1 -o e :same-in d shards.tsv :same-in d sequences.tsv
        # shellcheck disable=SC2001,SC2046 # a pattern with groups; words are options
        expect 0 bload pack -q --kind video clips.csv $(sed 's/\([a-z-]*\): \([a-z0-9-]*\),*/--\1 \2/g' <<<"$options") --size 20x16 -T longest -o videos
        stored d "$(id 4)" video >got
        { stored videos a frames && stored videos b frames; } >expected
        [ -s got ] || fail 'no frames'
        cmp got expected
        stored d "$(id 5)" video >got
        stored videos c frames | cmp got -
        rm -r d e videos
    done
}

# The bytes do not depend on the number of workers, on processes, on storage that is the same, nor on an end in between.
test_every_run_makes_the_same_bytes() {
    local options
    for options in '' '--shard-size 1' '--compress zstd'; do
        expect 0 bload pack -q -c set.yaml $options -j 1 -o d
        expect 0 bload pack -q -c set.yaml $options -j 4 -o e :same-as d :removed
        # Decoder processes without a filter of system calls, as a sanitizer's are, leave a note in the manifest: d may have one.
        expect 0 bload pack -q -c set.yaml $options --isolate off -o e :same-in d shards.tsv :same-in d sequences.tsv :removed
        expect 0 bload pack -q -c set.yaml $options --memory 1G -o e :same-as d :removed
        expect 0 bload scan -q -c set.yaml -o seq.tsv
        expect 0 bload pack -q -c set.yaml $options --sequences seq.tsv -o e :same-in d index.safetensors :verified
        diff -r d/shards e/shards
        rm -r d e
    done
    expect 0 bload pack -q -c set.yaml --shard-size 1 -o d
    ended_by KILL 'k/shards/*/*' bload pack -q -c set.yaml --shard-size 1 -o k
    expect 0 bload pack -q -c set.yaml --shard-size 1 -o k :same-as d
    in_tasks 2 -c set.yaml --shard-size 1 -o t :same-as d
    # Stored otherwise, in a view, and exported.
    sed -i 's/capacity: auto/&, storage: padded/' set.yaml
    expect 0 bload pack -q -c set.yaml -o p :verified
    expect 0 bload view -q p d -T 20 -o v :verified
    stored d "$(id 5)" images >got
    stored p "$(id 5)" images | cmp got -
    stored v "p/$(id 5)" images | cmp got -
    expect 0 bload export -q --to mds p -o mds
    expect 0 bload verify mds --against p :err ', equal to p'
    expect 0 bload show d --sequence "$(id 5)" :out '; images: 3 steps of [16, 20, 3]; video: '
    expect 0 bload report d -o r.html
}

# A CSV of sounds, of videos, or of anything: the table's folder is that of the paths.
test_a_table_names_files() {
    mkdir -p s
    npy s/a.npy '3, 2'
    npy s/b.npy '2, 2'
    npy s/c.npy '4, 2'
    put in/t.csv 'id,pics\na,img/0.jpg\nb,"[""img/1.png"", ""img/2.jpg""]"\nc,\n'
    put table.yaml 'sources: [s/]\nattributes: in/t.csv\nT: 9\nfields:\n  - {name: pics, kind: images, column: pics, size: 8x8, fit: crop, steps: own, capacity: 4}\n'
    expect 0 bload pack -q -c table.yaml -o d :verified :made pics.length '1 2 0'
    field pics.files 2 <d/sequences.tsv | grep -q '^in/img/1\.png\\t1\\t[0-9]*\\t[0-9a-f]*\\nin/img/2\.jpg\\t1\\t[0-9]*\\t[0-9a-f]*$' || fail 'other files'
    # From another folder, where the paths of the table are the same.
    mkdir away
    (cd away && expect 0 bload pack -q -c ../table.yaml -o ../e)
    expect 0 bload verify -q e
    diff -r d/shards e/shards
    sed -i '/attributes/d' table.yaml
    (cd away && expect 0 bload pack -q -c ../table.yaml --attributes ../in/t.csv -o ../f)
    diff -r d/shards f/shards
    expect 0 bload pack -q s -c table.yaml --attributes in/t.csv -o g
    diff -r d/shards g/shards
    sed -i 's/4}/4, missing: error}/' table.yaml
    expect 3 bload scan -c table.yaml --attributes in/t.csv :err 'bload: skipped c.npy: pics: the column "pics" is empty'
}

# A file for each sequence, named after it.
test_files_beside_the_sequences() {
    mkdir s
    for i in a b; do npy s/$i.npy '2, 3'; done
    put beside.yaml 'sources: [s/]\nT: 4\nfields:
  - {name: film, path: "films/{id}.mp4", fps: 5, size: 20x16, steps: own, capacity: auto}
  - {name: cover, path: "in/img/{id}.png", size: 20x16, steps: own, capacity: auto, missing: empty}\n'
    cp in/img/1.png in/img/b.png
    mkdir films
    cp in/v/a.mp4 films/
    cp "$(fixture hevc-17.mp4)" films/b.mp4
    expect 0 bload pack -q -c beside.yaml -o d :verified :made film.length "$(bload scan -q films --fps 5 | field length | xargs)" :made cover.length '0 1'
    expect 0 bload pack -q films --fps 5 --size 20x16 -T longest -o v
    stored d a.npy film >got
    stored v a.mp4 frames | cmp got -
    mkdir -p one/b
    cp in/img/b.png one/b
    expect 0 bload pack -q --kind frames one --size 20x16 -T longest -o frames
    stored d b.npy cover >got
    stored frames b frames | cmp got -
}

test_unusable_files_skip_their_rows() {
    local value message
    cp "$(fixture tone-16000.wav)" in/v/sound.mp4
    put in/img/text.jpg 'no picture at all\n'
    : >in/img/empty.png
    head -c 20 in/img/1.png >in/img/head.png
    while IFS='|' read -r value message; do
        put in/d.jsonl "{\"text\": \"one\"}\n{\"text\": \"two\", $value}\n"
        expect 3 bload scan -c set.yaml :column status 'ok skipped' :err "bload: skipped in/d.jsonl#16: $message"
    done <<'END'
"images": ["img/0.jpg", "img/9.jpg"]|images: in/img/9.jpg: file not found
"images": ["img/text.jpg"]|images: in/img/text.jpg: not an image that can be read
"images": ["img/empty.png"]|images: in/img/empty.png: empty file
"images": ["img"]|images: in/img: not a regular file
"images": [1, 2]|images: file 1: a number, not a path
"images": ["img/0.jpg", ""]|images: file 2: an empty path
"images": ["img/0.jpg", ["img/1.png"]]|images: file 2: an array, not a path
"images": 7|images: in/7: file not found
"images": [{"path": "img/0.jpg", "begin": 1}]|images: file 1: unknown key "begin": path, start, end, start_frame and end_frame are known
"images": [{"start": 1}]|images: file 1: an object without a path
"images": [{"path": "img/0.jpg", "start": 1}]|images: in/img/0.jpg: a picture has no start and no end
"images": "[img/0.jpg]"|images: not a list of paths: 
"video": "v/sound.mp4"|video: in/v/sound.mp4: no video stream (audio only)
"video": "v/none.mp4"|video: in/v/none.mp4: file not found
"video": "img/text.jpg"|video: in/img/text.jpg: 
"video": {"path": "v/a.mp4", "start": 100}|video: in/v/a.mp4: begins at 100.000 s, and the video ends at
"video": {"path": "v/a.mp4", "start": "x"}|video: 
END
}

# A picture that breaks off shows so when it is decoded: while packing, or at the scan with count: decode.
test_damage_within_a_picture() {
    head -c $(($(stat -c %s in/img/3.png) / 2)) in/img/3.png >in/img/cut.png
    sed -i 's/3.png/cut.png/' in/d.jsonl
    expect 3 bload pack -q -c set.yaml -o d :err 'images: in/img/cut.png: damaged image' :made status 'ok ok ok ok failed'
    sed -i 's/key: images/&, count: decode/' set.yaml
    expect 3 bload pack -q -c set.yaml -o e :err 'images: in/img/cut.png: damaged image' :made status 'ok ok ok ok skipped' :verified
}

# Of a damaged video the frames that decode are used, and the reason says so.
test_a_damaged_video_has_its_frames() {
    local reason
    cp "$(fixture damaged-30.mp4)" in/v/b.webm
    sed -i 's/"start_frame": 2, "end_frame": 7//; s/webm", }/webm"}/' in/d.jsonl
    expect 3 bload pack -q -c set.yaml -o d :made status 'ok ok ok ok ok' :verified
    reason=$(field reason 4 <d/sequences.tsv)
    is "video: in/v/b.webm: $(bload scan -q in/v/b.webm --kind video 2>/dev/null | field reason 1)" "$reason"
    expect 3 bload pack -q in/v/b.webm --kind video --size 20x16 -T longest -o v
    stored d "$(id 4)" video >got
    { stored v in/v/b.webm frames; } >expected
    tail -c "$(stat -c %s expected)" got | cmp - expected
    expect 3 bload pack -q -c set.yaml -j 3 -o e :same-as d
}

test_files_that_change_are_noticed() {
    expect 0 bload scan -q -c set.yaml -o seq.tsv
    cp in/img/1.png in/img/3.png
    expect 1 bload pack -q -c set.yaml --sequences seq.tsv -o d :err 'in/img/3.png'
    expect 0 bload pack -q -c set.yaml -o e
    cp in/img/5.png in/img/3.png
    expect 2 bload pack -q -c set.yaml -o e :err 'in/img/3.png has a different size'
}

test_what_is_refused() {
    sed 's/key: images/column: pictures/' set.yaml >other.yaml
    expect 2 bload scan -c other.yaml :err 'field images: there is no column "pictures"; the columns are: '
    # A row of blocks has the whole capacity of large steps in memory.
    sed 's/20x16/8000x8000/; s/capacity: auto/capacity: 100/' set.yaml >large.yaml
    expect 2 bload pack -q -c large.yaml --memory 2G -o d :err '2.0 GiB of memory is not enough: one block takes 35.8 GiB, and a run with one worker '
}

# Videos in tars are members beside the documents.
test_a_video_beside_a_member_of_a_tar() {
    mkdir t
    npy t/1.npy '2, 3'
    npy t/2.npy '2, 3'
    cp in/v/a.mp4 t/1.mp4
    cp "$(fixture hevc-17.mp4)" t/2.mp4
    tar -cf s.tar -C t 1.mp4 1.npy 2.mp4 2.npy
    put tar.yaml 'sources: [s.tar]\nmember: npy\nT: 4\nfields:\n  - {name: film, path: "{key}.mp4", size: 20x16, steps: own, capacity: auto}\n'
    expect 0 bload pack -q -c tar.yaml -o d :verified :made film.length '30 17'
    expect 0 bload pack -q t/2.mp4 --size 20x16 -T longest -o v
    stored d "$(id 2)" film >got
    stored v t/2.mp4 frames | cmp got -
}
