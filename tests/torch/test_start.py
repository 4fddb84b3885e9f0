"""The pages of docs/start run as they stand, from the script that makes the data to the first training steps, and print what they say.

UPDATE=1 tests/torch/run -k start writes what was printed into the pages."""
import os
import re
import subprocess
import sys

import tool
from harness import each

FOLDER = os.path.join(tool.ROOT, "docs/start")
BLOCK = re.compile(r"^(<!-- not run: [^\n]*-->\n)?```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SLOW = re.compile(r"^bload: (?:time|limit): .*\n", re.MULTILINE)    # where the time of a run went that took more than 5 seconds
PLATFORM = re.compile(r"loss \d+\.\d+|[\d,]+ (?:frames|samples|tokens|rows)/s|[\d,]+ times real time")


def comparable(text):
    """The text without losses, which differ with the release of torch, without speeds, and without what slow machines print."""
    return PLATFORM.sub("N", SLOW.sub("", text))


class Start(tool.Tool):
    def run_page(self, page, folder):
        """Runs the blocks of a page in a folder; gives the page with what the commands in front of each text block printed."""
        os.makedirs(folder)
        environment = {**os.environ, "PATH": os.pathsep.join((os.path.dirname(sys.executable), os.path.dirname(os.path.abspath(tool.BLOAD)),
                                                              os.environ["PATH"]))}
        printed, trained = "", False

        def run(block):
            nonlocal printed, trained
            skipped, language, text = block.groups()
            if skipped:
                return block[0]
            named = re.match(r"# (\S+\.\w+)\n", text)
            if named:
                tool.write(os.path.join(folder, named[1]), text)
            elif language == "sh":
                done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], cwd=folder, env=environment, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, f"{text}\n{done.stdout}")
                printed = "".join(line for line in done.stdout.splitlines(True) if not line.startswith("[transformers]"))
                trained |= "train.py" in text
            elif language == "text":
                return f"```text\n{printed}```" if comparable(printed) != comparable(text) else block[0]
            else:
                self.fail(f"nothing runs a block of {language}")
            return block[0]

        result = BLOCK.sub(run, page)
        self.assertTrue(trained)
        return result

    @each((name[:-3], name) for name in sorted(os.listdir(FOLDER)))
    def test(self, _, name):
        path = os.path.join(FOLDER, name)
        page = tool.text(path)
        result = self.run_page(page, self.path(name[:-3]))
        if os.environ.get("UPDATE"):
            tool.write(path, result)
        else:
            self.assertEqual(result, page)
