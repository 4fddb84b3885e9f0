#!/bin/bash
# Makes the system in which the wheel is built: chroot.sh CHROOT
#
# Debian 11: its C library, 2.31, is the oldest that debootstrap still gets from Debian's mirrors, and programs run with the C library
# that they were linked with or any later one. Needs root, and the programs debootstrap and dpkg-source.
set -eu
chroot=$1
[ -e "$chroot/build/ready" ] && exit 0
rm -rf "$chroot"
mkdir -p "$chroot"
debootstrap --variant=minbase --include="$(echo gcc g++ libc6-dev make pkg-config nasm meson ninja-build cmake python3 autoconf automake libtool | tr ' ' ,)" \
    bullseye "$chroot" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"}
mkdir -p "$chroot/build"
touch "$chroot/build/ready"
