"""What python -m bload.X prints begins with bload.X, whatever it is."""
import glob
import os
import re
import subprocess
import sys

import tool
from harness import each, expand

PACKAGE = os.path.join(tool.ROOT, "python/bload")
# name: arguments of a command that fails
FAILING = {"chat": ("--model", "nowhere", "nothing.jsonl"), "lerobot": ("nowhere", "-o", "out"), "parquet": ("nowhere.parquet",)}


@expand
class Commands(tool.Tool):
    def test_all_are_here(self):
        found = set()
        for path in glob.glob(os.path.join(PACKAGE, "*.py")):
            with open(path) as file:
                if '__name__ == "__main__"' in file.read():
                    found.add(os.path.basename(path)[:-3])
        self.assertEqual(found, set(FAILING))

    @each([(name, name) for name in FAILING])
    def test_prefix(self, _, name):
        done = subprocess.run([sys.executable, "-m", f"bload.{name}", *FAILING[name]], capture_output=True, text=True, cwd=self.directory)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, rf"\A(bload\.{name}: [^\n]+\n)+\Z")

    @each([(name, name) for name in FAILING])
    def test_no_other_prefix(self, _, name):
        """All messages go through the one function that has it."""
        with open(os.path.join(PACKAGE, f"{name}.py")) as file:
            text = file.read()
        self.assertEqual(len(re.findall(rf'f"bload\.{name}: ', text)), 1)
        self.assertEqual(len(re.findall(r"sys\.stderr", text)), 1)
