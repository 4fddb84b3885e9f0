"""Find the pictures, videos and sounds of a chat, and give its messages the form that processors take.

A row names its media in parts of contents (Transformers, OpenAI), or in keys of its own, to which <image>, <video> and <audio> in the texts
refer in order (LLaVA, ShareGPT), or both (parts without a value, as datasets of TRL have them).
"""
from __future__ import annotations

import base64
import binascii
import os
import re
import shlex
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union
from urllib.parse import unquote, urlparse

from .messages import KINDS, Unusable

LISTS = "messages", "conversations", "prompt", "completion"
VALUES = "url", "path", "base64", "bytes"   # keys of a part beside that of its kind
EXTENSIONS = {
    "image": ("jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff", "ppm"),
    "video": ("mp4", "mkv", "webm", "mov", "avi", "m4v", "mpg", "ts"),
    "audio": ("wav", "flac", "mp3", "ogg", "opus", "m4a", "aac"),
}


class Medium(NamedTuple):
    """A picture, video or sound: its kind, where the row names it, and its path or its bytes."""

    kind: str
    where: str
    source: Union[str, bytes]

    def name(self) -> str:
        """Return what messages call it."""
        return self.source if isinstance(self.source, str) else f"{len(self.source)} bytes"


class Given(NamedTuple):
    """A value of a row that stands for a medium, and where the row has it."""

    where: str
    value: Any


