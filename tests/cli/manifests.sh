# Manifests of speech: what their lines become, and what is said of those that are of no use.
# shellcheck shell=bash disable=SC2317

# The folder wavs with sound: a second, twenty seconds, two channels.
sounds() {
    mkdir -p "$1/wavs"
    cp "$(fixture tone-16000.wav)" "$1/wavs/a.wav"
    cp "$(fixture long-16000.wav)" "$1/wavs/l.wav"
    cp "$(fixture tone-44100-stereo.flac)" "$1/wavs/b.flac"
}

# nemo "PATH [OFFSET [DURATION]]"...: a line for each; an empty one for ''.
nemo() {
    for _line; do
        read -r path offset duration <<<"$_line"
        echo "${path:+{\"audio_filepath\": \"$path\"${offset:+, \"offset\": $offset}${duration:+, \"duration\": $duration}, \"text\": \"t\"\}}"
    done
}

# lhotse ID START DURATION CHANNEL SOURCE [TYPE]: a cut.
lhotse() {
    echo "{\"id\": \"$1\", \"start\": $2, \"duration\": $3, \"channel\": $4, \"supervisions\": [{\"id\": \"s\", \"text\": \"one\"}," \
        "{\"id\": \"t\", \"text\": \"two\"}], \"recording\": {\"id\": \"r\", \"sources\": [{\"type\": \"file\", \"channels\":" \
        "[0, 1], \"source\": \"$5\"}], \"sampling_rate\": 44100, \"num_samples\": 44100, \"duration\": 1.0}, \"type\": \"${6:-MonoCut}\"}"
}

# Columns of a table that was scanned.
rows() { cut -f "$1" <"${2:-$OUT}" | tail -n +2; }

test_lines_of_nemo() {
    sounds .
    {
        nemo 'wavs/a.wav 0.25 0.5' 'wavs/b.flac' '' 'wavs/l.wav 15.5 2.25' 'wavs/l.wav 19.5 2.25' 'wavs/l.wav 19.5 0.524' 'wavs/l.wav 20.5 1'
        nemo 'wavs/none.wav'
        echo '{"audio_filepath": "wavs/l.wav", "offset"'
        echo '{"text": 5}'
        nemo 'wavs/l.wav -1' 'wavs/l.wav 0 0' 'wavs/l.wav 1 0.00001'
        echo '{"audio_filepath": 5}'
        echo '{"audio_filepath": "x.wav", "shard_id": 3}'
        printf '{"audio_filepath": "wavs/a.wav", "duration": "1 s"}'
    } >train.json
    expect 3 bload scan -q --kind audio train.json
    is '8000 16000 36000 8000 8000 0 0 0 0 0 0 0 0 0 0' "$(rows 2 | tr '\n' ' ' | sed 's/ $//')"
    is '#1 #2 #4 #5 #6 #7 #8 #9 #10 #11 #12 #13 #14 #15 #16' "$(rows 1 | sed 's/train.json//' | tr '\n' ' ' | sed 's/ $//')"
    is 'wavs/a.wav 32044 0.25 0.5  t' "$(sed -n 2p "$OUT" | cut -f 4,5,11-14 | tr '\t' ' ')"
    cp "$ERR" all
    err_is <<'END_OF'
bload: train.json#5: ends 1.750 s behind the recording's end at 20.000 s: so much is missing
bload: skipped train.json#7: wavs/l.wav: begins at 20.500 s, and the recording ends at 20.000 s
bload: skipped train.json#8: wavs/none.wav: cannot be opened: No such file or directory
bload: skipped train.json#9: not JSON at byte 41 of the line: expected :
bload: skipped train.json#10: neither a line of NeMo's ("audio_filepath") nor a cut or recording of lhotse's: its keys are "text"
bload: skipped train.json#11: an impossible part of a recording: start -1 s, duration all s
bload: skipped train.json#12: an impossible part of a recording: start 0 s, duration 0 s
bload: skipped train.json#13: wavs/l.wav: shorter than a sample
bload: skipped train.json#14: "audio_filepath" is a number, no path
bload: skipped train.json#15: a line of a tarred dataset ("shard_id"): unpack the dataset, only its files can be read
bload: 1 more fault: see the table
END_OF
    expect 3 bload pack -q --kind audio train.json -T 40000 -o d :verified
    bload info d | grep -q 'further\|and 0 more' && fail 'all faults are named'
    expect 3 bload pack --kind audio train.json -T 40000 -o d :err 'is already complete'
    nemo wavs/a.wav >>train.json
    expect 2 bload pack --kind audio train.json -T 40000 -o d :err 'd holds a dataset of another configuration: list train.json is '
}

