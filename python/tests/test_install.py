"""The package as pip installs it, into an empty place, without a network."""
import os
import shutil
import subprocess
import sys

import bload
import tool
from sample import Sample

SOURCE = os.path.join(tool.ROOT, "python")
USE = """
import os, sys
import bload
assert os.path.dirname(bload.__file__) == os.path.join(sys.argv[1], "bload"), bload.__file__
assert os.path.exists(os.path.join(sys.argv[1], "bload", "py.typed"))
dataset = bload.open(sys.argv[2])
print(bload.__version__, len(dataset), len(dataset[0]["tokens"]))
"""


class Install(Sample):
    def test_pip(self):
        source, target = self.path("source"), self.path("target")
        shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "tests"))
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "-q", "--no-index", "--no-deps",
               "--no-build-isolation", "--target", target, source]
        done = subprocess.run(pip, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""})
        self.assertEqual(done.returncode, 0, done.stderr)
        packages = sorted(name for name in os.listdir(target) if not name.startswith("bin"))
        self.assertEqual(packages, ["bload", f"bload-{bload.__version__}.dist-info"])
        dataset = self.packed("plain")
        done = subprocess.run([sys.executable, "-c", USE, target, dataset], capture_output=True, text=True, cwd=self.directory,
                              env={**os.environ, "PYTHONPATH": target})
        self.assertEqual(done.stdout.split(), [bload.__version__, str(len(bload.open(dataset))), "64"], done.stderr)

    def test_version(self):
        """Package and tool are of one version."""
        self.assertEqual(self.bload("--version")[0].splitlines()[0], f"bload {bload.__version__}")

    def test_numpy_alone(self):
        """Nothing but numpy is needed for plain shards."""
        code = "import sys\nfor name in 'zstandard', 'xxhash', 'safetensors': sys.modules[name] = None\n" \
               "import bload\nprint(len(bload.open(sys.argv[1])[0]['tokens']))"
        done = subprocess.run([sys.executable, "-c", code, self.packed("plain")], capture_output=True, text=True)
        self.assertEqual(done.stdout, "64\n", done.stderr)
