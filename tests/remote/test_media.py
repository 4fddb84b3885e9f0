"""bload pack of videos, sound, images, arrays, tars and files of ids in a store: the dataset of a local run, by few requests and bytes."""
import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tarfile
import threading
import time
import unittest

import numpy as np

import test_packing
from harness import each
from store import Object

ROOT, BLOAD = test_packing.ROOT, test_packing.BLOAD
VIDEOS = ["h264-30.mp4", "h264-50.mkv", "vp9-24.webm", "mpeg2-25.ts", "mpeg4-40.avi", "sound-30.mp4", "hevc-open-60.mov", "damaged-30.mp4"]
SOUNDS = ["tone-16000.wav", "tone-44100.m4a", "tone-44100.ogg", "tone-44100-stereo.flac", "tone-48000.mp3"]


def fixture(name):
    done = subprocess.run([os.path.join(ROOT, "fixtures/media"), name], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def jpeg(value):
    """A picture in a JPEG file, by ffmpeg."""
    return subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"color=c=0x{value:02x}4080:s=64x48", "-frames:v", "1", "-f", "mjpeg", "-"],
                          check=True, capture_output=True).stdout


class Media(test_packing.Packed):
    def place(self, path, data):
        """Makes a file of the corpus, here and in the store."""
        self.write(f"c/{path}", data)
        self.store.put("bucket", f"c/{path}", data)

    def place_fixtures(self, folder, names):
        for name in names:
            with open(fixture(name), "rb") as file:
                self.place(f"{folder}/{name}", file.read())

    def both(self, *arguments, config=None, status=0):
        """Packs the corpus here and from the store: CORPUS stands for both. Compares the datasets, and returns what was said of the second run."""
        for name, corpus in (("local", "c"), ("far", "s3://bucket/c")):
            words = [word.replace("CORPUS", corpus) for word in arguments]
            if config:
                # A configuration beside the corpus: its relative names count from there.
                self.write(f"{name}.yaml", config.replace("CORPUS", corpus).encode())
                words = ["-c", f"{name}.yaml", *words]
            shutil.rmtree(os.path.join(self.folder.name, name), ignore_errors=True)
            said = self.bload("pack", *words, "-o", name, status=status)
        self.same_data("local", "far")
        self.assertEqual(self.store.complaints, [])
        self.assertTrue(all(path.startswith("s3://bucket/c") for path in self.table("far/sequences.tsv")[1]))
        return said

    def same_data(self, one, other):
        """Two datasets with the same files, but for the columns of sequences.tsv that have paths, and those that depend on them."""
        rows = []
        for dataset in one, other:
            table = [row.split("\t") for row in self.read(f"{dataset}/sequences.tsv").decode().splitlines()]
            kept = [table[0].index(name) for name in ("length", "status")]
            rows.append([[row[i] for i in kept] for row in table])
        self.assertEqual(*rows)
        names = subprocess.run(["find", "shards", "index.safetensors", "shards.tsv", "-type", "f"], cwd=os.path.join(self.folder.name, one), check=True,
                               capture_output=True, text=True).stdout.split()
        self.assertGreater(len(names), 2)
        for name in names:
            self.assertEqual(self.read(f"{one}/{name}"), self.read(f"{other}/{name}"), name)

    def fetched(self, part):
        """The requests for bytes of objects with this part of a name."""
        return [request for request in self.store.requests if request.method == "GET" and part in request.path]


