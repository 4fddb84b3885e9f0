# Test programs, and the suites that run them.

$(OUT)/tests/%.o: tests/unit/%.c $(OUT)/flags
	$(call compile,$(CHECK_CFLAGS) -Itests/unit)

# What tests on a GPU ask of it beside the tool's own answers.
$(OUT)/tests/probe.o: tests/gpu/probe.c $(OUT)/flags
	$(if $(filter 1,$(CUDA)),,$(error it needs a build with CUDA: $(CUDA_WHY)))
	$(call compile)

# A driver without a GPU, for the tests of what is above it: tests/gpu/fake.h.
FAKES := $(if $(filter 1,$(CUDA)),$(OUT)/fake/libcuda.so.1 $(OUT)/fake/libnvcuvid.so.1)
FAKE_CUDA := $(patsubst tests/gpu/%.c,$(OUT)/fake/%.o,$(filter-out %/fake_cuvid.c %/fake_parser.c %/fake_picture.c,$(wildcard tests/gpu/fake_*.c)))
FAKE_CUVID := $(patsubst %,$(OUT)/fake/fake_%.o,cuvid parser picture)

$(OUT)/fake/%.o: tests/gpu/%.c $(OUT)/flags
	$(call compile,-fvisibility=default)

$(OUT)/fake/libcuda.so.1: $(FAKE_CUDA) $(OUT)/kind/video/nv12_rgb_host.o
$(OUT)/fake/libnvcuvid.so.1: $(FAKE_CUVID) $(OUT)/fake/libcuda.so.1
$(OUT)/fake/libnvcuvid.so.1: FAKE_LIBS := -lavcodec -lavutil
# They stay, and with them what they count, when they are closed.
$(OUT)/fake/%.so.1:
	$(call say,LINK)
	$(Q)$(CC) -shared $(ALL_LDFLAGS) -Wl,-soname,$(@F) -Wl,-z,nodelete -Wl,-z,now -o $@ $^ $(FAKE_LIBS) -lm

# What traces the driver's calls; a sanitizer's runtime is not for what the dynamic linker loads before the program.
TRACE := $(if $(filter release,$(VARIANT)),$(if $(FAKES),$(OUT)/tests/trace.so))

$(OUT)/tests/trace.so: tests/gpu/trace.c $(OUT)/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fvisibility=default -fPIC -shared $(ALL_LDFLAGS) -o $@ $<

# Decodes with the driver's parser and nothing of ours.
$(OUT)/tests/parse: tests/gpu/parse.c $(OUT)/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< -lavformat -lavcodec -lavutil -ldl

# Parts of the tool as programs, for the tests of frames, of text and of what is read from afar.
$(filter-out %/remote_probe.o,$(PROBES:%=%.o)): $(OUT)/tests/%.o: tests/readers/%.c $(OUT)/flags
	$(call compile)

$(OUT)/tests/remote_probe.o: tests/remote/remote_probe.c $(OUT)/flags
	$(call compile)

# Programs have built in what they call of the module; where they ask a kind for it, they load it. Those of a sanitizer have all of it
# built in: clang's search for leaks crashes where both are there.
$(OUT)/tests/%: $(OUT)/tests/%.o $(OUT)/tests/place.o $(ARCHIVE) | $(MEDIA)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) $(if $(SANITIZE),-Wl$(comma)-u$(comma)bl_media_functions) -o $@ $(filter %.o,$^) $(ARCHIVE) $(CHECK_LIBS) $(ALL_LIBS)

-include $(UNIT:=.d) $(PROBES:=.d) $(OUT)/tests/probe.d $(FAKE_CUDA:.o=.d) $(FAKE_CUVID:.o=.d) $(FUZZERS:=.d)

# --- suites ---------------------------------------------------------------------------------------------------------

