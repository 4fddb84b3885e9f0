# The doubles of the driver's parser and decoders give each picture in its place: a program that uses nothing of ours (tests/gpu/parse.c) gets
# from them what ffmpeg decodes on the processor. Only in builds with CUDA.
# shellcheck shell=bash disable=SC2086

[ -n "${GPU_PARSE-}" ] || skip "built without CUDA"

parsed() { LD_LIBRARY_PATH=$FAKE_DRIVER FAKE_REPORT=report "$GPU_PARSE" "$@"; }

# Nothing is left, and nothing was used wrongly.
released() {
    is "" "$(awk '$1 ~ /^(contexts|memory|streams|decoders|maps|parsers)$/ && $3 || $1 == "wrong" && $2 || $1 == "wrong:"' report)"
}

# like_ffmpeg CLIP FORMAT FRAMES: the frames are those of ffmpeg, byte for byte.
like_ffmpeg() {
    parsed "$1" >got 2>lines || fail "$1: $(tail -n 3 lines)"
    ffmpeg -v error -nostdin -y -flags unaligned -autorotate 0 -i "$1" -fps_mode passthrough -vf "scale=in_range=full:out_range=full,format=$2" -f rawvideo want
    cmp got want || fail "$1 as $2"
    is "$1 $3 frames" "$1 $(grep -c '^-\?[0-9]* [0-9]*x[0-9]*$' lines) frames"
    released
}

# clip NAME SIZE OPTIONS: 30 frames.
clip() { ffmpeg -v error -nostdin -y -f lavfi -i "testsrc2=size=$2:rate=25" -frames:v 30 -threads 1 $3 "$1"; }

test_each_codec_gives_its_pictures() {
    local depth name size format options
    while read -r name size format options; do
        clip "$name" "$size" "$options"
        like_ffmpeg "$name" "$format" 30
    done <<'END'
deep.mp4 64x48 nv12 -c:v libx264 -pix_fmt yuv420p -bf 8 -refs 8 -x264-params b-pyramid=normal:keyint=12
open.mkv 64x48 nv12 -c:v libx264 -pix_fmt yuv420p -x264-params open-gop=1:keyint=10:b-adapt=0:bframes=3:scenecut=0
woven.mkv 96x160 nv12 -c:v libx264 -pix_fmt yuv420p -flags +ilme+ildct
packets.ts 160x90 nv12 -c:v libx264 -pix_fmt yuv420p
plain.h264 160x90 nv12 -c:v libx264 -pix_fmt yuv420p
eight.mkv 130x70 nv12 -c:v libx265 -x265-params log-level=none -pix_fmt yuv420p
ten.mp4 64x48 p010le -c:v libx265 -x265-params log-level=none -pix_fmt yuv420p10le
whole.mkv 130x70 yuv444p -c:v libx265 -x265-params log-level=none -pix_fmt yuv444p
eight.webm 64x48 nv12 -c:v libvpx -cpu-used 8 -deadline realtime -auto-alt-ref 1 -lag-in-frames 10
hidden.webm 66x50 nv12 -c:v libvpx-vp9 -cpu-used 8 -deadline good -pix_fmt yuv420p
odd.webm 66x50 nv12 -vf scale=65:49 -c:v libvpx-vp9 -cpu-used 8 -deadline realtime -pix_fmt yuv420p
one.mpg 64x48 nv12 -c:v mpeg1video -bf 2
two.ts 160x120 nv12 -c:v mpeg2video -bf 2
four.avi 160x120 nv12 -c:v mpeg4 -bf 2
pictures.avi 64x48 nv12 -c:v mjpeg -pix_fmt yuvj420p
END
    ffmpeg -v error -nostdin -i deep.mp4 -c copy -bsf:v h264_metadata=crop_left=10:crop_top=4:crop_right=6:crop_bottom=2 crop.mp4
    like_ffmpeg crop.mp4 nv12 30
    # The samples of 10 and 12 bits stand in the high bits.
    for depth in 10 12; do
        clip whole-$depth.mkv 130x70 "-c:v libx265 -x265-params log-level=none -pix_fmt yuv444p${depth}le"
        parsed whole-$depth.mkv >got 2>lines
        ffmpeg -v error -nostdin -y -i whole-$depth.mkv -fps_mode passthrough -f rawvideo want
        python3 - "$depth" <<'END_OF_PYTHON'
import array, sys
got, want = (array.array("H", open(f, "rb").read()) for f in ("got", "want"))
assert len(got) == 30 * 3 * 130 * 70 and list(got) == [value << 16 - int(sys.argv[1]) for value in want]
END_OF_PYTHON
    done
}

