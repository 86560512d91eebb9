"""Which models of transformers the recipe book records: heads of every family, and structures that defaults lack."""
from __future__ import annotations

import importlib
import re
from typing import Any, Callable, Dict, List, Tuple

from catalogue.catalogue_configs import modelling_modules


HEADS = ["ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForMaskedLM", "WithLMHeadModel", "MTModel",
         "ForImageClassification", "ForObjectDetection", "ForUniversalSegmentation", "ForInstanceSegmentation",
         "ForSemanticSegmentation", "ForDepthEstimation", "ForCTC", "ForAudioClassification", "ForVideoClassification",
         "ForSpeechToText", "ForPreTraining", "ForPrediction", "ForKeypointDetection", "ForQuestionAnswering",
         "ForSequenceClassification", "ForTextRecognition", "ForTableRecognition", "ForImageSuperResolution", "ForTokenClassification", "DoubleHeadsModel", "Model"]


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


def base_models(classes: List[Any]) -> List[Any]:
    main = main_heads(classes)
    return [c for c in sorted(classes, key=head_rank) if is_base(c) and c not in main]


def other_heads(classes: List[Any]) -> List[Any]:
    main = main_heads(classes)
    return [c for c in sorted(classes, key=head_rank) if not is_base(c) and c not in main]
