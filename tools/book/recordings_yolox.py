"""Models of YOLOX and of the first YOLOv5, whose detectors have anchors, for the recipe book."""
from __future__ import annotations

import pathlib
from typing import Any, Iterator

import torch
from torch import nn

from book.recipe_plan import SOURCES
from book.recordings_common import Made, finished
from models.zoo import Example, noise

# Depth, width, whether convolutions are depthwise: as tools/export_onnx.py exports them.
YOLOX = {"yolox_nano": (0.33, 0.25, True), "yolox_tiny": (0.33, 0.375, False), "yolox_m": (0.67, 0.25, False)}
YOLOV5 = ("yolov5n", "hub/yolov5n6", "segment/yolov5n-seg", "hub/yolov5-p2", "hub/yolov3-tiny")


def yolox(depth: float, width: float, depthwise: bool) -> Example:
    from yolox.models import YOLOX, YOLOPAFPN, YOLOXHead
    from yolox.models.network_blocks import SiLU
    from yolox.utils import replace_module
    torch.manual_seed(0)
    model: nn.Module = YOLOX(YOLOPAFPN(depth, width, depthwise=depthwise), YOLOXHead(4, width, depthwise=depthwise))
    model = replace_module(model.eval(), nn.SiLU, SiLU)
    model.head.decode_in_inference = False
    return finished(model, {"x": noise(1, 3, 128, 128)})


def yolov5(name: str) -> Example:
    """As its export.py prepares it."""
    import models
    from models import yolo
    torch.manual_seed(0)
    kind: Any = yolo.SegmentationModel if "seg" in name else yolo.DetectionModel
    model = kind(str(pathlib.Path(models.__file__).parent / f"{name}.yaml"), nc=4).eval()
    model.fuse()
    for part in model.modules():
        if isinstance(part, yolo.Detect):
            part.inplace, part.dynamic, part.export = False, False, True
    return finished(model, {"x": noise(1, 3, 128, 128)})


def yolox_models() -> Iterator[Made]:
    for name, sizes in YOLOX.items():
        yield "yolox", f"yolox-{SOURCES['yolox'].version}-{name}", lambda sizes=sizes: yolox(*sizes)
    for name in YOLOV5:
        label = name.split("/")[-1].replace("-", "_")
        yield "yolov5", f"yolov5-{SOURCES['yolov5'].version}-{label}", lambda n=name: yolov5(n)