# Each suite leaves its counts in build/results; scripts/total.sh adds them up. A suite of another variant bears its name: asan-unit.
PREFIXED := $(if $(filter release,$(VARIANT)),,$(VARIANT)-)
# Laws are repeated less often under a sanitizer: the release has proved them.
BRIEF := $(if $(filter asan tsan,$(VARIANT)),UNIT_BRIEF=1)
# AddressSanitizer guesses the bounds of thread-local storage that the dynamic linker allocates, from 16 bytes in front of it, which are glibc's
# only up to 2.24. Where the storage of one of FFmpeg's libraries begins 16 bytes behind a page, it takes its own header of the allocation for
# them, and the search for leaks reads memory that is not mapped: "Tracer caught signal 11". The option switches the guess off.
ASAN := $(if $(filter asan,$(VARIANT)),ASAN_OPTIONS=$(if $(ASAN_OPTIONS),$(ASAN_OPTIONS):)intercept_tls_get_addr=0)
SUITE := $(ASAN) $(BRIEF) BLOAD=$(CURDIR)/$(TOOL) CONVERT_RAW=$(CURDIR)/$(OUT)/tests/convert_raw \
	ENCODE_TEXT=$(CURDIR)/$(OUT)/tests/encode_text TEXT_PROBE=$(CURDIR)/$(OUT)/tests/text_probe \
	REMOTE_PROBE=$(CURDIR)/$(OUT)/tests/remote_probe VARIANT=$(VARIANT) scripts/suite.sh

# $(call due,SUITE,PARTS,PREFIXES): the parts of a suite that are due in this turn of .ci/run, and all of them by hand; see scripts/turn.sh.
due = $(shell printf '%s\n' $(2) | scripts/turn.sh $(1) $(3))

# `make check`: laws of units less often, without the long comparisons of tokenizers and without most spoilt inputs; .ci/run has them all.
CHECKS ?= cli readers-quick unit-brief python hostile-quick library

.PHONY: check check-unit check-unit-brief check-cli check-library check-readers check-readers-quick check-python check-hostile-quick
check: deps-check
	@rm -rf build/results
	@$(MAKE) --no-print-directory check-suites || true
	@scripts/total.sh

# All of .ci/run, and nothing waits for its turn.
.PHONY: check-all
check-all:
	@CI_TURN=all .ci/run

.PHONY: check-suites
check-suites:
	@scripts/expect.sh $(CHECKS)
	@$(MAKE) --no-print-directory -k $(CHECKS:%=check-%)

check-unit: $(UNIT)
	@PROGRAMS='$(UNIT)' $(SUITE) $(PREFIXED)unit tests/unit/run

check-unit-brief: $(UNIT)
	@UNIT_BRIEF=1 PROGRAMS='$(UNIT)' $(SUITE) $(PREFIXED)unit-brief tests/unit/run

check-cli: all $(FAKES) $(TRACE) $(if $(FAKES),$(OUT)/tests/convert_raw $(OUT)/tests/parse)
	@$(if $(FAKES),FAKE_DRIVER=$(CURDIR)/$(OUT)/fake GPU_PARSE=$(CURDIR)/$(OUT)/tests/parse) $(if $(TRACE),GPU_TRACER=$(CURDIR)/$(TRACE)) FILES='$(CLI)' $(SUITE) $(PREFIXED)cli tests/cli/run

# Nobody runs the programs of the benches every day: that they link is looked at here.
check-library: all bench-programs
	@$(SUITE) $(PREFIXED)library tests/library/run

check-readers: all $(PROBES)
	@$(SUITE) $(PREFIXED)readers tests/readers/run

check-readers-quick: all $(PROBES)
	@QUICK=1 $(SUITE) $(PREFIXED)readers-quick tests/readers/run

check-python: all
	@$(SUITE) $(PREFIXED)python python/tests/run

# Spoilt inputs: a part of them every day, all with check-hostile.
check-hostile-quick: all build/hostile.so
	@QUICK=1 $(SUITE) hostile-quick tests/hostile/run

.PHONY: check-hostile check-hostile-spoilt
check-hostile: all build/hostile.so
	@$(SUITE) hostile tests/hostile/run

