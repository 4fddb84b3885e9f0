# The tarball and the packages are made twice, in other circumstances, and are the same bytes; sourced.
# shellcheck shell=bash disable=SC2154 # set by who sources this
builder=$systems/builder

# The other is of a clone, whose files are of now and nobody else's: so it is of what is committed.
tarball_twice() {
    rm -rf build/dist && make --no-print-directory dist && (umask 077 && git clone -q . "$work/clone") &&
        TZ=Asia/Tokyo LC_ALL=C.UTF-8 make --no-print-directory -C "$work/clone" dist &&
        cmp "$work/clone/build/dist/bload-$version.tar.gz" "build/dist/bload-$version.tar.gz"
}

# Owners, times and order say nothing of who made it; what is made is not in it.
tarball_is_plain() {
    local listing=$work/listing
    TZ=UTC tar --full-time --numeric-owner -tvf "build/dist/bload-$version.tar.gz" >"$listing" && [ -s "$listing" ] &&
        [ "$(awk '{ print $2, $4, $5 }' "$listing" | sort -u | wc -l)" = 1 ] &&
        awk '$2 != "0/0" { print; bad = 1 } END { exit bad }' "$listing" && awk '{ print $NF }' "$listing" | LC_ALL=C sort -c &&
        ! grep -E "/bload-$version/(build|bload|\.git)(/|$)" "$listing"
}

tarball() {
    needed "tarball: two are equal" tarball_twice
    check "tarball: no owners, one time, sorted" tarball_is_plain
}

# The system that packages are built in; what the build needs is installed by `make deb` there.
builder_is_there() {
    [ ! -e "$builder/ready" ] || return 0
    system_new builder && system_run "$builder" apt-get install -y --no-install-recommends make && touch "$builder/ready"
}

# built FOLDER [NAME=VALUE...]: `make deb` there, of the tarball, without git.
built() {
    local folder=$1
    shift
    rm -rf "${builder:?}/root/$folder" && mkdir -p "$builder/root/$folder" &&
        tar -xf "build/dist/bload-$version.tar.gz" -C "$builder/root/$folder" &&
        system_run "$builder" env "$@" make -C "$folder/bload-$version" deb
}

no_git() {
    ! system_run "$builder" sh -c 'command -v git'
}

results() {
    echo "$builder/root/$1/bload-$version/build/deb"
}

same_packages() {
    local file count=0
    for file in "$(results one)"/*.deb "$(results one)"/*.dsc "$(results one)"/*.tar.*; do
        cmp "$file" "$(results two/deeper)/${file##*/}" || return 1
        count=$((count + 1))
    done
    echo "$count files"
    [ $count -ge 10 ]
}

take_packages() {
    rm -rf build/deb && mkdir -p build/deb && find "$(results one)" -maxdepth 1 -type f -exec cp {} build/deb/ \; &&
        ls -l build/deb && [ -e "build/deb/bload_${revision}_amd64.deb" ]
}

# The first with its unit tests. That they were left out, the folder, the zone and the language make no difference.
debs() {
    make --no-print-directory dist >/dev/null || exit 1
    needed "packages: a system to build them in" builder_is_there
    check "packages: no git there" no_git
    needed "packages: built, with unit tests; lintian has nothing against them" built one
    needed "packages: built elsewhere" built two/deeper DEB_BUILD_OPTIONS=nocheck TZ=Asia/Tokyo LANG=C
    check "packages: the two are equal" same_packages
    needed "packages: taken" take_packages
}

# Packages of the same tree with a lower version, from which one can upgrade.
lower() {
    needed "packages: of a lower version" built lower DEB_BUILD_OPTIONS=nocheck DEB_VERSION="$version-0.1"
}

# The second is of a clone, in other circumstances, with the libraries of the first: those take minutes.
wheel_twice() {
    rm -f dist/bload-*.whl
    make --no-print-directory wheel && (umask 077 && git clone -q . "$work/elsewhere") &&
        TZ=Asia/Tokyo LC_ALL=C.UTF-8 make --no-print-directory -C "$work/elsewhere" wheel WHEEL_CACHE="${WHEEL_CACHE:-$PWD/build/wheel}" &&
        cmp "$work"/elsewhere/dist/bload-*.whl dist/bload-*.whl
}