class Same(Media):
    @each([("isolated", ()), ("here", ("--isolate", "off")), ("workers", ("-j", "5"))])
    def test_videos(self, _, arguments):
        self.place_fixtures("v", VIDEOS)
        self.both("CORPUS/v/", "-T", "64", "--size", "32x32", *arguments, status=3)

    @each([("isolated", ()), ("here", ("--isolate", "off"))])
    def test_sound(self, _, arguments):
        self.place_fixtures("s", SOUNDS)
        self.both("CORPUS/s/", "--kind", "audio", "-T", "262144", *arguments)

    def test_clips(self):
        """A list of clips in the store, whose paths count from its place."""
        self.place_fixtures("v", VIDEOS[:3])
        self.place("clips.csv", b"path,start,end,label\nv/h264-30.mp4,0.2,0.6,1\nv/h264-50.mkv,0.1,,2\nv/vp9-24.webm,,0.5,3\n")
        self.both("CORPUS/clips.csv", "--kind", "video", "-T", "64", "--size", "32x32")

    def test_manifests(self):
        """Manifests of speech, and Kaldi's tables."""
        self.place_fixtures("s", SOUNDS[:2])
        self.place("m.jsonl", b'{"audio_filepath": "s/tone-16000.wav", "duration": 0.5, "offset": 0.1, "text": "a"}\n')
        self.both("CORPUS/m.jsonl", "--kind", "audio", "-T", "65536")
        self.place("k/text", b"u1 some words\nu2 others\n")
        for corpus in "c", "s3://bucket/c":
            table = f"u1 {corpus}/s/tone-16000.wav\nu2 {corpus}/s/tone-44100.m4a\n".encode()
            if corpus == "c":
                self.write("c/k/wav.scp", table)
            else:
                self.store.put("bucket", "c/k/wav.scp", table)
        self.both("CORPUS/k/wav.scp", "--kind", "audio", "-T", "1048576")
        self.assertIn("some words", self.read("far/sequences.tsv").decode())

    def test_absent(self):
        """A list that names an object that is not there: a row that is skipped, as of a file."""
        self.place_fixtures("v", VIDEOS[:1])
        self.place("clips.csv", b"path\nv/h264-30.mp4\nv/none.mp4\n")
        said = self.bload("scan", "s3://bucket/c/clips.csv", "--kind", "video", "-o", "t.tsv", status=3)
        self.assertIn("s3://bucket/c/v/none.mp4: file not found", said)

    def test_local_files(self):
        """A list from afar does not name local files."""
        self.place_fixtures("v", VIDEOS[:1])
        path = os.path.join(self.folder.name, "c/v/h264-30.mp4")
        self.store.put("bucket", "e/clips.csv", f"path\n{path}\nc/v/h264-30.mp4\n../../../../{path}\n".encode())
        said = self.bload("scan", "s3://bucket/e/clips.csv", "--kind", "video", "-o", "t.tsv", status=3)
        self.assertEqual(said.count("file not found"), 3)
        with open(fixture(SOUNDS[0]), "rb") as file:
            self.write("s/a.wav", file.read())
        for name, text in (("e/m.jsonl", '{"audio_filepath": "s/a.wav"}\n'), ("e/wav.scp", "u1 s/a.wav\n")):
            self.store.put("bucket", name, text.encode())
            self.assertRegex(self.bload("scan", f"s3://bucket/{name}", "--kind", "audio", "-o", "t.tsv", status=3), "s3://bucket/e/s/a.wav.*(not found|No such)")

    def test_local_list(self):
        """A list here that names objects."""
        self.place_fixtures("v", VIDEOS[:2])
        for name, corpus in (("local", "../c"), ("far", "s3://bucket/c")):
            self.write(f"lists/{name}.csv", f"path,start,end\n{corpus}/v/h264-30.mp4,0.2,0.6\n{corpus}/v/h264-50.mkv,0.1,\n".encode())
            self.bload("pack", f"lists/{name}.csv", "--kind", "video", "-T", "64", "--size", "32x32", "-o", name)
        self.same_data("local", "far")

    def test_arrays(self):
        rng = np.random.default_rng(1)
        for i in range(8):
            buffer = io.BytesIO()
            array = rng.standard_normal((int(rng.integers(5, 3000)), 64)).astype("f4")
            [np.save, lambda f, a: np.savez(f, x=a), lambda f, a: np.savez_compressed(f, x=a)][i % 3](buffer, array)
            self.place(f"a/{i}.{'npz' if i % 3 else 'npy'}", buffer.getvalue())
        self.both("CORPUS/a/", "--kind", "array", "-T", "4096")

    def test_ids(self):
        """Megatron's pair of files: the index, and places in the other one."""
        rng = np.random.default_rng(2)
        documents = [rng.integers(0, 50000, int(rng.integers(1, 900))).astype("<u2") for _ in range(100)]
        sizes = np.array([len(ids) for ids in documents])
        index = (b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(documents), len(documents) + 1) + sizes.astype("<i4").tobytes()
                 + (2 * (np.cumsum(sizes) - sizes)).astype("<i8").tobytes() + np.arange(len(documents) + 1).astype("<i8").tobytes())
        self.place("t/d.idx", index)
        self.place("t/d.bin", b"".join(ids.tobytes() for ids in documents))
        self.both("CORPUS/t/d.idx", "--kind", "text", "--format", "megatron", "-T", "1024")
        self.both("CORPUS/t/d.bin", "--token-file", "auto", "-T", "1024")

    def test_tars(self):
        """Members of tars, and those beside them; the listing fetches heads alone."""
        size = 0
        for tar in range(2):
            buffer = io.BytesIO()
            with tarfile.open(fileobj=buffer, mode="w") as out:
                for name in VIDEOS[tar::2]:
                    out.add(fixture(name), f"{name[:-4]}.{name[-3:]}")
                    label = io.BytesIO(b'{"label": "a"}')
                    entry = tarfile.TarInfo(f"{name[:-4]}.json")
                    entry.size = len(label.getvalue())
                    out.addfile(entry, label)
            self.place(f"w/{tar}.tar", buffer.getvalue())
            size += len(buffer.getvalue())
        said = self.both("CORPUS/w/", "--kind", "video", "-T", "64", "--size", "32x32", "--attributes-members", "json", status=3)
        self.assertIn("s3://bucket/c/w/0.tar@", self.read("far/sequences.tsv").decode())
        self.assertIn("ignored in tars and folders", said)

    def test_fields(self):
        """A field beside videos, found by names, and one of own pictures that a document names."""
        self.place_fixtures("v", VIDEOS[:2])
        for name, steps in (("h264-30", 30), ("h264-50", 50)):
            buffer = io.BytesIO()
            np.save(buffer, np.arange(steps * 4, dtype="f4").reshape(steps, 4))
            self.place(f"f/{name}.npy", buffer.getvalue())
        self.both(config="sources: [CORPUS/v/]\nT: 64\nsize: 32x32\nfields:\n  - name: features\n    path: CORPUS/f/{id}.npy\n")

    def test_own(self):
        for i in range(4):
            self.place(f"i/{i}.jpg", jpeg(i * 60))
        self.place("d.jsonl", b"".join(json.dumps({"text": f"picture {i}", "image": [f"i/{i}.jpg", "i/0.jpg"]}).encode() + b"\n" for i in range(4)))
        self.both(config="sources: [CORPUS/d.jsonl]\nT: 64\ntokenizer: bytes\nfields:\n  - name: image\n    key: image\n    kind: images\n"
                         "    size: 16x16\n    steps: own\n    capacity: 64\n")

    @each([("isolated", ()), ("here", ("--isolate", "off"))])
    def test_folders(self, _, arguments):
        """Folders of pictures: in the source, in folders of it, and itself; each is listed once."""
        for folder, count in (("f/a", 3), ("f/b/deep", 5), ("f/b", 2), ("f/ü+ c", 12)):
            for i in range(count):
                self.place(f"{folder}/{i}.jpg", jpeg(i * 20))
        self.place("f/a/.hidden.jpg", b"x")
        self.place("f/a/notes.txt", b"x")
        self.store.put("bucket", "c/f/empty/", b"")
        self.both("CORPUS/f/", "--kind", "frames", "-T", "16", "--size", "16x16", *arguments)
        lists = [request.query for request in self.store.requests if "list-type" in request.query]
        self.assertEqual(len(lists), 1 + 4)
        self.both("CORPUS/f/a/", "--kind", "frames", "-T", "16", "--size", "16x16", *arguments)

    @each([("isolated", ()), ("here", ("--isolate", "off"))])
    def test_folder_clips(self, _, arguments):
        """A list of clips of folders, which lies in the store, too."""
        for i in range(9):
            self.place(f"f/a/img_{i + 1:03}.jpg", jpeg(i * 20))
        self.place("clips.csv", b"path,start_frame,end_frame\nf/a,0,4\nf/a,3,9\n")
        self.both("CORPUS/clips.csv", "--kind", "frames", "-T", "16", "--size", "16x16", *arguments)

    def test_many(self):
        """Real media, also damaged ones, of every container."""
        shared = os.environ.get("BLOAD_SHARED", os.path.join(os.path.dirname(ROOT), "shared"))
        folder = os.path.join(shared, "data/media")
        if not os.path.isdir(folder):
            self.skipTest("no real media: BLOAD_SHARED")
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                self.place(f"m/{name}", file.read())
        self.both("CORPUS/m/", "--kind", "video", "-T", "512", "--size", "64x64", status=3)
        self.both("CORPUS/m/", "--kind", "audio", "-T", "1048576", status=3)


