# bload scan and pack of documents as people have them: JSON arrays, CSV and TSV, code, chats; marks that are there already.
# shellcheck shell=bash disable=SC2317,SC2154

# rows FILE [OPTION...]: of each row the offset, its tokens, and - if it is skipped.
rows() { bload scan -q --tokenizer bytes "$@" 2>/dev/null | awk -F '\t' 'NR > 1 { sub(/.*#/, "", $1); print $1 ":" $2 ($6 == "ok" ? "" : "-") }' | xargs; }

test_elements_of_an_array_are_documents() {
    printf '[{"text": "ab", "n": [{"text": "]}\\""}, "[{"]},\n {"n": {"text": "no"}, "text": "c\\u00e9\\"]"} , {"text":"d"}]\n' >a.json
    is '1:2 49:5 95:1' "$(rows a.json)"
    gzip -k a.json
    mv a.json.gz b.json.gz
    is '1:2 49:5 95:1' "$(rows b.json.gz)"
    is '1:2 49:5 95:1' "$(rows - <a.json)"
    { printf '\xef\xbb\xbf\n\n' && cat a.json; } >bom.json
    is '6:2 54:5 100:1' "$(rows bom.json)"
    # Texts and ids without keys.
    printf '["ab", "", "c\\n",\n"d"]' >strings.json
    is '1:2 7:0- 11:2 18:1' "$(rows strings.json)"
    given ids.json '[[1, 2, 3], [4]]' expect 0 bload pack -q --kind text ids.json -T 4 -o d :made length '3 1' :verified
    # Lines stay lines, whatever the name says; an array among lines needs to be asked for.
    printf '{"text": "ab"}\n{"text": "c"}\n' >lines.json
    is '0:2 15:1' "$(rows lines.json)"
    cp a.json a.jsonl
    expect 3 bload scan a.jsonl --tokenizer bytes :err 'an array; JSONL has an object in every line; --format json reads a file that is one array'
    is '1:2 49:5 95:1' "$(rows a.jsonl --format json)"
}

test_rows_are_documents() {
    printf 'id,text,"a ""q"""\r\n1,"one, ""two""\r\nlines","x"\r\n\r\n2,5" pipe,y\n3,,z' >c.csv
    expect 0 bload scan c.csv --tokenizer bytes --keep 'n=id,q=a "q"' :column q 'x y z'
    is '19:17 50:7 62:0-' "$(rows c.csv)"
    expect 0 bload pack -q c.csv --tokenizer bytes -T 32 -o d --order keep
    expect 0 bload cat d 'c.csv#19' --tokenizer bytes
    is $'one, "two"\r\nlines' "$(cat "$OUT")"
    printf '\xef\xbb\xbfid\ttext\n1\t"a\tb"\n2\tc "d", e\n' >t.tsv
    is '11:3 19:8' "$(rows t.tsv)"
    gzip -c t.tsv >u.tsv.gz
    is '11:3 19:8' "$(rows u.tsv.gz)"
    printf 'id;text\n1;a,b\n' >semicolon.csv
    is '8:3' "$(rows semicolon.csv)"
    printf 'text,b\rab,c\rd,e' >mac.csv
    is '7:2 12:1' "$(rows mac.csv)"
    # Several columns; names with dots have no parts.
    printf 'a.b,c\nx,y\n' >dots.csv
    is '6:3' "$(rows dots.csv --key a.b,c --join -)"
    is '6:1' "$(rows dots.csv --key 'a\.b')"
    # As plain text, as before.
    is 'dots.csv:10' "$(rows dots.csv --format plain)"
    expect 2 bload scan c.csv --kind text :err 'the inputs hold text: use --tokenizer FILE, or --tokenizer bytes'
}

