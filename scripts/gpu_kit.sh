#!/bin/bash
# Packs what `make check-gpu` and bench/nvdec need into build/gpu/kit.tar.xz, for a machine that has a GPU and nothing else of ours.
#
# It has the tool, the probe, what traces the driver's calls, the reference of the bench, clips, scripts and libraries. In the place of the
# libraries that only encoders, filters, networks and screens need there are stubs, whose functions return 0; those of the C library are the
# other machine's. There: tar xf it, then ./check-gpu, or ./bench-gpu with rows; to trace, GPU_TRACE=FILE bin/bload-traced pack ...
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
kit=$root/build/gpu/kit
out=$root/build/release
rm -rf "$kit" "$kit.tar.xz"
mkdir -p "$kit"/{bin,libexec,lib,tests,bench}

# Of the libraries that those of FFmpeg ask for: what is needed to look what a file is (gme too), and to decode it on the processor.
needed_by_ffmpeg='^lib(av(codec|format|util)|swresample|dav1d|gme|z|bz2|lzma)\.so'
of_the_system='^(libc|libm|libdl|librt|libpthread|libresolv|ld-linux.*)\.so'

# needs FILE: the names of the libraries that it asks for itself.
needs() {
    objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }' | grep -vE "$of_the_system" || true
}

# place NAME FILE: where the library of that name is, as the linker finds it for FILE.
place() {
    ldd "$2" | awk -v name="$1" '$1 == name { print $3; exit }'
}

# stub NAME REAL: a library with the names that those in the kit ask for and REAL has: functions that return 0, and data of zeros.
stub() {
    {
        echo .text
        nm -D --defined-only --without-symbol-versions "$2" | awk '{ print $NF, $(NF - 1) }' | sort -u >real
        join real asked | awk '$2 ~ /[TWi]/ { printf ".globl %s\n.type %s, @function\n%s: xor %%eax, %%eax\nret\n", $1, $1, $1 }
            $2 ~ /[BDRVu]/ { printf ".bss\n.globl %s\n.type %s, @object\n.size %s, 4096\n.balign 64\n%s: .zero 4096\n.text\n", $1, $1, $1, $1 }'
        echo '.section .note.GNU-stack, "", @progbits'
    } >stub.s
    # The versions of the names, which their users ask for.
    nm -D --defined-only "$2" | sed -n 's/.* \([^ @]*\)@@*\([^ ]*\)$/\1 \2/p' | sort -u | join - asked |
        awk '{ names[$2] = names[$2] " " $1 ";" } END { for (v in names) print v, "{ global:" names[v], "};" }' >versions
    [ -s versions ] || echo '{ global: *; };' >versions
    gcc -shared -nostdlib -Wl,-soname,"$1" -Wl,--version-script=versions -o "$kit/lib/$1" stub.s
}

# add PROGRAM [LINES]: the program, and a script that finds its libraries and has further lines.
add() {
    local name=${1##*/}
    cp "$1" "$kit/libexec/$name"
    cat >"$kit/bin/$name" <<END
#!/bin/sh
here=\$(cd "\$(dirname "\$0")/.." && pwd)
LD_LIBRARY_PATH=\$here/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec "\$here/libexec/$name" "\$@"
END
    chmod +x "$kit/bin/$name"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
for program in "$root/bload" "$out/tests/probe" "$out/bench/hwdecode"; do
    add "$program"
done
cp "$out/tests/trace.so" "$kit/lib/"
sed 's,^exec,LD_AUDIT=$here/lib/trace.so exec,' "$kit/bin/bload" >"$kit/bin/bload-traced"
chmod +x "$kit/bin/bload-traced"

# The tool finds its media module from its own folder.
mkdir -p "$kit/libexec/build/release"
cp "$out"/libbload-media-*.so "$kit/libexec/build/release/"

# All that the programs ask for, and what these ask for; of FFmpeg's libraries a part, and the others of theirs as stubs.
declare -A taken stubbed
queue=("$kit"/libexec/bload "$kit"/libexec/probe "$kit"/libexec/hwdecode "$kit"/libexec/build/release/*.so)
while [ ${#queue[@]} -gt 0 ]; do
    file=${queue[0]}
    queue=("${queue[@]:1}")
    for name in $(needs "$file"); do
        [ -z "${taken[$name]-}" ] || continue
        path=$(place "$name" "$file")
        if [[ ${file##*/} =~ ^lib(av|sw) && ! $name =~ $needed_by_ffmpeg ]]; then
            stubbed[$name]=$path
        else
            taken[$name]=$path
            cp -L "$path" "$kit/lib/$name"
            queue+=("$kit/lib/$name")
        fi
    done
done
for file in "$kit"/lib/*.so* "$kit"/libexec/{bload,probe,hwdecode,build/release/*.so}; do
    nm -D --undefined-only --without-symbol-versions "$file" | awk '{ print $NF }'
done | sort -u >asked
for name in "${!stubbed[@]}"; do
    [ -n "${taken[$name]-}" ] || stub "$name" "${stubbed[$name]}"
done
strip --strip-unneeded "$kit"/lib/*.so* "$kit"/libexec/{bload,probe,hwdecode,build/release/*.so}

cp -r "$root/tests/gpu" "$kit/tests/"
cp "$root/bench/nvdec" "$kit/bench/"
cp -r "$root/build/gpu/clips" "$kit/"
for what in check-gpu:tests/gpu/run bench-gpu:bench/nvdec; do
    cat >"$kit/${what%%:*}" <<END
#!/bin/sh
cd "\$(dirname "\$0")" || exit 1
BLOAD=\$PWD/bin/bload PROBE=\$PWD/bin/probe HWDECODE=\$PWD/bin/hwdecode TRACER=\$PWD/lib/trace.so CLIPS=\$PWD/clips exec bash ${what#*:} \${1+"\$@"}
END
    chmod +x "$kit/${what%%:*}"
done
tar -C "$kit" -c . | xz -T2 -6 >"$kit.tar.xz"
du -h "$kit.tar.xz"
