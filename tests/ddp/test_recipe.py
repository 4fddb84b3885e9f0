"""The recipe of docs/recipes.md that trains a CTC model runs as it stands, on two ranks: from lines of text to a loss that falls."""
import os
import re
import shutil

import ranks
import tool

NOVEL = os.path.join(tool.SHARED, "data/corpora/botchan.en.txt")
RHYME = "the rain it raineth on the just and also on the unjust fellow but chiefly on the just because the unjust hath his umbrella".split()


def texts(count=200):
    """Lines of a novel when it is present, else of a rhyme in different orders and lengths."""
    if os.path.exists(NOVEL):
        return [line for line in tool.text(NOVEL).splitlines() if line.strip()][:count]
    return [" ".join(RHYME[(i * 7 + j * (1 + i % 5)) % len(RHYME)] for j in range(4 + i % 9)) for i in range(count)]


class Recipe(tool.Tool):
    def test(self):
        if not shutil.which("espeak-ng"):
            self.skipTest("espeak-ng is not installed")
        page = tool.text(os.path.join(tool.ROOT, "docs/recipes.md")).split("\n## Speech: features and transcripts, for CTC\n")[1].split("\n## ")[0]
        files = dict(re.findall(r"^```\w+\n# (\S+\.\w+)\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
        self.assertEqual(set(files), {"speak.py", "ctc.yaml", "train.py"})
        for name, content in files.items():
            tool.write(self.path(name), content)
        tool.write(self.path("lines.txt"), "".join(line + "\n" for line in texts()))
        ranks.run(self, 1, "speak.py")
        pack, = re.findall(r"^    bload (pack .*?) +#", page, re.MULTILINE)
        self.bload(*pack.split(), cwd=self.path())
        said, silent = ranks.run(self, int(re.search(r"^torchrun --nproc_per_node (\d+) train\.py$", page, re.MULTILINE)[1]), "train.py")
        losses = [float(loss) for loss in re.findall(r"^epoch \d: loss (\S+)$", said, re.MULTILINE)]
        self.assertEqual((len(losses), silent), (6, ""))
        self.assertLess(losses[-1], 0.9 * losses[0])
