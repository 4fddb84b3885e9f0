"""Fields that have steps of their own, in batches: joined and padded, ignored by the contracts that do not name them, and in CTC."""
import unittest

import numpy as np
import torch
from torch.utils.data import DataLoader

import bload.torch
from bload import contracts
from bload.torch import BlockDataset, collate
from harness import each
from packed import PackedTest
from own import FIELDS as OWN
from own import with_own
from test_contracts import CONSUMERS, T, as_plain, batch

FEATURES, CLASSES = 6, 5
# The own steps of the sequences of three blocks with their steps; None: the sequence failed.
BLOCKS = [[(9, 3), (14, 2), (5, 0)], [(7, 1), None, (11, 4)], [(1, 1)]]
LONGEST = 32  # T of these blocks


def own_batch(capacity, joined=False):
    """The batch of test_contracts with a field of own steps, at most two for each sequence."""
    given = batch()
    lengths = np.minimum(given["length"], 2)
    edges = np.concatenate([np.zeros((len(lengths), 1), int), lengths.cumsum(1)], 1).astype("i4")
    words = np.zeros((len(lengths), capacity, 2), "i2")
    for b, row in enumerate(edges):
        words[b, :row[-1]] = np.arange(2 * row[-1]).reshape(-1, 2)
    if joined:
        ends = np.cumsum([0, *edges[:, -1]]).astype("i4")
        words = np.concatenate([one[:row[-1]] for one, row in zip(words, edges)])
        return {**given, "words": words, "words_cu_seqlens": edges + ends[:-1, None], "words_offsets": ends}
    return {**given, "words": words, "words_cu_seqlens": edges}


class Ignored(unittest.TestCase):
    """Every contract gives the same with an own field, which may have more steps than T, as many, or fewer: so T comes from a name."""

    @each(CONSUMERS)
    def test_contract(self, name):
        expected = as_plain(getattr(contracts, name)(batch()))
        for capacity in (T + 9, T, T - 3):
            for joined in False, True:
                given = own_batch(capacity, joined)
                self.assertEqual(as_plain(getattr(contracts, name)(given)), expected)
                self.assertEqual(as_plain(getattr(contracts, name)({**given, "weight": np.zeros(given["length"].shape)})), expected)
                if joined:
                    continue
                one = {key: value[1] for key, value in given.items()}
                self.assertEqual(as_plain(getattr(contracts, name)(one)), as_plain(getattr(contracts, name)({key: value[1] for key, value in
                                                                                                          batch().items()})))

    def test_attribute(self):
        weight = np.arange(12).reshape(3, 4)
        for per in "sequence", "step":
            expected = contracts.attribute({**batch(), "weight": weight}, "weight", per=per).tolist()
            for capacity in (T + 9, T, T - 3):
                self.assertEqual(contracts.attribute({**own_batch(capacity), "weight": weight}, "weight", per=per).tolist(), expected)

    def test_named(self):
        """T is that of the field, whatever else is there; an own field is no field of tokens."""
        extra = {**own_batch(T), "embedding": np.zeros((3, 40, 2)), "other": np.zeros((3, 13))}
        self.assertEqual(as_plain(contracts.megatron(extra)), as_plain(contracts.megatron(batch())))
        for function in contracts.flash_attention, contracts.numbered_mask:
            self.assertEqual(as_plain(function(extra, field="tokens")), as_plain(function(batch())))
            self.assertEqual(as_plain(function({**extra, "mask": np.zeros((3, T), bool)})), as_plain(function(batch())))
            with self.assertRaisesRegex(bload.Error, "have 12, 13, 40 steps per block: name a field"):
                function(extra)
        for call in (lambda: contracts.padded(extra, "words"), lambda: contracts.flash_attention(extra, field="words"),
                     lambda: contracts.padded(extra, labels="words"), lambda: contracts.grain(extra, "words")):
            with self.assertRaisesRegex(bload.Error, "\"words\" has steps of its own"):
                call()
        with self.assertRaisesRegex(bload.Error, "\"other\" has the shape \\[3, 13\\]"):
            contracts.padded(extra, labels="other")


