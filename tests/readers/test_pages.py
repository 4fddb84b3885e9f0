"""Every command of the README, the tutorial and the pages of choices and fields, in order, in one directory: each succeeds, gives the fields that its
comment claims, and leaves nothing out. Its pictures are what its script and its command draw."""
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np

import clips
import tool
from page import Page, annotations, array, image, lines
from test_folders import write
from text import small_tokenizer

VIDEOS = {"001.mp4": "h264.mp4", "a/002.avi": "mpeg4.avi", "b.webm": "vp8.webm", "c.ts": "mpeg2.ts", "d.mkv": "h264-open.mkv",
          "e.webm": "vp9.webm", "f.mpg": "mpeg1.mpg", "g.flv": "flv1.flv", "h.wmv": "msmpeg4.wmv", "i.mkv": "vfr.mkv", "j.gif": "gif.gif",
          "k.mp4": "h264-10.mp4"}


def sound(path, seconds, *more):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
                    f"anoisesrc=duration={seconds}:sample_rate=16000:seed=7:amplitude=0.3", *more, path], check=True)


class Pages(Page):
    def make_videos(self):
        for name, clip in VIDEOS.items():
            steps, stem = self.video(self.at("videos", name), clip), os.path.splitext(name)[0]
            array(self.at("labels", stem + ".npy"), steps, dtype="u1")
            array(self.at("i3d", os.path.basename(stem) + ".npy"), steps + 1, 1, 1, 1024)
            array(self.at("features", stem + ".npy"), steps, 1024)
            array(self.at("ms-tcn/features", stem + ".npy"), 2048, steps)
            lines(self.at("groundTruth", stem + ".txt"), *["cut"] * steps)
        np.savez(self.at("poses.npz"), keypoints=np.ones((50, 17, 3)), scores=np.ones(50))
        lines(self.at("mapping.txt"), "0 background", "1 cut")
        lines(self.at("classes.txt"), "background", "cut")
        annotations(self.at("activity_net.json"), *(os.path.splitext(os.path.basename(name))[0] for name in VIDEOS))
        for name in "cooking/001.mp4", "cooking/002.mp4", "003.mp4":
            self.video(self.at("clips", name))

    def make_interleaved(self):
        for name, size in ("cat.jpg", (30, 20)), ("dog.png", (12, 16)), ("both.jpg", (24, 24)):
            image(self.at("pictures", name), size)
        for name in "shots/a.mp4", "shots/b.mp4":
            self.video(self.at(name), "h264.mp4")

    def make_sounds(self):
        for i in range(3):
            sound(self.at(f"wavs/{i}.wav"), 1 + i)
            path = self.at(f"films-with-sound/{i}.mp4")
            sound(path, 1 + i, "-f", "lavfi", "-i", f"testsrc2=size=64x48:rate=25:duration={1 + i}", "-c:v", "libx264", "-c:a", "aac")
        manifest = [{"audio_filepath": f"wavs/{i}.wav", "duration": 0.5, "offset": 0.25, "text": "a"} for i in range(3)]
        lines(self.at("train_manifest.json"), *map(json.dumps, manifest))
        os.makedirs(self.at("data/train"))
        lines(self.at("data/train/wav.scp"), "a wavs/0.wav")
        lines(self.at("data/train/text"), "a WORDS")

    def make_texts(self):
        write(self.at("tokenizer.json"), small_tokenizer("<|endoftext|>").encode())
        names = "<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>"
        write(self.at("starcoder.json"), small_tokenizer(*names).encode())
        lines(self.at("corpus/a.jsonl"), *(json.dumps({"text": f"document {i} " * i}) for i in range(1, 300)))
        lines(self.at("corpus/b.jsonl"), *(json.dumps({"text": "long " * 3000}) for _ in range(2)))
        shutil.copy(self.at("corpus/a.jsonl"), self.at("chats.jsonl"))
        for name, documents in ("web", 700), ("web-new", 60), ("code", 300):
            lines(self.at(f"{name}.jsonl"), *(json.dumps({"text": f"{name} {i} " * (1 + i % 90)}) for i in range(1, documents)))
        lines(self.at("chats-tokenized.jsonl"), *(json.dumps({"input_ids": [5] * i, "labels": [-100] * i, "mask": [1] * i})
                                                  for i in range(1, 50)))

    def make_arrays(self):
        import h5py
        with h5py.File(self.at("c3d.h5"), "w") as file:
            for steps, name in (5, "v_abc"), (6, "v_abd"):
                file[name + "/c3d_features"] = np.ones((steps, 3), np.float32)

    def read(self, name):
        return tool.text(os.path.join(tool.ROOT, name))

    def test_commands(self):
        self.enter("pages")
        self.frame_folders()
        self.make_videos()
        os.makedirs(self.at("build/demo"))
        os.symlink(self.at("videos"), self.at("build/demo/videos"))
        self.make_interleaved()
        self.make_sounds()
        self.make_texts()
        self.make_arrays()
        claimed = {}
        for page in "README.md", "docs/choosing.md", "docs/tutorial.md", "docs/fields.md":
            found = self.run_blocks(self.read(page), self.at())
            self.assertFalse(set(found) & set(claimed), "a dataset's name that another page uses")
            claimed.update(found)
        self.assertEqual(self.read(self.at("plan.svg")), self.read("docs/plan.svg"))
        self.assertGreaterEqual(len(claimed), 20)
        self.check(claimed, self.at())

    def test_sample_output(self):
        """README shows what its first command prints of the videos of `make demo`."""
        if not os.path.isdir(os.path.join(tool.ROOT, "build/demo/videos")):
            self.skipTest("make demo has not fetched its videos")
        command, shown = re.search(r"```sh\n(bload pack .*? -o )dataset[^\n]*\n.*?```text\n(.*?)```", self.read("README.md"), re.DOTALL).groups()
        done = subprocess.run(["bash", "-c", command + self.path("demo")], cwd=tool.ROOT, capture_output=True, text=True, check=True,
                              env={**os.environ, "PATH": os.path.dirname(os.path.abspath(tool.BLOAD)) + ":" + os.environ["PATH"]})
        speed = re.compile(r"[\d,]+ frames/s")
        self.assertEqual(speed.sub("", done.stderr.replace(self.path("demo"), "dataset")), speed.sub("", shown))

    def test_picture(self):
        done = subprocess.run([sys.executable, os.path.join(tool.ROOT, "scripts/picture.py")], capture_output=True, text=True, check=True,
                              env={**os.environ, "BLOAD": tool.BLOAD})
        self.assertEqual(done.stdout, self.read("docs/packing.svg"))
