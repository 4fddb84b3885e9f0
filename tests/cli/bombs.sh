# Files that are far more than they seem, or claim to be: each is told in little memory and little time.
# shellcheck shell=bash disable=SC2317

# within MIB STATUS COMMAND...: expect, while the tool may write to so much memory: it takes 50 MiB to do anything at all. Only a
# release: sanitizers want all of the addresses that there are.
within() {
    local mib=$1
    shift
    (
        export MALLOC_ARENA_MAX=1
        case ${VARIANT-release} in release) ulimit -d $((mib * 1024)) ;; esac
        expect "$@"
    )
}

# zeros MIB [BYTE]: so many MiB of a byte.
zeros() {
    head -c $(($1 << 20)) /dev/zero | tr '\0' "${2-x}"
}

texts() {
    mkdir t
    for i in 1 2 3; do echo a >t/$i.txt; done
}

test_a_bomb_of_attributes() {
    texts
    { printf 'id,a\n1,' && zeros 150; } | gzip -1 >line.csv.gz
    { printf 'id,a\n1,"' && zeros 150 '\n'; } | gzip -1 >quote.csv.gz
    { printf 'id,a\n' && zeros 150 ,; } | gzip -1 >commas.csv.gz
    { printf 'id\ta\n1\t' && zeros 150 '\t'; } | gzip -1 >tabs.tsv.gz
    { printf 'id,a\n1,2,3\n' && zeros 150 '\n'; } | gzip -1 >fault.csv.gz
    { printf 'id,a\n1,2\n' && zeros 150 '\n' && printf '2,3\n3,4\n'; } | gzip -1 >empty.csv.gz
    { printf 'id,a\n' && zeros 50 1 | sed 's/1/1,2\n/g'; } | gzip -1 >same.csv.gz
    { printf 'id,a\n' && zeros 1 >long && for ((i = 0; i < 150; i++)); do printf '%d,' $i && head -c 1000000 long && echo; done; } | gzip -1 >wide.csv.gz
    local run=(bload scan t --tokenizer bytes -j 1 --attributes)
    within 150 1 "${run[@]}" line.csv.gz
    err_has 'line.csv.gz: line 2: a record of more than 1048576 bytes'
    within 150 1 "${run[@]}" quote.csv.gz
    err_has 'quote.csv.gz: line 2: a value in quotes that does not end within 1048576 bytes'
    within 150 1 "${run[@]}" commas.csv.gz
    err_has 'commas.csv.gz: line 2: a record of more than 1048576 bytes'
    within 150 1 "${run[@]}" tabs.tsv.gz
    err_has 'tabs.tsv.gz: line 2: a record of more than 1048576 bytes'
    within 150 1 "${run[@]}" fault.csv.gz
    err_has 'fault.csv.gz:2: 3 values where the header has 2 columns'
    within 150 1 "${run[@]}" same.csv.gz
    err_has 'same.csv.gz:3: duplicate id "1", first on line 2'
    within 200 1 "${run[@]}" wide.csv.gz
    err_has 'MiB of values out of'
    err_has '(choose columns with --attributes-columns, or decompress the file)'
    within 150 0 "${run[@]}" empty.csv.gz
    is '2 3 4' "$(field a <"$OUT" | xargs)"
}

# As much as that is fine where it is not out of nothing: in a file that is as large.
test_wide_attributes_that_are_no_bomb() {
    texts
    zeros 1 >long
    { printf 'id,a\n' && for ((i = 1; i < 100; i++)); do printf '%d,' $i && head -c 1000000 long && echo; done; } >wide.csv
    expect 0 bload scan -q t --tokenizer bytes --attributes wide.csv
    is 1000000 $(($(field a 1 <"$OUT" | wc -c) - 1))
}

test_a_table_is_copied_in_pieces() {
    local rows=400000
    awk -v n=$rows 'BEGIN {
        OFS = "\t"
        print "id", "length", "kind", "path", "bytes", "status", "reason", "sampling", "stream", "content"
        long = sprintf("%200d", 0)
        for (i = 0; i < n; i++) print "a" i, 1, "array", "none/" i long, 8, "ok", "", "", "", ""
    }' >t.tsv
    [ "$(stat -c %s t.tsv)" -gt 80000000 ] || fail 'a small table'
    within 110 1 bload pack -q --sequences t.tsv -T 100 -j 1 -o d
    err_has 'is gone'
    same t.tsv d/.bload/sequences.tsv
    within 110 1 bash -c '"$BLOAD" pack -q --sequences - -T 100 -j 1 -o e <t.tsv'
    same t.tsv e/.bload/sequences.tsv
}
