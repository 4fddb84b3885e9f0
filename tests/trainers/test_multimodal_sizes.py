"""python -m bload.multimodal --scan: the lengths that headers tell are those of the rows that packing makes."""
import json
import os
import subprocess
import sys
import unittest
import wave

import numpy as np
from PIL import Image

import bload
import multimodal_models as models
import tool
from bload._core.media import Finder
from bload._core.messages import Unusable
from bload._core.processing import Processor
from bload._core.rows import chats_of
from bload._core.sizes import HEADERS, Sizes
from bload._core.turns import Choices
from harness import each, expand

FORMATS = ("jpg", "png", "webp", "gif", "bmp", "tif")
PICTURES, SOUNDS = 40, 10


def random_pictures(folder, count=PICTURES, largest=90, seed=3):
    """Write pictures of random sizes, modes, formats and orientations, and return their paths."""
    random, paths = np.random.default_rng(seed), []
    for number in range(count):
        height, width = random.integers(6, largest, 2)
        picture = Image.fromarray(models.smooth(random, height, width)).convert(str(random.choice(["RGB", "RGB", "L", "P"])))
        kind = FORMATS[number % len(FORMATS)]
        if kind == "jpg" and picture.mode == "P":
            picture = picture.convert("RGB")
        exif = Image.Exif()
        exif[0x0112] = int(random.integers(1, 9))
        options = {"exif": exif} if kind in ("jpg", "png", "webp", "tif") and number % 3 else {}
        paths.append(os.path.join(folder, f"random-{number}.{kind}"))
        picture.save(paths[-1], **options)
    return paths


