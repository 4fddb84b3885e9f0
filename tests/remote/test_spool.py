"""Tokens that tasks share in a store: tasks that pack read the files of steps there, and keep only what they pack."""
import os
import re

from harness import each
from test_datasets import npy
from test_packing import TEXT, lines
from test_results import URL, Results, Stopper

FILES, TASKS = 6, 3
OPTIONS = ("-T", "2000", "--shard-size", "400K")
OWN = b"""sources: [s/]
tokenizer: bytes
T: 8000
shard-size: 400K
fields:
  - {name: patches, path: "p/{id}.npy", steps: own, capacity: auto, missing: empty}
"""


class Spool(Results):
    def scanned(self, *sources):
        """Tasks scan and plan; then what they asked for is forgotten."""
        for number in range(TASKS):
            self.bload("scan", "-q", *sources, "--task", f"{number}/{TASKS}", "-o", URL)
        self.bload("plan", "-q", *(sources[:2] if sources[0] == "-c" else ()), URL, *(() if sources[0] == "-c" else OPTIONS[:2]))
        self.steps = sorted(name for name in self.objects() if name.endswith(".steps"))
        self.store.requests.clear()

    def corpus(self):
        for i in range(FILES):
            self.place(f"v/{i}.jsonl", lines(6_000, i))  # each is a chunk of its own
        self.sources = ("s3://in/v/", *TEXT)
        self.bload("pack", "-q", *self.sources, *OPTIONS, "-o", "local")
        self.scanned(*self.sources)
        self.assertEqual(len(self.steps), FILES)

    def pack(self, number, **more):
        return self.bload("pack", *self.sources, *OPTIONS, "--task", f"{number}/{TASKS}", "-o", URL, **more)

    def gets(self, part):
        """How often each object was fetched whose path has the part."""
        counts = {}
        for request in self.store.requests:
            if request.method == "GET" and part in request.path:
                counts[request.path] = counts.get(request.path, 0) + 1
        return counts

    def left(self):
        """The names of files of steps in the scratch."""
        return [name for _, _, names in os.walk(self.scratch) for name in names if ".steps" in name]

    def test_tasks(self):
        """Each task reads each file once, and has none of them in its scratch; no text is fetched again."""
        self.corpus()
        kept = []
        self.store.fault = lambda request: kept.extend(self.left())
        for number in range(TASKS):
            self.store.requests.clear()
            said = self.pack(number)
            self.assertRegex(said, r"the tokens in the store, \S+ MiB for the shards that are made here, are first bucketed by shard\n")
            self.assertRegex(said, r"URLs: \d+ requests, \S+ MiB fetched")
            self.assertEqual(sorted(self.gets(".steps").values()), [1] * FILES)
            self.assertEqual(self.gets("/in/v/"), {})
        self.assertEqual(kept, [])
        self.bload("finish", "-q", URL)
        self.complete()

    def test_alone(self):
        """One process packs what tasks have scanned."""
        self.corpus()
        self.bload("pack", "-q", *self.sources, *OPTIONS, "-o", URL)
        self.assertEqual(self.gets("/in/v/"), {})
        self.complete()

    def test_claimed(self):
        """A process that takes all tasks fetches the table, the plan and the rows once: its tasks have one scratch, one after the other."""
        self.corpus()
        said = self.bload("pack", *self.sources, *OPTIONS, "--task", f"auto/{TASKS}", "-o", URL)
        self.assertEqual(said.count("are first bucketed by shard"), TASKS)
        for part, files in (".rows", FILES), ("/.bload/sequences.tsv", 1), ("/.bload/plan.safetensors", 1):
            self.assertEqual(sorted(self.gets(part).values()), [1] * files, part)
        self.assertEqual(os.listdir(self.scratch), [])
        self.bload("finish", "-q", URL)
        self.complete()

    @each(["cut", "other", "empty"])
    def test_tags(self, damage):
        """The list of what a scratch has is damaged: then everything is compared as before."""
        self.corpus()
        process = self.start("pack", "-q", *self.sources, *OPTIONS, "--task", f"auto/{TASKS}", "-j", "1", "-o", URL)
        stopper = Stopper(self.store, 3 * FILES + 20, True)
        stopper.follow(process)
        self.assertTrue(stopper.reached)
        tags, = (os.path.join(where, name) for where, _, names in os.walk(self.scratch) for name in names if name == "tags")
        data = self.read(tags)
        with open(tags, "wb") as file:
            file.write({"cut": data[:len(data) // 2], "other": data.replace(b"a", b"b"), "empty": b""}[damage])
        for number in range(TASKS):
            self.pack(number)
        self.bload("finish", "-q", URL)
        self.complete()

    def test_removed(self):
        """The spool goes away after the state was fetched: the texts are counted again."""
        self.corpus()

        def removing(request):
            if "list-type" in request.query and "spool" in str(request.query):
                for name in self.steps:
                    self.bucket.pop(f"sets/d/{name}", None)
                    self.bucket.pop(f"sets/d/{name.replace('.steps', '.rows')}", None)
        self.store.fault = removing
        self.bload("pack", "-q", *self.sources, *OPTIONS, "-j", "1", "-o", URL)
        self.store.fault = None
        self.assertEqual(sorted(self.gets("/in/v/").values()), [1] * FILES)
        self.complete()

    def test_missing(self):
        """A file that is gone is made again, by the task that needs it."""
        self.corpus()
        del self.bucket[f"sets/d/{self.steps[2]}"]
        self.pack(0)
        self.assertEqual(list(self.gets("/in/v/").values()), [1])
        for number in range(1, TASKS):
            self.pack(number)
        self.bload("finish", "-q", URL)
        self.complete()

    def test_damaged(self):
        """A file with other bytes ends the task; the message says what to remove."""
        self.corpus()
        name = self.steps[1]
        item = self.bucket[f"sets/d/{name}"]
        self.bucket[f"sets/d/{name}"] = self.store.RequestHandlerClass.object(bytes(byte ^ (at % 100 == 0) for at, byte in enumerate(item.data)))
        said = self.fails(1, f"{URL}/{name} is damaged (remove {URL}/{name} and run the same command again", "pack", "-q",
                          *self.sources, *OPTIONS, "--task", f"0/{TASKS}", "-o", URL)
        self.assertNotIn(self.scratch, said)
        del self.bucket[f"sets/d/{name}"]
        for number in range(TASKS):
            self.pack(number)
        self.bload("finish", "-q", URL)
        self.complete()

    @each(["error 503 SlowDown", "lost", "cut", "reset"])
    def test_faults(self, fault):
        """The store fails once for each file."""
        self.corpus()
        met = set()

        def failing(request):
            if ".steps" not in request.path or request.path in met:
                return None
            met.add(request.path)
            return fault
        self.store.fault = failing
        for number in range(TASKS):
            self.pack(number)
        self.store.fault = None
        self.assertEqual(len(met), FILES)
        self.bload("finish", "-q", URL)
        self.complete()

    def test_own(self):
        """With fields of other lengths the pieces are read at random: the files are copied first."""
        for i in range(12):
            self.write(f"s/{i:02}.txt", re.sub(rb'[{}":]', b"", lines(20 + i, i)))
            if i % 3:
                self.write(f"p/{i:02}.npy", npy(i + 1, 20, 100 * i))
        self.write("own.yaml", OWN)
        self.sources = ("-c", "own.yaml")
        self.bload("pack", "-q", *self.sources, "-o", "local")
        self.scanned(*self.sources)
        for number in range(TASKS):
            self.store.requests.clear()
            said = self.bload("pack", *self.sources, "--task", f"{number}/{TASKS}", "-o", URL)
            self.assertNotIn("bucketed", said)
            self.assertEqual(sorted(self.gets(".steps").values()), [1] * len(self.steps))
        self.bload("finish", "-q", URL)
        self.complete()


if __name__ == "__main__":
    import unittest
    unittest.main()
