"""Attention masks that separate the sequences of one row, for models that need more than position_ids. Needs only numpy."""
from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Set, Tuple, Union

import numpy as np

from .errors import OptionError

Masks = Union[np.ndarray, Dict[str, Optional[np.ndarray]]]

# Types of layers that take a mask, by their names in Transformers, and the entries of the configuration with their window and
# their chunk, in steps.
ATTENDING = {"full_attention": ("", ""), "indexed_attention": ("", ""), "hybrid": ("", ""), "sliding_attention": ("sliding_window", ""),
             "hybrid_sliding": ("sliding_window", ""), "chunked_attention": ("", "attention_chunk_size")}

# Types of layers that take none. If anything resets states and convolutions, it is seq_idx and cu_seq_lens_q.
OTHERS = frozenset(("linear_attention", "conv", "moe", "sparse", "dense"))

# Models that ignore the window in their configuration.
WITHOUT_WINDOW = frozenset(("moshi",))

# Models, by model_type, in which no mask separates the sequences, and the reason. tests/trainers/test_isolation.py finds them.
COUNTS = "numbers the positions of a row on its own"
STATE = "carries its state from one sequence to the next"
TWO = "takes masks of two axes only"
OWN = "attends by masks of its own"
NOT_BY_MASK = {
    **dict.fromkeys(("bart", "bigbird_pegasus", "blenderbot", "blenderbot-small", "camembert", "cpmant", "data2vec-text", "marian", "mbart",
                     "mvp", "pegasus", "plbart", "roberta", "roberta-prelayernorm", "trocr", "xlm-roberta", "xlm-roberta-xl", "xmod"), COUNTS),
    **dict.fromkeys(("falcon_mamba", "inkling_text", "jamba", "mamba", "mamba2", "minimax", "recurrent_gemma", "rwkv", "xlstm", "zaya"), STATE),
    **dict.fromkeys(("bloom", "openai-gpt", "prophetnet", "reformer", "xlm", "xlnet"), TWO),
    "deepseek_v4": OWN,
}


class Steps(NamedTuple):
    """The steps of a row.

    Parameters
    ----------
    owner : I64 [total]
        The sequence of each step.
    position : I64 [total]
        The position of each step in its sequence, from 0.
    group : I64 [total], optional
        The picture of each step, -1 for none: steps of one picture attend to each other, earlier or later.
    """
    owner: np.ndarray
    position: np.ndarray
    group: Optional[np.ndarray] = None

    def allowed(self, window: int, chunk: int) -> np.ndarray:
        """Return which steps a step attends to: itself, the earlier steps of its sequence, and those of its group.

        Parameters
        ----------
        window, chunk : int
            Attend to the last `window` steps only, and within chunks of `chunk` steps of the sequence. 0 means no such limit.

        Returns
        -------
        BOOL [1, 1, total, total]
            True where the step of the third axis attends to the step of the last one.
        """
        mask = np.tri(len(self.owner), dtype=bool)
        if self.group is not None:
            mask |= (self.group[:, None] == self.group) & (self.group >= 0)
        mask &= self.owner[:, None] == self.owner
        if window:
            mask = np.triu(mask, 1 - window)
        if chunk:
            mask &= self.position[:, None] // chunk == self.position // chunk
        return mask[None, None]


def layers_of(config: Any) -> Set[str]:
    """Return the types of a model's layers; a model without a list of them has one type, with a window if the configuration has one.

    Parameters
    ----------
    config : object or None
        The configuration of the model's text part.

    Raises
    ------
    OptionError
        A type of layer is unknown.
    """
    layers = set(getattr(config, "layer_types", None) or ())
    unknown = sorted(layers - set(ATTENDING) - OTHERS)
    if unknown:
        raise OptionError(f"mask=\"4d\": no mask is known for layers of the type {', '.join(unknown)}; try position_ids alone with "
                          "bload.transformers.check_isolation, or bload.contracts.padded")
    if "hybrid" in layers:
        layers |= {"full_attention", "linear_attention"}  # the two parts of such a layer
    if not layers:
        window = getattr(config, "sliding_window", None) and getattr(config, "model_type", "") not in WITHOUT_WINDOW
        layers = {"sliding_attention" if window else "full_attention"}
    return layers


def attention_of(config: Any) -> str:
    """Return how a model attends: "eager", "sdpa", or "flash" for every implementation that takes the boundaries of sequences.

    Parameters
    ----------
    config : object or None
        The configuration of the model's text part.

    Raises
    ------
    OptionError
        No mask separates the sequences in this model, or its attention takes masks of another form.
    """
    model = getattr(config, "model_type", "")
    if model in NOT_BY_MASK:
        raise OptionError(f"mask=\"4d\" does not separate the sequences in {model}, which {NOT_BY_MASK[model]}: pass each sequence in a "
                          "row of its own, by bload.contracts.padded")
    attention = getattr(config, "_attn_implementation", None) or "eager"
    if "flash" in attention:
        return "flash"
    if attention not in ("eager", "sdpa"):
        raise OptionError(f"mask=\"4d\" is not for attention \"{attention}\": load the model with attn_implementation=\"sdpa\"")
    return str(attention)


def masks_of(steps: Steps, config: Any, limit: int) -> Optional[Masks]:
    """Return the attention_mask of a model for one row of sequences.

    Parameters
    ----------
    steps : Steps
        The steps of the row.
    config : object or None
        The model's config, of Transformers. None stands for eager attention of each step to all earlier steps.
    limit : int
        The most bytes of all masks together.

    Returns
    -------
    None, array [1, 1, total, total], or dict of these
        None with flash attention, which takes the boundaries. BOOL for sdpa. F32 for eager attention, which adds it to the scores: 0, or
        the lowest number where a step does not attend. A dict if the model has several types of layers: a mask for each that attends,
        None for each other one.

    Raises
    ------
    OptionError
        The masks need more than limit bytes, or the model takes no such masks.
    """
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    attention = attention_of(text)
    if attention == "flash":
        return None
    limits: Dict[str, Optional[Tuple[int, int]]] = dict.fromkeys(sorted(layers_of(text)))
    for layer in limits.keys() & ATTENDING.keys():
        window, chunk = (int(getattr(text, entry, None) or 0) if entry else 0 for entry in ATTENDING[layer])
        limits[layer] = (window, chunk)
    kinds = set(filter(None, limits.values()))
    need = len(steps.owner) ** 2 * len(kinds) * (1 if attention == "sdpa" else 4)
    if need > limit:
        raise OptionError(f"mask=\"4d\": masks for {len(steps.owner)} steps and {len(kinds)} kinds of layers need {need} bytes with {attention} "
                          f"attention, more than max_mask_bytes, {limit}: use fewer blocks per batch, or flash attention")
    made: Dict[Optional[Tuple[int, int]], Optional[np.ndarray]] = {None: None}
    for kind in kinds:
        mask = steps.allowed(*kind)
        made[kind] = mask if attention == "sdpa" else np.where(mask, np.float32(0), np.finfo(np.float32).min)
    masks = {layer: made[kind] for layer, kind in limits.items()}
    return masks if len(masks) > 1 else next(iter(masks.values()))
