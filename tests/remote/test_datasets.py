"""Commands that read a dataset, by its URL: what they say of a local copy, and what they say where the store fails or bytes are damaged."""
import array
import json
import os
import random
import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from urllib.parse import quote

from harness import each
from store import Object
from test_packing import BLOAD, TEXT, Packed, lines
from views import write_manifest


def png(value):
    """A picture of 16 x 8 pixels."""
    rows = b"".join(b"\0" + b"".join(bytes((value, 16 * x, 32 * y)) for x in range(16)) for y in range(8))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 8, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def npy(steps, width, first):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({steps}, {width}), }}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0\x76\0" + header.encode() + array.array("f", [first + i / 4 for i in range(steps * width)]).tobytes()


OWN = b"""sources: [s/]
T: 12
fields:
  - {name: patches, path: "p/{id}.npy", steps: own, capacity: auto, missing: empty}
"""
SMALL = "--shard-size", "20K"
# Name, arguments of pack, the field of cat, and an id.
FORMS = {
    "text": (("t.jsonl", *TEXT, "-T", "256", *SMALL), "tokens", "t.jsonl#0"),
    "zstd": (("t.jsonl", *TEXT, "-T", "256", *SMALL, "--compress", "zstd"), "tokens", "t.jsonl#0"),
    "frames": (("t.jsonl", *TEXT, "-T", "256", *SMALL, "--compress", "zstd", "--frame-size", "4K"), "tokens", "t.jsonl#0"),
    "epochs": (("t.jsonl", *TEXT, "-T", "256", *SMALL), "tokens", "t.jsonl#0"),
    "delta": (("f", "--kind", "frames", "-T", "4", "--compress", "zstd", "--encode", "delta"), "frames", "b"),
    "own": (("-c", "own.yaml"), "patches", "02.npy"),
    "jpeg": (("f", "--kind", "frames", "-T", "4", "--encode", "jpeg"), "frames", "b"),
}
EXPORTS = [(form, to) for form in FORMS for to in ("mds", "webdataset", "energon", "megatron") 
           if not (to == "megatron" and form not in ("text", "frames")) and (form, to) != ("own", "energon")]


def run(folder, *arguments, **environment):
    return subprocess.run([BLOAD, *arguments], cwd=folder, env={**os.environ, **environment}, capture_output=True, timeout=120, check=False)


