"""LeRobot datasets, made by the rules of its writer: frames as ffmpeg decodes them, rows as pyarrow reads them, and faults by name."""
import contextlib
import copy
import csv
import fractions
import io
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import unittest
import unittest.mock

import numpy as np

import bload
import tool
from harness import each

try:
    import pyarrow
    import pyarrow.parquet
    from bload import lerobot
except ImportError:
    pyarrow = None

CAMERAS = {"observation.images.top": (48, 64), "observation.images.wrist": (32, 48)}
LENGTHS = 7, 1, 12, 5, 9, 20, 3
FILES = {"observation.images.top": ((0, 1, 2), (3, 4, 5, 6)), "observation.images.wrist": ((0,), (1, 2, 3, 4, 5), (6,))}
ROWS = 10, 12, 31, 4  # of each data file: episodes 2 and 5 go on in the next one
TASKS = "fold the\tcloth", "open, \"wide\"", "put down"
NUMBERS = {
    "action": ("float32", [6]), "observation.state": ("float64", [3]), "observation.map": ("uint8", [2, 3]), "next.done": ("bool", [1]),
    "timestamp": ("float32", [1]), "frame_index": ("int64", [1]), "episode_index": ("int64", [1]), "index": ("int64", [1]),
    "task_index": ("int64", [1]),
}
# The frames of the first camera are not in the order in which they are shown.
CODECS = {camera: f"-c:v libx264 -preset veryfast -threads 1 -pix_fmt yuv420p {options}"
          for camera, options in zip(CAMERAS, ("-g 6 -bf 2", "-g 2 -bf 0"))}
BEGIN = np.concatenate([[0], np.cumsum(LENGTHS)])


def run(*words, data=None, cwd=None):
    return subprocess.run(words, input=data, check=True, capture_output=True, timeout=120, cwd=cwd).stdout


def encode(path, frames, fps, codec):
    """A video of frames, U8 [n, H, W, 3]."""
    _, height, width, _ = frames.shape
    run("ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(fps), "-i", "-",
        *codec.split(), path, data=frames.tobytes())


def decode(path, height, width):
    """All its frames, by the ffmpeg command and the tool's converter."""
    raw = run("ffmpeg", "-v", "error", "-i", path, "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-")
    rgb = run(tool.CONVERT_RAW, "yuv420p", f"{width}x{height}", data=raw)
    return np.frombuffer(rgb, "u1").reshape(-1, height, width, 3)


def column(values, dtype, shape):
    """A column as LeRobot's features of datasets become Parquet."""
    if shape == [1]:
        return pyarrow.array(values[:, 0])
    flat = pyarrow.array(values.reshape(-1))
    if len(shape) == 1:
        return pyarrow.FixedSizeListArray.from_arrays(flat, shape[0])
    rows, inner = len(values), shape[0]
    lists = pyarrow.ListArray.from_arrays(np.arange(rows * inner + 1) * shape[1], flat)
    return pyarrow.ListArray.from_arrays(np.arange(rows + 1) * inner, lists)


