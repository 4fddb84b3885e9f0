"""The Trainer of Transformers, as docs/training.md has it, reads every sequence of every epoch, also when it goes on inside one."""
import json
import os

import numpy as np

from bload.torch import BlockDataset
from test_frameworks import Framework
from texts import SEQUENCES, T, TextTest

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trainer_job.py")


class Trainer(TextTest, Framework):
    @classmethod
    def setUpClass(cls):
        TextTest.setUpClass.__func__(cls)
        cls.batches = len(BlockDataset(cls.data)) // 2

    def train(self, name, ranks, save, accumulation=1, *checkpoint):
        return [read for read, _ in self.job(JOB, name, save, accumulation, 0, *checkpoint, ranks=ranks)]

    def assertGoesOn(self, ranks, accumulation):
        """Epochs are whole and packed anew, and a checkpoint three updates into the second one gives exactly its rest; its path."""
        name, each = f"{ranks}-{accumulation}", self.batches // ranks
        save = -(-each // accumulation) + 3
        whole = self.train(name, ranks, save, accumulation)
        packings = set()
        for epoch in range(2):
            read = [batch for batches in whole for batch in batches[epoch * each:(epoch + 1) * each]]
            self.assertEachOnce([number for batch in read for number in batch], range(SEQUENCES))
            packings.add(frozenset(map(frozenset, read)))
        self.assertEqual(len(packings), 2)
        checkpoint = self.path(name, "run", f"checkpoint-{save}")
        rest = self.train(f"rest-{name}", ranks, save, accumulation, checkpoint)
        self.assertEqual(rest, [batches[each + 3 * accumulation:] for batches in whole])
        return checkpoint

    def test_one_rank_goes_on(self):
        self.assertGoesOn(1, 1)

    def test_two_ranks_go_on_and_one_in_their_place_is_refused(self):
        checkpoint = self.assertGoesOn(2, 1)
        with self.assertRaisesRegex(AssertionError, "SamplerError: .*data: update [0-9]+ of the checkpoint is in epoch 1[.][0-9]+, "
                                                    ".* in epoch 0[.][0-9]+: resume with those of the checkpoint"):
            self.train("one", 1, 1000, 1, checkpoint)

    def test_two_ranks_that_accumulate_go_on(self):
        self.assertGoesOn(2, 2)

    def test_rank_without_sequences_trains_with_the_others(self):
        """A block of padding is one step without a label, and does not change what the job learns: that of one rank with both blocks."""
        with open(self.path("three.jsonl"), "w") as file:
            file.writelines(json.dumps({"ids": tokens}) + "\n" for tokens in ([1] * 30, [2, 3] * 14, [4, 5, 6] * 9))
        data = self.pack("three", self.path("three.jsonl"), "--key", "ids", "-T", T, "--world-size", 2, "--batch-size", 1,
                         "--remainder", "pad")
        self.assertEqual(sorted(BlockDataset(data).dataset[i]["num_sequences"].item() for i in range(4)), [0, 1, 1, 1])
        self.data = data
        alone, = self.job(JOB, "alone", 1000, 1, 2)
        ranks = self.job(JOB, "ranks", 1000, 1, 1, ranks=2)
        self.assertIn([0], [batch for read, _ in ranks for batch in read])  # 0 is padding
        for _, means in ranks:
            np.testing.assert_allclose(means, alone[1], rtol=1e-3, atol=1e-6)
