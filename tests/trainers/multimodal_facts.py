"""What the processors of multimodal families return, and what their models take for several sequences in one row, measured.

joined() and rows() are the reference: made from the tensors of the processor alone, they need no dataset. A row has the sequences of some
chats one after the other, [1, total].
"""
import pathlib
import tempfile

import numpy as np
import torch
import transformers
from PIL import Image
from torch.nn.functional import pad
from transformers.models.llava_next.modeling_llava_next import image_size_to_num_patches
from transformers.models.smolvlm.processing_smolvlm import get_image_prompt_string

import multimodal_models
from multimodal_models import FAMILIES, chats, media, model, process, save, smooth, user

PER_STEP = "input_ids", "attention_mask", "mm_token_type_ids", "token_type_ids", "labels"
NESTED = "idefics3", "smolvlm"  # their pixels have an axis of chats, or of videos
TILED = "llava_next", "llava_onevision"
ROPE = "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen2_5_omni"  # position_ids have three channels
LEAST = torch.finfo(torch.float32).min


# --- media of a row -------------------------------------------------------------------------------------------------

def without_padding(family, name, output):
    """Return an array of one chat as a list of its steps without padding: pictures, tiles, patches, frames or sounds."""
    values = output[name]
    if family in NESTED:
        values = values.flatten(0, 1)
        real = output["pixel_values"].flatten(0, 1).flatten(1).any(1)
        return list(values[real])
    if family in TILED and name == "pixel_values":
        several = "batch_num_images" in output and output["batch_num_images"].tolist() != [1]
        return [tiles[:1 if several else image_size_to_num_patches(size.tolist(), multimodal_models.PINPOINTS, multimodal_models.TILE)]
                for tiles, size in zip(values, output["image_sizes"])]
    if family == "pixtral" and name == "pixel_values":
        return [picture[:, :height, :width] for picture, (height, width) in zip(values, output["image_sizes"].tolist())]
    if name == "input_features":
        # Two frames behind the mask have something of the sound, the third is the constant of those without.
        return [sound[:, :steps + 3] for sound, steps in zip(values, output["feature_attention_mask"].sum(1).tolist())]
    return list(values)


def together(family, name, steps):
    """Return the array of a whole row from the steps of all its chats, padded as the processor of the family pads."""
    if family in TILED and name == "pixel_values":
        most = max(map(len, steps))
        steps = [pad(tiles, [0] * 7 + [most - len(tiles)]) for tiles in steps]
    if family == "pixtral" and name == "pixel_values":
        height, width = (max(picture.shape[axis] for picture in steps) for axis in (1, 2))
        steps = [pad(picture, [0, width - picture.shape[2], 0, height - picture.shape[1]]) for picture in steps]
    if name == "input_features":
        length = multimodal_models.RATE * multimodal_models.SOUND["chunk_length"] // multimodal_models.SOUND["hop_length"]
        steps = [torch.cat([sound, sound[:, -1:].expand(-1, length - sound.shape[1])], 1) for sound in steps]
    return torch.stack(steps)[None] if family in NESTED else torch.stack(steps)


def joined(family, outputs):
    """Return the arrays of media of several chats, by name, as the processor returns them for all at once."""
    names = dict.fromkeys(name for output in outputs for name in output if name not in PER_STEP)
    return {name: together(family, name, [step for output in outputs if name in output for step in without_padding(family, name, output)])
            for name in names}


# --- positions and masks --------------------------------------------------------------------------------------------

def rope_index(family, made, output):
    """Return the positions [3, 1, steps] of a sequence alone."""
    grids = {name: output.get(name) for name in ("image_grid_thw", "video_grid_thw")}
    if family == "qwen2_5_omni":
        sounds = output.get("feature_attention_mask")
        return made.model.get_rope_index(
            output["input_ids"], attention_mask=torch.ones_like(output["input_ids"]), second_per_grids=output.get("video_second_per_grid"),
            audio_seqlens=None if sounds is None else sounds.sum(1), **grids)[0]
    if family == "qwen2_5_vl":
        grids["second_per_grid_ts"] = output.get("second_per_grid_ts")
    return made.model.get_rope_index(output["input_ids"], mm_token_type_ids=output["mm_token_type_ids"], **grids)[0]


