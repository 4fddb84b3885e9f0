"""Files that are uploaded in the background, each with a record: two senders at once, kills, conflicts, stores that fail, and cancels."""
import os
import signal
import subprocess
import threading
import time

from harness import each
from test_client import PROBE
from test_upload import LARGE, SMALL, Written


class Sending(Written):
    """Each test has a folder with two small files, a large one, and records of two of them."""
    contents = {"a": SMALL, "b": LARGE, "c": b""}

    def setUp(self):
        super().setUp()
        self.folder = self.fill("scratch", self.contents)
        self.all = {f"x/{name}": data for name, data in self.contents.items()} | {f"x/{name}.record": b"record of " + name.encode() for name in "ab"}

    def fill(self, name, contents):
        folder = os.path.join(self.home.name, name)
        os.makedirs(folder, exist_ok=True)
        for name, data in contents.items():
            for path, text in ((name, data), (f"{name}.record", b"record of " + name.encode())):
                if path != "c.record":
                    with open(os.path.join(folder, path), "wb") as file:
                        file.write(text)
        return folder

    def start(self, folder, threads=2, url="s3://bucket/x"):
        command = [PROBE, "--endpoint", self.store.url, "--retries", "3", "--timeout", "10", "send", url, folder, str(threads)]
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def send(self, threads=2, **more):
        return self.good("send", "s3://bucket/x", self.folder, threads, **more)

    def there(self):
        return {key: item.data for key, item in self.bucket.items()}

    def sent(self, folder=None):
        """All is written, no upload is left, and only the records are in the folder."""
        self.assertEqual(self.there(), self.all)
        self.assertEqual(self.store.uploads, {})
        self.assertEqual(sorted(os.listdir(folder or self.folder)), ["a.record", "b.record"])

    def wait(self, number, *running):
        while len(self.store.requests) < number:
            self.assertTrue(any(process.poll() is None for process in running))
            time.sleep(0.01)

    @each([1, 2, 8])
    def test_all(self, threads):
        self.send(threads)
        self.sent()
        self.assertEqual(self.asked().count(("PUT", "")), 4)
        self.assertEqual(len(self.store.requests), 9)
        for record, data in ("x/a.record", "x/a"), ("x/b.record", "x/b"):
            wrote = [r.path for r in self.store.requests if r.method in ("PUT", "POST")]
            self.assertGreater(wrote.index(f"/bucket/{record}"), wrote.index(f"/bucket/{data}"))

    def test_threads(self):
        """So many files are under way at once, and there is no thread without a file."""
        self.fill("scratch", {f"n{i}": SMALL for i in range(12)})
        busy, most = set(), []

        def fault(request):
            busy.add(request.connection)
            most.append(len(busy))
            time.sleep(0.02)
            busy.discard(request.connection)
        self.store.fault = fault
        self.send(3)
        self.assertEqual(max(most), 3)
        self.assertEqual(self.store.connections, 3)
        self.assertEqual(sorted(os.listdir(self.fill("empty", {}))), [])

    def test_again(self):
        """What is there is compared: a record says it for its file, and a file without one is fetched."""
        self.send()
        self.fill("scratch", self.contents)
        found = self.send()
        self.sent()
        self.assertLess(found.fetched, 10_000)
        del self.bucket["x/b.record"]  # the run before was killed between the two
        self.fill("scratch", {"b": LARGE})
        self.assertGreaterEqual(self.send().fetched, len(LARGE))
        self.sent()

    @each([1, 3])
    def test_race(self, threads):
        """Of two equal runs at once each finds what the other has written."""
        for _ in range(3):
            self.bucket.clear()
            folders = [self.fill(name, self.contents) for name in ("one", "two")]
            running = [self.start(folder, threads) for folder in folders]
            for process in running:
                said = process.communicate(timeout=60)[1].decode()
                self.assertEqual(process.returncode, 0, said)
            for folder in folders:
                self.sent(folder)
        self.assertEqual(self.store.complaints, [])

    @each([("file", "x/a", b"other content!", "x/a"), ("size", "x/a", b"longer than the file that is sent", "x/a"),
           ("large", "x/b", LARGE[:-1] + b"!", "x/b"), ("record", "x/b.record", b"record of another", "x/b.record"),
           ("both", "x/a", b"other content!", "x/a")])
    def test_other_bytes(self, name, key, data, blamed):
        if name == "record":
            self.store.put("bucket", "x/b", LARGE)
        if name == "both":
            self.store.put("bucket", "x/a.record", b"record of another")
        self.store.put("bucket", key, data)
        found = self.fails(1, f"s3://bucket/{blamed}: another run has written other bytes", "send", "s3://bucket/x", self.folder, 1)
        self.assertEqual(self.bucket[key].data, data)
        self.assertIn(os.path.basename(key).partition(".")[0], os.listdir(self.folder))
        self.assertEqual(self.store.uploads, {})
        self.assertNotIn("x/c", self.bucket)  # nothing more is sent
        self.assertLess(found.fetched, len(LARGE) + 10_000)

    @each(range(1, 10))
    def test_killed(self, number):
        """After a kill at any request the same command goes on."""
        self.store.fault = lambda request: "silence 20" if request.number == number else None
        process = self.start(self.folder, 1)
        self.wait(number, process)
        process.kill()
        process.communicate()
        self.store.fault = None
        self.good("clear", "s3://bucket/x/b", 0)
        self.fill("scratch", self.contents)  # the shards are made anew
        self.send()
        self.sent()

    @each([f"{fault}@{number}" for fault in ("lost", "error 503 SlowDown", "reset", "lost status 503", "unread") for number in range(1, 10)])
    def test_faults(self, what):
        fault, _, number = what.partition("@")
        self.store.fault = lambda request: fault if request.number == int(number) else None
        self.send(1)
        self.assertEqual(self.there(), self.all)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.record", "b.record"])

    def test_many_faults(self):
        """A store that fails every third time, with several threads."""
        self.fill("scratch", {f"n{i}": SMALL * i for i in range(9)})
        self.store.fault = lambda request: {0: "error 503 SlowDown", 3: "lost", 6: "reset"}.get(request.number % 9)
        self.send(4, retries=9)
        self.assertEqual(len(self.bucket), 5 + 18)
        self.assertEqual([name for name in os.listdir(self.folder) if not name.endswith(".record")], [])

    def test_vanishing(self):
        """An object that is there, and then is not, is written."""
        self.store.put("bucket", "x/a", SMALL)
        self.store.fault = lambda request: self.bucket.pop("x/a") and None if request.number == 2 else None
        self.send(1)
        self.sent()
        self.bucket.clear()
        self.store.fault = lambda request: "error 412 PreconditionFailed" if request.method == "PUT" else None
        self.fails(1, "s3://bucket/x/a: cannot be written: it was there and removed 3 times", "send", "s3://bucket/x", self.fill("more", {"a": SMALL}), 1)

    def test_first_error(self):
        """The error of one file ends the run; what is under way ends, and its upload too."""
        sends = threading.Event()   # a part: before that, an upload may begin whose number never arrives

        def fault(request):
            if "partNumber" in request.query:
                sends.set()
                return "silence 20"
            if request.path.endswith("/a"):
                sends.wait(10)
                return "error 403 AccessDenied"
            return None
        self.store.fault = fault
        began = time.monotonic()
        self.fails(1, "s3://bucket/x/a: access denied: the credentials may not write it", "send", "s3://bucket/x", self.folder, 2)
        self.assertLess(time.monotonic() - began, 15)
        self.assertEqual((self.there(), self.store.uploads), ({}, {}))
        self.assertEqual(sorted(os.listdir(self.folder)), ["a", "a.record", "b", "b.record", "c"])

    @each([("add", 1), ("finish", 3)])
    def test_cancelled(self, _, threads):
        """While the caller waits for room, and for the end."""
        self.store.fault = lambda request: "silence 20" if request.path.endswith("/b") and "partNumber" in request.query else None
        process = self.start(self.folder, threads)
        while not any("partNumber" in r.query for r in self.store.requests):
            time.sleep(0.01)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=10)[1].decode()
        self.assertIn("s3://bucket/x/b: stopped", said)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(self.store.uploads, {})
        self.assertIn("b", os.listdir(self.folder))
        self.assertEqual("x/c" in self.bucket, threads > 1)

    def test_missing_files(self):
        """Files that this machine cannot read."""
        os.symlink("nowhere", os.path.join(self.folder, "d"))
        self.fails(1, "scratch/d: No such file or directory", "send", "s3://bucket/x", self.folder, 1)
        os.unlink(os.path.join(self.folder, "d"))
        os.mkdir(os.path.join(self.folder, "d.record"))
        with open(os.path.join(self.folder, "d"), "wb") as file:
            file.write(SMALL)
        self.fails(1, "d.record: Is a directory", "send", "s3://bucket/x", self.folder, 1)
        self.assertNotIn("x/d", self.bucket)


