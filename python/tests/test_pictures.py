"""Pictures that are kept as JPEG files or differences: as the C library decodes them, and as they are kept."""
import os
import unittest.mock

import numpy as np

import bload
import tool
from harness import each
from sample import Sample, Truth
from test_encoding import LIBRARY, library_blocks


class Pictures(Sample):
    @each(("jpeg", "jpeg-repeat", "delta"))
    def test_library(self, way):
        """The same bytes as by the C library."""
        if not os.path.exists(LIBRARY) or "san/" in tool.BLOAD:
            self.skipTest("no library of this build")
        path = self.packed(way)
        dataset = bload.open(path)
        decoded = library_blocks(path, len(dataset), (dataset.T, 10, 14, 3))
        for block, frames in zip(dataset, decoded):
            self.assertEqual(block["frames"].tobytes(), frames.tobytes())

    def test_words(self):
        field = bload.open(self.packed("jpeg")).fields["frames"]
        self.assertEqual((field.stored, field.shape, field.encoding, field.coding), ("U8", (10, 14, 3), "jpeg", "jpeg:90"))
        self.assertEqual(bload.open(self.packed("delta")).fields["frames"].encoding, "delta")

    def test_files(self):
        """decode=False gives the files as they are, as views: of blocks, and of sequences that lie in several."""
        path = self.packed("jpeg")
        truth, dataset = Truth(path), bload.open(path, decode=False)
        for i, block in enumerate(dataset):
            self.assertNotIn("frames", block)
            self.assertEqual([file.tobytes() for file in block["frames_jpeg"]], truth.files(i, "frames"))
        one = dataset[0]["frames_jpeg"][0]
        self.assertFalse(one.flags.writeable)
        self.assertTrue(np.shares_memory(one, dataset[0]["frames_jpeg"][0]))
        long = int(np.argmax(dataset.sequences["length"]))
        self.assertGreater(dataset.sequences["length"][long], dataset.T)
        files = dataset.sequence(long)["frames_jpeg"]
        self.assertEqual(len(files), dataset.sequences["length"][long])
        self.assertTrue(all(file[:2].tobytes() == b"\xff\xd8" for file in files))

    def test_differences(self):
        path = self.packed("delta")
        block = bload.open(path, decode=False)[0]
        self.assertEqual(block["frames_delta"].tobytes(), Truth(path).d.block(0, "frames_delta").tobytes())

    def test_no_pillow(self):
        with unittest.mock.patch.dict("sys.modules", {"PIL": None}):
            self.assertRaisesRegex(bload.DependencyError, "shard-00000000.safetensors: pictures are .*: pip install pillow, or use decode=False to get the files",
                                   bload.open(self.packed("jpeg")).__getitem__, 0)
            self.assertEqual(len(bload.open(self.packed("jpeg"), decode=False)[0]["frames_jpeg"]), 24)
