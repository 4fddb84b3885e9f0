"""How the arrays of a multimodal processor become fields, and how batches become these arrays again.

A processor makes arrays for a chat: some have a value for each token, others live on patches, tiles, pictures or sounds. A form describes an
array: `split` returns its fields for one chat, without padding and without an axis of one chat; `join` makes the array again from the fields
of all chats of a batch, as the processor would for these chats together. FAMILIES lists the forms by the class of the processor; an array
without a form is refused.
"""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Protocol, Tuple

import numpy as np

from .errors import Error

Arrays = Mapping[str, np.ndarray]
TOKENS, IDS = "tokens", "input_ids"     # the field of the token ids, and the processor's name for it
COUNT = "_count"                        # ending of the field that counts the tiles of each picture, or the frames of each sound


class Form(Protocol):
    """An array of a processor. name: that of the array."""

    @property
    def name(self) -> str: ...

    def split(self, arrays: Arrays) -> Dict[str, np.ndarray]:
        """Return the fields of a chat, by name; raise Error if they cannot carry the array."""
        ...

    def join(self, fields: Arrays, sequences: int) -> Optional[np.ndarray]:
        """Return the array for all chats of a batch; None: no chat has it. `fields` has joined steps [total, ...]."""
        ...


class Steps(NamedTuple):
    """An array [1, tokens], with a value for each token; `field` has it as a smaller type."""
    name: str
    field: str
    stored: type
    dtype: type = np.int64

    def split(self, arrays: Arrays) -> Dict[str, np.ndarray]:
        """Return the field [tokens]."""
        return {self.field: one_chat(self.name, arrays[self.name]).astype(self.stored)}

    def join(self, fields: Arrays, sequences: int) -> Optional[np.ndarray]:
        """Return [1, total]."""
        return fields[self.field].astype(self.dtype)[None] if self.field in fields else None


class Ones(NamedTuple):
    """A mask of ones, with the shape of another array of the chat without its axis `without`. Packed sequences need none."""
    name: str
    like: str
    without: Optional[int] = None
    dtype: type = np.int64

    def split(self, arrays: Arrays) -> Dict[str, np.ndarray]:
        """Return no field, but raise Error if the mask has other values than 1."""
        shape = list(arrays[self.like].shape)
        if self.without is not None:
            del shape[self.without]
        if list(arrays[self.name].shape) != shape or not (arrays[self.name] == 1).all():
            raise Error(f"{self.name} is not a mask of ones")
        return {}

    def join(self, fields: Arrays, sequences: int) -> Optional[np.ndarray]:
        """Return ones for an array of tiles [1, total, ...]; None for tokens."""
        if self.without is None or self.like not in fields:
            return None
        shape = [1, *fields[self.like].shape]
        del shape[self.without]
        return np.ones(shape, self.dtype)


class Answers(NamedTuple):
    """The labels of PaliGemma: the ids where token_type_ids is 1, else -100. The loss mask has the same information."""
    name: str

    def split(self, arrays: Arrays) -> Dict[str, np.ndarray]:
        """Return no field, but raise Error if the labels are others."""
        if not (arrays[self.name] == np.where(arrays["token_type_ids"] == 1, arrays[IDS], -100)).all():
            raise Error(f"{self.name} does not follow from token_type_ids")
        return {}

    def join(self, fields: Arrays, sequences: int) -> Optional[np.ndarray]:
        """Return None: contracts make the labels."""
        return None


class Rows(NamedTuple):
    """An array [steps, ...], such as patches or the grids of pictures, which is its own field; is_one: with an axis of one chat before it."""
    name: str
    is_one: bool = False

    def split(self, arrays: Arrays) -> Dict[str, np.ndarray]:
        """Return the field [steps, ...]."""
        return {self.name: one_chat(self.name, arrays[self.name]) if self.is_one else arrays[self.name]}

    def join(self, fields: Arrays, sequences: int) -> Optional[np.ndarray]:
        """Return [total, ...], or [1, total, ...]."""
        if self.name not in fields:
            return None
        return fields[self.name][None] if self.is_one else fields[self.name]


