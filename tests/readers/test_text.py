"""Text: the tokens of a dataset against the documents, read by the stock safetensors reader, tokenized by the released package."""
import csv
import glob
import gzip
import json
import os
import random
import struct
import unicodedata

import datasets
import numpy
import pandas
import xxhash
from safetensors import safe_open
from safetensors.numpy import load_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import tool

PIECES = ["the ", "block", "s of ", "tokens", "\n", "  ", "don't ", "1234", " x=y;", "é", "日本語", "😀", "ß\t", "a" * 50]


def texts(count, seed):
    """Documents of many lengths, a few of them empty or long."""
    chance = random.Random(seed)
    return ["".join(chance.choices(PIECES, k=chance.choice([0, 1, 3, 10, 40, 300]))) for _ in range(count)]


def trained(path, documents):
    """A small byte-level BPE, made here."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=["<|end|>", "<|begin|>"], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(documents, trainer)
    tokenizer.save(path)
    return tokenizer


def rows(dataset):
    """sequences.tsv, a dictionary for each row."""
    with open(os.path.join(dataset, "sequences.tsv"), encoding="utf-8", newline="\n") as file:
        names, *lines = [line.rstrip("\n").split("\t") for line in file]
    return [dict(zip(names, line)) for line in lines]


def sequences(dataset, field="tokens"):
    """The field of each sequence, by its row, put together from its pieces; and what is padding."""
    parts, padding = {}, []
    for path in sorted(glob.glob(os.path.join(dataset, "shards/*/*.safetensors"))):
        with safe_open(path, "numpy") as shard:
            table = {name: shard.get_tensor(name) for name in shard.keys()}
        for b, block in enumerate(table[field]):
            starts, ids, lengths = table["cu_seqlens"][b], table["sequence"][b], table["length"][b]
            sources = table["source_start"][b] if "source_start" in table else numpy.zeros_like(ids)
            for k in range(table["num_sequences"][b]):
                parts.setdefault(int(ids[k]), []).append((int(sources[k]), block[starts[k]:starts[k] + lengths[k]]))
            padding.append(block[starts[-1]:])
    whole = {row: numpy.concatenate([piece for _, piece in sorted(pieces, key=lambda p: p[0])])
             for row, pieces in parts.items()}
    return whole, numpy.concatenate(padding)


class Tokens(tool.Tool):
    """What is packed is what the released package makes of each document."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.documents = texts(400, 1)
        cls.tokenizer_path = os.path.join(cls.directory, "tokenizer.json")
        cls.tokenizer = trained(cls.tokenizer_path, cls.documents)
        cls.corpus = os.path.join(cls.directory, "corpus.jsonl")
        with open(cls.corpus, "w", encoding="utf-8") as file:
            for n, text in enumerate(cls.documents):
                file.write(json.dumps({"n": n, "text": text}, ensure_ascii=n % 2 == 0) + "\n")

    def check(self, dataset, documents, begin=(), end=(), pad=0):
        got, padding = sequences(dataset)
        table = rows(dataset)
        self.assertEqual(len(table), len(documents))
        for row, text in enumerate(documents):
            ids = [*begin, *self.tokenizer.encode(text).ids, *end] if text else []
            self.assertEqual(int(table[row]["length"]), len(ids))
            self.assertEqual(got[row].tolist() if ids else [], ids)
        self.assertTrue((padding == pad).all())

    def test_whole_documents(self):
        longest = max(len(self.tokenizer.encode(text).ids) for text in self.documents)
        dataset = self.pack("whole", self.corpus, "--tokenizer", self.tokenizer_path, "-T", longest)
        self.check(dataset, self.documents)

    def test_split_with_marks(self):
        dataset = self.pack("split", self.corpus, "--tokenizer", self.tokenizer_path, "-T", 64, "--oversize", "split",
                            "--bos", "<|begin|>", "--eos", "<|end|>", "--pad-id", 7, "--dtype", "u16", "-j", 2)
        self.check(dataset, self.documents, (1,), (0,), 7)
        with safe_open(glob.glob(dataset + "/shards/*/*")[0], "numpy") as shard:
            self.assertEqual(shard.get_slice("tokens").get_dtype(), "U16")

    def test_plain_files_compressed(self):
        folder = self.path("folder")
        os.makedirs(folder, exist_ok=True)
        for n, text in enumerate(self.documents[:50]):
            with gzip.open(os.path.join(folder, f"{n}.txt.gz"), "wb") as file:
                file.write(text.encode())
        dataset = self.pack("plain", folder, "--tokenizer", self.tokenizer_path, "-T", 1000, "--oversize", "split")
        self.check(dataset, self.documents[:50])

    def test_kept_columns(self):
        dataset = self.pack("kept", self.corpus, "--tokenizer", self.tokenizer_path, "-T", 128, "--oversize", "split",
                            "--keep", "n,again=text")
        for n, row in enumerate(rows(dataset)):
            self.assertEqual(row["n"], str(n))
            plain = row["again"].replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r").replace("\\\\", "\\")
            self.assertTrue(self.documents[n].startswith(plain))

    def test_kept_numbers(self):
        """A number of each document, [n, S], of each piece of it; 0 where no sequence is."""
        dataset = self.pack("numbers", self.corpus, "--tokenizer", self.tokenizer_path, "-T", 64, "--oversize", "split", "--keep", "n:number")
        for path in glob.glob(os.path.join(dataset, "shards/*/*.safetensors")):
            table = load_file(path)
            self.assertEqual((table["n"].dtype, table["n"].shape), (numpy.float64, table["length"].shape))
            there = table["length"] > 0
            self.assertEqual(table["n"][there].tolist(), table["sequence"][there].tolist())
            self.assertFalse(table["n"][~there].any())

    def test_digests_of_texts(self):
        """What others compute for a text in its normal form; of equal ones the first stays."""
        chance = random.Random(2)
        changed = [lambda text: text, str.upper, lambda text: text.replace(" ", " \t\n") + " ", lambda text: unicodedata.normalize("NFD", text)]
        documents = [chance.choice(changed)(text) for text in texts(300, 3) + texts(150, 3)]
        path = self.path("repeats.jsonl")
        tool.write(path, "".join(json.dumps({"text": text}) + "\n" for text in documents))
        for steps, form in ("", lambda text: text), (":nfkc,lower,space", lambda text: " ".join(unicodedata.normalize("NFKC", text).lower().split())):
            dataset = self.pack("repeats" + str(len(steps)), path, "--tokenizer", "bytes", "-T", 9000, "--dedup-by", f"text{steps}")
            seen = {""}
            for row, text in zip(rows(dataset), map(form, documents)):
                if row["status"] != "skipped":
                    self.assertEqual(row[f"digest(text{steps})"], xxhash.xxh3_128_hexdigest(text.encode()) if text else "")
                    self.assertEqual(row["status"], "dropped" if text and text in seen else "ok")
                    seen.add(text)
            self.assertGreater(len(documents) - len(seen), 100)

    def test_json_as_python_reads_it(self):
        lines = [r'{"text":"\"\\\/\b\f\n\r\t\u0041\u00e9\u65e5\ud83d\ude00\u0000"}',
                 '\t {"x" : [1.5e-3, -0, {"text": "no"}], "text" :\t"yes" } \r', '{"text":"first","text":"second"}',
                 r'{"te\u0078t":"by an escaped name"}', '{"deep":' + "[" * 200 + "]" * 200 + ',"text":"under it"}']
        path = self.path("lines.jsonl")
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write("".join(line + "\n" for line in lines))
        dataset = self.pack("lines", path, "--tokenizer", "bytes", "-T", 64)
        got, _ = sequences(dataset)
        for n, line in enumerate(lines):
            self.assertEqual(bytes(got[n].tolist()).decode(), json.loads(line)["text"])


