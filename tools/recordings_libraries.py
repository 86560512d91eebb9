"""Models of timm, torchvision, ultralytics, diffusers and torch.nn for the recipe book, one for every structure.

Each function yields (family, label, make): the folder, the file's name without its exporter, and a function that gives
a zoo.Example. Depths are cut to two or three layers a stage where the constructor lets itself be told; widths stay as
published, because they differ from stage to stage there.
"""
from __future__ import annotations

import inspect
import os
import pathlib
import re
import tempfile
from importlib.metadata import version
from typing import Any, Callable, Dict, Iterator, List, Tuple

import torch
from torch import Tensor, nn

from catalogue_dump import SDXL, YOLO_TASKS
from recordings_transformers import flat, only_tensors
from zoo import Example, distinct, ids, noise

Made = Tuple[str, str, Callable[[], Example]]


def finished(model: nn.Module, inputs: Dict[str, Tensor], *fixed: str) -> Example:
    """In eval mode, with values of its own; every input's first axis varies, except where `fixed` names it."""
    model.eval()
    distinct(model)
    only_tensors(model, list(inputs))
    axes = {k: {0: "batch"} for k, v in inputs.items() if k not in fixed and v.dim() > 0}
    return Example(model, inputs, [], axes)


# ---------------------------------------------------------------- timm
SIZES = re.compile(r"^(\d+|\d+x\d+|nano|pico|femto|atto|zepto|tiny|tn|ti|mini|xxtiny|xtiny|small|smal|base|medium|"
                   r"med|large|larger|huge|giant|gigantic|enormous|xlarge|betwixt|little|mediumd|xs|xxs|xx|x|s|m|l|t|b|xl|h|g|so\d+m2?|"
                   r"d\d|f\d|[bslmetn]\d+|patch\d+|in\d+k\w*|in\d+ft\w*|in1k|window\d+\w*|\d+to\d+|p\d+|\d+m|\d+b|"
                   r"plus|miil|ssld|dino|ft|tv|teacher|bitm?|gluon|distilled|pruned|\d+k|\d+kft1k|\d+w|\d+s|ks\d|p14)$")


def timm_key(name: str) -> str:
    """What names of one structure share."""
    atoms = [a for a in re.sub(r"^(tf|gluon|tv|adv|ens_adv|jx)_", "", name).split("_") if not SIZES.match(a)]
    head = name.split("_")[0]
    depth = re.search(r"(\d+)", head)
    deep = "+" if depth and int(depth.group(1)) >= 50 and re.search("resn|darknet|dla", head) else ""
    return re.sub(r"\d+", "#", "_".join(atoms)) + deep


SMALL = ("atto", "femto", "pico", "nano", "xxs", "xx_small", "tiny", "_ti", "xs", "_050", "b0", "s0", "_t0", "18", "26",
         "002", "small", "_s", "121", "34", "m0", "50", "base")


def timm_rank(name: str) -> Tuple[int, int, int, str]:
    size = next((i for i, word in enumerate(SMALL) if word in name), len(SMALL))
    large = bool(re.search(r"384|448|512|huge|giant|large|in22|in21|_x[l34]|enormous", name))
    return (int(large), size, len(name), name)


CUTS: Tuple[Dict[str, Any], ...] = (
    dict(depth=3, embed_dim=48, num_heads=3), dict(depth=3), dict(layers=(2, 2, 2, 2), channels=(16, 24, 32, 48)),
    dict(layers=(2, 2, 2, 2)), dict(depths=(2, 2, 2, 2), dims=(16, 24, 32, 48)),
    dict(depths=(2, 2, 2, 2), embed_dim=24), dict(depths=(2, 2, 2, 2)), dict(growth_rate=8),
    dict(depth=(2, 2, 2, 2)), dict(depths=(2, 2, 2)), dict(depth=(2, 2, 2)), dict(num_features=64),
    dict(channel_multiplier=0.25), {})


def timm_model(name: str) -> Tuple[nn.Module, Tuple[int, int, int]]:
    """With two layers a stage, narrow, and a small picture, where it can be told so."""
    import timm
    errors: List[Exception] = []
    for cut in CUTS:
        try:
            torch.manual_seed(0)
            model = timm.create_model(name, pretrained=False, num_classes=10, **cut).eval()
        except Exception as error:
            errors.append(error)
            continue
        full = tuple(model.default_cfg["input_size"])
        fixed = model.default_cfg.get("fixed_input_size") or name.startswith("vgg")
        sizes = [full] if fixed else [(full[0], 96, 96), full]
        for size in sizes:
            try:
                with torch.no_grad():
                    model(noise(1, *size))
                return model, size
            except Exception as error:
                errors.append(error)
    raise errors[-1]


