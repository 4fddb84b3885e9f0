"""Unknown patterns cut text as the released `tokenizers` package does: the patterns of models that are about, and every construct that
the two libraries write differently, with characters that PCRE2's tables are too old for, too."""
import random
import unicodedata
import unittest

import unicodedata2
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

import text
from harness import each

BEHAVIORS = {"Removed": "removed", "Isolated": "isolated", "MergedWithPrevious": "merged_with_previous",
             "MergedWithNext": "merged_with_next", "Contiguous": "contiguous"}

MODELS = [
    ("deepseek", r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|"
                 r"\s+(?!\S)|\s+"),
    ("deepseek_han", "[一-龥぀-ゟ゠-ヿ]+"),
    ("tekken", r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
               r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|"
               r"\s+(?!\S)|\s+"),
    ("cl100k", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    ("possessive", r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"),
    ("bloom", r" ?[^(\s|[.,!?…。，、।۔،])]+"),
    ("clip", r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"),
    ("digits", r"\d{1,3}(?=(?:\d{3})*\b)"),
    ("words", r"\w+|[^\w\s]+"),
    ("camel", r"(?<=[a-z])(?=[A-Z])"),
    ("spaces", r" {2,}|\n"),
]

SYNTAX = [
    ("hex", r"\h+|[\h_]"), ("not_hex", r"\H"), ("word", r"\w"), ("not_word", r"\W"), ("boundary", r"\b"), ("no_boundary", r"\B"),
    ("word_in_class", r"[^\w]"), ("space", r"\s"), ("not_space", r"\S"), ("space_in_class", r"[^\S\n]"), ("digit", r"\d"),
    ("vertical", r"\v"), ("lines", "^a|a$"), ("dot", "a."), ("dot_all", "(?m:a.)"), ("options", "(?i)A"), ("extended", "(?x) a b # c"),
    ("nested", "[a-c[x-z]]"), ("nested_hyphen", "[a[-z]]"), ("bracket_first", "[]a]"), ("not_bracket", "[^]a]"), ("hyphen_last", "[a-]"),
    ("up_to", "a{,2}"), ("brace", "a{|a{,}"), ("interval", "a{2}|b{1,2}?|c{1,}"), ("lazy", "a+?b"), ("unicode", r"\u0041|\x{62}|\x63"),
    ("names", r"\p{Letter}+|\p{^Number}|\P{nonspacing_mark}"), ("short", r"\p{Lu}\p{Ll}*|\p{Han}+|\p{Greek}"),
    ("posix", r"[[:alpha:]]+|[[:digit:]]|[[:^space:]]"), ("posix_case", r"[[:upper:]]|[[:lower:]]+"), ("empty", "x*"), ("look", "(?=a)|(?<=b)"),
    ("binary", r"\p{Alphabetic}+|\p{White_Space}|\p{Ideographic}"),
    ("lines_empty", "^|$"), ("newline", r"\R"), ("ends", r"\Aa|b\z|c\Z"), ("back", r"(a|b)\1"), ("back_named", r"(?<n>a|b)\k<n>"), ("atomic", "(?>a+)b|a"),
]

ALPHABET = list("aaabbcxyzABCZ_ 019  \t\n\n\r-]['.,!?{}<|>sStdlve") + [
    "\r\n", "\u0085", "\u00a0", "\u200b", "\u3000", "\x0b", "\x0c", "\x1c", "é", "É", "ß", "ſ", "中", "文", "の", "カ", "α", "Ω", "٣", "²", "Ⅷ", "\u0301",
    "\u0903", "\u200d", "\u203f", "…", "。", "،", "😀", "ǅ", "ʰ", "Ⓐ", "'s", "'RE", "12345", "\u180e", "camelCase", "the", " of"]


# Those that came after Unicode 14, as far as Python's own data tell, and the others that are there.
NEW = [point for point in text.code_points() if unicodedata.category(point) != unicodedata2.category(point)]
# Marks that became Alphabetic, and a letter that became Lowercase, have no stand-ins: scripts/unicode.py.
SAME = {*map(chr, range(0x363, 0x370)), "\u10fc"}
OLD = [point for point in text.code_points() if unicodedata.category(point) == unicodedata2.category(point) != "Cn" and point not in SAME]


class Patterns(unittest.TestCase):
    long = True

    def check(self, pattern, texts, behavior="Isolated", invert=False, mode="split"):
        package = Split(Regex(pattern) if mode == "split" else pattern, BEHAVIORS[behavior], invert)
        got = text.probe(mode, behavior, int(invert), pattern, records=[one.encode() for one in texts])
        for one, spans in zip(texts, got):
            data = one.encode()
            pieces = [data[int(a):int(b)].decode() for a, b in (span.split("-") for span in spans.decode().split())]
            expected = [piece for piece, _ in package.pre_tokenize_str(one)]
            if pieces != expected:
                self.fail(f"{pattern} {behavior} {invert} on {one!r}:\n{pieces}\n{expected}")

    @each(MODELS + SYNTAX)
    def test_pattern(self, name, pattern):
        self.check(pattern, text.random_texts(1500, ALPHABET, seed=name))
        for behavior in BEHAVIORS:
            for invert in False, True:
                self.check(pattern, text.random_texts(30, ALPHABET, seed=name, longest=20), behavior, invert)
        draw = random.Random(name)
        points = draw.sample(OLD, 2500) + draw.sample(NEW, min(len(NEW), 2500))
        self.check(pattern, [f"a{point}\u0301 {point}{point}1{point}\n" for point in points])
        self.check(pattern, ["".join(draw.choices(ALPHABET + points, k=20)) for _ in range(500)])

    @each(MODELS)
    def test_corpora(self, name, pattern):
        found = [content[:100000] for _, content in text.corpora()]
        if not found:
            self.skipTest("no shared corpora")
        self.check(pattern, found)

    def test_literal(self):
        for pattern in (" ", ".", "a|b", "aa", "\n\n"):
            for behavior in BEHAVIORS:
                self.check(pattern, text.random_texts(200, list("aab.| \n"), seed=pattern), behavior, mode="literal")

    def test_long(self):
        """Nothing grows with the square of a run's length."""
        for name, pattern in MODELS:
            if name != "digits":
                self.check(pattern, [character * 300000 for character in "a 1\n.é"])
