"""Read the Parquet files of a LeRobot dataset: rows in batches, and columns as arrays."""
from __future__ import annotations

from typing import Any, Dict, Iterator, Sequence, Tuple

import numpy as np

from . import apart
from .errors import DamagedError, DependencyError, Error, MissingError
from .mapping import open_regular

ROWS = 8192  # rows to read at a time


def arrow() -> Tuple[Any, Any, Any]:
    """Return pyarrow and its modules compute and parquet; raise DependencyError if it is not installed."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise DependencyError("LeRobot's tables are Parquet files: pip install 'bload[lerobot]'") from None
    return pyarrow, pyarrow.compute, pyarrow.parquet


def open_table(path: str) -> Any:
    """Open a Parquet file; raise MissingError or DamagedError."""
    pyarrow, _, parquet = arrow()
    apart.set_current_file(path)
    try:
        open_regular(path).close()
        return parquet.ParquetFile(path)
    except FileNotFoundError:
        raise MissingError("the table is missing", path) from None
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, Error):
            raise
        raise DamagedError(f"not a readable Parquet file: {error}", path) from None


def read_schema(table: Any, path: str) -> Any:
    """Return the columns of a table; raise DamagedError if Arrow cannot read their types."""
    try:
        return table.schema_arrow
    except (arrow()[0].ArrowException, ValueError) as error:
        raise DamagedError(f"not a readable Parquet file: {error}", path) from None


def read_batches(table: Any, path: str, columns: Sequence[str], rows: int) -> Iterator[Any]:
    """Yield the rows of a table in batches; raise DamagedError if a column is missing, or the data are damaged."""
    there = read_schema(table, path).names
    for name in columns:
        if name not in there:
            raise DamagedError(f'no column "{name}"', path)
    try:
        for batch in table.iter_batches(batch_size=rows, columns=list(columns)):
            batch.validate(full=True)  # finds texts that are not UTF-8, for example
            yield batch
    except (arrow()[0].ArrowException, OSError) as error:
        raise DamagedError(f"the data cannot be read: {error}", path) from None


def to_numpy(values: Any) -> np.ndarray:
    """Return the numbers of a column as an array [rows, ...]; raise ValueError if one is missing, or lists differ in length."""
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
    """Return the first row of a column that makes to_numpy fail."""
    shapes: Dict[int, Tuple[int, ...]] = {}
    for row in range(len(values)):
        try:
            shape = to_numpy(values.slice(row, 1)).shape
        except ValueError:
            return row
        if shape != shapes.setdefault(0, shape):
            return row
    return 0
