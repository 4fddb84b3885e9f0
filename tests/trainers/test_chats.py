"""Chats by the released templates that TRL has: what a row says is in its ids once and in order, as Transformers renders it, or the chat
is skipped with the reason. At the end stands what each template carries."""
import collections
import functools
import glob
import importlib.util
import json
import os
import re
import sys
import tempfile
import unittest

import chats
import transformers
from bload._core.messages import Unusable
from bload._core.rows import chats as parsed
from bload._core.turns import Choices, Template, load
from harness import each, expand

PATHS = {os.path.basename(path)[:-6]: path for path in sorted(
    glob.glob(os.path.join(os.path.dirname(importlib.util.find_spec("trl").origin), "chat_templates/*.jinja")))}
TOKEN = re.compile(r"<[|｜][A-Za-z_▁]+[|｜]>|<\|[a-z_]+>|<[a-z_]+\|>")
ASK = {"role": "user", "content": "Sagequery?"}
END = {"role": "assistant", "content": "Finalword."}
TOOL = {"type": "function", "function": {"name": "lookup_name", "description": "Tooltext here", "parameters": {
    "type": "object", "properties": {"parameter": {"type": "string", "description": "Innertext", "enum": ["Choice"]}}, "required": []}}}


def call(arguments, **extra):
    calls = [{"id": "call00001", "type": "function", "function": {"name": "lookup_name", "arguments": arguments}}]
    return {"role": "assistant", "content": "", "tool_calls": calls, **extra}


THOUGHT = {"role": "assistant", "content": "Middleword.", "reasoning_content": "Firstthought"}
RESULT = {"role": "tool", "name": "lookup_name", "tool_call_id": "call00001", "content": "Foundvalue"}
OLD = {"role": "assistant", "content": "", "function_call": {"name": "lookup_name", "arguments": "{\"key\": \"Argvalue\"}"}}
ARGUMENTS = {"key": "Argvalue"}
# What a chat says, and all that must be in its ids, in order.
SAID = {
    "system": ({"messages": [{"role": "system", "content": "Rulestext."}, ASK, END]}, "Rulestext. Sagequery? Finalword."),
    "top": ({"system": "Rulestext.", "messages": [ASK, END]}, "Rulestext. Sagequery? Finalword."),
    "reasoning": ({"messages": [ASK, {**THOUGHT}]}, "Sagequery? Firstthought Middleword."),
    "earlier": ({"messages": [ASK, THOUGHT, {"role": "user", "content": "Nextquery"}, {**THOUGHT, "content": "Lastword",
                "reasoning_content": "Secondthought"}]}, "Sagequery? Firstthought Middleword. Nextquery Secondthought Lastword"),
    "tools": ({"messages": [ASK, END], "tools": [TOOL]}, "Sagequery? Finalword."),
    "calls": ({"messages": [ASK, call(ARGUMENTS)]}, "Sagequery? lookup_name key Argvalue"),
    "string": ({"messages": [ASK, call(json.dumps(ARGUMENTS))]}, "Sagequery? lookup_name key Argvalue"),
    "old": ({"messages": [ASK, OLD]}, "Sagequery? lookup_name key Argvalue"),
    "results": ({"messages": [ASK, call(ARGUMENTS), RESULT, END]}, "Sagequery? lookup_name key Argvalue Foundvalue Finalword."),
    "text": ({"messages": [ASK, call(ARGUMENTS, content="Besideword."), RESULT, END]},
             "Sagequery? lookup_name key Argvalue Foundvalue Finalword."),
}
COLUMNS = [*SAID, "each"]
# How many templates carry it at least: as many as Transformers renders it with.
LEAST = {"system": 64, "top": 64, "reasoning": 30, "earlier": 8, "tools": 46, "calls": 46, "string": 46, "old": 46, "results": 46, "text": 40,
         "each": 30}


@functools.lru_cache(None)
def folder(name):
    with open(PATHS[name]) as file:
        template = file.read()
    special = [*chats.SPECIAL, *sorted({*TOKEN.findall(template)} - {*chats.SPECIAL})]
    return chats.model(os.path.join(tempfile.mkdtemp(), "model"), template, special)


