"""plot.py PLAN.tsv PLOT.svg T: the marks of the picture are where the plan has its pieces, in the order of the plan.

Prints "shown/all blocks, P pieces alone, N together, bytes"."""
import os
import re
import sys
import xml.etree.ElementTree as tree
from collections import defaultdict

SVG = "{http://www.w3.org/2000/svg}"
LEFT, WIDTH = 64, 420


def blocks_of(path):
    """Lists of (sequence, start, length, source_start) by block."""
    blocks = defaultdict(list)
    with open(path, encoding="ascii") as file:
        next(file)
        for line in file:
            block, sequence, *rest = map(int, line.split("\t"))
            blocks[block] += [(sequence, *rest)] if sequence >= 0 else []
    return [blocks[b] for b in range(len(blocks))]


def check_bar(bar, pieces, T, colours):
    """Compares a bar with the pieces of its block; returns how many marks have one piece, and how many several."""
    title = bar.find(SVG + "title").text
    padding, *marks = bar.findall(SVG + "rect")
    y = padding.get("y")
    placed = sum(length for _, _, length, _ in pieces)
    assert f", {placed:,} of {T:,} steps" in title, title
    assert (padding.get("class"), padding.get("x"), padding.get("width")) == ("p", f"{LEFT:.2f}", f"{WIDTH:.2f}"), padding.attrib
    filled = "100 %" if placed == T else f"{placed * 1000 // T / 10:.1f} %"
    assert bar.findall(SVG + "text")[-1].text == filled, (title, filled)
    at, alone, together = 0, 0, 0
    for mark in marks:
        words = mark.find(SVG + "title").text
        several = re.match(r"([\d,]+) sequences; ", words)
        count = int(several[1].replace(",", "")) if several else 1
        taken = pieces[at:at + count]
        at += count
        sequence, start, _, _ = taken[0]
        end = taken[-1][1] + taken[-1][2]
        assert abs(float(mark.get("x")) - LEFT - start * WIDTH / T) < 0.006, (title, words)
        assert abs(float(mark.get("width")) - (end - start) * WIDTH / T) < 0.006, (title, words)
        assert mark.get("y") == y and float(mark.get("x")) + float(mark.get("width")) <= LEFT + WIDTH + 0.01, (title, words)
        if several:
            assert mark.get("class") == "s m" and all(length * WIDTH / T < 3 for _, _, length, _ in taken), (title, words)
            together += 1
        else:
            assert re.match(rf"sequence {sequence}\b", words), (title, words)
            assert colours.setdefault(sequence, mark.get("class")) == mark.get("class"), "pieces of one sequence differ in colour"
            alone += 1
    assert at == len(pieces), f"{title}: {at} pieces drawn, {len(pieces)} in the plan"
    return alone, together


def main():
    plan, path, T = sys.argv[1], sys.argv[2], int(sys.argv[3])
    blocks, root = blocks_of(plan), tree.parse(path).getroot()
    ids = root.get("aria-labelledby").split()
    assert root.get("role") == "img" and [root.find(f"*[@id='{i}']").tag for i in ids] == [SVG + "title", SVG + "desc"]
    text = root.find(SVG + "title").text + root.find(SVG + "desc").text
    assert f"{len(blocks):,} block" in text and f"T = {T:,} step" in text and "efficiency" in text and "lower bound" in text, text
    assert not root.findall(".//" + SVG + "script") and "http" not in re.sub(r' xmlns="[^"]*"', "", open(path, encoding="utf-8").read())
    bars, colours, alone, together = root.findall(SVG + "g"), {}, 0, 0
    assert 0 < len(bars) <= len(blocks) and f"Shown: {len(bars)} of {len(blocks)} blocks" in text
    for b, bar in enumerate(bars):
        assert bar.find(SVG + "title").text.startswith(f"block {b}: ")
        a, t = check_bar(bar, blocks[b], T, colours)
        alone, together = alone + a, together + t
    words = [t.text for t in root.findall(SVG + "text")]
    hidden = len(blocks) - len(bars)
    assert (f"{hidden:,} more block{'s' if hidden > 1 else ''} not shown" in words) == (hidden > 0), words
    assert "0" in words and f"{T:,}" in words, words
    size = os.path.getsize(path)
    assert size < 5_000_000, size
    print(f"{len(bars)}/{len(blocks)} blocks, {alone} pieces alone, {together} together, {size} bytes")


main()
