# bload scan and pack of text: documents, bad input, ids, the spool.
# shellcheck shell=bash disable=SC2317,SC2154,SC2086

# Three documents of 3, 11 and 5 bytes.
setup() {
    printf '%s\n' '{"id": 1, "text": "one"}' '{"id": 2, "text": "two, \u00e9\ud83d\ude00"}' '{"meta": {"x": [1, "]}"]}, "text": "three"}' >corpus.jsonl
}

test_documents_of_jsonl() {
    expect 0 bload scan corpus.jsonl --tokenizer bytes :column id 'corpus.jsonl#0 corpus.jsonl#25 corpus.jsonl#70' :column length '3 11 5'
    is 'text text text' "$(field kind <"$OUT" | xargs)"
    err_has 'bload: 1 file: 3 sequences of 19 steps'
    expect 0 bload pack -q corpus.jsonl --tokenizer bytes -T 20 -o d --order keep --eos 256 --bos 257 --pad-id 258
    is "257 111 110 101 256 257 116 119 111 44 32 195 169 240 159 152 128 256 258 258
257 116 104 114 101 101 256 258 258 258 258 258 258 258 258 258 258 258 258 258" "$(tokens d | xargs -n 20)"
    expect 0 bload verify d
    expect 0 bload pack corpus.jsonl --tokenizer bytes -T 20 -o d --order keep --eos 256 --bos 257 --pad-id 258
    err_is <<<'bload: d is already complete: nothing to do'
    expect 2 bload pack corpus.jsonl --tokenizer bytes -T 20 -o d --order keep --bos 257 --pad-id 258 :err 'd holds a dataset of another configuration: eos is'
}

# What is said goes through a column of the table and back, and through what is kept of the configuration.
test_options_of_any_characters_are_packed_as_they_are_scanned() {
    local -a tell
    put t.txt 'a\n---\nb\n' k.jsonl '{"a\\\\b":"xyz", "t\\tb":"y", "n\\nl":"z"}\n'
    for option in 'documents=sep:\n---\n' $'documents=sep:\n---\n' $'documents=sep:\xff' 'documents=sep:\t' 'key=a\b' $'key=t\tb' $'key=n\nl'; do
        source=t.txt
        [ "${option%%=*}" = documents ] || source=k.jsonl
        tell=(-q --tokenizer bytes "--$option" -T 9)
        expect 0 bload scan -q --tokenizer bytes "--$option" $source -o t.tsv
        for _ in first again; do
            expect 0 bload pack "${tell[@]}" $source -o d
            expect 0 bload pack "${tell[@]}" --sequences t.tsv -o s
        done
        expect 0 bload verify -q d
        for i in 0 1; do expect 0 bload scan -q --tokenizer bytes "--$option" --task $i/2 $source -o k; done
        for i in 1 0; do expect 0 bload pack "${tell[@]}" --task $i/2 $source -o k; done
        expect 0 bload finish -q k :same-in d shards.tsv
        same d/shards.tsv s/shards.tsv
        same d/sequences.tsv t.tsv
        rm -r d s k
    done
    for name in 'a\b' $'n\nl' $'t\tb' $'\xff'; do
        expect 2 bload scan k.jsonl --tokenizer bytes --keep "$name" --key 'a\b' :err 'a name is UTF-8 without backslash or control characters'
    done
    expect 0 bload scan -q k.jsonl --tokenizer bytes --keep 'c=a\b,d=n
l' --key 'a\b'
    is 'xyz z' "$(field c <"$OUT") $(field d <"$OUT")"
}

test_options_of_the_tutorial_are_packed_as_they_are_scanned() {
    put x.jsonl '{"content": "a b", "message": {"text": "c"}, "text": "d", "url": "u", "meta": {"id": 7}}\n' x.txt 'one\n\ntwo\n---\nthree\n'
    while IFS='|' read -r file said; do
        grep -qF -e "\`$said\`" "$BLOAD_ROOT/docs/tutorial.md" || fail "docs/tutorial.md does not have $said any more"
        eval "set -- $said"
        [ "$1" != blank-line ] && [ "${1#sep:}" = "$1" ] || set -- --documents "$@"
        for _ in first again; do expect 0 bload pack -q "$file" --tokenizer bytes "$@" -T 40 -o d; done
        rm -r d
    done <<'END'
x.jsonl|--key content
x.jsonl|--key message.text
x.jsonl|--keep url,doc=meta.id
x.jsonl|--dtype u16
x.jsonl|--invalid error
x.txt|--documents line
x.txt|blank-line
x.txt|'sep:\n---\n'
END
}

test_a_key_within_another_and_columns_from_others() {
    printf '%s\n' '{"a": {"b": "x\ty", "text": 0}, "id": "k\\l", "n": [1,  2]}' '{"a": {"b": "last", "c": 1, "b": "wins"}}' '{"a\u002e": 1, "a": {"b": ""}}' >c.jsonl
    sed -i 's/x\ty/x\\ty/' c.jsonl
    expect 0 bload scan -q c.jsonl --tokenizer bytes --key a.b --keep doc=id,n,a.c
    head -n 1 "$OUT" | grep -q 'content	doc	n	a.c$'
    is '3 4 0' "$(field length <"$OUT" | xargs)"
    is 'k\\l|[1,  2]|' "$(field doc 1 <"$OUT")|$(field n 1 <"$OUT")|$(field a.c 1 <"$OUT")"
    is '1' "$(field a.c 2 <"$OUT")"
    expect 0 bload pack -q c.jsonl --tokenizer bytes --key a.b --keep doc=id,n,a.c -T 8 -o d :verified
    is 'k\\l' "$(field doc 1 <d/sequences.tsv)"
    expect 2 bload scan c.jsonl --tokenizer bytes --keep id :err 'the table has a column "id" of its own: give another name, as in text.id=id'
    expect 2 bload scan c.jsonl --tokenizer bytes --key a..b :err '--key: "a..b" is not a key (a.b is b within a, a\.b a name with a dot)'
}

test_bad_lines_are_named_with_their_bytes() {
    {
        printf '%s\n' '{"text": "fine"}' '{"text": 5}' '{"other": "x"}' '{"text": "a",}' 'not json' '' '   ' '{"text": ""}' '{"text": "x" "y"}' '{"text": "half \ud800 pair"}'
        printf '{"text": "bad \xff\xc3 byte"}\n{"text": "unfin'
    } >bad.jsonl
    expect 3 bload scan bad.jsonl --tokenizer bytes :err 'bload: skipped bad.jsonl#17: "text" is a number, not a string or an array of ids'
    err_has 'bload: skipped bad.jsonl#29: no key "text"; the line has ' 'bload: skipped bad.jsonl#44: not JSON at byte 57: expected a key in quotes'
    err_has 'bload: skipped bad.jsonl#59: not JSON at byte 59: expected an object' 'bload: skipped bad.jsonl#73: empty document'
    err_has 'bload: skipped bad.jsonl#86: not JSON at byte 99: expected , or }'
    err_has 'bload: bad.jsonl#104: half a surrogate pair at byte 119: replaced by U+FFFD'
    err_has 'bload: bad.jsonl#133: invalid UTF-8 at byte 147: replaced by U+FFFD (2 in all)'
    err_has 'bload: skipped bad.jsonl#157: not JSON at byte 172: the line ends in a string (the file ends in the middle of this line)'
    is '4 0 0 0 0 0 0 13 15 0' "$(field length <"$OUT" | xargs)"
    expect 3 bload scan bad.jsonl --tokenizer bytes --invalid error :err 'bload: skipped bad.jsonl#104: half a surrogate pair at byte 119'
    err_has 'bload: skipped bad.jsonl#133: invalid UTF-8 at byte 147'
    expect 3 bload pack -q bad.jsonl --tokenizer bytes -T 16 -o d :verified
}

test_numbers_that_only_python_writes() {
    printf '%s\n' '{"text": "ab", "score": NaN}' '{"score": [Infinity, {"x": -Infinity}], "text": "c"}' '{"text": NaN}' \
        '{"text": "d", "score": Nan}' >c.jsonl
    expect 3 bload scan c.jsonl --tokenizer bytes --keep score :column length '2 1 0 0' :err 'bload: skipped c.jsonl#96: not JSON at byte 119: expected a value'
    is 'NaN' "$(field score 1 <"$OUT")"
    err_has 'bload: skipped c.jsonl#82: "text" is NaN or an infinity, not a string or an array of ids'
    is 2 "$(grep -c '^bload: skipped' "$ERR")"
}

test_empty_documents_are_counted_and_cost_nothing() {
    for i in $(seq 25); do echo '{"text": ""}'; done >c.jsonl
    echo '{"text": "x"}' >>c.jsonl
    expect 0 bload scan c.jsonl --tokenizer bytes :err-count 10 '^bload: skipped c.jsonl#.*: empty document' :err 'bload: 25 empty documents skipped'
    expect 0 bload pack c.jsonl --tokenizer bytes -T 4 -o d --on-error fail :err 'bload: 25 empty documents skipped'
    expect 0 bload pack -q c.jsonl --tokenizer bytes -T 4 -o d --on-error fail
    expect 0 bload info d
    ! grep -q '^faults' "$OUT" || fail "empty documents are told as faults"
    given empty.jsonl '' expect 0 bload scan empty.jsonl --tokenizer bytes
    is 'empty.jsonl 0 skipped' "$(cut -f 1,2,6 "$OUT" | tail -n 1 | xargs)"
}

