"""--frames and --frames-rule beside the released code: numpy, qwen_vl_utils, and the video processors of transformers."""
import ctypes
import os
import random
import subprocess

import numpy as np
import tool
import torch
from qwen_vl_utils import vision_process
from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor
from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor
from transformers.video_utils import VideoMetadata

LINSPACE, LINSPACE_ROUND, MIDDLE, START = range(4)
UTILS, QWEN2, QWEN3 = 1, 2, 3
RATES = [25.0, 30.0, 30000 / 1001, 24000 / 1001, 50.0, 12.5, 10.0, 59.94, 15.0, 23.98]
DRAWS = 1000


class List(ctypes.Structure):
    _fields_ = [("form", ctypes.c_int), ("first", ctypes.c_int64), ("frames", ctypes.c_int64), ("count", ctypes.c_int64)]


class Rule(ctypes.Structure):
    _fields_ = [("rule", ctypes.c_int), ("fps", ctypes.c_double), ("min", ctypes.c_int64), ("max", ctypes.c_int64),
                ("factor", ctypes.c_int64)]


def draws():
    """Numbers of frames and rates: short videos, where bounds and halves matter, and long ones, where float32 does."""
    draw = random.Random(7)
    for _ in range(DRAWS):
        longest = draw.choice((8, 60, 600, 20_000, 400_000))
        yield draw.randint(1, longest), draw.choice(RATES) * draw.choice((1, 1, draw.uniform(0.5, 2))), draw


class Lists(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source, library = os.path.join(tool.ROOT, "src"), os.path.join(cls().path("frame_list.so"))
        subprocess.run(["cc", "-std=c17", "-O2", "-shared", "-fPIC", f"-I{source}", f"{source}/kind/video/frame_list.c", "-o",
                        library, "-lm"], check=True)
        cls.library = ctypes.CDLL(library)
        cls.library.bl_frame_list_at.restype = cls.library.bl_frame_rule_count.restype = ctypes.c_int64
        cls.library.bl_frame_rule_count.argtypes = ctypes.POINTER(Rule), ctypes.c_int64, ctypes.c_double
        cls.library.bl_frame_list_at.argtypes = ctypes.POINTER(List), ctypes.c_int64

    def numbers(self, form, frames, count, first=0):
        entries = List(form, first, frames, count)
        return [self.library.bl_frame_list_at(entries, i) for i in range(count)]

    def by_rule(self, rule, frames, rate, fps, least, most, factor, first=0):
        count = self.library.bl_frame_rule_count(Rule(rule, fps, least, most, factor), frames, rate)
        return self.numbers(self.library.bl_frame_rule_form(rule), frames, count, first)

    def test_numpy(self):
        for frames, _, draw in draws():
            count = draw.choice((1, 2, 4, 8, 16, 32, draw.randint(1, 300)))
            spaced = np.linspace(0, frames - 1, count)
            with self.subTest(frames=frames, count=count):
                self.assertEqual(self.numbers(LINSPACE, frames, count), np.linspace(0, frames - 1, count, dtype=int).tolist())
                self.assertEqual(self.numbers(LINSPACE_ROUND, frames, count), spaced.round().astype(int).tolist())
                self.assertEqual(self.numbers(MIDDLE, frames, count), [int((i + 0.5) * frames / count) for i in range(count)])
                self.assertEqual(self.numbers(START, frames, count), [i * frames // count for i in range(count)])

    def options(self, draw):
        if draw.random() < 0.5:
            return 2.0, 4, 768, 2
        least = draw.randint(1, 20)
        return draw.choice((0.5, 1.0, 2.0, 4.0, 8.0)), least, draw.randint(max(least, 8), 800), draw.choice((1, 2, 3, 4))

    def test_qwen_vl_utils(self):
        if "AVX" not in torch.backends.cpu.get_cpu_capability():
            self.skipTest("torch rounds otherwise on a processor without AVX2")
        for frames, rate, draw in draws():
            fps, least, most, factor = self.options(draw)
            first = draw.choice((0, draw.randint(0, 100_000)))
            vision_process.FRAME_FACTOR = factor
            given = {"fps": fps, "min_frames": least, "max_frames": most}
            if (fps, least, most, factor) == (2.0, 4, 768, 2):
                given = {}
            try:
                count = vision_process.smart_nframes(given, frames, rate)
                expected = torch.linspace(first, first + frames - 1, count).round().long().tolist()
            except ValueError:
                expected = []
            finally:
                vision_process.FRAME_FACTOR = 2
            with self.subTest(frames=frames, rate=rate, fps=fps, least=least, most=most, factor=factor, first=first):
                made = self.by_rule(UTILS, frames, rate, fps, least, most, factor, first)
                self.assertEqual([first + number for number in made], expected)

    def test_qwen2_vl(self):
        processor = Qwen2VLVideoProcessor()
        for frames, rate, draw in draws():
            fps, least, most, factor = self.options(draw)
            metadata = VideoMetadata(total_num_frames=frames, fps=rate)
            try:
                expected = processor.sample_frames(metadata, temporal_patch_size=factor, min_frames=least, max_frames=most, fps=fps)
                # torch.arange may have one number more than was wanted, that of a frame that no video has.
                expected = [number for number in expected.tolist() if number < frames]
            except ZeroDivisionError:
                expected = []
            with self.subTest(frames=frames, rate=rate, fps=fps, least=least, most=most, factor=factor):
                self.assertEqual(self.by_rule(QWEN2, frames, rate, fps, least, most, factor), expected)

    def test_qwen3_vl(self):
        processor = Qwen3VLVideoProcessor()
        for frames, rate, draw in draws():
            fps, processor.min_frames, processor.max_frames, factor = self.options(draw)
            expected = processor.sample_frames(VideoMetadata(total_num_frames=frames, fps=rate), fps=fps).tolist()
            with self.subTest(frames=frames, rate=rate, fps=fps):
                made = self.by_rule(QWEN3, frames, rate, fps, processor.min_frames, processor.max_frames, factor)
                self.assertEqual(made, expected)

    def test_the_defaults_are_those_of_the_released_code(self):
        self.assertEqual((vision_process.FPS, vision_process.FPS_MIN_FRAMES, vision_process.FPS_MAX_FRAMES,
                          vision_process.FRAME_FACTOR), (2.0, 4, 768, 2))
        for processor in Qwen2VLVideoProcessor, Qwen3VLVideoProcessor:
            self.assertEqual((processor.min_frames, processor.max_frames, processor.temporal_patch_size), (4, 768, 2))

    def test_the_rules_differ(self):
        """Where all take the same number of frames, too: of 10 s at 25 frames a second."""
        lists = [self.by_rule(rule, 250, 25.0, 2.0, 4, 768, 2) for rule in (UTILS, QWEN2, QWEN3)]
        self.assertEqual([len(numbers) for numbers in lists], [20, 20, 20])
        self.assertNotEqual(lists[0], lists[1])
