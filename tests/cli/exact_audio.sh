# Sound to the sample: lengths and places are those of what was encoded.
# shellcheck shell=bash disable=SC2317

# noise SAMPLES RATE OUT: a WAV file of noise, which is the same for every number of samples but for its length.
noise() {
    python3 - "$@" <<'END'
import random, sys, wave
samples, rate, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
draw = random.Random(3)
with wave.open(name, "wb") as out:
    out.setparams((1, 2, rate, 0, "NONE", ""))
    out.writeframes(b"".join(draw.randrange(-9000, 9000).to_bytes(2, "little", signed=True) for _ in range(samples)))
END
}

# encode CODER IN OUT
encode() {
    case $1 in
    oggenc) oggenc -Q -q 8 -o "$3" "$2" ;;
    ogg) ffmpeg -v error -nostdin -i "$2" -c:a libvorbis -q:a 8 "$3" ;;
    aac) ffmpeg -v error -nostdin -i "$2" -c:a aac -b:a 192k "$3" ;;
    opus) ffmpeg -v error -nostdin -i "$2" -c:a libopus "$3" ;;
    *) ffmpeg -v error -nostdin -i "$2" -c:a "$1" "$3" ;;
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
lags = {lag: likeness(lag) for lag in range(-40, 41, 1 if len(right) < 3000 else 3)}
lags[0] = likeness(0)
best = max(lags, key=lags.get)
energy = sum(v * v for v in right[40 : len(right) - 40])
assert best == 0 and lags[0] > 0.4 * energy, (best, lags[0] / energy)
END
}

# As many samples as were encoded, for many numbers of them: of one block, of a page, whole numbers of blocks, one more, one less.
test_every_length_is_the_encoders() {
    local rate n coder ext line
    for rate in 16000 44100; do
        mkdir "$rate"
        for n in 1 2 100 128 256 1000 1024 1025 4000 15999 16000 16001 44100; do
            noise $n $rate $n.wav
            for coder in oggenc:ogg ogg:ff.ogg aac:m4a alac:caf.m4a flac:oga; do
                [ "$n.$coder" = 1.aac:m4a ] || encode "${coder%:*}" $n.wav "$rate/$n.${coder#*:}"
            done
        done
        rm -f ./*.wav
        expect 0 bload scan -q --kind audio --rate $rate $rate
        is 64 "$(field id <"$OUT" | wc -l)"
        field id <"$OUT" | cut -d . -f 1 >right
        field length <"$OUT" | same right -
    done
    # Opus is always of 48 kHz, in steps of 1 / 16 of which WAV files here have.
    mkdir opus
    for n in 160 1000 16000 16001; do
        noise $n 16000 $n.wav
        encode opus $n.wav opus/$n.opus
        encode opus $n.wav opus/$n.mp4
    done
    expect 0 bload scan -q --kind audio --rate 48000 opus
    is '480 480 3000 3000 48000 48000 48003 48003' "$(field length <"$OUT" | xargs)"
}

# Nothing is moved, nor is anything lost at either end.
test_every_sample_lies_at_its_place() {
    local n coder
    for n in 300 2048 16000; do
        noise $n 16000 $n.wav
        for coder in oggenc:ogg ogg:ff.ogg aac:m4a; do
            encode "${coder%:*}" $n.wav $n."${coder#*:}"
            expect 0 bload pack -q --kind audio -T $n $n."${coder#*:}" -o "d$n.${coder%:*}"
            lie_alike $n.wav d$n."${coder%:*}"
        done
    done
}

# As tools write it that cut a stream: granule positions of all its pages are less by so many.
test_a_stream_whose_first_page_says_less_begins_later() {
    noise 40000 16000 a.wav
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
    noise 40000 16000 a.wav
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
