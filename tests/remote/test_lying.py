"""Servers that lie: about sizes, without end, slowly, and with redirects; and who gets credentials."""
import json
import os
import shutil
import subprocess
import sys
import time

import bload
from bload._core import transfer, web
from harness import each
from remote import Far, same
from sample import reseal, write_manifest
from server import Server

MOST = 400 << 20  # bytes of a process that reads: numpy, and 64 MB of a manifest twice
ENDS = 120        # seconds; it gives up after a few, with two tries and a timeout of half a second

# Reads everything, and tells the error's class and text, and the memory.
PROGRAM = """
import resource, sys
import bload
try:
    for _ in bload.open(sys.argv[1], retries=1, timeout=0.5, cache=sys.argv[2] or None):
        pass
    print("none")
except bload.Error as error:
    print(type(error).__name__, str(error).replace("\\n", " ")[:300])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)
"""


def pour(handler, piece, pause=0.0):
    """Sends without end; until the client goes away."""
    while not handler.server.stopped.wait(pause) if pause else not handler.server.stopped.is_set():
        handler.wfile.write(piece)


def begin(handler, status, size, first, end, *more):
    handler.send_response(status)
    handler.send_header("Content-Range", f"bytes {first}-{end - 1}/{size}")
    for name, value in more:
        handler.send_header(name, value)
    handler.end_headers()


def endless_chunks(handler, file, first, end):
    begin(handler, 206, os.path.getsize(file), first, end, ("Transfer-Encoding", "chunked"))
    pour(handler, b"10000\r\n" + bytes(1 << 16) + b"\r\n")


def endless_chunks_of_all(handler, file, first, end):
    begin(handler, 200, 0, 0, 1, ("Transfer-Encoding", "chunked"))
    pour(handler, b"10000\r\n" + bytes(1 << 16) + b"\r\n")


def long(handler, file, first, end):
    begin(handler, 206, os.path.getsize(file), first, end, ("Content-Length", 1 << 40))
    pour(handler, bytes(1 << 16))


def long_all(handler, file, first, end):
    begin(handler, 200, 0, 0, 1, ("Content-Length", 1 << 40))
    pour(handler, bytes(1 << 16))


def long_error(handler, file, first, end):
    begin(handler, 404, 0, 0, 1, ("Content-Length", 1 << 40))
    pour(handler, bytes(1 << 16))


def long_redirect(handler, file, first, end):
    begin(handler, 302, 0, 0, 1, ("Content-Length", 1 << 40), ("Location", "/x"))
    pour(handler, bytes(1 << 16))


def until_closed(handler, file, first, end):
    begin(handler, 206, os.path.getsize(file), first, end)
    pour(handler, bytes(1 << 16))


def endless_continue(handler, file, first, end):
    pour(handler, b"HTTP/1.1 100 Continue\r\n\r\n")


def endless_trailer(handler, file, first, end):
    with open(file, "rb") as opened:
        opened.seek(first)
        data = opened.read(end - first)
    begin(handler, 206, os.path.getsize(file), first, end, ("Transfer-Encoding", "chunked"))
    handler.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n0\r\n")
    pour(handler, b"X: y\r\n" * 1000)


def drip(handler, file, first, end):
    begin(handler, 206 if "Range" in handler.headers else 200, os.path.getsize(file), first, end, ("Content-Length", end - first))
    pour(handler, b" ", 0.1)


def dripping_header(handler, file, first, end):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    pour(handler, b"y", 0.1)


LIES = [endless_chunks, endless_chunks_of_all, long, long_all, long_error, long_redirect, until_closed, endless_continue, endless_trailer, drip,
        dripping_header]
BAD = ("http://[", "http://[::1", "//[x", "http://host:99999999/", "http://host:-1/x", "http://host:x/", "file:///etc/passwd", "ftp://host/x",
       "http://", "http:///x", "x:" + "y" * 60000, "javascript:0", "http://a..b/x", "http://" + "a" * 300 + "/x", "http://127.0.0.1:1/\x7f\xff x")


