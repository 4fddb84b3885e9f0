"""Derive the tables of blocks from a plan, and compare stored tables with them."""
from __future__ import annotations

from typing import Dict

import numpy as np

from . import segments
from .index import Index, Plan
from .manifest import CU_SEQLENS_PADDED
from .shard import Shard

# Table entries to compare with the plan at a time: many blocks cost little more than one.
CHECKED = 1 << 14
NO_POINTERS = np.zeros(0, np.int64)


def planned(plan: Plan, first: int, end: int) -> Dict[str, np.ndarray]:
    """Return the tables of the n blocks first to end if no sequence failed.

    cu_seqlens I32 [n, S + 1], num_sequences I64 [n], sequence I64 [n, S], length I32 [n, S], source_start I64 [n, S]; and for each field
    with steps of its own NAME_cu_seqlens I32 [n, S + 1]; for context parallelism cu_seqlens_padded I32 [n, S + 1].

    Raises DamagedError if the plan is invalid. Its message names block first, which is right only for a single block.
    """
    n, S = end - first, plan.S
    pointers, pieces = plan.of(first, end)
    count = np.diff(pointers)
    block = np.repeat(np.arange(n), count)
    place = np.arange(len(block)) - np.repeat(pointers[:-1], count)
    tables = {"num_sequences": count, "sequence": np.full((n, S), -1, np.int64), "length": np.zeros((n, S), np.int32),
              "source_start": np.zeros((n, S), np.int64)}
    for name in "sequence", "length", "source_start":
        tables[name][block, place] = getattr(pieces, name)
    last = np.cumsum(count)[count > 0] - 1
    for axis in "", *pieces.own:
        length, start = pieces.span(axis)
        table = tables[f"{axis}_cu_seqlens" if axis else "cu_seqlens"] = np.zeros((n, S + 1), np.int32)
        table[count > 0] = (start + length)[last, None]
        table[block, place] = start
    if plan.padded_to:
        tables[CU_SEQLENS_PADDED] = segments.padded(tables["cu_seqlens"], count, plan.padded_to)
    return tables


def agree(stored: Dict[str, np.ndarray], plan: Dict[str, np.ndarray]) -> bool:
    """Return whether stored tables match those of a plan. A failed sequence keeps its slot, but not its row and length."""
    sequence = stored["sequence"]
    there = sequence >= 0
    if not ((sequence == plan["sequence"]) | (sequence == -1)).all():
        return False
    return all(np.array_equal(stored[name], plan[name]) for name in plan
               if name in ("num_sequences", CU_SEQLENS_PADDED) or name.endswith("cu_seqlens")) and \
        all(np.array_equal(stored[name], np.where(there, plan[name], 0)) for name in ("length", "source_start") if name in stored)


def offsets_agree(shard: Shard, index: Index, first: int) -> bool:
    """Return whether the blocks of a shard have their own steps where the index says, and nothing else. first: its first block."""
    pointers = index.pointers(first, first + shard.blocks) if index.flat else NO_POINTERS
    for field in index.flat:
        before, offsets = index.before(field.name), shard.whole(f"{field.name}_offsets")
        if not np.array_equal(offsets, before[pointers] - before[pointers[0]]) or (np.diff(offsets) < 0).any() or \
                offsets[-1] != shard.tensors[field.name].shape[0]:
            return False
    return True
