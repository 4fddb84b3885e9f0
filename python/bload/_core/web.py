"""Read objects of an HTTP server by range requests.

The standard library suffices, and shows sizes, ranges, ETags and stalls for each response; fsspec reads other stores.
"""
from __future__ import annotations

import functools
import http.client
import io
import re
import socket
import ssl
import string
import time
import urllib.request
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple
from urllib.parse import quote, urljoin, urlsplit

from .errors import Error, MissingError, OptionError
from .forms import SIZE_MAX
from .mapping import Bytes
from .urls import origin_of

REDIRECTS = 5
RANGE = re.compile(r"bytes ([0-9]{1,19})-([0-9]{1,19})/([0-9]{1,19}|\*)")
SLOWEST = 10 << 10   # bytes per second; a slower response counts as stalled after the first `timeout` seconds
SLACK = 1 << 20      # extra bytes that a response may have: its headers, the sizes of chunks
CHUNK = 64 << 10     # bytes of a response to read at a time if they are discarded, or their number is unknown
QUOTED = 100         # how many characters of a server's text are quoted
# Statuses after which the same request may succeed.
PASSING = 408, 425, 429, 500, 502, 503, 504
# OpenSSL's codes for a certificate that no trusted authority signed.
UNKNOWN_AUTHORITY = 18, 19, 20, 21


class TemporaryFailure(Exception):
    """A request failed in a way that may be temporary. after: the seconds that the server asks to wait."""

    def __init__(self, fault: str, after: float = 0):
        super().__init__(fault)
        self.after = after


class ObjectChanged(Exception):
    """An object does not have the size that it had when the dataset was made."""


class Slow(TimeoutError):
    """A response arrives too slowly."""


class Reply(NamedTuple):
    """The bytes of an object. tag: identifies its state, or ""."""
    data: Bytes
    tag: str = ""


class Wanted(NamedTuple):
    """Bytes begin to end of an object that should have size bytes; without end all of it, or at least more than SIZE_MAX of it."""
    begin: int
    end: Optional[int]
    size: Optional[int]

    @property
    def most(self) -> int:
        """The most bytes that a response may have: a server without ranges also sends the bytes before them."""
        return (SIZE_MAX if self.end is None else self.end) + SLACK


Connection = http.client.HTTPConnection


class BoundedReader(io.RawIOBase):
    """The bytes of a response from a socket: at most `most`, and not slower than SLOWEST after the first `timeout` seconds.

    The timeout of a socket alone would allow a byte each time, for ever.
    """

    def __init__(self, raw: Any, most: int, timeout: float):
        self.raw, self.most, self.timeout = raw, most, timeout
        self.began, self.came = time.monotonic(), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        if time.monotonic() - self.began > self.timeout + self.came / SLOWEST:
            raise Slow(f"{self.came} bytes in {time.monotonic() - self.began:.0f} s")
        if self.came >= self.most:
            raise http.client.HTTPException(f"the response does not end after {self.came} bytes")
        count: Optional[int] = self.raw.readinto(buffer)
        self.came += count or 0
        return count

    def close(self) -> None:
        if not self.closed:
            self.raw.close()
        super().close()


class BoundedResponse(http.client.HTTPResponse):
    """A response that is read through BoundedReader."""

    def __init__(self, sock: Any, *arguments: Any, most: int, timeout: float, **options: Any):
        super().__init__(sock, *arguments, **options)
        fp: Any = self.fp
        self.limited, self.most = BoundedReader(fp.detach(), SLACK, timeout), most
        self.fp = io.BufferedReader(self.limited)

    def begin(self) -> None:
        super().begin()  # reads the headers, for which SLACK is enough
        self.limited.most = self.most

    def body(self, wanted: Wanted) -> Bytes:
        """Return the bytes that were wanted, or fewer, or none if it has others; allocate no more memory, whatever the response claims."""
        if self.status not in (200, 206):
            self.read(CHUNK)
            return b""
        if wanted.end is None:
            return self.up_to(SIZE_MAX + 1)
        if self.status == 200:  # a server that does not know ranges sends all of it
            if self.length not in (None, wanted.size):
                return b""
            for begin in range(0, wanted.begin, CHUNK):
                self.read(min(CHUNK, wanted.begin - begin))
        data, done, count = memoryview(room_for(wanted.end - wanted.begin)), 0, -1
        while done < len(data) and count:
            count = self.readinto(data[done:])
            done += count
        if self.status == 206 and not self.isclosed() and self.read(1):
            raise http.client.HTTPException("the response has more bytes than requested")
        return data[:done].toreadonly()

    def up_to(self, most: int) -> bytes:
        """Return all of it, or at least `most` bytes."""
        data, some = bytearray(), b"-"
        while some and len(data) < most:
            some = self.read(CHUNK)
            data += some
        if self.length and len(data) < most:
            raise http.client.IncompleteRead(b"", self.length)
        return bytes(data)


