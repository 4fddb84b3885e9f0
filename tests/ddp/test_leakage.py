"""Nothing leaks from one sequence of a block into the next: what a model says of a packed sequence is what it says of the sequence
alone, as it lies in the dataset that has one in each block.
"""
import torch

import bload
import job
import tool
from recurrent import Recurrent, begins, brightness


class RunningSum(torch.nn.Module):
    """The sum of what it has seen since the last reset, step by step: one operation in the order of the steps, so that equal
    sequences give equal bits.
    """

    def forward(self, inputs, reset):
        state, out = torch.zeros_like(inputs[:, 0]), []
        for step in range(inputs.shape[1]):
            state = state * ~reset[:, step, None] + inputs[:, step]
            out.append(state)
        return torch.stack(out, 1)


class SegmentSums(torch.nn.Module):
    """F32 [segments, inputs] of one block: the sum of each segment by I32 [T] segment_ids, without its resets."""

    def forward(self, inputs, segment_ids):
        sums = inputs.new_zeros(int(segment_ids.max()) + 1, inputs.shape[1])
        return sums.index_add(0, segment_ids.long(), inputs)[1:]


def inputs_of(block):
    return brightness(torch.tensor(block["frames"][None]))


def resets_of(block):
    return begins(torch.tensor(block["cu_seqlens"][None]), len(block["frames"]))


class Leakage(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        options = "--max-length", 150, "--segment-ids"
        cls.packed = bload.open(job.pack(cls("bload"), "packed", *options))
        cls.alone = {}
        for block in bload.open(job.pack(cls("bload"), "alone", *options, "--strategy", "naive")):
            cls.alone[int(block["sequence"][0])] = inputs_of(block)[:, :block["length"][0]]
        torch.manual_seed(1)

    def each_place(self):
        """(block, place in it, first step, end, the sequence alone) of every sequence."""
        seen = set()
        for block in self.packed:
            for place in range(block["num_sequences"]):
                row = int(block["sequence"][place])
                seen.add(row)
                yield block, place, *map(int, block["cu_seqlens"][place:place + 2]), self.alone[row]
        self.assertEqual(seen, set(self.alone))

    def first_alone(self, alone):
        reset = torch.zeros(1, alone.shape[1], dtype=torch.bool)
        reset[0, 0] = True
        return reset

    def test_running_sums(self):
        model = RunningSum()
        for block, _, first, end, alone in self.each_place():
            packed = model(inputs_of(block), resets_of(block))[:, first:end]
            self.assertTrue(torch.equal(packed, model(alone, self.first_alone(alone))))

    def test_segment_sums(self):
        model = SegmentSums()
        for block, place, _, _, alone in self.each_place():
            packed = model(inputs_of(block)[0], torch.tensor(block["segment_ids"]))[place]
            self.assertTrue(torch.equal(packed, model(alone[0], torch.ones(alone.shape[1], dtype=torch.int32))[0]))

    def test_recurrent(self):
        """Matrices of another shape may be multiplied in another order: equal but for rounding."""
        model = Recurrent()
        for block, _, first, end, alone in self.each_place():
            packed = model(inputs_of(block), resets_of(block))[:, first:end]
            torch.testing.assert_close(packed, model(alone, self.first_alone(alone)), rtol=0, atol=1e-6)

    def test_without_resets(self):
        """These tests see what leaks: without the resets, every sequence but the first of a block has another sum."""
        model, later = RunningSum(), 0
        for block, place, first, end, alone in self.each_place():
            reset = torch.zeros(1, len(block["frames"]), dtype=torch.bool)
            packed = model(inputs_of(block), reset)[:, first:end]
            self.assertEqual(torch.equal(packed, model(alone, self.first_alone(alone))), place == 0)
            later += place > 0
        self.assertGreater(later, 0)
