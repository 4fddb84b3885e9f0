"""bload scan and pack of text in a store: the dataset of a local run, and what is said where that cannot be."""
import gzip
import json
import os
import random
import re
import shutil
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


def long_lines(count):
    """18 KB each."""
    chosen = random.Random(1)
    return "".join(json.dumps({"text": chosen.randbytes(9_000).hex()}) + "\n" for i in range(count)).encode()


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
            self.assertTrue(self.read(f"{one}/{name}") == self.read(f"{other}/{name}"), name)  # without a difference of megabytes
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
        # Nothing that the scan has tokenized is fetched again.
        self.store.requests.clear()
        self.bload("pack", "s3://bucket/v/", *TEXT, "--kind", "text", "-T", "256", "--task", "0/1", "-o", "parts")
        self.assertEqual([r.path for r in self.store.requests if r.method == "GET" and "list-type" not in r.query], [])

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


class Patterns(Packed):
    """Patterns of objects mean what patterns of files mean."""

    TREE = ["a/one.jsonl", "a/two.jsonl", "a/deep/three.jsonl", "a/deep/er/four.jsonl", "b/first.jsonl", "b/list.txt", "b/note.xyz", "part-00.jsonl", "part-01.jsonl",
            "part-02.jsonl", "part-10.jsonl", "c/.hidden/five.jsonl", "c/.six.jsonl", "c/seven.jsonl", "x[1].jsonl", "only/eight.txt", "d.jsonl/nine.jsonl"]

    def setUp(self):
        super().setUp()
        for i, name in enumerate(self.TREE):
            self.write(f"v/{name}", lines(2, i))
            self.store.put("bucket", f"v/{name}", lines(2, i))
        self.store.put("bucket", "v/a/", b"")
        self.store.put("other", "v/a/one.jsonl", b"")

    def found(self, source, table):
        """The ids and paths of a source, or the status where there are none."""
        done = subprocess.run([BLOAD, "scan", source, *TEXT, "--kind", "text", "--format", "jsonl", "-o", table], cwd=self.folder.name, env=self.environment,
                              capture_output=True, check=False)
        if done.returncode == 2:
            return 2
        self.assertIn(done.returncode, (0, 3), (source, done.stderr))
        rows = [row.split("\t") for row in self.read(table).decode().splitlines()]
        return sorted((row[0].removeprefix("s3://bucket/"), row[rows[0].index("path")].removeprefix("s3://bucket/")) for row in rows[1:])

    @each([
        ("name", "*.jsonl"), ("all", "*"), ("one_down", "*/*.jsonl"), ("folders", "*/"), ("any", "**/*.jsonl"), ("any_named", "**/one.jsonl"), ("everything", "**"),
        ("below", "a/**"), ("between", "a/**/t*.jsonl"), ("twice", "**/deep/**/*.jsonl"), ("folder_below", "**/deep"), ("begin", "**/e*"), ("letter", "?/[of]*.jsonl"),
        ("set", "[ab]/*.jsonl"), ("range", "part-[0-1]?.jsonl"), ("not", "[!ab]/*"), ("hidden", "c/*"), ("hidden_named", "c/.*.jsonl"),
        ("hidden_below", "**/.hidden/*.jsonl"), ("braces", "part-{00..02}.jsonl"), ("words", "{a/one,b/first}.jsonl"), ("both", "{a,c}/*.jsonl"), ("both_any", "{a,b}/**/*t*.jsonl"),
        ("none", "*.nothing"), ("none_below", "nowhere/**/*.jsonl"), ("missing", "part-{01..03}.jsonl"),
        ("escaped", "x\\[1].*"), ("class", "x[[]1].jsonl"), ("stars", "a/t**.jsonl"), ("folder_like", "d*"), ("text", "only/*")])
    def test_like_files(self, _, pattern):
        far, near = self.found(f"s3://bucket/v/{pattern}", "far.tsv"), self.found(f"v/{pattern}", "near.tsv")
        self.assertEqual(far, near)
        self.assertEqual(self.store.complaints, [])
        self.assertEqual(near == 2, _ in ("none", "none_below", "missing"))

    @each([("name", "a/d*/*/*.jsonl", "v/a/d"), ("any", "a/deep/**/f*", "v/a/deep/"), ("root", "?/o*.jsonl", "v/"), ("escape", "x\\[*", "v/x")])
    def test_prefix(self, _, pattern, prefix):
        """What is before the first wildcard is listed, and no more."""
        self.bload("scan", f"s3://bucket/v/{pattern}", *TEXT, "-o", "t.tsv")
        asked = [request.query for request in self.store.requests if "list-type" in request.query]
        self.assertEqual([query.split("prefix=")[1] for query in asked], [prefix.replace("/", "%2F")])

    def test_many(self):
        """Names that braces give are found by a list, not one by one; a folder with too many others is not listed to its end."""
        for i in range(1200):
            self.store.put("bucket", f"w/{i:04d}.jsonl", lines(1, i))
        said = self.bload("scan", "s3://bucket/w/{0000..1199}.jsonl", *TEXT, "-o", "t.tsv")
        self.assertIn("1,200 files", said)
        self.assertEqual(len([r for r in self.store.requests if r.method == "HEAD"]), 0)
        self.assertEqual(len([r for r in self.store.requests if "list-type" in r.query]), 2)
        self.store.requests.clear()
        for i in range(3000):
            self.store.put("bucket", f"w/{i:04d}.txt", b"")
        self.bload("scan", "s3://bucket/w/{0000,1000,2000,0001,0002}.txt", *TEXT, "-o", "t.tsv")
        self.assertLessEqual(len(self.store.requests), 2 + 5 + 5)
        self.assertIn("s3://bucket/w/1200.jsonl: there is no such object", self.bload("scan", "s3://bucket/w/{1190..1200}.jsonl", *TEXT, status=2))

    def test_hub(self):
        """Of a dataset on the Hub."""
        self.store.put_dataset("owner/name", {f"v/{name}": lines(2, i) for i, name in enumerate(self.TREE)})
        self.bload("scan", "hf://datasets/owner/name@main/v/**/{t,f}*.jsonl", *TEXT, "-o", "t.tsv")
        self.assertEqual(sorted({path.split("/v/")[1].split("#")[0] for path in self.table("t.tsv")[1]}),
                         ["a/deep/er/four.jsonl", "a/deep/three.jsonl", "a/two.jsonl", "b/first.jsonl"])

    def test_refused(self):
        for url, words in (("s3://buck*/x", "not in its name"), ("s3://*", "not in its name"), ("s3://bucket/w/*", "s3://bucket/w/: there are no objects"),
                           ("s3://bucket/v/*.md", "s3://bucket/v/*.md matches no object"), ("s3://none/v/**/*.jsonl", "there is no such bucket")):
            said = self.bload("scan", url, *TEXT, status=2)
            self.assertIn(words, said)
            self.assertEqual(said.count("\n"), 1, said)


