"""Models of torchvision for the recipe book: one for every structure.

A model of which another one has merely more items in the same lists is left out, since a recipe's depth is free. Where
layers are numbered in their names instead (`denselayer7`, `encoder_layer_3`, `block2-4`), published depths are there.
"""
from __future__ import annotations

import inspect
import re
from importlib.metadata import version
from typing import Any, Dict, Iterator, Tuple

import torch
from torch import nn

from book.recordings_common import Made, finished
from models.small_models import flat
from models.zoo import Example, distinct, noise

FIRST = ("resnet18 resnet50 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large efficientnet_b0 efficientnet_v2_s "
         "vgg11 vgg11_bn vgg16 densenet121 squeezenet1_0 squeezenet1_1 shufflenet_v2_x0_5 shufflenet_v2_x1_0 "
         "googlenet inception_v3 alexnet vit_b_16 convnext_tiny swin_t swin_v2_t regnet_x_400mf regnet_y_400mf "
         "mnasnet0_5 mnasnet1_0 resnext50_32x4d wide_resnet50_2 resnet34 maxvit_t deeplabv3_mobilenet_v3_large "
         "deeplabv3_resnet50 fcn_resnet50 lraspp_mobilenet_v3_large r3d_18 mc3_18 r2plus1d_18 s3d mvit_v2_s "
         "swin3d_t").split()
MORE = ("vgg13 vgg13_bn vgg16_bn vgg19 vgg19_bn densenet161 densenet169 densenet201 efficientnet_v2_m "
        "vit_b_16_12 vit_l_16_24 vit_h_14_32 deeplabv3_resnet50_aux deeplabv3_mobilenet_v3_large_aux fcn_resnet50_aux "
        "efficientnet_b1 mvit_v1_b resnet101 raft_small raft_large").split()
REGNETS = [f"regnet_{kind}_{size}" for size in ("800mf", "1_6gf", "3_2gf", "8gf", "16gf", "32gf") for kind in "xy"]
DETECTORS = ("retinanet_resnet50_fpn ssd300_vgg16 ssdlite320_mobilenet_v3_large fcos_resnet50_fpn "
             "fasterrcnn_resnet50_fpn fasterrcnn_mobilenet_v3_large_fpn maskrcnn_resnet50_fpn "
             "keypointrcnn_resnet50_fpn fasterrcnn_resnet50_fpn_v2 maskrcnn_resnet50_fpn_v2 "
             "retinanet_resnet50_fpn_v2 fasterrcnn_mobilenet_v3_large_320_fpn").split()
TORCHVISION = [*FIRST, *DETECTORS[:4], *MORE, *REGNETS, *DETECTORS[4:]]


def narrow_regnet(name: str) -> nn.Module:
    """The published depths with channels of a fraction of the width."""
    from torchvision.models import regnet
    build = regnet._regnet
    seen: Dict[str, Any] = {}

    def narrow(parameters: Any, *rest: Any, **named: Any) -> nn.Module:
        seen["parameters"] = parameters
        parameters.widths = [16, 24, 32, 48]
        parameters.group_widths = [8] * 4
        return build(parameters, *rest, **named)

    regnet._regnet = narrow
    try:
        return getattr(regnet, name)(weights=None)
    finally:
        regnet._regnet = build


def vision_transformer(layers: int, patch: int) -> nn.Module:
    from torchvision import models
    return models.VisionTransformer(224, patch, num_layers=layers, num_heads=4, hidden_dim=64, mlp_dim=128)


def small_head(model: nn.Module, name: str) -> None:
    """Of VGG and AlexNet, whose head alone is most of the file otherwise."""
    alex = name == "alexnet"
    for i, (wide, out) in {1 if alex else 0: (256 * 36 if alex else 512 * 49, 48), 4 if alex else 3: (48, 32),
                           6: (32, 10)}.items():
        model.classifier[i] = nn.Linear(wide, out)


def published(name: str) -> nn.Module:
    from torchvision import models
    arguments = inspect.signature(models.get_model_builder(name)).parameters
    plain: Dict[str, Any] = {key: None for key in ("weights", "weights_backbone") if key in arguments}
    if name in ("googlenet", "inception_v3"):
        plain["init_weights"] = False
    return models.get_model(name, **plain)


def built(name: str) -> nn.Module:
    from torchvision import models
    if name == "vit_b_16":
        return vision_transformer(3, 16)
    if depth := re.match(r"vit_\w_(\d+)_(\d+)$", name):
        return vision_transformer(int(depth.group(2)), int(depth.group(1)))
    if name == "swin_t":
        return models.SwinTransformer([4, 4], 24, [2, 2, 2, 2], [3, 6, 12, 24], [7, 7])
    if name == "swin_v2_t":
        parts = models.swin_transformer
        return models.SwinTransformer([4, 4], 24, [2, 2, 2, 2], [3, 6, 12, 24], [8, 8],
                                      block=parts.SwinTransformerBlockV2, downsample_layer=parts.PatchMergingV2)
    if name == "convnext_tiny":
        stage = models.convnext.CNBlockConfig
        return models.ConvNeXt([stage(16, 24, 2), stage(24, 32, 2), stage(32, 48, 2), stage(48, None, 2)])
    if name in REGNETS:
        return narrow_regnet(name)
    if name.endswith("_aux"):                              # as the published weights have it
        return models.get_model(name[:-4], weights=None, weights_backbone=None, aux_loss=True)
    model = published(name)
    if name.startswith("vgg") or name == "alexnet":
        small_head(model, name)
    return model


def picture(name: str) -> Tuple[int, ...]:
    if re.search("r3d|mc3|r2plus|s3d|mvit|swin3d", name):
        return (1, 3, 16, *([112, 112] if "18" in name else [224, 224]))
    size = 256 if name == "swin_v2_t" else 224 if re.search("vgg|alexnet|vit|swin", name) else 128
    return (1, 3, size, size)


def detector(model: nn.Module) -> Example:
    model.eval()
    distinct(model)
    forward = model.forward
    model.forward = lambda x: tuple(flat(forward([x[0]])[0]))
    return Example(model, {"x": noise(1, 3, 320, 320).sigmoid()}, [], {})


def example(name: str) -> Example:
    torch.backends.mha.set_fastpath_enabled(False)
    if name in DETECTORS:
        from book.detection_operators import run_in_python
        run_in_python()
    torch.manual_seed(0)
    model = built(name)
    if name in DETECTORS:
        return detector(model)
    if name.startswith("raft"):
        forward = model.forward
        model.forward = lambda image1, image2: forward(image1, image2, num_flow_updates=2)[-1]
        return finished(model, {"image1": noise(1, 3, 128, 128), "image2": noise(1, 3, 128, 128).flip(2)})
    return finished(model, {"input" if name.startswith("lraspp") else "x": noise(*picture(name))})


def torchvision_models() -> Iterator[Made]:
    for name in TORCHVISION:
        family = re.sub(r"(_v?\d.*|\d.*)$", "", name) if name not in DETECTORS else name.split("_")[0]
        yield f"torchvision_{family}", f"torchvision-{version('torchvision')}-{name}", lambda name=name: example(name)
