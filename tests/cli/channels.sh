# What becomes of the channels of sound, and of samples in WAV files of every form. Files are made by waves.py.
# shellcheck shell=bash disable=SC2317

# waves FOLDER [FILE...]: makes the files, or those of stdin, one a line.
waves() { if [ $# = 1 ]; then cat; else printf '%s\n' "${@:2}"; fi | python3 "$BLOAD_ROOT/tests/cli/waves.py" make "$1"; }

# packed FOLDER|FILE [OPTION...]: the values of its sequences.
packed() {
    rm -rf d
    bload pack -q --kind audio -T longest -o d "$@" 2>"$ERR" || true
    python3 "$BLOAD_ROOT/tests/cli/waves.py" values d
}

# Id, status and reason of each row of a scan.
scanned() {
    bload scan -q --kind audio "$@" 2>/dev/null >"$OUT" || true
    cut -f 1,6,7 <"$OUT" | tail -n +2 | tr '\t' ' '
}

test_channels_without_a_layout_become_their_mean() {
    for n in 1 2 3 4 5 6 7 8 9 12 16 24 30 64; do echo "$n.wav channels=$n values=$(seq -s , 100 100 $((100 * n)))"; done | waves a
    echo "0.wav channels=6 mask=0" | waves a # discrete
    echo "0x7.wav channels=6 mask=7" | waves a # a mask of fewer channels
    echo "left.wav mask=1" | waves a
    packed a >got
    diff got - <<'END'
0.wav 100 3500
0x7.wav 100 3500
1.wav 100 100
2.wav 100 150
3.wav 100 200
4.wav 100 250
5.wav 100 300
6.wav 100 350
7.wav 100 400
8.wav 100 450
9.wav 100 500
12.wav 100 650
16.wav 100 850
24.wav 100 1250
30.wav 100 1550
64.wav 100 3250
left.wav 100 1000
END
    is "a/5.wav 100 0.00915527" "$(packed a/5.wav --dtype f32)"
    mkdir f && cp a/8.wav f/many.wav
    echo "one.wav values=450" | waves f
    expect 0 bload pack -q --kind audio f --features fbank40 -T 1 -o g
    tail -c 320 g/shards/00000/shard-00000000.safetensors | od -An -v -t f4 -w160 >frames
    is 1 "$(cut -c 1-240 frames | sort -u | wc -l)"
}

# The coefficients of swresample with rematrix_maxval=1.
test_a_layout_that_the_file_states_is_followed() {
    waves . 'quad.wav channels=4 mask=0x33' 'five.wav channels=6 mask=0x3f' 'seven.wav channels=8 mask=0x63f'
    mkdir a
    ffmpeg -v error -i five.wav -c:a pcm_s16le a/1.w64 -c:a pcm_s16le a/2.caf -c:a pcm_s16le a/3.mov \
        -c:a pcm_s16le a/4.avi -c:a pcm_s16be a/5.aiff -c:a flac a/6.flac -c:a flac a/7.mka \
        -c:a flac -metadata:s WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x3f a/8.oga
    mv quad.wav five.wav seven.wav a # FLAC has a mask in a comment
    is "2328 3111 4105" "$(packed a | sort -k 3n | cut -d ' ' -f 3 | uniq | tr '\n' ' ' | sed 's/ $//')"
    is 9 "$(packed a | grep -c '^[5f1-8].* 100 3111$')"
    is "a/five.wav 100 2757 3464" "$(packed a/five.wav --channels 2)"
}

# Vorbis, ALAC and TTA have a number of channels, for which FFmpeg has a layout; AC-3 and DTS state theirs.
test_what_codecs_say_of_layouts() {
    echo "five.wav channels=6 mask=0x3f count=2000" | waves .
    mkdir a
    ffmpeg -v error -i five.wav -c:a tta a/1.tta -c:a alac a/2.m4a -c:a wavpack a/3.wv -c:a flac -bitexact a/4.flac -c:a ac3 -ar 48000 a/6.ac3
    python3 - <<'END'
data = open("a/4.flac", "rb").read()
comment = data.index(b"WAVEFORMATEXTENSIBLE")
open("a/5.flac", "wb").write(data[:comment] + b"X" + data[comment + 1:])
open("a/7.flac", "wb").write(data.replace(b"MASK=0x3f", b"MASK=0x07")) # of three channels
END
    is "1.tta 3500 2.m4a 3500 3.wv 3111 4.flac 3111 5.flac 3500 6.ac3 3111 7.flac 3500 " "$(packed a | cut -d ' ' -f 1,3 | tr '\n' ' ')"
}

test_as_many_channels_are_copied() {
    echo "many.wav channels=64 values=$(seq -s , 100 100 6400)" | waves .
    waves . '8/plain.wav channels=8' '8/seven.wav channels=8 mask=0xff' '6/side.wav channels=6 mask=0x60f' 'quad.wav channels=4 mask=0x33' \
        '2/back.wav channels=2 mask=0x30'
    is "many.wav 100 $(seq -s ' ' 100 100 6400)" "$(packed many.wav --channels 64)"
    eight=$(seq -s ' ' 1000 1000 8000)
    is "plain.wav 100 $eight seven.wav 100 $eight " "$(packed 8 --channels 8 | tr '\n' ' ')"
    is "side.wav 100 1000 2000 3000 4000 5000 6000" "$(packed 6 --channels 6)"
    is "quad.wav 100 1000 2000 3000 4000" "$(packed quad.wav --channels 4)"
    is "quad.wav 200 1000 2000 3000 4000" "$(packed quad.wav --channels 4 --rate 32000 | sed 's/999/1000/')"
    is "back.wav 100 1000 2000" "$(packed 2 --channels 2)"
}

test_one_channel_is_taken() {
    echo "a.wav channels=12" | waves .
    is "a.wav 100 1000" "$(packed a.wav --channel 0)"
    is "a.wav 100 12000" "$(packed a.wav --channel 11)"
    is "a.wav 100 6500" "$(packed a.wav --channel all)"
    is "rate=16000 channel=6" "$(bload scan -q --kind audio a.wav --channel 6 | field sampling 1)"
    is "a.wav skipped channel 12 is wanted, and there are 12" "$(scanned a.wav --channel 12)"
    echo '{"audio_filepath": "a.wav", "offset": 0.001, "duration": 0.002}' >m.json
    is "m.json#1 32 7000" "$(packed m.json --channel 6)"
    expect 2 bload scan a.wav --channel 3 --channels 2 :err '--channel takes one channel: leave out --channels'
    expect 2 bload scan a.wav --channel 64
}

test_several_channels_are_taken_in_their_order() {
    waves a a.wav\ channels=12
    is "a.wav 100 5000 1000" "$(packed a --channel 4,0)"
    is "a.wav 100 5000 1000" "$(packed a --channel 4,0 --channels 2)"
    is "a.wav 100 $(seq -s ' ' 12000 -1000 1000)" "$(packed a --channel 11,10,9,8,7,6,5,4,3,2,1,0)"
    is "a.wav 200 8000 2000 1000" "$(packed a --channel 7,1,0 --rate 32000 | sed -e 's/7999/8000/' -e 's/1999/2000/' -e 's/ 999/ 1000/')"
    is "rate=16000 channel=4,0" "$(bload scan -q --kind audio a/a.wav --channel '[4, 0]' | field sampling 1)"
    # What is left out is counted: in the table, by the summary and in the manifest.
    is "10" "$(bload scan -q --kind audio a/a.wav --channel 4,0 | field channels_left 1)"
    waves a b.wav\ channels=2
    expect 3 bload pack --kind audio a -T longest --channel 4,0 -o left
    err_has 'skipped b.wav: channel 4 is wanted, and there are 2'
    err_has 'channels of files that --channel leaves out: 10 in 1 sequence (column channels_left)'
    grep -q '"channels_left": 10' left/manifest.json || fail "the manifest does not count the channels that are left"
    grep -q 'of channels 4,0, mixed' left/manifest.json || fail "the manifest does not name the channels"
    expect 3 bload pack --kind audio a -T longest --channel 4,0 -o left :err 'is already complete'
    expect 2 bload pack --kind audio a -T longest --channel 0,4 -o left :err 'another configuration'
    expect 0 bload verify -q left
    # Features are those of the mean of the chosen channels.
    waves f a.wav\ channels=12\ count=16000 && waves m a.wav\ values=3000\ count=16000
    expect 0 bload pack -q --kind audio f --features fbank40 --channel 0,4 -T longest -o chosen
    expect 0 bload pack -q --kind audio m --features fbank40 -T longest -o mean
    cmp chosen/shards/00000/shard-00000000.safetensors mean/shards/00000/shard-00000000.safetensors
}

test_mistakes_in_channel() {
    waves . a.wav\ channels=4
    for wrong in 1,1 '1,' -1 64 left ''; do
        expect 2 bload scan --kind audio a.wav --channel "$wrong"
        err_has '--channel expects all, or the numbers of different channels from 0, such as 4 or 4,0'
    done
    expect 2 bload scan --kind audio a.wav --channel 0,1 --channels 4 :err '--channel takes 2 channels, which are not mixed: leave out --channels'
    is "a.wav skipped channel 4 is wanted, and there are 4" "$(scanned a.wav --channel 0,4)"
}

# The two sides of a call are two sequences.
test_each_line_of_a_list_takes_its_channels() {
    waves calls 'a.wav channels=2 values=1000,3000 count=160' 'b.wav channels=8 count=160'
    cat >calls.csv <<'END'
path,channel,start_frame,end_frame,speaker
calls/a.wav,0,,,4
calls/a.wav,1,,,5
calls/a.wav,1,16,48,5
calls/a.wav,,,,6
calls/b.wav,"7,0",,,7
calls/b.wav,3.0,,,8
END
    packed calls.csv >got
    diff got - <<'END'
calls/a.wav#ch0 160 1000
calls/a.wav#ch1 160 3000
calls/a.wav#16-48#ch1 32 3000
calls/a.wav 160 2000
calls/b.wav#ch7,0 160 4500
calls/b.wav#ch3.0 160 4000
END
    is "0 1 1  7,0 3.0" "$(field channel <d/sequences.tsv | tr '\n' ' ' | sed 's/ $//')"
    expect 0 bload verify -q d
    grep -q '"speaker"' d/manifest.json || fail "the column speaker is no attribute"
    is "calls/b.wav#ch7,0 160 8000 1000" "$(packed calls.csv --channels 2 | grep ch7)"
    # As JSON lines, and from a table.
    cat >calls.jsonl <<'END'
{"path": "calls/a.wav", "channel": 1}
{"path": "calls/b.wav", "channel": [7, 0], "id": "both"}
{"path": "calls/b.wav", "channel": "2"}
{"path": "calls/a.wav", "channel": null}
END
    expect 0 bload scan -q --kind audio calls.jsonl -o t
    is "1 7,0 2 " "$(field channel <t | tr '\n' ' ' | sed 's/ $//')"
    expect 0 bload pack -q --sequences t -T longest --channels 2 -o e
    is "both 160 8000 1000" "$(python3 "$BLOAD_ROOT/tests/cli/waves.py" values e | grep both)"
    # Lines without a choice have those of --channel.
    is "calls/b.wav 160 6000 7000" "$(printf 'path,channel\ncalls/b.wav,\n' >one.csv && packed one.csv --channel 5,6)"
    # A list of lists that choose and lists that do not.
    printf 'path\ncalls/a.wav\n' >plain.csv
    expect 1 bload pack -q --kind audio plain.csv calls.csv -T 160 -o f :err 'two sequences have the id "calls/a.wav"'
}

test_mistakes_in_the_column_channel() {
    waves calls 'a.wav channels=2 count=160'
    {
        echo path,channel
        for wrong in left -1 '"0,0"' 2 1.5; do echo "calls/a.wav,$wrong"; done
    } >l.csv
    expect 3 bload scan -q --kind audio l.csv
    err_is <<'END_OF'
bload: skipped calls/a.wav#chleft: l.csv:2: calls/a.wav: "channel" chooses no channels: "left" (different numbers from 0, such as 1, or 0,4)
bload: skipped calls/a.wav#ch-1: l.csv:3: calls/a.wav: "channel" chooses no channels: "-1" (different numbers from 0, such as 1, or 0,4)
bload: skipped calls/a.wav#ch0,0: l.csv:4: calls/a.wav: "channel" chooses no channels: "0,0" (different numbers from 0, such as 1, or 0,4)
bload: skipped calls/a.wav#ch2: l.csv:5: calls/a.wav: channel 2 is wanted, and there are 2
bload: skipped calls/a.wav#ch1.5: l.csv:6: calls/a.wav: "channel" chooses no channels: "1.5" (different numbers from 0, such as 1, or 0,4)
END_OF
    printf 'path,Channel\ncalls/a.wav,1\n' >m.csv
    expect 2 bload scan -q --kind audio m.csv :err 'm.csv:1: the column "Channel": write it "channel", or give --columns channel=Channel'
    is "calls/a.wav#ch1 160 2000" "$(packed m.csv --columns channel=Channel)"
    printf 'path,channel\ncalls/a.wav,0\ncalls/a.wav,0\n' >n.csv
    expect 1 bload pack -q --kind audio n.csv -T 160 -o g :err 'a column id of the list can tell them apart'
    # Other kinds have no channels.
    printf 'path,channel\na.mp4,0\n' >v.csv
    expect 2 bload scan -q --kind video v.csv :err 'v.csv:1: "channel" is reserved in the table of sequences'
}

test_a_mix_that_cannot_be_made_is_found_by_the_scan() {
    waves a '1.wav channels=1' '3.wav channels=3' '12.wav channels=12'
    scanned a --channels 2 >got
    diff got - <<'END'
1.wav ok 
3.wav skipped its 3 channels, which have no layout, cannot be mixed to 2: give --channels 1 or 3, or --channel
12.wav skipped its 12 channels, which have no layout, cannot be mixed to 2: give --channels 1 or 12, or --channel
END
    is "1.wav skipped its one channel cannot be mixed to 12: give --channels 1" "$(scanned a --channels 12 | head -1)"
    echo '{"audio_filepath": "a/12.wav"}' >m.json
    scanned m.json --channels 2 | grep -q '#1 skipped a/12.wav: its 12 channels'
}

# Opus of ambisonics: order 1, four channels.
test_ambisonic_sound_has_no_layout() {
    echo "four.wav channels=4 count=16000" | waves .
    ffmpeg -v error -i four.wav -ar 48000 -c:a libopus -mapping_family 255 four.opus
    python3 - <<'END'
data = bytearray(open("four.opus", "rb").read())
head = data.index(b"OpusHead")
assert data[head + 18] == 255
data[head + 18] = 2
page, crc = data[:data.index(b"OggS", 4)], 0
page[22:26] = bytes(4)
for byte in page:
    crc ^= byte << 24
    for _ in range(8):
        crc = (crc << 1 ^ (0x04C11DB7 if crc >> 31 else 0)) & 0xFFFFFFFF
data[:len(page)] = page[:22] + crc.to_bytes(4, "little") + page[26:]
open("ambisonic.opus", "wb").write(data)
END
    ffprobe -v error -show_entries stream=channel_layout -of csv=p=0 ambisonic.opus | grep -q ambisonic
    scanned ambisonic.opus --channels 2 | grep -q 'skipped its 4 channels, which have no layout, cannot be mixed to 2'
    is "ok" "$(scanned ambisonic.opus | cut -d ' ' -f 2)"
    is "ok" "$(scanned ambisonic.opus --channels 4 | cut -d ' ' -f 2)"
}

# --- headers of samples --------------------------------------------------------------------------------------------

test_the_block_decides_the_size_of_samples() {
    for form in wav w64 avi mkv; do
        for bits in "24 32" "16 32" "8 16" "16 24" "20 24" "20 32" "12 16" "16 16" "24 24" "32 32"; do
            set -- $bits
            echo "$1-in-$2.$form form=$form channels=2 mask=3 valid=$1 bits=$2 values=1024,-2048 count=12000"
        done
    done | waves a
    waves a 'float.wav tag=3 bits=32 valid=24 mask=4 values=0.03125' 'double.wav tag=3 bits=64 valid=53 mask=4 values=0.03125'
    packed a --channels 2 >got
    is 40 "$(grep -c ' 12000 1024 -2048$' got)"
    is 2 "$(grep -c ' 100 724 724$' got)" # 0.707 of 1024
    is "" "$(scanned a | grep -v ' ok $')"
    expect 0 bload pack -q --kind audio a -T 12000 -o clocked --audio-gap 0.01
}

test_rifx_is_read_or_refused_by_name() {
    for bits in 8 16 24 32; do echo "$bits.wav form=rifx channels=2 bits=$bits values=1024,-2048"; done | waves a
    echo "f.wav form=rifx channels=2 tag=3 bits=32 values=0.03125,-0.0625" | waves a
    is 5 "$(packed a --channels 2 | grep -c ' 100 1024 -2048$')"
    waves b 'ext.wav form=rifx valid=24 bits=32' 'ima.wav form=rifx tag=17 bits=16'
    is 2 "$(scanned b | grep -c 'skipped RIFX (big-endian WAV) with ')"
}

test_g721_is_refused_by_name() {
    echo "g.wav tag=64 bits=8 count=400" | waves .
    is "g.wav skipped codec G.721 is not read: convert it to PCM, with SoX or libsndfile" "$(scanned g.wav)"
}

# What programs write into a pipe as the size of the samples.
test_a_size_that_a_pipe_left_open_is_no_fault() {
    for size in 0 0xffffffff 0x7ffff000 0x7fffff00 0x7fffffff 2000000000; do echo "$size.wav size=$size"; done | waves a
    echo "big.wav form=rifx size=0xffffffff" | waves a
    echo "pad.wav bits=24 count=101 size=0xffffffff" | waves a
    is "" "$(scanned a | grep -v ' ok $')"
    expect 0 bload pack -q --kind audio a -T 101 -o d --on-error fail
    echo "large.wav size=0xfffffffe" | waves b
    is "large.wav ok truncated: header claims 4294967294 bytes of samples, 200 are there" "$(scanned b)"
}

test_a_byte_of_padding_is_no_damage() {
    waves a 'a.aiff form=aiff bits=24 count=101' 'b.wav bits=24 count=101 rest=1' 'c.wav channels=3 bits=16 count=101 rest=4'
    is "" "$(scanned a | grep -v ' ok $')"
    is "a.aiff 202 b.wav 101 c.wav 101 " "$(packed a | cut -d ' ' -f 1,2 | tr '\n' ' ')"
    head -c 200 a/a.aiff >cut.aiff
    is "cut.aiff ok damaged: header says 101 samples, 48 are there" "$(scanned cut.aiff)"
    echo "none.wav bits=24 count=0 rest=1" | waves .
    is "none.wav skipped no samples in the audio stream" "$(scanned none.wav)"
}

test_clipped_floats_are_counted() {
    waves . 'int.wav channels=2 tag=3 bits=32 values=-26810,100' 'double.wav tag=3 bits=64 values=1.5' \
        'full.wav tag=3 bits=32 channels=2 values=1,-1'
    is "int.wav ok 200 samples beyond +-1, up to 26810: clipped (--dtype f32 keeps them)" "$(scanned int.wav)"
    is "double.wav ok 100 samples beyond +-1, up to 1.5: clipped (--dtype f32 keeps them)" "$(scanned double.wav)"
    is "full.wav ok " "$(scanned full.wav)"
    is "int.wav ok " "$(scanned int.wav --dtype f32)"
    is "int.wav ok " "$(scanned int.wav --features fbank40 --dtype f32)"
    is "int.wav 100 -26810 100" "$(packed int.wav --dtype f32 --channels 2)"
    expect 1 bload pack -q --kind audio int.wav -T 100 -o e --on-error fail
    err_has 'int.wav: 200 samples beyond +-1, up to 26810: clipped (--dtype f32 keeps them) (--on-error fail)'
    echo '{"audio_filepath": "int.wav", "offset": 0.001, "duration": 0.002}' >m.json
    scanned m.json | grep -q '#1 ok the recording: 200 samples beyond'
}
