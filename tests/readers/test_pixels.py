"""Frames of other pixels than RGB: grey and RGBA against Pillow and against the float64 reference, numbers against what was written."""
import os
import shutil
import struct
import subprocess
import unittest
import zlib

import numpy as np
from PIL import Image, ImageOps

import bload
import clips
import depth
import ffprobe
import reference_convert
import tool
from dataset import Dataset
from harness import each
from test_folders import pictures, read

FRAMES = "--kind", "frames", "-T", "longest"
DAVIS = os.path.join(tool.SHARED, "data/found3/pictures/davis")


def smooth(seed=0, width=320, height=208):
    return Image.fromarray(pictures(1, 10, 14, seed)[0]).resize((width, height), Image.Resampling.BICUBIC)


def grey_png(path, numbers, depth, transparent=None):
    """Writes a grey PNG of less than 8 bits, which Pillow does not write; transparent: the number that is."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    bits = (numbers[..., None] >> np.arange(depth - 1, -1, -1) & 1).reshape(len(numbers), -1).astype("u1")
    rows = b"".join(b"\0" + np.packbits(row).tobytes() for row in bits)
    head = struct.pack(">IIBBBBB", numbers.shape[1], numbers.shape[0], depth, 0, 0, 0, 0)
    transparency = chunk(b"tRNS", struct.pack(">H", transparent)) if transparent is not None else b""
    tool.write(path, b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + transparency + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Pixels(tool.Tool):
    def setUp(self):
        shutil.rmtree(self.path("in"), ignore_errors=True)

    def grey(self, name, *options):
        """The frames of a folder in the input, as a dataset has them, [T, H, W, 1]."""
        frames = read(Dataset(self.pack("one", self.path("in"), *FRAMES, "--pixels", "gray", *options)), name)
        self.assertEqual((frames.dtype, frames.shape[3]), (np.uint8, 1))
        return frames

    def save(self, name, image, **how):
        path = self.path("in", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        image.save(path, **how)
        return path


class Grey(Pixels):
    def test_images_are_pillows(self):
        """All the forms of an image in one folder; Pillow's convert("L") of each."""
        noise, paths = Image.fromarray(pictures(1, 61, 83)[0]), []
        for mode in "RGB", "RGBA", "L", "LA", "P", "1":
            for kind in "png", "bmp", "tif", "webp":
                if kind == "bmp" and mode[-1] == "A" or kind == "webp" and mode in ("LA", "P", "1"):
                    continue
                paths.append(self.save(f"a/{len(paths):02}.{kind}", noise.convert(mode), **({"lossless": True} if kind == "webp" else {})))
        self.assertEqual(len(paths), 19)
        for path, ours in zip(paths, self.grey("a")):
            with self.subTest(path):
                np.testing.assert_array_equal(ours[..., 0], np.asarray(Image.open(path).convert("L")))

    def test_jpeg_is_pillows(self):
        """Whatever its sampling, progressive or not, upright; reduced as by Pillow's drafts; lossy WebP nearly so."""
        paths = []
        for mode, how in ("RGB", {"subsampling": 0}), ("RGB", {"subsampling": 1}), ("RGB", {"subsampling": 2, "progressive": True}), ("L", {}):
            for orientation in 1, 6:
                exif = Image.Exif()
                exif[0x112] = orientation
                image = smooth(len(paths)).convert(mode)
                paths.append(self.save(f"{'wide' if orientation == 1 else 'high'}/{len(paths)}.jpg", image, quality=90, exif=exif, **how))
        for options, draft in ((), 1), (("--jpeg-scale", 2), 2), (("--jpeg-scale", 4), 4):
            for folder in "wide", "high":
                theirs = [Image.open(path) for path in paths if folder in path]
                for image in theirs if draft > 1 else ():
                    image.draft(image.mode, (320 // draft, 208 // draft))
                frames = read(Dataset(self.pack("one", self.path("in", folder), *FRAMES, "--pixels", "gray", *options)), self.path("in", folder))
                wanted = [np.asarray(ImageOps.exif_transpose(image).convert("L")) for image in theirs]
                np.testing.assert_array_equal(frames[..., 0], np.stack(wanted), f"{folder} {draft}")
        path = self.save("webp/1.webp", smooth(), quality=80)
        shutil.rmtree(self.path("in/wide"))
        shutil.rmtree(self.path("in/high"))
        off = np.abs(self.grey("webp")[0, ..., 0].astype(int) - np.asarray(Image.open(path).convert("L")))
        self.assertLessEqual(off.max(), 5)
        self.assertLess(off.mean(), 0.5)

    def test_scaled_as_pillow_scales_grey(self):
        """Away from the edges, as in test_folders.py; and padded with black."""
        image = Image.fromarray((64 + np.asarray(smooth(3, 160, 120)) / 2).astype("u1"))
        self.save("a/1.png", image)
        for name, pillow in ("bilinear", Image.Resampling.BILINEAR), ("lanczos", Image.Resampling.LANCZOS), ("nearest", Image.Resampling.NEAREST):
            ours = self.grey("a", "--filter", name, "--size", "96x72")[0, ..., 0].astype(int)
            off = np.abs(ours - np.asarray(image.convert("L").resize((96, 72), pillow)))[6:-6, 6:-6]
            self.assertLessEqual(off.max(), 0 if name == "nearest" else 1)
        padded = self.grey("a", "--size", "96x96", "--fit", "pad")[0, ..., 0]
        self.assertFalse(padded[:12].any() or padded[84:].any())
        self.assertTrue(padded[12:84].all())

    def test_encoded(self):
        """JPEG of one component, and differences, by the Python package."""
        images = [smooth(i, 48, 40) for i in range(5)]
        for i, image in enumerate(images):
            self.save(f"a/{i}.png", image)
        raw = np.stack([np.asarray(image.convert("L")) for image in images])[..., None]
        for options in ("--encode", "jpeg:95"), ("--encode", "delta", "--compress", "zstd"), ():
            dataset = bload.open(self.pack("kept", self.path("in"), *FRAMES, "--pixels", "gray", *options))
            frames = dataset[0]["frames"]
            self.assertEqual((frames.shape, dataset.fields["frames"].shape), (raw.shape, (40, 48, 1)))
            self.assertLessEqual(np.abs(frames.astype(int) - raw).max(), 8 if "jpeg:95" in options else 0)
            self.bload("verify", "-q", self.path("kept"))


class Depth(Pixels):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        depth.main(cls().path("depth"))
        cls.numbers = np.frombuffer(tool.read(cls().path("depth", "numbers")), "<u2").reshape(depth.STEPS, depth.HEIGHT, depth.WIDTH)

    def test_every_form(self):
        """The package, the format's readers and Pillow read the same numbers."""
        path = self.pack("all", self.path("depth"), *FRAMES, "--pixels", "gray16")
        dataset, plain = bload.open(path), Dataset(path)
        self.assertEqual(len(plain.sequences), len(depth.FORMS))
        for form in depth.FORMS:
            self.assertEqual(read(plain, form).dtype, np.uint16)
            np.testing.assert_array_equal(read(plain, form)[..., 0], self.numbers, form)
            np.testing.assert_array_equal(dataset.sequence(form)["frames"][..., 0], self.numbers, form)
        for name in "png/0.png", "png-interlaced/1.png", "tif-little/2.tif", "tif-big/0.tif", "tif-deflated/1.tif":
            theirs = np.asarray(Image.open(self.path("depth", name)))
            np.testing.assert_array_equal(theirs.astype(int), self.numbers[int(name[-5])], name)

    def test_nearest(self):
        """The places are Pillow's where none lies between two pixels, and values are never mixed."""
        for width, height in (156, 111), (20, 13), (520, 5):
            frames = read(Dataset(self.pack("one", self.path("depth/png"), *FRAMES, "--pixels", "gray16", "--size", f"{width}x{height}")),
                          self.path("depth/png"))
            for ours, numbers in zip(frames, self.numbers):
                theirs = Image.fromarray(numbers.astype("i4")).resize((width, height), Image.Resampling.NEAREST)
                np.testing.assert_array_equal(ours[..., 0].astype(int), np.asarray(theirs))
        padded = read(Dataset(self.pack("one", self.path("depth/png"), *FRAMES, "--pixels", "gray16", "--size", "52x50", "--fit", "pad")),
                      self.path("depth/png"))[..., 0]
        np.testing.assert_array_equal(padded, np.pad(self.numbers, ((0, 0), (6, 7), (0, 0))))

    def test_video(self):
        raw = "-f", "rawvideo", "-pix_fmt", "gray16le", "-s", f"{depth.WIDTH}x{depth.HEIGHT}", "-r", "10"
        for name, coder in ("ffv1.mkv", "ffv1"), ("png.mov", "png"):
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", *raw, "-i", self.path("depth/numbers"), "-c:v", coder, self.path(name)],
                           check=True)
        clips.turn(90, self.path("png.mov"), self.path("turned.mp4"))
        for name, turn in ("ffv1.mkv", 0), ("png.mov", 0), ("turned.mp4", 1):
            path = self.path(name)
            frames = Dataset(self.pack("video", path, "-T", "longest", "--pixels", "gray16")).frames(path)
            np.testing.assert_array_equal(frames[..., 0], np.rot90(self.numbers, turn, (1, 2)))


class Masks(Pixels):
    """--pixels index: the numbers of classes, not the colours that show them."""
    def masks(self):
        """A mask in every form, and the indices that each form has, by name."""
        labels = np.random.default_rng(5).integers(0, 21, (37, 53)).astype("u1")
        labels[0, :3] = 0, 1, 255
        colours = [value for i in range(256) for value in (i * 7 % 256, i * 38 % 256, i * 75 % 256)]
        wanted = {}

        def add(image, indices, ending, **how):
            path = self.save(f"masks/{len(wanted):02}.{ending}", image, **how)
            wanted[path] = indices
        for depth in 8, 4, 2, 1:
            indices = labels % (1 << depth) if depth < 8 else labels
            image = Image.fromarray(indices.astype("u1"), "P")
            image.putpalette(colours[:3 << depth])
            add(image, indices, "png", bits=depth)
        image = Image.fromarray(labels, "P")
        image.putpalette(colours)
        add(image, labels, "png", transparency=3)
        for ending, how in ("bmp", {}), ("tif", {}), ("tiff", {"compression": "tiff_lzw"}):
            add(image, labels, ending, **how)
        for ending in "png", "bmp", "tif":
            add(Image.fromarray(labels), labels, ending)
            add(Image.fromarray(labels % 2 * 255).convert("1"), labels % 2, ending)
        for depth, transparent in (2, None), (4, None), (2, 1), (4, 9):
            path = self.path("in", f"masks/{len(wanted):02}.png")
            grey_png(path, labels % (1 << depth), depth, transparent)
            wanted[path] = labels % (1 << depth)
        return wanted

    def index(self, *options):
        return read(Dataset(self.pack("one", self.path("in"), *FRAMES, "--pixels", "index", *options)), "masks")

    def test_every_form(self):
        wanted = self.masks()
        self.assertEqual(len(wanted), 18)
        frames = self.index()
        self.assertEqual((frames.dtype, frames.shape), (np.uint8, (18, 37, 53, 1)))
        for path, ours in zip(sorted(wanted), frames):
            np.testing.assert_array_equal(ours[..., 0], wanted[path], path)
            if path.endswith("png") and Image.open(path).mode == "P":
                np.testing.assert_array_equal(ours[..., 0], np.asarray(Image.open(path)), path)

    def test_nearest(self):
        """No index comes out that did not go in; padding is 0."""
        wanted = self.masks()
        first = wanted[min(wanted)]
        for size in (159, 111), (20, 13):
            theirs = Image.fromarray(first).resize(size, Image.Resampling.NEAREST)
            np.testing.assert_array_equal(self.index("--size", f"{size[0]}x{size[1]}")[0, ..., 0], np.asarray(theirs))
        np.testing.assert_array_equal(self.index("--size", "53x41", "--fit", "pad")[0, ..., 0], np.pad(first, ((2, 2), (0, 0))))
        np.testing.assert_array_equal(self.index("--size", "31x37", "--fit", "crop", "--filter", "nearest")[0, ..., 0], first[:, 11:42])

    @unittest.skipUnless(os.path.isdir(DAVIS), f"no {DAVIS}")
    def test_davis(self):
        frames = bload.open(self.pack("davis", DAVIS, *FRAMES, "--pixels", "index"))[0]["frames"]
        theirs = [np.asarray(Image.open(os.path.join(DAVIS, "bear", name))) for name in sorted(os.listdir(os.path.join(DAVIS, "bear")))]
        self.assertEqual(sorted(set(frames.ravel().tolist())), [0, 1, 2])
        np.testing.assert_array_equal(frames[..., 0], theirs)

    def test_encoded(self):
        wanted = self.masks()
        dataset = bload.open(self.pack("kept", self.path("in"), *FRAMES, "--pixels", "index", "--encode", "delta", "--compress", "zstd"))
        np.testing.assert_array_equal(dataset[0]["frames"][..., 0], [wanted[path] for path in sorted(wanted)])
        self.bload("verify", "-q", self.path("kept"))

    def test_video(self):
        indices = np.random.default_rng(6).integers(0, 256, (5, 40, 48)).astype("u1")
        for name, coder in ("grey.mkv", "ffv1"), ("grey.mov", "png"):
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "rawvideo", "-pix_fmt", "gray", "-s", "48x40", "-r", "5", "-i", "-",
                            "-c:v", coder, self.path(name)], check=True, input=indices.tobytes())
            path = self.path(name)
            frames = Dataset(self.pack("video", path, "-T", "longest", "--pixels", "index")).frames(path)
            np.testing.assert_array_equal(frames[..., 0], indices)


