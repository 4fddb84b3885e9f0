"""Escapes in tables and the manifest: \\t \\n \\r \\\\, and \\xHH for a byte that is not UTF-8."""
from __future__ import annotations

import re

PLAIN = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"\\": b"\\"}
ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{2}|[tnr\\])?", re.DOTALL)


def replacement(match: "re.Match[bytes]") -> bytes:
    """Return the byte that an escape denotes; raise ValueError if it is invalid."""
    code = match.group(1)
    if code is None:
        raise ValueError("invalid escape")
    return bytes([int(code[1:], 16)]) if code[:1] == b"x" else PLAIN[code]


def unescape(data: bytes) -> str:
    """Return the unescaped text; raise ValueError for an invalid escape. Bytes that are not UTF-8 become surrogates, as in os.fsdecode."""
    if b"\\" in data:
        data = ESCAPE.sub(replacement, data)
        return data.decode(errors="surrogateescape")
    return data.decode()
