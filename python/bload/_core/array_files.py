"""Reads the arrays of files that have to be unpickled, without running what they say: torch's files, pickles, LMDB, MATLAB's version 5.

torch.load(weights_only=True) and the unpickler below build only arrays and plain containers; a file that asks for anything else is refused,
with its name. Arrays come one at a time, and torch's are mapped into memory, so that memory holds one of them; a pickle is read whole.
"""
from __future__ import annotations

import inspect
import io
import os
import pickle
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from .errors import DependencyError, MissingError, OptionError

KINDS = {".pt": "torch", ".pth": "torch", ".pkl": "pickle", ".pickle": "pickle", ".mat": "matlab", ".mdb": "lmdb", ".lmdb": "lmdb"}
DEPTH = 16  # containers in each other
NPY = b"\x93NUMPY"
READABLE = "biuf"  # kinds of numpy's types that bload packs: booleans, integers, floats


class Refused(Exception):
    """A file or a value cannot be converted; the text says why."""


class Found(NamedTuple):
    """An array of a file, or why a value is none."""

    name: str  # of the array in the file: "a/b"; "" where the file is one array
    array: Any
    fault: Optional[str] = None


class Source(NamedTuple):
    """A file to convert, or a folder that is an LMDB database."""

    path: str
    name: str  # below the output: the path below the folder that was named, without the extension
    kind: str


class Raw(NamedTuple):
    """How the bytes of a value become an array: --dtype and --shape."""

    dtype: Any
    shape: Tuple[int, ...]


# --- sources


def kind_of(path: str) -> Optional[str]:
    """Return how a path is read, by its extension, or None."""
    if os.path.isdir(path):
        return "lmdb" if os.path.isfile(os.path.join(path, "data.mdb")) else None
    return KINDS.get(os.path.splitext(path)[1].lower())


def find(paths: List[str]) -> List[Source]:
    """Return the sources in the order of their names: files, LMDB databases, and all of them below folders."""
    found: List[Source] = []
    for path in paths:
        if not os.path.exists(path):
            raise MissingError("file not found", path)
        if os.path.isdir(path) and kind_of(path) is None:
            found += below(path)
            continue
        kind = kind_of(path)
        if kind is None:
            raise OptionError(f"not a file that is converted here: {', '.join(sorted(KINDS))}; bload itself reads .npy, .npz, .safetensors "
                              "and .h5", path)
        found.append(Source(path, os.path.splitext(os.path.basename(os.path.normpath(path)))[0], kind))
    seen: Dict[str, str] = {}
    for source in found:
        if seen.setdefault(source.name, source.path) != source.path:
            raise OptionError(f"would be written to the same place as {seen[source.name]}: convert one of them with another -o", source.path)
    return found


def below(folder: str) -> Iterator[Source]:
    """Yield the sources below a folder."""
    for parent, folders, files in os.walk(folder):
        folders.sort()
        names = sorted(files)
        inner = [name for name in folders if kind_of(os.path.join(parent, name)) == "lmdb"]
        folders[:] = [name for name in folders if name not in inner and not name.startswith(".")]
        for name in sorted(inner + [name for name in names if not name.startswith(".") and kind_of(os.path.join(parent, name))]):
            path = os.path.join(parent, name)
            yield Source(path, os.path.splitext(os.path.relpath(path, folder))[0], str(kind_of(path)))


# --- values


def number_array(value: Any) -> Optional[Any]:
    """Return a list or tuple of numbers, also nested, as an array; None: it is something else."""
    if not value:
        return None
    first: Any = value
    for _ in range(DEPTH):
        if not isinstance(first, (list, tuple)) or not first:
            break
        first = first[0]
    if not isinstance(first, (bool, int, float, np.number, np.bool_)):
        return None
    try:
        made = np.array(value)
    except (ValueError, TypeError, OverflowError):  # rows of different lengths
        return None
    return made if made.dtype.kind in READABLE else None


