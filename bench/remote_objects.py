#!/usr/bin/env python3
"""Inputs in a store beside the same inputs in files: bload scan of text in many small objects, and in one large one, plain and compressed; and bload
pack of videos.

    bench/remote_objects.py [LATENCY [CORPUS...]]      # small, medium, large, packed, videos

For each corpus: seconds of the local run, and of runs with -j 2 and -j 16 from a store of this machine with 20 ms of latency before each answer;
their ratio (local seconds over those), the processor seconds of bload, the requests, and the bytes that came over those of the objects. ROUNDS (3) in alternation; the median.
The store runs in a process of its own and sends files by sendfile(2). It takes a share of the two cores, as a real one would not.
"""
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import parse_qs, unquote
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
BLOAD = os.environ.get("BLOAD", ROOT / "bload")
CORPORA = (("2,000 x 32 KB", "small", 2000, 32 << 10, ""), ("64 x 2 MiB", "medium", 64, 2 << 20, ""), ("1 x 512 MiB", "large", 1, 512 << 20, ""),
           ("1 x 512 MiB, zstd", "packed", 1, 512 << 20, ".zst"), ("32 videos, 2 MB", "videos", 32, 10, ".mp4"))


def make_videos(folder, count, seconds):
    """Videos of noise over a test picture, with their index at the end."""
    for i in range(count):
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size=640x360:rate=25:duration={seconds}", "-vf", f"noise=alls=12:allf=t:all_seed={i}",
                        "-c:v", "libx264", "-preset", "veryfast", "-b:v", "1600k", "-g", "50", folder / f"{i:03}.mp4"], check=True)


