#!/usr/bin/env python3
"""Makes the tables of Unicode, src/kind/text/unicode_table.c, from the Unicode Character Database, as the package unicodedata2 of the
wanted version holds it, and those of BERT, of words and of scripts as the package tokenizers has them. They are checked in, so that
nobody needs this script or those packages to build.

    pip install unicodedata2==16.0.0 tokenizers==0.23.3 regex==2026.11.15
    scripts/unicode.py            writes the file
    scripts/unicode.py --check    says where it is not what the script would write: status 1
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
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "kind", "text", "unicode_table.c")
CODE_POINTS = range(0x110000)
PAGE = 256

# Normal forms are those of tokenizers, whose tables are of this version; NFC is also there as of VERSION. What a code point decomposes
# to, and its combining class, never change once it is there, so it is enough to know which were there; Perl does (perl 5.26 or later).
NORMAL_VERSION = "9.0"
FORMS = "NFC", "NFD", "NFKC", "NFKD"
HANGUL = range(0xAC00, 0xD7A4)

HEAD = f"""/* The tables of unicode.h. Written by scripts/unicode.py from the Unicode Character Database {VERSION}, as the Python
 * packages unicodedata2 and regex hold it, from Perl's, and from what the Python package tokenizers {TOKENIZERS} says
 * of every code point: it mixes several versions of Unicode. The data are copyright 1991-2024 Unicode, Inc., under the
 * Unicode License v3 (docs/unicode-license.txt).
 *
 * Most values come in runs: R3(8) is 8, 8, 8; R3(8, 16) is 8, 16, 8, 16, 8, 16; A3(65) is 65, 66, 67. */
