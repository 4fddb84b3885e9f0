"""The client of src/remote, as the program remote_probe, against a server that recomputes every signature and fails in every way."""
import datetime
import hashlib
import logging
import os
import random
import shutil
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
import unittest

from harness import each
from store import Object, Store

try:
    import boto3
    from moto.server import ThreadedMotoServer
except ImportError:
    ThreadedMotoServer = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROBE = os.environ.get("REMOTE_PROBE", os.path.join(ROOT, "build/release/tests/remote_probe"))
KEYS = {"AWS_ACCESS_KEY_ID": "AKTEST", "AWS_SECRET_ACCESS_KEY": "se/cret+KEY="}
DATA = random.Random(1).randbytes(300_000)


class Result:
    """What a run of the probe gave."""

    def __init__(self, done):
        lines = done.stderr.decode(errors="replace").splitlines()
        counts = lines[-1].split() if lines and lines[-1].endswith("bytes fetched") else []
        self.status, self.out, self.message = done.returncode, done.stdout, "\n".join(lines[:-1] if counts else lines)
        self.requests, self.retries, self.wanted, self.fetched = (int(counts[i]) for i in (0, 2, 4, 7)) if counts else (0, 0, 0, 0)


@unittest.skipUnless(os.path.exists(PROBE), "remote_probe is not built (make build/release/tests/remote_probe)")
class Stored(unittest.TestCase):
    """A test with a store of its own, and an empty home folder."""

    def setUp(self):
        self.store = Store()
        self.home = tempfile.TemporaryDirectory()
        self.environment = {"HOME": self.home.name, "AWS_EC2_METADATA_DISABLED": "true", "LC_ALL": "C.UTF-8", **KEYS}
        if "LD_LIBRARY_PATH" in os.environ:
            self.environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]

    def tearDown(self):
        self.store.__exit__()
        self.home.cleanup()

    def probe(self, *arguments, options=(), retries=3, timeout=2, limit=60, **environment):
        """Runs the probe with the store as the endpoint."""
        command = [PROBE, "--endpoint", self.store.url, "--retries", str(retries), "--timeout", str(timeout), *options, *map(str, arguments)]
        return Result(subprocess.run(command, env={**self.environment, **environment}, capture_output=True, timeout=limit, check=False))

    def good(self, *arguments, **more):
        found = self.probe(*arguments, **more)
        self.assertEqual((found.status, found.message), (0, ""))
        self.assertEqual(self.store.complaints, [])
        return found

    def fails(self, status, words, *arguments, **more):
        """It fails with the status, in one line that has the words and no secret."""
        found = self.probe(*arguments, **more)
        self.assertEqual(found.status, status, found.message)
        self.assertIn(words, found.message)
        self.assertEqual(found.message.count("\n"), 0, found.message)
        for secret in "se/cret", "hf_right", "session-token":
            self.assertNotIn(secret, found.message)
        return found

    def answer(self, *faults):
        """The first requests for objects have these faults, one after the other; later ones have none."""
        left = list(faults)

        def fault(request):
            return left.pop(0) if left and request.method == "GET" else None
        self.store.fault = fault


class Listing(Stored):
    def listed(self, url, **more):
        return [line.split("\t") for line in self.good("list", url, **more).out.decode().splitlines()]

    def test_pages(self):
        """Every object once, in order, a request for each thousand."""
        names = [f"v/{i:05d}.mp4" for i in range(2500)]
        for i, name in enumerate(names):
            self.store.put("bucket", name, bytes(i % 7))
        self.store.put("bucket", "w/other", b"x")
        self.store.put("bucket", "v/folder/", b"")
        found = self.listed("s3://bucket/v/")
        self.assertEqual([url for url, _, _ in found], [f"s3://bucket/{name}" for name in names])
        self.assertEqual([int(size) for _, size, _ in found], [i % 7 for i in range(2500)])
        self.assertEqual(found[1][2], hashlib.md5(bytes(1)).hexdigest())
        self.assertEqual(len(self.store.requests), 3)
        self.assertEqual(self.store.connections, 1)

    def test_bucket(self):
        self.store.put("bucket", "a", b"x")
        for url in "s3://bucket", "s3://bucket/":
            self.assertEqual([row[0] for row in self.listed(url)], ["s3://bucket/a"])
        self.assertEqual([row[0] for row in self.listed("gs://bucket/a")], ["gs://bucket/a"])

    def test_odd_keys(self):
        """Keys with every kind of character are listed as they are, and can be read by what was listed."""
        keys = ["a b", "a+b", "a%20b", "a%2Fb", "a&b<c>'\"", "é/中", "..", "../x", "./y", "a//b", "a?b=c", "a#b", "a;b=c,d", "*?[x]", "~-_.", "a:b@c",
                "a\\b", "{a}", "a=b", "a|b^c`"]
        for key in keys:
            self.store.put("bucket", "p/" + key, key.encode())
        found = self.listed("s3://bucket/p/")
        self.assertEqual(sorted(url for url, _, _ in found), sorted("s3://bucket/p/" + key for key in keys))
        for url, _, _ in found:
            self.assertEqual(self.good("cat", url).out.decode(), url[len("s3://bucket/p/"):])

    def test_odd_prefixes(self):
        for prefix in "a b+c/", "é%/", "=&/":
            self.store.put("bucket", prefix + "x", b"")
            self.assertEqual([row[0] for row in self.listed(f"s3://bucket/{prefix}")], [f"s3://bucket/{prefix}x"])

    def test_refused(self):
        self.store.put("bucket", "a", b"x")
        self.fails(2, "s3://bucket/none/: there are no objects with this prefix", "list", "s3://bucket/none/")
        self.fails(2, "s3://none/a: there is no such bucket", "list", "s3://none/a")
        self.fails(2, "a web server has no list of its files", "list", f"{self.store.url}/web/")
        self.fails(2, "it has no bucket", "list", "s3:///x")
        self.store.endless = True
        self.fails(1, "the list does not end", "list", "s3://bucket/a")

    @each([("html", b"<html>hello</html>"), ("cut", b"<ListBucketResult><IsTruncated>false</IsTrunc"), ("empty", b"")])
    def test_nonsense(self, _, body):
        self.store.put_file("x", body)
        self.store.fault = lambda request: None
        route = type(self.store.RequestHandlerClass.__name__, (self.store.RequestHandlerClass,), {})
        route.answer_listing = lambda handler, *_: handler.send(200, {}, body)
        self.store.RequestHandlerClass = route
        self.store.put("bucket", "a", b"x")
        self.fails(1, "s3://bucket/a: the answer has no listing: --endpoint or AWS_ENDPOINT_URL may name", "list", "s3://bucket/a")

    @each(["404", "405", "400", "501"])
    def test_no_store(self, status):
        """A web server that is no store says so by its status; its page is no reason of S3."""
        self.store.fault = lambda request: f"status {status}"
        for command, url in (("list", "s3://bucket/a/"), ("stat", "s3://bucket/a"), ("list", "gs://bucket/a/")):
            self.fails(2, f"{url}: the server does not answer as S3 does: --endpoint or AWS_ENDPOINT_URL names", command, url)

    def test_no_bucket(self):
        """An object of no bucket is told from a missing object, though the answer to a HEAD is the same."""
        self.store.put("bucket", "a", b"x")
        self.fails(2, "s3://none/a: there is no such bucket", "stat", "s3://none/a")
        self.fails(2, "s3://bucket/b: there is no such object", "stat", "s3://bucket/b")


