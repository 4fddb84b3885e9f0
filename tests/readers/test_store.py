"""The files of a dataset: opened with the released readers, and every table, checksum and byte of padding computed again from
the plan, sequences.tsv and the frames, by nothing of the tool's."""
import csv
import json
import os
import struct
import subprocess

import numpy as np
import xxhash
import zstandard

import clips
import tool
from dataset import FRAME_MAX, Dataset, digest, header_of, read_table, seek_table, xxh3
from harness import each

DTYPES = {"U8": 1, "I32": 4, "I64": 8, "F64": 8}
NUMPY = {"I64": np.int64, "F64": np.float64}
TABLES = {"cu_seqlens": "I32", "num_sequences": "I32", "sequence": "I64", "length": "I32", "source_start": "I64",
          "segment_ids": "I32"}
INDEX = ("block_checksum", "block_ptr", "sequence", "source_start", "length", "start")
NAMES = ["h264.mp4", "h264.ts", "hevc.mp4", "mpeg4.avi", "vp9.webm", "theora.ogv", "gif.gif", "h264.flv", "mjpeg.avi"]
WRONG = {"h264.ts": (25, 26), "vp9.webm": (43, 40)}  # lengths that a table may say, and true ones
SMALL = "--size", "24x16"


def padded(values, size, fill):
    return list(values) + [fill] * (size - len(values))


