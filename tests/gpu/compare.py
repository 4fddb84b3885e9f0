#!/usr/bin/env python3
"""What the GPU packed beside what the processor packed: compare.py GPU CPU MAX MEAN [MIN_FILES]
And what it packed together beside the same files alone: compare.py --alone TOGETHER ALONE...

Two datasets of the same plan, not compressed. The same sequences with the same lengths must be in both; every value of a file that the
table says the GPU decoded must be within MAX of the processor's, and the mean difference over each file at most MEAN. Needs numpy alone.
Codecs whose inverse transform is each decoder's own may differ by 2 more, and MPEG-2 by 4: its P and B pictures add up what they differ by, to
6 in all on an H200. One line "ok NAME" or "not ok NAME: ..." for each file. With --alone all bytes of each file must be equal, and the decoder
the same."""
import csv
import json
import struct
import sys

import numpy as np

OWN_TRANSFORM = {"mpeg2": 4, "h262": 4, "mpeg": 2, "jpeg": 2, "vc1": 2}


def table(directory):
    with open(f"{directory}/sequences.tsv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def shards(directory):
    with open(f"{directory}/shards.tsv", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            path = f"{directory}/{row['file']}"
            with open(path, "rb") as shard:
                size = struct.unpack("<Q", shard.read(8))[0]
                header = json.loads(shard.read(size))
            kinds = {"U8": np.uint8, "I32": "<i4", "I64": "<i8"}
            data = np.memmap(path, np.uint8, "r", offset=8 + size)
            yield {name: data[slice(*t["data_offsets"])].view(kinds[t["dtype"]]).reshape(t["shape"])
                   for name, t in header.items() if name != "__metadata__" and t["dtype"] in kinds}


def sequences(directory):
    """The frames and the decoder of each file."""
    rows, found = table(directory), {}
    for shard in shards(directory):
        for block in range(len(shard["frames"])):
            for piece in range(int(shard["num_sequences"][block])):
                row = int(shard["sequence"][block][piece])
                begin, length = int(shard["cu_seqlens"][block][piece]), int(shard["length"][block][piece])
                if row >= 0:
                    found[rows[row]["path"]] = (shard["frames"][block, begin:begin + length], rows[row]["decoder"])
    return found


def compare_alone(together, alone):
    all_files, failed, on_gpu = sequences(together), 0, 0
    for directory in alone:
        for name, (frames, decoder) in sequences(directory).items():
            other, other_decoder = all_files.pop(name)
            on_gpu += decoder == "nvdec"
            if decoder != other_decoder or not np.array_equal(frames, other):
                failed += 1
                print(f"not ok {name}: {decoder}, {len(frames)} frames, and together {other_decoder}, {len(other)} frames")
    if all_files or not on_gpu:
        print(f"not ok files: {len(all_files)} have no dataset of their own, and the GPU decoded {on_gpu}")
    return 1 if failed or all_files or not on_gpu else 0


def main():
    if sys.argv[1] == "--alone":
        return compare_alone(sys.argv[2], sys.argv[3:])
    gpu, cpu, most, mean = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    rows, others = table(gpu), table(cpu)
    failed = 0
    if [(r["id"], r["length"], r["status"]) for r in rows] != [(r["id"], r["length"], r["status"]) for r in others]:
        print("not ok counts: the tables differ")
        return 1
    print(f"ok counts: {len(rows)} files")
    greatest, total, values = ({i: 0 for i in range(len(rows))} for _ in range(3))
    for a, b in zip(shards(gpu), shards(cpu)):
        for block in range(len(a["frames"])):
            if not np.array_equal(a["sequence"][block], b["sequence"][block]):
                print("not ok plans: sequences differ")
                return 1
            for piece in range(int(a["num_sequences"][block])):
                begin, length = int(a["cu_seqlens"][block][piece]), int(a["length"][block][piece])
                row = int(a["sequence"][block][piece])
                if row < 0:
                    continue
                for t in range(begin, begin + length):
                    difference = np.abs(a["frames"][block, t].astype(np.int16) - b["frames"][block, t])
                    greatest[row] = max(greatest[row], int(difference.max()))
                    total[row] += int(difference.sum())
                    values[row] += difference.size
    compared = 0
    for i, row in enumerate(rows):
        if row["decoder"] != "nvdec" or not values[i]:
            continue
        compared += 1
        own = max((more for word, more in OWN_TRANSFORM.items() if word in row["id"]), default=0)
        average = total[i] / values[i]
        good = greatest[i] <= most + own and average <= mean + min(own, 2)
        failed += not good
        print(f"{'ok' if good else 'not ok'} {row['id'].split('/')[-1]}: greatest {greatest[i]} mean {average:.4f}")
    least = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    if compared < least:
        print(f"not ok files: the GPU decoded {compared}, of which {least} are wanted")
        failed += 1
    return 1 if failed else 0


sys.exit(main())
