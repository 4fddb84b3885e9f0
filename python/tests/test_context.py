"""Context parallelism: what bload.contracts gives a rank, and the steps that a rank reads, on datasets and views that the tool makes."""
import os

import numpy as np

import bload
from bload import contracts
from bload._core.context import segments_for
from bload._core.mapping import MappedFile
from harness import each
from sample import TEXT, Sample

JOINED = "-c", "joined.yaml", "--oversize", "split"
PICTURES = "pictures", "--kind", "array", "--name", "frames", "--oversize", "split"
# name: the arguments of pack, a field, and the ranks.
PARTS = {
    "plain": ((*TEXT, "-T", "64", "--cp", "4", "--pad-id", "7"), "tokens", 4),
    "zstd": ((*TEXT, "-T", "64", "--cp", "4", "--compress", "zstd", "--frame-size", "4K"), "tokens", 4),
    "repeat": ((*JOINED, "-T", "48", "--pad", "repeat", "--cp", "3"), "sound", 3),
    "jpeg": ((*PICTURES, "-T", "24", "--encode", "jpeg", "--cp", "2", "--pad", "repeat"), "frames", 2),
    "delta": ((*PICTURES, "-T", "24", "--encode", "delta", "--compress", "zstd", "--cp", "2"), "frames", 2),
}


