"""What --json prints, manifests and lines of progress have the form that docs/json says, and nothing beside it."""
import glob
import json
import os
import re
import subprocess

import jsonschema
import numpy as np
import referencing

import tool

FOLDER = os.path.join(tool.ROOT, "docs/json")
SCHEMAS = {os.path.basename(path): json.loads(tool.text(path)) for path in glob.glob(os.path.join(FOLDER, "*.json"))}


def closed(schema):
    """The schema, whose objects have no members but those that it names; docs/json leaves room for those of later versions.

    The members of an object may be named by several schemas, in allOf and by reference, so "unevaluatedProperties" is what closes it, and
    the schemas in allOf stay open.
    """
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    out = {**inside(schema)}
    if "properties" in schema and "additionalProperties" not in schema or "$ref" in schema:
        out["unevaluatedProperties"] = False
    return out


def inside(schema):
    """The schema with its parts closed, and itself open."""
    return {key: value if key == "allOf" else {name: closed(one) for name, one in value.items()} if key == "properties" else
            {name: inside(one) for name, one in value.items()} if key == "$defs" else closed(value) for key, value in schema.items()}


REGISTRY = referencing.Registry().with_resources((name, referencing.Resource.from_contents(inside(schema))) for name, schema in SCHEMAS.items())


# Each in the order in which it is run: the schema, the status, and the command, whose words have no spaces. "FILE:" instead of a command:
# a file that is there then.
OUTPUTS = """
doctor      0 doctor --json
scan        3 scan arrays -o lengths.tsv --attributes score.csv --json
compare     0 compare lengths.tsv -T 40 --world-size 2 --max-column score=30 --json
compare     0 compare lengths.tsv -T 40,longest --world-size 2 --cost 1,0.01 --json
plan        0 plan lengths.tsv -T 40 -o plan.tsv --json
plan        0 plan lengths.tsv -T 40 --strategy mix --clip 7 -o mixed.tsv --json
plan        0 plan lengths.tsv -T 20 --oversize split --overlap 3 --align 4 --world-size 2 --max-column score=30 -o plan.tsv --report report.json --json
plan        0 FILE:report.json
dry-run     3 pack arrays -T 40 --compress zstd -o d --dry-run --json
info        3 pack arrays -T 40 --world-size 2 --attributes score.csv --segment-ids -o d --json
manifest    0 FILE:d/manifest.json
info        0 pack arrays -T 40 --world-size 2 --attributes score.csv --segment-ids -o d --json --skipped-ok
info        0 info d --json
info        0 finish d --json --skipped-ok
status      0 status d --json
epochs      0 plan --dataset d --epochs 2 --json
info        0 info d --json
info        3 pack arrays -T 40 --attributes class.csv -o classes --json
info        0 info classes --statistics --sample 1 --json
verify      0 verify d --json
find        0 find d 0.npy --json
find        0 find d --epoch 1 --step 0 --world-size 2 --json
find        0 find d broken.npy --json
info        0 view d -T 60 --epochs 2 -o v --json
manifest    0 FILE:v/manifest.json
levels      0 view d --levels 20,40 --batch-size 2 -o levels --json
verify      0 verify v --json
export      0 export d --to mds --compress zstd -o mds --json
export      0 info mds --json
verify      0 verify mds --json
info        0 pack texts.jsonl --tokenizer bytes -T 64 --oversize split --compress zstd --frame-size 4096 -o t --json
export      0 export t --to megatron -o megatron --json
find        0 find t texts.jsonl#0 --text --json
dry-run     0 pack texts.jsonl --tokenizer bytes -T 64 --oversize split -o t2 --dry-run --json
scan        0 scan texts.jsonl --tokenizer bytes -o texts.tsv --json
status      0 status half --json
status      0 status tasks --json
plan        0 plan tasks -T 64 --oversize split --json
status      0 status tasks --json
verify      1 verify damaged --json
scan        3 scan -c own.yaml -o own.tsv --json
compare     0 compare own.tsv -T 40 --capacity words=8,16 --json
plan        0 plan own.tsv -T 40 --capacity words=16 --world-size 2 --cost T=1,0.01;words=2,0 -o own-plan.tsv --json
dry-run     3 pack -c own.yaml -o own --dry-run --json
info        3 pack -c own.yaml -o own --json
manifest    0 FILE:own/manifest.json
verify      0 verify own --json
epochs      0 plan --dataset own --epochs 2 --json
find        0 find own 0.npy --json
info        0 view own d -T 60 -o mixed --json
manifest    0 FILE:mixed/manifest.json
export      0 export own --to mds -o own-mds --json
"""

OWN = """
sources: [arrays]
T: 40
fields:
  - name: words
    path: words/{stem}.txt
    kind: text
    tokenizer: bytes
    steps: own
    capacity: auto
    missing: empty
"""