def arrays_in(value: Any, convert: Callable[[Any], Optional[Any]], name: str = "", depth: int = 0) -> Iterator[Found]:
    """Yield the arrays in a value: itself, or those in dictionaries, lists and tuples. convert: makes an array of a leaf, or returns None."""
    try:
        array = convert(value)
    except Refused as refused:
        yield Found(name, None, str(refused))
        return
    if array is not None:
        yield Found(name, array)
        return
    if depth == DEPTH:
        yield Found(name, None, f"more than {DEPTH} containers in each other")
        return
    if isinstance(value, dict):
        pairs = [(text_of(key) or "%", one) for key, one in value.items()]
    elif isinstance(value, (list, tuple)):
        array = number_array(value)
        if array is not None:
            yield Found(name, array)
            return
        width = len(str(len(value) - 1))
        pairs = [(str(i).zfill(width), one) for i, one in enumerate(value)]
    else:
        yield Found(name, None, f"{a(type(value).__name__)}, no array")
        return
    for key, one in pairs:
        yield from arrays_in(one, convert, f"{name}/{key}" if name else key, depth + 1)


def a(noun: str) -> str:
    """Return a noun with its article."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def text_of(key: Any) -> str:
    """Return the key of a dictionary or database as text."""
    return key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else str(key)


def plain(value: Any) -> Optional[Any]:
    """Return a numpy array as it is, and None for other values."""
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 0:
        return None
    return value if isinstance(value, (np.ndarray, np.number, np.bool_)) else None


# --- pickles


def encode(text: str, encoding: str = "latin1") -> bytes:
    """Stand in for _codecs.encode, by which old pickles store bytes."""
    if encoding != "latin1":
        raise Refused(f"it encodes text as {encoding}")
    return text.encode("latin1")


class Unpickler(pickle.Unpickler):
    """An unpickler of numpy arrays and plain containers: it finds nothing else, so that a file cannot run anything."""

    allowed = {("numpy", "ndarray"), ("numpy", "dtype"), ("collections", "OrderedDict"), ("builtins", "bytearray")}
    functions = {("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer")}

    def find_class(self, module: str, name: str) -> Any:
        """Return the class or function of that name if it is allowed."""
        if (module, name) == ("_codecs", "encode"):
            return encode
        parts = module.split(".")
        known = len(parts) == 3 and parts[0] == "numpy" and parts[1] in ("core", "_core") and (parts[2], name) in self.functions
        if not known and (module, name) not in self.allowed:
            raise Refused(f"it holds {module}.{name}, and only numpy arrays in dictionaries, lists and tuples are read")
        if known:  # numpy has called the module both names
            module = module.replace("numpy.core", "numpy._core") if int(np.__version__.split(".")[0]) > 1 else module.replace("_core", "core")
        return super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        """Refuse an object that is stored elsewhere, as torch's tensors are."""
        raise Refused("it refers to objects outside of it: a file of torch.save is named .pt or .pth")


def unpickle(file: Any) -> Any:
    """Return the value of a pickle, built of arrays and plain containers; raise Refused."""
    try:
        return Unpickler(file, encoding="latin1").load()
    except (Refused, MemoryError):
        raise
    except Exception as error:  # whatever a damaged pickle leads to
        raise Refused(f"a damaged pickle ({type(error).__name__}: {error})") from None


def read_pickle(path: str, raw: Optional[Raw]) -> Iterator[Found]:
    """Yield the arrays of a pickle."""
    del raw
    with open(path, "rb") as file:
        value = unpickle(file)
    yield from arrays_in(value, plain)


# --- torch


def tensor_array(value: Any) -> Optional[Any]:
    """Return a tensor as an array, bfloat16 as float32; None: it is no tensor. Raise Refused for one that has no array."""
    import torch
    if not isinstance(value, torch.Tensor):
        return plain(value)
    tensor = value.detach()
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise Refused("a sparse or quantized tensor")
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()  # each bfloat16 is a float32
    try:
        return tensor.resolve_conj().resolve_neg().numpy()
    except (TypeError, RuntimeError) as error:
        raise Refused(f"a tensor of {tensor.dtype}: {error}") from None