class Pairs(NamedTuple):
    """Qwen's array of picture patches [patches, channels * frames * k]. A picture is its own next frame: one of the frames is stored."""
    name: str
    temporal: int = 2   # frames
    channels: int = 3

    def split(self, arrays: Arrays) -> Dict[str, np.ndarray]:
        """Return the first frame of the patches, [patches, channels * k]; raise Error if the others differ."""
        patches = arrays[self.name]
        frames = patches.reshape(len(patches), self.channels, self.temporal, -1)
        if frames.shape[3] * frames.itemsize % 4 == 0:
            frames = frames.view(np.uint32)     # to compare and to copy fewer elements
        if any(not np.array_equal(frames[:, :, 0], frames[:, :, frame]) for frame in range(1, self.temporal)):
            raise Error(f"{self.name} has pictures whose frames differ")
        return {self.name: np.ascontiguousarray(frames[:, :, 0]).view(patches.dtype).reshape(len(patches), -1)}

    def join(self, fields: Arrays, sequences: int) -> Optional[np.ndarray]:
        """Return [total, channels * frames * k]."""
        if self.name not in fields:
            return None
        patches = fields[self.name].reshape(len(fields[self.name]), self.channels, 1, -1)
        return np.repeat(patches, self.temporal, axis=2).reshape(len(patches), -1)


class Tiles(NamedTuple):
    """An array [pictures, most tiles, ...], zeros behind the tiles of each picture: the tiles of all pictures, and a field that counts them.

    The frames of videos are stored in the same way.
    """
    name: str

    def split(self, arrays: Arrays) -> Dict[str, np.ndarray]:
        """Return the tiles [all tiles, ...], and their number I32 [pictures]."""
        tiles = arrays[self.name]
        there = np.any(tiles.reshape(*tiles.shape[:2], -1) != 0, axis=2)
        count = tiles.shape[1] - np.argmax(there[:, ::-1], axis=1)
        inside = np.arange(tiles.shape[1]) < count[:, None]
        return {self.name: tiles[inside], self.name + COUNT: count.astype(np.int32)}

    def join(self, fields: Arrays, sequences: int) -> Optional[np.ndarray]:
        """Return [pictures, most tiles of any, ...]."""
        if self.name not in fields:
            return None
        tiles, count = fields[self.name], fields[self.name + COUNT]
        out = np.zeros((len(count), count.max(initial=0), *tiles.shape[1:]), tiles.dtype)
        out[np.arange(out.shape[1]) < count[:, None]] = tiles
        return out