class Checker:
    """Checks one dataset, wholly, for a test."""

    def __init__(self, test, directory, repeat=False):
        self.test = test
        self.d = Dataset(directory)
        self.m = self.d.manifest
        self.attributes = {attribute["name"]: attribute["dtype"] for attribute in self.m["attributes"]}
        self.repeat = repeat
        self.failed = {i for i, row in enumerate(self.d.sequences) if row["status"] == "failed"}
        self.pieces = {block: self.pieces_kept(block) for block in range(self.d.blocks)}
        self.S = self.m["S"]
        self.T = self.m["T"]

    def pieces_kept(self, block):
        """[(piece, whether it was read)]: of a sequence that failed, some pieces may have been, and are not all black."""
        data = self.d.block(block) if self.failed else None
        return [(p, p[0] not in self.failed or data[p[1]:p[1] + p[2]].any()) for p in self.d.pieces(block)]

    def all(self):
        self.files()
        self.index()
        self.plan()
        self.words()
        first = 0
        for number, shard in enumerate(self.d.shards):
            self.test.assertEqual(int(shard["first_block"]), first)
            first += int(shard["blocks"])
            self.shard(number, shard)
        self.test.assertEqual(first, self.d.blocks)

    # --- the directory ---

    def files(self):
        """Just the files that should be there, with the bytes and checksums that the manifest names."""
        zst = ".zst" if self.m["compress"] else ""
        names = [f"shards/{n // 1000:05}/shard-{n:08}.safetensors{zst}" for n in range(self.m["shards"])]
        self.test.assertEqual([shard["file"] for shard in self.d.shards], names)
        listed = [file["name"] for file in self.m["files"]]
        self.test.assertEqual(sorted([*names, *listed, "manifest.json"]), tool.files_of(self.d.directory))
        self.test.assertEqual(sorted(listed), ["index.safetensors", "sequences.tsv", "shards.tsv"])
        for file in self.m["files"]:
            data = self.read(file["name"])
            self.test.assertEqual((len(data), digest(xxh3(data))), (file["bytes"], file["checksum"]))
        text = self.read("manifest.json")
        own = self.m["checksum"].encode()
        at = text.rindex(own)
        self.test.assertEqual(digest(xxh3(text[:at] + b"0" * 16 + text[at + 16:])), self.m["checksum"])

    def read(self, name):
        return tool.read(os.path.join(self.d.directory, name))

    # --- index.safetensors ---

    def index(self):
        path = os.path.join(self.d.directory, "index.safetensors")
        header, metadata, begin = header_of(path)
        self.test.assertEqual(begin % 4096, 0)
        self.test.assertEqual(list(header), list(INDEX))
        tables = self.d.index
        for name in INDEX:
            self.test.assertEqual(tables[name].dtype, np.int32 if name in ("length", "start") else np.int64)
        self.test.assertEqual(tables["block_checksum"].shape, (self.d.blocks, len(self.m["fields"])))
        self.test.assertEqual(int(tables["block_ptr"][-1]), len(tables["sequence"]))
        plan = struct.pack("<q", self.T) + b"".join(tables[name].tobytes() for name in INDEX[1:])
        self.test.assertEqual(digest(xxh3(plan)), self.m["plan_digest"])
        self.test.assertEqual(metadata, {"bload_format": "1", "T": str(self.T), "plan_digest": self.m["plan_digest"]})

    def plan(self):
        """Blocks are filled from their start without gaps, and no step is in two places."""
        taken = {}
        for block in range(self.d.blocks):
            at = 0
            for sequence, start, length, source in self.d.pieces(block):
                self.test.assertEqual(start, at)
                self.test.assertGreater(length, 0)
                at += length
                taken.setdefault(sequence, []).append((source, source + length))
            self.test.assertTrue(0 < at <= self.T)
        for sequence, spans in taken.items():
            spans.sort()
            self.test.assertTrue(all(a[1] <= b[0] for a, b in zip(spans, spans[1:])))
            row = self.d.sequences[sequence]
            self.test.assertIn(row["status"], ("ok", "failed"))
            self.test.assertTrue(0 <= spans[0][0] and spans[-1][1] <= int(row["length"]), row)

    def words(self):
        """The manifest's words, from the plan and sequences.tsv."""
        m = self.m
        lengths = [int(row["length"]) for row in self.d.sequences if row["status"] in ("ok", "failed", "dropped")]
        placed = int(self.d.index["length"].sum())
        whole = {i for i, row in enumerate(self.d.sequences) for _, _, length, _ in self.d.pieces_of(row["id"])
                 if length == int(row["length"])}
        planned = set(self.d.index["sequence"].tolist())
        given = {i for i, row in enumerate(self.d.sequences) if row["status"] != "skipped"}
        self.test.assertEqual({i for i in given if self.d.sequences[i]["status"] == "dropped"}, given - planned)
        lost = [p for pieces in self.pieces.values() for p, kept in pieces if not kept]
        self.test.assertEqual({p[0] for p in lost}, self.failed)
        expected = {
            "format": 1, "blocks": self.d.blocks, "sequences": len(lengths), "steps": sum(lengths), "longest": max(lengths),
            "padding": self.d.blocks * self.T - placed, "deleted": sum(lengths) - placed, "cut": len(planned - whole),
            "gap": self.d.blocks - m["lower_bound"],
            "optimal": self.d.blocks == m["lower_bound"], "failed": len(self.failed), "failed_steps": sum(p[2] for p in lost),
            "skipped": sum(row["status"] == "skipped" for row in self.d.sequences), "shards": len(self.d.shards),
            "source_start": bool(planned - whole), "S": max(map(len, map(self.d.pieces, range(self.d.blocks)))),
        }
        self.test.assertAlmostEqual(m["efficiency"], placed / (self.d.blocks * self.T), 9)
        self.test.assertEqual({name: m[name] for name in expected}, expected)
        self.test.assertEqual(m["blocks"] * m["T"], m["steps"] - m["deleted"] + m["padding"])

    # --- shards ---

    def tables_of(self, block):
        """What the tables of a block must be."""
        pieces, good = zip(*self.pieces[block])
        starts = [start for _, start, _, _ in pieces]
        end = starts[-1] + pieces[-1][2]
        ids = np.zeros(self.T, np.int32)
        for place, ((_, start, length, _), kept) in enumerate(zip(pieces, good)):
            ids[start:start + length] = place + 1 if kept else 0
        return {
            "cu_seqlens": padded(starts, self.S + 1, end),
            "num_sequences": len(pieces),
            "sequence": padded([p[0] if kept else -1 for p, kept in zip(pieces, good)], self.S, -1),
            "length": padded([p[2] if kept else 0 for p, kept in zip(pieces, good)], self.S, 0),
            "source_start": padded([p[3] if kept else 0 for p, kept in zip(pieces, good)], self.S, 0),
            "segment_ids": ids,
        }

    def shard(self, number, shard):
        plain = self.d.plain(number)
        header, metadata, begin = header_of(plain)
        self.layout(plain, header, begin, int(shard["blocks"]))
        self.test.assertEqual(metadata, {"bload_format": "1", "first_block": shard["first_block"],
                                         "plan_digest": self.m["plan_digest"]})
        for row in range(int(shard["blocks"])):
            self.block(int(shard["first_block"]) + row)
        data = tool.read(plain)
        regions = self.regions(header, begin, int(shard["blocks"]))
        if self.m["compress"]:
            self.compressed(shard, data, regions)
        else:
            sums = [xxh3(data[a:b]) for a, b in regions]
            self.test.assertEqual((int(shard["bytes"]), shard["checksum"]), (len(data), combined(sums)))

    def layout(self, path, header, begin, blocks):
        """The order of tensors, their types and shapes, no holes, and data from a 4096 boundary on."""
        fields = {field["name"]: field for field in self.m["fields"]}
        names = {name for name in TABLES if self.m.get(name, True)} | set(fields) | set(self.attributes)
        self.test.assertEqual(set(header), names)
        self.test.assertEqual(begin % 4096, 0)
        order = sorted(names, key=lambda name: (-DTYPES[header[name]["dtype"]], name in fields, name in self.attributes, name))
        self.test.assertEqual(list(header), order)
        shapes = {"cu_seqlens": [self.S + 1], "num_sequences": [], "segment_ids": [self.T]}
        at = 0
        for name in order:
            entry = header[name]
            field = fields.get(name)
            self.test.assertEqual(entry["dtype"], field["dtype"] if field else self.attributes.get(name) or TABLES[name])
            row = [self.T, *field["shape"]] if field else shapes.get(name, [self.S])
            self.test.assertEqual(entry["shape"], [blocks, *row])
            size = DTYPES[entry["dtype"]] * int(np.prod(entry["shape"]))
            self.test.assertEqual(entry["data_offsets"], [at, at + size])
            at += size
        self.test.assertEqual(os.path.getsize(path), begin + at)

    def block(self, block):
        """The tables, and every step that no sequence has; the block's checksum."""
        expected = self.tables_of(block)
        for name in TABLES:
            if self.m.get(name, True):
                np.testing.assert_array_equal(self.d.block(block, name), expected[name], f"{name} of block {block}")
        for name, dtype in self.attributes.items():
            texts = ["0" if row < 0 else self.d.sequences[row][name] for row in expected["sequence"]]
            values = [int(text) if dtype == "I64" else float(text or "nan") for text in texts]
            data = self.d.block(block, name)
            self.test.assertEqual(data.dtype, NUMPY[dtype])
            np.testing.assert_array_equal(data, np.array(values, NUMPY[dtype]), f"{name} of block {block}")
        for f, field in enumerate(self.m["fields"]):
            data = self.d.block(block, field["name"])
            stored = int(self.d.index["block_checksum"][block, f]) & (1 << 64) - 1
            self.test.assertEqual(stored, xxh3(np.ascontiguousarray(data)), f"block {block}")
            end = expected["cu_seqlens"][-1]
            self.test.assertTrue((data[end:] == (data[end - 1] if self.repeat else 0)).all(), f"padding of block {block}")
            for piece, kept in self.pieces[block]:
                self.test.assertEqual(data[piece[1]:piece[1] + piece[2]].any(), kept, f"{piece} of block {block}")

    def regions(self, header, begin, blocks):
        """[(from, to)] of header, tables and blocks of fields, as they lie in the plain file."""
        regions = [(0, begin)]
        for name, entry in header.items():
            first, end = (begin + offset for offset in entry["data_offsets"])
            parts = 1 if name in TABLES or name in self.attributes else blocks
            size = (end - first) // parts
            regions += [(first + i * size, first + (i + 1) * size) for i in range(parts)]
        return regions

    def compressed(self, shard, plain, regions):
        """A frame for each region, cut every 64 MiB, and the seek table over them."""
        path = os.path.join(self.d.directory, shard["file"])
        frames, table = seek_table(path)
        cuts = [(a, min(a + FRAME_MAX, end)) for begin, end in regions for a in range(begin, end, FRAME_MAX)]
        self.test.assertEqual([content for _, content, _ in frames], [b - a for a, b in cuts])
        data = tool.read(path)
        at, sums = 0, []
        for (size, content, check), (a, b) in zip(frames, cuts):
            frame = data[at:at + size]
            self.test.assertEqual(zstandard.frame_content_size(frame), content)
            self.test.assertTrue(zstandard.get_frame_parameters(frame).has_checksum)
            self.test.assertEqual(zstandard.ZstdDecompressor().decompress(frame), plain[a:b])
            self.test.assertEqual(check, xxhash.xxh64_intdigest(plain[a:b]) & 0xFFFFFFFF)
            sums.append(xxh3(frame))
            at += size
        self.test.assertEqual(data[at:], table)
        sums.append(xxh3(table))
        self.test.assertEqual((int(shard["bytes"]), shard["checksum"]), (len(data), combined(sums)))


