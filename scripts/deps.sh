#!/bin/sh
# Installs what is missing for the named purposes, and nothing else: deps.sh build [check] [demo] [torch] [bench] [slurm] [remote] [engines] [deb] [install] [ci]
#
# Each need is a question that pkg-config or the shell can answer, and the Debian package to install when the answer is no. Without
# a "no" nothing is run. Root installs directly, others through sudo; the command is printed first. Where neither is possible, or
# this is no Debian, it says what is missing and stops with status 1.
set -u

missing=

# need PACKAGES COMMAND...: remembers the packages unless the command succeeds.
need() {
    packages=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $packages"
}

has() {
    command -v "$1"
}

has_module() {
    "${PKG_CONFIG:-pkg-config}" --exists "$1"
}

# A compiler without the C library's headers is what --no-install-recommends leaves behind.
compiles() {
    printf '#include <stdio.h>\nint main(void) { return 0; }\n' | "${CC:-gcc}" -x c -o /dev/null -
}

can_make_venv() {
    python3 -c 'import ensurepip, venv'
}

needs_build() {
    case ${CC:-gcc} in
    *clang*) need "clang libc6-dev" compiles ;;
    *) need "gcc libc6-dev" compiles ;;
    esac
    need binutils has objcopy
    need pkg-config has "${PKG_CONFIG:-pkg-config}"
    need libavformat-dev has_module libavformat
    need libavcodec-dev has_module libavcodec
    need libavutil-dev has_module libavutil
    need libswresample-dev has_module libswresample
    need libsoxr-dev has_module soxr
    need libzimg-dev has_module zimg
    need libzstd-dev has_module libzstd
    need zlib1g-dev has_module zlib
    need libyaml-dev has_module yaml-0.1
    need libxxhash-dev has_module libxxhash
    need libjansson-dev has_module jansson
    need libpcre2-dev has_module libpcre2-8
    need libkissfft-dev has_module kissfft-float
    need libzip-dev has_module libzip
    need libturbojpeg0-dev has_module libturbojpeg
    if has_nvcc; then
        need libffmpeg-nvenc-dev has_module ffnvcodec
    fi
}

# Where there is CUDA's compiler, decoding on GPUs is built too.
has_nvcc() {
    command -v nvcc >/dev/null || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]
}

needs_check() {
    case ${CC:-gcc} in
    *clang*) ;; # brings clang++, and the headers come with libstdc++
    *) need g++ has g++ ;;
    esac
    need check has_module check
    need ffmpeg has ffmpeg
    # Writes the Ogg files that FFmpeg's own muxer does not.
    need vorbis-tools has oggenc
    need zstd has zstd
    # A bench's program beside what the build has: that it links is a test.
    need libswscale-dev has_module libswscale
    need jq has jq
    # What files a run opens.
    need strace has strace
    # What starts the processes of a dataset that many make.
    need openmpi-bin has mpirun
    need parallel has parallel
    need bindfs has bindfs
    need python3-venv can_make_venv
    need ca-certificates test -s /etc/ssl/certs/ca-certificates.crt
    # Compares the frames of GPUs, or of their doubles, with those of the processor.
    if has_nvcc; then
        need python3-numpy /usr/bin/python3 -c 'import numpy'
    fi
    # Loaded where a source is an HDF5 file.
    need libhdf5-103-1 has_hdf5
    # Loaded where a source is a URL.
    need libcurl4 has_curl
}

has_hdf5() {
    ls /usr/lib/*/libhdf5_serial.so.103
}

has_curl() {
    ls /usr/lib/*/libcurl.so.4
}

needs_demo() {
    need python3-venv can_make_venv
    need ca-certificates test -s /etc/ssl/certs/ca-certificates.crt
}

# What `make check-torch` uses: Debian's torch, which is for Debian's Python.
needs_torch() {
    need python3-torch /usr/bin/python3 -c 'import torch'
    need python3-venv /usr/bin/python3 -c 'import ensurepip, venv'
    need ca-certificates test -s /etc/ssl/certs/ca-certificates.crt
    need espeak-ng has espeak-ng
}

# What `make bench-paper` uses beside torch: the reference library, which comes with it, multiplies matrices at a fortieth of the speed.
needs_bench() {
    need libopenblas0-pthread has_openblas
}