class Lists(Packed):
    """@list at a URL."""

    def setUp(self):
        super().setUp()
        for name in "a/one.jsonl", "b/two x.jsonl", "three.jsonl":
            self.store.put("bucket", f"v/{name}", lines(3, len(name)))
            self.store.put_file(f"v/{name}", lines(3, len(name)))
        self.store.put_dataset("owner/name", {f"v/{name[len('v/'):]}": item.data for name, item in self.store.files.items()})
        self.write("secret.jsonl", b'{"text": "secret"}\n')

    def put(self, data, name="list.txt"):
        self.store.put("bucket", f"v/{name}", data)
        self.store.put_file(f"v/{name}", data)
        self.store.hub["datasets/owner/name"]["files"][f"v/{name}"] = Object(data)

    def scan(self, source, **more):
        """The paths of what a list names."""
        said = self.bload("scan", source, *TEXT, "-o", "t.tsv", **more)
        return [row.split("#")[0] for row in sorted(set(self.table("t.tsv")[1]))] if not more.get("status") else said

    def bases(self):
        return f"{self.store.url}/web/v/", "s3://bucket/v/", "hf://datasets/owner/name/v/"

    def test_names(self):
        """Lines are names in the list's own folder, or URLs."""
        self.put(b"\xef\xbb\xbfa/one.jsonl\r\n\n./b/two x.jsonl\ns3://bucket/v/three.jsonl")
        for base in self.bases():
            space = "%20" if base.startswith("http") else " "
            self.assertEqual(self.scan(f"@{base}list.txt"), sorted([base + "a/one.jsonl", f"{base}b/two{space}x.jsonl", "s3://bucket/v/three.jsonl"]))
        self.put(b"a/one.jsonl\0three.jsonl\0", "list0")
        self.assertEqual(self.scan("@s3://bucket/v/list0"), ["s3://bucket/v/a/one.jsonl", "s3://bucket/v/three.jsonl"])
        self.put(b"a/\nthree.jsonl\n", "folders")
        self.assertEqual(self.scan("@s3://bucket/v/folders"), ["s3://bucket/v/a/one.jsonl", "s3://bucket/v/three.jsonl"])

    def test_query(self):
        """The query of the list's URL, such as a signature, is the list's."""
        self.put(b"a/one.jsonl\n")
        self.assertEqual(self.scan(f"@{self.store.url}/web/v/list.txt?signature=a/b"), [f"{self.store.url}/web/v/a/one.jsonl"])

    def test_same(self):
        """The table is that of a local list with the same URLs, but for the list's name."""
        self.put(b"a/one.jsonl\nthree.jsonl\n")
        self.write("list.txt", b"s3://bucket/v/a/one.jsonl\ns3://bucket/v/three.jsonl\n")
        self.scan("@list.txt")
        near = self.read("t.tsv")
        self.scan("@s3://bucket/v/list.txt")
        self.assertEqual(self.read("t.tsv"), near)

    def test_compressed(self):
        """As objects and as files; the suffix must be true."""
        plain = b"a/one.jsonl\nthree.jsonl\n"
        packed = {"gz": gzip.compress(plain), "zst": subprocess.run(["zstd", "-c"], input=plain, capture_output=True, check=True).stdout if shutil.which("zstd") else None}
        for suffix, data in packed.items():
            if data is None:
                continue
            self.put(data, f"list.txt.{suffix}")
            self.assertEqual(self.scan(f"@s3://bucket/v/list.txt.{suffix}"), ["s3://bucket/v/a/one.jsonl", "s3://bucket/v/three.jsonl"])
            self.write(f"list.{suffix}", data)
            self.write("a/one.jsonl", lines(1, 1))
            self.write("three.jsonl", lines(1, 1))
            self.assertEqual(self.scan(f"@list.{suffix}"), ["a/one.jsonl", "three.jsonl"])
            for wrong, words in ((data[:-9], suffix), (b"a/one.jsonl\n", f"list.{suffix}")):
                self.write(f"list.{suffix}", wrong)
                self.put(wrong, f"list.{suffix}")
                for source in f"@list.{suffix}", f"@s3://bucket/v/list.{suffix}":
                    said = self.scan(source, status=2)
                    self.assertIn(words, said)
                    self.assertEqual(said.count("\n"), 1, said)

    def test_many(self):
        """Thousands of names cost few requests in a store; those of a web server are asked for at the same time."""
        names = [f"w/{i:04d}.jsonl" for i in range(1500)]
        for name in names:
            self.store.put("bucket", f"v/{name}", lines(1, 1))
        for name in names[:100]:
            self.store.put_file(f"v/{name}", lines(1, 1))
        self.put("".join(f"{name}\n" for name in names).encode())
        self.assertEqual(len(self.scan("@s3://bucket/v/list.txt")), 1500)
        self.assertEqual([r.path for r in self.store.requests if r.method == "HEAD"], ["/bucket/v/list.txt"])
        self.put("".join(f"{name}\n" for name in names[:100]).encode())
        self.store.requests.clear()
        self.store.latency = 0.01
        self.assertEqual(len(self.scan(f"@{self.store.url}/web/v/list.txt")), 100)
        heads = [r for r in self.store.requests if r.method == "HEAD"]
        self.assertEqual(len(heads), 101)
        self.assertGreater(len({r.connection for r in heads}), 4)
        self.put(b"".join(b"w/%04d.jsonl\n" % i for i in range(1490, 1510)))
        self.assertIn("s3://bucket/v/list.txt:11: s3://bucket/v/w/1500.jsonl: there is no such object", self.scan("@s3://bucket/v/list.txt", status=2))

    @each([
        ("absolute", "/etc/passwd", "/etc/passwd: an absolute path: a list from afar has URLs, and names in its own folder"),
        ("above", "../secret.jsonl", "../secret.jsonl: a path with .."), ("within", "a/../../secret.jsonl", "a path with .."),
        ("scheme", "file:///etc/passwd", "URLs of this kind are not read"), ("ftp", "ftp://example.org/x", "URLs of this kind are not read"),
        ("missing", "none.jsonl", "there is no such"), ("user", "https://a:b@example.org/x", "it has a user name or password")])
    def test_refused(self, _, name, words):
        """A line that names something else is refused with its number; it never means a local file."""
        self.put(f"a/one.jsonl\n\n{name}\n".encode())
        for base in self.bases():
            said = self.scan(f"@{base}list.txt", status=2)
            self.assertIn(f"{base}list.txt:3: ", said)
            self.assertIn(words, said)
            self.assertEqual(said.count("\n"), 1, said)
            self.assertNotIn("a:b", said)

    def test_never_local(self):
        """A name that is also one of a file here means the object."""
        self.put(b"secret.jsonl\n")
        for base in self.bases():
            self.assertIn("there is no such", self.scan(f"@{base}list.txt", status=2))
        self.store.put("bucket", "v/secret.jsonl", lines(1, 1))
        self.assertEqual(self.scan("@s3://bucket/v/list.txt"), ["s3://bucket/v/secret.jsonl"])

    def test_this_machine(self):
        """A list of a stranger names no server of this machine."""
        self.put(f"{self.store.url}/web/v/three.jsonl\n".encode())
        self.assertIn("list.txt:1: ", self.scan("@s3://bucket/v/list.txt", status=2))
        self.assertEqual(self.scan(f"@{self.store.url}/web/v/list.txt"), [f"{self.store.url}/web/v/three.jsonl"])

    def test_wrong_lists(self):
        self.put(b"x" * 70_000 + b"\n", "long")
        self.put(b"\xff\xfea\0\n\0", "utf16")
        self.put(b"", "empty")
        for name, status, words in (("long", 1, "v/long:1: too long for a name"), ("utf16", 1, "v/utf16: "), ("empty", 1, "no inputs"),
                                    ("none", 2, "v/none: there is no such object"), ("", 2, "there is no such object")):
            said = self.scan(f"@s3://bucket/v/{name}", status=status)
            self.assertIn(words, said)

    def test_plain_name(self):
        """Without the @, a list is a text like any other."""
        self.put(b"a/one.jsonl\nthree.jsonl\n")
        for base in self.bases():
            self.assertEqual(self.scan(f"{base}list.txt"), [f"{base}list.txt"])

    def test_configuration(self):
        """A YAML file elsewhere names a list; its lines count from the list, and not from the file."""
        self.put(b"three.jsonl\n")
        self.write("elsewhere/run.yaml", b"sources: ['@s3://bucket/v/list.txt']\ntokenizer: bytes\n")
        self.bload("scan", "-c", "elsewhere/run.yaml", "-o", "t.tsv")
        self.assertEqual({path.split("#")[0] for path in self.table("t.tsv")[1]}, {"s3://bucket/v/three.jsonl"})

    def test_twice(self):
        """A name that is there twice is named with its lines."""
        self.put(b"three.jsonl\na/one.jsonl\n./three.jsonl\n")
        self.assertIn("(s3://bucket/v/list.txt:1) and s3://bucket/v/three.jsonl (s3://bucket/v/list.txt:3)", self.scan("@s3://bucket/v/list.txt", status=2))


