"""The common base class of datasets and views: options, properties, sequences and epochs."""
from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Iterable, List, Optional, SupportsIndex, Tuple, TypeVar, Union

import numpy as np

from . import arguments, checksum, notebook, verification
from .blocks import Blocks
from .encoding import join
from .epochs import Epoch, epochs_of
from .errors import DamagedError, FormatError, OptionError, SequenceError
from .index import Pieces, Plan
from .manifest import CU_SEQLENS_PADDED, TABLES, Field, Manifest
from .mapping import RESIDENT, MappedFile
from .safetensors import DTYPES
from .sequences import Sequences
from .shard import Shard
from .stored import BlockOptions, BlockStore, Places, PlacesByAxis

OPEN_SHARDS = 64

Self = TypeVar("Self", bound="BaseDataset")


class BaseDataset(Blocks):
    """The common interface of Dataset and View, which bload.open returns.

    len(dataset) is the number of blocks. dataset[i], dataset[-1], dataset[2:5] (a list) and iteration return blocks, which Blocks
    describes. dataset.sequence(id) returns one whole sequence, dataset.sequences is the table of sequences, and dataset.epoch(n) returns
    the blocks of another epoch.

    T, lengths and starts count steps: frames, samples or tokens. Opening reads only manifests and headers; everything else is read on
    first use. Several threads may read at the same time. A dataset can be forked and pickled; unpickling opens it again.

    Attributes
    ----------
    path : str
        The directory or URL.
    """

    _compressed: bool               # some of the shards are compressed
    _has_large_frames: bool         # some of the shards are compressed in frames of whole blocks
    _shard: Callable[[int], Shard]  # returns a shard by number, and keeps the last ones open

    def __init__(self, path: str, info: Manifest, verify: bool, *, fields: Union[str, Iterable[str], None] = None, ids: bool = True,
                 segment_ids: bool = False, position_ids: bool = False, mask: bool = False, decode: bool = True, writable: bool = False,
                 pad: bool = True, reopen: Callable[..., Any], open_shards: int = OPEN_SHARDS, resident: int = RESIDENT):
        self.path, self._info, self._storage = path, info, info.storage
        self._reopen = reopen  # opens a path as bload.open does: given here, since that function needs this class
        self._checked = arguments.flag("verify", verify)
        self._writable = arguments.flag("writable", writable)
        self._open_shards = arguments.at_least("open_shards", open_shards, 1)
        self._resident = arguments.at_least("resident", resident, 0)
        self.closed = False
        flags = (arguments.flag(name, value) for name, value in (
            ("ids", ids), ("segment_ids", segment_ids), ("position_ids", position_ids), ("mask", mask), ("decode", decode), ("pad", pad)))
        self._options = BlockOptions(self._names(fields), *flags)
        self._check_names()
        if verify:
            checksum.xxh3(b"")  # raises DependencyError if the package is missing
        self._known: Optional[Sequences] = None
        self._table_types = {name: DTYPES[dtype] for name, dtype, _ in info.tables()}
        self._axes = ["", *(name for name in self._options.fields if info.fields[name].own)]
        self._common = [name for name in self._options.fields if name not in self._axes]
        left_out = {field.table for field in info.own.values() if field.name not in self._axes} | {CU_SEQLENS_PADDED}
        self._table_names = [name for name in self._table_types if name not in left_out]

    def __repr__(self) -> str:
        fields = ", ".join(f"{field.name} {field.stored} {list(field.shape)}{f' up to {field.capacity} own steps' if field.own else ''}"
                           for field in self.fields.values())
        return f"<bload.{type(self).__name__} {self.path}: {len(self)} blocks, T = {self.T}, S = {self.S}; {fields}>"

    def _repr_html_(self) -> str:
        facts = f"{len(self):,} blocks, T = {self.T:,}, S = {self.S:,}; world size {self.world_size}, batch size {self.batch_size}"
        if len(self.epochs) > 1:
            facts += f"; epochs 0 to {self.epochs[-1]}"
        fields = [[field.name, field.kind, field.stored, list(field.shape), field.coding] for field in self.fields.values()]
        names = ["field", "kind", "stored", "shape of a step", "encoding"]
        if self._info.own:
            names.append("steps")
            for row, field in zip(fields, self.fields.values()):
                row.append(f"own, up to {field.capacity:,}" if field.own else f"{self.T:,}")
        return notebook.page(f"bload.{type(self).__name__}", self.path, facts, notebook.table(names, fields), *self._more_html())

    def _more_html(self) -> List[str]:
        """Return further HTML tables for the notebook representation; a subclass may add some."""
        return []

    def __reduce__(self) -> Tuple[Any, ...]:
        return functools.partial(self._reopen, self.path, self._checked, **self._given()), ()

    def _given(self) -> Dict[str, Any]:
        """Return the options that the dataset was opened with, except verify, so that it can be opened again."""
        return dict(self._options._asdict(), writable=self._writable, open_shards=self._open_shards, resident=self._resident,
                    **self._storage.given())

    def __enter__(self: Self) -> Self:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the shards. Arrays stay valid; reading afterwards raises ValueError."""
        raise NotImplementedError

    def _check_open(self) -> None:
        """Raise ValueError if the dataset was closed."""
        if self.closed:
            raise ValueError(f"{self.path}: the dataset is closed")

    def _names(self, fields: Union[str, Iterable[str], None]) -> Tuple[str, ...]:
        """Return the names of the requested fields; raise OptionError if one does not exist."""
        if fields is None:
            return tuple(self._info.fields)
        names = arguments.names("fields", fields)
        for name in names:
            if name not in self._info.fields:
                always = " (attributes and tables are in every block)" if name in self._info.attributes or name in TABLES else ""
                raise OptionError(f"no field \"{name}\"; the fields are: {', '.join(self._info.fields)}{always}", self.path)
        return names

    def _check_names(self) -> None:
        """Raise OptionError if a requested array has the name of a field or an attribute, because a block would lose one of the two."""
        for name in "ids", "segment_ids", "position_ids", "mask":
            if getattr(self._options, name) and (name in self._options.fields or name in self._info.attributes):
                raise OptionError(f"it has a field \"{name}\": leave it out of fields=, or use {name}=False", self.path)

    def _open_file(self, name: str, verify: bool = False) -> MappedFile:
        """Open a file that the manifest lists, after comparing its size and, with verify here or for the dataset, its checksum.

        Raises MissingError if it does not exist, and DamagedError if the manifest does not list it or it differs from the manifest.
        """
        entry = self._info.files.get(name)
        if entry is None:
            raise DamagedError(f"it does not list {name}", self._info.path)
        file = self._storage.whole(name, entry)
        if (self._checked or verify) and checksum.digest(checksum.xxh3(file.memory)) != entry.checksum:
            raise DamagedError("its checksum differs from the manifest", file.path)
        return file

    @property
    def _index(self) -> Plan:
        """The plan of the blocks of epoch 0."""
        raise NotImplementedError

    @property
    def _all_agreed(self) -> bool:
        """Whether the tables of all stored blocks were compared with the index, so that no further check is needed."""
        raise NotImplementedError

    @property
    def _far(self) -> bool:
        """Whether a part of the dataset is remote, so that prefetching pays."""
        raise NotImplementedError

    @property
    def _unit(self) -> int:
        """The bytes that one request fetches where blocks are smaller; see Storage."""
        raise NotImplementedError

    @property
    def dataset(self) -> "BaseDataset":  # type: ignore[override]
        """The dataset itself, for code that works on epochs too."""
        return self

    @property
    def manifest(self) -> Dict[str, Any]:
        """The content of manifest.json as a dict; do not change it."""
        return self._info.json

    @property
    def about(self) -> Dict[str, Any]:
        """The object that --about of bload pack stored, such as what contracts need to know about the processor; {} if there is none.

        That of a view is the one of its sources. Raises FormatError if sources have different ones.
        """
        found: List[Dict[str, Any]] = []
        for info in self._manifests():
            if info.about and info.about not in found:
                found.append(info.about)
        if len(found) > 1:
            raise FormatError("its sources have different --about", self.path)
        return found[0] if found else {}

    def _manifests(self) -> List[Manifest]:
        """Return the manifest of the dataset; of a view also those of its sources."""
        return [self._info]

    @property
    def T(self) -> int:
        """The number of steps of a block."""
        return self._info.T

    @property
    def S(self) -> int:
        """The number of slots for sequences in the tables of a block."""
        return self._info.S

    @property
    def fields(self) -> Dict[str, Field]:
        """The fields by name. Each has kind, dtype, stored, shape (of one step) and encoding; see Field."""
        return self._info.fields

    @property
    def world_size(self) -> int:
        """The number of ranks that the dataset was packed for: len() is a multiple of world_size * batch_size."""
        return self._info.world_size

    @property
    def batch_size(self) -> int:
        """The number of blocks per rank and training step that the dataset was packed for."""
        return self._info.batch_size

    @property
    def cp(self) -> int:
        """The number of ranks of context parallelism that the dataset was packed for (--cp); 0: none."""
        return self._info.cp

    @property
    def sequences(self) -> Sequences:
        """The table of sequences: ids, lengths, status and reason of skipped inputs, and the other columns. See Sequences."""
        self._check_open()
        if self._known is None:
            self._known = self._open_sequences()
        return self._known

    def _open_sequences(self) -> Sequences:
        """Open the table of sequences; called on the first use of `sequences`."""
        raise NotImplementedError

    @property
    def epochs(self) -> Tuple[int, ...]:
        """The epochs that exist without a window: 0, the stored blocks, and every epoch that has a plan, ascending."""
        return epochs_of(self._info.files)

    def epoch(self, number: SupportsIndex, window: Optional[int] = None, seed: int = 0) -> Blocks:
        """Return the blocks of an epoch: the stored sequences in other combinations, with the same number of blocks and the same shapes.

        Parameters
        ----------
        number : int
            0 is the dataset itself. Other numbers are those in self.epochs or, with a window, any positive number.
        window : int, optional
            Compose each block from the sequences of this many consecutive stored blocks. Without a window the epoch follows the plan that
            `bload plan --dataset` made.
        seed : int
            The seed of a windowed epoch; only valid with a window.

        Returns
        -------
        Blocks
            Numbered from 0 as the dataset is. It reads through this dataset, which must stay open.

        Raises
        ------
        EpochError
            There is no such epoch.
        OptionError
            A seed is given without a window.
        """
        number = arguments.integer("the number of an epoch must be an int", number)
        if seed != 0 and window is None:
            raise OptionError("seed needs a window, because a plan has its own seed", self.path)
        return self if number == 0 else Epoch(self, number, window, seed)

    def _key(self, name: str) -> str:
        """Return the name under which a block contains a field: NAME, or NAME_jpeg and NAME_delta with decode=False."""
        return name if self._options.decode else self.fields[name].tensor

    def sequence(self, which: Union[str, SupportsIndex], partial: bool = False) -> Dict[str, Any]:
        """Return the fields of one sequence, joined from its stored pieces.

        Parameters
        ----------
        which : str or int
            The id of the sequence, or its row in the table of sequences.
        partial : bool
            If only a part of the sequence is stored, return the stored steps in order instead of raising SequenceError.

        Returns
        -------
        dict of array [length, ...]
            By name of the field. With decode=False a JPEG field is a list of files, U8 [bytes] each. A field with steps of its own has the
            sequence's number of them, which may be 0.

        Raises
        ------
        SequenceError
            There is no such id, the sequence was skipped or failed, or, without partial, it is not stored completely. Also a KeyError.
        IndexError
            There is no such row.
        TypeError
            `which` is neither an id nor a row.
        DamagedError
            A stored block is damaged.
        """
        row = self.sequences.find(which) if isinstance(which, str) else arguments.integer("a sequence must be given by id or row", which)
        row_values = self.sequences[row]
        pieces, places = self._stored_parts(row % len(self.sequences))
        self._check_stored(row_values, pieces, partial)
        for shard, step in zip(places[""].shard.tolist(), places[""].step.tolist()):
            source, number = self._source_of(shard)
            source._check(number * source._info.blocks_per_shard + step // source.T)
        return {self._key(name): self._joined(name, places[self.fields[name].axis]) for name in self._options.fields}

    def _joined(self, name: str, places: Places) -> Any:
        """Return the steps of a field in these places, one after the other; the blocks that store them were checked."""
        parts = []
        for shard, step, start, end in zip(*(table.tolist() for table in places)):
            source, number = self._source_of(shard)
            block, first = source._block_of(number, name, step)
            parts.append(source._steps(block, name, first, first + end - start))
        return join(parts) if parts else np.zeros((0, *self.fields[name].shape), self.fields[name].dtype)

    def verify(self, blocks: Optional[Iterable[SupportsIndex]] = None) -> None:
        """Read blocks and compare every stored byte with its checksum; needs the package xxhash.

            dataset.verify([0, 7, -1])
            dataset.verify()            # everything

        The dataset is opened again, so earlier reads and checks do not count. For a remote dataset nothing is taken from the cache or added to
        it: the bytes are those of the object store. Of a compressed shard, only the frames that contain the blocks are fetched from a remote
        store; on this machine the whole shard is compared.

        Parameters
        ----------
        blocks : iterable of int, optional
            Block numbers in any order. Each block is compared as it is stored, in the fields that the dataset was opened with, together with
            the header and tables of its shard. For a view, the blocks of the sources that contain its sequences are compared. None compares all
            blocks, and all other files that the manifests list.

        Raises
        ------
        DamagedError
            Something differs. The message names the file, block and field of the first difference.
        IndexError
            There is no such block.
        TypeError
            `blocks` is not an iterable of integers.
        """
        self._check_open()
        verification.verify(self, blocks)

    def _verify_files(self) -> None:
        """Compare all files that the manifest lists with their checksums if opened with verify; raise DamagedError if one differs."""
        for name in self._info.files:
            self._open_file(name)

    def _check_stored(self, row_values: Dict[str, str], pieces: Pieces, partial: bool) -> None:
        """Raise SequenceError if the sequence is not stored or, without partial, not stored completely."""
        name, status, reason = row_values["id"], row_values.get("status") or "ok", row_values.get("reason", "")
        if status != "ok":
            raise SequenceError(f"{name} is not stored: {status}{', ' if reason else ''}{reason}", self.path)
        first, length = pieces.source_start, pieces.length.astype(np.int64)
        if len(first) == 0:
            raise SequenceError(f"{name} is not stored: no block has it", self.path)
        whole = first[0] == 0 and (first[1:] == (first + length)[:-1]).all() and str((first + length)[-1]) == row_values["length"]
        if not whole and not partial:
            raise SequenceError(f"only {int(length.sum())} of the {row_values['length']} steps of {name} are stored: "
                                "partial=True returns them", self.path)

    # --- for blocks that are composed --------------------------------------------------------------------------------

    def _padding(self, name: str) -> Any:
        """Return one step of a field's padding: an array, or a number."""
        raise NotImplementedError

    def _places(self, pieces: Pieces, plan: str) -> Tuple[PlacesByAxis, Optional[np.ndarray]]:
        """Return where pieces are stored, for the composition of blocks.

        The result is for each axis of the fields that are read the number of the piece of each place, and the places; and the pieces' numbers
        in the index if `values` needs them. `plan` is the path of the file that lists the pieces, for messages. Raises DamagedError if a piece
        is not stored.
        """
        raise NotImplementedError

    def _stored_parts(self, row: int) -> Tuple[Pieces, Dict[str, Places]]:
        """Return the stored parts of a row, in order, as pieces, and for each axis their places."""
        raise NotImplementedError

    def _values(self, pieces: Pieces) -> Dict[str, Any]:
        """Return the table values of pieces, [n] each: all tables of a block but num_sequences, segment_ids and those of places."""
        raise NotImplementedError

    def _source_of(self, shard: int) -> Tuple[BlockStore, int]:
        """Return the dataset that contains a shard, and the number of the shard there."""
        raise NotImplementedError