test_of_one_file_the_first_ten_faults_are_told() {
    for i in $(seq 25); do echo '{"words": ""}'; done >a.jsonl
    cp a.jsonl b.jsonl
    echo '{"text": "x"}' >>b.jsonl
    expect 3 bload scan a.jsonl b.jsonl --tokenizer bytes :err-count 10 '^bload: skipped a.jsonl#.*: no key "text"' :err 'bload: 30 more faults: see the table'
    is 10 "$(grep -c '^bload: skipped b.jsonl#.*: no key "text"' "$ERR")"
    is 50 "$(grep -c 'no key' "$OUT")"
    expect 3 bload scan -q a.jsonl b.jsonl --tokenizer bytes -o t.tsv :err 'bload: 30 more faults: see t.tsv'
    for quiet in '' -q; do
        expect 3 bload pack $quiet a.jsonl b.jsonl --tokenizer bytes -T 4 -o "d$quiet" :err "bload: 30 more faults: see d$quiet/sequences.tsv"
        is 1 "$(grep -c 'more faults' "$ERR")"
    done
    expect 3 bload pack a.jsonl b.jsonl --tokenizer bytes -T 4 -o none --dry-run :err 'bload: 30 more faults: bload scan -o TABLE lists them'
    # Nothing can be packed: the table is where the run is kept.
    expect 1 bload pack a.jsonl --tokenizer bytes -T 4 -o bad :err 'bload: 15 more faults: see bad/.bload/sequences.tsv'
    [ -s bad/.bload/sequences.tsv ]
    expect 3 bload scan -q --task 0/1 a.jsonl b.jsonl --tokenizer bytes -o parts
    err_has 'bload: 30 more faults: see the table that bload plan DIR makes of all parts'
    # Of many files the first hundred are told.
    mkdir many
    for i in $(seq 130); do echo '{"words": ""}' >many/$i.jsonl; done
    given many/good.jsonl '{"text": "x"}\n' expect 3 bload scan -q many --tokenizer bytes -o t.tsv :err-count 100 '^bload: skipped'
    err_has 'bload: 30 more faults: see t.tsv'
}

test_plain_text_by_file_line_blank_line_and_separator() {
    put t/x.txt 'a\r\nb\n\n \nc\n\r\n\nd\n\n' t/y.txt '<|>one<|><|>two\n<|>'
    expect 0 bload scan -q t --tokenizer bytes :column id 'x.txt y.txt' :column length '16 19'
    expect 0 bload scan -q t/x.txt --tokenizer bytes --documents line :column length '1 1 0 1 1 0 0 1 0'
    expect 0 bload scan -q t/x.txt --tokenizer bytes --documents blank-line :column id 't/x.txt#0 t/x.txt#6 t/x.txt#13' :column length '3 3 1'
    # What Windows ends lines with leaves nothing in documents that are cut at lines; x\r is no end of a line.
    put crlf.txt 'one\r\ntwo\r\n\r\nx\ry\r\n' lf.txt 'one\ntwo\n\nx\ry\n'
    for rule in line blank-line; do
        for name in crlf lf; do expect 0 bload pack -q $name.txt --tokenizer bytes --documents $rule -T 16 -o "$name-$rule"; done
        is "$(tokens "lf-$rule")" "$(tokens "crlf-$rule")"
    done
    expect 0 bload scan -q t/y.txt --tokenizer bytes --documents 'sep:<|>' :column length '0 3 0 4'
    expect 0 bload scan -q t/y.txt --tokenizer bytes --documents 'sep:\n<\x7C' :column length '15 1'
    expect 2 bload scan t --tokenizer bytes --documents words :err '--documents expects file, line, blank-line or sep:TEXT, not "words"'
}

test_a_folder_stands_for_the_tokenizer_in_it() {
    mkdir -p m/none
    printf '[UNK]\nab\n##c\n' >m/vocab.txt
    given x.txt 'abc ab x' expect 0 bload pack -q x.txt --tokenizer m/vocab.txt -T 4 -o file
    expect 0 bload pack -q x.txt --tokenizer m -T 4 -o folder
    expect 0 bload pack -q x.txt --tokenizer m/ -T 4 -o slash
    diff -r file folder && diff -r file slash
    is '1 2 1 0' "$(tokens folder)"
    echo '{}' >m/tokenizer.json # is preferred
    expect 1 bload scan -q x.txt --tokenizer m :err 'm/tokenizer.json is neither a tokenizer.json (it has no "model") nor named vocab.json'
    expect 2 bload scan -q x.txt --tokenizer m/none
    err_has 'tokenizer m/none: the folder has no tokenizer.json, tokenizer.model, tekken.json, vocab.json or vocab.txt'
}

test_bytes_stay_as_they_are() {
    # A last line may lack its newline.
    given c.jsonl '{"text": "a"}\n{"text": "bc"}' expect 0 bload scan -q c.jsonl --tokenizer bytes :column length '1 2'
    given x.txt '\xef\xbb\xbf a\r\n\t \n\n' expect 0 bload pack -q x.txt --tokenizer bytes -T 11 -o d :tokens '239 187 191 32 97 13 10 9 32 10 10'
}

test_compressed_inputs_are_the_same_documents() {
    expect 0 bload scan -q corpus.jsonl --tokenizer bytes
    cut -f 2 "$OUT" >lengths
    mkdir z
    gzip -c corpus.jsonl >z/a.jsonl.gz
    { head -c 40 corpus.jsonl | gzip -c && tail -c +41 corpus.jsonl | gzip -c && head -c 512 /dev/zero; } >z/b.jsonl.gz
    { head -c 40 corpus.jsonl | zstd -qc && tail -c +41 corpus.jsonl | zstd -qc; } >z/c.jsonl.zst
    cp z/a.jsonl.gz z/d.jsonl # told by its bytes, not by its name
    for name in a.jsonl.gz b.jsonl.gz c.jsonl.zst d.jsonl; do
        expect 0 bload scan -q z/$name --tokenizer bytes
        cut -f 2 "$OUT" | diff lengths -
    done
    expect 0 bload scan -q z --tokenizer bytes
    is 12 "$(field id <"$OUT" | wc -l)"
}

test_compressed_inputs_that_are_cut_off_or_damaged() {
    for i in $(seq 3000); do echo "{\"text\": \"document $i $RANDOM$RANDOM\"}"; done >c.jsonl
    gzip -c c.jsonl >whole.gz
    zstd -qc c.jsonl >whole.zst
    head -c 20000 whole.gz >a.jsonl.gz
    head -c 20000 whole.zst >b.jsonl.zst
    put c.jsonl.gz 'plain\n' d.jsonl.gz ''
    { cat whole.gz && echo tail; } >e.jsonl.gz
    { head -c 3000 whole.gz && echo XXXXXXXX && tail -c +3010 whole.gz; } >f.jsonl.gz
    expect 3 bload scan '[a-f].jsonl.*' --tokenizer bytes
    grep -q '^bload: skipped a.jsonl.gz#[0-9]*: damaged: the gzip data ends in the middle at byte 20000 of the file$' "$ERR"
    grep -q '^bload: skipped b.jsonl.zst\(#[0-9]*\)\?: damaged: the zstd data ends in the middle at byte 20000 of the file$' "$ERR"
    err_has 'bload: skipped c.jsonl.gz: not gzip data, as its name says' 'bload: skipped d.jsonl.gz: empty file'
    grep -q '^bload: skipped e.jsonl.gz#[0-9]*: damaged: the gzip data is followed by other bytes at byte [0-9]* of the file$' "$ERR"
    grep -q '^bload: skipped f.jsonl.gz#[0-9]*: damaged: the gzip data \(is invalid\|has a wrong checksum\) at byte ' "$ERR"
    [ "$(grep -c '^a.jsonl.gz.*ok' "$OUT")" -gt 500 ] || fail "what came before the end was lost"
    expect 3 bload pack -q '[a-f].jsonl.*' --tokenizer bytes -T 64 --oversize split -o d :verified
}

# What is damaged behind the last document, or between documents, keeps those before it.
test_documents_before_the_damage() {
    for i in $(seq 500); do echo "{\"text\": \"document $i $RANDOM\"}"; done >c.jsonl
    head -c -1 c.jsonl >open.jsonl # without the last newline
    expect 0 bload scan -q c.jsonl --tokenizer bytes
    field length <"$OUT" >lengths
    for name in c open; do
        gzip -c $name.jsonl >$name.gz
        zstd -qc $name.jsonl >$name.zst
        { head -c -8 $name.gz && printf XXXX && tail -c 4 $name.gz; } >$name-sum.jsonl.gz
        { head -c -4 $name.gz && printf XXXX; } >$name-size.jsonl.gz
        { head -c -4 $name.zst && printf XXXX; } >$name-sum.jsonl.zst
        { cat $name.gz && echo tail; } >$name-tail.jsonl.gz
        { cat $name.zst && echo a tail; } >$name-tail.jsonl.zst
        head -c -4 $name.gz >$name-short.jsonl.gz
    done
    for file in *-*.jsonl.*; do
        case $file in
            *-sum*) what='has a wrong checksum' ;;
            *-size*) what='has a wrong checksum' ;;
            *-tail*) what='is followed by other bytes' ;;
            *) what='ends in the middle' ;;
        esac
        expect 3 bload scan $file --tokenizer bytes :err-like "^bload: skipped $file#[0-9]*: damaged: the [gz][a-z]* data $what at byte [0-9]* of the file\$"
        case $file in
            open-short*) field length <"$OUT" | diff <(sed '$s/.*/0/' lengths) - ;; # of the last document it is not known
            *) field length <"$OUT" | diff <(cat lengths && echo 0) - ;;
        esac
        # A pipe may deliver the file in any pieces.
        expect 3 bload scan -q - --tokenizer bytes < <(head -c 100 $file && sleep 0.02 && tail -c +101 $file)
        is "$(wc -l <lengths)" "$(field length <"$OUT" | grep -cv '^0$' | sed "s/^499\$/500/")"
    done
    # Of damage in a frame of zstd, the blocks before it stay.
    head -c 1000000 /dev/zero | tr '\0' '\n' | awk '{ print "line " NR }' >long.txt
    zstd -qc long.txt >long.zst
    { head -c $(($(wc -c <long.zst) / 2)) long.zst && printf XXXXXXXX && tail -c 9 long.zst; } >long.txt.zst
    expect 3 bload scan long.txt.zst --tokenizer bytes --documents line :err-like '^bload: skipped long.txt.zst#[0-9]*: damaged: the zstd data '
    [ "$(wc -l <"$OUT")" -gt 100000 ] || fail "what came before the damage was lost"
    diff <(head -n $(($(wc -l <"$OUT") - 2)) long.txt | awk '{ print length($0) }') <(field length <"$OUT" | head -n -1)
    # The damage is told, however many documents were skipped before.
    for i in $(seq 2000); do echo "{\"texts\": \"$i\"}"; done | gzip -c | head -c -4 >none.jsonl.gz
    expect 3 bload scan none.jsonl.gz --tokenizer bytes :err-count 10 'no key "text"' :err 'bload: 1,990 more faults: see the table'
    grep -q '^bload: skipped none.jsonl.gz#[0-9]*: damaged: the gzip data ends in the middle' "$ERR"
    # A file that is one document is not taken for whole.
    gzip -c lengths | head -c -8 >one.txt.gz && printf XXXXXXXX >>one.txt.gz
    expect 3 bload scan one.txt.gz --tokenizer bytes
    is 'one.txt.gz 0 skipped' "$(cut -f 1,2,6 "$OUT" | tail -n 1 | xargs)"
}

