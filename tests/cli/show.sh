# bload show: a block or a sequence as a picture, a page, or text. Pixels are compared with the contents in python/tests/test_show.py.
# shellcheck shell=bash disable=SC2317,SC2086

shard=shards/00000/shard-00000000.safetensors

# lines: three documents; the second is empty, and the third is in pieces of blocks of 8.
# shellcheck disable=SC2120 # options, of some tests
lines() {
    printf '{"text": "abc"}\n{"text": ""}\n{"text": "0123456789abcdefghij"}\n' >t.jsonl
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 8 --oversize split "$@" -o d
}

# pictures NAME STEPS COLOUR...: an array of so many pictures of 4 x 4 pixels of each colour, in v.
pictures() {
    mkdir -p v
    python3 - "v/$1.npy" "${@:2}" <<'END'
import struct, sys
path, *runs = sys.argv[1:]
data = b"".join(bytes.fromhex(colour) * 16 * int(steps) for steps, colour in zip(runs[::2], runs[1::2]))
head = "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, 4, 4, 3), }" % (len(data) // 48)
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\0" + struct.pack("<H", 118) + head.ljust(117).encode() + b"\n" + data)
END
}

# clips: pictures of four colours in two blocks: a and b in block 0, d and c in block 1, which ends with padding.
clips() {
    pictures a 5 c80000
    pictures b 3 00c800
    pictures c 6 0000c8
    pictures d 1 c8c800
    expect 0 bload pack -q v --kind array --name frames -T 8 "$@" -o d
}

# damage FILE [TENSOR]: other bytes at the end of the tensor, or of the file: before the seek table, where it has one.
damage() {
    python3 - "$@" <<'END'
import json, struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
end = data.rfind(b"\x5e\x2a\x4d\x18") if sys.argv[1].endswith(".zst") else len(data)
if sys.argv[2:]:
    size = struct.unpack("<Q", data[:8])[0]
    end = 8 + size + json.loads(data[8:8 + size])[sys.argv[2]]["data_offsets"][1]
data[end - 16:end - 14] = b"\xff\xfe"
open(sys.argv[1], "wb").write(data)
END
}

drawn() { python3 "$BLOAD_ROOT/tests/cli/drawn.py" "$@"; }

# colours_are FILE.png "X Y WIDTH HEIGHT" COLOUR...
colours_are() { is "${*:3}" "$(drawn colours "$1" $2 | xargs)"; }

# The lane of pictures of one line: below the scale and the bar.
lane='16 57'

# page_is_sound FILE ROW...
page_is_sound() {
    python3 "$BLOAD_ROOT/tests/cli/page.py" "$@" || fail "$1"
    is 0 "$(sed 's|xmlns="http://www.w3.org/2000/svg"||g' "$1" | grep -ciE 'https?:|<script|src=|url\([^#]|@import|<link')"
}

# shown ARGUMENT...: every form of it, made.
shown() {
    local status=$1
    shift
    for form in html svg png; do expect "$status" bload show "$@" -o "x.$form" :out-is ''; done
    drawn colours x.png >colours
    drawn words x.svg >words
    page_is_sound x.html
    expect "$status" bload show "$@"
}

# no_escapes: what came has no control character but line ends; with C also nothing beyond ASCII.
no_escapes() {
    ! LC_ALL=C grep -q $'[\001-\011\013-\037\177]' "$OUT" || fail "a control character: $(LC_ALL=C grep -n $'[\001-\011\013-\037\177]' "$OUT" | cat -v)"
    [ "${1-}" != ascii ] || ! LC_ALL=C grep -q $'[\200-\377]' "$OUT" || fail "not ASCII: $(LC_ALL=C grep $'[\200-\377]' "$OUT")"
}

# --- texts --------------------------------------------------------------------------------------------------------------

test_text_of_a_block() {
    lines
    COLUMNS=40 expect 0 bload show d
    out_is <<'END'
block 0 of 3: 2 sequences, 7 of 8 steps, 1 of padding

0         2         4         6 
|t.jsonl#0-----|t.jsonl#29---------/////
tokens: 97 to 106
###################################/////

t.jsonl#0, from step 0
abc

t.jsonl#29, from step 3
ghij

     start      steps  sequence
         0          3  t.jsonl#0
         3          4  t.jsonl#29 from its step 16
END
    err_is </dev/null
    COLUMNS=40 expect 0 bload show d --block 2 :out 'block 2 of 3: 1 sequence, 8 of 8 steps' '01234567'
    shown 0 d
    grep -qF '<p class="text">ghij</p>' x.html || fail 'no text'
    grep -qx ghij words || fail 'no text'
    page_is_sound x.html 't.jsonl#29|3|4|16|20|0|ok' 'tokens|a colour for each integer|97 to 106|tokens of bytes (256 ids, digest c44bdff4074eecdb), special tokens in text plain, padding 0'
}

test_tokenizers() {
    PYTHONPATH=$BLOAD_ROOT/tests/readers python3 -c 'import text; print(text.small_tokenizer("<|end|>"))' >one.json
    PYTHONPATH=$BLOAD_ROOT/tests/readers python3 -c 'import text; print(text.small_tokenizer("<|stop|>"))' >other.json
    given t.jsonl '{"text": "a caf\\u00e9 in pieces"}\n' expect 0 bload pack -q t.jsonl --tokenizer one.json --eos '<|end|>' -T 4 --oversize split -o e
    expect 0 env LC_ALL=C.UTF-8 "$BLOAD" show e --sequence t.jsonl#0 --tokenizer one.json
    is 'a café in pieces<|end|>' "$(sed -n '/, from step/{n;p;}' "$OUT" | tr -d '\n')"
    expect 0 bload show e
    is '115 256' "$(grep -A 1 'from step 0$' "$OUT" | tail -n 1)" # ids: the tokenizer is not known
    expect 0 bload show e -o x.html
    grep -qF 'Ids: name their tokenizer to see the text.' x.html || fail 'no ids'
    for name in other.json bytes; do
        expect 2 bload show e --tokenizer $name :err "--tokenizer $name has the digest " ', but the tokenizer of the ids is one.json, which has the digest ' :out-is ''
    done
    expect 2 bload show e --tokenizer none.json :err 'tokenizer none.json: No such file or directory'
    given i.jsonl '{"input_ids": [7, 8]}\n' expect 0 bload pack -q i.jsonl --key input_ids -T 8 -o f
    expect 2 bload show f --tokenizer one.json :err 'tokens cannot be decoded to text'
    expect 0 bload show f
    pictures a 2 c80000
    expect 0 bload pack -q v --kind array --name frames -T 8 -o g
    expect 2 bload show g --tokenizer one.json :err-is 'bload: show: --tokenizer: g has no field of tokens'
}

# masked: a text of eight characters with a mask.
masked() {
    printf '{"text": "ab cd ef", "mask": [0, 1, 1, 1, 0, 0, 2, 1], "keep_mask": [1, 0, 0, 0, 0, 0, 0, 0], "labels": [-100, 0, 0, 0, 5, 5, -100, 1]}\n' >t.jsonl
    expect 0 bload pack -q t.jsonl --tokenizer bytes "$@" -T 8 -o d
}

test_masks() {
    masked --field mask=mask:i32,keep_mask=keep_mask:i32
    expect 0 bload show d --field tokens
    sed -n '/^t.jsonl#0, /,/^$/p' "$OUT" >text
    printf 't.jsonl#0, from step 0\nab cd ef\n ~~~  ~~\n\n' | diff - text
    expect 0 bload show d --field tokens --color always :out $'a\033[7mb c\033[0md \033[7mef\033[0m' :out-lacks '~'
    expect 0 bload show d --mask keep_mask
    is '~       ' "$(grep -A 1 '^ab cd ef$' "$OUT" | tail -n 1)"
    shown 0 d
    grep -qF '<p class="text">a<mark>b c</mark>d <mark>ef</mark></p>' x.html || fail 'not marked'
    grep -qF '<tspan>a</tspan><tspan class="m">b c</tspan><tspan>d </tspan><tspan class="m">ef</tspan>' x.svg || fail 'not marked'
    for name in labels tokens.x; do expect 2 bload show d --mask "$name" :err-is "bload: show: --mask $name: there is no such field of one integer a step"; done
    rm -r d
    masked --field labels=labels:i32 # -100 is what is left out of the loss
    expect 0 bload show d --field tokens
    is ' ~~~~~ ~' "$(grep -A 1 '^ab cd ef$' "$OUT" | tail -n 1)"
}

# A long text is broken into lines, between words where there are some, and all of it is there.
test_long_texts_are_broken() {
    python3 -c 'print("word " * 30 + "x" * 90 + "\tend")' >words.txt
    expect 0 bload pack -q words.txt --tokenizer bytes -T longest -o d
    for columns in 20 33 80; do
        COLUMNS=$columns expect 0 bload show d
        sed -n '/, from step 0$/,/^$/p' "$OUT" | sed '1d;$d' >text
        is "$(sed 's/ //g;s/\t//' words.txt)" "$(tr -d ' \n' <text)"
        [ "$(wc -L <text)" -le "$columns" ] || fail "more than $columns columns"
        ! grep -qE '(^| )(w|wo|wor)$' text || fail 'a word is broken'
    done
}

# Nothing that a terminal would obey.
test_texts_cannot_do_harm() {
    given t.txt '\033[31mred\033]0;title\007\r\b \302\233 \342\200\256 \377 <b>&amp;" \0 end\n' expect 3 bload pack -q t.txt --tokenizer bytes -T longest -o d
    LC_ALL=C.UTF-8 expect 0 bload show d
    no_escapes
    out_has '?[31mred?]0;title?'
    LC_ALL=C expect 0 bload show d
    no_escapes ascii
    shown 0 d
    grep -qF '&lt;b&gt;&amp;amp;&quot;' x.html || fail 'not escaped'
    ! LC_ALL=C grep -q $'[\001-\010\013-\037\177]' x.html x.svg || fail 'a control character'
}

# --- what the terminal can do -------------------------------------------------------------------------------------------

test_colours() {
    clips
    expect 0 bload show d
    no_escapes ascii # no terminal
    for options in '--color never' '--color auto'; do
        LC_ALL=C.UTF-8 expect 0 bload show d $options
        no_escapes ascii
    done
    LC_ALL=C.UTF-8 COLORTERM=truecolor expect 0 bload show d --color always :out $'\033[48;2;200;0;0m\033[38;2;200;0;0m▀' :out-lacks ';5;'
    LC_ALL=C.UTF-8 COLORTERM='' expect 0 bload show d --color always :out $'\033[48;5;160m' :out-lacks ';2;'
    LC_ALL=C COLORTERM=24bit expect 0 bload show d --color always :out $'\033[48;2;200;0;0m '
    ! LC_ALL=C grep -q $'[\200-\377]' "$OUT" || fail 'not ASCII'
    expect 2 bload show d --color some
    # Without colours the three pictures still differ.
    expect 0 bload show d
    is 2 "$(grep -oE '^[^|0-9a-z /]+$' "$OUT" | sed 's/./&\n/g' | sort -u | grep -c .)"
}

# On a terminal: colours unless TERM, NO_COLOR or --color say otherwise, and as wide as it is.
test_a_terminal() {
    clips
    cat >terminal.py <<'END'
import fcntl, os, pty, struct, sys, termios
ours, theirs = pty.openpty()
fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, int(sys.argv[1]), 0, 0))
child = os.fork()
if not child:
    os.dup2(theirs, 1)
    os.execvp(sys.argv[2], sys.argv[2:])
