# bload pack --token-file: flat files of token ids, of nanoGPT, llm.c, OLMo, Megatron and datatrove.
# shellcheck shell=bash disable=SC2317,SC2154,SC2086

# le BYTES NUMBER...: the numbers in so many bytes each, the lowest first.
le() {
    local size=$1 number i byte text=
    shift
    for number; do
        for ((i = 0; i < size; i++)); do printf -v byte '\\x%02x' $((number >> 8 * i & 255)); text+=$byte; done
    done
    printf "%b" "$text"
}

# The same ids in each form: documents 5 6 7 9, 8 9, 3 9; 9 ends each, and in Megatron's the first has two sequences.
setup() {
    local ids="5 6 7 9 8 9 3 9"
    printf '{"input_ids": [%s]}\n' '5, 6, 7, 9' '8, 9' '3, 9' >ids.jsonl
    {
        le 2 $ids >nano.bin
        le 4 $ids >olmo.npy
        { le 4 20240520 1 8 && head -c 1012 /dev/zero && le 2 $ids; } >llmc2.bin
        { le 4 20240801 7 8 && head -c 1012 /dev/zero && le 4 $ids; } >llmc4.bin
        le 2 $ids >m.bin
        le 4 $ids >d.ds
    }
    # Megatron's: lengths 2 2 0 2 2, offsets in bytes, documents 0 2 2 4 5, of which the second is empty.
    { printf 'MMIDIDX\0\0' && le 8 1 && le 1 8 && le 8 5 5 && le 4 2 2 0 2 2 && le 8 0 4 8 8 12 && le 8 0 2 2 4 5; } >m.idx
    le 8 4 6 8 >d.ds.index
    printf 'gpt2|4\n8\n8 T' >d.ds.metadata
}

# shards DIR: the checksums of its index and shards.
shards() { (cd "$1" && find index.safetensors shards -type f -print0 | sort -z | xargs -0 sha256sum); }

# packs NAME SPEC FILE [OPTION...]: the dataset NAME is that of the same ids in JSONL.
packs() {
    local name=$1 spec=$2 file=$3
    shift 3
    expect 0 bload pack -q --token-file "$spec" "$file" -T 8 -o "$name" "$@"
    expect 0 bload pack -q ids.jsonl --key input_ids -T 8 -o "$name-json" "$@"
    is "$(shards "$name-json")" "$(shards "$name")"
    is "$(field length <"$name-json/sequences.tsv")" "$(field length <"$name/sequences.tsv")"
    expect 0 bload verify -q "$name"
}

test_each_form_gives_what_json_gives() {
    packs nano dtype=u16,eos=9 nano.bin
    is 'nano.bin#0 nano.bin#8 nano.bin#12' "$(field id <nano/sequences.tsv | xargs)"
    packs olmo dtype=u32,eos=9,vocab=10 olmo.npy
    packs llmc2 auto,eos=9 llmc2.bin
    is 'llmc2.bin#1024 llmc2.bin#1032 llmc2.bin#1036' "$(field id <llmc2/sequences.tsv | xargs)"
    packs llmc4 eos=9,dtype=u32 llmc4.bin
    packs ds auto d.ds
    is 'd.ds#0 d.ds#16 d.ds#24' "$(field id <ds/sequences.tsv | xargs)"
    packs marks dtype=u16,eos=9 nano.bin --bos 1 --eos 2
    packs narrow dtype=u32,eos=9 olmo.npy --dtype u16 --bos 1
    packs split dtype=u16,eos=9 nano.bin -T 3 --oversize split --bos 1 --eos 2
    # Marks that are there are not added again, by documents.
    packs there dtype=u16,eos=9 nano.bin --bos 5 --eos 9
    is '1 0 0' "$(field bos.given <there/sequences.tsv | sed 's/^$/0/' | xargs)"
    is '4 3 3' "$(field length <there/sequences.tsv | xargs)"
    packs cut dtype=u16,eos=9 nano.bin -T 2 --oversize split --bos 8 --eos 7
    # Without metadata, or with those of older versions, which have no bytes of a token.
    printf 'gpt2\n8\n8 T' >d.ds.metadata
    packs older auto d.ds
    rm d.ds.metadata
    packs bare dtype=u32 d.ds
}

