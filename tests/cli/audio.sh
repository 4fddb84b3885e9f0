# Sound: what scan finds and says of it, what pack makes of it.
# shellcheck shell=bash disable=SC2317

# The length and the reason of the only row of a scan.
scanned() {
    bload scan -q --kind audio "$@" 2>/dev/null >"$OUT" || true
    echo "$(field length 1 <"$OUT") $(field status 1 <"$OUT") $(field reason 1 <"$OUT")"
}

test_a_second_is_a_second_in_every_codec() {
    for name in tone-8000.wav tone-16000.wav tone-44100-stereo.flac tone-48000.mp3 tone-48000.opus tone-44100.m4a tone-44100.ogg; do
        is "16000 ok " "$(scanned "$(fixture $name)")"
    done
    is "8000 ok " "$(scanned --rate 8000 "$(fixture tone-44100-stereo.flac)")"
    is "44100 ok " "$(scanned --rate 44100 "$(fixture tone-44100-stereo.flac)")"
}

test_sources_of_sound_are_known_by_their_names() {
    fixtures a tone-8000.wav=b10.wav tone-16000.wav=B2.WAV
    expect 0 bload scan a
    is "B2.WAV b10.wav" "$(field id <"$OUT" | tr '\n' ' ' | sed 's/ $//')"
    is "audio rate=16000" "$(field kind 1 <"$OUT") $(field sampling 1 <"$OUT")"
    cp "$(fixture sound-30.mp4)" a/film.mp4
    expect 2 bload scan a :err 'sources of several kinds (1 video: a/film.mp4, 2 audio such as a/B2.WAV): choose one with --kind'
    expect 0 bload scan --kind audio a
    is 3 "$(field id <"$OUT" | wc -l)"
}

test_what_cannot_be_used_is_named() {
    put a/empty.wav ''
    head -c 5000 "$BLOAD_ROOT/LICENSE" >a/garbage.mp3
    cp "$(fixture h264-30.mp4)" a/film.mp4
    head -c 44 "$(fixture tone-16000.wav)" | head -c 40 >a/header.wav
    printf '\0\0\0\0' >>a/header.wav
    head -c 30 "$(fixture tone-16000.wav)" >a/short.wav
    { printf 'ajkg\2\243' && head -c 64 /dev/zero; } >a/mu-law.shn
    printf 'NIST_1A\n   1024\nchannel_count -i 1\nsample_rate -i 8000\nsample_coding -s27 ulaw,embedded-shorten-v2.00\nend_head\n%1024s' '' >a/packed.sph
    expect 3 bload scan -q --kind audio a a/mu-law.shn
    err_is <<'END'
bload: skipped empty.wav: empty file
bload: skipped film.mp4: no audio stream (video only)
bload: skipped garbage.mp3: not a media file that FFmpeg can read
bload: skipped header.wav: no samples in the audio stream
bload: skipped a/mu-law.shn: not supported: Shorten of mu-law or A-law: convert it by shorten -x, or SoX
bload: skipped packed.sph: not supported: SPHERE with compressed samples: convert it by sph2pipe -p
bload: skipped short.wav: damaged or truncated: the WAV / WAVE (Waveform Audio) header cannot be read
END
}

# A wav file of 16,000 samples whose header claims another number of bytes, in hexadecimal, lowest first.
claiming() {
    cp "$(fixture tone-16000.wav)" "$2"
    printf "$1" | dd of="$2" bs=1 seek=40 conv=notrunc status=none
}

test_a_header_that_claims_more_than_there_is() {
    claiming '\xff\xff\xff\xff' unknown.wav
    is "16000 ok " "$(scanned unknown.wav)"
    claiming '\xfe\xff\xff\xff' large.wav
    is "16000 ok truncated: header claims 4294967294 bytes of samples, 32000 are there" "$(scanned large.wav)"
    claiming '\x00\x00\x00\x00' never.wav
    is "16000 ok " "$(scanned never.wav)"
    expect 3 bload pack -q --kind audio unknown.wav large.wav -T 16000 -o d :verified
    is "16000 16000" "$(field length <d/sequences.tsv | tr '\n' ' ' | sed 's/ $//')"
}

test_files_cut_short_are_named() {
    head -c 20000 "$(fixture tone-16000.wav)" >cut.wav
    is "9978 ok truncated: header claims 32000 bytes of samples, 19956 are there" "$(scanned cut.wav)"
    flac=$(fixture tone-44100-stereo.flac)
    head -c $(($(stat -c %s "$flac") / 3)) "$flac" >cut.flac
    scanned cut.flac | grep -Eq '^[1-9][0-9]* ok truncated: header says 1.0 s, 0.2 s are there$'
    m4a=$(fixture tone-44100.m4a)
    head -c $(($(stat -c %s "$m4a") / 2)) "$m4a" >cut.m4a
    is "0 skipped damaged or truncated: the QuickTime / MOV header cannot be read" "$(scanned cut.m4a)"
}

