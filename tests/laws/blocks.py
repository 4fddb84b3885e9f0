"""Reads the shards of a dataset with nothing but Python and the zstd command, and prints a line for every place in its blocks:

    block start steps sequence state digest

sequence is the id, or - where the table has -1; the state is "ok" (the digest is that of the frames), "failed" (sequence -1,
length 0, all zeros, segment 0) or "wrong" (anything else). The places are those that the index plans. Padding is looked at too.
Of a field with steps of its own, start and steps are those of the field.

    blocks.py DATASET [FIELD]"""

import hashlib
import json
import os
import struct
import subprocess
import sys

FIELD = sys.argv[2] if len(sys.argv) > 2 else "frames"
TYPES = {"I32": ("i", 4), "I64": ("q", 8)}  # of tables; what fields hold stays bytes


def read_tensors(path):
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".zst"):
        data = subprocess.run(["zstd", "-dc", path], stdout=subprocess.PIPE, check=True).stdout
    size = struct.unpack_from("<Q", data)[0]
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = data[8 + size + begin : 8 + size + end]
        code, width = TYPES.get(entry["dtype"], (None, 1)) if name != FIELD else (None, 1)
        values = raw if code is None else struct.unpack(f"<{len(raw) // width}{code}", raw)
        tensors[name] = (entry["shape"], values)
    return tensors


def rows(tensor):
    shape, values = tensor
    width = len(values) // shape[0]
    return [values[i * width : (i + 1) * width] for i in range(shape[0])]


def look(place, block, ids, step):
    """What is at one place of the plan, (slot, sequence, start, steps), of a block."""
    slot, planned, start, steps = place
    frames = block[FIELD][start * step : (start + steps) * step]
    own = f"{FIELD}_cu_seqlens" in block
    segments = block["segment_ids"][start : start + steps] if "segment_ids" in block and not own else None
    ends = block[f"{FIELD}_cu_seqlens" if own else "cu_seqlens"]
    fits = ends[slot] == start and ends[slot + 1] == start + steps
    if block["sequence"][slot] == -1:
        empty = block["length"][slot] == 0 and not any(frames) and not any(segments or ())
        return "-", "failed" if fits and empty else "wrong", ids[planned]
    good = fits and block["sequence"][slot] == planned and (own or block["length"][slot] == steps)
    if segments is not None:
        good = good and set(segments) == {slot + 1}
    return ids[planned], "ok" if good else "wrong", hashlib.sha256(frames).hexdigest()[:16]


def bytes_of_blocks(tensors, steps):
    """The field's bytes in each block, and the bytes of a step. steps: of a block, or None in a flat field."""
    shape, data = tensors[FIELD]
    if steps:
        step = len(data) // (shape[0] * steps)
        return [data[i * steps * step : (i + 1) * steps * step] for i in range(shape[0])], step
    offsets = tensors[f"{FIELD}_offsets"][1]
    step = len(data) // shape[0] if shape[0] else 1
    return [data[first * step : end * step] for first, end in zip(offsets, offsets[1:])], step


def padding_is_right(block, places, T, step, repeat):
    used = max((start + steps for _, _, start, steps in places), default=0)
    tail = block[FIELD][used * step : T * step]
    last = block[FIELD][(used - 1) * step : used * step] if repeat else bytes(step)
    unused = all(value == -1 for value in block["sequence"][len(places) :])
    return tail == last * (T - used) and unused and block["num_sequences"][0] == len(places)


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    with open(os.path.join(folder, "sequences.tsv"), encoding="utf-8") as file:
        ids = [line.split("\t")[0] for line in file][1:]
    index = read_tensors(os.path.join(folder, "index.safetensors"))
    pointers = index["block_ptr"][1]
    field = next((field for field in manifest["fields"] if field["name"] == FIELD), {})
    own = field.get("steps") == "own"
    repeat = manifest["configuration"]["pad"] == "repeat" and not own
    flat = own and field["storage"] == "flat"
    start_of, length_of = (index[f"{FIELD}.{name}" if own else name][1] for name in ("start", "length"))
    number = 0
    for path in sorted(os.path.join(top, name) for top, _, names in os.walk(os.path.join(folder, "shards")) for name in names):
        tensors = read_tensors(path)
        contents, step = bytes_of_blocks(tensors, None if flat else tensors[FIELD][0][1])
        columns = {name: rows(tensor) for name, tensor in tensors.items() if not name.endswith("_offsets") and tensor[0][0]}
        for i, content in enumerate(contents):
            block = {name: column[i] for name, column in columns.items() if i < len(column)}
            block[FIELD] = content
            T = len(content) // step
            places = [
                (p - pointers[number], index["sequence"][1][p], start_of[p], length_of[p])
                for p in range(pointers[number], pointers[number + 1])
            ]
            for place in places:
                name, state, digest = look(place, block, ids, step)
                print(number, place[2], place[3], name, state, digest)
            if not padding_is_right(block, places, T, step, repeat):
                print(number, "padding wrong")
            number += 1


main()
