#!/usr/bin/env python3
"""Makes the tables of Unicode in src/kind/text/ from the Unicode Character Database, as the package unicodedata2 of the wanted version
holds it, and those of BERT and of words as the package tokenizers has them. They are checked in, so that nobody needs this script or
those packages to build.

    pip install unicodedata2==16.0.0 tokenizers==0.23.3 regex==2026.11.15
    scripts/unicode.py            writes them
    scripts/unicode.py --check    says which of them are not what it would write: status 1
"""
import bisect
import collections
import os
import subprocess
import sys

import regex
import tokenizers
import unicodedata2 as unicode

VERSION = "16.0.0"
TOKENIZERS = "0.23.3"
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "kind", "text")
CODE_POINTS = range(0x110000)
PAGE = 256

# Normal forms are those of tokenizers, whose tables are of this version; NFC is also there as of VERSION. What a code point decomposes
# to, and its combining class, never change once it is there, so it is enough to know which were there; Perl does (perl 5.26 or later).
NORMAL_VERSION = "9.0"
FORMS = "NFC", "NFD", "NFKC", "NFKD"
HANGUL = range(0xAC00, 0xD7A4)

HEAD = """/* {what}
 *
 * Written by scripts/unicode.py from the Unicode Character Database {version}, as the Python package unicodedata2
 * {version} holds it. The data are copyright 1991-2024 Unicode, Inc., under the Unicode License v3
 * (docs/unicode-license.txt). */
/* clang-format off */
"""


def character_class(point):
    """The bits of unicode.h. White_Space is the separators and six controls."""
    category = unicode.category(chr(point))
    return (1 * (category[0] == "S") | 2 * (category[0] == "N") |
            4 * (category[0] == "Z" or point in (9, 10, 11, 12, 13, 0x85)) |
            8 * (category in ("Lu", "Lt")) | 16 * (category == "Ll") | 32 * (category in ("Lm", "Lo")) |
            64 * (category[0] == "M") | 128 * (category[0] == "P"))


def pages(values):
    """The index of each page of 256 values among the different ones, and those, one after the other."""
    found = {}
    index = [found.setdefault(tuple(values[at:at + PAGE]), len(found)) for at in range(0, len(values), PAGE)]
    return index, [value for page in found for value in page]


def array(declaration, values):
    """A C array in lines of at most 120 columns."""
    lines, line = [], ""
    for value in values:
        word = f"{value},"
        if len(line) + len(word) > 120:
            lines.append(line)
            line = ""
        line += word
    return f"\n{declaration} = {{\n" + "\n".join(lines + [line]) + "\n};\n"


def classes():
    index, table = pages([character_class(point) for point in CODE_POINTS])
    return (HEAD.format(what="Classes of code points: see unicode.h.", version=VERSION) +
            '#include "kind/text/unicode.h"\n' +
            array("const uint8_t bl_unicode_page[0x110000 >> 8]", index) +
            array("const uint8_t bl_unicode_class_table[]", table))


def assigned(version):
    """The code points of a version of Unicode."""
    script = f"no warnings; for (0..0x10ffff) {{ print \"$_\\n\" if chr =~ /\\p{{Present_In: {version}}}/ }}"
    return [int(line) for line in subprocess.run(["perl", "-e", script], capture_output=True, check=True).stdout.split()]


def pairs(there):
    """What two code points compose to: ((first, second), composed). Hangul follows a rule."""
    for point in there:
        parts = unicode.decomposition(chr(point)).split()
        if len(parts) == 2 and parts[0][0] != "<" and unicode.normalize("NFC", chr(point)) == chr(point):
            yield (int(parts[0], 16), int(parts[1], 16)), point


def seconds_of(composed):
    """The code points that may compose with the one before them."""
    return {second for (_, second), _ in composed} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))


