"""Dumps of timm, torchvision, diffusers, sentence-transformers and ultralytics for the catalogue."""
from __future__ import annotations

import contextlib
import inspect
import os
import pathlib
import re
import tempfile
from typing import Any, Dict, List, Tuple

from models.library_setup import TIMEOUT, limit

import torch
from torch import nn

from catalogue.catalogue_tree import Dump, mark, on_meta


def dump_timm(dump: Dump) -> None:
    import timm
    for name in sorted(timm.list_models()):
        try:
            with limit(TIMEOUT):
                model = on_meta(lambda: timm.create_model(name, pretrained=False))
                dump.add(model, True)
                if hasattr(model, "reset_classifier"):
                    with contextlib.suppress(Exception), torch.device("meta"):
                        model.reset_classifier(0)
                        dump.add(model, True, "no head")
        except BaseException as error:
            dump.fail(name, error)


def dump_torchvision(dump: Dump) -> None:
    from torchvision.models import get_model, get_model_builder, list_models
    for name in sorted(list_models()):
        arguments = inspect.signature(get_model_builder(name)).parameters
        plain = {key: None for key in ("weights", "weights_backbone") if key in arguments}
        tries = [("", plain)]
        for key, value in (("aux_logits", False), ("aux_loss", True)):
            if key in arguments:
                tries.append((f"{key}={value}", {**plain, key: value}))
        if name.startswith(("googlenet", "inception")):
            tries.append(("aux_logits=False", {**plain, "aux_logits": False}))
        for variant, named in tries:
            try:
                with limit(TIMEOUT):
                    dump.add(on_meta(lambda: get_model(name, **named)), True, variant)
            except BaseException as error:
                dump.fail(f"{name} {variant}".strip(), error)


SDXL = dict(in_channels=4, out_channels=4, sample_size=128, block_out_channels=(320, 640, 1280),
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
            transformer_layers_per_block=(1, 2, 10), attention_head_dim=(5, 10, 20), cross_attention_dim=2048,
            addition_embed_type="text_time", addition_time_embed_dim=256, projection_class_embeddings_input_dim=2816,
            use_linear_projection=True)
DIFFUSERS: List[Tuple[str, str, Dict[str, Any]]] = [
    ("UNet2DConditionModel", "SDXL", SDXL),
    ("UNet2DConditionModel", "SD 2", dict(use_linear_projection=True, cross_attention_dim=1024)),
    ("UNet2DConditionModel", "class labels", dict(num_class_embeds=1000)),
    ("UNet2DConditionModel", "LCM", dict(time_cond_proj_dim=256)),
    ("ControlNetModel", "SDXL", {k: v for k, v in SDXL.items() if k not in ("out_channels", "up_block_types",
                                                                             "sample_size")}),
    ("AutoencoderKL", "SD", dict(down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
                                 block_out_channels=(128, 256, 512, 512), layers_per_block=2)),
    ("AutoencoderKL", "SD 3", dict(down_block_types=("DownEncoderBlock2D",) * 4, latent_channels=16,
                                   up_block_types=("UpDecoderBlock2D",) * 4, block_out_channels=(128, 256, 512, 512),
                                   use_quant_conv=False, use_post_quant_conv=False)),
    ("FluxTransformer2DModel", "guidance", dict(guidance_embeds=True)),
    ("SD3Transformer2DModel", "3.5", dict(qk_norm="rms_norm", dual_attention_layers=tuple(range(13)))),
    ("PixArtTransformer2DModel", "sigma", dict(caption_channels=4096, use_additional_conditions=False)),
    ("DiTTransformer2DModel", "512", dict(sample_size=64)),
]


DIFFUSERS_GIVEN: Dict[str, Dict[str, Any]] = {
    "HunyuanDiT2DModel": dict(activation_fn="gelu-approximate", hidden_size=1408, in_channels=4, patch_size=2,
                              num_layers=40, sample_size=128),
    "HunyuanDiT2DControlNetModel": dict(activation_fn="gelu-approximate", hidden_size=1408, in_channels=4,
                                        patch_size=2, sample_size=128),
    "LatteTransformer3DModel": dict(sample_size=64, in_channels=4, patch_size=2, cross_attention_dim=1152,
                                    caption_channels=4096, norm_type="ada_norm_single", num_layers=28),
    "LuminaNextDiT2DModel": dict(num_kv_heads=8),
    "Transformer2DModel": dict(in_channels=320, cross_attention_dim=768),
    "TransformerTemporalModel": dict(in_channels=320, cross_attention_dim=768),
    "ControlNetUnionModel": dict(addition_time_embed_dim=256, projection_class_embeddings_input_dim=2816),
}


