"""The C library: finds and loads libbload, and declares what the package calls of it (include/bload.h).

The library is loaded at the first call that needs it, so that `import bload` works without it. ctypes releases the GIL during each call.
"""
from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import os
import threading
from ctypes import POINTER, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Callable, Dict, List, Optional, TypeVar

import numpy as np

from .errors import DependencyError, OptionError

SONAME = "libbload.so.2"
OK, EFAIL, EUSAGE, EDATA, ECANCEL = 0, -1, -2, -3, -4
MAX_COLUMNS = 8

# Seconds that the main thread waits for an interrupted call to end. A thread that takes longer ends by itself.
PATIENCE = 0.3

Result = TypeVar("Result")


class Error(ctypes.Structure):
    _fields_ = [("code", c_int), ("text", c_char * 1024)]


class Counts(ctypes.Structure):
    """struct bload_counts."""

    _fields_ = [("T", c_int64), ("S", c_int64), ("blocks", c_int64), ("pieces", c_int64), ("sequences", c_int64), ("steps", c_int64),
                ("longest", c_int64), ("padding", c_int64), ("deleted", c_int64), ("cut", c_int64), ("lower_bound", c_int64),
                ("efficiency", c_double), ("overlap", c_int64), ("repeated", c_int64), ("cp", c_int64),
                ("bundles", c_int64), ("bundles_split", c_int64)]


class Imbalance(ctypes.Structure):
    """struct bload_imbalance."""

    _fields_ = [("imbalance", c_double), ("imbalance_before", c_double), ("imbalance_bound", c_double), ("highest_block_cost", c_double),
                ("ks_distance", c_double), ("ks_distance_random", c_double), ("cost_correlation", c_double)]


class MaxColumn(ctypes.Structure):
    """struct bload_max_column."""

    _fields_ = [("max", c_double), ("value", c_void_p)]


class PlanOptions(ctypes.Structure):
    """struct bload_plan_options. Arrays are given by address, and must live until the call ends."""

    _fields_ = [("size", c_size_t), ("strategy", c_int), ("fill", c_int), ("oversize", c_int), ("remainder", c_int), ("sync", c_int),
                ("all_clips", c_int), ("keep_order", c_int), ("balance", c_int), ("T", c_int64), ("clip", c_int64), ("seed", c_uint64),
                ("effort", c_int64), ("align", c_int64), ("overlap", c_int64), ("max_sequences", c_int64), ("min_length", c_int64),
                ("max_length", c_int64), ("spare", c_double), ("world_size", c_int64), ("batch_size", c_int64), ("accumulate", c_int64),
                ("cost_alpha", c_double), ("cost_beta", c_double), ("cost", c_void_p), ("group", c_void_p), ("max_columns", c_int),
                ("max_column", POINTER(MaxColumn)), ("cancel", POINTER(c_int)), ("cp", c_int64), ("together", c_void_p)]


class PartitionOptions(ctypes.Structure):
    """struct bload_partition_options. Arrays are given by address, and must live until the call ends."""

    _fields_ = [("size", c_size_t), ("ranks", c_int64), ("micro_batches", c_int64), ("max_tokens", c_int64), ("multiple", c_int64),
                ("sync", c_int), ("cost_alpha", c_double), ("cost_beta", c_double), ("cost", c_void_p), ("group", c_void_p),
                ("together", c_void_p), ("cancel", POINTER(c_int))]


class Partition(ctypes.Structure):
    """struct bload_partition."""

    _fields_ = [("ranks", c_int64), ("micro_batches", c_int64), ("micro_batches_bound", c_int64), ("place", POINTER(c_int64)),
                ("cost", POINTER(c_double)), ("tokens", POINTER(c_int64)), ("lost", c_double), ("bound", c_double)]