class Tables(tool.Tool):
    """Rows and elements, as the readers of Python have them."""

    def texts(self, path, *arguments, status=0):
        """The text of each row of the table, and None for those that are skipped."""
        dataset = self.pack("table", path, "--tokenizer", "bytes", "-T", 4096, *arguments, status=status)
        got, _ = sequences(dataset)
        return [bytes(got[n].tolist()).decode() if row["status"] == "ok" else None for n, row in enumerate(rows(dataset))]

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return self.path(name)

    def test_any_bytes_have_the_rows_of_csv(self):
        chance = random.Random(7)
        for name, mark in ("odd.csv", ","), ("odd.tsv", "\t"):
            body = "".join(chance.choices(["a", "é", '"', '""', mark, "\n", "\r\n", "\r", " "], [9, 2, 2, 2, 6, 3, 1, 1, 1], k=6000))
            text = f"text{mark}b\nkept{mark}\n{body}\nkept{mark}\n"
            there = self.texts(self.write(name, text), status=3)
            with open(self.path(name), encoding="utf-8", newline="") as file:
                wanted = [row for row in csv.reader(file, delimiter=mark) if row][1:]
            self.assertEqual(len(there), len(wanted))
            for got, row in zip(there, wanted):
                self.assertTrue(got is None or (len(row) == 2 and got == row[0]), (got, row))
            self.assertGreater(sum(got is not None for got in there), 50)

    def test_tables_that_were_written_are_read(self):
        documents = [text for text in texts(200, 3) if text] + ['"', '""', ",", "\n", "a\r\nb", 'x"y', "\t\"\t"]
        frame = pandas.DataFrame({"id": range(len(documents)), "text": documents})
        for name, mark in ("written.csv", ","), ("written.tsv", "\t"):
            path = self.path(name)
            frame.to_csv(path, sep=mark, index=False)
            self.assertEqual(self.texts(path), documents)
            read = datasets.Dataset.from_csv(path, sep=mark, keep_in_memory=True, keep_default_na=False, cache_dir=self.path("cache"))
            self.assertEqual(list(read["text"]), documents)

    def test_arrays_that_were_written_are_read(self):
        documents = [text for text in texts(200, 4) if text] + ["]", "}", '[{"', "\\", '\\"', "\u2028"]
        records = [{"n": n, "text": text, "more": [{"text": text}]} for n, text in enumerate(documents)]
        for indent in None, 2:
            path = self.path("array.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(records, file, indent=indent, ensure_ascii=indent is None)
            self.assertEqual(self.texts(path), documents)
        read = datasets.Dataset.from_json(path, keep_in_memory=True, cache_dir=self.path("cache"))
        self.assertEqual(list(read["text"]), documents)


class Ids(tool.Tool):
    """Tokens that others made, as numpy and Megatron leave them."""

    def test_arrays(self):
        chance = numpy.random.default_rng(5)
        for n, dtype in enumerate(["<i4", "<u2", ">i8", "|u1"]):
            array = chance.integers(0, 200, (7, 30)).astype(dtype)
            path = self.path(f"{n}.npy")
            numpy.save(path, array)
            dataset = self.pack(f"array{n}", path, "--kind", "text", "-T", 64)
            got, _ = sequences(dataset)
            for row in range(7):
                self.assertEqual(got[row].tolist(), array[row].tolist())
        numpy.save(self.path("flat.npy"), numpy.arange(1000, dtype="i4"))
        got, _ = sequences(self.pack("flat", self.path("flat.npy"), "--kind", "text", "-T", 300, "--oversize", "split"))
        self.assertEqual(got[0].tolist(), list(range(1000)))
        for name, array in ("float", numpy.ones((2, 2))), ("cube", numpy.ones((2, 2, 2), int)), \
                ("fortran", numpy.asfortranarray(numpy.ones((2, 3), int))):
            numpy.save(self.path(name + ".npy"), array)
            self.bload("scan", self.path(name + ".npy"), "--kind", "text", status=3)

    def test_fields(self):
        lines = [{"ids": list(range(n)), "mask": [n % 2] * n, "labels": [-100] * (n - 1) + [n], "w": [n / 4] * n}
                 for n in range(1, 20)]
        tool.write(self.path("f.jsonl"), "".join(json.dumps(line) + "\n" for line in lines))
        dataset = self.pack("fields", self.path("f.jsonl"), "--key", "ids", "--field",
                            "loss_mask=mask:u8,labels=labels,weight=w:f32", "-T", 32, "--segment-ids")
        for field, key, pad in ("tokens", "ids", 0), ("loss_mask", "mask", 0), ("labels", "labels", -100), \
                ("weight", "w", 0):
            got, padding = sequences(dataset, field)
            for row, line in enumerate(lines):
                self.assertEqual(got[row].tolist(), line[key])
            self.assertTrue((padding == pad).all())


class TokenFiles(tool.Tool):
    """Flat files of ids, as those read them for whom they are written."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        chance = numpy.random.default_rng(11)
        cls.documents = [[*chance.integers(0, 99, chance.integers(0, 60)).tolist(), 99] for _ in range(200)]
        cls.ids = sum(cls.documents, [])

    def check(self, name, spec, path, expected, *options):
        dataset = self.pack(name, "--token-file", spec, path, "-T", 64, "--oversize", "split", *options)
        got, padding = sequences(dataset)
        self.assertEqual([got[row].tolist() for row in sorted(got)], expected)
        self.assertFalse(padding.any())

    def test_types_as_memmap_reads_them(self):
        """nanoGPT's train.py and OLMo read such files by numpy.memmap; each type, and both ends of a document."""
        for dtype in "u1 u2 u4 u8 i1 i2 i4 i8".split():
            path = self.path(f"{dtype}.bin")
            numpy.array(self.ids, "<" + dtype).tofile(path)
            name = dtype[0] + str(8 * int(dtype[1]))
            data = numpy.memmap(path, "<" + dtype, mode="r")
            ends = (numpy.flatnonzero(data == 99) + 1).tolist()
            expected = [data[begin:end].tolist() for begin, end in zip([0, *ends], ends)]
            self.assertEqual(expected, self.documents)
            self.check(dtype, f"dtype={name},eos=99", path, expected)
            self.check(f"{dtype}-narrow", f"dtype={name},eos=99", path, expected, "--dtype", "u16")
        begins = (numpy.flatnonzero(data == 99)).tolist()
        starts = begins if begins[0] == 0 else [0, *begins]
        self.check("begins", "dtype=i64,bos=99", path, [data[a:b].tolist() for a, b in zip(starts, [*starts[1:], None])])
        self.check("whole", "dtype=i64", path, [data.tolist()])

    def test_datatrove(self):
        """As its TokenizedFile writes them: where documents end, in tokens, as 64-bit numbers; the name of the tokenizer with the bytes of
        a token, and how many tokens there are."""
        for size in 2, 4:
            path = self.path(f"00000_{size}.ds")
            with open(path, "wb") as file:
                for document in self.documents:
                    file.write(struct.pack(f"<{len(document)}{'H' if size == 2 else 'I'}", *document))
            with open(path + ".index", "wb") as file:
                ends = numpy.cumsum([len(document) for document in self.documents]).tolist()
                file.write(struct.pack(f"<{len(ends)}Q", *ends))
            with open(path + ".metadata", "wt", encoding="utf-8") as file:
                file.write("\n".join([f"org/name|{size}", str(len(self.ids)), "6.05 KT"]))
            self.check(f"ds{size}", "auto", path, self.documents)
