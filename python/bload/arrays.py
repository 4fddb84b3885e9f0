"""Arrays of .pt, .pth, .pkl, .mdb (LMDB) and old .mat files as .npy files for bload: python -m bload.arrays.

    python -m bload.arrays features.pt -o npy && bload pack npy -T 512 -o dataset
    python -m bload.arrays folder/ -o npy
    python -m bload.arrays features.lmdb --dtype float32 --shape=-1,2048 -o npy

features.pt becomes npy/features.npy, or npy/features/KEY.npy for each array in its dictionary or list. Nothing in a file is run: torch loads
weights only, and pickles may hold numpy arrays in dictionaries, lists and tuples. A stopped run goes on when it is started again.

Exit status: 0 done; 1 failed; 2 wrong usage; 3 done, but something was skipped, and named.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
from typing import Any, Dict, List, Optional

from ._core.command_line import Parser
from ._core.errors import DependencyError, Error, MissingError, OptionError

NAMED = 20  # skipped values that are named; the others are counted
NAME_BYTES = 240  # of a file's name, with room for ".part" behind it
RECORD = ".arrays.json"  # in the output: what the sources were


def say(text: str) -> None:
    """Write a line to standard error."""
    print(f"bload.arrays: {text}", file=sys.stderr, flush=True)


def plural(number: int, word: str) -> str:
    """Return a number with its noun in singular or plural."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


class Tally:
    """Count arrays, and name the first that were skipped."""

    def __init__(self) -> None:
        self.made, self.kept, self.skipped = 0, 0, 0

    def skip(self, name: str, reason: str) -> None:
        """Count a value that is not converted."""
        self.skipped += 1
        if self.skipped <= NAMED:
            say(f"skipped {name}: {reason}")

    def report(self, files: int, folder: str, quiet: bool) -> int:
        """Write the summary, and return the exit status."""
        if self.skipped > NAMED:
            say(f"skipped {self.skipped - NAMED} more")
        if not quiet:
            kept = f", {self.kept} of them from before" if self.kept else ""
            say(f"{plural(self.made + self.kept, 'array')} of {plural(files, 'file')} in {folder}{kept}")
        return 3 if self.skipped else 0


def file_of(name: str) -> str:
    """Return the path of an array below the output. What no file name can have is written as %XX, so that names stay different."""
    parts = [re.sub(r"[\x00-\x1f\x7f%\\]", lambda found: f"%{ord(found.group()):02X}", part) for part in name.split("/")]
    parts = [("%2E" + part[1:] if part.startswith(".") else part) or "%" for part in parts]
    return os.path.join(*parts) + ".npy"


def state_of(path: str) -> List[int]:
    """Return size and time of a source, by which a change is noticed."""
    status = os.stat(os.path.join(path, "data.mdb") if os.path.isdir(path) else path)
    return [status.st_size, status.st_mtime_ns]


def begin(folder: str, sources: List[Any], options: argparse.Namespace) -> None:
    """Make the output, or check that an earlier run has made it of the same sources."""
    record: Dict[str, Any] = {"dtype": options.dtype, "shape": options.shape, "sources": {one.name: state_of(one.path) for one in sources}}
    path = os.path.join(folder, RECORD)
    os.makedirs(folder, exist_ok=True)
    try:
        with open(path, encoding="utf-8") as file:
            before = json.load(file)
    except FileNotFoundError:
        if os.listdir(folder):
            raise OptionError("the folder is not empty: choose another -o", folder) from None
    except ValueError:
        raise OptionError(f"{RECORD} is damaged: remove the folder, or choose another -o", folder) from None
    else:
        if before != record:
            raise OptionError("was made of other sources or with other options, or they have changed: choose another -o", folder)
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(record, file)
    os.replace(path + ".part", path)


def write(path: str, array: Any) -> None:
    """Write an array to a file that appears when it is complete."""
    import numpy as np
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".part", "wb") as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
    os.replace(path + ".part", path)


