"""Compute the checksum of a shard: over the checksums of its regions, in file order."""
from __future__ import annotations

import struct
from typing import Callable, Dict, List

import numpy as np

from . import checksum
from .mapping import Bytes
from .safetensors import Tensor


def digest_of(sums: List[int]) -> str:
    """Return a shard's checksum from those of its regions, 16 hexadecimal digits."""
    return checksum.digest(checksum.xxh3(struct.pack(f"<{len(sums)}Q", *sums)))


def checksums(read: Callable[[int, int], Bytes], tensors: Dict[str, Tensor], fields: List[str], block_checksum: np.ndarray) -> List[int]:
    """Return the checksums of an uncompressed shard's regions: the header, each table (offsets included) and each block of each field.

    read(offset, size) returns the bytes of header and tables. block_checksum, I64 [blocks, fields], has those of the blocks of the tensors
    `fields`, which are not read.
    """
    ordered = sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end))
    sums = [checksum.xxh3(read(0, ordered[0][1].begin))]
    for name, tensor in ordered:
        if name in fields:
            sums += block_checksum[:, fields.index(name)].astype(np.uint64).tolist()
        else:
            sums.append(checksum.xxh3(read(tensor.begin, tensor.end - tensor.begin)))
    return sums
