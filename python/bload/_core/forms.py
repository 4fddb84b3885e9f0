"""Validate names, checksums and numbers in a dataset's files. Each is checked where it is parsed; later code relies on the check."""
from __future__ import annotations

import re
from typing import Any, Optional, Union

SIZE_END = 1 << 62
SIZE_MAX = 64 << 20  # the most bytes of a manifest
NAME_MAX = 255  # the most bytes of a name in a directory, the limit of file systems
CHECKSUM = re.compile(r"[0-9a-f]{16}")
DIGITS = re.compile(rb"[0-9]{1,19}")
# Backslashes separate names on other systems, and the tool writes no names with control characters.
FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\]")


def is_checksum(value: Any) -> bool:
    """Return whether a value is a checksum as files have it: 16 hexadecimal digits."""
    return isinstance(value, str) and CHECKSUM.fullmatch(value) is not None


def is_name(value: Any) -> bool:
    """Return whether a value names a file below the dataset's directory: relative, with slashes, and without ".."."""
    if not isinstance(value, str) or FORBIDDEN.search(value) is not None:
        return False
    return all(part not in ("", ".", "..") and len(part.encode(errors="replace")) <= NAME_MAX for part in value.split("/"))


def is_size(value: Any) -> bool:
    """Return whether a value is an integer that can be a size or a count."""
    return type(value) is int and 0 <= value < SIZE_END


def size_of(text: Union[bytes, str]) -> Optional[int]:
    """Return the size that decimal digits denote, or None if there are other characters, or too many digits."""
    digits = text if isinstance(text, bytes) else text.encode(errors="replace")
    value = int(digits) if DIGITS.fullmatch(digits) is not None else SIZE_END
    return value if value < SIZE_END else None
