"""Chats to token ids and loss masks, by the chat template of a model: lines of JSON for `bload pack`.

    python -m bload.chat --model DIR chats.jsonl | bload pack - --key input_ids --field loss_mask=loss_mask:u8 -T 4096 -o dataset

The exit status is that of bload: 0 done, 1 failed, 2 wrong usage, 3 done, but chats were skipped.
"""
from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
from multiprocessing.connection import wait
from typing import Any, BinaryIO, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .command_line import Parser
from .errors import Error, MissingError
from .lines import Line, chunks
from .messages import parse
from .turns import Template


LOST = "a worker ended early, perhaps for want of memory: try fewer --workers"


class Result(NamedTuple):
    """What became of a line: output, or the fault for which it is skipped."""

    line: str
    fault: str
    counts: Tuple[int, ...] = (0, 0, 0, 0)     # tokens, those trained on, turns without an end token, straddling tokens


def convert(template: Template, keep: List[str], line: Line) -> Result:
    """The output for a line."""
    where = f"{line.path}:{line.number}"
    try:
        if line.fault:
            raise Error(line.fault)
        chat = parse(line.text)
        ids, mask, open_turns, straddling = template.tokens(chat)
    except Error as error:
        return Result("", f"{where}: {error.fault}")
    except (TypeError, UnicodeError) as error:
        return Result("", f"{where}: a text is not Unicode: {error}")
    given = chat.keys.get("id")
    out: Dict[str, Any] = {"id": f"{line.path}#{line.offset}" if given is None else given}
    out.update((key, chat.keys[key]) for key in keep if key in chat.keys)
    out.update(input_ids=ids, loss_mask=mask)
    return Result(json.dumps(out, separators=(",", ":")), "", (len(ids), sum(mask), open_turns, straddling))


