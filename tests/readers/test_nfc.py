"""Normal forms are those of the released `tokenizers` package: of every code point, alone and among marks, of jamo in all orders, of
random texts and of the corpora. NFC by Unicode 16 is that of Python, of the code points that its version of Unicode has."""
import unicodedata
import unittest

from tokenizers import normalizers

import text
from harness import each

FORMS = [(form, getattr(normalizers, form.upper())()) for form in ("nfc", "nfd", "nfkc", "nfkd")]

# Before and after a code point: a letter and a mark of class 230, one of class 1, one of 240, jamo.
AROUND = [("", ""), ("a\u0301", ""), ("e", "\u0334"), ("\u0345", "\u0301"), ("\u1100", "\u11a8"), ("\uac00", "\u1161")]
# Letters that compose, marks of many classes, those whose first part is a mark, jamo, and what later versions brought.
ALPHABET = ("aAeEoOuUyY\u00c5\u00d4\u01d5\u1ea4\u1fb7\u03b1\u03c9\u0391\u0300\u0301\u0302\u0303\u0304\u0306\u0308\u030a\u031b\u0323\u0327"
            "\u0328\u0334\u0338\u0342\u0344\u0345\u05b0\u05c2\u0653\u0627\u093c\u0915\u0958\u09c7\u09be\u0b47\u0b56\u0bc6\u0bd7\u0cc6\u0cd5"
            "\u0dd9\u0dcf\u0dca\u0f71\u0f72\u0f73\u0f81\u1025\u102e\u1100\u1112\u1161\u1175\u11a7\u11a8\u11c2\uac00\uac01\ud7a3\u212b\u2126"
            "\u2adc\u3099\u304b\u3070\ufb1d\ufb2c\ufdfa\ufefb\uff76\uff9e\U0001109a\U000110ba\U0001d15e\U0001d1bc\U0002f800\U0002fa1d"
            "\U000113c2\U000113b8\U00011383\U0001611e\U00016d67\U000105d2\u1df6\u1dfa\u32ff \n\u200d\U0001f600")


class Python:
    """NFC of text in which all code points are assigned, which no later version changes."""

    @staticmethod
    def normalize_str(one):
        return unicodedata.normalize("NFC", one)


def is_assigned(point):
    return unicodedata.category(point) != "Cn"


class NormalForms(unittest.TestCase):
    long = True

    def check(self, form, package, texts):
        for one, got in zip(texts, text.probe(form, records=[one.encode() for one in texts])):
            prefix, _, data = got.partition(b" ")
            expected = package.normalize_str(one).encode()
            if data != expected or data[:int(prefix)] != one.encode()[:int(prefix)]:
                self.fail(f"{one!r}: {data.decode()!r}, expected {expected.decode()!r}; prefix {int(prefix)}")

    @each(FORMS)
    def test_code_points(self, form, package):
        for before, after in AROUND:
            points = [before + point + after for point in text.code_points()]
            self.check(form, package, ["\n".join(points[at:at + 64]) for at in range(0, len(points), 64)])

    @each(FORMS)
    def test_random(self, form, package):
        self.check(form, package, text.random_texts(20000, ALPHABET, seed=2, longest=20))

    @each(FORMS)
    def test_many_marks(self, form, package):
        self.check(form, package, ["a" + "\u0301\u0334\u0323\u0345" * 50000 + "b"])

    @each(FORMS)
    def test_corpora(self, form, package):
        found = [content for _, content in text.corpora()]
        if not found:
            self.skipTest("no shared corpora")
        self.check(form, package, found)

    def test_code_points_of_python(self):
        for before, after in [*AROUND, ("\u0898", "\u0323"), ("\U00011935", "\U00011930")]:
            points = [before + point + after for point in text.code_points() if is_assigned(point)]
            self.check("nfc16", Python, ["\n".join(points[at:at + 64]) for at in range(0, len(points), 64)])

    def test_random_of_python(self):
        alphabet = [point for point in ALPHABET + "\u0898\u1ac0\U00011935\U00011930\U00011938" if is_assigned(point)]
        self.check("nfc16", Python, text.random_texts(20000, alphabet, seed=3, longest=20))
