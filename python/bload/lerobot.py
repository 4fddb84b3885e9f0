"""Prepare LeRobot datasets for bload pack.

    python -m bload.lerobot DIR -o DIR2
    bload pack -c DIR2/fields.yaml -o OUT

A LeRobot dataset of version 3 has many episodes in each Parquet and MP4 file. DIR2 gets, for every episode, an array of each column
(arrays/FIELD/episode_000000.npy), and for each camera a line that gives its frames in an MP4 file (clips/FIELD.csv); the videos
are not copied. Tables and videos are compared with each other, and a contradiction is an error. Rows are counted over all data
files in the order of their names, and frames are found by their times in the MP4 file, as LeRobot's own reader does.

fields.yaml is written last, by rename: a DIR2 without it is not complete. Memory holds the table of episodes, the rows of one episode
and some thousand more, and the times of one video.

lerobot_info.py (which features there are) -> lerobot_episodes.py -> lerobot_videos.py (frames of the cameras), lerobot_data.py (arrays and
images) -> lerobot_output.py (the other files).
"""
from __future__ import annotations

import argparse
import os
import sys
from typing import List, NamedTuple, Optional, Sequence

from ._core import apart
from ._core.command_line import Parser
from ._core.errors import Error, MissingError, OptionError
from ._core.lerobot_data import write_data
from ._core.lerobot_episodes import read_episodes
from ._core.lerobot_info import NUMERIC, Feature, choose_features, read_info
from ._core.lerobot_output import fields_yaml, make_folders, write_attributes, write_clips
from ._core.lerobot_tables import arrow
from ._core.lerobot_videos import camera_clips


class Report(NamedTuple):
    """What was written. notes: sentences about anything unexpected."""
    episodes: int
    frames: int
    fields: List[str]
    notes: List[str]


def convert(root: str, out: str, columns: Optional[Sequence[str]] = None) -> Report:
    """Write the files that bload pack needs to read a LeRobot dataset.

    Parameters
    ----------
    root : str
        The folder of the LeRobot dataset, which has meta/info.json.
    out : str
        The directory to write, which is empty or does not exist.
    columns : sequence of str, optional
        The features to convert, cameras included; by default all but LeRobot's bookkeeping.

    Returns
    -------
    Report
        The numbers of episodes and frames, the fields, and notes for the user.

    Raises
    ------
    MissingError
        A file does not exist.
    DamagedError
        A file is damaged, or contradicts another one.
    FormatError
        The dataset has another version, or a form that bload does not read.
    OptionError
        A column does not exist, or `out` is not empty.
    DependencyError
        pyarrow is not installed.
    """
    arrow()
    notes: List[str] = []
    info = read_info(root)
    features = choose_features(info, columns, notes)
    cameras = [feature for feature in features if feature.dtype == "video"]
    episodes = read_episodes(root, info, [camera.name for camera in cameras])
    names = [feature.name for feature in features]
    if any(len(set(tasks)) > 1 for tasks in episodes.tasks) and "task_index" not in names:
        features.append(Feature("task_index", "task_index", "int64", (1,), ()))
        notes.append("some episodes have several tasks: task_index becomes a field")
    primary = next((feature for feature in features if feature.dtype in NUMERIC), None)
    if primary is None:
        primary = Feature("frame_index", "frame_index", "int64", (1,), ())
        features.append(primary)
        notes.append("no column of numbers is converted, so frame_index becomes a field, because a source is needed")
    clips = [camera_clips(os.path.realpath(root), info, episodes, camera.name, notes) for camera in cameras]
    out = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(out))), os.path.basename(os.path.abspath(out)))
    make_folders(out, features)
    for camera, found in zip(cameras, clips):
        write_clips(os.path.realpath(out), camera.field, episodes, found)
    tasks = write_data(root, out, info, episodes, [feature for feature in features if feature.dtype != "video"], notes)
    write_attributes(root, out, episodes, features, tasks)
    with open(os.path.join(out, "fields.yaml.part"), "x", encoding="utf-8") as file:
        file.write(fields_yaml(info, features, primary))
        file.flush()
        os.fsync(file.fileno())
    os.rename(os.path.join(out, "fields.yaml.part"), os.path.join(out, "fields.yaml"))
    return Report(info.episodes, info.frames, [feature.field for feature in features], notes)


def say(text: str) -> None:
    """Write a line to standard error."""
    print(f"bload.lerobot: {text}", file=sys.stderr, flush=True)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run a command line and return the exit status."""
    parser = Parser(prog="python -m bload.lerobot", description="Make a LeRobot dataset (v3) ready for bload pack -c "
                                     "DIR2/fields.yaml: arrays and lists of clips of its episodes.")
    parser.add_argument("dataset", metavar="DIR", help="the dataset: the folder that has meta/info.json")
    parser.add_argument("-o", "--output", metavar="DIR2", required=True, help="the directory to write, empty or not there")
    parser.add_argument("--columns", metavar="A,B", help="the features to take, cameras included [all but timestamp, frame_index, "
                        "episode_index, index and task_index]")
    given = parser.parse_args(arguments)
    try:
        report = convert(given.dataset, given.output, given.columns.split(",") if given.columns else None)
    except (OptionError, MissingError) as error:
        say(str(error))
        return 2
    except (Error, OSError) as error:
        say(str(error))
        return 1
    for note in report.notes:
        say(note)
    say(f"{report.episodes} episodes of {report.frames} frames, fields {', '.join(report.fields)}; "
        f"bload pack -c {os.path.join(given.output, 'fields.yaml')} -o OUT")
    return 0


if __name__ == "__main__":
    sys.exit(apart.run(main, say))
