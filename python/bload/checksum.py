"""XXH3, 64 bits, by the xxhash package if it is installed."""
from __future__ import annotations

from typing import Any

from .errors import DependencyError

try:
    import xxhash
except ImportError:
    xxhash = None  # type: ignore[assignment]


def available() -> bool:
    return xxhash is not None


def xxh3(data: Any) -> int:
    """The checksum of bytes, of a contiguous array, or of the items of a list one after the other."""
    if xxhash is None:
        raise DependencyError("checksums can only be verified with the package xxhash: pip install xxhash")
    if isinstance(data, list):
        state = xxhash.xxh3_64()
        for part in data:
            state.update(part)
        return state.intdigest()
    return xxhash.xxh3_64_intdigest(data)


def digest(value: int) -> str:
    """A checksum as written in files: 16 hexadecimal digits."""
    return f"{value:016x}"


def plan_digest(T: int, tables: Any) -> str:
    """The digest of a plan: over T as I64, then the bytes of its tables from block_ptr on."""
    xxh3(b"")  # says that the package is missing
    state = xxhash.xxh3_64(T.to_bytes(8, "little"))
    state.update(tables)
    return digest(state.intdigest())