def read_torch(path: str, raw: Optional[Raw]) -> Iterator[Found]:
    """Yield the tensors of a file of torch.save."""
    del raw
    try:
        import torch
    except ImportError:
        raise DependencyError("files of torch.save need the package torch: pip install torch", path) from None
    options: Dict[str, Any] = {"map_location": "cpu", "weights_only": True}
    mapped = {"mmap": True} if "mmap" in inspect.signature(torch.load).parameters else {}
    try:
        try:
            value = torch.load(path, **options, **mapped)
        except RuntimeError:  # the format before torch 1.6 cannot be mapped
            value = torch.load(path, **options)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # an UnpicklingError for what weights_only forbids; any other for a damaged file
        lines = [line for line in str(error).split("\n") if line.strip()]
        told = next((line for line in lines if "GLOBAL" in line or "Unsupported" in line), lines[0] if lines else type(error).__name__)
        raise Refused(f"torch.load(weights_only=True) refuses it: {told.strip()[:300]}") from None
    yield from arrays_in(value, tensor_array)


# --- LMDB


def value_arrays(data: bytes, raw: Optional[Raw]) -> Iterator[Found]:
    """Yield the arrays in a value of a database: NPY, a pickle, or raw elements."""
    if data[:6] == NPY:
        try:
            yield Found("", np.lib.format.read_array(io.BytesIO(data), allow_pickle=False))
        except ValueError as error:
            yield Found("", None, f"a damaged NPY value: {error}")
    elif raw is not None:
        size = raw.dtype.itemsize * int(np.prod([n for n in raw.shape if n >= 0], dtype=np.int64))
        if len(data) % size if -1 in raw.shape else len(data) != size:
            yield Found("", None, f"{len(data)} bytes do not fit --shape {','.join(map(str, raw.shape))} of {size} bytes")
        else:
            yield Found("", np.frombuffer(data, raw.dtype).reshape(raw.shape))
    elif data[:1] == b"\x80":
        try:
            yield from arrays_in(unpickle(io.BytesIO(data)), plain)
        except Refused as refused:
            yield Found("", None, str(refused))
    else:
        yield Found("", None, f"{len(data)} bytes, neither NPY nor a pickle: say what they are with --dtype and --shape")


def read_lmdb(path: str, raw: Optional[Raw]) -> Iterator[Found]:
    """Yield the arrays of an LMDB database, value by value."""
    try:
        import lmdb
    except ImportError:
        raise DependencyError("LMDB needs the package lmdb: pip install lmdb", path) from None
    try:
        with lmdb.open(path, readonly=True, lock=False, readahead=False, subdir=os.path.isdir(path)) as base, base.begin() as reading:
            for key, value in reading.cursor():
                name = text_of(key)
                for found in value_arrays(bytes(value), raw):
                    yield found._replace(name=f"{name}/{found.name}" if found.name else name)
    except lmdb.Error as error:
        raise Refused(f"LMDB says: {error}") from None


# --- MATLAB


def read_matlab(path: str, raw: Optional[Raw]) -> Iterator[Found]:
    """Yield the variables of a MATLAB file of version 4 or 5, one at a time."""
    del raw
    try:
        import scipy.io
    except ImportError:
        raise DependencyError("MATLAB files of version 5 need the package scipy: pip install scipy", path) from None
    try:
        names = [name for name, _, _ in scipy.io.whosmat(path)]
        for name in names:
            value = scipy.io.loadmat(path, variable_names=[name])[name]
            yield from arrays_in(value, plain, name)
    except NotImplementedError:
        raise Refused("MATLAB 7.3, which bload reads itself") from None
    except (OSError, MemoryError):
        raise
    except Exception as error:  # scipy raises whatever a damaged file leads to
        raise Refused(f"scipy cannot read it: {error}") from None


READERS: Dict[str, Callable[[str, Optional[Raw]], Iterator[Found]]] = {
    "torch": read_torch, "pickle": read_pickle, "lmdb": read_lmdb, "matlab": read_matlab}


def read(source: Source, raw: Optional[Raw]) -> Iterator[Found]:
    """Yield all values of a source, in order; raise Refused where it cannot be read, or not further."""
    for found in READERS[source.kind](source.path, raw):
        yield checked(found)


def checked(found: Found) -> Found:
    """Return what was found with a fault if the array is none that bload packs."""
    array: Union[np.ndarray, Any] = found.array
    if found.fault is not None:
        return found
    if not isinstance(array, np.ndarray) or array.ndim == 0:
        return found._replace(fault="a single number")
    if array.dtype.kind not in READABLE or array.dtype.itemsize > 8:
        return found._replace(fault=f"elements of type {array.dtype}")
    return found
