"""manifest.json: the description of a dataset or a view, checked before use."""
from __future__ import annotations

import json
import math
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from . import checksum
from .encoding import DELTA, JPEG, RAW
from .errors import DamagedError, FormatError
from .forms import SIZE_MAX, is_checksum, is_name, is_size, size_of
from .safetensors import DTYPES, parse_json
from .storage import MANIFEST, FileEntry, Storage
from .text import unescape

INDEX = "index.safetensors"
# Formats. Those with fields that have steps of their own are others, because readers of the first two would misread them; and so are those
# for context parallelism, whose shards have one more table, with or without such fields.
DATASET, VIEW, OWN_DATASET, OWN_VIEW, CP_DATASET, CP_VIEW = range(1, 7)
FRAME_MAX = 64 << 20  # the most bytes of a frame of compressed shards
STEPS_MAX = (1 << 31) - 1
FOLDER_SHARDS = 1000
CHAINED = re.compile(r"(?!https?://)(?=.*://).*::", re.DOTALL)  # a chained URL, by which fsspec reads one file through another
# An entry of blocks that is computed from the overlap, and is not stored.
REPEATED = "repeated"
# A table of datasets for context parallelism. Blocks have it as computed from cu_seqlens; shards store it for other loaders.
CU_SEQLENS_PADDED = "cu_seqlens_padded"
PADDED, FLAT = "padded", "flat"  # how shards store a field with steps of its own
TABLES = "cu_seqlens", "num_sequences", "sequence", "length", "source_start", "segment_ids"


class Field(NamedTuple):
    """A field: a tensor with a value for each step of a sequence, or with steps of its own.

    Attributes
    ----------
    name, kind : str
        The name of the field, and what its sources are, such as "video" or "text".
    dtype : numpy.dtype
        The type of the arrays in blocks.
    stored : str
        The type of the tensor in the shards, such as "U8". It differs from dtype only for BF16, which numpy lacks: arrays then hold the 16
        bits as U16.
    shape : tuple of int
        The shape of one step: () for tokens, (H, W, 3) for frames, with another last number for other pixels.
    encoding : str
        "raw", "jpeg" or "delta".
    coding : str
        The encoding with its options as the manifest has it, such as "jpeg:90".
    pad : int or None
        The value of padding; None if the manifest does not give it.
    capacity : int
        The number of steps in a block: T, or for a field with steps of its own the most of them.
    own : bool
        Whether sequences have steps of their own in this field, whose places in a block are in the table NAME_cu_seqlens.
    storage : str
        How shards store own steps: "padded" to the capacity, or "flat", without padding.
    """
    name: str
    kind: str
    dtype: np.dtype
    stored: str
    shape: Tuple[int, ...]
    encoding: str = RAW
    coding: str = RAW
    pad: Optional[int] = None
    capacity: int = 0
    own: bool = False
    storage: str = PADDED

    @property
    def tensor(self) -> str:
        """The name of the field's tensor in the shards."""
        return self.name if self.encoding == RAW else f"{self.name}_{self.encoding}"

    @property
    def axis(self) -> str:
        """What the field's steps belong to: "" for the common steps of all sequences, or the name of a field with steps of its own."""
        return self.name if self.own else ""

    @property
    def table(self) -> str:
        """The name of the table with the places of the sequences' steps in a block."""
        return f"{self.name}_cu_seqlens" if self.own else "cu_seqlens"

    @property
    def step_bytes(self) -> int:
        """The bytes of one step in arrays."""
        return int(self.dtype.itemsize * math.prod(self.shape))

    @property
    def block_bytes(self) -> int:
        """The most bytes of a block in arrays."""
        return self.capacity * self.step_bytes


class Source(NamedTuple):
    """A source of a view, as the view's manifest describes it.

    Attributes
    ----------
    name : str
        Unique in the view.
    path : str
        The absolute path, or the URL.
    rows : int
        The number of rows of its table of sequences.
    first_row : int
        The number that the view gives to its first row.
    steps : int
        How many steps of the view come from it.
    share : float
        Its share of all steps, from 0 to 1.
    weight : float or None
        The weight that was given when the view was made.
    """
    name: str
    path: str
    rows: int
    first_row: int
    steps: int
    share: float
    weight: Optional[float]


