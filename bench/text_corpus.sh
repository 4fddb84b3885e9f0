#!/bin/bash
# Collects text that any Debian machine can have: build/bench/text/english.txt, code.txt and many.txt (many languages), each some
# 60 MB of lines of which none comes twice. Packages are downloaded and unpacked there; nothing is installed, and no root is needed.
#
#     bench/text_corpus.sh
set -eu
cd "$(dirname "$0")/.."
folder=build/bench/text
bytes=60000000
languages=(ru zh-cn ja ko hi de el fr es pl tr vi uk he th)

# unpack PACKAGE...: into $folder/root; one that the mirror has not is named and left out.
unpack() {
    local package
    mkdir -p "$folder/root" "$folder/packages"
    for package in "$@"; do
        [ -e "$folder/packages/$package.done" ] && continue
        (cd "$folder/packages" && apt-get download "$package" >/dev/null 2>&1) || {
            echo "no package $package" >&2
            continue
        }
        dpkg-deb -x "$folder/packages/$package"_*.deb "$folder/root"
        rm "$folder/packages/$package"_*.deb
        touch "$folder/packages/$package.done"
    done
}

# keep NAME: stdin without lines that came before, valid UTF-8, cut.
keep() {
    iconv -c -f UTF-8 -t UTF-8 | LC_ALL=C awk 'length($0) < 20 || !seen[$0]++' >"$folder/$1.all"
    head -c "$bytes" "$folder/$1.all" | iconv -c -f UTF-8 -t UTF-8 >"$folder/$1.txt"
    rm "$folder/$1.all"
    printf '%s %d bytes\n' "$folder/$1.txt" "$(stat -c %s "$folder/$1.txt")"
}

# The text of HTML pages.
strip_tags() {
    sed -e 's/<script.*<\/script>//; s/<[^>]*>/ /g; s/&lt;/</g; s/&gt;/>/g; s/&nbsp;/ /g; s/&quot;/"/g; s/&amp;/\&/g' \
        -e 's/  */ /g'
}

unpack dict-gcide dict-wn dict-foldoc dict-jargon bible-kjv-text perl-doc
{
    for name in gcide wn foldoc jargon; do
        zcat -f "$folder/root/usr/share/dictd/$name.dict.dz"
    done
    find "$folder/root/usr/share/perl" -name '*.pod' -print0 | sort -z | xargs -0 cat
} | keep english

unpack golang-1.19-src libpython3.11-stdlib libboost1.74-dev
find "$folder/root/usr/share/go-1.19" "$folder/root/usr/lib/python3.11" "$folder/root/usr/include/boost" -type f \
    \( -name '*.go' -o -name '*.py' -o -name '*.hpp' \) -print0 | sort -zR --random-source=/dev/zero | xargs -0 cat | keep code

unpack "${languages[@]/#/libreoffice-help-}"
# One language after the other would let a cache see each of them only once: pages of all of them alternate.
find "$folder/root/usr/share/libreoffice/help" -name '*.html' -path '*/text/*' -print0 | sort -zR --random-source=/dev/zero |
    xargs -0 cat | strip_tags | keep many
rm -rf "$folder/root" "$folder"/packages/*.done
