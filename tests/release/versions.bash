# One version everywhere: bload.h decides; sourced.
# shellcheck shell=bash disable=SC2154 # set by who sources this

# is_version WHAT FOUND: FOUND is the version of bload.h.
is_version() {
    printf '%-50s %s\n' "$1" "$2"
    [ "$2" = "$version" ] || wrong+=" $1"
}

in_the_tree() {
    wrong=
    is_version python/bload/__init__.py "$(sed -n 's/^__version__ = "\(.*\)"/\1/p' python/bload/__init__.py)"
    is_version CHANGELOG.md "$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)"
    is_version packaging/debian/changelog "${revision%-*}"
    is_version "bload --version" "$(./bload --version | sed -n 's/^bload //p')"
    is_version build/bload.pc "$(sed -n 's/^Version: //p' build/bload.pc)"
    make --no-print-directory install DESTDIR="$work/stage" PREFIX=/usr >"$work/installed"
    in_manuals "$work/stage/usr/share/man"
    [ -z "$wrong" ] || { echo "not $version:$wrong"; return 1; }
}

# in_manuals FOLDER: what the last line of each manual page shows; all pages of the tree are there.
in_manuals() {
    local page
    for page in "$1"/man*/*bload*; do
        is_version "${page##*/}" "$(zcat -f "$page" | sed -n 's/^\.Os bload //p')"
    done
    diff <(names man '*.[1-9]') <(names "$1" '*bload*' | sed 's/\.gz$//') || wrong+=" manual-pages"
}

# names FOLDER PATTERN: the files below it, by their last names.
names() {
    find "$1" -type f -name "$2" -printf '%f\n' | LC_ALL=C sort
}

# in_modules FOLDER: the Python package there has the tree's modules, and no others.
in_modules() {
    diff -r -x __pycache__ python/bload "$1" || wrong+=" python-modules"
}

# in_completions SHARE [ZSH]: what the tool prints.
in_completions() {
    ./bload completion bash | cmp - "$1/bash-completion/completions/bload" || wrong+=" bash-completion"
    ./bload completion zsh | cmp - "$1/zsh/${2:-site-functions}/_bload" || wrong+=" zsh-completion"
    ./bload completion fish | cmp - "$1/fish/vendor_completions.d/bload.fish" || wrong+=" fish-completion"
}

# What a dataset says of who packed it: the tool of the tree, and that of the package.
in_manifests() {
    local folder
    wrong=
    ./bload pack -q "$(fixtures/media h264-30.mp4)" -T 30 --size 16x16 -o "$work/dataset"
    for folder in "$work/dataset" "$systems/deb/home/user/dataset"; do
        is_version "$folder" "$(jq -r .tool "$folder/manifest.json" | sed 's/^bload //')"
    done
    [ -z "$wrong" ] || { echo "not $version:$wrong"; return 1; }
}

in_packages() {
    local file
    wrong=
    is_version "tarball" "$(tar -tf build/dist/bload-*.tar.gz | sed -n '1s,^bload-\([^/]*\)/.*,\1,p')"
    for file in build/deb/*.deb; do
        is_version "${file##*/}" "$(dpkg-deb -f "$file" Version | sed 's/-[^-]*$//')"
    done
    rm -rf "$work/unpacked"
    for file in build/deb/{bload,libbload-dev,python3-bload}_*.deb; do dpkg-deb -x "$file" "$work/unpacked"; done
    is_version "header of libbload-dev" "$(sed -n 's/^#define BLOAD_VERSION "\(.*\)"/\1/p' "$work/unpacked/usr/include/bload.h")"
    is_version "pkg-config of libbload-dev" "$(sed -n 's/^Version: //p' "$work"/unpacked/usr/lib/*/pkgconfig/bload.pc)"
    is_version "metadata of python3-bload" "$(sed -n 's/^Version: //p' "$work"/unpacked/usr/lib/python3/dist-packages/bload-*/METADATA)"
    in_manuals "$work/unpacked/usr/share/man"
    in_modules "$work/unpacked/usr/lib/python3/dist-packages/bload"
    in_completions "$work/unpacked/usr/share" vendor-completions
    [ -z "$wrong" ] || { echo "not $version:$wrong"; return 1; }
}

# Its name says it, as pip reads it, and what is in it.
in_the_wheel() {
    local file folder=$work/in_wheel
    wrong=
    for file in dist/bload-*.whl; do
        is_version "$file" "$(sed 's,.*/bload-\([^-]*\)-.*,\1,' <<<"$file")"
        rm -rf "$folder"
        python3 -m zipfile -e "$file" "$folder"
        is_version "metadata of $file" "$(sed -n 's/^Version: //p' "$folder"/bload-*.dist-info/METADATA)"
        in_manuals "$folder"/bload-*.data/data/share/man
        rm -r "$folder/bload/bin"
        in_modules "$folder/bload"
        in_completions "$folder"/bload-*.data/data/share
    done
    [ -z "$wrong" ] || { echo "not $version:$wrong"; return 1; }
}

versions() {
    check "versions: in the tree" in_the_tree
    check "versions: in the tarball and the packages" in_packages
    check "versions: in manifests" in_manifests
    [ ! -d packaging/wheel ] || check "versions: the wheel" in_the_wheel
}