/* clang-format off */
#include "kind/text/unicode.h"
"""
WIDTH = 120

# The lengths of runs: of values that repeat, alone or in pairs, and of values that ascend. Longer runs are several.
REPEATED = [*range(2, 17), 20, 24, 28, 32, 40, 48, 56, 64, 96, 128, 192, 224]
ASCENDING = [*range(2, 11), 13, 16, 26, 32]


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


def macros():
    """The definitions of runs, each as two shorter ones."""
    text = ""
    for name, names, lengths, later in (("R", "...", REPEATED, "__VA_ARGS__"), ("A", "v", ASCENDING, "(v) + {}")):
        value = later if name == "R" else "v"
        for count in lengths:
            half = next(half for half in range((count + 1) // 2, count) if {half, count - half} <= {1, *lengths})
            parts = (half, value), (count - half, later.format(half))
            said = (f"{inside}," if part == 1 else f"{name}{part}({inside})" for part, inside in parts)
            text += f"#define {name}{count}({names}) {' '.join(said)}\n"
    return text


def run_lengths(values):
    """For every index, how often the value stands there, how far values ascend by one, and how often two values alternate."""
    same, ascending, pairs = ([1] * (len(values) + 2) for _ in range(3))
    for at in range(len(values) - 2, -1, -1):
        if values[at] == values[at + 1]:
            same[at] = same[at + 1] + 1
        if values[at] + 1 == values[at + 1]:
            ascending[at] = ascending[at + 1] + 1
        if values[at:at + 2] == values[at + 2:at + 4]:
            pairs[at] = pairs[at + 2] + 1
    return same, ascending, pairs


def words(values):
    """The fewest characters that say the values."""
    same, ascending, pairs = run_lengths(values)
    cost, choice = [0] * (len(values) + 1), [None] * len(values)
    for at in range(len(values) - 1, -1, -1):
        value = str(values[at])
        found = [(len(value) + 1 + cost[at + 1], 1, f"{value},")]
        for name, lengths, longest, values_of in (("R", REPEATED, same[at], 1), ("A", ASCENDING, ascending[at], 1), ("R", REPEATED, pairs[at], 2)):
            inside = ",".join(map(str, values[at:at + values_of]))
            for count in lengths[:bisect.bisect(lengths, longest)]:
                word = f"{name}{count}({inside})"
                found.append((len(word) + cost[at + count * values_of], count * values_of, word))
        cost[at], *choice[at] = min(found)
    at, said = 0, []
    while at < len(values):
        said.append(choice[at][1])
        at += choice[at][0]
    return said


def array(declaration, values):
    """A C array in lines of at most WIDTH columns: of numbers, or of tuples for structs."""
    lines, line = [], ""
    for word in [f"{{{','.join(map(str, value))}}}," for value in values] if isinstance(values[0], tuple) else words(values):
        if len(line) + len(word) > WIDTH:
            lines.append(line)
            line = ""
        line += word
    return f"\n{declaration} = {{\n" + "\n".join(lines + [line]) + "\n};\n"


def rows_array(name, rows):
    return array(f"const struct bl_unicode_row {name}[]", rows) + f"const size_t {name}_count = {len(rows)};\n"


def paged_arrays(page_name, type_name, name, values):
    index, table = pages(values)
    return array(f"const uint8_t {page_name}[0x110000 >> 8]", index) + array(f"const {type_name} {name}[]", table)


def classes():
    return paged_arrays("bl_unicode_page", "uint8_t", "bl_unicode_class_table", [character_class(point) for point in CODE_POINTS])


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
    text = paged_arrays("bl_normal_page", "uint16_t", "bl_normal_property", properties)
    runs = []
    for name, points_of, form, other in (("canonical", CODE_POINTS, "NFD", None), ("compatible", there, "NFKD", "NFD")):
        for point, parts in decompositions(points_of, form, other):
            last = runs[-1] if runs else None
            if last and last[0] == name and last[1] + last[2] == point and last[3] == len(parts):
                last[2] += 1
                last[4] += parts
            else:
                runs.append([name, point, 1, len(parts), parts])
    points = ""
    for parts in sorted((run[4] for run in runs), key=len, reverse=True):
        points += parts if parts not in points else ""
    for name in "canonical", "compatible":
        text += rows_array(f"bl_normal_{name}", [(first, count, points.index(parts), each) for of, first, count, each, parts in runs if of == name])
    text += array("const uint32_t bl_normal_point[]", list(map(ord, points)))
    rows = [(first, second, point) for (first, second), point in composed]
    return text + array("const struct bl_normal_pair bl_normal_pair[]", rows) + f"const size_t bl_normal_pair_count = {len(rows)};\n"


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
    for point in word_characters():
        properties[point] |= 32
    # One is two code points in lower case.
    assert [(point, to) for point, to in lowered if len(to) > 1] == [(0x130, "i\u0307")]
    rows = []
    for point, to in [(point, ord(to)) for point, to in lowered if len(to) == 1]:
        first, count, low, _ = rows[-1] if rows else (-9, 0, 0, 0)
        if to - low == point - first and point - first <= count + 1:
            rows[-1] = first, point - first + 1, low, 1
        else:
            rows.append((point, 1, to, 1))
    properties = [bert | grapheme << 6 for bert, grapheme in zip(properties, graphemes(), strict=True)]
    return paged_arrays("bl_point_page", "uint16_t", "bl_point_property", properties) + rows_array("bl_bert_lower", rows)


def word_characters():
    """The characters of words, beside which an added token is no single word."""
    asked = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))
    asked.add_tokens([tokenizers.AddedToken("|q|", single_word=True, normalized=False)])
    for points in batches(32): # the engine looks at all that is before a token
        encoded = asked.encode(" ".join(chr(point) + "|q|" for point in points))
        found = {begin // 5 for token, (begin, _) in zip(encoded.ids, encoded.offsets) if token == 1}
        yield from (point for i, point in enumerate(points) if i not in found)


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
    rows, places, pages_with = [], {}, bytearray(0x1100 // 8)
    for first, last, known in runs:
        at = bisect.bisect(known, first)
        # The nearest ones, and the farthest: a pattern may have limits in between.
        few = tuple(dict.fromkeys([*known[max(at - 1, 0):at], *known[at:at + 1], known[0], known[-1]]))
        if few not in places:
            places[few] = len(points)
            points += few
        rows.append((first, last - first + 1, places[few], len(few)))
        for page in range(first >> 8, (last >> 8) + 1):
            pages_with[page >> 3] |= 1 << (page & 7)
    return rows, pages_with


def others():
    """Code points from U+0800 on that have no class, but that no later version of Unicode will give one."""
    never = {*range(0xFDD0, 0xFDF0), *(plane | end for plane in range(0, 0x110000, 0x10000) for end in (0xFFFE, 0xFFFF))}
    known = [(point, None) for point in CODE_POINTS[0x800:] if not character_class(point) and (point in never or unicode.category(chr(point)) != "Cn")]
    return [(first, last - first + 1, 0, 0) for first, last, _ in runs_of(known)]


def stand_ins():
    old, new = old_and_new()
    points, runs = [], []
    for first, last, kind in runs_of(new):
        # Where its script has none of as many bytes, one of another script: only patterns that name the script see a difference.
        known = old.get(kind) or old.get((None, *kind[1:])) or old.get(("any", *kind[1:]))
        if not ({first, last} <= CHANGED and (first < 0x800 or kind not in old)):
            runs.append((first, last, known))
    rows, pages_with = rows_and_pages(runs, points)
    return (array("const uint8_t bl_stand_in_page[0x110000 >> 11]", pages_with) + rows_array("bl_stand_in", rows) +
            array("const uint32_t bl_stand_in_point[]", points) + rows_array("bl_unclassed", others()))


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
    return properties


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
    return paged_arrays("bl_script_page", "uint8_t", "bl_script_number", numbers)


def file_text():
    """Of the whole file. Macros are those that the arrays need, and those that they need."""
    arrays = ""
    for title, make in (("classes", classes), ("scripts", scripts), ("BERT, words, grapheme clusters", bert),
                        ("normal forms", normal), ("stand-ins", stand_ins)):
        arrays += f"\n/* --- {title} {'-' * (WIDTH - 11 - len(title))} */\n" + make()
    return HEAD + "\n" + macros() + arrays


def main():
    if tokenizers.__version__ != TOKENIZERS:
        sys.exit(f"unicode.py: this is tokenizers {tokenizers.__version__}; wanted is {TOKENIZERS}")
    if unicode.unidata_version != VERSION:
        sys.exit(f"unicode.py: unicodedata2 has Unicode {unicode.unidata_version}; wanted is {VERSION}")
    text = file_text()
    if "--check" not in sys.argv[1:]:
        with open(FILE, "w", encoding="ascii") as file:
            file.write(text)
        return
    with open(FILE, encoding="ascii") as file:
        if file.read() != text:
            sys.exit("unicode_table.c is not what unicode.py writes")


main()
