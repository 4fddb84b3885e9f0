# Folders of images: which are found, what scan says of them, what changes of them do to a run.
# shellcheck shell=bash disable=SC2317

# images FOLDER FIRST COUNT: 000005.png and so on.
images() {
    mkdir -p "$1"
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=32x24:rate=10 -frames:v "$3" -start_number "$2" "$1/%06d.png"
}

test_a_folder_is_a_sequence() {
    images in/10.mp4 5 3
    images in/2.mp4 1 6
    rm in/2.mp4/000003.png in/2.mp4/000004.png
    images in/2.mp4/more 1 2
    put in/none/list.csv 'list\n'
    cp "$(fixture h264-30.mp4)" in/film.mp4
    expect 0 bload scan --kind frames in
    cut -f 1,2,3,6,7,8,11 "$OUT" | diff - <(
        printf 'id\tlength\tkind\tstatus\treason\tsampling\tmissing\n'
        printf '2.mp4\t4\tframes\tok\t\tall\t2\n2.mp4/more\t2\tframes\tok\t\tall\t0\n10.mp4\t3\tframes\tok\t\tall\t0\n'
    )
    err_has 'ignored in folders: 1 .csv, 1 .mp4' 'bload: numbers without an image: 2 (column missing)'
    is "$(cat in/10.mp4/*.png | wc -c)" "$(field bytes 3 <"$OUT")"
    expect 0 bload pack --kind frames in -T 9 -o gaps :err 'bload: numbers without an image: 2 (column missing)'
    expect 0 bload scan -q --kind frames 'in/*/more' in/10.mp4
    is 'in/2.mp4/more in/10.mp4' "$(field id <"$OUT" | tr '\n' ' ' | sed 's/ $//')"
    # Nobody else takes images for inputs.
    expect 0 bload scan -q in :column kind video
    rm in/film.mp4
    expect 1 bload scan -q in
    err_has 'no inputs: no file in the sources has a name of a known kind (folders of images: --kind frames; archives: unpack them first)'
    given set.yaml 'sources:\n  - path: in\n    kind: frames\n' expect 0 bload scan -q -c set.yaml
    is 3 "$(field id <"$OUT" | wc -l)"
}

# Frames and their optical flow in one folder, as TSN has them.
test_images_of_a_name() {
    images in/Archery/v_1 1 4
    for i in 1 2 3; do cp in/Archery/v_1/000001.png in/Archery/v_1/flow_x_0000$i.png; done
    images in/Archery/v_2 1 2
    expect 3 bload pack -q --kind frames in -T 4 --images 'flow_x_*' -o d :err-is 'bload: skipped Archery/v_2: no images of the name flow_x_*' :verified
    is '3 0' "$(field length <d/sequences.tsv | xargs)"
    is 'all images=flow_x_*' "$(field sampling 1 <d/sequences.tsv)"
    printf 'fields:\n  - {name: flow, path: "in/{name}", kind: frames, images: "flow_x_*", length-tolerance: 1}\n' >flow.yaml
    expect 3 bload pack -q --kind frames in -c flow.yaml -T 4 --images '0*' -o e :made length '4 0'
    is 3 "$(field flow.length 1 <e/sequences.tsv)"
    # Whatever they are called, a folder that changed is another one.
    expect 0 bload pack -q --kind frames in -T 4 --images '0*' -o f
    rm in/Archery/v_1/flow_x_00003.png
    expect 2 bload pack -q --kind frames in -T 4 --images '0*' -o f :err 'in/Archery/v_1 has a different size'
    expect 2 bload scan -q "$(fixture h264-1.mp4)" --images '0*' :err-is 'bload: scan: --images is for folders of images (--kind frames)'
}

