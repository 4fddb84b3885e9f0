"""Views of packed datasets, made here by the description of their format; and what their blocks must be, step by step."""
import json
import os
import struct

import numpy as np
import xxhash

from sample import Truth

PLAN = ("block_ptr", "<i8"), ("sequence", "<i8"), ("source_start", "<i8"), ("length", "<i4"), ("start", "<i4")
NAMES = {"<i8": "I64", "<i4": "I32", "<f8": "F64"}


def checksum(data):
    return f"{xxhash.xxh3_64_intdigest(data):016x}"


def write_tensors(path, metadata, tensors):
    """A safetensors file of {name: array}, in this order; gives the bytes of its tensors."""
    header, data = {"__metadata__": metadata}, b""
    for name, array in tensors.items():
        entry = {"dtype": NAMES[array.dtype.str], "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        header[name], data = entry, data + array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return data


def write_manifest(path, manifest):
    """A manifest with a right checksum."""
    text = json.dumps({**manifest, "checksum": "0" * 16}).encode()
    at = text.rfind(b"0" * 16)
    with open(path, "wb") as file:
        file.write(text[:at] + checksum(text).encode() + text[at + 16:])


def rows_of(truths, names):
    """The tables of rows.safetensors, and for each row the steps that are stored of it."""
    tables = {name: [] for name in ("block", "start", "length", "source_start")}
    pointers, ids, steps = [0], [], []
    for truth in truths:
        pieces = {}
        for block in range(truth.d.blocks):
            for row, start, length, first in truth.d.pieces(block):
                pieces.setdefault(row, []).append((first, block, start, length))
        for row, told in enumerate(truth.d.sequences):
            parts = sorted(pieces.get(row, [])) if told["status"] == "ok" else []
            for first, block, start, length in parts or [(0, -1, 0, 0)]:
                for name, value in (("block", block), ("start", start), ("length", length), ("source_start", first)):
                    tables[name].append(value)
            pointers.append(len(tables["block"]))
            ids.append(told["id"])
            steps.append(sum(part[3] for part in parts))
    found = {name: np.array(values, "<i8" if name in ("block", "source_start") else "<i4") for name, values in tables.items()}
    if not found["source_start"].any():
        del found["source_start"]
    if len(found["block"]) != len(ids):
        found["row_ptr"] = np.array(pointers, "<i8")
    for attribute in truths[0].d.manifest.get("attributes", []):
        kind, nothing = (int, 0) if attribute["dtype"] == "I64" else (float, np.nan)
        values = [kind(row[attribute["name"]]) if row[attribute["name"]] else nothing for truth in truths for row in truth.d.sequences]
        found["attribute." + attribute["name"]] = np.array(values, "<i8" if kind is int else "<f8")
    renamed = [row for row, name in enumerate(ids) if ids.count(name) > 1]
    if renamed:
        found["renamed"] = np.array(renamed, "<i8")
    return found, steps


def plan_of(steps, T, align, random):
    """A plan of the rows' steps, in blocks of pieces one after the other; the last block is empty."""
    blocks, at = [[]], 0
    pieces = [(row, first, min(T, count - first)) for row, count in enumerate(steps) for first in range(0, count, T)]
    for k in random.permutation(len(pieces)):
        row, first, length = pieces[k]
        at += -at % align
        if at + length > T:
            blocks.append([])
            at = 0
        blocks[-1].append((row, first, length, at))
        at += length
    return [*blocks, []]


def tables_of(blocks):
    pieces = [piece for block in blocks for piece in block]
    columns = dict(zip(("sequence", "source_start", "length", "start"), zip(*pieces)))
    columns["block_ptr"] = np.cumsum([0, *map(len, blocks)])
    return {name: np.array(columns[name], kind) for name, kind in PLAN}


def spans(plan, steps):
    """The tables NAME.length and NAME.start of a plan, and the most own steps of a block, for each field."""
    out = {}
    for name, of in steps.items():
        length = np.array([len(of[row]) if first == 0 else 0 for row, first in zip(plan["sequence"], plan["source_start"])], "<i4")
        start, most = np.zeros(len(length), "<i4"), 0
        for first, end in zip(plan["block_ptr"], plan["block_ptr"][1:]):
            start[first:end] = np.cumsum(length[first:end]) - length[first:end]
            most = max(most, int(length[first:end].sum()))
        out[name] = length, start, most
    return out


def own_rows(truths, steps):
    """The tables of rows.safetensors for own fields. steps: for each source the steps of its rows, by field."""
    out = {}
    for name in dict.fromkeys(name for of in steps for name in of):
        length, start = out[f"own.{name}.length"], out[f"own.{name}.start"] = [], []
        for truth, of in zip(truths, steps):
            places = {}
            for block in range(truth.d.blocks):
                at = 0
                for row, _, _, first in truth.d.pieces(block):
                    count = len(of[name][row]) if name in of and first == 0 else 0
                    places[row, first], at = (count, at), at + count
            for row, told in enumerate(truth.d.sequences):
                parts = sorted(first for other, first in places if other == row) if told["status"] == "ok" else []
                for first in parts or [None]:
                    count, at = places.get((row, first), (0, 0))
                    length.append(count)
                    start.append(at if count else 0)
    return {name: np.array(values, "<i4") for name, values in out.items()}


def write_view(out, sources, T, align=1, epochs=2, seed=0, segment_ids=False, own=None):
    """A view of sources, {name: directory}, whose blocks are drawn; in place of `bload view`.

    own: for each source its steps in fields that have steps of their own, {field: [steps of each row]}.
    """
    truths, names = [Truth(path) for path in sources.values()], list(sources)
    rows, steps = rows_of(truths, names)
    rows.update(own_rows(truths, own or []))
    own_steps = {name: [row for truth, of in zip(truths, own) for row in of.get(name, [()] * len(truth.d.sequences))]
                 for name in dict.fromkeys(name for of in own or [] for name in of)}
    random = np.random.default_rng(seed)
    drawn = [plan_of(steps, T, align, random) for _ in range(epochs + 1)]
    count = max(map(len, drawn))
    drawn = [blocks + [[]] * (count - len(blocks)) for blocks in drawn]
    os.makedirs(os.path.join(out, "plans"))
    files, digest, version = ["rows.safetensors"], None, "3" if own else "1"
    write_tensors(os.path.join(out, files[0]), {"bload_format": version}, rows)
    found = [spans(tables_of(blocks), own_steps) for blocks in drawn]
    capacity = {name: max(1, *(of[name][2] for of in found)) for name in own_steps}
    for number, blocks in enumerate(drawn):
        name = f"plans/epoch-{number:05d}.safetensors" if number else "index.safetensors"
        tables = tables_of(blocks)
        for field, (length, start, _) in found[number].items():
            tables.update({f"{field}.length": length, f"{field}.start": start})
        sizes = struct.pack(f"<{1 + len(capacity)}q", T, *capacity.values())
        told = xxhash.xxh3_64(sizes + b"".join(table.tobytes() for table in tables.values())).hexdigest()
        digest = digest or told
        write_tensors(os.path.join(out, name), {"T": str(T), "bload_format": version, "plan_digest": told}, tables)
        files.append(name)
    first, entries, pad = 0, [], truths[0].d.manifest["configuration"].get("pad")
    for truth, name, path in zip(truths, names, sources.values()):
        number, manifest = len(truth.d.sequences), truth.d.manifest
        placed = [count for count in steps[first:first + number] if count]
        entries.append({
            "name": name, "path": os.path.relpath(path, out), "rows": number, "first_row": first, "blocks": manifest["blocks"],
            "sequences": len(placed), "steps": sum(placed), "share": sum(placed) / sum(steps), "weight": None,
            "files": {file["name"]: file["checksum"] for file in manifest["files"] if "plans/" not in file["name"]}})
        first += number
    fields = {}
    for field in (field for truth in truths for field in truth.d.manifest["fields"]):
        own_capacity = {"capacity": capacity[field["name"]]} if field["name"] in capacity else {}
        fields.setdefault(field["name"], {**field, **own_capacity})
    manifest = {
        "format": 4 if own else 2, "T": T, "S": max(len(block) for blocks in drawn for block in blocks), "blocks": count, "world_size": 1,
        "batch_size": 1, "fields": list(fields.values()), "attributes": truths[0].d.manifest.get("attributes", []),
        "source_start": any(first for blocks in drawn for block in blocks for _, first, _, _ in block), "segment_ids": segment_ids,
        "plan_digest": digest, "configuration": {"align": str(align), **({"pad": pad} if pad else {})}, "rows": first,
        "sources": entries, "files": [entry(out, name) for name in files]}
    write_manifest(os.path.join(out, "manifest.json"), manifest)
    return out


def entry(directory, name):
    """A file as a manifest lists it."""
    with open(os.path.join(directory, name), "rb") as file:
        data = file.read()
    return {"name": name, "bytes": len(data), "checksum": checksum(data)}


class ViewTruth:
    """What a view must give, computed from its tables and the independent readers of its sources, step by step. own: see write_view."""

    def __init__(self, directory, own=None):
        from safetensors.numpy import load_file
        with open(os.path.join(directory, "manifest.json")) as file:
            self.manifest = json.load(file)
        self.directory, self.load = directory, load_file
        self.truths = [Truth(os.path.join(directory, source["path"])) for source in self.manifest["sources"]]
        fields = self.manifest["fields"]
        self.manifest["fields"] = [field for field in fields if "steps" not in field]
        self.own_fields = {field["name"]: field for field in fields if "steps" in field}
        self.own = {name: [row for truth, of in zip(self.truths, own) for row in of.get(name, [()] * len(truth.d.sequences))]
                    for name in self.own_fields}
        self.rows = load_file(os.path.join(directory, "rows.safetensors"))
        ids = [row["id"] for truth in self.truths for row in truth.d.sequences]
        self.ids = [f"{self.manifest['sources'][k]['name']}/{name}" if ids.count(name) > 1 else name
                    for name, k in zip(ids, np.repeat(range(len(self.truths)), [len(truth.d.sequences) for truth in self.truths]))]
        self.known = {}

    def sequence(self, row, field):
        """The stored steps of a row."""
        if (row, field) not in self.known:
            k = next(k for k, source in reversed(list(enumerate(self.manifest["sources"]))) if source["first_row"] <= row)
            truth = self.truths[k]
            name = truth.d.sequences[row - self.manifest["sources"][k]["first_row"]]["id"]
            self.known[row, field] = truth.sequence(name, field)
        return self.known[row, field]

    def blocks(self, number):
        """The blocks of an epoch, with everything that a block can have."""
        plan = self.load(os.path.join(self.directory, f"plans/epoch-{number:05d}.safetensors" if number else "index.safetensors"))
        pieces = [plan[name].tolist() for name in ("sequence", "source_start", "length", "start")]
        for b in range(self.manifest["blocks"]):
            first, end = plan["block_ptr"][b:b + 2]
            yield self.block([piece[first:end] for piece in pieces])

    def block(self, pieces):
        T, S, (sequence, source_start, length, start) = self.manifest["T"], self.manifest["S"], pieces
        n, end = len(sequence), start[-1] + length[-1] if sequence else 0
        block = {"cu_seqlens": np.array(start + [end] * (S + 1 - n), "i4"), "num_sequences": np.int32(n),
                 "sequence": np.array(sequence + [-1] * (S - n)), "length": np.array(length + [0] * (S - n), "i4"),
                 "ids": [self.ids[row] for row in sequence] + [""] * (S - n)}
        if self.manifest["source_start"]:
            block["source_start"] = np.array(source_start + [0] * (S - n))
        for attribute in self.manifest["attributes"]:
            values = self.rows["attribute." + attribute["name"]]
            block[attribute["name"]] = np.append(values[sequence], np.zeros(S - n, values.dtype)) if n else np.zeros(S, values.dtype)
        block["segment_ids"], block["position_ids"] = np.zeros(T, "i4"), np.zeros(T, "i4")
        for k, (begin, count) in enumerate(zip(start, length)):
            block["segment_ids"][begin:begin + count] = k + 1
            block["position_ids"][begin:begin + count] = np.arange(count)
        block["mask"] = block["segment_ids"] > 0
        for field in self.manifest["fields"]:
            block[field["name"]] = self.field(field, zip(*pieces))
        for name, field in self.own_fields.items():
            steps = [self.own[name][row] if first == 0 else () for row, first in zip(sequence, source_start)]
            edges = np.cumsum([0, *map(len, steps)])
            some = next(row for row in self.own[name] if isinstance(row, np.ndarray))
            block[name] = np.full((field["capacity"], *some.shape[1:]), field.get("pad", 0), some.dtype)
            block[f"{name}_cu_seqlens"] = np.array([*edges, *[edges[-1]] * (S - n)], "i4")
            for k, own in enumerate(steps):
                block[name][edges[k]:edges[k + 1]] = own if len(own) else 0
        return block

    def field(self, field, pieces):
        T, at, repeat = self.manifest["T"], 0, self.manifest["configuration"].get("pad") == "repeat"
        form = self.truths[0].field(0, field["name"])
        out = np.full((T, *form.shape[1:]), field.get("pad", 0), form.dtype)
        for row, first, length, start in pieces:
            if repeat and at:
                out[at:start] = out[at - 1]
            at = start + length
            out[start:at] = self.sequence(row, field["name"])[first:first + length]
        if repeat and at:
            out[at:] = out[at - 1]
        return out
