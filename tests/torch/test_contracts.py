"""What each consumer is given: shapes, types and values as it documents them, and against the released code where that is there."""
import importlib.util
import unittest

import numpy as np
import torch

import bload
from bload import contracts

T = 12
# Steps of the sequences of three blocks; None is one that failed, of two steps. The last block is full.
BLOCKS = [[3, 4, 2], [5, None, 1], [12]]
S = 4


def batch(align=1):
    """Those blocks, collated as numpy; token t of the sequence s is 100 * s + t."""
    B = len(BLOCKS)
    out = {"tokens": np.full((B, T), 7, np.int32), "cu_seqlens": np.zeros((B, S + 1), np.int32), "num_sequences": np.zeros(B, np.int32),
           "sequence": np.full((B, S), -1, np.int64), "length": np.zeros((B, S), np.int32), "ids": [[""] * S] * B}
    number = 0
    for b, lengths in enumerate(BLOCKS):
        at = 0
        for k, length in enumerate(lengths):
            out["cu_seqlens"][b, k] = at
            if length is None:
                out["tokens"][b, at:at + 2] = 0
                end = at + 2
            else:
                number += 1
                end = at + length
                out["tokens"][b, at:end] = 100 * number + np.arange(length)
                out["sequence"][b, k], out["length"][b, k] = number, length
            at = -(-end // align) * align
        out["cu_seqlens"][b, len(lengths):] = end
        out["num_sequences"][b] = len(lengths)
    return out


def sequences():
    """The tokens of every sequence that did not fail."""
    lengths = [length for lengths in BLOCKS for length in lengths if length]
    return [(100 * number + np.arange(length)).tolist() for number, length in enumerate(lengths, 1)]


def labels(separator=-100):
    return [[separator, *tokens[1:]] for tokens in sequences()]


def joined(lists):
    return [item for one in lists for item in one]


class Documented(unittest.TestCase):
    def assertArray(self, array, dtype, expected):
        self.assertEqual((array.dtype, array.tolist()), (np.dtype(dtype), expected))

    def test_attribute(self):
        """Of tensors tensors; a sequence that failed has no value."""
        weight = np.where(batch()["length"] > 0, batch()["sequence"] / 4, 0)
        given = {**{name: torch.from_numpy(value) for name, value in batch().items() if name != "ids"}, "weight": torch.from_numpy(weight)}
        each, steps = contracts.attribute(given, "weight"), contracts.attribute(given, "weight", per="step")
        self.assertEqual((each.dtype, each.tolist()), (torch.float64, [number / 4 for number in range(1, len(sequences()) + 1)]))
        self.assertEqual((steps.dtype, steps.shape), (torch.float64, given["tokens"].shape))
        self.assertEqual(steps.sum().item(), sum(len(tokens) * number / 4 for number, tokens in enumerate(sequences(), 1)))

    def test_flash_attention(self):
        for align in (1, 2):
            packed = contracts.flash_attention(batch(align))
            self.assertArray(packed["cu_seqlens"], "int32", [0, 3, 7, 9, 14, 15, 27])
            self.assertEqual((packed["max_seqlen"], packed["indices"].dtype), (12, np.int64))
            self.assertEqual(batch(align)["tokens"].reshape(-1)[packed["indices"]].tolist(), joined(sequences()))

    def test_hugging_face(self):
        got = contracts.hugging_face(batch())
        self.assertArray(got["input_ids"], "int64", [joined(sequences())])
        self.assertArray(got["labels"], "int64", [joined(labels())])
        self.assertArray(got["position_ids"], "int64", [joined(range(len(tokens)) for tokens in sequences())])
        self.assertArray(got["seq_idx"], "int32", [joined([k] * len(tokens) for k, tokens in enumerate(sequences()))])
        for which in "qk":
            self.assertArray(got[f"cu_seq_lens_{which}"], "int32", [0, 3, 7, 9, 14, 15, 27])
            self.assertEqual(got[f"max_length_{which}"], 12)
        self.assertIs(got["use_cache"], False)  # with one, models do not look at position_ids

    def test_labels_of_their_own(self):
        own = {**batch(), "targets": batch()["tokens"] + 1}
        self.assertArray(contracts.hugging_face(own, labels="targets")["labels"], "int64",
                         [joined([-100, *(t + 1 for t in tokens[1:])] for tokens in sequences())])
        self.assertEqual(contracts.trl(own, labels="targets")[2]["labels"], [t + 1 for t in sequences()[-1]])
        self.assertEqual(contracts.torchtune(own, labels="targets", separator=-1)["labels"][0].tolist(),
                         [-1, 102, 103, -1, 202, 203, 204, -1, 302, -1, -1, -1])

    def learned(self, name, **options):
        """[(token, what is learned at its step)], of steps at which something is, by what a consumer gives."""
        targets = {**batch(), "targets": batch()["tokens"] + 1, "mask": batch()["tokens"] % 2}
        targets["targets"][:, ::3] = -100  # the places of the first tokens of some sequences among them
        got = getattr(contracts, name)(targets, **options)
        if name == "megatron":
            taken = got["loss_mask"] != 0
            self.assertEqual(got["loss_mask"].dtype, np.float32)
            self.assertFalse(got["labels"][~taken].any() and not options.get("loss_mask"))
            return list(zip(got["tokens"][taken], got["labels"][taken]))
        if name == "maxtext":
            taken = got["targets_segmentation"] != 0
            self.assertTrue((got["targets_segmentation"] == got["inputs_segmentation"])[taken].all())
            return list(zip(got["inputs"][taken], got["targets"][taken]))
        examples = got if name == "trl" else [got]
        tokens = joined(np.ravel(one["tokens" if name == "torchtune" else "input_ids"]).tolist() for one in examples)
        labels = joined(np.ravel(one["labels"]).tolist() for one in examples)
        return [(token - 1, label) for token, label in zip(tokens, labels) if label != -100 and token % 100]

    def test_labels_and_loss_masks_are_those_of_every_consumer(self):
        steps = [(int(token), at) for b in range(len(BLOCKS)) for at, token in enumerate(batch()["tokens"][b]) if token >= 100]
        for name in ("hugging_face", "trl", "torchtune", "megatron", "maxtext"):
            own = [(token - 1, token + 1) for token, at in steps if token % 100 and at % 3]
            self.assertEqual(self.learned(name, labels="targets"), own, name)
            self.assertEqual(self.learned(name, loss_mask="mask"), [(t - 1, t) for t, _ in steps if t % 100 and t % 2], name)
            self.assertEqual(self.learned(name, labels="targets", loss_mask="mask"), [pair for pair in own if pair[0] % 2 == 0], name)

    def test_weights_are_megatrons_alone(self):
        own = {**batch(), "weights": batch()["tokens"] / np.float32(8)}
        self.assertArray(contracts.megatron(own, loss_mask="weights")["loss_mask"][0], "float32",
                         [101 / 8, 102 / 8, 0, 201 / 8, 202 / 8, 203 / 8, 0, 301 / 8, 0, 0, 0, 0])
        for name in ("hugging_face", "trl", "torchtune", "maxtext"):
            with self.assertRaisesRegex(bload.Error, "\"weights\" has weights other than 0 and 1"):
                getattr(contracts, name)(own, loss_mask="weights")

    def test_trl(self):
        whole = sequences()
        self.assertEqual(contracts.trl(batch()), [
            {"input_ids": joined(whole[:3]), "seq_lengths": [3, 4, 2]},
            {"input_ids": joined(whole[3:5]), "seq_lengths": [5, 1]},
            {"input_ids": whole[5], "seq_lengths": [12]}])

    def test_numbered_mask(self):
        self.assertArray(contracts.numbered_mask(batch()), "int64", [
            [1, 1, 1, 2, 2, 2, 2, 3, 3, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0, 2, 0, 0, 0, 0], [1] * 12])
        self.assertArray(contracts.numbered_mask(batch(2)), "int64", [
            [1, 1, 1, 0, 2, 2, 2, 2, 3, 3, 0, 0], [1, 1, 1, 1, 1, 0, 0, 0, 2, 0, 0, 0], [1] * 12])

    def test_torchtune(self):
        got = contracts.torchtune(batch())
        self.assertArray(got["tokens"], "int64", batch()["tokens"].tolist())
        self.assertArray(got["input_pos"], "int64", [
            [0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 0, 1, 0, 1, 2, 3, 4], list(range(12))])
        self.assertEqual([lens.tolist() for lens in got["seq_lens"]], [[3, 4, 2, 3], [5, 2, 1, 4], [12]])
        self.assertEqual({lens.dtype for lens in got["seq_lens"]}, {np.dtype("int64")})
        self.assertArray(got["labels"], "int64", [
            [*joined(labels()[:3]), -100, -100, -100], [*labels()[3], -100, -100, -100, -100, -100, -100, -100], labels()[5]])

    def test_megatron(self):
        got = contracts.megatron(batch())
        self.assertArray(got["cu_seqlens"], "int32", [[0, 3, 7, 9, 12, 12], [0, 5, 7, 8, 12, 12], [0, 12, 12, 12, 12, 12]])
        self.assertArray(got["max_seqlen"], "int32", [4, 5, 12])
        self.assertArray(got["loss_mask"], "float32", [
            [1, 1, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0], [1] * 11 + [0]])
        self.assertArray(got["labels"], "int64", [
            [101, 102, 0, 201, 202, 203, 0, 301, 0, 0, 0, 0], [401, 402, 403, 404, 0, 0, 0, 0, 0, 0, 0, 0],
            [*range(601, 612), 0]])
        self.assertArray(got["position_ids"], "int64", [
            [0, 1, 2, 0, 1, 2, 3, 0, 1, 0, 0, 0], [0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0], list(range(12))])
        self.assertArray(got["tokens"], "int64", batch()["tokens"].tolist())

    def test_megatron_with_context_parallelism(self):
        given = batch(4)
        given["cu_seqlens_padded"] = np.array([[0, 4, 8, 12, 12], [0, 8, 12, 12, 12], [0, 12, 12, 12, 12]], np.int32)
        given["cu_seqlens"][1], given["num_sequences"][1] = [0, 8, 9, 9, 9], 2
        given["length"][1] = [5, 1, 0, 0]
        got = contracts.megatron(given, cp=2)
        self.assertArray(got["cu_seqlens"], "int32", [[0, 3, 7, 9, 9, 9], [0, 5, 6, 6, 6, 6], [0, 12, 12, 12, 12, 12]])
        self.assertArray(got["cu_seqlens_padded"], "int32", [[0, 4, 8, 12, 12, 12], [0, 8, 12, 12, 12, 12], [0, 12, 12, 12, 12, 12]])
        self.assertArray(got["max_seqlen"], "int32", [4, 8, 12])
        self.assertArray(got["tokens"], "int64", given["tokens"].tolist())
        steps = [[[0, 3, 4, 7, 8, 11], [1, 2, 5, 6, 9, 10]], [[0, 1, 6, 7, 8, 11], [2, 3, 4, 5, 9, 10]], [[0, 1, 2, 9, 10, 11], [3, 4, 5, 6, 7, 8]]]
        for rank in 0, 1:
            part, own = contracts.megatron(given, cp=2, rank=rank), contracts.context_parallel(given, 2, rank)
            for name in "tokens", "labels", "loss_mask", "position_ids":
                self.assertArray(part[name], got[name].dtype, [got[name][b][steps[b][rank]].tolist() for b in range(3)])
            for name in "cu_seqlens", "cu_seqlens_padded", "max_seqlen":
                self.assertArray(part[name], "int32", got[name].tolist())
            self.assertArray(own["index"], "int64", [steps[b][rank] for b in range(3)])
            self.assertArray(own["cost"], "int64", [[15, 15], [23, 23], [39, 39]])
        tensors = {name: torch.from_numpy(value) for name, value in given.items() if name != "ids"}
        self.assertEqual(as_plain(contracts.context_parallel(tensors, 2, 1)), as_plain(contracts.context_parallel(given, 2, 1)))

    def test_grain(self):
        got = contracts.grain({**batch(), "frames": np.zeros((3, T, 2, 2), np.uint8)})
        self.assertEqual(list(got), ["tokens", "tokens_segment_ids", "tokens_positions", "frames", "frames_segment_ids",
                                     "frames_positions"])
        self.assertEqual((got["frames"].shape, got["frames"].dtype), ((3, T, 2, 2), np.uint8))
        for name in ("tokens", "frames"):
            self.assertArray(got[f"{name}_segment_ids"], "int32", contracts.numbered_mask(batch()).tolist())
            self.assertArray(got[f"{name}_positions"], "int32", contracts.megatron(batch())["position_ids"].tolist())
        self.assertEqual(list(contracts.grain(batch(), "tokens")), ["tokens", "tokens_segment_ids", "tokens_positions"])

    def test_maxtext(self):
        got = contracts.maxtext(batch())
        megatron = contracts.megatron(batch())
        number = contracts.numbered_mask(batch())
        self.assertEqual({array.dtype for array in got.values()}, {np.dtype("int32")})
        for name, expected in (("inputs", batch()["tokens"]), ("targets", megatron["labels"]), ("inputs_segmentation", number),
                               ("targets_segmentation", number * (megatron["loss_mask"] > 0)),
                               ("inputs_position", megatron["position_ids"]), ("targets_position", megatron["position_ids"])):
            self.assertEqual(got[name].tolist(), expected.tolist(), name)

    def test_reset_table(self):
        table = contracts.reset_table(batch())
        self.assertEqual([starts.tolist() for starts in table], [[0, 3, 7], [0, 5, 7], [0]])
        self.assertEqual({starts.dtype for starts in table}, {np.dtype("int64")})


CONSUMERS = ("flash_attention", "hugging_face", "padded", "trl", "numbered_mask", "torchtune", "megatron", "grain", "maxtext", "reset_table")


def preferences():
    """Two blocks of pairs, of which a sequence of the second failed; token t of the sequence s is 100 * s + t."""
    given = batch()
    given["num_sequences"] = np.array([2, 2], np.int32)
    given["length"] = np.array([[3, 4, 0, 0], [5, 0, 0, 0]], np.int32)
    given["cu_seqlens"] = np.array([[0, 3, 7, 7, 7], [0, 5, 7, 7, 7]], np.int32)
    given["sequence"] = np.array([[0, 1, -1, -1], [2, -1, -1, -1]])
    given["tokens"] = given["tokens"][:2]
    given["ids"] = given["ids"][:2]
    return {**given, "chosen": np.array([[1, 0, 0, 0], [1, 0, 0, 0]]), "pair": np.array([[7, 7, 0, 0], [8, 0, 0, 0]])}


def as_plain(value):
    if isinstance(value, dict):
        return {name: as_plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(one) for one in value]
    return (str(value.dtype).replace("torch.", ""), value.tolist()) if hasattr(value, "dtype") else value


class Everywhere(unittest.TestCase):
    """What holds for every consumer."""

    def test_pairs(self):
        """The arguments are those of hugging_face, and a pair of which a sequence failed is left out."""
        given = preferences()
        got = contracts.pairs(given)
        self.assertEqual(got["pairs"].tolist(), [[0, 1]])
        self.assertEqual(as_plain({name: value for name, value in got.items() if name != "pairs"}), as_plain(contracts.hugging_face(given)))
        self.assertEqual(contracts.pairs(given, pair="pair")["pairs"].tolist(), [[0, 1]])
        tensors = {name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for name, value in given.items()}
        self.assertEqual(contracts.pairs(tensors)["pairs"].tolist(), [[0, 1]])
        given["chosen"][0] = [0, 1, 0, 0]
        self.assertEqual(contracts.pairs(given, pair="pair")["pairs"].tolist(), [[1, 0]])
        self.assertRaisesRegex(bload.Error, "block 0 of the batch: sequences 0 and 1 are no pair", contracts.pairs, given)
        given["pair"][0, 1] = 9
        self.assertRaisesRegex(bload.Error, "block 0 of the batch: sequences 0 and 1 are no pair", contracts.pairs, given, pair="pair")
        given["num_sequences"] = np.array([1, 2])
        self.assertRaisesRegex(bload.Error, "block 0 of the batch has 1 sequences, which are no pairs", contracts.pairs, given)
        self.assertRaisesRegex(bload.Error, "no_such", contracts.pairs, given, chosen="no_such")
        empty = {name: value[:1] * 0 if isinstance(value, np.ndarray) else value for name, value in preferences().items()}
        self.assertEqual(contracts.pairs(empty)["pairs"].shape, (0, 2))

    def test_no_consumer_is_forgotten(self):
        marked = {name for name, value in vars(contracts).items() if hasattr(value, "__wrapped__")}
        # A number of each sequence has no consumer's own form. The others have tests of their own: test_own.py, test_multimodal.py and
        # test_context.py of python/tests.
        self.assertEqual(marked - {"attribute", "ctc", "pairs", "gemma3", "llava", "qwen_audio", "qwen_vl", "tiles", "context_parallel"},
                         set(CONSUMERS))

    def test_tensors_give_tensors(self):
        tensors = {name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for name, value in batch().items()}
        for name in CONSUMERS:
            got, expected = getattr(contracts, name)(tensors), getattr(contracts, name)(batch())
            self.assertEqual(as_plain(got), as_plain(expected), name)
            for value in got.values() if isinstance(got, dict) else got if isinstance(got, list) else [got]:
                self.assertNotIsInstance(value, np.ndarray, name)

    def test_what_sequences_have_of_their_own_is_no_field(self):
        for name in CONSUMERS:
            own = {"class": np.zeros((len(BLOCKS), S)), **batch(), "weight": np.zeros((len(BLOCKS), S)),
                   "frames_jpeg": [[np.zeros(3, np.uint8), np.zeros(4, np.uint8)]] * len(BLOCKS)}
            self.assertEqual(as_plain(getattr(contracts, name)(own)), as_plain(getattr(contracts, name)(batch())), name)

    def test_batch_is_not_changed(self):
        given = batch()
        for value in given.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        for name in CONSUMERS:
            getattr(contracts, name)(given)

    def test_one_block_is_taken_without_its_axis(self):
        for b in range(3):
            block = {name: value[b] for name, value in batch().items()}
            alone = {name: value[b:b + 1] for name, value in batch().items()}
            for name in ("numbered_mask", "reset_table"):
                self.assertEqual(getattr(contracts, name)(block).tolist(), getattr(contracts, name)(alone)[0].tolist())
            for name in ("torchtune", "megatron", "grain", "maxtext"):
                got, expected = getattr(contracts, name)(block), getattr(contracts, name)(alone)
                self.assertEqual(as_plain(got), as_plain({key: value[0] for key, value in expected.items()}), name)
            for name in ("flash_attention", "hugging_face", "padded", "trl"):
                self.assertEqual(as_plain(getattr(contracts, name)(block)), as_plain(getattr(contracts, name)(alone)), name)

    def test_blocks_without_sequences_are_padding(self):
        empty = {name: value[:1] * 0 if isinstance(value, np.ndarray) else value for name, value in batch().items()}
        empty["sequence"] -= 1
        self.assertEqual(contracts.flash_attention(empty)["cu_seqlens"].tolist(), [0])
        self.assertEqual(contracts.hugging_face(empty)["labels"].tolist(), [[-100]])
        self.assertEqual(contracts.padded(empty)["labels"].tolist(), [[-100]])
        self.assertEqual(contracts.trl(empty), [{"input_ids": [], "seq_lengths": []}])
        self.assertFalse(contracts.numbered_mask(empty).any())
        self.assertEqual([lens.tolist() for lens in contracts.torchtune(empty)["seq_lens"]], [[T]])
        self.assertEqual(contracts.torchtune(empty)["input_pos"].tolist(), [list(range(T))])
        self.assertEqual(contracts.megatron(empty)["cu_seqlens"].tolist(), [[0] + [T] * (S + 1)])
        self.assertFalse(contracts.megatron(empty)["loss_mask"].any())
        self.assertFalse(contracts.maxtext(empty)["inputs_segmentation"].any())
        self.assertEqual([starts.tolist() for starts in contracts.reset_table(empty)], [[]])

    def test_what_is_missing_is_named(self):
        for gone in ("cu_seqlens", "length", "num_sequences"):
            with self.assertRaisesRegex(bload.Error, gone):
                contracts.flash_attention({name: value for name, value in batch().items() if name != gone})
        with self.assertRaisesRegex(bload.Error, "no \"labels\"; its entries are: tokens, "):
            contracts.hugging_face(batch(), "labels")
        with self.assertRaisesRegex(bload.Error, "no field"):
            contracts.flash_attention({name: value for name, value in batch().items() if name != "tokens"})


def needs(module):
    return unittest.skipUnless(importlib.util.find_spec(module), f"no {module}")


class Released(unittest.TestCase):
    """The same as the consumers' own code makes of the sequences one by one."""

    @needs("transformers")
    def test_transformers_flattening_collator(self):
        from transformers import DataCollatorWithFlattening
        collator = DataCollatorWithFlattening(return_tensors="np", return_flash_attn_kwargs=True, return_seq_idx=True)
        expected = collator([{"input_ids": tokens} for tokens in sequences()])
        self.assertEqual(as_plain(contracts.hugging_face(batch())), as_plain({**expected, "use_cache": False}))
        own = {**batch(), "targets": batch()["tokens"] + 1}
        expected = collator([{"input_ids": tokens, "labels": [t + 1 for t in tokens]} for tokens in sequences()])
        self.assertEqual(as_plain(contracts.hugging_face(own, labels="targets")), as_plain({**expected, "use_cache": False}))

    @needs("trl")
    def test_trl_collator(self):
        from trl.trainer.sft_trainer import DataCollatorForLanguageModeling
        got = DataCollatorForLanguageModeling(pad_token_id=0, padding_free=True)(contracts.trl(batch()))
        expected = contracts.hugging_face(batch())
        for name in ("input_ids", "labels", "position_ids", "cu_seq_lens_q"):
            self.assertEqual(got[name].tolist(), expected[name].tolist(), name)

    @needs("torchtune")
    def test_torchtune_packs(self):
        from torchtune.datasets import PackedDataset
        from torchtune.modules.attention_utils import create_block_causal_mask

        class Source(torch.utils.data.Dataset):
            def __len__(self):
                return 3

            def __getitem__(self, i):
                return {"tokens": sequences()[i], "labels": labels()[i]}

        first = {name: value[:1] for name, value in batch().items()}
        pack = PackedDataset(Source(), max_seq_len=T, padding_idx=7)[0]
        got = contracts.torchtune(first)
        for name in ("tokens", "labels", "input_pos", "seq_lens"):
            self.assertEqual(got[name][0].tolist(), pack[name].tolist(), name)
            self.assertEqual(str(got[name][0].dtype), str(pack[name].dtype)[6:])
        self.assertEqual(create_block_causal_mask([torch.from_numpy(got["seq_lens"][0])]).shape, (1, T, T))

    @needs("grain")
    def test_grain_packing(self):
        import grain
        source = grain.MapDataset.source([{"tokens": np.array(tokens, np.int32)} for tokens in sequences()[:3]]).to_iter_dataset()
        packer = grain.experimental.FirstFitPackIterDataset(source, length_struct={"tokens": T}, num_packing_bins=1)
        pack = next(iter(packer))
        first = {name: value[:1] for name, value in batch().items()}
        first["tokens"] = np.where(first["tokens"] == 7, 0, first["tokens"])
        got = contracts.grain(first)
        self.assertEqual(as_plain({name: value[0] for name, value in got.items()}), as_plain(dict(pack)))


class Attention(unittest.TestCase):
    def attend(self, x, mask):
        scores = (x @ x.T / x.shape[1] ** 0.5).masked_fill(~mask, float("-inf"))
        return scores.softmax(dim=1) @ x

    def test_attention_within_boundaries_is_that_of_each_sequence(self):
        packed = contracts.flash_attention(batch())
        torch.manual_seed(0)
        x = torch.randn(len(BLOCKS), T, 4).flatten(0, 1)[torch.from_numpy(packed["indices"])]
        inside = torch.from_numpy(contracts.hugging_face(batch())["seq_idx"][0])
        whole = self.attend(x, inside[:, None] == inside)
        edges = packed["cu_seqlens"].tolist()
        for first, end in zip(edges, edges[1:]):
            part = x[first:end]
            alone = self.attend(part, torch.ones(len(part), len(part), dtype=torch.bool))
            self.assertTrue(torch.allclose(alone, whole[first:end], atol=1e-6))
