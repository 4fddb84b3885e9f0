#!/bin/bash
# Downloads and unpacks the sources of the wheel's libraries: fetch.sh CACHE CHROOT
#
# apt-get, with lists of its own, gets them from the mirror that the chroot came from and looks at Debian's signatures; they must be the
# very files of sources.txt, too. When Debian has gone on to later versions, DEBIAN_MIRROR names an archive of its past days.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$1
chroot=$2
apt=$cache/apt
mirror=$(awk '$1 == "deb" { print $2; exit }' "$chroot/etc/apt/sources.list")
signed='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
options=(-o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache")

update() {
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    for suite in sid bookworm; do
        echo "deb-src $signed $mirror $suite main"
    done >"$apt/sources.list"
    apt-get "${options[@]}" -q update
}

# checksums DSC: the files that it names, as sha256sum takes them; a .dsc that names none, or one elsewhere, is refused.
checksums() {
    awk '/^Checksums-Sha256:/ { on = 1; next }
        /^[^ ]/ { on = 0 }
        on && (NF != 3 || $1 !~ /^[0-9a-f]+$/ || length($1) != 64 || $3 ~ /\//) { print "not a file of a .dsc: " $0 | "cat >&2"; exit 1 }
        on { print $1 "  " $3; n++ }
        END { if (!n) exit 1 }' "$1"
}

# get NAME VERSION SHA256: into CACHE/sources, and unpacked with Debian's patches into /build/NAME of the chroot.
get() {
    local name=$1 version=$2 dsc
    dsc=$cache/sources/${name}_${version#*:}.dsc
    if [ ! -e "$dsc" ]; then
        [ -n "$updated" ] || update
        updated=yes
        (cd "$cache/sources" && apt-get "${options[@]}" -q source --download-only "$name=$version")
    fi
    echo "$3  $dsc" | sha256sum --check --quiet
    # dpkg-source is not asked to look at anything: the digest above is ours, and it vouches for those of the other files.
    checksums "$dsc" | (cd "$cache/sources" && sha256sum --check --quiet --strict)
    [ -e "$chroot/build/$name.unpacked" ] && return
    rm -rf "$chroot/build/$name"
    dpkg-source --no-check -x "$dsc" "$chroot/build/$name" >"$cache/sources/$name.log" 2>&1
    touch "$chroot/build/$name.unpacked"
}

updated=
mkdir -p "$cache/sources"
while read -r name version sum _; do
    get "$name" "$version" "$sum"
done < <(grep -v '^#' "$here/sources.txt")
