"""Derive the tables of blocks from a plan, and compare stored tables with them."""
from __future__ import annotations

from typing import Dict

import numpy as np

from .index import Plan

# Table entries to compare with the plan at a time: many blocks cost little more than one.
CHECKED = 1 << 14


def planned(plan: Plan, first: int, end: int) -> Dict[str, np.ndarray]:
    """Return the tables of the n blocks first to end if no sequence failed.

    cu_seqlens I32 [n, S + 1], num_sequences I64 [n], sequence I64 [n, S], length I32 [n, S], source_start I64 [n, S].

    Raises DamagedError if the plan is invalid. Its message names block first, which is right only for a single block.
    """
    n, S = end - first, plan.S
    pointers, (sequence, source_start, length, start, _) = plan.of(first, end)
    count = np.diff(pointers)
    block = np.repeat(np.arange(n), count)
    place = np.arange(len(block)) - np.repeat(pointers[:-1], count)
    tables = {"cu_seqlens": np.zeros((n, S + 1), np.int32), "num_sequences": count, "sequence": np.full((n, S), -1, np.int64),
              "length": np.zeros((n, S), np.int32), "source_start": np.zeros((n, S), np.int64)}
    last = np.cumsum(count)[count > 0] - 1
    tables["cu_seqlens"][count > 0] = (start + length)[last, None]
    for name, values in ("cu_seqlens", start), ("sequence", sequence), ("length", length), ("source_start", source_start):
        tables[name][block, place] = values
    return tables


def agree(stored: Dict[str, np.ndarray], plan: Dict[str, np.ndarray]) -> bool:
    """Return whether stored tables match those of a plan. A failed sequence keeps its slot, but not its row and length."""
    sequence = stored["sequence"]
    there = sequence >= 0
    if not ((sequence == plan["sequence"]) | (sequence == -1)).all():
        return False
    return all(np.array_equal(stored[name], plan[name]) for name in ("cu_seqlens", "num_sequences")) and \
        all(np.array_equal(stored[name], np.where(there, plan[name], 0)) for name in ("length", "source_start") if name in stored)
