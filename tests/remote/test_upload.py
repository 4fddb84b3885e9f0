"""Objects that src/remote writes: conditions, uploads in parts, answers that are lost, and stores that refuse."""
import hashlib
import logging
import os
import random
import signal
import subprocess
import tempfile
import time
import unittest

from harness import each
from servers import KEYS, Weed
from test_client import PROBE, Certified, Stored

try:
    import boto3
    from moto.server import ThreadedMotoServer
except ImportError:
    ThreadedMotoServer = None

MIB = 1 << 20
SMALL = b"small content\n"
LARGE = random.Random(3).randbytes(20 * MIB + 12345)  # three parts


def tag_of(data):
    """The ETag of an object that was written by one request, or in parts of 8 MiB."""
    if len(data) <= 8 * MIB:
        return hashlib.md5(data).hexdigest()
    parts = [data[at:at + 8 * MIB] for at in range(0, len(data), 8 * MIB)]
    return f"{hashlib.md5(b''.join(hashlib.md5(part).digest() for part in parts)).hexdigest()}-{len(parts)}"


class Written(Stored):
    """A test with a store of its own that has one bucket, and two files."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.files = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.files.cleanup)
        for name, data in ("small", SMALL), ("other", b"other content\n"), ("large", LARGE), ("turned", LARGE[::-1]), ("empty", b""), ("limit", LARGE[:8 * MIB]):
            with open(os.path.join(cls.files.name, name), "wb") as file:
                file.write(data)

    def setUp(self):
        super().setUp()
        self.store.buckets["bucket"] = self.bucket = {}

    def probe(self, *arguments, timeout=10, **more):
        return super().probe(*arguments, timeout=timeout, **more)

    def file(self, name):
        return os.path.join(self.files.name, name)

    def write(self, name, condition="any", key="a/b", **more):
        """Writes a file: what the probe says became of it."""
        command = "upload" if name in ("large", "turned", "limit") else "put"
        return self.good(command, f"s3://bucket/{key}", self.file(name), condition, **more).out.decode().strip()

    def stored(self, data, key="a/b"):
        """The object has these bytes, and no upload is left."""
        self.assertEqual(self.bucket[key].data, data)
        self.assertEqual(self.store.uploads, {})

    def faults(self, *faults, method=None, query=None):
        """The first requests, of this method and with this in the query, have these faults, one after the other."""
        left = list(faults)

        def fault(request):
            fits = (method is None or request.method == method) and (query is None or query in request.query)
            return left.pop(0) if left and fits else None
        self.store.fault = fault
        return left

    def asked(self):
        return [(r.method, "&".join(part.partition("=")[0] for part in r.query.split("&"))) for r in self.store.requests]

    def check_request(self, what):
        """Whatever happens to a request, the object has the bytes. Only an upload whose beginning was not answered stays."""
        fault, _, number = what.partition("@")
        self.store.fault = lambda request: fault if request.number == int(number) else None
        self.assertEqual(self.write("large", "new"), f"written {tag_of(LARGE)}")
        self.assertEqual(self.bucket["a/b"].data, LARGE)
        self.assertEqual(len(self.store.uploads), int(number == "1" and fault.startswith("lost")))


class Putting(Written):
    def test_content(self):
        for key in "a/b", "a b+c/é%20&=", "~-_.x":
            self.assertEqual(self.write("small", key=key), f"written {tag_of(SMALL)}")
            self.stored(SMALL, key)
        self.assertEqual(self.write("empty"), f"written {tag_of(b'')}")
        self.stored(b"")
        self.assertEqual(self.asked(), [("PUT", "")] * 4)

    def test_new(self):
        self.assertEqual(self.write("small", "new"), f"written {tag_of(SMALL)}")
        self.assertEqual(self.write("other", "new"), "conflict")
        self.assertEqual(self.write("small", "new"), "conflict")  # the same bytes, of somebody else
        self.stored(SMALL)
        self.assertEqual(self.asked(), [("PUT", "")] * 3)

    def test_same(self):
        """Only the object that the caller knows is replaced."""
        self.assertEqual(self.write("other", tag_of(SMALL)), "conflict")  # there is none
        self.write("small")
        self.assertEqual(self.write("other", tag_of(b"another")), "conflict")
        self.stored(SMALL)
        self.assertEqual(self.write("other", tag_of(SMALL)), f"written {tag_of(b'other content' + bytes([10]))}")
        self.stored(b"other content\n")

    @each([("weak", "W/x"), ("time", "Tue, 14 Nov 2023 22:13:20 GMT"), ("none", "")])
    def test_wrong_tags(self, _, tag):
        """A tag that no store compares is never taken for no condition."""
        self.fails(1, "the store gave no ETag that it compares", "put", "s3://bucket/a", self.file("small"), tag)
        self.assertEqual(self.store.requests, [])

    @each(["lost", "lost status 500", "lost status 503", "lost status 408"])
    def test_lost_answers(self, fault):
        """A write that was done counts as done, though the next try meets its object."""
        for condition in "new", tag_of(b"before"), "any":
            if condition != "new":
                self.store.put("bucket", "a/b", b"before")
            else:
                self.bucket.pop("a/b", None)
            self.faults(fault)
            self.assertEqual(self.write("small", condition), f"written {tag_of(SMALL)}")
            self.stored(SMALL)

    def test_lost_and_replaced(self):
        """Where the answer was lost and another object is there, it is a conflict."""
        def fault(request):
            if request.number == 1:
                return "lost"
            if request.number == 2:
                self.store.put("bucket", "a/b", b"somebody else's")
            return None
        self.store.fault = fault
        self.assertEqual(self.write("small", "new"), "conflict")
        self.stored(b"somebody else's")

    def test_lost_and_changing(self):
        """The object that is there is replaced while it is compared."""
        def fault(request):
            if request.method != "PUT" and request.number < 6:
                self.store.put("bucket", "a/b", b"%-13d\n" % request.number)
            return "lost" if request.number == 1 else None
        self.store.fault = fault
        self.assertEqual(self.write("small", "new"), "conflict")
        self.stored(b"%-13d\n" % 5)

    @each([
        ("reset", "reset"), ("status_500", "status 500"), ("slow_down", "error 503 SlowDown"), ("wait", "status 503 1"), ("half", "half"), ("unread", "unread"),
        ("conflict", "error 409 ConditionalRequestConflict"), ("aborted", "error 409 OperationAborted"), ("timeout", "error 400 RequestTimeout"),
        ("silence", "silence 3"), ("nonsense", "nonsense"), ("digest", "error 400 BadDigest")])
    def test_repeated(self, name, fault):
        """What passes is tried again, and the bytes are sent anew."""
        self.faults(fault, fault)
        began = time.monotonic()
        is_large = name in ("half", "unread")
        self.assertEqual(self.write("limit" if is_large else "small", "new", timeout=1 if name == "silence" else 10),
                         f"written {tag_of(LARGE[:8 * MIB] if is_large else SMALL)}")
        if name == "wait":
            self.assertGreaterEqual(time.monotonic() - began, 2)

    @each([
        ("denied", "error 403 AccessDenied", "access denied: the credentials may not write it"), ("teapot", "status 418", "the server answers 418"),
        ("argument", "error 400 InvalidArgument", "cannot be written: the server answers 400 InvalidArgument: it is refused; 1 try"),
        ("missing", "error 501 NotImplemented", "the store does not have what bload needs"), ("bucket", "error 404 NoSuchBucket", "there is no such bucket"),
        ("elsewhere", "redirect http://127.0.0.1:1/", "the store redirects elsewhere")])
    def test_final(self, _, fault, words):
        self.faults(fault)
        found = self.fails(1, words, "put", "s3://bucket/a", self.file("small"), "new")
        self.assertTrue(found.message.startswith("s3://bucket/a: "), found.message)
        self.assertEqual(found.requests, 1)

    def test_given_up(self):
        self.faults(*["status 500"] * 9)
        self.fails(1, "s3://bucket/a: cannot be written: the server answers 500; 3 tries", "put", "s3://bucket/a", self.file("small"), "new", retries=2)

    def test_refused(self):
        for url, words in (("s3://bucket/", "it names no object"), (f"{self.store.url}/web/x", "objects are written to s3:// and gs:// alone"),
                           ("hf://datasets/o/n/x", "objects are written to s3:// and gs:// alone")):
            self.fails(2, f"{url}: {words}", "put", url, self.file("small"), "any")
        self.fails(2, "no credentials", "put", "s3://bucket/a", self.file("small"), "any", AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
        self.fails(1, "the secret access key does not belong", "put", "s3://bucket/a", self.file("small"), "any", AWS_SECRET_ACCESS_KEY="x")

    def test_region(self):
        self.store.regions["bucket"] = "eu-north-1"
        self.assertEqual(self.write("small", "new"), f"written {tag_of(SMALL)}")

    def test_prompt(self):
        """Small bodies are sent at once; before a part the store is asked (Expect: 100-continue), as it may refuse it."""
        for name in "empty", "small", "large":
            self.write(name)
        self.assertEqual(["expect" in r.headers for r in self.store.requests], [False, False, False, True, True, True, False])

    def test_digests(self):
        """Each object and each part has its MD5, which the store compares."""
        self.store.locked.add("bucket")
        for name, data in ("empty", b""), ("small", SMALL), ("large", LARGE):
            self.assertEqual(self.write(name), f"written {tag_of(data)}")
        self.assertEqual([r.method for r in self.store.requests if "content-md5" in r.headers], ["PUT"] * 5)

    def test_kept_connections(self):
        """Some versions of libcurl repeat a request themselves that a kept connection did not answer: the second answer is no conflict."""
        self.store.regions["bucket"] = "eu-north-1"  # the connection is used twice
        self.store.fault = lambda request: "lost" if request.number == 2 else None
        found = self.good("put", "s3://bucket/a/b", self.file("small"), "new")
        self.assertEqual(found.out.decode().strip(), f"written {tag_of(SMALL)}")
        self.assertEqual([r.method for r in self.store.requests], ["PUT", "PUT", "PUT", "HEAD", "GET"])
        self.assertIn(found.requests, (4, 5))

    def test_deleting(self):
        self.write("small")
        for _ in range(2):
            self.good("delete", "s3://bucket/a/b")
        self.assertEqual(self.bucket, {})
        self.fails(1, "s3://none/a: there is no such bucket", "delete", "s3://none/a")
        self.faults("error 403 AccessDenied")
        self.fails(1, "s3://bucket/a: access denied: the credentials may not remove it (s3:DeleteObject)", "delete", "s3://bucket/a")


class Parts(Written):
    def test_content(self):
        self.assertEqual(self.write("large", key="a b/é+"), f"written {tag_of(LARGE)}")
        self.stored(LARGE, "a b/é+")
        self.assertEqual(self.asked(), [("POST", "uploads"), *[("PUT", "partNumber&uploadId")] * 3, ("POST", "uploadId")])
        self.assertEqual(self.store.connections, 1)

    def test_other_libraries(self):
        """GnuTLS hashes and signs, too: Debian's libcurl3-gnutls under the first name."""
        library = "/usr/lib/x86_64-linux-gnu/libcurl-gnutls.so.4"
        if not os.path.exists(library):
            self.skipTest("no libcurl-gnutls.so.4")
        os.symlink(library, os.path.join(self.home.name, "libcurl.so.4"))
        self.assertEqual(self.write("large", "new", LD_LIBRARY_PATH=self.home.name), f"written {tag_of(LARGE)}")
        self.stored(LARGE)

    def test_one_part(self):
        """A file of one part is written by one request."""
        self.assertEqual(self.write("limit"), f"written {tag_of(LARGE[:8 * MIB])}")
        self.assertEqual(self.asked(), [("PUT", "")])

    def test_conditions(self):
        self.assertEqual(self.write("large", tag_of(SMALL)), "conflict")
        self.assertEqual(self.write("large", "new"), f"written {tag_of(LARGE)}")
        self.assertEqual(self.write("large", "new"), "conflict")
        self.assertEqual(self.write("large", tag_of(SMALL)), "conflict")
        self.stored(LARGE)
        self.store.put("bucket", "a/b", SMALL)
        self.assertEqual(self.write("large", tag_of(SMALL)), f"written {tag_of(LARGE)}")
        self.stored(LARGE)

    @each([f"{fault}@{number}" for fault in ("lost", "unread", "half") for number in (1, 3, 5)])
    def test_each_request(self, what):
        self.check_request(what)

    @each(["InternalError", "SlowDown", "ServiceUnavailable"])
    def test_inner_faults(self, code):
        """A completion that answers 200 may have failed."""
        self.faults(f"inner {code}", f"lost inner {code}", query="uploadId=")
        left = self.faults(f"inner {code}", f"inner {code}", method="POST", query="uploadId=")
        self.assertEqual(self.write("large", "new"), f"written {tag_of(LARGE)}")
        self.assertEqual(left, [])
        self.stored(LARGE)
        del self.bucket["a/b"]
        self.faults(f"lost inner {code}", method="POST", query="uploadId=")
        self.assertEqual(self.write("large", "new"), f"written {tag_of(LARGE)}")
        self.stored(LARGE)

    def test_inner_refusal(self):
        self.faults("inner InvalidPart", method="POST", query="uploadId=")
        self.fails(1, "cannot be written: the server answers 200 InvalidPart: it is refused; 1 try", "upload", "s3://bucket/a", self.file("large"), "new")
        self.assertEqual((self.bucket, self.store.uploads), ({}, {}))

    def test_nonsense(self):
        """An answer that says nothing is compared with what is there."""
        for fault, written in (("lost redirect x", False), ("lost nonsense", True)):
            self.bucket.clear()
            self.faults(fault, method="POST", query="uploadId=")
            found = self.probe("upload", "s3://bucket/a/b", self.file("large"), "new")
            self.assertEqual(found.status == 0, written, found.message)

    @each([
        ("conflict", "error 409 ConditionalRequestConflict", "POST"), ("ended", "error 404 NoSuchUpload", "POST"), ("part", "error 404 NoSuchUpload", "PUT")])
    def test_begun_anew(self, _, fault, method):
        """An upload that ends from elsewhere, or that another writer came between, is made again."""
        self.faults(fault, method=method, query="uploadId=")
        self.assertEqual(self.write("large", "new"), f"written {tag_of(LARGE)}")
        self.stored(LARGE)
        self.assertEqual(len(self.store.begun), 2)
        del self.bucket["a/b"]
        self.store.fault = lambda r: fault if r.method == method and "uploadId=" in r.query else None
        self.fails(1, "the store ended the upload 3 times", "upload", "s3://bucket/a/b", self.file("large"), "new")
        self.assertEqual((self.bucket, self.store.uploads), ({}, {}))

    @each([("part", "PUT", "uploadId="), ("completion", "POST", "uploadId=")])
    def test_failing(self, _, method, query):
        """An upload that fails is ended."""
        self.faults("error 403 AccessDenied", method=method, query=query)
        self.fails(1, "s3://bucket/a: access denied: the credentials may not write it", "upload", "s3://bucket/a", self.file("large"), "new")
        self.assertEqual((self.bucket, self.store.uploads, len(self.store.begun)), ({}, {}, 1))

    def start(self, fault):
        self.store.fault = fault
        return subprocess.Popen([PROBE, "--endpoint", self.store.url, "upload", "s3://bucket/a/b", self.file("large"), "new"],
                                env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait(self, process, number):
        while len(self.store.requests) < number:
            self.assertIsNone(process.poll())
            time.sleep(0.01)

    @each([2, 4, 5])
    def test_cancelled(self, number):
        """Ctrl-C ends the upload in the store, too."""
        process = self.start(lambda request: "silence 20" if request.number == number else None)
        self.wait(process, number)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=10)[1].decode()
        self.assertIn("s3://bucket/a/b: stopped", said)
        self.assertEqual((self.bucket, self.store.uploads, len(self.store.begun)), ({}, {}, 1))

    @each([1, 2, 3, 4, 5])
    def test_killed(self, number):
        """After a kill at any request the upload can be found and ended, and the same command does the work."""
        process = self.start(lambda request: "silence 20" if request.number == number else None)
        self.wait(process, number)
        process.kill()
        process.communicate()
        self.store.fault = None
        rows = [line.split("\t") for line in self.good("uploads", "s3://bucket/a/").out.decode().splitlines()]
        self.assertEqual([row[0] for row in rows], ["s3://bucket/a/b"] * int(number > 1))
        for url, name, begun in rows:
            self.assertLess(abs(int(begun) - time.time()), 60)
            for _ in range(2):
                self.good("abort", url, name)
        self.assertEqual(self.store.uploads, {})
        self.assertEqual(self.write("large", "new"), f"written {tag_of(LARGE)}")
        self.stored(LARGE)

    def test_shrinking(self):
        """A file that gets shorter meanwhile."""
        path = os.path.join(self.home.name, "shrinking")
        with open(path, "wb") as file:
            file.write(LARGE)

        def shrink(request):
            if request.number == 2:
                os.truncate(path, MIB)
        self.store.fault = shrink
        self.fails(1, "s3://bucket/a: the file that is uploaded ends at", "upload", "s3://bucket/a", path, "new")
        self.assertEqual((self.bucket, self.store.uploads), ({}, {}))

    def test_lists(self):
        """More uploads than a page has, with every kind of key; those of other prefixes are not listed."""
        from store_uploads import Upload
        self.store.page = 7
        keys = sorted([f"p/{i:03d}" for i in range(20)] + ["p/a b+c", "p/é&<x>", "p/%41"])
        for i, key in enumerate([*keys, "q/other", keys[3]]):
            self.store.uploads[f"id+/={i}"] = Upload("bucket", key)
        rows = [line.split("\t") for line in self.good("uploads", "s3://bucket/p/").out.decode().splitlines()]
        self.assertEqual(sorted(row[0] for row in rows), sorted(f"s3://bucket/{key}" for key in [*keys, keys[3]]))
        self.assertEqual(len({row[1] for row in rows}), 24)
        for url, name, _ in rows:
            self.good("abort", url, name)
        self.assertEqual([one.key for one in self.store.uploads.values()], ["q/other"])
        for i in range(30):
            self.store.uploads[f"old{i}"] = Upload("bucket", f"p/{i % 9}")
            self.store.uploads[f"old{i}"].begun = 1_700_000_000 + i
        for before, count in (1, 0), (1_700_000_011, 11), (1_700_000_011, 0), (0, 19):
            self.assertEqual(self.good("clear", "s3://bucket/p/", before).out, b"%d\n" % count)
        self.assertEqual([one.key for one in self.store.uploads.values()], ["q/other"])
        self.assertEqual(self.good("uploads", "s3://bucket/none/").out, b"")
        self.assertEqual(len(self.good("uploads", "s3://bucket").out.splitlines()), 1)
        self.store.endless = True
        self.fails(1, "s3://bucket/: the list of uploads does not end", "uploads", "s3://bucket/")
        self.fails(2, "s3://none/: there is no such bucket", "uploads", "s3://none/")


