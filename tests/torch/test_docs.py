"""The examples of docs/training.md run as they are written, each section by itself; without the framework it is for it is skipped."""
import importlib.util
import os
import re

import numpy as np

import tool
from harness import each, expand

DOCUMENT = os.path.join(tool.ROOT, "docs/training.md")
LENGTHS = (5, 9, 20, 13, 4, 17, 22, 8)


def sections():
    """[(title, its code)] of those that have some."""
    with open(DOCUMENT) as file:
        parts = re.split(r"^## ", file.read(), flags=re.MULTILINE)[1:]
    codes = [(part.split("\n")[0], "\n".join(re.findall(r"^```python\n(.*?)^```", part, re.DOTALL | re.MULTILINE))) for part in parts]
    return [("".join(filter(str.isalnum, title)).lower(), code) for title, code in codes if code]


@expand
class Training(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        own = cls("run")
        os.makedirs(own.path("source"))
        for i, steps in enumerate(LENGTHS):
            np.save(own.path("source", f"{i}.npy"), np.full((steps, 4, 6, 3), i, "u1"))
        own.pack("dataset", own.path("source"), "--kind", "array", "--name", "frames", "-T", 24, "--world-size", 2, "--batch-size", 2)
        own.bload("plan", "-q", "--dataset", own.path("dataset"), "--epochs", 3)

    @each(sections())
    def test(self, title, code):
        for package in sorted(set(re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE))):
            if not importlib.util.find_spec(package):
                self.skipTest(f"no {package}")
            if package == "transformers" and not importlib.import_module(package).is_torch_available():
                self.skipTest("transformers wants a newer torch")
        batches, here = [], os.getcwd()
        os.chdir(self.directory)
        try:
            exec(compile(code, f"{DOCUMENT}, {title}", "exec"), {"train": batches.append, "__name__": title})
        finally:
            os.chdir(here)
        if "train(" in code:
            self.assertTrue(batches)
            for batch in batches:
                self.assertEqual(tuple(batch["frames"].shape), (2, 24, 4, 6, 3))
