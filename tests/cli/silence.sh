# Fields of sound with "missing: zeros": videos without a sound track, or without their sound file, are silent and counted.
# shellcheck shell=bash disable=SC2317

# film OUT [sound]: ten frames in a second, with noise of 16000 samples or without a sound track.
film() {
    local sound=()
    if [ "${2-}" ]; then sound=(-f lavfi -i anoisesrc=duration=1:sample_rate=16000:seed=7:amplitude=0.3 -c:a pcm_s16le); fi
    ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=size=32x32:rate=10:duration=1 "${sound[@]}" -threads 1 -bitexact -c:v mpeg4 "$1"
}

# set_yaml [LINE...]: packs v/ with the videos' own sound; the lines are further ones of the field.
set_yaml() {
    printf '%s\n' 'sources: [v/]' 'size: 16x8' 'T: longest' 'fps: 10' 'fields:' '  - name: sound' '    path: v/{name}' '    kind: audio' \
        '    per-step: true' >set.yaml
    for line; do echo "    $line" >>set.yaml; done
}

# Which sequences are silent: id, status, samples, filled and silent of each row.
told() { awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
    { print $c["id"], $c["status"], $c["sound.samples"], $c["sound.filled"], $c["sound.silent"] }' "$1"; }

setup() {
    mkdir -p v
    film v/a.mov sound
    film v/mute.mov
    film v/z.mkv
    set_yaml 'missing: zeros'
}

test_a_video_without_a_sound_track_is_silent() {
    expect 0 bload pack -c set.yaml -o d
    err_has 'sequences without sound, which have zeros: 2 (column sound.silent)'
    told d/sequences.tsv | diff - <(printf '%s\n' 'a.mov ok 16000 0 0' 'mute.mov ok 0 16000 1' 'z.mkv ok 0 16000 1')
    grep -q '"sound.silent": 2' d/manifest.json || fail 'the manifest does not count silent sequences'
    is "all of v/{name}, or zeros where that is missing" "all $(grep -o 'of v/{name}[^"]*' d/manifest.json)"
    expect 0 bload verify -q d
    expect 0 bload pack -c set.yaml -o d :err 'is already complete'
    is "fps=10; sound: rate=16000 samples=1600 missing=zeros" "$(field sampling 1 <d/sequences.tsv)"
    # From a table, and by tasks.
    expect 0 bload scan -q -c set.yaml -o t
    expect 0 bload pack -q -c set.yaml --sequences t -o e
    cmp d/shards/00000/shard-00000000.safetensors e/shards/00000/shard-00000000.safetensors
    for task in 0 1; do expect 0 bload pack -q -c set.yaml -o f --task "$task/2"; done
    expect 0 bload finish -q f
    cmp d/shards/00000/shard-00000000.safetensors f/shards/00000/shard-00000000.safetensors
    # Without the option nothing has changed.
    set_yaml
    expect 3 bload pack -c set.yaml -o g
    err_has 'skipped mute.mov: sound: v/mute.mov: no audio stream (video only)'
    head -1 g/sequences.tsv | grep -q silent && fail 'a column that nobody asked for'
    expect 2 bload pack -c set.yaml -o d :err 'another configuration'
    expect 2 bload pack -q -c set.yaml --sequences t -o h
}

test_a_missing_file_is_silence() {
    mkdir s
    ffmpeg -v error -nostdin -i v/a.mov s/a.wav
    sed -i 's|v/{name}|s/{id}.wav|' set.yaml
    expect 0 bload pack -q -c set.yaml -o d
    told d/sequences.tsv | diff - <(printf '%s\n' 'a.mov ok 16000 0 0' 'mute.mov ok 0 16000 1' 'z.mkv ok 0 16000 1')
    expect 0 bload verify -q d
    # A file that is there later is another input.
    expect 0 bload scan -q -c set.yaml -o t
    cp s/a.wav s/z.wav
    expect 1 bload pack -q -c set.yaml --sequences t -o e :err 'the inputs changed since the scan: sound: s/z.wav has a different size'
    # A sound beside the sequence in its tar.
    rm s/z.wav
    mkdir m && cp v/a.mov m/0.mov && cp s/a.wav m/0.wav && cp v/mute.mov m/1.mov && tar -C m -cf m.tar 0.mov 0.wav 1.mov
    sed -i -e "s|s/{id}.wav|'{key}.wav'|" -e 's|v/|m.tar|' set.yaml
    expect 0 bload pack -q -c set.yaml --kind video -o f
    told f/sequences.tsv | cut -d ' ' -f 2- | diff - <(printf '%s\n' 'ok 16000 0 0' 'ok 0 16000 1')
}

