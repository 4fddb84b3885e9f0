# Sound to the sample: lengths and places are those of what was encoded.
# shellcheck shell=bash disable=SC2317,SC2086

# noise RATE SAMPLES... [OUT.wav]: N.wav, or OUT.wav, of N samples of noise, which is the same for every number of samples but for its length.
noise() {
    python3 - "$@" <<'END'
import random, sys, wave
name = sys.argv.pop() if sys.argv[-1].endswith(".wav") else None
rate, *lengths = map(int, sys.argv[1:])
draw = random.Random(3)
data = b"".join(draw.randrange(-9000, 9000).to_bytes(2, "little", signed=True) for _ in range(max(lengths)))
for samples in lengths:
    with wave.open(name or f"{samples}.wav", "wb") as out:
        out.setparams((1, 2, rate, 0, "NONE", ""))
        out.writeframes(data[:2 * samples])
END
}

# encode CODER IN OUT
encode() {
    case $1 in
    oggenc) oggenc -Q -q 8 -o "$3" "$2" ;;
    ogg) ffmpeg -v error -nostdin -i "$2" -c:a libvorbis -q:a 8 "$3" ;;
    aac) ffmpeg -v error -nostdin -i "$2" -c:a aac -b:a 192k -movie_timescale 1000 "$3" ;; # as up to FFmpeg 8
    opus) ffmpeg -v error -nostdin -i "$2" -c:a libopus "$3" ;;
    esac
}

