"""bload cat, against what the package reads of the same sequences."""
import io
import subprocess
import wave

import numpy as np
from PIL import Image

import bload
import tool
from harness import each
from sample import WAYS, Sample


def cat(*arguments):
    """Standard output."""
    return subprocess.run([tool.BLOAD, "cat", *arguments], capture_output=True, check=True).stdout


class Cats(Sample):
    def check(self, path):
        """Some sequences of every field, whole and in part, or that they are refused as the package refuses them."""
        dataset = bload.open(path, verify=True)
        for row in range(0, len(dataset.sequences), max(1, len(dataset.sequences) // 4)):
            name = dataset.sequences[row]["id"]
            try:
                fields = dataset.sequence(name)
            except bload.SequenceError:
                for field in dataset.fields:
                    self.bload("cat", path, name, "--field", field, status=2)
                continue
            for field, array in fields.items():
                made = np.load(io.BytesIO(cat(path, name, "--field", field, "--as", "npy")))
                self.assertEqual((made.dtype, made.shape, made.tobytes()), (array.dtype, array.shape, array.tobytes()))
                A, B = len(array) // 3, len(array) // 3 * 2 + 1
                part = np.load(io.BytesIO(cat(path, name, "--field", field, "--as", "npy", "--steps", f"{A}..{B}")))
                self.assertEqual(part.tobytes(), array[A:B].tobytes())


class Datasets(Cats):
    @each(WAYS)
    def test_arrays(self, way):
        self.check(self.packed(way))

    def test_ids(self):
        path = self.packed("split")
        tokens = bload.open(path).sequence(3)["tokens"]
        name = bload.open(path).sequences[3]["id"]
        self.assertEqual(np.loadtxt(io.BytesIO(cat(path, name, "--as", "ids")), dtype=int).tolist(), tokens.tolist())

    def test_sound(self):
        with wave.open(self.path("in.wav"), "wb") as file:
            file.setparams((2, 2, 8000, 0, "NONE", ""))
            file.writeframes(np.random.default_rng(1).integers(-9999, 9999, 10002).astype("<i2").tobytes())
        path = self.pack("sounds", self.path("in.wav"), "--rate", "8000", "--channels", "2", "-T", "999", "--oversize", "split")
        sound = bload.open(path).sequence(0)["audio"]
        with wave.open(io.BytesIO(cat(path, self.path("in.wav")))) as file:
            self.assertEqual(file.getparams()[:4], (2, 2, 8000, 5001))
            self.assertEqual(file.readframes(9999), sound.tobytes())


# name: shape of a step and type.
PICTURES = {"rgb": ((9, 7, 3), "u1"), "rgba": ((9, 7, 4), "u1"), "grey": ((9, 7), "u1"), "one": ((9, 7, 1), "u1"), "deep": ((9, 7), "u2")}


class Pictures(tool.Tool):
    @each(PICTURES)
    def test_png(self, name):
        """The pixels as Pillow reads them: of a single picture, and of all in a folder."""
        shape, dtype = PICTURES[name]
        frames = np.random.default_rng(1).integers(0, np.iinfo(dtype).max, (5, *shape), dtype, endpoint=True)
        np.save(self.path(name + ".npy"), frames)
        path = self.pack("p-" + name, self.path(name + ".npy"), "--kind", "array", "--name", "frames", "-T", "3", "--oversize", "split")
        one = np.array(Image.open(io.BytesIO(cat(path, self.path(name + ".npy"), "--as", "png", "--step", "3"))))
        np.testing.assert_array_equal(one, frames[3].squeeze())
        folder = self.path("made-" + name)
        self.bload("cat", path, self.path(name + ".npy"), "--as", "png", "--steps", "1..", "-o", folder)
        self.assertEqual(tool.files_of(folder), [f"00000{k}.png" for k in range(1, 5)])
        for k in range(1, 5):
            np.testing.assert_array_equal(np.array(Image.open(f"{folder}/00000{k}.png")), frames[k].squeeze())


# name: the datasets, and T of the view.
VIEWS = {"pieces": (("split", "plain"), 24), "mixed": (("joined", "joined-zstd"), 40), "failed": (("failed", "failed-plain"), 64),
         "pictures": (("jpeg",), 48), "differences": (("delta",), 40), "cut": (("truncated",), 16)}


class Views(Cats):
    @each(VIEWS)
    def test_arrays(self, name):
        ways, T = VIEWS[name]
        path = self.path("view-" + name)
        self.bload("view", "-q", *map(self.packed, ways), "-T", T, "--oversize", "split", "-o", path, status=(0, 3))
        self.check(path)
