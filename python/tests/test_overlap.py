"""Pieces that repeat the end of the piece before (--overlap), and tables of one size for several datasets (--sequence-slots)."""
import json
import os
import shutil
import unittest

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import bload
import library
from bload import contracts
from harness import each
from sample import TEXT, Sample, write_manifest

T, OVERLAP = 16, 5
# The same sources without and with an overlap: arguments of pack.
WAYS = {
    "text": TEXT,
    "zstd": (*TEXT, "--compress", "zstd", "--shard-size", "6K", "--align", "4"),
    "joined": ("-c", "joined.yaml"),
    "jpeg": ("pictures", "--kind", "array", "--name", "frames", "--encode", "jpeg"),
    "delta": ("pictures", "--kind", "array", "--name", "frames", "--encode", "delta", "--compress", "zstd"),
    "failed": ("spoilt", "--kind", "array"),
}


def windows(length, size, overlap):
    """The windows of a tokenizer that truncates to size tokens with a stride of overlap: first token and length."""
    firsts = [0]
    while firsts[-1] + size < length:
        firsts.append(firsts[-1] + size - overlap)
    return [(first, min(size, length - first)) for first in firsts]


def pieces_of(blocks):
    """Of each row its pieces, (source_start, length, repeated), sorted."""
    pieces = {}
    for block in blocks:
        for k in np.flatnonzero(block["length"]):
            pieces.setdefault(int(block["sequence"][k]), []).append(tuple(int(block[name][k]) for name in ("source_start", "length", "repeated")))
    return {row: sorted(found) for row, found in pieces.items()}


def collated(blocks):
    return {name: np.stack([block[name] for block in blocks]) for name in blocks[0] if name != "ids"}


class Made(Sample):
    def made(self, way, *more, name="overlap"):
        out = self.path(f"{name}-{way}")
        if not os.path.exists(out):
            self.bload("pack", "-q", *WAYS[way], "-T", T, "--oversize", "split", *more, "-o", out, cwd=self.directory, status=3 if way == "failed" else 0)
        return out

    def overlapped(self, way):
        return self.made(way, "--overlap", OVERLAP)


