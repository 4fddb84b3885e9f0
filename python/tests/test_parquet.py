"""Parquet and Hugging Face data as lines of JSON: the same as Python's own encoder makes of the rows."""
import json
import math
import os
import random
import subprocess
import sys
import tarfile
import threading
import unittest

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

import tool
from bload._core import arrow_files, arrow_json, arrow_rows
from bload import parquet as command

datasets.disable_progress_bars()
CHARACTERS = [*map(chr, range(0x20)), *"\"\\/\x7f\u0080é\u2028\u4e00\U0001f600\ufffd ", *"abcdefgh" * 4]
CHAT = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string()), ("weight", pa.float64())]))


def texts(drawn, count, least=0):
    return ["".join(drawn.choices(CHARACTERS, k=drawn.randrange(least, 40))) for _ in range(count)]


def rows_of(seed, count):
    """Rows with values of every kind."""
    drawn = random.Random(seed)
    chats = [[{"role": "user", "content": text, "weight": drawn.choice((None, 0.1, 1e300, -2.0))}
              for text in texts(drawn, drawn.randrange(3))] for _ in range(count)]
    return {"text": texts(drawn, count), "n": [drawn.choice((None, 0, -(1 << 63), (1 << 63) - 1)) for _ in range(count)],
            "ids": [[drawn.randrange(1 << 31) for _ in range(drawn.randrange(9))] for _ in range(count)],
            "mask": pa.array([drawn.choice((None, [True, None, False], [])) for _ in range(count)], pa.list_(pa.bool_())),
            "chat": pa.array([drawn.choice((None, chat)) for chat in chats], CHAT), "nothing": pa.nulls(count),
            "kind": pa.array(drawn.choices(("\"a\"", None, "b\n"), k=count)).dictionary_encode(),
            "x": [drawn.choice((0.1, 1.0, math.inf, -math.inf, None, 1e-300)) for _ in range(count)],
            "sizes": pa.array([[1, 2], None] * (count // 2) + [[3, 4]] * (count % 2), pa.list_(pa.int16(), 2)),
            "a \"b\"": pa.array(texts(drawn, count), pa.large_string())}


class Parquet(tool.Tool):
    def write(self, name, table, **options):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), path, **options)
        return path

    def run_command(self, *arguments, status=0):
        """Runs the command; gives its output as bytes, and what it said."""
        done = subprocess.run([sys.executable, "-m", "bload.parquet", *map(str, arguments)], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stdout, done.stderr.decode()

    def pipe(self, arguments, pack, status=0):
        """Runs the command into bload pack; gives what pack said. status: of pack."""
        first = [sys.executable, "-m", "bload.parquet", *arguments]
        with subprocess.Popen(first, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as first:
            done = subprocess.run([tool.BLOAD, "pack", "-", *map(str, pack)], stdin=first.stdout, capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def same_rows(self, output, table):
        """The lines of the output are what json.dumps makes of a table's rows; but for the fractions, of which only the values are."""
        lines, expected = output.decode().split("\n")[:-1], table.to_pylist()
        self.assertEqual([json.loads(line) for line in lines], expected)
        for line, row in zip(lines, expected):
            own = json.loads(line)
            for name in "x", "chat":
                own.pop(name, row.pop(name, None))
            self.assertEqual(json.dumps(own, ensure_ascii=False), json.dumps(row, ensure_ascii=False))


class Lines(Parquet):
    def test_values(self):
        """Every kind of value, in several row groups, by one thread and by several."""
        table = pa.table(rows_of(1, 1001))
        path = self.write("values/a.parquet", table, row_group_size=70)
        for jobs in 1, 5:
            output, said = self.run_command(path, "-j", jobs, "--key", "text")
            self.same_rows(output, table)
            self.assertIn("1001 rows of 1 file\n", said)
            self.assertIn("\"nothing\" is null in 1001 rows\n", said)

    def test_characters(self):
        """Lines are those of json.dumps, to the byte."""
        columns = {"text": CHARACTERS, "ids": [[1, 2], []] * (len(CHARACTERS) // 2) + [None] * (len(CHARACTERS) % 2),
                   "chat": [[{"role": character, "content": None}] for character in CHARACTERS]}
        table = pa.table(columns)
        output, _ = self.run_command(self.write("characters/a.parquet", table))
        self.assertEqual(output.decode(), "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist()))

    def test_batches(self):
        """Rows that are larger than a batch, beside small ones; order is kept."""
        texts = ["x" * (arrow_files.BATCH * 3), "y", "\n" * arrow_files.BATCH, *map(str, range(5000))]
        table = pa.table({"text": texts, "n": range(len(texts))})
        output, _ = self.run_command(self.write("huge/a.parquet", table, row_group_size=2000))
        self.same_rows(output, table)

    def test_not_utf8(self):
        """Bytes that are not UTF-8 are passed on; marks are chosen that they do not have."""
        values = [bytes((byte,)) + b"\"" for byte in range(128, 256)]
        table = pa.table({"text": pa.array(values, pa.binary()).view(pa.string())})
        output, _ = self.run_command(self.write("bytes/a.parquet", table))
        self.assertEqual(output, b"".join(b"{\"text\": \"" + value.replace(b"\"", b"\\\"") + b"\"}\n" for value in values))
        table = pa.table({"text": pa.array([b"".join(values)], pa.binary()).view(pa.string())})
        output, said = self.run_command(self.write("binary/a.parquet", table), status=1)
        self.assertIn(self.path("binary/a.parquet") + ": row group 0: rows 0 to 0: a value of the type text contains binary data, not UTF-8", said)

    def test_pack(self):
        """The dataset is that of the same lines, written by hand: text with further columns, and ids with a mask."""
        drawn = random.Random(3)
        texts_ = texts(drawn, 500, 1)
        ids = [[drawn.randrange(50000) for _ in text] for text in texts_]
        table = pa.table({"text": texts_, "url": texts(drawn, 500), "ids": ids, "mask": [[token % 2 for token in row] for row in ids]})
        path = self.write("pack/a.parquet", table, row_group_size=33)
        tool.write(self.path("pack", "a.jsonl"), "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist()))
        for name, options in ("text", ("--tokenizer", "bytes", "--keep", "url")), ("ids", ("--key", "ids", "--field", "mask=mask:u8")):
            own, other = self.path("pack", name), self.path("pack", name + "-by-hand")
            self.pipe([path], [*options, "-T", 200, "-o", own])
            with open(self.path("pack", "a.jsonl")) as file:
                subprocess.run([tool.BLOAD, "pack", "-q", "-", *options, "-T", "200", "-o", other], stdin=file, check=True)
            self.assertSameTree(own, other)


class Faults(Parquet):
    def test_nulls(self):
        """Rows without a text are skipped, counted by key, and the first are named; the status is 3."""
        table = pa.table({"text": ["a", None] * 20, "more": [None, {"b": "x"}, {"b": None}, {"b": "y"}] * 10, "url": [None] * 40})
        path = self.write("nulls/a.parquet", table, row_group_size=7)
        output, said = self.run_command(path, status=3)
        self.assertEqual([json.loads(line)["text"] for line in output.splitlines()], ["a"] * 20)
        self.assertEqual([line for line in said.splitlines() if " skipped row " in line],
                         [f"bload.parquet: skipped row {row} of {path}: \"text\" is null" for row in range(1, 21, 2)])
        for words in "20 rows of 1 file\n", "\"url\" is null in 20 rows\n", "20 rows skipped: \"text\" is null\n":
            self.assertIn(words, said)
        output, said = self.run_command(path, "--key", "text,more.b", status=3)
        self.assertEqual(output, b"")
        self.assertIn("20 rows skipped: \"more.b\" is null", said)
        output, said = self.run_command(path, "--columns", "more,text", "-q", "--key", "more.b", status=3)
        self.assertEqual(len(output.splitlines()), 20)

    def test_schemas(self):
        """Files that differ are refused, with both names, before anything is written."""
        first = self.write("schemas/a.parquet", {"text": ["a"], "n": [1]})
        for name, more in ("type", {"n": [1.5]}), ("lost", {}), ("more", {"n": [1], "m": pa.nulls(1)}):
            other = self.write(f"schemas/{name}.parquet", {"text": ["b"], **more})
            output, said = self.run_command(first, other, status=1)
            self.assertEqual(output, b"")
            self.assertIn(other, said)
            self.assertIn(first, said)
            output, said = self.run_command(first, other, "--columns", "text")
            self.assertEqual(len(output.splitlines()), 2)
        for one, other, same in (("list of any", "list of int", True), ("list of any", "int", False), ("{a any}", "{a int}", True),
                                 ("{a int}", "{b int}", False)):
            self.assertEqual((arrow_rows.same_kind(one, other), arrow_rows.same_kind(other, one)), (same, same))
        null = self.write("schemas/null.parquet", {"text": ["b"], "n": pa.nulls(1)})
        wide = self.write("schemas/wide.parquet", {"text": pa.array(["b"], pa.large_string()), "n": pa.array([1], pa.uint8())})
        self.assertEqual(len(self.run_command(first, null, wide)[0].splitlines()), 3)

    def test_types(self):
        """What JSON lacks is refused by the column's name, also deep inside."""
        for name, values, hint in (("binary", pa.array([b"a"]), True), ("time", pa.array([0], pa.timestamp("ms")), False),
                                   ("decimal", pa.array([1], pa.int64()).cast(pa.decimal128(20)), False),
                                   ("deep", pa.array([[{"a": b"b"}]]), True)):
            path = self.write(f"types/{name}.parquet", {"text": ["a"], name: values})
            output, said = self.run_command(path, status=1)
            self.assertEqual(output, b"")
            self.assertIn(f"column \"{name}\": ", said)
            self.assertEqual("--tar" in said, hint, said)
            self.run_command(path, "--columns", "text")

    def test_usage(self):
        path = self.write("usage/a.parquet", {"text": ["a"]})
        for arguments in ([], ["nothing.parquet"], [path, "--columns", "url"], [path, "--key", "url"], [path, path], [path, "-j", "0"],
                          [path, "--columns", "text,text"], [self.directory + "/no*"]):
            output, said = self.run_command(*arguments, status=2)
            self.assertEqual(output, b"", arguments)
            self.assertTrue(said)

    def test_damaged(self):
        """A damaged file is named, with its row group; what is written before ends inside a line, which bload pack names."""
        words = texts(random.Random(5), 3000, 20)
        path = self.write("damaged/a.parquet", {"text": words}, row_group_size=1000, compression="zstd", use_dictionary=False)
        sound = tool.read(path)
        column = pq.read_metadata(path).row_group(2).column(0)
        for name, data in (("short", sound[:-100]), ("empty", b""), ("text", b"not parquet"), ("head", sound[:9])):
            other = self.path("damaged", name + ".parquet")
            tool.write(other, data)
            output, said = self.run_command(path, other, status=1)
            self.assertEqual(output, b"")
            self.assertIn(other, said)
        begin = column.data_page_offset + column.total_compressed_size // 2
        tool.write(path, sound[:begin] + bytes(200) + sound[begin + 200:])
        output, said = self.run_command(path, status=1)
        self.assertIn(f"{path}: row group 2: cannot be read", said)
        self.assertEqual(len(output.splitlines()), 2000)
        with self.assertRaises(ValueError):
            json.loads(output.splitlines()[-1])
        pack = ["--tokenizer", "bytes", "-T", "longest", "-o"]
        said = self.pipe([path], [*pack, self.path("damaged", "out")], status=3)
        self.assertIn("in the middle of this line", said)
        self.pipe([path], [*pack, self.path("damaged", "no"), "--on-error", "fail"], status=1)
        self.assertFalse(os.path.exists(self.path("damaged", "no", "manifest.json")))

    def test_full(self):
        """A disk that is full is an error."""
        path = self.write("full/a.parquet", {"text": ["a"]})
        with open("/dev/full", "wb") as full:
            done = subprocess.run([sys.executable, "-m", "bload.parquet", path], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"No space left", done.stderr)

    def test_closed_pipe(self):
        """Who stops reading ends it."""
        path = self.write("closed/a.parquet", {"text": ["x" * 1000] * 5000}, row_group_size=100)
        command_line = [sys.executable, "-m", "bload.parquet", path]
        with subprocess.Popen(command_line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            running.stdout.read(10)
            running.stdout.close()
            self.assertEqual((running.wait(20), running.stderr.read()), (-13, b""))

    def test_without_pyarrow(self):
        code = "import sys\nsys.modules['pyarrow'] = None\nimport bload, bload.parquet\nsys.exit(bload.parquet.main(['a']))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("pip install 'bload[parquet]'", done.stderr)


class Folders(Parquet):
    def test_order(self):
        """Files are read in natural order, below folders too; others and hidden ones are left out."""
        for name in "b/2.parquet", "b/10.parquet", "a.parquet", ".c.parquet", ".d/e.parquet", "b/1.pq":
            self.write(f"order/{name}", {"text": [name]})
        tool.write(self.path("order", "README.md"), "no data")
        output, _ = self.run_command(self.path("order"))
        names = [json.loads(line)["text"] for line in output.splitlines()]
        self.assertEqual(names, ["a.parquet", "b/1.pq", "b/2.parquet", "b/10.parquet"])
        output, _ = self.run_command(self.path("order/*/[12]*.parquet"))
        self.assertEqual(len(output.splitlines()), 2)

    def test_lost_member(self):
        """Of the files of a split one is missing."""
        for number in 0, 2:
            self.write(f"lost/data/train-0000{number}-of-00003.parquet", {"text": ["a"]})
        _, said = self.run_command(self.path("lost"), status=2)
        self.assertIn("file 1 of train-*-of-00003.parquet is missing", said)
        self.run_command(self.path("lost/data/*.parquet"))

    def test_splits(self):
        """Several splits are read together only with a word."""
        rows = datasets.Dataset.from_dict({"text": list("abcdefgh")})
        rows.train_test_split(0.25, seed=1).save_to_disk(self.path("splits"))
        for split in "train", "test":
            rows.to_parquet(self.path(f"{split}-00000-of-00001.parquet"))
        for source, count in (self.path("splits"), 8), (self.path("t*-00000-of-00001.parquet"), 16):
            output, said = self.run_command(source)
            self.assertEqual(len(output.splitlines()), count)
            self.assertIn("the splits test, train are read one after the other", said)
        for source in self.path("splits", "train"), self.path("train-*"):
            self.assertNotIn("splits", self.run_command(source)[1].replace(self.path("splits"), ""))

    def test_streams(self):
        """Files of Arrow as streams and files, cut short too."""
        table = pa.table({"text": ["a", "b"] * 3000, "n": range(6000)})
        for name, new in ("stream", pa.ipc.new_stream), ("file", pa.ipc.new_file):
            path = self.path(name + ".arrow")
            with new(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=1000)
            output, _ = self.run_command(path)
            self.same_rows(output, table)
            with open(path, "r+b") as file:
                file.truncate(os.path.getsize(path) - 8)
            self.assertIn(path, self.run_command(path, status=1)[1])

    def test_save_to_disk(self):
        """What datasets saves: in several files, with rows chosen from others, as Parquet, and as splits."""
        rows = {"text": texts(random.Random(7), 300), "chat": [[{"role": "user", "content": "é\n"}], []] * 150,
                "label": list(range(300))}
        whole = datasets.Dataset.from_dict(rows)
        saved = self.path("saved")
        whole.shuffle(seed=1).save_to_disk(saved, num_shards=3)
        output, _ = self.run_command(saved)
        self.assertEqual([json.loads(line) for line in output.splitlines()], list(whole.shuffle(seed=1)))
        os.rename(os.path.join(saved, "data-00001-of-00003.arrow"), self.path("elsewhere.arrow"))
        self.assertIn("data-00001-of-00003.arrow", self.run_command(saved, status=2)[1])
        whole.to_parquet(self.path("hub.parquet"), batch_size=100)
        output, _ = self.run_command(self.path("hub.parquet"))
        self.assertEqual([json.loads(line) for line in output.splitlines()], list(whole))


class Tar(Parquet):
    FILES = [b"\x89PNG....", b"RIFF\0\0\0\0WAVE", b"", b"\0\0\0\x18ftypisom", b"what?", b"x" * 3000]

    def members(self, path):
        with tarfile.open(path) as archive:
            self.assertEqual({member.mtime for member in archive}, {0})
            return {member.name: archive.extractfile(member).read() for member in archive}

    def test_binary(self):
        """Bytes, by the ending of their content; further columns as JSON; the same bytes with any number of threads."""
        table = pa.table({"blob": self.FILES * 40, "label": [f"\"{i}\"" for i in range(240)]})
        path = self.write("blobs/a.parquet", table, row_group_size=9)
        for jobs in 1, 4:
            self.assertEqual(self.run_command(path, "--tar", self.path(f"{jobs}.tar"), "-j", jobs)[0], b"")
        with open(self.path("1.tar"), "rb") as one, open(self.path("4.tar"), "rb") as other:
            self.assertEqual(one.read(), other.read())
        expected = {}
        for i in range(240):
            expected[f"{i:09}." + ("png", "wav", "bin", "mp4", "bin", "bin")[i % 6]] = self.FILES[i % 6]
            expected[f"{i:09}.json"] = json.dumps({"label": f"\"{i}\""}).encode() + b"\n"
        self.assertEqual(self.members(self.path("1.tar")), expected)
        self.assertEqual(list(self.members(self.path("1.tar"))), list(expected))
        self.run_command(path, "--columns", "blob", "--tar", self.path("alone.tar"))
        self.assertEqual(len(self.members(self.path("alone.tar"))), 240)

    def test_features(self):
        """Structs of bytes and path; rows without bytes are skipped and named; several binary columns."""
        kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        sounds = [{"bytes": b"RIFF", "path": "a/b.c.FLAC"}, {"bytes": None, "path": "c.wav"}, None, {"bytes": b"ID3", "path": None}]
        path = self.write("features/a.parquet", {"audio": pa.array(sounds, kind), "more/s": pa.array([b"a"] * 4, pa.large_binary())})
        _, said = self.run_command(path, "--tar", self.path("f.tar"), status=3)
        self.assertEqual(self.members(self.path("f.tar")), {"000000000.audio.flac": b"RIFF", "000000000.more_s.bin": b"a",
                                                            "000000001.audio.mp3": b"ID3", "000000001.more_s.bin": b"a"})
        for words in f"skipped row 2 of {path}: \"audio\" is null", "1 row skipped: \"audio\" is null", "2 rows of 1 file":
            self.assertIn(words, said)

    def test_datasets(self):
        """Pictures of datasets, saved as Parquet and to disk, are the files that they were; bload packs them."""
        folder, random_ = self.path("pictures"), np.random.default_rng(1)
        os.makedirs(folder)
        for i in range(5):
            Image.fromarray(random_.integers(0, 255, (8, 8, 3), "u1")).save(os.path.join(folder, f"{i}.png"))
        names = sorted(os.listdir(folder))
        made = datasets.Dataset.from_dict({"image": [os.path.join(folder, name) for name in names], "label": list(range(5))})
        made = made.cast_column("image", datasets.Image())
        made.to_parquet(self.path("paths.parquet"))
        made.save_to_disk(self.path("pictures-saved"))
        datasets.load_from_disk(self.path("pictures-saved")).to_parquet(self.path("pictures.parquet"))
        _, said = self.run_command(self.path("paths.parquet"), "--tar", self.path("p.tar"), status=3)
        self.assertIn("5 rows skipped: \"image\" contains the path of a file without its bytes\n", said)
        for source in "pictures.parquet", "pictures-saved":
            self.run_command(self.path(source), "--tar", self.path("p.tar"))
            found = self.members(self.path("p.tar"))
            self.assertEqual(len(found), 10)
            for i, name in enumerate(names):
                self.assertEqual(found[f"{i:09}.png"], tool.read(os.path.join(folder, name)))
        with tarfile.open(self.path("p.tar")) as archive:
            archive.extractall(self.path("members"))
        self.pack("frames", "members", "--kind", "frames", "-T", 5, cwd=self.directory)

    def test_refused(self):
        """No binary column, bytes within lists, and failures: nothing has the name then."""
        path = self.write("refused/a.parquet", {"text": ["a"], "deep": pa.array([[b"a"]]), "blob": [b"a"]})
        out = self.path("refused.tar")
        for arguments, status, words in ((("--columns", "text"), 2, "none of the columns"), (("--key", "text"), 2, "--key"),
                                         (("--columns", "deep,blob"), 1, "column \"deep\": JSON cannot represent the type binary, and only a column")):
            self.assertIn(words, self.run_command(path, "--tar", out, *arguments, status=status)[1])
        sound = tool.read(path)
        tool.write(path, sound[:4] + bytes(60) + sound[64:])
        self.assertIn("row group 0", self.run_command(path, "--tar", out, "--columns", "blob,text", status=1)[1])
        self.assertFalse(os.path.exists(out))


class Threads(unittest.TestCase):
    def test_error(self):
        """The first error in the order of the groups is raised, after all results before it; threads end."""
        def work(group):
            yield from range(group)
            if group == 3:
                raise ValueError("three")
            yield from range(1000 * (group > 3))

        taken, before = [], threading.active_count()
        with self.assertRaisesRegex(ValueError, "three"):
            for group, result in arrow_rows.ordered([1, 2, 3, 4, 5], work, 4):
                taken.append((group, result))
        self.assertEqual(taken, [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)])
        self.assertEqual(threading.active_count(), before)

    def test_held(self):
        """The last bytes come at the end alone."""
        read, write = os.pipe()
        out = command.HeldOutput(write)
        for part in b"{}\n", b"", b"{\"a\": 1}\n{}\n":
            out.write(part)
        self.assertEqual(os.read(read, 99), b"{}\n{\"a\": 1}\n{")
        out.finish()
        self.assertEqual(os.read(read, 99), b"}\n")
        os.close(read)
        os.close(write)

    def test_marks(self):
        self.assertIsNone(arrow_json.free_marks([pa.array([bytes(arrow_json.NOT_UTF8[1:])]).view(pa.string())]))
        self.assertEqual(arrow_json.free_marks([pa.array(["a", None])]).quote, b"\xff")
        self.assertEqual(arrow_json.free_marks([pa.array([b"\xff\xfd"]).view(pa.string())]).end, b"\xfc")
        self.assertEqual(arrow_json.json_kind(CHAT), "list of {role text, content text, weight float}")
        self.assertEqual(arrow_json.texts(pa.array(["ab", "c"]).slice(1))[0].to_pybytes(), b"c")
