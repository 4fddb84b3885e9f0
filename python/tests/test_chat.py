"""Chats become the ids of Transformers, and masks of what the assistant says."""
import contextlib
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
import unittest
import unittest.mock

import numpy as np

import bload
import bload.chat
import bload._core.lines
import chats
import tool
from bload.chat import main
from bload._core.rows import chats as parsed
from bload._core.turns import Choices, Template, load
from bload._core.workers import Workers
from harness import each

os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = "1"
try:
    import transformers
except ImportError:
    transformers = None



class Models(tool.Tool):
    @classmethod
    def setUpClass(cls):
        if transformers is None:
            raise unittest.SkipTest("no package transformers")
        super().setUpClass()

    def model(self, template, name="model"):
        """The folder of a model with that template, made anew."""
        self.made = getattr(self, "made", 0) + 1
        return chats.model(self.path(f"{self.id()}-{name}-{self.made}"), template)

    def converted(self, folder, chat, train_on="assistant", name=None, **variables):
        return self.sequences(folder, chat, Choices(train_on), name, **variables)[0]

    def sequences(self, folder, chat, choices, name=None, **variables):
        template = Template(load(folder), name, variables, choices)
        return [one for given in parsed(json.dumps(chat).encode()) for one in template.sequences(given)]

    def refusal(self, folder, chat, *rest, **variables):
        with self.assertRaises(bload.Error) as caught:
            self.converted(folder, chat, *rest, **variables)
        return caught.exception.fault

    def learned(self, folder, chat, *rest, **variables):
        """The text of each run of tokens whose mask is 1."""
        return self.runs(folder, self.converted(folder, chat, *rest, **variables))

    def runs(self, folder, got):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        edges = np.flatnonzero(np.diff([0, *got.mask, 0])).tolist()
        return [tokenizer.decode(got.ids[begin:end]) for begin, end in zip(edges[::2], edges[1::2])]


class Families(Models):
    """Templates without marks, beside Transformers with the marked ones."""

    @each([(f"{family}_{name}", family, name) for family, (_, names) in chats.FAMILIES.items() for name in names.split()])
    def test(self, _, family, name):
        template, chat = chats.FAMILIES[family][0], chats.CHATS[name]
        marked, plain = self.model(template, "marked"), self.model(chats.without(template), "plain")
        options = {"tokenize": True, "return_dict": True, "tools": chat.get("tools")}
        wanted = transformers.AutoTokenizer.from_pretrained(marked).apply_chat_template(
            chat["messages"], return_assistant_tokens_mask=True, **options)
        ids = transformers.AutoTokenizer.from_pretrained(plain).apply_chat_template(chat["messages"], **options)["input_ids"]
        self.assertEqual(ids, wanted["input_ids"])
        ends = np.flatnonzero(np.diff([0, *wanted["assistant_masks"], 0]))
        masks = {"assistant": wanted["assistant_masks"], "last": list(wanted["assistant_masks"] * (np.arange(len(ids)) >= ends[-2])),
                 "all": [1] * len(ids)}
        self.assertLess(0, np.sum(masks["assistant"]))
        for folder in marked, plain:
            for train_on, mask in masks.items():
                got, = self.sequences(folder, chat, Choices(train_on, losses=["reasoning"]))
                self.assertEqual(got.ids, ids)
                self.assertEqual(got.mask, mask, (folder, train_on))
                self.assertFalse([one for one, count in got.counts.items() if count and "lose reasoning" not in one])

    @each(chats.FAMILIES)
    def test_weight(self, family):
        """A message of the weight 0 is not trained on."""
        template, messages = chats.FAMILIES[family][0], [dict(one) for one in chats.LONG["messages"]]
        messages[3]["weight"] = 0
        for text in template, chats.without(template):
            learned = "".join(self.learned(self.model(text), {"messages": messages}))
            self.assertIn("Hi.", learned)
            self.assertNotIn("the line", learned)
            self.assertIn("No.", learned)


