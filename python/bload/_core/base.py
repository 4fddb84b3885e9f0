"""What datasets and views have in common: options, properties, sequences and epochs."""
from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Iterable, List, Optional, SupportsIndex, Tuple, TypeVar, Union

import numpy as np

from . import arguments, checksum, notebook, verification
from .blocks import Blocks
from .encoding import join
from .epochs import Epoch, epochs_of
from .errors import DamagedError, OptionError, SequenceError
from .index import Pieces, Plan
from .manifest import TABLES, Field, Manifest
from .mapping import RESIDENT, MappedFile
from .safetensors import DTYPES
from .sequences import Sequences
from .shard import Shard
from .stored import BlockOptions, Places, Store

OPEN_SHARDS = 64

Self = TypeVar("Self", bound="BaseDataset")


class BaseDataset(Blocks):
    """What bload.open gives: a Dataset or a View. bload.open explains the options.

    len(dataset) is the number of blocks; dataset[i], dataset[-1], dataset[2:5] (a list) and iteration give them. Blocks describes a block.
    dataset.sequence(id) gives one sequence, whole. dataset.sequences is the table of all. dataset.epoch(n) gives the blocks of an epoch.

    T, lengths and starts count steps: frames, samples or tokens. Opening reads only manifests and headers; everything else is read when
    it is used. Any number of threads can read. A dataset can be forked and pickled; the receiver of a pickled one opens it again.

    path: the directory. info: its manifest.
    """

    compressed: bool               # some of the shards are compressed
    has_large_frames: bool         # some of the shards are compressed in frames of whole blocks
    shard: Callable[[int], Shard]  # gives shards by number, and keeps the last ones open

    def __init__(self, path: str, info: Manifest, verify: bool, *, fields: Union[str, Iterable[str], None] = None, ids: bool = True,
                 segment_ids: bool = False, position_ids: bool = False, mask: bool = False, decode: bool = True, writable: bool = False,
                 open_shards: int = OPEN_SHARDS, resident: int = RESIDENT):
        self.path, self.info, self.storage = path, info, info.storage
        self.checked = arguments.flag("verify", verify)
        self.writable = arguments.flag("writable", writable)
        self.open_shards = arguments.at_least("open_shards", open_shards, 1)
        self.resident = arguments.at_least("resident", resident, 0)
        self.closed = False
        flags = (arguments.flag(name, value) for name, value in (
            ("ids", ids), ("segment_ids", segment_ids), ("position_ids", position_ids), ("mask", mask), ("decode", decode)))
        self.options = BlockOptions(self.names(fields), *flags)
        self.check_names()
        if verify:
            checksum.xxh3(b"")  # raises an error if the package is missing
        self.known: Optional[Sequences] = None
        self.table_types = {name: DTYPES[dtype] for name, dtype, _ in info.tables()}
        self.table_names = list(self.table_types)

    def __repr__(self) -> str:
        fields = ", ".join(f"{field.name} {field.stored} {list(field.shape)}" for field in self.fields.values())
        return f"<bload.{type(self).__name__} {self.path}: {len(self)} blocks, T = {self.T}, S = {self.S}; {fields}>"

    def _repr_html_(self) -> str:
        facts = f"{len(self):,} blocks, T = {self.T:,}, S = {self.S:,}; world size {self.world_size}, batch size {self.batch_size}"
        if len(self.epochs) > 1:
            facts += f"; epochs 0 to {self.epochs[-1]}"
        fields = ((field.name, field.kind, field.stored, list(field.shape), field.coding) for field in self.fields.values())
        return notebook.page(f"bload.{type(self).__name__}", self.path, facts,
                             notebook.table(("field", "kind", "stored", "shape of a step", "encoding"), fields), *self.more_html())

    def more_html(self) -> List[str]:
        """Further tables of what a notebook shows."""
        return []

    def __reduce__(self) -> Tuple[Any, ...]:
        from .opening import open  # which imports this module
        return functools.partial(open, self.path, self.checked, **self.given()), ()

    def given(self) -> Dict[str, Any]:
        """The options that it was opened with, except verify."""
        return dict(self.options._asdict(), writable=self.writable, open_shards=self.open_shards, resident=self.resident,
                    **self.storage.given())

    def __enter__(self: Self) -> Self:
        self.check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the shards. Arrays stay valid; reading after this raises ValueError."""
        raise NotImplementedError

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
                raise OptionError(f"no field \"{name}\"; the fields are: {', '.join(self.info.fields)}{always}", self.path)
        return names

    def check_names(self) -> None:
        """OptionError: a requested array has the name of a field or an attribute."""
        for name in "ids", "segment_ids", "position_ids", "mask":
            if getattr(self.options, name) and (name in self.options.fields or name in self.info.attributes):
                raise OptionError(f"it has a field \"{name}\": leave it out of fields=, or use {name}=False", self.path)

    def open_file(self, name: str, verify: bool = False) -> MappedFile:
        """A file that the manifest lists, after checking its size and, with verify here or for the dataset, its checksum.

        MissingError: it does not exist. DamagedError: the manifest does not list it, or it differs from the manifest.
        """
        entry = self.info.files.get(name)
        if entry is None:
            raise DamagedError(f"it does not list {name}", self.info.path)
        file = self.storage.whole(name, entry)
        if (self.checked or verify) and checksum.digest(checksum.xxh3(file.memory)) != entry.checksum:
            raise DamagedError("its checksum differs from the manifest", file.path)
        return file

    @property
    def index(self) -> Plan:
        """The plan of the blocks."""
        raise NotImplementedError

    @property
    def all_agreed(self) -> bool:
        """Whether the tables of all stored blocks were compared with the index."""
        raise NotImplementedError

    @property
    def far(self) -> bool:
        """Whether some of it lies far away, so that it is worth to read ahead."""
        raise NotImplementedError

    @property
    def unit(self) -> int:
        """The bytes that are fetched at once, where blocks are smaller; see Storage."""
        raise NotImplementedError

    @property
    def dataset(self) -> "BaseDataset":  # type: ignore[override]
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
            self.known = self.open_sequences()
        return self.known

    def open_sequences(self) -> Sequences:
        raise NotImplementedError

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

    def key(self, name: str) -> str:
        """The name that a field has in a block."""
        return name if self.options.decode else self.fields[name].tensor

    def sequence(self, which: Union[str, SupportsIndex], partial: bool = False) -> Dict[str, Any]:
        """The fields of one sequence, given by its id or its row: a dict of arrays [length, ...], joined from its pieces.

        partial: if only parts of the sequence are stored, return these, in order, instead of raising SequenceError.

        SequenceError (a KeyError): no such id; the sequence was skipped or failed; or, without partial, it is not stored completely.
        IndexError: no such row. TypeError: neither an id nor a row.
        """
        row = self.sequences.find(which) if isinstance(which, str) else arguments.integer("a sequence must be given by id or row", which)
        told = self.sequences[row]
        pieces, places = self.stored(row % len(self.sequences))
        self.check_stored(told, pieces, partial)
        parts: Dict[str, List[Any]] = {name: [] for name in self.options.fields}
        for shard, step, start, end in zip(*(table.tolist() for table in places)):
            source, number = self.source_of(shard)
            row, first = divmod(step, source.T)
            block = number * source.info.blocks_per_shard + row
            source.check(block)
            for name, found in parts.items():
                found.append(source.steps(block, name, first, first + end - start))
        return {self.key(name): join(found) for name, found in parts.items()}

    def verify(self, blocks: Optional[Iterable[SupportsIndex]] = None) -> None:
        """Reads blocks and compares every byte with its checksum (needs the package xxhash). Nothing is returned: what is damaged raises.

            dataset.verify([0, 7, -1])
            dataset.verify()            # everything

        blocks: their numbers, in any order. Each is compared as it is stored, in the fields that the dataset was opened with, and with it the
        header and the tables of its shard; of a view the blocks of the sources that have its sequences. None: all of them, and the other
        files that the manifests list.

        The dataset is opened anew, so what was read or verified before does not count. From afar nothing is taken from the cache, or put
        there: the bytes are those of the store. Of compressed shards the frames that have the blocks are fetched; on this machine
        the whole shard is compared.

        DamagedError: something differs. It names the file, the block and the field; the first of several. IndexError: no such block.
        TypeError: blocks is no iterable of integers. Errors of bload.open.
        """
        self.check_open()
        verification.verify(self, blocks)

    def verify_files(self) -> None:
        """Compares all files that the manifest lists with their checksums, if it was opened with verify. DamagedError: one differs."""
        for name in self.info.files:
            self.open_file(name)

    def check_stored(self, told: Dict[str, str], pieces: Pieces, partial: bool) -> None:
        """SequenceError: the sequence is not stored or, without partial, not completely."""
        name, status, reason = told["id"], told.get("status") or "ok", told.get("reason", "")
        if status != "ok":
            raise SequenceError(f"{name} is not stored: {status}{', ' if reason else ''}{reason}", self.path)
        first, length = pieces.source_start, pieces.length.astype(np.int64)
        if len(first) == 0:
            raise SequenceError(f"{name} is not stored: no block has it", self.path)
        whole = first[0] == 0 and (first[1:] == (first + length)[:-1]).all() and str((first + length)[-1]) == told["length"]
        if not whole and not partial:
            raise SequenceError(f"only {int(length.sum())} of the {told['length']} steps of {name} are stored: "
                                "partial=True gives them", self.path)

    # --- for blocks that are composed --------------------------------------------------------------------------------

    def padding(self, name: str) -> Any:
        """A step of a field's padding, or a number."""
        raise NotImplementedError

    def places(self, pieces: Pieces, plan: str) -> Tuple[np.ndarray, Places, Optional[np.ndarray]]:
        """Where pieces are stored: for each place the number of its piece; the places; and the pieces' numbers in the index, if these are
        needed for values. plan: the file that has the pieces. DamagedError: they are not stored.
        """
        raise NotImplementedError

    def stored(self, row: int) -> Tuple[Pieces, Places]:
        """The parts that are stored of a row, in order, as pieces, and where each is stored."""
        raise NotImplementedError

    def values(self, pieces: Pieces) -> Dict[str, Any]:
        """The values that the tables of a block have for its pieces, [n] each: all but cu_seqlens, num_sequences and segment_ids."""
        raise NotImplementedError

    def source_of(self, shard: int) -> Tuple[Store, int]:
        """The dataset that has a shard, and its number there."""
        raise NotImplementedError
