"""python -m bload.arrays on files of torch.save, by torch itself: tensors become .npy files, and nothing in them is run."""
import os

import numpy as np
import torch

from test_arrays import Converting, Evil


class Saved(Converting):
    def test_torch(self):
        value = {"v_a": torch.arange(6.0).reshape(3, 2), "half": torch.ones(3, 2, dtype=torch.float16), "turned": torch.arange(6).reshape(3, 2).T,
                 "bf": torch.tensor([1.5, 2.5], dtype=torch.bfloat16), "list": [torch.ones(2)], "epoch": 3,
                 "sparse": torch.ones(2, 2).to_sparse()}
        torch.save(value, self.path("x.pt"))
        torch.save(value["v_a"], self.path("old.pth"), _use_new_zipfile_serialization=False)
        found, err = self.convert("x.pt", "old.pth", status=3)
        self.assertArrays(found, {"x/v_a.npy": value["v_a"].numpy(), "x/half.npy": value["half"].numpy(), "x/turned.npy": value["turned"].numpy(),
                                  "x/bf.npy": np.array([1.5, 2.5], "f4"), "x/list/0.npy": np.ones(2, "f4"), "old.npy": value["v_a"].numpy()})
        self.assertIn("skipped x.pt: epoch: an int, no array", err)
        self.assertIn("skipped x.pt: sparse: a sparse or quantized tensor", err)
        torch.save({"y": Evil(self.path("made"))}, self.path("evil.pt"))
        self.assertIn("skipped evil.pt: torch.load(weights_only=True) refuses it", self.convert("evil.pt", status=3, out="evil")[1])
        self.assertFalse(os.path.exists(self.path("made")))
