# What is released: the tarball and Debian's packages, and the checks of both.

.PHONY: dist deb check-install release-check
dist:
	@scripts/dist.sh $(VERSION)

deb:
	@scripts/deps.sh build deb
	@scripts/deb.sh $(VERSION)

check-install:
	@scripts/deps.sh install
	@WHEEL_CACHE=$(abspath $(WHEEL_CACHE)) SUITE_TIMEOUT=3600 $(SUITE) install tests/install/run

release-check:
	@scripts/deps.sh build deb install
	@$(MAKE) --no-print-directory all
	@WHEEL_CACHE=$(abspath $(WHEEL_CACHE)) SUITE_TIMEOUT=7200 $(SUITE) release tests/release/run
