# bload: variables and flags; the rules are in the files of mk/. `make help` lists the targets.
#
# Everything that is made lies under build/, except the tool itself, ./bload, and dist, for the wheel. Each VARIANT (release, asan, tsan, cover)
# has its own folder of objects, build/VARIANT; a change of compiler or flags rebuilds that folder. All objects but main.o go into
# one archive: the tool, the media module, every test program and the library are linked from it and take what they need.

VARIANT ?= release
ifeq ($(origin CC),default)
CC := gcc
endif
CFLAGS ?= -O2 -g
WERROR ?= -Werror
PKG_CONFIG ?= pkg-config
OBJCOPY ?= objcopy
NM ?= nm

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
DESTDIR ?=

# The tool is linked with some libraries, the media module also with those that decode (src/kind/media/module.h).
TOOL_MODULES := libzstd zlib yaml-0.1 libxxhash jansson libpcre2-8 kissfft-float libzip libturbojpeg
MODULES := libavformat libavcodec libavutil libswresample soxr zimg $(TOOL_MODULES)
# What the library alone needs, for those who link it statically.
LIBRARY_MODULES := libzstd libxxhash jansson libturbojpeg

VERSION := $(shell sed -n 's/^ *\# *define  *BLOAD_VERSION  *"\(.*\)".*/\1/p' include/bload.h 2>/dev/null)
SONAME := libbload.so.2

# --- sources --------------------------------------------------------------------------------------------------------

