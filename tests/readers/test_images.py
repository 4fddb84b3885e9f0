"""Forms of image files: turned as Pillow turns them, the colours of lossy WebP as libwebp's, and what is refused, by name."""
import os
import shutil
import struct
import zlib

import numpy as np
from PIL import Image, ImageOps

import tool
from dataset import Dataset
from test_folders import pictures, read

FRAMES = "--kind", "frames", "-T", "1"


def smooth(width=33, height=25, seed=0):
    return Image.fromarray(pictures(1, 10, 14, seed)[0]).resize((width, height), Image.Resampling.BICUBIC)


def exif(orientation, form="<HHIHH"):
    """EXIF data with one entry: a SHORT, or a LONG."""
    order = b"II*\0" if form[0] == "<" else b"MM\0*"
    kind = 4 if form[-1] == "I" else 3
    entry = struct.pack(form, 0x112, kind, 1, orientation, *(() if kind == 4 else (0,)))
    return order + struct.pack(form[0] + "IH", 8, 1) + entry + bytes(4)


def with_chunk(path, name, data, at=-12):
    """Adds a chunk to a PNG file, by default before its end."""
    whole = tool.read(path)
    chunk = struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    tool.write(path, whole[:at] + chunk + whole[at:])


def profile(data, kind):
    """A text as ImageMagick writes it."""
    digits = (b"Exif\0\0" + data).hex()
    return f"\n{kind}\n{len(digits) // 2:8}\n".encode() + "\n".join(digits[i:i + 72] for i in range(0, len(digits), 72)).encode() + b"\n"


