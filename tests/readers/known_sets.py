"""Small trees of well-known datasets: files of the released forms and names, with videos of four seconds and sounds of three."""
import json
import os
import shutil
import subprocess

from page import image, lines
from test_folders import write

SECONDS, RATE = 4, 25
VIDEOS = {
    "k700/train": ("SYTMgaqGhfg_000010_000020.mp4", "zLD_q2djrYs_000030_000040.mp4"),
    "ssv2/20bn-something-something-v2": ("78687.webm", "41775.webm"),
    "ava/trainval": ("-5KQ66BBWC4.mkv",),
    "epic/P01/videos": ("P01_01.MP4",),
    "activitynet/videos": ("v_sJFgo9H6zNo.mp4", "v_V1zhqaGFY2A.mp4"),
    "howto100m/videos": ("nVbIUDjzWY4.mp4",),
    "ego4d/v2/full_scale": ("d250521e-5197.mp4",),
    "openvid/video": ("IIvwqskxtdE_0.mp4", "a b_1.mp4"),
    "finevideo": ("sample_0.mp4", "sample_1.mp4"),
    "Charades_v1_480": ("001YG.mp4", "00HFP.mp4"),
    "vggsound/video": ("---g-f_I2yQ_000001.mp4", "--0PQM4-hqg_000030.mp4", "zxpo56cpUBU_000007.mp4"),
}
SOUNDS = (
    "audioset/balanced_train/Y--PJHxphWEs.wav", "audioset/balanced_train/Y0RWZT-miFs4.wav", "cv/en/clips/common_voice_en_103675.mp3",
    "cv/en/clips/common_voice_en_380475.mp3", "covost/fr/clips/common_voice_fr_17299384.mp3", "voxceleb/wav/id10003/na8-QEFmj44/00003.wav",
    "voxceleb/wav/id10004/tCq2LcKO6xY/00002.wav", "LibriSpeech/dev-clean/84/121123/84-121123-0000.flac",
    "LibriSpeech/dev-clean/84/121123/84-121123-0001.flac", "LibriSpeech/dev-clean/174/50561/174-50561-0000.flac",
    "mls_english/dev/audio/10214/10108/10214_10108_000000.flac", "mls_english/dev/audio/10214/10108/10214_10108_000001.flac",
    "GigaSpeech/audio/podcast/P0001/POD0000000025.opus",
)


def make_media(at):
    """One video and one sound of each container, copied to all names."""
    made = {}
    for folder, names in VIDEOS.items():
        for name in names:
            coding = ("-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8") if name.endswith("webm") else ("-c:v", "libx264", "-c:a", "aac")
            made.setdefault(name.rpartition(".")[2].lower(), coding), copy(at, made, os.path.join(folder, name))
    # As downloads have other containers, a link with the usual extension leads to one.
    name = at("activitynet/videos/v_V1zhqaGFY2A.mp4")
    os.remove(name)
    shutil.copy(made["webm"], name[:-3] + "webm")
    os.symlink("v_V1zhqaGFY2A.webm", name)
    for name in SOUNDS:
        made.setdefault(name.rpartition(".")[2], ()), copy(at, made, name)


def copy(at, made, name):
    suffix = name.rpartition(".")[2].lower()
    os.makedirs(os.path.dirname(at(name)), exist_ok=True)
    if isinstance(made[suffix], str):
        shutil.copy(made[suffix], at(name))
        return
    sound = f"sine=frequency=440:sample_rate=16000:duration={SECONDS if made[suffix] else 3}"
    sources = ("-f", "lavfi", "-i", f"testsrc2=size=64x48:rate={RATE}:duration={SECONDS}") if made[suffix] else ()
    if suffix != "webm":
        sources += "-f", "lavfi", "-i", sound
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *sources, *made[suffix], at(name)], check=True)
    made[suffix] = at(name)


