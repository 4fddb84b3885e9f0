"""contracts.ctc and ParakeetForCTC of Transformers: recordings with their transcripts are packed, and the model says and loses of each row
what it does of the recording alone."""
import os
import wave

import numpy as np
import torch
import transformers
from torch.utils.data import DataLoader

import tool
from bload import contracts
from bload.torch import BlockDataset, collate

TEXTS = "one", "two three", "four", "five six seven eight", "nine ten"
YAML = """sources: [wavs/]
kind: audio
rate: 16000
features: whisper80
T: 700
attributes: texts.csv
fields:
  - {name: text, kind: text, column: text, tokenizer: bytes, steps: own, capacity: auto}
"""
BLANK = 256  # behind the bytes


def model():
    torch.manual_seed(0)
    encoder = transformers.ParakeetEncoderConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_mel_bins=80,
                                                 subsampling_conv_channels=8, dropout=0.0, layerdrop=0.0, attention_dropout=0.0)
    config = transformers.ParakeetCTCConfig(vocab_size=BLANK + 1, pad_token_id=BLANK, encoder_config=encoder.to_dict())
    return transformers.ParakeetForCTC(config).eval()


class Parakeet(tool.Tool):
    def test(self):
        os.makedirs(self.path("wavs"))
        random = np.random.default_rng(0)
        for i, text in enumerate(TEXTS):
            with wave.open(self.path(f"wavs/{i}.wav"), "wb") as file:
                file.setparams((1, 2, 16000, 0, "NONE", ""))
                file.writeframes(random.integers(-9000, 9000, 16000 + 3200 * len(text)).astype("<i2").tobytes())
        tool.write(self.path("texts.csv"), "id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(TEXTS)))
        tool.write(self.path("set.yaml"), YAML)
        self.bload("pack", "-q", "-c", "set.yaml", "-o", "set", cwd=self.path())
        dataset, parakeet = BlockDataset(self.path("set"), pad=False), model()
        batch, = DataLoader(dataset, batch_size=len(dataset), collate_fn=collate)
        self.assertGreater(len(dataset), 1)
        rows = contracts.ctc(batch, "features", "text", padding=-100)
        self.assertEqual(rows["left_out"], 0)
        numbers = batch["sequence"].flatten().numpy()
        order = dataset.dataset.sequences.ids(numbers[numbers >= 0])
        self.assertEqual(len(order), len(TEXTS))
        given = {name: rows[name] for name in ("input_features", "attention_mask", "labels")}
        with torch.no_grad():
            together = parakeet(**given)
            parakeet.config.ctc_loss_reduction = "sum"
            losses = []
            for k, name in enumerate(order):
                alone = dataset.dataset.sequence(name)
                self.assertEqual(bytes(alone["text"].tolist()).decode(), TEXTS[int(name[0])])
                features, text = torch.tensor(alone["features"])[None], torch.tensor(alone["text"]).long()[None]
                one = parakeet(input_features=features, attention_mask=torch.ones(features.shape[:2]).long(), labels=text)
                known = one.logits.shape[1]
                self.assertLess((together.logits[k, :known] - one.logits[0]).abs().max().item(), 1e-4)
                losses.append(one.loss.item())
            self.assertAlmostEqual(parakeet(**given).loss.item() / sum(losses), 1, 4)
