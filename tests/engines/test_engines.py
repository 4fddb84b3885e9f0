"""bload.launch on clusters of the released engines. The laws are those of python/tests/launching.py."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import clips
import clusters
import kubernetes_validate
import tool
import yaml
from harness import each
from launching import PACK, SLOW, TASKS, Launching, Laws, Store


class OnCluster(Laws):
    """The laws on a cluster that lives as long as the class."""
    long = True
    start = None

    @classmethod
    def setUpClass(cls):
        if cls.start is None:
            raise unittest.SkipTest("no cluster of its own")
        super().setUpClass()
        cls.cluster = clusters.Cluster()
        try:
            cls.engine = cls.start(cls.cluster)
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()
        super().tearDownClass()

    def test_worker_killed(self):
        """The worker takes the tool with it, and the task is run again elsewhere."""
        process = self.begin(*PACK, "-o", "lost", program=self.script(SLOW))
        child, worker = self.pids()
        os.kill(worker, signal.SIGKILL)
        self.end(process, 0)
        self.assert_ends(child)
        self.assert_alone("lost")


class Ray(OnCluster):
    start = staticmethod(clusters.ray)

    def test_gpus(self):
        """A task gets those that it requests; Ray counts them without looking."""
        program = self.script("#!/bin/sh\n[ $1 = --version ] || echo $CUDA_VISIBLE_DEVICES >>'{place}/seen'\nexec '{tool}' \"$@\"\n")
        tool.write(os.path.join(self.place(), "seen"), "")
        self.launch(*PACK, "-o", "gpus", program=program, options=["--gpus", "1"])
        seen = [line for line in tool.text(os.path.join(self.place(), "seen")).splitlines() if line]
        self.assertEqual(seen, ["0"] * TASKS)

    def test_no_room(self):
        """It is told, and the tasks wait for a node that has room."""
        process = self.begin(*PACK, "-o", "room", options=["--cpus", "9"])
        line = process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        self.end(process, 128 + signal.SIGTERM)
        self.assertEqual(line, "bload.launch: no node of the cluster has 9 processors (the largest has 2): the tasks wait for one\n")


class Dask(OnCluster):
    start = staticmethod(clusters.dask)

    def test_own_disk(self):
        """The workers have a disk of their own where the output is to be."""
        place = self.path("mounted")
        os.mkdir(place)
        if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no namespaces for mounts")
        with clusters.Cluster() as cluster:
            words = clusters.dask(cluster, "unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', place)
            done = subprocess.run([sys.executable, "-m", "bload.launch", *words, "-n", "3", "--", *PACK, "-o", os.path.join(place, "out")],
                                  cwd=self.directory, env={**os.environ, "BLOAD": os.path.abspath(tool.BLOAD)}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, rf"\Abload\.launch: \S+ does not see the disk of {re.escape(place)}/out: the output must be in a directory that "
                         r"all workers share\n\Z")
        self.assertEqual(os.listdir(place), [])


class Spark(OnCluster):
    start = staticmethod(clusters.spark)

    @classmethod
    def setUpClass(cls):
        if not shutil.which("java"):
            raise unittest.SkipTest("no java")
        super().setUpClass()

    def begin(self, *words, **more):
        os.environ["JDK_JAVA_OPTIONS"] = clusters.JAVA
        return super().begin(*words, **more)

    def messages(self, text):
        """Spark's own warnings are left out."""
        return "".join(re.findall(r"^bload.*\n", text, re.M))


