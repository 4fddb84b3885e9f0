"""Ids are those of the released tokenizers, token for token: on the shared corpora by their vectors, and for every grammar with
a small tokenizer that is trained here, on all assigned code points, random texts and one long word."""
import base64
import csv
import hashlib
import json
import lzma
import os
import random
import subprocess
import unittest
from unittest import mock

import numpy as np
import tiktoken
import tokenizers
import unicodedata2
from tiktoken_ext import openai_public
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, trainers

import text
import tool
from harness import each

ENCODE_TEXT = os.environ.get("ENCODE_TEXT", os.path.join(tool.ROOT, "build/release/tests/encode_text"))
TOKENIZERS = os.path.join(tool.SHARED, "data/tokenizers")
VECTORS = os.path.join(TOKENIZERS, "vectors.tsv")
PATTERNS = {"gpt2.tiktoken": "r50k", "cl100k_base.tiktoken": "cl100k", "o200k_base.tiktoken": "o200k"}
SPECIAL = "<|endoftext|>"

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def byte_level(use_regex=True, prefix=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=use_regex)


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), byte_level(False)])


def tiktoken_patterns():
    """The patterns of the encodings, without what they would download."""
    with mock.patch.multiple(openai_public, load_tiktoken_bpe=lambda *a, **k: {},
                             data_gym_to_mergeable_bpe_ranks=lambda *a, **k: {}):
        return {name: openai_public.ENCODING_CONSTRUCTORS[f"{name}_base"]()["pat_str"] for name in PATTERNS.values()}


TIKTOKEN = tiktoken_patterns()
GRAMMARS = {  # normalizer, pre-tokenizer, options of the model
    "gpt2": (None, byte_level(), {}),
    "prefix": (None, byte_level(prefix=True), {}),
    "neox": (normalizers.NFC(), byte_level(), {}),
    "nfkd": (normalizers.Sequence([normalizers.NFKD(), normalizers.NFC()]), byte_level(), {}),
    "llama3": (None, split(LLAMA3), {"ignore_merges": True}),
    "qwen": (normalizers.NFC(), split(QWEN), {}),
    "o200k": (None, split(TIKTOKEN["o200k"]), {}),
    "starcoder": (None, pre_tokenizers.Sequence([pre_tokenizers.Digits(True), byte_level()]), {}),
    "digits": (None, pre_tokenizers.Sequence([pre_tokenizers.Digits(False), byte_level(prefix=True)]), {}),
    "unknown": (None, split(r"[A-Za-z]+| ?\d+|[^A-Za-z\d\s]{1,4}|\s+"), {}),
    "punctuation": (None, pre_tokenizers.Sequence([pre_tokenizers.Split("!", "merged_with_previous"), byte_level()]), {}),
    "whole": (None, byte_level(use_regex=False), {}),
}
ALL_POINTS = ("gpt2", "neox", "llama3", "o200k")
ADDED = [AddedToken("   ", normalized=True), AddedToken("  ", normalized=True), AddedToken("|||MAIL|||", normalized=False),
         AddedToken("<left>", lstrip=True, normalized=False), AddedToken("<right>", rstrip=True, normalized=False),
         AddedToken("caf\u00e9!", normalized=True), AddedToken("|", normalized=False)]
SINGLE = [AddedToken("solo", single_word=True, normalized=False), AddedToken("caf\u00e9", single_word=True, normalized=True),
          AddedToken("--", single_word=True, lstrip=True, rstrip=True, normalized=False)]


def training_texts():
    """Texts of this project, and letters of other scripts, so that their merges are met, too."""
    for folder, _, names in sorted(os.walk(os.path.join(tool.ROOT, "src/base"))):
        for name in sorted(names):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                yield file.read()[:6000]
    draw = random.Random(1)
    for first, last in ((0x400, 0x44f), (0x3b1, 0x3c9), (0x4e00, 0x4eff), (0x3041, 0x3096), (0x905, 0x939), (0x1f600, 0x1f64f),
                        (0xc0, 0xff), (0x300, 0x340)):
        yield " ".join("".join(chr(draw.randint(first, last)) for _ in range(draw.randint(1, 5))) for _ in range(1000))


