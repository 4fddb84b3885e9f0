"""Blocks as a Dataset of Hugging Face's datasets."""
import json
import os
import pickle
import subprocess
import sys

import datasets
import numpy as np

import bload.datasets
import tool
from bload._core.errors import OptionError
from sample import Truth

datasets.disable_progress_bars()


class Datasets(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        drawn = np.random.default_rng(1)
        with open(os.path.join(cls.directory, "a.jsonl"), "w") as file:
            for _ in range(200):
                ids = drawn.integers(0, 50000, drawn.integers(1, 60)).tolist()
                file.write(json.dumps({"ids": ids, "learn": [token % 2 for token in ids]}) + "\n")

    def packed(self, name, *options):
        out = self.path(name)
        self.bload("pack", "-q", "a.jsonl", "--key", "ids", "--field", "learn=learn:u8", "-o", out, *options, cwd=self.directory)
        return out

    def rows(self, dataset, learn=False):
        """The rows of a dataset, sequence by sequence."""
        truth, rows = Truth(dataset), []
        for i in range(truth.d.blocks):
            block = truth.block(i)
            row = {"input_ids": [], "seq_lengths": []}
            if learn:
                row["labels"] = []
            for start, length in zip(block["cu_seqlens"], block["length"]):
                tokens, mask = (block[name][start:start + length].tolist() for name in ("tokens", "learn"))
                row["input_ids"] += tokens
                row["seq_lengths"] += [length] if length else []
                if learn:
                    row["labels"] += [token if one else -100 for token, one in zip(tokens, mask)]
            rows += [row] if row["input_ids"] else []
        return rows

    def test_rows(self):
        """Rows of datasets and a view, with and without a mask, in any order, pickled; blocks without a sequence are left out."""
        dataset = self.packed("empty", "-T", 64, "--remainder", "pad", "--world-size", 37, "--batch-size", 5)
        expected, learned = self.rows(dataset), self.rows(dataset, True)
        rows = bload.datasets.packed(dataset)
        self.assertLess(len(rows), len(bload.open(dataset)))
        self.assertEqual(list(rows), expected)
        self.assertEqual(rows[3:5], {name: [row[name] for row in expected[3:5]] for name in expected[0]})
        self.assertEqual(list(bload.datasets.packed(dataset, loss_mask="learn")), learned)
        order = rows.shuffle(seed=3).select(range(9))
        self.assertEqual(list(order), [expected[i] for i in np.random.default_rng(3).permutation(len(rows))[:9]])
        self.assertEqual(list(pickle.loads(pickle.dumps(rows))), expected)
        view = self.path("view")
        self.bload("view", "-q", dataset, "-T", 200, "-o", view)
        self.assertEqual(sum(len(row["input_ids"]) for row in bload.datasets.packed(view)), Truth(dataset).d.manifest["steps"])

    def test_attributes(self):
        """Numbers of the documents are beside the lengths of their sequences, in a view as well."""
        with open(os.path.join(self.directory, "n.jsonl"), "w") as file:
            for i in range(9):
                file.write(json.dumps({"ids": [i] * (i + 1), "weight": i / 4}) + "\n")
        dataset, view = self.path("numbers"), self.path("numbers-view")
        self.bload("pack", "-q", "n.jsonl", "--key", "ids", "--keep", "weight:number", "-T", 16, "-o", dataset, cwd=self.directory)
        self.bload("view", "-q", dataset, "-T", 20, "-o", view)
        for path in dataset, view:
            for row in bload.datasets.packed(path, attributes=["weight"]):
                self.assertEqual(row["weight"], [(length - 1) / 4 for length in row["seq_lengths"]])
            self.assertRaisesRegex(OptionError, "no attribute \"reward\"; the attributes are: weight", bload.datasets.packed, path, attributes=["reward"])

    def test_failed(self):
        """A block whose sequences all failed while packing is left out."""
        dataset = self.packed("failed", "-T", "longest", "--strategy", "naive")
        table = os.path.join(dataset, "sequences.tsv")
        lines = tool.text(table).split("\n")
        opened = bload.open(dataset)
        row = int(opened._index.sequence[opened._index.block_ptr[5]])
        status = lines[0].split("\t").index("status")
        values = lines[row + 1].split("\t")
        values[status] = "failed"
        lines[row + 1] = "\t".join(values)
        copy = self.path("copy.tsv")
        tool.write(copy, "\n".join(lines))
        opened._info.json["failed"] = 1
        opened._known = bload.Sequences(copy)
        self.assertEqual(bload.datasets.filled(opened).tolist(), [*range(5), *range(6, len(opened))])

    def test_refused(self):
        dataset = self.packed("plain", "-T", 64)
        with self.assertRaisesRegex(OptionError, "no field \"labels\"; the fields are: tokens, learn"):
            bload.datasets.packed(dataset, "tokens", "labels")
        code = "import sys\nsys.modules['datasets'] = None\nimport bload\nprint(bload)\nimport bload.datasets"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertIn("pip install 'bload[datasets]'", done.stderr.strip().split("\n")[-1])
