# Sound per step: what such a field may say, what is told of sounds that are too short or too long, runs that go on.
# shellcheck shell=bash disable=SC2317

# film OUT SECONDS-OF-PICTURE SECONDS-OF-SOUND [words]: 25 frames and 16000 samples a second.
film() {
    local out=$1 picture=$2 sound=$3
    shift 3
    ffmpeg -v error -nostdin -y -f lavfi -i "testsrc2=size=64x48:rate=25:duration=$picture" \
        -f lavfi -i "anoisesrc=duration=$sound:sample_rate=16000:seed=7:amplitude=0.3" \
        -threads 1 -bitexact -c:v libx264 -pix_fmt yuv420p -c:a pcm_s16le "$@" "$out"
}

# Two videos with their sound, and set.yaml, whose field sound is of the same files.
setup() {
    mkdir -p v
    film v/a.mov 1 1
    film v/b.mkv 1.2 1.2
    put set.yaml 'sources: [v/]\nsize: 16x8\nT: 40\nfields:\n  - name: sound\n    path: v/{name}\n    kind: audio\n    per-step: true\n    samples: 640\n'
}

# refuse LINE MESSAGE: of the field with that line more.
refuse() {
    setup
    echo "    $1" >>set.yaml
    expect 2 bload pack -c set.yaml -o d :err-is "bload: pack: $2"
}

test_what_the_field_may_say() {
    refuse 'features: whisper80' 'set.yaml:5:5: per-step needs samples, not features: they have a rate of their own and frames that cannot be cut (pack features as a dataset of their own)'
    refuse 'per_step: false' 'set.yaml:10:5: key given twice: per-step (first in line 8)'
    refuse 'step-rate: 0' 'set.yaml:10:16: step-rate expects a positive rate, such as 25, 12.5 or 30000/1001, not "0"'
    setup
    sed -i 's/per-step: true/per-step: false/' set.yaml
    expect 2 bload pack -c set.yaml -o d :err-is 'bload: pack: set.yaml:5:5: samples is for a field with per-step: true'
    sed -i 's/samples: 640/samples: 1048577/' set.yaml
    expect 2 bload pack -c set.yaml -o d :err-is 'bload: pack: set.yaml:9:14: samples expects a whole number from 1 to 1048576, not "1048577"'
    sed -i 's/kind: audio/kind: video/; /samples/d' set.yaml
    expect 2 bload pack -c set.yaml -o d :err-is 'bload: pack: set.yaml:8:5: unknown key "per-step"'
    sed -i 's/kind: video/kind: audio/; s|v/{name}|"{id}.jsonl"|' set.yaml
    expect 2 bload pack -c set.yaml -o d :err-is 'bload: pack: set.yaml:5:5: "{id}.jsonl" is a list of inputs, not the file of one sequence'
}

test_how_many_samples_a_step_has() {
    sed -i '/samples/d; s/false/true/' set.yaml
    expect 2 bload pack -c set.yaml -o d
    err_is <<<'bload: pack: field sound: per-step cannot tell how many samples a step has, as every file has a rate of its own: give samples (640 for 25 steps a second, 534 for 30), or fps'
    expect 0 bload pack -q -c set.yaml -o d --fps 24
    expect 0 bload info d :out 'field       sound I16 [40, 667] per block, from audio: for each step 667 samples at 16000 Hz'
    expect 2 bload pack -c set.yaml -o e --fps 1/100 :err-is 'bload: pack: field sound: steps of 1600000 samples are too long: at most 1048576'
    echo '    step_rate: 12.5' >>set.yaml
    expect 0 bload pack -q -c set.yaml -o f --stride 2
    expect 0 bload info f :out 'field       sound I16 [40, 1280] per block'
}

test_scan_pack_verify() {
    expect 0 bload scan -c set.yaml
    cut -f 1,2,6,7,8,13-15,17- "$OUT" | diff - <(
        printf 'id\tlength\tstatus\treason\tsampling\tsound.samples\tsound.stream\tsound.reason\tsound.lead\tsound.left_out\tsound.filled\n'
        printf 'a.mov\t25\tok\t\tall; sound: rate=16000 samples=640\t16000\t1\t\t0\t0\t0\n'
        printf 'b.mkv\t30\tok\t\tall; sound: rate=16000 samples=640\t19200\t1\t\t0\t0\t0\n'
    )
    err_is <<<'bload: 2 files: 2 sequences of 55 steps'
    cp "$OUT" sequences.tsv
    expect 0 bload pack -q -c set.yaml -o one -j 1 :verified
    expect 0 bload pack -q -c set.yaml -o two -j 5 :same-as one
    same sequences.tsv one/sequences.tsv
    expect 0 bload pack -q -c set.yaml --sequences sequences.tsv -o three :same-in one shards/00000/shard-00000000.safetensors
    # A table of another window is of other fields.
    sed -i 's/samples: 640/samples: 641/' set.yaml
    expect 2 bload pack -q -c set.yaml --sequences sequences.tsv -o four :err 'was scanned with sampling'
    expect 2 bload pack -q -c set.yaml -o one :err 'field sound samples is "640" there, not "641"'
    expect 0 bload pack -c set.yaml --print-config
    cp "$OUT" first.yaml
    expect 0 bload pack -c first.yaml --print-config :out-as first.yaml :out '    per-step: true'
}