has_openblas() {
    ls /usr/lib/*/openblas-*/libblas.so.3
}

# What `make check-slurm` starts; daemons are not on every user's path.
needs_slurm() {
    need slurmctld test -x /usr/sbin/slurmctld
    need slurmd test -x /usr/sbin/slurmd
    need slurm-client has sbatch
    need munge test -x /usr/sbin/munged
}

# What `make check-remote` starts beside servers that come from PyPI.
needs_remote() {
    need nginx-light test -x /usr/sbin/nginx
}

# What `make check-engines` uses beside that: Spark runs on Java.
needs_engines() {
    need openjdk-17-jre-headless has java
    need python3-venv can_make_venv
    need ca-certificates test -s /etc/ssl/certs/ca-certificates.crt
}

installed() {
    dpkg-query -W -f '${Status}' "$1" | grep -q 'ok installed'
}

# What `make deb` uses: the build dependencies of packaging/debian/control beyond those of the tool.
needs_deb() {
    for package in build-essential debhelper dh-python pybuild-plugin-pyproject python3-all python3-setuptools check ffmpeg zstd lintian; do
        need "$package" installed "$package"
    done
}

# What `make check-install` makes systems with, and `make release-check` tests packages with.
needs_install() {
    need debootstrap test -x /usr/sbin/debootstrap
    need autopkgtest has autopkgtest
    need ffmpeg has ffmpeg
    need jq has jq
    need ca-certificates test -s /etc/ssl/certs/ca-certificates.crt
}

# What `make lint valgrind fuzz` use beyond that.
needs_ci() {
    need clang has clang
    need libclang-rt-14-dev has_fuzzer
    need clang-format has clang-format
    need cppcheck has cppcheck
    need abigail-tools has abidiff
    need shellcheck has shellcheck
    need mandoc has mandoc
    need valgrind has valgrind
    need libc6-dbg test -e "$(libc_symbols)"
}

has_fuzzer() {
    test -e "$(clang -print-runtime-dir 2>/dev/null)/libclang_rt.fuzzer-$(uname -m).a"
}

# valgrind cannot follow the C library's own functions without their symbols.
libc_symbols() {
    ls -d /usr/lib/debug/.build-id 2>/dev/null || echo /nonexistent
}

for purpose in "$@"; do
    case $purpose in
    build) needs_build ;;
    check) needs_check ;;
    demo) needs_demo ;;
    torch) needs_torch ;;
    bench) needs_bench ;;
    slurm) needs_slurm ;;
    remote) needs_remote ;;
    engines) needs_engines ;;
    deb) needs_deb ;;
    install) needs_install ;;
    ci) needs_ci ;;
    *)
        echo "deps.sh: no such purpose: $purpose (build, check, demo, torch, bench, slurm, remote, engines, deb, install, ci)" >&2
        exit 2
        ;;
    esac
done
# Once each, in the order they were found missing.
missing=$(for package in $missing; do echo "$package"; done | awk '!seen[$0]++ { printf "%s%s", separator, $0; separator = " " }')
[ -z "$missing" ] && exit 0

if ! has apt-get >/dev/null; then
    echo "Missing (these are Debian's names; there is no apt-get here): $missing" >&2
    exit 1
fi

# The environment goes inside, because sudo drops it.
as_root='env DEBIAN_FRONTEND=noninteractive'
if [ "$(id -u)" != 0 ]; then
    if ! has sudo >/dev/null; then
        echo "Missing: $missing" >&2
        echo "There is no sudo here. As root: apt-get install --no-install-recommends $missing" >&2
        exit 1
    fi
    as_root="sudo $as_root"
fi

run() {
    echo "$as_root $*"
    $as_root "$@" </dev/null
}

# shellcheck disable=SC2086 # words on purpose, here and below
install() {
    run apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 $missing
}

# Package lists may be empty, or name versions that the mirror no longer has.
# shellcheck disable=SC2086
if apt-cache show --no-all-versions $missing >/dev/null 2>&1 && install; then
    exit 0
fi
run apt-get update -o DPkg::Lock::Timeout=300 && install && exit 0
echo "Could not install: $missing" >&2
exit 1
