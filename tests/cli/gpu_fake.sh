# Decoding on GPUs that are not there: the driver's libraries are test doubles (tests/gpu/fake.h), whose parser decodes on the processor; all of
# the tool is as it is. Only in builds with CUDA.
# shellcheck shell=bash disable=SC2086

[ -n "${FAKE_DRIVER-}" ] || skip "built without CUDA"

# The tool, or ffmpeg, with the doubles in place of a driver; what it used stands in ./report.
faked() {
    [ "$1" != bload ] || set -- "$BLOAD" "${@:2}"
    LD_LIBRARY_PATH=$FAKE_DRIVER FAKE_REPORT=report "$@"
}

# used NAME total|now|most
used() { awk -v name="$1" -v at="$(case $2 in total) echo 2 ;; now) echo 3 ;; most) echo 4 ;; esac)" '$1 == name { print $at }' report; }

# Nothing is left, and nothing was used wrongly.
released() {
    local what
    for what in contexts memory pinned streams events modules decoders maps; do is "$what 0" "$what $(used $what now)"; done
    is 0 "$(used wrong total)" || grep '^wrong' report
}

# The values of a column, by its name.
values() { awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } at { print $at }'; }

# h264 NAME FRAMES: clips that begin alike and differ in what they show.
h264() {
    ffmpeg -v error -nostdin -y -f lavfi -i "testsrc2=size=64x48:rate=25" -vf "hue=h=$2*7" -frames:v "$2" -threads 1 -c:v libx264 -bf 2 -g 8 -pix_fmt yuv420p "$1"
}

hevc() {
    ffmpeg -v error -nostdin -y -f lavfi -i "testsrc2=size=64x48:rate=25" -vf "hue=h=$2*7" -frames:v "$2" -threads 1 -c:v libx265 -x265-params log-level=error:keyint=8 -pix_fmt yuv420p "$1"
}

vp9() {
    ffmpeg -v error -nostdin -y -f lavfi -i "testsrc2=size=64x48:rate=25" -vf "hue=h=$2*7" -frames:v "$2" -threads 1 -c:v libvpx-vp9 -deadline realtime -cpu-used 8 "$1"
}

