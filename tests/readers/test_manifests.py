"""Manifests of speech: the samples of every cut are those of the recording at that place, whatever the codec, in any order."""
import decimal
import gzip
import json
import math
import os
import random
import subprocess
import unittest

import numpy as np

import tool
from dataset import Dataset
from harness import each

SECONDS = 30
# name: (rate, channels, options of ffmpeg)
RECORDINGS = {
    "plain.wav": (16000, 1, ()), "odd.wav": (11025, 2, ("-c:a", "pcm_s24le")), "law.wav": (8000, 1, ("-c:a", "pcm_mulaw")),
    "ima.wav": (16000, 1, ("-c:a", "adpcm_ima_wav")), "plain.flac": (16000, 1, ()), "two.flac": (44100, 2, ()),
    "some.aiff": (22050, 1, ()), "some.au": (16000, 1, ()), "some.w64": (16000, 1, ()), "some.mp3": (44100, 2, ()),
    "some.m4a": (44100, 1, ()), "some.ogg": (32000, 1, ("-c:a", "libvorbis")), "some.opus": (48000, 1, ()),
    "some.mka": (48000, 2, ("-c:a", "ac3")),
}


def compute_num_samples(duration, rate):
    """As lhotse defines it (lhotse/utils.py)."""
    exact = decimal.Decimal(round(duration * rate, ndigits=8))
    return int(exact.quantize(0, rounding=decimal.ROUND_HALF_UP))


def record(path, rate, channels, options):
    """Noise that never repeats, so that every place is told from every other."""
    noise = np.random.default_rng(rate + channels).standard_normal((SECONDS * rate, channels)) * 0.2
    noise *= np.sin(np.arange(len(noise)) / rate)[:, None] ** 2 + 0.1
    samples = np.rint(np.clip(noise, -1, 1) * 32767).astype("<i2")
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "s16le", "-ar", str(rate), "-ac", str(channels), "-i", "-", *options,
                    path], input=samples.tobytes(), check=True)


def cuts_of(seed, count):
    """(start, duration) at random, some of them one behind the other."""
    draw = random.Random(seed)
    for _ in range(count):
        start = round(draw.uniform(0, SECONDS - 4), draw.choice((2, 4, 7)))
        duration = round(draw.uniform(0.01, 3), draw.choice((2, 4, 7)))
        yield start, duration
        yield start + duration, 0.25


def sound_of(dataset, name):
    return np.concatenate([dataset.block(b, "audio")[start:start + length] for b, start, length, _ in dataset.pieces_of(name)])


class Recorded(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = cls().path("in")
        os.mkdir(cls.folder)
        for name, (rate, channels, options) in RECORDINGS.items():
            record(os.path.join(cls.folder, name), rate, channels, options)

    def write(self, name, lines):
        path = os.path.join(self.folder, name)
        opened = gzip.open if name.endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        return path


class Cuts(Recorded):
    """At the recording's own rate a cut is a slice of the whole, bit for bit."""

    @each(RECORDINGS)
    def test_slices(self, name):
        rate, channels, _ = RECORDINGS[name]
        path = os.path.join(self.folder, name)
        options = "--rate", rate, "--channels", channels, "--dtype", "f32", "-T", "longest"
        whole = sound_of(Dataset(self.pack("whole", path, *options)), path)
        lines = [{"audio_filepath": name, "offset": start, "duration": duration, "text": f"{start} {duration}"}
                 for start, duration in cuts_of(rate, 15)]
        random.Random(5).shuffle(lines)
        manifest = self.write("manifest.json", lines)
        cut = Dataset(self.pack("cut", manifest, "--kind", "audio", *options))
        self.assertEqual(len(cut.sequences), len(lines))
        for number, line in enumerate(lines, 1):
            row = cut.row(f"{manifest}#{number}")
            begin = compute_num_samples(line["offset"], rate)
            count = compute_num_samples(line["duration"], rate)
            self.assertEqual((row["path"], row["text"], int(row["length"])), (path, line["text"], count))
            self.assertTrue(np.array_equal(sound_of(cut, row["id"]), whole[begin:begin + count]), line)

    def test_resampled_as_a_file_of_its_own(self):
        lines = [{"audio_filepath": name, "offset": start, "duration": duration}
                 for name in ("plain.wav", "some.au", "plain.flac") for start, duration in cuts_of(name, 2)]
        manifest = self.write("manifest.json", lines)
        os.mkdir(self.path("pieces"))
        for number, line in enumerate(lines, 1):
            begin, count = (compute_num_samples(line[key], 16000) for key in ("offset", "duration"))
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", os.path.join(self.folder, line["audio_filepath"]), "-af",
                            f"atrim=start_sample={begin}:end_sample={begin + count}", self.path("pieces", f"{number}.wav")], check=True)
        for options in ("--rate", 22050), ("--features", "whisper80"), ("--rate", 8000, "--dtype", "f32"):
            cut = Dataset(self.pack("cut", manifest, "--kind", "audio", *options, "-T", "longest"))
            alone = Dataset(self.pack("alone", self.path("pieces"), *options, "-T", "longest"))
            field = "features" if "--features" in options else "audio"
            for number, line in enumerate(lines, 1):
                one, other = (set_.block(b, field)[start:start + length] for set_, name in
                              ((cut, f"{manifest}#{number}"), (alone, f"{number}.wav"))
                              for b, start, length, _ in set_.pieces_of(name))
                self.assertTrue(len(one) and np.array_equal(one, other), line)


