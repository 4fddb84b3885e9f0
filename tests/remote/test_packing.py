"""bload scan and pack of text in a store: the dataset of a local run, and what is said where that cannot be."""
import gzip
import json
import os
import random
import subprocess
import tempfile
import threading
import time
import unittest

from harness import each
from store import Object, Store

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOAD = os.environ.get("BLOAD", os.path.join(ROOT, "bload"))
TEXT = ("--tokenizer", "bytes")


def lines(count, seed):
    chosen = random.Random(seed)
    return "".join(json.dumps({"text": "word " * chosen.randrange(1, 30), "id": f"{seed}-{i}"}) + "\n" for i in range(count)).encode()


# Every format that is read from its beginning to its end; a file that would be cut into parts locally.
FILES = {
    "a/one.jsonl": lines(50, 1), "a/two ü+%20.jsonl": lines(30, 2), "b/packed.jsonl.gz": gzip.compress(lines(400, 3)),
    "b/all.json": json.dumps([{"text": f"item {i}"} for i in range(40)]).encode(), "c/table.csv": b"text,id\nhello,1\n\"a, b\",2\n",
    "c/plain.txt": b"some text\nof lines\n", "large.jsonl": lines(60_000, 4), "empty.jsonl": b"", "broken.jsonl": b'{"text": "a"}\n{oops\n',
    "c/unknown.xyz": b"ignored", ".hidden.jsonl": lines(3, 5)}


class Packed(unittest.TestCase):
    def setUp(self):
        self.store = Store()
        self.folder = tempfile.TemporaryDirectory()
        self.environment = {**os.environ, "HOME": self.folder.name, "AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "AKTEST",
                            "AWS_SECRET_ACCESS_KEY": "se/cret+KEY=", "AWS_ENDPOINT_URL": self.store.url, "HF_ENDPOINT": self.store.url}

    def tearDown(self):
        self.store.__exit__()
        self.folder.cleanup()

    def bload(self, *arguments, status=0, **environment):
        """Runs bload in the folder; gives its messages."""
        done = subprocess.run([BLOAD, *arguments], cwd=self.folder.name, env={**self.environment, **environment}, capture_output=True, timeout=120,
                              check=False)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        self.assertNotIn(b"se/cret", done.stderr)
        return done.stderr.decode()

    def read(self, path):
        with open(os.path.join(self.folder.name, path), "rb") as file:
            return file.read()

    def write(self, path, data):
        path = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def table(self, path):
        """The rows of a table without the columns that say where an input is."""
        rows = [row.split("\t") for row in self.read(path).decode().splitlines()]
        kept = [i for i, name in enumerate(rows[0]) if name not in ("path", "content")]
        return [[row[i] for i in kept] for row in rows], [row[rows[0].index("path")] for row in rows[1:]]

    def same(self, one, other):
        """Two datasets with the same blocks, plan and rows."""
        shards = sorted(os.listdir(os.path.join(self.folder.name, one, "shards/00000")))
        for name in ["index.safetensors", "shards.tsv", *(f"shards/00000/{shard}" for shard in shards)]:
            self.assertEqual(self.read(f"{one}/{name}"), self.read(f"{other}/{name}"), name)
        self.assertEqual(self.table(f"{one}/sequences.tsv")[0], self.table(f"{other}/sequences.tsv")[0])
        plans = [json.loads(self.read(f"{dataset}/manifest.json"))["plan_digest"] for dataset in (one, other)]
        self.assertEqual(plans[0], plans[1])


