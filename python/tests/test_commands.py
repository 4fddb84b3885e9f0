"""What python -m bload.X prints begins with bload.X, whatever it is."""
import contextlib
import glob
import io
import os
import re
import shutil
import subprocess
import sys

import bload
import bload.chat
import bload.parquet
import tool
from harness import each

PACKAGE = os.path.join(tool.ROOT, "python/bload")
# name: arguments of a command that fails
FAILING = {"arrays": ("nowhere.pt", "-o", "out"), "launch": ("local", "-n", "2", "--", "pack", "nowhere", "-T", "9", "-o", "out"),
           "chat": ("--model", "nowhere", "nothing.jsonl"), "lerobot": ("nowhere", "-o", "out"),
           "parquet": ("nowhere.parquet",),
           "multimodal": ("--processor", "nowhere", "nothing.jsonl", "-o", "out", "-T", "9")}


class Commands(tool.Tool):
    def test_all_are_here(self):
        found = set()
        for path in glob.glob(os.path.join(PACKAGE, "*.py")):
            with open(path) as file:
                if '__name__ == "__main__"' in file.read():
                    found.add(os.path.basename(path)[:-3])
        self.assertEqual(found, {*FAILING, "__main__"})

    def test_option_given_twice(self):
        """A second value does not replace the first in silence."""
        given = bload.chat.parser().parse_args(["x", "--model", "m", "--keep", "a", "--keep", "b,c", "--workers", "2", "--workers", "2"])
        self.assertEqual((given.keep, given.workers), (["a", "b", "c"], 2))
        self.assertEqual(bload.chat.parser().parse_args("x --model m --model n".split()).model, "n")
        out = io.StringIO()
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(out):
            bload.parquet.parser().parse_args("x --columns a --columns b".split())
        self.assertIn("argument --columns: given twice, as a and b: give one list, separated by commas", out.getvalue())

    def tool(self, package, path):
        """(status, output, messages) of python -m bload --version, of the package in that folder, with that PATH."""
        done = subprocess.run([sys.executable, "-m", "bload", "--version"], capture_output=True, text=True, cwd=self.directory,
                              env={**os.environ, "PYTHONPATH": package, "PATH": path})
        return done.returncode, done.stdout, done.stderr

    def test_tool(self):
        """Without a name after bload it is the tool: that in the package, else that on the PATH."""
        source, here = os.path.dirname(PACKAGE), os.path.dirname(os.path.abspath(tool.BLOAD))
        status, output, messages = self.tool(source, here)
        self.assertEqual((status, output.splitlines()[0], messages), (0, f"bload {bload.__version__}", ""))
        status, output, messages = self.tool(source, self.directory)
        self.assertEqual((status, output), (1, ""))
        self.assertRegex(messages, r"\Apython -m bload: the tool is neither in the package nor on the PATH: install .*\n\Z")
        package = self.path("package")
        shutil.copytree(PACKAGE, os.path.join(package, "bload"), ignore=shutil.ignore_patterns("__pycache__"))
        os.mkdir(os.path.join(package, "bload", "bin"))
        program = os.path.join(package, "bload", "bin", "bload")
        tool.write(program, '#!/bin/sh\necho "inside: $*"\n')
        os.chmod(program, 0o755)
        self.assertEqual(self.tool(package, here), (0, "inside: --version\n", ""))

    @each([(name, name) for name in FAILING])
    def test_prefix(self, _, name):
        done = subprocess.run([sys.executable, "-m", f"bload.{name}", *FAILING[name]], capture_output=True, text=True, cwd=self.directory)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, rf"\A(bload\.{name}: [^\n]+\n)+\Z")

    @each([(name, name) for name in FAILING])
    def test_no_other_prefix(self, _, name):
        """All messages go through the one function that has it."""
        text = tool.text(os.path.join(PACKAGE, f"{name}.py"))
        self.assertEqual(len(re.findall(rf'f"bload\.{name}: ', text)), 1)
        self.assertEqual(len(re.findall(r"sys\.stderr", text)), 1)
