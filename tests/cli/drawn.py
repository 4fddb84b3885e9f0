"""What `bload show` drew: drawn.py colours FILE.png [X Y WIDTH HEIGHT] | images FILE | words FILE.svg

colours: those of the pixels of an area, sorted, one a line. images: of each embedded picture its place, size and colours. words: of
an SVG, which is checked to ask for nothing, the text of each element that has some.
"""
import base64
import re
import struct
import sys
import xml.etree.ElementTree as tree
import zlib

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = "svg title desc style rect text tspan defs pattern path image".split()


def decode(data):
    """Width, height, and rows of RGB bytes of a PNG file."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert zlib.crc32(name + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
        if name == b"IHDR":
            width, height, *form = struct.unpack(">IIBBBBB", body)
            assert form == [8, 2, 0, 0, 0], form
        packed += body if name == b"IDAT" else b""
        at += 12 + size
    raw, rows, above = zlib.decompress(packed), [], bytes(3 * width)
    for y in range(height):
        method, row = raw[y * (3 * width + 1)], bytearray(raw[y * (3 * width + 1) + 1:(y + 1) * (3 * width + 1)])
        for i in range(3 * width if method else 0): # the tool's own pictures have no filter
            a, b, c = row[i - 3] if i > 2 else 0, above[i], above[i - 3] if i > 2 else 0
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            row[i] = (row[i] + (0, a, b, (a + b) // 2, nearest)[method]) & 255
        rows.append(bytes(row))
        above = row
    return width, height, rows


def colours_of(rows, x, y, width, height):
    assert 3 * (x + width) <= len(rows[0]) and y + height <= len(rows)
    different = {row[3 * x:3 * (x + width)] for row in rows[y:y + height]}
    return [colour.hex() for colour in sorted({row[i:i + 3] for row in different for i in range(0, len(row), 3)})]


def print_images(text):
    for image in re.finditer(r'<image x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)" href="data:image/png;base64,([^"]*)"/>', text):
        width, height, rows = decode(base64.b64decode(image[5], validate=True))
        assert (str(width), str(height)) == (image[3], image[4])
        print(*image.group(1, 2, 3, 4), *colours_of(rows, 0, 0, width, height))


def print_words(text):
    root = tree.fromstring(text)
    assert "<!" not in text and "<?" not in text and text.count("http") == 1
    for element in root.iter():
        assert element.tag.startswith(SVG) and element.tag[len(SVG):] in ELEMENTS, element.tag
        assert not any(name.startswith("on") for name in element.attrib), element.attrib
        assert element.get("href", "data:image/png;base64,").startswith("data:image/png;base64,")
        if element.tag[len(SVG):] in ("title", "desc", "text"):
            print("".join(element.itertext()))


def main():
    what, path, *area = sys.argv[1:]
    if what == "colours":
        with open(path, "rb") as file:
            width, height, rows = decode(file.read())
        x, y, width, height = map(int, area or (0, 0, width, height))
        print(*colours_of(rows, x, y, width, height), sep="\n")
        return
    with open(path, encoding="utf-8") as file:
        (print_images if what == "images" else print_words)(file.read())


main()
