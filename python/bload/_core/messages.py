"""Normalize the messages of a chat for chat templates, from the forms of OpenAI, ShareGPT, axolotl, ms-swift and LLaMA-Factory."""
from __future__ import annotations

import json
from typing import Any, Dict, List, NamedTuple, Optional

from .errors import Error

# Names of roles, and the role that they mean. The role of a result is replaced when the template's own role is known.
ROLES = {"system": "system", "developer": "developer", "user": "user", "human": "user", "assistant": "assistant", "gpt": "assistant",
         "model": "assistant", "function_call": "assistant", "tool_call": "assistant", "tool": "tool", "observation": "tool",
         "tool_response": "tool", "function": "function", "ipython": "ipython", "environment": "environment"}
RESULTS = "tool", "function", "ipython", "environment"
REASONING = "reasoning_content", "reasoning", "thinking"
FLAGS = "weight", "train", "loss"
MEDIA = "image", "images", "video", "videos", "audio", "audios"
KINDS = "image", "video", "audio"   # types of parts

Message = Dict[str, Any]


class Unusable(Error):
    """Why a chat is skipped. reason: the fault without the details of this chat, by which skipped chats are counted."""

    def __init__(self, reason: str, fault: Optional[str] = None):
        super().__init__(fault or reason)
        self.reason = reason


class Chat(NamedTuple):
    """What the template gets, which messages are trained on if they are the assistant's, and all keys of the row.

    nulls: how many were removed from arguments and tools. pair: "chosen" or "rejected" in a preference.
    """

    messages: List[Message]
    trained: List[bool]
    tools: Optional[List[Any]]
    keys: Dict[str, Any]
    nulls: int = 0
    pair: str = ""


def message(number: int, given: Any, has_media: bool = False) -> Message:
    """Return a message as templates get it, without keys that are null.

    Parameters
    ----------
    number : int
        Its position, for error messages.
    given : Any
        The message in OpenAI's form, or ShareGPT's.
    has_media : bool
        Whether contents may have pictures, videos and sounds: parts whose type is image, video or audio.

    Raises
    ------
    Unusable
        It is not a message, or its role, content or reasoning is not supported.
    """
    if not isinstance(given, dict):
        raise Unusable("a message is not an object", f"message {number} is not an object")
    given = {key: value for key, value in given.items() if value is not None or key == "content"}
    if "from" in given and "role" not in given:
        given = {"role": given.pop("from"), "content": given.pop("value", None), **given}
    role = given.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise Unusable("an unknown role", f"message {number} has the role {json.dumps(role)}; the known roles are {', '.join(ROLES)}")
    if any(given.get(key) for key in MEDIA):
        raise Unusable("pictures, videos or sounds", f"message {number} has pictures, videos or sounds, which cannot be tokenized here")
    found = {**given, "role": ROLES[role]}
    if role in ("function_call", "tool_call"):
        found = call_of(number, found)
    if found.get("function_call"):
        if found.get("tool_calls"):
            raise Unusable("calls in two forms", f"message {number} has tool_calls and function_call")
        found["tool_calls"] = [{"type": "function", "function": found["function_call"]}]
    found.pop("function_call", None)
    check_content(number, found, has_media)
    said = [found[key] for key in REASONING if found.get(key)]
    if any(not isinstance(one, str) or one != said[0] for one in said):
        raise Unusable("reasoning that is not text", f"message {number} has reasoning that is not text, or differs from key to key")
    if found["role"] == "assistant" and not (found.get("content") or said or found.get("tool_calls") or found.get("function_calls")):
        raise Unusable("a message without content", f"message {number} ({role}) has no content")
    return found


def check_content(number: int, found: Message, has_media: bool) -> None:
    """Raise Unusable if the content is neither a text nor a list of texts, and of pictures, videos and sounds if the chat may have them."""
    content = found.get("content")
    if content is None:
        if found["role"] != "assistant":
            raise Unusable("a message without content", f"message {number} ({found['role']}) has no content")
    elif not isinstance(content, str) and not is_text(content, has_media):
        kinds = [part.get("type") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
        if any(isinstance(kind, str) and kind.startswith(("image", "video", "audio", "input_")) for kind in kinds):
            raise Unusable("pictures, videos or sounds",
                           f"message {number} has pictures, videos or sounds, which cannot be tokenized here")
        raise Unusable("a content that is not text",
                       f"the content of message {number} is neither a text nor a list of parts of the type text")


def call_of(number: int, found: Message) -> Message:
    """Return a message whose content is calls in JSON, an object or a list of objects with name and arguments, as tool_calls."""
    try:
        given = json.loads(found["content"])
    except (TypeError, ValueError, RecursionError) as error:
        raise Unusable("a call that is not JSON", f"message {number} is a call, but not JSON: {error}") from None
    calls = given if isinstance(given, list) else [given]
    return {**found, "content": "", "tool_calls": [{"type": "function", "function": one} for one in calls]}


def is_text(content: Any, has_media: bool) -> bool:
    """Return whether a content is a list of texts, in OpenAI's form, and of pictures, videos and sounds if has_media."""
    return isinstance(content, list) and all(isinstance(part, dict) and (
        part.get("type") == "text" and isinstance(part.get("text"), str) or has_media and part.get("type") in KINDS) for part in content)


def is_trained(number: int, found: Message) -> bool:
    """Return whether OpenAI's weight, axolotl's train and ms-swift's loss allow training; raise Unusable for other values than 0 and 1."""
    if found.get("train_detail"):
        raise Unusable("a part of a message to train on", f"message {number} has train_detail: training on parts of a message is not supported")
    wanted = True
    for flag in FLAGS:
        value = found.get(flag)
        if value not in (None, 0, 1):
            raise Unusable(f"{flag} is neither 0 nor 1", f"the {flag} of message {number} is neither 0 nor 1")
        wanted = wanted and value != 0
    if found.get("train") and found["role"] != "assistant":
        raise Unusable("a message to train on that is not the assistant's",
                       f"message {number} ({found['role']}) has a flag for training, but only messages of the assistant can be trained on")
    return wanted