class Corpus(Packed):
    def setUp(self):
        super().setUp()
        for name, data in FILES.items():
            self.write(f"v/{name}", data)
            self.store.put("bucket", f"v/{name}", data)
        said = self.bload("pack", "v", *TEXT, "-T", "256", "-o", "local", "--kind", "text", status=3)
        self.ignored = [line for line in said.splitlines() if "ignored in folders" in line]

    @each([("s3", "s3://bucket/v/"), ("gs", "gs://bucket/v/"), ("hf", "hf://datasets/owner/name/v/")])
    def test_same(self, scheme, url):
        """The same blocks, plan and rows as of local copies, each object fetched once, nothing left in TMPDIR."""
        if scheme == "gs":
            self.store.region = "auto"
        self.store.put_dataset("owner/name", {f"v/{name}": data for name, data in FILES.items()})
        os.mkdir(os.path.join(self.folder.name, "tmp"))
        said = self.bload("pack", url, *TEXT, "-T", "256", "-o", "far", "--kind", "text", "-j", "4",
                          "--endpoint", self.store.url, status=3, TMPDIR=os.path.join(self.folder.name, "tmp"))
        self.same("local", "far")
        self.assertEqual(self.store.complaints, [])
        self.assertEqual({path[:len(url)] for path in self.table("far/sequences.tsv")[1]}, {url})
        gets = [r for r in self.store.requests if r.method == "GET" and r.path.endswith(".jsonl")]
        self.assertEqual(len(gets), len({r.path for r in gets}))
        self.assertRegex(said, r"URLs: \d+ requests, .* fetched")
        self.assertEqual([line for line in said.splitlines() if "ignored in folders" in line], self.ignored)
        self.assertEqual(os.listdir(os.path.join(self.folder.name, "tmp")), [])
        self.bload("verify", "-q", "far")

    def test_table(self):
        """A table names URLs, too: what it lists is read again, and compared."""
        self.bload("scan", "s3://bucket/v/", *TEXT, "--kind", "text", "-o", "t.tsv", status=3)
        self.bload("pack", "--sequences", "t.tsv", *TEXT, "-T", "256", "-o", "far", status=3)
        self.same("local", "far")
        self.store.put("bucket", "v/a/one.jsonl", FILES["a/one.jsonl"][::-1])
        self.bload("pack", "--sequences", "t.tsv", *TEXT, "-T", "256", "-o", "changed", status=1)

    def test_tasks(self):
        """Tasks fetch their own shares, and make the same table."""
        for i in 0, 1:
            done = subprocess.run([BLOAD, "scan", "s3://bucket/v/", *TEXT, "--kind", "text", "--task", f"{i}/2", "-o", "parts"], cwd=self.folder.name,
                                  env=self.environment, capture_output=True, check=False)
            self.assertIn(done.returncode, (0, 3), done.stderr)
        self.bload("plan", "parts", "-T", "256", status=3)
        self.assertEqual(self.table("parts/.bload/sequences.tsv")[0], self.table("local/sequences.tsv")[0])

    def test_patterns(self):
        """Patterns, braces, lists and single objects, as of files."""
        self.write("list.txt", b"s3://bucket/v/a/one.jsonl\ns3://bucket/v/c/plain.txt\n")
        for url, count in (("s3://bucket/v/a/*.jsonl", 2), ("s3://bucket/v/{a/one,large}.jsonl", 2), ("s3://bucket/v/c/plain.txt", 1), ("@list.txt", 2),
                           ("s3://bucket/v/?/[op]*", 3), ("s3://bucket", 7)):
            said = self.bload("scan", url, *TEXT, "--kind", "text", "-o", "t.tsv", status=3 if url == "s3://bucket" else 0)
            self.assertRegex(said, f"{count} files?:")
        rows, paths = self.table("t.tsv")
        self.assertIn("v/a/one.jsonl#0", [row[0] for row in rows])
        self.bload("scan", "s3://bucket/v/c/plain.txt", *TEXT, "-o", "t.tsv")
        self.assertEqual(self.table("t.tsv")[1], ["s3://bucket/v/c/plain.txt"])

    def test_formats(self):
        """Files that are opened twice are fetched once."""
        names = "b/all.json", "c/table.csv"
        self.bload("scan", *(f"s3://bucket/v/{name}" for name in names), *TEXT, "-o", "t.tsv")
        self.bload("scan", *(f"v/{name}" for name in names), *TEXT, "-o", "l.tsv")
        self.assertEqual([row[1:] for row in self.table("t.tsv")[0]], [row[1:] for row in self.table("l.tsv")[0]])
        self.assertEqual(len([request for request in self.store.requests if request.method == "GET"]), 2)

    def test_configuration(self):
        """A YAML file elsewhere names URLs and their options."""
        self.write("elsewhere/run.yaml", f"sources: [s3://bucket/v/]\nkind: text\ntokenizer: bytes\nT: 256\nendpoint: {self.store.url}\n".encode())
        self.bload("pack", "-c", "elsewhere/run.yaml", "-o", "far", status=3, AWS_ENDPOINT_URL="https://wrong.invalid")
        self.same("local", "far")

    def test_web(self):
        for name in "a/one.jsonl", "c/plain.txt":
            self.store.put_file(name, FILES[name])
        self.bload("scan", f"{self.store.url}/web/a/one.jsonl", f"{self.store.url}/web/c/plain.txt", *TEXT, "-o", "t.tsv")
        self.bload("scan", "v/a/one.jsonl", "v/c/plain.txt", *TEXT, "-o", "l.tsv")
        self.assertEqual([row[1:] for row in self.table("t.tsv")[0]], [row[1:] for row in self.table("l.tsv")[0]])