check-hostile-spoilt: all
	@FILES=$(CURDIR)/tests/hostile/spoilt.sh $(SUITE) $(PREFIXED)hostile tests/hostile/run

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

# Datasets and sources read from servers that fail: of our own, moto's S3, SeaweedFS and nginx. The quick part has fewer kills.
.PHONY: check-remote check-remote-quick
check-remote: all $(OUT)/tests/remote_probe
	@scripts/deps.sh torch remote || true
	@$(SUITE) $(PREFIXED)remote tests/remote/run

check-remote-quick: all $(OUT)/tests/remote_probe
	@scripts/deps.sh torch remote || true
	@QUICK=1 $(SUITE) $(PREFIXED)remote-quick tests/remote/run

# A cluster of three Slurm nodes on this machine; its packages as those of check-torch.
.PHONY: check-slurm
check-slurm: all
	@scripts/deps.sh slurm || true
	@$(SUITE) $(PREFIXED)slurm tests/slurm/run

# Clusters of the released engines on this machine; Spark needs Java, and Slurm its daemons.
.PHONY: check-engines
check-engines: all
	@scripts/deps.sh slurm engines || true
	@SUITE_TIMEOUT=3600 $(SUITE) $(PREFIXED)engines tests/engines/run

# What needs a GPU: one call of a few minutes. gpu-kit packs it for a machine that has a GPU and nothing of ours.
.PHONY: check-gpu gpu-clips gpu-kit
gpu-clips:
	@fixtures/gpu_clips build/gpu/clips

check-gpu: all $(OUT)/tests/probe gpu-clips
	@PROBE=$(CURDIR)/$(OUT)/tests/probe SUITE_TIMEOUT=3600 $(SUITE) gpu tests/gpu/run
	@cat build/results/gpu.log

# The same on the driver's doubles, where there is no GPU: all but speed.
.PHONY: check-gpu-fake
check-gpu-fake: all $(FAKES) $(if $(FAKES),$(OUT)/tests/probe)
	@$(if $(FAKES),fixtures/gpu_clips build/gpu/clips test)
	@FAKE_DRIVER=$(CURDIR)/$(OUT)/fake PROBE=$(CURDIR)/$(OUT)/tests/probe $(SUITE) $(PREFIXED)gpu-fake tests/gpu/run

gpu-kit: all $(OUT)/tests/probe $(OUT)/tests/trace.so build/release/bench/hwdecode gpu-clips
	@scripts/gpu_kit.sh