def dump(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write(path, json.dumps(value).encode())


def make_video_lists(at):
    os.makedirs(at("k700/annotations"))
    lines(at("k700/annotations/train.csv"), "label,youtube_id,time_start,time_end,split", "cracking back,SYTMgaqGhfg,10,20,train",
          '"passing American football (in game)",zLD_q2djrYs,30,40,train')
    dump(at("ssv2/labels/train.json"), [
        {"id": "78687", "label": "holding potato next to vicks vaporub bottle", "template": "Holding [something] next to [something]",
         "placeholders": ["potato", "vicks vaporub bottle"]},
        {"id": "41775", "label": "moving a cup up", "template": "Moving [something] up", "placeholders": ["a cup"]}])
    dump(at("ssv2/labels/labels.json"), {"Holding something next to something": "23", "Moving something up": "46"})
    lines(at("ava/ava_train_v2.2.csv"), "-5KQ66BBWC4,0002,0.077,0.151,0.283,0.811,80,1", "-5KQ66BBWC4,0002,0.077,0.151,0.283,0.811,9,1",
          "-5KQ66BBWC4,0002,0.226,0.032,0.366,0.497,12,0", "-5KQ66BBWC4,0003,0.332,0.194,0.481,0.891,80,2")
    lines(at("epic/EPIC_100_train.csv"),
          "narration_id,participant_id,video_id,narration_timestamp,start_timestamp,stop_timestamp,start_frame,stop_frame,narration,verb,"
          "verb_class,noun,noun_class,all_nouns,all_noun_classes",
          "P01_01_0,P01,P01_01,00:00:01.089,00:00:00.14,00:00:03.36,8,202,open door,open,3,door,3,['door'],[3]",
          "P01_01_1,P01,P01_01,00:00:02.629,00:00:01.00,00:00:02.00,262,370,take knife and plate,take,0,knife,4,\"['knife', 'plate']\",\"[4, 2]\"")
    for number in range(1, 371):
        image(at(f"epic/P01/rgb_frames/P01_01/frame_{number:010}.jpg"), (16, 9))
    annotated = {"sJFgo9H6zNo": ("training", [[0, 1.2], [2, 4]]), "V1zhqaGFY2A": ("training", [[1, 3]]), "other": ("validation", [[0, 1]])}
    dump(at("activitynet/activity_net.v1-3.min.json"), {"version": "VERSION 1.3", "taxonomy": [], "database": {
        name: {"duration": 4.0, "subset": subset, "resolution": "64x48", "url": "https://",
               "annotations": [{"segment": segment, "label": f"Doing {i}"} for i, segment in enumerate(segments)]}
        for name, (subset, segments) in annotated.items()}})
    dump(at("howto100m/raw_caption.json"), {"nVbIUDjzWY4": {"start": [0.0, 1.5, 2.0], "end": [1.5, 2.5, 4.0], "text": ["hello everyone", "a \"b\"", "t\u00e4"]}})
    dump(at("ego4d/v2/annotations/nlq_train.json"), {"version": "2", "videos": [{"video_uid": "d250521e-5197", "clips": [
        {"clip_uid": f"clip-{i}", "video_start_sec": 2.0 * i, "video_end_sec": 2.0 * i + 2, "annotations": []} for i in range(2)]}]})
    lines(at("openvid/OpenVid-1M.csv"),
          "video,caption,aesthetic score,motion score,temporal consistency score,camera motion,frame,fps,seconds",
          'IIvwqskxtdE_0.mp4,"In the video, a woman, smiling.",5.1,3.2,0.99,static,100,25.0,4.0', "a b_1.mp4,A dog,4.5,1.25,0.98,pan_left,100,25.0,4.0")
    for i in range(2):
        scenes = [{"sceneId": s, "title": f"Scene {s}", "timestamps": {"start_timestamp": f"00:00:0{s}.000", "end_timestamp": f"00:00:0{s + 1}.500"}}
                  for s in range(1, 3 - i)]
        dump(at(f"finevideo/sample_{i}.json"), {"content_metadata": {"scenes": scenes}, "youtube_title": "t"})


def make_sound_lists(at):
    lines(at("audioset/balanced_train_segments.csv"), "# Segments csv created Sun Mar  5 10:54:31 2017", "# num_ytids=2, num_segs=2, num_unique_labels=3",
          "# YTID, start_seconds, end_seconds, positive_labels", '--PJHxphWEs, 30.000, 40.000, "/m/09x0r,/t/dd00088"', '0RWZT-miFs4, 420.000, 430.000, "/m/03v3yw"')
    lines(at("vggsound/vggsound.csv"), "---g-f_I2yQ,1,people marching,test", "--0PQM4-hqg,30,waterfall burbling,train",
          'zxpo56cpUBU,7,"playing violin, fiddle",train')
    header = "client_id path sentence_id sentence sentence_domain up_votes down_votes age gender accents variant locale segment"
    rows = [f"c{i}\tcommon_voice_en_{number}.mp3\ts{i}\t\"Quoted\" {i}\t\t2\t0\t\t\t\t\ten\t" for i, number in enumerate((103675, 380475))]
    lines(at("cv/en/train.tsv"), header.replace(" ", "\t"), *rows)
    lines(at("covost/fr/covost_v2.fr_en.train.tsv"), "path\tsentence\ttranslation\tclient_id", "common_voice_fr_17299384.mp3\tC'est vrai.\tThat's true.\tc0")
    lines(at("voxceleb/iden_split.txt"), "1 id10003/na8-QEFmj44/00003.wav", "3 id10003/na8-QEFmj44/00009.wav", "1 id10004/tCq2LcKO6xY/00002.wav")
    lines(at("LibriSpeech/dev-clean/84/121123/84-121123.trans.txt"), "84-121123-0000 GO DO YOU HEAR", "84-121123-0001 BUT IN LESS THAN FIVE MINUTES")
    lines(at("LibriSpeech/dev-clean/174/50561/174-50561.trans.txt"), "174-50561-0000 FORGOTTEN TOO THE NAME")
    lines(at("mls_english/dev/transcripts.txt"), "10214_10108_000000\tone \u00e9", "10214_10108_000001\ttwo")
    segments = [{"sid": f"POD0000000025_S000000{i}", "speaker": "N/A", "begin_time": 0.5 * i, "end_time": 0.5 * i + 1, "text_tn": f"WORDS <COMMA> {i}",
                 "subsets": ["{XL}", "{XS}"] if i else ["{XL}"]} for i in range(3)]
    dump(at("GigaSpeech/GigaSpeech.json"), {"dataset": "GigaSpeech", "audios": [
        {"path": "audio/podcast/P0001/POD0000000025.opus", "aid": "POD0000000025", "subsets": ["{XL}"], "segments": segments}]})
    os.makedirs(at("data/train"))
    lines(at("data/train/wav.scp"), "recording-1 wavs/00002.wav", "recording-2 wavs/00003.wav")
    lines(at("data/train/segments"), "utterance-1 recording-1 0.5 1.5", "utterance-2 recording-2 1 -1")
    lines(at("data/train/text"), "utterance-1 HELLO", "utterance-2 WORLD  TWO")
    lines(at("data/train/utt2spk"), "utterance-1 anna", "utterance-2 ben")
