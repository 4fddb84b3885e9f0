"""docs/options.md has every option of every command; an option that several commands have means the same in all of them.

UPDATE=1 writes the page."""
import os
import re

import tool

PAGE = os.path.join(tool.ROOT, "docs/options.md")
TEXT = 30  # the column at which the text of an option begins
# Options that take another value in some commands, where they mean something else. The page has a row for each meaning.
DIFFERENT = {"--field", "--output", "--remainder", "--tokenizer"}
HEAD = """# Options of all commands

Made by `UPDATE=1 tests/readers/run -k options`; a test compares it with `bload COMMAND --help`. An option has the same meaning in all commands of a row.

| option | commands | meaning |
|---|---|---|
"""


def options_of(text):
    """{option: (value, meaning)} of what `bload COMMAND --help` prints."""
    found, now = {}, None
    for line in text.splitlines():
        if re.match(r"  (-\w|    --)", line):
            beside = len(line) > TEXT and line[TEXT - 1] == " " and line[TEXT] != " "  # else the text begins in the next line
            words = (line[:TEXT] if beside else line).split()
            names = [word.rstrip(",") for word in words if re.match(r"-\w,?$|--[a-z-]+$", word)]
            now = names[-1]
            found[now] = [" ".join(words[len(names):]), line[TEXT:] if beside else ""]
        elif now and line.startswith(" " * TEXT):
            found[now][1] = (found[now][1] + " " + line.strip()).strip()
        elif not line.startswith(" "):
            now = None
    return {name: tuple(both) for name, both in found.items()}


def cell(text):
    return text.replace("|", "\\|")


def escaped(text):
    """What Markdown would take for marks, outside of code."""
    return re.sub(r"([<*\[\]_])", r"\\\1", text)


class Options(tool.Tool):
    def test_the_page_has_every_option(self):
        commands = [name for name in re.findall(r"^  ([a-z]+) ", self.bload("--help")[0], re.M) if name != "bload"]
        self.assertGreater(len(commands), 10)
        rows = {}  # option: {(value, meaning): commands}
        for command in commands:
            options = options_of(self.bload(command, "--help")[0])
            self.assertIn("--help", options)
            for name, (value, meaning) in options.items():
                self.assertTrue(meaning, f"{command} {name}: no text was found")
                rows.setdefault(name, {}).setdefault((value, meaning), []).append(command)
        page = HEAD
        for name in sorted(rows, key=lambda name: name.lstrip("-").lower()):
            values = {value for value, _ in rows[name]}
            self.assertTrue(len(values) == 1 or name in DIFFERENT, f"{name} takes {sorted(values)}: give one of them another name")
            for (value, meaning), users in rows[name].items():
                who = "all" if len(users) == len(commands) else ", ".join(users)
                page += f"| `{cell(' '.join([name, value]).strip())}` | {who} | {escaped(cell(meaning))} |\n"
        if os.environ.get("UPDATE"):
            tool.write(PAGE, page)
        self.assertEqual(tool.text(PAGE), page, "docs/options.md is not of this tool: UPDATE=1 tests/readers/run -k options")

