"""The parts of bload.multimodal that need no processor: media of rows, readers, rows on the disk, arrays and their fields, contracts."""
import base64
import io
import json
import os
import tarfile
import unittest

import numpy as np

import bload
import tool
from bload import contracts
from bload._core import arrays, media, row_files, samples
from bload._core.messages import Unusable
from harness import each, expand

DATA = b"\x89PNG-like bytes"


def said(*parts):
    """A row with one message of these parts."""
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]}]}


@expand
class Media(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in ("a.png", "b.mp4", "c.wav"):
            tool.write(os.path.join(cls.directory, name), DATA)

    def found(self, row, members=None):
        keys, found = media.Finder(row, self.directory, members).found()
        return keys, [(one.kind, one.source if isinstance(one.source, bytes) else os.path.relpath(one.source, self.directory)) for one in found]

    PARTS = {
        "image": ({"type": "image", "image": "a.png"}, ("image", "a.png")),
        "path": ({"type": "image", "path": "a.png", "url": None}, ("image", "a.png")),
        "image_url": ({"type": "image_url", "image_url": {"url": "a.png", "detail": "low"}}, ("image", "a.png")),
        "image_url_text": ({"type": "image_url", "image_url": "a.png"}, ("image", "a.png")),
        "data": ({"type": "image_url", "image_url": {"url": "data:image/png;base64," + base64.b64encode(DATA).decode()}}, ("image", DATA)),
        "base64": ({"type": "image", "base64": base64.b64encode(DATA).decode()}, ("image", DATA)),
        "video": ({"type": "video", "video": "b.mp4"}, ("video", "b.mp4")),
        "video_url": ({"type": "video_url", "video_url": {"url": "b.mp4"}}, ("video", "b.mp4")),
        "audio": ({"type": "audio", "audio": "c.wav"}, ("audio", "c.wav")),
        "audio_url": ({"type": "audio", "audio_url": "c.wav"}, ("audio", "c.wav")),
        "input_audio": ({"type": "input_audio", "input_audio": {"data": base64.b64encode(DATA).decode(), "format": "wav"}}, ("audio", DATA)),
        "bytes": ({"type": "image", "image": {"bytes": DATA, "path": "x.png"}}, ("image", DATA)),
    }

    @each(PARTS)
    def test_part(self, name):
        part, expected = self.PARTS[name]
        keys, found = self.found(said("See", part, "this"))
        self.assertEqual(found, [expected])
        self.assertEqual(keys["messages"][0]["content"][1], {"type": expected[0]})

    def test_marks(self):
        """A line break beside a mark belongs to neither side; other text stays as it is."""
        texts = {"<image>\nWhat?": [{"type": "image"}, {"type": "text", "text": "What?"}],
                 "See\n<image>": [{"type": "text", "text": "See"}, {"type": "image"}],
                 "A <image> b": [{"type": "text", "text": "A "}, {"type": "image"}, {"type": "text", "text": " b"}],
                 "\n\n<image>\n\n.": [{"type": "text", "text": "\n"}, {"type": "image"}, {"type": "text", "text": "\n."}]}
        for text, content in texts.items():
            keys, found = self.found({"image": "a.png", "conversations": [{"from": "human", "value": text}]})
            self.assertEqual((keys, found), ({"conversations": [{"from": "human", "value": content}]}, [("image", "a.png")]))

    def test_tags(self):
        """<video> and <audio> are tags of HTML, unless the row has such files."""
        text = "Write <video src=x> or <video>"
        self.assertEqual(self.found(said(text))[0], said(text))
        row = {"conversations": [{"from": "human", "value": text}]}
        self.assertEqual(self.found(row), (row, []))
        self.assertEqual(self.found({**row, "video": "b.mp4"})[1], [("video", "b.mp4")])

    def test_order(self):
        """Parts without a value take the row's files in order, beside parts that name theirs."""
        row = said({"type": "image"}, {"type": "image", "path": "a.png"}, {"type": "image"})
        _, found = self.found({**row, "images": [{"bytes": DATA, "path": None}, {"bytes": DATA[:3], "path": None}]})
        self.assertEqual(found, [("image", DATA), ("image", "a.png"), ("image", DATA[:3])])

    def test_members(self):
        members = {"0.png": b"0", "1.png": b"1", "txt": b"x"}
        marks = {"conversations": [{"from": "human", "value": "<image><image>"}]}
        self.assertEqual(self.found(marks, members)[1], [("image", b"0"), ("image", b"1")])
        self.assertEqual(self.found(said({"type": "image", "image": "key.1.png"}, {"type": "image", "image": "0.png"}), members)[1],
                         [("image", b"1"), ("image", b"0")])
        with self.assertRaisesRegex(Unusable, "there is no file"):
            self.found(said({"type": "image", "image": "a/1.jpg"}, {"type": "image", "image": "a/2.jpg"}), {"jpg": b"0"})
        with self.assertRaisesRegex(Unusable, "have 0 <image>, .* but the row has 1 files"):
            self.found(said({"type": "image", "image": "0.png"}), members)

    FAULTS = {
        "more": ({"image": ["a.png"] * 2, "conversations": [{"from": "human", "value": "<image>"}]}, "have 1 <image>, .* has 2 files"),
        "fewer": ({"conversations": [{"from": "human", "value": "<image>"}]}, "have 1 <image>, .* has 0 files"),
        "missing": (said({"type": "image", "image": "no.png"}), 'message 0, part 0, "image": there is no file .*no.png'),
        "missing_key": ({"images": ["a.png", "no.png"], "conversations": [{"from": "human", "value": "<image><image>"}]}, '"images", item 1: there is no'),
        "web": (said({"type": "image_url", "image_url": {"url": "http://x.org/y;z"}}), r"on the web: .* curl -fLO 'http://x.org/y;z'"),
        "base64": (said({"type": "image_url", "image_url": {"url": "data:image/png;base64,%"}}), "is not base64"),
        "other": (said({"type": "video", "video": "b.mp4", "fps": 2}), '"fps", which the processor does not take'),
        "number": (said({"type": "image", "image": 3}), "neither a path nor bytes"),
        "list": (said({"type": "video", "video": ["a.png"]}), "is a list: a video must be one file"),
        "prompt": ({"prompt": "x", "completion": "y", "image": "a.png"}, '"prompt" is a text: chats with media need messages'),
    }

    @each(FAULTS)
    def test_fault(self, name):
        row, fault = self.FAULTS[name]
        with self.assertRaisesRegex(Unusable, fault):
            self.found(row)


class Readers(tool.Tool):
    def tar(self, name, members, mode="w"):
        with tarfile.open(self.path(name), mode) as file:
            for member, data in members:
                info = tarfile.TarInfo(member)
                info.size = len(data)
                file.addfile(info, io.BytesIO(data))
        return self.path(name)

    def test_tar(self):
        chat = [{"from": "human", "value": "<image>"}]
        members = [("a/0.jpg", b"0"), ("a/0.json", json.dumps(chat).encode()), ("a/1.0.jpg", b"1"), ("a/1.json", b'{"conversations": [], "id": "x"}'),
                   ("2.jpg", b"2"), ("3.json", b"{"), ("4.json", b"3")]
        for name, mode in ("plain.tar", "w"), ("small.tar.gz", "w:gz"):
            found = list(samples.samples(self.tar(name, members, mode)))
            self.assertEqual([(one.number, one.keys, one.members) for one in found[:2]], [
                (1, {"conversations": chat, "id": "a/0"}, {"jpg": b"0"}), (2, {"conversations": [], "id": "x"}, {"0.jpg": b"1"})])
            self.assertEqual([one.fault.partition(" member")[0] for one in found[2:]], [
                "the sample 2 has 0", "3.json is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
                "4.json is neither an object nor a list of messages"])

    def test_damaged(self):
        path = self.tar("cut.tar", [("0.json", b"{}"), ("1.json", b"x" * 9000)])
        os.truncate(path, 3000)
        found = list(samples.samples(path))
        self.assertEqual([one.fault.partition(":")[0] for one in found], ["", "the tar is damaged, and the rest is lost"][-len(found):])

    def test_parquet(self):
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            self.skipTest("no pyarrow")
        rows = [{"messages": [{"role": "user", "content": "<image>?"}], "images": [{"bytes": DATA, "path": None}]}, {"messages": [], "images": None}]
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), self.path("x.parquet"))
        found = list(samples.samples(self.path("x.parquet")))
        self.assertEqual([(one.number, one.keys) for one in found], [(1, rows[0]), (2, rows[1])])
        self.assertEqual(media.Finder(found[0].keys, "").found()[1][0].source, DATA)
        with open(self.path("x.parquet"), "r+b") as file:
            file.write(b"none")
            file.truncate(200)
        self.assertIn("the file is damaged", [one.fault for one in samples.samples(self.path("x.parquet"))][-1])

    def test_lines(self):
        tool.write(self.path("x.json"), '[{"a": 1},\n {"a": 2}]')
        self.assertEqual([(one.number, json.loads(one.text)) for one in samples.samples(self.path("x.json"))], [(1, {"a": 1}), (2, {"a": 2})])
        found = [chunk for chunk in samples.all_samples([self.path("x.json")] * 2, [1, 0])]
        self.assertEqual([(chunk[0][0], chunk[0][1].number) for chunk in found], [(0, 2), (1, 1), (1, 2)])


