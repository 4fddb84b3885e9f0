# What the demonstrations share; sourced. They set demo (a folder below build) and packages.
#
# Everything lies under build. Packages are downloaded and unpacked, not installed: that needs no root.
# shellcheck shell=bash disable=SC2154 # set by who sources this

say() {
    printf '\n== %s\n' "$*"
}

stop() {
    echo "demo: $*" >&2
    exit 1
}

# apt-get download, in the working directory. As root apt would warn that its own user cannot write here.
download() {
    local as_self=()
    [ "$(id -u)" = 0 ] && as_self=(-o APT::Sandbox::User=root)
    # shellcheck disable=SC2086 # words
    apt-get download -q "${as_self[@]}" $packages </dev/null
}

update_lists() {
    local as_root=()
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || stop "apt knows no package lists. As root: apt-get update"
        as_root=(sudo)
    fi
    echo "${as_root[*]} apt-get update"
    "${as_root[@]}" apt-get update -q -o DPkg::Lock::Timeout=300 </dev/null
}

fetch() {
    command -v apt-get >/dev/null || stop "what is packed comes in Debian packages ($packages), and there is no apt-get here"
    mkdir -p "$demo/packages"
    cd "$demo/packages" || return
    rm -f ./*.deb
    # Lists may be missing, or older than what the mirror has.
    # shellcheck disable=SC2086 # words
    if ! apt-cache show --no-all-versions $packages >/dev/null 2>&1 || ! download; then
        update_lists
        download || stop "cannot download $packages"
    fi
    for package in ./*.deb; do
        dpkg-deb -x "$package" files
    done
    cd - >/dev/null || return
}
