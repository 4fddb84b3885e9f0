#!/bin/sh
# Blocks read from afar beside local reading (bench/remote.py), with the Python of scripts/remote-venv.sh; or beside the loaders of others
# (bench/remote_peers.py), with build/bench-venv, where pip's torch and these are installed (5 GB; TORCH_PYTHON names another Python):
#
#     bench/remote.sh [BLOCKS] [LATENCY]
#     bench/remote.sh peers [BLOCKS] [LATENCY]
#
# Or packing into a store beside packing into a directory (bench/remote_results.py):
#
#     bench/remote.sh results [LATENCY [CORPUS...]]
set -eu
cd "$(dirname "$0")/.."
if [ "${1-}" = results ]; then
    shift
    exec "$(scripts/remote-venv.sh)" bench/remote_results.py "$@"
fi
if [ "${1-}" != peers ]; then
    exec "$(scripts/remote-venv.sh)" bench/remote.py "$@"
fi
shift
python=${TORCH_PYTHON:-build/bench-venv/bin/python}
if [ -z "${TORCH_PYTHON-}" ] && ! "$python" -c 'import torch, litdata, s3fs, boto3' 2>/dev/null; then
    [ -e build/bench-venv ] || python3 -m venv build/bench-venv
    # Without the packages for other clouds and models, which are not needed here.
    "$python" -m pip install -q numpy torch xxhash 's3fs>=2024' boto3 zstandard tqdm pillow lightning-utilities requests filelock python-snappy
    "$python" -m pip install -q --no-deps mosaicml-streaming litdata obstore brotli zstd catalogue tifffile
fi
exec "$python" bench/remote_peers.py "$@"