class Made:
    """A dataset of version 3 at root, and what is in it: numbers by feature, [rows, ...]."""

    def __init__(self, root, fps, images=False):
        self.root, self.fps = root, fps
        random = np.random.default_rng(5)
        rows, episodes = BEGIN[-1], np.repeat(np.arange(len(LENGTHS)), LENGTHS)
        frame = np.arange(rows) - BEGIN[episodes]
        self.tasks = np.array([2, 0, 1, 1, 0, 2, 0])
        scalars = {"next.done": frame + 1 == np.array(LENGTHS)[episodes], "timestamp": frame / float(fps), "frame_index": frame,
                   "episode_index": episodes, "index": np.arange(rows), "task_index": self.tasks[episodes]}
        self.numbers = {"action": random.normal(size=(rows, 6)), "observation.state": random.normal(size=(rows, 3)),
                        "observation.map": random.integers(0, 255, (rows, 2, 3)),
                        **{name: values[:, None] for name, values in scalars.items()}}
        self.numbers = {name: values.astype(NUMBERS[name][0]) for name, values in self.numbers.items()}
        files = np.searchsorted(np.cumsum(ROWS), BEGIN[:-1], "right")
        for folder in ("meta/episodes/chunk-000", "data/chunk-000", *(f"videos/{camera}/chunk-000" for camera in CAMERAS)):
            os.makedirs(self.path(folder))
        self.table = {"episode_index": list(range(len(LENGTHS))), "tasks": [[TASKS[task]] for task in self.tasks], "length": list(LENGTHS),
                      "data/chunk_index": [0] * len(LENGTHS), "data/file_index": files.tolist(), "dataset_from_index": BEGIN[:-1].tolist(),
                      "dataset_to_index": BEGIN[1:].tolist(), "stats/action/min": [[0.0]] * len(LENGTHS)}
        self.images = random.integers(0, 256, (rows, 8, 10, 3), np.uint8) if images else None
        for camera, (height, width) in {} if images else CAMERAS.items():
            pictures = random.integers(0, 256, (rows, height, width, 3), np.uint8)
            for number, members in enumerate(FILES[camera]):
                self.write_video(camera, number, members, pictures)
        self.write_data()
        self.write_tables(images)

    def path(self, *names):
        return os.path.join(self.root, *names)

    def video(self, camera, number):
        return self.path("videos", camera, "chunk-000", f"file-{number:03d}.mp4")

    def write_video(self, camera, number, members, pictures):
        """Each episode by itself, then all of them joined without coding them again; their times are sums."""
        parts, now = [], 0.0
        for episode in members:
            parts.append(self.path(f"part-{episode}.mp4"))
            encode(parts[-1], pictures[BEGIN[episode]:BEGIN[episode + 1]], self.fps, CODECS[camera])
            then = now + LENGTHS[episode] / float(self.fps)
            for name, value in ("chunk_index", 0), ("file_index", number), ("from_timestamp", now), ("to_timestamp", then):
                self.table.setdefault(f"videos/{camera}/{name}", []).append(value)
            now = then
        with open(self.path("list"), "w", encoding="utf-8") as file:
            file.writelines(f"file '{os.path.abspath(part)}'\n" for part in parts)
        run("ffmpeg", "-v", "error", "-f", "concat", "-safe", "0", "-i", self.path("list"), "-c", "copy", self.video(camera, number))
        for part in (*parts, self.path("list")):
            os.unlink(part)

    def write_data(self, edit=lambda number, columns: columns):
        for number, (end, rows) in enumerate(zip(np.cumsum(ROWS), ROWS)):
            columns = {name: column(self.numbers[name][end - rows:end], *NUMBERS[name]) for name in NUMBERS}
            images = () if self.images is None else self.images[end - rows:end]
            if len(images):
                columns["picture"] = pyarrow.array([{"bytes": png(image), "path": "frame-000000.png"} for image in images])
            path = self.path(f"data/chunk-000/file-{number:03d}.parquet")
            pyarrow.parquet.write_table(pyarrow.table(edit(number, columns)), path, row_group_size=6)

    def write_tables(self, images=False, **changes):
        pyarrow.parquet.write_table(pyarrow.table({**self.table, **changes}), self.path("meta/episodes/chunk-000/file-000.parquet"))
        pyarrow.parquet.write_table(pyarrow.table({"task_index": list(range(len(TASKS))), "__index_level_0__": list(TASKS)}),
                                    self.path("meta/tasks.parquet"))
        features = {name: {"dtype": dtype, "shape": shape, "names": None} for name, (dtype, shape) in NUMBERS.items()}
        if images:
            features["picture"] = {"dtype": "image", "shape": [8, 10, 3], "names": ["height", "width", "channels"]}
        for camera, size in {} if images else CAMERAS.items():
            features[camera] = {"dtype": "video", "shape": [*size, 3], "names": ["height", "width", "channels"],
                                "info": {"video.is_depth_map": False}}
        fps = float(self.fps) if self.fps.denominator > 1 else int(self.fps)
        self.info = {"codebase_version": "v3.0", "fps": fps, "features": features,
                     "total_episodes": len(LENGTHS), "total_frames": int(BEGIN[-1]), "total_tasks": len(TASKS), "chunks_size": 1000,
                     "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
                     "video_path": None if images else "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"}
        self.write_info()

    def write_info(self, **changes):
        tool.write(self.path("meta/info.json"), json.dumps({**self.info, **changes}))


def png(image):
    import PIL.Image
    with io.BytesIO() as file:
        PIL.Image.fromarray(image).save(file, "PNG")
        return file.getvalue()


