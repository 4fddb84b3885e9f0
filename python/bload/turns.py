"""A chat template at work: the token ids of a chat, and which of them are the assistant's.

Where a template marks what the assistant says, {% generation %}, the mask is that of Transformers. Most templates do not. Then a turn is
found by rendering parts of the chat, and only where strings prove it:

- It begins where the messages before it, rendered with the generation prompt, end, if the whole text begins with just these.
- It ends where the messages up to it, rendered, end, if the whole text begins with just these.

Templates that drop earlier thoughts, or end the last turn in another way, fit one or both not. Then the chat is rendered once more with
another content of that turn: what the two texts have in common around it, is not the turn.
"""
from __future__ import annotations

import os
import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .errors import DependencyError, Error, MissingError, OptionError
from .messages import Chat, Message

MARK = re.compile(r"\{%[-+]?\s*generation\s*[-+]?%\}")
Span = Tuple[int, int]


class Tokens(NamedTuple):
    """ids and mask have the same length. open_turns: those without an end token; straddling: tokens of both a turn and its surroundings."""

    ids: List[int]
    mask: List[int]
    open_turns: int = 0
    straddling: int = 0


class Template:
    """The chat template of a model's folder, with its tokenizer. The template sees variables."""

    def __init__(self, folder: str, name: Optional[str], variables: Dict[str, Any], train_on: str):
        """MissingError, OptionError: the folder does not exist, or has no tokenizer, or no template of that name."""
        self.tokenizer = load(folder)
        self.name = choose(self.tokenizer.chat_template, name, folder)
        self.variables, self.train_on = variables, train_on
        self.special = sorted(filter(str.strip, self.tokenizer.get_added_vocab()), key=len, reverse=True)
        # Of special tokens a template writes its own. The post-processor would take spaces from the offsets of byte-level tokenizers.
        from tokenizers.processors import ByteLevel

        self.tokenizer.backend_tokenizer.post_processor = ByteLevel(trim_offsets=False)

    def tokens(self, chat: Chat) -> Tokens:
        """Error: the template refuses the chat, or the mask cannot be proven."""
        text = self.render(chat, chat.messages)
        check_written(chat.messages, text)
        if self.train_on == "all":
            ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
            return Tokens(ids, [1] * len(ids))
        turns = [number for number, one in enumerate(chat.messages) if one["role"] == "assistant"]
        wanted = [number for number in (turns if self.train_on == "assistant" else turns[-1:]) if chat.messages[number].get("weight") != 0]
        if not wanted:
            raise Error("there is no message of the assistant to train on")
        if MARK.search(self.tokenizer.get_chat_template(self.name, chat.tools)):
            return self.marked(chat, text, turns, wanted)
        encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        spans = [self.turn(chat, text, number) for number in wanted]
        mask, straddling = masked(encoded["offset_mapping"], spans)
        return Tokens(encoded["input_ids"], mask, sum(not self.stops(text[begin:end]) for begin, end in spans), straddling)

    def marked(self, chat: Chat, text: str, turns: List[int], wanted: List[int]) -> Tokens:
        """The tokens by the marks of the template."""
        found = self.apply(chat, chat.messages, tokenize=True, return_dict=True, return_assistant_tokens_mask=True,
                           tokenizer_kwargs={"return_offsets_mapping": True})
        mask = list(found["assistant_masks"])
        if wanted != turns:
            # A mark does not say whose it is: it is a turn's from the end of the message before it, to that of the next turn's.
            ends = dict(zip(turns, turns[1:]))
            spans = [(self.prefix(chat, text, one), self.prefix(chat, text, ends[one]) if one in ends else len(text)) for one in wanted]
            mask = [int(one and any(begin <= at < end for begin, end in spans)) for one, (at, _) in zip(mask, found["offset_mapping"])]
        if not any(mask):
            raise Error("the chat template marks nothing that is to be trained on")
        return Tokens(found["input_ids"], mask)

    def prefix(self, chat: Chat, text: str, number: int) -> int:
        """Where the messages before that of number end in the text; behind the prompt, where they end in another way alone."""
        if number == 0:
            return 0
        for prompt in False, True:
            before = self.render(chat, chat.messages[:number], add_generation_prompt=prompt)
            if text.startswith(before):
                return len(before)
        raise Error(f"where message {number} begins cannot be proven: the template renders the messages before it in another way alone")

    def turn(self, chat: Chat, text: str, number: int) -> Span:
        """Where a message of the assistant begins and ends in the text of the chat."""
        before, upto = chat.messages[:number], chat.messages[:number + 1]
        if not before:
            raise Error("message 0 is of the assistant: where it begins is found by the prompt before it, and there is none")
        bare, prompt = self.render(chat, before), self.render(chat, before, add_generation_prompt=True)
        begin, end = len(prompt) if text.startswith(prompt) else -1, len(text)
        if begin >= 0 and prompt == bare:
            self.check_header(chat, before, prompt, chat.messages[number].get("content"))
        if len(upto) < len(chat.messages):
            alone = self.render(chat, upto)
            end = len(alone) if text.startswith(alone) else -1
        if begin < 0 or end < 0:
            head, tail = self.around(chat, chat.messages, number)
            if begin < 0 and text.startswith(head) and (prompt.startswith(head) or self.opened(head, bare, prompt)):
                begin = len(head)
            if end < 0 and text.endswith(tail):
                end = len(text) - len(tail) + self.ending(tail, self.around(chat, upto, number)[1])
        if begin < 0:
            shared = len(os.path.commonprefix([text, prompt]))
            raise Error(f"where message {number} begins cannot be proven: after {shared} characters the prompt before it goes on with "
                        f"{prompt[shared:shared + 20]!r}, but the chat with {text[shared:shared + 20]!r}; --set may give the template a "
                        "variable that makes both the same")
        if end < 0:
            raise Error(f"where message {number} ends cannot be proven: the template renders the messages up to it in another way alone")
        check_calls(upto[-1], number, text[begin:end])
        if begin >= end or lost(upto[-1], text[begin:end]):
            raise Error(f"the chat template does not write the content of message {number}")
        return begin, end

    def check_header(self, chat: Chat, before: List[Message], prompt: str, content: Any) -> None:
        """Error: the template has no generation prompt, but writes something before what the assistant says."""
        head, _ = self.around(chat, before + [{"role": "assistant", "content": content}], len(before))
        if not head.startswith(prompt) or head[len(prompt):].strip():
            raise Error("the chat template has no generation prompt, but writes "
                        f"{head[len(prompt):]!r} before what the assistant says: add it under add_generation_prompt, or marks")

    def opened(self, head: str, bare: str, prompt: str) -> bool:
        """Whether what is before a turn's content ends with all that the generation prompt adds, a special token among it."""
        added = prompt[len(bare):] if prompt.startswith(bare) else ""
        return head.endswith(added) and any(token in added for token in self.special)

    def ending(self, tail: str, alone: str) -> int:
        """How much of tail, what the text has after a turn's content, ends the turn; alone is what ends it as the last one."""
        if not alone:
            return 0
        common = os.path.commonprefix([tail, alone])
        stops = [common.rfind(token) + len(token) for token in self.special if token in common]
        if not stops:
            raise Error("how turns end cannot be proven: the template ends the last one in another way than the others")
        rest = common[max(stops):]
        return max(stops) + len(rest) - len(rest.lstrip())

    def around(self, chat: Chat, messages: List[Message], number: int) -> Tuple[str, str]:
        """What the template writes before and after the content of a message, which is replaced by another one."""
        name = "Placeholder"
        while name in str(messages):
            name += "X"
        content = [{"type": "text", "text": name}] if isinstance(messages[number].get("content"), list) else name
        text = self.render(chat, messages[:number] + [{**messages[number], "content": content}] + messages[number + 1:])
        if text.count(name) != 1:
            raise Error(f"where message {number} lies cannot be proven: the template does not write its content just once")
        head, tail = text.split(name)
        return head, tail

    def stops(self, turn: str) -> bool:
        return turn.rstrip().endswith(tuple(self.special))

    def render(self, chat: Chat, messages: List[Message], **options: Any) -> str:
        return str(self.apply(chat, messages, tokenize=False, **options))

    def apply(self, chat: Chat, messages: List[Message], **options: Any) -> Any:
        """apply_chat_template. Error: it raises."""
        try:
            return self.tokenizer.apply_chat_template(messages, tools=chat.tools, chat_template=self.name, **options, **self.variables)
        except MemoryError:
            raise
        except Exception as error:  # whatever a template, which is a program, may raise
            part = "" if len(messages) == len(chat.messages) else f" the first {len(messages)} messages alone, by which turns are found"
            raise Error(f"the chat template refuses{part}: {type(error).__name__ if not str(error) else error}") from None