class Json(tool.Tool):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make = np.random.default_rng(5)
        os.makedirs(os.path.join(cls.directory, "arrays"))
        scores = []
        for i in range(30):
            np.save(os.path.join(cls.directory, f"arrays/{i}.npy"), make.integers(0, 255, (int(make.integers(5, 40)), 3), np.uint8))
            scores.append(f"{i}.npy,{i % 7}")
        tool.write(os.path.join(cls.directory, "arrays/broken.npy"), "no array")
        tool.write(os.path.join(cls.directory, "score.csv"), "id,score\n" + "\n".join(scores) + "\nbroken.npy,1\n")
        classes = [f"{i}.npy,{'dog' if i % 3 else 'cat'},en,{320 + i},240,25,h264" for i in range(30)]
        tool.write(os.path.join(cls.directory, "class.csv"), "id,label,language,width,height,fps,codec\n" + "\n".join(classes) + "\n")
        tool.write(os.path.join(cls.directory, "texts.jsonl"), "".join(json.dumps({"text": "word " * n}) + "\n" for n in range(1, 40)))

    def check(self, name, value, what):
        schema = {**inside(SCHEMAS[name + ".json"]), "unevaluatedProperties": False}
        for error in jsonschema.Draft202012Validator(schema, registry=REGISTRY).iter_errors(value):
            self.fail(f"{what}: {'/'.join(map(str, error.absolute_path))}: {error.message[:400]}")

    def test_schemas_are_schemas(self):
        self.assertTrue(SCHEMAS)
        for name, schema in SCHEMAS.items():
            with self.subTest(name):
                jsonschema.Draft202012Validator.check_schema(schema)
                self.assertEqual(schema["$id"], name)

    def test_unknown_members_are_found(self):
        """At the top, and in an object behind a reference."""
        tool.write(self.path("lengths"), "5\n3\n8\n")
        text, _ = self.bload("compare", "--lengths", self.path("lengths"), "-T", "8", "--json")
        for place in (), ("rows", 0):
            value = json.loads(text)
            found = value
            for step in place:
                found = found[step]
            found["unknown"] = 1
            self.assertRaises(AssertionError, self.check, "compare", value, "changed")
        self.check("compare", json.loads(text), "unchanged")

    def test_every_output_has_the_form_that_is_documented(self):
        self.prepare()
        used = set()
        for line in OUTPUTS.split("\n")[1:-1]:
            name, status, command = line.split(None, 2)
            used.add(name + ".json")
            if command.startswith("FILE:"):
                text = tool.text(self.path(command[5:]))
            else:
                text, _ = self.bload(*command.split(), status=int(status), cwd=self.directory)
            values = [json.loads(one) for one in text.splitlines()] if name == "find" else [json.loads(text)]
            self.assertTrue(values, line)
            for value in values:
                self.check(name, value, line)
        self.assertEqual(sorted(used | {"run.json", "progress.json"}), sorted(SCHEMAS), "a schema without an output, or the other way round")

    def prepare(self):
        """Directories that are not finished, or damaged."""
        for index in range(2):
            self.bload("scan", "-q", "texts.jsonl", "--tokenizer", "bytes", "-o", "tasks", "--task", f"{index}/2", cwd=self.directory)
        for index in range(1):
            self.bload("scan", "-q", "texts.jsonl", "--tokenizer", "bytes", "-o", "half", "--task", f"{index}/2", cwd=self.directory)
        os.makedirs(self.path("words"))
        for i in range(0, 30, 2):
            tool.write(self.path("words", f"{i}.txt"), "word" * (i % 3))
        tool.write(self.path("own.yaml"), OWN)
        damaged = self.pack("damaged", "texts.jsonl", "--tokenizer", "bytes", "-T", 256, cwd=self.directory)
        shard = glob.glob(os.path.join(damaged, "shards/*/*"))[0]
        data = bytearray(tool.read(shard))
        data[-1] ^= 1
        tool.write(shard, bytes(data))

    def test_lines_of_progress(self):
        made = subprocess.run([tool.BLOAD, "pack", "arrays", "-T", "40", "-o", "p", "--progress", "json", "-q"], cwd=self.directory,
                              stderr=subprocess.PIPE, text=True, timeout=300)
        lines = [line for line in made.stderr.splitlines() if line.startswith("{")]
        self.assertTrue(lines, made.stderr)
        for line in lines:
            self.check("progress", json.loads(line), line)

    def test_every_command_with_json_has_a_schema(self):
        commands = set(re.findall(r"^  ([a-z]+) ", self.bload("--help")[0], re.M)) - {"bload"}
        self.assertIn("info", commands)
        page = tool.text(os.path.join(FOLDER, "README.md"))
        for command in commands:
            if " --json" in self.bload(command, "--help")[0]:
                self.assertRegex(page, rf"`bload {command}[ `]", f"docs/json/README.md does not name {command}")
        for name in SCHEMAS:
            self.assertIn(f"({name})", page)
