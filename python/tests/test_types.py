"""The types of the public interface: a user's program passes mypy --strict, and runs."""
import importlib.util
import os
import subprocess
import sys

import tool
from sample import Sample

HERE = os.path.dirname(os.path.abspath(__file__))
USER = os.path.join(HERE, "user.py")
SILENT = "--follow-imports=silent"  # of bload only what the program uses is told, as of an installed package


class Types(Sample):
    def mypy(self, *arguments):
        """The lines that mypy --strict prints."""
        if not importlib.util.find_spec("mypy"):
            self.skipTest("no mypy")
        command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.12", "--no-error-summary", "--no-pretty",
                   "--config-file", os.path.join(tool.ROOT, "python/pyproject.toml"),
                   "--cache-dir", os.path.join(tool.ROOT, "build/mypy"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.directory,
                              env={**os.environ, "MYPYPATH": os.path.join(tool.ROOT, "python")})
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout.splitlines()

    def test_user(self):
        self.assertEqual(self.mypy(SILENT, USER), [])

    def test_package(self):
        """All modules whose packages are installed."""
        folder = os.path.join(tool.ROOT, "python/bload")
        needs = {"torch.py": "torch", "energon.py": "megatron", "transformers.py": "torch"}
        modules = [os.path.join(folder, name) for name in sorted(os.listdir(folder))
                   if name.endswith(".py") and importlib.util.find_spec(needs.get(name, "numpy"))]
        self.assertEqual(self.mypy(SILENT, *modules), [])

    def test_run(self):
        dataset, view = self.packed("attributes"), self.path("view")
        self.bload("view", "-q", dataset, "-T", 64, "--oversize", "split", "-o", view)
        torch = ["--torch"] if importlib.util.find_spec("torch") else []
        done = subprocess.run([sys.executable, USER, dataset, view, *torch], capture_output=True, text=True)
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 2 + len(torch)), done.stderr)