class Lhotse(Recorded):
    def cut(self, number, name, start, duration, channel=0):
        rate, channels, _ = RECORDINGS[name]
        recording = {"id": name, "sources": [{"type": "file", "channels": list(range(channels)), "source": name}],
                     "sampling_rate": rate, "num_samples": rate * SECONDS, "duration": float(SECONDS),
                     "channel_ids": list(range(channels))}
        supervisions = [{"id": f"s{number}", "recording_id": name, "start": 0.0, "duration": duration, "channel": channel,
                         "text": text} for text in (f"täxt {number}", "and more")]
        return {"id": f"cut-{number}", "start": start, "duration": duration, "channel": channel, "supervisions": supervisions,
                "recording": recording, "type": "MonoCut"}

    def test_channels(self):
        lines = [self.cut(2 * i + c, "two.flac", start, duration, c) for i, (start, duration) in enumerate(cuts_of(3, 5))
                 for c in (0, 1)]
        self.write("cuts.jsonl.gz", lines)
        options = "--rate", 44100, "--dtype", "f32", "-T", "longest"
        both = sound_of(Dataset(self.pack("both", "two.flac", *options, "--channels", 2, cwd=self.folder)), "two.flac")
        cut = Dataset(self.pack("cut", "cuts.jsonl.gz", "--kind", "audio", *options, cwd=self.folder))
        for line in lines:
            begin, count = (compute_num_samples(line[key], 44100) for key in ("start", "duration"))
            expected = both[begin:begin + count, line["channel"]]
            self.assertTrue(np.array_equal(sound_of(cut, line["id"]), expected), line["id"])
            self.assertEqual(cut.row(line["id"])["text"], f"täxt {line['id'][4:]} and more")

    def test_cuts_of_several_channels(self):
        lines = [self.cut(i, "two.flac", start, duration, ([1, 0], [0, 1], [1])[i % 3]) for i, (start, duration) in enumerate(cuts_of(7, 9))]
        self.write("multi.jsonl", [{**line, "type": "MultiCut"} for line in lines])
        options = "--rate", 44100, "--dtype", "f32", "-T", "longest", "--channels", 2
        both = sound_of(Dataset(self.pack("both", "two.flac", *options, cwd=self.folder)), "two.flac")
        cut = Dataset(self.pack("cut", "multi.jsonl", "--kind", "audio", *options, cwd=self.folder))
        for line in lines:
            begin, count = (compute_num_samples(line[key], 44100) for key in ("start", "duration"))
            expected = both[begin:begin + count][:, line["channel"]]
            if len(line["channel"]) == 1:  # half of its power to each side
                expected = np.repeat(expected * np.float32(np.sqrt(0.5)), 2, 1)
            self.assertLessEqual(np.abs(sound_of(cut, line["id"]) - expected).max(), 1e-7, line["id"])

    def test_workers_tables_and_a_yaml_file(self):
        lines = [self.cut(i, name, start, duration) for i, (name, (start, duration)) in
                 enumerate((name, cut) for name in ("some.mp3", "plain.flac", "some.m4a") for cut in cuts_of(name, 6))]
        random.Random(1).shuffle(lines)
        self.write("cuts.jsonl", lines)
        options = "-T", "20000", "--oversize", "split", "--shard-size", "1M"
        one = self.pack("one", "cuts.jsonl", "--kind", "audio", *options, "-j", 1, cwd=self.folder)
        two = self.pack("two", "cuts.jsonl", "--kind", "audio", *options, "-j", 5, cwd=self.folder)
        self.assertSameTree(one, two)
        table = self.path("table.tsv")
        self.bload("scan", "-q", "cuts.jsonl", "--kind", "audio", "-o", table, cwd=self.folder)
        three = self.pack("three", "--sequences", table, *options, cwd=self.folder)
        self.assertSameTree(one, three, ("manifest.json",))
        tool.write(os.path.join(self.folder, "set.yaml"), "sources:\n  - path: cuts.jsonl\n    kind: audio\n")
        four = self.pack("four", "-c", os.path.join(self.folder, "set.yaml"), *options)
        self.assertSameTree(one, four, ("manifest.json",))


class Rounding(unittest.TestCase):
    def test_the_definition_itself(self):
        self.assertEqual([compute_num_samples(s, r) for s, r in ((0.29, 100), (1.00003125, 16000), (2.5, 1), (math.pi, 8000))],
                         [29, 16001, 3, 25133])