os.close(theirs)
told = b""
try:
    while part := os.read(ours, 65536):
        told += part
except OSError:
    pass
sys.stdout.buffer.write(told.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
END
    on() { expect 0 env LC_ALL=C.UTF-8 COLUMNS=33 "${@:2}" python3 terminal.py "$1" "$BLOAD" show d; }
    on 60 TERM=xterm
    out_has $'\033['
    on 60 TERM=xterm NO_COLOR=1
    no_escapes
    is 60 "$(wc -L <"$OUT")"
    on 20 TERM=dumb
    no_escapes
    is 20 "$(sed -n '3,/^ *start/p' "$OUT" | sed '$d' | wc -L)"
    on 60 TERM=
    no_escapes
    on 60 TERM=xterm NO_COLOR=
    out_has $'\033['
}

test_narrow_terminals() {
    masked
    mv d text
    clips
    for columns in 1 8 9 20 240 999 x ''; do
        for dir in d text; do
            LC_ALL=C.UTF-8 COLUMNS=$columns expect 0 bload show $dir --color always
            LC_ALL=C COLUMNS=$columns expect 0 bload show $dir
            no_escapes ascii
        done
    done
    COLUMNS=20 expect 0 bload show text
    is '|t.jsonl#0----------' "$(sed -n 4p "$OUT")"
    COLUMNS=999 expect 0 bload show text
    is 240 "$(wc -L <"$OUT")"
}

