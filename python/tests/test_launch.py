"""bload.launch where no cluster is: this machine as the engine, and engines that are not there. tests/engines has the others."""
import json
import os
import re
import signal
import subprocess
import sys
import time

import tool
from harness import each
from launching import PACK, Launching, Laws

# What it is told, as words, and the line that it says.
WRONG = [
    ("no_command", ["local", "-n", "2"],
     "the command is missing: give it behind --, as in python -m bload.launch local -n 4 -- pack -c dataset.yaml -o out"),
    ("other_command", ["local", "-n", "2", "--", "info", "x"], "tasks run bload pack or bload scan, not info"),
    ("no_output", ["local", "-n", "2", "--", *PACK], "the output is missing: give -o DIR or -o s3://BUCKET/NAME behind --"),
    ("unknown_option", ["local", "-n", "2", "--", *PACK, "-o", "x", "--nothing"], "pack: unknown option --nothing (see --help)"),
    ("task", ["local", "-n", "2", "--", *PACK, "-o", "x", "--task", "0/2"],
     "--task is not for tasks of an engine: the launcher gives each task its number"),
    ("standard_input", ["local", "-n", "2", "--", "pack", "-", "-T", "9", "-o", "x"],
     "- is not for tasks of an engine: tasks have no standard input"),
    ("dry_run", ["local", "-n", "2", "--", *PACK, "-o", "x", "--dry-run"], "--dry-run is not for tasks of an engine"),
    ("other_engine", ["local", "-n", "2", "--gpus", "1", "--", *PACK, "-o", "x"], "--gpus is for ray, slurm, kubernetes, not for local"),
    ("conf", ["ray", "-n", "2", "--conf", "a=b", "--", *PACK, "-o", "x"], "--conf is for spark, not for ray"),
    ("image", ["kubernetes", "-n", "2", "--claim", "c", "--", *PACK, "-o", "x"], "kubernetes needs --image"),
    ("claim", ["kubernetes", "-n", "2", "--image", "i", "--claim", "My_Disk", "--", *PACK, "-o", "x"],
     "--claim My_Disk: not a name of Kubernetes: small letters, digits and hyphens, 52 at most"),
    ("mount", ["kubernetes", "-n", "2", "--image", "i", "--claim", "c", "--mount", "here", "--", *PACK, "-o", "x"],
     "--mount here: not an absolute path"),
    ("no_output_of_pods", ["kubernetes", "-n", "2", "--image", "i", "--claim", "c", "--", *PACK],
     "the output is missing: give -o DIR or -o s3://BUCKET/NAME behind --"),
    ("no_claim", ["kubernetes", "-n", "2", "--image", "i", "--", *PACK, "-o", "x"],
     "kubernetes needs --claim: x is a directory, so pods must share a volume; or give -o s3://BUCKET/NAME"),
    ("scan_of_pods", ["kubernetes", "-n", "2", "--image", "i", "--", "scan", "arrays", "-o", "s3://b/x"],
     "on Kubernetes, the Jobs that pack count and plan before: give bload pack"),
    ("secret", ["kubernetes", "-n", "2", "--image", "i", "--secret", "My_Keys", "--", *PACK, "-o", "s3://b/x"],
     "--secret My_Keys: not a name of Kubernetes: small letters, digits, hyphens and dots"),
    ("service_account", ["kubernetes", "-n", "2", "--image", "i", "--service-account", "a/b", "--", *PACK, "-o", "s3://b/x"],
     "--service-account a/b: not a name of Kubernetes: small letters, digits, hyphens and dots"),
    ("secret_elsewhere", ["local", "-n", "2", "--secret", "keys", "--", *PACK, "-o", "s3://b/x"], "--secret is for kubernetes, not for local"),
    ("scratch_size", ["kubernetes", "-n", "2", "--image", "i", "--claim", "c", "--scratch-size", "1G", "--", *PACK, "-o", "x"],
     "--scratch-size is for a URL as output: x is a directory"),
    ("other_store", ["kubernetes", "-n", "2", "--image", "i", "--", *PACK, "-o", "https://b/x"],
     "https://b/x: not s3://BUCKET/NAME or gs://BUCKET/NAME"),
    ("bucket", ["kubernetes", "-n", "2", "--image", "i", "--", *PACK, "-o", "s3://b"], "s3://b: not s3://BUCKET/NAME or gs://BUCKET/NAME"),
    ("file_of_pods", ["kubernetes", "-n", "2", "--image", "i", "--", "pack", "-c", "none.yaml", "-o", "s3://b/x"],
     "-c none.yaml: No such file or directory; with a URL as output the file is read here, and goes to the tasks"),
    ("slurm_without_file", ["slurm", "-n", "2", "--", *PACK, "-o", "x"],
     "Slurm's jobs scan, plan and pack by a file: give pack -c FILE -o DIR alone (bload pack ... --print-config writes the file)"),
]
# Engines whose package or program is not there.
MISSING = [
    ("ray", r"ray cannot be imported: No module named 'ray' \(pip install ray\)"),
    ("dask", r"distributed cannot be imported: No module named 'distributed' \(pip install distributed\)"),
    ("spark", r"pyspark cannot be imported: No module named 'pyspark' \(pip install pyspark\)"),
]


