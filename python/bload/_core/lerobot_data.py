"""Convert the rows of a LeRobot dataset to the arrays and images of its episodes."""
from __future__ import annotations

import glob
import os
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from .errors import DamagedError
from .lerobot_episodes import Episodes, episode_id
from .lerobot_info import BOOKKEEPING, Feature, Info
from .lerobot_tables import ROWS, first_fault, open_table, read_batches, to_numpy

IMAGE_ROWS = 64  # rows to read at a time if they have images
PICTURES = {b"\x89PNG\r\n\x1a\n": ".png", b"\xff\xd8\xff": ".jpg", b"II*\0": ".tiff", b"MM\0*": ".tiff"}


def save_picture(value: Any, folder: str, frame: int) -> None:
    """Write an image unchanged; raise ValueError if the table does not contain it, or it is not PNG, JPEG or TIFF."""
    data: bytes = (value.get("bytes") if isinstance(value, dict) else None) or b""
    ending = next((ending for magic, ending in PICTURES.items() if data.startswith(magic)), None)
    if ending is None:
        raise ValueError("its image is not PNG, JPEG or TIFF" if data else "the table does not contain its image")
    with open(os.path.join(folder, f"frame-{frame:06d}{ending}"), "xb") as file:
        file.write(data)


def check_numbers(values: np.ndarray, feature: Feature) -> None:
    """Raise ValueError if type or shape differ from info.json, in which a single number has the shape [1]."""
    shape = values.shape[1:]
    if values.dtype != np.dtype(feature.dtype):
        raise ValueError(f'"{feature.name}" is {values.dtype}, but info.json says {feature.dtype}')
    if shape != feature.shape and (shape or feature.shape != (1,)):
        raise ValueError(f'"{feature.name}" has steps of the shape {list(shape)}, but info.json says {list(feature.shape)}')


class Episode:
    """The rows of an episode, collected from several batches before they are written to files."""

    def __init__(self, out: str, features: Sequence[Feature], number: int, length: int):
        self.out, self.features, self.number, self.length = out, features, number, length
        self.parts: Dict[str, List[np.ndarray]] = {feature.name: [] for feature in features}
        self.tasks: Dict[int, None] = {}
        self.rows = 0
        for feature in features:
            if feature.dtype == "image":
                os.mkdir(os.path.join(out, "images", feature.field, episode_id(number)))

    def add(self, columns: Dict[str, Any], info: Info, first: int) -> None:
        """Add rows, the first of which has the number `first` in the data; raise ValueError if they are other frames, or have another form."""
        steps = len(columns["index"])
        frames = np.arange(self.rows, self.rows + steps)
        numbers = {"episode_index": np.full(steps, self.number), "frame_index": frames, "index": first + np.arange(steps)}
        for name, expected in numbers.items():
            wrong = np.flatnonzero(columns[name] != expected)
            if len(wrong):
                raise ValueError(f"frame {frames[wrong[0]]} has the {name} {columns[name][wrong[0]]}, not {expected[wrong[0]]}")
        wrong = np.flatnonzero(~(np.abs(columns["timestamp"].astype(np.float64) * info.fps - frames) < 0.5))
        if len(wrong):
            raise ValueError(f"frame {frames[wrong[0]]} has the timestamp {columns['timestamp'][wrong[0]]:g}, at {info.fps:g} frames a "
                             "second")
        self.tasks.update(dict.fromkeys(np.unique(columns["task_index"]).tolist()))
        for feature in self.features:
            values = columns[feature.name]
            if feature.dtype == "image":
                folder = os.path.join(self.out, "images", feature.field, episode_id(self.number))
                for frame, value in zip(frames, values):
                    try:
                        save_picture(value.as_py(), folder, int(frame))
                    except ValueError as error:
                        raise ValueError(f'frame {frame}, "{feature.name}": {error}') from None
            else:
                check_numbers(values, feature)
                self.parts[feature.name].append(values.copy())
        self.rows += steps

    def save(self) -> Dict[str, int]:
        """Write the arrays, and return for each how many steps have a value that is NaN."""
        missing: Dict[str, int] = {}
        for feature in self.features:
            if feature.dtype == "image":
                continue
            values = np.concatenate(self.parts[feature.name])
            if values.dtype.kind == "f":
                missing[feature.name] = int(np.isnan(values).reshape(len(values), -1).any(1).sum())
            with open(os.path.join(self.out, "arrays", feature.field, episode_id(self.number) + ".npy"), "xb") as file:
                np.save(file, values)
        return missing


