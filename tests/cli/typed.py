"""typed.py PROGRAM ARGUMENT... < PAIRS: types into a shell that has a terminal.

Each line of PAIRS is what is typed, a tab, and what must then appear; \\t and \\n are written so. What does not end with \\n is given
up afterwards (Ctrl-C). Prints what came instead, and ends with status 1, if it does not appear within ten seconds.
"""
import os
import pty
import re
import select
import sys
import time

PROMPT = "ready> "


def read_some(fd: int, seconds: float) -> bytes:
    """What comes within that time; nothing at the end."""
    if not select.select([fd], [], [], seconds)[0]:
        return b""
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""


def read_until(fd: int, text: str) -> "tuple[bool, str]":
    """Reads until the text has come, without the terminal's own sequences; says whether it has, and what came."""
    came, plain = b"", ""
    end = time.monotonic() + 10
    while time.monotonic() < end and text not in plain:
        came += read_some(fd, 0.1)
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07|\r", "", came.decode(errors="replace"))
        while "\b" in plain:
            plain = re.sub(r"(^|[^\b])\x08", "", plain)
    return text in plain, plain


def main() -> int:
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", COLUMNS="200", LINES="50", PS1=PROMPT)
        os.execvp(sys.argv[1], sys.argv[1:])
    ready, came = read_until(fd, PROMPT)
    failed = 0 if ready else 1
    for line in sys.stdin.read().splitlines():
        typed, expected = line.split("\t")
        # What is typed before the shell is ready, it may lose; and pasted tabs are no keys.
        for key in re.findall(r"[^\t]+|\t", typed.replace("\\t", "\t").replace("\\n", "\n")):
            os.write(fd, key.encode())
            time.sleep(0.2)
        found, came = read_until(fd, expected)
        if not found:
            print(f"typed {typed!r}, expected {expected!r}, but there came: {came!r}")
            failed = 1
        if typed.endswith("\\n"):
            if PROMPT not in came:
                read_until(fd, PROMPT)
            continue
        while read_some(fd, 0.2):
            pass
        os.write(fd, b"\x03")
        read_until(fd, PROMPT)
    os.close(fd)
    os.waitpid(pid, 0)
    return failed


if __name__ == "__main__":
    sys.exit(main())
