# bload verify by tasks; what it finds at all is told by the tests of the commands that make datasets, and unit tests.
# shellcheck shell=bash disable=SC2317,SC2086

# d: ten blocks, a shard for each.
ten_shards() {
    mkdir v
    local i
    for i in 0 1 2 3 4 5 6 7 8 9; do cp "$(fixture h264-30.mp4)" "v/$i.mp4"; done
    expect 0 bload pack -q v -T 30 --size 16x16 --shard-size 1 -o d
    is 10 "$(find d/shards -type f | wc -l)"
}

# damage FILE AT: another byte, in the same place.
damage() {
    local was
    was=$(od -An -tu1 -j "$2" -N 1 "$1")
    # shellcheck disable=SC2059 # the byte is the format
    printf "\\x$(printf %x $(((was + 1) % 256)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

test_tasks_share_the_shards() {
    ten_shards
    expect 0 bload verify --task 0/3 d :err-is 'bload: d, task 0 of 3: verified, no errors: 3 of 10 shards, 79.6 KiB, and the files beside them'
    expect 0 bload verify --task 2/3 d :err-is 'bload: d, task 2 of 3: verified, no errors: 4 of 10 shards, 106.1 KiB'
    # More tasks than shards: some have nothing to do.
    expect 0 bload verify --task 1/40 d :err 'task 1 of 40: verified, no errors: 0 of 10 shards'
    damage d/shards/00000/shard-00000006.safetensors 5000
    expect 0 bload verify -q --task 0/3 d
    expect 0 bload verify -q --task 1/3 d
    expect 1 bload verify -q --task 2/3 d :err 'bload: shards/00000/shard-00000006.safetensors: block 6 of frames: checksum' :err 'bload: verify: d has 1 error'
}

# one_error DATASET FILE WORDS: that is all that is told.
one_error() {
    expect 1 bload verify -q "$1" :err "bload: $2: $3" "bload: verify: $1 has 1 error"
    is 2 "$(wc -l <"$ERR")"
}

test_a_file_that_is_missing_or_cut_is_one_error() {
    ten_shards
    expect 0 bload pack -q v -T 30 --size 16x16 --shard-size 1 --compress zstd -o z
    for dataset in d z; do
        for file in index.safetensors shards.tsv sequences.tsv $(cd $dataset && echo shards/00000/shard-00000004.*); do
            mv "$dataset/$file" whole
            one_error $dataset "$file" "$([[ $file == shards/* ]] && echo 'is missing' || echo 'cannot open')"
            head -c -9 whole >"$dataset/$file"
            one_error $dataset "$file" "$([[ $file == *.zst ]] && echo 'no seek table' || echo "has $(stat -c %s "$dataset/$file") bytes, ")"
            mv -f whole "$dataset/$file"
        done
        expect 0 bload verify -q $dataset
    done
}

# Whatever a byte is damaged in, the tasks together tell what one process tells.
test_no_fault_falls_between_tasks() {
    ten_shards
    cp -a d sound
    for file in manifest.json sequences.tsv shards.tsv index.safetensors shards/00000/shard-0000000{0,5,9}.safetensors; do
        for part in 3 5 9; do
            damage "d/$file" $(($(stat -c %s "d/$file") * part / 10))
            expect 1 bload verify -q d
            grep -v ' errors\?$' "$ERR" >whole
            : >told
            found=no
            for i in 0 1 2; do bload verify -q --task $i/3 d 2>>told || found=yes; done
            is yes $found
            while read -r line; do grep -qxF -e "$line" told || fail "no task tells: $line"; done <whole
            cp "sound/$file" "d/$file"
        done
    done
    given d/shards/00000/more 'more\n' expect 1 bload verify -q --task 0/3 d :err 'belongs to no shard'
    expect 0 bload verify -q --task 1/3 d
}

# Tables that a task needs are read by it, others are not.
test_a_task_reads_what_it_compares_with() {
    ten_shards
    chmod a+w d/sequences.tsv
    given d/sequences.tsv 'no table\n' expect 1 bload verify -q --task 0/3 d :err 'sequences.tsv: '
    expect 0 bload verify -q --task 1/3 d
    rm d/index.safetensors
    expect 1 bload verify -q --task 1/3 d :err 'index.safetensors: cannot open'
}

test_the_environment_tells_the_task() {
    ten_shards
    expect 2 env -i "$BLOAD" verify --task auto d :err 'no variable gives the task'
    expect 0 env -i OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 "$BLOAD" verify --task auto d :err 'task 1 of 2: verified, no errors: 5 of 10 shards'
    expect 2 env -i SLURM_PROCID=0 SLURM_NTASKS=2 "$BLOAD" verify --task auto d :err 'this is the batch script itself, not srun'
    expect 2 bload verify --task 3/3 d :err '--task expects i/N with i from 0 to N-1'
}

test_json() {
    awk 'BEGIN { for (i = 0; i < 40; i++) printf "{\"text\": \"%0*d\"}\n", 1 + i * 7919 % 60, i }' >docs.jsonl
    expect 0 bload pack -q docs.jsonl --tokenizer bytes -T 64 --shard-size 1K --store -o d
    expect 0 bload view -q d -T 128 -o v
    expect 0 bload export -q --to mds d -o m
    member() { # PYTHON
        python3 -c "import json; o = json.load(open('$OUT')); print($1)"
    }
    for dir in d v m; do
        expect 0 bload verify $dir --json
        is 'True seconds limit limit_share waited_for' "$(member "o['run']['seconds']['verifying'] == o['run']['seconds']['all'], *o['run']" | tr -d "(',)")"
    done
    expect 0 bload verify d --json
    is "dataset True [] None" "$(member "o['kind'], o['verified'], o['faults'], o['task']" | tr -d "(',)")"
    is "$(find d/shards -name '*.safetensors' | wc -l)" "$(member "o['shards']")"
    is "$(find d/shards -name '*.safetensors' -exec stat -c %s {} + | awk '{ sum += $1 } END { print sum }')" "$(member "o['bytes']")"
    expect 0 bload verify v --json
    is view "$(member "o['kind']")"
    expect 0 bload verify m --against d --json
    is "export 1 d" "$(member "' '.join(map(str, (o['kind'], o['files'], o['against'])))")"
    expect 0 bload verify d --json --task 1/2
    is "{'index': 1, 'tasks': 2}" "$(member "o['task']")"
    shard=$(cd d && find shards -name '*.safetensors' | sort | head -n 1)
    printf X | dd of="d/$shard" bs=1 seek=700 conv=notrunc status=none
    echo more >>d/shards.tsv
    expect 1 bload verify d --json
    is False "$(member "o['verified']")"
    is "$(grep -v -e --repair "$ERR" | grep -c ": ")" "$(member "len(o['faults']) + 1")"
    is "True True" "$(member "' '.join(str(any(f['file'] == name for f in o['faults'])) for name in ('shards.tsv', '$shard'))")"
    expect 1 bload verify v --json
    is d "$(member "next(f['source'] for f in o['faults'] if f['file'] == '$shard')")"
    expect 1 bload verify docs.jsonl --json
    is '' "$(cat "$OUT")"
}

# Whoever can write to a dataset could have its readers wait for ever.
test_only_regular_files_are_opened() {
    for i in 1 2 3; do echo "text $i" >$i.txt; done
    bload pack -q 1.txt 2.txt 3.txt --tokenizer bytes -T 16 -o d
    bload export -q --to mds d -o e
    bload view -q d -T 16 -o v
    for what in fifo socket device; do
        for file in manifest.json index.safetensors shards.tsv sequences.tsv shards/00000/shard-00000000.safetensors; do
            rm -rf x
            cp -r d x
            rm x/$file
            case $what in
            fifo) mkfifo x/$file ;;
            socket) python3 -c 'import os, socket, sys
os.chdir(os.path.dirname(sys.argv[1]))
socket.socket(socket.AF_UNIX).bind(os.path.basename(sys.argv[1]))' x/$file ;;
            device) ln -s /dev/zero x/$file ;;
            esac
            for command in 'info x' 'verify x' 'show x -o block.html' 'cat x 1.txt'; do
                status=0
                timeout 20 "$BLOAD" $command >"$OUT" 2>"$ERR" || status=$?
                case $status in 0 | 1 | 2) ;; *) fail "$command, $what for $file: status $status" ;; esac
            done
            status=0
            timeout 20 "$BLOAD" verify -q x >"$OUT" 2>&1 || status=$?
            is "$what $file 1" "$what $file $status"
        done
        rm -rf x
        cp -r v x
        rm x/places.safetensors 2>/dev/null || rm x/rows.safetensors
        mkfifo x/rows.safetensors
        timeout 20 "$BLOAD" verify -q x >"$OUT" 2>&1 || is 1 $?
    done
}

