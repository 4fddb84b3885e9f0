"""Whole runs with the output in stores of others, SeaweedFS and moto: the objects are the files of a local run, byte for byte, and nothing is
left, though runs are killed, begin at the same time, or share their work as tasks.

STORE=s3://BUCKET/PREFIX runs the same tests in a store of yours, with the endpoint, the credentials and the region of the environment;
STORE_OPTIONS gives pack and finish more options, as "--lock-dir FOLDER" for a store without conditional writes. What is below the prefix is removed:

    STORE=s3://bucket/tests AWS_ENDPOINT_URL=http://127.0.0.1:9000 tests/remote/run -k stores.Given
"""
import io
import logging
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import numpy as np

from harness import each
from servers import KEYS, Weed
from test_datasets import files_of, write_files
from test_packing import BLOAD, TEXT, lines

try:
    import boto3
    from moto.server import ThreadedMotoServer
except ImportError:
    boto3 = None

# Seven shards of text; three shards of arrays, of which two have 16 MB: these are uploaded in parts.
SOURCES = {
    "text": ("v", *TEXT, "-T", "1024", "--shard-size", "300K"),
    "parts": ("a", "-T", "100", "--shard-size", "16M")}


class Inputs:
    """The inputs, and the datasets of local runs, made once."""
    folder = None

    @classmethod
    def make(cls):
        if cls.folder:
            return cls.folder.name
        made = tempfile.TemporaryDirectory()
        files = {f"v/{i}.jsonl": lines(1500, i) for i in range(6)}
        random = np.random.default_rng(1)
        for i in range(9):
            file = io.BytesIO()
            np.save(file, random.integers(0, 9, (100, 10_000)).astype("f4"))
            files[f"a/{i}.npy"] = file.getvalue()
        write_files(made.name, files)
        for name, words in SOURCES.items():
            subprocess.run([BLOAD, "pack", "-q", *words, "-o", f"local-{name}"], cwd=made.name, check=True, timeout=60)
        cls.folder = made
        return made.name