class OnDisk(tool.Tool):
    def rows(self, folder="rows", **configuration):
        return row_files.RowFiles(self.path(folder), ["a/x.jsonl", "b/x.json"], configuration)

    def test(self):
        """Rows go on after the last whole line of the journal; what is behind it in the tar is cut off."""
        files = self.rows(a=1)
        self.assertEqual([os.path.basename(tar) for tar in files.tars], ["x.tar", "x-2.tar"])
        first = files.add(row_files.Row(0, 0, "k", ("tokens",), 3, 2, {"c": 1}), [b"1" * 512])
        skipped = files.add(row_files.Row(0, 0, fault="f", reason="r"), [])
        twice = files.add(row_files.Row(0, 0, "k"), [b"2" * 512])
        self.assertIn("the id k is that of an earlier row", twice.fault)
        other = files.add(row_files.Row(1, 0, "k"), [b"3" * 512])
        files.flush()
        lost = files.add(row_files.Row(1, 0, "l"), [b"4" * 512])
        self.assertEqual(lost.end, 1024)
        files.open[1].flush()
        with open(self.path("rows", "journal.jsonl"), "ab") as file:
            file.write(b'[1, 15')
        with self.assertRaisesRegex(bload.Error, "another run writes these rows"):
            self.rows(a=1)
        files.journal.close()
        again = self.rows(a=1)
        self.assertEqual((again.rows, again.done), ([first, skipped, twice, other], [3, 1]))
        self.assertEqual([os.path.getsize(tar) for tar in again.tars], [512, 512])
        again.journal.close()
        with self.assertRaisesRegex(bload.OptionError, "a is 1 there, not 2"):
            self.rows(a=2)
        tool.write(self.path("rows", "journal.jsonl"), "{\n")
        with self.assertRaisesRegex(bload.OptionError, "journal.jsonl is damaged: remove the folder"):
            self.rows(a=1)

    def test_keys(self):
        self.assertEqual([row_files.key_of(given, 7) for given in (None, "", "a-b_c", "x/y.z#1~", 3)], ["7", "7", "a-b_c", "x%2Fy%2Ez%231%7E", "3"])


