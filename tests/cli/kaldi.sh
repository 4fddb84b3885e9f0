# Data folders of Kaldi's: what their utterances become, and what is said of lines that are of no use.
# shellcheck shell=bash disable=SC2317

# The folder data: recordings of a second and of twenty, in two utterances each.
kaldi_folder() {
    mkdir -p wavs data
    cp "$(fixture tone-16000.wav)" wavs/a.wav
    cp "$(fixture long-16000.wav)" wavs/l.wav
    put data/wav.scp 'a wavs/a.wav\nl\twavs/l.wav  \n'
    put data/segments 'u1 a 0.25 0.75\nu2 a 0.5 -1\n\nu3 l 15.5 17.75\r\nu4 l 0 -1.0\n'
    put data/text 'u1 HELLO  WORLD\nu3 tschüß\nu2\nu4 a\\b\n'
    put data/utt2spk 'u1 s1\nu2 s1\nu3 s2\nu4 s2\n'
}

# Columns of a table that was scanned.
rows() { cut -f "$1" <"${2:-$OUT}" | tail -n +2; }

test_utterances() {
    kaldi_folder
    for source in data data/ data/wav.scp data/segments ./data "$PWD/data"; do
        expect 0 bload scan -q --kind audio "$source"
        rows 1,2,4,11,12,14- >rows
        diff rows - <<'END'
u1	8000	wavs/a.wav	4000	12000	HELLO  WORLD	s1
u2	8000	wavs/a.wav	8000	16000		s1
u3	36000	wavs/l.wav	248000	284000	tschüß	s2
u4	320000	wavs/l.wav	0	320000	a\\b	s2
END
    done
    # The files say the kind, as no other kind has such folders.
    expect 0 bload pack -q data -T longest -o d :verified
    expect 0 bload pack -q data -T longest -o e --isolate off :same-in d sequences.tsv
    expect 0 bload scan -q data -o t
    expect 0 bload pack -q --sequences t -T longest -o f :verified
    given names 'data\n' expect 0 bload scan -q @names :column id 'u1 u2 u3 u4'
    expect 0 bload scan -q --exclude u2 data :column status 'ok dropped ok ok'
    (cd data && expect 3 bload scan -q wav.scp :column id 'u1 u2 u3 u4' :err 'wavs/a.wav: cannot be opened')
    # Relative paths are those of the working directory, or of the YAML file.
    printf 'sources: [data]\nT: longest\nkind: audio\n' >set.yaml
    mkdir elsewhere
    (cd elsewhere && expect 0 bload pack -q ../set.yaml -o g :verified)
    # Other kinds and folders are as ever.
    put data/words.txt 'one\n'
    expect 0 bload pack -q --kind text --tokenizer bytes data -T 64 -o h :made id 'words.txt'
    expect 0 bload scan -q wavs :column id 'a.wav l.wav'
}

test_whole_recordings() {
    kaldi_folder
    rm data/segments
    put data/text 'a ONE\nl TWO\n' data/utt2spk 'l s\na t\n'
    expect 0 bload scan -q data
    is 'a 16000 ONE t,l 320000 TWO s,' "$(rows 1,2,14,15 | tr '\t\n' ' ,')"
    rm data/text data/utt2spk
    expect 0 bload scan -q data
    is 13 "$(head -n 1 "$OUT" | tr '\t' '\n' | wc -l)"
    expect 0 bload pack -q data -T longest -o d :made id 'a l'
}

# Texts of utterances become tokens, in steps of their own.
test_texts_become_tokens() {
    kaldi_folder
    cat >set.yaml <<'END'
sources: [data]
kind: audio
features: fbank80
T: longest
fields:
  - {name: words, kind: text, column: text, tokenizer: bytes, steps: own, capacity: auto}
END
    expect 0 bload pack -q set.yaml -o d :verified :made words.length '12 0 8 3'
}

