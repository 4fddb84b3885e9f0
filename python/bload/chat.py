"""Convert chats to token ids and loss masks with the chat template of a model: lines of JSON for `bload pack`.

    python -m bload.chat --model DIR chats.jsonl |
        bload pack - --key input_ids --field loss_mask=loss_mask:u8 --tokenizer DIR/tokenizer.json -T 4096 -o dataset

The exit status is that of bload: 0 done, 1 failed, 2 wrong usage, 3 done, but chats were skipped.
"""
from __future__ import annotations

import argparse
import datetime
import functools
import json
import os
import signal
import sys
from collections import Counter
from typing import Any, BinaryIO, Dict, List, NamedTuple, Optional, Tuple

from ._core.command_line import Parser
from ._core.errors import Error, MissingError
from ._core.lines import Line, chunks
from ._core.losses import KINDS
from ._core.messages import Chat, Unusable
from ._core.rows import chats
from ._core.turns import Choices, Template, Tokens, load
from ._core.workers import Workers


class Result(NamedTuple):
    """The result for a row: the output, or the fault for which the row is skipped, and the reason by which skipped rows are counted."""

    lines: List[str]
    fault: str = ""
    reason: str = ""
    tokens: int = 0
    trained: int = 0
    counts: Dict[str, int] = {}


def convert(template: Template, arguments: argparse.Namespace, line: Line) -> Result:
    """Return the result for a row."""
    where = f"{line.path}:{line.number}"
    try:
        if line.fault:
            raise Unusable("rows that cannot be read", line.fault)
        found = [(chat, one) for chat in chats(line.text, arguments.pairs) for one in template.sequences(chat)]
    except Unusable as error:
        return Result([], f"{where}: {error.fault}", error.reason)
    except (TypeError, UnicodeError) as error:
        return Result([], f"{where}: a text is not Unicode: {error}", "not Unicode")
    counts: Dict[str, int] = Counter()
    for _, one in found:
        counts.update(one.counts)
    return Result([output(line, arguments.keep, chat, one) for chat, one in found], tokens=sum(len(one.ids) for _, one in found),
                  trained=sum(sum(one.mask) for _, one in found), counts=counts)


def output(line: Line, keep: List[str], chat: Chat, tokens: Tokens) -> str:
    """Return the output line of a sequence."""
    given = chat.keys.get("id")
    name = f"{line.path}#{line.offset}" if given is None else given
    out: Dict[str, Any] = {"id": name}
    out.update((key, chat.keys[key]) for key in keep if key in chat.keys)
    if chat.pair:
        out.update(id=f"{name}/{chat.pair}", pair=str(name), side=chat.pair)
    elif tokens.turn >= 0:
        out.update(id=f"{name}/{tokens.turn}")
    out.update(input_ids=tokens.ids, loss_mask=tokens.mask)
    return json.dumps(out, separators=(",", ":"))


class Tolerance:
    """The value of --max-failed: a number of chats, or a percentage, which can only be checked at the end."""

    def __init__(self, text: str):
        number = float(text[:-1]) if text.endswith("%") else int(text)
        if not 0 <= number or text.endswith("%") and number > 100:
            raise ValueError(text)
        self.percent, self.number = text.endswith("%"), number

    def exceeded(self, skipped: int, total: Optional[int]) -> bool:
        """Return whether too many chats were skipped. `total` is the number of all chats, once it is known."""
        if self.percent:
            return total is not None and skipped * 100 > self.number * total
        return skipped > self.number


def variable(text: str) -> Tuple[str, Any]:
    """Parse NAME=VALUE; VALUE is JSON, or else text."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ValueError(text)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def losses(text: str) -> List[str]:
    """Parse the list of --allow-loss."""
    found = text.split(",")
    if not set(found) <= set(KINDS):
        raise ValueError(text)
    return found


def at_least_one(text: str) -> int:
    """Parse a number from 1."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = Parser(prog="python -m bload.chat", description="Chats to token ids and loss masks: lines of JSON with id, "
                                   "input_ids and loss_mask on standard output, for bload pack.", allow_abbrev=False)
    add = made.add_argument
    add("files", nargs="+", metavar="FILE", help="chats: JSON Lines, a JSON array, or CSV, also as gzip or zstd; - is standard input")
    add("--model", required=True, metavar="DIR", help="a folder with tokenizer.json, tokenizer_config.json and a chat template")
    add("--train-on", choices=["assistant", "last", "all"], default="assistant",
        help="what loss_mask is 1 for: all turns of the assistant, the last one, or every token [assistant]")
    add("--turns", choices=["together", "each"], default="together",
        help="a sequence for each chat, or for each turn of the assistant with what the template shows before it [together]")
    add("--pairs", action="store_true", help="rows have chosen and rejected: two sequences each, with pair and side")
    add("--allow-loss", type=losses, default=[], metavar="KIND,...",
        help=f"what a template may leave out without the chat being skipped, but counted: {', '.join(KINDS)}")
    add("--special-in-content", choices=["parse", "split", "refuse"], default="parse",
        help="special tokens that contents have as text: taken as such, as by Transformers, split as other text, or the chat skipped [parse]")
    add("--template", metavar="NAME", help="which chat template, where the model has several")
    add("--set", action="append", default=[], type=variable, metavar="NAME=VALUE",
        help="a variable that the template sees, such as enable_thinking=false; VALUE is JSON, or else a text; strftime_now=2026-07-26 "
             "is the date that it writes")
    add("--keep", action="extend", type=lambda text: text.split(","), default=[], metavar="KEY,...", help="other keys of the input to keep")
    add("--workers", type=at_least_one, default=len(os.sched_getaffinity(0)), metavar="N", help="processes [as many as processors]")
    add("--on-error", choices=["skip", "fail"], default="skip", help="skip unusable chats, or end at the first [skip]")
    add("--max-failed", type=Tolerance, metavar="N|P%", help="end when more chats than this are unusable")
    add("--quiet", action="store_true", help="no summary")
    return made


