# --pixels: what grey and 16-bit frames are made of, what is refused, and that the other options still do what they say.
# shellcheck shell=bash disable=SC2317

DEPTH_BYTES=$((3 * 52 * 37 * 2)) # of the steps of a folder that depth.py makes

setup() { python3 "$BLOAD_ROOT/fixtures/depth.py" depth; }

# The last bytes of the only shard: those of frames.
frames_of() { tail -c "$2" "$1"/shards/00000/shard-00000000.safetensors; }

# Every form of file has the numbers that were written.
test_numbers_are_kept() {
    for form in depth/*/; do
        rm -rf d
        expect 0 bload pack -q --kind frames "$form" --pixels gray16 -T 3 -o d
        frames_of d $DEPTH_BYTES | cmp - depth/numbers || fail "$form"
    done
    expect 0 bload verify -q d
    expect 0 bload info d :out 'grey frames with the numbers of the files, scaled by zimg: nearest'
    grep -q '"dtype": "U16"' d/manifest.json
    is 'all pixels=gray16' "$(field sampling 1 <d/sequences.tsv)"
    # All of them in one dataset, in two processes or none; nearest is nearest, said or not.
    expect 0 bload pack -q --kind frames depth --pixels gray16 -T 4 --oversize split --size 26x37 -j 2 -o a
    expect 0 bload pack -q --kind frames depth --pixels gray16 -T 4 --oversize split --size 26x37 -j 1 --isolate off --filter nearest -o b :same-in a shards.tsv
    expect 0 bload pack --kind frames depth --pixels gray16 -T 4 --oversize split --size 26x37 --filter nearest -o a :err 'already complete'
    expect 2 bload pack -q --kind frames depth --pixels gray --filter nearest -T 4 --oversize split --size 26x37 -o a
    err_has 'pixels is "gray16" there, not "gray"'
}

test_what_is_no_depth_is_skipped_with_the_reason() {
    local what='--pixels gray16 keeps 16-bit grey PNG and TIFF as they are, and converts nothing to it; --pixels gray or rgb takes this'
    mkdir in
    mv depth/png in/good
    for form in rgb24 gray rgb48be pal8; do
        mkdir in/$form
        cp in/good/0.png in/$form/
        ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=52x37 -frames:v 1 -pix_fmt $form in/$form/1.png
    done
    mkdir in/jpeg
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=52x37 -frames:v 1 -pix_fmt gray in/jpeg/0.jpg
    expect 3 bload pack -q --kind frames in --pixels gray16 -T longest -o d
    err_is <<END
bload: skipped gray: 1.png: 8 bits of grey: $what
bload: skipped jpeg: 0.jpg: 8 bits: $what
bload: skipped pal8: 1.png: 8 bits: $what
bload: skipped rgb24: 1.png: 8 bits: $what
bload: skipped rgb48be: 1.png: 16 bits: $what
END
    # They take no room, and set no T.
    is 3 "$(word T <d/manifest.json)"
    frames_of d $DEPTH_BYTES | cmp - depth/numbers
    expect 3 bload scan -q --kind frames in --pixels gray16 --decoder-memory 2G -o table.tsv
    is 3 "$(field length <table.tsv | awk "{ sum += \$1 } END { print sum }")"
    # A table is of what it was scanned for.
    expect 2 bload pack -q --sequences table.tsv -T longest -o e :err 'the table was scanned with sampling "all pixels=gray16", the options say "all"'
    expect 0 bload scan -q --kind frames in -o table.tsv
    expect 0 bload pack -q --sequences table.tsv -T longest --pixels gray --size 8x8 -o e
}

test_broken_depths_are_damaged() {
    mkdir in
    mv depth/png in/cut
    mv depth/tif-little in/cut2
    mv depth/png-interlaced in/good
    shorten 40 in/cut/1.png
    truncate -s 3000 in/cut2/1.tif
    python3 - <<'END'
import sys, os
sys.path.insert(0, os.environ["BLOAD_ROOT"] + "/fixtures")
import depth
os.mkdir("in/signed")
open("in/signed/0.tif", "wb").write(depth.tiff(depth.picture(0), signed=True))
END
    expect 3 bload pack -q --kind frames in --pixels gray16 --size 52x37 -T 3 -o d :err 'failed cut: 1.png: damaged image'
    err_has 'failed cut2: 1.tif: damaged image' 'skipped signed: 0.tif: not supported: a TIFF of signed or complex numbers'
    is 'failed failed ok skipped' "$(field status <d/sequences.tsv | xargs)"
}

test_videos_of_depth() {
    for name in ffv1-gray16le.mkv ffv1-gray16be.mkv png-gray16be.mov; do
        ffmpeg -v error -nostdin -f rawvideo -pix_fmt gray16le -s 52x37 -r 10 -i depth/numbers -c:v "${name%%-*}" "$name"
        expect 0 bload pack -q "$name" --pixels gray16 -T 3 -o "d-$name"
        frames_of "d-$name" $DEPTH_BYTES | cmp - depth/numbers || fail "$name"
    done
    # 12 bits stay 12 bits.
    ffmpeg -v error -nostdin -f rawvideo -pix_fmt gray12le -s 52x37 -r 10 -i depth/numbers -c:v ffv1 -bitexact 12.mkv 2>/dev/null
    ffmpeg -v error -nostdin -i 12.mkv -f rawvideo 12.raw
    expect 0 bload pack -q 12.mkv --pixels gray16 -T 3 -o d12
    frames_of d12 $DEPTH_BYTES | cmp - 12.raw
    expect 3 bload pack -q ffv1-gray16le.mkv "$(fixture h264-30.mp4)" "$(fixture mpeg4-40.avi)" --pixels gray16 -T longest -o mixed :manifest T 3
    is 2 "$(grep -c 'its pixels are yuv420p: --pixels gray16 keeps grey of 9 to 16 bits, such as gray16le, and converts nothing to it; --pixels gray or rgb takes these' "$ERR")"
    # Clips; and a picture that is turned upright.
    "$BLOAD_ROOT/fixtures/turn" 90 png-gray16be.mov turned.mp4
    given c.csv 'path,start_frame,end_frame\nffv1-gray16le.mkv,1,3\n' expect 0 bload pack -q c.csv --kind video --pixels gray16 -T 2 -o clips
    frames_of clips $((DEPTH_BYTES / 3 * 2)) | cmp - <(tail -c $((DEPTH_BYTES / 3 * 2)) depth/numbers)
    expect 0 bload pack -q turned.mp4 --pixels gray16 -T 3 -o turned :verified
    is '52, 37, 1' "$(sed -n '/"shape"/,/]/p' turned/manifest.json | tr -dc '0-9,' | sed 's/,$//;s/,/, /g')"
}

test_what_cannot_go_with_it() {
    video=$(fixture h264-30.mp4)
    for filter in bilinear bicubic lanczos; do
        expect 2 bload pack -q --kind frames depth --pixels gray16 --size 26x18 --filter $filter -T 3 -o d
        err_is <<<"bload: pack: --filter $filter mixes neighbouring values, so depths become wrong: --pixels gray16 goes with nearest, its default"
        expect 2 bload scan -q "$video" --pixels gray16 --filter $filter
    done
    expect 2 bload pack -q "$video" --pixels gray --decoder nvdec -T 30 -o d
    err_is <<<'bload: pack: --pixels gray is made on the processor: it needs --decoder cpu'
    expect 2 bload pack -q "$video" --pixels gray16 --decoder auto -T 30 -o d :err '--pixels gray16 is made on the processor'
    expect 2 bload pack -q "$video" --pixels gray16 --hdr tonemap -T 30 -o d :err '--hdr tonemap: --pixels gray16 keeps numbers as they are, whatever they mean'
    expect 2 bload pack -q --kind frames depth --pixels gray16 --size 26x18 --jpeg-scale 2 -T 3 -o d
    err_has '--jpeg-scale: --pixels gray16 takes no JPEG files, which have 8 bits'
    expect 2 bload pack -q --kind frames depth --pixels gray16 -T 3 --encode jpeg -o d :err '--encode is for pictures, U8 [n,T,H,W,3] or grey frames of 8 bits'
    expect 2 bload pack -q --kind frames depth --pixels grey -T 3 -o d :err 'rgb, gray, gray16'
}

# A field of depths beside colour, and grey beside both; a third of the bytes.
test_fields() {
    mkdir -p in depths
    for name in a b; do
        mkdir in/$name
        ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=52x37:rate=10 -frames:v 3 in/$name/%d.png
    done
    mv depth/png depths/a
    mv depth/tif-big depths/b
    cat >set.yaml <<'END'
sources:
  - {path: in, kind: frames}
T: 3
fields:
  - {name: depth, path: "depths/{name}", kind: frames, pixels: gray16}
  - {name: grey, path: "in/{name}", kind: frames, pixels: gray, size: 26x18}
END
    expect 0 bload pack -q -c set.yaml -o d :verified
    is 'U8 I32 U16 I32 U8 I32' "$(sed -n 's/.*"dtype": "\([A-Z0-9]*\)".*/\1/p' d/manifest.json | xargs)"
    expect 0 bload pack -q -c set.yaml --encode jpeg -o j :verified
    sed 's/pixels: gray16/pixels: gray16, size: 26x18, filter: bicubic/' set.yaml >wrong.yaml
    expect 2 bload pack -q -c wrong.yaml -o e :err '--filter bicubic mixes neighbouring values'
}

