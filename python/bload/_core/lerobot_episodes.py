"""Read the episodes of a LeRobot dataset and their tasks from the tables in meta."""
from __future__ import annotations

import glob
import os
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from .errors import DamagedError
from .lerobot_info import Info
from .lerobot_tables import ROWS, arrow, open_table, read_batches, read_schema


class Episodes(NamedTuple):
    """The table of episodes, a list for each column.

    begin: an episode's first row in the data. data: chunk and file of that row. videos: by camera, chunk and file, and the begin and end in
    seconds.
    """
    length: List[int]
    begin: List[int]
    tasks: List[List[str]]
    data: List[Tuple[int, int]]
    videos: Dict[str, List[Tuple[int, int, float, float]]]


def episode_id(episode: int) -> str:
    """Return the id of an episode in the packed dataset."""
    return f"episode_{episode:06d}"


def read_tasks(root: str) -> Dict[int, str]:
    """Return the text of each task_index from meta/tasks.parquet, whose index is the texts, as pandas writes it."""
    path = os.path.join(root, "meta", "tasks.parquet")
    pyarrow = arrow()[0]
    table = open_table(path)
    texts = [field.name for field in read_schema(table, path) if pyarrow.types.is_string(field.type) or pyarrow.types.is_large_string(field.type)]
    if len(texts) != 1:
        raise DamagedError(f"{len(texts)} columns of text instead of one", path)
    tasks: Dict[int, str] = {}
    for batch in read_batches(table, path, ("task_index", texts[0]), ROWS):
        for index, text in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist()):
            if index is None or text is None or index in tasks:
                raise DamagedError(f"the task_index {index} " + ("occurs twice" if index in tasks else "or its text is missing"), path)
            tasks[index] = text
    return tasks


def read_episodes(root: str, info: Info, cameras: Sequence[str]) -> Episodes:
    """Read meta/episodes, whose rows must be all episodes in order; DamagedError names file and episode."""
    pattern = os.path.join(glob.escape(os.path.join(root, "meta", "episodes")), "*", "*.parquet")
    episodes = Episodes([], [], [], [], {camera: [] for camera in cameras})
    place = [(f"videos/{camera}/{name}") for camera in cameras for name in ("chunk_index", "file_index", "from_timestamp", "to_timestamp")]
    columns = ("episode_index", "length", "dataset_from_index", "dataset_to_index", "tasks", "data/chunk_index", "data/file_index", *place)
    types: Dict[str, Any] = {column: float if column.endswith("timestamp") else list if column == "tasks" else int for column in columns}
    rows = 0
    for path in sorted(glob.glob(pattern)):
        for batch in read_batches(open_table(path), path, columns, ROWS):
            for row in zip(*(batch.column(column).to_pylist() for column in range(len(columns)))):
                episode = len(episodes.length)
                for column, value in zip(columns, row):
                    if type(value) is not types[column] or (column == "tasks" and not all(type(task) is str for task in value)):
                        raise DamagedError(f"episode {episode}: {column} is {value!r}, not of the type {types[column].__name__}", path)
                index, length, begin, end, tasks, chunk, file = row[:7]
                if index != episode:
                    raise DamagedError(f"row {episode} is of episode {index}: the rows must be all episodes in order", path)
                if length < 1 or begin != rows or end != begin + length:
                    raise DamagedError(f"episode {episode} has the length {length} and the rows {begin} to {end}, but the previous episode "
                                       f"ends at row {rows}", path)
                rows = end
                episodes.length.append(length)
                episodes.begin.append(begin)
                episodes.tasks.append(tasks)
                episodes.data.append((chunk, file))
                for number, camera in enumerate(cameras):
                    episodes.videos[camera].append(row[7 + 4 * number:11 + 4 * number])
    if len(episodes.length) != info.episodes or rows != info.frames:
        raise DamagedError(f"it says {info.episodes} episodes with {info.frames} frames, but the table of episodes has "
                           f"{len(episodes.length)} with {rows} frames", info.path)
    if not episodes.length:
        raise DamagedError("no episodes", info.path)
    return episodes
