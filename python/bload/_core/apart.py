"""Run a command in a child process: a damaged file can crash the library that reads it, and the parent reports the crash."""
from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
from typing import Callable

CRASHES = signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV
PR_SET_PDEATHSIG = 1
CURRENT_FILE = mmap.mmap(-1, 4096)  # the file that was opened last, in memory that both processes share


def set_current_file(path: str) -> None:
    """Remember the file that is about to be read, in memory that both processes share."""
    name = os.fsencode(path)[:len(CURRENT_FILE) - 1]
    CURRENT_FILE[:len(name) + 1] = name + b"\0"


def current_file() -> str:
    """Return the file that was remembered last."""
    return os.fsdecode(CURRENT_FILE[:].partition(b"\0")[0])


def end_with(parent: int) -> None:
    """End this process when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def run(main: Callable[[], int], say: Callable[[str], None]) -> int:
    """Run main in a child process and return its status, or 1 after a crash, which `say` reports. A signal that ends the child ends this process."""
    parent, pid = os.getpid(), os.fork()
    if pid == 0:
        end_with(parent)
        return main()
    status = os.waitpid(pid, 0)[1]
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status)
    ended = os.WTERMSIG(status)
    if ended in CRASHES:
        say(f"{current_file() or 'a file'}: pyarrow crashed on it ({signal.Signals(ended).name}): it is damaged; if -j reads several files at "
            "once, another one of them may be the damaged one")
        return 1
    if ended != signal.SIGKILL:
        signal.signal(ended, signal.SIG_DFL)
    os.kill(parent, ended)
    return 1
