"""Encoded frames: JPEG files are those that Pillow makes of the raw dataset's frames, and come back as Pillow decodes them; differences
come back as the raw dataset's bytes by numpy. What the C library reads is the same."""
import ctypes
import io
import json
import os
import struct

import numpy as np
from PIL import Image

import clips
import tool
from dataset import Dataset, digest, header_of, xxh3
from harness import each

LIBRARY = os.path.join(tool.ROOT, "build/libbload.so.2")
NAMES = ["h264.mp4", "hevc.mp4", "mpeg4.avi", "vp9.webm"]
T = 40


class Failure(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 1024)]


def library_blocks(directory, blocks, shape):
    """Every block of the first field, as the C library reads it."""
    library = ctypes.CDLL(LIBRARY)
    handle, failure = ctypes.c_void_p(), Failure()
    if library.bload_dataset_open(directory.encode(), ctypes.byref(handle), ctypes.byref(failure)):
        raise OSError(failure.text.decode())
    out = np.empty((blocks, *shape), dtype="u1")
    for block in range(blocks):
        if library.bload_dataset_read_block(handle, ctypes.c_int64(block), 0, out[block].ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(out[block].nbytes), ctypes.byref(failure)):
            raise OSError(failure.text.decode())
    library.bload_dataset_close(handle)
    return out


def pillow_file(frame, quality, subsampling="4:2:0"):
    out = io.BytesIO()
    Image.fromarray(frame).save(out, "jpeg", quality=quality, subsampling=subsampling)
    return out.getvalue()


