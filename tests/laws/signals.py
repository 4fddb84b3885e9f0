"""Ends a command by a signal and looks how it dies: signals.py SIGNAL MOMENT COMMAND...

MOMENT: seconds after the start, or a file that has to be there first. Prints "in time" when the command died by that very
signal within a second, else what happened. Its input is a pipe into which nothing comes, its output one that nobody reads. A
shell would have it ignore SIGINT in the background."""

import os
import signal
import subprocess
import sys
import time


def wait_for(moment, process):
    try:
        time.sleep(float(moment))
    except ValueError:
        while not os.path.exists(moment) and process.poll() is None:
            time.sleep(0.005)
        time.sleep(0.1)


def main():
    number = getattr(signal, "SIG" + sys.argv[1])
    process = subprocess.Popen(
        sys.argv[3:],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    wait_for(sys.argv[2], process)
    if process.poll() is not None:
        sys.exit(f"it ended by itself before: {process.returncode}")
    began = time.monotonic()
    process.send_signal(number)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit("it did not end")
    took = time.monotonic() - began
    if process.returncode != -number:
        sys.exit(f"it ended with {process.returncode}")
    print("in time" if took < 1 else f"it took {took:.2f} s")


main()
