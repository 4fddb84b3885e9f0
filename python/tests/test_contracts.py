"""Masks, padded rows and empty batches of bload.contracts, which need no torch."""
import types
import unittest

import numpy as np

import bload
from bload import contracts

LENGTHS = [[3, 4], [1]]
T, S = 8, 3


def batch(lengths=LENGTHS):
    """Blocks with sequences of so many steps; token t of sequence s is 10 * s + t."""
    out = {"tokens": np.full((len(lengths), T), 7), "cu_seqlens": np.zeros((len(lengths), S + 1), np.int32),
           "length": np.zeros((len(lengths), S), np.int32), "num_sequences": np.array([len(one) for one in lengths], np.int32)}
    number = 0
    for b, one in enumerate(lengths):
        edges = np.cumsum([0, *one])
        out["cu_seqlens"][b] = [*edges, *[edges[-1]] * (S - len(one))]
        out["length"][b, :len(one)] = one
        for first, length in zip(edges, one):
            number += 1
            out["tokens"][b, first:first + length] = 10 * number + np.arange(length)
    return out


def config(attention="sdpa", model="llama", **options):
    return types.SimpleNamespace(_attn_implementation=attention, model_type=model, **options)


def attended(window=T, chunk=T):
    """What each step attends to, by the definition: [8][8]."""
    steps = [(s, t) for s, length in enumerate(sum(LENGTHS, [])) for t in range(length)]
    return [[s == other and t - window < u <= t and u // chunk == t // chunk for other, u in steps] for s, t in steps]


class Masks(unittest.TestCase):
    def mask(self, **options):
        return contracts.hugging_face(batch(), mask="4d", **options)["attention_mask"]

    def test_bool_for_sdpa_and_numbers_elsewhere(self):
        mask = self.mask(config=config())
        self.assertEqual((mask.dtype, mask.shape, mask[0, 0].tolist()), (np.dtype(bool), (1, 1, 8, 8), attended()))
        for other in (self.mask(), self.mask(config=config("eager"))):
            self.assertEqual((other.dtype, other.shape), (np.dtype(np.float32), mask.shape))
            self.assertTrue((other == np.where(mask, 0, np.finfo(np.float32).min)).all())

    def test_windows_and_chunks(self):
        self.assertEqual(self.mask(config=config(sliding_window=2))[0, 0].tolist(), attended(window=2))
        self.assertEqual(self.mask(config=config(sliding_window=None))[0, 0].tolist(), attended())
        self.assertEqual(self.mask(config=config(model="moshi", sliding_window=2))[0, 0].tolist(), attended())
        layers = ["sliding_attention", "chunked_attention", "full_attention", "linear_attention", "full_attention"]
        masks = self.mask(config=config(layer_types=layers, sliding_window=3, attention_chunk_size=2))
        self.assertEqual(set(masks), set(layers))
        self.assertIsNone(masks["linear_attention"])
        for layer, options in (("sliding_attention", {"window": 3}), ("chunked_attention", {"chunk": 2}), ("full_attention", {})):
            self.assertEqual(masks[layer][0, 0].tolist(), attended(**options), layer)

    def test_text_part_of_a_model_counts(self):
        whole = types.SimpleNamespace(get_text_config=lambda: config("eager", sliding_window=2))
        self.assertEqual((self.mask(config=whole) == 0)[0, 0].tolist(), attended(window=2))

    def test_flash_attention_takes_the_boundaries(self):
        got = contracts.hugging_face(batch(), mask="4d", config=config("flash_attention_2"))
        self.assertNotIn("attention_mask", got)
        self.assertEqual(got["cu_seq_lens_q"].tolist(), [0, 3, 7, 8])

    def test_what_masks_cannot_do_is_refused(self):
        for options, said in (
                ({"mask": "2d"}, "mask must be None or \"4d\", not '2d'"),
                ({"config": config(model="bloom")}, "separate the sequences in bloom, which takes masks of two axes only: .*bload.contracts.padded"),
                ({"config": config(model="mamba")}, "separate the sequences in mamba, which carries its state"),
                ({"config": config("flex_attention")}, "attention \"flex_attention\": load the model with"),
                ({"config": config(layer_types=["strange"])}, "layers of the type strange"),
                ({"config": config(), "max_mask_bytes": 63}, "8 steps and 1 kinds of layers need 64 bytes with sdpa attention"),
                ({"config": config("eager", layer_types=["sliding_attention", "full_attention"], sliding_window=2), "max_mask_bytes": 511},
                 "need 512 bytes with eager attention, more than max_mask_bytes, 511")):
            with self.assertRaisesRegex(bload.OptionError, said):
                contracts.hugging_face(batch(), **{"mask": "4d", **options})
        self.assertEqual(self.mask(config=config(), max_mask_bytes=64).nbytes, 64)


class Rows(unittest.TestCase):
    def test_padded(self):
        got = contracts.padded({**batch(), "mask": np.ones((2, T), int)}, loss_mask="mask")
        self.assertEqual(got["input_ids"].tolist(), [[10, 11, 12, 0], [20, 21, 22, 23], [30, 0, 0, 0]])
        self.assertEqual(got["labels"].tolist(), [[10, 11, 12, -100], [20, 21, 22, 23], [30, -100, -100, -100]])
        self.assertEqual(got["attention_mask"].tolist(), [[1, 1, 1, 0], [1, 1, 1, 1], [1, 0, 0, 0]])
        self.assertEqual({array.dtype for array in got.values()}, {np.dtype(np.int64)})

    def test_attributes(self):
        """A number of each sequence, also where the batch is one block, or has no sequence; for the rows of TRL, too."""
        places = {"weight": np.array([[0.5, 0, 0], [2, 0, 0]])}
        places["weight"][0, 1] = -1
        given = {**batch(), **places}
        self.assertEqual(contracts.attribute(given, "weight").tolist(), [0.5, -1, 2])
        self.assertEqual(contracts.attribute(given, "weight", per="step").tolist(), [[0.5] * 3 + [-1] * 4 + [0], [2] + [0] * 7])
        one = {name: value[0] for name, value in given.items()}
        self.assertEqual(contracts.attribute(one, "weight").tolist(), [0.5, -1])
        self.assertEqual(contracts.attribute(one, "weight", per="step").tolist(), [0.5] * 3 + [-1] * 4 + [0])
        self.assertEqual([row["weight"] for row in contracts.trl(given, attributes=["weight"])], [[0.5, -1], [2]])
        empty = {**batch([[], []]), "weight": np.zeros((2, S))}
        self.assertEqual(contracts.attribute(empty, "weight").tolist(), [0])
        for name, said in ("reward", "no \"reward\"; its entries are: tokens"), ("tokens", r"\"tokens\" has the shape \[2, 8\]"):
            with self.assertRaisesRegex(bload.Error, said):
                contracts.attribute(given, name)
        with self.assertRaisesRegex(bload.OptionError, "per must be"):
            contracts.attribute(given, "weight", per="block")

    def test_batch_without_sequences_is_one_step_of_padding(self):
        """A rank whose batch has none takes part in the step of the others."""
        for lengths in ([[]], [[], []]):
            got = contracts.hugging_face(batch(lengths), mask="4d")
            self.assertEqual([got[name].tolist() for name in ("input_ids", "labels", "position_ids", "seq_idx")], [[[7]], [[-100]], [[0]], [[0]]])
            self.assertEqual((got["cu_seq_lens_q"].tolist(), got["max_length_k"], got["attention_mask"].tolist()), ([0, 1], 1, [[[[0]]]]))
            got = contracts.padded(batch(lengths))
            self.assertEqual({name: array.tolist() for name, array in got.items()},
                             {"input_ids": [[7]], "labels": [[-100]], "attention_mask": [[1]]})

    def test_batch_of_which_the_trainer_left_nothing(self):
        with self.assertRaisesRegex(bload.Error, "it is empty.* use TrainingArguments[(]remove_unused_columns=False"):
            contracts.hugging_face({})
