"""The Parquet files of a LeRobot dataset: their rows, some at a time, and columns as arrays."""
from __future__ import annotations

from typing import Any, Dict, Iterator, Sequence, Tuple

import numpy as np

from .errors import DamagedError, DependencyError, MissingError

ROWS = 8192  # that are read at once


def arrow() -> Tuple[Any, Any, Any]:
    """pyarrow, its functions and its Parquet. DependencyError: it is not installed."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise DependencyError("LeRobot's tables are Parquet files: pip install 'bload[lerobot]'") from None
    return pyarrow, pyarrow.compute, pyarrow.parquet


def open_table(path: str) -> Any:
    """A Parquet file. MissingError, DamagedError."""
    pyarrow, _, parquet = arrow()
    try:
        return parquet.ParquetFile(path)
    except FileNotFoundError:
        raise MissingError("the table is missing", path) from None
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise DamagedError(f"no readable Parquet file: {error}", path) from None


def read_batches(table: Any, path: str, columns: Sequence[str], rows: int) -> Iterator[Any]:
    """Its rows, some at a time. DamagedError: a column is missing, or the data are damaged."""
    pyarrow = arrow()[0]
    there = table.schema_arrow.names
    for name in columns:
        if name not in there:
            raise DamagedError(f'no column "{name}"', path)
    try:
        yield from table.iter_batches(batch_size=rows, columns=list(columns))
    except (pyarrow.ArrowException, OSError) as error:
        raise DamagedError(f"the data cannot be read: {error}", path) from None


def to_numpy(values: Any) -> np.ndarray:
    """An array of the numbers of a column, [rows, ...]. ValueError: some are missing, or the lists differ in length."""
    pyarrow, compute, _ = arrow()
    types = pyarrow.types
    shape = [len(values)]
    while True:
        if isinstance(values, pyarrow.ExtensionArray):
            values = values.storage
        if values.null_count:
            raise ValueError("a value is missing")
        if not (types.is_list(values.type) or types.is_large_list(values.type) or types.is_fixed_size_list(values.type)):
            break
        sizes = compute.min_max(compute.list_value_length(values)).as_py()
        if sizes["min"] != sizes["max"]:
            raise ValueError(f"lists of {sizes['min']} and of {sizes['max']} values")
        shape.append(sizes["min"] or 0)
        values = values.flatten()
    return np.ascontiguousarray(values.to_numpy(zero_copy_only=False)).reshape(shape)


def first_fault(values: Any) -> int:
    """The row of a column that to_numpy refuses."""
    shapes: Dict[int, Tuple[int, ...]] = {}
    for row in range(len(values)):
        try:
            shape = to_numpy(values.slice(row, 1)).shape
        except ValueError:
            return row
        if shape != shapes.setdefault(0, shape):
            return row
    return 0
