"""The tables of Unicode that are checked in are what scripts/unicode.py writes."""
import os
import shutil
import subprocess
import sys
import unittest

import harness

SCRIPT = os.path.join(harness.HERE, "..", "..", "scripts", "unicode.py")


class Unicode(unittest.TestCase):
    long = True

    @unittest.skipUnless(shutil.which("perl"), "no perl, which knows the age of code points")
    def test_tables(self):
        done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