class Reading(Made):
    @each(WAYS)
    def test_each_sequence_is_whole_and_once(self, way):
        one, other = bload.open(self.overlapped(way), verify=True), bload.open(self.made(way, name="apart"), verify=True)
        for row in one.sequences:
            if row["status"] == "ok":
                for name, values in other.sequence(row["id"]).items():
                    np.testing.assert_array_equal(one.sequence(row["id"])[name], values)
        expected = {k: [(first, length, OVERLAP if first else 0) for first, length in windows(int(row["length"]), T, OVERLAP)]
                    for k, row in enumerate(one.sequences) if row["status"] == "ok"}
        found = pieces_of(one)
        self.assertEqual({row: found[row] for row in expected}, expected)
        self.assertTrue(way == "failed" or len(found) == len(expected))
        words = one.manifest
        self.assertEqual(words["repeated"], words["blocks"] * T - words["padding"] - words["steps"] + words["deleted"])
        self.assertNotIn("overlap", other.manifest)
        self.assertNotIn("repeated", other[0])

    @each([way for way in WAYS if way != "failed"])
    def test_pieces_have_the_steps_of_their_sequence(self, way):
        """Blocks as stored, of other epochs, of windows, and of a view with another overlap: by both readers."""
        path, view = self.overlapped(way), self.path("view-" + way)
        self.bload("plan", "-q", "--dataset", path, "--epochs", 2)
        self.bload("view", "-q", path, "-T", 24, "--oversize", "split", "--overlap", 7, "--epochs", 2, "-o", view)
        for made, overlap in ((path, OVERLAP), (view, 7)):
            self.bload("verify", "-q", made)
            dataset, other = bload.open(made), library.Dataset(made)
            whole = {k: dataset.sequence(k) for k in range(len(dataset.sequences))}
            epochs = [(number, dataset.epoch(number)) for number in dataset.epochs]
            for number, blocks in [*epochs, (None, dataset.epoch(9, window=5))]:
                self.assertEqual({again for found in pieces_of(blocks).values() for _, _, again in found}, {0, overlap})
                if number is not None:
                    other.set_epoch(number)
                for i, block in enumerate(blocks):
                    for k in range(int(block["num_sequences"])):
                        at, first, length = (int(block[name][k]) for name in ("cu_seqlens", "source_start", "length"))
                        for name in dataset.fields:
                            np.testing.assert_array_equal(block[name][at:at + length], whole[int(block["sequence"][k])][name][first:first + length])
                    told = other.block(i) if number is not None and way != "jpeg" else {}
                    for name in told.keys() & block.keys():
                        np.testing.assert_array_equal(told[name], block[name])
            other.close()

    def test_given_plans(self):
        """A plan of an overlap is taken as it is said, as a table and as a file of tensors."""
        table, direct = self.path("table.tsv"), bload.open(self.overlapped("text"))
        self.bload("scan", "-q", *TEXT, "-o", table, cwd=self.directory)
        for name, options in (("p.tsv", ("--overlap", OVERLAP)), ("p.safetensors", ())):
            plan, out = self.path(name), self.path("given-" + name)
            self.bload("plan", "-q", "-T", T, "--oversize", "split", "--overlap", OVERLAP, table, "-o", plan)
            self.bload("pack", "-q", *TEXT[1:], "--sequences", table, "--plan", plan, "-T", T, "--oversize", "split", *options, "-o", out,
                       cwd=self.directory)
            made = bload.open(out)
            self.assertEqual([made.manifest[word] for word in ("overlap", "repeated")], [OVERLAP, direct.manifest["repeated"]])
            self.assertEqual(made.manifest["plan_digest"], direct.manifest["plan_digest"])
            wrong = "--overlap", OVERLAP - 1
            told = self.bload("pack", "-q", *TEXT[1:], "--sequences", table, "--plan", plan, "-T", T, "--oversize", "split", *wrong, "-o", out + "-2",
                              cwd=self.directory, status=1 if name == "p.tsv" else 2)
            self.assertIn("with an overlap of 4, a piece begins" if name == "p.tsv" else "was made with another --overlap", told[1])

    def test_an_overlap_that_the_plan_does_not_have(self):
        for overlap in OVERLAP - 1, T - 1:
            path = self.path(f"altered-{overlap}")
            shutil.copytree(self.overlapped("text"), path)
            write_manifest(os.path.join(path, "manifest.json"), {**bload.open(path).manifest, "overlap": overlap})
            self.assertIn(f"with an overlap of {overlap}, a piece begins", self.bload("verify", path, status=1)[1])
            dataset = bload.open(path)
            row = int(np.argmax(dataset.sequences["length"]))
            with self.assertRaises((bload.DamagedError, bload.SequenceError)):
                dataset.sequence(row)
        write_manifest(os.path.join(path, "manifest.json"), {**dataset.manifest, "overlap": T})
        with self.assertRaisesRegex(bload.DamagedError, '"overlap" is missing, or not between 1 and 15'):
            bload.open(path)
        self.bload("info", path, status=1)

    def test_names_that_blocks_have(self):
        with open(self.path("named.csv"), "w") as file:
            file.write("id,repeated\n" + "".join(f"{i}.npy,3\n" for i in range(self.arrays)))
        told = self.bload("pack", "-q", "arrays", "--kind", "array", "-T", T, "--oversize", "split", "--overlap", 1, "--attributes", "named.csv",
                          "-o", "named", cwd=self.directory, status=2)
        self.assertIn('"repeated"', told[1])