class Reading(Stored):
    def setUp(self):
        super().setUp()
        self.store.put("bucket", "a.bin", DATA)

    def test_whole(self):
        found = self.good("cat", "s3://bucket/a.bin")
        self.assertEqual(found.out, DATA)
        self.assertEqual((found.requests, found.wanted, found.fetched), (2, len(DATA), len(DATA)))
        self.assertEqual(self.store.connections, 1)

    def test_stat(self):
        size, tag = self.good("stat", "s3://bucket/a.bin").out.decode().rstrip("\n").split("\t")
        self.assertEqual((int(size), tag), (len(DATA), hashlib.md5(DATA).hexdigest()))

    def test_ranges(self):
        for begin, size in (0, 1), (0, len(DATA)), (len(DATA) - 1, 1), (1000, 77), (len(DATA), 0):
            found = self.good("read", "s3://bucket/a.bin", begin, size)
            self.assertEqual(found.out, DATA[begin:begin + size])
            self.assertEqual(found.fetched, size)
        self.fails(1, "it ends at 300000", "read", "s3://bucket/a.bin", len(DATA), 1)
        self.fails(1, "it ends at 300000", "read", "s3://bucket/a.bin", 1, len(DATA))

    def test_empty(self):
        self.store.put("bucket", "empty", b"")
        self.assertEqual(self.good("cat", "s3://bucket/empty").out, b"")

    def test_conditions(self):
        """Each request for bytes is for the object that was stated."""
        self.good("read", "s3://bucket/a.bin", 5, 10)
        asked = self.store.requests[-1].headers
        self.assertEqual((asked["range"], asked["if-match"]), ("bytes=5-14", f'"{hashlib.md5(DATA).hexdigest()}"'))
        self.assertEqual(asked["accept-encoding"], "identity")

    def test_threads(self):
        """Pieces by eight threads: connections are used again, one for each thread at most, and not a byte more is fetched."""
        self.store.latency = 0.005
        found = self.good("pieces", "s3://bucket/a.bin", 3000, 8)
        self.assertEqual(found.out, DATA)
        self.assertEqual((found.requests, found.fetched), (101, len(DATA)))
        self.assertLessEqual(self.store.connections, 8)

    def test_other_libraries(self):
        """GnuTLS signs, too: Debian's libcurl3-gnutls under the first name."""
        library = "/usr/lib/x86_64-linux-gnu/libcurl-gnutls.so.4"
        if not os.path.exists(library):
            self.skipTest("no libcurl-gnutls.so.4")
        os.symlink(library, os.path.join(self.home.name, "libcurl.so.4"))
        self.assertEqual(self.good("cat", "s3://bucket/a.bin", LD_LIBRARY_PATH=self.home.name).out, DATA)

    def test_google(self):
        self.store.region = "auto"
        self.assertEqual(self.good("cat", "gs://bucket/a.bin", GS_ACCESS_KEY_ID="AKTEST", GS_SECRET_ACCESS_KEY="se/cret+KEY=",
                                   AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="").out, DATA)

    def test_environment(self):
        """The endpoint of the environment, and one with a path."""
        found = subprocess.run([PROBE, "cat", "s3://bucket/a.bin"], env={**self.environment, "AWS_ENDPOINT_URL_S3": self.store.url + "/"},
                               capture_output=True, check=True)
        self.assertEqual(found.stdout, DATA)
        self.fails(2, "the endpoint 127.0.0.1 is no URL of a server", "cat", "s3://bucket/a.bin", options=("--endpoint", "127.0.0.1"))


class Credentials(Stored):
    def setUp(self):
        super().setUp()
        self.store.put("bucket", "a", b"content")
        self.store.keys["AKTOKEN"] = ("s2", "to/ken+=")

    def test_token(self):
        right = {"AWS_ACCESS_KEY_ID": "AKTOKEN", "AWS_SECRET_ACCESS_KEY": "s2"}
        self.assertEqual(self.good("cat", "s3://bucket/a", **right, AWS_SESSION_TOKEN="to/ken+=").out, b"content")
        self.fails(2, "the session token does not belong to the access key", "cat", "s3://bucket/a", **right)
        self.store.expired.add("AKTOKEN")
        self.fails(2, "the session has expired", "cat", "s3://bucket/a", **right, AWS_SESSION_TOKEN="to/ken+=")

    @each([
        ("unknown", {"AWS_ACCESS_KEY_ID": "AKNONE"}, "the store does not know the access key"),
        ("wrong", {"AWS_SECRET_ACCESS_KEY": "other"}, "the secret access key does not belong to the access key"),
        ("half", {"AWS_SECRET_ACCESS_KEY": ""}, "the id of an access key without the other half"),
        ("none", {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "no credentials: set AWS_ACCESS_KEY_ID"),
        ("profile", {"AWS_PROFILE": "nobody", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "has a profile nobody")])
    def test_refused(self, _, environment, words):
        for command in "stat", "list", "cat":
            found = self.fails(2, words, command, "s3://bucket/a", **environment)
            self.assertTrue(found.message.startswith("s3://bucket/a: "), found.message)
            self.assertLessEqual(found.requests, 2)

    def test_clock(self):
        self.store.skew = 3600
        self.fails(2, "the clock of this machine is wrong", "cat", "s3://bucket/a")

    def test_denied(self):
        self.store.denied.add("bucket")
        self.fails(2, "s3://bucket/a: access denied", "cat", "s3://bucket/a")
        self.fails(2, "s3://bucket/: access denied", "list", "s3://bucket/")
        self.fails(2, "s3://bucket/none: access denied", "stat", "s3://bucket/none")

    def test_anonymous(self):
        none = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
        self.fails(2, "access denied", "cat", "s3://bucket/a", options=("--anonymous",), **none)
        self.store.public.add("bucket")
        self.assertEqual(self.good("cat", "s3://bucket/a", options=("--anonymous",), **none).out, b"content")
        self.assertNotIn("authorization", self.store.requests[-1].headers)

    def test_profile(self):
        os.mkdir(f"{self.home.name}/.aws")
        with open(f"{self.home.name}/.aws/credentials", "w", encoding="utf-8") as file:
            file.write("[mine]\naws_access_key_id = AKTEST\naws_secret_access_key = se/cret+KEY=\n")
        none = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
        self.assertEqual(self.good("cat", "s3://bucket/a", AWS_PROFILE="mine", **none).out, b"content")

    def test_instance(self):
        """Keys of IMDSv2; new ones are asked for when a session has ended before its time."""
        self.store.role = ["AKTOKEN"]
        service = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "",
                   "AWS_EC2_METADATA_SERVICE_ENDPOINT": self.store.url + "/"}
        self.assertEqual(self.good("cat", "s3://bucket/a", **service).out, b"content")
        self.assertEqual([(r.method, r.path) for r in self.store.requests[:3]],
                         [("PUT", "/latest/api/token"), ("GET", "/latest/meta-data/iam/security-credentials/"),
                          ("GET", "/latest/meta-data/iam/security-credentials/my%20role")])
        self.store.keys["AKOLD"] = ("s3", "old")
        self.store.expired.add("AKOLD")
        self.store.role = ["AKOLD", "AKTOKEN"]
        self.assertEqual(self.good("cat", "s3://bucket/a", **service).out, b"content")
        self.store.role = []
        self.fails(2, "no credentials", "cat", "s3://bucket/a", **service)

    def test_container(self):
        self.store.role = ["AKTOKEN"]
        service = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": self.store.url + "/container",
                   "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-token"}
        self.assertEqual(self.good("cat", "s3://bucket/a", **service).out, b"content")

    def test_plain(self):
        """Credentials go through no network without TLS."""
        found = self.fails(2, "http:// protects neither data nor credentials", "cat", "s3://bucket/a",
                           options=("--endpoint", "http://storage.example.org"))
        self.assertEqual(found.requests, 0)
        self.fails(2, "http:// protects neither", "cat", "http://storage.example.org/x")
        self.fails(2, "http:// protects neither", "cat", "hf://datasets/o/n/x", HF_ENDPOINT="http://hub.example.org")