class Cost(Media):
    def large(self, name, *arguments):
        """A video of some 3 MB; returns its bytes."""
        path = os.path.join(self.folder.name, name)
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=640x360:r=25:d=12", "-vf", "noise=alls=20:allf=t", "-c:v", "libx264",
                        "-preset", "ultrafast", "-b:v", "2M", "-g", "25", *arguments, path], check=True)
        with open(path, "rb") as file:
            data = file.read()
        self.assertGreater(len(data), 2 << 20)
        return data

    def bytes_of(self, requests):
        return sum(int(end) - int(begin) + 1 for begin, end in
                   (re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers["range"]).groups() for request in requests))

    def test_index_at_the_end(self):
        """A video whose index is at its end: the head and the index are two requests, and its packets come in requests that grow."""
        data = self.large("a.mp4")
        self.assertGreater(data.index(b"moov"), len(data) // 2)
        self.store.put("bucket", "v/a.mp4", data)
        self.bload("scan", "s3://bucket/v/", "-o", "t.tsv")
        requests = self.fetched("a.mp4")
        self.assertLess(self.bytes_of(requests[:2]), 160 << 10)
        self.assertIn(f"{len(data) - 1}", requests[1].headers["range"])
        self.assertLessEqual(len(requests), 6)

    @each([("mp4", ()), ("faststart.mp4", ("-movflags", "faststart")), ("mkv", ()), ("mov", ())])
    def test_whole(self, name, *arguments):
        """A run fetches what a video has, once: what the scan has read is there when it is packed."""
        data = self.large(f"a.{name}", *arguments[0])
        self.store.put("bucket", f"v/a.{name}", data)
        self.bload("pack", "s3://bucket/v/", "-T", "400", "--size", "32x32", "-o", "d")
        requests = self.fetched("/v/a")
        self.assertLessEqual(self.bytes_of(requests), 1.05 * len(data))
        self.assertLessEqual(len(requests), 9)

    def test_tar(self):
        """Members of a tar are fetched alone: the one that is left out costs its head."""
        data, buffer = self.large("a.mp4"), io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as out:
            for i in range(4):
                entry = tarfile.TarInfo(f"{i}.{'mp4' if i < 2 else 'bin'}")
                entry.size = len(data)
                out.addfile(entry, io.BytesIO(data))
        self.store.put("bucket", "v/a.tar", buffer.getvalue())
        self.bload("scan", "s3://bucket/v/", "--kind", "video", "-o", "t.tsv", status=3)
        self.assertLess(self.bytes_of(self.fetched("a.tar")), 2.1 * len(data))


class Failing(Media):
    def setUp(self):
        super().setUp()
        for i in range(4):
            self.place_fixtures(f"v{i}", VIDEOS[:2])

    def pack(self, *arguments, **options):
        return self.bload("pack", "s3://bucket/c/", "-T", "64", "--size", "32x32", "-o", "d", *arguments, **options)

    @each([("isolated", ()), ("here", ("--isolate", "off"))])
    def test_broken(self, _, arguments):
        """Connections that break are no damage."""
        left = ["cut 1000", "status 503 1", "reset", "length 50"]
        self.store.fault = lambda request: left.pop(0) if left and request.method == "GET" and "/c/" in request.path else None
        self.assertIn("repeated", self.pack(*arguments))
        self.assertEqual(left, [])

    @each([(f"{what}{where}", now, arguments, words) for where, arguments in (("", ()), ("_here", ("--isolate", "off"))) for what, now, words in (
        ("gone", None, "the object vanished, or access to it: there is no such object"), ("changed", Object(b"x" * 90_000), "the object has changed"))])
    def test_changed(self, _, now, arguments, words):
        """An object that changes after it was listed ends the run by name, with one line, and no row says that it is damaged."""
        def change(request):
            if request.method == "GET" and request.path == "/bucket/c/v0/h264-30.mp4":
                if now:
                    self.store.buckets["bucket"]["c/v2/h264-50.mkv"] = now
                else:
                    self.store.buckets["bucket"].pop("c/v2/h264-50.mkv", None)
        self.store.fault = change
        said = self.pack("-j", "1", *arguments, status=1)
        self.assertIn(f"s3://bucket/c/v2/h264-50.mkv: {words}", said)
        self.assertNotIn("skipped", said)

    @each([("isolated", ()), ("here", ("--isolate", "off"))])
    def test_dead(self, _, arguments):
        """A store that answers no more is no damage either."""
        self.store.fault = lambda request: "status 403" if "h264-50" in request.path else None
        said = self.pack("-j", "2", *arguments, status=1)
        self.assertRegex(said, r"s3://bucket/c/v\d/h264-50.mkv: .*access")
        self.assertNotIn("skipped", said)

    def test_stopped(self):
        """A signal ends a read that waits, in a decoder process."""
        self.store.fault = lambda request: "stall 10" if "h264-50" in request.path else None
        process = subprocess.Popen([BLOAD, "pack", "s3://bucket/c/", "-T", "64", "--size", "32x32", "-o", "d"], cwd=self.folder.name,
                                   env=self.environment, stderr=subprocess.PIPE)
        while not any("h264-50" in request.path for request in list(self.store.requests)):
            time.sleep(0.02)
        began = time.monotonic()
        threading.Timer(0.3, process.send_signal, (signal.SIGINT,)).start()
        process.communicate(timeout=20)
        self.assertLess(time.monotonic() - began, 5)
        self.assertNotEqual(process.returncode, 0)

    def test_goes_on(self):
        """A run that was killed goes on where it was."""
        slow = threading.Event()
        self.store.fault = lambda request: time.sleep(0.05) if not slow.is_set() and "/c/" in request.path else None
        process = subprocess.Popen([BLOAD, "pack", "s3://bucket/c/", "-T", "64", "--size", "32x32", "-o", "d", "-j", "1"], cwd=self.folder.name,
                                   env=self.environment, stderr=subprocess.DEVNULL)
        while len(self.fetched("/c/")) < 6:
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.kill()
        process.wait()
        slow.set()
        self.pack()
        shutil.move(os.path.join(self.folder.name, "d"), os.path.join(self.folder.name, "far"))
        self.bload("pack", "c/", "-T", "64", "--size", "32x32", "-o", "local")
        self.same_data("local", "far")

    @each([("isolated", ()), ("here", ("--isolate", "off"))])
    def test_folder_changed(self, _, arguments):
        """A picture that changes or vanishes after its folder was listed ends the run."""
        for i in range(3):
            self.store.put("bucket", f"p/a/{i}.jpg", jpeg(i))

        def change(request):
            if request.method == "GET" and request.path.endswith("0.jpg"):
                self.store.buckets["bucket"]["p/a/2.jpg"] = Object(jpeg(200))
        self.store.fault = change
        said = self.bload("pack", "s3://bucket/p/", "--kind", "frames", "-T", "8", "--size", "16x16", "-o", "d", *arguments, status=1)
        self.assertIn("s3://bucket/p/a/2.jpg: the object has changed", said)

    def test_no_folder(self):
        """What is no folder, and a folder that is not there."""
        self.store.put("bucket", "p/0.jpg", jpeg(1))
        self.assertIn("sequences of the kind frames are folders: name the folder", self.bload("scan", "s3://bucket/p/0.jpg", "--kind", "frames", status=2))
        self.store.put("bucket", "p/clips.csv", b"path\nnone\n")
        self.assertRegex(self.bload("scan", "s3://bucket/p/clips.csv", "--kind", "frames", "-o", "t.tsv", status=3), "s3://bucket/p/none: (file not found|not a folder)")

    @each([("tar.gz", "members of a compressed tar cannot be read in place"), ("parquet", "bload reads Parquet as lines of JSON")])
    def test_other(self, name, words):
        self.store.put("bucket", f"w/x.{name}", b"x" * 1000)
        self.assertIn(words, self.bload("scan", f"s3://bucket/w/x.{name}", status=2))


if __name__ == "__main__":
    unittest.main()
