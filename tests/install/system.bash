# Bare Debian systems in folders below build/systems, for tests of an installation; sourced. They need root.
#
# The first is made by debootstrap, the others are copies of it. Packages come from DEBIAN_MIRROR, else from where this machine has
# them. Nothing stays mounted: what runs in a system has namespaces of its own, in which /proc is mounted.
# shellcheck shell=bash
install_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
systems=$install_root/build/systems

# system_sources SUITE: the lines of its sources.list.
system_sources() {
    if [ -n "${DEBIAN_MIRROR-}" ]; then
        echo "deb $DEBIAN_MIRROR $1 main"
    else
        # shellcheck disable=SC2016 # apt's own variables
        apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
            awk -v suite="$1" '$2 ~ "^" suite "(-updates|-security)?$" && $3 == "main" { print "deb", $1, $2, $3 }'
    fi
}

# system_base SUITE: the bare system that others are copies of, build/systems/SUITE.
system_base() {
    local suite=$1 base=$systems/$1 sources mirror
    [ ! -e "$base/made" ] || return 0
    [ "$(id -u)" = 0 ] || { echo "systems need root" >&2; return 1; }
    sources=$(system_sources "$suite")
    mirror=$(awk -v suite="$suite" '$3 == suite { print $2; exit }' <<<"$sources")
    [ -n "$mirror" ] || { echo "no mirror has $suite: set DEBIAN_MIRROR to the address of one" >&2; return 1; }
    rm -rf "$base"
    mkdir -p "$systems"
    debootstrap --variant=minbase "$suite" "$base" "$mirror" >"$systems/$suite.log" 2>&1 ||
        { tail -n 5 "$systems/$suite.log" >&2; return 1; }
    echo "$sources" >"$base/etc/apt/sources.list"
    apt-config dump | grep '^Acquire::' >"$base/etc/apt/apt.conf.d/machine" || true
    cp /etc/resolv.conf "$base/etc/resolv.conf"
    # Nothing of it has to outlive a loss of power.
    echo force-unsafe-io >"$base/etc/dpkg/dpkg.cfg.d/unsafe-io"
    # Services are not started in a folder.
    printf '#!/bin/sh\nexit 101\n' >"$base/usr/sbin/policy-rc.d"
    chmod 755 "$base/usr/sbin/policy-rc.d"
    system_run "$base" apt-get update -q >>"$systems/$suite.log" 2>&1 || { tail -n 5 "$systems/$suite.log" >&2; return 1; }
    touch "$base/made"
}

# system_new NAME [SUITE]: a fresh bare system, as a copy; sets system, its folder.
system_new() {
    local suite=${2:-bookworm}
    system_base "$suite" || return 1
    system=$systems/$1
    rm -rf "$system"
    cp -a "$systems/$suite" "$system"
}

# system_run FOLDER COMMAND...: runs it there as root, or as the user in system_user, with nothing of this environment.
system_run() {
    local folder=$1 home=/root
    shift
    [ -z "${system_user-}" ] || home=/home/$system_user
    # shellcheck disable=SC2016 # expanded inside
    unshare --mount --pid --ipc --fork --mount-proc="$folder/proc" \
        chroot ${system_user:+--userspec="$system_user:$system_user"} "$folder" \
        /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$home" LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive sh -c 'cd "$HOME" && exec "$@"' sh "$@" </dev/null
}

# readme_lines WORD: the block of commands in README's section on installing that has the word.
readme_lines() {
    awk -v word="$1" '
        /^## / { inside = $0 == "## Install" }
        inside && /^```sh$/ { block = ""; taking = 1; next }
        /^```$/ { if (taking && index(block, word)) printf "%s", block; taking = 0; next }
        taking { block = block $0 "\n" }' "$install_root/README.md"
}
