"""Pack chats with pictures, videos and sounds, as the processor of a model makes them.

    python -m bload.multimodal --processor DIR chats.jsonl --root images/ -o dataset -T 8192 --capacity pixel_values=16384

The processor runs in several processes. What it makes of each chat is kept in dataset.rows/ until bload packs it: every array becomes a field.
A run that was ended goes on. The exit status is that of bload: 0 done, 1 failed, 2 wrong usage, 3 done, but chats were skipped.

    python -m bload.multimodal --processor DIR chats.jsonl --root images/ --scan -o sizes.tsv

writes the lengths alone, from the headers of pictures and videos: a table for bload plan and bload compare.

samples.py (rows) -> media.py (pictures, videos and sounds of a row) -> processing.py (the processor) -> arrays.py (fields) -> row_files.py
(the rows on the disk) -> bload pack. With --scan: samples.py -> media.py -> sizes.py (lengths) -> size_table.py.
"""
from __future__ import annotations

import argparse
import atexit
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from . import __main__ as installed
from ._core.arrays import TOKENS, Steps
from ._core.chat_options import Totals, add_choices, add_limits, at_least_one
from ._core.command_line import Parser
from ._core.errors import DependencyError, Error, MissingError, OptionError
from ._core.media import Finder, Medium
from ._core.messages import Chat, Unusable
from ._core.opening import open as opened
from ._core.processing import MASK, POSITIONS, Processor
from ._core.row_files import Row, RowFiles, check_complete, fields_yaml, key_of, members, short, unique
from ._core.rows import chats_of, parsed
from ._core.samples import Sample, all_samples
from ._core.size_table import SizeTable, in_order
from ._core.sizes import Sizes
from ._core.turns import Choices
from ._core.workers import Workers

# Options of bload pack that are passed on, and whether they take a value.
PACK = {**dict.fromkeys((
    "--capacity", "--max-column", "--where", "--strategy", "--fill", "--oversize", "--seed", "--spare", "--world-size", "--batch-size", "--remainder",
    "--cost", "--accumulate", "--sync", "--balance", "--align", "--max-sequences", "--min-length", "--max-length", "--order", "--effort",
    "--group-by", "--shard-size", "--compress", "--frame-size", "--sequence-slots", "--memory", "--split", "--split-by", "--take", "--share",
    "--first", "--progress"), True), **dict.fromkeys(("--segment-ids", "--store", "--parents", "--json", "--dry-run", "--skipped-ok"), False)}

# Those that bload plan does not have: they decide nothing about a plan.
PACK_ALONE = "--shard-size", "--compress", "--frame-size", "--sequence-slots", "--memory", "--segment-ids", "--store", "--parents", "--dry-run"
TOGETHER = 16   # rows that a worker gets at a time with --scan
FREE = "--progress", "--json", "--dry-run", "--skipped-ok", "--parents", "--memory"     # these decide no byte


class Result(NamedTuple):
    """What became of a row: how the journal has it, and the members of its tar, or for --scan the steps of its own fields and its columns."""
    row: Row
    data: Sequence[Any] = ()
    own: Dict[str, int] = {}
    columns: Dict[str, Any] = {}


class Converter:
    """Makes rows of samples, in workers."""

    def __init__(self, processor: Processor, roots: List[str], keep: List[str]):
        self.processor, self.roots, self.keep = processor, roots, keep

    def __call__(self, given: Tuple[int, Sample]) -> Result:
        """Return the row of a sample. A fault is named by file and line."""
        number, sample = given
        try:
            return self.converted(number, sample)
        except Unusable as error:
            return Result(Row(number, 0, fault=f"{sample.path}:{sample.number}: {error.fault}", reason=error.reason))
        except (TypeError, UnicodeError) as error:
            return Result(Row(number, 0, fault=f"{sample.path}:{sample.number}: a text is not Unicode: {error}", reason="not Unicode"))

    def converted(self, number: int, sample: Sample) -> Result:
        """Return the row of a sample; raise Unusable if it is skipped."""
        if sample.fault:
            raise Unusable("rows that cannot be read", sample.fault)
        keys = parsed(sample.text) if sample.keys is None else sample.keys
        if keys.get("chosen") is not None:
            raise Unusable("a preference", "the row has chosen and rejected, which are not supported with media")
        keys, media = Finder(keys, self.roots[number], sample.members).found()
        chat, = chats_of(keys, has_media=True)
        columns = {name: keys[name] for name in self.keep if keys.get(name) is not None}
        return self.result(number, key_of(keys.get("id"), sample.number), columns, chat, media)

    def result(self, number: int, key: str, columns: Dict[str, Any], chat: Chat, media: List[Medium]) -> Result:
        """Return the row of a chat."""
        made = self.processor.made(chat, media)
        names = tuple(name for name, values in made.fields.items() if len(values))
        mask = made.fields[MASK]
        row = Row(number, 0, key, names, len(mask), int(mask.sum()), {name: count for name, count in made.counts.items() if count})
        return Result(row, members(key, made.fields, columns if self.keep else None))


