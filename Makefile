# bload: one Makefile for the tool, the library, the tests and the installation. `make help` lists what it can do.
#
# Everything that is made lies under build/, except the tool itself, ./bload. Each VARIANT (release, asan, ubsan, tsan, cover)
# has its own folder of objects, build/VARIANT; a change of compiler or flags rebuilds that folder. All objects but main.o go into
# one archive: the tool, every test program and the library are linked from it and take what they need.

VARIANT ?= release
ifeq ($(origin CC),default)
CC := gcc
endif
# The C++ compiler that goes with it: clang-14 and clang++-14.
ifeq ($(origin CXX),default)
CXX := $(if $(filter cc,$(CC)),c++,$(subst gcc,g++,$(subst clang,clang++,$(CC))))
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

MODULES := libavformat libavcodec libavutil libswresample zimg libzstd zlib yaml-0.1 libxxhash jansson libpcre2-8 kissfft-float libzip libturbojpeg
# What the library alone needs, for those who link it statically.
LIBRARY_MODULES := libzstd libxxhash jansson libturbojpeg

VERSION := $(shell sed -n 's/^ *\# *define  *BLOAD_VERSION  *"\(.*\)".*/\1/p' include/bload.h 2>/dev/null)
SONAME := libbload.so.0

# --- sources --------------------------------------------------------------------------------------------------------