test_lines_of_no_use() {
    kaldi_folder
    put data/wav.scp 'a wavs/a.wav\nc sph2pipe -f wav c.sph |\nd wavs/none.wav\na wavs/l.wav\nl\nf x.ark:13\ng wavs/l.wav\n'
    printf 'x \xff\n' >>data/wav.scp
    put data/segments 'u1 a 0.25 0.75\nu2 c 0 1\nu3 d 0 1\nu4 l 0 1\nu5 f 0 1\nu6 a 0 1 1\nu7 a\nu8 a 0.5 0.25\nu9 a x 1\nu10 a 0 -2\nu11 a 0 1\nu12\n'
    seq -f 'u%g WORD' 1 10 >data/text
    put data/utt2spk 'u1 s\nu2 s\nu3 s\nu4 s\nu5 s\nu6 s\nu7 s\nu8 s\nu9 s\nu10 s\nu11 s\nu1 t\nu99 s\n'
    echo 'u98 WORD' >>data/text
    expect 3 bload scan -q data
    rows 1,6,7 | grep -v '	ok	' >rows
    diff rows - <<'END'
data/segments#2	skipped	wav.scp:2: a command with a pipe ("sph2pipe -f wav c.sph |"), where only a file can be read: write its sound to a file, as bload-audio(7) shows
u3	skipped	data/segments:3: wavs/none.wav: cannot be opened: No such file or directory
data/segments#4	skipped	the recording "l" of "u4" has no usable line in wav.scp
data/segments#5	skipped	wav.scp:6: a place in an archive ("x.ark:13"), where only a file can be read: write its sound to a file, as bload-audio(7) shows
data/segments#6	skipped	5 values for "u6", where a segment has 4: utterance, recording, start, end (the channel of a recording cannot be chosen)
data/segments#7	skipped	2 values for "u7", where a segment has 4: utterance, recording, start, end
u8	skipped	data/segments:8: ends before it starts: from 0.5 to 0.25
u9	skipped	data/segments:9: "start" is no time: "x" (seconds, or h:mm:ss.s)
u10	skipped	data/segments:10: "end" is no time: "-2" (seconds, or h:mm:ss.s)
data/segments#11	skipped	the utterance "u11" has no usable line in text
data/segments#12	skipped	1 value for "u12", where a segment has 4: utterance, recording, start, end
data/segments#13	skipped	wav.scp:4: "a" is in line 1 already
data/segments#14	skipped	wav.scp:5: nothing follows "l", where wav.scp has its file
data/segments#15	skipped	wav.scp:7: the recording "g" is not in segments
data/segments#16	skipped	wav.scp:8: the line is not UTF-8
data/segments#17	skipped	text:11: the utterance "u98" is not in segments
data/segments#18	skipped	utt2spk:12: "u1" is in line 1 already
data/segments#19	skipped	utt2spk:13: the utterance "u99" is not in segments
END
    expect 3 bload pack -q data -T longest -o d :verified
    expect 3 bload pack data -T longest -o d :err 'is already complete'
    # Each file is part of the configuration.
    for file in wav.scp segments text utt2spk; do
        cp "data/$file" saved
        sed -i 's/^u1 /u1  /; s/^g /g  /' "data/$file"
        expect 2 bload pack -q data -T longest -o d :err "d holds a dataset of another configuration: list data/$file is "
        cp saved "data/$file"
    done
}

# The loop of the manual page runs the commands of a wav.scp once.
test_the_loop_that_runs_commands() {
    kaldi_folder
    bload scan -q data -o before
    put data/wav.scp "a cat wavs/a.wav |\nl sh -c 'cat wavs/l.wav; cat' |\n"
    mv wavs given
    mkdir wavs data/train
    sed 's|wavs/|given/|' data/wav.scp >data/train/wav.scp
    man -P cat -l "$BLOAD_ROOT/man/bload-audio.7" 2>"$ERR" >page || skip 'no man'
    sed -n '/while read/,/done/p' page >loop
    bash -e loop
    cp wav.scp data
    expect 0 bload scan -q data :out-as before
}

test_folders_of_no_use() {
    kaldi_folder
    rm data/wav.scp
    expect 1 bload pack -q --kind audio data/segments -T longest -o d :err 'skipped data/segments: no wav.scp beside it, which would name the files of the recordings'
    expect 1 bload scan -q --kind audio data :err 'no file in the sources has a name of the kind audio'
    touch data/wav.scp
    expect 3 bload scan -q --kind audio data :err 'the recording "a" of "u1" has no usable line in wav.scp'
    rm data/segments data/text data/utt2spk
    expect 3 bload scan -q --kind audio data :err 'skipped data/wav.scp: an empty list'
    # A recording is named twice.
    put data/wav.scp 'a wavs/a.wav\na wavs/l.wav\n'
    expect 3 bload scan -q data :err 'skipped data/wav.scp#2: "a" is in line 1 already'
    # An utterance is named twice.
    put data/segments 'u1 a 0 1\nu1 a 0 0.5\n'
    expect 3 bload scan -q data :err 'skipped data/segments#2: "u1" is in line 1 already'
    given m.jsonl '{"audio_filepath": "wavs/a.wav"}' expect 2 bload scan -q --kind audio data m.jsonl :err 'pack them separately'
}
