"""Inputs of every kind for the comparison of two builds: generated, the same every time. make(folder) writes them below folder."""
import csv
import glob
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIPS = ["h264-1.mp4", "h264-30.mp4", "h264-50.mkv", "vp9-24.webm", "mpeg4-40.avi", "vfr-20.mp4", "mjpeg-10.avi", "rotated-12.mp4", "damaged-30.mp4",
         "failing-20.mov", "hevc10-13.mkv", "sound-30.mp4", "hlg-6.mp4"]
GOPS = ["h264-gops-120.mp4", "hevc-open-60.mp4", "mpeg2-open-60.ts"]
SOUNDS = ["tone-16000.wav", "tone-8000.wav", "tone-44100-stereo.flac", "tone-44100.ogg", "tone-48000.opus", "tone-f32.wav"]
WORDS = ("the a of model trains on long documents naïve straße 東京 データ 🙂 e\u0301t\u00e9 and then\tit 12345 stops, or 'goes' on... "
         "<s> def f(x):\n\treturn x * 2 \u200b #!").split(" ")


def npy(path, kind, shape, data):
    """Writes an array file: kind is its descr, data its bytes."""
    shape = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(63 - 10 + 64 * (len(header) // 64)) + "\n"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() + data)


def sentence(draw, least, most):
    return " ".join(draw.choices(WORDS, k=draw.randint(least, most)))


def text(folder):
    """Documents as JSON lines, plain text, ids, Megatron's files; tokenizers that need no training."""
    draw = random.Random(1)
    os.makedirs(folder)
    with open(f"{folder}/corpus.jsonl", "w") as file:
        for i in range(400):
            words = sentence(draw, 1, 60)
            row = {"text": words, "title": f"t {i}", "url": f"site{i % 7}", "score": i % 5 / 2, "meta": {"lang": "de" if i % 3 else "en"}}
            print(json.dumps(row, ensure_ascii=i % 2 == 0), file=file)
        print('{"text": "cut', file=file)
        print('{"no": "text"}', file=file)
        print(json.dumps({"text": sentence(draw, 30, 40), "title": "again", "url": "site1", "score": 1, "meta": {"lang": "en"}}), file=file)
    with open(f"{folder}/corpus.jsonl") as lines, open(f"{folder}/corpus.json", "w") as array, open(f"{folder}/corpus.csv", "w", newline="") as table:
        rows = [json.loads(line) for line in lines if line.startswith('{"text"') and line.endswith('"}}\n')]
        json.dump(rows, array, indent=2)
        writer = csv.writer(table)
        writer.writerow(("text", "title", "url", "score"))
        writer.writerows((row["text"], row["title"], row["url"], row["score"]) for row in rows)
    with open(f"{folder}/flat.bin", "wb") as file:
        for i in range(150):
            n = draw.randint(0, 70)
            file.write(struct.pack(f"<{n + 1}H", *(draw.randrange(250) for _ in range(n)), 255))
    with open(f"{folder}/ids.jsonl", "w") as file:
        for i in range(200):
            n = draw.randint(1, 90)
            ids = [draw.randrange(250) for _ in range(n)]
            labels = [-100 if j < n // 3 else v for j, v in enumerate(ids)]
            print(json.dumps({"input_ids": ids, "labels": labels, "source": f"s{i % 3}"}), file=file)
    os.makedirs(f"{folder}/plain")
    for i in range(12):
        newline = "\r\n" if i % 4 == 3 else "\n"
        with open(f"{folder}/plain/{i}.txt", "w", newline="") as file:
            file.write(newline.join(sentence(draw, 0, 12) if draw.random() < 0.8 else "" for _ in range(30)))
    for i in range(8):
        n = draw.randint(5, 60)
        npy(f"{folder}/npy/{i}.npy", "<u2", (n,), struct.pack(f"<{n}H", *(draw.randrange(250) for _ in range(n))))
    lengths = [draw.randint(1, 50) for _ in range(40)]
    os.makedirs(f"{folder}/megatron")
    with open(f"{folder}/megatron/m.bin", "wb") as file:
        file.write(struct.pack(f"<{sum(lengths)}H", *(draw.randrange(250) for _ in range(sum(lengths)))))
    offsets = [2 * sum(lengths[:i]) for i in range(len(lengths))]
    documents = list(range(0, len(lengths), 2)) + [len(lengths)]
    with open(f"{folder}/megatron/m.idx", "wb") as file:
        file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(lengths), len(documents)))
        file.write(struct.pack(f"<{len(lengths)}i", *lengths) + struct.pack(f"<{len(offsets)}q", *offsets))
        file.write(struct.pack(f"<{len(documents)}q", *documents))
    tokenizers(f"{folder}/tokenizers")


def tokenizers(folder):
    """BPE of bytes, WordPiece and WordLevel with small vocabularies."""
    os.makedirs(f"{folder}/gpt2")
    alphabet = [chr(c) for c in (*range(33, 127), *range(161, 173), *range(174, 256))] + [chr(256 + i) for i in range(68)]
    merges = ["t h", "th e", "Ġ a", "Ġ o", "o n", "i n", "r e", "Ġ d", "e n", "Ġa n", "Ġan d", "Ġ t", "Ġ the"]
    vocabulary = {token: i for i, token in enumerate(alphabet + [m.replace(" ", "") for m in merges] + ["<|endoftext|>"])}
    json.dump(vocabulary, open(f"{folder}/gpt2/vocab.json", "w"))
    pathlib.Path(f"{folder}/gpt2/merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    special = [{"id": len(vocabulary) + i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
               for i, t in enumerate(["<s>", "</s>"])]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    json.dump({"version": "1.0", "added_tokens": special, "normalizer": {"type": "NFC"}, "pre_tokenizer": byte_level, "decoder": byte_level,
               "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                                                            {"Sequence": {"id": "A", "type_id": 0}}],
                                  "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [len(vocabulary)], "tokens": ["<s>"]}}},
               "model": {"type": "BPE", "vocab": vocabulary, "merges": merges}}, open(f"{folder}/tokenizer.json", "w"))
    os.makedirs(f"{folder}/bert")
    letters = [chr(c) for c in range(33, 127)]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + c for c in letters), "the", "##ing", "on", "of", "##s"]
    pathlib.Path(f"{folder}/bert/vocab.txt").write_text("\n".join(words) + "\n")