# While a part of the tree does not compile: make SRCDIRS="src/base src/plan" build/release/tests/test_plan
SRCDIRS ?= $(patsubst %/,%,$(wildcard src/*/ src/kind/*/))
OUT := build/$(VARIANT)
SOURCES := $(sort $(filter-out src/main.c,$(wildcard src/*.c)) $(foreach dir,$(SRCDIRS),$(wildcard $(dir)/*.c)))
# Decoding on GPUs is optional: with CUDA's compiler nvdec.c and the kernels are built, else nvdec_none.c. On by itself where there
# is nvcc, but for clang's and the fuzzers' builds; `make CUDA=0` does without, `make CUDA=1` insists. The kernel goes into the tool
# as data, for the driver.
CUDA_HOME ?= /usr/local/cuda
ifeq ($(origin NVCC),undefined)
NVCC := $(firstword $(shell command -v nvcc) $(wildcard $(CUDA_HOME)/bin/nvcc))
endif
ifeq ($(origin CUDA),undefined)
CUDA := $(if $(filter-out clang fuzz,$(VARIANT)),$(if $(NVCC),$(if $(wildcard /usr/include/ffnvcodec),1,0),0),0)
CUDA_WHY := $(if $(NVCC),make deps installs libffmpeg-nvenc-dev for it,there is no nvcc)
endif
CUDA_WHY ?= CUDA=$(CUDA)
ifeq ($(CUDA),1)
ifeq ($(NVCC),)
$(error CUDA=1: there is no nvcc, neither on the PATH nor in $(CUDA_HOME)/bin (CUDA_HOME=...))
endif
endif
KERNELS := $(wildcard src/kind/video/*.cu)
SOURCES := $(filter-out $(if $(filter 1,$(CUDA)),%/nvdec_none.c,$(addprefix %/nvdec,.c _decoder.c _driver.c _hardware.c)),$(SOURCES))
OBJECTS := $(addsuffix .o,$(basename $(SOURCES:src/%=$(OUT)/%))) $(KERNELS:src/%.cu=$(OUT)/%_host.o) \
	$(if $(filter 1,$(CUDA)),$(KERNELS:src/%.cu=$(OUT)/%_image.o))
ARCHIVE := $(OUT)/objects.a
MAIN := $(patsubst src/%.c,$(OUT)/%.o,$(wildcard src/main.c))
TOOL := $(if $(filter release,$(VARIANT)),bload,$(OUT)/bload)
UNIT := $(patsubst tests/unit/%.c,$(OUT)/tests/%,$(sort $(wildcard tests/unit/test_*.c)))
PROBES := $(OUT)/tests/convert_raw $(OUT)/tests/encode_text $(OUT)/tests/text_probe $(OUT)/tests/remote_probe
FUZZERS := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
MANUALS := $(sort $(wildcard man/*.[1-9]))
PUBLIC := $(wildcard include/bload.h)

# The media module, and where a program finds it: its folder, from that of the program. STATIC=1 links the tool with what decodes, and
# there is no module, as in the wheel.
STATIC ?= 0
MEDIA := $(OUT)/libbload-media-$(VERSION).so
PLACE := $(if $(filter release,$(VARIANT)),$(OUT),.)

# --- flags ----------------------------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra $(WERROR) -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wvla \
	-Wformat=2 -Wundef -Wwrite-strings -Wpointer-arith -Wimplicit-fallthrough
# One build for both: what one of them finds does not depend on the other.
SANITIZE_asan := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITIZE_tsan := -fsanitize=thread
SANITIZE_cover := --coverage -O0
SANITIZE_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
SANITIZE := $(SANITIZE_$(VARIANT))

# Asked for once, and only when something is compiled: `make deps` has to work where pkg-config is still missing.
once = $(eval $(1) := $$(shell $(2)))$($(1))
pkg = $(call once,$(1),$(PKG_CONFIG) $(2))
MODULE_CFLAGS = $(call pkg,MODULE_CFLAGS,--cflags $(MODULES))
MODULE_LIBS = $(call pkg,MODULE_LIBS,--libs $(MODULES))
TOOL_LIBS = $(call pkg,TOOL_LIBS,--libs $(TOOL_MODULES))
CHECK_CFLAGS = $(call pkg,CHECK_CFLAGS,--cflags check)
CHECK_LIBS = $(call pkg,CHECK_LIBS,--libs check)

# Of the GPUs that this nvcc knows: machine code for those in use, and PTX of the newest, which later ones compile when they load it.
CUDA_ARCHS ?= 70 75 80 86 89 90 100 120
CUDA_KNOWN = $(filter $(CUDA_ARCHS),$(patsubst compute_%,%,$(call once,NVCC_KNOWN,$(NVCC) --list-gpu-arch)))
CUDA_VERSION = $(call once,NVCC_VERSION,$(NVCC) --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\10\20/p')
CUDA_CFLAGS = $(if $(filter 1,$(CUDA)),-DBL_CUDA_VERSION=$(CUDA_VERSION))
ALL_NVFLAGS = -std=c++17 -O3 -Isrc -Xcompiler -Wall,-Wextra \
	$(foreach arch,$(CUDA_KNOWN),-gencode arch=compute_$(arch)$(comma)code=sm_$(arch)) \
	-gencode arch=compute_$(lastword $(CUDA_KNOWN)),code=compute_$(lastword $(CUDA_KNOWN)) $(NVCCFLAGS)

# What makes faults harder to exploit; lint looks for it in the tool and the library. Sanitizers have their own, and builds without
# optimization none. Those who package bload give the same, or more, by CPPFLAGS, CFLAGS and LDFLAGS.
MACHINE = $(call once,MACHINE_OF_CC,$(CC) -dumpmachine)
HARDENED := $(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),$(filter-out asan tsan cover fuzz,$(VARIANT)))
HARDENING_CFLAGS = $(if $(HARDENED),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong $(if $(filter x86_64-%,$(MACHINE)),-fcf-protection) \
	$(if $(filter aarch64-%,$(MACHINE)),-mbranch-protection=standard))
HARDENING_LDFLAGS = $(if $(HARDENED),-Wl$(comma)-z$(comma)relro -Wl$(comma)-z$(comma)now)

ALL_CFLAGS = -std=gnu17 -ffp-contract=off -D_GNU_SOURCE -Iinclude -Isrc -fPIC -fvisibility=hidden -pthread $(WARNINGS) $(MODULE_CFLAGS) \
	-DTURBOJPEG_VERSION=$(call pkg,TURBOJPEG_NUMBER,--modversion libturbojpeg) \
	$(CUDA_CFLAGS) $(HARDENING_CFLAGS) $(CPPFLAGS) $(CFLAGS) $(SANITIZE)
ALL_LDFLAGS = -pthread $(SANITIZE) $(HARDENING_LDFLAGS) $(LDFLAGS)
# A program asks only for the libraries that it calls. MEDIA_LIBS and PROGRAM_LIBS are those of the module and of the tool.
MEDIA_LIBS = -Wl,--as-needed $(MODULE_LIBS) $(LDLIBS) -lm
PROGRAM_LIBS = -Wl,--as-needed $(if $(filter 1,$(STATIC)),$(MODULE_LIBS),$(TOOL_LIBS)) $(LDLIBS) -lm -ldl
ALL_LIBS = $(MEDIA_LIBS) -ldl
comma := ,

include mk/build.mk mk/test.mk mk/bench.mk mk/install.mk mk/package.mk mk/release.mk

# --- set-up, demo ---------------------------------------------------------------------------------------------------

.PHONY: deps deps-check demo demo-text demo-audio
deps:
	@scripts/deps.sh build

deps-check:
	@scripts/deps.sh build check

demo:
	@scripts/deps.sh build demo
	@$(MAKE) --no-print-directory all
	@scripts/demo.sh

demo-text:
	@scripts/deps.sh build demo
	@$(MAKE) --no-print-directory all
	@scripts/demo_text.sh

demo-audio:
	@scripts/deps.sh build
	@$(MAKE) --no-print-directory all
	@scripts/demo_audio.sh

# The pictures of the README. A test compares them with what its commands draw.
.PHONY: pictures
pictures: all
	@BLOAD=./bload scripts/picture.py >docs/packing.svg
	@seq 3 2 47 | ./bload plan -q -T 96 --lengths - -o /dev/null --plot docs/plan.svg

.PHONY: clean help
clean:
	rm -rf build bload

help:
	@echo 'make              build ./bload and the library'
	@echo 'make deps         install what the build needs and is missing (Debian, apt)'
	@echo 'make demo         all of it: set up, build, fetch real videos, pack, verify, report'
	@echo 'make demo-audio   the same with 568 spoken prompts, as samples at 16 kHz'
	@echo 'make demo-text    the same with 40 MB of real text: tokenizer, pack, verify, report'
	@echo 'make check        set up, build and run the tests but the longest'
	@echo 'make check-all    every suite: check, lint, laws, faults, sanitizers, fuzzing, valgrind, of which .ci/run leaves a part to its next turns'
	@echo 'make check-golden BASE=COMMIT   datasets are those that another commit makes'
	@echo 'make check-slow   the tests that take minutes: kill and resume, many seeds'
	@echo 'make check-tokenizers  tokenizers against the released engines, every code point: half an hour'
	@echo 'make check-torch  datasets under PyTorch, Lightning and Accelerate (installs torch from Debian, 547 MB)'
	@echo 'make check-ddp    real data-parallel training on packed videos (installs torch from Debian, 547 MB)'
	@echo 'make check-remote datasets read from S3, Google and HTTP servers that fail (installs torch and nginx from Debian, s3fs, gcsfs and servers from PyPI)'
	@echo 'make check-trainers  Transformers, Accelerate, Lightning, TRL, JAX, Grain, TensorFlow as released now (8 GB from PyPI; ten minutes)'
	@echo 'make check-engines bload.launch on Ray, Dask, Spark and Slurm, as clusters on this machine (1 GB from PyPI, Java 17; fifteen minutes)'
	@echo 'make check-slurm  packing on a Slurm cluster of three nodes on this machine (installs Slurm from Debian, 13 MB; root or sudo)'
	@echo 'make check-gpu    decoding on a GPU beside the processor: values, faults, memory, speed (make gpu-kit packs it for another machine)'
	@echo 'make check-gpu-fake  the same without a GPU, on doubles of the driver: all but speed; a minute'
	@echo 'make laws         the same bytes whatever happens: kills, signals, full disks, failing inputs'
	@echo 'make fault        make the Nth allocation, write, thread... fail'
	@echo 'make check-hostile  a thousand spoilt inputs, decoders that crash, hang and allocate, files that refer to others'
	@echo 'make fuzz         feed malformed files to the readers (clang)'
	@echo 'make asan tsan valgrind    the tests under a sanitizer (asan: undefined behaviour, too)'
	@echo 'make lint         layering, format, static checks, manual pages'
	@echo 'make format       put the sources into the house format (clang-format)'
	@echo 'make pictures     draw those of the README anew'
	@echo 'make bench        measure; prints the tables that the documents quote'
	@echo 'make bench-plan   blocks, time and memory of plans beside other packers (make bench-peers installs them; LARGEST=10000000)'
	@echo 'make bench-programs  build what the benches run; make check does, too'
	@echo 'make bench-read   blocks a second of the Python package beside other loaders, which it installs (ROUNDS=5)'
	@echo 'make bench-scale  how time and memory grow with sequences, shards, files and tasks (ten minutes; QUICK=--quick: one or two)'
	@echo 'make bench-paper  train on padded, sampled, cut and packed sequences: time, padding, accuracy (half an hour; torch from Debian)'
	@echo 'make wheel        what pip installs, into dist: a system of Debian 11 to build in, FFmpeg from source (root; 15 minutes, later two)'
	@echo 'make install      to PREFIX=$(PREFIX), below DESTDIR; LIBDIR, BINDIR, MANDIR too'
	@echo 'make dist         the tarball of a release, build/dist/bload-$(VERSION).tar.gz'
	@echo 'make deb          packages for Debian, build/deb/*.deb, of that tarball'
	@echo 'make check-install  the installation lines of README.md, each in a bare Debian below build/ (root; a mirror of Debian)'
	@echo 'make check-ffmpeg make check with the FFmpeg of other releases of Debian, in systems below build/ (SUITES=trixie,sid; root)'
	@echo 'make release-check  all that is released: built twice and compared, installed, tried; one version everywhere (root; half an hour)'
	@echo 'make uninstall clean help'
	@echo 'CC=clang, CFLAGS, CPPFLAGS, LDFLAGS and WERROR= are respected; VARIANT=asan|tsan|cover builds beside the release; V=1 shows commands.'
