"""Parquet and Hugging Face data for bload, and back: python -m bload.parquet.

    python -m bload.parquet corpus/ --columns text,url | bload pack - --keep url --tokenizer tokenizer.json -T 2048 -o dataset
    python -m bload.parquet sounds/ --columns audio,label --tar sounds.tar
    python -m bload.parquet --write dataset -o packed

Exit status: 0 done; 1 failed; 2 wrong usage; 3 done, but rows were skipped, and named.
"""
from __future__ import annotations

import argparse
import functools
import os
import signal
import sys
from typing import Any, Callable, Dict, List, Optional

from ._core import apart
from ._core.command_line import Parser
from ._core.errors import DependencyError, Error, MissingError, OptionError

try:
    import pyarrow
except ImportError:
    pyarrow = None

HELD = 2  # how many bytes of the last line are held back until the end


def say(text: str) -> None:
    """Write a line to standard error."""
    print(f"bload.parquet: {text}", file=sys.stderr, flush=True)


def plural(number: int, word: str) -> str:
    """Return a number with its noun in singular or plural."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


class HeldOutput:
    """Standard output that holds back its last bytes until the end: if the program ends earlier, the last line is not valid JSON.

    The reader of a pipe cannot see the exit status; bload pack skips and names such a line.
    """

    def __init__(self, descriptor: int):
        self.descriptor = descriptor
        self.held = b""

    def write(self, data: bytes) -> None:
        """Write data except its last bytes, after the bytes held back before."""
        if data:
            self.send(self.held)
            self.send(memoryview(data)[:-HELD])
            self.held = data[-HELD:]

    def finish(self) -> None:
        """Write the bytes that were held back."""
        self.send(self.held)

    def send(self, data: Any) -> None:
        """Write all bytes to the descriptor."""
        left = memoryview(data)
        while left:
            left = left[os.write(self.descriptor, left):]


class Tally:
    """Count rows and skipped rows, and name the first skipped rows."""

    def __init__(self) -> None:
        self.rows, self.named = 0, 0
        self.lost: Dict[str, int] = {}
        self.nulls: Dict[str, int] = {}

    def add(self, path: str, lines: Any) -> None:
        """Count the rows of a batch."""
        from ._core.arrow_rows import NAMED
        self.rows += lines.rows
        for reason, row in lines.skipped[:NAMED - self.named]:
            say(f"skipped row {row} of {path}: {reason}")
            self.named += 1
        for counts, more in (self.lost, lines.lost), (self.nulls, lines.nulls):
            for name, number in more.items():
                counts[name] = counts.get(name, 0) + number

    def report(self, files: int, quiet: bool) -> int:
        """Write the summary, skipped rows even if quiet, and return the exit status."""
        if not quiet:
            say(f"{plural(self.rows, 'row')} of {plural(files, 'file')}")
            for name, number in self.nulls.items():
                say(f"\"{name}\" is null in {plural(number, 'row')}")
        for reason, number in self.lost.items():
            say(f"{plural(number, 'row')} skipped: {reason}")
        return 3 if self.lost else 0


def to_lines(options: argparse.Namespace) -> int:
    """Write the rows of the sources as lines of JSON to standard output, and return the exit status."""
    from ._core import arrow_rows
    files = open_files(options)
    choice = arrow_rows.choose(files, arrow_rows.split_names("--columns", options.columns), arrow_rows.split_names("--key", options.key))
    out, tally = HeldOutput(sys.stdout.fileno()), Tally()
    groups = (group for file in files for group in file.groups())
    for group, lines in arrow_rows.ordered(groups, functools.partial(arrow_rows.lines, choice=choice), options.jobs):
        tally.add(group.file.path, lines)
        out.write(lines.data)
    out.finish()
    return tally.report(len(files), options.quiet)


def to_tar(options: argparse.Namespace) -> int:
    """Write the binary columns of the sources as the members of a tar file, and return the exit status."""
    from ._core import arrow_rows, arrow_tar
    files = open_files(options)
    choice = arrow_rows.choose(files, arrow_rows.split_names("--columns", options.columns), [], arrow_tar.member_kind)
    if "file" not in choice.kinds.values():
        raise OptionError(f"none of the columns {', '.join(choice.columns)} is binary: leave out --tar", files[0].path)
    tally, part = Tally(), options.tar + ".part"
    groups = (group for file in files for group in file.groups())
    with open(part, "wb") as file:
        archive = arrow_tar.TarFile(file)
        for group, members in arrow_rows.ordered(groups, functools.partial(arrow_tar.members, choice=choice), options.jobs):
            tally.add(group.file.path, members.skipped_rows)
            for row in members.rows:
                archive.add(row)
        archive.finish()
    os.replace(part, options.tar)
    return tally.report(len(files), options.quiet)


def to_packed(options: argparse.Namespace) -> int:
    """Write a dataset or view as packed Parquet, and return the exit status."""
    from ._core import packed_parquet
    if not options.output:
        raise OptionError("--write needs -o OUT, the folder to write")
    done = packed_parquet.write(options.write, options.output, field=options.field, loss_mask=options.loss_mask,
                                part_bytes=options.part_size)
    if not options.quiet:
        kept = f", {done.parts - done.made} from before" if done.made < done.parts else ""
        say(f"{options.output}: {plural(done.rows, 'row')} of {plural(done.tokens, 'token')} in {plural(done.parts, 'file')}{kept}")
        if done.left_out:
            say(f"{plural(done.left_out, 'block')} left out, because no sequence in them has two tokens")
        names = packed_parquet.left_out(options.write, options.field, options.loss_mask)
        if names:
            say(f"left out, because packed Parquet holds only tokens and a loss mask: {', '.join(names)}")
    return 0


def open_files(options: argparse.Namespace) -> List[Any]:
    """Open the files of all sources, and warn if they belong to several splits."""
    from ._core import arrow_files
    paths = arrow_files.find(options.sources)
    splits = arrow_files.splits_of(paths)
    if len(splits) > 1:
        say(f"the splits {', '.join(splits)} are read one after the other: to read one, name its folder, or its files by a pattern")
    return [arrow_files.ArrowFile(path) for path in paths]


def number(least: int) -> Callable[[str], int]:
    """Return a parser of numbers from `least` on."""
    def parse(text: str) -> int:
        """Return the number, or raise ArgumentTypeError."""
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"not a number from {least}: {text}")
        return int(text)
    return parse


def size(text: str) -> int:
    """Parse a number of bytes, with K, M or G for powers of 1024."""
    unit = "KMG".find(text[-1:].upper()) + 1 if text[-1:] else 0
    return number(1)(text[:-1] if unit else text) << (10 * unit)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    out = Parser(prog="python -m bload.parquet", allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
                                  description=__doc__)
    out.add_argument("sources", nargs="*", metavar="SOURCE", help="a file of Parquet or Arrow, a pattern, or a folder, also one that "
                     "save_to_disk of Hugging Face's datasets wrote")
    out.add_argument("--columns", metavar="NAME,...", help="the columns to take; all by default")
    out.add_argument("--key", metavar="NAME,...", help="skip and count rows in which one of these is null; by default text, or the first "
                     "of --columns")
    out.add_argument("-j", "--jobs", metavar="N", type=number(1), default=len(os.sched_getaffinity(0)), help="row groups converted at "
                     "once; by default as many as there are processors")
    out.add_argument("-q", "--quiet", action="store_true", help="no summary; what is skipped is named all the same")
    out.add_argument("--tar", metavar="FILE", help="write the bytes of binary columns, also those of the features Audio, Image and Video, "
                     "to this tar file, and other columns beside them as JSON")
    packed = out.add_argument_group("packed Parquet for Megatron-Bridge")
    packed.add_argument("--write", metavar="DIR", help="write this dataset or view of tokens, instead of reading sources")
    packed.add_argument("-o", "--output", metavar="OUT", help="the folder; it gets its name when it is complete, and a stopped run goes on")
    packed.add_argument("--field", metavar="NAME", default="tokens", help="the field with the tokens (tokens)")
    packed.add_argument("--loss-mask", metavar="NAME", help="a field that is 1 where a token is to be learned, else 0; all are by default")
    packed.add_argument("--part-size", metavar="BYTES", type=size, default=256 << 20, help="of a file, before compression (256M)")
    return out


def run(arguments: Optional[List[str]]) -> int:
    """Run a command line and return the exit status; raise Error if it fails."""
    options = parser().parse_args(arguments)
    if pyarrow is None:
        raise DependencyError("bload.parquet needs the package pyarrow: pip install 'bload[parquet]'")
    if options.write is not None:
        if options.sources or options.columns or options.key or options.tar:
            raise OptionError("--write takes a dataset; leave out sources, --columns, --key and --tar")
        return to_packed(options)
    if options.output:
        raise OptionError("-o is only for --write: lines go to standard output")
    if not options.sources:
        raise OptionError("no sources: name files, folders or patterns")
    if options.tar and options.key:
        raise OptionError("--key cannot be used with --tar, which skips rows where a binary column is null")
    return to_tar(options) if options.tar else to_lines(options)


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
        say(f"{error.filename or 'output'}: {error.strerror}")
    except MemoryError:
        say("not enough memory: try -j 1")
    return 1


if __name__ == "__main__":
    # A closed pipe and Ctrl-C end the program without a traceback.
    for ending in signal.SIGPIPE, signal.SIGINT:
        signal.signal(ending, signal.SIG_DFL)
    sys.exit(apart.run(main, say))
