# Installation below DESTDIR.

.PHONY: install uninstall
COMPLETIONS := share/bash-completion/completions/bload share/zsh/site-functions/_bload share/fish/vendor_completions.d/bload.fish

# The tool that is installed finds the media module from its own folder, wherever both are moved together: it is linked once more.
INSTALLED := build/install/bload
build/install/place: FORCE
	$(call remember,$(shell realpath -m --relative-to=$(BINDIR) $(LIBDIR)/bload))

build/install/place.o: build/install/place src/kind/media/place.h $(OUT)/flags
	$(call place,$(shell realpath -m --relative-to=$(BINDIR) $(LIBDIR)/bload))

$(INSTALLED): $(MAIN) build/install/place.o $(ARCHIVE)
	$(call say,LINK)
	$(LINK_TOOL)

# The tool prints completions: it has to run where it is built. The manual pages get the version, which their last line shows.
install: all $(INSTALLED)
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)
	install -m 755 $(INSTALLED) $(DESTDIR)$(BINDIR)/bload
	$(if $(filter 1,$(STATIC)),,install -D -m 644 $(MEDIA) $(DESTDIR)$(LIBDIR)/bload/$(notdir $(MEDIA)))
	install -m 644 include/bload.h $(DESTDIR)$(INCLUDEDIR)/bload.h
	install -m 644 build/libbload.a $(DESTDIR)$(LIBDIR)/libbload.a
	install -m 644 build/$(SONAME) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libbload.so
	install -m 644 build/bload.pc $(DESTDIR)$(LIBDIR)/pkgconfig/bload.pc
	for file in $(COMPLETIONS); do shell=$${file#share/} && shell=$${shell%%[/-]*} && \
		./bload completion $$shell >build/completion.$$shell && \
		install -D -m 644 build/completion.$$shell $(DESTDIR)$(PREFIX)/$$file || exit 1; done
	for page in $(MANUALS); do sed 's/^\.Os$$/.Os bload $(VERSION)/' $$page >build/page && \
		install -D -m 644 build/page $(DESTDIR)$(MANDIR)/man$${page##*.}/$${page##*/} || exit 1; done

uninstall:
	rm -f $(DESTDIR)$(BINDIR)/bload $(DESTDIR)$(INCLUDEDIR)/bload.h $(DESTDIR)$(LIBDIR)/libbload.a
	rm -f $(DESTDIR)$(LIBDIR)/libbload.so $(DESTDIR)$(LIBDIR)/$(SONAME) $(DESTDIR)$(LIBDIR)/pkgconfig/bload.pc
	rm -f $(DESTDIR)$(LIBDIR)/bload/$(notdir $(MEDIA)) && { [ ! -d $(DESTDIR)$(LIBDIR)/bload ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$(LIBDIR)/bload; }
	rm -f $(COMPLETIONS:%=$(DESTDIR)$(PREFIX)/%)
	for page in $(MANUALS); do rm -f $(DESTDIR)$(MANDIR)/man$${page##*.}/$${page##*/}; done
