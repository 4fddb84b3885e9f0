"""Find how long the fields of a chat are without decoding its pictures and videos.

The processor itself says so. It runs on pictures and frames that have a size, which their headers tell, but no values: tensors on PyTorch's
device "meta", for which an operation only works out the shape of its result. So sizes, tiles, crops, sampled frames and the text that stands
for them are those of the processor's own code, and the text is tokenized. Sounds are decoded: how many frames of a sound differ from its
padding depends on what can be heard.
"""
from __future__ import annotations

import functools
import re
from collections import Counter
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np

from .arrays import COUNT, Answers, Ones, Pairs, Patches, PerChat, Rows, SoundMask, Sounds, Steps, Tiles, one_chat
from .decoded import Opened
from .media import Medium
from .messages import KINDS, Chat, Unusable
from .processing import MASK, Made, Placeholder, Processor, table_of

# The media of each family whose headers are enough. All else, and chats for which this fails, takes the whole way of packing.
PICTURES, BOTH, SOUNDS = ("image",), ("image", "video"), ()
HEADERS: Dict[str, Tuple[str, ...]] = {
    "qwen2_vl": BOTH, "qwen2_5_vl": BOTH, "qwen3_vl": BOTH, "qwen2_5_omni": BOTH, "llava": PICTURES, "pixtral": PICTURES, "llava_next": PICTURES,
    "llava_onevision": BOTH, "internvl": BOTH, "idefics3": PICTURES, "smolvlm": BOTH, "gemma3": PICTURES, "paligemma": PICTURES,
    "qwen2_audio": SOUNDS}
FORMATS = "JPEG", "MPO", "PNG", "WEBP", "GIF", "BMP", "PPM"     # whose headers have the size that pictures have when they are decoded
SWAPPED = 5, 6, 7, 8    # values of the orientation in EXIF for which height and width change places
LATE = b"eXIf", b"Raw profile type exif", b"XML:com.adobe.xmp"  # what has the orientation of a PNG, perhaps behind the pixels
ORIENTATION = 0x0112
PARTS = "image_processor", "video_processor"    # of a processor
REPEATED = 3    # tokens of a run that are tokenized: more are as many tokens more


class Lengths(NamedTuple):
    """The tokens of a chat, how many of them are trained on, the steps of its own fields, and counts of what was changed or lost."""
    tokens: int
    trained: int
    own: Dict[str, int]
    counts: Dict[str, int]


def nothing(_: Any, __: Any) -> Dict[str, int]:
    """Return the steps of an array that makes no field of its own."""
    return {}


def rows(form: Any, arrays: Any) -> Dict[str, int]:
    """Return the steps of an array that is its own field."""
    return {form.name: len(one_chat(form.name, arrays[form.name]) if isinstance(form, Rows) and form.is_one else arrays[form.name])}