test_timestamps_are_those_of_the_packets() {
    clip a.mp4 64x48 "-c:v libx264 -pix_fmt yuv420p -bf 3 -x264-params keyint=300:b-adapt=0:scenecut=0"
    ffprobe -v error -select_streams v:0 -show_entries packet=pts -of csv=p=0 a.mp4 | tr -d , | sort -n >expected
    is 30 "$(wc -l <expected)"
    parsed a.mp4 2>lines >got
    awk '{ print $1 }' lines | diff expected -
    # With costs nothing is decoded, and the order is the same.
    FAKE_COSTS=picture:10 parsed a.mp4 2>lines >got
    awk '{ print $1 }' lines | diff expected -
    is '30 pictures, 30 maps' "$(awk '$1 == "pictures" || $1 == "maps" { print $2, $1 }' report | paste -sd, | sed 's/,/, /')"
    released
}

# join_clips FILE...: one after the other. Of an IVF only the first header stays.
join_clips() {
    cat "$1"
    shift
    while [ $# -gt 0 ]; do
        case $1 in *.ivf) tail -c +33 "$1" ;; *) cat "$1" ;; esac
        shift
    done
}

# What is before a change of size is shown before the decoder is reconfigured, and a larger size needs another decoder.
test_sizes_change_on_the_way() {
    local name options size
    while read -r name options; do
        for size in 160x120 64x48; do clip $size.$name $size "$options"; done
        join_clips {160x120,64x48,160x120}."$name" >both.$name
        parsed both.$name >got 2>lines || fail "$name: $(tail -n 3 lines)"
        is "160x120 64x48 160x120" "$(awk '{ print $2 }' lines | uniq | xargs)"
        is "90 frames" "$(wc -l <lines) frames"
        for size in 160x120 64x48 160x120; do
            ffmpeg -v error -nostdin -i $size.$name -fps_mode passthrough -f rawvideo -pix_fmt nv12 -
        done >want
        cmp got want || fail "$name"
        is "1 2" "$(awk '$1 == "decoders" || $1 == "reconfigured" { print $2 }' report | xargs)"
        released
    done <<'END'
ts -c:v libx264 -bf 2 -pix_fmt yuv420p
h264 -c:v libx264 -bf 2 -pix_fmt yuv420p
hevc -c:v libx265 -x265-params log-level=none -pix_fmt yuv420p
ivf -c:v libvpx-vp9 -cpu-used 8 -deadline good -pix_fmt yuv420p
END
}

# As on a GPU: a surface holds the next picture once it is decoded into it, so that who maps too late gets another one.
test_a_surface_that_is_mapped_late_has_another_picture() {
    clip a.mp4 64x48 "-c:v libx264 -pix_fmt yuv420p -bf 2"
    parsed a.mp4 >got 2>lines
    if parsed a.mp4 late >late 2>late-lines; then
        ! cmp -s <(head -c $((29 * 64 * 48 * 3 / 2)) got) late || fail "the surfaces still had their pictures"
    else
        grep -q 'before it is shown' report
    fi
}

# The driver says so of pictures that are damaged.
test_damage_is_told() {
    clip a.h264 160x90 "-c:v libx264 -pix_fmt yuv420p -bf 0 -x264-params keyint=10:slices=4"
    python3 - <<'END_OF_PYTHON'
data = bytearray(open("a.h264", "rb").read())
middle = len(data) // 2
data[middle : middle + 40] = bytes(255 - value for value in data[middle : middle + 40])
open("b.h264", "wb").write(data)
END_OF_PYTHON
    parsed a.h264 2>lines >got
    is 0 "$(grep -c damaged lines || true)"
    parsed b.h264 2>lines >got
    [ "$(grep -c damaged lines)" -gt 0 ] || fail "no picture is damaged"
    released
}

# A call that fails is told to who made it, also from within a callback.
test_each_function_can_fail() {
    local function
    clip a.mp4 64x48 "-c:v libx264 -pix_fmt yuv420p -bf 2"
    parsed a.mp4 2>lines >got
    is 9 "$(grep -c '^calls cuvid' report)"
    for function in cuvidCreateVideoParser:1 cuvidParseVideoData:1 cuvidParseVideoData:9 cuvidCreateDecoder:1 cuvidDecodePicture:1 \
        cuvidDecodePicture:7 cuvidMapVideoFrame:3 cuvidUnmapVideoFrame:2 cuvidDestroyVideoParser:1; do
        ! FAKE_FAIL=$function parsed a.mp4 2>lines >got || fail "$function"
        grep -q '^parse: ' lines
    done
}
