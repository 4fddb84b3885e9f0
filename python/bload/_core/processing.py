"""Run the processor of a multimodal model over chats: the arrays that it makes, as fields, with the loss mask of text."""
from __future__ import annotations

import bisect
import copy
import hashlib
import importlib
import json
import os
import warnings
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .arrays import FAMILIES, IDS, PIXELS, VIDEOS, Family, Pairs, Patches, Sounds, Tiles, Values, split, with_parameters
from .decoded import Opened, first_line
from .errors import DependencyError, Error, MissingError, OptionError
from .media import Medium
from .messages import KINDS, Chat, Unusable
from .turns import STRADDLING, Choices, Span, Template, Written, packages

SUFFIX = "paligemma"    # the family whose processor takes a prompt and an answer instead of a chat
MASK, POSITIONS = "loss_mask", "position_ids"
# The attribute of a processor with the text that stands for a medium of a kind.
PLACEHOLDERS = {"image": "image_token", "video": "video_token", "audio": "audio_token"}
PICTURE = np.random.default_rng(0).integers(0, 256, (150, 200, 3), np.uint8)    # a picture to try whether pixels can be rebuilt


class Made(NamedTuple):
    """The fields of a chat, by name, and counts of what was changed or lost, by name."""
    fields: Dict[str, np.ndarray]
    counts: Dict[str, int]


class Placeholder(NamedTuple):
    """Where a placeholder was in the text that the template wrote, and where what replaced it is in the text that is tokenized."""
    before: Span
    after: Span