# --- subjects -----------------------------------------------------------------------------------------------------------

test_sequences_in_pieces() {
    lines
    shown 0 d --sequence t.jsonl#29
    out_has 'sequence t.jsonl#29: 20 of 20 steps, in 3 pieces'
    is '01234567 89abcdef ghij' "$(sed -n '/, from step/{n;p;}' "$OUT" | xargs)"
    page_is_sound x.html 't.jsonl#29|0|8|0|20|2|ok' 't.jsonl#29|8|8|8|20|1|ok' 't.jsonl#29|16|4|16|20|0|ok'
    grep -qx 'block 1 at 0: from step 8, 8 steps, 8 to 15 of 20' words || fail 'no words'
    expect 0 bload show d --sequence t.jsonl#0 :out 'sequence t.jsonl#0: 3 of 3 steps, in 1 piece'
    rm -r d
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 8 --oversize truncate -o d
    shown 0 d --sequence t.jsonl#29
    out_has 'sequence t.jsonl#29: 8 of 20 steps, in 1 piece' 01234567
}

# A part of a sequence that begins later: the axis begins with it.
test_a_part_of_a_sequence() {
    given t.jsonl '{"text": "0123456789abcdefghij"}\n{"text": "x"}\n' expect 0 bload pack -q t.jsonl --tokenizer bytes -T 8 --strategy sample --seed 1 -o d
    shown 0 d --sequence t.jsonl#0
    first=$(($(sed -n 's/^tokens: \([0-9]*\) to .*/\1/p' "$OUT") - 48))
    [ "$first" -gt 0 ] || fail 'from the beginning'
    steps=$(sed -n 's/^sequence t.jsonl#0: \([0-9]*\) of 20 steps, in 1 piece$/\1/p' "$OUT")
    text=0123456789abcdefghij
    text=${text:first:steps}
    is "$text" "$(sed -n '/, from step 0$/{n;p;}' "$OUT")"
    page_is_sound x.html "t.jsonl#0|0|${#text}|$first|20|0|ok"
}