@expand
class Forms(unittest.TestCase):
    random = np.random.default_rng(5)

    def tiles(self, *count):
        out = np.zeros((len(count), max(count), 3, 2, 2), np.float32)
        for one, tiles in zip(out, count):
            one[:tiles] = self.random.normal(size=(tiles, 3, 2, 2)) + 9
        return out

    def pictures(self, sizes):
        out = np.zeros((len(sizes), 3, *np.max(sizes, axis=0)), np.float32)
        for one, (height, width) in zip(out, sizes):
            one[:, :height, :width] = self.random.normal(size=(3, height, width)) + 9
        return {"pixel_values": out, "image_sizes": np.array(sizes)}

    def sounds(self, *length):
        mask = (np.arange(12) < np.array(length)[:, None]).astype(np.int32)
        sounds = np.where(mask[:, None] == 1, self.random.normal(size=(len(length), 4, 12)), -1.5).astype(np.float32)
        return {"input_features": sounds, "mask": mask}

    def cases(self):
        pairs = np.repeat(self.random.normal(size=(5, 3, 1, 4)), 2, axis=2).reshape(5, 24).astype(np.float32)
        return {
            "tiles": (arrays.Tiles("pixel_values"), {"pixel_values": self.tiles(2, 4, 1)}, {"pixel_values": 7, "pixel_values_count": 3}),
            "patches": (arrays.Patches("pixel_values", "image_sizes", 2), self.pictures([(4, 6), (2, 2)]), {"pixel_values": 7}),
            "sounds": (arrays.Sounds("input_features", "mask", 12), self.sounds(3, 12, 0), {"input_features": 4 + 12 + 1, "input_features_count": 3}),
            "pairs": (arrays.Pairs("pixel_values"), {"pixel_values": pairs}, {"pixel_values": 5}),
            "rows": (arrays.Rows("pixel_values", True), {"pixel_values": self.tiles(3)}, {"pixel_values": 3}),
        }

    @each(("tiles", "patches", "sounds", "pairs", "rows"))
    def test_form(self, name):
        """Fields have no padding, and the array is made again from them: for one chat, and for several together."""
        form, given, steps = self.cases()[name]
        fields = form.split(given)
        self.assertEqual({field: len(values) for field, values in fields.items()}, steps)
        others = {one: values for one, values in given.items() if one != form.name}
        np.testing.assert_array_equal(form.join({**others, **fields}, 1), given[form.name])
        if name != "rows":
            single = [{one: values[at:at + 1] for one, values in given.items()} for at in range(len(given[form.name]))]
            joined = [form.split(self.cut(one)) for one in single]
            together = {field: np.concatenate([one[field] for one in joined]) for field in fields}
            np.testing.assert_array_equal(form.join({**others, **together}, len(single)), given[form.name])

    def cut(self, given):
        """The arrays of one chat as its processor makes them alone: padded no further than it needs."""
        if "image_sizes" in given:
            (height, width), = given["image_sizes"]
            return {**given, "pixel_values": given["pixel_values"][:, :, :height, :width]}
        if given.get("pixel_values") is not None and given["pixel_values"].ndim == 5:
            return {"pixel_values": given["pixel_values"][:, :np.any(given["pixel_values"], axis=(0, 2, 3, 4)).sum()]}
        return given

    def test_values(self):
        table = arrays.Values((np.arange(256, dtype=np.float32)[None] / 255 - np.float32([[0.48], [0.46], [0.41]])) / np.float32([[0.27], [0.26], [0.28]]))
        stored = self.random.integers(0, 256, (7, 3, 5), np.uint8)
        pixels = table.pixels(stored)
        self.assertEqual(pixels.dtype, np.float32)
        np.testing.assert_array_equal(table.stored(pixels), stored)
        for change in np.float32(1e-6), np.float32(9), np.float32("nan"):
            other = pixels.copy()
            other[3, 1, 2] += change
            self.assertIsNone(table.stored(other))
        self.assertEqual(table.stored(pixels[:0]).shape, (0, 3, 5))

    def test_unknown(self):
        family = arrays.FAMILIES["LlavaProcessor"]
        given = {"input_ids": np.ones((1, 3), np.int64), "attention_mask": np.ones((1, 3), np.int64)}
        self.assertEqual(list(arrays.split(family, given, {})), ["tokens"])
        for change, fault in (({"other": np.ones(2)}, "makes other, for which llava has no field"),
                              ({"attention_mask": np.zeros((1, 3), np.int64)}, "attention_mask is not a mask of ones"),
                              ({"input_ids": np.full((1, 3), 1 << 40)}, "input_ids, int64 .*, cannot be rebuilt"),
                              ({"input_ids": np.ones((2, 3), np.int64), "attention_mask": np.ones((2, 3), np.int64)}, "divides the chat into 2")):
            with self.assertRaisesRegex(bload.Error, fault):
                arrays.split(family, {**given, **change}, {})


