# What the demonstrations share; sourced. They set demo (a folder below build), dataset (in it) and packages.
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

# The words of a command, in quotes where a shell needs them.
quoted() {
    local word
    for word; do
        [[ $word =~ ^[A-Za-z0-9_./:=-]+$ ]] || word="'$word'"
        printf '%s ' "$word"
    done
}

# pack WORD...: packs, verifies and shows; sets nanoseconds. A status of 3 says that inputs which cannot be used were named.
pack() {
    local began status=0
    set -- ./bload pack "$@" -o "$dataset"
    say "Packing: $(quoted "$@")"
    rm -rf "$dataset"
    began=$(date +%s%N)
    "$@" || status=$?
    [ $status = 0 ] || [ $status = 3 ] || exit $status
    nanoseconds=$(($(date +%s%N) - began))
    say "Verifying: ./bload verify $dataset"
    ./bload verify "$dataset"
    say "Looking into it: ./bload info $dataset"
    ./bload info "$dataset"
}

# report AWK [NAME=VALUE...]: what came out, by awk that finds the numbers of `bload info --json` in word, and seconds and processors.
report() {
    local awk=$1 value values=()
    shift
    for value; do values+=(-v "$value"); done
    say "What came out"
    ./bload info --json "$dataset" | awk -F '[:,]' -v seconds="$nanoseconds"e-9 -v processors="$(nproc)" "${values[@]}" '
        /^  "[A-Za-z_]+": [0-9.]+/ { gsub(/[" ]/, "", $1); word[$1] = $2 + 0 }
        END {'"$awk"'}'
}

# show_block FIELD WORDS: the first block, in Python; WORDS say what is printed.
show_block() {
    local python line
    line="from safetensors import safe_open; s = safe_open('$dataset/shards/00000/shard-00000000.safetensors', 'numpy'); "
    line+="print(s.get_slice('$1')[0:1].shape, s.get_slice('cu_seqlens')[0:1][0, :8])"
    say "A block in Python, by the stock safetensors loader: $2"
    if python=$(scripts/readers-venv.sh); then
        printf '%s -c "%s"\n' "${python#"$PWD"/}" "$line"
        "$python" -c "$line"
    else
        printf 'python3 -c "%s"\n(not run: there is no Python with safetensors here)\n' "$line"
    fi
}
