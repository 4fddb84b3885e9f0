"""What keeps the sequences of a row apart in each family of models of Transformers: position_ids, masks, or nothing.

The table of docs/training.md is what this finds: python test_isolation.py prints it, with bload's Python package in PYTHONPATH.
"""
import collections
import functools
import os
import unittest
import unittest.mock

import numpy as np
import torch
import transformers

import bload
from bload import contracts
from bload.masks import NOT_BY_MASK
from bload.transformers import check_isolation
from families import CLASSES, VOCABULARY, NotMade, made

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/training.md")
LENGTHS = (5, 13, 1, 21, 8)  # of some the mean is shorter, of some longer than a window
NOISE = 1e-3                 # of the largest logit

HOW = collections.OrderedDict((
    ("positions", "`position_ids`"),
    ("masks", "`mask=\"4d\"`"),
    ("kernels", "`seq_idx`, with `causal_conv1d`; without that package Transformers refuses"),
    ("padded", "`contracts.padded` alone"),
    ("nothing", "not even that"),
    ("untried", "not tried: larger, or of several modalities"),
))


def sequences():
    random = np.random.default_rng(1)
    return [random.integers(5, VOCABULARY, length) for length in LENGTHS]


@functools.lru_cache(None)
def batch():
    """One block with the sequences, as bload.torch.collate gives it."""
    used, T = sum(LENGTHS), sum(LENGTHS) + 3
    edges = np.concatenate(([0], np.cumsum(LENGTHS), [used]))
    tokens = np.concatenate([*sequences(), np.zeros(T - used, int)])
    return {"tokens": torch.tensor(tokens)[None], "cu_seqlens": torch.tensor(edges)[None], "num_sequences": torch.tensor([len(LENGTHS)]),
            "length": torch.tensor([*LENGTHS, 0])[None]}


class Model:
    """A small model of a family, and what it says of each sequence alone, without anything else in its row."""

    def __init__(self, family, attention):
        self.model = made(family, attention)
        with torch.no_grad():
            self.alone = [self.model(input_ids=torch.tensor(tokens)[None], use_cache=False).logits[0] for tokens in sequences()]
        self.scale = max(one.abs().max().item() for one in self.alone)

    def differs(self, **given):
        """Whether the logits for what is given, one row or a row for each sequence, are others than those alone."""
        with torch.no_grad():
            logits = self.model(**{"use_cache": False, **given, "labels": None}).logits
        parts = logits[0].split(LENGTHS) if len(logits) == 1 else [row[:length] for row, length in zip(logits, LENGTHS)]
        difference = torch.stack([(part - one).abs().max() for part, one in zip(parts, self.alone)]).max().item()
        return not difference < NOISE * self.scale

    def masked(self):
        """Whether masks keep the sequences apart, those that bload refuses, too; None if there is no such mask."""
        with unittest.mock.patch.dict(NOT_BY_MASK, clear=True):
            try:
                given = contracts.hugging_face(batch(), mask="4d", config=self.model.config)
            except bload.OptionError:
                return None
        try:
            leaks = self.differs(**given)
        except (AssertionError, IndexError, RuntimeError, ValueError):
            return None  # the model does not take them
        assert leaks == refused(lambda: check_isolation(self.model, given)), "check_isolation says something else of masks"
        return not leaks

    def found(self):
        """A key of HOW."""
        given = contracts.hugging_face(batch())
        try:
            leaks = self.differs(**given)
        except ValueError as error:
            if "causal_conv1d" in str(error):
                return "kernels"
            raise
        assert leaks == refused(lambda: check_isolation(self.model, given)), "check_isolation says something else"
        if not leaks:
            assert self.masked() is not False, "masks let sequences leak that positions keep apart"
            return "positions"
        if self.masked():
            return "masks"
        return "nothing" if self.differs(**contracts.padded(batch())) else "padded"


def refused(call):
    try:
        call()
    except bload.IsolationError:
        return True
    return False


def worst(family):
    """What keeps the sequences apart with eager attention and with sdpa, where there is a model."""
    results = []
    for attention in ("eager", "sdpa"):
        try:
            results.append(Model(family, attention).found())
        except NotMade:
            pass
    return max(results, key=list(HOW).index) if results else "untried"


@functools.lru_cache(None)
def found():
    """{a key of HOW: families}, each family once."""
    transformers.logging.set_verbosity_error()
    result = {how: [] for how in HOW}
    for family in CLASSES:
        try:
            result[worst(family)].append(family)
        except Exception as error:
            raise AssertionError(f"{family}: {type(error).__name__}: {error}") from error
    return result


def table():
    lines = ["| kept apart by | models, by `model_type` |", "|---|---|"]
    lines += [f"| {HOW[how]} | {', '.join(families)} |" for how, families in found().items() if families]
    return "\n".join(lines) + "\n"


class Isolation(unittest.TestCase):
    def test_table_of_the_documents(self):
        with open(DOCUMENT) as file:
            self.assertIn(table(), file.read())

    def test_masks_that_do_not_help_are_refused(self):
        self.assertEqual(sorted(NOT_BY_MASK), sorted(found()["padded"] + found()["nothing"]))

    def test_families(self):
        self.assertGreater(len(found()["positions"]), 80)
        for how, families in (("positions", "llama qwen3 gemma3_text mixtral"), ("masks", "opt bert gpt_oss mpt xglm afmoe"),
                              ("padded", "bloom bart mamba rwkv openai-gpt")):
            self.assertLessEqual(set(families.split()), set(found()[how]), how)


if __name__ == "__main__":
    print(table(), end="")