def write_files(top, files):
    """Writes files below a folder: a name there, and the bytes, for each."""
    for name, data in files.items():
        path = os.path.join(top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


class Local:
    """The datasets, packed once for all tests."""

    folder = None

    @classmethod
    def make(cls):
        if cls.folder:
            return cls.folder.name
        made = tempfile.TemporaryDirectory()
        files = {"t.jsonl": lines(500, 1), "own.yaml": OWN}
        for i, steps in enumerate((7, 3, 9, 4, 5, 8, 2, 6, 3, 5)):
            files[f"s/{i:02}.npy"] = npy(steps, 2, i)
            if i % 2 == 0:
                files[f"p/{i:02}.npy"] = npy(i + 1, 20, 100 * i)
        files.update({f"f/{name}/{i}.png": png(40 * i) for name in "abc" for i in range(3)})
        write_files(made.name, files)
        for form, (arguments, _, _) in FORMS.items():
            for command in (("pack", "-q", *arguments, "-o", form), ("plan", "-q", "--dataset", "epochs", "--epochs", "2")):
                if command[0] == "pack" or form == "epochs":
                    done = run(made.name, *command)
                    assert done.returncode == 0, done.stderr.decode()
        cls.folder = made
        return cls.folder.name


def files_of(folder):
    """The bytes of each file below a folder, by their names there."""
    out = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                out[os.path.relpath(path, folder)] = file.read()
    return out


class Datasets(Packed):
    def setUp(self):
        super().setUp()
        self.local = Local.make()
        for form in FORMS:
            os.symlink(os.path.join(self.local, form), os.path.join(self.folder.name, form))
        self.scratch = os.path.join(self.folder.name, "scratch")
        os.mkdir(self.scratch)
        self.environment["TMPDIR"] = self.scratch

    def tearDown(self):
        self.assertEqual(self.store.complaints, [])
        self.assertEqual(os.listdir(self.scratch), [])
        super().tearDown()

    def put(self, form, key="x"):
        """Copies a dataset into the store; gives its URL."""
        for name, data in files_of(os.path.join(self.local, form)).items():
            self.store.put("bucket", f"{key}/{form}/{name}", data)
        return f"s3://bucket/{key}/{form}"

    def answer(self, *arguments, status=0):
        done = run(self.folder.name, *arguments, **self.environment)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stdout, done.stderr.decode()

    def shards(self, form):
        return sorted(key for key in self.store.buckets["bucket"] if f"/{form}/shards/" in key)

    def count(self, method, part=""):
        return len([request for request in self.store.requests if request.method == method and part in request.path])


class Same(Datasets):
    @each(FORMS)
    def test_reading(self, form):
        """info, verify, cat, find, show and report say what they say of the local dataset, also with a slash at the end."""
        url, (_, field, one) = self.put(form), FORMS[form]
        self.assertEqual(json.loads(self.answer("info", "--json", url + "/")[0]), json.loads(self.answer("info", "--json", form)[0]))
        if field == "frames":
            self.assertEqual(self.answer("info", "--statistics", url)[0], self.answer("info", "--statistics", form)[0])
        said = self.bload("verify", url + "//")
        self.assertIn(f"{url}: verified, no errors: {len(self.shards(form))} shard", said)
        self.assertRegex(said, r"URLs: \d+ requests, ")
        rows = self.table(f"{form}/sequences.tsv")[0]
        ids = [row[rows[0].index("id")] for row in rows[1:]]
        self.assertIn(one, ids)
        for sequence in one, ids[-1]:
            for command in (("cat", "@", sequence, "--field", field, "--as", "npy"), ("find", "@", sequence, "--json")):
                far, near = (self.answer(*(word.replace("@", where) for word in command))[0] for where in (url, form))
                self.assertEqual(far.replace(f"{url}/shards".encode(), f"{form}/shards".encode()), near)
        for name in "far.svg", "near.svg":
            self.answer("show", url if name == "far.svg" else form, "-o", name)
        self.assertEqual(self.read("far.svg"), self.read("near.svg"))
        far, near = (self.answer("report", where)[0].decode() for where in (url, form))
        self.assertEqual(far.replace(url, form), near)

    @each([(f"{form}_{to}", form, to) for form, to in EXPORTS])
    def test_export(self, _, form, to):
        """The files of an export of the local dataset; the description names the URL, by which verify compares it."""
        url = self.put(form)
        more = ("--field", "tokens") if to == "megatron" else ()
        far, near = self.answer("export", url, "--to", to, "-o", "far", *more), self.answer("export", form, "--to", to, "-o", "near", *more)
        self.assertRegex(far[1], r"URLs: \d+ requests")
        self.assertNotIn("URLs", near[1])
        far, near = files_of(os.path.join(self.folder.name, "far")), files_of(os.path.join(self.folder.name, "near"))
        self.assertEqual(far.keys(), near.keys())
        self.assertEqual([name for name in far if far[name] != near[name]], ["export.json"])
        self.assertEqual(json.loads(far["export.json"])["dataset"], url)
        self.bload("verify", "far", "--against", url + "/")

    @each([("s3", "s3://bucket/x/text"), ("gs", "gs://bucket/x/text"), ("characters", "s3://bucket/a b/ü+%20=1/text"), ("hub", "hf://datasets/owner/name/x/text"),
           ("revision", "hf://datasets/owner/name@main/x/text"), ("hub_root", "hf://datasets/owner/root"), ("bucket_root", "s3://root"), ("web", "web")])
    def test_place(self, name, url):
        """Every kind of URL; of a web server, which lists nothing, verify says what it has not looked for."""
        self.put("text")
        self.put("text", "a b/ü+%20=1")
        data = files_of(os.path.join(self.local, "text"))
        self.store.region = "auto" if name == "gs" else self.store.region
        self.store.put_dataset("owner/name", {f"x/text/{file}": content for file, content in data.items()})
        self.store.put_dataset("owner/root", data)
        for file, content in data.items():
            self.store.put("root", file, content)
            self.store.put_file(f"a b/text/{file}", content)
        url = self.store.url + quote("/web/a b/text") if url == "web" else url
        said = self.bload("verify", url, "--endpoint", self.store.url)
        self.assertIn(f"{url}: verified, no errors", said)
        self.assertEqual("is not listed, so files that belong to no shard are not found" in said, name == "web")
        self.assertEqual(self.answer("info", url, "--endpoint", self.store.url)[0], self.answer("info", "text")[0])

    def test_options(self):
        """A public bucket without credentials, and a server that only an option names."""
        url = self.put("text")
        self.store.public.add("bucket")
        del self.environment["AWS_ENDPOINT_URL"], self.environment["AWS_ACCESS_KEY_ID"], self.environment["AWS_SECRET_ACCESS_KEY"]
        for command in ("info",), ("verify",), ("export", "--to", "mds", "-o", "out"), ("cat", FORMS["text"][2]), ("show", "-o", "x.svg"), ("report",):
            self.answer(command[0], url, *command[1:], "--anonymous", "--endpoint", self.store.url)
        self.assertFalse([request for request in self.store.requests if "authorization" in request.headers])


class Views(Datasets):
    """Views of datasets in the store: in the store themselves, beside their sources, or here."""

    def setUp(self):
        super().setUp()
        self.bload("view", "text", "zstd", "-T", "300", "--oversize", "split", "--epochs", "2", "-o", "near", "-q")
        self.sources = [self.put("text"), self.put("zstd")]

    def name(self, view, paths):
        """The view with other paths of its sources."""
        shutil.copytree(os.path.join(self.folder.name, "near"), view)
        with open(os.path.join(view, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        for source, path in zip(manifest["sources"], paths):
            source["path"] = path
        write_manifest(os.path.join(view, "manifest.json"), manifest)
        return view

    def far(self, name):
        if name == "here":
            return self.name(os.path.join(self.folder.name, "here"), self.sources)
        view = self.name(os.path.join(self.folder.name, "view"), ["../../text", "../../zstd"])
        for file, data in files_of(view).items():
            self.store.put("bucket", f"x/views/deep/{file}", data)
        return "s3://bucket/x/views/deep"

    @each(["here", "there"])
    def test_view(self, name):
        view = self.far(name)
        self.assertIn("verified, no errors: a view of 2 datasets", self.bload("verify", view))
        for task in "0/2", "1/2":
            self.bload("verify", view, "--task", task)
        far, near = (json.loads(self.answer("info", "--json", where)[0]) for where in (view, "near"))
        self.assertEqual({**far, "sources": 0, "checksum": 0}, {**near, "sources": 0, "checksum": 0})
        for command in ("cat", "text/t.jsonl#0"), ("find", "zstd/t.jsonl#0"), ("find", "zstd/t.jsonl#0", "--epoch", "1"):
            far, near = (self.answer(command[0], where, *command[1:])[0] for where in (view, "near"))
            self.assertEqual(re.sub(rb"\S+/shards/", b"shards/", far), re.sub(rb"\S+/shards/", b"shards/", near))
        self.answer("export", view, "--to", "mds", "-o", "out", "-j", "2")
        self.answer("export", "near", "--to", "mds", "-o", "same")
        far, near = files_of(os.path.join(self.folder.name, "out")), files_of(os.path.join(self.folder.name, "same"))
        self.assertEqual([name for name in far if far[name] != near.get(name)], ["export.json"])

    def test_make(self):
        """bload view of datasets at URLs: the plans of a view of local copies; the URLs are its sources, and no shard is read."""
        self.bload("view", "text=2", "zstd=1", "-T", "300", "--oversize", "split", "-o", "local", "-q")
        self.store.requests.clear()
        said = self.bload("view", self.sources[0] + "/=2", self.sources[1] + "=1", "-T", "300", "--oversize", "split", "-o", "view")
        self.assertRegex(said, r"URLs: \d+ requests")
        self.assertEqual((self.count("GET", "/shards/"), self.count("HEAD")), (0, 6))
        far, near = (files_of(os.path.join(self.folder.name, name)) for name in ("view", "local"))
        self.assertEqual([name for name in far if far[name] != near[name]], ["manifest.json"])
        sources = json.loads(far["manifest.json"])["sources"]
        self.assertEqual([(source["name"], source["path"]) for source in sources], list(zip(("text", "zstd"), self.sources)))
        self.bload("verify", "view")
        self.assertEqual(self.answer("cat", "view", "text/t.jsonl#0"), self.answer("cat", "local", "text/t.jsonl#0"))
        before = far["manifest.json"]
        self.bload("view", self.sources[0] + "=2", self.sources[1] + "/=1", "-T", "300", "--oversize", "split", "-o", "view")
        self.assertEqual(self.read("view/manifest.json"), before)

    def test_levels(self):
        """Levels, one of the datasets local; a key may have an equals sign."""
        self.put("text", "lang=en")
        self.bload("view", "s3://bucket/lang=en/text", "zstd", "--levels", "64,200", "--batch-size", "16", "-o", "levels")
        self.bload("verify", "levels/T-64")
        self.assertIn("named twice", self.bload("view", self.sources[0], self.sources[0] + "/", "-T", "300", "-o", "twice", status=2))
        self.assertIn("is not a finished dataset", self.bload("view", "s3://bucket/none", "-T", "300", "-o", "none", status=2))

    @each(["here", "there"])
    def test_source(self, name):
        """A source that is missing, another one, damaged, or refused."""
        view = self.far(name)
        objects = self.store.buckets["bucket"]
        kept = {key: objects.pop(key) for key in list(objects) if key.startswith("x/text/")}
        said = self.bload("verify", view, status=1)
        self.assertIn("manifest.json: ", said)
        self.assertIn("the source text: s3://bucket/x/text is not a finished dataset", said)
        self.assertIn("put it back", self.bload("cat", view, "text/t.jsonl#0", status=1))
        objects.update(kept)
        shard = self.shards("zstd")[1]
        whole, objects[shard] = objects[shard], Object(objects[shard].data[:-1] + b"x")
        self.assertIn(f"zstd: {shard[len('x/zstd/'):]}: ", self.bload("verify", view, status=1))
        objects[shard] = whole
        for part in "/text/manifest.json", "/zstd/index.safetensors", shard[-30:]:
            self.store.fault = lambda request, part=part: "error 403 AccessDenied" if part in request.path else None
            said = self.bload("verify", view, status=1)
            self.assertIn(part.split("/")[-1], said)
            self.assertNotRegex(said, r"has \d+ error|damaged|differs")


class Counted(Datasets):
    def test_small(self):
        """Each object is fetched once; verify lists the shards and asks for none by itself."""
        url = self.put("text")
        shards = len(self.shards("text"))
        self.bload("info", url)
        self.assertEqual((self.count("HEAD"), self.count("GET")), (3, 3))
        self.store.requests.clear()
        self.bload("verify", url, "-j", "3")
        self.assertEqual((self.count("HEAD"), self.count("GET", "/bucket/"), self.count("GET")), (4, 4 + shards, 4 + shards + 2))
        self.store.requests.clear()
        self.bload("export", url, "--to", "mds", "-o", "out", "-j", "3")
        self.assertEqual((self.count("GET", "/shards/"), self.count("GET")), (shards, 2 + shards))

    def test_ranges(self):
        """One sequence of a large shard costs the bytes around it; all of them are read once, in large parts."""
        chosen = random.Random(3)
        self.write("large.jsonl", b"".join(json.dumps({"text": chosen.randbytes(1000).hex()}).encode() + b"\n" for _ in range(3000)))
        for form, more in ("plain", ()), ("packed", ("--compress", "zstd", "--frame-size", "64K")):
            self.bload("pack", "large.jsonl", *TEXT, "-T", "4096", "-o", form, "-q", *more)
            for name, data in files_of(os.path.join(self.folder.name, form)).items():
                self.store.put("bucket", f"x/{form}/{name}", data)
            size = len(self.store.buckets["bucket"][self.shards(form)[0]].data)
            self.store.requests.clear()
            one = self.table(f"{form}/sequences.tsv")[0][1500][0]
            self.assertEqual(self.answer("cat", f"s3://bucket/x/{form}", one), self.answer("cat", form, one))
            got = [request.headers["range"][len("bytes="):].split("-") for request in self.store.requests if "/shards/" in request.path and request.method == "GET"]
            self.assertLess(sum(int(end) - int(begin) + 1 for begin, end in got), min(size / 4, 400_000))
            self.assertLessEqual(len(got), 8)
            self.store.requests.clear()
            self.bload("verify", f"s3://bucket/x/{form}", "-j", "1")
            self.assertLessEqual(self.count("GET", "/shards/"), size / (1 << 20) + 12)


class Faults(Datasets):
    def test_damage(self):
        """A byte of a shard, a shard that is missing, strangers, and tables that are missing, short or changed: each is named."""
        def flip(data, at):
            return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
        for form in "text", "zstd":
            url = self.put(form)
            objects, shard = self.store.buckets["bucket"], self.shards(form)[2]
            name = shard[len(f"x/{form}/"):]
            for key, change, words in (
                    (shard, lambda data: flip(data, len(data) // 2), f"{name}: "), (shard, lambda data: data[:-5], f"{name}: "), (shard, lambda data: None, f"{name}: is missing"),
                    (f"x/{form}/shards/00000/more", lambda data: b"x", "shards/00000/more: belongs to no shard of the dataset"),
                    (f"x/{form}/plans/more", lambda data: b"x", "plans/more: belongs to no epoch of the dataset"),
                    (f"x/{form}/sequences.tsv", lambda data: None, "sequences.tsv: is missing"), (f"x/{form}/index.safetensors", lambda data: data[:-8], "index.safetensors: has "),
                    (f"x/{form}/shards.tsv", lambda data: data.replace(b"0", b"1", 1), "shards.tsv: checksum "),
                    (f"x/{form}/manifest.json", lambda data: data.replace(b"256", b"257", 1), "manifest.json: wrong checksum")):
                before = objects.get(key)
                after = change(before.data if before else None)
                objects[key] = Object(after) if after is not None else None
                if after is None:
                    del objects[key]
                said = self.bload("verify", url, status=1)
                self.assertIn(words, said)
                self.assertRegex(said, rf"{url} has \d+ errors?\n")
                self.assertNotIn("--repair", said)
                if before:
                    objects[key] = before
                else:
                    del objects[key]
            self.bload("verify", url)

    @each(["manifest.json", "index.safetensors", "sequences.tsv", "shards.tsv", "shard-00000003", "plans/epoch-00001.safetensors", "list"])
    def test_refused(self, part):
        """What a store refuses is the error of the run, in the store's words, and nothing is called damaged."""
        url = self.put("epochs")
        self.store.fault = lambda request: "error 403 AccessDenied" if (part in request.path or (part == "list" and "list-type" in request.query)) else None
        said = self.bload("verify", url, status=0 if part == "list" else 1)
        self.assertIn("is not listed" if part == "list" else f"{part}", said)
        if part != "list":
            self.assertRegex(said.splitlines()[-1], r"^bload: verify: s3://\S+: ")
        for word in "damaged", "checksum", "missing", "belongs", "has 1 error", "--repair":
            self.assertNotIn(word, said)
        for command in ("info",), ("export", "--to", "mds", "-o", "out"):
            done = run(self.folder.name, command[0], url, *command[1:], **self.environment)
            self.assertNotIn(b"damaged", done.stderr)
            self.assertIn(done.returncode, (0, 1))

    def test_busy(self):
        """A store that is busy for a while costs time, and no error."""
        url = self.put("text")
        seen = set()

        def once(request):
            if (request.method, request.path, request.query) in seen:
                return None
            seen.add((request.method, request.path, request.query))
            return "status 503 0"
        self.store.fault = once
        self.assertIn("repeated", self.bload("verify", url))

    @each(["shard-00000003.safetensors", "sequences.tsv"])
    def test_fails(self, name):
        """A store that stays busy for one object ends the run, which asks for the object no more often than any other does."""
        url = self.put("text")
        self.store.fault = lambda request: "status 503 0" if request.path.endswith(name) else None
        said = self.bload("verify", url, "-q", status=1)
        self.assertRegex(said, rf"^bload: verify: {url}/\S*{name}: cannot be fetched: the server answers 503; 8 tries\n$")
        self.assertEqual(len([request for request in self.store.requests if request.path.endswith(name)]), 8)

    def test_changed(self):
        """A shard that is put anew while it is read ends the run; verify does not call it damaged."""
        url = self.put("text")
        shard = self.shards("text")[4]

        def change(request):
            if "list-type" in request.query and "shards" in request.query:
                return None
            if request.path.endswith(shard[-20:]) and request.method == "GET":
                self.store.buckets["bucket"][shard] = Object(self.store.buckets["bucket"][shard].data[::-1])
        self.store.fault = change
        said = self.bload("verify", url, status=1)
        self.assertIn(shard, said.splitlines()[-1])
        self.assertNotIn("error", said)

    @each([("nothing", "info", "s3://bucket/none", 1, "s3://bucket/none is not a finished dataset: s3://bucket/none/manifest.json: there is no such object"),
           ("bucket", "export", "s3://nowhere/none", 2, "there is no such bucket"), ("verify", "verify", "s3://bucket/none", 1, "is not a finished dataset"),
           ("cat", "cat", "s3://bucket/none", 2, "is not a finished dataset"), ("find", "find", "s3://bucket/none", 2, "is not a finished dataset"),
           ("show", "show", "s3://bucket/none", 2, "is not a finished dataset"), ("report", "report", "s3://bucket/none", 1, "is not a finished dataset"),
           ("scheme", "info", "ftp://example.org/x", 2, "URLs of this kind are not read"), ("no_bucket", "verify", "s3://", 2, "it has no bucket"),
           ("query", "info", "https://example.org/x?a=b", 2, "a URL with a query is one of a file"), ("manifest", "info", "s3://bucket/x/text/manifest.json", 1, "is not a finished dataset"),
           ("denied", "info", "s3://secret/x", 1, "s3://secret/x/manifest.json: ")])
    def test_nothing(self, _, command, url, status, words):
        """A URL without a dataset, in one line."""
        self.put("text")
        self.store.put("secret", "x/manifest.json", b"{}")
        self.store.denied.add("secret")
        more = {"export": ("--to", "mds", "-o", "out"), "cat": ("a",), "find": ("a",)}.get(command, ())
        said = self.bload(command, url, *more, status=status)
        self.assertIn(words, said)
        self.assertEqual(said.count("\n"), 1, said)

    def test_not_written(self):
        """Plans of further epochs are refused, and what finds the dataset complete changes nothing."""
        url = self.put("text")
        for status, command in (2, ("plan", "--dataset", url)), (0, ("finish", url)), (0, ("finish", url + "/")):
            said = self.bload(*command, status=status)
            self.assertEqual(said.count("\n"), 1, said)
        self.assertEqual(self.bload("status", url), "")
        self.assertEqual([request for request in self.store.requests if request.method not in ("GET", "HEAD")], [])
