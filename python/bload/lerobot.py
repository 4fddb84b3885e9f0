"""LeRobot datasets as sources of the tool.

    python -m bload.lerobot DIR -o DIR2
    bload pack -c DIR2/fields.yaml -o OUT

A LeRobot dataset of version 3 has many episodes in each Parquet and MP4 file. DIR2 gets, for every episode, an array of each column
(arrays/FIELD/episode_000000.npy), and a line for each camera that says which frames of an MP4 file it has (clips/FIELD.tsv); the videos
stay where they are. Tables and videos are compared with each other, and what does not agree is refused. Rows are counted over all data
files in the order of their names, and frames are found by their times in the MP4 file, as LeRobot's own reader does both.

fields.yaml is written last, by rename: without it DIR2 is not complete. In memory are the table of episodes, the rows of one episode and
some thousand more, and the times of one video.
"""
from __future__ import annotations

import argparse
import glob
import json
import os
import re
import sys
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .errors import DamagedError, DependencyError, Error, FormatError, MissingError, OptionError
from .mp4 import frame_times
from .safetensors import parse_json

BOOKKEEPING = ("timestamp", "frame_index", "episode_index", "index", "task_index")
NUMERIC = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
FIELD_MAX = 47  # bytes of a field's name
ROWS, IMAGE_ROWS = 8192, 64  # that are read at once
PICTURES = {b"\x89PNG\r\n\x1a\n": ".png", b"\xff\xd8\xff": ".jpg", b"II*\0": ".tiff", b"MM\0*": ".tiff"}
CONVERTER = "convert_dataset_v21_to_v30"


class Feature(NamedTuple):
    """A feature that is converted. name: LeRobot's; field: bload's; options: further lines of its field."""
    name: str
    field: str
    dtype: str
    shape: Tuple[int, ...]
    options: Tuple[str, ...]


class Info(NamedTuple):
    """meta/info.json, as far as it is needed."""
    path: str
    fps: float
    features: Dict[str, Any]
    video_path: str
    episodes: int
    frames: int


class Episodes(NamedTuple):
    """The table of episodes, a list of each column. begin: an episode's first row in the data. data: chunk and file of that row.
    videos: by camera, chunk and file, and from when to when, in seconds."""
    length: List[int]
    begin: List[int]
    tasks: List[List[str]]
    data: List[Tuple[int, int]]
    videos: Dict[str, List[Tuple[int, int, float, float]]]


class Report(NamedTuple):
    """What was written. notes: what is not as one would expect, in sentences."""
    episodes: int
    frames: int
    fields: List[str]
    notes: List[str]


def arrow() -> Tuple[Any, Any, Any]:
    """pyarrow, its functions and its Parquet. DependencyError: it is not installed."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise DependencyError("LeRobot's tables are Parquet files: pip install 'bload[lerobot]'") from None
    return pyarrow, pyarrow.compute, pyarrow.parquet


def episode_id(episode: int) -> str:
    return f"episode_{episode:06d}"


# --- what there is -----------------------------------------------------------------------------------------------------------------


def read_count(values: Dict[str, Any], name: str, path: str) -> int:
    """A count in info.json."""
    value = values.get(name)
    if type(value) is not int or value < 0:
        raise DamagedError(f'"{name}" is {value!r}, no count', path)
    return value


def read_info(root: str) -> Info:
    """Reads meta/info.json. MissingError, DamagedError; FormatError: it is of another version."""
    path = os.path.join(root, "meta", "info.json")
    try:
        with open(path, "rb") as file:
            values = parse_json(file.read())
    except (FileNotFoundError, NotADirectoryError):
        raise MissingError("not there: a LeRobot dataset has this file", path) from None
    except ValueError as error:
        raise DamagedError(f"no JSON: {error}", path) from None
    if not isinstance(values, dict):
        raise DamagedError("no JSON object", path)
    version = str(values.get("codebase_version"))
    if version.startswith(("v1.", "v2.")):
        raise FormatError(f"LeRobot {version} has a file for each episode: LeRobot's {CONVERTER} makes a dataset of version v3.0", path)
    if not version.startswith("v3."):
        raise FormatError(f"codebase_version {version}: only v3 is read", path)
    fps, features = values.get("fps"), values.get("features")
    if isinstance(fps, bool) or not isinstance(fps, (int, float)) or not 0 < fps < 1e6:
        raise DamagedError(f'"fps" is {fps!r}', path)
    if not isinstance(features, dict) or not all(isinstance(feature, dict) for feature in features.values()):
        raise DamagedError('"features" is no object of objects', path)
    video_path = values.get("video_path") or ""
    if not isinstance(video_path, str):
        raise DamagedError(f'"video_path" is {video_path!r}', path)
    return Info(path, float(fps), features, video_path, read_count(values, "total_episodes", path),
                read_count(values, "total_frames", path))


def camera_options(name: str, feature: Dict[str, Any], path: str) -> Tuple[str, ...]:
    """The options of a camera's field: pictures of depth keep their numbers. FormatError: bload does not read them."""
    about: Dict[str, Any] = {}
    for key in "video_info", "info":
        about.update(feature[key] if isinstance(feature.get(key), dict) else {})
    if not (about.get("is_depth_map") or about.get("video.is_depth_map")):
        return ()
    pixels = str(about.get("video.pix_fmt"))
    if feature["dtype"] == "video" and not re.match(r"gray(9|1\d)", pixels):
        raise FormatError(f'"{name}" is depth in {pixels}, whose numbers bload does not read: leave it out with --columns', path)
    return ("pixels: gray16",)


