"""Tokenize a chat with a chat template, and find which tokens are the assistant's.

If a template marks the assistant's text with {% generation %}, the mask is that of Transformers. Most templates do not. Then a turn is
found by rendering parts of the chat, and only if strings prove its position:

- It begins where the rendered messages before it, with the generation prompt, end, if the whole text has them as a prefix.
- It ends where the rendered messages up to it end, if the whole text has them as a prefix.

If a template drops earlier thoughts, or ends the last turn in another way, one or both of these fail. Then the chat is rendered again with
another content of that turn: what both texts have in common before and after is outside of the turn.
"""
from __future__ import annotations

import importlib
import os
import re
from collections import Counter
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from .calls import functions
from .dates import fixed_date
from .errors import DependencyError, MissingError, OptionError
from .habits import USER, TemplateProbe
from .losses import NAMES, Found, Losses, unwritten
from .messages import Chat, Message, Unusable
from .specials import Specials

MARK = re.compile(r"\{%[-+]?\s*generation\s*[-+]?%\}")
STRADDLING = "tokens that straddle a turn's edge, and are not trained on"
Span = Tuple[int, int]


class Tokens(NamedTuple):
    """The token ids and the loss mask of a sequence, of the same length.

    counts: what was changed, lost or left out, by name. turn: the message that is trained on, if each turn has a sequence.
    """

    ids: List[int]
    mask: List[int]
    counts: Dict[str, int]
    turn: int = -1


class Written(NamedTuple):
    """What a template writes for a chat: the chat in the template's form, the text, what is lost, and counts by name."""

    chat: Chat
    text: str
    known: Found
    counts: Dict[str, int]


class Choices(NamedTuple):
    """The user's choices. train_on: assistant, last or all. special: parse, split or refuse. losses: the kinds that are accepted."""

    train_on: str = "assistant"
    each: bool = False
    special: str = "parse"
    losses: Iterable[str] = ()


