#!/bin/bash
# Debian's packages of the release's tarball, in build/deb: deb.sh VERSION
#
# A name and an address in DEBFULLNAME and DEBEMAIL become the maintainer's, and DEB_VERSION the version, for tests of upgrades, in
# place of that of packaging/debian/changelog. Two runs with the same toolchain give the same .deb files: their time is that of the changelog.
set -eu -o pipefail
cd "$(dirname "$0")/.."
version=$1
folder=build/deb
source=$folder/bload-$version
# What is elsewhere first on the path, such as another Python, is none of Debian's.
PATH=/usr/sbin:/usr/bin:/sbin:/bin

packaged=$(sed -n '1s/^bload (\(.*\)-[^-]*) .*/\1/p' packaging/debian/changelog)
if [ "$packaged" != "$version" ]; then
    echo "deb: packaging/debian/changelog is of version '$packaged', bload.h of '$version': add an entry to the changelog" >&2
    exit 1
fi

scripts/dist.sh "$version"
rm -rf "$folder"
mkdir -p "$folder"
cp "build/dist/bload-$version.tar.gz" "$folder/bload_$version.orig.tar.gz"
tar -xf "build/dist/bload-$version.tar.gz" -C "$folder"
cp -r "$source/packaging/debian" "$source/debian"
if [ -n "${DEBEMAIL-}" ]; then
    maintainer="${DEBFULLNAME:?deb: DEBEMAIL is set, DEBFULLNAME is not} <$DEBEMAIL>"
    escaped=$(printf '%s' "$maintainer" | sed 's/[\\&|]/\\&/g')
    sed -i "s|bload maintainers <[^>]*>|$escaped|" "$source/debian/control" "$source/debian/changelog"
fi
tried=${DEB_VERSION-}
if [ -n "$tried" ]; then
    sed -i "1s/([^)]*)/($tried)/" "$source/debian/changelog"
fi
# What is set for another build must not reach into this one.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES VARIANT CC CFLAGS SOURCE_DATE_EPOCH DEB_VERSION
(cd "$source" && dpkg-buildpackage -us -uc "-j$(nproc)") >"$folder/build.log" 2>&1 || {
    tail -n 40 "$folder/build.log"
    echo "deb: the build failed; all that it said is in $folder/build.log" >&2
    exit 1
}
# With a version for a test lintian would find fault with that. That the first package closes a bug is a rule of Debian's own archive.
[ -n "$tried" ] ||
    lintian --fail-on error,warning --tag-display-limit 0 --suppress-tags initial-upload-closes-no-bugs "$folder"/*.changes
ls "$folder"/*.deb
