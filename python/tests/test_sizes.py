"""Tables of the lengths of multimodal chats, and the sizes of pictures from their headers."""
import contextlib
import io
import os
import struct
import tarfile
import unittest
import zlib

from PIL import Image, ImageOps

import tool
from bload._core.errors import OptionError
from bload._core.size_table import SizeTable, in_order
from bload._core.sizes import size_of
from harness import each, expand
from sample import Sample

TAG = 0x0112


def oriented(orientation):
    """Return EXIF with an orientation."""
    exif = Image.Exif()
    exif[TAG] = orientation
    return exif


def saved(kind, **options):
    """Return a picture of 7 x 4 pixels as a file of this format."""
    file = io.BytesIO()
    Image.new("RGB", (7, 4)).save(file, kind, **options)
    return file.getvalue()


def late(chunk, data):
    """Return a PNG with a chunk behind its pixels."""
    whole = saved("PNG")
    end = whole.index(b"IEND") - 4
    return whole[:end] + struct.pack(">I", len(data)) + chunk + data + struct.pack(">I", zlib.crc32(chunk + data)) + whole[end:]


@expand
class Headers(unittest.TestCase):
    @each([(f"{kind}_{orientation}", saved(kind, **({"exif": oriented(orientation)} if orientation else {})))
           for kind in ("JPEG", "PNG", "WEBP") for orientation in range(9)]
          + [(kind, saved(kind)) for kind in ("GIF", "BMP", "PPM")]
          + [("PNG_late", late(b"eXIf", oriented(6).tobytes()[6:])), ("PNG_late_2", late(b"eXIf", oriented(2).tobytes()[6:])),
             ("PNG_xmp", late(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0<x tiff:Orientation=\"8\"/>")),
             ("PNG_text", late(b"tEXt", b"Comment\0eXIf"))])
    def test(self, name, data):
        """The size is that of the picture that is decoded and rotated as it says."""
        expected = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).size
        self.assertEqual(expected, (4, 7) if name[-1] in "5678" or name in ("PNG_late", "PNG_xmp") else (7, 4))
        with Image.open(io.BytesIO(data)) as picture:
            self.assertEqual(size_of(picture), expected)
            is_decoded = name in ("PNG_late", "PNG_late_2", "PNG_xmp", "PNG_text")
            self.assertEqual(getattr(picture, "_im", None) is not None, is_decoded)


class Table(Sample):
    def test_table(self):
        """A table as bload reads it: texts as they are but for escapes, null as nothing, and all else as JSON."""
        path = self.path("t.tsv")
        with SizeTable(path, ["a", "b"], ["pixel_values"]) as table:
            table.add("x/1", 9, {"a": "tab\t \\ line\r\n \udcff \ud83d", "b": [1, "é", None]}, {"pixel_values": 4, "others": 1})
            table.add("x/2", 8, {"a": None, "b": True}, {})
            table.skip("x/#3", "no file")
        self.assertEqual(tool.text(path), "id\tlength\tstatus\treason\ta\tb\tpixel_values.length\n"
                         "x/1\t9\tok\t\ttab\\t \\\\ line\\r\\n \\xFF ?\t[1, \"\\\\u00e9\", null]\t4\nx/2\t8\tok\t\t\ttrue\t0\nx/#3\t0\tskipped\tno file\t\t\t0\n")
        plan, _ = self.bload("plan", "-T", "20", "--capacity", "pixel_values=4", path)
        self.assertEqual(sorted(line.split("\t")[1] for line in plan.splitlines()[1:]), ["0", "1"])
        for name in "length", "stream", "pixel_values.length":
            with self.assertRaisesRegex(OptionError, f"--keep {name}: the table has a column"):
                SizeTable(None, ["a", name], ["pixel_values"])

    def test_fails(self):
        """A table that is not complete does not appear, and the one before it stays."""
        path = self.path("f.tsv")
        tool.write(path, "before")
        with contextlib.suppress(KeyError), SizeTable(path, [], []):
            raise KeyError
        self.assertEqual(tool.text(path), "before")

    def test_order(self):
        """Inputs have the order and the names that their tars have in a dataset."""
        names = "b10.jsonl", "d/b9.jsonl", "a.json.gz", "c/a.csv", "B.tar", "b09x.jsonl", "b009.jsonl"
        self.assertEqual([stem for stem, _ in in_order(names)], ["B", "a-2", "a", "b009", "b9", "b09x", "b10"])
        os.makedirs(self.path("tars"))
        for stem, _ in in_order(names):
            with tarfile.open(self.path("tars", f"{stem}.tar"), "w") as file:
                member = tarfile.TarInfo("x.txt")
                member.size = 1
                file.addfile(member, io.BytesIO(b"x"))
        table, _ = self.bload("scan", "-q", "--kind", "text", "--tokenizer", "bytes", self.path("tars"))
        self.assertEqual([line.partition("/")[0] for line in table.splitlines()[1:]], [stem for stem, _ in in_order(names)])
