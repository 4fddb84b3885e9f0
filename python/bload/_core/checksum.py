"""64-bit XXH3 checksums; needs the package xxhash."""
from __future__ import annotations

import struct
from typing import Any, List

from .errors import DependencyError

try:
    import xxhash
except ImportError:
    xxhash = None  # type: ignore[assignment]


def available() -> bool:
    """Return whether the package xxhash is installed."""
    return xxhash is not None


def xxh3(data: Any) -> int:
    """Return the checksum of bytes, a contiguous array, or the concatenated items of a list; raise DependencyError without xxhash."""
    if xxhash is None:
        raise DependencyError("checksums can only be verified with the package xxhash: pip install xxhash")
    if isinstance(data, list):
        state = xxhash.xxh3_64()
        for part in data:
            state.update(part)
        return state.intdigest()
    return xxhash.xxh3_64_intdigest(data)


def digest(value: int) -> str:
    """Return a checksum as files have it: 16 hexadecimal digits."""
    return f"{value:016x}"


def plan_digest(sizes: List[int], tables: Any) -> str:
    """Return the digest of a plan, 16 hexadecimal digits: over T and the capacities as I64, then the bytes of its tables from block_ptr on."""
    xxh3(b"")  # raises DependencyError if the package is missing
    state = xxhash.xxh3_64(struct.pack(f"<{len(sizes)}q", *sizes))
    state.update(tables)
    return digest(state.intdigest())