# Folders: masks has two palette images of 4 x 2, flow two .flo files; numbers has what they hold.
make_masks() {
    python3 - <<'END'
import os, struct, zlib
def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
def png(path, colour, rows, palette=b""):
    rows = [bytes(row) for row in rows]
    head = struct.pack(">IIBBBBB", len(rows[0]) // {0: 1, 2: 3, 3: 1}[colour], len(rows), 8, colour, 0, 0, 0)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + (chunk(b"PLTE", palette) if palette else b"")
                   + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) + chunk(b"IEND", b""))
voc = b"\0\0\0\x80\0\0\0\x80\0\x80\x80\0"
png("masks/1.png", 3, ((0, 1, 2, 3), (3, 2, 1, 0)), voc)
png("masks/2.png", 3, ((1, 1, 1, 1), (2, 2, 2, 2)), voc)
png("labels/1.png", 0, ((0, 1, 2, 255), (3, 2, 1, 0)))
png("colour/1.png", 2, ((0,) * 12, (1,) * 12))
os.mkdir("flow")
for i in 1, 2:
    with open(f"flow/{i}.flo", "wb") as file:
        file.write(struct.pack("<4sii", b"PIEH", 3, 2) + struct.pack("<12f", *(i * v / 4 for v in range(12))))
END
}

