#!/usr/bin/env python3
"""Peak memory of a command with all of its processes, in KiB: memory.py COMMAND...

That is the largest sum, over samples a few milliseconds apart, of what each process has resident; pages that several share count
once (PSS). The page cache does not count. Exits with the command's status.
"""
import os
import subprocess
import sys
import time

PAUSE = 0.01


def parents():
    """{process: its parent}"""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    found[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                pass
    return found


def tree(root):
    above = parents()
    members = {root}
    grown = True
    while grown:
        more = {pid for pid, parent in above.items() if parent in members} - members
        members |= more
        grown = bool(more)
    return members


def resident(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0  # it has ended


def main():
    peak = 0
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(resident, tree(process.pid))))
            time.sleep(PAUSE)
    print(peak)
    sys.exit(process.returncode)


if __name__ == "__main__":
    main()
