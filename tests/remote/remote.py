"""What the tests of reading from afar share: datasets of every form, and a server for them."""
import os
import warnings

import numpy as np

import bload
from sample import Sample
from server import Server


def same(test, one, other):
    """Two blocks or sequences with the same content; lists of JPEG files too."""
    test.assertEqual(sorted(one), sorted(other))
    for name, value in one.items():
        told = other[name]
        if isinstance(value, list):
            value, told = [np.asarray(part).tobytes() for part in value], [np.asarray(part).tobytes() for part in told]
            test.assertEqual(value, told, name)
        else:
            value, told = np.asarray(value), np.asarray(told)
            test.assertEqual((value.dtype, value.shape, value.tobytes()), (told.dtype, told.shape, told.tobytes()), name)


class Far(Sample):
    """A test with sources in its directory, which a server serves. Each test has a server and a cache of its own."""
    documents = 60

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        warnings.simplefilter("ignore", ResourceWarning)

    def setUp(self):
        self.server = Server(self.directory)
        self.cache = self.path("cache-" + self._testMethodName)

    def tearDown(self):
        self.server.__exit__()

    def url(self, path):
        return f"{self.server.url}/{os.path.relpath(path, self.directory)}"

    def far(self, path, **options):
        """The dataset in a directory, opened by its URL."""
        options.setdefault("cache", self.cache)
        return bload.open(self.url(path), **{"retries": 3, "timeout": 2.0, **options})

    def asked(self, part):
        """The ranges of requests for files whose path has this part."""
        return [(begin, end) for path, begin, end in self.server.requests if part in path]


def bytes_below(folder):
    """The bytes of all files below a folder."""
    return sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(folder) for name in names)
