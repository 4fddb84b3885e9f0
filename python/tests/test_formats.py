"""The commands of docs/formats.md run as they stand, those of each section in a directory of its own with small inputs."""
import gzip
import importlib.util
import io
import json
import os
import pickle
import re
import shlex
import struct
import subprocess
import sys
import tarfile
import wave

import bload
import numpy as np
import chats
import tool
from harness import each

ELSEWHERE = {"LeRobot"}  # tests/readers/test_lerobot.py runs its commands
PACKAGES = {"bload.parquet": "pyarrow", "bload.chat": "transformers", "i3d.lmdb": "lmdb", "c3d.h5": "h5py"}


def sections():
    """[(title, its commands, its files [(name, content)])] of those that have commands."""
    parts = re.split(r"^##+ ", tool.text(os.path.join(tool.ROOT, "docs/formats.md")), flags=re.MULTILINE)[1:]
    codes = [(part.split("\n")[0], "".join(re.findall(r"^```sh\n(.*?)^```", part, re.DOTALL | re.MULTILINE))) for part in parts]
    files = [re.findall(r"^```yaml\n# (\S+)\n(.*?)^```", part, re.DOTALL | re.MULTILINE) for part in parts]
    return [(title, title, code, named) for (title, code), named in zip(codes, files) if code and title not in ELSEWHERE]