class Refusals(Models):
    """What cannot be proven, or would be lost, is refused."""

    def count(self, folder, chat, begin):
        return sum(count for name, count in self.converted(folder, chat).counts.items() if name.startswith(begin))

    def test_header(self):
        """No generation prompt, but a header."""
        template = chats.without(chats.CHATML).replace(chats.IM_PROMPT, "")
        self.assertIn(r"writes '<|im_start|>assistant\n' before", self.refusal(self.model(template), chats.ONE))

    def test_other_prompt(self):
        template = chats.without(chats.CHATML).replace("assistant\\n' }}{% endif", "model\\n' }}{% endif")
        self.assertIn("continues with 'model\\n', but the chat with 'assistant\\n", self.refusal(self.model(template), chats.ONE))

    def test_earlier_text_changes(self):
        """What is written before a turn depends on what follows it."""
        folder = self.model("{{ messages | length }}" + chats.without(chats.MISTRAL))
        self.assertIn("the start of message 1", self.refusal(folder, chats.LONG))
        self.assertEqual(self.learned(folder, chats.ONE, "all"), ["2<s>[INST] What is a block? [/INST] T steps.\n\nAnd its tables.</s>"])
        folder = self.model("{{ messages | length }}" + chats.without(chats.CHATML))
        self.assertEqual(self.learned(folder, chats.LONG), self.learned(self.model(chats.CHATML), chats.LONG))

    def test_tools_late(self):
        """The tools are written before the last question."""
        last = "{% set last = messages | selectattr('role', 'equalto', 'user') | list | last %}"
        folder = self.model(last + chats.without(chats.MISTRAL).replace("'[INST] '", "('TOOLS' if m == last else '') + '[INST] '"))
        self.assertIn("the start of message 1", self.refusal(folder, chats.LONG))
        self.assertEqual(self.learned(folder, chats.LONG, "last"), [" No.</s>"])
        self.assertEqual(self.learned(folder, chats.ONE), [" T steps.\n\nAnd its tables.</s>"])

    def test_other_end(self):
        """The last turn ends with another token than the others, as by OLMo 2 and 3: a special one, or there is no proof."""
        written = chats.without(chats.CHATML)
        folder = self.model(written.replace("'<|im_end|>\\n'", "('</s>' if loop.last else '<|im_end|>\\n')", 1))
        self.assertEqual(self.learned(folder, chats.LONG), [" Hi. <|im_end|>\n", "- the line\n<|im_end|>\n", "No.</s>"])
        folder = self.model(written.replace("'<|im_end|>\\n'", "('</s>' if loop.last else '')", 1))
        self.assertIn("the end of turns cannot be proven", self.refusal(folder, chats.LONG))
        self.assertEqual(self.learned(folder, chats.LONG, "last"), ["No.</s>"])
        olmo2 = ("{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}{{ '<|assistant|>\\n' + m.content + eos_token }}"
                 "{% if not loop.last %}{{ '\\n' }}{% endif %}{% else %}{{ '<|' + m.role + '|>\\n' + m.content + '\\n' }}{% endif %}"
                 "{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}{% endfor %}")
        without = [token for token in chats.SPECIAL if token not in ("<|user|>", "<|assistant|>", "<|system|>")]
        for special in chats.SPECIAL, without:
            folder = chats.model(self.path(f"olmo2-{len(special)}"), olmo2, special)
            self.assertEqual([text.strip("\n") for text in self.learned(folder, chats.LONG)], [" Hi. </s>", "- the line\n</s>", "No.</s>"])

    def test_calls_not_written(self):
        chat = {"messages": chats.said("Add", "Yes", tool_calls=[chats.CALL])}
        for template in chats.CHATML, chats.without(chats.CHATML):
            self.assertIn("does not write the calls of tools of message 1 (assistant), which calls add",
                          self.refusal(self.model(template), chat))

    def test_parts(self):
        """A list of parts is for templates that know it; others would write Python's brackets, or nothing."""
        chat = {"messages": [{**one, "content": [{"type": "text", "text": one["content"]}]} for one in chats.LONG["messages"]]}
        plain = chats.without(chats.CHATML)
        several = {"messages": [{**one, "content": [{"type": "text", "text": text} for text in "ab"]} for one in chats.LONG["messages"]]}
        for content in "m.content | string", "(m.content if m.content is string else '')":
            folder = self.model(plain.replace("m.content", content))
            self.assertIn("does not take lists of parts, but message 0 has one", self.refusal(folder, several, "all"))
            self.assertEqual(self.learned(folder, chat), self.learned(self.model(plain), chats.LONG))
        folder = self.model(plain.replace("m.content", "m.content[0].text"))
        for given in chat, chats.LONG:
            self.assertEqual(self.learned(folder, given), self.learned(self.model(plain), chats.LONG))
        self.assertIn("does not write the content of message 0", self.refusal(folder, several, "all"))

    def test_content_not_written(self):
        folder = self.model(chats.without(chats.CHATML).replace("m.content", "(m.content if m.role == 'user' else '')"))
        self.assertIn("does not write the system text of message 0 (system): --allow-loss system", self.refusal(folder, chats.SYSTEM))
        self.assertIn("does not write the content of message 1 (assistant)", self.refusal(folder, {"messages": chats.said("Hi", "Other")}))
        self.assertIn("does not write the content of message 1", self.refusal(folder, {"messages": chats.said("Hello", "Hello")}))

    def test_content_twice(self):
        folder = self.model(chats.without(chats.PHI).replace("m.content", "m.content + m.content"))
        self.assertIn("writes content of message 0 2 times", self.refusal(folder, chats.LONG))

    def test_first_message(self):
        chat = {"messages": [{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Hello"}]}
        self.assertIn("message 0 is the assistant's", self.refusal(self.model(chats.without(chats.CHATML)), chat))
        self.assertEqual(self.learned(self.model(chats.CHATML), chat), ["Hi<|im_end|>\n"])

    def test_nothing_to_learn(self):
        chat = {"messages": chats.said("Hello")}
        for template in chats.CHATML, chats.without(chats.CHATML):
            self.assertIn("no message of the assistant", self.refusal(self.model(template), chat))
        unused = "{% if false %}{% generation %}{% endgeneration %}{% endif %}"
        self.assertIn("marks no text", self.refusal(self.model(chats.without(chats.CHATML) + unused), chats.ONE))

    def test_straddling(self):
        """A token with a part of the prompt, or of what follows, is not the assistant's."""
        folder = self.model("{% for m in messages %}{{ 'Q: ' + m.content + '\\n' if m.role == 'user' else 'A: ' + m.content + eos_token }}"
                            "{% endfor %}{% if add_generation_prompt %}{{ 'A: ' }}{% endif %}")
        chat = {"messages": chats.said("Why?", "the blocks")}
        self.assertEqual(self.count(folder, chat, "tokens that straddle"), 1)
        self.assertEqual(self.learned(folder, chat), ["e blocks</s>"])
        folder = self.model("{% for m in messages %}{{ '\\n\\nQ: ' + m.content + '\\nA:' if m.role == 'user' else ' ' + m.content }}"
                            "{% endfor %}")
        chat = {"messages": chats.said("Why?", "It is.\n", "And?", "No.")}
        self.assertEqual(self.count(folder, chat, "tokens that straddle"), 1)
        self.assertEqual(self.learned(folder, chat), [" It is.", " No."])

    def test_open_turns(self):
        folder = self.model(chats.without(chats.CHATML).replace("<|im_end|>", "###"))
        self.assertEqual(self.count(folder, chats.LONG, "turns without an end token"), 3)

    def test_variables(self):
        folder = self.model(chats.without(chats.LLAMA3))
        self.assertIn("Today is never", self.learned(folder, chats.ONE, "all", day="never")[0])


class Messages(unittest.TestCase):
    """Lines that are no chats."""

    def test_forms(self):
        given = {"conversations": [{"from": "system", "value": "s"}, {"from": "human", "value": "h"}, {"from": "gpt", "value": "g"},
                                   {"from": "tool", "value": "t"}], "tools": "[{\"name\": \"f\"}]"}
        chat, = parsed(json.dumps(given).encode())
        self.assertEqual([(one["role"], one["content"]) for one in chat.messages],
                         [("system", "s"), ("user", "h"), ("assistant", "g"), ("tool", "t")])
        self.assertEqual(chat.tools, [{"name": "f"}])

    def test_faults(self):
        for line, fault in (
                (b"x", "not JSON"), (b"\"\xff\"", "not UTF-8 at byte 1"), (b"[" * 100000, "not JSON"), (b"[]", "not an object"),
                (b"{}", "neither \"messages\" nor"), (b"{\"messages\": {}}", "is not a list"), (b"{\"messages\": []}", "without messages"),
                (b"{\"messages\": [1]}", "message 0 is not an object"),
                (b"{\"messages\": [{\"role\": \"bot\", \"content\": \"\"}]}", "message 0 has the role \"bot\"; the known roles are system"),
                (b"{\"conversations\": [{\"from\": \"bard\"}]}", "has the role \"bard\"; the known roles are system, developer"),
                (b"{\"messages\": [{\"role\": \"user\"}]}", "message 0 (user) has no content"),
                (b"{\"messages\": [{\"role\": \"assistant\", \"content\": \"\"}]}", "message 0 (assistant) has no content"),
                (b"{\"messages\": [{\"role\": \"user\", \"content\": 3}]}", "is neither a text nor"),
                (b"{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"image\"}]}]}", "has pictures, videos"),
                (b"{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"x\"}]}]}", "is neither a text nor"),
                (b"{\"messages\": [{\"role\": \"user\", \"content\": \"\", \"weight\": 0.5}]}", "weight of message 0"),
                (b"{\"messages\": [{\"role\": \"user\", \"content\": \"\"}], \"tools\": \"x\"}", "\"tools\" is not JSON"),
                (b"{\"messages\": [{\"role\": \"user\", \"content\": \"\"}], \"tools\": [1]}", "\"tools\" is not a list of objects")):
            with self.assertRaises(bload.Error) as caught:
                parsed(line)
            self.assertIn(fault, caught.exception.fault)


class Runs(Models):

    def start(self, *arguments):
        return subprocess.Popen([sys.executable, "-m", "bload.chat", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                cwd=self.directory)

    def chat(self, *arguments, status=0, given=b""):
        """Runs it in this process, which has loaded the packages; gives its standard output and error."""
        out, err, here = io.TextIOWrapper(io.BytesIO()), io.StringIO(), os.getcwd()
        os.chdir(self.directory)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
                    unittest.mock.patch("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(given)))):
                got = main(list(map(str, arguments)))
        except SystemExit as end:
            got = end.code
        finally:
            os.chdir(here)
        self.assertEqual(got, status, err.getvalue())
        return out.buffer.getvalue(), err.getvalue()

    def setUp(self):
        self.folder = self.model(chats.without(chats.CHATML))

    def packed(self, lines, name, *options, status=0):
        """Packs what came out."""
        done = subprocess.run([tool.BLOAD, "pack", "-", "-q", "--key", "input_ids", "-T", "256", *options, "-o", self.path(name)],
                              input=lines, capture_output=True, cwd=self.directory)
        self.assertEqual(done.returncode, status, done.stderr)

    def write(self, name, lines):
        tool.write(self.path(name), "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
        return name


class Command(Runs):
    """python -m bload.chat."""

    def test_pack(self):
        """As the guide has it: through bload pack, into blocks."""
        many = [{"id": f"chat-{i}", "source": "s" * (i % 3), "messages": chats.said(f"Say {i}", "x" * (i % 50 + 1), "Again", f"No {i}")}
                for i in range(400)]
        name = self.write("many.jsonl", many)
        with unittest.mock.patch("bload._core.lines.CHUNK", 5000):
            out, err = self.chat("--model", self.folder, "--keep", "source", "--workers", 3, name)
        self.assertIn("chats: 400; tokens: ", err)
        self.assertEqual(out, self.chat("--model", self.folder, "--keep", "source", "--workers", 1, name)[0])
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([(row["id"], row["source"]) for row in rows], [(one["id"], one["source"]) for one in many])
        self.packed(out, "packed", "--field", "loss_mask=loss_mask:u8", "--keep", "chat=id")
        dataset = bload.open(self.path("packed"))
        self.assertEqual(list(dataset.sequences["chat"]), [one["id"] for one in many])
        for number in 0, 57, 399:
            sequence = dataset.sequence(number)
            self.assertEqual(sequence["tokens"].tolist(), rows[number]["input_ids"])
            self.assertEqual(sequence["loss_mask"].tolist(), rows[number]["loss_mask"])

    def test_skipped(self):
        """Named by file and line, counted, status 3. Ids are places where the input has none."""
        name = self.write("some.jsonl", [chats.ONE, "\n", "x\n", chats.SYSTEM, {"messages": [{"role": "user", "content": "\ud83d"}]}])
        place = len(json.dumps(chats.ONE)) + len("\n\nx\n")
        for workers in 1, 3:
            out, err = self.chat("--model", self.folder, "--workers", workers, name, status=3)
            self.assertEqual([json.loads(line)["id"] for line in out.splitlines()], [f"{name}#0", f"{name}#{place}"])
            self.assertIn(f"skipped {name}:3: not JSON", err)
            self.assertIn(f"skipped {name}:5: ", err)
            self.assertIn("skipped: 2", err)
        gemma = self.model(chats.without(chats.GEMMA))
        err = self.chat("--model", gemma, name, status=3)[1]
        self.assertIn(f"skipped {name}:4: the chat template refuses: System role not supported", err)

    def test_too_many(self):
        """What came before the end is marked as incomplete, for bload pack too."""
        name = self.write("bad.jsonl", [chats.ONE] * 8 + ["x\n"] * 2)
        self.chat("--model", self.folder, "--max-failed", "2", name, status=3)
        self.chat("--model", self.folder, "--max-failed", "20%", name, status=3)
        for options in ("--max-failed", "1"), ("--max-failed", "19%"), ("--on-error", "fail"):
            out, err = self.chat("--model", self.folder, *options, name, status=1)
            self.assertIn("its output is incomplete", json.loads(out.splitlines()[-1])["error"])
            self.packed(out, "cut" + options[1], status=3)

    def test_inputs(self):
        """Standard input and gzip; damaged gzip gives what lies before the damage."""
        text = "".join(json.dumps({"id": i, **chats.LONG}) + "\n" for i in range(900)).encode()
        plain = self.chat("--model", self.folder, "-", given=text)[0]
        packed = gzip.compress(text)
        self.assertEqual(self.chat("--model", self.folder, "-", given=packed)[0], plain)
        tool.write(self.path("cut.jsonl.gz"), packed[:len(packed) // 2])
        out, err = self.chat("--model", self.folder, "cut.jsonl.gz", status=3)
        self.assertTrue(out and plain.startswith(out))
        self.assertIn("compressed data are damaged", err)

    def test_long_line(self):
        name = self.write("long.jsonl", ["a" * 50 + "\n", "b\n", "c" * 90])
        with unittest.mock.patch("bload._core.lines.LONGEST", 40):
            found = [line for chunk in bload._core.lines.chunks([self.path(name)]) for line in chunk]
        self.assertEqual([(line.number, line.offset, line.text, line.fault[:19]) for line in found],
                         [(1, 0, b"", "a line of 51 bytes,"), (2, 51, b"b\n", ""), (3, 53, b"", "a line of 90 bytes,")])

    def test_usage(self):
        """Status 2 before anything is read."""
        name = self.write("good.jsonl", [chats.ONE])
        several = self.model({"tool_use": chats.TOOLS, "rag": chats.CHATML})
        for arguments, fault in (
                (("--model", "nowhere", name), "nowhere: no such folder"),
                (("--model", self.folder, "nothing.jsonl"), "nothing.jsonl: no such file"),
                (("--model", self.model(None), name), "there is no chat template, neither chat_template.jinja nor"),
                (("--model", self.directory, name), "no tokenizer can be loaded"),
                (("--model", self.folder, "--template", "tool_use", name), "no chat template tool_use: --template must be one of default"),
                (("--model", several, name), "there are several chat templates: --template must be one of rag, tool_use"),
                (("--model", self.folder, "--set", "x", name), "argument --set: invalid"),
                (("--model", self.folder, "--max-failed", "-1", name), "argument --max-failed: "),
                (("--model", self.folder, "--workers", "0", name), "argument --workers: invalid")):
            self.assertIn(fault, self.chat(*arguments, status=2)[1])
        self.chat("--model", several, "--template", "tool_use", name)


class Order(unittest.TestCase):
    def test(self):
        """Results come in order, the other workers go on while one is slow, and what waits is bounded."""
        read = []

        def chunks():
            for number in range(60):
                read.append(number)
                yield [number]

        def convert(number):
            time.sleep(2 * (number == 0))
            return str(number)

        results = Workers(convert, 3).results(chunks())
        found = [next(results)]
        self.assertEqual(len(read), 2 * 3 + 1)
        found += results
        self.assertEqual(found, [str(number) for number in range(60)])


class Processes(Runs):
    """The command as a process of its own."""

    def test_no_package(self):
        code = "import sys; sys.modules['transformers'] = None; from bload.chat import main; sys.exit(main(sys.argv[1:]))"
        name = self.write("good.jsonl", [chats.ONE])
        done = subprocess.run([sys.executable, "-c", code, "--model", self.folder, name], capture_output=True, text=True,
                              cwd=self.directory)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("need the package transformers: pip install 'bload[chat]'", done.stderr)

    def test_ends(self):
        """A closed pipe ends the run with status 1; a killed worker, too; and workers end with the main process."""
        name = self.write("endless.jsonl", [chats.LONG] * 20000)
        process = self.start("--model", self.folder, "--workers", 2, name)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(60), 1)
        self.assertIn(b"closed the pipe", process.stderr.read())
        for victim in "worker", "main":
            process = self.start("--model", self.folder, "--workers", 2, name)
            process.stdout.readline()
            children = list(map(int, tool.text(f"/proc/{process.pid}/task/{process.pid}/children").split()))
            self.assertEqual(len(children), 2)
            os.kill(children[0] if victim == "worker" else process.pid, signal.SIGKILL)
            try:
                out = process.communicate(timeout=30)[0]    # which ends when all of them have
            except subprocess.TimeoutExpired:
                for one in [process.pid, *children]:
                    os.kill(one, signal.SIGKILL)
                raise
            if victim == "worker":
                self.assertEqual(process.returncode, 1)
                self.assertIn("worker ended early", json.loads(out.splitlines()[-1])["error"])

    def test_signals(self):
        """What Ctrl-C or a batch system ends says so in its last line, without a traceback."""
        name = self.write("endless.jsonl", [chats.LONG] * 20000)
        for number in signal.SIGINT, signal.SIGTERM:
            process = self.start("--model", self.folder, "--workers", 2, name)
            process.stdout.readline()
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, err.decode().splitlines()[-1]), (130, "bload.chat: interrupted"))
            self.assertNotIn(b"Traceback", err)
            self.assertIn("KeyboardInterrupt", json.loads(out.splitlines()[-1])["error"])
