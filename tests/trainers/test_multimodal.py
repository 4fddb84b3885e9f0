"""python -m bload.multimodal and its contracts: chats of 14 families are packed, and the model says and loses of the row what it does of each
chat alone."""
import json
import os
import subprocess
import sys
import unittest

import numpy as np
import torch
import transformers

import bload
import multimodal_facts as facts
import multimodal_models as models
import tool
from bload import contracts
from bload.torch import BlockDataset, collate
from harness import each, expand

TOLERANCE = 1e-4
T = 600


def chats_of(family, paths):
    """Example chats that the family can be trained on: SmolVLM divides a chat with two videos."""
    return {name: chat for name, chat in models.chats(family, paths).items() if (family, name) != ("smolvlm", "videos")}


def arguments_of(dataset, batch, made):
    """Return the arguments of the model for a batch, by the contract that the dataset names."""
    family = bload._core.arrays.FAMILIES[dataset.about["multimodal"]["processor"]]
    options = {"config": made.config} if family.contract == "gemma3" else {}
    return getattr(contracts, family.contract)(batch, dataset.about, **options)


class Packed(tool.Tool):
    """A test with a folder of its own."""

    def setUp(self):
        os.makedirs(self.path())

    def path(self, *names):
        return os.path.join(self.directory, self._testMethodName, *names)

    def multimodal(self, *words, status=0, **options):
        """Run python -m bload.multimodal, and return what it wrote to standard error."""
        environment = {**os.environ, "BLOAD": tool.BLOAD, "PYTHONPATH": os.path.join(tool.ROOT, "python")}
        done = subprocess.run([sys.executable, "-m", "bload.multimodal", *words], cwd=self.path(), env=environment, stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, timeout=300, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def packed(self, family, *words):
        """Pack the example chats of a family, and return the dataset and what the processor makes of each chat."""
        models.save(family, self.path("model"))
        chats = chats_of(family, models.media(self.path()))
        tool.write(self.path("chats.jsonl"), "".join(json.dumps({"id": name, "messages": chat}) + "\n" for name, chat in chats.items()))
        self.multimodal("--processor", "model", "chats.jsonl", "-o", "set", "-T", str(T), "-j", "1", *words)
        processor = transformers.AutoProcessor.from_pretrained(self.path("model"), local_files_only=True)
        outputs = {}
        for name, chat in chats.items():
            if family == "paligemma":
                pictures = [part["path"] for part in chat[0]["content"] if part["type"] == "image"]
                question = "<image>" * len(pictures) + chat[0]["content"][-1]["text"]
                outputs[name] = processor(text=[question], images=[pictures], suffix=[chat[1]["content"][0]["text"]], return_tensors="pt")
            else:
                outputs[name] = models.process(processor, chat)
        return BlockDataset(self.path("set"), pad=False), {name: dict(output) for name, output in outputs.items()}


@expand
class Families(Packed):
    @each(models.FAMILIES)
    def test(self, family):
        dataset, outputs = self.packed(family)
        batch = collate(list(dataset))
        ids = [name.partition("/")[2].replace("%20", " ") for name in dataset.dataset.sequences.ids(
            batch["sequence"][batch["length"] > 0].numpy())]
        self.assertEqual(sorted(ids), sorted(outputs))
        outputs = [outputs[name] for name in ids]
        for attention in "eager", "sdpa":
            made = models.model(family, attention, self.path("model"))
            row = arguments_of(dataset, batch, made)
            self.check_arrays(family, row, outputs)
            self.check_logits(made, row, outputs)

    def check_arrays(self, family, row, outputs):
        """The tokens and the arrays of media are bit for bit those of the processor for all chats together."""
        self.assertTrue(torch.equal(row["input_ids"], torch.cat([output["input_ids"] for output in outputs], 1)))
        expected = facts.joined(family, outputs)
        expected.pop("pixel_attention_mask", None)      # ones, which the models assume
        if "batch_num_images" in expected:
            expected["batch_num_images"] = torch.stack([one for output in outputs for one in output.get("batch_num_images", [])])
        self.assertEqual(sorted(set(row) - {"input_ids", "labels", "position_ids", "use_cache", "attention_mask", "token_type_ids"}),
                         sorted(expected))
        for name, values in expected.items():
            self.assertEqual(row[name].dtype, values.dtype, name)
            self.assertTrue(torch.equal(row[name], values), name)

    def check_logits(self, made, row, outputs):
        """Logits, and the sum of losses, are those of the chats alone."""
        with torch.no_grad():
            together = made(**row)
        lengths = [output["input_ids"].shape[1] for output in outputs]
        labels, alone = row["labels"][0].split(lengths), 0.0
        for logits, output, wanted in zip(together.logits[0].split(lengths), outputs, labels):
            own = facts.alone(made, output)
            self.assertLess((logits - own).abs().max().item(), TOLERANCE)
            self.assertGreater((wanted != -100).sum(), 0)
            alone += torch.nn.functional.cross_entropy(own[:-1], wanted[1:], reduction="sum").item()
        count = (row["labels"][0, 1:] != -100).sum().item()
        self.assertAlmostEqual(together.loss.item() * count / alone, 1, 4)