def strange_texts():
    """What tokenizers stumble over."""
    blanks = " \t\r\n\v\f\u0085\u00a0\u2028\u3000"
    letters = "aZ\u00e9\u01c5\u02b0\u4e00\u0301\u0915\u017f\u212a"
    others = "'!?/-_\u20ac\U0001f600\u200d\0\x7f<|>"
    alphabets = [blanks, blanks + "ab", letters + "'", "'sStTrReEvVlLmMdD\u017f ", letters + blanks, others + blanks + "/\r\n",
                 "0123456789\u00bd\u0665\u2167 a", blanks + letters + others + "012", "aAbB' "]
    for seed, alphabet in enumerate(alphabets):
        yield from text.random_texts(200, alphabet, seed)
    draw = random.Random(9)
    yield from (draw.randbytes(draw.randint(0, 200)).decode("utf-8", "replace") for _ in range(300))
    points = text.code_points()
    yield from text.random_texts(500, points, 10)
    pieces = ["<|endoftext|>", "<|end", "|||MAIL|||", "|||", "   ", "  ", " ", "\t", "<left>", "<right>", "cafe\u0301!", "caf\u00e9!", "a", ".",
              "solo", "--", "caf\u00e9", "\u0301", "\u200d", "_"]
    yield from ("".join(draw.choices(pieces, k=draw.randint(0, 12))) for _ in range(400))


def point_texts(step=1):
    """Every assigned code point, or one of so many, beside letters, digits, blanks and signs; many to a text, for speed."""
    assigned = [c for c in text.code_points() if unicodedata2.category(c) not in ("Cn", "Co")][::step]
    for at in range(0, len(assigned), 64):
        yield "".join(f"a{c} {c}{c}1{c}\n'{c}!{c}B {c}solo\nsolo{c}" for c in assigned[at:at + 64])


def encode(path, texts, *arguments):
    """The ids that the tool gives for each text."""
    data = b"".join(len(t).to_bytes(4, "little") + t for t in (t if isinstance(t, bytes) else t.encode() for t in texts))
    done = subprocess.run([ENCODE_TEXT, path, "documents=length", *arguments], input=data, capture_output=True, timeout=300)
    if done.returncode:
        raise AssertionError(done.stderr.decode())
    words, out, at = np.frombuffer(done.stdout, "<u4"), [], 0
    for _ in texts:
        out.append(words[at + 1:at + 1 + words[at]])
        at += 1 + int(words[at])
    if at != len(words):
        raise AssertionError("more ids than texts")
    return out


class Exact(tool.Tool):
    def same(self, texts, ours, theirs):
        for one, a, b in zip(texts, ours, theirs):
            if len(a) != len(b) or (a != np.array(b, np.uint32)).any():
                self.fail(f"{one[:300]!r}: {a.tolist()[:60]} where {list(b)[:60]} is right")

    def train(self, name, size=1200):
        """A tokenizer of the grammar and the path of its file; the same ones every time."""
        normalizer, pre_tokenizer, options = GRAMMARS[name]
        one = tokenizers.Tokenizer(models.BPE(**options))
        one.pre_tokenizer = pre_tokenizer
        if normalizer:
            one.normalizer = normalizer
        one.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
        one.train_from_iterator(training_texts() if name != "whole" else (t[:300] for t in training_texts()), trainer)
        one.add_tokens(ADDED + SINGLE)
        one.add_special_tokens([SPECIAL])
        path = self.path(name + ".json")
        one.save(path)
        return one, path


