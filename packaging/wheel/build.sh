#!/bin/bash
# Builds the wheel: build.sh CACHE OUT
#
# CACHE keeps the system that it is built in, the sources, and FFmpeg and the other libraries, which take minutes, from one time to the next;
# OUT gets bload-VERSION-py3-none-manylinux_*_x86_64.whl. Needs root, for chroot, and the programs debootstrap and dpkg-source.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1" "$2"
cache=$(cd "$1" && pwd)
out=$(cd "$2" && pwd)
chroot=$cache/chroot
for program in debootstrap dpkg-source; do
    command -v $program >/dev/null || { echo "make wheel: install $program (Debian: debootstrap, dpkg-dev)" >&2; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "make wheel: it builds in a chroot, as root (sudo make wheel)" >&2; exit 1; }
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/CHANGELOG.md")}
export SOURCE_DATE_EPOCH LC_ALL=C

"$here/chroot.sh" "$chroot"
"$here/fetch.sh" "$cache" "$chroot"
cp "$here/libraries.sh" "$here/tool.sh" "$here/glibc.h" "$chroot/build/"
echo "libraries"
chroot "$chroot" /build/libraries.sh

echo "bload"
rm -rf "$chroot/build/bload"
mkdir "$chroot/build/bload"
tar -C "$root" -c Makefile LICENSE bload.pc.in include man mk scripts src | tar -C "$chroot/build/bload" -x
chroot "$chroot" /build/tool.sh >"$cache/tool.log" 2>&1 || { tail -n 30 "$cache/tool.log" >&2; exit 1; }

echo "wheel"
venv=$cache/venv
[ -e "$venv/ready" ] || { python3 -m venv --clear "$venv" && "$venv/bin/pip" install -q --require-hashes --only-binary :all: -r "$here/requirements.txt" && touch "$venv/ready"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$root/python" "$work/python"
"$venv/bin/pip" wheel -q --no-deps --no-build-isolation -w "$work/pure" "$work/python"
mkdir "$work/filled" "$work/repaired"
"$venv/bin/python" "$here/assemble.py" fill "$work"/pure/*.whl "$chroot/build/stage" "$chroot" "$work/filled" >/dev/null
LD_LIBRARY_PATH=$chroot/opt/bload/lib PATH=$venv/bin:$PATH "$venv/bin/auditwheel" repair --strip --only-plat -w "$work/repaired" \
    "$work"/filled/*.whl >"$cache/auditwheel.log" 2>&1 || { cat "$cache/auditwheel.log" >&2; exit 1; }
"$venv/bin/python" "$here/assemble.py" seal "$work"/repaired/*.whl "$out"