@functools.lru_cache(None)
def template(name, train_on, is_each=False):
    return Template(load(folder(name)), None, {}, Choices(train_on, is_each))


@functools.lru_cache(None)
def outcome(name, kind, train_on="assistant"):
    """The sequences of a chat, or why there are none."""
    chat, = parsed(json.dumps(SAID["earlier" if kind == "each" else kind][0]).encode())
    try:
        return template(name, train_on, kind == "each").sequences(chat)
    except Unusable as error:
        return error.fault


def rendered(name, kind):
    """What Transformers makes of the row as it is."""
    row = SAID[kind][0]
    try:
        return transformers.AutoTokenizer.from_pretrained(folder(name)).apply_chat_template(
            row["messages"], tools=row.get("tools"), tokenize=False)
    except Exception:  # whatever a template raises
        return ""


def in_order(text, words):
    at = 0
    for word in words.split():
        at = text.find(word, at)
        if at < 0:
            return False
    return True


@expand
class Released(unittest.TestCase):
    @each([(f"{name}_{kind}", name, kind) for name in PATHS for kind in SAID])
    def test(self, _, name, kind):
        words, own = SAID[kind][1], template(name, "all").tokenizer
        whole, plain = outcome(name, kind, "all"), "" if kind == "top" else rendered(name, kind)
        is_carried = bool(plain) and in_order(plain, words) and {"tools": "Innertext", "text": "Besideword."}.get(kind, "") in plain
        if isinstance(whole, str):
            self.assertFalse(is_carried, whole)
            self.assertIsInstance(outcome(name, kind), str)
            return
        text = own.decode(whole[0].ids)
        if kind != "text":              # which Gemma 4 writes behind the results of the calls
            self.assertTrue(in_order(text, words), text)
        self.assertTrue(all(word in text for word in words.split()), text)
        if is_carried and kind not in ("string", "old"):
            self.assertEqual(text, own.decode(own(plain, add_special_tokens=False)["input_ids"]))
        found = outcome(name, kind)
        self.assertNotIsInstance(found, str)
        self.assertEqual(found[0].ids, whole[0].ids)
        learned = own.decode([id for id, is_trained in zip(found[0].ids, found[0].mask) if is_trained])
        for word in words.split():
            self.assertEqual(word in learned, word not in ("Rulestext.", "Sagequery?", "Nextquery", "Foundvalue"), learned)

    @each(PATHS)
    def test_each(self, name):
        """Where a template writes reasoning, --turns each has that of every turn."""
        found = outcome(name, "each")
        if isinstance(outcome(name, "reasoning"), str):
            self.assertIn("reasoning of message 1", found)
            return
        decode = template(name, "all").tokenizer.decode
        learned = [decode([id for id, is_trained in zip(one.ids, one.mask) if is_trained]) for one in found]
        self.assertTrue(in_order(learned[0], "Firstthought Middleword."), learned[0])
        self.assertTrue(in_order(learned[1], "Secondthought Lastword"), learned[1])
        self.assertNotIn("thought", learned[1].replace("Secondthought", "").replace("thought\n", ""))

    def test_totals(self):
        total = collections.Counter(kind for name in PATHS for kind in COLUMNS if not isinstance(outcome(name, kind), str))
        lines = [f"{'template':32}{'  '.join(COLUMNS)}"]
        lines += [f"{name:32}{'  '.join(('-' if isinstance(outcome(name, kind), str) else 'yes').ljust(len(kind)) for kind in COLUMNS)}"
                  for name in PATHS]
        lines.append(f"{f'of {len(PATHS)} templates':32}{'  '.join(str(total[kind]).ljust(len(kind)) for kind in COLUMNS)}")
        print("".join(f"# {line.rstrip()}\n" for line in lines), end="", file=sys.stderr)
        for kind, least in LEAST.items():
            self.assertGreaterEqual(total[kind], least, kind)
