"""Processors and small random models of every multimodal family, made without a network, and example chats for them.

save() writes the folder of a family: a tokenizer that is trained on a few lines but has the special tokens of the family, its chat
template, its processor with small pictures, tiles and patches, and config.json. model() returns the model of this folder.
Run as a program, it prints the facts of multimodal_facts.py.
"""
import pathlib
import sys
import wave
from importlib import resources
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

import av
import numpy as np
import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

PATCH, TILE = 4, 16  # pixels: a patch of a vision tower; the side of the square that a tower with positions of its own takes
RATE = 16000         # samples per second
MELS, WINDOW = 16, 8
FRAMES, FPS = 20, 8  # of the example video; pictures per second
TEXT = """The two pictures show a small house near the river, and a video of the same house in the rain.
What is in the first picture, and what does the second one show? What do you hear in the sound?
user assistant system User Assistant You are a helpful assistant. USER: ASSISTANT: [INST] [/INST] Frame1: Frame2: Picture 1: Audio 1:""" * 4


# --- chat templates -------------------------------------------------------------------------------------------------

def of_trl(name):
    """Return a function that reads the template of this name from TRL."""
    return lambda: (resources.files("trl") / "chat_templates" / f"{name}.jinja").read_text()


def turns(start, parts, end, before="", generation=""):
    """Return a template: what is written before the turns, at the start and the end of each, and for a part of each kind."""
    branches = "".join("{%% %sif part.type == '%s' %%}%s" % ("el" if number else "", kind, text)
                       for number, (kind, text) in enumerate({**parts, "text": "{{ part.text }}"}.items()))
    return (before + "{% for message in messages %}" + start + "{% if message.content is string %}{{ message.content }}{% else %}"
            "{% for part in message.content %}" + branches + "{% endif %}{% endfor %}{% endif %}" + end + "{% endfor %}"
            "{% if add_generation_prompt %}" + generation + "{% endif %}")


def chatml(parts):
    """Return a template of the form that Qwen's models use."""
    return turns("<|im_start|>{{ message.role }}\n", parts, "<|im_end|>\n", generation="<|im_start|>assistant\n")


TEMPLATES: Dict[str, Callable[[], str]] = {
    "qwen2_vl": of_trl("qwen2_5_vl"), "qwen2_5_vl": of_trl("qwen2_5_vl"), "qwen3_vl": of_trl("qwen3_vl"),
    "qwen2_5_omni": lambda: chatml({"image": "<|vision_bos|><|IMAGE|><|vision_eos|>", "video": "<|vision_bos|><|VIDEO|><|vision_eos|>",
                                    "audio": "<|audio_bos|><|AUDIO|><|audio_eos|>"}),
    "llava": lambda: turns("{{ message.role.upper() }}: ", {"image": "<image>\n"}, "{{ '</s>' if message.role == 'assistant' else ' ' }}",
                           generation="ASSISTANT:"),
    "llava_next": of_trl("llava_next"),
    "llava_onevision": lambda: turns("<|im_start|>{{ message.role }} ", {"image": "<image>\n", "video": "<video>\n"}, "<|im_end|>",
                                     generation="<|im_start|>assistant\n"),
    "internvl": lambda: chatml({"image": "<IMG_CONTEXT>\n", "video": "<video>\n"}),
    "idefics3": of_trl("idefics3"), "smolvlm": of_trl("smolvlm"),
    # The family has none. Its prompts end with a new line, which the processor writes if the prompt is the last message.
    "paligemma": lambda: turns("", {"image": "<image>"}, "{{ '' if loop.last or message.role == 'assistant' else '\n' }}"),
    "gemma3": of_trl("gemma3"),
    "pixtral": lambda: turns("{{ '[INST]' if message.role == 'user' else '' }}", {"image": "[IMG]"},
                             "{{ '[/INST]' if message.role == 'user' else '</s>' }}", before="<s>"),
    "qwen2_audio": lambda: transformers.Qwen2AudioProcessor.default_chat_template.fget(None),
}


# --- tokenizers -----------------------------------------------------------------------------------------------------

