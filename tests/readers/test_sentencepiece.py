"""Ids of SentencePiece's models are those of the released `sentencepiece` package: of the shared ones, and of models of every kind that
it trains here. 0.2.1 is the last whose rounding is the one that other programs have."""
import io
import lzma
import os
import random
import unittest

import sentencepiece

import text
import tool
from harness import each
from test_tokenizers import Exact, encode, strange_texts, training_texts

TOKENIZERS = os.path.join(tool.SHARED, "data/tokenizers")
SHARED = {"unigram": "spm-unigram-1k-test_model.model", "llama2": "more/llama2.model.xz"}
ALPHABET = [chr(point) for point in range(0x20, 0x250)] + list(" \t\r\n\0\ufffd\u2581\u4e2d\u306e\u30ab\ud55c\u0301\ufb01\u2460\u2167\uff76\uff9e"
                                                               "\u0130\u03a3\u3000\U0001f600") + ["......", "the", "ing ", "<user>", "  ", "<s>"]
USER = ["<user>", "\u2581\u2581", "ab", "int "]
MODELS = {
    "unigram": {},
    "unigram_bytes": dict(byte_fallback=True, character_coverage=0.98),
    "bpe": dict(model_type="bpe", character_coverage=0.98),
    "bpe_bytes": dict(model_type="bpe", byte_fallback=True, character_coverage=0.98),
    "word": dict(model_type="word", hard_vocab_limit=False),
    "char": dict(model_type="char", character_coverage=0.99, hard_vocab_limit=False),
    "user": dict(user_defined_symbols=USER),
    "user_bpe": dict(model_type="bpe", user_defined_symbols=USER, control_symbols=["<c>"]),
    "identity": dict(normalization_rule_name="identity", remove_extra_whitespaces=False, byte_fallback=True),
    "identity_bpe": dict(model_type="bpe", normalization_rule_name="identity", remove_extra_whitespaces=False, byte_fallback=True,
                         add_dummy_prefix=False, split_by_whitespace=False, allow_whitespace_only_pieces=True),
    "suffix": dict(treat_whitespace_as_suffix=True, byte_fallback=True),
    "suffix_bpe": dict(model_type="bpe", treat_whitespace_as_suffix=True),
    "casefold": dict(normalization_rule_name="nmt_nfkc_cf", split_by_whitespace=False),
    "nfkc_bpe": dict(model_type="bpe", normalization_rule_name="nfkc", remove_extra_whitespaces=False),
}


class SentencePiece(Exact):
    long = True

    def check(self, path, texts):
        package = sentencepiece.SentencePieceProcessor(model_file=path)
        self.same(texts, encode(path, texts), [package.encode(one) for one in texts])

    def texts(self):
        return text.random_texts(1500, ALPHABET, seed=6) + list(strange_texts())[::4] + ["", " ", "\u2581", "  a", "\u4e00" * 5000]

    @each(MODELS)
    def test(self, name):
        model, path = io.BytesIO(), self.path(name + ".model")
        sentences = [line for one in training_texts() for line in one[:1500].split("\n") if line]
        options = {"vocab_size": 1200, **MODELS[name]}
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_writer=model, minloglevel=9, **options)
        tool.write(path, model.getvalue())
        self.check(path, self.texts())

    def shared(self, name):
        source = os.path.join(TOKENIZERS, SHARED[name])
        if not os.path.exists(source):
            self.skipTest(f"no {source}")
        path = self.path(name + ".model")
        with (lzma.open if source.endswith("xz") else open)(source, "rb") as file, open(path, "wb") as out:
            out.write(file.read())
        return path

    @each(SHARED)
    def test_random(self, name):
        self.check(self.shared(name), text.random_texts(5000, ALPHABET, seed=6))

    @each(SHARED)
    def test_code_points(self, name):
        points = [f"a{point} {point}b" for point in text.code_points()]
        self.check(self.shared(name), [" ".join(points[at:at + 64]) for at in range(0, len(points), 64)])

    @each(SHARED)
    def test_corpora(self, name):
        for corpus, content in text.corpora():
            with self.subTest(corpus):
                self.check(self.shared(name), [content[:1 << 19], *content[:1 << 18].split("\n")])

    @each(SHARED)
    def test_long_word(self, name):
        draw = random.Random(2)
        self.check(self.shared(name), ["a" * 1000000, "".join(draw.choices("abcde", k=200000))])


if __name__ == "__main__":
    unittest.main()
