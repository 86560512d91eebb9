"""Configurations of transformers made small, any version of it.

A recording must have the structure of the real model. So sizes are divided by one factor, which keeps every ratio a
constructor may rely on (heads, stages, groups), instead of being set to some small number; only counts of layers, words
and experts are set. Stages keep their different widths, every list keeps two members, three where kinds alternate, and
keys have fewer heads than queries wherever a configuration has a word for it.
"""
from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List

from catalogue.catalogue_configs import GIVEN, composite, nested

WORDS = 128
LAYERS = re.compile(r"^((num|n)_)?(\w+_)?(layers?|depth)$|^num_blocks$|^depth$")
NOT_LAYERS = re.compile(r"feat_extract|drop|shared|dense_layers|norm|mtp|nextn|window_layers|skip|moe_layer|^layer$")
STAGES = re.compile(r"depths$|^layers$|num_blocks|block_repeats|num_layers|stage_blocks|layer_depths|num_encoder_blocks_list")
WIDTHS = re.compile(r"(hidden|embed|dim|dims|size|sizes|channels|channel|width|widths|intermediate|ffn|inner|d_model|d_ff|"
                    r"d_kv|d_latents|latent|proj|rank|features|filters|^n_embd|^d_)")
NOT_WIDTHS = re.compile(r"vocab|patch|image_size|kernel|stride|window|^num_(?!channels$)|^n_(?!embd)|max_|position|chunk|"
                        r"block_size|bucket|group|sampl|rate|token|mel|bins|length|ratio|layers|heads|level|scale|quer|"
                        r"class|label|_id$|_ids$|dilation|tile|pool|expan|crop|merge|memory|cache|batch|^type|"
                        r"num_channels|^in_channels|^in_chans|^image|spectrogram|multiple|frame|divis|state_size|"
                        r"downsample|temporal|_act|sem_seg|conv_bias|codebook_size|mask_feature|audio_channels")
COUNTS = {"num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "moe_num_experts": 4, "num_experts_per_tok": 2,
          "moe_topk": 2, "n_group": 2, "topk_group": 1, "max_source_positions": 60, "attention_window": 8,
          "num_nextn_predict_layers": 0, "first_k_dense_replace": 1, "num_dense_layers": 1, "moe_k": 2,
          "sliding_window": 8, "num_hidden_groups": 2, "num_kv_shared_layers": 0, "lm_head_multiple": 1}


