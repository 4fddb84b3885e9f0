# --deinterlace: what is said of it, what it refuses, and runs that go on. tests/readers/test_deinterlace.py has the pictures.
# shellcheck shell=bash disable=SC2317

# film OUT [words]: two seconds of fields that move, 25 frames a second.
film() {
    local out=$1
    shift
    ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=size=64x48:rate=50:duration=2 -vf tinterlace=interleave_top,fieldorder=tff \
        -flags +ildct+ilme -threads 1 -bitexact "$@" "$out"
}

test_what_is_made_is_told() {
    film a.mkv -c:v mpeg2video -g 10
    expect 0 bload pack -q a.mkv -T 10 --oversize split --deinterlace interlaced -o d
    expect 0 bload verify -q d
    expect 0 bload info d :out 'deinterlaced by bwdif (frames marked as interlaced)'
    grep -q '"libavfilter": ' d/manifest.json || fail 'the manifest has no version of libavfilter'
    expect 0 bload pack a.mkv -T 10 --oversize split --deinterlace interlaced -o d :err 'is already complete'
    expect 2 bload pack a.mkv -T 10 --oversize split --deinterlace all -o d :err 'another configuration'
    expect 2 bload pack a.mkv -T 10 --oversize split -o d :err 'another configuration'
    # The same by two tasks, and without isolation; other frames without the option.
    for task in 0 1; do expect 0 bload pack -q a.mkv -T 10 --oversize split --deinterlace interlaced -o e --task "$task/2"; done
    expect 0 bload finish -q e
    expect 0 bload pack -q a.mkv -T 10 --oversize split --deinterlace interlaced -o f --isolate off
    expect 0 bload pack -q a.mkv -T 10 --oversize split -o g
    cmp d/shards/00000/shard-00000000.safetensors e/shards/00000/shard-00000000.safetensors
    cmp d/shards/00000/shard-00000000.safetensors f/shards/00000/shard-00000000.safetensors
    cmp -s d/shards/00000/shard-00000000.safetensors g/shards/00000/shard-00000000.safetensors && fail 'nothing was deinterlaced'
    grep -q 'libavfilter\|deinterlace' g/manifest.json && fail 'the option is told where it is off'
    rm d/shards/00000/shard-00000000.safetensors
    expect 0 bload pack -q a.mkv -T 10 --oversize split --deinterlace interlaced -o d --repair
    cmp d/shards/00000/shard-00000000.safetensors e/shards/00000/shard-00000000.safetensors
}

test_mistakes() {
    film a.mkv -c:v mpeg2video -g 10
    for wrong in yes bwdif 1 ''; do
        expect 2 bload pack a.mkv -T 10 -o d --deinterlace "$wrong"
        err_has '--deinterlace expects one of off, interlaced, all'
    done
    expect 2 bload pack a.mkv -T 10 -o d --deinterlace all --decoder nvdec :err '--deinterlace works on the processor: it needs --decoder cpu'
    expect 2 bload pack a.mkv -T 10 -o d --deinterlace all --decoder auto :err '--deinterlace works on the processor: it needs --decoder cpu'
    mkdir -p images/a
    ffmpeg -v error -nostdin -i a.mkv -frames:v 2 images/a/%d.png
    expect 2 bload pack --kind frames images -T 10 -o d --deinterlace all :err '--deinterlace is for video, and the inputs are frames'
    # Without libavfilter, or with another one.
    mkdir lib
    name=$(ldconfig -p | grep -o 'libavfilter\.so\.[0-9]*' | head -1)
    : >"lib/$name"
    LD_LIBRARY_PATH="$PWD/lib" expect 2 bload pack a.mkv -T 10 -o d --deinterlace all :err "--deinterlace needs $name of FFmpeg, which is not installed"
    LD_LIBRARY_PATH="$PWD/lib" expect 0 bload pack -q a.mkv -T longest -o d
}

# Packed pixels are not those that the filter takes: they pass where nothing is interlaced.
test_formats_that_bwdif_does_not_take() {
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=64x48:rate=25:duration=1 -c:v rawvideo -pix_fmt uyvy422 plain.mov
    film fields.mov -c:v rawvideo -pix_fmt uyvy422
    expect 0 bload pack -q plain.mov -T longest --deinterlace interlaced -o d
    expect 0 bload pack -q plain.mov -T longest -o e
    cmp d/shards/00000/shard-00000000.safetensors e/shards/00000/shard-00000000.safetensors
    expect 3 bload pack -q plain.mov -T longest --deinterlace all -o f
    err_has 'failed plain.mov: frames of 64x48 in the pixel format uyvy422 cannot be deinterlaced'
    expect 3 bload pack -q fields.mov -T longest --deinterlace interlaced -o g
    err_has 'failed fields.mov: frames of 64x48 in the pixel format uyvy422 cannot be deinterlaced'
}