# While a part of the tree does not compile: make SRCDIRS="src/base src/plan" build/release/tests/test_plan
SRCDIRS ?= $(patsubst %/,%,$(wildcard src/*/ src/kind/*/))
OUT := build/$(VARIANT)
SOURCES := $(sort $(filter-out src/main.c,$(wildcard src/*.c)) $(foreach dir,$(SRCDIRS),$(wildcard $(dir)/*.c)))
# SentencePiece, whose library is in C++, is optional: sentencepiece.cc, or where it is not installed sentencepiece_none.c. Fuzzers
# do without it; `make SENTENCEPIECE=` does, too.
ifneq ($(if $(filter-out fuzz,$(VARIANT)),$(shell $(PKG_CONFIG) --exists sentencepiece 2>/dev/null && command -v $(firstword $(CXX)))),)
SENTENCEPIECE := $(wildcard src/kind/text/sentencepiece.cc)
endif
SOURCES := $(filter-out $(if $(SENTENCEPIECE),%/sentencepiece_none.c),$(SOURCES)) $(SENTENCEPIECE)
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
SOURCES := $(filter-out $(if $(filter 1,$(CUDA)),%/nvdec_none.c,%/nvdec.c %/nvdec_driver.c),$(SOURCES))
OBJECTS := $(addsuffix .o,$(basename $(SOURCES:src/%=$(OUT)/%))) $(KERNELS:src/%.cu=$(OUT)/%_host.o) \
	$(if $(filter 1,$(CUDA)),$(KERNELS:src/%.cu=$(OUT)/%_image.o))
ARCHIVE := $(OUT)/objects.a
MAIN := $(patsubst src/%.c,$(OUT)/%.o,$(wildcard src/main.c))
TOOL := $(if $(filter release,$(VARIANT)),bload,$(OUT)/bload)
UNIT := $(patsubst tests/unit/%.c,$(OUT)/tests/%,$(sort $(wildcard tests/unit/test_*.c)))
PROBES := $(OUT)/tests/convert_raw $(OUT)/tests/encode_text $(OUT)/tests/text_probe
FUZZERS := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
MANUALS := $(sort $(wildcard man/*.[1-9]))
PUBLIC := $(wildcard include/bload.h)

# --- flags ----------------------------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra $(WERROR) -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wvla \
	-Wformat=2 -Wundef -Wwrite-strings -Wpointer-arith -Wimplicit-fallthrough
SANITIZE_asan := -fsanitize=address -fno-omit-frame-pointer
SANITIZE_ubsan := -fsanitize=undefined -fno-sanitize-recover=all
SANITIZE_tsan := -fsanitize=thread
SANITIZE_cover := --coverage -O0
SANITIZE_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
SANITIZE := $(SANITIZE_$(VARIANT))

# Asked for once, and only when something is compiled: `make deps` has to work where pkg-config is still missing.
once = $(eval $(1) := $$(shell $(2)))$($(1))
pkg = $(call once,$(1),$(PKG_CONFIG) $(2))
MODULE_CFLAGS = $(call pkg,MODULE_CFLAGS,--cflags $(MODULES))
MODULE_LIBS = $(call pkg,MODULE_LIBS,--libs $(MODULES))
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

ALL_CFLAGS = -std=gnu17 -ffp-contract=off -D_GNU_SOURCE -Iinclude -Isrc -fPIC -fvisibility=hidden -pthread $(WARNINGS) $(MODULE_CFLAGS) \
	-DTURBOJPEG_VERSION=$(call pkg,TURBOJPEG_NUMBER,--modversion libturbojpeg) \
	$(CUDA_CFLAGS) $(CPPFLAGS) $(CFLAGS) $(SANITIZE)
# Warnings for C alone are left out.
ALL_CXXFLAGS = -std=c++17 $(filter-out -std=% -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition,$(ALL_CFLAGS)) \
	$(call pkg,SENTENCEPIECE_CFLAGS,--cflags sentencepiece) \
	-DSENTENCEPIECE_VERSION=$(call pkg,SENTENCEPIECE_NUMBER,--modversion sentencepiece)
ALL_LDFLAGS = -pthread $(SANITIZE) $(LDFLAGS)
ALL_LIBS = $(MODULE_LIBS) $(LDLIBS) -lm
# How programs are linked, which may have C++ in them; the library never has.
LINK = $(if $(SENTENCEPIECE),$(CXX),$(CC)) $(ALL_LDFLAGS)
LINK_LIBS = $(ALL_LIBS) $(if $(SENTENCEPIECE),-Wl$(comma)--as-needed $(call pkg,SENTENCEPIECE_LIBS,--libs sentencepiece))
comma := ,

# --- building -------------------------------------------------------------------------------------------------------

.PHONY: all cuda-said
all: cuda-said $(if $(MAIN),$(TOOL),$(ARCHIVE)) $(if $(PUBLIC),$(if $(filter release,$(VARIANT)),library))

# Said once a build, so that nobody wonders where --decoder nvdec is.
cuda-said:
	$(if $(filter 1,$(CUDA)),,$(if $(filter release,$(VARIANT)),@echo '  without CUDA (--decoder nvdec): $(CUDA_WHY)'))

.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:

# make V=1 shows the commands.
V ?= 0
Q := $(if $(filter 0,$(V)),@)
say = @$(if $(filter 0,$(V)),printf '  %-5s%s\n' $(1) $@,:)

# Files that change only when what they say changes, so that what depends on them is remade just then.
define remember
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(1))' > $@
endef

.PHONY: FORCE
FORCE:

$(OUT)/flags: FORCE
	@$(PKG_CONFIG) --exists --print-errors $(MODULES) || { echo "make: run 'make deps' to install what is missing" >&2; exit 1; }
	$(call remember,$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(ALL_LIBS) $(if $(filter 1,$(CUDA)),$(NVCC) $(ALL_NVFLAGS)))

$(OUT)/members: FORCE
	$(call remember,$(OBJECTS))

$(OUT)/%.o: src/%.c $(OUT)/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/%.o: src/%.cc $(OUT)/flags
	$(call say,CXX)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(ALL_CXXFLAGS) -MMD -MP -c -o $@ $<

# The kernel as a loop, for its tests.
$(OUT)/%_host.o: src/%.cu $(OUT)/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -x c -c -o $@ $<

# The kernel for all GPUs, and that as constant data.
$(OUT)/%.fatbin: src/%.cu $(OUT)/flags
	$(call say,NVCC)
	@mkdir -p $(@D)
	$(Q)$(NVCC) $(ALL_NVFLAGS) -MMD -MP -MF $(@:.fatbin=_image.d) -fatbin -o $@ $<

.PRECIOUS: $(OUT)/%.fatbin
$(OUT)/%_image.o: $(OUT)/%.fatbin
	$(Q)printf '.section .rodata\n.balign 16\n.global bl_%s_image\n.hidden bl_%s_image\nbl_%s_image: .incbin "%s"\n.section .note.GNU-stack,"",@progbits\n' \
	  $(notdir $*) $(notdir $*) $(notdir $*) $< | $(CC) -x assembler -c -o $@ -

$(ARCHIVE): $(OBJECTS) $(OUT)/members
	$(call say,AR)
	$(Q)rm -f $@ && ar qcsD $@ $(OBJECTS)

$(TOOL): $(MAIN) $(ARCHIVE)
	$(call say,LINK)
	$(Q)$(LINK) -o $@ $(MAIN) $(ARCHIVE) $(LINK_LIBS)

$(OUT)/tests/%.o: tests/unit/%.c $(OUT)/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(CHECK_CFLAGS) -Itests/unit -MMD -MP -c -o $@ $<

# What tests on a GPU ask of it beside the tool's own answers.
$(OUT)/tests/probe.o: tests/gpu/probe.c $(OUT)/flags
	$(if $(filter 1,$(CUDA)),,$(error it needs a build with CUDA: $(CUDA_WHY)))
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# A driver without a GPU, for the tests of what is above it: tests/gpu/fake.h.
FAKES := $(if $(filter 1,$(CUDA)),$(OUT)/fake/libcuda.so.1 $(OUT)/fake/libnvcuvid.so.1)
FAKE_CUDA := $(patsubst tests/gpu/%.c,$(OUT)/fake/%.o,$(filter-out %/fake_cuvid.c %/fake_picture.c,$(wildcard tests/gpu/fake_*.c)))
FAKE_CUVID := $(OUT)/fake/fake_cuvid.o $(OUT)/fake/fake_picture.o

$(OUT)/fake/%.o: tests/gpu/%.c $(OUT)/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fvisibility=default -MMD -MP -c -o $@ $<

$(OUT)/fake/libcuda.so.1: $(FAKE_CUDA) $(OUT)/kind/video/nv12_rgb_host.o
$(OUT)/fake/libnvcuvid.so.1: $(FAKE_CUVID) $(OUT)/fake/libcuda.so.1
# They stay, and with them what they count, when they are closed.
$(OUT)/fake/%.so.1:
	$(call say,LINK)
	$(Q)$(CC) -shared $(ALL_LDFLAGS) -Wl,-soname,$(@F) -Wl,-z,nodelete -Wl,-z,now -o $@ $^ -lm

# Parts of the tool as programs, for the tests of frames and of text.
$(PROBES:%=%.o): $(OUT)/tests/%.o: tests/readers/%.c $(OUT)/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/tests/%: $(OUT)/tests/%.o $(ARCHIVE)
	$(call say,LINK)
	$(Q)$(LINK) -o $@ $< $(ARCHIVE) $(CHECK_LIBS) $(LINK_LIBS)

-include $(OBJECTS:.o=.d) $(MAIN:.o=.d) $(UNIT:=.d) $(PROBES:=.d) $(FAKE_CUDA:.o=.d) $(FAKE_CUVID:.o=.d)

# --- the library ----------------------------------------------------------------------------------------------------

# One object with the public functions and whatever of the archive they need; every other name becomes local to it, so that
# neither the static nor the shared library can clash with a program's own names.
.PHONY: library
library: build/libbload.a build/$(SONAME) build/bload.pc

build/libbload.o: $(ARCHIVE)
	$(call say,LINK)
	$(Q)names=$$($(NM) -g --defined-only $(ARCHIVE) 2>/dev/null | sed -n 's/.* T \(bload_.*\)/-Wl,-u,\1/p'); \
		$(CC) -r -nostdlib -o $@.all $$names $(ARCHIVE)
	$(Q)$(OBJCOPY) --localize-hidden $@.all $@ && rm -f $@.all

build/libbload.a: build/libbload.o
	$(call say,AR)
	$(Q)rm -f $@ && ar qcsD $@ $<

build/$(SONAME): build/libbload.o
	$(call say,LINK)
	$(Q)$(CC) -shared -pthread $(LDFLAGS) -Wl,-soname,$(SONAME) -Wl,-z,defs -Wl,--as-needed -o $@ $< $(ALL_LIBS)
	@ln -sf $(SONAME) build/libbload.so

build/bload.pc.values: FORCE
	$(call remember,$(VERSION) $(PREFIX) $(LIBDIR) $(INCLUDEDIR))

build/bload.pc: bload.pc.in build/bload.pc.values
	$(Q)sed -e 's|@VERSION@|$(VERSION)|' -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@REQUIRES@|$(LIBRARY_MODULES)|' $< > $@

# --- installation ---------------------------------------------------------------------------------------------------

.PHONY: install uninstall
install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)
	install -m 755 bload $(DESTDIR)$(BINDIR)/bload
	install -m 644 include/bload.h $(DESTDIR)$(INCLUDEDIR)/bload.h
	install -m 644 build/libbload.a $(DESTDIR)$(LIBDIR)/libbload.a
	install -m 644 build/$(SONAME) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libbload.so
	install -m 644 build/bload.pc $(DESTDIR)$(LIBDIR)/pkgconfig/bload.pc
	for page in $(MANUALS); do \
		install -D -m 644 $$page $(DESTDIR)$(MANDIR)/man$${page##*.}/$${page##*/} || exit 1; done

uninstall:
	rm -f $(DESTDIR)$(BINDIR)/bload $(DESTDIR)$(INCLUDEDIR)/bload.h $(DESTDIR)$(LIBDIR)/libbload.a
	rm -f $(DESTDIR)$(LIBDIR)/libbload.so $(DESTDIR)$(LIBDIR)/$(SONAME) $(DESTDIR)$(LIBDIR)/pkgconfig/bload.pc
	for page in $(MANUALS); do rm -f $(DESTDIR)$(MANDIR)/man$${page##*.}/$${page##*/}; done

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

# --- tests ----------------------------------------------------------------------------------------------------------

# Each suite leaves its counts in build/results; scripts/total.sh adds them up. A suite of another variant bears its name: asan-unit.
PREFIXED := $(if $(filter release,$(VARIANT)),,$(VARIANT)-)
# What has no threads is tested in brief where threads are what is looked at.
BRIEF := $(if $(filter tsan,$(VARIANT)),UNIT_BRIEF=1)
SUITE := $(BRIEF) BLOAD=$(CURDIR)/$(TOOL) CONVERT_RAW=$(CURDIR)/$(OUT)/tests/convert_raw \
	ENCODE_TEXT=$(CURDIR)/$(OUT)/tests/encode_text TEXT_PROBE=$(CURDIR)/$(OUT)/tests/text_probe VARIANT=$(VARIANT) scripts/suite.sh

CHECKS := unit cli library readers python

.PHONY: check check-unit check-cli check-library check-readers check-python
check: deps-check
	@rm -rf build/results
	@$(MAKE) --no-print-directory check-suites || true
	@scripts/total.sh

.PHONY: check-suites
check-suites:
	@scripts/expect.sh $(CHECKS)
	@$(MAKE) --no-print-directory -k $(CHECKS:%=check-%)

check-unit: $(UNIT)
	@$(SUITE) $(PREFIXED)unit $(UNIT)

check-cli: all $(FAKES) $(if $(FAKES),$(OUT)/tests/convert_raw)
	@$(if $(FAKES),FAKE_DRIVER=$(CURDIR)/$(OUT)/fake) $(SUITE) $(PREFIXED)cli tests/cli/run

# Nobody runs the programs of the benches every day: that they link is looked at here.
check-library: all bench-programs
	@$(SUITE) $(PREFIXED)library tests/library/run

check-readers: all $(PROBES)
	@$(SUITE) $(PREFIXED)readers tests/readers/run

check-python: all
	@$(SUITE) $(PREFIXED)python python/tests/run

# Datasets under PyTorch and the frameworks around it, and training on several ranks. They take Debian's torch; where that cannot be
# installed the suites are skipped, and say so.
.PHONY: check-torch check-ddp
check-torch: all
	@scripts/deps.sh torch || true
	@$(SUITE) $(PREFIXED)torch tests/torch/run

check-ddp: all
	@scripts/deps.sh torch || true
	@$(SUITE) $(PREFIXED)ddp tests/ddp/run

# The current releases of the frameworks, from PyPI, and the recipes of docs/training.md under them.
.PHONY: check-trainers
check-trainers: all
	@SUITE_TIMEOUT=3600 $(SUITE) $(PREFIXED)trainers tests/trainers/run

# A cluster of three Slurm nodes on this machine; its packages as those of check-torch.
.PHONY: check-slurm
check-slurm: all
	@scripts/deps.sh slurm || true
	@$(SUITE) $(PREFIXED)slurm tests/slurm/run

# What needs a GPU: one call of a few minutes. gpu-kit packs it for a machine that has a GPU and nothing of ours.
.PHONY: check-gpu gpu-clips gpu-kit
gpu-clips:
	@fixtures/gpu_clips build/gpu/clips

check-gpu: all $(OUT)/tests/probe gpu-clips
	@PROBE=$(CURDIR)/$(OUT)/tests/probe SUITE_TIMEOUT=3600 $(SUITE) gpu tests/gpu/run
	@cat build/results/gpu.log

gpu-kit: all $(OUT)/tests/probe gpu-clips
	@scripts/gpu_kit.sh

.PHONY: check-slow laws fault fuzz asan ubsan tsan valgrind
# The laws that take minutes to prove: many kills, many seeds.
check-slow: all
	@$(SUITE) $(PREFIXED)slow $(sort $(wildcard tests/slow/*.sh))

# The same bytes whatever happens: killed at every step, stopped, out of disk or memory, inputs that fail or vanish.
laws: all build/laws.so
	@$(SUITE) $(PREFIXED)laws tests/laws/run

fault: all build/libinject.so
	@$(SUITE) $(PREFIXED)fault tests/fault/run

# To be preloaded by the tests above.
build/libinject.so: tests/fault/inject.c
build/laws.so: tests/laws/preload.c
build/libinject.so build/laws.so:
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -fPIC -shared -o $@ $< -ldl

asan ubsan tsan:
	@$(MAKE) --no-print-directory -k VARIANT=$@ CFLAGS='-O1 -g' check-unit check-cli

valgrind: $(UNIT)
	@SUITE_TIMEOUT=3600 PROGRAMS='$(UNIT)' $(SUITE) valgrind tests/valgrind

# libFuzzer comes with clang.
fuzz:
	@$(MAKE) --no-print-directory VARIANT=fuzz CC=clang fuzz-run

.PHONY: fuzz-run
fuzz-run: $(FUZZERS)
	@PROGRAMS='$(FUZZERS)' $(SUITE) fuzz tests/fuzz/run

build/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(ARCHIVE)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -o $@ $< $(ARCHIVE) $(ALL_LIBS)

.PHONY: lint format bench clean help
lint: build/release/flags
	@LINT_CFLAGS='$(ALL_CFLAGS)' LINT_CXXFLAGS='$(ALL_CXXFLAGS)' $(SUITE) lint scripts/lint.sh

format:
	clang-format -i $(wildcard src/*.c src/*/*.[ch] src/*/*/*.[ch] src/*/*/*.cc src/*/*/*.cu include/*.h tests/*/*.[ch] bench/*.[ch])

# What bench/ has in C: programs of the tool's own parts, two of the library as others link it, one of neither.
BENCHES := $(addprefix build/release/bench/,decode plan/text $(if $(wildcard /usr/include/*/libswscale/swscale.h),convert) \
	encode plan/plan plan/lists)

.PHONY: bench-programs
bench-programs: $(BENCHES)

$(BENCHES:%=%.o): build/release/bench/%.o: bench/%.c build/release/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(BENCH_CFLAGS) -MMD -MP -c -o $@ $<

build/release/bench/convert.o: BENCH_CFLAGS = -O3
build/release/bench/convert: BENCH_LIBS = $(call pkg,SWSCALE_LIBS,--libs libswscale) $(if $(wildcard /usr/include/libyuv.h),-lyuv)
$(filter %/decode %/plan/text %/convert,$(BENCHES)): %: %.o build/release/objects.a
	$(call say,LINK)
	$(Q)$(LINK) -o $@ $^ $(BENCH_LIBS) $(LINK_LIBS)

build/release/bench/encode build/release/bench/plan/plan: %: %.o build/libbload.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg,LIBRARY_LIBS,--libs $(LIBRARY_MODULES)) -lm

build/release/bench/plan/lists: %: %.o
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lm

-include $(BENCHES:=.d)

bench: all bench-programs
	@bench/run

# The packers that bench/plan measures against, in a virtual environment; one that cannot be installed is named and skipped.
.PHONY: bench-peers bench-plan bench-paper
bench-peers:
	@mkdir -p build
	@bench/plan/peers.sh

bench-plan: all bench-programs
	@bench/plan/run $(LARGEST)

# How time and memory grow with sequences, shards, files and tasks; QUICK=--quick takes a tenth of everything.
.PHONY: bench-scale
bench-scale: all
	@bench/scale.py $(QUICK)

# Blocks a second of the Python package beside other loaders, which it installs into build/bench-venv.
.PHONY: bench-read
bench-read: all
	@bench/read.sh $(ROUNDS)

# Trainings of half an hour; QUICK=--quick looks whether they work.
bench-paper: all
	@scripts/deps.sh torch bench
	@bench/paper.sh $(QUICK)

clean:
	rm -rf build bload

help:
	@echo 'make              build ./bload and the library'
	@echo 'make deps         install what the build needs and is missing (Debian, apt)'
	@echo 'make demo         all of it: set up, build, fetch real videos, pack, verify, report'
	@echo 'make demo-audio   the same with 568 spoken prompts, as samples at 16 kHz'
	@echo 'make demo-text    the same with 40 MB of real text: tokenizer, pack, verify, report'
	@echo 'make check        set up, build and run every test'
	@echo 'make check-slow   the tests that take minutes: kill and resume, many seeds'
	@echo 'make check-torch  datasets under PyTorch, Lightning and Accelerate (installs torch from Debian, 547 MB)'
	@echo 'make check-ddp    real data-parallel training on packed videos (installs torch from Debian, 547 MB)'
	@echo 'make check-trainers  Transformers, Accelerate, Lightning, TRL, JAX, Grain, TensorFlow as released now (8 GB from PyPI; ten minutes)'
	@echo 'make check-slurm  packing on a Slurm cluster of three nodes on this machine (installs Slurm from Debian, 13 MB; root or sudo)'
	@echo 'make check-gpu    decoding on a GPU beside the processor: values, faults, memory, speed (make gpu-kit packs it for another machine)'
	@echo 'make laws         the same bytes whatever happens: kills, signals, full disks, failing inputs'
	@echo 'make fault        make the Nth allocation, write, thread... fail'
	@echo 'make fuzz         feed malformed files to the readers (clang)'
	@echo 'make asan ubsan tsan valgrind    the tests under a sanitizer'
	@echo 'make lint         layering, format, static checks, manual pages'
	@echo 'make format       put the sources into the house format (clang-format)'
	@echo 'make bench        measure; prints the tables that the documents quote'
	@echo 'make bench-plan   blocks, time and memory of plans beside other packers (make bench-peers installs them; LARGEST=10000000)'
	@echo 'make bench-programs  build what the benches run; make check does, too'
	@echo 'make bench-read   blocks a second of the Python package beside other loaders, which it installs (ROUNDS=5)'
	@echo 'make bench-scale  how time and memory grow with sequences, shards, files and tasks (ten minutes; QUICK=--quick: one or two)'
	@echo 'make bench-paper  train on padded, sampled, cut and packed sequences: time, padding, accuracy (half an hour; torch from Debian)'
	@echo 'make install      to PREFIX=$(PREFIX), below DESTDIR; LIBDIR, BINDIR, MANDIR too'
	@echo 'make uninstall clean help'
	@echo 'CC=clang, CFLAGS, CPPFLAGS, LDFLAGS and WERROR= are respected; VARIANT=asan|ubsan|tsan|cover builds beside the release; V=1 shows commands.'