class Lies(Far):
    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, transfer, "FIRST_PAUSE", transfer.FIRST_PAUSE)
        transfer.FIRST_PAUSE = 0.01

    @each([(f"{lie.__name__}_{name}", lie, name) for lie in LIES for name in ("manifest.json", "index.safetensors", "shard-00000001")
           if name != "shard-00000001" or lie in (long, drip, endless_chunks, long_all)])
    def test_lie(self, _, lie, name):
        """Whatever a server sends: a bload.Error in bounded time and memory."""
        self.server.faults = lambda path, begin, end, number: lie if name in path else None
        done = subprocess.run([sys.executable, "-c", PROGRAM, self.url(self.packed("shards")), self.cache], capture_output=True, text=True, timeout=ENDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        said, memory = done.stdout.splitlines()
        self.assertRegex(said, "Error .*" + (name if "404" not in said and "not complete" not in said else ""))
        self.assertLess(int(memory), MOST)

    @each([("manifest", "sequences.tsv"), ("index", "index.safetensors"), ("shards", "shards.tsv")])
    def test_claimed_size(self, _, name):
        """A file that claims 2^46 bytes, by a server that claims the same."""
        path = self.path("claims-" + name.partition(".")[0])
        shutil.copytree(self.packed("shards"), path)
        with open(os.path.join(path, "manifest.json")) as file:
            manifest = json.load(file)
        for entry in manifest["files"]:
            if entry["name"] == name:
                entry["bytes"] = 1 << 46
        write_manifest(os.path.join(path, "manifest.json"), manifest)

        def claim(handler, file, first, end):
            begin(handler, 206, 1 << 46, first, end, ("Content-Length", end - first))
            pour(handler, bytes(1 << 16))
        self.server.faults = lambda path, begin, end, number: claim if name in path else None
        done = subprocess.run([sys.executable, "-c", PROGRAM, self.url(path), self.cache], capture_output=True, text=True, timeout=60)
        said, memory = done.stdout.splitlines()
        self.assertRegex(said, f"^Error .*{name}: there is no memory for the 70368744177664 bytes")
        self.assertLess(int(memory), MOST)

    def test_claimed_shard(self):
        path = self.path("claimed-shard")
        shutil.copytree(self.packed("shards"), path)
        with open(os.path.join(path, "shards.tsv")) as file:
            rows = [line.split("\t") for line in file]
        rows[1][3] = str(1 << 46)
        with open(os.path.join(path, "shards.tsv"), "w") as file:
            file.writelines("\t".join(row) for row in rows)
        reseal(path)
        done = subprocess.run([sys.executable, "-c", PROGRAM, self.url(path), self.cache], capture_output=True, text=True, timeout=60)
        self.assertRegex(done.stdout, "^DamagedError .*shard-00000000.safetensors: the object has changed")

    def test_slow_is_not_stalled(self):
        """A server that is slow, but not slower than allowed, is waited for longer than the timeout."""
        def slowly(handler, file, first, end):
            with open(file, "rb") as opened:
                opened.seek(first)
                data = opened.read(end - first)
            begin(handler, 206, os.path.getsize(file), first, end, ("Content-Length", len(data)))
            for at in range(0, len(data), 1 << 10):
                handler.wfile.write(data[at:at + (1 << 10)])
                time.sleep(0.05)
        path = self.packed("split", "--shard-size", "1M", name="one-shard")
        self.server.faults = lambda path, begin, end, number: slowly if "/shards/0" in path else None
        self.addCleanup(setattr, web, "SLOWEST", web.SLOWEST)
        web.SLOWEST = 4 << 10
        same(self, self.far(path, timeout=0.4, retries=0)[0], bload.open(path)[0])

    def test_manifest_again(self):
        """A manifest that came wrong is fetched again, as other files are."""
        path = self.packed("shards")
        for fault in "wrong", lambda handler, file, first, end: begin(handler, 200, 1, 0, 1, ("Content-Length", 0)):
            self.server.forget()
            self.server.faults = lambda path, begin, end, number, fault=fault: fault if number <= 2 else None
            self.assertEqual(len(self.far(path)), len(bload.open(path)))
            self.assertEqual(len(self.asked("manifest.json")), 3)

    def test_reason(self):
        """What a terminal would obey is not in a message."""
        def refuse(handler, *_):
            handler.wfile.write(b"HTTP/1.1 418 \x1b[31mred\x9b2J" + b"x" * 30000 + b"\r\nContent-Length: 0\r\n\r\n")
        self.server.faults = lambda *_: refuse
        with self.assertRaises(bload.Error) as found:
            self.far(self.packed("plain"))
        self.assertRegex(str(found.exception), r"the server says 418 \\x1b\[31mred\\x9b2Jx+$")
        self.assertLess(len(str(found.exception)), 400)

    def test_redirect(self):
        """Redirects to what is nothing on a web server, and malformed ones."""
        for location in BAD:
            def lead(handler, file, first, end, location=location):
                handler.wfile.write(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location.encode("latin-1") + b"\r\n\r\n")
            self.server.faults = lambda *_, lead=lead: lead
            with self.assertRaises(bload.Error, msg=location):
                self.far(self.packed("plain"), retries=0)
        for wrong in "http://[", "http://h:99999999/x", "https://", "file://[", "http://h:x/", "://", "http://\0/", "http://a b/", "s3://[":
            with self.assertRaises(bload.Error, msg=wrong):
                bload.open(wrong, retries=0)


SECRET = {"Authorization": "Bearer secret", "Cookie": "a=secret", "X-Api-Key": "secret"}


class Credentials(Far):
    """Each belongs to a scheme, a host and a port."""

    def setUp(self):
        super().setUp()
        self.other = Server(self.directory)
        self.addCleanup(self.other.__exit__)

    def given(self, server):
        """The names of secrets that a server was given, by request."""
        return [{name for name, value in headers.items() if "secret" in value} for _, headers in server.headers]

    def leading(self, target):
        def lead(handler, file, first, end):
            handler.send_response(302)
            handler.send_header("Location", target + handler.path)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        return lambda path, begin, end, number: lead if "/shards/0" in path else None

    def test_redirect(self):
        """A redirect to another port loses all that was given; one to the same server keeps it."""
        path = self.packed("shards")
        self.server.faults = self.leading(self.other.url)
        far, local = self.far(path, storage_options={"headers": SECRET}), bload.open(path)
        same(self, far[0], local[0])
        self.assertEqual(set(map(frozenset, self.given(self.server))), {frozenset(SECRET)})
        self.assertTrue(self.given(self.other))
        self.assertEqual(set(map(frozenset, self.given(self.other))), {frozenset()})

    def test_source(self):
        """A view's source on another server gets none, but its own; one on the same server gets those of the view."""
        path, view = self.packed("shards"), self.path("view")
        self.bload("view", "-q", path, "-T", "96", "-o", view)
        same(self, self.far(view, storage_options={"headers": SECRET})[0], bload.open(view)[0])
        self.assertEqual(set(map(frozenset, self.given(self.server))), {frozenset(SECRET)})
        elsewhere, expected = self.path("view-elsewhere"), bload.open(view)[0]
        shutil.copytree(view, elsewhere)
        with open(os.path.join(elsewhere, "manifest.json")) as file:
            manifest = json.load(file)
        manifest["sources"][0]["path"] = f"{self.other.url}/{os.path.relpath(path, self.directory)}"
        write_manifest(os.path.join(elsewhere, "manifest.json"), manifest)
        for chained in "zip://a::https://b/c", "simplecache::s3://a/b", "filecache::file:///etc":
            wrong = {**manifest, "sources": [{**manifest["sources"][0], "path": chained}]}
            write_manifest(os.path.join(view, "manifest.json"), wrong)
            self.assertRaisesRegex(bload.DamagedError, "\"sources\" is missing or invalid", self.far, view)
        for options, given in (({"headers": SECRET}, set()), ({"headers": SECRET, self.other.url: {"headers": {"Cookie": "other secret"}}}, {"Cookie"})):
            self.other.forget()
            same(self, self.far(elsewhere, cache=None, storage_options=options)[0], expected)
            self.assertEqual(set(map(frozenset, self.given(self.other))), {frozenset(given)})
        # A view on this machine is on no server: whom the options are for must be said.
        self.assertRaisesRegex(bload.OptionError, f"storage_options name no host, but this view has the source {self.other.url}", bload.open, elsewhere,
                               storage_options={"headers": SECRET})
        self.other.forget()
        bload.open(elsewhere, storage_options={self.other.url: {"headers": SECRET}})[0]
        self.assertEqual(set(map(frozenset, self.given(self.other))), {frozenset(SECRET)})

    def test_by_host(self):
        """Options by host alone, with the usual port or without; and what is no dict."""
        self.far(self.packed("plain"), storage_options={self.server.url + "/any": {"headers": SECRET}, "https://other.example": {"headers": {"X": "1"}}})
        self.assertEqual(set(map(frozenset, self.given(self.server))), {frozenset(SECRET)})
        self.assertEqual(web.origin_of("https://a.example:443/x"), web.origin_of("https://A.example"))
        for one, other in ("https://a/", "http://a/"), ("http://a/", "http://a:81/"), ("http://a/", "http://b/"), ("s3://a/", "s3://b/"):
            self.assertNotEqual(web.origin_of(one), web.origin_of(other))
        self.assertRaises(TypeError, self.far, self.packed("plain"), storage_options={self.server.url: 3})
        self.assertRaises(bload.OptionError, self.far, self.packed("plain"), storage_options={"headers": {"X": 3}})