def media(folder):
    """Clips, sounds and folders of images, with lists of pieces of them."""
    made = subprocess.run([ROOT / "fixtures/media", *CLIPS, *GOPS, *SOUNDS], check=True, capture_output=True, text=True).stdout.split()
    for path in made:
        name = os.path.basename(path)
        place = "sounds" if name in SOUNDS else "gops" if name in GOPS else "clips"
        os.makedirs(f"{folder}/{place}", exist_ok=True)
        shutil.copy(path, f"{folder}/{place}/{name}")
    for name, suffix, count, size in ("a", "png", 7, "32x24"), ("b", "png", 3, "32x24"), ("c", "jpg", 5, "32x24"), ("d", "jpg", 4, "40x30"):
        os.makedirs(f"{folder}/images/{name}")
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", f"testsrc2=size={size}:rate=10", "-frames:v", str(count),
                        "-bitexact", f"{folder}/images/{name}/%06d.{suffix}"], check=True)
    subprocess.run(["python3", ROOT / "fixtures/depth.py", f"{folder}/depth"], check=True, stdout=subprocess.DEVNULL)
    draw = random.Random(2)
    for name, columns in ("times", ("path", "start", "end", "label")), ("numbers", ("path", "start_frame", "end_frame", "label")):
        with open(f"{folder}/{name}.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            for i in range(24):
                first = draw.randint(0, 40)
                span = (first, first + draw.randint(1, 19)) if name == "numbers" else (first / 25, (first + draw.randint(1, 19)) / 25)
                writer.writerow((f"gops/{GOPS[i % len(GOPS)]}", *span, f"label {i % 4}"))
    with open(f"{folder}/nemo.json", "w") as file:
        for i in range(20):
            print(json.dumps({"audio_filepath": f"sounds/{SOUNDS[i % 4]}", "offset": draw.randint(0, 40) / 100, "duration": draw.randint(1, 50) / 100,
                              "text": f"words {i}"}), file=file)


def arrays(folder):
    """Arrays with labels and a second array for each, a table of attributes, and a tar of samples."""
    draw = random.Random(3)
    rows = [("id", "weight", "class", "speaker")]
    tar = tarfile.open(f"{os.path.dirname(folder)}/samples.tar", "w", format=tarfile.USTAR_FORMAT)
    for i in range(60):
        n = draw.randint(1, 64)
        npy(f"{folder}/poses/{i}.npy", "<f4", (n, 3, 2), struct.pack(f"<{6 * n}f", *(draw.gauss(0, 1) for _ in range(6 * n))))
        npy(f"{folder}/labels/{i}.npy", "|u1", (n,), bytes(draw.randrange(256) for _ in range(n)))
        npy(f"{folder}/second/{i}.npy", "<i2", (n, 2), struct.pack(f"<{2 * n}h", *(draw.randrange(-9999, 9999) for _ in range(2 * n))))
        rows.append((f"{i}.npy", draw.randint(1, 9) / 4, draw.randrange(5), f"s{draw.randrange(4)}"))
        if i < 20:
            pathlib.Path(f"{folder}/{i}.json").write_text(json.dumps({"caption": f"c {i}", "width": i}))
            for source, member in (f"poses/{i}.npy", f"s{i:03}.x.npy"), (f"labels/{i}.npy", f"s{i:03}.y.npy"), (f"{i}.json", f"s{i:03}.json"):
                entry = tarfile.TarInfo(member)
                entry.size = os.path.getsize(f"{folder}/{source}")
                with open(f"{folder}/{source}", "rb") as file:
                    tar.addfile(entry, file)
            os.remove(f"{folder}/{i}.json")
    tar.close()
    with open(f"{folder}/attributes.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    pathlib.Path(f"{folder}/spoilt").mkdir()
    for path in sorted(glob.glob(f"{folder}/poses/*.npy"))[:20]:
        shutil.copy(path, f"{folder}/spoilt")
    for i, name in enumerate(sorted(os.listdir(f"{folder}/spoilt"))[:3]):
        os.truncate(f"{folder}/spoilt/{name}", [0, 40, 200][i])
    with open(f"{folder}/fields.yaml", "w") as file:
        file.write("sources: [poses]\nkind: array\nname: poses\nfields:\n  - {name: labels, path: \"labels/{stem}.npy\"}\n"
                   "  - {name: second, path: \"second/{stem}.npy\", kind: array}\n")


def lengths(folder):
    """Lengths alone, for plans."""
    draw = random.Random(4)
    pathlib.Path(f"{folder}/lengths.txt").write_text("".join(f"{1 + int(511 * draw.random() ** 3)}\n" for _ in range(3000)))
    pathlib.Path(f"{folder}/counts.txt").write_text("".join(f"{n} {1 + n % 13}\n" for n in range(1, 257)))


def make(folder):
    os.makedirs(folder)
    text(f"{folder}/text")
    media(folder)
    arrays(f"{folder}/arrays")
    lengths(folder)
    pathlib.Path(f"{folder}/sound.yaml").write_text(
        "sources: [clips/sound-30.mp4]\nfields:\n  - {name: sound, path: \"{name}\", kind: audio, rate: 8000, length-tolerance: 200}\n")
