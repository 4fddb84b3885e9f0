"""--fim: tokens are those of Megatron-LM's transform for the cuts that bload drew, which the table tells, by the released `tokenizers`;
and the draws have the shares that were asked for."""
import json
import lzma
import os
import unittest

import numpy
from tokenizers import Tokenizer

import tool
from harness import each
from test_text import rows, sequences, texts, trained

MORE = os.path.join(tool.SHARED, "data/tokenizers/more")
RELEASED = {  # prefix, middle, suffix
    "codestral": ("[PREFIX]", "[MIDDLE]", "[SUFFIX]"),
    "deepseek-v3": ("<｜fim▁begin｜>", "<｜fim▁end｜>", "<｜fim▁hole｜>"),
    "falcon": (">>PREFIX<<", ">>MIDDLE<<", ">>SUFFIX<<"),
}
FAMILIES = {
    "starcoder": ("<fim_prefix>", "<fim_middle>", "<fim_suffix>"),
    "santacoder": ("<fim-prefix>", "<fim-middle>", "<fim-suffix>"),
    "qwen": ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"),
    "codellama": ("▁<PRE>", "▁<MID>", "▁<SUF>"),
    "glm": ("<|code_prefix|>", "<|code_middle|>", "<|code_suffix|>"),
}
MARKS = ["e\u0301" * 3, "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\ufffd\u0000x", "a", "é", "😀", " ", "\n"]
CODE = "def f(x):\n    return {'é': x, \"😀\": [x] * 3}  # 日本語\n"


def permuted(form, contents, first, last, encode, prefix_tok_id, middle_tok_id, suffix_tok_id):
    """permute of megatron/data/gpt_dataset.py, without its truncation, for boundaries that are given."""
    prefix = numpy.array(encode(contents[:first]), dtype=numpy.int64)
    middle = numpy.array(encode(contents[first:last]), dtype=numpy.int64)
    suffix = numpy.array(encode(contents[last:]), dtype=numpy.int64)
    if form == "spm":  # variant 2 of the paper
        return numpy.concatenate([[prefix_tok_id, suffix_tok_id], suffix, [middle_tok_id], prefix, middle])
    return numpy.concatenate([[prefix_tok_id], prefix, [suffix_tok_id], suffix, [middle_tok_id], middle])


class Fim(tool.Tool):
    """A corpus of 200 documents and more, in JSONL with and without escapes: "\\ud83d\\ude00" is one character."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        drawn = [text for text in texts(170, 5) if text]
        cls.documents = [*drawn, *MARKS, *(CODE * n for n in range(1, 60))][:220]
        cls.corpus = os.path.join(cls.directory, "corpus.jsonl")
        with open(cls.corpus, "w", encoding="utf-8") as file:
            for n, text in enumerate(cls.documents):
                file.write(json.dumps({"n": n, "text": text}, ensure_ascii=n % 2 == 0) + "\n")

    def same(self, path, names, *arguments, begin=(), end=()):
        """What is packed with the tokenizer at path is what Megatron-LM makes of the same cuts. Gives the rows."""
        tokenizer = Tokenizer.from_file(path)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        ids = [tokenizer.token_to_id(name) for name in names]
        dataset = self.pack("fim", self.corpus, "--tokenizer", path, "-T", 9000, *arguments, status=(0, 3))
        got, _ = sequences(dataset)
        table = rows(dataset)
        for i, (row, text) in enumerate(zip(table, self.documents, strict=True)):
            def encode(part):
                return tokenizer.encode(part, add_special_tokens=False).ids
            if row["fim"] in ("psm", "spm"):
                first, last = int(row["fim.begin"]), int(row["fim.end"])
                self.assertLessEqual(0 <= first <= last, last <= len(text))
                wanted = permuted(row["fim"], text, first, last, encode, *ids).tolist()
            else:
                wanted = encode(text)
            if row["status"] == "ok":
                self.assertEqual(got[i].tolist(), [*begin, *wanted, *end], (row, text))
                self.assertEqual(int(row["length"]), len(got[i]))
            else:
                self.assertEqual(wanted, [])
        return table


class Families(Fim):
    """The tokens of each family, in a small tokenizer that is trained here."""

    def tokenizer(self, name, names):
        path = self.path(name + ".json")
        tokenizer = trained(path, self.documents)
        tokenizer.add_special_tokens(list(names))
        tokenizer.save(path)
        return path

    @each(FAMILIES)
    def test_names(self, name):
        table = self.same(self.tokenizer(name, FAMILIES[name]), FAMILIES[name], "--fim", "0.8,spm=0.4")
        self.assertEqual({row["fim"] for row in table}, {"psm", "spm", "no"})

    def test_named_tokens_between_marks(self):
        """One token before the whole document and one behind it, none in between."""
        names = ("<p>", "<m>", "<s>")
        path = self.tokenizer("named", names)
        self.same(path, names, "--fim", "1,prefix=<p>,middle=<m>,suffix=<s>", "--bos", "<|begin|>", "--eos", "<|end|>",
                  begin=[1], end=[0])
        tokenizer, dataset = Tokenizer.from_file(path), self.path("fim")
        got, _ = sequences(dataset)
        for i in 0, 5, 176:
            text, _ = self.bload("cat", dataset, rows(dataset)[i]["id"], "--tokenizer", path, "--as", "text")
            self.assertEqual(text, tokenizer.decode(got[i].tolist(), skip_special_tokens=False))

    def test_shares(self):
        """Shares of 4,000 documents, and cuts that are uniform, each within five standard deviations."""
        length, count, rate, spm = 11, 4000, 0.7, 0.3
        corpus = self.path("many.jsonl")
        tool.write(corpus, "".join(f'{{"text": "{n:0{length}d}"}}\n' for n in range(count)))
        path = self.tokenizer("shares", FAMILIES["starcoder"])
        out, _ = self.bload("scan", "-q", corpus, "--tokenizer", path, "--fim", f"{rate},spm={spm},seed=5")
        names, *lines = [line.split("\t") for line in out.splitlines()]
        table = [dict(zip(names, line)) for line in lines]
        drawn = [row for row in table if row["fim"] != "no"]

        def close(found, of, share):
            self.assertLess(abs(found - of * share), 5 * (of * share * (1 - share)) ** 0.5)
        close(len(drawn), count, rate)
        close(sum(row["fim"] == "spm" for row in drawn), len(drawn), spm)
        cuts = [(int(row["fim.begin"]), int(row["fim.end"])) for row in drawn]
        for first in range(length + 1):
            for last in range(first, length + 1):
                close(cuts.count((first, last)), len(drawn), (1 if first == last else 2) / (length + 1) ** 2)


@unittest.skipUnless(os.path.isdir(MORE), f"no {MORE}")
class Released(Fim):
    @each(RELEASED)
    def test(self, name):
        packed = os.path.join(MORE, name + ".json.xz")
        if not os.path.exists(packed):
            self.skipTest(f"no {packed}")
        path = self.path(name + ".json")
        with lzma.open(packed) as file, open(path, "wb") as out:
            out.write(file.read())
        table = self.same(path, RELEASED[name], "--fim", "0.9,seed=1")
        self.assertGreater(sum(row["fim"] in ("psm", "spm") for row in table), 150)