test_documents_by_an_index_a_mark_or_none() {
    # Whichever of its names Megatron's pair has; the eos= of other files does no harm.
    for name in m.bin m.idx m; do
        expect 0 bload scan --token-file auto,eos=5 $name :column id 'm.bin#0 m.bin#8 m.bin#12' :column length '4 2 2' :column empty '1 0 0'
        err_has 'empty documents of an index, left out: 1 (column empty)'
    done
    # What follows the last mark is a document, too.
    expect 0 bload scan --token-file dtype=u16,eos=8 nano.bin :column length '5 3' :column unmarked '0 1'
    err_has 'documents without the eos= that ends them, or the bos= that begins them: 1 (column unmarked)'
    expect 0 bload scan --token-file dtype=u16,bos=9 nano.bin :column length '3 2 2 1' :column unmarked '1 0 0 0'
    expect 0 bload pack --token-file dtype=u16 nano.bin -T 3 --oversize split -o whole
    is 'nano.bin 8 1' "$(awk 'NR > 1 { print $1, $2, $NF }' whole/sequences.tsv)"
    err_has 'files that are one sequence each, as no index, eos= or bos= divides them: 1 (column undivided)'
    # Of a folder the files of ids, and nothing that lies beside them.
    mkdir folder
    mv nano.bin m.bin m.idx d.ds d.ds.index d.ds.metadata ids.jsonl folder
    le 2 5 9 >folder/raw.npy
    expect 0 bload scan --token-file dtype=u16,eos=9 folder/nano.bin folder/raw.npy
    expect 3 bload scan --token-file dtype=u16,eos=9 folder :err 'skipped d.ds: dtype=u16, and folder/d.ds.metadata says u32'
    is '3 1 3 1' "$(field id <"$OUT" | sed 's/#.*//' | uniq -c | awk '{ print $1 }' | sort -r | xargs | awk '{ print $1, $3, $2, $4 }')"
    err_has 'ignored in folders: 1 .idx, 1 .index, 1 .jsonl, 1 .metadata'
}

