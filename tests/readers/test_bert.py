"""BERT's normalizer, pre-tokenizer and WordPiece are those of the released `tokenizers` package."""
import itertools
import struct

from tokenizers import BertWordPieceTokenizer
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

import text
import tool
from harness import each

FLAGS = ["".join(flags) for flags in itertools.product("01", repeat=4)]
ALPHABET = list("aaabcdeABCDE 019  \t\n\r-]['.,!?#$") + [
    "\x00", "\ufffd", "\x85", "\u00a0", "\u200b", "\u3000", "\u2028", "\xad", "é", "É", "e\u0301", "İ", "ẞ", "ſ", "Σ", "中", "丽", "\U0002b830", "の", "が",
    "한", "\u1112\u1161", "\u0301", "\u0903", "\u0345", "…", "。", "،", "😀", "ǅ", "Ⓐ", "Ω", "the", "ing", " of ", "\u1885", "\ua9bd", "\u166d", "\u1734", "\U00011f43"]


def normalizer(flags):
    return BertNormalizer(*(flag == "1" for flag in flags))


def joined(points):
    """Code points among letters, many to a text."""
    around = [f"a{point}B {point}" for point in points]
    return ["x".join(around[at:at + 64]) for at in range(0, len(around), 64)]


class Bert(tool.Tool):
    long = True

    def check(self, flags, texts):
        package = normalizer(flags)
        for one, got in zip(texts, text.probe("bert", flags, records=[one.encode() for one in texts])):
            self.assertEqual(got.decode(), package.normalize_str(one), repr(one))

    @each(FLAGS)
    def test_normalizer(self, flags):
        self.check(flags, text.random_texts(3000, ALPHABET, seed=flags))

    @each(["1111", "1010", "0001", "0100"])
    def test_code_points(self, flags):
        self.check(flags, joined(text.code_points()))

    def test_splits(self):
        package = BertPreTokenizer()
        texts = joined(text.code_points()) + text.random_texts(5000, ALPHABET, seed=3)
        for one, got in zip(texts, text.probe("bertsplit", records=[one.encode() for one in texts])):
            data = one.encode()
            words = [data[int(a):int(b)].decode() for a, b in (span.split("-") for span in got.decode().split())]
            self.assertEqual(words, [word for word, _ in package.pre_tokenize_str(one)], repr(one))

    def vocabulary(self, lowercase):
        """A tokenizer of a small vocabulary, and its vocab.txt."""
        package = BertWordPieceTokenizer(lowercase=lowercase)
        package.train_from_iterator(text.random_texts(3000, ALPHABET, seed=4) + ["The quick brown fox jumps over it again and again"] * 5,
                                    vocab_size=2000, min_frequency=1, show_progress=False)
        package.save_model(self.directory)
        return BertWordPieceTokenizer(self.path("vocab.txt"), lowercase=lowercase), self.path("vocab.txt")

    @each(["uncased", "cased"])
    def test_wordpiece(self, case):
        lowercase = case == "uncased"
        package, path = self.vocabulary(lowercase)
        texts = (text.random_texts(5000, ALPHABET, seed=5) + joined(text.code_points()) + ["a" * size for size in (99, 100, 101, 300000)] +
                 ["é" * size for size in (99, 100, 101)] + [content for _, content in text.corpora()])
        flags = "1111" if lowercase else "1100"
        for one, got in zip(texts, text.probe("wordpiece", path, flags, records=[one.encode() for one in texts])):
            ids = list(struct.unpack(f"<{len(got) // 4}i", got))
            if ids != package.encode(one, add_special_tokens=False).ids:
                self.fail(f"{one[:200]!r}")