def combined(sums):
    return digest(xxh3(struct.pack(f"<{len(sums)}Q", *sums)))


class Store(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.files = [clips.clip(name) for name in NAMES]

    def check(self, *options, repeat=False, status=0, sources=None):
        """Packs and checks; gives the checker for more."""
        sources = self.files if sources is None else sources
        directory = self.pack("dataset", *sources, *(options if "--size" in options else (*SMALL, *options)), status=status)
        checker = Checker(self, directory, repeat)
        checker.all()
        return checker

    # Each is the plain way and its zstd; shards of one block, of some, of all.
    @each([
        ("longest", "-T", "longest"),
        ("long", "-T", "100", "--segment-ids"),
        ("one_block", "-T", "1000"),
        ("paper", "-T", "64", "--fill", "paper", "--seed", "7", "--shard-size", "1"),
        ("naive", "-T", "50", "--strategy", "naive", "--segment-ids", "--shard-size", "100K"),
        ("split", "-T", "17", "--oversize", "split", "--segment-ids", "--shard-size", "128K"),
        ("truncate", "-T", "23", "--oversize", "truncate"),
        ("drop", "-T", "23", "--oversize", "drop"),
        ("sample", "-T", "50", "--strategy", "sample", "--clip", "12", "--seed", "3"),
        ("sample_all", "-T", "50", "--strategy", "sample", "--clip", "9", "--clips", "all"),
        ("mix", "-T", "50", "--strategy", "mix", "--segment-ids"),
    ])
    def test(self, name, *options):
        plain = self.check(*options)
        self.assertFalse(plain.failed)
        restored = {number: open_bytes(plain.d.plain(number)) for number in range(len(plain.d.shards))}
        compressed = self.check(*options, "--compress", "zstd:1")
        for number, data in restored.items():
            self.assertTrue(open_bytes(compressed.d.plain(number)) == data, "zstd -d does not give the plain shard")

    def test_repeat(self):
        checker = self.check("-T", "64", "--pad", "repeat", repeat=True)
        self.assertGreater(checker.m["padding"], 0)

    def test_all_frames_are_there(self):
        """Joined again from their pieces, the sequences are those of a dataset that has each in a block of its own."""
        alone = Dataset(self.pack("naive", *self.files, *SMALL, "-T", "longest", "--strategy", "naive"))
        split = Dataset(self.pack("split", *self.files, *SMALL, "-T", "10", "--oversize", "split", "--compress", "zstd"))
        for path, name in zip(self.files, NAMES):
            frames = alone.frames(path)
            self.assertEqual(len(frames), clips.frames_of(name))
            np.testing.assert_array_equal(split.frames(path), frames)

    def test_frames_over_64_mib(self):
        """A block that takes two zstd frames."""
        checker = self.check("-T", "46", "--size", "704x704", "--compress", "zstd:1",
                             sources=[clips.clip("h264.mp4"), clips.clip("raw.y4m")])
        frames, _ = seek_table(os.path.join(checker.d.directory, checker.d.shards[0]["file"]))
        self.assertEqual([content for _, content, _ in frames if content > 4096], [FRAME_MAX, 46 * 704 * 704 * 3 - FRAME_MAX])

    def wrong_table(self):
        """A table in which two sequences have lengths that decoding will contradict."""
        table, _ = self.bload("scan", *self.files)
        lines = table.split("\n")
        for row, line in enumerate(lines):
            columns = line.split("\t")
            name = os.path.basename(columns[0])
            if name in WRONG:
                lines[row] = "\t".join([columns[0], str(WRONG[name][0]), *columns[2:]])
        path = self.path("wrong.tsv")
        tool.write(path, "\n".join(lines))
        return path

    @each([("plain", "-T", "64"), ("split", "-T", "11", "--oversize", "split", "--compress", "zstd:1"),
           ("mix", "-T", "50", "--strategy", "mix", "--shard-size", "1"), ("failed", "-T", "20", "--oversize", "split")])
    def test_attributes(self, name, *options):
        """Columns as Python's csv module wrote them; numbers as Python reads them lie beside every piece (Checker.block)."""
        columns = {"class": [str(7 * i - 20) for i in range(len(NAMES))],
                   "weight": ["" if i % 4 == 1 else repr(float(np.exp(i)) / 3) for i in range(len(NAMES))],
                   "note": [f'"{i}",\r\n\t\\é' for i in range(len(NAMES))],
                   "far": [str(2**63 - 1 - i) for i in range(len(NAMES))]}
        with open(self.path("labels.csv"), "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["", *columns])
            writer.writerows([clips.clip(NAMES[i]), *values] for i, values in reversed(list(enumerate(zip(*columns.values())))))
        table = ("--sequences", self.wrong_table()) if name == "failed" else ()
        checker = self.check("--attributes", self.path("labels.csv"), *table, *options, sources=() if table else None,
                             status=3 if table else 0)
        self.assertEqual(checker.attributes, {"class": "I64", "weight": "F64", "far": "I64"})
        self.assertEqual(len(checker.failed), len(WRONG) if table else 0)
        for column, values in columns.items():
            self.assertEqual([checker.d.row(clips.clip(clip))[column] for clip in NAMES], values)
        self.bload("verify", "-q", checker.d.directory)

    @each([("plain",), ("compressed", "--compress", "zstd"), ("split", "-T", "11", "--oversize", "split")])
    def test_failed(self, _, *options):
        """A sequence that does not decode to its length keeps its place, as zeros that belong to no sequence."""
        options = options if "-T" in options else ("-T", "64", *options)
        checker = self.check("--sequences", self.wrong_table(), "--segment-ids", *options, sources=(), status=3)
        self.assertEqual(len(checker.failed), len(WRONG))
        for name, (said, found) in WRONG.items():
            row = checker.d.row(clips.clip(name))
            self.assertEqual(row["status"], "failed")
            self.assertIn(str(said), row["reason"])
            self.assertIn(str(found), row["reason"])

    def test_useless_inputs(self):
        """Inputs of no use have a row, and no place in any block."""
        for name, content in (("empty.mp4", b""), ("noise.mkv", os.urandom(5000))):
            tool.write(self.path(name), content)
        checker = self.check("-T", "64", sources=[self.path("empty.mp4"), *self.files[:3], self.path("noise.mkv")], status=3)
        self.assertEqual(sorted(row["status"] for row in checker.d.sequences), ["ok", "ok", "ok", "skipped", "skipped"])
        for name in ("empty.mp4", "noise.mkv"):
            row = checker.d.row(self.path(name))
            self.assertEqual((row["status"], row["length"]), ("skipped", "0"))
            self.assertEqual(checker.d.pieces_of(self.path(name)), [])

    def test_zstd_tests_it(self):
        directory = self.pack("zstd", *self.files, *SMALL, "-T", "64", "--compress", "zstd:19")
        for shard in read_table(os.path.join(directory, "shards.tsv")):
            subprocess.run(["zstd", "-q", "-t", os.path.join(directory, shard["file"])], check=True)

    def test_manifest(self):
        directory = self.pack("manifest", *self.files, *SMALL, "-T", "64", "--seed", "5", "--compress", "zstd:4")
        manifest = json.loads(tool.read(os.path.join(directory, "manifest.json")))
        frames = {"name": "frames", "kind": "video", "dtype": "U8", "shape": [16, 24, 3], "encoding": "raw"}
        self.assertEqual(manifest["fields"], [frames | {"made": manifest["fields"][0]["made"]}])
        expected = {"strategy": "block", "fill": "optimal", "T": 64, "seed": 5, "world_size": 1, "batch_size": 1,
                    "compress": "zstd:4", "segment_ids": False, "source_start": False}
        self.assertEqual({name: manifest[name] for name in expected}, expected)
        self.assertEqual(manifest["batches_per_rank"], manifest["blocks"])


def open_bytes(path):
    return tool.read(path)