class Losses(Made):
    """What is learned: each step but the first of a sequence, once."""

    def learned(self, batch, labels, shifted=False):
        """For each (row, step) how often it is a target; labels [B, T], -100 for none."""
        counts = {}
        for b, k in zip(*np.nonzero(batch["length"])):
            at, first, length, row = (int(batch[name][b, k]) for name in ("cu_seqlens", "source_start", "length", "sequence"))
            for t in range(0 if shifted else 1, length):
                if labels[b, at + t] != -100:
                    counts[row, first + t + shifted] = counts.get((row, first + t + shifted), 0) + 1
        return counts

    def test_each_step_is_learned_once(self):
        dataset = bload.open(self.overlapped("text"))
        batch = collated(list(dataset))
        due = {(k, t): 1 for k, row in enumerate(dataset.sequences) for t in range(1, int(row["length"]))}
        packed = contracts.pack(batch)
        flat = contracts.hugging_face(batch)["labels"][0]
        rows = contracts.padded(batch)["labels"][packed.owner, packed.position]
        lists = np.concatenate([one["labels"] for one in contracts.trl(batch)])
        for labels in flat, rows, lists:
            self.assertEqual(self.learned(batch, packed.spread(labels, np.int64, -100)), due)
        self.assertEqual(self.learned(batch, contracts.torchtune(batch)["labels"]), due)
        for made, mask in (contracts.megatron(batch), "loss_mask"), (contracts.maxtext(batch), "targets_segmentation"):
            self.assertEqual(self.learned(batch, np.where(made[mask] > 0, 0, -100), shifted=True), due)
        without = collated(list(bload.open(self.made("text", name="apart"))))
        self.assertNotIn("labels", contracts.trl(without)[0])
        lost = len(due) - len(self.learned(without, contracts.torchtune(without)["labels"]))
        self.assertEqual(lost, int((without["source_start"] > 0).sum()))    # at each cut, one step has no context
        alone = contracts.hugging_face({name: values[0] for name, values in batch.items()})
        np.testing.assert_array_equal(alone["labels"][0], flat[:alone["labels"].shape[1]])

    def test_packed_parquet(self):
        from bload._core import packed_parquet
        import pyarrow.parquet as pq
        out = self.path("parquet")
        packed_parquet.write(self.overlapped("text"), out)
        mask = sum(sum(map(sum, pq.read_table(os.path.join(out, name))["loss_mask"].to_pylist())) for name in os.listdir(out)
                   if name.endswith(".parquet"))
        dataset = bload.open(self.overlapped("text"))
        self.assertEqual(mask, sum(int(row["length"]) - 1 for row in dataset.sequences))

    def test_windows_are_those_of_a_tokenizer(self):
        """Hugging Face's stride is the overlap: the same windows, of the same tokens."""
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        tokenizer = Tokenizer(models.BPE({character: k for k, character in enumerate(alphabet)}, []))
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        tokenizer.save(self.path("tokenizer.json"))
        tokenizer.enable_truncation(T, stride=OVERLAP)
        self.bload("pack", "-q", "text", "--tokenizer", "tokenizer.json", "-T", T, "--oversize", "split", "--overlap", OVERLAP, "-o", "hf",
                   cwd=self.directory)
        found = {}
        for block in bload.open(self.path("hf")):
            for k in range(int(block["num_sequences"])):
                at, length = int(block["cu_seqlens"][k]), int(block["length"][k])
                found.setdefault(int(block["sequence"][k]), []).append((int(block["source_start"][k]), block["tokens"][at:at + length].tolist()))
        with open(self.path("text", "a.jsonl")) as file:
            for row, line in enumerate(file):
                whole = tokenizer.encode(json.loads(line)["text"])
                self.assertEqual([tokens for _, tokens in sorted(found[row])], [one.ids for one in (whole, *whole.overflowing)])


class Slots(Made):
    def test_batches_of_several_views_have_one_shape(self):
        """A step that is compiled for shapes is compiled once for datasets, views and epochs with the same slots."""
        paths = [self.path("stored-plain"), self.path("stored-few"), self.path("packed-slots")]
        self.bload("pack", "-q", *TEXT, "--store", "-o", paths[0], cwd=self.directory)
        with open(self.path("text", "a.jsonl")) as file, open(self.path("few.jsonl"), "w") as few:
            few.writelines(list(file)[:30])
        self.bload("pack", "-q", "few.jsonl", *TEXT[1:], "--store", "-o", paths[1], cwd=self.directory)
        self.bload("pack", "-q", "few.jsonl", *TEXT[1:], "-T", 64, "--sequence-slots", 24, "-o", paths[2], cwd=self.directory)
        made = [bload.open(paths[2])]
        for k, path in enumerate(paths[:2]):
            view = self.path(f"slots-{k}")
            self.bload("view", "-q", path, "-T", 64, "--oversize", "split", "--overlap", 3, "--sequence-slots", 24, "--epochs", 2, "-o", view)
            made.append(bload.open(view))
        blocks = [block for one in made for number in one.epochs for block in one.epoch(number)]
        tables = "tokens", "cu_seqlens", "num_sequences", "sequence", "length", "source_start"
        batch = {name: np.stack([block[name] for block in blocks]) for name in tables}
        self.assertEqual((batch["length"].shape, batch["cu_seqlens"].shape), ((len(blocks), 24), (len(blocks), 25)))
        self.assertGreater(len({int(block["num_sequences"]) for block in blocks}), 2)
        self.assertEqual(contracts.pack(batch).T, 64)
        try:
            import jax
        except ImportError:
            return
        traced = []
        step = jax.jit(lambda tokens, length: traced.append(1) or tokens.sum() + length.sum())
        for block in blocks:
            self.assertEqual(int(step(block["tokens"], block["length"])), int(block["tokens"].sum() + block["length"].sum()))
        self.assertEqual(len(traced), 1)


if __name__ == "__main__":
    unittest.main()