class Once(Written):
    def once(self, name, **more):
        return self.good("once", "s3://bucket/a", self.file(name), **more).out.decode().strip()

    @each(["small", "empty", "large"])
    def test_once(self, name):
        self.assertEqual(self.once(name), "written")
        self.assertEqual(self.once(name), "was there")
        if name == "empty":  # as what a store keeps of a write that broke off
            self.assertEqual(self.once("other"), "written")
            name = "other"
        self.fails(1, "s3://bucket/a: another run has written other bytes", "once", "s3://bucket/a", self.file("small" if name == "other" else "other"))

    def test_lost(self):
        self.faults("lost")
        self.assertEqual(self.once("small"), "written")

    def test_cut(self):
        """A comparison whose connection breaks goes on."""
        self.once("large")
        self.answer("cut 3000000", "status 503")
        found = self.good("once", "s3://bucket/a", self.file("large"))
        self.assertEqual(found.out, b"was there\n")
        self.assertLess(found.fetched, len(LARGE) + 100_000)

    def test_changing(self):
        """The object is replaced while it is compared."""
        self.once("large")

        def fault(request):
            if request.method == "GET":
                self.store.put("bucket", "a", LARGE[::-1])
        self.store.fault = fault
        self.fails(1, "s3://bucket/a: the object has changed", "once", "s3://bucket/a", self.file("large"))

    def test_denied(self):
        """What may be written, and not read."""
        self.once("small")
        self.store.fault = lambda request: "error 403 AccessDenied" if request.method != "PUT" else None
        self.fails(1, "s3://bucket/a: access denied: the credentials may not read it", "once", "s3://bucket/a", self.file("small"))
