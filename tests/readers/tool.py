"""The tool under test, and places for what it makes."""
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOAD = os.environ.get("BLOAD", os.path.join(ROOT, "bload"))
CONVERT_RAW = os.environ.get("CONVERT_RAW", os.path.join(ROOT, "build/release/tests/convert_raw"))
SHARED = os.environ.get("BLOAD_SHARED", os.path.join(ROOT, "../shared"))
MEDIA = os.path.join(SHARED, "data/media")


class Tool(unittest.TestCase):
    """A test with an empty directory for its class, gone at the end."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="bload-readers-")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.directory)

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def bload(self, *arguments, status=0, cwd=None):
        """Runs the tool, which must end with one of the statuses; gives its standard output and error."""
        done = subprocess.run([BLOAD, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=300)
        allowed = status if isinstance(status, tuple) else (status,)
        self.assertIn(done.returncode, allowed, f"bload {' '.join(map(str, arguments))}\n{done.stderr}")
        return done.stdout, done.stderr

    def pack(self, name, *arguments, status=0, cwd=None):
        """Packs into a directory of that name, made afresh, and gives its path."""
        out = self.path(name)
        for stale in out, out + ".restored":
            shutil.rmtree(stale, ignore_errors=True)
        self.bload("pack", "-q", *arguments, "-o", out, status=status, cwd=cwd)
        return out

    def assertSameTree(self, one, other, differing=()):
        """The same files with the same bytes; those named in differing may differ."""
        self.assertEqual(files_of(one), files_of(other))
        for name in files_of(one):
            if name not in differing:
                with open(os.path.join(one, name), "rb") as a, open(os.path.join(other, name), "rb") as b:
                    self.assertTrue(a.read() == b.read(), f"{name} differs between {one} and {other}")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, data):
    """A file of these bytes, or of this text."""
    with open(path, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)


def files_of(directory):
    """Every file below a directory, by its path from there."""
    return sorted(os.path.relpath(os.path.join(folder, name), directory)
                  for folder, _, names in os.walk(directory) for name in names)