test_numbers_and_repeats_of_rows() {
    printf 'text,w,k\nab,1.5,a ""b\\n""\ncd, True ,"a ""b\\n"""\nef,+7,x\nab,-1e3,y\nh,.5,\ni,,z\nj,no,z\nk,9007199254740993,z\nl,2024-01-02,z\n' >c.csv
    expect 3 bload pack c.csv --tokenizer bytes --keep w:number --dedup-by k --fim 1,prefix=65,middle=66,suffix=67 -T 32 -o d --order keep
    is '1.5 1 7 -1e3 .5' "$(awk -F '\t' '$6 == "ok"' d/sequences.tsv | cut -f 14 | xargs)"
    err_has 'skipped c.csv#72: w: "" is no number' 'skipped c.csv#77: w: "no" is no number' 'skipped c.csv#105: w: "2024-01-02" is no number'
    err_has 'skipped c.csv#84: w: F64 cannot hold 9007199254740993' '--dedup-by k: 1 sequence has no text there, and is kept'
    # A row and a line with the same text are repeats.
    given l.jsonl '{"text": "l", "k": "a \\"b\\\\n\\"", "w": 1}\n' expect 0 bload scan l.jsonl c.csv --tokenizer bytes --dedup-by k --where 'length > 0'
    is 'c.csv#26' "$(awk -F '\t' '$1 == "l.jsonl#0" { sub(/.*text of /, "", $7); print $7 }' "$OUT")"
    expect 3 bload scan c.csv --tokenizer bytes --dedup-by none :err 'skipped c.csv: no column "none": the first row has "text", "w", "k" (--dedup-by)'
    expect 2 bload scan c.csv --tokenizer bytes --dedup-by k --keep 'digest(k)=text'
    err_has '--keep: the column "digest(k)" is that of --dedup-by: give another name'
    # A key with a dot in its name.
    printf '{"text": "a", "m": {"a.b": 1}}\n{"text": "b", "m": {"a.b": 1}}\n' >dot.jsonl
    expect 0 bload scan dot.jsonl --tokenizer bytes --dedup-by 'm.a\.b' -o dot.tsv
    is 'ok dropped' "$(field status <dot.tsv | xargs)"
    is 'digest(m.a..b)' "$(head -n 1 dot.tsv | cut -f 11)"
    expect 0 bload plan -q dot.tsv -T 8 --dedup-by 'm.a\.b' -o plan.tsv
    # Elements without keys are their own text.
    given strings.json '["ab", "AB", "c"]' expect 0 bload scan strings.json --tokenizer bytes --dedup-by text:lower :column status 'ok dropped ok'
    expect 0 bload scan strings.json --tokenizer bytes --dedup-by url :column status 'ok ok ok'
}