def random_sounds(folder, count=SOUNDS):
    """Write sounds of random lengths and rates, some of which end in silence, and return their paths."""
    random, paths = np.random.default_rng(5), []
    for number in range(count):
        rate = int(random.choice([8000, 16000, 22050]))
        samples = random.normal(0, 5000, int(random.uniform(0.05, 1.9) * rate))
        samples[int(len(samples) * random.uniform(0, 2)):] = 0
        paths.append(os.path.join(folder, f"random-{number}.wav"))
        with wave.open(paths[-1], "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(samples.astype("<i2").tobytes())
    return paths


def random_chats(family, folder):
    """Return chats with the random media that the family takes: in every third chat three, else one."""
    chats = {}
    for kind, paths in ("image", random_pictures), ("audio", random_sounds):
        found = [{"type": kind, "path": path} for path in paths(folder)] if kind in models.FAMILIES[family].kinds else []
        while found:
            count = 3 if len(chats) % 3 == 2 else 1
            some, found = found[:count], found[count:]
            chats[f"{kind} {len(chats)}"] = [models.user(*some, "What is this, and what is that?"), models.assistant("A house.")]
    return chats


class Same(tool.Tool):
    def setUp(self):
        os.makedirs(self.path())

    def path(self, *names):
        return os.path.join(self.directory, self._testMethodName, *names)

    def check(self, processor, chats):
        """The lengths of every chat are those of its fields, and no picture and no frame is decoded."""
        sizes = Sizes(processor)
        if sizes.kinds:
            sizes.decoded = None    # it would be called
        for name, messages in chats.items():
            keys, media = Finder({"messages": messages}, "").found()
            chat, = chats_of(keys, has_media=True)
            with self.subTest(name=name):
                try:
                    made = processor.made(chat, media)
                except Unusable as error:
                    with self.assertRaises(Unusable) as raised:
                        sizes.of(chat, media)
                    self.assertEqual((raised.exception.reason, raised.exception.fault), (error.reason, error.fault))
                    continue
                found = sizes.of(chat, media)
                self.assertEqual(found.tokens, len(made.fields["tokens"]))
                self.assertEqual(found.trained, made.fields["loss_mask"].sum())
                self.assertEqual(found.counts, made.counts)
                common = ("tokens", "loss_mask", "position_ids", "mm_token_type_ids", "token_type_ids")
                self.assertEqual(found.own, {name: len(values) for name, values in made.fields.items() if name not in common})
                self.assertLessEqual(set(found.own), set(sizes.own))


@expand
class Families(Same):
    @each(models.FAMILIES)
    def test(self, family):
        models.save(family, self.path("model"))
        chats = {**models.chats(family, models.media(self.path())), **random_chats(family, self.path())}
        for train_on in "assistant", "all":
            processor = Processor(self.path("model"), None, {}, Choices(train_on))
            self.assertEqual(Sizes(processor).kinds, HEADERS[family])
            self.check(processor, chats)


def with_options(family, part, **options):
    """Return the name of a test, the family, and a change of the configuration of a part of its processor."""
    return f"{family}_{next(iter(options))}", family, part, options


@expand
class Configurations(Same):
    """Configurations for which Transformers' own functions of sizes are wrong, or that are unlike those of the examples."""

    @each([
        with_options("gemma3", "images_kwargs", do_pan_and_scan=True, pan_and_scan_min_crop_size=8, pan_and_scan_max_num_crops=4,
                     pan_and_scan_min_ratio_to_activate=1.1),
        with_options("idefics3", "image_processor", size={"longest_edge": 40}),
        with_options("idefics3", "image_processor", do_image_splitting=False),
        with_options("smolvlm", "image_processor", size={"longest_edge": 40}),
        with_options("internvl", "images_kwargs", crop_to_patches=False),
        with_options("internvl", "image_processor", min_patches=2, max_patches=12),
        with_options("llava", "image_processor", do_center_crop=False, size={"height": 24, "width": 16}),
        with_options("pixtral", "image_processor", size={"longest_edge": 100}),
        with_options("qwen2_5_vl", "image_processor", size={"shortest_edge": 3136, "longest_edge": 12845056}, patch_size=14),
        with_options("qwen2_5_vl", "video_processor", fps=1.5),
        with_options("qwen3_vl", "video_processor", num_frames=5, fps=None),
        with_options("llava_next", "image_processor", image_grid_pinpoints=[[16, 16 * one] for one in range(1, 6)]),
        with_options("llava_next", "image_processor", do_normalize=False),
        with_options("llava_onevision", "video_processor", num_frames=7),
    ])
    def test(self, _, family, part, options):
        models.save(family, self.path("model"))
        if part != "images_kwargs":
            path = self.path("model", "processor_config.json")
            config = json.loads(tool.text(path))
            config[part].update(options)
            tool.write(path, json.dumps(config))
        processor = Processor(self.path("model"), None, {}, Choices())
        if part == "images_kwargs":     # what is saved does not count beside the defaults of the class
            processor.processor.images_kwargs = {**processor.processor.images_kwargs, **options}
        chats = {**models.chats(family, models.media(self.path())), **random_chats(family, self.path())}
        self.assertEqual(Sizes(processor).kinds, () if "do_normalize" in options else HEADERS[family])   # a black tile would be padding
        self.check(processor, chats)


class Table(Same):
    def multimodal(self, *words, status=0):
        """Run python -m bload.multimodal, and return what it wrote to standard output and error."""
        environment = {**os.environ, "BLOAD": tool.BLOAD, "PYTHONPATH": os.path.join(tool.ROOT, "python")}
        done = subprocess.run([sys.executable, "-m", "bload.multimodal", "--processor", "model", *words], cwd=self.path(), env=environment,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout, done.stderr

    def rows(self, text):
        """Return the rows of a table by id."""
        names, *rows = [line.split("\t") for line in text.splitlines()]
        return {row[0]: dict(zip(names, row)) for row in rows}

    def prepared(self):
        """Save the model of a family, and files of chats of which some cannot be used."""
        models.save("qwen2_vl", self.path("model"))
        chats = random_chats("qwen2_vl", self.path())
        twice, without, *others = chats.items()
        rows = [{"id": name, "n": number, "messages": chat} for number, (name, chat) in enumerate(others)]
        rows.insert(3, {"id": "missing", "messages": [models.user({"type": "image", "path": "nowhere.jpg"}), models.assistant("No.")]})
        rows.insert(4, {"id": rows[0]["id"], "messages": twice[1]})
        rows.insert(7, {"messages": [models.user("<|image_pad|>"), models.assistant("No.")]})
        rows.insert(9, {"images": [], "messages": [{"role": "user", "content": "<image>"}, models.assistant("No.")]})
        tool.write(self.path("broken.jpg"), "no picture")
        rows.insert(11, {"id": "broken", "messages": [models.user({"type": "image", "path": "broken.jpg"}), models.assistant("No.")]})
        rows.insert(13, {"n": 13, "messages": without[1]})
        for name, some in ("b10", rows[::2]), ("b9", rows[1::2]):
            tool.write(self.path(f"{name}.jsonl"), "".join(json.dumps(row) + "\n" for row in some))

    def test_table(self):
        """The table has the rows of the dataset, in the same order, and the same chats are skipped for the same reasons."""
        self.prepared()
        words = "b10.jsonl", "b9.jsonl", "--keep", "n"
        _, skipped = self.multimodal(*words, "-o", "set", "-T", "400", status=3)
        _, said = self.multimodal(*words, "--scan", "-o", "one.tsv", "-j", "1", status=3)
        text, _ = self.multimodal(*words, "--scan", "-j", "3", "-q", status=3)
        self.assertEqual(tool.text(self.path("one.tsv")), text)
        self.assertEqual(sorted(line for line in said.splitlines() if "skipped" in line or "chats:" in line),
                         sorted(line for line in skipped.splitlines() if line.startswith("bload.multimodal:")))
        self.assertEqual(said.count("bload.multimodal: skipped"), 5)
        found = self.rows(text)
        packed = self.rows(tool.text(self.path("set", "sequences.tsv")))
        usable = {name: row for name, row in found.items() if row["status"] == "ok"}
        self.assertEqual(list(usable), list(packed))
        for name, row in packed.items():
            for column in "length", "n", "pixel_values.length", "image_grid_thw.length":
                self.assertEqual(usable[name][column], row[column], (name, column))
        self.assertEqual({row["length"] for row in found.values() if row["status"] == "skipped"}, {"0"})
        self.assertIn("there is no file nowhere.jpg", found["b9/#2"]["reason"])

    def test_plans(self):
        """bload plan and bload compare read it: the plan is that of the dataset."""
        models.save("qwen2_vl", self.path("model"))
        rows = [{"id": name, "messages": chat} for name, chat in random_chats("qwen2_vl", self.path()).items()]
        tool.write(self.path("c.jsonl"), "".join(json.dumps(row) + "\n" for row in rows))
        self.multimodal("c.jsonl", "--scan", "-o", "sizes.tsv")
        self.multimodal("c.jsonl", "-o", "set", "-T", "200", "--capacity", "pixel_values=160")
        plan, _ = self.bload("plan", "-T", "200", "--capacity", "pixel_values=160", self.path("sizes.tsv"))
        dataset = bload.open(self.path("set"))
        expected = [(number, int(row)) for number, block in enumerate(dataset) for row in block["sequence"] if row >= 0]
        self.assertEqual([tuple(map(int, line.split("\t")[:2])) for line in plan.splitlines()[1:]], expected)
        said, _ = self.bload("compare", "-T", "200,400", "--capacity", "pixel_values=160,320", self.path("sizes.tsv"))
        self.assertEqual(said.count("\nblock "), 4)

    def test_dry_run(self):
        """A dry run tells of the blocks that packing makes, and leaves nothing."""
        self.prepared()
        words = "b10.jsonl", "b9.jsonl", "-o", "set", "-T", "150", "--oversize", "drop", "--capacity", "pixel_values=160", "--shard-size", "1M"
        before = sorted(os.listdir(self.path()))
        _, dry = self.multimodal(*words, "--dry-run", status=3)
        self.assertEqual(sorted(os.listdir(self.path())), before)
        _, said = self.multimodal(*words, status=3)
        for line in dry.splitlines()[:-1]:
            if not any(word in line for word in ("pair repeat", "lengths:", "bload: deleted", "b9.jsonl:")):
                self.assertIn(line, said)
        self.assertEqual(dry.splitlines()[-1], "bload.multimodal: a dry run from the sizes that headers tell: nothing was written")
        self.assertIn("bload: field image_grid_thw: at most", dry)
        report, _ = self.multimodal(*words, "--dry-run", "--json", "-q", status=3)
        self.assertEqual(json.loads(report)["blocks"], len(bload.open(self.path("set"))))

    def test_refused(self):
        """Options that are not for a table, and those that are missing, are named with status 2; a table that fails is not written."""
        self.prepared()
        for words, expected in ((("--scan", "-T", "9"), "-T is not for --scan"), (("--scan", "--keep-rows"), "--keep-rows is not for --scan"),
                                (("--scan", "--capacity", "pixel_values=9"), "--capacity is not for --scan"), (("-T", "9"), "-o must be given"),
                                ((), "-o and -T must be given"), (("--scan", "--keep", "status"), "--keep status: the table has a column")):
            self.assertIn(expected, self.multimodal("b9.jsonl", *words, status=2)[1])
        self.multimodal("b9.jsonl", "--scan", "-o", "t.tsv", "--on-error", "fail", status=1)
        self.assertEqual([name for name in os.listdir(self.path()) if name.startswith("t.tsv")], [])
        self.multimodal("b9.jsonl", "--scan", "-o", "t.tsv", "--skipped-ok")


if __name__ == "__main__":
    unittest.main()
