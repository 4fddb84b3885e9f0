"""bench/read.sh, which nobody runs often, still works: all of it, on tiny blocks."""
import os
import re
import subprocess
import sys

import tool

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Read(tool.Tool):
    def test_quick(self):
        """Whoever is there reads every block once, in every way; the figures say nothing."""
        environment = {**os.environ, "TORCH_PYTHON": sys.executable, "BLOAD": tool.BLOAD, "WORK": self.path("work")}
        ran = subprocess.run([os.path.join(ROOT, "bench", "read.sh"), "--quick"], capture_output=True, text=True, env=environment)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for name in "numpy", "bload", "bload-numpy", "bload-zstd", "safetensors":
            rows = re.findall(rf"^\| {name} ((?:\| \d+\.\d+ \(\d+\.\d+\) ){{6}})\|$", ran.stdout, re.MULTILINE)
            self.assertEqual(len(rows), 2, f"{name}: {ran.stdout}{ran.stderr}")