def speech(common="features", dtype=np.float32):
    """Blocks of speech whose common steps are features or text, with the other as own steps, and the sequences alone."""
    random, blocks, alone = np.random.default_rng(2), [], []
    S = max(map(len, BLOCKS))
    for lengths in BLOCKS:
        block = {"features": np.zeros((LONGEST, FEATURES), dtype), "text": np.zeros(LONGEST, np.int32)}
        edges = np.zeros((2, S + 1), "i4")
        for k, one in enumerate(lengths):
            count, sound = one or (4, 2), one is not None
            parts = random.normal(size=(count[0], FEATURES)).astype(dtype) * sound, random.integers(1, CLASSES, count[1]) * sound
            for name, part, edge in zip(block, parts, edges):
                block[name][edge[k]:edge[k] + len(part)] = part
                edge[k + 1:] = edge[k] + len(part)
            if one and all(one):
                alone.append(parts)
        own = "text" if common == "features" else "features"
        length = np.diff(edges[list(block).index(common)]) * [k < len(lengths) and lengths[k] is not None for k in range(S)]
        block.update({"cu_seqlens": edges[list(block).index(common)], f"{own}_cu_seqlens": edges[list(block).index(own)],
                      "length": length.astype("i4"), "num_sequences": np.int32(len(lengths))})
        blocks.append(block)
    return blocks, alone


def unpadded(blocks, own):
    out = []
    for block in blocks:
        count = int(block[f"{own}_cu_seqlens"][-1])
        out.append({**block, own: block[own][:count], f"{own}_offsets": np.array([0, count], "i4")})
    return out


