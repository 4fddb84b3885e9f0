#!/usr/bin/env python3
"""Compares two builds of bload: whatever they make of about 200 configurations is the same, and the new one knows what the old one made.

    compare.py [OLD NEW] [-k WORD] [-v]    OLD and NEW: the programs; by default those that OLD and BLOAD in the environment name

A configuration (configurations.py) passes where both end with the same status and the same files. Files are compared byte for byte but for what
may be said in other words: the column "reason" of tables, and the words of WORDS in JSON. Where it makes a dataset $O/d, the new build is also
asked about the old one's: it verifies, the same command finds it complete and changes nothing; and of one that the old build was stopped in, the
new build makes the same. Tasks are shared out to both builds. What OLD makes is kept in build/golden until OLD, its libraries or this folder change.
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import configurations
import inputs

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What a JSON file may say in other words, and the checksums that depend on it.
WORDS = {"reason", "checksum", "bytes", "version", "tool_version", "files", "seconds", "run", "skipped_reasons", "failed_reasons"}
ADDED = {"card", "p1", "p10"}  # members that older builds do not write
RENAMED = {"cost_lost": "imbalance", "cost_lost_before": "imbalance_before", "cost_bound": "imbalance_bound", "met_again": "pair_repeat_rate",
           "met_again_random": "pair_repeat_rate_random", "cost_highest": "highest_block_cost", "cost_ks": "ks_distance",
           "cost_ks_random": "ks_distance_random", "cost_neighbours": "cost_correlation"}


def sha(data):
    return hashlib.sha256(data).hexdigest()[:24]


def without_words(value):
    if isinstance(value, dict):
        return {RENAMED.get(k, k): without_words(v) for k, v in value.items() if k not in WORDS | ADDED}
    return [without_words(v) for v in value] if isinstance(value, list) else value


def digest(path):
    data = path.read_bytes()
    if path.suffix == ".tsv" and path.name != "shards.tsv":
        lines = data.decode("utf-8", "surrogateescape").splitlines()
        header = lines[0].split("\t") if lines else []
        if "reason" in header:
            column = header.index("reason")
            lines = ["\t".join(c for i, c in enumerate(line.split("\t")) if i != column) for line in lines]
        data = "\n".join(lines).encode("utf-8", "surrogateescape")
    elif path.suffix == ".json" and data[:1] == b"{":
        try:
            data = json.dumps(without_words(json.loads(data)), sort_keys=True).encode()
        except ValueError:
            pass
    elif path.suffix == ".html":
        data = b""  # its words and pictures may change; that there is one may not
    return sha(data)


def tree(folder):
    return {str(p.relative_to(folder)): digest(p) for p in sorted(folder.rglob("*")) if p.is_file() and ".bload" not in p.parts}


def raw(folder):
    return {str(p.relative_to(folder)): sha(p.read_bytes()) for p in sorted(folder.rglob("*")) if p.is_file()}


class Bench:
    """The folder of the inputs, and the folder in which commands write: the same path for both builds."""

    def __init__(self, work):
        self.inputs, self.now = work / "inputs", work / "now"

    def environment(self, program):
        return dict(os.environ, O=str(self.now), BLOAD=str(program), LC_ALL="C.UTF-8", BASH_FUNC_bload="")

    def shell(self, program, command, **more):
        """A command under a build: its status, and what it wrote to stderr."""
        done = subprocess.run(["bash", "-c", 'bload() { "$BLOAD" "$@"; }; ' + command], cwd=self.inputs, env=self.environment(program),
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", **more)
        return done.returncode, done.stderr

    def clear(self):
        shutil.rmtree(self.now, ignore_errors=True)
        self.now.mkdir()

    def make(self, program, commands):
        """Runs the commands in an empty folder: their statuses, and the digests of what they made."""
        self.clear()
        told = [self.shell(program, command) for command in commands]
        return [status for status, _ in told], tree(self.now), "".join(words for _, words in told)[-600:]

    def stop(self, program, command):
        """Runs a pack until its first shard is there."""
        self.clear()
        run = subprocess.Popen(["bash", "-c", 'bload() { exec "$BLOAD" "$@"; }; ' + command + " -j 1"], cwd=self.inputs,
                               env=self.environment(program), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while run.poll() is None and not any((self.now / "d").glob("shards/*/shard-*")):
            time.sleep(0.002)
        run.send_signal(signal.SIGTERM)
        run.wait()


def differences(old, new):
    return [f"{name}: {'only the old build has it' if name not in new else 'only the new build has it' if name not in old else 'differs'}"
            for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]


def compare(bench, kept, old, new, commands):
    """All that is wrong with a configuration, as lines; None: the old build does not know its options."""
    was = json.loads((kept / "said.json").read_text())
    statuses, files, words = bench.make(new, commands)
    if not set(was["statuses"]) <= {0, 3}:
        if 2 in was["statuses"] and set(statuses) <= {0, 3}:
            return None
        return [f"the old build fails: {was['statuses']}", was["words"]]
    if statuses != was["statuses"]:
        return [f"statuses {was['statuses']}, now {statuses}", words]
    wrong = differences(was["files"], files)
    if any("--task" in c for c in commands):
        bench.clear()
        told = [bench.shell((old, new)[i % 2], command) for i, command in enumerate(commands)]
        wrong += [f"tasks of both builds: {d}" for d in differences(was["files"], tree(bench.now))]
    packs = [c for c in commands if c.startswith("bload pack") and "$O/d" in c.split("-o ")[-1] and "--task" not in c]
    if wrong or not (kept / "made/d/manifest.json").exists() or not packs:
        return wrong
    shutil.rmtree(bench.now)
    shutil.copytree(kept / "made", bench.now, symlinks=True)
    before = raw(bench.now / "d")
    status, words = bench.shell(new, "bload verify -q $O/d")
    if status:
        wrong += [f"verify of what the old build made: status {status}", words]
    status, words = bench.shell(new, packs[0])
    if status != was["statuses"][commands.index(packs[0])] or raw(bench.now / "d") != before:
        wrong += [f"the old build's dataset is not taken for complete: status {status}", words, *differences(before, raw(bench.now / "d"))[:5]]
    if len(packs) == len(commands) == 1:
        bench.stop(old, packs[0])
        status, words = bench.shell(new, packs[0])
        found = differences(was["files"], tree(bench.now))
        if status != was["statuses"][0] or found:
            wrong += [f"what the old build was stopped in: status {status}", words, *found[:5]]
    return wrong


def stamp(program):
    """What the old build's results depend on."""
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True).stdout.split()
    files = [program, *program.parent.glob("build/release/*.so"), *(w for w in libraries if w.startswith("/")), *sorted(pathlib.Path(__file__).parent.glob("*"))]
    return sha(b"".join(sha(pathlib.Path(f).read_bytes()).encode() for f in files if os.path.isfile(f)))


