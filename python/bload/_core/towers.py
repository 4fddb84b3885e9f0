"""The arguments of multimodal models for a batch of chats that bload.multimodal packed.

The chats of all blocks become one row, [1, total], without padding; their pictures and sounds are joined, so that nothing but data goes
through the vision and audio towers. Models separate the chats by position_ids, which begin anew with each: without an attention_mask, and
without a cache.
"""
from __future__ import annotations

from typing import Any, Dict, Mapping

import numpy as np

from .arrays import FAMILIES, PIXELS, TEXT, TOKENS, VIDEOS, Ones, Steps, Values, own_fields, with_parameters
from .errors import Error, OptionError
from .masks import Steps as MaskSteps
from .masks import masks_of
from .packed import IGNORED, Batch, Packed, contract, pack, rows_of, targets

POSITIONS = "position_ids"
# The fields that say whether a tower has something to do, by the kind of the medium.
SHOWN = {"image": (PIXELS, VIDEOS), "audio": ("input_features",)}


class Chats:
    """The chats of a batch in one row.

    fields: values by name, [total, ...] of tokens or own steps. position: of each token in its chat. owner: the chat of each token.
    labels: I64 [total]. counts: by the name of an own field, its steps in each chat.
    """

    def __init__(self, batch: Batch, about: Mapping[str, Any], name: str, field: str, loss_mask: str, smallest: bool):
        """Join the chats of a batch; see qwen_vl for the parameters. name: the contract's."""
        self.info = info_of(about, name)
        self.family = with_parameters(FAMILIES[self.info["processor"]], self.info["parameters"])
        packed = pack(batch, field)
        labels = targets(packed, batch, field, None, loss_mask)
        self.labels = np.where(packed.position == 0, IGNORED, labels)
        self.position, self.owner = packed.position, packed.owner
        self.fields: Dict[str, np.ndarray] = {TOKENS: packed.flat(batch, field)[packed.step]}
        self.counts: Dict[str, np.ndarray] = {}
        self.read(batch, packed)
        if smallest:
            self.complete()
        if not len(self.position):
            raise Error("the batch has no chat, and the dataset's processor has no smallest one: leave out empty batches")
        for one, table in self.info["values"].items():
            if one in self.fields:
                self.fields[one] = Values(table).pixels(self.fields[one])

    def read(self, batch: Batch, packed: Packed) -> None:
        """Take the fields of the batch."""
        for name in [form.field for form in self.family.forms if isinstance(form, Steps) and form.field != TOKENS] + [POSITIONS] * bool(
                self.family.rope):
            self.fields[name] = packed.flat(batch, name)[packed.step]
        kept = np.atleast_2d(batch["length"]) > 0
        for name in own_fields(self.family):
            if f"{name}_cu_seqlens" in batch:
                rows = rows_of(batch, name)
                first, length = rows.first[kept], rows.length[kept]
                at = np.arange(length.sum()) + np.repeat(first - np.cumsum(length) + length, length)
                self.counts[name] = length
                if len(at):
                    is_whole = len(at) == len(rows.values)
                    self.fields[name] = rows.values if is_whole else rows.values[at]

    def complete(self) -> None:
        """Add a smallest picture, or sound, as a last chat without labels if the batch has none, so that each tower takes part on every rank."""
        for kind, given in self.info["smallest"].items():
            if any(name in self.fields for name in SHOWN[kind]):
                continue
            fields = {name: restored(one) for name, one in given.items()}
            count = len(fields[TOKENS])
            chat = self.owner[-1] + 1 if len(self.owner) else 0
            self.position = np.append(self.position, np.arange(count))
            self.owner = np.append(self.owner, np.full(count, chat))
            self.labels = np.append(self.labels, np.full(count, IGNORED))
            own = own_fields(self.family)
            for name in own:
                self.counts[name] = np.append(self.counts.get(name, np.zeros(chat, np.int64)), len(fields.get(name, ())))
            for name, values in fields.items():
                self.fields[name] = np.concatenate([self.fields[name], values]) if name in self.fields else values

    def arrays(self) -> Dict[str, np.ndarray]:
        """Return the processor's arrays of all media."""
        fields = {**self.fields, **{f"{name} of each chat": counts for name, counts in self.counts.items()}}
        found = {}
        for form in self.family.forms:
            if form not in TEXT and not isinstance(form, (Steps, Ones)):
                array = form.join(fields, int(self.owner[-1]) + 1)
                if array is not None:
                    found[form.name] = array
        return found

    def arguments(self) -> Dict[str, Any]:
        """Return what the forward of all families takes."""
        return {"input_ids": self.fields[TOKENS].astype(np.int64)[None], "labels": self.labels[None], "position_ids": self.position[None],
                "use_cache": False, **self.arrays()}


