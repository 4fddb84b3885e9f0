"""The options and counts that the converters of chats have in common, bload.chat and bload.multimodal."""
from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .errors import Error
from .losses import KINDS

SPECIAL = {"parse": "taken as such, as by Transformers", "split": "split as other text", "refuse": "the chat skipped"}


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


def add_choices(add: Callable[..., Any], special: Sequence[str]) -> None:
    """Add the options that decide what templates write and what is learned. special: the choices for special tokens in contents."""
    add("--train-on", choices=["assistant", "last", "all"], default="assistant",
        help="what loss_mask is 1 for: all turns of the assistant, the last one, or every token [assistant]")
    add("--allow-loss", type=losses, default=[], metavar="KIND,...",
        help=f"what a template may leave out without the chat being skipped, but counted: {', '.join(KINDS)}")
    add("--special-in-content", choices=special, default="parse",
        help=f"special tokens that contents have as text: {', '.join(SPECIAL[one] for one in special[:-1])}, or {SPECIAL[special[-1]]} [parse]")
    add("--template", metavar="NAME", help="which chat template, where the model has several")
    add("--set", action="append", default=[], type=variable, metavar="NAME=VALUE",
        help="a variable that the template sees, such as enable_thinking=false; VALUE is JSON, or else a text; strftime_now=2026-07-26 "
             "is the date that it writes")
    add("--keep", action="extend", type=lambda text: text.split(","), default=[], metavar="KEY,...", help="other keys of the input to keep")


def add_limits(add: Callable[..., Any]) -> None:
    """Add the options that say what to do with unusable chats."""
    add("--on-error", choices=["skip", "fail"], default="skip", help="skip unusable chats, or end at the first [skip]")
    add("--max-failed", type=Tolerance, metavar="N|P%", help="end when more chats than this are unusable")
    add("-q", "--quiet", action="store_true", help="no summary")


class Totals:
    """The counts of a run."""

    def __init__(self, arguments: argparse.Namespace, say: Callable[[str], None]):
        """Remember on_error, max_failed and quiet, and the function that writes a line."""
        self.arguments, self.say = arguments, say
        self.chats = self.sequences = self.tokens = self.trained = self.skipped = 0
        self.reasons: Dict[str, int] = Counter()
        self.counts: Dict[str, int] = Counter()

    def add(self, sequences: int, tokens: int, trained: int, counts: Dict[str, int]) -> None:
        """Count a chat."""
        self.chats += 1
        self.sequences += sequences
        self.tokens += tokens
        self.trained += trained
        for name, count in counts.items():
            self.counts[name] += count

    def skip(self, fault: str, reason: str) -> None:
        """Name and count a skipped chat; raise Error if that ends the run."""
        self.skipped += 1
        self.reasons[reason] += 1
        self.say(f"skipped {fault}")
        if self.arguments.on_error == "fail":
            raise Error("a chat is unusable; --on-error skip continues without it")
        if self.arguments.max_failed and self.arguments.max_failed.exceeded(self.skipped, None):
            raise Error(f"{self.skipped} chats are unusable: more than --max-failed allows")

    def finish(self) -> None:
        """Write the summary; losses and changes are written even if quiet. Raises Error if too many chats were skipped."""
        total = self.chats + self.skipped
        if self.arguments.max_failed and self.arguments.max_failed.exceeded(self.skipped, total):
            raise Error(f"{self.skipped} of {total} chats are unusable: more than --max-failed allows")
        for name, count in self.counts.items():
            if count:
                self.say(f"{name}: {count}")
        if self.arguments.quiet:
            return
        for reason, count in sorted(self.reasons.items(), key=lambda one: -one[1]):
            self.say(f"{count} skipped: {reason}")
        sequences = f" in {self.sequences} sequences" if self.sequences != self.chats else ""
        share = f" ({100 * self.trained / self.tokens:.1f} %)" if self.tokens else ""
        self.say(f"chats: {self.chats}{sequences}; tokens: {self.tokens}, of which {self.trained}{share} are trained on; skipped: {self.skipped}")