test_lines_of_lhotse() {
    sounds .
    {
        lhotse left 0.1 0.3 0 wavs/b.flac
        lhotse right 0.1 0.3 1 wavs/b.flac
        lhotse third 0.1 0.3 2 wavs/b.flac
        lhotse other 0 1 1 wavs/a.wav
        lhotse several 0 1 '[1, 0]' wavs/b.flac MultiCut
        lhotse absent 0 1 '[0, 2]' wavs/b.flac MultiCut
        lhotse mixed 0 1 0 wavs/b.flac MixedCut
        lhotse none 0 1 0 wavs/none.flac
        lhotse fast 0 1 0 wavs/b.flac | sed 's/"sampling_rate"/"transforms": [{"name": "Speed", "kwargs": {}}], &/'
        lhotse slow 0 0.5 0 wavs/b.flac | sed 's/"sampling_rate"/"transforms": [{"name": "Resample", "kwargs": {}}], &/'
        lhotse far 0 1 0 wavs/b.flac | sed 's/"type": "file"/"type": "url"/'
        echo '{"id": "whole", "sources": [{"type": "file", "channels": [0, 1], "source": "wavs/b.flac"}], "sampling_rate": 44100}'
        echo '{"id": "s1", "recording_id": "r", "start": 0, "duration": 1, "channel": 0, "text": "x"}'
    } | gzip >cuts.jsonl.gz
    expect 3 bload scan -q --kind audio cuts.jsonl.gz
    is 'left 4800,right 4800,third 0,other 0,several 16000,absent 0,mixed 0,none 0,fast 0,slow 8000,far 0,whole 16000,s1 0,' "$(rows 1,2 | tr '\t\n' ' ,')"
    is '0.1 0.3 1 one two' "$(sed -n 3p "$OUT" | cut -f 11-14 | tr '\t' ' ')"
    is '0 1 1,0 one two' "$(sed -n 6p "$OUT" | cut -f 11-14 | tr '\t' ' ')"
    err_is <<'END_OF'
bload: skipped third: cuts.jsonl.gz:3: no source has channel 2
bload: skipped other: cuts.jsonl.gz:4: wavs/a.wav: channel 1 is wanted, and there are 1
bload: skipped absent: cuts.jsonl.gz:6: a recording of several files: give cuts of one channel (MonoCut)
bload: skipped mixed: cuts.jsonl.gz:7: a MixedCut is not a part of one recording: save its sound as a file
bload: skipped none: cuts.jsonl.gz:8: wavs/none.flac: cannot be opened: No such file or directory
bload: skipped fast: cuts.jsonl.gz:9: lhotse would transform this recording as it reads it (Speed): save the result as a sound file
bload: skipped far: cuts.jsonl.gz:11: a source of type "url": only files can be read
bload: skipped s1: cuts.jsonl.gz:13: neither a line of NeMo's ("audio_filepath") nor a cut or recording of lhotse's: its keys are "id", "recording_id", "start", "duration", "channel", "text"
END_OF
    { lhotse same 0 1 0 wavs/b.flac && lhotse same 0 1 1 wavs/b.flac; } >twice.jsonl
    expect 1 bload pack -q --kind audio twice.jsonl -T 16000 -o d
    table=d/.bload/sequences.tsv
    err_has "two sequences have the id \"same\": $table:2 (wavs/b.flac) and $table:3 (wavs/b.flac)"
}

# NeMo's paths count from the manifest, and else from where it runs; lhotse's from where it runs, or the YAML file.
test_where_paths_count_from() {
    mkdir set
    sounds set
    nemo 'wavs/a.wav 0 0.5' >set/train.json
    nemo set/wavs/a.wav >>set/train.json
    nemo "$PWD/set/wavs/a.wav" >>set/train.json
    expect 0 bload scan -q --kind audio set/train.json
    is "set/wavs/a.wav set/wavs/a.wav $PWD/set/wavs/a.wav" "$(rows 4 | tr '\n' ' ' | sed 's/ $//')"
    lhotse c 0 1 0 set/wavs/b.flac >set/cuts.jsonl
    expect 0 bload pack -q --kind audio set/cuts.jsonl -T 16000 -o d
    lhotse c 0 1 0 wavs/b.flac >set/cuts.jsonl
    nemo wavs/a.wav >set/train.json
    printf 'sources:\n  - {path: cuts.jsonl, kind: audio}\n  - {path: train.json, kind: audio}\n  - {path: wavs/l.wav}\nT: 320000\n' >set/set.yaml
    expect 0 bload pack -q set/set.yaml -o e
    is 'wavs/b.flac wavs/a.wav wavs/l.wav' "$(rows 4 e/sequences.tsv | tr '\n' ' ' | sed 's/ $//')"
    expect 0 bload pack set/set.yaml -o e :err 'is already complete'
    nemo "$PWD/set/wavs/a.wav" | bload pack -q --kind audio - -T 16000 -o f
    expect 0 bload verify -q f
}