class AllFaults(Written):
    long = True

    @each([f"{fault}@{number}" for fault in ("lost", "reset", "status 500", "error 503 SlowDown", "half", "unread", "lost status 503", "closes")
           for number in range(1, 6)])
    def test_every_request(self, what):
        self.check_request(what)


class Conditions(Written):
    def test_good(self):
        self.good("conditional", "s3://bucket/some/folder/")
        self.assertEqual((self.bucket, self.store.uploads), ({}, {}))

    @each([
        ("If-None-Match", "the store ignores If-None-Match"), ("completion", "ignores If-None-Match where an upload in parts is completed"),
        ("If-Match", "the store ignores If-Match"), ("all", "the store does not have what bload needs: conditional writes")])
    def test_ignored(self, name, words):
        """A store that writes all the same is refused by name, and nothing stays there."""
        self.store.ignored.add(name)
        found = self.fails(2, words, "conditional", "s3://bucket/some/folder/")
        self.assertTrue(found.message.startswith("s3://bucket/some/folder/.bload-probe-"), found.message)
        self.assertEqual((self.bucket, self.store.uploads), ({}, {}))

    def test_refused(self):
        self.fails(2, "there is no such bucket", "conditional", "s3://none/")
        self.fails(2, "objects are written to s3:// and gs:// alone", "conditional", f"{self.store.url}/web/")
        self.faults("error 403 AccessDenied")
        self.fails(2, "access denied: the credentials may not write it", "conditional", "s3://bucket/")

    @each(range(1, 14))
    def test_lost_answers(self, number):
        """An answer that is lost makes no good store a bad one."""
        self.store.fault = lambda request: "lost" if request.number == number else None
        self.good("conditional", "s3://bucket/p/")
        self.assertEqual(self.bucket, {})


