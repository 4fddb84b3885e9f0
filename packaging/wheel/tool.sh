#!/bin/sh
# Builds bload inside the chroot, from /build/bload, and installs it below /build/stage: tool.sh
set -eu
export PKG_CONFIG_PATH=/opt/bload/lib/pkgconfig LD_LIBRARY_PATH=/opt/bload/lib
rm -rf /build/stage
make -C /build/bload -j"$(nproc)" CUDA=0 STATIC=1 WERROR= CFLAGS='-O2 -g0 -include /build/glibc.h' PKG_CONFIG='pkg-config --static' \
    LDFLAGS='-L/opt/bload/lib -Wl,-rpath-link,/opt/bload/lib' PREFIX=/build/stage install
strip /build/stage/bin/bload /build/stage/lib/libbload.so.2