test_a_change_within_is_followed_and_named() {
    is "32256 ok changes 1 times within: from 48000 Hz, 2 channels to 32000 Hz, 1 channels in the end" "$(scanned "$(fixture changing.mp2)")"
    expect 3 bload pack -q "$(fixture changing.mp2)" -T longest -o whole
    expect 3 bload pack -q "$(fixture changing.mp2)" -T 1000 --oversize split -o parts
    expect 0 bload verify -q whole
    expect 0 bload verify -q parts
}

test_samples_that_are_no_numbers_are_counted() {
    cp "$(fixture tone-f32.wav)" odd.wav
    printf '\x00\x00\xc0\x7f\x00\x00\x80\x7f\x00\x00\x80\xff' | dd of=odd.wav bs=1 seek=4096 conv=notrunc status=none
    is "16000 ok 3 samples are NaN or infinite: made 0" "$(scanned odd.wav)"
    expect 1 bload pack -q odd.wav -T 16000 -o d --on-error fail :err 'odd.wav: 3 samples are NaN or infinite: made 0 (--on-error fail)'
    expect 3 bload pack -q odd.wav -T 16000 -o d :err 'bload: odd.wav: 3 samples are NaN or infinite: made 0'
    is 3 "$(od -An -v -t f4 -w4 -j 4096 -N 12 odd.wav | grep -c -E 'nan|inf')"
}

test_types_and_shapes() {
    wav=$(fixture tone-16000.wav)
    expect 0 bload pack -q "$wav" -T 16000 -o s16
    expect 0 bload pack -q "$wav" -T 16000 -o f32 --dtype f32
    expect 0 bload pack -q "$wav" -T 16000 -o two --channels 2
    bload info s16 | grep -qF 'audio I16 [16000]'
    bload info f32 | grep -qF 'audio F32 [16000]'
    bload info two | grep -qF 'audio I16 [16000, 2]'
    expect 2 bload pack -q "$wav" -T 16000 -o d --dtype u16 :err '--dtype u16: audio is s16 or f32'
    expect 2 bload pack -q "$wav" -T 16000 -o d --dtype s8 :err '--dtype expects one of s16, f32, same, i32, u16, not "s8"'
    expect 2 bload scan -q "$(fixture h264-30.mp4)" --dtype s16 :err '--dtype s16: values of the kind video have one type only'
    expect 2 bload scan -q "$wav" --rate 0 :err '--rate expects a whole number from 100 to 768000, not "0"'
}

# What is in a wav file at the wanted rate is what comes out, byte for byte.
test_samples_of_a_wav_are_its_own() {
    expect 0 bload pack -q "$(fixture tone-16000.wav)" -T 16000 -o d
    tail -c 32000 d/shards/00000/shard-00000000.safetensors >packed
    tail -c 32000 "$(fixture tone-16000.wav)" >own
    same own packed
}

test_the_same_bytes_whatever_the_threads() {
    fixtures a tone-8000.wav tone-44100-stereo.flac tone-48000.mp3 tone-48000.opus tone-44100.m4a
    expect 0 bload pack -q a -T 7000 --oversize split -o one -j1
    expect 0 bload pack -q a -T 7000 --oversize split -o four -j4 :same-as one
}

test_a_file_that_changed_since_the_scan() {
    cp "$(fixture tone-16000.wav)" a.wav
    expect 0 bload scan -q a.wav -o t
    head -c 30000 "$(fixture tone-16000.wav)" >a.wav
    expect 1 bload pack -q --sequences t -T 16000 -o d :err 'the inputs changed since the scan: a.wav has a different size'
    # Of the same size, with less in it, and a table without contents.
    cut -f -9 t >u
    cp "$(fixture tone-16000.wav)" a.wav
    printf '\x00\x10' | dd of=a.wav bs=1 seek=40 conv=notrunc status=none
    expect 3 bload pack -q --sequences u -T 16000 -o e :err 'failed a.wav: the scan counted 16000 samples, decoding gives '
}

