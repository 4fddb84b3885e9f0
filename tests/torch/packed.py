"""A dataset whose steps say which sequence they are of, for tests of those who read it."""
import os

import numpy as np

import tool

SEQUENCES = 60
T = 20
WORLD_SIZE, BATCH_SIZE = 2, 2


def lengths():
    """One for each sequence, so that every sequence fits a block and most share theirs."""
    return np.random.default_rng(0).integers(1, T - 3, SEQUENCES).tolist()


def write_sequences(folder, dtype=np.int32):
    """Arrays [length, 2] whose steps are (number of the sequence, number of the step)."""
    os.makedirs(folder)
    for number, length in enumerate(lengths()):
        steps = np.stack([np.full(length, number), np.arange(length)], axis=1)
        np.save(os.path.join(folder, f"{number:03}.npy"), steps.astype(dtype))


class PackedTest(tool.Tool):
    """Tests of a dataset for two ranks with batches of two, and of three further epochs: self.data."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        own = cls("run")
        write_sequences(own.path("sequences"))
        cls.data = own.packed("data")
        own.plan(cls.data)

    def packed(self, name, *arguments):
        return self.pack(name, self.path("sequences"), "--kind", "array", "-T", T, "--world-size", WORLD_SIZE, "--batch-size", BATCH_SIZE,
                         *arguments)

    def plan(self, data, epochs=3):
        self.bload("plan", "-q", "--dataset", data, "--epochs", epochs)

    def assertEachOnce(self, numbers, expected):
        self.assertEqual(sorted(numbers), sorted(expected))


def sequences_of(block):
    """The numbers of the sequences in a block, read from its steps, each of which must lie there whole and in order."""
    array, found = np.asarray(block["array"]), []
    for start, length, row in zip(np.asarray(block["cu_seqlens"]), np.asarray(block["length"]), np.asarray(block["sequence"])):
        if length == 0:
            continue
        steps = array[start:start + length]
        if not (steps[:, 0] == row).all() or steps[:, 1].tolist() != list(range(length)):
            raise AssertionError(f"sequence {row} is not what was packed: {steps.tolist()}")
        found.append(int(row))
    return found
