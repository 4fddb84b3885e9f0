"""Training jobs of several processes, and the real videos that they train on."""
import json
import os
import subprocess
import sys
import tempfile
import time

import clips
import media
import tool

TRAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "train.py")
# Made where there are no real ones: of different lengths, most of them short.
CLIPS = [name for name in clips.CLIPS if name.partition(".")[0] in ("h264", "h264-open", "mpeg4", "mpeg2", "vp8", "vp9", "flv1", "gif", "vfr")]


def pack(test, name, *options):
    """Packs videos, 16x16 pixels each, and gives the dataset's directory."""
    if media.VIDEOS:
        sources, status = [tool.MEDIA, "--kind", "video"], 3
    else:
        sources, status = [clips.clip(name) for name in CLIPS], 0
    return test.pack(name, *sources, "--size", "16x16", "-T", "longest", *options, status=status)


class Rank:
    """What a rank left behind: its exit status, what it said, and its updates, one list for each epoch."""

    def __init__(self, process, said, report):
        self.status = process.returncode
        self.said = said
        self.epochs = []
        if os.path.exists(report):
            self.epochs = json.loads(tool.read(report))

    def updates(self):
        return [update for epoch in self.epochs for update in epoch]


def run(directory, limit, **job):
    """Runs every rank of a job as a process and waits until the last has ended, or is killed after so many seconds; gives a Rank
    for each. What they leave stays in job["folder"], made in the directory.
    """
    job["folder"] = tempfile.mkdtemp(dir=directory)
    path = os.path.join(job["folder"], "job.json")
    tool.write(path, json.dumps(job))
    processes = [subprocess.Popen([sys.executable, "-B", TRAIN, path, str(rank)], stderr=subprocess.PIPE, text=True)
                 for rank in range(job["ranks"])]
    end = time.monotonic() + limit
    try:
        said = [process.communicate(timeout=max(1, end - time.monotonic()))[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stderr.close()
    reports = (os.path.join(job["folder"], f"rank-{rank}.json") for rank in range(job["ranks"]))
    return job["folder"], [Rank(*each) for each in zip(processes, said, reports)]