class Finder:
    """Finds the media of a row.

    root : folder that relative paths start from. members: the files of the row's sample in a tar, by the part of their name behind the key.
    """

    def __init__(self, keys: Dict[str, Any], root: str, members: Optional[Dict[str, bytes]] = None):
        self.keys, self.root, self.members = keys, root, members or {}
        self.used: List[str] = []       # members that the chat names
        self.waiting = {kind: self.listed(kind) for kind in KINDS}
        # <video> and <audio> are also tags of HTML, and stay text unless the row has such files.
        kinds = [kind for kind in KINDS if kind == "image" or self.waiting[kind]]
        self.mark = re.compile(rf"\n?<({'|'.join(kinds)})>\n?")
        self.marks = {kind: 0 for kind in KINDS}    # marks, and parts without a value
        self.media: List[Medium] = []

    def listed(self, kind: str) -> List[Given]:
        """Return the media of a kind that the row lists in keys of its own, or that are members of its sample."""
        found = []
        for key in (kind, f"{kind}s"):
            value = self.keys.get(key)
            if value is not None and value != "":
                values = value if isinstance(value, list) else [value]
                found += [Given(f"\"{key}\"" + (f", item {number}" if isinstance(value, list) else ""), one) for number, one in enumerate(values)]
        if found or any(self.keys.get(key) for kind in KINDS for key in (kind, f"{kind}s")):
            return found
        return [Given(name, self.members[name]) for name in sorted(self.members) if name.rpartition(".")[2] in EXTENSIONS[kind]]

    def found(self) -> Tuple[Dict[str, Any], List[Medium]]:
        """Return the row without its media, whose messages have parts {"type": "image"} and so on, and the media in the order of these parts.

        Raises
        ------
        Unusable
            There are more or fewer marks than media, or a medium is not there, not a file, or on the web.
        """
        keys = {key: value for key, value in self.keys.items() if key not in KINDS and key not in [f"{kind}s" for kind in KINDS]}
        for name in LISTS:
            messages = keys.get(name)
            if isinstance(messages, str) and name in ("prompt", "completion"):
                raise Unusable("no messages", f"\"{name}\" is a text: chats with media need messages")
            if isinstance(messages, list):
                keys[name] = [self.message(f"message {number}", one) for number, one in enumerate(messages)]
        for kind in KINDS:
            count = sum(one.where not in self.used for one in self.waiting[kind])
            if self.marks[kind] != count:
                raise Unusable(f"another number of <{kind}> than of files",
                               f"the texts have {self.marks[kind]} <{kind}>, or parts without a value, but the row has {count} files of this kind")
        return keys, self.media

    def message(self, where: str, given: Any) -> Any:
        """Return a message whose content has parts for its media, which are appended to `media`."""
        name = next((name for name in ("content", "value") if isinstance(given, dict) and given.get(name) is not None), "")
        if not name:
            return given
        content = given[name]
        if isinstance(content, str):
            if not self.mark.search(content):
                return given
            return {**given, name: list(self.split(where, content))}
        if not isinstance(content, list):
            return given
        return {**given, name: [self.part(f"{where}, part {number}", one) for number, one in enumerate(content)]}

    def split(self, where: str, text: str) -> Iterator[Dict[str, Any]]:
        """Yield the parts of a text with marks. A line break beside a mark separates the medium from the text, and belongs to neither."""
        at = 0
        for match in self.mark.finditer(text):
            if text[at:match.start()]:
                yield {"type": "text", "text": text[at:match.start()]}
            yield self.next(where, match[1])
            at = match.end()
        if text[at:]:
            yield {"type": "text", "text": text[at:]}

    def part(self, where: str, given: Any) -> Any:
        """Return a part in the form {"type": kind} if it is a medium."""
        kind = given.get("type") if isinstance(given, dict) else None
        if not isinstance(kind, str):
            return given
        name = kind
        kind = kind[:-4] if kind.endswith("_url") else "audio" if kind == "input_audio" else kind
        if kind not in KINDS:
            return given
        values = {key: value for key, value in given.items() if key != "type" and value is not None}
        known = [key for key in (name, kind, f"{kind}_url", *VALUES) if key in values]
        others = set(values) - set(known) - {"text", "detail"}
        if others:
            raise Unusable(f"a part with {', '.join(sorted(others))}",
                           f"{where} has \"{sorted(others)[0]}\", which the processor does not take: set it in the processor's configuration")
        if not known:
            return self.next(where, kind)
        value = {"data": values["base64"]} if known[0] == "base64" else values[known[0]]
        self.media.append(self.medium(kind, Given(f"{where}, \"{known[0]}\"", value)))
        return {"type": kind}

    def next(self, where: str, kind: str) -> Dict[str, Any]:
        """Return a part for the next medium of the row."""
        waiting = [one for one in self.waiting[kind] if one.where not in self.used]
        if self.marks[kind] < len(waiting):
            self.media.append(self.medium(kind, waiting[self.marks[kind]]))
        self.marks[kind] += 1
        return {"type": kind}

    def medium(self, kind: str, given: Given) -> Medium:
        """Return the medium of a value: a path, a URL, bytes, base64, or an object with one of these; raise Unusable for others."""
        value = given.value
        if isinstance(value, dict):
            if isinstance(value.get("data"), str):      # base64, as of OpenAI's input_audio
                return Medium(kind, given.where, decoded(given.where, value["data"]))
            value = next((value[key] for key in ("bytes", "url", "path", kind) if value.get(key)), None)
        if isinstance(value, bytes):
            return Medium(kind, given.where, value)
        if isinstance(value, list):
            raise Unusable(f"a {kind} in several files", f"{given.where} is a list: a {kind} must be one file")
        if not isinstance(value, str) or not value:
            raise Unusable(f"a {kind} without a path", f"{given.where} is neither a path nor bytes of the kind {kind}")
        if re.match(r"(https?|s3|gs|hf|ftp)://", value):
            raise Unusable("media on the web", f"{given.where} is on the web: fetch it first, curl -fLO {shlex.quote(value)}, and give the path")
        if value.startswith("data:"):
            return Medium(kind, given.where, decoded(given.where, value.partition(",")[2]))
        if value.startswith("file://"):
            value = unquote(urlparse(value).path)
        member = self.member(value)
        if member is not None:
            return Medium(kind, given.where, member)
        return Medium(kind, given.where, self.path(kind, given.where, value))

    def member(self, value: str) -> Optional[bytes]:
        """Return the member of the sample that a value names, by its name or its extension; None: there is none.

        A member whose extension alone agrees stands for one value, because a second one would be another file.
        """
        for name in (value, os.path.basename(value).partition(".")[2], value.rpartition(".")[2]):
            if name in self.members and (name == value or name not in self.used):
                self.used.append(name)
                return self.members[name]
        return None

    def path(self, kind: str, where: str, value: str) -> str:
        """Return the path of a file; raise Unusable if there is no such file."""
        path = os.path.join(self.root, value)
        if os.path.isfile(path):
            return path
        raise Unusable(f"{kind}: no such file", f"{where}: there is no file {path}")


def decoded(where: str, text: str) -> bytes:
    """Return the bytes of base64; raise Unusable if it is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Unusable("not base64", f"{where} is not base64: {error}") from None
