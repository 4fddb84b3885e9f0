"""Arrays in files that hold several: what is in the blocks is what safetensors and h5py read from the same files."""
import json
import os
import struct
import subprocess
import unittest

import numpy as np
import safetensors.numpy

import tool
from dataset import Dataset
from harness import each

try:
    import h5py
except ImportError:
    h5py = None

TYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")


def values(dtype, shape, seed=0):
    random = np.random.default_rng(seed)
    if dtype == "?":
        return random.integers(0, 2, shape).astype("?")
    got = np.frombuffer(random.bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype).reshape(shape)
    return np.nan_to_num(got, nan=7) if dtype[0] == "f" else got


def read(dataset, name):
    return np.concatenate([dataset.block(b, "array")[start:start + length] for b, start, length, _ in dataset.pieces_of(name)])


class Containers(tool.Tool):
    def assertSameArray(self, got, wanted, message):
        wanted = np.ascontiguousarray(wanted).astype(wanted.dtype.newbyteorder("="))
        self.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape), message)
        self.assertEqual(got.tobytes(), wanted.tobytes(), message)

    def check(self, arrays, *words, status=0):
        """Packs the sources, by relative paths, in short pieces; every sequence is its array, and there are no others."""
        words = [os.path.relpath(word, self.directory) if str(word).startswith(self.directory) else word for word in words]
        dataset = Dataset(self.pack("out", *words, "-T", 7, "--oversize", "split", status=status, cwd=self.directory))
        self.assertEqual({row["id"] for row in dataset.sequences if row["status"] == "ok"}, set(arrays))
        for name, array in arrays.items():
            self.assertSameArray(read(dataset, name), array, name)
        return dataset

    def reason(self, path, *options):
        table, _ = self.bload("scan", "-q", path, *options, status=3)
        row = table.split("\n")[1].split("\t")
        self.assertEqual(row[5], "skipped")
        return row[6]


class Safetensors(Containers):
    @each(TYPES)
    def test_tensors_of_every_type(self, dtype):
        arrays = {"a": values(dtype, (30, 3)), "b": values(dtype, (11, 3), 1)}
        safetensors.numpy.save_file(arrays, self.path("two.safetensors"))
        for name in arrays:
            self.check({"two.safetensors": arrays[name]}, self.path("two.safetensors"), "--array", name)
        self.check({f"two.safetensors#/{name}": array for name, array in arrays.items()}, self.path("two.safetensors"), "--array", "*")

    def test_the_only_tensor_needs_no_name(self):
        array = values("f4", (20, 4))
        safetensors.numpy.save_file({"x": array}, self.path("one.safetensors"), {"format": "pt"})
        self.check({"one.safetensors": array}, self.path("one.safetensors"))
        self.check({"one.safetensors#/x": array}, self.path("one.safetensors") + "#/x")

    def test_bfloat16(self):
        bits = values("u2", (9, 2))
        header = json.dumps({"x": {"dtype": "BF16", "shape": [9, 2], "data_offsets": [0, 36]}}).encode()
        tool.write(self.path("bf.safetensors"), struct.pack("<Q", len(header)) + header + bits.tobytes())
        dataset = Dataset(self.pack("out", self.path("bf.safetensors"), "-T", 9))
        self.assertEqual(dataset.manifest["fields"][0]["dtype"], "BF16")

    def tensor_file(self, header, data=b"", size=None):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        tool.write(self.path("bad.safetensors"), struct.pack("<Q", len(text) if size is None else size) + text + data)
        return self.path("bad.safetensors")

    def test_what_is_wrong_with_a_safetensors_file_is_named(self):
        def entry(dtype="F32", shape=(2, 2), place=(0, 16)):
            return {"dtype": dtype, "shape": list(shape), "data_offsets": list(place)}
        for header, data, size, words in (
                ({"x": entry()}, b"\0" * 15, None, "truncated: the tensor ends at byte 16 of the data, 15 are there"),
                ({"x": entry()}, b"", 2 ** 60, "no safetensors file: a header of 1152921504606846976 bytes"),
                ({"x": entry()}, b"", 5000, "truncated: the header has 5000 bytes"),
                (b'{"x": ', b"", None, "damaged safetensors header"),
                ({"x": entry("F8_E4M3")}, b"\0" * 16, None, "elements of type F8_E4M3: BOOL, integers"),
                ({"x": entry("C64")}, b"\0" * 16, None, "elements of type C64"),
                ({"x": entry(shape=(2 ** 40, 2 ** 40))}, b"\0" * 16, None, "an impossible shape"),
                ({"x": entry(shape=(-1, 2))}, b"\0" * 16, None, "an impossible shape"),
                ({"x": entry(shape=(2.5, 2))}, b"\0" * 16, None, "an impossible shape"),
                ({"x": entry(place=(0, 12))}, b"\0" * 16, None, "the offsets do not fit 16 bytes"),
                ({"x": entry(place=(-16, 0))}, b"\0" * 16, None, "the offsets do not fit 16 bytes"),
                ({"x": {}}, b"", None, "elements of type"),
                ({"x": entry(shape=(), place=(0, 4))}, b"\0" * 16, None, "a single number"),
                ({"x": entry(shape=(0, 2), place=(0, 0))}, b"", None, "no steps"),
                ({"__metadata__": {"a": "b"}}, b"", None, "a safetensors file without arrays"),
                ({f"n{i}": entry() for i in range(7)}, b"\0" * 16, None, "7 arrays (n0, n1, n2, n3, n4...): choose one with --array")):
            self.assertIn(words, self.reason(self.tensor_file(header, data, size)))
        path = self.tensor_file({f"n{i}": entry() for i in range(7)}, b"\0" * 16)
        self.assertIn('no array "x" in the file, but n0, n1', self.reason(path, "--array", "x"))
        self.assertIn('no array "x*" in the file, but n0, n1', self.reason(path, "--array", "x*"))
        self.assertIn('no array "y" in the file, but n0, n1', self.reason(path + "#/y"))

    def test_shards_of_a_dataset_are_no_inputs(self):
        np.save(self.path("a.npy"), values("f4", (20, 4)))
        self.pack("set", self.path("a.npy"), "-T", 7, "--oversize", "split")
        _, err = self.bload("pack", self.path("set"), "-T", 7, "-o", self.path("again"), status=2)
        self.assertIn("set is a dataset, not a source", err)
        os.makedirs(self.path("in"))
        os.rename(self.path("a.npy"), self.path("in", "a.npy"))
        os.rename(self.path("set"), self.path("in", "set"))
        table, _ = self.bload("scan", "-q", self.path("in"))
        self.assertEqual([line.split("\t")[0] for line in table.splitlines()[1:]], ["a.npy"])


