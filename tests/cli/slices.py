"""Compares the clips of a dataset with slices of the whole files in another one: slices.py WHOLE CLIPS FIELD [STRIDE|FORM].
FIELD may be two, ONE=OTHER: those of the whole files and of the clips. FORM is a value of --frames-at, of which this has the
formulas, too; the sequences may then be whole files.

Prints how many clips are equal, and the ids of those that are not. Both have been packed with the same options, so the
frames or samples [clip_begin, clip_end) of a file are the clip."""

import glob
import json
import math
import struct
import sys

SIZES = {"U8": 1, "I16": 2, "F32": 4, "I32": 4, "I64": 8, "F64": 8}


def rows(directory):
    """The table of sequences: a dict for each row."""
    with open(directory + "/sequences.tsv", encoding="utf-8") as table:
        names = table.readline().rstrip("\n").split("\t")
        return [dict(zip(names, line.rstrip("\n").split("\t"))) for line in table]


def sequences(directory, field):
    """The bytes of each sequence by its row, and how many bytes a step has."""
    found, step = {}, 0
    for path in sorted(glob.glob(directory + "/shards/*/*.safetensors")):
        with open(path, "rb") as shard:
            data = shard.read()
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + size])

        def table(name):
            at = 8 + size + header[name]["data_offsets"][0]
            count = math.prod(header[name]["shape"])
            form = {"I32": "i", "I64": "q"}[header[name]["dtype"]]
            return struct.unpack_from(f"<{count}{form}", data, at), header[name]["shape"][-1]

        (starts, width), (lengths, places), (numbers, _) = table("cu_seqlens"), table("length"), table("sequence")
        shape = header[field]["shape"]
        step = SIZES[header[field]["dtype"]] * math.prod(shape[2:])
        begin = 8 + size + header[field]["data_offsets"][0]
        for place, row in enumerate(numbers):
            if row >= 0:
                block, slot = divmod(place, places)
                at = begin + (block * shape[1] + starts[block * width + slot]) * step
                found[row] = data[at : at + lengths[place] * step]
    return found, step


def numbers_of(form, frames, count):
    """The numbers that --frames COUNT --frames-at FORM takes."""
    for i in range(count):
        if form == "middle":
            yield (2 * i + 1) * frames // (2 * count)
        elif form == "start":
            yield i * frames // count
        else:
            place = i * ((frames - 1) / (count - 1)) if 0 < i < count - 1 else frames - 1 if i else 0
            yield round(place) if form == "linspace-round" else math.floor(place)


def main():
    whole, clips, field = sys.argv[1:4]
    last = sys.argv[4] if len(sys.argv) > 4 else "1"
    stride = int(last) if last.isdigit() else 0
    (files, step), (pieces, _) = sequences(whole, field.split("=")[0]), sequences(clips, field.split("=")[-1])
    by_path = {row["path"]: files.get(number) for number, row in enumerate(rows(whole))}
    equal, others = 0, []
    for number, row in enumerate(rows(clips)):
        if row["status"] != "ok":
            continue
        data = by_path[row["path"]]
        begin = int(row.get("clip_begin") or 0)
        end = int(row["clip_end"]) if row.get("clip_end") else len(data) // step
        if stride:
            taken = range(begin, end, stride)
        else:
            assert int(row["source_frames"]) == end - begin
            taken = [begin + i for i in numbers_of(last, end - begin, int(row["length"]))]
            assert int(row["repeated_frames"]) == len(taken) - len(set(taken))
        expected = data[begin * step : end * step] if stride == 1 else b"".join(data[i * step : (i + 1) * step] for i in taken)
        if pieces.get(number) == expected and expected:
            equal += 1
        else:
            others.append(row["id"])
    print(equal, *others)


main()
