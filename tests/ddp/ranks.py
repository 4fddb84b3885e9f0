"""Ranks, started by what torchrun tells each of them, as the torchrun of torch 1.13 does not work with Python 3.11."""
import os
import socket
import subprocess
import sys


def run(test, count, script):
    """Runs a script of the test's directory on that many ranks, which must all succeed; gives what each wrote to standard output."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [subprocess.Popen([sys.executable, script], cwd=test.path(), stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1",
                                       "MASTER_PORT": str(port)}) for rank in range(count)]
    said = [process.communicate(timeout=300)[0] for process in processes]
    test.assertEqual([process.returncode for process in processes], [0] * count)
    return said
