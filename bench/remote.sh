#!/bin/sh
# Blocks read from afar beside local reading (bench/remote.py), with the Python of scripts/remote-venv.sh: remote.sh [BLOCKS] [LATENCY]
set -eu
cd "$(dirname "$0")/.."
exec "$(scripts/remote-venv.sh)" bench/remote.py "$@"
