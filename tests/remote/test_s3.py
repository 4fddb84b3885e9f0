"""Datasets in S3, of moto's server, by fsspec."""
import logging
import os
import pickle
import subprocess
import sys
import types
import unittest

import numpy as np

import bload
from remote import Far, same

try:
    import boto3
    import fsspec
    import s3fs  # noqa: F401
    from moto.server import ThreadedMotoServer
except ImportError:
    ThreadedMotoServer = None

KEYS = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}


@unittest.skipUnless(ThreadedMotoServer, "no moto, or no s3fs")
class Buckets(Far):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        cls.s3 = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        cls.s3.start()
        host, port = cls.s3.get_host_and_port()
        cls.endpoint = f"http://{host}:{port}"
        cls.client = boto3.client("s3", endpoint_url=cls.endpoint, **KEYS)
        cls.client.create_bucket(Bucket="bucket")
        cls.options = {"key": "key", "secret": "secret", "endpoint_url": cls.endpoint,
                       "client_kwargs": {"region_name": "us-east-1"}, "config_kwargs": {"retries": {"max_attempts": 1}}}

    @classmethod
    def tearDownClass(cls):
        cls.s3.stop()
        super().tearDownClass()

    def upload(self, path, without=()):
        """Uploads a folder, the manifest last; gives its URL."""
        names = sorted((os.path.relpath(os.path.join(folder, name), path) for folder, _, found in os.walk(path) for name in found),
                       key=lambda name: name == "manifest.json")
        root = os.path.basename(path)
        for name in names:
            if name not in without:
                self.client.upload_file(os.path.join(path, name), "bucket", f"{root}/{name}")
        return f"s3://bucket/{root}"

    def s3_open(self, url, **options):
        return bload.open(url, **{"storage_options": self.options, "retries": 1, "cache": self.cache, **options})

    def test_blocks(self):
        """Plain, compressed and JPEG, with and without a cache, and by another process."""
        for way in "split", "compressed", "jpeg":
            path = self.packed(way)
            url, local = self.upload(path), bload.open(path)
            for cache in None, self.cache:
                far = self.s3_open(url, cache=cache)
                for i in range(0, len(local), 4):
                    same(self, far[i], local[i])
                self.assertTrue(far._storage.transfer.process_state().objects.direct.proven)
            same(self, pickle.loads(pickle.dumps(far))[1], local[1])

    def test_unsigned(self):
        """By the client of s3fs where signed URLs do not do: from the beginning, or from some time on."""
        path = self.packed("shards")
        url, local = self.upload(path), bload.open(path)
        needs = {**self.options, "requester_pays": True}
        far = self.s3_open(url, cache=None, storage_options=needs)
        same(self, far[0], local[0])
        self.assertFalse(far._storage.transfer.process_state().objects.direct.proven)
        for answers in (200, b""), (403, b""), (206, b"short"):
            far = self.s3_open(url, cache=None)
            same(self, far[0], local[0])
            direct = far._storage.transfer.process_state().objects.direct
            direct.web.request = lambda *_, said=answers: (types.SimpleNamespace(status=said[0], headers={}), said[1])
            same(self, far[len(far) - 1], local[len(local) - 1])
            self.assertTrue(direct.possible)
            direct.proven = False
            same(self, far[len(far) // 2], local[len(local) // 2])
            self.assertFalse(direct.possible)

    def test_view(self):
        one = self.packed("shards")
        view = self.path("s3-view")
        self.bload("view", "-q", one, "-T", "96", "-o", view)
        self.upload(one)
        far, local = self.s3_open(self.upload(view)), bload.open(view)
        self.assertEqual(far.sources[0].path, "s3://bucket/packed-shards")
        for i in range(len(local)):
            same(self, far[i], local[i])

    def test_forked(self):
        """fsspec's connections do not survive a fork; ours are made anew."""
        url = self.upload(self.packed("plain"))
        far = self.s3_open(url, cache=None)
        expected = np.asarray(far[0]["tokens"]).tobytes()
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            far._storage.process_state().open.clear()
            os.write(writer, b"y" if np.asarray(far[1]["tokens"] is not None) and far[0]["tokens"].tobytes() == expected else b"n")
            os._exit(0)
        os.waitpid(pid, 0)
        os.close(writer)
        self.assertEqual(os.read(reader, 1), b"y")

    def test_faults(self):
        path = self.packed("shards")
        root = self.upload(path, without=("manifest.json",))
        self.client.delete_object(Bucket="bucket", Key="packed-shards/manifest.json")
        with self.assertRaisesRegex(bload.MissingError, "s3://bucket/packed-shards: no such dataset, or it is incomplete"):
            self.s3_open(root)
        self.assertRaises(bload.MissingError, self.s3_open, "s3://no-such-bucket/dataset")
        self.upload(path)
        key = "packed-shards/shards/00000/shard-00000001.safetensors"
        data = self.client.get_object(Bucket="bucket", Key=key)["Body"].read()
        self.client.put_object(Bucket="bucket", Key=key, Body=data[:-5])
        with self.assertRaisesRegex(bload.DamagedError, f"shard-00000001.*object has changed.*{len(data) - 5} bytes, {len(data)} were"):
            list(self.s3_open(root, cache=None))
        self.client.put_object(Bucket="bucket", Key=key, Body=data[:-5] + b"other")
        with self.assertRaisesRegex(bload.DamagedError, r"shard-00000001.*wrong checksum; fetched 3 times \(ETag "):
            list(self.s3_open(root, cache=None))
        self.client.delete_object(Bucket="bucket", Key=key)
        with self.assertRaisesRegex(bload.MissingError, "shard-00000001.safetensors: no such object"):
            list(self.s3_open(root, cache=None))

    def test_forked_quietly(self):
        """A forked process reads without a word of connections that are its parent's, and takes over what that has read of S3's description."""
        url = self.upload(self.packed("plain"))
        program = ("import gc, os, sys, time, bload\nfrom bload._core.objects import descriptions\n"
                   f"far = bload.open({url!r}, storage_options={self.options!r})\nfar[0]\n"
                   "pid = os.fork()\nif pid == 0:\n    far._storage.process_state().open.clear()\n    far[1]\n    time.sleep(0.3)\n    gc.collect()\n"
                   "    os._exit(descriptions.cache_info().misses - 1)\nsys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_options(self):
        self.assertRaisesRegex(bload.OptionError, "fsspec cannot open it", bload.open, "nothing://bucket/dataset")
        with self.assertRaisesRegex(bload.Error, "no_such_option"):
            self.s3_open("s3://bucket/dataset", storage_options={**self.options, "no_such_option": 1})
        memory = fsspec.filesystem("memory")
        path = self.packed("plain")
        memory.put(path, "/stored", recursive=True)
        same(self, bload.open("memory://stored")[2], bload.open(path)[2])
