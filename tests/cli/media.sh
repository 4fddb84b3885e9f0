# What is opened besides the file that was named: nothing. What must not be opened at all is said to be so.
# shellcheck shell=bash disable=SC2317

# soon STATUS COMMAND...: as expect, within seconds: what waits for a pipe waits for ever.
soon() {
    local status=$1
    shift
    expect "$status" timeout -k 1 20 "$BLOAD" "$@"
}

# Every reason, or the status where there is none, after its id.
reasons() {
    awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print $at["id"] ": " ($at["reason"] == "" ? $at["status"] : $at["reason"]) }' "$OUT"
}

test_files_that_name_others() {
    fixtures v h264-30.mp4=good.mp4
    mkfifo v/b.mp4 v/vobsub.sub v/idx.sub
    echo '# VobSub index file, v7 (do not modify this line!)' | tee v/vobsub.mp4 v/idx.mp4 >v/sub.wav
    ln -s /etc/shadow v/sub.sub
    put v/hls.mp4 '#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nb.mp4\n#EXT-X-ENDLIST\n' v/concat.mp4 'ffconcat version 1.0\nfile b.mp4\n'
    put v/sdp.mp4 'v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n'
    put v/dash.mp4 '<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:DASH:schema:MPD:2011" profiles="urn:mpeg:dash:profile:isoff-main:2011">\n<Period><AdaptationSet><Representation><BaseURL>b.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>\n'
    put v/srt.mp4 '1\n00:00:01,000 --> 00:00:02,000\nHello\n\n2\n00:00:03,000 --> 00:00:04,000\nHello\n'
    soon 3 scan --kind video v
    # Lists of HLS are known by their name from FFmpeg 7 on, which it is not told.
    local hls='format hls is not read: see bload-media(7)'
    [ "$(avcodec)" -lt 61 ] || hls='not a media file that FFmpeg can read'
    reasons | grep -v '^b.mp4' >table
    diff -u - table <<END
concat.mp4: format concat is not read: see bload-media(7)
dash.mp4: format dash is not read: see bload-media(7)
good.mp4: ok
hls.mp4: $hls
idx.mp4: format vobsub is not read: see bload-media(7)
sdp.mp4: format sdp is not read: see bload-media(7)
srt.mp4: format srt is not read: see bload-media(7)
vobsub.mp4: format vobsub is not read: see bload-media(7)
END
    err_has 'bload: skipped vobsub.mp4: format vobsub is not read: see bload-media(7)'
    soon 3 scan --kind audio v
    reasons | grep -q '^sub.wav: format vobsub is not read: see bload-media(7)$'
    reasons | grep -q '^concat.mp4: format concat is not read: see bload-media(7)$'
}

# A decoder that nobody needs: Ultimotion, by its four letters in an AVI file.
test_a_codec_that_is_not_read() {
    sed 's/FMP4/ULTI/g' "$(fixture mpeg4-40.avi)" >ulti.avi
    soon 3 scan ulti.avi
    is 'codec ultimotion is not read: see bload-media(7)' "$(field reason 1 <"$OUT")"
}

test_names_that_look_like_protocols_are_names() {
    mkdir v 'http:' 'http:/x'
    cp "$(fixture h264-30.mp4)" a.mp4
    for name in 'concat:a.mp4|a.mp4' 'subfile,,start,0,end,9,,:a.mp4' 'file:a.mp4' 'pipe:0.mp4' 'data:a.mp4' 'cache:a.mp4' \
        '%03d.mp4' 'http:/x/y.mp4'; do
        expect 2 bload scan "$name"
        cp a.mp4 "$name"
        soon 0 scan "$name"
        is 30 "$(field length 1 <"$OUT")"
        mv "$name" v/
    done
    soon 0 scan v
    is 8 "$(field length <"$OUT" | grep -c '^30$')"
}

