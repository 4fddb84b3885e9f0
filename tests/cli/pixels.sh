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
