"""Models of timm for the recipe book, one for every structure."""
from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any, Dict, Iterator, List, Tuple

import torch
from torch import nn

from book.recordings_common import Made, finished
from models.small_models import LARGEST
from models.zoo import Example, noise

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
    dict(mlp_ratio=0.02), dict(channel_multiplier=0.25), {})


class TooLarge(ValueError):
    pass


def check_size(model: nn.Module) -> None:
    count = sum(p.numel() for p in model.parameters())
    if count > LARGEST:
        raise TooLarge(f"{count} parameters are too many")


def timm_model(name: str) -> Tuple[nn.Module, Tuple[int, int, int]]:
    """With two layers a stage, narrow, and a small picture, where it can be told so."""
    import timm
    errors: List[Exception] = []
    for cut in CUTS:
        try:
            with torch.device("meta"):
                check_size(timm.create_model(name, pretrained=False, num_classes=10, **cut))
        except TooLarge:
            raise
        except Exception:
            pass                                            # tells whether it is too large, and nothing else
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

# Their layers are numbered in names, not in lists, so depths have recordings of their own.
TIMM_DEPTHS = ("densenet161 densenet201 dla60 dla102 dpn92 dpn98 regnetx_004 regnetx_006 regnetx_008 regnetx_016 "
               "regnetx_032 regnetx_040 regnetx_064 regnety_004 regnety_006 regnety_008 regnety_016 regnety_032 "
               "regnety_040 regnety_064 regnety_080").split()


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
    chosen += [n for n in TIMM_DEPTHS if n in home and n not in chosen]
    for name in chosen:
        yield f"timm_{home[name]}", f"timm-{version('timm')}-{name}", lambda name=name: timm_example(name)
