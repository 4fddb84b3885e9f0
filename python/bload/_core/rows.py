"""Read the chats of a row of a data set: messages, prompt and completion, Alpaca, preferences."""
from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Optional, Tuple

from .calls import clean_calls, tools
from .messages import MEDIA, Chat, Message, Unusable, is_trained, message

FORMS = "known are messages, conversations, prompt and completion, instruction and output, chosen and rejected"
# Keys whose values may be lists that a table stores as JSON text.
LISTS = "messages", "conversations", "prompt", "completion", "chosen", "rejected", "history"


def parsed(line: bytes) -> Dict[str, Any]:
    """Return the keys of a row, with lists that a table stores as JSON text; raise Unusable if the row is no JSON object."""
    try:
        keys = json.loads(line)
    except UnicodeDecodeError as error:
        raise Unusable("not UTF-8", f"not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise Unusable("not JSON", f"not JSON: {error}") from None
    if not isinstance(keys, dict):
        raise Unusable("no chat", f"not an object with a chat: {FORMS}")
    return {**keys, **{key: unquoted(keys[key]) for key in LISTS if isinstance(keys.get(key), str)}}


def chats(line: bytes, pairs: bool = False) -> List[Chat]:
    """Return the chats of a row of text alone, a JSON object; see chats_of."""
    return chats_of(parsed(line), pairs)


def chats_of(keys: Dict[str, Any], pairs: bool = False, has_media: bool = False) -> List[Chat]:
    """Return the chat of a row, or the two of a preference.

    Parameters
    ----------
    keys : dict
        The row, of `parsed`.
    pairs : bool
        Whether rows have chosen and rejected answers.
    has_media : bool
        Whether contents may have pictures, videos and sounds.

    Raises
    ------
    Unusable
        The row has no chat, or an unsupported one; messages are counted from 0.
    """
    for key in MEDIA:
        if keys.get(key):
            raise Unusable("pictures, videos or sounds", f"the row has \"{key}\", which cannot be tokenized here: its text refers to them")
    given, removed = tools(keys)
    found = []
    for pair, messages, begin in sides(keys, pairs):
        given_messages = [message(number, one, has_media) for number, one in enumerate(messages)]
        whole = with_system(keys, given_messages)
        begin += len(whole) - len(given_messages)
        if not whole:
            raise Unusable("a chat without messages")
        trained = [is_trained(number, one) and number >= begin for number, one in enumerate(whole)]
        cleaned = [clean_calls(number, one) for number, one in enumerate(whole)]
        found.append(Chat([one for one, _ in cleaned], trained, given, keys, removed + sum(count for _, count in cleaned), pair))
    return found


def unquoted(text: str) -> Any:
    """Return the messages, or pairs of texts, that a text contains as JSON; otherwise the text."""
    if not re.match(r"\s*\[\s*[\[{]", text):
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    is_list = all(isinstance(one, list) or isinstance(one, dict) and ("role" in one or "from" in one) for one in found)
    return found if is_list else text


def with_system(keys: Dict[str, Any], messages: List[Message]) -> List[Message]:
    """Return the messages, preceded by the system text that the row has in a key of its own."""
    system = keys.get("system")
    if system is None or system == "":
        return messages
    if not isinstance(system, str):
        raise Unusable("a system text that is not text", "\"system\" is not text")
    if not messages or messages[0]["role"] not in ("system", "developer"):
        return [{"role": "system", "content": system}, *messages]
    if messages[0].get("content") != system:
        raise Unusable("two system texts", "the row has one system text in \"system\", and another in message 0")
    return messages


def sides(keys: Dict[str, Any], pairs: bool) -> List[Tuple[str, List[Any], int]]:
    """Return for each chat of a row its side of a preference, its messages, and the first message that may be trained on."""
    if keys.get("label") is False:
        raise Unusable("an answer marked as bad", "\"label\" is false: the answer is marked as bad, and must not be trained on")
    if keys.get("chosen") is None or keys.get("rejected") is None:
        if pairs:
            raise Unusable("no preference", "the row lacks chosen or rejected, which --pairs needs")
        return [("", *single(keys))]
    if not pairs:
        raise Unusable("a preference", "the row has chosen and rejected: --pairs makes two sequences of it")
    before = prompt(keys)
    chosen, rejected = (completed(before, keys[side], side) for side in ("chosen", "rejected"))
    begin = len(before)
    if not before:
        while begin < min(len(chosen), len(rejected)) and chosen[begin] == rejected[begin]:
            begin += 1
    if chosen[begin:] == rejected[begin:]:
        raise Unusable("chosen and rejected are the same")
    return [("chosen", chosen, begin), ("rejected", rejected, begin)]


def single(keys: Dict[str, Any]) -> Tuple[List[Any], int]:
    """Return the messages of a row with one chat, and the first message that may be trained on."""
    for name in "messages", "conversations":
        if keys.get(name) is not None:
            if not isinstance(keys[name], list):
                raise Unusable("messages that are not a list", f"\"{name}\" is not a list")
            return keys[name], 0
    for name in "completion", "output":
        if keys.get(name) is not None and keys.get({"completion": "prompt", "output": "instruction"}[name]) is not None:
            before = prompt(keys)
            return completed(before, keys[name], name), len(before) if name == "completion" else 0
    raise Unusable("no chat", f"neither \"messages\" nor \"conversations\", nor another form of a chat: {FORMS}")


def prompt(keys: Dict[str, Any]) -> List[Any]:
    """Return the messages before an answer: prompt, Alpaca's instruction with its history, or messages; empty if the answers contain them."""
    for name in "prompt", "conversations", "messages":
        given = keys.get(name)
        if isinstance(given, list) and (name == "prompt" or not isinstance(keys.get("chosen"), list)):
            return given
        if name == "prompt" and isinstance(given, str):
            return [{"role": "user", "content": given}]
    instruction = keys.get("instruction")
    if instruction is None:
        return []
    texts = [text for text in (instruction, keys.get("input")) if text]
    history = keys.get("history") or []
    if not all(isinstance(text, str) for text in texts):
        raise Unusable("an instruction that is not text", "\"instruction\" or \"input\" is not text")
    if not (isinstance(history, list) and all(isinstance(turn, list) and len(turn) == 2 for turn in history)):
        raise Unusable("a history that is not a list of pairs", "\"history\" is not a list of pairs of question and answer")
    before = [{"role": role, "content": text} for turn in history for role, text in zip(("user", "assistant"), turn)]
    return [*before, {"role": "user", "content": "\n".join(texts)}]


def completed(before: List[Any], given: Any, name: str) -> List[Any]:
    """Return the messages of the prompt and of an answer: a text, a message, or a list that may begin with the prompt."""
    if isinstance(given, str):
        given = [{"role": "assistant", "content": given}]
    answer: Optional[List[Any]] = [given] if isinstance(given, dict) else given if isinstance(given, list) else None
    if not answer:
        raise Unusable("an answer without messages", f"\"{name}\" is neither a text nor messages")
    return answer if before and answer[:len(before)] == before else [*before, *answer]