class Patches(NamedTuple):
    """Pixtral's array [pictures, 3, highest, widest], zeros beside the pictures, whose sizes another array has: patches [n, 3 * side * side]."""
    name: str
    sizes: str
    side: int = 0   # pixels; 0: the greatest common divisor of the sizes, by `with_side`

    def split(self, arrays: Arrays) -> Dict[str, np.ndarray]:
        """Return the patches of all pictures, row by row."""
        pictures = [self.cut(picture[:, :height, :width]) for picture, (height, width) in zip(arrays[self.name], arrays[self.sizes].tolist())]
        return {self.name: np.concatenate(pictures)}

    def cut(self, picture: np.ndarray) -> np.ndarray:
        """Return the patches of a picture [3, height, width]."""
        channels, height, width = picture.shape
        side = self.side
        grid = picture.reshape(channels, height // side, side, width // side, side)
        return grid.transpose(1, 3, 0, 2, 4).reshape(-1, channels * side * side)

    def join(self, fields: Arrays, sequences: int) -> Optional[np.ndarray]:
        """Return [pictures, 3, highest of any, widest of any]."""
        if self.name not in fields:
            return None
        sizes, patches = fields[self.sizes], fields[self.name]
        side = self.side
        channels = patches.shape[1] // (side * side)
        height, width = sizes.max(axis=0) if len(sizes) else (0, 0)
        out = np.zeros((len(sizes), channels, height, width), patches.dtype)
        at = 0
        for picture, (height, width) in zip(out, sizes.tolist()):
            rows, columns = height // side, width // side
            grid = patches[at:at + rows * columns].reshape(rows, columns, channels, side, side)
            picture[:, :height, :width] = grid.transpose(2, 0, 3, 1, 4).reshape(channels, height, width)
            at += rows * columns
        return out


class Sounds(NamedTuple):
    """An array [sounds, channels, frames] with a mask [sounds, frames], which is 1 in the first frames of each sound.

    The frames of all sounds are a field [all frames, channels]. Equal frames at the end of a sound, which are its padding, are stored once. The
    field `name_count`, I32 [sounds, 2], has for each sound how many frames are stored, and how many the mask counts.
    """
    name: str
    mask: str
    frames: int = 0

    def split(self, arrays: Arrays) -> Dict[str, np.ndarray]:
        """Return the frames and their numbers."""
        sounds, mask = arrays[self.name], arrays[self.mask]
        length = mask.sum(axis=1)
        if not (mask == (np.arange(mask.shape[1]) < length[:, None])).all():
            raise Error(f"{self.mask} is not 1 in the first frames of each sound, and 0 behind them")
        kept, counts = [], []
        for sound in sounds:
            differs = np.flatnonzero((sound[:, :-1] != sound[:, -1:]).any(axis=0))
            count = int(differs[-1]) + 2 if len(differs) else 1
            kept.append(sound[:, :count].T)
            counts.append(count)
        return {self.name: np.concatenate(kept), self.name + COUNT: np.stack([np.array(counts), length], 1).astype(np.int32)}

    def join(self, fields: Arrays, sequences: int) -> Optional[np.ndarray]:
        """Return [sounds, channels, frames]."""
        if self.name not in fields:
            return None
        frames, counts = fields[self.name], fields[self.name + COUNT]
        out = np.empty((len(counts), frames.shape[1], self.frames), frames.dtype)
        at = 0
        for sound, (count, _) in zip(out, counts.tolist()):
            sound[:, :count] = frames[at:at + count].T
            sound[:, count:] = frames[at + count - 1][:, None]
            at += count
        return out


class SoundMask(NamedTuple):
    """The mask of Sounds, which carries its lengths."""
    name: str
    of: str
    dtype: type = np.int32
    frames: int = 0

    def split(self, arrays: Arrays) -> Dict[str, np.ndarray]:
        """Return no field."""
        return {}

    def join(self, fields: Arrays, sequences: int) -> Optional[np.ndarray]:
        """Return [sounds, frames]."""
        if self.of not in fields:
            return None
        return (np.arange(self.frames) < fields[self.of + COUNT][:, 1:]).astype(self.dtype)


class PerChat(NamedTuple):
    """How many entries of another field each chat has: the batch's table of that field has it."""
    name: str
    of: str

    def split(self, arrays: Arrays) -> Dict[str, np.ndarray]:
        """Return no field, but raise Error if the number is another."""
        if arrays[self.name].tolist() != [len(arrays[self.of])]:
            raise Error(f"{self.name} is not the number of {self.of}")
        return {}

    def join(self, fields: Arrays, sequences: int) -> Optional[np.ndarray]:
        """Return I64 [chats that have any]."""
        counts = fields.get(f"{self.of} of each chat")
        return None if counts is None else counts[counts > 0].astype(np.int64)


def one_chat(name: str, array: np.ndarray) -> np.ndarray:
    """Return an array without its axis of one chat; raise Error if it has more."""
    if len(array) != 1:
        raise Error(f"{name} has the shape {list(array.shape)}: the processor divides the chat into {len(array)}")
    found: np.ndarray = array[0]
    return found


class Family(NamedTuple):
    """The arrays of a processor, and what its model needs.

    pixels: fields that may be stored as U8. rope: the class whose get_rope_index makes position_ids, in transformers.models. contract: the
    function of bload.contracts.
    """
    name: str
    forms: Tuple[Form, ...]
    pixels: Tuple[str, ...]
    contract: str
    rope: str = ""


# Forms that raise Error themselves if they do not carry the array, or that keep it as it is.
PROVEN = Ones, Answers, PerChat, Rows, Pairs

TEXT = Steps(IDS, TOKENS, np.int32), Ones("attention_mask", IDS)
KINDS = Steps("mm_token_type_ids", "mm_token_type_ids", np.uint8)
TYPES = Steps("token_type_ids", "token_type_ids", np.uint8)
PIXELS, VIDEOS = "pixel_values", "pixel_values_videos"
GRIDS = Pairs(PIXELS), Rows("image_grid_thw"), Rows(VIDEOS), Rows("video_grid_thw")
SPLIT = (*TEXT, Rows(PIXELS, True), Ones("pixel_attention_mask", PIXELS, 2))
HEARD = Sounds("input_features", "feature_attention_mask")

FAMILIES: Dict[str, Family] = {
    "Qwen2VLProcessor": Family("qwen2_vl", (*TEXT, KINDS, *GRIDS), (PIXELS, VIDEOS), "qwen_vl", "qwen2_vl.modeling_qwen2_vl.Qwen2VLModel"),
    "Qwen2_5_VLProcessor": Family("qwen2_5_vl", (*TEXT, KINDS, *GRIDS, Rows("second_per_grid_ts")), (PIXELS, VIDEOS), "qwen_vl",
                                  "qwen2_5_vl.modeling_qwen2_5_vl.Qwen2_5_VLModel"),
    "Qwen3VLProcessor": Family("qwen3_vl", (*TEXT, KINDS, *GRIDS), (PIXELS, VIDEOS), "qwen_vl", "qwen3_vl.modeling_qwen3_vl.Qwen3VLModel"),
    "Qwen2_5OmniProcessor": Family(
        "qwen2_5_omni", (*TEXT, *GRIDS, Rows("video_second_per_grid"), HEARD, SoundMask("feature_attention_mask", "input_features")),
        (PIXELS, VIDEOS), "qwen_vl", "qwen2_5_omni.modeling_qwen2_5_omni.Qwen2_5OmniThinkerForConditionalGeneration"),
    "LlavaProcessor": Family("llava", (*TEXT, Rows(PIXELS)), (PIXELS,), "llava"),
    "PixtralProcessor": Family("pixtral", (*TEXT, Patches(PIXELS, "image_sizes"), Rows("image_sizes")), (PIXELS,), "llava"),
    "LlavaNextProcessor": Family("llava_next", (*TEXT, Tiles(PIXELS), Rows("image_sizes")), (PIXELS,), "tiles"),
    "LlavaOnevisionProcessor": Family(
        "llava_onevision", (*TEXT, Tiles(PIXELS), Rows("image_sizes"), PerChat("batch_num_images", "image_sizes"), Tiles(VIDEOS)),
        (PIXELS, VIDEOS), "tiles"),
    "InternVLProcessor": Family("internvl", (*TEXT, Rows(PIXELS)), (PIXELS,), "tiles"),
    "Idefics3Processor": Family("idefics3", SPLIT, (PIXELS,), "tiles"),
    "SmolVLMProcessor": Family("smolvlm", SPLIT, (PIXELS,), "tiles"),
    "Gemma3Processor": Family("gemma3", (*TEXT, TYPES, Rows(PIXELS)), (PIXELS,), "gemma3"),
    "PaliGemmaProcessor": Family("paligemma", (*TEXT, TYPES, Rows(PIXELS), Answers("labels")), (PIXELS,), "llava"),
    "Qwen2AudioProcessor": Family("qwen2_audio", (*TEXT, HEARD, SoundMask("feature_attention_mask", "input_features")), (), "qwen_audio"),
}


class Values:
    """The 256 values that each channel of normalized pixels can have: pixels are stored as U8, and rebuilt bit for bit.

    table: F32 [channels, 256], strictly ascending in each channel. Steps are [channels * k] or [channels, height, width].
    """

    def __init__(self, table: Any):
        self.table: np.ndarray = np.asarray(table, np.float32)

    def by_channel(self, steps: np.ndarray) -> np.ndarray:
        """Return steps as [steps, channels, k]."""
        return steps.reshape(len(steps), len(self.table), int(np.prod(steps.shape[1:])) // len(self.table))

    def stored(self, pixels: np.ndarray) -> Optional[np.ndarray]:
        """Return F32 pixels as U8, or None if any of them is not in the table."""
        flat = self.by_channel(pixels)
        out = np.empty(flat.shape, np.uint8)
        for channel, values in enumerate(self.table):
            given = flat[:, channel]
            scale = np.float32(255) / (values[255] - values[0])
            number = (given - values[0]) * scale
            np.rint(number, out=number)
            if number.size and not (number.min() >= 0 and number.max() <= 255):
                return None
            out[:, channel] = number
            if not np.array_equal(values[out[:, channel]], given):
                return None
        return out.reshape(pixels.shape)

    def pixels(self, stored: np.ndarray) -> np.ndarray:
        """Return U8 pixels as F32."""
        flat = self.by_channel(stored)
        out = np.empty(flat.shape, np.float32)
        for channel, values in enumerate(self.table):
            np.take(values, flat[:, channel], out=out[:, channel])
        return out.reshape(stored.shape)


def own_fields(family: Family) -> List[str]:
    """Return the names of the fields with steps of their own that the arrays of a family may have."""
    names: List[str] = []
    for form in family.forms:
        if isinstance(form, (Rows, Pairs, Tiles, Patches, Sounds)):
            names += [form.name, form.name + COUNT] if isinstance(form, (Tiles, Sounds)) else [form.name]
    return names


def split(family: Family, arrays: Arrays, values: Mapping[str, Values]) -> Dict[str, np.ndarray]:
    """Return the fields of a chat; raise Error if the family has no form for an array, or a form cannot carry it bit for bit."""
    unknown = set(arrays) - {form.name for form in family.forms}
    if unknown:
        raise Error(f"the processor makes {', '.join(sorted(unknown))}, for which {family.name} has no field")
    forms = [form for form in family.forms if form.name in arrays]
    fields: Dict[str, np.ndarray] = {}
    for form in forms:
        fields.update(form.split(arrays))
    for form in forms:
        if isinstance(form, PROVEN):
            continue
        array, again = arrays[form.name], form.join(fields, 1)
        if again is None or again.dtype != array.dtype or not np.array_equal(again, array):
            raise Error(f"{form.name}, {array.dtype} {list(array.shape)}, cannot be rebuilt from its fields")
    for name, table in values.items():
        if name in fields and fields[name].dtype != np.uint8:
            stored = table.stored(fields[name])
            if stored is None:
                raise Error(f"{name} has values that are no pixels of 8 bits: store all as they are, with --pixels f32")
            fields[name] = stored
    return fields


def with_parameters(family: Family, parameters: Mapping[str, int]) -> Family:
    """Return the family with the sizes that its forms need: side, of patches in pixels; frames, of a sound; temporal, frames of a patch."""
    def complete(form: Any) -> Form:
        """Return a form with its parameters."""
        found: Form = form._replace(**{name: parameters[name] for name in form._fields if name in parameters})
        return found
    forms: List[Form] = [complete(form) for form in family.forms]
    return family._replace(forms=tuple(forms))
