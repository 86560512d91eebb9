"""torchvision's compiled operators, in Python: enough to trace detectors where the compiled ones do not load."""
from __future__ import annotations

import importlib

import torch
from torch import Tensor

KEPT = []


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Greedy, as the compiled one."""
    order = scores.argsort(descending=True).tolist()
    areas = (dets[:, 2] - dets[:, 0]) * (dets[:, 3] - dets[:, 1])
    kept = []
    while order and len(kept) < 50:
        best = order.pop(0)
        kept.append(best)
        if order:
            rest = torch.tensor(order)
            low = torch.maximum(dets[best, :2], dets[rest, :2])
            high = torch.minimum(dets[best, 2:], dets[rest, 2:])
            shared = (high - low).clamp(min=0).prod(dim=1)
            overlap = shared / (areas[best] + areas[rest] - shared)
            order = rest[overlap <= iou_threshold].tolist()
    return torch.tensor(kept, dtype=torch.int64)


def roi_align(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
              sampling_ratio: int, aligned: bool) -> Tensor:
    """Shapes only: a trace needs no more."""
    return input.mean() + rois.new_zeros(rois.shape[0], input.shape[1], pooled_height, pooled_width)


def assert_has_ops() -> None:
    """Scripted by torchvision, so it must be a function with a name."""
    return None


def run_in_python() -> None:
    if KEPT:
        return
    extension = importlib.import_module("torchvision.extension")
    ops = importlib.import_module("torchvision.ops")
    for name in ("boxes", "roi_align", "_register_onnx_ops"):
        module = importlib.import_module(f"torchvision.ops.{name}")
        if hasattr(module, "_assert_has_ops"):
            module._assert_has_ops = assert_has_ops
        if hasattr(module, "_has_ops"):
            module._has_ops = lambda: True
    extension._has_ops = lambda: True
    define = torch.library.Library("torchvision", "FRAGMENT")
    if not hasattr(torch.ops.torchvision, "roi_align"):
        define.define("roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
                      "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor")
    define.impl("nms", nms, "CPU")
    define.impl("roi_align", roi_align, "CPU")
    KEPT.extend([define, ops])
    importlib.import_module("torchvision.ops._register_onnx_ops")._register_custom_op()
