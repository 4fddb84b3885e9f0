"""The client of src/remote and the tool with servers that people run: nginx, and SeaweedFS as a store with the interface of S3."""
import concurrent.futures
import gzip
import hashlib
import json
import os
import random
import subprocess
import tempfile
import unittest

from harness import each
from servers import KEYS, Nginx, Weed
from test_client import PROBE, Result

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOAD = os.environ.get("BLOAD", os.path.join(ROOT, "bload"))
DATA = random.Random(2).randbytes(700_000)
TEXT = ("--tokenizer", "bytes")
CORPUS = {f"v/{i}.jsonl": "".join(json.dumps({"text": f"item {j} of {i} " * (j % 9 + 1)}) + "\n" for j in range(300)).encode() for i in range(12)}


@unittest.skipUnless(os.path.exists(PROBE), "remote_probe is not built (make build/release/tests/remote_probe)")
class Served(unittest.TestCase):
    """Tests with a server that is started once."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        where = os.path.join(cls.folder.name, "server")
        os.mkdir(where)
        cls.server = cls.kind(where)
        cls.addClassCleanup(cls.server.stop)
        cls.home = os.path.join(cls.folder.name, "home")
        os.mkdir(cls.home)
        cls.environment = {"HOME": cls.home, "AWS_EC2_METADATA_DISABLED": "true", "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"],
                           "AWS_ACCESS_KEY_ID": "AKTEST", "AWS_SECRET_ACCESS_KEY": KEYS["AKTEST"]}

    def probe(self, *arguments, retries=2, options=(), **environment):
        command = [PROBE, "--endpoint", self.server.url, "--retries", str(retries), "--timeout", "10", *options, *map(str, arguments)]
        return Result(subprocess.run(command, env={**self.environment, **environment}, capture_output=True, timeout=120, check=False))

    def good(self, *arguments, **more):
        found = self.probe(*arguments, **more)
        self.assertEqual((found.status, found.message), (0, ""))
        return found

    def fails(self, status, words, *arguments, **more):
        """It fails with the status, in one line that has the words and no secret."""
        found = self.probe(*arguments, **more)
        self.assertEqual(found.status, status, found.message)
        self.assertIn(words, found.message)
        self.assertEqual(found.message.count("\n"), 0, found.message)
        for secret in KEYS.values():
            self.assertNotIn(secret, found.message)
        return found

    def bload(self, *arguments, status=0, **environment):
        """Runs bload in the home folder; gives its messages."""
        done = subprocess.run([BLOAD, *arguments], cwd=self.home, env={**self.environment, **environment}, capture_output=True, timeout=120, check=False)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stderr.decode()

    def read(self, path):
        with open(os.path.join(self.home, path), "rb") as file:
            return file.read()

    def write(self, path, data):
        path = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def same(self, one, other):
        """Two datasets with the same index, table of shards and shards."""
        shards = [f"shards/00000/{name}" for name in sorted(os.listdir(os.path.join(self.home, one, "shards/00000")))]
        for name in ["index.safetensors", "shards.tsv", *shards]:
            self.assertEqual(self.read(f"{one}/{name}"), self.read(f"{other}/{name}"), name)


class NginxFiles(Served):
    kind = Nginx

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.write("a b/ü.bin", DATA)
        cls.server.write("empty", b"")
        cls.server.write("x.txt", b"plain text\n" * 2000)
        cls.server.write("x.txt.gz", gzip.compress(b"another text\n"))
        cls.server.write("away/x.txt", b"plain text\n" * 2000)
        for name, data in CORPUS.items():
            cls.server.write(name, data)

    def setUp(self):
        self.server.forget()

    def url(self, path):
        return f"{self.server.url}/{path}"

    @each([("strong", ""), ("time", "timed/"), ("weak", "weak/")])
    def test_reading(self, name, place):
        """Whole, a range, and pieces by threads, whatever tells that the file is the same."""
        url = self.url(place + "a%20b/%C3%BC.bin")
        size, tag = self.good("stat", url).out.decode().rstrip("\n").split("\t")
        self.assertEqual(int(size), len(DATA))
        self.assertRegex(tag, {"strong": r"^[0-9a-f]+-[0-9a-f]+$", "time": r"^\w{3}, .* GMT$", "weak": r"^W/one$"}[name])
        self.assertEqual(self.good("cat", url).out, DATA)
        self.assertEqual(self.good("read", url, 12_345, 999).out, DATA[12_345:13_344])
        found = self.good("pieces", url, 10_000, 8)
        self.assertEqual(found.out, DATA)
        self.assertEqual((found.requests, found.retries, found.fetched), (71, 0, len(DATA)))
        asked = self.server.log()
        self.assertEqual({status for _, status, *_ in asked}, {"200", "206"})
        self.assertEqual({credentials for *_, credentials in asked}, {"-"})
        self.assertLessEqual(len({connection for connection, *_ in asked}), 3 + 8)

    def test_empty(self):
        self.assertEqual(self.good("cat", self.url("empty")).out, b"")

    def test_no_ranges(self):
        self.assertEqual(self.good("cat", self.url("unranged/x.txt")).out, b"plain text\n" * 2000)
        self.fails(1, "the server sends whole objects when a part is requested", "read", self.url("unranged/x.txt"), 5, 5)

    def test_compressed_beside(self):
        """A server that prefers a compressed file sends the one that was named."""
        self.assertEqual(self.good("cat", self.url("static/x.txt")).out, b"plain text\n" * 2000)

    def test_changing(self):
        """A server that changes files while it sends them knows no size."""
        self.fails(2, "the server does not tell its size", "stat", self.url("filtered/x.txt"))

    def test_redirects(self):
        for place in "moved/", "away/":
            self.server.forget()
            found = self.good("read", self.url(place + "x.txt"), 11, 22)
            self.assertEqual(found.out, b"plain text\n" * 2)
            self.assertEqual([status for _, status, *_ in self.server.log()], ["302", "200", "302", "206"])
        self.fails(1, "a redirect leads to http://, which protects nothing", "stat", self.url("plain/x.txt"))

    def test_refused(self):
        for place, words in ("private/x.txt", "access denied"), ("none", "there is no such file"):
            self.fails(2, f"{self.url(place)}: {words}", "stat", self.url(place))
        found = self.fails(1, "the server answers 503; 2 tries", "read", self.url("busy/x"), 0, 5, retries=1)
        self.assertEqual(len([row for row in self.server.log() if row[1] == "503"]), found.requests)

    def test_short_connections(self):
        """A server that closes connections after a few requests costs no retries."""
        found = self.good("pieces", self.url("short/a%20b/%C3%BC.bin"), 20_000, 2)
        self.assertEqual((found.out, found.retries), (DATA, 0))
        self.assertGreaterEqual(len({row[0] for row in self.server.log()}), 36 // 3)

    def test_changed(self):
        """A file that is replaced is noticed by nginx's own comparison, or here where it has none."""
        for place in "", "timed/":
            self.server.write("changing", DATA[:1000])
            path = os.path.join(self.server.folder, "files", "changing")
            os.utime(path, (1, 1_600_000_000))
            process = subprocess.Popen([PROBE, "--retries", "0", "seconds", self.url(place + "changing"), "1.5"], env=self.environment,
                                       stderr=subprocess.PIPE)
            while not any(row[4] == "bytes=0-0" for row in self.server.log()):
                self.assertIsNone(process.poll())
            self.server.write("changing", DATA[1000:2000])
            said = process.communicate()[1].decode()
            self.assertEqual(process.returncode, 1)
            self.assertIn(f"{self.url(place)}changing: the object has changed since the run listed it", said)
            self.server.forget()

    def test_packing(self):
        """Files of a list on a web server give the dataset of local copies."""
        for name, data in CORPUS.items():
            self.write(name, data)
        self.write("list.txt", "".join(self.url(name) + "\n" for name in sorted(CORPUS)).encode())
        self.bload("pack", "v", *TEXT, "-T", "256", "-o", "local")
        self.server.forget()
        said = self.bload("pack", "@list.txt", *TEXT, "-T", "256", "-j", "4", "-o", "far")
        self.same("local", "far")
        self.assertIn("fetched", said)
        gets = [path for _, _, method, path, *_ in self.server.log() if method == "GET"]
        self.assertEqual(sorted(gets), sorted("/" + name for name in CORPUS))


