"""Arrays: what is in the blocks is what numpy reads from the same files, for every type, order, version and axis."""
import io
import os
import struct
import unittest.mock
import zipfile

import numpy as np

import tool
from dataset import Dataset
from harness import each

TYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
SHAPES = {0: ((11, 3, 2), (1, 3, 2), (26, 3, 2)), 1: ((3, 11, 2), (3, 1, 2), (3, 26, 2)), 2: ((3, 2, 11), (3, 2, 1), (3, 2, 26)),
          -1: ((11,), (1,), (300,)), -2: ((3, 1, 11, 2), (3, 1, 1, 2), (3, 1, 26, 2))}


def values(dtype, shape, seed):
    """Every bit pattern that the type has, but no NaN: those are unlike themselves."""
    random = np.random.default_rng(seed)
    if dtype == "?":
        return random.integers(0, 2, shape).astype("?")
    got = np.frombuffer(random.bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype).reshape(shape)
    return np.nan_to_num(got, nan=7) if dtype[0] == "f" else got


def npy(array, version):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version, allow_pickle=False)
    return out.getvalue()


def write(path, data):
    tool.write(path, data)


def write_all(folder, dtype, axis):
    """Files of every order and form in the folder; the arrays by name."""
    os.makedirs(folder, exist_ok=True)
    arrays = {}
    for i, shape in enumerate(SHAPES[axis]):
        for order in "CF":
            for byte_order in "<>":
                name = f"{'le' if byte_order == '<' else 'be'}{order}{i}"
                array = np.array(values(dtype, shape, i), order=order).astype(np.dtype(dtype).newbyteorder(byte_order))
                version = ((1, 0), (2, 0), (3, 0))[i]
                write(os.path.join(folder, name + ".npy"), npy(array, version))
                arrays[name + ".npy"] = array
                if byte_order == "<":
                    np.savez(os.path.join(folder, "stored" + name), x=array, other=np.zeros(3))
                    np.savez_compressed(os.path.join(folder, "deflated" + name), other=np.zeros(3), x=array)
                    arrays["stored" + name + ".npz"] = arrays["deflated" + name + ".npz"] = array
    return arrays


def expected(array, axis, squeeze):
    """Steps first; in the machine's own order of bytes."""
    steps = np.moveaxis(array, axis, 0)
    if squeeze:
        steps = steps.reshape(steps.shape[:1] + tuple(n for n in steps.shape[1:] if n != 1))
    return np.ascontiguousarray(steps).astype(array.dtype.newbyteorder("="))


def read(dataset, name, field="array"):
    return np.concatenate([dataset.block(b, field)[start:start + length]
                           for b, start, length, _ in dataset.pieces_of(name)])


