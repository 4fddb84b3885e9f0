"""The recipes of the documents, run as they stand over small trees of the layouts that they tell of: every command succeeds, gives the
fields that its comment claims, and leaves nothing out."""
import gzip
import json
import os
import re
import shutil
import subprocess

import numpy as np

import clips
import tool
from dataset import Dataset
from test_folders import pictures, png, write

README_SECTIONS = ("Folders of images", "Arrays", "Several fields")
FIELD = re.compile(r"(\w+) ([A-Z]\d+) \[n, T((?:, \w+)*)\]")


def blocks(text):
    """(language, text) of fenced blocks, and ("", line) of indented lines, in their order."""
    fence, inside = None, []
    for line in text.split("\n"):
        if line.startswith("```"):
            if fence is not None:
                yield fence, "\n".join(inside) + "\n"
            fence, inside = (None if fence is not None else line[3:]), []
        elif fence is not None:
            inside.append(line)
        elif line.startswith("    "):
            yield "", line.strip()


def image(path, size=(24, 18)):
    """A small picture in the format that the name says."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    data = png(pictures(1, size[1], size[0])[0])
    if path.endswith(".png"):
        write(path, data)
    else:
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "png_pipe", "-i", "-", path], input=data, check=True)


def array(path, *shape, dtype="f4"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    np.save(path, np.random.default_rng(len(path)).integers(0, 9, shape).astype(dtype))


def lines(path, *texts):
    write(path, "".join(text + "\n" for text in texts).encode())


def annotations(path, *ids):
    segment = {"segment": [0.2, 0.7], "label": "cut"}
    write(path, json.dumps({"database": {name: {"annotations": [segment]} for name in ids}}).encode())


class Recipes(tool.Tool):
    def enter(self, name):
        """A directory to build a tree in."""
        os.makedirs(self.path(name))
        self.at = lambda *names: self.path(name, *names)

    def frame_folders(self):
        """Action Genome's, Charades' and TSN's."""
        for name, numbers in ("001YG.mp4", (89, 90, 120)), ("00HFP.mp4", (3, 9)):
            for number in numbers:
                image(self.at("frames", name, f"{number:06}.png"), (24, 18) if name[2] == "1" else (30, 18))
        for number in range(1, 5):
            image(self.at(f"Charades_v1_rgb/46GP8/46GP8-{number:06}.jpg"))
            image(self.at(f"rawframes/Archery/v_Archery_g01_c01/img_{number:05}.jpg"))
            image(self.at(f"rawframes/Biking/v_Biking_g02_c03/img_{number:05}.jpg"), (30, 18))

    def video(self, path, name="h264.mp4"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(clips.clip(name), path)
        return clips.frames_of(name)

    def run_blocks(self, text, cwd):
        """Runs what a document says; {dataset: fields claimed}."""
        claimed, written = {}, "dataset.yaml"
        environment = {**os.environ, "PATH": os.path.dirname(os.path.abspath(tool.BLOAD)) + ":" + os.environ["PATH"]}
        for language, block in blocks(text):
            if language:
                named = re.match(r"# (\S+)\n", block)
                write(os.path.join(cwd, named[1] if named else written), block.encode())
                continue
            if not re.match(r"(bload|python3|cut|sed|zcat) ", block):
                continue
            command, _, comment = block.partition("  #") if "  #" in block else block.partition(" # ")
            if "jq" in command and not shutil.which("jq"):
                self.skipTest("no jq")
            done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=cwd, env=environment, capture_output=True, text=True,
                                  timeout=120)
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr}")
            out = re.search(r" -o (\S+)", command)
            if out:
                self.assertNotIn(out[1], claimed)
                claimed[out[1]] = FIELD.findall(comment)
        return claimed

    def check(self, claimed, cwd):
        for name, fields in claimed.items():
            dataset = Dataset(os.path.join(cwd, name))
            self.bload("verify", "-q", dataset.directory)
            self.assertTrue(dataset.sequences)
            self.assertEqual({row["status"] for row in dataset.sequences}, {"ok"})
            there = {field["name"]: (field["dtype"], field["shape"]) for field in dataset.manifest["fields"]}
            for field, dtype, shape in fields:
                sizes = [int(size) if size.isdigit() else size for size in shape.split(", ")[1:]]
                self.assertEqual(there[field][0], dtype, name)
                self.assertEqual(len(there[field][1]), len(sizes), name)
                for size, wanted in zip(there[field][1], sizes):
                    self.assertIn(wanted, (size, "classes"), name)

    def test_readme(self):
        self.enter("readme")
        self.frame_folders()
        for i, steps in enumerate((31, 40)):
            stem = ("001", "a/002")[i]
            self.assertEqual(self.video(self.at("videos", stem + (".mp4", ".avi")[i]), ("h264.mp4", "mpeg4.avi")[i]), steps)
            array(self.at("labels", stem + ".npy"), steps, dtype="u1")
            array(self.at("features", stem + ".npy"), steps, 1024)
            array(self.at("i3d", os.path.basename(stem) + ".npy"), steps + i, 1, 1, 1024)
            array(self.at("ms-tcn/features", stem + ".npy"), 2048, steps)
            lines(self.at("groundTruth", stem + ".txt"), *["cut"] * steps)
        np.savez(self.at("poses.npz"), keypoints=np.ones((50, 17, 3)), scores=np.ones(50))
        lines(self.at("mapping.txt"), "0 background", "1 cut")
        lines(self.at("classes.txt"), "background", "cut")
        annotations(self.at("activity_net.json"), "001", "v_002", "002")
        with open(os.path.join(tool.ROOT, "README.md"), encoding="utf-8") as file:
            sections = re.split(r"^(?:## |\*\*)([A-Z][^\n*]*?)(?:\.\*\*|\n)", file.read(), flags=re.M)
        text = {title: body for title, body in zip(sections[1::2], sections[2::2])}
        commands = 0
        for title in README_SECTIONS:
            found = self.run_blocks(text[title], self.at())
            self.assertTrue(found, title)
            self.check(found, self.at())
            for name in found:
                shutil.rmtree(self.at(name))
            commands += len(found)
        self.assertGreaterEqual(commands, 9)

    def test_recipes(self):
        self.enter("recipes")
        self.frame_folders()
        shutil.copytree(self.at("frames"), self.at("ActionGenome/frames"))
        lines(self.at("Charades/Charades_v1_train.csv"), "id,subject,actions,length", "001YG,A,c092 1.50 4.20;c147 0.00 12.60,30.1",
              "00HFP,B,,12.0")
        lines(self.at("Charades/Charades_v1_classes.txt"), *(f"c{i:03} Doing {i}" for i in range(157)))
        for number in range(1, 4):
            for name in "Archery/v_Archery_g01_c01", "Biking/v_Biking_g02_c03":
                image(self.at("rawframes", name, f"flow_x_{number:05}.jpg"))
        for i, steps in enumerate((12, 7)):
            stem = f"S{i + 1}_Cheese_C1"
            array(self.at("i3d", f"v_000{i}.npy"), steps, 1, 1, 1024)
            array(self.at("gtea/features", stem + ".npy"), 2048, steps)
            lines(self.at("gtea/groundTruth", stem + ".txt"), *["take"] * (steps - 3), *["background"] * 3)
            array(self.at("feats/storage", f"0a{i}", f"0a{i}b2c.npy"), steps, 80)
        lines(self.at("gtea/splits/train.split1.bundle"), "S1_Cheese_C1.txt")
        lines(self.at("gtea/mapping.txt"), "0 take", "1 background")
        steps = self.video(self.at("videos/cook/0001.mp4"))
        array(self.at("labels/cook/0001.npy"), steps, dtype="u1")
        lines(self.at("steps/0001.txt"), *["cut"] * steps)
        lines(self.at("mapping.txt"), "background", "cut")
        annotations(self.at("activity_net.json"), "0001")
        manifest = [{"recording_id": "a", "storage_path": "feats/storage", "storage_key": f"0a{i}/0a{i}b2c.npy"} for i in range(2)]
        write(self.at("feats/feature_manifest.json.gz"), gzip.compress(json.dumps(manifest).encode()))
        with open(os.path.join(tool.ROOT, "docs/recipes.md"), encoding="utf-8") as file:
            claimed = self.run_blocks(file.read(), self.at())
        self.assertGreaterEqual(len(claimed), 10)
        self.check(claimed, self.at())
        # Classes are what the CSV says of the images' times.
        actions = Dataset(self.at("ag"))
        (block, start, length, _), = actions.pieces_of("001YG.mp4")
        painted = actions.block(block, "actions")[start:start + length]
        self.assertEqual(painted[:, 92].tolist(), [1, 1, 0])
        self.assertEqual(painted[:, 147].tolist(), [1, 1, 1])
        self.assertEqual(painted.sum(), 5)
