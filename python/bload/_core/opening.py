"""Opens a directory as what it is: a dataset or a view."""
from __future__ import annotations

import os
from typing import Any, Dict, Iterable, Optional, Union

from .base import OPEN_SHARDS
from .dataset import Dataset
from .manifest import Manifest
from .mapping import RESIDENT
from .remote import storage_of
from .storage import is_url
from .transfer import READ_AHEAD, far_options
from .view import View


def directory(path: Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]) -> str:
    """The absolute path, which stays valid if the working directory changes, or the URL."""
    name = os.fsdecode(path)
    return name if is_url(name) else os.path.abspath(name)


def open(path: Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"], verify: bool = False, *,
         fields: Union[str, Iterable[str], None] = None, ids: bool = True, segment_ids: bool = False, position_ids: bool = False,
         mask: bool = False, decode: bool = True, writable: bool = False, open_shards: int = OPEN_SHARDS,
         resident: int = RESIDENT, cache: Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]", None] = None,
         cache_size: Optional[int] = None, read_ahead: int = READ_AHEAD, connections: int = 8, timeout: float = 30.0, retries: int = 7,
         storage_options: Optional[Dict[str, Any]] = None) -> Union[Dataset, View]:
    """Opens a dataset or a view: gives a Dataset or a View, which are both a BaseDataset.

        with bload.open("dataset", fields="frames", mask=True) as dataset:
            block = dataset[0]                     # frames U8 [T, H, W, 3], mask BOOL [T], cu_seqlens I32 [S + 1], ...

    path          the directory that bload pack or bload view wrote, or its URL: s3://, gs://, https://, or another that fsspec knows
    verify        compare every byte with its checksum when it is first read (needs the package xxhash). See also BaseDataset.verify
    fields        names of the fields that blocks have, or one name; by default all. Blocks always have the tables and attributes
    ids           blocks have "ids", a list of S strings: the id of the sequence in each place, "" where there is none
    segment_ids   blocks have "segment_ids", I32 [T]: k + 1 in the steps of sequence k, 0 elsewhere
    position_ids  blocks have "position_ids", I32 [T]: steps from the start of each sequence, 0 elsewhere
    mask          blocks have "mask", BOOL [T]: true in the steps of sequences
    decode        decode pictures packed with --encode. If false, they come as stored: see Blocks
    writable      the fields of blocks can be written to; the files never change. If false, the fields of a plain dataset are read-only,
                  and large ones are views of the mapped files. Those of a view can always be written to
    open_shards   the most shards to keep open at a time
    resident      the most bytes of open shards that stay mapped, and count as memory of this process. With more than the size of the
                  shards, views and epochs are read faster

    Of what lies far away (docs/remote.md), each byte is compared with its checksum when it is fetched, and when it is first read from the cache:

    cache         a directory on this machine for what was fetched, which processes share. By default nothing is kept on the disk
    cache_size    the most bytes of it; what was not used for longest goes first. By default there is no limit
    read_ahead    the most bytes that a process fetches in advance, in the order of a BlockSampler; 0: nothing
    connections   the most requests at a time, of each process
    timeout       seconds without a byte after which a connection counts as stalled, and is tried again
    retries       how often a request is tried again, with growing pauses; 7 take about half a minute
    storage_options   a dict for fsspec's file system, such as {"anon": True}; of https:// the "headers" of requests. It is for the host of the path
                  alone. A view's sources on other hosts have theirs by host: {"https://example.org": {"headers": {...}}}

    T, lengths and starts count steps: frames, samples or tokens. Opening reads only manifests and headers; everything else is read when
    it is used. Any number of threads can read. What was opened can be forked and pickled; the receiver of a pickled one opens it again.

    MissingError (a FileNotFoundError): there is no dataset, or one of its files or sources is missing. DamagedError, FormatError: it
    cannot be read. OptionError (a ValueError): the dataset does not support an option. DependencyError (an ImportError): a package is
    missing. TypeError: an option of the wrong type. All but TypeError are bload.Error; BaseDataset says which of them reading raises.
    """
    where = directory(path)
    far = far_options(cache, cache_size, read_ahead, connections, timeout, retries, storage_options)
    info = Manifest(storage_of(where, far))
    opened = View if info.is_view else Dataset
    return opened(where, info, verify, fields=fields, ids=ids, segment_ids=segment_ids, position_ids=position_ids, mask=mask,
                  decode=decode, writable=writable, open_shards=open_shards, resident=resident)