class Arrays(tool.Tool):
    def assertSameArray(self, got, wanted, message):
        self.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape), message)
        self.assertEqual(got.tobytes(), wanted.tobytes(), message)

    def check(self, folder, arrays, axis, *options, squeeze=False):
        out = self.pack("out", folder, "--kind", "array", "--array", "x", "--time-axis", axis, *options)
        self.bload("verify", "-q", out)
        dataset = Dataset(out)
        self.assertEqual(len(dataset.sequences), len(arrays))
        for name, array in arrays.items():
            self.assertEqual(int(dataset.row(name)["length"]), array.shape[axis])
            self.assertSameArray(read(dataset, name), expected(array, axis, squeeze), name)
        return dataset

    @each(TYPES)
    def test_every_type_order_and_axis(self, dtype):
        for axis in SHAPES:
            folder = self.path(f"in{axis}")
            arrays = write_all(folder, dtype, axis)
            self.check(folder, arrays, axis, "-T", "longest", "--squeeze", squeeze=True)
            if dtype in ("?", "u2", "f8"):
                self.check(folder, arrays, axis, "-T", 7, "--oversize", "split", "-j", 3)

    def test_padding_is_zeros(self):
        np.save(self.path("one.npy"), np.ones((5, 2), "f8"))
        dataset = Dataset(self.pack("padded", self.path("one.npy"), "--kind", "array", "-T", 8, "--name", "features"))
        block = dataset.block(0, "features")
        self.assertSameArray(block, np.concatenate([np.ones((5, 2)), np.zeros((3, 2))]), "block")

    def test_doubles_to_singles(self):
        folder = self.path("doubles")
        os.makedirs(folder)
        wide = np.random.default_rng(5).normal(size=(40, 3)) * 10.0 ** np.arange(-50, 70)[:120].reshape(40, 3)
        with np.errstate(over="ignore"):
            wanted = wide.astype("f4")
        for name, array in {"c": wide, "f": np.asfortranarray(wide), "be": wide.astype(">f8"), "s": wanted}.items():
            np.save(os.path.join(folder, name + ".npy"), array)
        out = self.pack("singles", folder, "--kind", "array", "--dtype", "f32", "-T", 16, "--oversize", "split", status=3)
        dataset = Dataset(out)
        infinite = int(np.isinf(wanted).sum())
        self.assertGreater(infinite, 0)
        for name in "c", "f", "be", "s":
            self.assertSameArray(read(dataset, name + ".npy"), wanted, name)
            told = [int(part.split()[0]) for part in dataset.row(name + ".npy")["reason"].split("; ") if part]
            self.assertEqual(sum(told), 0 if name == "s" else infinite)

    def test_large_ones_in_tiles(self):
        folder = self.path("large")
        os.makedirs(folder)
        array = np.random.default_rng(6).normal(size=(700, 900)).astype("f4")
        np.save(os.path.join(folder, "a.npy"), array)
        np.savez_compressed(os.path.join(folder, "b.npz"), array)
        for axis in 0, 1:
            dataset = Dataset(self.pack("tiles", folder, "--kind", "array", "--time-axis", axis, "-T", 333, "--oversize", "split"))
            for name in "a.npy", "b.npz":
                self.assertSameArray(read(dataset, name), expected(array, axis, False), name)

    def test_deflated_ones_in_many_pieces(self):
        folder = self.path("many")
        os.makedirs(folder)
        arrays = {f"{i}.npz": np.random.default_rng(i).integers(0, 50, (3000 + i, 40), dtype="i2") for i in range(4)}
        for i, (name, array) in enumerate(arrays.items()):
            np.savez_compressed(os.path.join(folder, name), np.asfortranarray(array) if i == 3 else array)
        shards = set()
        for jobs, spool in (1, None), (2, None), (5, self.path("spool")):
            options = ["--spool", spool] if spool else []
            out = self.pack(f"many{jobs}", folder, "-T", 100, "--oversize", "split", "-j", jobs, *options)
            dataset = Dataset(out)
            for name, array in arrays.items():
                self.assertGreaterEqual(len(dataset.pieces_of(name)), 30)
                self.assertSameArray(read(dataset, name), array, name)
            shards.add(tool.read(os.path.join(out, "shards.tsv")))
            self.assertFalse(os.listdir(spool) if spool else os.path.exists(os.path.join(out, ".bload")))
        self.assertEqual(len(shards), 1)

    def test_the_first_decides(self):
        folder = self.path("mixed")
        os.makedirs(folder)
        shapes = {"a": (0, 4), "b": (3, 4), "c": (5, 4), "d": (5, 5), "e": (5,), "f": (5, 4)}
        for name, shape in shapes.items():
            np.save(os.path.join(folder, name + ".npy"), np.ones(shape, "i4" if name == "f" else "f4"))
        for jobs in 1, 2, 16:
            table, _ = self.bload("scan", "-q", folder, "--kind", "array", "-j", jobs, status=3)
            rows = {row[0]: row for row in (line.split("\t") for line in table.split("\n")[1:-1])}
            self.assertEqual([rows[n + ".npy"][1] for n in shapes], ["0", "3", "5", "0", "0", "0"])
            self.assertEqual(rows["a.npy"][6], "no steps: its shape is (0, 4)")
            for name, form in {"d": "F32 [5]", "e": "F32 []", "f": "I32 [4]"}.items():
                self.assertEqual(rows[name + ".npy"][6], f"its steps are {form}, those of the first (b.npy) F32 [4]")
        # Rows that nobody compared fail when they are read; the first of the table decides, not the first that is read.
        table = "id\tlength\tkind\tpath\n" + "".join(f"{n}\t5\tarray\t{folder}/{n}.npy\n" for n in "cdef")
        write(self.path("table.tsv"), table.encode())
        out = self.pack("failed", "--sequences", self.path("table.tsv"), "-T", 5, "-j", 3, status=3)
        dataset = Dataset(out)
        self.assertEqual([row["status"] for row in dataset.sequences], ["ok", "failed", "failed", "failed"])
        self.assertEqual(dataset.row("d")["reason"], "its steps are F32 [5], those of the dataset F32 [4]")

    def test_archives_beyond_4_gib_and_odd_names(self):
        array = np.arange(12, dtype="i2").reshape(6, 2)
        for method in zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED:
            with unittest.mock.patch.object(zipfile, "ZIP64_LIMIT", 1), \
                    zipfile.ZipFile(self.path("big.npz"), "w", method) as archive:
                for name in "é", "a b", "é" * 90:
                    archive.writestr(name + ".npy", npy(array if name == "é" else array + 1, (1, 0)))
            self.assertIn(b"PK\6\6", tool.read(self.path("big.npz")))
            out = self.pack("zip64", self.path("big.npz"), "--array", "é", "-T", 6)
            self.assertSameArray(read(Dataset(out), self.path("big.npz")), array, "zip64")

    def reason(self, data, *options, name="a.npy"):
        """Why a file with these bytes cannot be used."""
        write(self.path(name), data)
        table, _ = self.bload("scan", "-q", self.path(name), "--kind", "array", *options, status=3)
        row = table.split("\n")[1].split("\t")
        self.assertEqual(row[5], "skipped")
        return row[6]

    def header(self, text, data=b""):
        text = text.encode()
        return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + data

    def test_what_is_no_array_is_named(self):
        good = npy(np.ones((4, 2), "f4"), (1, 0))
        shape = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"
        for data, words in (
                (b"", "empty file"), (b"x" * 50, "no file of arrays: neither NPY, NPZ, safetensors nor HDF5"),
                (good[:-5], "truncated: the header promises 32 bytes of elements, 27 are there"),
                (good[:40], "truncated: it ends at byte 40"), (good[:8], "truncated"),
                (good[:6] + b"\4" + good[7:], "unknown NPY version 4.0"),
                (self.header(shape % f"{2 ** 60},"), "truncated: the header promises 4611686018427387904 bytes of elements, 0 are"),
                (self.header(shape % f"{2 ** 60}, 4"), "more than 2^63 bytes"),
                (self.header(shape % f"0, {2 ** 62}, {2 ** 62}"), "no steps"),
                (self.header(shape % f"{2 ** 64},"), "an axis of 18446744073709551616"),
                (self.header(shape % "-1,"), "malformed NPY header"), (self.header(shape % "5 5"), "malformed NPY header"),
                (self.header(shape % "1, " * 65), "malformed NPY header"), (self.header("{}"), "malformed NPY header"),
                (self.header((shape % "1,").replace("'shape'", "'form'")), "malformed NPY header"),
                (self.header(shape % "1," + "import os"), "malformed NPY header"),
                (npy(np.array(3.0), (1, 0)), "a single number"), (npy(np.ones((2, 0)), (1, 0)), "steps without elements"),
                (npy(np.ones((1,) * 6), (1, 0)), "more than 4 axes beside time"),
                (npy(np.ones(3, "c8"), (1, 0)), "complex numbers ('<c8')"), (npy(np.array(["a"]), (1, 0)), "'<U1'"),
                (npy(np.ones(3, "M8[s]"), (1, 0)), "'<M8[s]'"), (npy(np.ones(3, "V2"), (1, 0)), "'|V2'"),
                (npy(np.zeros(3, [("a", "i4")]), (1, 0)), "a structured array"),
                (self.header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"\x80\4N."), "Python objects"),
                (b"\x80\4N.", "a pickle, which is never read")):
            self.assertIn(words, self.reason(data))
        self.assertIn("no such axis (--time-axis): its shape is (4, 2)", self.reason(good, "--time-axis", 2))
        self.assertIn("no such axis (--time-axis): its shape is (4, 2)", self.reason(good, "--time-axis", -3))

    def test_what_follows_an_array_is_counted(self):
        write(self.path("twice.npy"), npy(np.ones((4, 2), "f4"), (1, 0)) * 2)
        table, _ = self.bload("scan", "-q", self.path("twice.npy"), "--kind", "array", status=3)
        self.assertEqual(table.split("\n")[1].split("\t")[5:7], ["ok", "160 bytes follow the array: left out"])

    def archive(self, members, method=zipfile.ZIP_DEFLATED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        return out.getvalue()

    def test_what_is_wrong_with_an_archive_is_named(self):
        good = npy(np.ones((50, 2), "f4"), (1, 0))
        many = {f"n{i}.npy": good for i in range(7)}
        whole = self.archive({"x.npy": good})
        lying = self.header("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % 2 ** 50, b"\0" * 1000)
        bomb = bytearray(whole)
        for at in 22, whole.rindex(b"PK\1\2") + 24:
            bomb[at:at + 4] = struct.pack("<I", 2 ** 31)
        for data, words in (
                (self.archive({}), "an archive without arrays"), (self.archive({"a.txt": b"x"}), "an archive without arrays"),
                (self.archive(many), "7 arrays (n0, n1, n2, n3, n4...): choose one with --array"),
                (self.archive({"x.npy": b"no"}), "truncated: it ends at byte 2"),
                (self.archive({"x.npy": b"not at all"}), "not an NPY file"),
                (self.archive({"x.npy": good}, zipfile.ZIP_BZIP2), "neither stored nor deflated"),
                (self.archive({"x.npy": lying}), "truncated: the header promises 4503599627370496 bytes of elements, 1000 are there"),
                (bytes(bomb), "damaged archive: an array of 2147483648 bytes"),
                (whole[:100], "damaged archive"), (b"PK\3\4" + b"\0" * 40, "damaged archive")):
            self.assertIn(words, self.reason(data, name="a.npz"))
        self.assertIn('no array "y" in the archive, but n0, n1', self.reason(self.archive(many), "--array", "y", name="a.npz"))

    def test_damage_within_an_archive_costs_that_array(self):
        folder = self.path("spoilt")
        os.makedirs(folder)
        array = np.random.default_rng(7).integers(0, 9, (100000, 4))
        for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
            data = bytearray(self.archive({"x.npy": npy(array, (1, 0))}, method))
            write(os.path.join(folder, name + "-good.npz"), data)
            data[len(data) // 2] ^= 1
            write(os.path.join(folder, name + "-bad.npz"), data)
        for options in ("-T", 100000), ("-T", 20000, "--oversize", "split"):
            dataset = Dataset(self.pack("spoilt-out", folder, *options, status=3))
            self.assertEqual({row["id"]: row["status"] for row in dataset.sequences},
                             {f"{n}-{q}.npz": "ok" if q == "good" else "failed" for n in ("stored", "deflated") for q in ("good", "bad")})
            for name in "stored", "deflated":
                self.assertIn("damaged archive", dataset.row(name + "-bad.npz")["reason"])
                self.assertSameArray(read(dataset, name + "-good.npz"), array, name)


class Segments(tool.Tool):
    """A line of a list is rows of an array: the slice that numpy takes, of every form and order of file."""

    @each((0, 1, 2))
    def test(self, axis):
        folder = self.path("in")
        arrays = write_all(folder, "f4", axis)
        random = np.random.default_rng(axis)
        lines, wanted = ["path,start,end,id"], {}
        for name, array in arrays.items():
            length = array.shape[axis]
            for i in range(4):
                begin = int(random.integers(0, length))
                end = int(random.integers(begin + 1, length + 1))
                lines.append(f"in/{name},{begin},{end},{name}#{i}")
                wanted[f"{name}#{i}"] = expected(array, axis, False)[begin:end]
        write(self.path("list.csv"), "\n".join(lines).encode())
        for options in (), ("-T", 5, "--oversize", "split"):
            out = self.pack("out", self.path("list.csv"), "--kind", "array", "--array", "x", "--time-axis", axis,
                            *(options or ("-T", "longest")))
            dataset = Dataset(out)
            self.assertEqual(len(dataset.sequences), len(wanted))
            for name, rows in wanted.items():
                np.testing.assert_array_equal(read(dataset, name), rows, name)
