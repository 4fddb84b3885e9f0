"""Claims of pieces of work: tasks at once, tasks that die, stop or are slow, clocks that differ, and stores that fail."""
import os
import random
import re
import signal
import subprocess
import tempfile
import time

from harness import each
from servers import Weed
from test_client import PROBE, Stored

LEASE = 3
HOLDER = re.compile(r"host \S+, process (\d+)")


class Claims(Stored):
    """Each test has a store of its own with one bucket. The probe works on pieces until all are done."""

    def setUp(self):
        super().setUp()
        self.store.buckets["bucket"] = self.bucket = {}
        self.running, self.endpoint = [], self.store.url

    def tearDown(self):
        for process in self.running:
            process.kill()
            process.communicate()
        super().tearDown()

    def start(self, count, seconds=0.0, lease=LEASE, retries=3):
        command = [PROBE, "--endpoint", self.endpoint, "--retries", str(retries), "--timeout", "10", "claims", "s3://bucket/x/shard", str(count),
                   str(lease), str(seconds)]
        process = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.running.append(process)
        return process

    def end(self, process, status=0):
        """The lines that a process has printed."""
        out, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, said)
        self.assertEqual(self.store.complaints, [])
        return out.splitlines()

    def work(self, count, **more):
        lines = self.end(self.start(count, **more))
        self.assertEqual(lines[-1], "end")
        return lines

    @staticmethod
    def numbers(lines, word):
        return sorted(int(line.split()[1]) for line in lines if line.split()[0] == word)

    def line(self, process, word):
        """Waits for a line that begins with the word."""
        while True:
            line = process.stdout.readline()
            self.assertTrue(line, "the process ended")
            if line.startswith(word):
                return line.strip()

    def claim(self, state="held", age=0, lease=LEASE, host="elsewhere", process=77):
        text = f"claim: {state}\nhost: {host}\nprocess: {process}\nlease: {lease}\nrandom: {random.getrandbits(128):032x}\n".encode()
        if state == "done":
            text += b"filler: ".ljust(255 - len(text), b".") + b"\n"
        self.store.put("bucket", "x/shard-00000", text)
        self.bucket["x/shard-00000"].modified = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + self.store.skew - age))

    def states(self):
        return {key: item.data.split(b"\n")[0].decode() for key, item in self.bucket.items()}

    def all_done(self, count):
        self.assertEqual(self.states(), {f"x/shard-{i:05d}": "claim: done" for i in range(count)})


