# What is released: the tarball and Debian's packages, and the checks of both; and of bload with the FFmpeg of other releases of Debian.

.PHONY: dist deb check-install check-ffmpeg release-check
dist:
	@scripts/dist.sh $(VERSION)

deb:
	@scripts/deps.sh build deb
	@scripts/deb.sh $(VERSION)

check-install:
	@scripts/deps.sh install
	@WHEEL_CACHE=$(abspath $(WHEEL_CACHE)) SUITE_TIMEOUT=3600 $(SUITE) install tests/install/run

# SUITE, or SUITE=VERSION where its mirror still holds an earlier FFmpeg.
SUITES ?= trixie sid=8.1.2-2+b3 sid
check-ffmpeg:
	@scripts/deps.sh check install
	@tests/ffmpeg/run $(subst $(comma), ,$(SUITES))

release-check:
	@scripts/deps.sh build deb install
	@$(MAKE) --no-print-directory all
	@WHEEL_CACHE=$(abspath $(WHEEL_CACHE)) SUITE_TIMEOUT=7200 $(SUITE) release tests/release/run