def timm_example(name: str) -> Example:
    model, size = timm_model(name)
    return finished(model, {"x": noise(1, *size)})


TIMM_FIRST = ("resnet18 resnet50 efficientnet_b0 mobilenetv3_small_100 mobilenetv3_large_100 vit_tiny_patch16_224 "
              "convnext_tiny convnext_atto swin_tiny_patch4_window7_224 mobilenetv2_100 resnet34 resnext50_32x4d "
              "seresnet50 resnet26d resnet50d wide_resnet50_2 resnetv2_50 resnetv2_50x1_bit regnetx_002 regnety_002 "
              "deit_tiny_patch16_224 deit_tiny_distilled_patch16_224 deit3_small_patch16_224 densenet121 densenet169 "
              "vgg11 vgg11_bn vgg16 mixer_s16_224 ghostnet_100 ghostnetv2_100 mobileone_s0 mobileone_s1 repvgg_a0 repvgg_b1 "
              "beit_base_patch16_224 beitv2_base_patch16_224 "
              "mobilenetv4_conv_small mobilenetv4_hybrid_medium efficientnetv2_rw_t tf_efficientnetv2_b0 "
              "tf_efficientnet_b0 tf_efficientnet_lite0 mnasnet_100 semnasnet_100 fbnetc_100 spnasnet_100 "
              "vit_small_patch14_dinov2 vit_small_patch14_reg4_dinov2 vit_base_patch16_clip_224 "
              "vit_base_patch16_siglip_224 "
              "eva02_tiny_patch14_224 hrnet_w18_small inception_v3 inception_v4 inception_resnet_v2 xception dpn68 dla34 "
              "cspdarknet53 levit_128s cait_xxs24_224 pvt_v2_b0 poolformer_s12 mobilevit_xxs mobilevitv2_050 "
              "edgenext_xx_small maxvit_tiny_tf_224 coatnet_0_rw_224 tiny_vit_5m_224 lcnet_050 hgnetv2_b0 fastvit_t8 "
              "rexnet_100 repvit_m1 efficientformer_l1 efficientvit_b0 efficientvit_m0 starnet_s1 volo_d1_224 "
              "xcit_tiny_12_p16_224 resmlp_12_224 gmlp_s16_224 convmixer_768_32 twins_svt_small twins_pcpvt_small "
              "swinv2_tiny_window8_256 focalnet_tiny_srf davit_tiny gcvit_xxtiny nest_tiny pit_ti_224 tnt_s_patch16_224 "
              "crossvit_9_240 coat_tiny visformer_tiny convit_tiny res2net50_26w_4s resnest14d sknet skresnet18 "
              "selecsls42 senet legacy_seresnet18 legacy_seresnext26_32x4d tresnet_m nf_resnet50 dm_nfnet_f0").split()


def timm_models() -> Iterator[Made]:
    import timm
    from timm.models import _registry
    home = {name: module for module, names in _registry._module_to_models.items() for name in names}
    groups: Dict[Tuple[str, str], List[str]] = {}
    for name in timm.list_models():
        if not name.startswith("test_"):
            groups.setdefault((home[name], timm_key(name)), []).append(name)
    chosen = [n for n in TIMM_FIRST if n in home]
    chosen += [n for n in sorted(min(names, key=timm_rank) for names in groups.values()) if n not in chosen]
    for name in chosen:
        yield f"timm_{home[name]}", f"timm-{version('timm')}-{name}", lambda name=name: timm_example(name)


# ---------------------------------------------------------------- torchvision
TORCHVISION = ("resnet18 resnet50 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large efficientnet_b0 efficientnet_v2_s "
               "vgg11 vgg11_bn vgg16 densenet121 squeezenet1_0 squeezenet1_1 shufflenet_v2_x0_5 shufflenet_v2_x1_0 "
               "googlenet inception_v3 alexnet vit_b_16 convnext_tiny swin_t swin_v2_t regnet_x_400mf regnet_y_400mf "
               "mnasnet0_5 mnasnet1_0 resnext50_32x4d wide_resnet50_2 resnet34 maxvit_t deeplabv3_mobilenet_v3_large "
               "deeplabv3_resnet50 fcn_resnet50 lraspp_mobilenet_v3_large r3d_18 mc3_18 r2plus1d_18 s3d mvit_v2_s "
               "swin3d_t fasterrcnn_resnet50_fpn fasterrcnn_mobilenet_v3_large_fpn maskrcnn_resnet50_fpn "
               "keypointrcnn_resnet50_fpn retinanet_resnet50_fpn ssd300_vgg16 ssdlite320_mobilenet_v3_large "
               "fcos_resnet50_fpn").split()