.PHONY: check-slow laws fault fuzz asan tsan valgrind
# The laws that take minutes to prove: many kills, many seeds.
check-slow: all
	@$(SUITE) $(PREFIXED)slow $(sort $(wildcard tests/slow/*.sh))

# That a change of the code changes no dataset: what the commit BASE makes of 200 configurations, this tree makes, too. tests/golden/compare.py.
GOLDEN = build/golden/$(shell git rev-parse --verify $(BASE)^{commit})
.PHONY: check-golden
check-golden: all
	$(if $(BASE),,$(error give the commit to compare with: make check-golden BASE=HEAD~10))
	@mkdir -p $(GOLDEN)
	@git archive $(BASE) | tar -x -C $(GOLDEN)
	@$(MAKE) --no-print-directory -C $(GOLDEN) all
	@OLD=$(CURDIR)/$(GOLDEN)/bload GOLDEN=$(CURDIR)/build/golden/work $(SUITE) golden tests/golden/compare.py

# Tokenizers against the released engines: every code point, a million texts for each grammar, many pipelines. Half an hour.
.PHONY: check-tokenizers
check-tokenizers: all $(PROBES)
	@EVERY=1 SUITE_TIMEOUT=3600 $(SUITE) grammars tests/readers/run -k grammars
	@PIPELINES=200 SUITE_TIMEOUT=3600 $(SUITE) families tests/readers/run -k families

# The same bytes whatever happens: killed at every step, stopped, out of disk or memory, inputs that fail or vanish.
laws: all build/laws.so
	@$(SUITE) $(PREFIXED)laws tests/laws/run

fault: all build/libinject.so
	@$(SUITE) $(PREFIXED)fault tests/fault/run

# To be preloaded by the tests above.
build/libinject.so: tests/fault/inject.c
build/laws.so: tests/laws/preload.c
build/hostile.so: tests/hostile/decoder.c src/kind/isolated/messages.h
build/hostile.so: CFLAGS += -Isrc $(MODULE_CFLAGS)
build/libinject.so build/laws.so build/hostile.so: build/release/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -fPIC -shared -o $@ $(filter %.c,$^) -ldl

# With clang, where there is one: a second compiler sees all of the code, and optimizes it as for a release. Without the command tests
# of pages, shells, clusters and the clock, of plans, which the unit tests make by the hundred, of memory and exact values, for which others
# decode the same, and of tasks and dry runs, which do what pack and scan do.
UNSANITIZED_CLI := $(patsubst %,tests/cli/%.sh,ci pair_repeat completion cost decoder_memory doctor dry_run end_report exact_audio exact_video launchers \
	manual max_column plan plan_plot progress report slurm tasks tasks_scan usage)
SANITIZED_CLI := $(filter-out $(UNSANITIZED_CLI),$(wildcard tests/cli/*.sh))
asan:
	@$(MAKE) --no-print-directory -k VARIANT=$@ $(if $(shell command -v clang),CC=clang) CLI='$(call due,asan-cli,$(SANITIZED_CLI))' \
		check-cli check-unit check-hostile-spoilt

# Of the unit and command tests only those whose threads share something: several workers read, decode, write or verify. Tasks have the
# threads of scan and pack.
THREADED := $(addprefix $(OUT)/tests/test_,background copies csv direct gpu inflated merge packing pipeline reservation shard video)
THREADED_CLI := $(patsubst %,tests/cli/%.sh,audio clips encode export fields frames gpu_fake pack scan tar text verify view view_pack)
# Where threads meet: lint looks at who has them. And who gives them work.
THREADS := src/pool/ src/remote/copies src/run/ src/kind/array/inflated src/scan/scan. src/scan/samples src/scan/compare src/export/export.
tsan:
	@$(MAKE) --no-print-directory -k VARIANT=$@ CFLAGS='-O1 -g' CLI='$(call due,tsan-cli,$(THREADED_CLI),$(THREADS))' \
		UNIT='$(call due,tsan-unit,$(THREADED:$(OUT)/%=build/tsan/%),$(THREADS))' check-cli check-unit

valgrind: $(UNIT)
	@SUITE_TIMEOUT=3600 PROGRAMS='$(UNIT)' $(SUITE) valgrind tests/valgrind

# libFuzzer comes with clang.
fuzz:
	@$(MAKE) --no-print-directory VARIANT=fuzz CC=clang FUZZERS='$(call due,fuzz,$(FUZZERS),tests/fuzz/run tests/fuzz/fuzz.h fixtures/fuzz_seeds)' fuzz-run

.PHONY: fuzz-run
fuzz-run: $(FUZZERS)
	@PROGRAMS='$(FUZZERS)' $(SUITE) fuzz tests/fuzz/run

build/fuzz/fuzz_%.o: tests/fuzz/fuzz_%.c $(OUT)/flags
	$(call compile)

# With the module built in: what it does is fuzzed, too.
build/fuzz/fuzz_%: build/fuzz/fuzz_%.o build/fuzz/place.o $(ARCHIVE)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -fsanitize=fuzzer -Wl,-u,bl_media_functions -o $@ $(filter %.o,$^) $(ARCHIVE) $(ALL_LIBS)

.PHONY: lint format bench clean help
lint: build/release/flags
	@LINT_CFLAGS='$(ALL_CFLAGS)' $(SUITE) lint scripts/lint.sh

format:
	clang-format -i $(wildcard src/*.c src/*/*.[ch] src/*/*/*.[ch] src/*/*/*.cu include/*.h tests/*/*.[ch] bench/*.[ch])
