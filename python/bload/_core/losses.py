"""Find out which parts of a chat a template does not write.

Each string of the chat is replaced by a placeholder, and the chat is rendered: all placeholders must occur in the text, in order, and once.
Because templates also inspect contents, the strings themselves are looked for, too.
"""
from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from .calls import functions, parsed
from .messages import REASONING, RESULTS, Message, Unusable

# The values of --allow-loss. The content of messages may never be lost.
KINDS = "system", "reasoning", "text", "calls", "results", "tools", "schema"
NAMES = {"content": "content", "system": "system text", "reasoning": "reasoning", "text": "text beside calls", "calls": "calls of tools",
         "results": "results of tools", "tools": "tools", "schema": "details of the tools' schemas"}
THINK = re.compile(r"(</?think>)")
# Keys of a JSON schema whose value controls a template, or is not written literally.
STRUCTURE = "type", "format", "required", "$ref", "$schema", "$id"
NAMED = "properties", "patternProperties", "$defs", "definitions"
SHAPES = 4096           # how many shapes of chats are cached

# Keys of messages that OLMo alone has, whose texts its template writes literally.
NATIVE = {"functions": "tools", "function_calls": "calls"}
Loss = Tuple[str, int]  # a kind, and the number of a message; -1: tools


class Placeholder(NamedTuple):
    """A placeholder for a string. is_single: it must occur exactly once."""

    text: str
    kind: str
    number: int
    is_single: bool


class Found(NamedTuple):
    """What a template loses, and which messages it writes in several places, with others in between."""

    losses: List[Loss]
    divided: FrozenSet[int]
    fault: str


