"""Decode pictures that shards store as JPEG files or as differences."""
from __future__ import annotations

import io
from typing import Any, List, Sequence, Tuple

import numpy as np

from .errors import DependencyError

RAW, JPEG, DELTA = "raw", "jpeg", "delta"


def undelta(steps: np.ndarray) -> np.ndarray:
    """Return pictures from differences, both U8 [n, H, W, C]: sums along rows, columns and colours, modulo 256."""
    out = np.cumsum(steps, axis=2, dtype=np.uint8)
    for axis in 1, 3:  # neighbours are far apart (1) or few (3): adding whole slices is four times as fast as cumsum
        along = np.moveaxis(out, axis, 0)
        for i in range(1, len(along)):
            along[i] += along[i - 1]
    return out


def decode_jpeg(files: Sequence[np.ndarray], shape: Tuple[int, ...]) -> np.ndarray:
    """Return pictures, U8 [n, *shape], from n JPEG files, U8 [bytes] each; an empty file gives zeros.

    Pillow decodes with the defaults of libjpeg-turbo, as libbload does. Raises ValueError if a file is damaged, and DependencyError without
    Pillow.
    """
    try:
        from PIL import Image  # takes long to import, and few datasets need it
    except ImportError:
        raise DependencyError("pictures are stored as JPEG files: pip install pillow, or use decode=False to get the files") from None
    out = np.zeros((len(files), *shape), np.uint8)
    for step, file in enumerate(files):
        if len(file) > 0:
            out[step] = decode_file(Image, file, shape)
    return out


def decode_file(pillow: Any, file: np.ndarray, shape: Tuple[int, ...]) -> Any:
    """Return one picture, U8 [*shape]; raise ValueError if the file is damaged, or the picture has another shape. pillow: PIL.Image."""
    try:
        with pillow.open(io.BytesIO(file.data), formats=("JPEG",)) as picture:
            if (picture.height, picture.width, len(picture.getbands())) == shape:  # grey pictures have two axes
                return np.asarray(picture).reshape(shape)
    except Exception as error:  # Pillow has no common class for the errors of damaged files
        raise ValueError(f"cannot decode a JPEG file: {error}") from None
    raise ValueError(f"a JPEG file has {picture.width} x {picture.height} pixels and the mode {picture.mode}")


def join(parts: List[Any]) -> Any:
    """Concatenate steps: arrays [n, ...] or lists of files."""
    if len(parts) == 1:
        return parts[0]
    return sum(parts, []) if isinstance(parts[0], list) else np.concatenate(parts)