def keep_old(bench, work, old, ways):
    """Runs what is missing of the old build's configurations, and keeps it."""
    current = stamp(old)
    if not (work / "stamp").exists() or (work / "stamp").read_text() != current:
        shutil.rmtree(work, ignore_errors=True)
        inputs.make(str(bench.inputs))
        (work / "stamp").write_text(current)
    for number, (name, commands) in enumerate(ways.items()):
        kept = work / "old" / sha(name.encode())
        if (kept / "said.json").exists():
            continue
        statuses, files, words = bench.make(old, commands)
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        shutil.copytree(bench.now, kept / "made", symlinks=True)
        (kept / "said.json").write_text(json.dumps({"name": name, "statuses": statuses, "files": files, "words": words}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", nargs="?", default=os.environ.get("OLD"))
    parser.add_argument("new", nargs="?", default=os.environ.get("BLOAD"))
    parser.add_argument("-k", default="", metavar="WORD", help="only configurations with this in their names")
    parser.add_argument("-v", action="store_true", help="also what the old build says to stderr")
    arguments = parser.parse_args()
    if not arguments.old or not arguments.new:
        parser.error("name two builds")
    old, new = pathlib.Path(arguments.old).resolve(), pathlib.Path(arguments.new).resolve()
    work = pathlib.Path(os.environ.get("GOLDEN", ROOT / "build/golden"))
    bench, ways = Bench(work), {n: c for n, c in configurations.table().items() if arguments.k in n}
    keep_old(bench, work, old, ways)
    failed = skipped = 0
    for name, commands in ways.items():
        kept = work / "old" / sha(name.encode())
        said = json.loads((kept / "said.json").read_text())
        if arguments.v:
            print(f"{name}: {said['statuses']} {len(said['files'])} files\n{said['words']}", end="")
        wrong = compare(bench, kept, old, new, commands)
        failed += bool(wrong)
        skipped += wrong is None
        if wrong is None:
            print(f"skip {name}: the old build does not know its options", flush=True)
            continue
        print(f"{'not ok' if wrong else 'ok'} {name}", *(f"    {line}" for line in wrong[:12]), sep="\n", flush=True)
    print(f"{len(ways) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0 or not ways)


main()