class Taking(Claims):
    def test_alone(self):
        """Each piece by two requests, in an order of chance; a list before and after."""
        orders = set()
        for _ in range(3):
            self.bucket.clear()
            self.store.requests.clear()
            lines = self.work(7)
            self.assertEqual((self.numbers(lines, "took"), self.numbers(lines, "done")), (list(range(7)), list(range(7))))
            self.assertEqual([r.method for r in self.store.requests], ["GET"] + ["PUT"] * 14 + ["GET"])
            self.assertNotIn("from", "".join(lines))
            self.all_done(7)
            orders.add(tuple(line for line in lines if line.startswith("took")))
        self.assertGreater(len(orders), 1)

    def test_text(self):
        self.work(1, lease=45)
        text = self.bucket["x/shard-00000"].data.decode()
        self.assertRegex(text, r"\Aclaim: done\nhost: \S+\nprocess: \d+\nlease: 45\nrandom: [0-9a-f]{32}\nfiller: \.+\n\Z")
        self.assertEqual(len(text), 256)

    def test_none(self):
        self.assertEqual(self.work(0), ["end"])

    def test_all_done(self):
        """A task that comes late learns from the list that nothing is left."""
        self.store.page = 100
        self.claim("done")
        for i in range(1, 250):
            self.bucket[f"x/shard-{i:05d}"] = self.bucket["x/shard-00000"]
        self.assertEqual(self.work(250), ["end"])
        self.assertEqual(len(self.store.requests), 3)

    def test_large_numbers(self):
        self.claim("done")
        for i in range(100_005):
            self.bucket[f"x/shard-{i:05d}"] = self.bucket["x/shard-00000"]
        del self.bucket["x/shard-100003"], self.bucket["x/shard-00003"]
        self.assertEqual(self.numbers(self.work(100_005), "done"), [3, 100_003])

    @each([2, 5])
    def test_racing(self, tasks):
        """Of several tasks one does each piece, and all see the end."""
        running = [self.start(12, 0.1) for _ in range(tasks)]
        found = [self.end(process) for process in running]
        self.assertEqual(sorted(n for lines in found for n in self.numbers(lines, "done")), list(range(12)))
        self.assertEqual(sorted(n for lines in found for n in self.numbers(lines, "took")), list(range(12)))
        for lines in found:
            self.assertEqual(lines[-1], "end")
            self.assertNotIn("from", "".join(lines))
        self.all_done(12)

    @each([("shuffled", lambda keys: random.sample(keys, len(keys))), ("stale", lambda keys: keys[::2]), ("empty", lambda keys: [])])
    def test_lists(self, _, listed):
        """Lists in no order, and lists that lack what was written."""
        self.store.listed = listed
        running = [self.start(9, 0.05) for _ in range(3)]
        found = [self.end(process) for process in running]
        self.assertEqual(sorted(n for lines in found for n in self.numbers(lines, "done")), list(range(9)))
        self.all_done(9)

    def test_others(self):
        """Objects beside the claims are no claims."""
        for name in "shard-x", "shard-1", "shard-00009", "shard-0000000001", "shard-00001.json", "shards-00001", "shard-":
            self.store.put("bucket", "x/" + name, b"?")
        self.assertEqual(self.numbers(self.work(3), "done"), [0, 1, 2])

    @each([("text", b"hello\n"), ("binary", bytes(range(256))), ("short", b"claim: held\n"),
           ("lease", b"claim: held\nhost: a\nprocess: 1\nlease: 0\n"), ("state", b"claim: lent\nhost: a\nprocess: 1\nlease: 60\n"),
           ("host", b"claim: held\nhost: a\x1b[1m\nprocess: 1\nlease: 60\n")])
    def test_no_claim(self, _, data):
        self.store.put("bucket", "x/shard-00000", data[:255])
        found = self.fails(1, "s3://bucket/x/shard-00000: it is no claim of bload", "claims", "s3://bucket/x/shard", 1, LEASE, 0)
        self.assertEqual(found.out, b"")

    def test_emptied(self):
        """A store may keep an empty object of a claim whose writer was killed: of tasks that come, one takes the piece."""
        self.store.put("bucket", "x/shard-00000", b"")
        running = [self.start(1, 0.2) for _ in range(3)]
        found = [self.end(process) for process in running]
        self.assertEqual(sorted(len(self.numbers(lines, "done")) for lines in found), [0, 0, 1])
        self.all_done(1)

    def test_too_large(self):
        self.store.put("bucket", "x/shard-00000", b"x" * 5000)
        self.fails(1, "s3://bucket/x/shard-00000: it has more than 4096 bytes", "claims", "s3://bucket/x/shard", 1, LEASE, 0)

    @each(["Date", "Last-Modified"])
    def test_no_times(self, header):
        """A store without a clock works as long as nobody waits for somebody."""
        self.store.untold.add(header)
        self.assertEqual(self.numbers(self.work(3), "done"), [0, 1, 2])
        self.claim()
        self.fails(2, "s3://bucket/x/shard-00000: the store does not tell its time, and when the object was written (Date, Last-Modified)",
                   "claims", "s3://bucket/x/shard", 1, LEASE, 0)

    def test_refused(self):
        self.fails(2, "s3://none/x/shard-: there is no such bucket", "claims", "s3://none/x/shard", 1, LEASE, 0)
        self.store.fault = lambda request: "error 403 AccessDenied" if request.method == "PUT" else None
        self.fails(1, "s3://bucket/x/shard-00000: access denied: the credentials may not write it", "claims", "s3://bucket/x/shard", 1, LEASE, 0)
        self.store.fault = lambda request: "error 501 NotImplemented" if request.method == "PUT" else None
        self.fails(1, "the store does not have what bload needs: conditional writes", "claims", "s3://bucket/x/shard", 1, LEASE, 0)


