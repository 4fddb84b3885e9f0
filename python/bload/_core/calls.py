"""Tools and their calls in chats: convert their forms, and remove nulls that a table format added."""
from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Tuple

from .messages import Message, Unusable

# Keys of a JSON schema whose value may be null. A null of another key was added by Arrow, because another row has the key.
NULLABLE = "default", "const"


def without_nulls(value: Any, keep: Tuple[str, ...] = ()) -> Tuple[Any, int]:
    """Return the value without keys that are null, except those in `keep`, and how many there were."""
    if isinstance(value, list):
        found = [without_nulls(one, keep) for one in value]
        return [one for one, _ in found], sum(count for _, count in found)
    if not isinstance(value, dict):
        return value, 0
    out, removed = {}, 0
    for key, one in value.items():
        if one is None and key not in keep:
            removed += 1
        else:
            out[key], count = without_nulls(one, keep)
            removed += count
    return out, removed


def functions(number: int, message: Message) -> List[Dict[str, Any]]:
    """Return the functions that a message calls, each with a name; raise Unusable if a call has none."""
    calls = message.get("tool_calls") or []
    found = [call.get("function", call) if isinstance(call, dict) else None for call in calls] if isinstance(calls, list) else [None]
    if not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in found):
        raise Unusable("a call without a function name", f"a call in message {number} has no function name")
    return [one for one in found if isinstance(one, dict)]


def clean_calls(number: int, message: Message) -> Tuple[Message, int]:
    """Return the message without nulls in the arguments of its calls, and how many there were."""
    called = functions(number, message)
    if not called:
        return {key: value for key, value in message.items() if key != "tool_calls"}, 0
    removed, made = 0, []
    for call, function in zip(message["tool_calls"], called):
        arguments, count = without_nulls(function.get("arguments"))
        if not isinstance(arguments, (dict, str, type(None))):
            raise Unusable("arguments that are not an object", f"the arguments of {function['name']} in message {number} are neither an object "
                           "nor a text with one")
        removed += count
        made.append(with_arguments(call, function, {} if arguments is None else arguments))
    return {**message, "tool_calls": made}, removed


def with_arguments(call: Dict[str, Any], function: Dict[str, Any], arguments: Any) -> Dict[str, Any]:
    """Return a call with other arguments, and without keys that are null."""
    new = {**function, "arguments": arguments}
    out = {**call, "function": new} if "function" in call else new
    return {key: value for key, value in out.items() if value is not None}


def parsed(text: str) -> Optional[Dict[str, Any]]:
    """Return the object that a text contains as JSON, one without keys for an empty text and for null, or None if it contains no object."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return {} if found is None else found if isinstance(found, dict) else None


def in_form(number: int, message: Message, wanted: str) -> Message:
    """Return the message with arguments in the form that a template takes.

    Parameters
    ----------
    number : int
        The position of the message, for error messages.
    message : Message
        A message, with or without calls.
    wanted : str
        "object", "string", or "any", which changes nothing.

    Raises
    ------
    Unusable
        Arguments are a text that does not contain a JSON object.
    """
    if wanted == "any" or not message.get("tool_calls"):
        return message
    made = []
    for call, function in zip(message["tool_calls"], functions(number, message)):
        arguments = function["arguments"]
        if wanted == "string" and not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        elif wanted == "object" and isinstance(arguments, str):
            arguments = parsed(arguments)
            if arguments is None:
                raise Unusable("arguments that are not an object", f"the arguments of {function['name']} in message {number} are not a JSON "
                               "object, but the chat template needs one")
        made.append(with_arguments(call, function, arguments))
    return {**message, "tool_calls": made}


def tools(keys: Dict[str, Any]) -> Tuple[Optional[List[Any]], int]:
    """Return the tools of a chat, and how many nulls were removed. A data set with one type per column may store tools as JSON in a string."""
    given = keys.get("tools") or keys.get("functions")
    was_text = isinstance(given, str)
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else None
        except (ValueError, RecursionError) as error:
            raise Unusable("tools that are not JSON", f"\"tools\" is not JSON: {error}") from None
    if not given:
        return None, 0
    if not isinstance(given, list):
        given = [None]
    found = [(parsed(tool), 0) if isinstance(tool, str) else (tool, 0) if was_text else without_nulls(tool, NULLABLE) for tool in given]
    if not all(isinstance(tool, dict) for tool, _ in found):
        raise Unusable("tools that are not a list of objects", "\"tools\" is not a list of objects")
    return [tool for tool, _ in found], sum(count for _, count in found)
