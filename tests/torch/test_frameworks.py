"""Samplers under the frameworks' own released code: nothing is sharded twice, and a run that was stopped goes on exactly."""
import importlib.util
import json
import os
import socket
import subprocess
import sys
import unittest

import tool
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
            with open(os.path.join(folder, f"{rank}.json")) as file:
                left.append(json.load(file))
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
        sampler = BlockSampler(dataset, world, rank, **options)
        return StatefulDataLoader(dataset, batch_size=dataset.batch_size, sampler=sampler, num_workers=workers)

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
        for workers in (0, 2):
            loader = self.loader(1, None, workers)
            batches = len(self.contents(loader)) // loader.batch_size
            again = self.loader(1, None, workers)
            again.load_state_dict(loader.state_dict())
            again.sampler.set_epoch(1)
            expected = BlockSampler(again.dataset)
            expected.set_epoch(1)
            self.assertEqual(self.contents(again), [sequences_of(again.dataset[number]) for number in expected])
            # That of the last batch: the epoch is at hand, and nothing of it is left.
            _, state = self.stopped(loader, batches)
            again.load_state_dict(state)
            again.sampler.set_epoch(1)
            self.assertEqual(self.contents(again), [])
            again.sampler.set_epoch(2)
            self.assertEachOnce(sum(self.contents(again), []), range(SEQUENCES))


@needs("accelerate")
class Accelerate(Framework):
    def test_two_ranks_share_every_epoch_and_its_rest(self):
        ranks = self.job("accelerate_job.py", "accelerate", ranks=2)
        for epoch in range(2):
            self.assertWhole([one["epochs"][epoch] for one in ranks])
        for one in ranks:
            self.assertEqual(one["rest"], one["epochs"][1][3:])


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
