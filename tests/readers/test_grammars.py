"""Known grammars have the words of the engine that their model's published files are for, by its version of Unicode: every code point
in contexts, and random texts of every script. Of both a sample; all with EVERY=1 (make check-tokenizers)."""
import base64
import os
import random
import struct
import subprocess
import tempfile
import unicodedata
import unittest

import tiktoken
import unicodedata2
from tokenizers import Regex, pre_tokenizers

import text
from harness import each
from test_tokenizers import ENCODE_TEXT, LLAMA3, QWEN, TIKTOKEN

EVERY = bool(os.environ.get("EVERY"))
TEXTS = 1000000 if EVERY else 6000

O200K = TIKTOKEN["o200k"]
TEKKEN = O200K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35 = QWEN.replace(r"]?\p{L}+", r"]?[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
GPT4 = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
DEEPSEEK = [r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|"
            "\\s*[\r\n]+|\\s+(?!\\S)|\\s+"]


def split(*patterns):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns])


GRAMMARS = [(name, patterns, split(*patterns)) for name, *patterns in (
    ("gpt2", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    ("llama3", LLAMA3), ("qwen", QWEN), ("qwen35", QWEN35), ("gpt4", GPT4), ("llada", GPT4.replace("{1,3}", "")), ("o200k", O200K),
    ("tekken", TEKKEN), ("numbers", DEEPSEEK[0]), ("ideographs", DEEPSEEK[1]), ("deepseek_words", DEEPSEEK[2]),
    ("deepseek_head", *DEEPSEEK[:2]), ("deepseek", *DEEPSEEK))]
GRAMMARS += [("digits", ["digits"], pre_tokenizers.Digits(True)), ("digit_runs", ["digit runs"], pre_tokenizers.Digits(False))]

POINTS = text.code_points()
ASSIGNED = [point for point in POINTS if unicodedata2.category(point) not in ("Cn", "Co")]
NEW = [point for point in POINTS if unicodedata.category(point) != unicodedata2.category(point)]
ASCII = list(" \t\n\r\x0b\x01\x7f!?'/-_$a1Zbs") + [" ", " ", "\r\n", "'s", "'LL", "\u017f", "\u00a0", "\u3000", "12", "word", " The"]


def contexts(point):
    p = point
    return f"a{p}b {p}{p}1{p}\n{p} {p}!{p}a 12{p}34 A{p}'s \u4e00{p}\u3042$\u0301{p}  {p}\r{p}\t{p}x\u0301{p}  "


def some_points(seed):
    """Characters to look at: all, or some of every kind."""
    if EVERY:
        return POINTS
    draw = random.Random(seed)
    return draw.sample(ASSIGNED, 4000) + draw.sample(NEW, min(len(NEW), 3000)) + draw.sample(POINTS, 2000) + POINTS[:0x500]


def some_texts(seed):
    """Texts of few blocks of Unicode each, with much ASCII, a thousand at a time."""
    draw = random.Random(seed)
    for _ in range(max(TEXTS // 1000, 1)):
        texts = []
        for _ in range(min(TEXTS, 1000)):
            near = draw.randrange(len(ASSIGNED))
            letters = ASSIGNED[max(near - 60, 0):near + 60] + draw.choices(ASSIGNED, k=20)
            texts.append("".join(draw.choice(ASCII if draw.random() < 0.5 else letters) for _ in range(draw.randint(1, 90))))
        yield texts


class Grammars(unittest.TestCase):
    """Against tokenizers, whose patterns are Oniguruma's, but for Digits."""

    long = True

    def check(self, patterns, engine, texts):
        got = text.probe("grammar", "\x1f".join(patterns), records=[one.encode() for one in texts])
        for one, spans in zip(texts, got):
            data = one.encode()
            words = [data[int(a):int(b)].decode() for a, b in (span.split("-") for span in spans.decode().split())]
            expected = [word for word, _ in engine.pre_tokenize_str(one)]
            if words != expected:
                self.fail(f"{patterns} on {ascii(one)}:\n{ascii(words)}\n{ascii(expected)}")

    @each(GRAMMARS)
    def test_points(self, name, patterns, engine):
        points = some_points(name)
        for at in range(0, len(points), 20000):
            self.check(patterns, engine, [contexts(point) for point in points[at:at + 20000]])

    @each(GRAMMARS)
    def test_texts(self, name, patterns, engine):
        for texts in some_texts(name):
            self.check(patterns, engine, texts)


class Tiktoken(unittest.TestCase):
    """Against tiktoken, which tells no words but ids: pairs of bytes are tokens, and none is of two words."""

    @classmethod
    def setUpClass(cls):
        cls.ranks = {bytes([a]): a for a in range(256)}
        draw = random.Random(1)
        pairs = [bytes([a, b]) for a in range(256) for b in range(256)]
        draw.shuffle(pairs)
        cls.ranks.update((pair, 256 + i) for i, pair in enumerate(pairs))
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = os.path.join(cls.folder.name, "pairs.tiktoken")
        with open(cls.path, "w", encoding="ascii") as file:
            file.writelines(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in cls.ranks.items())

    def check(self, name, texts):
        data = b"".join(struct.pack("<I", len(one.encode())) + one.encode() for one in texts)
        done = subprocess.run([ENCODE_TEXT, self.path, f"pattern={name}", "documents=length"], input=data, capture_output=True, check=True)
        engine, at = tiktoken.Encoding(name, pat_str=TIKTOKEN[name], mergeable_ranks=self.ranks, special_tokens={}), 0
        for one in texts:
            count, = struct.unpack_from("<I", done.stdout, at)
            ids = struct.unpack_from(f"<{count}I", done.stdout, at + 4)
            at += 4 + 4 * count
            if list(ids) != engine.encode_ordinary(one):
                self.fail(f"{name} on {ascii(one)}")

    @each(TIKTOKEN)
    def test_points(self, name):
        points = some_points(name)
        for at in range(0, len(points), 20000):
            self.check(name, [contexts(point) for point in points[at:at + 20000]])

    @each(TIKTOKEN)
    def test_texts(self, name):
        for texts in some_texts(name):
            self.check(name, texts)
