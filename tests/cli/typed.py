"""typed.py PROGRAM ARGUMENT... < PAIRS: types into a shell that has a terminal.

Each line of PAIRS is what is typed, a tab, and what must then appear; \\t and \\n are written so. Prints what came instead and ends
with status 1 if it does not appear within ten seconds. After each pair the line is given up (Ctrl-C).
"""
import os
import pty
import re
import select
import sys
import time


def read_until(fd: int, text: str, seconds: float) -> "tuple[bool, str]":
    """Reads until the text has come, without the terminal's own sequences; says whether it has, and what came."""
    came = b""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                came += os.read(fd, 65536)
            except OSError:
                break
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07|\r", "", came.decode(errors="replace"))
        while "\b" in plain:
            plain = re.sub(r"(^|[^\b])\x08", "", plain)
        if text in plain:
            return True, plain
    return False, plain


def main() -> int:
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", COLUMNS="200", LINES="50")
        os.execvp(sys.argv[1], sys.argv[1:])
    failed = 0
    for line in sys.stdin.read().splitlines():
        typed, expected = line.split("\t")
        keys = typed.replace("\\t", "\t").replace("\\n", "\n")
        # The end of the keys in pieces, as a hand types: each tab gets its time.
        for key in re.findall(r"[^\t]+|\t", keys):
            os.write(fd, key.encode())
            time.sleep(0.2)
        found, came = read_until(fd, expected, 10)
        if not found:
            print(f"typed {typed!r}, expected {expected!r}, but there came: {came!r}")
            failed = 1
        os.write(fd, b"\x03")
        read_until(fd, "\0", 0.2)
    os.close(fd)
    os.waitpid(pid, 0)
    return failed


if __name__ == "__main__":
    sys.exit(main())