# Tags that say nothing about pixels are no damage: ffmpeg, as most programs, writes the unit of the resolution.
test_pictures_in_tiff_are_those_in_png() {
    images png/in 1 4
    mkdir -p tiff/in
    for i in 1 2 3 4; do
        compression=$(sed -n ${i}p <<<$'raw\npackbits\nlzw\ndeflate')
        ffmpeg -v error -nostdin -i png/in/00000$i.png -compression_algo "$compression" tiff/in/00000$i.tif
    done
    expect 0 bload pack -q --kind frames png -T 4 -o p
    expect 0 bload pack -q --kind frames tiff -T 4 -o t :same-in p shards/00000/shard-00000000.safetensors
    shorten 100 tiff/in/000003.tif
    expect 3 bload pack -q --kind frames tiff -T 4 -o d :err-is 'bload: failed in: 000003.tif: damaged image'
    # The tag of the resolution's unit, 296, becomes 274: this picture lies on its side.
    rm tiff/in/000003.tif
    LC_ALL=C sed -i 's/\x28\x01\x03\x00\x01\x00\x00\x00./\x12\x01\x03\x00\x01\x00\x00\x00\x06/' tiff/in/000001.tif
    expect 3 bload pack -q --kind frames tiff -T 4 -o s :err-is 'bload: failed in: 000002.tif: an image of 32x24 among those of 24x32'
}

# Lines of lists are folders, or parts of them: the images of the whole, from the first to the one before the last. A folder may have the
# name of a list.
test_lists_of_folders() {
    images v/a 1 25
    images v/b 1 6
    images l.txt 1 3
    rm v/b/000003.png
    given c.csv 'path,start_frame,end_frame,id,verb\nv/a,8,20,one,3\nv/a,12,28,two,5\nv/a,,,all,\nv/b,1,4,,7\n' expect 3 bload scan -q --kind frames c.csv
    is 'one 12 0 8 20 3,two 13 0 12 25 5,all 25 0 0  ,v/b#1-4 3 1 1 4 7,' "$(cut -f 1,2,11-13,15 <"$OUT" | tail -n +2 | tr '\t\n' ' ,')"
    is 'ends 3 images behind the folder'"'"'s end: so many are missing' "$(field reason 2 <"$OUT")"
    cp "$OUT" table
    expect 3 bload scan -q --kind frames c.csv --isolate off :out-as table
    expect 0 bload pack -q --kind frames v -T longest -o whole
    for stride in 1 5; do
        expect 3 bload pack -q --kind frames c.csv --stride $stride -T longest -o d$stride
        expect 3 bload pack --kind frames c.csv --stride $stride -T longest -o d$stride :err 'is already complete' :verified
        expect 0 python3 "$BLOAD_ROOT/tests/cli/slices.py" whole d$stride frames $stride
        is 4 "$(cat "$OUT")"
    done
    expect 3 bload pack -q --kind frames --sequences table -T longest -o t
    expect 0 python3 "$BLOAD_ROOT/tests/cli/slices.py" whole t frames
    is 4 "$(cat "$OUT")"
    expect 0 python3 "$BLOAD_ROOT/tests/cli/slices.py" whole t frame_number
    is 4 "$(cat "$OUT")"
    given k.txt 'v/a 3\nv/b 4\nnone 5\nv/a/000001.png 6\n' expect 3 bload scan -q --kind frames k.txt l.txt
    is 'v/a 25 ok 3,v/b 5 ok 4,none 0 skipped 5,v/a/000001.png 0 skipped 6,l.txt 3 ok,' "$(cut -f 1,2,6,15 <"$OUT" | tail -n +2 | tr '\t\n' ' ,' | sed 's/ ,/,/g' | tr -s ' ')"
    err_has 'skipped none: k.txt:3: none: not a folder of images: No such file or directory'
    printf 'path,start,end\nv/a,0,1\n' >c.csv
    expect 3 bload scan -q --kind frames c.csv :err-is 'bload: skipped v/a#0-1: c.csv:2: v/a: images have no times: give start_frame and end_frame'
    printf 'path,start_frame\nv/a,25\n' >c.csv
    expect 3 bload scan -q --kind frames c.csv :err-is 'bload: skipped v/a#25-: c.csv:2: v/a: begins with image 25, and the folder has 25'
}