def choose_features(info: Info, columns: Optional[Sequence[str]], notes: List[str]) -> List[Feature]:
    """The features that are converted: those of these names, or all but the bookkeeping and what is no picture and no number."""
    unknown = [name for name in columns or () if name not in info.features]
    if unknown:
        raise OptionError(f'--columns: there is no feature "{unknown[0]}", but {", ".join(info.features)}', info.path)
    chosen: List[Feature] = []
    for name, about in info.features.items():
        dtype, shape = about.get("dtype"), about.get("shape")
        if (name not in columns) if columns else (name in BOOKKEEPING):
            continue
        if dtype not in (*NUMERIC, "video", "image"):
            if columns:
                raise OptionError(f'--columns: "{name}" is of the type {dtype}: only numbers and pictures become fields', info.path)
            notes.append(f'the feature "{name}" is left out: its type is {dtype}')
            continue
        if not isinstance(shape, list) or not all(type(size) is int and size > 0 for size in shape):
            raise DamagedError(f'the shape of "{name}" is {shape!r}', info.path)
        field = re.sub(r"[^A-Za-z0-9_-]", "_", name)
        options = camera_options(name, about, info.path) if dtype in ("video", "image") else ()
        same = [other.name for other in chosen if other.field == field]
        if same or not 0 < len(field) <= FIELD_MAX:
            raise OptionError(f'the features "{same[0]}" and "{name}" would both be the field {field}: choose one by --columns' if same else
                              f'the name "{name}" is too long for a field ({FIELD_MAX} bytes): leave it out with --columns', info.path)
        chosen.append(Feature(name, field, dtype, tuple(shape), options))
    return chosen


# --- tables of Parquet -------------------------------------------------------------------------------------------------------------


def open_table(path: str) -> Any:
    """A Parquet file. MissingError, DamagedError."""
    pyarrow, _, parquet = arrow()
    try:
        return parquet.ParquetFile(path)
    except FileNotFoundError:
        raise MissingError("the table is missing", path) from None
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise DamagedError(f"no readable Parquet file: {error}", path) from None


def read_batches(table: Any, path: str, columns: Sequence[str], rows: int) -> Iterator[Any]:
    """Its rows, some at a time. DamagedError: a column is missing, or the data are damaged."""
    pyarrow = arrow()[0]
    there = table.schema_arrow.names
    for name in columns:
        if name not in there:
            raise DamagedError(f'no column "{name}"', path)
    try:
        yield from table.iter_batches(batch_size=rows, columns=list(columns))
    except (pyarrow.ArrowException, OSError) as error:
        raise DamagedError(f"the data cannot be read: {error}", path) from None


def to_numpy(values: Any) -> np.ndarray:
    """An array of the numbers of a column, [rows, ...]. ValueError: some are missing, or the lists differ in length."""
    pyarrow, compute, _ = arrow()
    types = pyarrow.types
    shape = [len(values)]
    while True:
        if isinstance(values, pyarrow.ExtensionArray):
            values = values.storage
        if values.null_count:
            raise ValueError("a value is missing")
        if not (types.is_list(values.type) or types.is_large_list(values.type) or types.is_fixed_size_list(values.type)):
            break
        sizes = compute.min_max(compute.list_value_length(values)).as_py()
        if sizes["min"] != sizes["max"]:
            raise ValueError(f"lists of {sizes['min']} and of {sizes['max']} values")
        shape.append(sizes["min"] or 0)
        values = values.flatten()
    return np.ascontiguousarray(values.to_numpy(zero_copy_only=False)).reshape(shape)


