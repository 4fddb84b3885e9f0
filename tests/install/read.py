"""Reads what user.sh packed, by the package and by the C library: read.py VERSION"""
import ctypes
import json
import os
import sys

import bload

assert bload.__version__ == sys.argv[1], bload.__version__
steps = {}
for name, field in ("frames", "frames"), ("tokens", "tokens"):
    dataset = bload.open(name)
    steps[name] = sum(int(block["cu_seqlens"][block["num_sequences"]]) for block in dataset)
    assert dataset[0][field].any()
assert steps["frames"] == 30 + 50 + 120, steps
with open("documents.jsonl") as file:
    texts = [json.loads(line)["text"] for line in file]
assert steps["tokens"] >= sum(len(text.encode()) for text in texts), steps
library = ctypes.CDLL(os.path.join(sys.prefix, "lib", "libbload.so.2"))
library.bload_version.restype = ctypes.c_char_p
assert library.bload_version().decode() == sys.argv[1]
with open("frames/manifest.json") as file:
    libraries = json.load(file)["libraries"]
assert libraries["ffmpeg"] and libraries["zimg"], libraries
assert bload.plan([5, 3, 8, 2, 6], 8).blocks == 3  # by that library, without BLOAD_LIBRARY
print("made with:", ", ".join(f"{name} {version}" for name, version in libraries.items()))