test_a_line_and_a_bomb_that_are_too_long() {
    sanitizer_skip 'a matter of size: it takes minutes where threads are watched' tsan
    { printf '{"text": "a"}\n{"text": "' && head -c 300000000 /dev/zero | tr '\0' x && printf '"}\n{"text": "b"}\n'; } >long.jsonl
    head -c 1000000000 /dev/zero | gzip -1 >bomb.txt.gz
    # Sanitizers want all of the addresses there are.
    (case ${VARIANT-release} in release) ulimit -v 1500000 ;; esac
    expect 3 bload scan -j 1 long.jsonl bomb.txt.gz --tokenizer bytes)
    err_has 'bload: skipped long.jsonl#14: longer than 256.0 MiB (--max-document)'
    err_has 'bload: skipped bomb.txt.gz: longer than 256.0 MiB (--max-document)'
    is '0 1 0 1' "$(field length <"$OUT" | xargs)"
    expect 3 bload scan -q long.jsonl --tokenizer bytes --max-document 13 :column length '1 0 1'
}

test_texts_of_several_keys() {
    printf '%s\n' '{"q": {"t": "ab"}, "a": "c\u00e9"}' '{"a": "", "q": {"t": "d"}}' '{"a": "", "q": {"t": ""}}' '{"q": {"t": "e"}}' \
        '{"q": {"t": [1]}, "a": "x"}' '{"q": {"t": "f"}, "a": null}' '{"q": {"t": "g\ud800"}, "a": "h\ud800"}' >c.jsonl
    expect 3 bload pack c.jsonl --tokenizer bytes --key q.t,a --keep a -T 32 -o d --order keep :made length '6 2 0 0 0 0 9'
    is '97 98 10 99 195 169 100 10 103 239 191 189 10 104 239 191 189' "$(tokens d | sed 's/\( 0\)*$//')"
    err_has 'bload: skipped c.jsonl#62: empty document' 'bload: skipped c.jsonl#88: no key "a"; the line has "q" (--key)'
    err_has 'bload: skipped c.jsonl#106: "q.t" is an array, not a string' 'bload: skipped c.jsonl#134: "a" is true, false or null, not a string'
    err_has 'bload: c.jsonl#163: half a surrogate pair at byte 177: replaced by U+FFFD; half a surrogate pair at byte 194: replaced by U+FFFD'
    # What is between them is part of the dataset's identity.
    expect 3 bload pack -q c.jsonl --tokenizer bytes --key q.t,a --keep a -T 32 -o d --order keep
    expect 2 bload pack c.jsonl --tokenizer bytes --key q.t,a --keep a -T 32 -o d --order keep --join '\n\n' :err 'join'
    head -n 2 c.jsonl >two.jsonl
    while read -r join bytes; do
        rm -rf e
        expect 0 bload pack -q two.jsonl --tokenizer bytes --key a,q.t,a -T 20 -o e --order keep --join "$join"
        is "$bytes" "$(tokens e | sed 's/\( 0\)*$//')"
    done <<'END'
\t\\ 99 195 169 9 92 97 98 9 92 99 195 169 9 92 100 9 92
, 99 195 169 44 97 98 44 99 195 169 44 100 44
END
    expect 3 bload scan -q c.jsonl --tokenizer bytes --key q.t,a --invalid error :column length '6 2 0 0 0 0 0'
    for bad in 'a,' ',a' 'a,,b' 'a,b..c'; do
        expect 2 bload scan c.jsonl --tokenizer bytes --key "$bad" :err 'is not a key (a.b is b within a, a\.b a name with a dot)'
    done
    expect 2 bload scan c.jsonl --tokenizer bytes --key a --join x :err '--join is for the texts of several keys'
    expect 2 bload scan c.jsonl --key a,b :err '--key: the texts of several keys need --tokenizer'
    for bad in '\q' '\xff'; do expect 2 bload scan c.jsonl --tokenizer bytes --key a,b --join "$bad"; done
    expect 2 bload scan c.jsonl --tokenizer bytes --key "$(seq -s , 33)" :err 'more than 32 keys in --key, --keep and --field'
    expect 3 bload scan c.jsonl --tokenizer bytes --key "$(seq -s , 32)"
}

# A separator is no text: what has nothing else is empty, and what has one text is not.
test_texts_that_are_all_empty() {
    printf '{"a": "%s", "b": "%s"}\n' '' '' x '' '' y '' '' >t.jsonl
    for join in '\n' ' ' ', a, ' '\x00'; do
        expect 0 bload scan t.jsonl --tokenizer bytes --key a,b --join "$join" :err 'bload: 2 empty documents skipped'
        is 'skipped empty document,ok ,ok ,skipped empty document' "$(cut -f 6,7 "$OUT" | tail -n +2 | tr '\t' ' ' | paste -sd ,)"
    done
}

test_standard_input() {
    expect 0 bload pack -q corpus.jsonl --tokenizer bytes -T 20 -o d
    expect 0 bload pack -q - --tokenizer bytes -T 20 -o e <corpus.jsonl :same-in d shards/00000/shard-00000000.safetensors :made id '-#0 -#25 -#70'
    expect 0 bload pack - --tokenizer bytes -T 20 -o e <corpus.jsonl :err-is 'bload: e is already complete: nothing to do'
}

test_a_table_that_was_scanned_before_and_its_spool() {
    given x.txt 'plain text\n' expect 0 bload pack -q --kind text corpus.jsonl x.txt --tokenizer bytes -T 20 -o d
    expect 0 bload scan -q --kind text corpus.jsonl x.txt --tokenizer bytes --spool spool -o t.tsv
    compgen -G 'spool/*.steps' >/dev/null || fail "no spool"
    expect 0 bload pack -q --sequences t.tsv --tokenizer bytes -T 20 -o e :same-in d shards/00000/shard-00000000.safetensors
    expect 0 bload pack -q --sequences t.tsv --tokenizer bytes -T 20 -o f --spool spool :same-in d shards/00000/shard-00000000.safetensors :none spool
    # A part of the rows, in another order.
    { head -n 1 t.tsv && tail -n 2 t.tsv && sed -n 2p t.tsv; } >some.tsv
    expect 0 bload pack -q --sequences some.tsv --tokenizer bytes -T 20 -o g :verified
    expect 2 bload pack -q --sequences t.tsv --tokenizer bytes -T 20 -o h --eos 3 :err 'the table was scanned with sampling'
    expect 2 bload pack -q --sequences t.tsv -T 20 -o h :err 'the table was scanned with sampling'
}

