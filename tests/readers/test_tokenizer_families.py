"""tokenizer.json of every model with every normalizer and pre-tokenizer: ids as the released `tokenizers` gives them, for the shared
files, and for models that are trained here behind pipelines drawn at random."""
import base64
import io
import json
import lzma
import os
import random
import unittest

import sentencepiece
import tokenizers
from tokenizers import AddedToken, Regex, models, normalizers, pre_tokenizers, trainers

from harness import each
from test_tokenizers import TOKENIZERS, Exact, encode, point_texts, strange_texts, training_texts

os.environ["RUST_BACKTRACE"] = "0"  # panics of `tokenizers`, of which there are many, would each take seconds
MORE = os.path.join(TOKENIZERS, "more")
MARK = "\u2581"
PIPELINES = int(os.environ.get("PIPELINES", "12"))  # for each model
# Not llama2.json, which `tokenizers` does not load: three of its merges have spaces.
FILES = ["codestral", "phi-3-mini", "clip", "falcon", "rwkv-midi", "t5-small", "deepseek-v3"]


def members(data):
    """The fields of a protobuf message: (number, value)."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            at += 1
            value |= (data[at - 1] & 127) << shift
            shift += 7
            if data[at - 1] < 128:
                return value
    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
            continue
        size = number() if tag & 7 == 2 else {5: 4, 1: 8}[tag & 7]
        yield tag >> 3, data[at:at + size]
        at += size


def charsmap(rules):
    """What SentencePiece compiles of a rule: its name, or the path of a list."""
    model = io.BytesIO()
    rule = {"normalization_rule_tsv": rules} if os.path.sep in rules else {"normalization_rule_name": rules}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["a b c"] * 20), model_writer=model, vocab_size=8,
                                             hard_vocab_limit=False, minloglevel=9, **rule)
    spec = dict(members(model.getvalue()))[3]
    return base64.b64encode(dict(members(spec))[2]).decode()


def write_rules(path):
    """A list of a few rules, in which clusters of characters come and go."""
    rules = {"\u00e4": "ae", "\ufb01": "fi", "e\u0301": "\u00e9", "\u200b": "", "\n": " ", "\u3000": " ", "\r": " ", "a\u0308": "A",
             "\U0001f600": ":)", "Q": "q", "\u0600": "0"}
    with open(path, "w", encoding="ascii") as file:
        for key, value in rules.items():
            file.write(" ".join(f"{ord(c):X}" for c in key) + "\t" + " ".join(f"{ord(c):X}" for c in value) + "\n")
    return path


def marked():
    return normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])


def small_texts():
    return (text[:1500] for text in training_texts())


def train_bpe(alphabet=(), fallback=False, size=900, **options):
    one = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=fallback, **options))
    one.normalizer = marked()
    one.pre_tokenizer = pre_tokenizers.Split(Regex(f"(?<!{MARK})(?={MARK})"), "isolated")
    special = ["<unk>", "<s>", *(f"<0x{i:02X}>" for i in range(256 if fallback else 0))]
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=special, limit_alphabet=200,
                                  initial_alphabet=list(alphabet),
                                  **{k: v for k, v in options.items() if k == "end_of_word_suffix"})
    one.train_from_iterator(small_texts(), trainer)
    return one


def train_unigram(fallback):
    one = tokenizers.Tokenizer(models.Unigram())
    one.pre_tokenizer = pre_tokenizers.Metaspace()
    one.train_from_iterator(small_texts(), trainers.UnigramTrainer(vocab_size=2000, show_progress=False, unk_token="<unk>",
                                                                   special_tokens=["<unk>", "<s>"]))
    if fallback:
        file = json.loads(one.to_str())
        file["model"]["vocab"] += [[f"<0x{i:02X}>", -12.5] for i in range(256)]
        file["model"]["byte_fallback"] = True
        one = tokenizers.Tokenizer.from_str(json.dumps(file))
    return one


def train_words(model, trainer):
    one = tokenizers.Tokenizer(model)
    one.pre_tokenizer = pre_tokenizers.Whitespace()
    one.train_from_iterator(small_texts(), trainer)
    return one


def train_bytes():
    one = tokenizers.Tokenizer(models.BPE())
    one.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    one.train_from_iterator(small_texts(), trainers.BpeTrainer(vocab_size=900, show_progress=False, initial_alphabet=alphabet))
    return one


MODELS = {
    "fallback": lambda: train_bpe(fallback=True, fuse_unk=True),
    "unknown": train_bpe,
    "fused": lambda: train_bpe(fuse_unk=True),
    "direct": lambda: train_bpe(fallback=True, ignore_merges=True),
    "suffix": lambda: train_bpe(end_of_word_suffix="</w>"),
    "bytes": train_bytes,
    "unigram": lambda: train_unigram(False),
    "unigram_bytes": lambda: train_unigram(True),
    "words": lambda: train_words(models.WordLevel(unk_token="<unk>"),
                                 trainers.WordLevelTrainer(vocab_size=500, show_progress=False, special_tokens=["<unk>"])),
    "wordpiece": lambda: train_words(models.WordPiece(unk_token="[UNK]"),
                                     trainers.WordPieceTrainer(vocab_size=800, show_progress=False, special_tokens=["[UNK]"])),
}
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


class Pipelines:
    """Normalizers, pre-tokenizers and added tokens, drawn at random."""

    def __init__(self, seed, maps):
        self.draw, self.maps = random.Random(seed), maps

    def normalizer(self):
        draw = self.draw
        kinds = [normalizers.NFC, normalizers.NFD, normalizers.NFKC, normalizers.NFKD, normalizers.Lowercase, normalizers.StripAccents,
                 normalizers.Nmt, normalizers.BertNormalizer, marked,
                 lambda: normalizers.Strip(left=draw.random() < 0.5, right=draw.random() < 0.5),
                 lambda: normalizers.Replace(*draw.choice([(" ", MARK), ("a", "bb"), (Regex(r"\s+"), " "), (Regex(" {2,}"), MARK),
                                                           ("ab", ""), (Regex("x+"), "-"), (MARK, " "), (Regex("^ "), "")])),
                 lambda: normalizers.Prepend(draw.choice([MARK, " ", "ab"])),
                 lambda: normalizers.Precompiled(base64.b64decode(draw.choice(self.maps)))]
        return draw.choice(kinds)()

    def pre_tokenizer(self):
        draw = self.draw
        kinds = [pre_tokenizers.WhitespaceSplit, pre_tokenizers.Whitespace, pre_tokenizers.BertPreTokenizer,
                 pre_tokenizers.UnicodeScripts,
                 lambda: pre_tokenizers.Digits(draw.random() < 0.5),
                 lambda: pre_tokenizers.Punctuation(draw.choice(BEHAVIORS)),
                 lambda: pre_tokenizers.CharDelimiterSplit(draw.choice(["a", " ", MARK])),
                 lambda: pre_tokenizers.FixedLength(draw.randint(1, 7)),
                 lambda: pre_tokenizers.Split(*draw.choice([(" ",), (MARK,), ("e",), (Regex("[aeiou]+"),), (Regex(r"\d{1,3}"),)]),
                                              draw.choice(BEHAVIORS), invert=draw.random() < 0.2),
                 lambda: pre_tokenizers.ByteLevel(add_prefix_space=draw.random() < 0.5, use_regex=draw.random() < 0.5)]
        kinds += 4 * [lambda: pre_tokenizers.Metaspace(prepend_scheme=draw.choice(["always", "first", "never"]),
                                                       split=draw.random() < 0.6)]
        return draw.choice(kinds)()

    def added(self):
        draw = self.draw
        for content in draw.sample(["<s>", "the", "  ", MARK, "E\u0301", "ab", "\n", "</w>", "int "], 3):
            yield AddedToken(content, normalized=draw.random() < 0.5, lstrip=draw.random() < 0.3, rstrip=draw.random() < 0.3,
                             single_word=draw.random() < 0.3, special=draw.random() < 0.3)

    def attach(self, one):
        """The file of a model with a pipeline around it, or None."""
        draw = self.draw
        one.normalizer = normalizers.Sequence([self.normalizer() for _ in range(draw.choice([0, 0, 1, 1, 2, 3]))])
        steps = [self.pre_tokenizer() for _ in range(draw.choice([0, 1, 1, 2, 3]))]
        one.pre_tokenizer = pre_tokenizers.Sequence(steps) if steps else None
        try:
            one.add_tokens(list(self.added()))
        except BaseException:  # two have one normal form, and other things that it cannot do
            return None
        text = one.to_str()
        # Where a first ideograph gets spaces, several pieces begin where the document does; they are not told apart here.
        return text.replace('"first"', '"always"') if "BertNormalizer" in text else text


def texts_of_spaces():
    draw = random.Random(3)
    pieces = ["the", "int", " ", " ", " ", "  ", "\n", "\t", MARK, "a", "ab", "e\u0301", "E\u0301", "\u4e2d\u6587", "1234", "\u00bd", "!", "x", ".",
              "<s>", "</w>", "\r\n", "\u200b", "\u3000", "\ufb01", "\U0001f600", "a\u0308", "\u0600", "\u0600a", "\u00a9\u200d\u00a9", "\u0915\u094d",
              "\U0001f1e9\U0001f1ea", "\uac00\u11a8", "struct", " return", "Q", "\0", "\ufeff", "\u0130", "\u03a3"]
    return ["".join(draw.choices(pieces, k=draw.randint(0, 25))) for _ in range(400)] + ["", " ", MARK, "\n", "  a", MARK + "a"]


class Families(Exact):
    long = True

    texts = texts_of_spaces() + list(strange_texts())[::20]

    def check(self, path, texts):
        one = tokenizers.Tokenizer.from_file(path)  # as the file says: what was added may have been known as something else
        one.no_truncation()
        for special in False, True:
            one.encode_special_tokens = not special
            try:
                ours = encode(path, texts, *(["special=parse"] if special else []))
            except AssertionError as refused:
                # Which of two `tokenizers` finds is left to chance; an empty one it finds everywhere.
                if "is added twice" in str(refused) or "normal form is empty" in str(refused):
                    return
                raise
            theirs = []
            for text, ids in zip(texts, ours):
                try:
                    theirs.append(one.encode(text, add_special_tokens=False).ids)
                except BaseException:  # it panics on some
                    theirs.append(ids)
            self.same(texts, ours, theirs)

    @each(MODELS)
    def test(self, name):
        maps = [charsmap("nmt_nfkc"), charsmap(write_rules(self.path("rules.tsv")))]
        trained = MODELS[name]().to_str()
        pipelines = Pipelines(name, maps)
        path = self.path(name + ".json")
        for _ in range(PIPELINES):
            file = pipelines.attach(tokenizers.Tokenizer.from_str(trained))
            if not file:
                continue
            with open(path, "w", encoding="utf-8") as out:
                out.write(file)
            parts = {k: v for k, v in json.loads(file).items() if k in ("normalizer", "pre_tokenizer", "added_tokens")}
            with self.subTest(pipeline=json.dumps(parts)[:3000]):
                self.check(path, self.texts)

    @each([f for f in FILES if os.path.exists(os.path.join(MORE, f + ".json.xz"))])
    def test_released(self, name):
        path = self.path(name + ".json")
        with lzma.open(os.path.join(MORE, name + ".json.xz")) as file, open(path, "wb") as out:
            out.write(file.read())
        self.check(path, self.texts + list(strange_texts())[::4] + list(point_texts(64)))


if not os.path.isdir(MORE):
    Families.test_released = unittest.skip(f"no {MORE}")(lambda self: None)
