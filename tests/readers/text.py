"""The parts of text by way of text_probe, and texts to try them on."""
import json
import os
import random
import struct
import subprocess
import sys

import tool

TEXT_PROBE = os.environ.get("TEXT_PROBE", os.path.join(tool.ROOT, "build/release/tests/text_probe"))
CORPORA = os.path.join(tool.SHARED, "data/corpora")


def probe(mode, *arguments, records):
    """What a mode of text_probe gives for every record: bytes for bytes."""
    data = b"".join(struct.pack("<I", len(record)) + record for record in records)
    done = subprocess.run([TEXT_PROBE, mode, *map(str, arguments)], input=data, capture_output=True, timeout=300)
    if done.returncode:
        raise AssertionError(f"text_probe {mode}: {done.stderr.decode()}")
    out, at = [], 0
    while at < len(done.stdout):
        size, = struct.unpack_from("<I", done.stdout, at)
        out.append(done.stdout[at + 4:at + 4 + size])
        at += 4 + size
    if len(out) != len(records):
        raise AssertionError(f"text_probe {mode}: {len(out)} records for {len(records)}")
    return out


def code_points():
    """Every code point that UTF-8 has."""
    return [chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000]


def corpora():
    """The text files of the shared corpora: (name, text); none where there are none."""
    names = sorted(os.listdir(CORPORA)) if os.path.isdir(CORPORA) else []
    for name in names:
        if name.endswith((".txt", ".jsonl")):
            with open(os.path.join(CORPORA, name), encoding="utf-8", newline="") as file:
                yield name, file.read()


def random_texts(count, alphabet, seed, longest=40):
    """Texts of characters drawn from the alphabet."""
    draw = random.Random(seed)
    return ["".join(draw.choices(alphabet, k=draw.randint(0, longest))) for _ in range(count)]


def small_tokenizer(*names):
    """A tokenizer.json of bytes, and special tokens, such as that for the end of a document."""
    own = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [b for b in range(256) if b not in own]
    letters = [chr(b) if b in own else chr(0x100 + others.index(b)) for b in range(256)]
    added = [{"id": 256 + i, "content": name, "special": True, "normalized": False, "lstrip": False, "rstrip": False, "single_word": False}
             for i, name in enumerate(names)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "vocab": {c: i for i, c in enumerate(letters)}, "merges": []}
    return json.dumps({"added_tokens": added, "normalizer": None, "pre_tokenizer": byte_level, "model": model})
