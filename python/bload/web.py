"""Objects of an HTTP server, by requests for ranges; needs only the standard library."""
from __future__ import annotations

import functools
import http.client
import re
import socket
import ssl
import urllib.request
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple
from urllib.parse import quote, urljoin, urlsplit

from .errors import Error, MissingError

REDIRECTS = 5
RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
# Statuses after which the same request may succeed.
PASSING = 408, 425, 429, 500, 502, 503, 504
# OpenSSL's codes where no authority that is trusted stands behind a certificate.
UNKNOWN_AUTHORITY = 18, 19, 20, 21


class Passing(Exception):
    """A request failed in a way that may pass. after: seconds that the server asks to wait."""

    def __init__(self, fault: str, after: float = 0):
        super().__init__(fault)
        self.after = after


class Changed(Exception):
    """An object is not as long as it was when the dataset was made."""


class Reply(NamedTuple):
    """What came. tag: names the state of the object, or ""."""
    data: bytes
    tag: str = ""


Connection = http.client.HTTPConnection


class WebObjects:
    """Objects below a URL. get can be called by any number of threads; connections are kept open, one for each request at a time.

    timeout: seconds without a byte after which a connection counts as stalled. headers: sent with each request.
    """

    def __init__(self, url: str, timeout: float, headers: Optional[Dict[str, str]] = None):
        self.url, self.timeout = url, timeout
        self.headers = {"User-Agent": "bload", **(headers or {})}
        self.trusted: Optional[ssl.SSLContext] = None
        self.idle: List[Tuple[Tuple[str, str], Connection]] = []

    def locate(self, name: str) -> str:
        """The URL of an object. What follows a question mark stays where it is."""
        parts = urlsplit(self.url)
        return parts._replace(path=f"{parts.path.rstrip('/')}/{quote(name)}").geturl()

    def get(self, name: str, begin: int, end: Optional[int], size: Optional[int]) -> Reply:
        """Bytes begin to end of an object that should have size bytes; without end all of it.

        Passing: another try may help. Changed: it has another size. MissingError, Error: it cannot be read.
        """
        url, sent = self.locate(name), dict(self.headers)
        if end is not None:
            sent["Range"] = f"bytes={begin}-{end - 1}"
        for _ in range(REDIRECTS):
            answer, body = self.request(url, sent)
            if answer.status not in (301, 302, 303, 307, 308) or not answer.headers.get("Location"):
                break
            target = urljoin(url, answer.headers["Location"])
            if urlsplit(target).netloc != urlsplit(url).netloc:
                sent = {key: value for key, value in sent.items() if key.lower() not in ("authorization", "cookie")}
            url = target
        self.check_status(answer, name)
        if end is not None and answer.status == 200:
            if size is None or len(body) != size:
                raise Changed(f"it has {len(body)} bytes, {size} were expected") if size is not None else Error("no range", url)
            body = body[begin:end]  # a server that does not know ranges sends all of it
        elif end is not None:
            self.check_range(answer, begin, end, size)
        if end is not None and len(body) != end - begin:
            raise Passing(f"{len(body)} of {end - begin} bytes came")
        return Reply(body, answer.headers.get("ETag", ""))

    def check_status(self, answer: http.client.HTTPResponse, name: str) -> None:
        status, url = answer.status, self.locate(name)
        if status in (200, 206):
            return
        what = f"the server says {status} {answer.reason}".rstrip()
        if status in (404, 410):
            raise MissingError(what, url)
        if status in (401, 403, 407):
            raise Error(f"access denied: {what}: check credentials, and the permission to read", url)
        if status == 416:
            raise Changed("it is shorter than it was")
        if status in PASSING:
            told = answer.headers.get("Retry-After", "")
            raise Passing(what, float(told) if told.isdecimal() else 0)
        raise Error(what, url)

    @staticmethod
    def check_range(answer: http.client.HTTPResponse, begin: int, end: int, size: Optional[int]) -> None:
        match = RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if match is None:
            raise Passing("the answer does not say which range it is")
        if size is not None and match.group(3) not in ("*", str(size)):
            raise Changed(f"it has {match.group(3)} bytes, {size} were expected")
        if (int(match.group(1)), int(match.group(2)) + 1) != (begin, end):
            raise Passing(f"bytes {match.group(1)} to {match.group(2)} came, {begin} to {end - 1} were asked for")

    def request(self, url: str, headers: Dict[str, str]) -> Tuple[http.client.HTTPResponse, bytes]:
        """The answer to one request, whose body was read. Passing: the connection failed."""
        key, connection, path, kept = self.connection(url)
        try:
            try:
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
            except (http.client.RemoteDisconnected, ConnectionError):
                if not kept:
                    raise
                connection.close()  # the server had closed a connection that was kept: it opens again by itself
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
            body = answer.read()  # at once: into the bytes that it gives, without a copy
        except ssl.SSLCertVerificationError as error:
            connection.close()
            unknown = error.verify_code in UNKNOWN_AUTHORITY
            hint = "; if the authority is your own, SSL_CERT_FILE must name the file of its certificate" if unknown else ""
            raise Error(f"its certificate is not trusted: {error.verify_message.rstrip('.')}{hint}", url) from None
        except socket.gaierror as error:
            if error.errno != socket.EAI_NONAME:
                raise Passing(f"the name server fails: {error.strerror}") from None
            raise Error("no host has this name", url) from None
        except TimeoutError:
            connection.close()
            raise Passing(f"the connection stalled: no byte in {self.timeout:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Passing(f"the connection failed: {error or type(error).__name__}") from None
        if answer.will_close:
            connection.close()
        else:
            self.idle.append((key, connection))
        return answer, body

    def connection(self, url: str) -> Tuple[Tuple[str, str], Connection, str, bool]:
        """A connection for a URL, the path to ask for, and whether it was used before; proxies are those that the environment names."""
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
        """Which certificates are trusted: those of the system, or of SSL_CERT_FILE. Reading them for each connection would cost more than it."""
        if self.trusted is None:
            self.trusted = ssl.create_default_context()
        return self.trusted

    def close(self) -> None:
        while self.idle:
            self.idle.pop()[1].close()
