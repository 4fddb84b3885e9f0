#!/usr/bin/python3
"""The float64 reference for the conversion of frames: raw frames in, packed RGB out.

    reference_convert.py PIX_FMT WxH [name=value...] < raw > rgb
    reference_convert.py PIX_FMT WxH [name=value...] against=rgb [max=N] [mean=N] < raw

The names are those of convert_raw (matrix range chroma size fit sar matrix9 transfer hdr; others are ignored). With `against` the
greatest and the mean difference of every frame are printed instead, and the exit status is 1 when a bound is passed.

What it computes, and what every converter of the tool has to meet: chroma is upsampled bilinearly to the size of luma from
where the stream sites it (left where unsaid), matrix and range make RGB of it, the source rectangle is scaled
bilinearly with the triangle widened by the scale when shrinking (as in Pillow, its weights normalised at the
edges), turned upright, placed, and rounded once, at the end. With hdr=tonemap, PQ and HLG of at most 1,000 cd/m2 are then mapped by
BT.2390-10, 5.4.1, to a white of 203 cd/m2, by the greatest component, and converted to BT.709. It shares nothing with the converter but the definition.
"""
import re
import sys

import numpy as np

WEIGHTS = {  # Kr, Kb: ITU-T H.273, table 4
    "bt709": (0.2126, 0.0722), "fcc": (0.30, 0.11), "bt470bg": (0.299, 0.114), "smpte170m": (0.299, 0.114),
    "smpte240m": (0.212, 0.087), "bt2020nc": (0.2627, 0.0593), "unknown": (0.299, 0.114), "reserved": (0.299, 0.114),
    "gbr": (0.299, 0.114),
}
SUBSAMPLING = {"444": (1, 1), "422": (2, 1), "420": (2, 2), "440": (1, 2), "411": (4, 1), "410": (4, 4)}
PACKED = {  # bytes of a pixel, where R, G and B are
    "rgb24": (3, 0, 1, 2), "bgr24": (3, 2, 1, 0), "rgba": (4, 0, 1, 2), "bgra": (4, 2, 1, 0), "argb": (4, 1, 2, 3),
    "abgr": (4, 3, 2, 1), "rgb0": (4, 0, 1, 2), "bgr0": (4, 2, 1, 0), "0rgb": (4, 1, 2, 3), "0bgr": (4, 3, 2, 1),
}