class Scanner(Converter):
    """Finds the lengths of samples, in workers."""

    def __init__(self, sizes: Sizes, roots: List[str], keep: List[str]):
        super().__init__(sizes.processor, roots, keep)
        self.sizes = sizes

    def result(self, number: int, key: str, columns: Dict[str, Any], chat: Chat, media: List[Medium]) -> Result:
        """Return the lengths of a chat."""
        found = self.sizes.of(chat, media)
        counts = {name: count for name, count in found.counts.items() if count}
        return Result(Row(number, 0, key, (), found.tokens, found.trained, counts), own=found.own, columns=columns)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = Parser(prog="python -m bload.multimodal", description="Pack chats with pictures, videos and sounds, as the "
                                   "processor of a model makes them: every array that it returns becomes a field.", allow_abbrev=False)
    add = made.add_argument
    add("files", nargs="+", metavar="FILE", help="chats: JSON Lines, a JSON array, CSV, Parquet with the bytes of pictures, or tars of "
        "WebDataset; JSON and CSV also as gzip or zstd")
    add("--processor", required=True, metavar="DIR", help="a folder with the model's processor, tokenizer and chat template")
    add("--root", metavar="DIR", help="the folder that paths of media start from [that of each FILE]")
    add("-o", "--output", metavar="DATASET", help="the dataset's directory; rows are kept in DATASET.rows until it is packed. With --scan: "
        "the file of the table [standard output]")
    add("-T", metavar="N", help="tokens per block")
    add("--scan", action="store_true", help="write a table with the tokens of each chat and the steps of its own fields, for bload plan and "
        "bload compare, and pack nothing: pictures and videos are not decoded")
    add("--pixels", choices=["auto", "f32"], default="auto", help="auto: as U8 if the processor's values can be rebuilt bit for bit; f32: as "
        "they are [auto]")
    add("--frames-rule", choices=["processor", "qwen_vl_utils"], default="processor", help="which frames of videos are taken: those of the "
        "processor, or those of the package qwen_vl_utils, with which Qwen's models are tuned by others [processor]")
    add("--keep-rows", action="store_true", help="keep DATASET.rows after packing, for bload pack --repair")
    add_choices(add, ["parse", "refuse"])
    add_limits(add)
    add("-j", "--jobs", dest="workers", type=at_least_one, default=len(os.sched_getaffinity(0)), metavar="N",
        help="processes [as many as processors]")
    group = made.add_argument_group("options of bload pack", "these are passed on; bload pack --help explains them")
    for name, has_value in PACK.items():
        if has_value:
            choices = ["error", "drop"] if name == "--oversize" else None     # chats are never shortened
            group.add_argument(name, action="append", default=[], metavar="VALUE", choices=choices, help=argparse.SUPPRESS)
        else:
            group.add_argument(name, action="store_true", help=argparse.SUPPRESS)
    group.description = f"passed on, as bload pack --help explains them: {', '.join(PACK)}"
    return made


def say(text: str) -> None:
    """Write a line to standard error."""
    print(f"bload.multimodal: {text}", file=sys.stderr, flush=True)


def tool() -> str:
    """Return the path of the tool; raise DependencyError if it is not installed."""
    found = os.environ.get("BLOAD") or installed.tool()
    if found is None:
        raise DependencyError("the tool bload is neither in the package nor on the PATH: pip install bload, or make install")
    return found


def passed(arguments: argparse.Namespace, without: Sequence[str] = ()) -> List[str]:
    """Return the options that are passed on, but for some."""
    out = []
    for name, has_value in PACK.items():
        given = [] if name in without else getattr(arguments, name[2:].replace("-", "_"))
        if has_value:
            for value in given:
                out += [name, value]
        elif given:
            out.append(name)
    return out


def pack(arguments: argparse.Namespace, *more: str, output: Any = None) -> int:
    """Run bload pack, and return its exit status. A signal that ends it ends this process."""
    own = ["-T", arguments.T, "-j", str(arguments.workers), "-o", arguments.output] + ["-q"] * arguments.quiet
    done = subprocess.run([tool(), "pack", *more, *own, *passed(arguments)], check=False, stdout=output)
    if done.returncode < 0:
        signal.signal(-done.returncode, signal.SIG_DFL)
        os.kill(os.getpid(), -done.returncode)
    return done.returncode


