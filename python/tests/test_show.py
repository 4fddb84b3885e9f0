"""bload show, against what is drawn here of the same blocks, as the package reads them."""
import base64
import io
import json
import os
import re
import struct
import subprocess
import wave
import xml.etree.ElementTree as tree

import numpy as np
from PIL import Image

import bload
import tool
from harness import each

SVG = "{http://www.w3.org/2000/svg}"
LEFT, MARGIN, SCALE, BAR, GAP, LINE_GAP = 104, 16, 16, 20, 5, 14
WIDTH, CELL, PICTURES, LINES = 960, 80, 96, 4
PAPER, GREY, SHADE, BLUE, INK = (np.array(colour, int) for colour in
                                 ((255, 255, 255), (0x8c, 0x95, 0x9f), (0xf6, 0xf8, 0xfa), (0x2f, 0x6f, 0xb5), (0x1f, 0x23, 0x28)))
VIRIDIS = np.array([[int(name[i:i + 2], 16) for i in (0, 2, 4)] for name in
                    "440154 472d7b 3b528b 2c728e 21918c 28ae80 5ec962 addc30 fde725".split()])


def viridis(share):
    at = np.clip(np.asarray(share, float), 0, 1) * 8
    i = np.minimum(at.astype(int), 7)
    return VIRIDIS[i] + (VIRIDIS[i + 1] - VIRIDIS[i]) * (at - i)[..., None]


def up(a, b):
    return (a - 1) // b + 1


def thirds(n):
    """A line can be cut into three equal ones, for narrow screens."""
    return n if n < 3 else up(n, 3) * 3


