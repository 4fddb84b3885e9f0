"""bload.partition beside verl, slime, TRL and Grain, and the adapters of docs/online.md in place of verl's functions."""
import os
import re
import sys
from unittest import mock

import numpy as np
import torch

import bload
import tool

sys.path.insert(0, os.path.join(tool.ROOT, "bench/plan"))
import partition_peers as peers  # noqa: E402

COST = f"{peers.ALPHA},{peers.BETA}"


def lists():
    """Those of the bench, and smaller ones, in which every rollout counts."""
    draw = np.random.default_rng(3)
    made = peers.rollouts()
    for k in range(6):
        count = int(draw.integers(40, 200))
        made[f"drawn {k}"] = (np.minimum(8192, draw.lognormal(6, 1.2, count).astype(np.int64) + 1), int(draw.choice((2, 4, 8))), int(draw.choice((8192, 20000))))
    return made


class Peers(tool.Tool):
    def beside(self, name):
        """Never more micro-batches, none above the maximum, and never more waiting with as many micro-batches as the peer has."""
        compared = 0
        for what, (lengths, ranks, cap) in lists().items():
            try:
                theirs = peers.measure(peers.PEERS_BY_NAME[name](lengths, ranks, cap), lengths, cap)
            except peers.Absent as error:
                self.skipTest(str(error))
            except (AssertionError, ValueError):
                continue  # it needs a rollout for each rank and micro-batch
            if theirs[1]:
                continue  # it exceeds the maximum
            for sync, wait in ("step", 2), ("micro", 3):
                with self.subTest(list=what, sync=sync):
                    least = bload.partition(lengths, ranks, max_tokens=cap, cost=COST, sync=sync)
                    self.assertLessEqual(least.micro_batches, theirs[0])
                    made = bload.partition(lengths, ranks, max_tokens=cap, micro_batches=theirs[0], cost=COST, sync=sync)
                    ours = peers.measure(made.assignment, lengths, cap)
                    self.assertEqual(ours[:2], (theirs[0], 0))
                    self.assertLessEqual(ours[wait], theirs[wait] + 1e-9)
                    compared += 1
        self.assertGreater(compared, 4)

    def test_verl(self):
        self.beside("verl")

    def test_verl_any_numbers(self):
        self.beside("verl, any numbers")

    def test_slime(self):
        self.beside("slime, first fit")

    def test_slime_by_flops(self):
        self.beside("slime, by FLOPs")

    def test_trl(self):
        self.beside("TRL bfd")

    def test_grain(self):
        self.beside("Grain first fit")

    def test_waiting(self):
        """Within 1 % of what the longest rollout makes all ranks wait."""
        for what, (lengths, ranks, cap) in peers.rollouts().items():
            made = bload.partition(lengths, ranks, max_tokens=cap, cost=COST)
            cost = peers.cost_of(lengths)
            self.assertLess(made.lost, max(0, cost.max() * ranks / cost.sum() - 1) + 0.01, what)
            self.assertEqual(made.micro_batches, made.micro_batches_bound, what)


class Adapters(tool.Tool):
    """The functions of docs/online.md, where verl's own code calls them, and beside those of the release."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        page = tool.text(os.path.join(tool.ROOT, "docs/online.md"))
        cls.ours = {}
        exec(re.search(r"^```python\n(# verl_balance\.py\n.*?)^```", page, re.DOTALL | re.MULTILINE)[1], cls.ours)

    def setUp(self):
        super().setUp()
        try:
            self.verl = peers.verl()
        except peers.Absent as error:
            self.skipTest(str(error))

    def test_ranks(self):
        draw, ours = np.random.default_rng(1), self.ours["get_seqlen_balanced_partitions"]
        for count, parts, equal in ((64, 8, True), (64, 8, False), (96, 32, True), (50, 7, False), (8, 8, True), (9, 8, False), (512, 64, True)):
            costs = peers.cost_of(draw.lognormal(7, 1, count).astype(int) + 1).tolist()
            theirs, mine = self.verl.get_seqlen_balanced_partitions(costs, parts, equal), ours(costs, parts, equal)
            self.assertEqual(sorted(i for part in mine for i in part), list(range(count)))
            self.assertTrue(all(part and part == sorted(part) and isinstance(part[0], int) for part in mine))
            self.assertEqual(len(mine), parts)
            if equal:
                self.assertEqual({len(part) for part in mine}, {count // parts})
            most, least = (max(sum(costs[i] for i in part) for part in made) for made in (theirs, mine))
            self.assertLessEqual(least, most)
            # log_seqlen_unbalance and get_group_balanced_partitions take what they return.
            self.assertEqual(self.verl.log_seqlen_unbalance(costs, mine, "x")["x/balanced_max"], least)
        with mock.patch.object(self.verl, "get_seqlen_balanced_partitions", lambda seqlen_list, k_partitions, equal_size: ours(seqlen_list, k_partitions, equal_size)):
            made = self.verl.get_group_balanced_partitions([5, 6, 1, 2, 9, 9, 3, 3], ["a", "a", "b", "b", "c", "c", "d", "d"], 2)
        self.assertEqual(sorted(map(sorted, made)), [[0, 1, 6, 7], [2, 3, 4, 5]])

    def test_micro_batches(self):
        draw, ours = np.random.default_rng(2), self.ours["rearrange_micro_batches"]
        stubs = {name: peers.stub(name) for name in ("verl", "verl.utils")}
        stubs["verl.utils"].device = None
        stubs["verl.utils"].tensordict_utils = peers.stub("tensordict_utils", index_select_tensor_dict=lambda batch, numbers: numbers)
        for count, cap, options in ((64, 16384, {}), (30, 9000, {"min_num_micro_batch": 10}), (40, 20000, {"num_batches_divided_by": 4}),
                                    (32, 20000, {"force_group_size": 2}), (20, 16384, {"use_dynamic_bsz_balance": False})):
            lengths = np.minimum(8000, draw.lognormal(7, 1, count).astype(int) + 1)
            mask = (torch.arange(8000)[None, :] < torch.tensor(lengths)[:, None]).long()
            for batch in peers.Batch(lengths), {"input_ids": torch.zeros(count, 8000), "attention_mask": mask}:
                with mock.patch.dict(sys.modules, stubs):
                    batches, mine = ours(batch, cap, **options)
                theirs = self.verl.rearrange_micro_batches(batch, cap, **options)[1]
                self.assertEqual(batches, mine)
                self.assertEqual(sorted(i for part in mine for i in part), list(range(count)))
                self.assertTrue(all(part == sorted(part) for part in mine))
                self.assertLessEqual(max(lengths[part].sum() for part in mine), cap)
                self.assertLessEqual(len(mine), len(theirs))
                self.assertEqual(len(mine) % options.get("num_batches_divided_by", 1), 0)
                self.assertGreaterEqual(len(mine), options.get("min_num_micro_batch", 1))
                for i in range(0, count, options.get("force_group_size", 1)):
                    self.assertTrue(any(set(range(i, i + options.get("force_group_size", 1))) <= set(part) for part in mine))
