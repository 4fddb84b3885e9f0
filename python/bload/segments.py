"""Arrays [T] computed from the boundaries of a block's sequences.

starts and lengths, I32 [num_sequences], are those of the used places of a block; a failed sequence has the length 0.
"""
from __future__ import annotations

from typing import Tuple

import numpy as np


def places(starts: np.ndarray, lengths: np.ndarray) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every step of a sequence, I64 [total] each: its position in the block, its place from 0, its position in the sequence."""
    lengths = lengths.astype(np.int64)
    number = np.repeat(np.arange(len(lengths)), lengths)
    position = np.arange(len(number)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return starts[number] + position, number, position


def segment_ids(starts: np.ndarray, lengths: np.ndarray, T: int) -> np.ndarray:
    """I32 [T]: k + 1 in the steps of the block's sequence k; 0 in padding and failed sequences."""
    out = np.zeros(T, np.int32)
    step, number, _ = places(starts, lengths)
    out[step] = number + 1
    return out


def position_ids(starts: np.ndarray, lengths: np.ndarray, T: int) -> np.ndarray:
    """I32 [T]: 0, 1, 2... from the start of each sequence, or of each piece of a cut one; 0 elsewhere."""
    out = np.zeros(T, np.int32)
    step, _, position = places(starts, lengths)
    out[step] = position
    return out


def mask(starts: np.ndarray, lengths: np.ndarray, T: int) -> np.ndarray:
    """BOOL [T]: true in the steps of sequences; false in padding and failed sequences."""
    out = np.zeros(T, np.bool_)
    out[places(starts, lengths)[0]] = True
    return out
