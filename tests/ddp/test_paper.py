"""bench/paper.sh, quickly: its table is whole, its counts add up, and rows and cut sequences are trained on alike."""
import os
import signal
import subprocess
import sys
import unittest

import torch

import job
import tool
from bload.torch import BlockDataset

BENCH = os.path.join(tool.ROOT, "bench")
sys.path.append(BENCH)

import paper_rank  # noqa: E402  it lies there

WAYS = ["naive", "naive, PackedSequence", "sample", "mix", "block, equal rows", "block, equal rows, a plan an epoch", "block, equal sequences",
        "block, equal sequences, a plan an epoch"]


class Table(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # A session of its own: should it take too long, its ranks end with it.
        process = subprocess.Popen([os.path.join(BENCH, "paper.sh"), "--quick"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        try:
            table, cls.complaints = process.communicate(timeout=500)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        if process.returncode:
            raise AssertionError(cls.complaints)
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        cls.rows = [dict(zip(lines[0], line, strict=True)) for line in lines[2:]]

    def check_counts(self, name):
        rows = [row for row in self.rows if row["data"].startswith(name)]
        self.assertEqual([row["way"] for row in rows], WAYS)
        numbers = [{key: int(row[key].replace(",", "")) for key in ("rows an update", "T", "updates", "padding", "deleted")} for row in rows]
        # Blocks of T steps hold what was there, less what was deleted, and padding.
        steps = {n["rows an update"] * n["updates"] * n["T"] + n["deleted"] - n["padding"] for n in numbers}
        self.assertEqual(len(steps), 1)
        for row, number in zip(rows, numbers):
            self.assertEqual(number["deleted"] > 0, row["way"] in ("sample", "mix"))
            self.assertGreater(float(row["seconds"]), 0)
        self.assertLess(numbers[4]["padding"], numbers[0]["padding"])
        self.assertLess(numbers[4]["updates"], numbers[0]["updates"])
        return rows

    def test_lengths(self):
        for row in self.check_counts("Action Genome"):
            self.assertEqual(row["accuracy, %"], "-")

    def check_labelled(self, name):
        if "left out" in self.complaints:
            self.skipTest(self.complaints.strip())
        for row in self.check_counts(name):
            self.assertTrue(0 <= float(row["accuracy, %"].split()[0]) <= 100)

    def test_plaid(self):
        self.check_labelled("PLAID")

    def test_vowels(self):
        self.check_labelled("JapaneseVowels")


class Batches(tool.Tool):
    """The loss of the same sequences is the same, whole rows with their padding, cut out, or packed."""

    def loss(self, dataset, make):
        blocks = list(BlockDataset(dataset))
        for block in blocks:
            block.update(array=block["frames"].float().mean((2, 3)) / 255, label=block["sequence"] % 5)
        torch.manual_seed(2)
        return paper_rank.loss_of(paper_rank.Recurrent(16, 8, 5), *make(blocks))

    def test_losses(self):
        naive, packed = (job.pack(self, name, "--max-length", 40, "--strategy", name) for name in ("naive", "block"))
        whole = self.loss(naive, paper_rank.whole_rows)
        torch.testing.assert_close(self.loss(naive, paper_rank.cut_out), whole)
        torch.testing.assert_close(self.loss(packed, paper_rank.cut_out), whole)
