"""Models of PaddleOCR for the recipe book, by PaddleOCR2Pytorch, which keeps the names of PaddleOCR's modules.

Each is made as PaddleOCR's own export writes it: branches that only training needs are merged into one convolution
(`rep()`), and activations have the operators of Paddle2ONNX. Its newer versions add the bias of a convolution in a node of
its own, so both forms are there.
"""
from __future__ import annotations

import copy
from typing import Any, Dict, Iterator, Tuple

import torch
from torch import nn
from torch.nn import functional

from book.recipe_plan import SOURCES
from book.recordings_common import Made, finished
from models.zoo import Example, noise

WORDS = 97
DETECT, READ, TURN = (3, 96, 96), (3, 48, 160), (3, 48, 192)


def svtr(name: str = "svtr", **more: Any) -> Dict[str, Any]:
    """The neck and head of a recognizer from PP-OCRv4 on."""
    return dict(name="MultiHead", head_list=[{"CTCHead": {"Neck": dict(name=name, **more), "Head": {}}}, {"NRTRHead": {}}])


def detector(backbone: Dict[str, Any], neck: Dict[str, Any], head: str = "DBHead", **more: Any) -> Dict[str, Any]:
    return dict(model_type="det", Backbone=backbone, Neck=neck, Head=dict(name=head, k=50, **more))


def reader(backbone: Dict[str, Any], head: Dict[str, Any]) -> Dict[str, Any]:
    return dict(model_type="rec", Backbone=backbone, Head=head)


def sequence(backbone: Dict[str, Any], **neck: Any) -> Dict[str, Any]:
    """A recognizer up to PP-OCRv3."""
    return dict(model_type="rec", Backbone=backbone, Neck=dict(name="SequenceEncoder", **neck), Head=dict(name="CTCHead"))


def classifier(backbone: Dict[str, Any]) -> Dict[str, Any]:
    return dict(model_type="cls", Backbone=backbone, Head=dict(name="ClsHead", class_dim=4))


def backbone(name: str, **more: Any) -> Dict[str, Any]:
    return dict(name=name, **more)


GUIDED = dict(dims=120, depth=2, hidden_dims=120, kernel_size=[1, 3], use_guide=True)
LIGHT = dict(depth=2, local_kernel=7)

# Family, name, architecture as in the published configurations, shape of a picture.
MODELS: Tuple[Tuple[str, str, Dict[str, Any], Tuple[int, int, int]], ...] = (
    ("ocr_det", "v4_mobile_det", detector(backbone("PPLCNetV3", scale=0.75, det=True),
                                          dict(name="RSEFPN", out_channels=96, shortcut=True)), DETECT),
    ("ocr_rec", "v4_mobile_rec", reader(backbone("PPLCNetV3", scale=0.95), svtr(**GUIDED)), READ),
    ("ocr_cls", "v2_cls", classifier(backbone("MobileNetV3", scale=0.35, model_name="small")), TURN),
    ("lcnet", "lcnet", classifier(backbone("PPLCNet", scale=0.25)), (3, 96, 96)),
    ("ocr_det", "v3_mobile_det", detector(backbone("MobileNetV3", scale=0.5, model_name="large", disable_se=True),
                                          dict(name="RSEFPN", out_channels=96, shortcut=True)), DETECT),
    ("ocr_rec", "v3_mobile_rec", sequence(
        backbone("MobileNetV1Enhance", scale=0.5, last_conv_stride=[1, 2], last_pool_type="avg"),
        encoder_type="svtr", dims=64, depth=2, hidden_dims=120, use_guide=True), READ),
    ("ocr_det", "v6_small_det", detector(backbone("PPLCNetV4", det=True, model_size="small"), dict(
        name="RepLKFPN", out_channels=96, dilated_kernel_size=7, shortcut=True)), DETECT),
    ("ocr_rec", "v6_small_rec", reader(backbone("PPLCNetV4", model_size="small"),
                                       svtr("lightsvtr", dims=120, mlp_ratio=2.0, **LIGHT)), READ),
    ("ocr_det", "v6_tiny_det", detector(backbone("PPLCNetV4", det=True, model_size="tiny"), dict(
        name="RepLKFPN", out_channels=64, dilated_kernel_size=5, shortcut=True)), DETECT),
    ("ocr_rec", "v6_tiny_rec", reader(backbone("PPLCNetV4", model_size="tiny"), dict(
        name="MultiHead", head_list=[{"CTCHead": {"Neck": dict(name="reshape"), "Head": dict(mid_channels=80)}},
                                     {"NRTRHead": {}}])), READ),
    ("ocr_det", "v6_medium_det", detector(backbone("PPLCNetV4", det=True, model_size="medium"), dict(
        name="RepLKPAN", out_channels=256, intracl=True)), DETECT),
    ("ocr_rec", "v6_medium_rec", reader(backbone("PPLCNetV4", model_size="medium"), svtr(
        "lightsvtr", dims=192, mlp_ratio=4.0, use_guide=False, **LIGHT)), READ),
    ("ocr_det", "v5_server_det", detector(backbone("PPHGNetV2_B4", det=True), dict(
        name="LKPAN", out_channels=256, intracl=True), "PFHeadLocal", mode="large"), DETECT),
    ("ocr_rec", "v5_server_rec", reader(backbone("PPHGNetV2_B4", text_rec=True), svtr(**GUIDED)), READ),
    ("ocr_rec", "v4_server_rec", reader(backbone("PPHGNet_small"), svtr(**GUIDED)), READ),
    ("ocr_det", "v4_server_det", detector(backbone("PPHGNet_small", det=True), dict(
        name="LKPAN", out_channels=256, intracl=True), "PFHeadLocal", mode="large"), DETECT),
    ("ocr_det", "v2_mobile_det", detector(backbone("MobileNetV3", scale=0.5, model_name="large", disable_se=True),
                                          dict(name="DBFPN", out_channels=96)), DETECT),
    ("ocr_det", "v2_server_det", detector(backbone("ResNet_vd", layers=18, disable_se=True),
                                          dict(name="DBFPN", out_channels=256)), DETECT),
    ("ocr_rec", "v2_mobile_rec", sequence(
        backbone("MobileNetV3", scale=0.5, model_name="small", small_stride=[1, 2, 2, 2]),
        encoder_type="rnn", hidden_size=48), (3, 32, 160)),
    ("ocr_rec", "v2_server_rec", sequence(backbone("ResNet", layers=34), encoder_type="rnn", hidden_size=256),
     (3, 32, 160)),
)