def pictures_of(types):
    """Return the number of the picture of each step, -1 for text: token_type_ids [steps] are 1 in pictures."""
    inside = types == 1
    starts = inside & ~pad(inside, [1, 0])[:-1]
    return torch.where(inside, starts.cumsum(0), -1)


def gemma3_masks(window, owner, types):
    """Return the masks of a row: causal, but both ways in a picture, and never between sequences: owner [total]."""
    step = torch.arange(len(owner))
    picture = pictures_of(types)
    seen = (owner[:, None] == owner) & ((step <= step[:, None]) | (picture[:, None] == picture) & (picture >= 0))
    return {name: torch.where(mask, 0.0, LEAST)[None, None] for name, mask in (
        ("full_attention", seen), ("sliding_attention", seen & (step > step[:, None] - window)))}


def rows(family, made, outputs):
    """Return the arguments of the model's forward for a row, by the name of the way to isolate its sequences; "right" is the first."""
    lengths = [output["input_ids"].shape[1] for output in outputs]
    owner = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths))
    first = 1 if family == "paligemma" else 0  # the first position
    position = torch.cat([torch.arange(first, first + length) for length in lengths])[None]
    ids = torch.cat([output["input_ids"] for output in outputs], 1)
    types = {name: torch.cat([output[name] for output in outputs], 1)
             for name in ("mm_token_type_ids", "token_type_ids") if name in outputs[0]}
    row = {"input_ids": ids, **joined(family, outputs), "use_cache": False}
    ways = {}
    if family in ROPE:
        three = torch.cat([rope_index(family, made, output) for output in outputs], 2)
        ways["right"] = {**row, "position_ids": torch.cat([position[None], three])}
        ways["three channels"] = {**row, "position_ids": three}
    elif family == "gemma3":
        masks = gemma3_masks(made.config.text_config.sliding_window, owner, types["token_type_ids"][0])
        ways["right"] = {**row, "position_ids": position, "attention_mask": masks}
        ways["types"] = {**row, "position_ids": position, **types}  # the sliding mask is wrong from the second sequence on
    else:
        ways["right"] = {**row, "position_ids": position, **types}
    ways["no positions"] = {**row, **types}
    if family != "gemma3":
        ways["mask of ones"] = {**ways["right"], "attention_mask": torch.ones_like(ids)}
        ways["cache"] = {**ways["right"], "use_cache": True}
    return ways


def alone(made, output):
    """Return the logits of a sequence alone: the model gets all that the processor returns."""
    with torch.no_grad():
        return made(**{name: values for name, values in output.items() if name != "labels"}, use_cache=False).logits[0]


def difference(made, row, outputs):
    """Return the largest difference of any logit of a row from that of the sequence alone."""
    with torch.no_grad():
        logits = made(**row).logits[0]
    parts = logits.split([output["input_ids"].shape[1] for output in outputs])
    return max((part - alone(made, output)).abs().max().item() for part, output in zip(parts, outputs))


# --- pixels ---------------------------------------------------------------------------------------------------------

def levels(processor):
    """Return what the image processor makes of each level of each channel: F32 [3, 256]."""
    ramp = torch.arange(256, dtype=torch.uint8).expand(1, 3, 1, 256).contiguous()
    images = processor.image_processor
    return images.rescale_and_normalize(ramp, True, images.rescale_factor, True, tuple(images.image_mean), tuple(images.image_std))[0, :, 0]


def channels(family, pixels):
    """Return pixels by channel, [3, all]. Patches have the axes (channel, frame, y, x) in one."""
    pixels = pixels.unflatten(1, (3, -1)) if family in ROPE else pixels
    return pixels.movedim(1 if family in ROPE else -3, 0).flatten(1)


def outside(family, processor, output):
    """Return how many pixels of a chat without padding are none of the 256 levels of their channel."""
    table, count = levels(processor), 0
    for name in output:
        if name.startswith("pixel_values"):
            for step in without_padding(family, name, output):
                values = channels(family, step[None])
                count += sum((~torch.isin(values[channel], table[channel])).sum().item() for channel in range(3))
    return count


# --- sizes without pixels -------------------------------------------------------------------------------------------