def normal_property(point, seconds, forms, first=0):
    """The combining class; above it a bit for every form, in which the code point may change or change what is around it."""
    value = mark = unicode.combining(chr(point))
    for bit, form in enumerate(forms, first):
        changes = unicode.normalize(form, chr(point)) != chr(point)
        if mark or changes or (form in ("NFC", "NFKC") and point in seconds):
            value |= 0x100 << bit
    return value


def decompositions(there, form, other):
    """(code point, what it decomposes to) where that is not what it does in the other form."""
    for point in there:
        parts = unicode.normalize(form, chr(point))
        if point not in HANGUL and parts != (unicode.normalize(other, chr(point)) if other else chr(point)):
            yield point, parts


def normal():
    there = assigned(NORMAL_VERSION)
    composed = sorted(pairs(CODE_POINTS))
    latest = seconds_of(composed)
    seconds = seconds_of(pairs(there))
    properties = [normal_property(point, latest, ["NFC"], len(FORMS)) for point in CODE_POINTS]
    for point in there:
        properties[point] |= normal_property(point, seconds, FORMS)
    index, table = pages(properties)
    text = (HEAD.format(what="Normal forms: see unicode.h.", version=VERSION) +
            '#include "kind/text/unicode.h"\n' +
            array("const uint8_t bl_normal_page[0x110000 >> 8]", index) + array("const uint16_t bl_normal_property[]", table))
    points = []
    for name, points_of, form, other in (("canonical", CODE_POINTS, "NFD", None), ("compatible", there, "NFKD", "NFD")):
        rows = []
        for point, parts in decompositions(points_of, form, other):
            rows.append(f"{{{point},{len(points)},{len(parts)}}}")
            points += map(ord, parts)
        text += array(f"const struct bl_normal_parts bl_normal_{name}[]", rows)
        text += f"const size_t bl_normal_{name}_count = {len(rows)};\n"
    text += array("const uint32_t bl_normal_point[]", points)
    rows = [f"{{{first},{second},{point}}}" for (first, second), point in composed]
    text += array("const struct bl_normal_pair bl_normal_pair[]", rows)
    return text + f"const size_t bl_normal_pair_count = {len(rows)};\n"


BERT_HEAD = """/* What BERT's normalizer and pre-tokenizer make of code points: see unicode.h.
 *
 * Written by scripts/unicode.py, which asks the Python package tokenizers {version} about every code point: it mixes
 * tables of several versions of Unicode. The data are copyright 1991-2024 Unicode, Inc., under the Unicode License v3
 * (docs/unicode-license.txt). */
/* clang-format off */
"""


def batches(size):
    """All code points but surrogates, so many at once: one call for each would take most of the time."""
    points = [point for point in CODE_POINTS if not 0xD800 <= point < 0xE000]
    for at in range(0, len(points), size):
        yield points[at:at + size]


def normalized(normalize, texts):
    """What each text becomes; what they are joined with stays, and keeps them apart."""
    return normalize("|0|".join(texts)).split("|0|")