def torchvision_example(name: str) -> Example:
    from torchvision import models
    torch.backends.mha.set_fastpath_enabled(False)
    detection = re.search("rcnn|retinanet|ssd|fcos", name)
    if detection:
        from detection_operators import run_in_python
        run_in_python()
    arguments = inspect.signature(models.get_model_builder(name)).parameters
    plain: Dict[str, Any] = {key: None for key in ("weights", "weights_backbone") if key in arguments}
    if name in ("googlenet", "inception_v3"):
        plain["init_weights"] = False
    torch.manual_seed(0)
    if name == "vit_b_16":
        model = models.VisionTransformer(224, 16, num_layers=3, num_heads=4, hidden_dim=64, mlp_dim=128)
    elif name == "swin_t":
        model = models.SwinTransformer([4, 4], 24, [2, 2, 2, 2], [3, 6, 12, 24], [7, 7])
    elif name == "swin_v2_t":
        parts = models.swin_transformer
        model = models.SwinTransformer([4, 4], 24, [2, 2, 2, 2], [3, 6, 12, 24], [8, 8],
                                       block=parts.SwinTransformerBlockV2, downsample_layer=parts.PatchMergingV2)
    elif name == "convnext_tiny":
        stage = models.convnext.CNBlockConfig
        model = models.ConvNeXt([stage(16, 24, 2), stage(24, 32, 2), stage(32, 48, 2), stage(48, None, 2)])
    else:
        model = models.get_model(name, **plain)
    if name.startswith("vgg") or name == "alexnet":            # its head alone is most of the file otherwise
        for i, (wide, out) in {1 if name == "alexnet" else 0: (256 * 36 if name == "alexnet" else 512 * 49, 48),
                               4 if name == "alexnet" else 3: (48, 32), 6: (32, 10)}.items():
            model.classifier[i] = nn.Linear(wide, out)
    size = 256 if name == "swin_v2_t" else 224 if re.search("vgg|alexnet|vit|swin", name) else 128
    if re.search("r3d|mc3|r2plus|s3d|mvit|swin3d", name):
        shape: Tuple[int, ...] = (1, 3, 16, *([112, 112] if "18" in name else [224, 224]))
    else:
        shape = (1, 3, 320, 320) if detection else (1, 3, size, size)
    if detection:
        model.eval()
        distinct(model)
        forward = model.forward
        model.forward = lambda x: tuple(flat(forward([x[0]])[0]))
        return Example(model, {"x": noise(*shape).sigmoid()}, [], {})
    return finished(model, {"x": noise(*shape)})


def torchvision_models() -> Iterator[Made]:
    for name in TORCHVISION:
        family = re.sub(r"(_v?\d.*|\d.*)$", "", name) if not re.search("rcnn|fpn|ssd", name) else name.split("_")[0]
        yield f"torchvision_{family}", f"torchvision-{version('torchvision')}-{name}", lambda name=name: (
            torchvision_example(name))


# ---------------------------------------------------------------- ultralytics
def yolo_example(file: pathlib.Path, fused: bool) -> Example:
    """As `yolo export format=onnx` prepares it."""
    from ultralytics.nn import modules, tasks
    kind = next(kind for mark, kind in YOLO_TASKS if re.search(mark, file.stem))
    content = tasks.yaml_model_load(file)
    content["scale"] = "n" if "n" in content.get("scales", {}) else next(iter(content.get("scales", {"": 0})))
    torch.manual_seed(0)
    model = getattr(tasks, kind)(content, verbose=False)
    model.eval().float()
    if fused:
        model.fuse(verbose=False)
    for module in model.modules():
        if hasattr(module, "export") or "Detect" in type(module).__name__ or type(module).__name__ in (
                "Segment", "Pose", "OBB", "Classify"):
            module.export, module.format, module.dynamic = True, "onnx", False
            if hasattr(module, "max_det"):
                module.max_det = 30
        elif isinstance(module, modules.C2f):
            module.forward = module.forward_split
    size = 224 if "-cls" in file.stem else 640 if "rtdetr" in file.stem else 320
    return finished(model, {"x": noise(1, 3, size, size)})


