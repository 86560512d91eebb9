"""Tiny models of every architecture of transformers, any version: configurations made small, inputs made to fit.

A recording must have the structure of the real model. So sizes are divided by one factor, which keeps every ratio a
constructor may rely on (heads, stages, groups), instead of being set to some small number; only counts of layers, words
and experts are set. Stages keep their different widths, every list keeps two members, three where kinds alternate, and
keys have fewer heads than queries wherever a configuration has a word for it.
"""
from __future__ import annotations

import copy
import importlib
import inspect
import re
from typing import Any, Callable, Dict, Iterator, List, Tuple

import torch
from torch import Tensor, nn

from catalogue_dump import GIVEN, composite, modelling_modules, nested
from zoo import Example, distinct, ids, noise

WORDS, BATCH, LENGTH = 128, 2, 12
LARGEST = 80_000_000
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


# ---------------------------------------------------------------- configurations
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


# ---------------------------------------------------------------- inputs
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


# ---------------------------------------------------------------- models
def flat(value: Any) -> List[Tensor]:
    """The tensors of an output, in order; caches are left out."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = [v for k, v in value.items() if "past_key" not in k and "hidden_states" not in k and "attentions" not in k]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in flat(v)]
    return []


def only_tensors(model: nn.Module, names: List[str]) -> None:
    """Gives the model a forward that takes the named inputs and returns a plain tuple; no module is wrapped."""
    forward = model.forward

    def narrow(*values: Tensor, **named: Tensor) -> Tuple[Tensor, ...]:
        return tuple(flat(forward(**dict(zip(names, values)), **named)))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    narrow.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    model.forward = narrow


def built(cls: Any, config: Any, attention: str, experts: str = "batched_mm") -> nn.Module:
    for part in nested(config):
        try:
            part._attn_implementation = attention
            part._experts_implementation = experts          # not grouped_mm, which TorchScript cannot export
        except Exception:
            pass
    torch.manual_seed(0)
    try:
        with torch.device("meta"):
            size = sum(p.numel() for p in cls(copy.deepcopy(config)).parameters())
    except Exception:
        size = 0
    if size > LARGEST:
        raise ValueError(f"{size} parameters are too many")
    try:
        model = cls._from_config(config, attn_implementation=attention)
    except Exception:
        model = cls(config)
    model.eval().float()
    return distinct(model)


def example(cls: Any, attention: str = "eager", plain: bool = False, settings: Dict[str, Any] = {}) -> Example:
    """A model that runs on its inputs, ready to be exported."""
    errors: List[BaseException] = []
    for config in small_configurations(cls, settings):
        try:
            model = built(cls, config, attention, settings.get("experts", "batched_mm"))
        except Exception as error:
            errors.append(error)
            continue
        for inputs in input_sets(model, config, plain):
            try:
                with torch.no_grad():
                    out = flat(model(**inputs))
                if not out:
                    raise ValueError("no tensor comes out")
            except Exception as error:
                errors.append(error)
                continue
            only_tensors(model, list(inputs))
            return Example(model, inputs, [], axes_for(inputs))
    raise errors[0] if errors else ValueError("no inputs known")


def leave_out_packing() -> None:
    """TorchScript has no symbol for the search for packed sequences, so no file of that exporter holds it."""
    try:
        from transformers import masking_utils
        masking_utils.find_packed_sequence_indices = lambda *_: None
    except Exception:
        pass


# ---------------------------------------------------------------- what there is
HEADS = ["ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForMaskedLM", "WithLMHeadModel", "MTModel",
         "ForImageClassification", "ForObjectDetection", "ForUniversalSegmentation", "ForInstanceSegmentation",
         "ForSemanticSegmentation", "ForDepthEstimation", "ForCTC", "ForAudioClassification", "ForVideoClassification",
         "ForSpeechToText", "ForPreTraining", "ForPrediction", "ForKeypointDetection", "ForQuestionAnswering",
         "ForSequenceClassification", "ForImageSuperResolution", "ForTokenClassification", "DoubleHeadsModel", "Model"]


def classes_by_family(wanted: Callable[[str], bool]) -> Dict[str, List[Any]]:
    """Model classes of the wanted families' modelling files, of those that can be imported."""
    import transformers
    from transformers import PreTrainedModel
    from transformers.models.auto import modeling_auto
    public = set()
    for name in dir(modeling_auto):
        if name.startswith("MODEL_") and name.endswith("_NAMES"):
            for classes in getattr(modeling_auto, name).values():
                public.update([classes] if isinstance(classes, str) else classes)
    found: Dict[str, List[Any]] = {}
    for name in modelling_modules(transformers.__file__):
        family = name.split(".")[3 if ".deprecated." in name else 2]
        if not wanted(family):
            continue
        try:
            module = importlib.import_module(name)
        except Exception:
            continue
        for key, cls in sorted(vars(module).items()):
            if (isinstance(cls, type) and issubclass(cls, PreTrainedModel) and cls.__module__ == name
                    and "PreTrained" not in key and "Pretrained" not in key
                    and getattr(cls, "config_class", None) is not None):
                cls.public_in_auto = key in public
                found.setdefault(family, []).append(cls)
    return found