class Leases(Claims):
    @each([("same", 0), ("ahead", 600), ("behind", -600)])
    def test_renewed(self, _, skew):
        """Who works for longer than the lease keeps the piece, whatever the clocks of machines and of the store are."""
        self.store.skew = skew
        holder = self.start(1, 2.5 * LEASE)
        number = self.line(holder, "took").split()[1]
        waiting = self.start(1)
        self.assertEqual(self.line(waiting, "busy"), f"busy host {os.uname().nodename}, process {holder.pid}")
        self.assertEqual(self.end(waiting), ["end"])
        self.assertEqual(self.end(holder), [f"done {number}", "end"])

    @each([("same", 0), ("ahead", 600), ("behind", -600)])
    def test_killed(self, _, skew):
        """Another task does the piece of one that was killed, after the lease and not before."""
        self.store.skew = skew
        victim = self.start(3, 60)
        number = int(self.line(victim, "took").split()[1])
        began = time.monotonic()
        victim.kill()
        lines = self.work(3)
        self.assertGreater(time.monotonic() - began, LEASE - 0.5)
        self.assertEqual(self.numbers(lines, "done"), [0, 1, 2])
        again = [line for line in lines if "from" in line]
        self.assertEqual(again, [f"took {number} from host {os.uname().nodename}, process {victim.pid}"])
        self.all_done(3)

    def test_taken_over_once(self):
        """Of many tasks that wait, one takes over."""
        victim = self.start(1, 60)
        self.line(victim, "took")
        victim.kill()
        running = [self.start(1, 0.5) for _ in range(5)]
        found = [self.end(process) for process in running]
        self.assertEqual(sorted(len(self.numbers(lines, "done")) for lines in found), [0, 0, 0, 0, 1])
        self.assertEqual(sum("lost" in "".join(lines) for lines in found), 0)

    @each([("old", LEASE + 2, True), ("young", 0, False)])
    def test_age(self, _, age, is_taken):
        """The lease is that of the claim, not of the task that looks."""
        self.claim(age=age, lease=LEASE)
        process = self.start(1, lease=600)
        line = self.line(process, "took" if is_taken else "busy")
        self.assertEqual(HOLDER.search(line)[1], "77")

    def test_long_lease(self):
        self.claim(age=3000, lease=3600)
        self.assertEqual(self.line(self.start(1), "busy"), "busy host elsewhere, process 77")

    def test_future(self):
        """An object that was written later than now, by the store's own clock, is young."""
        self.claim(age=-100)
        self.line(self.start(1), "busy")

    def test_free(self):
        self.claim("free", lease=600)
        self.assertEqual(self.work(1), ["took 0", "done 0", "end"])

    def test_removed(self):
        """Who removes a claim by hand frees its piece; its holder learns that."""
        holder = self.start(1, 2.5 * LEASE)
        self.line(holder, "took")
        self.bucket.clear()
        lines = self.end(holder)
        self.assertEqual([line.split()[0] for line in lines], ["lost", "took", "done", "end"])

    def test_slow(self):
        """A task that slept for longer than its lease learns that another has its piece, and marks nothing."""
        slow = self.start(1, 3 * LEASE)
        self.line(slow, "took")
        slow.send_signal(signal.SIGSTOP)
        other = self.start(1, 1.0)
        self.assertIn(f"process {slow.pid}", self.line(other, "took"))
        slow.send_signal(signal.SIGCONT)
        self.assertEqual(self.end(other), ["done 0", "end"])
        lines = self.end(slow)
        self.assertEqual((lines[0], lines[-1]), ("lost 0", "end"))
        self.assertEqual(self.numbers(lines, "done"), [])
        self.assertIn(f"process: {other.pid}\n".encode(), self.bucket["x/shard-00000"].data)

    def test_cancelled(self):
        """A task that is stopped gives its piece back, and nobody waits for it."""
        process = self.start(1, 60, lease=600)
        self.line(process, "took")
        process.send_signal(signal.SIGINT)
        self.end(process, 1)
        self.assertEqual(self.states(), {"x/shard-00000": "claim: free"})
        self.assertEqual(self.work(1), ["took 0", "done 0", "end"])

    def test_cancelled_unreachable(self):
        """Where that fails, the task ends all the same."""
        process = self.start(4, 60, lease=600)
        self.line(process, "took")
        self.store.fault = lambda request: "reset"
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        self.end(process, 1)
        self.assertLess(time.monotonic() - began, 5)

    def test_cancelled_waiting(self):
        """While a request is under way."""
        self.store.fault = lambda request: "silence 30"
        process = self.start(1)
        while not self.store.requests:
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.end(process, 1)

    def test_failing_renewals(self):
        """Renewals that fail for a while lose nothing, as long as nobody needs the piece."""
        holder = self.start(1, 2.5 * LEASE, retries=0)
        self.line(holder, "took")
        self.store.fault = lambda request: "error 503 SlowDown" if len(self.store.requests) < 6 else None
        self.assertEqual(self.end(holder), ["done 0", "end"])
        self.assertGreater(len(self.store.requests), 6)


