"""What bload export writes, read by the released loaders of the formats: shuffled, on two ranks, each block once and equal."""
import contextlib
import fcntl
import importlib.metadata
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import zipfile

import numpy as np

import bload
from export_job import digest, without
from harness import each
from packed import PackedTest

PACKAGES = {"mds": "mosaicml-streaming", "webdataset": "webdataset", "energon": "megatron-energon", "megatron": "megatron-core"}
HERE = os.path.dirname(os.path.abspath(__file__))
TRIES = 3
# Streaming looks for a free name of shared memory, then takes it; or each rank finds another one, where names come and go meanwhile.
TAKEN = re.compile(r"File exists: '/\d{6}|was not registered by local leader")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def spoil(path):
    """Damages an archive so that it is found when the archive is read: its checksum is wrong."""
    with zipfile.ZipFile(path) as archive:
        end = archive.start_dir
    with open(path, "r+b") as file:
        file.seek(end - 40)
        file.write(b"\xff" * 4)


def missing(kind):
    """Why the released reader of a format cannot be used; None: it can. It is not there with every torch."""
    try:
        importlib.metadata.version(PACKAGES[kind])
    except importlib.metadata.PackageNotFoundError:
        return f"no package {PACKAGES[kind]}"
    return None


def indexed_dataset():
    """Megatron's module of that name, without the rest of Megatron, which needs another torch."""
    without("megatron.core.datasets.object_storage_utils", "S3Config", "ObjectStorageConfig")
    for name in "cache_index_file", "dataset_exists", "get_index_cache_path", "get_object_storage_access", "is_object_storage_path", "parse_s3_path":
        setattr(sys.modules["megatron.core.datasets.object_storage_utils"], name, lambda *_: False)
    without("megatron.core.msc_utils", "MultiStorageClientFeature")
    sys.modules["megatron.core.msc_utils"].MultiStorageClientFeature.is_enabled = staticmethod(lambda: False)
    without("megatron.core.utils")
    sys.modules["megatron.core.utils"].log_single_rank = lambda *_: None
    path = next(file.locate() for file in importlib.metadata.files("megatron-core") if file.name == "indexed_dataset.py")
    spec = importlib.util.spec_from_file_location("indexed_dataset", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Exports(PackedTest):
    def view(self):
        """Of two datasets, with an attribute, and U8 pieces of another T."""
        if not os.path.exists(self.path("view")):
            for name in "one", "two":
                os.makedirs(self.path(f"{name}-source"))
                for i in range(12):
                    np.save(self.path(f"{name}-source", f"{name}{i}.npy"), np.random.default_rng(i).integers(0, 9, (3 + i, 5)).astype("u1"))
                with open(self.path(f"{name}.csv"), "w") as table:
                    table.write("id,weight\n" + "".join(f"{name}{i}.npy,{i / 7}\n" for i in range(12)))
                self.bload("pack", "-q", self.path(f"{name}-source"), "--kind", "array", "--store", "--attributes", self.path(f"{name}.csv"),
                           "-o", self.path(name))
            self.bload("view", "-q", self.path("one"), self.path("two"), "-T", 16, "--mix", "random", "--world-size", 2, "--batch-size", 2,
                       "-o", self.path("view"))
        return self.path("view")

    def awkward(self):
        """A view of sequences whose names JSON must escape or cannot have, of which one fails and two have the same; some blocks are empty."""
        if not os.path.exists(self.path("awkward")):
            for name in "left", "right":
                os.makedirs(self.path(f"{name}-source"))
                for i, own in enumerate(("same", f'{name} "quoted" \\', "tab\t", "Zoë", "\udcff")):
                    np.savez(self.path(f"{name}-source", own + ".npz"), x=np.full((60 + i, 3), i, "f4"))
                spoil(self.path(f"{name}-source", "Zoë.npz"))
                self.bload("pack", "-q", self.path(f"{name}-source"), "--kind", "array", "--store", "-o", self.path(name), status=3)
            self.bload("view", "-q", self.path("left"), self.path("right"), "-T", 200, "--mix", "random", "--world-size", 8, "--remainder",
                       "pad", "-o", self.path("awkward"))
        return self.path("awkward")

    def read(self, kind, directory):
        """The digests of all blocks that two ranks read."""
        with contextlib.ExitStack() as stack:
            if kind == "mds":  # Streaming's jobs take the first free name of shared memory, and two at once may take the same
                fcntl.flock(stack.enter_context(open(__file__, "rb")), fcntl.LOCK_EX)
            return self.read_alone(kind, directory)

    def read_alone(self, kind, directory):
        for _ in range(TRIES):
            port = free_port()
            ranks = [subprocess.Popen([sys.executable, os.path.join(HERE, "export_job.py"), kind, directory, str(rank), "2", str(port)],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank in range(2)]
            told = [rank.communicate(timeout=120) for rank in ranks]  # of both: one that fails ends the other
            if not any(TAKEN.search(err) for _, err in told):
                break
        self.assertEqual([rank.returncode for rank in ranks], [0, 0], "\n".join(err[-2000:] for _, err in told))
        read = [json.loads(out.splitlines()[-1]) for out, _ in told]
        self.assertEqual(len(read[0]), len(read[1]))
        return read[0] + read[1]

    def expected(self, source, ids):
        blocks = []
        for block in bload.open(source, ids=ids):
            if ids:
                block["ids"] = [name.replace("\udcff", "\\xFF") for name in block["ids"]]
            # Energon's samples are tensors of types that all versions of torch have.
            blocks.append(digest({name: np.asarray(value) for name, value in block.items()}))
        return blocks

    def test_awkward_ids(self):
        """That they are what the test of two ranks says."""
        ids = [block["ids"] for block in bload.open(self.awkward())]
        self.assertIn([""] * len(ids[0]), ids)
        flat = sum(ids, [])
        for name in "left/same.npz", "right/same.npz", 'left "quoted" \\.npz', "left/tab\t.npz", "left/\udcff.npz":
            self.assertEqual(flat.count(name), 1, flat)
        self.assertFalse([name for name in flat if "Zoë" in name])

    @each((("mds", "mds"), ("webdataset", "webdataset"), ("energon", "energon"), ("compressed", "mds", "--compress", "zstd:5"),
           ("mds_ids", "mds", "--ids"), ("webdataset_ids", "webdataset", "--ids"), ("energon_ids", "energon", "--ids")))
    def test_two_ranks(self, _name, kind, *options):
        if missing(kind):
            self.skipTest(missing(kind))
        ids = "--ids" in options
        for source in (self.awkward(),) if ids else (self.data, self.view()):
            out = self.path("-".join((kind, os.path.basename(source), *options)))
            self.bload("export", "-q", "--to", kind, "--shard-size", "1500", *options, source, "-o", out)
            self.assertGreater(sum(name.startswith(("shard.", "blocks-")) for name in os.listdir(out)), 2)
            self.assertEqual(sorted(self.read(kind, out)), sorted(self.expected(source, ids)))
            self.bload("verify", "-q", out, "--against", source)

    @each((("one",), ("several", "--shard-size", "1K")))
    def test_megatron(self, name, *options):
        """Each sequence as it lies in the blocks, and a document for each block."""
        if missing("megatron"):
            self.skipTest(missing("megatron"))
        with open(self.path(f"{name}.jsonl"), "w") as file:
            for i in range(40):
                file.write(json.dumps({"text": chr(97 + i % 26) * (1 + i * 7 % 60)}) + "\n")
        data, out = self.pack(f"{name}-tokens", self.path(f"{name}.jsonl"), "--tokenizer", "bytes", "--dtype", "u16", "-T", 64), self.path(f"{name}-megatron")
        self.bload("export", "-q", "--to", "megatron", *options, data, "-o", out)
        read, documents = [], []
        for prefix in sorted(os.path.join(out, file[:-4]) for file in os.listdir(out) if file.endswith(".bin")):
            dataset = indexed_dataset().IndexedDataset(prefix)
            documents += np.diff(dataset.document_indices).tolist()
            read += [dataset[i].tolist() for i in range(len(dataset))]
        blocks = list(bload.open(data))
        self.assertEqual(documents, [int(block["num_sequences"]) for block in blocks])
        self.assertEqual(read, [block["tokens"][start:start + length].tolist() for block in blocks
                                for start, length in zip(block["cu_seqlens"], block["length"]) if length])
        self.bload("verify", "-q", out, "--against", data)

    def test_megatron_as_a_source(self):
        """Documents of several sequences, and of none, as its builder writes them: read from the files themselves."""
        if missing("megatron"):
            self.skipTest(missing("megatron"))
        module, chance = indexed_dataset(), np.random.default_rng(3)
        for dtype in np.uint16, np.int32:
            prefix, documents = self.path(f"built-{dtype.__name__}"), []
            builder = module.IndexedDatasetBuilder(prefix + ".bin", dtype=dtype)
            for sequences in chance.integers(0, 4, 50):
                parts = [chance.integers(0, 500, chance.integers(1, 30)) for _ in range(sequences)]
                documents += [np.concatenate(parts).tolist()] if parts else []
                builder.add_document(np.concatenate([[], *parts]).astype(dtype), [len(part) for part in parts])
            builder.finalize(prefix + ".idx")
            data = self.pack(f"from-{dtype.__name__}", "--token-file", "auto", prefix, "-T", 100, "--order", "keep")
            self.assertEqual([block["tokens"][start:start + length].tolist() for block in bload.open(data)
                              for start, length in zip(block["cu_seqlens"], block["length"]) if length], documents)
            dataset, data = module.IndexedDataset(prefix), self.pack(
                f"of-{dtype.__name__}", "--token-file", "sequences", prefix, "-T", 100, "--order", "keep")
            self.assertEqual([block["tokens"][start:start + length].tolist() for block in bload.open(data)
                              for start, length in zip(block["cu_seqlens"], block["length"]) if length],
                             [dataset[i].tolist() for i in range(len(dataset))])
