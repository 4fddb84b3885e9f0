# What is given to others, built in systems of its own.

# The wheel: the folder keeps the system that it is built in, and FFmpeg, from one time to the next.
WHEEL_CACHE ?= build/wheel
.PHONY: wheel
wheel:
	@packaging/wheel/build.sh $(WHEEL_CACHE) dist
