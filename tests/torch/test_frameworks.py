"""Samplers under the frameworks' own released code: nothing is sharded twice, and a run that was stopped goes on exactly."""
import importlib.util
import itertools
import json
import os
import socket
import subprocess
import sys
import unittest
from types import SimpleNamespace

from torch.utils.data import DataLoader

import tool
from bload._core.errors import SamplerError
from bload.torch import BlockDataset, BlockSampler
from packed import PackedTest, SEQUENCES, sequences_of

HERE = os.path.dirname(os.path.abspath(__file__))
READERS = os.path.join(tool.ROOT, "tests/readers")


def needs(module):
    return unittest.skipUnless(importlib.util.find_spec(module), f"no {module}")


class Framework(PackedTest):
    def job(self, script, name, *arguments, ranks=1):
        """Runs a script on so many ranks; what each of them left."""
        folder = self.path(name)
        os.makedirs(folder)
        command = [sys.executable, "-B", os.path.join(HERE, script), self.data, folder, *map(str, arguments)]
        running = [subprocess.Popen(command, env=self.environment(rank, ranks), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                    text=True) for rank in range(ranks)]
        try:
            told = [process.communicate(timeout=200)[1] for process in running]
        finally:
            for process in running:
                process.kill()
        self.assertEqual([process.returncode for process in running], [0] * ranks, "\n".join(told)[-3000:])
        left = []
        for rank in range(ranks):
            left.append(json.loads(tool.read(os.path.join(folder, f"{rank}.json"))))
        return left

    def environment(self, rank, ranks):
        """What launchers tell a process; torch's own does not run with every Python."""
        found = {**os.environ, "PYTHONPATH": os.pathsep.join([HERE, READERS, os.environ.get("PYTHONPATH", "")])}
        if ranks > 1:
            found.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks), GROUP_RANK="0",
                         MASTER_ADDR="127.0.0.1", MASTER_PORT=self.port(), TORCHELASTIC_RUN_ID="tests")
        return found

    def port(self):
        """The port of this test's jobs, free when it was chosen."""
        if not hasattr(self, "chosen"):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.chosen = str(probe.getsockname()[1])
        return self.chosen

    def assertWhole(self, ranks):
        """Equally many steps on all ranks, and all sequences once: ranks[rank][step][block] are sequences."""
        self.assertEqual(len({len(steps) for steps in ranks}), 1)
        self.assertEachOnce([sequence for steps in ranks for step in steps for block in step for sequence in block], range(SEQUENCES))