def expected(family, processor, size):
    """Return the tokens that take the place of a picture's placeholder, and the steps of its pixels, from (height, width) alone."""
    if family == "smolvlm":
        tiles, rows_, columns = processor.image_processor.get_number_of_image_patches(*size, {})
        text = get_image_prompt_string(rows_, columns, processor.image_seq_len, fake_token_around_image=processor.fake_image_token,
                                       image_token=processor.image_token, global_image_token=processor.global_image_token)
        return len(processor.tokenizer(text, add_special_tokens=False)["input_ids"]), tiles
    counts = processor._get_num_multimodal_tokens(image_sizes=[size])
    tokens, steps = counts.num_image_tokens[0], counts.num_image_patches[0]
    if family == "gemma3":  # counts the picture without its borders
        tokens = len(processor.tokenizer(processor.full_image_sequence, add_special_tokens=False)["input_ids"])
    if family in TILED:  # counts no tiles
        steps = image_size_to_num_patches(size, multimodal_models.PINPOINTS, multimodal_models.TILE)
    return tokens, steps


def sizes_differ(family, processor, folder, count=50):
    """Return for how many pictures of random sizes the expected counts are not those of the processor."""
    random, path, differ = np.random.default_rng(3), str(pathlib.Path(folder) / "size.png"), 0
    for size in random.integers(6, 200, (count, 2)).tolist():
        Image.fromarray(smooth(random, *size)).save(path)
        messages = [user({"type": "image", "path": path}, "What?")]
        output = process(processor, messages)
        text = processor.apply_chat_template(messages, tokenize=False)
        around = len(processor.tokenizer(text, add_special_tokens=False)["input_ids"]) - 1
        if family == "paligemma":
            around += 2  # the processor writes <bos> and a new line
        steps = output["pixel_values"].shape[1 if family in NESTED + TILED else 0]
        differ += expected(family, processor, size) != (output["input_ids"].shape[1] - around, steps)
    return differ


# --- gradients ------------------------------------------------------------------------------------------------------

def without_gradient(made, output):
    """Return the parts of the model that get no gradient from a sequence, each with how many of its parameters get none, of how many."""
    made.zero_grad(set_to_none=True)
    made(**{name: values for name, values in output.items() if name != "labels"}, use_cache=False).logits.logsumexp(-1).mean().backward()
    parts = {}
    for name, parameter in made.named_parameters():
        parts.setdefault(".".join(name.split(".")[:2]), []).append(parameter.grad is None)
    return {part: f"{sum(none)} of {len(none)}" for part, none in parts.items() if any(none)}


# --- the program ----------------------------------------------------------------------------------------------------

def outputs_of(family, folder):
    """Save the family to a folder; return its processor and what it returns for each chat."""
    save(family, folder)
    processor = transformers.AutoProcessor.from_pretrained(folder, local_files_only=True)
    return processor, {name: dict(process(processor, messages)) for name, messages in chats(family, media(folder)).items()}


def main(families):
    """Print the facts of the families."""
    for family in families:
        with tempfile.TemporaryDirectory() as folder:
            processor, outputs = outputs_of(family, folder)
            print(f"{family}: {FAMILIES[family].model}")
            for name, output in outputs.items():
                print(f"  {name}: " + ", ".join(f"{key} {str(value.dtype)[6:]} {list(value.shape)}" for key, value in output.items()))
            if "pixel_values" in "".join(key for output in outputs.values() for key in output):
                print(f"  pixels that are none of the 256 levels: {sum(outside(family, processor, output) for output in outputs.values())}")
            if "image" in FAMILIES[family].kinds:
                print(f"  pictures of which sizes say something else: {sizes_differ(family, processor, folder)} of 50")
            for name in outputs.keys() & {"text", "picture", "sound"}:
                print(f"  {name}: no gradient in {without_gradient(model(family, 'sdpa', folder), outputs[name])}")
            for attention in ("eager", "sdpa"):
                made = model(family, attention, folder)
                ways = rows(family, made, list(outputs.values()))
                print(f"  {attention}: " + ", ".join(f"{way} {difference(made, row, list(outputs.values())):.1e}" for way, row in ways.items()))
