"""A dataset of text whose first tokens say which sequence they are of, for the models and trainers here."""
import json

import numpy as np

import tool

SEQUENCES, T, VOCABULARY = 120, 32, 512


def sequences():
    """The tokens of each: its number, then random ones behind the numbers."""
    random = np.random.default_rng(1)
    return [[number, *random.integers(SEQUENCES, VOCABULARY, random.integers(1, T - 2)).tolist()] for number in range(SEQUENCES)]


class TextTest(tool.Tool):
    """Tests of a dataset of those for two ranks with batches of two, and of three further epochs: self.data."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        own = cls("run")
        with open(own.path("sequences.jsonl"), "w") as file:
            file.writelines(json.dumps({"ids": tokens}) + "\n" for tokens in sequences())
        cls.data = own.pack("data", own.path("sequences.jsonl"), "--key", "ids", "-T", T, "--world-size", 2, "--batch-size", 2)
        own.bload("plan", "-q", "--dataset", cls.data, "--epochs", 3)
