"""A packed dataset, open for reading."""
from __future__ import annotations

import functools
import os
from typing import Any, Dict, Iterable, List, Optional, SupportsIndex, Tuple, Union

import numpy as np

from . import arguments, checksum
from .blocks import Block, Blocks
from .encoding import DELTA, RAW, decode_jpeg, join, undelta
from .epochs import Epoch, epochs_of
from .errors import DamagedError, DependencyError, MissingError, OptionError, SequenceError
from .index import FILE as INDEX
from .index import Index
from .manifest import TABLES, Field, Manifest
from .mapping import MappedFile
from .safetensors import DTYPES
from .sequences import FILE as SEQUENCES
from .sequences import Sequences
from .shard import Shard
from .shards import FILE as SHARDS
from .shards import read_checksums
from .stored import BlockOptions
from .tables import CHECKED, agree, planned

OPEN_SHARDS = 64


def directory(path: Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]) -> str:
    """The absolute path, which stays valid if the working directory changes. MissingError: a URL."""
    name = os.fsdecode(path)
    if "://" in name and not os.path.exists(name):
        raise MissingError("this is a URL, but datasets are read from directories: copy or mount it", name)
    return os.path.abspath(name)


class Dataset(Blocks):
    """A packed dataset and its stored blocks. bload.open is this class.

        with bload.open("dataset", fields="frames", mask=True) as dataset:
            block = dataset[0]                     # frames U8 [T, H, W, 3], mask BOOL [T], cu_seqlens I32 [S + 1], ...

    path          the directory that bload pack wrote
    verify        compare every byte with its checksum when it is first read (needs the package xxhash)
    fields        names of the fields that blocks have, or one name; by default all. Blocks always have the tables and attributes
    ids           blocks have "ids", a list of S strings: the id of the sequence in each place, "" where there is none
    segment_ids   blocks have "segment_ids", I32 [T]: k + 1 in the steps of sequence k, 0 elsewhere
    position_ids  blocks have "position_ids", I32 [T]: steps from the start of each sequence, 0 elsewhere
    mask          blocks have "mask", BOOL [T]: true in the steps of sequences
    decode        decode pictures packed with --encode. If false, they come as stored: see Blocks
    writable      the fields of blocks can be written to; the files never change. If false, the fields of a plain dataset are read-only,
                  and large ones are views of the mapped files
    open_shards   the most shards to keep open at a time

    len(dataset) is the number of blocks; dataset[i], dataset[-1], dataset[2:5] (a list) and iteration give them. Blocks describes a block.
    dataset.sequence(id) gives one sequence, whole. dataset.sequences is the table of all. dataset.epoch(n) gives the blocks of an epoch.

    T, lengths and starts count steps: frames, samples or tokens. Opening a dataset reads only the manifest and the header of the index;
    everything else is read when it is used. Any number of threads can read. A dataset can be forked and pickled; the receiver of a
    pickled one opens it again.

    MissingError (a FileNotFoundError): there is no dataset, or one of its files is missing. DamagedError, FormatError: it cannot be
    read. OptionError (a ValueError): the dataset does not support an option. DependencyError (an ImportError): a package is missing.
    TypeError: an option of the wrong type. All but TypeError are bload.Error.
    """

    def __init__(self, path: Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"], verify: bool = False, *,
                 fields: Union[str, Iterable[str], None] = None, ids: bool = True, segment_ids: bool = False, position_ids: bool = False,
                 mask: bool = False, decode: bool = True, writable: bool = False, open_shards: int = OPEN_SHARDS):
        self.path = directory(path)
        self.verify = arguments.flag("verify", verify)
        self.writable = arguments.flag("writable", writable)
        self.open_shards = arguments.at_least("open_shards", open_shards, 1)
        self.closed = False
        self.info = Manifest(self.path)
        flags = (arguments.flag(name, value) for name, value in (
            ("ids", ids), ("segment_ids", segment_ids), ("position_ids", position_ids), ("mask", mask), ("decode", decode)))
        self.options = BlockOptions(self.names(fields), *flags)
        self.check_names()
        if verify:
            checksum.xxh3(b"")  # raises an error if the package is missing
        self.check_file(INDEX)
        self.index = Index(self.path, self.info)
        if verify and self.index.digest() != self.info.plan_digest:
            raise DamagedError("its plan digest differs from the manifest", self.index.path)
        self.known: Optional[Sequences] = None
        self.table_types = {name: DTYPES[dtype] for name, dtype, _ in self.info.tables()}
        self.table_names = list(self.table_types)
        self.agreed = np.zeros(self.info.blocks, np.bool_)
        if verify:
            self.shard_checksums = read_checksums(self.check_file(SHARDS), self.info)
            self.sound_shards = np.zeros(self.info.shards, np.bool_)
            self.sound_blocks = np.zeros((self.info.blocks, len(self.info.fields)), np.bool_)
        # This cache is bounded and thread-safe, and has no lock that a forked worker could inherit while it is held.
        opened = functools.partial(Shard, self.path, self.info, min(self.open_shards, self.info.shards))
        self.shard = functools.lru_cache(self.open_shards)(opened)

    def __reduce__(self) -> Tuple[Any, ...]:
        options: Dict[str, Any] = dict(self.options._asdict(), writable=self.writable, open_shards=self.open_shards)
        return functools.partial(Dataset, self.path, self.verify, **options), ()

    def __repr__(self) -> str:
        fields = ", ".join(f"{field.name} {field.stored} {list(field.shape)}" for field in self.fields.values())
        return f"<bload.Dataset {self.path}: {len(self)} blocks, T = {self.T}, S = {self.S}; {fields}>"

    def __enter__(self) -> "Dataset":
        self.check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the shards. Arrays stay valid; reading after this raises ValueError."""
        self.closed = True
        self.known = None
        self.shard.cache_clear()

    def check_open(self) -> None:
        """ValueError: the dataset was closed."""
        if self.closed:
            raise ValueError(f"{self.path}: the dataset was closed")

    def names(self, fields: Union[str, Iterable[str], None]) -> Tuple[str, ...]:
        """The names of the requested fields. OptionError: no such field."""
        if fields is None:
            return tuple(self.info.fields)
        names = arguments.names("fields", fields)
        for name in names:
            if name not in self.info.fields:
                always = " (attributes and tables are in every block)" if name in self.info.attributes or name in TABLES else ""
                raise OptionError(f"no field \"{name}\": {', '.join(self.info.fields)}{always}", self.path)
        return names

    def check_names(self) -> None:
        """OptionError: a requested array has the name of a field or an attribute."""
        for name in "ids", "segment_ids", "position_ids", "mask":
            if getattr(self.options, name) and (name in self.options.fields or name in self.info.attributes):
                raise OptionError(f"it has a field \"{name}\": leave it out of fields=, or use {name}=False", self.path)

    def check_file(self, name: str) -> str:
        """The path of a file that the manifest lists, after checking its size and, with verify, its checksum.

        MissingError: it does not exist. DamagedError: the manifest does not list it, or it differs from the manifest.
        """
        path = os.path.join(self.path, *name.split("/"))
        entry = self.info.files.get(name)
        if entry is None:
            raise DamagedError(f"it does not list {name}", self.info.path)
        try:
            size = os.stat(path).st_size
        except OSError as error:
            raise MissingError(f"cannot be found: {error.strerror}", path) from None
        if size != entry.bytes:
            raise DamagedError(f"it has {size} bytes, the manifest says {entry.bytes}", path)
        if self.verify and checksum.digest(checksum.xxh3(MappedFile(path).memory)) != entry.checksum:
            raise DamagedError("its checksum differs from the manifest", path)
        return path

    @property
    def dataset(self) -> "Dataset":  # type: ignore[override]
        return self

    @property
    def manifest(self) -> Dict[str, Any]:
        """The content of manifest.json."""
        return self.info.json

    @property
    def T(self) -> int:
        """Steps in a block."""
        return self.info.T

    @property
    def S(self) -> int:
        """Places for sequences in a block's tables."""
        return self.info.S

    @property
    def fields(self) -> Dict[str, Field]:
        """The fields by name; each has kind, dtype, stored, shape (of one step) and encoding. See Field."""
        return self.info.fields

    @property
    def world_size(self) -> int:
        """Ranks that the dataset was packed for: len() is a multiple of world_size * batch_size."""
        return self.info.world_size

    @property
    def batch_size(self) -> int:
        """Blocks per rank and step that the dataset was packed for."""
        return self.info.batch_size

    @property
    def sequences(self) -> Sequences:
        """The table of sequences: ids, lengths, which were skipped and why, and the other columns. See Sequences."""
        self.check_open()
        if self.known is None:
            self.known = Sequences(self.check_file(SEQUENCES), self.info.attributes)
        return self.known

    @property
    def epochs(self) -> Tuple[int, ...]:
        """The epochs that exist without a window: 0, the stored blocks, and those that have plans."""
        return epochs_of(self.info.files)

    def epoch(self, number: SupportsIndex, window: Optional[int] = None, seed: int = 0) -> Blocks:
        """The blocks of an epoch: other combinations of the stored sequences, as many blocks and of the same shapes.

        number: 0 is the dataset itself. Other numbers are those of self.epochs or, with a window, any positive number.
        window: compose each block from the sequences of this many consecutive stored blocks. Without it, the plan made by
        `bload plan --dataset` applies.
        seed: determines the epochs of windows; only with a window.

        EpochError: no such epoch. OptionError: a seed without a window.
        """
        number = arguments.integer("the number of an epoch must be an int", number)
        if seed != 0 and window is None:
            raise OptionError("seed needs a window: plans have their own seed", self.path)
        return self if number == 0 else Epoch(self, number, window, seed)

    # --- reading --------------------------------------------------------------------------------------------------

    def block(self, i: int) -> Block:
        tables = self.tables(i)
        block: Block = {self.key(name): self.steps(i, name, 0, self.T, self.writable) for name in self.options.fields}
        block.update(tables)
        return self.complete(block)

    def tables(self, i: int) -> Dict[str, np.ndarray]:
        """The tables of block i. DamagedError: they differ from the index."""
        self.check_open()
        number, row = divmod(i, self.info.blocks_per_shard)
        shard = self.shard(number)
        if not self.agreed[i]:
            self.check_tables(shard, number, row)
        return shard.row(self.table_names, row)

    def check_tables(self, shard: Shard, number: int, row: int) -> None:
        """Compares the tables of a block and its neighbours with the index. If they differ, checks the block alone."""
        if self.verify and not self.sound_shards[number]:
            self.check_shard(shard, number)
        some = max(1, CHECKED // self.S)
        begin = row - row % some
        try:
            self.check_rows(shard, number, begin, min(begin + some, shard.blocks))
        except DamagedError:
            self.check_rows(shard, number, row, row + 1)

    def check_rows(self, shard: Shard, number: int, begin: int, end: int) -> None:
        """Compares the tables of rows begin to end of a shard with the index. DamagedError: they differ."""
        stored = {name: shard.whole(name)[begin:end] for name in self.table_names}
        first = number * self.info.blocks_per_shard
        if not agree(stored, planned(self.index, first + begin, first + end)):
            raise DamagedError(f"the tables of block {first + begin} differ from {INDEX}", shard.path)
        self.agreed[first + begin:first + end] = True

    def key(self, name: str) -> str:
        """The name that a field has in a block."""
        return name if self.options.decode else self.fields[name].tensor

    def steps(self, i: int, name: str, first: int, end: int, own: bool = False) -> Any:
        """Steps first to end of a field of block i: [end - first, ...], or a list of JPEG files. own: writable.

        DamagedError: a wrong checksum, or a picture that cannot be decoded.
        """
        number, row = divmod(i, self.info.blocks_per_shard)
        shard, field = self.shard(number), self.fields[name]
        own = own and field.encoding == RAW
        if self.verify and ((first, end) == (0, self.T) or not self.sound_blocks[i, list(self.fields).index(name)]):
            whole = shard.stored(field, row, 0, self.T, own)
            self.check_block(shard, i, name, whole)
            stored = whole[first:end]
        else:
            stored = shard.stored(field, row, first, end, own)
        if field.encoding == RAW or not self.options.decode:
            return stored
        if field.encoding == DELTA:
            return undelta(stored)
        try:
            return decode_jpeg(stored, field.shape)
        except ValueError as error:
            raise DamagedError(f"block {i} of {name}: {error}", shard.path) from None
        except DependencyError as error:
            raise DependencyError(error.fault, shard.path) from None

    def fill(self, i: int, name: str, first: int, out: Any, start: int, end: int) -> None:
        """Copies end - start steps of a field of block i, from first on, to steps start to end of out: [T, ...] or a list."""
        field = self.fields[name]
        if field.encoding == RAW and not self.verify:
            number, row = divmod(i, self.info.blocks_per_shard)
            self.shard(number).fill(field, row, first, out[start:end])
        else:
            out[start:end] = self.steps(i, name, first, first + end - start)

    def check_shard(self, shard: Shard, number: int) -> None:
        """Verifies a shard's header and tables, and all of a compressed shard. DamagedError: wrong checksum."""
        first = number * self.info.blocks_per_shard
        if shard.digest(self.index.block_checksum[first:first + shard.blocks]) != self.shard_checksums[number]:
            raise DamagedError("wrong checksum: the file is damaged", shard.path)
        self.sound_shards[number] = True

    def check_block(self, shard: Shard, i: int, field: str, data: Any) -> None:
        """Verifies the stored bytes of a field of block i. DamagedError: wrong checksum."""
        number = list(self.fields).index(field)
        if checksum.xxh3(data) != int(self.index.block_checksum[i, number]) % (1 << 64):
            raise DamagedError(f"block {i} of {field}: wrong checksum", shard.path)
        self.sound_blocks[i, number] = True

    # --- sequences ------------------------------------------------------------------------------------------------

    def sequence(self, which: Union[str, SupportsIndex], partial: bool = False) -> Dict[str, Any]:
        """The fields of one sequence, given by its id or its row: a dict of arrays [length, ...], joined from its pieces.

        partial: if only parts of the sequence are stored, return these, in order, instead of raising SequenceError.

        SequenceError (a KeyError): no such id; the sequence was skipped or failed; or, without partial, it is not stored completely.
        IndexError: no such row. TypeError: neither an id nor a row.
        """
        row = self.sequences.find(which) if isinstance(which, str) else arguments.integer("a sequence must be given by id or row", which)
        told = self.sequences[row]
        row %= len(self.sequences)
        pieces = self.index.pieces_of(row)
        self.check_stored(told, pieces, partial)
        parts: Dict[str, List[Any]] = {name: [] for name in self.options.fields}
        for piece, block in zip(pieces.tolist(), self.index.blocks_of(pieces).tolist()):
            self.tables(block)
            start, length = int(self.index.start[piece]), int(self.index.length[piece])
            for name, found in parts.items():
                found.append(self.steps(block, name, start, start + length))
        return {self.key(name): join(found) for name, found in parts.items()}

    def check_stored(self, told: Dict[str, str], pieces: np.ndarray, partial: bool) -> None:
        """SequenceError: the sequence is not stored or, without partial, not completely."""
        name, status, reason = told["id"], told.get("status", "ok"), told.get("reason", "")
        if status != "ok":
            raise SequenceError(f"{name} is not stored: {status}{', ' if reason else ''}{reason}", self.path)
        if len(pieces) == 0:
            raise SequenceError(f"{name} is not stored: no block has it", self.path)
        first, length = self.index.source_start[pieces], self.index.length[pieces].astype(np.int64)
        whole = first[0] == 0 and (first[1:] == (first + length)[:-1]).all() and str((first + length)[-1]) == told["length"]
        if not whole and not partial:
            raise SequenceError(f"only {int(length.sum())} of the {told['length']} steps of {name} are stored: "
                                "partial=True gives them", self.path)
