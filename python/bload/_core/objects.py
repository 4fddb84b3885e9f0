"""Read objects of any file system that fsspec knows: S3, Google's and Azure's stores, and many more."""
from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
import time
from typing import Any, Dict, Optional, Tuple

from .errors import DependencyError, Error, MissingError, OptionError
from .web import QUOTED, ObjectChanged, Reply, TemporaryFailure, Wanted, WebObjects

try:
    import fsspec
    import fsspec.asyn
except ImportError:
    fsspec = None

# Names of exceptions that persist after another try. Their packages may not be installed, so the classes cannot be imported.
LASTING = {"NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "DefaultCredentialsError", "InvalidRegionError"}
SLOWEST = 50 << 10  # bytes per second; a slower request counts as stalled
SIGNED_FOR = 3600   # the seconds that a signed URL is valid


@functools.lru_cache(1)
def descriptions(data_path: Optional[str]) -> Any:
    """Return botocore's descriptions of its services, cached, because reading their files takes longer than many requests."""
    from botocore.loaders import create_loader
    return create_loader(data_path)


def s3_session(url: str, options: Dict[str, Any]) -> Dict[str, Any]:
    """Return for S3 an option with a session that uses the cached descriptions, also after a fork; otherwise nothing."""
    if url.partition("://")[0] not in ("s3", "s3a"):
        return {}
    try:
        import aiobotocore.session
        import s3fs
    except ImportError:  # fsspec reports it
        return {}
    # Other options are for the session, or mistakes. A session that is made without them would hide both.
    if "session" in options or not options.keys() <= inspect.signature(s3fs.S3FileSystem.__init__).parameters.keys():
        return {}
    session = aiobotocore.session.AioSession()
    session.register_component("data_loader", descriptions(session.get_config_variable("data_path")))
    return {"session": session}


class SignedObjects:
    """Read objects of S3 by plain requests for URLs that s3fs has signed: its own requests take three times the processor time."""

    def __init__(self, system: Any, timeout: float):
        self.system, self.web = system, WebObjects("", timeout)
        self.signed: Dict[str, Tuple[str, float]] = {}  # the signed URL of each object, and until when it is used
        # Options that add headers rule signed URLs out. One success proves that such requests work.
        self.possible = not (system.req_kw or system.s3_additional_kwargs or system.version_aware)
        self.proven = False

    def get(self, path: str, begin: int, end: Optional[int], size: Optional[int]) -> Optional[Reply]:
        """Return what WebObjects.get does, or None if the answer is another one; s3fs then reads the object, or reports the error."""
        if not self.possible:
            return None
        try:
            asked = {} if end is None else {"Range": f"bytes={begin}-{end - 1}"}
            answer, body = self.web.request(self.url(path), asked, Wanted(begin, end, size))
            if end is not None and answer.status == 206:
                self.web.check_range(answer, begin, end, size)
            if answer.status == (200 if end is None else 206) and (end is None or len(body) == end - begin):
                self.proven = True
                return Reply(body, answer.headers.get("ETag", "")[:QUOTED])
        except ObjectChanged:
            raise
        except Exception:  # botocore raises classes of its own
            pass
        self.signed.pop(path, None)
        self.possible = self.proven
        return None

    def url(self, path: str) -> str:
        """Return a signed URL, which is used for half of the time that it is valid."""
        url, until = self.signed.get(path, ("", 0.0))
        if time.monotonic() >= until:
            url = self.system.sign(path, expiration=SIGNED_FOR)
            self.signed[path] = url, time.monotonic() + SIGNED_FOR / 2
        return url

    def close(self) -> None:
        self.web.close()


class StoredObjects:
    """Objects below a URL, with the interface of WebObjects. options: of the file system's class."""

    def __init__(self, url: str, timeout: float, options: Optional[Dict[str, Any]] = None):
        if fsspec is None:
            raise DependencyError("reading from object stores needs fsspec: pip install 'bload[remote]'", url)
        self.url, self.timeout = url, timeout
        try:
            # Do not use fsspec's cached file systems, because they must not be used after a fork.
            self.system, self.root = fsspec.core.url_to_fs(url, skip_instance_cache=True, **s3_session(url, options or {}), **(options or {}))
        except ImportError as error:
            raise DependencyError(f"this kind of URL needs a package that is not installed: {error}", url) from None
        except (ValueError, TypeError) as error:
            raise OptionError(f"fsspec cannot open it: {error}", url) from None
        self.direct = SignedObjects(self.system, timeout) if type(self.system).__name__ == "S3FileSystem" else None

    def locate(self, name: str) -> str:
        """Return the URL of an object."""
        return f"{self.url.rstrip('/')}/{name}"

    def get(self, name: str, begin: int, end: Optional[int], size: Optional[int]) -> Reply:
        """Return the bytes of an object; see WebObjects.get."""
        path = f"{self.root.rstrip('/')}/{name}"
        direct = self.direct.get(path, begin, end, size) if self.direct is not None else None
        if direct is not None:
            return direct
        try:
            data = self.cat(path, begin if end is not None else None, end)
        except FileNotFoundError:
            raise MissingError("no such object", self.locate(name)) from None
        except PermissionError as error:
            raise Error(f"access denied: {error}: check credentials, and the permission to read", self.locate(name)) from None
        except (TimeoutError, asyncio.TimeoutError, concurrent.futures.TimeoutError):
            raise TemporaryFailure("the request stalled") from None
        except Exception as error:  # each file system has classes of its own
            if type(error).__name__ in LASTING or isinstance(error, (TypeError, NotImplementedError, ImportError)):
                raise Error(f"cannot be read: {error}", self.locate(name)) from error
            self.check_size(path, size)
            raise TemporaryFailure(f"{type(error).__name__}: {error}") from None
        if end is not None and len(data) != end - begin:
            self.check_size(path, size)
            raise TemporaryFailure(f"{len(data)} of {end - begin} bytes arrived")
        return Reply(data)

    def cat(self, path: str, begin: Optional[int], end: Optional[int]) -> bytes:
        """Return the bytes of an object from the file system, within the timeout if the file system is asynchronous."""
        if not self.system.async_impl:
            return bytes(self.system.cat_file(path, start=begin, end=end))
        limit = self.timeout + (end - (begin or 0) if end else 0) / SLOWEST
        return bytes(fsspec.asyn.sync(self.system.loop, self.system._cat_file, path, start=begin, end=end, timeout=limit))

    def check_size(self, path: str, size: Optional[int]) -> None:
        """Raise ObjectChanged if the object has another size."""
        if size is None:
            return
        try:
            self.system.invalidate_cache()
            found = self.system.info(path).get("size")
        except Exception:  # report the first error, which says more
            return
        if found is not None and found != size:
            raise ObjectChanged(f"it has {found} bytes, {size} were expected")

    def close(self) -> None:
        """Close the connections of signed requests; the file system closes its own."""
        if self.direct is not None:
            self.direct.close()
