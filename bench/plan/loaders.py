"""Blocks and waiting of bload.plan and of the heuristics of loaders: loaders.py COUNT. Prints the table of docs/online.md.

Each cell says how many more blocks there are than any plan needs, and how much ranks wait. Waiting is counted for 8 ranks that each take a block in
turn and wait for each other after each, with the cost 1,1e-3: 1 for each step of T, and 1e-3 for each squared step of a sequence. The blocks of the
heuristics are in random order; those that do not fill a step of all ranks are left out.
"""
import sys
import warnings

import grain
import numpy as np
from datasets import Dataset, disable_progress_bars
from lhotse import CutSet
from lhotse.dataset.sampling import SimpleCutSampler
from lhotse.testing.dummies import dummy_cut
from trl import pack_dataset

import bload

RANKS = 8


def by_bload(lengths, T):
    return [block.sequence for block in bload.plan(lengths, T, world_size=RANKS, cost="1,1e-3")]


def by_buffer(size):
    """As Energon's packing calls it: for one buffer of samples after the other."""
    def pack(lengths, T):
        return [begin + block.sequence for begin in range(0, len(lengths), size) for block in bload.plan(lengths[begin:begin + size], T)]
    return pack


def by_grain(kind, bins):
    def pack(lengths, T):
        rows = [{"x": np.full(length, i, np.int32)} for i, length in enumerate(lengths)]
        parent = grain.MapDataset.source(rows).to_iter_dataset()
        made = getattr(grain.experimental, kind)(parent, length_struct={"x": T}, num_packing_bins=bins)
        return [[int(entry["x"][start]) for start in np.flatnonzero((entry["x_segment_ids"] > 0) & (entry["x_positions"] == 0))] for entry in made]
    return pack


def by_lhotse(lengths, T):
    """Seconds are steps; the cuts are in random order already."""
    cuts = CutSet.from_cuts(dummy_cut(i, duration=float(length), recording_duration=float(length)) for i, length in enumerate(lengths))
    numbers = {cut.id: i for i, cut in enumerate(cuts)}
    return [[numbers[cut.id] for cut in batch] for batch in SimpleCutSampler(cuts, max_duration=float(T) + 0.5, concatenate_cuts=True)]


def by_trl(lengths, T):
    rows = Dataset.from_dict({"input_ids": [[i] * length for i, length in enumerate(lengths.tolist())]})
    packed = pack_dataset(rows, T, strategy="bfd")
    return [np.array(row["input_ids"])[np.cumsum([0, *row["seq_lengths"][:-1]])] for row in packed]


PACKERS = {"bload.plan": by_bload, "bload.plan, buffers of 1,000": by_buffer(1000), "bload.plan, buffers of 100": by_buffer(100),
           "Grain first fit, 64 bins": by_grain("FirstFitPackIterDataset", 64), "Grain best fit, 64 bins": by_grain("BestFitPackIterDataset", 64),
           "TRL bfd": by_trl, "lhotse SimpleCutSampler": by_lhotse}


def lists(count):
    draw = np.random.default_rng(0)
    heavy = np.minimum(8192, draw.lognormal(6.2, 1.1, count)).astype(int) + 1
    yield "rollouts, long tail", np.minimum(heavy, 8192), 8192
    short = draw.random(count) < 0.5
    yield "rollouts, bimodal", np.where(short, draw.integers(100, 400, count), draw.integers(3000, 6000, count)), 8192
    yield "documents", np.minimum(2048, draw.lognormal(5.5, 1.2, count)).astype(int) + 1, 2049
    yield "utterances, 0.01 s", (100 * np.minimum(30, draw.gamma(4, 3, count))).astype(int) + 1, 3001


def waiting(packs, lengths, T):
    cost = np.array([T + 1e-3 * float((lengths[np.asarray(pack, int)].astype(float) ** 2).sum()) for pack in packs])
    cost = cost[:len(cost) // RANKS * RANKS].reshape(-1, RANKS)
    return cost.max(1).sum() / cost.mean(1).sum() - 1


def cell(name, pack, lengths, T, bound):
    packs = pack(lengths, T)
    assert sorted(int(i) for one in packs for i in one) == list(range(len(lengths))), name
    assert max(lengths[np.asarray(one, int)].sum() for one in packs) <= T, name
    if pack is not by_bload:
        packs = [packs[i] for i in np.random.default_rng(1).permutation(len(packs))]
    return f"{100 * (len(packs) / bound - 1):.2f} %, {100 * waiting(packs, lengths, T):.1f} %"


def main():
    warnings.simplefilter("ignore")
    disable_progress_bars()
    each = [(name, lengths, T, bload.plan(lengths, T).lower_bound) for name, lengths, T in lists(int(sys.argv[1]))]
    print("|", *(f"| {name}, T = {T:,}" for name, _, T, _ in each), "|\n" + "|---" * (1 + len(each)) + "|")
    for name, pack in PACKERS.items():
        print(f"| {name} |", *(f"{cell(name, pack, *rest)} |" for _, *rest in each), flush=True)


main()