class Grammars(Exact):
    long = True

    @each(GRAMMARS)
    def test(self, name):
        one, path = self.train(name)
        texts = [*strange_texts(), *point_texts(1 if name in ALL_POINTS else 16)]
        for special in False, True:
            one.encode_special_tokens = not special
            theirs = [e.ids for e in one.encode_batch_fast(texts, add_special_tokens=False)]
            self.same(texts, encode(path, texts, *(["special=parse"] if special else [])), theirs)
            texts = texts[:3000]

    @each(["gpt2", "llama3"])
    def test_long_word(self, name):
        """A word of 1 MB, in time near linear."""
        one, path = self.train(name)
        draw = random.Random(5)
        words = ["a" * 1000000, "".join(draw.choices("abcdeinrst", k=1000000)), "".join(draw.choices("\u0430\u0431\u0432\u0433", k=400000))]
        for word in words:
            self.same([word], encode(path, [word]), [one.encode(word, add_special_tokens=False).ids])
            done = subprocess.run([ENCODE_TEXT, path, "print=count"], input=word.encode(), capture_output=True, check=True)
            self.assertLess(float(done.stdout.split()[2]), 0.5, "seconds for a word of 1 MB")

    def test_two_files(self):
        """GPT-2's vocab.json and merges.txt say the same as tokenizer.json."""
        one, path = self.train("gpt2")
        folder = self.path("two")
        os.mkdir(folder)
        one.model.save(folder)
        texts = list(strange_texts())
        plain = tokenizers.Tokenizer(one.model)
        plain.pre_tokenizer = one.pre_tokenizer
        theirs = [e.ids for e in plain.encode_batch_fast(texts)]
        self.same(texts, encode(os.path.join(folder, "vocab.json"), texts), theirs)

    @each([("cased", False), ("uncased", True)])
    def test_wordpiece(self, name, lowercase):
        """BERT's, as tokenizer.json and as vocab.txt."""
        one = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        one.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
        one.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        one.train_from_iterator(training_texts(), trainers.WordPieceTrainer(vocab_size=2000, show_progress=False,
                                                                            special_tokens=special))
        folder = self.path(name)
        os.mkdir(folder)
        one.save(os.path.join(folder, "tokenizer.json"))
        one.model.save(folder)
        texts = [*strange_texts(), *point_texts(16), "[CLS] a[MASK]b [SEP]"]
        for special in False, True:
            one.encode_special_tokens = not special
            theirs = [e.ids for e in one.encode_batch_fast(texts, add_special_tokens=False)]
            for file in "tokenizer.json", "vocab.txt":
                ours = encode(os.path.join(folder, file), texts, *(["special=parse"] if special else []))
                self.same(texts, ours, theirs)
        one.add_tokens(SINGLE)
        one.save(os.path.join(folder, "tokenizer.json"))
        theirs = [e.ids for e in one.encode_batch_fast(texts, add_special_tokens=False)]
        self.same(texts, encode(os.path.join(folder, "tokenizer.json"), texts, "special=parse"), theirs)

    @each(TIKTOKEN)
    def test_ranks(self, pattern):
        """The ranks of a trained tokenizer as a .tiktoken file."""
        grammar = {"r50k": "gpt2", "cl100k": "llama3", "o200k": "o200k"}[pattern]
        one, _ = self.train(grammar)
        letters = {letter: byte for byte, letter in enumerate_bytes()}
        trained = json.loads(one.to_str())["model"]["vocab"]
        tokens = [bytes(letters[c] for c in token) for token in sorted(trained, key=trained.get)]
        path = self.path(pattern + ".tiktoken")
        self.write_ranks(path, tokens)
        other = tiktoken.Encoding(pattern, pat_str=TIKTOKEN[pattern], mergeable_ranks={t: i for i, t in enumerate(tokens)},
                                  special_tokens={})
        texts = [*strange_texts(), *point_texts(4)]
        self.same(texts, encode(path, texts, f"pattern={pattern}"), [other.encode_ordinary(t) for t in texts])

    def write_ranks(self, path, tokens):
        with open(path, "w") as file:
            for rank, token in enumerate(tokens):
                file.write(f"{base64.b64encode(token).decode()} {rank}\n")


def enumerate_bytes():
    """Every byte and its letter in the alphabet of byte-level tokenizers."""
    own = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [byte for byte in range(256) if byte not in own]
    return [(byte, chr(byte) if byte in own else chr(0x100 + others.index(byte))) for byte in range(256)]