test_indices_are_those_of_the_file() {
    make_masks
    expect 0 bload pack -q --kind frames masks --pixels index -T longest -o d :verified
    is '0001020303020100 0101010102020202' "$(frames_of d 16 | xxd -p -c 8 | xargs)"
    is 'all pixels=index' "$(field sampling 1 <d/sequences.tsv)"
    expect 0 bload info d :out 'indices with the numbers of the files, scaled by zimg: nearest'
    expect 0 bload pack -q --kind frames masks --pixels index --size 8x4 -T longest -o big
    is '0000010102020303' "$(frames_of big 64 | head -c 8 | xxd -p)"
    # Differences are stored without loss; JPEG would change classes.
    expect 0 bload pack -q --kind frames masks --pixels index --encode delta --compress zstd -T longest -o delta :verified
    expect 0 bload cat delta masks --field frames --as npy -o delta.npy
    expect 0 bload cat d masks --field frames --as npy -o d.npy
    cmp d.npy delta.npy
    expect 2 bload pack -q --kind frames masks --pixels index --encode jpeg -T longest -o j :err '(indices: --encode delta)'
    # Beside colour, JPEG is for colour alone.
    mkdir pictures
    cp -r colour pictures/a
    mkdir sets
    cp -r labels sets/a
    cat >set.yaml <<'END'
sources: [{path: pictures, kind: frames}]
T: 1
encode: jpeg
fields: [{name: mask, path: "sets/{name}", kind: frames, pixels: index}]
END
    expect 0 bload pack -q -c set.yaml -o set :verified
    is 'jpeg:90 raw raw raw' "$(sed -n 's/.*"encoding": "\([a-z0-9:]*\)".*/\1/p' set/manifest.json | xargs)"
    expect 0 bload cat set a --field mask_frames --as png --step 0 -o mask.png
    cmp <(ffmpeg -v error -i mask.png -f rawvideo -) <(printf '\0\1\2\377\3\2\1\0')
}

