"""The training loop of the README runs as it stands, on the ranks that its torchrun starts."""
import os
import re

import clips
import ranks
import tool

CLIPS = "h264.mp4", "mpeg4.avi", "vp8.webm", "mpeg2.ts", "vfr.mkv", "gif.gif"


class Readme(tool.Tool):
    def test(self):
        text = tool.text(os.path.join(tool.ROOT, "README.md"))
        script, = re.findall(r"^```python\n# train\.py\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        count, = re.findall(r"^torchrun --nproc_per_node (\d+) train\.py$", text, re.MULTILINE)
        # What the page leaves to its reader: to see that every rank had as many batches.
        script = script.replace("dist.destroy_process_group()", "print('batches', epoch + 1, len(loader))\ndist.destroy_process_group()")
        tool.write(self.path("train.py"), script)
        self.pack("dataset", *map(clips.clip, CLIPS), "--size", "16x16", "-T", "longest", "--world-size", 2)
        said = ranks.run(self, int(count), "train.py")
        self.assertTrue(said[0].startswith("batches 2 "))
        self.assertEqual(len(set(said)), 1)
