"""bload pack -o s3://...: the objects are the files of a local run, byte for byte, however often the run was killed, whatever the store does,
and however many runs or tasks there are at once."""
import io
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import numpy as np

import test_media
import test_packing
from harness import each
from store_uploads import Upload
from test_packing import BLOAD, TEXT, lines

DATASET = "sets/d"
URL = f"s3://bucket/{DATASET}"
FULL = bool(os.environ.get("FULL"))  # kills at every request
WRITES = "PUT", "POST", "DELETE"
SMALL = ("-T", "256", "--shard-size", "24K")  # six shards of the text


class Stopper:
    """Ends a process by a signal in the middle of its n-th request: before the store does what was asked, or after that, before it answers.
    It is the store's fault function."""

    def __init__(self, store, number, after, signal_number=signal.SIGKILL):
        self.store, self.number, self.after, self.signal, self.process = store, number, after, signal_number, None
        self.started, self.reached = threading.Event(), False
        store.requests.clear()
        store.fault, store.unheard = self, self.end

    def __call__(self, request):
        if request.number != self.number:
            return None
        if self.after and request.method in WRITES:
            return "lost"
        self.end(request)
        return "reset"

    def end(self, _):
        self.started.wait(60)
        self.reached = True
        self.process.send_signal(self.signal)
        if self.signal == signal.SIGKILL:
            self.process.wait()

    def follow(self, process):
        """Waits for the end of the process, and until the store has done everything that it was asked; returns what was said."""
        self.process = process
        self.started.set()
        said = process.communicate(timeout=120)[1].decode()
        settle(self.store)
        self.store.fault = self.store.unheard = None
        return said


def settle(store):
    """Waits until no client is connected."""
    end = time.monotonic() + 60
    while store.open and time.monotonic() < end:
        time.sleep(0.005)
    assert not store.open


def chosen(count, sample):
    """The numbers of all requests, or of a sample of them."""
    return list(range(1, count + 1)) if FULL else sorted({round(1 + i * (count - 1) / (sample - 1)) for i in range(sample)})


