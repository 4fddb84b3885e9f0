"""Arrays computed from the boundaries of a block's sequences.

starts and lengths, I32 [num_sequences], are those of the used slots of a block; a failed sequence has the length 0.
"""
from __future__ import annotations

import numpy as np


def segment_ids(starts: np.ndarray, lengths: np.ndarray, T: int) -> np.ndarray:
    """Return k + 1 in the steps of the block's sequence k, 0 in padding and failed sequences: I32 [T]."""
    out = np.zeros(T, np.int32)
    for k, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist())):
        out[start:start + length] = k + 1
    return out


def segments_of(starts: np.ndarray, lengths: np.ndarray, T: int) -> np.ndarray:
    """Return the segment_ids of n blocks, I32 [n, T], from their tables: cu_seqlens I32 [n, S + 1], length I32 [n, S]."""
    change = np.zeros((len(lengths), T + 1), np.int32)
    block, k = np.nonzero(lengths)
    begin = starts[block, k].astype(np.int64)
    np.add.at(change, (block, begin), k.astype(np.int32) + 1)
    np.add.at(change, (block, begin + lengths[block, k]), -k.astype(np.int32) - 1)
    out: np.ndarray = change[:, :T].cumsum(1, dtype=np.int32)
    return out


def position_ids(starts: np.ndarray, lengths: np.ndarray, T: int) -> np.ndarray:
    """Return 0, 1, 2... from the start of each sequence, or of each piece of a cut one, 0 elsewhere: I32 [T]."""
    out = np.zeros(T, np.int32)
    numbers = np.arange(lengths.max(initial=0), dtype=np.int32)
    for start, length in zip(starts.tolist(), lengths.tolist()):
        out[start:start + length] = numbers[:length]
    return out


def mask(starts: np.ndarray, lengths: np.ndarray, T: int) -> np.ndarray:
    """Return true in the steps of sequences, false in padding and failed sequences: BOOL [T]."""
    out = np.zeros(T, np.bool_)
    for start, length in zip(starts.tolist(), lengths.tolist()):
        out[start:start + length] = True
    return out


def padded(starts: np.ndarray, used: np.ndarray, multiple: int) -> np.ndarray:
    """Return cu_seqlens I32 [..., S + 1] of blocks with num_sequences [...], with the end of the last sequence rounded up to a multiple."""
    end = -(-starts // multiple) * multiple
    out: np.ndarray = np.where(np.arange(starts.shape[-1]) >= np.expand_dims(used, -1), end, starts).astype(np.int32)
    return out
