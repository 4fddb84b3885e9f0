"""An open shard: rows of its tables and fields."""
from __future__ import annotations

from typing import Any, Dict, List, Tuple, Union

import numpy as np

from .encoding import JPEG, RAW
from .errors import DamagedError
from .manifest import FLAT, PADDED, Field, Manifest
from .mapping import MappedFile
from .regions import checksums, digest_of
from .safetensors import DTYPES, Header, Tensor, bytes_of, expect, read_header
from .seekable import Frames, SeekableFile
from .storage import Opener


def bytes_in(header: Header, name: str) -> int:
    """Return the bytes of a tensor, 0 if there is none."""
    tensor = header.tensors.get(name)
    return tensor.end - tensor.begin if tensor is not None else 0


class Shard:
    """A shard; its row r is block first_block + r. Arrays are read-only; those of an uncompressed shard are views of the mapped file.

    opener, share: see Storage.shards. frames: keeps frames of compressed shards. checked: blocks are checked before use, so `begins` lists no
    fields.

    Raises DamagedError if the file is damaged, or its header does not match the manifest.
    """

    def __init__(self, opener: Opener, manifest: Manifest, frames: Frames, checked: bool, share: int, number: int):
        file = opener(number, share)
        self.path = file.path
        first = number * manifest.blocks_per_shard
        self.blocks = min(manifest.blocks_per_shard, manifest.blocks - first)
        self.compressed = manifest.compressed
        self.file: Union[MappedFile, SeekableFile] = \
            SeekableFile(file, frames) if self.compressed else file
        header = read_header(self.file.read, self.file.size, self.path)
        expected = {"bload_format": str(manifest.json["format"]), "first_block": str(first), "plan_digest": manifest.plan_digest}
        expected.update((f"{field.name}_encoding", field.coding) for field in manifest.fields.values() if field.encoding != RAW)
        for name, value in expected.items():
            if header.metadata.get(name) != value:
                raise DamagedError(f"its {name} is {header.metadata.get(name)}, expected {value}", self.path)
        self.tensors: Dict[str, Tensor] = {
            name: expect(header, name, dtype, (self.blocks, *shape), self.path) for name, dtype, shape in manifest.tables()}
        for field in manifest.fields.values():
            shape = (self.blocks, field.capacity, *field.shape)
            if field.encoding == JPEG:
                shape = (bytes_in(header, field.tensor),)
                self.tensors[f"{field.name}_offsets"] = expect(header, f"{field.name}_offsets", "I64", (self.blocks, manifest.T + 1), self.path)
            elif field.storage == FLAT:
                shape = (bytes_in(header, field.tensor) // field.step_bytes, *field.shape)
                self.tensors[f"{field.name}_offsets"] = expect(header, f"{field.name}_offsets", "I64", (self.blocks + 1,), self.path)
            self.tensors[field.tensor] = expect(header, field.tensor, field.stored, shape, self.path)
        # Where the steps of raw fields begin.
        raw = [] if checked else [field for field in manifest.fields.values() if field.encoding == RAW]
        self.begins = {field.name: self.tensors[field.name].begin for field in raw}
        # Where the steps of fields begin, how many of them a block has (0: see the offsets), and their bytes.
        self.layout = {field.name: (self.tensors[field.tensor].begin, 0 if field.storage == FLAT else field.capacity, field.step_bytes)
                       for field in manifest.fields.values() if field.encoding != JPEG}
        self.has_sound_offsets = False  # whether the offsets of flat fields were compared with the index
        self.fields = [field.tensor for field in manifest.fields.values()]
        self.tables: Dict[str, np.ndarray] = {}
        self.row_bytes = sum(bytes_of(dtype, shape) for _, dtype, shape in manifest.tables())

    def digest(self, block_checksum: np.ndarray) -> str:
        """Return the file's checksum, 16 hexadecimal digits: over the checksums of its regions, in file order.

        block_checksum, I64 [blocks, fields]: the known checksums of the blocks of fields in an uncompressed shard, which are not read again.
        """
        if isinstance(self.file, SeekableFile):
            return digest_of(self.file.checksums())
        return digest_of(checksums(self.file.read, self.tensors, self.fields, block_checksum))

    def whole(self, name: str) -> np.ndarray:
        """Return a table with the rows of all blocks, because one row of a compressed shard would often cost the whole frame."""
        table = self.tables.get(name)
        if table is None:
            tensor = self.tensors[name]
            table = self.file.view(tensor.begin, DTYPES[tensor.dtype], tensor.shape)
            self.tables[name] = table
        return table

    def row(self, names: List[str], row: int) -> Dict[str, np.ndarray]:
        """Return the values of a block in these tables."""
        if isinstance(self.file, MappedFile):
            self.file.look(self.row_bytes)
        return {name: self.whole(name)[row] for name in names}

    def stored(self, field: Field, row: int, first: int, end: int, own: bool = False) -> Any:
        """Return steps first to end of a field as stored: [end - first, ...], or a list of JPEG files.

        own: the array is writable, and writes change nothing else.
        """
        if field.encoding == JPEG:
            return self.files(field, row, first, end)
        place = self.offset(field, row, first), field.dtype, (end - first, *field.shape)
        return self.file.own(*place) if own else self.file.view(*place)

    def steps(self, field: Field, row: int) -> int:
        """Return how many steps of a field a block stores."""
        if field.storage == PADDED:
            return field.capacity
        first, end = self.whole(f"{field.name}_offsets")[row:row + 2].tolist()
        return int(end - first)

    def row_of(self, field: Field, step: int) -> Tuple[int, int]:
        """Return the row that has a step of a flat field, counted from the first one in the shard, and the step's number there.

        The offsets must have been checked, and there must be such a step.
        """
        offsets = self.whole(f"{field.name}_offsets")
        row = int(np.searchsorted(offsets, step, "right")) - 1
        return row, step - int(offsets[row])

    def place(self, field: Field, row: int) -> Tuple[int, int]:
        """Return where the stored bytes of a field of a block begin in the file, and how many there are: 0 if the place is damaged."""
        tensor = self.tensors[field.tensor]
        if field.encoding == JPEG:
            begin, end = self.whole(f"{field.name}_offsets")[row, [0, -1]].tolist()
            begin, end = tensor.begin + begin, tensor.begin + end
        else:
            begin, end = self.offset(field, row, 0), self.offset(field, row + 1, 0)
        return begin, end - begin if tensor.begin <= begin < end <= tensor.end else 0

    def prepare(self, field: Field, row: int) -> None:
        """Fetch the stored bytes of a field of a block."""
        self.file.prepare(*self.place(field, row))

    def ready(self, field: Field, row: int) -> bool:
        """Return whether a field of a block can be read without a request."""
        return self.file.ready(*self.place(field, row))

    def offset(self, field: Field, row: int, step: int) -> int:
        """Return the offset of a step of a field in the file."""
        begin, steps, size = self.layout[field.name]
        first = row * steps if steps else int(self.whole(f"{field.name}_offsets")[row])
        return begin + (first + step) * size

    def files(self, field: Field, row: int, first: int, end: int) -> List[np.ndarray]:
        """Return steps first to end of a field as a list of JPEG files, U8 [bytes] each; raise DamagedError if the offsets are invalid."""
        offsets = self.whole(f"{field.name}_offsets")[row, first:end + 1].tolist()
        tensor = self.tensors[field.tensor]
        if offsets[0] < 0 or offsets[-1] > tensor.shape[0] or any(a > b for a, b in zip(offsets, offsets[1:])):
            raise DamagedError(f"the offsets of {field.tensor} are not ascending or exceed it", self.path)
        data = self.file.view(tensor.begin + offsets[0], DTYPES["U8"], (offsets[-1] - offsets[0],))
        return [data[begin - offsets[0]:stop - offsets[0]] for begin, stop in zip(offsets, offsets[1:])]