class Lent(Stored):
    """Keys that are had for a time: of roles, programs, single sign-on."""

    ROLE, OTHER = "arn:aws:iam::123456789012:role/reader", "arn:aws:iam::123456789012:role/path/other+x"

    def setUp(self):
        super().setUp()
        self.store.put("bucket", "a", DATA)
        self.store.keys |= {"AKTOKEN": ("s2/+", "session-token/+=="), "AKSECOND": ("s3", "session-token-2"), "AKBASE": ("base/secret", None)}
        self.store.roles = {self.ROLE: {"by": {"AKBASE", "AKSECOND", "web", "AKTOKEN"}, "keys": ["AKTOKEN"]},
                            self.OTHER: {"by": {"AKBASE"}, "keys": ["AKSECOND"], "external": "id 1&2"}}
        self.environment |= {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_ENDPOINT_URL_STS": self.store.url + "/sts",
                             "AWS_ENDPOINT_URL_SSO": self.store.url + "/sso", "PATH": os.environ["PATH"]}
        os.mkdir(f"{self.home.name}/.aws")

    def write(self, name, text):
        os.makedirs(os.path.dirname(f"{self.home.name}/{name}"), exist_ok=True)
        with open(f"{self.home.name}/{name}", "w", encoding="utf-8") as file:
            file.write(text)

    def config(self, text):
        self.write(".aws/config", text)

    def reads(self, **environment):
        """The object is read with the keys AKTOKEN."""
        found = self.good("cat", "s3://bucket/a", **environment)
        self.assertEqual(found.out, DATA)
        self.assertIn("Credential=AKTOKEN/", self.store.requests[-1].headers["authorization"])
        self.assertEqual(self.store.requests[-1].headers["x-amz-security-token"], "session-token/+==")
        return found

    def test_role(self):
        """A role by the keys of another profile; both requests are signed, and it is assumed once."""
        self.config(f"[profile dev]\nrole_arn = {self.ROLE}\nsource_profile = base\nrole_session_name=me@x\nduration_seconds = 900\n")
        self.write(".aws/credentials", "[base]\naws_access_key_id = AKBASE\naws_secret_access_key = base/secret\n")
        found = self.good("pieces", "s3://bucket/a", 10_000, 4, AWS_PROFILE="dev")
        self.assertEqual(found.out, DATA)
        self.assertEqual(self.store.forms, [{"Action": "AssumeRole", "Version": "2011-06-15", "RoleArn": self.ROLE, "RoleSessionName": "me@x",
                                             "DurationSeconds": "900"}])
        self.reads(AWS_PROFILE="dev", AWS_REGION="us-east-1")

    def test_region(self):
        """The request to STS is signed for the profile's region, whatever that of the bucket is."""
        self.config(f"[profile dev]\nregion = eu-north-1\nrole_arn = {self.ROLE}\nsource_profile = dev\naws_access_key_id = AKBASE\n"
                    "aws_secret_access_key = base/secret\n")
        self.reads(AWS_PROFILE="dev")
        self.assertIn("/eu-north-1/sts/", self.store.requests[0].headers["authorization"])

    def test_chain(self):
        """A role that is assumed by another one, whose keys have a token, and that needs an id."""
        self.config(f"[default]\nrole_arn = {self.ROLE}\nsource_profile = middle\n[profile middle]\nrole_arn={self.OTHER}\nexternal_id = id 1&2\n"
                    "source_profile = base\n[profile base]\naws_access_key_id = AKBASE\naws_secret_access_key = base/secret\n")
        self.reads()
        self.assertEqual([form["RoleArn"] for form in self.store.forms], [self.OTHER, self.ROLE])
        self.assertEqual(self.store.requests[1].headers["x-amz-security-token"], "session-token-2")
        self.assertRegex(self.store.forms[0]["RoleSessionName"], "^bload-[0-9]+$")

    def test_credential_source(self):
        self.config(f"[default]\nrole_arn = {self.ROLE}\ncredential_source = EcsContainer\n[profile i]\nrole_arn = {self.ROLE}\n"
                    "credential_source = Ec2InstanceMetadata\n")
        self.store.role = ["AKSECOND"]
        self.reads(AWS_CONTAINER_CREDENTIALS_FULL_URI=self.store.url + "/container", AWS_CONTAINER_AUTHORIZATION_TOKEN="container-token")
        self.reads(AWS_PROFILE="i", AWS_EC2_METADATA_DISABLED="", AWS_EC2_METADATA_SERVICE_ENDPOINT=self.store.url)
        self.fails(2, "the profile i: credential_source Ec2InstanceMetadata gives no keys", "cat", "s3://bucket/a", AWS_PROFILE="i")

    def test_web_identity(self):
        """By the environment, as in EKS, and by a profile; the file is read anew for each request."""
        self.write("token", "web.identity-token\n")
        eks = {"AWS_WEB_IDENTITY_TOKEN_FILE": f"{self.home.name}/token", "AWS_ROLE_ARN": self.ROLE}
        self.reads(**eks, AWS_ROLE_SESSION_NAME="pod")
        self.assertEqual(self.store.forms[-1]["RoleSessionName"], "pod")
        self.config(f"[profile web]\nrole_arn = {self.ROLE}\nweb_identity_token_file = {self.home.name}/token\n"
                    f"[profile both]\nrole_arn = {self.ROLE}\nsource_profile = web\n")
        self.reads(AWS_PROFILE="web")
        self.reads(AWS_PROFILE="both")
        self.store.web_token = "renewed"
        self.fails(2, f"s3://bucket/a: the role {self.ROLE} by the token in {self.home.name}/token: {self.store.url}/sts/ answers 400 "
                   "ExpiredTokenException: Token expired", "cat", "s3://bucket/a", **eks)
        self.write("token", "renewed")
        self.reads(**eks)
        self.fails(2, "the token of a web identity: cannot open none", "cat", "s3://bucket/a", AWS_WEB_IDENTITY_TOKEN_FILE="none", AWS_ROLE_ARN="x")
        self.fails(2, "AWS_ROLE_ARN or role_arn names it", "cat", "s3://bucket/a", AWS_WEB_IDENTITY_TOKEN_FILE=f"{self.home.name}/token")
        self.fails(2, "AccessDenied: Not authorized", "cat", "s3://bucket/a",
                   **{**eks, "AWS_ROLE_ARN": self.OTHER})

    def test_pod_identity(self):
        """EKS Pod Identity: a service at an address of this machine, with a token in a file."""
        self.write("token", "container-token")
        self.store.role = ["AKTOKEN"]
        pod = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": self.store.url + "/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": f"{self.home.name}/token"}
        self.reads(**pod)
        self.write("token", "other")
        self.fails(1, f"the container's service of credentials, {self.store.url}/container, answers 401", "cat", "s3://bucket/a", **pod)
        pod["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:1/x"
        self.fails(1, "the container's service of credentials, http://127.0.0.1:1/x, does not answer", "cat", "s3://bucket/a", **pod)

    def test_program(self):
        """A command of the shell that prints keys, over several lines, with a time that has an offset."""
        self.write("keys.json", '{\n  "Version": 1,\n  "AccessKeyId": "AKTOKEN",\n  "SecretAccessKey": "s2/+",\n  "SessionToken": "session-token/+==",\n'
                   '  "Expiration": "2099-01-01T00:00:00+00:00"\n}\n')
        self.config(f"[profile p]\ncredential_process = cat '{self.home.name}/keys.json'\n")
        self.reads(AWS_PROFILE="p")

    @each([
        ("fails", "exit 3", "the profile p: credential_process: the command ends with status 3"),
        ("missing", "no-such-program-here 2>/dev/null", "the command ends with status 127"),
        ("nothing", "true", "the command prints no JSON"), ("text", "echo AKTOKEN", "the command prints no JSON"),
        ("half", "echo '{\"AccessKeyId\": \"AK\"}'", "the command prints no JSON"),
        ("evil", "echo '{\"AccessKeyId\": \"AK\\r\\nX: y\", \"SecretAccessKey\": \"x\"}'", "the command prints no JSON"),
        ("old", "echo '{\"AccessKeyId\": \"AK\", \"SecretAccessKey\": \"x\", \"Expiration\": \"2020-01-01T00:00:00Z\"}'",
         "the command prints credentials that have expired")])
    def test_program_fails(self, _, command, words):
        self.config(f"[profile p]\ncredential_process = {command}\n")
        found = self.fails(2, words, "cat", "s3://bucket/a", AWS_PROFILE="p")
        self.assertEqual(found.requests, 0)

    def test_sign_on(self):
        """Single sign-on, by a session and by the settings of old; the folder has other files, and tokens that have ended."""
        self.config("[profile new]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = reader\n[sso-session corp]\n"
                    "sso_start_url = https://corp.awsapps.com/start\nsso_region = eu-west-1\nsso_registration_scopes = sso:account:access\n"
                    "[profile old]\nsso_start_url = https://corp.awsapps.com/start\nsso_region = eu-west-1\nsso_account_id = 123456789012\n"
                    "sso_role_name = reader\n[profile other]\nsso_session = corp\nsso_account_id = 1\nsso_role_name = writer\n"
                    "[profile lost]\nsso_session = gone\n[profile short]\nsso_session = corp\n")
        ask = "aws sso login --profile new"
        self.fails(2, ask, "cat", "s3://bucket/a", AWS_PROFILE="new")
        form = '{"startUrl": "%s", "region": "eu-west-1", "accessToken": "%s", "expiresAt": "%s"}'
        for name, url, token, end in (("1", "https://corp.awsapps.com/start", "ended", "2020-01-01T00:00:00UTC"),
                                      ("2", "https://else.awsapps.com/start", "other", "2099-01-01T00:00:00Z")):
            self.write(f".aws/sso/cache/{name}.json", form % (url, token, end))
        self.write(".aws/sso/cache/client.json", '{"clientId": "x", "expiresAt": "2099-01-01T00:00:00Z"}')
        self.write(".aws/sso/cache/broken.json", "{")
        self.fails(2, ask, "cat", "s3://bucket/a", AWS_PROFILE="new")
        self.write(".aws/sso/cache/3.json", form % ("https://corp.awsapps.com/start", "revoked", "2098-01-01T00:00:00Z"))
        self.fails(2, "the profile new: the session of single sign-on has ended: aws sso login", "cat", "s3://bucket/a", AWS_PROFILE="new")
        self.write(".aws/sso/cache/3.json", form % ("https://corp.awsapps.com/start", "sso-session-token", "2098-01-01T00:00:00Z"))
        self.reads(AWS_PROFILE="new")
        self.reads(AWS_PROFILE="old")
        self.fails(2, "no keys of the role writer of the account 1: it answers 403", "cat", "s3://bucket/a", AWS_PROFILE="other")
        self.fails(2, "there is no section [sso-session gone]", "cat", "s3://bucket/a", AWS_PROFILE="lost")
        self.fails(2, "single sign-on needs sso_account_id", "cat", "s3://bucket/a", AWS_PROFILE="short")

    @each([
        ("denied", "role_arn = {role}\nsource_profile = stranger\n", 2, "the profile x: role_arn {role}: {url}/sts/ answers 403 AccessDenied: User: AKTEST"),
        ("secret", "role_arn = {role}\nsource_profile = wrong\n", 2, "answers 403 SignatureDoesNotMatch"),
        ("neither", "role_arn = {role}\n", 2, "the profile x: role_arn with neither source_profile nor credential_source"),
        ("both", "role_arn = {role}\nsource_profile = base\ncredential_source = Environment\n", 2, "role_arn with both"),
        ("unknown", "role_arn = {role}\nsource_profile = nobody\n", 2, "the profile x: source_profile: neither ~/.aws/credentials nor ~/.aws/config has a profile nobody"),
        ("circle", "role_arn = {role}\nsource_profile = y\n[profile y]\nrole_arn = {role}\nsource_profile = x\n", 2,
         "the profile x: the profile y: source_profile leads from x to itself"),
        ("itself", "role_arn = {role}\nsource_profile = x\n", 2, "source_profile leads from x to itself"),
        ("empty", "role_arn = {role}\nsource_profile = y\n[profile y]\nregion = us-east-1\n", 2, "the profile y, which source_profile names, has no keys"),
        ("source", "role_arn = {role}\ncredential_source = Somewhere\n", 2, "credential_source Somewhere is none of Environment, Ec2"),
        ("environment", "role_arn = {role}\ncredential_source = Environment\n", 2, "credential_source Environment gives no keys"),
        ("code", "role_arn = {role}\nsource_profile = base\nmfa_serial = arn\n", 2, "mfa_serial needs a code, which bload does not ask for"),
        ("region", "region = evil.example/\nrole_arn = {role}\nsource_profile = base\n", 2, "is no name of a region")])
    def test_refused(self, _, settings, status, words):
        """Each mistake in a profile is named in one line, with the profile, before anything is asked of the store."""
        self.config("[profile x]\n" + settings.format(role=self.ROLE) + "[profile base]\naws_access_key_id = AKBASE\naws_secret_access_key = base/secret\n"
                    "[profile stranger]\naws_access_key_id = AKTEST\naws_secret_access_key = se/cret+KEY=\n"
                    "[profile wrong]\naws_access_key_id = AKBASE\naws_secret_access_key = other\n")
        for command in "stat", "list":
            found = self.fails(status, words.format(role=self.ROLE, url=self.store.url), command, "s3://bucket/a", AWS_PROFILE="x")
            self.assertEqual(found.requests, 0)
            self.assertTrue(found.message.startswith("s3://bucket/a: "), found.message)

    @each([
        ("busy", "status 503", 0, None), ("broken", "reset", 0, None), ("down", "status 503", 9, "answers 503, and not as AWS's service of tokens does"),
        ("page", "status 404", 9, "AWS_ENDPOINT_URL_STS names it"), ("moved", "redirect http://127.0.0.1:1/", 9, "answers 302"),
        ("silent", "reset", 9, "cannot be asked for credentials")])
    def test_service(self, _, fault, times, words):
        """The service is asked again if it is busy; a redirect of it is not followed."""
        self.config(f"[default]\nrole_arn = {self.ROLE}\nsource_profile = base\n[profile base]\naws_access_key_id = AKBASE\n"
                    "aws_secret_access_key = base/secret\n")
        left = [fault] * (times or 2)
        self.store.fault = lambda request: left.pop(0) if left and request.path == "/sts/" else None
        if words is None:
            self.reads()
        else:
            self.fails(2 if fault in ("status 404", "redirect http://127.0.0.1:1/") else 1, words, "cat", "s3://bucket/a")

    def test_plain(self):
        """Requests that carry tokens and signatures go through no network without TLS."""
        self.write("token", "web.identity-token")
        self.fails(2, "http://sts.example.org/: http:// protects no credentials", "cat", "s3://bucket/a", AWS_ENDPOINT_URL_STS="http://sts.example.org",
                   AWS_WEB_IDENTITY_TOKEN_FILE=f"{self.home.name}/token", AWS_ROLE_ARN=self.ROLE)

    def test_renewed(self):
        """Keys are renewed before they end, used on while a renewal fails, and renewed when the store says that they have ended."""
        self.store.roles[self.ROLE] = {"by": {"AKBASE"}, "keys": ["AKTOKEN"], "seconds": 2}
        self.config(f"[default]\nrole_arn = {self.ROLE}\nsource_profile = base\n[profile base]\naws_access_key_id = AKBASE\n"
                    "aws_secret_access_key = base/secret\n")
        self.good("seconds", "s3://bucket/a", 1.6)
        self.assertGreaterEqual(len(self.store.forms), 2)
        self.store.forms.clear()
        self.store.roles[self.ROLE]["seconds"] = 3600
        self.good("seconds", "s3://bucket/a", 1.6)
        self.assertEqual(len(self.store.forms), 1)
        self.store.forms.clear()
        self.store.roles[self.ROLE]["seconds"] = 6
        timer = threading.Timer(0.4, lambda: self.store.roles[self.ROLE]["by"].clear())
        timer.start()
        self.good("seconds", "s3://bucket/a", 3.2)
        timer.join()
        self.assertEqual(len(self.store.forms), 2)
        self.store.forms.clear()
        self.store.roles[self.ROLE]["by"].add("AKBASE")
        self.store.roles[self.ROLE]["seconds"], self.store.roles[self.ROLE]["keys"] = 3600, ["AKTOKEN", "AKSECOND"]
        timer = threading.Timer(0.4, lambda: self.store.expired.add("AKTOKEN"))
        timer.start()
        self.good("seconds", "s3://bucket/a", 1)
        timer.join()
        self.assertEqual(len(self.store.forms), 2)
        self.assertIn("Credential=AKSECOND/", self.store.requests[-1].headers["authorization"])


class Regions(Stored):
    def setUp(self):
        super().setUp()
        self.store.put("bucket", "a", b"content")
        self.store.regions["bucket"] = "eu-north-1"

    @each(["header", "body"])
    def test_learnt(self, way):
        """What the store says is used for all that follows."""
        self.store.region_way = way
        self.assertEqual(self.good("cat", "s3://bucket/a").out, b"content")
        wrong = [r for r in self.store.requests if "/us-east-1/" in r.headers["authorization"]]
        self.assertLessEqual(len(wrong), 2)
        self.assertEqual(len(self.good("list", "s3://bucket/").out.splitlines()), 1)

    def test_given(self):
        self.store.region_way = "silent"
        self.assertEqual(self.good("cat", "s3://bucket/a", AWS_DEFAULT_REGION="eu-north-1").out, b"content")
        self.assertEqual(self.good("cat", "s3://bucket/a", AWS_REGION="eu-north-1").out, b"content")
        self.assertEqual(len(self.store.requests), 4)

    @each(["silent", "location"])
    def test_unknown(self, way):
        self.store.region_way = way
        for command in "cat", "list":
            self.fails(2 if way == "silent" else 1, "AWS_REGION", command, "s3://bucket/a")
        self.fails(2, "is no name of a region", "cat", "s3://bucket/a", AWS_REGION="x.evil.example/")

    def test_hostile(self):
        """A region becomes part of a host's name: one that is no name is not used."""
        self.store.regions["bucket"] = "x.evil.example/"
        self.fails(2, "the bucket is in another region", "list", "s3://bucket/a")


class Faults(Stored):
    def setUp(self):
        super().setUp()
        self.store.put("bucket", "a.bin", DATA)

    @each([
        ("cut", "cut 100000"), ("cut_first", "cut 0"), ("length", "length 1000"), ("length_less", "length -1000"), ("open", "open 5000"),
        ("reset", "reset"), ("status_500", "status 500"), ("status_502", "status 502"), ("status_503", "status 503 1"), ("status_429", "status 429 1"),
        ("slow_down", "error 503 SlowDown"), ("headers", "headers"), ("stall", "stall 1000"), ("shift", "shift 7"), ("more", "more 10"),
        ("unranged", "unranged"), ("total", "total 5")])
    def test_repeated(self, name, fault):
        """The bytes are right, and those that came are not fetched again."""
        self.answer(fault)
        began = time.monotonic()
        # A shifted range that is refused before its body costs nothing; a length that is too small is noticed at the end.
        command = ("read", "s3://bucket/a.bin", 1000, 200_000) if name in ("shift", "unranged", "more", "length_less", "total") else ("cat", "s3://bucket/a.bin")
        found = self.good(*command)
        self.assertEqual(found.out, DATA[1000:201_000] if command[0] == "read" else DATA)
        self.assertEqual(found.retries, 0 if name == "reset" else 1)  # libcurl repeats what a kept connection did not answer
        if name in ("cut", "length", "open", "stall"):
            self.assertLessEqual(found.fetched, 1.05 * len(DATA))
        if fault.endswith(" 1"):
            self.assertGreaterEqual(time.monotonic() - began, 1)

    def test_status_of_parts(self):
        """A part is taken for one by its header, though the status is that of a whole object ("rclone serve s3")."""
        self.answer("200")
        found = self.good("read", "s3://bucket/a.bin", 1000, 200_000)
        self.assertEqual((found.out, found.retries), (DATA[1000:201_000], 0))

    def test_often(self):
        """A connection that breaks again and again, with bytes each time, is given up after the tries that were asked for."""
        self.answer(*["cut 1000"] * 3)
        found = self.good("cat", "s3://bucket/a.bin")
        self.assertEqual((found.out, found.retries), (DATA, 3))
        self.assertLess(found.fetched, len(DATA) + 10_000)
        self.answer(*["cut 1000"] * 4)
        self.fails(1, "4 tries", "cat", "s3://bucket/a.bin")

    @each([
        ("status_500", "status 500", "the server answers 500"), ("reset", "reset", "cannot be fetched"), ("stall", "stall 10", "the connection stalled"),
        ("cut", "cut 0", "cannot be fetched"), ("shift", "shift 7", "another part was sent"), ("nonsense", "nonsense", "cannot be fetched"),
        ("headers", "headers", "the headers do not end")])
    def test_given_up(self, _, fault, words):
        """A network failure is no bad content: status 1, with the number of tries."""
        self.answer(*[fault] * 9)
        found = self.fails(1, words, "read", "s3://bucket/a.bin", 10, 1000, retries=1, timeout=1)
        self.assertIn("2 tries", found.message)

    @each([
        ("whole", "whole", "the server sends whole objects when a part is requested"), ("empty", "204", "the server answers 204"),
        ("changed", "status 412", "the object has changed since the run listed it"), ("tag", "tag", "the object has changed"),
        ("gone", "error 404 NoSuchKey", "the object vanished"),
        ("denied", "error 403 AccessDenied", "the object vanished, or access to it: access denied"), ("teapot", "status 418", "the server answers 418")])
    def test_final(self, _, fault, words):
        """What another try would not change ends the run at once, and is a failure of the run: status 1."""
        self.answer(fault)
        found = self.fails(1, words, "read", "s3://bucket/a.bin", 10, 1000)
        self.assertTrue(found.message.startswith("s3://bucket/a.bin: "))
        self.assertEqual(found.retries, 0)

    def test_whole_for_all(self):
        """A server may ignore a range that is the whole object."""
        self.answer("whole")
        self.assertEqual(self.good("read", "s3://bucket/a.bin", 0, len(DATA)).out, DATA)

    def test_changed(self):
        """An object that is replaced, shortened or removed during the run ends it by name."""
        for change in (Object(DATA[::-1]), Object(DATA[:50]), Object(DATA + b"x"), None):
            self.store.put("bucket", "a.bin", DATA)

            def replace(with_what=change):
                if with_what is None:
                    del self.store.buckets["bucket"]["a.bin"]
                else:
                    self.store.buckets["bucket"]["a.bin"] = with_what
            timer = threading.Timer(0.4, replace)
            timer.start()
            self.fails(1, "s3://bucket/a.bin: the object " + ("has changed" if change else "vanished"), "seconds", "s3://bucket/a.bin", 1.0)
            timer.join()

    def test_listing(self):
        """Lists are repeated, too."""
        self.answer("status 503", "reset", "cut 10")
        self.assertEqual(len(self.good("list", "s3://bucket/").out.splitlines()), 1)

    def test_no_server(self):
        """A name that does not exist, and a port that nobody listens on, are given up soon."""
        for endpoint in "http://127.0.0.1:1", "https://no-such-host.invalid":
            found = self.fails(1, "cannot be fetched", "cat", "s3://bucket/a.bin", options=("--endpoint", endpoint), retries=7)
            self.assertIn("3 tries", found.message)

    def test_slow(self):
        """Slow is not stalled."""
        self.answer("slow 40")
        self.assertEqual(self.good("cat", "s3://bucket/a.bin", timeout=1).out, DATA)


class Web(Stored):
    def url(self, name):
        return f"{self.store.url}/web/{name}"

    def test_reading(self):
        self.store.put_file("dir/a b.txt", DATA)
        found = self.good("cat", self.url("dir/a%20b.txt"))
        self.assertEqual(found.out, DATA)
        self.assertNotIn("authorization", self.store.requests[-1].headers)
        self.assertEqual(self.good("pieces", self.url("dir/a%20b.txt"), 50_000, 4).out, DATA)

    def test_tags(self):
        """Weak ETags and times of modification are compared here, as servers do not compare them."""
        for tag in 'W/"weak"', "":
            self.store.put_file("x", DATA, tag=tag)
            self.assertEqual(self.good("read", self.url("x"), 5, 5).out, DATA[5:10])
            self.assertNotIn("if-match", self.store.requests[-1].headers)
            self.answer("tag")
            self.fails(1, "the object has changed", "read", self.url("x"), 5, 5)

    def test_sizes(self):
        """Without a tag, another time or size shows that a file has changed."""
        self.store.put_file("x", DATA, tag="")
        self.answer("moved")
        self.fails(1, "its tag was Tue, 14 Nov 2023", "read", self.url("x"), 5, 5)
        self.store.fault = lambda request: "nameless" if request.method == "HEAD" else None
        self.assertEqual(self.good("stat", self.url("x")).out, b"300000\t\n")
        self.assertEqual(self.good("read", self.url("x"), 5, 5).out, DATA[5:10])
        self.store.fault = lambda request: "nameless" if request.method == "HEAD" else "total 5"
        self.fails(1, "it had 300000 bytes, and has 300005", "read", self.url("x"), 5, 5)

    def test_no_ranges(self):
        self.store.put_file("x", DATA)
        self.store.ranges = False
        self.assertEqual(self.good("cat", self.url("x")).out, DATA)
        self.fails(1, "the server sends whole objects", "read", self.url("x"), 5, 5)

    def test_no_head(self):
        """A server that answers GET alone."""
        self.store.put_file("x", DATA)
        self.store.fault = lambda request: "status 405" if request.method == "HEAD" else None
        self.assertEqual(self.good("cat", self.url("x")).out, DATA)
        self.store.put_file("empty", b"")
        self.assertEqual(self.good("cat", self.url("empty")).out, b"")

    def test_missing(self):
        self.fails(2, "there is no such file", "stat", self.url("none"))
        self.store.fault = lambda request: "status 403"
        self.fails(2, "access denied", "stat", self.url("none"))

    def test_redirects(self):
        """To the same server, to another one, in a circle."""
        with Store() as other:
            other.put_file("y", DATA)
            self.store.put_file("y", DATA)
            self.store.put_file("same", b"", redirect="/web/y")
            self.store.put_file("elsewhere", b"", redirect=f"{other.url}/web/y")
            self.store.put_file("circle", b"", redirect="circle")
            for name in "same", "elsewhere":
                self.assertEqual(self.good("read", self.url(name), 7, 1000).out, DATA[7:1007])
            self.assertGreater(len(other.requests), 0)
            self.fails(1, "redirects do not end", "stat", self.url("circle"))

    @each([
        ("file", "file:///etc/passwd", "not on a web server"), ("ftp", "ftp://127.0.0.1/x", "not on a web server"),
        ("user", "http://a:b@127.0.0.1/x", "not on a web server"), ("plain", "http://example.org/x", "a redirect leads to http://"),
        ("metadata", "https://169.254.169.254/latest/", "an address that is not public"), ("private", "https://10.0.0.1/x", "an address that is not public"),
        ("mapped", "https://[::ffff:192.168.0.1]/x", "an address that is not public"), ("local", "https://[fd00::1]/x", "an address that is not public")])
    def test_refused_redirects(self, _, target, words):
        self.store.put_file("x", b"", redirect=target)
        found = self.fails(1, words, "stat", self.url("x"), limit=10)
        self.assertEqual(found.retries, 0)

    def test_signed_redirects(self):
        """Signed requests are not sent elsewhere."""
        with Store() as other:
            self.store.put("bucket", "a", DATA, redirect=f"{other.url}/web/y")
            self.fails(1, "the store redirects elsewhere", "stat", "s3://bucket/a")
            self.assertEqual(other.requests, [])


@unittest.skipUnless(shutil.which("openssl"), "no openssl")
class Certified(Stored):
    """A store with a certificate of its own."""

    def serve(self, name):
        """The store anew, with a certificate of its own for this name."""
        self.store.__exit__()
        self.certificate = f"{self.home.name}/certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=bload", "-addext", f"subjectAltName={name}",
                        "-keyout", self.certificate, "-out", f"{self.certificate}.crt"], check=True, capture_output=True)
        with open(self.certificate, "ab") as file, open(f"{self.certificate}.crt", "rb") as other:
            file.write(other.read())
        self.store = Store(self.certificate)
        self.store.put("bucket", "a", DATA)


