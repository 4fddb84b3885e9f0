"""The location of a dataset's files. This module alone opens them: all other code reads a MappedFile."""
from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple

import numpy as np

from .errors import DamagedError, Error, MissingError, OptionError
from .forms import SIZE_MAX
from .mapping import MappedFile, open_regular
from .far_options import FarOptions
from .urls import is_url, origin_of

if TYPE_CHECKING:
    from .manifest import Manifest

MANIFEST = "manifest.json"

# Opens a shard by its number. The second argument is the share of it that may stay mapped; see MappedFile.
Opener = Callable[[int, int], MappedFile]


class FileEntry(NamedTuple):
    """A file that the manifest or shards.tsv lists: its size, and its checksum as 16 hexadecimal digits."""
    bytes: int
    checksum: str


class Storage:
    """The directory of a dataset.

    path: as messages name it. far: reading costs requests, so that it pays to announce early what is needed. unit: the bytes of shards that
    one request fetches where blocks are smaller.

    Raises MissingError if a file does not exist, DamagedError if it differs from the manifest, and Error if it cannot be read.
    """

    far, unit = False, 0
    tries = 1  # how often wrong bytes are read before an error is raised

    def __init__(self, path: str, options: FarOptions, make: Callable[[str, FarOptions], "Storage"]):
        """Set up the storage; `make` returns the storage for another path or URL."""
        self.path, self.options, self.make = path, options, make

    def manifest(self) -> bytes:
        """Return the bytes of the manifest, at most SIZE_MAX + 1 of them."""
        path = self.locate(MANIFEST)
        try:
            with io.BufferedReader(open_regular(path)) as file:
                return file.read(SIZE_MAX + 1)
        except MissingError:
            raise MissingError(reason_missing(self.path), self.path) from None
        except OSError as error:
            raise Error(f"cannot be read: {error}", path) from error

    def locate(self, name: str) -> str:
        """Return the path of a file for messages. name: relative to the dataset, with slashes."""
        return os.path.join(self.path, *name.split("/"))

    def whole(self, name: str, entry: FileEntry) -> MappedFile:
        """Open a file that the manifest lists, after comparing its size; a remote storage also compares its checksum."""
        path = self.locate(name)
        file = MappedFile(path)
        if file.size != entry.bytes:
            raise DamagedError(f"it has {file.size} bytes, the manifest says {entry.bytes}", path)
        return file

    def shards(self, manifest: "Manifest", block_checksum: np.ndarray, fields: List[str]) -> Opener:
        """Return a function that opens the dataset's shards. block_checksum: the checksums of their blocks. fields: the fields that will be read."""
        return lambda number, share: MappedFile(self.locate(manifest.shard_name(number)), share)

    def wait(self, tried: int) -> None:
        """Wait before wrong bytes are read again; nothing to do for a local file."""

    def wrong_bytes_note(self, name: str) -> str:
        """Return what a message adds about a file whose bytes stay wrong."""
        return ""

    def forget(self, name: str) -> None:
        """Drop what is here of a compressed remote shard, because it was wrong: the next use fetches it again."""

    def source(self, path: str) -> str:
        """Return the path of a view's source; the view's manifest has the path relative to the view."""
        return path if "://" in path else os.path.normpath(os.path.join(os.path.realpath(self.path), path))

    def at(self, path: str) -> "Storage":
        """Return the storage of another dataset, given by its path, with the same options.

        Entries of storage_options that name no host apply to the host of this dataset. Raises OptionError if this dataset has no host, because
        then it is unknown to whom the credentials belong.
        """
        access = self.options.access
        if is_url(path) and not (self.far and origin_of(path) == origin_of(self.path)):
            if not self.far and access.of(path) and not access.names(path):
                raise OptionError(f"storage_options name no host, but this view has the source {path}: give them as "
                                  f"{{\"{origin_of(path)}\": {{...}}}}", self.path)
            access = access.elsewhere()
        return self.make(path, self.options._replace(access=access))

    def given(self) -> Dict[str, Any]:
        """Return the options of bload.open that it was made with."""
        return self.options.given()

    def close(self) -> None:
        """Release what it holds."""


def reason_missing(path: str) -> str:
    """Return why a path is not a dataset, and which directory may be meant."""
    if not os.path.exists(path):
        return "no such dataset"
    parent = os.path.dirname(path)
    while parent != os.path.dirname(parent):
        if os.path.exists(os.path.join(parent, MANIFEST)) and os.path.isdir(os.path.join(parent, "shards")):
            return f"part of a dataset: open {parent}"
        parent = os.path.dirname(parent)
    if os.path.isdir(path):
        return f"not a finished dataset: it has no {MANIFEST}"
    return f"this is a file, but a dataset is a directory with a {MANIFEST}"