def configuration(arguments: argparse.Namespace, processor: Processor) -> Dict[str, Any]:
    """Return what decides the dataset, for the manifest."""
    inputs = [[path, os.path.getsize(path)] for path in arguments.files]
    plan = {name: given for name, given in ((name, getattr(arguments, name[2:].replace("-", "_"))) for name in PACK) if given and name not in FREE}
    return {"inputs": inputs, "root": arguments.root, **options_of(arguments), **processor.about, "plan": {"-T": arguments.T, **plan}}


def options_of(arguments: argparse.Namespace) -> Dict[str, Any]:
    """Return the options that decide the rows."""
    return {"train_on": arguments.train_on, "allow_loss": sorted(arguments.allow_loss), "special_in_content": arguments.special_in_content,
            "template": arguments.template, "set": dict(arguments.set), "keep": arguments.keep, "pixels": arguments.pixels,
            "frames_rule": arguments.frames_rule}


def finished(arguments: argparse.Namespace, wanted: Dict[str, Any]) -> Optional[int]:
    """Return the exit status of the run that made the dataset; None: there is no dataset. Raises OptionError if it is another one."""
    if not os.path.exists(os.path.join(arguments.output, "manifest.json")):
        return None
    with opened(arguments.output) as dataset:
        manifest, about = dataset.manifest, dataset.about.get("multimodal", {})
    for name, value in json.loads(json.dumps(wanted)).items():
        if about.get(name) != value:
            raise OptionError(f"a dataset of another configuration: {name} is {short(about.get(name))} there, not {short(value)}", arguments.output)
    say(f"{arguments.output} is complete")
    is_whole = not about["skipped"] and not manifest["skipped"] and not manifest["failed"]
    return 0 if is_whole or arguments.skipped_ok else 3


def check_scan(options: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """End the program with status 2 if options are missing, or are not for --scan."""
    if not arguments.scan:
        missing = [name for name, given in (("-o", arguments.output), ("-T", arguments.T)) if given is None]
        if missing:
            options.error(f"{' and '.join(missing)} must be given, except with --scan")
        return
    wrong = ["-T"] if arguments.T is not None else []
    wrong += [name for name in ("--keep-rows", *PACK) if getattr(arguments, name[2:].replace("-", "_")) and name != "--skipped-ok"]
    if wrong:
        options.error(f"{wrong[0]} is not for --scan" + (": bload plan takes it" if wrong[0] in ("-T", *PACK) and wrong[0] not in PACK_ALONE else ""))


def scan(arguments: argparse.Namespace, processor: Processor, output: Optional[str]) -> Tuple[int, Set[str]]:
    """Write the table of --scan, and return the exit status, and the own fields that chats have.

    Raises Error if no chat is usable, or more are unusable than allowed.
    """
    sizes, totals = Sizes(processor), Totals(arguments, say)
    stems, paths = zip(*in_order(arguments.files))
    known: List[Set[str]] = [set() for _ in paths]
    there: Set[str] = set()
    workers: Workers[Tuple[int, Sample], Result] = Workers(Scanner(sizes, roots_of(arguments, paths), arguments.keep), arguments.workers)
    with SizeTable(output, arguments.keep, sizes.own) as table:
        at: Dict[int, int] = Counter()
        for row, _, own, columns in workers.results(all_samples(list(paths), [0] * len(paths), TOGETHER)):
            at[row.file] += 1
            row = unique(row, known[row.file])
            count(totals, row)
            if row.fault:
                table.skip(f"{stems[row.file]}/#{at[row.file]}", row.fault)
            else:
                table.add(f"{stems[row.file]}/{row.id}", row.tokens, columns, own)
                there.update(name for name, steps in own.items() if steps)
        totals.finish()
        if not totals.chats:
            raise Error("no chat is usable")
    return 3 if totals.skipped and not arguments.skipped_ok else 0, there


def dry_run(arguments: argparse.Namespace, processor: Processor) -> int:
    """Plan the blocks of the dataset from the lengths that --scan finds, let bload plan print what it does, and return the exit status."""
    with tempfile.TemporaryDirectory(prefix="bload-") as folder:
        table = os.path.join(folder, "sizes.tsv")
        status, own = scan(arguments, processor, table)
        given = {name.partition("=")[0] for one in arguments.capacity for name in one.split(",")}
        automatic = [word for name in sorted(own - given) for word in ("--capacity", f"{name}=auto")]
        done = subprocess.run([tool(), "plan", "-T", arguments.T, "-o", os.path.join(folder, "plan.tsv"), *["-q"] * arguments.quiet,
                               *passed(arguments, PACK_ALONE), *(["--strategy", "store"] if arguments.store else []), *automatic, table],
                              check=False)
    if not done.returncode and not arguments.quiet:
        say("a dry run from the sizes that headers tell: nothing was written")
    return done.returncode or status


def roots_of(arguments: argparse.Namespace, paths: Sequence[str]) -> List[str]:
    """Return the folder that the paths of media in each input start from."""
    return [arguments.root if arguments.root is not None else os.path.dirname(path) for path in paths]


def write(arguments: argparse.Namespace, processor: Processor, files: RowFiles) -> Totals:
    """Write the rows that are missing, and return the counts of all; raise Error if more chats are unusable than allowed."""
    totals = Totals(arguments, say)
    for row in files.rows:
        count(totals, row)
    converter = Converter(processor, roots_of(arguments, arguments.files), arguments.keep)
    workers: Workers[Tuple[int, Sample], Result] = Workers(converter, arguments.workers, where)
    for result in workers.results(all_samples(arguments.files, list(files.done))):
        count(totals, files.add(result.row, result.data))
    files.flush()
    totals.finish()
    return totals


def where(given: Tuple[int, Sample]) -> str:
    """Return the name of a sample."""
    return f"{given[1].path}:{given[1].number}"


def count(totals: Totals, row: Row) -> None:
    """Count a row, and name its fault; raise Error if that ends the run."""
    if row.fault:
        totals.skip(row.fault, row.reason)
    else:
        totals.add(1, row.tokens, row.trained, row.counts)


def loaded(arguments: argparse.Namespace) -> Processor:
    """Return the processor. Garbage collection pauses for it, and passes over what it loads from then on, which lives until the end."""
    choices = Choices(arguments.train_on, False, arguments.special_in_content, arguments.allow_loss)
    gc.disable()
    try:
        return Processor(arguments.processor, arguments.template, dict(arguments.set), choices, arguments.pixels == "f32",
                         arguments.frames_rule == "qwen_vl_utils")
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)    # modules with extensions look at exit whether their objects were collected
        gc.enable()