def first_fault(values: Any) -> int:
    """The row of a column that to_numpy refuses."""
    shapes: Dict[int, Tuple[int, ...]] = {}
    for row in range(len(values)):
        try:
            shape = to_numpy(values.slice(row, 1)).shape
        except ValueError:
            return row
        if shape != shapes.setdefault(0, shape):
            return row
    return 0


def read_tasks(root: str) -> Dict[int, str]:
    """meta/tasks.parquet: the texts are its index, as pandas writes it."""
    path = os.path.join(root, "meta", "tasks.parquet")
    pyarrow = arrow()[0]
    table = open_table(path)
    texts = [field.name for field in table.schema_arrow if pyarrow.types.is_string(field.type) or pyarrow.types.is_large_string(field.type)]
    if len(texts) != 1:
        raise DamagedError(f"{len(texts)} columns of text, not one", path)
    tasks: Dict[int, str] = {}
    for batch in read_batches(table, path, ("task_index", texts[0]), ROWS):
        for index, text in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist()):
            if index is None or text is None or index in tasks:
                raise DamagedError(f"the task_index {index} " + ("occurs twice" if index in tasks else "or its text is missing"), path)
            tasks[index] = text
    return tasks


def read_episodes(root: str, info: Info, cameras: Sequence[str]) -> Episodes:
    """Reads meta/episodes, whose rows must be all episodes in their order. DamagedError names the file and the episode."""
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
                    raise DamagedError(f"row {episode} is of episode {index}: the rows must be all episodes in their order", path)
                if length < 1 or begin != rows or end != begin + length:
                    raise DamagedError(f"episode {episode} has the length {length} and the rows {begin} to {end}, and the one before ends "
                                       f"at row {rows}", path)
                rows = end
                episodes.length.append(length)
                episodes.begin.append(begin)
                episodes.tasks.append(tasks)
                episodes.data.append((chunk, file))
                for number, camera in enumerate(cameras):
                    episodes.videos[camera].append(row[7 + 4 * number:11 + 4 * number])
    if len(episodes.length) != info.episodes or rows != info.frames:
        raise DamagedError(f"total_episodes {info.episodes} and total_frames {info.frames}, and the table of episodes has "
                           f"{len(episodes.length)} of {rows} frames", info.path)
    if not episodes.length:
        raise DamagedError("no episodes", info.path)
    return episodes


# --- videos ------------------------------------------------------------------------------------------------------------------------


def expand_path(root: str, template: str, camera: str, chunk: int, file: int, path: str) -> str:
    """The path of a video. DamagedError: the template is none, or leads out of the dataset."""
    values: Dict[str, Any] = {"video_key": camera, "chunk_index": chunk, "file_index": file}

    def expand(match: "re.Match[str]") -> str:
        value = values.get(match.group(1))
        if value is None or (match.group(2) and not isinstance(value, int)):
            raise DamagedError(f'"video_path" is "{template}": {match.group(0)} is unknown', path)
        return f"{value:0{int(match.group(2))}d}" if match.group(2) else str(value)

    name = os.path.normpath(re.sub(r"\{(\w+)(?::0?(\d)d)?\}", expand, template))
    if os.path.isabs(name) or name.split(os.sep)[0] == ".." or "{" in name or name == template:
        raise DamagedError(f'"video_path" is "{template}": it leads out of the dataset, or is no template', path)
    return os.path.join(root, name)


def find_frames(times: np.ndarray, fps: float, length: int, begin: float, end: float) -> int:
    """The number of an episode's first frame. ValueError: the frames do not come when the table says."""
    if not abs((end - begin) * fps - length) < 0.5:
        raise ValueError(f"{length} frames at {fps:g} a second, and from_timestamp {begin:g} to to_timestamp {end:g}")
    first = int(np.searchsorted(times, begin - 0.5 / fps))
    there = times[first:first + length]
    if len(there) < length:
        raise ValueError(f"{length} frames from {begin:g} s on, and the video has {len(there)} there")
    late = np.abs(there - begin - np.arange(length) / fps) * fps
    worst = int(late.argmax())
    if late[worst] >= 0.5:
        raise ValueError(f"frame {worst} should come at {begin + worst / fps:.4f} s and comes at {there[worst]:.4f} s: other frames a "
                         f"second than {fps:g}, or gaps")
    return first


