"""Packed Parquet for Megatron-Bridge: rows are what the dataset's own safetensors say, and what the reader of Megatron-Bridge accepts."""
import fcntl
import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tool
from bload._core import packed_parquet
from bload._core.errors import Error, OptionError
from sample import Truth


END = 50256  # the end token of the tokenizer, which no sequence has


class Packed(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        drawn = np.random.default_rng(1)
        with open(os.path.join(cls.directory, "a.jsonl"), "w") as file:
            for i in range(600):
                ids = drawn.integers(0, 50000, 1 if i % 9 == 0 else drawn.integers(1, 60)).tolist()
                file.write(json.dumps({"ids": ids, "mask": [token % 2 for token in ids]}) + "\n")

    def packed(self, name, *options):
        out = self.path(name)
        if not os.path.exists(out):
            self.bload("pack", "-q", "a.jsonl", "--key", "ids", "--field", "learn=mask:u8", "-o", out, *options, cwd=self.directory)
        return out

    def rows(self, truth, mask):
        """The rows that a dataset must give, sequence by sequence."""
        for i in range(truth.d.blocks):
            block, tokens, masks, starts = truth.block(i), [], [], []
            for k in range(int(block["num_sequences"])):
                here = slice(block["cu_seqlens"][k], block["cu_seqlens"][k] + block["length"][k])
                starts.append(len(tokens))
                tokens += block["tokens"][here].tolist()
                ahead = block["learn"][here].tolist() if mask else [1] * int(block["length"][k])
                masks += ahead[1:] + [0]
            if np.diff([*starts, len(tokens)]).max(initial=0) > 1:
                yield {"input_ids": tokens, "loss_mask": masks, "seq_start_id": starts}

    def read(self, out):
        """The rows of all files, checked as validate_row of Megatron-Bridge checks them."""
        rows = []
        for name in sorted(name for name in os.listdir(out) if name.endswith(".parquet")):
            table = pq.read_table(os.path.join(out, name))
            self.assertEqual(table.schema.types[1:], [pa.list_(pa.int8()), pa.list_(pa.int32())])
            rows += table.to_pylist()
        for row in rows:
            self.assertEqual(len(row["loss_mask"]), len(row["input_ids"]))
            self.assertEqual(row["seq_start_id"][0], 0)
            self.assertTrue((np.diff([*row["seq_start_id"], len(row["input_ids"])]) > 0).all())
        return rows

    def check_metadata(self, out, rows, T):
        """By it the reader with pad_cu_seqlens makes boundaries of one size, and a maximum that holds in all batches."""
        told, = json.loads(tool.read(os.path.join(out, "metadata.json")))
        kept = [np.diff([*row["seq_start_id"], len(row["input_ids"])]) - 1 for row in rows]  # the last token is a label only
        sequences, steps = sum(map(len, kept)), sum(int(lengths.sum()) for lengths in kept)
        self.assertEqual(told, {"dataset_max_seqlen": max(max(lengths) for lengths in kept), "max_samples_per_bin": max(map(len, kept)),
                                "packing_factor": round(sequences / len(kept), 2), "packing_efficiency": round(100 * steps / len(kept) / T, 2),
                                "pack_size": T, "min_packed_seqlen": min(int(lengths.sum()) for lengths in kept)})
        most = max(told["dataset_max_seqlen"], T - told["min_packed_seqlen"])
        for lengths in kept:
            boundaries = np.cumsum([0, *lengths]).tolist()
            boundaries += [T] if boundaries[-1] != T else []
            missing = told["max_samples_per_bin"] - len(boundaries) + 2
            self.assertGreaterEqual(missing, 0)
            self.assertLessEqual(np.diff(boundaries + [T] * missing).max(), most)

    def test_rows(self):
        """Rows, in several files, of every form of dataset: aligned, cut, 16 bits, compressed, with empty blocks; and with small groups."""
        for name, options in (("plain", ("-T", 64)), ("align", ("-T", 64, "--align", 8)), ("u16", ("-T", 80, "--dtype", "u16")),
                              ("split", ("-T", 16, "--oversize", "split", "--compress", "zstd")),
                              ("empty", ("-T", 64, "--remainder", "pad", "--world-size", 37, "--batch-size", 5))):
            dataset = self.packed(name, *options)
            truth = Truth(dataset)
            for mask in None, "learn":
                out = self.path(f"{name}-{mask}.out")
                done = packed_parquet.write(dataset, out, loss_mask=mask, part_bytes=1)
                expected = list(self.rows(truth, mask))
                self.assertTrue(self.read(out) == expected)
                self.assertEqual((done.rows, done.left_out), (len(expected), truth.d.blocks - len(expected)))
                self.assertEqual(done.tokens, sum(len(row["input_ids"]) for row in expected))
                self.assertTrue(name != "empty" or done.left_out > 100)
                self.check_metadata(out, expected, truth.d.manifest["T"])

    def test_context_parallelism(self):
        """Sequences are padded so that 2N divides their steps, and no more; what the collate function of Megatron-Bridge makes of the rows."""
        for cp, options in (2, ()), (3, ("--align", 12)), (4, ("--oversize", "split")):
            multiple, T = 12 if options[:1] == ("--align",) else 2 * cp, 72 if cp < 4 else 32
            dataset = self.packed(f"cp{cp}", "-T", T, "--cp", cp, "--pad-id", END, *options)
            truth = Truth(dataset)
            for mask in None, "learn":
                out = self.path(f"cp{cp}-{mask}.out")
                packed_parquet.write(dataset, out, loss_mask=mask, part_bytes=1)
                expected = []
                for row in self.rows(truth, mask):
                    tokens, masks, starts = [], [], []
                    for first, end in zip(row["seq_start_id"], [*row["seq_start_id"][1:], len(row["input_ids"])]):
                        padding = (1 - (end - first)) % multiple
                        starts.append(len(tokens))
                        tokens += row["input_ids"][first:end] + [END] * padding
                        masks += row["loss_mask"][first:end] + [0] * padding
                    expected.append({"input_ids": tokens, "loss_mask": masks, "seq_start_id": starts})
                rows = self.read(out)
                self.assertEqual(rows, expected)
                self.check_metadata(out, expected, T)
                whole = list(self.rows(truth, mask))
                for row, plain in zip(rows, whole):
                    self.check_bridge(row, plain, multiple, T)

    def check_bridge(self, row, plain, multiple, T):
        """What the reader with pad_seq_to_mult makes of a row: physical and logical boundaries, and labels of the same pairs as without."""
        edges = [*row["seq_start_id"], len(row["input_ids"])]
        padded, logical, learned = [0], [0], []
        for first, end in zip(edges, edges[1:]):
            here = row["input_ids"][first:end - 1]
            padded.append(padded[-1] + len(here))
            logical.append(logical[-1] + max((at + 1 for at, token in enumerate(here) if token != END), default=0))
            learned += [(row["input_ids"][at], row["input_ids"][at + 1]) for at in range(first, end - 1) if row["loss_mask"][at]]
        self.assertLessEqual(padded[-1], T)
        padded += [T] if padded[-1] != T else []
        self.assertFalse((np.array(padded) % multiple).any())
        edges = [*plain["seq_start_id"], len(plain["input_ids"])]
        # Without its last token, which is a label only; a sequence that fits after that has no padding.
        self.assertTrue(all(0 <= length - found <= 1 for found, length in zip(np.diff(logical), np.diff(edges))))
        self.assertEqual(learned, [(plain["input_ids"][at], plain["input_ids"][at + 1]) for first, end in zip(edges, edges[1:])
                                   for at in range(first, end - 1) if plain["loss_mask"][at]])

    def test_view(self):
        dataset = self.packed("plain", "-T", 64)
        view = self.path("view")
        self.bload("view", "-q", dataset, "-T", 200, "-o", view)
        packed_parquet.write(view, self.path("view.out"))
        lengths = [len(row["input_ids"]) for row in self.read(self.path("view.out"))]
        self.assertEqual((sum(lengths), max(lengths) > 64), (Truth(dataset).d.manifest["steps"], True))

    def test_layout(self):
        self.assertEqual(packed_parquet.layout(4096, 256 << 20), (500, 13000))
        self.assertEqual(packed_parquet.layout(1 << 20, 1), (12, 12))
        self.assertEqual(packed_parquet.layout(1 << 30, 256 << 20), (1, 1))
        dataset = self.packed("small", "-T", 60)
        packed_parquet.write(dataset, self.path("groups"), part_bytes=1)
        files = sorted(name for name in os.listdir(self.path("groups")) if name.endswith(".parquet"))
        self.assertEqual(files, ["part-00000.parquet"])
        before, packed_parquet.GROUP_ROWS = packed_parquet.GROUP_ROWS, 50
        try:
            done = packed_parquet.write(dataset, self.path("files"), part_bytes=30000)
        finally:
            packed_parquet.GROUP_ROWS = before
        metadata = pq.read_metadata(self.path("files", "part-00000.parquet"))
        self.assertEqual([metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)], [50, 50])
        self.assertEqual(done.parts, -(-Truth(dataset).d.blocks // 100))
        self.assertEqual(self.read(self.path("files")), self.read(self.path("groups")))

    def test_resume(self):
        """A stopped run goes on after the files that are whole; the bytes are the same, and a complete folder stays as it is."""
        dataset, out = self.packed("small", "-T", 60), self.path("resumed")
        before, packed_parquet.GROUP_ROWS = packed_parquet.GROUP_ROWS, 50
        try:
            packed_parquet.write(dataset, self.path("whole"), part_bytes=1)
            stop = packed_parquet.write_part
            packed_parquet.write_part = lambda rows, path, schema: 1 / 0 if "2" in os.path.basename(path) else stop(rows, path, schema)
            with self.assertRaises(ZeroDivisionError):
                packed_parquet.write(dataset, out, part_bytes=1)
            packed_parquet.write_part = stop
            self.assertFalse(os.path.exists(out))
            kept = os.stat(os.path.join(out + ".part", "part-00001.parquet")).st_mtime_ns
            tool.write(os.path.join(out + ".part", "part-00002.parquet.part"), "half")
            done = packed_parquet.write(dataset, out, part_bytes=1)
            self.assertEqual(done.made, done.parts - 2)
            self.assertEqual(os.stat(os.path.join(out, "part-00001.parquet")).st_mtime_ns, kept)
            self.assertSameTree(out, self.path("whole"))
            self.assertEqual(packed_parquet.write(dataset, out, part_bytes=1).made, 0)
        finally:
            packed_parquet.GROUP_ROWS = before

    def test_refused(self):
        """Folders of something else, other options, other fields and masks."""
        dataset, other = self.packed("plain", "-T", 64), self.packed("small", "-T", 60)
        os.makedirs(self.path("mine"))
        with self.assertRaisesRegex(OptionError, "contains (something else|another file)"):
            packed_parquet.write(dataset, self.path("mine"))
        os.makedirs(self.path("own.part"))
        tool.write(self.path("own.part", "notes.txt"), "mine")
        with self.assertRaisesRegex(OptionError, "contains (something else|another file)"):
            packed_parquet.write(dataset, self.path("own"))
        packed_parquet.write(dataset, self.path("done"))
        for source, options, differs in (other, {}, "dataset, plan_digest"), (dataset, {"loss_mask": "learn"}, "loss_mask"):
            with self.assertRaisesRegex(OptionError, f"{differs} differ"):
                packed_parquet.write(source, self.path("done"), **options)
        with self.assertRaisesRegex(OptionError, "no field \"labels\"; the fields are: tokens, learn"):
            packed_parquet.write(dataset, self.path("labels"), loss_mask="labels")
        with self.assertRaisesRegex(Error, "block 0: \"tokens\" has the value"):
            packed_parquet.write(dataset, self.path("values"), loss_mask="tokens")
        with open(self.path("done", "part-00000.parquet"), "r+b") as file:
            file.truncate(100)
        with self.assertRaisesRegex(Error, "part-00000.parquet: missing or damaged"):
            packed_parquet.write(dataset, self.path("done"))
        os.makedirs(self.path("busy.part"))
        with open(self.path("busy.part", packed_parquet.RECORD), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with self.assertRaisesRegex(Error, "another run is writing"):
                packed_parquet.write(dataset, self.path("busy"))

    def test_command(self):
        dataset, out = self.packed("plain", "-T", 64), self.path("command")
        run = [sys.executable, "-m", "bload.parquet", "--write", dataset]
        done = subprocess.run([*run, "-o", out, "--loss-mask", "learn", "--part-size", "1K"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertRegex(done.stderr, r"command: \d+ rows of \d+ tokens in 1 file\n")
        self.assertTrue(self.read(out) == list(self.rows(Truth(dataset), "learn")))
        done = subprocess.run([*run, "-o", out + "-tokens"], capture_output=True, text=True)
        self.assertIn("left out, because packed Parquet holds only tokens and a loss mask: learn\n", done.stderr)
        for arguments in [], ["-o", dataset], ["-o", out, "--columns", "text"], ["-o", out, "--part-size", "1X"]:
            done = subprocess.run([*run, *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stderr)
