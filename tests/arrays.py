"""Makes a folder of arrays, with Python's own library alone: good ones of every form, which agree, and others that are of no use.

    arrays.py FOLDER
"""
import io
import os
import struct
import sys
import zipfile


def npy(shape, values, descr="<f4", fortran=False, version=1):
    """An NPY file; values in the order in which they lie."""
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({', '.join(map(str, shape))},), }}".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(header) + 1)
    code = {"f4": "f", "f8": "d", "i2": "h"}[descr[1:]]
    data = struct.pack(f"{'>' if descr[0] == '>' else '<'}{len(values)}{code}", *values)
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + b"\n" + data


def npz(members, method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def good(steps):
    """(T, 3, 2) of small numbers."""
    return [t * 10 + i for t in range(steps) for i in range(6)]


def files():
    fortran = [t * 10 + b * 2 + a for a in range(2) for b in range(3) for t in range(700)]
    long = npy((3000, 3, 2), good(3000))
    yield "a10.npy", npy((400, 3, 2), good(400))
    yield "a2.npy", npy((900, 3, 2), good(900), ">f4", version=2)
    yield "b.npy", npy((700, 3, 2), fortran, fortran=True, version=3)
    yield "sub/c.npz", npz({"x.npy": npy((500, 3, 2), good(500))}, zipfile.ZIP_STORED)
    yield "sub/d.npz", npz({"x.npy": long}, zipfile.ZIP_DEFLATED)
    spoilt = bytearray(npz({"x.npy": long}, zipfile.ZIP_STORED))
    spoilt[len(spoilt) - 400] ^= 1
    yield "sub/spoilt.npz", bytes(spoilt)
    yield "unlike.npy", npy((5, 3), range(15))
    yield "cut.npy", long[:-7]
    yield "twice.npy", npy((40, 3, 2), good(40)) * 2
    yield "objects.npy", npy((1,), [1], "<i2").replace(b"'<i2'", b"'|O' ") + b"\x80\x04N."
    yield "none.npy", npy((0, 3, 2), [])
    yield "two.npz", npz({"x.npy": long, "y.npy": long}, zipfile.ZIP_DEFLATED)
    yield "empty.npy", b""


for name, data in files():
    path = os.path.join(sys.argv[1], name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