class Secure(Certified):
    @each(["SSL_CERT_FILE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE"])
    def test_trusted(self, name):
        """Certificates of one's own, by both libraries of TLS, and connections that are used again."""
        self.serve("IP:127.0.0.1")
        trust = {name: f"{self.certificate}.crt"}
        self.assertEqual(self.good("cat", "s3://bucket/a", **trust).out, DATA)
        self.assertEqual(self.store.connections, 1)
        library = "/usr/lib/x86_64-linux-gnu/libcurl-gnutls.so.4"
        if os.path.exists(library):
            os.symlink(library, os.path.join(self.home.name, "libcurl.so.4"))
            self.assertEqual(self.good("cat", "s3://bucket/a", LD_LIBRARY_PATH=self.home.name, **trust).out, DATA)

    def test_untrusted(self):
        """Nothing is tried again: it says what is wrong, and what to do."""
        self.serve("IP:127.0.0.1")
        found = self.fails(1, "the server's certificate is not trusted", "cat", "s3://bucket/a")
        self.assertIn("SSL_CERT_FILE", found.message)
        self.assertEqual((found.requests, self.store.requests), (1, []))
        self.serve("IP:127.0.0.2")
        self.fails(1, "the server's certificate is not trusted", "cat", "s3://bucket/a", SSL_CERT_FILE=f"{self.certificate}.crt")
        self.fails(1, "cannot be fetched", "cat", "s3://bucket/a", SSL_CERT_FILE="/nonexistent")

    def test_downgrade(self):
        """A redirect leaves TLS for this machine alone."""
        self.serve("IP:127.0.0.1")
        self.store.put_file("x", b"", redirect="http://example.org/x")
        self.fails(1, "a redirect leads to http://", "stat", f"{self.store.url}/web/x", SSL_CERT_FILE=f"{self.certificate}.crt")