# lie_alike WAV DATASET [FROM]: the dataset's only sequence has the WAV file's samples from one on, as many, at their places: noise
# is like itself there, and nowhere else.
lie_alike() {
    python3 - "$1" "$2"/shards/00000/*.safetensors "${3-0}" <<'END'
import array, json, sys, wave
with wave.open(sys.argv[1]) as source:
    right = array.array("h", source.readframes(source.getnframes()))[int(sys.argv[3]):]
data = open(sys.argv[2], "rb").read()
size = int.from_bytes(data[:8], "little")
begin, end = json.loads(data[8 : 8 + size])["audio"]["data_offsets"]
packed = array.array("h", data[8 + size + begin : 8 + size + end])
assert len(packed) == len(right), (len(packed), len(right))
def likeness(lag):
    return sum(packed[i] * right[i - lag] for i in range(40, len(right) - 40))
lags = {lag: likeness(lag) for lag in range(-40, 41, 1 if len(right) < 3000 else 5)}
lags[0] = likeness(0)
best = max(lags, key=lags.get)
energy = sum(v * v for v in right[40 : len(right) - 40])
assert best == 0 and lags[0] > 0.4 * energy, (best, lags[0] / energy)
END
}

# holed OUT DROPPED [words]: four seconds of 25 frames, and noise, in s.wav, without these packets of it (an expression of their
# number n; PCM has 2048 samples in each); further words say how both are coded.
holed() {
    local out=$1 dropped=$2
    shift 2
    [ -e s.wav ] || noise 16000 64000 s.wav
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=64x48:rate=25:duration=4 -max_size 4096 -i s.wav -threads 1 -c:v libx264 -pix_fmt yuv420p \
        "$@" -bsf:a "noise=drop='$dropped'" "$out"
}

# lies_from DATASET FIELD FROM TO [AWAY]: samples FROM to TO, of all steps behind each other, are where s.wav has them, or at most
# AWAY samples from there. With AWAY "zero" all are 0.
lies_from() {
    python3 - "$1"/shards/00000/*.safetensors "$2" "$3" "$4" "${5-0}" <<'END'
import array, json, sys, wave
name, field, first, last, away = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
with wave.open("s.wav") as source:
    right = array.array("h", source.readframes(source.getnframes()))
data = open(name, "rb").read()
size = int.from_bytes(data[:8], "little")
begin, end = json.loads(data[8 : 8 + size])[field]["data_offsets"]
packed = array.array("h", data[8 + size + begin : 8 + size + end])
if away == "zero":
    assert not any(packed[first:last])
    sys.exit()
def likeness(lag):
    return sum(packed[i] * right[i + lag] for i in range(first, last))
lags = {lag: likeness(lag) for lag in range(-20, 21)}
best, energy = max(lags, key=lags.get), sum(v * v for v in right[first:last])
assert abs(best) <= int(away) and lags[best] > 0.3 * energy, (best, lags[best] / energy)
END
}

# As many samples as were encoded, for many numbers of them: of one block, of a page, whole numbers of blocks, one more, one less.
test_every_length_is_the_encoders() {
    local lengths='1 2 100 128 256 1000 1024 1025 4000 15999 16000 16001 44100'
    for rate in 16000 44100; do
        mkdir "$rate"
        noise $rate $lengths
        for n in $lengths; do
            encode oggenc $n.wav $rate/$n.ogg
            # FFmpeg 9 makes no FLAC of fewer than 16 samples.
            ffmpeg -v error -nostdin -i $n.wav -c:a flac $rate/$n.oga || rm $rate/$n.oga
            ffmpeg -v error -nostdin -i $n.wav -c:a libvorbis $rate/$n.ff.ogg -c:a alac $rate/$n.alac.m4a \
                -c:a aac $rate/$n.m4a -c:a aac -movflags frag_keyframe+empty_moov+delay_moov $rate/$n.parts.m4a
        done
        rm -f ./*.wav
        expect 0 bload scan -q --kind audio --rate $rate $rate
        is "$([ -e "$rate/1.oga" ] && echo 78 || echo 76)" "$(field id <"$OUT" | wc -l)"
        field id <"$OUT" | cut -d . -f 1 >right
        field length <"$OUT" | same right -
    done
    # Opus is always of 48 kHz, in steps of 1 / 16 of which WAV files here have.
    mkdir opus
    noise 16000 160 1000 16000 16001
    for n in 160 1000 16000 16001; do encode opus $n.wav opus/$n.opus; encode opus $n.wav opus/$n.mp4; done
    expect 0 bload scan -q --kind audio --rate 48000 opus :column length '480 480 3000 3000 48000 48000 48003 48003'
}

# Nothing is moved, nor is anything lost at either end.
test_every_sample_lies_at_its_place() {
    noise 16000 300 2048 16000
    for n in 300 2048 16000; do
        for coder in oggenc:ogg ogg:ff.ogg aac:m4a; do
            encode "${coder%:*}" $n.wav $n."${coder#*:}"
            expect 0 bload pack -q --kind audio -T $n $n."${coder#*:}" -o "d$n.${coder%:*}"
            lie_alike $n.wav d$n."${coder%:*}"
        done
    done
}

# As tools write it that cut a stream: granule positions of all its pages are less by so many.
test_a_stream_whose_first_page_says_less_begins_later() {
    noise 16000 40000 a.wav
    encode oggenc a.wav a.ogg
    python3 - a.ogg b.ogg 100 <<'END'
import sys
def checksum(page):
    crc = 0
    for byte in page:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ 0x04C11DB7 if crc & 0x80000000 else crc << 1) & 0xFFFFFFFF
    return crc
data, out, at, pages = open(sys.argv[1], "rb").read(), b"", 0, 0
while at < len(data):
    lengths = data[at + 27 : at + 27 + data[at + 26]]
    size = 27 + len(lengths) + sum(lengths)
    page = bytearray(data[at : at + size])
    granule = int.from_bytes(page[6:14], "little")
    if granule:
        page[6:14] = (granule - int(sys.argv[3])).to_bytes(8, "little")
        pages += 1
    page[22:26] = bytes(4)
    page[22:26] = checksum(page).to_bytes(4, "little")
    out += page
    at += size
assert pages > 1
open(sys.argv[2], "wb").write(out)
END
    expect 0 bload pack -q --kind audio -T longest b.ogg -o d
    lie_alike a.wav d 100
}

# Streams that follow each other, and those without an end, are what libav makes of them.
test_what_granule_positions_do_not_tell() {
    noise 16000 40000 a.wav
    encode oggenc a.wav a.ogg
    head -c "$(($(stat -c %s a.ogg) * 3 / 4))" a.ogg >cut.ogg
    cat a.ogg a.ogg >twice.ogg
    bload scan -q --kind audio cut.ogg twice.ogg >"$OUT" || true
    is 'ok ok' "$(field status <"$OUT" | xargs)"
    [ "$(field length 1 <"$OUT")" -lt 35000 ]
    [ "$(field length 2 <"$OUT")" -gt 79000 ]
}

# An edit in milliseconds that shows less than all: up to there, to the nearest sample.
test_an_edit_that_ends_early() {
    noise 44100 44100 a.wav
    encode aac a.wav a.m4a
    is '44100' "$(bload scan -q --kind audio --rate 44100 a.m4a | field length)"
    python3 - a.m4a b.m4a 500 <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(b"elst") + 12
assert int.from_bytes(data[at : at + 4], "big") == 1000
data[at : at + 4] = int(sys.argv[3]).to_bytes(4, "big")
open(sys.argv[2], "wb").write(data)
END
    is '22050' "$(bload scan -q --kind audio --rate 44100 b.m4a | field length)"
}

SECOND_SOUND='sources: [v/]
size: 16x8
T: 100
fields: [{name: sound, path: "v/{name}", kind: audio, per-step: true, samples: 640}]'

# What follows a hole lies where the picture has it.
test_a_hole_in_the_sound_of_a_film() {
    echo "$SECOND_SOUND" >set.yaml
    while read -r name away words; do
        mkdir v
        holed "v/a.$name" 'between(n,20,22)' $words
        expect 3 bload pack -q -c set.yaml -o "$name" :err 'sound: v/a.'"$name"': 1 gap in its timestamps filled with 0.' :verified
        lies_from "$name" sound 2000 8000 "$away"
        lies_from "$name" sound 36000 42000 "$away"
        [ "$name" = ts ] || lies_from "$name" sound 20480 22000 zero
        rm -r v
    done <<'END'
mkv 0 -c:a aac -b:a 96k
mp4 0 -c:a aac -b:a 96k
ts 1 -c:a mp2 -b:a 160k
END
}

# Fragments without an edit list say that an encoder's delay lasts until the first picture.
test_a_film_in_fragments_with_b_frames() {
    mkdir v
    echo "$SECOND_SOUND" >set.yaml
    holed v/a.mp4 0 -bf 2 -c:a aac -b:a 96k -movflags frag_keyframe+empty_moov
    expect 3 bload pack -q -c set.yaml -o d :err 'a.mp4: 1 gap in its timestamps filled with 0.016 s of zeros'
    lies_from d sound 2000 8000
    sed -i 's/640}/640, audio-gap: off}/' set.yaml
    expect 0 bload pack -q -c set.yaml -o e
    if lies_from e sound 2000 8000 2>/dev/null; then fail 'it lies there anyway'; fi
}

# On request, and the same whichever way it is read.
test_holes_in_sound_alone() {
    holed a.mka 'eq(n,5)+eq(n,20)' -vn -c:a pcm_s16le
    is "$((64000 - 2 * 2048)) ok " "$(bload scan -q a.mka --kind audio | tail -n 1 | cut -f 2,6,7 | tr '\t' ' ')"
    expect 3 bload pack -q a.mka --audio-gap 0.01 -T 64000 -o whole :err 'a.mka: 2 gaps in its timestamps filled with 0.256 s of zeros'
    lies_from whole audio 4000 10000
    lies_from whole audio 10240 12288 zero
    lies_from whole audio 13000 19000
    lies_from whole audio 57000 63000
    expect 2 bload pack -q a.mka --audio-gap 10ms -T 64000 -o parts :err '--audio-gap expects 0.002 to 10 seconds, or off, not "10ms"'
    expect 3 bload pack -q a.mka --audio-gap 0.01 -T 3000 --oversize split -o parts :verified
    python3 - whole parts <<'END'
import json, sys
def samples(name):
    data = open(f"{name}/shards/00000/shard-00000000.safetensors", "rb").read()
    size = int.from_bytes(data[:8], "little")
    begin, end = json.loads(data[8 : 8 + size])["audio"]["data_offsets"]
    return data[8 + size + begin : 8 + size + end]
whole, parts = samples("whole"), samples("parts")
pieces = {parts[at : at + 6000] for at in range(0, len(parts), 6000)}
assert all(whole[at : at + 6000] in pieces for at in range(0, 120000, 6000))
END
}

# Formats without loss have checksums: a spoilt byte is told, and so is what FLAC's frames lack of the header's count.
test_what_is_lost_of_sound_without_loss_is_told() {
    local name reason frame lost='[1-9][0-9]* of [1-9][0-9]* packets do not decode'
    noise 16000 400000 s.wav
    for name in flac wv tta; do
        ffmpeg -v error -nostdin -i s.wav whole.$name
        is "400000 ok " "$(bload scan -q whole.$name --kind audio | tail -n 1 | cut -f 2,6,7 | tr '\t' ' ')"
        python3 - whole.$name spoilt.$name <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) // 2] ^= 0x55
open(sys.argv[2], "wb").write(data)
END
    done
    # A header that could not be completed counts nothing.
    ffmpeg -v error -nostdin -i s.wav -f flac - | cat >piped.flac
    is "400000 ok " "$(bload scan -q piped.flac --kind audio | tail -n 1 | cut -f 2,6,7 | tr '\t' ' ')"
    frame=$(ffprobe -v error -show_entries packet=pos,size -of csv=p=0 whole.flac | tr -d '\r' | sed -n 4p)
    python3 - whole.flac hole.flac "${frame%,*}" "${frame#*,}" <<'END'
import sys
data, size, begin = open(sys.argv[1], "rb").read(), int(sys.argv[3]), int(sys.argv[4])
open(sys.argv[2], "wb").write(data[:begin] + data[begin + size :])
END
    for name in spoilt.flac spoilt.wv spoilt.tta hole.flac; do
        expect 3 bload scan -q --kind audio $name
        reason=$(field reason <"$OUT")
        grep -Eqx "damaged: ($lost|header says 400000 samples, [1-9][0-9]* are there)|truncated: header says 25.0 s, [0-9.]+ s are there" \
            <<<"$reason" || fail "$name: $reason"
    done
}

# Timestamps that are rounded are no gaps, and do not add up: 1024 samples at 44.1 kHz are no whole number of milliseconds.
test_rounded_timestamps_are_no_gaps() {
    for rate in 44100 22050; do
        noise $rate 400000 s.wav
        for name in mka:aac ts:mp2 flv:aac; do [ $rate.$name = 22050.ts:mp2 ] || ffmpeg -v error -nostdin -y -i s.wav -c:a "${name#*:}" "a.${name%:*}"; done
        for name in a.*; do
            is "ok " "$(bload scan -q --kind audio --rate $rate --audio-gap 0.002 "$name" | tail -n 1 | cut -f 6,7 | tr '\t' ' ')"
            is "$(bload scan -q --kind audio --rate $rate "$name" | field length)" \
                "$(bload scan -q --kind audio --rate $rate --audio-gap 0.002 "$name" | field length)"
        done
    done
}

# Times that go back a little are an overlap, which is cut.
test_overlaps_are_cut() {
    noise 16000 64000 s.wav
    ffmpeg -v error -nostdin -max_size 4096 -i s.wav -c:a pcm_s16le right.mka
    # By milliseconds, Matroska's ticks.
    ffmpeg -v error -nostdin -i right.mka -c copy -bsf:a "setts=pts='PTS-if(gte(N,20),188,0)':dts='DTS-if(gte(N,20),188,0)'" a.mka ||
        skip 'this ffmpeg cannot set times'
    expect 3 bload pack -q a.mka --kind audio --audio-gap 0.01 -T 64000 -o d :err 'a.mka: 1 overlap in its timestamps: 0.18'
    lies_from d audio 1000 7000
    is 60992 "$(field length <d/sequences.tsv)" # 188 milliseconds less
    expect 3 bload pack -q a.mka --kind audio --audio-gap 0.01 -T 60992 -o e
    tail -c 30000 e/shards/00000/shard-00000000.safetensors >packed
    tail -c 30000 s.wav | same packed -
}

# Neither the instructions that FFmpeg is held to, nor what the environment tells soxr, change its bytes; swresample's are others.
test_the_resamplers() {
    noise 44100 60000 a.wav
    expect 0 bload pack -q --kind audio a.wav -T longest -o best
    expect 0 env SOXR_USE_SIMD=0 SOXR_USE_SIMD32=0 "$BLOAD" pack -q --kind audio a.wav -T longest --simd none -o none
    expect 0 bload pack -q --kind audio a.wav -T longest --resampler swr -o swr
    same best/shards/00000/shard-00000000.safetensors none/shards/00000/shard-00000000.safetensors
    if cmp -s best/shards/00000/shard-00000000.safetensors swr/shards/00000/shard-00000000.safetensors; then fail 'they are the same'; fi
    is "$(field length <best/sequences.tsv)" "$(field length <swr/sequences.tsv)"
    expect 0 bload info best :out 'samples at 16000 Hz, mixed by swresample and resampled by soxr in float'
    expect 0 bload info swr :out 'samples at 16000 Hz, mixed and resampled by swresample in float'
    expect 2 bload pack -q --kind audio a.wav -T longest --resampler swr -o best :err 'resampler'
}