test_lists_of_no_use() {
    sounds .
    put empty.jsonl '' blank.jsonl '\n\n'
    { nemo wavs/a.wav && nemo wavs/b.flac; } | gzip >cut.jsonl.gz
    shorten 9 cut.jsonl.gz
    echo no >fake.json.gz
    nemo wavs/a.wav >good.jsonl
    head -c 5000000 /dev/zero | tr '\0' ' ' >long.jsonl
    nemo wavs/a.wav >>long.jsonl
    given list 'empty.jsonl\nblank.jsonl\ncut.jsonl.gz\nfake.json.gz\ngood.jsonl\nlong.jsonl\nnone.jsonl\n' expect 3 bload scan -q --kind audio @list
    err_is <<'END_OF'
bload: skipped blank.jsonl: an empty list
bload: skipped cut.jsonl.gz: after line 2: damaged: the gzip data ends in the middle at byte 65 of the file
bload: skipped empty.jsonl: an empty list
bload: skipped fake.json.gz: not gzip data, as its name says
bload: skipped long.jsonl#1: a line of more than 4194304 bytes
bload: skipped none.jsonl: file not found
END_OF
    expect 3 bload pack -q --kind audio @list -T 16000 -o d
    expect 3 bload pack --kind audio @list -T 16000 -o d :err 'is already complete'
}

# What is wrong with a recording is told of the cuts that have it.
test_cuts_of_recordings_with_faults() {
    mkdir wavs
    head -c 320044 "$(fixture long-16000.wav)" >wavs/short.wav
    cp "$(fixture tone-f32.wav)" wavs/odd.wav
    printf '\x00\x00\xc0\x7f' | dd of=wavs/odd.wav bs=1 seek=32080 conv=notrunc status=none
    cp "$(fixture changing.mp2)" wavs/changing.mp2
    {
        nemo 'wavs/short.wav 1 2' 'wavs/short.wav 9 2' 'wavs/odd.wav 0 0.1' 'wavs/odd.wav 0.4 0.3' 'wavs/odd.wav 0.9 0.1' 'wavs/changing.mp2 0 0.5'
        nemo 'wavs/changing.mp2'
    } >train.json
    expect 3 bload scan -q --kind audio train.json
    err_is <<'END_OF'
bload: train.json#2: ends 1.000 s behind the recording's end at 10.000 s: so much is missing; the recording: truncated: header claims 640000 bytes of samples, 320000 are there
bload: train.json#4: the recording: 1 samples are NaN or infinite: made 0
bload: skipped train.json#6: wavs/changing.mp2: its recording changes 1 times within: from 48000 Hz, 2 channels to 32000 Hz, 1 channels in the end, so that no part of it can be cut out
bload: train.json#7: changes 1 times within: from 48000 Hz, 2 channels to 32000 Hz, 1 channels in the end
END_OF
    expect 3 bload pack -q --kind audio train.json -T 40000 -o d
    expect 1 bload pack -q --kind audio train.json -T 40000 -o e --on-error fail
    expect 1 bload pack -q --kind audio train.json -T 40000 -o f --max-failed 0
    expect 3 bload pack -q --kind audio train.json -T 40000 -o g --max-failed 1
}

test_a_recording_that_changed_since_the_scan() {
    sounds .
    nemo 'wavs/l.wav 2 1' >train.json
    expect 0 bload scan -q --kind audio train.json -o t
    expect 0 bload pack -q --sequences t -T 16000 -o d
    head -c 100000 "$(fixture long-16000.wav)" >wavs/l.wav
    expect 1 bload pack -q --sequences t -T 16000 -o e :err 'the inputs changed since the scan: wavs/l.wav has a different size'
    expect 1 bload pack -q --sequences t -T 16000 -o h --task 0/1 :err 'changed since the scan: 640044 bytes then, 100000 now'
    expect 0 bload pack -q --kind audio train.json -T 16000 -o g
    # What a table says of a part must be a part.
    sed 's/\t2\t1\t/\t2\tone\t/' t >other
    cp "$(fixture long-16000.wav)" wavs/l.wav
    expect 3 bload pack -q --sequences other -T 16000 -o f :err 'invalid start, duration or channel: "2", "one", ""'
}

