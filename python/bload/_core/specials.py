"""Special tokens that the contents of a chat have as text: parsed as Transformers does, split into the tokens of a text, or refused."""
from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Sequence, Tuple

from .errors import OptionError
from .messages import Chat, Unusable

# Keys that say what a string is, and no text.
PLUMBING = "role", "type", "id", "tool_call_id"
THINK = "<think>", "</think>"
PRIVATE = 0xF0000       # characters that texts do not have


class Specials:
    """For split, contents get a disguise of such a token until the template has written its own: another first character, so that places
    in the text stay as they are. The tokenizer that encodes the text knows special tokens by their disguise alone."""

    def __init__(self, tokenizer: Any, template: str, choice: str) -> None:
        """OptionError: of this tokenizer no other can be made."""
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
        """The tokenizer, but with special tokens under their disguise."""
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
            raise OptionError("--special-in-content split: this tokenizer has special tokens that cannot be told from text")
        return other

    def prepared(self, chat: Chat) -> Tuple[Chat, int]:
        """The chat, for split with disguised contents.

        Returns
        -------
        tuple
            The chat, and how many special tokens its contents have.

        Raises
        ------
        Unusable
            It has some, and the choice is to refuse them.
        """
        given = [chat.messages, chat.tools]
        found: List[str] = []
        changed = self.walk(given, found)
        if found and self.choice == "refuse":
            raise Unusable("special tokens in contents", f"a content has the special token {found[0]}: --special-in-content parse or split")
        if found and self.choice == "split":
            chat = chat._replace(messages=changed[0], tools=changed[1])
        return chat, len(found)

    def walk(self, value: Any, found: List[str]) -> Any:
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
        """The ids of a text, and which characters each stands for."""
        if self.other is None:
            encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
            return encoded["input_ids"], encoded["offset_mapping"]
        swapped = self.both.sub(lambda match: self.disguised.get(match.group()) or self.plain[match.group()], text)
        found = self.other.encode(swapped, add_special_tokens=False)
        return found.ids, found.offsets