class Template:
    """The chat template of a model's folder, with its tokenizer and the variables that the template sees."""

    def __init__(self, tokenizer: Any, name: Optional[str], variables: Dict[str, Any], choices: Choices = Choices()):
        """Take a tokenizer, and change its post-processor.

        Parameters
        ----------
        tokenizer : object
            The tokenizer, of `load`, with its chat template.
        name : str or None
            Which chat template, if there are several.
        variables : dict
            What the template sees; strftime_now is the date that it writes.
        choices : Choices
            What is trained on, and what may be lost.

        Raises
        ------
        OptionError
            There is no template of that name.
        """
        self.tokenizer = tokenizer
        self.name = choose(tokenizer.chat_template, name, tokenizer.name_or_path)
        self.choices = choices
        self.variables = {key: value for key, value in variables.items() if key != "strftime_now"}
        if "strftime_now" in variables:
            before, written = fixed_date(variables["strftime_now"]), self.tokenizer.chat_template
            self.tokenizer.chat_template = {key: before + text for key, text in written.items()} if isinstance(written, dict) \
                else before + written
        self.special = sorted(filter(str.strip, self.tokenizer.get_added_vocab()), key=len, reverse=True)
        # The template writes special tokens itself. The original post-processor would trim spaces from the offsets of byte-level tokens.
        from tokenizers.processors import ByteLevel

        self.tokenizer.backend_tokenizer.post_processor = ByteLevel(trim_offsets=False)
        self.specials = Specials(self.tokenizer, self.source(None) + self.source([{}]), choices.special)
        # Some models have a second template, for chats with tools.
        self.probes = {with_tools: TemplateProbe(self.render_text) for with_tools in (False, True)}
        self.losses = {with_tools: Losses(self.source([{}] if with_tools else None), self.render_text) for with_tools in (False, True)}

    def source(self, tools: Optional[List[Any]]) -> str:
        """Return the text of the template for chats with or without tools."""
        return str(self.tokenizer.get_chat_template(self.name, tools))

    def render_text(self, messages: List[Message], tools: Optional[List[Any]], prompt: bool = False) -> str:
        """Return the text of messages."""
        return self.render(Chat(messages, [], tools, {}), messages, add_generation_prompt=prompt)

    def is_dated(self) -> bool:
        """Return whether the template writes the current date."""
        if "strftime_now" not in self.source(None) + self.source([{}]):
            return False
        written = self.tokenizer.chat_template
        texts = []
        for day in "1901-02-03", "2099-11-30":
            before = fixed_date(day)
            self.tokenizer.chat_template = {key: before + text for key, text in written.items()} if isinstance(written, dict) \
                else before + written
            texts.append(self.probes[False].text([{"role": "user", "content": "?"}, {"role": "assistant", "content": "."}]))
        self.tokenizer.chat_template = written
        return texts[0] != texts[1]

    def sequences(self, chat: Chat) -> List[Tokens]:
        """Return the tokens of a chat; with --turns each, those of every turn of the assistant with the messages before it.

        Raises
        ------
        Unusable
            The template refuses the chat, or loses a part of it, or the mask cannot be proven.
        """
        if not self.choices.each:
            return [self.tokens(chat)]
        turns = self.wanted(chat)
        found = []
        for number in turns:
            upto = chat._replace(messages=chat.messages[:number + 1], trained=[False] * number + [True],
                                 nulls=chat.nulls if number == turns[-1] else 0)
            found.append(self.tokens(upto)._replace(turn=number))
        last = len(chat.messages) - 1 - turns[-1]
        if last:
            found[-1].counts["messages after the last turn that is trained on, which are in no sequence"] += last
        return found

    def wanted(self, chat: Chat) -> List[int]:
        """Return the messages to train on; raise Unusable if there are none."""
        turns = [number for number, one in enumerate(chat.messages) if one["role"] == "assistant"]
        found = [number for number in (turns[-1:] if self.choices.train_on == "last" else turns) if chat.trained[number]]
        if not found:
            raise Unusable("nothing to train on", "there is no message of the assistant to train on")
        return found

    def tokens(self, chat: Chat) -> Tokens:
        """Return the tokens of one sequence, or raise Unusable as `sequences` does."""
        written = self.written(chat)
        counts = Counter(written.counts)
        if self.choices.train_on == "all":
            ids = self.specials.encode(written.text)[0]
            return Tokens(ids, [1] * len(ids), counts)
        if self.marks(chat):
            return self.marked(written.chat, written.text, self.wanted(chat))._replace(counts=counts)
        ids, offsets = self.specials.encode(written.text)
        mask, straddling = mask_of(offsets, self.trained(written, counts))
        counts[STRADDLING] = straddling
        return Tokens(ids, mask, counts)

    def written(self, chat: Chat) -> Written:
        """Return what the template writes for a chat; raise Unusable if the template refuses the chat, or loses a part of it."""
        counts = Counter({"nulls in arguments and tools, which are removed": chat.nulls})
        chat = self.probes[bool(chat.tools)].adapted(chat)
        chat, found = self.specials.prepared(chat)
        counts["special tokens in contents" + {"parse": "", "split": ", which are split into the tokens of a text"}.get(
            self.choices.special, "")] = found
        text = self.render(chat, chat.messages)
        return Written(chat, text, self.check_losses(chat, text, counts), counts)

    def trained(self, written: Written, counts: Dict[str, int]) -> List[Span]:
        """Return the characters of the turns to train on, in order; raise Unusable if they are not proven. Counts turns without an end token."""
        turns = [self.spans(written.chat, written.text, number, written.known) for number in self.wanted(written.chat)]
        counts["turns without an end token, from which a model learns to stop"] = \
            sum(not self.stops(written.text[spans[0][0]:spans[0][1]]) for spans in turns)
        return sorted(span for spans in turns for span in spans)

    def marks(self, chat: Chat) -> bool:
        """Return whether the template marks the assistant's text."""
        return MARK.search(self.source(chat.tools)) is not None

    def check_losses(self, chat: Chat, text: str, counts: Dict[str, int]) -> Found:
        """Return the losses after counting the accepted ones; raise Unusable for any other."""
        found = self.losses[bool(chat.tools)].of(chat.messages, chat.tools, text)
        turns = [number for number, one in enumerate(chat.messages) if one["role"] == "assistant"]
        for kind, number in found.losses:
            if self.choices.each and kind in ("reasoning", "text") and number in turns[:-1]:
                continue        # the sequence of that turn contains it
            if kind not in self.choices.losses:
                raise Unusable(f"lost by the template: {NAMES[kind]}", loss_message(chat, kind, number, number in turns[:-1]))
            counts[f"chats or messages that lose {NAMES[kind]}"] = counts.get(f"chats or messages that lose {NAMES[kind]}", 0) + 1
        return found

    def marked(self, chat: Chat, text: str, wanted: List[int]) -> Tokens:
        """Return the tokens with the mask that the marks of the template give."""
        turns = [number for number, one in enumerate(chat.messages) if one["role"] == "assistant"]
        found = self.apply(chat, chat.messages, tokenize=True, return_dict=True, return_assistant_tokens_mask=True,
                           tokenizer_kwargs={"return_offsets_mapping": True})
        ids, offsets, mask = found["input_ids"], found["offset_mapping"], list(found["assistant_masks"])
        if self.choices.special == "split":
            spans = [span for one, span in zip(mask, offsets) if one]
            ids, offsets = self.specials.encode(text)
            mask = mask_of(offsets, merged(spans))[0]
        if wanted != turns:
            spans = self.ranges(chat, text, wanted)
            mask = [int(one and any(begin <= at < end for begin, end in spans)) for one, (at, _) in zip(mask, offsets)]
        if not any(mask):
            raise Unusable("nothing to train on", "the chat template marks no text to train on")
        return Tokens(ids, mask, {})

    def marked_spans(self, written: Written) -> List[Span]:
        """Return the marked characters of the turns to train on, in order; raise Unusable if there are none."""
        from transformers.utils.chat_template_utils import render_jinja_template

        chat = written.chat
        found: Any = render_jinja_template(
            conversations=[chat.messages], tools=chat.tools, chat_template=self.source(chat.tools), return_assistant_tokens_mask=True,
            **{**self.tokenizer.special_tokens_map, **self.variables})[1][0]
        ranges = self.ranges(chat, written.text, self.wanted(chat))
        spans = [(begin, end) for begin, end in found if begin < end and any(first <= begin < last for first, last in ranges)]
        if not spans:
            raise Unusable("nothing to train on", "the chat template marks no text to train on")
        return spans

    def ranges(self, chat: Chat, text: str, wanted: List[int]) -> List[Span]:
        """Return the characters from the start of each wanted turn to that of the next turn. A mark does not say to which turn it belongs."""
        turns = [number for number, one in enumerate(chat.messages) if one["role"] == "assistant"]
        if wanted == turns:
            return [(0, len(text))]
        ends = dict(zip(turns, turns[1:]))
        return [(self.prefix(chat, text, one), self.prefix(chat, text, ends[one]) if one in ends else len(text)) for one in wanted]

    def prefix(self, chat: Chat, text: str, number: int) -> int:
        """Return where the messages before a message end in the text, with the generation prompt if they do not end there without it."""
        if number == 0:
            return 0
        for prompt in False, True:
            before = self.render(chat, chat.messages[:number], add_generation_prompt=prompt)
            if text.startswith(before):
                return len(before)
        raise Unusable("the start of a turn is not proven",
                       f"the start of message {number} cannot be proven: the template renders the messages before it differently without it")

    def spans(self, chat: Chat, text: str, number: int, known: Found) -> List[Span]:
        """Return where a message of the assistant is in the text of the chat; raise Unusable if a part that the template writes is elsewhere."""
        found = self.divided_turn(chat, text, number) if number in known.divided else [self.turn(chat, text, number)]
        written = "".join(text[begin:end] for begin, end in found)
        kinds = [kind for kind, _ in unwritten(chat.messages[number:number + 1], None, written,
                                               [(kind, 0) for kind, lost in known.losses if lost == number])]
        if kinds or any(begin >= end for begin, end in found):
            what = NAMES[kinds[0]] if kinds else "content"
            raise Unusable("a turn without a part of its message",
                           f"the chat template writes the {what} of message {number} outside of its turn")
        return found

    def turn(self, chat: Chat, text: str, number: int) -> Span:
        """Return where a message begins and ends."""
        before, upto = chat.messages[:number], chat.messages[:number + 1]
        if not before:
            raise Unusable("a turn without a prompt",
                           "message 0 is the assistant's: its start cannot be found without a prompt before it")
        bare, prompt = self.render(chat, before), self.prompt(chat, before, text)
        begin, end = len(prompt) if text.startswith(prompt) else -1, len(text)
        if begin >= 0 and prompt == bare:
            begin += self.header(chat, before, prompt, chat.messages[number].get("content"))
        if len(upto) < len(chat.messages):
            alone = self.render(chat, upto)
            end = len(alone) if text.startswith(alone) else -1
        if begin < 0 or end < 0:
            head, tail = self.around(chat, chat.messages, number)
            if begin < 0 and text.startswith(head) and (prompt.startswith(head) or self.ends_with_prompt(chat, head, bare, prompt)):
                begin = len(head)
            elif begin < 0 and text.startswith(head) and head.rstrip() == prompt.rstrip():
                begin = len(head.rstrip())  # the prompt ends with other blanks than the chat, as that of LLaVA-OneVision
            if end < 0 and text.endswith(tail):
                end = len(text) - len(tail) + self.ending(tail, self.around(chat, upto, number)[1], bare, prompt)
        if begin < 0:
            shared = len(os.path.commonprefix([text, prompt]))
            raise Unusable("the start of a turn is not proven",
                           f"the start of message {number} cannot be proven: after {shared} characters the prompt before it continues with "
                           f"{prompt[shared:shared + 20]!r}, but the chat with {text[shared:shared + 20]!r}; --set may give the template a "
                           "variable that makes both the same")
        if end < 0:
            raise Unusable("the end of a turn is not proven",
                           f"the end of message {number} cannot be proven: the template renders the messages up to it differently without the rest")
        return begin, end

    def prompt(self, chat: Chat, before: List[Message], text: str) -> str:
        """Return the text of the messages before a turn, with the generation prompt.

        Some templates have two prompts, for turns with and without thoughts, and a variable that selects one.
        """
        first = self.render(chat, before, add_generation_prompt=True)
        if not text.startswith(first) and "enable_thinking" in self.source(chat.tools):
            for is_thinking in False, True:
                other = self.render(chat, before, add_generation_prompt=True, enable_thinking=is_thinking)
                if text.startswith(other):
                    return other
        return first

    def divided_turn(self, chat: Chat, text: str, number: int) -> List[Span]:
        """Return where a message is whose content follows the results of its calls: the calls, and the content."""
        message = chat.messages[number]
        if message.get("content") and message.get("tool_calls"):
            head, tail = self.around(chat, chat.messages, number)
            bare = chat._replace(messages=[*chat.messages[:number], {**message, "content": ""}, *chat.messages[number + 1:]])
            without = self.render(bare, bare.messages)
            begin, end = self.turn(bare, without, number)
            if without.startswith(head) and end <= len(head) and text.startswith(head) and text.endswith(tail):
                return [(begin, end), (len(head), len(text) - len(tail))]
        raise Unusable("a turn in several places", f"the chat template writes message {number} in several places, with others in between")

    def header(self, chat: Chat, before: List[Message], prompt: str, content: Any) -> int:
        """Return how many characters the template writes before the assistant's text if it has no generation prompt here.

        Raises Unusable if these characters are not the usual prompt.
        """
        head, _ = self.around(chat, before + [{"role": "assistant", "content": content}], len(before))
        written = head[len(prompt):]
        if not head.startswith(prompt) or written.strip() and written != self.usual_prompt(chat):
            raise Unusable("no generation prompt", f"the chat template has no generation prompt, but writes {written!r} before "
                           "the assistant's text: add it under add_generation_prompt, or mark that text")
        return len(written) if written.strip() else 0

    def usual_prompt(self, chat: Chat) -> str:
        """Return what the generation prompt adds to a question."""
        probe = self.probes[bool(chat.tools)]
        bare, prompt = probe.text([USER]), probe.text([USER], prompt=True)
        return prompt[len(bare):] if prompt.startswith(bare) else ""

    def ends_with_prompt(self, chat: Chat, head: str, bare: str, prompt: str) -> bool:
        """Return whether the text before a turn's content ends with all that the generation prompt adds, including a special token."""
        added = prompt[len(bare):] if prompt.startswith(bare) else ""
        added = added or self.usual_prompt(chat)
        return head.endswith(added) and any(token in added for token in self.special)

    def ending(self, tail: str, alone: str, bare: str, prompt: str) -> int:
        """Return how many characters of `tail`, the text after a turn's content, end the turn; `alone` ends it as the last turn."""
        if not alone:
            return 0
        common = os.path.commonprefix([tail, alone])
        stops = [common.rfind(token) + len(token) for token in self.special if token in common]
        if stops:
            rest = common[max(stops):]
            return max(stops) + len(rest) - len(rest.lstrip())
        # The last turn ends with another special token. The token that ends the others is in no header, and a special token follows it.
        added = prompt[len(bare):] if prompt.startswith(bare) else prompt
        for at in range(len(common), -1, -1):
            here, last = (next((token for token in self.special if one.startswith(token, at)), "") for one in (tail, alone))
            rest = tail[at + len(here):]
            if here and last and here not in added and any(token in rest for token in self.special):
                return at + len(here) + len(rest) - len(rest.lstrip())
        raise Unusable("the end of turns is not proven",
                       "the end of turns cannot be proven: the template ends the last one differently from the others")

    def around(self, chat: Chat, messages: List[Message], number: int) -> Tuple[str, str]:
        """Return what the template writes before and after the content of a message, found with a placeholder."""
        name = "Placeholder"
        while name in str(messages):
            name += "X"
        content = [{"type": "text", "text": name}] if isinstance(messages[number].get("content"), list) else name
        text = self.render(chat, messages[:number] + [{**messages[number], "content": content}] + messages[number + 1:])
        if text.count(name) != 1:
            raise Unusable("the position of a turn is not proven",
                           f"the position of message {number} cannot be proven: the template does not write its content exactly once")
        head, tail = text.split(name)
        return head, tail

    def stops(self, turn: str) -> bool:
        """Return whether a turn ends with a special token."""
        return turn.rstrip().endswith(tuple(self.special))

    def render(self, chat: Chat, messages: List[Message], **options: Any) -> str:
        """Return the text that the template writes for messages."""
        return str(self.apply(chat, messages, tokenize=False, **options))

    def apply(self, chat: Chat, messages: List[Message], **options: Any) -> Any:
        """Call apply_chat_template; raise Unusable if it raises."""
        try:
            return self.tokenizer.apply_chat_template(messages, tools=chat.tools, chat_template=self.name, **{**self.variables, **options})
        except MemoryError:
            raise
        except Exception as error:  # a template is a program, and may raise anything
            part = "" if len(messages) == len(chat.messages) else f" the first {len(messages)} messages alone, which are needed to find turns"
            why = str(error) or type(error).__name__
            raise Unusable(f"refused by the template: {why}", f"the chat template refuses{part}: {why}") from None


