"""What frameworks for post-training do with the rollouts of a step: each returns [ranks][micro-batches] lists of numbers, as bload.partition does.

verl and slime are not dependencies: one file of verl's wheel and two files of slime are loaded with stubs for what they import besides. Both have the
Apache License 2.0. The files lie in build/peers, to which fetch() brings them: verl's wheel from PyPI, slime's by commit from GitHub, as its name on
PyPI belongs to another package. Grain and TRL are packages of tests/trainers. They only pack: their packs are dealt to the ranks in turn, and ranks
without a pack get an empty one.
"""
import functools
import glob
import importlib.util
import os
import subprocess
import sys
import types
import urllib.error
import urllib.request
import zipfile
from unittest import mock

import numpy as np

VERL = "0.9.1"
SLIME = "624b824a898ab0ec1fcb4d373004c7f3852bf515"
PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/peers")
ALPHA, BETA = 24576, 1  # the cost of verl: calculate_workload


class Absent(Exception):
    """A peer whose files are not here, and cannot be fetched."""


def cost_of(lengths):
    lengths = np.asarray(lengths, np.int64)
    return ALPHA * lengths + BETA * lengths ** 2


def module(name, path, **stubs):
    """Load one file; stubs: the modules that it imports, by name with _ for the dots."""
    spec = importlib.util.spec_from_file_location(name, path)
    loaded = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, {**stubs, name: loaded}):
        spec.loader.exec_module(loaded)
    return loaded


def stub(name, **members):
    made = types.ModuleType(name)
    vars(made).update(members)
    return made


@functools.lru_cache(maxsize=None)
def verl():
    """verl.utils.seqlen_balancing of the released wheel."""
    importlib.import_module("torch.distributed")  # not while sys.modules has stubs, which are taken back
    os.makedirs(PEERS, exist_ok=True)
    wheel = os.path.join(PEERS, f"verl-{VERL}-py3-none-any.whl")
    if not os.path.exists(wheel):
        done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", PEERS, f"verl=={VERL}"], capture_output=True, text=True)
        if done.returncode:
            raise Absent(f"verl {VERL} cannot be downloaded")
    with zipfile.ZipFile(wheel) as file:
        path = file.extract("verl/utils/seqlen_balancing.py", PEERS)
    tensordict = stub("verl.utils.tensordict_utils", index_select_tensor_dict=lambda batch, numbers: numbers)
    return module("verl_seqlen_balancing", path, **{
        "verl": stub("verl"), "verl.protocol": stub("verl.protocol", DataProto=object), "verl.utils": stub("verl.utils", tensordict_utils=tensordict),
        "verl.utils.tensordict_utils": tensordict, "verl.utils.device": stub("verl.utils.device", get_device_name=lambda: "cpu")})


@functools.lru_cache(maxsize=None)
def slime():
    """slime.utils.dp_schedule at a commit, with verl's cost in place of its FLOPs of a model."""
    folder = os.path.join(PEERS, "slime")
    os.makedirs(folder, exist_ok=True)
    for name in "seqlen_balancing.py", "dp_schedule.py":
        path = os.path.join(folder, name)
        if os.path.exists(path):
            continue
        try:
            with urllib.request.urlopen(f"https://raw.githubusercontent.com/THUDM/slime/{SLIME}/slime/utils/{name}", timeout=20) as answer:
                content = answer.read()
        except (urllib.error.URLError, OSError) as error:
            raise Absent(f"slime cannot be fetched: {error}") from None
        with open(path, "wb") as file:
            file.write(content)
    balancing = module("slime_seqlen_balancing", os.path.join(folder, "seqlen_balancing.py"))
    flops = stub("slime.utils.flops_utils", calculate_fwd_flops=lambda lengths, args: sum(cost_of(lengths).tolist()))
    return module("slime_dp_schedule", os.path.join(folder, "dp_schedule.py"), **{
        "slime": stub("slime"), "slime.utils": stub("slime.utils"), "slime.utils.flops_utils": flops, "slime.utils.seqlen_balancing": balancing})


class Batch(dict):
    """The part of a TensorDict that rearrange_micro_batches reads: input_ids, a nested tensor of these lengths."""

    def __init__(self, lengths):
        import torch
        offsets = torch.tensor([0, *np.cumsum(lengths).tolist()])
        super().__init__(input_ids=types.SimpleNamespace(is_nested=True, offsets=lambda: offsets))


