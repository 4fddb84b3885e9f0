"""Fields with steps of their own: every step as numpy and the tokenizers library make it of the files alone."""
import csv
import json
import os
import subprocess

import numpy as np
from PIL import Image
from tokenizers import Tokenizer

import tool
from dataset import Dataset
from text import small_tokenizer

COUNT = 60
# The types of lists, and the shapes of their steps.
LISTS = {"u8": (), "i8": (2,), "bool": (), "i16": (3, 2), "f16": (), "i64": (1, 1, 1, 2), "f64": (4,)}
NUMPY = {"u8": "u1", "i8": "i1", "bool": "?", "i16": "i2", "f16": "f2", "i64": "i8", "f64": "f8"}
WAYS = {
    "whole": ("-T", "64"),
    "small": ("-T", "longest", "--compress", "zstd", "--shard-size", "8K", "-j", "3"),
    "tight": ("-T", "200", "--sequence-slots", "30"),
}


class Own(tool.Tool):
    """Arrays with lists under keys, with arrays and texts in files beside them, and with words in a table."""
    count = COUNT

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls()
        random = np.random.default_rng(11)
        cls.steps = {}
        tool.write(self.path("tokenizer.json"), small_tokenizer("<s>", "</s>"))
        tokenizer = Tokenizer.from_file(self.path("tokenizer.json"))
        for folder in "patches", "texts":
            os.mkdir(self.path(folder))
        lines, table = [], [("id", "words")]
        offset = 0
        for i in range(COUNT):
            values = {name: self.values(random, name) for name in LISTS}
            text = "document " + "x" * int(random.integers(0, 30))
            line = json.dumps({"text": text, **{name: array.tolist() for name, array in values.items()}})
            lines.append(line + "\n")
            name = f"d.jsonl#{offset}"
            offset += len(line) + 1
            patches = random.normal(size=(3, int(random.integers(0, 5)), 7)).astype(">f4")
            if i % 4 and patches.shape[1]:
                np.save(self.path("patches", name + ".npy"), np.asfortranarray(patches) if i % 2 else patches)
            else:
                patches = patches[:, :0]
            words = "\t".join(["wörd \\", "two\n"] * int(random.integers(0, 4)))
            table.append((name, words))
            tool.write(self.path("texts", name + ".txt"), "line\r\n" * (i % 3))
            ids = tokenizer.encode(words, add_special_tokens=False).ids
            values["words"] = np.array([256, *ids, 257] if ids else [], np.int32)
            values["lines"] = np.frombuffer(b"line\r\n" * (i % 3), np.uint8).astype(np.uint16)
            values["patches"] = np.moveaxis(patches, 1, 0).astype("<f4")
            cls.steps[name] = values
        tool.write(self.path("d.jsonl"), "".join(lines))
        with open(self.path("words.csv"), "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(table)

    @staticmethod
    def values(random, name):
        shape = (int(random.integers(0, 6)), *LISTS[name])
        if name == "bool":
            return random.integers(0, 2, shape).astype(bool)
        if name.startswith("f"):
            return random.normal(scale=10.0 ** random.integers(-9, 4), size=shape)
        limits = np.iinfo(NUMPY[name])
        return random.integers(limits.min, limits.max, shape, NUMPY[name], endpoint=True)

    def write_yaml(self, names):
        fields = {
            "words": "kind: text, column: words, tokenizer: tokenizer.json, bos: <s>, eos: </s>, capacity: 300",
            "lines": "path: 'texts/{name}.txt', tokenizer: bytes, dtype: u16, capacity: auto, storage: flat",
            "patches": "path: 'patches/{name}.npy', time-axis: 1, missing: empty, capacity: auto",
            **{name: f"kind: array, key: {name}, dtype: {name}, capacity: auto" for name in LISTS},
        }
        text = "sources: [d.jsonl]\ntokenizer: bytes\nattributes: words.csv\nfields:\n"
        tool.write(self.path("own.yaml"), text + "".join(f"  - {{name: {name}, steps: own, {fields[name]}}}\n" for name in names))

    def stored(self, dataset, field, block):
        """The own steps of a block, with those of each place in it."""
        bounds = dataset.block(block, field["name"] + "_cu_seqlens")
        self.assertEqual(bounds[0], 0)
        if field["storage"] == "padded":
            steps = dataset.block(block, field["name"])
            self.assertEqual(len(steps), field["capacity"])
            self.assertFalse(steps[bounds[-1]:].any())
            return steps, bounds
        for number, shard in enumerate(dataset.shards):
            row = block - int(shard["first_block"])
            if row < int(shard["blocks"]):
                opened = dataset.open(number)
                first, end = opened.get_tensor(field["name"] + "_offsets")[row:row + 2]
                self.assertEqual(end - first, bounds[-1])
                return opened.get_tensor(field["name"])[first:end], bounds
        raise IndexError(block)

    def check(self, way, names):
        self.write_yaml(names)
        dataset = Dataset(self.pack(way, "-c", "own.yaml", *WAYS[way], cwd=self.directory))
        self.bload("verify", "-q", dataset.directory)
        fields = [field for field in dataset.manifest["fields"] if field.get("steps") == "own"]
        self.assertEqual([field["name"] for field in fields], list(names))
        seen = 0
        for block in range(dataset.blocks):
            for field in fields:
                steps, bounds = self.stored(dataset, field, block)
                self.assertLessEqual(bounds[-1], field["capacity"])
                for place, (sequence, *_) in enumerate(dataset.pieces(block)):
                    expected = self.steps[dataset.sequences[sequence]["id"]][field["name"]]
                    got = steps[bounds[place]:bounds[place + 1]]
                    if field["name"] in LISTS:
                        expected = expected.astype(NUMPY[field["name"]])
                    with self.subTest(sequence=sequence, field=field["name"]):
                        np.testing.assert_array_equal(got, expected)
                        self.assertEqual(got.dtype, expected.dtype)
                    seen += 1
        self.assertEqual(seen, self.count * len(names))

    def test_files_and_columns(self):
        self.check("whole", ("words", "lines", "patches"))

    def test_lists(self):
        self.check("small", list(LISTS)[:4])
        self.check("tight", list(LISTS)[3:])

    def test_all_kinds_together(self):
        self.check("small", ("words", "lines", "patches", "i8", "f16", "f64"))


WIDTH, HEIGHT = 24, 16  # of the steps of pictures and videos


class Media(Own):
    """Documents with lists of pictures and videos: every step is the picture that was drawn, or as Pillow scales it."""
    count = 30

    @classmethod
    def setUpClass(cls):
        tool.Tool.setUpClass.__func__(cls)
        self, random = cls(), np.random.default_rng(5)
        os.makedirs(self.path("media"))
        cls.pictures, cls.videos, cls.steps, lines = {}, {}, {}, []
        for i in range(12):
            name, image = f"media/{i}.{('png', 'bmp', 'webp', 'tif')[i % 4]}", self.draw(random)
            image.save(self.path(name), **({"lossless": True} if i % 4 == 2 else {}))
            cls.pictures[name] = np.array(image)
        for i in range(4):
            name, frames = f"media/{i}.mkv", np.stack([np.array(self.draw(random)) for _ in range(random.integers(1, 7))])
            subprocess.run(["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{HEIGHT}", "-r", "10", "-i", "-", "-c:v", "png",
                            self.path(name)], input=frames.tobytes(), check=True)
            cls.videos[name] = frames
        offset = 0
        for i in range(30):
            pictures = [str(name) for name in random.choice(list(cls.pictures), random.integers(0, 5))]
            films = [str(name) for name in random.choice(list(cls.videos), random.integers(0, 3))]
            clips, frames = [], []
            for name in films:
                first, end = sorted(random.integers(0, len(cls.videos[name]) + 1, 2).tolist())
                whole = first == end
                clips.append(name if whole else {"path": name, "start_frame": first, "end_frame": end})
                frames += list(cls.videos[name] if whole else cls.videos[name][first:end])
            document = {"text": "x" * (i % 7 + 1), "pictures": pictures, "clips": clips}
            if not pictures and i % 2:
                del document["pictures"]
            line = json.dumps(document)
            lines.append(line + "\n")
            empty = np.zeros((0, HEIGHT, WIDTH, 3), np.uint8)
            cls.steps[f"d.jsonl#{offset}"] = {"pictures": np.stack([cls.pictures[name] for name in pictures]) if pictures else empty,
                                              "clips": np.stack(frames) if frames else empty}
            offset += len(line) + 1
        tool.write(self.path("d.jsonl"), "".join(lines))

    @staticmethod
    def draw(random):
        return Image.fromarray(random.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8))

    def write_yaml(self, names, more=""):
        kinds = {"pictures": "images", "clips": "video"}
        tool.write(self.path("own.yaml"), "sources: [d.jsonl]\ntokenizer: bytes\nfields:\n" + "".join(
            f"  - {{name: {name}, kind: {kinds[name]}, key: {name}, steps: own, capacity: auto, size: {WIDTH}x{HEIGHT}{more}}}\n" for name in names))

    def test_files_and_columns(self):
        self.check("whole", ("pictures", "clips"))

    def test_lists(self):
        self.check("small", ("clips",))
        self.check("tight", ("pictures",))

    def test_all_kinds_together(self):
        """Scaled pictures are those of Pillow, but at the edges, behind which it takes no pixels and zimg takes mirrored ones."""
        self.write_yaml(("pictures",), ", storage: padded")
        text = tool.text(self.path("own.yaml")).replace(f"{WIDTH}x{HEIGHT}", "11x9")
        tool.write(self.path("own.yaml"), text)
        dataset = Dataset(self.pack("scaled", "-c", "own.yaml", "-T", "64", cwd=self.directory))
        field, = (field for field in dataset.manifest["fields"] if field["name"] == "pictures")
        seen = 0
        for block in range(dataset.blocks):
            steps, bounds = self.stored(dataset, field, block)
            for place, (sequence, *_) in enumerate(dataset.pieces(block)):
                for step, whole in zip(steps[bounds[place]:bounds[place + 1]], self.steps[dataset.sequences[sequence]["id"]]["pictures"], strict=True):
                    scaled = np.array(Image.fromarray(whole).resize((11, 9), Image.Resampling.BILINEAR))
                    self.assertLessEqual(np.abs(step.astype(int) - scaled)[2:-2, 2:-2].max(), 2)
                    seen += 1
        self.assertGreater(seen, 20)
