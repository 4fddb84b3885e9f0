"""Datasets whose fields have steps of their own, made here of packed ones by the description of their format; and what their blocks must be."""
import json
import os
import shutil
import struct

import numpy as np
import xxhash
import zstandard

import dataset as independent
from safetensors.numpy import load_file

from sample import Truth, write_manifest
from views import entry, spans

# name: type, shape of a step, storage, padding, and the most steps of a sequence.
FIELDS = {"transcript": ("<i4", (), "padded", 7, 9), "patches": ("<f4", (2, 3), "flat", 0, 30), "marks": ("u1", (5,), "flat", 3, 2),
          "nothing": ("<i8", (), "flat", 0, 0)}
NAMES = {"<i8": "I64", "<i4": "I32", "<f4": "F32", "<f8": "F64", "|u1": "U8", "<u2": "U16", "<i2": "I16"}


def write_tensors(path, metadata, tensors):
    """A safetensors file of {name: array}, in this order; gives the bytes of its header, and those of each tensor."""
    header, at = {"__metadata__": metadata}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": NAMES[array.dtype.str], "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    regions = [struct.pack("<Q", len(text)) + text, *(array.tobytes() for array in tensors.values())]
    with open(path, "wb") as file:
        file.write(b"".join(regions))
    return regions


def xxh3(*parts):
    return xxhash.xxh3_64_intdigest(b"".join(parts))


def steps_of(fields, rows, failed=(), seed=0):
    """What is drawn: for each field the own steps of each row; those of a sequence that failed are zeros."""
    random = np.random.default_rng(seed)
    out = {}
    for name, (dtype, shape, _, _, most) in fields.items():
        out[name] = [random.integers(1, 99, (random.integers(0, most + 1), *shape)).astype(dtype) * (row not in failed) for row in range(rows)]
    return out