# Only regular files are read, and nobody waits for the others.
test_pipes_and_devices() {
    mkdir v
    mkfifo v/p.mp4 v/p.wav v/p.jsonl v/p.npy v/p.jpg
    ln -s /dev/zero v/zero.mp4
    ln -s p.mp4 v/link.mp4
    printf 'v/p.mp4\nv/zero.mp4\nv/link.mp4\n' >list
    for kind in video audio text array; do
        soon 3 scan --kind $kind @list
        is 3 "$(field reason <"$OUT" | grep -c '^not a regular file$')"
        soon 3 scan --kind $kind v/p.*
        is 5 "$(field reason <"$OUT" | grep -c '^not a regular file$')"
    done
    soon 3 scan --kind video v
    is 'not a regular file,not a regular file,not a regular file' "$(field reason <"$OUT" | paste -sd ,)"
    err_has 'bload: skipped link.mp4: not a regular file'
    soon 3 scan --kind frames v/p.jpg
    is 'not a folder' "$(field reason 1 <"$OUT")"
    mkdir images
    mkfifo images/2.jpg
    soon 3 pack --kind frames --size 8x8 -T longest -o set images :err '2.jpg: not a regular file'
    printf '{"audio_filepath": "v/p.wav", "duration": 1, "text": "a"}\n' >manifest.jsonl
    soon 3 scan --kind audio manifest.jsonl :err 'v/p.wav: not a regular file'
    printf 'MMIDIDX\0\0\1\0\0\0\0\0\0\0\4\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0' >m.idx
    mkfifo m.bin
    soon 3 scan --kind text m.idx
    is 'm.bin: not a regular file' "$(field reason 1 <"$OUT")"
}

test_archives() {
    mkdir v images only
    cp "$(fixture h264-50.mkv)" v/good.mkv
    tar --format=v7 -cf v/tar.mp4 v/good.mkv
    tar cf x.dat v/good.mkv
    gzip -c v/good.mkv >v/gzip.mkv
    printf 'PK\3\4\24\0\0\0\10\0' >v/zip.mp4
    soon 3 scan --kind video v x.dat
    reasons >table
    diff -u - table <<'END'
good.mkv: ok
gzip.mkv: compressed by gzip: unpack it first
tar.mp4: a tar archive: unpack it first
zip.mp4: a zip archive: unpack it first
x.dat: a tar archive: unpack it first
END
    err_has 'bload: skipped x.dat: a tar archive: unpack it first'
    soon 3 scan x.dat # no name of any kind
    is 'a tar archive: unpack it first' "$(field reason 1 <"$OUT")"
    for kind in video audio text array frames; do
        soon 3 scan --kind $kind x.dat
        is 'a tar archive: unpack it first' "$(field reason <"$OUT")"
    done
    cp v/zip.mp4 images/1.jpg
    soon 3 pack --kind frames --size 8x8 -T longest -o set images :err '1.jpg: a zip archive: unpack it first'
    cp x.dat only/
    soon 1 scan only
    err_has 'bload: ignored in folders: 1 .dat' 'archives: unpack them first'
}

# Also what is compressed, comes by a pipe, is a list, or is large enough to be counted in parts.
test_archives_among_texts() {
    mkdir t
    printf '{"text": "a"}\n' >a.jsonl
    tar cf t/tar.jsonl a.jsonl
    gzip -c t/tar.jsonl >t/packed.jsonl.gz
    gzip -c a.jsonl >t/good.jsonl.gz
    head -c 512 t/tar.jsonl >t/large.jsonl
    truncate -s 200M t/large.jsonl
    soon 3 scan --tokenizer bytes t
    reasons >table
    diff -u - table <<'END'
good.jsonl.gz#0: ok
large.jsonl#0: a tar archive: unpack it first
packed.jsonl.gz#0: a tar archive: unpack it first
tar.jsonl#0: a tar archive: unpack it first
END
    soon 3 scan --tokenizer bytes - <t/tar.jsonl
    is 'a tar archive: unpack it first' "$(field reason <"$OUT")"
    soon 3 scan --kind audio t/packed.jsonl.gz
    is 'a tar archive: unpack it first' "$(field reason <"$OUT")"
}