class Processor:
    """The processor of a folder, as AutoProcessor loads it.

    about: what readers need, for the manifest: the family, the sizes and values of its arrays, and the versions that made them.
    """

    def __init__(self, folder: str, name: Optional[str], variables: Dict[str, Any], choices: Choices, is_float: bool = False,
                 has_qwen_frames: bool = False):
        """Load the processor.

        Parameters
        ----------
        folder : str
            The folder of the model, with its processor's configurations, tokenizer and chat template.
        name : str or None
            Which chat template, if there are several.
        variables : dict
            What the template sees.
        choices : Choices
            What is trained on, and what may be lost.
        is_float : bool
            Whether to store pixels as F32 even if they can be rebuilt from U8.
        has_qwen_frames : bool
            Whether to take the frames of videos that qwen_vl_utils takes.

        Raises
        ------
        MissingError, OptionError, DependencyError
            The folder does not exist, has no processor of a known family, or a package is missing.
        """
        self.processor = load(folder)
        self.family = with_parameters(FAMILIES[type(self.processor).__name__], parameters(self.processor))
        if has_qwen_frames:
            self.set_qwen_frames(folder)
        self.template: Optional[Template] = None
        if self.family.name != SUFFIX:
            keep_blanks(self.processor.tokenizer)
            self.template = self.template_of(self.processor.chat_template, name, variables, choices)
        self.video_template = self.template
        if self.family.name == "smolvlm" and name is None:  # its processor has another template for chats with videos
            from transformers.models.smolvlm.processing_smolvlm import DEFAULT_CHAT_TEMPLATE

            self.video_template = self.template_of(DEFAULT_CHAT_TEMPLATE, None, variables, choices)
        self.choices = choices
        self.written: Optional[Tuple[str, List[Placeholder]]] = None
        self.watch()
        self.constants, self.rope = rope_of(self.family, folder)
        self.values: Dict[str, Values] = {}
        self.raw: Dict[str, Any] = {}   # options of the processor for pixels before they are normalized
        if not is_float:
            self.find_values()
        self.about = {
            "processor": type(self.processor).__name__,
            "family": self.family.name,
            "files": digest(folder),
            "parameters": parameters(self.processor),
            "rope": self.constants,
            "values": {name: values.table.tolist() for name, values in self.values.items()},
            "smallest": {kind: fields for kind in ("image", "audio") for fields in [self.smallest(kind)] if fields},
            "versions": versions(has_qwen_frames),
        }

    def template_of(self, text: Any, name: Optional[str], variables: Dict[str, Any], choices: Choices) -> Template:
        """Return a chat template, with a copy of the tokenizer, which it changes."""
        tokenizer = copy.deepcopy(self.processor.tokenizer)
        tokenizer.chat_template = text
        return Template(tokenizer, name, variables, choices)

    def written_of(self, chat: Chat, media: Sequence[Medium]) -> Tuple[Template, Written]:
        """Return the template for a chat and what it writes; raise Unusable if it refuses the chat, or loses a part of it."""
        template = self.video_template if any(one.kind == "video" for one in media) else self.template
        assert template is not None
        return template, template.written(chat)

    def set_qwen_frames(self, folder: str) -> None:
        """Let the video processor take the frames that qwen_vl_utils takes; raise an error if it cannot."""
        import torch

        if not self.family.rope:
            raise OptionError(f"{type(self.processor).__name__} is none of Qwen's processors, for which --frames-rule qwen_vl_utils is", folder)
        try:
            from qwen_vl_utils.vision_process import smart_nframes
        except ImportError:
            raise DependencyError("--frames-rule qwen_vl_utils needs the package: pip install qwen-vl-utils") from None

        def sampled(metadata: Any, **_: Any) -> Any:
            """Return the frames to take of a video."""
            count = smart_nframes({}, total_frames=metadata.total_num_frames, video_fps=metadata.fps)
            return torch.linspace(0, metadata.total_num_frames - 1, count).round().long().numpy()
        self.processor.video_processor.sample_frames = sampled

    def watch(self) -> None:
        """Let the processor tell which text it tokenizes, and which placeholders it replaced by what."""
        original = self.processor.get_text_with_replacements

        def watched(text: List[str], *arguments: Any, **options: Any) -> Any:
            """Call the original method, and remember its results for the only text."""
            texts, replaced = original(text, *arguments, **options)
            self.written = texts[0], [Placeholder(one["span"], one["new_span"]) for one in replaced[0]] if replaced else []
            return texts, replaced
        self.processor.get_text_with_replacements = watched

    def find_values(self) -> None:
        """Find which arrays of pixels can be stored as U8, and whether the processor can make U8 itself: experiments with a picture and a video tell.

        Normalization takes each value of a channel alone, so that it can be left out here, and made up for by a table of 256 values for each channel.
        """
        options = {"do_rescale": False, "do_normalize": False}
        is_raw = True
        for name, (kind, part) in {PIXELS: ("images_kwargs", "image_processor"), VIDEOS: ("videos_kwargs", "video_processor")}.items():
            if name not in self.family.pixels:
                continue
            table = table_of(getattr(self.processor, part))
            form = next(form for form in self.family.forms if form.name == name)
            normalized, raw = (form.split(self.tried(name, given))[name] for given in ({}, options))
            stored = None if table is None else Values(table).stored(normalized)
            if table is not None and stored is not None:
                self.values[name] = Values(table)
            # Tiles of padding are found by their values of 0.0, which raw pixels have, too.
            is_raw = is_raw and not isinstance(form, Tiles) and raw.dtype == np.uint8 and stored is not None and np.array_equal(raw, stored)
            self.raw[kind] = options
        if not is_raw:
            self.raw = {}

    def tried(self, name: str, options: Dict[str, Any]) -> Dict[str, np.ndarray]:
        """Return the arrays of a picture, or of a video, with options of its processor."""
        import torch

        if name == PIXELS:
            return self.single("image", picture(PICTURE), images_kwargs=options)
        frames = torch.from_numpy(PICTURE).permute(2, 0, 1).repeat(8, 1, 1, 1)
        return as_arrays(self.processor.video_processor(videos=[frames], do_sample_frames=False, return_tensors="pt", **options))

    def single(self, kind: str, medium: Any, **options: Any) -> Dict[str, np.ndarray]:
        """Return the arrays for a medium alone, without a chat."""
        given = {"image": {"images": [[medium]]}, "audio": {"audio": [medium]}}[kind]
        if kind == "audio":
            options["sampling_rate"] = self.processor.feature_extractor.sampling_rate
        if self.family.name == SUFFIX:
            options["suffix"] = [""]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return as_arrays(self.processor(text=[self.placeholder(kind)], return_tensors="pt", **given, **options))

    def smallest(self, kind: str) -> Dict[str, Any]:
        """Return the fields of a smallest black picture or silent sound, for batches of a rank that have none; {}: the processor takes none.

        A field is {"dtype", "shape", "value"} if all its values are the same, or else {"dtype", "values"}.
        """
        if self.placeholder(kind) is None:
            return {}
        options: Dict[str, Any] = {"images_kwargs": {"do_image_splitting": False}} if self.family.name in ("idefics3", "smolvlm") else {}
        media = [np.zeros(1600, np.float32)] if kind == "audio" else \
            [picture(np.zeros((height, width, 3), np.uint8)) for height, width in ((32, 32), (32, 64), (64, 32))]
        arrays = min((self.single(kind, medium, **options) for medium in media), key=lambda one: one[IDS].size)
        fields = split(self.family, arrays, self.values)
        if self.rope is not None:
            fields[POSITIONS] = self.positions(arrays)
        return {name: compact(values) for name, values in fields.items()}

    def made(self, chat: Chat, media: Sequence[Medium]) -> Made:
        """Return the fields of a chat.

        Raises
        ------
        Unusable
            A medium cannot be decoded, the processor refuses the chat, or what it makes cannot be stored.
        """
        counts: Dict[str, int] = Counter()
        with Opened(media, self.processor, counts) as opened:
            self.check_kinds(media)
            self.check_placeholders(chat)
            if self.template is None:
                arrays = self.answered(chat, opened)
                mask = arrays["token_type_ids"][0].astype(np.uint8)
            else:
                template, written = self.written_of(chat, media)
                counts.update(written.counts)
                arrays = self.processed(written, opened)
                mask = self.mask(template, written, arrays.pop("offset_mapping")[0], counts)
        try:
            fields = split(self.family, arrays, self.values)
        except Error as error:
            raise Unusable("arrays that cannot be stored", str(error)) from None
        if not mask.any():
            raise Unusable("nothing to train on", "the chat has no token to train on")
        fields[MASK] = mask
        if self.rope is not None:
            fields[POSITIONS] = self.positions(arrays)
        return Made(fields, counts)

    def check_kinds(self, media: Sequence[Medium]) -> None:
        """Raise Unusable for kinds that the processor does not take, or not together."""
        for one in media:
            if self.placeholder(one.kind) is None:
                raise Unusable(f"the processor takes no {one.kind}", f"{one.where}: {type(self.processor).__name__} takes no {one.kind}")
        kinds = [one.kind for one in media]
        if self.family.name == "smolvlm" and "video" in kinds and len(kinds) > 1:
            raise Unusable("a video beside other media", "SmolVLMProcessor loses pictures beside a video, and divides a chat with two videos")

    def placeholder(self, kind: str) -> Optional[str]:
        """Return the text that stands for a medium of this kind; None: the processor takes none."""
        found = getattr(self.processor, PLACEHOLDERS[kind], None)
        return None if found is None else str(found)

    def check_placeholders(self, chat: Chat) -> None:
        """Raise Unusable if a text of the chat has a placeholder, which the processor would take for a medium."""
        texts = json.dumps([chat.messages, chat.tools], ensure_ascii=False)
        for kind in KINDS:
            token = self.placeholder(kind)
            if token and json.dumps(token, ensure_ascii=False)[1:-1] in texts:
                raise Unusable("a text with a placeholder", f"a text has {token}, which stands for media of the kind {kind}: remove it")

    def processed(self, written: Written, opened: Opened) -> Dict[str, np.ndarray]:
        """Return the arrays of the processor, called as its own apply_chat_template does."""
        counts = {kind: len(opened.of(kind)) for kind in KINDS}
        for kind, count in counts.items():
            token = self.placeholder(kind)
            there = written.text.count(token) if token else 0
            if there != count:
                raise Unusable("media that the template loses", f"the chat template writes {there} of {count} media of the kind {kind}")
        self.written = written.text, []
        options = self.given(written.text, opened)
        if not counts["video"] or "videos_kwargs" in self.raw:     # frames of InternVL become pixel_values, beside pictures
            options.update((name, dict(given)) for name, given in self.raw.items() if counts["image" if name == "images_kwargs" else "video"])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = self.processor(text=[written.text], return_tensors="pt", return_offsets_mapping=True, **options)
        except MemoryError:
            raise
        except Exception as error:  # a processor may raise anything
            raise Unusable(f"refused by the processor: {first_line(error)}", f"the processor refuses the chat: {first_line(error)}") from None
        return as_arrays(made)

    def given(self, text: str, opened: Opened) -> Dict[str, Any]:
        """Return the media and options that the processor's own apply_chat_template gives it."""
        pictures, videos, sounds = (opened.of(kind) for kind in KINDS)
        options: Dict[str, Any] = {}
        if pictures:
            options["images"] = [pictures]
        if videos:
            options.update(videos=[videos], do_sample_frames=True)
        if sounds:
            options.update(audio=sounds, sampling_rate=self.processor.feature_extractor.sampling_rate)
        start = self.processor.tokenizer.bos_token
        if start is not None and text.startswith(start):
            options["add_special_tokens"] = False
        if self.family.name == "smolvlm":
            options.update(num_frames=self.processor.video_processor.num_frames, fps=self.processor.video_processor.fps)
        return options

    def answered(self, chat: Chat, opened: Opened) -> Dict[str, np.ndarray]:
        """Return the arrays of PaliGemma's processor, which takes a prompt and an answer."""
        roles = [one["role"] for one in chat.messages]
        if roles != ["user", "assistant"]:
            raise Unusable("no question and answer", "PaliGemma takes one message of the user and one of the assistant")
        texts = []
        for one in chat.messages:
            content = one["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts.append("".join(part["text"] if part["type"] == "text" else self.processor.image_token for part in parts))
        try:
            made = self.processor(images=[opened.of("image")] if opened.of("image") else None, text=[texts[0]], suffix=[texts[1]],
                                  return_tensors="pt", **{name: dict(given) for name, given in self.raw.items()})
        except Exception as error:
            raise Unusable(f"refused by the processor: {first_line(error)}", f"the processor refuses the chat: {first_line(error)}") from None
        return as_arrays(made)

    def mask(self, template: Template, written: Written, offsets: np.ndarray, counts: Dict[str, int]) -> np.ndarray:
        """Return the loss mask of the tokens: U8 [tokens], 0 for what replaced placeholders. offsets: [tokens, 2], the characters of each."""
        assert self.written is not None
        _, placeholders = self.written
        if self.choices.train_on == "all":
            spans, is_marked = [(0, len(written.text))], False
        elif template.marks(written.chat):
            spans, is_marked = template.marked_spans(written), True
        else:
            spans, is_marked = template.trained(written, counts), False
        first, last = offsets[:, 0], offsets[:, 1]
        inside, touching = np.zeros((2, len(offsets)), np.bool_)
        for begin, end in ((moved(begin, placeholders), moved(end, placeholders)) for begin, end in spans):
            inside |= (begin <= first) & (last <= end)
            touching |= (begin < last) & (first < end)
        if is_marked:   # as Transformers does: every token that has a character of a mark
            inside = touching
        counts[STRADDLING] = int((touching & ~inside).sum())
        inside &= first < last  # the tokenizer adds the others
        for one in placeholders:
            inside &= (first < one.after[0]) | (one.after[1] < last)
        return inside.astype(np.uint8)

    def positions(self, arrays: Dict[str, np.ndarray]) -> np.ndarray:
        """Return the positions of a chat for mRoPE, I32 [tokens, 4]: those of the text first, then time, height and width."""
        import torch

        count = arrays[IDS].shape[1]
        text = np.arange(count)[None]
        rows = np.repeat(text, 3, axis=0)
        if any(name in arrays for name in ("image_grid_thw", "video_grid_thw", "input_features")):
            given = {name: torch.from_numpy(arrays[name]) for name in arrays}
            names = {"video_second_per_grid": "second_per_grids"}
            options = {names.get(name, name): given[name] for name in (
                IDS, "attention_mask", "mm_token_type_ids", "image_grid_thw", "video_grid_thw", "second_per_grid_ts", "video_second_per_grid")
                if name in given}
            if "feature_attention_mask" in given:
                options["audio_seqlens"] = given["feature_attention_mask"].sum(-1)
            rows = self.rope.get_rope_index(**options)[0][:, 0].numpy()
        return np.concatenate([text, rows]).T.astype(np.int32)


def picture(values: np.ndarray) -> Any:
    """Return values U8 [height, width, 3] as a picture."""
    from PIL import Image

    return Image.fromarray(values)


def as_arrays(made: Any) -> Dict[str, np.ndarray]:
    """Return what a processor made, as arrays."""
    return {name: np.asarray(value) for name, value in made.items()}


def compact(values: np.ndarray) -> Dict[str, Any]:
    """Return an array for the manifest; see Processor.smallest."""
    first = values.reshape(-1)[:1]
    if (values == first).all():
        return {"dtype": values.dtype.str, "shape": list(values.shape), "value": first.item()}
    return {"dtype": values.dtype.str, "values": values.tolist()}


def moved(at: int, placeholders: Sequence[Placeholder]) -> int:
    """Return where a character of the template's text is after placeholders were replaced."""
    number = bisect.bisect_right([one.before[1] for one in placeholders], at)
    return at + (placeholders[number - 1].after[1] - placeholders[number - 1].before[1] if number else 0)


def keep_blanks(tokenizer: Any) -> None:
    """Let the offsets of a token include the blanks at its edges, as in bload.chat, if the tokenizer's post-processor leaves them out."""
    def changed(state: Any) -> Any:
        """Return the state of a post-processor, and of those in it, with all blanks."""
        if isinstance(state, list):
            return [changed(one) for one in state]
        if not isinstance(state, dict):
            return state
        return {name: False if name == "trim_offsets" else changed(value) for name, value in state.items()}
    processor = tokenizer.backend_tokenizer.post_processor
    if processor is not None:
        processor.__setstate__(json.dumps(changed(json.loads(processor.__getstate__()))).encode())
        tokenizer.backend_tokenizer.post_processor = processor


def load(folder: str) -> Any:
    """Load the processor of a folder; raise an error if it is of no known family."""
    if not os.path.isdir(folder):
        raise MissingError("no such folder", folder)
    torch, transformers = packages("multimodal", "jinja2", "PIL", "torchvision", "torch", "transformers")[-2:]
    torch.set_num_threads(1)    # the workers are the parallelism, and forks share no threads
    try:
        processor = transformers.AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise OptionError(f"no processor can be loaded: {first_line(error)}", folder) from None
    if type(processor).__name__ not in FAMILIES:
        raise OptionError(f"{type(processor).__name__} is not supported; supported are {', '.join(FAMILIES)}", folder)
    if not processor.tokenizer.is_fast:
        raise OptionError("the tokenizer has no tokenizer.json, and cannot map tokens to the text", folder)
    return processor


def parameters(processor: Any) -> Dict[str, int]:
    """Return the sizes that forms need; see with_parameters."""
    family = FAMILIES[type(processor).__name__]
    found = {}
    if any(isinstance(form, Patches) for form in family.forms):
        found["side"] = int(processor.patch_size) * int(processor.spatial_merge_size)
    if any(isinstance(form, Pairs) for form in family.forms):
        found["temporal"] = int(processor.image_processor.temporal_patch_size)
    if any(isinstance(form, Sounds) for form in family.forms):
        found["frames"] = int(processor.feature_extractor.nb_max_frames)
    return found


def table_of(part: Any) -> Optional[np.ndarray]:
    """Return the values of normalized pixels, F32 [3, 256], that an image or video processor makes of 0 to 255; None: they are not known."""
    import torch

    normalize = getattr(part, "rescale_and_normalize", None)
    if normalize is None:
        return None
    ramp = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16).repeat(1, 3, 1, 1)
    mean, std = (tuple(value) if isinstance(value, (list, tuple)) else value for value in (part.image_mean, part.image_std))
    table = normalize(ramp, part.do_rescale, part.rescale_factor, part.do_normalize, mean, std)
    if table.dtype != torch.float32:
        return None
    values: np.ndarray = table.view(3, 256).numpy()
    return values if (np.diff(values, axis=1) > 0).all() else None


