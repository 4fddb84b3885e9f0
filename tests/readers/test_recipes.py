"""The recipes of docs/recipes.md, run as they stand over small trees of the layouts that they tell of: every command succeeds, gives the
fields that its comment claims, and leaves nothing out."""
import gzip
import json
import os
import shutil
import wave

import tool
from dataset import Dataset
from page import Page, annotations, array, image, lines
from test_folders import write


class Recipes(Page):
    def test_recipes(self):
        self.enter("recipes")
        self.frame_folders()
        shutil.copytree(self.at("frames"), self.at("ActionGenome/frames"))
        lines(self.at("Charades/Charades_v1_train.csv"), "id,subject,actions,length", "001YG,A,c092 1.50 4.20;c147 0.00 12.60,30.1",
              "00HFP,B,,12.0")
        lines(self.at("Charades/Charades_v1_classes.txt"), *(f"c{i:03} Doing {i}" for i in range(157)))
        for number in range(1, 4):
            for name in "Archery/v_Archery_g01_c01", "Biking/v_Biking_g02_c03":
                image(self.at("rawframes", name, f"flow_x_{number:05}.jpg"))
        for i, steps in enumerate((12, 7)):
            stem = f"S{i + 1}_Cheese_C1"
            array(self.at("i3d", f"v_000{i}.npy"), steps, 1, 1, 1024)
            array(self.at("gtea/features", stem + ".npy"), 2048, steps)
            lines(self.at("gtea/groundTruth", stem + ".txt"), *["take"] * (steps - 3), *["background"] * 3)
            array(self.at("feats/storage", f"0a{i}", f"0a{i}b2c.npy"), steps, 80)
        lines(self.at("gtea/splits/train.split1.bundle"), "S1_Cheese_C1.txt")
        lines(self.at("gtea/mapping.txt"), "0 take", "1 background")
        steps = self.video(self.at("videos/cook/0001.mp4"))
        array(self.at("labels/cook/0001.npy"), steps, dtype="u1")
        lines(self.at("steps/0001.txt"), *["cut"] * steps)
        lines(self.at("mapping.txt"), "background", "cut")
        annotations(self.at("activity_net.json"), "0001")
        os.makedirs(self.at("wavs"))
        for i in range(4):
            with wave.open(self.at(f"wavs/{i:05}.wav"), "wb") as file:
                file.setparams((1, 2, 16000, 0, "NONE", ""))
                file.writeframes(bytes(32000 * (i + 1)))
        lines(self.at("transcripts.csv"), "id,text", *(f"{i:05},{'word ' * (i + 1)}".rstrip() for i in range(4)))
        manifest = [{"recording_id": "a", "storage_path": "feats/storage", "storage_key": f"0a{i}/0a{i}b2c.npy"} for i in range(2)]
        write(self.at("feats/feature_manifest.json.gz"), gzip.compress(json.dumps(manifest).encode()))
        claimed = self.run_blocks(tool.text(os.path.join(tool.ROOT, "docs/recipes.md")), self.at())
        self.assertGreaterEqual(len(claimed), 10)
        self.check(claimed, self.at())
        # Classes are what the CSV says of the images' times.
        actions = Dataset(self.at("ag"))
        (block, start, length, _), = actions.pieces_of("001YG.mp4")
        painted = actions.block(block, "actions")[start:start + length]
        self.assertEqual(painted[:, 92].tolist(), [1, 1, 0])
        self.assertEqual(painted[:, 147].tolist(), [1, 1, 1])
        self.assertEqual(painted.sum(), 5)
        utterances = Dataset(self.at("utterances"))
        self.assertEqual([row["text.length"] for row in utterances.sequences], ["4", "9", "14", "19"])
