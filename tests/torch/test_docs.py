"""The examples of docs/training.md run as they are written, each section by itself; without the framework it is for it is skipped."""
import importlib.util
import json
import os
import re

import numpy as np
import torch

import tool
from harness import each

DOCUMENT = os.path.join(tool.ROOT, "docs/training.md")
LENGTHS = (15, 5, 10) * 4 + (5, 10, 5, 10, 10)  # of multiples of five, eight blocks of 24 steps are not filled
TEXTS = {"transformers"}  # sections for a dataset of text
PAIRS = {"preferences"}  # for one of pairs
CODE = re.compile(r"^(<!-- not run: [^\n]*-->\n)?```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def sections():
    """[(title, its code)] of those that have some. Code behind a comment "not run" is left out."""
    parts = re.split(r"^## ", tool.text(DOCUMENT), flags=re.MULTILINE)[1:]
    codes = [(part.split("\n")[0], "\n".join(code for before, code in CODE.findall(part) if not before)) for part in parts]
    return [("".join(filter(str.isalnum, title)).lower(), code) for title, code in codes if code]


def small_model():
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(vocab_size=300, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                                        num_attention_heads=2, num_key_value_heads=2))


class Training(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        own = cls("run")
        for form in ("frames", "text"):
            os.makedirs(own.path(form, "source"))
        random = np.random.default_rng(0)
        for i, steps in enumerate(LENGTHS):
            np.save(own.path("frames/source", f"{i}.npy"), random.integers(0, 256, (steps, 4, 6, 3), "u1"))
            tool.write(own.path("text/source", f"{i}.txt"), "a" * steps)
        for form, options in (("frames", ("--kind", "array", "--name", "frames")), ("text", ("--tokenizer", "bytes"))):
            own.pack(f"{form}/dataset", own.path(form, "source"), *options, "-T", 24, "--world-size", 2, "--batch-size", 2)
            own.bload("plan", "-q", "--dataset", own.path(form, "dataset"), "--epochs", 3)

        os.makedirs(own.path("pairs"))
        with open(own.path("pairs/pairs.jsonl"), "w") as file:
            for i in range(40):
                for k in range(2):
                    tokens = random.integers(1, 256, 4 + (i * 7 + k) % 12).tolist()
                    mask = [0, 0, 0, *[1] * (len(tokens) - 3)]
                    file.write(json.dumps({"ids": tokens, "loss_mask": mask, "pair": str(i), "chosen": 1 - k}) + "\n")
        own.pack("pairs/preferences", own.path("pairs/pairs.jsonl"), "--key", "ids", "--field", "loss_mask=loss_mask:u8", "-T", 48,
                 "--keep", "pair,chosen:number", "--together", "pair", "--world-size", 2, "--batch-size", 2)

    def execute(self, title, code):
        """Runs the code of a section; its names, and the batches that it trained on."""
        for package in sorted(set(re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE))):
            if not importlib.util.find_spec(package):
                self.skipTest(f"no {package}")
            if package == "transformers" and not importlib.import_module(package).is_torch_available():
                self.skipTest("transformers wants a newer torch")
        batches, here = [], os.getcwd()
        names = {"train": batches.append, "__name__": title}
        if re.search(r"\bmodel\b", code) and not re.search(r"^model = ", code, re.MULTILINE):
            try:
                names["model"] = small_model()
            except ImportError as error:
                self.skipTest(f"no model: {str(error).strip().splitlines()[0]}")
        os.chdir(self.path("pairs" if title in PAIRS else "text" if title in TEXTS else "frames"))
        try:
            exec(compile(code, f"{DOCUMENT}, {title}", "exec"), names)
        finally:
            os.chdir(here)
        return names, batches

    @each(sections())
    def test(self, title, code):
        _, batches = self.execute(title, code)
        if "train(" in code and title not in TEXTS:
            self.assertTrue(batches)
            for batch in batches:
                self.assertEqual(tuple(batch["frames"].shape), (2, 24, 4, 6, 3))

    def test_models_see_each_sequence_alone(self):
        """What the last section makes of a batch: attention without NaN and without leakage, a recurrent model without padding."""
        title, code = next(section for section in sections() if section[0].startswith("whatmodels"))
        names, _ = self.execute(title, code)
        batch, attends = names["batch"], names["attends"]
        x = batch["frames"].flatten(2).float() / 256
        out = (x @ x.transpose(1, 2)).masked_fill(~attends, float("-inf")).softmax(2) @ x
        self.assertFalse(out.isnan().any())
        rows = [(b, first, first + length) for b in range(len(x))
                for first, length in zip(batch["cu_seqlens"][b].tolist(), batch["length"][b].tolist()) if length]
        self.assertGreater(len(rows), len(x))
        self.assertLess(sum(end - first for _, first, end in rows), x.shape[0] * x.shape[1])  # there is padding
        for k, (b, first, end) in enumerate(rows):
            alone = x[b, first:end]
            torch.testing.assert_close(out[b, first:end], (alone @ alone.T).softmax(1) @ alone)
            torch.testing.assert_close(names["last"][0, k], names["model"](alone[:, None] * 256)[1][0, 0], rtol=1e-4, atol=1e-5)
