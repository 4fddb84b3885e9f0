"""https: with a certificate that is trusted, by several processes; and what is said where it is not."""
import os
import shutil
import subprocess
import unittest

import bload
from remote import Far, same
from server import Server

try:
    from torch.utils.data import DataLoader

    from bload.torch import BlockDataset, BlockSampler
except ImportError:
    DataLoader = None


@unittest.skipUnless(shutil.which("openssl"), "no openssl")
class Secure(Far):
    def serve(self, name):
        """The server anew, with a certificate of its own for this name."""
        super().tearDown()
        self.certificate = self.path(f"{self._testMethodName}.pem")
        key = self.certificate + ".key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=bload", "-addext", f"subjectAltName={name}",
                        "-keyout", key, "-out", self.certificate], check=True, capture_output=True)
        self.server = Server(self.directory, certificate=(self.certificate, key))
        self.addCleanup(os.environ.pop, "SSL_CERT_FILE", None)

    def test_trusted(self):
        """With SSL_CERT_FILE blocks are the same, in forked processes too, and several requests share a connection."""
        self.serve("IP:127.0.0.1")
        os.environ["SSL_CERT_FILE"] = self.certificate
        path = self.packed("shards", "--batch-size", "2", "--remainder", "pad", name="tls")
        far, local = self.far(path), bload.open(path)
        self.assertTrue(far.path.startswith("https://"))
        for i in range(len(local)):
            same(self, far[i], local[i])
        far.verify()
        if DataLoader is None:
            self.skipTest("the part with workers needs torch")
        dataset = BlockDataset(self.url(path), cache=None)
        dataset[0]  # a connection that workers must not use
        sampler = BlockSampler(dataset, 1, 0, shuffle=False)
        rows = [tuple(row) for batch in DataLoader(dataset, 2, sampler=sampler, num_workers=2) for row in batch["sequence"].tolist()]
        self.assertEqual(rows, [tuple(local[i]["sequence"].tolist()) for i in range(len(local))])

    def test_untrusted(self):
        """Nothing is tried again: it says what is wrong, and what to do."""
        self.serve("IP:127.0.0.1")
        with self.assertRaisesRegex(bload.Error, r"https://.*manifest.json: its certificate is not trusted: self.signed certificate; .*set SSL_CERT_FILE to the file of its certificate$"):
            self.far(self.packed("plain"), retries=7)
        self.assertEqual(self.server.requests, [])

    def test_name(self):
        """A certificate that is trusted, but of another host."""
        self.serve("DNS:other.example")
        os.environ["SSL_CERT_FILE"] = self.certificate
        with self.assertRaisesRegex(bload.Error, "its certificate is not trusted: IP address mismatch, certificate is not valid for '127.0.0.1'$"):
            self.far(self.packed("plain"), retries=0)

    def test_redirect_to_plain_http(self):
        """The same host without TLS gets nothing that was given for https."""
        self.serve("IP:127.0.0.1")
        os.environ["SSL_CERT_FILE"] = self.certificate
        with Server(self.directory) as plain:
            def lead(handler, file, first, end):
                handler.send_response(307)
                handler.send_header("Location", plain.url + handler.path)
                handler.send_header("Content-Length", "0")
                handler.end_headers()
            self.server.faults = lambda path, begin, end, number: lead if "/shards/0" in path else None
            path = self.packed("shards")
            far = self.far(path, storage_options={"headers": {"Authorization": "Bearer secret", "Cookie": "a=secret"}})
            same(self, far[0], bload.open(path)[0])
            given = [value for _, headers in plain.headers for value in headers.values()]
        self.assertTrue(given)
        self.assertFalse([value for value in given if "secret" in value])
        self.assertTrue([value for _, headers in self.server.headers for value in headers.values() if "secret" in value])
