"""bload.launch where no cluster is: this machine as the engine, and engines that are not there. tests/engines has the others."""
import os
import subprocess
import sys

import tool
from harness import each
from launching import PACK, Launching, Laws

# What it is told, as words, and the line that it says.
WRONG = [
    ("no_command", ["local", "-n", "2"], "the command is missing: give it behind --, as in python -m bload.launch local -n 4 -- pack -c dataset.yaml -o out"),
    ("other_command", ["local", "-n", "2", "--", "info", "x"], "tasks run bload pack or bload scan, not info"),
    ("no_output", ["local", "-n", "2", "--", *PACK], "the output directory is missing: give -o DIR behind --"),
    ("unknown_option", ["local", "-n", "2", "--", *PACK, "-o", "x", "--nothing"], "pack: unknown option --nothing (see --help)"),
    ("task", ["local", "-n", "2", "--", *PACK, "-o", "x", "--task", "0/2"],
     "--task is not for tasks of an engine: the launcher gives each task its number"),
    ("standard_input", ["local", "-n", "2", "--", "pack", "-", "-T", "9", "-o", "x"],
     "- is not for tasks of an engine: tasks have no standard input"),
    ("dry_run", ["local", "-n", "2", "--", *PACK, "-o", "x", "--dry-run"], "--dry-run is not for tasks of an engine"),
    ("url", ["local", "-n", "2", "--", *PACK, "-o", "s3://bucket/x"],
     "s3://bucket/x: tasks of an engine write to a disk that they share: the output cannot be a URL"),
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
