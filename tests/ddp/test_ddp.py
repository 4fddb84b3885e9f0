"""Real data-parallel training: of a packed dataset every rank has equally many updates, of sequences as they are it has not."""
import collections
import os

import torch
from torch.utils.data import DataLoader

import bload
import job
import tool
from bload.torch import BlockDataset
from harness import each
from recurrent import Recurrent, loss_of
from train import ALONE, HUNG, WINDOW, flat_gradients, of_batch

LONGEST = 150


def pack(test):
    """The dataset, with a plan for a second epoch, and of every sequence in it the row and the length."""
    dataset = job.pack(test, "dataset", "--max-length", LONGEST, "--world-size", 4)
    test.bload("plan", "-q", "--dataset", dataset, "--epochs", 2, "--seed", 1)
    rows = enumerate(bload.open(dataset).sequences)
    return dataset, {number: int(row["length"]) for number, row in rows if row["status"] == "ok"}


def contents(epochs):
    """The sets of sequences that share a block, of all ranks of an epoch."""
    return {tuple(update["sequences"]) for updates in epochs for update in updates}


class Packed(tool.Tool):
    """Blocks, for two epochs: the same ones twice, and composed anew."""

    @each(["2_ranks", "4_ranks"])
    def test_packed(self, ranks):
        first, second = self.check(int(ranks[0]), "packed")
        self.assertEqual(first, second)

    @each(["2_ranks", "4_ranks"])
    def test_fresh(self, ranks):
        first, second = self.check(int(ranks[0]), "fresh")
        self.assertNotEqual(first, second)

    def check(self, ranks, data):
        """All ranks finish with equal gradients and have seen everything; gives what blocks held, for each epoch."""
        dataset, sequences = pack(self)
        folder, done = job.run(self.directory, 300, dataset=dataset, ranks=ranks, data=data, epochs=2, timeout=100)
        for rank in done:
            self.assertEqual((rank.status, len(rank.epochs)), (0, 2), rank.said)
        epochs = list(zip(*(rank.epochs for rank in done), strict=True))
        blocks = BlockDataset(dataset)
        for epoch in epochs:
            self.assertEqual([len(updates) for updates in epoch], [len(blocks) // ranks] * ranks)
            seen = collections.Counter(row for updates in epoch for update in updates for row in update["sequences"])
            self.assertEqual(seen, collections.Counter(sequences.keys()))
        for update in zip(*(rank.updates() for rank in done), strict=True):
            self.assertEqual(len({of_rank["gradients"] for of_rank in update}), 1)
        self.check_mean(blocks, folder, [rank.updates()[0]["sequences"] for rank in done])
        return map(contents, epochs)

    def check_mean(self, blocks, folder, first):
        """The first gradient is the mean of those that one process computes of the same blocks."""
        torch.manual_seed(1)
        model, gradients = Recurrent(), []
        batches = {tuple(batch[3]): batch for batch in map(of_batch, DataLoader(blocks))}
        for sequences in first:
            model.zero_grad()
            loss_of(model, *batches[tuple(sequences)][:3]).backward()
            gradients.append(flat_gradients(model).clone())
        for rank in range(len(first)):
            found = torch.load(os.path.join(folder, f"rank-{rank}.json.first"))
            torch.testing.assert_close(found, torch.stack(gradients).mean(0), rtol=1e-4, atol=1e-7)


class Unpacked(tool.Tool):
    """The same loop over sequences of different lengths: the rank that has fewer updates waits at the end of the epoch, the other
    one for the gradients of the first.
    """

    def test_deadlock(self):
        dataset, sequences = pack(self)
        _, done = job.run(self.directory, 300, dataset=dataset, ranks=2, data="windows", sequences=sorted(sequences), epochs=1,
                          timeout=10)
        due = [sum(-(-sequences[row] // WINDOW) for row in sorted(sequences)[rank::2]) for rank in range(2)]
        self.assertNotEqual(due[0], due[1])
        more = due.index(max(due))
        said = [rank.said for rank in done]
        self.assertEqual((done[more].status, done[1 - more].status), (HUNG, ALONE), said)
        # Not because the machine was slow: it hung right after the last update of the other.
        self.assertEqual([len(rank.updates()) for rank in done], [min(due)] * 2, said)
