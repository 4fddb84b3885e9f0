"""The header of a safetensors file, checked before use.

u64 n | n bytes of JSON | the tensors' bytes; https://github.com/huggingface/safetensors, "Format".
"""
from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import numpy as np

from .errors import DamagedError
from .forms import is_size
from .mapping import Bytes

PREFIX = 8
HEADER_MAX = 100_000_000

# numpy has no bfloat16: such tensors become U16 with the same bits.
DTYPES: Dict[str, np.dtype] = {
    "U8": np.dtype("u1"), "I8": np.dtype("i1"), "BOOL": np.dtype("?"),
    "I16": np.dtype("<i2"), "U16": np.dtype("<u2"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2"),
    "I32": np.dtype("<i4"), "U32": np.dtype("<u4"), "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"), "U64": np.dtype("<u8"), "F64": np.dtype("<f8"),
}


class Tensor(NamedTuple):
    """A tensor in a file. dtype: the type's name in safetensors. begin, end: offsets of its bytes in the file."""
    dtype: str
    shape: Tuple[int, ...]
    begin: int
    end: int


class Header(NamedTuple):
    """The tensors of a file by name, and its metadata."""
    tensors: Dict[str, Tensor]
    metadata: Dict[str, str]


def unique(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    """Return an object's members; raise ValueError for a duplicate name. This is the object_pairs_hook of parse_json."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate name in an object")
    return members


def parse_json(text: Bytes) -> Any:
    """Parse JSON strictly; raise ValueError if it is invalid."""
    try:
        return json.loads(bytes(text).decode(), object_pairs_hook=unique)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def bytes_of(dtype: str, shape: Tuple[int, ...]) -> int:
    """Return the bytes of a tensor."""
    count = DTYPES[dtype].itemsize
    for size in shape:
        count *= size
    return count


def parse_tensor(name: str, entry: Any, data: int, path: str) -> Tensor:
    """Return a tensor from its entry in the header; `data` is the offset of the first tensor. Raises DamagedError if the entry is invalid."""
    fault = DamagedError(f"the header's entry \"{name}\" is not a tensor", path)
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
        raise fault
    shape, offsets = entry.get("shape"), entry.get("data_offsets")
    if not isinstance(shape, list) or not all(map(is_size, shape)) or len(shape) > 32:
        raise fault
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(is_size, offsets)):
        raise fault
    if entry["dtype"] not in DTYPES:
        raise DamagedError(f"\"{name}\" has the unknown type {entry['dtype'][:20]}", path)
    tensor = Tensor(entry["dtype"], tuple(shape), data + offsets[0], data + offsets[1])
    if tensor.end - tensor.begin != bytes_of(tensor.dtype, tensor.shape):
        raise DamagedError(f"the size of \"{name}\" does not match its type and shape", path)
    return tensor


def check_places(tensors: Dict[str, Tensor], data: int, size: int, path: str) -> None:
    """Raise DamagedError unless the tensors cover the data without gaps or overlaps."""
    at = data
    for tensor in sorted(tensors.values(), key=lambda t: (t.begin, t.end)):
        if tensor.begin != at:
            raise DamagedError("the tensors have gaps or overlap", path)
        at = tensor.end
    if at != size:
        raise DamagedError(f"the file has {size} bytes, its header says {at}", path)


def read_header(read: Callable[[int, int], Bytes], size: int, path: str) -> Header:
    """Return the header of a file of size bytes, read by read(offset, size); raise DamagedError if it is invalid."""
    if size < PREFIX:
        raise DamagedError("too short for a safetensors file", path)
    length = int.from_bytes(read(0, PREFIX), "little")
    if length > HEADER_MAX or length > size - PREFIX:
        raise DamagedError(f"invalid header size, {length} bytes: truncated, or not a safetensors file", path)
    try:
        entries = parse_json(read(PREFIX, length))
    except ValueError as error:
        raise DamagedError(f"its header is damaged: {error}", path) from None
    if not isinstance(entries, dict):
        raise DamagedError("its header is not a JSON object", path)
    metadata = entries.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise DamagedError("the metadata of its header are not strings", path)
    data = PREFIX + length
    tensors = {name: parse_tensor(name, entry, data, path) for name, entry in entries.items()}
    check_places(tensors, data, size, path)
    return Header(tensors, metadata)


def expect(header: Header, name: str, dtype: str, shape: Tuple[int, ...], path: str) -> Tensor:
    """Return the tensor of this name; raise DamagedError if it is missing, or has another type or shape."""
    tensor = header.tensors.get(name)
    if tensor is None:
        raise DamagedError(f"no tensor \"{name}\"", path)
    if (tensor.dtype, tensor.shape) != (dtype, shape):
        raise DamagedError(f"\"{name}\" is {tensor.dtype} {list(tensor.shape)}, not {dtype} {list(shape)}", path)
    return tensor