def bert():
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    accents = tokenizers.normalizers.StripAccents().normalize_str
    clean, strip, lower = (tokenizers.normalizers.BertNormalizer(**{**off, name: True}).normalize_str
                           for name in ("clean_text", "strip_accents", "lowercase"))
    split = tokenizers.pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    properties, lowered = [0] * len(CODE_POINTS), []
    for points in batches(PAGE):
        between, after = [f"a{chr(point)}b" for point in points], [f"q{chr(point)}" for point in points]
        # By the place where a piece begins; each text is three code points, and the blank after it.
        pieces = collections.Counter(begin // 4 for _, (begin, _) in split(" ".join(between)))
        answers = (normalized(clean, between), normalized(strip, after), normalized(lower, map(chr, points)), normalized(accents, after))
        for i, (point, cleaned, stripped, low, bare) in enumerate(zip(points, *answers, strict=True)):
            properties[point] = 1 * (cleaned == "ab") | 2 * (pieces[i] == 3) | 4 * (stripped == "q") | 8 * (low != chr(point)) | 16 * (bare == "q")
            if low != chr(point):
                lowered.append((point, low))
    index, table = pages(properties)
    # One is two code points in lower case.
    rows = [f"{{{point},{ord(to)}}}" for point, to in lowered if len(to) == 1]
    assert [(point, to) for point, to in lowered if len(to) > 1] == [(0x130, "i\u0307")]
    return (BERT_HEAD.format(version=TOKENIZERS) + '#include "kind/text/unicode.h"\n' +
            array("const uint8_t bl_bert_page[0x110000 >> 8]", index) + array("const uint8_t bl_bert_property[]", table) +
            array("const struct bl_bert_lower bl_bert_lower[]", rows) + f"const size_t bl_bert_lower_count = {len(rows)};\n")


WORD_HEAD = """/* The characters of words (\\w), beside which an added token is no single word: see unicode.h.
 *
 * Written by scripts/unicode.py, which asks the Python package tokenizers {version} about every code point. The data are
 * copyright 1991-2024 Unicode, Inc., under the Unicode License v3 (docs/unicode-license.txt). */
/* clang-format off */
"""


def words():
    asked = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))
    asked.add_tokens([tokenizers.AddedToken("|q|", single_word=True, normalized=False)])
    ranges = []
    for points in batches(32): # the engine looks at all that is before a token
        encoded = asked.encode(" ".join(chr(point) + "|q|" for point in points))
        found = {begin // 5 for token, (begin, _) in zip(encoded.ids, encoded.offsets) if token == 1}
        for point in (point for i, point in enumerate(points) if i not in found):
            if ranges and ranges[-1][1] == point - 1:
                ranges[-1][1] = point
            else:
                ranges.append([point, point])
    rows = [f"{{{first},{last}}}" for first, last in ranges]
    return (WORD_HEAD.format(version=TOKENIZERS) + '#include "kind/text/unicode.h"\n' +
            array("const struct bl_word_range bl_word_range[]", rows) + f"const size_t bl_word_ranges = {len(rows)};\n")


# What the system's PCRE2 knows at least, as a package of Debian 12 does: of later code points it sees older ones of the same properties.
OLD_VERSION = "14.0"
# Code points that had other properties then. Some letters, of which nothing but the property Lowercase is new, have none like them;
# nor are the marks that became Alphabetic worth it to look at every Greek letter, which are near them.
CHANGED = {0x10fc, 0x1171e, 0xc04, 0xf82, 0xf83, 0x11080, 0x11081, 0xab69, *range(0x363, 0x370), *range(0x1dd3, 0x1de7), *range(0xa7f2, 0xa7f5)}
PROPERTIES = ("Alphabetic", "Uppercase", "Lowercase", "White_Space", "Ideographic", "Emoji", "Emoji_Presentation", "Extended_Pictographic")
# Scripts that patterns name. What stands for a letter of a script that is new must not be of one of them.
NAMED = {"Common", "Inherited", "Latin", "Greek", "Cyrillic", "Armenian", "Georgian", "Hebrew", "Arabic", "Syriac", "Ethiopic", "Mongolian", "Cherokee",
         "Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Tibetan", "Thai",
         "Lao", "Khmer", "Myanmar", "Tagalog", "Javanese", "Balinese", "Han", "Hiragana", "Katakana", "Bopomofo", "Hangul", "Yi", "Unknown"}

STAND_IN_HEAD = """/* Code points that older tables of Unicode lack, and older ones of the same properties: see regex.h.
 *
 * Written by scripts/unicode.py from the Unicode Character Database {version}, as the Python packages unicodedata2 and
 * tokenizers hold it, and from Perl's. The data are copyright 1991-2024 Unicode, Inc., under the Unicode License v3
 * (docs/unicode-license.txt). */
/* clang-format off */
"""


def having(property_name, points):
    """Those of the points that have the property, as tokenizers tells."""
    pattern = tokenizers.Regex(f"\\p{{{property_name}}}")
    pieces = tokenizers.pre_tokenizers.Split(pattern, "removed", True).pre_tokenize_str("".join(map(chr, points)))
    return {ord(one) for piece, _ in pieces for one in piece}


def old_scripts():
    """The first code points of the runs of one script, and the scripts, as Perl has them."""
    script = "use Unicode::UCD 'prop_invmap'; my ($at, $to) = prop_invmap('sc'); print map { \"$at->[$_] $to->[$_]\\n\" } 0..$#$at"
    lines = subprocess.run(["perl", "-e", script], capture_output=True, check=True, text=True).stdout.split()
    return list(map(int, lines[::2])), lines[1::2]


def old_and_new():
    """Code points by their properties: {(category, script, properties): points} of the old ones, [(point, properties)] of the others."""
    there = set(assigned(OLD_VERSION)) - CHANGED
    wanted = [point for point in CODE_POINTS if unicode.category(chr(point)) not in ("Cn", "Co", "Cs")]
    starts, names = old_scripts()
    new = [point for point in wanted if point not in there]
    sets = [having(name, wanted) for name in PROPERTIES]
    scripts = {point: name for name in sorted(set(names)) for point in having(name, new)}
    old, others = {}, []
    for point in wanted:
        kind = unicode.category(chr(point)), tuple(point in one for one in sets), len(chr(point).encode())
        if point not in there:
            others.append((point, (scripts.get(point), *kind)))
            continue
        script = names[bisect.bisect(starts, point) - 1]
        for name in (script, "any", None)[:2 + (script not in NAMED)]:
            old.setdefault((name, *kind), []).append(point)
    return old, others


def runs_of(points):
    """[(first, last, kind)] of neighbours of one kind among [(point, kind)]."""
    runs = []
    for point, kind in points:
        if runs and runs[-1][1] == point - 1 and runs[-1][2] == kind:
            runs[-1][1] = point
        else:
            runs.append([point, point, kind])
    return runs


def rows_and_pages(runs, points):
    """The rows of a table for [(first, last, what can stand for them)], whose points are added, and a bit for each page that has some."""
    rows, pages_with = [], bytearray(0x1100 // 8)
    for first, last, known in runs:
        at = bisect.bisect(known, first)
        # The nearest ones, and the farthest: a pattern may have limits in between.
        few = list(dict.fromkeys([*known[max(at - 1, 0):at], *known[at:at + 1], known[0], known[-1]]))
        rows.append(f"{{{first},{last},{len(points)},{len(few)}}}")
        points += few
        for page in range(first >> 8, (last >> 8) + 1):
            pages_with[page >> 3] |= 1 << (page & 7)
    return rows, pages_with


def unassigned_runs():
    """What the version has not, but later ones may, and noncharacters of as many bytes: no version will ever have these."""
    never = [*range(0xFDD0, 0xFDF0), *(plane | end for plane in range(0, 0x110000, 0x10000) for end in (0xFFFE, 0xFFFF))]
    later = [point for point in sorted(set(CODE_POINTS) - set(never)) if point >= 0x800 and unicode.category(chr(point)) == "Cn"]
    candidates = {size: [point for point in never if len(chr(point).encode()) == size] for size in (3, 4)}
    return [(first, last, candidates[size]) for first, last, size in runs_of((point, len(chr(point).encode())) for point in later)]


def stand_ins():
    old, new = old_and_new()
    points, runs = [], []
    for first, last, kind in runs_of(new):
        # Where its script has none of as many bytes, one of another script: only patterns that name the script see a difference.
        known = old.get(kind) or old.get((None, *kind[1:])) or old.get(("any", *kind[1:]))
        if not ({first, last} <= CHANGED and (first < 0x800 or kind not in old)):
            runs.append((first, last, known))
    text = STAND_IN_HEAD.format(version=VERSION) + '#include "kind/text/unicode.h"\n'
    for name, some in ("stand_in", runs), ("unassigned", unassigned_runs()):
        rows, pages_with = rows_and_pages(some, points)
        text += array(f"const uint8_t bl_{name}_page[0x110000 >> 11]", pages_with)
        text += array(f"const struct bl_stand_in bl_{name}[]", rows) + f"const size_t bl_{name}_count = {len(rows)};\n"
    return text + array("const uint32_t bl_stand_in_point[]", points)


GRAPHEME_HEAD = """/* The classes of grapheme clusters: see unicode.h.
 *
 * Written by scripts/unicode.py from the properties that the Python package regex has, for the code points of Unicode
 * {version}. The data are copyright 1991-2024 Unicode, Inc., under the Unicode License v3 (docs/unicode-license.txt). */
/* clang-format off */
"""
BREAKS = "CR", "LF", "CN", "EX", "ZWJ", "RI", "PP", "SM", "L", "V", "T", "LV", "LVT"


def graphemes():
    text = "".join(chr(point) for point in CODE_POINTS if not 0xD800 <= point < 0xE000)
    properties = [0] * len(CODE_POINTS)
    for value, names in enumerate(BREAKS, 1):
        for one in regex.findall(rf"\p{{GCB={names}}}", text):
            properties[ord(one)] = value
    for bit, name in ((16, "Extended_Pictographic"), (32, "InCB=Consonant"), (64, "InCB=Linker")):
        for one in regex.findall(rf"\p{{{name}}}", text):
            properties[ord(one)] |= bit
    index, table = pages(properties)
    return (GRAPHEME_HEAD.format(version=VERSION) + '#include "kind/text/unicode.h"\n' +
            array("const uint8_t bl_grapheme_page[0x110000 >> 8]", index) +
            array("const uint8_t bl_grapheme_property[]", table))


SCRIPT_HEAD = """/* The scripts of code points: see unicode.h.
 *
 * Written by scripts/unicode.py, which asks the Python package tokenizers {version} about every code point. The data are
 * copyright 1991-2024 Unicode, Inc., under the Unicode License v3 (docs/unicode-license.txt). */
/* clang-format off */
"""


def scripts():
    split = tokenizers.pre_tokenizers.UnicodeScripts().pre_tokenize_str
    members, numbers, last = [], [0] * len(CODE_POINTS), 0
    for point in CODE_POINTS:
        one = chr(point)
        if 0xD800 <= point < 0xE000 or not split(one):
            continue
        order = [last] + [number for number in range(len(members)) if number != last]
        number = next((number for number in order if number < len(members) and len(split(members[number] + one)) == 1), len(members))
        if number == len(members):
            members.append(one)
        numbers[point], last = number + 1, number
    index, table = pages(numbers)
    return (SCRIPT_HEAD.format(version=TOKENIZERS) + '#include "kind/text/unicode.h"\n' +
            array("const uint8_t bl_script_page[0x110000 >> 8]", index) + array("const uint8_t bl_script_number[]", table))


def main():
    if tokenizers.__version__ != TOKENIZERS:
        sys.exit(f"unicode.py: this is tokenizers {tokenizers.__version__}; wanted is {TOKENIZERS}")
    if unicode.unidata_version != VERSION:
        sys.exit(f"unicode.py: unicodedata2 has Unicode {unicode.unidata_version}; wanted is {VERSION}")
    differing = 0
    for name, make in (("unicode_table.c", classes), ("normal_table.c", normal), ("bert_table.c", bert), ("word_table.c", words),
                       ("stand_in_table.c", stand_ins), ("grapheme_table.c", graphemes), ("script_table.c", scripts)):
        path = os.path.join(FOLDER, name)
        text = make()
        if "--check" not in sys.argv[1:]:
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            continue
        with open(path, encoding="ascii") as file:
            if file.read() != text:
                print(f"{name} is not what unicode.py writes")
                differing = 1
    sys.exit(differing)


main()