@unittest.skipUnless(h5py, "no h5py")
class Hdf5(Containers):
    def h5(self, name, arrays, **options):
        with h5py.File(self.path(name), "w", **{key: options.pop(key) for key in ("userblock_size", "libver") if key in options}) as file:
            for key, array in arrays.items():
                file.create_dataset(key, data=array, **options)
        return self.path(name)

    @each(TYPES)
    def test_datasets_of_every_type(self, dtype):
        for byte_order in "<>":
            array = values(dtype, (30, 3, 2)).astype(np.dtype(dtype).newbyteorder(byte_order))
            self.check({"one.h5": array}, self.h5("one.h5", {"x": array}))

    @each((("plain", {}), ("gzip", {"compression": "gzip", "chunks": (4, 2), "shuffle": True}), ("sums", {"fletcher32": True, "chunks": (5, 3)}), ("latest", {"libver": "latest", "chunks": (25, 1)}),
          ("block", {"userblock_size": 1024}), ("track", {"track_times": True})))
    def test_storage(self, name, options):
        arrays = {f"v_{i}/c3d": values("f4", (25 + i, 6), i) for i in range(12)}
        path = self.h5("c3d.h5", arrays, **options)
        self.check({f"c3d.h5#/{key}": array for key, array in arrays.items()}, path)
        self.check({"c3d.h5#/v_3/c3d": arrays["v_3/c3d"]}, path + "#/v_3/c3d")
        for axis in 1, -2:
            dataset = Dataset(self.pack("axis", "c3d.h5#/v_3/c3d", "--time-axis", axis, "-T", 2, "--oversize", "split",
                                        cwd=self.directory))
            self.assertSameArray(read(dataset, "c3d.h5#/v_3/c3d"), np.moveaxis(arrays["v_3/c3d"], axis, 0), name)

    def test_patterns_and_folders(self):
        arrays = {f"v_{i}/{kind}": values("f4", (8, width), i) for i in range(3) for kind, width in (("c3d", 6), ("i3d", 4))}
        path = self.h5("in/both.hdf5", arrays) if os.makedirs(self.path("in")) is None else None
        self.h5("in/one.h5", {"v_9/c3d": arrays["v_0/c3d"]})
        wanted = {f"both.hdf5#/{key}": array for key, array in arrays.items() if key.endswith("c3d")}
        self.check({**wanted, "one.h5#/v_9/c3d": arrays["v_0/c3d"]}, self.path("in"), "--array", "*/c3d")
        self.check({"in/both.hdf5#/v_1/i3d": arrays["v_1/i3d"]}, path, "--array", "v_1/i3*")
        self.check({"in/both.hdf5": arrays["v_1/i3d"]}, path, "--array", "v_1/i3d")
        # Each dataset is a sequence; those of another form than the first are skipped.
        dataset = self.check(wanted, self.path("in"), "--array", "v_[0-2]/*", status=3)
        self.assertEqual(len(dataset.sequences), 7)  # one.h5 has no such dataset

    def test_large_ones(self):
        array = values("f4", (3000, 700))
        for axis in 0, 1:
            for name, options in (("a.h5", {"chunks": (100, 64), "compression": "gzip", "compression_opts": 1}), ("b.h5", {})):
                self.h5(name, {"x": array}, **options)
                dataset = Dataset(self.pack("big", name, "--time-axis", axis, "-T", 333, "--oversize",
                                            "split", "-j", 2, cwd=self.directory))
                self.assertSameArray(read(dataset, name), np.moveaxis(array, axis, 0), name)

    def test_isolation_makes_no_difference(self):
        path = self.h5("c.h5", {f"v_{i}": values("f4", (25 + i, 6), i) for i in range(12)}, chunks=(4, 6), compression="gzip")
        made = [self.pack("out" + how, path, "-T", 9, "--oversize", "split", "--isolate", how) for how in ("on", "off")]
        files = [{name: tool.read(os.path.join(folder, name)) for folder, _, names in os.walk(out) for name in names if name.endswith("tensors")}
                 for out in made]
        self.assertEqual(*files)

    def test_features_beside_other_sequences(self):
        arrays = {f"v_{i}": values("f4", (12 + i, 6), i) for i in range(3)}
        self.h5("c3d.h5", arrays)
        os.makedirs(self.path("poses"))
        for name, array in arrays.items():
            np.save(self.path("poses", name + ".npy"), array[:, :2])
        tool.write(self.path("c.yaml"), b"sources: [poses]\nT: 20\nfields:\n- name: c3d\n  kind: array\n  path: 'c3d.h5#/{stem}'\n")
        dataset = Dataset(self.pack("out", "-c", self.path("c.yaml")))
        for name, array in arrays.items():
            pieces = dataset.pieces_of(name + ".npy")
            got = np.concatenate([dataset.block(b, "c3d")[start:start + length] for b, start, length, _ in pieces])
            self.assertSameArray(got, array, name)

    def test_matlab(self):
        array = values("f8", (40, 5))
        os.makedirs(self.path("m"), exist_ok=True)
        with h5py.File(self.path("m", "a.mat"), "w", userblock_size=512) as file:
            # MATLAB's order: the first axis varies fastest, and HDF5 writes its axes in reverse.
            made = file.create_dataset("feats", data=array.T, chunks=(2, 8), compression="gzip")
            made.attrs["MATLAB_class"] = np.bytes_("double")
            name = file.create_dataset("name", data=np.frombuffer("video".encode("utf-16-le"), "u2")[:, None])
            name.attrs["MATLAB_class"] = np.bytes_("char")
            empty = file.create_dataset("none", data=np.array([0, 0], "u8"))
            empty.attrs["MATLAB_class"] = np.bytes_("double")
            empty.attrs["MATLAB_empty"] = np.uint8(1)
            file.create_dataset("#refs#/a", data=np.ones((1, 1)))
        with open(self.path("m", "a.mat"), "r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\2IM")
        self.check({"m/a.mat": array}, self.path("m", "a.mat"), "--array", "feats")
        dataset = self.check({"a.mat#/feats": array}, self.path("m"), status=3)
        self.assertIn("a char of MATLAB: only numbers can be read", dataset.row("a.mat#/name")["reason"])
        self.assertIn("an empty array of MATLAB", dataset.row("a.mat#/none")["reason"])
        self.assertEqual(len(dataset.sequences), 3)
        tool.write(self.path("old.mat"), b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\1IM" + b"\0" * 400)
        self.assertIn("a MATLAB file of version 5: save it with -v7.3, or python3 -m bload.arrays", self.reason(self.path("old.mat")))

    def test_what_is_wrong_with_an_hdf5_file_is_named(self):
        array = values("f4", (40, 5))
        good = self.h5("good.h5", {"a/x": array, "y": array})
        self.assertIn('no array "z" in the file, but a/x, y', self.reason(good, "--array", "z"))
        self.assertIn('no array "z" in the file, but a/x, y', self.reason(good + "#/z"))
        data = tool.read(good)
        for name, content, words in (("cut.h5", data[:-900], "damaged or truncated: HDF5 says: truncated file"),
                                     ("no.h5", b"no such file" * 99, "damaged or truncated: HDF5 says:"), ("none.h5", b"", "empty file"),
                                     ("x.npy", data, "an HDF5 file: give it a name that ends with .h5")):
            tool.write(self.path(name), content)
            self.assertIn(words, self.reason(self.path(name)))
        for name, make, words in (
                ("scalar", lambda f: f.create_dataset("x", data=3.0), "a single number"),
                ("text", lambda f: f.create_dataset("x", data=["a", "b"]), "its elements are texts"),
                ("pairs", lambda f: f.create_dataset("x", data=np.zeros(3, [("r", "f4"), ("i", "f4")])), "its elements are structures of 8 bytes"),
                ("null", lambda f: f.create_dataset("x", data=h5py.Empty("f4")), "a dataset without elements"),
                ("empty", lambda f: f.create_dataset("x", data=np.zeros((0, 4))), "no steps"),
                ("huge", lambda f: f.create_dataset("x", (2 ** 40, 64), "f4", chunks=(64, 64), compression="gzip"), "truncated: its shape is that of"),
                ("filter", lambda f: f.create_dataset("x", data=array, compression="lzf"), "compressed by the filter 32000 (lzf), which"),
                ("out", lambda f: f.create_dataset("x", shape=(4,), dtype="f4", external=[("raw", 0, 16)]), "its elements are in other files"),
                ("no", lambda f: f.create_group("g"), "an HDF5 file without arrays")):
            with h5py.File(self.path(name + ".h5"), "w") as file:
                make(file)
            self.assertIn(words, self.reason(self.path(name + ".h5")), name)

    def test_a_damaged_group_costs_what_follows(self):
        arrays = {f"g{i}/x": values("f4", (8, 2), i) for i in range(4)}
        path = self.h5("spoilt.h5", arrays)
        with h5py.File(path) as file:
            at = h5py.h5o.get_info(file["g2"].id).addr
        data = bytearray(tool.read(path))
        data[at:at + 8] = b"\xff" * 8
        tool.write(path, data)
        for words in [], ["--array", "*/x"]:
            dataset = self.check({f"spoilt.h5#/{key}": arrays[key] for key in ("g0/x", "g1/x")}, path, *words, status=3)
            self.assertRegex(dataset.row("spoilt.h5")["reason"], r"^arrays after the first 2 cannot be listed: g2: HDF5 says: ")
            self.assertEqual(len(dataset.sequences), 3)

    def test_without_the_library(self):
        """The run is refused before it starts, with the package to install; other arrays need none."""
        path, out = self.h5("one.h5", {"x": values("f4", (5, 3))}), self.path("without")
        subprocess.run([os.environ.get("CC", "cc"), "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", self.path("poor.so"),
                        os.path.join(tool.ROOT, "tests/cli/poor_machine.c"), "-ldl"], check=True)
        poor = {**os.environ, "LD_PRELOAD": self.path("poor.so"), "POOR": "hdf5"}
        for words in [path], [path + "#/x"], [path, "--isolate", "off"], [path, "--array", "x"]:
            done = subprocess.run([tool.BLOAD, "pack", *words, "-T", "9", "-o", out], env=poor, capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr, r"\Abload: pack: HDF5 files need HDF5's library, which is not installed \(Debian, Ubuntu: apt install [^\n]*\n\Z")
        safetensors.numpy.save_file({"x": values("f4", (5, 3))}, self.path("one.safetensors"))
        subprocess.run([tool.BLOAD, "pack", "-q", self.path("one.safetensors"), "-T", "9", "-o", out], env=poor, check=True)

    def test_links_lead_nowhere_else(self):
        array = values("f4", (40, 5))
        self.h5("secret.h5", {"x": array})
        with h5py.File(self.path("links.h5"), "w") as file:
            file["a"] = array
            file["soft"] = h5py.SoftLink("/a")
            file["out"] = h5py.ExternalLink(self.path("secret.h5"), "/x")
        self.check({"links.h5": array}, self.path("links.h5"))
        for how in "on", "off":
            self.assertIn('no array "out" in the file, but a', self.reason(self.path("links.h5") + "#/out", "--isolate", how))
        with h5py.File(self.path("loop.h5"), "w") as file:
            file["g/x"] = array
            file["g/up"] = file["g"]
        self.assertIn("more than 32 groups in each other", self.reason(self.path("loop.h5"), "--array", "none"))