class Proxy(socketserver.ThreadingTCPServer):
    """A proxy that makes each connection to the port of a store, whatever host it is for; hosts has those."""
    daemon_threads, allow_reuse_address = True, True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), Tunnel)
        self.port, self.hosts = port, []
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


class Tunnel(socketserver.StreamRequestHandler):
    def handle(self):
        asked = self.rfile.readline().split()
        while self.rfile.readline().strip():
            pass
        self.server.hosts.append(asked[1].decode())
        with socket.create_connection(("127.0.0.1", self.server.port)) as other:
            self.connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            up = threading.Thread(target=self.copy, args=(self.connection, other), daemon=True)
            up.start()
            self.copy(other, self.connection)
            up.join(5)

    def copy(self, one, two):
        try:
            while data := one.recv(65536):
                two.sendall(data)
            two.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Proxied(Certified):
    """By a proxy with a private address, as in many clusters."""

    def setUp(self):
        super().setUp()
        self.serve("DNS:hub.example,DNS:cdn.example,DNS:internal.example,IP:10.0.0.1")
        self.proxy = Proxy(self.store.server_address[1])
        self.addCleanup(self.proxy.server_close)
        self.addCleanup(self.proxy.shutdown)
        self.environment |= {"HF_ENDPOINT": "https://hub.example", "https_proxy": f"http://127.0.0.1:{self.proxy.server_address[1]}",
                             "SSL_CERT_FILE": f"{self.certificate}.crt", "HF_TOKEN": "hf_right", "no_proxy": "internal.example"}

    def test_redirect(self):
        """The Hub's redirect to another host carries no token."""
        self.store.put_dataset("owner/name", {"x": DATA}, private=True, far="https://cdn.example/web/")
        self.store.put_file("x", DATA)
        self.assertEqual(self.good("read", "hf://datasets/owner/name/x", 5, 1000).out, DATA[5:1005])
        self.assertEqual(self.proxy.hosts, ["hub.example:443", "cdn.example:443"])
        for request in self.store.requests:
            self.assertEqual("authorization" in request.headers, request.headers["host"] == "hub.example")

    def test_inner(self):
        """Redirects reach no private address, and no host that the proxy is not for."""
        for host, words in (("10.0.0.1", "not public"), ("localhost", "not public"), ("[::1]", "not public"), ("167772161", "not public"),
                            ("0x7f.1", "not public")):
            self.store.put_dataset("owner/name", {"x": DATA}, far=f"https://{host}/web/")
            self.fails(1, words, "read", "hf://datasets/owner/name/x", 5, 1000)
        self.assertEqual(set(self.proxy.hosts), {"hub.example:443"})
        self.store.put_dataset("owner/name", {"x": DATA}, far="https://internal.example/web/")
        self.store.put_file("x", DATA)
        self.good("read", "hf://datasets/owner/name/x", 5, 1000)
        self.assertIn("internal.example:443", self.proxy.hosts)