# Encoders write an animation of one picture as a plain PNG file.
test_one_picture_is_a_video_if_its_name_says_so() {
    ffmpeg -v error -f lavfi -i testsrc2=size=64x48 -frames:v 1 -f apng one.apng
    ffmpeg -v error -f lavfi -i testsrc2=size=64x48 -frames:v 1 one.gif
    cp one.apng one.png
    soon 3 scan --kind video one.apng one.gif one.png
    reasons | diff -u - <(printf 'one.%s\n' 'apng: ok' 'gif: ok' 'png: a picture, no video or sound (piped png sequence)')
    expect 0 bload pack -q one.apng -T longest -o one
    is 1 "$(tail -n 1 one/sequences.tsv | cut -f 2)"
    soon 3 scan --kind audio one.apng
    reasons | grep -q '^one.apng: no audio stream (video only)$'
}

# 90x96 pixels that are 3/2 as wide as high.
test_pixels_taken_for_square() {
    ffmpeg -v error -f lavfi -i testsrc2=size=90x96 -frames:v 4 -vf setsar=3/2 -c:v libx264 wide.mp4
    expect 0 bload pack -q wide.mp4 -T longest -o shown
    expect 0 bload pack -q wide.mp4 -T longest -o square --ignore-sar
    bload info --json shown | grep -A 3 '"shape"' | tr -d ' \n' | grep -q '96,135,3'
    bload info --json square | grep -A 3 '"shape"' | tr -d ' \n' | grep -q '96,90,3'
    bload info square | grep -q 'pixels taken for square'
    mkdir -p f/a
    ffmpeg -v error -f lavfi -i testsrc2=size=64x48 -frames:v 2 f/a/%d.png
    expect 2 bload pack -q f --kind frames -T 2 -o no --ignore-sar :err "the shape of an image's pixels is ignored anyway"
}

# Two videos and two sounds in one file: the best ones, or those of a number.
test_streams_by_number() {
    ffmpeg -v error -f lavfi -i testsrc2=s=64x48:d=0.4 -f lavfi -i testsrc2=s=96x64:d=0.8 -f lavfi -i sine=d=1 \
        -f lavfi -i sine=2000:d=2 -map 2 -map 0 -map 1 -map 3 -c:v libx264 -c:a pcm_s16le two.mkv
    for number in 0 1; do
        soon 0 scan two.mkv --stream $number
        is "$((10 * (number + 1))) all stream=$number $((number + 1))" "$(cut -f 2,8,9 "$OUT" | tail -n 1 | tr '\t' ' ')"
        soon 0 scan two.mkv --kind audio --stream $number
        is "$((16000 * (number + 1))) rate=16000 stream=$number $((3 * number))" "$(cut -f 2,8,9 "$OUT" | tail -n 1 | tr '\t' ' ')"
    done
    soon 3 scan two.mkv --stream 2 :err 'skipped two.mkv: no video stream 2: it has 2, numbered from 0'
    soon 0 scan two.mkv --stream best
    is 10 "$(field length 1 <"$OUT")"
    printf 'sources: [two.mkv]\nstream: 1\nT: longest\nsize: 32x32\nfields:\n  - {name: sound, path: "{name}", kind: audio, stream: 1, %s}\n' \
        'per-step: true, samples: 640' >set.yaml
    expect 0 bload pack -q -c set.yaml -o set
    is '20 2 32000 3' "$(cut -f 2,9,13,14 set/sequences.tsv | tail -n 1 | tr '\t' ' ')"
    expect 2 bload scan two.mkv --stream -1 :err '--stream expects best, or the number of a stream, from 0, not "-1"'
    given text.txt 'text\n' expect 2 bload scan text.txt --tokenizer bytes --stream 1 :err '--stream is for video and audio, and the inputs are text'
    sed -i 's/kind: audio.*/kind: labels, stream: 1}/' set.yaml
    expect 2 bload pack -q -c set.yaml -o no :err 'stream: labels has no streams'
}