def room_for(size: int) -> bytearray:
    """Return memory for bytes that are about to arrive, which the system provides on first use; raise Error if there is too little."""
    try:
        return bytearray(size)
    except (MemoryError, OverflowError):
        raise Error(f"there is no memory for the {size} bytes that the server announces") from None


def redirected(url: str, location: str) -> str:
    """Return the target of a redirect; raise Error if it is not an HTTP URL."""
    try:
        # Servers send characters that a request must not contain.
        target = quote(urljoin(url, location).encode("latin-1", "replace"), safe=string.punctuation)
        origin = origin_of(target)
    except (ValueError, OptionError):
        origin = ""
    if not origin.startswith(("http://", "https://")):
        raise Error(f"it redirects to {location[:QUOTED]!r}, which is not an HTTP URL", url)
    return target


class WebObjects:
    """Objects below a URL. Threads can call get concurrently; connections are kept open, one for each concurrent request.

    timeout: seconds without a byte after which a connection counts as stalled. headers: sent with each request to the scheme, host and port of
    the URL; the target of a redirect to another host gets none of them.
    """

    def __init__(self, url: str, timeout: float, headers: Optional[Dict[str, str]] = None):
        self.url, self.timeout, self.headers = url, timeout, headers or {}
        if not isinstance(self.headers, dict) or not all(isinstance(text, str) for item in self.headers.items() for text in item):
            raise OptionError("headers must be a dict of strings", url)
        self.trusted: Optional[ssl.SSLContext] = None
        self.idle: List[Tuple[Tuple[str, str], Connection]] = []

    def locate(self, name: str) -> str:
        """Return the URL of an object. A query of the base URL stays at the end."""
        parts = urlsplit(self.url)
        return parts._replace(path=f"{parts.path.rstrip('/')}/{quote(name)}").geturl()

    def get(self, name: str, begin: int, end: Optional[int], size: Optional[int]) -> Reply:
        """Return bytes begin to end of an object that should have size bytes; without end all of it.

        Raises TemporaryFailure if another try may help, ObjectChanged if the object has another size, and MissingError or Error if it cannot be read.
        """
        url, wanted = self.locate(name), Wanted(begin, end, size)
        asked = {"User-Agent": "bload"} if end is None else {"User-Agent": "bload", "Range": f"bytes={begin}-{end - 1}"}
        sent = {**asked, **self.headers}
        for _ in range(REDIRECTS):
            answer, body = self.request(url, sent, wanted)
            if answer.status not in (301, 302, 303, 307, 308) or not answer.headers.get("Location"):
                break
            target = redirected(url, answer.headers["Location"])
            if origin_of(target) != origin_of(url):
                sent = asked
            url = target
        self.check_status(answer, name)
        if end is not None and answer.status == 200:
            length = answer.headers.get("Content-Length")
            if length is not None and length != str(size):
                raise ObjectChanged(f"it has {length[:QUOTED]} bytes, {size} were expected")
        elif end is not None:
            self.check_range(answer, begin, end, size)
        if end is not None and len(body) != end - begin:
            raise TemporaryFailure(f"{len(body)} of {end - begin} bytes arrived")
        return Reply(body, answer.headers.get("ETag", "")[:QUOTED])

    def check_status(self, answer: http.client.HTTPResponse, name: str) -> None:
        """Raise an exception for a status that is not a success: MissingError, Error, ObjectChanged or TemporaryFailure."""
        status, url = answer.status, self.locate(name)
        if status in (200, 206):
            return
        what = f"the server says {status} {answer.reason[:QUOTED]}".rstrip()
        if status in (404, 410):
            raise MissingError(what, url)
        if status in (401, 403, 407):
            raise Error(f"access denied: {what}: check credentials, and the permission to read", url)
        if status == 416:
            raise ObjectChanged("it is shorter than it was")
        if status in PASSING:
            seconds = answer.headers.get("Retry-After", "")
            raise TemporaryFailure(what, float(seconds) if seconds.isdecimal() and len(seconds) < QUOTED else 0)
        raise Error(what, url)

    @staticmethod
    def check_range(answer: http.client.HTTPResponse, begin: int, end: int, size: Optional[int]) -> None:
        """Raise ObjectChanged for another size, and TemporaryFailure for another range than the one that was requested."""
        match = RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if match is None:
            raise TemporaryFailure("the response does not say which range it contains")
        if size is not None and match.group(3) not in ("*", str(size)):
            raise ObjectChanged(f"it has {match.group(3)} bytes, {size} were expected")
        if (int(match.group(1)), int(match.group(2)) + 1) != (begin, end):
            raise TemporaryFailure(f"bytes {match.group(1)} to {match.group(2)} arrived, {begin} to {end - 1} were requested")

    def request(self, url: str, headers: Dict[str, str], wanted: Wanted) -> Tuple[BoundedResponse, Bytes]:
        """Return the response to one request, and the wanted part of its body; raise TemporaryFailure if the connection failed."""
        key, connection, path, kept = self.connection(url)
        made: Any = functools.partial(BoundedResponse, most=wanted.most, timeout=self.timeout)
        connection.response_class = made
        try:
            try:
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
            except (http.client.RemoteDisconnected, ConnectionError):
                if not kept:
                    raise
                connection.close()  # the server had closed the idle connection: http.client opens a new one
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
            assert isinstance(answer, BoundedResponse)
            body = answer.body(wanted)
        except Error as error:
            connection.close()
            raise Error(error.fault, url) from None
        except ssl.SSLCertVerificationError as error:
            connection.close()
            unknown = error.verify_code in UNKNOWN_AUTHORITY
            hint = "; for an authority of your own, set SSL_CERT_FILE to the file of its certificate" if unknown else ""
            raise Error(f"its certificate is not trusted: {error.verify_message.rstrip('.')}{hint}", url) from None
        except socket.gaierror as error:
            if error.errno != socket.EAI_NONAME:
                raise TemporaryFailure(f"the name server fails: {error.strerror}") from None
            raise Error("there is no host of this name", url) from None
        except Slow as error:
            connection.close()
            raise TemporaryFailure(f"the connection stalled: {error}") from None
        except TimeoutError:
            connection.close()
            raise TemporaryFailure(f"the connection stalled: no byte in {self.timeout:g} s") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            raise TemporaryFailure(f"the connection failed: {str(error)[:2 * QUOTED] or type(error).__name__}") from None
        if answer.will_close or not answer.isclosed():
            connection.close()
        else:
            self.idle.append((key, connection))
        return answer, body

    def connection(self, url: str) -> Tuple[Tuple[str, str], Connection, str, bool]:
        """Return a connection for a URL, the path to request, and whether it was used before; proxies come from the environment."""
        parts = urlsplit(url)
        key, path = (parts.scheme, parts.netloc), parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
        proxy = None if urllib.request.proxy_bypass(parts.hostname or "") else urllib.request.getproxies().get(parts.scheme)
        if proxy and parts.scheme == "http":
            path = url
        while self.idle:
            try:
                found, connection = self.idle.pop()
            except IndexError:
                break
            if found == key:
                return key, connection, path, True
            connection.close()
        return key, self.connect(parts, proxy), path, False

    def connect(self, parts: Any, proxy: Optional[str]) -> Connection:
        """Return a new connection, through a proxy if there is one."""
        kind: Callable[..., Connection] = http.client.HTTPConnection
        if parts.scheme == "https":
            kind = functools.partial(http.client.HTTPSConnection, context=self.context())
        if not proxy:
            return kind(parts.netloc.rpartition("@")[2], timeout=self.timeout)
        through = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        connection = kind(through.hostname or "", through.port or 80, timeout=self.timeout)
        if parts.scheme == "https":
            connection.set_tunnel(parts.hostname, parts.port or 443)
        return connection

    def context(self) -> ssl.SSLContext:
        """Return the trusted certificates, of the system or of SSL_CERT_FILE, cached because reading them costs more than a connection."""
        if self.trusted is None:
            self.trusted = ssl.create_default_context()
        return self.trusted

    def close(self) -> None:
        """Close the idle connections."""
        while self.idle:
            self.idle.pop()[1].close()
