"""Divide blocks among the ranks of context parallelism, for bload.contracts. Needs only numpy.

A block of T steps consists of segments: its sequences, each with the padding behind it, and what is left of T. cu_seqlens_padded, which
`bload pack --cp N` stores, says where they begin and end; 2N divides all of them.
"""
from __future__ import annotations

from typing import NamedTuple, Optional

import numpy as np

from .arguments import integer
from .errors import Error, OptionError
from .packed import Batch, check_tables

PADDED = "cu_seqlens_padded"
LAYOUTS = "zigzag", "contiguous"


class Segments(NamedTuple):
    """The segments of B blocks: where they begin and end, and how many steps of their sequences they have.

    padded: I32 [B, S + 2], the start of every used slot, the end of the last one, then T to the end of the row. lengths: I32 [B, S + 2], sums
    of the lengths of the sequences; the last segment, which is padding, adds none. end: I64 [B], where that segment begins.
    """
    padded: np.ndarray
    lengths: np.ndarray
    end: np.ndarray

    def steps(self, cp: int, rank: int, layout: str) -> np.ndarray:
        """Return the steps of a rank, I64 [B, T / cp], in the order in which the rank has them.

        zigzag: of each segment, divided into 2 * cp chunks, the chunks `rank` and 2 * cp - 1 - rank. contiguous: a part of the block.
        """
        T = int(self.padded[0, -1])
        here = np.arange(T // cp)
        if layout == "contiguous":
            return np.tile(here + rank * (T // cp), (len(self.padded), 1))
        out = np.empty((len(self.padded), T // cp), np.int64)
        for row, edges in zip(out, self.padded.astype(np.int64)):
            segment = np.searchsorted(edges, here * cp, "right") - 1
            first, half = edges[segment], (edges[segment + 1] - edges[segment]) // (2 * cp)
            place = here - first // cp
            row[:] = first + place + np.where(place < half, rank * half, (2 * cp - 2 - rank) * half)
        return out

    def cost(self, cp: int, layout: str) -> np.ndarray:
        """Return how many pairs of a step and a step before it, or the same, each rank has in the sequences with their padding: I64 [B, cp].

        Causal attention computes these pairs. The last segment, which is no sequence, counts as nothing.
        """
        width: np.ndarray = np.diff(self.padded.astype(np.int64))
        width[self.padded[:, :-1] >= self.end[:, None]] = 0
        whole = width * (width + 1) // 2
        if layout == "zigzag":  # chunks r and 2 * cp - 1 - r of a segment have as many pairs as any other two
            return np.repeat(whole.sum(1, keepdims=True) // cp, cp, 1)
        edges = np.arange(cp + 1) * (int(self.padded[0, -1]) // cp)
        # The pairs of the steps before each edge: of each segment, those of as many of its steps.
        before: np.ndarray = np.clip(edges[None, None] - self.padded[:, :-1, None].astype(np.int64), 0, width[..., None])
        out: np.ndarray = np.diff((before * (before + 1) // 2).sum(1))
        return out


def check_ranks(cp: Optional[int], rank: Optional[int], layout: str = LAYOUTS[0]) -> None:
    """Raise OptionError if there are no such ranks, or no such layout; a rank needs the number of ranks."""
    if cp is None:
        if rank is not None:
            raise OptionError("rank needs cp, the number of ranks of context parallelism")
        return
    if integer("cp must be a number of ranks", cp) < 1:
        raise OptionError(f"cp must be at least 1, the number of ranks of context parallelism, not {cp}")
    if rank is not None and not 0 <= integer("rank must be the number of a rank", rank) < cp:
        raise OptionError(f"rank must be between 0 and {cp - 1}, as cp is {cp}, not {rank}")
    if layout not in LAYOUTS:
        raise OptionError(f"layout must be \"zigzag\" or \"contiguous\", not {layout!r}")


def segments_for(batch: Batch, cp: int, T: int) -> Segments:
    """Return the segments of the blocks; raise Error if cp ranks cannot divide them. A single rank needs no table."""
    check_tables(batch)
    if PADDED not in batch and cp > 1:
        raise Error(f"the batch has no \"{PADDED}\", because the dataset was not packed for context parallelism: pack it, or make a view of it "
                    f"(bload view), with --cp {cp}")
    used = np.atleast_1d(np.asarray(batch["num_sequences"]))
    table = np.atleast_2d(np.asarray(batch[PADDED if PADDED in batch else "cu_seqlens"]))
    lengths = np.atleast_2d(np.asarray(batch["length"]))
    B, slots = lengths.shape
    padded, sums = np.full((B, slots + 2), T, np.int32), np.zeros((B, slots + 2), np.int32)
    here = np.arange(slots + 1) <= used[:, None]
    padded[:, :-1][here] = table[here]
    sums[:, 1:-1] = np.cumsum(lengths, 1)
    sums[:, -1] = sums[:, -2]
    if cp > 1 and (padded % (2 * cp)).any():
        fault = f"T = {T} is not a multiple of {2 * cp}" if T % (2 * cp) else f"it has sequences whose padded length is not a multiple of {2 * cp}"
        raise Error(f"cp = {cp} does not suit the dataset, because {fault}: pack it, or make a view of it (bload view), with --cp {cp}")
    return Segments(padded, sums, np.take_along_axis(table, used[:, None], 1)[:, 0].astype(np.int64))
