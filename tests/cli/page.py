"""page.py PAGE.html [JSON or ROW]...: the page is well-formed, asks for nothing, and has the numbers of these.

JSON: files of `info --json` and `compare --json`. ROW: the cells of a row of some table, joined by "|"."""
import json
import re
import sys
import xml.etree.ElementTree as tree
from html.parser import HTMLParser

TAGS = set("html head meta title style body main h1 h2 h3 p div table caption thead tbody tr th td pre ul li br span code strong section mark".split()) | set("svg desc text rect defs pattern path image".split())
ATTRIBUTES = set("lang charset name content class role tabindex aria-label aria-labelledby id scope".split()) | set("viewbox x y width height xmlns d fill stroke patternunits href style".split())


class Page(HTMLParser):
    """Checks that elements nest, and that there are no others than these."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS and ATTRIBUTES.issuperset(name for name, _ in attrs), (tag, attrs)
        href = dict(attrs).get("href", "data:image/png;base64,")
        assert href.startswith("data:image/png;base64,"), href
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


def text_of(element):
    return "".join(element.itertext())


def rows_of(root):
    """The rows of all tables, as lists of cells."""
    rows = []
    for table in root.iter("table"):
        head = table.find("thead/tr")
        assert head is None or (all(cell.get("scope") == "col" for cell in head) and table.find("caption") is not None)
        for row in table.findall("tbody/tr"):
            assert row[0].tag == "th" and row[0].get("scope") == "row" and len(row) == (2 if head is None else len(head)), text_of(row)
            rows.append([text_of(cell) for cell in row])
    return rows


def bars_of(root, name):
    """Label and number of each bar of a picture."""
    svg = root.find(f".//svg[@aria-labelledby='{name}-title {name}-desc']")
    assert svg.get("role") == "img" and svg.find("title").get("id") == f"{name}-title" and svg.find("desc").get("id") == f"{name}-desc"
    texts = [text.text for text in svg.findall("text")]
    return [(label, int(number.replace(",", ""))) for label, number in zip(texts[::2], texts[1::2])]


def check_info(info, root, cells, facts):
    if "split into parts" in facts:
        facts["cut"] = facts["split into parts"]
        assert not info["cut"] or not info["deleted"] or info["configuration"]["oversize"] == "split"
    facts["dropped"] = f"{int(facts['dropped'].split(' ')[0].replace(',', '')) + info['left_out']:,}"
    for name in "sequences", "steps", "lower bound", "padding", "deleted", "cut", "dropped":
        value = info[name.replace(" ", "_")]
        assert facts[name].split(" ")[0] == f"{value:,}", (name, facts[name], value)
    assert facts["ranks"] == str(info["world_size"]), facts["ranks"]
    assert facts["efficiency"] == f"{100 * info['efficiency']:.2f} %", facts["efficiency"]
    assert facts["blocks"] == f"{info['blocks']:,} of T = {info['T']:,} steps", facts["blocks"]
    assert facts.get("hours") == (f"{info['hours']:.3f}" if info["hours"] else None), facts.get("hours")
    faults = [row for row in cells if row[0] in ("skipped", "failed", "damaged") and row[1] != "empty document"]
    assert sum(int(row[2].replace(",", "")) for row in faults) == info["fault_count"], faults
    assert [n for _, n in bars_of(root, "lengths")] == [bar["sequences"] for bar in info["lengths"]]
    assert sum(n for _, n in bars_of(root, "fill")) == info["blocks"]
    for field in info["fields"]:
        assert field["name"] in facts, field
    text = text_of(root)
    for name, value in info["configuration"].items():
        assert f"{name}: {value}" in text, name


def check_compare(rows, root, cells):
    bars = dict(bars_of(root, "strategies"))
    for row in rows:
        if row["strategy"] == "store" or row["fill"] == "paper":
            continue
        numbers = [f"{row[name]:,}" for name in ("T", "blocks", "padding", "deleted", "cut")]
        assert [row["strategy"], *numbers, f"{100 * row['efficiency']:.2f} %"] in cells, (row, cells)
        assert bars[row["strategy"]] == row["padding"] + row["deleted"], row


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open, page.open
    style = re.search(r"<style>.*?</style>", text, re.S).group()
    assert "url(" not in style and "@import" not in style and "prefers-color-scheme:dark" in style
    root = tree.fromstring(re.sub(r"<(meta [^>]*|br)>", r"<\1/>", text.replace("<!DOCTYPE html>", "")))
    assert root.get("lang") == "en" and root.find("head/meta[@name='viewport']") is not None and len(root.findall(".//h1")) == 1
    cells = rows_of(root)
    facts = {row[0]: row[1] for row in reversed(cells)}
    for word in sys.argv[2:]:
        if not word.endswith(".json"):
            assert word.split("|") in cells, (word, cells)
            continue
        with open(word, encoding="utf-8") as file:
            data = json.load(file)
        if "rows" in data and isinstance(data["rows"], list):
            check_compare(data["rows"], root, cells)
        else:
            check_info(data, root, cells, facts)


main()