# name|content|status|what is said
test_bad_arrays_and_rows_are_named() {
    while IFS='|' read -r name content status said; do given "$name" "$content" expect "$status" bload scan "$name" --tokenizer bytes :err "$said"; done <<'END'
trailing.json|[{"text": "ab"},]|3|skipped trailing.json#16: a comma before the ] that ends the array: no element follows it
within.json|[{"text": "ab",}, {"text":"c"}]|3|skipped within.json#1: not JSON at byte 15: expected a key in quotes
within.json|[{"text": "ab",}, {"text":"c"}]|3|1 file: 1 sequence of 1 step; 1 skipped
nocomma.json|[{"text": "ab"} {"text":"c"}]|3|skipped nocomma.json#16: expected , or ] after an element: what follows is not read
brace.json|[{"text": "a"}},{"text":"c"}]|3|skipped brace.json#14: expected , or ] after an element
two.json|[{"text": "ab"}]\n[{"text":"c"}]|3|skipped two.json#17: text after the ] that ends the array
cut.json|[{"text": "ab"},{"text":"c|3|skipped cut.json#16: not JSON at byte 26: the element ends in a string (the file ends in the middle of this element)
comma.json|[{"text": "ab"},|3|skipped comma.json#16: the file ends without the ] of its array: it may be cut off
open.json|[{"text": "ab"}|3|skipped open.json#15: the file ends without the ] of its array: it may be cut off
none.json|[{"text":"a"},,{"text":"b"}]|3|skipped none.json#14: not JSON at byte 14: the element ends where a value is expected
quote.json|[{"text":"a\n},{"text":"b"}]|3|skipped quote.json#1: not JSON at byte 11: a control character in a string
quote.json|[{"text":"a\n},{"text":"b"}]|3|1 file: 1 sequence of 1 step; 1 skipped
nan.json|[{"text": NaN},{"text":"c", "s": NaN}]|3|skipped nan.json#1: "text" is NaN or an infinity, not a string
number.json|[5, null]|3|skipped number.json#1: the element is a number, not an object with keys
half.json|[{"text": "a\xc3"}]|3|half.json#1: invalid UTF-8 at byte 12: replaced by U+FFFD (1 in all)
key.json|[{"body": "a"}]|3|skipped key.json#1: no key "text"; the element has "body" (--key)
table.json|{"data": [{"text": "ab"}]}|3|an array lies under "data": make lines of it (jq -c '.["data"][]')
table.json|{\n "version": "x",\n "data": [\n  {"text": "ab"}]}|3|skipped table.json: one object, with an array under "data": documents are the elements of an array
object.json|{\n "text": "x"\n}\n|3|skipped object.json: one object over several lines
empty.json||0|1 empty document skipped
empty.json|[ ]|0|1 empty document skipped
wide.json|\xff\xfe[\x00|3|skipped wide.json: UTF-16 text (convert it to UTF-8)
bom.csv|\xef\xbb\xbftext\nab\n|0|1 file: 1 sequence of 2 steps
key.csv|body,b\nab,c\n|3|skipped key.csv: no column "text": the first row has "body", "b" (--key)
twice.csv|text,text\nab,c\n|3|skipped twice.csv: two columns "text"
few.csv|text,b\nab\ncd,e\n|3|skipped few.csv#7: line 2: 1 value for 2 columns: values with a comma in them need quotes around them
many.csv|text,b\n"a\n",c\ncd,e,f\n|3|skipped many.csv#14: line 4: 3 values for 2 columns
open.csv|text,b\n"ab,c\nd,e\n|3|skipped open.csv#7: line 2: a quote begins a value, and none ends it: double the quotes within values; the file ends in this row, of 10 bytes
after.csv|text,b\n"a" b,c\nd,e\n|3|skipped after.csv#7: line 2: text after the quote that ends a value: double the quotes within values
cut.csv|text,b\nab,c\nd|3|skipped cut.csv#12: line 3: 1 value for 2 columns: values with a comma in them need quotes around them; the file ends in this row, of 1 bytes
half.csv|text,b\n"x""\xff",e\n|3|half.csv#7: invalid UTF-8 at byte 11: replaced by U+FFFD (1 in all)
head.csv|"text,b\n|3|skipped head.csv: line 1: a quote begins a value, and none ends it
empty.csv|text,b\n|0|1 empty document skipped
few.tsv|text\tb\nab\n|3|skipped few.tsv#7: line 2: 1 value for 2 columns: values with a tab in them need quotes around them
END
    printf 'id,text\n%s,%s\n' 1 "$(head -c 3000 /dev/zero | tr '\0' x)" 2 b >long.csv
    expect 3 bload scan long.csv --tokenizer bytes --max-document 2000 :err 'skipped long.csv#8: longer than 2.0 KiB (--max-document)'
    given ids.jsonl '{"ids": [1, 2]}\n{"ids": [1, 256]}\n' expect 3 bload scan ids.jsonl --key ids --tokenizer bytes
    err_has 'skipped ids.jsonl#16: token 1 is 256: the ids of bytes end at 255 (ids need no --tokenizer)'
    expect 0 bload scan ids.jsonl --key ids --tokenizer bytes --pad-id 256
}

# Parts of a large file are counted apart: what a part has depends on the file alone. A fault is told once.
test_large_arrays_and_tables_are_cut_where_records_begin() {
    awk 'BEGIN { for (i = 0; i < 14000; i++) { s = substr("ab\"\"c, d\n]}[{ef\"\",ghijklmnopqrstuvwxyz\n\n0123456789", 1 + i % 7, 1 + 1 + (i * 7919) % 45)
        gsub(/"/, "", s); s = "z" s; print length(s) >"lengths"; printf "%s\"%s\",\"x\"\"y %0220d\"\n", i ? "" : "text,b\n", s, i >"t.csv"
        gsub(/\n/, "\\n", s); printf "%s{\"n\": [{\"m\": \"]\\\"%0200d\"}], \"text\": \"%s\"}", i ? "," (i % 3 ? "" : "\n ") : "[", i, s >"a.json" }
        printf "] x" >"a.json"; printf "x" >"t.csv" }'
    [ "$(stat -c %s a.json)" -gt 3145728 ] || fail "too small to be cut"
    [ "$(stat -c %s t.csv)" -gt 3145728 ] || fail "too small to be cut"
    for file in a.json t.csv; do
        expect 3 bload scan -q $file --tokenizer bytes -j 1 -o one.tsv
        expect 3 bload scan -q $file --tokenizer bytes -j 3 -o three.tsv
        cmp one.tsv three.tsv
        awk -F '\t' 'NR > 1 && $6 == "ok" { print $2 }' one.tsv | cmp - lengths
        is 1 "$(grep -c skipped one.tsv)"
        for task in 2 1 0; do bload scan -q --task $task/3 $file --tokenizer bytes -o k || [ $? = 3 ]; done
        expect 3 bload plan -q k -T 64
        cmp one.tsv k/.bload/sequences.tsv
        rm -r k
        mkdir z
        gzip -1c $file >z/$file.gz
        expect 3 bload scan -q z/$file.gz --tokenizer bytes -o z.tsv
        cmp <(cut -f 1,2,6,7 one.tsv | sed 's/[^#]*#//') <(cut -f 1,2,6,7 z.tsv | sed 's/[^#]*#//')
        rm -r z
    done
}

test_marks_that_are_there_are_not_added_again() {
    printf '%s\n' '{"ids": [1, 5, 6, 2]}' '{"ids": [5, 6]}' '{"ids": [1]}' '{"ids": [1, 1, 2, 2]}' '{"ids": [2]}' >ids.jsonl
    expect 0 bload pack ids.jsonl --key ids --bos 1 --eos 2 -T 16 -o d --order keep :tokens '1 5 6 2 1 5 6 2 1 2 1 1 2 2 1 2'
    err_has 'bload: sequences that begin with the token of --bos already, which is not added again: 3 (column bos.given)'
    err_has 'bload: sequences that end with the token of --eos already, which is not added again: 3 (column eos.given)'
    is '1||1|1|' "$(field bos.given <d/sequences.tsv | paste -sd '|')"
    is '1|||1|1' "$(field eos.given <d/sequences.tsv | paste -sd '|')"
    # One token for both: each end needs its own.
    is '0:5 22:4 38:2 51:5 73:3' "$(rows ids.jsonl --key ids --bos 1 --eos 1)"
    # A table of the old rule has other lengths.
    expect 0 bload scan -q ids.jsonl --key ids --eos 2 -o t.tsv
    expect 0 bload pack -q --sequences t.tsv --key ids --eos 2 -T 8 -o e
    sed -i 's/ once//' t.tsv
    expect 2 bload pack --sequences t.tsv --key ids --eos 2 -T 8 -o f
    err_has 'the table was scanned with sampling "tokenizer=none key=ids eos", the options say "tokenizer=none key=ids eos once"'
    # Plain text has no special tokens: as before.
    printf 'a\n' >a.txt
    is 'a.txt:3' "$(rows a.txt --eos 10)"
}

# A chat template was rendered before, with the marks in its text; or special tokens are in a text by accident.
test_special_tokens_in_texts() {
    echo '{"added_tokens": [{"id": 0, "content": "<s>", "special": true}, {"id": 1, "content": "</s>", "special": true}],
        "pre_tokenizer": {"type": "Whitespace"}, "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<s>": 0, "</s>": 1, "<unk>": 2, "a": 3}}}' >tokenizer.json
    printf '%s\n' '{"text": "<s> a </s>"}' '{"text": "a <s> </s></s> a"}' '{"text": "a"}' '{"text": "<s>"}' >c.jsonl
    set -- c.jsonl --tokenizer tokenizer.json --bos '<s>' --eos '</s>'
    expect 0 bload pack "$@" --special parse -T 8 -o d :made length '3 7 3 2'
    err_has 'begin with the token of --bos already, which is not added again: 2 (column bos.given)'
    err_has 'end with the token of --eos already, which is not added again: 1 (column eos.given)'
    expect 0 bload scan "$@" -o t.tsv --json
    is '2|3||1' "$(field special.plain <t.tsv | paste -sd '|')"
    err_has 'bload: special tokens in texts that stay plain text (--special parse makes tokens of them, but not of those of a .model): 6 in 3 sequences (column special.plain)'
    tr -d ' \n' <"$OUT" | grep -qF '"totals":{"special.plain":{"sum":6,"rows":3}}'
    expect 0 bload pack -q "$@" --json -T 16 -o e
    tr -d ' \n' <"$OUT" | grep -qF '"totals":{"special.plain":{"sum":6,"rows":3}}'
    # What stays text is counted again from the spool.
    expect 0 bload scan "$@" --spool s -q
    expect 0 bload scan "$@" --spool s :err '6 in 3 sequences (column special.plain)'
    # The control symbols of a .model stay text with --special parse, too, as in its package.
    python3 -c '
def message(field, data): return bytes([field << 3 | 2, len(data)]) + data
def piece(text, kind): return message(1, message(1, text.encode()) + b"\x15" + bytes(4) + bytes([3 << 3, kind]))
kinds = {"<unk>": 2, "<s>": 3, "</s>": 3}
with open("t.model", "wb") as f:
    f.write(b"".join(piece(p, kinds.get(p, 1)) for p in ["<unk>", "<s>", "</s>", *"a<s>/", "\u2581"]))
    f.write(message(2, bytes([3 << 3, 2])))'
    expect 0 bload scan c.jsonl --tokenizer t.model --special parse --bos '<s>' --eos '</s>' -o t.tsv
    is '2|3||1' "$(field special.plain <t.tsv | paste -sd '|')"
    is '||| ||| 13 19 4 6' "$(paste -d ' ' <(field bos.given <t.tsv | paste -sd '|') <(field eos.given <t.tsv | paste -sd '|') <(field length <t.tsv | xargs))"
    expect 2 bload scan "$@" --keep special.plain=x :err 'the table has a column "special.plain" of its own'
}

test_names_that_show_no_kind_are_text_beside_a_tokenizer() {
    put a.json '[{"text": "ab"}]' a.csv 'text\nab\n'
    cp a.csv a.tsv
    for file in a.json a.csv a.tsv; do
        expect 0 bload scan $file --tokenizer bytes :err '1 sequence of 2 steps'
        printf 'sources: [%s]\ntokenizer: bytes\n' $file >y.yaml
        expect 0 bload scan -c y.yaml :err '1 sequence of 2 steps'
    done
    given ids.json '[{"ids": [1, 2]}]' expect 0 bload scan ids.json --key ids
    # Without one they are what they were: lists of other kinds.
    expect 2 bload scan a.csv :err 'no column "path", the only one that a list must have'
    put a.parquet '' p/a.parquet ''
    for options in a.parquet 'a.parquet --tokenizer bytes' 'a.parquet --kind text'; do
        expect 2 bload scan $options :err 'a.parquet: bload reads Parquet as lines of JSON: python3 -m bload.parquet a.parquet --columns text | bload pack -'
    done
    expect 1 bload scan p :err 'no inputs: bload reads Parquet as lines of JSON: python3 -m bload.parquet FOLDER --columns text | bload pack -'
}

test_code_in_a_folder_is_text_where_it_is_asked_for() {
    mkdir -p f/sub
    for name in a.py sub/b.RS c.yaml d.md e.ipynb g.json h.csv; do echo x >f/$name; done
    expect 0 bload scan f --tokenizer bytes :column id d.md
    err_has 'ignored in folders: 1 .RS, 1 .csv, 1 .ipynb, 1 .json, 1 .py, 1 .yaml; --kind text takes .RS, .py, .yaml'
    expect 0 bload scan f --tokenizer bytes --kind text :column id 'a.py c.yaml d.md sub/b.RS' :err 'ignored in folders: 1 .csv, 1 .ipynb, 1 .json'
    given y.yaml 'sources:\n  - {path: f, kind: text}\ntokenizer: bytes\n' expect 0 bload scan -q -c y.yaml
    is 4 "$(field id <"$OUT" | wc -l)"
    cp "$(fixture h264-30.mp4)" f/
    expect 0 bload scan f :column id h264-30.mp4
}

test_chats_and_keys_with_dots() {
    given chat.json '[{"messages": [{"content": "x", "role": "user"}]}]' expect 3 bload scan chat.json --tokenizer bytes --key messages
    err_has 'skipped chat.json#1: a chat, not ids: python3 -m bload.chat makes ids and loss masks of chats'
    printf '[[{"from": "human", "value": "Hi"}]]' >turns.json
    expect 3 bload scan turns.json --tokenizer bytes :err 'skipped turns.json#1: a chat, not ids: python3 -m bload.chat'
    printf '%s\n' '{"a.b": "one", "a": {"b": "four"}}' '{"a.b": "one"}' >k.jsonl
    is '0:4 35:0-' "$(rows k.jsonl --key a.b)"
    is '0:3 35:3' "$(rows k.jsonl --key 'a\.b')"
    expect 3 bload scan k.jsonl --tokenizer bytes --key a.b
    err_has 'no key "a.b"; the line has "a.b" (--key); a.b is b within a; with a dot in its name it is a\.b'
    given m.jsonl '{"text": "x", "m": {"c.d": "e"}}\n' expect 0 bload scan -q m.jsonl --tokenizer bytes --keep 'm.c\.d' :column m.c.d e
}

test_blank_lines_of_windows_are_blank() {
    printf 'one\r\ntwo\r\n\r\n\r\nthree\r\n' >w.txt
    is '0:7 14:5' "$(rows w.txt --documents blank-line)"
    is '0:3 5:3 10:0- 12:0- 14:5' "$(rows w.txt --documents line)"
}
