"""Find out by small chats which forms a chat template takes: lists of parts, arguments of calls, the key of reasoning, names of roles."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from .calls import in_form
from .messages import REASONING, RESULTS, Chat, Message, Unusable

USER: Message = {"role": "user", "content": "Zqask"}
ANSWER: Message = {"role": "assistant", "content": "Zqanswer"}
NAME, KEY, VALUE = "zqname", "zqkey", "zqvalue"
RAW = f'{{"{KEY}": "{VALUE}"}}'
TOOL = {"name": NAME, "description": "Zqtool", "parameters": {"type": "object", "properties": {}}}


def calling(arguments: Any, **more: Any) -> Message:
    """Return a message of the assistant with a call."""
    call = {"id": "zqcall001", "type": "function", "function": {"name": NAME, "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call], **more}


class TemplateProbe:
    """The forms that a template takes, each found on first use. `render` raises Unusable if the template refuses a chat."""

    def __init__(self, render: Callable[[List[Message], Optional[List[Any]], bool], str]) -> None:
        self.render = render
        self.known: Dict[Tuple[str, str], Any] = {}

    def cached(self, name: str, find: Callable[[str], Any], given: str = "") -> Any:
        """Return an answer from the cache, or find it."""
        if (name, given) not in self.known:
            self.known[name, given] = find(given)
        return self.known[name, given]

    def text(self, messages: List[Message], tools: Optional[List[Any]] = None, prompt: bool = False) -> str:
        """Return what the template writes, or nothing if it refuses the messages."""
        if self.cached("wants parts", self.find_parts):
            messages = [in_parts(one) for one in messages]
        try:
            return self.render(messages, tools, prompt)
        except Unusable:
            return ""

    def adapted(self, chat: Chat) -> Chat:
        """Return the chat in the form that the template takes.

        Raises
        ------
        Unusable
            The chat has no such form: arguments are not an object, or a message has several parts and the template takes one text.
        """
        messages = [self.message(number, one) for number, one in enumerate(chat.messages)]
        tools = chat.tools
        if tools and any("function" not in tool for tool in tools) and self.cached("wraps", self.find_wraps):
            tools = [tool if "function" in tool else {"type": "function", "function": tool} for tool in tools]
        return chat._replace(messages=messages, tools=tools)

    def message(self, number: int, given: Message) -> Message:
        """Return a message with the role, reasoning, calls and content that the template takes."""
        role = given["role"]
        if role in RESULTS:
            role = self.cached("result", self.find_result, role)
        elif role == "developer":
            role = self.cached("developer", self.find_developer)
        out = {**given, "role": role}
        for key in REASONING:
            if given.get(key):
                said = out[key]
                out = {key: value for key, value in out.items() if key not in REASONING}
                out[self.cached("reasoning", self.find_reasoning, key)] = said
                break
        if out.get("tool_calls"):
            out = in_form(number, out, self.cached("arguments", self.find_arguments))
        if out.get("content") is None:
            out.pop("content", None)
            if self.cached("wants content", self.find_content):
                out["content"] = ""
        return self.with_content(number, out)

    def with_content(self, number: int, given: Message) -> Message:
        """Return a message whose content is a text or a list of parts, as the template takes it."""
        content = given.get("content")
        if isinstance(content, str) and self.cached("wants parts", self.find_parts):
            return in_parts(given)
        if isinstance(content, list) and not self.cached("takes parts", self.takes_parts):
            if len(content) != 1 or "text" not in content[0]:
                raise Unusable("lists of parts", f"the chat template does not take lists of parts, but message {number} has one: join their texts")
            return {**given, "content": content[0]["text"]}
        return given

    def find_parts(self, _: str) -> bool:
        """Return whether contents must be lists of parts."""
        def written(messages: List[Message]) -> bool:
            """Return whether the template writes question and answer."""
            try:
                return in_order(self.render(messages, None, False), "Zqask", "Zqanswer")
            except Unusable:
                return False
        return not written([USER, ANSWER]) and written([in_parts(USER), in_parts(ANSWER)])

    def takes_parts(self, _: str) -> bool:
        """Return whether contents may be lists of parts."""
        parts = [in_parts(USER), in_parts(ANSWER)]
        text = self.text(parts)
        return in_order(text, "Zqask", "Zqanswer") and str(parts[0]["content"]) not in text

    def find_wraps(self, _: str) -> bool:
        """Return whether the function of a tool must be below the key "function"."""
        def written(tool: Dict[str, Any]) -> bool:
            """Return whether the template writes the description of the tool."""
            return "Zqtool" in self.text([USER, ANSWER], [tool])
        return not written(TOOL) and written({"type": "function", "function": TOOL})

    def find_arguments(self, _: str) -> str:
        """Return the form of arguments that the template writes correctly: "object", "string", or "any" if both give the same."""
        from_object, from_string = (self.text([USER, calling(form)]) for form in ({KEY: VALUE}, RAW))
        if not from_object and not from_string:
            wrapped = [{"type": "function", "function": TOOL}]
            from_object, from_string = (self.text([USER, calling(form)], wrapped) for form in ({KEY: VALUE}, RAW))
        has_object = in_order(from_object, NAME, KEY, VALUE)
        if has_object and from_object == from_string:
            return "any"
        if has_object and str({KEY: VALUE}) not in from_object:
            return "object"
        return "string" if RAW in from_string else "object" if has_object else "any"

    def find_reasoning(self, given: str) -> str:
        """Return the key under which the template reads reasoning; the key of the chat if the template reads none."""
        for key in (given, *REASONING):
            if in_order(self.text([USER, {**ANSWER, key: "Zqthought"}]), "Zqask", "Zqthought", "Zqanswer"):
                return key
        for key in (given, *REASONING):
            if "Zqthought" in self.text([USER, calling({KEY: VALUE}, **{key: "Zqthought"})]):
                return key
        return given

    def find_result(self, given: str) -> str:
        """Return the role that the template knows for results of tools."""
        call = in_form(0, calling({KEY: VALUE}), self.cached("arguments", self.find_arguments))
        for role in (given, *RESULTS):
            result = {"role": role, "content": "Zqresult", "name": NAME, "tool_call_id": "zqcall001"}
            if in_order(self.text([USER, call, result, ANSWER]), "Zqask", "Zqresult", "Zqanswer"):
                return role
        return given

    def find_developer(self, _: str) -> str:
        """Return the role for a developer's message: "system" if the template knows only that one."""
        def written(role: str) -> bool:
            """Return whether the template writes the message for this role."""
            return in_order(self.text([{"role": role, "content": "Zqrule"}, USER, ANSWER]), "Zqrule", "Zqask", "Zqanswer")
        return "system" if not written("developer") and written("system") else "developer"

    def find_content(self, _: str) -> bool:
        """Return whether a message with calls must have a content, at least an empty one."""
        call = in_form(0, calling({KEY: VALUE}), self.cached("arguments", self.find_arguments))
        without = self.text([USER, {key: value for key, value in call.items() if key != "content"}])
        text = self.text([USER, call])
        return bool(text) and (not without or "None" in without or NAME in text and NAME not in without)


def in_parts(message: Message) -> Message:
    """Return a message whose text is a list of one part."""
    content = message.get("content")
    return {**message, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else message


def in_order(text: str, *words: str) -> bool:
    """Return whether each word is in the text, in order, and all but the first only once."""
    places = [text.find(word) for word in words]
    return min(places) >= 0 and places == sorted(places) and all(text.count(word) == 1 for word in words[1:])
