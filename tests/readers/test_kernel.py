"""The GPU's kernel, compiled for the processor: its pictures of a decoder's surfaces beside the float64 reference. At native size every
value is the reference's, rounded, or its neighbour; where the triangle leans over the edge when shrinking the scaler mirrors the picture,
which the reference does not."""
import numpy as np

import ffprobe
import reference_convert
import tool
from harness import each

WAYS = {
    "native": (), "small": ("size=75x61",), "crop": ("size=88x88", "fit=crop"), "pad": ("size=112x60", "fit=pad"),
    "large": ("size=300x200",), "turned": ("size=75x61", "matrix9=0,65536,0,-65536,0,0,0,0,1073741824"),
}
TAGS = {"bt601": (), "bt709-full": ("matrix=bt709", "range=pc"), "bt2020-topleft": ("matrix=bt2020nc", "chroma=topleft"),
        "centre": ("chroma=center",), "bottom": ("chroma=bottom",)}


class Kernel(tool.Tool):
    @each(f"{size}-{form}" for size in ("160x90", "97x75") for form in ("nv12", "p010le", "yuv444p", "yuv444p16le"))
    def test(self, name):
        size, form = name.split("-")
        width, height = (int(n) for n in size.split("x"))
        fmt = reference_convert.Format(form, width, height)
        random = np.random.default_rng(len(name) + width)
        raw = random.integers(0, 256, fmt.bytes(), np.uint8)
        if form == "p010le":
            raw[::2] &= 0xc0
        tool.write(self.path(name), raw)
        for way, geometry in WAYS.items():
            for tag, tags in TAGS.items():
                with self.subTest(way=way, tags=tag):
                    words = [form, size, *geometry, *tags]
                    options = dict(word.split("=", 1) for word in words[2:])
                    got = np.frombuffer(ffprobe.converted(self.path(name), [*words, "kernel=loop"]), np.uint8)
                    rgb = reference_convert.native_rgb(fmt, fmt.planes(raw), options)
                    expected = reference_convert.Geometry(width, height, options).apply(rgb)
                    difference = np.abs(expected.astype(int) - got.reshape(expected.shape))
                    inner = difference[3:-3, 3:-3] if way in ("small", "turned") else difference
                    self.assertLessEqual(inner.max() if way != "pad" else 0, 1)
                    self.assertLess(difference.mean(), 0.5)