class Converting(tool.Tool):
    def convert(self, made, name, *arguments, status=0):
        """Runs the command; gives what it says."""
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(lerobot.main([made.root, "-o", self.path(name), *arguments]), status, said.getvalue())
        return said.getvalue()


@unittest.skipUnless(pyarrow, "no pyarrow")
class Lerobot(Converting):
    def packed(self, name):
        self.bload("verify", "-q", self.pack(name + "-packed", "-c", self.path(name, "fields.yaml"), "-T", 25))
        return bload.open(self.path(name + "-packed"), verify=True)

    def compare_numbers(self, dataset, made, names):
        table = dataset.sequences
        for episode, length in enumerate(LENGTHS):
            row = table.find(f"episode_{episode:06d}.npy")
            self.assertEqual((table["length"][row], table["task"][row], table["task_index"][row], table["episode_index"][row]),
                             (length, TASKS[made.tasks[episode]], made.tasks[episode], episode))
            steps = dataset.sequence(row)
            for name in names:
                values = made.numbers[name][BEGIN[episode]:BEGIN[episode + 1]]
                got = steps[name.replace(".", "_")]
                self.assertEqual(got.dtype, values.dtype)
                np.testing.assert_array_equal(got, values[:, 0] if NUMBERS[name][1] == [1] else values)

    @each((("30", 30, 1), ("50", 50, 1), ("ntsc", 30000, 1001)))
    def test_frames_and_rows(self, name, num, den):
        made = Made(self.path("of-" + name), fractions.Fraction(num, den))
        said = self.convert(made, name)
        self.assertIn(f"{len(LENGTHS)} episodes of {BEGIN[-1]} frames", said)
        self.assertEqual(said.count("\n"), 1)
        dataset = self.packed(name)
        self.assertEqual({field: (str(about.dtype), tuple(about.shape)) for field, about in dataset.fields.items()}, {
            "action": ("float32", (6,)), "observation_state": ("float64", (3,)), "observation_map": ("uint8", (2, 3)),
            "next_done": ("bool", ()), "observation_images_top": ("uint8", (48, 64, 3)),
            "observation_images_wrist": ("uint8", (32, 48, 3))})
        self.compare_numbers(dataset, made, ("action", "observation.state", "observation.map", "next.done"))
        for camera, size in CAMERAS.items():
            for number, members in enumerate(FILES[camera]):
                frames, at = decode(made.video(camera, number), *size), 0
                self.assertEqual(len(frames), sum(LENGTHS[episode] for episode in members))
                for episode in members:
                    got = dataset.sequence(f"episode_{episode:06d}.npy")[camera.replace(".", "_")]
                    np.testing.assert_array_equal(got, frames[at:at + LENGTHS[episode]])
                    at += LENGTHS[episode]

    def test_page(self):
        """The commands of docs/formats.md, as they stand."""
        commands = re.search(r"## LeRobot.*?```sh\n(.*?)```", tool.text(os.path.join(tool.ROOT, "docs/formats.md")), re.DOTALL).group(1)
        os.mkdir(self.path("page"))
        Made(self.path("page", "robot"), fractions.Fraction(30))
        programs = {"python": sys.executable, "bload": os.path.abspath(tool.BLOAD), "pip": "true"}
        script = "set -e\n" + "".join(f'{name}() {{ {shlex.quote(path)} "$@"; }}\n' for name, path in programs.items())
        run("bash", "-c", script + commands, cwd=self.path("page"))
        for name, fields in ("packed", 6), ("jpegs", 2):
            dataset = bload.open(self.path("page", name))
            self.assertEqual((len(dataset.fields), len(dataset.sequences), dataset.T), (fields, len(LENGTHS), 512))

    def test_depth(self):
        made = Made(self.path("of-depth"), fractions.Fraction(30))
        name, random, expected = "observation.images.wrist", np.random.default_rng(3), []
        for number, members in enumerate(FILES[name]):
            frames = random.integers(0, 4096, (sum(LENGTHS[episode] for episode in members), 64, 64), "<u2")
            words = "-f rawvideo -pix_fmt gray12le -s 64x64 -r 30 -i - -c:v libx265 -x265-params log-level=none -pix_fmt gray12le".split()
            run("ffmpeg", "-v", "error", "-y", *words, made.video(name, number), data=frames.tobytes())
            raw = run("ffmpeg", "-v", "error", "-i", made.video(name, number), "-f", "rawvideo", "-pix_fmt", "gray12le", "-")
            expected.append(np.frombuffer(raw, "<u2").reshape(-1, 64, 64, 1))
        edit_feature(name, info={"is_depth_map": True, "video.pix_fmt": "gray12le"})(made)
        self.convert(made, "depth", "--columns", name)
        dataset = self.packed("depth")
        got = [dataset.sequence(f"episode_{episode:06d}.npy")["observation_images_wrist"] for episode in range(len(LENGTHS))]
        self.assertEqual(got[0].dtype, np.uint16)
        np.testing.assert_array_equal(np.concatenate(got), np.concatenate(expected))

    def test_images_and_chosen_columns(self):
        made = Made(self.path("of-images"), fractions.Fraction(10), images=True)
        said = self.convert(made, "images", "--columns", "picture,timestamp")
        dataset = self.packed("images")
        self.assertIn("fields timestamp, picture", said)
        self.compare_numbers(dataset, made, ["timestamp"])
        for episode in range(len(LENGTHS)):
            steps = dataset.sequence(f"episode_{episode:06d}.npy")
            np.testing.assert_array_equal(steps["picture_frames"], made.images[BEGIN[episode]:BEGIN[episode + 1]])
        said = self.convert(made, "alone", "--columns", "picture")
        self.assertIn("frame_index becomes a field", said)

    def test_what_is_kept_and_told(self):
        """NaN, several tasks in an episode, frames of no episode."""
        made = Made(self.path("of-notes"), fractions.Fraction(30), images=True)
        made.numbers["action"][[3, 4, 20], 1] = np.nan
        made.numbers["task_index"][BEGIN[2]] = 0
        made.write_data()
        made.write_tables(True, tasks=[[TASKS[0], TASKS[1]] if episode == 2 else [TASKS[task]] for episode, task in enumerate(made.tasks)])
        said = self.convert(made, "notes")
        self.assertIn('"action" is NaN in 3 steps of 2 episodes, first in episode 0', said)
        self.assertIn("several tasks: task_index becomes a field", said)
        with open(self.path("notes", "episodes.csv"), encoding="utf-8", newline="") as file:
            self.assertEqual(list(csv.reader(file))[3], ["episode_000002", "2", 'fold the\tcloth; open, "wide"'])
        dataset = self.packed("notes")
        got = dataset.sequence("episode_000002.npy")["task_index"]
        np.testing.assert_array_equal(got, made.numbers["task_index"][BEGIN[2]:BEGIN[3], 0])


