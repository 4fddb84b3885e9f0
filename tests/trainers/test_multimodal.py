"""python -m bload.multimodal and its contracts: chats of 14 families are packed, and the model says and loses of the row what it does of each
chat alone."""
import base64
import json
import os
import signal
import subprocess
import sys
import time
import unittest.mock

import numpy as np
import torch
import transformers
from PIL import Image

import bload
import multimodal_facts as facts
import multimodal_models as models
import multimodal_sets as sets
import tool
from bload._core.processing import Processor
from bload._core.samples import Sample
from bload._core.turns import Choices
from bload._core.workers import Workers
from bload.multimodal import Converter
from bload.torch import collate
from harness import each, expand

TOLERANCE = 1e-4


class Packed(tool.Tool):
    """A test with a folder of its own."""

    def setUp(self):
        os.makedirs(self.path())

    def path(self, *names):
        return os.path.join(self.directory, self._testMethodName, *names)

    def multimodal(self, *words, status=0, **options):
        """Run python -m bload.multimodal, and return what it wrote to standard error."""
        environment = {**os.environ, "BLOAD": tool.BLOAD, "PYTHONPATH": os.path.join(tool.ROOT, "python")}
        done = subprocess.run([sys.executable, "-m", "bload.multimodal", *words], cwd=self.path(), env=environment, stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, timeout=300, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr


@expand
class Families(Packed):
    def packed(self, family):
        """Pack the example chats of a family, and return the dataset and what the processor makes of each chat."""
        models.save(family, self.path("model"))
        chats = sets.chats_of(family, self.path())
        processor = transformers.AutoProcessor.from_pretrained(self.path("model"), local_files_only=True)
        outputs = {}
        for name, chat in chats.items():
            if family == "paligemma":
                pictures = [part["path"] for part in chat[0]["content"] if part["type"] == "image"]
                question = "<image>" * len(pictures) + chat[0]["content"][-1]["text"]
                outputs[name] = processor(text=[question], images=[pictures], suffix=[chat[1]["content"][0]["text"]], return_tensors="pt")
            else:
                outputs[name] = models.process(processor, chat)
        return sets.packed(self.path(), chats), {name: dict(output) for name, output in outputs.items()}

    @each(models.FAMILIES)
    def test(self, family):
        dataset, outputs = self.packed(family)
        batch = collate(list(dataset))
        ids = [name.partition("/")[2].replace("%20", " ") for name in dataset.dataset.sequences.ids(
            batch["sequence"][batch["length"] > 0].numpy())]
        self.assertEqual(sorted(ids), sorted(outputs))
        outputs = [outputs[name] for name in ids]
        for attention in "eager", "sdpa":
            made = models.model(family, attention, self.path("model"))
            row = sets.arguments_of(dataset, batch, made)
            self.check_arrays(family, row, outputs)
            self.check_logits(made, row, outputs)

    def check_arrays(self, family, row, outputs):
        """The tokens and the arrays of media are bit for bit those of the processor for all chats together."""
        self.assertTrue(torch.equal(row["input_ids"], torch.cat([output["input_ids"] for output in outputs], 1)))
        expected = facts.joined(family, outputs)
        expected.pop("pixel_attention_mask", None)      # ones, which the models assume
        if "batch_num_images" in expected:
            expected["batch_num_images"] = torch.stack([one for output in outputs for one in output.get("batch_num_images", [])])
        self.assertEqual(sorted(set(row) - {"input_ids", "labels", "position_ids", "use_cache", "attention_mask", "token_type_ids"}),
                         sorted(expected))
        for name, values in expected.items():
            self.assertEqual(row[name].dtype, values.dtype, name)
            self.assertTrue(torch.equal(row[name], values), name)

    def check_logits(self, made, row, outputs):
        """Logits, and the sum of losses, are those of the chats alone."""
        with torch.no_grad():
            together = made(**row)
        lengths = [output["input_ids"].shape[1] for output in outputs]
        labels, alone = row["labels"][0].split(lengths), 0.0
        for logits, output, wanted in zip(together.logits[0].split(lengths), outputs, labels):
            own = facts.alone(made, output)
            self.assertLess((logits - own).abs().max().item(), TOLERANCE)
            self.assertGreater((wanted != -100).sum(), 0)
            alone += torch.nn.functional.cross_entropy(own[:-1], wanted[1:], reduction="sum").item()
        count = (row["labels"][0, 1:] != -100).sum().item()
        self.assertAlmostEqual(together.loss.item() * count / alone, 1, 4)


def encoded(path):
    with open(path, "rb") as file:
        return base64.b64encode(file.read()).decode()


def asked(*parts, answer="A house."):
    return {"messages": [models.user(*parts), models.assistant(answer)]}


@expand
class Rows(tool.Tool):
    """Rows in the forms that people have, and unusable ones, converted by the processor of LLaVA 1.5, whose placeholder is <image>."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model, cls.pictures = os.path.join(cls.directory, "model"), os.path.join(cls.directory, "pictures")
        os.makedirs(cls.pictures)
        models.save("llava", cls.model)
        for name in ("a.png", "b.png"):
            Image.fromarray(models.smooth(np.random.default_rng(len(name)), 30, 40)).save(os.path.join(cls.pictures, name))
        cls.processor = Processor(cls.model, None, {}, Choices(special="refuse"))
        cls.convert = staticmethod(Converter(cls.processor, [cls.pictures], []))

    def row(self, given, **options):
        text = json.dumps(given).encode() if isinstance(given, dict) else given
        return self.convert((0, Sample("chats.jsonl", 7, text, **options)))

    def same(self, *results):
        """The results have the same fields as the first, with two pictures and one answer."""
        self.assertEqual([result.row.fault for result in results], [""] * len(results))
        self.assertEqual([b"".join(result.data) for result in results], [b"".join(results[0].data)] * len(results))

    def test_forms(self):
        """One chat in many forms has the same bytes."""
        part = {"type": "text", "text": "What?"}
        a, b = (os.path.join(self.pictures, name) for name in ("a.png", "b.png"))
        with open(a, "rb") as one, open(b, "rb") as two:
            data = one.read(), two.read()
        pictures = [{"type": "image"}, {"type": "image"}]
        answer = [models.assistant("A house.")]
        conversations = [{"from": "human", "value": "<image>\n<image>\nWhat?"}, {"from": "gpt", "value": "A house."}]
        rows = [
            asked({"type": "image", "image": "a.png"}, {"type": "image", "path": b}, "What?"),
            asked({"type": "image_url", "image_url": {"url": f"file://{a}"}}, {"type": "image_url", "image_url": "b.png"}, "What?"),
            asked({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded(a)}", "detail": "high"}},
                  {"type": "image", "base64": encoded(b)}, "What?"),
            {"image": ["a.png", "b.png"], "conversations": conversations},
            {"images": ["a.png", b], "conversations": conversations},
            {"images": [{"path": "a.png"}, {"path": "b.png", "bytes": None}], "messages": [{"role": "user", "content": [*pictures, part]}, *answer]},
            {"images": ["a.png", "b.png"], "prompt": [{"role": "user", "content": [*pictures, part]}], "completion": answer},
            {"messages": [{"role": "user", "content": "<image><image>What?"}, {"role": "assistant", "content": "A house."}], "images": ["a.png", "b.png"]},
        ]
        results = [self.row(row) for row in rows]
        values = {"images": [{"bytes": data[0], "path": None}, {"bytes": data[1], "path": "x.png"}], "conversations": conversations}
        results.append(self.convert((0, Sample("rows.parquet", 7, keys=values))))
        results.append(self.convert((0, Sample("rows.tar", 7, keys={"conversations": conversations}, members={"0.png": data[0], "1.png": data[1]}))))
        results.append(self.convert((0, Sample("rows.tar", 7, keys={"image": ["x/k.1.png", "k.0.png"][::-1], "conversations": conversations},
                                               members={"0.png": data[0], "1.png": data[1]}))))
        self.same(*results)
        self.assertEqual(results[0].row.fields, ("tokens", "pixel_values", "loss_mask"))

    FAULTS = {
        "missing": (asked({"type": "image", "image": "c.png"}, "?"), 'message 0, part 0, "image": there is no file'),
        "damaged": (asked({"type": "image", "image": "damaged.png"}, "?"), "damaged.png: image file is truncated"),
        "no_picture": (asked({"type": "image", "image": "text.png"}, "?"), "text.png: cannot identify image file"),
        "large": (asked({"type": "image", "image": "large.png"}, "?"), "large.png: Image size (100000000 pixels) exceeds limit"),
        "deep": (asked({"type": "image", "image": "deep.png"}, "?"), "deep.png has more than 8 bits a value (I;16)"),
        "fewer": ({"image": "a.png", "conversations": [{"from": "human", "value": "What?"}, {"from": "gpt", "value": "A."}]},
                  "the texts have 0 <image>, or parts without a value, but the row has 1 files of this kind"),
        "more": ({"image": "a.png", "conversations": [{"from": "human", "value": "<image><image>"}, {"from": "gpt", "value": "A."}]},
                 "the texts have 2 <image>, or parts without a value, but the row has 1 files"),
        "no_file": (asked("<image> what?"), "a text has <image>, which stands for media of the kind image"),
        "placeholder": (asked({"type": "image", "image": "a.png"}, "Is <image> a tag?"), "a text has <image>, which stands for media"),
        "web": (asked({"type": "image_url", "image_url": {"url": "https://example.org/a b.png"}}, "?"), "curl -fLO 'https://example.org/a b.png'"),
        "base64": (asked({"type": "image", "base64": "?"}, "?"), 'message 0, part 0, "base64" is not base64'),
        "video": (asked({"type": "video", "video": "a.mp4"}, "?"), "there is no file"),
        "kind": (asked({"type": "video", "video": "a.png"}, "?"), "LlavaProcessor takes no video"),
        "audio": (asked({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, "?"), "LlavaProcessor takes no audio"),
        "option": (asked({"type": "image", "image": "a.png", "max_pixels": 9}, "?"), '"max_pixels", which the processor does not take'),
        "list": (asked({"type": "video", "video": ["a.png", "b.png"]}, "?"), "is a list: a video must be one file"),
        "empty": (asked({"type": "image", "image": {}}, "?"), "is neither a path nor bytes of the kind image"),
        "answer": ({"messages": [models.user("?")]}, "there is no message of the assistant to train on"),
        "special": (asked("</s>"), "a content has the special token </s>"),
        "pair": ({"chosen": "a", "rejected": "b", "prompt": "c"}, "the row has chosen and rejected"),
        "json": (b"{", "not JSON"),
    }

    @each(FAULTS)
    def test_fault(self, name):
        with open(os.path.join(self.pictures, "a.png"), "rb") as file:
            data = file.read()
        tool.write(os.path.join(self.pictures, "damaged.png"), data[:len(data) // 2])
        tool.write(os.path.join(self.pictures, "text.png"), "text")
        Image.new("1", (10000, 10000)).save(os.path.join(self.pictures, "large.png"))
        Image.fromarray(np.zeros((9, 9), np.uint16)).save(os.path.join(self.pictures, "deep.png"))
        given, fault = self.FAULTS[name]
        result = self.row(given)
        self.assertTrue(result.row.fault.startswith("chats.jsonl:7: "), result.row.fault)
        self.assertIn(fault, result.row.fault)
        self.assertEqual((result.data, result.row.id, result.row.fields), ((), "", ()))

    def test_counted(self):
        """What Transformers leaves out of a picture is counted."""
        picture = Image.open(os.path.join(self.pictures, "a.png"))
        picture.convert("RGBA").save(os.path.join(self.pictures, "alpha.png"))
        picture.save(os.path.join(self.pictures, "two.gif"), save_all=True, append_images=[picture.rotate(9)])
        counts = self.row(asked({"type": "image", "image": "alpha.png"}, {"type": "image", "image": "two.gif"}, "?")).row.counts
        self.assertEqual(counts, {"pictures with transparency, which is left out": 1, "pictures with several frames, of which the first is taken": 1})


class Laws(Packed):
    """The bytes do not depend on the number of processes, and a run that was killed goes on."""

    def inputs(self, count):
        """Write a model and chats with pictures of many sizes; one picture is missing."""
        models.save("qwen2_5_vl", self.path("model"))
        os.makedirs(self.path("pictures"))
        random = np.random.default_rng(4)
        rows = []
        for number in range(count):
            height, width = random.integers(16, 90, 2).tolist()
            Image.fromarray(models.smooth(random, height, width)).save(self.path("pictures", f"{number}.jpg"))
            marks = "<image>\n" * (number % 3 > 0)
            rows.append({"id": f"c.{number}", "conversations": [{"from": "human", "value": f"{marks}What? " + "the house " * (number % 7)},
                                                                {"from": "gpt", "value": "A house."}], "source": f"web {number % 2}"})
            if marks:
                rows[-1]["image"] = f"{number}.jpg" if number != 10 else "none.jpg"
        tool.write(self.path("chats.json"), json.dumps(rows))

    def words(self, out, *more):
        return ["--processor", "model", "chats.json", "--root", "pictures", "-o", out, "-T", "300", "--keep", "source", "-q", *more]

    def test(self):
        self.inputs(120)
        said = self.multimodal(*self.words("one", "-j", "1", "--keep-rows"), status=3)
        self.assertIn('bload.multimodal: skipped chats.json:1: "image": there is no file pictures/none.jpg', said)
        self.multimodal(*self.words("three", "-j", "3", "--keep-rows"), status=3)
        self.assertSameTree(self.path("one"), self.path("three"))
        self.assertSameTree(self.path("one.rows"), self.path("three.rows"), ["journal.jsonl"])
        dataset = bload.open(self.path("one"))
        self.assertEqual(len(dataset.sequences), 119)
        self.assertEqual(dataset.about["multimodal"]["skipped"], {"image: no such file": 1})
        sources = dict(zip(dataset.sequences["id"], dataset.sequences["source"]))
        self.assertEqual(sources["chats/c%2E7"], "web 1")
        self.kill_and_go_on()
        self.again()
        self.oversize()

    def kill_and_go_on(self):
        """Kill a run several times after it has written some rows; the last run makes the same bytes."""
        journal, killed = self.path("killed.rows", "journal.jsonl"), 0
        for rows in 20, 70:
            environment = {**os.environ, "BLOAD": tool.BLOAD, "PYTHONPATH": os.path.join(tool.ROOT, "python")}
            run = subprocess.Popen([sys.executable, "-m", "bload.multimodal", *self.words("killed", "-j", "2")], cwd=self.path(), env=environment,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
            while run.poll() is None and (not os.path.exists(journal) or len(tool.read(journal).splitlines()) <= rows):
                time.sleep(0.002)
            os.killpg(run.pid, signal.SIGKILL)
            killed += run.wait() == -signal.SIGKILL
        self.assertGreater(killed, 0)
        self.multimodal(*self.words("killed", "-j", "2"), status=3)
        self.assertSameTree(self.path("one"), self.path("killed"))
        self.assertFalse(os.path.exists(self.path("killed.rows")))

    def again(self):
        """A run that finds its work done repeats the status; another configuration is refused."""
        before = os.stat(self.path("killed", "manifest.json")).st_mtime_ns
        self.assertIn("killed is complete", self.multimodal(*self.words("killed"), status=3))
        self.multimodal(*self.words("killed", "--skipped-ok"))
        self.assertEqual(os.stat(self.path("killed", "manifest.json")).st_mtime_ns, before)
        self.assertIn("another configuration: plan is", self.multimodal(*self.words("killed", "--seed", "3"), status=2))
        self.assertIn("another configuration: train_on is", self.multimodal(*self.words("killed", "--train-on", "last"), status=2))
        self.assertIn("--seed expects a whole number", self.multimodal(*self.words("z", "--seed", "x"), status=2))
        self.assertFalse(os.path.exists(self.path("z.rows")))
        self.multimodal(*self.words("z", "--dry-run", "--store"), status=3)
        self.assertFalse(os.path.exists(self.path("z.rows")) or os.path.exists(self.path("z")))
        self.assertIn("no such file", self.multimodal("--processor", "model", "none.json", "-o", "x", "-T", "9", status=2))
        self.assertIn("no processor can be loaded", self.multimodal("--processor", "pictures", "chats.json", "-o", "x", "-T", "9", status=2))
        self.assertIn("is unusable", self.multimodal(*self.words("x", "--on-error", "fail"), status=1))

    def test_worker_that_dies(self):
        """A worker that a medium kills is an error that names the row."""
        def convert(item):
            if item == 3:
                os.kill(os.getpid(), signal.SIGSEGV)
            return item
        with self.assertRaisesRegex(bload.Error, "a worker ended early, .*; it had row 3, whose media may have crashed their decoder"):
            list(Workers(convert, 2, lambda item: f"row {item}").results([number] for number in range(9)))

    def oversize(self):
        """A chat beyond T or a capacity is an error, or dropped, never shortened; the rows that are there are used again."""
        words = [word if word != "300" else "60" for word in self.words("y")]
        self.assertIn("more than T = 60", self.multimodal(*words, status=1))
        self.assertIn("invalid choice: 'truncate'", self.multimodal(*words, "--oversize", "truncate", status=2))
        self.assertTrue(os.path.isdir(self.path("y.rows")))
        self.multimodal(*words, "--oversize", "drop", "--capacity", "pixel_values=40", status=3)
        manifest = bload.open(self.path("y")).manifest
        self.assertEqual((manifest["cut"], manifest["capacities"][1]["capacity"]), (0, 40))
        self.assertGreater(manifest["deleted"], 0)


class Frames(tool.Tool):
    def test_qwen_vl_utils(self):
        """--frames-rule qwen_vl_utils gives the arrays of the processor for the frames that this package reads."""
        from qwen_vl_utils import fetch_video

        models.save("qwen2_5_vl", self.path("model"))
        paths = models.media(self.path())["video"]
        differ = 0
        for path in paths.values():
            made = {}
            for is_qwen in False, True:
                convert = Converter(Processor(self.path("model"), None, {}, Choices(), False, is_qwen), [self.path()], [])
                row = convert((0, Sample("x", 1, json.dumps(asked({"type": "video", "path": path}, "?")).encode())))
                self.assertEqual(row.row.fault, "")
                made[is_qwen] = row
            differ += made[False].data != made[True].data
            (frames, metadata), fps = fetch_video({"video": path}, return_video_metadata=True, return_video_sample_fps=True)
            count = len(metadata["frames_indices"])
            self.assertEqual(made[True].row.counts, {})
            stored = {name: np.load(data) for name, data in sets.members_of(made[True].data).items()}
            self.assertEqual(stored["video_grid_thw"][0, 0], -(-count // 2))
            self.assertAlmostEqual(stored["second_per_grid_ts"][0], 2 / fps, 4)
        self.assertEqual(differ, len(paths))


class Templates(tool.Tool):
    def row(self, family, chat, **variables):
        """The fields of a chat, and the processor."""
        models.save(family, self.path(family))
        processor = Processor(self.path(family), None, variables, Choices())
        row = Converter(processor, [self.directory], [])((0, Sample("x", 1, json.dumps({"messages": chat}).encode())))
        self.assertEqual(row.row.fault, "")
        return {name: np.load(data) for name, data in sets.members_of(row.data).items()}, processor

    def test_date(self):
        """--set strftime_now is the date that the template writes."""
        before = models.TEMPLATES["llava"]
        with unittest.mock.patch.dict(models.TEMPLATES, {"llava": lambda: "Today: {{ strftime_now('%d %B %Y') }} " + before()}):
            fields, processor = self.row("llava", asked("?")["messages"], strftime_now="2026-07-26")
        self.assertIn("Today: 26 July 2026 ", processor.processor.tokenizer.decode(fields["tokens"]))

    def test_video(self):
        """SmolVLM has another template for videos: what is trained on is the answer, also if the template for pictures marks it."""
        marked = models.of_trl("smolvlm_training")
        path = models.media(self.directory)["video"]["rain"]
        with unittest.mock.patch.dict(models.TEMPLATES, {"smolvlm": marked}):
            for parts in ({"type": "video", "path": path}, "What?"), ("What?",):
                fields, processor = self.row("smolvlm", asked(*parts, answer="A house in the rain.")["messages"])
                trained = processor.processor.tokenizer.decode(fields["tokens"][fields["loss_mask"] == 1])
                self.assertEqual(trained.split("<end")[0].strip(), "A house in the rain.")