class Manifest:
    """The manifest of the dataset in a storage. json: its content as read; names are still escaped.

    Raises MissingError if there is no dataset, DamagedError if the manifest is invalid or altered, and FormatError for a format that this
    version does not support.
    """

    def __init__(self, storage: Storage):
        self.storage = storage
        self.path = storage.locate(MANIFEST)
        for tried in range(storage.tries):
            try:
                self.read(self.read_bytes())
                break
            except (DamagedError, FormatError) as error:
                if tried + 1 == storage.tries:
                    raise type(error)(error.fault + storage.wrong_bytes_note(MANIFEST), error.path) from None
                storage.wait(tried)

    def read(self, text: bytes) -> None:
        """Set all attributes from the bytes of the file."""
        try:
            self.json: Dict[str, Any] = parse_json(text)
        except ValueError as error:
            raise self.damaged(f"damaged: {error}") from None
        if not isinstance(self.json, dict):
            raise self.damaged("not a JSON object")
        self.check_version()
        self.check_digest(text)
        self.read_sizes()
        self.fields = self.read_fields()
        self.own = {name: field for name, field in self.fields.items() if field.own}
        self.place_tables = {field.table for field in self.fields.values()} | {"cu_seqlens"}
        self.attributes = self.read_attributes()
        self.check_names()
        if self.padded_to and CU_SEQLENS_PADDED in (*self.fields, *self.attributes):
            raise self.damaged(f"a field or attribute has the name \"{CU_SEQLENS_PADDED}\", which is reserved in datasets for context parallelism")
        if self.overlap and REPEATED in (*self.fields, *self.attributes):
            raise self.damaged(f"a field or attribute has the name \"{REPEATED}\", which is reserved in datasets with an overlap")
        if self.is_view:
            self.read_sources()
        else:
            self.read_layout()
        self.files = self.read_files()

    def read_bytes(self) -> bytes:
        """Return the bytes of the file."""
        text = self.storage.manifest()
        if len(text) > SIZE_MAX:
            raise self.damaged("too large")
        return text

    def damaged(self, fault: str) -> DamagedError:
        """Return a DamagedError that names the manifest."""
        return DamagedError(fault, self.path)

    def check_version(self) -> None:
        """Read the format; raise FormatError if this version does not support it."""
        version: Any = self.json.get("format")
        if not is_size(version):
            raise self.damaged("\"format\" is missing, or not a number")
        if not DATASET <= version <= CP_VIEW:
            raise FormatError(f"format version {version}, but this reader knows versions {DATASET} to {CP_VIEW}: update bload", self.path)
        self.is_view = version in (VIEW, OWN_VIEW, CP_VIEW)
        self.can_have_own = version >= OWN_DATASET
        self.has_cp = version in (CP_DATASET, CP_VIEW)
        # The versions that the files of a plan may have: there the format of a dataset differs from that of a view in nothing.
        self.plan_versions = {"1", str(version)} | ({str(OWN_DATASET)} if self.can_have_own else set())

    def check_digest(self, text: bytes) -> None:
        """Verify the manifest's checksum if xxhash is installed. It was computed with its own digits replaced by zeros."""
        stored_digits = self.digits("checksum").encode()
        at = text.rfind(stored_digits)
        if at < 0:
            raise self.damaged("\"checksum\" is not written as plain digits")
        if checksum.available() and checksum.digest(checksum.xxh3(text[:at] + b"0" * 16 + text[at + 16:])).encode() != stored_digits:
            raise self.damaged("wrong checksum: the file is damaged or was edited")

    def number(self, name: str, least: int, most: int = (1 << 62)) -> int:
        """Return an integer member; raise DamagedError if it is missing, or out of range."""
        value: Any = self.json.get(name)
        if not is_size(value) or not least <= value <= most:
            raise self.damaged(f"\"{name}\" is missing, or not between {least} and {most}")
        return int(value)

    def text(self, name: str) -> str:
        """Return a string member; raise DamagedError if it is missing."""
        value = self.json.get(name)
        if not isinstance(value, str):
            raise self.damaged(f"\"{name}\" is missing, or not a string")
        return value

    def digits(self, name: str) -> str:
        """Return a checksum; raise DamagedError if it is missing, or not a checksum."""
        value = self.text(name)
        if not is_checksum(value):
            raise self.damaged(f"\"{name}\" is not 16 hexadecimal digits")
        return value

    def flag(self, name: str) -> bool:
        """Return a boolean member; raise DamagedError if it is missing."""
        value = self.json.get(name)
        if not isinstance(value, bool):
            raise self.damaged(f"\"{name}\" is missing, or not a boolean")
        return value

    def read_sizes(self) -> None:
        """Read the sizes and the configuration."""
        self.T = self.number("T", 1, STEPS_MAX)
        self.S = self.number("S", 1, STEPS_MAX - 1)
        self.blocks = self.number("blocks", 1)
        self.world_size = self.number("world_size", 1)
        self.batch_size = self.number("batch_size", 1)
        self.source_start = self.flag("source_start")
        self.segment_ids = self.flag("segment_ids")
        self.plan_digest = self.digits("plan_digest")
        configuration = self.json.get("configuration")
        if not isinstance(configuration, dict):
            raise self.damaged("\"configuration\" is missing, or not an object")
        self.configuration: Dict[str, Any] = configuration
        self.cp = self.number("cp", 1, STEPS_MAX // 2) if self.has_cp else 0
        align = size_of(self.option("align")) or 1
        self.align = align if align > 1 else max(1, 2 * self.cp)
        # cu_seqlens_padded has the end of the last sequence rounded up to a multiple of this; 0: blocks have no such table.
        self.padded_to = self.align if self.cp else 0
        if self.cp and (self.align % (2 * self.cp) or self.T % self.align):
            raise self.damaged(f"T = {self.T} and the alignment of {self.align} do not suit context parallelism over {self.cp} ranks")
        self.overlap = self.number("overlap", 1, self.T - 1) if "overlap" in self.json else 0

    def option(self, name: str) -> str:
        """Return an option of the run that made the dataset, as text; "" if it was not given."""
        value = self.configuration.get(name)
        return str(value) if isinstance(value, (str, int)) else ""

    @property
    def about(self) -> Dict[str, Any]:
        """The object that --about gave to bload pack, or an empty dict."""
        text = self.option("about")
        try:
            # A value is escaped as a line of the configuration, and again as a text of the manifest.
            found = json.loads(unescape(unescape(text.encode()).encode(errors="surrogateescape"))) if text else {}
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise self.damaged("\"about\" of \"configuration\" is not a JSON object")
        return found

    def read_layout(self) -> None:
        """Read the layout of the shards."""
        compress = self.json.get("compress")
        if compress is not None and (not isinstance(compress, str) or not compress.startswith("zstd:")):
            raise FormatError(f"\"compress\" is {compress!r}, which this reader does not support", self.path)
        self.compressed = compress is not None
        self.frame_size = self.number("frame_size", 1, FRAME_MAX) if "frame_size" in self.json else FRAME_MAX
        self.blocks_per_shard = self.number("blocks_per_shard", 1)
        self.shards = self.number("shards", 1)
        if self.shards != -(-self.blocks // self.blocks_per_shard):
            raise self.damaged(f"{self.blocks} blocks, {self.blocks_per_shard} a shard, do not make {self.shards} shards")

    def read_fields(self) -> Dict[str, Field]:
        """Return the fields by name."""
        entries = self.json.get("fields")
        if not isinstance(entries, list) or not entries:
            raise self.damaged("\"fields\" is missing, or not a list")
        fields: Dict[str, Field] = {}
        for entry in entries:
            field = self.read_field(entry)
            if field.name in fields or field.name in TABLES:
                raise self.damaged(f"duplicate tensor \"{field.name}\"")
            fields[field.name] = field
        return fields

    def read_field(self, entry: Any) -> Field:
        """Return a field from its entry; raise FormatError for a type or an encoding that this version does not support."""
        members = entry if isinstance(entry, dict) else {}
        name, kind, stored, shape = (members.get(member) for member in ("name", "kind", "dtype", "shape"))
        if not isinstance(name, str) or not isinstance(kind, str) or not isinstance(stored, str) or not isinstance(shape, list):
            raise self.damaged("a field lacks name, kind, dtype or shape")
        if stored not in DTYPES:
            raise FormatError(f"field \"{name}\" has the type {stored[:20]}, which this reader does not support", self.path)
        capacity, own, storage = self.read_steps(name, members)
        steps = max(self.T, capacity) * self.blocks * DTYPES[stored].itemsize
        for size in shape:
            if not is_size(size) or size < 1 or steps * size >= 1 << 62:
                raise self.damaged(f"field \"{name}\" has an invalid shape")
            steps *= size
        coding = members.get("encoding", RAW)
        encoding = coding.partition(":")[0] if isinstance(coding, str) else None
        if encoding not in (RAW, JPEG, DELTA):
            raise FormatError(f"field \"{name}\" is encoded as {coding!r}, which this reader does not support", self.path)
        if encoding != RAW and (own or stored != "U8" or len(shape) != 3):
            raise self.damaged(f"field \"{name}\" is encoded as {coding!r}, but {'has steps of its own' if own else 'is not a picture'}")
        pad = self.read_pad(name, DTYPES[stored], members)
        return Field(name, kind, DTYPES[stored], stored, tuple(shape), encoding, coding, pad, capacity, own, storage)

    def read_steps(self, name: str, members: Dict[str, Any]) -> Tuple[int, bool, str]:
        """Return capacity, own and storage of a field from the members of its entry; see Field."""
        steps, capacity, storage = (members.get(member) for member in ("steps", "capacity", "storage"))
        if steps is None:
            return self.T, False, PADDED
        if steps != "own" or not self.can_have_own:
            raise FormatError(f"field \"{name}\" has the steps {steps!r}, which this reader does not support", self.path)
        if not is_size(capacity) or not isinstance(capacity, int) or not 1 <= capacity <= STEPS_MAX:
            raise self.damaged(f"field \"{name}\" has an invalid capacity")
        if self.is_view:
            return capacity, True, PADDED
        if storage not in (PADDED, FLAT):
            raise FormatError(f"field \"{name}\" is stored as {storage!r}, which this reader does not support", self.path)
        return capacity, True, storage

    def read_pad(self, name: str, dtype: np.dtype, members: Dict[str, Any]) -> Optional[int]:
        """Return the padding of a field, or None if the manifest does not give it; 0 in a view."""
        pad: Any = members.get("pad", 0)
        least, most = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (0, 1 if dtype.kind == "b" else 1 << 53)
        if type(pad) is not int or not least <= pad <= most:
            raise self.damaged(f"field \"{name}\" has an invalid \"pad\"")
        return pad if "pad" in members or self.is_view or "steps" in members else None

    def read_sources(self) -> None:
        """Read the sources of a view, and the checksums of their files by name, as the view's manifest has them."""
        self.rows = self.number("rows", 0)
        self.sources: List[Source] = []
        self.recorded: List[Dict[str, str]] = []
        entries, first = self.json.get("sources"), 0
        for entry in entries if isinstance(entries, list) else [None]:
            members: Dict[str, Any] = entry if isinstance(entry, dict) else {}
            source = self.read_source(members)
            if source.first_row != first or any(source.name == other.name for other in self.sources):
                raise self.damaged(f"source \"{source.name}\" is there twice, or its rows do not follow those of the one before")
            first += source.rows
            self.sources.append(source)
            self.recorded.append(members["files"])
        if not self.sources or first != self.rows:
            raise self.damaged(f"\"sources\" is empty, or has {first} rows instead of {self.rows}")

    def read_source(self, members: Dict[str, Any]) -> Source:
        """Return a source from its entry; raise DamagedError if the entry is invalid."""
        fault = self.damaged("\"sources\" is missing or invalid")
        name, path, files, weight = (members.get(member) for member in ("name", "path", "files", "weight"))
        rows, first, steps = sizes = [members.get(member) for member in ("rows", "first_row", "steps")]
        share = members.get("share")
        if not isinstance(name, str) or not isinstance(path, str) or not all(map(is_size, sizes)) or not isinstance(files, dict):
            raise fault
        if not all(is_name(file) and is_checksum(recorded) for file, recorded in files.items()) or INDEX not in files:
            raise fault
        if not (type(share) is float or is_size(share)) or not (type(weight) in (float, type(None)) or is_size(weight)):
            raise fault
        try:
            name, path = unescape(name.encode()), unescape(path.encode())
        except ValueError:
            raise fault from None
        if "\0" in path or CHAINED.match(path):
            raise fault
        return Source(name, self.storage.source(path), int(rows or 0), int(first or 0), int(steps or 0), float(share or 0), weight)

    def read_attributes(self) -> Dict[str, str]:
        """Return the types of the attributes by name, "I64" or "F64"; empty if the manifest lists none."""
        entries = self.json.get("attributes", [])
        attributes: Dict[str, str] = {}
        for entry in entries if isinstance(entries, list) else [None]:
            members = entry if isinstance(entry, dict) else {}
            name, dtype = members.get("name"), members.get("dtype")
            if not isinstance(name, str) or dtype not in ("I64", "F64") or name in TABLES or name in self.fields or name in attributes:
                raise self.damaged("\"attributes\" is invalid")
            attributes[name] = dtype
        return attributes

    def check_names(self) -> None:
        """Raise DamagedError if the tables of a field with steps of its own have the names of other tensors."""
        others = {*TABLES, *self.fields, *self.attributes, *(field.tensor for field in self.fields.values())}
        for field in self.own.values():
            for name in field.table, f"{field.name}_offsets":
                if name in others:
                    raise self.damaged(f"duplicate tensor \"{name}\"")

    def read_files(self) -> Dict[str, FileEntry]:
        """Return the entries of the files by name."""
        entries = self.json.get("files")
        files: Dict[str, FileEntry] = {}
        for entry in entries if isinstance(entries, list) else [None]:
            members: Dict[str, Any] = entry if isinstance(entry, dict) else {}
            size: Any = members.get("bytes")
            name, recorded = members.get("name"), members.get("checksum")
            if not is_name(name) or not is_size(size) or not is_checksum(recorded):
                raise self.damaged("\"files\" is missing or invalid")
            assert isinstance(name, str) and isinstance(recorded, str)
            files[name] = FileEntry(size, recorded)
        return files

    def shard_name(self, shard: int) -> str:
        """Return the path of a shard, relative to the dataset's directory."""
        end = ".zst" if self.compressed else ""
        return f"shards/{shard // FOLDER_SHARDS:05d}/shard-{shard:08d}.safetensors{end}"

    def tables(self) -> List[Tuple[str, str, Tuple[int, ...]]]:
        """Return name, type and shape (for one block) of each table in a shard, attributes included."""
        S = self.S
        tables: List[Tuple[str, str, Tuple[int, ...]]] = [
            ("cu_seqlens", "I32", (S + 1,)), ("num_sequences", "I32", ()), ("sequence", "I64", (S,)), ("length", "I32", (S,))]
        if self.source_start:
            tables.append(("source_start", "I64", (S,)))
        if self.segment_ids:
            tables.append(("segment_ids", "I32", (self.T,)))
        if self.padded_to:
            tables.append((CU_SEQLENS_PADDED, "I32", (S + 1,)))
        tables += [(field.table, "I32", (S + 1,)) for field in self.own.values()]
        return tables + [(name, dtype, (S,)) for name, dtype in self.attributes.items()]
