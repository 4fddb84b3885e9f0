"""bload.partition: every sequence once, within all limits, and errors for everything that cannot be divided."""
import os
import pickle
import random
import subprocess
import sys

import numpy as np

import bload
import tool


def cost_of(lengths, options):
    """What each sequence costs."""
    cost = options.get("cost")
    lengths = np.asarray(lengths, float)
    if isinstance(cost, str):
        alpha, beta = map(float, cost.split(","))
        return alpha * lengths + beta * lengths ** 2
    return lengths if cost is None else np.asarray(cost, float)


class Partitions(tool.Tool):
    def drawn(self, draw):
        """Lengths, ranks, and options that may contradict each other."""
        count, most = draw.choice((0, 1, 3, 10, 60, 300)), draw.choice((1, 9, 4096))
        lengths = [draw.randint(0, most) if draw.random() < 0.3 else draw.randint(0, most // 4) for _ in range(count)]
        options = {}
        for share, name, value in ((0.7, "max_tokens", draw.randint(max(lengths, default=1) or 1, 3 * most)), (0.5, "micro_batches", draw.randint(1, 4)),
                                   (0.3, "cost", draw.choice(("1,2e-5", "0,1", [draw.choice((0, 1, draw.random() * 9)) for _ in lengths]))),
                                   (0.3, "group", [draw.randint(-1, count // 3) for _ in lengths]),
                                   (0.3, "together", [draw.choice((-1, i // 2)) for i in range(count)]),
                                   (0.3, "multiple", draw.choice((2, 3))), (0.6, "sync", draw.choice(("step", "micro")))):
            if draw.random() < share:
                options[name] = value
        return lengths, draw.choice((1, 2, 3, 8, 64)), options

    def check(self, lengths, ranks, options, made):
        """The partition keeps all limits, and says what is true."""
        whole = [number for rank in made.assignment for micro_batch in rank for number in micro_batch]
        self.assertEqual(sorted(whole), list(range(len(lengths))))
        self.assertEqual((len(made.assignment), {len(rank) for rank in made.assignment}), (ranks, {made.micro_batches}))
        self.assertEqual(made.micro_batches % options.get("multiple", 1), 0)
        self.assertEqual(made.micro_batches, options.get("micro_batches", made.micro_batches))
        self.assertLessEqual(made.micro_batches_bound, made.micro_batches)
        cost, tokens = cost_of(lengths, options), np.asarray(lengths, np.int64)
        for r, rank in enumerate(made.assignment):
            for m, numbers in enumerate(rank):
                self.assertEqual(tokens[numbers].sum() if numbers else 0, made.tokens[r, m])
                self.assertAlmostEqual(cost[numbers].sum() if numbers else 0.0, made.cost[r, m], places=4)
                self.assertTrue((made.rank[numbers] == r).all() and (made.micro_batch[numbers] == m).all())
        self.assertLessEqual(made.tokens.max(initial=0), options.get("max_tokens", 1 << 60))
        for name, places in (("group", made.rank), ("together", made.rank * made.micro_batches + made.micro_batch)):
            values = np.array(options.get(name, []))
            for value in set(values.tolist()) - {-1}:
                self.assertEqual(len(set(places[values == value].tolist())), 1, name)
        highest = made.cost.max(axis=0).sum() if options.get("sync") == "micro" else made.cost.sum(axis=1).max()
        self.assertAlmostEqual(made.lost, highest * ranks / cost.sum() - 1 if cost.sum() else 0.0, places=6)
        self.assertTrue(0 <= made.bound <= made.lost)

    def test_laws(self):
        draw, made = random.Random(5), 0
        for _ in range(int(os.environ.get("PARTITIONS", 600))):
            lengths, ranks, options = self.drawn(draw)
            with self.subTest(lengths=lengths, ranks=ranks, options=options):
                try:
                    partition = bload.partition(lengths, ranks, **options)
                except ValueError as error:
                    self.assertRegex(str(error), "at least one|together with it|would do|multiple of")
                    continue
                made += 1
                self.check(lengths, ranks, options, partition)
                again = bload.partition(np.array(lengths, np.int32), ranks, **options)
                self.assertEqual(partition.assignment, again.assignment)
        self.assertGreater(made, 300 if "PARTITIONS" not in os.environ else 0)

    def test_hypothesis(self):
        """Whatever is given, there is a partition that keeps the limits, or a ValueError or TypeError."""
        try:
            import hypothesis
        except ImportError:
            self.skipTest("hypothesis is not installed")
        from hypothesis import strategies as st
        number = st.one_of(st.integers(-3, 50), st.integers(), st.floats(), st.none(), st.booleans(), st.text(max_size=3))
        values = st.one_of(st.lists(st.integers(0, 40), max_size=20), st.lists(number, max_size=6), number)
        options = st.fixed_dictionaries({}, optional={
            "micro_batches": st.one_of(st.integers(1, 5), number), "max_tokens": st.one_of(st.integers(30, 200), number),
            "cost": st.one_of(values, st.sampled_from(("1,0.5", "1,x"))), "sync": st.one_of(st.sampled_from(("step", "micro")), number),
            "group": values, "together": values, "multiple": st.one_of(st.integers(1, 4), number)})

        @hypothesis.settings(max_examples=int(os.environ.get("EXAMPLES", 400)), deadline=None, database=None, derandomize=True,
                             suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(values, st.one_of(st.integers(1, 9), number), options)
        def divide(lengths, ranks, options):
            try:
                made = bload.partition(lengths, ranks, **options)
            except (ValueError, TypeError) as error:
                self.assertTrue(str(error))
                return
            self.check([int(length) for length in lengths], int(ranks), {name: value for name, value in options.items() if value is not None}, made)

        divide()

    def test_named(self):
        """Messages have the index and the value."""
        lengths = [5, 6, 7, 4]
        for options, words in (
                ({"lengths": [5, -6]}, "lengths[1] is -6"), ({"lengths": [5, 1.5]}, "lengths[1] is 1.5"), ({"lengths": [float("nan")]}, "lengths[0] is nan"),
                ({"ranks": 0}, "ranks must be at least 1, not 0"), ({"max_tokens": 5}, "sequence 1 has 6 tokens, more than max_tokens = 5"),
                ({"max_tokens": 10, "together": [0, 0, 1, 2]}, "sequence 0 and those together with it have 11 tokens"),
                ({"cost": [1, 2, float("nan"), 1]}, "cost[2] is nan"), ({"cost": [1, -2, 1, 1]}, "cost[1] is -2.0"), ({"cost": [1]}, "cost has 1 values"),
                ({"group": [1, 2]}, "group has 2 values"), ({"together": [[1], [2]]}, "one dimension"), ({"sync": "never"}, "sync must be one of"),
                ({"micro_batches": None}, "at least one of micro_batches and max_tokens"), ({"micro_batches": 0}, "micro_batches must be at least 1"),
                ({"multiple": 2}, "not a multiple of 2"), ({"max_tokens": 7}, "2 would do"), ({"cost": "1"}, "ALPHA,BETA")):
            given = {"lengths": lengths, "ranks": 2, "micro_batches": 1, **options}
            with self.assertRaises(bload.OptionError) as caught:
                bload.partition(given.pop("lengths"), given.pop("ranks"), **given)
            self.assertIn(words, str(caught.exception))
        with self.assertRaises(TypeError):
            bload.partition(lengths, 2.5, micro_batches=1)

    def test_values(self):
        """Groups may have any values; the result can be pickled and shown."""
        made = bload.partition([5, 6, 7, 1], 2, max_tokens=8, together=[1, -1, -1, 1], group=["a", -1, "a", "b"])
        self.assertEqual(made.assignment, [[[2], [0, 3]], [[1], []]])
        self.assertIn("4 sequences on 2 ranks", repr(made))
        self.assertEqual(pickle.loads(pickle.dumps(made)).assignment, made.assignment)
        for alone in (None, "", -1, float("nan")):
            self.assertEqual(bload.partition([3, 3], 2, micro_batches=1, group=[alone, alone], together=[alone, alone]).lost, 0, alone)
            self.assertEqual(bload.partition([3, 3, 2], 2, micro_batches=1, group=[alone, alone, "a"]).lost, 0.25, alone)
        none = bload.partition([], 2, micro_batches=3)
        self.assertEqual(none.assignment, [[[], [], []], [[], [], []]])

    def test_rollouts(self):
        """Rollouts of a step: as few micro-batches as is proven, and hardly any waiting."""
        draw = np.random.default_rng(1)
        lengths = np.minimum(16384, draw.lognormal(7, 1, 1024).astype(int) + 1)
        for sync in "step", "micro":
            made = bload.partition(lengths, 64, max_tokens=32768, sync=sync)
            self.assertEqual(made.micro_batches, made.micro_batches_bound)
            self.assertLess(made.lost, 0.001)
        pairs = bload.partition(lengths, 16, max_tokens=40000, together=np.arange(1024) // 2, group=np.arange(1024) // 8)
        self.assertLess(pairs.lost, 0.02)

    def test_without_library(self):
        program = "import bload\ntry:\n    bload.partition([1], 1, micro_batches=1)\nexcept ImportError as error:\n    print(error)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "BLOAD_LIBRARY": "/nowhere.so"})
        self.assertIn("libbload.so.2 is in", done.stdout, done.stderr)
