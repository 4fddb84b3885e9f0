#!/usr/bin/env python3
"""Makes the tables of Unicode in src/kind/text/ from the Unicode Character Database, as the package unicodedata2 of the wanted version
holds it. They are checked in, so that nobody needs this script or that package to build.

    pip install unicodedata2==16.0.0
    scripts/unicode.py            writes them
    scripts/unicode.py --check    says which of them are not what it would write: status 1
"""
import os
import sys

import unicodedata2 as unicode

VERSION = "16.0.0"
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "kind", "text")
CODE_POINTS = range(0x110000)
PAGE = 256

HEAD = """/* {what}
 *
 * Written by scripts/unicode.py from the Unicode Character Database {version}, as the Python package unicodedata2
 * {version} holds it. The data are copyright 1991-2024 Unicode, Inc., under the Unicode License v3
 * (https://www.unicode.org/license.txt). */
/* clang-format off */
"""


def character_class(point):
    """The bits of unicode.h. White_Space is the separators and six controls."""
    category = unicode.category(chr(point))
    return (1 * (category[0] == "L") | 2 * (category[0] == "N") |
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


def main():
    if unicode.unidata_version != VERSION:
        sys.exit(f"unicode.py: unicodedata2 has Unicode {unicode.unidata_version}; wanted is {VERSION}")
    differing = 0
    for name, make in (("unicode_table.c", classes),):
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
