"""The numbers of a data card: percentiles and statistics as numpy computes them in float64 from what is stored, and sums of the table."""
import collections
import json
import os
import wave

import numpy as np

import clips
import tool
from dataset import Dataset
from harness import each

NAMES = ["h264.mp4", "vp9.webm", "mpeg4.avi"]
# Ways of storing the same videos, which all have the same numbers.
STORED = {
    "whole": ("-T", "64"),
    "repeated": ("-T", "64", "--pad", "repeat"),
    "split": ("-T", "13", "--oversize", "split", "--compress", "zstd", "--shard-size", "40K"),
    "padded": ("-T", "64", "--world-size", "8", "--remainder", "pad"),
    "delta": ("-T", "64", "--encode", "delta", "--compress", "zstd"),
}


class Card(tool.Tool):
    def statistics(self, directory, *options):
        return json.loads(self.bload("info", "--json", "--statistics", *options, directory)[0])["statistics"]

    def steps_of(self, directory, field=None):
        """All steps that are stored, as `bload cat` writes them."""
        rows = [row for row in Dataset(directory).sequences if row["status"] == "ok"]
        parts = []
        for i, row in enumerate(rows):
            path = self.path(f"{i}.npy")
            self.bload("cat", directory, row["id"], *(("--field", field) if field else ()), "--as", "npy", "-o", path)
            parts.append(np.load(path))
            os.remove(path)
        return np.concatenate(parts)

    def check(self, found, steps, scale):
        """The statistics of a field are those of the steps: by the last axis, or of all."""
        values = (steps if steps.ndim > 1 else steps[:, None]).astype(np.float64) / scale
        values = values.reshape(-1, values.shape[-1])
        self.assertEqual(found["scale"], scale)
        self.assertEqual(len(found["channels"]), values.shape[1])
        for channel, column in zip(found["channels"], values.T):
            finite = column[np.isfinite(column)]
            self.assertEqual(channel["values"], len(finite))
            self.assertEqual(channel["not_finite"], len(column) - len(finite))
            for name, value in ("mean", finite.mean()), ("std", finite.std()), ("min", finite.min()), ("max", finite.max()):
                np.testing.assert_allclose(channel[name], value, rtol=1e-9, atol=1e-15, err_msg=name)

    @each(STORED)
    def test_videos_as(self, name):
        d = self.pack("d", *map(clips.clip, NAMES), "--size", "24x16", *STORED[name])
        found = self.statistics(d)
        self.assertEqual((found["blocks"], found["all_blocks"]), (Dataset(d).blocks,) * 2)
        steps = self.steps_of(d)
        self.assertEqual(found["steps"], len(steps))
        self.check(found["fields"][0], steps, 255)

    def test_jpeg_and_views(self):
        """A view reads what its sources store; JPEG is decoded, as elsewhere."""
        a = self.pack("a", *map(clips.clip, NAMES[:2]), "--size", "24x16", "-T", "64", "--encode", "jpeg:80")
        b = self.pack("b", clips.clip(NAMES[2]), "--size", "24x16", "-T", "64", "--encode", "jpeg:80")
        self.check(self.statistics(a)["fields"][0], self.steps_of(a), 255)
        self.bload("view", a, b, "-T", "64", "-o", self.path("v"))
        self.check(self.statistics(self.path("v"))["fields"][0], np.concatenate([self.steps_of(a), self.steps_of(b)]), 255)

    def test_failed_sequences_do_not_count(self):
        """Their steps are zeros in the blocks."""
        table = self.bload("scan", *map(clips.clip, NAMES))[0].split("\n")
        rows = [line.split("\t") for line in table]
        for row in rows:
            if row[0].endswith("vp9.webm"):
                row[1] = str(int(row[1]) + 3)
        tool.write(self.path("wrong.tsv"), "\n".join("\t".join(row) for row in rows))
        d = self.pack("d", "--sequences", self.path("wrong.tsv"), "--size", "24x16", "-T", "64", status=3)
        found = self.statistics(d)
        self.assertEqual((found["failed"], found["sequences"]), (1, 2))
        self.check(found["fields"][0], self.steps_of(d), 255)

    def test_sound(self):
        random = np.random.default_rng(3)
        folder = self.path("sound")
        os.makedirs(folder)
        for i in range(5):
            with wave.open(os.path.join(folder, f"{i}.wav"), "wb") as file:
                file.setparams((2, 2, 16000, 0, "NONE", ""))
                file.writeframes((random.normal(size=(4000 + 700 * i, 2)) * (3000, 300) + (0, 500)).astype("<i2").tobytes())
        for name, scale, options in (("one", 32768, ()), ("two", 32768, ("--channels", "2")), ("f32", 1, ("--dtype", "f32")),
                                     ("bins", 1, ("--features", "whisper80"))):
            with self.subTest(name):
                d = self.pack("d", folder, "-T", "longest", *options)
                found = self.statistics(d)
                self.assertEqual(found["fields"][0]["of"], "features" if name == "bins" else "amplitude")
                self.check(found["fields"][0], self.steps_of(d), scale)
        card = json.loads(self.bload("info", "--json", d)[0])["card"]
        self.assertEqual((card["sources"]["by"], len(card["sources"]["values"]), card["timed"]), ("file", 5, 5))
        self.assertAlmostEqual(card["hours"] * 3600, sum(4000 + 700 * i for i in range(5)) // 160 / 100, delta=0.05)

    @each(("<f2", "<f4", "<f8", "|u1", "<i8"))
    def test_arrays_of(self, dtype):
        """Large means, and numbers that are not finite."""
        random = np.random.default_rng(4)
        folder = self.path("arrays" + dtype[1:])
        os.makedirs(folder)
        for i in range(12):
            array = random.normal(size=(i % 4 + 1, 3, 5)) * 20 + 100 + (1e6 * np.arange(5) if dtype in ("<f8", "<i8") else 0)
            array = array.astype(dtype)
            if dtype[1] == "f" and i % 5 == 0:
                array[0, 1, 1:4] = np.nan, np.inf, -np.inf
            np.save(os.path.join(folder, f"{i}.npy"), array)
        d = self.pack("d", folder, "-T", "6")
        found = self.statistics(d)
        self.check(found["fields"][0], self.steps_of(d), 1)

    def test_a_sample_is_of_whole_blocks_drawn_by_the_seed(self):
        folder = self.path("steps")
        os.makedirs(folder)
        for i in range(40):
            np.save(os.path.join(folder, f"{i}.npy"), np.full((3, 1), 2.0**i, np.float64))
        drawn = set()
        for seed in range(8):
            d = self.pack("d", folder, "-T", "3", "--seed", seed)
            found = self.statistics(d, "--sample", "4")
            self.assertEqual((found["blocks"], found["all_blocks"], found["steps"]), (4, 40, 12))
            self.assertEqual(found, self.statistics(d, "--sample", "4"))
            total = found["fields"][0]["channels"][0]["mean"] * 4  # a sum of four powers of two says which blocks
            exact = round(total)
            self.assertAlmostEqual(total / exact, 1)
            drawn.add(exact)
        self.assertGreater(len(drawn), 5)

    def test_lengths_and_sums(self):
        random = np.random.default_rng(9)
        lines, table = [], {}
        for i in range(237):
            label, language = f"c{int(random.zipf(1.3)) % 60}", str(random.choice(["en", "de", "tlh"]))
            text = "x" * int(random.integers(1, 400))
            lines.append(json.dumps({"text": text, "label": label, "language": language}))
            table[i] = (len(text), label, language)
        tool.write(self.path("texts.jsonl"), "\n".join(lines) + "\n")
        d = self.pack("d", self.path("texts.jsonl"), "--tokenizer", "bytes", "--keep", "label,language", "-T", "400")
        info = json.loads(self.bload("info", "--json", d)[0])
        lengths = [length for length, _, _ in table.values()]
        for name, value in info["length_quantiles"].items():
            q = 100 if name == "max" else int(name[1:])
            self.assertEqual(value, np.percentile(lengths, q, method="inverted_cdf"), name)
        card = info["card"]
        self.assertEqual((card["sequences"], card["steps"], card["hours"], card["codecs"]), (237, sum(lengths), None, None))
        for name, place in ("labels", 1), ("languages", 2):
            sums, counts = collections.Counter(), collections.Counter()
            for row in table.values():
                sums[row[place]] += row[0]
                counts[row[place]] += 1
            expected = sorted(sums, key=lambda value: (-sums[value], -counts[value], value))
            found = card[name]
            self.assertEqual([value["value"] for value in found["values"]], expected[:20])
            for value in found["values"]:
                self.assertEqual((value["steps"], value["sequences"]), (sums[value["value"]], counts[value["value"]]))
                self.assertAlmostEqual(value["share"], value["steps"] / sum(lengths))
            self.assertEqual(found["others"]["values"], max(0, len(expected) - 20))
            self.assertEqual(sum(v["steps"] for v in found["values"]) + found["others"]["steps"], sum(lengths))
            self.assertEqual(sum(v["sequences"] for v in found["values"]) + found["others"]["sequences"], 237)