@needs("torchdata")
class Stateful(PackedTest):
    def loader(self, world, rank, workers, **options):
        from torchdata.stateful_dataloader import StatefulDataLoader
        dataset = BlockDataset(self.data)
        sampler = BlockSampler(dataset, world, rank)
        return StatefulDataLoader(dataset, batch_size=dataset.batch_size, sampler=sampler, num_workers=workers, **options)

    def contents(self, batches):
        return [sequences_of({name: value[b] for name, value in batch.items()})
                for batch in batches for b in range(len(batch["sequence"]))]

    def stopped(self, loader, batches, epoch=1):
        loader.sampler.set_epoch(epoch)
        iterator = iter(loader)
        seen = self.contents(next(iterator) for _ in range(batches))
        return seen, loader.state_dict()

    def test_loaders_state_resumes_exactly(self):
        for workers in (0, 2):
            whole = self.loader(2, 1, workers)
            whole.sampler.set_epoch(1)
            expected = self.contents(whole)
            for batches in (1, 4):
                seen, state = self.stopped(self.loader(2, 1, workers), batches)
                again = self.loader(2, 1, workers)
                again.load_state_dict(state)
                again.sampler.set_epoch(1)
                self.assertEqual(seen + self.contents(again), expected)
                again.sampler.set_epoch(2)
                whole.sampler.set_epoch(2)
                self.assertEqual(self.contents(again), self.contents(whole))

    def test_loaders_state_resumes_a_job_of_another_size(self):
        seen, states = [], []
        for rank in range(2):
            one, state = self.stopped(self.loader(2, rank, 2), 2)
            seen += one
            states.append(state)
        again = self.loader(1, 0, 2)
        again.load_state_dict(states[0])
        self.assertEachOnce(sum(seen + self.contents(again), []), range(SEQUENCES))

    def test_state_at_the_end_leads_to_the_next_epoch(self):
        """Whatever the workers, and whether the state is that of the last batch or of the loop's end."""
        one, expected = self.loader(1, None, 0), {}
        for epoch in (1, 2):
            one.sampler.set_epoch(epoch)
            expected[epoch] = self.contents(one)
        for workers, options in ((0, {}), (1, {}), (4, {}), (2, dict(persistent_workers=True))):
            loader = self.loader(1, None, workers, **options)
            loader.sampler.set_epoch(1)
            batches = iter(loader)
            self.contents(next(batches) for _ in range(len(expected[1]) // loader.batch_size))
            states = {"last batch": loader.state_dict()}
            self.assertEqual(list(batches), [])
            states["end"] = loader.state_dict()
            for (name, state), told in itertools.product(states.items(), (None, 1, 2) if workers == 0 else (None, 1)):
                with self.subTest(name, workers=workers, told=told, **options):
                    again = self.loader(1, None, workers, **options)
                    again.load_state_dict(state)
                    if told is not None:
                        again.sampler.set_epoch(told)
                    if told == 1:
                        self.assertEqual([self.contents(again), self.contents(again)], [[], []])
                        again.sampler.set_epoch(2)
                    self.assertEqual(self.contents(again), expected[2])


@needs("accelerate")
class Accelerate(Framework):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ranks = cls("run").job("accelerate_job.py", "accelerate", ranks=2)

    def test_two_ranks_share_every_epoch_and_its_rest(self):
        packings = set()
        for epoch in range(2):
            self.assertWhole([one["epochs"][epoch] for one in self.ranks])
            packings.add(frozenset(frozenset(block) for one in self.ranks for step in one["epochs"][epoch] for block in step))
        self.assertEqual(len(packings), 2)
        for one in self.ranks:
            self.assertEqual(one["rest"], one["epochs"][1][3:])

    @needs("transformers")
    def test_trainers_callback_tells_the_epoch_that_is_gone_on_with(self):
        for one in self.ranks:
            self.assertEqual(one["skipped"], one["epochs"][1][3:])

    def test_samplers_that_it_would_misread_are_refused(self):
        for one in self.ranks:
            of_a_rank, uneven = one["refused"]
            self.assertRegex(of_a_rank, "make the BlockSampler without a rank")
            self.assertRegex(uneven, "divides 4 blocks at a time among 2 ranks, and .* num_replicas is 1")


@needs("transformers")
class Callback(PackedTest):
    def begin(self, removing=False, **state):
        from bload.transformers import EpochCallback
        dataset = BlockDataset(self.data)
        loader = DataLoader(dataset, batch_size=2, sampler=BlockSampler(dataset))
        callback, arguments = EpochCallback(), SimpleNamespace(remove_unused_columns=removing, gradient_accumulation_steps=2)
        callback.on_train_begin(arguments, SimpleNamespace(**state), None, train_dataloader=loader)
        callback.on_epoch_begin(arguments, SimpleNamespace(**state), None, train_dataloader=loader)
        return loader.sampler.epoch

    def test_position_of_the_checkpoint_gives_the_epoch(self):
        batches = len(BlockDataset(self.data)) // 2
        updates = -(-batches // 2)
        self.assertEqual(self.begin(global_step=0, epoch=None), 0)
        self.assertEqual(self.begin(global_step=0, epoch=0), 0)
        self.assertEqual(self.begin(global_step=2, epoch=4 / batches), 0)
        self.assertEqual(self.begin(global_step=updates, epoch=1.0), 1)
        self.assertEqual(self.begin(global_step=2 * updates + 1, epoch=2 + 2 / batches), 2)

    def test_checkpoint_of_a_job_of_another_size_is_refused(self):
        batches = len(BlockDataset(self.data)) // 2
        with self.assertRaisesRegex(SamplerError, f"update {batches} of the checkpoint is in epoch 1, .* in epoch 2: resume with those of the checkpoint"):
            self.begin(global_step=batches, epoch=1.0)

    def test_removed_columns_are_told(self):
        with self.assertWarnsRegex(UserWarning, "set TrainingArguments[(]remove_unused_columns=False[)]"):
            self.begin(removing=True, global_step=0, epoch=0)

    def test_loader_without_our_sampler_is_refused(self):
        from bload.transformers import EpochCallback
        with self.assertRaisesRegex(SamplerError, "without a BlockSampler"):
            EpochCallback().on_epoch_begin(None, SimpleNamespace(epoch=0), None, train_dataloader=DataLoader([1, 2], batch_size=1))


@needs("pytorch_lightning")
@needs("torchdata")
class Lightning(Framework):
    def epoch(self, steps, number):
        return [blocks for epoch, blocks in steps if epoch == number]

    def test_two_ranks_share_every_epoch(self):
        ranks = self.job("lightning_job.py", "two", 2, ranks=2)
        packings = set()
        for epoch in range(2):
            self.assertWhole([self.epoch(steps, epoch) for steps in ranks])
            packings.add(frozenset(frozenset(block) for steps in ranks for step in self.epoch(steps, epoch) for block in step))
        self.assertEqual(len(packings), 2)

    def test_checkpoint_in_mid_epoch_goes_on_exactly(self):
        blocks = BlockDataset(self.data)
        at = len(blocks) // blocks.batch_size + 3
        whole, = self.job("lightning_job.py", "first", 2, at)
        rest, = self.job("lightning_job.py", "rest", 2, 0, self.path("first", "checkpoint"))
        self.assertEqual(rest, whole[at:])
