"""Sound: every file's length by the known answers, its samples against the ffmpeg command, and pieces against the whole."""
import os
import subprocess
import unittest

import numpy as np

import media
import tool
from dataset import Dataset
from harness import each

RATE = 16000
# Of QuickTime files the last frame of the encoder goes on behind the track's end, which the manifest counts; its length by the container
# is rounded to the film's ticks in some.
TRIMMED = (".mp4", ".m4a", ".MOV", ".mov")

# libfaac tells in the stream that its first 1024 samples are its delay; the track ends 1024 samples and a second after their beginning.
EXACT = {"exo_sample.mp4": 44100}


class Known:
    def __init__(self, row):
        self.name = row["file"]
        self.path = os.path.join(tool.MEDIA, self.name)
        self.rate = int(row["arate"])
        self.decoded = int(row["lavc_decoded_samples"])
        self.declared = row["container_adur_s"]

    def lengths(self):
        """The steps that may come of it."""
        samples = {self.decoded}
        if self.name.endswith(TRIMMED) and self.declared not in ("", "N/A"):
            declared = round(float(self.declared) * self.rate)
            samples |= set(range(declared - 1, declared + 2))
        samples = {EXACT[self.name]} if self.name in EXACT else samples
        return {-(-n * RATE // self.rate) for n in samples}


def known():
    rows = [row for row in media.manifest() if row["acodec"] and row["lavc_decoded_samples"] not in ("", "0")]
    return [Known(row) for row in rows]


FILES = known()
SPEECH = [k for k in FILES if k.name.startswith("derived_jfk") and not k.name.endswith(".aac")]


# The same resamplers in the ffmpeg command.
ENGINES = {"swr": "swr", "soxr": "soxr:precision=20:cheby=1"}


def by_ffmpeg(path, stream, channels=1, dtype="s16", engine="soxr"):
    """The samples that the ffmpeg command gives with the same mixing, [n, channels]."""
    layout = {1: "mono", 2: "stereo"}[channels]
    chain = f"aresample={RATE}:ochl={layout}:internal_sample_fmt=fltp:rematrix_maxval=1:resampler={ENGINES[engine]}"
    kind = {"s16": ("s16le", np.int16), "f32": ("f32le", np.float32)}[dtype]
    done = subprocess.run(["ffmpeg", "-v", "quiet", "-nostdin", "-threads", "1", "-i", path, "-map", f"0:{stream}", "-af", chain,
                           "-f", kind[0], "-"], capture_output=True, timeout=120, check=True)
    return np.frombuffer(done.stdout, kind[1]).reshape(-1, channels)


def sound_of(dataset, name):
    return np.concatenate([dataset.block(b, "audio")[start:start + length]
                           for b, start, length, _ in dataset.pieces_of(name)])


@unittest.skipUnless(FILES, media.ABSENT)
class Real(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = ["--kind", "audio", tool.MEDIA]
        packed = {"whole": ["-T", "longest"], "parts": ["-T", "7919", "--oversize", "split", "-j", "2"],
                  "floats": ["-T", "longest", "--dtype", "f32"], "stereo": ["-T", "longest", "--channels", "2"],
                  "swr": ["-T", "longest", "--resampler", "swr"]}
        for name, options in packed.items():
            setattr(cls, name, Dataset(cls().pack(name, *source, *options, status=3)))

    @each((k.name, k) for k in FILES)
    def test_length(self, _, file):
        self.assertIn(int(self.whole.row(file.name)["length"]), file.lengths())

    @each((k.name, k) for k in FILES)
    def test_samples(self, _, file):
        self.check_samples(file, self.whole, "soxr")

    @each((k.name, k) for k in FILES)
    def test_samples_of_swresample(self, _, file):
        self.check_samples(file, self.swr, "swr")

    def check_samples(self, file, dataset, engine):
        row = dataset.row(file.name)
        sound = sound_of(dataset, file.name)
        self.assertEqual((sound.dtype, len(sound)), (np.int16, int(row["length"])))
        expected = by_ffmpeg(file.path, row["stream"], engine=engine)[:, 0]
        size = min(len(sound), len(expected))
        self.assertLessEqual(abs(len(sound) - len(expected)), RATE // 10)
        difference = np.abs(sound[:size].astype(int) - expected[:size])
        # The last samples are made of what was trimmed behind them, by the ffmpeg command.
        self.assertLessEqual(int(difference[:-64].max(initial=0)), 1)

    @each((k.name, k) for k in FILES)
    def test_pieces(self, _, file):
        self.assertEqual(self.parts.row(file.name), self.whole.row(file.name))
        self.assertTrue(np.array_equal(sound_of(self.parts, file.name), sound_of(self.whole, file.name)))

    @each((k.name, k) for k in FILES)
    def test_floats_and_integers_agree(self, _, file):
        floats = sound_of(self.floats, file.name)
        self.assertEqual(floats.dtype, np.float32)
        scaled = np.clip(np.rint(floats.astype(np.float64) * 32768), -32768, 32767)
        self.assertLessEqual(np.abs(scaled - sound_of(self.whole, file.name)).max(), 1)

    @each((k.name, k) for k in FILES if "16ch" not in k.name)
    def test_stereo(self, _, file):
        sound = sound_of(self.stereo, file.name)
        expected = by_ffmpeg(file.path, self.stereo.row(file.name)["stream"], 2)
        size = min(len(sound), len(expected))
        self.assertEqual(sound.shape, (int(self.stereo.row(file.name)["length"]), 2))
        self.assertLessEqual(int(np.abs(sound[:size].astype(int) - expected[:size])[:-64].max(initial=0)), 1)

    def test_speech_is_eleven_seconds_in_every_codec(self):
        for file in SPEECH:
            with self.subTest(file.name):
                self.assertLessEqual(abs(int(self.whole.row(file.name)["length"]) - 11 * RATE), 2)


# name: (channels, rate, how ffmpeg codes them). Of each the samples of chosen channels are those of ffmpeg's filter pan.
SEVERAL = {
    "array.wav": (8, 16000, "-c:a pcm_s16le"),
    "array.flac": (8, 44100, "-c:a flac"),
    "many.mka": (12, 16000, "-c:a pcm_s24le"),
    "floats.wav": (16, 48000, "-c:a pcm_f32le"),
    "call.wav": (2, 8000, "-c:a pcm_mulaw"),
    "call.mp3": (2, 16000, "-c:a libmp3lame"),
    "film.mka": (6, 48000, "-c:a ac3"),
    "wide.opus": (8, 48000, "-c:a libopus -mapping_family 255"),
}


class Channels(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, (channels, rate, options) in SEVERAL.items():
            noise = np.random.default_rng(rate + channels).standard_normal((rate // 2, channels)) * 0.1
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "f32le", "-ar", str(rate), "-ac", str(channels), "-i", "-",
                            *options.split(), cls().path(name)], input=noise.astype("<f4").tobytes(), check=True, timeout=60)

    def panned(self, name, chosen, then=""):
        pan = f"pan={len(chosen)}c|" + "|".join(f"c{i}=c{c}" for i, c in enumerate(chosen))
        done = subprocess.run(["ffmpeg", "-v", "quiet", "-nostdin", "-i", self.path(name), "-af", f"aformat=fltp,{pan}{then}", "-f", "f32le",
                               "-c:a", "pcm_f32le", "-"], capture_output=True, timeout=60, check=True)
        return np.frombuffer(done.stdout, np.float32).reshape(-1, len(chosen))

    def choices(self, channels):
        last = channels - 1
        return [[last], [last, 0], [0, last]] + ([[last, 2, 1], list(range(min(last, 7), -1, -1))] if channels > 2 else [])

    @each(SEVERAL.items())
    def test_chosen(self, name, known):
        channels, rate, _ = known
        for chosen in self.choices(channels):
            word = ",".join(map(str, chosen))
            with self.subTest(chosen=word):
                dataset = Dataset(self.pack("d-" + word, "--kind", "audio", self.path(name), "--rate", rate, "--dtype", "f32", "-T", "longest",
                                            "--channel", word))
                sound = sound_of(dataset, dataset.sequences[0]["id"])
                expected = self.panned(name, chosen)
                self.assertTrue(len(sound) and np.array_equal(sound.reshape(len(sound), -1), expected[:len(sound)]))
                self.assertLessEqual(abs(len(sound) - len(expected)), 1024 if name == "film.mka" else 0)
                if len(chosen) > 1:
                    self.assertEqual(dataset.sequences[0]["channels_left"], str(channels - len(chosen)))

    @each((name, known) for name, known in SEVERAL.items() if known[1] != RATE and name != "film.mka")
    def test_resampled(self, name, known):
        chosen = [known[0] - 1, 0]
        dataset = Dataset(self.pack("d", "--kind", "audio", self.path(name), "--dtype", "f32", "-T", "longest", "--channel",
                                    ",".join(map(str, chosen))))
        sound = sound_of(dataset, dataset.sequences[0]["id"])
        expected = self.panned(name, chosen, f",aresample={RATE}:resampler={ENGINES['soxr']}:internal_sample_fmt=fltp")
        size = min(len(sound), len(expected))
        self.assertLessEqual(np.abs(sound[:size] - expected[:size])[:-64].max(), 1e-5)

    @each((name, known) for name, known in SEVERAL.items() if known[0] >= 8)
    def test_lists(self, name, known):
        """A list whose lines choose, in any order of parts, on several workers: slices of what all channels are."""
        channels, rate, _ = known
        options = "--kind", "audio", "--rate", rate, "--dtype", "f32"
        everything = Dataset(self.pack("all", *options, self.path(name), "-T", "longest", "--channels", channels))
        everything = sound_of(everything, everything.sequences[0]["id"])
        random = np.random.default_rng(5)
        lines = []
        for number in range(40):
            begin, end = sorted(random.choice(len(everything), 2, replace=False))
            lines.append((begin, end, random.permutation(channels)[:3]))
        tool.write(self.path("list.csv"), "path,id,start_frame,end_frame,channel\n" + "".join(
            f'{name},{number},{begin},{end},"{",".join(map(str, chosen))}"\n' for number, (begin, end, chosen) in enumerate(lines)))
        parts = [Dataset(self.pack(f"list{jobs}", *options, self.path("list.csv"), "-T", 5000, "--oversize", "split", "--channels", 3,
                                   "-j", jobs)) for jobs in (1, 3)]
        self.assertSameTree(self.path("list1"), self.path("list3"))
        for number, (begin, end, chosen) in enumerate(lines):
            self.assertTrue(np.array_equal(sound_of(parts[0], str(number)), everything[begin:end][:, chosen]), lines[number])
