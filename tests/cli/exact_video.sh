# Videos as their streams say: the right answers are the pictures that were encoded, without loss.
# shellcheck shell=bash disable=SC2317,SC2086

# picture NAME WIDTH HEIGHT LEFT TOP DEPTH: four frames in Y4M: a part of the same 96x64 picture.
picture() {
    python3 - "$@" <<'END_OF_PYTHON'
import random, sys
name, (width, height, left, top, depth) = sys.argv[1], map(int, sys.argv[2:])
noise, size = random.Random(7), 1 + (depth > 8)
def plane(across, down):
    return [[noise.randrange(16 << depth - 8, 235 << depth - 8) if (x // 4 + y // 4) % 2 else (16 + (3 * x + 5 * y) % 200) << depth - 8
             for x in range(across)] for y in range(down)]
with open(name, "wb") as out:
    out.write(b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C%s\n" % (width, height, b"420p10" if depth > 8 else b"420mpeg2"))
    for _ in range(4):
        out.write(b"FRAME\n")
        for half in 1, 2, 2:
            for row in plane(96 // half, 64 // half)[top // half : (top + height) // half]:
                for value in row[left // half : (left + width) // half]:
                    out.write(value.to_bytes(size, "little"))
END_OF_PYTHON
}

# frames FILE OPTIONS...: the shard that a file makes.
frames() {
    local file=$1
    shift
    rm -rf set
    expect 0 bload pack -q "$file" -T longest -o set "$@"
    sha256sum <set/shards/00000/shard-00000000.safetensors
}

# What the stream crops at the left and the top is not shown, wherever the first pixel then lies in memory.
test_cropped_at_the_left() {
    local crop=crop_left=10:crop_top=4:crop_right=6:crop_bottom=2 options clip
    picture whole.y4m 96 64 0 0 8
    picture part.y4m 80 58 10 4 8
    picture whole10.y4m 96 64 0 0 10
    picture part10.y4m 80 58 10 4 10
    ffmpeg -v error -nostdin -i whole.y4m -c:v libx264 -qp 0 -bsf:v h264_metadata=$crop part-h264.mp4
    ffmpeg -v error -nostdin -i whole.y4m -c:v libx265 -x265-params lossless=1:log-level=error -bsf:v hevc_metadata=$crop part-hevc.mkv
    ffmpeg -v error -nostdin -i whole10.y4m -c:v libx265 -x265-params lossless=1:log-level=error -bsf:v hevc_metadata=$crop part10-hevc.mp4
    for clip in part-h264.mp4 part-hevc.mkv part10-hevc.mp4; do
        for options in '' '--size 32x24' '--size 40x40 --fit crop'; do is "$(frames "${clip%%-*}.y4m" $options)" "$(frames $clip $options)"; done
    done
}

# clip NAME FRAMES OPTIONS...
clip() {
    local name=$1 frames=$2
    shift 2
    ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=size=128x96:rate=25 -frames:v "$frames" -threads 1 "$@" "$name" 2>"$SCRATCH/encoder"
}

# copied FROM OPTIONS... TO
copied() { ffmpeg -v error -nostdin -y -i "$1" -c copy "${@:2}"; }

# without FROM TO PACKETS: as FROM, less the packets for which an expression of ffmpeg holds.
without() { copied "$1" -copyinkf -bsf:v "noise=amount=0:drop='$3'" "$2" 2>"$SCRATCH/copier"; }

# colours FORMAT MATRIX [PRIMARIES CURVE]: sets coloured, options by which clip's pictures are said to be of these. FFmpeg 5 takes the encoder's,
# from 7 on the pictures' own count, which its filters would convert otherwise.
colours() {
    coloured=(-vf "format=$1,setparams=colorspace=$2:color_primaries=${3-unknown}:color_trc=${4-unknown}" -colorspace "$2")
    [ $# = 2 ] || coloured+=(-color_primaries "$3" -color_trc "$4")
}

# Length and reason of every row of a table.
told() { awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { print $at["id"] ": " $at["length"] " " $at["reason"] }' "$1"; }

# Streams that alone say how their colours are meant: the scan knows, so no place is left empty for them, and none decides T.
test_colours_that_only_the_stream_tells() {
    local coloured x265=log-level=error:colorprim=bt2020
    local hdr='which plain RGB cannot show: --hdr tonemap maps it' linear='which no matrix turns into RGB' name
    mkdir v
    colours yuv420p10le bt2020nc bt2020 smpte2084
    clip v/pq-264.h264 9 -c:v libx264 "${coloured[@]}"
    clip v/pq-av1.obu 9 -c:v libsvtav1 -preset 12 "${coloured[@]}"
    colours yuv422p10le bt2020nc bt2020 smpte2084
    clip v/pq-prores.mkv 9 -c:v prores_ks "${coloured[@]}"
    colours yuv420p ictcp
    clip v/ictcp.h264 9 -c:v libx264 "${coloured[@]}"
    colours yuv420p bt2020c
    clip v/constant.mkv 9 -c:v mpeg2video "${coloured[@]}"
    clip v/pq-265.hevc 9 -c:v libx265 -pix_fmt yuv420p10le -x265-params $x265:transfer=smpte2084:colormatrix=bt2020nc
    clip v/message.hevc 9 -c:v libx265 -pix_fmt yuv420p10le -x265-params $x265:transfer=bt2020-10:colormatrix=bt2020nc:atc-sei=18
    copied v/pq-av1.obu v/pq-av1.ivf
    copied v/pq-264.h264 v/pq-264.avi
    copied v/pq-265.hevc -color_trc bt709 -colorspace bt709 -color_primaries bt709 -movflags +write_colr v/other.mp4
    copied v/pq-265.hevc -vtag HEVC v/pq-265.avi
    expect 3 bload scan -q v
    told "$OUT" | LC_ALL=C sort >table
    diff -u - table <<END_OF_TABLE
constant.mkv: 0 its colours are BT.2020 with constant luminance, $linear
ictcp.h264: 0 its colours are ICtCp, $linear
message.hevc: 0 it is HDR (HLG), $hdr
other.mp4: 0 it is HDR (PQ), $hdr
pq-264.avi: 0 it is HDR (PQ), $hdr
pq-264.h264: 0 it is HDR (PQ), $hdr
pq-265.avi: 0 it is HDR (PQ), $hdr
pq-265.hevc: 0 it is HDR (PQ), $hdr
pq-av1.ivf: 0 it is HDR (PQ), $hdr
pq-av1.obu: 0 it is HDR (PQ), $hdr
pq-prores.mkv: 0 it is HDR (PQ), $hdr
END_OF_TABLE
    clip v/plain.mp4 5 -c:v libx264 -pix_fmt yuv420p
    expect 3 bload pack -q v --size 16x16 -T longest -o set :manifest T 5
    rm v/constant.mkv v/ictcp.h264
    expect 0 bload pack -q v --size 16x16 -T longest -o clipped --hdr clip :verified
    is 10 "$(field reason <clipped/sequences.tsv | grep -c '^$')"
}

# libav reads the second with the headers of the first, whose frames all decode.
test_matroska_behind_matroska() {
    clip a.mkv 20 -c:v libx264 -pix_fmt yuv420p
    clip b.mkv 20 -c:v libx264 -x264-params intra-refresh=1:keyint=10:bframes=0 -pix_fmt yuv420p
    cat b.mkv a.mkv >joined.mkv
    expect 3 bload pack -q joined.mkv --size 16x16 -T longest -o set :err 'joined.mkv: damaged: 20 of 40 frames decode'
    is '20 ok' "$(told set/sequences.tsv | cut -d ' ' -f 2) $(field status <set/sequences.tsv)"
}

# libav reads the first of files that `cat` joins, or fragments of all of them by the headers of the first.
test_files_behind_each_other() {
    clip a.mp4 20 -c:v libx264 -g 10
    copied a.mp4 -movflags +faststart a-fast.mp4
    copied a.mp4 -movflags +frag_keyframe+empty_moov+default_base_moof a-parts.mp4
    copied a.mp4 a.mov
    ffmpeg -v error -nostdin -f lavfi -i sine=d=1 a.wav a.aiff a.w64 a.m4a
    mkdir v s
    for name in .mp4 -fast.mp4 -parts.mp4 .mov; do cat "a$name" "a$name" >"v/joined$name"; done
    for name in wav aiff w64 m4a; do cat "a.$name" "a.$name" >"s/joined.$name"; done
    # A header that a program left behind when it moved it to the front is no second file.
    python3 - <<'END_OF_PYTHON'
old, fast = open("a.mp4", "rb").read(), open("a-fast.mp4", "rb").read()
open("v/left.mp4", "wb").write(fast + old[old.rindex(b"moov") - 4:])
END_OF_PYTHON
    expect 3 bload scan -q v
    told "$OUT" | sed 's/byte [0-9]*/byte N/; /parts/s/[0-9]* frames/20 frames/; /parts/s/: [0-9]*/: 20/' | diff -u - <(
        printf 'joined%s: 20 several files, one behind the other: the header at byte N is not read, 20 frames decode\n' -fast.mp4 -parts.mp4 .mov .mp4
        echo 'left.mp4: 20 '
    )
    expect 3 bload scan -q --kind audio s :column length '16000 16000 16000 16000'
    is 4 "$(grep -c 'several files, one behind the other: the header at byte [0-9]* is not read' "$OUT")"
    is "$(wc -c <a.wav)" "$(sed -n 's/^joined.wav.*at byte \([0-9]*\) .*/\1/p' "$OUT")"
}

# Pictures of Dolby Vision that are in IPT, as the container's record of profile and compatibility says.
test_dolby_vision_without_another_form() {
    mkdir v
    clip a.mp4 3 -c:v libx265 -x265-params log-level=error -tag:v hvc1
    clip b.mp4 3 -c:v libsvtav1 -preset 12
    python3 - <<'END_OF_PYTHON'
import struct
def record(source, entry, name, profile, compatible):
    """A copy with the record at the end of the sample's entry; the header is behind the media, so no offsets change."""
    data = open(source, "rb").read()
    box = struct.pack(">I4s", 32, b"dvcC" if profile < 8 else b"dvvC") + bytes([1, 0]) + struct.pack(">HB", profile << 9 | 13, compatible << 4) + bytes(19)
    at = data.rindex(entry) - 4
    end = at + struct.unpack_from(">I", data, at)[0]
    out = bytearray(data[:end] + box + data[end:])
    for parent in b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsd", entry:
        place = data.rindex(parent) - 4
        struct.pack_into(">I", out, place, struct.unpack_from(">I", data, place)[0] + len(box))
    open(name, "wb").write(out)
for profile, compatible in (5, 0), (8, 1), (8, 4):
    record("a.mp4", b"hvc1", f"v/h-{profile}.{compatible}.mp4", profile, compatible)
for compatible in 0, 1:
    record("b.mp4", b"av01", f"v/v-10.{compatible}.mp4", 10, compatible)
END_OF_PYTHON
    local why='whose colours (IPT) bload cannot turn into RGB: convert it, as by ffmpeg'\''s libplacebo filter'
    expect 3 bload scan -q v
    told "$OUT" | diff -u - <(
        echo "h-5.0.mp4: 0 it is HDR (Dolby Vision, profile 5.0), $why"
        printf '%s: 3 \n' h-8.1.mp4 h-8.4.mp4
        echo "v-10.0.mp4: 0 it is HDR (Dolby Vision, profile 10.0), $why"
        echo 'v-10.1.mp4: 3 '
    )
    expect 3 bload scan -q v/h-5.0.mp4 --hdr tonemap
}

# Headers that are not there, or are of another stream.
test_suspect_streams_are_decoded_by_the_scan() {
    mkdir v
    clip a.mpg 20 -c:v mpeg2video -g 10
    clip b.mpg 20 -c:v mpeg2video -g 10 -s 64x48
    clip a.ogv 20 -c:v libtheora
    clip b.ogv 20 -c:v libtheora -s 64x48
    clip a.hevc 9 -c:v libx265 -x265-params log-level=error
    for i in mpg ogv; do cat a.$i b.$i >v/joined.$i; done
    # Of one size, but where interlaced sequences round it up to another one.
    clip p.mpg 20 -c:v mpeg2video -g 10 -s 130x98
    clip i.mpg 20 -c:v mpeg2video -g 10 -s 130x98 -flags +ildct+ilme
    cat p.mpg i.mpg >v/interlaced.mpg
    without a.mpg v/hole.mpg 'eq(n\,4)'
    copied a.hevc -bsf:v filter_units=remove_types=32-34 -f hevc v/bare.hevc
    clip a.mkv 30 -c:v libx264 -g 10 -bf 0 -pix_fmt yuv420p
    without a.mkv v/lost.mkv 'eq(n\,10)'
    without a.mkv v/gap.mkv 'between(n\,12\,13)'
    clip a.mp4 30 -c:v libx265 -x265-params log-level=error:keyint=10:bframes=0
    without a.mp4 v/gap.mp4 'between(n\,12\,13)'
    clip a.ts 30 -c:v libx265 -x265-params log-level=error:keyint=10 -b:v 4M
    cat a.ts a.ts >v/twice.ts
    # Less one packet, from the midst of a large picture between keyframes.
    python3 - <<'END_OF_PYTHON'
data = open("a.ts", "rb").read()
packets = [data[i : i + 188] for i in range(0, len(data), 188)]
video = [i for i, p in enumerate(packets) if (p[1] & 31) << 8 | p[2] == 256]
begins = [k for k, i in enumerate(video) if packets[i][1] & 64]
longest = max(range(13, 17), key=lambda n: begins[n + 1] - begins[n])
lost = video[(begins[longest] + begins[longest + 1]) // 2]
open("v/part.ts", "wb").write(b"".join(p for i, p in enumerate(packets) if i != lost))
END_OF_PYTHON
    expect 3 bload pack -q v --size 16x16 -T longest -o set
    # FFmpeg up to 7 shows pictures of H.265 that refer to lost ones, 8 drops them.
    local gap='28 frames are missing in 1 place: what follows may be damaged'
    [ "$(avcodec)" -lt 62 ] || gap='22 frames are missing: 22 of 28 decode, as the references of the others are missing'
    told set/sequences.tsv | LC_ALL=C sort >table
    diff -u - table <<END_OF_TABLE
bare.hevc: 0 damaged: none of 9 frames decodes
gap.mkv: 28 frames are missing in 1 place: what follows may be damaged
gap.mp4: $gap
hole.mpg: 19 frames are missing in 1 place: what follows may be damaged
interlaced.mpg: 39 several streams, one behind the other: 39 of 40 frames decode
joined.mpg: 39 several streams, one behind the other: 39 of 40 frames decode
joined.ogv: 40 damaged: 40 of 43 frames decode
lost.mkv: 21 frames are missing: 21 of 29 decode, as the references of the others are missing
part.ts: 30 damaged: parts of 1 packet are missing, though all frames decode
twice.ts: 60 
END_OF_TABLE
    expect 0 bload verify -q set
    for i in a.*; do expect 0 bload scan -q $i; is '' "$(field reason <"$OUT")"; done
}

# rgb SET: the frames of a set of one sequence.
rgb() {
    python3 - "$1"/shards/00000/shard-00000000.safetensors <<'END_OF_PYTHON'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
begin, end = json.loads(data[8 : 8 + size])["frames"]["data_offsets"]
sys.stdout.buffer.write(data[8 + size + begin : 8 + size + end])
END_OF_PYTHON
}

# What comes before the first keyframe is left out; what follows is as in the whole file.
test_files_that_begin_between_keyframes() {
    while read -r name options; do
        clip "whole-$name" 24 $options
        without "whole-$name" "part-$name" 'lt(n\,5)'
        expect 0 bload pack -q "whole-$name" -T longest -o "whole-$name.set"
        expect 3 bload pack -q "part-$name" -T longest -o "part-$name.set"
        is "part-$name: 12 begins between keyframes: 12 of 19 frames decode" "$(told "part-$name.set/sequences.tsv")"
        rgb "whole-$name.set" | tail -c $((12 * 128 * 96 * 3)) | cmp - <(rgb "part-$name.set")
    done <<'END_OF_TABLE'
265.mkv -c:v libx265 -x265-params log-level=error:keyint=12:min-keyint=12:open-gop=0:bframes=2
264.mkv -c:v libx264 -g 12 -keyint_min 12 -bf 2 -pix_fmt yuv420p
mpeg4.avi -c:v mpeg4 -g 12 -q:v 5
theora.ogv -c:v libtheora -g 12
h263.avi -c:v h263 -g 12
flv.flv -c:v flv -g 12
msmpeg4.avi -c:v msmpeg4 -g 12
wmv2.avi -c:v wmv2 -g 12
vp9.webm -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 12
av1.mkv -c:v libaom-av1 -cpu-used 8 -usage realtime -g 12
END_OF_TABLE
    # Without any keyframe nothing is left out; where only the container tells, neither.
    without whole-mpeg4.avi none.avi 'key'
    expect 3 bload pack -q none.avi -T longest -o none
    is 'none.avi: 22 has no keyframe: its first frames may be damaged' "$(told none/sequences.tsv)"
    clip whole.flv 24 -c:v flashsv -g 12 -s 320x240
    without whole.flv part.flv 'lt(n\,5)'
    expect 3 bload pack -q part.flv -T longest -o unsure
    is 'part.flv: 19 begins between keyframes: its first frames may be damaged' "$(told unsure/sequences.tsv)"
}
