"""Datasets in Google's store, of an emulator, by gcsfs."""
import logging
import os
import pickle
import unittest

import bload
from remote import Far, same

# Else gcsfs asks by gRPC, which the emulator does not know, what kind of bucket it is.
os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"

try:
    import gcsfs
    from gcp_storage_emulator.server import create_server
except ImportError:
    create_server = None


@unittest.skipUnless(create_server, "no gcsfs, or no gcp-storage-emulator")
class Google(Far):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        logging.disable(logging.ERROR)  # the emulator tells of each object that is not there
        cls.store = create_server("127.0.0.1", 0, in_memory=True, default_bucket="bucket")
        cls.store.start()
        port = cls.store._api._httpd.server_address[1]
        cls.options = {"endpoint_url": f"http://127.0.0.1:{port}", "token": "anon", "project": "test"}

    @classmethod
    def tearDownClass(cls):
        cls.store.stop()
        super().tearDownClass()

    def test_blocks(self):
        """With and without a cache, by another process, verified; a missing manifest and a missing shard are told."""
        path = self.packed("shards")
        files = gcsfs.GCSFileSystem(**self.options, skip_instance_cache=True)
        for folder, _, names in os.walk(path):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    files.pipe_file("bucket/set/" + os.path.relpath(os.path.join(folder, name), path), file.read())
        local = bload.open(path)
        for cache in None, self.cache:
            far = bload.open("gs://bucket/set", storage_options=self.options, cache=cache, retries=1)
            for i in range(len(local)):
                same(self, far[i], local[i])
        far.verify()
        same(self, pickle.loads(pickle.dumps(far))[1], local[1])
        with self.assertRaisesRegex(bload.MissingError, "gs://bucket/none: no such dataset, or it is incomplete"):
            bload.open("gs://bucket/none", storage_options=self.options)
        files.rm("bucket/set/shards/00000/shard-00000001.safetensors")
        with self.assertRaisesRegex(bload.MissingError, "gs://.*shard-00000001.safetensors: no such object"):
            far.verify()