class Ahead(Packed):
    """Objects are fetched before they are read, each byte once."""

    def gets(self, prefix):
        return [request for request in self.store.requests if request.method == "GET" and request.path.startswith(prefix)]

    def fetched(self, prefix, size):
        """The requested ranges of an object, those that follow each other as one."""
        forms = [re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("range", f"bytes=0-{size - 1}")) for request in self.gets(prefix)]
        joined = []
        for begin, end in sorted((int(form[1]), int(form[2]) + 1) for form in forms):
            joined[-1:] = [(joined[-1][0], end)] if joined and joined[-1][1] == begin else [*joined[-1:], (begin, end)]
        return joined

    def test_small(self):
        """Many small objects: as many requests as there are, and the time of few."""
        for i in range(300):
            data = lines(1 + i % 7, i)
            self.write(f"v/{i}.jsonl", data)
            self.store.put("bucket", f"v/{i}.jsonl", data)
        self.bload("scan", "v", *TEXT, "-o", "l.tsv")
        self.store.latency = 0.1
        before = self.store.connections
        said = self.bload("scan", "s3://bucket/v/", *TEXT, "-j", "2", "-o", "t.tsv")
        self.assertGreater(self.store.connections - before, 8)
        self.assertEqual(self.table("t.tsv")[0], self.table("l.tsv")[0])
        gets = self.gets("/bucket/v/")
        self.assertEqual((len(gets), len({request.path for request in gets})), (300, 300))
        self.assertFalse([request for request in gets if "range" in request.headers])
        self.assertRegex(said, r"URLs: 301 requests, \S+ \S+ fetched\n|URLs: 301 requests, .* fetched, .* needed")

    @each([("lines", "large.jsonl"), ("table", "large.csv"), ("list", "large.json"), ("compressed", "large.jsonl.gz"), ("separator", "large.txt")])
    def test_large(self, _, name):
        """A large object: in parts, several at a time, of which none is fetched twice; cut among workers where files are."""
        texts = [json.loads(line)["text"] for line in long_lines(1_200).splitlines()]
        data = {"large.jsonl": lambda: long_lines(1_200),
                "large.csv": lambda: ("text\n" + "".join(f'"{text}"\n' for text in texts)).encode(),
                "large.json": lambda: json.dumps([{"text": text} for text in texts]).encode(),
                "large.jsonl.gz": lambda: gzip.compress("".join(json.dumps({"text": text + text}) + "\n" for text in 2 * texts).encode(), 1),
                "large.txt": lambda: "<|end|>".join(texts).encode()}[name]()
        self.assertGreater(len(data), 16 << 20)
        options = ("--kind", "text", "--documents", "sep:<|end|>" if name == "large.txt" else "line")
        self.write(f"v/{name}", data)
        self.store.put("bucket", f"v/{name}", data)
        if name in ("large.csv", "large.json"):  # not taken from folders
            self.bload("scan", f"v/{name}", *TEXT, "-j", "2", "-o", "l.tsv")
            self.bload("scan", f"s3://bucket/v/{name}", *TEXT, "-j", "3", "-o", "t.tsv")
            self.assertTrue([row[1:] for row in self.table("t.tsv")[0]] == [row[1:] for row in self.table("l.tsv")[0]])
        else:
            self.bload("pack", "v", *TEXT, *options, "-T", "40000", "-j", "2", "-o", "local")
            self.bload("pack", "s3://bucket/v/", *TEXT, *options, "-T", "40000", "-j", "3", "-o", "far")
            self.same("local", "far")
        self.assertEqual(self.fetched("/bucket/v/", len(data)), [(0, len(data))])
        self.assertLessEqual(len(self.gets("/bucket/v/")), len(data) // (8 << 20) + 10)

    def test_broken(self):
        """Parts of a large object that break go on where they ended."""
        data = long_lines(1_200)
        self.write("large.jsonl", data)
        self.store.put("bucket", "large.jsonl", data)
        left = ["cut 100000", "status 503 1", "reset", "length 50", "shift 1"]
        self.store.fault = lambda request: left.pop(0) if left and request.path.endswith(".jsonl") and "range" in request.headers else None
        self.bload("scan", "large.jsonl", *TEXT, "-o", "l.tsv")
        said = self.bload("scan", "s3://bucket/large.jsonl", *TEXT, "-j", "3", "-o", "t.tsv")
        self.assertEqual([row[1:] for row in self.table("t.tsv")[0]], [row[1:] for row in self.table("l.tsv")[0]])
        self.assertIn("repeated", said)
        self.assertEqual(left, [])

    def test_whole(self):
        """A web server without ranges sends a large object once."""
        data = long_lines(1_200)
        self.write("large.jsonl", data)
        self.store.put_file("large.jsonl", data)
        self.store.ranges = False
        self.bload("scan", "large.jsonl", *TEXT, "-o", "l.tsv")
        self.bload("scan", f"{self.store.url}/web/large.jsonl", *TEXT, "-j", "3", "-o", "t.tsv")
        self.assertEqual([row[1:] for row in self.table("t.tsv")[0]], [row[1:] for row in self.table("l.tsv")[0]])
        self.assertEqual(["range" in request.headers for request in self.gets("/web/")], [True, False])

    def test_tasks(self):
        """Tasks share a large object: each fetches its part."""
        data = long_lines(1_200)
        self.write("large.jsonl", data)
        self.store.put("bucket", "large.jsonl", data)
        for source, parts in ("large.jsonl", "l"), ("s3://bucket/large.jsonl", "t"):
            for i in range(2):
                self.bload("scan", source, *TEXT, "--task", f"{i}/2", "-j", "2", "-o", parts)
        for i in range(2):
            self.bload("scan", "s3://bucket/large.jsonl", *TEXT, "--task", f"{i}/2", "-j", "2", "-o", "t2")
        wanted = len(data) * 2
        sent = sum(end - begin for begin, end in self.fetched("/bucket/", len(data)))
        self.assertLess(sent, 1.2 * wanted)
        for parts in "l", "t":
            self.bload("plan", parts, "-T", "20000")
        self.assertEqual([row[1:] for row in self.table("l/.bload/sequences.tsv")[0]], [row[1:] for row in self.table("t/.bload/sequences.tsv")[0]])

    def test_damaged(self):
        """What follows damage is not waited for."""
        data = bytearray(gzip.compress(random.Random(1).randbytes(30 << 20).hex().encode(), 1))
        data[1_000_000:1_100_000] = b"\xff" * 100_000  # no block of deflate begins so
        self.store.put("bucket", "large.txt.gz", bytes(data))
        self.store.put("bucket", "other.txt", b"text")
        self.store.fault = lambda request: "stall 1000" if not request.headers.get("range", "bytes=0-").startswith("bytes=0-") else None
        began = time.monotonic()
        self.bload("scan", "s3://bucket/large.txt.gz", "s3://bucket/other.txt", *TEXT, "--documents", "file", "-o", "t.tsv", status=3)
        self.assertLess(time.monotonic() - began, 20)


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
        begun = threading.Event()

        def change(request):
            if request.path == "/bucket/v/0.jsonl":
                if now:
                    self.store.buckets["bucket"]["v/3.jsonl"] = now
                else:
                    self.store.buckets["bucket"].pop("v/3.jsonl", None)
                begun.set()
            elif request.path == "/bucket/v/3.jsonl":  # it may be fetched ahead
                begun.wait(10)
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
