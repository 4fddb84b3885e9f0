"""Seconds of planning, in Python and in C: calls.py COUNT T. See bench/plan/python."""
import ctypes
import sys
import time

import numpy as np

import bload
from bload._core import library

TURNS = 9


def in_c(lengths, T):
    loaded, error, plan = library.load(), library.Error(), ctypes.c_void_p()
    options = library.PlanOptions(size=ctypes.sizeof(library.PlanOptions), T=T)
    library.check(loaded.bload_plan_make(lengths.ctypes.data, len(lengths), options, plan, error), error)
    loaded.bload_plan_free(plan)


def seconds(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main():
    count, T = map(int, sys.argv[1:])
    lengths = np.random.default_rng(0).integers(1, T + 1, count)
    turns = [(seconds(lambda: in_c(lengths, T)), seconds(lambda: bload.plan(lengths, T))) for _ in range(TURNS)]
    c, python = map(min, zip(*turns))
    print(f"{count:,} lengths, T = {T:,}: bload_plan_make {c:.4g} s, bload.plan {python:.4g} s, {100 * (python / c - 1):.1f} % more")


main()
