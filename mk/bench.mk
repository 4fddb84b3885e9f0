# What bench/ measures with, and the benches.

# What bench/ has in C: programs of the tool's own parts, two of the library as others link it, one of neither.
BENCHES := $(addprefix build/release/bench/,decode lengthen plan/text $(if $(wildcard /usr/include/*/libswscale/swscale.h),convert) \
	encode plan/plan plan/lists plan/instances plan/ranks $(if $(filter 1,$(CUDA)),hwdecode))

.PHONY: bench-programs
bench-programs: $(BENCHES)

$(BENCHES:%=%.o): build/release/bench/%.o: bench/%.c build/release/flags
	$(call compile,$(BENCH_CFLAGS))

build/release/bench/place.o: src/kind/media/place.h build/release/flags
	$(call place,..)

build/release/bench/hwdecode: BENCH_LIBS = $(call pkg,HWDECODE_LIBS,--libs libavformat libavcodec libavutil)
build/release/bench/convert.o: BENCH_CFLAGS = -O3
build/release/bench/convert: BENCH_LIBS = $(call pkg,SWSCALE_LIBS,--libs libswscale) $(if $(wildcard /usr/include/libyuv.h),-lyuv)
$(filter %/decode %/lengthen %/plan/text %/plan/instances %/convert,$(BENCHES)): %: %.o build/release/bench/place.o build/release/objects.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(BENCH_LIBS) $(ALL_LIBS)

build/release/bench/encode build/release/bench/plan/plan build/release/bench/plan/ranks: %: %.o build/libbload.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg,LIBRARY_LIBS,--libs $(LIBRARY_MODULES)) -lm

build/release/bench/plan/lists build/release/bench/hwdecode: %: %.o
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(BENCH_LIBS) -lm

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
