#!/usr/bin/env python3
"""Draws docs/packing.svg, the picture of the README: the same sequences padded, cut and packed.

    make pictures

What is packed is the plan of `bload plan`; what is padded and cut are `naive` and `mix` of `bload compare`.
"""
import os
import subprocess

LENGTHS = 9, 4, 7, 3, 12, 5, 2, 5
T = max(LENGTHS)
CLIP = -(-sum(LENGTHS) // len(LENGTHS))
COLOURS = "#4477aa #ee6677 #228833 #ccbb44 #66ccee #aa3377 #ee8866 #44bb99".split()
STEP, ROW, GAP, TOP = 14, 16, 4, 42  # pixels
PANEL = T * STEP + 56


def plan():
    """Blocks of (sequence, start), by the tool."""
    table = "id\tlength\n" + "".join(f"{i}\t{n}\n" for i, n in enumerate(LENGTHS))
    done = subprocess.run([os.environ.get("BLOAD", "./bload"), "plan", "-q", "-T", str(T), "-"], input=table, capture_output=True,
                          text=True, check=True)
    blocks = {}
    for line in done.stdout.splitlines()[1:]:
        block, sequence, start, *_ = map(int, line.split("\t"))
        blocks.setdefault(block, []).append((sequence, start))
    return list(blocks.values())


def box(x, y, steps, style):
    return f'<rect x="{x}" y="{y}" width="{steps * STEP - 1}" height="{ROW}" rx="2" {style}/>'


def panel(left, title, words, width, rows):
    """A column of rows, each a list of (sequence, start, steps, steps deleted behind them)."""
    yield f'<text x="{left}" y="16" font-weight="bold">{title}</text><text x="{left}" y="33" fill="#767676">{words}</text>'
    for i, row in enumerate(rows):
        y = TOP + i * (ROW + GAP)
        yield box(left, y, width, 'fill="#e4e4e4"')
        for sequence, start, steps, deleted in row:
            yield box(left + start * STEP, y, steps, f'fill="{COLOURS[sequence]}"')
            if deleted:
                yield box(left + (start + steps) * STEP, y, deleted, f'fill="none" stroke="{COLOURS[sequence]}" stroke-dasharray="3 2"')


def main():
    padded = [[(i, 0, n, 0)] for i, n in enumerate(LENGTHS)]
    cut = [[(i, 0, min(n, CLIP), max(n - CLIP, 0))] for i, n in enumerate(LENGTHS)]
    packed = [[(i, start, LENGTHS[i], 0) for i, start in block] for block in plan()]
    total, lost = sum(LENGTHS), sum(max(n - CLIP, 0) for n in LENGTHS)
    height = TOP + len(LENGTHS) * (ROW + GAP)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {3 * PANEL} {height}" font-family="sans-serif" font-size="13" '
          f'fill="#767676">')
    for line in [
            *panel(0, "padded", f"{T * len(padded) - total} steps of padding", T, padded),
            *panel(PANEL, "cut", f"{lost} steps deleted, {CLIP * len(cut) - total + lost} of padding", CLIP, cut),
            *panel(2 * PANEL, "packed by bload", f"{T * len(packed) - total} step of padding, none cut", T, packed)]:
        print(line)
    print("</svg>")


if __name__ == "__main__":
    main()