# A sound that cannot be decoded is no silence.
test_damage_stays_damage() {
    mkdir s
    : >s/mute.wav
    echo "no sound at all, but a text that is long enough" >s/z.wav
    mkdir s/a.wav
    sed -i 's|v/{name}|s/{id}.wav|' set.yaml
    expect 1 bload pack -q -c set.yaml -o d
    err_has 'skipped mute.mov: sound: s/mute.wav: empty file'
    err_has 'skipped z.mkv: sound: s/z.wav: not a media file'
    err_has 'skipped a.mov: sound: s/a.wav: '
    # A track whose codec is not read, and a stream that the file does not have.
    film v/z.mkv sound
    ffmpeg -v error -nostdin -y -i v/z.mkv -c:v copy -c:a adpcm_ima_wav v/z.avi
    rm v/z.mkv
    python3 -c 'import sys; p = sys.argv[1]; d = open(p, "rb").read(); i = d.index(b"auds"); j = d.index(b"strf", i)
open(p, "wb").write(d[:j + 8] + b"\x99\x99" + d[j + 10:])' v/z.avi
    set_yaml 'missing: zeros'
    expect 3 bload pack -q -c set.yaml -o e
    err_has 'skipped z.avi: sound: v/z.avi: '
    is "a.mov ok 0 mute.mov ok 1 z.avi skipped" "$(told e/sequences.tsv | cut -d ' ' -f 1,2,5 | tr '\n' ' ' | sed 's/ *$//')"
    rm v/z.avi
    set_yaml 'missing: zeros' 'stream: 1'
    expect 3 bload pack -q -c set.yaml -o f :err 'skipped a.mov: sound: v/a.mov: no audio stream 1: it has 1, numbered from 0'
}

# Features of a second microphone.
test_features_of_silence() {
    mkdir near far
    for name in a b; do ffmpeg -v error -nostdin -f lavfi -i anoisesrc=duration=1:sample_rate=16000:seed=1 -ac 1 near/$name.wav; done
    cp near/a.wav far/a.wav
    for features in whisper80 fbank40; do
        printf '%s\n' 'sources: [near/]' "features: $features" 'T: longest' 'fields:' \
            "  - {name: far, path: far/{id}.wav, kind: audio, features: $features, dtype: f32, missing: zeros}" >set.yaml
        sed -i 's|path: far/{id}.wav|path: "far/{id}.wav"|' set.yaml
        expect 0 bload pack -q -c set.yaml -o $features
        expect 0 bload verify -q $features
        is "0 1" "$(field far.silent <$features/sequences.tsv | tr '\n' ' ' | sed 's/ $//')"
        ffmpeg -v error -nostdin -y -f lavfi -i anullsrc=sample_rate=16000:channel_layout=mono -t 1 far/b.wav
        expect 0 bload pack -q -c set.yaml -o $features-file
        cmp $features/shards/00000/shard-00000000.safetensors $features-file/shards/00000/shard-00000000.safetensors
        rm far/b.wav
    done
}

# refuse MESSAGE LINE...: of the field with these lines.
refuse() {
    local message=$1
    shift
    set_yaml "$@"
    expect 2 bload pack -c set.yaml -o d :err "$message"
}

test_mistakes() {
    refuse 'missing: empty is for a field with steps: own' 'missing: empty'
    refuse 'missing expects error or zeros, not "silence"' 'missing: silence'
    refuse 'missing expects error or zeros, not "0"' 'missing: 0'
    set_yaml 'missing: zeros'
    sed -i -e '/per-step/d' -e 's/kind: audio/kind: video/' set.yaml
    expect 2 bload pack -c set.yaml -o d :err 'missing: zeros is for a field of sound, not of the kind video'
    printf 'id,path\na.mov,v/a.mov\n' >l.csv
    sed -i -e 's/kind: video/kind: audio/' -e 's|v/{name}|l.csv|' set.yaml
    expect 2 bload pack -c set.yaml -o d :err 'missing: zeros is for a file of each sequence, and "l.csv" is a list of clips'
    set_yaml 'missing: error'
    expect 3 bload pack -q -c set.yaml -o e :err 'skipped mute.mov: sound: v/mute.mov: no audio stream (video only)'
}

# Options of channels apply to the field.
test_channels_of_a_sound_track() {
    rm -rf v && mkdir v
    python3 "$BLOAD_ROOT/tests/cli/waves.py" make . <<<'four.wav channels=4 count=16000'
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=32x32:rate=10:duration=1 -i four.wav -c:v mpeg4 -c:a copy v/four.mkv
    film v/mute.mov
    set_yaml 'missing: zeros' 'channel: 3,1'
    expect 0 bload pack -q -c set.yaml -o d
    is "2 " "$(field sound.channels_left <d/sequences.tsv | tr '\n' ' ' | sed 's/ $//')"
    expect 0 bload info d :out 'sound I16 [10, 1600, 2] per block'
    expect 0 bload verify -q d
}