def edit_rows(file, name, step, value):
    """Changes a number of a data file."""
    def edit(made):
        def columns(number, columns):
            if number == file:
                values = columns[name].to_pylist()
                values[step] = value
                columns[name] = pyarrow.array(values, columns[name].type)
            return columns
        made.write_data(columns)
    return edit


def edit_table(name, episode, value):
    """Changes a value of the table of episodes."""
    return lambda made: made.write_tables(**{name: [value if i == episode else old for i, old in enumerate(made.table[name])]})


def edit_info(**changes):
    return lambda made: made.write_info(**changes)


def edit_feature(name, **changes):
    return lambda made: made.write_info(features={**made.info["features"], name: {**made.info["features"][name], **changes}})


def shorten(path, keep):
    def edit(made):
        with open(made.path(path), "r+b") as file:
            file.truncate(keep)
    return edit


def later_by_a_second(made):
    """The last episode's frames of the first camera."""
    ends = [f"videos/observation.images.top/{end}_timestamp" for end in ("from", "to")]
    made.write_tables(**{name: [*made.table[name][:-1], made.table[name][-1] + 1] for name in ends})


def trim(path):
    """Has the edit list of a video leave out the last 0.1 s."""
    def edit(made):
        data = bytearray(tool.read(made.path(path)))
        at = data.index(b"elst") + 4
        whole, size = (">Q", 20) if data[at] else (">I", 12)
        at += 8 + size * (struct.unpack_from(">I", data, at + 4)[0] - 1)
        header = data.index(b"mvhd") + 4
        second, = struct.unpack_from(">I", data, header + (20 if data[header] else 12))
        struct.pack_into(whole, data, at, struct.unpack_from(whole, data, at)[0] - second // 10)
        tool.write(made.path(path), data)
    return edit


def append_rows(made):
    made.write_data(lambda number, columns: {name: pyarrow.concat_arrays([values, values[-1:]]) if number == 3 else values
                                            for name, values in columns.items()})


TOP, WRIST = (f"videos/{camera}/chunk-000/file-{number:03d}.mp4" for camera, number in zip(CAMERAS, (1, 1)))
EPISODES, DATA = "meta/episodes/chunk-000/file-000.parquet", "data/chunk-000/file-%03d.parquet"
# What is done to a dataset, and the file and words of the message.
FAULTS = {
    "version 2": (edit_info(codebase_version="v2.1"),
        "meta/info.json", "LeRobot v2.1 has a file for each episode: LeRobot's convert_dataset_v21_to"),
    "version 9": (edit_info(codebase_version="v9"), "meta/info.json", "codebase_version v9: only v3 is read"),
    "no json": (shorten("meta/info.json", 9), "meta/info.json", "not JSON: "),
    "no info": (lambda made: os.unlink(made.path("meta/info.json")), "meta/info.json", "missing, but a LeRobot dataset has this file"),
    "fps": (edit_info(fps=29), TOP[:-5] + "0.mp4", "30 frames per second, but info.json says 29; its first episode is 0"),
    "total": (edit_info(total_frames=56), "meta/info.json", "it says 7 episodes with 56 frames, but the table of episodes has 7 with 57 frames"),
    "template": (edit_info(video_path="../{video_key}/{chunk_index}-{file_index}.mp4"), "meta/info.json", "leads out of the dataset"),
    "unknown word": (edit_info(video_path="videos/{video_key.__class__}.mp4"),
        "meta/info.json", "it leads out of the dataset, or is no template"),
    "two names": (lambda made: made.write_info(features={**made.info["features"], "next_done": made.info["features"]["next.done"]}),
        "meta/info.json",
                  'the features "next.done" and "next_done" would both be the field next_done'),
    "depth": (edit_feature("observation.images.top", info={"is_depth_map": True, "video.pix_fmt": "yuv420p12le"}),
        "meta/info.json", "depth in the pixel format yuv420p12le"),
    "type": (edit_feature("action", dtype="float64"), DATA % 0, 'episode 0: "action" is float32, but info.json says float64'),
    "shape": (edit_feature("observation.map", shape=[3, 2]), DATA % 0, r'episode 0: "observation.map" has steps of the shape \[2, 3\]'),
    "no column": (lambda made: made.write_info(features={**made.info["features"], "more": {"dtype": "int8", "shape": [1]}}),
        DATA % 0, 'no column "more"'),
    "missing value": (edit_rows(2, "frame_index", 5, None), DATA % 2, 'episode 4: frame 2, "frame_index": a value is missing'),
    "missing list": (edit_rows(2, "action", 5, None), DATA % 2, 'episode 4: frame 2, "action": a value is missing'),
    "uneven lists": (edit_rows(1, "observation.map", 2, [[1, 2, 3], [4]]),
        DATA % 1, 'episode 2: frame 4, "observation.map": lists of 1 and of 3 values'),
    "episode": (edit_rows(2, "episode_index", 8, 3), DATA % 2, "episode 4: frame 5 has the episode_index 3, not 4"),
    "frame": (edit_rows(2, "frame_index", 0, 0), DATA % 2, "episode 3: frame 2 has the frame_index 0, not 2"),
    "index": (edit_rows(0, "index", 8, 7), DATA % 0, "episode 2: frame 0 has the index 7, not 8"),
    "time": (edit_rows(0, "timestamp", 3, 0.2), DATA % 0, "episode 0: frame 3 has the timestamp 0.2, at 30 frames a second"),
    "time nan": (edit_rows(0, "timestamp", 3, float("nan")), DATA % 0, "episode 0: frame 3 has the timestamp nan"),
    "task": (edit_rows(0, "task_index", 7, 8), "meta/tasks.parquet", "episode 1: its rows have the task_index 8"),
    "other task": (edit_rows(0, "task_index", 7, 1), "meta/tasks.parquet", "episode 1: its rows have the tasks"),
    "length": (edit_table("length", 3, 6), EPISODES, "episode 3 has the length 6 and the rows 20 to 25"),
    "range": (edit_table("dataset_from_index", 3, 19),
        EPISODES, "episode 3 has the length 5 and the rows 19 to 25, but the previous episode ends at row 20"),
    "order": (edit_table("episode_index", 3, 4), EPISODES, "row 3 is of episode 4"),
    "nothing": (edit_table("tasks", 3, None), EPISODES, "episode 3: tasks is None, not of the type list"),
    "no text": (edit_table("tasks", 3, [None]), EPISODES, r"episode 3: tasks is \[None\], not of the type list"),
    "text for a number": (lambda made: made.write_tables(**{"data/file_index": ["0"] * 7}), EPISODES,
        "episode 0: data/file_index is '0', not of the"),
    "odd shape": (edit_feature("observation.images.top", info="depth", shape=0), "meta/info.json",
        'the shape of "observation.images.top" is 0'),
    "no camera": (lambda made: made.write_tables(**{"videos/observation.images.top/chunk_index": made.table["length"]}),
        "file-000.mp4", "the video is missing"),
    "other file": (edit_table("videos/observation.images.top/file_index", 3, 0), TOP[:-5] + "0.mp4",
        "episodes 3 and 0 have frames in common, from frame 0 on"),
    "later": (edit_table("videos/observation.images.wrist/from_timestamp", 2, 0.1),
        WRIST, r"episode 2: 12 frames at 30 per second do not fit from_timestamp"),
    "behind": (later_by_a_second, TOP, "episode 6: 3 frames are expected from 2.13333 s on, but the video has 0"),
    "data file": (edit_table("data/file_index", 3, 2), DATA % 1, "episode 3 begins in this file instead of chunk 0, file 2"),
    "no video": (lambda made: os.unlink(made.path(WRIST)), WRIST, "the video is missing"),
    "cut video": (shorten(WRIST, 700), WRIST, "the tables of the video cannot be read"),
    "trimmed video": (trim(WRIST), WRIST, "episode 5: 20 frames are expected from 0.9 s on, but the video has 1[78]"),
    "no data": (lambda made: os.unlink(made.path(DATA % 1)), DATA % 2, "episode 2: frame 2 has the episode_index 3, not 2"),
    "last data": (lambda made: os.unlink(made.path(DATA % 3)), DATA % 2, "all data files have 53 rows, but episode 5 has rows 34 to 53"),
    "cut data": (shorten(DATA % 2, 900), DATA % 2, "not a readable Parquet file"),
    "more data": (append_rows, DATA % 3, "1 or more rows after the last episode"),
    "cut tables": (shorten(EPISODES, 50), EPISODES, "not a readable Parquet file"),
    "no tasks": (lambda made: os.unlink(made.path("meta/tasks.parquet")), "meta/tasks.parquet", "the table is missing"),
}

WRONG_USE = "no info", "no video", "no tasks", "no camera", "two names"


@unittest.skipUnless(pyarrow, "no pyarrow")
class Refused(Converting):
    """Each fault by file and words, and nothing that looks whole."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sound = Made(os.path.join(cls.directory, "sound"), fractions.Fraction(30))

    @each(sorted(FAULTS))
    def test(self, name):
        edit, path, words = FAULTS[name]
        made = copy.copy(self.sound)
        made.root = shutil.copytree(self.sound.root, self.path(name))
        edit(made)
        said = self.convert(made, name + "-out", status=2 if name in WRONG_USE else 1)
        self.assertRegex(said, rf"^bload.lerobot: [^\n]*{re.escape(path)}: [^\n]*({words})[^\n]*\n$")
        self.assertFalse(os.path.exists(self.path(name + "-out", "fields.yaml")))

    def test_without_pyarrow(self):
        with unittest.mock.patch.dict(sys.modules, {"pyarrow": None}):
            self.assertIn("pip install 'bload[lerobot]'", self.convert(self.sound, "none", status=1))

    def test_directories(self):
        os.mkdir(self.path("full"))
        with open(self.path("full", "x"), "w", encoding="utf-8"):
            pass
        self.assertIn("the directory is not empty", self.convert(self.sound, "full", status=2))
        self.assertIn("its parent directory does not exist", self.convert(self.sound, "none/out", status=2))
        self.assertIn('no feature "actions"; the features are: action', self.convert(self.sound, "none", "--columns", "actions", status=2))
        self.assertFalse(os.path.exists(self.path("none")))
        self.assertEqual(os.listdir(self.path("full")), ["x"])
