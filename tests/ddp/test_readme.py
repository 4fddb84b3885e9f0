"""The training loop of the README runs as it stands, on the ranks that its torchrun starts; here by what torchrun tells each, as the
one of torch 1.13 does not work with Python 3.11."""
import os
import re
import socket
import subprocess
import sys

import clips
import tool

CLIPS = "h264.mp4", "mpeg4.avi", "vp8.webm", "mpeg2.ts", "vfr.mkv", "gif.gif"


class Readme(tool.Tool):
    def test(self):
        text = tool.text(os.path.join(tool.ROOT, "README.md"))
        script, = re.findall(r"^```python\n# train\.py\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        ranks, = re.findall(r"^torchrun --nproc_per_node (\d+) train\.py$", text, re.MULTILINE)
        # What the page leaves to its reader: to see that every rank had as many batches.
        script = script.replace("dist.destroy_process_group()", "print('batches', epoch + 1, len(loader))\ndist.destroy_process_group()")
        tool.write(self.path("train.py"), script)
        self.pack("dataset", *map(clips.clip, CLIPS), "--size", "16x16", "-T", "longest", "--world-size", 2)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        processes = [subprocess.Popen([sys.executable, "train.py"], cwd=self.path(), stdout=subprocess.PIPE, text=True,
                                      env={**os.environ, "RANK": str(rank), "WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1",
                                           "MASTER_PORT": str(port)}) for rank in range(int(ranks))]
        said = [process.communicate(timeout=300)[0] for process in processes]
        self.assertEqual([process.returncode for process in processes], [0] * int(ranks))
        self.assertTrue(said[0].startswith("batches 2 "))
        self.assertEqual(len(set(said)), 1)