class SecureUploads(Certified):
    def test_payloads(self):
        """Bytes that TLS protects are not hashed for the signature."""
        self.serve("IP:127.0.0.1")
        with open(f"{self.home.name}/large", "wb") as file:
            file.write(LARGE)
        found = self.good("upload", "s3://bucket/b", f"{self.home.name}/large", "new", SSL_CERT_FILE=f"{self.certificate}.crt")
        self.assertEqual(found.out.decode().strip(), f"written {tag_of(LARGE)}")
        self.assertEqual(self.store.buckets["bucket"]["b"].data, LARGE)
        self.assertEqual([r.headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD" for r in self.store.requests], [False, True, True, True, False])


class Others(Written):
    """Servers of others, at self.endpoint, with a client of others."""
    has_times = has_tags_of_parts = True

    def probe(self, *arguments, options=(), **more):
        return super().probe(*arguments, options=("--endpoint", self.endpoint, *options), **more)

    def read(self, key):
        return self.client.get_object(Bucket="bucket", Key=key)["Body"].read()

    def left(self):
        return [one["Key"] for one in self.client.list_multipart_uploads(Bucket="bucket").get("Uploads", [])]

    def check_writing(self):
        # Bytes that meet others: where an answer is lost on a slow machine, the same bytes would count as written.
        for key, name, data, other in (("x/a b+é", "small", SMALL, "other"), ("x/empty", "empty", b"", "other"), ("x/large &", "large", LARGE, "turned")):
            self.client.delete_object(Bucket="bucket", Key=key)
            for condition, result in (("new", f"written {tag_of(data)}"), ("new", "conflict"), (tag_of(b"another"), "conflict"),
                                      (tag_of(data), f"written {tag_of(data)}"), ("any", f"written {tag_of(data)}")):
                if result == "conflict" and condition != "new" and name == "large" and not self.has_tags_of_parts:
                    continue
                self.assertEqual(self.write(other if result == "conflict" else name, condition, key), result, (key, condition))
            self.assertEqual(self.read(key), data)
            self.assertEqual(self.client.head_object(Bucket="bucket", Key=key)["ETag"], f'"{tag_of(data)}"')
            self.good("delete", f"s3://bucket/{key}")
            self.fails(2, "there is no such object", "stat", f"s3://bucket/{key}")
        self.assertEqual(self.left(), [])

    def check_uploads(self):
        begun = [self.client.create_multipart_upload(Bucket="bucket", Key=key)["UploadId"] for key in ("y/a b", "y/é", "z")]
        rows = [line.split("\t") for line in self.good("uploads", "s3://bucket/y/").out.decode().splitlines()]
        self.assertEqual(sorted(row[:2] for row in rows), sorted([["s3://bucket/y/a b", begun[0]], ["s3://bucket/y/é", begun[1]]]))
        for url, name, when in rows:
            self.assertLess(abs(int(when) - time.time()), 3600 if self.has_times else time.time())
            self.good("abort", url, name)
        self.assertEqual(self.left(), ["z"])
        for _ in range(2):
            self.good("abort", "s3://bucket/z", begun[2])
        self.assertEqual(self.left(), [])

    def check_conditional(self):
        # A folder that no other test has: all servers of moto in a process have the same buckets.
        self.good("conditional", "s3://bucket/conditions/")
        self.assertEqual(self.client.list_objects_v2(Bucket="bucket", Prefix="conditions/").get("KeyCount"), 0)
        self.assertEqual(self.left(), [])


class SeaweedFS(Others):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = os.path.join(cls.files.name, "server")
        os.mkdir(folder)
        cls.server = Weed(folder)
        cls.addClassCleanup(cls.server.stop)
        cls.endpoint, cls.client = cls.server.url, cls.server.client("AKTEST")

    def test_writing(self):
        self.check_writing()

    def test_uploads(self):
        self.check_uploads()

    def test_conditional(self):
        self.check_conditional()

    def test_race(self):
        """Of many that write at once, one writes."""
        for i in range(5):
            url, running = f"s3://bucket/race/{i}", []
            for j in range(6):
                with open(f"{self.home.name}/{j}", "w", encoding="utf-8") as file:
                    file.write(f"writer {j}")
                running.append(subprocess.Popen([PROBE, "--endpoint", self.endpoint, "put", url, file.name, "new"], env=self.environment,
                                                stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            said = [process.communicate()[0].decode().split()[0] for process in running]
            self.assertEqual(sorted(said), ["conflict"] * 5 + ["written"])
            self.assertEqual(self.read(f"race/{i}").decode(), f"writer {said.index('written')}")

    def test_denied(self):
        reader = {"AWS_ACCESS_KEY_ID": "AKREAD", "AWS_SECRET_ACCESS_KEY": KEYS["AKREAD"]}
        for command in "put", "upload":
            self.fails(1, "s3://bucket/a: access denied: the credentials may not write it", command, "s3://bucket/a",
                       self.file("large" if command == "upload" else "small"), "new", **reader)
        self.fails(2, "access denied: the credentials may not write it", "conditional", "s3://bucket/", **reader)


@unittest.skipUnless(ThreadedMotoServer, "no moto")
class MotoWrites(Others):
    has_times = False  # every upload of moto began in 2010
    has_tags_of_parts = False  # moto ignores If-Match where an upload is completed

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        moto.start()
        cls.addClassCleanup(moto.stop)
        cls.endpoint = "http://{}:{}".format(*moto.get_host_and_port())
        cls.client = boto3.client("s3", endpoint_url=cls.endpoint, aws_access_key_id="AKTEST", aws_secret_access_key="x", region_name="us-east-1")
        cls.client.create_bucket(Bucket="bucket")

    def test_writing(self):
        self.check_writing()

    def test_uploads(self):
        self.check_uploads()

    def test_conditional(self):
        self.check_conditional()
        self.fails(2, "there is no such bucket", "conditional", "s3://no-bucket/p/")


if __name__ == "__main__":
    unittest.main()
