# The YAML file: what it may say, what is refused with file, line and column, and --print-config.
# shellcheck shell=bash disable=SC2317

test_refusals_name_file_line_and_column() {
    refused_yaml '' <<'END'
T: 5\nsise: 224x224|:2:1: unknown key "sise": did you mean size?
# a comment\n\nT:  many|:3:5: T expects a number of steps from 1 to 2147483647, seconds such as 30s, "longest", or "auto" for a store, not "many"
size: [224, 224]|:1:7: size: a single value, not a list, is expected
T:\n  at: 5|:2:3: T: a single value, not a mapping, is expected
T: 5\nT: 6|:2:1: key given twice: T (first in line 1)
shard_size: 5M\nshard-size: 6M|:2:1: key given twice: shard-size (first in line 1)
sources: videos|:1:10: sources: a list is expected (- path: videos/)
sources:\n  - path: a\n    paht: b|:3:5: unknown key in a source (path, kind): paht
sources:\n  - path: a\n    kind: film|:3:11: there is no kind film
sources:\n  - kind: video|:2:5: a source without a path
- a|:1:1: a mapping of keys to values is expected
# nothing| is empty
help: true|:1:1: unknown key "help"
END
}

test_no_yaml() {
    given set.yaml 'T: [5\n' expect 2 bload pack -c set.yaml --print-config :err 'set.yaml:2:1: not YAML: '
    given set.yaml '\377\376\n' expect 2 bload pack -c set.yaml --print-config :err 'not YAML'
    expect 2 bload pack -c absent.yaml --print-config :err-is 'bload: pack: cannot open absent.yaml: No such file or directory'
    expect 2 bload pack -c . --print-config
}

test_flags_win_over_the_file() {
    given set.yaml 'T: 5\nseed: 7\nsize: 32x32\nquiet: yes\nsources: [a]\n' expect 0 bload pack -c set.yaml --seed 8 --print-config
    for line in 'T: 5' 'seed: 8' 'size: 32x32' 'quiet: true' '  - path: "a"'; do out_has "$line"; done
    expect 0 bload pack -c set.yaml --print-config b :out '  - path: "b"' :out-lacks '"a"'
}

test_what_is_printed_says_the_same_again() {
    expect 0 bload pack 'a "b" \ c' 'ü*' @list -T longest --size 20x10 --compress zstd:7 --fps 12.5 --seed 3 --memory 1G --pad repeat \
        --max-failed 5% --shard-size 3M -j 3 --print-config
    cp "$OUT" first.yaml
    expect 0 bload pack -c first.yaml --print-config :out-as first.yaml :out 'fps: 25/2' 'compress: zstd:7' 'shard-size: 3145728'
}

# Names may hold any byte but zero: what is printed is YAML, shows itself, and says the same again.
test_any_name_is_printed_as_yaml() {
    local name=$'a\e[31m \x7f\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\xef\xbb\xbf \\ "q" é\nb: [c'
    expect 0 bload pack "$name" $'no UTF-8 \xff\e' --key "$name" -T 5 --print-config
    cp "$OUT" first.yaml
    is 0 "$(LC_ALL=C grep -c $'[\001-\010\013-\037\177]' first.yaml)"
    expect 0 bload pack -c first.yaml --print-config :out-as first.yaml
    python3 - "$name" <<'END' || fail 'Python reads it otherwise'
import os, site, sys
site.main() # PyYAML is none of Python's own modules
try:
    import yaml
except ImportError:
    sys.exit(0)
read = yaml.safe_load(open("first.yaml", encoding="utf-8"))
assert [os.fsencode(s["path"]) for s in read["sources"]] == [os.fsencode(sys.argv[1]), b"no UTF-8 \xff\x1b"], read["sources"]
assert read["key"] == sys.argv[1], read["key"]
END
    refused_yaml '' <<'END'
key: !!binary "a"|:1:6: key: !!binary is not base64
key: !!binary "AA=="|:1:6: key: a zero byte in a text
END
}

# libyaml's time grows by the square of both.
test_deep_and_tangled_files_are_refused_at_once() {
    local began=$SECONDS
    refuse() { cat >set.yaml && expect 2 bload pack -c set.yaml --print-config :err-is "bload: pack: $1" :out-is ''; }
    refuse 'set.yaml:1:67: nested too deeply' < <(printf 'T: ' && head -c 200000 /dev/zero | tr '\0' '[')
    refuse 'set.yaml:1:321: nested too deeply' < <(yes '{"a":' | head -n 100000 | tr -d '\n')
    refuse 'set.yaml:1002:1: too many anchors' < <(echo 'T: [' && for i in $(seq 100000); do echo "&a$i x,"; done && echo ']')
    [ $((SECONDS - began)) -lt 10 ] || fail "$((SECONDS - began)) s"
}

test_paths_count_from_the_file() {
    mkdir -p conf v
    cp "$(fixture h264-1.mp4)" v/x.mp4
    given conf/set.yaml 'sources:\n  - path: ../v\nT: longest\noutput: ../out\n' expect 0 bload pack -q -c conf/set.yaml
    [ -e out/manifest.json ] || fail 'the dataset is not beside the folder of the file'
    expect 0 bload verify -q out
    is x.mp4 "$(field id <out/sequences.tsv)"
}