def convert(source: Any, folder: str, raw: Any, tally: Tally, seen: Dict[str, str]) -> None:
    """Write the arrays of a source."""
    from ._core import array_files
    try:
        for found in array_files.read(source, raw):
            name = f"{source.path}: {found.name}" if found.name else source.path
            if found.fault is not None:
                tally.skip(name, found.fault)
                continue
            file = os.path.join(source.name, file_of(found.name)) if found.name else source.name + ".npy"
            path = os.path.join(folder, file)
            if any(len(os.fsencode(part)) > NAME_BYTES for part in file.split(os.sep)):
                tally.skip(name, "its name is too long for a file")
                continue
            if seen.setdefault(file, name) != name:
                tally.skip(name, f"its file would be that of {seen[file]}")
            elif os.path.exists(path):
                tally.kept += 1
            else:
                try:
                    write(path, found.array)
                    tally.made += 1
                except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
                    tally.skip(name, f"another array has the name of its folder ({error.filename})")
    except array_files.Refused as refused:
        tally.skip(source.path, str(refused))


def raw_of(options: argparse.Namespace) -> Any:
    """Return the form of raw values, or None."""
    from ._core import array_files
    import numpy as np
    if options.dtype is None and options.shape is None:
        return None
    if options.dtype is None or options.shape is None:
        raise OptionError("--dtype and --shape belong together")
    try:
        dtype = np.dtype(options.dtype)
        shape = tuple(int(part) for part in options.shape.split(","))
    except (TypeError, ValueError):
        raise OptionError(f"--dtype {options.dtype} --shape {options.shape}: a type of numpy and numbers are expected, such as float32 and "
                          "-1,2048") from None
    if dtype.kind not in array_files.READABLE or any(part < -1 or part == 0 for part in shape) or shape.count(-1) > 1:
        raise OptionError(f"--dtype {options.dtype} --shape {options.shape}: numbers from 1, and one -1 at most for what the bytes decide")
    return array_files.Raw(dtype, shape)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    out = Parser(prog="python -m bload.arrays", allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    out.add_argument("sources", nargs="+", metavar="SOURCE", help="a file, an LMDB folder, or a folder of them")
    out.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder of the .npy files; a stopped run goes on in it")
    out.add_argument("--dtype", metavar="TYPE", help="of the elements of LMDB values that are raw bytes, as numpy names it: float32")
    out.add_argument("--shape", metavar="N,...", help="of such a value; -1 is what its bytes decide: -1,2048")
    out.add_argument("-q", "--quiet", action="store_true", help="no summary; what is skipped is named all the same")
    return out


def run(arguments: Optional[List[str]]) -> int:
    """Run a command line and return the exit status; raise Error if it fails."""
    options = parser().parse_args(arguments)
    try:
        from ._core import array_files
    except ImportError:
        raise DependencyError("bload.arrays needs the package numpy: pip install numpy") from None
    raw = raw_of(options)
    sources = array_files.find(options.sources)
    if not sources:
        raise OptionError(f"no file in the sources has a name that ends with {', '.join(sorted(array_files.KINDS))}")
    begin(options.output, sources, options)
    tally = Tally()
    seen: Dict[str, str] = {}
    for source in sources:
        convert(source, options.output, raw, tally, seen)
    return tally.report(len(sources), options.output, options.quiet)


def main(arguments: Optional[List[str]] = None) -> int:
    """Run a command line, report what is wrong, and return the exit status."""
    try:
        return run(arguments)
    except (OptionError, MissingError) as error:
        say(str(error))
        return 2
    except Error as error:
        say(str(error))
    except OSError as error:
        say(f"{error.filename or 'output'}: {error.strerror or error}")
    except MemoryError:
        say("not enough memory: an array, or a pickle, must fit")
    return 1


if __name__ == "__main__":
    # A closed pipe and Ctrl-C end the program without a traceback.
    for ending in signal.SIGPIPE, signal.SIGINT:
        signal.signal(ending, signal.SIG_DFL)
    sys.exit(main())