class WeedObjects(Served):
    kind = Weed

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = cls.server.client("AKTEST")

    def put(self, key, data):
        self.client.put_object(Bucket="bucket", Key=key, Body=data)

    def test_listing(self):
        """More objects than one answer has, each once and in order, with size and tag."""
        names = [f"many/{i:05d}.txt" for i in range(1205)]
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda name: self.put(name, name.encode()), names))
        found = self.good("list", "s3://bucket/many/")
        rows = [line.split("\t") for line in found.out.decode().splitlines()]
        self.assertEqual([url for url, _, _ in rows], [f"s3://bucket/{name}" for name in names])
        self.assertEqual({size for _, size, _ in rows}, {str(len(names[0]))})
        self.assertEqual(rows[7][2], hashlib.md5(names[7].encode()).hexdigest())
        self.assertEqual((found.requests, found.retries), (2, 0))

    def test_reading(self):
        self.put("a b+c/ü.bin", DATA)
        url = "s3://bucket/a b+c/ü.bin"
        size, tag = self.good("stat", url).out.decode().rstrip("\n").split("\t")
        self.assertEqual((int(size), tag), (len(DATA), hashlib.md5(DATA).hexdigest()))
        self.assertEqual(self.good("cat", url).out, DATA)
        self.assertEqual(self.good("read", url, 12_345, 999).out, DATA[12_345:13_344])
        found = self.good("pieces", url, 50_000, 4)
        self.assertEqual((found.out, found.fetched, found.retries), (DATA, len(DATA), 0))

    def test_odd_keys(self):
        keys = ["a b", "a+b", "a%20b", "é/中", "a&b<c>'\"", "..x", "a=b,c;d", "a:b@c", "*?[x]", "a#b", "~-_."]
        for key in keys:
            self.put("odd/" + key, key.encode())
        found = [line.split("\t")[0] for line in self.good("list", "s3://bucket/odd/").out.decode().splitlines()]
        self.assertEqual(sorted(found), sorted("s3://bucket/odd/" + key for key in keys))
        for url in found:
            self.assertEqual(self.good("cat", url).out.decode(), url[len("s3://bucket/odd/"):])

    @each([
        ("secret", {"AWS_SECRET_ACCESS_KEY": "wrong"}, "the secret access key does not belong to the access key"),
        ("key", {"AWS_ACCESS_KEY_ID": "AKNONE"}, "the store does not know the access key"),
        ("none", {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "no credentials: set AWS_ACCESS_KEY_ID")])
    def test_credentials(self, _, environment, words):
        self.put("known", b"x")
        for command, url in (("stat", "s3://bucket/known"), ("cat", "s3://bucket/known"), ("list", "s3://bucket/")):
            found = self.fails(2, f"{url}: {words}", command, url, **environment)
            self.assertEqual(found.retries, 0)

    def test_refused(self):
        self.put("known", b"x")
        self.fails(2, "s3://bucket/none: there is no such object", "cat", "s3://bucket/none")
        self.fails(2, "s3://bucket/none/: there are no objects with this prefix", "list", "s3://bucket/none/")
        self.fails(2, "s3://no-bucket/x: there is no such bucket", "list", "s3://no-bucket/x")
        self.fails(2, "s3://bucket/known: access denied", "cat", "s3://bucket/known", options=("--anonymous",))

    def test_packing(self):
        """A corpus in a bucket gives the dataset of local copies."""
        for name, data in CORPUS.items():
            self.write(name, data)
            self.put(name, data)
        self.bload("pack", "v", *TEXT, "-T", "256", "-o", "local")
        said = self.bload("pack", "s3://bucket/v/", "--endpoint", self.server.url, *TEXT, "-T", "256", "-j", "4", "-o", "far")
        self.same("local", "far")
        self.assertRegex(said, r"URLs: \d+ requests, .* fetched")
        self.assertNotIn("repeated", said)


if __name__ == "__main__":
    unittest.main()
