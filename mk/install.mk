# Installation below DESTDIR.

.PHONY: install uninstall
COMPLETIONS := share/bash-completion/completions/bload share/zsh/site-functions/_bload share/fish/vendor_completions.d/bload.fish

# The tool prints completions: it has to run where it is built. The manual pages get the version, which their last line shows.
install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)
	install -m 755 bload $(DESTDIR)$(BINDIR)/bload
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
	rm -f $(COMPLETIONS:%=$(DESTDIR)$(PREFIX)/%)
	for page in $(MANUALS); do rm -f $(DESTDIR)$(MANDIR)/man$${page##*.}/$${page##*/}; done
