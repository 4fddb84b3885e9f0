# What the ways to install have in common; sourced. They set way, the word that their tests' names begin with.
# shellcheck shell=bash disable=SC2154 # set by who sources this
# shellcheck source=tests/install/system.bash
source "$(dirname "${BASH_SOURCE[0]}")/system.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# check NAME COMMAND...: a test by the command's status. What it said, and how long it took, stands in build/systems/WAY.log.
check() {
    local name=$1 began=$SECONDS
    shift
    if "$@" >"$work/log" 2>&1; then
        echo "ok $way: $name"
    else
        tail -n 30 "$work/log" | sed 's/^/    /'
        echo "not ok $way: $name"
        status=1
    fi
    mkdir -p "$systems"
    { echo "== $name ($((SECONDS - began)) s)"; cat "$work/log"; } >>"$systems/$way.log"
}

# needed NAME COMMAND...: one without which the others can do nothing.
needed() {
    check "$@"
    [ $status = 0 ] || exit 1
}

# readme_run WORD: runs README's block of commands that has the word in the system, as a shell does, which stops at the first that fails.
# To what apt asks the answer is yes.
readme_run() {
    readme_lines "$1" >"$work/lines"
    [ -s "$work/lines" ] || { echo "README.md has no commands with $1 in its section on installing"; return 1; }
    cat "$work/lines"
    echo 'APT::Get::Assume-Yes "true";' >"$system/etc/apt/apt.conf.d/yes"
    cp "$work/lines" "$system/root/lines"
    system_run "$system" sh -eux lines
}

# user_packs TOOL: a user without rights packs a folder of two videos of 30 and 40 frames there, and verifies the dataset.
user_packs() {
    system_run "$system" sh -c 'id user 2>/dev/null || useradd --create-home user'
    rm -rf "$system/home/user/videos" "$system/home/user/dataset"
    mkdir "$system/home/user/videos"
    cp "$("$install_root/fixtures/media" h264-30.mp4)" "$("$install_root/fixtures/media" mpeg4-40.avi)" "$system/home/user/videos"
    system_user=user system_run "$system" "$1" pack videos --size 32x32 -T 70 -o dataset &&
        system_user=user system_run "$system" "$1" verify dataset &&
        system_user=user system_run "$system" "$1" info --json dataset >"$work/info" && cat "$work/info" &&
        grep -q '"sequences": 2' "$work/info" && grep -q '"steps": 70' "$work/info" && grep -q '"padding": 0' "$work/info"
}

# says_version TOOL: it is of the version that bload.h has.
says_version() {
    local version
    version=$(sed -n 's/^#define BLOAD_VERSION "\(.*\)"/\1/p' "$install_root/include/bload.h")
    [ "$(system_run "$system" "$1" --version | head -n 1)" = "bload $version" ]
}
