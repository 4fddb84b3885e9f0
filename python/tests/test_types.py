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
        modules = [os.path.join(folder, name) for name in sorted(os.listdir(folder) + ["_core/" + name for name in os.listdir(folder + "/_core")])
                   if name.endswith(".py") and importlib.util.find_spec(needs.get(name, "numpy"))]
        self.assertEqual(self.mypy(SILENT, *modules), [])

    def test_names(self):
        """What a user sees of a dataset; modules that nothing local needs are not imported."""
        program = ("import sys, bload\n"
                   "print(*(name for name in dir(bload.open(sys.argv[1])) if not name.startswith('_')))\n"
                   "print(*sorted({'PIL', 'fsspec', 'ssl', 'http.client', 'urllib.request', 'asyncio'} & set(sys.modules)))")
        done = subprocess.run([sys.executable, "-c", program, self.packed("attributes")], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "S T about batch_size close closed cp dataset epoch epochs fields manifest path sequence sequences steps verify world_size\n\n")

    def test_places(self):
        """Tracebacks and pickles name what is public by its public module."""
        program = ("import pickle, sys, bload, bload.jax\n"
                   "print({getattr(getattr(bload, name), '__module__', 'bload') for name in bload.__all__} - {'typing'}, bload.jax.EpochBlocks.__module__)\n"
                   "blocks = bload.jax.EpochBlocks(bload.open(sys.argv[1]))\n"
                   "print(b'_core' in pickle.dumps(blocks), len(pickle.loads(pickle.dumps(blocks))) == len(blocks.dataset))\n"
                   "bload.open('nothing')")
        done = subprocess.run([sys.executable, "-c", program, self.packed("attributes")], capture_output=True, text=True)
        self.assertEqual(done.stdout, "{'bload'} bload.jax\nFalse True\n", done.stderr)
        self.assertIn("\nbload.MissingError: ", done.stderr)

    def test_old_places(self):
        """Modules that have moved give what they gave, with a warning that names the new place."""
        for name, new in ("sampler", "bload.jax"), ("errors", "in bload"):
            program = f"import warnings\nwith warnings.catch_warnings(record=True) as said:\n    warnings.simplefilter('always')\n    import bload.{name}\n"
            program += f"print(len(said), said[0].category.__name__, said[0].message)\nimport bload\nprint(bool(bload.{name}.__all__))"
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ})
            self.assertRegex(done.stdout, rf"^1 DeprecationWarning .*{new}")

    def test_run(self):
        dataset, view = self.packed("attributes"), self.path("view")
        self.bload("view", "-q", dataset, "-T", 64, "--oversize", "split", "-o", view)
        torch = ["--torch"] if importlib.util.find_spec("torch") else []
        done = subprocess.run([sys.executable, USER, dataset, view, *torch], capture_output=True, text=True)
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 2 + len(torch)), done.stderr)