def sound(seconds):
    """A WAV file of 8000 samples a second."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(range(200)) * int(80 * seconds))
    return out.getvalue()


def write_lines(path, rows):
    tool.write(path, "".join(json.dumps(row) + "\n" for row in rows))


def write_parquet(path, rows):
    import pyarrow
    import pyarrow.parquet
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


TUNING = [{"input_ids": list(range(i, 3 * i)), "loss_mask": [0] * i + [1] * i} for i in range(1, 60)]


class Formats(tool.Tool):
    def make_tars_and_webdataset(self, here):
        video = subprocess.run([os.path.join(tool.ROOT, "fixtures/media"), "h264-30.mp4"], capture_output=True, text=True, check=True).stdout
        video = tool.read(video.strip())
        pose = io.BytesIO()
        np.save(pose, np.zeros((30, 17, 2), "f4"))
        for shard in range(4):
            with tarfile.open(os.path.join(here, f"data-{shard:03}.tar"), "w") as tar:
                for number in range(3):
                    for extension, content in (("mp4", video), ("json", b'{"caption": "a street"}'), ("cls", b"3"), ("pose.npy", pose.getvalue())):
                        member = tarfile.TarInfo(f"{number:04}.{extension}")
                        member.size = len(content)
                        tar.addfile(member, io.BytesIO(content))

    def make_text_and_token_ids(self, here):
        for part in range(2):
            write_parquet(os.path.join(here, f"fineweb/train-{part:05}-of-00002.parquet"),
                          [{"id": f"{part}-{i}", "text": f"document {i} " * i, "url": "x"} for i in range(1, 90)])
        write_parquet(os.path.join(here, "sft/train.parquet"), TUNING)
        chats.model(os.path.join(here, "model"), None)
        os.rename(os.path.join(here, "model/tokenizer.json"), os.path.join(here, "tokenizer.json"))

    def make_sounds_pictures_and_videos(self, here):
        write_parquet(os.path.join(here, "speech/train.parquet"),
                      [{"audio": {"bytes": sound(i / 10), "path": f"{i}.wav"}, "text": f"number {i}"} for i in range(1, 20)])

    def make_packed_parquet_for_megatron_bridge(self, here):
        write_lines(os.path.join(here, "sft.jsonl"), TUNING)
        self.bload("pack", "-q", "sft.jsonl", "--key", "input_ids", "--field", "loss_mask:u8", "-T", 128, "-o", "sft-dataset", cwd=here)

    def make_chats(self, here):
        chats.model(os.path.join(here, "MODEL"), chats.CHATML)
        with gzip.open(os.path.join(here, "chats.jsonl.gz"), "wt") as file:
            file.writelines(json.dumps(chats.LONG) + "\n" for _ in range(30))

    def make_nothing_said_is_lost(self, here):
        chats.model(os.path.join(here, "MODEL"), chats.CHATML)
        write_lines(os.path.join(here, "pairs.jsonl"), [{"prompt": "1+1", "chosen": "2", "rejected": "3"}])

    def make_flat_files_of_token_ids(self, here):
        lengths = [5, 1, 700, 3000]
        marked = np.concatenate([np.append(np.arange(n) % 999, 50256) for n in lengths]).astype("<u2")
        marked.tofile(os.path.join(here, "train.bin"))
        for part in range(2):
            with open(os.path.join(here, f"fineweb_train_{part:06}.bin"), "wb") as file:
                np.array([20240520, 1, len(marked)] + [0] * 253, "<i4").tofile(file)
                np.roll(marked, 1).tofile(file)
        ends = np.cumsum(np.array(lengths) + 1)
        for name in "olmo/part-0.npy", "corpus_text_document.bin", "tokenized/00000.ds":
            os.makedirs(os.path.dirname(os.path.join(here, name)), exist_ok=True)
            marked.tofile(os.path.join(here, name))
        ends.astype("<u8").tofile(os.path.join(here, "tokenized/00000.ds.index"))
        tool.write(os.path.join(here, "tokenized/00000.ds.metadata"), f"gpt2|2\n{len(marked)}\n4 T")
        with open(os.path.join(here, "corpus_text_document.idx"), "wb") as file:
            file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(ends), len(ends) + 1))
            np.diff(ends, prepend=0).astype("<i4").tofile(file)
            (2 * np.concatenate([[0], ends[:-1]])).astype("<i8").tofile(file)
            np.arange(len(ends) + 1).astype("<i8").tofile(file)

    def make_arrays(self, here):
        import h5py
        import lmdb
        import scipy.io

        def array(steps):
            return np.arange(steps * 2048, dtype=np.float32).reshape(steps, 2048)

        with h5py.File(os.path.join(here, "c3d.h5"), "w") as file:
            for steps, name in (5, "v_abc"), (6, "v_abd"):
                file[name + "/c3d_features"] = array(steps)
        os.mkdir(os.path.join(here, "folder"))
        for name, value in ("features.pkl", {"x": array(4), "y": array(6)}), ("folder/one.pkl", array(3)):
            with open(os.path.join(here, name), "wb") as file:
                pickle.dump(value, file)
        scipy.io.savemat(os.path.join(here, "folder/old.mat"), {"features": array(2)})
        with lmdb.open(os.path.join(here, "i3d.lmdb"), subdir=False, map_size=1 << 24) as store, store.begin(write=True) as transaction:
            for steps, key in (3, b"v1"), (2, b"v2"):
                transaction.put(key, array(steps).tobytes())

    def make_mosaicml_streaming_webdataset_megatron_energon_megatron(self, here):
        write_lines(os.path.join(here, "docs.jsonl"), [{"text": "a" * i} for i in range(1, 60)])
        for name, T in ("packed", 64), ("tokens", 128):
            self.bload("pack", "-q", "docs.jsonl", "--tokenizer", "bytes", "-T", T, "-o", name, cwd=here)

    @each(sections())
    def test(self, _, title, code, files):
        for command, package in PACKAGES.items():
            if command in code and not importlib.util.find_spec(package):
                self.skipTest(f"no package {package}")
        here = self.path(title)
        os.mkdir(here)
        getattr(self, "make_" + "_".join(re.findall(r"\w+", title.lower())))(here)
        for name, content in files:
            tool.write(os.path.join(here, name), content)
        programs = {"python": sys.executable, "bload": os.path.abspath(tool.BLOAD), "pip": "true"}
        script = "set -e\n" + "".join(f'{name}() {{ {shlex.quote(path)} "$@"; }}\n' for name, path in programs.items())
        done = subprocess.run(["bash", "-c", script + code], cwd=here, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        outputs = re.findall(r"^(?!set ).* -o (\S+)", code, re.MULTILINE)
        self.assertTrue(outputs)
        for name in outputs:
            self.assertTrue(os.listdir(os.path.join(here, name)))
            if os.path.exists(os.path.join(here, name, "manifest.json")):
                dataset = bload.open(os.path.join(here, name), verify=True)
                self.assertGreater(sum(int(block["num_sequences"]) for block in dataset), 0)
                self.assertEqual({row["status"] for row in dataset.sequences}, {"ok"})
