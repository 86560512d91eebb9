"""Configurations of transformers from which models can be built, and the modelling files of a version."""
from __future__ import annotations

import contextlib
import pathlib
import re
import sys
from typing import Any, Dict, Iterator, List

EXPERTS = 8


def nested(config: Any) -> List[Any]:
    """A configuration, then those inside it (text_config, vision_config, ...)."""
    found = [config]
    for value in list(vars(config).values()):
        if hasattr(value, "to_dict") and hasattr(value, "model_type") and value is not config:
            found += nested(value)
    return found


# What a configuration must be given, where its defaults do not make a model.
GIVEN: Dict[str, Dict[str, Any]] = {
    "AutoformerConfig": dict(prediction_length=24), "InformerConfig": dict(prediction_length=24),
    "TimeSeriesTransformerConfig": dict(prediction_length=24), "TimmBackboneConfig": dict(backbone="resnet18"),
    "ViltConfig": dict(num_images=2), "BeitConfig": dict(out_indices=[3, 5, 7, 11]),
    "Data2VecVisionConfig": dict(out_indices=[3, 5, 7, 11]), "ChameleonConfig": dict(vocabulary_map={"<image>": 1}),
    "Emu3Config": dict(vocabulary_map={"<image>": 1}), "PerceiverConfig": dict(num_cross_attention_heads=1),
    "Lfm2MoeConfig": dict(layer_types=["conv", "full_attention"] * 16)}


def fill_gaps(config: Any) -> None:
    """Values that configurations leave open, switches that would ask for weights, and fewer of many equal experts."""
    for part in nested(config):
        for key, value in (("use_pretrained_backbone", False), ("prediction_length", 24), ("vocab_size", 33),
                           ("pad_token_id", 0)):
            if hasattr(part, key) and (getattr(part, key) is None or getattr(part, key) is True):
                with contextlib.suppress(Exception):
                    setattr(part, key, value)
        for key in ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"):
            value = getattr(part, key, None)
            if isinstance(value, int) and not isinstance(value, bool) and value > EXPERTS:
                with contextlib.suppress(Exception):
                    setattr(part, key, EXPERTS)


def repair(config: Any) -> None:
    """Second try: values that only a published configuration has."""
    for part in nested(config):
        heads, hidden = getattr(part, "num_attention_heads", None), getattr(part, "hidden_size", None)
        values: Dict[str, Any] = {"n_routed_experts": EXPERTS}
        if isinstance(heads, int):
            values["num_key_value_heads"] = heads
            if isinstance(hidden, int):
                values["head_dim"] = hidden // heads
        for key, value in values.items():
            if getattr(part, key, None) is None:
                with contextlib.suppress(Exception):
                    setattr(part, key, value)
        for key, value in list(vars(part).items()):
            if isinstance(value, tuple):
                with contextlib.suppress(Exception):
                    setattr(part, key, list(value))
        with contextlib.suppress(Exception):
            part.is_decoder = True


def encoder_only(config: Any) -> None:
    config.is_encoder_decoder = False


def composite(cls: type) -> Any:
    """Configurations of models made of two others, which have no default."""
    import transformers as t
    name = cls.__name__
    if name == "EncoderDecoderModel":
        return t.EncoderDecoderConfig.from_encoder_decoder_configs(t.BertConfig(), t.BertConfig())
    if name == "VisionEncoderDecoderModel":
        return t.VisionEncoderDecoderConfig.from_encoder_decoder_configs(t.ViTConfig(), t.GPT2Config())
    if name == "SpeechEncoderDecoderModel":
        return t.SpeechEncoderDecoderConfig.from_encoder_decoder_configs(t.Wav2Vec2Config(), t.BertConfig())
    if name == "VisionTextDualEncoderModel":
        return t.VisionTextDualEncoderConfig.from_vision_text_configs(t.ViTConfig(), t.BertConfig())
    if name == "MusicgenForConditionalGeneration":
        return t.MusicgenConfig(text_encoder=t.T5Config().to_dict(), audio_encoder=t.EncodecConfig().to_dict(),
                                decoder=t.models.musicgen.MusicgenDecoderConfig().to_dict())
    return None


def configurations(cls: Any) -> Iterator[Any]:
    """Configurations to try in turn."""
    made = composite(cls)
    if made is not None:
        yield made
        return
    errors: List[Exception] = []
    kinds = [cls.config_class]
    module = sys.modules[cls.__module__]
    stem = re.sub(r"(PreTrained)?Model$|For[A-Z].*$", "", cls.__name__)
    kinds += [value for name, value in sorted(vars(module).items()) if name.endswith("Config")
              and isinstance(value, type) and name[:-6] == stem and value is not cls.config_class]
    for kind in kinds:
        try:
            yield kind(**GIVEN.get(kind.__name__, {}))
        except Exception as error:
            errors.append(error)
    with contextlib.suppress(Exception):
        yield from nested(cls.config_class())[1:]
    if errors:
        raise errors[0]


def eager(config: Any) -> None:
    for part in nested(config):
        with contextlib.suppress(Exception):
            part._attn_implementation = "eager"


def modelling_modules(package: str) -> List[str]:
    base = pathlib.Path(package).parent / "models"
    found = []
    for file in sorted(base.rglob("modeling_*.py")):
        if not re.match(r"modeling_(tf|flax)_", file.name):
            found.append(".".join(("transformers", "models", *file.relative_to(base).with_suffix("").parts)))
    return found