test_what_has_no_indices_is_skipped_with_the_reason() {
    make_masks
    mkdir in
    mv masks labels colour in/
    mkdir in/jpeg in/deep in/webp
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=4x2 -frames:v 1 -pix_fmt gray in/jpeg/1.jpg
    cp depth/png/0.png in/deep/1.png
    printf 'RIFF\32\0\0\0WEBPVP8L\15\0\0\0\57\3\100\0\0\0\0\0\0\0\0\0\0\0' >in/webp/1.webp
    expect 3 bload pack -q --kind frames in --pixels index --size 4x2 -T longest -o d
    local what='--pixels index keeps palettes and grey of up to 8 bits in PNG, TIFF and BMP as they are, and converts nothing to it'
    err_is <<END
bload: skipped colour: 1.png: 8 bits: $what; --pixels rgb takes this
bload: skipped deep: 1.png: 16 bits of grey: $what; --pixels gray16 takes this
bload: skipped jpeg: 1.jpg: 8 bits: $what; --pixels rgb takes this
bload: skipped webp: 1.webp: 8 bits: $what; --pixels rgb takes this
END
    is 'skipped skipped skipped ok ok skipped' "$(field status <d/sequences.tsv | xargs)"
    for filter in bilinear bicubic lanczos; do
        expect 2 bload pack -q --kind frames in --pixels index --size 8x8 --filter $filter -T 3 -o e
        err_is <<<"bload: pack: --filter $filter mixes neighbouring values, so classes become wrong: --pixels index goes with nearest, its default"
    done
    expect 2 bload pack -q --kind frames in --pixels index --jpeg-scale 2 -T 3 -o e :err 'takes no JPEG files, which have other numbers'
    expect 2 bload pack -q "$(fixture h264-30.mp4)" --pixels index --hdr clip -T 30 -o e :err '--hdr clip: --pixels index keeps numbers as they are'
    expect 2 bload pack -q "$(fixture h264-30.mp4)" --pixels index --decoder auto -T 30 -o e :err '--pixels index is made on the processor'
    expect 3 bload scan -q "$(fixture h264-30.mp4)" --pixels index -o t.tsv :err 'its pixels are yuv420p: --pixels index keeps palettes and grey of up to 8 bits'
    expect 2 bload pack -q --kind frames in --pixels indices -T 3 -o e :err 'rgb, gray, gray16, index, rgb16, rgba, depth, flow'
}

test_wide_rgb() {
    mkdir in in/a in/b in/c
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=8x6 -frames:v 2 -pix_fmt rgb48be in/a/%d.png
    ffmpeg -v error -nostdin -i in/a/1.png -pix_fmt rgb24 in/b/1.png
    cp depth/png/0.png in/c/1.png
    expect 3 bload pack -q --kind frames in --pixels rgb16 -T longest -o d
    local what='--pixels rgb16 keeps 16-bit RGB PNG and TIFF as they are, and converts nothing to it'
    err_is <<END
bload: skipped b: 1.png: 8 bits: $what; --pixels rgb takes this
bload: skipped c: 1.png: 16 bits of grey: $what; --pixels gray16 takes this
END
    frames_of d $((2 * 8 * 6 * 6)) | cmp - <(ffmpeg -v error -nostdin -i in/a/%d.png -f rawvideo -pix_fmt rgb48le -)
    expect 2 bload pack -q --kind frames in --pixels rgb16 --encode jpeg -T longest -o e :err '--encode is for pictures'
    expect 2 bload pack -q --kind frames in --pixels rgb16 --filter lanczos --size 4x4 -T 2 -o e :err 'so numbers become wrong: --pixels rgb16'
    expect 2 bload pack -q --kind frames in --pixels rgb16 --jpeg-scale 4 -T 2 -o e :err '--pixels rgb16 takes no JPEG files'
    for format in mds webdataset; do
        expect 0 bload export -q d --to $format -o "d-$format"
        expect 0 bload verify -q "d-$format"
    done
    expect 0 bload show d -o d.html
    expect 0 bload report d -o r.html
}

