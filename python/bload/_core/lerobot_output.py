"""Write the files that bload pack reads besides the arrays: lists of clips, the table of episodes, fields.yaml."""
from __future__ import annotations

import csv
import json
import os
from typing import Iterable, List, Sequence, Tuple

from .errors import DamagedError, MissingError, OptionError
from .lerobot_episodes import Episodes, episode_id, read_tasks
from .lerobot_info import Feature, Info


def write_table(path: str, rows: Iterable[Sequence[object]]) -> None:
    """Write rows as CSV."""
    with open(path, "x", encoding="utf-8", errors="surrogateescape", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def write_clips(out: str, field: str, episodes: Episodes, clips: Sequence[Tuple[str, int]]) -> None:
    """Write the list of the clips of a camera, one line per episode."""
    folder = os.path.join(out, "clips")
    rows: List[Sequence[object]] = [("path", "start_frame", "end_frame", "id")]
    for episode, (path, first) in enumerate(clips):
        rows.append((os.path.relpath(path, folder), first, first + episodes.length[episode], episode_id(episode)))
    write_table(os.path.join(folder, field + ".csv"), rows)


def write_attributes(root: str, out: str, episodes: Episodes, features: Sequence[Feature], numbers: Sequence[Sequence[int]]) -> None:
    """Write episodes.csv, with number and task of each episode unless these are fields; raise DamagedError if the tables contradict."""
    tasks = read_tasks(root)
    path = os.path.join(root, "meta", "tasks.parquet")
    fields = {feature.field for feature in features}
    columns = [column for column in ("id", "episode_index", "task_index", "task") if column not in fields]
    rows: List[Sequence[object]] = [columns]
    for episode, own in enumerate(numbers):
        unknown = [task for task in own if task not in tasks]
        if unknown:
            raise DamagedError(f"episode {episode}: its rows have the task_index {unknown[0]}, which is not in the table", path)
        texts = [tasks[task] for task in own]
        if sorted(texts) != sorted(set(episodes.tasks[episode])):
            raise DamagedError(f"episode {episode}: its rows have the tasks {texts}, but the table of episodes has {episodes.tasks[episode]}",
                               path)
        values = {"id": episode_id(episode), "episode_index": episode, "task_index": own[0], "task": "; ".join(texts)}
        rows.append([values[column] for column in columns])
    write_table(os.path.join(out, "episodes.csv"), rows)


def fields_yaml(info: Info, features: Sequence[Feature], primary: Feature) -> str:
    """Return the configuration of bload pack: the arrays of `primary` are the sources, all other features are fields."""
    lines = [f"# {info.episodes} episodes of {info.frames} frames, {info.fps:g} a second, by python -m bload.lerobot",
             f"sources: [arrays/{primary.field}]", "kind: array", f"name: {primary.field}", "attributes: episodes.csv", "T: longest"]
    others = [feature for feature in features if feature is not primary]
    lines += ["fields:"] if others else []
    for feature in others:
        kind, path = {"video": ("video", f"clips/{feature.field}.csv"), "image": ("frames", f"images/{feature.field}/{{id}}")}.get(
            feature.dtype, ("array", f"arrays/{feature.field}/{{id}}.npy"))
        lines += [f"  - name: {feature.field}", f"    kind: {kind}", f"    path: {json.dumps(path)}"]
        lines += [f"    {option}" for option in feature.options]
    return "\n".join(lines) + "\n"


def make_folders(out: str, features: Sequence[Feature]) -> None:
    """Make the output directory and its subdirectories; raise OptionError if it is not empty."""
    try:
        os.mkdir(out)
    except FileExistsError:
        if not os.path.isdir(out) or os.listdir(out):
            raise OptionError("the directory is not empty: remove it, or name another one (without fields.yaml, an unfinished run left it)",
                              out) from None
    except FileNotFoundError:
        raise MissingError("its parent directory does not exist", out) from None
    os.mkdir(os.path.join(out, "clips"))
    for feature in features:
        if feature.dtype != "video":
            os.makedirs(os.path.join(out, "images" if feature.dtype == "image" else "arrays", feature.field))
