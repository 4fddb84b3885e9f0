"""Handle special tokens in the contents of a chat: parse them as Transformers does, split them like other text, or refuse the chat."""
from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Sequence, Tuple

from .errors import OptionError
from .messages import Chat, Unusable

# Keys whose values are identifiers, not text.
PLUMBING = "role", "type", "id", "tool_call_id"
THINK = "<think>", "</think>"
PRIVATE = 0xF0000       # the first of the characters that do not occur in texts


class Specials:
    """The treatment of special tokens in contents, chosen by --special-in-content.

    For "split", each special token in a content is disguised until the template has written its own: its first character is replaced by another
    one, so that positions in the text stay the same. The tokenizer that encodes the text knows special tokens only by their disguise.
    """

    def __init__(self, tokenizer: Any, template: str, choice: str) -> None:
        """Raise OptionError if the tokenizer cannot be changed in this way."""
        self.tokenizer, self.choice = tokenizer, choice
        special = {token.content: token.special for token in tokenizer.added_tokens_decoder.values()}
        names = [name for name, is_special in special.items() if name.strip() and name not in THINK and (is_special or name in template)]
        names.sort(key=len, reverse=True)
        self.disguised = {name: chr(PRIVATE + number) + name[1:] for number, name in enumerate(names)}
        self.plain = {other: name for name, other in self.disguised.items()}
        self.pattern = re.compile("|".join(map(re.escape, names)) or "(?!)")
        self.both = re.compile("|".join(map(re.escape, [*names, *self.plain])) or "(?!)")
        self.other = self.renamed() if choice == "split" else None

    def renamed(self) -> Any:
        """Return a copy of the tokenizer that knows special tokens by their disguise."""
        from tokenizers import Tokenizer

        whole: Dict[str, Any] = json.loads(self.tokenizer.backend_tokenizer.to_str())
        model, rename = whole["model"], self.disguised
        for token in whole["added_tokens"]:
            token["content"] = rename.get(token["content"], token["content"])
        vocabulary = model["vocab"]
        if isinstance(vocabulary, dict):
            model["vocab"] = {rename.get(name, name): number for name, number in vocabulary.items()}
        else:
            model["vocab"] = [[rename.get(name, name), score] for name, score in vocabulary]
        if model.get("unk_token") in rename:
            model["unk_token"] = rename[model["unk_token"]]
        other = Tokenizer.from_str(json.dumps({**whole, "truncation": None, "padding": None}))
        if any(other.token_to_id(new) != self.tokenizer.convert_tokens_to_ids(name) for name, new in rename.items()):
            raise OptionError("--special-in-content split: this tokenizer cannot distinguish its special tokens from text")
        return other

    def prepared(self, chat: Chat) -> Tuple[Chat, int]:
        """Return the chat, with disguised contents for "split".

        Returns
        -------
        tuple
            The chat, and how many special tokens its contents have.

        Raises
        ------
        Unusable
            The contents have special tokens, and the choice is to refuse them.
        """
        given = [chat.messages, chat.tools]
        found: List[str] = []
        changed = self.walk(given, found)
        if found and self.choice == "refuse":
            raise Unusable("special tokens in contents",
                           f"a content has the special token {found[0]}: accept it with --special-in-content parse or split")
        if found and self.choice == "split":
            chat = chat._replace(messages=changed[0], tools=changed[1])
        return chat, len(found)

    def walk(self, value: Any, found: List[str]) -> Any:
        """Return a value with disguised special tokens, and add those that occur to `found`."""
        if isinstance(value, str):
            here = self.pattern.findall(value)
            found += here
            return self.pattern.sub(lambda match: self.disguised[match.group()], value) if here else value
        if isinstance(value, list):
            return [self.walk(one, found) for one in value]
        if isinstance(value, dict):
            return {key: one if key in PLUMBING else self.walk(one, found) for key, one in value.items()}
        return value

    def encode(self, text: str) -> Tuple[List[int], Sequence[Tuple[int, int]]]:
        """Return the ids of a text, and the characters that each of them stands for."""
        if self.other is None:
            encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
            return encoded["input_ids"], encoded["offset_mapping"]
        swapped = self.both.sub(lambda match: self.disguised.get(match.group()) or self.plain[match.group()], text)
        found = self.other.encode(swapped, add_special_tokens=False)
        return found.ids, found.offsets