def by_verl(equal):
    """Ranks as its trainer balances them, with equal numbers of rollouts or without, then rearrange_micro_batches on each rank with a number of
    micro-batches that all can have."""
    def divide(lengths, ranks, cap):
        own = verl().get_seqlen_balanced_partitions(cost_of(lengths).tolist(), ranks, equal_size=equal and len(lengths) % ranks == 0)
        least = None
        while True:
            made = [verl().rearrange_micro_batches(Batch(lengths[numbers]), cap, min_num_micro_batch=least)[1] for numbers in own]
            counts = {len(rank) for rank in made}
            if len(counts) == 1:
                return [[[own[r][i] for i in numbers] for numbers in rank] for r, rank in enumerate(made)]
            least = max(counts)
    return divide


def by_slime(flops):
    def divide(lengths, ranks, cap):
        args = types.SimpleNamespace(use_dynamic_batch_size=True, max_tokens_per_gpu=cap, balance_by_flops=flops, balance_data=True)
        shape = {"dp_size": ranks, "cp_size": 1, "vpp_size": 1, "microbatch_group_size_per_vp_stage": 1}
        own, places, _, _ = slime().build_dp_schedule(args, shape, lengths.tolist(), global_batch_size=len(lengths),
                                                      rollout_indices=list(range(len(lengths))))
        return [[[own[r][i] for i in micro] for micro in rank] for r, rank in enumerate(places)]
    return divide


def deal(packs, ranks):
    """Packs in turn to the ranks."""
    packs = packs + [[] for _ in range(-len(packs) % ranks)]
    return [packs[r::ranks] for r in range(ranks)]


def by_trl(lengths, ranks, cap):
    from datasets import Dataset, disable_progress_bars
    from trl import pack_dataset
    disable_progress_bars()
    rows = Dataset.from_dict({"input_ids": [[i] * length for i, length in enumerate(lengths.tolist())]})
    packed = pack_dataset(rows, cap, strategy="bfd", map_kwargs={"batch_size": len(lengths)})
    return deal([np.array(row["input_ids"])[np.cumsum([0, *row["seq_lengths"][:-1]])].tolist() for row in packed], ranks)


def by_grain(lengths, ranks, cap):
    import grain
    rows = [{"x": np.full(length, i, np.int32)} for i, length in enumerate(lengths)]
    parent = grain.MapDataset.source(rows).to_iter_dataset()
    made = grain.experimental.FirstFitPackIterDataset(parent, length_struct={"x": cap}, num_packing_bins=len(lengths))
    return deal([[int(entry["x"][start]) for start in np.flatnonzero((entry["x_segment_ids"] > 0) & (entry["x_positions"] == 0))] for entry in made], ranks)


PEERS_BY_NAME = {"verl": by_verl(True), "verl, any numbers": by_verl(False), "slime, first fit": by_slime(False), "slime, by FLOPs": by_slime(True),
                 "TRL bfd": by_trl, "Grain first fit": by_grain}


def rollouts(count=1024, ranks=64):
    """Lists of rollouts: {name: (lengths, ranks, the most tokens of a micro-batch)}."""
    draw = np.random.default_rng(7)
    tail = np.minimum(16384, draw.lognormal(7, 1, count).astype(np.int64) + 1)
    short = draw.normal(900, 200, count).clip(50).astype(np.int64)
    return {"long tail": (tail, ranks, 32768),
            "long tail, tight": (tail, ranks, 16384),
            "bimodal": (np.where(draw.random(count) < 0.8, short, draw.normal(12000, 1500, count).clip(8000, 16000).astype(np.int64)), ranks, 20000),
            "equal": (np.full(count, 2000, np.int64), ranks, 16384),
            "one giant": (np.concatenate([[60000], short[1:]]), ranks, 65536),
            "few": (tail[:40], ranks, 32768)}


def measure(assignment, lengths, cap):
    """Micro-batches of a rank, those above the maximum, and what ranks wait: sync "step", sync "micro"."""
    cost = cost_of(lengths)
    most = max(len(rank) for rank in assignment)
    table = np.zeros((len(assignment), most))
    over = 0
    for r, rank in enumerate(assignment):
        for m, numbers in enumerate(rank):
            table[r, m] = cost[numbers].sum() if len(numbers) else 0
            over += len(numbers) > 0 and int(lengths[numbers].sum()) > cap
    mean = table.sum() / len(assignment)
    return most, over, table.sum(axis=1).max() / mean - 1, table.max(axis=0).sum() / mean - 1