# Structures that published models have and default configurations do not: (name, settings) by class.
UNGROUPED = [("ungrouped", dict(ungrouped=True))]
RELATIVE = dict(relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False, max_relative_positions=-1)
STABLE = [("stable", dict(do_stable_layer_norm=True, feat_extract_norm="layer", conv_bias=True))]
VARIANTS: Dict[str, List[Tuple[str, Dict[str, Any]]]] = {
    "T5ForConditionalGeneration": [("gated", dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False))],
    "T5EncoderModel": [("gated", dict(feed_forward_proj="gated-gelu"))],
    "AlbertForMaskedLM": [("one_group", dict(num_hidden_groups=1))],
    "AlbertModel": [("one_group", dict(num_hidden_groups=1))],
    "ResNetForImageClassification": [("basic", dict(layer_type="basic", hidden_sizes=[64, 128, 256, 512]))],
    "ResNetModel": [("basic", dict(layer_type="basic", hidden_sizes=[64, 128, 256, 512]))],
    "OPTForCausalLM": [("projected", dict(word_embed_proj_dim=512, hidden_size=1024, do_layer_norm_before=False))],
    "GPTNeoXForCausalLM": [("sequential", dict(use_parallel_residual=False))],
    "GPTNeoForCausalLM": [("two_kinds", dict(num_layers=2, attention_types=[[["global", "local"], 1]]))],
    "FalconForCausalLM": [("alibi", dict(alibi=True)), ("new", dict(new_decoder_architecture=True, num_kv_heads=8))],
    "Wav2Vec2ForCTC": STABLE, "HubertForCTC": STABLE, "WavLMForCTC": STABLE,
    "DebertaV2ForMaskedLM": [("v3", dict(**RELATIVE, position_buckets=16, norm_rel_ebd="layer_norm", share_att_key=True))],
    "DebertaV2Model": [("v3", dict(**RELATIVE, position_buckets=16, norm_rel_ebd="layer_norm", share_att_key=True)),
                       ("conv", dict(**RELATIVE, position_buckets=16, norm_rel_ebd="layer_norm", conv_kernel_size=3))],
    "DebertaForMaskedLM": [("relative", RELATIVE)], "DebertaModel": [("relative", RELATIVE)],
    "BeitForImageClassification": [("relative", dict(use_relative_position_bias=True)),
                                   ("shared", dict(use_shared_relative_position_bias=True))],
    "Data2VecVisionForImageClassification": [("relative", dict(use_relative_position_bias=True))],
    "Dinov2Model": [("swiglu", dict(use_swiglu_ffn=True))],
    "ElectraForMaskedLM": [("base", dict(embedding_size=256, hidden_size=256))],
    "ElectraModel": [("base", dict(embedding_size=256, hidden_size=256))],
    "BertForSequenceClassification": [("relu", dict(hidden_act="relu")), ("gelu_new", dict(hidden_act="gelu_new"))],
    **{f"{word}ForCausalLM": UNGROUPED for word in (
        "Llama", "Mistral", "Qwen2", "Qwen3", "Gemma", "Gemma2", "Phi", "Phi3", "StableLm", "Olmo", "Olmo2", "Cohere",
        "Granite", "Starcoder2")},
    "LlamaModel": UNGROUPED,
    **{f"{word}ForCausalLM": [("one_by_one", dict(experts="eager"))] for word in (
        "Mixtral", "Qwen3Moe", "Qwen2Moe", "Olmoe", "DeepseekV3", "GptOss", "PhiMoe", "GraniteMoe")},
    **{f"{word}ForObjectDetection": [("own_backbone", dict(
        use_timm_backbone=False, backbone=None, backbone_config={"model_type": "resnet", "out_features": ["stage4"]}))]
       for word in ("Detr", "TableTransformer")},
}


def head_rank(cls: Any) -> Tuple[int, int, str]:
    name = cls.__name__
    rank = next((i for i, head in enumerate(HEADS) if name.endswith(head)), len(HEADS))
    return (0 if cls.public_in_auto else 1, rank, name)


def main_heads(classes: List[Any]) -> List[Any]:
    """The head a family is known for; of decoders, encoders and pairs of both one each."""
    ranked = [c for c in sorted(classes, key=head_rank) if c.public_in_auto or is_base(c)]
    chosen = ranked[:1]
    for ends in (("ForConditionalGeneration", "MTModel"), ("ForMaskedLM",), ("ForSemanticSegmentation",),
                 ("ForObjectDetection",)):
        chosen += [c for c in ranked if c.__name__.endswith(ends) and c not in chosen][:1]
    return chosen


def is_base(cls: Any) -> bool:
    return cls.__name__.endswith("Model") and not re.search("LMHead|DoubleHeads|MTModel", cls.__name__)
