"""Ids of a SentencePiece model are those of the released `sentencepiece` package, the last whose rounding is that of the library."""
import os
import struct
import unittest

import sentencepiece

import text
import tool

MODEL = os.path.join(tool.SHARED, "data/tokenizers/spm-unigram-1k-test_model.model")
ALPHABET = [chr(point) for point in range(0x20, 0x250)] + list(" \t\r\n\0\ufffd▁中のカ한\u0301ﬁ①ⅧｶﾞİΣ\u3000😀") + ["......", "the", "ing "]


@unittest.skipUnless(os.path.exists(MODEL), "no shared model")
class SentencePiece(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.package = sentencepiece.SentencePieceProcessor(model_file=MODEL)
        try:
            text.probe("sentencepiece", MODEL, records=[])
        except AssertionError as error:
            if "built without SentencePiece" in str(error):
                raise unittest.SkipTest("built without SentencePiece") from error
            raise

    def check(self, texts):
        for one, got in zip(texts, text.probe("sentencepiece", MODEL, records=[one.encode() for one in texts])):
            if list(struct.unpack(f"<{len(got) // 4}i", got)) != self.package.encode(one):
                self.fail(f"{one[:200]!r}")

    def test_random(self):
        self.check(text.random_texts(5000, ALPHABET, seed=6))

    def test_code_points(self):
        points = [f"a{point} {point}b" for point in text.code_points()]
        self.check([" ".join(points[at:at + 64]) for at in range(0, len(points), 64)])

    def test_corpora(self):
        for name, content in text.corpora():
            with self.subTest(name):
                self.check([content[:1 << 19], *content[:1 << 18].split("\n")])

    def test_long_word(self):
        self.check(["a" * 1000000])