class PlaceholderChat:
    """A chat with placeholders instead of its strings."""

    def __init__(self, template: str) -> None:
        self.template, self.placeholders = template, [Placeholder("", "", 0, False)]
        self.names: Dict[str, str] = {}     # the placeholder for each name or id of a call

    def new(self, kind: str, number: int, is_single: bool = True) -> str:
        """Return a new placeholder."""
        self.placeholders.append(Placeholder(f"Zq{len(self.placeholders):06}k", kind, number, is_single))
        return self.placeholders[-1].text

    def text(self, given: str, kind: str, number: int, has_thoughts: bool = False) -> str:
        """Return a text with placeholders; blanks and tags of reasoning stay."""
        pieces = THINK.split(given)
        last = max((i for i, piece in enumerate(pieces) if piece == "</think>"), default=-1) if has_thoughts else -1
        return "".join(piece if not piece.strip() or i % 2 else self.new("reasoning" if i < last else kind, number)
                       for i, piece in enumerate(pieces))

    def message(self, number: int, given: Message) -> Message:
        """Return a message with placeholders."""
        kind = kind_of(given)
        out = {key: value for key, value in given.items() if key in ("role", "name") or key in self.template}
        out.update((key, given[key]) for key in ("tool_call_id", "name") if key in given)
        for key in REASONING:
            if key in given:
                out[key] = self.text(given[key], "reasoning", number)
        content, is_answer = given.get("content"), given["role"] == "assistant"
        if isinstance(content, str):
            out["content"] = self.text(content, kind, number, is_answer)
        elif isinstance(content, list):
            out["content"] = [{**part, "text": self.text(part["text"], kind, number, is_answer)} if "text" in part else part for part in content]
        for key in (key for key in NATIVE if isinstance(given.get(key), str)):
            out[key] = self.text(given[key], NATIVE[key], number)
        if "tool_calls" in given:
            out["tool_calls"] = [self.call(number, call) for call in given["tool_calls"]]
        for key in "tool_call_id", "name":
            if key in out:
                out[key] = self.names.get(str(out[key]), out[key])
        return out

    def call(self, number: int, given: Dict[str, Any]) -> Dict[str, Any]:
        """Return a call with placeholders."""
        function = given.get("function", given)
        name = self.names[function["name"]] = self.new("calls", number, False)
        arguments = function["arguments"]
        if isinstance(arguments, str):
            found = parsed(arguments)
            arguments = self.text(arguments, "calls", number) if found is None else arguments if not found \
                else json.dumps(self.value(number, found), ensure_ascii=False)
        else:
            arguments = self.value(number, arguments)
        out = {**function, "name": name, "arguments": arguments}
        if "function" in given:
            out = {**given, "function": out}
        if out.get("id") is not None:
            new = f"{len(self.names):09}"
            self.names[str(out["id"])], out["id"] = new, new
        return out

    def value(self, number: int, given: Any) -> Any:
        """Return an argument with placeholders for strings, numbers and keys."""
        if isinstance(given, dict):
            return {self.new("calls", number): self.value(number, one) for key, one in given.items()}
        if isinstance(given, list):
            return [self.value(number, one) for one in given]
        if isinstance(given, str):
            return self.text(given, "calls", number)
        if isinstance(given, bool) or given is None:
            return given
        digits = 7 * 10 ** 12 + len(self.placeholders)
        numeral = digits if isinstance(given, int) else digits + 0.5
        self.placeholders.append(Placeholder(str(numeral), "calls", number, True))
        return numeral

    def tool(self, given: Any, key: str = "") -> Any:
        """Return a tool with placeholders, or a part of its schema, which is below a key."""
        if isinstance(given, list):
            return [self.tool(one, key) for one in given]
        if isinstance(given, str):
            if key in STRUCTURE or not given.strip():
                return given
            return self.new("tools" if key in ("name", "description", "enum") else "schema", -1, False)
        if not isinstance(given, dict):
            return given
        renamed = {name: self.new("tools", -1, False) for below in NAMED if isinstance(given.get(below), dict) for name in given[below]}
        out: Dict[str, Any] = {}
        for name, one in given.items():
            if name in NAMED and isinstance(one, dict):
                out[name] = {renamed[inner]: self.tool(schema) for inner, schema in one.items()}
            elif name == "required" and isinstance(one, list):
                out[name] = [renamed.get(inner, inner) if isinstance(inner, str) else inner for inner in one]
            else:
                out[name] = self.tool(one, name)
        return out

    def found(self, text: str) -> Found:
        """Return which placeholders the text lacks, or has in another place."""
        losses: List[Loss] = []
        places: List[Tuple[int, int]] = []
        at, fault = 0, ""
        for one in self.placeholders[1:]:
            count = text.count(one.text)
            if not count:
                losses.append((one.kind, one.number))
                continue
            if one.is_single and count > 1:
                fault = fault or f"the chat template writes {NAMES[one.kind]} of message {one.number} {count} times"
            if one.number < 0:
                continue
            where = text.find(one.text, 0 if one.kind == "text" else at)
            places.append((where if where >= 0 else text.find(one.text), one.number))
            if where < 0:
                fault = fault or f"the chat template writes {NAMES[one.kind]} of message {one.number} out of order"
            elif one.kind != "text":
                at = where
        order = [number for _, number in sorted(places)]
        runs = [number for i, number in enumerate(order) if i == 0 or order[i - 1] != number]
        return Found(sorted(set(losses), key=losses.index), frozenset(one for one in runs if runs.count(one) > 1), fault)


class Losses:
    """What a template loses, cached by the shape of a chat: the chat with placeholders, which many chats share."""

    def __init__(self, template: str, render: Callable[[List[Message], Optional[List[Any]]], str]) -> None:
        self.template, self.render = template, render
        self.known: Dict[bytes, Found] = {}

    def of(self, messages: List[Message], tools: Optional[List[Any]], text: str) -> Found:
        """Return what is lost of a chat.

        Parameters
        ----------
        messages, tools
            The chat in the form that the template takes.
        text : str
            What the template writes for it.

        Raises
        ------
        Unusable
            The template refuses the placeholders, or writes something twice, or out of order.
        """
        placeholders = PlaceholderChat(self.template)
        shaped_tools = [placeholders.tool(tool) for tool in tools] if tools else None
        shaped = [placeholders.message(number, one) for number, one in enumerate(messages)]
        shape = hashlib.blake2b(json.dumps([shaped, shaped_tools]).encode()).digest()
        found = self.known.get(shape)
        if found is None:
            try:
                found = placeholders.found(self.render(shaped, shaped_tools))
            except Unusable as error:
                found = Found([], frozenset(), f"what the chat template writes cannot be verified: with other texts {error.fault}")
            if len(self.known) >= SHAPES:
                self.known.clear()
            self.known[shape] = found
        if found.fault:
            raise Unusable("written twice, or out of order", found.fault)
        return found._replace(losses=found.losses + unwritten(messages, tools, text, found.losses))