def camera_clips(root: str, info: Info, episodes: Episodes, camera: str, notes: List[str]) -> List[Tuple[str, int]]:
    """Path of the video and first frame of each episode. DamagedError names the file and the episode."""
    clips: List[Tuple[str, int]] = [("", 0)] * len(episodes.length)
    files: Dict[Tuple[int, int], List[int]] = {}
    for episode, place in enumerate(episodes.videos[camera]):
        files.setdefault((place[0], place[1]), []).append(episode)
    for (chunk, file), members in files.items():
        path = expand_path(root, info.video_path, camera, chunk, file, info.path)
        times = frame_times(path)
        step = float(np.median(np.diff(times))) if len(times) > 1 else 1 / info.fps
        if not abs(step * info.fps - 1) < 0.01:
            raise DamagedError(f"{1 / step if step else np.inf:g} frames a second, and info.json says {info.fps:g}; its first episode is "
                               f"{members[0]}", path)
        used: List[Tuple[int, int, int]] = []
        for episode in members:
            _, _, begin, end = episodes.videos[camera][episode]
            try:
                first = find_frames(times, info.fps, episodes.length[episode], begin, end)
            except ValueError as error:
                raise DamagedError(f"episode {episode}: {error}", path) from None
            used.append((first, first + episodes.length[episode], episode))
            clips[episode] = (path, first)
        used.sort()
        for before, after in zip(used, used[1:]):
            if after[0] < before[1]:
                raise DamagedError(f"episodes {before[2]} and {after[2]} have frames in common, from frame {after[0]} on", path)
        unused = len(times) - sum(end - first for first, end, _ in used)
        if unused:
            notes.append(f"{path}: {unused} of its {len(times)} frames belong to no episode")
    return clips


# --- data --------------------------------------------------------------------------------------------------------------------------


def save_picture(value: Any, folder: str, frame: int) -> None:
    """Writes an image as it is. ValueError: it is not in the table, or neither PNG nor JPEG."""
    data: bytes = (value.get("bytes") if isinstance(value, dict) else None) or b""
    ending = next((ending for magic, ending in PICTURES.items() if data.startswith(magic)), None)
    if ending is None:
        raise ValueError("its image is neither PNG, JPEG nor TIFF" if data else "its image is not in the table")
    with open(os.path.join(folder, f"frame-{frame:06d}{ending}"), "xb") as file:
        file.write(data)


def check_numbers(values: np.ndarray, feature: Feature) -> None:
    """ValueError: type or shape are not those of info.json, in which a single number has the shape [1]."""
    shape = values.shape[1:]
    if values.dtype != np.dtype(feature.dtype):
        raise ValueError(f'"{feature.name}" is {values.dtype}, and info.json says {feature.dtype}')
    if shape != feature.shape and (shape or feature.shape != (1,)):
        raise ValueError(f'"{feature.name}" has steps of the shape {list(shape)}, and info.json says {list(feature.shape)}')


class Episode:
    """The rows of an episode, which come in parts, on their way into files."""

    def __init__(self, out: str, features: Sequence[Feature], number: int, length: int):
        self.out, self.features, self.number, self.length = out, features, number, length
        self.parts: Dict[str, List[np.ndarray]] = {feature.name: [] for feature in features}
        self.tasks: Dict[int, None] = {}
        self.rows = 0
        for feature in features:
            if feature.dtype == "image":
                os.mkdir(os.path.join(out, "images", feature.field, episode_id(number)))

    def add(self, columns: Dict[str, Any], info: Info, first: int) -> None:
        """Takes rows, the first of which has this number in the data. ValueError: they are of other frames, or of another form."""
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
        """Writes its arrays. Gives how many steps of each have a value that is NaN."""
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
    """The columns of all data files, some rows at a time, with the file's path."""
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
    """Writes the arrays and images of all episodes. Gives the numbers of each one's tasks. DamagedError names the file and the episode."""
    tasks: List[List[int]] = []
    missing: Dict[str, List[Tuple[int, int]]] = {}
    current: Optional[Episode] = None
    row, path = 0, os.path.join(root, "data")
    for path, columns in data_rows(root, info, episodes, features):
        at, rows = 0, len(columns["index"])
        while at < rows:
            number = len(tasks)
            if number == len(episodes.length):
                raise DamagedError(f"{rows - at} rows or more behind the last episode's", path)
            if current is None:
                chunk, file = episodes.data[number]
                if not path.endswith(os.sep + os.path.join(f"chunk-{chunk:03d}", f"file-{file:03d}.parquet")):
                    raise DamagedError(f"episode {number} begins in this file, and should in chunk {chunk}, file {file}: data files are "
                                       "missing, or have too many or too few rows", path)
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
        raise DamagedError(f"{row} rows in all data files, and episode {len(tasks)} has rows {episodes.begin[len(tasks)]} to "
                           f"{episodes.begin[len(tasks)] + episodes.length[len(tasks)] - 1}: data files are missing or truncated", path)
    for name, found in missing.items():
        notes.append(f'"{name}" is NaN in {sum(count for _, count in found)} steps of {len(found)} episodes, the first of them episode '
                     f"{found[0][0]}: they are kept")
    return tasks


