"""URLs: to whom their credentials belong. No module that opens a connection is imported here, since most datasets are local."""
from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from .errors import OptionError

BLANK = re.compile(r"[\x00-\x20\x7f]")
PORTS = {"http": 80, "https": 443}


def is_url(path: str) -> bool:
    """Return whether a path is a URL, and not a file whose name looks like one."""
    return "://" in path and not os.path.exists(path)


def path_of(url: str) -> str:
    """Return the path of a URL; raise OptionError if it is malformed."""
    try:
        return urlsplit(url).path
    except ValueError as error:
        raise OptionError(f"this is not a URL: {error}", url) from None


def origin_of(url: str) -> str:
    """Return to whom credentials for a URL belong: scheme, host and port; for object stores scheme and bucket.

    Raises OptionError if the URL is malformed.
    """
    try:
        parts = urlsplit(url)
        port, host = parts.port if parts.scheme in PORTS else None, parts.hostname
    except ValueError as error:
        raise OptionError(f"this is not a URL: {error}", url) from None
    if parts.scheme not in PORTS:
        return f"{parts.scheme}://{parts.netloc}"
    if not host or BLANK.search(parts.netloc):
        raise OptionError("this URL names no host", url)
    return f"{parts.scheme}://{host}:{port or PORTS[parts.scheme]}"