def factor_of(config: Any) -> int:
    """The power of two that leaves every head eight numbers, and every stage eight channels; a head of which only a
    part is turned needs more."""
    best = 64
    for part in nested(config):
        rope = getattr(part, "rope_parameters", None) or {}
        partial = any(isinstance(v, float) and v < 1 for v in (
            getattr(part, "rotary_pct", None), getattr(part, "partial_rotary_factor", None),
            rope.get("partial_rotary_factor") if isinstance(rope, dict) else None))
        least = 32 if partial else 8
        hidden = next((getattr(part, k) for k in ("hidden_size", "d_model", "n_embd", "embed_dim", "dim", "embed_dims",
                                                  "hidden_sizes", "d_embed", "emb_dim")
                       if isinstance(getattr(part, k, None), (int, list, tuple))), None)
        heads = next((getattr(part, k) for k in ("num_attention_heads", "n_head", "n_heads", "num_heads",
                                                 "encoder_attention_heads", "attention_heads")
                      if isinstance(getattr(part, k, None), (int, list, tuple))), None)
        if isinstance(heads, (list, tuple)) and isinstance(getattr(part, "embed_dim", None), int):
            hidden = part.embed_dim                         # of the first stage
        if isinstance(hidden, (list, tuple)):
            hidden = min([h for h in hidden if isinstance(h, int)] or [64])
            heads = 1 if not isinstance(heads, (list, tuple)) else min(heads)
        if isinstance(heads, (list, tuple)):
            heads = heads[0] if heads and isinstance(heads[0], int) else 1
        size = getattr(part, "head_dim", None) or (hidden // heads if hidden and heads else hidden)
        if isinstance(size, int):
            while best > 1 and (size // best < least or (hidden and hidden % best)):
                best //= 2
    return best


def kinds_of(config: Any) -> List[str]:
    """Layer kinds, each once, in order."""
    kinds = getattr(config, "layer_types", None) or getattr(config, "block_types", None) or []
    return list(dict.fromkeys(kinds)) if isinstance(kinds, (list, tuple)) else []


def settings_of(config: Any, factor: int, many: bool, grouped: bool) -> Dict[str, Any]:
    """What to give the configuration class in place of its defaults."""
    made: Dict[str, Any] = {}
    values = {k: v for k, v in vars(config).items() if not k.startswith("_")}
    if isinstance(getattr(config, "out_indices", None), (list, tuple)):
        values["out_indices"] = list(config.out_indices)
    outs = any(isinstance(values.get(k), (list, tuple)) and len(values[k]) > 1
               for k in ("out_indices", "backbone_out_indices", "out_features"))
    layers = 4 if outs else 3 if many else 2
    for key, value in values.items():
        number = isinstance(value, int) and not isinstance(value, bool)
        listed = isinstance(value, (list, tuple)) and value and all(
            isinstance(v, int) and not isinstance(v, bool) for v in value)
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            made[key] = value
        elif key in COUNTS and number:
            made[key] = min(COUNTS[key], value) if value > 0 else value
        elif key in COUNTS and listed:
            made[key] = [COUNTS[key]] * layers
        elif number and LAYERS.search(key) and not NOT_LAYERS.search(key):
            made[key] = min(value, layers) if value > 0 else value
        elif listed and STAGES.search(key):
            made[key] = [min(v, 2) for v in value]
        elif number and key.endswith("vocab_size") and value > WORDS:
            made[key] = WORDS
        elif number and key == "n_words":
            made[key] = WORDS
        elif number and WIDTHS.search(key) and not NOT_WIDTHS.search(key) and value >= 2 * factor:
            made[key] = value // factor
        elif listed and WIDTHS.search(key) and not NOT_WIDTHS.search(key) and min(value) >= 2 * factor:
            made[key] = [v // factor for v in value]
        elif key == "image_size" and number and value > 256:
            made[key] = 256 if value % 32 == 0 else 14 * 16
        elif key == "out_indices" and listed and "num_hidden_layers" in values:
            made[key] = list(range(1, layers + 1))[-len(value):]
        elif key == "out_indices" and listed:
            made[key] = list(value)                         # of stages: these stay
        elif key == "backbone_out_indices" and listed:
            made[key] = list(range(layers))[-len(value):]
    for key in ("rope_scaling", "rope_parameters"):
        rope = values.get(key)
        if isinstance(rope, dict) and rope.get("mrope_section"):
            sections = [max(1, s // factor) for s in rope["mrope_section"]]
            sections[-1] += sum(rope["mrope_section"]) // factor - sum(sections)
            made[key] = {**rope, "mrope_section": sections}
    for key in ("num_key_value_heads", "num_kv_heads"):
        heads = values.get("num_attention_heads")
        if grouped and key in values and isinstance(heads, int) and heads % 2 == 0 and values[key] in (None, heads):
            made[key] = heads // 2
    return made


def fix_tokens(config: Any) -> None:
    """Special tokens must be words of the small vocabulary, each another one."""
    parts = nested(config)
    used = WORDS - 1
    for part in parts:
        for key, value in list(vars(part).items()):
            if isinstance(value, int) and not isinstance(value, bool) and value >= WORDS and re.search(
                    r"_token_(id|index)$|_id$", key):
                used -= 1
                try:
                    setattr(part, key, used)
                except Exception:
                    pass
        if hasattr(part, "use_cache"):
            part.use_cache = False
        for key, value in (("pad_token_id", 0), ("prediction_length", 24)):
            if hasattr(part, key) and getattr(part, key) is None:
                try:
                    setattr(part, key, value)
                except Exception:
                    pass


def rebuilt(config: Any, factor: int, grouped: bool, settings: Dict[str, Any]) -> Any:
    kinds = kinds_of(config)
    made = settings_of(config, factor, len(kinds) > 1, grouped)
    for key, value in made.items():
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            made[key] = rebuilt(value, factor, grouped, {})
    cls = type(config)
    given = {**GIVEN.get(cls.__name__, {}), **settings, **made}
    if len(kinds) > 1:
        given["layer_types"] = (kinds + kinds[:1])[:max(3, len(kinds))]
        given.setdefault("num_hidden_layers", len(given["layer_types"]))
        given["num_hidden_layers"] = len(given["layer_types"])
    parts = {k: v for k, v in given.items() if hasattr(v, "to_dict")}
    try:
        new = cls(**{**given, **{k: v.to_dict() for k, v in parts.items()}})
    except Exception:
        new = cls(**GIVEN.get(cls.__name__, {}))
        for key, value in given.items():
            try:
                setattr(new, key, value)
            except Exception:
                pass
    if hasattr(config, "use_pretrained_backbone"):
        new.use_pretrained_backbone = False
    return new


def small_configurations(cls: Any, settings: Dict[str, Any]) -> Iterator[Any]:
    """The smallest first; what follows is for constructors that want something larger."""
    settings = dict(settings)
    ungrouped = settings.pop("ungrouped", False)
    settings.pop("experts", None)
    config = composite(cls)
    if config is None:
        config = cls.config_class(**{**GIVEN.get(cls.config_class.__name__, {}), **settings})
    factor = factor_of(config)
    tried = []
    for f, grouped in ((factor, True), (factor, False), (max(1, factor // 4), False), (1, False)):
        if (f, grouped) not in tried and not (grouped and ungrouped):
            tried.append((f, grouped))
            new = rebuilt(config, f, grouped, settings)
            fix_tokens(new)
            yield new