def loss_message(chat: Chat, kind: str, number: int, is_earlier: bool) -> str:
    """Return the message for a loss."""
    if number < 0:
        return f"the chat template does not write the {NAMES[kind]}: --allow-loss {kind} accepts that"
    message = chat.messages[number]
    what = f"the chat template does not write the {NAMES[kind]} of message {number} ({message['role']})"
    if kind == "calls":
        what += ", which calls " + ", ".join(str(one["name"]) for one in functions(number, message))
    if kind == "content":
        return what
    shown = ", which --turns each keeps" if kind in ("reasoning", "text") and is_earlier else ""
    return f"{what}{shown}: --allow-loss {kind} accepts that"


def merged(spans: List[Span]) -> List[Span]:
    """Return spans in order, with those that touch merged."""
    out: List[Span] = []
    for begin, end in spans:
        if out and begin <= out[-1][1]:
            out[-1] = out[-1][0], max(end, out[-1][1])
        else:
            out.append((begin, end))
    return out


def mask_of(offsets: Sequence[Span], spans: Sequence[Span]) -> Tuple[List[int], int]:
    """Return 1 for each token inside a span, else 0, and how many tokens straddle an edge. Tokens and spans are in order."""
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
    """Load the tokenizer of a folder."""
    if not os.path.isdir(folder):
        raise MissingError("no such folder", folder)
    transformers = packages("chat", "jinja2", "transformers")[-1]
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise OptionError(f"no tokenizer can be loaded: {str(error).strip().splitlines()[0]}", folder) from None
    if not tokenizer.is_fast:
        raise OptionError("the tokenizer has no tokenizer.json, and cannot map tokens to the text", folder)
    return tokenizer


def packages(extra: str, *names: str) -> List[Any]:
    """Import packages and return them, transformers without its advice; raise DependencyError if one is missing. extra: the one of bload with them."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    try:
        found: List[Any] = [importlib.import_module(name) for name in names]
    except ImportError as error:
        raise DependencyError(f"chats need the package {error.name}: pip install 'bload[{extra}]'") from None
    found[names.index("transformers")].utils.logging.set_verbosity_error()
    return found


def choose(template: Any, name: Optional[str], folder: str) -> Optional[str]:
    """Return the name that apply_chat_template is called with; raise OptionError if the folder has no template of that name."""
    if not template:
        raise OptionError("there is no chat template, neither chat_template.jinja nor chat_template in tokenizer_config.json: "
                          "take the folder of the chat model, or add one", folder)
    names = sorted(template) if isinstance(template, dict) else ["default"]
    if (name or "default") not in names:
        raise OptionError(f"{f'there is no chat template {name}' if name else 'there are several chat templates'}: --template must be one of "
                          f"{', '.join(names)}", folder)
    return name if isinstance(template, dict) else None
