"""python -m bload.arrays: files of arrays that would have to be unpickled become .npy files, and nothing in them is run."""
import collections
import io
import os
import pickle
import subprocess
import sys
import unittest

import numpy as np

import bload.arrays
import tool
from harness import each

try:
    import lmdb
except ImportError:
    lmdb = None
try:
    import scipy.io
except ImportError:
    scipy = None


class Evil:
    """Unpickling it makes a file."""
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def array(*shape, dtype="f4", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


class Converting(tool.Tool):
    def setUp(self):
        self.npy = "npy_" + self._testMethodName

    def convert(self, *words, status=0, out=None):
        """Runs the command in the test's folder, and gives (arrays by the names of their files, messages)."""
        out = out or self.npy
        done = subprocess.run([sys.executable, "-m", "bload.arrays", *words, "-o", out], capture_output=True, text=True, cwd=self.directory,
                              env={**os.environ, "PYTHONPATH": os.path.join(tool.ROOT, "python")})
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        found = {}
        for parent, _, files in os.walk(self.path(out)):
            for name in files:
                path = os.path.join(parent, name)
                if name.endswith(".npy"):
                    found[os.path.relpath(path, self.path(out))] = np.load(path, allow_pickle=False)
        return found, done.stderr

    def assertArrays(self, found, wanted):
        self.assertEqual(set(found), set(wanted))
        for name, value in wanted.items():
            self.assertEqual((found[name].dtype, found[name].shape), (value.dtype, value.shape), name)
            self.assertEqual(found[name].tobytes(), value.tobytes(), name)


class Arrays(Converting):
    def pickled(self, name, value, protocol=4):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            pickle.dump(value, file, protocol)

    # --- pickles

    @each([str(protocol) for protocol in range(2, 6)])
    def test_pickles(self, protocol):
        value = collections.OrderedDict(v_a=array(5, 3), v_b={"rgb": array(4, 3, dtype="f8"), "flow": np.asfortranarray(array(6, 2))},
                                        all=[array(2), array(3, dtype="i4")], plain=[[1.5, 2], [3, 4]], flags=np.ones(3, "?"))
        self.pickled("x.pkl", value, int(protocol))
        found, err = self.convert("x.pkl")
        self.assertArrays(found, {"x/v_a.npy": value["v_a"], "x/v_b/rgb.npy": value["v_b"]["rgb"], "x/v_b/flow.npy": value["v_b"]["flow"],
                                  "x/all/0.npy": value["all"][0], "x/all/1.npy": value["all"][1], "x/plain.npy": np.array(value["plain"]),
                                  "x/flags.npy": value["flags"]})
        self.assertEqual(err, f"bload.arrays: 7 arrays of 1 file in {self.npy}\n")

    def test_folders_and_going_on(self):
        for name in "a/one", "b/two", "three":
            self.pickled(f"in/{name}.pkl", array(5, 2, seed=len(name)))
        wanted = {f"{name}.npy": array(5, 2, seed=len(name)) for name in ("a/one", "b/two", "three")}
        self.assertArrays(self.convert("in")[0], wanted)
        os.remove(self.path(self.npy, "three.npy"))
        found, err = self.convert("in")
        self.assertArrays(found, wanted)
        self.assertIn(f"3 arrays of 3 files in {self.npy}, 2 of them from before", err)
        self.pickled("in/three.pkl", array(9, 2))
        self.assertIn("they have changed: choose another -o", self.convert("in", status=2)[1])

    def test_nothing_is_run(self):
        self.pickled("evil.pkl", {"x": array(3), "y": Evil(self.path("made"))})
        self.pickled("objects.pkl", {"y": np.array([Evil(self.path("made"))], "O")})
        for name in "evil", "objects":
            found, err = self.convert(name + ".pkl", status=3, out="out" + name)
            self.assertEqual(found, {})
            self.assertRegex(err, rf"skipped {name}\.pkl: it holds _?io\.open, and only numpy arrays in dictionaries, lists and tuples are read")
        self.assertFalse(os.path.exists(self.path("made")))

    def test_what_is_skipped_is_named(self):
        self.pickled("x.pkl", {"good": array(3), "number": 5, "text": "a", "c": np.ones(3, "c8"), "s": np.array(["a"]), "one": np.float32(3),
                               "none": None, "a" * 300: array(2), "../up": array(4), "": array(5), "o": np.array([None, 1], "O")})
        found, err = self.convert("x.pkl", status=3)
        self.assertArrays(found, {"x/good.npy": array(3), "x/%2E./up.npy": array(4), "x/%25.npy": array(5)})
        for words in ("x.pkl: number: an int, no array", "x.pkl: text: a str, no array", "x.pkl: c: elements of type complex64",
                      "x.pkl: s: elements of type <U1", "x.pkl: one: a single number", "x.pkl: none: a NoneType, no array",
                      "x.pkl: o: elements of type object", ": its name is too long for a file"):
            self.assertIn(words, err)

    def test_what_is_wrong_is_named(self):
        self.pickled("x.pkl", array(3))
        data = tool.read(self.path("x.pkl"))
        tool.write(self.path("cut.pkl"), data[:-20])
        self.assertIn("skipped cut.pkl: a damaged pickle (", self.convert("cut.pkl", status=3, out="o1")[1])
        self.pickled("date.pkl", {"x": __import__("datetime").date(2020, 1, 1)})
        self.assertIn("date.pkl: it holds datetime.date, and only", self.convert("date.pkl", status=3, out="o2")[1])
        os.makedirs(self.path("empty"))
        for words, told in ((["nowhere.pkl"], "nowhere.pkl: file not found"), (["empty"], "no file in the sources has a name that ends with"),
                            (["x.pkl", "--dtype", "float32"], "--dtype and --shape belong together"),
                            (["x.pkl", "--dtype", "flot32", "--shape", "2"], "a type of numpy and numbers are expected"),
                            (["x.pkl", "--dtype", "f4", "--shape=-1,-1"], "and one -1 at most"), (["x.pkl", "./x.pkl"], "the same place as x.pkl")):
            self.assertIn(told, self.convert(*words, status=2, out="o3")[1])
        tool.write(self.path("x.npy"), b"")
        self.assertIn("bload itself reads .npy", self.convert("x.npy", status=2, out="o3")[1])
        tool.write(self.path("full", "x") if os.makedirs(self.path("full")) is None else "", b"")
        self.assertIn("full: the folder is not empty", self.convert("x.pkl", status=2, out="full")[1])

    # --- with packages

    @unittest.skipUnless(lmdb, "no lmdb")
    def test_lmdb(self):
        npy = io.BytesIO()
        np.save(npy, array(4, 3))
        values = {b"npy": npy.getvalue(), b"pickle": pickle.dumps(array(5, 3)), b"more": pickle.dumps({"a": array(2)}), b"raw": array(6, 3).tobytes(),
                  b"evil": pickle.dumps(Evil(self.path("made")))}
        with lmdb.open(self.path("x.lmdb"), map_size=1 << 24) as base, base.begin(write=True) as writing:
            for key, value in values.items():
                writing.put(key, value)
        found, err = self.convert("x.lmdb", status=3)
        self.assertArrays(found, {"x/npy.npy": array(4, 3), "x/pickle.npy": array(5, 3), "x/more/a.npy": array(2)})
        self.assertIn("raw: 72 bytes, neither NPY nor a pickle: say what they are with --dtype and --shape", err)
        self.assertIn("evil: it holds", err)
        found, err = self.convert("x.lmdb", "--dtype", "float32", "--shape=-1,3", status=3, out="raw")
        self.assertEqual(found["x/raw.npy"].tobytes(), array(6, 3).tobytes())
        self.assertFalse(os.path.exists(self.path("made")))

    @unittest.skipUnless(scipy, "no scipy")
    def test_matlab(self):
        scipy.io.savemat(self.path("x.mat"), {"feats": array(4, 3), "name": "video"})
        found, err = self.convert("x.mat", status=3)
        self.assertArrays(found, {"x/feats.npy": array(4, 3)})
        self.assertIn("skipped x.mat: name: elements of type <U5", err)
        tool.write(self.path("new.mat"), b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\2IM" + b"\0" * 600)
        self.assertIn("new.mat: MATLAB 7.3, which bload reads itself", self.convert("new.mat", status=3, out="new")[1])

    def test_the_tool_names_it(self):
        """What the tool refuses says this command, and the command makes what the tool takes."""
        self.pickled("of/x.pkl", {"a": array(5, 3), "b": array(7, 3)})
        for source, status in ("of", 1), ("of/x.pkl", 2):
            done = subprocess.run([tool.BLOAD, "pack", source, "-T", "9", "-o", "out"], capture_output=True, text=True, cwd=self.directory)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn("python3 -m bload.arrays", done.stderr)
        self.convert("of/x.pkl")
        subprocess.run([tool.BLOAD, "pack", "-q", self.npy, "-T", "9", "-o", "out"], check=True, cwd=self.directory)
        self.assertEqual({row["id"]: len(bload.open(self.path("out")).sequence(row["id"])["array"])
                          for row in ({"id": "x/a.npy"}, {"id": "x/b.npy"})}, {"x/a.npy": 5, "x/b.npy": 7})