# --- writing -----------------------------------------------------------------------------------------------------------------------


def escape(text: str) -> str:
    """A value of a TSV file."""
    for plain, code in ("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"):
        text = text.replace(plain, code)
    return text


def write_table(path: str, rows: Iterable[Sequence[object]]) -> None:
    with open(path, "x", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        for row in rows:
            file.write("\t".join(escape(str(value)) for value in row) + "\n")


def write_clips(out: str, field: str, episodes: Episodes, clips: Sequence[Tuple[str, int]]) -> None:
    folder = os.path.join(out, "clips")
    rows: List[Sequence[object]] = [("path", "start_frame", "end_frame", "id")]
    for episode, (path, first) in enumerate(clips):
        rows.append((os.path.relpath(path, folder), first, first + episodes.length[episode], episode_id(episode)))
    write_table(os.path.join(folder, field + ".tsv"), rows)


def write_attributes(root: str, out: str, episodes: Episodes, features: Sequence[Feature], numbers: Sequence[Sequence[int]]) -> None:
    """episodes.tsv: number and task of each episode, but for what is a field. DamagedError: the tables say different tasks."""
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
            raise DamagedError(f"episode {episode}: its rows have the tasks {texts}, the table of episodes has {episodes.tasks[episode]}",
                               path)
        values = {"id": episode_id(episode), "episode_index": episode, "task_index": own[0], "task": "; ".join(texts)}
        rows.append([values[column] for column in columns])
    write_table(os.path.join(out, "episodes.tsv"), rows)


def fields_yaml(info: Info, features: Sequence[Feature], primary: Feature) -> str:
    """The configuration of bload pack: the primary's arrays are the sources, everything else fields."""
    lines = [f"# {info.episodes} episodes of {info.frames} frames, {info.fps:g} a second, by python -m bload.lerobot",
             f"sources: [arrays/{primary.field}]", "kind: array", f"name: {primary.field}", "attributes: episodes.tsv", "T: longest"]
    others = [feature for feature in features if feature is not primary]
    lines += ["fields:"] if others else []
    for feature in others:
        kind, path = {"video": ("video", f"clips/{feature.field}.tsv"), "image": ("frames", f"images/{feature.field}/{{id}}")}.get(
            feature.dtype, ("array", f"arrays/{feature.field}/{{id}}.npy"))
        lines += [f"  - name: {feature.field}", f"    kind: {kind}", f"    path: {json.dumps(path)}"]
        lines += [f"    {option}" for option in feature.options]
    return "\n".join(lines) + "\n"


def make_folders(out: str, features: Sequence[Feature]) -> None:
    """Makes the directory and those in it. OptionError: it holds something."""
    try:
        os.mkdir(out)
    except FileExistsError:
        if not os.path.isdir(out) or os.listdir(out):
            raise OptionError("not an empty directory: remove it, or name another (without fields.yaml it is what a run left that did "
                              "not end)", out) from None
    except FileNotFoundError:
        raise MissingError("there is no directory above it", out) from None
    os.mkdir(os.path.join(out, "clips"))
    for feature in features:
        if feature.dtype != "video":
            os.makedirs(os.path.join(out, "images" if feature.dtype == "image" else "arrays", feature.field))


def convert(root: str, out: str, columns: Optional[Sequence[str]] = None) -> Report:
    """Writes what bload pack needs to read a LeRobot dataset, at root, into the directory out, which is empty or not there.

    columns: the features to take, cameras included; by default all but LeRobot's bookkeeping. MissingError, DamagedError, FormatError (of
    another version), OptionError, DependencyError (no pyarrow).
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
        notes.append("some episodes have several tasks: task_index is a field")
    primary = next((feature for feature in features if feature.dtype in NUMERIC), None)
    if primary is None:
        primary = Feature("frame_index", "frame_index", "int64", (1,), ())
        features.append(primary)
        notes.append("no column of numbers is taken, and something must be the source: frame_index is a field")
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
    print(f"bload.lerobot: {text}", file=sys.stderr, flush=True)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bload.lerobot", description="Make a LeRobot dataset (v3) ready for bload pack -c "
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
    sys.exit(main())
