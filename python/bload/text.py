"""Text as tables and the manifest have it: \\t \\n \\r \\\\ and, for a byte that is no UTF-8, \\xHH."""
from __future__ import annotations

import re

PLAIN = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"\\": b"\\"}
ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{2}|[tnr\\])?", re.DOTALL)


def replacement(match: "re.Match[bytes]") -> bytes:
    code = match.group(1)
    if code is None:
        raise ValueError("a backslash that stands for nothing")
    return bytes([int(code[1:], 16)]) if code[:1] == b"x" else PLAIN[code]


def unescape(data: bytes) -> str:
    """The text that was written so; bytes that are no UTF-8 come as os.fsdecode gives them. ValueError."""
    if b"\\" in data:
        data = ESCAPE.sub(replacement, data)
        return data.decode(errors="surrogateescape")
    return data.decode()
