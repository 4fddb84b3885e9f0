"""bload cat, against what the package reads of the same sequences."""
import io
import subprocess
import wave

import numpy as np

import bload
import tool
from harness import each, expand
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


@expand
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


# name: the datasets, and T of the view.
VIEWS = {"pieces": (("split", "plain"), 24), "mixed": (("joined", "joined-zstd"), 40), "failed": (("failed", "failed-plain"), 64),
         "pictures": (("jpeg",), 48), "differences": (("delta",), 40), "cut": (("truncated",), 16)}


@expand
class Views(Cats):
    @each(VIEWS)
    def test_arrays(self, name):
        ways, T = VIEWS[name]
        path = self.path("view-" + name)
        self.bload("view", "-q", *map(self.packed, ways), "-T", T, "--oversize", "split", "-o", path, status=(0, 3))
        self.check(path)