# What does not fit into the memory that is left for it is brought into the order of the shards first: to the same bytes.
test_a_spool_that_is_larger_than_memory() {
    awk 'BEGIN { for (i = 0; i < 20000; i++) { ids = m = i % 100; for (k = 1; k < 30 + i % 20; k++) { ids = ids "," i + k; m = m "," k } printf "{\"ids\": [%s], \"m\": [%s]}\n", ids, m } }' >c.jsonl
    set -- --key ids --field m=m:u8 -T 64 --oversize split --shard-size 400K
    expect 0 bload pack c.jsonl "$@" -o d :err-lacks bucketed
    for jobs in 1 3; do
        rm -rf e
        expect 0 bload pack c.jsonl "$@" -o e -j $jobs --memory 35M :same-as d
        grep -q 'the spool has .*, more than the remaining memory, .*: it is first bucketed by shard' "$ERR"
    done
    # Shards that are there stay; only what the others need is bucketed again.
    expect 0 bload scan -q c.jsonl "${@:1:4}" --spool kept -o t.tsv
    sed 's/c.jsonl#0\t30/c.jsonl#0\t31/' t.tsv >lies.tsv
    for name in f g; do
        [ $name = f ] && limit= || limit='--memory 35M'
        expect 3 bload pack --sequences lies.tsv "$@" -o $name $limit :err 'bload: failed c.jsonl#0: has 30 tokens, the table says 31'
    done
    diff -r f g
    # A spool that was cut is not taken for whole.
    expect 0 bload scan -q c.jsonl "${@:1:4}" --spool kept -o t.tsv
    shorten 1 kept/*.steps
    expect 0 bload pack --sequences t.tsv "$@" -o h --memory 35M --spool kept :same-in d shards/00000/shard-00000003.safetensors :none kept
}

test_a_table_that_lies() {
    expect 0 bload scan -q corpus.jsonl --tokenizer bytes -o t.tsv
    sed 's/corpus.jsonl#25\t11/corpus.jsonl#25\t12/; s/#70/#71/' t.tsv >lying.tsv
    expect 1 bload pack --sequences lying.tsv --tokenizer bytes -T 20 -o c :err 'corpus.jsonl changed since the scan: the document at byte 71 is another one'
    strange lying.tsv >lies.tsv
    expect 3 bload pack --sequences lies.tsv --tokenizer bytes -T 20 -o d :err 'bload: failed corpus.jsonl#25: has 11 tokens, the table says 12' :verified
    err_has 'bload: failed corpus.jsonl#71: no document begins there'
    is 'ok failed failed' "$(field status <d/sequences.tsv | xargs)"
    # A file that is another one now, or gone.
    echo '{"text": "four"}' >>corpus.jsonl
    sed -i 's/#25/#26/' t.tsv
    expect 1 bload pack --sequences t.tsv --tokenizer bytes -T 20 -o e :err 'the inputs changed since the scan: corpus.jsonl has a different size'
    rm corpus.jsonl
    expect 1 bload pack --sequences t.tsv --tokenizer bytes -T 20 -o f :err 'the inputs changed since the scan: corpus.jsonl is gone'
}

test_ids_of_a_megatron_pair_and_of_json() {
    printf 'MMIDIDX\0\0\1\0\0\0\0\0\0\0\10\3\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0' >m.idx
    printf '\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >>m.idx
    given m.bin '\1\0\2\0\3\0\377\377\5\0' expect 0 bload scan -q m.idx :column length '2 0 3'
    expect 0 bload pack -q m.idx -T 5 -o d --order keep :tokens '1 2 3 65535 5'
    head -c 60 m.idx >cut.idx
    cp m.bin cut.bin
    expect 3 bload scan cut.idx :err 'skipped cut.idx: 60 bytes are not what 3 sequences and 1 documents take'
    head -c 6 m.bin >short.bin
    cp m.idx short.idx
    expect 3 bload scan short.idx :err 'skipped short.idx#42: 3 tokens from byte 4 are beyond the .bin file (6 bytes)'
    # The first token of all is no id: nothing is allocated yet.
    printf 'MMIDIDX\0\0\1\0\0\0\0\0\0\0\3\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0' >signed.idx
    printf '\0\0\0\0\0\0\0\0' >>signed.idx
    given signed.bin '\377\377' expect 3 bload scan signed.idx :err 'skipped signed.idx#34: token 0 is -1: an id is a number from 0 to 2147483647'
    printf '%s\n' '{"ids": [7, 8]}' '{"ids": []}' '{"ids": [1.5]}' '{"ids": [-1]}' '{"ids": [1e9]}' >i.jsonl
    expect 3 bload scan i.jsonl --key ids :err 'skipped i.jsonl#28: token 0 is no id (a whole number)' :column length '2 0 0 0 0'
    err_has 'skipped i.jsonl#43: token 0 is -1: an id is a number from 0 to 2147483647'
    expect 2 bload scan none.jsonl
    expect 2 bload scan corpus.jsonl :err 'the inputs hold text: use --tokenizer FILE, or --tokenizer bytes'
}

# An index of Megatron's: megatron DOCUMENT-INDEX... has sequences of 2, 0, 3, 1 tokens, 1 to 6.
megatron() {
    local entry
    printf 'MMIDIDX\0\0\1\0\0\0\0\0\0\0\10\4\0\0\0\0\0\0\0\'$#'\0\0\0\0\0\0\0'
    printf '\2\0\0\0\0\0\0\0\3\0\0\0\1\0\0\0'
    printf '\0\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\12\0\0\0\0\0\0\0'
    for entry; do printf '\'"$entry"'\0\0\0\0\0\0\0'; done
}

test_documents_of_megatron() {
    printf '\1\0\2\0\3\0\4\0\5\0\6\0' >m.bin
    megatron 0 3 3 4 >m.idx
    expect 0 bload scan -q m.idx :column length '2 0 3 1'
    expect 0 bload pack -q m.idx --megatron document -T 12 -o d --order keep --bos 8 --eos 9 :tokens '8 1 2 3 4 5 9 8 6 9 0 0' :verified
    is 'm.idx#82 m.idx#90 m.idx#98' "$(field id <d/sequences.tsv | xargs)"
    is 'ok skipped ok' "$(field status <d/sequences.tsv | xargs)"
    expect 2 bload pack m.idx -T 12 -o d --order keep --bos 8 --eos 9 :err 'megatron'
    # A document with a sequence that is not there is of no use, nor is one that is too long.
    head -c 8 m.bin >short.bin
    cp m.idx short.idx
    expect 3 bload scan short.idx --megatron document :err 'skipped short.idx#82: 3 tokens from byte 4 are beyond the .bin file (8 bytes)'
    expect 3 bload scan m.idx --megatron document --max-document 9 :err 'skipped m.idx#82: longer than 9 bytes (--max-document)' :column length '0 0 1'
    for bad in '1 3 4|0 1|' '0 3 2 4|2 2|#98' '0 3 5|2 5|#98' '0 2 3|2 3|#98' '0|0 0|' '0 3 2|2 2|#98'; do
        IFS='|' read -r entries which offset <<<"$bad"
        megatron $entries >m.idx
        expect 3 bload scan m.idx --megatron document
        err_has "skipped m.idx$offset: entry ${which% *} of the document index is ${which#* }: it must go from 0 to the 4 sequences, and never back"
        is "$(field id <"$OUT" | wc -l)" "$(field id <"$OUT" | sort -u | wc -l)"
        expect 0 bload scan -q m.idx
    done
    megatron >m.idx
    expect 3 bload scan m.idx --megatron document :err 'skipped m.idx: there is no document index (--megatron sequence needs none)'
}

# Of the same size, and for Megatron beside the file that was named: what is packed is what was scanned, or nothing.
test_files_that_change_between_scan_and_pack() {
    printf 'MMIDIDX\0\0\1\0\0\0\0\0\0\0\10\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\3\0\0\0' >m.idx
    printf '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >>m.idx
    printf '\1\0\2\0\3\0' >m.bin
    # It ends after the scan.
    expect 2 bload pack -q m.idx -T 3 -o d --memory 1
    cp -p m.bin was.bin
    given m.bin '\4\0\5\0\6\0' expect 1 bload pack -q m.idx -T 3 -o d :err 'm.idx changed since the scan: scan again, with another spool than d/.bload/spool'
    cp -p was.bin m.bin
    expect 0 bload pack -q m.idx -T 3 -o d :tokens '1 2 3'
    # A scan takes what there is.
    expect 0 bload scan -q m.idx --spool kept -o t.tsv
    given m.bin '\4\0\5\0\6\0' expect 1 bload pack -q --sequences t.tsv -T 3 -o e --spool kept :err 'm.idx changed since the scan'
    expect 0 bload pack -q m.idx -T 3 -o f --spool kept :tokens '4 5 6'
    expect 0 bload scan -q corpus.jsonl --tokenizer bytes --spool kept -o t.tsv
    sed -i s/three/THREE/ corpus.jsonl
    expect 1 bload pack -q --sequences t.tsv --tokenizer bytes -T 20 -o g --spool kept :err 'corpus.jsonl changed since the scan'
}

test_fields_beside_the_tokens() {
    printf '%s\n' '{"ids": [1, 2, 3], "mask": [0, 1, 1], "labels": [-100, 2, 3]}' '{"ids": [4], "mask": [1, 1], "labels": [4]}' '{"ids": [4], "mask": [300], "labels": [4]}' '{"ids": [4], "labels": [4]}' >f.jsonl
    expect 3 bload pack f.jsonl --key ids --field loss_mask=mask:u8,labels=labels -T 4 -o d :verified :err 'skipped f.jsonl#149: no key "mask"'
    err_has 'skipped f.jsonl#62: loss_mask has 2 values for 1 tokens' 'skipped f.jsonl#106: loss_mask: value 0 is no number that fits U8: 300'
    given plain.txt 'plain\n' expect 3 bload pack plain.txt f.jsonl --key ids --tokenizer bytes --field labels=labels -T 8 -o plain :manifest failed 0
    err_has 'skipped plain.txt: no values of "labels": only lines of JSON have keys (--field)'
    expect 2 bload pack f.jsonl --key ids --field labels=labels --eos 5 -T 4 -o e :err '--field has one number for each token of the inputs'
    for dtype in u5 float32x int32-or-so; do
        expect 2 bload pack f.jsonl --key ids --field labels=labels:$dtype -T 4 -o e :err "a field's type is u8, i8, u16, i16, i32, i64 or f32"
    done
}

# A number of each document is a tensor [n,S] of the shards, and stays a column.
test_numbers_of_documents() {
    printf '%s\n' '{"text": "abc", "r": {"score": -1.5e-3}, "label": true, "dc:title": "x"}' '{"text": "de", "r": {"score": 7}, "label": false}' \
        '{"label": 1, "text": "f", "r": {"score": 0}}' >n.jsonl
    expect 0 bload pack n.jsonl --tokenizer bytes --keep score=r.score:number,label:number,dc:title -T 4 -o d --order keep :verified :made score '-1.5e-3 7 0'
    err_has 'bload: attributes: score F64, label F64'
    is 'score label dc:title' "$(head -n 1 d/sequences.tsv | cut -f 11- | tr '\t' ' ')"
    is '1 0 1' "$(field label <d/sequences.tsv | xargs)"
    is '-0.0015 0 7 0' "$(values d score f8)"
    is '1 0 0 1' "$(values d label f8)"
    expect 0 bload info d :out 'attributes  score F64, label F64'
    # Where and group-by find the columns; threads and tasks give the same.
    expect 0 bload pack -q n.jsonl --tokenizer bytes --keep score=r.score:number,label:number,dc:title -T 4 -o one --order keep -j 1 :same-as d
    in_tasks 2 n.jsonl --tokenizer bytes --keep score=r.score:number,label:number,dc:title -T 4 --order keep -o two :same-as d
    expect 0 bload view -q d -T 6 --where 'score >= 0' --order keep -o v :verified
    expect 0 bload info v :out 'attributes  score F64, label F64'
    expect 0 bload pack -q v -o of-view
    is '7 0' "$(values of-view score f8)"
    # A column that is kept as text is what it was, without a tensor.
    expect 0 bload pack -q n.jsonl --tokenizer bytes --keep label -T 4 -o text :made label 'true false 1'
    is '[]' "$(tr -d ' \n' <text/manifest.json | sed 's/.*"attributes":\(\[[^]]*\]\).*/\1/')"
}