# Each: the spec, the file, the command that makes it from the forms, and what is said, the status 3 or 2 first.
mistakes() {
    cat <<'END'
dtype=u16,eos=9|nano.bin|shorten 1 nano.bin|3 skipped nano.bin: byte 14: 1 bytes are left over, and an id of u16 has 2
dtype=u16,eos=9,vocab=8|nano.bin||2 --token-file: eos=9 is no id of vocab=8
dtype=u16,eos=3,vocab=9|nano.bin||3 skipped nano.bin#0: token 3, at byte 6, is 9: an id is a number from 0 to 8
dtype=u16,eos=4|nano.bin||3 skipped nano.bin: eos=4 is nowhere in the file: another id, or another dtype?
dtype=u16,eos=99|wide.bin|le 4 $(seq 100 140) >wide.bin|3 skipped wide.bin: byte 2: every second number from here on is below 32, as if ids of u32 were read as u16
dtype=u32|narrow.bin|le 2 $(seq 1000 1099) >narrow.bin|3 skipped narrow.bin: byte 0: most numbers from here on are above 16777215, as if ids of u16 were read as u32
auto|nano.bin||2 nano.bin: nothing says the type of its ids: --token-file dtype=u16, or u32 ...
dtype=u16|array.bin|printf '\223NUMPY\1\0v\0{ and so on' >array.bin|3 skipped array.bin: byte 0: the header of an NPY file, which is read without --token-file
dtype=u16|nano.bin.gz|gzip nano.bin|3 skipped nano.bin.gz: ids are read where they are in the file: decompress it first
dtype=i32,eos=9|olmo.npy|le 4 -1 9 >olmo.npy|3 skipped olmo.npy#0: token 0, at byte 0, is -1: an id is a number from 0 to 2147483647
dtype=u16,eos=9|empty.bin|: >empty.bin|0 empty document
auto,eos=9|llmc2.bin|shorten 2 llmc2.bin|3 skipped llmc2.bin: byte 8: a header of llm.c that says 8 tokens, and 14 bytes follow it
dtype=u32,eos=9|llmc2.bin||3 skipped llmc2.bin: dtype=u32, and its header says u16
auto,eos=9|llmc4.bin|patch llmc4.bin 4 4 1|3 skipped llmc4.bin: byte 4: a header of llm.c, version 1, which must be 7
auto|llmc2.bin|patch llmc2.bin 0 4 20240522|3 skipped llmc2.bin: byte 0: examples of an evaluation, as llm.c writes them, not ids alone
auto|m.bin|shorten 8 m.idx|3 skipped m.bin: m.idx: 126 bytes are not what 5 sequences and 5 documents take
auto|m.bin|patch m.idx 0 1 78|3 skipped m.bin: m.idx: not an .idx file of Megatron, version 1
auto|m.bin|patch m.idx 17 1 6|3 skipped m.bin: m.idx: values of type 6: token ids are whole numbers
dtype=i32|m.bin||3 skipped m.bin: dtype=i32, and m.idx says u16
auto|m.bin|shorten 2 m.bin|3 skipped m.bin: m.idx: byte 50: sequence 4 has 2 tokens from byte 12 on, and the .bin file has 14 bytes
auto|m.bin|le 2 1 >>m.bin|3 skipped m.bin: m.idx: its 5 sequences have 16 bytes, and the .bin file 18
auto|m.bin|patch m.idx 62 8 6|3 skipped m.bin: m.idx: byte 62: sequence 1 begins at byte 6 of the .bin file, and those before it end at 4
auto|m.bin|patch m.idx 118 8 7|3 skipped m.bin: m.idx: byte 118: entry 3 of the document index is 7: it must go from 0 to the 5 sequences, and never back
auto|m.bin|patch m.idx 126 8 4|3 skipped m.bin: m.idx: byte 126: entry 4 of the document index is 4: it must go from 0 to the 5 sequences, and never back (--token-file sequences needs none)
sequences|m.bin|patch m.idx 126 8 4|0 bload: 1 file: 4 sequences of 8 steps
dtype=u16|m.idx|rm m.bin|3 skipped m.idx: it holds no ids, and the file that does is not beside it, or not named
auto|d.ds|patch d.ds.index 8 8 3|3 skipped d.ds: d.ds.index: byte 8: document 1 ends at token 3, and the one before at 4
auto|d.ds|patch d.ds.index 16 8 9|3 skipped d.ds: d.ds.index: byte 16: document 2 ends behind the last of the 8 tokens
auto|d.ds|patch d.ds.index 16 8 -1|3 skipped d.ds: d.ds.index: byte 16: document 2 ends behind the last of the 8 tokens
auto|d.ds|patch d.ds.index 16 8 7|3 skipped d.ds: d.ds.index: byte 16: the last document ends at token 7, and there are 8
auto|d.ds|shorten 3 d.ds.index|3 skipped d.ds: d.ds.index: byte 16: cut off: an entry has 8 bytes
auto|d.ds|shorten 4 d.ds|3 skipped d.ds: d.ds.metadata: line 2 says 8 tokens of 4 bytes, and the file has 28 bytes
auto|d.ds|printf 'gpt2|3\n8\n' >d.ds.metadata|3 skipped d.ds: d.ds.metadata: no "NAME|2" or "NAME|4", the bytes of a token, on line 1
dtype=u8,eos=256|nano.bin||2 --token-file: eos=256 is no id of u8, which ends at 255
dtype=uint16|nano.bin||2 --token-file expects auto, or some of dtype=
sequences,many|nano.bin||2 --token-file expects auto, or some of dtype=
eos=9,bos=8|nano.bin||2 --token-file expects auto, or some of dtype=
END
}

