"""Inputs that fit a small model of transformers, and which of their axes vary."""
from __future__ import annotations

import inspect
import re
from typing import Any, Dict, Iterator, Tuple

import torch
from torch import Tensor, nn

from catalogue.catalogue_configs import nested
from models.small_configs import WORDS
from models.zoo import ids, noise

BATCH, LENGTH = 2, 12


def first_of(config: Any, *keys: str, default: Any = None) -> Any:
    for part in nested(config):
        for key in keys:
            value = getattr(part, key, None)
            if isinstance(value, (list, tuple)) and value:
                value = value[0]
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return default


def vision_part(config: Any) -> Any:
    return next((getattr(config, k) for k in ("vision_config", "backbone_config", "encoder", "vision_backbone_config")
                 if hasattr(getattr(config, k, None), "to_dict")), config)


def picture(config: Any) -> Tuple[int, int, int]:
    part = vision_part(config)
    size = getattr(part, "image_size", None) or getattr(config, "image_size", None) or 224
    height, width = (size[0], size[1]) if isinstance(size, (list, tuple)) else (size, size)
    if isinstance(size, dict):
        height, width = size.get("height", 224), size.get("width", 224)
    return first_of(part, "num_channels", "in_channels", "in_chans", default=3), min(height, 512), min(width, 512)


def tensor_for(name: str, config: Any, cls_name: str) -> "Tensor | None":
    channels, height, width = picture(config)
    hidden = first_of(config, "hidden_size", "d_model", "n_embd", "embed_dim", "dim", default=32)
    mels = first_of(config, "num_mel_bins", "input_feat_per_channel", "n_mels", "feature_size", default=80)
    if name in ("input_ids", "decoder_input_ids", "input", "txt_ids"):
        words = min(WORDS // 2, first_of(config, "vocab_size", default=WORDS))
        return ids(BATCH, LENGTH if name != "decoder_input_ids" else LENGTH - 2, high=words)
    if name in ("attention_mask", "pixel_attention_mask", "decoder_attention_mask"):
        return torch.ones(BATCH, LENGTH, dtype=torch.int64)
    if name == "token_type_ids":
        return torch.zeros(BATCH, LENGTH, dtype=torch.int64)
    if name == "bbox":
        return torch.ones(BATCH, LENGTH, 4, dtype=torch.int64)
    if name == "pixel_values" and re.search("Video|Vivit|Timesformer|VJEPA", cls_name):
        return noise(1, first_of(config, "num_frames", "frames_per_clip", default=2), channels, height, width)
    if name in ("pixel_values", "images", "pixel_values_images"):
        return noise(BATCH, channels, height, width)
    if name in ("pixel_values_videos", "video"):
        frames = first_of(config, "num_frames", "frames_per_clip", default=2)
        return noise(1, frames, channels, height, width)
    if name in ("input_features", "audio_features"):
        if re.search("Whisper|Qwen2Audio|Clap|Voxtral|GraniteSpeech", cls_name):
            if "Clap" in cls_name:
                return noise(BATCH, 1, 1001, 64)
            return noise(BATCH, mels, 2 * first_of(config, "max_source_positions", default=60))
        return noise(BATCH, 64, mels)
    if name == "input_values":
        if re.search("AST|Audio.?Spectrogram", cls_name):
            return noise(BATCH, getattr(config, "max_length", 1024), mels)
        if re.search("Encodec|Dac|Mimi|XCodec|Snac", cls_name):
            return noise(BATCH, 1, 3200)
        return noise(BATCH, 16000 if "Moonshine" in cls_name else 4000)
    if name in ("hidden_states", "inputs_embeds", "encoder_hidden_states"):
        return noise(BATCH, LENGTH, hidden)
    if name == "visual_feats":
        return noise(BATCH, 5, first_of(config, "visual_feat_dim", default=2048))
    if name == "visual_pos":
        return noise(BATCH, 5, 4)
    if name == "past_values":
        return noise(BATCH, first_of(config, "context_length", "prediction_length", default=24) + 7)
    return None


OPTIONAL = {"input_ids", "attention_mask", "token_type_ids", "decoder_input_ids", "bbox", "pixel_values", "input_features",
            "input_values", "visual_feats", "visual_pos"}


def input_sets(model: nn.Module, config: Any, plain: bool) -> Iterator[Dict[str, Tensor]]:
    """Sets of inputs to try in turn: all that a user would give, then fewer."""
    parameters = inspect.signature(model.forward).parameters
    name = type(model).__name__
    needed = [k for k, p in parameters.items() if p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD]
    known = {}
    for key in parameters:
        tensor = tensor_for(key, config, name)
        if tensor is not None:
            known[key] = tensor
    wants_decoder = getattr(config, "is_encoder_decoder", False) or "decoder_input_ids" in needed
    every = [k for k in parameters if k in known and (k in needed or k in OPTIONAL)]
    if not wants_decoder or name.endswith(("Encoder", "EncoderModel")):
        every = [k for k in every if k != "decoder_input_ids"]
    if "token_type_ids" in every and (plain or not first_of(config, "type_vocab_size")):
        every.remove("token_type_ids")
    main = getattr(model, "main_input_name", "input_ids")
    if main not in every and main in known:
        every.append(main)
    if "input_ids" not in every:
        every = [k for k in every if k != "attention_mask" or k in needed]
    lists = [every]
    lists.append([k for k in every if k != "attention_mask"])
    lists.append([k for k in every if k not in ("pixel_values", "input_features", "input_values")])
    lists.append([k for k in every if k not in ("input_ids", "attention_mask", "token_type_ids", "decoder_input_ids")])
    lists.append([main] + [k for k in needed if k != main and k in known])
    lists.append([k for k in needed if k in known])
    lists.append(["inputs_embeds"] if "inputs_embeds" in known else [])
    seen = []
    for one in lists:
        if one and all(k in known for k in one) and one not in seen:
            seen.append(one)
            yield {k: known[k] for k in parameters if k in one}


def axes_for(inputs: Dict[str, Tensor]) -> Dict[str, Dict[int, str]]:
    axes: Dict[str, Dict[int, str]] = {}
    for key, tensor in inputs.items():
        axes[key] = {0: "batch"}
        if re.search("ids|mask|bbox|embeds|hidden_states", key):
            axes[key][1] = "decoder_sequence" if key.startswith("decoder") else "sequence"
        elif key == "input_values" and tensor.dim() == 2:
            axes[key][1] = "length"
    return axes