def patches(form: Any, arrays: Any) -> Dict[str, int]:
    """Return the patches of Pixtral's pictures."""
    return {form.name: int((arrays[form.sizes] // form.side).prod(axis=1).sum())}


def sounds(form: Any, arrays: Any) -> Dict[str, int]:
    """Return the frames of sounds, which are decoded."""
    return {name: len(values) for name, values in form.split(arrays).items()}


class Found(NamedTuple):
    """How the steps of the fields that a form makes are found in arrays without values, and the names of these fields: what follows its own."""
    steps: Callable[[Any, Any], Dict[str, int]] = nothing
    endings: Tuple[str, ...] = ()


ITSELF, COUNTED = ("",), ("", COUNT)
FORMS: Dict[type, Found] = {
    Rows: Found(rows, ITSELF), Pairs: Found(rows, ITSELF), Patches: Found(patches, ITSELF), Tiles: Found(nothing, COUNTED),
    Sounds: Found(sounds, COUNTED), **dict.fromkeys((Steps, Ones, Answers, SoundMask, PerChat), Found())}


class Sizes:
    """The lengths of chats for a processor. kinds: of media that headers are enough for. own: all own fields that its family can have."""

    def __init__(self, processor: Processor):
        self.processor = processor
        forms = processor.family.forms
        self.kinds = HEADERS.get(processor.family.name, SOUNDS)
        self.tiles = [form.name for form in forms if isinstance(form, Tiles)]
        parts = [getattr(processor.processor, name, None) for name in PARTS] if self.tiles else []
        if not all(part is None or nonzero(part) for part in parts):
            self.kinds = SOUNDS     # a tile of zeros is taken for padding
        self.own = [form.name + ending for form in forms for ending in FORMS[type(form)].endings]
        self.runs = runs_of(processor.processor)

    def of(self, chat: Chat, media: Sequence[Medium]) -> Lengths:
        """Return the lengths of a chat; raise Unusable if packing would skip it, as far as headers tell."""
        if self.kinds and all(one.kind in (*self.kinds, "audio") for one in media):
            found = self.by_headers(chat, media)
            if found is not None:
                return found
        return self.decoded(chat, media)

    def by_headers(self, chat: Chat, media: Sequence[Medium]) -> Optional[Lengths]:
        """Return the lengths; None: the processor refuses what has no values."""
        processor = self.processor
        counts: Dict[str, int] = Counter()
        with Headers(media, processor.processor, counts) as opened:
            processor.check_kinds(media)
            processor.check_placeholders(chat)
            template, written = (None, None) if processor.template is None else processor.written_of(chat, media)
            counts.update(written.counts if written else {})
            try:
                with Shapes(self, any(one.kind == "video" for one in media)) as shapes:
                    arrays = processor.answered(chat, opened) if written is None else processor.processed(written, opened)
                offsets = arrays.pop("offset_mapping", np.zeros((1, 0, 2)))[0]
                own = self.steps(arrays, shapes.tiles)
            except MemoryError:
                raise
            except Exception:   # the processor tells why when it gets the values
                return None
            mask = arrays["token_type_ids"][0] if template is None or written is None else processor.mask(template, written, offsets, counts)
        if not mask.any():
            raise Unusable("nothing to train on", "the chat has no token to train on")
        return Lengths(len(mask) + shapes.left_out, int(mask.sum()), own, counts)

    def steps(self, arrays: Dict[str, np.ndarray], tiles: Dict[str, List[int]]) -> Dict[str, int]:
        """Return the steps of the own fields; raise KeyError for an array without a form."""
        forms = {form.name: form for form in self.processor.family.forms}
        own: Dict[str, int] = {}
        for name in arrays:
            if name in tiles:
                own.update({name: sum(tiles[name]), name + COUNT: len(tiles[name])})
            else:
                own.update(FORMS[type(forms[name])].steps(forms[name], arrays))
        return own

    def shorter(self, text: str) -> Tuple[str, int]:
        """Return a text in which no token of media is repeated more than REPEATED times, and how many tokens are left out."""
        left_out = 0

        def first(match: Any) -> str:
            """Return the first tokens of a run."""
            nonlocal left_out
            left_out += len(match[0]) // len(match[1]) - REPEATED
            return str(match[1]) * REPEATED
        return self.runs.sub(first, text), left_out

    def decoded(self, chat: Chat, media: Sequence[Medium]) -> Lengths:
        """Return the lengths of what packing makes."""
        made: Made = self.processor.made(chat, media)
        mask = made.fields[MASK]
        return Lengths(len(mask), int(mask.sum()), {name: len(made.fields[name]) for name in self.own if name in made.fields}, made.counts)


def runs_of(processor: Any) -> Any:
    """Return the pattern of runs of a token that stands for media, and that is a token whatever is beside it in a text."""
    added = processor.tokenizer.added_tokens_decoder.values()
    plain: Set[Any] = {one.content for one in added if not (one.lstrip or one.rstrip or one.single_word)}
    names = plain & {getattr(owner, f"{kind}_token", None) for owner in (processor, processor.tokenizer) for kind in KINDS}
    return re.compile("(%s)\\1{%d,}" % ("|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "(?!)", REPEATED))


def nonzero(part: Any) -> bool:
    """Return whether an image or video processor makes 0.0 of no pixel."""
    table = table_of(part)
    return table is not None and bool(table.all())


class Headers(Opened):
    """The media of a chat: pictures with the size that their headers tell, and without values."""

    def loaded(self, picture: Any) -> Any:
        """Return U8 [3, height, width] without values."""
        import torch

        width, height = size_of(picture) if picture.format in FORMATS else super().loaded(picture).size
        return torch.empty((3, height, width), dtype=torch.uint8, device="meta")


def size_of(picture: Any) -> Tuple[int, int]:
    """Return the width and height that a picture of one of FORMATS has when it is decoded, and rotated as it says."""
    exif = picture.getexif
    if picture.format == "PNG":
        at = picture.fp.tell()
        rest = picture.fp.read()
        picture.fp.seek(at)
        if not any(name in rest for name in LATE):
            from PIL import Image

            exif = functools.partial(Image.Image.getexif, picture)  # that of PNG decodes the pixels to get at what is behind them
    width, height = picture.size
    return (height, width) if exif().get(ORIENTATION) in SWAPPED else (width, height)


class Shapes:
    """While it is entered, a processor works on shapes alone, and repeats the tokens of media only REPEATED times.

    tiles: of each picture, or frames of each video, by the name of their array. left_out: tokens that the text would have in addition.
    """

    def __init__(self, sizes: Sizes, has_video: bool):
        self.sizes, self.has_video, self.processor = sizes, has_video, sizes.processor.processor
        self.tiles: Dict[str, List[int]] = {}
        self.left_out = 0
        self.before: List[Tuple[Any, str, Any]] = []

    def __enter__(self) -> "Shapes":
        if self.has_video:
            from torchcodec import decoders  # type: ignore[import-not-found,unused-ignore]

            self.replace(decoders, "VideoDecoder", without_values(decoders.VideoDecoder))
        for name in PARTS:
            part = getattr(self.processor, name, None)
            if part is not None:
                self.replace(self.processor, name, Part(part, self))
        self.replace(self.processor, "get_text_with_replacements", functools.partial(self.shortened, self.processor.get_text_with_replacements))
        return self

    def __exit__(self, *_: Any) -> None:
        for owner, name, value in self.before:
            setattr(owner, name, value)

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute until the end."""
        self.before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def shortened(self, original: Any, *arguments: Any, **options: Any) -> Any:
        """Return what get_text_with_replacements does, but with fewer tokens for each medium."""
        texts, replaced = original(*arguments, **options)
        if not replaced:
            return texts, replaced
        out, at, size = [], 0, 0
        for one in replaced[0]:
            begin, end = one["new_span"]
            short, left_out = self.sizes.shorter(texts[0][begin:end])
            out += [texts[0][at:begin], short]
            size += begin - at
            one["new_span"] = size, size + len(short)
            size, at = size + len(short), end
            self.left_out += left_out
        texts[0] = "".join(out) + texts[0][at:]
        self.sizes.processor.written = texts[0], [Placeholder(one["span"], one["new_span"]) for one in replaced[0]]
        return texts, replaced


class Part:
    """The image or video processor of a processor: its results have their shapes, but zeros that take no memory."""

    def __init__(self, part: Any, shapes: Shapes):
        self.part, self.shapes = part, shapes

    def __getattr__(self, name: str) -> Any:
        return getattr(self.part, name)

    def __call__(self, media: Any, **options: Any) -> Any:
        """Return what the part makes of pictures or videos."""
        import torch

        with quick()():
            made = self.part(media, **options)
        for name in set(self.shapes.sizes.tiles) & set(made):
            self.shapes.tiles[name] = self.tiles_of(flat(media), made[name].shape[1], name, options)
        for name, value in made.items():
            if isinstance(value, torch.Tensor) and value.is_meta:
                made[name] = torch.zeros((), dtype=torch.uint8).expand(value.shape)
        return made

    def tiles_of(self, pictures: List[Any], most: int, name: str, options: Dict[str, Any]) -> List[int]:
        """Return the tiles of each picture, or frames of each video, of which one has the most: alone, it is not filled up to the others."""
        if len(pictures) == 1 or most == 1:
            return [most] * len(pictures)
        return [self.part([one], **options)[name].shape[1] for one in pictures]


@functools.lru_cache(maxsize=None)
def quick() -> Any:
    """Return a mode in which operations that change values in place do nothing: PyTorch works out their shapes slowly."""
    import torch
    from torch.overrides import TorchFunctionMode

    in_place = {torch.Tensor.clamp_, torch.Tensor.sub_, torch.Tensor.div_, torch.Tensor.mul_, torch.Tensor.add_, torch.Tensor.round_}

    class Quick(TorchFunctionMode):     # type: ignore[misc,unused-ignore]
        """Returns the tensor as it is."""

        def __torch_function__(self, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
            """Return the result of a function."""
            return arguments[0] if function in in_place and arguments[0].is_meta else function(*arguments, **(options or {}))
    return Quick


def flat(media: Any) -> List[Any]:
    """Return what nested lists have."""
    return [found for one in media for found in flat(one)] if isinstance(media, (list, tuple)) else [media]


@functools.lru_cache(maxsize=None)
def without_values(decoder: Any) -> Any:
    """Return the decoder of videos, but with frames that have no values."""
    import torch

    class Frames(NamedTuple):
        """What get_frames_at returns."""
        data: Any

    class Decoder(decoder):     # type: ignore[misc,unused-ignore]
        """Reads the index of a video, from which the processor chooses frames, and decodes none of them."""

        def get_frames_at(self, indices: Any) -> Frames:
            """Return U8 [frames, 3, height, width] without values."""
            return Frames(torch.empty((len(indices), 3, self.metadata.height, self.metadata.width), dtype=torch.uint8, device="meta"))
    return Decoder
