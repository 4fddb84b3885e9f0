"""Find the frames of each episode of a LeRobot dataset in the MP4 files."""
from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Tuple

import numpy as np

from .errors import DamagedError
from .lerobot_episodes import Episodes
from .lerobot_info import Info
from .mp4 import frame_times


def expand_path(root: str, template: str, camera: str, chunk: int, file: int, path: str) -> str:
    """Return the path of a video; raise DamagedError if the template is invalid, or leads out of the dataset."""
    values: Dict[str, Any] = {"video_key": camera, "chunk_index": chunk, "file_index": file}

    def expand(match: "re.Match[str]") -> str:
        """Return the value of a placeholder."""
        value = values.get(match.group(1))
        if value is None or (match.group(2) and not isinstance(value, int)):
            raise DamagedError(f'"video_path" is "{template}": {match.group(0)} is unknown', path)
        return f"{value:0{int(match.group(2))}d}" if match.group(2) else str(value)

    name = os.path.normpath(re.sub(r"\{(\w+)(?::0?(\d)d)?\}", expand, template))
    if os.path.isabs(name) or name.split(os.sep)[0] == ".." or "{" in name or name == template:
        raise DamagedError(f'"video_path" is "{template}": it leads out of the dataset, or is no template', path)
    return os.path.join(root, name)


def find_frames(times: np.ndarray, fps: float, length: int, begin: float, end: float) -> int:
    """Return the number of an episode's first frame; raise ValueError if the frames do not have the times that the table says."""
    if not abs((end - begin) * fps - length) < 0.5:
        raise ValueError(f"{length} frames at {fps:g} per second do not fit from_timestamp {begin:g} to to_timestamp {end:g}")
    first = int(np.searchsorted(times, begin - 0.5 / fps))
    there = times[first:first + length]
    if len(there) < length:
        raise ValueError(f"{length} frames are expected from {begin:g} s on, but the video has {len(there)}")
    late = np.abs(there - begin - np.arange(length) / fps) * fps
    worst = int(late.argmax())
    if late[worst] >= 0.5:
        raise ValueError(f"frame {worst} is expected at {begin + worst / fps:.4f} s, but is at {there[worst]:.4f} s: the video has gaps, or "
                         f"another rate than {fps:g} frames per second")
    return first


def camera_clips(root: str, info: Info, episodes: Episodes, camera: str, notes: List[str]) -> List[Tuple[str, int]]:
    """Return the path of the video and the first frame of each episode; DamagedError names file and episode."""
    clips: List[Tuple[str, int]] = [("", 0)] * len(episodes.length)
    files: Dict[Tuple[int, int], List[int]] = {}
    for episode, place in enumerate(episodes.videos[camera]):
        files.setdefault((place[0], place[1]), []).append(episode)
    for (chunk, file), members in files.items():
        path = expand_path(root, info.video_path, camera, chunk, file, info.path)
        times = frame_times(path)
        step = float(np.median(np.diff(times))) if len(times) > 1 else 1 / info.fps
        if not abs(step * info.fps - 1) < 0.01:
            raise DamagedError(f"{1 / step if step else np.inf:g} frames per second, but info.json says {info.fps:g}; its first episode is "
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
