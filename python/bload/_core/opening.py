"""Open a directory or URL as a dataset or as a view, depending on its manifest."""
from __future__ import annotations

import os
from typing import Any, Dict, Iterable, Optional, Union
from urllib.parse import unquote

from .base import OPEN_SHARDS
from .dataset import Dataset
from .far_options import READ_AHEAD, FarOptions, far_options
from .manifest import Manifest
from .mapping import RESIDENT
from .storage import Storage
from .urls import is_url, path_of
from .view import View


def directory(path: Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]) -> str:
    """Return the absolute path, which stays valid if the working directory changes, or the unchanged URL."""
    name = os.fsdecode(path)
    return name if is_url(name) else os.path.abspath(name)


def storage_of(path: str, options: FarOptions) -> Storage:
    """Return the storage for a directory or a URL. What makes connections takes long to import, and is imported for a URL only."""
    if path.startswith("file://"):
        path = unquote(path_of(path))
    if not is_url(path):
        return Storage(path, options, storage_of)
    from .remote import RemoteStorage
    return RemoteStorage(path.rstrip("/"), options, storage_of)


def open(path: Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"], verify: bool = False, *,
         fields: Union[str, Iterable[str], None] = None, ids: bool = True, segment_ids: bool = False, position_ids: bool = False,
         mask: bool = False, decode: bool = True, writable: bool = False, pad: bool = True, open_shards: int = OPEN_SHARDS,
         resident: int = RESIDENT, cache: Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]", None] = None,
         cache_size: Optional[int] = None, read_ahead: int = READ_AHEAD, connections: int = 8, timeout: float = 30.0, retries: int = 7,
         storage_options: Optional[Dict[str, Any]] = None) -> Union[Dataset, View]:
    """Open a dataset or a view for reading.

        with bload.open("dataset", fields="frames", mask=True) as dataset:
            block = dataset[0]                     # frames U8 [T, H, W, 3], mask BOOL [T], cu_seqlens I32 [S + 1], ...

    T, lengths and starts count steps: frames, samples or tokens. Opening reads only manifests and headers; everything else is read on
    first use. Several threads may read at the same time. An open dataset can be forked and pickled; unpickling opens it again.

    Parameters
    ----------
    path : path-like or str
        The directory that bload pack or bload view wrote, or its URL: s3://, gs://, https://, or another scheme that fsspec knows.
    verify : bool
        Compare every byte with its checksum when it is first read. Needs the package xxhash. See also BaseDataset.verify.
    fields : str or iterable of str, optional
        The names of the fields that blocks contain; all by default. Blocks always contain the tables and the attributes.
    ids : bool
        Add "ids" to blocks, a list of S strings: the id of the sequence in each slot, "" in an unused slot.
    segment_ids : bool
        Add "segment_ids" to blocks, I32 [T]: k + 1 in the steps of sequence k, 0 elsewhere.
    position_ids : bool
        Add "position_ids" to blocks, I32 [T]: steps from the start of each sequence, 0 elsewhere.
    mask : bool
        Add "mask" to blocks, BOOL [T]: true in the steps of sequences.
    decode : bool
        Decode pictures that were packed with --encode. If false, blocks contain them as they are stored: see Blocks.
    writable : bool
        Make the fields of blocks writable; the files never change. If false, the fields of an uncompressed dataset are read-only, and
        large ones are views of the mapped files. The fields of a view's blocks are always writable.
    pad : bool
        Pad the fields that have steps of their own to their capacity: [capacity, ...]. If false, blocks contain the n steps that are there,
        [n, ...], and NAME_offsets, I32 [2], which is [0, n]; bload.torch.collate joins such blocks.
    open_shards : int
        The most shards to keep open at a time.
    resident : int
        The most bytes of open shards that stay mapped and count as memory of this process. Views and epochs are read faster if it
        exceeds the size of the shards.
    cache : path-like or str, optional
        A local directory that keeps what was fetched; several processes may share it. By default nothing is kept on disk. This option and
        those below are for remote datasets (docs/remote.md), each byte of which is compared with its checksum when it is fetched, and
        when it is first read from the cache.
    cache_size : int, optional
        The most bytes of the cache. The least recently used pieces are removed first. By default there is no limit.
    read_ahead : int
        The most bytes that a process prefetches, in the order of a BlockSampler; 0 turns prefetching off.
    connections : int
        The most concurrent requests of each process.
    timeout : float
        Seconds without a byte after which a connection counts as stalled and is tried again.
    retries : int
        How often a request is tried again, with growing pauses; 7 tries take about half a minute.
    storage_options : dict, optional
        Options for fsspec's file system, such as {"anon": True}; for https:// the "headers" of requests. They apply to the host of the path
        only. Options for the sources of a view on other hosts are given by host: {"https://example.org": {"headers": {...}}}.

    Returns
    -------
    Dataset or View
        Both are a BaseDataset. The caller closes it, or uses it in a with statement.

    Raises
    ------
    MissingError
        There is no dataset, or one of its files or sources is missing. Also a FileNotFoundError.
    DamagedError
        A file is truncated, altered, or inconsistent with the manifest.
    FormatError
        This version does not support the format.
    OptionError
        The dataset does not support an option. Also a ValueError.
    DependencyError
        A package is not installed. Also an ImportError.
    TypeError
        An option has the wrong type. All other exceptions are a bload.Error.
    """
    where = directory(path)
    far = far_options(cache, cache_size, read_ahead, connections, timeout, retries, storage_options)
    info = Manifest(storage_of(where, far))
    opened = View if info.is_view else Dataset
    return opened(where, info, verify, fields=fields, ids=ids, segment_ids=segment_ids, position_ids=position_ids, mask=mask,
                  decode=decode, writable=writable, pad=pad, reopen=open, open_shards=open_shards, resident=resident)