# An index that is whole, of the same sequences and the same number of blocks, but of another plan.
test_an_index_of_another_seed() {
    for i in $(seq 40); do seq $((i * 7 % 41 + 1)) >t$i.txt; done
    for seed in 1 2; do bload pack -q t*.txt --tokenizer bytes -T 256 --seed $seed -o s$seed; done
    cp s2/index.safetensors s1/
    expect 1 bload cat s1 t1.txt :err 'another dataset'
    expect 1 bload verify -q s1
    expect 1 bload view -q s1 -T 512 -o v :err 'another dataset'
}

# edit DATASET EXPRESSION: makes x, a copy whose manifest, m, is changed by Python.
edit() {
    rm -rf x
    cp -r "$1" x
    python3 - x/manifest.json "$2" <<'END'
import json, sys
m = json.load(open(sys.argv[1]))
exec(sys.argv[2])
json.dump(m, open(sys.argv[1], "w"))
END
}

# Names, digests and numbers have their form, or the manifest is refused before anything is made of them.
test_forms_of_names_and_digests() {
    echo text >1.txt
    bload pack -q 1.txt --tokenizer bytes -T 16 -o d
    bload view -q d -T 16 -o v
    for change in 'm["files"][0]["name"] = "../secret"' 'm["files"][0]["name"] = "/etc/passwd"' 'm["files"][0]["name"] = "a//b"' \
        'm["files"][0]["name"] = "./a"' 'm["files"][0]["name"] = "a/"' 'm["files"][0]["name"] = "a\x1b[1m"' 'm["files"][0]["name"] = ""' \
        'm["files"][0]["checksum"] = "../../0123456789"' 'm["files"][0]["checksum"] = "0123456789ABCDEF"' 'm["files"][0]["bytes"] = -1' \
        'm["fields"][0]["name"] = "../x"' 'm["fields"][0]["name"] = ""' 'm["fields"][0]["name"] = ".."' 'm["plan_digest"] = "x/../y"'; do
        edit d "$change"
        expect 1 bload info x :err-lacks 'wrong checksum'
        expect 1 bload verify -q x
    done
    for change in 'm["sources"][0]["path"] = ""' 'm["sources"][0]["path"] = "a\\x00b"' 'm["sources"][0]["files"]["shards.tsv"] = "../../../../x"' \
        'm["sources"][0]["rows"] = 10**18' 'm["sources"][0]["blocks"] = 2**62'; do
        edit v "$change"
        expect 1 bload verify -q x :err-lacks 'wrong checksum'
    done
    # In shards.tsv a checksum has 16 digits, and a name is the one that follows from its number.
    for change in 's|[0-9a-f]*$|../../0123456789|' 's|shards/00000|../../../000|' 's|[0-9a-f]*$|0123456789ABCDEF|'; do
        rm -rf x
        cp -r d x
        sed -i "2$change" x/shards.tsv
        expect 1 bload verify -q x
        grep -q 'invalid row' "$OUT" "$ERR" || fail "$change: $(cat "$OUT" "$ERR")"
    done
}
