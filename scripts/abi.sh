#!/bin/sh
# Prints the binary interface of libbload, the functions and the types of include/bload.h, as libabigail sees it: abi.sh LIBRARY
#
# packaging/abi has the interface of the last release with this SONAME. `make abi` writes it, and lint compares.
set -eu
exec abidw --headers-dir include --drop-private-types --exported-interfaces-only --drop-undefined-syms --no-corpus-path \
    --no-comp-dir-path --no-show-locs --no-elf-needed --no-parameter-names --no-write-default-sizes "$1"