def vectors():
    """The rows of the shared vectors that are for these tokenizers, by tokenizer and whether specials are parsed."""
    groups = {}
    if os.path.exists(VECTORS):
        with open(VECTORS, newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                if row["library"] in ("tokenizers", "tiktoken"):
                    groups.setdefault((row["tokenizer_file"], row["specials"]), []).append(row)
    return groups


def documents(row):
    data = tool.read(os.path.join(text.CORPORA, row["corpus_file"]))
    if row["unit"] == "file":
        return [data]
    lines = data.split(b"\n")[:-1] if data.endswith(b"\n") else data.split(b"\n")
    if row["unit"] == "line":
        return lines
    return [json.loads(line)[row["unit"].split(":")[1]].encode() for line in lines if line.strip()]


@unittest.skipUnless(os.path.exists(VECTORS), f"no {VECTORS}")
class Vectors(Exact):
    @each((f"{file}_{specials}", rows) for (file, specials), rows in vectors().items())
    def test(self, _, rows):
        name = rows[0]["tokenizer_file"]
        arguments = [f"pattern={PATTERNS[name]}"] if name in PATTERNS else []
        arguments += ["special=parse"] if rows[0]["specials"] == "parsed" else []
        by_row = [documents(row) for row in rows]
        ids = iter(encode(os.path.join(TOKENIZERS, name), [d for docs in by_row for d in docs], *arguments))
        for row, docs in zip(rows, by_row):
            found = np.concatenate([next(ids) for _ in docs])
            self.assertEqual((len(docs), len(found)), (int(row["documents"]), int(row["tokens"])), row)
            self.assertEqual(hashlib.sha256(found.astype("<u4").tobytes()).hexdigest(), row["sha256"], row)


@unittest.skipUnless(os.path.isdir(TOKENIZERS), f"no {TOKENIZERS}")
class Real(Exact):
    """The tokenizers that there are, on what is strange."""

    @each(["gpt2-tokenizer.json", "gpt-neox-tokenizer.json"])
    def test(self, name):
        path = os.path.join(TOKENIZERS, name)
        one = tokenizers.Tokenizer.from_file(path)
        texts = [*strange_texts(), *point_texts(16)]
        for special in False, True:
            one.encode_special_tokens = not special
            theirs = [e.ids for e in one.encode_batch_fast(texts, add_special_tokens=False)]
            self.same(texts, encode(path, texts, *(["special=parse"] if special else [])), theirs)
            texts = texts[:3000]

    def test_two_files(self):
        one = tokenizers.Tokenizer.from_file(os.path.join(TOKENIZERS, "gpt2-tokenizer.json"))
        one.encode_special_tokens = True
        texts = list(strange_texts())
        theirs = [e.ids for e in one.encode_batch_fast(texts, add_special_tokens=False)]
        self.same(texts, encode(os.path.join(TOKENIZERS, "gpt2-vocab.json"), texts), theirs)

    @each(PATTERNS)
    def test_ranks(self, name):
        path = os.path.join(TOKENIZERS, name)
        one = tiktoken.Encoding(name, pat_str=TIKTOKEN[PATTERNS[name]], mergeable_ranks=tiktoken.load.load_tiktoken_bpe(path),
                                special_tokens={SPECIAL: 100257} if "cl100k" in name else {})
        texts = [*strange_texts(), *point_texts(16)]
        self.same(texts, encode(path, texts, f"pattern={PATTERNS[name]}"), [one.encode_ordinary(t) for t in texts])
        if "cl100k" in name:
            texts = texts[:3000]
            ours = encode(path, texts, "pattern=cl100k", "special=parse")
            self.same(texts, ours, [one.encode(t, allowed_special="all") for t in texts])


def numbered(form, count, first=0):
    return [form.format(i) for i in range(first, first + count)]


LLAMA3_SPECIALS = ["<|begin_of_text|>", "<|end_of_text|>", *numbered("<|reserved_special_token_{}|>", 2), "<|finetune_right_pad_id|>",
                   "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>", "<|python_tag|>", "<|image|>",
                   *numbered("<|reserved_special_token_{}|>", 244, 2)]
LLAMA4_SPECIALS = [
    "<|begin_of_text|>", "<|end_of_text|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|header_start|>", "<|header_end|>",
    "<|eom|>", "<|eot|>", "<|step|>", *numbered("<|text_post_train_reserved_special_token_{}|>", 6), "<|python_start|>",
    "<|python_end|>", "<|finetune_right_pad|>", *numbered("<|text_post_train_reserved_special_token_{}|>", 61, 8), "<|image_start|>",
    "<|image_end|>", *numbered("<|vision_reserved_special_token_{}|>", 2), "<|tile_x_separator|>", "<|tile_y_separator|>",
    *numbered("<|vision_reserved_special_token_{}|>", 4, 2), "<|image|>", "<|vision_reserved_special_token_6|>", "<|patch|>",
    *numbered("<|vision_reserved_special_token_{}|>", 1041, 7), *numbered("<|reasoning_reserved_special_token_{}|>", 8),
    "<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>", *numbered("<|reserved_special_token_{}|>", 904)]
QWEN_SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *numbered("<|extra_{}|>", 205)]


def numbers_from(first, names):
    return {name: first + i for i, name in enumerate(names)}


def constructed(name):
    """Pattern and special tokens of an encoding of tiktoken's own."""
    with mock.patch.multiple(openai_public, load_tiktoken_bpe=lambda *a, **k: {},
                             data_gym_to_mergeable_bpe_ranks=lambda *a, **k: {}):
        made = openai_public.ENCODING_CONSTRUCTORS[name]()
    return made["pat_str"], made["special_tokens"]


