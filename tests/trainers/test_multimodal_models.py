"""The example processors and models of multimodal families: they load without a network, and what isolates sequences in a row does."""
import tempfile
import unittest

import torch

import multimodal_facts as facts
from harness import each, expand
from multimodal_models import FAMILIES, chats, media, model

TOLERANCE, LEAK = 1e-4, 0.5
KEEPS_ISOLATING = {"paligemma": {"cache"}}  # it makes its mask before the cache


@expand
class Families(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    @each(FAMILIES)
    def test_row(self, family):
        """A row says of each sequence what the model says of it alone, and ways that do not isolate sequences are seen."""
        _, outputs = facts.outputs_of(family, self.folder)
        outputs = list(outputs.values())
        for attention in "eager", "sdpa":
            made = model(family, attention, self.folder)
            for way, row in facts.rows(family, made, outputs).items():
                with self.subTest(way=way, attention=attention):
                    if way == "right" or way in KEEPS_ISOLATING.get(family, ()):
                        self.assertLess(facts.difference(made, row, outputs), TOLERANCE)
                    else:
                        self.assertGreater(facts.difference(made, row, outputs), LEAK)

    @each(FAMILIES)
    def test_joined(self, family):
        """Media without padding, joined, are bit for bit what the processor returns for all chats at once."""
        processor, outputs = facts.outputs_of(family, self.folder)
        messages = chats(family, media(self.folder))
        if family == "smolvlm":  # its processor loses pictures beside videos, of other chats, too
            outputs = {name: output for name, output in outputs.items() if "video" not in name}
        expected = processor.apply_chat_template(
            [messages[name] for name in outputs], tokenize=True, return_dict=True, return_tensors="pt",
            processor_kwargs={"padding": True, **({"do_sample_frames": True} if "video" in messages else {})})
        for name, values in facts.joined(family, list(outputs.values())).items():
            with self.subTest(name=name):
                if family in facts.NESTED:  # a row of its own for each chat, filled up with zeros
                    real = expected["pixel_values"].flatten(0, 1).flatten(1).any(1)
                    self.assertTrue(torch.equal(values[0], expected[name].flatten(0, 1)[real]))
                else:
                    self.assertTrue(torch.equal(values, expected[name]))

    @each(name for name, family in FAMILIES.items() if "image" in family.kinds)
    def test_pixels(self, family):
        """Pixels are levels of their channel, and the counts of pictures follow from their sizes."""
        processor, outputs = facts.outputs_of(family, self.folder)
        self.assertEqual([facts.outside(family, processor, output) for output in outputs.values()], [0] * len(outputs))
        self.assertEqual(facts.sizes_differ(family, processor, self.folder), 0)