test_alpha() {
    mkdir in in/a
    ffmpeg -v error -nostdin -f lavfi -i 'testsrc2=size=8x6,format=rgba,colorchannelmixer=aa=0.5' -frames:v 2 in/a/%d.png
    expect 0 bload pack -q --kind frames in --pixels rgba -T longest -o d :verified
    frames_of d $((2 * 8 * 6 * 4)) | cmp - <(ffmpeg -v error -nostdin -i in/a/%d.png -f rawvideo -pix_fmt rgba -)
    expect 0 bload pack -q "$(fixture h264-30.mp4)" --pixels rgba --size 8x6 -T longest -o v :verified
    is 0 "$(frames_of v $((30 * 8 * 6 * 4)) | xxd -p -c 4 | grep -vc 'ff$')" # all are opaque
    # A TIFF whose fourth number is no alpha, and a WebM whose alpha the decoder does not read.
    ffmpeg -v error -nostdin -i in/a/1.png -compression_algo raw in/rgba.tif
    python3 - <<'END'
data = bytearray(open("in/rgba.tif", "rb").read())
at = int.from_bytes(data[4:8], "little")
count = int.from_bytes(data[at:at + 2], "little")
for entry in range(at + 2, at + 2 + 12 * count, 12):
    if int.from_bytes(data[entry:entry + 2], "little") in (305, 338):
        data[entry:entry + 12] = (338).to_bytes(2, "little") + (3).to_bytes(2, "little") + (1).to_bytes(4, "little") + bytes(4)
import os
os.mkdir("in/b")
open("in/b/1.tif", "wb").write(data)
END
    expect 3 bload pack -q --kind frames in/b in/a --pixels rgba -T longest -o e :err 'skipped in/b: 1.tif: its alpha is of a form that is not read (TIFF with ExtraSamples 0 or 1, PNG of 1 bit)'
    ffmpeg -v error -nostdin -f lavfi -i 'testsrc2=size=64x48:rate=5:duration=1,format=yuva420p' -c:v libvpx-vp9 a.webm
    expect 3 bload scan -q a.webm --pixels rgba -o t.tsv :err 'its alpha is in data beside the pictures, which this decoder of vp9 does not read'
    expect 2 bload pack -q a.webm --pixels rgba --hdr tonemap -T 5 -o f :err '--hdr tonemap maps colours without alpha'
    expect 2 bload pack -q a.webm --pixels rgba --decoder auto -T 5 -o f :err '--pixels rgba is made on the processor'
    expect 2 bload pack -q --kind frames in/a --pixels rgba --encode jpeg -T 5 -o f :err '--encode is for pictures, U8 [n,T,H,W,3] or grey'
    expect 2 bload pack -q --kind frames in/a --pixels rgba --encode delta --compress zstd -T 5 -o f :err '--encode is for pictures'
}

