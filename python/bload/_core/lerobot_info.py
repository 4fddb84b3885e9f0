"""Read meta/info.json of a LeRobot dataset, and choose the features that become fields."""
from __future__ import annotations

import os
import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .errors import DamagedError, FormatError, MissingError, OptionError
from .mapping import open_regular
from .safetensors import parse_json

BOOKKEEPING = ("timestamp", "frame_index", "episode_index", "index", "task_index")
NUMERIC = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
FIELD_MAX = 47  # the most bytes of a field's name
CONVERTER = "convert_dataset_v21_to_v30"


class Feature(NamedTuple):
    """A feature that is converted. name: in LeRobot. field: in bload. options: further lines of its field in fields.yaml."""
    name: str
    field: str
    dtype: str
    shape: Tuple[int, ...]
    options: Tuple[str, ...]


class Info(NamedTuple):
    """The part of meta/info.json that is needed."""
    path: str
    fps: float
    features: Dict[str, Any]
    video_path: str
    episodes: int
    frames: int


def read_count(values: Dict[str, Any], name: str, path: str) -> int:
    """Return a count in info.json; raise DamagedError if it is not one."""
    value = values.get(name)
    if type(value) is not int or value < 0:
        raise DamagedError(f'"{name}" is {value!r}, not a count', path)
    return value


def read_info(root: str) -> Info:
    """Read meta/info.json; raise MissingError, DamagedError, or FormatError for another version."""
    path = os.path.join(root, "meta", "info.json")
    try:
        with open_regular(path) as file:
            values = parse_json(file.read())
    except FileNotFoundError:
        raise MissingError("missing, but a LeRobot dataset has this file", path) from None
    except ValueError as error:
        raise DamagedError(f"not JSON: {error}", path) from None
    if not isinstance(values, dict):
        raise DamagedError("not a JSON object", path)
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
    """Return the options of a camera's field: depth pictures keep their numbers. Raises FormatError if bload does not read them."""
    about: Dict[str, Any] = {}
    for key in "video_info", "info":
        about.update(feature[key] if isinstance(feature.get(key), dict) else {})
    if not (about.get("is_depth_map") or about.get("video.is_depth_map")):
        return ()
    pixels = str(about.get("video.pix_fmt"))
    if feature["dtype"] == "video" and not re.match(r"gray(9|1\d)", pixels):
        raise FormatError(f'"{name}" is depth in the pixel format {pixels}, which bload cannot read: leave it out with --columns', path)
    return ("pixels: gray16",)


def choose_features(info: Info, columns: Optional[Sequence[str]], notes: List[str]) -> List[Feature]:
    """Return the features that are converted: those of these names, or all numbers and pictures except the bookkeeping."""
    unknown = [name for name in columns or () if name not in info.features]
    if unknown:
        raise OptionError(f'--columns: no feature "{unknown[0]}"; the features are: {", ".join(info.features)}', info.path)
    chosen: List[Feature] = []
    for name, about in info.features.items():
        dtype, shape = about.get("dtype"), about.get("shape")
        if (name not in columns) if columns else (name in BOOKKEEPING):
            continue
        if dtype not in (*NUMERIC, "video", "image"):
            if columns:
                raise OptionError(f'--columns: "{name}" has the type {dtype}: only numbers and pictures become fields', info.path)
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
