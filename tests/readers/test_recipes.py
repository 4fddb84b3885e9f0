"""The recipes of docs/recipes.md, run as they stand over small trees of the layouts that they tell of: every command succeeds, gives the
fields that its comment claims, and leaves nothing out."""
import gzip
import json
import os
import shlex
import shutil
import wave

import known_sets
import tool
from dataset import Dataset
from page import Page, annotations, array, blocks, commands, image, lines
from test_folders import write


# Of each set: the columns, and their values of all sequences. Videos have 25 frames a second.
KNOWN = {
    "kinetics": ("id length label", "SYTMgaqGhfg-10 100 cracking back|zLD_q2djrYs-30 100 passing American football (in game)"),
    "ssv2-set": ("id length class label", "78687 100 23 holding potato next to vicks vaporub bottle|41775 100 46 moving a cup up"),
    "ava-set": ("id length boxes.length actions.length actions persons", "-5KQ66BBWC4-0002 50 3 3 [80, 9, 12] [1, 1, 0]|-5KQ66BBWC4-0003 50 1 1 [80] [2]"),
    "epic-set": ("id length narration verb_class noun_class all_nouns first", "P01_01_0 80 open door 3 3 ['door'] 8|"
                 "P01_01_1 25 take knife and plate 0 4 ['knife', 'plate'] 262"),
    "epic-frames": ("id length missing narration verb_class", "P01_01_0 195 0 open door 3|P01_01_1 109 0 take knife and plate 0"),
    "activitynet-set": ("id length label", "sJFgo9H6zNo-0 6 Doing 0|sJFgo9H6zNo-1 10 Doing 1|V1zhqaGFY2A-0 10 Doing 0"),
    "howto100m-set": ("id length text", 'nVbIUDjzWY4-0 15 hello everyone|nVbIUDjzWY4-1 10 a "b"|nVbIUDjzWY4-2 20 t\u00e4'),
    "ego4d-set": ("id length", "clip-0 4|clip-1 4"),
    "openvid-set": ("id length caption aesthetic\u00a0score camera\u00a0motion", "IIvwqskxtdE_0.mp4 100 In the video, a woman, smiling. 5.1 static|"
                    "a b_1.mp4 100 A dog 4.5 pan_left"),
    "finevideo-set": ("id length title", "finevideo/sample_0-1 12 Scene 1|finevideo/sample_0-2 12 Scene 2|finevideo/sample_1-1 12 Scene 1"),
    "audioset-set": ("id length positive_labels from", "--PJHxphWEs 96000 /m/09x0r,/t/dd00088 30.000|0RWZT-miFs4 96000 /m/03v3yw 420.000"),
    "vggsound-set": ("id status label split", "---g-f_I2yQ-1 dropped people marching test|--0PQM4-hqg-30 ok waterfall burbling train|"
                     "zxpo56cpUBU-7 ok playing violin, fiddle train"),
    "cv-set": ("id length text client_id locale", 'common_voice_en_103675.mp3 300 "Quoted" 0 c0 en|common_voice_en_380475.mp3 300 "Quoted" 1 c1 en'),
    "covost-set": ("id length sentence translation translated.length", "common_voice_fr_17299384.mp3 300 C'est vrai. That's true. 12"),
    "voxceleb-set": ("id length speaker", "wav/id10003/na8-QEFmj44/00003.wav 300 id10003|wav/id10004/tCq2LcKO6xY/00002.wav 300 id10004"),
    "librispeech-set": ("id length text", "84/121123/84-121123-0000.flac 300 GO DO YOU HEAR|84/121123/84-121123-0001.flac 300 BUT IN LESS THAN FIVE MINUTES|"
                        "174/50561/174-50561-0000.flac 300 FORGOTTEN TOO THE NAME"),
    "mls-set": ("id length text", "10214/10108/10214_10108_000000.flac 300 one \u00e9|10214/10108/10214_10108_000001.flac 300 two"),
    "gigaspeech-set": ("id length text status", "POD0000000025_S0000000 0 WORDS <COMMA> 0 dropped|POD0000000025_S0000001 100 WORDS <COMMA> 1 ok|"
                       "POD0000000025_S0000002 100 WORDS <COMMA> 2 ok"),
    "kaldi-set": ("id length text speaker", "utterance-1 100 HELLO anna|utterance-2 300 WORLD  TWO ben"),
}
# Kinds of attributes: columns that are in the blocks.
NUMBERS = {"ssv2-set": {"class"}, "epic-set": {"verb_class", "noun_class", "first", "last"}, "epic-frames": {"verb_class", "noun_class"},
           "openvid-set": {"aesthetic score", "motion score"},
           "kinetics": {"time_start", "time_end"}}


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
        known_sets.make_media(self.at)
        known_sets.make_video_lists(self.at)
        known_sets.make_sound_lists(self.at)
        claimed = self.run_blocks(tool.text(os.path.join(tool.ROOT, "docs/recipes.md")), self.at())
        self.assertGreaterEqual(len(claimed), 28)
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
        self.check_known(claimed)
        self.check_missing()

    def check_known(self, claimed):
        """Every line of the released lists is a sequence, with its labels and texts."""
        for name, (columns, rows) in KNOWN.items():
            with self.subTest(name):
                self.assertIn(name, claimed)
                dataset = Dataset(self.at(name))
                columns = [column.replace("\u00a0", " ") for column in columns.split(" ")]
                self.assertEqual([" ".join(row[column] for column in columns) for row in dataset.sequences], rows.split("|"))
                self.assertLessEqual(NUMBERS.get(name, set()), {attribute["name"] for attribute in dataset.manifest["attributes"]})
        videos = Dataset(self.at("charades-videos"))
        (block, start, length, _), = videos.pieces_of("001YG.mp4")
        painted = videos.block(block, "actions")[start:start + length]
        self.assertEqual(painted[:, 92].tolist(), [0] * 38 + [1] * 62)
        texts = Dataset(self.at("covost-set"))
        self.assertEqual(bytes(texts.block(0, "translated")[:12].astype("u1")), b"That's true.")

    def check_missing(self):
        """A file that cannot be downloaded any more is named and counted, and the run goes on."""
        with open(self.at("k700/annotations/train.csv"), "a", encoding="utf-8") as file:
            file.write("air drumming,--nQbRBEz2s,104,114,train\n")
        page = tool.text(os.path.join(tool.ROOT, "docs/recipes.md"))
        command, = (command for _, block in blocks(page) for command in commands(block) if command.startswith("bload pack k700"))
        arguments = shlex.split(command.replace(" -o kinetics ", " -o kinetics-missing "), comments=True)[1:]
        _, told = self.bload(*arguments, status=3, cwd=self.at())
        self.assertIn("skipped --nQbRBEz2s-104: k700/annotations/train.csv:4: k700/annotations/../train/--nQbRBEz2s_000104_000114.mp4: file not found", told)
        self.assertEqual([row["status"] for row in Dataset(self.at("kinetics-missing")).sequences], ["ok", "ok", "skipped"])
