#!/bin/bash
# Packs what `make check-gpu` needs into build/gpu/kit, for a machine that has a GPU and nothing else of ours: gpu_kit.sh
#
# tool.tar.xz has the tool, the probe, the clips, the scripts and the libraries that ldd lists, but for the C library's own; bench.tar.xz,
# without which there is no bench, longer clips and the ffmpeg command with its further libraries. There: tar xf both into one folder,
# then ./check-gpu (or ./bench-gpu all).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
kit=$root/build/gpu/kit
rm -rf "$kit"
mkdir -p "$kit"/tool/{bin,libexec,lib,tests,bench,clips} "$kit"/bench/{bin,libexec,lib,clips}

# The libraries of a program, by the names that it asks for; the C library is the other machine's.
libraries() {
    ldd "$1" | awk '/=> \// { print $1, $3 }' | grep -vE '^(libc|libm|libdl|librt|libpthread|libresolv|ld-linux.*)\.so'
}

# add FOLDER PROGRAM [SEEN]: the program behind a script that finds its libraries, and those that SEEN has not.
add() {
    local name=${2##*/} library path
    cp "$2" "$kit/$1/libexec/$name"
    libraries "$2" | while read -r library path; do
        [ -n "${3-}" ] && [ -e "$kit/$3/lib/$library" ] || cp -L "$path" "$kit/$1/lib/$library"
    done
    cat >"$kit/$1/bin/$name" <<'END'
#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
END
    echo "exec \"\$here/libexec/$name\" \"\$@\"" >>"$kit/$1/bin/$name"
    chmod +x "$kit/$1/bin/$name"
}

add tool "$root/bload"
add tool "$root/build/release/tests/probe"
add bench "$(command -v ffmpeg)" tool
cp -r "$root/tests/gpu" "$kit/tool/tests/"
cp "$root/bench/nvdec" "$kit/tool/bench/"
cp -r "$root/build/gpu/clips/." "$kit/tool/clips/"
mv "$kit/tool/clips/bench" "$kit/bench/clips/"
for what in check-gpu:tests/gpu/run bench-gpu:bench/nvdec; do
    cat >"$kit/tool/${what%%:*}" <<END
#!/bin/sh
cd "\$(dirname "\$0")" || exit 1
BLOAD=\$PWD/bin/bload PROBE=\$PWD/bin/probe FFMPEG=\$PWD/bin/ffmpeg CLIPS=\$PWD/clips exec bash ${what#*:} \${1+"\$@"}
END
    chmod +x "$kit/tool/${what%%:*}"
done
for part in tool bench; do
    tar -C "$kit/$part" -c . | xz -T1 -6 >"$kit/$part.tar.xz"
    rm -rf "${kit:?}/$part"
done
du -h "$kit"/*.tar.xz