def dump_diffusers(dump: Dump) -> None:
    import diffusers
    from diffusers import ModelMixin
    tries: List[Tuple[Any, str, Dict[str, Any]]] = []
    for name in sorted(dir(diffusers)):
        try:
            with limit(TIMEOUT):
                cls = getattr(diffusers, name)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            continue
        if isinstance(cls, type) and issubclass(cls, ModelMixin) and cls is not ModelMixin:
            tries.append((cls, "", DIFFUSERS_GIVEN.get(name, {})))
            tries += [(cls, variant, named) for owner, variant, named in DIFFUSERS if owner == name]
    for cls, variant, named in tries:
        try:
            with limit(TIMEOUT):
                dump.add(on_meta(lambda: cls(**named)), True, variant)
        except BaseException as error:
            dump.fail(f"{cls.__name__} {variant}".strip(), error)


def dump_sentence_transformers(dump: Dump) -> None:
    """The wrapper around a few encoders; these are written to disk first, small, because it only loads."""
    import transformers
    from sentence_transformers import CrossEncoder, SentenceTransformer, models
    for kind in ("Bert", "DistilBert", "MPNet", "Roberta", "XLMRoberta"):
        folder = pathlib.Path(tempfile.mkdtemp())
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]
        (folder / "vocab.txt").write_text("\n".join(words) + "\n")
        small = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8, vocab_size=8)
        if kind == "DistilBert":
            small = dict(dim=8, n_layers=2, n_heads=2, hidden_dim=8, vocab_size=8)
        try:
            with limit(TIMEOUT):
                config = getattr(transformers, kind + "Config")(**small, num_labels=1)
                getattr(transformers, kind + "ForSequenceClassification")(config).save_pretrained(folder)
                transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
                for more in ([], [models.Normalize()], [models.Dense(8, 8), models.Normalize()], [models.Dense(8, 8)]):
                    first = models.Transformer(str(folder))
                    for key, child in first.named_children():
                        mark(child, "AUTO")
                    dump.add(SentenceTransformer(modules=[first, models.Pooling(8), *more], device="cpu"), True)
                encoder = CrossEncoder(str(folder), device="cpu")
                if isinstance(encoder, nn.Module):      # before version 4 it was none
                    mark(next(part for part in encoder.modules() if isinstance(part, transformers.PreTrainedModel)),
                         "AUTO")
                    dump.add(encoder, True)
        except BaseException as error:
            dump.fail(kind, error)


YOLO_TASKS = (("yoloe.*-seg", "YOLOESegModel"), ("yoloe", "YOLOEModel"), ("-seg", "SegmentationModel"),
              ("-pose", "PoseModel"), ("-obb", "OBBModel"), ("-cls", "ClassificationModel"), ("-world", "WorldModel"),
              ("rtdetr", "RTDETRDetectionModel"), ("", "DetectionModel"))


def dump_ultralytics(dump: Dump) -> None:
    os.environ["YOLO_CONFIG_DIR"] = tempfile.mkdtemp()
    import ultralytics
    from ultralytics.nn import tasks
    base = pathlib.Path(ultralytics.__file__).parent / "cfg" / "models"
    for file in sorted(base.rglob("*.yaml")):
        for scale in "nx":
            name = re.sub(r"^(yolo(?:v?\d+|e-v\d|e-\d+)?)", rf"\g<1>{scale}", file.name)
            kind = next(kind for mark, kind in YOLO_TASKS if re.search(mark, file.stem))
            try:
                with limit(TIMEOUT):
                    content = tasks.yaml_model_load(file)
                    content["scale"] = scale if scale in content.get("scales", {}) else ""
                    cls = getattr(tasks, kind)
                    dump.add(cls(content, verbose=False), True, "")
            except BaseException as error:
                dump.fail(name, error)