def check_written(messages: List[Message], text: str) -> None:
    """Error: a template has left out a content, or does not know its form. Of OpenAI's parts some templates write Python's brackets."""
    for number, message in enumerate(messages):
        content = message.get("content")
        check_calls(message, number, text)
        if isinstance(content, list) and str(content) in text:
            raise Error(f"the chat template knows no lists of parts, as message {number} has: join their texts")
        if lost(message, text):
            form = ": it may want a list of parts" if isinstance(content, str) else ": it may want a text, not parts"
            raise Error(f"the chat template does not write the content of message {number} ({message['role']}){form}")


def lost(message: Message, text: str) -> bool:
    """Whether a content is not in the text. Templates change blanks, and may drop thoughts, and texts beside calls."""
    content = message.get("content")
    if not content or message.get("tool_calls") or message["role"] in ("tool", "function"):
        return False
    there = "".join(text.split())
    parts = [content] if isinstance(content, str) else [part["text"] for part in content]
    return any("".join(part.split("</think>")[-1].split()) not in there for part in parts)


def check_calls(message: Message, number: int, text: str) -> None:
    """Error: a template has left out a call of a function."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function", call) if isinstance(call, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str):
            raise Error(f"a call in message {number} has no name of a function")
        if name not in text:
            raise Error(f"the chat template does not write the call of {name} in message {number}")


def masked(offsets: Sequence[Span], spans: Sequence[Span]) -> Tuple[List[int], int]:
    """1 for each token that lies in a span; how many lie there in part only. Both are in order, and spans do not overlap."""
    mask, straddling, at = [0] * len(offsets), 0, 0
    for i, (begin, end) in enumerate(offsets):
        while at < len(spans) and spans[at][1] <= begin:
            at += 1
        if at == len(spans):
            break
        if spans[at][0] <= begin and end <= spans[at][1]:
            mask[i] = 1
        elif spans[at][0] < end:
            straddling += 1
    return mask, straddling


def load(folder: str) -> Any:
    """The tokenizer of a folder."""
    if not os.path.isdir(folder):
        raise MissingError("no such folder", folder)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    try:
        import jinja2  # noqa: F401
        import transformers
    except ImportError as error:
        raise DependencyError(f"chat templates need the package {error.name}: pip install 'bload[chat]'") from None
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise OptionError(f"no tokenizer can be loaded: {str(error).strip().splitlines()[0]}", folder) from None
    if not tokenizer.is_fast:
        raise OptionError("the tokenizer is none of a tokenizer.json, and does not say which text its tokens stand for", folder)
    return tokenizer


def choose(template: Any, name: Optional[str], folder: str) -> Optional[str]:
    """The name that apply_chat_template is called with. OptionError: the folder has no template, or none of that name."""
    if not template:
        raise OptionError("there is no chat template, neither chat_template.jinja nor chat_template in tokenizer_config.json: "
                          "take the folder of the chat model, or add one", folder)
    names = sorted(template) if isinstance(template, dict) else ["default"]
    if (name or "default") not in names:
        raise OptionError(f"{f'there is no chat template {name}' if name else 'which chat template?'}: --template is one of "
                          f"{', '.join(names)}", folder)
    return name if isinstance(template, dict) else None
