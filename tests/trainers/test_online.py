"""docs/online.md runs as it stands: bload.plan in the loaders of PyTorch, Transformers, Grain, Energon and lhotse."""
import contextlib
import importlib
import io
import os
import re
import subprocess
import sys
import unittest
from unittest import mock

import grain
import numpy as np
import torch
from torch.utils.data import DataLoader
from transformers import DataCollatorWithFlattening, LlamaForCausalLM

import bload
import tool

PAGE = os.path.join(tool.ROOT, "docs/online.md")
WORLD = 3


class Page(tool.Tool):
    @classmethod
    def setUpClass(cls):
        """Writes the programs of the page, and runs them and its commands in their order."""
        super().setUpClass()
        path = [os.path.dirname(sys.executable), os.environ["PATH"]]
        environment = {**os.environ, "PATH": ":".join(path), "PYTHONPATH": os.path.join(tool.ROOT, "python")}
        cls.said = {}
        for language, code in re.findall(r"^```(sh|python)\n(.*?)^```", tool.text(PAGE), re.DOTALL | re.MULTILINE):
            name = code
            if language == "python":
                name = re.match(r"# (\S+\.py)\n", code)[1]
                tool.write(os.path.join(cls.directory, name), code)
                if name in ("tars.py", "flatten.py"):
                    continue  # a command of the page runs it
                code = f"python3 {name}"
            done = subprocess.run(["bash", "-euc", code], cwd=cls.directory, env=environment, capture_output=True, text=True, timeout=300)
            if done.returncode:
                raise AssertionError(f"{code}\n{done.stdout}{done.stderr}")
            cls.said[name] = done.stdout
        sys.path.insert(0, cls.directory)
        with contextlib.redirect_stdout(io.StringIO()):
            cls.rows, cls.batches, cls.blocks, cls.cuts = map(importlib.import_module, ("rows", "batches", "blocks", "cuts"))

    @classmethod
    def tearDownClass(cls):
        sys.path.remove(cls.directory)
        super().tearDownClass()

    def assertPacks(self, packs, lengths, most=1024):
        """Every sequence once, none above the most steps together."""
        self.assertEqual(sorted(i for pack in packs for i in pack), list(range(len(lengths))))
        self.assertLessEqual(max(sum(lengths[i] for i in pack) for pack in packs), most)

    def test_plan(self):
        self.assertTrue(self.said["plan.py"].endswith("\n4 4 1048\n"), self.said["plan.py"])

    def test_torch(self):
        """Ranks have as many batches, and all sequences together; another epoch has others; workers read them."""
        lengths, collate = self.rows.lengths, DataCollatorWithFlattening(return_flash_attn_kwargs=True)
        packs = []
        for rank in range(WORLD):
            sampler = self.batches.PlannedBatches(lengths, 1024, rank=rank, world_size=WORLD, cost="1,1e-3")
            mine = list(sampler)
            self.assertEqual(len(mine), len(sampler))
            loader = DataLoader(self.rows.rows, batch_sampler=sampler, collate_fn=collate, num_workers=rank)
            read = [batch["cu_seq_lens_q"].diff().tolist() for batch in loader]
            self.assertEqual(read, [[lengths[i] for i in pack] for pack in mine])
            packs += mine
            sampler.set_epoch(1)
            self.assertEqual(len(list(sampler)), len(mine))
            self.assertNotEqual(list(sampler), mine)
        self.assertPacks(packs, lengths)
        self.assertEqual(len(packs), -(-sum(lengths) // (1024 * WORLD)) * WORLD)

    def test_transformers(self):
        """The loss of a flattened block is that of its sequences one by one; the page's Trainer plans each epoch anew."""
        said = self.said["torchrun --nproc_per_node 2 flatten.py\n"]
        self.assertRegex(said, r"'train_loss': .*'epoch': '2'")
        seconds, speed = (float(re.search(rf"'{name}': '([\d.]+)'", said)[1]) for name in ("train_runtime", "train_steps_per_second"))
        self.assertEqual(round(seconds * speed), len(bload.plan(self.rows.lengths, 1024, world_size=2)))  # two epochs of two ranks
        names = {}
        exec(compile(tool.text(self.path("flatten.py")).replace("trainer.train()", ""), "flatten.py", "exec"), names)
        trainer = names["trainer"]
        model = trainer.model.eval()
        self.assertIsInstance(model, LlamaForCausalLM)
        loader = trainer.get_train_dataloader()
        packs = list(loader.batch_sampler)
        self.assertPacks(packs, self.rows.lengths)
        for batch, pack in list(zip(loader, packs))[:5]:
            with torch.no_grad():
                flat = float(model(**batch).loss)
                each = [(float(model(input_ids=ids, labels=ids).loss) * (ids.shape[1] - 1), ids.shape[1] - 1)
                        for ids in (torch.tensor([self.rows.rows[i]["input_ids"]]) for i in pack) if ids.shape[1] > 1]
            self.assertAlmostEqual(flat, sum(loss for loss, _ in each) / sum(count for _, count in each), 4)
        names["lengths"] = self.rows.lengths[:60]
        trainer.train_dataset, seeds = self.rows.rows[:60], []
        with mock.patch.object(names["PlannedBatches"], "set_epoch", autospec=True, side_effect=names["PlannedBatches"].set_epoch) as planned:
            with contextlib.redirect_stdout(io.StringIO()):
                steps = trainer.train().global_step
            seeds = [call.args[1] for call in planned.call_args_list]
        self.assertEqual((steps, seeds), (2 * len(names["PlannedBatches"](names["lengths"], 1024)), [0, 0, 1]))

    def test_grain(self):
        """Blocks are what Grain's first fit makes of the same sequences; Grain's own bins need more of them."""
        rows, lengths = self.rows.rows, self.rows.lengths
        source = self.blocks.PlannedBlocks(rows, lengths, 1024)
        arrays = [{"input_ids": np.array(row["input_ids"], np.int32)} for row in rows]

        def first_fit(entries, bins):
            parent = grain.MapDataset.source(entries).to_iter_dataset()
            return list(grain.experimental.FirstFitPackIterDataset(parent, length_struct={"input_ids": 1024}, num_packing_bins=bins, shuffle_bins=False))

        for number in (0, 7, len(source) - 1):
            block = source.plan[number]
            (theirs,) = first_fit([arrays[i] for i in block.sequence], 1)
            self.assertEqual(set(theirs), set(source[number]))
            for name, values in source[number].items():
                self.assertTrue(np.array_equal(theirs[name], values), name)
                self.assertEqual(theirs[name].dtype, values.dtype)
        self.assertLess(len(source), len(first_fit(arrays, 64)))
        shapes = self.said["blocks.py"].splitlines()
        self.assertEqual(set(shapes), {"(4, 1024)"})
        self.assertEqual(len(shapes), -(-len(source) // 4))

    def test_energon(self):
        """Every sequence is in one pack, packs are within 1,024 tokens, and nearly as few as for all sequences at once."""
        sizes = [list(map(int, re.findall(r"\d+", line))) for line in self.said["packs.py"].splitlines()]
        tokens = [size[1] for size in sizes]
        self.assertEqual((sum(tokens), sum(size[3] - 1 for size in sizes)), (sum(self.rows.lengths), len(self.rows.lengths)))
        self.assertLessEqual(max(tokens), 1024)
        self.assertLessEqual(len(tokens), 1.01 * len(self.blocks.PlannedBlocks(self.rows.rows, self.rows.lengths, 1024)) + 1)

    def test_lhotse(self):
        """Cuts of an epoch on three ranks: each once, as many batches on each rank, fewer than lhotse's own sampler makes."""
        from lhotse import CutSet
        from lhotse.dataset.sampling import SimpleCutSampler
        from lhotse.testing.dummies import dummy_cut

        durations = [length / 40 for length in self.rows.lengths]
        cuts = CutSet.from_cuts(dummy_cut(i, duration=duration, recording_duration=duration) for i, duration in enumerate(durations))
        numbers = {cut.id: i for i, cut in enumerate(cuts)}
        packs, ranks = [], []
        for rank in range(WORLD):
            sampler = self.cuts.PlannedCutSampler(cuts, 30, rank=rank, world_size=WORLD)
            sampler.set_epoch(2)
            read = [[numbers[cut.id] for cut in batch] for batch in DataLoader(Whole(), sampler=sampler, batch_size=None)]
            ranks.append(len(read))
            packs += read
        self.assertEqual(len(set(ranks)), 1)
        self.assertPacks(packs, durations, 30 + 1e-6)
        self.assertLess(len(packs), len(list(SimpleCutSampler(cuts, max_duration=30, shuffle=True))))


class Whole(torch.utils.data.Dataset):
    """A lhotse dataset: its items are the sampler's CutSets."""

    def __getitem__(self, cuts):
        return cuts


if __name__ == "__main__":
    unittest.main()