def run(arguments: argparse.Namespace) -> int:
    """Run a command line that was parsed, and return the exit status."""
    if not arguments.scan:      # wrong options of bload pack are refused before the processor runs for hours
        status: Optional[int] = pack(arguments, "--print-config", "rows.tar", output=subprocess.DEVNULL)
        if status:
            return status
    processor = loaded(arguments)
    if processor.template is not None and processor.template.is_dated() and not arguments.quiet:
        say("the chat template writes the date: --set strftime_now=DATE makes the ids independent of the day")
    if arguments.scan:
        return scan(arguments, processor, arguments.output)[0]
    if arguments.dry_run:
        return dry_run(arguments, processor)
    wanted, folder = configuration(arguments, processor), f"{arguments.output.rstrip('/')}.rows"
    status = finished(arguments, wanted)
    if status is not None:
        if os.path.isdir(folder) and not arguments.keep_rows:
            shutil.rmtree(folder)   # the run that made the dataset was ended before it removed them
        return status
    times = [os.stat(path).st_mtime_ns for path in arguments.files]
    files = RowFiles(folder, arguments.files, {**wanted, "times": times, "plan": None})
    totals = write(arguments, processor, files)
    rows = files.rows
    check_complete(rows)
    there = {name for row in rows for name in row.fields}
    names = [TOKENS, *(form.field for form in processor.family.forms if isinstance(form, Steps) and form.field != TOKENS), MASK, POSITIONS]
    common = [name for name in names[1:] if name in there]
    own = sorted(there - set(names))
    about = {"multimodal": {**wanted, "chats": totals.chats, "skipped": dict(sorted(totals.reasons.items()))}}
    used = sorted({row.file for row in rows if row.id})
    config = files.finish(fields_yaml([files.tars[number] for number in used], common, own, bool(arguments.keep), about))
    status = pack(arguments, "-c", config)
    if status in (0, 3) and not arguments.keep_rows:
        files.remove()
    return status or (3 if totals.skipped and not arguments.skipped_ok else 0)


def main(argv: Optional[List[str]] = None) -> int:
    """Run a command line and return the exit status."""
    options = parser()
    arguments = options.parse_args(argv)
    check_scan(options, arguments)
    try:
        for path in arguments.files:
            if not os.path.isfile(path):
                raise MissingError("no such file", path)
        if not arguments.scan:
            tool()
        return run(arguments)
    except KeyboardInterrupt:
        say("interrupted; the same command goes on")
        return 130
    except (MissingError, OptionError, DependencyError) as error:
        say(str(error))
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())     # discard the buffered output, so that Python's exit does not fail
        say("the reader of the output closed the pipe")
        return 1
    except (Error, OSError, MemoryError) as error:
        say(str(error) or type(error).__name__)
        return 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