QWEN = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
LLAMA = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
VISION = ["<|im_start|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
GRID = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
SMOL = ["<|im_start|>", "<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>", *GRID]
OMNI = {"image_token": "<|IMAGE|>", "audio_token": "<|AUDIO|>", "video_token": "<|VIDEO|>", "vision_bos_token": "<|vision_bos|>",
        "vision_eos_token": "<|vision_eos|>", "audio_bos_token": "<|audio_bos|>", "audio_eos_token": "<|audio_eos|>"}
INTERN = {"start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>", "video_token": "<video>"}
GEMMA = {"image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"}

# The tokens that begin, end and fill sequences, further special tokens, and those that the processor finds by name.
TOKENS: Dict[str, Tuple[dict, list, dict]] = {
    "qwen2_vl": (QWEN, VISION, {}), "qwen2_5_vl": (QWEN, VISION, {}), "qwen3_vl": (QWEN, VISION, {}),
    "qwen2_5_omni": (QWEN, ["<|im_start|>"], OMNI),
    "llava": (LLAMA, ["<image>"], {}), "llava_next": (LLAMA, ["<image>"], {}),
    "llava_onevision": (QWEN, ["<|im_start|>", "<image>", "<video>"], {}),
    "internvl": (QWEN, ["<|im_start|>"], INTERN),
    "idefics3": ({"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>", "pad_token": "<pad>"}, SMOL[1:], {}),
    "smolvlm": ({"bos_token": "<|im_start|>", "eos_token": "<end_of_utterance>", "pad_token": "<|endoftext|>"}, SMOL[1:], {}),
    "paligemma": ({"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>"}, ["<image>"], {}),
    "gemma3": ({"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>"}, ["<start_of_turn>", "<end_of_turn>"], GEMMA),
    "pixtral": (LLAMA, ["[INST]", "[/INST]", "[IMG]", "[IMG_BREAK]", "[IMG_END]"], {}),
    "qwen2_audio": (QWEN, ["<|im_start|>", "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"], {}),
}


def tokenizer_of(family):
    """Return a byte-level tokenizer with the special tokens of the family."""
    named, special, extra = TOKENS[family]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    all_special = list(dict.fromkeys([*named.values(), *special, *extra.values()]))
    tokenizer.train_from_iterator(TEXT.splitlines(), trainers.BpeTrainer(
        vocab_size=320 + len(all_special), special_tokens=all_special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named, extra_special_tokens=extra or special,
                                                clean_up_tokenization_spaces=False)


# --- processors -----------------------------------------------------------------------------------------------------

GRIDS = {"patch_size": PATCH, "temporal_patch_size": 2, "merge_size": 2, "size": {"shortest_edge": 16 * 16, "longest_edge": 32 * 32}}
VIDEO = {"cap_pixels_per_frame": False}  # the default, without its warning
WHOLE = {**GRIDS, "size": {"shortest_edge": 16 * 16, "longest_edge": 8 * 32 * 32}}  # Qwen3-VL counts the pixels of a whole video
OMNI_PATCH = 28  # the processor of Qwen2.5-Omni makes frames of at least 128 * 28 * 28 pixels, whatever is saved: large patches are few
OMNI_GRIDS = {**GRIDS, "patch_size": OMNI_PATCH, "size": {"shortest_edge": (2 * OMNI_PATCH) ** 2, "longest_edge": (6 * OMNI_PATCH) ** 2}}
SQUARE = {"height": TILE, "width": TILE}
PINPOINTS = [[TILE * rows, TILE * columns] for rows, columns in ((1, 2), (2, 1), (2, 2), (3, 1), (1, 3))]
SPLIT = {"size": {"longest_edge": 3 * TILE}, "max_image_size": {"longest_edge": TILE}}
SOUND = {"feature_size": MELS, "sampling_rate": RATE, "hop_length": 160, "chunk_length": 2, "n_fft": 400}


def whisper():
    return transformers.WhisperFeatureExtractor(**SOUND)


def clip():
    return transformers.CLIPImageProcessor(size={"shortest_edge": TILE}, crop_size=SQUARE)


def qwen_vl(processor, videos, grids=GRIDS, **options):
    return lambda tokenizer, template: processor(
        transformers.Qwen2VLImageProcessor(**GRIDS, **options), tokenizer, videos(**grids, **options, **VIDEO, fps=4),
        chat_template=template)


# The real processors of Qwen3-VL normalize with 0.5.
HALF = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}

PROCESSORS: Dict[str, Callable[[Any, str], Any]] = {
    "qwen2_vl": qwen_vl(transformers.Qwen2VLProcessor, transformers.Qwen2VLVideoProcessor),
    "qwen2_5_vl": qwen_vl(transformers.Qwen2_5_VLProcessor, transformers.Qwen2VLVideoProcessor),
    "qwen3_vl": qwen_vl(transformers.Qwen3VLProcessor, transformers.Qwen3VLVideoProcessor, WHOLE, **HALF),
    "qwen2_5_omni": lambda tokenizer, template: transformers.Qwen2_5OmniProcessor(
        transformers.Qwen2VLImageProcessor(**OMNI_GRIDS), transformers.Qwen2VLVideoProcessor(**OMNI_GRIDS, **VIDEO, fps=2), whisper(),
        tokenizer, chat_template=template),
    "llava": lambda tokenizer, template: transformers.LlavaProcessor(
        clip(), tokenizer, patch_size=PATCH, vision_feature_select_strategy="default", num_additional_image_tokens=1, chat_template=template),
    "llava_next": lambda tokenizer, template: transformers.LlavaNextProcessor(
        transformers.LlavaNextImageProcessor(size={"shortest_edge": TILE}, crop_size=SQUARE, image_grid_pinpoints=PINPOINTS), tokenizer,
        patch_size=PATCH, vision_feature_select_strategy="default", num_additional_image_tokens=1, chat_template=template),
    "llava_onevision": lambda tokenizer, template: transformers.LlavaOnevisionProcessor(
        transformers.LlavaOnevisionImageProcessor(size=SQUARE, image_grid_pinpoints=PINPOINTS), tokenizer,
        transformers.LlavaOnevisionVideoProcessor(size=SQUARE, num_frames=4), num_image_tokens=(TILE // PATCH) ** 2,
        vision_feature_select_strategy="full", vision_aspect_ratio="anyres_max_9", chat_template=template),
    "internvl": lambda tokenizer, template: transformers.InternVLProcessor(
        transformers.GotOcr2ImageProcessor(size=SQUARE, crop_to_patches=True, max_patches=4), tokenizer,
        transformers.InternVLVideoProcessor(size=SQUARE, num_frames=4), image_seq_length=(TILE // PATCH) ** 2 // 4, chat_template=template),
    "idefics3": lambda tokenizer, template: transformers.Idefics3Processor(
        transformers.Idefics3ImageProcessor(**SPLIT), tokenizer, image_seq_len=(TILE // PATCH) ** 2 // 4, chat_template=template),
    "smolvlm": lambda tokenizer, template: transformers.SmolVLMProcessor(
        transformers.SmolVLMImageProcessor(**SPLIT), tokenizer,
        transformers.SmolVLMVideoProcessor(max_image_size={"longest_edge": TILE}, video_sampling={
            "fps": 2, "max_frames": 8, "video_size": {"longest_edge": TILE}}),
        image_seq_len=(TILE // PATCH) ** 2 // 4, chat_template=template),
    "paligemma": lambda tokenizer, template: transformers.PaliGemmaProcessor(
        transformers.SiglipImageProcessor(size=SQUARE, image_seq_length=(TILE // PATCH) ** 2), tokenizer, chat_template=template),
    "gemma3": lambda tokenizer, template: transformers.Gemma3Processor(
        transformers.Gemma3ImageProcessor(size=SQUARE), tokenizer, image_seq_length=4, chat_template=template),
    "pixtral": lambda tokenizer, template: transformers.PixtralProcessor(
        transformers.PixtralImageProcessor(size={"longest_edge": 2 * TILE}, patch_size=PATCH), tokenizer, patch_size=PATCH,
        chat_template=template),
    "qwen2_audio": lambda tokenizer, template: transformers.Qwen2AudioProcessor(whisper(), tokenizer, chat_template=template),
}


# --- models ---------------------------------------------------------------------------------------------------------

BASE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
TOWER = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": TILE, "patch_size": PATCH}
MROPE = {"rope_parameters": {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 1e4}, "max_position_embeddings": 4096}
QWEN_TOWER = {"depth": 2, "num_heads": 4, "hidden_size": 32, "intermediate_size": 64, "patch_size": PATCH, "out_hidden_size": 32}
WINDOWS = {"window_size": 4 * PATCH, "fullatt_block_indexes": [1]}
HEARING = {"d_model": 32, "encoder_layers": 2, "encoder_attention_heads": 4, "encoder_ffn_dim": 64, "num_mel_bins": MELS,
           "max_source_positions": 100}
TEXT_OF = {"llava": "llama", "llava_next": "mistral", "llava_onevision": "qwen2", "internvl": "qwen2", "idefics3": "llama", "smolvlm": "llama",
           "paligemma": "gemma", "pixtral": "mistral", "qwen2_audio": "qwen2"}


class Family(NamedTuple):
    """What a family is made of."""
    config: str    # the configuration's class
    model: str     # the class of the model
    options: dict  # of the configuration; a value that is the text of a special token stands for its id
    kinds: str     # of media that the processor takes


FAMILIES = {
    "qwen2_vl": Family("Qwen2VLConfig", "Qwen2VLForConditionalGeneration", {
        "text_config": MROPE, "vision_config": {"depth": 2, "embed_dim": 32, "num_heads": 4, "hidden_size": 32, "patch_size": PATCH},
        "image_token_id": "<|image_pad|>", "video_token_id": "<|video_pad|>", "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>"}, "image video"),
    "qwen2_5_vl": Family("Qwen2_5_VLConfig", "Qwen2_5_VLForConditionalGeneration", {
        "text_config": MROPE, "vision_config": {**QWEN_TOWER, **WINDOWS},
        "image_token_id": "<|image_pad|>", "video_token_id": "<|video_pad|>", "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>"}, "image video"),
    "qwen3_vl": Family("Qwen3VLConfig", "Qwen3VLForConditionalGeneration", {
        "text_config": {**MROPE, "head_dim": 8}, "vision_config": {**QWEN_TOWER, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]},
        "image_token_id": "<|image_pad|>", "video_token_id": "<|video_pad|>", "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>"}, "image video"),
    "qwen2_5_omni": Family("Qwen2_5OmniThinkerConfig", "Qwen2_5OmniThinkerForConditionalGeneration", {
        "text_config": {**MROPE, "tie_word_embeddings": False},
        "vision_config": {**QWEN_TOWER, **WINDOWS, "patch_size": OMNI_PATCH, "window_size": 4 * OMNI_PATCH},
        "audio_config": {**HEARING, "n_window": 20, "output_dim": 32}, "audio_token_index": "<|AUDIO|>", "image_token_index": "<|IMAGE|>",
        "video_token_index": "<|VIDEO|>", "audio_start_token_id": "<|audio_bos|>", "audio_end_token_id": "<|audio_eos|>",
        "vision_start_token_id": "<|vision_bos|>", "vision_end_token_id": "<|vision_eos|>"}, "image video audio"),
    "llava": Family("LlavaConfig", "LlavaForConditionalGeneration", {
        "vision_config": {"model_type": "clip_vision_model", **TOWER}, "image_token_index": "<image>", "image_seq_length": 16}, "image"),
    "llava_next": Family("LlavaNextConfig", "LlavaNextForConditionalGeneration", {
        "vision_config": {"model_type": "clip_vision_model", **TOWER}, "image_token_index": "<image>", "image_seq_length": 16,
        "image_grid_pinpoints": PINPOINTS}, "image"),
    "llava_onevision": Family("LlavaOnevisionConfig", "LlavaOnevisionForConditionalGeneration", {
        "vision_config": {"model_type": "siglip_vision_model", "vision_use_head": False, **TOWER}, "image_token_index": "<image>",
        "video_token_index": "<video>", "image_grid_pinpoints": PINPOINTS}, "image video"),
    "internvl": Family("InternVLConfig", "InternVLForConditionalGeneration", {
        "vision_config": {**TOWER, "image_size": [TILE, TILE], "patch_size": [PATCH, PATCH]}, "image_token_id": "<IMG_CONTEXT>",
        "image_seq_length": 4, "tie_word_embeddings": False}, "image video"),
    "idefics3": Family("Idefics3Config", "Idefics3ForConditionalGeneration", {
        "vision_config": TOWER, "image_token_id": "<image>"}, "image"),
    "smolvlm": Family("SmolVLMConfig", "SmolVLMForConditionalGeneration", {
        "vision_config": TOWER, "image_token_id": "<image>"}, "image video"),
    "paligemma": Family("PaliGemmaConfig", "PaliGemmaForConditionalGeneration", {
        "text_config": {"head_dim": 8}, "vision_config": {"model_type": "siglip_vision_model", "vision_use_head": False, **TOWER},
        "image_token_index": "<image>", "projection_dim": 32, "hidden_size": 32}, "image"),
    "gemma3": Family("Gemma3Config", "Gemma3ForConditionalGeneration", {
        "text_config": {"head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": WINDOW,
                        "layer_types": ["sliding_attention", "full_attention"]},
        "vision_config": {"vision_use_head": False, **TOWER}, "mm_tokens_per_image": 4, "boi_token_index": "<start_of_image>",
        "eoi_token_index": "<end_of_image>", "image_token_index": "<image_soft_token>"}, "image"),
    "pixtral": Family("LlavaConfig", "LlavaForConditionalGeneration", {
        "text_config": {"head_dim": 8},
        "vision_config": {"model_type": "pixtral", **TOWER, "image_size": 2 * TILE, "head_dim": 8}, "image_token_index": "[IMG]",
        "vision_feature_layer": -1, "vision_feature_select_strategy": "full"}, "image"),
    "qwen2_audio": Family("Qwen2AudioConfig", "Qwen2AudioForConditionalGeneration", {
        "audio_config": HEARING, "audio_token_index": "<|AUDIO|>"}, "audio"),
}


def config_of(family, tokenizer):
    """Return the configuration of the small model for this tokenizer."""
    options = {name: tokenizer.convert_tokens_to_ids(value) if name.endswith(("_id", "_index")) else value
               for name, value in FAMILIES[family].options.items()}
    text = {**BASE, "vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id, **options.get("text_config", {})}
    if family in TEXT_OF:
        text["model_type"] = TEXT_OF[family]
    config = getattr(transformers, FAMILIES[family].config)(**{**options, "text_config": text})
    config.architectures = [FAMILIES[family].model]
    return config


def save(family, folder):
    """Write the folder of a family, from which AutoProcessor loads its processor, and model() the model. Returns the processor."""
    template = TEMPLATES[family]()
    processor = PROCESSORS[family](tokenizer_of(family), template)
    processor.save_pretrained(folder)
    config_of(family, processor.tokenizer).save_pretrained(folder)
    return processor


def model(family, attention, folder: Optional[str] = None):
    """Return the small model, in evaluation mode, with the same weights each time: so large that what leaks is far above rounding."""
    name = FAMILIES[family]
    config = (getattr(transformers, name.config).from_pretrained(folder) if folder
              else config_of(family, PROCESSORS[family](tokenizer_of(family), "").tokenizer))
    torch.manual_seed(0)
    made = getattr(transformers, name.model)._from_config(config, attn_implementation=attention)
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.3)
    return made.eval()


# --- example chats --------------------------------------------------------------------------------------------------

SIZES = {"wide": (20, 45), "tall": (50, 17), "square": (31, 30), "small": (9, 13)}  # (height, width) of the pictures
VIDEOS = {"rain": (FRAMES, 24, 36), "river": (12, 36, 28)}                          # (frames, height, width)
SECONDS = {"short": 0.3, "long": 1.27}                                              # of sound


def smooth(random, *shape):
    """Return a picture, or frames of one that moves, with detail of several scales: U8 [..., height, width, 3]."""
    *frames, height, width = shape
    y, x, t = np.arange(height)[:, None, None], np.arange(width)[:, None], np.arange(frames[0] if frames else 1)[:, None, None, None]
    waves = np.sin(random.uniform(0.1, 0.9, 3) * x + random.uniform(0.1, 0.9, 3) * y + 0.4 * t + random.uniform(0, 6, 3))
    values = np.clip(128 + 90 * waves + random.normal(0, 25, (len(t), height, width, 3)), 0, 255).astype(np.uint8)
    return values if frames else values[0]


def media(folder):
    """Write the example pictures, videos and sounds; return their paths by kind and name."""
    folder, random = pathlib.Path(folder), np.random.default_rng(7)
    paths: Dict[str, Dict[str, str]] = {"image": {}, "video": {}, "audio": {}}
    for name, size in SIZES.items():
        paths["image"][name] = str(folder / f"{name}.png")
        Image.fromarray(smooth(random, *size)).save(paths["image"][name])
    for name, (frames, height, width) in VIDEOS.items():
        paths["video"][name] = str(folder / f"{name}.mp4")
        with av.open(paths["video"][name], "w") as file:
            stream = file.add_stream("mpeg4", rate=FPS)
            stream.height, stream.width, stream.pix_fmt = height, width, "yuv420p"
            for picture in smooth(random, frames, height, width):
                file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
            file.mux(stream.encode())
    for name, seconds in SECONDS.items():
        paths["audio"][name] = str(folder / f"{name}.wav")
        with wave.open(paths["audio"][name], "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(random.normal(0, 5000, int(seconds * RATE)).astype("<i2").tobytes())
    return paths


def user(*parts):
    return {"role": "user", "content": [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]}


def assistant(text):
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def chats(family, paths):
    """Return example chats of a family by name: those of media that its processor takes, and one without media if it takes that."""
    kinds = FAMILIES[family].kinds.split()

    def part(kind, name):
        return {"type": kind, "path": paths[kind][name]}

    result = {}
    if "image" in kinds:
        result["pictures"] = [user(part("image", "square"), part("image", "tall"), "What is in the two pictures?"), assistant("A house.")]
        result["picture"] = [user(part("image", "wide"), "What is in the picture?"), assistant("A small house near the river.")]
        result["tall"] = [user(part("image", "tall"), "And here?"), assistant("Rain.")]
    if "video" in kinds:
        result["video"] = [user(part("video", "rain"), "What does the video show?"), assistant("The house in the rain.")]
        result["videos"] = [user(part("video", "river"), part("video", "rain"), "What do these show?"), assistant("The river, the house.")]
        if family != "smolvlm":  # its processor loses the pixels of pictures beside a video
            result["video and picture"] = [user(part("image", "wide"), part("video", "river"), "Is it the same?"), assistant("No.")]
    if "audio" in kinds:
        result["sounds"] = [user(part("audio", "short"), part("audio", "long"), "What do you hear?"), assistant("The rain, the river.")]
        result["sound"] = [user(part("audio", "long"), "What is it?"), assistant("The river.")]
    if "audio" in kinds and "video" in kinds:
        result["all"] = [user(part("image", "small"), part("audio", "short"), part("video", "rain"), "Do they match?"), assistant("Yes.")]
    if family != "paligemma":  # its processor refuses text alone
        result["text"] = [user("What is the river?"), assistant("A small river near the house.")]
    return result


def process(processor, messages):
    """Return what the processor makes of a chat: tensors by name, with an axis of one chat where the processor has one."""
    videos = any(part["type"] == "video" for message in messages for part in message["content"])
    return processor.apply_chat_template(messages, tokenize=True, return_dict=True, return_tensors="pt",
                                         processor_kwargs={"do_sample_frames": True} if videos else {})


if __name__ == "__main__":
    import multimodal_facts
    multimodal_facts.main(sys.argv[1:] or list(FAMILIES))