test_metres() {
    expect 0 bload pack -q --kind frames depth/png --pixels depth --depth-scale 5000 -T 3 -o d :verified
    expect 0 bload info d :out 'frames F32 [3, 37, 52, 1] per block, from frames: depths in metres, 0 where the files have 0, 5000 numbers a metre'
    # The scale is noted beside numbers, too; without it, nothing says so.
    expect 0 bload pack -q --kind frames depth/png --pixels gray16 --depth-scale 256 -T 3 -o g
    expect 0 bload info g :out 'grey frames with the numbers of the files, 256 numbers a metre'
    frames_of g $DEPTH_BYTES | cmp - depth/numbers
    expect 0 bload pack -q --kind frames depth/png --pixels gray16 -T 3 -o p
    ! grep -q depth-scale p/manifest.json || fail 'a scale that was not given is in the manifest'
    expect 2 bload pack -q --kind frames depth/png --pixels depth -T 3 -o e
    err_is <<<'bload: pack: --pixels depth needs --depth-scale, the numbers in a metre: 1000 for millimetres, 5000 for TUM, 256 for KITTI'
    expect 2 bload pack -q --kind frames depth/png --pixels depth --depth-scale 0 -T 3 -o e :err '--depth-scale'
    expect 2 bload pack -q --kind frames depth/png --depth-scale 1000 -T 3 -o e :err '--depth-scale'
    expect 2 bload pack -q --kind frames depth/png --pixels depth --depth-scale 1000 --filter bilinear --size 8x8 -T 3 -o e :err 'so depths become wrong: --pixels depth'
    expect 2 bload pack -q --kind frames depth/png --pixels depth --depth-scale 5000 -T 3 --encode jpeg -o e :err '--encode is for pictures'
    expect 2 bload pack -q --kind frames depth/png --pixels depth --depth-scale 1000 -T 3 -o d :err 'depth-scale is "5000" there, not "1000"'
    mkdir in
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=52x37 -frames:v 1 -pix_fmt gray in/1.png
    expect 3 bload scan -q --kind frames in --pixels depth --depth-scale 1000 -o t.tsv
    err_has '8 bits of grey: --pixels depth keeps 16-bit grey PNG and TIFF as they are'
}

test_flow() {
    make_masks
    expect 0 bload pack -q --kind frames flow --pixels flow -T longest -o d :verified
    frames_of d 96 | cmp - <(tail -c 48 flow/1.flo; tail -c 48 flow/2.flo)
    expect 0 bload info d :out 'frames F32 [2, 2, 3, 2] per block, from frames: optical flow (u, v) in pixels, as the files have it'
    expect 0 bload pack -q --kind frames flow --pixels flow -T longest -o i --isolate off :same-in d shards.tsv
    expect 0 bload show d :out 'frames: 0 to'
    expect 2 bload cat d flow --field frames --as png -o pictures :err 'are no pictures'
    # As pictures they are skipped, and pictures as flow; each fault has its file and reason.
    expect 3 bload scan -q --kind frames flow -o t.tsv :err 'skipped flow: 1.flo: not supported: optical flow (.flo): --pixels flow takes it'
    mkdir in in/big in/cut in/none in/size in/swapped
    mv masks in/masks
    { printf 'PIEH\0\0\0\1\1\0\0\0'; head -c 48 /dev/zero; } >in/big/1.flo
    head -c 40 flow/1.flo >in/cut/1.flo
    printf 'P6\n1 1\n255\n...' >in/none/1.flo
    cp flow/1.flo in/size/1.flo
    { printf 'PIEH\1\0\0\0\1\0\0\0'; head -c 8 /dev/zero; } >in/size/2.flo
    printf 'HEIP\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0\0' >in/swapped/1.flo
    expect 3 bload pack -q --kind frames in --pixels flow -T longest -o e
    err_is <<'END'
bload: skipped big: 1.flo: a .flo file of 16777216x1 vectors: damaged, or too large
bload: skipped cut: 1.flo: a .flo file of 40 bytes, and its 3x2 vectors take 60: damaged
bload: skipped masks: 1.png: not a .flo file, which begins with PIEH: --pixels flow takes folders of .flo files alone
bload: skipped none: 1.flo: not a .flo file, which begins with PIEH: --pixels flow takes folders of .flo files alone
bload: skipped swapped: 1.flo: a big-endian .flo file: write it little-endian, as the format has it
bload: failed size: 2.flo: a flow of 1x1 among those of 3x2
END
    expect 2 bload pack -q --kind frames flow --pixels flow --size 8x8 -T longest -o f :err '--size: --pixels flow keeps flow at its size'
    expect 2 bload pack -q --kind frames flow --pixels flow --filter bilinear -T longest -o f :err '--filter bilinear mixes'
    expect 2 bload pack -q --kind video "$(fixture h264-30.mp4)" --pixels flow -T 30 -o f :err '--pixels flow is for folders of .flo files'
    expect 2 bload pack -q --kind frames flow --pixels flow --encode jpeg -T longest -o f :err '--encode is for pictures'
}