class Speech(torch.nn.Module):
    """A small model of speech: a convolution that looks back, and an LSTM."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.conv = torch.nn.Conv1d(FEATURES, 8, 3)
        self.lstm = torch.nn.LSTM(8, 8, batch_first=True, bidirectional=True)
        self.out = torch.nn.Linear(16, CLASSES)

    def forward(self, features, lengths):
        seen = self.conv(torch.nn.functional.pad(features.transpose(1, 2), (2, 0))).relu().transpose(1, 2)
        packed = torch.nn.utils.rnn.pack_padded_sequence(seen, lengths, batch_first=True, enforce_sorted=False)
        states, _ = torch.nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.out(states).log_softmax(-1).transpose(0, 1)


class Ctc(unittest.TestCase):
    def check(self, given, alone, failed=1):
        """Rows and losses are those of the sequences alone."""
        rows = contracts.ctc(given, "features", "text")
        self.assertEqual([(len(features), len(text)) for features, text in alone],
                         list(zip(rows["input_lengths"].tolist(), rows["target_lengths"].tolist())))
        self.assertEqual(rows["attention_mask"].sum(1).tolist(), rows["input_lengths"].tolist())
        model, loss, each = Speech(), torch.nn.CTCLoss(reduction="none"), []
        for k, (features, text) in enumerate(alone):
            self.assertTrue(np.array_equal(rows["input_features"][k, :len(features)].numpy(), features))
            self.assertFalse(rows["input_features"][k, len(features):].any())
            self.assertEqual(rows["labels"][k].tolist(), [*text.tolist(), *[0] * (rows["labels"].shape[1] - len(text))])
            sizes = torch.tensor([len(features)]), torch.tensor([len(text)])
            each.append(loss(model(torch.from_numpy(features)[None], sizes[0]), torch.from_numpy(text)[None], *sizes)[0])
        together = loss(model(rows["input_features"], rows["input_lengths"]), rows["labels"], rows["input_lengths"], rows["target_lengths"])
        self.assertTrue(torch.allclose(together, torch.stack(each), atol=1e-4), (together, each))
        self.assertEqual(rows["left_out"], sum(map(len, BLOCKS)) - len(alone))

    @each(("features", "text"))
    def test_alone(self, common):
        """Padded, joined, and of blocks as arrays and tensors; whichever field has the own steps."""
        blocks, alone = speech(common)
        own = "text" if common == "features" else "features"
        self.check(collate(blocks), alone)
        self.check(collate(unpadded(blocks, own)), alone)
        first = {name: torch.from_numpy(np.asarray(value)) for name, value in blocks[0].items()}
        rows = contracts.ctc(first, "features", "text")
        self.assertEqual(rows["labels"].tolist(), contracts.ctc(collate(blocks[:1]), "features", "text")["labels"].tolist())
        arrays = contracts.ctc({name: np.stack([block[name] for block in blocks]) for name in blocks[0]}, "features", "text")
        self.assertIsInstance(arrays["input_features"], np.ndarray)
        self.assertEqual(arrays["labels"].dtype, np.int64)

    def test_padding(self):
        rows = contracts.ctc(collate(speech()[0]), padding=-100)
        self.assertEqual((rows["labels"] == -100).sum().item(), int((rows["labels"].shape[1] - rows["target_lengths"]).sum()))

    def test_empty(self):
        """A batch without rows gives a step without a target, on which the model can be run."""
        blocks = [{**block, "length": block["length"] * 0} for block in speech()[0]]
        for given in blocks, unpadded(blocks, "text"):
            rows = contracts.ctc(collate(given))
            self.assertEqual((rows["input_lengths"].tolist(), rows["target_lengths"].tolist(), rows["left_out"]), ([1], [0], sum(map(len, BLOCKS))))
            loss = torch.nn.CTCLoss()(Speech()(rows["input_features"], rows["input_lengths"]), rows["labels"], rows["input_lengths"],
                                      rows["target_lengths"])
            self.assertTrue(loss.isfinite())

    def test_bf16(self):
        given = collate(speech()[0])
        given["features"] = given["features"].to(torch.bfloat16)
        self.assertTrue(torch.equal(contracts.ctc(given)["input_features"].to(torch.bfloat16),
                                    contracts.ctc(collate(speech()[0]))["input_features"].to(torch.bfloat16)))

    def test_refused(self):
        given = collate(speech()[0])
        for change, said in (({"features": None}, "no \"features\""), ({"features": given["features"][:2]}, "does not begin with 3 blocks"),
                             ({"source_start": given["length"] * 2}, "parts of sequences"), ({"cu_seqlens": None}, "no \"cu_seqlens\""),
                             ({"text": given["text"][:, :3]}, "\"text\" has fewer steps")):
            wrong = {name: value for name, value in {**given, **change}.items() if value is not None}
            with self.assertRaisesRegex(bload.Error, said):
                contracts.ctc(wrong)


class Collated(PackedTest):
    """Batches of a dataset with own fields, by DataLoaders."""
    data_of_own = None

    def setUp(self):
        self.where = with_own(self.data, self.path("own"))

    def test_joined(self):
        """With pad=False the own steps of a batch lie one after the other, and the tables find those of each sequence."""
        whole = bload.open(self.where, ids=False)
        for workers in 0, 2:
            loader = DataLoader(BlockDataset(self.where, pad=False), batch_size=3, num_workers=workers, collate_fn=collate)
            for number, found in enumerate(loader):
                blocks = whole[3 * number:3 * number + 3]
                for name in OWN:
                    tables, ends = found[f"{name}_cu_seqlens"], found[f"{name}_offsets"]
                    self.assertEqual((tables.dtype, ends.dtype, len(found[name])), (torch.int32, torch.int32, int(ends[-1])))
                    for b, block in enumerate(blocks):
                        self.assertTrue(np.array_equal(tables[b].numpy() - int(ends[b]), block[f"{name}_cu_seqlens"]))
                        own = found[name][ends[b]:ends[b + 1]].numpy()
                        self.assertTrue(np.array_equal(own, block[name][:block[f"{name}_cu_seqlens"][-1]]))

    def test_stacked(self):
        """Padded own fields are stacked by any collate function."""
        for function in collate, None:
            loader = DataLoader(BlockDataset(self.where), batch_size=2, collate_fn=function)
            for number, found in enumerate(loader):
                for b, block in enumerate(bload.open(self.where, ids=False)[2 * number:2 * number + 2]):
                    self.assertEqual(set(found), set(block))
                    for name in block:
                        self.assertTrue(np.array_equal(found[name][b].numpy(), block[name]), name)

    def test_sampled(self):
        """Each sequence is sampled once, with its own steps, in every training epoch, by workers, too."""
        dataset = BlockDataset(self.where, pad=False)
        steps = [len(dataset.dataset.sequence(row)["transcript"]) for row in range(len(dataset.dataset.sequences))]
        sampler = bload.torch.BlockSampler(dataset)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            rows = {}
            for found in DataLoader(dataset, batch_size=2, sampler=sampler, num_workers=1, collate_fn=collate):
                counts = found["transcript_cu_seqlens"].diff(dim=1)
                rows.update({int(row): int(count) for row, count in zip(found["sequence"].flatten(), counts.flatten()) if row >= 0})
            self.assertEqual([rows[row] for row in range(len(steps))], steps)