def half_up(num, den):
    return max(1, (2 * num + den) // (2 * den))


class Format:
    """Family, depth, subsampling, and how to cut a raw frame into planes of float64."""

    def __init__(self, name, width, height):
        self.width, self.height, self.name = width, height, name
        self.full = name.startswith("yuvj")
        self.sub = (1, 1)
        self.depth = 8
        planar = re.fullmatch(r"yuvj?a?(4\d\d)p(\d*)(?:le|be)?", name)
        gbr = re.fullmatch(r"gbra?p(\d*)(?:le|be)?", name)
        grey = re.fullmatch(r"gray(\d*)(?:le|be)?", name)
        semi = {"nv12": 8, "nv21": 8, "nv16": 8, "nv24": 8, "p010le": 10}.get(name)
        if planar:
            self.family, self.sub, self.depth = "yuv", SUBSAMPLING[planar[1]], int(planar[2] or 8)
        elif gbr:
            self.family, self.depth = "rgb", int(gbr[1] or 8)
        elif grey:
            self.family, self.depth = "grey", int(grey[1] or 8)
        elif semi:
            self.family, self.depth = "yuv", semi
            self.sub = {"nv16": (2, 1), "nv24": (1, 1)}.get(name, (2, 2))
        elif name in ("yuyv422", "uyvy422"):
            self.family, self.sub = "yuv", (2, 1)
        elif name in PACKED or name in ("rgb48le", "rgb565le"):
            self.family = "rgb"
            self.depth = 16 if name == "rgb48le" else 8
        else:
            raise SystemExit(f"reference_convert: no way to read {name}")
        self.chroma = (-(-width // self.sub[0]), -(-height // self.sub[1]))

    def bytes(self):
        w, h, (cw, ch) = self.width, self.height, self.chroma
        if self.name in PACKED:
            return w * h * PACKED[self.name][0]
        if self.name in ("yuyv422", "uyvy422"):
            return cw * h * 4
        if self.name == "rgb48le":
            return w * h * 6
        if self.name == "rgb565le":
            return w * h * 2
        size = 2 if self.depth > 8 else 1
        alpha = "a4" in self.name or "ra" in self.name[:4] and self.family == "rgb"
        return size * (w * h * (1 + alpha) + (0 if self.family == "grey" else 2 * cw * ch))

    def planes(self, raw):
        w, h, (cw, ch) = self.width, self.height, self.chroma
        data = np.frombuffer(raw, np.uint8)
        if self.name in PACKED:
            step, *at = PACKED[self.name]
            return [data.reshape(h, w, step)[:, :, k].astype(float) for k in at]
        if self.name in ("yuyv422", "uyvy422"):
            quads = data.reshape(h, cw, 4)
            y, u, v = ((0, 2), 1, 3) if self.name[0] == "y" else ((1, 3), 0, 2)
            return [quads[:, :, y].reshape(h, -1)[:, :w].astype(float), quads[:, :, u].astype(float),
                    quads[:, :, v].astype(float)]
        words = data.view(">u2" if self.name.endswith("be") else "<u2") if self.name[-2:] in ("le", "be") else data
        if self.name == "rgb48le":
            return [words.reshape(h, w, 3)[:, :, k].astype(float) for k in range(3)]
        if self.name == "rgb565le":
            pixel = words.reshape(h, w)
            return [np.floor((pixel >> s & m) * 255 / m + 0.5) for s, m in ((11, 31), (5, 63), (0, 31))]
        first = words[:w * h].reshape(h, w).astype(float)
        if self.family == "grey":
            return [first]
        rest = words[w * h:]
        if self.name.startswith(("nv", "p0")):
            pairs = rest.reshape(ch, cw, 2).astype(float)
            u, v = pairs[:, :, 0], pairs[:, :, 1]
            if self.name == "nv21":
                u, v = v, u
            shift = 64 if self.name == "p010le" else 1
            return [first // shift, u // shift, v // shift]
        second, third = (rest[k * cw * ch:(k + 1) * cw * ch].reshape(ch, cw).astype(float) for k in range(2))
        return [third, first, second] if self.family == "rgb" else [first, second, third]


def upsample(plane, size, factor, sited, axis):
    """Bilinear, from samples that lie `sited` luma samples behind the block's first one."""
    if factor == 1:
        return plane
    at = np.clip((np.arange(size) - sited) / factor, 0, plane.shape[axis] - 1)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, plane.shape[axis] - 1)
    share = at - low
    share = share[:, None] if axis == 0 else share[None, :]
    return np.take(plane, low, axis) * (1 - share) + np.take(plane, high, axis) * share


def native_rgb(fmt, planes, options):
    """[H, W, 3], 0..255, not rounded, not clipped."""
    top = 2.0 ** fmt.depth - 1
    said = options.get("range")
    full = fmt.full or said == "pc" or fmt.family == "rgb" or (fmt.family == "grey" and said != "tv")
    part = 2.0 ** (fmt.depth - 8)
    black, white, wide = (0.0, top, top) if full else (16 * part, 219 * part, 224 * part)
    luma = (planes[0] - black) / white
    if fmt.family == "grey":
        return np.stack([luma] * 3, 2) * 255
    if fmt.family == "rgb":
        return np.stack([(p - black) / white for p in planes], 2) * 255
    sw, sh = fmt.sub
    site = options.get("chroma", "left")
    site = "left" if site in ("unknown", "unspecified") else site
    across = 0.0 if "left" in site else (sw - 1) / 2
    down = 0.0 if "top" in site else sh - 1.0 if "bottom" in site else (sh - 1) / 2
    u, v = (upsample(upsample(p, fmt.height, sh, down, 0), fmt.width, sw, across, 1) for p in planes[1:])
    u, v = (u - 128 * part) / wide, (v - 128 * part) / wide
    if options.get("matrix") == "ycgco":
        return np.stack([luma - u + v, luma + u, luma - u - v], 2) * 255
    kr, kb = WEIGHTS[options.get("matrix", "unknown")]
    r, b = luma + 2 * (1 - kr) * v, luma + 2 * (1 - kb) * u
    return np.stack([r, (luma - kr * r - kb * b) / (1 - kr - kb), b], 2) * 255


def pq_light(signal):
    """SMPTE ST 2084: signals of 0 to 1 in cd/m2."""
    x = np.power(np.maximum(signal, 0), 32 / 2523)
    return 10000 * np.power(np.maximum(x - 3424 / 4096, 0) / (2413 / 128 - 2392 / 128 * x), 16384 / 2610)


def pq_signal(light):
    y = np.power(np.maximum(light, 0) / 10000, 2610 / 16384)
    return np.power((3424 / 4096 + 2413 / 128 * y) / (1 + 2392 / 128 * y), 2523 / 32)


def hlg_light(signal):
    """BT.2100, table 5, on a display of 1,000 cd/m2."""
    a = 0.17883277
    b, c = 1 - 4 * a, 0.5 - a * np.log(4 * a)
    signal = np.maximum(signal, 0)
    scene = np.where(signal <= 0.5, signal ** 2 / 3, (np.exp((signal - c) / a) + b) / 12)
    return 1000 * scene * np.power(scene @ [0.2627, 0.6780, 0.0593], 0.2)[..., None]


def tonemap(rgb, transfer):
    """[H, W, 3], 0..255, of BT.2020's primaries and one of the two curves, to BT.709."""
    peak, white = 1000.0, 203.0
    light = pq_light(rgb / 255) if transfer == "smpte2084" else hlg_light(rgb / 255)
    greatest = np.maximum(light.max(2), 1e-9)
    most, knee = pq_signal(white) / pq_signal(peak), 1.5 * pq_signal(white) / pq_signal(peak) - 0.5
    at = np.minimum(pq_signal(greatest) / pq_signal(peak), 1)
    t = np.maximum(at - knee, 0) / (1 - knee)
    to = (2 * t**3 - 3 * t**2 + 1) * knee + (t**3 - 2 * t**2 + t) * (1 - knee) + (-2 * t**3 + 3 * t**2) * most
    factor = np.where(at < knee, greatest, pq_light(to * pq_signal(peak))) / greatest
    to_709 = np.array([[1.66049, -0.58764, -0.07285], [-0.12455, 1.13290, -0.00835], [-0.01815, -0.10058, 1.11873]])
    return 255 * np.power(np.clip((light * factor[..., None] / white) @ to_709.T, 0, 1), 1 / 2.4)


def scale(image, axis, start, length, out):
    """The stretch [start, start + length) of an axis to `out` samples, each a triangle around its centre."""
    size, step = image.shape[axis], length / out
    if (start, length) == (0, out) == (0, size):
        return image
    width = max(step, 1.0)
    centre = start + (np.arange(out) + 0.5) * step
    first = np.floor(centre - width).astype(int)
    shape = [-1 if k == axis else 1 for k in range(image.ndim)]
    total, weights = 0.0, 0.0
    for tap in range(int(np.ceil(2 * width)) + 2):
        at = first + tap
        weight = np.maximum(0, 1 - np.abs(at + 0.5 - centre) / width) * ((at >= 0) & (at < size))
        total = total + np.take(image, np.clip(at, 0, size - 1), axis) * weight.reshape(shape)
        weights = weights + weight
    return total / weights.reshape(shape)


class Geometry:
    """The source rectangle, the turn and the place; written independently of the tool's own."""

    def __init__(self, width, height, options):
        num, den = (int(n) for n in options.get("sar", "1:1").split(":"))
        shown = (half_up(width * num, den) if num > 0 and den > 0 else width, height)
        m = [int(n) for n in options["matrix9"].split(",")] if "matrix9" in options else [1, 0, 0, 0, 1, 0, 0, 0, 1]
        turn = np.array([[m[0], m[3]], [m[1], m[4]]], float)
        if np.linalg.det(turn) == 0:  # a matrix that says nothing
            turn = np.eye(2)
        hdr = options.get("transfer") in ("smpte2084", "arib-std-b67") and options.get("hdr") == "tonemap"
        self.transfer = options["transfer"] if hdr else None
        self.turn = np.sign(np.round(turn / np.abs(turn).max(0))).astype(int)
        turned = self.turn[0, 0] == 0
        dw, dh = shown[::-1] if turned else shown
        size = options.get("size", f"{dw}x{dh}")
        self.width, self.height = (int(n) for n in size.split("x"))
        across = down = 1.0
        sw, sh = self.width, self.height
        fit = options.get("fit", "stretch")
        if fit == "crop":
            zoom = max(sw / dw, sh / dh)
            across, down = min(1.0, sw / zoom / dw), min(1.0, sh / zoom / dh)
        if fit == "pad":
            if sw * dh < sh * dw:
                sh = half_up(dh * sw, dw)
            else:
                sw = half_up(dw * sh, dh)
        self.place = ((self.width - sw) // 2, (self.height - sh) // 2)
        self.scaled = (sh, sw) if turned else (sw, sh)
        cw, ch = (width * down, height * across) if turned else (width * across, height * down)
        self.source = ((width - cw) / 2, (height - ch) / 2, cw, ch)

    def apply(self, rgb):
        x, y, w, h = self.source
        small = scale(scale(rgb, 0, y, h, self.scaled[1]), 1, x, w, self.scaled[0])
        small = tonemap(small, self.transfer) if self.transfer else small
        planes = [small[:, :, k] for k in range(3)]
        (a, c), (b, d) = self.turn
        planes = [p if a else p.T for p in planes]
        planes = [p[::b + d, ::a + c] for p in planes]
        out = np.zeros((self.height, self.width, 3))
        px, py = self.place
        out[py:py + planes[0].shape[0], px:px + planes[0].shape[1]] = np.stack(planes, 2)
        return np.clip(np.floor(out + 0.5), 0, 255).astype(np.uint8)


def differences(out, got, bounds):
    """Prints one frame's differences; true while within the bounds."""
    difference = np.abs(out.astype(int) - got.astype(int))
    print(f"max {difference.max()} mean {difference.mean():.4f}")
    return difference.max() <= bounds[0] and difference.mean() <= bounds[1]


def main(arguments):
    if len(arguments) < 2:
        raise SystemExit(__doc__)
    width, height = (int(n) for n in arguments[1].split("x"))
    options = dict(a.split("=", 1) for a in arguments[2:])
    fmt = Format(arguments[0], width, height)
    geometry = Geometry(width, height, options)
    against = open(options["against"], "rb") if "against" in options else None
    bounds = float(options.get("max", 255)), float(options.get("mean", 255))
    good, frames = True, 0
    while raw := sys.stdin.buffer.read(fmt.bytes()):
        if len(raw) < fmt.bytes():
            raise SystemExit("reference_convert: the last frame is cut short")
        out = geometry.apply(native_rgb(fmt, fmt.planes(raw), options))
        frames += 1
        if not against:
            sys.stdout.buffer.write(out.tobytes())
            continue
        got = np.frombuffer(against.read(out.nbytes), np.uint8)
        if got.size != out.size:
            raise SystemExit(f"reference_convert: {options['against']} ends before frame {frames}")
        good &= bool(differences(out, got.reshape(out.shape), bounds))
    if against and against.read(1):
        raise SystemExit(f"reference_convert: {options['against']} has more than {frames} frames")
    return 0 if good and frames else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