def info_of(about: Mapping[str, Any], name: str) -> Dict[str, Any]:
    """Return what bload.multimodal recorded; raise OptionError if there is nothing, or if another contract is for its family."""
    info = about.get("multimodal")
    if not isinstance(info, dict) or info.get("processor") not in FAMILIES:
        raise OptionError("about has no processor: give the about of a dataset that bload.multimodal packed, as BlockDataset.about")
    family = FAMILIES[info["processor"]]
    if family.contract != name:
        raise OptionError(f"the dataset is of {info['processor']}: use contracts.{family.contract}")
    found: Dict[str, Any] = info
    return found


def restored(given: Mapping[str, Any]) -> np.ndarray:
    """Return a field of a smallest picture or sound."""
    if "values" in given:
        return np.array(given["values"], given["dtype"])
    return np.full(given["shape"], given["value"], given["dtype"])


@contract
def qwen_vl(batch: Batch, about: Mapping[str, Any], *, field: str = "tokens", loss_mask: str = "loss_mask", smallest: bool = True) -> Dict[str, Any]:
    """Return the arguments of `model(**result)` for Qwen2-VL, Qwen2.5-VL, Qwen3-VL and the thinker of Qwen2.5-Omni, in transformers 4.54 or later.

        batch = bload.torch.collate([dataset[0], dataset[1]])       # dataset = BlockDataset("packed", pad=False)
        loss = model(**bload.contracts.qwen_vl(batch, dataset.about)).loss

    Parameters
    ----------
    batch : dict
        Collated blocks, or one block, of a dataset that bload.multimodal packed, or of a view of such datasets.
    about : mapping
        The `about` of the dataset: its processor, and the values of its pixels.
    field, loss_mask : str
        The fields with the tokens, and with 1 for the tokens to learn.
    smallest : bool
        If the batch has no picture (or, for a model that hears, no sound), add the smallest one as a last chat without labels. Without it, a
        rank whose batch has none gives the tower no gradient, and DistributedDataParallel ends in an error.

    Returns
    -------
    dict
        input_ids, labels I64 [1, total]: labels are not shifted, and -100 where nothing is learned and at the first token of each chat.
        position_ids I64 [4, 1, total]: those of the text first, by which attention separates the chats, then time, height and width.
        use_cache False. pixel_values F32 [patches, ...], image_grid_thw I64 [pictures, 3], pixel_values_videos, video_grid_thw,
        second_per_grid_ts, video_second_per_grid, input_features and feature_attention_mask, where the batch has them: bit for bit what the
        processor makes of all chats together. An attention_mask must not be passed.

    Raises
    ------
    bload.OptionError
        The dataset is of another family.
    bload.Error
        The batch lacks an entry.
    """
    chats = Chats(batch, about, "qwen_vl", field, loss_mask, smallest)
    positions = np.ascontiguousarray(chats.fields[POSITIONS].T.astype(np.int64)[:, None])
    return {**chats.arguments(), "position_ids": positions}


