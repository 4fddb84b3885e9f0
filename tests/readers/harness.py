"""Runs the unittest classes of the files test_*.py in a folder, each class in a process of its own, and tells of every test in one
line: "ok NAME", "not ok NAME" (after what went wrong) or "skip NAME: REASON".

    harness.py [-C FOLDER] [-k PART-OF-A-NAME] [-l]        -C: not the tests here; -l: with the seconds of each, and those of processor time

Environment: BLOAD (the tool), BLOAD_LIBRARY (the C library, by default the one of this build), CONVERT_RAW and TEXT_PROBE (the programs made of
convert_raw.c and text_probe.c), BLOAD_SHARED, JOBS, QUICK (without the classes with `long = True`, which are named).
"""
import concurrent.futures
import functools
import glob
import importlib
import os
import sys
import time
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "fixtures")
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build/libbload.so.2")
if os.path.exists(LIBRARY):
    os.environ.setdefault("BLOAD_LIBRARY", LIBRARY)


def each(items):
    """Makes one test of a method for every item, named by the item's first word."""
    def mark(method):
        method.each = list(items)
        return method
    return mark


def expand(cls):
    """Replaces the methods of a class that `each` marked."""
    for name, method in list(vars(cls).items()):
        for item in getattr(method, "each", ()):
            arguments = item if isinstance(item, tuple) else (item,)
            one = functools.partialmethod(method, *arguments)
            setattr(cls, f"{name}_{arguments[0]}", one)
        if hasattr(method, "each"):
            delattr(cls, name)
    return cls


def processor_time():
    return sum(os.times()[:4])


class Lines(unittest.TestResult):
    """Collects the lines of one class."""

    def __init__(self):
        super().__init__()
        self.lines = []
        self.seconds = []

    def title(self, test):
        return test.id().replace("test_", "", 1).replace(".test_", ".")

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic(), processor_time()

    def stopTest(self, test):
        super().stopTest(test)
        self.seconds.append((time.monotonic() - self.began[0], processor_time() - self.began[1], self.title(test)))

    def addSuccess(self, test):
        self.lines.append(f"ok {self.title(test)}")

    def addSkip(self, test, reason):
        self.lines.append(f"skip {self.title(test)}: {reason}")

    def fault(self, test, error):
        text = "".join(traceback.format_exception(*error))
        self.lines += ["    " + line for line in text.rstrip().split("\n")[-30:]]
        self.lines.append(f"not ok {self.title(test)}")

    addFailure = addError = fault

    def addSubTest(self, test, subtest, error):
        if error:
            self.fault(subtest, error)


def suites(folder, part):
    """(module, class) of every class that has a test whose name contains part; those with `long = True` come first, for one that began near
    the end would be waited for alone."""
    classes = sorted(found(folder, part), key=lambda one: not one[0])
    if os.environ.get("QUICK") and not part:
        for _, names in (one for one in classes if one[0]):
            print("left out, for it is long:", ".".join(names).replace("test_", "", 1))
        classes = [one for one in classes if not one[0]]
    return [names for _, names in classes]


def found(folder, part):
    for path in sorted(glob.glob(os.path.join(folder, "test_*.py"))):
        module = importlib.import_module(os.path.basename(path)[:-3])
        for name, cls in vars(module).items():
            if isinstance(cls, type) and issubclass(cls, unittest.TestCase) and cls.__module__ == module.__name__:
                if chosen(cls, part):
                    yield getattr(cls, "long", False), (module.__name__, name)


def chosen(cls, part):
    """The tests of a class whose full names contain part."""
    for base in cls.__mro__:
        expand(base)
    full = f"{cls.__module__}.{cls.__name__}."
    return [cls(name) for name in unittest.TestLoader().getTestCaseNames(cls) if part in full + name]


def run_class(module_name, class_name, part):
    cls = getattr(importlib.import_module(module_name), class_name)
    result = Lines()
    unittest.TestSuite(chosen(cls, part)).run(result)
    return result.lines, result.seconds


def main(arguments):
    part = arguments[arguments.index("-k") + 1] if "-k" in arguments else ""
    folder = arguments[arguments.index("-C") + 1] if "-C" in arguments else HERE
    sys.path[:0] = [folder, HERE, FIXTURES]
    seconds, failed = [], False
    with concurrent.futures.ProcessPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count())) as pool:
        for job in [pool.submit(run_class, *which, part) for which in suites(folder, part)]:
            lines, took = job.result()
            seconds += took
            failed |= any(line.startswith("not ok") for line in lines)
            print("\n".join(lines), flush=True)
    if "-l" in arguments:
        print("\n".join(f"{took:7.2f} {processor:7.2f} {name}" for took, processor, name in sorted(seconds)))
    return 1 if failed or not seconds else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