class Encoding(tool.Tool):
    def setUp(self):
        self.files = [clips.clip(name) for name in NAMES]
        self.options = [*self.files, "-T", T, "--oversize", "split", "--size", "50x37", "--shard-size", "700K"]

    def failing(self):
        """A table in which the length of one clip is wrong, so that it fails."""
        table, _ = self.bload("scan", *self.files)
        path = self.path("wrong.tsv")
        with open(path, "w", encoding="utf-8") as file:
            for line in table.split("\n")[:-1]:
                columns = line.split("\t")
                if columns[0].endswith("vp9.webm"):
                    columns[1] = "43"
                file.write("\t".join(columns) + "\n")
        return ["--sequences", path, *self.options[len(NAMES):]]

    def read(self, directory, shape):
        if not os.path.exists(LIBRARY) or "san/" in tool.BLOAD:
            self.skipTest("no library of this build")
        return library_blocks(directory, Dataset(directory).blocks, shape)

    def block_checksums(self, dataset, stored):
        """stored(block): the bytes that the index has a checksum of."""
        for block in range(dataset.blocks):
            self.assertEqual(int(dataset.index["block_checksum"][block, 0]) % 2**64, xxh3(stored(block)))

    @each([("zero",), ("repeat",), ("failed",), ("fine",), ("full",)])
    def test_jpeg(self, case):
        options = self.failing() if case == "failed" else self.options
        options, status = [*options, "--pad", "repeat"] if case == "repeat" else options, 3 if case == "failed" else 0
        coding = {"fine": "jpeg:97", "full": "jpeg:90:444"}.get(case, "jpeg:90")
        of_pillow = 97 if case == "fine" else 90, "4:4:4" if case == "full" else "4:2:0"
        raw = Dataset(self.pack("raw", *options, status=status))
        out = self.pack("jpeg", *options, "--encode", coding, status=status)
        self.bload("verify", "-q", out)
        d = Dataset(out)
        self.assertEqual(d.manifest["fields"][0]["encoding"], coding)
        self.assertIn("libjpeg-turbo", d.manifest["libraries"])
        self.assertGreater(len(d.shards), 1)
        decoded = self.read(out, (T, 37, 50, 3))
        files, empty = {}, 0
        for block in range(d.blocks):
            frames = raw.block(block)
            shard = next(n for n, row in enumerate(d.shards) if block < int(row["first_block"]) + int(row["blocks"]))
            offsets = d.block(block, "frames_offsets")
            data = d.open(shard).get_tensor("frames_jpeg")
            files[block] = data[offsets[0]:offsets[T]].tobytes()
            for t in range(T):
                file = data[offsets[t]:offsets[t + 1]].tobytes()
                empty += not file
                if file:
                    self.assertEqual(file, pillow_file(frames[t], *of_pillow), f"block {block}, step {t}")
                    self.assertTrue(np.array_equal(decoded[block, t], np.asarray(Image.open(io.BytesIO(file)))))
                else:
                    self.assertFalse(frames[t].any() or decoded[block, t].any(), f"block {block}, step {t}")
        self.assertEqual(sum(row["status"] == "failed" for row in d.sequences), case == "failed")
        padding = 0 if case == "repeat" else d.manifest["padding"] + d.manifest["failed_steps"]
        self.assertEqual(empty, padding)
        self.block_checksums(d, files.get)
        self.regions(d, files)

    def regions(self, d, files):
        """Offsets begin where the shard before ended, at 0; the shard's checksum is that of its regions."""
        for row in d.shards:
            path = os.path.join(d.directory, row["file"])
            header, metadata, begin = header_of(path)
            self.assertEqual(metadata["frames_encoding"], d.manifest["fields"][0]["encoding"])
            self.assertEqual(list(header)[-1], "frames_jpeg")
            blocks = range(int(row["first_block"]), int(row["first_block"]) + int(row["blocks"]))
            content = tool.read(path)
            sums = [xxh3(content[:begin])]
            for name, entry in header.items():
                first, end = entry["data_offsets"]
                if name != "frames_jpeg":
                    sums.append(xxh3(content[begin + first:begin + end]))
            sums += [xxh3(files[block]) for block in blocks]
            self.assertEqual(header["frames_jpeg"]["shape"], [sum(len(files[block]) for block in blocks)])
            self.assertEqual(int(d.block(blocks[0], "frames_offsets")[0]), 0)
            self.assertEqual(digest(xxh3(struct.pack(f"<{len(sums)}Q", *sums))), row["checksum"])

    def test_delta(self):
        raw = Dataset(self.pack("raw", *self.options))
        out = self.pack("delta", *self.options, "--encode", "delta", "--compress", "zstd:1")
        self.bload("verify", "-q", out)
        d = Dataset(out)
        self.assertEqual(d.manifest["fields"][0]["encoding"], "delta")
        decoded = self.read(out, (T, 37, 50, 3))
        for block in range(d.blocks):
            frames = d.block(block, "frames_delta")
            for axis in 1, 2, 3:
                frames = frames.cumsum(axis, dtype="u1")
            self.assertTrue(np.array_equal(frames, raw.block(block)), block)
            self.assertTrue(np.array_equal(frames, decoded[block]), block)
        self.block_checksums(d, lambda block: d.block(block, "frames_delta").tobytes())

    def test_raw_shards_stay_as_they_were(self):
        """Without an encoding nothing of it is in a shard."""
        d = Dataset(self.pack("raw", *self.options))
        _, metadata, _ = header_of(os.path.join(d.directory, d.shards[0]["file"]))
        self.assertEqual(sorted(metadata), ["bload_format", "first_block", "plan_digest"])
        self.assertEqual(d.manifest["fields"][0]["encoding"], "raw")

    def test_other_fields_are_raw(self):
        """Of several fields those that are pictures are encoded, each in files of its own."""
        clip = clips.clip("h264.mp4")
        count = int(self.bload("scan", clip)[0].split("\n")[1].split("\t")[1])
        values = np.arange(count * 5, dtype="f4").reshape(count, 5)
        np.save(self.path("h264.npy"), values)
        text = {"sources": [{"path": clip}], "T": count, "size": "16x16",
                "fields": [{"name": "values", "kind": "array", "path": self.path("{stem}.npy")},
                           {"name": "large", "kind": "video", "path": clip.replace("h264", "{stem}"), "size": "40x24"}]}
        tool.write(self.path("set.yaml"), json.dumps(text))
        out = self.pack("fields", "-c", self.path("set.yaml"), "--encode", "jpeg:80")
        self.bload("verify", "-q", out)
        d = Dataset(out)
        self.assertEqual([field["encoding"] for field in d.manifest["fields"]], ["jpeg:80", "raw", "jpeg:80"])
        self.assertTrue(np.array_equal(d.block(0, "values"), values))
        header, _, _ = header_of(os.path.join(out, d.shards[0]["file"]))
        self.assertEqual(list(header)[-2:], ["frames_jpeg", "large_jpeg"])
        for name, size in ("frames", (16, 16)), ("large", (40, 24)):
            offsets = d.block(0, f"{name}_offsets")
            data = d.open(0).get_tensor(f"{name}_jpeg")
            self.assertEqual(Image.open(io.BytesIO(data[offsets[3]:offsets[4]].tobytes())).size, size)