class Results(test_media.Media):
    """A test with inputs here and in the bucket "in", and results in another bucket."""

    def setUp(self):
        super().setUp()
        self.store.buckets.update({"in": {}, "bucket": {"sets/other": self.store.RequestHandlerClass.object(b"another object")}})
        self.bucket = self.store.buckets["bucket"]
        self.store.uploads["elsewhere"] = Upload("bucket", "sets/other")
        self.scratch = os.path.join(self.folder.name, "scratch")
        os.mkdir(self.scratch)
        self.environment["TMPDIR"] = self.scratch

    # --- inputs -----------------------------------------------------------------------------------------------------

    def place(self, path, data):
        self.write(path, data)
        self.store.put("in", path, data)

    def text(self, files=6):
        for i in range(files):
            self.place(f"v/{i}.jsonl", lines(60, i))

    def arrays(self, count=2, width=40_000):
        """A shard of 10 MB for each, which is uploaded in two parts."""
        random = np.random.default_rng(1)
        for i in range(count):
            file = io.BytesIO()
            np.save(file, random.integers(0, 9, (60 + i, width)).astype("f4"))
            self.place(f"a/{i}.npy", file.getvalue())

    # --- runs -------------------------------------------------------------------------------------------------------

    def start(self, *arguments, **environment):
        """Starts bload; SIGINT ends it, though it runs in the background."""
        return subprocess.Popen([BLOAD, *arguments], cwd=self.folder.name, env={**self.environment, **environment}, stderr=subprocess.PIPE,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def fails(self, status, words, *arguments, **more):
        """It says one line, which has the words."""
        said = self.bload(*arguments, status=status, **more)
        self.assertIn(words, said)
        self.assertEqual(said.count("\n"), 1, said)
        return said

    def clear(self, scratch=True):
        """Removes the results, and the scratch folder's content."""
        for key in [key for key in self.bucket if key.startswith(DATASET)]:
            del self.bucket[key]
        self.clear_uploads()
        if scratch:
            self.empty_scratch()

    def clear_uploads(self):
        for name in [name for name in self.store.uploads if name != "elsewhere"]:
            del self.store.uploads[name]

    def empty_scratch(self):
        shutil.rmtree(self.scratch)
        os.mkdir(self.scratch)

    # --- what there is ----------------------------------------------------------------------------------------------

    def files(self, dataset):
        """The bytes of each file of a dataset here."""
        top = os.path.join(self.folder.name, dataset)
        return {os.path.relpath(os.path.join(where, name), top): self.read(os.path.join(where, name)) for where, _, names in os.walk(top) for name in names}

    def state(self):
        """The objects' bytes, but for those that tell how tasks are doing, the checksum of the table, which may be missing, and the object
        that tried the store, of a run that was killed."""
        return {name: data for name, data in self.objects().items() if not re.match(r"\.bload/((scan-)?task-|sequences\.checksum|\.bload-probe-)", name)}

    def unchanged(self, before):
        now = self.state()
        self.assertEqual(sorted(now), sorted(before))
        self.assertEqual([name for name in now if now[name] != before[name]], [])

    def objects(self):
        return {key[len(DATASET) + 1:]: item.data for key, item in list(self.bucket.items()) if key.startswith(DATASET + "/")}

    def complete(self, local="local"):
        """The objects are the files of a local run, and nothing is left: no object of the run, no upload, no file in the scratch folder.
        What is not of this dataset is as it was."""
        wanted, found = self.files(local), self.objects()
        self.assertEqual(sorted(found), sorted(wanted))
        self.assertEqual([name for name in wanted if found[name] != wanted[name]], [])
        self.assertEqual(list(self.store.uploads), ["elsewhere"])
        self.assertEqual(sorted(key for key in self.bucket if not key.startswith(DATASET + "/")), ["sets/other"])
        self.assertEqual(os.listdir(self.scratch), [])
        self.assertEqual(self.store.complaints, [])

    def whole(self, local="local"):
        """Whatever a reader could take for a part of the dataset has the right bytes; the manifest is the last of them."""
        wanted, found = self.files(local), {name: data for name, data in self.objects().items() if not name.startswith(".bload")}
        self.assertEqual([name for name in found if found[name] != wanted.get(name)], [])
        if "manifest.json" in found:
            self.assertEqual(sorted(found), sorted(wanted))

    def recorded(self):
        """The shards that have a record."""
        return {name[len(".bload/"):-len(".record")] for name in self.objects() if re.fullmatch(r"\.bload/shard-\d{8}\.record", name)}

    def uploaded(self):
        """The shards for which something was written."""
        return [re.search(r"shard-\d{8}", r.path)[0] for r in self.store.requests if r.method in WRITES and re.search(r"/shards/.*/shard-\d{8}\.", r.path)
                and "uploads=" not in r.query and r.method != "POST"]


class Equal(Results):
    @each([
        (f"{name}_{place}", name, place, arguments, status)
        for place in ("here", "bucket") for name, arguments, status in (
            ("text", ("v/", *TEXT, *SMALL), 0),
            ("compressed", ("v/", *TEXT, *SMALL, "--compress", "zstd"), 0),
            ("failing", ("v/", *TEXT, *SMALL, "--kind", "text"), 3),
            ("arrays", ("a/", "-T", "64", "--shard-size", "10M"), 0),
            ("videos", ("c/", "-T", "64", "--size", "32x32", "--shard-size", "400K"), 3),
            ("jpeg", ("c/", "-T", "64", "--size", "32x32", "--shard-size", "40K", "--encode", "jpeg"), 3))])
    def test_same(self, _, name, place, arguments, status):
        """The files of a local run, byte for byte. The same command again has nothing to do, and writes nothing."""
        if arguments[0] == "v/":
            self.text()
        if name == "failing":
            self.place("v/broken.jsonl", b'{"text": "a"}\n{oops\n')
        if arguments[0] == "a/":
            self.arrays()
        if arguments[0] == "c/":
            for video in test_media.VIDEOS[:3] + test_media.VIDEOS[-1:]:
                with open(test_media.fixture(video), "rb") as file:
                    self.place(f"c/{video}", file.read())
        corpus, *options = arguments
        if place == "bucket":
            corpus = f"s3://in/{corpus}"
        self.bload("pack", corpus, *options, "-o", "local", status=status)
        self.assertGreater(len(self.files("local")), 5)
        said = self.bload("pack", corpus, *options, "-o", URL, status=status)
        self.assertIn(URL, said)
        self.complete()
        self.store.requests.clear()
        said = self.bload("pack", corpus, *options, "-o", URL, status=status)
        self.assertIn("already complete", said)
        self.assertEqual([r.path for r in self.store.requests if r.method in WRITES], [])
        self.complete()

    def test_place(self):
        """--scratch FOLDER in place of TMPDIR, --endpoint in place of the environment's; a slash at the end; a key with odd characters."""
        self.text()
        self.bload("pack", "v", *TEXT, *SMALL, "-o", "local")
        os.mkdir(os.path.join(self.folder.name, "fast disk"))
        seen = []

        def look(request):
            if "/shards/" in request.path:
                seen.extend(os.listdir(os.path.join(self.folder.name, "fast disk")))
        self.store.fault = look
        self.bload("pack", "v", *TEXT, *SMALL, "-o", f"{URL}/", "--scratch", "fast disk", "--endpoint", self.store.url,
                   TMPDIR="/nowhere", AWS_ENDPOINT_URL="http://127.0.0.1:9")
        self.complete()
        self.assertRegex(seen[0], r"^bload-[0-9a-f]+-\d+$")
        self.assertEqual(os.listdir(os.path.join(self.folder.name, "fast disk")), [])
        self.clear()
        self.store.fault = None
        odd = "s3://bucket/sets/d/a b+c/é%20&="
        self.bload("pack", "v", *TEXT, *SMALL, "-o", odd)
        self.assertEqual({key.split("/é%20&=/")[1] for key in self.bucket if "é" in key}, set(self.files("local")))
        self.assertEqual(self.store.complaints, [])

    def test_anonymous(self):
        """A bucket that everybody may write, without credentials."""
        self.text()
        self.bload("pack", "v", *TEXT, *SMALL, "-o", "local")
        self.store.public.add("bucket")
        self.bload("pack", "v", *TEXT, *SMALL, "-o", URL, "--anonymous", AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
        self.complete()
        self.assertEqual([r for r in self.store.requests if "authorization" in r.headers], [])

    def test_requests(self):
        """The requests of a run grow with the shards by two each: itself and its record; what the run kept is removed after that."""
        self.text()
        counts = []
        for size in "24K", "12K":
            self.clear()
            self.store.requests.clear()
            self.bload("pack", "v", *TEXT, "-T", "256", "--shard-size", size, "-o", URL)
            counts.append((len([name for name in self.objects() if name.startswith("shards/")]), len(self.store.requests)))
        (few, asked), (many, more) = counts
        self.assertGreaterEqual(many, 2 * few - 1)
        self.assertLessEqual(more - asked, 3 * (many - few) + 2)
        self.assertLess(asked - 3 * few, 60)

    @each([1, 3])
    def test_scratch(self, jobs):
        """A store that takes its time does not fill the scratch folder: of complete shards it holds one more than there are workers."""
        self.text(12)
        self.bload("pack", "v", *TEXT, *SMALL, "-o", "local")
        self.store.fault = lambda request: time.sleep(0.1) if "/shards/" in request.path else None
        process, most = self.start("pack", "v", *TEXT, *SMALL, "-j", str(jobs), "-o", URL), 0
        while process.poll() is None:
            most = max(most, sum(bool(re.fullmatch(r"shard-\d{8}\.safetensors", name)) for _, _, names in os.walk(self.scratch) for name in names))
            time.sleep(0.002)
        self.assertEqual(process.returncode, 0, process.communicate()[1])
        self.assertIn(most, range(1, jobs + 2))
        self.assertGreater(len(self.files("local")), 8)
        process.stderr.close()
        self.complete()


class Killed(Results):
    """The run is killed in the middle of a request. What is there then is right, and the same command goes on."""

    def resume(self, command, options, number, way):
        """Kills the run at a request, and runs it again. Returns whether it came so far."""
        after, keep = "after" in way, "kept" in way
        self.clear()
        stopper = Stopper(self.store, number, after)
        stopper.follow(self.start(*command, *options))
        self.whole()
        there = self.recorded()
        if not keep:
            self.empty_scratch()
        self.store.requests.clear()
        self.bload(*command)
        self.complete()
        # A shard that has its record is not uploaded again.
        self.assertEqual(there & set(self.uploaded()), set())
        return stopper.reached

    def check(self, command, sample, ways, *options):
        self.bload(*command[:-1], "local")
        self.store.requests.clear()
        self.bload(*command, *options)
        self.complete()
        count = len(self.store.requests)
        self.assertGreater(count, 15)
        numbers = chosen(count, sample)
        reached = 0
        for i, number in enumerate(numbers):
            for way in ways if FULL else [ways[i % len(ways)]]:
                with self.subTest(request=number, of=count, way=way):
                    reached += self.resume(command, options, number, way)
        self.assertGreater(reached, len(numbers) // 2)

    @each([("kept", ["before, kept", "after, kept"]), ("lost", ["after", "before"])])
    def test_text(self, _, ways):
        self.text()
        self.check(("pack", "-q", "v", *TEXT, *SMALL, "-o", URL), 12, ways, "-j", "2")

    def test_parts(self):
        """Shards that are uploaded in parts; the inputs are objects, too."""
        self.arrays()
        self.check(("pack", "-q", "s3://in/a/", "-T", "64", "--shard-size", "10M", "-o", URL), 8, ["before", "after, kept", "after", "before, kept"], "-j", "1")

    def test_probe(self):
        """A run that is killed while it tries the store: what it leaves is no dataset, and the next run removes it."""
        self.text(4)
        command = "pack", "-q", "v", *TEXT, *SMALL, "-o", URL
        self.bload(*command[:-1], "local")
        left = 0
        for number in range(2, 9):
            Stopper(self.store, number, True).follow(self.start(*command))
            names = sorted(self.objects())
            left += len(names) == 1 and ".bload/.bload-probe-" in names[0]
            self.assertIn("is neither a dataset nor an unfinished one", self.bload("status", URL, status=1))
            self.assertIn("nothing to finish", self.bload("finish", URL, status=2))
            self.assertEqual(sorted(self.objects()), names)
            self.bload(*command)
            self.complete()
            self.clear()
        self.assertGreater(left, 4)

    @each([("text", "v", SMALL), ("parts", "a", ("-T", "64", "--shard-size", "10M"))])
    def test_emptied(self, name, inputs, options):
        """SeaweedFS keeps an empty object of a request whose sender is killed. The same command writes the object."""
        self.text() if name == "text" else self.arrays()
        command = "pack", "-q", inputs, *(TEXT if name == "text" else ()), *options, "-j", "1", "-o"
        self.bload(*command, "local")
        self.store.requests.clear()
        self.bload(*command, URL)
        numbers = [request.number for request in self.store.requests if request.method == "PUT" and not request.query]
        reached = 0
        for i in chosen(len(numbers), 8):
            self.clear()
            stopper = Stopper(self.store, numbers[i - 1], False)

            def end(request, stop=stopper.end):
                stop(request)
                if request.method == "PUT" and not request.query:
                    self.store.put("bucket", request.path.removeprefix("/bucket/"), b"")
            stopper.end = end
            stopper.follow(self.start(*command, URL))
            reached += b"" in self.objects().values()
            self.bload(*command, URL)
            self.complete()
        self.assertGreater(reached, 3)

    @each([(f"{name}_{number}", getattr(signal, name), number) for name, number in (("SIGINT", 20), ("SIGINT", 24), ("SIGTERM", 30))])
    def test_stopped(self, _, number, request):
        """Ctrl-C ends it within a second, as it ends a local run; what is there is used again."""
        self.text()
        self.bload("pack", "-q", "v", *TEXT, *SMALL, "-o", "local")
        stopper = Stopper(self.store, request, False, number)
        process = self.start("pack", "-q", "v", *TEXT, *SMALL, "-j", "1", "-o", URL)
        stopper.follow(process)
        self.assertTrue(stopper.reached)
        self.assertEqual(process.returncode, -number)
        self.whole()
        self.assertNotIn("manifest.json", self.objects())
        there = self.recorded()
        self.store.requests.clear()
        self.bload("pack", "-q", "v", *TEXT, *SMALL, "-o", URL)
        self.assertEqual(there & set(self.uploaded()), set())
        self.complete()

    @each([("answering", None), ("silent", "silence 60")])
    def test_stopped_in_parts(self, _, fault):
        """Ctrl-C in the middle of an upload in parts ends the upload in the store, also while it waits for an answer that does not come."""
        self.arrays()
        self.bload("pack", "-q", "a", "-T", "64", "--shard-size", "10M", "-o", "local")
        process = []

        def stop(request):
            if "partNumber=2" in request.query and process:
                threading.Timer(0.3 if fault else 0, process[0].send_signal, [signal.SIGINT]).start()
                return fault or time.sleep(0.1)
            return None
        self.store.fault = stop
        process.append(self.start("pack", "-q", "a", "-T", "64", "--shard-size", "10M", "-j", "1", "-o", URL))
        said = process[0].communicate(timeout=60)[1].decode()
        self.assertEqual(process[0].returncode, -signal.SIGINT, said)
        self.assertEqual(said, "bload: pack: interrupted; run the same command to resume\n")
        self.store.stopped.set()
        settle(self.store)
        self.assertEqual(list(self.store.uploads), ["elsewhere"])
        self.store.fault = None
        self.bload("pack", "-q", "a", "-T", "64", "--shard-size", "10M", "-o", URL)
        self.complete()


def every(number, fault, methods=None):
    """One of so many requests has this fault."""
    return lambda: lambda request: fault if request.number % number == 0 and (methods is None or request.method in methods) else None


def first(fault, methods=WRITES, part="", query=""):
    """The first request of each kind for each object, with these parts in its path and query, has this fault."""
    def make():
        seen = set()

        def choose(request):
            asked = request.method, request.path, re.sub("uploadId=[^&]*", "", request.query)
            if request.method not in methods or part not in request.path or query not in request.query or asked in seen:
                return None
            seen.add(asked)
            return fault
        return choose
    return make


class Faults(Results):
    TEXT = ("v", *TEXT, "-T", "256", "--shard-size", "48K")
    ARRAYS = ("a", "-T", "64", "--shard-size", "10M")

    @each([
        ("busy", TEXT, every(5, "status 503")), ("slow_down", TEXT, every(4, "error 503 SlowDown")), ("broken", TEXT, every(4, "reset")),
        ("closed", TEXT, every(2, "closes")), ("lost", TEXT, first("lost")), ("lost_500", TEXT, first("lost status 500", ("PUT",))),
        ("conflict", TEXT, first("error 409 ConditionalRequestConflict", ("PUT",), "manifest.json")),
        ("parts_lost", ARRAYS, first("lost", part="/shards/")), ("parts_broken", ARRAYS, first("half", ("PUT",), "/shards/")),
        ("parts_inner", ARRAYS, first("inner InternalError", ("POST",), "/shards/", "uploadId=")),
        ("parts_ended", ARRAYS, first("error 404 NoSuchUpload", ("POST",), "/shards/", "uploadId="))])
    def test_passing(self, _, arguments, make):
        """What passes is tried again; a write that was done though its answer was lost is no conflict."""
        self.text(4) if arguments is self.TEXT else self.arrays()
        self.bload("pack", "-q", *arguments, "-o", "local")
        self.store.fault = make()
        self.bload("pack", "-q", *arguments, "-j", "2", "-o", URL)
        self.store.fault = None
        self.complete()

    @each([("manifest", "/manifest.json"), ("shard", "/shards/"), ("record", ".record"), ("index", "/index.safetensors")])
    def test_conflict(self, _, part):
        """A store that says of an object which is not there that it is: the run ends well, or says so in one line and can go on."""
        self.text(4)
        self.bload("pack", "-q", *self.TEXT, "-o", "local")
        self.store.fault = first("error 412 PreconditionFailed", ("PUT",), part)()
        process = self.start("pack", "-q", *self.TEXT, "-o", URL)
        said = process.communicate(timeout=60)[1].decode()
        self.assertIn((process.returncode, said.count("\n")), ((0, 0), (1, 1)), said)
        self.whole()
        self.store.fault = None
        self.bload("pack", "-q", *self.TEXT, "-o", URL)
        self.complete()

    @each([("pages", 2, False), ("one", 1, True), ("backwards", 1000, True)])
    def test_lists(self, _, page, is_reversed):
        """Lists in small pages and in another order, in a run that was killed before."""
        self.text()
        command = "pack", "-q", "v", *TEXT, *SMALL, "-o"
        self.bload(*command, "local")
        self.store.page, self.store.reversed = page, is_reversed
        self.bload(*command, URL)
        count = len(self.store.requests)
        self.complete()
        for key in "sets/d/", "sets/da", "sets/d.x/manifest.json":  # neighbours, and what a user interface makes of a folder
            self.store.put("bucket", key, b"")
        for number in count // 2, 3 * count // 4:
            self.clear_runs()
            Stopper(self.store, number, True).follow(self.start(*command, URL, "-j", "2"))
            self.bload(*command, URL)
            self.assertEqual(list(self.store.uploads), ["elsewhere"])
            for key in "sets/da", "sets/d.x/manifest.json":
                self.assertIn(key, self.bucket)
            objects = self.objects()
            objects.pop("", None)
            self.assertEqual(objects, self.files("local"))

    def clear_runs(self):
        for key in [key for key in self.bucket if key.startswith(DATASET + "/") and key != DATASET + "/"]:
            del self.bucket[key]


class Together(Results):
    def both(self, one, other):
        """Runs two commands at once; gives their statuses and what they said."""
        processes = [self.start(*command) for command in (one, other)]
        said = [process.communicate(timeout=120)[1].decode() for process in processes]
        return [process.returncode for process in processes], said

    @each([("plain", ()), ("compressed", ("--compress", "zstd")), ("slow", ("-j", "1"))])
    def test_equal(self, name, options):
        """Two equal runs at once: both end well, and the dataset is that of one."""
        self.text()
        command = "pack", "v", *TEXT, *SMALL, *options, "-o"
        self.bload(*command, "local")
        for latency in (0.02,) if name == "slow" else (0, 0.004):
            self.clear()
            self.store.latency = latency
            statuses, said = self.both((*command, URL), (*command, URL))
            self.assertEqual(statuses, [0, 0], said)
            self.complete()
            for one in said:
                self.assertRegex(one, rf"{URL}: \d+ shards|{URL} is already complete")

    @each([("text", "v", SMALL, 12), ("parts", "a", ("-T", "64", "--shard-size", "10M"), 5)])
    def test_overtaken(self, name, inputs, options, sample):
        """A run waits in the middle of a request while an equal one begins and ends, and removes what both kept: both end well."""
        self.text() if name == "text" else self.arrays()
        command = "pack", "-q", inputs, *(TEXT if name == "text" else ()), *options, "-o"
        self.bload(*command, "local")
        self.store.requests.clear()
        self.bload(*command, URL)
        for number in chosen(len(self.store.requests), sample):
            for after in (False, True) if FULL else (number % 2 == 0,):
                with self.subTest(request=number, after=after):
                    self.clear()
                    self.overtake(command, number, after)

    @each(["finish", "plan"])
    def test_ending_overtaken(self, name):
        """Each of many tasks may end with bload finish, and begin with bload plan when others end: all of them end well."""
        self.text()
        self.bload("pack", "-q", "v", *TEXT, *SMALL, "-o", "local")
        for stage in ("scan", "v", *TEXT), ("plan", *SMALL[:2]), ("pack", "v", *TEXT, *SMALL):
            self.bload(*stage, "-q", *(("-o",) if stage[0] != "plan" else ()), URL, *(() if stage[0] == "plan" else ("--task", "0/1")))
        packed = dict(self.bucket)
        words = ("finish", "-q") if name == "finish" else ("plan", "-q", *SMALL[:2])
        self.store.requests.clear()
        self.bload(*words, URL)
        for number in chosen(len(self.store.requests), 12):
            with self.subTest(request=number):
                self.clear()
                self.bucket.update(packed)
                self.overtake(words, number, False, by=("finish", "-q"))

    def overtake(self, command, number, after, by=None):
        self.store.requests.clear()
        waits, ended = threading.Event(), threading.Event()

        def wait(_):
            waits.set()
            ended.wait(60)

        def choose(request):
            if request.number != number or waits.is_set():
                return None
            if after and request.method in WRITES:
                return "lost"
            return wait(request)
        self.store.fault, self.store.unheard = choose, wait
        late = self.start(*command, URL)
        while not waits.wait(0.01) and late.poll() is None:
            pass
        self.bload(*(by or command), URL)
        self.whole()
        ended.set()
        said = late.communicate(timeout=60)[1].decode()
        self.store.fault = self.store.unheard = None
        self.assertEqual((late.returncode, said), (0, ""))
        self.complete()

    def test_other(self):
        """Two configurations at one URL: a run that comes later is refused, before and after the first one ends."""
        self.text()
        first_one, second = ("pack", "-q", "v", *TEXT, *SMALL, "-o"), ("pack", "-q", "v", *TEXT, "-T", "512", "--shard-size", "24K", "-o")
        self.bload(*first_one, "local")
        Stopper(self.store, 24, True).follow(self.start(*first_one, URL))
        self.assertTrue(self.recorded())
        before = self.state()
        said = self.fails(2, f'{URL} holds an unfinished dataset of another configuration: T is "256" there, not "512"', *second, URL)
        self.assertNotIn("sequences", said)
        self.unchanged(before)
        self.bload(*first_one, URL)
        self.fails(2, f'{URL} holds a dataset of another configuration: T is "256" there, not "512"', *second, URL)
        self.complete()

    def test_others_at_once(self):
        """Of two configurations that begin at the same time one wins, and the other one is refused."""
        self.text()
        commands = [("pack", "-q", "v", *TEXT, "-T", size, "--shard-size", "24K", "-o") for size in ("256", "512")]
        for size, command in zip(("256", "512"), commands):
            self.bload(*command, f"local-{size}")
        for latency in 0, 0.01:
            self.clear()
            self.store.latency = latency
            statuses, said = self.both(*((*command, URL) for command in commands))
            self.assertEqual(sorted(statuses), [0, 2], said)
            winner = statuses.index(0)
            self.assertEqual(said[winner], "")
            self.assertIn("of another configuration", said[1 - winner])
            self.assertEqual(said[1 - winner].count("\n"), 1)
            self.complete(f"local-{('256', '512')[winner]}")


class Refused(Results):
    COMMAND = ("pack", "-q", "v", *TEXT, *SMALL, "-o")

    def setUp(self):
        super().setUp()
        self.text()

    def nothing(self):
        self.assertEqual(self.objects(), {})
        self.assertEqual(list(self.store.uploads), ["elsewhere"])
        self.assertEqual(os.listdir(self.scratch), [])

    @each([
        ("denied", URL, "access denied"), ("bucket", "s3://none/d", "there is no such bucket"), ("web", "https://example.org/d", "https://example.org/d: "),
        ("hub", "hf://datasets/owner/name/d", "hf://datasets/owner/name/d: "), ("no_name", "s3://", "it has no bucket"),
        ("no_place", "s3://bucket/", "names no place in the bucket"), ("slash", "s3://bucket//d", "its path has an empty part"),
        ("slashes", "s3://bucket/a//d", "its path has an empty part"), ("steps", "s3://bucket/a/../d", "or one that is . or .."),
        ("hadoop", "s3a://bucket/d", "datasets are written to s3:// and gs:// URLs, and to directories"),
        ("file", "file:///tmp/d", "datasets are written to s3:// and gs:// URLs, and to directories")])
    def test_places(self, name, url, words):
        if name == "denied":
            self.store.fault = lambda request: "error 403 AccessDenied" if request.method in WRITES else None
        self.fails(2, words, *self.COMMAND, url)
        self.fails(1 if name == "denied" else 2, URL if name == "denied" else words, "status", url)
        self.nothing()

    @each([("export", ("export", "local", "--to", "webdataset")), ("view", ("view", "local", "-T", "256")),
           ("spool", ("pack", "v", *TEXT, "-T", "256", "--spool", "s3://bucket/x"))])
    def test_not_here(self, name, command):
        """What is written to disks alone says so of a URL."""
        self.bload(*self.COMMAND, "local")
        option = "--spool" if name == "spool" else "-o"
        self.fails(2, f"{option} s3://bucket/x is a URL, and this is written to a disk", *command, "-o", "s3://bucket/x")

    @each(["configuration", "sequences.tsv", "sequences.checksum", "draft.json", "/shards/", ".record", "/d/index.safetensors", "/d/manifest.json"])
    def test_denied_object(self, part):
        """An object that may not be written is named, in one line that blames nothing else; later the run goes on."""
        self.bload(*self.COMMAND, "local")
        self.store.fault = lambda request: "error 403 AccessDenied" if request.method == "PUT" and part in request.path else None
        said = self.fails(1, "access denied: the credentials may not write it: it is refused", *self.COMMAND, URL)
        self.assertRegex(said, rf"^bload: pack: s3://\S*{re.escape(part)}\S*: access denied")
        self.whole()
        self.store.fault = None
        self.bload(*self.COMMAND, URL)
        self.complete()

    @each([
        ("remove", lambda r: r.method == "DELETE" and not r.query, 2, "the credentials may not remove it (s3:DeleteObject)"),
        ("list", lambda r: r.method == "GET" and "uploads=" in r.query.split("&"), 0, "may not list uploads of the bucket (s3:ListBucketMultipartUploads)"),
        ("end", lambda r: r.method == "DELETE" and r.query, 0, "the credentials may not end uploads of it (s3:AbortMultipartUpload)")])
    def test_policies(self, _, is_denied, status, words):
        """A policy that does not let uploads be listed or ended: the dataset is complete, and what may be left is told."""
        self.bload(*self.COMMAND, "local")
        self.store.fault = lambda request: "error 403 AccessDenied" if is_denied(request) else None
        said = self.bload(*self.COMMAND, URL, status=status)
        self.assertIn(words, said)
        self.assertEqual(said.count("\n"), 1, said)
        if status == 0:
            self.assertRegex(said, "^bload: pack: uploads that were begun and not completed, if any, are left: ")
            self.assertEqual(self.bload(*self.COMMAND, URL), "")
            self.clear_uploads()
            self.complete()

    @each(["text", "arrays"])
    def test_object_lock(self, name):
        """A bucket with Object Lock takes no object and no part without a digest."""
        command = self.COMMAND
        if name == "arrays":
            self.arrays()
            command = "pack", "-q", "a", "-T", "64", "--shard-size", "10M", "-o"
        self.bload(*command, "local")
        self.store.locked.add("bucket")
        self.bload(*command, URL)
        self.complete()

    @each([("renewed", True), ("ended", False)])
    def test_session(self, name, is_renewed):
        """A session that ends in the middle of a run, whose keys are in a file: a program may have renewed them there."""
        self.store.keys.update({"AKFIRST": ("one", "token-1"), "AKNEXT": ("two", "token-2")})

        def write_keys(access):
            secret, token = self.store.keys[access]
            self.write(".aws/credentials", f"[default]\naws_access_key_id = {access}\naws_secret_access_key = {secret}\naws_session_token = {token}\n".encode())

        def end_session(request):
            if request.number == 14:
                self.store.expired.add("AKFIRST")
                if is_renewed:
                    write_keys("AKNEXT")
        write_keys("AKFIRST")
        self.bload(*self.COMMAND, "local")
        self.store.fault = end_session
        own = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
        if not is_renewed:
            self.fails(1, "the session has expired: log in again", *self.COMMAND, URL, **own)
            self.store.fault = None
            write_keys("AKNEXT")
        self.bload(*self.COMMAND, URL, **own)
        self.complete()

    @each([("If-None-Match", "the store ignores If-None-Match"), ("completion", "ignores If-None-Match where an upload in parts is completed"),
           ("all", "conditional writes")])
    def test_conditions(self, ignored, words):
        """A store that does not compare conditions is found before anything is read, and named."""
        self.store.ignored.add(ignored)
        said = self.fails(2, words, *self.COMMAND, URL)
        self.assertIn(URL, said)
        self.nothing()

    @each([
        ("credentials", ("--scratch", "."), {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, 2, "no credentials: set AWS_ACCESS_KEY_ID"),
        ("endpoint", ("--endpoint", "http://127.0.0.1:9"), {}, 1, URL), ("insecure", ("--endpoint", "http://192.0.2.1"), {}, 2, "http:// protects"),
        ("file", ("--scratch", "v/0.jsonl"), {}, 2, "v/0.jsonl"), ("missing", ("--scratch", "no/such/folder"), {}, 2, "no/such/folder"),
        ("environment", (), {"TMPDIR": "/no/such/folder"}, 2, "/no/such/folder")])
    def test_options(self, _, options, environment, status, words):
        self.fails(status, words, *self.COMMAND, URL, *options, **environment)
        self.nothing()

    def test_full(self):
        """A scratch disk that is full: one line, which names it; with more room the run goes on."""
        own = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-r", "-m"]
        script = 'set -e; mount -t tmpfs -o size=48K tmpfs "$TMPDIR"; exec "$@"'
        if subprocess.run([*own, "bash", "-c", script, "sh", "true"], env=self.environment, capture_output=True, check=False).returncode:
            self.skipTest("no file system of its own here")
        self.bload("pack", "-q", "v", *TEXT, *SMALL, "-o", "local")
        done = subprocess.run([*own, "bash", "-c", script, "sh", BLOAD, *self.COMMAND, URL], cwd=self.folder.name, env=self.environment, capture_output=True,
                              check=False)
        said = done.stderr.decode()
        self.assertEqual(done.returncode, 1, said)
        last = said.splitlines()[-1]
        self.assertRegex(last, f"cannot write {self.scratch}/.*: No space left on device .--scratch names another disk")
        self.bload(*self.COMMAND, URL)
        self.complete()


class Bounded(Results):
    def test_memory(self):
        """Parts that are uploaded count in --memory: a bound that is too small is refused with the figure of the run, and a run with that
        much keeps to it. Shards have two blocks of 10 MB."""
        self.arrays(7)
        command = "pack", "-q", "a", "-T", "66", "--shard-size", "24M", "-j", "1", "-o"
        needs = {}
        for output in "local", URL:
            said = self.fails(2, "of memory is not enough", *command, output, "--memory", "1M")
            needs[output] = float(re.search(r"a run with one worker ([\d.]+) MiB", said)[1])
        self.assertAlmostEqual(needs[URL], needs["local"] + 8, delta=0.2)  # one part, for one worker
        self.assertNotIn("manifest.json", self.objects())
        self.bload(*command, "local")
        process, peak = self.start(*command, URL, "--memory", f"{int(needs[URL]) + 1}M"), 0
        while process.poll() is None:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                peak = max([peak, *(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:"))])
            time.sleep(0.005)
        self.assertEqual(process.returncode, 0, process.communicate()[1])
        process.stderr.close()
        self.assertGreater(peak, needs["local"] / 2)
        self.assertLess(peak, needs[URL] + 1)
        self.assertTrue([request for request in self.store.requests if "partNumber=2" in request.query])
        self.complete()


class Tasks(Results):
    """Tasks without a shared disk: each has a scratch folder of its own, and nothing else in common but the URL."""
    COUNT = 3

    def task(self, *arguments, status=0, number=0):
        place = os.path.join(self.folder.name, f"task-{number}")
        os.makedirs(place, exist_ok=True)
        return self.bload(*arguments, status=status, TMPDIR=place)

    def corpus(self, name="text"):
        """The inputs' arguments, and those of plan and pack."""
        if name == "text":
            for i in range(6):
                self.place(f"v/{i}.jsonl", lines(6_000, i))  # each is a chunk of its own
            return ("s3://in/v/", *TEXT), ("-T", "2000", "--shard-size", "400K")
        self.arrays(9, 4_000)
        return ("s3://in/a/",), ("-T", "70", "--shard-size", "2M", *(("--compress", "zstd") if name == "compressed" else ()))

    def local(self, sources, options):
        self.bload("pack", "-q", *sources, *options, "-o", "local")

    def ends(self):
        self.complete()
        for number in range(self.COUNT + 1):
            place = os.path.join(self.folder.name, f"task-{number}")
            self.assertEqual(os.listdir(place) if os.path.exists(place) else [], [])

    def gets(self):
        """How often each input was fetched."""
        counts = {}
        for request in self.store.requests:
            if request.method == "GET" and request.path.startswith("/in/") and "list-type" not in request.query:
                counts[request.path] = counts.get(request.path, 0) + 1
        return counts

    @each(["text", "arrays", "compressed"])
    def test_chain(self, name):
        """scan, plan, pack, finish: the bytes of a local run. Each text is fetched once: nothing is tokenized twice."""
        sources, options = self.corpus(name)
        self.local(sources, options)
        self.store.requests.clear()
        for number in range(self.COUNT):
            said = self.task("scan", *sources, "--task", f"{number}/{self.COUNT}", "-o", URL, number=number)
            self.assertNotIn(" 0 sequences", said)
        if name == "text":
            self.assertEqual(self.gets(), {f"/in/v/{i}.jsonl": 1 for i in range(6)})
        self.task("plan", URL, *options[:2], number=self.COUNT)
        for number in reversed(range(self.COUNT)):
            self.task("pack", *sources, *options, "--task", f"{number}/{self.COUNT}", "-o", URL, number=self.COUNT - number)
        if name == "text":
            self.assertEqual(self.gets(), {f"/in/v/{i}.jsonl": 1 for i in range(6)})
        said = self.task("status", URL)
        self.assertRegex(said, r"tasks +3: 3 done|^$")
        self.task("finish", URL)
        self.ends()
        self.assertEqual(self.store.complaints, [])

    @each([("alone", (0, 1, 2)), ("twice", (0, 1, 1, 2))])
    def test_pack(self, _, numbers):
        """Tasks of pack without a scan and a plan before, at the same time; one is run twice."""
        sources, options = self.corpus()
        self.local(sources, options)
        processes = []
        for place, number in enumerate(numbers):
            os.mkdir(os.path.join(self.folder.name, f"task-{place}"))
            processes.append(self.start("pack", "-q", *sources, *options, "--task", f"{number}/{self.COUNT}", "-o", URL,
                                        TMPDIR=os.path.join(self.folder.name, f"task-{place}")))
        for process in processes:
            said = process.communicate(timeout=120)[1].decode()
            self.assertEqual((process.returncode, said), (0, ""))
        self.task("finish", URL)
        self.ends()

    def test_killed(self):
        """A task is killed, and done again by another machine."""
        sources, options = self.corpus()
        self.local(sources, options)

        def killed(number, after, *command, request):
            os.makedirs(os.path.join(self.folder.name, "lost"), exist_ok=True)
            stopper = Stopper(self.store, request, after)
            stopper.follow(self.start(*command, "--task", f"{number}/{self.COUNT}", "-o", URL, TMPDIR=os.path.join(self.folder.name, "lost")))
            self.assertTrue(stopper.reached)
            self.whole()
        for number, after in (0, True), (1, False), (2, True):
            killed(number, after, "scan", *sources, request=10 + number)
        for number in range(self.COUNT):
            self.task("scan", *sources, "--task", f"{number}/{self.COUNT}", "-o", URL, number=number)
        self.task("plan", URL, *options[:2])
        for number, after in (0, True), (1, False), (2, True):
            killed(number, after, "pack", *sources, *options, request=12 + number)
        process = self.start("finish", "-q", URL)
        self.assertIn(URL, process.communicate(timeout=60)[1].decode())
        self.assertIn(process.returncode, (1, 2))
        self.task("pack", *sources, *options, "--task", f"1/{self.COUNT}", "-o", URL)
        # Tasks whose shards are all there are not named.
        self.assertRegex(self.bload("finish", "-q", URL, status=1), f"run the same bload pack --task I/{self.COUNT} command for I = 0, 2$")
        for number in range(self.COUNT):
            self.task("pack", *sources, *options, "--task", f"{number}/{self.COUNT}", "-o", URL, number=number)
        self.task("finish", URL)
        self.ends()

    @each(["removed", "cut", "record"])
    def test_lost(self, way):
        """A shard that somebody removed, or cut, or whose record is damaged, while tasks run: finish finds it, and names the task. A task makes
        what was removed; another object under the name is told."""
        sources, options = self.corpus()
        self.local(sources, options)
        for number in range(self.COUNT):
            self.task("pack", *sources, *options, "--task", f"{number}/{self.COUNT}", "-o", URL, number=number)
        shard, record = f"{DATASET}/shards/00000/shard-00000001.safetensors", f"{DATASET}/.bload/shard-00000001.record"
        shards = len(self.recorded())
        kept = self.bucket[record if way == "record" else shard]
        if way == "removed":
            del self.bucket[shard]
        else:
            self.store.put("bucket", record if way == "record" else shard, kept.data[:-8])
        said = self.bload("finish", "-q", URL, status=1)
        self.assertIn(f"{URL}: 1 of {shards} shards is missing or damaged, the first is shards/00000/shard-00000001.safetensors", said)
        self.assertNotIn("manifest.json", self.objects())
        if way == "removed":
            self.assertRegex(said, f"run the same bload pack --task I/{self.COUNT} command for I = 0$")
        else:
            name = record if way == "record" else shard
            self.fails(1, f"s3://bucket/{name}: another run has written other bytes", "pack", "-q", *sources, *options, "--task", f"0/{self.COUNT}", "-o", URL)
            del self.bucket[name]
        self.task("pack", *sources, *options, "--task", f"0/{self.COUNT}", "-o", URL)
        self.task("finish", URL)
        self.empty_scratch()
        self.ends()

    def test_other(self):
        """A task of another configuration is refused."""
        sources, options = self.corpus()
        self.task("scan", *sources, "--task", "0/2", "-o", URL)
        before = self.state()
        self.fails(2, URL, "scan", "-q", *sources, "--key", "id", "--task", "1/2", "-o", URL)
        self.fails(2, URL, "scan", "-q", *sources, "--task", "1/3", "-o", URL)
        self.unchanged(before)

    def test_killed_anywhere(self):
        """Each stage is killed in the middle of a request, and run again: then there is what there is after a run that nobody killed."""
        for i in range(2):
            self.place(f"v/{i}.jsonl", lines(6_000, i))
        sources, options = ("s3://in/v/", *TEXT), ("-T", "2000", "--shard-size", "1M")
        self.local(sources, options)
        stages = [("scan", "-q", *sources, "--task", f"{i}/2", "-o", URL) for i in range(2)] + [("plan", "-q", URL, *options[:2])]
        stages += [("pack", "-q", *sources, *options, "--task", f"{i}/2", "-o", URL) for i in range(2)] + [("finish", "-q", URL)]
        for stage in stages:
            before = dict(self.bucket)
            self.store.requests.clear()
            self.bload(*stage)
            wanted, count = self.state(), len(self.store.requests)
            for number in chosen(count, 3):
                for way in ("before", "after", "after, kept") if FULL else ("after, kept",):
                    with self.subTest(stage=stage[0], request=number, of=count, way=way):
                        self.bucket.clear()
                        self.bucket.update(before)
                        self.clear_uploads()
                        Stopper(self.store, number, "after" in way).follow(self.start(*stage))
                        self.whole()
                        if "kept" not in way:
                            self.empty_scratch()
                        self.bload(*stage)
                        self.unchanged(wanted)
        self.complete()


class Locked(Results):
    """A store that compares no conditions, and a folder in which writers lock each other out."""

    def setUp(self):
        super().setUp()
        self.text()
        self.store.ignored = {"all"}
        self.locks = os.path.join(self.folder.name, "locks")
        os.mkdir(self.locks)
        self.command = "pack", "v", *TEXT, *SMALL, "--lock-dir", self.locks, "-o"
        self.bload("pack", "-q", "v", *TEXT, *SMALL, "-o", "local")

    def test_refused(self):
        """Without the folder the store is refused, and the way out is named; a folder that is not there, and a directory as output are wrong."""
        command = "pack", "-q", "v", *TEXT, *SMALL, "-o"
        self.fails(2, "the store does not have what bload needs: conditional writes", *command, URL)
        self.store.ignored = {"If-None-Match", "If-Match"}
        self.fails(2, "(--lock-dir does it by a folder that they share)", *command, URL)
        self.fails(2, "cannot open none/bload.lock: No such file or directory", *command, URL, "--lock-dir", "none")
        self.fails(2, "--lock-dir is for a URL as output: x is a directory", *command, "x", "--lock-dir", self.locks)

    def test_at_once(self):
        for latency in 0, 0.003:
            self.clear()
            self.store.latency = latency
            processes = [self.start(*self.command, URL) for _ in range(3)]
            said = [process.communicate(timeout=120)[1].decode() for process in processes]
            self.assertEqual([process.returncode for process in processes], [0, 0, 0], said)
            self.complete()

    def test_killed(self):
        self.bload(*self.command, URL)
        count = len(self.store.requests)
        for number in range(5, count, count // 6):
            self.clear()
            Stopper(self.store, number, True).follow(self.start(*self.command, URL))
            self.bload(*self.command, URL)
            self.complete()
        self.assertEqual(os.listdir(self.locks), ["bload.lock"])

    def test_parts(self):
        """Uploads in parts hold the lock while they are completed alone."""
        self.arrays()
        options = "-T", "60", "--oversize", "split", "--shard-size", "10M", "--lock-dir", self.locks, "-o"
        self.bload("pack", "-q", "a", *options[:-3], "-o", "local2")
        processes = [self.start("pack", "-q", "a", *options, URL) for _ in range(2)]
        said = [process.communicate(timeout=120)[1].decode() for process in processes]
        self.assertEqual([process.returncode for process in processes], [0, 0], said)
        here = self.files("local2")
        self.assertEqual({key[len(DATASET) + 1:]: one.data for key, one in self.bucket.items() if key.startswith(f"{DATASET}/")}, here)