class Contracts(tool.Tool):
    """A dataset of rows that were made by hand, as Qwen2-VL's processor would."""

    CHATS = {"a": (5, [(1, 2, 2)]), "b": (7, []), "c": (4, [(1, 2, 4), (1, 2, 2)]), "d": (6, [])}
    TABLE = (np.arange(256, dtype=np.float32)[None] - np.float32([[100], [110], [120]])) / np.float32(70)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random, rows = np.random.default_rng(3), {}
        cls.chats = {}
        for name, (count, grids) in cls.CHATS.items():
            patches = sum(int(np.prod(grid)) for grid in grids)
            fields = {"tokens": random.integers(1, 99, count).astype(np.int32), "mm_token_type_ids": np.zeros(count, np.uint8),
                      "pixel_values": random.integers(0, 256, (patches, 12), np.uint8), "image_grid_thw": np.array(grids, np.int64).reshape(-1, 3),
                      "loss_mask": (np.arange(count) > 1).astype(np.uint8), "position_ids": np.tile(np.arange(count)[:, None], 4).astype(np.int32)}
            cls.chats[f"x/{name}"] = fields
            rows[name] = fields
        cls.about = {"multimodal": {
            "processor": "Qwen2VLProcessor", "parameters": {"temporal": 2}, "values": {"pixel_values": cls.TABLE.tolist()},
            "smallest": {"image": {"tokens": {"dtype": "<i4", "shape": [1], "value": 98}, "mm_token_type_ids": {"dtype": "|u1", "shape": [1], "value": 1},
                                   "pixel_values": {"dtype": "|u1", "shape": [4, 12], "value": 0},
                                   "image_grid_thw": {"dtype": "<i8", "values": [[1, 2, 2]]},
                                   "position_ids": {"dtype": "<i4", "shape": [1, 4], "value": 0}}}}}
        files = row_files.RowFiles(os.path.join(cls.directory, "rows"), ["x.jsonl"], {})
        for name, fields in rows.items():
            there = tuple(field for field, values in fields.items() if len(values))
            files.add(row_files.Row(0, 0, name, there), row_files.members(name, fields, {"n": 3}))
        yaml = row_files.fields_yaml(files.tars, ["mm_token_type_ids", "loss_mask", "position_ids"], ["image_grid_thw", "pixel_values"], True, cls.about)
        cls.config = files.finish(yaml)

    def dataset(self, **options):
        if not os.path.exists(self.path("set")):
            self.bload("pack", "-q", "-c", self.config, "-T", "12", "-o", self.path("set"))
        return bload.open(self.path("set"), **options)

    def batch(self, dataset, keep=lambda name: True):
        """All blocks as one batch, as bload.torch.collate joins them."""
        blocks = list(dataset)
        batch = {name: np.stack([block[name] for block in blocks]) for name in blocks[0] if not name.startswith(("ids", "pixel_values", "image_grid"))}
        for name in ("pixel_values", "image_grid_thw"):
            shift = np.cumsum([0] + [len(block[name]) for block in blocks])
            batch[name] = np.concatenate([block[name] for block in blocks])
            batch[f"{name}_cu_seqlens"] = np.stack([block[f"{name}_cu_seqlens"] + first for block, first in zip(blocks, shift)])
            batch[f"{name}_offsets"] = shift
        return batch

    def order(self, dataset, batch):
        numbers = batch["sequence"][batch["length"] > 0]
        return [self.chats[name] for name in dataset.sequences.ids(numbers)]

    def check(self, row, chats):
        tokens = np.concatenate([chat["tokens"] for chat in chats])
        np.testing.assert_array_equal(row["input_ids"], tokens[None])
        np.testing.assert_array_equal(row["position_ids"][:, 0], np.concatenate([chat["position_ids"] for chat in chats]).T)
        labels = np.concatenate([np.where((chat["loss_mask"] == 1) & (np.arange(len(chat["tokens"])) > 0), chat["tokens"], -100) for chat in chats])
        np.testing.assert_array_equal(row["labels"], labels[None])
        pixels = np.concatenate([chat["pixel_values"] for chat in chats]).reshape(-1, 3, 1, 4)
        expected = np.take_along_axis(self.TABLE[None, :, None], np.repeat(pixels, 2, axis=2).astype(np.int64), axis=3)
        np.testing.assert_array_equal(row["pixel_values"], expected.reshape(len(pixels), 24))
        np.testing.assert_array_equal(row["image_grid_thw"], np.concatenate([chat["image_grid_thw"] for chat in chats]))

    def test_rebuilt(self):
        dataset = self.dataset(pad=False)
        self.assertEqual(dataset.about, self.about)
        batch = self.batch(dataset)
        row = contracts.qwen_vl(batch, dataset.about)
        self.assertEqual(sorted(row), ["image_grid_thw", "input_ids", "labels", "pixel_values", "position_ids", "use_cache"])
        self.check(row, self.order(dataset, batch))

    def test_padded_block(self):
        """A single block with own fields padded to their capacity."""
        dataset = self.dataset()
        for block in dataset:
            row = contracts.qwen_vl(block, dataset.about)
            chats = [self.chats[name] for name in block["ids"]]
            if any(len(chat["pixel_values"]) for chat in chats):
                self.check(row, chats)

    def test_smallest(self):
        """A batch without pictures gets a black one as a last chat without labels; not if that is refused."""
        block = dict(self.dataset()[0])
        for name in ("pixel_values", "image_grid_thw"):
            block[f"{name}_cu_seqlens"] = np.zeros_like(block[f"{name}_cu_seqlens"])
        row, bare = (contracts.qwen_vl(block, self.about, smallest=smallest) for smallest in (True, False))
        total = bare["input_ids"].shape[1]
        self.assertNotIn("pixel_values", bare)
        self.assertEqual(row["input_ids"].shape, (1, total + 1))
        self.assertEqual((row["input_ids"][0, -1], row["labels"][0, -1]), (98, -100))
        np.testing.assert_array_equal(row["position_ids"][:, 0, -1], [0, 0, 0, 0])
        np.testing.assert_array_equal(row["image_grid_thw"], [[1, 2, 2]])
        np.testing.assert_array_equal(row["pixel_values"], np.broadcast_to(np.repeat(self.TABLE[:, 0], 8), (4, 24)))

    def test_view(self):
        """A view has the about of its sources."""
        self.dataset()
        self.bload("view", "-q", self.path("set"), "-T", "16", "-o", self.path("view"))
        self.assertEqual(bload.open(self.path("view")).about, self.about)
        self.bload("pack", "-q", self.path("view"), "-o", self.path("repacked"))
        self.assertEqual(bload.open(self.path("repacked")).about, self.about)
        self.bload("pack", "-q", self.path("view"), "-o", self.path("other"), "--about", '{"a": "\\n\\"é"}')
        self.assertEqual(bload.open(self.path("other")).about, {"a": '\n"é'})
        self.bload("view", "-q", self.path("set"), self.path("other"), "-T", "16", "-o", self.path("mixed"))
        with self.assertRaisesRegex(bload.FormatError, "its sources have different --about"):
            bload.open(self.path("mixed")).about
        self.assertIn("different --about: give that of the new dataset", self.bload(
            "pack", "-q", self.path("mixed"), "-o", self.path("y"), status=2)[1])

    def test_refused(self):
        block = self.dataset()[0]
        for contract, about, fault in ((contracts.llava, self.about, "use contracts.qwen_vl"), (contracts.qwen_vl, {}, "about has no processor")):
            with self.assertRaisesRegex(bload.OptionError, fault):
                contract(block, about)
        with self.assertRaisesRegex(bload.Error, 'no "position_ids"'):
            contracts.qwen_vl({name: value for name, value in block.items() if name != "position_ids"}, self.about)
        self.assertIn("expects a JSON object", self.bload("pack", "-c", self.config, "-T", "9", "-o", self.path("x"), "--about", "3", status=2)[1])
