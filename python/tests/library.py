"""The C library, as far as blocks go: build/libbload.so, or BLOAD_LIBRARY."""
import ctypes
import os

import numpy as np

import tool

PATH = os.environ.get("BLOAD_LIBRARY", os.path.join(tool.ROOT, "build/libbload.so"))
TYPES = {"U8": "u1", "I8": "i1", "BOOL": "?", "I16": "<i2", "U16": "<u2", "I32": "<i4", "F32": "<f4", "I64": "<i8", "F64": "<f8"}
I64 = ctypes.c_int64


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 4096)]


class Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double if name == "efficiency" else I64) for name in (
        "T", "S", "blocks", "pieces", "sequences", "steps", "longest", "padding", "deleted", "cut", "lower_bound", "efficiency", "overlap",
        "repeated", "cp")]


class Field(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("item_bytes", ctypes.c_size_t),
                ("rank", ctypes.c_int), ("shape", I64 * 5), ("block_bytes", ctypes.c_size_t)]


class Tables(ctypes.Structure):
    _fields_ = [("num_sequences", ctypes.c_int32), ("cu_seqlens", ctypes.POINTER(ctypes.c_int32)), ("sequence", ctypes.POINTER(I64)),
                ("length", ctypes.POINTER(ctypes.c_int32)), ("source_start", ctypes.POINTER(I64)),
                ("cu_seqlens_padded", ctypes.POINTER(ctypes.c_int32))]


class Dataset:
    """A dataset or view, opened by the library. block(i): its fields and tables, decoded, as numpy arrays."""

    def __init__(self, path):
        self.library = ctypes.CDLL(PATH)
        self.library.bload_dataset_counts.restype = ctypes.POINTER(Counts)
        self.library.bload_dataset_field.restype = ctypes.POINTER(Field)
        self.error, self.handle = Error(), ctypes.c_void_p()
        self.call("bload_dataset_open", os.fsencode(path), ctypes.byref(self.handle))
        self.counts = self.library.bload_dataset_counts(self.handle).contents
        self.fields = [self.library.bload_dataset_field(self.handle, f).contents for f in range(self.library.bload_dataset_field_count(self.handle))]

    def call(self, name, *arguments):
        if getattr(self.library, name)(*arguments, ctypes.byref(self.error)) != 0:
            raise AssertionError(f"{name}: {self.error.text.decode()}")

    def set_epoch(self, number):
        self.call("bload_dataset_set_epoch", self.handle, I64(number))

    def block(self, i):
        block, pointer = {}, ctypes.POINTER(Tables)()
        for number, field in enumerate(self.fields):
            data = np.empty(tuple(field.shape[:field.rank]), TYPES[field.dtype.decode()])
            assert data.nbytes == field.block_bytes
            self.call("bload_dataset_read_block", self.handle, I64(i), number, ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(data.nbytes))
            block[field.name.decode()] = data
        self.call("bload_dataset_read_tables", self.handle, I64(i), ctypes.byref(pointer))
        tables = pointer.contents
        block["num_sequences"] = np.int32(tables.num_sequences)
        S = self.counts.S
        assert bool(tables.cu_seqlens_padded) == (self.counts.cp > 0)
        padded = (("cu_seqlens_padded", S + 1),) if self.counts.cp else ()
        for name, size in (("cu_seqlens", S + 1), ("sequence", S), ("length", S), ("source_start", S), *padded):
            block[name] = np.ctypeslib.as_array(getattr(tables, name), (size,)).copy()
        return block

    def close(self):
        self.library.bload_dataset_close(self.handle)