test_what_is_left_out_and_filled_is_told() {
    film v/long.mov 1 1.5
    film v/short.mov 1 0.7
    film v/shorter.mov 1 0.4
    cp "$(fixture h264-30.mp4)" v/silent.mp4
    expect 3 bload pack -c set.yaml -o d
    for line in 'skipped shorter.mov: sound: v/shorter.mov: the sound ends at 0.400 s, and the last step begins at 0.960 s: 15 of 25 steps have none (length-tolerance: 15 fills them with zeros)' \
        'skipped silent.mp4: sound: v/silent.mp4: no audio stream (video only)' \
        'samples that lie in no step, left out: 8,000 (column sound.left_out)' \
        'zero samples, where a step has no sound: 4,800 (column sound.filled)'; do
        err_has "bload: $line"
    done
    expect 0 bload verify -q d
    is '0 0 8000 0' "$(field sound.left_out <d/sequences.tsv | head -n 4 | xargs)"
    is '0 0 0 4800' "$(field sound.filled <d/sequences.tsv | head -n 4 | xargs)"
    echo '    length-tolerance: 6' >>set.yaml
    expect 3 bload scan -c set.yaml :err 'skipped short.mov: sound: v/short.mov: the sound ends at 0.700 s, and the last step begins at 0.960 s: 7'
    sed -i 's/length-tolerance: 6/length-tolerance: 15/' set.yaml
    expect 3 bload scan -c set.yaml :err 'no sound: 14,400 (column'
    is 'a.mov b.mkv long.mov short.mov shorter.mov' "$(awk -F '\t' '$6 == "ok" { print $1 }' "$OUT" | xargs)"
}

# Sound that does not decode in the middle is damage, as it is of the sound alone.
test_damaged_sound() {
    film v/c.mkv 1 1 -c:a flac
    IFS=, read -r size position rest < <(ffprobe -v error -select_streams a:0 -show_entries packet=size,pos -of csv=p=0 v/c.mkv | sed -n 2p)
    head -c "$((size / 2))" /dev/zero | dd of=v/c.mkv bs=1 seek="$((position + 20))" conv=notrunc status=none
    expect 3 bload pack -c set.yaml -o d :err 'bload: c.mkv: sound: v/c.mkv: damaged: ' :verified
}

test_arrays_have_no_times() {
    npy n/a.npy 5
    sed -i 's|v/\]|{path: n, kind: array}]|; s|v/{name}|v/{id}.mov|' set.yaml
    expect 2 bload pack -q -c set.yaml -o d :err-is 'bload: pack: field sound: array has no times: give the field a step-rate, in steps per second'
    echo '    step-rate: 10' >>set.yaml
    expect 0 bload pack -c set.yaml -o d :err 'samples that lie in no step, left out: 12,800'
}

# Of images the numbers tell the times: without one there is none.
test_images_without_numbers() {
    mkdir -p i/a i/b
    ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=16x8:rate=10 -frames:v 4 i/a/%d.png
    cp i/a/1.png i/b/one.png
    ffmpeg -v error -nostdin -f lavfi -i anoisesrc=duration=1:sample_rate=16000 -ac 1 i/a.wav
    cp i/a.wav i/b.wav
    printf 'sources: [{path: i, kind: frames}]\nfields: [{name: sound, path: "i/{id}.wav", per-step: true, step-rate: 10}]\n' >set.yaml
    expect 3 bload pack -c set.yaml -T 4 -o d :err 'bload: skipped b: one.png has no number for its time' :verified
    err_has 'bload: samples that lie in no step, left out: 9,600'
}

test_killed_and_resumed() {
    for i in $(seq 20); do cp v/a.mov "v/x$i.mov"; done
    expect 0 bload pack -q -c set.yaml -o one --shard-size 200K
    ended_by KILL 'd/shards/00000/*' "$BLOAD" pack -q -c set.yaml -o d --shard-size 200K -j 1
    expect 0 bload pack -q -c set.yaml -o d --shard-size 200K :same-as one
}