def work(connection: Any, others: List[Any], template: Template, keep: List[str]) -> None:
    """A worker: converts chunks until there are no more, or the main process is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in others:    # inherited, and would keep the other workers waiting if the main process died
        other.close()
    try:
        while True:
            connection.send([convert(template, keep, line) for line in connection.recv()])
    except (EOFError, ConnectionError):
        pass


def results(template: Template, arguments: argparse.Namespace) -> Iterator[Result]:
    """The results of all lines, in order."""
    if arguments.workers == 1:
        for chunk in chunks(arguments.files):
            for line in chunk:
                yield convert(template, arguments.keep, line)
        return
    idle = start(template, arguments.keep, arguments.workers)
    busy: Dict[Any, int] = {}                   # which chunk a worker has: one, so that both never wait to send
    done: Dict[int, List[Result]] = {}
    first = 0                                   # the chunk whose results come next
    for number, chunk in enumerate(chunks(arguments.files)):
        # As many chunks as workers may wait for an earlier one, which bounds memory.
        while not idle or number - first >= 2 * arguments.workers:
            idle += collect(busy, done)
            while first in done:
                yield from done.pop(first)
                first += 1
        worker = idle.pop()
        try:
            worker.send(chunk)
        except ConnectionError:
            raise Error(LOST) from None
        busy[worker] = number
    while busy:
        idle += collect(busy, done)
    for number in sorted(done):
        yield from done[number]
    for worker in idle:
        worker.close()


def start(template: Template, keep: List[str], workers: int) -> List[Any]:
    """The connections to so many workers."""
    fork = multiprocessing.get_context("fork")     # the tokenizer is loaded once
    connections: List[Any] = []
    for _ in range(workers):
        here, there = fork.Pipe()
        fork.Process(target=work, args=(there, connections + [here], template, keep), daemon=True).start()
        there.close()
        connections.append(here)
    return connections


def collect(busy: Dict[Any, int], done: Dict[int, List[Result]]) -> List[Any]:
    """Waits until workers are done with their chunks; gives these workers. Error: one has ended."""
    ready = wait(list(busy))
    for worker in ready:
        done[busy.pop(worker)] = received(worker)
    return ready


def received(connection: Any) -> List[Result]:
    try:
        found: List[Result] = connection.recv()
        return found
    except (EOFError, ConnectionError):
        raise Error(LOST) from None


class Tolerance:
    """--max-failed: a number of chats, or a percentage, which is known at the end."""

    def __init__(self, text: str):
        number = float(text[:-1]) if text.endswith("%") else int(text)
        if not 0 <= number or text.endswith("%") and number > 100:
            raise ValueError(text)
        self.percent, self.number = text.endswith("%"), number

    def exceeded(self, skipped: int, total: Optional[int]) -> bool:
        """total: of all chats, once it is known."""
        if self.percent:
            return total is not None and skipped * 100 > self.number * total
        return skipped > self.number


def variable(text: str) -> Tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ValueError(text)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def at_least_one(text: str) -> int:
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def parser() -> argparse.ArgumentParser:
    made = Parser(prog="python -m bload.chat", description="Chats to token ids and loss masks: lines of JSON with id, "
                                   "input_ids and loss_mask on standard output, for bload pack.", allow_abbrev=False)
    add = made.add_argument
    add("files", nargs="+", metavar="FILE", help="JSON lines with messages or conversations; - is standard input, gzip is decompressed")
    add("--model", required=True, metavar="DIR", help="a folder with tokenizer.json, tokenizer_config.json and a chat template")
    add("--train-on", choices=["assistant", "last", "all"], default="assistant",
        help="what loss_mask is 1 for: all turns of the assistant, the last one, or every token [assistant]")
    add("--template", metavar="NAME", help="which chat template, where the model has several")
    add("--set", action="append", default=[], type=variable, metavar="NAME=VALUE",
        help="a variable that the template sees, such as enable_thinking=false; VALUE is JSON, or else a text")
    add("--keep", action="extend", type=lambda text: text.split(","), default=[], metavar="KEY,...", help="other keys of the input to keep")
    add("--workers", type=at_least_one, default=len(os.sched_getaffinity(0)), metavar="N", help="processes [as many as processors]")
    add("--on-error", choices=["skip", "fail"], default="skip", help="skip unusable chats, or end at the first [skip]")
    add("--max-failed", type=Tolerance, metavar="N|P%%", help="end when more chats than this are unusable")
    add("--quiet", action="store_true", help="no summary")
    return made


def say(text: str) -> None:
    print(f"bload.chat: {text}", file=sys.stderr, flush=True)


def write(template: Template, arguments: argparse.Namespace, out: BinaryIO) -> int:
    """Writes all output; gives the number of chats that were skipped. Error: more of them than allowed, or a worker ended."""
    chats, skipped = 0, 0
    counts: Tuple[int, ...] = (0, 0, 0, 0)
    for result in results(template, arguments):
        if not result.fault:
            out.write(result.line.encode() + b"\n")
            chats += 1
            counts = tuple(map(sum, zip(counts, result.counts)))
            continue
        skipped += 1
        say(f"skipped {result.fault}")
        if arguments.on_error == "fail":
            raise Error("a chat is unusable: --on-error skip goes on without such")
        if arguments.max_failed and arguments.max_failed.exceeded(skipped, None):
            raise Error(f"{skipped} chats are unusable: more than --max-failed allows")
    if arguments.max_failed and arguments.max_failed.exceeded(skipped, chats + skipped):
        raise Error(f"{skipped} of {chats + skipped} chats are unusable: more than --max-failed allows")
    tokens, trained, open_turns, straddling = counts
    if open_turns:
        say(f"turns that end without an end token, by which a model learns to stop: {open_turns}")
    if straddling:
        say(f"tokens of which only a part is a turn's, and which are not trained on: {straddling}")
    if not arguments.quiet:
        say(f"chats: {chats}; tokens: {tokens}, of which {trained} are trained on; skipped: {skipped}")
    return skipped


def main(argv: Optional[List[str]] = None) -> int:
    arguments = parser().parse_args(argv)
    out = sys.stdout.buffer
    try:
        for path in arguments.files:
            if path != "-" and not os.path.exists(path):
                raise MissingError("no such file", path)
        template = Template(arguments.model, arguments.template, dict(arguments.set), arguments.train_on)
    except Error as error:
        say(str(error))
        return 2
    try:
        try:
            skipped = write(template, arguments, out)
        except (Error, OSError, MemoryError, KeyboardInterrupt) as error:
            if not isinstance(error, BrokenPipeError):
                # A reader of the pipe must not take what came for all.
                why = str(error) or type(error).__name__
                out.write(json.dumps({"error": f"bload.chat ended early: {why}"}).encode() + b"\n")
                out.flush()
            raise
        out.flush()
        return 3 if skipped else 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())     # what is buffered has nowhere to go
        say("nobody reads the output any more")
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    except (Error, OSError, MemoryError) as error:
        say(str(error) or type(error).__name__)
    return 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