# The functions that the package calls: the type of the result, then those of the arguments. A structure that the library owns is c_void_p.
FUNCTIONS: Dict[str, List[Any]] = {
    "bload_version": [c_char_p],
    "bload_plan_make": [c_int, c_void_p, c_size_t, POINTER(PlanOptions), POINTER(c_void_p), POINTER(Error)],
    "bload_plan_free": [None, c_void_p],
    "bload_plan_counts": [POINTER(Counts), c_void_p],
    "bload_plan_imbalance": [POINTER(Imbalance), c_void_p],
    "bload_partition_make": [c_int, c_void_p, c_size_t, POINTER(PartitionOptions), POINTER(POINTER(Partition)), POINTER(Error)],
    "bload_partition_free": [None, POINTER(Partition)],
    "bload_plan_copy": [None, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p],
}

HOW = (f"{SONAME} is in bload's wheel, in Debian's package libbload2, and in what `make install` installs; "
       "BLOAD_LIBRARY=FILE names another file")


def beside() -> Optional[str]:
    """Return the path of the library that the wheel installed with this package, or None."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = [os.path.join(os.path.dirname(package), "lib", SONAME)]  # of `pip install --target`
    try:
        distribution = importlib.metadata.distribution("bload")
        if os.path.abspath(str(distribution.locate_file("bload"))) == package:  # otherwise the metadata of another copy
            paths += [os.path.abspath(str(distribution.locate_file(file))) for file in distribution.files or [] if file.name == SONAME]
    except importlib.metadata.PackageNotFoundError:
        pass
    return next((path for path in paths if os.path.exists(path)), None)


@functools.lru_cache(maxsize=None)
def load() -> ctypes.CDLL:
    """Return the loaded library: the one of BLOAD_LIBRARY, of the wheel, or of the system. DependencyError: there is none, or it is too old."""
    path = os.environ.get("BLOAD_LIBRARY") or beside() or SONAME
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise DependencyError(f"planning needs the C library of bload, which cannot be loaded ({error}): {HOW}") from None
    for name, (result, *arguments) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise DependencyError(f"{path} has no function {name}: it is not libbload, or an older one than this package needs. {HOW}") from None
        function.restype, function.argtypes = result, arguments
    return library


def version() -> str:
    """Return the version of the loaded library."""
    return str(load().bload_version().decode())


def address(array: Optional[np.ndarray]) -> Optional[int]:
    """Return the address of an array's first element, or None for no array. The caller keeps the array."""
    return None if array is None else array.ctypes.data


def check(code: int, error: Error, reword: Callable[[str], str] = str) -> None:
    """Raise the exception of a call that failed; `reword` turns the library's message into one about Python's arguments."""
    text = error.text.decode(errors="replace")
    if code == OK:
        return
    if code == EFAIL and text == "out of memory":
        raise MemoryError(text)
    if code == ECANCEL:
        raise KeyboardInterrupt
    raise OptionError(reword(text))


def interruptible(call: Callable[[c_int], Result]) -> Result:
    """Return call(cancel), where cancel is the flag that the call passes to the library.

    Python handles signals on the main thread, between two of its instructions. There the call runs on another thread, so that Ctrl-C raises
    KeyboardInterrupt while the library works: the flag is set, and the exception goes on when the call has ended, or after PATIENCE. Every
    other thread makes the call itself.
    """
    cancel = c_int(0)
    if threading.current_thread() is not threading.main_thread():
        return call(cancel)
    result: List[Result] = []
    failure: List[BaseException] = []
    running = threading.Lock()

    def run() -> None:
        try:
            result.append(call(cancel))
        except BaseException as error:  # raised again on the main thread
            failure.append(error)
        finally:
            running.release()

    thread = threading.Thread(target=run, name="bload", daemon=True)
    running.acquire()
    try:
        thread.start()
        running.acquire()
    except BaseException as error:
        if isinstance(error, RuntimeError) and thread.ident is None:
            return call(cancel)  # there can be no further thread: the call cannot be interrupted
        cancel.value = 1
        running.acquire(timeout=PATIENCE)
        raise
    if failure:
        raise failure.pop()
    return result.pop()
