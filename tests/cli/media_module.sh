# The media module: where it is looked for, what works without it, and which modules are refused.
# shellcheck shell=bash disable=SC2317,SC2086

# The tool's copy in ./bin, with its module where the tool of this variant looks for it: sets place and name.
copied_tool() {
    local module
    module=$(bload --version | sed -n 's/^media module: //p')
    place=bin/$(realpath --relative-to="$(dirname "$(readlink -f "$BLOAD")")" "$(dirname "$module")")
    name=${module##*/}
    mkdir -p "$place"
    cp "$BLOAD" bin/bload
    cp "$module" "$place/"
    BLOAD=$PWD/bin/bload
}

# refuses_video WORDS [STATUS]: each command that decodes ends with the status, and says the words.
refuses_video() {
    local words=$1 word
    for word in pack scan 'pack --isolate off'; do
        expect "${2:-2}" bload $word clip.mp4 ${word:+$([ "$word" = scan ] || echo --size 32x32 -T 60 -o refused)} :err "$words"
    done
    [ ! -e refused/manifest.json ] || fail 'something was made'
    rm -rf refused
}

test_without_it() {
    copied_tool
    cp "$(fixture h264-30.mp4)" clip.mp4
    bload pack -q clip.mp4 --size 32x32 -T 60 -o frames
    rm "$place/$name"
    refuses_video "no $(realpath "$place")/$name: install the package bload-media"
    printf 'hello\nworld\n' >text.txt
    npy a.npy '3, 2' 0 '<f4'
    bload pack -q text.txt --tokenizer bytes --documents line -T 16 -o tokens
    bload pack -q a.npy -T 4 -o rows
    bload plan -q -T 60 frames/sequences.tsv -o plan.tsv
    for dataset in tokens rows frames; do
        bload verify -q "$dataset"
        bload info "$dataset" >"$dataset.txt"
        bload view -q "$dataset" -T 64 -o "$dataset-view"
    done
    bload cat frames clip.mp4 --as npy -o clip.npy
    expect 2 bload cat frames clip.mp4 --as png -o pictures :err 'install the package bload-media'
    expect 0 bload --version :out 'media module: not installed'
    mkdir disk
    expect 0 bload doctor disk
    grep -qE '^  warning  media module .*install the package bload-media' "$OUT" || fail "doctor: $(cat "$OUT")"
}

test_another_version_is_refused_by_name() {
    copied_tool
    cp "$(fixture h264-30.mp4)" clip.mp4
    mv "$place/$name" "$place/libbload-media-0.0.9.so"
    refuses_video 'of another version (libbload-media-0.0.9.so'
    # The right name, and another version inside: as long, so that nothing moves.
    local version=${name#libbload-media-}
    version=${version%.so}
    LC_ALL=C sed "s/${version//./[.]}/$(tr 0-9 9 <<<"$version")/g" "$place/libbload-media-0.0.9.so" >"$place/$name"
    refuses_video "of another build of bload ($(tr 0-9 9 <<<"$version"), and this is $version)"
}

test_what_is_no_module_is_refused() {
    copied_tool
    cp "$(fixture h264-30.mp4)" clip.mp4
    echo 'not a library' >"$place/$name"
    refuses_video 'cannot load the media module: ' 1
    echo 'int other;' | "${CC:-cc}" -shared -fPIC -x c -o "$place/$name" -
    refuses_video 'is no media module of bload'
}

# Neither the environment nor the working directory say what is loaded.
test_the_environment_has_no_part() {
    sanitizer_skip 'a sanitizer is to be the first library'
    name=$(basename "$(bload --version | sed -n 's/^media module: //p')")
    cp "$(fixture h264-30.mp4)" clip.mp4
    mkdir -p lib build/release
    echo '#include <stdlib.h>
        __attribute__((constructor)) static void taken(void) { system("touch taken"); }' |
        "${CC:-cc}" -shared -fPIC -x c -o "lib/$name" -
    cp "lib/$name" "./$name"
    cp "lib/$name" "build/release/$name"
    LD_LIBRARY_PATH=$PWD/lib:$PWD bload pack -q clip.mp4 --size 32x32 -T 60 -o frames
    [ ! -e taken ] || fail 'another library was loaded'
}

# The tool itself is linked with none of what decodes, and gives nothing to the module.
test_names() {
    module=$(bload --version | sed -n 's/^media module: //p')
    readelf -d "$BLOAD" >libraries
    ! grep -E 'NEEDED.*lib(av|sw|soxr|zimg)' libraries || fail 'the tool needs what decodes'
    ! nm -D --defined-only "$BLOAD" | grep -E ' bl(oad)?_' || fail 'the tool exports names'
    is bl_media_functions "$(nm -D --defined-only "$module" | awk '$3 ~ /^bl(oad)?_/ { print $3 }')"
}

# It is loaded once a run, and not by commands that decode nothing.
test_it_is_loaded_where_something_is_decoded() {
    command -v strace >/dev/null || skip 'no strace'
    sanitizer_skip 'a sanitizer does not run under strace'
    cp "$(fixture h264-30.mp4)" clip.mp4
    printf 'hello\n' >text.txt
    # A file for each process: in one file, a call that another process's call interrupts is two lines.
    strace -ff -qq -e trace=openat -o calls "$BLOAD" pack -q -j 4 clip.mp4 --size 32x32 -T 60 -o frames 2>/dev/null || skip 'no strace here'
    is 1 "$(cat calls.* | grep -c 'libbload-media-.*= [0-9]')"
    for words in --version 'verify -q frames' 'info frames' 'pack -q text.txt --tokenizer bytes -T 16 -o tokens' 'plan -q -T 60 frames/sequences.tsv -o plan.tsv'; do
        rm calls.*
        strace -ff -qq -e trace=openat -o calls "$BLOAD" $words >/dev/null
        ! grep -E 'libbload-media|libav' calls.* || fail "$words loads it"
    done
}