test_durations() {
    a=$(fixture tone-8000.wav) b=$(fixture long-16000.wav)
    expect 0 bload pack "$a" "$b" -T 30s -o d :err 'T = 480,000, '
    expect 0 bload pack "$a" "$b" -T 30s -o d :err 'd is already complete'
    bload info d | grep -qx 'duration    0.006 hours'
    is 0.00583333333333 "$(bload info --json d | word hours)"
    expect 0 bload scan -q "$a" "$b" -o t
    expect 0 bload plan -T longest --max-length 5s t :err 'T = 16,000, ' 'deleted 320,000 steps; dropped 1 sequence'
    expect 0 bload plan -T 30s --min-length 1.5s t :err 'deleted 16,000 steps; dropped 1 sequence'
    expect 0 bload scan -q --features whisper80 "$a" "$b" -o f
    expect 0 bload plan -T 30s f :err 'T = 3,000, '
    expect 0 bload plan -T 20s --max-length 320000 t
    expect 2 bload plan -T 30q t :err '-T expects a number of steps from 1 to 2147483647, seconds such as 30s, "longest", or "auto" for a store, not "30q"'
    expect 2 bload plan -T 200000s t :err 'a duration of 3200000000 steps is out of bounds'
    bload scan -q "$(fixture h264-30.mp4)" -o v
    expect 2 bload plan -T 1s v :err 'durations are for steps that have a rate'
    bload scan -q --fps 10 "$(fixture h264-30.mp4)" -o v
    expect 0 bload plan -T 2s v :err 'T = 20, '
}

# DTS is found in files that say they hold 16-bit samples.
test_dts_in_the_guise_of_samples() {
    mkdir a b
    cp "$(fixture dts.wav)" a/x.wav
    cp "$(fixture dts.wav)" b/x.wav
    printf '\x01\x00' | dd of=b/x.wav bs=1 seek=20 conv=notrunc status=none
    ! cmp -s a/x.wav b/x.wav || fail 'nothing was changed'
    expect 0 bload pack -q a -T longest -o one
    expect 0 bload pack -q b -T longest -o other
    tail -c 32000 one/shards/00000/*.safetensors >samples
    tail -c 32000 other/shards/00000/*.safetensors | same samples -
}

test_options_that_would_do_nothing() {
    wav=$(fixture tone-16000.wav)
    expect 2 bload pack -q "$wav" -T 100 -o d --features fbank80 --dtype s16 :err '--features needs --dtype f32, not s16'
    expect 0 bload pack -q "$wav" -T 100 -o d --features fbank80 --dtype f32
    expect 2 bload scan -q "$wav" --mel-high 0 :err '--mel-high needs --features fbankN'
    expect 2 bload scan -q "$wav" --features whisper80 --snip-edges :err '--snip-edges needs --features fbankN'
}

test_features_are_counted_in_frames() {
    expect 0 bload pack "$(fixture tone-16000.wav)" -T 100 -o d --features fbank80 :err ' frames/s' 'bload: 0.000 hours, read at '
    expect 0 bload pack "$(fixture tone-16000.wav)" -T 16000 -o e :err ' samples/s'
}

# What was left out by request is told in the table, is no fault, and verify knows it.
test_what_is_dropped_is_told() {
    a=$(fixture tone-8000.wav) b=$(fixture long-16000.wav)
    expect 0 bload pack -q "$a" "$b" -T longest --max-length 5s -o short
    is 'longer than --max-length, 80000 steps' "$(sed -n 's/.*\tdropped\t\([^\t]*\).*/\1/p' short/sequences.tsv)"
    expect 0 bload pack -q "$a" "$b" -T 30s --min-length 1.5s -o long
    is 'shorter than --min-length, 24000 steps' "$(sed -n 's/.*\tdropped\t\([^\t]*\).*/\1/p' long/sequences.tsv)"
    expect 0 bload pack -q "$a" "$b" -T 2s --oversize drop -o whole
    is 'longer than T = 32000 (--oversize drop)' "$(sed -n 's/.*\tdropped\t\([^\t]*\).*/\1/p' whole/sequences.tsv)"
    for name in short long whole; do
        expect 0 bload verify -q $name
        is '1 0' "$(bload info --json $name | word dropped) $(bload info --json $name | word fault_count)"
        bload info $name | grep -q '1 sequence dropped'
    done
    expect 0 bload pack "$a" "$b" -T 2s --oversize drop -o whole :err 'is already complete'
    # A plan may leave out what it likes.
    expect 0 bload scan -q "$a" "$b" -o t
    printf 'block\tsequence\tstart\tlength\tsource_start\n0\t1\t0\t16000\t0\n' >plan
    expect 0 bload pack -q --sequences t --plan plan -T 16000 --oversize drop -o planned :verified
}