# EPIC-KITCHENS' lists: numbers in the names of the images, the last one included, and a path of other columns.
test_numbers_in_names() {
    local field by='path={participant}/rgb/{video},id=narration_id' head='narration_id,participant,video,start_frame,stop_frame,start_timestamp'
    images P01/rgb/P01_01 5 20
    rm P01/rgb/P01_01/0000{12,13}.png
    images P02/rgb/P02_01 0 8
    given e.csv "$head\\na,P01,P01_01,5,8,0:00\\nb,P01,P01_01,10,14,0:01\\nc,P01,P01_01,20,30,0:02\\nd,P02,P02_01,0,0,0:03\\ne,P01,P01_01,22,,0:04\\nf,P02,P02_01,,1,0:05\\ng,P01,P01_01,1,6,0:06\\nh,P02,P02_01,,,0:07\\n" \
        expect 3 bload scan -q --kind frames e.csv --columns "$by"
    is 'a 4 0 0 4 P01 P01_01,b 3 2 5 8 P01 P01_01,c 5 6 13 18 P01 P01_01,d 1 0 0 1 P02 P02_01,e 3 0 15 18 P01 P01_01,f 2 0 0 2 P02 P02_01,g 2 4 0 2 P01 P01_01,h 8 0 0  P02 P02_01,' \
        "$(cut -f 1,2,11-13,15,16 <"$OUT" | tail -n +2 | tr '\t\n' ' ,')"
    is 'ends 6 images behind the folder'"'"'s end: so many are missing' "$(field reason 3 <"$OUT")"
    is 'begins 4 images before the folder'"'"'s first: so many are missing' "$(field reason 7 <"$OUT")"
    cp "$OUT" table
    expect 3 bload scan -q --kind frames e.csv --columns "$by" --isolate off :out-as table
    expect 0 bload pack -q --kind frames P01/rgb P02/rgb -T longest -o whole
    expect 3 bload pack -q --kind frames e.csv --columns "$by" -T longest -o d
    expect 3 bload pack --kind frames e.csv --columns "$by" -T longest -o d :err 'is already complete' :verified
    for field in frames frame_number; do
        expect 0 python3 "$BLOAD_ROOT/tests/cli/slices.py" whole d $field
        is 8 "$(cat "$OUT")"
    done
    expect 3 bload scan -q --kind frames e.csv --columns "$by" --stride 2
    is '2 2 3 1 2 1 1 4' "$(field length <"$OUT" | tr '\n' ' ' | sed 's/ $//')"
}

# The likely mistakes of such a list: each line is skipped with its reason, and a wrong list is refused.
test_mistakes_in_numbers() {
    local mistake reason
    images in/a 5 4
    while IFS='|' read -r mistake reason; do
        given m.csv "path,start_frame,stop_frame,end_frame,start\\n$mistake\\n" expect 3 bload scan -q --kind frames m.csv
        err_has "$reason"
    done <<'END'
in/a,8,6,,|m.csv:2: ends before it starts: from 8 to 6
in/a,9,12,,|in/a: no image has a number from 9 to 12: those of the folder are 5 to 8
in/a,1,4,,|in/a: no image has a number from 1 to 4: those of the folder are 5 to 8
in/b,1,4,,|m.csv:2: in/b: not a folder of images: No such file or directory
in/a,five,6,,|m.csv:2: "start_frame" is no number of a frame: "five"
in/a,5,-1,,|m.csv:2: "stop_frame" is no number of a frame: "-1"
in/a,5,6,7,|end_frame and stop_frame: give one of them
in/a,5,6,,1.5|m.csv:2: times and numbers of frames: give one of them
in/a,5,,#6,|"end_frame" is no number of a frame: it begins with #
END
    given n.csv 'path,start_frame,Stop_frame\nin/a,5,6\n' expect 2 bload scan --kind frames n.csv :err 'the column "Stop_frame": write it "stop_frame", or give --columns stop_frame=Stop_frame'
    given n.csv 'path,start_frame,stop_frame\na.mp4,5,6\n' expect 2 bload scan --kind video n.csv :err 'n.csv: the column "stop_frame" is for folders of images, and its frame is included: for video, write a column "end_frame", the frame behind the clip'
    given n.jsonl '{"path": "in/a", "start_frame": 6, "stop_frame": 7}\n{"path": "in/a", "start_frame": 8}\n' expect 0 bload scan -q --kind frames n.jsonl
    is '1 3 2,3 4 1,' "$(cut -f 12,13,2 <"$OUT" | tail -n +2 | awk '{print $2, $3, $1}' | tr '\n' ',')"
}

