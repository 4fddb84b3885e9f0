# Debian's packages come, are upgraded and go; their own tests; the container; sourced.
# shellcheck shell=bash disable=SC2154 # set by who sources this

# What belongs to no package and comes and goes with any: lists, caches, logs.
all_files() {
    (cd "$system" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log -o -path ./root \
        -o -path ./home -o -path ./tmp -o -path ./proc -o -path ./etc/ld.so.cache \) -prune -o -print | LC_ALL=C sort)
}

# install_from FOLDER: all packages that lie there.
install_from() {
    rm -rf "$system/root/packages" && mkdir "$system/root/packages" && cp "$1"/*.deb "$system/root/packages/" &&
        rm "$system"/root/packages/*-dbgsym_*.deb &&
        system_run "$system" sh -c 'apt-get install -y --no-install-recommends ./packages/*.deb'
}

# of_version VERSION: the six packages, and no other state of them.
of_version() {
    # shellcheck disable=SC2016 # dpkg's own variables
    system_run "$system" dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' bload bload-doc bload-media libbload2 libbload-dev python3-bload \
        >"$work/state" && cat "$work/state" && [ "$(grep -c " $1 installed$" "$work/state")" = 6 ]
}

upgrades() {
    install_from build/deb && of_version "$revision"
}

purges() {
    system_run "$system" apt-get purge -y bload bload-doc bload-media libbload2 libbload-dev python3-bload &&
        system_run "$system" apt-get autoremove -y --purge && all_files >"$work/after" && diff "$work/before" "$work/after" &&
        ! system_run "$system" dpkg-query -W bload
}

nothing_is_broken() {
    system_run "$system" dpkg --audit >"$work/audit" && [ ! -s "$work/audit" ] && system_run "$system" apt-get check
}

upgrade() {
    needed "upgrade: a bare system" system_new upgrade
    needed "upgrade: a user" system_run "$system" useradd --create-home user
    all_files >"$work/before"
    check "upgrade: the lower version is installed" install_from "$(results lower)"
    check "upgrade: it is the lower one" of_version "$version-0.1"
    check "upgrade: to this version" upgrades
    check "upgrade: nothing is broken" nothing_is_broken
    check "upgrade: a user packs a folder of videos" user_packs bload
    check "upgrade: purged, nothing is left" purges
}

# The tests that come with the packages, in a bare system.
package_tests() {
    rm -rf build/autopkgtest
    unshare --mount --pid --fork --mount-proc="$system/proc" autopkgtest --no-built-binaries --output-dir build/autopkgtest \
        build/deb/*.deb "build/deb/bload_$revision.dsc" -- chroot "$system" </dev/null
}

own_tests() {
    needed "autopkgtest: a bare system" system_new autopkgtest
    check "autopkgtest: the packages' own tests" package_tests
}

# steps FILE: the instructions of a Containerfile, each on a line.
steps() {
    sed -e '/^#/d' -e '/^$/d' "$1" | sed -e ':join' -e '/\\$/{N;s/ *\\\n */ /;b join' -e '}'
}

# container_step WORD REST: does in the system what an engine does. ENTRYPOINT and CMD are JSON lists of words.
container_step() {
    local words
    case $1 in
    FROM) [[ $2 == debian:bookworm* ]] && system_new container ;;
    COPY)
        read -ra words <<<"$2"
        mkdir -p "$system/${words[-1]}"
        # shellcheck disable=SC2068 # patterns
        cp ${words[@]:0:${#words[@]}-1} "$system/${words[-1]}"
        ;;
    RUN) system_run "$system" sh -c "cd / && $2" ;;
    WORKDIR) mkdir -p "$system/$2" && container_folder=$2 ;;
    ENTRYPOINT) container_tool=$(tr -d '[]",' <<<"$2") ;;
    CMD) container_words=$(tr -d '[]",' <<<"$2") ;;
    *) echo "this test does not know $1" && return 1 ;;
    esac
}

container_is_made() {
    local word rest
    while read -r word rest; do
        echo "-- $word $rest"
        container_step "$word" "$rest" || return 1
    done < <(steps packaging/Containerfile)
    [ -n "$container_tool" ]
}

# container_run WORD...: with the working folder that stands for a mounted one, as a user whom the system does not know.
container_run() {
    # shellcheck disable=SC2016 # expanded inside
    system_run "$system" chroot --userspec=4321:4321 / sh -c 'cd "$1" && shift && exec "$@"' sh "$container_folder" $container_tool "$@"
}

container_packs() {
    mkdir -p "$system$container_folder/videos" &&
        cp "$(fixtures/media h264-30.mp4)" "$(fixtures/media mpeg4-40.avi)" "$system$container_folder/videos" &&
        chown -R 4321:4321 "$system$container_folder" && container_run pack videos --size 32x32 -T 70 -o dataset &&
        container_run verify dataset && [ "$(stat -c %u "$system$container_folder/dataset/manifest.json")" = 4321 ]
}

container_helps() {
    # shellcheck disable=SC2086 # words
    container_run $container_words >"$work/help" && grep -q 'pack' "$work/help"
}

container() {
    container_tool='' container_words='' container_folder=/
    needed "container: the steps of packaging/Containerfile" container_is_made
    check "container: without a command it says what there is" container_helps
    check "container: packs a mounted folder as the caller" container_packs
    # Nothing that was needed to install is left in it.
    check "container: no lists, no packages" test ! -e "$system/packages" -a -z "$(find "$system/var/lib/apt/lists" -type f)"
}
