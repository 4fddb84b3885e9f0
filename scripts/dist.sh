#!/bin/bash
# The release's tarball, build/dist/bload-VERSION.tar.gz: dist.sh VERSION
#
# Two runs on the same commit, on any machine, give the same bytes: names are sorted, owner, modes and times are fixed. The time is
# SOURCE_DATE_EPOCH, else that of the commit. A tarball has no git: there the files are those that are not made, the time is
# theirs, and the tarball of an unpacked tarball is the same again. gzip, as whatever unpacks sources knows it, and as its bytes do
# not change with versions and threads, as those of xz do, which would save a quarter: half a megabyte.
set -eu -o pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
name=bload-$1
folder=build/dist
target=$folder/$name.tar.gz

# A repository around an unpacked tarball is not its own.
if [ -e .git ]; then
    files() { git ls-files -z; }
    moment() { git log -1 --format=%ct; }
    changed=$(git status --porcelain)
    [ -z "$changed" ] || printf 'dist: the tree is not as committed, and so is the tarball:\n%s\n' "$changed" >&2
else
    files() { find . \( -path ./build -o -path ./dist -o -name __pycache__ \) -prune -o -path ./bload -o -type f -printf '%P\0'; }
    moment() { stat -c %Y CHANGELOG.md; }
fi

# Names that git knows and that are gone from the tree are no files.
present() {
    local file
    while IFS= read -r -d '' file; do
        [ ! -f "$file" ] || printf '%s\0' "$file"
    done
}

epoch=${SOURCE_DATE_EPOCH:-$(moment)}
mkdir -p "$folder"
files | present | sort -z |
    tar -c --no-recursion --null --verbatim-files-from -T - --transform "s,^,$name/," --format=ustar --mtime="@$epoch" \
        --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX | gzip -9n >"$target.part"
mv "$target.part" "$target"
echo "$target"
