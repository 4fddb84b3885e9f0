"""Data folders of Kaldi's: the samples, texts and speakers of all utterances are those that lhotse's released reader finds."""
import os
import random
import wave

import numpy as np
from lhotse import CutSet
from lhotse.kaldi import load_kaldi_data_dir

import bload
import tool

RATE, UTTERANCES = 11025, 300


class Kaldi(tool.Tool):
    def recordings(self, folder):
        noise = np.random.default_rng(1)
        for name in ("r0", "r1", "r2"):
            with wave.open(self.path(name + ".wav"), "wb") as file:
                file.setparams((1, 2, RATE, 0, "NONE", ""))
                file.writeframes(noise.integers(-9000, 9000, RATE * 20).astype("<i2").tobytes())
        self.data = self.path(folder, "data")
        os.makedirs(self.data)
        self.lines("wav.scp", (f"{name} {self.path(name)}.wav" for name in ("r0", "r1", "r2")))

    def lines(self, name, lines):
        tool.write(os.path.join(self.data, name), "".join(line + "\n" for line in lines))

    def check(self):
        recordings, supervisions, _ = load_kaldi_data_dir(self.data, RATE)
        cuts = CutSet.from_manifests(recordings=recordings, supervisions=supervisions).trim_to_supervisions(keep_overlapping=False).to_eager()
        packed = self.data + "-packed"
        self.bload("pack", "-q", self.data, "--rate", RATE, "-T", "longest", "-o", packed)
        dataset = bload.open(packed)
        rows = {row["id"]: row for row in dataset.sequences}
        found = {}
        for block in dataset:
            for k in range(int(block["num_sequences"])):
                found[block["ids"][k]] = block["audio"][block["cu_seqlens"][k]:block["cu_seqlens"][k + 1]]
        self.assertEqual(found.keys(), rows.keys())
        self.assertEqual(len(found), len(cuts))
        for cut in cuts:
            said, = cut.supervisions
            row, samples = rows[said.id], found[said.id]
            self.assertEqual((row["text"], row["speaker"]), (said.text, said.speaker))
            self.assertTrue(np.array_equal(samples, np.rint(cut.load_audio()[0] * 32768)), said.id)

    def test_segments(self):
        self.recordings("segments")
        draw, segments = random.Random(2), []
        for i in range(UTTERANCES):
            start = round(draw.uniform(0, 15), draw.choice((2, 3, 5, 7)))
            end = round(start + draw.uniform(0.05, 4), draw.choice((2, 3, 5, 7)))
            segments.append(f"u{i:03} r{draw.randrange(3)} {start} {end}")
        self.lines("segments", segments)
        self.lines("text", (f"u{i:03} TÄXT  NUMBER {i}" for i in range(UTTERANCES)))
        self.lines("utt2spk", (f"u{i:03} s{i % 7}" for i in range(UTTERANCES)))
        self.check()

    def test_whole_recordings(self):
        self.recordings("whole")
        self.lines("text", ("r2 TWO", "r0 ZERO", "r1 ONE"))
        self.lines("utt2spk", ("r0 a", "r1 a", "r2 b"))
        self.check()