test_sequences_that_are_not_stored() {
    lines
    expect 2 bload show d --sequence t.jsonl#16 :err-is 'bload: show: d: t.jsonl#16 is not stored: it was skipped: empty document'
    expect 2 bload show d --sequence t.jsonl#1 -o x.png :err-is 'bload: show: d has no sequence t.jsonl#1: did you mean t.jsonl#0?'
    rm -r d
    expect 0 bload pack -q t.jsonl --tokenizer bytes -T 8 --oversize drop -o d
    expect 2 bload show d --sequence t.jsonl#29 -o x.svg :err 'd: t.jsonl#29 is not stored: it was dropped' :out-is ''
    [ "$(echo x.*)" = 'x.*' ] || fail 'a file'
}

# A broken array, whose steps are zeros in the block.
test_sequences_that_failed() {
    python3 "$BLOAD_ROOT/fixtures/arrays.py" in
    expect 3 bload pack -q --kind array in/sub -T 4000 -o d
    block=0
    bload show d --block 0 | grep -q '(failed while packing)' || block=1
    shown 0 d --block $block
    out_has 'spoilt.npz (failed while packing)' ', 1 failed while packing'
    grep -qx 'spoilt.npz: from step [0-9]*, 3,000 steps, failed while packing' words || fail 'no words'
    grep -q '<td>failed while packing</td>' x.html || fail 'no state'
    expect 2 bload show d --sequence spoilt.npz :err 'd: spoilt.npz is not stored: it failed while packing'
}