# --columns path=TEMPLATE, of all forms of lists.
test_paths_of_other_columns() {
    images f/a_007 1 2
    given l.csv 'v,n\na,7\nb,x\n' expect 3 bload scan -q --kind frames l.csv --columns 'path=f/{v}_{n:03d},id={v}'
    is 'f/a_007' "$(field path 1 <"$OUT")"
    err_has 'of which --columns makes the path, is no whole number'
    given l.txt 'a_007 3\n' expect 0 bload scan -q --kind frames l.txt --columns 'path=f/{path}' :column path f/a_007
}

test_what_is_no_folder_of_images() {
    mkdir empty
    images good 1 2
    ln -s nowhere good/000003.png
    echo good >list
    echo empty >>list
    echo good/000001.png >>list
    expect 3 bload scan -q --kind frames @list
    err_is <<<$'bload: skipped empty: no images\nbload: skipped good/000001.png: not a folder'
    expect 1 bload pack --kind frames empty -T 3 -o none
    err_is <<<$'bload: skipped empty: no images\nbload: pack: no usable input: there is nothing to pack; the reasons are in none/.bload/sequences.tsv'
    # The scan is not repeated, and the faults are not printed again: the message says where they are.
    expect 1 bload pack --kind frames empty -T 3 -o none
    err_is <<<'bload: pack: no usable input: there is nothing to pack; the reasons are in none/.bload/sequences.tsv'
    given other/list.csv 'list\n' expect 1 bload scan --kind frames other :err 'no inputs: no folder in the sources holds inputs of the kind frames'
    expect 1 bload scan --kind video other :err 'no inputs: no file in the sources has a name of the kind video'
    expect 3 bload pack -q --kind frames good -T 3 --size 8x8 -o d :err 'bload: failed good: 000003.png: cannot open good/000003.png: No such file or directory'
    is failed "$(field status 1 <d/sequences.tsv)"
}

# Without them the folder would lack pictures.
test_images_by_their_extensions() {
    mkdir -p in/jfif in/heic in/avif in/gif
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=32x24 -frames:v 1 one.jpg
    for name in jfif heic avif gif; do cp one.jpg in/$name/1.jfif; done
    for name in heic avif; do printf '\0\0\0\x14ftyp%s\0\0\0\0mif1' $name >in/$name/2.$name; done
    given in/gif/2.gif 'no\n' expect 3 bload scan --kind frames in :err 'bload: skipped heic: 2.heic: not supported: HEIC: convert it to PNG or JPEG'
    err_has 'bload: skipped avif: 2.avif: not supported: AVIF: convert it to PNG' 'ignored in folders: 1 .gif'
    is '0 1 0 1' "$(field length <"$OUT" | xargs)"
    expect 0 bload scan -q --kind frames in --images '*.jfif'
}

test_broken_images_are_named_and_nothing_else_is_said() {
    images in/a 1 3
    images in/b 1 3
    head -c 200 in/a/000001.png >in/a/000002.png
    expect 3 bload pack -q --kind frames in -T 3 -o d :err-is 'bload: failed a: 000002.png: damaged image'
    is '3 failed' "$(field length 1 <d/sequences.tsv) $(field status 1 <d/sequences.tsv)"
    is ok "$(field status 2 <d/sequences.tsv)"
    expect 1 bload pack -q --kind frames in -T 3 -o e --on-error fail
}

test_options_of_videos() {
    images in/a 1 5
    expect 2 bload scan -q --kind frames in --fps 3 :err '--fps is for video: images have no times (--stride takes every N-th)'
    expect 2 bload scan -q --kind frames in --count decode :err '--count is for video, and the inputs are frames'
    expect 2 bload scan -q --kind frames in --rate 8000 :err '--rate is for audio, and the inputs are frames'
    python3 "$BLOAD_ROOT/fixtures/arrays.py" arrays
    expect 2 bload scan -q --kind array arrays --size 8x8 :err '--size is for video, and the inputs are array'
    expect 2 bload pack -q --kind frames in -T 1s -o d
    expect 0 bload pack -q --kind frames in -T 3 --stride 2 --size 8x8 --fit pad -o d :verified
    is 'stride=2' "$(field sampling 1 <d/sequences.tsv)"
    expect 2 bload pack -q --kind video "$(fixture h264-30.mp4)" --fps 3 --stride 2 -T 30 -o e
    expect 0 bload pack -q --kind video "$(fixture h264-30.mp4)" --fps 3 -T 30 -o e
}