# A document costs itself alone, with the place and the reason.
test_numbers_that_are_none() {
    local at=0 line reasons=() row=0
    while IFS='|' read -r line reason; do
        printf '%s\n' "$line" >>bad.jsonl
        reasons+=("bad.jsonl#$at: $reason")
        at=$((at + ${#line} + 1))
    done <<'END'
{"text": "a", "w": "1"}|"w" is a string, not a number
{"text": "a"}|no key "w"; the line has "text" (--keep)
{"text": "a", "w": null}|w: null is no number
{"text": "a", "w": [1]}|"w" is an array, not a number
{"text": "a", "w": NaN}|"w" is NaN or an infinity, not a number
{"text": "a", "w": 1e999}|w: F64 cannot hold 1e999
{"text": "a", "w": 9007199254740993}|w: F64 cannot hold 9007199254740993
{"text": "a", "w": 100000000000000000000}|w: F64 cannot hold 100000000000000000000
END
    echo '{"text": "a", "w": 9007199254740992}' >>bad.jsonl
    given plain.txt 'plain\n' expect 3 bload pack bad.jsonl plain.txt --tokenizer bytes --keep w:number -T 4 -o d
    for reason in "${reasons[@]}"; do err_has "bload: skipped $reason"; done
    err_has 'bload: skipped plain.txt: no key "w": only lines of JSON and rows have keys (--keep)'
    row=$((${#reasons[@]} + 1))
    is '9007199254740992' "$(field w $row <d/sequences.tsv)"
    is '1' "$(field w 1 <d/sequences.tsv)$(field status <d/sequences.tsv | grep -c ok)"
    expect 0 bload verify -q d
    while IFS='|' read -r keep message; do expect 2 bload pack bad.jsonl --tokenizer bytes --keep "$keep" -T 4 -o e :err "$message"; done <<'END'
length=w:number|the table has a column "length" of its own
tokens=w:number|--keep: "tokens" is the name of a tensor of the shards: give another one, as in NAME=KEY:number
sequence=w:number|--keep: "sequence" is the name of a tensor of the shards
w:f32|--keep "w:f32": a number of each document is KEY:number (F64)
a=w:number,a=v:number|--keep: two columns "a"
a=:number|"" is not a key
END
}

# Values of CSV are texts: one that is written as a number is one.
test_numbers_of_rows() {
    printf '%s\n' 'text,w' a,0.5 '"b ""q"" C:\new\",-2e3' c,true d, 'e," 7 "' f,abc g,1e999 h,null >n.csv
    tr , '\t' <n.csv >n.tsv
    for source in n.csv n.tsv; do
        expect 3 bload pack $source --kind text --tokenizer bytes --keep w:number --dedup-by text -T 8 --oversize split --overlap 2 -o d-$source
        is '0.5 -2e3 1 7' "$(field w <d-$source/sequences.tsv | xargs)"
        for reason in 'w: "" is no number' 'w: "abc" is no number' 'w: F64 cannot hold 1e999' 'w: "null" is no number'; do err_has ": $reason"; done
        expect 0 bload info d-$source :out 'attributes  w F64'
    done
    # The text of a row is compared as it is, without its quotes: equal to one of JSON.
    given n.jsonl '{"text": "b \\"q\\" C:\\\\new\\\\"}\n' expect 0 bload pack -q n.csv n.jsonl --kind text --tokenizer bytes --dedup-by text -T 64 -o one
    grep -q $'^n.jsonl#0\t.*left out by --dedup-by text: the text of n.csv#13' one/sequences.tsv
}

# Counted are pieces as they are stored, and blocks: after the cut.
test_tokens_that_nothing_trains() {
    python3 - >m.jsonl <<'END'
import json
for length, first in (10, 5), (40, 30), (8, 99), (64, 50), (16, 0):
    print(json.dumps({"ids": list(range(length)), "m": [int(t >= first) for t in range(length)], "labels": [t if t >= first else -100 for t in range(length)]}))
END
    local base=(m.jsonl --key ids -T 20 --order keep --shard-size 1)
    untrained() { echo "$(word untrained <"$1/manifest.json") $(word untrained_blocks <"$1/manifest.json")"; }
    expect 0 bload pack "${base[@]}" --field loss_mask=m:u8 --oversize truncate -o cut :verified
    err_has 'bload: 3 sequences, or parts of them, have no trained token, and 3 blocks have no trained token at all: a mean loss is NaN there (--min-trained 1 leaves out'
    is '3 3' "$(untrained cut)"
    expect 0 bload info cut :out 'untrained   3 sequences, or parts of them, have no trained token'
    expect 0 bload report cut -o page.html
    grep -q '3 sequences, or parts of them, have no trained token' page.html
    # Other types of masks say the same; both together train what both train.
    for field in loss_mask=m loss_mask=m:f32 labels=labels labels=labels:i16 labels=labels:f32 labels=labels,loss_mask=m:i64; do
        expect 0 bload pack -q "${base[@]}" --field $field --oversize truncate -o "$field"
        is '3 3' "$(untrained "$field")"
    done
    expect 0 bload pack -q "${base[@]}" --field loss_mask=m:u8 --oversize split -o split
    is '4 4' "$(untrained split)"
    # Steps that a piece repeats are trained in the piece before.
    python3 -c 'print({"ids": [*range(40)], "m": [int(14 <= t < 20) for t in range(40)]})' | tr "'" '"' >one.jsonl
    expect 0 bload pack -q one.jsonl --key ids -T 20 --field loss_mask=m:u8 --oversize split --overlap 6 -o overlap
    is '2 2' "$(untrained overlap)"
    # Where no field says it, nothing is said.
    expect 0 bload pack "${base[@]}" --field mask=m:u8 --oversize truncate -o none
    ! grep 'trained' "$ERR" none/manifest.json || fail 'no mask of the loss'
    # Tasks and a run that goes on add up the same.
    for i in 1 0 2; do expect 0 bload pack -q "${base[@]}" --field loss_mask=m:u8 --oversize truncate --task $i/3 -o tasks; done
    expect 0 bload finish tasks :err '3 sequences, or parts of them, have no trained token' :same-as cut
    expect 0 bload pack -q "${base[@]}" --field loss_mask=m:u8 --oversize truncate --task 0/2 -o again
    expect 0 bload pack -q "${base[@]}" --field loss_mask=m:u8 --oversize truncate -o again :same-as cut
    rm again/shards/00000/shard-00000001.safetensors
    expect 0 bload pack -q "${base[@]}" --field loss_mask=m:u8 --oversize truncate -o again :same-as cut
    # A copy of a view counts what it copies.
    expect 0 bload view -q cut -T 40 -o v
    expect 0 bload pack -q v -o copy
    is '3 1' "$(untrained copy)"
}

# Masks of booleans, and whole numbers that were written as floats.
test_fields_of_booleans_and_of_floats() {
    printf '%s\n' '{"ids": [1, 2, 3], "m": [true, false ,true]}' '{"ids": [4, 5, 6], "m": [1.0, 0e0, 25.5e1]}' \
        '{"ids": [7, 8], "m": [-0.0, 1]}' >f.jsonl
    for dtype in u8:u1 i16:d2 i64:d8 f32:f4; do
        expect 0 bload pack f.jsonl --key ids --field m=m:${dtype%:*} -T 8 -o ${dtype%:*} --order keep
        is '1 0 1 1 0 255 0 1' "$(values ${dtype%:*} m ${dtype#*:} | sed s/-0/0/)"
    done
    printf '%s\n' '{"ids": [1, 2], "m": [1, 1.5]}' '{"ids": [1], "m": [256.0]}' '{"ids": [1], "m": [null]}' '{"ids": [1], "m": ["1"]}' \
        '{"ids": [1], "m": [NaN]}' '{"ids": [1], "m": [-1e0]}' '{"ids": [1], "m": [[1]]}' '{"ids": [1], "m": true}' '{"ids": [true], "m": [1]}' >bad.jsonl
    expect 3 bload scan bad.jsonl f.jsonl --key ids --field m=m:u8
    for reason in 'm: value 1 is no number that fits U8: 1.5' 'm: value 0 is no number that fits U8: 256.0' \
        'm: value 0 is no number that fits U8: null' 'm: value 0 is no number that fits U8: "1"' 'm: value 0 is no number that fits U8: NaN' \
        'm: value 0 is no number that fits U8: -1e0' 'm: value 0 is no number that fits U8: [1]' \
        '"m" is true, false or null, not an array' 'token 0 is no id (a whole number)'; do
        grep -qF "$reason" "$OUT" || fail "no row for: $reason"
    done
    printf '%s\n' '{"ids": [1], "m": [9223372036854775807]}' '{"ids": [1], "m": [-9223372036854775808]}' '{"ids": [1], "m": [1e3]}' >long.jsonl
    expect 0 bload scan -q long.jsonl --key ids --field m=m:i64
    printf '%s\n' '{"ids": [1], "m": [9223372036854775808]}' '{"ids": [1], "m": [1e19]}' '{"ids": [1], "m": [9223372036854775808.0]}' >long.jsonl
    expect 1 bload pack -q long.jsonl --key ids --field m=m:i64 -T 2 -o l
    given long.jsonl '{"ids": [1], "m": [3e38]}\n{"ids": [1], "m": [3.5e38]}\n' expect 3 bload scan -q long.jsonl --key ids --field m=m:f32 :column length '1 0'
}

# An odd line costs itself, wherever it stands; a file of text needs a tokenizer.
test_odd_lines_among_ids() {
    { echo '{"ids": "a header"}'; for i in $(seq 20); do echo "{\"ids\": [$i, 1, 2]}"; done
      printf '%s\n' '{"ids": "text"}' '{"ids": ""}' '{"ids": {"a": 1}}' '[1, 2]' '{"ids": [1, "2"]}' '{"ids": [3]}'; } >c.jsonl
    expect 3 bload pack c.jsonl --key ids -T 8 -o d :err 'bload: skipped c.jsonl#0: "ids" is a string, not an array of ids (text needs --tokenizer)' :verified
    grep -q '^bload: skipped c.jsonl#[1-9][0-9]*: "ids" is a string, not an array of ids (text needs --tokenizer)$' "$ERR"
    is '21 ok 6 skipped' "$(field status <d/sequences.tsv | sort | uniq -c | xargs)"
    # With a tokenizer both are of use.
    expect 3 bload scan -q c.jsonl --key ids --tokenizer bytes
    is '23 ok 4 skipped' "$(field status <"$OUT" | sort | uniq -c | xargs)"
    { for i in $(seq 15); do echo '{"ids": "text"}'; done && echo '{"ids": [1]}'; } >late.jsonl
    expect 3 bload scan -q late.jsonl --key ids
    is '1 ok 15 skipped' "$(field status <"$OUT" | sort | uniq -c | xargs)"
    { for i in $(seq 16); do echo '{"ids": "text"}'; done && echo '{"ids": [1]}'; } >late.jsonl
    # The first part of a large file may have too few lines to tell.
    head -c 35000000 /dev/zero | tr '\0' x | sed 's/.*/{"ids": "&"}/' >text
    { cat text && echo && cat text && echo; } >large.jsonl
    expect 2 bload scan large.jsonl --key ids
    echo '{"ids": [1]}' >>large.jsonl
    expect 3 bload scan -q large.jsonl --key ids :column length '0 0 1'
    for file in late.jsonl one.jsonl; do
        echo '{"ids": "text"}' >one.jsonl
        expect 2 bload scan c.jsonl $file --key ids :err 'the inputs hold text: use --tokenizer FILE, or --tokenizer bytes' :err-count 0 late.jsonl
    done
}

test_tokens_that_the_tokenizer_adds() {
    local words='"pre_tokenizer": {"type": "BertPreTokenizer"}, "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3}}'
    local bert='{"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}'
    echo "{\"post_processor\": $bert, $words}" >tokenizer.json
    printf '%s\n' '{"text": "a a"}' '{"text": ""}' '{"text": [3, 0]}' >c.jsonl
    set -- c.jsonl --tokenizer tokenizer.json -T 16 --order keep
    expect 0 bload pack -q "$@" --add-special-tokens -o d :tokens '1 3 3 2 1 3 0 2 0 0 0 0 0 0 0 0'
    grep -q 'begin 1, end 2, padding 0' d/manifest.json || fail "the manifest does not say it"
    expect 0 bload pack -q "$@" --bos '[CLS]' --eos '[SEP]' -o e
    same <(tokens d) <(tokens e)
    # What is added is part of the dataset's identity, and of a table's.
    expect 2 bload pack "$@" -o d
    expect 0 bload scan -q c.jsonl --tokenizer tokenizer.json --add-special-tokens -o t.tsv
    expect 2 bload pack --sequences t.tsv "${@:2}" -o f :err 'the table was scanned with sampling'
    expect 2 bload scan "${@:1:3}" --add-special-tokens --eos 2 :err '--add-special-tokens and --eos both say what documents end with: use one of them'
    expect 2 bload scan "${@:1:3}" --add-special-tokens --bos 2 :err '--add-special-tokens and --bos both say what documents begin with: use one of them'
    expect 2 bload scan "${@:1:3}" --add-special-tokens --field m=m :err '--field has one number for each token of the inputs'
    expect 2 bload scan c.jsonl --add-special-tokens
    expect 2 bload scan c.jsonl --tokenizer bytes --add-special-tokens :err '--add-special-tokens is for a tokenizer.json; bytes have none'
    given vocab.txt '[UNK]\na\n' expect 2 bload scan c.jsonl --tokenizer vocab.txt --add-special-tokens
    err_has '--add-special-tokens: vocab.txt has no post-processor, which a tokenizer.json has: name the tokens by --bos and --eos'
    echo "{\"post_processor\": null, $words}" >tokenizer.json
    expect 0 bload scan "${@:1:3}" --add-special-tokens :err 'it has no post-processor that adds tokens, so --add-special-tokens adds none'
    echo "{\"post_processor\": {\"type\": \"Other\"}, $words}" >tokenizer.json
    expect 0 bload scan -q "${@:1:3}"
    expect 1 bload scan "${@:1:3}" --add-special-tokens :err 'tokenizer.json: not supported: the post-processor "Other"'
    echo "{\"post_processor\": {\"type\": \"Other\"}, \"normalizer\": {\"type\": \"Another\"}, $words}" >tokenizer.json
    expect 1 bload scan "${@:1:3}" --add-special-tokens :err 'not supported: the normalizer "Another", the post-processor "Other"'
}

# Letters, each of them a token (a is 0, é 10), and tokens of fill-in-the-middle: 12 begins the prefix, 13 the middle, 14 the suffix.
fim_tokenizer() {
    python3 - "$@" >tokenizer.json <<'END'
import json, sys
letters = "abcdefgh xé😀"
names = [*sys.argv[1:4], "<s>", "</s>"]
added = [{"id": len(letters) + i, "content": name, "special": True, "normalized": False} for i, name in enumerate(names)]
template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}], "pair": [],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [15], "tokens": ["<s>"]}}}
model = {"type": "BPE", "vocab": {c: i for i, c in enumerate(letters)}, "merges": []}
print(json.dumps({"added_tokens": added, "post_processor": template, "model": model}))
END
}

test_fill_in_the_middle() {
    fim_tokenizer '<fim_prefix>' '<fim_middle>' '<fim_suffix>'
    printf '%s\n' '{"text": "abcdefgh", "u": 1}' '{"text": "", "u": 2}' '{"text": "\u00e9\ud83d\ude00ab", "u": 3}' '{"text": "x", "u": 4}' \
        '[' '{"text": 5}' >c.jsonl
    set -- c.jsonl --tokenizer tokenizer.json --fim 1,seed=4 --keep u
    expect 3 bload scan "$@" -o t.tsv
    # The cuts are counted in characters. What is skipped has no form.
    cut -f 11-14 t.tsv | tr '\t' , >cuts
    printf '%s\n' fim,fim.begin,fim.end,u psm,6,6,1 ,,,2 psm,2,3,3 spm,0,1,4 ,,, ,,, | diff -u - cuts
    err_has 'documents in the form PSM: 2 (column fim)' 'documents in the form SPM: 1 (column fim)'
    # One token before the whole document and one behind it.
    expect 3 bload pack -q "$@" -T 32 -o d --order keep --bos '<s>' --eos '</s>'
    is '15 12 0 1 2 3 4 5 14 6 7 13 16 15 12 10 11 14 1 13 0 16 15 12 14 13 9 16 0 0 0 0' "$(tokens d)"
    expect 3 bload pack -q "$@" -T 32 -o e --order keep --add-special-tokens
    is '15 12 0 1 2 3 4 5 14 6 7 13 15 12 10 11 14 1 13 0 15 12 14 13 9 0 0 0 0 0 0 0' "$(tokens e)"
    expect 0 bload verify -q d
    expect 0 bload info d :out 'fill-in-the-middle 1,seed=4 by prefix 12, middle 13, suffix 14'
    out_has 'counts      fim_psm 2, fim_spm 1, fim_no 0, fim_marked 0, fim_cut 0'
    expect 0 bload info --json d
    is '2 1 0' "$(python3 -c 'import json, sys; c = json.load(sys.stdin)["counts"]; print(c["fim_psm"], c["fim_spm"], c["fim_no"])' <"$OUT")"
    # A dataset of a view has its documents counted anew.
    expect 0 bload view -q d -T 16 -o v
    expect 3 bload pack -q v -o w
    expect 0 bload info w :out 'counts      fim_psm 2, fim_spm 1, fim_no 0, fim_marked 0, fim_cut 0'
    # A lost shard is made again; the counts stay.
    cp -r e again
    rm again/shards/*/*
    expect 3 bload pack -q "$@" -T 32 -o again --order keep --add-special-tokens :same-in e manifest.json :verified
    # A part of a document may lack some of the tokens.
    for oversize in split truncate drop; do
        expect 3 bload pack "$@" -T 7 --oversize $oversize -o $oversize
        [ $oversize = drop ] || err_has 'documents in the form PSM or SPM that are cut to pieces, or truncated: 1 (column fim.begin)'
        bload info $oversize >>cuts.txt
    done
    expect 3 bload pack -q "$@" -T 7 --store -o store
    bload info store >>cuts.txt
    is '1 1 0 0' "$(sed -n 's/^counts.*fim_cut //p' cuts.txt | xargs)"
    # It is part of a dataset's identity, and of a table's.
    expect 2 bload pack "${@:1:4}" 1 --keep u -T 32 -o d --order keep --bos '<s>' --eos '</s>' :err 'd holds a dataset of another configuration: fim is'
    expect 2 bload pack --sequences t.tsv --tokenizer tokenizer.json --fim 1 --keep u -T 32 -o f :err 'the table was scanned with sampling'
    expect 3 bload pack -q --sequences t.tsv --tokenizer tokenizer.json --fim 1.0,seed=4 --keep u -T 32 -o f
    given c.yaml 'sources: [c.jsonl]\ntokenizer: tokenizer.json\nkeep: u\nT: 32\nfim: 1,seed=4\n' expect 3 bload pack -q -c c.yaml -o g :same-in f shards.tsv
    cut -f -14 d/sequences.tsv >columns
    same columns <(cut -f -14 t.tsv | sed 's/\(tokenizer=[0-9a-f]*\)/\1 bos eos/; s/\tok\t\t\(tok\)/\tok\t\t\1/' | awk -F'\t' -v OFS='\t' 'NR > 1 && $2 { $2 += 2 } 1')
}

test_fill_in_the_middle_does_not_depend_on_how_it_is_packed() {
    fim_tokenizer '<fim_prefix>' '<fim_middle>' '<fim_suffix>'
    for i in 1 2; do seq 20000 | sed "s/.*/{\"text\": \"abcdefgh xabcdefgh é😀 abcdefgh xabcdefgh abcdefgh $i\", \"n\": &}/" >$i.jsonl; done
    local -a with=(--tokenizer tokenizer.json --fim '0.5,spm=0.3' -q)
    expect 0 bload scan "${with[@]}" 1.jsonl 2.jsonl -j 1 -o a.tsv
    expect 0 bload scan "${with[@]}" 2.jsonl 1.jsonl -j 4 -o b.tsv
    same <(sort a.tsv) <(sort b.tsv)
    mkdir other
    mv 1.jsonl other/3.jsonl # nor on the file's name
    expect 0 bload scan "${with[@]}" other/3.jsonl -o c.tsv
    same <(grep '^1.jsonl' a.tsv | cut -f 2,11-) <(tail -n +2 c.tsv | cut -f 2,11-)
    head -n 500 2.jsonl >2.short.jsonl
    set -- 2.short.jsonl "${with[@]}" -T 64
    expect 0 bload pack "$@" -o d
    for i in 1 0; do expect 0 bload pack "$@" --task $i/2 -o k; done
    expect 0 bload finish -q k :same-in d manifest.json :same-in d shards.tsv
    # Those of a smaller rate stay as they are.
    expect 0 bload scan 2.short.jsonl "${with[@]/0.5/0.9}" -o e.tsv
    paste <(cut -f 11-13 d/sequences.tsv) <(cut -f 11-13 e.tsv) | awk -F'\t' '$1 != "no" && $1 $2 $3 != $4 $5 $6 { exit 1 }'
    expect 0 bload scan 2.short.jsonl "${with[@]}" --where 'fim = spm' -o s.tsv
    is spm "$(tail -n +2 s.tsv | cut -f 6,11 | sed -n 's/^ok\t//p' | sort -u)"
}

# A text with the tokens themselves would tell of parts that it has not: it stays as it is, and is counted.
test_fill_in_the_middle_of_texts_with_its_tokens() {
    fim_tokenizer '<fim_prefix>' '<fim_middle>' '<fim_suffix>'
    local tokens='<fim_prefix><fim_prefix><fim_prefix><fim_prefix><fim_prefix>'
    printf '%s\n' "{\"text\": \"$tokens\"}" '{"text": "a<fim_prefix>b<fim_suffix>c<fim_middle>dab<fim_middle>ab"}' '{"text": "abc"}' >c.jsonl
    set -- c.jsonl --tokenizer tokenizer.json --fim 1,seed=2
    expect 0 bload scan "$@" --special parse -o t.tsv :err 'documents as they are, since their text has tokens of --fim: 2 (column fim)'
    is 'fim marked marked psm' "$(cut -f 11 t.tsv | xargs)"
    is 'length 5 12 6' "$(cut -f 2 t.tsv | xargs)"
    expect 0 bload scan "$@" # it is plain text by default, whose characters have no tokens here
    is 'fim spm psm psm' "$(cut -f 11 "$OUT" | xargs)"
}

# The tokens that begin and end a text stand around the whole. The cuts are counted from its first character.
test_fill_in_the_middle_of_texts_with_bos_and_eos() {
    fim_tokenizer '<fim_prefix>' '<fim_middle>' '<fim_suffix>'
    printf '{"text": "%s"}\n' '<s>abcdefgh</s>' 'abcdefgh</s>' 'abcdefgh' '<s>' '<s></s>' >c.jsonl
    set -- c.jsonl --tokenizer tokenizer.json --special parse -T 16
    expect 0 bload pack -q "$@" --fim 1,spm=0,seed=4 --bos '<s>' --eos '</s>' -o d --order keep :made length '13 13 13 2 2' :made fim 'psm psm psm no no'
    is '1,1 ,1 , 1, 1,1' "$(paste -d , <(field bos.given <d/sequences.tsv) <(field eos.given <d/sequences.tsv) | xargs)"
    python3 - "$(tokens d)" "$(field fim.begin <d/sequences.tsv | xargs)" "$(field fim.end <d/sequences.tsv | xargs)" <<'END'
import sys
ids = [int(i) for i in sys.argv[1].split()]
for n, at in enumerate((0, 16, 32)):
    begin, end = (int(a.split()[n]) - 3 * (n == 0) for a in sys.argv[2:])
    text = list(range(8))
    assert ids[at:at + 13] == [15, 12, *text[:begin], 14, *text[end:], 13, *text[begin:end], 16], (n, ids[at:at + 16])
END
}

test_fill_in_the_middle_by_the_tokens_of_models() {
    printf '{"text": "abcd"}\n' >c.jsonl
    for names in '<fim_prefix> <fim_middle> <fim_suffix>' '<|fim_prefix|> <|fim_middle|> <|fim_suffix|>' '[PREFIX] [MIDDLE] [SUFFIX]' \
        '<fim-prefix> <fim-middle> <fim-suffix>' '▁<PRE> ▁<MID> ▁<SUF>' '<｜fim▁begin｜> <｜fim▁end｜> <｜fim▁hole｜>'; do
        fim_tokenizer $names
        expect 0 bload pack -q c.jsonl --tokenizer tokenizer.json --fim 1,spm=0 -T 7 -o d
        is '12 14 13' "$(tokens d | tr ' ' '\n' | grep -xE '1[234]' | xargs)"
        rm -r d
    done
}

test_fill_in_the_middle_is_refused() {
    fim_tokenizer '<p>' '<m>' '<e>'
    put c.jsonl '{"text": "abcd", "m": [1]}\n' i.jsonl '{"text": [1, 2]}\n'
    npy i.npy 2 0 '<i4'
    set -- --tokenizer tokenizer.json
    while IFS='|' read -r option message; do expect 2 bload scan c.jsonl "$@" --dtype u16 --fim "$option" :err "$message"; done <<'END'
1.5|--fim expects RATE[,spm=SHARE][,seed=N][,prefix=TOKEN,middle=TOKEN,suffix=TOKEN]; RATE and SHARE are numbers from 0 to 1
-0.5|not "-0.5"
0.5,spm=2|not "0.5,spm=2"
0.5,prefix=<p>|not "0.5,prefix=<p>"
0.5,pad=<p>|not "0.5,pad=<p>"
0.5|--fim: the tokenizer tokenizer.json has no fill-in-the-middle tokens of a known name (<fim_prefix>, <|fim_prefix|>, [PREFIX] ...): name them
0.5,prefix=<p>,middle=<m>,suffix=<x>|--fim: the tokenizer has no token "<x>"
0.5,prefix=<p>,middle=12,suffix=<e>|--fim: prefix, middle and suffix are three different tokens
0.5,prefix=<p>,middle=70000,suffix=<e>|--fim: the id 70000 does not fit --dtype u16
END
    expect 2 bload scan c.jsonl "$@" --fim 1,prefix=1,middle=2,suffix=3 --field m=m
    err_has '--field has one number for each token of the inputs, and --fim moves tokens and adds some: leave one of them out'
    expect 2 bload scan c.jsonl "$@" --fim 1,prefix=1,middle=2,suffix=3 --keep fim=m
    err_has '--keep: the table has a column "fim" of its own: give another name, as in text.fim=fim'
    expect 2 bload scan c.jsonl --fim 1 :err '--fim has no effect without --tokenizer'
    for file in i.jsonl i.npy; do
        expect 2 bload scan c.jsonl $file --kind text "$@" --fim 1,prefix=1,middle=2,suffix=3
        err_has "$file holds token ids, and --fim cuts texts: leave --fim out, or use the texts"
    done
    expect 0 bload scan -q c.jsonl --tokenizer bytes --fim 1,prefix=256,middle=257,suffix=258
    is 'length 7' "$(cut -f 2 "$OUT" | xargs)"
}

test_u16_is_refused_when_ids_do_not_fit() {
    expect 0 bload pack -q corpus.jsonl --tokenizer bytes -T 20 -o d --dtype u16 --eos 65535
    expect 2 bload pack corpus.jsonl --tokenizer bytes -T 20 -o e --dtype u16 --eos 65536 :err '--eos: the id 65536 does not fit --dtype u16'
    expect 2 bload pack corpus.jsonl --tokenizer bytes -T 20 -o e --eos '<|no|>' :err '--eos: the tokenizer has no token "<|no|>"'
}

test_the_same_bytes_from_any_number_of_threads_and_stretches() {
    mkdir many
    for i in $(seq 300); do printf '%s' "{\"text\": \"file $i $(seq -s ' ' $((i % 40)))\"}" >many/$i.jsonl; done
    for ((i = 0; i < 5000; i++)); do echo "{\"text\": \"line $i ${i}abc$i\"}"; done >many/long.jsonl
    expect 0 bload pack -q many --tokenizer bytes -T 100 -o one -j 1 --oversize split
    for jobs in 2 16; do expect 0 bload pack -q many --tokenizer bytes -T 100 -o j$jobs -j $jobs --oversize split :same-as one; done
}

test_large_files_are_cut_where_lines_begin() {
    awk 'BEGIN { for (i = 0; i < 60000; i++) printf "{\"text\": \"%d %s\"}\n", i, substr("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789", 1, 1 + (i * 7919) % 88) }' >large.jsonl
    [ "$(stat -c %s large.jsonl)" -gt 3145728 ] || fail "too small to be cut"
    expect 0 bload scan -q large.jsonl --tokenizer bytes -j 2 -o t.tsv
    awk -F '\t' 'NR > 1 { print $2 }' t.tsv >lengths
    awk '{ print length($0) - 12 }' large.jsonl | cmp - lengths
    awk -F '\t' 'NR > 1 { sub(/.*#/, "", $1); if ($1 + 0 != at + 0) exit 1; at += $2 + 13 }' t.tsv
    gzip -1c large.jsonl >large.jsonl.gz
    expect 0 bload scan -q large.jsonl.gz --tokenizer bytes -o z.tsv
    awk -F '\t' 'NR > 1 { print $2 }' z.tsv | cmp - lengths
}

test_large_files_are_cut_where_paragraphs_begin() {
    awk 'BEGIN { for (i = 0; i < 100000; i++) printf "%d %s\n%s", i, substr("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789", 1, 1 + (i * 7919) % 58), i % 3 ? "" : i % 2 ? "\n" : "\n\n\n" }' >large.txt
    [ "$(stat -c %s large.txt)" -gt 3145728 ] || fail "too small to be cut"
    gzip -1c large.txt >packed.txt.gz # is not cut
    for rule in blank-line 'sep:\n\n'; do
        expect 0 bload scan -q large.txt --tokenizer bytes --documents "$rule" -j 2 -o t.tsv
        expect 0 bload scan -q packed.txt.gz --tokenizer bytes --documents "$rule" -o z.tsv
        [ "$(wc -l <t.tsv)" -gt 30000 ]
        cmp <(cut -f 1,2 t.tsv | sed 's/.*#//') <(cut -f 1,2 z.tsv | sed 's/.*#//')
    done
}

test_text_in_a_folder_gives_way_to_videos() {
    fixtures v h264-30.mp4
    given v/readme.txt 'words\n' expect 0 bload scan v :err 'ignored in folders: 1 .txt' :column id 'h264-30.mp4'
    expect 0 bload scan -q v --kind text --tokenizer bytes :column id 'readme.txt'
    expect 2 bload scan v v/readme.txt :err 'sources of several kinds (1 video: v/h264-30.mp4, 1 text: v/readme.txt): choose one with --kind'
}

test_a_tokenizer_that_the_file_names() {
    mkdir c
    mv corpus.jsonl c/
    given c/data.yaml 'sources:\n  - path: corpus.jsonl\ntokenizer: bytes\nT: 20\neos: 256\noutput: d\n' expect 0 bload pack -q -c c/data.yaml
    expect 0 bload verify c/d
    sed -i 's/bytes/nothing.json/' c/data.yaml
    expect 2 bload pack -q -c c/data.yaml -o e :err 'c/nothing.json'
}

# The libraries that made the bytes, and no others.
test_the_manifest_names_the_libraries_that_were_used() {
    expect 0 bload pack -q corpus.jsonl --tokenizer bytes -T 20 -o d :verified
    grep -A 1 '"libraries"' d/manifest.json | grep -q '": "' && fail "bytes need no library"
    expect 0 bload pack -q corpus.jsonl --tokenizer bytes -T 20 -o e --compress zstd
    grep -A 1 '"libraries"' e/manifest.json | grep -q '"zstd": "1'
}

test_flags_of_another_kind() {
    expect 2 bload scan corpus.jsonl --tokenizer bytes --fps 5 :err '--fps is for video, and the inputs are text'
    expect 2 bload pack "$(fixture h264-30.mp4)" -T 30 -o d --eos 5 :err '--eos is for text, and the inputs are video' :none d
}

test_a_signal_does_not_wait_for_input() {
    mkfifo pipe
    exec 3<>pipe
    echo '{"text": "one"}' >&3
    for jobs in 1 2; do
        ended_by TERM d/.bload/configuration bload pack - --tokenizer bytes -T 8 -o d -j $jobs <pipe
        is 143 "$status"
        [ "$took" -le 2 ] || fail "it took $took seconds"
        rm -r d
    done
    # Nor for a document that never ends.
    head -c 40000000000 /dev/zero | gzip -1 >bomb.txt.gz &
    sleep 2
    kill $!
    ended_by TERM d/.bload/configuration bload pack bomb.txt.gz --tokenizer bytes -T 8 -o d
    [ "$took" -le 2 ] || fail "it took $took seconds"
}

# Nor for the end of one large document; and it leaves nothing half-done behind.
test_a_signal_does_not_wait_for_a_document() {
    tokenizer=$(shared data/tokenizers/gpt2-tokenizer.json)
    head -c 45000000 /dev/urandom | base64 >long.txt
    ended_by TERM 'd/.bload/spool/*.part-*' bload pack long.txt --tokenizer "$tokenizer" -T 2048 -o d
    is 143 "$status"
    [ "$took" -le 2 ] || fail "it took $took seconds"
    ! grep -q 'in the middle' "$ERR" || fail "it was cut off: $(cat "$ERR")"
    [ -z "$(find d -name '*.part*')" ] || fail "left over: $(find d -name '*.part*')"
}

# What a large document takes is waited for, or refused by a limit that is too small for it.
test_large_documents_wait_for_memory() {
    mkdir in
    for i in 1 2 3 4; do seq -s ' ' "${i}000000" >"in/$i.txt"; done
    expect 2 bload pack -q in --kind text --tokenizer bytes -T 65536 --oversize split -j 1 --memory 60M -o d :err '.txt: a document of '
    err_has ' MiB of memory are needed for it: --memory is too small by '
    expect 0 bload pack -q in --kind text --tokenizer bytes -T 65536 --oversize split -j 1 --memory 4G -o much
    expect 0 bload pack -q in --kind text --tokenizer bytes -T 65536 --oversize split -j 4 --memory 400M -o little :same-as much
}

test_an_encoding_in_the_cache_of_tiktoken() {
    local sha1=9b5ad71b2ce5302211f9c61530b329a4922fc6a4
    mkdir -p cache tmp/data-gym-cache
    python3 -c 'import base64; [print(base64.b64encode(bytes([i])).decode(), i) for i in range(256)]; print("YWI= 256")' >cache/$sha1
    printf 'abc' >x.txt
    TIKTOKEN_CACHE_DIR=$PWD/cache expect 0 bload pack -q x.txt --tokenizer cl100k_base --pattern cl100k -T 2 -o d :tokens '256 99'
    grep -q '"tokens of cl100k_base (257 ids' d/manifest.json
    expect 0 bload pack -q x.txt --tokenizer cache/$sha1 --pattern cl100k -T 2 -o e # a name without an ending
    is '256 99' "$(tokens e)"
    cp cache/$sha1 tmp/data-gym-cache
    TIKTOKEN_CACHE_DIR='' DATA_GYM_CACHE_DIR='' TMPDIR=$PWD/tmp expect 0 bload scan -q x.txt --tokenizer cl100k_base --pattern cl100k
    TIKTOKEN_CACHE_DIR=$PWD/cache expect 2 bload scan x.txt --tokenizer o200k_base
    err_has 'tokenizer o200k_base: No such file or directory, nor is it in the cache of its library: nothing is downloaded here'
    given cache/json ' {}' expect 1 bload scan x.txt --tokenizer cache/json
    given cache/empty '' expect 2 bload scan x.txt --tokenizer cache/empty :err 'cache/empty is not a tokenizer'
}

test_a_model_in_the_cache_of_hugging_face() {
    local model=hub/models--owner--small.v1
    mkdir -p hf/$model/refs hf/$model/snapshots/abc owner
    put hf/$model/refs/main 'abc' hf/$model/snapshots/abc/vocab.txt '[UNK]\n[SEP]\nab\n##c\n'
    put hf/$model/snapshots/abc/tokenizer_config.json '{"cls_token": null, "sep_token": {"content": "[SEP]", "lstrip": false}}'
    put hf/$model/snapshots/abc/special_tokens_map.json '{"eos_token": "[SE\\u0050]", "bos_token": "<s>"}' x.txt 'abc ab x'
    export HF_HOME=$PWD/hf HF_HUB_CACHE=
    expect 0 bload pack -q x.txt --tokenizer owner/small.v1 -T 5 -o d --eos eos_token :tokens '2 3 2 0 1'
    expect 0 bload pack -q x.txt --tokenizer hf/$model/snapshots/abc/vocab.txt -T 6 -o e --eos '[SEP]' --bos sep_token :tokens '1 2 3 2 0 1'
    mkdir c
    given c/c.yaml 'sources: [../x.txt]\ntokenizer: owner/small.v1\nT: 5\neos: eos_token\n' expect 0 bload pack -q --config c/c.yaml -o f :tokens '2 3 2 0 1'
    expect 2 bload scan x.txt --tokenizer owner/small.v1 --bos bos_token :err '--bos: the tokenizer has no token "bos_token"'
    expect 2 bload scan x.txt --tokenizer owner/small.v2
    err_has "tokenizer owner/small.v2: No such file or directory, nor is it in the cache of its library: nothing is downloaded here"
    HF_HUB_CACHE=$PWD/hf/hub HF_HOME=/nowhere expect 0 bload scan -q x.txt --tokenizer owner/small.v1
    HF_HOME=/nowhere expect 2 bload scan x.txt --tokenizer owner/small.v1
    given hf/$model/refs/main '../abc' expect 1 bload scan x.txt --tokenizer owner/small.v1 :err 'refs/main has no name of a revision'
    printf '{' >hf/$model/snapshots/abc/tokenizer_config.json
    expect 1 bload scan x.txt --tokenizer hf/$model/snapshots/abc --eos eos_token :err 'tokenizer_config.json: not JSON at byte 1'
    printf '[UNK]\n' >owner/small.v1 # an existing path wins
    expect 2 bload scan x.txt --tokenizer owner/small.v1 :err 'owner/small.v1 is not a tokenizer'
}

test_what_is_compressed_in_another_way_is_text_still() {
    python3 -c 'import bz2, lzma; line = b"{\"text\": \"hello\"}\n"; open("a.jsonl.bz2", "wb").write(bz2.compress(line)); open("b.txt.xz", "wb").write(lzma.compress(line))'
    printf '{"text": "hello"}\n' >c.jsonl
    expect 3 bload scan a.jsonl.bz2 b.txt.xz c.jsonl --tokenizer bytes :err 'skipped a.jsonl.bz2: compressed by bzip2: unpack it first'
    err_has 'skipped b.txt.xz: compressed by xz: unpack it first' '3 files: 1 sequence of 5 steps; 2 skipped'
}

# A score of 0e400 is 0, as for tokenizers, not the product of 0 and an infinite power; and pieces of any size have a text.
test_scores_and_pieces_of_unigram_at_their_limits() {
    python3 - <<'END'
import json
pieces = {"a" * 4096: -5, "b" * 5000: -5, "cc": -1, "a": -1.5, "b": -2.0}
marks = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": True}
vocab = [["<unk>", "ZERO"], *map(list, pieces.items()), ["c", "ZERO"], ["\u2581", -3.0]]
model = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False}
tokenizer = {"version": "1.0", "added_tokens": [], "pre_tokenizer": marks, "decoder": marks, "model": model}
open("tokenizer.json", "w").write(json.dumps(tokenizer).replace('"ZERO"', "0e400"))
open("t.txt", "w").write("cc " + "a" * 4096 + "b" * 5000 + "c")
END
    expect 0 bload pack -q t.txt --tokenizer tokenizer.json -T longest -o d
    is '6 6 7 1 2 6' "$(bload cat d t.txt --as ids | tr '\n' ' ' | sed 's/ $//')"
    bload cat d t.txt --as text --tokenizer tokenizer.json >text
    cmp text t.txt
}