test_blocks_and_epochs() {
    lines
    expect 0 bload view -q d -T 20 --epochs 2 --seed 3 -o v
    for epoch in 0 1; do
        for block in 0 1; do
            expect 0 bload show v --block $block --epoch $epoch
            sed -n '/, from step/{n;p;}' "$OUT"
        done | LC_ALL=C sort | xargs >all
        is '0123456789abcdefghij abc' "$(cat all)"
    done
    expect 0 bload show v --block 1 --epoch 1 -o x.svg
    [ "$(drawn words x.svg | head -n 1)" = 'block 1 of 2, epoch 1' ] || fail 'no epoch'
    expect 2 bload show v --epoch 2 :err 'v has no plan of an epoch 2'
    expect 2 bload show d --block 3 :err-is 'bload: show: no block 3: d has 3'
    expect 2 bload show d --block=-1
    expect 2 bload show d --block 0 --sequence t.jsonl#0 :err-is 'bload: show: --block and --sequence exclude each other'
    expect 2 bload show
    expect 2 bload show d d
    expect 2 bload show t.jsonl :err-is 'bload: show: t.jsonl is a file, not the directory of a dataset'
    mkdir none
    expect 2 bload show none :err-is 'bload: show: none is not a finished dataset: it has no manifest.json'
    rm d/manifest.json
    expect 2 bload show d :out-is ''
}

test_views() {
    lines
    mv d e
    lines
    given u.jsonl '{"text": "only here"}\n' expect 0 bload pack -q u.jsonl --tokenizer bytes -T 16 -o f --compress zstd
    expect 0 bload view -q d e f -T 64 -o v
    shown 0 v
    for block in 0 1 2; do bload show v --block $block; done | sed -n '/, from step/{n;p;}' | LC_ALL=C sort >texts
    printf '%s\n' 0123456789abcdefghij 0123456789abcdefghij abc abc 'only here' | diff - texts
    page_is_sound x.html 'tokens|a colour for each integer|48 to 106|tokens of bytes (256 ids, digest c44bdff4074eecdb), special tokens in text plain, padding 0'
    expect 0 bload show v --sequence e/t.jsonl#29 :out 'sequence e/t.jsonl#29: 20 of 20 steps, in 1 piece'
    expect 2 bload show v --sequence t.jsonl#29 :err 'did you mean '
    mv f g
    expect 1 bload show v -o x.png :err f
    rm x.*
    expect 1 bload show v :out-is ''
}

test_fields() {
    pictures a 5 c80000
    pictures b 3 00c800
    put l/a.txt '7\n7\n0\n7\n8\n' l/b.txt '0\n8\n8\n'
    put set.yaml 'sources: [v]\nkind: array\nname: frames\nT: 8\nfields: [{name: marks, path: "l/{stem}.txt", kind: labels}]\n'
    expect 0 bload pack -q -c set.yaml -o d
    shown 0 d
    is 'frames marks: 0 to 8' "$(grep -E '^(frames|marks)' "$OUT" | uniq | xargs)"
    is 'frames marks' "$(grep -xE 'frames|marks' words | uniq | xargs)"
    # One under the other: 8 cells of 120 pixels each, a gap, then the strip.
    colours_are x.png '18 57 110 119' c80000
    colours_are x.png '618 57 110 119' 00c800
    for cell in 0 1 2 3 4 5 6 7; do
        drawn colours x.png $((18 + 120 * cell)) 182 110 16
    done | awk '!name[$1] { name[$1] = ++n } { printf $1 == "ffffff" ? "0" : name[$1] }' >seen
    is 11213233 "$(cat seen)"
    shown 0 d --field marks
    ! grep -q frames "$OUT" words || fail 'frames'
    expect 2 bload show d --field mark :err-is 'bload: show: --field mark: there is none, did you mean marks? All are: frames, marks'
    expect 2 bload show d --mask marks :err-is 'bload: show: --mask: d has no field of tokens'
    expect 2 bload show d --color always -o x.png :err-is 'bload: show: --color is for the terminal, without -o'
}