class Wide(Pixels):
    """--pixels rgb16: the numbers of RGB images of 16 bits, in the order R, G, B."""
    def test_numbers(self):
        numbers = np.random.default_rng(7).integers(0, 65536, (3, 37, 53, 3)).astype("u2")
        for name, form in ("png", "rgb48be"), ("tif", "rgb48le"), ("tiff", "rgb48le"):
            os.makedirs(self.path("in", name))
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "rawvideo", "-pix_fmt", "rgb48le", "-s", "53x37", "-i", "-", "-pix_fmt", form,
                            *(("-compression_algo", "raw") if name == "tiff" else ()), self.path("in", name, f"%d.{name}")],
                           check=True, input=numbers.tobytes())
        path = self.pack("one", self.path("in"), *FRAMES, "--pixels", "rgb16")
        dataset, plain = bload.open(path), Dataset(path)
        for name in "png", "tif", "tiff":
            self.assertEqual(read(plain, name).dtype, np.uint16)
            np.testing.assert_array_equal(read(plain, name), numbers, name)
            np.testing.assert_array_equal(dataset.sequence(name)["frames"], numbers, name)
        sized = read(Dataset(self.pack("one", self.path("in"), *FRAMES, "--pixels", "rgb16", "--size", "159x111")), "png")
        np.testing.assert_array_equal(sized, numbers.repeat(3, 1).repeat(3, 2))
        _, told = self.bload("cat", self.path("one"), "png", "--field", "frames", "--as", "png", "-o", self.path("pictures"), "-q")
        self.assertEqual(len(os.listdir(self.path("pictures"))), 3)

    def test_video(self):
        for form, depth in ("gbrp10le", 10), ("gbrp16le", 16):
            path = self.path(f"{form}.mkv")
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=48x40:rate=5:duration=1", "-c:v", "ffv1",
                            "-pix_fmt", form, path], check=True)
            raw = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", path, "-f", "rawvideo", "-"], check=True, capture_output=True).stdout
            planes = np.frombuffer(raw, "<u2").reshape(5, 3, 40, 48)
            frames = Dataset(self.pack("video", path, "-T", "longest", "--pixels", "rgb16")).frames(path)
            np.testing.assert_array_equal(frames, np.stack([planes[:, 2], planes[:, 0], planes[:, 1]], 3))
            self.assertLess(frames.max(), 1 << depth)


