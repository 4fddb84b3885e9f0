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
from bload._core.masks import NOT_BY_MASK
from bload.transformers import check_isolation, token_loss
from families import CLASSES, VOCABULARY, NotMade, made

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/training.md")
LENGTHS = (5, 13, 1, 21, 8)  # of some the mean is shorter, of some longer than a window
NOISE = 1e-3                 # of the largest logit

HOW = collections.OrderedDict((
    ("positions", "`position_ids`"),
    ("masks", "`mask=\"4d\"`"),
    ("kernels", "`seq_idx`, with `causal_conv1d`; without that package Transformers refuses"),
    ("padded", "`contracts.padded` alone"),
    ("nothing", "none of these"),
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


class Silent(unittest.TestCase):
    """What models take without a word, and check_isolation refuses."""

    def refuses(self, family, attention, said, **options):
        model = Model(family, attention).model
        check_isolation(model, contracts.hugging_face(batch()))
        with self.assertRaisesRegex(bload.IsolationError, said):
            check_isolation(model, {**contracts.hugging_face(batch()), **options})

    def test_mask_of_ones(self):
        """With one, Transformers does not look at position_ids."""
        ones = torch.ones(1, sum(LENGTHS), dtype=torch.long)
        self.refuses("llama", "sdpa", "LlamaForCausalLM does not separate the sequences of a row: logits up to .* use bload.contracts.padded",
                     attention_mask=ones)

    def test_bool_mask_for_eager_attention(self):
        """It is added to the scores, as 0 and 1."""
        mask = contracts.hugging_face(batch(), mask="4d", config=Model("llama", "sdpa").model.config)["attention_mask"]
        self.refuses("llama", "eager", "does not separate", attention_mask=mask)

    def test_cache(self):
        self.refuses("qwen3", "sdpa", "does not separate", use_cache=True)

    def test_no_numbers(self):
        model = Model("llama", "sdpa").model
        model.lm_head.weight.data[3] = float("nan")
        with self.assertRaisesRegex(bload.IsolationError, "differ by up to nan"):
            check_isolation(model, contracts.hugging_face(batch()))

    def test_linear_attention_by_positions_alone(self):
        """It needs seq_idx, too, with which Transformers refuses what it cannot do."""
        model = Model("qwen3_next", "sdpa")
        given = contracts.hugging_face(batch())
        self.assertTrue(model.differs(input_ids=given["input_ids"], position_ids=given["position_ids"]))
        with self.assertRaisesRegex(bload.IsolationError, "does not take several sequences in one row: .*bload.contracts.padded"):
            check_isolation(model.model, given)

    def test_one_token_of_the_sequence_before(self):
        """A state goes on: what the last token of a sequence is changes the next sequence, in one row and not in rows of their own."""
        model = Model("nemotron_h", "sdpa").model
        for packed, given in ((True, {"input_ids": contracts.hugging_face(batch())["input_ids"]}), (False, contracts.padded(batch()))):
            given.pop("labels", None)
            other = {**given, "input_ids": given["input_ids"].clone()}
            other["input_ids"][(0, LENGTHS[0] - 1)] += 1
            with torch.no_grad():
                one, two = (model(**each, use_cache=False).logits for each in (given, other))
            after = (slice(None), slice(LENGTHS[0], None)) if packed else (slice(1, None),)
            self.assertEqual(torch.equal(one[after], two[after]), not packed)

    def test_one_sequence_shows_nothing(self):
        with self.assertRaisesRegex(bload.OptionError, "at least two sequences: give it more blocks"):
            check_isolation(Model("llama", "sdpa").model, contracts.hugging_face({**batch(), "length": batch()["length"] * 0}))

    def test_modes_and_gradients_stay(self):
        model = Model("llama", "sdpa").model.train()
        model.model.layers[0].eval()
        check_isolation(model, contracts.hugging_face(batch()))
        self.assertEqual((model.training, model.model.layers[0].training, model.model.layers[1].training), (True, False, True))
        self.assertTrue(torch.is_grad_enabled())

    def test_half_precision_is_no_leak(self):
        for dtype in (torch.bfloat16, torch.float16):
            for options in ({}, {"mask": "4d"}):
                model = Model("llama", "sdpa").model.to(dtype)
                check_isolation(model, contracts.hugging_face(batch(), **options, config=model.config))
        model = Model("opt", "eager").model.to(torch.bfloat16)
        check_isolation(model, contracts.hugging_face(batch(), mask="4d", config=model.config))
        with self.assertRaises(bload.IsolationError):
            check_isolation(model, contracts.hugging_face(batch()))


class Losses(unittest.TestCase):
    def test_token_loss(self):
        """That of the model where there are labels; 0 with gradients where there are none."""
        model = Model("llama", "sdpa").model
        given = contracts.hugging_face(batch())
        out = model(**given)
        torch.testing.assert_close(token_loss(out, given["labels"]), out.loss)
        torch.testing.assert_close(token_loss(out, given["labels"], 10) * 10, out.loss * (given["labels"] != -100).sum())
        none = contracts.hugging_face({**batch(), "length": batch()["length"] * 0})
        self.assertEqual(none["input_ids"].shape, (1, 1))
        labels = none.pop("labels")
        for count in (None, torch.tensor(0), 7):
            loss = token_loss(model(**none), labels, count)
            self.assertEqual(loss.item(), 0)
            loss.backward()
        self.assertFalse(any(parameter.grad is None or parameter.grad.any() for parameter in model.parameters()))


if __name__ == "__main__":
    print(table(), end="")
