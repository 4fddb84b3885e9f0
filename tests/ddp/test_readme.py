"""The training loop of the README runs as it stands, on two ranks that torchrun starts."""
import os
import re
import subprocess
import sys

import clips
import tool

CLIPS = "h264.mp4", "mpeg4.avi", "vp8.webm", "mpeg2.ts", "vfr.mkv", "gif.gif"


class Readme(tool.Tool):
    def test(self):
        with open(os.path.join(tool.ROOT, "README.md"), encoding="utf-8") as file:
            text = file.read()
        script, = re.findall(r"^```python\n# train\.py\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        command, = re.findall(r"^torchrun (--nproc_per_node \d+ train\.py)$", text, re.MULTILINE)
        # What the page leaves to its reader: to see that every rank had as many batches.
        script = script.replace("dist.destroy_process_group()", "print('batches', epoch + 1, len(loader))\ndist.destroy_process_group()")
        with open(self.path("train.py"), "w", encoding="utf-8") as file:
            file.write(script)
        self.pack("dataset", *map(clips.clip, CLIPS), "--size", "16x16", "-T", "longest", "--world-size", 2)
        done = subprocess.run([sys.executable, "-m", "torch.distributed.run", *command.split()], cwd=self.path(), capture_output=True,
                              text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = [line for line in done.stdout.splitlines() if line.startswith("batches")]
        self.assertEqual(len(said), 2)
        self.assertEqual(len(set(said)), 1)