def kind_of(message: Message) -> str:
    """Return the kind of loss if the content of a message is lost."""
    role = message["role"]
    if role in ("system", "developer"):
        return "system"
    return "results" if role in RESULTS else "text" if message.get("tool_calls") else "content"


def said(number: int, message: Message) -> Iterator[Tuple[str, str]]:
    """Yield the strings of a message, in order, each with its kind."""
    for key in REASONING:
        if message.get(key):
            yield "reasoning", message[key]
            break
    content = message.get("content") or ""
    for text in [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]:
        before, tag, rest = text.rpartition("</think>") if message["role"] == "assistant" else ("", "", text)
        for piece in THINK.split(before)[::2] if tag else []:
            yield "reasoning", piece
        yield kind_of(message), rest
    yield from ((kind, message[key]) for key, kind in NATIVE.items() if isinstance(message.get(key), str))
    for function in functions(number, message):
        yield "calls", function["name"]
        yield from (("calls", text) for text in leaves(function["arguments"]))


def leaves(value: Any) -> Iterator[str]:
    """Yield the strings of a value, keys among them."""
    if isinstance(value, str):
        yield value
    for one in value if isinstance(value, list) else value.values() if isinstance(value, dict) else []:
        yield from leaves(one)
    if isinstance(value, dict):
        yield from value


def unwritten(messages: List[Message], tools: Optional[List[Any]], text: str, known: Sequence[Loss] = ()) -> List[Loss]:
    """Return the losses that show in the text itself, except those that are known.

    A template may change the blanks of a string, and may write it escaped as in JSON.
    """
    there, at = "".join(text.split()), 0
    losses: List[Loss] = []
    for number, message in enumerate(messages):
        for kind, one in said(number, message):
            if (kind, number) in known or (kind, number) in losses:
                continue
            ordered = kind in ("content", "reasoning", "results")
            end = find(one, there, at if ordered else 0)
            if end < 0 and kind == "calls" and parsed(one) is not None:
                end = min((find(leaf, there, 0) for leaf in leaves(parsed(one))), default=0)
            if end < 0:
                losses.append((kind, number))
            elif ordered:
                at = end
    for tool in tools or []:
        function = tool.get("function", tool)
        texts = [function[key] for key in ("name", "description") if isinstance(function.get(key), str)]
        if ("tools", -1) not in [*known, *losses] and any(find(text, there, 0) < 0 for text in texts):
            losses.append(("tools", -1))
    return losses


def find(one: str, there: str, at: int) -> int:
    """Return where a string ends in a text without blanks, from a position on, or -1."""
    one = one.strip()
    bare = "".join(one.split())
    place = there.find(bare, at)
    if place >= 0:
        return place + len(bare)
    for escaped in escapes(one):
        escaped = "".join(escaped.split())
        place = there.find(escaped, at)
        if place >= 0:
            return place + len(escaped)
    return -1


def escapes(one: str) -> Iterator[str]:
    """Yield a string as JSON, Python and HTML escape it."""
    yield json.dumps(one, ensure_ascii=False)[1:-1]
    yield json.dumps(one)[1:-1]
    python = one.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    yield python.replace("'", "\\'")
    yield python.replace("\t", "\\t")
    html = one.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    yield html
    yield html.replace('"', "&#34;").replace("'", "&#39;")
