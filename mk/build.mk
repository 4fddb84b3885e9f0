# The tool and the library: objects, archive, programs.

.PHONY: all cuda-said
all: cuda-said $(if $(MAIN),$(TOOL),$(ARCHIVE)) $(if $(MAIN),$(if $(filter 1,$(STATIC)),,$(MEDIA))) $(if $(PUBLIC),$(if $(filter release,$(VARIANT)),library))

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

# How an object is made: it depends on its headers, by the .d file beside it, and on the compiler and its flags. $(1): flags of its own.
define compile
$(call say,CC)
@mkdir -p $(@D)
$(Q)$(CC) $(ALL_CFLAGS) $(1) -MMD -MP -c -o $@ $<
endef

.PHONY: FORCE
FORCE:

$(OUT)/flags: FORCE
	@$(PKG_CONFIG) --exists --print-errors $(MODULES) || { echo "make: run 'make deps' to install what is missing" >&2; exit 1; }
	$(call remember,$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(PROGRAM_LIBS) $(MEDIA_LIBS) $(if $(filter 1,$(CUDA)),$(NVCC) $(ALL_NVFLAGS)))

$(OUT)/members: FORCE
	$(call remember,$(OBJECTS))

$(OUT)/%.o: src/%.c $(OUT)/flags
	$(call compile)

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

# --- the media module -----------------------------------------------------------------------------------------------

# It has one name that others see, and what that needs of the archive: its own copy of base and of what decodes.
$(MEDIA): $(ARCHIVE)
	$(call say,LINK)
	$(Q)$(CC) -shared $(ALL_LDFLAGS) -Wl,-Bsymbolic -Wl,-u,bl_media_functions -o $@ $(ARCHIVE) $(MEDIA_LIBS)

# place FOLDER: how an object is made that tells a program where the module is.
define place
@mkdir -p $(@D)
$(Q)printf '%s\n' '#include "kind/media/place.h"' 'const char bl_media_place[] = "$(1)";' | $(CC) $(ALL_CFLAGS) -x c -c -o $@ -
endef

$(OUT)/place.o: src/kind/media/place.h $(OUT)/flags
	$(call place,$(PLACE))

# Of programs in the folder tests.
$(OUT)/tests/place.o: src/kind/media/place.h $(OUT)/flags
	$(call place,..)

# --- the tool -------------------------------------------------------------------------------------------------------

# Linked with bl_media_functions it has the module built in.
LINK_TOOL = $(Q)$(CC) $(ALL_LDFLAGS) $(if $(filter 1,$(STATIC)),-Wl$(comma)-u$(comma)bl_media_functions) -o $@ $(filter %.o,$^) $(ARCHIVE) $(PROGRAM_LIBS)

$(TOOL): $(MAIN) $(OUT)/place.o $(ARCHIVE) $(OUT)/members
	$(call say,LINK)
	$(LINK_TOOL)

-include $(OBJECTS:.o=.d) $(MAIN:.o=.d)

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

build/$(SONAME): build/libbload.o src/bload.map
	$(call say,LINK)
	$(Q)$(CC) -shared -pthread $(HARDENING_LDFLAGS) $(LDFLAGS) -Wl,-soname,$(SONAME) -Wl,--version-script=src/bload.map -Wl,-z,defs -Wl,--as-needed -o $@ $< $(ALL_LIBS)
	@ln -sf $(SONAME) build/libbload.so

# The interface with which lint compares. Write it anew when SONAME changes, and at a release that adds functions or members.
.PHONY: abi
abi: build/$(SONAME)
	$(Q)scripts/abi.sh $< >build/interface.abi
	$(Q)mkdir -p packaging/abi && rm -f packaging/abi/*.abi && mv build/interface.abi packaging/abi/$(SONAME).abi

build/bload.pc.values: FORCE
	$(call remember,$(VERSION) $(PREFIX) $(LIBDIR) $(INCLUDEDIR))

build/bload.pc: bload.pc.in build/bload.pc.values
	$(Q)sed -e 's|@VERSION@|$(VERSION)|' -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@REQUIRES@|$(LIBRARY_MODULES)|' $< > $@
