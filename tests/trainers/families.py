"""Small random models of every family of causal language models that Transformers has."""
import functools

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CLASSES

VOCABULARY, LARGEST = 128, 1e8  # LARGEST: parameters

WIDTHS = {32: "hidden_size d_model n_embd n_embed dim embed_dim emb_dim word_embed_proj_dim embedding_size moe_intermediate_size "
              "shared_expert_intermediate_size shared_experts_intermediate_size expert_ffn_hidden_size",
          64: "intermediate_size ffn_dim decoder_ffn_dim encoder_ffn_dim d_inner n_inner ffn_hidden_size d_ff dim_ff feed_forward_size dff",
          4: "num_hidden_layers n_layer n_layers num_layers decoder_layers num_decoder_layers num_attention_heads n_head n_heads num_heads "
             "decoder_attention_heads encoder_attention_heads num_encoder_attention_heads num_decoder_attention_heads num_key_value_heads "
             "rotary_dim num_experts moe_num_experts num_local_experts n_routed_experts zero_expert_num linear_num_heads",
          1: "encoder_layers num_encoder_layers n_group num_expert_group topk_group bos_token_id",
          2: "num_experts_per_tok num_experts_per_token moe_k moe_topk eos_token_id",
          8: "sliding_window window_size head_dim global_head_dim qk_rope_head_dim qk_nope_head_dim v_head_dim linear_head_dim",
          16: "q_lora_rank kv_lora_rank",
          0: "pad_token_id", 0.5: "initializer_range init_std", 256: "max_position_embeddings n_positions",
          VOCABULARY: "vocab_size vocab_size_per_layer_input"}
SMALL = {name: value for value, names in WIDTHS.items() for name in names.split()}

MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_n_groups": 1, "mamba_chunk_size": 8}
SLIDING = {"layer_types": ["sliding_attention", "full_attention"] * 2}
ROPE = {name: {"rope_type": "default", "rope_theta": 1e4} for name in SLIDING["layer_types"]}
OWN = {
    "bailing_hybrid": {"layer_group_size": 2},
    "bamba": MAMBA, "granitemoehybrid": MAMBA,
    "cohere_compass_text": {**SLIDING, "rope_parameters": ROPE},
    "dots3_note_text": {"index_head_dim": 16},
    "dots1": {"n_shared_experts": 1, "norm_topk_prob": True, "routed_scaling_factor": 1.0},
    "falcon_h1": {"mamba_d_ssm": 64, **MAMBA},
    "gemma3n_text": {**SLIDING, "num_kv_shared_layers": 0, "hidden_size_per_layer_input": 8, "activation_sparsity_pattern": [0.0] * 4},
    "gemma4_text": {"hidden_size_per_layer_input": 8},
    "gpt_neo": {"attention_types": [[["global", "local"], 2]]},
    "hrm_text": {"initializer_range": 0.1},  # its loops make large weights chaotic
    "lfm2": {"layer_types": ["conv", "full_attention"] * 2}, "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 2},
    "mamba2": {"num_heads": 8, "head_dim": 8, "n_groups": 1, "state_size": 8, "chunk_size": 8},
    "mimo_v2_flash": {"head_dim": 16, "num_attention_heads": 8},
    "modernbert-decoder": {"global_attn_every_n_layers": 2},
    "reformer": {"axial_pos_embds": False},
    "xlm": {"causal": True, "n_langs": 1},
    "zamba": {"layers_block_type": ["mamba", "hybrid"] * 2},
    "zamba2": {"layer_types": ["linear_attention", "hybrid"] * 2, "layers_block_type": ["mamba", "hybrid"] * 2, "mamba_headdim": 8,
               "attention_head_dim": 16, "attention_hidden_size": 64, "num_query_groups": 4, "mamba_d_state": 8, "chunk_size": 8},
    "zaya": {"num_experts_per_tok": 1},
}


class NotMade(Exception):
    """There is no such small model; the reason."""


def config_of(family):
    config = CONFIG_MAPPING[family]
    sizes = {name: SMALL[name] for name in config().to_dict() if name in SMALL}
    config = config(**{**sizes, **OWN.get(family, {})})
    config.is_decoder = True
    return config


@functools.lru_cache(None)
def size_of(family):
    """The parameters of a model of the family. NotMade: the configuration is not consistent, or the model too large for a test."""
    try:
        with torch.device("meta"):
            model = getattr(transformers, CLASSES[family])(config_of(family))
    except Exception as error:
        raise NotMade(f"{type(error).__name__}: {error}".split("\n")[0]) from error
    return sum(parameter.numel() for parameter in model.parameters())


def made(family, attention):
    """A model of the family, in evaluation mode. NotMade: there is none, or none with this attention."""
    if size_of(family) > LARGEST:
        raise NotMade(f"{size_of(family):.1e} parameters")
    torch.manual_seed(0)
    try:
        model = getattr(transformers, CLASSES[family])._from_config(config_of(family), attn_implementation=attention)
    except ValueError as error:
        raise NotMade(str(error).split("\n")[0]) from error
    if family == "xmod":
        model.set_default_language("en_XX")
    return model.eval()