class Axis:
    """Where the steps of a block are."""

    def __init__(self, steps, has_pictures, stored=None):
        """stored: where the last piece ends; of lines of padding behind it only the first is drawn."""
        self.steps, self.cell = steps, 0
        if not has_pictures:
            self.width, self.line_steps = WIDTH, thirds(up(steps, min(up(steps, WIDTH), LINES)))
        else:
            self.cell = up(steps, PICTURES)
            cells, most = up(steps, self.cell), WIDTH // CELL
            per_line = min(cells, most)
            self.cell_width = min(WIDTH // per_line, 2 * CELL)
            self.width, self.line_steps = self.cell_width * per_line, self.cell * per_line
        stored = steps if stored is None else stored
        self.lines = min(up(steps, self.line_steps), (up(stored, self.line_steps) if stored else 0) + 1)
        self.drawn = min(steps, self.lines * self.line_steps)
        self.end = self.pixel(self.drawn)

    def pixel(self, step):
        return step * self.width // self.line_steps

    def columns(self, step):
        """Those that a step covers."""
        first = min(self.pixel(step), self.lines * self.width - 1)
        return first, min(max(self.pixel(step + 1), first + 1), self.lines * self.width)


class Drawn:
    """An SVG: lane[i] is the canvas of lane i, [height, pixels, 3]; spans and marks are in its pixels."""

    def __init__(self, path, axis):
        root = tree.parse(path).getroot()
        images = list(root.iter(SVG + "image"))
        self.lanes = len(images) // axis.lines
        parts = [np.array(Image.open(io.BytesIO(base64.b64decode(image.get("href").split(",")[1])))).astype(int) for image in images]
        self.lane = [np.concatenate(parts[i::self.lanes], 1) for i in range(self.lanes)]
        self.heights = [lane.shape[0] for lane in self.lane]
        line_height = SCALE + BAR + GAP + sum(height + GAP for height in self.heights) - GAP + LINE_GAP
        tops = sorted({int(rect.get("y")) for rect in root.iter(SVG + "rect") if rect.get("height") == str(BAR)})
        assert tops == [tops[0] + i * line_height for i in range(axis.lines)], tops
        self.spans = {}
        for rect in root.iter(SVG + "rect"):
            if rect.get("height") == str(BAR):
                x = tops.index(int(rect.get("y"))) * axis.width + int(rect.get("x")) - LEFT
                name = rect.find(SVG + "title").text
                self.spans.setdefault(name, []).append((x, x + int(rect.get("width"))))
        self.marks = []
        for path in root.iter(SVG + "path"):
            if path.get("class") == "b":
                x, y = map(int, re.match(r"M(\d+) (\d+)v", path.get("d")).groups())
                self.marks.append(tops.index(y) * axis.width + x - LEFT - 1)
        self.texts = ["".join(text.itertext()) for text in root.iter(SVG + "text")]


class Raster:
    """The PNG of the same sheet: lane[i] as above, with marks and hatches."""

    def __init__(self, path, axis, heights):
        self.picture = np.array(Image.open(path)).astype(int)
        line_height = SCALE + BAR + GAP + sum(height + GAP for height in heights) - GAP + LINE_GAP
        assert self.picture.shape == (2 * MARGIN + axis.lines * line_height - LINE_GAP, axis.width + 2 * MARGIN, 3)
        self.lane, self.place = [], []
        y = MARGIN + SCALE + BAR + GAP
        for height in heights:
            lines = [self.picture[y + k * line_height:y + k * line_height + height, MARGIN:MARGIN + axis.width] for k in range(axis.lines)]
            self.lane.append(np.concatenate(lines, 1)[:, :axis.end])
            # x + y of each pixel of the picture, by which hatches go
            place = [np.add.outer(y + k * line_height + np.arange(height), MARGIN + np.arange(axis.width)) for k in range(axis.lines)]
            self.place.append(np.concatenate(place, 1)[:, :axis.end])
            y += height + GAP


def pieces_of(block):
    return [(int(start), int(start + length)) for start, length in zip(block["cu_seqlens"], block["length"]) if length]


def box_mean(picture, height, width):
    """[height, width, 3]: means of the parts of a picture; at least one pixel each."""
    picture = (picture >> 8 if picture.dtype == np.uint16 else picture).astype(float)
    if picture.ndim == 2 or picture.shape[2] == 1:
        picture = np.repeat(picture.reshape(*picture.shape[:2], 1), 3, 2)
    sums = np.zeros((picture.shape[0] + 1, picture.shape[1] + 1, 3))
    sums[1:, 1:] = picture[:, :, :3].cumsum(0).cumsum(1)
    (top, bottom), (left, right) = ((np.arange(made) * size // made, np.maximum((np.arange(made) + 1) * size // made, np.arange(made) * size // made + 1))
                                    for made, size in zip((height, width), picture.shape))
    area = np.multiply.outer(bottom - top, right - left)[..., None]
    return (sums[bottom][:, right] - sums[top][:, right] - sums[bottom][:, left] + sums[top][:, left]) / area


class Shows(tool.Tool):
    def draw(self, path, b, has_pictures, *options):
        self.dataset = bload.open(path, verify=True)
        self.block = self.dataset[b]
        self.axis = Axis(self.dataset.T, has_pictures, max([end for _, end in pieces_of(self.block)], default=0))
        self.bload("show", path, "--block", b, *options, "-o", self.path("x.svg"))
        self.bload("show", path, "--block", b, *options, "-o", self.path("x.png"))
        self.bload("show", path, "--block", b, *options, "-o", self.path("x.html"))
        self.page = tool.text(self.path("x.html"))
        self.drawn = Drawn(self.path("x.svg"), self.axis)
        self.raster = Raster(self.path("x.png"), self.axis, self.drawn.heights)
        self.check_narrow()
        self.check_spans()
        self.check_raster()
        return self.drawn

    def check_spans(self):
        """Each piece is where it must be, to the pixel, and so are the marks."""
        axis, ids, at, expected, marks = self.axis, self.block["ids"], 0, {}, []
        pieces = pieces_of(self.block)
        for k, (start, end) in enumerate([*pieces, (axis.drawn, axis.drawn)]):
            named = [("padding", at, start)]
            if k < len(pieces):
                whole = int(self.dataset.sequences[int(self.block["sequence"][k])]["length"])
                name = f"{ids[k]}: from step {start}, {end - start:,} step{'s' * (end - start != 1)}"
                if end - start < whole:
                    first = int(self.block["source_start"][k])
                    name += f", {first} to {first + end - start - 1} of {whole}"
                named.append((name, start, end))
            for name, first, last in named:
                if axis.pixel(last) > axis.pixel(first):
                    expected.setdefault(name, []).append((axis.pixel(first), axis.pixel(last)))
                    marks.append(axis.pixel(first))
            at = end
        joined = {}
        for name, spans in self.drawn.spans.items():
            for first, last in spans: # lines cut them
                parts = joined.setdefault(name, [])
                goes_on = parts and parts[-1][1] == first and first % axis.width == 0
                parts[-1:] = [(parts[-1][0], last)] if goes_on else [*parts[-1:], (first, last)]
        self.assertEqual(joined, expected)
        self.assertEqual(sorted(self.drawn.marks), sorted(marks))

    def check_raster(self):
        """The same pixels as in the SVG, but where there is padding, which is hatched, and for the marks."""
        padding, marked = np.ones(self.axis.end, bool), np.zeros(self.axis.end, bool)
        for start, end in pieces_of(self.block):
            padding[self.axis.pixel(start):self.axis.pixel(end)] = False
        for x in self.drawn.marks:
            marked[x:x + 2] = True
        for lane in range(self.drawn.lanes):
            picture, place = self.raster.lane[lane], self.raster.place[lane]
            hatch = np.where((place % 6 == 0)[..., None], GREY, SHADE)
            expected = np.where(padding[None, :, None], hatch, self.drawn.lane[lane][:, :self.axis.end])
            np.testing.assert_array_equal(picture[:, ~marked], expected[:, ~marked])
            for x in self.drawn.marks:
                self.assertTrue((picture[:, x] == INK).all())

    def valid(self):
        out = np.zeros(self.axis.steps, bool)
        for start, end in pieces_of(self.block):
            out[start:end] = True
        return out

    def near(self, made, expected, tolerance, what=""):
        worst = np.abs(made - expected).max()
        self.assertLessEqual(worst, tolerance, what)

    def assertRange(self, field, low, high):
        row = re.search(rf'<th scope="row">{field}</th><td>[^<]*</td><td>([^<]*)</td>', self.page)[1]
        found = re.match(r"(\S+) to ([^,]+)", row)
        self.assertTrue(np.isclose(float(found[1]), low, rtol=1e-3) and np.isclose(float(found[2]), high, rtol=1e-3), (row, low, high))
        return row

    # --- the forms ------------------------------------------------------------------------------------------------------

    def check_pictures(self, lane, frames):
        axis, made, valid = self.axis, self.drawn.lane[lane], self.valid()
        height = min(axis.cell_width * frames.shape[1] // frames.shape[2], 2 * axis.cell_width)
        self.assertEqual(made.shape[0], max(height, 2))
        width = axis.cell_width - (axis.cell_width >= 40)
        for cell in range(up(axis.drawn, axis.cell)):
            first, end = cell * axis.cell, min((cell + 1) * axis.cell, axis.steps)
            middle = first + (end - first - 1) // 2
            there = made[:, cell * axis.cell_width:cell * axis.cell_width + width]
            if valid[middle]:
                self.near(there, box_mean(frames[middle], there.shape[0], width)[:, :there.shape[1]], 1, f"cell {cell}")
            else:
                self.assertTrue((there == PAPER).all(), f"cell {cell}")

    def columns_of(self, values):
        """Of each column, the values of the steps that cover it."""
        out = [[] for _ in range(self.axis.lines * self.axis.width)]
        valid = self.valid()
        for step in np.flatnonzero(valid):
            for x in range(*self.axis.columns(int(step))):
                out[x].append(values[step])
        return out

    def check_curve(self, lane, values, is_sound):
        made = self.drawn.lane[lane]
        values = values.astype(float)
        columns = [np.array([v for v in column if np.isfinite(v)]) for column in self.columns_of(values)]
        low, high = min(c.min() for c in columns if len(c)), max(c.max() for c in columns if len(c))
        self.assertRange(self.field, low, high)
        if is_sound:
            high = max(abs(low), abs(high))
            low = -high
        scale = (made.shape[0] - 1) / (high - low)
        for x in range(self.axis.end):
            rows = np.flatnonzero((made[:, x] == BLUE).all(1))
            self.assertTrue(((made[:, x] == BLUE).all(1) | (made[:, x] == PAPER).all(1)).all())
            if not len(columns[x]):
                self.assertEqual(len(rows), 0, x)
                continue
            self.near(np.array([rows[0], rows[-1]]), np.array([(high - columns[x].max()) * scale, (high - columns[x].min()) * scale]), 0.51, x)
            self.assertEqual(len(rows), rows[-1] - rows[0] + 1)

    def check_map(self, lane, values, from_bottom):
        """Means of all values in a pixel, by the colours from the least to the greatest."""
        made = self.drawn.lane[lane]
        values = values.reshape(len(values), -1).astype(float)
        rows, height = values.shape[1], made.shape[0]
        self.assertEqual(height, rows * (96 // rows) if rows < 96 else 96)
        sums, counts = np.zeros((height, made.shape[1])), np.zeros((height, made.shape[1]))
        for step in np.flatnonzero(self.valid()):
            first, end = self.axis.columns(int(step))
            for r in np.flatnonzero(np.isfinite(values[step])):
                top, bottom = r * height // rows, max((r + 1) * height // rows, r * height // rows + 1)
                sums[top:bottom, first:end] += values[step, r]
                counts[top:bottom, first:end] += 1
        if from_bottom:
            sums, counts = sums[::-1], counts[::-1]
        with np.errstate(invalid="ignore"):
            means = sums / counts
        low, high = np.nanmin(means), np.nanmax(means)
        row = self.assertRange(self.field, low, high)
        there = counts[:, :made.shape[1]] > 0
        self.near(made[there], viridis((means[there] - low) / (high - low)), 1.5)
        self.assertTrue((made[~there] == PAPER).all())
        return row

    def check_narrow(self):
        """The page has each lane twice: in lines of the whole width, and in lines of a third of it."""
        lanes = []
        for form in "wide", "narrow":
            found = re.search(rf'<svg[^>]* class="sheet {form}".*?</svg>', self.page, re.DOTALL)[0]
            images = [np.array(Image.open(io.BytesIO(base64.b64decode(data)))) for data in re.findall('href="data:image/png;base64,([^"]*)"', found)]
            lanes.append([np.concatenate(images[i::self.drawn.lanes], 1) for i in range(self.drawn.lanes)])
        for wide, narrow in zip(*lanes):
            self.assertTrue(wide.shape == narrow.shape and (wide == narrow).all())

    def check_strip(self, lane, values):
        made = self.drawn.lane[lane]
        self.assertEqual(made.shape[0], 16)
        self.assertTrue((made == made[:1]).all())
        colour = {}
        for x, column in enumerate(self.columns_of(values)):
            if x >= self.axis.end:
                break
            if not column:
                self.assertTrue((made[0, x] == PAPER).all())
                continue
            self.assertEqual(colour.setdefault(int(column[0]), tuple(made[0, x])), tuple(made[0, x]))
        for value, drawn in colour.items():
            is_mask = all(value in (0, 1) for value in colour)
            self.assertEqual(drawn == tuple(PAPER if is_mask else GREY), value == 0, value)
        if len(colour) > 20:
            self.assertGreater(len(set(colour.values())), 8)

    def check_spectrum(self, lane, sound, scale):
        made = self.drawn.lane[lane]
        height = made.shape[0]
        shape = 0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(512) + 0.5) / 512)
        level = np.full((height, made.shape[1]), np.nan)
        for start, end in pieces_of(self.block):
            samples = np.concatenate([np.zeros(256), sound[start:end].astype(float) * scale, np.zeros(1024)])
            for x in range(made.shape[1]):
                middle = (2 * x + 1) * self.axis.line_steps // (2 * self.axis.width)
                if start <= middle < end:
                    power = np.abs(np.fft.rfft(samples[middle - start:middle - start + 512] * shape)) ** 2
                    for y in range(height):
                        first, last = y * 256 // height, (y + 1) * 256 // height
                        level[height - 1 - y, x] = 10 * np.log10(power[first:max(last, first + 1)].max() + 1e-20)
        there = ~np.isnan(level)
        shares = 1 + (level - np.nanmax(level)) / 80
        self.near(made[there], viridis(shares[there]), 3)
        self.assertTrue((made[~there] == PAPER).all())


# name: shape of a picture and type.
FORMS = {"rgb": ((9, 7, 3), "u1"), "rgba": ((30, 61, 4), "u1"), "grey": ((200, 120), "u1"), "one": ((5, 90, 1), "u1"), "deep": ((33, 40), "u2")}


class Pictures(Shows):
    def packed(self, name, random, lengths, T, *options):
        shape, dtype = FORMS[name]
        folder = self.path("v")
        subprocess.run(["rm", "-rf", folder], check=True)
        subprocess.run(["mkdir", folder], check=True)
        for i, n in enumerate(lengths):
            np.save(f"{folder}/{i}.npy", random.integers(0, np.iinfo(dtype).max, (n, *shape), dtype, endpoint=True))
        return self.pack("p", folder, "--kind", "array", "--name", "frames", "-T", T, *options)

    @each(FORMS)
    def test_forms(self, name):
        """Random lengths that all differ, so that boundaries are anywhere in cells."""
        for seed, T in ((1, 7), (2, 60), (3, 97), (4, 250)):
            random = np.random.default_rng(seed)
            lengths = random.permutation(np.arange(1, T))[:8]
            path = self.packed(name, random, lengths, T)
            for b in range(min(2, bload.open(path).manifest["blocks"])):
                self.draw(path, b, True)
                self.check_pictures(0, self.block["frames"])

    def test_pieces(self):
        path = self.packed("rgb", np.random.default_rng(5), [90, 33, 7, 150], 40, "--oversize", "split")
        for b in range(3):
            self.draw(path, b, True)
            self.check_pictures(0, self.block["frames"])

    @each(["zstd", "delta", "jpeg"])
    def test_encoded(self, way):
        """What is decoded is drawn, as the package decodes it."""
        options = {"zstd": ["--compress", "zstd"], "delta": ["--encode", "delta", "--compress", "zstd"], "jpeg": ["--encode", "jpeg"]}[way]
        path = self.packed("rgb", np.random.default_rng(6), [20, 9, 4], 20, *options)
        for b in range(2):
            self.draw(path, b, True)
            self.check_pictures(0, self.block["frames"])


class Sounds(Shows):
    def sounds(self, random, channels, lengths, T, *options, rate=8000):
        """A tone that rises, with noise and silence."""
        names = []
        for i, n in enumerate(lengths):
            at = np.arange(n)[:, None]
            tone = 9000 * np.sin(2 * np.pi * at * (0.01 + 0.2 * at / n)) * (at % 5000 < 4000) + random.normal(0, 30, (n, channels))
            names.append(self.path(f"{i}.wav"))
            with wave.open(names[-1], "wb") as file:
                file.setparams((channels, 2, rate, 0, "NONE", ""))
                file.writeframes((tone * (1 + np.arange(channels))).astype("<i2").tobytes())
        return self.pack("sounds", *names, "--kind", "audio", "--rate", rate, "--channels", channels, "-T", T, *options)

    def check_sound(self, path, b, scale):
        self.draw(path, b, False)
        sound = self.block["audio"]
        mean = sound.reshape(len(sound), -1).astype(float).mean(1)
        self.field = "audio"
        self.check_curve(0, mean, True)
        self.check_spectrum(1, mean, scale)

    def test_i16(self):
        for seed, channels, T in ((1, 1, 700), (2, 2, 9001), (3, 1, 40000), (4, 2, 3840)):
            random = np.random.default_rng(seed)
            lengths = random.integers(1, T, 5)
            self.check_sound(self.sounds(random, channels, lengths, T), 0, 1 / 32768)

    def test_f32(self):
        for channels in 1, 2:
            random = np.random.default_rng(channels)
            self.check_sound(self.sounds(random, channels, [9000, 3000, 11], 12500, "--dtype", "f32"), 0, 1)

    def test_features(self):
        path = self.sounds(np.random.default_rng(9), 1, [30000, 17000], "longest", "--features", "fbank80", rate=16000)
        for b in range(2):
            self.draw(path, b, False)
            self.field, = self.dataset.fields
            self.check_map(0, self.block[self.field], True)


# name: type of the array, shape of a step.
MAPS = {"f2": ("f2", (3, 2)), "f4": ("f4", (17,)), "f8": ("f8", (130,)), "i2": ("i2", (5,)), "u8": ("u8", (2,)), "u1": ("u1", (7,))}
STRIPS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


class Arrays(Shows):
    def arrays(self, make, lengths, T, *options):
        folder = self.path("a")
        subprocess.run(["rm", "-rf", folder], check=True)
        subprocess.run(["mkdir", folder], check=True)
        for i, n in enumerate(lengths):
            np.save(f"{folder}/{i}.npy", make(int(n)))
        self.field = "data"
        return self.pack("arrays", folder, "--kind", "array", "--name", "data", "-T", T, *options)

    @each(MAPS)
    def test_maps(self, name):
        dtype, shape = MAPS[name]
        for seed, T in ((1, 30), (2, 1500), (3, 6001)):
            random = np.random.default_rng(seed)
            path = self.arrays(lambda n: (random.normal(50, 9, (n, *shape)) * (1 if dtype[1] == "1" else 20)).astype(dtype), random.integers(1, T, 4), T)
            self.draw(path, 0, False)
            self.check_map(0, self.block["data"], False)

    @each(("f2", "f4", "f8"))
    def test_curves(self, dtype):
        for seed, T in ((1, 30), (2, 5000), (3, 961)):
            random = np.random.default_rng(seed)
            path = self.arrays(lambda n: random.normal(5, 2, n).cumsum().astype(dtype), random.integers(2, T, 4), T)
            self.draw(path, 0, False)
            self.check_curve(0, self.block["data"], False)

    @each(STRIPS)
    def test_strips(self, dtype):
        """Also those that doubles do not tell apart, or have no I64."""
        random, high = np.random.default_rng(1), np.iinfo(dtype).max
        for most, T in ((3, 40), (200, 700), (None, 3000)):
            def make(n):
                if most is None:
                    return random.integers(high - 40, high, n, dtype, endpoint=True)
                return random.integers(0, min(most, high), n).astype(dtype)
            path = self.arrays(make, random.integers(1, T, 4), T)
            self.draw(path, 0, False)
            self.check_strip(0, self.block["data"])

    def test_values_that_are_none(self):
        random = np.random.default_rng(1)

        def make(n):
            out = random.normal(size=(n, 3)).astype("f4")
            out[2, 1], out[3, 0], out[5] = np.nan, np.inf, -np.inf
            out[n - 2:] = np.nan
            return out
        path = self.arrays(make, [40, 30, 20], 70)
        self.draw(path, 0, False)
        valid = self.block["data"][self.valid()]
        strange = int((~np.isfinite(valid)).sum())
        self.assertTrue(self.check_map(0, self.block["data"], False).endswith(f", {strange} values not finite"))
        self.assertIn(f"{strange} not finite", self.drawn.texts)
        out, _ = self.bload("show", path, "--block", 0)
        self.assertIn(f", {strange} values not finite\n", out)
        path = self.arrays(lambda n: make(n)[:, 1], [40, 30, 20], 70)
        self.draw(path, 0, False)
        self.check_curve(0, self.block["data"], False)

    def test_extremes(self):
        """Ranges beyond doubles, of no value, and of one: something is drawn, and nothing goes wrong."""
        for values in ([1.7e308, -1.7e308], [np.nan] * 3, [5.0] * 7, [0.0, 5e-324], [np.inf]):
            path = self.arrays(lambda n: np.array(values), [1], 9)
            self.draw(path, 0, False)
            blue = (self.drawn.lane[0] == BLUE).all(2).any(0).sum()
            self.assertEqual(blue > 0, bool(np.isfinite(values).any()), values)


class Sequences(Shows):
    @each([("apart", 0), ("overlapping", 30)])
    def test_joined(self, _, overlap):
        """A sequence in pieces is drawn as it would be in one block of its own, without the steps that pieces repeat."""
        np.save(self.path("s.npy"), np.random.default_rng(1).normal(size=(1234, 5)).astype("f4"))
        np.save(self.path("t.npy"), np.random.default_rng(2).normal(size=(77, 5)).astype("f4"))
        split = self.pack("split", self.path("s.npy"), self.path("t.npy"), "--kind", "array", "-T", 100, "--oversize", "split",
                          "--overlap", overlap)
        whole = self.pack("whole", self.path("s.npy"), "--kind", "array", "-T", "longest")
        axis = Axis(1234, False)
        self.bload("show", split, "--sequence", bload.open(split).sequences[0]["id"], "-o", self.path("s.svg"))
        self.bload("show", whole, "-o", self.path("w.svg"))
        one, other = Drawn(self.path("s.svg"), axis), Drawn(self.path("w.svg"), axis)
        np.testing.assert_array_equal(one.lane[0], other.lane[0])
        ends = sorted(parts[-1][1] for parts in one.spans.values())
        expected = [*range(100, 1234, 100 - overlap), 1234]
        self.assertEqual(ends, [axis.pixel(end) for end in expected])


# name: type and shape of a step.
DAMAGED = {"curve": ("f4", ()), "map": ("f4", (3,)), "strip": ("i4", ()), "pictures": ("u1", (4, 4, 3))}


class Damage(Shows):
    """A piece of a view that lies in several stored blocks, of which the last is damaged: nothing of it is drawn or counted."""

    def spoil(self, path, name, block):
        """Changes the last byte of a block in the only shard."""
        shard = os.path.join(path, "shards/00000/shard-00000000.safetensors")
        with open(shard, "r+b") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            tensor = json.loads(file.read(size))[name]
            first, end = tensor["data_offsets"]
            at = 8 + size + first + (end - first) // tensor["shape"][0] * (block + 1) - 1
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 255]))

    @each(DAMAGED)
    def test_part(self, name):
        dtype, shape = DAMAGED[name]
        random = np.random.default_rng(1)
        large, small = random.integers(150, 250, (250, *shape)).astype(dtype), random.integers(10, 90, (60, *shape)).astype(dtype)
        if dtype == "f4":
            large[3] = np.nan
        for file, array in (("a", large), ("b", small)):
            np.save(self.path(file + ".npy"), array)
        path = self.pack("d", self.path("a.npy"), self.path("b.npy"), "--kind", "array", "--name", "data", "-T", 100, "--oversize", "split")
        blocks = [b for b, block in enumerate(bload.open(path)) if block["num_sequences"] == 1 and block["source_start"][0] == 100]
        view = self.path("view")
        subprocess.run(["rm", "-rf", view], check=True)
        self.bload("view", "-q", path, "-T", 320, "-o", view)
        self.spoil(path, "data", blocks[0])
        for form in "svg", "html":
            self.bload("show", view, "-o", self.path("x." + form), status=1)
        axis = Axis(320, name == "pictures")
        drawn, (order,) = Drawn(self.path("x.svg"), axis), [list(block["ids"][:2]) for block in bload.open(view, ids=True)]
        first, start = (0, 250) if order[0].endswith("a.npy") else (60, 0)
        edge = CELL if name == "pictures" else 3 # cells of pictures have several steps, and pixels here a third of one
        damaged = drawn.lane[0][:, axis.pixel(first) + edge:axis.pixel(first + 250) - edge]
        other = drawn.lane[0][:, axis.pixel(start) + edge:axis.pixel(start + 60) - edge]
        self.assertTrue((damaged == PAPER).all())
        self.assertLess((other == PAPER).all((0, 2)).mean(), 0.02) # between cells
        self.page = tool.text(self.path("x.html"))
        if name != "pictures":
            self.assertNotIn("not finite", self.assertRange("data", small.min(), small.max()))