class Slurm(Launching):
    """The chain of bload slurm on a cluster of three nodes, that of tests/slurm."""
    long = True

    @classmethod
    def setUpClass(cls):
        path = os.environ["PATH"] + ":/usr/sbin:/sbin"
        missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if not shutil.which(name, path=path)]
        if missing or os.getuid() or not os.path.ismount("/sys/fs/cgroup"):
            raise unittest.SkipTest(f"no {missing[0]}" if missing else "not root, or nothing is mounted on /sys/fs/cgroup")
        super().setUpClass()
        cls.engine = ("slurm",)
        tool.write(os.path.join(cls.directory, "dataset.yaml"), "sources: [arrays]\nT: 64\nshard-size: 1K\n")
        cls.cluster = subprocess.Popen([os.path.join(tool.ROOT, "tests/slurm/cluster"), "sh", "-c", "echo $SLURM_CONF; exec cat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=cls.directory)
        os.environ["SLURM_CONF"] = cls.cluster.stdout.readline().strip()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.communicate()
        super().tearDownClass()

    @staticmethod
    def queue():
        asked = subprocess.run(["squeue", "-h", "-r", "-o", "%F"], capture_output=True, text=True, check=True)
        return sorted(set(asked.stdout.split()), key=int)

    def queued(self, count, but=()):
        """Waits until so many jobs are in the queue, others than those, and gives them."""
        limit = time.monotonic() + 60
        while True:
            jobs = [job for job in self.queue() if job not in but]
            if len(jobs) == count:
                return jobs
            self.assertLess(time.monotonic(), limit, jobs)
            time.sleep(0.2)

    def assert_alone(self, name):
        self.assertSameTree(self.path("alone"), self.path(name))

    def test_same_bytes(self):
        messages = self.launch("pack", "-c", "dataset.yaml", "-o", "plain")
        self.assertIn("bload.launch: pack        5 tasks: 5 to submit\n", messages)
        self.assert_alone("plain")
        self.assertEqual(self.launch("pack", "-c", "dataset.yaml", "-o", "plain").splitlines()[-1],
                         "bload.launch: plain is complete and verified: nothing to submit")

    def test_requests(self):
        """They reach sbatch, which refuses GPUs on a cluster that has none."""
        options = ["--cpus", "2", "--memory", "3G", "--gpus", "1", "--sbatch=--time=9"]
        messages = self.launch("pack", "-c", "dataset.yaml", "-o", "asked", options=options, status=1)
        self.assertIn("the same command submits the rest\n", messages)
        script = tool.text(self.path("asked.slurm/pack.sh"))
        for option in "--cpus-per-task=2", "--mem=3145728K", "--gres=gpu:1", "--time=9":
            self.assertIn(option, script)

    def test_cancelled_jobs_are_submitted_again(self):
        process = self.begin("pack", "-c", "dataset.yaml", "-o", "again", options=["--sbatch=--hold"])
        first = self.queued(5)
        subprocess.run(["scancel", *first], check=True)
        subprocess.run(["scontrol", "release", ",".join(self.queued(5, but=first))], check=True)
        messages = self.end(process, 0)
        self.assertIn("bload.launch: jobs failed: what is missing is submitted again, 1 of 2\n", messages)
        self.assert_alone("again")

    def test_interrupted(self):
        process = self.begin("pack", "-c", "dataset.yaml", "-o", "stopped", options=["--sbatch=--hold"])
        self.queued(5)
        process.send_signal(signal.SIGINT)
        self.assertRegex(self.end(process, 128 + signal.SIGINT), r"bload\.launch: interrupted: [^\n]*\n\Z")
        self.queued(0)

    def test_wrong_usage(self):
        messages = self.launch(*PACK, "-o", "x", status=2)
        self.assertRegex(messages, r"\Abload\.launch: Slurm's jobs scan, plan and pack by a file: [^\n]*\n\Z")
        tool.write(self.path("wrong.yaml"), "sources: [nowhere]\nT: 64\n")
        messages = self.launch("pack", "-c", "wrong.yaml", "-o", "x", status=2)
        self.assertRegex(messages, r"\Abload\.launch: slurm: [^\n]*nowhere[^\n]*\n\Z")

    def test_bucket_to_bucket(self):
        """With a URL as output, an array of tasks that share no disk; three of them are killed, and an input cannot be used."""
        store, words = self.buckets(unusable=["1.npy"])
        process = self.begin(*words, "-o", "s3://results/set", program=self.script(SLOW, slow=(0, 3, 7)), tasks=8)
        for task in 0, 3, 7:
            os.kill(self.pids(task)[0], signal.SIGKILL)
        messages = self.end(process, 3)
        self.assertRegex(messages, r"bload\.launch: submitted pack: job \d+, 8 of 8 tasks; bload status s3://results/set shows the progress\n")
        self.assertRegex(messages, r"bload\.launch: task 7 of 8 failed: [^\n]*Killed[^\n]*\nbload\.launch: jobs failed: what is missing is submitted again, "
                         r"1 of 2\nbload\.launch: submitted pack: job \d+, 3 of 8 tasks; ")
        self.assert_in_store(store, os.path.join(self.place(), "near"))
        messages = self.launch(*words, "-o", "s3://results/set", status=3)
        self.assertNotIn("submitted", messages)
        self.assertIn("s3://results/set is already complete", messages)

    def test_page(self):
        """The command of docs/clusters.md that needs no shared disk."""
        text = tool.text(os.path.join(tool.ROOT, "docs/clusters.md")).partition("\n## Without a shared disk\n")[2].partition("\n## ")[0]
        line, = re.findall(r"^python3 -m bload\.launch slurm .*", text, re.M)
        store, place = self.enterContext(Store()), self.place()
        for name in "h264.mp4", "mpeg4.avi":
            with open(clips.clip(name), "rb") as file:
                store.put("corpus", f"videos/{name}", file.read())
        store.buckets["datasets"] = {}
        environment = {**os.environ, "AWS_ENDPOINT_URL": store.url, "BLOAD": os.path.abspath(tool.BLOAD)}
        words = re.search(r" -- (.*) -o ", line)[1]
        subprocess.run([tool.BLOAD, *words.split(), "-q", "-o", "near"], cwd=place, env=environment, check=True)
        done = subprocess.run(["sh", "-c", line.replace("python3", sys.executable)], cwd=place, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        store.buckets["results"] = {"other": store.RequestHandlerClass.object(b""), **{key.replace("videos/", "set/", 1): one for key, one in
                                                                                     store.buckets["datasets"].items()}}
        self.assert_in_store(store, os.path.join(place, "near"))
        self.assertTrue(os.listdir(os.path.join(place, "videos.slurm/logs")))

    def test_file_comes_along(self):
        self.carry("my set.yaml")

    def test_scan_in_a_store(self):
        """The tasks of bload scan, then those of bload pack."""
        store, words = self.buckets()
        place = "-o", "s3://results/set", *words[-2:]
        self.launch("scan", words[1], *place)
        self.bload("plan", "-q", "-T", "64", "s3://results/set", *words[-2:])
        self.assertEqual(self.launch("scan", words[1], *place), "")
        self.launch(*words, "-o", "s3://results/set", options=["-q"])
        self.assert_in_store(store, os.path.join(self.place(), "near"))

    def test_interrupted_in_a_store(self):
        store, words = self.buckets()
        process = self.begin(*words, "-o", "s3://results/set", options=["--sbatch=--hold"])
        self.queued(1)
        process.send_signal(signal.SIGINT)
        self.assertRegex(self.end(process, 128 + signal.SIGINT), r"bload\.launch: interrupted: [^\n]*\n\Z")
        self.queued(0)
        self.assertEqual(list(store.buckets["results"]), ["other"])

    def test_wrong_usage_in_a_store(self):
        """It is said once for each task, and not tried again; logs that are elsewhere are named, as is what sbatch refuses."""
        store, words = self.buckets()
        messages = self.launch(*words, "--key", "id", "-o", "s3://results/set", status=2, tasks=2)
        self.assertRegex(messages, r"(?m)^bload\.launch: task 1 of 2 failed: pack: [^\n]*\n\Z")
        self.assertNotIn("again", messages)
        options = ["--retries", "0", "--sbatch=--output=/dev/null"]
        messages = self.launch("pack", "nowhere", *words[2:], "-o", "s3://results/set", status=1, options=options, tasks=1)
        self.assertRegex(messages, r"bload\.launch: task 0 of 1 failed: it left no set\.slurm/logs/pack-\d+_0\.log: nodes do not see this directory, or "
                         r"--sbatch gave another --output\nbload\.launch: jobs failed; the same command submits what is missing\n\Z")
        messages = self.launch(*words, "-o", "s3://results/set", options=["--sbatch=--partition=none"], status=1)
        self.assertRegex(messages, r"\Abload\.launch: [^\n]*partition[^\n]*\n\Z")
        self.assertEqual(list(store.buckets["results"]), ["other"])


# Clusters that are not there: the words, the status, and what is said. {port} is one on which nobody listens.
NOT_THERE = [
    ("ray", ["ray", "--address", "127.0.0.1:{port}"], 1, r"no Ray cluster at 127\.0\.0\.1:\d+: Connection refused"),
    ("ray_client", ["ray", "--address", "ray://127.0.0.1:{port}"], 1, r"no Ray cluster at ray://127\.0\.0\.1:\d+: Connection refused"),
    ("ray_of_this_machine", ["ray"], 1, r"no Ray cluster on this machine: give --address HOST:PORT, or set RAY_ADDRESS"),
    ("ray_local", ["ray", "--address", "local"], 2, r"--address local would start a cluster: give that of one, or the engine local"),
    ("ray_host", ["ray", "--address", "head"], 2, r"--address head: not HOST:PORT"),
    ("dask", ["dask", "--address", "tcp://127.0.0.1:{port}"], 1, r"no scheduler of Dask at tcp://127\.0\.0\.1:\d+: Connection refused"),
    ("dask_unnamed", ["dask"], 2, r"no scheduler of Dask: give --address tcp://HOST:PORT, or set DASK_SCHEDULER_ADDRESS"),
    ("dask_file", ["dask", "--address", "nothing.json"], 1, r"nothing\.json: No such file or directory"),
    ("spark", ["spark", "--address", "spark://127.0.0.1:{port}"], 1, r"no Spark master at spark://127\.0\.0\.1:\d+: Connection refused"),
    ("spark_unnamed", ["spark"], 2, r"no Spark master: give --address spark://HOST:PORT, or spark\.master in Spark's configuration"),
    ("spark_conf", ["spark", "--conf", "memory"], 2, r"--conf memory: not KEY=VALUE"),
]


class NotThere(Launching):
    @each(NOT_THERE)
    def test_one_line(self, _, words, status, message):
        words = [word.format(port=clusters.free_port()) for word in words]
        environment = {name: value for name, value in os.environ.items() if name not in ("RAY_ADDRESS", "DASK_SCHEDULER_ADDRESS", "SPARK_HOME")}
        environment["RAY_TMPDIR"] = self.directory      # no cluster of others on this machine is found there
        done = subprocess.run([sys.executable, "-m", "bload.launch", *words, "-n", "2", "--", *PACK, "-o", "x"], cwd=self.directory,
                              env={**environment, "BLOAD": os.path.abspath(tool.BLOAD)}, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertRegex(done.stderr, rf"\Abload\.launch: {message}\n\Z")
        self.assertEqual(sorted(os.listdir(self.directory))[:2], ["alone", "arrays"])


VOLUME = "--claim", "corpus"
URL = "-o", "s3://results/set"
CONFIGURATION = "  # \u00e9 \U0001f600: --- |\n\nsources: ['a: b']\n\tT: 64\n\n\n"
MANIFESTS = [
    ("planned", VOLUME, ("pack", "-c", "dataset.yaml", "-o", "out"), ["bload-plan", "bload-pack", "bload-finish"]),
    ("options", (*VOLUME, "--memory", "8G", "--gpus", "1", "--cpus", "4", "--mount", "/a b"), (*PACK, "-o", "my out"), ["bload-pack", "bload-finish"]),
    ("store", (), (*PACK, *URL), ["bload"]),
    ("store_planned", ("--secret", "keys.of.corpus", "--name", "set"), ("pack", "-c", "dataset.yaml", *URL), ["set", "set"]),
    ("store_options", (*VOLUME, "--service-account", "packer", "--memory", "8G", "--gpus", "1", "--scratch-size", "20G"),
     ("pack", "-c", "dataset.yaml", *URL, "--endpoint", "http://$(HOST)"), ["bload"]),
]


class Kubernetes(Launching):
    engine = "kubernetes", "--image", "registry/bload:0.2"

    @each(MANIFESTS)
    def test_schema(self, _, options, words, names):
        """The API server of each release with what the Jobs use takes them; strictly: nothing is there that the schema does not name."""
        tool.write(self.path("dataset.yaml"), CONFIGURATION)
        done = subprocess.run([sys.executable, "-m", "bload.launch", *self.engine, "-n", "7", *options, "--", *words], capture_output=True,
                              text=True, check=True, cwd=self.directory)
        documents = list(yaml.safe_load_all(done.stdout))
        self.assertEqual([one["metadata"]["name"] for one in documents], names)
        for document in documents:
            for version in "1.29", "1.33", "1.37":
                kubernetes_validate.validate(document, version, strict=True)
            if document["kind"] == "ConfigMap":
                self.assertEqual(document["data"], {"dataset.yaml": CONFIGURATION})
        document["spec"]["backofLimit"] = 3
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(document, "1.37", strict=True)


del OnCluster, Laws, Launching
