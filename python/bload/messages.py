"""Chats as JSON lines: the messages and tools that a chat template gets, from OpenAI's form and ShareGPT's."""
from __future__ import annotations

import json
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .errors import Error

ROLES = "system", "developer", "user", "assistant", "tool", "function"
SHAREGPT = {"system": "system", "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant",
            "tool": "tool", "observation": "tool"}
SPEECH = "content", "tool_calls", "function_call", "reasoning_content", "reasoning", "thinking"

Message = Dict[str, Any]


class Chat(NamedTuple):
    """One line: what the template gets, and all keys of the line."""

    messages: List[Message]
    tools: Optional[List[Any]]
    keys: Dict[str, Any]


def parse(line: bytes) -> Chat:
    """The chat of a JSON line. Error: what is wrong with it; messages are counted from 0."""
    try:
        keys = json.loads(line)
    except UnicodeDecodeError as error:
        raise Error(f"not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise Error(f"not JSON: {error}") from None
    if not isinstance(keys, dict):
        raise Error("not an object with \"messages\" or \"conversations\"")
    messages = list(map(message, *parts(keys)))
    if not messages:
        raise Error("a chat without messages")
    return Chat(messages, tools(keys), keys)


def parts(keys: Dict[str, Any]) -> Tuple[range, List[Any], List[bool]]:
    """The numbers of the messages, the messages as they are, and whether they are in ShareGPT's form."""
    for name, sharegpt in ("messages", False), ("conversations", True):
        given = keys.get(name)
        if given is None:
            continue
        if not isinstance(given, list):
            raise Error(f"\"{name}\" is no list")
        # Some data sets keep OpenAI's form under the other name.
        return range(len(given)), given, [sharegpt and isinstance(one, dict) and "from" in one for one in given]
    raise Error("neither \"messages\" nor \"conversations\"")


def message(number: int, given: Any, sharegpt: bool) -> Message:
    """A message in OpenAI's form."""
    if not isinstance(given, dict):
        raise Error(f"message {number} is no object")
    role = given.get("from" if sharegpt else "role")
    if not isinstance(role, str) or role not in (SHAREGPT if sharegpt else ROLES):
        raise Error(f"message {number} has the role {json.dumps(role)}; known are {', '.join(SHAREGPT if sharegpt else ROLES)}")
    found = {"role": SHAREGPT[role], "content": given.get("value")} if sharegpt else given
    content = found.get("content")
    if content is not None and not isinstance(content, str) and not is_text(content):
        raise Error(f"the content of message {number} is neither a text nor a list of parts of the type text")
    if not any(found.get(key) for key in SPEECH) and (content is None or found["role"] == "assistant"):
        raise Error(f"message {number} ({found['role']}) has no content")
    if found.get("weight") not in (None, 0, 1):
        raise Error(f"the weight of message {number} is neither 0 nor 1")
    return found


def is_text(content: Any) -> bool:
    """Whether a content is a list of texts, in OpenAI's form."""
    return isinstance(content, list) and all(isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
                                             for part in content)


def tools(keys: Dict[str, Any]) -> Optional[List[Any]]:
    """The tools of a chat, which data sets of one type per column keep as JSON in a string."""
    given = keys.get("tools")
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else None
        except (ValueError, RecursionError) as error:
            raise Error(f"\"tools\" is no JSON: {error}") from None
    if given is not None and not (isinstance(given, list) and all(isinstance(tool, dict) for tool in given)):
        raise Error("\"tools\" is no list of objects")
    return given or None