# A line of NeMo's with numbers of channels takes these; a word stays a column.
test_channels_in_lines_of_nemo() {
    sounds .
    for channel in 0 1 '[1, 0]' 2 -1 '[]' '"telephone"' null; do
        echo "{\"audio_filepath\": \"wavs/b.flac\", \"channel\": $channel}"
    done >train.json
    expect 3 bload scan -q --kind audio train.json
    cut -f 1,2,13,15 "$OUT" >rows
    diff rows - <<'END'
id	length	channel	manifest.channel
train.json#1	16000	0	
train.json#2	16000	1	
train.json#3	16000	1,0	
train.json#4	0	2	
train.json#5	0		
train.json#6	0		
train.json#7	16000		telephone
train.json#8	16000		
END
    err_is <<'END_OF'
bload: skipped train.json#4: wavs/b.flac: channel 2 is wanted, and there are 2
bload: skipped train.json#5: "channel" chooses no channels: write 0, or [0, 4]
bload: skipped train.json#6: "channel" chooses no channels: write 0, or [0, 4]
END_OF
}

# Keys beside those that say what is heard become columns, and numbers tables of the shards.
test_further_keys_become_columns() {
    sounds .
    {
        echo '{"audio_filepath": "wavs/a.wav", "duration": 0.5, "label": "spk7", "text": "t"}'
        echo '{"audio_filepath": "wavs/a.wav", "offset": 0.5, "label": "a\tb", "speaker": 3, "lang": null, "length": 2.5, "custom": {"snr": [1, 2]}}'
        echo '{"audio_filepath": "wavs/none.wav", "speaker": 5, "text": "of no use"}'
        echo '{"audio_filepath": "wavs/a.wav", "speaker": 4, "custom": {}}'
        echo 'no JSON'
    } >train.json
    expect 3 bload scan -q --kind audio train.json
    cut -f 1,2,11-19 "$OUT" >rows
    diff rows - <<'END'
id	length	start	duration	channel	text	label	speaker	lang	manifest.length	custom
train.json#1	8000	0	0.5		t	spk7				
train.json#2	8000	0.5				a\tb	3		2.5	{"snr": [1, 2]}
train.json#3	0	0			of no use		5			
train.json#4	16000	0					4			{}
train.json#5	0									
END
    sed -i -e 3d -e 5d -e '1s/"text"/"speaker": -1, "text"/' train.json
    expect 0 bload pack -q --kind audio train.json -T 16000 -o d :verified
    grep -q '"speaker"' d/manifest.json || fail "the column speaker is no attribute"
    head -c 2000 d/shards/00000/shard-00000000.safetensors | grep -aq '"speaker":{"dtype":"I64"'
    expect 0 bload scan -q --kind audio - <train.json
    is "bload: standard input: further keys of a manifest become columns only if the manifest is a file" "$(cat "$ERR")"
    is 14 "$(head -1 "$OUT" | tr '\t' '\n' | wc -l)"
    expect 0 bload plan -q -T 16000 --group-by label d/sequences.tsv
}

# Those of a cut, and of its supervisions; how a recording is stored is no column.
test_further_keys_of_lhotse() {
    sounds .
    {
        lhotse c1 0 0.5 0 wavs/a.wav | sed 's/"supervisions"/"custom": {"snr": 3}, "features": {"type": "fbank"}, "supervisions"/'
        lhotse c2 0 0.5 0 wavs/a.wav | sed -e 's/"text": "one"/"text": "one", "speaker": "A", "language": "en", "alignment": {}, "custom": {"x": 1}/' \
            -e 's/"text": "two"/"text": "two", "speaker": "B", "language": "en"/'
    } >cuts.jsonl
    expect 0 bload scan -q --kind audio cuts.jsonl
    cut -f 1,11-19 "$OUT" >rows
    diff rows - <<'END'
id	start	duration	channel	text	custom	speaker	language	supervision.custom
c1	0	0.5	0	one two	{"snr": 3}			
c2	0	0.5	0	one two		A B	en	{"x": 1}
END
}
