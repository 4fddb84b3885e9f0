"""Blocks read for training by bload's package, numpy and the loaders of others; each measurement in a process of its own.

    read_peers.py content DATASET FOLDER                the blocks of a plain dataset, in the format of each peer that is installed
    read_peers.py read PEER DATASET FOLDER              for 0, 1 and 2 workers, in order and shuffled, a line: PEER, how it was read,
                                                        GB/s, processor seconds per GB, bytes of a block, and a checksum of all

PEER is numpy (the yardstick), bload (its package for torch), bload-numpy, bload-zstd, safetensors, streaming, webdataset, litdata or
datasets. Each of them hands blocks through torch's DataLoader, one at a time, and what comes out is copied into one buffer, as on its
way to a device. numpy gives slices of the mapped shards, so that without workers this copy is all there is.
"""
import importlib.abc
import importlib.machinery
import json
import os
import resource
import shutil
import sys
import time
import types
import zlib
from pathlib import Path

import numpy as np
from torch.utils.data import DataLoader, Dataset

FIELD = "frames"
DTYPES = {"U8": np.uint8, "I32": np.int32, "I64": np.int64}


class Stub(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules of clouds and models that peers import, and do not need to read a file: empty ones, where they are not installed."""

    names = ("transformers", "torchvision", "boto3", "botocore", "obstore", "tifffile")

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in self.names else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = self.attribute
        return module

    def exec_module(self, module):
        pass

    @staticmethod
    def attribute(name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def stubs():
    if not any(isinstance(finder, Stub) for finder in sys.meta_path):
        sys.meta_path.append(Stub())


class Mapped(Dataset):
    """The yardstick: item i is one field of block i, a slice of the mapped shard."""

    def __init__(self, dataset):
        self.blocks = [block for path in shards(dataset) for block in tables(path)[FIELD]]

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, i):
        return self.blocks[i]


class Safetensors(Dataset):
    """The same shards by their released reader, as numpy arrays."""

    def __init__(self, dataset):
        from safetensors import safe_open
        self.open = safe_open
        self.shards = {}
        self.places = [(path, i) for path in shards(dataset) for i in range(len(tables(path)[FIELD]))]

    def __len__(self):
        return len(self.places)

    def __getitem__(self, i):
        path, at = self.places[i]
        if path not in self.shards:
            self.shards[path] = self.open(path, "numpy")
        return self.shards[path].get_slice(FIELD)[at]


def shards(dataset):
    return sorted(Path(dataset).glob("shards/*/*.safetensors"))


def shard_size(dataset):
    """Bytes of the first shard; those of peers are as large."""
    return os.path.getsize(shards(dataset)[0])


def tables(path):
    """The tensors of a shard by name, mapped."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    data = np.memmap(path, np.uint8, "r", 8 + size)
    return {name: data[slice(*entry["data_offsets"])].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


def blocks(dataset):
    """Each block as a dict of arrays, its tables included."""
    for path in shards(dataset):
        found = tables(path)
        for i in range(len(found[FIELD])):
            yield {name: np.ascontiguousarray(table[i]) for name, table in found.items()}


def loader(dataset, workers, shuffled=False, **options):
    return DataLoader(dataset, batch_size=None, num_workers=workers, shuffle=shuffled or None, **options)


def write_streaming(dataset, folder):
    stubs()
    from streaming import MDSWriter
    first = next(blocks(dataset))
    kinds = {name: f"ndarray:{array.dtype}:" + ",".join(map(str, array.shape)) if array.ndim else str(array.dtype)
             for name, array in first.items()}
    with MDSWriter(out=str(folder), columns=kinds, size_limit=shard_size(dataset), progress_bar=False) as out:
        for block in blocks(dataset):
            out.write({name: array if array.ndim else array[()] for name, array in block.items()})


def open_streaming(folder, workers, shuffled):
    stubs()
    import streaming
    streaming.base.util.clean_stale_shared_memory()
    found = streaming.StreamingDataset(local=str(folder), shuffle=shuffled, batch_size=1)
    return (block[FIELD] for block in loader(found, workers))


def write_webdataset(dataset, folder):
    import webdataset
    with webdataset.ShardWriter(str(folder / "%05d.tar"), maxsize=shard_size(dataset), verbose=False) as out:
        for i, block in enumerate(blocks(dataset)):
            out.write({"__key__": f"{i:08d}", **{f"{name}.npy": array for name, array in block.items()}})


def open_webdataset(folder, workers, shuffled):
    import webdataset
    urls = sorted(map(str, folder.glob("*.tar")))
    found = webdataset.WebDataset(urls, shardshuffle=len(urls) if shuffled else False)
    if shuffled:
        found = found.shuffle(16)
    return (block[f"{FIELD}.npy"] for block in loader(found.decode(), workers))


def write_litdata(dataset, folder):
    stubs()
    from litdata.streaming import Cache
    cache = Cache(str(folder), chunk_bytes=shard_size(dataset))
    for i, block in enumerate(blocks(dataset)):
        cache[i] = block
    cache.done()
    cache.merge()


def open_litdata(folder, workers, shuffled):
    stubs()
    from litdata import StreamingDataLoader, StreamingDataset
    found = StreamingDataset(str(folder), shuffle=shuffled)
    return (block[FIELD][0] for block in StreamingDataLoader(found, batch_size=1, num_workers=workers))


def write_datasets(dataset, folder):
    import datasets
    kinds = {}
    for name, array in next(blocks(dataset)).items():
        value = datasets.Value(str(array.dtype))
        kinds[name] = [value, datasets.List(value), datasets.Array2D(array.shape, str(array.dtype)), None,
                       datasets.Array4D(array.shape, str(array.dtype))][array.ndim]
    made = datasets.Dataset.from_generator(blocks, gen_kwargs={"dataset": dataset}, features=datasets.Features(kinds),
                                           cache_dir=str(folder) + ".cache", writer_batch_size=4)
    made.save_to_disk(folder, max_shard_size=shard_size(dataset))
    shutil.rmtree(str(folder) + ".cache")


def open_datasets(folder, workers, shuffled):
    import datasets
    found = datasets.load_from_disk(str(folder)).with_format("numpy", dtype=np.uint8)
    return (block[FIELD] for block in loader(found, workers, shuffled))


def open_bload_numpy(dataset, workers, shuffled):
    import bload
    return (block[FIELD] for block in loader(bload.open(dataset, ids=False), workers, shuffled))


def open_bload(dataset, workers, shuffled):
    import bload.torch
    found = bload.torch.BlockDataset(dataset)
    return (block[FIELD] for block in loader(found, workers, shuffled))


WRITERS = {"streaming": write_streaming, "webdataset": write_webdataset, "litdata": write_litdata, "datasets": write_datasets}


def content(dataset, folder):
    for name, write in WRITERS.items():
        place = Path(folder) / name
        if place.exists():
            continue
        part = Path(folder) / f"{name}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        try:
            write(dataset, part)
            part.rename(place)
        except Exception as error:  # not installed, or not for this Python, torch or numpy
            shutil.rmtree(part)
            print(f"{name} is left out: {error}", file=sys.stderr)


OPENERS = {"bload": open_bload, "bload-zstd": open_bload, "bload-numpy": open_bload_numpy, "streaming": open_streaming,
           "webdataset": open_webdataset, "litdata": open_litdata, "datasets": open_datasets,
           "numpy": lambda dataset, workers, shuffled: loader(Mapped(dataset), workers, shuffled),
           "safetensors": lambda dataset, workers, shuffled: loader(Safetensors(dataset), workers, shuffled)}


def warm(folder):
    """Brings a folder's files into the page cache."""
    buffer = bytearray(1 << 24)
    for path in Path(folder).rglob("*"):
        if path.is_file():
            with open(path, "rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass


def processor():
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usage)


def consume(blocks, buffer):
    """Bytes per second from the first block that was copied to the last one, so that what is paid once for workers is left out;
    processor seconds for each byte, workers included; and a checksum of all blocks, in whatever order they came.
    """
    marks = []
    used = processor()
    for block in blocks:
        np.copyto(buffer, np.asarray(block))
        if not marks:
            begin = time.perf_counter()
        marks.append(zlib.crc32(np.ascontiguousarray(buffer.reshape(-1)[::509])))
    seconds = time.perf_counter() - begin
    del blocks
    used = processor() - used
    return (len(marks) - 1) * buffer.nbytes / seconds, used / len(marks) / buffer.nbytes, zlib.crc32(repr(sorted(marks)).encode())


def read(peer, dataset, folder):
    own = Path(folder) / peer
    folder = own if own.exists() else Path(dataset)
    warm(folder)
    buffer = np.ones_like(tables(shards(dataset)[0])[FIELD][0])
    for shuffled in False, True:
        for workers in 0, 1, 2:
            rate, used, checksum = consume(OPENERS[peer](folder, workers, shuffled), buffer)
            how = ("shuffled" if shuffled else "sequential") + str(workers)
            print(f"{peer} {how} {rate / 1e9:.6g} {1e9 * used:.6g} {buffer.nbytes} {checksum:08x}", flush=True)


if __name__ == "__main__":
    {"content": content, "read": read}[sys.argv[1]](*sys.argv[2:])