def merge_branches(model: nn.Module) -> None:
    """As PaddleOCR's export does."""
    parts = [part for part in model.modules() if hasattr(part, "rep")]
    for part in parts:
        if isinstance(getattr(getattr(part, "conv", None), "padding", None), str):
            part.rep = lambda: None                         # it would lose its padding; the exporter folds its norm
    for part in parts:
        part.rep()
    for part in model.modules():                            # what is merged is not in the file
        for name in ("conv_kxk", "conv_1x1", "identity") if hasattr(part, "reparam_conv") else ():
            setattr(part, name, None)


def write_activations_as_paddle() -> None:
    """The port writes out a hard sigmoid, which is one operator there; Paddle's swish has a factor, which is 1."""
    from pytorchocr.modeling import common
    common.Hsigmoid.forward = lambda self, x: functional.hardsigmoid(x)
    common.Swish.forward = lambda self, x: x * torch.sigmoid(1.0 * x)


def write_biases_apart() -> None:
    """As newer versions of Paddle2ONNX do."""
    def forward(self: nn.Conv2d, x: torch.Tensor, weight: torch.Tensor, bias: Any) -> torch.Tensor:
        y = plain(self, x, weight, None)
        return y if bias is None else y + bias.reshape(1, -1, 1, 1)
    plain = nn.Conv2d._conv_forward
    nn.Conv2d._conv_forward = forward


def example(architecture: Dict[str, Any], shape: Tuple[int, int, int], apart: bool) -> Example:
    from pytorchocr.modeling.architectures.base_model import BaseModel
    write_activations_as_paddle()
    if apart:
        write_biases_apart()
    torch.manual_seed(0)
    words = dict(out_channels_list={"CTCLabelDecode": WORDS}) if architecture["Head"]["name"] == "MultiHead" else (
        dict(out_channels=WORDS) if architecture["model_type"] == "rec" else {})
    model = BaseModel(copy.deepcopy(architecture), **words).eval()
    merge_branches(model)
    model.keeps_norms = True
    return finished(model, {"x": noise(1, *shape)})


def paddleocr_models() -> Iterator[Made]:
    number = SOURCES["paddleocr2pytorch"].version
    for apart in (False, True):
        for family, name, architecture, shape in MODELS:
            yield f"paddle_{family}", f"paddleocr2pytorch-{number}-{name}{'_apart' if apart else ''}", (
                lambda a=architecture, s=shape, p=apart: example(a, s, p))
