"""Sound of constant channels, in files with any header: waves.py make FOLDER < LINES | values DATASET

make: of each line, NAME KEY=VALUE..., a file. Its channels have the values 1000, 2000... of 16 bits, unless `values`
lists others: numbers of 16 bits, or for tag=3 the floats themselves. Keys: form (wav, rifx, w64, avi, mkv, aiff),
channels, bits (of a sample), valid and mask (which make the header an extensible one), tag (1: integers), rate,
count (of samples), size (that the data claims), rest (bytes after the samples).

values: of each sequence its id, its length, and the sample of each channel in its middle.
"""

import glob
import json
import os
import struct
import sys

GUID = "f3acd3118cd100c04f8edb8a"  # the end of those of Wave64


def header(s, end):
    """The WAVEFORMAT, or the WAVEFORMATEXTENSIBLE where there are valid bits or a mask."""
    block = s["channels"] * s["bits"] // 8
    extensible = s["valid"] or s["mask"] >= 0
    tag = 0xFFFE if extensible else s["tag"]
    out = struct.pack(end + "HHIIHH", tag, s["channels"], s["rate"], s["rate"] * block, block, s["bits"])
    if extensible:
        out += struct.pack("<HHI", 22, s["valid"] or s["bits"], max(s["mask"], 0))
        out += struct.pack("<IHH", s["tag"], 0, 16) + bytes.fromhex("800000aa00389b71")
    return out


def samples(s, big):
    """The data: integers fill the upper bits of a sample, and those of 8 bits have an offset."""
    values = [float(v) for v in s["values"].split(",")] if s["values"] else range(1000, 1000 * s["channels"] + 1, 1000)
    step = b""
    for v in values:
        if s["tag"] == 3:
            step += struct.pack((">" if big else "<") + ("d" if s["bits"] == 64 else "f"), v)
        elif s["bits"] == 8:
            step += bytes([128 + int(v) // 256])
        else:
            step += (int(v) << s["bits"] - 16).to_bytes(s["bits"] // 8, "big" if big else "little", signed=True)
    return step * s["count"] + bytes(s["rest"])


def chunk(name, data, end="<", size=-1):
    return name + struct.pack(end + "I", len(data) if size < 0 else size) + data + bytes(len(data) & 1)


def wave(s, end="<"):
    body = b"WAVE" + chunk(b"fmt ", header(s, end), end) + chunk(b"data", samples(s, end == ">"), end, s["size"])
    return chunk(b"RIFX" if end == ">" else b"RIFF", body, end)


def wave64(s):
    def part(name, data):
        guid = name + bytes.fromhex("2e91cf11a5d628db04c10000" if name == b"riff" else GUID)
        return guid + struct.pack("<Q", 24 + len(data)) + data + bytes(-len(data) % 8)

    parts = part(b"fmt ", header(s, "<")) + part(b"data", samples(s, False))
    return part(b"riff", b"wave" + bytes.fromhex(GUID) + parts)


def avi(s):
    data, form, block = samples(s, False), header(s, "<"), s["channels"] * s["bits"] // 8
    main = struct.pack("<14I", 20000, 0, 0, 0, 1, 0, 1, *[0] * 7)
    rate = s["rate"] * block
    stream = struct.pack("<4s14I", b"auds", 0, 0, 0, 0, block, rate, 0, len(data) // block, 0, 0, block, 0, 0, 0)
    lists = b"hdrl" + chunk(b"avih", main) + chunk(b"LIST", b"strl" + chunk(b"strh", stream) + chunk(b"strf", form))
    return chunk(b"RIFF", b"AVI " + chunk(b"LIST", lists) + chunk(b"LIST", b"movi" + chunk(b"00wb", data)))


def matroska(s):
    def part(name, data):
        data = data.to_bytes(2, "big") if isinstance(data, int) else data
        return bytes.fromhex(name) + struct.pack(">Q", len(data) | 1 << 56) + data

    track = part("d7", 1) + part("73c5", 1) + part("83", 2) + part("86", b"A_MS/ACM") + part("63a2", header(s, "<"))
    track += part("e1", part("b5", struct.pack(">d", s["rate"])) + part("9f", s["channels"]))
    cluster = part("1f43b675", part("e7", 0) + part("a3", b"\x81\0\0\x80" + samples(s, False)))
    return part("1a45dfa3", part("4282", b"matroska")) + part("18538067", part("1654ae6b", part("ae", track)) + cluster)


def aiff(s):
    """Of 8000 Hz; the size of the samples has the byte by which they are made even."""
    data = bytes(8) + samples(s, True)
    rate = struct.pack(">HQ", 16383 + 12, 8000 << 51)
    common = struct.pack(">HIH", s["channels"], s["count"], s["bits"]) + rate
    return chunk(b"FORM", b"AIFF" + chunk(b"COMM", common, ">") + chunk(b"SSND", data + bytes(len(data) & 1), ">"), ">")


FORMS = {"wav": wave, "rifx": lambda s: wave(s, ">"), "w64": wave64, "avi": avi, "mkv": matroska, "aiff": aiff}


def make(folder):
    for line in sys.stdin:
        name, *given = line.split()
        s = dict(form="wav", channels=1, bits=16, valid=0, mask=-1, tag=1, rate=16000, count=100)
        s.update(values="", size=-1, rest=0)
        for key, value in (word.split("=") for word in given):
            s[key] = value if isinstance(s[key], str) else int(value, 0)
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        with open(f"{folder}/{name}", "wb") as out:
            out.write(FORMS[s["form"]](s))


def values(dataset):
    found = {}
    with open(dataset + "/sequences.tsv", encoding="utf-8") as table:
        rows = [line.rstrip("\n").split("\t") for line in table]
    for path in glob.glob(dataset + "/shards/*/*.safetensors"):
        with open(path, "rb") as shard:
            data = shard.read()
        size = struct.unpack("<Q", data[:8])[0]
        head = json.loads(data[8:8 + size])

        def tensor(name):
            shape, (begin, end) = head[name]["shape"], head[name]["data_offsets"]
            form = {"I64": "q", "I32": "i", "I16": "h", "F32": "f"}[head[name]["dtype"]]
            count = (end - begin) // struct.calcsize(form)
            return shape, struct.unpack_from(f"<{count}{form}", data, 8 + size + begin)

        shape, steps = tensor("audio")
        channels = shape[2] if len(shape) > 2 else 1
        (blocks, most), order = tensor("sequence")
        (_, bounds), starts = tensor("cu_seqlens")
        for b in range(blocks):
            for i in (i for i in range(most) if order[b * most + i] >= 0):
                middle = (starts[b * bounds + i] + starts[b * bounds + i + 1]) // 2
                at = (b * shape[1] + middle) * channels
                found[order[b * most + i]] = steps[at:at + channels]
    usable = (row for row in rows[1:] if row[5] == "ok")
    for row, at in zip(usable, sorted(found)):
        print(row[0], row[1], *(f"{v:.6g}" for v in found[at]))


{"make": make, "values": values}[sys.argv[1]](sys.argv[2])