# patch FILE OFFSET BYTES NUMBER
patch() { le "$3" "$4" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

test_mistakes_are_named_by_file_and_byte() {
    while IFS= read -r line; do
        spec=${line%%|*} said=${line##*|}
        case $said in 3* | 2* | 0*) ;; *) said=${line#*|*|*|} && said=3${said#*|3} ;; esac # a bar in the command or the text
        line=${line#*|} file=${line%%|*}
        line=${line#*|} change=${line%"|$said"}
        rm -f ./*
        setup
        eval "$change"
        expect "${said%% *}" bload scan --token-file "$spec" "$file" :err "${said#* }"
        is "$(field id <"$OUT" | wc -l)" "$(field id <"$OUT" | sort -u | wc -l)"
    done < <(mistakes)
    # Those that are not meant for such files say what they need.
    rm -f ./*
    setup
    expect 3 bload scan --kind text olmo.npy :err 'skipped olmo.npy: not an NPY file: ids without a header are read with --token-file dtype=u16'
    expect 3 bload scan --kind text nano.bin :err "skipped nano.bin: Megatron's data are named by their .idx file (a flat file of ids: --token-file dtype=u16)"
    for option in --tokenizer=bytes --key=ids --documents=line --format=npy --megatron=document --keep=a --field=a=b --min-trained=1; do
        expect 2 bload scan --token-file auto "${option%%=*}" "${option#*=}" m.bin :err "--token-file: the inputs are ids alone, so leave ${option%%=*} out"
    done
    expect 2 bload scan -q --token-file dtype=u16 --dedup-by text nano.bin :err '--dedup-by text: the table has no column "text", but id, length,'
    expect 0 bload scan -q --token-file dtype=u16 --dedup-by undivided nano.bin olmo.npy :column status 'ok dropped'
    expect 2 bload scan --token-file dtype=u16 - <nano.bin :err '--token-file: ids are read where they are, so name a file, not -'
    expect 2 bload scan --token-file dtype=u32,eos=70000 olmo.npy --dtype u16 :err '--token-file: the id 70000 does not fit --dtype u16'
    expect 2 bload scan --token-file dtype=u16 nano.bin --kind video :err '--token-file is for text, and the inputs are video'
}

# Large files are counted in parts, which is nowhere to be seen: those of u32 are cut at other documents.
test_parts_of_a_large_file() {
    python3 - <<'END'
import array, random
random.seed(1)
ids = array.array("H", (random.choice((50256, 7, 300)) if random.random() < 0.01 else 1000 + i % 40000 for i in range(1 << 20)))
open("a.bin", "wb").write(ids.tobytes())
open("b.bin", "wb").write(array.array("I", ids).tobytes())
ends = [i + 1 for i, id in enumerate(ids) if id == 50256]
ends += [len(ids)] if ends[-1] < len(ids) else []
open("c.ds", "wb").write(ids.tobytes())
open("c.ds.index", "wb").write(array.array("Q", ends).tobytes())
END
    expect 0 bload pack -q -j 1 --token-file dtype=u16,eos=50256 a.bin -T 2048 --oversize split -o a
    expect 0 bload pack -q -j 3 --token-file dtype=u16,eos=50256 a.bin -T 2048 --oversize split -o again :same-as a
    expect 0 bload pack -q --token-file dtype=u32,eos=50256 b.bin -T 2048 --oversize split -o b
    is "$(shards a)" "$(shards b)"
    expect 0 bload pack -q --token-file dtype=u16 c.ds -T 2048 --oversize split -o c
    is "$(shards a)" "$(shards c)"
    expect 0 bload scan -q --token-file dtype=u16,bos=50256 a.bin -o one.tsv
    expect 0 bload scan -q -j 4 --token-file dtype=u16,bos=50256 a.bin :out-as one.tsv
    is "$(($(stat -c %s a.bin) / 2))" "$(field length <one.tsv | awk '{ n += $1 } END { print n }')"
}

test_files_that_change_after_the_scan() {
    expect 0 bload scan -q --token-file dtype=u16,eos=9 nano.bin --spool kept -o t.tsv
    expect 2 bload pack -q --sequences t.tsv -T 8 -o d :err 'the table was scanned with sampling "tokenizer=none token-file=dtype=u16,eos=9"'
    expect 0 bload pack -q --sequences t.tsv --token-file dtype=u16,eos=9 -T 8 -o d --spool kept
    patch nano.bin 0 2 4
    expect 1 bload pack -q --sequences t.tsv --token-file dtype=u16,eos=9 -T 8 -o e --spool kept :err 'nano.bin changed since the scan'
    # The same for what lies beside it, in a run that was stopped.
    expect 2 bload pack -q --token-file auto d.ds -T 8 -o f --memory 1
    expect 0 bload scan -q --token-file auto d.ds --spool index -o t.tsv
    le 8 5 6 8 >d.ds.index
    expect 1 bload pack -q --sequences t.tsv --token-file auto -T 8 -o g --spool index :err 'd.ds changed since the scan'
    # A table that says another length.
    expect 0 bload scan -q --token-file dtype=u16,eos=9 nano.bin -o t.tsv
    sed -i 's/^\(nano.bin#8\t\)2/\13/' t.tsv
    expect 3 bload pack --sequences t.tsv --token-file dtype=u16,eos=9 -T 8 -o h :err 'nano.bin#8'
}

# What bload exports for Megatron is what it reads: a sequence is one there, and a block a document.
test_there_and_back_by_megatron() {
    expect 0 bload pack -q ids.jsonl --key input_ids -T 4 -o d --order keep
    expect 0 bload export -q --to megatron d -o out
    expect 0 bload pack -q --token-file sequences out/tokens -T 4 -o again --order keep :made length '4 2 2'
    is "$(shards d)" "$(shards again)"
    expect 0 bload pack -q out/tokens.idx -T 4 -o spooled --order keep
    is "$(shards d)" "$(shards spooled)"
    is "$(field content <again/sequences.tsv)" "$(field content <spooled/sequences.tsv)"
    expect 0 bload scan -q --token-file auto out/tokens.bin :column length '4 4'
}