class Images(tool.Tool):
    def setUp(self):
        shutil.rmtree(self.path("in"), ignore_errors=True)

    def save(self, name, image, **how):
        path = self.path("in", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        image.save(path, **how)
        return path

    def turned(self, folder, orientation):
        """{form: a file of this orientation}"""
        image, tag = smooth(), Image.Exif()
        tag[0x112] = orientation
        files = {form: self.save(f"{folder}/{orientation}-{form}/1.{form}", image, exif=tag, **how)
                 for form, how in (("png", {}), ("webp", {"lossless": True}), ("tif", {}))}
        texts = {"tEXt": b"\0", "zTXt": b"\0\0", "iTXt": b"\0\1\0en\0\0"}
        for name, kind in ("tEXt", "exif"), ("zTXt", "exif"), ("iTXt", "APP1"):
            path = files[name] = self.save(f"{folder}/{orientation}-{name}/1.png", image)
            text = profile(exif(orientation, ">HHIHH"), kind)
            keyword = b"Raw profile type " + kind.encode()
            with_chunk(path, name.encode(), keyword + texts[name] + (text if name == "tEXt" else zlib.compress(text)))
        path = files["long"] = self.save(f"{folder}/{orientation}-long/1.png", image)
        with_chunk(path, b"eXIf", exif(orientation, "<HHII"))
        return files

    def test_upright(self):
        """Once, whichever FFmpeg: 5.1 reports no orientation but of JPEG, later versions that of PNG and WebP, too."""
        for folder, orientations in ("wide", range(1, 5)), ("high", range(5, 9)):
            files = {orientation: self.turned(folder, orientation) for orientation in orientations}
            dataset = Dataset(self.pack("turned", self.path("in", folder), *FRAMES))
            for orientation in orientations:
                tag = Image.Exif()
                tag[0x112] = orientation
                plain = smooth()
                plain.getexif()[0x112] = orientation
                wanted = np.asarray(ImageOps.exif_transpose(plain))
                for form in files[orientation]:
                    with self.subTest(orientation=orientation, form=form):
                        np.testing.assert_array_equal(read(dataset, f"{orientation}-{form}")[0], wanted)

    def test_what_does_not_turn(self):
        """An unannounced chunk of WebP, as for libwebp; XMP; other numbers; damaged EXIF."""
        path = self.save("a/1.webp", smooth(), lossless=True)
        data = tool.read(path)
        data += b"EXIF" + struct.pack("<I", len(exif(6))) + exif(6)
        tool.write(path, data[:4] + struct.pack("<I", len(data) - 8) + data[8:])
        for name, chunk, content in (("b", b"iTXt", b'XML:com.adobe.xmp\0\0\0\0\0<x tiff:Orientation="6"/>'), ("c", b"eXIf", exif(9)),
                                     ("d", b"eXIf", exif(6)[:-10]), ("e", b"zTXt", b"Raw profile type exif\0\0none")):
            with_chunk(self.save(f"{name}/1.png", smooth()), chunk, content)
        dataset = Dataset(self.pack("plain", self.path("in"), *FRAMES))
        for name in "abcde":
            np.testing.assert_array_equal(read(dataset, name)[0], np.asarray(smooth()), name)

    def test_lossy_webp_is_libwebps(self):
        sizes = (33, 25), (32, 24), (1, 1), (2, 3), (7, 1), (64, 64)
        for width, height in sizes:
            theirs = {}
            shutil.rmtree(self.path("in"), ignore_errors=True)
            for quality in 10, 80, 100:
                image = smooth(width, height, quality).convert("RGBA" if quality == 80 else "RGB")
                if quality == 80:
                    image.putalpha(smooth(width, height, 5).convert("L"))
                theirs[quality] = np.asarray(Image.open(self.save(f"{quality}/1.webp", image, quality=quality, exact=True)).convert("RGB"))
            dataset = Dataset(self.pack("webp", self.path("in"), *FRAMES))
            for quality, wanted in theirs.items():
                off = np.abs(read(dataset, str(quality))[0].astype(int) - wanted)
                self.assertLessEqual(off.max(), 1, f"{width}x{height} {quality}")
                self.assertLess(off.sum(), 2 + 0.02 * off.size)

    def test_refused_by_name(self):
        image, more = smooth(), {"save_all": True, "append_images": [smooth(seed=1), smooth(seed=2)]}
        for name, how in (("pages.tif", more), ("anim.webp", more), ("anim.png", more), ("pages.gif.png", {"format": "GIF", **more}),
                          ("still.gif.png", {"format": "GIF"}), ("big.tif", {"big_tiff": True}), ("jpeg.tif", {"compression": "jpeg"}),
                          ("picture.jpg", {"format": "AVIF"})):
            self.save(f"{name}/1.{name.rpartition('.')[2]}", image, **how)
        self.save("float.tif/1.tif", image.convert("F"))
        self.save("signed.tif/1.tif", image.convert("I"))
        self.save("ycbcr.tif/1.tif", image.convert("YCbCr"))
        tags = {"lab.tif": (262, 8), "tiles.tif": (322, 16), "zstd.tif": (259, 50000), "five.tif": (277, 5), "order.tif": (266, 2)}
        for name, (tag, value) in tags.items():
            path = self.save(f"{name}/1.tif", image if name != "order.tif" else image.quantize(16), tiffinfo={40000: 1})
            data = tool.read(path)
            if name == "order.tif":
                data = data.replace(struct.pack("<HHIH", 258, 3, 1, 8), struct.pack("<HHIH", 258, 3, 1, 4))
            at = data.find(struct.pack("<HH", tag, 3))
            at = data.index(struct.pack("<H", 40000)) if at < 0 else at  # a tag that is in the file, or takes the place of another
            tool.write(path, data[:at] + struct.pack("<HHIHH", tag, 3, 1, value, 0) + data[at + 12:])
        hdr = self.save("hdr.png/1.png", image)
        with_chunk(hdr, b"cICP", bytes([9, 16, 0, 1]), 33)
        _, told = self.bload("scan", "-q", "--kind", "frames", self.path("in"), status=3)
        lines = (line.partition("bload: skipped ")[2].partition(": ") for line in told.splitlines())
        reasons = {name: text for name, _, text in lines}
        wanted = {"pages.tif": "a TIFF of 3 pages", "anim.webp": "an animated WebP", "anim.png": "an animated PNG", "pages.gif.png": "GIF",
                  "still.gif.png": "GIF", "big.tif": "BigTIFF", "jpeg.tif": "compressed by JPEG", "picture.jpg": "AVIF",
                  "float.tif": "floating point", "signed.tif": "signed", "ycbcr.tif": "YCbCr", "lab.tif": "Lab", "tiles.tif": "in tiles",
                  "zstd.tif": "a rare compression", "five.tif": "more than 4 numbers", "order.tif": "in the high bits", "hdr.png": "HDR"}
        self.assertEqual(sorted(reasons), sorted(wanted))
        for name, reason in wanted.items():
            self.assertIn("not supported: ", reasons[name])
            self.assertIn(reason, reasons[name])

    def test_a_palette_of_eight_bits(self):
        """As libtiff reads it, for which some programs write it; the specification has 16."""
        image = smooth().quantize(64)
        data = bytearray(tool.read(self.save("a/1.tif", image)))
        at = data.index(struct.pack("<HHI", 320, 3, 768))
        colours, = struct.unpack_from("<I", data, at + 8)
        for i in range(colours, colours + 2 * 768, 2):
            data[i:i + 2] = data[i + 1], 0
        tool.write(self.path("in/b.tif"), data)
        os.renames(self.path("in/b.tif"), self.path("in/b/1.tif"))
        dataset = Dataset(self.pack("palette", self.path("in"), *FRAMES))
        for name in "ab":
            np.testing.assert_array_equal(read(dataset, name)[0], np.asarray(image.convert("RGB")))

    def test_a_smaller_copy_is_no_page(self):
        """Photoshop's thumbnails, overviews of GeoTIFF, and an APNG of one image."""
        path = self.save("a/1.tif", smooth(), save_all=True, append_images=[smooth(seed=1)], tiffinfo={254: 1})
        data = bytearray(open(path, "rb").read())
        entry = struct.pack("<HH", 254, 4)
        at = data.index(entry)
        data[at + 8] = 0  # of the first page
        tool.write(path, data)
        self.save("b/1.png", smooth(), save_all=True)
        dataset = Dataset(self.pack("one", self.path("in"), *FRAMES))
        for name in "ab":
            np.testing.assert_array_equal(read(dataset, name)[0], np.asarray(smooth()))