class Hub(Stored):
    def setUp(self):
        super().setUp()
        self.environment["HF_ENDPOINT"] = self.store.url
        self.files = {f"data/{i:03d} x.txt": f"text {i}".encode() * (i + 1) for i in range(25)} | {"README.md": b"# readme"}

    def test_listing(self):
        """Pages, folders, and names that begin alike."""
        self.store.page = 7
        self.store.put_dataset("owner/name", self.files)
        found = self.good("list", "hf://datasets/owner/name/data/").out.decode().splitlines()
        self.assertEqual([line.split("\t")[0] for line in found], [f"hf://datasets/owner/name/data/{i:03d} x.txt" for i in range(25)])
        self.assertEqual(len(self.good("list", "hf://datasets/owner/name@main").out.decode().splitlines()), 26)
        self.assertEqual(len(self.good("list", "hf://datasets/owner/name/data/01").out.decode().splitlines()), 10)

    def test_commit(self):
        """All requests are for the commit that the revision meant first."""
        self.store.put_dataset("owner/name", self.files, revisions=("main", "refs/pr/1"))
        url = "hf://datasets/owner/name@refs/pr/1/data/003 x.txt"
        self.assertEqual(self.good("cat", url).out, self.files["data/003 x.txt"])
        self.assertEqual([r.path.split("/")[-1] for r in self.store.requests[:1]], ["refs%2Fpr%2F1"])
        self.assertTrue(all("/" + "a1" * 20 + "/" in r.path for r in self.store.requests[1:]))

    def test_large(self):
        """Large files lie elsewhere: what the Hub says of them is compared, and the token stays with the Hub."""
        with Store() as other:
            self.store.put_dataset("owner/name", self.files, private=True, far=f"{other.url}/web/")
            for name, data in self.files.items():
                other.put_file(name, data)
            url, data = "hf://datasets/owner/name/data/007 x.txt", self.files["data/007 x.txt"]
            size, tag = self.good("stat", url, HF_TOKEN="hf_right").out.decode().split()
            self.assertEqual((int(size), tag), (len(data), hashlib.md5(data).hexdigest()))
            self.assertEqual(other.requests, [])
            self.assertEqual(self.good("read", url, 3, 9, HF_TOKEN="hf_right").out, data[3:12])
            self.assertEqual(len(other.requests), 1)
            self.assertNotIn("authorization", other.requests[0].headers)
            self.assertNotIn("if-match", other.requests[0].headers)
            listed = self.good("list", "hf://datasets/owner/name/data/007", HF_TOKEN="hf_right").out.decode().split("\t")
            self.assertEqual(listed[2].strip(), tag)
            self.store.hub["datasets/owner/name"]["files"]["data/007 x.txt"] = Object(b"other")

            def change():
                self.store.hub["datasets/owner/name"]["files"]["data/007 x.txt"] = Object(b"third")
                other.put_file("data/007 x.txt", b"third")
            timer = threading.Timer(0.4, change)
            other.put_file("data/007 x.txt", b"other")
            timer.start()
            self.fails(1, "the object has changed", "seconds", url, 1.0, HF_TOKEN="hf_right")
            timer.join()

    def test_detours(self):
        """The Hub is asked once where an object lies: each range then costs one request, and none has the token."""
        with Store() as other:
            self.store.put_dataset("owner/name", {"x": DATA}, private=True, far=f"{other.url}/web/")
            other.put_file("x", DATA)
            found = self.good("pieces", "hf://datasets/owner/name/x", 10_000, 4, HF_TOKEN="hf_right")
            self.assertEqual(found.out, DATA)
            self.assertEqual([request.method for request in self.store.requests], ["GET", "HEAD"])
            self.assertEqual((len(other.requests), found.requests), (30, 32))
            self.assertTrue(all("authorization" not in request.headers for request in other.requests))

    @each([("401", "status 401"), ("403", "status 403"), ("410", "status 410"), ("404", "status 404"), ("other", "tag"), ("busy", "status 503")])
    def test_detours_end(self, _, fault):
        """A URL that is refused is asked for again, and so is one whose server has something else."""
        with Store() as other:
            self.store.put_dataset("owner/name", {"x": DATA}, far=f"{other.url}/web/")
            other.put_file("x", DATA)
            other.fault = lambda request: fault if request.number == 3 else None
            found = self.good("pieces", "hf://datasets/owner/name/x", 100_000, 1)
            self.assertEqual(found.out, DATA)
            self.assertEqual([request.method for request in self.store.requests], ["GET", "HEAD", "GET"])
            other.fault = lambda request: fault if request.number >= 6 else None
            if fault != "tag":
                self.fails(1, "cannot be fetched" if "503" in fault or "410" in fault else "the object vanished", "pieces", "hf://datasets/owner/name/x", 100_000, 1,
                           retries=0)

    @each([
        ("amazon", "X-Amz-Date={signed:%Y%m%dT%H%M%SZ}&X-Amz-Expires=100", "X-Amz-Date={signed:%Y%m%dT%H%M%SZ}&X-Amz-Expires=3600"),
        ("cloudfront", "Expires={soon}&Policy=x", "Expires={late}&Policy=x"),
        ("azure", "sv=1&se={signed:%Y-%m-%dT%H%%3A%M%%3A%SZ}", "sv=1&se=2099-01-01T00%3A00%3A00Z"),
        ("both", "X-Amz-Date={signed:%Y%m%dT%H%M%SZ}&X-Amz-Expires=3600&Expires={soon}", "Expires={late}&X-Amz-Date=none&X-Amz-Expires=1"),
        ("none", None, "x=1")])
    def test_expiry(self, _, short, long):
        """A signed URL is not used to its last minute."""
        signed, now = datetime.datetime.fromtimestamp(time.time() - 60, datetime.timezone.utc), int(time.time())
        with Store() as other:
            other.put_file("x", DATA)
            for form, asked in ((short, 1 + 1 + 30), (long, 1 + 1)):
                if form is None:
                    continue
                query = form.format(signed=signed, soon=now + 30, late=now + 3600)
                self.store.requests.clear()
                self.store.put_dataset("owner/name", {"x": DATA}, far=lambda path, query=query: f"{other.url}/web/{path}?{query}")
                self.assertEqual(self.good("pieces", "hf://datasets/owner/name/x", 10_000, 1).out, DATA)
                self.assertEqual(len(self.store.requests), asked)

    def test_refused(self):
        self.store.put_dataset("owner/name", self.files, private=True)
        url = "hf://datasets/owner/name/README.md"
        self.fails(2, "needs a token in HF_TOKEN", "cat", url)
        self.fails(2, "needs a token in HF_TOKEN", "cat", url, options=("--anonymous",), HF_TOKEN="hf_right")
        self.assertEqual(self.good("cat", url, HF_TOKEN="hf_right").out, b"# readme")
        os.makedirs(f"{self.home.name}/.cache/huggingface")
        with open(f"{self.home.name}/.cache/huggingface/token", "w", encoding="utf-8") as file:
            file.write("hf_right\n")
        self.assertEqual(self.good("cat", url).out, b"# readme")
        self.fails(2, "there is no such dataset, revision or file", "cat", "hf://datasets/owner/name/none")
        self.fails(2, "there is no such dataset, revision or file", "cat", "hf://datasets/owner/name@old/README.md")
        self.fails(2, "there is no such dataset, revision or file", "list", "hf://datasets/owner/name/none/")
        self.fails(2, "hf://datasets/OWNER/NAME", "cat", "hf://owner/name/x")

    def test_next_page(self):
        """The list goes on at the Hub alone, as the token goes with the request."""
        self.store.page, self.store.next_page = 7, "https://evil.example"
        self.store.put_dataset("owner/name", self.files)
        self.fails(1, "the next part of the list is on another server", "list", "hf://datasets/owner/name/data/")


