"""Optical flow as the datasets of torchvision read it: Sintel's .flo files by --pixels flow, KITTI's PNG files by rgb16."""
import os
import subprocess

import numpy as np
from torchvision.datasets import KittiFlow, Sintel

import tool
import bload
from bload.torch import BlockDataset

WIDTH, HEIGHT, COUNT = 31, 23, 4


class Flow(tool.Tool):
    def pictures(self, folder, names):
        """Pictures beside the flow, which the datasets of torchvision require."""
        os.makedirs(self.path(folder))
        for name in names:
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", f"testsrc2=size={WIDTH}x{HEIGHT}", "-frames:v", "1",
                            self.path(folder, name)], check=True)

    def frames(self, name, source, pixels):
        self.bload("pack", "-q", "--kind", "frames", "--pixels", pixels, "-T", "longest", source, "-o", self.path(name))
        frames = BlockDataset(self.path(name))[0]["frames"].numpy()
        np.testing.assert_array_equal(frames, bload.open(self.path(name))[0]["frames"])
        return frames

    def test_sintel(self):
        vectors = np.random.default_rng(0).normal(0, 30, (COUNT, HEIGHT, WIDTH, 2)).astype("<f4")
        self.pictures("Sintel/training/clean/alley_1", [f"frame_{i + 1:04}.png" for i in range(COUNT + 1)])
        os.makedirs(self.path("Sintel/training/flow/alley_1"))
        for i, some in enumerate(vectors):
            tool.write(self.path("Sintel/training/flow/alley_1", f"frame_{i + 1:04}.flo"),
                       b"PIEH" + np.array([WIDTH, HEIGHT], "<i4").tobytes() + some.tobytes())
        frames = self.frames("flow", self.path("Sintel/training/flow"), "flow")
        theirs = Sintel(self.path(), pass_name="clean")
        self.assertEqual((len(theirs), frames.shape), (COUNT, vectors.shape))
        for ours, (_, _, flow) in zip(frames, theirs):
            np.testing.assert_array_equal(ours.transpose(2, 0, 1), flow)

    def test_kitti(self):
        numbers = np.random.default_rng(1).integers(0, 65536, (COUNT, HEIGHT, WIDTH, 3)).astype("<u2")
        numbers[..., 2] &= 1
        self.pictures("KittiFlow/training/image_2", [f"{i:06}_{part}.png" for i in range(COUNT) for part in (10, 11)])
        os.makedirs(self.path("KittiFlow/training/flow_occ"))
        for i, some in enumerate(numbers):
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "rawvideo", "-pix_fmt", "rgb48le", "-s", f"{WIDTH}x{HEIGHT}", "-i", "-",
                            "-pix_fmt", "rgb48be", self.path("KittiFlow/training/flow_occ", f"{i:06}_10.png")], check=True, input=some.tobytes())
        frames = self.frames("wide", self.path("KittiFlow/training/flow_occ"), "rgb16")
        theirs = KittiFlow(self.path())
        self.assertEqual((len(theirs), frames.shape), (COUNT, numbers.shape))
        for ours, (_, _, flow, valid) in zip(frames, theirs):
            np.testing.assert_array_equal(((ours[..., :2] - 32768) / 64).transpose(2, 0, 1), flow)  # docs/media.md
            np.testing.assert_array_equal(ours[..., 2] != 0, valid)