def make(folder, count, size, suffix):
    """Files of JSON lines with random words, or videos of so many seconds."""
    if folder.exists():
        return
    chosen, words = random.Random(1), [random.Random(i).randbytes(1 + i % 5).hex() for i in range(5000)]
    lines = min(count * size, 32 << 20) // 250 + 1
    text = "".join(json.dumps({"text": " ".join(chosen.choices(words, k=40))}) + "\n" for _ in range(lines)).encode()
    part = folder.with_suffix(".part")
    part.mkdir(parents=True)
    if suffix == ".mp4":
        make_videos(part, count, size)
        part.rename(folder)
        return
    for i in range(count):
        begin = text.find(b"\n", chosen.randrange(len(text) // 2)) + 1
        data = text[begin:begin + size] if 2 * size < len(text) else text * (size // len(text))
        (part / f"{i:05}.jsonl").write_bytes(data[:data.rfind(b"\n") + 1])
    if suffix:
        subprocess.run(["zstd", "-q", "--rm", *part.iterdir()], check=True)
    part.rename(folder)


class Store:
    """S3 without signatures, of the files below a folder: lists, HEAD, GET, ranges."""

    def __init__(self, root, latency):
        self.root, self.latency = root, latency
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)

    def run(self):
        while True:
            client = self.listener.accept()[0]
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        held = b""
        while True:
            while b"\r\n\r\n" not in held:
                more = client.recv(65536)
                if not more:
                    return
                held += more
            head, _, held = held.partition(b"\r\n\r\n")
            method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
            time.sleep(self.latency)
            path, _, query = target.partition("?")
            if "list-type" in query:
                self.send(client, "200 OK", self.list(parse_qs(query)))
            else:
                self.answer(client, method, self.root / unquote(path).split("/", 2)[2], re.search(rb"\r\nrange: bytes=(\d+)-(\d+)", head, re.I))

    def send(self, client, status, body):
        client.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    def answer(self, client, method, path, wanted):
        try:
            file = open(path, "rb")
        except OSError:
            return self.send(client, "404 Not Found", b"")
        with file:
            size = os.fstat(file.fileno()).st_size
            begin, end = (int(wanted[1]), min(int(wanted[2]) + 1, size)) if wanted else (0, size)
            text = f"HTTP/1.1 {'206 Partial Content' if wanted else '200 OK'}\r\nContent-Length: {end - begin}\r\nETag: \"{size}\"\r\n"
            text += f"Content-Range: bytes {begin}-{end - 1}/{size}\r\n\r\n" if wanted else "\r\n"
            client.sendall(text.encode(), socket.MSG_MORE if method == "GET" else 0)
            while method == "GET" and begin < end:
                begin += os.sendfile(client.fileno(), file.fileno(), begin, end - begin)
        return None

    def list(self, query):
        prefix = query.get("prefix", [""])[0]
        names = sorted(str(path.relative_to(self.root)) for path in (self.root / prefix).parent.rglob("*") if path.is_file())
        names = [name for name in names if name.startswith(prefix)]
        begin = int(query.get("continuation-token", ["0"])[0])
        rows = "".join(f"<Contents><Key>{escape(name)}</Key><ETag>\"{(self.root / name).stat().st_size}\"</ETag>"
                       f"<Size>{(self.root / name).stat().st_size}</Size></Contents>" for name in names[begin:begin + 1000])
        more = begin + 1000 < len(names)
        following = f"<NextContinuationToken>{begin + 1000}</NextContinuationToken>" if more else ""
        return f"<ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>{following}{rows}</ListBucketResult>".encode()


def run(work, source, is_video, *options, **environment):
    """Seconds, those of the processors, and what was said."""
    made = work / "made"
    command = ("pack", "-T", "512", "--size", "112x112", "--kind", "video") if is_video else ("scan", "--tokenizer", "bytes", "--kind", "text")
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([BLOAD, *command, source, "-o", made, *options],
                          env={**os.environ, **environment}, stderr=subprocess.PIPE, text=True, check=True)
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    shutil.rmtree(made) if is_video else made.unlink()
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


def main(latency="0.02", *names):
    work = Path(os.environ.get("WORK", ROOT / "build/bench/objects"))
    corpora = [corpus for corpus in CORPORA if not names or corpus[1] in names]
    for _, name, count, size, suffix in corpora:
        make(work / "store" / name, count, size, suffix)
    store = Store(work / "store", float(latency))
    process = multiprocessing.get_context("fork").Process(target=store.run, daemon=True)
    process.start()
    environment = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{store.listener.getsockname()[1]}"}
    print(f"{'':>20} {'local s':>8} {'-j 2 s':>8} {'ratio':>6} {'-j 16 s':>8} {'ratio':>6} {'cpu local':>9} {'-j 2':>7} {'requests':>8} "
          f"{'bytes':>6}")
    for title, name, _, _, suffix in corpora:
        used = sum(path.stat().st_size for path in (work / "store" / name).iterdir())
        found = {"local": [], "2": [], "16": []}
        for _ in range(int(os.environ.get("ROUNDS", "3"))):
            found["local"].append(run(work, work / "store" / name, suffix == ".mp4", "-j", "2")[:2])
            for workers in "2", "16":
                *seconds, said = run(work, f"s3://bucket/{name}/", suffix == ".mp4", "--anonymous", "-j", workers, **environment)
                found[workers].append(seconds)
                form = re.search(r"URLs: ([\d,]+) requests?, ([\d.,]+) (\S+) fetched", said)
        units = {"bytes": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
        share = float(form[2].replace(",", "")) * units[form[3]] / used
        local, two, many = (statistics.median(seconds[0] for seconds in lines) for lines in found.values())
        work_local, work_two, _ = (statistics.median(seconds[1] for seconds in lines) for lines in found.values())
        print(f"{title:>20} {local:8.2f} {two:8.2f} {local / two:6.2f} {many:8.2f} {local / many:6.2f} {work_local:9.2f} {work_two:7.2f} "
              f"{form[1]:>8} {share:6.3f}", flush=True)
    process.terminate()


if __name__ == "__main__":
    main(*sys.argv[1:])