@unittest.skipUnless(ThreadedMotoServer, "no moto")
class Moto(Stored):
    """A server of others: what it lists, and what its answers look like."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        cls.moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        cls.moto.start()
        host, port = cls.moto.get_host_and_port()
        cls.endpoint = f"http://{host}:{port}"
        cls.client = boto3.client("s3", endpoint_url=cls.endpoint, aws_access_key_id="AKTEST", aws_secret_access_key="se/cret+KEY=",
                                  region_name="us-east-1")
        cls.client.create_bucket(Bucket="bucket")

    @classmethod
    def tearDownClass(cls):
        cls.moto.stop()
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.environment["AWS_ENDPOINT_URL"] = self.endpoint

    def probe(self, *arguments, options=(), **more):
        return super().probe(*arguments, options=("--endpoint", self.endpoint, *options), **more)

    def test_all(self):
        keys = ["a b", "a+b", "a%20b", "é/中", "a&b<c>", "..x", "a//b", "a=b,c;d"]
        for key in keys:
            self.client.put_object(Bucket="bucket", Key="p/" + key, Body=key.encode() * 1000)
        for i in range(1100):
            self.client.put_object(Bucket="bucket", Key=f"many/{i}", Body=b"")
        found = [line.split("\t") for line in self.good("list", "s3://bucket/p/").out.decode().splitlines()]
        self.assertEqual(sorted(url for url, _, _ in found), sorted("s3://bucket/p/" + key for key in keys))
        for url, size, tag in found:
            data = url[len("s3://bucket/p/"):].encode() * 1000
            self.assertEqual((int(size), tag), (len(data), hashlib.md5(data).hexdigest()))
            self.assertEqual(self.good("cat", url).out, data)
            self.assertEqual(self.good("read", url, 100, 700).out, data[100:800])
        self.assertEqual(len(self.good("list", "s3://bucket/many/").out.splitlines()), 1100)

    @each(["role", "web"])
    def test_role(self, name):
        """Another's service of tokens gives keys for another's store."""
        self.client.put_object(Bucket="bucket", Key="role", Body=DATA)
        os.mkdir(f"{self.home.name}/.aws")
        with open(f"{self.home.name}/token", "w", encoding="utf-8") as file:
            file.write("web.identity-token")
        with open(f"{self.home.name}/.aws/config", "w", encoding="utf-8") as file:
            file.write("[profile role]\nrole_arn = arn:aws:iam::123456789012:role/r\nsource_profile = base\n[profile base]\naws_access_key_id = AKTEST\n"
                       "aws_secret_access_key = se/cret+KEY=\n[profile web]\nrole_arn = arn:aws:iam::123456789012:role/r\n"
                       f"web_identity_token_file = {self.home.name}/token\n")
        found = self.good("cat", "s3://bucket/role", AWS_PROFILE=name, AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
        self.assertEqual(found.out, DATA)

    def test_refused(self):
        self.fails(2, "there is no such bucket", "list", "s3://none/x")
        self.fails(2, "there is no such object", "cat", "s3://bucket/none")
        self.client.put_object(Bucket="bucket", Key="x", Body=DATA)
        timer = threading.Timer(0.4, lambda: self.client.put_object(Bucket="bucket", Key="x", Body=DATA[::-1]))
        timer.start()
        self.fails(1, "s3://bucket/x: the object has changed", "seconds", "s3://bucket/x", 1.0)
        timer.join()


if __name__ == "__main__":
    unittest.main()