class Writer:
    """Gives a packed dataset fields with steps of their own; it is changed in place."""

    def __init__(self, path, fields, seed=0):
        self.path, self.fields = path, fields
        self.d = independent.Dataset(path)
        failed = [row for row, told in enumerate(self.d.sequences) if told["status"] == "failed"]
        self.steps = steps_of(fields, len(self.d.sequences), failed, seed)
        manifest = self.d.manifest
        plans = ["index.safetensors", *(file["name"] for file in manifest["files"] if file["name"].startswith("plans/"))]
        self.tables = {name: load_file(os.path.join(path, name)) for name in plans}
        self.spans = {name: spans(plan, self.steps) for name, plan in self.tables.items()}
        self.capacity = {name: max(1, *(told[name][2] for told in self.spans.values())) for name in fields}
        self.sums = np.zeros((manifest["blocks"], len(fields)), np.uint64)
        self.write_shards()
        for name in plans:
            self.write_plan(name)
        entries = [{"name": name, "kind": "array", "dtype": NAMES[np.dtype(dtype).str], "shape": list(shape), "encoding": "raw", "made": "drawn",
                    "pad": pad, "steps": "own", "capacity": self.capacity[name], "storage": storage}
                   for name, (dtype, shape, storage, pad, _) in fields.items()]
        manifest = {**manifest, "format": 3, "fields": manifest["fields"] + entries, "plan_digest": self.digest("index.safetensors")}
        manifest["files"] = [entry(path, file["name"]) for file in manifest["files"]]
        write_manifest(os.path.join(path, "manifest.json"), manifest)

    def plan_tables(self, name):
        """The tables of a plan that its digest covers, in the order of the file."""
        plan = self.tables[name]
        tables = {table: plan[table] for table in ("block_ptr", "sequence", "source_start", "length", "start")}
        for field, (length, start, _) in self.spans[name].items():
            tables.update({f"{field}.length": length, f"{field}.start": start})
        return tables

    def digest(self, name):
        sizes = [self.d.manifest["T"], *self.capacity.values()]
        return f"{xxh3(struct.pack(f'<{len(sizes)}q', *sizes), *(table.tobytes() for table in self.plan_tables(name).values())):016x}"

    def write_plan(self, name):
        tables = self.plan_tables(name)
        if name == "index.safetensors":
            sums = np.concatenate([self.tables[name]["block_checksum"], self.sums.view(np.int64)], 1)
            tables = {"block_checksum": np.ascontiguousarray(sums), **tables}
        metadata = {"T": str(self.d.manifest["T"]), "bload_format": "3", "plan_digest": self.digest(name)}
        write_tensors(os.path.join(self.path, name), metadata, tables)

    def write_shards(self):
        lines = ["file\tfirst_block\tblocks\tbytes\tchecksum"]
        for number, told in enumerate(self.d.shards):
            size, checksum = self.write_shard(number, int(told["first_block"]), int(told["blocks"]))
            lines.append("\t".join([told["file"], told["first_block"], told["blocks"], str(size), checksum]))
        with open(os.path.join(self.path, "shards.tsv"), "w") as file:
            file.write("\n".join(lines) + "\n")

    def own_tensors(self, first, blocks):
        """The tensors of a shard's own fields; and by field the arrays of its blocks."""
        plan, S, tensors, parts = self.tables["index.safetensors"], self.d.manifest["S"], {}, {}
        for column, (name, (dtype, shape, storage, pad, _)) in enumerate(self.fields.items()):
            length = self.spans["index.safetensors"][name][0]
            cu, parts[name] = np.zeros((blocks, S + 1), "<i4"), []
            for row in range(blocks):
                begin, end = plan["block_ptr"][first + row:first + row + 2]
                edges = np.cumsum([0, *length[begin:end]])
                cu[row] = [*edges, *[edges[-1]] * (S + 1 - len(edges))]
                own = [self.steps[name][plan["sequence"][p]] for p in range(begin, end) if length[p]]
                out = np.full((self.capacity[name] if storage == "padded" else edges[-1], *shape), pad, dtype)
                out[:edges[-1]] = np.concatenate(own) if own else 0
                parts[name].append(out)
                self.sums[first + row, column] = xxh3(out.tobytes())
            tensors[f"{name}_cu_seqlens"] = cu
            if storage == "flat":
                tensors[f"{name}_offsets"] = np.cumsum([0, *map(len, parts[name])]).astype("<i8")
            tensors[name] = np.stack(parts[name]) if storage == "padded" else np.concatenate(parts[name])
        return tensors, parts

    def write_shard(self, number, first, blocks):
        """Writes a shard again; gives its size and checksum."""
        plain = self.d.plain(number)
        header, metadata, _ = independent.header_of(plain)
        tensors = {name: load_file(plain)[name] for name in sorted(header, key=lambda name: header[name]["data_offsets"])}
        own, parts = self.own_tensors(first, blocks)
        tensors.update(own)
        metadata = {**metadata, "bload_format": "3", "plan_digest": self.digest("index.safetensors")}
        target = os.path.join(self.path, self.d.shards[number]["file"])
        regions = write_tensors(plain if target == plain else target + ".tmp", metadata, tensors)
        cut = [(regions[0], None)]
        columns = {field["name"] if field["encoding"] == "raw" else f"{field['name']}_{field['encoding'].partition(':')[0]}": column
                   for column, field in enumerate(self.d.manifest["fields"])}
        for (name, array), data in zip(tensors.items(), regions[1:]):
            if name in parts:
                cut += [(one.tobytes(), self.sums[first + row, list(parts).index(name)]) for row, one in enumerate(parts[name])]
            elif name in columns:
                cut += self.field_regions(name, array, data, first, blocks, columns[name], tensors)
            else:
                cut.append((data, None))
        if target == plain:
            sums = [xxh3(data) if told is None else int(told) for data, told in cut]
            return os.path.getsize(target), f"{xxh3(struct.pack(f'<{len(sums)}Q', *sums)):016x}"
        os.unlink(target + ".tmp")
        return self.compress(target, [data for data, _ in cut])

    def field_regions(self, name, array, data, first, blocks, column, tensors):
        """The bytes of the blocks of a field that was there, with their checksums."""
        sums = self.tables["index.safetensors"]["block_checksum"].view(np.uint64)[first:first + blocks, column]
        if name.endswith("_jpeg"):
            edges = [*tensors[name.replace("_jpeg", "_offsets")][:, 0].tolist(), len(data)]
        else:
            edges = [len(data) // blocks * row for row in range(blocks + 1)]
        return [(data[begin:end], told) for begin, end, told in zip(edges, edges[1:], sums)]

    @staticmethod
    def compress(target, regions, most=1 << 12):
        """A seekable file of frames with at most so many bytes, none of which has bytes of two regions."""
        frames, table = [], b""
        for data in regions:
            for at in range(0, len(data), most):
                part = data[at:at + most]
                frames.append(zstandard.ZstdCompressor(write_checksum=True, write_content_size=True).compress(part))
                table += struct.pack("<III", len(frames[-1]), len(part), xxhash.xxh64_intdigest(part) & 0xFFFFFFFF)
        end = struct.pack("<II", 0x184D2A5E, len(table) + 9) + table + struct.pack("<IBI", len(frames), 0x80, 0x8F92EAB1)
        with open(target, "wb") as file:
            file.write(b"".join(frames) + end)
        sums = [xxh3(part) for part in (*frames, end)]
        return sum(map(len, frames)) + len(end), f"{xxh3(struct.pack(f'<{len(sums)}Q', *sums)):016x}"


def with_own(source, out, fields=FIELDS, seed=0):
    """A copy of a packed dataset with fields that have steps of their own; made once."""
    if not os.path.exists(out):
        shutil.copytree(source, out + ".tmp")
        Writer(out + ".tmp", fields, seed)
        shutil.rmtree(out + ".tmp.restored", ignore_errors=True)
        os.rename(out + ".tmp", out)
    return out


class OwnTruth(Truth):
    """A dataset with own fields, computed from its plan and from what was drawn."""

    def __init__(self, directory, fields=FIELDS, seed=0):
        super().__init__(directory)
        self.failed = [row for row, told in enumerate(self.d.sequences) if told["status"] == "failed"]
        self.fields, self.steps = fields, steps_of(fields, len(self.d.sequences), self.failed, seed)
        self.capacity = {field["name"]: field.get("capacity") for field in self.d.manifest["fields"]}
        self.d.manifest["fields"] = [field for field in self.d.manifest["fields"] if "steps" not in field]

    def block(self, i):
        block = super().block(i)
        pieces = [(row, first) for row, _, _, first in self.d.pieces(i)]
        return {**block, **own_entries(self.fields, self.steps, self.capacity, pieces, self.d.manifest["S"])}


def own_entries(fields, steps, capacity, pieces, S, pad=True):
    """The entries that a block has for own fields. pieces: (row, source_start) of each slot. With pad=False without padding."""
    block = {}
    for name, (dtype, shape, _, value, _) in fields.items():
        own = [steps[name][row] if first == 0 else steps[name][row][:0] for row, first in pieces]
        edges = np.cumsum([0, *map(len, own)])
        out = np.full((capacity[name] if pad else edges[-1], *shape), value, dtype)
        if own:
            out[:edges[-1]] = np.concatenate(own)
        block[name] = out
        block[f"{name}_cu_seqlens"] = np.array([*edges, *[edges[-1]] * (S + 1 - len(edges))], "i4")
        if not pad:
            block[f"{name}_offsets"] = np.array([0, edges[-1]], "i4")
    return block
