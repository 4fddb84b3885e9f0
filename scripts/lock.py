#!/usr/bin/env python3
"""Writes tests/SUITE/requirements.lock: every package that pip installs for that suite, with its version and the SHA-256 of its file.

    scripts/lock.py SUITE...        such as readers, torch, remote, trainers; run it after a change of tests/SUITE/requirements*.txt

requirements.txt is resolved as on an empty machine. Packages of requirements-alone.txt come without what they depend on. "torch" in the
first line of requirements.txt's comments, `# without: torch`, leaves that package out, and what only it needs: the system has it. The first
line of the lock names the platform, whose files these are, and the digest of what was resolved; scripts/install_locked.sh reads it.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def name_of(requirement):
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def report(pip, file, *options):
    """{name: (version, SHA-256, names of what it requires)} of all that pip would install."""
    environment = {name: value for name, value in os.environ.items() if name != "PIP_FIND_LINKS"}
    words = [*pip, "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", *options, "-r", file]
    found = json.loads(subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True).stdout)["install"]
    return {
        name_of(one["metadata"]["name"]): (
            one["metadata"]["version"],
            one["download_info"]["archive_info"]["hashes"]["sha256"],
            [name_of(other) for other in one["metadata"].get("requires_dist", [])],
        )
        for one in found
    }


def reached(packages, roots, without):
    """The packages that are reached from the roots by requirements, and not through one that is left out."""
    seen, waiting = set(), [root for root in roots if root not in without]
    while waiting:
        name = waiting.pop()
        if name in packages and name not in seen:
            seen.add(name)
            waiting += [other for other in packages[name][2] if other not in without]
    return seen


def lines_of(file):
    with open(file, encoding="utf-8") as lines:
        return [line.strip() for line in lines if line.strip()]


def lock(suite, pip, platform):
    folder = os.path.join(ROOT, "tests", suite)
    wanted, alone = (os.path.join(folder, f"requirements{end}.txt") for end in ("", "-alone"))
    lines = lines_of(wanted)
    without = {name for line in lines if line.startswith("# without:") for name in line.split()[2:]}
    packages = report(pip, wanted)
    kept = reached(packages, [name_of(line) for line in lines if not line.startswith("#")], without)
    packages = {name: packages[name] for name in kept}
    digest = hashlib.sha256(open(wanted, "rb").read())
    if os.path.exists(alone):
        packages.update(report(pip, alone, "--no-deps"))
        digest.update(open(alone, "rb").read())
    with open(os.path.join(folder, "requirements.lock"), "w", encoding="utf-8") as file:
        file.write(f"# {platform} {digest.hexdigest()} made by scripts/lock.py\n")
        for name, (version, sha256, _) in sorted(packages.items()):
            file.write(f"{name}=={version} --hash=sha256:{sha256}\n")


def main(suites):
    with tempfile.TemporaryDirectory() as folder:
        # An interpreter without packages: what is installed beside this one has no say.
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = os.path.join(folder, "bin", "python3")
        code = "import platform, sys; print(platform.machine(), '%d.%d' % sys.version_info[:2])"
        platform = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        for suite in suites:
            lock(suite, [python, "-m", "pip"], platform)


if __name__ == "__main__":
    main(sys.argv[1:])
