"""Rows of chats in the forms that data sets have: nothing that they say is lost, or the chat is skipped with the reason."""
import gzip
import json
import unittest

import zstandard

import bload._core.lines
import chats
from bload._core.errors import OptionError
from bload._core.messages import Unusable
from bload._core.rows import chats as parsed
from bload._core.turns import Choices
from harness import each
from test_chat import Models, Runs

KNOWN = "{% else %}{{ '<|im_start|>' + m.role", "{% elif m.role in ['system', 'user'] %}{{ '<|im_start|>' + m.role"
ASK, ANSWER = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}
CALL = {"from": "function_call", "value": json.dumps({"name": "add", "arguments": {"a": 1}})}
MADE = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}]}
OTHER = {"role": "assistant", "content": "b"}


def messages(*said):
    return {"messages": [ASK, *said]}


def read(row, pairs=False):
    return parsed(json.dumps(row).encode(), pairs)


class Forms(unittest.TestCase):
    @each([
        ("prompt", {"prompt": [ASK], "completion": [ANSWER]}, [ASK, ANSWER], [0, 1]),
        ("prompt_earlier", {"prompt": [ASK, OTHER, ASK], "completion": [ANSWER]}, [ASK, OTHER, ASK, ANSWER], [0, 0, 0, 1]),
        ("prompt_text", {"prompt": "q", "completion": "a"}, [ASK, ANSWER], [0, 1]),
        ("prompt_cells", {"prompt": json.dumps([ASK]), "completion": json.dumps([ANSWER])}, [ASK, ANSWER], [0, 1]),
        ("alpaca", {"instruction": "Add", "input": "2 2", "output": "a"}, [{"role": "user", "content": "Add\n2 2"}, ANSWER], [1, 1]),
        ("alpaca_history", {"instruction": "q", "input": "", "output": "a", "history": [["q", "b"]]}, [ASK, OTHER, ASK, ANSWER], [1] * 4),
        ("keys", {"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a", "reasoning_content": "r", "thinking": None}]},
         [ASK, {**ANSWER, "reasoning_content": "r"}], [1, 1]),
        ("system", {"system": "s", "conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]},
         [{"role": "system", "content": "s"}, ASK, ANSWER], [0, 1, 1]),
        ("system_prompt", {"system": "s", "prompt": "q", "completion": "a"}, [{"role": "system", "content": "s"}, ASK, ANSWER], [0, 0, 1]),
        ("system_twice", {"system": "s", "messages": [{"role": "system", "content": "s"}, ASK, ANSWER]},
         [{"role": "system", "content": "s"}, ASK, ANSWER], [1] * 3),
        ("call_role", {"conversations": [{"from": "human", "value": "q"}, CALL, {"from": "observation", "value": "3"}]},
         [ASK, MADE, {"role": "tool", "content": "3"}], [1] * 3),
        ("call_key", messages({"role": "assistant", "content": "", "function_call": {"name": "add", "arguments": {"a": 1}}}),
         [ASK, MADE], [1] * 2),
        ("model_role", messages({"role": "model", "content": "a"}), [ASK, ANSWER], [1] * 2),
        ("kept_roles", messages(ANSWER, {"role": "ipython", "content": "x"}, {"role": "environment", "content": "x"}),
         [ASK, ANSWER, {"role": "ipython", "content": "x"}, {"role": "environment", "content": "x"}], [1] * 4)])
    def test(self, _, row, said, trained):
        chat, = read(row)
        self.assertEqual((chat.messages, chat.trained), (said, list(map(bool, trained))))

    @each([(f"{flag}_{form}_{value}", flag, form, value) for flag in ("weight", "train", "loss") for form in ("from", "role")
           for value in (0, 1, False, True, None)])
    def test_flag(self, _, flag, form, value):
        """OpenAI's, axolotl's and ms-swift's flags, in both forms."""
        one = {"from": "gpt", "value": "a", flag: value} if form == "from" else {**ANSWER, flag: value}
        chat, = read({"conversations": [ASK, one]})
        self.assertEqual(chat.trained[1], value is None or bool(value))

    def test_pairs(self):
        """Two sequences; what is before the answers is not trained on."""
        for row, before in (({"prompt": [ASK], "chosen": [ANSWER], "rejected": [OTHER]}, 1),
                            ({"prompt": "q", "chosen": "a", "rejected": "b"}, 1),
                            ({"prompt": "q", "chosen": [ASK, ANSWER], "rejected": [ASK, OTHER], "messages": [ASK, ANSWER]}, 1),
                            ({"chosen": [ASK, ANSWER], "rejected": [ASK, OTHER]}, 1),
                            ({"chosen": [ASK, OTHER, ASK, ANSWER], "rejected": [ASK, OTHER, ASK, OTHER]}, 3),
                            ({"conversations": [ASK], "chosen": {"from": "gpt", "value": "a"}, "rejected": {"from": "gpt", "value": "b"}}, 1),
                            ({"instruction": "q", "chosen": "a", "rejected": "b"}, 1)):
            chosen, rejected = read(row, True)
            self.assertEqual((chosen.pair, rejected.pair), ("chosen", "rejected"))
            self.assertEqual([one.messages[-1] for one in (chosen, rejected)], [ANSWER, OTHER], row)
            self.assertEqual([one.trained for one in (chosen, rejected)], [[False] * before + [True]] * 2)

    @each([
        ("preference", {"chosen": "a", "rejected": "b"}, "--pairs makes two sequences"),
        ("unwanted", {"prompt": "q", "completion": "a", "label": False}, "marked as bad"),
        ("unwanted_messages", {"label": False, **messages(ANSWER)}, "marked as bad"),
        ("systems", {"system": "s", "messages": [{"role": "system", "content": "t"}, ASK]}, "one system text in \"system\", and another"),
        ("image", {"image": "a.jpg", "conversations": [ASK, ANSWER]}, "the row has \"image\""),
        ("images", {"images": ["a.jpg"], "messages": [ASK, ANSWER]}, "the row has \"images\""),
        ("part", messages({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}), "message 1 has pictures"),
        ("detail", messages({**ANSWER, "train_detail": [{"begin_offset": 0}]}), "message 1 has train_detail"),
        ("train_user", {"messages": [{**ASK, "train": True}, ANSWER]}, "message 0 (user) has a flag for training"),
        ("weight", messages({**ANSWER, "weight": 0.5}), "the weight of message 1 is neither"),
        ("thoughts", messages({**ANSWER, "reasoning": "x", "thinking": "y"}), "differs from key to key"),
        ("call", {"conversations": [{"from": "function_call", "value": "add(1)"}]}, "message 0 is a call, but not JSON"),
        ("history", {"instruction": "q", "output": "a", "history": ["x"]}, "not a list of pairs"),
        ("arguments", messages({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": [1]}}]}), "neither an object")])
    def test_refused(self, _, row, fault):
        with self.assertRaises(Unusable) as caught:
            read(row)
        self.assertIn(fault, caught.exception.fault)
        self.assertTrue(caught.exception.reason)

    def test_nulls(self):
        """Those of objects are removed and counted, in tools too, but not a default; those in a text stay."""
        arguments = {"a": None, "b": {"c": None, "d": [None, {"e": None}]}}
        tool = {"name": "f", "parameters": {"properties": {"a": None, "b": {"default": None, "enum": None}}}}
        chat, = read({"tools": [tool], **messages({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]})})
        self.assertEqual(chat.messages[1]["tool_calls"][0]["function"]["arguments"], {"b": {"d": [None, {}]}})
        self.assertEqual(chat.tools, [{"name": "f", "parameters": {"properties": {"b": {"default": None}}}}])
        self.assertEqual(chat.nulls, 5)
        text = json.dumps(arguments)
        call = {"function": {"name": "f", "arguments": text}}
        chat, = read({"tools": json.dumps([tool]), **messages({"role": "assistant", "tool_calls": [call]})})
        self.assertEqual((chat.messages[1]["tool_calls"][0]["function"]["arguments"], chat.tools, chat.nulls), (text, [tool], 0))
        chat, = read({"tools": [json.dumps(tool), tool], **messages({"role": "assistant", "content": "x"})})
        self.assertEqual((chat.tools[0], chat.nulls), (tool, 2))


class Said(Models):
    """What a template loses, and the form in which it takes what is said."""

    def texts(self, template, chat, choices=Choices("all"), **variables):
        folder = self.model(template)
        return ["".join(self.runs(folder, one)) for one in self.sequences(folder, chat, choices, **variables)]

    def fault(self, template, chat, choices=Choices("all")):
        with self.assertRaises(Unusable) as caught:
            self.sequences(self.model(template), chat, choices)
        return caught.exception.fault

    @each([
        ("reasoning", messages({**ANSWER, "reasoning": "r"}), "reasoning"),
        ("inline", messages({**ANSWER, "content": "<think>r</think>a"}), "reasoning"),
        ("text", {**chats.CALLS, "messages": [ASK, {**chats.CALLS["messages"][1], "content": "t"}]}, "text"),
        ("tools", {"tools": chats.CALLS["tools"], **messages(ANSWER)}, "tools"),
        ("system", {"system": "s", **messages(ANSWER)}, "system"),
        ("results", messages(MADE, {"role": "tool", "content": "x"}), "results"),
        ("calls", messages(MADE, OTHER), "calls")])
    def test_lost(self, _, row, kind):
        template = {
            "reasoning": chats.without(chats.CHATML).replace("m.content", "m.content.split('</think>')[-1]"),
            "text": chats.TOOLS.replace("m.content or ''", "'' if m.tool_calls else m.content"),
            "tools": chats.CHATML, "system": chats.CHATML.replace("in messages", "in messages if m.role != 'system'"),
            "results": chats.TOOLS.replace("m.content + '</result>", "'</result>").replace(*KNOWN),
            "calls": chats.CHATML.replace("m.content", "(m.content or '')")}
        self.assertIn(f"--allow-loss {kind} accepts that", self.fault(template[kind], row))
        folder = self.model(template[kind])
        got, = self.sequences(folder, row, Choices("all", losses=[kind]))
        self.assertEqual(sum(count for name, count in got.counts.items() if "lose" in name), 1)

    def test_written_wrongly(self):
        """What comes out twice or in another order is no proof; nor is a word that is elsewhere by chance."""
        self.assertIn("writes content of message 1 2 times", self.fault(chats.CHATML + "{{ messages[-1].content }}", messages(ANSWER)))
        self.assertIn("message 1 out of order", self.fault("{% for m in messages | reverse %}{{ m.content }}{% endfor %}", messages(OTHER)))
        self.assertIn("content of message 1", self.fault("{{ messages[0].content }}", {"messages": [ASK, {**ANSWER, "content": "q"}]}))
        self.assertIn("content of message 1", self.fault(chats.CHATML.replace("m.content", "(m.content | replace('secret', ''))"),
                                                         messages({**ANSWER, "content": "a secret"})))

    def test_ids(self):
        """A template may find the call of a result by its id, and its name: they stay the same with other words."""
        written = ("{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name + c.function.arguments | tojson }}"
                   "{% endfor %}{% if m.role == 'tool' and (m.tool_call_id != messages[1].tool_calls[0].id or m.name != "
                   "messages[1].tool_calls[0].function.name) %}{{ raise_exception('no call') }}{% endif %}{% endfor %}")
        for number in range(3):
            call = {**MADE["tool_calls"][0], "id": f"call-{number}"}
            result = {"role": "tool", "name": "add", "tool_call_id": f"call-{number}", "content": "3"}
            row = messages({**MADE, "tool_calls": [call]}, result, OTHER)
            self.assertEqual(self.texts(written, row), ['qadd{"a": 1}3b'])

    def test_escaped(self):
        """Contents as JSON has them are not lost."""
        text = "say \"hé\"\n\tto\\me"
        written, = self.texts(chats.CHATML.replace("m.content", "m.content | tojson"), messages({**ANSWER, "content": text}))
        self.assertIn(json.dumps(text, ensure_ascii=False), written)

    @each([("object", "c.function.arguments | tojson", '{"a": 1}'), ("items", "c.function.arguments | items | list", "[('a', 1)]"),
           ("either", "(c.function.arguments if c.function.arguments is string else c.function.arguments | tojson)", '{"a": 1}'),
           ("braces", "('{' + c.function.arguments + '}' if c.function.arguments is string else c.function.arguments | tojson)", '{"a": 1}'),
           ("string", "c.function.arguments + ''", '{"a": 1}')])
    def test_arguments(self, _, written, wanted):
        """A string and an object give the same; a string in quotes, or in more braces, is none."""
        template = chats.CHATML.replace("m.content", "m.content or ''") + "{% for m in messages %}{% for c in m.tool_calls or [] %}" \
            "{{ c.function.name + '=' }}{{ " + written + " }}{% endfor %}{% endfor %}"
        def text(arguments):
            return self.texts(template, messages({**MADE, "tool_calls": [{"function": {"name": "add", "arguments": arguments}}]}))[0]
        for arguments in {"a": 1}, '{"a": 1}':
            self.assertIn("add=" + wanted, text(arguments))
        for nothing in "", "null", None, "{}":
            if written != "c.function.arguments + ''":
                self.assertIn("add=", text(nothing))

    def test_native(self):
        """OLMo's own keys of messages: written as they are, or lost."""
        row = {"messages": [{**ASK, "functions": "[f]"}, {"role": "assistant", "content": None, "function_calls": "f(a=1)"}]}
        written = "{% for m in messages %}{{ m.content or '' }}{{ m.functions }}{{ m.function_calls }}{% endfor %}"
        self.assertEqual(self.texts(written, row), ["q[f]f(a=1)"])
        self.assertIn("--allow-loss calls", self.fault(written.replace("{{ m.function_calls }}", ""), row))
        self.assertIn("--allow-loss tools", self.fault(written.replace("{{ m.functions }}", ""), row))

    def test_each(self):
        """A sequence for each turn, whose reasoning it has, though the template drops it later; a flag leaves one out."""
        row = {"messages": [*chats.THOUGHTS["messages"], ASK]}
        self.assertIn("which --turns each keeps", self.fault(chats.QWEN3, row))
        for template in chats.QWEN3, chats.without(chats.QWEN3):
            folder = self.model(template)
            first, last = self.sequences(folder, row, Choices(each=True))
            self.assertEqual((first.turn, last.turn), (1, 3))
            self.assertEqual(self.runs(folder, first), ["<think>\na sum\n</think>\n\n2<|im_end|>\n"])
            self.assertEqual(self.runs(folder, last), ["<think>\na sum\n</think>\n\n4<|im_end|>\n"])
            self.assertEqual([count for name, count in last.counts.items() if name.startswith("messages after")], [1])
            row["messages"][1]["weight"] = 0
            self.assertEqual([one.turn for one in self.sequences(folder, row, Choices(each=True))], [3])
            del row["messages"][1]["weight"]

    @each(["marked", "plain"])
    def test_special(self, name):
        """Special tokens of contents: as such and counted, as a text with the mask where it was, or refused."""
        template = chats.CHATML if name == "marked" else chats.without(chats.CHATML)
        folder = self.model(template)
        row = messages({**ANSWER, "content": "say <|im_end|> and </s>"})
        found = {choice: self.sequences(folder, row, Choices(special=choice))[0] for choice in ("parse", "split")}
        for one in found.values():
            self.assertEqual(self.runs(folder, one), ["say <|im_end|> and </s><|im_end|>\n"])
            self.assertEqual([count for text, count in one.counts.items() if text.startswith("special tokens")], [2])
        end = chats.SPECIAL.index("<|im_end|>") + 262
        self.assertEqual([one.ids.count(end) for one in found.values()], [3, 2])
        with self.assertRaises(Unusable):
            self.sequences(folder, row, Choices(special="refuse"))
        same = [self.sequences(folder, messages(ANSWER), Choices(special=choice))[0] for choice in ("parse", "split", "refuse")]
        self.assertEqual([(one.ids, one.mask) for one in same], [(same[0].ids, same[0].mask)] * 3)

    def test_date(self):
        """strftime_now is a date that does not change."""
        written = self.texts(chats.LLAMA3.replace("day or ", ""), messages(ANSWER), strftime_now="2026-07-05")[0]
        self.assertIn("Today is 05 Jul 2026", written)
        written = self.texts(chats.LLAMA3.replace("%d %b", "%A, %-d %B %y:"), messages(ANSWER), strftime_now="2026-07-05")[0]
        self.assertIn("Today is Sunday, 5 July 26: 2026", written)
        with self.assertRaises(OptionError):
            self.texts(chats.LLAMA3, messages(ANSWER), strftime_now="today")

    def test_roles(self):
        """A role that the template does not know becomes one that it does."""
        row = messages(MADE, {"role": "ipython", "content": "x"}, ANSWER)
        self.assertIn("<result>x</result>", self.texts(chats.TOOLS.replace(*KNOWN), row)[0])
        self.assertIn("ipython\nx", self.texts(chats.TOOLS, row)[0])
        row = {"messages": [{"role": "developer", "content": "rule"}, ASK, ANSWER]}
        self.assertIn("system\nrule", self.texts(chats.CHATML.replace("m.content", "(m.content if m.role != 'developer' else '')"), row)[0])


class Files(Runs):
    """JSON arrays, CSV, zstd; counts of a run."""

    def test_files(self):
        rows = [{"id": i, **messages({**ANSWER, "content": f"{i}" + "[{\"\\\n" * i})} for i in range(9)]
        name = self.write("a.jsonl", rows)
        plain = self.chat("--model", self.folder, name)[0]
        for indent in None, 2:
            text = json.dumps(rows, indent=indent).encode()
            frames = zstandard.compress(text[:99]) + zstandard.compress(text[99:])
            for suffix, data in ("", text), (".gz", gzip.compress(text)), (".zst", frames):
                with open(self.path("b.json" + suffix), "wb") as file:
                    file.write(data)
                self.assertEqual(self.chat("--model", self.folder, "b.json" + suffix)[0], plain)
        self.write("c.csv", ["id,instruction,output\n", "1,\"a\nb\",c\n", "2,x\n", "3,x,y\n"])
        out, err = self.chat("--model", self.folder, "c.csv", status=3)
        self.assertEqual([json.loads(line)["id"] for line in out.splitlines()], ["1", "3"])
        self.assertIn("skipped c.csv:4: a row of 2 cells, but 3 columns", err)

    def test_arrays(self):
        """What is not whole, or no object, is told."""
        for text, rows, fault in ((b"[1]", 0, "elements that are not objects"), (b"[{}, 2]", 1, "elements that are not objects"),
                                  (b"[{}] {}", 1, "after the end"),
                                  (b"[{}", 1, "no end"), (b"[{\"a", 0, "no end"), (b"\xef\xbb\xbf[\n{}\n]\n", 1, None), (b"[]", 0, None)):
            with open(self.path("d.json"), "wb") as file:
                file.write(text)
            found = list(bload._core.lines.lines(self.path("d.json")))
            self.assertEqual(len([one for one in found if not one.fault]), rows, text)
            self.assertEqual([fault in one.fault for one in found if one.fault], [True] if fault else [])

    def test_run(self):
        """Pairs, turns, and reasons with their counts."""
        name = self.write("p.jsonl", [{"id": 7, "prompt": "q", "chosen": "a", "rejected": "b"}, messages(ANSWER)])
        out, err = self.chat("--model", self.folder, "--pairs", name, status=3)
        self.assertEqual([(row["id"], row["pair"], row["side"], row["chosen"]) for row in map(json.loads, out.splitlines())],
                         [("7/chosen", "7", "chosen", 1), ("7/rejected", "7", "rejected", 0)])
        self.packed(out, "pairs", "--keep", "pair,side,chosen:number", "--together", "pair", "--field", "loss_mask=loss_mask:u8")
        self.assertIn("1 skipped: no preference\n", err)
        self.assertRegex(err, r"chats: 1 in 2 sequences; tokens: \d+, of which \d+ \(\d+\.\d %\) are trained on; skipped: 1")
        name = self.write("e.jsonl", [{"id": "x", **chats.LONG}])
        out = self.chat("--model", self.folder, "--turns", "each", name)[0]
        self.assertEqual([json.loads(line)["id"] for line in out.splitlines()], ["x/1", "x/3", "x/5"])
        self.assertIn("--turns each is for", self.chat("--model", self.folder, "--turns", "each", "--pairs", name, status=2)[1])
        dated = self.model(chats.LLAMA3.replace("day or ", ""))
        self.assertIn("--set strftime_now=", self.chat("--model", dated, name)[1])
        self.assertNotIn("strftime", self.chat("--model", dated, "--set", "strftime_now=2026-07-05", name)[1])