# --- what it writes -----------------------------------------------------------------------------------------------------

test_outputs() {
    lines
    for name in x x.pdf x.svg.gz .svgz -; do expect 2 bload show d -o "$name" :err-is "bload: show: -o $name: the name must end in .html, .svg or .png"; done
    mkdir x.png
    expect 2 bload show d -o x.png :err '-o x.png is a directory'
    expect 1 bload show d -o none/x.svg
    [ "$(files . | grep -c 'x\.svg')" = 0 ] || fail 'a file'
    expect 0 bload show d -o X.HTML
    expect 0 bload show d -o again.html
    same X.HTML again.html
    grep -qF '<h1>d, block 0 of 3</h1>' X.HTML || fail 'no title'
    expect 1 sh -c '"$BLOAD" show d >/dev/full' :err 'cannot write standard output: No space left on device'
    expect 1 sh -c '"$BLOAD" show d >&-'
    ln -s /dev/full x.svg
    expect 1 bload show d -o x.svg :err 'No space left on device'
}

# A stopped one leaves nothing under the name, nor what was there before.
test_stopped() {
    head -c 60000000 /dev/zero | tr '\0' a >long.txt
    expect 0 bload pack -q long.txt --tokenizer bytes -T longest --dtype u16 --compress zstd -o d
    for signal in TERM INT; do
        for form in html svg png; do
            ended_by $signal d/manifest.json bload show d -o x.$form
            [ $status -gt 128 ] || fail "status $status"
            # shellcheck disable=SC2154 # set by ended_by
            [ "$took" -le 2 ] || fail "$took s"
            is 'd long.txt' "$(echo *)"
        done
    done
}

# --- damage -------------------------------------------------------------------------------------------------------------

# The lane has the two colours of the hatch and the marks of boundaries, not one of its pictures.
hatch='1f2328 b83a3a f7e1e1'

test_a_damaged_block() {
    for options in '' '--encode delta --compress zstd' '--encode jpeg'; do
        rm -rf d
        clips $options
        shown 0 d --block 1
        [[ $options = *jpeg ]] || colours_are x.png "$lane 118 119" 1f2328 c8c800
        damage d/$shard*
        shown 1 d --block 1
        err_has 'bload: show: d/'
        if [[ $options = *zstd ]]; then err_has 'cannot decompress'; else err_has 'is damaged: block 1 of frames has the checksum '; fi
        colours_are x.png "$lane 840 120" $hatch
        colours_are x.png "858 57 118 120" 8c959f f6f8fa # padding
        is '104 105 960 120 ffffff' "$(drawn images x.svg)"
        is '104 57 960 120 ffffff' "$(drawn images x.html | head -n 1)"
        is 4 "$(grep -cx damaged words)" # two spans, each with a tip
        page_is_sound x.html 'd.npy|0|1|0|1|1|damaged' 'c.npy|1|6|0|6|1|damaged'
        out_has ' c.npy (damaged)'
        is 20 "$(sed -n '/^frames/,/^ *start/p' "$OUT" | grep -cE '^(x{80}|x{60}/{20})$')" # both lines of pictures
        # The other block is drawn.
        if [[ $options != *zstd ]]; then
            shown 0 d --block 0
            [[ $options = *jpeg ]] || colours_are x.png '18 57 580 119' c80000 ffffff
            ! grep -qE '^(b83a3a|f7e1e1)$' colours || fail 'marked as damaged'
        fi
    done
}

