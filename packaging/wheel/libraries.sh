#!/bin/sh
# Builds the wheel's libraries inside the chroot, from /build/NAME into /opt/bload: libraries.sh
#
# FFmpeg and soxr, which are under the LGPL, become shared libraries, so that they can be replaced; the others go into what uses them.
# How each was configured is kept in /opt/bload/configured, for the notice.
set -eu
prefix=/opt/bload
jobs=-j$(nproc)
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig SOURCE_DATE_EPOCH=1
# As the Makefile hardens bload itself.
export CFLAGS='-O2 -fPIC -include /build/glibc.h -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fcf-protection' LDFLAGS='-Wl,-z,relro -Wl,-z,now'
export CXXFLAGS=$CFLAGS
mkdir -p $prefix/lib/pkgconfig $prefix/include $prefix/configured

# library NAME: builds it once; build_NAME runs in its folder.
library() {
    [ -e "$prefix/configured/$1" ] && return
    echo "  $1"
    cd "/build/$1"
    said=$1
    "build_$(echo "$1" | tr - _)" >"/build/$1.log" 2>&1
    mv "$prefix/configured/$1.new" "$prefix/configured/$1"
    said=
}

# Tells why it ends. The functions are no part of a condition, in which their errors would not count.
said=
trap '[ -z "$said" ] || tail -n 30 "/build/$said.log" >&2' EXIT

# as_configured COMMAND...: runs and notes it.
as_configured() {
    echo "$*" >"$prefix/configured/$said.new"
    "$@"
}

with_configure() {
    as_configured ./configure --prefix=$prefix "$@"
    make "$jobs"
    make install
}

with_cmake() {
    as_configured cmake -S "${source:-.}" -B made -DCMAKE_BUILD_TYPE=None -DCMAKE_INSTALL_PREFIX=$prefix -DCMAKE_INSTALL_LIBDIR=lib "$@"
    make -C made "$jobs"
    make -C made install
}

build_zlib() {
    with_configure --static
}

build_bzip2() {
    as_configured make "$jobs" libbz2.a CFLAGS="$CFLAGS -D_FILE_OFFSET_BITS=64"
    install -m 644 libbz2.a $prefix/lib/
    install -m 644 bzlib.h $prefix/include/
}

build_dav1d() {
    as_configured meson setup made --prefix=$prefix --libdir=lib --buildtype=release --default-library=static \
        -Denable_tools=false -Denable_tests=false
    ninja -C made install
}

build_libsoxr() {
    with_cmake -DBUILD_SHARED_LIBS=ON -DBUILD_TESTS=OFF -DBUILD_EXAMPLES=OFF -DWITH_OPENMP=OFF -DWITH_LSR_BINDINGS=OFF
}

build_zimg() {
    autoreconf -fi
    with_configure --disable-shared --with-pic
}

build_libzstd() {
    as_configured make -C lib "$jobs" install-static install-includes install-pc PREFIX=$prefix CPPFLAGS=-DZSTD_MULTITHREAD
}

build_libyaml() {
    autoreconf -fi
    with_configure --disable-shared --with-pic
}

build_xxhash() {
    as_configured make xxhash.o xxh_x86dispatch.o libxxhash.pc CFLAGS="$CFLAGS" prefix=$prefix
    ld -r -o both.o xxhash.o xxh_x86dispatch.o # one object: bload refers to the second weakly
    rm -f $prefix/lib/libxxhash.a
    ar rcsD $prefix/lib/libxxhash.a both.o
    install -m 644 libxxhash.pc $prefix/lib/pkgconfig/
    install -m 644 xxhash.h xxh_x86dispatch.h $prefix/include/
}

build_jansson() {
    autoreconf -fi
    with_configure --disable-shared --with-pic
}

build_pcre2() {
    with_configure --disable-shared --with-pic --enable-jit --enable-unicode
}

build_kissfft() {
    with_cmake -DKISSFFT_DATATYPE=float -DKISSFFT_STATIC=ON -DKISSFFT_TEST=OFF -DKISSFFT_TOOLS=OFF -DKISSFFT_PKGCONFIG=ON
}

build_libzip() {
    with_cmake -DBUILD_SHARED_LIBS=OFF -DENABLE_COMMONCRYPTO=OFF -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF -DENABLE_OPENSSL=OFF \
        -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF -DENABLE_ZSTD=OFF -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_DOC=OFF
}

build_libjpeg_turbo() {
    with_cmake -DCMAKE_INSTALL_LIBDIR=$prefix/lib -DENABLE_SHARED=OFF -DWITH_JPEG8=ON
}

# All that reads. No protocol: the tool reads files by itself. PNG is what bload writes by FFmpeg.
build_ffmpeg() {
    with_configure --disable-autodetect --disable-everything --disable-network --disable-programs --disable-doc --disable-debug \
        --disable-avdevice --disable-avfilter --disable-swscale --enable-shared --disable-static --enable-pic \
        --enable-demuxers --enable-decoders --enable-parsers --enable-bsfs --enable-encoder=png \
        --enable-zlib --enable-bzlib --enable-libdav1d --extra-cflags="-I$prefix/include -include /build/glibc.h" --extra-ldflags="-L$prefix/lib" \
        --extra-ldsoflags=-static-libgcc
}

for name in zlib bzip2 dav1d ffmpeg libsoxr zimg libzstd libyaml xxhash jansson pcre2 kissfft libzip libjpeg-turbo; do
    library $name
done