class OtherStore(Claims):
    """A released server: its times, its tags, and its conditions."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.server = Weed(folder.name)
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        super().setUp()
        self.endpoint = self.server.url

    def test_racing(self):
        """A task that was killed, and four that race for what is left."""
        victim = self.start(12, 60)
        self.line(victim, "took")
        victim.kill()
        running = [self.start(12, 0.2) for _ in range(4)]
        found = [self.end(process) for process in running]
        self.assertEqual(sorted(n for lines in found for n in self.numbers(lines, "done")), list(range(12)))
        self.assertEqual([HOLDER.search(line)[1] for lines in found for line in lines if " from " in line], [str(victim.pid)])
        self.assertEqual(self.work(12), ["end"])


class Faults(Claims):
    @each([f"{fault}@{number}" for fault in ("lost", "reset", "error 503 SlowDown", "lost status 503") for number in range(1, 9)] + ["silence 3@2"])
    def test_each_request(self, what):
        """Whatever happens to a request, each piece is done once. Of a lost answer the task learns what became of its claim."""
        fault, _, number = what.partition("@")
        self.store.fault = lambda request: fault if request.number == int(number) else None
        found = self.good("claims", "s3://bucket/x/shard", 3, 60, 0, timeout=1)
        lines = found.out.decode().splitlines()
        self.assertEqual((self.numbers(lines, "took"), self.numbers(lines, "done")), ([0, 1, 2], [0, 1, 2]))
        self.assertNotIn("from", "".join(lines))
        self.all_done(3)

    @each(range(1, 10))
    def test_killed(self, number):
        """After a kill at any request, others do what is left, and it is done."""
        self.store.fault = lambda request: "silence 20" if request.number == number else None
        victim = self.start(3, 0)
        while len(self.store.requests) < number and victim.poll() is None:
            time.sleep(0.01)
        victim.kill()
        before = victim.communicate()[0].splitlines()
        self.store.fault = None
        running = [self.start(3) for _ in range(2)]
        found = [self.end(process) for process in running]
        done = sorted(n for lines in [before, *found] for n in self.numbers(lines, "done"))
        self.assertEqual(sorted(set(done)), [0, 1, 2])
        self.all_done(3)

    def test_conflicts(self):
        """A store that answers 412 for no reason: the piece is looked at, and is taken."""
        left = [True] * 3
        self.store.fault = lambda request: "error 412 PreconditionFailed" if request.method == "PUT" and left and left.pop() else None
        self.assertEqual(self.numbers(self.work(5), "done"), [0, 1, 2, 3, 4])
        self.all_done(5)

    def test_racing(self):
        """Several tasks, of which two are killed, at a store that fails each fifth time."""
        chance = random.Random(5)
        faults = ["error 503 SlowDown", "lost", "reset", "lost status 503"]
        self.store.fault = lambda request: chance.choice(faults) if request.number % 5 == 0 else None
        self.store.skew = 300
        victims = [self.start(12, 60, retries=9) for _ in range(2)]
        for victim in victims:
            self.line(victim, "took")
            victim.kill()
        running = [self.start(12, 0.2, retries=9) for _ in range(4)]
        found = [self.end(process) for process in running]
        self.assertEqual(sorted(n for lines in found for n in self.numbers(lines, "done")), list(range(12)))
        self.assertEqual(sum(line.count(" from ") for lines in found for line in lines if line.startswith("took")), 2)
        self.all_done(12)
