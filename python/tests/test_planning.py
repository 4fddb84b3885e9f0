"""bload.plan: the same plans as those of the command, and errors for everything that is not a list of lengths."""
import ctypes
import json
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np

import bload
import tool
from bload._core import library, planning

# With this effort, planning these lengths takes minutes, and there is a bound to prove until the end.
HARD = ("import bload, random\ndraw = random.Random(1)\nlengths = [draw.randint(2001, 4999) for _ in range(3000)]\n"
        "def hard(): return bload.plan(lengths, 10000, effort=1000)\n")


class Same(tool.Tool):
    """Plans as `bload plan` makes them of a table with the same numbers."""

    def command(self, lengths, columns, *options):
        """The table of the plan, its counts, and 0; or what the command says, and its status."""
        table, plan = self.path("sequences.tsv"), self.path("plan.tsv")
        with open(table, "w", encoding="utf-8") as file:
            print("id", "length", "kind", "path", "status", "reason", *columns, sep="\t", file=file)
            for i, length in enumerate(lengths):
                status = ("ok", "") if length else ("skipped", "empty")
                print(i, length, "array", f"{i}.npy", *status, *(values[i] if isinstance(values[i], str) else repr(values[i]) for values in columns.values()), sep="\t", file=file)
        done = subprocess.run([tool.BLOAD, "plan", "-q", table, "--json", "-o", plan, *map(str, options)], capture_output=True, text=True)
        if done.returncode:
            return None, done.stderr, done.returncode
        with open(plan, "rb") as file:
            return file.read(), json.loads(done.stdout), 0

    def drawn(self, draw):
        """Lengths, columns, and options in both forms."""
        count, T = draw.choice((1, 2, 9, 60, 300)), draw.choice((7, 64, 1000))
        lengths = [draw.choice((0, 1, T, draw.randint(1, T), draw.randint(1, T // 2), draw.randint(1, T // 5 + 1))) for _ in range(count)]
        columns = {"a": [draw.randint(0, 5) for _ in lengths], "b": [draw.random() * 3 for _ in lengths], "g": [draw.randint(0, 3) for _ in lengths],
                   "c": [draw.random() * 10 for _ in lengths], "t": [draw.choice(("", *map(str, range(count)))) for _ in lengths]}
        given, words = {}, []

        def give(name, value, text=None):
            given[name] = value
            words.extend((f"--{name.replace('_', '-')}", value if text is None else text))

        def maybe(share, name, *values):
            if draw.random() < share:
                give(name, draw.choice(values))

        give("seed", draw.choice((0, 1, 2 ** 64 - 1)))
        maybe(0.15, "strategy", "naive", "sample", "mix", "store")
        strategy = given.get("strategy", "block")
        maybe(0.5, "world_size", 2, 3, 8)
        maybe(0.3, "batch_size", 2, 5)
        maybe(0.1, "min_length", 3)
        maybe(0.1, "max_length", T - 1, T // 2)
        maybe(0.1, "order", "keep", "random")
        if max(given.get("world_size", 1), given.get("batch_size", 1)) > 1:
            maybe(0.2, "accumulate", 2)
            maybe(0.3, "remainder", "pad", "drop", "spread")
            maybe(0.2, "balance", "none", "quadratic", "cost", "auto")
            if draw.random() < 0.4:
                give("cost", *draw.choice([("1,2e-5",), ("0,1",), ("2,0",), (columns["c"], "c")]))
        if "accumulate" in given:
            maybe(0.5, "sync", "step", "micro")
        if strategy in ("block", "naive"):
            maybe(0.3, "oversize", "split", "truncate", "drop")
        if given.get("oversize") == "split":
            maybe(0.3, "overlap", 2, 5)
        if strategy == "block":
            maybe(0.1, "fill", "paper", "optimal")
            maybe(0.2, "align", 2, 8)
            maybe(0.1, "cp", 2, 1)
            maybe(0.2, "max_sequences", 1, 3)
            maybe(0.1, "effort", 1)
            if given.get("fill") != "paper" and draw.random() < 0.1:
                give("spare", 0.025, "2.5%")
            if given.get("fill") != "paper" and draw.random() < 0.25:
                given["columns"] = {"a": (9, columns["a"]), "b": (7.5, columns["b"])}
                words += ["--max-column", "a=9", "--max-column", "b=7.5"]
        elif strategy in ("sample", "mix"):
            maybe(0.3, "clip", 3, 30)
        if strategy == "sample":
            maybe(0.3, "clips", "all", "one")
        if draw.random() < 0.2:
            give("group", columns["g"], "g")
            words[-2] = "--group-by"
        if draw.random() < 0.12:
            give("together", columns["t"], "t")
        short = draw.random() < 0.3 and "strategy" not in given
        given_T = draw.choice(("longest", T, T, T, T // 2 if short else T))
        return lengths, given_T, columns, given, [*words, "-T", given_T]

    def compare(self, seed):
        lengths, T, columns, given, words = self.drawn(random.Random(seed))
        table, counts, status = self.command(lengths, columns, *words)
        try:
            plan = bload.plan(lengths, T, **given)
        except bload.OptionError as error:
            self.assertNotEqual(status, 0, f"seed {seed}: {error}: {words}")
            self.assertNotIn("--", str(error))
            return False
        if status and "no effect" in counts:
            return False  # flags without effect are a mistake on a command line
        self.assertEqual(status, 0, f"seed {seed}: {counts}: {words}")
        self.assertTrue(plan.to_table() == table, f"seed {seed}: {words}")
        for name, value in counts.items():
            if name in ("imbalance", "imbalance_before", "imbalance_bound", "highest_block_cost", "ks_distance", "ks_distance_random", "cost_correlation",
                        "efficiency"):
                self.assertAlmostEqual(getattr(plan, name), value or 0, 9, f"seed {seed}: {name}: {words}")
            elif hasattr(plan, name):
                self.assertEqual(getattr(plan, name), value, f"seed {seed}: {name}: {words}")
        return True

    def test_options(self):
        """Plans of drawn lengths and options; where the command refuses the options, so does the function."""
        made = [self.compare(seed) for seed in range(260)]
        self.assertGreater(sum(made), 100)
        self.assertGreater(len(made) - sum(made), 20)

    def test_cost_text(self):
        for text in "1,1", "+1,.5", "1e3,2.e-5", "0,1":
            table, _, status = self.command([5, 3, 8, 2, 6, 7], {}, "-T", 8, "--world-size", 2, f"--cost={text}")
            self.assertEqual((table, status), (bload.plan([5, 3, 8, 2, 6, 7], 8, world_size=2, cost=text).to_table(), 0), text)

    def test_together(self):
        """Bundles are values of any type; what has none is alone."""
        lengths, together = [3, 1, 4, 1, 5, 2, 6], [2, -1, 0, 2, 0, 1, -1]
        plan = bload.plan(lengths, 9, together=together)
        self.assertEqual((plan.bundles, plan.bundles_split), (2, 0))
        where = {sequence: (b, at) for b, block in enumerate(plan) for at, sequence in enumerate(block.sequence.tolist())}
        for first, second in (0, 3), (2, 4):
            self.assertEqual(where[second], (where[first][0], where[first][1] + 1))
        for values in (np.array(together, float), ["cb"[t // 2] if t >= 0 and t % 2 == 0 else "" if t < 0 else "z" for t in together],
                       [(None, "r", "q")[0 if t < 0 else 1 if t else 2] if t != 1 else 7 for t in together]):
            self.assertEqual(bload.plan(lengths, 9, together=values).to_table(), plan.to_table())
        with self.assertRaisesRegex(bload.OptionError, "the bundle of sequence 0 has 9 steps in 2 sequences, more than 8 .*oversize split or drop"):
            bload.plan([5, 1, 4], 8, together=[1, -1, 1])
        self.assertEqual(bload.plan([5, 1, 4], 8, together=[1, -1, 1], oversize="split").bundles_split, 1)
        self.assertRaisesRegex(bload.OptionError, "together has 2 values, and there are 1 lengths", bload.plan, [5], 8, together=[1, 1])

    def test_group_values(self):
        """Groups are values of any type: only which are equal counts."""
        lengths, group = [3, 1, 4, 1, 5, 2, 6], [2, 2, 0, 1, 0, 1, 2]
        plan = bload.plan(lengths, 9, group=group).to_table()
        for name in "cab", [9.5, -1.0, 0.0], [(1, 2), "x", None], [10, 7, 2 ** 70]:
            self.assertEqual(bload.plan(lengths, 9, group=[name[g] for g in group]).to_table() if not isinstance(name[0], tuple) else plan, plan)
        values = np.empty(7, object)
        values[:] = [((1, 2), "x", None)[g] for g in group]
        self.assertEqual(bload.plan(lengths, 9, group=values).to_table(), plan)


class Plans(tool.Tool):
    """The object that bload.plan returns."""

    def setUp(self):
        self.plan = bload.plan([5, 3, 21, 2, 6, 0, 1], 8, oversize="split", world_size=2, batch_size=2, seed=3)

    def test_blocks(self):
        plan = self.plan
        self.assertEqual((len(plan), plan.blocks, len(plan.sequence)), (8, 8, plan.pieces))
        self.assertEqual([block.sequence.tolist() for block in plan], [plan[b].sequence.tolist() for b in range(8)])
        self.assertEqual(plan[-1].start.tolist(), plan[7].start.tolist())
        self.assertEqual([len(block.length) for block in plan[2:5]], np.diff(plan.block_ptr)[2:5].tolist())
        self.assertEqual([array.dtype.name for array in (plan.block_ptr, *plan[np.int64(0)])], ["int64", "int64", "int32", "int32", "int64"])
        steps = sum(int(block.length.sum()) for block in plan)
        self.assertEqual((steps, plan.steps, plan.T * plan.blocks - steps), (38, 38, plan.padding))
        for wrong in 8, -9:
            with self.assertRaisesRegex(IndexError, f"no block {wrong}: the plan has 8"):
                plan[wrong]
        with self.assertRaisesRegex(TypeError, "must be an int or a slice"):
            plan["0"]
        self.assertEqual(repr(plan), "<bload.Plan: 6 sequences in 8 blocks of 8 steps (at least 8), efficiency 59.38 %>")

    def test_ranks(self):
        self.assertEqual([self.plan.blocks_of_rank(rank).tolist() for rank in range(2)], [[0, 2, 4, 6], [1, 3, 5, 7]])
        with self.assertRaisesRegex(bload.OptionError, "rank 2 is not between 0 and 1"):
            self.plan.blocks_of_rank(2)

    def test_pickle(self):
        again = pickle.loads(pickle.dumps(self.plan))
        self.assertEqual(again.to_table(), self.plan.to_table())
        self.assertEqual(type(again).__module__, "bload")

    def test_lengths(self):
        """Lists, arrays of every integer type, strided ones, and whole numbers as floats."""
        lengths, plan = [5, 3, 8, 2, 6], bload.plan([5, 3, 8, 2, 6], 8).to_table()
        strided = np.array([5, 0, 3, 0, 8, 0, 2, 0, 6])[::2]
        for given in (tuple(lengths), np.array(lengths, np.uint8), np.array(lengths, ">i4"), np.array(lengths, np.uint64), np.array(lengths, np.float32),
                      np.array(lengths, object), strided, np.array(lengths, np.int64)):
            self.assertEqual(bload.plan(given, 8).to_table(), plan)
        array = np.array(lengths, np.int64)
        self.assertIs(planning.whole("lengths", array), array)
        array.setflags(write=False)
        self.assertEqual(bload.plan(array, "longest").to_table(), plan)


class Wrong(tool.Tool):
    """Bad input is a ValueError or a TypeError that names the index and the value, and nothing ends the interpreter."""

    def refused(self, error, message, *arguments, **options):
        with self.assertRaisesRegex(error, message):
            bload.plan(*arguments, **options)

    def test_lengths(self):
        nan = float("nan")
        for lengths, message in (([3, -1], r"lengths\[1\] is -1, not 0 to"), ([3, nan], r"lengths\[1\] is nan, not a whole number"),
                                 ([3, 2.5], r"lengths\[1\] is 2.5, not a whole number"), ([3, float("inf")], r"lengths\[1\] is inf"),
                                 ([[3, 2]], r"one dimension, not the shape \(1, 2\)"), (3, r"not the shape \(\)"), ([3, 2 ** 63], r"lengths\[1\] is 9.*"),
                                 ([3, 2 ** 70], r"lengths\[1\] is 1180591620717411303424"), ([], "nothing to plan"), ([0, 0], "all sequences are empty"),
                                 ([3, 9, 10], r"sequence 1 has 9 steps, more than T = 8 \(too long: 2, up to 10 steps\): use a larger T, or oversize split")):
            self.refused(ValueError, message, lengths, 8)
        self.refused(ValueError, "lengths", [[1], [1, 2]], 8)
        for lengths, message in (["a", "b"], "not of type <U1"), ([True, False], "not of type bool"), (None, "."), ([3, None], r"lengths\[1\] must be an int"):
            self.refused((TypeError, ValueError), message, lengths, 8)

    def test_options(self):
        for options, message in (({"T": 0}, "T must be at least 1, not 0"), ({"T": -5}, "at least 1"), ({"T": 2 ** 40}, "T = 1099511627776"),
                                 ({"T": "auto"}, "T must be a number of steps or 'longest'"), ({"T": 2 ** 80}, "at most 9223372036854775807"),
                                 ({"world_size": 0}, "world_size must be at least 1"), ({"seed": -1}, "seed must be at least 0"),
                                 ({"seed": 2 ** 64}, "seed must be at most"), ({"oversize": "cut"}, "one of error, split, truncate, drop, not 'cut'"),
                                 ({"cost": "1;2"}, "cost must be"), ({"cost": "nan,1"}, "cost must be"), ({"cost": "0,0"}, "cost must be"),
                                 ({"cost": [1, 2]}, "cost has 2 values, and there are 3 lengths"), ({"cost": [1, -2, 3]}, r"cost\[1\] is -2.0"),
                                 ({"group": [1]}, "group has 1 values"), ({"columns": {"px": (0, [1, 1, 1])}}, "finite number above 0, not 0"),
                                 ({"columns": {"px": (5, [1, 9, 1])}}, "sequence 1 alone has 9 px"), ({"columns": {"px": (5, [1, 1])}}, r"columns\['px'\] has 2 values"),
                                 ({"columns": {"px": (5, [1, float("nan"), 1])}}, r"columns\['px'\]\[1\] is nan"), ({"spare": 2}, "spare must be 0 to 1"),
                                 ({"columns": {str(i): (5, [1, 1, 1]) for i in range(9)}}, "9 columns have a maximum"), ({"spare": "2"}, "spare must be"),
                                 ({"balance": "cost"}, "needs a cost"), ({"balance": "quadratic", "cost": "1,1"}, "give one of them"),
                                 ({"overlap": 2}, "it needs oversize split"), ({"align": 9}, "alignment of 9 is larger"),
                                 ({"cp": 0}, "cp must be at least 1"), ({"cp": 3}, "T = 8 is not a multiple of 6, as cp 3 needs: use T 12 or T 6"),
                                 ({"cp": 2, "align": 6}, "align must be a multiple of 4, not 6"), ({"effort": 10 ** 9}, "effort = 1000000000")):
            self.refused(ValueError, message, [3, 2, 4], **{"T": 8, **options})
        for options in ({"T": 8.0}, {"T": True}, {"T": None}, {"seed": "1"}, {"columns": [1]}, {"columns": {"px": 3}}, {"columns": {"px": ("3", [1, 1, 1])}},
                        {"cost": ["a", "b", "c"]}, {"cost": [1, None, 2]}, {"spare": None}, {"sed": 1}, {"group": [[1], {}, []]}):
            self.refused((TypeError, ValueError), ".", [3, 2, 4], **{"T": 8, **options})

    def test_anything(self):
        """Drawn values of all types for drawn arguments: a plan, a ValueError, or a TypeError."""
        draw = random.Random(5)
        numbers = (0, 1, -1, 3, 2 ** 31, 2 ** 32 + 1, 2 ** 63, -2 ** 63, 2 ** 64, 10 ** 30, 0.5, 1e300, float("nan"), float("inf"), True, None, "", "1,1", b"x", "longest")
        names = [name for name in planning.plan.__kwdefaults__]

        def value(depth=0):
            kind = draw.randint(0, 6 if depth < 2 else 1)
            if kind < 2:
                return draw.choice(numbers) if kind else draw.randint(0, 9)
            if kind < 4:
                return [value(depth + 1) for _ in range(draw.choice((0, 1, 3)))]
            if kind == 4:
                return np.array([draw.randint(0, 200) for _ in range(draw.choice((0, 1, 3)))]).astype(draw.choice(("u1", "i8", "f4", "c8", "M8[s]", "S3", "?", "O", ">u2")))
            if kind == 5:
                return {"x": (value(depth + 1), value(depth + 1))}
            return object()

        made = 0
        for _ in range(3000):
            lengths = value() if draw.random() < 0.3 else [draw.randint(0, 9) for _ in range(3)]
            options = {name: value() for name in draw.sample(names, draw.randint(0, 2))}
            try:
                bload.plan(lengths, value() if draw.random() < 0.2 else 9, **options)
                made += 1
            except (ValueError, TypeError):
                pass
        self.assertGreater(made, 300)

    def test_no_library(self):
        """Importing bload needs no library; planning says how to get it."""
        program = "import bload\ntry:\n    bload.plan([1], 1)\nexcept ImportError as error:\n    print(type(error).__name__, error)"
        for path, message in ("/nowhere/libbload.so.2", "cannot be loaded"), ("libm.so.6", "libm.so.6 has no function bload_version"):
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "BLOAD_LIBRARY": path}, check=True)
            for part in "DependencyError", message, "make install", "libbload2", "BLOAD_LIBRARY=FILE":
                self.assertIn(part, done.stdout)

    def test_beside(self):
        """Without BLOAD_LIBRARY, the library of the wheel is loaded, wherever pip has put it."""
        for places, record in (("lib/python3/site-packages", "lib"), "../../../lib/libbload.so.2"), (("target", "target/lib"), "../../lib/libbload.so.2"):
            packages, lib = (self.path(place) for place in places)
            shutil.copytree(os.path.dirname(bload.__file__), os.path.join(packages, "bload"), ignore=shutil.ignore_patterns("__pycache__"))
            os.makedirs(os.path.join(packages, "bload-1.dist-info"))
            os.makedirs(lib, exist_ok=True)
            shutil.copy(library.load()._name, os.path.join(lib, "libbload.so.2"))
            for name, text in ("METADATA", "Metadata-Version: 2.1\nName: bload\nVersion: 1\n"), ("RECORD", f"bload/__init__.py,,\n{record},,\n"):
                with open(os.path.join(packages, "bload-1.dist-info", name), "w", encoding="utf-8") as file:
                    file.write(text)
            program = "import bload\nfrom bload._core import library\nprint(bload.__file__, bload.plan([5, 3, 8], 8).blocks, library.load()._name)"
            environment = {name: value for name, value in os.environ.items() if name != "BLOAD_LIBRARY"}
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**environment, "PYTHONPATH": packages})
            self.assertEqual(done.stdout.split(), [os.path.join(packages, "bload", "__init__.py"), "2", os.path.join(lib, "libbload.so.2")], done.stderr)

    def test_header(self):
        """The structures and codes are those of the header."""
        header = tool.text(os.path.join(tool.ROOT, "include/bload.h"))
        for name, structure in (("error", library.Error), ("counts", library.Counts), ("imbalance", library.Imbalance), ("max_column", library.MaxColumn),
                                ("plan_options", library.PlanOptions), ("partition_options", library.PartitionOptions),
                                ("partition", library.Partition)):
            body = re.sub(r"/\*.*?\*/", "", re.search(rf"^struct bload_{name} {{\n(.*?)^}};", header, re.DOTALL | re.MULTILINE)[1], flags=re.DOTALL)
            members = [(re.sub(r"const|volatile|enum \w+|struct \w+", "", kind).split(), re.match(r"\W*(\w+)", member)[1], "*" in member)
                       for kind, member in re.findall(r"((?:\w+\s+)+)(\*?\s*\w+(?:\[\d+\])?);", body)]
            self.assertEqual([member for _, member, _ in members], [member for member, _ in structure._fields_], name)
            for (words, member, pointed), (_, kind) in zip(members, structure._fields_):
                size = 8 if pointed else {"int": 4, "double": 8, "int64_t": 8, "uint64_t": 8, "size_t": 8, "char": 1024}[(words or ["int"])[0]]
                self.assertEqual(ctypes.sizeof(kind), size, member)
        for name in "OK", "EFAIL", "EUSAGE", "EDATA", "ECANCEL":
            self.assertEqual(int(re.search(rf"BLOAD_{name} = (-?\d)", header)[1]), getattr(library, name))
        for kind, words in (("STRATEGY", planning.STRATEGIES), ("FILL", planning.FILLS), ("OVERSIZE", planning.OVERSIZES),
                            ("REMAINDER", planning.REMAINDERS), ("SYNC", planning.SYNCS)):
            self.assertEqual(tuple(word.lower() for word in re.findall(rf"^    BLOAD_{kind}_(\w+)", header, re.MULTILINE)), words)

    def test_version(self):
        self.assertEqual(library.version(), bload.__version__)


class Interrupts(tool.Tool):
    """Ctrl-C while the library works."""

    def run_program(self, program, signals=1, after=1.0):
        """What a program prints that gets SIGINT while it plans, and how long it runs after that."""
        with subprocess.Popen([sys.executable, "-u", "-c", HARD + program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            self.assertEqual(process.stdout.readline(), "begin\n")
            time.sleep(after)
            for _ in range(signals):
                process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[0]
        return said, process.returncode

    def test_main_thread(self):
        program = "import time\nprint('begin')\ntry:\n    hard()\nexcept KeyboardInterrupt:\n    print('interrupted')\nprint(len(bload.plan([1, 2], 3)))"
        said, status = self.run_program(program)
        self.assertEqual((said, status), ("interrupted\n1\n", 0))

    def test_soon(self):
        """Within half a second of the signal, which an alarm sends."""
        program = ("import signal, time\nsignal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))\n"
                   "for after in 0.05, 0.3, 1, 2:\n    signal.setitimer(signal.ITIMER_REAL, after)\n    began = time.monotonic()\n"
                   "    try:\n        hard()\n    except KeyboardInterrupt:\n        print(time.monotonic() - began - after)\n")
        done = subprocess.run([sys.executable, "-c", HARD + program], capture_output=True, text=True, timeout=60, check=True)
        late = [float(line) for line in done.stdout.split()]
        self.assertEqual(len(late), 4)
        self.assertLess(sorted(late)[2], 0.5)  # other work on the machine may delay one of them

    def test_handler(self):
        """A handler that raises nothing lets the plan go on; its exception ends it."""
        program = ("import signal\nclass Stop(Exception): pass\ncalls = []\ndef handler(*_):\n    calls.append(1)\n    if len(calls) > 1: raise Stop\n"
                   "signal.signal(signal.SIGINT, handler)\nsignal.signal(signal.SIGALRM, handler)\nsignal.setitimer(signal.ITIMER_REAL, 2)\n"
                   "print('begin')\ntry:\n    hard()\nexcept Stop:\n    print('stopped', len(calls))")
        self.assertEqual(self.run_program(program, after=0.5), ("stopped 2\n", 0))

    def test_other_thread(self):
        """A plan on another thread does not keep the main thread from its exception, nor from planning."""
        program = ("import os, threading\nthread = threading.Thread(target=hard, daemon=True)\nthread.start()\nprint('begin')\n"
                   "try:\n    thread.join()\nexcept KeyboardInterrupt:\n    print('interrupted', len(bload.plan([1, 2], 3)), flush=True)\nos._exit(0)")
        self.assertEqual(self.run_program(program), ("interrupted 1\n", 0))

    def test_threads(self):
        """Threads plan at the same time, and other threads run meanwhile."""
        lengths = np.random.default_rng(2).integers(1, 2049, 200000)
        tables = [None] * 4
        threads = [threading.Thread(target=lambda i=i: tables.__setitem__(i, bload.plan(lengths, 2048, seed=i % 2).to_table())) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((tables[0], tables[1]), (tables[2], tables[3]))
        self.assertNotEqual(tables[0], tables[1])
