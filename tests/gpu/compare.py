#!/usr/bin/env python3
"""What the GPU packed beside what the processor packed: compare.py GPU CPU MAX MEAN [MIN_FILES]

Two datasets of the same plan, not compressed. The same sequences with the same lengths must be in both; every value of a file that the
table says the GPU decoded must be within MAX of the processor's, and the mean difference over each file at most MEAN. Needs numpy alone.
Codecs whose inverse transform is each decoder's own may differ by 2 more. One line "ok NAME" or "not ok NAME: ..." for each file."""
import csv
import json
import struct
import sys

import numpy as np

OWN_TRANSFORM = 2


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


def main():
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
        own = OWN_TRANSFORM if any(word in row["id"] for word in ("mpeg", "jpeg", "h262", "vc1")) else 0
        average = total[i] / values[i]
        good = greatest[i] <= most + own and average <= mean + own
        failed += not good
        print(f"{'ok' if good else 'not ok'} {row['id'].split('/')[-1]}: greatest {greatest[i]} mean {average:.4f}")
    least = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    if compared < least:
        print(f"not ok files: the GPU decoded {compared}, of which {least} are wanted")
        failed += 1
    return 1 if failed else 0


sys.exit(main())