class Failing(Packed):
    def setUp(self):
        super().setUp()
        for i in range(6):
            self.store.put("bucket", f"v/{i}.jsonl", lines(200, i))

    def test_broken(self):
        """Connections that break are no bad content."""
        left = ["cut 1000", "status 503 1", "reset", "length 50"]
        self.store.fault = lambda request: left.pop(0) if left and request.path.endswith(".jsonl") else None
        said = self.bload("scan", "s3://bucket/v/", *TEXT, "-o", "t.tsv")
        self.assertRegex(said, "1,200 sequences")
        self.assertIn("repeated", said)

    @each([
        ("gone", None, "the object vanished, or access to it: there is no such object"), ("changed", Object(lines(200, 9)), "the object has changed")])
    def test_changed(self, _, now, words):
        """An object that changes after it was listed ends the run by name, with status 1, and no row says that it is bad."""
        def change(request):
            if request.path == "/bucket/v/0.jsonl":
                if now:
                    self.store.buckets["bucket"]["v/3.jsonl"] = now
                else:
                    self.store.buckets["bucket"].pop("v/3.jsonl", None)
        self.store.fault = change
        said = self.bload("pack", "s3://bucket/v/", *TEXT, "-T", "99", "-j", "1", "-o", "d", status=1)
        self.assertIn(f"s3://bucket/v/3.jsonl: {words}", said)

    @each([
        ("credentials", ("s3://bucket/v/",), {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "s3://bucket/v/: no credentials: set AWS_ACCESS_KEY_ID"),
        ("bucket", ("s3://none/v/",), {}, "s3://none/v/: there is no such bucket"),
        ("prefix", ("s3://bucket/w/",), {}, "s3://bucket/w/: there are no objects with this prefix"),
        ("object", ("s3://bucket/v",), {}, "there is no such object (all objects below a name: with a slash at its end)"),
        ("pattern", ("s3://bucket/v/*.txt",), {}, "s3://bucket/v/*.txt matches no object"),
        ("denied", ("s3://bucket/v/", "--anonymous"), {}, "s3://bucket/v/: access denied"),
        ("web", ("http://127.0.0.1:9/",), {}, "cannot be fetched"),
        ("twice", ("s3://bucket/v/1.jsonl", "s3://bucket/v/1.jsonl"), {}, 'two inputs have the id "s3://bucket/v/1.jsonl"'),
        ("kind", ("s3://bucket/v/", "--kind", "video"), {}, "no inputs"),
        ("insecure", ("s3://bucket/v/", "--endpoint", "http://192.0.2.1"), {}, "http:// protects neither data nor credentials")])
    def test_refused(self, name, arguments, environment, words):
        """One line each, before anything is made."""
        status = 1 if name in ("web", "kind") else 2
        said = self.bload("pack", *arguments, *(TEXT if name != "kind" else ()), "-T", "99", "-o", "d", status=status, **environment)
        self.assertIn(words, said)
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "d")))

    def test_region(self):
        self.store.regions["bucket"] = "eu-north-1"
        self.bload("scan", "s3://bucket/v/", *TEXT, "-o", "t.tsv")

    def test_stopped(self):
        """Ctrl-C ends a transfer that waits."""
        self.store.fault = lambda request: "stall 10" if request.path.endswith(".jsonl") else None
        process = subprocess.Popen([BLOAD, "pack", "s3://bucket/v/", *TEXT, "-T", "99", "-o", "d"], cwd=self.folder.name, env=self.environment,
                                   stderr=subprocess.PIPE)
        while not any(request.path.endswith(".jsonl") for request in list(self.store.requests)):
            time.sleep(0.02)
        began = time.monotonic()
        threading.Timer(0.3, process.send_signal, (2,)).start()
        process.communicate(timeout=20)
        self.assertLess(time.monotonic() - began, 5)
        self.assertNotEqual(process.returncode, 0)


if __name__ == "__main__":
    unittest.main()