def rope_of(family: Family, folder: str) -> Tuple[Dict[str, Any], Any]:
    """Return the constants of a family's positions, and an object with its get_rope_index; an empty dict and None: it needs no positions.

    The constants are those of config.json, or else the defaults of the class.
    """
    if not family.rope:
        return {}, None
    import torch

    module, _, name = family.rope.rpartition(".")
    model_class = getattr(importlib.import_module(f"transformers.models.{module}"), name)
    config_class = model_class.config_class
    path = os.path.join(folder, "config.json")
    config: Any = config_class()
    if os.path.exists(path):
        try:
            with open(path, "rb") as file:
                given = json.load(file)
            given = given.get("thinker_config", given)
            config = config_class.from_dict(given)
        except Exception as error:
            raise OptionError(f"config.json cannot be read: {first_line(error)}", folder) from None
    model = model_class.__new__(model_class)    # without its layers, which get_rope_index does not use
    torch.nn.Module.__init__(model)
    model.config = config
    vision = getattr(config, "vision_config", config)
    model.spatial_merge_size = vision.spatial_merge_size
    names = ("spatial_merge_size", "tokens_per_second", "temporal_patch_size")
    constants = {one: getattr(vision, one) for one in names if getattr(vision, one, None) is not None}
    others = ("position_id_per_seconds", "seconds_per_chunk", "image_token_id", "video_token_id", "audio_token_id", "vision_start_token_id")
    constants.update((one, getattr(config, one)) for one in others if getattr(config, one, None) is not None)
    return {"from": "config.json" if os.path.exists(path) else "the defaults of the class", **constants}, model


def digest(folder: str) -> Dict[str, str]:
    """Return the SHA-256 of the files of a folder that decide what its processor makes, by name."""
    names = [name for name in sorted(os.listdir(folder)) if name.endswith((".json", ".jinja", ".model", ".txt"))]
    found = {}
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


def versions(has_qwen_frames: bool) -> Dict[str, str]:
    """Return the versions of the packages that decide the bytes."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    names = ["transformers", "tokenizers", "torch", "torchvision", "pillow", "numpy", "torchcodec", "soundfile", "jinja2"]
    for name in names + ["qwen-vl-utils"] * has_qwen_frames:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            pass
    return found
