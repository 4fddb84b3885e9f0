"""What zstd makes of frames and of their differences along several axes: KB a frame, of every eighth frame of a raw dataset. See encode.sh.

    encode.py DATASET
"""
import glob
import sys

import numpy as np
import zstandard
from safetensors import safe_open

TIME, ROW, COLUMN, COLOUR = range(4)
AXES = {"none": (), "rows": (ROW,), "columns": (COLUMN,), "rows, columns": (ROW, COLUMN), "rows, colours": (ROW, COLOUR),
        "columns, colours": (COLUMN, COLOUR), "rows, columns, colours": (ROW, COLUMN, COLOUR), "time": (TIME,), "time, rows": (TIME, ROW),
        "time, rows, columns, colours": (TIME, ROW, COLUMN, COLOUR)}


def batches(directory):
    """Runs of 16 frames, [16, H, W, 3], one in eight."""
    for path in sorted(glob.glob(f"{directory}/shards/*/*.safetensors")):
        with safe_open(path, "numpy") as shard:
            blocks = shard.get_slice("frames")
            for block in range(blocks.get_shape()[0]):
                frames = blocks[block]
                yield from (frames[t:t + 16] for t in range(0, len(frames) - 15, 128))


print("| differences along | zstd:1 | zstd:3 |\n|---|---|---|")
frames = list(batches(sys.argv[1]))
for name, axes in AXES.items():
    sizes = []
    for level in 1, 3:
        packer, size = zstandard.ZstdCompressor(level=level), 0
        for batch in frames:
            for axis in axes:
                batch = np.diff(batch, axis=axis, prepend=np.zeros_like(batch.take([0], axis)))
            size += len(packer.compress(np.ascontiguousarray(batch)))
        sizes.append(size / len(frames) / 16 / 1000)
    print(f"| {name} | {sizes[0]:.1f} | {sizes[1]:.1f} |")