def ultralytics_models() -> Iterator[Made]:
    os.environ["YOLO_CONFIG_DIR"] = tempfile.gettempdir()
    import ultralytics
    base = pathlib.Path(ultralytics.__file__).parent / "cfg" / "models"
    number = version("ultralytics")
    order = ["yolov8.yaml", "yolov5.yaml", "yolo11.yaml", "yolov8-seg.yaml", "yolov8-pose.yaml", "yolov8-cls.yaml"]
    files = sorted(base.rglob("*.yaml"), key=lambda f: (order.index(f.name) if f.name in order else 99, f.name))
    for file in files:
        stem = file.stem.replace("-", "_")
        family = "ultralytics_" + re.match(r"[a-z]+[-_]?v?\d*", file.stem).group(0)
        yield family, f"ultralytics-{number}-{stem}_fused", lambda file=file: yolo_example(file, True)
        yield family, f"ultralytics-{number}-{stem}", lambda file=file: yolo_example(file, False)


# ---------------------------------------------------------------- diffusers
UNET = dict(block_out_channels=(32, 64, 96), layers_per_block=2, attention_head_dim=8, cross_attention_dim=24, norm_num_groups=8,
            down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"), sample_size=16)
SMALL_SDXL = {**SDXL, "block_out_channels": (32, 64, 96), "transformer_layers_per_block": (1, 2, 2), "norm_num_groups": 8,
              "attention_head_dim": (2, 4, 6), "cross_attention_dim": 24, "addition_time_embed_dim": 8,
              "projection_class_embeddings_input_dim": 72, "sample_size": 16}
VAE = dict(block_out_channels=(16, 32, 48), layers_per_block=2, norm_num_groups=8, sample_size=32,
           down_block_types=("DownEncoderBlock2D",) * 3, up_block_types=("UpDecoderBlock2D",) * 3)


def diffusers_models() -> Iterator[Made]:
    import diffusers as d
    number = version("diffusers")
    step = torch.tensor([1])
    picture, text = noise(1, 4, 16, 16), noise(1, 7, 24)

    def made(name: str, variant: str, build: Callable[[], nn.Module], inputs: Dict[str, Tensor], **more: Any) -> Made:
        def make() -> Example:
            torch.manual_seed(0)
            model = build()
            if more.get("method"):
                model.forward = getattr(model, more["method"])
            elif more.get("named"):
                forward = model.forward
                model.forward = lambda **given: forward(**given, **more["named"])
            if more.get("split"):
                for part in model.modules():
                    if hasattr(part, "set_processor"):
                        from diffusers.models.attention_processor import AttnProcessor
                        part.set_processor(AttnProcessor())
            return finished(model, inputs, "timestep")
        family = "diffusers_" + re.sub(r"(?<!^)(?=[A-Z][a-z])", "_", name).lower()
        return family, f"diffusers-{number}-{name}{variant}", make

    unet = {"sample": picture, "timestep": step, "encoder_hidden_states": text}
    yield made("UNet2DConditionModel", "", lambda: d.UNet2DConditionModel(**UNET), unet)
    yield made("UNet2DConditionModel", "_eager", lambda: d.UNet2DConditionModel(**UNET), unet, split=True)
    yield made("UNet2DConditionModel", "_linear", lambda: d.UNet2DConditionModel(**UNET, use_linear_projection=True), unet)
    yield made("UNet2DConditionModel", "_lcm", lambda: d.UNet2DConditionModel(**UNET, time_cond_proj_dim=16),
               {**unet, "timestep_cond": noise(1, 16)})

    def xl() -> nn.Module:
        model = d.UNet2DConditionModel(**SMALL_SDXL)
        forward = model.forward
        model.forward = lambda sample, timestep, encoder_hidden_states, text_embeds, time_ids: forward(
            sample, timestep, encoder_hidden_states, added_cond_kwargs=dict(text_embeds=text_embeds, time_ids=time_ids))
        return model
    yield made("UNet2DConditionModel", "_xl", xl, {**unet, "text_embeds": noise(1, 24), "time_ids": noise(1, 6)})
    for method, inputs in (("encode", {"x": noise(1, 3, 32, 32)}), ("decode", {"z": noise(1, 4, 8, 8)})):
        def vae(method: str = method) -> nn.Module:
            model = d.AutoencoderKL(**VAE)
            if method == "encode":
                model.forward = lambda x: model.encode(x)[0].parameters
            else:
                model.forward = lambda z: model.decode(z)[0]
            return model
        yield made("AutoencoderKL", f"_{method}r", vae, inputs)
    yield made("AutoencoderKL", "", lambda: d.AutoencoderKL(**VAE), {"sample": noise(1, 3, 32, 32)})
    yield made("UNet2DModel", "", lambda: d.UNet2DModel(
        sample_size=16, block_out_channels=(32, 64, 96), norm_num_groups=8, layers_per_block=2,
        down_block_types=("DownBlock2D", "AttnDownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "AttnUpBlock2D", "UpBlock2D")), {"sample": noise(1, 3, 16, 16), "timestep": step})
    control = {k: v for k, v in UNET.items() if k not in ("up_block_types", "sample_size")}
    yield made("ControlNetModel", "", lambda: d.ControlNetModel(**control, conditioning_embedding_out_channels=(8, 16)),
               {**unet, "controlnet_cond": noise(1, 3, 32, 32)}, named=dict(conditioning_scale=1.0))
    yield made("Transformer2DModel", "", lambda: d.Transformer2DModel(
        num_attention_heads=4, attention_head_dim=8, in_channels=32, num_layers=2, cross_attention_dim=24, norm_num_groups=8),
        {"hidden_states": noise(1, 32, 8, 8), "encoder_hidden_states": text})
    yield made("DiTTransformer2DModel", "", lambda: d.DiTTransformer2DModel(
        num_attention_heads=4, attention_head_dim=8, num_layers=2, sample_size=8),
        {"hidden_states": noise(1, 4, 8, 8), "timestep": step, "class_labels": torch.tensor([3])})
    yield made("PixArtTransformer2DModel", "", lambda: d.PixArtTransformer2DModel(
        num_attention_heads=4, attention_head_dim=8, num_layers=2, sample_size=8, cross_attention_dim=32,
        caption_channels=24, use_additional_conditions=False),
        {"hidden_states": noise(1, 4, 8, 8), "encoder_hidden_states": text, "timestep": step},
        named=dict(added_cond_kwargs={"resolution": None, "aspect_ratio": None}))
    yield made("SD3Transformer2DModel", "", lambda: d.SD3Transformer2DModel(
        sample_size=8, patch_size=2, in_channels=4, num_layers=3, attention_head_dim=8, num_attention_heads=4,
        joint_attention_dim=24, caption_projection_dim=32, pooled_projection_dim=16, out_channels=4, pos_embed_max_size=16),
        {"hidden_states": noise(1, 4, 8, 8), "encoder_hidden_states": text, "pooled_projections": noise(1, 16),
         "timestep": step})
    yield made("FluxTransformer2DModel", "", lambda: d.FluxTransformer2DModel(
        in_channels=16, num_layers=2, num_single_layers=2, attention_head_dim=16, num_attention_heads=2,
        joint_attention_dim=24, pooled_projection_dim=16, axes_dims_rope=(4, 4, 8)),
        {"hidden_states": noise(1, 16, 16), "encoder_hidden_states": text, "pooled_projections": noise(1, 16),
         "timestep": torch.tensor([0.5]), "img_ids": noise(16, 3), "txt_ids": noise(7, 3)})
    yield made("AutoencoderTiny", "", lambda: d.AutoencoderTiny(
        encoder_block_out_channels=(16,) * 4, decoder_block_out_channels=(16,) * 4), {"sample": noise(1, 3, 32, 32)})
    yield made("VQModel", "", lambda: d.VQModel(
        block_out_channels=(16, 32), norm_num_groups=8, down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, num_vq_embeddings=32, latent_channels=4), {"sample": noise(1, 3, 32, 32)})


# ---------------------------------------------------------------- torch.nn
def torch_models() -> Iterator[Made]:
    import recordings_nn
    number = version("torch").split("+")[0]
    for family, name, build, inputs in recordings_nn.models():
        def make(build: Any = build, inputs: Any = inputs) -> Example:
            torch.backends.mha.set_fastpath_enabled(False)
            torch.manual_seed(0)
            return finished(build(), inputs)
        yield family, f"torch-{number}-{name}", make


LIBRARIES: Dict[str, Callable[[], Iterator[Made]]] = {
    "timm": timm_models, "torchvision": torchvision_models, "ultralytics": ultralytics_models,
    "diffusers": diffusers_models, "torch": torch_models}