class Transparent(Pixels):
    """--pixels rgba: Pillow's convert("RGBA"), and its scaling."""
    def test_images_are_pillows(self):
        noise, paths = Image.fromarray(np.random.default_rng(8).integers(0, 256, (61, 83, 4)).astype("u1"), "RGBA"), []

        def add(image, ending, **how):
            paths.append(self.save(f"a/{len(paths):02}.{ending}", image, **how))
        for mode in "RGBA", "LA", "RGB", "L", "P", "1":
            for ending in "png", "tif", "bmp":
                if ending != "bmp" or mode[-1] != "A":
                    add(noise.convert(mode), ending)
        add(noise, "bmp")  # the fourth byte is no alpha
        add(noise, "webp", lossless=True, exact=True)
        add(noise.convert("P"), "png", transparency=bytes(range(255, -1, -1)))
        add(noise.convert("P"), "png", transparency=3)
        add(noise.convert("RGB"), "png", transparency=tuple(int(value) for value in np.asarray(noise)[5, 7, :3]))
        add(noise.convert("L"), "png", transparency=100)
        for depth in 2, 4:
            paths.append(self.path("in", f"a/{len(paths):02}.png"))
            grey_png(paths[-1], np.asarray(noise)[..., 0] >> (8 - depth), depth, 2)
        for subsampling in 0, 2:
            add(smooth(9, 83, 61), "jpg", subsampling=subsampling)
        exif = Image.Exif()
        exif[0x112] = 6
        add(noise.transpose(Image.Transpose.ROTATE_90), "png", exif=exif)
        frames = read(Dataset(self.pack("one", self.path("in"), *FRAMES, "--pixels", "rgba")), "a")
        self.assertEqual((frames.dtype, frames.shape), (np.uint8, (len(paths), 61, 83, 4)))
        for path, ours in zip(paths, frames):
            np.testing.assert_array_equal(ours, np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGBA")), path)

    def test_lossy_webp(self):
        image = smooth(10).convert("RGBA")
        image.putalpha(smooth(11).convert("L"))
        path = self.save("a/0.webp", image, quality=90)
        frames = read(Dataset(self.pack("one", self.path("in"), *FRAMES, "--pixels", "rgba")), "a")
        off = np.abs(frames[0].astype(int) - np.asarray(Image.open(path)))
        self.assertEqual(off[..., 3].max(), 0)
        self.assertLessEqual(off.max(), 1)

    def check_defined(self, pixels, size, ours):
        """Against the definition in floating point: colours times alpha are scaled, and divided by the scaled alpha."""
        alpha = np.asarray(Image.fromarray(pixels[..., 3]).resize(size, Image.Resampling.BILINEAR))
        self.assertLessEqual(np.abs(ours[..., 3] - alpha)[6:-6, 6:-6].max(), 1)
        for c in range(3):
            scaled = np.asarray(Image.fromarray(pixels[..., c] * pixels[..., 3] / 255).resize(size, Image.Resampling.BILINEAR))
            with np.errstate(divide="ignore", invalid="ignore"):
                colour = np.clip(np.nan_to_num(scaled * 255 / alpha), 0, 255)
            self.assertLessEqual((np.abs(ours[..., c] - colour) * alpha / 255)[6:-6, 6:-6].max(), 1)

    def test_scaled(self):
        """Colours of transparent pixels are not mixed in; rounded once, where Pillow rounds before it scales, too."""
        image = smooth(12, 160, 120).convert("RGBA")
        image.putalpha(smooth(13, 160, 120).convert("L").point(lambda value: max(value, 20)))
        pixels = np.asarray(image).copy()
        pixels[40:60, 50:90] = 255, 255, 255, 0
        image = Image.fromarray(pixels, "RGBA")
        self.save("a/0.png", image)
        for name, pillow in ("bilinear", Image.Resampling.BILINEAR), ("lanczos", Image.Resampling.LANCZOS):
            for size in (96, 72), (200, 90):
                ours = read(Dataset(self.pack("one", self.path("in"), *FRAMES, "--pixels", "rgba", "--filter", name, "--size",
                                              f"{size[0]}x{size[1]}")), "a")[0].astype(float)
                theirs = np.asarray(image.resize(size, pillow)).astype(float)
                off = np.abs(ours[..., :3] * ours[..., 3:] - theirs[..., :3] * theirs[..., 3:]) / 255
                self.assertLessEqual(off[6:-6, 6:-6].max(), 3)
                self.assertLessEqual(np.abs(ours - theirs)[..., 3][6:-6, 6:-6].max(), 3)
                self.assertGreater(np.abs(np.asarray(image.convert("RGB").resize(size, pillow)) - ours[..., :3])[6:-6, 6:-6].max(), 50)
                if name == "bilinear":  # lanczos overshoots, and is clipped between its two passes
                    self.check_defined(pixels.astype("f4"), size, ours)
        padded = read(Dataset(self.pack("one", self.path("in"), *FRAMES, "--pixels", "rgba", "--size", "160x130", "--fit", "pad")), "a")[0]
        np.testing.assert_array_equal(padded, np.pad(pixels, ((5, 5), (0, 0), (0, 0))))

    def test_video(self):
        """The colours of rgb, and the alpha of the stream; scaled alike, whether chroma is smaller than luma or not."""
        source = "testsrc2=size=64x48:rate=5:duration=1,format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='min(255,4*X+20)'"
        for name, form in ("420.mkv", "yuva420p"), ("rgba.mov", "rgba"), ("opaque.mp4", "yuv420p"):
            path = self.path(name)
            coder = {"mkv": "ffv1", "mov": "png", "mp4": "libx264"}[name[-3:]]
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", source, "-c:v", coder, "-pix_fmt", form, path], check=True)
            rgba, rgb = (Dataset(self.pack("video", path, "-T", "longest", "--pixels", pixels)).frames(path) for pixels in ("rgba", "rgb"))
            np.testing.assert_array_equal(rgba[..., :3], rgb)
            alpha = np.broadcast_to(np.minimum(255, 4 * np.arange(64) + 20), (5, 48, 64)) if "opaque" not in name else np.full((5, 48, 64), 255)
            np.testing.assert_array_equal(rgba[..., 3], alpha)
            sized = Dataset(self.pack("video", path, "-T", "longest", "--pixels", "rgba", "--size", "40x30")).frames(path)[2].astype(int)
            if form == "yuv420p":
                np.testing.assert_array_equal(
                    sized[..., :3], Dataset(self.pack("video", path, "-T", "longest", "--size", "40x30")).frames(path)[2])
            theirs = np.asarray(Image.fromarray(rgba[2], "RGBA").resize((40, 30), Image.Resampling.BILINEAR)).astype(int)
            off = np.abs(sized[..., :3] * sized[..., 3:] - theirs[..., :3] * theirs[..., 3:])[4:-4, 4:-4] / 255
            self.assertLess(off.mean(), 0.6 if form == "rgba" else 1.5)
            self.assertLessEqual(np.abs(sized - theirs)[..., 3].max(), 1)


class Metres(Pixels):
    def test_scale(self):
        """numpy's division of float32; 0 stays 0; gray16 notes the scale."""
        depth.main(self.path("in"))
        numbers = np.frombuffer(tool.read(self.path("in", "numbers")), "<u2").reshape(depth.STEPS, depth.HEIGHT, depth.WIDTH)
        for scale, divisor in ("5000", 5000), ("256", 256), ("1000", 1000), ("2.5", 2.5):
            dataset = Dataset(self.pack("one", self.path("in/png"), *FRAMES, "--pixels", "depth", "--depth-scale", scale))
            metres = read(dataset, self.path("in/png"))
            self.assertEqual((metres.dtype, metres.shape), (np.float32, (*numbers.shape, 1)))
            np.testing.assert_array_equal(metres[..., 0], numbers.astype("f4") / np.float32(divisor))
            self.assertEqual((metres == 0).sum(), (numbers == 0).sum())
        path = self.pack("noted", self.path("in/png"), *FRAMES, "--pixels", "gray16", "--depth-scale", "5000")
        np.testing.assert_array_equal(bload.open(path)[0]["frames"][..., 0], numbers)
        self.assertIn("5000 numbers a metre", bload.open(path).manifest["fields"][0]["made"])
        sized = read(Dataset(self.pack("one", self.path("in/png"), *FRAMES, "--pixels", "depth", "--depth-scale", 1000, "--size", "156x111")),
                     self.path("in/png"))
        np.testing.assert_array_equal(sized[..., 0], (numbers.astype("f4") / np.float32(1000)).repeat(3, 1).repeat(3, 2))


class Flow(Pixels):
    def test_vectors(self):
        """As the published format has them; tests/trainers/test_flow.py compares with torchvision."""
        vectors = np.random.default_rng(14).normal(0, 30, (4, 23, 31, 2)).astype("<f4")
        vectors[0, 0, 0] = 1.7e9  # an unknown vector
        vectors[1, 0, 0] = np.nan, -0.0
        for i, some in enumerate(vectors):
            os.makedirs(self.path("in/a"), exist_ok=True)
            tool.write(self.path("in/a", f"frame_{i + 7:04}.flo"), b"PIEH" + np.array([31, 23], "<i4").tobytes() + some.tobytes())
        path = self.pack("one", self.path("in"), *FRAMES, "--pixels", "flow")
        plain, block = Dataset(path), bload.open(path)[0]
        self.assertEqual((read(plain, "a").dtype, read(plain, "a").shape), (np.float32, vectors.shape))
        self.assertEqual(read(plain, "a").tobytes(), vectors.tobytes())
        self.assertEqual(block["frames"].tobytes(), vectors.tobytes())
        self.assertEqual(block["frame_number"].tolist(), [7, 8, 9, 10])
        every = Dataset(self.pack("two", self.path("in"), *FRAMES, "--pixels", "flow", "--stride", 3))
        self.assertEqual(read(every, "a").tobytes(), vectors[::3].tobytes())


class Videos(tool.Tool):
    names = ("h264.mp4", "h264-10.mp4", "h264-full.mp4", "h264-bt709.mp4", "h264-grey.mp4", "sar-wide.mp4", "rotated-90.mp4", "hevc-12-444.mp4",
             "mjpeg.avi", "ffv1-16.mkv", "ffv1-gbr.mkv", "ffv1-410.mkv", "qtrle.mov", "png.mov", "raw-422.mov")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        paths = [clips.clip(name) for name in cls.names]
        cls.sized = Dataset(cls().pack("sized", *paths, "-T", "longest", "--pixels", "gray", "--size", "75x61", "--fit", "pad"))

    def wanted(self, raw, words):
        """What the definition makes of a raw frame, at its own size and padded: luma, and of RGB that of 8 bits before it is scaled."""
        width, height = (int(n) for n in words[1].split("x"))
        options = dict(a.split("=", 1) for a in words[2:])
        fmt = reference_convert.Format(words[0], width, height)
        planes = fmt.planes(raw)
        if fmt.family == "rgb":
            red, green, blue = (plane.astype(int) for plane in planes)
            luma = ((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16) * 255 / (2 ** fmt.depth - 1)
        else:
            grey = reference_convert.Format(words[0], width, height)
            grey.family = "grey"
            options.setdefault("range", "tv" if fmt.family == "yuv" and not fmt.full else "pc")
            luma = reference_convert.native_rgb(grey, planes[:1], options)[..., 0]
        three = np.stack([luma] * 3, 2)
        for more in {}, {"size": "75x61", "fit": "pad"}:
            yield reference_convert.Geometry(width, height, options | more).apply(three)[..., :1].astype(int)

    @each(names)
    def test_definition(self, name):
        path = clips.clip(name)
        native = Dataset(self.pack("native", path, "-T", "longest", "--pixels", "gray"))
        raw, words = self.path("raw"), ffprobe.convert_words(path, native.row(path)["stream"])
        ffprobe.raw_frames(path, native.row(path)["stream"], native.manifest["simd"], raw)
        data = tool.read(raw)
        frames = [dataset.frames(path).astype(int) for dataset in (native, self.sized)]
        size = len(data) // len(frames[0])
        for i in 0, len(frames[0]) - 1:
            for ours, wanted in zip((some[i] for some in frames), self.wanted(data[i * size:(i + 1) * size], words)):
                self.assertEqual(ours.shape, wanted.shape)
                scaled = ours.shape == (61, 75, 1) or "sar" in name
                self.assertLess(np.abs(ours - wanted).mean(), 0.5 if scaled else 0.01)
                self.assertLessEqual(np.abs(ours - wanted).max(), 255 if scaled else 1)

    @each(("h264.mp4", "h264-bt709.mp4", "h264-full.mp4", "mjpeg.avi", "raw-422.mov"))
    def test_ffmpeg(self, name):
        """ffmpeg's grey of YUV of 8 bits is the same; FFmpeg 9 converts between tagged colours on the way."""
        if name in ("h264-bt709.mp4", "h264-full.mp4") and ffprobe.version() >= 9:
            self.skipTest("FFmpeg 9 has another grey of tagged colours")
        path = clips.clip(name)
        frames = Dataset(self.pack("native", path, "-T", "longest", "--pixels", "gray")).frames(path)
        raw = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", path, "-fps_mode", "passthrough", "-pix_fmt", "gray", "-f", "rawvideo", "-"],
                             check=True, capture_output=True).stdout
        np.testing.assert_array_equal(frames.ravel(), np.frombuffer(raw, np.uint8))

    def test_mapped(self):
        """HDR becomes RGB, and that its luma."""
        path = clips.clip("pq.mp4")
        colour, grey = (Dataset(self.pack("mapped", path, "-T", "longest", "--hdr", "tonemap", "--size", "40x30", "--pixels", pixels)).frames(path)
                        .astype(int) for pixels in ("rgb", "gray"))
        np.testing.assert_array_equal(grey[..., 0], (colour @ [19595, 38470, 7471] + 0x8000) >> 16)
        _, told = self.bload("pack", path, "-T", "longest", "--pixels", "gray", "-o", self.path("none"), status=1)
        self.assertIn("HDR", told)