# Of a sequence in pieces those of other blocks are drawn; of a piece that lies in two stored blocks nothing is.
test_damage_of_a_part() {
    pictures a 6 c80000 5 0000c8
    pictures b 3 00c800
    expect 0 bload pack -q v --kind array --name frames -T 8 --oversize split -o d
    expect 0 bload view -q d -T 16 -o view
    shown 0 view
    colours_are x.png "$lane 960 79" 0000c8 00c800 1f2328 c80000 ffffff
    damage d/$shard # the second block of the shard
    bload show d --block 1 >/dev/null 2>&1 && fail 'not damaged'
    shown 1 d --sequence a.npy
    is 1 "$(grep -c ' (damaged)$' "$OUT")"
    shown 1 view
    out_has ' a.npy (damaged)'
    drawn images x.svg >images
    ! grep -qE 'c80000|0000c8' images || fail 'a part of what is damaged is drawn'
    ! grep -qE '^(c80000|0000c8)$' colours || fail 'a part of what is damaged is drawn'
}

test_damaged_texts() {
    masked --field mask=mask:i32
    damage d/$shard mask
    shown 1 d
    err_has 'is damaged: block 0 of mask has the checksum '
    out_has 't.jsonl#0, from step 0: damaged' # what is shaded is not known
    ! grep -q 'ab cd' "$OUT" x.html x.svg || fail 'the text'
    grep -qF 'Damaged: not shown.' x.html || fail 'no words'
    grep -qx 't.jsonl#0, from step 0: damaged' words || fail 'no words'
}

test_damage_elsewhere() {
    lines
    for file in index.safetensors manifest.json sequences.tsv; do
        cp -r d e
        printf '\377\376' | dd of=e/$file bs=1 seek=$(($(stat -c %s e/$file) - 20)) conv=notrunc status=none
        expect 1 bload show e -o x.html :err 'bload: show: '
        rm -rf e x.html
    done
    mv d/$shard gone
    expect 1 bload show d -o x.png :err 'No such file or directory' :none x.png
}

# Whatever the names are.
test_names_cannot_do_harm() {
    mkdir v
    printf one >v/$'a\033[31m<&">\xff.txt'
    printf two >v/$'b\nc\t]]>\r.txt'
    printf three >v/$'\342\200\256<script>alert(1)<\\script>\302\233.txt'
    given v/é一.txt 'four' expect 0 bload pack -q v --tokenizer bytes -T 64 -o 'd<&"'
    for locale in C C.UTF-8; do
        for options in '--color never' '--color never --sequence é一.txt'; do
            LC_ALL=$locale COLUMNS=200 expect 0 bload show 'd<&"' $options
            if [ $locale = C ]; then no_escapes ascii; else no_escapes; fi
            out_has four
        done
    done
    out_has 'sequence é一.txt: 4 of 4 steps, in 1 piece'
    shown 0 'd<&"'
    ! LC_ALL=C grep -q $'[\001-\010\013-\037\177]' x.html x.svg || fail 'a control character'
    ! grep -q $'\342\200\256' x.html x.svg || fail 'from right to left'
    grep -qF '<h1>d&lt;&amp;&quot;, block 0 of 1</h1>' x.html || fail 'no title'
    page_is_sound x.html '?<script>alert(1)<\\script>?.txt|4|5|0|5|0|ok' 'a?[31m<&">\xFF.txt|9|3|0|3|0|ok' 'b\nc\t]]>\r.txt|12|3|0|3|0|ok'
}

# --- forms of datasets --------------------------------------------------------------------------------------------------

test_encodings_look_alike() {
    clips
    for form in png svg; do expect 0 bload show d --block 1 -o plain.$form; done
    expect 0 bload show d --block 1
    cp "$OUT" plain
    for options in '--compress zstd' '--encode delta --compress zstd' '--shard-size 400'; do
        rm -r d
        clips $options
        for form in png svg; do expect 0 bload show d --block 1 -o x.$form; same plain.$form x.$form; done
        expect 0 bload show d --block 1 :out-as plain
    done
    rm -r d
    clips --encode jpeg
    expect 0 bload show d --block 1 -o x.png
    [ "$(drawn colours x.png 20 60 90 90 | wc -l)" = 1 ] || fail 'not one colour'
}
