"""Folders of images: their pixels are what was written, their numbers those of the names, whatever the layout."""
import os
import shutil
import struct
import subprocess
import zlib

import numpy as np
from PIL import Image

import tool
from dataset import Dataset

# Action Genome, Charades, TSN: the folder, and what its images are called.
LAYOUTS = (("frames/001YG.mp4", "{:06}.png", (89, 93, 94, 120)), ("charades/46GP8", "46GP8-{:06}.png", (1, 2, 3)),
           ("ucf/Archery/v_Archery_g01_c01", "img_{:05}.png", range(1, 24)), ("short/x", "{}.PNG", (8, 9, 10, 11, 100)))


def png(pixels):
    """A PNG file of U8 [H, W, 3] or [H, W]."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    height, width = pixels.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    tool.write(path, data)


def read(dataset, name, field="frames"):
    return np.concatenate([dataset.block(b, field)[start:start + length] for b, start, length, _ in dataset.pieces_of(name)])


def pictures(count, height=18, width=22, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, height, width, 3), dtype="u1")


def write_layouts(root):
    """{id: (pixels, numbers)}"""
    written = {}
    for seed, (folder, name, numbers) in enumerate(LAYOUTS):
        pixels = pictures(len(numbers), seed=seed)
        for image, number in zip(pixels, numbers):
            write(os.path.join(root, folder, name.format(number)), png(image))
        written[folder] = pixels, list(numbers)
    return written


class Folders(tool.Tool):
    def setUp(self):
        shutil.rmtree(self.path("in"), ignore_errors=True)

    def check(self, dataset, written, stride=1):
        self.assertEqual([row["id"] for row in dataset.sequences], sorted(written))
        for name, (pixels, numbers) in written.items():
            self.assertTrue(np.array_equal(read(dataset, name), pixels[::stride]), name)
            self.assertEqual(read(dataset, name, "frame_number").tolist(), numbers[::stride])
            self.assertEqual(read(dataset, name, "frame_number").dtype, np.int32)

    def test_layouts(self):
        written = write_layouts(self.path("in"))
        write(self.path("in", "frames/list.txt"), b"001YG.mp4\n")
        write(self.path("in", "frames/001YG.mp4/.hidden.png"), b"no image")
        out = self.pack("whole", self.path("in"), "--kind", "frames", "-T", "longest")
        self.bload("verify", "-q", out)
        dataset = Dataset(out)
        self.check(dataset, written)
        self.assertEqual({name: int(dataset.row(name)["missing"]) for name in written},
                         {"frames/001YG.mp4": 0, "charades/46GP8": 0, "ucf/Archery/v_Archery_g01_c01": 0, "short/x": 88})
        self.check(Dataset(self.pack("split", self.path("in"), "--kind", "frames", "-T", 4, "--oversize", "split", "-j", 3)), written)
        strided = self.pack("strided", self.path("in"), "--kind", "frames", "-T", 12, "--stride", 2)
        self.check(Dataset(strided), written, stride=2)

    def ffmpeg(self, *arguments):
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *arguments], check=True)

    def test_as_a_video_of_the_same_pictures(self):
        for i, image in enumerate(pictures(7, 50, 70)):
            write(self.path("in", "png", f"{i:03}.png"), png(image))
        os.makedirs(self.path("in", "jpg"))
        self.ffmpeg("-i", self.path("in/png/%03d.png"), "-q:v", "3", self.path("in/jpg/%03d.jpg"))
        self.ffmpeg("-i", self.path("in/png/%03d.png"), "-c:v", "ffv1", "-pix_fmt", "gbrp", self.path("png.mkv"))
        self.ffmpeg("-i", self.path("in/jpg/%03d.jpg"), "-c:v", "copy", self.path("jpg.mkv"))
        for options in ((), ("--size", "33x17"), ("--size", "40x40", "--fit", "crop"), ("--size", "40x40", "--fit", "pad")):
            images = Dataset(self.pack("images", self.path("in"), "--kind", "frames", "-T", 7, *options))
            videos = Dataset(self.pack("videos", self.path("png.mkv"), self.path("jpg.mkv"), "-T", 7, *options))
            for name in "png", "jpg":
                got, wanted = read(images, name), read(videos, self.path(name + ".mkv"))
                self.assertEqual(got.shape, wanted.shape)
                self.assertTrue(np.array_equal(got, wanted), f"{name} {options}")

    def test_grey_images_and_a_folder_by_itself(self):
        grey = pictures(3)[..., 0]
        for i, image in enumerate(grey):
            write(self.path("in", f"{i}.png"), png(image))
        dataset = Dataset(self.pack("grey", self.path("in"), "--kind", "frames", "-T", 3))
        self.assertTrue(np.array_equal(read(dataset, self.path("in")), np.repeat(grey[..., None], 3, axis=3)))

    def test_filters_are_those_of_pillow(self):
        """Away from the edges, where zimg mirrors and Pillow leaves weights out; Pillow rounds between its two passes."""
        smooth = np.asarray(Image.fromarray(pictures(1, 30, 40)[0]).resize((160, 120), Image.Resampling.BICUBIC))
        image = np.where(pictures(1, 120, 160) < 250, smooth, 255 - smooth)[0]  # and single pixels that stand out
        image = (64 + image / 2).astype("u1")  # so that nothing overshoots the range, which both clip between their passes
        write(self.path("in", "a", "1.png"), png(image))
        for name, pillow in (("bilinear", Image.Resampling.BILINEAR), ("bicubic", Image.Resampling.BICUBIC),
                             ("lanczos", Image.Resampling.LANCZOS), ("nearest", Image.Resampling.NEAREST)):
            for width, height in (96, 72), (384, 272):  # no pixel lies between two others
                with self.subTest(name, width=width):
                    dataset = Dataset(self.pack("one", self.path("in"), "--kind", "frames", "-T", 1, "--filter", name, "--size",
                                                f"{width}x{height}"))
                    ours = read(dataset, "a")[0].astype(int)
                    theirs = np.asarray(Image.fromarray(image).resize((width, height), pillow)).astype(int)
                    x, y = width // 16, height // 12
                    away = np.abs(ours - theirs)[y:-y, x:-x]
                    if name == "nearest":
                        self.assertFalse(np.abs(ours - theirs).any())
                    self.assertLessEqual(away.max(), 2)
                    self.assertLess(away.mean(), 0.3)

    def test_jpeg_at_a_part_of_its_size(self):
        """As Pillow's drafts, which are libjpeg-turbo's; a file that it finds fault with is FFmpeg's to judge."""
        smooth = Image.fromarray(pictures(1, 30, 40)[0]).resize((320, 208), Image.Resampling.BICUBIC)
        path = self.path("in", "a", "1.jpg")
        for mode, subsampling, progressive in ("RGB", "4:4:4", True), ("RGB", "4:2:0", False), ("RGB", "4:2:2", False), ("L", None, True):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            smooth.convert(mode).save(path, quality=92, progressive=progressive, **({"subsampling": subsampling} if subsampling else {}))
            for scale in 2, 4:
                with self.subTest(mode, subsampling=subsampling, scale=scale):
                    draft = Image.open(path)
                    draft.draft(mode, (320 // scale, 208 // scale))
                    dataset = Dataset(self.pack("one", self.path("in"), "--kind", "frames", "-T", 1, "--jpeg-scale", scale))
                    np.testing.assert_array_equal(read(dataset, "a")[0], np.asarray(draft.convert("RGB")))
        # 208 / 4 is the last that is not below 52 in both directions.
        for size, scale in ("52x40", 4), ("60x40", 2), ("120x10", 1), ("24x16", 8):
            with self.subTest(size):
                ours, fixed = (read(Dataset(self.pack("one", self.path("in"), "--kind", "frames", "-T", 1, "--size", size, "--jpeg-scale",
                                                      n)), "a") for n in ("auto", min(scale, 4)))
                self.assertEqual(bool((ours != fixed).any()), scale == 8)
        write(path, open(path, "rb").read()[:-900])
        _, told = self.bload("pack", self.path("in"), "--kind", "frames", "-T", 1, "--jpeg-scale", 2, "-o", self.path("none"), status=1)
        self.assertIn("1.jpg: damaged image", told)

    def test_jpeg_at_a_part_of_its_size_is_upright(self):
        smooth = Image.fromarray(pictures(1, 10, 16)[0]).resize((128, 80), Image.Resampling.BICUBIC)
        shown = {}
        for orientation in range(1, 9):
            path = self.path("in", "a", "1.jpg")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            exif = Image.Exif()
            exif[0x112] = orientation
            smooth.save(path, quality=95, subsampling="4:4:4", exif=exif)
            for scale in 1, 2:
                shown[scale] = read(Dataset(self.pack("one", self.path("in"), "--kind", "frames", "-T", 1, "--size", "50x40",
                                                      "--jpeg-scale", scale)), "a")[0].astype(int)
            with self.subTest(orientation):
                self.assertLess(np.abs(shown[1] - shown[2]).mean(), 2)

    def test_upright_by_exif(self):
        write(self.path("in", "a", "1.png"), png(pictures(1)[0]))
        self.ffmpeg("-i", self.path("in/a/1.png"), "-q:v", "2", self.path("in/a/1.jpg"))
        os.remove(self.path("in/a/1.png"))
        plain = tool.read(self.path("in/a/1.jpg"))
        turns = {1: lambda p: p, 3: lambda p: np.rot90(p, 2), 6: lambda p: np.rot90(p, -1), 8: np.rot90}
        for orientation in turns:
            exif = b"Exif\0\0II*\0\10\0\0\0\1\0" + struct.pack("<HHIHHI", 0x112, 3, 1, orientation, 0, 0)
            segment = b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif
            write(self.path("in", f"turned{orientation}", "1.jpg"), plain[:2] + segment + plain[2:])
        for orientation, turn in turns.items():
            folders = self.path("in/a"), self.path(f"in/turned{orientation}")
            upright, turned = (read(Dataset(self.pack("one", folder, "--kind", "frames", "-T", 1)), folder)[0] for folder in folders)
            self.assertTrue(np.array_equal(turn(upright), turned), orientation)

    def test_sizes_must_agree(self):
        for name, width in ("a", 22), ("b", 24), ("c", 22):
            for i, image in enumerate(pictures(3, width=width)):
                write(self.path("in", name, f"{i}.png"), png(image))
        _, told = self.bload("pack", self.path("in"), "--kind", "frames", "-T", 3, "-o", self.path("none"), status=2)
        self.assertIn("the frames have several sizes: 1 input differs from a, the first of them b", told)
        self.pack("scaled", self.path("in"), "--kind", "frames", "-T", 3, "--size", "16x16")
        # Within a folder it is the folder's fault.
        shutil.copy(self.path("in/b/1.png"), self.path("in/c/1.png"))
        shutil.rmtree(self.path("in/b"))
        dataset = Dataset(self.pack("within", self.path("in"), "--kind", "frames", "-T", 3, status=3))
        self.assertEqual(dataset.row("c")["reason"], "1.png: an image of 24x18 among those of 22x18")

    def test_a_broken_image_costs_its_sequence(self):
        good = pictures(4, 40, 40)
        jpeg = self.path("good.jpg")
        write(self.path("good.png"), png(good[0]))
        self.ffmpeg("-i", self.path("good.png"), "-q:v", "2", jpeg)
        jpeg = tool.read(jpeg)
        whole = png(good[1])
        damaged = bytearray(whole)
        damaged[len(whole) // 2] ^= 4
        faults = {"cut.png": whole[:len(whole) // 2], "cut.jpg": jpeg[:len(jpeg) // 2], "garbage.jpg": b"no image at all", "empty.png": b"",
                  "damaged.png": bytes(damaged), "head.png": whole[:8]}
        for name, data in faults.items():
            folder = "with-" + name.replace(".", "-")
            for i, image in enumerate(good):
                write(self.path("in", folder, f"a{i}.png"), png(image))
            write(self.path("in", folder, f"a1-{name}"), data)
        for i, image in enumerate(good):
            write(self.path("in", "good", f"a{i}.png"), png(image))
        for jobs in 1, 4:
            dataset = Dataset(self.pack(f"jobs{jobs}", self.path("in"), "--kind", "frames", "-T", 5, "-j", jobs, status=3))
            self.assertTrue(np.array_equal(read(dataset, "good"), good))
            for name in faults:
                row = dataset.row("with-" + name.replace(".", "-"))
                wanted = {"garbage.jpg": "not an image that can be read", "empty.png": "empty file"}.get(name, "damaged image")
                self.assertEqual((row["status"], row["reason"]), ("failed", f"a1-{name}: {wanted}"))
        self.assertSameTree(self.path("jobs1"), self.path("jobs4"))


class Segments(tool.Tool):
    def test_the_images_that_a_line_names(self):
        """EPIC-KITCHENS' lists: random lines of some folders, in any order; the images are those of the numbers from first to last."""
        random, wanted, lines = np.random.default_rng(3), {}, ["narration_id,participant_id,video_id,start_frame,stop_frame"]
        for video in "P01_01", "P01_02", "P02_01":
            numbers = [n for n in range(1, 40) if n not in (5, 17, 18)]
            images = dict(zip(numbers, pictures(len(numbers), seed=len(wanted))))
            for number, image in images.items():
                write(self.path("rgb", video[:3], video, f"frame_{number:010}.png"), png(image))
            for i in range(20):
                first = int(random.integers(1, 40))
                last = int(random.integers(first, 44))
                lines.append(f"{video}_{i},{video[:3]},{video},{first},{last}")
                wanted[f"{video}_{i}"] = first, last, [n for n in numbers if first <= n <= last], images
        lines[1:] = random.permutation(lines[1:])
        write(self.path("list.csv"), "\n".join(lines).encode())
        usable = {name: want for name, want in wanted.items() if want[2]}
        for options in ("-T", "longest"), ("-T", "5", "--oversize", "split", "-j", "3"):
            dataset = Dataset(self.pack("segments", self.path("list.csv"), "--kind", "frames", *options, "--columns",
                                        "path=rgb/{participant_id}/{video_id},id=narration_id", status=3))
            for name, (first, last, present, images) in usable.items():
                row = dataset.row(name)
                np.testing.assert_array_equal(read(dataset, name, "frame_number"), present, name)
                np.testing.assert_array_equal(read(dataset, name), np.stack([images[n] for n in present]), name)
                self.assertEqual(int(row["missing"]), last - first + 1 - len(present), name)
            self.assertEqual({row["id"] for row in dataset.sequences if row["status"] == "skipped"}, set(wanted) - set(usable))
