"""docs/multimodal.md runs as it stands, and its table of families is that of the code. UPDATE=1 writes the table."""
import os
import re
import subprocess
import sys

import numpy as np

import multimodal_models as models
import multimodal_sets as sets
import tool
from bload._core.arrays import FAMILIES, Steps
from bload._core.processing import Processor
from bload._core.turns import Choices
from bload.multimodal import Converter
from bload._core.samples import Sample

PAGE = os.path.join(tool.ROOT, "docs/multimodal.md")
TITLES = {"qwen2_vl": "Qwen2-VL", "qwen2_5_vl": "Qwen2.5-VL", "qwen3_vl": "Qwen3-VL", "qwen2_5_omni": "Qwen2.5-Omni (thinker)", "llava": "LLaVA 1.5",
          "llava_next": "LLaVA-NeXT", "llava_onevision": "LLaVA-OneVision", "internvl": "InternVL", "idefics3": "Idefics3", "smolvlm": "SmolVLM",
          "paligemma": "PaliGemma", "gemma3": "Gemma 3", "pixtral": "Pixtral", "qwen2_audio": "Qwen2-Audio"}
SHORT = {"float32": "F32", "uint8": "U8", "int64": "I64", "int32": "I32"}


class Page(tool.Tool):
    def test_runs(self):
        """All programs and commands of the page, but the installation."""
        models.save("qwen2_5_vl", self.path("model"))
        models.save("qwen2_audio", self.path("audio-model"))
        os.makedirs(self.path("bin"))
        os.symlink(tool.BLOAD, self.path("bin", "bload"))
        environment = {**os.environ, "PATH": ":".join((self.path("bin"), os.path.dirname(sys.executable), os.environ["PATH"])), "PYTHONPATH": os.path.join(tool.ROOT, "python")}
        environment.pop("BLOAD", None)
        said = ""
        for language, code in re.findall(r"^```(sh|python)\n(.*?)^```", tool.text(PAGE), re.DOTALL | re.MULTILINE):
            if language == "python":
                tool.write(self.path(re.match(r"# (\S+\.py)\n", code)[1]), code)
            elif not code.startswith("pip "):
                done = subprocess.run(["bash", "-euc", code], cwd=self.path(), env=environment, capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, f"{code}\n{done.stderr}")
                said += done.stdout + done.stderr
        losses = [float(loss) for loss in re.findall(r"^epoch \d: loss (\S+)$", said, re.MULTILINE)]
        self.assertEqual(len(losses), 6)
        self.assertLess(losses[-1], 0.9 * losses[0])
        for name, count in ("chats.json", 60), ("clips.jsonl", 6), ("sounds.jsonl", 12):
            self.assertIn(f"chats: {count};", said, name)

    def test_table(self):
        made = table(self.directory)
        page = tool.text(PAGE)
        head, _, rest = page.partition("<!-- families -->\n")
        old, _, tail = rest.partition("<!-- end -->")
        if os.environ.get("UPDATE"):
            tool.write(PAGE, f"{head}<!-- families -->\n{made}<!-- end -->{tail}")
        else:
            self.assertEqual(old, made)


def table(directory):
    """Return the table of families, from what the rows of the example chats have."""
    lines = ["| model | processor | contract | fields on the tokens, beside tokens and loss_mask | fields with steps of their own |", "|---|---|---|---|---|"]
    for family, title in TITLES.items():
        folder = os.path.join(directory, family)
        os.makedirs(folder)
        models.save(family, os.path.join(folder, "model"))
        processor = Processor(os.path.join(folder, "model"), None, {}, Choices())
        convert = Converter(processor, [folder], [])
        own, common = {}, []
        names = [form.field for form in processor.family.forms if isinstance(form, Steps)] + ["loss_mask", "position_ids"]
        for number, chat in enumerate(sets.chats_of(family, folder).values()):
            result = convert((0, Sample("x", number, keys={"messages": chat})))
            assert not result.row.fault, result.row.fault
            for name, data in sets.members_of(result.data).items():
                values = np.load(data)
                if name not in names:
                    own[name] = f"`{name}` {SHORT[str(values.dtype)]}"
                elif name not in ("tokens", "loss_mask") and name not in common:
                    common.append(name)
        lines.append(f"| {title} | `{type(processor.processor).__name__}` | `{processor.family.contract}` | {', '.join(f'`{name}`' for name in common)} | "
                     f"{', '.join(own[name] for name in sorted(own))} |")
    assert {FAMILIES[row.split('`')[1]].name for row in lines[2:]} == {family.name for family in FAMILIES.values()}
    return "".join(f"{line}\n" for line in lines)