def data_rows(root: str, info: Info, episodes: Episodes, features: Sequence[Feature]) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """Yield the columns of all data files in batches of rows, with the path of the file."""
    folder = os.path.join(root, "data")
    paths = sorted(glob.glob(os.path.join(glob.escape(folder), "*", "*.parquet")))
    names = [feature.name for feature in features if feature.dtype not in ("image", "video")]
    images = [feature.name for feature in features if feature.dtype == "image"]
    first = 0
    for path in paths:
        table = open_table(path)
        for batch in read_batches(table, path, list(dict.fromkeys((*BOOKKEEPING, *names, *images))), IMAGE_ROWS if images else ROWS):
            columns: Dict[str, Any] = {name: batch.column(batch.schema.get_field_index(name)) for name in images}
            for name in dict.fromkeys((*BOOKKEEPING, *names)):
                values = batch.column(batch.schema.get_field_index(name))
                try:
                    columns[name] = to_numpy(values)
                except ValueError as error:
                    row = first + first_fault(values)
                    episode = int(np.searchsorted(episodes.begin, row, "right")) - 1
                    raise DamagedError(f'episode {episode}: frame {row - episodes.begin[episode]}, "{name}": {error}', path) from None
            yield path, columns
            first += batch.num_rows


def write_data(root: str, out: str, info: Info, episodes: Episodes, features: Sequence[Feature], notes: List[str]) -> List[List[int]]:
    """Write the arrays and images of all episodes, and return the numbers of the tasks of each; DamagedError names file and episode."""
    tasks: List[List[int]] = []
    missing: Dict[str, List[Tuple[int, int]]] = {}
    current: Optional[Episode] = None
    row, path = 0, os.path.join(root, "data")
    for path, columns in data_rows(root, info, episodes, features):
        at, rows = 0, len(columns["index"])
        while at < rows:
            number = len(tasks)
            if number == len(episodes.length):
                raise DamagedError(f"{rows - at} or more rows after the last episode", path)
            if current is None:
                chunk, file = episodes.data[number]
                if not path.endswith(os.sep + os.path.join(f"chunk-{chunk:03d}", f"file-{file:03d}.parquet")):
                    raise DamagedError(f"episode {number} begins in this file instead of chunk {chunk}, file {file}: data files are missing, "
                                       "or have too many or too few rows", path)
                current = Episode(out, features, number, episodes.length[number])
            steps = min(rows - at, current.length - current.rows)
            try:
                current.add({name: values[at:at + steps] for name, values in columns.items()}, info, row)
            except ValueError as error:
                raise DamagedError(f"episode {number}: {error}", path) from None
            at, row = at + steps, row + steps
            if current.rows == current.length:
                for name, count in current.save().items():
                    if count:
                        missing.setdefault(name, []).append((number, count))
                tasks.append(list(current.tasks))
                current = None
    if len(tasks) < len(episodes.length):
        raise DamagedError(f"all data files have {row} rows, but episode {len(tasks)} has rows {episodes.begin[len(tasks)]} to "
                           f"{episodes.begin[len(tasks)] + episodes.length[len(tasks)] - 1}: data files are missing or truncated", path)
    for name, found in missing.items():
        notes.append(f'"{name}" is NaN in {sum(count for _, count in found)} steps of {len(found)} episodes, first in episode '
                     f"{found[0][0]}: these steps are kept")
    return tasks
