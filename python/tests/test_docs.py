"""The examples of the documents run as they are written."""
import contextlib
import io
import os
import re

import numpy as np

import tool
from harness import each
from sample import Sample


SPOKEN = """sources: [source]
kind: array
attributes: words.csv
fields:
  - name: text
    kind: text
    column: words
    tokenizer: bytes
    steps: own
    capacity: auto
"""


class Docs(Sample):
    @each((("guide", "docs/python.md"), ("readme", "python/README.md")))
    def test(self, name, document):
        examples = re.findall(r"^```python\n(.*?)^```", tool.text(os.path.join(tool.ROOT, document)), re.DOTALL | re.MULTILINE)
        self.assertTrue(examples)
        source = self.path(name, "source")
        os.makedirs(source)
        for i, steps in enumerate((5, 9, 20, 13, 4)):
            np.save(os.path.join(source, "abcde"[i] + ".mp4.npy"), np.full((steps, 4, 6, 3), i, "u1"))
        with open(self.path(name, "lengths.tsv"), "w") as file:
            file.write("id\tlength\tpath\n" + "".join(f"{a}.mp4\t{n}\tsource/{a}.mp4.npy\n" for a, n in zip("abcde", (5, 9, 20, 13, 4))))
        folder = self.path(name)
        self.bload("pack", "-q", "--sequences", "lengths.tsv", "--kind", "array", "--name", "frames", "-T", 24, "-o", "dataset", cwd=folder)
        self.bload("plan", "-q", "--dataset", "dataset", "--epochs", 3, cwd=folder)
        tool.write(self.path(name, "words.csv"), "id,words\n" + "".join(f"{a}.mp4.npy,{'one ' * i}\n" for i, a in enumerate("abcde")))
        tool.write(self.path(name, "spoken.yaml"), SPOKEN)
        self.bload("pack", "-q", "-c", "spoken.yaml", "-T", 24, "-o", "spoken", cwd=folder)
        here, names = os.getcwd(), {}
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                for example in examples:
                    exec(compile(example, document, "exec"), names)
        finally:
            os.chdir(here)
        if name == "guide":
            self.assertIn("a.mp4", said.getvalue())
        self.assertEqual(len(names["dataset"]), 3)