def formula(edges, total, size, rank):
    """The steps of a rank as TransformerEngine's thd_get_partitioned_indices computes them, one after the other."""
    edges, out = [edge // size for edge in edges], []
    for token in range(total // size):
        segment = next(k for k in range(len(edges) - 1) if edges[k] <= token < edges[k + 1])
        length = edges[segment + 1] - edges[segment]
        index = token - edges[segment]
        offset = rank if index < length // 2 else (size - 1) * 2 - rank
        out.append(index + edges[segment] * size + length // 2 * offset)
    return out


def drawn(random, cp, B=3):
    """A batch whose sequences cp ranks can divide, as numpy: sequences that failed, full and empty blocks among them."""
    multiple, S = 2 * cp, 9
    blocks = [random.integers(1, 60, random.integers(1, S)).tolist() for _ in range(B - 1)] + [[]]
    T = int(max(sum(-(-n // multiple) * multiple for n in lengths) for lengths in blocks)) + random.integers(0, 3) * multiple
    out = {"tokens": random.integers(0, 999, (B, T)), "cu_seqlens": np.zeros((B, S + 1), np.int32), "length": np.zeros((B, S), np.int32),
           "num_sequences": np.array([len(lengths) for lengths in blocks], np.int32)}
    for b, lengths in enumerate(blocks):
        at = end = 0
        for k, length in enumerate(lengths):
            out["cu_seqlens"][b, k], out["length"][b, k] = at, length if random.integers(9) else 0
            end = at + length
            at = -(-end // multiple) * multiple
        out["cu_seqlens"][b, len(lengths):] = end
    last = np.arange(S + 1) >= out["num_sequences"][:, None]
    out["cu_seqlens_padded"] = np.where(last, -(-out["cu_seqlens"] // multiple) * multiple, out["cu_seqlens"]).astype(np.int32)
    return out


class Contracts(Sample):
    def test_ranks_have_the_steps_of_the_formula(self):
        random = np.random.default_rng(5)
        for cp in range(2, 17):
            batch = drawn(random, cp)
            T = batch["tokens"].shape[1]
            whole = contracts.megatron(batch, cp=cp)
            zigzag = [contracts.context_parallel(batch, cp, rank) for rank in range(cp)]
            parts = [contracts.megatron(batch, cp=cp, rank=rank) for rank in range(cp)]
            for b in range(3):
                edges = batch["cu_seqlens_padded"][b].tolist() + [T]
                for rank, (one, part) in enumerate(zip(zigzag, parts)):
                    self.assertEqual(one["index"][b].tolist(), formula(edges, T, cp, rank), (cp, rank))
                    for name in "tokens", "labels", "loss_mask", "position_ids":
                        self.assertTrue((part[name][b] == whole[name][b][one["index"][b]]).all(), name)
                        if name != "labels":
                            self.assertTrue((part[name][b] == one[name][b]).all(), name)
                    self.assertTrue((one["labels"][b] == np.where(part["loss_mask"][b] > 0, part["labels"][b], -100)).all())
                costs, ends = zigzag[0]["cost"][b], batch["cu_seqlens_padded"][b]
                for layout in "zigzag", "contiguous":
                    for rank in range(cp):
                        one = contracts.context_parallel(batch, cp, rank, layout=layout)
                        steps = one["index"][b][one["index"][b] < ends[-1]]
                        self.assertEqual(one["cost"][b][rank], (steps - ends[np.searchsorted(ends, steps, "right") - 1] + 1).sum())
                self.assertEqual(len(set(costs.tolist())), 1, (cp, costs))
                widths = np.diff(batch["cu_seqlens_padded"][b].astype(int))
                self.assertEqual(costs.sum(), (widths * (widths + 1) // 2).sum())
            contiguous = [contracts.context_parallel(batch, cp, rank, layout="contiguous") for rank in range(cp)]
            self.assertTrue((np.concatenate([one["index"] for one in contiguous], 1) == np.arange(T)).all())
            self.assertTrue((contiguous[0]["cost"].sum(1) == zigzag[0]["cost"].sum(1)).all())
            self.assertTrue((contiguous[0]["cost"].max(1) >= zigzag[0]["cost"].max(1)).all())

    def test_boundaries(self):
        """cu_seqlens sums lengths alone; cu_seqlens_padded ends with the padding at the end, which is empty in cu_seqlens."""
        random = np.random.default_rng(6)
        for cp in 2, 3, 8:
            batch = drawn(random, cp)
            T, got = batch["tokens"].shape[1], contracts.megatron(batch, cp=cp)
            self.assertEqual((got["cu_seqlens"].dtype, got["cu_seqlens_padded"].dtype), (np.int32, np.int32))
            self.assertFalse((got["cu_seqlens_padded"] % (2 * cp)).any())
            self.assertTrue((got["cu_seqlens_padded"][:, -1] == T).all())
            self.assertTrue((np.diff(got["cu_seqlens_padded"]) >= np.diff(got["cu_seqlens"])).all())
            self.assertTrue((np.diff(got["cu_seqlens"])[:, :-1] == batch["length"]).all())
            self.assertEqual(got["max_seqlen"].tolist(), np.diff(got["cu_seqlens_padded"]).max(1).tolist())
            self.assertEqual(set(got["cu_seqlens_padded"][-1].tolist()), {0, T})

    def test_labels_cross_the_ends_of_chunks(self):
        """Every token but the first of a sequence is the label of exactly one step of one rank, whatever the layout."""
        random = np.random.default_rng(7)
        batch = drawn(random, 4)
        for layout in "zigzag", "contiguous":
            taken = [contracts.context_parallel(batch, 4, rank, layout=layout) for rank in range(4)]
            found = sorted((b, int(step) + 1, int(label)) for one in taken for b in range(3)
                           for step, label in zip(one["index"][b], one["labels"][b]) if label != -100)
            self.assertEqual(found, [(b, at, int(batch["tokens"][b, at])) for b in range(3) for k, length in enumerate(batch["length"][b])
                                     for at in range(batch["cu_seqlens"][b, k] + 1, batch["cu_seqlens"][b, k] + length)])
            self.assertEqual(sum((one["segment_ids"] > 0).sum() for one in taken), batch["length"].sum())

    def test_one_rank_and_one_block(self):
        random = np.random.default_rng(8)
        batch = drawn(random, 2)
        plain = {name: value for name, value in batch.items() if name != "cu_seqlens_padded"}
        for given in batch, plain:  # a single rank needs no table
            self.assertTrue((contracts.context_parallel(given, 1, 0)["index"] == np.arange(batch["tokens"].shape[1])).all())
        got, expected = contracts.context_parallel({name: value[0] for name, value in batch.items()}, 2, 1), contracts.context_parallel(batch, 2, 1)
        for name, value in got.items():
            self.assertTrue(np.array_equal(value, expected[name][0]), name)
        weights = {**batch, "weights": np.full(batch["tokens"].shape, 0.25)}
        self.assertEqual(set(np.unique(contracts.context_parallel(weights, 2, 0, loss_mask="weights")["loss_mask"])), {0, 0.25})

    def test_what_is_wrong_is_said(self):
        batch = drawn(np.random.default_rng(9), 2)
        plain = {name: value for name, value in batch.items() if name != "cu_seqlens_padded"}
        for call, kind, message in (
                (lambda: contracts.megatron(plain, cp=2), bload.Error, "no \"cu_seqlens_padded\".*or make a view of it .*with --cp 2"),
                (lambda: contracts.context_parallel(plain, 4, 0), bload.Error, "with --cp 4"),
                (lambda: contracts.context_parallel(batch, 512, 0), bload.Error, "cp = 512 does not suit the dataset, because "),
                (lambda: contracts.context_parallel(batch, 0, 0), bload.OptionError, "cp must be at least 1"),
                (lambda: contracts.context_parallel(batch, 2, 2), bload.OptionError, "rank must be between 0 and 1, as cp is 2, not 2"),
                (lambda: contracts.context_parallel(batch, 2, -1), bload.OptionError, "rank must be between 0 and 1"),
                (lambda: contracts.context_parallel(batch, 2, 0, layout="ring"), bload.OptionError, "layout must be \"zigzag\" or"),
                (lambda: contracts.context_parallel(batch, 2.5, 0), TypeError, "cp must be a number of ranks"),
                (lambda: contracts.context_parallel(batch, 2, None), TypeError, "rank must be the number of a rank, not None"),
                (lambda: contracts.megatron(batch, rank=1), bload.OptionError, "rank needs cp")):
            self.assertRaisesRegex(kind, message, call)


class Datasets(Sample):
    def made(self, way):
        options, field, cp = PARTS[way]
        out = self.path("made-" + way)
        if not os.path.exists(out):
            self.bload("pack", "-q", *options, "-o", out, cwd=self.directory)
        return out, field, cp

    def test_padding_is_the_least(self):
        """Each sequence is padded to the next multiple, and the number of blocks is the proven bound."""
        path, _, cp = self.made("plain")
        dataset, least = bload.open(path, ids=False), 0
        self.assertEqual(dataset.cp, 4)
        for block in dataset:
            widths = np.diff(segments_for(block, cp, dataset.T).padded[0])
            lengths = block["length"]
            self.assertEqual(widths[:len(lengths)][lengths > 0].tolist(), (-(-lengths[lengths > 0] // 8) * 8).tolist())
            least += int((-(-lengths // 8) * 8).sum())
        manifest = dataset.manifest
        self.assertEqual(manifest["lower_bound"], manifest["blocks"])
        self.assertGreaterEqual(manifest["blocks"], -(-least // dataset.T))

    @each(PARTS)
    def test_a_rank_reads_its_steps(self, way):
        """Steps of stored blocks, of planned and windowed epochs and of views are those of the blocks."""
        path, field, cp = self.made(way)
        self.bload("plan", "-q", "--dataset", path, "--epochs", 1)
        view = self.path("view-" + way)
        self.bload("view", "-q", path, "-T", 24 * cp, "--cp", cp, "--oversize", "split", "-o", view)
        random = np.random.default_rng(3)
        for options in {}, {"verify": True}, *([{"decode": False}] if way == "jpeg" else []):
            dataset, other = bload.open(path, **options), bload.open(view, **options)
            key = field if options != {"decode": False} else field + "_jpeg"
            for blocks in dataset, dataset.epoch(1), dataset.epoch(2, window=3), other:
                for i in range(0, len(blocks), max(1, len(blocks) // 6)):
                    block, T = blocks[i], blocks.dataset.T
                    tables = {**block, "tokens": np.arange(T)}
                    for numbers in (*(contracts.context_parallel(tables, cp, rank)["index"] for rank in range(cp)),
                                    random.integers(0, T, 9), np.arange(T), np.zeros(0, np.int64)):
                        got = blocks.steps(i, field, numbers)
                        if isinstance(got, list):
                            self.assertEqual([file.tobytes() for file in got], [block[key][at].tobytes() for at in numbers])
                        else:
                            self.assertEqual((got.dtype, got.tobytes()), (block[key].dtype, block[key][numbers].tobytes()), (way, i))

    def test_only_those_bytes_are_read(self):
        path, field, cp = self.made("plain")
        dataset = bload.open(path, ids=False)
        block = dataset[1]
        index = contracts.context_parallel(block, cp, 2)["index"]
        taken, view = [], MappedFile.view

        def counted(file, offset, dtype, shape):
            taken.append((offset, int(np.prod(shape)) * np.dtype(dtype).itemsize))
            return view(file, offset, dtype, shape)

        MappedFile.view = counted
        try:
            dataset.steps(1, field, index)
        finally:
            MappedFile.view = view
        item = dataset.fields[field].dtype.itemsize
        self.assertEqual(sum(size for _, size in taken), dataset.T // cp * item)
        runs = 1 + np.count_nonzero(np.diff(index) != 1)
        self.assertEqual(len(taken), runs)

    def test_what_is_wrong_is_said(self):
        dataset = bload.open(self.made("plain")[0], fields="tokens")
        self.assertRaisesRegex(IndexError, "no step 64: a block has 64", dataset.steps, 0, "tokens", [64])
        self.assertRaisesRegex(IndexError, "no step -1", dataset.steps, 0, "tokens", [3, -1])
        self.assertRaisesRegex(IndexError, "no block 10000", dataset.steps, 10000, "tokens", [0])
        self.assertRaisesRegex(bload.OptionError, "\"frames\" was not opened", dataset.steps, 0, "frames", [0])
        self.assertRaisesRegex(TypeError, "must be integers", dataset.steps, 0, "tokens", [0.5])
        self.assertTrue(np.array_equal(dataset.steps(-1, "tokens", [5, 3]), dataset[-1]["tokens"][[5, 3]]))
        dataset.close()
        self.assertRaises(ValueError, dataset.steps, 0, "tokens", [0])