PUBLISHED = {  # file: pattern, special tokens, options of ours
    "gpt2.tiktoken": (*constructed("r50k_base"), ()),
    "more/p50k.tiktoken.xz": (*constructed("p50k_base"), ()),
    "more/p50k.tiktoken.xz edit": (*constructed("p50k_edit"), ("pattern=p50k_edit",)),
    "cl100k_base.tiktoken": (*constructed("cl100k_base"), ()),
    "o200k_base.tiktoken": (*constructed("o200k_base"), ()),
    "o200k_base.tiktoken harmony": (*constructed("o200k_harmony"), ("pattern=o200k_harmony",)),
    "more/llama3.tiktoken.xz": (LLAMA3, numbers_from(128000, LLAMA3_SPECIALS), ()),
    "more/llama4.tiktoken.xz": (TIKTOKEN["o200k"], numbers_from(200000, LLAMA4_SPECIALS), ()),
    "more/qwen.tiktoken.xz": (QWEN, numbers_from(151643, QWEN_SPECIALS), ()),
}


class Published(Exact):
    """Released files whose pattern and special tokens follow from their ranks."""

    long = True

    def unpacked(self, name):
        source = os.path.join(TOKENIZERS, name)
        if not os.path.exists(source):
            self.skipTest(f"no {name}")
        if not name.endswith(".xz"):
            return source
        path = self.path(os.path.basename(name)[:-3])
        with lzma.open(source) as packed, open(path, "wb") as file:
            file.write(packed.read())
        return path

    @each(PUBLISHED)
    def test_ranks(self, name):
        pattern, specials, options = PUBLISHED[name]
        path = self.unpacked(name.split()[0])
        with open(path, "rb") as file:
            ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in file if line.strip())}
        other = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=specials)
        texts = [*strange_texts(), *point_texts(16), "".join(specials), *(f"a {special}b" for special in specials)]
        if "qwen" in name:
            texts = [unicodedata2.normalize("NFC", one) for one in texts]
        self.same(texts, encode(path, texts, *options), [other.encode_ordinary(one) for one in texts])
        self.same(texts, encode(path, texts, "special=parse", *options), [other.encode(one, allowed_special="all") for one in texts])

    @each(["llama3", "llama4"])
    def test_by_the_name_of_sentencepiece(self, name):
        path = self.unpacked(f"more/{name}.tiktoken.xz")
        model = os.path.join(self.path(name), "tokenizer.model")
        os.mkdir(os.path.dirname(model))
        os.link(path, model)
        texts = list(strange_texts())[:200]
        self.same(texts, encode(model, texts), encode(path, texts))
        self.same(texts, encode(os.path.dirname(model), texts), encode(path, texts))

    @each([("apart", r"[A-Za-z]+| ?\d+|\s", 1), ("known", LLAMA3, 0)])
    def test_pattern_of_the_user(self, name, pattern, lossy):
        """What does not match is left out, as tiktoken does."""
        path = self.unpacked("more/llama3.tiktoken.xz")
        with open(path, "rb") as file:
            ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in file)}
        other = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        texts = [*text.random_texts(500, "aZ 09\u00e9\n!", 4)]
        theirs = [other.encode_ordinary(one) for one in texts]
        self.assertEqual(any(other.decode(ids) != one for ids, one in zip(theirs, texts)), bool(lossy))
        self.same(texts, encode(path, texts, f"pattern={pattern}"), theirs)

    def test_tekken(self):
        path = self.unpacked("more/tekken_240911.json.xz")
        content = json.loads(tool.read(path))
        config = content["config"]
        first = config["default_num_special_tokens"]
        ranks = {base64.b64decode(one["token_bytes"]): one["rank"] for one in content["vocab"][:config["default_vocab_size"] - first]}
        other = tiktoken.Encoding("tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})
        texts = [*strange_texts(), *point_texts(4), "[INST]a</s>"]
        theirs = [[i + first for i in other.encode_ordinary(one)] for one in texts]
        self.same(texts, encode(path, texts), theirs)
        self.same(["[INST]</s><SPECIAL_999>"], encode(path, ["[INST]</s><SPECIAL_999>"], "special=parse"), [[3, 2, 999]])

    @each([("bert-zh", True), ("ernie3", True)])
    def test_vocabularies(self, name, lowercase):
        """vocab.txt of lower case, whose tokens in brackets are not; ERNIE's has the ids behind tabs."""
        path = self.unpacked(f"more/{name}-vocab.txt.xz")
        with open(path, encoding="utf-8") as file:
            tokens = [line.rstrip().split("\t")[0] for line in file]
        one = tokenizers.Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
        one.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        texts = [*strange_texts(), *point_texts(16), *(content[:20000] for _, content in text.corpora())]
        for option, lower in ((), lowercase), (("lowercase=no",), False), (("lowercase=yes",), True):
            one.normalizer = normalizers.BertNormalizer(lowercase=lower)
            theirs = [e.ids for e in one.encode_batch_fast(texts, add_special_tokens=False)]
            self.same(texts, encode(path, texts, *option), theirs)
