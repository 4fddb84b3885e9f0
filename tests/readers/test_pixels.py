"""Frames of one channel: grey against Pillow and against the float64 reference, 16-bit numbers against what was written."""
import os
import shutil
import subprocess

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


def smooth(seed=0, width=320, height=208):
    return Image.fromarray(pictures(1, 10, 14, seed)[0]).resize((width, height), Image.Resampling.BICUBIC)


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
