#!/usr/bin/env python3
"""Packing chats with pictures compared with the processor alone: bench/multimodal.py [CHATS]

Chats with a JPEG of 640x480, and of 1280x960, are given to the processor of Qwen2.5-VL, with the patches and limits of its release: in a loop that
discards the arrays, in a loop that saves them by numpy.savez, and to bload.multimodal with one process, which also stores and packs them. Prints
processor seconds and the most memory of each, and the ratios, best of three in turn. It runs with the packages of tests/trainers, by build/trainers-venv/bin/python3.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ALONE = """
import json, numpy, torch, transformers
torch.set_num_threads(1)
processor = transformers.AutoProcessor.from_pretrained("model", local_files_only=True)
for number, line in enumerate(open("chats.jsonl")):
    made = processor.apply_chat_template(json.loads(line)["messages"], tokenize=True, return_dict=True, return_tensors="pt")
    if SAVE:
        numpy.savez(f"saved/{number}.npz", **{name: value.numpy() for name, value in made.items()})
"""


def prepare(folder, count, width=640, height=480):
    """Write the model, 100 pictures and the chats."""
    sys.path.append(os.path.join(ROOT, "tests/trainers"))
    import multimodal_models as models
    import numpy as np
    import transformers
    from PIL import Image

    options = {"patch_size": 14, "temporal_patch_size": 2, "merge_size": 2, "size": {"shortest_edge": 3136, "longest_edge": 12845056}}
    models.PROCESSORS["qwen2_5_vl"] = lambda tokenizer, template: transformers.Qwen2_5_VLProcessor(
        transformers.Qwen2VLImageProcessor(**options), tokenizer, transformers.Qwen2VLVideoProcessor(**options), chat_template=template)
    models.save("qwen2_5_vl", os.path.join(folder, "model"))
    random = np.random.default_rng(0)
    for number in range(100):
        Image.fromarray(models.smooth(random, height, width)).save(os.path.join(folder, f"{number}.jpg"), quality=90)
    with open(os.path.join(folder, "chats.jsonl"), "w") as file:
        for number in range(count):
            chat = [models.user({"type": "image", "path": os.path.join(folder, f"{number % 100}.jpg")}, "What is in the picture?"),
                    models.assistant("A small house near the river.")]
            file.write(json.dumps({"messages": chat}) + "\n")


def measured(folder, *command):
    """Run a command; return its processor seconds and the most memory of any of its processes, in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python"), "BLOAD": os.environ.get("BLOAD", os.path.join(ROOT, "bload")),
                   "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    code = ("import resource, subprocess, sys; status = subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL).returncode; "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(status)")
    done = subprocess.run([sys.executable, "-c", code, *command], cwd=folder, env=environment, stdout=subprocess.PIPE, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, int(done.stdout.split()[-1]) / 1024


def compare(count, width, height):
    """Print the figures for pictures of a size."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder, count, width, height)
        os.mkdir(os.path.join(folder, "saved"))
        found = {"processor alone": [], "processor and numpy.savez": [], "bload.multimodal": []}
        for turn in range(3):
            found["processor alone"].append(measured(folder, sys.executable, "-c", f"SAVE = False\n{ALONE}"))
            found["processor and numpy.savez"].append(measured(folder, sys.executable, "-c", f"SAVE = True\n{ALONE}"))
            found["bload.multimodal"].append(measured(folder, sys.executable, "-m", "bload.multimodal", "--processor", "model", "chats.jsonl",
                                                      "-o", f"set-{turn}", "-T", "8192", "-j", "1"))
            shutil.rmtree(os.path.join(folder, f"set-{turn}"))
        best = {name: min(runs) for name, runs in found.items()}
        for name, (seconds, memory) in best.items():
            print(f"{width}x{height}, {name}: {seconds:.1f} processor seconds, {memory:.0f} MB")
        ratios = [best["bload.multimodal"][0] / best[name][0] for name in ("processor alone", "processor and numpy.savez")]
        print(f"{width}x{height}: {ratios[0]:.2f} of the processor alone, {ratios[1]:.2f} of saving its arrays")


def main(count=1000):
    compare(int(count), 640, 480)
    compare(int(count) // 2, 1280, 960)


if __name__ == "__main__":
    main(*sys.argv[1:])