# Programs that are built without a sanitizer cannot load doubles that have one.
stock_ffmpeg() { case $FAKE_DRIVER in */build/*san/fake) skip "stock ffmpeg loads no doubles that have a sanitizer" ;; esac; }

# frame_sums CLIP FORMAT: the md5 of every frame, as stock FFmpeg decodes it on the doubles.
frame_sums() {
    faked ffmpeg -v error -nostdin -hwaccel cuda -hwaccel_output_format cuda -i "$1" -vf "hwdownload,format=$2" -f framemd5 - | sed -n 's/^0,.* //p'
}

test_the_doubles_give_stock_ffmpeg_each_picture_in_its_place() {
    stock_ffmpeg
    ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=size=64x48 -frames:v 20 -threads 1 -c:v libx265 -x265-params log-level=error:keyint=9 -pix_fmt yuv420p10le ten.mp4
    ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=size=64x48 -frames:v 20 -threads 1 -c:v libvpx -deadline realtime -cpu-used 8 vp8.webm
    h264 h264.mp4 20
    hevc hevc.mp4 20
    vp9 vp9.webm 20
    while read -r clip codec depth format; do
        frame_sums "$clip" "$format" >got
        released
        is 20 "$(used pictures total)"
        python3 "$BLOAD_ROOT/tests/gpu/fake_expected.py" "$clip" "$codec" 64 48 "$depth" | diff - got
    done <<'END'
h264.mp4 h264 8 nv12
hevc.mp4 hevc 8 nv12
ten.mp4 hevc 10 p010le
vp8.webm vp8 8 nv12
vp9.webm vp9 8 nv12
END
}

# rgb SET: the bytes of the frames of a set's first shard.
rgb() {
    python3 - "$1"/shards/00000/shard-00000000.safetensors <<'END_OF_PYTHON'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
begin, end = json.loads(data[8 : 8 + size])["frames"]["data_offsets"]
sys.stdout.buffer.write(data[8 + size + begin : 8 + size + end])
END_OF_PYTHON
}

# sums SET: for each sequence of a set of one shard its name and the md5 of its frames.
sums() {
    python3 - "$1" <<'END_OF_PYTHON'
import hashlib, json, struct, sys
names = [line.split("\t")[0] for line in open(sys.argv[1] + "/sequences.tsv")][1:]
data = open(sys.argv[1] + "/shards/00000/shard-00000000.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8 : 8 + size])

def tensor(name, code):
    begin, end = header[name]["data_offsets"]
    shape = header[name]["shape"]
    values = data[8 + size + begin : 8 + size + end]
    row = len(values) // shape[0]
    return [struct.unpack(f"<{row // struct.calcsize(code)}{code}", values[i * row : i * row + row]) for i in range(shape[0])]

frame = 1
for extent in header["frames"]["shape"][2:]:
    frame *= extent
for sequences, starts, pictures in zip(tensor("sequence", "q"), tensor("cu_seqlens", "i"), tensor("frames", "B")):
    for k, number in enumerate(sequences):
        if number >= 0:
            print(names[number], hashlib.md5(bytes(pictures[starts[k] * frame : starts[k + 1] * frame])).hexdigest())
END_OF_PYTHON
}

# decoded CLIP FORMAT: the frames as the processor decodes them, in the format of a surface.
decoded() { ffmpeg -v error -nostdin -i "$1" -fps_mode passthrough -f rawvideo -pix_fmt "$2" -; }

# Surfaces made RGB by the kernel as a loop are what is in the dataset, to the bit; by the converter of the processor, nearly.
test_pixels_are_those_of_the_surfaces() {
    local clip format words
    h264 h264.mp4 12
    ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=size=64x48 -frames:v 12 -threads 1 -c:v libx265 -x265-params log-level=none -pix_fmt yuv444p planar.mp4
    ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=size=64x48 -frames:v 12 -threads 1 -c:v libx265 -x265-params log-level=none -pix_fmt yuv444p10le planar10.mp4
    while read -r clip format words; do
        rm -rf set
        expect 0 faked bload pack -q "$clip" -T longest -o set --decoder nvdec
        released
        rgb set >packed
        size=$(ffprobe -v error -select_streams v:0 -show_entries stream=width,height -of csv=p=0:s=x "$clip" | head -n 1)
        decoded "$clip" "$format" >raw
        "$CONVERT_RAW" "$format" "$size" kernel=loop $words <raw >loop
        cmp loop packed
        "$CONVERT_RAW" "$format" "$size" $words <raw >converted
        python3 -c 'a, b = (open(f, "rb").read() for f in ("packed", "converted")); assert len(a) == len(b) > 0 and max(abs(x - y) for x, y in zip(a, b)) < 3'
    done <<END
h264.mp4 nv12
$(fixture h264-50.mkv) nv12
$(fixture hevc10-13.mkv) p010le
$(fixture vp9-24.webm) nv12
planar.mp4 yuv444p
planar10.mp4 yuv444p16le
END
}

# near GPU PROCESSOR: the pictures of two sets of one shard differ by 2 levels at most.
near() {
    rgb "$1" >near-1
    rgb "$2" >near-2
    python3 -c 'a, b = (open(f, "rb").read() for f in ("near-1", "near-2")); assert len(a) == len(b) > 0 and max(abs(x - y) for x, y in zip(a, b)) < 3'
}

# like_the_processors CLIP [OPTIONS]: the clip's frames, whole and in pieces that begin in the middle, are those of the processor.
like_the_processors() {
    local clip=$1 form
    shift
    for form in '-T longest' '-T 8 --oversize split' '-T 100 --fps 10'; do
        [[ $clip$form != *.h264*fps* ]] || continue # it has no times
        rm -rf gpu cpu
        expect 0 faked bload pack -q "$clip" $form --size 40x40 "$@" -o gpu --decoder nvdec
        released
        is nvdec "$(values decoder <gpu/sequences.tsv)"
        expect 0 bload pack -q "$clip" $form --size 40x40 "$@" -o cpu
        near gpu cpu || fail "$clip $form"
    done
}

# Every codec, container, order of frames and crop: what the parser is given, and what is taken from it, is in its place.
test_frames_are_those_of_the_processor() {
    local name size options clip
    while read -r name size options; do
        ffmpeg -v error -nostdin -y -f lavfi -i "testsrc2=size=$size:rate=25" -frames:v 30 -threads 1 $options "$name"
    done <<'END'
deep.mp4 64x48 -c:v libx264 -pix_fmt yuv420p -bf 8 -refs 8 -x264-params b-pyramid=normal:keyint=300
open.mkv 64x48 -c:v libx264 -pix_fmt yuv420p -x264-params open-gop=1:keyint=10:b-adapt=0:bframes=3:scenecut=0
woven.mkv 96x160 -c:v libx264 -pix_fmt yuv420p -flags +ilme+ildct
times.avi 64x48 -c:v libx264 -pix_fmt yuv420p -bf 2
packets.ts 160x90 -c:v libx264 -pix_fmt yuv420p
full.mp4 64x48 -c:v libx264 -pix_fmt yuvj420p -color_range pc -colorspace bt709
twelve.mkv 128x72 -c:v libx265 -x265-params log-level=none -pix_fmt yuv420p12le
planar.mkv 66x50 -c:v libx265 -x265-params log-level=none -pix_fmt yuv444p
planar10.mkv 66x50 -c:v libx265 -x265-params log-level=none -pix_fmt yuv444p10le
planar-full.mkv 128x72 -c:v libx265 -x265-params log-level=none:range=full -pix_fmt yuv444p10le -color_range pc
planar12.mkv 66x50 -vf scale=65:49 -c:v libx265 -x265-params log-level=none -pix_fmt yuv444p12le
eight.webm 64x48 -c:v libvpx -cpu-used 8 -deadline realtime -auto-alt-ref 1 -lag-in-frames 10
hidden.webm 66x50 -c:v libvpx-vp9 -cpu-used 8 -deadline good
odd.webm 66x50 -vf scale=65:49 -c:v libvpx-vp9 -cpu-used 8 -deadline realtime -pix_fmt yuv420p
one.mpg 64x48 -c:v mpeg1video -bf 2
two.mkv 64x48 -c:v mpeg2video -bf 2
two.ts 160x120 -c:v mpeg2video -bf 2
pictures.avi 64x48 -c:v mjpeg -pix_fmt yuvj420p
av1.mp4 64x64 -c:v libaom-av1 -cpu-used 8 -usage realtime
END
    ffmpeg -v error -nostdin -i deep.mp4 -c copy -bsf:v h264_metadata=crop_left=10:crop_top=4:crop_right=6:crop_bottom=2 crop.mp4
    ffmpeg -v error -nostdin -ss 0.5 -i deep.mp4 -c copy edit.mp4
    ffmpeg -v error -nostdin -i deep.mp4 -c copy -bsf:v h264_mp4toannexb plain.h264
    for clip in *.*; do like_the_processors "$clip"; done
    like_the_processors open.mkv --fit crop
}

# A file may change its size on the way: the pictures before and behind are those of the processor.
test_sizes_change_on_the_way() {
    local kind size status
    while read -r status kind; do
        for size in 64x48 160x120; do
            ffmpeg -v error -nostdin -y -f lavfi -i "testsrc2=size=$size:rate=25" -frames:v 20 -threads 1 -c:v $kind -bf 2 -pix_fmt yuv420p -f mpegts $size.part
        done
        cat 64x48.part 160x120.part 64x48.part >both.ts
        rm -rf gpu cpu
        expect $status faked bload pack -q both.ts -T longest --size 40x40 -o gpu --decoder nvdec
        released
        expect $status bload pack -q both.ts -T longest --size 40x40 -o cpu
        near gpu cpu
    done <<'END'
0 libx264
0 libx265 -x265-params log-level=none
3 mpeg2video
END
}

test_workers_make_no_difference() {
    h264 a.mp4 20
    h264 b.mp4 13
    hevc c.mp4 17
    vp9 d.webm 11
    while read -r words; do
        rm -rf one four
        expect 0 faked bload pack -q ./*.mp4 ./*.webm "$(fixture mpeg2-25.ts)" --size 48x48 $words -o one --decoder nvdec -j 1
        released
        expect 0 faked bload pack -q ./*.mp4 ./*.webm "$(fixture mpeg2-25.ts)" --size 48x48 $words -o four --decoder nvdec -j 4
        released
        is 'nvdec' "$(values decoder <one/sequences.tsv | sort -u)"
        is '20 13 17 11 25' "$(values length <one/sequences.tsv | xargs)"
        same one/shards.tsv four/shards.tsv
        same one/shards/00000/shard-00000000.safetensors four/shards/00000/shard-00000000.safetensors
        expect 0 bload verify -q one
    done <<'END'
-T 25
-T 8 --oversize split
-T longest --fit pad
END
    rm -rf one four
    expect 0 faked bload pack -q ./*.mp4 ./*.webm -T longest --size 48x48 --fps 10 -o one --decoder nvdec -j 1
    released
    expect 0 faked bload pack -q ./*.mp4 ./*.webm -T longest --size 48x48 --fps 10 -o four --decoder nvdec -j 4 :same-in one shards.tsv
}

# A worker needs one decoder for all files that begin alike, three at most.
test_decoders_are_kept() {
    for i in 5 6 9 14 20; do
        h264 "h264-$i.mp4" "$i"
        hevc "hevc-$i.mp4" "$i"
        vp9 "vp9-$i.webm" "$i"
    done
    for kind in h264 hevc vp9; do
        files=()
        for i in 1 2 3 4 5 6; do
            for file in "$kind"-?.* "$kind"-??.*; do ln "$file" "$i-$file"; files+=("$i-$file"); done
        done
        expect 0 faked bload pack -q "${files[@]}" -T 20 -o "$kind" --decoder nvdec -j 1
        released
        is "$kind 1" "$kind $(used decoders total)"
        is 30 "$(values decoder <"$kind"/sequences.tsv | grep -c nvdec)"
        # What was decoded behind other files is what it is alone.
        for file in "$kind"-?.* "$kind"-??.*; do
            rm -rf alone
            expect 0 faked bload pack -q "$file" -T 20 -o alone --decoder nvdec
            sums alone | grep "$file" >expected
            sums "$kind" | grep -- "-$file" | sed 's/^.-//' | sort -u | diff expected -
        done
    done
    expect 0 faked bload pack -q [1-6]-*.* "$(fixture mpeg2-25.ts)" "$(fixture h264-30.mp4)" -T 30 --size 48x48 -o mixed --decoder nvdec -j 1
    released
    [ "$(used decoders most)" -le 3 ] || fail "$(used decoders most) decoders at once"
    expect 0 faked bload pack -q [1-6]-*.* "$(fixture mpeg2-25.ts)" "$(fixture h264-30.mp4)" -T 30 --size 48x48 -o mixed-2 --decoder nvdec -j 2
    released
    [ "$(used decoders most)" -le 6 ] || fail "$(used decoders most) decoders at once"
    same mixed/shards.tsv mixed-2/shards.tsv
}

# A decoder is reconfigured for files of other sizes, and is not made anew; each kind of stream has its own.
test_one_decoder_for_all_sizes() {
    local codec ending options size kinds=0
    while read -r codec ending options; do
        for size in 160x120 64x48 96x96 128x64; do
            ffmpeg -v error -nostdin -y -f lavfi -i "testsrc2=size=$size:rate=25" -frames:v 9 -threads 1 -c:v $codec $options $codec-$size.$ending
        done
        rm -rf gpu cpu
        expect 0 faked bload pack -q "$codec"-* -T 9 --size 40x40 -o gpu --decoder nvdec -j 1
        released
        kinds=$((kinds + 1))
        is "$codec 1" "$codec $(used decoders total)"
        [ "$(used reconfigured total)" -ge 3 ] || fail "$codec: reconfigured $(used reconfigured total) times"
        expect 0 bload pack -q "$codec"-* -T 9 --size 40x40 -o cpu
        near gpu cpu || fail "$codec"
    done <<'END'
libx264 mp4 -bf 2 -pix_fmt yuv420p
libx265 mkv -x265-params log-level=none -pix_fmt yuv420p
libvpx-vp9 webm -cpu-used 8 -deadline realtime -pix_fmt yuv420p
mpeg2video ts -bf 2
END
    is 4 "$kinds"
}

# What the driver says of its engines is asked once for each kind of stream; the device is opened once for scan and packing, and decoders are
# as many as keep the engines busy.
test_nothing_is_opened_twice() {
    h264 a.mp4 9
    hevc b.mp4 9
    for i in 1 2 3 4 5 6 7 8 9; do ln a.mp4 "$i-a.mp4"; ln b.mp4 "$i-b.mp4"; done
    FAKE_COSTS=cuvidCreateDecoder:20000,picture:500 expect 0 faked bload pack -q ./*.mp4 -T 9 -o one --decoder nvdec -j 8
    released
    is 'contexts 1' "contexts $(used contexts total)"
    is 'streams 2' "streams $(used streams total)"
    [ "$(used decoders most)" -le 4 ] || fail "$(used decoders most) decoders at once"
    is 2 "$(awk '$2 == "cuvidGetDecoderCaps" { print $3 }' report)"
    FAKE_ENGINES=3 FAKE_COSTS=cuvidCreateDecoder:1000,picture:3000 expect 0 faked bload pack -q ./*.mp4 -T 9 -o three --decoder nvdec -j 16
    released
    is 'streams 6' "streams $(used streams total)"
    # An old driver does not say how many engines there are.
    FAKE_ENGINES=0 FAKE_COSTS=picture:3000 expect 0 faked bload pack -q ./*.mp4 -T 9 -o old --decoder nvdec -j 3
    is 'streams 3' "streams $(used streams total)"
}

# few OUT [OPTIONS]: packs the three small files that the tests of faults are about.
few() {
    local out=$1
    shift
    faked bload pack -q a.mp4 b.mp4 c.webm -T longest --size 32x32 --decoder nvdec -j 1 -o "$out" "$@"
}

few_files() {
    h264 a.mp4 9
    h264 b.mp4 6
    vp9 c.webm 8
    expect 0 few good
}

# What a fault left can be gone on with, and is then what it would have been.
goes_on() {
    expect 0 few "$1"
    released
    same good/shards.tsv "$1/shards.tsv"
}

# Each of the driver's functions fails once: at its first call, its second, one in the middle. What tidies up may fail unheard. A picture
# that the video library refuses looks like a damaged one: its file is named as failed.
test_each_call_can_fail() {
    few_files
    sed -n 's/^calls //p' report >calls
    [ "$(wc -l <calls)" -gt 25 ] || fail "$(wc -l <calls) functions were called"
    while read -r function number; do
        for at in $(printf '%s\n' 1 2 $(((number + 1) / 2)) | sort -nu); do
            [ "$at" -le "$number" ] || continue
            rm -rf d
            status=0
            FAKE_FAIL=$function:$at few d >"$OUT" 2>"$ERR" || status=$?
            case $function-$status in
            cuvidDecodePicture-3 | cuvidMapVideoFrame-3) err_has 'bload: failed ' ;;
            cuvidParseVideoData-3) grep -q 'damaged: errors while decoding\|bload: failed ' "$ERR" ;;
            *-1)
                err_has GPU
                [ ! -e d/manifest.json ] || fail "$function:$at: a dataset was published"
                ;;
            *-0) same good/shards.tsv d/shards.tsv ;;
            *) fail "$function:$at: status $status: $(tail -n 3 "$ERR")" ;;
            esac
        done
        [ $status != 1 ] || goes_on d
    done <calls
}

# From then on everything fails. A card that is lost while it tidies up may be so unheard.
test_a_lost_card() {
    few_files
    for function in cuCtxPushCurrent:40 cuvidDecodePicture:1 cuvidDecodePicture:9 cuvidMapVideoFrame:1 cuvidMapVideoFrame:12 \
        cuvidUnmapVideoFrame:5 cuvidCreateDecoder:1 cuvidCreateDecoder:2 cuLaunchKernel:1 cuLaunchKernel:15 cuEventSynchronize:3 \
        cuEventRecord:2 cuMemcpyDtoHAsync:1 cuMemcpyHtoDAsync:3 cuMemAlloc:2 cuMemHostAlloc:3; do
        rm -rf d
        FAKE_LOST=1 FAKE_FAIL=$function expect 1 few d :err GPU :none d/manifest.json
        goes_on d
    done
    rm -rf d
    FAKE_LOST=1 FAKE_FAIL=cuvidDecodePicture:9 expect 1 few d -j 3
    goes_on d
}

test_too_little_memory() {
    few_files
    most=$(used memory most)
    for bytes in 1000 100000; do
        rm -rf d
        FAKE_MEMORY=$bytes expect 1 few d :err "memory is not enough"
        released
        goes_on d
    done
    # Where a decoder that others can share has no room, one that is just large enough may have it.
    for bytes in $((most / 2)) "$most"; do
        rm -rf d
        FAKE_MEMORY=$bytes goes_on d
    done
    # A picture that is refused while memory is short is not taken for a damaged one: idle decoders make way, and it is decoded again.
    rm -rf d
    FAKE_MEMORY=$most FAKE_FAIL=cuvidMapVideoFrame:5 FAKE_FAIL_CODE=2 goes_on d
    # With room for one decoder those that are idle make way for the next.
    rm -rf d
    FAKE_DECODERS=1 goes_on d
    is 1 "$(used decoders most)"
    rm -rf d
    FAKE_FAIL=cuMemHostAlloc:1 FAKE_FAIL_CODE=2 expect 1 few d :err 'GPU 0 cannot pin host memory: out of memory'
    released
}

test_several_gpus() {
    h264 a.mp4 9
    h264 b.mp4 6
    vp9 c.webm 8
    export FAKE_GPUS=2
    expect 0 few good -j 4
    released
    is 2 "$(used contexts total)"
    expect 0 few second --gpu 1
    released
    is 1 "$(used contexts total)"
    same good/shards.tsv second/shards.tsv
    expect 2 few d --gpu 5 :err '--gpu 5: the GPUs here are 0 to 1'
    released
    expect 2 few d --gpu 0,2
    released
    [ ! -e d ] || fail "it left a directory"
    FAKE_GPUS=0 expect 1 few d :err 'no NVIDIA GPU found'
    FAKE_GPUS=0 expect 0 faked bload pack -q a.mp4 -T 9 -o auto --decoder auto :err 'no GPU is used: '
    is cpu "$(values decoder <auto/sequences.tsv)"
}

test_what_the_gpu_does_not_decode() {
    h264 a.mp4 9
    ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=size=64x48 -frames:v 7 -threads 1 -c:v libx264 -pix_fmt yuv420p10le ten.mp4
    ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=size=32x32 -frames:v 5 -threads 1 -c:v libx264 -pix_fmt yuv420p small.mp4
    ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=size=64x48 -frames:v 3 -threads 1 -c:v libx265 -x265-params log-level=none -pix_fmt gbrp rgb.mp4
    expect 0 faked bload pack -q a.mp4 ten.mp4 small.mp4 rgb.mp4 -T 9 --size 32x32 -o auto --decoder auto
    released
    is 'nvdec cpu cpu cpu' "$(values decoder <auto/sequences.tsv | xargs)"
    expect 3 faked bload pack -q a.mp4 ten.mp4 small.mp4 rgb.mp4 -T 9 --size 32x32 -o only --decoder nvdec
    released
    err_has 'ten.mp4: the GPU does not decode it (h264, yuv420p10le, 64x48): --decoder auto does so on the processor'
    err_has 'small.mp4: the GPU does not decode it (h264, yuv420p, 32x32)'
    err_has 'rgb.mp4: the GPU does not decode it (hevc, gbrp, 64x48)'
    is 1 "$(used decoders total)"
}

# What a stream crops at the left and the top is not shown: the picture is a part of the whole one. (At its edges colours are those of the
# part alone.)
test_cropped_at_the_left() {
    h264 whole.mp4 12
    ffmpeg -v error -nostdin -i whole.mp4 -c copy -bsf:v h264_metadata=crop_left=10:crop_top=4:crop_right=6:crop_bottom=2 part.mp4
    for clip in whole part; do
        expect 0 faked bload pack -q $clip.mp4 -T longest -o $clip --decoder nvdec
        rgb $clip >$clip.rgb
    done
    python3 - <<'END_OF_PYTHON'
whole, part = open("whole.rgb", "rb").read(), open("part.rgb", "rb").read()
assert len(whole) == 12 * 48 * 64 * 3 and len(part) == 12 * 42 * 48 * 3
for frame in range(12):
    for row in range(1, 41):
        a, b = ((frame * 48 + row + 4) * 64 + 10) * 3, (frame * 42 + row) * 48 * 3
        assert whole[a : a + 47 * 3] == part[b : b + 47 * 3], (frame, row)
assert len(set(part)) > 50
END_OF_PYTHON
}

# What traces the driver's calls sees all of them, also of FFmpeg, and what they take.
test_calls_are_traced() {
    [ -n "${GPU_TRACER-}" ] || skip "nothing that the dynamic linker loads has a sanitizer"
    few_files
    FAKE_COSTS=cuDevicePrimaryCtxRetain:3000,cuvidCreateDecoder:30000,picture:200 LD_AUDIT=$GPU_TRACER GPU_TRACE=traced expect 0 few traced-set
    sed -n 's/^calls //p' report | sort >called
    awk -F '\t' '$1 == "call" { sub(/_v2$|64$/, "", $2); n[$2] += $4 } END { for (k in n) print k, n[k] }' traced | sort | diff called -
    # By phase: the device is opened before the first decoder, and each thread's first picture comes behind that.
    is 'open 1' "$(awk '$1 == "call" && $2 == "cuDevicePrimaryCtxRetain" { print $3, $4 }' traced)"
    is 'first 1' "$(awk '$1 == "call" && $2 == "cuvidCreateDecoder" { print $3, $4 } ' traced | head -n 1)"
    # As many calls by thread as in all; decoders took their time, also in the list of what is slow.
    awk -F '\t' '$1 == "call" { a += $4; s += $5 } $1 == "thread" { b += $5; t += $6 } END { d = s - t; exit !(a > 500 && a == b && d * d < 1e-6) }' traced
    awk -F '\t' -v made="$(used decoders total)" '$2 == "cuvidCreateDecoder" && $1 == "call" { n += $4; s += $5 } $1 == "slow" && $4 == "cuvidCreateDecoder" { slow += $5 >= 0.03 }
        END { exit !(n == made && slow == n && s >= 0.03 * n) }' traced
    # The parser calls back, and its callback creates the decoder: that time is the decoder's alone.
    FAKE_COSTS=cuvidCreateDecoder:700000 LD_AUDIT=$GPU_TRACER GPU_TRACE=nested expect 0 faked bload pack -q a.mp4 -T 9 --size 32x32 -o nested-set --decoder nvdec
    awk -F '\t' '$1 != "call" { next } $2 == "cuvidCreateDecoder" { made += $5 } $2 == "cuvidParseVideoData" { n += $4; parsed += $5; longest = $7 > longest ? $7 : longest }
        END { exit !(made >= 0.7 && n > 2 && parsed < 0.5 && longest < 0.5) }' nested || fail "$(cat nested)"
    awk '$1 == "first" && $2 > 0.033 { n++ } $1 == "process" && $2 > 0.06 { n++ } END { exit n != 2 }' traced
    rm traced
    LD_AUDIT=$GPU_TRACER GPU_TRACE=traced expect 0 bload pack -q a.mp4 -T longest -o cpu :none traced
}

# gpu EXPRESSION: Python's value of it, where gpu is what the JSON in $OUT says was opened on GPUs.
gpu() { python3 -c 'import json, sys; gpu = json.load(open(sys.argv[1]))["run"].get("gpu"); print(eval(sys.argv[2]))' "$OUT" "$1"; }

# What opening took, by the doubles' waits, with their numbers; every stream has a decoder that is new, or of another size, or kept as it was.
test_reports_say_what_was_opened() {
    h264 a.mp4 9
    h264 b.mp4 6
    vp9 c.webm 8
    ffmpeg -v error -nostdin -i a.mp4 -vf scale=48:64 -threads 1 -c:v libx264 -bf 2 -pix_fmt yuv420p d.mp4
    FAKE_COSTS=cuInit:50000,cuDevicePrimaryCtxRetain:60000,cuStreamCreate:70000,cuvidCreateDecoder:80000 \
        expect 0 faked bload pack -q a.mp4 b.mp4 c.webm d.mp4 -T longest --size 32x32 -o set --decoder nvdec -j 1 --json
    released
    is "1 1 $(used decoders total)" "$(gpu 'gpu["devices"]["count"], gpu["workers"]["count"], gpu["decoders"]["count"]' | tr -d '(,)')"
    is "4 $(used reconfigured total)" "$(gpu 'gpu["decoders"]["count"] + gpu["reconfigured"] + gpu["reused"], gpu["reconfigured"]' | tr -d '(,)')"
    [ "$(used decoders total)" -lt 4 ] || fail "no decoder was kept"
    is True "$(gpu '0.11 <= gpu["devices"]["seconds"] and 0.07 <= gpu["workers"]["seconds"] and 0.08 * gpu["decoders"]["count"] <= gpu["decoders"]["seconds"]')"
    # A scan opens the device alone; without GPUs there is nothing to say.
    expect 0 faked bload scan -q a.mp4 -o table.tsv --decoder nvdec --json
    is '1 0 0' "$(gpu 'gpu["devices"]["count"], gpu["workers"]["count"], gpu["decoders"]["count"]' | tr -d '(,)')"
    expect 0 faked bload pack -q a.mp4 -T longest -o cpu --json
    is None "$(gpu gpu)"
}

# A GPU decodes all frames; those of the list are taken.
test_lists_of_frames() {
    h264 a.mp4 20
    hevc b.mp4 13
    vp9 c.webm 5
    expect 0 faked bload pack -q ./*.mp4 ./*.webm -T longest --size 48x48 -o whole --decoder nvdec
    for form in linspace middle; do
        rm -rf some
        expect 0 faked bload pack -q ./*.mp4 ./*.webm -T 8 --size 48x48 --frames 8 --frames-at $form -o some --decoder nvdec
        released
        is 'nvdec' "$(values decoder <some/sequences.tsv | sort -u)"
        is '20 13 5' "$(values source_frames <some/sequences.tsv | xargs)"
        is 3 "$(python3 "$BLOAD_ROOT/tests/cli/slices.py" whole some frames $form)"
    done
}
