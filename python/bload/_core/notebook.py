"""HTML for notebooks, of datasets and tables: small, escaped, without scripts, in the notebook's own colours."""
from __future__ import annotations

import html
from typing import Iterable, List, Sequence

CELL = 60  # the most characters of a value
STYLE = "text-align:left"  # Jupyter aligns cells for numbers; colours, lines and spacing are the notebook's


def text(value: object) -> str:
    r"""Return a value as HTML text. Long ones are cut; surrogates, which stand for bytes that are not UTF-8, become "\udcff"."""
    shown = str(value)
    shown = shown if len(shown) <= CELL else shown[:CELL - 1] + "…"
    return html.escape(shown.encode(errors="backslashreplace").decode())


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; each row has as many values as the header."""
    lines: List[str] = ["<table><thead><tr>"]
    lines.extend(f"<th style=\"{STYLE}\" scope=\"col\">{text(name)}</th>" for name in header)
    lines.append("</tr></thead><tbody>")
    for row in rows:
        cells = "".join(f"<td style=\"{STYLE}\">{text(value)}</td>" for value in row)
        lines.append(f"<tr>{cells}</tr>")
    return "".join([*lines, "</tbody></table>"])


def page(name: str, path: str, facts: str, *tables: str) -> str:
    """Return what a notebook shows of an object: its type and path, some facts, and tables."""
    # The path is not cut, because users copy it.
    where = html.escape(path.encode(errors="backslashreplace").decode())
    return f"<div><p><b>{text(name)}</b> <code>{where}</code><br/>{html.escape(facts)}</p>{''.join(tables)}</div>"
