"""Runs the command blocks of a page, in their order, in a directory of small inputs."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np

import clips
import tool
from dataset import Dataset
from test_folders import pictures, png, write

FIELD = re.compile(r"(\w+) ([A-Z]\d+) \[n, T((?:, \w+)*)\]")


def blocks(text):
    """(language, text) of fenced blocks, and ("", line) of indented lines, in their order. Of a fence behind the comment "not run: WHY"
    the language is "not run"."""
    fence, inside, before = None, [], ""
    for line in text.split("\n"):
        if line.startswith("```"):
            if fence is not None:
                yield fence, "\n".join(inside) + "\n"
                fence = None
            else:
                fence = "not run" if before.startswith("<!-- not run: ") else line[3:]
            inside = []
        elif fence is not None:
            inside.append(line)
        elif line.startswith("    "):
            yield "", line.strip()
        before = line


def commands(block):
    """The commands of a block: a line, or several where a line ends with a backslash or within quotes."""
    command = ""
    for line in block.splitlines():
        command += line
        if line.endswith("\\"):
            command = command[:-1]
            continue
        try:
            shlex.split(command, comments=True)
        except ValueError:
            command += "\n"
            continue
        yield command
        command = ""


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


class Page(tool.Tool):
    """A test of pages."""

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

    def environment(self):
        """Of a user who has installed the tool and the Python package."""
        return {**os.environ, "PATH": os.path.dirname(os.path.abspath(tool.BLOAD)) + ":" + os.environ["PATH"],
                "PYTHONPATH": os.path.join(tool.ROOT, "python")}

    def run_command(self, command, cwd):
        """Runs a line of a page in a shell. One that needs what is not here is left out."""
        for program in ("jq", "torchrun"):
            if program in command and not shutil.which(program):
                return
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=cwd, env=self.environment(), capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr}")

    def run_blocks(self, text, cwd):
        """Runs what a page says, writes the files that it names in a first line "# NAME" or behind the language of a fence, and gives
        {dataset: fields claimed}. Lines that begin with another word than these are answers, or need the network."""
        claimed, written = {}, "dataset.yaml"
        for language, block in blocks(text):
            language, _, name = language.partition(" ")
            name = name or "".join(re.findall(r"\A# (\S+\.\w+)\n", block))
            if language in ("text", "not"):
                continue
            if language == "python" and not name:
                done = subprocess.run([sys.executable, "-c", block], cwd=cwd, capture_output=True, text=True, timeout=120,
                                      env=self.environment())
                self.assertEqual(done.returncode, 0, f"{block}\n{done.stderr}")
                continue
            if language not in ("", "sh"):
                write(os.path.join(cwd, name or written), block.encode())
                continue
            for line in commands(block) if language else [block]:
                if not re.match(r"(bload|python3|cut|sed|zcat|jq|awk|find) ", line):
                    continue
                command, _, comment = line.partition("  #") if "  #" in line else line.partition(" # ")
                self.run_command(command, cwd)
                out = re.search(r"bload pack .* -o (\S+)", command, re.DOTALL)
                if out and "--dry-run" not in command:
                    self.assertNotIn(out[1], claimed)
                    claimed[out[1]] = FIELD.findall(comment)
        return claimed

    def check(self, claimed, cwd):
        for name, fields in claimed.items():
            dataset = Dataset(os.path.join(cwd, name))
            self.bload("verify", "-q", dataset.directory)
            self.assertTrue(dataset.sequences)
            kept = (row for row in dataset.sequences if not row["reason"].startswith("left out by --"))
            self.assertEqual({row["status"] for row in kept}, {"ok"})
            there = {field["name"]: (field["dtype"], field["shape"]) for field in dataset.manifest["fields"]}
            for field, dtype, shape in fields:
                sizes = [int(size) if size.isdigit() else size for size in shape.split(", ")[1:]]
                self.assertEqual(there[field][0], dtype, name)
                self.assertEqual(len(there[field][1]), len(sizes), name)
                for size, wanted in zip(there[field][1], sizes):
                    self.assertIn(wanted, (size, "classes"), name)