class Law:
    """The tests. A class that has them gives a client of others, the bucket, the beginning of keys, and the environment of bload."""
    bucket, prefix, options = "bucket", "sets/", ()

    def setUp(self):
        self.inputs = Inputs.make()
        self.key = f"{self.prefix}{self._testMethodName}"
        self.url = f"s3://{self.bucket}/{self.key}"
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.clear()

    def start(self, *arguments):
        return subprocess.Popen([BLOAD, *arguments], cwd=self.inputs, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                                env={**self.environment, "TMPDIR": self.scratch.name, "LC_ALL": "C.UTF-8"})

    def ends(self, *processes):
        """All end well; gives what they said, and what they printed."""
        done = [process.communicate(timeout=120) for process in processes]
        self.assertEqual([process.returncode for process in processes], [0] * len(processes), done)
        return ["".join(said.decode() for said in reversed(one)) for one in done]

    def bload(self, *arguments):
        return self.ends(self.start(*arguments))[0]

    def pack(self, name, *options):
        return "pack", *SOURCES[name], "-j", "2", *options, *self.options, "-o", self.url

    def keys(self):
        """The keys of the dataset's objects."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=f"{self.key}/")
        return [item["Key"] for page in pages for item in page.get("Contents", [])]

    def uploads(self):
        """The uploads in parts that were begun, and neither completed nor ended."""
        found = self.client.list_multipart_uploads(Bucket=self.bucket).get("Uploads") or []
        return [(item["Key"], item["UploadId"]) for item in found if item["Key"].startswith(f"{self.key}/")]

    def clear(self):
        for key in self.keys():
            self.client.delete_object(Bucket=self.bucket, Key=key)
        for key, name in self.uploads():
            self.client.abort_multipart_upload(Bucket=self.bucket, Key=key, UploadId=name)

    def complete(self, name):
        """The objects are the files of the local run; nothing else is left in the store, and nothing in the scratch folder of runs that
        were not killed."""
        wanted = files_of(os.path.join(self.inputs, f"local-{name}"))
        self.assertGreater(len(wanted), 5)
        found = {key[len(self.key) + 1:]: self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read() for key in self.keys()}
        self.assertEqual(sorted(found), sorted(wanted))
        self.assertEqual([path for path in wanted if found[path] != wanted[path]], [])
        self.assertEqual(self.uploads(), [])
        self.assertEqual(os.listdir(self.scratch.name), [])

    @each(SOURCES)
    def test_whole(self, name):
        """The files of a local run; the same command again has nothing to do. Commands that read say of the URL what they say of the copy."""
        self.assertNotIn("already complete", self.bload(*self.pack(name)))
        self.complete(name)
        if name == "parts":
            tag = self.client.head_object(Bucket=self.bucket, Key=f"{self.key}/shards/00000/shard-00000000.safetensors")["ETag"]
            self.assertRegex(tag, r'-[23]"$|^"[0-9a-f]{32}"$')  # as an upload of two parts has it, or that of a whole object
        self.assertIn("already complete", self.bload(*self.pack(name)))
        self.complete(name)
        local, out = f"local-{name}", self.scratch.name
        self.assertIn("verified, no errors: ", self.bload("verify", self.url))
        here, there = (self.bload("info", "--json", place) for place in (local, self.url))
        self.assertEqual(there.replace(self.url, local).split("bload: URLs:")[0], here)
        for place, path in (self.url, "far"), (local, "near"):
            self.bload("export", "-q", place, "--to", "webdataset", "-o", f"{out}/{path}-tars")
            self.bload("view", "-q", place, "-T", "512" if name == "text" else "50", "--oversize", "split", "-o", f"{out}/{path}")
        for kind in "-tars", "":
            far, near = (files_of(f"{out}/{place}{kind}") for place in ("far", "near"))
            self.assertGreater(len(near), 1)
            self.assertEqual(sorted(far), sorted(near))
            # One file of each says what it was made of.
            self.assertEqual([path for path in near if far[path] != near[path] and path not in ("export.json", "manifest.json")], [])
        shutil.rmtree(out)

    def killed(self, process, reached):
        """Kills a run as soon as the store is in a state."""
        limit = time.monotonic() + 60
        while process.poll() is None and not reached():
            self.assertLess(time.monotonic(), limit)
        was_running = process.poll() is None
        process.kill()
        process.communicate()
        shutil.rmtree(self.scratch.name)  # the next run is on another machine
        os.mkdir(self.scratch.name)
        return was_running

    @each(SOURCES)
    def test_killed(self, name):
        """Killed at its beginning, after the first shard or in the middle of its upload, and after a record: the same command goes on."""
        points = [lambda: self.keys(), lambda: any("/shards/" in key for key in self.keys()), lambda: sum(key.endswith(".record") for key in self.keys()) > 2]
        if name == "parts":
            points[1:] = [self.uploads, lambda: any(key.endswith(".record") for key in self.keys())]
        count = sum(self.killed(self.start(*self.pack(name, "-q")), reached) for reached in points)
        self.assertGreater(count, 0)  # a fast run may end before the later states are seen
        self.bload(*self.pack(name))
        self.complete(name)

    @each(["parts"])
    def test_tasks(self, name):
        """Three processes that take tasks from the store: each task is done, and finish leaves the dataset of one process."""
        said = self.ends(*(self.start(*self.pack(name, "--task", "auto/3")) for _ in range(3)))
        self.assertEqual(set(re.findall(r"^bload: task (\d)/3: ", "".join(said), re.MULTILINE)), set("012"), said)
        self.bload("finish", self.url, *self.options)
        self.complete(name)

    @each(SOURCES)
    def test_together(self, name):
        """Two equal runs at once make one dataset, and both end well."""
        for one in self.ends(*(self.start(*self.pack(name)) for _ in range(2))):
            self.assertRegex(one, rf"{self.url}: \d+ shards|{self.url} is already complete")
        self.complete(name)


class SeaweedFS(Law, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        server = Weed(folder.name)
        cls.addClassCleanup(server.stop)
        cls.client = server.client("AKTEST")
        cls.environment = {"HOME": folder.name, "AWS_ENDPOINT_URL": server.url, "AWS_EC2_METADATA_DISABLED": "true",
                           "AWS_ACCESS_KEY_ID": "AKTEST", "AWS_SECRET_ACCESS_KEY": KEYS["AKTEST"]}


@unittest.skipUnless(boto3, "no moto")
class Moto(Law, unittest.TestCase):
    """moto ignores If-Match where an upload in parts is completed. bload can do without: of what it uploads in parts, nothing is replaced."""

    @classmethod
    def setUpClass(cls):
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        moto.start()
        cls.addClassCleanup(moto.stop)
        url = "http://{}:{}".format(*moto.get_host_and_port())
        keys = {"aws_access_key_id": "AKTEST", "aws_secret_access_key": "x", "region_name": "us-east-1"}
        cls.client = boto3.client("s3", endpoint_url=url, **keys)
        cls.client.create_bucket(Bucket="bucket")
        home = tempfile.TemporaryDirectory()
        cls.addClassCleanup(home.cleanup)
        cls.environment = {"HOME": home.name, "AWS_ENDPOINT_URL": url, "AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "AKTEST",
                           "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1"}


if os.environ.get("STORE"):
    class Given(Law, unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.bucket, _, prefix = os.environ["STORE"].removeprefix("s3://").strip("/").partition("/")
            cls.prefix = f"{prefix}/" if prefix else ""
            cls.options = os.environ.get("STORE_OPTIONS", "").split()
            cls.client = boto3.client("s3")
            cls.environment = dict(os.environ)


if __name__ == "__main__":
    unittest.main()