class Local(Laws):
    engine = ("local", "--at-once", "3")


class Wrong(Launching):
    def run_launcher(self, *words, **environment):
        done = subprocess.run([sys.executable, "-m", "bload.launch", *words], cwd=self.directory, capture_output=True, text=True,
                              env={**os.environ, "BLOAD": os.path.abspath(tool.BLOAD), **environment})
        return done.returncode, done.stdout, done.stderr

    @each(WRONG)
    def test_words(self, _, words, message):
        self.assertEqual(self.run_launcher(*words), (2, "", f"bload.launch: {message}\n"))
        self.assertFalse(os.path.exists(self.path("x")))

    @each(MISSING)
    def test_missing(self, engine, message):
        """The package is hidden, wherever it may be installed."""
        hidden = self.path("hidden_" + engine)
        os.makedirs(hidden, exist_ok=True)
        package = message.split()[0]
        tool.write(os.path.join(hidden, f"{package}.py"), f"raise ModuleNotFoundError(\"No module named '{package}'\")\n")
        status, output, messages = self.run_launcher(engine, "-n", "2", "--", *PACK, "-o", "x",
                                                     PYTHONPATH=os.pathsep.join([hidden, os.environ["PYTHONPATH"]]))
        self.assertEqual((status, output), (1, ""), messages)
        self.assertRegex(messages, rf"\Abload\.launch: {message}\n\Z")
        self.assertEqual([name for name in os.listdir(self.directory) if name.startswith((".", "x"))], [])

    def test_no_slurm(self):
        tool.write(self.path("dataset.yaml"), "sources: [arrays]\nT: 64\n")
        for output in "x", "s3://bucket/x":
            self.assertEqual(self.run_launcher("slurm", "-n", "2", "--", "pack", "-c", "dataset.yaml", "-o", output, PATH=self.directory),
                             (1, "", "bload.launch: no Slurm here: sbatch is not on the PATH\n"))

    def test_options_of_the_launcher(self):
        for words, message in [(["-n", "0"], "argument -n/--tasks: not a number from 1: 0"), (["-n", "2", "--retries", "-1"], "argument --retries: "),
                               (["-n", "2", "--memory", "much"], "argument --memory: not a number from 1: much")]:
            status, _, messages = self.run_launcher("local", *words, "--", *PACK, "-o", "x")
            self.assertEqual(status, 2)
            self.assertIn(f"python -m bload.launch: error: {message}", messages)

    def test_pods(self):
        """The commands of the manifest, run by a shell as pods do, in any order, and one of them twice."""
        place = self.place()
        os.symlink(self.path("arrays"), os.path.join(place, "my arrays"))
        self.bload("pack", "my arrays", *PACK[2:], "-q", "-o", "alone", cwd=place)
        status, output, messages = self.run_launcher("kubernetes", "-n", "3", "--image", "i", "--claim", "c", "--", "pack", "my arrays",
                                                     *PACK[2:], "-o", "my out")
        self.assertEqual((status, messages), (0, ""))
        pack, finish = (json.loads(text) for text in re.findall(r"command: \[sh, -c, (.*)\]\n", output))
        path = os.pathsep.join([os.path.dirname(os.path.abspath(tool.BLOAD)), os.environ["PATH"]])
        for index in 2, 0, 1, 1:
            environment = {**os.environ, "PATH": path, "JOB_COMPLETION_INDEX": str(index)}
            subprocess.run(["sh", "-c", pack], cwd=place, env=environment, check=True)
        subprocess.run(["sh", "-c", finish], cwd=place, env={**os.environ, "PATH": path}, check=True, stderr=subprocess.DEVNULL)
        self.assertSameTree(os.path.join(place, "alone"), os.path.join(place, "my out"))

    def test_pods_of_a_store(self):
        """Pods that share nothing but a store, by the manifest's command: one is killed, with all that it runs, and one begins when all is
        done. The file of options comes with the manifest, and one of the inputs cannot be used."""
        place, (store, _) = self.place(), self.buckets(unusable=["1.npy"])
        lines = ["# \u00e9\u00e9\U0001f600", "  ", "sources: [s3://corpus/arrays/]", "T: 64", "shard-size: 1K"]
        tool.write(os.path.join(place, "my set.yaml"), "\n".join(lines))
        words = "pack", "-c", os.path.join(place, "my set.yaml"), "-o", "s3://results/set", "--endpoint", store.url, "--lease", "3"
        status, output, messages = self.run_launcher("kubernetes", "-n", "3", "--image", "i", "--secret", "keys", "--", *words)
        self.assertEqual((status, messages), (0, ""))
        text, = re.findall(r"  dataset\.yaml: \|2\+\n((?:    .*\n|\n)*)", output)
        tool.write(os.path.join(place, "dataset.yaml"), re.sub("^    ", "", text, flags=re.M))
        self.assertEqual(tool.text(os.path.join(place, "dataset.yaml")), "\n".join(lines) + "\n")
        command, = (json.loads(text).replace("/configuration/", place + "/") for text in re.findall(r"command: \[sh, -c, (.*)\]\n", output))
        path = os.pathsep.join([os.path.dirname(os.path.abspath(tool.BLOAD)), os.environ["PATH"]])

        def pod(number):
            own = os.path.join(place, f"pod{number}")
            os.mkdir(own)
            return subprocess.Popen(["sh", "-c", command], cwd=own, env={**os.environ, "PATH": path, "TMPDIR": own}, start_new_session=True,
                                    stderr=subprocess.PIPE, text=True)
        store.latency = 0.02
        pods = [pod(number) for number in range(3)]
        limit = time.monotonic() + 60
        while not any(key.startswith("set/.bload/claims/pack-3-") for key in list(store.buckets["results"])):
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)
        os.killpg(pods[0].pid, signal.SIGKILL)
        store.latency = 0
        said = [one.communicate(timeout=120)[1] for one in pods]
        self.assertEqual([one.returncode for one in pods], [-signal.SIGKILL, 0, 0], said)
        late = pod(3)
        self.assertIn("s3://results/set is already complete", late.communicate(timeout=120)[1])
        self.assertEqual(late.returncode, 0)
        self.assert_in_store(store, os.path.join(place, "near"))
        self.assertEqual([os.listdir(os.path.join(place, f"pod{number}")) for number in (1, 2, 3)], [[], [], []])

    def test_not_shared(self):
        """A worker that has another disk under the same path: it does not see the file that the launcher wrote."""
        program = ("import sys\nfrom bload._core import launch_task\n"
                   "print(launch_task.fault_of(dict(directory='/', probe=sys.argv[1], token='x', output='/somewhere/out', tool='bload'), 0, 'bload'))")
        for text in None, "another":
            probe = self.path("probe")
            if text:
                tool.write(probe, text)
            done = subprocess.run([sys.executable, "-c", program, probe], capture_output=True, text=True, check=True)
            self.assertRegex(done.stdout, r"\A\S+ does not see the disk of /somewhere/out: the output must be in a directory that all workers share\n\Z")