@contract
def llava(batch: Batch, about: Mapping[str, Any], *, field: str = "tokens", loss_mask: str = "loss_mask", smallest: bool = True) -> Dict[str, Any]:
    """Return the arguments of `model(**result)` for LLaVA 1.5, Pixtral and PaliGemma.

    Parameters
    ----------
    batch, about, field, loss_mask, smallest
        As in qwen_vl.

    Returns
    -------
    dict
        input_ids, labels, position_ids I64 [1, total], use_cache False, pixel_values F32 [pictures, 3, height, width]; for Pixtral
        image_sizes I64 [pictures, 2], with pictures padded to the largest; for PaliGemma token_type_ids I64 [1, total], 1 in answers.
    """
    chats = Chats(batch, about, "llava", field, loss_mask, smallest)
    result = chats.arguments()
    if chats.family.name == "paligemma":
        result.update(position_ids=result["position_ids"] + 1, token_type_ids=chats.fields["token_type_ids"].astype(np.int64)[None])
    return result


@contract
def tiles(batch: Batch, about: Mapping[str, Any], *, field: str = "tokens", loss_mask: str = "loss_mask", smallest: bool = True) -> Dict[str, Any]:
    """Return the arguments of `model(**result)` for models that divide pictures into tiles: LLaVA-NeXT, LLaVA-OneVision, InternVL, Idefics3, SmolVLM.

    Parameters
    ----------
    batch, about, field, loss_mask, smallest
        As in qwen_vl.

    Returns
    -------
    dict
        input_ids, labels, position_ids I64 [1, total], use_cache False, and pixel_values F32: of InternVL [tiles, 3, height, width], of
        Idefics3 and SmolVLM [1, tiles, 3, height, width], of the others [pictures, most tiles of any, 3, height, width] with image_sizes;
        of LLaVA-OneVision also batch_num_images and pixel_values_videos.
    """
    return Chats(batch, about, "tiles", field, loss_mask, smallest).arguments()


@contract
def gemma3(batch: Batch, about: Mapping[str, Any], config: Any, *, field: str = "tokens", loss_mask: str = "loss_mask", smallest: bool = True,
           max_mask_bytes: int = 1 << 30) -> Dict[str, Any]:
    """Return the arguments of `model(**result)` for Gemma 3, whose tokens see all others of their picture.

    Its own masks for packed chats are wrong from the second one on (transformers 5.24), so masks are given.

    Parameters
    ----------
    batch, about, field, loss_mask, smallest
        As in qwen_vl.
    config : object
        The model's `model.config`.
    max_mask_bytes : int
        The most bytes of all masks of a batch.

    Returns
    -------
    dict
        input_ids, labels, position_ids I64 [1, total], use_cache False, pixel_values F32 [pictures and crops, 3, height, width], and
        attention_mask: a dict with masks [1, 1, total, total] for full_attention and sliding_attention, BOOL for sdpa, F32 for eager.

    Raises
    ------
    bload.OptionError
        The masks exceed max_mask_bytes.
    """
    chats = Chats(batch, about, "gemma3", field, loss_mask, smallest)
    inside = chats.fields["token_type_ids"] == 1
    starts = inside & ~np.append(False, inside[:-1] & (chats.owner[1:] == chats.owner[:-1]))
    picture = np.where(inside, np.cumsum(starts), -1)
    masks = masks_of(MaskSteps(chats.owner, chats.position, picture), config, max_mask_bytes)
    return {**chats.arguments(), "attention_mask": masks}


@contract
def qwen_audio(batch: Batch, about: Mapping[str, Any], *, field: str = "tokens", loss_mask: str = "loss_mask", smallest: bool = True) -> Dict[str, Any]:
    """Return the arguments of `model(**result)` for Qwen2-Audio.

    Parameters
    ----------
    batch, about, field, loss_mask, smallest
        As in qwen_vl; smallest adds a short silence.

    Returns
    -------
    dict
        input_ids, labels, position_ids I64 [1, total], use_cache False, input_features F32 [sounds, mels, frames] and feature_attention_mask
        I32 [sounds, frames].
    """
    return Chats(batch, about, "qwen_audio", field, loss_mask, smallest).arguments()
