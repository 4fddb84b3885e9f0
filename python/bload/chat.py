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
from typing import Any, BinaryIO, Dict, List, NamedTuple, Optional

from ._core.chat_options import Totals, add_choices, add_limits, at_least_one
from ._core.command_line import Parser
from ._core.errors import Error, MissingError
from ._core.lines import Line, chunks
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
        out.update(id=f"{name}/{chat.pair}", pair=str(name), side=chat.pair, chosen=int(chat.pair == "chosen"))
    elif tokens.turn >= 0:
        out.update(id=f"{name}/{tokens.turn}")
    out.update(input_ids=tokens.ids, loss_mask=tokens.mask)
    return json.dumps(out, separators=(",", ":"))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = Parser(prog="python -m bload.chat", description="Chats to token ids and loss masks: lines of JSON with id, "
                                   "input_ids and loss_mask on standard output, for bload pack.", allow_abbrev=False)
    add = made.add_argument
    add("files", nargs="+", metavar="FILE", help="chats: JSON Lines, a JSON array, or CSV, also as gzip or zstd; - is standard input")
    add("--model", required=True, metavar="DIR", help="a folder with tokenizer.json, tokenizer_config.json and a chat template")
    add("--turns", choices=["together", "each"], default="together",
        help="a sequence for each chat, or for each turn of the assistant with what the template shows before it [together]")
    add("--pairs", action="store_true", help="rows have chosen and rejected: two sequences each, with pair, side and chosen")
    add_choices(add, ["parse", "split", "refuse"])
    add("--workers", type=at_least_one, default=len(os.sched_getaffinity(0)), metavar="N", help="processes [as many as processors]")
    add_limits(add)
    return made


def say(text: str) -> None:
    """Write a line to standard error."""
    print(f"bload.chat: {text}", file=sys.stderr, flush=True)


def write(template: Template, arguments: argparse.Namespace, out: BinaryIO) -> int:
    """Write all output and return the number of skipped chats; raise Error if more of them were skipped than allowed, or a worker ended."""
    totals = Totals(arguments, say)
    workers: Workers[Line, Result] = Workers(functools.partial(convert, template, arguments), arguments.workers)
    for result in workers.results(chunks(arguments.files)):
        if result.fault:
            totals.skip(result.fault, result.reason)
            continue
        totals.add(len(result.lines), result.tokens, result.trained, result.counts)
        out.writelines(line.encode() + b"\n" for line in result.lines)
    totals.finish()
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