test_a_folder_that_changed_stops_the_run() {
    images in/a 1 5
    images in/b 1 4
    expect 0 bload pack -q --kind frames in -T 9 -o right
    expect 0 bload scan -q --kind frames in -o table.tsv
    cp in/b/000002.png kept
    echo x >>in/b/000002.png
    expect 1 bload pack -q --sequences table.tsv -T 9 -o d :err 'the inputs changed since the scan: in/b has a different size'
    expect 1 bload pack -q --sequences table.tsv -T 9 -o e --task 0/1 :err 'in/b: changed since the scan: images of'
    expect 2 bload pack -q --kind frames in -T 9 -o right :err 'right holds a dataset of other inputs: in/b has a different size'
    rm in/b/000002.png
    expect 1 bload pack -q --sequences table.tsv -T 9 -o d
    mv in/b away
    expect 1 bload pack -q --sequences table.tsv -T 9 -o d :err 'in/b is gone'
    expect 1 bload pack -q --sequences table.tsv -T 9 -o e --task 0/1 :err 'in/b: changed since the scan: no longer a folder'
    mv away in/b
    cp kept in/b/000002.png
    expect 0 bload pack -q --sequences table.tsv -T 9 -o d :same-in right shards.tsv
    expect 0 bload pack --kind frames in -T 9 -o right :err 'right is already complete: nothing to do'
}

test_without_a_single_image_the_first_fault_is_named() {
    put in/a/1.png 'x\n' in/b/1.png 'x\n'
    expect 1 bload pack -q --kind frames in -T 9 -o d
    err_is <<<'bload: pack: no file can be read, so the size and type of the fields are unknown; the first is in/a: 1.png: not an image that can be read'
}

# png_with FILE NAME COUNT MIB: a PNG with so many parts of this name, each of so many MiB of zeros, compressed.
png_with() {
    python3 - "$@" <<'EOF'
import struct, sys, zlib
path, name, count, size = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3]), int(sys.argv[4])
def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
zeros = zlib.compress(bytes(size << 20), 9)
parts = b"".join(chunk(name, b"%d\0\0" % i + zeros) for i in range(count))
rows = zlib.compress(bytes([0] + [200] * 24) * 8)
open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + parts + chunk(b"IDAT", rows) + chunk(b"IEND", b""))
EOF
}

# FFmpeg decompresses them without limit: 3 MB took 3 GB; and compares each text with all others.
test_texts_and_profiles_of_png_are_left_alone() {
    mkdir in
    png_with in/1.png none 0 0
    png_with in/2.png iCCP 1 400
    png_with in/3.png zTXt 3 400
    png_with in/4.png tEXt 100000 0
    (
        case ${VARIANT-release} in release) ulimit -d 250000 ;; esac
        expect 0 timeout 20 "$BLOAD" pack -q --isolate off --kind frames -T 4 -j 1 -o d in
    )
    expect 0 bload verify -q d
    is 1 "$(tail -c 768 d/shards/00000/*.safetensors | od -An -v -tu1 -w192 | sort -u | wc -l)"
}

# A scan of a few bytes passes over the whole picture: a small file kept its decoder for hours.
test_jpeg_of_many_scans() {
    mkdir -p in/one in/some in/many
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=64x48 -frames:v 1 one.jpg
    cp one.jpg in/one
    for count in some:10 many:1000; do
        python3 - one.jpg "in/${count%:*}/1.jpg" "${count#*:}" <<'EOF'
import sys
data = open(sys.argv[1], "rb").read()
end = data.rindex(b"\xff\xd9")
scan = data[data.rindex(b"\xff\xda", 0, end):end]
open(sys.argv[2], "wb").write(data[:end] + scan * int(sys.argv[3]) + data[end:])
EOF
    done
    expect 3 bload pack -q --kind frames -T 3 -j 1 -o d in :err 'failed many: 1.jpg: a JPEG of more than 1000 scans'
    if [ "$(avcodec)" -lt 63 ]; then
        is 'failed ok ok' "$(field status <d/sequences.tsv | sort | xargs)"
    else # takes no second scan of a component
        err_has 'failed some: 1.jpg: damaged image'
    fi
}