def say(text: str) -> None:
    """Write a line to standard error."""
    print(f"bload.chat: {text}", file=sys.stderr, flush=True)


class Totals:
    """The counts of a run."""

    def __init__(self) -> None:
        self.chats = self.sequences = self.tokens = self.trained = self.skipped = 0
        self.reasons: Dict[str, int] = Counter()
        self.counts: Dict[str, int] = Counter()

    def add(self, result: Result) -> None:
        """Count the result for a row."""
        if result.fault:
            self.skipped += 1
            self.reasons[result.reason] += 1
            return
        self.chats += 1
        self.sequences += len(result.lines)
        self.tokens += result.tokens
        self.trained += result.trained
        for name, count in result.counts.items():
            self.counts[name] += count

    def report(self, is_quiet: bool) -> None:
        """Write the summary; losses and changes are written even if quiet."""
        for name, count in self.counts.items():
            if count:
                say(f"{name}: {count}")
        if is_quiet:
            return
        for reason, count in sorted(self.reasons.items(), key=lambda one: -one[1]):
            say(f"{count} skipped: {reason}")
        sequences = f" in {self.sequences} sequences" if self.sequences != self.chats else ""
        share = f" ({100 * self.trained / self.tokens:.1f} %)" if self.tokens else ""
        say(f"chats: {self.chats}{sequences}; tokens: {self.tokens}, of which {self.trained}{share} are trained on; skipped: {self.skipped}")


def write(template: Template, arguments: argparse.Namespace, out: BinaryIO) -> int:
    """Write all output and return the number of skipped chats; raise Error if more of them were skipped than allowed, or a worker ended."""
    totals = Totals()
    workers: Workers[Line, Result] = Workers(functools.partial(convert, template, arguments), arguments.workers)
    for result in workers.results(chunks(arguments.files)):
        totals.add(result)
        out.writelines(line.encode() + b"\n" for line in result.lines)
        if not result.fault:
            continue
        say(f"skipped {result.fault}")
        if arguments.on_error == "fail":
            raise Error("a chat is unusable; --on-error skip continues without it")
        if arguments.max_failed and arguments.max_failed.exceeded(totals.skipped, None):
            raise Error(f"{totals.skipped} chats are unusable: more than --max-failed allows")
    if arguments.max_failed and arguments.max_failed.exceeded(totals.skipped, totals.chats + totals.skipped):
        raise Error(f"{totals.skipped} of {totals.chats + totals.skipped} chats are unusable: more than --max-failed allows")
    totals.report(arguments.quiet)
    return totals.skipped


def main(argv: Optional[List[str]] = None) -> int:
    """Run a command line and return the exit status."""
    options = parser()
    arguments = options.parse_args(argv)
    if arguments.turns == "each" and (arguments.train_on != "assistant" or arguments.pairs):
        options.error("--turns each is for --train-on assistant, without --pairs")
    out = sys.stdout.buffer
    try:
        for path in arguments.files:
            if path != "-" and not os.path.exists(path):
                raise MissingError("no such file", path)
        choices = Choices(arguments.train_on, arguments.turns == "each", arguments.special_in_content, arguments.allow_loss)
        template = Template(load(arguments.model), arguments.template, dict(arguments.set), choices)
        if template.is_dated() and not arguments.quiet:
            say(f"the chat template writes the date: --set strftime_now={datetime.date.today()} makes the ids independent of the day")
    except Error as error:
        say(str(error))
        return 2
    try:
        try:
            skipped = write(template, arguments, out)
        except (Error, OSError, MemoryError, KeyboardInterrupt) as error:
            if not isinstance(error, BrokenPipeError):
                # Tell the reader of the pipe that the output is not complete.
                why = str(error) or type(error).__name__
                out.write(json.dumps({"error": f"bload.chat failed, and its output is incomplete: {why}"}).encode() + b"\n")
                out.flush()
            raise
        out.flush()
        return 3 if skipped else 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())     # discard the buffered output, so that Python's exit does not fail
        say("the reader of the output closed the pipe")
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    except (Error, OSError, MemoryError) as error:
        say(str(error) or type(error).__name__)
    return 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
